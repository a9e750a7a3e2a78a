/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/loli.h"

#include "hprof/mutf8.h"
#include "loli/sums.h"
#include "loli/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char loli_too_short[] = "it ends too early";
static const char negative[] = "a count is negative";
static const char odd[] = "a string has half a character";
static const char no_uuid[] = "a name is no UUID, and its count cannot be true";

const char *const loli_section_names[LOLI_SECTIONS] = { "memory series", "strings", "records", "call stacks",
							"symbols", "frees", "screenshots", "smaps" };

/* The bytes that an entry has at least. */
static const unsigned least[LOLI_SECTIONS] = { 4, 8, 4 + LOLI_RECORD, 8, 8, 12, 8, 36 };

uint64_t loli_count(struct loli_cursor *cursor, uint64_t size)
{
	const uint32_t count = loli_u32(cursor);
	if (count > INT32_MAX) {
		cursor->problem = negative;
		return 0;
	}
	if (count * size > input_left(cursor->in, cursor->at) && !cursor->problem) {
		cursor->problem = loli_too_short;
		cursor->wanted = count * size;
	}
	return cursor->problem ? 0 : count;
}

struct loli_string loli_string(struct loli_cursor *cursor)
{
	const uint32_t len = loli_u32(cursor);
	if (len == UINT32_MAX || !len || cursor->problem)
		return (struct loli_string){ NULL, 0 };
	if (len % 2) {
		cursor->problem = odd;
		return (struct loli_string){ NULL, 0 };
	}
	const uint8_t *units = loli_take(cursor, len);
	return (struct loli_string){ units, units ? len / 2 : 0 };
}

size_t loli_utf8(const struct loli_string *string, char *out)
{
	size_t len = 0;
	for (uint32_t i = 0; i < string->count; i++) {
		uint32_t code = be16(string->units + 2 * (size_t)i);
		const uint32_t low = i + 1 < string->count ? be16(string->units + 2 * (size_t)i + 2) : 0;
		if (code >= 0xd800 && code < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
			i++;
		}
		len += utf8_encode(code, out + len);
	}
	return len;
}

bool loli_next_unit(struct loli_units *units, uint16_t *unit)
{
	uint32_t code;
	*unit = units->low;
	units->low = 0;
	if (*unit)
		return true;
	if (!units->left)
		return false;
	const unsigned len = utf8_decode(units->p, units->left, &code);
	units->p += len ? len : 1;
	units->left -= len ? len : 1;
	if (!len)
		code = 0xfffd;
	if (code >= 0x10000) {
		units->low = (uint16_t)(0xdc00 | (code & 0x3ff));
		code = 0xd800 + ((code - 0x10000) >> 10);
	}
	*unit = (uint16_t)code;
	return true;
}

uint32_t loli_hash(const char *text, size_t len)
{
	struct loli_units units = loli_units(text, len);
	uint32_t hash = 0;
	for (uint16_t unit; loli_next_unit(&units, &unit);)
		hash = 31 * hash + unit;
	return hash;
}

static int hex_digit(unsigned unit)
{
	return unit >= '0' && unit <= '9' ? (int)unit - '0' :
	       unit >= 'a' && unit <= 'f' ? (int)unit - 'a' + 10 :
	       unit >= 'A' && unit <= 'F' ? (int)unit - 'A' + 10 : -1;
}

/* With or without braces, in any case, as QUuid takes it. */
struct loli_uuid loli_uuid(const struct loli_string *string)
{
	const struct loli_uuid none = { 0, 0 };
	struct loli_uuid uuid = none;
	const uint8_t *p = string->units;
	if (string->count == 38) {
		if (be16(p) != '{' || be16(p + 74) != '}')
			return none;
		p += 2;
	} else if (string->count != 36) {
		return none;
	}
	for (unsigned i = 0, digits = 0; i < 36; i++) {
		const unsigned unit = be16(p + 2 * i);
		const int digit = hex_digit(unit);
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (unit != '-')
				return none;
			continue;
		}
		if (digit < 0)
			return none;
		uint64_t *half = digits++ < 16 ? &uuid.high : &uuid.low;
		*half = *half << 4 | (unsigned)digit;
	}
	return uuid;
}

