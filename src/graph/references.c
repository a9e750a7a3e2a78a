/* SPDX-License-Identifier: Apache-2.0 */
/* From the dump to numbers for its objects, and lists of the references between them. */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

/* --- which objects there are, and which of them are leaves --- */

struct survey {
	struct graph *graph;
	_Atomic bool collided;
};

enum gathered_kind {
	REFERENCE,
	OWNER,			/* an object, whose references follow */
	WITHOUT			/* an object whose class has none */
};

struct gathered {
	uint64_t places[GATHERED];
	uint8_t kinds[GATHERED];
	unsigned count;
	size_t region;		/* for place_of_id() */
};

/* Takes one more; true: that is all for now. */
static inline bool gather(struct gathered *gathered, uint64_t place, enum gathered_kind kind)
{
	gathered->places[gathered->count] = place;
	gathered->kinds[gathered->count++] = (uint8_t)kind;
	return gathered->count == GATHERED;
}

/* Notes objects and what leads to them; how many references may be to objects of the dump. */
static uint64_t note_gathered(struct numbers *numbers, struct adding *adding, struct gathered *gathered)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < gathered->count; i++)
		if (gathered->kinds[i] == REFERENCE)
			count += numbers_mark(numbers, gathered->places[i], false);
		else
			numbers_add(numbers, adding, gathered->places[i], gathered->kinds[i] == WITHOUT);
	gathered->count = 0;
	return count;
}

static int survey_chunk(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct survey *survey = context;
	struct graph *graph = survey->graph;
	struct numbers *numbers = &graph->numbers;
	const unsigned I = graph->heap->id_width;
	struct adding adding = { .word = 0 };
	struct gathered gathered = { .count = 0 };
	uint64_t count = 0, id;
	(void)thread;
	while (record_walk_next(walk)) {
		const struct record *record = &walk->record;
		struct reference_walk references;
		if (!is_the_node(graph, &record->object))
			continue;
		uint64_t place = place_of_id(numbers, record->object.id, &gathered.region);
		place_prefetch(numbers, place);
		if (gather(&gathered, place, record->shape->none ? WITHOUT : OWNER))
			count += note_gathered(numbers, &adding, &gathered);
		if (record->shape->none)
			continue;
		reference_walk_start(&references, record, I);
		while (reference_walk_next(&references, &id)) {
			if (!id)
				continue;
			place = place_of_id(numbers, id, &gathered.region);
			mark_prefetch(numbers, place);
			if (gather(&gathered, place, REFERENCE))
				count += note_gathered(numbers, &adding, &gathered);
		}
		id = record_referent(record, I);
		if (id)
			numbers_mark(numbers, place_of_id(numbers, id, &gathered.region), true);
	}
	count += note_gathered(numbers, &adding, &gathered);
	numbers_flush(numbers, &adding);
	if (adding.collided)
		atomic_store(&survey->collided, true);
	graph->stretches[chunk].room = count; /* at most; the places follow when all is counted */
	return 0;
}

static void mark_class_reference(void *context, uint64_t id, uint64_t offset, const char *label)
{
	struct graph *graph = context;
	(void)offset;
	(void)label;
	size_t region = 0;
	if (numbers_mark(&graph->numbers, place_of_id(&graph->numbers, id, &region), false))
		graph->stretches[graph->stretch_count - 1].room++;
}

