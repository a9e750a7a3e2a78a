/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touches: how many pages of a dump in memory something looks at, of those that it has no business with. They cannot
 * be read while it runs; each fault counts one page, and lets it be read.
 */
#ifndef HEAPFS_TOUCHES_H
#define HEAPFS_TOUCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t from, to;	/* offsets in the dump */
};

struct ranges {
	struct range *list;
	size_t count;
};
/* Appends a range; one that begins where the last one ends is joined with it. */
void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to);
void ranges_free(struct ranges *ranges);

/* Before the first count, and after the last one. */
void touches_init(void);
void touches_end(void);
/* Whole pages in the ranges count from now on; their number. */
size_t touches_start(const uint8_t *dump, const struct ranges *ranges);
/* How many were touched so far. */
size_t touches_now(void);
/* The same, and all can be read again. */
size_t touches_stop(const uint8_t *dump, const struct ranges *ranges);
/* Offset of the first byte that was touched. */
size_t touches_first(const uint8_t *dump);

#endif
