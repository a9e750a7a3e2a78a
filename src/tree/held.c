/* SPDX-License-Identifier: Apache-2.0 */
/* graph/objects/<id>/: what an object retains, and who refers to it. Found by name; for class objects, too. */
#include "tree/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TABLE_STEP 256

/* "java.lang.String"; of a class object "class java.lang.String". */
void put_class_of(struct text *text, const struct heap *heap, uint64_t id)
{
	const struct class *class = class_find(heap, id);
	struct object object;
	if (class && class->offset) {
		text_puts(text, "class ");
		text_name(text, class->name);
	} else if (heap_find(heap, id, &object)) {
		text_name(text, object.class->name);
	} else {
		text_putc(text, '-');
	}
}

bool lookup_graph_object(const struct node *folder, const char *name, struct node *child)
{
	uint64_t id, offset;
	if (!name_parse_id(name, strlen(name), &id) || !object_offset(folder->heap, id, &offset))
		return false;
	*child = node_make(folder, KIND_GRAPH_OBJECT, offset);
	return true;
}

bool up_graph_object(const struct node *folder, struct node *parent)
{
	*parent = node_make(folder, KIND_GRAPH_OBJECTS, folder->heap->number);
	return true;
}

static void put_graph_path(struct text *text, uint64_t id)
{
	text_puts(text, "graph/objects/");
	text_id(text, id);
}

bool target_object_graph(const struct node *link, struct text *text)
{
	uint64_t id;
	if (!record_id(link, &id))
		return false;
	put_graph_path(text, id);
	return true;
}

bool target_class_graph(const struct node *link, struct text *text)
{
	put_graph_path(text, node_class(link)->id);
	return true;
}

bool is_dumped_class(const struct node *node)
{
	return node_class(node)->offset != 0;
}

/* The object whose record is at the node's key, as the graph numbers it. */
bool subject_of(const struct node *node, uint64_t *id, uint32_t *number)
{
	if (!record_id(node, id))
		return false;
	*number = graph_node(node_graph(node), *id);
	return *number != NODE_NONE;
}

/* --- retained.txt --- */

static void write_retained(const struct node *node, uint64_t first, struct pages *pages)
{
	static const char *const how[STRENGTH_COUNT] = { "strongly", "only softly", "only weakly", "by finalizers only",
							 "only by phantom references", "not at all: unreachable" };
	const struct graph *graph = node_graph(node);
	struct text *text = &pages->text;
	struct held held;
	uint64_t id;
	uint32_t number;
	if (first || !subject_of(node, &id, &number) || !graph_held(graph, number, &held))
		return;
	text_printf(text, "shallow: %" PRIu64 "\nretained: %" PRIu64 "\nretained objects: %" PRIu64 "\n", held.shallow,
		    held.retained, held.objects);
	const struct natives *natives = node_natives(node);
	text->failed |= !natives;
	if (natives && natives->count)
		text_printf(text, "native: %" PRIu64 "\n", natives_of(natives, id));
	text_puts(text, "dominator: ");
	if (held.strength != STRONG) {
		text_puts(text, "none");
	} else if (held.dominator == NODE_ROOT) {
		text_puts(text, "none: a GC root, or held by several");
	} else {
		text_id(text, graph_id(graph, held.dominator));
		text_putc(text, ' ');
		put_class_of(text, node->heap, graph_id(graph, held.dominator));
	}
	text_printf(text, "\nheld: %s\n", how[held.strength]);
	pages_next(pages);
}

const struct pages_ops retained_pages = { .step = 1, .write = write_retained };

/* --- references by name --- */

struct naming {
	uint64_t wanted;
	reference_fn *each;
	void *context;
	bool enough;
};

static void name_class_reference(void *context, uint64_t id, uint64_t offset, const char *label)
{
	struct naming *naming = context;
	if (id == naming->wanted && !naming->enough)
		naming->enough = !naming->each(naming->context, offset, label, strlen(label), true);
}

/* Is this field java.lang.ref.Reference's referent? */
static bool is_referent(const struct value_walk *walk)
{
	static const char name[] = "java.lang.ref.Reference", field[] = "referent";
	return walk->class && walk->class->name.len == sizeof name - 1 &&
	       !memcmp(walk->class->name.text, name, sizeof name - 1) && walk->field->name.len == sizeof field - 1 &&
	       !memcmp(walk->field->name.text, field, sizeof field - 1);
}

