/* SPDX-License-Identifier: Apache-2.0 */
/* Shallow and retained sizes. */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

uint64_t class_object_size(const struct heap *heap, const struct class *class)
{
	const struct class *java_class = class_by_name(heap, "java.lang.Class");
	uint64_t size = java_class ? java_class->size : 0;
	struct static_walk walk;
	if (heap_graph_of(heap)) /* it tells the sizes of class objects as of others */
		return object_size(heap, &(struct object){ .id = class->id, .kind = OBJECT_PRIMITIVE_ARRAY });
	static_walk_start(&walk, heap, class, false);
	while (static_walk_next(&walk))
		size += walk.type == TYPE_OBJECT ? heap->sizes.reference : type_width(walk.type, heap->id_width);
	const uint64_t alignment = heap->sizes.alignment ? heap->sizes.alignment : 1;
	return (size + alignment - 1) / alignment * alignment;
}

struct tally_sums {
	_Alignas(128) struct graph_sum sums[STRENGTH_COUNT]; /* each thread's in cache lines of its own */
};

struct sizing {
	struct graph *graph;
	struct tally_sums *sums; /* by thread */
};

/* Objects whose sizes are added at a time. */
struct sized {
	uint64_t places[GATHERED], sizes[GATHERED];
	uint32_t numbers[GATHERED];
	unsigned count;
	size_t region;
};

static void add_sized(struct sizing *sizing, unsigned thread, struct sized *sized)
{
	struct graph *graph = sizing->graph;
	const uint32_t core_count = graph->lists.count;
	unsigned known = 0;
	for (unsigned i = 0; i < sized->count; i++) {
		const uint32_t node = known_number(graph, sized->places[i]);
		if (node == NODE_NONE)
			continue;
		sized->numbers[known] = node;
		sized->sizes[known++] = sized->sizes[i];
		__builtin_prefetch(node < core_count ? &graph->dominators.order[node] : &graph->leaf_owner[node - core_count]);
	}
	for (unsigned i = 0; i < known; i++) {
		const uint32_t node = sized->numbers[i], owner = node < core_count ? node : graph->leaf_owner[node - core_count];
		sized->numbers[i] = owner;
		__builtin_prefetch(&graph->dominators.order[owner < core_count ? owner : 0]);
	}
	for (unsigned i = 0; i < known; i++) {
		const uint32_t number = sized->numbers[i] = holder_number(graph, sized->numbers[i]);
		__builtin_prefetch(&graph->retained[number <= graph->dominators.strong ? number : 0], 1);
		__builtin_prefetch(&graph->objects[number <= graph->dominators.strong ? number : 0], 1);
	}
	for (unsigned i = 0; i < known; i++) {
		const uint32_t number = sized->numbers[i];
		struct graph_sum *sum = &sizing->sums[thread].sums[number_strength(graph, number)];
		sum->objects++;
		sum->bytes += sized->sizes[i];
		if (!number || number > graph->dominators.strong)
			continue;
		/* Other threads may have leaves of the same owner. */
		__atomic_fetch_add(&graph->retained[number], sized->sizes[i], __ATOMIC_RELAXED);
		__atomic_fetch_add(&graph->objects[number], 1, __ATOMIC_RELAXED);
	}
	sized->count = 0;
}

static void add_size(struct sizing *sizing, unsigned thread, struct sized *sized, uint64_t id, uint64_t size)
{
	const uint64_t place = place_of_id(&sizing->graph->numbers, id, &sized->region);
	place_prefetch(&sizing->graph->numbers, place);
	sized->places[sized->count] = place;
	sized->sizes[sized->count++] = size;
	if (sized->count == GATHERED)
		add_sized(sizing, thread, sized);
}

static int sizes_chunk(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct sizing *sizing = context;
	const struct heap *heap = sizing->graph->heap;
	struct sized sized = { .count = 0 };
	(void)chunk;
	while (record_walk_next(walk)) {
		const struct record *record = &walk->record;
		if (record->object.class && is_the_node(sizing->graph, &record->object))
			add_size(sizing, thread, &sized, record->object.id, record_size(heap, record));
	}
	add_sized(sizing, thread, &sized);
	return 0;
}

static int sum_sizes(struct graph *graph)
{
	const struct heap *heap = graph->heap;
	const uint64_t count = (uint64_t)graph->dominators.strong + 1;
	const unsigned threads = graph->options.threads;
	struct sized sized = { .count = 0 };
	struct sizing sizing = { graph, aligned_alloc(128, threads * sizeof *sizing.sums) };
	graph->retained = store_get(&graph->store, count, sizeof *graph->retained);
	graph->objects = store_get(&graph->store, count, sizeof *graph->objects);
	if (!sizing.sums || !graph->retained || !graph->objects) {
		free(sizing.sums);
		return ENOMEM;
	}
	memset(sizing.sums, 0, threads * sizeof *sizing.sums);
	const int rc = graph_pass(graph, sizes_chunk, &sizing);
	for (uint32_t i = 0; i < heap->class_count && !rc; i++)
		if (heap->classes[i].offset)
			add_size(&sizing, 0, &sized, heap->classes[i].id, class_object_size(heap, &heap->classes[i]));
	if (!rc)
		add_sized(&sizing, 0, &sized);
	for (unsigned i = 0; i < threads; i++)
		for (unsigned strength = 0; strength < STRENGTH_COUNT; strength++) {
			graph->sums[strength].objects += sizing.sums[i].sums[strength].objects;
			graph->sums[strength].bytes += sizing.sums[i].sums[strength].bytes;
		}
	free(sizing.sums);
	/* A dominator's number is lower than that of what it dominates. */
	for (uint32_t number = graph->dominators.strong; number; number--) {
		const uint32_t dominator = graph->dominators.idom[number];
		graph->retained[dominator] += graph->retained[number];
		graph->objects[dominator] += graph->objects[number];
	}
	return rc;
}

int build_dominators(struct graph *graph)
{
	graph_phase(graph, "dominators");
	const int rc = search_strengths(graph);
	if (rc)
		return rc;
	graph_phase(graph, "retained sizes");
	return sum_sizes(graph);
}
