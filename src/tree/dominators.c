/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph/dominators/: the tree of dominators, for du. Folders are of size 0. A node that holds nothing shown is a file as
 * large as what it retains; any other is a folder, with its own size in self.bin. What is not shown of a folder's nodes
 * (they retain too little, or come after too many, or lie too deep) is together in rest-<n>-objects.bin. Blocks of 512
 * bytes are those of all that is retained, rounded down once: self.bin has what the others leave. So the sum over a folder is
 * exact in bytes, and to 511 bytes in blocks. All content is NUL bytes.
 */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

#define ENTRIES_MOST 4095
#define DEPTH_MOST 64
#define PATH_MOST 3000
/* "@0x", 16 digits, and "class " of a class object. */
#define NAME_ROOM 26

#define BLOCK 512

/* A folder's node, and what of it is shown. */
struct holder {
	const struct graph *graph;
	uint32_t node;		/* NODE_ROOT at the top */
	const struct retainer *shown;
	size_t count;		/* of those shown */
	uint64_t retained, objects, shallow; /* of the node */
	uint64_t rest, rest_objects; /* of what is not shown */
	uint64_t rest_blocks, self_blocks;
};

/* The nodes below one that retain enough to be shown, at most ENTRIES_MOST. */
static const struct retainer *below(const struct graph *graph, uint32_t node, size_t *count)
{
	const struct retainer *first = graph_below(graph, node, count);
	*count = *count < ENTRIES_MOST ? *count : ENTRIES_MOST;
	return first;
}

static void put_name(struct text *text, const struct heap *heap, uint64_t id)
{
	const struct class *class = class_find(heap, id);
	struct object object;
	if (class && class->offset)
		text_puts(text, "class ");
	else
		class = heap_find(heap, id, &object) ? object.class : NULL;
	if (class)
		name_escape(text, class->name, NAME_MOST - NAME_ROOM, false);
	text_printf(text, "@0x%" PRIx64, id);
}

/* Is there room below this node: is it not too deep, and its path not too long? */
static bool has_room(const struct node *like, uint32_t node)
{
	const struct graph *graph = node_graph(like);
	unsigned depth = 0;
	size_t len = 0;
	struct text name = { 0 };
	for (; node != NODE_ROOT && node != NODE_NONE && depth < DEPTH_MOST && len < PATH_MOST - NAME_MOST; depth++) {
		name.len = 0;
		put_name(&name, like->heap, graph_id(graph, node));
		len += name.len + 1;
		node = graph_dominator(graph, node);
	}
	text_free(&name);
	return node == NODE_ROOT && depth < DEPTH_MOST && len < PATH_MOST - NAME_MOST;
}

static bool is_folder(const struct node *like, uint32_t node)
{
	size_t count;
	below(node_graph(like), node, &count);
	return count && has_room(like, node);
}

static bool open_holder(const struct node *folder, uint32_t node, struct holder *holder)
{
	const struct graph *graph = node_graph(folder);
	struct held held = { .retained = graph_sums(graph)[STRONG].bytes, .objects = graph_sums(graph)[STRONG].objects };
	if (node != NODE_ROOT && (!graph_held(graph, node, &held) || held.strength != STRONG))
		return false;
	*holder = (struct holder){ .graph = graph, .node = node, .retained = held.retained, .objects = held.objects,
				   .shallow = held.shallow, .rest = held.retained - held.shallow,
				   .rest_objects = held.objects - (node != NODE_ROOT),
				   .self_blocks = held.retained / BLOCK };
	holder->shown = below(graph, node, &holder->count);
	for (size_t i = 0; i < holder->count; i++) {
		holder->rest -= holder->shown[i].retained;
		holder->rest_objects -= graph_retained_objects(graph, holder->shown[i].node);
		holder->self_blocks -= holder->shown[i].retained / BLOCK;
	}
	holder->rest_blocks = holder->rest / BLOCK;
	holder->self_blocks -= holder->rest_blocks;
	return true;
}

