/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages: files whose text is written piece by piece (a row of a table, a stretch of a String) when it is read.
 *
 * The size of such a file is found by one pass over its pieces, which also notes the byte offset of every
 * STEPth, so that a read in the middle begins near its place. What was noted is kept for good, 8 bytes for
 * `step` pieces; a file of at most `step` pieces is written anew each time and keeps nothing.
 */
#ifndef HEAPFS_PAGES_H
#define HEAPFS_PAGES_H

#include "tree/text.h"

#include <pthread.h>

struct node;
struct pages;

struct pages_ops {
	/* Pieces between two noted offsets. Each read writes half as many in vain. */
	uint64_t step;
	/*
	 * Writes piece `first` and those after it into pages->text, calling pages_next() after each and
	 * returning when that is false. Piece 0 always exists.
	 */
	void (*write)(const struct node *node, uint64_t first, struct pages *pages);
	/* How many pieces there are; NULL where that is few. Of many, all cores find the size. */
	uint64_t (*pieces)(const struct node *node);
};

struct pages {
	struct text text;
	/* Internal. */
	uint64_t step, piece, base;	/* `base`: offset in the file of the text's first byte */
	uint64_t from, to;		/* what is wanted; to is 0 while the size is being found */
	uint64_t until;			/* the piece to stop before, then; 0: none */
	uint64_t *offsets;
	size_t offset_count, offset_capacity;
};

/* A piece is written; false: that was enough. */
bool pages_next(struct pages *pages);

struct pages_cache {
	pthread_mutex_t lock;
	struct pages_entry **slots;
	size_t slot_count, count;
};

/* Is only the size being found? What is of a known width need not be looked up then. */
static inline bool pages_sizing(const struct pages *pages)
{
	return !pages->to;
}

/* So many bytes of the piece need not be written while the size is being found. */
static inline void pages_skip(struct pages *pages, uint64_t len)
{
	pages->base += len;
}

void pages_cache_init(struct pages_cache *cache);
void pages_cache_free(struct pages_cache *cache);

/* Size in bytes. 0, or ENOMEM. `ino` is the file's. */
int pages_size(struct pages_cache *cache, uint64_t ino, const struct pages_ops *ops, const struct node *node,
	       uint64_t *size);
/* Puts bytes [offset, offset + size) into `text`, fewer at the end. 0, or ENOMEM. */
int pages_read(struct pages_cache *cache, uint64_t ino, const struct pages_ops *ops, const struct node *node,
	       uint64_t offset, size_t size, struct text *text);

#endif
