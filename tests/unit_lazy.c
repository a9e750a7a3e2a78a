/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain listing costs nothing. File managers and coloured ls stat whatever they list, so that must not read
 * what lies in the objects. Here the pages of a dump that a listing has no business with cannot be read while
 * it is listed, and each touch of one is counted: the middle of large arrays and texts for every listing, and
 * for the top and the lists of classes all pages that hold nothing but objects. The count must be zero, but
 * where a file's place says that its size costs more, and there it must be what the file's contents are.
 */
#include "fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Of an array object.txt shows the first elements; no more of it. */
#define SHOWN_BYTES 1024

#define HOLDERS 5000
#define LARGE 60000

struct range {
	uint64_t from, to;
};

struct lazy {
	struct opened o;
	struct range *objects, *payloads; /* what is made of them, in the file */
	size_t object_count, payload_count;
	uint64_t holder, bytes, longs, list, text; /* objects of each sort */
};

/* The counter: pages touched since it was set to zero, and the first of those touches. */
static volatile sig_atomic_t pages_touched;
static const uint8_t *volatile first_touch;
static volatile sig_atomic_t watching;
static uintptr_t page_size;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	/* Readable from now on, so that each page counts once and the work goes on. */
	if (!watching || mprotect((void *)((uintptr_t)info->si_addr / page_size * page_size), page_size, PROT_READ)) {
		signal(sig, SIG_DFL);
		return;
	}
	if (!pages_touched++)
		first_touch = info->si_addr;
}

/* The whole pages in each range become unreadable, or readable again. Their number. */
static size_t protect(const struct lazy *lazy, const struct range *ranges, size_t count, int how)
{
	const uintptr_t page = page_size, base = (uintptr_t)lazy->o.bytes.data;
	size_t pages = 0;
	for (size_t i = 0; i < count; i++) {
		const uintptr_t from = (base + ranges[i].from + page - 1) / page * page;
		const uintptr_t to = (base + ranges[i].to) / page * page;
		if (from >= to)
			continue;
		assert_int_equal(mprotect((void *)from, to - from, how), 0);
		pages += (to - from) / page;
	}
	return pages;
}

static void add_range(struct range **ranges, size_t *count, uint64_t from, uint64_t to)
{
	if (*count && (*ranges)[*count - 1].to == from) {
		(*ranges)[*count - 1].to = to;
		return;
	}
	*ranges = reallocarray(*ranges, *count + 1, sizeof **ranges);
	assert_non_null(*ranges);
	(*ranges)[(*count)++] = (struct range){ from, to };
}

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
	vm_root(&vm, ROOT_JNI_GLOBAL, lazy->holder);
	vm_root(&vm, ROOT_STICKY_CLASS, holder);
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
			add_range(&lazy->objects, &lazy->object_count, walk.offset, walk.offset + walk.size);
			assert_true(heap_object(heap, walk.offset, &object));
			if (object.kind != OBJECT_INSTANCE && object.data_len > SHOWN_BYTES)
				add_range(&lazy->payloads, &lazy->payload_count, object.data_offset + SHOWN_BYTES,
					  object.data_offset + object.data_len);
		}
	}
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

static void lazy_close(struct lazy *lazy)
{
	signal(SIGSEGV, SIG_DFL);
	free(lazy->objects);
	free(lazy->payloads);
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

/* Makes the pages of the ranges count from now on; `stop` says how many were touched and lets all be read. */
static size_t count_touches(const struct lazy *lazy, bool no_object)
{
	pages_touched = 0;
	watching = 1;
	return no_object ? protect(lazy, lazy->objects, lazy->object_count, PROT_NONE) :
			   protect(lazy, lazy->payloads, lazy->payload_count, PROT_NONE);
}

static size_t stop(const struct lazy *lazy, bool no_object)
{
	watching = 0;
	if (no_object)
		protect(lazy, lazy->objects, lazy->object_count, PROT_READ);
	else
		protect(lazy, lazy->payloads, lazy->payload_count, PROT_READ);
	return (size_t)pages_touched;
}

/* Lists a folder and stats what is in it; an entry named `but` says by its place that it costs more. */
static void costs_nothing(const struct lazy *lazy, const char *path, bool no_object, const char *but)
{
	const uint64_t ino = *path ? node_at(lazy, path) : TREE_ROOT;
	struct entries entries = { 0 };
	struct stat st;
	const char *culprit = "the listing itself";
	const size_t pages = count_touches(lazy, no_object);
	assert_int_equal(entries_list(&entries, lazy->o.tree, ino, 0), 0);
	for (size_t i = 0; !pages_touched && i < entries.count; i++) {
		culprit = entries.list[i].name;
		if (strcmp(culprit, but) && strcmp(culprit, ".."))
			assert_int_equal(tree_getattr(lazy->o.tree, entries.list[i].ino, &st), 0);
	}
	const size_t count = stop(lazy, no_object);
	assert_true(pages > (no_object ? 100 : 50));
	assert_true(entries.count >= 2);
	if (count)
		fail_msg("/%s: %s touched %zu pages, first byte %zu of the dump, in %s", path, culprit, count,
			 (size_t)(first_touch - lazy->o.bytes.data), no_object ? "an object" : "an array's elements");
	entries_free(&entries);
}

/* How many of a range's pages one look at an entry touches. */
static size_t touches(const struct lazy *lazy, const char *path, bool no_object, bool read)
{
	const uint64_t ino = node_at(lazy, path);
	struct stat st;
	struct text text = { 0 };
	count_touches(lazy, no_object);
	if (read)
		assert_int_equal(read_file(&lazy->o, ino, 0, 1 << 20, &text), 0);
	else
		assert_int_equal(tree_getattr(lazy->o.tree, ino, &st), 0);
	text_free(&text);
	return stop(lazy, no_object);
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
}

/*
 * The counter counts: what is known to read payloads does, and no more than its own. The size of value.txt is the
 * one thing in an object's folder that is known by reading only: that String's text, nothing else.
 */
static void test_counter(struct lazy *lazy)
{
	char path[100];
	struct string string;
	struct object object;
	assert_true(heap_find(&lazy->o.heaps[0], lazy->text, &object) &&
		    heap_string(&lazy->o.heaps[0], &object, &string));
	const size_t text_pages = (size_t)(string.coding == STRING_LATIN1 ? LARGE : 2 * LARGE) / page_size;
	snprintf(strchr(object_path(lazy->bytes, path), 0), 20, "/data.bin");
	assert_int_equal(touches(lazy, path, false, false), 0);
	assert_in_range(touches(lazy, path, false, true), LARGE / page_size - 1, LARGE / page_size + 1);
	snprintf(strchr(object_path(lazy->text, path), 0), 20, "/value.txt");
	assert_in_range(touches(lazy, path, false, false), text_pages - 1, text_pages + 1);
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
