/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain listing costs nothing. File managers and coloured ls stat whatever they list, so that must not read
 * what lies in the objects. Here the pages of a dump that a listing has no business with cannot be read while
 * it is listed, and each touch of one is counted: the middle of large arrays and texts for every listing, and
 * for the top and the lists of classes all pages that hold nothing but objects. The count must be zero, but
 * where a file's place says that its size costs more, and there it must be what the file's contents are.
 */
#include "fixture.h"
#include "touches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Of an array object.txt shows the first elements; no more of it. */
#define SHOWN_BYTES 1024

#define HOLDERS 5000
#define LARGE 60000

struct lazy {
	struct opened o;
	struct ranges objects, payloads; /* what is made of them, in the file */
	uint64_t holder, bytes, longs, list, text, map; /* objects of each sort */
};

static void make_dump(struct lazy *lazy, enum vm_kind kind)
{
	struct vm vm;
	static uint8_t data[LARGE * 8];
	static uint64_t elements[LARGE];
	static uint16_t units[LARGE];
	vm_init(&vm, kind, kind == VM_ART ? 4 : 8);
	vm.heap.segment_limit = 0;
	const bool art = kind == VM_ART;
	const uint64_t array = vm_define(&vm, art ? "java.lang.Object[]" : "[Ljava/lang/Object;", vm.object, "");
	/* What a static holds is named, but not what lies in it. */
	const struct member_spec statics[] = { { .name = "DATA", .type = TYPE_OBJECT, .value = vm.next + 4096 } };
	const uint64_t holder = vm_define_statics(&vm, art ? "test.Holder" : "test/Holder", vm.object,
						  "data:L list:L text:L next:L n:J", statics, 1);
	vm.next = statics[0].value;
	memset(data, 'x', sizeof data);
	for (unsigned i = 0; i < LARGE; i++)
		units[i] = 'x';
	for (unsigned i = 0; i < 20; i++)
		lazy->bytes = vm_primitive_array(&vm, TYPE_BYTE, data, LARGE + i);
	for (unsigned i = 0; i < 5; i++)
		lazy->longs = vm_primitive_array(&vm, TYPE_LONG, data, LARGE);
	lazy->text = vm_string_units(&vm, units, LARGE);
	units[0] = 0x20ac; /* not Latin-1 */
	vm_string_units(&vm, units, LARGE);
	for (unsigned i = 0; i < LARGE; i++)
		elements[i] = i % 2 ? lazy->bytes : lazy->text;
	lazy->list = vm_object_array(&vm, array, elements, LARGE);
	for (unsigned i = 0; i < HOLDERS; i++) {
		char text[40];
		snprintf(text, sizeof text, "the text of holder number %u", i);
		const uint64_t string = vm_string(&vm, text);
		lazy->holder = VM_NEW(&vm, holder, i % 2 ? lazy->bytes : lazy->longs, lazy->list,
				      i % 3 ? string : lazy->text, lazy->holder, i);
	}
	/* A map of two entries in a large table. */
	const uint64_t node = vm_define(&vm, art ? "java.util.HashMap$Node" : "java/util/HashMap$Node", vm.object,
					"hash:I key:L value:L next:L");
	const uint64_t map = vm_define(&vm, art ? "java.util.HashMap" : "java/util/HashMap", vm.object,
				       "table:L size:I");
	const uint64_t key = vm_string(&vm, "key");
	memset(elements, 0, sizeof elements);
	elements[5] = VM_NEW(&vm, node, 5, key, lazy->bytes, 0);
	elements[LARGE - 1] = VM_NEW(&vm, node, LARGE - 1, key, lazy->text, 0);
	lazy->map = VM_NEW(&vm, map, vm_object_array(&vm, array, elements, LARGE), 2);
	vm_root(&vm, ROOT_JNI_GLOBAL, lazy->holder);
	vm_root(&vm, ROOT_STICKY_CLASS, holder);
	sub_root(&vm.heap, ROOT_THREAD_OBJ, lazy->holder, 0, 1, UINT32_MAX);
	sub_root(&vm.heap, ROOT_JAVA_FRAME, lazy->list, 0, 1, 0);
	opened_vm(&lazy->o, &vm, art ? "JAVA PROFILE 1.0.3" : "JAVA PROFILE 1.0.2");
}

