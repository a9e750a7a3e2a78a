/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subrecord: the size of one sub-record, and how to get back in step after damage.
 *
 * Sizes are 64-bit: length x width of one array passes 4 GiB. A size is computed from the bytes that are
 * left and never assumes one more.
 */
#ifndef HEAPFS_SUBRECORD_H
#define HEAPFS_SUBRECORD_H

#include "hprof/format.h"

#include <stdbool.h>

#define SUBRECORD_BAD 0			/* no such tag, or no such value type */
#define SUBRECORD_CUT UINT64_MAX	/* its own header runs past `left` */

/* The parts of a CLASS_DUMP, as offsets from its tag. */
struct class_parts {
	uint32_t pool, statics, fields;	/* of the first entry of each list */
	uint16_t pool_count, static_count, field_count;
	uint64_t size;			/* of the whole sub-record */
};

/* Finds the parts of the CLASS_DUMP at `p`. SUBRECORD_BAD, SUBRECORD_CUT or its size. */
uint64_t class_dump_parts(const uint8_t *p, uint64_t left, unsigned id_width, struct class_parts *parts);

/* The rarer tags of subrecord_size(). */
uint64_t subrecord_size_other(const uint8_t *p, uint64_t left, unsigned id_width);

/*
 * Size of the sub-record whose tag is at `p`, tag included: SUBRECORD_BAD, SUBRECORD_CUT, or the true size,
 * which may be more than `left` (an array whose elements are cut off).
 */
static inline uint64_t subrecord_size(const uint8_t *p, uint64_t left, unsigned id_width)
{
	const unsigned header = 9 + 2 * id_width; /* of INSTANCE_DUMP and OBJ_ARRAY_DUMP */
	if (left < header)
		return subrecord_size_other(p, left, id_width);
	switch (*p) {
	case SUB_INSTANCE_DUMP:
		return header + (uint64_t)be32(p + 5 + 2 * id_width);
	case SUB_OBJ_ARRAY_DUMP:
		return header + (uint64_t)be32(p + 5 + id_width) * id_width;
	case SUB_PRIM_ARRAY_DUMP: {
		unsigned type = p[9 + id_width], width = type_width(type, id_width);
		if (type == TYPE_OBJECT || !width)
			return SUBRECORD_BAD;
		return 10 + id_width + (uint64_t)be32(p + 5 + id_width) * width;
	}
	default:
		return subrecord_size_other(p, left, id_width);
	}
}

static inline bool subrecord_is_object(unsigned tag)
{
	return (tag >= SUB_INSTANCE_DUMP && tag <= SUB_PRIM_ARRAY_DUMP) || tag == SUB_PRIM_ARRAY_NODATA;
}

/* True for the tags of GC roots; all of them begin with the id of the object that is held. */
bool subrecord_is_root(unsigned tag);

/*
 * Finds where whole sub-records begin again after damage: the lowest offset in [from, end) from which a run
 * of them parses, with class ids for which `known_class` answers true. Returns `end` if there is none.
 * `data` is the start of the mapping that the offsets count from.
 */
uint64_t subrecord_resync(const uint8_t *data, uint64_t from, uint64_t end, unsigned id_width,
			  bool (*known_class)(const void *context, uint64_t id), const void *context);

#endif
