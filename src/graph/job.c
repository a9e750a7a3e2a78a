/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/job.h"

#include "input/input.h"

#include <errno.h>

void job_init(struct job *job, int (*work)(void *context, const _Atomic bool *cancel), void *context,
	      void (*changed)(void *context), void *changed_context)
{
	*job = (struct job){ .work = work, .context = context, .changed = changed, .changed_context = changed_context,
			     .result = JOB_LATER };
	pthread_mutex_init(&job->lock, NULL);
}

static int work(struct job *job)
{
	const bool touched_bad = input_touched_bad; /* by the request that asked, where that is this thread's */
	const uint64_t epoch = input_begin();
	int rc = job->work(job->context, &job->cancel);
	/* What was read while the file was cut is not the dump's, and a failure may come of it. */
	if (rc != ECANCELED && (input_touched_bad || atomic_load(&input_epoch) != epoch))
		rc = EIO;
	input_touched_bad |= touched_bad;
	atomic_store(&job->result, rc);
	return rc;
}

static void *run(void *argument)
{
	struct job *job = argument;
	if (work(job) != ECANCELED)
		job->changed(job->changed_context);
	return NULL;
}

/* With the lock held. */
static int start(struct job *job)
{
	if (!job->changed)
		return work(job);
	if (pthread_create(&job->thread, NULL, run, job))
		return ENOMEM; /* the next one who asks may have more luck */
	job->started = job->joinable = true;
	return JOB_LATER;
}

int job_need(struct job *job)
{
	int rc = atomic_load(&job->result);
	if (rc != JOB_LATER)
		return rc;
	pthread_mutex_lock(&job->lock);
	rc = atomic_load(&job->result);
	if (rc == JOB_LATER && job->ended)
		rc = ECANCELED;
	else if (rc == JOB_LATER && !job->started)
		rc = start(job);
	pthread_mutex_unlock(&job->lock);
	return rc;
}

bool job_done(const struct job *job)
{
	return !atomic_load(&job->result);
}

void job_cancel(struct job *job)
{
	atomic_store(&job->cancel, true);
	pthread_mutex_lock(&job->lock);
	job->ended = true;
	pthread_mutex_unlock(&job->lock);
}

void job_join(struct job *job)
{
	if (job->joinable)
		pthread_join(job->thread, NULL);
	job->joinable = false;
}

void job_destroy(struct job *job)
{
	pthread_mutex_destroy(&job->lock);
}