/* The holder that a folder, or one of its own files, shows. */
static bool holder_of(const struct node *node, struct holder *holder)
{
	uint64_t id;
	uint32_t number = NODE_ROOT;
	if (node->kind != KIND_DOMINATORS && node->kind != KIND_DOMINATORS_REST && !subject_of(node, &id, &number))
		return false;
	return open_holder(node, number, holder);
}

static void put_rest_name(struct text *text, const struct holder *holder)
{
	text_printf(text, "rest-%" PRIu64 "-objects.bin", holder->rest_objects);
}

static struct node rest_of(const struct node *folder)
{
	return node_make(folder, folder->kind == KIND_DOMINATORS ? KIND_DOMINATORS_REST : KIND_DOMINATOR_REST, folder->key);
}

void list_dominators(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct holder holder;
	struct text name = { 0 };
	bool more = holder_of(folder, &holder);
	for (uint64_t i = from; more && i < holder.count; i++) {
		const uint64_t id = graph_id(holder.graph, holder.shown[i].node);
		uint64_t offset;
		if (!object_offset(folder->heap, id, &offset))
			continue;
		name.len = 0;
		put_name(&name, folder->heap, id);
		more = listing_emit(listing, is_folder(folder, holder.shown[i].node) ? KIND_DOMINATOR : KIND_DOMINATOR_FILE, offset,
				    &name, i + 1);
	}
	if (more && holder.rest_objects && from <= holder.count) {
		const struct node rest = rest_of(folder);
		name.len = 0;
		put_rest_name(&name, &holder);
		listing_emit(listing, rest.kind, rest.key, &name, holder.count + 1);
	}
	text_free(&name);
}

bool lookup_dominator(const struct node *folder, const char *name, struct node *child)
{
	struct holder holder;
	struct text text = { 0 };
	const char *at = strrchr(name, '@');
	uint64_t id, offset;
	bool found = false;
	if (!holder_of(folder, &holder))
		return false;
	if (at && name_parse_id(at + 1, strlen(at + 1), &id) && object_offset(folder->heap, id, &offset)) {
		const uint32_t node = graph_node(holder.graph, id);
		for (size_t i = 0; i < holder.count && !found; i++)
			found = holder.shown[i].node == node;
		put_name(&text, folder->heap, id);
		if (found)
			*child = node_make(folder, is_folder(folder, node) ? KIND_DOMINATOR : KIND_DOMINATOR_FILE, offset);
	} else {
		found = holder.rest_objects != 0;
		put_rest_name(&text, &holder);
		*child = rest_of(folder);
	}
	text_putc(&text, 0);
	found = found && !text.failed && !strcmp(text.data, name);
	text_free(&text);
	return found;
}

bool up_dominator(const struct node *folder, struct node *parent)
{
	uint64_t id, offset;
	uint32_t number;
	if (!subject_of(folder, &id, &number))
		return false;
	number = graph_dominator(node_graph(folder), number);
	if (number == NODE_ROOT)
		*parent = node_make(folder, KIND_DOMINATORS, folder->heap->number);
	else if (number == NODE_NONE || !object_offset(folder->heap, graph_id(node_graph(folder), number), &offset))
		return false;
	else
		*parent = node_make(folder, KIND_DOMINATOR, offset);
	return true;
}

bool dominator_room(const struct node *file, uint64_t *size, uint64_t *blocks)
{
	struct holder holder;
	struct held held;
	uint64_t id;
	uint32_t number;
	if (file->kind == KIND_DOMINATOR_FILE) { /* no need to look at what it holds */
		if (!subject_of(file, &id, &number) || !graph_held(node_graph(file), number, &held))
			return false;
		*size = held.retained;
		*blocks = held.retained / BLOCK;
		return true;
	}
	if (!holder_of(file, &holder))
		return false;
	*size = file->kind == KIND_DOMINATOR_SELF ? holder.shallow : holder.rest;
	*blocks = file->kind == KIND_DOMINATOR_SELF ? holder.self_blocks : holder.rest_blocks;
	return true;
}
