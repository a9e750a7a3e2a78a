/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: a growing buffer, and how things of a heap are written in it.
 *
 * What people grep is escaped so that a value stays on its line and in its column: \n, \t, \r and \\ as in C,
 * other control characters and lone surrogates as \uXXXX. Running out of memory is remembered in `failed`
 * and makes further writing do nothing, so that callers check once.
 */
#ifndef HEAPFS_TEXT_H
#define HEAPFS_TEXT_H

#include "heap/heap.h"

struct text {
	char *data;
	size_t len, capacity;
	bool failed;
};

void text_free(struct text *text);
/* Makes room for `more` bytes; false without memory. */
bool text_grow(struct text *text, size_t more);

static inline bool text_reserve(struct text *text, size_t more)
{
	return text->capacity - text->len >= more || text_grow(text, more);
}

static inline void text_put(struct text *text, const void *data, size_t len)
{
	if (!len || !text_reserve(text, len))
		return;
	memcpy(text->data + text->len, data, len);
	text->len += len;
}

static inline void text_puts(struct text *text, const char *string)
{
	text_put(text, string, strlen(string));
}

static inline void text_putc(struct text *text, char c)
{
	if (text_reserve(text, 1))
		text->data[text->len++] = c;
}

void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_number(struct text *text, uint64_t value);
/* "0x12c3a0b0": lower case, no padding; the one spelling of ids. */
void text_id(struct text *text, uint64_t id);

/* UTF-8 with escapes. */
void text_escaped(struct text *text, const char *utf8, size_t len);
void text_name(struct text *text, struct name name);

/* One UTF-16 char, escaped. */
void text_char(struct text *text, uint16_t unit);

/* At most `most` characters of a String, escaped; false if it was cut. */
bool text_string(struct text *text, const struct string *string, uint64_t most);
/* Chars [from, to) of a String as they are, as UTF-8; a lone surrogate as the three bytes of WTF-8. */
void text_raw_string(struct text *text, const struct string *string, uint64_t from, uint64_t to);

/* A primitive value at `p`; chars without quotes. */
void text_primitive(struct text *text, uint8_t type, const uint8_t *p);

#define TEXT_LINE_CHARS 256	/* where text on a line of object.txt is cut */
#define TEXT_CELL_CHARS 1024	/* where it is cut in a TSV file */

/* "0x12 java.lang.String "text"", "null", "0x12 (not in the dump)", "0x12 class java.lang.String". */
void text_reference(struct text *text, const struct heap *heap, uint64_t id);
/* A value on a line: references in full, chars in quotes. */
void text_value(struct text *text, const struct heap *heap, uint8_t type, const uint8_t *p);
/* A value in a TSV cell: references as ids, chars bare. */
void text_cell(struct text *text, const struct heap *heap, uint8_t type, const uint8_t *p);

#endif