/* The elements of an array that are this reference. */
static void each_element(const struct heap *heap, const struct object *array, uint64_t wanted, reference_fn *each,
			 void *context)
{
	const unsigned I = heap->id_width;
	for (uint64_t i = 0; i < array->length && (i + 1) * I <= array->data_len; i++) {
		char label[32];
		if (read_id(array->data + i * I, I) != wanted)
			continue;
		const int len = snprintf(label, sizeof label, "[%" PRIu64 "]", i);
		if (!each(context, array->data_offset + i * I, label, (size_t)len, true))
			return;
	}
}

bool each_reference(const struct heap *heap, uint64_t owner, uint64_t wanted, reference_fn *each, void *context)
{
	const struct class *class = class_find(heap, owner);
	struct object object;
	struct value_walk walk;
	if (class && class->offset) {
		struct naming naming = { wanted, each, context, false };
		return !class_references(heap, class, name_class_reference, &naming);
	}
	if (!heap_find(heap, owner, &object))
		return true;
	if (object.kind == OBJECT_OBJECT_ARRAY)
		each_element(heap, &object, wanted, each, context);
	if (object.kind != OBJECT_INSTANCE)
		return true;
	value_walk_start(&walk, heap, &object);
	while (value_walk_next(&walk)) {
		if (walk.type != TYPE_OBJECT || read_id(walk.value, heap->id_width) != wanted || is_class_field(walk.field))
			continue;
		if (!each(context, object.data_offset + walk.at, walk.field->name.text, walk.field->name.len,
			  !is_referent(&walk)))
			break;
	}
	return true;
}

/* --- referrers.tsv --- */

/* Lines for the references of one object. An array may be full of one. */
#define ROWS_MOST 4096

struct row {
	const struct node *node;
	struct text *text;
	uint64_t owner;
	unsigned count;
};

static bool put_row(void *context, uint64_t offset, const char *label, size_t len, bool holds)
{
	struct row *row = context;
	(void)offset;
	(void)holds;
	if (row->count++ == ROWS_MOST) {
		label = "… more";
		len = strlen(label);
	}
	text_id(row->text, row->owner);
	text_putc(row->text, '\t');
	put_class_of(row->text, row->node->heap, row->owner);
	text_putc(row->text, '\t');
	text_escaped(row->text, label, len);
	text_putc(row->text, '\n');
	return row->count <= ROWS_MOST;
}

/* A piece is one referrer, with a line for each of its references. */
static void write_referrers(const struct node *node, uint64_t first, struct pages *pages)
{
	struct graph *graph = node_graph(node);
	struct text *text = &pages->text;
	uint64_t id;
	uint32_t number;
	struct referrers *referrers = subject_of(node, &id, &number) ? graph_referrers(graph, number) : NULL;
	bool more = referrers != NULL;
	text->failed |= !referrers;
	if (more && !first) {
		text_puts(text, "id\tclass\tfield\n");
		more = pages_next(pages);
		first = 1;
	}
	for (uint64_t i = first - 1; more && i < referrers->count; i++) {
		struct row row = { node, text, graph_id(graph, referrers->list[i]), 0 };
		text->failed |= !each_reference(node->heap, row.owner, id, put_row, &row);
		more = pages_next(pages);
	}
	referrers_put(referrers);
}

const struct pages_ops referrers_pages = { .step = TABLE_STEP, .write = write_referrers };

/* --- referrers/: a link's key is where the reference's own bytes are, as for all links --- */

/* What a folder of links shows: all referrers, or a part of them. */
struct shown {
	struct referrers *referrers;
	uint64_t id;		/* of the object that they refer to */
	bool part, split;
	size_t first, last;
};

/* The owner of the reference at `offset`. */
static bool owner_of(const struct heap *heap, uint64_t offset, uint64_t *owner)
{
	struct found found;
	if (index_containing(&heap->scan.index, offset, &found)) {
		const uint8_t *p = input_at(heap->in, found.offset + 1, heap->id_width);
		if (p)
			*owner = read_id(p, heap->id_width);
		return p != NULL;
	}
	/* Or of the last class dump that begins before it. */
	size_t low = 0, high = heap->scan.class_dump_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (heap->scan.class_dumps[mid] < offset)
			low = mid + 1;
		else
			high = mid;
	}
	const uint8_t *p = low ? input_at(heap->in, heap->scan.class_dumps[low - 1] + 1, heap->id_width) : NULL;
	const struct class *class = p ? class_find(heap, read_id(p, heap->id_width)) : NULL;
	if (!class || class->offset != heap->scan.class_dumps[low - 1] || offset - class->offset >= class->parts.size)
		return false;
	*owner = class->id;
	return true;
}

