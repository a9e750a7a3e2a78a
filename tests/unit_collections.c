/* SPDX-License-Identifier: Apache-2.0 */
/* Collections: that each layout is told by its fields, and that broken ones end. */
#include "fixture.h"

#include "heap/collections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fact {
	const char *name;	/* of the static of test.Named */
	const char *entries;	/* key=value, after one another */
	const char *line;	/* in collections.tsv, behind id and class */
};

static void read_path(struct opened *o, const char *path, struct text *text)
{
	const uint64_t root = TREE_ROOT;
	uint64_t ino;
	struct stat st;
	text->len = 0;
	if (!resolve(o->tree, &root, 1, path, strlen(path), &ino))
		fail_msg("there is no %s", path);
	assert_int_equal(tree_getattr(o->tree, ino, &st), 0);
	assert_int_equal(read_file(o, ino, 0, (size_t)st.st_size + 100, text), 0);
	if (text->len != (size_t)st.st_size)
		fail_msg("%s: size %jd, but %zu bytes", path, (intmax_t)st.st_size, text->len);
	text_putc(text, 0);
}

static uint64_t static_of(struct opened *o, const char *name)
{
	struct static_walk found;
	const struct class *class = class_by_name(&o->heaps[0], "test.Named");
	assert_non_null(class);
	if (!class_static(&o->heaps[0], class, name, &found))
		fail_msg("there is no %s", name);
	return read_id(found.value, o->heaps[0].id_width);
}

static void entries_path(uint64_t id, char path[100])
{
	snprintf(path, 100, "objects/%llx/%x/0x%llx/entries.tsv", (unsigned long long)(id >> 28),
		 (unsigned)(id >> 16 & 0xfff), (unsigned long long)id);
}

/* Columns 2 and 4 of each line; each id column says whether there is an object. */
static void put_pairs(char *lines, struct text *pairs)
{
	pairs->len = 0;
	for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
		char *cells[4] = { line };
		for (unsigned i = 1; i < 4; i++) {
			cells[i] = strchr(cells[i - 1], '\t');
			assert_non_null(cells[i]);
			*cells[i]++ = 0;
		}
		assert_null(strchr(cells[3], '\t'));
		for (unsigned i = 0; i < 4; i += 2)
			if (strncmp(cells[i], "0x", 2) && strcmp(cells[i], "-"))
				assert_true(!strcmp(cells[i], "null") && !strcmp(cells[i + 1], "null"));
		text_printf(pairs, "%s%s=%s", pairs->len ? " " : "", cells[1], cells[3]);
	}
	text_putc(pairs, 0);
}

static void check_fact(struct opened *o, const struct fact *fact, const char *table)
{
	static const char header[] = "key_id\tkey\tvalue_id\tvalue\n";
	struct text text = { 0 }, pairs = { 0 };
	char path[100];
	entries_path(static_of(o, fact->name), path);
	read_path(o, path, &text);
	assert_memory_equal(text.data, header, sizeof header - 1);
	put_pairs(text.data + sizeof header - 1, &pairs);
	if (strcmp(pairs.data, fact->entries))
		fail_msg("%s: %s, not %s", fact->name, pairs.data, fact->entries);
	text.len = 0;
	text_id(&text, static_of(o, fact->name));
	text_puts(&text, "\t");
	text_putc(&text, 0);
	const char *line = strstr(table, text.data);
	assert_non_null(line);
	line = strchr(line + text.len, '\t') + 1;
	if (strncmp(line, fact->line, strlen(fact->line)) || line[strlen(fact->line)] != '\n')
		fail_msg("%s: line %.40s, not %s", fact->name, line, fact->line);
	text_free(&text);
	text_free(&pairs);
}

static void check_facts(const char *sample, const struct fact *facts, size_t count)
{
	struct opened o;
	struct text table = { 0 };
	opened_sample(&o, sample);
	read_path(&o, "collections/collections.tsv", &table);
	for (size_t i = 0; i < count; i++)
		check_fact(&o, &facts[i], table.data);
	/* All that are named, each once, and nothing else. */
	size_t lines = 0;
	for (const char *p = table.data; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, count + 1);
	text_free(&table);
	opened_close(&o);
}
#define CHECK_FACTS(sample, facts) check_facts(sample, facts, sizeof(facts) / sizeof *(facts))

