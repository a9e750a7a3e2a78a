/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures: what their first and last bytes say, which Bitmaps have one and why others have none, what the tree shows
 * of them, and that looking around touches no pixel.
 */
#include "android/bitmap.h"
#include "decode.h"
#include "fixture.h"
#include "pictures.h"
#include "touches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES_LOOKED_AT 64

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

/* --- heads --- */

static const enum picture_format formats[PICTURE_FORMS] = {
	[FORM_PNG] = PICTURE_PNG,	    [FORM_JPEG] = PICTURE_JPEG, [FORM_JPEG_EXIF] = PICTURE_JPEG,
	[FORM_JPEG_PROGRESSIVE] = PICTURE_JPEG, [FORM_VP8] = PICTURE_WEBP,  [FORM_VP8L] = PICTURE_WEBP,
	[FORM_VP8X] = PICTURE_WEBP,	    [FORM_VP8L_LEAST] = PICTURE_WEBP,
};

static const unsigned sizes[][2] = { { 1, 1 }, { 2, 1 }, { 37, 21 }, { 300, 5 }, { 16383, 1 }, { 1, 16383 }, { 255, 256 } };
#define SIZE_COUNT (sizeof sizes / sizeof *sizes)

static struct picture_head head_of(const void *data, uint64_t len)
{
	struct picture_head head;
	picture_head(data, len, &head);
	return head;
}

static void expect_head(const struct picture_head *head, enum picture_format format, uint32_t width, uint32_t height,
			bool is_whole)
{
	assert_int_equal(head->format, format);
	assert_int_equal(head->width, width);
	assert_int_equal(head->height, height);
	assert_int_equal(head->whole, is_whole);
}

static void whole_heads(void **state)
{
	(void)state;
	for (unsigned form = 0; form < PICTURE_FORMS; form++)
		for (size_t i = 0; i < SIZE_COUNT; i++) {
			struct writer w;
			writer_init(&w, 4);
			put_picture(&w, (enum picture_form)form, sizes[i][0], sizes[i][1], form);
			const struct picture_head head = head_of(w.data, w.len);
			expect_head(&head, formats[form], sizes[i][0], sizes[i][1], true);
			writer_free(&w);
		}
	assert_string_equal(picture_extension(PICTURE_PNG), "png");
	assert_string_equal(picture_extension(PICTURE_JPEG), "jpg");
	assert_string_equal(picture_extension(PICTURE_WEBP), "webp");
	assert_string_equal(picture_extension(PICTURE_UNKNOWN), "bin");
}

/* Cut anywhere: no byte behind the end is read, no wrong size is told, and a cut one with a size is never whole. */
static void cut_heads(void **state)
{
	(void)state;
	for (unsigned form = 0; form < PICTURE_FORMS; form++) {
		struct writer w;
		struct guarded g;
		uint64_t first = UINT64_MAX; /* length from which on it says its size */
		writer_init(&w, 4);
		put_picture(&w, (enum picture_form)form, 37, 21, form);
		guarded_make(&g, w.data, w.len);
		for (size_t len = 0; len <= w.len; len++) {
			uint8_t *data = g.data + w.len - len;
			memcpy(data, w.data, len);
			const struct picture_head head = head_of(data, len);
			const bool sized = head.width || head.height;
			assert_true(head.format == formats[form] || (head.format == PICTURE_UNKNOWN && len < 12));
			if (sized && (head.width != 37 || head.height != 21))
				fail_msg("form %u of %zu bytes: %ux%u", form, len, head.width, head.height);
			if (sized && first > len)
				first = len;
			assert_true(sized == (len >= first));
			assert_true(!(sized && head.whole) || len == w.len);
		}
		assert_true(first <= (form == FORM_JPEG_EXIF ? 20400 : 200));
		guarded_free(&g);
		writer_free(&w);
	}
}

/* Which bytes may be looked at, told here anew; their number. */
static size_t mark_looked_at(const struct writer *w, enum picture_form form, bool *looked_at)
{
	size_t count = 0, at = 2;
	memset(looked_at, 0, w->len);
	if (formats[form] != PICTURE_JPEG) {
		for (size_t i = 0; i < w->len; i++)
			looked_at[i] = i < 30 || i + 12 >= w->len;
	} else {
		looked_at[0] = looked_at[1] = looked_at[2] = looked_at[w->len - 1] = looked_at[w->len - 2] = true;
		while (w->data[at + 1] != 0xc0 && w->data[at + 1] != 0xc2) {
			memset(looked_at + at, true, 4);
			at += 2 + (size_t)(w->data[at + 2] << 8 | w->data[at + 3]);
		}
		memset(looked_at + at, true, 9);
	}
	for (size_t i = 0; i < w->len; i++)
		count += looked_at[i];
	return count;
}

