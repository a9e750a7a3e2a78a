/* SPDX-License-Identifier: Apache-2.0 */
/* bits: an array of numbers that take as many bits as the largest of them needs. */
#ifndef HEAPFS_BITS_H
#define HEAPFS_BITS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bits {
	uint8_t *bytes;
	unsigned width;		/* bits a number, at most BITS_MOST */
};
#define BITS_MOST 57		/* lie in 8 bytes wherever they begin */

/* Bits that numbers up to `most` need. */
static inline unsigned bits_width(uint64_t most)
{
	unsigned width = 0;
	for (; most; most >>= 1)
		width++;
	return width;
}

/* All zero; free() its bytes. False without memory. */
static inline bool bits_open(struct bits *bits, size_t count, unsigned width)
{
	bits->width = width;
	bits->bytes = count < SIZE_MAX / 64 ? calloc(count * width / 8 + 9, 1) : NULL;
	return bits->bytes != NULL;
}

static inline uint64_t bits_get(const struct bits *bits, size_t i)
{
	const size_t at = i * bits->width;
	uint64_t word;
	memcpy(&word, bits->bytes + at / 8, sizeof word);
	return le64toh(word) >> (at & 7) & ((UINT64_C(1) << bits->width) - 1);
}

/* Of one that is zero. */
static inline void bits_set(struct bits *bits, size_t i, uint64_t value)
{
	const size_t at = i * bits->width;
	uint64_t word;
	memcpy(&word, bits->bytes + at / 8, sizeof word);
	word |= htole64(value << (at & 7));
	memcpy(bits->bytes + at / 8, &word, sizeof word);
}

#endif
