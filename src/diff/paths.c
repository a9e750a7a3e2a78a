/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is dominated by objects of which classes, before and after: the trees of dominators of both dumps with nodes of one
 * class path put together. 8 bytes an object are taken meanwhile, for one dump after the other.
 */
#include "diff/parts.h"
#include "loli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* Of a node: that it has no place among the paths, or none yet. */
#define NOT_HELD (UINT32_MAX - 2)
#define NOT_PLACED (UINT32_MAX - 1)
/* In a node's class: a class object. */
#define CLASS_OBJECT (UINT32_C(1) << 31)

struct paths_build {
	struct diff *diff;
	const _Atomic bool *cancel;
	struct table table;	/* of (path above, class): numbers of paths */
	size_t capacity;	/* of diff->paths.list */
	/* Of the dump that is looked at. */
	enum diff_side side;
	struct graph *graph;
	uint32_t node_count;
	uint32_t *classes, *places; /* by node */
	_Atomic uint64_t *counts, *bytes; /* by path: of the objects that end there */
	uint32_t *stack;	/* nodes whose dominator has no place yet */
	size_t stack_count, stack_capacity;
};

/* The graph's own thread builds it. This one is the job's, so that it may wait; it looks again now and then. */
static int wait_for_graph(struct graph *graph, const _Atomic bool *cancel)
{
	static const struct timespec pause = { 0, 5000000 };
	int rc;
	while ((rc = graph_need(graph, GRAPH_DOMINATORS)) == GRAPH_LATER) {
		if (atomic_load(cancel))
			return ECANCELED;
		nanosleep(&pause, NULL);
	}
	return rc;
}

/* The node of an object; NODE_NONE if it is not the one that its id leads to. */
static uint32_t node_of(const struct paths_build *build, const struct object *object)
{
	const struct heap *heap = build->diff->heaps[build->side];
	struct found found;
	const uint32_t node = graph_node(build->graph, object->id);
	if (node != NODE_NONE && heap->scan.index.duplicates &&
	    (!index_find(&heap->scan.index, object->id, &found) || found.offset != object->offset))
		return NODE_NONE;
	return node < build->node_count ? node : NODE_NONE;
}

static int note_classes(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct paths_build *build = context;
	(void)thread;
	(void)chunk;
	while (record_walk_next(walk)) {
		const uint32_t node = node_of(build, &walk->record.object);
		if (node != NODE_NONE && walk->record.shape->class != CLASS_NONE)
			build->classes[node] = build->diff->class_of[build->side][walk->record.shape->class];
	}
	return 0;
}

static int add_sizes(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct paths_build *build = context;
	const struct heap *heap = build->diff->heaps[build->side];
	(void)thread;
	(void)chunk;
	while (record_walk_next(walk)) {
		const uint32_t node = node_of(build, &walk->record.object);
		/* A class object may have the id of an object that is not meant then. */
		if (node == NODE_NONE || build->places[node] >= NOT_HELD || build->classes[node] & CLASS_OBJECT)
			continue;
		atomic_fetch_add_explicit(&build->counts[build->places[node]], 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&build->bytes[build->places[node]], record_size(heap, &walk->record),
					  memory_order_relaxed);
	}
	return 0;
}

/* The path that goes on from `above` to a class. NUMBER_NONE without memory. */
static uint32_t path_to(struct paths_build *build, uint32_t above, uint32_t class)
{
	struct diff_paths *paths = &build->diff->paths;
	const struct diff_path *before = above == DIFF_PATH_ROOT ? NULL : &paths->list[above];
	const bool class_object = class & CLASS_OBJECT;
	if (before && (before->depth == DIFF_PATH_DEPTH ||
		       (before->class == (class & ~CLASS_OBJECT) && before->class_object == class_object)))
		return above;
	if (paths->count >= DIFF_PATHS_MOST && above != DIFF_PATH_ROOT) {
		const uint32_t known = table_get(&build->table, (struct table_key){ above, class });
		paths->left_out |= known == NUMBER_NONE;
		return known != NUMBER_NONE ? known : above;
	}
	uint32_t *number = table_put(&build->table, (struct table_key){ above, class });
	if (!number || *number != NUMBER_NONE)
		return number ? *number : NUMBER_NONE;
	if (!table_grow((void **)&paths->list, paths->count, &build->capacity, sizeof *paths->list)) {
		*number = 0;
		return NUMBER_NONE;
	}
	*number = paths->count++;
	paths->list[*number] = (struct diff_path){ .above = above, .class = class & ~CLASS_OBJECT, .class_object = class_object,
						   .depth = (uint8_t)(above == DIFF_PATH_ROOT ? 1 : paths->list[above].depth + 1) };
	return *number;
}

/* Finds the place of a node, and of those that dominate it. */
static int place_node(struct paths_build *build, uint32_t node)
{
	uint32_t above = NOT_HELD;
	for (;;) {
		if (!table_grow((void **)&build->stack, build->stack_count, &build->stack_capacity, sizeof *build->stack))
			return ENOMEM;
		build->stack[build->stack_count++] = node;
		node = graph_dominator(build->graph, node);
		if (node == NODE_NONE)
			break; /* nothing strongly holds it */
		above = node == NODE_ROOT ? DIFF_PATH_ROOT : build->places[node];
		if (above != NOT_PLACED)
			break;
	}
	while (build->stack_count) {
		node = build->stack[--build->stack_count];
		if (above != NOT_HELD)
			above = path_to(build, above, build->classes[node]);
		if (above == NUMBER_NONE)
			return ENOMEM;
		build->places[node] = above;
	}
	return 0;
}

