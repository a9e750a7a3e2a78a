/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/moment.h"

#include <stdlib.h>

static int compare_blocks(const void *a, const void *b)
{
	const struct moment_block *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

bool moment_open(struct loli_moment *moment, const struct loli_records *records, int64_t time_ms)
{
	const struct loli_part *part = &records->loli->parts[LOLI_RECORDS];
	struct loli_cursor cursor = loli_cursor(records->loli, part->at);
	*moment = (struct loli_moment){ .time_ms = time_ms, .first_after = UINT64_MAX };
	moment->blocks = reallocarray(NULL, part->count + 1, sizeof *moment->blocks);
	if (!moment->blocks)
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		struct loli_record record;
		struct loli_uuid uuid;
		if (!records_next(&cursor, &record, &uuid))
			return false;
		moment->blocks[moment->block_count++] = (struct moment_block){ record.address, record.seq };
		if (record.time_ms <= time_ms && record.seq >= moment->last_before)
			moment->last_before = (uint64_t)record.seq + 1;
		if (record.time_ms > time_ms && record.seq < moment->first_after)
			moment->first_after = record.seq;
	}
	qsort(moment->blocks, moment->block_count, sizeof *moment->blocks, compare_blocks);
	return true;
}

void moment_close(struct loli_moment *moment)
{
	free(moment->blocks);
	moment->blocks = NULL;
}

/* The number of the next record at the same address; UINT64_MAX where there is none. */
static uint64_t next_of_address(const struct loli_moment *moment, const struct loli_record *record)
{
	size_t low = 0, high = moment->block_count;
	const struct moment_block own = { record->address, record->seq };
	while (low < high) { /* the first behind it */
		const size_t mid = low + (high - low) / 2;
		if (compare_blocks(&moment->blocks[mid], &own) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < moment->block_count && moment->blocks[low].address == record->address ? moment->blocks[low].seq :
											      UINT64_MAX;
}

enum moment_state moment_state(const struct loli_moment *moment, const struct loli_records *records,
			       const struct loli_record *record)
{
	if (record->time_ms > moment->time_ms)
		return MOMENT_GONE;
	const uint32_t freed = record_freed(records, record);
	if (!freed)
		return MOMENT_HELD;
	/* It was freed before `by` at the latest; if its address was given out again, nobody knows how long before. */
	const uint64_t next = next_of_address(moment, record), by = next < freed ? next : freed;
	if (by > moment->first_after)
		return by < moment->last_before || next < freed ? MOMENT_UNSURE : MOMENT_HELD;
	return by < moment->last_before ? MOMENT_GONE : MOMENT_UNSURE;
}