static void lazy_open(struct lazy *lazy, enum vm_kind kind)
{
	memset(lazy, 0, sizeof *lazy);
	make_dump(lazy, kind);
	const struct heap *heap = &lazy->o.heaps[0];
	for (size_t i = 0; i < heap->scan.index.block_count; i++) {
		struct block_walk walk;
		struct object object;
		block_walk_start(&walk, &heap->scan.index, i);
		while (block_walk_next(&walk)) {
			ranges_add(&lazy->objects, walk.offset, walk.offset + walk.size);
			assert_true(heap_object(heap, walk.offset, &object));
			if (object.kind != OBJECT_INSTANCE && object.data_len > SHOWN_BYTES)
				ranges_add(&lazy->payloads, object.data_offset + SHOWN_BYTES,
					   object.data_offset + object.data_len);
		}
	}
	touches_init();
}

static void lazy_close(struct lazy *lazy)
{
	touches_end();
	ranges_free(&lazy->objects);
	ranges_free(&lazy->payloads);
	opened_close(&lazy->o);
}

static uint64_t node_at(const struct lazy *lazy, const char *path)
{
	const uint64_t root = TREE_ROOT;
	uint64_t ino = 0;
	if (!resolve(lazy->o.tree, &root, 1, path, strlen(path), &ino))
		fail_msg("there is no %s", path);
	return ino;
}

static const struct ranges *ranges_of(const struct lazy *lazy, bool no_object)
{
	return no_object ? &lazy->objects : &lazy->payloads;
}

/* Lists a folder and stats what is in it; an entry named `but` says by its place that it costs more. */
static void costs_nothing(const struct lazy *lazy, const char *path, bool no_object, const char *but)
{
	const uint64_t ino = *path ? node_at(lazy, path) : TREE_ROOT;
	struct entries entries = { 0 };
	struct stat st;
	const char *culprit = "the listing itself";
	const size_t pages = touches_start(lazy->o.bytes.data, ranges_of(lazy, no_object));
	assert_int_equal(entries_list(&entries, lazy->o.tree, ino, 0), 0);
	for (size_t i = 0; !touches_now() && i < entries.count; i++) {
		culprit = entries.list[i].name;
		if (strcmp(culprit, but) && strcmp(culprit, ".."))
			assert_int_equal(tree_getattr(lazy->o.tree, entries.list[i].ino, &st), 0);
	}
	const size_t count = touches_stop(lazy->o.bytes.data, ranges_of(lazy, no_object));
	assert_true(pages > (no_object ? 100 : 50));
	assert_true(entries.count >= 2);
	if (count)
		fail_msg("/%s: %s touched %zu pages, first byte %zu of the dump, in %s", path, culprit, count,
			 touches_first(lazy->o.bytes.data), no_object ? "an object" : "an array's elements");
	entries_free(&entries);
}

/* How many of a range's pages one look at an entry touches. */
static size_t touches(const struct lazy *lazy, const char *path, bool no_object, bool read)
{
	const uint64_t ino = node_at(lazy, path);
	struct stat st;
	struct text text = { 0 };
	touches_start(lazy->o.bytes.data, ranges_of(lazy, no_object));
	if (read)
		assert_int_equal(read_file(&lazy->o, ino, 0, 1 << 20, &text), 0);
	else
		assert_int_equal(tree_getattr(lazy->o.tree, ino, &st), 0);
	text_free(&text);
	return touches_stop(lazy->o.bytes.data, ranges_of(lazy, no_object));
}

static const char *object_path(uint64_t id, char path[80])
{
	snprintf(path, 80, "objects/%llx/%x/0x%llx", (unsigned long long)(id >> 28), (unsigned)(id >> 16 & 0xfff),
		 (unsigned long long)id);
	return path;
}

static void test_no_object_is_touched(struct lazy *lazy)
{
	costs_nothing(lazy, "", true, "");
	costs_nothing(lazy, "classes", true, "");
	costs_nothing(lazy, "instances", true, "");
	costs_nothing(lazy, "roots", true, "");
	costs_nothing(lazy, "strings", true, "strings.tsv");
	costs_nothing(lazy, "collections", true, "collections.tsv");
	costs_nothing(lazy, "instances/test.Holder", true, ""); /* only folders, named by rank */
}