/* With all other bytes changed, the answer is the same. */
static void heads_of_few_bytes(void **state)
{
	(void)state;
	random_state = 1;
	for (unsigned form = 0; form < PICTURE_FORMS; form++)
		for (size_t i = 0; i < SIZE_COUNT; i++) {
			struct writer w;
			writer_init(&w, 4);
			put_picture(&w, (enum picture_form)form, sizes[i][0], sizes[i][1], form);
			bool *looked_at = malloc(w.len);
			assert_non_null(looked_at);
			assert_true(mark_looked_at(&w, (enum picture_form)form, looked_at) <= BYTES_LOOKED_AT);
			for (unsigned round = 0; round < 20; round++) {
				for (size_t at = 0; at < w.len; at++)
					if (!looked_at[at])
						w.data[at] = round ? (uint8_t)next_random(256) : (uint8_t)~w.data[at];
				const struct picture_head head = head_of(w.data, w.len);
				expect_head(&head, formats[form], sizes[i][0], sizes[i][1], true);
			}
			free(looked_at);
			writer_free(&w);
		}
}

/* A JPEG's size may stand behind up to 63 other segments. */
static void jpeg_segments(void **state)
{
	(void)state;
	for (unsigned before = 60; before < 68; before++) {
		struct writer w;
		writer_init(&w, 4);
		put_bytes(&w, "\xff\xd8", 2);
		for (unsigned i = 0; i < before; i++)
			put_bytes(&w, i % 2 ? "\xff\xfe\0\x04hi" : "\xff\xe2\0\x02", i % 2 ? 6 : 4);
		put_bytes(&w, "\xff\xc0\0\x0b\x08\0\x15\0\x25\x01\x01\x11\0\xff\xd9", 15);
		const struct picture_head head = head_of(w.data, w.len);
		expect_head(&head, PICTURE_JPEG, before < 64 ? 37 : 0, before < 64 ? 21 : 0, true);
		writer_free(&w);
	}
}

