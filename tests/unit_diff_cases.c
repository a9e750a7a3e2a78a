/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides whether ids count, objects that were packed together, which contents are equal, pictures; and retained bytes
 * by path, against a walk up from each object.
 */
#include "diff_pair.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JVM "JAVA PROFILE 1.0.2"

/* --- do ids count? --- */

enum threads_of { NO_THREADS, SAME_THREADS, OTHER_THREADS };

/* Some texts, of which the first ones are others, or at other places. Android where a process id is given. */
static void make_process(struct opened *opened, unsigned changed, unsigned moved, enum threads_of threads, unsigned pid)
{
	struct vm vm;
	char text[64];
	vm_init(&vm, pid ? VM_ART : VM_JDK9, 8);
	const uint64_t thread = vm_define(&vm, pid ? "java.lang.Thread" : "java/lang/Thread", vm.object,
					  pid ? "name:L nativePeer:J id:J" : "name:L eetop:J tid:J");
	for (unsigned i = 0; i < 4 && (threads != NO_THREADS || pid); i++) {
		snprintf(text, sizeof text, "%s:%u_%u", pid ? "Binder" : "worker", pid, i);
		const uint64_t name = vm_string(&vm, text);
		const uint64_t native = threads == NO_THREADS ? 0 : UINT64_C(0x7f0000001000) + i * 4096 + (threads == OTHER_THREADS ? 4 : 0);
		vm_root(&vm, ROOT_THREAD_OBJ, VM_NEW(&vm, thread, name, native, i + 2));
	}
	if (moved == UINT32_MAX)
		vm_alloc(&vm, 8000);
	for (unsigned i = 0; i < 1000; i++) {
		if (i == moved)
			vm_alloc(&vm, 24 + 32); /* from here on each stands where another one stood */
		snprintf(text, sizeof text, "%s %u", i < changed ? "late" : "text", 1000 + i);
		vm_root(&vm, ROOT_JNI_GLOBAL, vm_string(&vm, text));
	}
	opened_vm(opened, &vm, pid ? "JAVA PROFILE 1.0.3" : JVM);
}

static void test_judge(void **state)
{
	static const struct {
		unsigned changed, moved;
		enum threads_of threads;
		unsigned pids[DIFF_SIDES];
		bool by_id;
	} cases[] = {
		{ 0, 1000, NO_THREADS, { 0, 0 }, true },
		{ 9, 1000, NO_THREADS, { 0, 0 }, true },
		{ 20, 1000, NO_THREADS, { 0, 0 }, false },	/* two of a hundred */
		{ 20, 1000, SAME_THREADS, { 0, 0 }, true },
		{ 90, 1000, SAME_THREADS, { 0, 0 }, true },
		{ 110, 1000, SAME_THREADS, { 0, 0 }, false },	/* eleven of a hundred */
		{ 0, 1000, OTHER_THREADS, { 0, 0 }, false },
		{ 0, 950, SAME_THREADS, { 0, 0 }, true },
		{ 0, 500, SAME_THREADS, { 0, 0 }, false },	/* half were moved, onto where others were */
		{ 0, UINT32_MAX, NO_THREADS, { 0, 0 }, false },	/* all were moved */
		{ 0, 1000, NO_THREADS, { 4821, 4821 }, true },
		{ 0, 1000, NO_THREADS, { 4821, 4822 }, false },
		{ 0, 1000, SAME_THREADS, { 4821, 4821 }, true },
		{ 90, 1000, NO_THREADS, { 4821, 4821 }, true },	/* the process id proves it */
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pair pair;
		make_process(&pair.dumps[DIFF_OLD], 0, 1000, cases[i].threads == NO_THREADS ? NO_THREADS : SAME_THREADS,
			     cases[i].pids[DIFF_OLD]);
		make_process(&pair.dumps[DIFF_NEW], cases[i].changed, cases[i].moved, cases[i].threads, cases[i].pids[DIFF_NEW]);
		pair_start(&pair, 1);
		const struct diff_objects *objects = &pair.diff->objects;
		if (objects->judgement.by_id != cases[i].by_id)
			fail_msg("case %zu: by %s, because: %s", i, objects->judgement.by_id ? "id" : "content",
				 objects->judgement.reason);
		/* Whatever the way, a text that changed is another String, and one that was moved is not. */
		const uint32_t strings = pair.diff->class_of[DIFF_NEW][pair.dumps[DIFF_NEW].heaps[0].string_class];
		const size_t names = cases[i].pids[DIFF_OLD] != cases[i].pids[DIFF_NEW] ? 4 : 0;
		assert_int_equal(objects->lists[DIFF_NEW][strings].count, cases[i].changed + names);
		assert_int_equal(objects->lists[DIFF_OLD][strings].count, cases[i].changed + names);
		pair_end(&pair);
	}
}

