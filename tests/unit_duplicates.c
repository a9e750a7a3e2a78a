/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is equal: whatever the number of threads, under hashes that all meet, in the background, and of a dump that is
 * cut; and maps of properties that are damaged. tests/mount-duplicates.sh has the comparison with what other files say.
 */
#include "fixture.h"
#include "graph/equal.h"
#include "heap/properties.h"
#include "waiting.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JVM "JAVA PROFILE 1.0.2"

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static struct duplicates *both_of(const struct heap *heap, unsigned threads)
{
	const struct graph_options options = { .threads = threads };
	struct duplicates *duplicates = must(duplicates_open(heap, &options));
	assert_false(job_done(&duplicates->strings_job));
	assert_int_equal(job_need(&duplicates->strings_job), 0);
	assert_int_equal(job_need(&duplicates->arrays_job), 0);
	assert_true(job_done(&duplicates->strings_job));
	return duplicates;
}

static void end(struct duplicates *duplicates)
{
	duplicates_cancel(duplicates);
	duplicates_join(duplicates);
	duplicates_close(duplicates);
}

static void same(const char *label, const struct contents *a, const struct contents *b)
{
	if (a->count != b->count)
		fail_msg("%s: %zu contents, not %zu", label, a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct content *x = &a->list[i], *y = &b->list[i];
		if (x->id != y->id || x->count != y->count || x->bytes != y->bytes || x->wasted != y->wasted ||
		    x->data != y->data || x->length != y->length || x->type != y->type)
			fail_msg("%s: number %zu: 0x%" PRIx64 " %" PRIu64 " times, not 0x%" PRIx64 " %" PRIu64 " times", label, i,
				 x->id, x->count, y->id, y->count);
	}
}

/* --- threads --- */

static uint64_t random_state = 1;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

/* Many Strings and arrays of few contents, over many chunks of the index. */
static void make_many(struct opened *opened)
{
	struct vm vm;
	vm_init(&vm, VM_JDK9, 8);
	for (unsigned i = 0; i < 60000; i++) {
		char text[32];
		snprintf(text, sizeof text, "text %u", (unsigned)next_random(40000));
		vm_string(&vm, text);
		vm_primitive_array(&vm, TYPE_INT, (const uint8_t[]){ 0, 0, 0, (uint8_t)next_random(100) }, 1);
	}
	opened_vm(opened, &vm, JVM);
}

static void any_number_of_threads(void **state)
{
	struct opened opened;
	(void)state;
	for (size_t i = 0; i <= sample_count; i++) {
		if (i == sample_count)
			make_many(&opened);
		else if (!strncmp(samples[i].kind, "cut-header", 10) || !strncmp(samples[i].kind, "empty", 5))
			continue;
		else
			opened_sample(&opened, samples[i].kind);
		const char *label = i == sample_count ? "many" : samples[i].kind;
		struct duplicates *one = both_of(&opened.heaps[0], 1), *four = both_of(&opened.heaps[0], 4);
		same(label, &one->strings, &four->strings);
		same(label, &one->arrays, &four->arrays);
		if (i == sample_count)
			assert_true(one->strings.count > 10000 && one->arrays.count >= 100);
		end(one);
		end(four);
		opened_close(&opened);
	}
}

/* --- hashes that prove nothing --- */

static bool all_meet(const struct heap *heap, const struct object *object, struct suspect *suspect)
{
	if (object->kind != OBJECT_PRIMITIVE_ARRAY || object->type != TYPE_INT || object->data_len < 4)
		return false;
	(void)heap;
	*suspect = (struct suspect){ 7, object->offset, object->offset };
	return true;
}

static int compare_ints(const struct heap *heap, const struct suspect *a, const struct suspect *b)
{
	struct object x, y;
	assert_true(heap_object(heap, a->array, &x) && heap_object(heap, b->array, &y));
	return memcmp(x.data, y.data, 4);
}

static bool sum_ints(const struct heap *heap, struct suspect *list, size_t count, struct content *content)
{
	struct object first;
	assert_true(heap_object(heap, list[0].array, &first));
	*content = (struct content){ .id = first.id, .count = count };
	return true;
}