static void odd_heads(void **state)
{
#define BYTES(text) text, sizeof text - 1
	static const struct {
		const char *what, *data;
		size_t len;
		enum picture_format format;
		uint32_t width, height;
		bool whole;
	} table[] = {
		{ "nothing", BYTES(""), PICTURE_UNKNOWN, 0, 0, false },
		{ "a GIF", BYTES("GIF89a\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), PICTURE_UNKNOWN, 0, 0, false },
		{ "a PNG whose first chunk is another", BYTES("\x89PNG\r\n\x1a\n\0\0\0\x0d" "CgBI\0\0\0\1\0\0\0\1\x08\x06\0\0\0\0\0\0\0"),
		  PICTURE_PNG, 0, 0, false },
		{ "a PNG of two ends", BYTES("\x89PNG\r\n\x1a\n\0\0\0\0IEND\xae\x42\x60\x82"), PICTURE_PNG, 0, 0, false },
		{ "a PNG whose end stands in its header", BYTES("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\1\0\0\0\2\0\0\0\0IEND\xae\x42\x60\x82"),
		  PICTURE_PNG, 1, 2, false },
		{ "PNG's signature with another newline", BYTES("\x89PNG\n\n\x1a\n\0\0\0\x0dIHDR\0\0\0\1\0\0\0\1"), PICTURE_UNKNOWN, 0, 0, false },
		{ "SOI and EOI", BYTES("\xff\xd8\xff\xd9"), PICTURE_JPEG, 0, 0, true },
		{ "a scan before the frame", BYTES("\xff\xd8\xff\xda\0\x08\1\1\0\0\x3f\0\xff\xc0\0\x0b\x08\0\1\0\1\1\1\x11\0\xff\xd9"),
		  PICTURE_JPEG, 0, 0, true },
		{ "fill bytes", BYTES("\xff\xd8\xff\xff\xff\xc1\0\x0b\x08\0\2\0\3\1\1\x11\0\xff\xd9"), PICTURE_JPEG, 3, 2, true },
		{ "tables that look like frames", BYTES("\xff\xd8\xff\xc4\0\x06\x08\0\x09\0\xff\xcc\0\x04\0\x10\xff\xc8\0\x04\0\7\xff\xcf\0\x0b\x08"
		  "\0\2\0\3\1\1\x11\0\xff\xd9"), PICTURE_JPEG, 3, 2, true },
		{ "a segment of length 1", BYTES("\xff\xd8\xff\xe0\0\1\xff\xc0\0\x0b\x08\0\2\0\3\1\1\x11\0\xff\xd9"), PICTURE_JPEG, 0, 0, true },
		{ "a segment past the end", BYTES("\xff\xd8\xff\xe0\xff\xff\xff\xc0\0\x0b\x08\0\2\0\3\1\1\x11\0\xff\xd9"), PICTURE_JPEG, 0, 0, true },
		{ "no marker where one must be", BYTES("\xff\xd8\xff\xe0\0\2\0\xff\xc0\0\x0b\x08\0\2\0\3\1\1\x11\0\xff\xd9"), PICTURE_JPEG, 0, 0, true },
		{ "a wave file", BYTES("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0\0\x88\x58\1\0\2\0\x10\0"), PICTURE_UNKNOWN, 0, 0, false },
		{ "a VP8 frame that is no key frame", BYTES("RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\x11\0\0\0\0\0\x25\0\x15\0"), PICTURE_WEBP, 0, 0, true },
		{ "VP8 scaled: the upper bits are no size", BYTES("RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\x10\0\0\x9d\1\x2a\x25\x40\x15\xc0"),
		  PICTURE_WEBP, 37, 21, true },
		{ "VP8L of another signature", BYTES("RIFF\x16\0\0\0WEBPVP8L\x0a\0\0\0\x2e\x24\0\5\x10\0\0\0\0\0"), PICTURE_WEBP, 0, 0, true },
		{ "VP8X of the largest size", BYTES("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff"),
		  PICTURE_WEBP, 1 << 24, 1 << 24, true },
		{ "bytes behind the RIFF", BYTES("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\0\0\0\1\0\0more"), PICTURE_WEBP, 1, 2, true },
		{ "a RIFF of 4 GiB", BYTES("RIFF\xff\xff\xff\xffWEBPVP8X\x0a\0\0\0\0\0\0\0\0\0\0\1\0\0"), PICTURE_WEBP, 1, 2, false },
		{ "WebP of a kind to come", BYTES("RIFF\x16\0\0\0WEBPVP9 \x0a\0\0\0\0\0\0\0\0\0\0\1\0\0"), PICTURE_WEBP, 0, 0, true },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct guarded g;
		guarded_make(&g, table[i].data, table[i].len);
		const struct picture_head head = head_of(g.data, g.len);
		if (head.format != table[i].format || head.width != table[i].width || head.height != table[i].height ||
		    head.whole != table[i].whole)
			fail_msg("%s: %s, %ux%u, %s", table[i].what, picture_extension(head.format), head.width,
				 head.height, head.whole ? "whole" : "cut");
		guarded_free(&g);
	}
}

static void random_heads(void **state)
{
	static const char *const starts[] = { "\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "RIFF" };
	static const size_t lens[] = { 8, 3, 4 };
	struct guarded g;
	(void)state;
	random_state = 2;
	for (unsigned i = 0; i < 4000; i++) {
		uint8_t data[200];
		const size_t len = next_random(sizeof data), kind = next_random(3);
		for (size_t at = 0; at < len; at++)
			data[at] = next_random(3) ? (uint8_t)next_random(256) : 0xff;
		memcpy(data, starts[kind], len < lens[kind] ? len : lens[kind]);
		guarded_make(&g, data, len);
		head_of(g.data, g.len);
		guarded_free(&g);
	}
}

/* --- the samples --- */

/*
 * A verdict a Bitmap, in the order of the file: ok, recycled, zero size, native, not Dumped, mismatch, truncated,
 * no picture (x), no Buffer, absent, small, layout.
 */
static const char letters[] = { [VERDICT_OK] = 'o',	     [VERDICT_RECYCLED] = 'r',	    [VERDICT_ZERO_SIZE] = 'z',
				[VERDICT_NATIVE] = 'n',	     [VERDICT_NOT_DUMPED] = 'd',    [VERDICT_MISMATCH] = 'm',
				[VERDICT_TRUNCATED] = 't',   [VERDICT_NO_PICTURE] = 'x',    [VERDICT_NO_BUFFER] = 'b',
				[VERDICT_BUFFER_ABSENT] = 'a', [VERDICT_BUFFER_SMALL] = 's', [VERDICT_BUFFER_LAYOUT] = 'l' };

#define BUFFERS "oooooooo" "ll" "sb" "aaa" "rr" "zzz" "oo" "oo" "oooo"
static const struct expected {
	const char *kind, *verdicts;
	uint32_t with_picture, mismatched, refused, orphans, repeated, absent;
} expectations[] = {
	{ "bitmaps-10", "nnnnnnnnnnnnnnnrrzzznnnnnnnn", 0, 0, 0, 0, 0, 0 },
	{ "bitmaps-16", BUFFERS, 16, 0, 0, 0, 0, 0 },
	{ "bitmaps-19", BUFFERS, 16, 0, 0, 0, 0, 0 },
	{ "bitmaps-22", BUFFERS, 16, 0, 0, 0, 0, 0 },
	{ "bitmaps-24", BUFFERS, 16, 0, 0, 0, 0, 0 },
	{ "bitmaps-28", "nnnnnnnnnnnnnnnnnnrzrnnnnnnnnnnnn", 0, 0, 0, 0, 0, 0 },
	{ "bitmaps-35-without", "nnnnnnnnnnnnnnnnnnrzrnnnnnnnnnnnn", 0, 0, 0, 0, 0, 0 },
	/* Mismatched are, as Shark counts, all without a picture for whose pointer there are bytes. */
	{ "bitmaps-35", "oooooooo" "mmm" "tttt" "xxx" "rzr" "d" "oo" "om" "oo" "d" "o" "o" "dd", 15, 13, 13, 5, 1, 2 },
	{ "bitmaps-36", "ooooooooooot", 11, 1, 1, 0, 0, 0 },
	{ "bitmaps-mixed", "oombroo", 4, 2, 3, 0, 0, 0 },
	{ "bitmaps-large", "ooorooom", 6, 1, 1, 1, 0, 0 },
	{ "bitmaps-recycled", "rr", 0, 0, 0, 0, 0, 0 },
	{ "bitmaps-refused", "m", 0, 1, 1, 0, 0, 0 },
	{ "bitmaps-none", "", 0, 0, 0, 1, 0, 0 },
	{ "sample", "oooooomrd", 6, 1, 1, 1, 0, 0 },
};

static void verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
		const struct expected *want = &expectations[i];
		struct opened o;
		char got[64] = "";
		opened_sample(&o, want->kind);
		struct bitmaps *bitmaps = bitmaps_open(&o.heaps[0]);
		assert_non_null(bitmaps);
		assert_true(bitmaps->count < sizeof got);
		for (uint32_t j = 0; j < bitmaps->count; j++) {
			const struct bitmap *bitmap = &bitmaps->list[j];
			got[j] = letters[bitmap->verdict];
			assert_int_equal(bitmap->verdict == VERDICT_OK, bitmap->source != SOURCE_NONE);
			assert_ptr_equal(bitmap_at(bitmaps, bitmap->offset), bitmap);
			assert_null(bitmap_at(bitmaps, bitmap->offset + 1));
		}
		if (strcmp(got, want->verdicts))
			fail_msg("%s: %s, not %s", want->kind, got, want->verdicts);
		const uint32_t counts[][2] = {
			{ bitmaps->with_picture, want->with_picture }, { bitmaps->mismatched, want->mismatched },
			{ bitmaps->refused, want->refused },	       { bitmaps->orphans, want->orphans },
			{ bitmaps->repeated, want->repeated },	       { bitmaps->absent_pictures, want->absent },
		};
		for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
			if (counts[j][0] != counts[j][1])
				fail_msg("%s: count %zu is %u, not %u", want->kind, j, counts[j][0], counts[j][1]);
		bitmaps_close(bitmaps);
		opened_close(&o);
	}
}

/* Pointers are unsigned, in the field's width. */
static void pointers(void **state)
{
	static const struct {
		const char *kind;
		uint32_t bitmap;
		uint64_t pointer;
	} table[] = { { "bitmaps-10", 0, 0xb8dc2560 }, { "bitmaps-16", 0, 0xb8dc2560 }, { "bitmaps-22", 0, 0xb8dc2560 },
		      { "bitmaps-35", 0, UINT64_C(0xb400007b3c00a010) }, { "bitmaps-35", 29, UINT64_MAX },
		      { "bitmaps-35", 28, 0 } };
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct opened o;
		opened_sample(&o, table[i].kind);
		struct bitmaps *bitmaps = bitmaps_open(&o.heaps[0]);
		assert_non_null(bitmaps);
		assert_true(bitmaps->list[table[i].bitmap].pointer == table[i].pointer);
		bitmaps_close(bitmaps);
		opened_close(&o);
	}
}

