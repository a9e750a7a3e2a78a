/* SPDX-License-Identifier: Apache-2.0 */
#include "android/png.h"

#include <png.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CHUNK_FRAME 12		/* length, type, CRC */
#define BLOCK_HEADER 5		/* last block?, length, length inverted */
#define HEAD_MOST 48

/* --- pixels --- */

static unsigned channels(const struct pixels *pixels)
{
	static const uint8_t count[LAYOUTS] = { 0, 2, 3, 4 };
	return count[pixels->layout];
}

/* Vectors for the compiler to make the best of; on a machine without, it takes them apart. */
typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t shorts8 __attribute__((vector_size(16)));
typedef uint16_t ushorts8 __attribute__((vector_size(16)));
typedef uint64_t longs2 __attribute__((vector_size(16)));

/*
 * min(255, colour * 255 / alpha) in 16 bits, by alpha, for the four bytes of a pixel: the colour, at most `limit`
 * (alpha: no more than 255 comes of it), times 255 * 2^16 / alpha rounded up, without the lower 16 bits of the
 * product. The factor has 24 bits, so its upper 16 and its lower 8 are multiplied one by one. For alpha itself, and
 * for all where that is 0, limit and factor change nothing.
 */
static struct straight {
	uint64_t limit, high, low; /* of four 16-bit numbers each */
} straight[256];
static pthread_once_t straight_made = PTHREAD_ONCE_INIT;

static void make_straight(void)
{
	for (unsigned alpha = 0; alpha < 256; alpha++) {
		uint16_t limit[4], high[4], low[4];
		for (unsigned i = 0; i < 4; i++) {
			const bool same = i == 3 || !alpha;
			const uint32_t factor = same ? 1 << 16 : (255 * 65536 + alpha - 1) / alpha;
			limit[i] = (uint16_t)(same ? 255 : alpha);
			high[i] = (uint16_t)(factor >> 8);
			low[i] = factor & 0xff;
		}
		memcpy(&straight[alpha].limit, limit, sizeof limit);
		memcpy(&straight[alpha].high, high, sizeof high);
		memcpy(&straight[alpha].low, low, sizeof low);
	}
}

/* Two pixels at once. */
static inline void straighten(const uint8_t *in, uint8_t *out)
{
	const struct straight *a = &straight[in[3]], *b = &straight[in[7]];
	const shorts8 limit = (shorts8)(longs2){ a->limit, b->limit };
	const ushorts8 high = (ushorts8)(longs2){ a->high, b->high }, low = (ushorts8)(longs2){ a->low, b->low };
	bytes8 pixels;
	memcpy(&pixels, in, 8);
	shorts8 colour = __builtin_convertvector(pixels, shorts8);
	const shorts8 above = colour > limit;
	colour = (colour & ~above) | (limit & above);
	const ushorts8 c = (ushorts8)colour;
	pixels = __builtin_convertvector((c * high + (c * low >> 8)) >> 8, bytes8);
	memcpy(out, &pixels, 8);
}

static void convert_8888(const uint8_t *in, uint64_t count, bool premultiplied, uint8_t *out)
{
	if (!premultiplied) {
		memcpy(out, in, count * 4);
		return;
	}
	pthread_once(&straight_made, make_straight);
	/* Most pictures are opaque nearly everywhere. */
	for (; count >= 8; count -= 8, in += 32, out += 32) {
		uint64_t two[4];
		memcpy(two, in, 32);
		const uint64_t all = two[0] & two[1] & two[2] & two[3];
		if ((((const uint8_t *)&all)[3] & ((const uint8_t *)&all)[7]) == 255) {
			memcpy(out, two, 32);
			continue;
		}
		for (unsigned i = 0; i < 32; i += 8)
			straighten(in + i, out + i);
	}
	if (count) {
		uint8_t rest[32] = { 0 };
		memcpy(rest, in, count * 4);
		for (unsigned i = 0; i < count * 4; i += 8)
			straighten(rest + i, rest + i);
		memcpy(out, rest, count * 4);
	}
}

