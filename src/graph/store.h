/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: memory for arrays that are as long as the heap has objects.
 *
 * Up to `limit` bytes are plain memory. What would go beyond lies in files without a name in the folder for temporary
 * files, mapped, so that the kernel can put it aside: slower, but a heap of any size fits. All pages are zero at
 * first, and those never written to cost nothing in plain memory. One thread at a time gets and puts.
 */
#ifndef HEAPFS_STORE_H
#define HEAPFS_STORE_H

#include <stddef.h>
#include <stdint.h>

struct store {
	uint64_t limit;		/* bytes of plain memory */
	const char *folder;	/* for temporary files; NULL: the usual one */
	_Atomic uint64_t used;	/* bytes taken, in memory and in files */
	_Atomic uint64_t in_files; /* of those, bytes in files */
	void **files;		/* the arrays that are in files */
	size_t file_count;
};

/* The limit where none was asked for: a quarter of the memory that is free to this process now. */
uint64_t store_default_limit(void);

/*
 * `count` items of `size` bytes, all zero. NULL without memory, and without room for a file. Of store_get() most will be
 * used: it may lie in large pages, which are quicker to get. Of store_get_sparse() only what is used takes memory.
 */
void *store_get(struct store *store, uint64_t count, uint64_t size);
void *store_get_sparse(struct store *store, uint64_t count, uint64_t size);
/* Of `count` items only the first `used` are needed any more: gives the memory of the others back. */
void store_trim(void *items, uint64_t used, uint64_t count, uint64_t size);
/* Gives them back; of NULL nothing. */
void store_put(struct store *store, void *items, uint64_t count, uint64_t size);
/* When all arrays were given back. */
void store_close(struct store *store);

#endif
