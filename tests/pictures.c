/* SPDX-License-Identifier: Apache-2.0 */
#include "pictures.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void fill_pixels(uint8_t *data, size_t len, unsigned seed)
{
	uint64_t state = seed;
	for (size_t i = 0; i < len; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		data[i] = (uint8_t)(state >> 56);
	}
}

/* --- PNG --- */

static void put_chunk(struct writer *out, const char *type, const uint8_t *data, size_t len)
{
	put_u4(out, (uint32_t)len);
	const size_t from = out->len;
	put_bytes(out, type, 4);
	put_bytes(out, data, len);
	put_u4(out, (uint32_t)crc32(crc32(0, NULL, 0), out->data + from, (uInt)(out->len - from)));
}

void put_png(struct writer *out, unsigned width, unsigned height, const uint8_t *rgba)
{
	const size_t row = 4 * (size_t)width, len = (1 + row) * height;
	uLongf packed_len = compressBound((uLong)len);
	uint8_t *rows = must(calloc(len, 1)), *packed = must(malloc(packed_len));
	struct writer head;
	for (size_t y = 0; y < height; y++)
		memcpy(rows + (1 + row) * y + 1, rgba + row * y, row);
	if (compress2(packed, &packed_len, rows, (uLong)len, 9) != Z_OK)
		abort();
	put_bytes(out, "\x89PNG\r\n\x1a\n", 8);
	writer_init(&head, 4);
	put_u4(&head, width);
	put_u4(&head, height);
	put_bytes(&head, "\x08\x06\0\0\0", 5); /* 8 bits, RGBA */
	put_chunk(out, "IHDR", head.data, head.len);
	put_chunk(out, "IDAT", packed, packed_len);
	put_chunk(out, "IEND", NULL, 0);
	writer_free(&head);
	free(rows);
	free(packed);
}

/* --- bits --- */

struct bits {
	struct writer *out;
	unsigned held, count;
};

/* JPEG: the highest bit first, a zero byte behind each 0xff. */
static void jpeg_bits(struct bits *bits, unsigned value, unsigned count)
{
	while (count--) {
		bits->held = bits->held << 1 | (value >> count & 1);
		if (++bits->count < 8)
			continue;
		put_u1(bits->out, bits->held & 0xff);
		if ((bits->held & 0xff) == 0xff)
			put_u1(bits->out, 0);
		bits->held = bits->count = 0;
	}
}

/* WebP: the lowest bit first. */
static void webp_bits(struct bits *bits, unsigned value, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bits->held |= (value >> i & 1) << bits->count;
		if (++bits->count < 8)
			continue;
		put_u1(bits->out, bits->held);
		bits->held = bits->count = 0;
	}
}

/* --- JPEG --- */

/* DHT: of two codes, 0 means `first` and 10 means `second`. */
static void put_codes(struct writer *out, unsigned table, unsigned first, unsigned second)
{
	put_bytes(out, "\xff\xc4\0\x15", 4);
	put_u1(out, table);
	put_u1(out, 1);
	put_u1(out, 1);
	put_zeros(out, 14);
	put_u1(out, first);
	put_u1(out, second);
}

static void put_scan(struct writer *out, unsigned first, unsigned last)
{
	put_bytes(out, "\xff\xda\0\x08\x01\x01\0", 7);
	put_u1(out, first);
	put_u1(out, last);
	put_u1(out, 0);
}

/* Grey, all of it of one shade: the first block says which, the others that they differ by nothing. */
static void put_shade(struct writer *out, unsigned blocks, unsigned shade, bool direct, bool others)
{
	struct bits bits = { out, 0, 0 };
	for (unsigned i = 0; i < blocks; i++) {
		if (direct && i)
			jpeg_bits(&bits, 0, 1);
		else if (direct)
			jpeg_bits(&bits, 2u << 6 | (shade & 31) | 32, 8); /* six bits, whose highest says positive */
		if (others) /* none in this block */
			jpeg_bits(&bits, 0, 1);
	}
	while (bits.count)
		jpeg_bits(&bits, 1, 1);
}

