/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/text.h"

#include "hprof/mutf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void text_free(struct text *text)
{
	free(text->data);
	*text = (struct text){ NULL, 0, 0, false };
}

bool text_grow(struct text *text, size_t more)
{
	size_t wanted = text->capacity ? text->capacity * 2 : 512;
	while (wanted - text->len < more)
		wanted *= 2;
	char *grown = text->failed ? NULL : realloc(text->data, wanted);
	if (!grown) {
		text->failed = true;
		return false;
	}
	text->data = grown;
	text->capacity = wanted;
	return true;
}

void text_printf(struct text *text, const char *format, ...)
{
	char small[512];
	va_list args;
	va_start(args, format);
	const int len = vsnprintf(small, sizeof small, format, args);
	va_end(args);
	if (len < 0 || (size_t)len < sizeof small) {
		text_put(text, small, len < 0 ? 0 : (size_t)len);
		return;
	}
	if (!text_reserve(text, (size_t)len + 1))
		return;
	va_start(args, format);
	vsnprintf(text->data + text->len, (size_t)len + 1, format, args);
	va_end(args);
	text->len += (size_t)len;
}

void text_number(struct text *text, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
				    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";
	char digits[20];
	size_t at = sizeof digits;
	for (; value >= 100; value /= 100)
		memcpy(digits + (at -= 2), pairs + value % 100 * 2, 2);
	if (value >= 10)
		memcpy(digits + (at -= 2), pairs + value * 2, 2);
	else
		digits[--at] = (char)('0' + value);
	text_put(text, digits + at, sizeof digits - at);
}

void text_id(struct text *text, uint64_t id)
{
	const unsigned digits = id ? (67u - (unsigned)__builtin_clzll(id)) / 4 : 1;
	if (!text_reserve(text, 18))
		return;
	char *p = text->data + text->len;
	p[0] = '0';
	p[1] = 'x';
	for (unsigned i = digits + 1; i > 1; i--, id >>= 4)
		p[i] = "0123456789abcdef"[id & 15];
	text->len += digits + 2;
}

/* Control characters (C0, DEL, C1) and surrogates; everything else is shown as it is. */
static bool needs_escape(uint32_t code)
{
	return code < 0x20 || code == '\\' || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000);
}

static void put_escape(struct text *text, uint32_t code)
{
	switch (code) {
	case '\n':
		text_put(text, "\\n", 2);
		break;
	case '\t':
		text_put(text, "\\t", 2);
		break;
	case '\r':
		text_put(text, "\\r", 2);
		break;
	case '\\':
		text_put(text, "\\\\", 2);
		break;
	default:
		text_printf(text, "\\u%04x", code);
	}
}

#define ALL_BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* A high bit for each byte that is `byte`, and perhaps for some behind it. */
static uint64_t find_byte(uint64_t word, uint8_t byte)
{
	const uint64_t other = word ^ ALL_BYTES(byte);
	return (other - ALL_BYTES(1)) & ~other;
}

/* Bytes from `p` on that are ASCII and not escaped, or some fewer: most are, and need not be decoded. */
static size_t count_plain(const uint8_t *p, size_t len)
{
	size_t i = 0;
	for (uint64_t word; len - i >= sizeof word; i += sizeof word) {
		memcpy(&word, p + i, sizeof word);
		const uint64_t control = (word - ALL_BYTES(0x20)) & ~word;
		if ((word | control | find_byte(word, 0x7f) | find_byte(word, '\\')) & ALL_BYTES(0x80))
			break;
	}
	return i;
}

void text_escaped(struct text *text, const char *utf8, size_t len)
{
	const uint8_t *p = (const uint8_t *)utf8;
	for (size_t i = 0, plain = 0; i <= len;) {
		uint32_t code = 0;
		i += count_plain(p + i, i < len ? len - i : 0);
		const unsigned used = i < len ? utf8_decode(p + i, len - i, &code) : 1;
		if (i < len && used && !needs_escape(code)) {
			i += used;
			continue;
		}
		text_put(text, utf8 + plain, i - plain);
		if (i == len)
			break;
		if (used)
			put_escape(text, code);
		else
			text_printf(text, "\\x%02x", p[i]); /* a byte that is no UTF-8 */
		i += used ? used : 1;
		plain = i;
	}
}

void text_name(struct text *text, struct name name)
{
	text_escaped(text, name.text, name.len);
}

void text_char(struct text *text, uint16_t unit)
{
	char utf8[4];
	if (needs_escape(unit))
		put_escape(text, unit);
	else
		text_put(text, utf8, utf8_encode(unit, utf8));
}

