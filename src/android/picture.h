/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture: what a compressed picture says of itself: its kind, its size, and whether its end is there.
 *
 * Nothing is decoded. At most 64 bytes are looked at, all within the first 30 and the last 12; in a JPEG, whose
 * size may stand behind other segments (EXIF), the first four bytes of up to 64 of them.
 * Sources: PNG specification 5.2, 5.3 and 11.2.2; JPEG, ITU-T T.81 B.1 and B.2.2; WebP container
 * specification, RFC 6386 9.1 (VP8), RFC 9649 (VP8L).
 */
#ifndef HEAPFS_PICTURE_H
#define HEAPFS_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum picture_format { PICTURE_UNKNOWN, PICTURE_PNG, PICTURE_JPEG, PICTURE_WEBP, PICTURE_FORMATS };

struct picture_head {
	enum picture_format format;
	uint32_t width, height;	/* 0 where the picture does not say it */
	bool whole;		/* its end is there */
};

void picture_head(const uint8_t *data, uint64_t len, struct picture_head *head);

/*
 * The same of a picture that is not in memory: `read` copies `len` of its bytes from `offset` on, which are within it,
 * or returns false, and then the answer is false too.
 */
typedef bool picture_read(const void *context, uint64_t offset, size_t len, uint8_t *out);
bool picture_head_by(picture_read *read, const void *context, uint64_t len, struct picture_head *head);

/* "png", "jpg", "webp"; "bin" for what is no picture. */
const char *picture_extension(enum picture_format format);

#endif