/* A collector packs objects of one size: each then stands where another one stood, but for the first, which went. */
static void make_packed(struct opened *opened, bool after)
{
	struct vm vm;
	char text[32];
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t class = vm_define(&vm, "app/Fixed", vm.object, "number:I"), other = vm_define(&vm, "app/Count", vm.object, "n:I");
	for (unsigned i = 0; i < 500; i++) {
		snprintf(text, sizeof text, "text %u", 1000 + i);
		vm_root(&vm, ROOT_JNI_GLOBAL, vm_string(&vm, text));
	}
	vm_root(&vm, ROOT_JNI_GLOBAL, VM_NEW(&vm, other, after ? 70 : 7));
	for (unsigned i = after; i < 200; i++)
		vm_root(&vm, ROOT_JNI_GLOBAL, VM_NEW(&vm, class, i));
	opened_vm(opened, &vm, JVM);
}

static void test_packed(void **state)
{
	struct pair pair;
	struct object object;
	(void)state;
	make_packed(&pair.dumps[DIFF_OLD], false);
	make_packed(&pair.dumps[DIFF_NEW], true);
	pair_start(&pair, 1);
	const struct diff_objects *objects = &pair.diff->objects;
	const size_t fixed = (size_t)(class_called(pair.diff, "app.Fixed") - pair.diff->classes);
	assert_true(objects->judgement.by_id);
	assert_int_equal(objects->by_content, 199);
	assert_int_equal(objects->changed, 1);
	assert_int_equal(objects->left[DIFF_NEW].count, 0);
	assert_int_equal(objects->left[DIFF_OLD].count, 1);
	assert_int_equal(objects->lists[DIFF_OLD][fixed].count, 1);
	assert_true(heap_object(pair.diff->heaps[DIFF_OLD], objects->lists[DIFF_OLD][fixed].offsets[0], &object));
	assert_int_equal(be32(object.data), 0);
	pair_end(&pair);
}

/* --- who retains what, by path --- */

/* The path of a node as text, from the root down: by climbing, and without any numbering of paths. */
static bool node_path(const struct pair *pair, enum diff_side side, uint32_t node, char steps[][64], unsigned *count)
{
	const struct heap *heap = &pair->dumps[side].heaps[0];
	char reversed[600][64];
	unsigned climbed = 0;
	for (; node != NODE_ROOT; node = graph_dominator(pair->graphs[side], node)) {
		const uint64_t id = node == NODE_NONE ? 0 : graph_id(pair->graphs[side], node);
		const struct class *class = class_find(heap, id);
		struct object object;
		if (node == NODE_NONE)
			return false;
		if (class)
			snprintf(reversed[climbed++], 64, "class %.*s", (int)class->name.len, class->name.text);
		else if (heap_find(heap, id, &object))
			snprintf(reversed[climbed++], 64, "%.*s", (int)object.class->name.len, object.class->name.text);
		assert_true(climbed && climbed < 600);
	}
	*count = 0;
	while (climbed--)
		if (!*count || (strcmp(steps[*count - 1], reversed[climbed]) && *count < DIFF_PATH_DEPTH))
			strcpy(steps[(*count)++], reversed[climbed]);
	return true;
}

static bool is_path(const struct diff *diff, uint32_t path, char steps[][64], unsigned count)
{
	const struct diff_paths *paths = &diff->paths;
	for (; path != DIFF_PATH_ROOT && count; path = paths->list[path].above) {
		char step[64];
		const struct name name = diff->classes[paths->list[path].class].name;
		snprintf(step, sizeof step, "%s%.*s", paths->list[path].class_object ? "class " : "", (int)name.len, name.text);
		if (strcmp(step, steps[--count]))
			return false;
	}
	return path == DIFF_PATH_ROOT && !count;
}

