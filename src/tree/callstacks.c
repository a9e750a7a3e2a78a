/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callstacks/: the merged tree of held records' stacks, root first, for du; and diff/callstacks/, such trees of what has
 * changed. They follow the rules of graph/dominators/ (see dominators.c): folders of size 0, a node below which nothing
 * is shown is a file as large as what it holds, others have their own size in self.bin, what is not shown of a folder is
 * together in rest-<n>-allocations.bin (rest-<n>-stacks.bin), blocks are rounded down once, and all content is NUL bytes.
 */
#include "tree/profile.h"

#include <inttypes.h>
#include <stdlib.h>

#define ENTRIES_MOST 4095
#define DEPTH_MOST 64
#define PATH_MOST 3000
#define LEAST 4096
#define LIBRARY_MOST 80		/* bytes of a library's name behind a function's */
#define BLOCK 512

/* What a key of a file says. */
enum { WHOLE, SELF, REST };
#define WHAT_BITS 2

/* A folder's node, and what of it is shown: the first of its children. */
struct holder {
	const struct profile_view *view;
	const struct loli_node *node;
	uint32_t number;
	size_t count;
	struct loli_sum rest;
	uint64_t rest_blocks, self_blocks;
};

/* The node behind a child and all that is below it. */
static uint32_t next_of(const struct profile_view *view, uint32_t child)
{
	return child + view->sums->nodes[child].size;
}

bool callstacks_open(struct profile_view *view, bool all)
{
	const struct loli_sums *sums = view->sums;
	const uint64_t held = sums->nodes[0].total.bytes;
	uint32_t *paths = reallocarray(NULL, sums->node_count, sizeof *paths);
	struct text name = { 0 };
	if (!paths)
		return false;
	view->threshold = all ? 0 : held / 100000 > LEAST ? held / 100000 : LEAST;
	view->flags[0] |= NODE_FOLDER;
	paths[0] = 0;
	for (uint32_t i = 1; i < sums->node_count; i++) {
		const struct loli_node *node = &sums->nodes[i];
		paths[i] = PATH_MOST;
		if (node->depth >= DEPTH_MOST || !(view->flags[node->parent] & NODE_FOLDER) || !node->total.count)
			continue;
		name.len = 0;
		put_callstack_name(&name, view, i);
		paths[i] = paths[node->parent] + (uint32_t)name.len + 1;
		/* What holds most comes first. */
		if (node->size > 1 && sums->nodes[i + 1].total.count && is_shown_below(view, i + 1) &&
		    paths[i] < PATH_MOST - NAME_MOST)
			view->flags[i] |= NODE_FOLDER;
	}
	const bool made = !name.failed;
	text_free(&name);
	free(paths);
	return made;
}

void put_callstack_name(struct text *text, const struct profile_view *view, uint32_t node)
{
	const struct loli_function *function = &view->sums->functions[view->sums->nodes[node].function];
	const bool both = view->flags[node] & NODE_WITH_LIBRARY;
	name_escape(text, sums_name(view->sums, function->text), both ? NAME_MOST - LIBRARY_MOST - 1 : NAME_MOST, false);
	if (!both)
		return;
	text_putc(text, '@');
	if (function->lib != NUMBER_NONE)
		name_escape(text, sums_name(view->sums, view->sums->libraries[function->lib].text), LIBRARY_MOST, false);
}

/* Is a child shown, as number `i` of its siblings? Those that hold nothing are not of this tree. */
static bool is_entry(const struct profile_view *view, uint32_t child, size_t i)
{
	return i < ENTRIES_MOST && view->sums->nodes[child].total.count && is_shown_below(view, child);
}

/* A node of a tree, as its key says. */
static uint64_t key_of(const struct node *node)
{
	return node->kind == KIND_CALLSTACKS ? 0 : node->kind == KIND_CALLSTACK_FILE ? node->key >> WHAT_BITS : node->key;
}

static uint32_t stack_number(const struct node *node)
{
	return (uint32_t)key_of(node);
}

static unsigned tree_number(const struct node *node)
{
	return (unsigned)(key_of(node) >> STACK_TREE_BITS);
}

/* That of the tree that a node is in; NULL where there is none. */
static const struct profile_view *view_of(const struct node *node)
{
	const uint64_t tree = key_of(node) >> STACK_TREE_BITS;
	if (!tree)
		return profile_view(node);
	const struct profile_changes *changes = tree <= CHANGES ? profile_changes(node) : NULL;
	return changes ? &changes->trees[tree - 1] : NULL;
}

struct job *callstack_job(const struct node *node)
{
	const unsigned tree = tree_number(node);
	return tree == STACK_TREES_FOLDER ? NULL : tree ? profile_changes_job(node) : profile_job(node);
}

static bool open_holder(const struct node *node, uint32_t number, struct holder *holder)
{
	const struct profile_view *view = view_of(node);
	if (!view || number >= view->sums->node_count || !(view->flags[number] & NODE_FOLDER))
		return false;
	const struct loli_node *of = &view->sums->nodes[number];
	*holder = (struct holder){ .view = view, .node = of, .number = number, .self_blocks = of->total.bytes / BLOCK,
				   .rest = { of->total.bytes - of->self.bytes, of->total.count - of->self.count } };
	for (uint32_t child = number + 1; child < next_of(view, number); child = next_of(view, child)) {
		const struct loli_sum *total = &view->sums->nodes[child].total;
		if (!is_entry(view, child, holder->count))
			break;
		holder->rest.bytes -= total->bytes;
		holder->rest.count -= total->count;
		holder->self_blocks -= total->bytes / BLOCK;
		holder->count++;
	}
	holder->rest_blocks = holder->rest.bytes / BLOCK;
	holder->self_blocks -= holder->rest_blocks;
	return true;
}

