/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests: what the kernel asks, as things that can be put aside.
 *
 * Some answers need what is still being built (TREE_LATER). No thread waits for it: with two threads for all requests, two
 * that slept would freeze the whole mount. Such a request is kept here, and answered by the builder's thread when it has
 * got further. One that is interrupted meanwhile is answered with EINTR, those that are left at the end with ENODEV. (A second
 * request for the same folder may wait in the kernel for the first: libfuse 3.14 cannot ask for parallel ones.)
 */
#ifndef HEAPFS_REQUESTS_H
#define HEAPFS_REQUESTS_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct request {
	fuse_req_t req;
	/* Answers it: 0, or TREE_LATER if it cannot be answered yet. */
	int (*answer)(const struct request *request);
	fuse_ino_t ino;
	const char *name;	/* of a lookup, else NULL; while it is kept, its own copy */
	size_t size;
	off_t offset;
};

struct requests {
	pthread_mutex_t lock;
	struct kept *first;
	uint64_t generation;	/* how often something was finished */
	unsigned answering;	/* threads that answer what was kept */
	pthread_cond_t answered;
	bool ended;
};

void requests_init(struct requests *requests);
/* Answers a request, now or later. */
void requests_serve(struct requests *requests, const struct request *request);
/* Something is finished: answers all that can be answered now. Of type graph_options.changed. */
void requests_retry(void *requests);
/* Answers what is left, and from now on whatever would be kept. When it returns, nobody answers any more, so that the session
   may go. */
void requests_end(struct requests *requests);
void requests_destroy(struct requests *requests);

#endif
