/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duplicates: which java.lang.Strings have equal texts, and which primitive arrays equal elements.
 *
 * All are hashed once by all cores, and what has one hash is then compared, since a hash alone proves nothing. That
 * takes 24 bytes a String, or array, while it is done; 48 for each content that several have are kept. Nothing is done
 * before it is asked for, and then by a job, one for Strings and one for arrays: see job.h.
 */
#ifndef HEAPFS_DUPLICATES_H
#define HEAPFS_DUPLICATES_H

#include "graph/graph.h"

/* A content that two or more have. */
struct content {
	uint64_t id;		/* the lowest of those that have it */
	uint64_t count;		/* of them */
	uint64_t bytes;		/* shallow, of all; of Strings with their arrays, each counted once */
	uint64_t wasted;	/* less what one would take; of Strings the one with the smallest array */
	const uint8_t *data;	/* the content, in the mapping */
	uint32_t length;	/* chars, or elements */
	uint8_t type;		/* of an array's elements; a String's coding */
};

/* Most wasted first, then most of them; then Strings by text (as Java compares), arrays by id. */
struct contents {
	struct content *list;
	size_t count;
};

struct duplicates {
	const struct heap *heap;
	unsigned threads;
	struct job strings_job, arrays_job;
	/* Once the job is done. */
	struct contents strings, arrays;
};

/* Costs nothing yet. The heap must outlive it. Of the options, `threads` and `changed` count. NULL without memory. */
struct duplicates *duplicates_open(const struct heap *heap, const struct graph_options *options);
/* First of all heaps: starts nothing any more; then of all: waits for what was started; then what they made may go. */
void duplicates_cancel(struct duplicates *duplicates);
void duplicates_join(struct duplicates *duplicates);
void duplicates_close(struct duplicates *duplicates);

/* The text of one of `strings`; false where the file does not have it any more. */
bool content_text(const struct heap *heap, const struct content *content, struct string *text);
/* hash_bytes() of the elements of one of `arrays`; 0 where the file does not have them any more. */
uint64_t content_hash(const struct heap *heap, const struct content *content);

#endif
