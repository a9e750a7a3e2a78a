/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native: memory outside the heap that Android objects own, as far as a dump tells.
 *
 * libcore.util.NativeAllocationRegistry frees native memory with an object: a sun.misc.Cleaner's referent is the object,
 * its thunk belongs to a registry, whose `size` is what one such allocation takes (the lowest bit only tells by which
 * allocator). Objects with several cleaners own the sum. Source: libcore, NativeAllocationRegistry.java; perfetto,
 * heap_graph_tracker.cc does the same.
 */
#ifndef HEAPFS_NATIVE_H
#define HEAPFS_NATIVE_H

#include "heap/heap.h"

struct natives {
	struct native {
		uint64_t id, bytes;
	} *list;		/* sorted by id */
	size_t count;
	uint64_t *by_class;	/* bytes, by class number */
};

/* NULL without memory. Goes through all cleaners once. */
struct natives *natives_open(const struct heap *heap);
void natives_close(struct natives *natives);
/* Bytes of an object; 0 where none are known. */
uint64_t natives_of(const struct natives *natives, uint64_t id);

#endif