static int survey(struct graph *graph)
{
	const struct heap *heap = graph->heap;
	const struct roots *roots = heap_roots(heap);
	struct survey survey = { .graph = graph };
	struct adding adding = { .word = 0 };
	size_t region = 0;
	int rc = roots ? 0 : ENOMEM;
	graph->stretches[graph->stretch_count - 1].room = 0;
	for (uint32_t i = 0; i < heap->class_count && !rc; i++) {
		if (!heap->classes[i].offset)
			continue;
		numbers_add(&graph->numbers, &adding, place_of_id(&graph->numbers, heap->classes[i].id, &region), false);
		rc = class_references(heap, &heap->classes[i], mark_class_reference, graph);
	}
	numbers_flush(&graph->numbers, &adding);
	for (size_t i = 0; roots && i < roots->count; i++)
		numbers_mark(&graph->numbers, place_of_id(&graph->numbers, roots->list[i].id, &region), true);
	if (!rc)
		rc = graph_pass(graph, survey_chunk, &survey);
	if (rc || !atomic_load(&survey.collided) || atomic_load(&graph->careful))
		return rc;
	/* Two objects of one id, or one of a class's: again, looking at each whether it is the first. */
	atomic_store(&graph->careful, true);
	numbers_clear(&graph->numbers);
	return EAGAIN;
}

/* --- lists of references between nodes of the core --- */

/* The list that is being written. */
struct writing {
	struct graph *graph;
	struct stretch *stretch;
	uint32_t owner;
	uint64_t first;		/* where it begins */
};

static void end_list(struct writing *writing)
{
	const uint64_t end = writing->stretch->begin + writing->stretch->count;
	if (end == writing->first || writing->owner >= writing->graph->lists.count)
		return;
	writing->graph->lists.targets[end - 1] |= LIST_LAST;
	writing->graph->lists.start[writing->owner] = (uint32_t)writing->first;
	writing->first = end;
}

static void begin_list(struct writing *writing, uint64_t owner_place)
{
	end_list(writing);
	writing->owner = known_number(writing->graph, owner_place);
}

static void add_reference(struct writing *writing, uint64_t place)
{
	struct graph *graph = writing->graph;
	const uint32_t node = number_at(&graph->numbers, place);
	if (node == NODE_NONE)
		return;
	if (node >= graph->numbers.core_count)
		graph->leaf_owner[node - graph->numbers.core_count] = writing->owner;
	else if (writing->stretch->count == writing->stretch->room)
		input_touched_bad = true; /* there were fewer when they were counted */
	else
		graph->lists.targets[writing->stretch->begin + writing->stretch->count++] = node;
}

static struct writing start_writing(struct graph *graph, size_t stretch)
{
	return (struct writing){ .graph = graph, .stretch = &graph->stretches[stretch],
				 .first = graph->stretches[stretch].begin };
}

static void list_gathered(struct writing *writing, struct gathered *gathered)
{
	for (unsigned i = 0; i < gathered->count; i++)
		if (gathered->kinds[i] == REFERENCE)
			add_reference(writing, gathered->places[i]);
		else
			begin_list(writing, gathered->places[i]);
	gathered->count = 0;
}

static int lists_chunk(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct graph *graph = context;
	const unsigned I = graph->heap->id_width;
	struct writing writing = start_writing(graph, chunk);
	struct gathered gathered = { .count = 0 };
	uint64_t id;
	(void)thread;
	while (record_walk_next(walk)) {
		struct reference_walk references;
		if (walk->record.shape->none || !is_the_node(graph, &walk->record.object))
			continue;
		uint64_t place = place_of_id(&graph->numbers, walk->record.object.id, &gathered.region);
		place_prefetch(&graph->numbers, place);
		if (gather(&gathered, place, OWNER))
			list_gathered(&writing, &gathered);
		reference_walk_start(&references, &walk->record, I);
		while (reference_walk_next(&references, &id)) {
			if (!id)
				continue;
			place = place_of_id(&graph->numbers, id, &gathered.region);
			place_prefetch(&graph->numbers, place);
			if (gather(&gathered, place, REFERENCE))
				list_gathered(&writing, &gathered);
		}
	}
	list_gathered(&writing, &gathered);
	end_list(&writing);
	return 0;
}

static void list_class_reference(void *context, uint64_t id, uint64_t offset, const char *label)
{
	struct writing *writing = context;
	size_t region = 0;
	(void)offset;
	(void)label;
	add_reference(writing, place_of_id(&writing->graph->numbers, id, &region));
}

