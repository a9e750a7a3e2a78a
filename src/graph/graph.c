/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	enum graph_stage stage;	/* what is there afterwards */
	int (*build)(struct graph *graph);
} steps[] = {
	{ GRAPH_NOTHING, build_references },
	{ GRAPH_DOMINATORS, build_dominators },
	{ GRAPH_PATHS, build_paths },
	{ GRAPH_CLASSES, build_classes },
	{ GRAPH_RETAINERS, build_retainers },
};
/* How often graph_phase() is called until GRAPH_CLASSES. */
#define PHASES 8

struct graph *graph_open(const struct heap *heap, const struct graph_options *options)
{
	struct graph *graph = calloc(1, sizeof *graph);
	if (!graph)
		return NULL;
	graph->heap = heap;
	graph->options = *options;
	if (!graph->options.threads)
		graph->options.threads = 1;
	graph->phase = "nothing";
	graph->changed = heap->in->st.st_mtim;
	pthread_mutex_init(&graph->lock, NULL);
	pthread_mutex_init(&graph->referrers_lock, NULL);
	return graph;
}

static void drop(struct graph *graph)
{
	struct store *store = &graph->store;
	store_put(store, graph->before, graph->lists.count, sizeof *graph->before);
	store_put(store, graph->distance, graph->lists.count, sizeof *graph->distance);
	store_put(store, graph->class_at, graph->lists.count, sizeof *graph->class_at);
	store_put(store, graph->retained, (uint64_t)graph->dominators.strong + 1, sizeof *graph->retained);
	store_put(store, graph->objects, (uint64_t)graph->dominators.strong + 1, sizeof *graph->objects);
	dominators_close(&graph->dominators);
	store_put(store, graph->lists.start, graph->lists.count, sizeof *graph->lists.start);
	store_put(store, graph->lists.targets, graph->target_count, sizeof *graph->lists.targets);
	store_put(store, graph->leaf_owner, graph->leaf_count, sizeof *graph->leaf_owner);
	numbers_close(&graph->numbers);
	shapes_close(&graph->shapes);
	free(graph->stretches);
	free(graph->classes);
	free(graph->class_order);
	free(graph->loaded);
	free(graph->retainers.list);
	free(graph->largest.list);
	for (unsigned i = 0; i < REFERRERS_KEPT; i++)
		referrers_put(graph->referrers[i]);
	store_close(store);
}

void graph_close(struct graph *graph)
{
	if (!graph)
		return;
	atomic_store(&graph->cancel, true);
	if (graph->joinable)
		pthread_join(graph->builder, NULL);
	drop(graph);
	pthread_mutex_destroy(&graph->lock);
	pthread_mutex_destroy(&graph->referrers_lock);
	free(graph);
}

/* --- the builder --- */

void graph_phase(struct graph *graph, const char *phase)
{
	pthread_mutex_lock(&graph->lock);
	graph->phase = phase;
	graph->phase_number++;
	atomic_store(&graph->phase_done, 0);
	clock_gettime(CLOCK_REALTIME, &graph->changed);
	pthread_mutex_unlock(&graph->lock);
}

int graph_pass(struct graph *graph, int (*chunk)(void *context, unsigned thread, size_t chunk, struct record_walk *walk),
	       void *context)
{
	const struct pass pass = { .shapes = &graph->shapes, .threads = graph->options.threads, .cancel = &graph->cancel,
				   .chunk = chunk, .context = context, .done = &graph->phase_done };
	return pass_run(&pass);
}

/* One step towards the next stage, with the lock not held. */
static int take_step(struct graph *graph, size_t step)
{
	const uint64_t epoch = input_begin();
	const int rc = steps[step].build(graph);
	/* What was read while the file was cut is not the dump's, and a failure may come of it. */
	return rc != ECANCELED && (input_touched_bad || atomic_load(&input_epoch) != epoch) ? EIO : rc;
}

