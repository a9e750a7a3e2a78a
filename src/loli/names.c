/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of libraries and functions. A library is what its key stands for in the table of strings, never a hash
 * recomputed: LoliProfiler hashes "unknown" by its place in memory (src/stacktraceprocess.cpp), so that its key
 * differs in each run.
 */
#include "loli/sums.h"

#include "loli/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define AGENT "libloli.so"

/* Second halves of keys in by_name; functions' are their library's number and FUNCTION. */
#define LIBRARY 1
#define FUNCTION (UINT64_C(1) << 32)

/* A string of the file as UTF-8, until the next call. */
static const char *decode(struct loli_sums *sums, const struct loli_string *string, size_t *len)
{
	const size_t wanted = 3 * (size_t)string->count + 1;
	if (wanted > sums->scratch_size) {
		free(sums->scratch);
		sums->scratch = malloc(wanted);
		sums->scratch_size = sums->scratch ? wanted : 0;
	}
	*len = sums->scratch ? loli_utf8(string, sums->scratch) : 0;
	return sums->scratch;
}

uint32_t names_library_called(struct loli_sums *sums, const char *name, size_t len)
{
	const uint32_t text = texts_put(&sums->texts, name, len);
	uint32_t *number = text == NUMBER_NONE ? NULL : table_put(&sums->by_name, (struct table_key){ text, LIBRARY });
	void *list = sums->libraries;
	if (!number)
		return NUMBER_NONE;
	if (*number != NUMBER_NONE)
		return *number;
	*number = 0; /* whatever happens, it is set */
	if (!table_grow(&list, sums->library_count, &sums->library_capacity, sizeof *sums->libraries))
		return NUMBER_NONE;
	sums->libraries = list;
	sums->libraries[sums->library_count] = (struct loli_library){
		.text = text, .agent = len == sizeof AGENT - 1 && !memcmp(name, AGENT, len) };
	return *number = (uint32_t)sums->library_count++;
}

/* Of equal keys the first counts, as in LoliProfiler's command line. */
static bool read_strings(struct loli_sums *sums)
{
	const struct loli_part *part = &sums->loli->parts[LOLI_STRINGS];
	struct loli_cursor cursor = loli_cursor(sums->loli, part->at);
	for (uint64_t i = 0; i < part->count; i++) {
		size_t len;
		const uint32_t key = loli_u32(&cursor);
		const struct loli_string string = loli_string(&cursor);
		const char *name = decode(sums, &string, &len);
		if (!name || cursor.problem)
			return false;
		const uint32_t library = names_library_called(sums, name, len);
		uint32_t *number = table_put(&sums->keys, (struct table_key){ key, 0 });
		if (!number || library == NUMBER_NONE)
			return false;
		if (*number == NUMBER_NONE)
			*number = library;
	}
	return true;
}

/* Keys that the table of strings lacks are libraries of their own, by the key. */
static uint32_t library_of_key(struct loli_sums *sums, uint32_t key)
{
	char name[16];
	uint32_t *number = table_put(&sums->keys, (struct table_key){ key, 0 });
	if (!number || *number != NUMBER_NONE)
		return number ? *number : NUMBER_NONE;
	snprintf(name, sizeof name, "#%" PRIu32, key);
	const uint32_t library = names_library_called(sums, name, strlen(name));
	*number = library == NUMBER_NONE ? 0 : library;
	return library;
}

