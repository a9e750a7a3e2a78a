/* SPDX-License-Identifier: Apache-2.0 */
/* PNGs made from raw pixels: their size, any range of them, what zlib and libpng find in them. */
#include "android/png.h"
#include "decode.h"
#include "hprof/format.h"
#include "pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include <cmocka.h>

static const struct {
	enum pixel_layout layout;
	unsigned bytes, channels, head, colour_type; /* of a pixel in memory, in the PNG; before the first IDAT */
} layouts[] = { { LAYOUT_ALPHA_8, 1, 2, 33, 4 }, { LAYOUT_RGB_565, 2, 3, 48, 2 }, { LAYOUT_ARGB_8888, 4, 4, 33, 6 } };
#define LAYOUT_COUNT (sizeof layouts / sizeof *layouts)

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

static void make_pixels(struct pixels *pixels, size_t layout, uint32_t width, uint32_t height, bool premultiplied)
{
	const size_t len = (size_t)width * height * layouts[layout].bytes;
	uint8_t *data = malloc(len);
	assert_non_null(data);
	fill_pixels(data, len, width + height);
	*pixels = (struct pixels){ data, width, height, layouts[layout].layout, premultiplied };
}

static void free_pixels(struct pixels *pixels)
{
	free((void *)(uintptr_t)pixels->data);
}

/* Bytes that are compressed: filter bytes and pixels. */
static uint64_t stream_len(size_t layout, uint32_t width, uint32_t height)
{
	return (uint64_t)height + (uint64_t)width * height * layouts[layout].channels;
}

/*
 * Where the file ends: behind as many chunks as it takes, of which each costs 12 bytes and its block 5 and all but the
 * last end at a multiple of PNG_CHUNK.
 */
static uint64_t expected_size(size_t layout, uint32_t width, uint32_t height)
{
	uint64_t left = stream_len(layout, width, height), at = layouts[layout].head, room = PNG_CHUNK - at - 17 - 2;
	for (at += 2; left > room; room = PNG_CHUNK - 17) {
		left -= room;
		at += 17 + room;
	}
	return at + 17 + left + 4 + 12;
}

static uint8_t *read_whole(const struct pixels *pixels, size_t *len)
{
	struct png_sums sums = { NULL };
	*len = (size_t)png_size(pixels);
	uint8_t *file = malloc(*len);
	assert_non_null(file);
	assert_true(png_read(pixels, &sums, 0, *len, file));
	png_sums_free(&sums);
	return file;
}

/* The stream as PNG says it must be. */
static uint8_t *expected_stream(const struct pixels *pixels, size_t layout)
{
	const size_t len = (size_t)stream_len(layout, pixels->width, pixels->height);
	const unsigned bytes = layouts[layout].bytes;
	const uint8_t *in = pixels->data;
	uint8_t *stream = malloc(len), *out = stream;
	assert_non_null(stream);
	for (uint32_t y = 0; y < pixels->height; y++) {
		*out++ = 0;
		for (uint32_t x = 0; x < pixels->width; x++, in += bytes) {
			uint8_t rgba[4];
			decode_pixel(in, bytes, pixels->premultiplied, rgba);
			if (bytes == 1) {
				*out++ = 0;
				*out++ = rgba[3];
			} else {
				memcpy(out, rgba, layouts[layout].channels);
				out += layouts[layout].channels;
			}
		}
	}
	assert_ptr_equal(out, stream + len);
	return stream;
}

