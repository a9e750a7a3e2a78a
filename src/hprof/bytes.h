/* SPDX-License-Identifier: Apache-2.0 */
/* bytes: a growing run of bytes, and numbers in it of seven bits a byte, lowest first. */
#ifndef HEAPFS_BYTES_H
#define HEAPFS_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct bytes {
	uint8_t *data;
	size_t len, capacity;
};

/* Makes room for `more` bytes. 0, or -1 without memory. */
static inline int bytes_reserve(struct bytes *bytes, size_t more)
{
	if (bytes->capacity - bytes->len >= more)
		return 0;
	size_t wanted = bytes->capacity ? bytes->capacity * 2 : 32;
	while (wanted - bytes->len < more)
		wanted *= 2;
	uint8_t *grown = realloc(bytes->data, wanted);
	if (!grown)
		return -1;
	bytes->data = grown;
	bytes->capacity = wanted;
	return 0;
}

/* Appends a varint. 0, or -1 without memory. */
static inline int bytes_add_varint(struct bytes *bytes, uint64_t value)
{
	if (bytes_reserve(bytes, 10))
		return -1;
	while (value >= 0x80) {
		bytes->data[bytes->len++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes->data[bytes->len++] = (uint8_t)value;
	return 0;
}

/* Reads a varint at *p, not past `end`, and moves *p behind it. */
static inline uint64_t varint_read(const uint8_t **p, const uint8_t *end)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
		const uint8_t byte = *(*p)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

#endif