static bool holder_of(const struct node *node, struct holder *holder)
{
	return open_holder(node, stack_number(node), holder);
}

static uint64_t file_key(const struct node *like, uint32_t number, unsigned what)
{
	return stack_key(tree_number(like), number) << WHAT_BITS | what;
}

static void put_rest_name(struct text *text, const struct holder *holder)
{
	text_printf(text, "rest-%" PRIu32 "-%s.bin", holder->rest.count, holder->view->of_stacks ? "stacks" : "allocations");
}

static struct node child_node(const struct node *folder, const struct holder *holder, uint32_t number)
{
	return holder->view->flags[number] & NODE_FOLDER ?
		       node_make(folder, KIND_CALLSTACK, stack_key(tree_number(folder), number)) :
		       node_make(folder, KIND_CALLSTACK_FILE, file_key(folder, number, WHOLE));
}

/* What holds the trees of what has changed. */
static void list_trees(uint64_t from, struct listing *listing)
{
	bool more = true;
	for (uint64_t i = from; i < CHANGES && more; i++) {
		struct text name = { 0 };
		text_puts(&name, loli_change_names[i]);
		more = listing_emit(listing, KIND_CALLSTACK, stack_key((unsigned)i + 1, 0), &name, i + 1);
		text_free(&name);
	}
}

static bool lookup_tree(const struct node *folder, const char *name, struct node *child)
{
	for (unsigned i = 0; i < CHANGES; i++)
		if (!strcmp(loli_change_names[i], name)) {
			*child = node_make(folder, KIND_CALLSTACK, stack_key(i + 1, 0));
			return true;
		}
	return false;
}

/* self.bin at position 0, then the children, then the rest. */
void list_callstacks(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct holder holder;
	struct text name = { 0 };
	if (tree_number(folder) == STACK_TREES_FOLDER) {
		list_trees(from, listing);
		return;
	}
	bool more = holder_of(folder, &holder);
	if (more && !from && holder.number) {
		text_puts(&name, "self.bin");
		more = listing_emit(listing, KIND_CALLSTACK_FILE, file_key(folder, holder.number, SELF), &name, 1);
	}
	uint32_t number = more ? holder.number + 1 : 0;
	for (uint64_t i = 0; more && i < holder.count; i++, number = next_of(holder.view, number)) {
		if (i + 1 < from)
			continue;
		const struct node child = child_node(folder, &holder, number);
		name.len = 0;
		put_callstack_name(&name, holder.view, number);
		more = listing_emit(listing, child.kind, child.key, &name, i + 2);
	}
	if (more && holder.rest.count && from <= holder.count + 1) {
		name.len = 0;
		put_rest_name(&name, &holder);
		listing_emit(listing, KIND_CALLSTACK_FILE, file_key(folder, holder.number, REST), &name, holder.count + 2);
	}
	text_free(&name);
}

static bool is_name(const struct text *text, const char *name)
{
	return !text->failed && text->len == strlen(name) && !memcmp(text->data, name, text->len);
}

bool lookup_callstack(const struct node *folder, const char *name, struct node *child)
{
	struct holder holder;
	struct text text = { 0 };
	bool found = false;
	if (tree_number(folder) == STACK_TREES_FOLDER)
		return lookup_tree(folder, name, child);
	if (!holder_of(folder, &holder))
		return false;
	if (holder.number && !strcmp(name, "self.bin")) {
		*child = node_make(folder, KIND_CALLSTACK_FILE, file_key(folder, holder.number, SELF));
		return true;
	}
	uint32_t number = holder.number + 1;
	for (size_t i = 0; i < holder.count && !found; i++, number = next_of(holder.view, number)) {
		text.len = 0;
		put_callstack_name(&text, holder.view, number);
		found = is_name(&text, name);
		if (found)
			*child = child_node(folder, &holder, number);
	}
	if (!found && holder.rest.count) {
		text.len = 0;
		put_rest_name(&text, &holder);
		found = is_name(&text, name);
		*child = node_make(folder, KIND_CALLSTACK_FILE, file_key(folder, holder.number, REST));
	}
	text_free(&text);
	return found;
}

bool up_callstack(const struct node *folder, struct node *parent)
{
	const unsigned tree = tree_number(folder);
	struct holder holder;
	if (tree == STACK_TREES_FOLDER) {
		*parent = node_make(folder, KIND_PROFILE_DIFF, 0);
		return true;
	}
	if (!holder_of(folder, &holder) || (!holder.number && !tree))
		return false;
	const uint32_t above = holder.number ? holder.node->parent : 0;
	*parent = !holder.number  ? node_make(folder, KIND_CALLSTACK, stack_key(STACK_TREES_FOLDER, 0)) :
		  above || tree	  ? node_make(folder, KIND_CALLSTACK, stack_key(tree, above)) :
				    node_make(folder, KIND_CALLSTACKS, 0);
	return true;
}

bool callstack_room(const struct node *file, uint64_t *size, uint64_t *blocks)
{
	const struct profile_view *view = view_of(file);
	const unsigned what = file->key & ((1u << WHAT_BITS) - 1);
	struct holder holder;
	if (!view || stack_number(file) >= view->sums->node_count || what > REST)
		return false;
	if (what == WHOLE) {
		*size = view->sums->nodes[stack_number(file)].total.bytes;
		*blocks = *size / BLOCK;
		return true;
	}
	if (!holder_of(file, &holder))
		return false;
	*size = what == SELF ? holder.node->self.bytes : holder.rest.bytes;
	*blocks = what == SELF ? holder.self_blocks : holder.rest_blocks;
	return true;
}