static void convert(const struct pixels *pixels, uint64_t first, uint64_t count, uint8_t *out)
{
	const uint8_t *in = pixels->data + first * layout_bytes(pixels->layout);
	switch (pixels->layout) {
	case LAYOUT_ALPHA_8:
		for (uint64_t i = 0; i < count; i++) {
			out[2 * i] = 0;
			out[2 * i + 1] = in[i];
		}
		break;
	case LAYOUT_RGB_565:
		for (uint64_t i = 0; i < count; i++, in += 2, out += 3) {
			const unsigned v = in[0] | (unsigned)in[1] << 8;
			const unsigned r = v >> 11, g = v >> 5 & 63, b = v & 31;
			out[0] = (uint8_t)(r << 3 | r >> 2);
			out[1] = (uint8_t)(g << 2 | g >> 4);
			out[2] = (uint8_t)(b << 3 | b >> 2);
		}
		break;
	default:
		convert_8888(in, count, pixels->premultiplied, out);
	}
}

/* What is compressed in a PNG: rows, each behind a byte that names its filter, 0 for none. */
static uint64_t stream_size(const struct pixels *pixels)
{
	return (1 + (uint64_t)pixels->width * channels(pixels)) * pixels->height;
}

static void stream_read(const struct pixels *pixels, uint64_t from, uint64_t len, uint8_t *out)
{
	const uint64_t n = channels(pixels), stride = 1 + n * pixels->width;
	uint64_t row = from / stride, at = from % stride;
	while (len) {
		if (!at) {
			*out++ = 0;
			len--;
			at = 1;
			continue;
		}
		const uint64_t x = (at - 1) / n, part = (at - 1) % n, left = stride - at;
		const uint64_t want = len < left ? len : left;
		uint64_t done;
		if (part || want < n) { /* some of a pixel */
			uint8_t pixel[4];
			convert(pixels, row * pixels->width + x, 1, pixel);
			done = want < n - part ? want : n - part;
			memcpy(out, pixel + part, done);
		} else {
			done = want / n * n;
			convert(pixels, row * pixels->width + x, want / n, out);
		}
		out += done;
		len -= done;
		at += done;
		if (at == stride) {
			at = 0;
			row++;
		}
	}
}

/* --- the file --- */

static uint8_t *put_be32(uint8_t *p, uint32_t value)
{
	*p++ = (uint8_t)(value >> 24);
	*p++ = (uint8_t)(value >> 16);
	*p++ = (uint8_t)(value >> 8);
	*p++ = (uint8_t)value;
	return p;
}

/* A whole chunk of up to 16 bytes. */
static uint8_t *put_chunk(uint8_t *p, const char *type, const uint8_t *data, unsigned len)
{
	p = put_be32(p, len);
	memcpy(p, type, 4);
	if (len)
		memcpy(p + 4, data, len);
	return put_be32(p + 4 + len, (uint32_t)crc32(0, p, 4 + len));
}

/* Signature, IHDR, and sBIT where 8 bits are more than the pixels have. Its size. */
static unsigned make_head(const struct pixels *pixels, uint8_t head[HEAD_MOST])
{
	static const uint8_t colour_types[LAYOUTS] = { 0, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
						       PNG_COLOR_TYPE_RGB_ALPHA };
	uint8_t header[13] = { 0 };
	uint8_t *p = head;
	memcpy(p, "\x89PNG\r\n\x1a\n", 8);
	put_be32(header, pixels->width);
	put_be32(header + 4, pixels->height);
	header[8] = 8;
	header[9] = colour_types[pixels->layout];
	p = put_chunk(p + 8, "IHDR", header, sizeof header);
	if (pixels->layout == LAYOUT_RGB_565)
		p = put_chunk(p, "sBIT", (const uint8_t[]){ 5, 6, 5 }, 3);
	return (unsigned)(p - head);
}

/* Where things are in the file. */
struct plan {
	unsigned head;		/* bytes before the first IDAT */
	uint64_t stream, first, chunks, size; /* bytes compressed; those in the first chunk; IDATs; bytes in all */
};
#define BLOCK_BYTES (PNG_CHUNK - CHUNK_FRAME - BLOCK_HEADER)

static void make_plan(const struct pixels *pixels, struct plan *plan)
{
	plan->head = 8 + CHUNK_FRAME + 13 + (pixels->layout == LAYOUT_RGB_565 ? CHUNK_FRAME + 3 : 0);
	plan->stream = stream_size(pixels);
	plan->first = BLOCK_BYTES - plan->head - 2;
	plan->chunks = plan->stream <= plan->first ? 1 : 1 + (plan->stream - plan->first + BLOCK_BYTES - 1) / BLOCK_BYTES;
	plan->size = plan->head + plan->stream + plan->chunks * (CHUNK_FRAME + BLOCK_HEADER) + 2 + 4 + CHUNK_FRAME;
}

