/* SPDX-License-Identifier: Apache-2.0 */
/* What holds what how firmly: from the roots, then through java.lang.ref.References, the firmest first. */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

static enum strength root_strength(uint8_t tag)
{
	return tag == ROOT_UNREACHABLE ? UNREACHABLE : tag == ROOT_FINALIZING ? FINALIZER : STRONG;
}

/* The nodes of roots of one strength; their number. */
static size_t root_nodes(const struct graph *graph, enum strength strength, uint32_t *nodes)
{
	const struct heap *heap = graph->heap;
	const struct roots *roots = heap_roots(heap);
	size_t count = 0;
	for (size_t i = 0; i < roots->count; i++) {
		const uint32_t node = number_of(&graph->numbers, roots->list[i].id);
		if (root_strength(roots->list[i].tag) == strength && node < graph->lists.count)
			nodes[count++] = node;
	}
	for (uint32_t i = 0; graph->lacks_roots && strength == STRONG && i < heap->class_count; i++)
		if (heap->classes[i].offset)
			nodes[count++] = number_of(&graph->numbers, heap->classes[i].id);
	return count;
}

/* A java.lang.ref.Reference: what it leads to without holding it. */
struct weak {
	uint32_t from, to;
	enum strength strength;
};

struct weaks {
	struct weak *list;
	size_t count;
};

static int compare_weaks(const void *a, const void *b)
{
	const struct weak *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int find_weaks(struct graph *graph, struct weaks *weaks)
{
	const struct heap *heap = graph->heap;
	uint64_t most = 0;
	for (uint32_t i = 0; i < heap->class_count; i++)
		most += graph->shapes.list[i].referent >= 0 ? heap->classes[i].count : 0;
	*weaks = (struct weaks){ malloc((most + 1) * sizeof *weaks->list), 0 };
	if (!weaks->list)
		return ENOMEM;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		struct record record = { .shape = &graph->shapes.list[i] };
		struct cursor cursor;
		if (record.shape->referent < 0)
			continue;
		cursor_seek(&cursor, heap, &heap->classes[i], 0);
		while (weaks->count < most && cursor_next(&cursor)) {
			const bool node = cursor_object(&cursor, &record.object) && is_the_node(graph, &record.object);
			const uint64_t id = node ? record_referent(&record, heap->id_width) : 0;
			const uint32_t from = number_of(&graph->numbers, cursor.id), to = id ? number_of(&graph->numbers, id) : NODE_NONE;
			if (from < graph->lists.count && to < graph->lists.count)
				weaks->list[weaks->count++] = (struct weak){ from, to, record.shape->strength };
		}
	}
	if (weaks->count)
		qsort(weaks->list, weaks->count, sizeof *weaks->list, compare_weaks);
	return 0;
}

/* The first of a node's. */
static const struct weak *weak_of(const struct weaks *weaks, uint32_t node)
{
	size_t low = 0, high = weaks->count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (weaks->list[mid].from < node)
			low = mid + 1;
		else
			high = mid;
	}
	return low < weaks->count && weaks->list[low].from == node ? &weaks->list[low] : NULL;
}

static bool is_reached(const struct graph *graph, uint32_t node)
{
	if (node != NODE_NONE && node >= graph->lists.count)
		node = graph->leaf_owner[node - graph->lists.count];
	return node != NODE_NONE && graph->dominators.order[node];
}

/* Does the VM keep a class, though no reference leads to it? So long as its loader, or an instance, is there. */
static bool is_loaded(const struct graph *graph, const struct class *class)
{
	struct cursor cursor;
	if (!class->loader_id || is_reached(graph, number_of(&graph->numbers, class->loader_id)))
		return true;
	cursor_seek(&cursor, graph->heap, class, 0);
	while (cursor_next(&cursor)) {
		const struct object object = { .id = cursor.id, .offset = cursor.offset };
		if (is_the_node(graph, &object) && is_reached(graph, number_of(&graph->numbers, cursor.id)))
			return true;
	}
	return false;
}

/* Appends the class objects that are loaded and not reached yet; how many there are. */
static size_t find_loaded(const struct graph *graph, uint32_t *nodes)
{
	const struct heap *heap = graph->heap;
	size_t count = 0;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const uint32_t node = heap->classes[i].offset ? number_of(&graph->numbers, heap->classes[i].id) : NODE_NONE;
		if (node != NODE_NONE && !is_reached(graph, node) && is_loaded(graph, &heap->classes[i]))
			nodes[count++] = node;
	}
	return count;
}