static void test_paths(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct pair pair;
		uint64_t changed = 0;
		make_random(&pair.dumps[DIFF_OLD], 100 + round * 10);
		make_random(&pair.dumps[DIFF_NEW], 300);
		pair_start(&pair, 1 + round % 2);
		const struct diff_paths *paths = &pair.diff->paths;
		struct diff_sum(*sums)[DIFF_SIDES] = calloc(paths->count, sizeof *sums);
		assert_non_null(sums);
		for (unsigned side = 0; side < DIFF_SIDES; side++)
			for (uint32_t node = 0; node < graph_node_count(pair.graphs[side]); node++) {
				char steps[DIFF_PATH_DEPTH][64];
				unsigned count;
				struct held held;
				assert_true(graph_held(pair.graphs[side], node, &held));
				unsigned met = 0;
				if (!node_path(&pair, (enum diff_side)side, node, steps, &count))
					continue;
				for (uint32_t i = 0; i < paths->count; i++)
					for (unsigned j = 1; j <= count; j++)
						if (is_path(pair.diff, i, steps, j)) {
							sums[i][side].count++;
							sums[i][side].bytes += held.shallow;
							met++;
						}
				assert_int_equal(met, count); /* each of its steps ends one path */
			}
		for (uint32_t i = 0; i < paths->count; i++) {
			assert_memory_equal(sums[i], paths->list[i].sums, sizeof sums[i]);
			assert_true(sums[i][DIFF_OLD].count || sums[i][DIFF_NEW].count);
			changed += diff_changed(sums[i]);
		}
		assert_int_equal(paths->order_count, changed);
		for (uint32_t i = 0; i + 1 < paths->order_count; i++)
			assert_true(diff_order(paths->list[paths->order[i]].sums, paths->list[paths->order[i + 1]].sums) <= 0);
		free(sums);
		pair_end(&pair);
	}
}

/* --- pictures --- */

static void make_bitmaps(struct opened *opened, const unsigned (*sizes)[3], unsigned count)
{
	struct vm vm;
	static uint8_t pixels[64 * 64 * 4];
	vm_init(&vm, VM_ART, 4);
	const uint64_t class = vm_define(&vm, "android.graphics.Bitmap", vm.object, "mBuffer:L mNativePtr:J mHeight:I mWidth:I");
	for (unsigned i = 0; i < count; i++) {
		memset(pixels, (int)sizes[i][2], sizeof pixels);
		const uint64_t buffer = vm_primitive_array(&vm, TYPE_BYTE, pixels, sizes[i][0] * sizes[i][1] * 4);
		VM_NEW(&vm, class, buffer, 0x7f00000000 + i * 64, sizes[i][1], sizes[i][0]);
	}
	opened_vm(opened, &vm, "JAVA PROFILE 1.0.3");
}

static void test_bitmaps(void **state)
{
	/* Width, height, what the pixels are. */
	static const unsigned before[][3] = { { 8, 4, 1 }, { 8, 4, 1 }, { 8, 4, 2 }, { 16, 16, 3 } };
	static const unsigned after[][3] = { { 16, 16, 3 }, { 8, 4, 1 }, { 8, 4, 9 }, { 64, 64, 1 }, { 64, 64, 1 } };
	/* Growth of count and bytes. */
	static const int64_t growth[][2] = { { 2, 2 * 64 * 64 * 4 }, { 1, 128 }, { -1, -128 }, { -1, -128 } };
	struct pair pair;
	(void)state;
	make_bitmaps(&pair.dumps[DIFF_OLD], before, 4);
	make_bitmaps(&pair.dumps[DIFF_NEW], after, 5);
	pair_start(&pair, 1);
	const struct diff_bitmaps *rows = &pair.diff->bitmaps;
	assert_int_equal(rows->count, 4);
	for (size_t i = 0; i < rows->count; i++) {
		const struct diff_sum *sums = rows->list[i].sums;
		assert_true(rows->list[i].hashed);
		assert_int_equal(rows->list[i].width, i ? 8 : 64);
		assert_int_equal(diff_growth(sums[DIFF_OLD].count, sums[DIFF_NEW].count), growth[i][0]);
		assert_int_equal(diff_growth(sums[DIFF_OLD].bytes, sums[DIFF_NEW].bytes), growth[i][1]);
	}
	pair_end(&pair);
}