static int list_classes(struct graph *graph)
{
	const struct heap *heap = graph->heap;
	struct writing writing = start_writing(graph, graph->stretch_count - 1);
	size_t region = 0;
	int rc = 0;
	for (uint32_t i = 0; i < heap->class_count && !rc; i++) {
		if (!heap->classes[i].offset)
			continue;
		begin_list(&writing, place_of_id(&graph->numbers, heap->classes[i].id, &region));
		rc = class_references(heap, &heap->classes[i], list_class_reference, &writing);
	}
	end_list(&writing);
	return rc;
}

/* The stretch that a place in the lists, as they were written, belongs to. */
static size_t stretch_at(const struct graph *graph, uint32_t place)
{
	size_t low = 0, high = graph->stretch_count;
	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;
		if (graph->stretches[mid].begin <= place)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/*
 * Moves the stretches together. Each had room for all its references, those to leaves too, which are in no list. The lists
 * lie in large pages, where a search that jumps about is a fifth faster, and there even gaps take memory.
 */
static int close_gaps(struct graph *graph)
{
	uint64_t *moved = malloc(graph->stretch_count * sizeof *moved), used = 0;
	if (!moved)
		return ENOMEM;
	for (size_t i = 0; i < graph->stretch_count; i++) {
		const struct stretch *stretch = &graph->stretches[i];
		moved[i] = stretch->begin - used;
		memmove(graph->lists.targets + used, graph->lists.targets + stretch->begin,
			stretch->count * sizeof *graph->lists.targets);
		used += stretch->count;
	}
	for (uint32_t node = 0; node < graph->lists.count; node++)
		if (graph->lists.start[node] != LIST_NONE)
			graph->lists.start[node] -= (uint32_t)moved[stretch_at(graph, graph->lists.start[node])];
	for (size_t i = 0; i < graph->stretch_count; i++)
		graph->stretches[i].begin -= moved[i];
	free(moved);
	store_trim(graph->lists.targets, used, graph->target_count, sizeof *graph->lists.targets);
	return 0;
}

int build_references(struct graph *graph)
{
	graph->stretch_count = chunk_count(graph->heap) + 1;
	graph->stretches = calloc(graph->stretch_count, sizeof *graph->stretches);
	graph_phase(graph, "classes and addresses");
	int rc = graph->stretches ? shapes_open(&graph->shapes, graph->heap) : ENOMEM;
	if (!rc)
		rc = numbers_open(&graph->numbers, graph->heap, &graph->store);
	if (rc)
		return rc;
	atomic_store(&graph->careful, graph->numbers.odd_collided);
	graph_phase(graph, "counting references");
	rc = survey(graph);
	if (rc == EAGAIN)
		rc = survey(graph);
	if (!rc)
		rc = numbers_finish(&graph->numbers);
	if (rc)
		return rc;
	for (size_t i = 0; i < graph->stretch_count; i++) {
		graph->stretches[i].begin = graph->target_count;
		graph->target_count += graph->stretches[i].room;
	}
	if (graph->target_count >= LIST_NONE)
		return E2BIG;
	graph_phase(graph, "listing references");
	graph->lists.count = graph->numbers.core_count;
	graph->leaf_count = graph->numbers.count - graph->numbers.core_count;
	graph->lists.start = store_get(&graph->store, graph->lists.count, sizeof *graph->lists.start);
	graph->lists.targets = store_get(&graph->store, graph->target_count, sizeof *graph->lists.targets);
	graph->leaf_owner = store_get(&graph->store, graph->leaf_count, sizeof *graph->leaf_owner);
	if (!graph->lists.start || !graph->lists.targets || !graph->leaf_owner)
		return ENOMEM;
	memset(graph->lists.start, 0xff, graph->lists.count * sizeof *graph->lists.start);
	memset(graph->leaf_owner, 0xff, graph->leaf_count * sizeof *graph->leaf_owner);
	rc = list_classes(graph);
	if (!rc)
		rc = graph_pass(graph, lists_chunk, graph);
	return rc ? rc : close_gaps(graph);
}