/* --- in the tree --- */

static bool find(const struct opened *o, const char *path, uint64_t *ino)
{
	const uint64_t root = TREE_ROOT;
	return resolve(o->tree, &root, 1, path, strlen(path), ino);
}

static uint64_t node_at(const struct opened *o, const char *path)
{
	uint64_t ino = 0;
	if (!find(o, path, &ino))
		fail_msg("there is no %s", path);
	return ino;
}

static const char *object_path(uint64_t id, char path[100])
{
	snprintf(path, 100, "objects/%llx/%x/0x%llx", (unsigned long long)(id >> 28), (unsigned)(id >> 16 & 0xfff),
		 (unsigned long long)id);
	return path;
}

/* Where a link leads, as a node. */
static uint64_t follow(const struct opened *o, const char *path)
{
	struct text text = { 0 }, target = { 0 };
	const char *slash = strrchr(path, '/');
	text_put(&text, path, (size_t)(slash + 1 - path));
	if (tree_readlink(o->tree, node_at(o, path), &target))
		fail_msg("%s is no link", path);
	text_put(&text, target.data, target.len);
	text_putc(&text, 0);
	const uint64_t ino = node_at(o, text.data);
	text_free(&text);
	text_free(&target);
	return ino;
}

/* What a file shows is what the dump has: a stretch of it, or a PNG of its pixels. */
static void check_bytes(const struct opened *o, const struct bitmap *bitmap, uint64_t ino)
{
	struct text text = { 0 };
	assert_int_equal(read_file(o, ino, 0, 1 << 24, &text), 0);
	if (bitmap->source == SOURCE_DUMP_DATA) {
		assert_int_equal(text.len, bitmap->picture->len);
		assert_memory_equal(text.data, o->bytes.data + bitmap->picture->offset, text.len);
	} else {
		uint32_t width, height;
		uint8_t *rgba = decode_png(text.data, text.len, &width, &height);
		assert_non_null(rgba);
		assert_int_equal(width, bitmap->width);
		assert_int_equal(height, bitmap->height);
		const size_t count = (size_t)width * height;
		const unsigned bytes = (unsigned)(bitmap->buffer_len / count);
		for (size_t i = 0; i < count; i++) {
			uint8_t want[4];
			decode_pixel(o->bytes.data + bitmap->buffer + i * bytes, bytes, bitmap->premultiplied, want);
			assert_memory_equal(rgba + 4 * i, want, 4);
		}
		free(rgba);
	}
	text_free(&text);
}