/*
 * References tell neither of a loader's hold on its classes nor of an object's on its own class. So the classes that are
 * loaded without being reached are taken for roots, all at once, then those that are loaded by what they lead to.
 */
static int hold_loaded(struct graph *graph)
{
	int rc = 0;
	graph->loaded = malloc(((size_t)graph->heap->class_count + 1) * sizeof *graph->loaded);
	if (!graph->loaded)
		return ENOMEM;
	for (size_t more = 1; more && !rc;) {
		more = find_loaded(graph, graph->loaded + graph->loaded_count);
		for (size_t i = 0; i < more && !rc; i++)
			rc = dominators_root(&graph->dominators, graph->loaded[graph->loaded_count + i]);
		graph->loaded_count += more;
	}
	return rc;
}

/* Follows Reference after Reference that holds at least this firmly, from numbers above `seen` on. */
static int follow(struct graph *graph, const struct weaks *weaks, enum strength strength, uint32_t seen)
{
	struct dominators *d = &graph->dominators;
	int rc = 0;
	while (seen < d->reached && !rc) {
		const struct weak *weak = weak_of(weaks, d->vertex[++seen]);
		if (weak && weak->strength <= strength)
			rc = dominators_reach(d, weak->to);
	}
	return rc;
}

/* Goes on from what is reached to all that is held at least this firmly; `nodes` has room for all classes. */
static int reach(struct graph *graph, const struct weaks *weaks, enum strength strength, uint32_t *nodes)
{
	struct dominators *d = &graph->dominators;
	const uint32_t seen = d->reached;
	size_t more = root_nodes(graph, strength, nodes);
	int rc = 0;
	for (size_t i = 0; i < more && !rc; i++)
		rc = dominators_reach(d, nodes[i]);
	for (size_t i = 0; i < weaks->count && !rc; i++)
		if (weaks->list[i].strength <= strength && d->order[weaks->list[i].from])
			rc = dominators_reach(d, weaks->list[i].to);
	if (!rc)
		rc = follow(graph, weaks, strength, seen);
	while (!rc && d->reached > seen && (more = find_loaded(graph, nodes))) {
		const uint32_t before = d->reached;
		for (size_t i = 0; i < more && !rc; i++)
			rc = dominators_reach(d, nodes[i]);
		if (!rc)
			rc = follow(graph, weaks, strength, before);
	}
	graph->bounds[strength] = d->reached;
	return rc;
}

int search_strengths(struct graph *graph)
{
	const struct roots *roots = heap_roots(graph->heap);
	struct dominators *d = &graph->dominators;
	struct weaks weaks = { NULL, 0 };
	uint32_t *nodes = roots ? malloc((roots->count + graph->heap->class_count + 1) * sizeof *nodes) : NULL;
	if (!nodes)
		return ENOMEM;
	graph->lacks_roots = !root_nodes(graph, STRONG, nodes);
	const size_t count = root_nodes(graph, STRONG, nodes);
	int rc = dominators_open(d, &graph->lists, &graph->store, &graph->cancel);
	for (size_t i = 0; i < count && !rc; i++)
		rc = dominators_root(d, nodes[i]);
	if (!rc)
		rc = hold_loaded(graph);
	if (!rc)
		rc = dominators_solve(d);
	graph->bounds[STRONG] = d->strong;
	if (!rc)
		rc = find_weaks(graph, &weaks);
	for (enum strength strength = SOFT; strength < UNREACHABLE && !rc; strength++)
		rc = reach(graph, &weaks, strength, nodes);
	free(weaks.list);
	free(nodes);
	return rc;
}

enum strength number_strength(const struct graph *graph, uint32_t number)
{
	enum strength strength = STRONG;
	if (!number)
		return UNREACHABLE;
	while (number > graph->bounds[strength])
		strength++;
	return strength;
}

uint32_t holder_number(const struct graph *graph, uint32_t node)
{
	if (node >= graph->lists.count)
		node = graph->leaf_owner[node - graph->lists.count];
	return node == NODE_NONE ? 0 : graph->dominators.order[node];
}

enum strength node_strength(const struct graph *graph, uint32_t node)
{
	return number_strength(graph, holder_number(graph, node));
}