static size_t place_of(const struct referrers *referrers, uint32_t node)
{
	size_t low = 0, high = referrers->count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (referrers->list[mid] < node)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool open_shown(const struct node *folder, struct shown *shown)
{
	struct graph *graph = node_graph(folder);
	uint64_t owner = 0;
	*shown = (struct shown){ .part = folder->kind == KIND_REFERRER_BUCKET };
	if (shown->part) {
		const uint8_t *p = input_at(folder->heap->in, folder->key, folder->heap->id_width);
		if (!p || !owner_of(folder->heap, folder->key, &owner))
			return false;
		shown->id = read_id(p, folder->heap->id_width);
	} else if (!record_id(folder, &shown->id)) {
		return false;
	}
	const uint32_t number = graph_node(graph, shown->id);
	shown->referrers = number == NODE_NONE ? NULL : graph_referrers(graph, number);
	if (!shown->referrers)
		return false;
	const size_t count = shown->referrers->count;
	shown->split = !shown->part && count > SPLIT;
	shown->first = shown->part ? place_of(shown->referrers, graph_node(graph, owner)) / SPLIT * SPLIT : 0;
	shown->last = shown->part && count - shown->first > SPLIT ? shown->first + SPLIT : count;
	return shown->first <= count;
}

static bool first_reference(void *context, uint64_t offset, const char *label, size_t len, bool holds)
{
	uint64_t *found = context;
	(void)label;
	(void)len;
	(void)holds;
	*found = offset;
	return false;
}

/* Where the bytes of a referrer's first reference are. */
static bool reference_place(const struct node *folder, const struct shown *shown, size_t i, uint64_t *offset)
{
	*offset = 0;
	return each_reference(folder->heap, graph_id(node_graph(folder), shown->referrers->list[i]), shown->id, first_reference,
			      offset) && *offset;
}

void list_referrers(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct shown shown;
	struct text name = { 0 };
	const bool open = open_shown(folder, &shown);
	const uint64_t count = !open ? 0 : shown.split ? (shown.last + SPLIT - 1) / SPLIT : shown.last - shown.first;
	for (uint64_t i = from; i < count; i++) {
		const size_t at = shown.split ? (size_t)i * SPLIT : shown.first + (size_t)i;
		uint64_t offset;
		if (!reference_place(folder, &shown, at, &offset))
			continue;
		name.len = 0;
		if (shown.split)
			part_name(&name, i, shown.referrers->count);
		else
			text_id(&name, graph_id(node_graph(folder), shown.referrers->list[at]));
		if (!listing_emit(listing, shown.split ? KIND_REFERRER_BUCKET : shown.part ? KIND_BUCKET_REFERRER : KIND_REFERRER,
				  offset, &name, i + 1))
			break;
	}
	text_free(&name);
	referrers_put(shown.referrers);
}

bool lookup_referrer(const struct node *folder, const char *name, struct node *child)
{
	struct shown shown;
	uint64_t value, offset = 0;
	bool found = open_shown(folder, &shown);
	if (found && shown.split) {
		found = part_parse(name, shown.referrers->count, &value) &&
			reference_place(folder, &shown, (size_t)value * SPLIT, &offset);
	} else if (found) {
		found = name_parse_id(name, strlen(name), &value);
		const uint32_t number = found ? graph_node(node_graph(folder), value) : NODE_NONE;
		const size_t at = place_of(shown.referrers, number);
		found = number != NODE_NONE && at >= shown.first && at < shown.last && shown.referrers->list[at] == number &&
			reference_place(folder, &shown, at, &offset);
	}
	if (found)
		*child = node_make(folder, shown.split ? KIND_REFERRER_BUCKET : shown.part ? KIND_BUCKET_REFERRER : KIND_REFERRER,
				   offset);
	referrers_put(shown.referrers);
	return found;
}

bool up_referrer_bucket(const struct node *folder, struct node *parent)
{
	const uint8_t *p = input_at(folder->heap->in, folder->key, folder->heap->id_width);
	uint64_t offset;
	if (!p || !object_offset(folder->heap, read_id(p, folder->heap->id_width), &offset))
		return false;
	*parent = node_make(folder, KIND_REFERRERS, offset);
	return true;
}

bool target_referrer(const struct node *link, struct text *text)
{
	uint64_t owner;
	return owner_of(link->heap, link->key, &owner) && target_object(link, owner, text);
}
