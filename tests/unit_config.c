/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in protobuf's text format: what a text becomes, what is refused and in which line, every truncation. */
#include "capture/config_text.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A tree as text: "name=value", strings in quotes, messages in braces. Without going down by calls, as they may be deep. */
static char *print(const struct config_field *fields)
{
	const struct config_field *above[128];
	unsigned depth = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	for (const struct config_field *field = fields; field || depth;) {
		if (!field) {
			fputc('}', out);
			field = above[--depth]->next;
			continue;
		}
		fprintf(out, " %s", field->name);
		if (field->message) {
			fputc('{', out);
			above[depth++] = field;
			field = field->first;
			continue;
		}
		fprintf(out, field->string ? "=\"%s\"" : "=%s", field->value);
		field = field->next;
	}
	fclose(out);
	return text;
}

static void becomes(const char *text, const char *expected)
{
	char error[256];
	struct config_field *fields = config_read(text, strlen(text), error, sizeof error);
	if (!fields)
		fail_msg("%s: %s", text, error);
	char *seen = print(fields);
	assert_string_equal(seen, expected);
	free(seen);
	config_free(fields);
}

static void refused(const char *text, const char *expected)
{
	char error[256];
	assert_null(config_read(text, strlen(text), error, sizeof error));
	assert_string_equal(error, expected);
}

static void test_texts(void **state)
{
	(void)state;
	becomes("a: 1", " a=1");
	becomes("a:1,b:2;c:3 d { }", " a=1 b=2 c=3 d{}");
	becomes("a{b<c:x>}d:-5 e: - 7", " a{ b{ c=x}} d=-5 e=-7");
	becomes("# first\na: \"x#y\" # second\n#", " a=\"x#y\"");
	becomes("a: 'it''s' \"\\\"\\n\\x41\\101\\\\\"", " a=\"its\"\nAA\\\"");
	becomes("a: [1, 2, 3] b: [] c: [{x: 1}, {y: [{z: 2}]}] d: 4", " a=1 a=2 a=3 c{ x=1} c{ y{ z=2}} d=4");
	becomes("[com.example.ext]: 5 [type.googleapis.com/a.B] { v: 1 }", " [com.example.ext]=5 [type.googleapis.com/a.B]{ v=1}");
	becomes("a { b: [<c: 1>, <c: 2>] } e: f", " a{ b{ c=1} b{ c=2}} e=f");
	becomes("a: \"\\\"\" 'b' \"\\\\\" b: '\\x4' c: ''", " a=\"\"b\\\" b=\"\x04\" c=\"\"");
}

static void test_refused(void **state)
{
	(void)state;
	refused("", "line 1: there is nothing in it");
	refused("\n\n# only this", "line 3: there is nothing in it");
	refused("a", "line 1: a: ':' or '{' is missing behind it");
	refused("a:", "line 1: a: a value is missing");
	refused("a: }", "line 1: a: a value is missing before '}'");
	refused("\na {", "line 2: a, of line 2, has no '}'");
	refused("a { b: 1 >", "line 1: '>' is not the beginning of a field");
	refused("}", "line 1: '}' is not the beginning of a field");
	refused("a: 1\nb: \"x\n\"", "line 2: a string does not end");
	refused("a: [1, 2", "line 1: a: a value is missing");
	refused("a: 1 [b", "line 1: '[' is not the beginning of a field");
}

static void test_depth(void **state)
{
	char text[4096], error[256];
	(void)state;
	for (unsigned depth = 1; depth < 200; depth++) {
		size_t len = 0;
		for (unsigned i = 0; i < depth; i++)
			len += (size_t)snprintf(text + len, sizeof text - len, "a{");
		for (unsigned i = 0; i < depth; i++)
			len += (size_t)snprintf(text + len, sizeof text - len, "}");
		struct config_field *fields = config_read(text, len, error, sizeof error);
		assert_int_equal(fields != NULL, depth < 64);
		if (!fields)
			assert_string_equal(error, "line 1: more than 64 messages in each other");
		config_free(fields);
	}
}

/* Short strings take little room each, however much text follows: a page each would be a gigabyte for a large config. */
static void test_room(void **state)
{
	enum { COUNT = 60000 };
	char *text = malloc(COUNT * 5), error[256];
	size_t count = 0, largest = 0;
	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		memcpy(text + 5 * i, "a:\"x\"", 5);
	struct config_field *fields = config_read(text, COUNT * 5, error, sizeof error);
	for (const struct config_field *field = fields; field; field = field->next, count++) {
		assert_string_equal(field->value, "x");
		largest = malloc_usable_size(field->value) > largest ? malloc_usable_size(field->value) : largest;
	}
	assert_int_equal(count, COUNT);
	assert_in_range(largest, 2, 100);
	config_free(fields);
	free(text);
}

/* Cut at each byte, and each byte another one: a tree or a message, and nothing else happens. */
static void test_any(void **state)
{
	static const char text[] = "a: \"b\\x4\" c { d: [1, {e: 2}] f: 'g' } # h\n[i.j]: -5 k < l: [] >";
	static const char others[] = "\0\"'\\{}<>[]:,;#\n-a1\xff";
	char error[256], changed[sizeof text];
	unsigned good = 0;
	(void)state;
	for (size_t i = 0; i < sizeof text; i++) {
		/* Behind its end there is nothing that may be read. */
		char *part = malloc(i ? i : 1);
		memcpy(part, text, i);
		struct config_field *fields = config_read(part, i, error, sizeof error);
		good += fields != NULL;
		assert_int_equal(fields != NULL, *error == '\0');
		config_free(fields);
		free(part);
		for (size_t j = 0; i + 1 < sizeof text && j + 1 < sizeof others; j++) {
			memcpy(changed, text, sizeof text);
			changed[i] = others[j];
			fields = config_read(changed, sizeof text - 1, error, sizeof error);
			assert_int_equal(fields != NULL, *error == '\0');
			config_free(fields);
		}
	}
	assert_true(good > 3);
}

static void test_values(void **state)
{
	static const struct {
		const char *value;
		bool string, number, flag, truth;
		uint64_t what;
	} cases[] = {
		{ "0", false, true, true, false, 0 },	   { "1", false, true, true, true, 1 },
		{ "true", false, false, true, true, 0 },   { "f", false, false, true, false, 0 },
		{ "0x10", false, true, false, false, 16 }, { "18446744073709551615", false, true, false, false, UINT64_MAX },
		{ "18446744073709551616", false, false, false, false, 0 }, { "-1", false, false, false, false, 0 },
		{ "5x", false, false, false, false, 0 },   { "1", true, false, false, false, 0 },
		{ "maybe", false, false, false, false, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct config_field field = { .value = (char *)(uintptr_t)cases[i].value, .string = cases[i].string };
		uint64_t number = 0;
		bool flag = false;
		assert_int_equal(config_number(&field, &number), cases[i].number);
		assert_int_equal(config_bool(&field, &flag), cases[i].flag);
		if (cases[i].number)
			assert_int_equal(number, cases[i].what);
		if (cases[i].flag)
			assert_int_equal(flag, cases[i].truth);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts), cmocka_unit_test(test_refused), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_room),  cmocka_unit_test(test_any),     cmocka_unit_test(test_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
