/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that retain most, leaves among them: what is shown of the tree of dominators. */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

/* What retains less than this part of what is reachable, or than a page, is not looked for. */
#define PART 100000
#define LEAST 4096

struct gathering {
	struct graph *graph;
	uint64_t least;
	pthread_mutex_t lock;
	struct retainers found;
	size_t capacity;
};

static bool add_retainer(struct gathering *gathering, uint32_t dominator, uint32_t node, uint64_t retained)
{
	struct retainers *found = &gathering->found;
	if (found->count == gathering->capacity) {
		const size_t wanted = gathering->capacity ? gathering->capacity * 2 : 1024;
		struct retainer *list = reallocarray(found->list, wanted, sizeof *list);
		if (!list)
			return false;
		found->list = list;
		gathering->capacity = wanted;
	}
	found->list[found->count++] = (struct retainer){ dominator, node, retained };
	return true;
}

/* Leaves, whose sizes are kept nowhere. */
static int leaf_chunk(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct gathering *gathering = context;
	const struct graph *graph = gathering->graph;
	bool kept = true;
	size_t region = 0;
	(void)thread;
	(void)chunk;
	while (kept && record_walk_next(walk)) {
		const struct record *record = &walk->record;
		if (!record->shape->none || !record->object.class)
			continue;
		const uint64_t size = record_size(graph->heap, record);
		if (size < gathering->least || !is_the_node(graph, &record->object))
			continue;
		const uint32_t node = known_number(graph, place_of_id(&graph->numbers, record->object.id, &region));
		if (node == NODE_NONE || node < graph->lists.count || node_strength(graph, node) != STRONG)
			continue;
		pthread_mutex_lock(&gathering->lock);
		kept = add_retainer(gathering, graph->leaf_owner[node - graph->lists.count], node, size);
		pthread_mutex_unlock(&gathering->lock);
	}
	return kept ? 0 : ENOMEM;
}

/* All that retain at least `least`, in no order. The caller frees the list. */
static int gather(struct graph *graph, uint64_t least, struct retainers *found)
{
	const struct dominators *d = &graph->dominators;
	struct gathering gathering = { .graph = graph, .least = least, .lock = PTHREAD_MUTEX_INITIALIZER };
	bool kept = true;
	for (uint32_t number = 1; number <= d->strong && kept; number++)
		if (graph->retained[number] >= least)
			kept = add_retainer(&gathering, d->idom[number] ? d->vertex[d->idom[number]] : NODE_ROOT,
					    d->vertex[number], graph->retained[number]);
	const int rc = kept ? graph_pass(graph, leaf_chunk, &gathering) : ENOMEM;
	*found = gathering.found;
	return rc;
}

static int compare_retained(const void *a, const void *b)
{
	const struct retainer *x = a, *y = b;
	if (x->retained != y->retained)
		return x->retained > y->retained ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int compare_siblings(const void *a, const void *b)
{
	const struct retainer *x = a, *y = b;
	if (x->dominator != y->dominator)
		return x->dominator < y->dominator ? -1 : 1;
	return compare_retained(a, b);
}

/* How much the LARGEST_MOST largest retain at least; rounded down to five binary digits; 0 where there are fewer. */
static uint64_t large(const struct graph *graph)
{
	uint32_t counts[64][16] = { { 0 } };
	uint64_t total = 0;
	for (uint32_t number = 1; number <= graph->dominators.strong; number++) {
		const uint64_t retained = graph->retained[number] < 16 ? 16 : graph->retained[number];
		const unsigned top = 63 - (unsigned)__builtin_clzll(retained);
		counts[top][retained >> (top - 4) & 15]++;
	}
	for (unsigned top = 63; top >= 5; top--)
		for (unsigned next = 16; next-- > 0;) {
			total += counts[top][next];
			if (total >= LARGEST_MOST)
				return (uint64_t)(16 | next) << (top - 4);
		}
	return 0;
}

int build_retainers(struct graph *graph)
{
	const uint64_t part = graph->sums[STRONG].bytes / PART;
	graph_phase(graph, "what retains most");
	int rc = gather(graph, graph->options.all_retainers ? 0 : part > LEAST ? part : LEAST, &graph->retainers);
	if (!rc && graph->retainers.count)
		qsort(graph->retainers.list, graph->retainers.count, sizeof *graph->retainers.list, compare_siblings);
	if (!rc)
		rc = gather(graph, large(graph), &graph->largest);
	if (rc)
		return rc;
	struct retainers *largest = &graph->largest;
	if (largest->count)
		qsort(largest->list, largest->count, sizeof *largest->list, compare_retained);
	if (largest->count > LARGEST_MOST) {
		largest->count = LARGEST_MOST;
		struct retainer *cut = realloc(largest->list, LARGEST_MOST * sizeof *cut);
		largest->list = cut ? cut : largest->list;
	}
	return 0;
}

const struct retainers *graph_retainers(const struct graph *graph)
{
	return &graph->retainers;
}

const struct retainer *graph_below(const struct graph *graph, uint32_t node, size_t *count)
{
	const struct retainers *all = graph_retainers(graph);
	size_t ends[2];
	for (unsigned i = 0; i < 2; i++) {
		size_t low = 0, high = all->count;
		while (low < high) {
			const size_t mid = low + (high - low) / 2;
			if (all->list[mid].dominator < node || (i && all->list[mid].dominator == node))
				low = mid + 1;
			else
				high = mid;
		}
		ends[i] = low;
	}
	*count = ends[1] - ends[0];
	return *count ? all->list + ends[0] : NULL;
}

const struct retainers *graph_largest(const struct graph *graph)
{
	return &graph->largest;
}