uint32_t names_library(struct loli_sums *sums, uint32_t key)
{
	const uint32_t number = table_get(&sums->keys, (struct table_key){ key, 0 });
	return number != NUMBER_NONE ? number : library_of_key(sums, key);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct loli_symbol *x = a, *y = b;
	if (x->lib != y->lib)
		return x->lib < y->lib ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool read_symbols(struct loli_sums *sums)
{
	const struct loli_part *part = &sums->loli->parts[LOLI_SYMBOLS];
	struct loli_cursor cursor = loli_cursor(sums->loli, part->at);
	sums->symbols = reallocarray(NULL, part->parts + 1, sizeof *sums->symbols);
	if (!sums->symbols)
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		size_t len;
		const struct loli_string string = loli_string(&cursor);
		const char *name = decode(sums, &string, &len);
		const uint32_t library = name ? names_library_called(sums, name, len) : NUMBER_NONE;
		const uint64_t count = loli_inner(sums->loli, LOLI_SYMBOLS, i, loli_u32(&cursor));
		if (library == NUMBER_NONE || cursor.problem)
			return false;
		for (uint64_t j = 0; j < count && sums->symbol_count < part->parts; j++) {
			const uint64_t address = loli_u64(&cursor), at = cursor.at;
			loli_string(&cursor);
			if (cursor.problem)
				return false;
			sums->symbols[sums->symbol_count++] = (struct loli_symbol){ address, at, library };
		}
	}
	qsort(sums->symbols, sums->symbol_count, sizeof *sums->symbols, compare_symbols);
	for (size_t i = 0; i < sums->symbol_count; i++) {
		struct loli_library *library = &sums->libraries[sums->symbols[i].lib];
		if (!library->symbols++)
			library->first_symbol = (uint32_t)i;
	}
	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct loli_range *x = a, *y = b;
	if (x->lib != y->lib)
		return x->lib < y->lib ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Where libraries lie, for addresses that are relative to the mapping which holds them. */
static bool read_ranges(struct loli_sums *sums)
{
	const struct loli_part *part = &sums->loli->parts[LOLI_SMAPS];
	struct loli_cursor cursor = loli_cursor(sums->loli, part->at);
	if (!sums->loli->options.containing)
		return true;
	sums->ranges = reallocarray(NULL, part->parts + 1, sizeof *sums->ranges);
	if (!sums->ranges)
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		size_t len;
		const struct loli_string string = loli_string(&cursor);
		const char *name = decode(sums, &string, &len);
		const uint32_t library = name ? names_library_called(sums, name, len) : NUMBER_NONE;
		const uint64_t count = loli_count(&cursor, 24);
		if (library == NUMBER_NONE)
			return false;
		for (uint64_t j = 0; j < count && sums->range_count < part->parts; j++) {
			const uint64_t start = loli_u64(&cursor), end = loli_u64(&cursor), offset = loli_u64(&cursor);
			sums->ranges[sums->range_count++] = (struct loli_range){ start, end, offset, library };
		}
		loli_take(&cursor, 28);
		if (cursor.problem)
			return false;
	}
	qsort(sums->ranges, sums->range_count, sizeof *sums->ranges, compare_ranges);
	for (size_t i = 0; i < sums->range_count; i++) {
		struct loli_library *library = &sums->libraries[sums->ranges[i].lib];
		if (!library->ranges++)
			library->first_range = (uint32_t)i;
	}
	return true;
}

bool names_open(struct loli_sums *sums)
{
	return read_strings(sums) && read_symbols(sums) && read_ranges(sums);
}

/*
 * Before v1.1.6 an address was relative to start - offset of the mapping that holds it, so it is an offset in the
 * library's file; since then it is relative to the first mapping of offset 0 (InterpretRecordLibrary). Two mappings
 * may share a page of the file; code is in the later one.
 */
static uint64_t rebased(const struct loli_sums *sums, const struct loli_library *library, uint64_t address)
{
	const struct loli_range *ranges, *holding = NULL, *first = NULL;
	if (!library->ranges)
		return address;
	ranges = sums->ranges + library->first_range;
	for (uint32_t i = 0; i < library->ranges && ranges[i].offset <= address; i++) {
		if (!first && !ranges[i].offset)
			first = &ranges[i];
		if (ranges[i].end > ranges[i].start && address - ranges[i].offset < ranges[i].end - ranges[i].start)
			holding = &ranges[i];
	}
	return holding && first ? address - holding->offset + holding->start - first->start : address;
}

