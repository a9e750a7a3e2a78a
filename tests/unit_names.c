/* SPDX-License-Identifier: Apache-2.0 */
/* How things are written: file names that can be copied anywhere, text that keeps to its line, values, ids. */
#include "fixture.h"

#include "tree/name.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct name name_of(const char *text, size_t len)
{
	return (struct name){ text, (uint32_t)len };
}

static void expect_text(struct text *text, const char *want, size_t len, size_t row)
{
	if (text->failed || text->len != len || memcmp(text->data ? text->data : "", want, len))
		fail_msg("row %zu: \"%.*s\", not \"%s\"", row, (int)text->len, text->data, want);
	text_free(text);
}

static void file_names(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out, *member;	/* member NULL: the same */
	} table[] = {
		{ "java.lang.String", 16, "java.lang.String", "java%2Elang%2EString" },
		{ "int[]", 5, "int[]", NULL },
		{ "Map$Entry", 9, "Map$Entry", NULL },
		{ "a/b", 3, "a%2Fb", NULL },
		{ "%\\:*?\"<>|", 9, "%25%5C%3A%2A%3F%22%3C%3E%7C", NULL },
		{ "%2E", 3, "%252E", NULL },
		{ "\n\t\x01\x1f\x7f", 5, "%0A%09%01%1F%7F", NULL },
		{ "a\0b", 3, "a%00b", NULL },
		{ "\xc2\x85\xc2\x9f", 4, "%C2%85%C2%9F", NULL },	/* C1 controls */
		{ "\xff" "a\xc0\x80", 4, "%FFa%C0%80", NULL },
		{ "\xe6\x97", 2, "%E6%97", NULL },
		{ "\xed\xa0\xbd", 3, "%ED%A0%BD", NULL },		/* a lone surrogate */
		{ "\xe6\x97\xa5\xf0\x9f\x98\x80", 7, "\xe6\x97\xa5\xf0\x9f\x98\x80", NULL },
		{ "-rf", 3, "%2Drf", NULL },
		{ "a-b-", 4, "a-b-", NULL },
		{ " a b ", 5, "%20a b%20", NULL },
		{ " ", 1, "%20", NULL },
		{ "\xc2\xa0" "a\xc2\xa0", 5, "%C2%A0a%C2%A0", NULL },	/* a blank that does not break */
		{ ".", 1, "%2E", "%2E" },
		{ "..", 2, ".%2E", "%2E%2E" },
		{ ".a.", 3, ".a%2E", "%2Ea%2E" },
		{ "a@0x1", 5, "a@0x1", "a%400x1" },
		{ "", 0, "%", NULL },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct text text = { 0 };
		struct guarded g;
		guarded_make(&g, table[i].in, table[i].len);
		const struct name name = name_of((char *)g.data, g.len);
		name_escape(&text, name, NAME_MOST, false);
		expect_text(&text, table[i].out, strlen(table[i].out), i);
		const char *member = table[i].member ? table[i].member : table[i].out;
		name_escape(&text, name, NAME_MOST, true);
		expect_text(&text, member, strlen(member), i);
		guarded_free(&g);
	}
}

/* Over 255 bytes: cut at a character, and what is cut off tells names apart. */
static void long_names(void **state)
{
	static const struct {
		const char *unit, *escaped;
		size_t fits;	/* how often it stands in a name that is not cut */
	} table[] = { { "n", "n", 255 }, { "\xc3\xa9", "\xc3\xa9", 127 }, { "\xe6\x97\xa5", "\xe6\x97\xa5", 85 },
		      { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 63 }, { "/", "%2F", 85 } };
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const size_t unit = strlen(table[i].unit), shown = strlen(table[i].escaped);
		char long_name[2000], other[2000];
		struct text text = { 0 }, second = { 0 };
		for (size_t j = 0; j < 400; j++)
			memcpy(long_name + j * unit, table[i].unit, unit);
		name_escape(&text, name_of(long_name, table[i].fits * unit), NAME_MOST, false);
		assert_int_equal(text.len, table[i].fits * shown);
		text.len = 0;
		for (size_t n = table[i].fits + 1; n < 400; n += 50) {
			text.len = second.len = 0;
			name_escape(&text, name_of(long_name, n * unit), NAME_MOST, false);
			assert_int_equal(text.len, (255 - 9) / shown * shown + 9);
			assert_memory_equal(text.data, table[i].escaped, shown);
			assert_int_equal(text.data[text.len - 9], '~');
			for (size_t j = text.len - 8; j < text.len; j++)
				assert_non_null(strchr("0123456789abcdef", text.data[j]));
			/* A name that differs behind the cut. */
			memcpy(other, long_name, n * unit);
			other[n * unit] = 'x';
			name_escape(&second, name_of(other, n * unit + 1), NAME_MOST, false);
			assert_int_equal(second.len, text.len);
			assert_memory_not_equal(second.data, text.data, text.len);
		}
		text_free(&text);
		text_free(&second);
	}
}