uint64_t png_size(const struct pixels *pixels)
{
	struct plan plan;
	make_plan(pixels, &plan);
	return plan.size;
}

/* The part of the stream that chunk i holds. */
static void chunk_part(const struct plan *plan, uint64_t i, uint64_t *from, uint64_t *len)
{
	const uint64_t most = i ? BLOCK_BYTES : plan->first;
	*from = i ? plan->first + (i - 1) * BLOCK_BYTES : 0;
	*len = plan->stream - *from < most ? plan->stream - *from : most;
}

static _Atomic uint32_t *sums_list(const struct plan *plan, struct png_sums *sums)
{
	_Atomic uint32_t *list = atomic_load_explicit(&sums->list, memory_order_acquire), *other = NULL;
	if (list)
		return list;
	list = calloc(plan->chunks, sizeof *list);
	if (list && !atomic_compare_exchange_strong(&sums->list, &other, list)) {
		free((void *)(uintptr_t)list);
		return other;
	}
	return list;
}

void png_sums_free(struct png_sums *sums)
{
	free((void *)(uintptr_t)atomic_load(&sums->list));
}

/*
 * The Adler-32 of one block. zlib's adds byte by byte, and would be a quarter of all work. Here the bytes are rows of 8,
 * whose columns are summed side by side, 16 rows before 16 bits could overflow; `earlier` adds up what the columns were
 * before each row, which is each byte times the rows behind it.
 */
static uint32_t block_sum(const uint8_t *p, size_t len)
{
	uint64_t sum = 1, weighted = 0;
	for (; len >= 128; len -= 128) {
		ushorts8 columns = { 0 }, earlier = { 0 };
		for (unsigned row = 0; row < 16; row++, p += 8) {
			bytes8 bytes;
			memcpy(&bytes, p, 8);
			earlier += columns;
			columns += __builtin_convertvector(bytes, ushorts8);
		}
		uint32_t own = 0, own_weighted = 0;
		for (unsigned i = 0; i < 8; i++) {
			own += columns[i];
			own_weighted += 8u * earlier[i] + (8 - i) * columns[i];
		}
		weighted += 128 * sum + own_weighted;
		sum += own;
	}
	for (; len; len--) {
		sum += *p++;
		weighted += sum;
	}
	return (uint32_t)(weighted % 65521 << 16 | sum % 65521);
}

/* The Adler-32 of the whole stream, from the blocks' own; those not made yet are made in `room`. */
static uint32_t stream_sum(const struct pixels *pixels, const struct plan *plan, _Atomic uint32_t *list, uint8_t *room)
{
	uLong sum = adler32(0, NULL, 0);
	for (uint64_t i = 0; i < plan->chunks; i++) {
		uint64_t from, len;
		chunk_part(plan, i, &from, &len);
		uint32_t own = atomic_load_explicit(&list[i], memory_order_relaxed);
		if (!own) {
			stream_read(pixels, from, len, room);
			own = block_sum(room, (size_t)len);
			atomic_store_explicit(&list[i], own, memory_order_relaxed);
		}
		sum = adler32_combine(sum, own, (z_off_t)len);
	}
	return (uint32_t)sum;
}

/* Room for a chunk: the last one has the Adler-32 more, and IEND follows it. */
#define ROOM (PNG_CHUNK + 4 + CHUNK_FRAME)

/* Makes chunk i whole at `out`, the last one with IEND. `room` is for blocks that are missing in the sum. */
static void make_chunk(const struct pixels *pixels, const struct plan *plan, _Atomic uint32_t *list, uint64_t i,
		       uint8_t *out, uint8_t *room)
{
	const bool last = i == plan->chunks - 1;
	uint64_t from, len;
	chunk_part(plan, i, &from, &len);
	const uint32_t size = (uint32_t)len + BLOCK_HEADER + (i ? 0 : 2) + (last ? 4 : 0);
	uint8_t *p = put_be32(out, size);
	memcpy(p, "IDAT", 4);
	p += 4;
	if (!i) { /* zlib's header: deflate, a window of 32 KiB, fastest */
		*p++ = 0x78;
		*p++ = 0x01;
	}
	*p++ = last;
	*p++ = (uint8_t)len;
	*p++ = (uint8_t)(len >> 8);
	*p++ = (uint8_t)~len;
	*p++ = (uint8_t)(~len >> 8);
	stream_read(pixels, from, len, p);
	atomic_store_explicit(&list[i], block_sum(p, (size_t)len), memory_order_relaxed);
	p += len;
	if (last)
		p = put_be32(p, stream_sum(pixels, plan, list, room));
	p = put_be32(p, (uint32_t)crc32(0, out + 4, 4 + size));
	if (last)
		put_chunk(p, "IEND", NULL, 0);
}

