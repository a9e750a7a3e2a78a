/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto: fields of Protocol Buffers messages, from bytes that may be anything.
 * Source: protobuf.dev, "Encoding": a field is a varint of number << 3 | wire type, then its value.
 */
#ifndef HEAPFS_PROTO_H
#define HEAPFS_PROTO_H

#include "input/le.h"

#include <stdbool.h>
#include <stdint.h>

enum proto_type { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_LEN = 2, PROTO_FIXED32 = 5 };

struct proto_field {
	uint64_t number;
	enum proto_type type;
	uint64_t value;		/* of a PROTO_VARINT */
	const uint8_t *data;	/* of a PROTO_LEN */
	uint64_t len;
	bool cut;		/* the message ends before the field does: `len` is what is left of it */
};

/* A varint of up to eight bytes, of which all eight can be read: seven bits of each, all at once. 0: it is longer. */
static inline unsigned proto_varint_word(const uint8_t *at, uint64_t *value)
{
	uint64_t word = le64(at);
	const uint64_t stop = ~word & UINT64_C(0x8080808080808080);
	if (!stop)
		return 0;
	word &= (stop ^ (stop - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
	word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	*value = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
	return ((unsigned)__builtin_ctzll(stop) + 1) / 8;
}

static inline bool proto_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *p = *at;
	if (p < end && *p < 0x80) { /* most are short */
		*value = *p;
		*at = p + 1;
		return true;
	}
	/* Not to *at and *value byte by byte: they may be in memory. */
	uint64_t read = 0;
	bool whole = false;
	for (unsigned shift = 0; shift < 64 && p < end && !whole; shift += 7) {
		read |= (uint64_t)(*p & 0x7f) << shift;
		whole = !(*p++ & 0x80);
	}
	*at = p;
	*value = read;
	return whole;
}

/* Reads the field at *at and goes behind it. False at the end of the message, and where there is no field. */
static inline bool proto_next(const uint8_t **at, const uint8_t *end, struct proto_field *field)
{
	uint64_t tag, width;
	if (!proto_varint(at, end, &tag) || tag >> 3 == 0 || tag >> 32)
		return false;
	*field = (struct proto_field){ .number = tag >> 3, .type = (enum proto_type)(tag & 7) };
	switch (field->type) {
	case PROTO_VARINT:
		return proto_varint(at, end, &field->value);
	case PROTO_LEN:
		if (!proto_varint(at, end, &width))
			return false;
		break;
	case PROTO_FIXED64:
		width = 8;
		break;
	case PROTO_FIXED32:
		width = 4;
		break;
	default:
		return false;
	}
	const uint64_t left = (uint64_t)(end - *at);
	field->cut = width > left;
	field->len = field->cut ? left : width;
	field->data = *at;
	*at += field->len;
	return true;
}

/* Bytes of the field at `at`, where it is a message of this number below 16 and of fewer than 128 bytes; 0 elsewhere. */
static inline unsigned proto_short(const uint8_t *at, const uint8_t *end, unsigned number)
{
	if (end - at < 2 || at[0] != (number << 3 | PROTO_LEN) || at[1] >= 0x80 || at[1] > end - at - 2)
		return 0;
	return 2u + at[1];
}

/* Goes past short messages of a number that is of no interest, and of which there are very many. */
static inline const uint8_t *proto_past(const uint8_t *at, const uint8_t *end, unsigned number)
{
	unsigned bytes;
	while ((bytes = proto_short(at, end, number)) != 0)
		at += bytes;
	return at;
}

#endif