bool loli_record_at(const struct loli *loli, uint64_t at, struct loli_record *record)
{
	const uint8_t *p = input_at(loli->in, at, LOLI_RECORD);
	if (!p)
		return false;
	*record = loli_record_of(p);
	return true;
}

/* --- the frame of the file --- */

/* Names of records and stacks must be UUIDs where the count says more than the file can hold. */
static void take_uuid(struct loli_cursor *cursor, bool strict)
{
	const struct loli_string string = loli_string(cursor);
	if (!strict || cursor->problem)
		return;
	const struct loli_uuid uuid = loli_uuid(&string);
	if (!uuid.high && !uuid.low)
		cursor->problem = no_uuid;
}

/* One entry. How many parts it has; those of series and symbols are worth having alone, and are told in *whole. */
static uint64_t skip_entry(struct loli_cursor *cursor, enum loli_section section, bool strict, uint64_t *whole)
{
	uint64_t parts = 0;
	switch (section) {
	case LOLI_SERIES:
		parts = loli_u32(cursor);
		if (parts > INT32_MAX)
			cursor->problem = negative;
		else
			for (; *whole < parts && loli_take(cursor, 16); ++*whole)
				;
		break;
	case LOLI_STRINGS:
		loli_u32(cursor);
		loli_string(cursor);
		break;
	case LOLI_RECORDS:
		take_uuid(cursor, strict);
		loli_take(cursor, LOLI_RECORD);
		break;
	case LOLI_STACKS:
		take_uuid(cursor, strict);
		parts = loli_count(cursor, LOLI_FRAME);
		loli_take(cursor, parts * LOLI_FRAME);
		break;
	case LOLI_SYMBOLS:
		loli_string(cursor);
		parts = loli_u32(cursor);
		if (parts > INT32_MAX)
			cursor->problem = negative;
		for (; *whole < parts && !cursor->problem; *whole += !cursor->problem) {
			loli_u64(cursor);
			loli_string(cursor);
		}
		break;
	case LOLI_FREES:
		loli_take(cursor, 12);
		break;
	case LOLI_SCREENSHOTS: {
		loli_u32(cursor);
		const uint32_t len = loli_u32(cursor);
		loli_take(cursor, len == UINT32_MAX ? 0 : len);
		break;
	}
	case LOLI_SMAPS:
		loli_string(cursor);
		parts = loli_count(cursor, 24);
		loli_take(cursor, parts * 24 + 28);
		break;
	case LOLI_SECTIONS:
		break;
	}
	return parts;
}

static void note_damage(struct loli *loli, enum loli_section section, const struct loli_cursor *cursor, uint64_t at)
{
	const struct loli_part *part = &loli->parts[section];
	const bool cut = cursor->problem == loli_too_short;
	const uint64_t left = input_left(loli->in, at);
	char needs[96] = "";
	if (cut)
		snprintf(needs, sizeof needs, ", the next one needs %" PRIu64 " bytes more, of %" PRIu64, cursor->wanted,
			 input_left(loli->in, cursor->at));
	notes_add(loli->notes, cut ? "the profile ends inside a section" : "a section of the profile is damaged", at, left,
		  "%s: %" PRIu64 " of %" PRIu64 " are whole%s%s%s", loli_section_names[section], part->count - part->partial,
		  part->declared, cut ? needs : "; ", cut ? "" : cursor->problem,
		  section + 1 < LOLI_SECTIONS ? "; all behind it is lost" : "");
}

