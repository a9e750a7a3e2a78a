/* SPDX-License-Identifier: Apache-2.0 */
/* waiting: for tests of what is built in the background: graph_options.changed counts, and a test waits for it. */
#ifndef HEAPFS_WAITING_H
#define HEAPFS_WAITING_H

#include <pthread.h>

struct waiting {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned calls;
};
#define WAITING_INIT { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

/* Of type graph_options.changed; the context is a struct waiting. */
static inline void note_change(void *context)
{
	struct waiting *waiting = context;
	pthread_mutex_lock(&waiting->lock);
	waiting->calls++;
	pthread_cond_broadcast(&waiting->changed);
	pthread_mutex_unlock(&waiting->lock);
}

static inline unsigned calls_now(struct waiting *waiting)
{
	pthread_mutex_lock(&waiting->lock);
	const unsigned calls = waiting->calls;
	pthread_mutex_unlock(&waiting->lock);
	return calls;
}

/* Until there are others than `calls`. */
static inline void wait_for_more(struct waiting *waiting, unsigned calls)
{
	pthread_mutex_lock(&waiting->lock);
	while (waiting->calls == calls)
		pthread_cond_wait(&waiting->changed, &waiting->lock);
	pthread_mutex_unlock(&waiting->lock);
}

#endif
