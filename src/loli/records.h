/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: a profile's allocations one by one, and what the file says of each elsewhere: whether its block was freed,
 * and from where it was allocated.
 *
 * The file keeps of each address the number of the last free that was seen there. A block was freed if that number is
 * higher than its own (LoliProfiler's src/stacktraceproxymodel.cpp, "Persistent").
 */
#ifndef HEAPFS_RECORDS_H
#define HEAPFS_RECORDS_H

#include "loli/loli.h"
#include "loli/table.h"

enum loli_state { LOLI_LIVE, LOLI_FREED, LOLI_UNKNOWN, LOLI_STATES };
extern const char *const loli_state_names[LOLI_STATES];

struct loli_records {
	const struct loli *loli;
	struct table frees;	/* numbers of entries by address */
	struct table stacks;	/* numbers of stacks by UUID */
	uint64_t *stacks_at;	/* where their counts of frames are in the file */
};

/* Finds all frees, and all stacks if they are wanted. False without memory, or where the file was cut. */
bool records_open(struct loli_records *records, const struct loli *loli, bool stacks);
void records_close(struct loli_records *records);

/* The record at the cursor, which is put behind it. False where the file does not have it any more. */
bool records_next(struct loli_cursor *cursor, struct loli_record *record, struct loli_uuid *uuid);

/* Is it allocated in the span that the options want? */
static inline bool record_wanted(const struct loli *loli, const struct loli_record *record)
{
	return !loli->options.spanned ||
	       (record->time_ms >= loli->options.from && record->time_ms <= loli->options.to);
}

/* The number of the free of a record's block, which is higher than the record's own; 0 where it is not known to be freed. */
uint32_t record_freed(const struct loli_records *records, const struct loli_record *record);
enum loli_state record_state(const struct loli_records *records, const struct loli_record *record);

/* The number of a stack, below the count of stacks, or NUMBER_NONE. */
uint32_t record_stack(const struct loli_records *records, const struct loli_uuid *uuid);
/* Its frames, of LOLI_FRAME bytes each, the innermost first. NULL only where the file was cut. */
const uint8_t *stack_frames(const struct loli_records *records, uint32_t stack, uint64_t *depth);

#endif
