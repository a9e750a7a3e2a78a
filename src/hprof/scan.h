/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: the one pass over a dump's sub-records, by as many threads as there are cores.
 *
 * It reads record headers and skips payloads. What it leaves behind is small: the index, where the class
 * dumps and GC roots are, and for each class a tally. Segments are independent, so threads take ranges of
 * them; what they gather is joined in file order.
 */
#ifndef HEAPFS_SCAN_H
#define HEAPFS_SCAN_H

#include "hprof/bytes.h"
#include "hprof/index.h"
#include "hprof/record.h"

/* Distances between ids are sizes in memory; larger ones say nothing. */
#define GAP_NONE UINT32_MAX
/* Lengths of arrays whose gaps are kept, to find where elements begin. */
#define GAP_LENGTHS 64
/* Array sizes are summed by the remainder of their elements, so that they can be rounded up later. */
#define TALLY_RESIDUES 16

enum tally_kind { TALLY_INSTANCES, TALLY_OBJECT_ARRAYS, TALLY_PRIMITIVE_ARRAYS };

/* What the scan knows of one class; for primitive arrays, which name no class, of one element type. */
struct tally {
	uint64_t id;		/* of the class; a value type for primitive arrays */
	uint64_t count;		/* objects */
	uint32_t min_gap;	/* smallest distance from an object to the next id, or GAP_NONE */
	uint32_t gap_count;	/* objects with just that distance */
	uint32_t in_block;	/* while scanning: of the block that is being filled */
	enum tally_kind kind;
	uint64_t elements;	/* of all arrays together, but for synthetic ones */
	uint64_t residues[TALLY_RESIDUES]; /* arrays by their element count modulo 16, likewise */
	uint64_t synthetic;	/* ART arrays that lie inside other objects; among count */
	uint64_t synthetic_bytes; /* what those arrays add to the objects that they lie in */
	/*
	 * Where its objects are, in file order: pairs of varints (blocks since the last pair, objects of this
	 * class in that block). Rank is file order.
	 */
	struct bytes list;
	uint64_t last_block, first_block; /* while scanning: in the list */
};

struct scan {
	const struct hprof *hprof;
	struct index index;
	struct tally *tallies;	/* by id; the primitive arrays first */
	size_t tally_count;
	uint64_t *class_dumps;	/* offsets, in file order */
	size_t class_dump_count;
	struct bytes roots;	/* varints: distance from one root sub-record to the next, from offset 0 */
	uint64_t subs[256];	/* sub-records of each tag */
	uint32_t array_gaps[TYPE_COUNT][GAP_LENGTHS]; /* by element type and length */
	uint64_t id_bits;	/* all object ids OR-ed: their lowest set bit is the alignment */
	/* Names of Android heaps by block.heap, as name ids; number 0 is the default heap, without a name. */
	uint64_t heap_names[256];
	unsigned heap_count;
	unsigned threads;	/* how many took part */
};

/* Takes note of a distance seen `count` times. */
static inline void tally_gap(struct tally *tally, uint64_t gap, uint32_t count)
{
	if (gap > tally->min_gap)
		return;
	tally->gap_count = gap < tally->min_gap ? count : tally->gap_count + count;
	tally->min_gap = (uint32_t)gap;
}

/* Called now and then from one thread with how many of `total` bytes are done. */
typedef void scan_progress(void *context, uint64_t done, uint64_t total);

/* Scans one dump of the file. 0, or -1 without memory. Damage goes to hprof->notes. */
int scan_dump(struct scan *scan, const struct hprof *hprof, const struct dump *dump, unsigned threads,
	      scan_progress *progress, void *context);
void scan_free(struct scan *scan);

/* The tally of a class, or of a primitive type's arrays; NULL if there is none. */
struct tally *scan_tally(const struct scan *scan, enum tally_kind kind, uint64_t id);

#endif