static int order_ids(const void *a, const void *b)
{
	const struct content *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void one_hash_for_all(void **state)
{
	static const struct equal_ops ops = { all_meet, compare_ints, sum_ints, order_ids };
	const _Atomic bool cancel = false, cancelled = true;
	struct opened opened;
	struct contents found;
	(void)state;
	make_many(&opened);
	struct duplicates *duplicates = both_of(&opened.heaps[0], 2);
	assert_int_equal(find_equal(&opened.heaps[0], &ops, 2, &cancel, &found), 0);
	/* Each of the true ones: of one count and id. */
	size_t matched = 0;
	for (size_t i = 0; i < found.count; i++)
		for (size_t j = 0; j < duplicates->arrays.count; j++)
			matched += duplicates->arrays.list[j].id == found.list[i].id &&
				   duplicates->arrays.list[j].count == found.list[i].count;
	assert_int_equal(found.count, 100);
	assert_int_equal(matched, found.count);
	free(found.list);
	assert_int_equal(find_equal(&opened.heaps[0], &ops, 2, &cancelled, &found), ECANCELED);
	assert_null(found.list);
	end(duplicates);
	opened_close(&opened);
}

/* --- in the background --- */

static void in_background(void **state)
{
	struct waiting waiting = WAITING_INIT;
	const struct graph_options options = { .threads = 2, .changed = note_change, .context = &waiting };
	struct opened opened;
	(void)state;
	make_many(&opened);
	struct duplicates *duplicates = must(duplicates_open(&opened.heaps[0], &options));
	struct job *const jobs[] = { &duplicates->strings_job, &duplicates->arrays_job };
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(job_need(jobs[i]), JOB_LATER);
	for (unsigned calls = calls_now(&waiting); calls < 2; calls = calls_now(&waiting))
		wait_for_more(&waiting, calls);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(job_need(jobs[i]), 0);
	struct duplicates *one = both_of(&opened.heaps[0], 1);
	same("in the background", &duplicates->strings, &one->strings);
	same("in the background", &duplicates->arrays, &one->arrays);
	assert_int_equal(waiting.calls, 2);
	end(one);
	end(duplicates);
	/* Ended at once, or never begun: nothing is left, and nothing is started any more. */
	for (unsigned i = 0; i < 10; i++) {
		duplicates = must(duplicates_open(&opened.heaps[0], &options));
		if (i % 2)
			job_need(&duplicates->strings_job);
		duplicates_cancel(duplicates);
		const int rc = job_need(&duplicates->arrays_job);
		assert_int_equal(rc, ECANCELED);
		duplicates_join(duplicates);
		duplicates_close(duplicates);
	}
	opened_close(&opened);
}

/* --- a dump that is cut --- */

static uint64_t file_at(const struct opened *opened, const char *path)
{
	const uint64_t root = TREE_ROOT;
	uint64_t ino = 0;
	if (!resolve(opened->tree, &root, 1, path, strlen(path), &ino))
		fail_msg("there is no %s", path);
	return ino;
}

static void cut(void **state)
{
	static const char *const paths[] = { "duplicates/strings.tsv", "duplicates/arrays.tsv" };
	struct opened opened;
	struct stat st;
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct text text = { 0 };
		const bool built = i & 1;
		opened_sample(&opened, "equal");
		const uint64_t ino = file_at(&opened, paths[i / 2]);
		if (built)
			assert_int_equal(tree_getattr(opened.tree, ino, &st), 0);
		atomic_store(&opened.in.good_end, opened.heaps[0].end_offset / 2);
		input_begin();
		if (!built) {
			assert_int_equal(tree_getattr(opened.tree, ino, &st), EIO);
			assert_int_equal(tree_getattr(opened.tree, ino, &st), EIO);
			assert_false(tree_has_attributes(opened.tree, ino));
		} else {
			/* The request is answered with EIO for what it touches. */
			read_file(&opened, ino, 0, 1 << 20, &text);
			assert_true(input_touched_bad);
		}
		input_begin(); /* the next request */
		text_free(&text);
		opened_close(&opened);
	}
}

/* --- properties --- */

struct made {
	struct vm vm;
	uint64_t entry, array, map, properties, bin, concurrent;
};

static void made_init(struct made *made)
{
	struct vm *vm = &made->vm;
	vm_init(vm, VM_JDK9, 8);
	made->entry = vm_define(vm, "java/util/Node", vm->object, "key:L value:L next:L");
	made->bin = vm_define(vm, "java/util/TreeBin", vm->object, "hash:I first:L");
	made->array = vm_define(vm, "[Ljava/util/Node;", vm->object, "");
	made->map = vm_define(vm, "java/util/HashMap", vm->object, "table:L");
	made->concurrent = vm_define(vm, "java/util/ConcurrentHashMap", vm->object, "table:L nextTable:L");
	made->properties = vm_define(vm, "java/util/Properties", vm->object, "map:L defaults:L");
}

static void made_open(struct made *made, struct opened *opened, uint64_t props, const char *name)
{
	const struct member_spec statics = { .name = name, .type = TYPE_OBJECT, .value = props };
	vm_define_statics(&made->vm, "java/lang/System", made->vm.object, "", &statics, 1);
	opened_vm(opened, &made->vm, JVM);
}

static void check_text(const struct opened *opened, const char *expected)
{
	struct text text = { 0 };
	struct stat st;
	const uint64_t ino = file_at(opened, "system/system-properties.txt");
	assert_int_equal(read_file(opened, ino, 0, 1 << 20, &text), 0);
	text_putc(&text, 0);
	assert_string_equal(text.data, expected);
	assert_int_equal(tree_getattr(opened->tree, ino, &st), 0);
	assert_int_equal(st.st_size, strlen(expected));
	text_free(&text);
}

