/* SPDX-License-Identifier: Apache-2.0 */
#include "fuse/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept {
	struct request request;
	struct requests *requests;
	struct kept *next;
	bool held;		/* still in the hands of the thread that keeps it */
	bool interrupted;
};

void requests_init(struct requests *requests)
{
	*requests = (struct requests){ .first = NULL };
	pthread_mutex_init(&requests->lock, NULL);
	pthread_cond_init(&requests->answered, NULL);
}

void requests_destroy(struct requests *requests)
{
	pthread_mutex_destroy(&requests->lock);
	pthread_cond_destroy(&requests->answered);
}

static void free_kept(struct kept *kept)
{
	free((char *)(uintptr_t)kept->request.name);
	free(kept);
}

/* With the lock held. False if another thread took it out. */
static bool take_out(struct kept *kept)
{
	for (struct kept **at = &kept->requests->first; *at; at = &(*at)->next)
		if (*at == kept) {
			*at = kept->next;
			return true;
		}
	return false;
}

/* Called by libfuse, also at once by fuse_req_interrupt_func() for one that was interrupted before. */
static void on_interrupt(fuse_req_t req, void *data)
{
	struct kept *kept = data;
	struct requests *requests = kept->requests;
	pthread_mutex_lock(&requests->lock);
	kept->interrupted = true;
	const bool ours = !kept->held && take_out(kept);
	pthread_mutex_unlock(&requests->lock);
	if (!ours)
		return; /* somebody is answering it */
	fuse_reply_err(req, EINTR);
	free_kept(kept);
}

static struct kept *make_kept(struct requests *requests, const struct request *request)
{
	struct kept *kept = malloc(sizeof *kept);
	char *name = request->name ? strdup(request->name) : NULL;
	if (!kept || (request->name && !name)) {
		free(kept);
		free(name);
		return NULL;
	}
	*kept = (struct kept){ .request = *request, .requests = requests, .held = true };
	kept->request.name = name;
	return kept;
}

/*
 * Keeps a request that could not be answered when `generation` was. False if something was finished since, so that it
 * should be tried again.
 */
static bool keep(struct requests *requests, const struct request *request, uint64_t generation)
{
	struct kept *kept = make_kept(requests, request);
	if (!kept) {
		fuse_reply_err(request->req, ENOMEM);
		return true;
	}
	/* Not in the list yet, since who finds it there answers it, and then there is no request to set this for. */
	fuse_req_interrupt_func(request->req, on_interrupt, kept);
	pthread_mutex_lock(&requests->lock);
	const int error = kept->interrupted ? EINTR : requests->ended ? ENODEV : 0;
	const bool again = !error && requests->generation != generation;
	if (!error && !again) {
		kept->held = false;
		kept->next = requests->first;
		requests->first = kept;
	}
	pthread_mutex_unlock(&requests->lock);
	if (!error && !again)
		return true;
	fuse_req_interrupt_func(request->req, NULL, NULL);
	if (error)
		fuse_reply_err(request->req, error);
	free_kept(kept);
	return !again;
}

void requests_serve(struct requests *requests, const struct request *request)
{
	for (;;) {
		pthread_mutex_lock(&requests->lock);
		const uint64_t generation = requests->generation;
		pthread_mutex_unlock(&requests->lock);
		if (!request->answer(request) || keep(requests, request, generation))
			return;
	}
}

static struct kept *take_all(struct requests *requests, bool end)
{
	pthread_mutex_lock(&requests->lock);
	struct kept *first = requests->first;
	requests->first = NULL;
	requests->generation++;
	requests->answering++;
	requests->ended |= end;
	for (struct kept *kept = first; kept; kept = kept->next)
		kept->held = true; /* an interrupt leaves it alone from now on */
	pthread_mutex_unlock(&requests->lock);
	return first;
}

/* Nobody else is at it any more, with `wait`. */
static void answered(struct requests *requests, bool wait)
{
	pthread_mutex_lock(&requests->lock);
	requests->answering--;
	pthread_cond_broadcast(&requests->answered);
	while (wait && requests->answering)
		pthread_cond_wait(&requests->answered, &requests->lock);
	pthread_mutex_unlock(&requests->lock);
}

void requests_retry(void *context)
{
	struct requests *requests = context;
	for (struct kept *kept = take_all(requests, false), *next; kept; kept = next) {
		next = kept->next;
		fuse_req_interrupt_func(kept->request.req, NULL, NULL);
		pthread_mutex_lock(&requests->lock);
		const bool ended = requests->ended;
		pthread_mutex_unlock(&requests->lock);
		if (ended)
			fuse_reply_err(kept->request.req, ENODEV);
		else
			requests_serve(requests, &kept->request);
		free_kept(kept);
	}
	answered(requests, false);
}

void requests_end(struct requests *requests)
{
	for (struct kept *kept = take_all(requests, true), *next; kept; kept = next) {
		next = kept->next;
		fuse_req_interrupt_func(kept->request.req, NULL, NULL);
		fuse_reply_err(kept->request.req, ENODEV);
		free_kept(kept);
	}
	answered(requests, true);
}
