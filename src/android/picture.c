/* SPDX-License-Identifier: Apache-2.0 */
#include "android/picture.h"

#include "hprof/format.h"
#include "input/le.h"

#include <string.h>

#define JPEG_SEGMENTS_MOST 64
#define HEAD_BYTES 30

/* Whose bytes are asked for, a few at a time. */
struct source {
	picture_read *read;
	const void *context;
	uint64_t len;
	bool failed;
};

/* Some bytes of it; zeros where there are none. */
static const uint8_t *bytes_at(struct source *source, uint64_t offset, size_t len, uint8_t *bytes)
{
	memset(bytes, 0, len);
	if (offset > source->len || len > source->len - offset || source->failed)
		return bytes;
	source->failed = !source->read(source->context, offset, len, bytes);
	return bytes;
}

/* Signature, IHDR, …, IEND. */
static void png_head(struct source *source, const uint8_t *data, struct picture_head *head)
{
	static const uint8_t end[12] = { 0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82 };
	uint8_t last[12];
	if (source->len < 24 || memcmp(data + 12, "IHDR", 4))
		return;
	head->width = be32(data + 16);
	head->height = be32(data + 20);
	head->whole = source->len >= 45 &&
		      !memcmp(bytes_at(source, source->len - sizeof end, sizeof end, last), end, sizeof end);
}

/* SOF0 to SOF15; DHT, JPG and DAC have numbers among them. */
static bool is_frame_header(uint8_t marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* SOI, segments, of which a frame header has the size, scans, EOI. */
static void jpeg_head(struct source *source, struct picture_head *head)
{
	uint64_t at = 2;
	uint8_t bytes[9];
	if (source->len >= 4) {
		bytes_at(source, source->len - 2, 2, bytes);
		head->whole = bytes[0] == 0xff && bytes[1] == 0xd9;
	}
	for (unsigned i = 0; i < JPEG_SEGMENTS_MOST && source->len - at >= 9; i++) {
		bytes_at(source, at, 4, bytes);
		if (bytes[0] != 0xff)
			return;
		const uint8_t marker = bytes[1];
		if (marker == 0xff) { /* a fill byte */
			at++;
			continue;
		}
		if (is_frame_header(marker)) {
			bytes_at(source, at, 9, bytes);
			head->height = be16(bytes + 5);
			head->width = be16(bytes + 7);
			return;
		}
		if (marker == 0xda || marker == 0xd9) /* a scan, or the end, before any frame */
			return;
		const uint64_t size = 2 + (uint64_t)be16(bytes + 2);
		if (size < 4 || size > source->len - at)
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

bool picture_head_by(picture_read *read, const void *context, uint64_t len, struct picture_head *head)
{
	struct source source = { read, context, len, false };
	uint8_t data[HEAD_BYTES];
	*head = (struct picture_head){ .format = PICTURE_UNKNOWN };
	memset(data, 0, sizeof data);
	bytes_at(&source, 0, len < sizeof data ? (size_t)len : sizeof data, data);
	if (len >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8)) {
		head->format = PICTURE_PNG;
		png_head(&source, data, head);
	} else if (len >= 3 && !memcmp(data, "\xff\xd8\xff", 3)) {
		head->format = PICTURE_JPEG;
		jpeg_head(&source, head);
	} else if (len >= 12 && !memcmp(data, "RIFF", 4) && !memcmp(data + 8, "WEBP", 4)) {
		head->format = PICTURE_WEBP;
		webp_head(data, len, head);
	}
	return !source.failed;
}

static bool copy_bytes(const void *context, uint64_t offset, size_t len, uint8_t *out)
{
	memcpy(out, (const uint8_t *)context + offset, len);
	return true;
}

void picture_head(const uint8_t *data, uint64_t len, struct picture_head *head)
{
	picture_head_by(copy_bytes, data, len, head);
}

const char *picture_extension(enum picture_format format)
{
	static const char *const extensions[PICTURE_FORMATS] = { "bin", "png", "jpg", "webp" };
	return extensions[format];
}