bool png_read(const struct pixels *pixels, struct png_sums *sums, uint64_t from, size_t len, uint8_t *out)
{
	struct plan plan;
	make_plan(pixels, &plan);
	if (from < plan.head) {
		uint8_t head[HEAD_MOST];
		make_head(pixels, head);
		const size_t n = len < plan.head - from ? len : (size_t)(plan.head - from);
		memcpy(out, head + from, n);
		from += n;
		out += n;
		len -= n;
	}
	if (!len)
		return true;
	_Atomic uint32_t *list = sums_list(&plan, sums);
	uint8_t *room = list ? malloc(2 * ROOM) : NULL;
	while (room && len) {
		uint64_t i = from / PNG_CHUNK;
		if (i >= plan.chunks) /* what the last one is longer */
			i = plan.chunks - 1;
		const uint64_t start = i ? i * PNG_CHUNK : plan.head;
		const uint64_t end = i == plan.chunks - 1 ? plan.size : (i + 1) * PNG_CHUNK;
		const size_t n = len < end - from ? len : (size_t)(end - from);
		if (from == start && n == end - start) {
			make_chunk(pixels, &plan, list, i, out, room);
		} else {
			make_chunk(pixels, &plan, list, i, room, room + ROOM);
			memcpy(out, room + (from - start), n);
		}
		from += n;
		out += n;
		len -= n;
	}
	free(room);
	return !len;
}

/* --- encoding --- */

struct encoded {
	uint8_t *data;
	size_t len, capacity;
};

static void on_write(png_structp png, png_bytep data, size_t len)
{
	struct encoded *encoded = png_get_io_ptr(png);
	if (encoded->capacity - encoded->len < len) {
		size_t capacity = encoded->capacity ? encoded->capacity * 2 : 65536;
		while (capacity - encoded->len < len)
			capacity *= 2;
		uint8_t *grown = realloc(encoded->data, capacity);
		if (!grown)
			png_error(png, "out of memory");
		encoded->data = grown;
		encoded->capacity = capacity;
	}
	memcpy(encoded->data + encoded->len, data, len);
	encoded->len += len;
}

static void on_flush(png_structp png)
{
	(void)png;
}

/* What libpng has to say of our own pixels is nobody's concern: -1 says enough. */
static void on_error(png_structp png, png_const_charp message)
{
	(void)message;
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
	(void)png;
	(void)message;
}

/* All calls of libpng that may jump out; nothing here is in a register that the jump would lose. */
static int encode(png_structp png, png_infop info, const struct pixels *pixels, unsigned level, uint8_t *row)
{
	static const int colour_types[LAYOUTS] = { 0, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
						   PNG_COLOR_TYPE_RGB_ALPHA };
	static const png_color_8 bits = { .red = 5, .green = 6, .blue = 5 };
	if (setjmp(png_jmpbuf(png)))
		return -1;
	png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
	png_set_compression_level(png, (int)level);
	png_set_IHDR(png, info, pixels->width, pixels->height, 8, colour_types[pixels->layout], PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	if (pixels->layout == LAYOUT_RGB_565)
		png_set_sBIT(png, info, &bits);
	png_write_info(png, info);
	for (uint64_t y = 0; y < pixels->height; y++) {
		convert(pixels, y * pixels->width, pixels->width, row);
		png_write_row(png, row);
	}
	png_write_end(png, info);
	return 0;
}

int png_encode(const struct pixels *pixels, unsigned level, uint8_t **data, size_t *len)
{
	struct encoded encoded = { NULL, 0, 0 };
	uint8_t *row = malloc((size_t)pixels->width * channels(pixels));
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	int rc = -1;
	if (row && info) {
		png_set_write_fn(png, &encoded, on_write, on_flush);
		rc = encode(png, info, pixels, level, row);
	}
	png_destroy_write_struct(&png, &info);
	free(row);
	if (rc)
		free(encoded.data);
	*data = rc ? NULL : encoded.data;
	*len = rc ? 0 : encoded.len;
	return rc;
}
