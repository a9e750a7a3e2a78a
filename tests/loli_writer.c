/* SPDX-License-Identifier: Apache-2.0 */
#include "loli_writer.h"

#include <inttypes.h>
#include <string.h>

void put_loli_header(struct writer *w, uint32_t version)
{
	put_u4(w, 0xa4b3c2d1);
	put_u4(w, version);
	put_u4(w, 256);
}

void put_loli_string(struct writer *w, const char *text)
{
	const size_t len = text ? strlen(text) : 0;
	put_u4(w, text ? (uint32_t)(2 * len) : LOLI_NULL);
	for (size_t i = 0; i < len; i++)
		put_u2(w, (unsigned char)text[i]);
}

void put_loli_uuid(struct writer *w, uint64_t number)
{
	char text[48];
	snprintf(text, sizeof text, "{00000000-0000-4000-8000-%012" PRIx64 "}", number);
	put_loli_string(w, text);
}

void put_loli_record(struct writer *w, uint32_t seq, uint32_t time_ms, uint32_t size, uint64_t address,
		     uint64_t function, uint32_t lib)
{
	put_u4(w, seq);
	put_u4(w, time_ms);
	put_u4(w, size);
	put_u8(w, address);
	put_u8(w, function);
	put_u4(w, lib);
}

void put_loli_frame(struct writer *w, uint32_t lib, uint64_t address)
{
	put_u4(w, lib);
	put_u8(w, address);
}

void put_loli_point(struct writer *w, double x, double y)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	put_u8(w, bits);
	memcpy(&bits, &y, sizeof bits);
	put_u8(w, bits);
}

static void put_symbol(struct writer *w, uint64_t address, const char *name)
{
	put_u8(w, address);
	put_loli_string(w, name);
}

static void put_free(struct writer *w, uint64_t address, uint32_t seq)
{
	put_u8(w, address);
	put_u4(w, seq);
}

static void put_mapping(struct writer *w, const char *name, const uint64_t (*ranges)[3], unsigned count, uint32_t pss)
{
	put_loli_string(w, name);
	put_u4(w, count);
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < 3; j++)
			put_u8(w, ranges[i][j]);
	for (unsigned i = 0; i < 7; i++)
		put_u4(w, i == 2 ? pss : 10 + i);
}

/*
 * Two libraries and the agent. Six records, out of order: 1 is live, 2 was freed, 3 was freed and its block given
 * to 5, 4 is as big as its free says it is not yet freed (equal numbers are live). 6 has no stack. The names:
 * main() calls load(), that is in both libraries, and an address without a name.
 */
void sample_loli_small(struct writer *w)
{
	static const uint64_t heap[][3] = { { 0x10000, 0x20000, 0 } };
	static const uint64_t library[][3] = { { 0x40000, 0x41000, 0 }, { 0x52000, 0x54000, 0x1000 } };
	static const uint32_t records[][5] = { /* seq, ms, size, address, the frame above main() */
		{ 5, 500, 1000, 0x12000, 0 }, { 1, 100, 8192, 0x10000, 0 }, { 2, 200, 300, 0x13000, 1 },
		{ 3, 300, 400, 0x12000, 1 }, { 4, 400, 5000, 0x14000, 2 }, { 6, 600, 7, 0x1a000, 3 } };
	writer_init(w, 8);
	put_loli_header(w, 106);
	put_u4(w, 6);
	for (unsigned i = 0; i < 6; i++) {
		put_u4(w, 2);
		put_loli_point(w, 0, i);
		put_loli_point(w, 1.5, i + 0.25);
	}
	put_u4(w, 4);
	put_u4(w, 11), put_loli_string(w, "libgame.so");
	put_u4(w, 12), put_loli_string(w, "libengine.so");
	put_u4(w, 13), put_loli_string(w, "libloli.so");
	put_u4(w, 0), put_loli_string(w, NULL);
	put_u4(w, 6);
	for (unsigned i = 0; i < 6; i++) {
		put_loli_uuid(w, records[i][0]);
		put_loli_record(w, records[i][0], records[i][1], records[i][2], records[i][3], 0x1200, 12);
	}
	put_u4(w, 5);
	for (unsigned i = 0; i < 5; i++) {
		static const struct {
			uint32_t lib;
			uint64_t address;
		} called[] = { { 11, 0x1100 }, { 12, 0x1200 }, { 12, 0x1300 } };
		put_loli_uuid(w, records[i][0]);
		put_u4(w, 3);
		put_loli_frame(w, 13, 0x77);
		put_loli_frame(w, called[records[i][4]].lib, called[records[i][4]].address);
		put_loli_frame(w, 11, 0x1000);
	}
	put_u4(w, 2);
	put_loli_string(w, "libgame.so"), put_u4(w, 2);
	put_symbol(w, 0x1000, "main()"), put_symbol(w, 0x1100, "load()");
	put_loli_string(w, "libengine.so"), put_u4(w, 2);
	put_symbol(w, 0x1200, "load()"), put_symbol(w, 0x1300, "");
	put_u4(w, 3);
	put_free(w, 0x13000, 7), put_free(w, 0x12000, 4), put_free(w, 0x14000, 4);
	put_u4(w, 2);
	put_u4(w, 5), put_u4(w, 12), put_bytes(w, "\x89PNG\r\n\x1a\nabcd", 12);
	put_u4(w, 12), put_u4(w, 5), put_bytes(w, "\xff\xd8\xff\xe0x", 5);
	put_u4(w, 2);
	put_mapping(w, "[heap]", heap, 1, 64);
	put_mapping(w, "libengine.so", library, 2, 99);
}