/* The character at *i, two chars if they are a pair, and moves *i behind it. */
static uint32_t next_code(const struct string *string, uint64_t *i, uint64_t end)
{
	const uint32_t unit = string_unit(string, (*i)++);
	if (unit < 0xd800 || unit >= 0xdc00 || *i >= end)
		return unit;
	const uint32_t low = string_unit(string, *i);
	if (low < 0xdc00 || low >= 0xe000)
		return unit;
	(*i)++;
	return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

bool text_string(struct text *text, const struct string *string, uint64_t most)
{
	uint64_t i = 0;
	for (uint64_t n = 0; i < string->units && n < most; n++) {
		if (string->coding == STRING_LATIN1) {
			/* Plain ASCII, which nearly all text is, goes over in one piece. */
			uint64_t to = i;
			while (to < string->units && n + (to - i) < most && string->data[to] >= 0x20 &&
			       string->data[to] < 0x7f && string->data[to] != '\\')
				to++;
			if (to > i) {
				text_put(text, string->data + i, to - i);
				n += to - i - 1;
				i = to;
				continue;
			}
		}
		const uint32_t code = next_code(string, &i, string->units);
		char utf8[4];
		if (needs_escape(code))
			put_escape(text, code);
		else
			text_put(text, utf8, utf8_encode(code, utf8));
	}
	return i == string->units;
}

void text_raw_string(struct text *text, const struct string *string, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to && text_reserve(text, 4);)
		text->len += utf8_encode(next_code(string, &i, to), text->data + text->len);
}

static void put_integer(struct text *text, int64_t value)
{
	if (value < 0)
		text_putc(text, '-');
	text_number(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* The shortest digits that give the same number again, and like Java at least one behind the point. */
static void put_real(struct text *text, double value, bool is_float)
{
	char digits[40];
	if (isnan(value) || isinf(value)) {
		text_puts(text, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
		return;
	}
	if (fabs(value) < 1e7 && value == (double)(int32_t)value && !(value == 0 && signbit(value))) {
		/* Whole numbers, the commonest, need no search for digits. */
		put_integer(text, (int32_t)value);
		text_puts(text, ".0");
		return;
	}
	for (int precision = is_float ? 6 : 15; precision <= 17; precision++) {
		snprintf(digits, sizeof digits, "%.*g", precision, value);
		if (is_float ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value)
			break;
	}
	text_puts(text, digits);
	if (!strpbrk(digits, ".e"))
		text_puts(text, ".0");
}

void text_primitive(struct text *text, uint8_t type, const uint8_t *p)
{
	uint32_t word;
	uint64_t wide;
	float single;
	double real;
	switch (type) {
	case TYPE_BOOLEAN:
		text_puts(text, *p ? "true" : "false");
		break;
	case TYPE_CHAR:
		text_char(text, be16(p));
		break;
	case TYPE_FLOAT:
		word = be32(p);
		memcpy(&single, &word, sizeof single);
		put_real(text, (double)single, true);
		break;
	case TYPE_DOUBLE:
		wide = be64(p);
		memcpy(&real, &wide, sizeof real);
		put_real(text, real, false);
		break;
	case TYPE_BYTE:
		put_integer(text, (int8_t)*p);
		break;
	case TYPE_SHORT:
		put_integer(text, (int16_t)be16(p));
		break;
	case TYPE_INT:
		put_integer(text, (int32_t)be32(p));
		break;
	case TYPE_LONG:
		put_integer(text, (int64_t)be64(p));
		break;
	default:
		text_putc(text, '?');
	}
}

void text_reference(struct text *text, const struct heap *heap, uint64_t id)
{
	struct object object;
	struct string string;
	if (!id) {
		text_put(text, "null", 4);
		return;
	}
	text_id(text, id);
	const struct class *class = class_find(heap, id);
	if (class) {
		text_puts(text, " class ");
		text_name(text, class->name);
	} else if (!heap_find(heap, id, &object)) {
		text_puts(text, " (not in the dump)");
	} else {
		text_putc(text, ' ');
		text_name(text, object.class->name);
		if (object.kind != OBJECT_INSTANCE) {
			text_puts(text, " length ");
			text_number(text, object.length);
		} else if (heap_string(heap, &object, &string)) {
			text_puts(text, " \"");
			const bool whole = text_string(text, &string, TEXT_LINE_CHARS);
			text_putc(text, '"');
			if (!whole)
				text_printf(text, "… (%" PRIu64 " chars)", string.units);
		}
	}
}

void text_value(struct text *text, const struct heap *heap, uint8_t type, const uint8_t *p)
{
	if (type == TYPE_OBJECT)
		text_reference(text, heap, read_id(p, heap->id_width));
	else if (type == TYPE_CHAR) {
		text_putc(text, '\'');
		text_primitive(text, type, p);
		text_putc(text, '\'');
	} else
		text_primitive(text, type, p);
}

void text_cell(struct text *text, const struct heap *heap, uint8_t type, const uint8_t *p)
{
	if (type != TYPE_OBJECT)
		text_primitive(text, type, p);
	else if (read_id(p, heap->id_width))
		text_id(text, read_id(p, heap->id_width));
	else
		text_put(text, "null", 4);
}