static int place_all(struct paths_build *build)
{
	int rc = 0;
	for (uint32_t node = 0; !rc && node < build->node_count; node++) {
		if (build->places[node] == NOT_PLACED)
			rc = place_node(build, node);
		if (!rc && atomic_load_explicit(build->cancel, memory_order_relaxed))
			rc = ECANCELED;
	}
	return rc;
}

static int add_all(struct paths_build *build, const struct pass *pass)
{
	struct diff_paths *paths = &build->diff->paths;
	const struct heap *heap = build->diff->heaps[build->side];
	build->counts = calloc((size_t)paths->count + 1, sizeof *build->counts);
	build->bytes = calloc((size_t)paths->count + 1, sizeof *build->bytes);
	int rc = build->counts && build->bytes ? pass_run(pass) : ENOMEM;
	for (uint32_t i = 0; !rc && i < heap->class_count; i++) {
		const uint32_t node = heap->classes[i].offset ? graph_node(build->graph, heap->classes[i].id) : NODE_NONE;
		if (node >= build->node_count || build->places[node] >= NOT_HELD)
			continue;
		build->counts[build->places[node]]++;
		build->bytes[build->places[node]] += class_object_size(heap, &heap->classes[i]);
	}
	for (uint32_t i = 0; !rc && i < paths->count; i++)
		paths->list[i].sums[build->side] = (struct diff_sum){ build->counts[i], build->bytes[i] };
	free(build->counts);
	free(build->bytes);
	return rc;
}

/* Adds what one dump's objects retain to their paths. */
static int add_dump(struct paths_build *build)
{
	struct diff *diff = build->diff;
	const struct heap *heap = diff->heaps[build->side];
	struct shapes shapes;
	build->node_count = graph_node_count(build->graph);
	build->classes = malloc(((size_t)build->node_count + 1) * sizeof *build->classes);
	build->places = malloc(((size_t)build->node_count + 1) * sizeof *build->places);
	int rc = shapes_open(&shapes, heap);
	if (!build->classes || !build->places)
		rc = ENOMEM;
	struct pass pass = { .shapes = &shapes, .threads = diff->threads, .cancel = build->cancel, .chunk = note_classes,
			     .context = build };
	for (uint32_t i = 0; !rc && i < build->node_count; i++) {
		build->classes[i] = diff->class_count; /* until it is known */
		build->places[i] = NOT_PLACED;
	}
	if (!rc)
		rc = pass_run(&pass);
	for (uint32_t i = 0; !rc && i < heap->class_count; i++) {
		const uint32_t node = heap->classes[i].offset ? graph_node(build->graph, heap->classes[i].id) : NODE_NONE;
		if (node < build->node_count)
			build->classes[node] = diff->class_of[build->side][i] | CLASS_OBJECT;
	}
	if (!rc)
		rc = place_all(build);
	pass.chunk = add_sizes;
	if (!rc)
		rc = add_all(build, &pass);
	shapes_close(&shapes);
	free(build->classes);
	free(build->places);
	return rc;
}

/* Most growth first, then those that hold others, then as they were found. */
static int compare_paths(const void *a, const void *b, void *context)
{
	const struct diff_paths *paths = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = diff_order(paths->list[x].sums, paths->list[y].sums);
	if (order || paths->list[x].depth != paths->list[y].depth)
		return order ? order : paths->list[x].depth < paths->list[y].depth ? -1 : 1;
	return x < y ? -1 : x > y;
}

int diff_dominators(void *context, const _Atomic bool *cancel)
{
	struct diff *diff = context;
	struct diff_paths *paths = &diff->paths;
	struct paths_build build = { .diff = diff, .cancel = cancel };
	int rc = 0;
	for (unsigned side = 0; !rc && side < DIFF_SIDES; side++) {
		build.side = (enum diff_side)side;
		build.graph = diff->graphs[side];
		rc = wait_for_graph(build.graph, cancel);
		if (!rc)
			rc = add_dump(&build);
	}
	table_free(&build.table);
	free(build.stack);
	if (rc)
		return rc;
	/* A path stands behind the one above it. */
	for (uint32_t i = paths->count; i-- > 0;)
		for (unsigned side = 0; paths->list[i].above != DIFF_PATH_ROOT && side < DIFF_SIDES; side++) {
			struct diff_sum *sum = &paths->list[paths->list[i].above].sums[side];
			sum->count += paths->list[i].sums[side].count;
			sum->bytes += paths->list[i].sums[side].bytes;
		}
	paths->order = malloc(((size_t)paths->count + 1) * sizeof *paths->order);
	if (!paths->order)
		return ENOMEM;
	for (uint32_t i = 0; i < paths->count; i++)
		if (diff_changed(paths->list[i].sums))
			paths->order[paths->order_count++] = i;
	qsort_r(paths->order, paths->order_count, sizeof *paths->order, compare_paths, paths);
	return 0;
}
