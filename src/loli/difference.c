/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/difference.h"

#include "loli/writer.h"

#include <errno.h>
#include <stdlib.h>

#define NO_KEY 0		/* of the library without a name */

/* A library of either profile. */
struct library {
	uint32_t key;
	uint32_t numbers[2];	/* in the baseline's names, in the lines' own; NUMBER_NONE: not there */
};

struct writing {
	FILE *out;
	const struct report *report;
	const struct loli_sums *names[2]; /* the baseline's, the lines' own */
	struct texts texts;	/* names of libraries, in the order of `libraries` */
	struct library *libraries;
	uint32_t *by_number;	/* keys by the number in the lines' own names */
};

static void put_uuid(FILE *out, uint64_t number)
{
	/* Version 4, variant 1, as random ones are. */
	loli_put_uuid(out, (struct loli_uuid){ 0x4000, UINT64_C(0x8000) << 48 | number });
}

/* --- libraries --- */

/* A key is the name's hash, as LoliProfiler's are; what has the same hash takes the next one that is free. */
static bool make_keys(struct writing *w, struct table *taken)
{
	for (size_t i = 0; i < w->texts.count; i++) {
		uint32_t key = loli_hash(w->texts.list[i].data, w->texts.list[i].len), *other = NULL;
		for (; w->texts.list[i].len; key++) {
			other = key == NO_KEY ? NULL : table_put(taken, (struct table_key){ key, 0 });
			if (key != NO_KEY && (!other || *other == NUMBER_NONE))
				break;
		}
		if (w->texts.list[i].len && !other)
			return false;
		if (other)
			*other = (uint32_t)i;
		w->libraries[i].key = w->texts.list[i].len ? key : NO_KEY;
	}
	return true;
}

static bool find_libraries(struct writing *w)
{
	size_t most = 1;
	for (unsigned i = 0; i < 2; i++)
		most += w->names[i] ? w->names[i]->library_count : 0;
	w->libraries = reallocarray(NULL, most, sizeof *w->libraries);
	w->by_number = reallocarray(NULL, w->names[1]->library_count + 1, sizeof *w->by_number);
	if (!w->libraries || !w->by_number || texts_put(&w->texts, "", 0) == NUMBER_NONE)
		return false;
	w->libraries[0] = (struct library){ NO_KEY, { NUMBER_NONE, NUMBER_NONE } };
	for (unsigned i = 0; i < 2; i++)
		for (uint32_t j = 0; w->names[i] && j < w->names[i]->library_count; j++) {
			const struct text_entry name = sums_text(w->names[i], w->names[i]->libraries[j].text);
			const size_t before = w->texts.count;
			const uint32_t number = texts_put(&w->texts, name.data, name.len);
			if (number == NUMBER_NONE)
				return false;
			if (w->texts.count > before)
				w->libraries[number] = (struct library){ NO_KEY, { NUMBER_NONE, NUMBER_NONE } };
			w->libraries[number].numbers[i] = j;
			if (i)
				w->by_number[j] = number;
		}
	struct table taken = { 0 };
	const bool made = make_keys(w, &taken);
	table_free(&taken);
	for (uint32_t j = 0; made && j < w->names[1]->library_count; j++)
		w->by_number[j] = w->libraries[w->by_number[j]].key;
	return made;
}

static void write_strings(const struct writing *w)
{
	loli_put_u32(w->out, (uint32_t)w->texts.count);
	for (size_t i = 0; i < w->texts.count; i++) {
		loli_put_u32(w->out, w->libraries[i].key);
		if (w->texts.list[i].len)
			loli_put_text(w->out, w->texts.list[i].data, w->texts.list[i].len);
		else
			loli_put_text(w->out, NULL, 0);
	}
}

/* --- records and stacks --- */

static void put_frame_key(const struct writing *w, const struct report_place *place)
{
	loli_put_u32(w->out, place->library == NUMBER_NONE ? NO_KEY : w->by_number[place->library]);
}

static void write_record(const struct writing *w, size_t line, uint32_t seq)
{
	const struct report_place *place = &w->report->places[w->report->lines[line].place];
	put_uuid(w->out, seq);
	loli_put_u32(w->out, seq);
	loli_put_u32(w->out, 0);
	loli_put_u32(w->out, (uint32_t)w->report->lines[line].size);
	loli_put_u64(w->out, 0);
	loli_put_u64(w->out, place->address);
	put_frame_key(w, place);
}