/* Goes through the chunks: their order, places and sums, and what zlib makes of the data. */
static void check_chunks(const struct pixels *pixels, size_t layout, const uint8_t *file, size_t len)
{
	uint8_t *packed = malloc(len);
	size_t packed_len = 0, at = 8;
	unsigned number = 0;
	bool ended = false;
	assert_non_null(packed);
	assert_memory_equal(file, "\x89PNG\r\n\x1a\n", 8);
	for (; at < len; number++) {
		assert_true(!ended && len - at >= 12);
		const uint32_t size = be32(file + at);
		const uint8_t *type = file + at + 4, *data = type + 4;
		assert_true(size <= len - at - 12);
		assert_int_equal(be32(data + size), crc32(crc32(0, NULL, 0), type, 4 + size));
		at += 12 + size;
		if (!number) {
			assert_memory_equal(type, "IHDR", 4);
			assert_int_equal(size, 13);
			assert_int_equal(be32(data), pixels->width);
			assert_int_equal(be32(data + 4), pixels->height);
			assert_int_equal(data[8], 8);
			assert_int_equal(data[9], layouts[layout].colour_type);
			assert_memory_equal(data + 10, "\0\0\0", 3);
		} else if (number == 1 && layouts[layout].layout == LAYOUT_RGB_565) {
			assert_memory_equal(type, "sBIT", 4);
			assert_int_equal(size, 3);
			assert_memory_equal(data, "\5\6\5", 3);
		} else if (!memcmp(type, "IDAT", 4)) {
			memcpy(packed + packed_len, data, size);
			packed_len += size;
			/* Any but the last ends where a page does. */
			if (at < len - 12)
				assert_int_equal(at % PNG_CHUNK, 0);
		} else {
			assert_memory_equal(type, "IEND", 4);
			assert_int_equal(size, 0);
			ended = true;
		}
	}
	assert_true(ended);
	uLongf got_len = (uLongf)stream_len(layout, pixels->width, pixels->height);
	uint8_t *got = malloc(got_len), *want = expected_stream(pixels, layout);
	assert_non_null(got);
	uLong used = (uLong)packed_len;
	assert_int_equal(uncompress2(got, &got_len, packed, &used), Z_OK); /* which checks the Adler-32 */
	assert_int_equal(used, packed_len);
	assert_int_equal(got_len, stream_len(layout, pixels->width, pixels->height));
	assert_memory_equal(got, want, got_len);
	free(got);
	free(want);
	free(packed);
}

static void check_libpng(const struct pixels *pixels, size_t layout, const uint8_t *file, size_t len)
{
	uint32_t width, height;
	uint8_t *rgba = decode_png(file, len, &width, &height);
	assert_non_null(rgba);
	assert_int_equal(width, pixels->width);
	assert_int_equal(height, pixels->height);
	for (size_t i = 0; i < (size_t)width * height; i++) {
		uint8_t want[4];
		decode_pixel(pixels->data + i * layouts[layout].bytes, layouts[layout].bytes, pixels->premultiplied, want);
		assert_memory_equal(rgba + 4 * i, want, 4);
	}
	free(rgba);
}

/* A range alone is the same as that range of the whole, whatever was read before it. */
static void check_range(const struct pixels *pixels, struct png_sums *sums, const uint8_t *file, uint64_t from,
			size_t len)
{
	uint8_t *part = malloc(len + 2);
	assert_non_null(part);
	part[0] = part[len + 1] = 0x5a; /* neither before nor behind it */
	assert_true(png_read(pixels, sums, from, len, part + 1));
	if (memcmp(part + 1, file + from, len) || part[0] != 0x5a || part[len + 1] != 0x5a)
		fail_msg("%ux%u of layout %d: bytes %ju to %ju differ from the whole", pixels->width, pixels->height,
			 pixels->layout, (uintmax_t)from, (uintmax_t)(from + len));
	free(part);
}

static void check_ranges(const struct pixels *pixels, const uint8_t *file, size_t len, unsigned count)
{
	struct png_sums sums = { NULL }, fresh;
	for (unsigned i = 0; i < count; i++) {
		uint64_t from = next_random(len);
		size_t n = next_random(len - from < 70000 ? len - from + 1 : 70000);
		if (i % 3 == 1 && len > PNG_CHUNK) { /* around a border */
			const uint64_t border = PNG_CHUNK * (1 + next_random(len / PNG_CHUNK));
			from = border - next_random(20);
			from = from < len ? from : len - 1;
			n = next_random(len - from < 40 ? len - from + 1 : 40);
		}
		check_range(pixels, &sums, file, from, n);
	}
	for (uint64_t from = 0; from < len; from += PNG_CHUNK) /* as the kernel asks */
		check_range(pixels, &sums, file, from, len - from < PNG_CHUNK ? (size_t)(len - from) : PNG_CHUNK);
	png_sums_free(&sums);
	for (size_t n = 1; n <= 40 && n <= len; n++) { /* the end first: the sum of all is not known yet */
		fresh = (struct png_sums){ NULL };
		check_range(pixels, &fresh, file, len - n, n);
		png_sums_free(&fresh);
	}
}

static void check_image(size_t layout, uint32_t width, uint32_t height, bool premultiplied, unsigned ranges)
{
	struct pixels pixels;
	size_t len;
	make_pixels(&pixels, layout, width, height, premultiplied);
	uint8_t *file = read_whole(&pixels, &len);
	assert_int_equal(len, expected_size(layout, width, height));
	check_chunks(&pixels, layout, file, len);
	check_libpng(&pixels, layout, file, len);
	check_ranges(&pixels, file, len, ranges);
	free(file);
	free_pixels(&pixels);
}