#define DEPTH 16

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* 3,000 places to allocate from, each reached from a few others. */
static void put_big_stack(struct writer *w, uint64_t place)
{
	put_u4(w, DEPTH);
	put_loli_frame(w, 3, 0x128ef5);
	for (unsigned i = 1; i < DEPTH; i++, place = place * 7 / 11)
		put_loli_frame(w, 1 + (uint32_t)(place % 2), 0x1000 + 64 * (place + i % 3));
}

int sample_loli(uint64_t records, const char *path)
{
	struct writer w;
	uint64_t state = 88172645463325252, address = 0x7000000000;
	if (!records) {
		sample_loli_small(&w);
		const int saved = writer_save(&w, path);
		writer_free(&w);
		return saved;
	}
	writer_init(&w, 8);
	put_loli_header(&w, 106);
	put_u4(&w, 6);
	for (unsigned i = 0; i < 6; i++) {
		put_u4(&w, 600);
		for (unsigned j = 0; j < 600; j++)
			put_loli_point(&w, j, 100 + i * 10 + j / 60);
	}
	put_u4(&w, 3);
	put_u4(&w, 1), put_loli_string(&w, "libgame.so");
	put_u4(&w, 2), put_loli_string(&w, "libengine.so");
	put_u4(&w, 3), put_loli_string(&w, "libloli.so");
	put_u4(&w, (uint32_t)records);
	for (uint64_t i = 0; i < records; i++) {
		const uint32_t size = 16 + (uint32_t)(next_random(&state) % 2000);
		put_loli_uuid(&w, i);
		put_loli_record(&w, (uint32_t)(i * 2 + 1), (uint32_t)(i * 5), size, address, 0x1000, 1);
		address += size + 48;
	}
	put_u4(&w, (uint32_t)records);
	for (uint64_t i = records; i-- > 0;) {
		put_loli_uuid(&w, i);
		put_big_stack(&w, next_random(&state) % 3000);
	}
	put_u4(&w, 2);
	for (unsigned i = 0; i < 2; i++) {
		put_loli_string(&w, i ? "libengine.so" : "libgame.so");
		put_u4(&w, 3003);
		for (unsigned j = 0; j < 3003; j++) {
			char name[64];
			snprintf(name, sizeof name, "Game::Module%u::Function%u(int, void*)", j % 40, j);
			put_symbol(&w, 0x1000 + 64 * j, name);
		}
	}
	put_u4(&w, (uint32_t)(records / 10));
	for (uint64_t i = 0; i < records / 10; i++)
		put_free(&w, 0x6000000000 + i * 16, (uint32_t)(i * 2 + 2));
	put_u4(&w, 0);
	put_u4(&w, 1);
	put_mapping(&w, "[anon:libc_malloc]", (const uint64_t[][3]){ { 0x7000000000, address, 0 } }, 1, 1000);
	const int rc = writer_save(&w, path);
	writer_free(&w);
	return rc;
}
