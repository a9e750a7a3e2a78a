/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping files of R8 and ProGuard: what they may look like, and the names that a heap shows with one. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Opens a mapping from text; what mapping_open() returns. */
static int open_text(struct mapping *mapping, const char *text, size_t len, char *error, size_t error_size)
{
	char path[40];
	const int fd = memfd_create("mapping", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const int rc = mapping_open(mapping, path, error, error_size);
	close(fd);
	return rc;
}

static void open_good(struct mapping *mapping, const char *text)
{
	char error[300] = "";
	if (open_text(mapping, text, strlen(text), error, sizeof error))
		fail_msg("%s", error);
}

static void expect_class(const struct mapping *mapping, const char *name, const char *original)
{
	const struct mapping_class *class = mapping_find(mapping, name, strlen(name));
	if (!original) {
		assert_null(class);
		return;
	}
	if (!class)
		fail_msg("no class %s", name);
	assert_int_equal(class->original_len, strlen(original));
	assert_memory_equal(class->original, original, class->original_len);
}

static void expect_field(const struct mapping *mapping, const char *class_name, const char *name, uint8_t type,
			 const char *original)
{
	const struct mapping_class *class = mapping_find(mapping, class_name, strlen(class_name));
	const char *found = NULL;
	size_t len = 0;
	assert_non_null(class);
	const bool is_there = mapping_field(class, name, strlen(name), type, &found, &len);
	if (is_there != (original != NULL))
		fail_msg("%s.%s: %s", class_name, name, original ? "not found" : "found");
	if (original && (len != strlen(original) || memcmp(found, original, len)))
		fail_msg("%s.%s is %.*s, not %s", class_name, name, (int)len, found, original);
}

/* What R8 writes, in all its forms. */
static const char whole[] =
	"# compiler: R8\n"
	"# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\n"
	"com.example.Zebra -> z.a:\n"
	"# {\"id\":\"sourceFile\",\"fileName\":\"Zebra.java\"}\n"
	"    int stripes -> a\n"
	"    java.lang.String name -> b\n"
	"      # {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"La;\"}\n"
	"    long[] spots -> c\n"
	"    boolean wild -> a\n"
	"    com.example.Zebra$Foal[][] foals -> d\n"
	"    com.example.Horse com.example.Horse.mother -> e\n"
	"    1:3:void run(int,long):12:14 -> e\n"
	"    1:1:int com.example.Horse.gallop():7:7 -> f\n"
	"    void eat() -> g\n"
	"com.example.Empty -> b:\n"
	"\n"
	"com.example.Apple -> a:\n"
	"    double weight -> a\n"
	"com.example.Zebra$Foal -> com.example.Zebra$Foal:\n"
	"    byte age -> age\n";

static void check_whole(const struct mapping *mapping)
{
	assert_int_equal(mapping->count, 4);
	expect_class(mapping, "z.a", "com.example.Zebra");
	expect_class(mapping, "a", "com.example.Apple");
	expect_class(mapping, "b", "com.example.Empty");
	expect_class(mapping, "com.example.Zebra$Foal", "com.example.Zebra$Foal");
	/* Neither parts of names, nor the originals, nor what follows a name. */
	static const char *const none[] = { "", "z", "z.", "z.a:", "z.aa", "com.example.Apple", "c", "Z.a", "run" };
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		expect_class(mapping, none[i], NULL);
	/* Two of one name differ in type; for others the first of them. */
	expect_field(mapping, "z.a", "a", TYPE_INT, "stripes");
	expect_field(mapping, "z.a", "a", TYPE_BOOLEAN, "wild");
	expect_field(mapping, "z.a", "a", TYPE_LONG, "stripes");
	expect_field(mapping, "z.a", "b", TYPE_OBJECT, "name");
	expect_field(mapping, "z.a", "c", TYPE_OBJECT, "spots");
	expect_field(mapping, "z.a", "d", TYPE_OBJECT, "foals");
	/* Moved here from a superclass; and the method of the same name is none. */
	expect_field(mapping, "z.a", "e", TYPE_OBJECT, "mother");
	expect_field(mapping, "z.a", "f", TYPE_INT, NULL);
	expect_field(mapping, "z.a", "g", TYPE_INT, NULL);
	expect_field(mapping, "z.a", "stripes", TYPE_INT, NULL);
	expect_field(mapping, "z.a", "", TYPE_INT, NULL);
	/* Each class has its own. */
	expect_field(mapping, "a", "a", TYPE_DOUBLE, "weight");
	expect_field(mapping, "a", "b", TYPE_OBJECT, NULL);
	expect_field(mapping, "b", "a", TYPE_DOUBLE, NULL);
	expect_field(mapping, "com.example.Zebra$Foal", "age", TYPE_BYTE, "age");
}

static void as_r8_writes_it(void **state)
{
	struct mapping mapping;
	(void)state;
	open_good(&mapping, whole);
	check_whole(&mapping);
	mapping_close(&mapping);
	mapping_close(&mapping); /* twice is as good */
}

/* Lines that end as on Windows, or in blanks; tabs; no newline at the end. */
static void other_line_ends(void **state)
{
	static const char *const ends[] = { "\r\n", "  \n", " \r\n", "\n\n", "\n   \n", "\n\t# a word\n" };
	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct text text = { 0 };
		struct mapping mapping;
		for (const char *p = whole; *p; p++)
			if (*p == '\n')
				text_puts(&text, ends[i]);
			else
				text_putc(&text, *p);
		text_putc(&text, 0);
		open_good(&mapping, text.data);
		check_whole(&mapping);
		mapping_close(&mapping);
		text_free(&text);
	}
	struct mapping mapping;
	open_good(&mapping, "a.B -> c:\n\tint d -> e");
	expect_class(&mapping, "c", "a.B");
	expect_field(&mapping, "c", "e", TYPE_INT, "d");
	mapping_close(&mapping);
	open_good(&mapping, "a.B -> c:");
	expect_class(&mapping, "c", "a.B");
	expect_field(&mapping, "c", "e", TYPE_INT, NULL);
	mapping_close(&mapping);
}

