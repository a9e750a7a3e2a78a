/* SPDX-License-Identifier: Apache-2.0 */
/* From the dump to lists of references, dominators and retained sizes. */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

/* --- which objects there are, and which of them are leaves --- */

struct survey {
	struct graph *graph;
	_Atomic bool collided;
};

/* References looked up at a time: where objects lie at random, their places are brought near together. */
#define GATHERED 64

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
	graph->lists.targets = store_get_sparse(&graph->store, graph->target_count, sizeof *graph->lists.targets);
	graph->leaf_owner = store_get(&graph->store, graph->leaf_count, sizeof *graph->leaf_owner);
	if (!graph->lists.start || !graph->lists.targets || !graph->leaf_owner)
		return ENOMEM;
	memset(graph->lists.start, 0xff, graph->lists.count * sizeof *graph->lists.start);
	memset(graph->leaf_owner, 0xff, graph->leaf_count * sizeof *graph->leaf_owner);
	rc = list_classes(graph);
	return rc ? rc : graph_pass(graph, lists_chunk, graph);
}

/* --- what holds how firmly --- */

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

static int search(struct graph *graph)
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

static enum strength number_strength(const struct graph *graph, uint32_t number)
{
	enum strength strength = STRONG;
	if (!number)
		return UNREACHABLE;
	while (number > graph->bounds[strength])
		strength++;
	return strength;
}

/* Number in the search of a node, or of what holds a leaf; 0: unreachable. */
static uint32_t holder_number(const struct graph *graph, uint32_t node)
{
	if (node >= graph->lists.count)
		node = graph->leaf_owner[node - graph->lists.count];
	return node == NODE_NONE ? 0 : graph->dominators.order[node];
}

enum strength node_strength(const struct graph *graph, uint32_t node)
{
	return number_strength(graph, holder_number(graph, node));
}

/* --- sizes --- */

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

/* Objects whose sizes are added at a time: where they lie at random, each step brings near what the next one needs. */
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
	const int rc = search(graph);
	if (rc)
		return rc;
	graph_phase(graph, "retained sizes");
	return sum_sizes(graph);
}