/* Arrays have a header of 16 bytes, references 4. */
static void jdk8_and_later(void **state)
{
	(void)state;
	static const struct fact facts[] = {
		{ "hashMap", "null=null a=1 b=2 c\\tc=3", "4\t8\t0.50\t20" },
		{ "emptyMap", "", "0\t4\t0.00\t32" },
		{ "newMap", "", "0\t0\t-\t0" },
		{ "subclass", "null=null a=1 b=2 c\\tc=3", "4\t8\t0.50\t20" },
		{ "treeBin", "a=1 b=2", "2\t2\t1.00\t4" },
		{ "linkedHashMap", "b=2 a=1", "2\t2\t1.00\t0" },
		{ "hashSet", "null=- a=- b=- c\\tc=-", "4\t8\t0.50\t0" },
		{ "linkedHashSet", "b=- a=-", "2\t2\t1.00\t0" },
		{ "treeMap", "1=a 2=b 3=c\\tc class java.lang.Integer=null", "4\t-\t-\t0" },
		{ "treeSet", "1=- 2=- 3=- class java.lang.Integer=-", "4\t-\t-\t0" },
		{ "emptyTree", "", "0\t-\t-\t0" },
		{ "concurrentHashMap", "a=1 b=2 c\\tc=3 1=c\\tc", "4\t2\t2.00\t0" },
		{ "properties", "a=1 b=2 c\\tc=3 1=c\\tc", "4\t2\t2.00\t0" },
		{ "movedToItself", "a=1", "1\t3\t0.33\t0" },
		{ "arrayList", "0=a 1=null 2=2", "3\t5\t0.60\t8" },
		{ "emptyList", "", "0\t6\t0.00\t40" },
		{ "newList", "", "0\t0\t-\t0" },
		{ "lyingList", "0=a 1=b", "2\t2\t1.00\t0" },
		{ "negativeList", "", "0\t2\t0.00\t24" },
		{ "lostList", "", "3\t-\t-\t0" },
		{ "vector", "0=a 1=b", "2\t3\t0.67\t4" },
		{ "asList", "0=a 1=1", "2\t2\t1.00\t0" },
		{ "arrayDeque", "0=a 1=b 2=c\\tc", "3\t4\t0.75\t4" },
		{ "lyingDeque", "", "0\t4\t0.00\t32" },
		{ "linkedList", "0=a 1=null", "2\t-\t-\t0" },
		{ "circleList", "0=a 1=b 2=c\\tc", "3\t-\t-\t0" },
		{ "hashtable", "b=2 a=1", "2\t2\t1.00\t0" },
		{ "tableOfInts", "", "2\t-\t-\t0" },
		{ "identityHashMap", "a=1 null=null", "2\t4\t0.50\t16" },
		{ "weakHashMap", "a=1 null=2", "2\t2\t1.00\t4" },
		{ "enumMap", "BLUE=null", "1\t2\t0.50\t4" },
	};
	CHECK_FACTS("collections", facts);
}

static void jdk6(void **state)
{
	(void)state;
	static const struct fact facts[] = {
		{ "hashMap", "null=2 a=1", "2\t2\t1.00\t4" },
		{ "linkedHashMap", "b=2 a=1", "2\t2\t1.00\t0" },
		{ "emptyLinked", "", "0\t4\t0.00\t32" },
		{ "concurrentHashMap", "c\\tc=3 b=2 a=1", "3\t6\t0.50\t28" },
		{ "linkedList", "0=1 1=2", "2\t-\t-\t0" },
	};
	CHECK_FACTS("collections-6", facts);
}

static void android(void **state)
{
	(void)state;
	static const struct fact facts[] = {
		{ "hashMap", "null=2 a=1", "2\t2\t1.00\t4" },
		{ "emptyMap", "", "0\t2\t0.00\t0" }, /* of the table that all share */
		{ "linkedHashMap", "b=2 a=1", "2\t2\t1.00\t4" },
		{ "hashSet", "null=- a=-", "2\t2\t1.00\t0" },
		{ "arrayList", "0=a 1=1", "2\t3\t0.67\t4" },
		{ "linkedList", "0=a", "1\t-\t-\t0" },
		{ "arrayMap", "a=1 null=2", "2\t4\t0.50\t24" },
		{ "emptyArrayMap", "", "0\t4\t0.00\t80" },
		{ "lyingArrayMap", "a=1", "1\t1\t1.00\t0" },
		{ "arraySet", "a=- b=-", "2\t4\t0.50\t16" },
		{ "sparseArray", "5=a -1=c\\tc", "2\t4\t0.50\t16" },
		{ "longSparseArray", "5=a 7=null -1=b", "3\t4\t0.75\t12" },
		{ "sparseIntArray", "5=5 7=7 -1=-1", "3\t4\t0.75\t8" },
		{ "sparseBooleanArray", "5=true 7=false", "2\t4\t0.50\t10" },
	};
	CHECK_FACTS("collections-android", facts);
}