/* --- contents --- */

/* One object in each dump, which refers to another one: are they equal? */
static void check_equal(const char *label, void (*make)(struct vm *vm, bool after), bool equal)
{
	struct pair pair;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		struct vm vm;
		vm_init(&vm, VM_JDK9, 8);
		if (side == DIFF_NEW)
			vm_alloc(&vm, UINT64_C(0x100000)); /* at other addresses */
		vm_define(&vm, "app/Pad", vm.object, "");
		make(&vm, side == DIFF_NEW);
		opened_vm(&pair.dumps[side], &vm, JVM);
	}
	pair_start(&pair, 1);
	const uint32_t number = (uint32_t)(class_called(pair.diff, "app.Subject") - pair.diff->classes);
	assert_false(pair.diff->objects.judgement.by_id);
	if ((pair.diff->objects.lists[DIFF_NEW][number].count == 0) != equal ||
	    (pair.diff->objects.lists[DIFF_OLD][number].count == 0) != equal)
		fail_msg("%s: %s", label, equal ? "not equal" : "equal");
	pair_end(&pair);
}

static uint64_t define_subject(struct vm *vm)
{
	return vm_define(vm, "app/Subject", vm->object, "to:L number:D");
}

static void same_number(struct vm *vm, bool after)
{
	(void)after;
	VM_NEW(vm, define_subject(vm), 0, 5);
}

static void other_number(struct vm *vm, bool after)
{
	VM_NEW(vm, define_subject(vm), 0, after ? 5 : 6);
}

static void null_or_not(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm);
	VM_NEW(vm, class, after ? 0 : vm_string(vm, "x"), 5);
}

static void other_text(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm);
	VM_NEW(vm, class, vm_string(vm, after ? "x" : "y"), 5);
}

static void other_coding(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm), text = vm_alloc(vm, vm_size(vm, vm->string));
	/* Latin-1, and the same as UTF-16, with another hash. */
	vm_new(vm, text, vm->string, (uint64_t[]){ vm->next, after, after ? 99 : 0, 0 }, 4);
	if (after)
		vm_primitive_array(vm, TYPE_BYTE, "a\0b\0", 4);
	else
		vm_primitive_array(vm, TYPE_BYTE, "ab", 2);
	VM_NEW(vm, class, text, 5);
}

static void refer_to(struct vm *vm, bool after, uint64_t number, uint64_t deeper)
{
	const uint64_t class = define_subject(vm), other = vm_define(vm, "app/Other", vm->object, "deep:L number:I");
	const uint64_t text = deeper ? vm_string(vm, after ? "x" : "y") : 0;
	VM_NEW(vm, class, VM_NEW(vm, other, text, number), 5);
}

static void other_number_there(struct vm *vm, bool after)
{
	refer_to(vm, after, after, 0);
}

static void other_text_two_steps_on(struct vm *vm, bool after)
{
	refer_to(vm, after, 0, 1);
}

static void other_class(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm), one = vm_define(vm, "app/One", vm->object, ""),
		       two = vm_define(vm, "app/Two", vm->object, "");
	VM_NEW(vm, class, VM_NEW(vm, after ? one : two, 0), 5);
}

static void other_elements(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm);
	VM_NEW(vm, class, vm_primitive_array(vm, TYPE_BYTE, after ? "ab" : "ac", 2), 5);
}

static void far_elements(struct vm *vm, bool after)
{
	static uint8_t bytes[CONTENT_MOST + 1];
	const uint64_t class = define_subject(vm);
	bytes[CONTENT_MOST] = after;
	VM_NEW(vm, class, vm_primitive_array(vm, TYPE_BYTE, bytes, sizeof bytes), 5);
}

static void to_a_class(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm);
	(void)after;
	VM_NEW(vm, class, vm->string, 5);
}