/* The name before the dot, by the rule. */
static void stem_of(const struct bitmaps *bitmaps, const struct bitmap *bitmap, char stem[64])
{
	unsigned same = 0;
	for (uint32_t i = 0; i < bitmaps->count; i++)
		same += bitmaps->list[i].pointer == bitmap->pointer;
	const int len = snprintf(stem, 64, "0x%llx", (unsigned long long)bitmap->pointer);
	if (same > 1 || !bitmap->pointer)
		snprintf(stem + len, 64 - (size_t)len, "-0x%llx", (unsigned long long)bitmap->id);
}

static void check_bitmap(const struct opened *o, const struct bitmaps *bitmaps, const struct bitmap *bitmap)
{
	static const char *const extensions[] = { "png", "jpg", "webp" };
	char stem[64], path[300], object[100];
	uint64_t ino;
	unsigned shown = 0;
	stem_of(bitmaps, bitmap, stem);
	object_path(bitmap->id, object);
	const uint64_t folder = node_at(o, object);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "bitmaps/%s.%s", stem, extensions[i]);
		const bool is_there = find(o, path, &ino);
		shown += is_there;
		if (is_there)
			check_bytes(o, bitmap, ino);
		snprintf(path, sizeof path, "%s/bitmap.%s", object, extensions[i]);
		if (is_there)
			assert_int_equal(follow(o, path), ino);
		else
			assert_false(find(o, path, &ino));
	}
	snprintf(path, sizeof path, "bitmaps/objects/%s", stem);
	assert_int_equal(shown, bitmap->verdict == VERDICT_OK);
	if (shown)
		assert_int_equal(follow(o, path), folder);
	else
		assert_false(find(o, path, &ino));
	/* No other spelling. */
	snprintf(path, sizeof path, "bitmaps/%s", stem);
	assert_false(find(o, path, &ino));
	snprintf(path, sizeof path, "bitmaps/%s.bmp", stem);
	assert_false(find(o, path, &ino));
	snprintf(path, sizeof path, "bitmaps/0x0%s.png", stem + 2);
	assert_false(find(o, path, &ino));
	if (!strchr(stem, '-'))
		snprintf(path, sizeof path, "bitmaps/%s-0x%llx.png", stem, (unsigned long long)bitmap->id);
	else
		snprintf(path, sizeof path, "bitmaps/0x%llx-0x%llx.png", (unsigned long long)bitmap->pointer,
			 (unsigned long long)bitmap->id - 1);
	assert_false(find(o, path, &ino));
}