/* Names that are no ASCII, and two classes of one name, as of two concatenated files: the first. */
static void odd_names(void **state)
{
	struct mapping mapping;
	(void)state;
	open_good(&mapping, "com.example.Caf\xc3\xa9 -> \xe6\x97\xa5:\n    int na\xc3\xafve -> \xe6\x9c\xac\n"
			    "x.One -> a:\n    int one -> f\nx.Two -> a:\n    int two -> f\n");
	expect_class(&mapping, "\xe6\x97\xa5", "com.example.Caf\xc3\xa9");
	expect_field(&mapping, "\xe6\x97\xa5", "\xe6\x9c\xac", TYPE_INT, "na\xc3\xafve");
	expect_class(&mapping, "a", "x.One");
	expect_field(&mapping, "a", "f", TYPE_INT, "one");
	mapping_close(&mapping);
}

/* What is no mapping is refused, with the line where that shows. */
static void refused(void **state)
{
	static const struct {
		const char *text, *error;
	} table[] = {
		{ "", "no class" },
		{ "# only\n\n   # comments\n", "no class" },
		{ "garbage\n", "line 1:" },
		{ "# one\na.B -> c:\n    int d -> e\n\nint main(void)\n", "line 5:" },
		{ "a.B -> c:\r\n    int d -> e\r\ngarbage\r\n", "line 3:" },
		{ "a.B -> c\n", "line 1:" },		/* no colon */
		{ "a.B -> c:\na.C ->c:\n", "line 2:" },
		{ "    int a -> b\n", "line 1:" },	/* of no class */
		{ "a.B -> c:\n    garbage\n", "line 2:" },
		{ " -> c:\n", "line 1:" },
		{ "a.B -> \n", "line 1:" },
		{ "JAVA PROFILE 1.0.2", "line 1:" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct mapping mapping;
		char error[300] = "";
		if (!open_text(&mapping, table[i].text, strlen(table[i].text), error, sizeof error))
			fail_msg("taken: %s", table[i].text);
		if (!strstr(error, table[i].error) || strncmp(error, "/proc/self/fd/", 14))
			fail_msg("\"%s\" has no \"%s\"", error, table[i].error);
		assert_null(mapping.text);
		assert_null(mapping.classes);
	}
	struct mapping mapping;
	char error[300] = "";
	assert_int_equal(mapping_open(&mapping, "/nowhere/at/all", error, sizeof error), -1);
	assert_non_null(strstr(error, "/nowhere/at/all: No such file"));
	assert_int_equal(mapping_open(&mapping, "/", error, sizeof error), -1);
	assert_non_null(strstr(error, "/: Is a directory"));
	/* NUL bytes are as any others. */
	assert_int_equal(open_text(&mapping, "a\0b -> c:\n", 10, error, sizeof error), 0);
	assert_int_equal(mapping.classes[0].original_len, 3);
	mapping_close(&mapping);
}

/* Any bytes at all. */
static void random_bytes(void **state)
{
	static const char letters[] = " \n\t\r#:->.a(";
	uint64_t random = 1;
	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		char text[200], error[300];
		struct mapping mapping;
		const char *original;
		size_t len = 0, found;
		if (i % 2)
			len = (size_t)snprintf(text, sizeof text, "a.B -> c:\n");
		for (size_t end = len + i % 60; len < end; len++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			text[len] = letters[(random >> 33) % (sizeof letters - 1)];
		}
		if (open_text(&mapping, text, len, error, sizeof error))
			continue;
		for (size_t class = 0; class < mapping.count; class++)
			for (size_t from = 0; from + 1 < len; from++)
				mapping_field(&mapping.classes[class], text + from, 1, TYPE_INT, &original, &found);
		mapping_close(&mapping);
	}
}