static void parsing(void **state)
{
	static const struct {
		const char *text;
		bool id, decimal, four;	/* as an id; as a number; as a number of 4 digits */
		uint64_t value;
	} table[] = {
		{ "0x0", true, false, false, 0 },
		{ "0x12c3a0b0", true, false, false, 0x12c3a0b0 },
		{ "0xffffffffffffffff", true, false, false, UINT64_MAX },
		{ "0x1ffffffffffffffff", false, false, false, 0 },
		{ "0x012", false, false, false, 0 },
		{ "0x", false, false, false, 0 },
		{ "0X12", false, false, false, 0 },
		{ "0xAB", false, false, false, 0 },
		{ "0x1g", false, false, false, 0 },
		{ "", false, false, false, 0 },
		{ "0", false, true, false, 0 },
		{ "7", false, true, false, 7 },
		{ "07", false, false, false, 0 },
		{ "2048", false, true, true, 2048 },
		{ "0000", false, false, true, 0 },
		{ "-1", false, false, false, 0 },
		{ "+1", false, false, false, 0 },
		{ " 1", false, false, false, 0 },
		{ "20480", false, true, false, 20480 },
		{ "99999999999999999999", false, false, false, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const char *text = table[i].text;
		const size_t len = strlen(text);
		uint64_t value = 0;
		if (name_parse_id(text, len, &value) != table[i].id || (table[i].id && value != table[i].value))
			fail_msg("id \"%s\"", text);
		if (name_parse_decimal(text, len, 0, &value) != table[i].decimal ||
		    (table[i].decimal && value != table[i].value))
			fail_msg("number \"%s\"", text);
		if (name_parse_decimal(text, len, 4, &value) != table[i].four ||
		    (table[i].four && value != table[i].value))
			fail_msg("number of 4 digits \"%s\"", text);
		if (!table[i].id)
			continue;
		struct text again = { 0 };
		text_id(&again, table[i].value);
		expect_text(&again, text, len, i);
	}
}

static void escapes(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} table[] = {
		{ "plain", 5, "plain" },
		{ "a\nb\tc\rd\\e", 9, "a\\nb\\tc\\rd\\\\e" },
		{ "\x01\x1f\x7f", 3, "\\u0001\\u001f\\u007f" },
		{ "a\0b", 3, "a\\u0000b" },
		{ "\xc2\x85", 2, "\\u0085" },
		{ "caf\xc3\xa9 \xf0\x9f\x98\x80", 10, "caf\xc3\xa9 \xf0\x9f\x98\x80" },
		{ "\xed\xa0\xbd", 3, "\\ud83d" },
		{ "\"quotes' stay", 13, "\"quotes' stay" },
		{ "", 0, "" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct text text = { 0 };
		struct guarded g;
		guarded_make(&g, table[i].in, table[i].len);
		text_escaped(&text, (char *)g.data, g.len);
		expect_text(&text, table[i].out, strlen(table[i].out), i);
		guarded_free(&g);
	}
}

static void strings(void **state)
{
	static const uint8_t latin1[] = { 'a', 'b', '\n', 0xe9, '\\', 0x85, 'z' };
	static const uint8_t pairs[] = { 0, 'a', 0xd8, 0x3d, 0xde, 0, 0xd8, 0x3d, 0, 'b', 0xde, 0 };
	static const struct {
		struct string string;
		uint64_t most;
		const char *out;
		bool whole;
	} table[] = {
		{ { latin1, 7, STRING_LATIN1 }, 100, "ab\\n\xc3\xa9\\\\\\u0085z", true },
		{ { latin1, 7, STRING_LATIN1 }, 7, "ab\\n\xc3\xa9\\\\\\u0085z", true },
		{ { latin1, 7, STRING_LATIN1 }, 4, "ab\\n\xc3\xa9", false },
		{ { latin1, 7, STRING_LATIN1 }, 1, "a", false },
		{ { latin1, 7, STRING_LATIN1 }, 2, "ab", false },
		{ { latin1, 0, STRING_LATIN1 }, 10, "", true },
		/* A pair is one character. */
		{ { pairs, 6, STRING_UTF16_BE }, 10, "a\xf0\x9f\x98\x80\\ud83db\\ude00", true },
		{ { pairs, 6, STRING_UTF16_BE }, 2, "a\xf0\x9f\x98\x80", false },
		{ { pairs, 2, STRING_UTF16_BE }, 9, "a\\ud83d", true },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct text text = { 0 };
		assert_int_equal(text_string(&text, &table[i].string, table[i].most), table[i].whole);
		expect_text(&text, table[i].out, strlen(table[i].out), i);
	}
	struct text raw = { 0 };
	text_raw_string(&raw, &table[6].string, 0, 6);
	expect_text(&raw, "a\xf0\x9f\x98\x80\xed\xa0\xbd" "b\xed\xb8\x80", 12, 0);
	text_raw_string(&raw, &table[0].string, 2, 4);
	expect_text(&raw, "\n\xc3\xa9", 3, 0);
}

static void put_big_endian(uint8_t *p, uint64_t bits, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		p[i] = (uint8_t)(bits >> 8 * (width - 1 - i));
}

static void primitives(void **state)
{
	static const struct {
		uint8_t type;
		uint64_t bits;
		const char *out;
	} table[] = {
		{ TYPE_BOOLEAN, 0, "false" },
		{ TYPE_BOOLEAN, 1, "true" },
		{ TYPE_BYTE, 0x80, "-128" },
		{ TYPE_BYTE, 0x7f, "127" },
		{ TYPE_SHORT, 0x8000, "-32768" },
		{ TYPE_SHORT, 1, "1" },
		{ TYPE_INT, 0x80000000, "-2147483648" },
		{ TYPE_INT, 0x7fffffff, "2147483647" },
		{ TYPE_LONG, UINT64_C(1) << 63, "-9223372036854775808" },
		{ TYPE_LONG, UINT64_MAX, "-1" },
		{ TYPE_CHAR, 'A', "A" },
		{ TYPE_CHAR, '\n', "\\n" },
		{ TYPE_CHAR, 0xd83d, "\\ud83d" },
		{ TYPE_CHAR, 0x65e5, "\xe6\x97\xa5" },
		{ TYPE_CHAR, 0, "\\u0000" },
		{ TYPE_FLOAT, 0x7fc00000, "NaN" },
		{ TYPE_FLOAT, 0xff800000, "-Infinity" },
		{ TYPE_FLOAT, 0x3f800000, "1.0" },
		{ TYPE_FLOAT, 0x3dcccccd, "0.1" },
		{ TYPE_FLOAT, 0x80000000, "-0.0" },
		{ TYPE_DOUBLE, UINT64_C(0x7ff8000000000000), "NaN" },
		{ TYPE_DOUBLE, UINT64_C(0x7ff0000000000000), "Infinity" },
		{ TYPE_DOUBLE, UINT64_C(0x3fb999999999999a), "0.1" },
		{ TYPE_DOUBLE, UINT64_C(0xc059000000000000), "-100.0" },
		{ TYPE_DOUBLE, UINT64_C(0x3fd5555555555555), "0.3333333333333333" },
		{ TYPE_DOUBLE, 0, "0.0" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		uint8_t bytes[8];
		struct text text = { 0 };
		put_big_endian(bytes, table[i].bits, type_width(table[i].type, 8));
		text_primitive(&text, table[i].type, bytes);
		expect_text(&text, table[i].out, strlen(table[i].out), i);
	}
	/* Every number can be read back, and is no whole number to look at. */
	uint64_t bits = 1;
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t bytes[8];
		struct text text = { 0 };
		double real;
		bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
		const uint64_t mixed = bits ^ bits >> 29;
		put_big_endian(bytes, mixed, 8);
		memcpy(&real, &mixed, sizeof real);
		text_primitive(&text, TYPE_DOUBLE, bytes);
		text_putc(&text, 0);
		if (!isnan(real) && strtod(text.data, NULL) != real)
			fail_msg("%a is written as %s", real, text.data);
		assert_non_null(strpbrk(text.data, ".eNI"));
		text.len = 0;
		const uint32_t word = (uint32_t)mixed;
		float single;
		memcpy(&single, &word, sizeof single);
		put_big_endian(bytes, word, 4);
		text_primitive(&text, TYPE_FLOAT, bytes);
		text_putc(&text, 0);
		if (!isnan(single) && strtof(text.data, NULL) != single)
			fail_msg("%a is written as %s", (double)single, text.data);
		text_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_names), cmocka_unit_test(long_names), cmocka_unit_test(parsing),
		cmocka_unit_test(escapes),    cmocka_unit_test(strings),    cmocka_unit_test(primitives),
	};
	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
