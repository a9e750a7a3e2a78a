/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph/leaks.tsv: what should not be here any more, or keeps too much alive. Android: objects that have ended and are still
 * strongly held. JVM: objects that dominate a large part of the heap, with the place below each where the tree of dominators
 * spreads out; class loaders that one thread or one class alone keeps. Most retained first.
 */
#include "tree/node.h"

#include "android/leaks.h"

#include <inttypes.h>
#include <stdlib.h>

#define TABLE_STEP 64

/* What retains this part of all that is reachable is suspicious. */
#define SUSPICIOUS_PART 10
/* The tree spreads out where no child has seven tenths of its parent (Eclipse MAT's measure); not looked for deeper. */
#define SPREAD(retained) ((retained) / 10 * 7)
#define SPREAD_DEPTH 100
/* Rows; and steps up the tree of dominators for all class loaders together. No heap that was not made to do harm has more. */
#define LEAKS_MOST 10000
#define STEPS_MOST 100000000

struct leak {
	uint32_t node;
	uint64_t retained;
	const char *kind;
	char *reason;
};

struct leaks {
	struct leak *list;
	size_t count, capacity;
	bool failed, more;
	uint64_t steps;
};

struct finding {
	const struct node *file;
	struct leaks *leaks;
};

void leaks_close(struct leaks *leaks)
{
	for (size_t i = 0; leaks && i < leaks->count; i++)
		free(leaks->list[i].reason);
	if (leaks)
		free(leaks->list);
	free(leaks);
}

/* Takes over the reason, which ends in NUL. */
static void add_leak(const struct finding *finding, uint32_t node, const char *kind, struct text *reason)
{
	struct leaks *leaks = finding->leaks;
	struct held held;
	text_putc(reason, 0);
	leaks->failed |= reason->failed;
	leaks->more |= leaks->count == LEAKS_MOST;
	if (leaks->more) {
		text_free(reason);
		return;
	}
	if (leaks->count == leaks->capacity) {
		const size_t wanted = leaks->capacity ? leaks->capacity * 2 : 64;
		struct leak *list = reallocarray(leaks->list, wanted, sizeof *list);
		leaks->failed |= !list;
		if (list) {
			leaks->list = list;
			leaks->capacity = wanted;
		}
	}
	if (leaks->failed || !graph_held(node_graph(finding->file), node, &held)) {
		text_free(reason);
		return;
	}
	leaks->list[leaks->count++] = (struct leak){ node, held.retained, kind, reason->data };
}

static void add_ended(void *context, uint64_t id, const char *kind, const char *why)
{
	const struct finding *finding = context;
	const struct graph *graph = node_graph(finding->file);
	const uint32_t node = graph_node(graph, id);
	struct held held;
	if (node == NODE_NONE || !graph_held(graph, node, &held) || held.strength != STRONG)
		return;
	struct text reason = { 0 };
	text_puts(&reason, why);
	add_leak(finding, node, kind, &reason);
}

/* --- JVM: what dominates much --- */

/* The child that retains most, if it is shown at all. */
static const struct retainer *largest_child(const struct graph *graph, uint32_t node)
{
	size_t count;
	return graph_below(graph, node, &count); /* those that retain most come first */
}

static const struct class *node_class_of(const struct node *file, uint32_t node)
{
	const uint64_t id = graph_id(node_graph(file), node);
	const struct class *class = class_find(file->heap, id);
	struct object object;
	if (class && class->offset)
		return NULL; /* a class object */
	return heap_find(file->heap, id, &object) ? object.class : NULL;
}

/* Down from a node as long as one child has most of it. Of a long list, whose every node does, its first one. */
static uint32_t find_spread(const struct node *file, uint32_t node, uint64_t retained)
{
	const struct graph *graph = node_graph(file);
	const struct class *class = node_class_of(file, node);
	uint32_t first = node; /* of those of one class in a row */
	for (unsigned depth = 0; depth < SPREAD_DEPTH; depth++) {
		const struct retainer *child = largest_child(graph, node);
		if (!child || child->retained < SPREAD(retained))
			return node;
		const struct class *child_class = node_class_of(file, child->node);
		node = child->node;
		retained = child->retained;
		if (!child_class || child_class != class)
			first = node;
		class = child_class;
	}
	return first;
}

static void find_suspects(const struct finding *finding)
{
	const struct node *file = finding->file;
	const struct graph *graph = node_graph(file);
	const uint64_t reachable = graph_sums(graph)[STRONG].bytes;
	const struct retainers *all = graph_retainers(graph);
	const struct retainer *suspect = largest_child(graph, NODE_ROOT);
	for (; suspect && suspect < all->list + all->count && suspect->dominator == NODE_ROOT &&
	       suspect->retained > reachable / SUSPICIOUS_PART;
	     suspect++) {
		const uint32_t spread = find_spread(file, suspect->node, suspect->retained);
		struct text reason = { 0 };
		text_printf(&reason, "retains %.1f %% of what is reachable", 100.0 * (double)suspect->retained / (double)reachable);
		if (spread != suspect->node) {
			text_puts(&reason, "; it spreads out at ");
			text_id(&reason, graph_id(graph, spread));
		}
		add_leak(finding, suspect->node, "dominates", &reason);
		if (spread == suspect->node)
			continue;
		reason = (struct text){ 0 };
		text_puts(&reason, "what ");
		text_id(&reason, graph_id(graph, suspect->node));
		if (graph_retained_objects(graph, spread) > 1)
			text_printf(&reason, " retains spreads out here, over %" PRIu64 " objects",
				    graph_retained_objects(graph, spread) - 1);
		else
			text_puts(&reason, " retains is mostly this one object");
		add_leak(finding, spread, "accumulates", &reason);
	}
}