static void write_stack(const struct writing *w, size_t line, uint32_t seq)
{
	put_uuid(w->out, seq);
	loli_put_u32(w->out, w->report->lines[line].depth + 1);
	for (uint32_t i = (uint32_t)line; i != NUMBER_NONE; i = w->report->lines[i].parent) {
		const struct report_place *place = &w->report->places[w->report->lines[i].place];
		put_frame_key(w, place);
		loli_put_u64(w->out, place->address);
	}
}

/* --- symbols --- */

static void put_symbol(const struct writing *w, unsigned which, const struct loli_symbol *symbol)
{
	const struct loli_sums *names = w->names[which];
	struct loli_cursor cursor = loli_cursor(names->loli, symbol->name);
	const struct loli_string string = loli_string(&cursor);
	size_t len = 0;
	const char *filled = string.count ? NULL : sums_filled(names, symbol->lib, symbol->address, &len);
	loli_put_u64(w->out, symbol->address);
	if (filled) {
		loli_put_text(w->out, filled, len);
		return;
	}
	loli_put_u32(w->out, 2 * string.count);
	fwrite(string.units, 1, 2 * (size_t)string.count, w->out);
}

/*
 * The symbols of a library in both profiles, by address; of the same place the newer name counts. Writes them, or only
 * counts.
 */
static uint32_t merge_symbols(const struct writing *w, const struct library *library, bool write)
{
	size_t at[2] = { 0, 0 }, ends[2] = { 0, 0 };
	uint32_t count = 0;
	for (unsigned i = 0; i < 2; i++) {
		if (library->numbers[i] == NUMBER_NONE)
			continue;
		const struct loli_library *of = &w->names[i]->libraries[library->numbers[i]];
		at[i] = of->first_symbol;
		ends[i] = at[i] + of->symbols;
	}
	for (;; count++) {
		for (unsigned i = 0; i < 2; i++)
			while (at[i] < ends[i] && !symbol_counts(w->names[i], at[i]))
				at[i]++;
		const struct loli_symbol *old = at[0] < ends[0] ? &w->names[0]->symbols[at[0]] : NULL;
		const struct loli_symbol *new = at[1] < ends[1] ? &w->names[1]->symbols[at[1]] : NULL;
		if (!old && !new)
			break;
		const unsigned which = new && (!old || new->address <= old->address);
		if (write)
			put_symbol(w, which, which ? new : old);
		at[which]++;
		at[0] += which && old && old->address == new->address;
	}
	return count;
}

static void write_symbols(const struct writing *w)
{
	uint32_t libraries = 0;
	for (size_t i = 0; i < w->texts.count; i++)
		libraries += merge_symbols(w, &w->libraries[i], false) > 0;
	loli_put_u32(w->out, libraries);
	for (size_t i = 0; i < w->texts.count; i++) {
		const uint32_t count = merge_symbols(w, &w->libraries[i], false);
		if (!count)
			continue;
		loli_put_text(w->out, w->texts.list[i].data, w->texts.list[i].len);
		loli_put_u32(w->out, count);
		merge_symbols(w, &w->libraries[i], true);
	}
}

/* --- the file --- */

/* How many leaves there are; writes of each its record, or its stack. */
static uint32_t each_leaf(const struct writing *w, void (*write)(const struct writing *w, size_t line, uint32_t seq))
{
	uint32_t count = 0;
	for (size_t i = 0; i < w->report->line_count; i++) {
		if (!report_is_leaf(w->report, i))
			continue;
		if (write)
			write(w, i, count);
		count++;
	}
	return count;
}

static int write_all(const struct writing *w)
{
	const uint32_t leaves = each_leaf(w, NULL);
	if (leaves > INT32_MAX) {
		errno = EFBIG;
		return -1;
	}
	loli_put_u32(w->out, LOLI_MAGIC);
	loli_put_u32(w->out, LOLI_VERSION);
	loli_put_u64(w->out, 0); /* no chart, no series */
	write_strings(w);
	loli_put_u32(w->out, leaves);
	each_leaf(w, write_record);
	loli_put_u32(w->out, leaves);
	each_leaf(w, write_stack);
	write_symbols(w);
	loli_put_u32(w->out, 0); /* frees, screenshots, smaps */
	loli_put_u64(w->out, 0);
	return ferror(w->out) ? -1 : 0;
}

int loli_write_difference(FILE *out, const struct report *report)
{
	struct writing w = { .out = out, .report = report, .names = { report->baseline_names, report->names } };
	int rc = -1;
	errno = ENOMEM;
	if (find_libraries(&w))
		rc = write_all(&w);
	texts_free(&w.texts);
	free(w.libraries);
	free(w.by_number);
	return rc;
}