static void *build(void *argument)
{
	struct graph *graph = argument;
	pthread_mutex_lock(&graph->lock);
	while (!graph->error && atomic_load(&graph->stage) < (int)graph->wanted) {
		const enum graph_stage next = (enum graph_stage)(atomic_load(&graph->stage) + 1);
		int rc = 0;
		pthread_mutex_unlock(&graph->lock);
		for (size_t i = 0; i < sizeof steps / sizeof *steps && !rc; i++)
			if (steps[i].stage == next || (steps[i].stage == GRAPH_NOTHING && next == GRAPH_DOMINATORS))
				rc = take_step(graph, i);
		pthread_mutex_lock(&graph->lock);
		graph->error = rc;
		if (!rc)
			atomic_store(&graph->stage, (int)next);
		clock_gettime(CLOCK_REALTIME, &graph->changed);
		if (!graph->options.changed || rc == ECANCELED)
			continue;
		pthread_mutex_unlock(&graph->lock);
		graph->options.changed(graph->options.context);
		pthread_mutex_lock(&graph->lock);
	}
	graph->running = false;
	pthread_mutex_unlock(&graph->lock);
	return NULL;
}

/* Has a builder go on to what is wanted. The lock is held. */
static void start(struct graph *graph)
{
	graph->running = true;
	clock_gettime(CLOCK_REALTIME, &graph->changed);
	if (!graph->store.limit)
		graph->store = (struct store){ .limit = graph->options.memory ? graph->options.memory : store_default_limit(),
					       .folder = graph->options.tmpdir };
	if (!graph->options.changed) {
		pthread_mutex_unlock(&graph->lock);
		build(graph);
		pthread_mutex_lock(&graph->lock);
		return;
	}
	if (graph->joinable) /* it is about to end */
		pthread_join(graph->builder, NULL);
	graph->joinable = !pthread_create(&graph->builder, NULL, build, graph);
	if (!graph->joinable) {
		graph->error = ENOMEM;
		graph->running = false;
	}
}

int graph_need(struct graph *graph, enum graph_stage stage)
{
	if (graph_has(graph, stage))
		return 0;
	pthread_mutex_lock(&graph->lock);
	const enum graph_stage goal = stage > GRAPH_CLASSES ? stage : GRAPH_CLASSES; /* what is soon asked for next */
	if (graph->wanted < goal)
		graph->wanted = goal;
	if (!graph->running && !graph->error)
		start(graph);
	const int rc = graph_has(graph, stage) ? 0 : graph->error ? graph->error : GRAPH_LATER;
	pthread_mutex_unlock(&graph->lock);
	return rc;
}

bool graph_has(const struct graph *graph, enum graph_stage stage)
{
	return atomic_load(&graph->stage) >= (int)stage;
}

void graph_progress(struct graph *graph, struct graph_progress *progress)
{
	const size_t chunks = chunk_count(graph->heap);
	pthread_mutex_lock(&graph->lock);
	const uint64_t done = atomic_load(&graph->phase_done);
	*progress = (struct graph_progress){ .stage = (enum graph_stage)atomic_load(&graph->stage), .started = graph->wanted != GRAPH_NOTHING,
					     .error = graph->error, .phase = graph->phase, .bytes = graph->store.used,
					     .in_files = graph->store.in_files, .changed = graph->changed };
	const double within = chunks ? (double)(done < chunks ? done : chunks) / (double)chunks : 0;
	if (graph->phase_number)
		progress->percent = (unsigned)(100 * ((double)graph->phase_number - 1 + within) / PHASES);
	if (progress->percent > 100 || progress->stage >= GRAPH_CLASSES)
		progress->percent = 100;
	progress->running = graph->running;
	/* While it runs something of it always changes, and the kernel forgets what it read only with a new time. */
	if (graph->running)
		clock_gettime(CLOCK_REALTIME, &progress->changed);
	else
		progress->phase = "nothing";
	pthread_mutex_unlock(&graph->lock);
}

/* --- what it says --- */

uint32_t graph_node(const struct graph *graph, uint64_t id)
{
	return number_of(&graph->numbers, id);
}

uint32_t graph_node_count(const struct graph *graph)
{
	return graph->numbers.count;
}

uint64_t graph_id(const struct graph *graph, uint32_t node)
{
	return number_id(&graph->numbers, node);
}

const struct graph_sum *graph_sums(const struct graph *graph)
{
	return graph->sums;
}

bool graph_lacks_roots(const struct graph *graph)
{
	return graph->lacks_roots;
}

uint64_t graph_references(const struct graph *graph)
{
	uint64_t count = 0;
	for (size_t i = 0; i < graph->stretch_count; i++)
		count += graph->stretches[i].count;
	for (uint32_t i = 0; i < graph->leaf_count; i++)
		count += graph->leaf_owner[i] != NODE_NONE;
	return count;
}

const struct class_graph *graph_classes(const struct graph *graph)
{
	return graph->classes;
}

const uint32_t *graph_class_order(const struct graph *graph)
{
	return graph->class_order;
}