static void to_another_class(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm);
	VM_NEW(vm, class, after ? vm->string : vm->object, 5);
}

static void absent(struct vm *vm, bool after)
{
	const uint64_t class = define_subject(vm);
	VM_NEW(vm, class, after ? 0x123450 : 0x123458, 5);
}

static void addresses(struct vm *vm, bool after)
{
	const uint64_t class = vm_define(vm, "app/Subject", vm->object,
					 "mNativeHandle:J nativeObject:I skPtr:J address:J eetop:J shadow$_monitor_:I");
	VM_NEW(vm, class, after, after, after, after, after, after);
}

static void no_addresses(struct vm *vm, bool after)
{
	const uint64_t class = vm_define(vm, "app/Subject", vm->object, "alternative:J nativeName:L");
	VM_NEW(vm, class, after, 0);
}

static void one_field_more(struct vm *vm, bool after)
{
	const uint64_t class = vm_define(vm, "app/Subject", vm->object, after ? "added:J number:I to:L" : "to:L number:I");
	const uint64_t text = vm_string(vm, "x");
	if (after)
		VM_NEW(vm, class, 77, 5, text);
	else
		VM_NEW(vm, class, text, 5);
}

static void hidden_field(struct vm *vm, bool after)
{
	/* The values of two fields of one name, changed for each other. */
	const uint64_t super = vm_define(vm, "app/Super", vm->object, "number:I");
	VM_NEW(vm, vm_define(vm, "app/Subject", super, "number:I"), after ? 1 : 2, after ? 2 : 1);
}

/* An instance of which the dump has only the first bytes, and one that refers to another such. */
static void cut_short(struct vm *vm, uint32_t first, uint32_t there)
{
	const uint64_t class = vm_define(vm, "app/Subject", vm->object, "number:I to:L"),
		       other = vm_define(vm, "app/Other", vm->object, "a:I b:I c:I");
	const uint64_t ids[] = { vm_alloc(vm, vm_size(vm, class)), vm_alloc(vm, vm_size(vm, other)) };
	sub_instance_begin(&vm->heap, ids[0], class);
	put_u4(&vm->heap, first);
	sub_instance_end(&vm->heap);
	sub_instance_begin(&vm->heap, ids[1], other);
	put_u4(&vm->heap, there);
	sub_instance_end(&vm->heap);
	VM_NEW(vm, class, 7, ids[1]);
}

static void same_beginnings(struct vm *vm, bool after)
{
	(void)after;
	cut_short(vm, 1, 2);
}

static void other_beginning(struct vm *vm, bool after)
{
	cut_short(vm, after, 2);
}

static void other_beginning_there(struct vm *vm, bool after)
{
	cut_short(vm, 1, after);
}

static void array_of(struct vm *vm, bool after, const char *text)
{
	const uint64_t class = vm_define(vm, "[Lapp/Subject;", vm->object, "");
	const uint64_t elements[] = { vm_string(vm, after ? text : "x"), 0 };
	vm_define(vm, "app/Subject", vm->object, "");
	vm_object_array(vm, class, elements, 2);
}

static void test_contents(void **state)
{
	(void)state;
	check_equal("one number", same_number, true);
	check_equal("another number", other_number, false);
	check_equal("null", null_or_not, false);
	check_equal("another text", other_text, false);
	check_equal("another coding", other_coding, true);
	check_equal("another number behind the reference", other_number_there, false);
	check_equal("another text two references away", other_text_two_steps_on, true);
	check_equal("an object of another class", other_class, false);
	check_equal("an array of other elements", other_elements, false);
	check_equal("an array whose far elements differ", far_elements, true);
	check_equal("a class object", to_a_class, true);
	check_equal("another class object", to_another_class, false);
	check_equal("something absent", absent, true);
	check_equal("addresses", addresses, true);
	check_equal("what is no address", no_addresses, false);
	check_equal("one field more", one_field_more, true);
	check_equal("a hidden field", hidden_field, false);
	check_equal("two that are cut", same_beginnings, true);
	check_equal("the beginning of one that is cut", other_beginning, false);
	check_equal("the beginning of one that is cut behind the reference", other_beginning_there, false);
}

#define FIELDS (2 * CONTENT_MOST) /* eight a class */
#define SUBJECTS 200