/* --- JVM: class loaders --- */

/* The VM's own, which live as long as it does. */
static bool is_own_loader(const struct class *class)
{
	static const char *const own[] = { "jdk.internal.loader.", "sun.misc.Launcher$", "jdk.internal.reflect.",
					   "sun.reflect." };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (class->name.len >= strlen(own[i]) && !memcmp(class->name.text, own[i], strlen(own[i])))
			return true;
	return false;
}

/* Who dominates a node and is dominated by nobody; NODE_NONE for the node itself. */
static uint32_t topmost(const struct graph *graph, uint32_t node, uint64_t *steps)
{
	uint32_t top = NODE_NONE, above = graph_dominator(graph, node);
	for (; above < NODE_ROOT && *steps < STEPS_MOST; ++*steps, above = graph_dominator(graph, above))
		top = above;
	return above == NODE_ROOT ? top : NODE_NONE;
}

static void check_loader(const struct finding *finding, const struct object *loader)
{
	const struct node *file = finding->file;
	const struct graph *graph = node_graph(file);
	const struct heap *heap = file->heap;
	const uint32_t node = graph_node(graph, loader->id);
	const uint32_t top = node == NODE_NONE ? NODE_NONE : topmost(graph, node, &finding->leaks->steps);
	struct text reason = { 0 };
	if (top == NODE_NONE)
		return;
	const uint64_t id = graph_id(graph, top);
	const struct class *class = class_find(heap, id), *thread = class_by_name(heap, "java.lang.Thread");
	struct object object, name;
	struct string string;
	if (class && class->offset) {
		if (class->loader_id == loader->id)
			return; /* its own class: nobody else has it */
		text_puts(&reason, "only class ");
		text_name(&reason, class->name);
		text_puts(&reason, " keeps it");
	} else if (heap_find(heap, id, &object) && class_extends(heap, object.class, thread)) {
		text_puts(&reason, "only thread ");
		text_id(&reason, id);
		if (object_field(heap, &object, "name", &name) && heap_string(heap, &name, &string)) {
			text_puts(&reason, " \"");
			text_string(&reason, &string, TEXT_LINE_CHARS);
			text_putc(&reason, '"');
		}
		text_puts(&reason, " keeps it");
	} else {
		return;
	}
	add_leak(finding, node, "class loader", &reason);
}

static void find_loaders(const struct finding *finding)
{
	const struct heap *heap = finding->file->heap;
	const struct class *base = class_by_name(heap, "java.lang.ClassLoader");
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const struct class *class = &heap->classes[i];
		struct cursor cursor;
		struct object loader;
		if (!class->count || !class_extends(heap, class, base) || is_own_loader(class))
			continue;
		cursor_seek(&cursor, heap, class, 0);
		while (cursor_next(&cursor))
			if (cursor_object(&cursor, &loader))
				check_loader(finding, &loader);
	}
}

/* --- the table --- */

static int compare_leaks(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;
	if (x->retained != y->retained)
		return x->retained > y->retained ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static struct leaks *find_leaks(const struct node *file)
{
	struct leaks *leaks = calloc(1, sizeof *leaks);
	struct finding finding = { file, leaks };
	if (!leaks)
		return NULL;
	if (file->heap->android)
		leaks->failed |= android_ended(file->heap, add_ended, &finding) != 0;
	/* A heap graph has none of the numbers that say what has ended. */
	if (!file->heap->android || heap_graph_of(file->heap))
		find_suspects(&finding);
	if (!file->heap->android)
		find_loaders(&finding);
	if (leaks->failed || input_touched_bad) {
		leaks_close(leaks);
		return NULL;
	}
	if (leaks->count)
		qsort(leaks->list, leaks->count, sizeof *leaks->list, compare_leaks);
	return leaks;
}

/* What was found; NULL without memory. Found at first use, and kept. */
static const struct leaks *node_leaks(const struct node *file)
{
	struct leaks *_Atomic *slot = &node_dump(file)->leaks;
	struct leaks *leaks = atomic_load(slot), *other = NULL;
	if (leaks)
		return leaks;
	leaks = find_leaks(file);
	if (leaks && !atomic_compare_exchange_strong(slot, &other, leaks)) {
		leaks_close(leaks);
		return other;
	}
	return leaks;
}

static void write_leaks(const struct node *file, uint64_t first, struct pages *pages)
{
	const struct graph *graph = node_graph(file);
	const struct leaks *leaks = node_leaks(file);
	struct text *text = &pages->text;
	text->failed |= !leaks;
	if (!leaks)
		return;
	if (!first) {
		text_puts(text, "id\tclass\tkind\treason\tretained\tpath\n");
		if (!pages_next(pages))
			return;
		first = 1;
	}
	for (uint64_t i = first - 1; i < leaks->count; i++) {
		const struct leak *leak = &leaks->list[i];
		text_id(text, graph_id(graph, leak->node));
		text_putc(text, '\t');
		put_class_of(text, file->heap, graph_id(graph, leak->node));
		text_printf(text, "\t%s\t%s\t%" PRIu64 "\t", leak->kind, leak->reason, leak->retained);
		put_short_path(text, file, leak->node);
		text_putc(text, '\n');
		if (!pages_next(pages))
			return;
	}
	if (leaks->more && first <= leaks->count + 1) {
		text_puts(text, "-\t-\tmore\tnot looked at\t-\t-\n");
		pages_next(pages);
	}
}

const struct pages_ops leaks_pages = { .step = TABLE_STEP, .write = write_leaks };