/* With a mapping, a heap has the original names, and finds what it looks for by them. */
static void in_a_heap(void **state)
{
	static const char text[] = "com.example.Node -> a.a:\n    com.example.Node next -> a\n    int number -> a\n"
				   "    long time -> b\ncom.example.Root -> a.b:\n    com.example.Node first -> c\n";
	struct vm vm;
	struct opened o;
	struct heap heap;
	struct mapping mapping;
	struct static_walk found;
	struct object object, to;
	(void)state;
	vm_init(&vm, VM_ART, 4);
	const uint64_t node = vm_define(&vm, "a.a", vm.object, "a:L a:I b:J other:I");
	const uint64_t arrays = vm_define(&vm, "a.a[][]", vm.object, "");
	const uint64_t leaf = vm_define(&vm, "a.c", node, "b:J");
	const uint64_t last = VM_NEW(&vm, node, 0, 7), first = VM_NEW(&vm, node, last, 8);
	vm_object_array(&vm, arrays, &first, 1);
	VM_NEW(&vm, leaf, 9);
	const struct member_spec statics = { .name = "c", .type = TYPE_OBJECT, .value = first };
	vm_define_statics(&vm, "a.b", vm.object, "", &statics, 1);
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.3");
	open_good(&mapping, text);
	const struct heap_options options = { .threads = 1, .mapping = &mapping };
	assert_int_equal(heap_open(&heap, &o.hprof, 0, &options), 0);
	const struct class *class = class_by_name(&heap, "com.example.Node");
	assert_non_null(class);
	assert_int_equal(class->id, node);
	assert_null(class_by_name(&heap, "a.a"));
	assert_non_null(class_by_name(&heap, "com.example.Node[][]"));
	assert_non_null(class_by_name(&heap, "a.c")); /* which the mapping does not know */
	/* Of two fields named a, each has its own name again. */
	assert_true(field_offset(&heap, class, "next", TYPE_OBJECT) == 0);
	assert_true(field_offset(&heap, class, "number", TYPE_INT) == 4);
	assert_true(field_offset(&heap, class, "time", TYPE_LONG) == 8);
	assert_true(field_offset(&heap, class, "other", TYPE_INT) == 16);
	assert_true(field_offset(&heap, class, "a", TYPE_OBJECT) < 0);
	assert_true(field_offset(&heap, class_by_name(&heap, "a.c"), "b", TYPE_LONG) == 0);
	assert_true(field_offset(&heap, class_by_name(&heap, "a.c"), "time", TYPE_LONG) == 16);
	assert_true(class_static(&heap, class_by_name(&heap, "com.example.Root"), "first", &found));
	assert_true(heap_find(&heap, read_id(found.value, 4), &object));
	assert_true(object_field(&heap, &object, "next", &to));
	assert_int_equal(to.id, last);
	heap_close(&heap);
	mapping_close(&mapping);
	/* The same dump without. */
	assert_null(class_by_name(&o.heaps[0], "com.example.Node"));
	assert_non_null(class_by_name(&o.heaps[0], "a.a"));
	opened_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_r8_writes_it), cmocka_unit_test(other_line_ends), cmocka_unit_test(odd_names),
		cmocka_unit_test(refused),	   cmocka_unit_test(random_bytes),    cmocka_unit_test(in_a_heap),
	};
	return cmocka_run_group_tests_name("mapping", tests, NULL, NULL);
}
