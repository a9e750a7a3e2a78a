/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: something that takes long, done once, at the first question, by a thread of its own.
 *
 * Nobody waits for it: who asks too early is told JOB_LATER and asks again when `changed` was called. Where there is no
 * `changed` to call, who asks first does it, and others wait. (The graph's builder does the like in stages: graph.h.)
 */
#ifndef HEAPFS_JOB_H
#define HEAPFS_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Of job_need(): it is being done. */
#define JOB_LATER (-1)

struct job {
	/* 0 or errno; ECANCELED soon after *cancel was set. What it writes may be read once job_need() has said 0. */
	int (*work)(void *context, const _Atomic bool *cancel);
	void *context;
	void (*changed)(void *context); /* called by the thread when it is done, or failed; may be NULL */
	void *changed_context;
	/* Internal. */
	pthread_mutex_t lock;
	pthread_t thread;
	bool started, joinable, ended;
	_Atomic bool cancel;
	_Atomic int result;	/* JOB_LATER: not yet */
};

void job_init(struct job *job, int (*work)(void *context, const _Atomic bool *cancel), void *context,
	      void (*changed)(void *context), void *changed_context);
/*
 * Sees to it that it is, or will be, done: 0, JOB_LATER, or an errno value: what the work says, or EIO where the dump
 * is not what it was, and so again each time.
 */
int job_need(struct job *job);
/* Is it done, without an error? Asks for nothing. */
bool job_done(const struct job *job);
/* From now on nothing is started; what is being done ends. Does not wait for that. */
void job_cancel(struct job *job);
/* Waits for that. After job_cancel(), and before job_destroy(). */
void job_join(struct job *job);
void job_destroy(struct job *job);

#endif
