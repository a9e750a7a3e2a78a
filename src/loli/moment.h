/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moment: which blocks were held at a moment of a profile that still has its freed records.
 *
 * A record says when it was allocated. A free has no time, but its sequence number is of the same counter as the
 * records' (LoliProfiler's plugins/Android/jni/loli.cpp): so it came between the allocations with the numbers next to
 * it, whose times are known. And of each address the file has only the last free: a block whose address was given out
 * again was freed before that. Of a free that lies between the last allocation at the moment and the first one behind
 * it nobody knows on which side it was; its block counts as held.
 */
#ifndef HEAPFS_MOMENT_H
#define HEAPFS_MOMENT_H

#include "loli/records.h"

struct loli_moment {
	int64_t time_ms;
	uint64_t last_before;	/* highest number of a record at or before it, and 1; 0: there is none */
	uint64_t first_after;	/* lowest number of a record after it; UINT64_MAX: there is none */
	struct moment_block {
		uint64_t address;
		uint32_t seq;
	} *blocks;		/* all records', sorted */
	size_t block_count;
};

/* False without memory, or where the file was cut. */
bool moment_open(struct loli_moment *moment, const struct loli_records *records, int64_t time_ms);
void moment_close(struct loli_moment *moment);

enum moment_state { MOMENT_GONE, MOMENT_HELD, MOMENT_UNSURE };
/* Was a record's block held then? MOMENT_UNSURE counts as held. */
enum moment_state moment_state(const struct loli_moment *moment, const struct loli_records *records,
			       const struct loli_record *record);

#endif