const char *sums_filled(const struct loli_sums *sums, uint32_t library, uint64_t address, size_t *len)
{
	const struct loli_library *own = &sums->libraries[library];
	const struct text_entry name = sums_text(sums, own->text);
	return sums->loli->symbols ? symbols_find(sums->loli->symbols, name.data, name.len, rebased(sums, own, address), len) :
				     NULL;
}

bool names_entry(const struct loli_sums *sums, uint32_t library, uint64_t address, struct loli_string *name)
{
	const struct loli_symbol *list = sums->symbols + sums->libraries[library].first_symbol;
	size_t low = 0, high = sums->libraries[library].symbols;
	*name = (struct loli_string){ NULL, 0 };
	while (low < high) { /* the first behind it */
		const size_t mid = low + (high - low) / 2;
		if (list[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || list[low - 1].address != address)
		return false;
	struct loli_cursor cursor = loli_cursor(sums->loli, list[low - 1].name);
	*name = loli_string(&cursor);
	return true;
}

/* Functions of one name in one library are one. */
uint32_t names_function_called(struct loli_sums *sums, const char *name, size_t len, uint32_t library)
{
	const uint32_t text = texts_put(&sums->texts, name, len);
	uint32_t *number = text == NUMBER_NONE ? NULL :
			   table_put(&sums->by_name, (struct table_key){ text, FUNCTION + library });
	void *list = sums->functions;
	if (!number)
		return NUMBER_NONE;
	if (*number != NUMBER_NONE)
		return *number;
	*number = 0;
	if (!table_grow(&list, sums->function_count, &sums->function_capacity, sizeof *sums->functions))
		return NUMBER_NONE;
	sums->functions = list;
	sums->functions[sums->function_count] = (struct loli_function){ .text = text, .lib = library };
	return *number = (uint32_t)sums->function_count++;
}

uint32_t names_pseudo(struct loli_sums *sums, const char *name, size_t len, uint32_t library)
{
	const uint32_t number = names_function_called(sums, name, len, library);
	if (number != NUMBER_NONE)
		sums->functions[number].pseudo = true;
	return number;
}

size_t names_made(struct text_entry library, const char *behind, char made[NAMES_MADE])
{
	size_t len = library.len;
	if (len > NAMES_LIBRARY_MOST)
		for (len = NAMES_LIBRARY_MOST; len && ((unsigned char)library.data[len] & 0xc0) == 0x80;)
			len--; /* not within a character */
	if (len)
		memcpy(made, library.data, len);
	return len + (size_t)snprintf(made + len, NAMES_MADE - len, "%s", behind);
}

size_t names_made_of(struct text_entry library, uint64_t address, char made[NAMES_MADE])
{
	char behind[32];
	snprintf(behind, sizeof behind, "!0x%" PRIx64, address);
	return names_made(library, behind, made);
}

static uint32_t new_function(struct loli_sums *sums, uint32_t library, uint64_t address)
{
	size_t len;
	const struct loli_library *own = &sums->libraries[library];
	struct loli_string string;
	names_entry(sums, library, address, &string);
	const char *name = string.count ? decode(sums, &string, &len) : sums_filled(sums, library, address, &len);
	char made[NAMES_MADE];
	const bool named = name != NULL;
	if (string.count && !name)
		return NUMBER_NONE;
	sums->filled += named && !string.count;
	sums->frames_named += named;
	sums->frames_unnamed += !named;
	if (!named) {
		len = names_made_of(sums_text(sums, own->text), rebased(sums, own, address), made);
		name = made;
	}
	const uint32_t number = names_function_called(sums, name, len, library);
	if (number != NUMBER_NONE)
		sums->functions[number].named |= named;
	return number;
}

uint32_t names_function(struct loli_sums *sums, uint32_t library, uint64_t address)
{
	uint32_t *number = table_put(&sums->frames, (struct table_key){ address, library });
	if (!number)
		return NUMBER_NONE;
	if (*number == NUMBER_NONE) {
		const uint32_t made = new_function(sums, library, address);
		if (made == NUMBER_NONE) {
			*number = 0;
			return made;
		}
		*number = made;
	}
	return *number;
}