static void images(void **state)
{
	static const uint32_t sizes[][2] = { { 1, 1 },	 { 2, 1 },   { 1, 2 },	   { 3, 5 },	 { 44, 64 },  { 16384, 1 },
					     { 1, 16384 }, { 90, 91 }, { 255, 257 }, { 32768, 3 }, { 7, 9000 } };
	(void)state;
	random_state = 1;
	for (size_t layout = 0; layout < LAYOUT_COUNT; layout++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (unsigned premultiplied = 0; premultiplied < 2; premultiplied++)
				check_image(layout, sizes[i][0], sizes[i][1], premultiplied, 100);
}

/* Finds an image whose stream has so many bytes. */
static bool of_stream(size_t layout, uint64_t len, uint32_t *width, uint32_t *height)
{
	const unsigned n = layouts[layout].channels;
	for (uint32_t h = 1; h < len; h++) {
		if (len % h || (len / h - 1) % n || len / h - 1 < n)
			continue;
		*width = (uint32_t)((len / h - 1) / n);
		*height = h;
		return true;
	}
	return false;
}

/* The stream ends with a chunk, or one to a few bytes before or behind its end. */
static void at_borders(void **state)
{
	(void)state;
	random_state = 2;
	for (size_t layout = 0; layout < LAYOUT_COUNT; layout++) {
		unsigned exact = 0, all = 0;
		for (unsigned chunks = 1; chunks <= 4; chunks++)
			for (int off = -5; off <= 5; off++) {
				const uint64_t room = PNG_CHUNK * chunks - layouts[layout].head - 2 - 17 * chunks;
				uint32_t width, height;
				if (!of_stream(layout, room + (uint64_t)off, &width, &height))
					continue;
				all++;
				exact += !off;
				check_image(layout, width, height, off & 1, 30);
			}
		assert_true(exact >= 1 && all >= 10);
	}
}

static void random_images(void **state)
{
	(void)state;
	random_state = 3;
	for (unsigned i = 0; i < 60; i++) {
		const size_t layout = next_random(LAYOUT_COUNT);
		const uint32_t width = 1 + (uint32_t)next_random(next_random(2) ? 700 : 20);
		const uint32_t height = 1 + (uint32_t)next_random(next_random(2) ? 700 : 20);
		check_image(layout, width, height, next_random(2), 60);
	}
}

/* More than 4 GiB: only the size, and a chunk far behind. The pixels are pages of zeros that nobody has to hold. */
static void huge(void **state)
{
	const uint32_t width = 1 << 15, height = 1 << 16;
	const size_t len = (size_t)width * height * 2;
	uint8_t chunk[PNG_CHUNK];
	struct png_sums sums = { NULL };
	(void)state;
	void *data = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED) {
		skip();
		return;
	}
	const struct pixels pixels = { data, width, height, LAYOUT_RGB_565, true };
	assert_int_equal(png_size(&pixels), expected_size(1, width, height));
	assert_true(png_size(&pixels) > UINT64_C(6) << 30);
	for (uint64_t from = (UINT64_C(4) << 30) - PNG_CHUNK; from < UINT64_C(6) << 30; from += UINT64_C(512) << 20) {
		assert_true(png_read(&pixels, &sums, from, PNG_CHUNK, chunk));
		assert_int_equal(be32(chunk), PNG_CHUNK - 12);
		assert_memory_equal(chunk + 4, "IDAT\0", 5);
		assert_int_equal(be32(chunk + PNG_CHUNK - 4), crc32(crc32(0, NULL, 0), chunk + 4, PNG_CHUNK - 8));
		for (unsigned i = 13; i < PNG_CHUNK - 4; i++)
			assert_int_equal(chunk[i], 0);
	}
	png_sums_free(&sums);
	munmap(data, len);
}

/* Every colour at every alpha, and every RGB_565. */
static void every_colour(void **state)
{
	uint8_t *data = malloc(65536 * 4);
	(void)state;
	assert_non_null(data);
	for (unsigned i = 0; i < 65536; i++) {
		data[2 * i] = (uint8_t)i;
		data[2 * i + 1] = (uint8_t)(i >> 8);
	}
	struct pixels pixels = { data, 256, 256, LAYOUT_RGB_565, false };
	size_t len;
	uint8_t *file = read_whole(&pixels, &len);
	check_libpng(&pixels, 1, file, len);
	free(file);
	for (unsigned i = 0; i < 65536; i++)
		memcpy(data + 4 * i, (const uint8_t[]){ (uint8_t)i, (uint8_t)(255 - i), (uint8_t)(i * 7), (uint8_t)(i >> 8) }, 4);
	for (unsigned premultiplied = 0; premultiplied < 2; premultiplied++) {
		pixels = (struct pixels){ data, 256, 256, LAYOUT_ARGB_8888, premultiplied };
		file = read_whole(&pixels, &len);
		check_libpng(&pixels, 2, file, len);
		free(file);
	}
	free(data);
}