static void test_no_payload_is_touched(struct lazy *lazy)
{
	char path[80];
	costs_nothing(lazy, "objects", false, "");
	snprintf(path, sizeof path, "objects/%llx", (unsigned long long)(lazy->holder >> 28));
	costs_nothing(lazy, path, false, "");
	*strrchr(object_path(lazy->holder, path), '/') = 0;
	costs_nothing(lazy, path, false, "");
	costs_nothing(lazy, object_path(lazy->holder, path), false, "");
	costs_nothing(lazy, object_path(lazy->bytes, path), false, "");
	costs_nothing(lazy, object_path(lazy->longs, path), false, "");
	costs_nothing(lazy, object_path(lazy->list, path), false, "");
	/* A text's size in UTF-8 is known by reading it. */
	costs_nothing(lazy, object_path(lazy->text, path), false, "value.txt");
	/* What is in a collection likewise. */
	costs_nothing(lazy, object_path(lazy->map, path), false, "entries.tsv");
	costs_nothing(lazy, "classes/test.Holder", false, "instances.tsv");
	costs_nothing(lazy, "classes/test.Holder/statics", false, "");
	costs_nothing(lazy, "classes/byte[]", false, "instances.tsv");
	costs_nothing(lazy, "classes/java.lang.String", false, "instances.tsv");
	costs_nothing(lazy, "classes/java.lang.Object/subclasses", false, "");
	costs_nothing(lazy, "instances/test.Holder/2048", false, "");
	costs_nothing(lazy, "instances/java.lang.String/0000", false, "");
	costs_nothing(lazy, "instances/long[]", false, "");
	costs_nothing(lazy, "instances/java.lang.Object[]", false, "");
	costs_nothing(lazy, "roots/jni-global", false, "");
	costs_nothing(lazy, "roots/sticky-class", false, "");
	costs_nothing(lazy, "threads", false, "");
	costs_nothing(lazy, "threads/1-unnamed", false, "");
	costs_nothing(lazy, "threads/1-unnamed/frames/0", false, "");
}

/*
 * The counter counts: what is known to read payloads does, and no more than its own. Two things in an object's folder
 * have a size that is known by reading only: value.txt, that String's text, and entries.tsv, that collection's table
 * and the texts in it, of which it shows the first 1,024 characters: nothing else.
 */
static void test_counter(struct lazy *lazy)
{
	char path[100];
	struct string string;
	struct object object;
	assert_true(heap_find(&lazy->o.heaps[0], lazy->text, &object) &&
		    heap_string(&lazy->o.heaps[0], &object, &string));
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	const size_t text_pages = (size_t)(string.coding == STRING_LATIN1 ? LARGE : 2 * LARGE) / page_size;
	snprintf(strchr(object_path(lazy->bytes, path), 0), 20, "/data.bin");
	assert_int_equal(touches(lazy, path, false, false), 0);
	assert_in_range(touches(lazy, path, false, true), LARGE / page_size - 1, LARGE / page_size + 1);
	snprintf(strchr(object_path(lazy->text, path), 0), 20, "/value.txt");
	assert_in_range(touches(lazy, path, false, false), text_pages - 1, text_pages + 1);
	const size_t table_pages = (size_t)LARGE * lazy->o.heaps[0].id_width / page_size;
	snprintf(strchr(object_path(lazy->map, path), 0), 20, "/entries.tsv");
	assert_in_range(touches(lazy, path, false, false), table_pages - 2, table_pages + 2);
	assert_true(touches(lazy, "strings/strings.tsv", true, false) > 100);
	assert_true(touches(lazy, "classes/test.Holder/instances.tsv", true, false) > 10);
}

/* Each of them on a dump of a JVM and of Android, opened anew, so that nothing is known from the one before. */
static void with_both(void (*test)(struct lazy *lazy))
{
	static const enum vm_kind machines[] = { VM_JDK9, VM_ART };
	for (size_t i = 0; i < 2; i++) {
		struct lazy lazy;
		lazy_open(&lazy, machines[i]);
		test(&lazy);
		lazy_close(&lazy);
	}
}

static void no_object_is_touched(void **state)
{
	(void)state;
	with_both(test_no_object_is_touched);
}

static void no_payload_is_touched(void **state)
{
	(void)state;
	with_both(test_no_payload_is_touched);
}

static void the_counter_counts(void **state)
{
	(void)state;
	with_both(test_counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_object_is_touched),
		cmocka_unit_test(no_payload_is_touched),
		cmocka_unit_test(the_counter_counts),
	};
	return cmocka_run_group_tests_name("lazy", tests, NULL, NULL);
}
