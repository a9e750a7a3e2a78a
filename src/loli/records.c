/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/records.h"

#include <stdlib.h>

const char *const loli_state_names[LOLI_STATES] = { "live", "freed", "unknown" };

/* Of equal addresses the last counts. */
static bool read_frees(struct loli_records *records)
{
	const struct loli_part *part = &records->loli->parts[LOLI_FREES];
	struct loli_cursor cursor = loli_cursor(records->loli, part->at);
	if (!table_reserve(&records->frees, part->count))
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		uint32_t *number = table_put(&records->frees, (struct table_key){ loli_u64(&cursor), 0 });
		if (!number)
			return false;
		*number = (uint32_t)i;
		loli_u32(&cursor);
		if (cursor.problem)
			return false;
	}
	return true;
}

/* Of equal UUIDs the last counts. */
static bool read_stacks(struct loli_records *records)
{
	const struct loli_part *part = &records->loli->parts[LOLI_STACKS];
	struct loli_cursor cursor = loli_cursor(records->loli, part->at);
	records->stacks_at = reallocarray(NULL, part->count + 1, sizeof *records->stacks_at);
	if (!records->stacks_at || !table_reserve(&records->stacks, part->count))
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		const struct loli_string string = loli_string(&cursor);
		const struct loli_uuid uuid = loli_uuid(&string);
		records->stacks_at[i] = cursor.at;
		loli_take(&cursor, loli_count(&cursor, LOLI_FRAME) * LOLI_FRAME);
		if (cursor.problem)
			return false;
		if (!uuid.high && !uuid.low)
			continue;
		uint32_t *number = table_put(&records->stacks, (struct table_key){ uuid.high, uuid.low });
		if (!number)
			return false;
		*number = (uint32_t)i;
	}
	return true;
}

bool records_open(struct loli_records *records, const struct loli *loli, bool stacks)
{
	*records = (struct loli_records){ .loli = loli };
	return read_frees(records) && (!stacks || read_stacks(records));
}

void records_close(struct loli_records *records)
{
	table_free(&records->frees);
	table_free(&records->stacks);
	free(records->stacks_at);
	records->stacks_at = NULL;
}

bool records_next(struct loli_cursor *cursor, struct loli_record *record, struct loli_uuid *uuid)
{
	const struct loli_string string = loli_string(cursor);
	*uuid = loli_uuid(&string);
	const uint8_t *p = loli_take(cursor, LOLI_RECORD);
	if (p)
		*record = loli_record_of(p);
	return p != NULL;
}

uint32_t record_freed(const struct loli_records *records, const struct loli_record *record)
{
	const struct loli_part *part = &records->loli->parts[LOLI_FREES];
	const uint32_t number = table_get(&records->frees, (struct table_key){ record->address, 0 });
	const uint8_t *p = number == NUMBER_NONE ? NULL :
			   input_at(records->loli->in, part->at + 12 * (uint64_t)number, 12);
	return p && record->seq < be32(p + 8) ? be32(p + 8) : 0;
}

enum loli_state record_state(const struct loli_records *records, const struct loli_record *record)
{
	return record_freed(records, record)		     ? LOLI_FREED :
	       records->loli->parts[LOLI_FREES].whole ? LOLI_LIVE :
							     LOLI_UNKNOWN;
}

uint32_t record_stack(const struct loli_records *records, const struct loli_uuid *uuid)
{
	return uuid->high || uuid->low ? table_get(&records->stacks, (struct table_key){ uuid->high, uuid->low }) : NUMBER_NONE;
}

const uint8_t *stack_frames(const struct loli_records *records, uint32_t stack, uint64_t *depth)
{
	struct loli_cursor cursor = loli_cursor(records->loli, records->stacks_at[stack]);
	*depth = loli_count(&cursor, LOLI_FRAME);
	const uint8_t *frames = loli_take(&cursor, *depth * LOLI_FRAME);
	if (cursor.problem)
		*depth = 0;
	return frames;
}
