/* SPDX-License-Identifier: Apache-2.0 */
#include "android/picture.h"

#include "hprof/format.h"
#include "input/le.h"

#include <string.h>

#define JPEG_SEGMENTS_MOST 64

/* Signature, IHDR, …, IEND. */
static void png_head(const uint8_t *data, uint64_t len, struct picture_head *head)
{
	static const uint8_t end[12] = { 0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82 };
	if (len < 24 || memcmp(data + 12, "IHDR", 4))
		return;
	head->width = be32(data + 16);
	head->height = be32(data + 20);
	head->whole = len >= 45 && !memcmp(data + len - sizeof end, end, sizeof end);
}

/* SOF0 to SOF15; DHT, JPG and DAC have numbers among them. */
static bool is_frame_header(uint8_t marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* SOI, segments, of which a frame header has the size, scans, EOI. */
static void jpeg_head(const uint8_t *data, uint64_t len, struct picture_head *head)
{
	uint64_t at = 2;
	head->whole = len >= 4 && data[len - 2] == 0xff && data[len - 1] == 0xd9;
	for (unsigned i = 0; i < JPEG_SEGMENTS_MOST && len - at >= 9; i++) {
		if (data[at] != 0xff)
			return;
		const uint8_t marker = data[at + 1];
		if (marker == 0xff) { /* a fill byte */
			at++;
			continue;
		}
		if (is_frame_header(marker)) {
			head->height = be16(data + at + 5);
			head->width = be16(data + at + 7);
			return;
		}
		if (marker == 0xda || marker == 0xd9) /* a scan, or the end, before any frame */
			return;
		const uint64_t size = 2 + (uint64_t)be16(data + at + 2);
		if (size < 4 || size > len - at)
			return;
		at += size;
	}
}

/* "RIFF", length, "WEBP", then a VP8 frame, a VP8L stream or a VP8X header. */
static void webp_head(const uint8_t *data, uint64_t len, struct picture_head *head)
{
	head->whole = (uint64_t)le32(data + 4) + 8 <= len;
	if (len >= 30 && !memcmp(data + 12, "VP8 ", 4) && !memcmp(data + 23, "\x9d\x01\x2a", 3)) {
		head->width = le16(data + 26) & 0x3fff;
		head->height = le16(data + 28) & 0x3fff;
	} else if (len >= 25 && !memcmp(data + 12, "VP8L", 4) && data[20] == 0x2f) { /* one colour takes 28 bytes */
		head->width = (le32(data + 21) & 0x3fff) + 1;
		head->height = (le32(data + 21) >> 14 & 0x3fff) + 1;
	} else if (len >= 30 && !memcmp(data + 12, "VP8X", 4)) {
		head->width = le24(data + 24) + 1;
		head->height = le24(data + 27) + 1;
	}
}

void picture_head(const uint8_t *data, uint64_t len, struct picture_head *head)
{
	*head = (struct picture_head){ .format = PICTURE_UNKNOWN };
	if (len >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8)) {
		head->format = PICTURE_PNG;
		png_head(data, len, head);
	} else if (len >= 3 && !memcmp(data, "\xff\xd8\xff", 3)) {
		head->format = PICTURE_JPEG;
		jpeg_head(data, len, head);
	} else if (len >= 12 && !memcmp(data, "RIFF", 4) && !memcmp(data + 8, "WEBP", 4)) {
		head->format = PICTURE_WEBP;
		webp_head(data, len, head);
	}
}

const char *picture_extension(enum picture_format format)
{
	static const char *const extensions[PICTURE_FORMATS] = { "bin", "png", "jpg", "webp" };
	return extensions[format];
}