static bool read_section(struct loli *loli, enum loli_section section, struct loli_cursor *cursor)
{
	struct loli_part *part = &loli->parts[section];
	const uint64_t start = cursor->at;
	part->declared = loli_u32(cursor);
	part->at = part->end = cursor->at;
	if (!cursor->problem && part->declared > INT32_MAX && section != LOLI_STRINGS) {
		notes_add(loli->notes, "a section of the profile is damaged", start, input_left(loli->in, start),
			  "%s: the count is negative (%" PRId32 ")%s", loli_section_names[section], (int32_t)part->declared,
			  section + 1 < LOLI_SECTIONS ? "; it and all behind it is lost" : "");
		part->declared = 0;
		return false;
	}
	part->reached = !cursor->problem;
	const bool strict = part->declared * least[section] > input_left(loli->in, cursor->at);
	while (!cursor->problem && part->count < part->declared) {
		uint64_t whole = 0;
		const uint64_t parts = skip_entry(cursor, section, strict, &whole);
		if (!cursor->problem) {
			part->parts += parts;
			part->count++;
			part->end = cursor->at;
		} else if (whole) {
			part->partial = true;
			part->inner = whole;
			part->parts += whole;
			part->count++;
		}
	}
	part->whole = !cursor->problem;
	if (cursor->problem)
		note_damage(loli, section, cursor, part->reached ? part->end : start);
	return part->whole;
}

/* Does an address of the first records need more than 32 bits? */
static bool is_wide(const struct loli *loli)
{
	const struct loli_part *part = &loli->parts[LOLI_RECORDS];
	struct loli_cursor cursor = loli_cursor(loli, part->at);
	bool wide = false;
	for (uint64_t i = 0; i < part->count && i < 1000 && !wide; i++) {
		struct loli_record record;
		loli_string(&cursor);
		wide = loli_record_at(loli, cursor.at, &record) && record.address > UINT32_MAX;
		loli_take(&cursor, LOLI_RECORD);
	}
	return wide;
}

int loli_open(struct loli *loli, struct input *in, struct notes *notes, const struct loli_options *options, char *error,
	      size_t error_size)
{
	memset(loli, 0, sizeof *loli);
	pthread_mutex_init(&loli->lock, NULL);
	loli->in = in;
	loli->notes = notes;
	loli->options = *options;
	struct loli_cursor cursor = loli_cursor(loli, 4);
	const uint32_t version = loli_u32(&cursor);
	if (cursor.problem) {
		snprintf(error, error_size, "%s: a LoliProfiler profile, cut inside its header; copy it again", in->path);
		return -1;
	}
	if (version != LOLI_VERSION) {
		snprintf(error, error_size, "%s: a LoliProfiler profile of version %" PRId32 "; heapfs reads version %d, which "
			 "LoliProfiler v0.9.9b (2020) and later write", in->path, (int32_t)version, LOLI_VERSION);
		return -1;
	}
	loli->memory_most = (int32_t)loli_u32(&cursor);
	bool more = true;
	for (unsigned i = 0; i < LOLI_SECTIONS && more; i++)
		more = read_section(loli, (enum loli_section)i, &cursor);
	if (more && input_left(in, cursor.at))
		notes_add(notes, "bytes behind the end of the profile", cursor.at, input_left(in, cursor.at), NULL);
	if (!loli->parts[LOLI_FREES].whole && loli->parts[LOLI_RECORDS].count)
		notes_add(notes, "the frees are not all there, so records that are not known to be freed are of state unknown",
			  NOTE_NO_OFFSET, 0, NULL);
	if (!options->symbol_count)
		return 0;
	return symbols_open(&loli->symbols, options->symbols, options->symbol_count, is_wide(loli), notes, error, error_size);
}

void loli_close(struct loli *loli)
{
	if (!loli->in)
		return;
	sums_close(atomic_load(&loli->sums));
	symbols_close(loli->symbols);
	pthread_mutex_destroy(&loli->lock);
	loli->in = NULL;
}

bool loli_same(const struct loli *loli)
{
	struct loli_cursor cursor = loli_cursor(loli, 4);
	bool same = loli_u32(&cursor) == LOLI_VERSION;
	for (unsigned i = 0; i < LOLI_SECTIONS && same; i++) {
		if (!loli->parts[i].reached)
			break;
		cursor.at = loli->parts[i].at - 4;
		same = loli_u32(&cursor) == loli->parts[i].declared;
		if (cursor.problem)
			return true; /* cut before it */
	}
	return same || cursor.problem;
}
