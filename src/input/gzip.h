/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip: what a gzip file holds (RFC 1952: one member or more, one after another).
 *
 * The JVM (GC.heap_dump -gz, JDK 15 and later) writes a member for each MiB, and says so in a comment of the first
 * one, `HPROF BLOCKSIZE=1048576`. Those are found by their fixed headers and inflated by all cores; where one turns
 * out not to be what it seemed, the rest is inflated in order, as all other files are.
 */
#ifndef HEAPFS_GZIP_H
#define HEAPFS_GZIP_H

#include "input/notes.h"
#include "input/spill.h"

/* How far a container's own bytes are read. */
typedef void input_progress(void *context, uint64_t done, uint64_t total);

struct gzip {
	const uint8_t *data;
	uint64_t len;
	struct notes *notes;	/* of what is lost */
	unsigned threads;
	input_progress *progress; /* or NULL */
	void *context;
	/* What was found. */
	uint64_t members, size;	/* `size` bytes are in the spill */
	bool whole;		/* nothing is lost */
};

/* Inflates the beginning: up to `len` bytes. Their number; 0 where nothing can be. */
size_t gzip_head(const uint8_t *data, uint64_t data_len, uint8_t *head, size_t len);

/* Bytes it will unpack to: exact for the JVM's, else a guess from the last member's length. */
uint64_t gzip_estimate(const uint8_t *data, uint64_t len);

/* Inflates all that can be. 0, or -1 without memory or on an error of the spill's. */
int gzip_unpack(struct gzip *gzip, struct spill *spill);

#endif
