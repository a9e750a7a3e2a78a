/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain listing costs nothing. File managers and coloured ls stat whatever they list, so that must not read
 * what lies in the objects. Here the pages of a dump that a listing has no business with cannot be read while
 * it is listed, and whoever touches one is caught: the middle of large arrays and texts for every listing, and
 * for the top and the lists of classes all pages that hold nothing but objects.
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

/* A touch that is caught is left by a jump, and what was allocated by then stays: no leaks are looked for here. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

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

static sigjmp_buf caught;
static const uint8_t *volatile touched;
static volatile sig_atomic_t watching;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (!watching) {
		signal(sig, SIG_DFL);
		return;
	}
	touched = info->si_addr;
	siglongjmp(caught, 1);
}

/* The whole pages in each range become unreadable, or readable again. Their number. */
static size_t protect(const struct lazy *lazy, const struct range *ranges, size_t count, int how)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)lazy->o.bytes.data;
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

/* Stats an entry, or with `read` reads it; false if that touched what it must not. */
static bool untouched(const struct lazy *lazy, uint64_t ino, bool read)
{
	struct stat st;
	/* What a jump leaves behind is lost; it happens once, in a test that fails. */
	if (sigsetjmp(caught, 1)) {
		watching = 0;
		return false;
	}
	watching = 1;
	int rc;
	if (read) {
		struct text text = { 0 };
		rc = read_file(&lazy->o, ino, 0, 1 << 20, &text);
		text_free(&text);
	} else {
		rc = tree_getattr(lazy->o.tree, ino, &st);
	}
	watching = 0;
	assert_int_equal(rc, 0);
	return true;
}

/* Likewise for a listing. */
static bool untouched_list(const struct lazy *lazy, uint64_t ino, struct entries *entries)
{
	if (sigsetjmp(caught, 1)) {
		watching = 0;
		return false;
	}
	watching = 1;
	const int rc = entries_list(entries, lazy->o.tree, ino, 0);
	watching = 0;
	assert_int_equal(rc, 0);
	return true;
}

/* Lists a folder and stats what is in it; entries named in `but` say by their place that they cost more. */
static void costs_nothing(const struct lazy *lazy, const char *path, bool no_object, const char *but)
{
	const struct range *ranges = no_object ? lazy->objects : lazy->payloads;
	const size_t count = no_object ? lazy->object_count : lazy->payload_count;
	const uint64_t ino = *path ? node_at(lazy, path) : TREE_ROOT;
	struct entries entries = { 0 };
	char culprit[300] = "";
	const size_t pages = protect(lazy, ranges, count, PROT_NONE);
	if (!untouched_list(lazy, ino, &entries))
		strcpy(culprit, "the listing itself");
	for (size_t i = 0; !*culprit && i < entries.count; i++) {
		const char *name = entries.list[i].name;
		if (strcmp(name, but) && strcmp(name, "..") && !untouched(lazy, entries.list[i].ino, false))
			snprintf(culprit, sizeof culprit, "the attributes of %s", name);
	}
	protect(lazy, ranges, count, PROT_READ);
	assert_true(pages > (no_object ? 100 : 50));
	const size_t seen = entries.count;
	entries_free(&entries);
	if (*culprit)
		fail_msg("/%s: %s touched byte %zu of the dump, in %s", path, culprit,
			 (size_t)(touched - lazy->o.bytes.data), no_object ? "an object" : "an array's elements");
	assert_true(seen >= 2);
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

/* The trap works: what is known to read payloads falls into it. */
static void test_trap(struct lazy *lazy)
{
	char path[100];
	snprintf(strchr(object_path(lazy->bytes, path), 0), 20, "/data.bin");
	const uint64_t data = node_at(lazy, path);
	snprintf(strchr(object_path(lazy->text, path), 0), 20, "/value.txt");
	const uint64_t text = node_at(lazy, path), strings = node_at(lazy, "strings/strings.tsv");
	protect(lazy, lazy->payloads, lazy->payload_count, PROT_NONE);
	const bool data_read = untouched(lazy, data, true), text_size = untouched(lazy, text, false),
		   data_size = untouched(lazy, data, false);
	protect(lazy, lazy->payloads, lazy->payload_count, PROT_READ);
	protect(lazy, lazy->objects, lazy->object_count, PROT_NONE);
	const bool strings_size = untouched(lazy, strings, false);
	protect(lazy, lazy->objects, lazy->object_count, PROT_READ);
	assert_false(data_read);
	assert_false(text_size);
	assert_true(data_size);
	assert_false(strings_size);
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

static void the_trap_works(void **state)
{
	(void)state;
	with_both(test_trap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_object_is_touched),
		cmocka_unit_test(no_payload_is_touched),
		cmocka_unit_test(the_trap_works),
	};
	return cmocka_run_group_tests_name("lazy", tests, NULL, NULL);
}
