/* SPDX-License-Identifier: Apache-2.0 */
/* What the tree of dominators says of one object, and of all instances of a class. */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

static bool node_size(const struct graph *graph, uint32_t node, uint64_t *size)
{
	const uint64_t id = number_id(&graph->numbers, node);
	const struct class *class = class_find(graph->heap, id);
	struct object object;
	if (class && class->offset) {
		*size = class_object_size(graph->heap, class);
		return true;
	}
	if (!heap_find(graph->heap, id, &object))
		return false;
	*size = object_size(graph->heap, &object);
	return true;
}

uint32_t graph_dominator(const struct graph *graph, uint32_t node)
{
	const struct dominators *d = &graph->dominators;
	if (node >= graph->lists.count)
		return node_strength(graph, node) == STRONG ? graph->leaf_owner[node - graph->lists.count] : NODE_NONE;
	const uint32_t number = d->order[node];
	if (!number || number > d->strong)
		return NODE_NONE;
	return d->idom[number] ? d->vertex[d->idom[number]] : NODE_ROOT;
}

bool graph_held(const struct graph *graph, uint32_t node, struct held *held)
{
	const struct dominators *d = &graph->dominators;
	*held = (struct held){ .strength = node_strength(graph, node), .objects = 1, .dominator = NODE_NONE };
	if (!node_size(graph, node, &held->shallow))
		return false;
	held->retained = held->shallow;
	if (held->strength != STRONG)
		return true;
	held->dominator = graph_dominator(graph, node);
	if (node < graph->lists.count) {
		held->retained = graph->retained[d->order[node]];
		held->objects = graph->objects[d->order[node]];
	}
	return true;
}

uint64_t graph_retained_objects(const struct graph *graph, uint32_t node)
{
	return node < graph->lists.count ? graph->objects[graph->dominators.order[node]] : 1;
}

/* --- classes --- */

/* The tree of dominators, to go through from above: a number's first child, and the next one of its parent's. */
struct family {
	uint32_t *child, *next;
};

/* Adds what instances retain that lie in no other instance of their class: `inside` counts those around. */
static void add_retained(struct graph *graph, const struct family *family, const uint32_t *class_of, uint32_t *inside)
{
	const struct dominators *d = &graph->dominators;
	uint32_t number = family->child[0];
	while (number) {
		const uint32_t class = class_of[graph->class_at[d->vertex[number]]];
		if (class != CLASS_NONE && !inside[class]++)
			graph->classes[class].retained += graph->retained[number];
		if (family->child[number]) {
			number = family->child[number];
			continue;
		}
		for (;;) { /* leave it, and each one above that has no more children */
			const uint32_t left = class_of[graph->class_at[d->vertex[number]]];
			if (left != CLASS_NONE)
				inside[left]--;
			if (family->next[number]) {
				number = family->next[number];
				break;
			}
			number = d->idom[number];
			if (!number)
				return;
		}
	}
}

static int retained_by_class(struct graph *graph)
{
	const struct dominators *d = &graph->dominators;
	const struct heap *heap = graph->heap;
	const struct class *java_class = class_by_name(heap, "java.lang.Class");
	const uint64_t count = (uint64_t)d->strong + 1;
	struct family family = { store_get(&graph->store, count, sizeof *family.child),
				 store_get(&graph->store, count, sizeof *family.next) };
	uint32_t *inside = calloc((size_t)heap->class_count + 1, sizeof *inside);
	uint32_t *class_of = malloc((2 * (size_t)heap->class_count + 1) * sizeof *class_of);
	const bool whole = family.child && family.next && inside && class_of;
	if (whole) {
		for (uint32_t i = 0; i < heap->class_count; i++) {
			class_of[i] = i;
			class_of[heap->class_count + i] = java_class ? class_number(heap, java_class) : CLASS_NONE;
		}
		for (uint32_t number = d->strong; number; number--) {
			family.next[number] = family.child[d->idom[number]];
			family.child[d->idom[number]] = number;
		}
		add_retained(graph, &family, class_of, inside);
	}
	store_put(&graph->store, family.child, count, sizeof *family.child);
	store_put(&graph->store, family.next, count, sizeof *family.next);
	free(inside);
	free(class_of);
	return whole ? 0 : ENOMEM;
}

/* --- what only a pass over the heap can tell --- */

struct classed {
	uint64_t places[GATHERED], sizes[GATHERED];
	uint32_t classes[GATHERED], nodes[GATHERED];
	unsigned count;
	size_t region;
};