static void in_the_tree(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
		const struct expected *want = &expectations[i];
		struct opened o;
		struct entries entries = { 0 };
		uint64_t ino;
		opened_sample(&o, want->kind);
		struct bitmaps *bitmaps = bitmaps_open(&o.heaps[0]);
		assert_non_null(bitmaps);
		for (uint32_t j = 0; j < bitmaps->count; j++)
			check_bitmap(&o, bitmaps, &bitmaps->list[j]);
		assert_int_equal(entries_list(&entries, o.tree, node_at(&o, "bitmaps"), 0), 0);
		const bool some = want->with_picture != 0;
		/* . and .., objects/ or WHY-EMPTY.txt, refused/, orphans/, and the pictures. */
		const unsigned folders = 1u + (want->refused != 0) + (want->orphans != 0);
		assert_int_equal(entries.count, 2 + folders + want->with_picture);
		assert_int_equal(find(&o, "bitmaps/WHY-EMPTY.txt", &ino), !some);
		assert_int_equal(find(&o, "bitmaps/objects", &ino), some);
		entries_free(&entries);
		if (want->refused)
			assert_int_equal(entries_list(&entries, o.tree, node_at(&o, "bitmaps/refused"), 0), 0);
		assert_int_equal(entries.count, want->refused ? want->refused + 2 : 0);
		entries_free(&entries);
		if (want->orphans)
			assert_int_equal(entries_list(&entries, o.tree, node_at(&o, "bitmaps/orphans"), 0), 0);
		assert_int_equal(entries.count, want->orphans ? want->orphans + 2 : 0);
		entries_free(&entries);
		bitmaps_close(bitmaps);
		opened_close(&o);
	}
}

/* Of two pictures for one pointer the last one that fits. */
static void which_picture(void **state)
{
	struct opened o;
	uint64_t ino;
	(void)state;
	opened_sample(&o, "bitmaps-35");
	node_at(&o, "bitmaps/0xb400007b3c00ab10.png"); /* the first of two: the other does not fit */
	node_at(&o, "bitmaps/0xb400007b3c00ab90.webp"); /* the second */
	assert_false(find(&o, "bitmaps/0xb400007b3c00ab90.png", &ino));
	opened_close(&o);
}