/* Objects that refer to ones with a great many fields, of which each has another one set. */
static void make_wide(struct opened *opened, bool after)
{
	struct vm vm;
	char name[32];
	vm_init(&vm, VM_JDK9, 8);
	if (after)
		vm_alloc(&vm, UINT64_C(0x1000000));
	uint64_t wide = vm.object;
	for (unsigned i = 0; i < FIELDS / 8; i++) {
		snprintf(name, sizeof name, "app/Wide%u", i);
		wide = vm_define(&vm, name, wide, "a:B b:B c:B d:B e:B f:B g:B h:B");
	}
	const uint64_t class = vm_define(&vm, "app/Subject", vm.object, "to:L");
	for (unsigned i = 0; i < SUBJECTS; i++) {
		static uint64_t values[FIELDS];
		const unsigned set = i * 41 % FIELDS;
		values[set] = after;
		VM_NEW(&vm, class, vm_new(&vm, 0, wide, values, FIELDS));
		values[set] = 0;
	}
	opened_vm(opened, &vm, JVM);
}

/* Of what is behind a reference so many fields count: about the half here. Or each reference costs as much as a class has. */
static void test_wide(void **state)
{
	struct pair pair;
	(void)state;
	make_wide(&pair.dumps[DIFF_OLD], false);
	make_wide(&pair.dumps[DIFF_NEW], true);
	pair_start(&pair, 1);
	const struct diff_list *const *lists = (const struct diff_list *const *)pair.diff->objects.lists;
	const uint32_t subject = (uint32_t)(class_called(pair.diff, "app.Subject") - pair.diff->classes),
		       wide = (uint32_t)(class_called(pair.diff, "app.Wide1023") - pair.diff->classes);
	assert_in_range(lists[DIFF_NEW][subject].count, SUBJECTS / 4, SUBJECTS * 3 / 4);
	assert_int_equal(lists[DIFF_NEW][wide].count, SUBJECTS); /* themselves they are compared whole */
	pair_end(&pair);
}

/* Bytes of Strings whose characters ART writes as arrays, of 16 bytes each and of what the text takes, in steps of 8. */
static void test_art_texts(void **state)
{
	struct pair pair;
	(void)state;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		struct vm vm;
		vm_init(&vm, VM_ART, 4);
		for (unsigned i = 0; i < (side == DIFF_NEW ? 3 : 1); i++)
			vm_string(&vm, "characters are a part of it");
		opened_vm(&pair.dumps[side], &vm, "JAVA PROFILE 1.0.3");
	}
	pair_start(&pair, 1);
	assert_int_equal(pair.diff->texts.count, 1);
	const struct diff_sum *sums = pair.diff->texts.list[0].sums;
	assert_int_equal(sums[DIFF_OLD].count, 1);
	assert_int_equal(sums[DIFF_OLD].bytes, 16 + 32);
	assert_int_equal(sums[DIFF_NEW].count, 3);
	assert_int_equal(sums[DIFF_NEW].bytes, 3 * (16 + 32));
	pair_end(&pair);
}

static void check_arrays(const char *text, size_t left)
{
	struct pair pair;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		struct vm vm;
		vm_init(&vm, VM_JDK9, 8);
		if (side == DIFF_NEW)
			vm_alloc(&vm, UINT64_C(0x100000));
		array_of(&vm, side == DIFF_NEW, text);
		opened_vm(&pair.dumps[side], &vm, JVM);
	}
	pair_start(&pair, 1);
	const uint32_t number = (uint32_t)(class_called(pair.diff, "app.Subject[]") - pair.diff->classes);
	assert_int_equal(pair.diff->objects.lists[DIFF_NEW][number].count, left);
	assert_int_equal(pair.diff->objects.lists[DIFF_OLD][number].count, left);
	pair_end(&pair);
}

static void test_arrays(void **state)
{
	(void)state;
	check_arrays("x", 0);
	check_arrays("y", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),	 cmocka_unit_test(test_packed),	  cmocka_unit_test(test_paths),
		cmocka_unit_test(test_bitmaps),	 cmocka_unit_test(test_contents), cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_wide),	 cmocka_unit_test(test_art_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
