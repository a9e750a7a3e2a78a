/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png: PNG files made from raw pixels.
 *
 * Stored: the pixels stand in deflate blocks without compression, so the size follows from width, height and
 * layout alone, and any range of bytes can be made without what comes before it. Each IDAT chunk holds one block
 * and ends at a multiple of PNG_CHUNK bytes of the file: the kernel reads whole pages, most often many, and so
 * hardly ever asks for half of a chunk, whose CRC needs all of it. The one thing that needs all pixels is the
 * Adler-32 behind them; png_sums keeps each block's own sum from when it was made, to be combined at the end.
 *
 * Encoded: by libpng, with a compression level.
 *
 * Colour types (PNG specification 11.2.2, 11.3.3.4): ALPHA_8 is grey 0 with that alpha; RGB_565 is RGB with an
 * sBIT chunk of 5, 6, 5, its bits repeated to fill 8; ARGB_8888 is RGBA, un-premultiplied as Android does:
 * min(255, colour * 255 / alpha), rounded down.
 */
#ifndef HEAPFS_PNG_H
#define HEAPFS_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PNG_CHUNK 32768

enum pixel_layout { LAYOUT_NONE, LAYOUT_ALPHA_8, LAYOUT_RGB_565, LAYOUT_ARGB_8888, LAYOUTS };

/* Bytes of a pixel in memory. */
static inline unsigned layout_bytes(enum pixel_layout layout)
{
	static const uint8_t bytes[LAYOUTS] = { 0, 1, 2, 4 };
	return bytes[layout];
}

struct pixels {
	const uint8_t *data;	/* rows from the top, without gaps: width * height * layout_bytes() */
	uint32_t width, height;	/* 1 to 2^31 - 1 */
	enum pixel_layout layout;
	bool premultiplied;	/* of ARGB_8888 */
};

/* Sums of the blocks made so far, 0 for the others: 4 bytes for PNG_CHUNK of the file, made at first use. */
struct png_sums {
	_Atomic uint32_t *_Atomic list;
};
void png_sums_free(struct png_sums *sums);

uint64_t png_size(const struct pixels *pixels);
/* Makes bytes [from, from + len) of the file, which must lie in it. False without memory. */
bool png_read(const struct pixels *pixels, struct png_sums *sums, uint64_t from, size_t len, uint8_t *out);

/* Compresses with zlib's `level`, 1 to 9. 0 with `*data`, to be freed; -1 without memory or where libpng refuses. */
int png_encode(const struct pixels *pixels, unsigned level, uint8_t **data, size_t *len);

#endif