/* Names in refused/ and orphans/ say what the picture says of itself. */
static void refused_names(void **state)
{
	static const char *const there[] = {
		"refused/0xb400007b3c00a410-48x48.png",		  "refused/0xb400007b3c00a490-64x65.jpg",
		"refused/0xb400007b3c00a510-33x32.webp",	  "refused/0xb400007b3c00a590-50x50-truncated.png",
		"refused/0xb400007b3c00a610-51x50-truncated.jpg", "refused/0xb400007b3c00a690-52x50-truncated.webp",
		"refused/0xb400007b3c00a710-unknown-size-truncated.webp", "refused/0xb400007b3c00a790-unknown.bin",
		"refused/0xb400007b3c00a810-unknown.bin",	  "refused/0xb400007b3c00a890-unknown-size.jpg",
		"refused/0xb400007b3c00a910-57x50.png",		  "refused/0xb400007b3c00a990-49x50.png",
		"refused/0xb400007b3c00ab10-13x13-21.jpg",	  "orphans/0x0-26.png",
		"orphans/0xb400007b3c00af10.png",		  "orphans/0xb400007b3c00af90-33.jpg",
		"orphans/0xb400007b3c00af90-34.webp",		  "orphans/0xb400007b3c00af90-35.bin",
	};
	static const char *const absent[] = {
		"refused/0xb400007b3c00a410-48x48.jpg",	  "refused/0xb400007b3c00a410-48x48",
		"refused/0xb400007b3c00a410.png",	  "refused/0xb400007b3c00ab10-13x13.jpg",
		"refused/0xb400007b3c00ab10-31x31-20.png", "refused/0xb400007b3c00af10-32x32.png",
		"orphans/0xb400007b3c00af10-32x32.png",	  "orphans/0xb400007b3c00af90.jpg",
		"orphans/0xb400007b3c00a010.png",	  "refused/0xb400007b3c00a010-20x10.png",
		"refused/0xb400007b3c00ab90-33x31-22.png", "orphans/0xb400007b3c00a410.png",
	};
	struct opened o;
	char path[200];
	uint64_t ino;
	(void)state;
	opened_sample(&o, "bitmaps-35");
	for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
		snprintf(path, sizeof path, "bitmaps/%s", there[i]);
		node_at(&o, path);
	}
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
		snprintf(path, sizeof path, "bitmaps/%s", absent[i]);
		if (find(&o, path, &ino))
			fail_msg("%s is there", path);
	}
	opened_close(&o);
}

/* --- laziness --- */

struct lazy {
	struct opened o;
	struct bitmaps *bitmaps;
	struct ranges pixels;	/* the middle of all buffers and pictures */
};

static void lazy_open(struct lazy *lazy)
{
	*lazy = (struct lazy){ .bitmaps = NULL };
	opened_sample(&lazy->o, "bitmaps-large");
	lazy->bitmaps = bitmaps_open(&lazy->o.heaps[0]); /* the tree makes its own */
	assert_non_null(lazy->bitmaps);
	for (uint32_t i = 0; i < lazy->bitmaps->count; i++) {
		const struct bitmap *bitmap = &lazy->bitmaps->list[i];
		if (bitmap->buffer)
			ranges_add(&lazy->pixels, bitmap->buffer, bitmap->buffer + bitmap->buffer_len);
	}
	for (uint32_t i = 0; i < lazy->bitmaps->picture_count; i++) {
		const struct picture *picture = &lazy->bitmaps->pictures[i];
		/* A JPEG's size stands behind its EXIF, of 20,000 bytes. */
		const uint64_t end = picture->head.format == PICTURE_JPEG ? 20000 : picture->len - 12;
		ranges_add(&lazy->pixels, picture->offset + 30, picture->offset + end);
	}
	touches_init();
}

static void lazy_close(struct lazy *lazy)
{
	touches_end();
	bitmaps_close(lazy->bitmaps);
	ranges_free(&lazy->pixels);
	opened_close(&lazy->o);
}

/* Lists a folder and stats what is in it, file by file. */
static void costs_nothing(const struct lazy *lazy, const char *path)
{
	const uint64_t ino = *path ? node_at(&lazy->o, path) : TREE_ROOT;
	struct entries entries = { 0 };
	struct stat st;
	const size_t pages = touches_start(lazy->o.bytes.data, &lazy->pixels);
	assert_int_equal(entries_list(&entries, lazy->o.tree, ino, 0), 0);
	for (size_t i = 0; i < entries.count; i++)
		assert_int_equal(tree_getattr(lazy->o.tree, entries.list[i].ino, &st), 0);
	const size_t count = touches_stop(lazy->o.bytes.data, &lazy->pixels);
	assert_true(pages > 400);
	assert_true(entries.count > 2);
	if (count)
		fail_msg("/%s touched %zu pages, first byte %zu of the dump", path, count, touches_first(lazy->o.bytes.data));
	entries_free(&entries);
}

/* How many pages of pixels one read touches. */
static size_t read_touches(const struct lazy *lazy, const char *path, uint64_t from, size_t len)
{
	const uint64_t ino = node_at(&lazy->o, path);
	struct text text = { 0 };
	touches_start(lazy->o.bytes.data, &lazy->pixels);
	assert_int_equal(read_file(&lazy->o, ino, from, len, &text), 0);
	const size_t count = touches_stop(lazy->o.bytes.data, &lazy->pixels);
	text_free(&text);
	return count;
}

