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

bool graph_held(const struct graph *graph, uint32_t node, struct held *held)
{
	const struct dominators *d = &graph->dominators;
	*held = (struct held){ .strength = node_strength(graph, node), .objects = 1, .dominator = NODE_NONE };
	if (!node_size(graph, node, &held->shallow))
		return false;
	held->retained = held->shallow;
	if (held->strength != STRONG)
		return true;
	if (node >= graph->lists.count) {
		held->dominator = graph->leaf_owner[node - graph->lists.count];
		return true;
	}
	const uint32_t number = d->order[node];
	held->retained = graph->retained[number];
	held->objects = graph->objects[number];
	held->dominator = d->idom[number] ? d->vertex[d->idom[number]] : NODE_ROOT;
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

/* Leaves hold nothing, so none lies in another one of its class. And what is unreachable. */
static int leaves_chunk(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct graph *graph = context;
	(void)thread;
	(void)chunk;
	while (record_walk_next(walk)) {
		const struct object *object = &walk->record.object;
		if (!object->class || !is_the_node(graph, object))
			continue;
		const uint32_t node = number_of(&graph->numbers, object->id);
		const enum strength strength = node_strength(graph, node);
		struct class_graph *class = &graph->classes[walk->record.shape->class];
		if (strength == UNREACHABLE) {
			__atomic_fetch_add(&class->lost.objects, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&class->lost.bytes, record_size(graph->heap, &walk->record), __ATOMIC_RELAXED);
		} else if (strength == STRONG && node >= graph->lists.count) {
			__atomic_fetch_add(&class->retained, record_size(graph->heap, &walk->record), __ATOMIC_RELAXED);
		}
	}
	return 0;
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
	const struct heap *heap = graph->heap;
	const struct class *java_class = class_by_name(heap, "java.lang.Class");
	graph_phase(graph, "sizes by class");
	graph->classes = calloc((size_t)heap->class_count + 1, sizeof *graph->classes);
	int rc = graph->classes ? retained_by_class(graph) : ENOMEM;
	if (!rc)
		rc = graph_pass(graph, leaves_chunk, graph);
	for (uint32_t i = 0; i < heap->class_count && java_class && !rc; i++) {
		struct class_graph *class = &graph->classes[class_number(heap, java_class)];
		if (!heap->classes[i].offset || node_strength(graph, number_of(&graph->numbers, heap->classes[i].id)) != UNREACHABLE)
			continue;
		class->lost.objects++;
		class->lost.bytes += class_object_size(heap, &heap->classes[i]);
	}
	store_put(&graph->store, graph->class_at, graph->lists.count, sizeof *graph->class_at);
	graph->class_at = NULL;
	return rc ? rc : order_classes(graph);
}