static void broken(void **state)
{
	(void)state;
	static const struct fact facts[] = {
		{ "circle", "a=1 b=2 c\\tc=3", "2\t2\t1.00\t0" },
		{ "negativeMap", "a=1", "1\t2\t0.50\t4" },
		{ "largeMap", "a=1", "1\t2\t0.50\t4" }, /* more than there are objects */
		{ "lostTable", "", "5\t-\t-\t0" },
		{ "lostNodes", "b=2", "3\t3\t1.00\t0" },
		{ "circleTree", "1=null 2=null a=null 3=null", "3\t-\t-\t0" },
		{ "setOfItself", "", "-\t-\t-\t0" },
		{ "setOfNothing", "", "-\t-\t-\t0" },
	};
	CHECK_FACTS("collections-broken", facts);
}

/* Large ones are read in pieces, at any place and in any order, and in one go. */
static void large_maps(void **state)
{
	enum { COUNT = 5000, BUCKETS = 1024 };
	static uint64_t table[BUCKETS];
	struct vm vm;
	struct opened o;
	struct text whole = { 0 }, part = { 0 };
	char path[100];
	const uint64_t root = TREE_ROOT;
	uint64_t ino;
	(void)state;
	memset(table, 0, sizeof table);
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t array = vm_define(&vm, "[Ljava/lang/Object;", vm.object, "");
	const uint64_t node = vm_define(&vm, "java/util/HashMap$Node", vm.object, "hash:I key:L value:L next:L");
	const uint64_t map = vm_define(&vm, "java/util/HashMap", vm.object, "table:L size:I");
	for (unsigned i = 0; i < COUNT; i++) {
		char text[40];
		snprintf(text, sizeof text, "the key of entry number %u", i);
		const uint64_t key = vm_string(&vm, text);
		table[i % BUCKETS] = VM_NEW(&vm, node, i, key, key, table[i % BUCKETS]);
	}
	const uint64_t id = VM_NEW(&vm, map, vm_object_array(&vm, array, table, BUCKETS), COUNT);
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
	entries_path(id, path);
	read_path(&o, path, &whole);
	whole.len--;
	assert_true(resolve(o.tree, &root, 1, path, strlen(path), &ino));
	size_t lines = 0;
	for (size_t i = 0; i < whole.len; i++)
		lines += whole.data[i] == '\n';
	assert_int_equal(lines, COUNT + 1);
	for (int back = 0; back < 2; back++)
		for (size_t n = 0; n * 10000 < whole.len; n++) {
			const size_t at = (back ? whole.len / 10000 - n : n) * 10000;
			const size_t want = whole.len - at < 10000 ? whole.len - at : 10000;
			part.len = 0;
			assert_int_equal(read_file(&o, ino, at, 10000, &part), 0);
			assert_int_equal(part.len, want);
			assert_memory_equal(part.data, whole.data + at, want);
		}
	text_free(&whole);
	text_free(&part);
	opened_close(&o);
}

/* In order: fill, then waste, as far as the columns show them. */
static void sorted(void **state)
{
	struct opened o;
	struct text table = { 0 };
	double before = -1;
	unsigned long wasted_before = 0;
	(void)state;
	opened_sample(&o, "collections");
	read_path(&o, "collections/collections.tsv", &table);
	for (char *line = strchr(table.data, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		char fill[20];
		unsigned long wasted;
		assert_int_equal(sscanf(line, "%*s %*s %*s %*s %19s %lu", fill, &wasted), 2);
		const double now = strcmp(fill, "-") ? strtod(fill, NULL) : 1e9;
		assert_true(now >= before);
		assert_true(now > before || wasted <= wasted_before);
		before = now;
		wasted_before = wasted;
	}
	text_free(&table);
	opened_close(&o);
}

/* Other classes have no such file, nor has the table itself. */
static void only_collections(void **state)
{
	struct opened o;
	(void)state;
	opened_sample(&o, "collections");
	const struct heap *heap = &o.heaps[0];
	static const char *const none[] = { "java.lang.Object", "java.util.HashMap$Node", "java.lang.Object[]",
					    "java.lang.String", "test.Colour" };
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_null(collection_layout(heap, class_by_name(heap, none[i])));
	assert_non_null(collection_layout(heap, class_by_name(heap, "test.Cache")));
	opened_close(&o);
	/* A class of that name with other fields is none. */
	struct vm vm;
	vm_init(&vm, VM_JDK9, 8);
	vm_define(&vm, "java/util/HashMap", vm.object, "table:I size:L");
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
	assert_null(collection_layout(&o.heaps[0], class_by_name(&o.heaps[0], "java.util.HashMap")));
	opened_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jdk8_and_later), cmocka_unit_test(jdk6),	cmocka_unit_test(android),
		cmocka_unit_test(broken),	  cmocka_unit_test(large_maps), cmocka_unit_test(sorted),
		cmocka_unit_test(only_collections),
	};
	return cmocka_run_group_tests_name("collections", tests, NULL, NULL);
}