static void listings_touch_no_pixel(void **state)
{
	struct lazy lazy;
	char path[100];
	(void)state;
	lazy_open(&lazy);
	/* This order: the first one makes the table of all pictures. */
	costs_nothing(&lazy, "bitmaps");
	costs_nothing(&lazy, "");
	costs_nothing(&lazy, "bitmaps/objects");
	costs_nothing(&lazy, "bitmaps/refused");
	costs_nothing(&lazy, "bitmaps/orphans");
	costs_nothing(&lazy, "instances/android.graphics.Bitmap");
	for (uint32_t i = 0; i < lazy.bitmaps->count; i++)
		costs_nothing(&lazy, object_path(lazy.bitmaps->list[i].id, path));
	*strrchr(path, '/') = 0;
	costs_nothing(&lazy, path);
	assert_int_equal(read_touches(&lazy, "info.txt", 0, 1 << 20), 0);
	lazy_close(&lazy);
}

/* Of a picture made from pixels, what is read costs what it holds. */
static void heads_touch_no_pixel(void **state)
{
	static const struct {
		const char *path;
		unsigned head, bytes, channels; /* before the first chunk; of a pixel in the dump and in the PNG */
	} made[] = { { "bitmaps/0xb400007b3c00a010.png", 33, 4, 4 }, { "bitmaps/0xb400007b3c00a090.png", 48, 2, 3 },
		     { "bitmaps/0xb400007b3c00a110.png", 33, 1, 2 } };
	static const char *const found[] = { "bitmaps/0xb400007b3c00a210.png", "bitmaps/0xb400007b3c00a290.jpg",
					     "bitmaps/0xb400007b3c00a310.webp",
					     "bitmaps/refused/0xb400007b3c00a390-200x201.png",
					     "bitmaps/orphans/0xb400007b3c00a410.png" };
	struct lazy lazy;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	(void)state;
	lazy_open(&lazy);
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		assert_int_equal(read_touches(&lazy, made[i].path, 0, made[i].head), 0);
		/* A chunk in the middle: its own pixels. */
		const size_t chunk = PNG_CHUNK / made[i].channels * made[i].bytes / page;
		assert_in_range(read_touches(&lazy, made[i].path, 3 * PNG_CHUNK, PNG_CHUNK), chunk - 1, chunk + 2);
		assert_in_range(read_touches(&lazy, made[i].path, 3 * PNG_CHUNK + 100, 10), chunk - 1, chunk + 2);
		/* The counter counts: all of it touches all of its pages. */
		assert_true(read_touches(&lazy, made[i].path, 0, 1 << 24) >= 250000 / page - 1);
	}
	for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
		assert_int_equal(read_touches(&lazy, found[i], 0, 30), 0);
		assert_true(read_touches(&lazy, found[i], 0, 1 << 24) > 2);
	}
	lazy_close(&lazy);
}

/* The table's size is known without a pixel; its lines have hashes, and so cost all of them. */
static void tables(void **state)
{
	struct lazy lazy;
	struct stat st;
	(void)state;
	lazy_open(&lazy);
	touches_start(lazy.o.bytes.data, &lazy.pixels);
	assert_int_equal(tree_getattr(lazy.o.tree, node_at(&lazy.o, "bitmaps.tsv"), &st), 0);
	assert_int_equal(touches_stop(lazy.o.bytes.data, &lazy.pixels), 0);
	assert_int_equal(read_touches(&lazy, "bitmaps.tsv", 0, 60), 0); /* its heading */
	assert_true(read_touches(&lazy, "bitmaps.tsv", 0, 1 << 20) > 250);
	struct text text = { 0 };
	assert_int_equal(read_file(&lazy.o, node_at(&lazy.o, "bitmaps.tsv"), 0, 1 << 20, &text), 0);
	assert_int_equal(text.len, st.st_size);
	text_free(&text);
	lazy_close(&lazy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_heads),	     cmocka_unit_test(cut_heads),   cmocka_unit_test(heads_of_few_bytes),
		cmocka_unit_test(jpeg_segments),     cmocka_unit_test(odd_heads),   cmocka_unit_test(random_heads),
		cmocka_unit_test(verdicts),	     cmocka_unit_test(pointers),    cmocka_unit_test(in_the_tree),
		cmocka_unit_test(which_picture),     cmocka_unit_test(refused_names), cmocka_unit_test(tables),
		cmocka_unit_test(listings_touch_no_pixel), cmocka_unit_test(heads_touch_no_pixel),
	};
	return cmocka_run_group_tests_name("bitmap", tests, NULL, NULL);
}