static void add_classed(struct graph *graph, struct classed *classed)
{
	const uint32_t core_count = graph->lists.count;
	unsigned known = 0;
	for (unsigned i = 0; i < classed->count; i++) {
		const uint32_t node = known_number(graph, classed->places[i]);
		if (node == NODE_NONE)
			continue;
		classed->nodes[known] = node;
		classed->sizes[known] = classed->sizes[i];
		classed->classes[known++] = classed->classes[i];
		if (node < core_count)
			__builtin_prefetch(&graph->class_at[node], 1);
		__builtin_prefetch(node < core_count ? &graph->dominators.order[node] : &graph->leaf_owner[node - core_count]);
	}
	for (unsigned i = 0; i < known; i++) {
		const uint32_t node = classed->nodes[i];
		struct class_graph *class = &graph->classes[classed->classes[i]];
		const enum strength strength = node_strength(graph, node);
		if (node < core_count)
			graph->class_at[node] = classed->classes[i];
		if (strength == UNREACHABLE) {
			__atomic_fetch_add(&class->lost.objects, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&class->lost.bytes, classed->sizes[i], __ATOMIC_RELAXED);
		} else if (strength == STRONG && node >= core_count) {
			/* Leaves hold nothing, so none lies in another one of its class. */
			__atomic_fetch_add(&class->retained, classed->sizes[i], __ATOMIC_RELAXED);
		}
	}
	classed->count = 0;
}

static int class_chunk(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct graph *graph = context;
	struct classed classed = { .count = 0 };
	(void)thread;
	(void)chunk;
	while (record_walk_next(walk)) {
		const struct record *record = &walk->record;
		if (!record->object.class || !is_the_node(graph, &record->object))
			continue;
		const uint64_t place = place_of_id(&graph->numbers, record->object.id, &classed.region);
		place_prefetch(&graph->numbers, place);
		classed.places[classed.count] = place;
		classed.sizes[classed.count] = record_size(graph->heap, record);
		classed.classes[classed.count++] = record->shape->class;
		if (classed.count == GATHERED)
			add_classed(graph, &classed);
	}
	add_classed(graph, &classed);
	return 0;
}

int find_classes(struct graph *graph)
{
	const struct heap *heap = graph->heap;
	const struct class *java_class = class_by_name(heap, "java.lang.Class");
	graph_phase(graph, "classes of objects");
	graph->class_at = store_get(&graph->store, graph->lists.count, sizeof *graph->class_at);
	graph->classes = calloc((size_t)heap->class_count + 1, sizeof *graph->classes);
	if (!graph->class_at || !graph->classes)
		return ENOMEM;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const uint32_t node = heap->classes[i].offset ? number_of(&graph->numbers, heap->classes[i].id) : NODE_NONE;
		if (node == NODE_NONE)
			continue;
		graph->class_at[node] = heap->class_count + i;
		if (!java_class || node_strength(graph, node) != UNREACHABLE)
			continue;
		struct graph_sum *lost = &graph->classes[class_number(heap, java_class)].lost;
		lost->objects++;
		lost->bytes += class_object_size(heap, &heap->classes[i]);
	}
	return graph_pass(graph, class_chunk, graph);
}

static const struct graph *sorting; /* qsort has no context */
static pthread_mutex_t sorting_lock = PTHREAD_MUTEX_INITIALIZER;

static int compare_classes(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct class_graph *cx = &sorting->classes[x], *cy = &sorting->classes[y];
	if (cx->retained != cy->retained)
		return cx->retained > cy->retained ? -1 : 1;
	const int order = compare_names(sorting->heap->classes[x].name, sorting->heap->classes[y].name);
	return order ? order : x < y ? -1 : x > y;
}

static int order_classes(struct graph *graph)
{
	const uint32_t count = graph->heap->class_count;
	graph->class_order = malloc(((size_t)count + 1) * sizeof *graph->class_order);
	if (!graph->class_order)
		return ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		graph->class_order[i] = i;
	pthread_mutex_lock(&sorting_lock);
	sorting = graph;
	qsort(graph->class_order, count, sizeof *graph->class_order, compare_classes);
	pthread_mutex_unlock(&sorting_lock);
	return 0;
}

int build_classes(struct graph *graph)
{
	graph_phase(graph, "sizes by class");
	const int rc = retained_by_class(graph);
	store_put(&graph->store, graph->class_at, graph->lists.count, sizeof *graph->class_at);
	graph->class_at = NULL;
	return rc ? rc : order_classes(graph);
}