static void put_jpeg(struct writer *out, enum picture_form form, unsigned width, unsigned height, unsigned seed)
{
	const unsigned blocks = (width + 7) / 8 * ((height + 7) / 8);
	put_bytes(out, "\xff\xd8", 2);
	if (form == FORM_JPEG_EXIF) {
		struct writer small;
		writer_init(&small, 4);
		put_bytes(&small, "Exif\0\0MM\0\x2a\0\0\0\x08\0\0\0\0\0\0", 20);
		put_jpeg(&small, FORM_JPEG, 8, 8, seed);
		put_zeros(&small, 20000);
		put_bytes(out, "\xff\xe1", 2);
		put_u2(out, (unsigned)small.len + 2);
		put_bytes(out, small.data, small.len);
		writer_free(&small);
	} else {
		put_bytes(out, "\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0", 18);
	}
	put_bytes(out, "\xff\xdb\0\x43\0", 5);
	for (unsigned i = 0; i < 64; i++)
		put_u1(out, 8);
	put_codes(out, 0, 0, 6);
	put_bytes(out, form == FORM_JPEG_PROGRESSIVE ? "\xff\xc2" : "\xff\xc0", 2);
	put_bytes(out, "\0\x0b\x08", 3);
	put_u2(out, height);
	put_u2(out, width);
	put_bytes(out, "\x01\x01\x11\0", 4);
	put_codes(out, 0x10, 0, 1);
	if (form == FORM_JPEG_PROGRESSIVE) {
		put_scan(out, 0, 0);
		put_shade(out, blocks, seed, true, false);
		put_scan(out, 1, 63);
		put_shade(out, blocks, seed, false, true);
	} else {
		put_scan(out, 0, 63);
		put_shade(out, blocks, seed, true, true);
	}
	put_bytes(out, "\xff\xd9", 2);
}

/* --- WebP --- */

static void put_le(struct writer *out, uint32_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		put_u1(out, value >> 8 * i & 0xff);
}

static size_t begin_riff(struct writer *out, const char *name)
{
	put_bytes(out, name, 4);
	put_le(out, 0, 4);
	return out->len;
}

static void end_riff(struct writer *out, size_t from)
{
	const size_t len = out->len - from;
	for (unsigned i = 0; i < 4; i++)
		out->data[from - 4 + i] = (uint8_t)(len >> 8 * i);
	put_zeros(out, len % 2);
}

/* A key frame. All bits zero behind its head mean: predict from what is there, and add nothing. */
static void put_vp8(struct writer *out, unsigned width, unsigned height, unsigned seed)
{
	const unsigned blocks = (width + 15) / 16 * ((height + 15) / 16), first = 1500 + 32 * blocks;
	put_le(out, 1u << 4 | first << 5, 3);
	put_bytes(out, "\x9d\x01\x2a", 3);
	put_le(out, width, 2);
	put_le(out, height, 2);
	put_zeros(out, first);
	put_zeros(out, 32 * blocks + 2 * (seed % 100)); /* what is left over tells one from another */
}

/* One colour: each channel's code has one symbol and so no bits, and then no pixel has any. */
static void put_vp8l(struct writer *out, unsigned width, unsigned height, unsigned seed, bool least)
{
	struct bits bits = { out, 0, 0 };
	put_u1(out, 0x2f);
	webp_bits(&bits, width - 1, 14);
	webp_bits(&bits, height - 1, 14);
	webp_bits(&bits, 1, 1); /* with alpha, version 0; no transform, no cache, one set of codes */
	webp_bits(&bits, 0, 3 + 3);
	const unsigned colour[] = { seed * 7, seed * 31, seed * 101, 255 };
	for (unsigned i = 0; i < 4; i++) {
		webp_bits(&bits, least ? 1 : 5, 3); /* simple, one symbol, of one bit or of 8 */
		webp_bits(&bits, least ? i == 3 : colour[i], least ? 1 : 8);
	}
	webp_bits(&bits, 1, 4); /* distances: 0 */
	while (bits.count)
		webp_bits(&bits, 0, 1);
}

static void put_webp(struct writer *out, enum picture_form form, unsigned width, unsigned height, unsigned seed)
{
	const size_t riff = begin_riff(out, "RIFF");
	put_bytes(out, "WEBP", 4);
	if (form == FORM_VP8X) {
		const size_t head = begin_riff(out, "VP8X");
		put_le(out, 0x10, 4); /* there is alpha */
		put_le(out, width - 1, 3);
		put_le(out, height - 1, 3);
		end_riff(out, head);
	}
	const size_t frame = begin_riff(out, form == FORM_VP8 ? "VP8 " : "VP8L");
	if (form == FORM_VP8)
		put_vp8(out, width, height, seed);
	else
		put_vp8l(out, width, height, seed, form == FORM_VP8L_LEAST);
	end_riff(out, frame);
	end_riff(out, riff);
}

void put_picture(struct writer *out, enum picture_form form, unsigned width, unsigned height, unsigned seed)
{
	if (form == FORM_PNG) {
		const size_t len = 4 * (size_t)width * height;
		uint8_t *rgba = must(malloc(len + 1));
		fill_pixels(rgba, len, seed);
		put_png(out, width, height, rgba);
		free(rgba);
	} else if (form < FORM_VP8) {
		put_jpeg(out, form, width, height, seed);
	} else {
		put_webp(out, form, width, height, seed);
	}
}
