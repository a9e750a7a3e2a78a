/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/parts.h"

#include <errno.h>
#include <stdlib.h>

struct diff *diff_open(const struct heap *old, const struct heap *new, struct graph *old_graph, struct graph *new_graph,
		       const struct graph_options *options)
{
	struct diff *diff = calloc(1, sizeof *diff);
	if (!diff)
		return NULL;
	diff->heaps[DIFF_OLD] = old;
	diff->heaps[DIFF_NEW] = new;
	diff->graphs[DIFF_OLD] = old_graph;
	diff->graphs[DIFF_NEW] = new_graph;
	diff->threads = options->threads ? options->threads : 1;
	job_init(&diff->objects_job, diff_objects, diff, options->changed, options->context);
	job_init(&diff->strings_job, diff_strings, diff, options->changed, options->context);
	job_init(&diff->bitmaps_job, diff_bitmaps, diff, options->changed, options->context);
	job_init(&diff->dominators_job, diff_dominators, diff, options->changed, options->context);
	if (!match_classes(diff))
		return diff;
	diff_close(diff);
	return NULL;
}

void diff_cancel(struct diff *diff)
{
	if (!diff)
		return;
	job_cancel(&diff->objects_job);
	job_cancel(&diff->strings_job);
	job_cancel(&diff->bitmaps_job);
	job_cancel(&diff->dominators_job);
}

void diff_join(struct diff *diff)
{
	if (!diff)
		return;
	job_join(&diff->objects_job);
	job_join(&diff->strings_job);
	job_join(&diff->bitmaps_job);
	job_join(&diff->dominators_job);
}

void diff_close(struct diff *diff)
{
	if (!diff)
		return;
	job_destroy(&diff->objects_job);
	job_destroy(&diff->strings_job);
	job_destroy(&diff->bitmaps_job);
	job_destroy(&diff->dominators_job);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		for (uint32_t i = 0; diff->objects.lists[side] && i < diff->class_count; i++)
			free(diff->objects.lists[side][i].offsets);
		free(diff->objects.lists[side]);
		free(diff->class_of[side]);
	}
	free(diff->classes);
	free(diff->changed);
	free(diff->members);
	free(diff->names);
	free(diff->texts.list);
	free(diff->bitmaps.list);
	free(diff->paths.list);
	free(diff->paths.order);
	free(diff);
}

int on_all_threads(const struct diff *diff, void *(*work)(void *context), void *context)
{
	pthread_t *threads = calloc(diff->threads, sizeof *threads);
	unsigned started = 0;
	if (!threads)
		return ENOMEM;
	while (started + 1 < diff->threads && !pthread_create(&threads[started], NULL, work, context))
		started++;
	const bool touched_bad = input_touched_bad;
	work(context);
	input_touched_bad |= touched_bad;
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
