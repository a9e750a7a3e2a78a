/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who refers to a node. No lists in that direction are kept, which would cost half as much again as all else: the
 * lists that there are, are searched, a few ms a million references, and the last answers kept.
 */
#include "graph/state.h"

#include <stdlib.h>

struct owners {
	uint32_t *list;
	size_t count, capacity;
	bool failed;
};

static void add_owner(struct owners *owners, uint32_t node)
{
	if (owners->count == owners->capacity) {
		const size_t wanted = owners->capacity ? owners->capacity * 2 : 64;
		uint32_t *list = reallocarray(owners->list, wanted, sizeof *list);
		if (!list) {
			owners->failed = true;
			return;
		}
		owners->list = list;
		owners->capacity = wanted;
	}
	owners->list[owners->count++] = node;
}

/* Marks the first places of the lists that hold `node`. False if there is none. */
static bool mark_lists(const struct graph *graph, uint32_t node, uint64_t *marks)
{
	bool any = false;
	for (size_t i = 0; i < graph->stretch_count; i++) {
		const struct stretch *stretch = &graph->stretches[i];
		const uint32_t *targets = graph->lists.targets;
		uint64_t list = stretch->begin;
		for (uint64_t at = list; at < stretch->begin + stretch->count; at++) {
			if ((targets[at] & ~LIST_LAST) == node) {
				marks[list / 64] |= UINT64_C(1) << list % 64;
				any = true;
			}
			list = targets[at] & LIST_LAST ? at + 1 : list;
		}
	}
	return any;
}

static void find_holders(const struct graph *graph, uint32_t node, struct owners *owners)
{
	if (node >= graph->lists.count) {
		const uint32_t owner = graph->leaf_owner[node - graph->lists.count];
		if (owner != NODE_NONE)
			add_owner(owners, owner);
		return;
	}
	uint64_t *marks = calloc(graph->target_count / 64 + 1, sizeof *marks);
	if (!marks) {
		owners->failed = true;
		return;
	}
	if (mark_lists(graph, node, marks))
		for (uint32_t i = 0; i < graph->lists.count; i++) {
			const uint32_t start = graph->lists.start[i];
			if (start != LIST_NONE && marks[start / 64] >> start % 64 & 1)
				add_owner(owners, i);
		}
	free(marks);
}

/* Those of which it is the referent. */
static void find_references(const struct graph *graph, uint64_t id, struct owners *owners)
{
	const struct heap *heap = graph->heap;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		struct record record = { .shape = &graph->shapes.list[i] };
		struct cursor cursor;
		if (record.shape->referent < 0)
			continue;
		cursor_seek(&cursor, heap, &heap->classes[i], 0);
		while (cursor_next(&cursor)) {
			if (!cursor_object(&cursor, &record.object) || record_referent(&record, heap->id_width) != id ||
			    !is_the_node(graph, &record.object))
				continue;
			const uint32_t owner = number_of(&graph->numbers, cursor.id);
			if (owner != NODE_NONE)
				add_owner(owners, owner);
		}
	}
}

static int compare_nodes(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static struct referrers *find(const struct graph *graph, uint32_t node)
{
	struct owners owners = { .failed = false };
	find_holders(graph, node, &owners);
	find_references(graph, number_id(&graph->numbers, node), &owners);
	if (owners.count)
		qsort(owners.list, owners.count, sizeof *owners.list, compare_nodes);
	struct referrers *referrers = malloc(sizeof *referrers + owners.count * sizeof *referrers->list);
	if (referrers && !owners.failed && !input_touched_bad) {
		atomic_init(&referrers->users, 1);
		referrers->node = node;
		referrers->count = 0;
		for (size_t i = 0; i < owners.count; i++)
			if (!referrers->count || referrers->list[referrers->count - 1] != owners.list[i])
				referrers->list[referrers->count++] = owners.list[i];
	} else {
		free(referrers);
		referrers = NULL;
	}
	free(owners.list);
	return referrers;
}

struct referrers *graph_referrers(struct graph *graph, uint32_t node)
{
	pthread_mutex_lock(&graph->referrers_lock);
	for (unsigned i = 0; i < REFERRERS_KEPT; i++) {
		struct referrers *kept = graph->referrers[i];
		if (!kept || kept->node != node)
			continue;
		memmove(&graph->referrers[1], &graph->referrers[0], i * sizeof *graph->referrers);
		graph->referrers[0] = kept;
		atomic_fetch_add(&kept->users, 1);
		pthread_mutex_unlock(&graph->referrers_lock);
		return kept;
	}
	pthread_mutex_unlock(&graph->referrers_lock);
	struct referrers *found = find(graph, node);
	if (!found)
		return NULL;
	atomic_fetch_add(&found->users, 1); /* the table's */
	pthread_mutex_lock(&graph->referrers_lock);
	struct referrers *oldest = graph->referrers[REFERRERS_KEPT - 1];
	memmove(&graph->referrers[1], &graph->referrers[0], (REFERRERS_KEPT - 1) * sizeof *graph->referrers);
	graph->referrers[0] = found;
	pthread_mutex_unlock(&graph->referrers_lock);
	referrers_put(oldest);
	return found;
}

void referrers_put(struct referrers *referrers)
{
	if (referrers && atomic_fetch_sub(&referrers->users, 1) == 1)
		free(referrers);
}
