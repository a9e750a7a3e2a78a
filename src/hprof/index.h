/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index: from an object's id to its place in the file, with half a byte an object.
 *
 * Ids are addresses, and in nearly every dump they rise through the file. So nothing is kept per object but
 * runs of objects in file order, the blocks. A block ends where the id does not rise or rises by more than
 * 1 MiB, where the heap changes or the segment ends, after 128 objects, or after 256 sub-records. A list of
 * the blocks by lowest id, with the highest id that any block up to there reaches, makes finding an object a
 * binary search and a walk over one block; the 1 MiB rule keeps blocks from overlapping (without it 98 of
 * 195 blocks had to be looked at on a real ART dump, with it 1).
 *
 * Where ids do not rise (ZGC walks its heap in the order of the graph) a block would hold a single object.
 * Objects of such stretches stand in one table sorted by id, 12 bytes an object, and their blocks serve file
 * order only.
 *
 * Of equal ids the first in the file is found; the others are counted.
 */
#ifndef HEAPFS_INDEX_H
#define HEAPFS_INDEX_H

#include "input/input.h"

#include <stddef.h>

#define BLOCK_OBJECTS 128
#define BLOCK_RECORDS 256
#define BLOCK_RISE (UINT64_C(1) << 20)

struct block {
	uint64_t offset;	/* of its first object's sub-record */
	uint64_t lowest;	/* id; not used in a dense block */
	uint32_t span;		/* highest id less the lowest; below 128 MiB by the rules above */
	uint8_t count;		/* objects, 1 to 128 */
	uint8_t heap;		/* number of the Android heap it lies in; 0 where there is none */
	bool dense;		/* its objects are in the dense table */
};

/* id and offset, 48 bits each; larger ones are never dense. */
struct dense_entry {
	uint32_t id_low, offset_low;
	uint16_t id_high, offset_high;
};
#define DENSE_LIMIT (UINT64_C(1) << 48)

struct index {
	const struct input *in;
	unsigned id_width;
	struct block *blocks;	/* in file order */
	size_t block_count;
	uint32_t *by_id;	/* numbers of the sparse blocks, by lowest id */
	uint64_t *reach;	/* highest id of by_id[0] … by_id[i] */
	size_t sparse_count;
	struct dense_entry *dense; /* by id, then offset */
	size_t dense_count;
	uint64_t object_count;	/* duplicates included */
	uint64_t duplicates;	/* objects whose id another one has before them in the file */
	uint64_t first_duplicate; /* the lowest offset of one; 0 if there is none */
};

struct found {
	uint64_t offset;	/* of the sub-record */
	size_t block;
};

/*
 * Sorts what the scan gathered; call once, before any search. Takes over blocks and dense from `ix`.
 * 0, or -1 without memory.
 */
int index_finish(struct index *ix);
void index_free(struct index *ix);

/* Takes note of an object that its id does not lead to. */
void index_duplicate(struct index *ix, uint64_t offset);

/* Finds the object with this id. */
bool index_find(const struct index *ix, uint64_t id, struct found *found);

/* The object whose sub-record holds byte `offset`: how a reference's own bytes lead to their owner. */
bool index_containing(const struct index *ix, uint64_t offset, struct found *found);

/* Number of the last block that begins at or before `offset`; false if there is none. */
bool index_block_at(const struct index *ix, uint64_t offset, size_t *block);

/* Lowest id >= `id`, highest id <= `id`. */
bool index_successor(const struct index *ix, uint64_t id, uint64_t *found);
bool index_predecessor(const struct index *ix, uint64_t id, struct found *found, uint64_t *found_id);

/*
 * All objects with first <= id <= last, ascending, without duplicates. The caller frees *list.
 * Their number, or -1 without memory.
 */
struct located {
	uint64_t id, offset;
};
ptrdiff_t index_range(const struct index *ix, uint64_t first, uint64_t last, struct located **list);

/* Walks the objects of one block in file order. */
struct block_walk {
	const struct index *ix;
	uint64_t next;		/* offset of the next sub-record to look at */
	unsigned left;		/* objects not yet seen */
	uint64_t offset, id;	/* of the current object */
	uint64_t size;		/* of its sub-record */
};
void block_walk_start(struct block_walk *walk, const struct index *ix, size_t block);
bool block_walk_next(struct block_walk *walk);

static inline uint64_t dense_id(const struct dense_entry *e)
{
	return (uint64_t)e->id_high << 32 | e->id_low;
}

static inline uint64_t dense_offset(const struct dense_entry *e)
{
	return (uint64_t)e->offset_high << 32 | e->offset_low;
}

#endif
