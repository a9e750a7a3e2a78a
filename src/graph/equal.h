/* SPDX-License-Identifier: Apache-2.0 */
/* equal: finds what has equal contents among all objects. Internal to src/graph: see duplicates.h. */
#ifndef HEAPFS_EQUAL_H
#define HEAPFS_EQUAL_H

#include "graph/duplicates.h"

/* What may be equal to others of its hash. */
struct suspect {
	uint64_t hash;
	uint64_t offset, array;	/* of its record, and that of the array that holds the content */
};

struct equal_ops {
	/* Is this object looked at, and what of it? Of many threads at once. */
	bool (*suspect)(const struct heap *heap, const struct object *object, struct suspect *suspect);
	/* Order by content; what cannot be read any more sets input_touched_bad. */
	int (*compare)(const struct heap *heap, const struct suspect *a, const struct suspect *b);
	/* Tells of `count` equal ones, by offset, which it may reorder. False if that is not worth telling. */
	bool (*sum)(const struct heap *heap, struct suspect *list, size_t count, struct content *content);
	/* Order of what is told. */
	int (*order)(const void *a, const void *b);
};

/* 0, ENOMEM, EIO or ECANCELED. The caller frees found->list, if it is 0. */
int find_equal(const struct heap *heap, const struct equal_ops *ops, unsigned threads, const _Atomic bool *cancel,
	       struct contents *found);

#endif
