/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles by what is in them. */
#include "loli_writer.h"

#include <assert.h>
#include <string.h>

#define FRAMES_MOST 64
#define LIBRARIES_MOST 8
#define UNKNOWN "unknown"

/* All places of a profile, each once. */
struct places {
	struct place {
		const char *text;	/* library, then ! and the name where there is one */
		size_t len, lib_len;
		uint32_t lib;		/* number */
		uint64_t address;
	} list[FRAMES_MOST];
	size_t count;
	struct {
		const char *name;
		size_t len;
	} libraries[LIBRARIES_MOST];
	uint32_t lib_count;
};

static uint32_t library_of(struct places *places, const char *name, size_t len)
{
	uint32_t i = 0;
	while (i < places->lib_count && (places->libraries[i].len != len || memcmp(places->libraries[i].name, name, len)))
		i++;
	if (i == places->lib_count) {
		assert(i < LIBRARIES_MOST);
		places->libraries[places->lib_count].name = name;
		places->libraries[places->lib_count++].len = len;
	}
	return i;
}

static const struct place *place_of(struct places *places, const struct loli_made *made, const char *text, size_t len)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->list[i].len == len && !memcmp(places->list[i].text, text, len))
			return &places->list[i];
	assert(places->count < FRAMES_MOST);
	const char *mark = memchr(text, '!', len);
	const size_t lib_len = mark ? (size_t)(mark - text) : len;
	struct place *place = &places->list[places->count++];
	*place = (struct place){ text, len, lib_len, library_of(places, text, lib_len),
				 0x1000 + 64 * places->count + made->moved };
	if (lib_len == strlen(UNKNOWN) && !memcmp(text, UNKNOWN, lib_len))
		place->address = 0x7f0000000000 + 64 * places->count + made->moved_raw;
	return place;
}

static void put_text(struct writer *w, const char *text, size_t len)
{
	char copy[8192];
	assert(len < sizeof copy);
	memcpy(copy, text, len);
	copy[len] = 0;
	put_loli_string(w, copy);
}

/* The frames of a stack, innermost first; with a writer, they are written. */
static uint32_t each_frame(struct places *places, const struct loli_made *made, const char *stack, struct writer *w)
{
	uint32_t depth = 0;
	for (const char *end = stack + strlen(stack); end > stack;) {
		const char *begin = end;
		while (begin > stack && begin[-1] != ';')
			begin--;
		const struct place *place = place_of(places, made, begin, (size_t)(end - begin));
		if (w)
			put_loli_frame(w, 1 + place->lib, place->address);
		depth++;
		end = begin > stack ? begin - 1 : begin;
	}
	return depth;
}

static void put_symbols(struct writer *w, const struct places *places)
{
	put_u4(w, places->lib_count);
	for (uint32_t i = 0; i < places->lib_count; i++) {
		uint32_t count = 0;
		for (size_t j = 0; j < places->count; j++)
			count += places->list[j].lib == i && places->list[j].len > places->list[j].lib_len;
		put_text(w, places->libraries[i].name, places->libraries[i].len);
		put_u4(w, count);
		for (size_t j = 0; j < places->count; j++) {
			const struct place *place = &places->list[j];
			if (place->lib != i || place->len == place->lib_len)
				continue;
			put_u8(w, place->address);
			put_text(w, place->text + place->lib_len + 1, place->len - place->lib_len - 1);
		}
	}
}

void sample_loli_made(struct writer *w, const struct loli_made *made)
{
	struct places places = { .count = 0 };
	uint32_t stacks = 0;
	for (size_t i = 0; i < made->record_count; i++)
		if (made->records[i].stack) {
			each_frame(&places, made, made->records[i].stack, NULL);
			stacks++;
		}
	writer_init(w, 8);
	put_loli_header(w, 106);
	put_u4(w, 0);
	put_u4(w, places.lib_count);
	for (uint32_t i = 0; i < places.lib_count; i++) {
		put_u4(w, 1 + i);
		put_text(w, places.libraries[i].name, places.libraries[i].len);
	}
	put_u4(w, (uint32_t)made->record_count);
	for (size_t i = 0; i < made->record_count; i++) {
		const struct loli_made_record *record = &made->records[i];
		put_loli_uuid(w, i + 1 + (made->moved_raw & 0xffff));
		put_loli_record(w, record->seq, record->time_ms, record->size, record->address, 0x1000, 1);
	}
	put_u4(w, stacks);
	for (size_t i = 0; i < made->record_count; i++) {
		if (!made->records[i].stack)
			continue;
		put_loli_uuid(w, i + 1 + (made->moved_raw & 0xffff));
		put_u4(w, each_frame(&places, made, made->records[i].stack, NULL));
		each_frame(&places, made, made->records[i].stack, w);
	}
	put_symbols(w, &places);
	put_u4(w, (uint32_t)made->free_count);
	for (size_t i = 0; i < made->free_count; i++) {
		put_u8(w, made->frees[i].address);
		put_u4(w, made->frees[i].seq);
	}
	put_zeros(w, 8); /* no screenshots, no smaps */
}

#define ROOT UNKNOWN ";libgame.so!main()"
#define GROWS ROOT ";libgame.so!load();libengine.so!Grow(int);libloli.so!"
#define SHRINKS ROOT ";libgame.so!load();libengine.so!Shrink(int);libloli.so!"
#define STAYS ROOT ";libgame.so!stay();libloli.so!"
#define GOES ROOT ";libgame.so!old();libengine.so!Grow(int);libloli.so!"
#define COMES ROOT ";libgame.so!fresh();libengine.so!Grow(int);libloli.so!"
#define NAMELESS ROOT ";libengine.so!;libloli.so!"

void sample_loli_before(struct writer *w)
{
	struct loli_made_record records[] = {
		{ 1, 10, 5000, 0x10000, GROWS }, { 2, 20, 9000, 0x20000, SHRINKS }, { 3, 30, 9000, 0x30000, SHRINKS },
		{ 4, 40, 6000, 0x40000, STAYS }, { 5, 50, 7000, 0x50000, GOES }, { 6, 60, 100, 0x60000, NAMELESS },
		{ 7, 70, 300, 0x70000, NULL },	 { 8, 80, 77, 0x80000, GROWS },
	};
	struct loli_made_free frees[] = { { 0x80000, 9 } };
	sample_loli_made(w, &(struct loli_made){ records, sizeof records / sizeof *records, frees, 1, 0, 0 });
}

void sample_loli_after(struct writer *w)
{
	struct loli_made_record records[] = {
		{ 1, 5, 5000, 0x91000, GROWS },	 { 2, 15, 8000, 0x92000, GROWS }, { 3, 25, 9000, 0x93000, SHRINKS },
		{ 4, 35, 6000, 0x94000, STAYS }, { 5, 45, 8192, 0x95000, COMES }, { 6, 55, 100, 0x96000, NAMELESS },
		{ 7, 65, 300, 0x97000, NULL },	 { 8, 75, 88, 0x98000, GROWS },
	};
	struct loli_made_free frees[] = { { 0x98000, 9 } };
	sample_loli_made(w, &(struct loli_made){ records, sizeof records / sizeof *records, frees, 1, 0x5550, 0x123000 });
}