/* Test vectors of HeapBitmapsTest.kt, as ARGB. */
static void vectors(void **state)
{
	static const struct {
		const char *in;
		enum pixel_layout layout;
		bool premultiplied;
		uint32_t argb;
	} table[] = {
		{ "\xff\0\0\xff", LAYOUT_ARGB_8888, true, 0xffff0000 },
		{ "\0\0\xff\x80", LAYOUT_ARGB_8888, false, 0x800000ff },
		{ "\x80\0\0\x80", LAYOUT_ARGB_8888, true, 0x80ff0000 },
		{ "\x80\0\0\x80", LAYOUT_ARGB_8888, false, 0x80800000 },
		{ "\xff\xff\xff\x01", LAYOUT_ARGB_8888, true, 0x01ffffff }, /* more colour than alpha: at most 255 */
		{ "\x01\x02\x03\0", LAYOUT_ARGB_8888, true, 0x00010203 },
		{ "\x02\x03\x04\x07", LAYOUT_ARGB_8888, true, 0x07486d91 }, /* 72.9, 109.3, 145.7: rounded down */
		{ "\0\xf8", LAYOUT_RGB_565, true, 0xffff0000 },
		{ "\xe0\x07", LAYOUT_RGB_565, true, 0xff00ff00 },
		{ "\x1f\0", LAYOUT_RGB_565, true, 0xff0000ff },
		{ "\x10\x84", LAYOUT_RGB_565, true, 0xff848284 },
		{ "\x80", LAYOUT_ALPHA_8, true, 0x80000000 },
		{ "\xff", LAYOUT_ALPHA_8, true, 0xff000000 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct pixels pixels = { (const uint8_t *)table[i].in, 1, 1, table[i].layout, table[i].premultiplied };
		uint32_t width, height;
		size_t len;
		uint8_t *file = read_whole(&pixels, &len), *rgba = decode_png(file, len, &width, &height);
		assert_non_null(rgba);
		assert_int_equal((uint32_t)rgba[3] << 24 | (uint32_t)rgba[0] << 16 | (uint32_t)rgba[1] << 8 | rgba[2],
				 table[i].argb);
		free(rgba);
		free(file);
	}
}

/* Compressed, they are the same pixels. */
static void encoded(void **state)
{
	static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 16384 }, { 16384, 1 }, { 44, 64 }, { 200, 300 } };
	(void)state;
	for (size_t layout = 0; layout < LAYOUT_COUNT; layout++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (unsigned level = 1; level <= 9; level++) {
				struct pixels pixels;
				uint8_t *data;
				size_t len;
				make_pixels(&pixels, layout, sizes[i][0], sizes[i][1], level % 2);
				assert_int_equal(png_encode(&pixels, level, &data, &len), 0);
				check_libpng(&pixels, layout, data, len);
				assert_memory_equal(data + len - 8, "IEND", 4);
				free(data);
				free_pixels(&pixels);
			}
}

/* What compresses well does. */
static void encoded_smaller(void **state)
{
	static uint8_t data[400 * 300 * 4];
	const struct pixels pixels = { data, 400, 300, LAYOUT_ARGB_8888, true };
	(void)state;
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = i % 4 == 3 ? 255 : (uint8_t)(i / 1600);
	size_t fast, best;
	uint8_t *encoded_data;
	assert_int_equal(png_encode(&pixels, 1, &encoded_data, &fast), 0);
	free(encoded_data);
	assert_int_equal(png_encode(&pixels, 9, &encoded_data, &best), 0);
	free(encoded_data);
	assert_true(best <= fast && fast < png_size(&pixels) / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images),   cmocka_unit_test(at_borders), cmocka_unit_test(random_images),
		cmocka_unit_test(huge),	    cmocka_unit_test(vectors),	  cmocka_unit_test(every_colour),
		cmocka_unit_test(encoded),  cmocka_unit_test(encoded_smaller),
	};
	return cmocka_run_group_tests_name("png", tests, NULL, NULL);
}