/* Chains, bins and defaults that lead in circles; keys that are no text; values that are null, or no text. */
static void damaged_maps(void **state)
{
	struct made made;
	struct opened opened;
	(void)state;
	made_init(&made);
	struct vm *vm = &made.vm;
	const uint64_t circle = vm_alloc(vm, vm_size(vm, made.entry)), bin = vm_alloc(vm, 24), own = vm_alloc(vm, 24),
		       again = vm_alloc(vm, 24);
	const uint64_t b = vm_string(vm, "b"), c = vm_string(vm, "c");
	vm_new(vm, circle, made.entry, (uint64_t[]){ b, c, circle }, 3);
	vm_new(vm, bin, made.bin, (uint64_t[]){ 0, VM_NEW(vm, made.entry, c, 0, 0) }, 2);
	vm_new(vm, own, made.bin, (uint64_t[]){ 0, own }, 2); /* its own first */
	const uint64_t no_text = VM_NEW(vm, made.entry, circle, b, 0),
		       object = VM_NEW(vm, made.entry, vm_string(vm, "a"), vm->object, 0);
	const uint64_t table = vm_object_array(vm, made.array, (uint64_t[]){ bin, no_text, 0, 0x1234, object, b, circle }, 7);
	const uint64_t next = vm_object_array(vm, made.array,
					      (uint64_t[]){ VM_NEW(vm, made.entry, vm_string(vm, "d"), b, 0), own }, 2);
	vm_new(vm, again, made.properties, (uint64_t[]){ VM_NEW(vm, made.concurrent, table, next), again }, 2);
	made_open(&made, &opened, again, "unchangeableProps");
	struct properties properties;
	assert_int_equal(properties_read(&opened.heaps[0], SYSTEM_PROPERTIES, &properties), 0);
	/* "a" has a class for its value, which heap_find() does not find; the circle ends all before the second table. */
	assert_true(properties.count >= 3 && properties.count <= 4);
	free(properties.list);
	check_text(&opened, "a=\nb=c\nc=\n");
	assert_false(properties_exist(&opened.heaps[0], SYSTEM_ENVIRONMENT));
	assert_int_equal(properties_read(&opened.heaps[0], SYSTEM_ENVIRONMENT, &properties), 0);
	assert_int_equal(properties.count, 0);
	opened_close(&opened);
}

/* Entries in both tables of a map that grows, and many: over several stretches of lines. */
static void many_properties(void **state)
{
	enum { COUNT = 1000 };
	struct made made;
	struct opened opened;
	static uint64_t entries[2][COUNT / 2];
	struct text expected = { 0 };
	(void)state;
	made_init(&made);
	struct vm *vm = &made.vm;
	for (unsigned i = 0; i < COUNT; i++) {
		char key[32];
		snprintf(key, sizeof key, "key.%04u", (i * 7) % COUNT);
		const uint64_t string = vm_string(vm, key);
		entries[i % 2][i / 2] = VM_NEW(vm, made.entry, string, string, 0);
		text_printf(&expected, "key.%04u=key.%04u\n", i, i);
	}
	text_putc(&expected, 0);
	uint64_t tables[2];
	for (unsigned i = 0; i < 2; i++)
		tables[i] = vm_object_array(vm, made.array, entries[i], COUNT / 2);
	const uint64_t map = VM_NEW(vm, made.concurrent, tables[0], tables[1]);
	made_open(&made, &opened, VM_NEW(vm, made.properties, map, 0), "props");
	check_text(&opened, expected.data);
	/* A part from the middle. */
	struct text part = { 0 };
	assert_int_equal(read_file(&opened, file_at(&opened, "system/system-properties.txt"), 9000, 900, &part), 0);
	assert_int_equal(part.len, 900);
	assert_memory_equal(part.data, expected.data + 9000, 900);
	text_free(&part);
	text_free(&expected);
	opened_close(&opened);
}

/* A static that is null, that leads nowhere, or to something else: an empty file at most. */
static void no_properties(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct made made;
		struct opened opened;
		made_init(&made);
		const uint64_t string = vm_string(&made.vm, "no map");
		made_open(&made, &opened, i == 0 ? 0 : i == 1 ? 0x12340 : string, "props");
		if (i)
			check_text(&opened, "");
		else
			assert_false(properties_exist(&opened.heaps[0], SYSTEM_PROPERTIES));
		opened_close(&opened);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_threads), cmocka_unit_test(one_hash_for_all), cmocka_unit_test(in_background),
		cmocka_unit_test(cut),			 cmocka_unit_test(damaged_maps),     cmocka_unit_test(many_properties),
		cmocka_unit_test(no_properties),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
