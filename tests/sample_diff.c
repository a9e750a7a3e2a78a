/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program at two moments, and the later one in another process: what is new and what is gone is known. Objects of one
 * kind lie in a region of addresses of their own, so that those that live on have the address that they had.
 */
#include "samples.h"

#include <stdio.h>
#include <string.h>

#define REGION UINT64_C(0x10000)

/* Where the next objects lie. */
static void region(struct vm *vm, const struct diff_sample *sample, unsigned number)
{
	const uint64_t first = vm->heap.id_width == 4 ? UINT64_C(0x6e100000) : UINT64_C(0x700100000);
	vm->next = first + number * REGION + (sample->moment == DIFF_OTHER ? UINT64_C(0x4000000) : 0);
}

static void make_thread(struct vm *vm, const struct diff_sample *sample, uint64_t class, const char *name, uint64_t number)
{
	const uint64_t process = sample->moment == DIFF_OTHER ? 0x7f5500000000 : 0x7f0000000000;
	const uint64_t text = vm_string(vm, name);
	const uint64_t thread = VM_NEW(vm, class, process + number * 4096, number, text);
	sub_root(&vm->heap, ROOT_THREAD_OBJ, thread, 0, (uint32_t)number, 0);
}

/* A row lives from its number's moment on; its place stays empty before and afterwards. */
static void make_rows(struct vm *vm, struct diff_sample *sample, const uint64_t *texts, uint64_t array)
{
	const bool before = sample->moment == DIFF_BEFORE;
	const uint64_t class = vm_define(vm, "app/Row", vm->object, "name:L number:I nativePeer:J");
	uint64_t rows[DIFF_ROWS] = { 0 };
	region(vm, sample, 3);
	for (unsigned i = 0; i < DIFF_ROWS; i++) {
		sample->rows[i] = vm_alloc(vm, vm_size(vm, class));
		if (before ? i < DIFF_ROWS_BEFORE : i >= DIFF_ROWS_GONE)
			rows[i] = vm_new(vm, sample->rows[i], class,
					 (const uint64_t[]){ texts[i], i, sample->moment == DIFF_OTHER ? i * 3 : i * 5 }, 3);
	}
	region(vm, sample, 4);
	sample->table = vm_object_array(vm, array, rows, DIFF_ROWS);
	vm_root(vm, ROOT_JNI_GLOBAL, sample->table);
}

/* Equal ones: five of the first kind and two of the second; later eight and one. */
static void make_tags(struct vm *vm, struct diff_sample *sample)
{
	static const uint8_t kinds[2][DIFF_TAGS] = { { 1, 1, 1, 1, 1, 2, 2 }, { 1, 1, 1, 1, 1, 2, 0, 1, 1, 1 } };
	const uint64_t class = vm_define(vm, "app/Tag", vm->object, "kind:I");
	region(vm, sample, 6);
	for (unsigned i = 0; i < DIFF_TAGS; i++) {
		const uint64_t kind = kinds[sample->moment != DIFF_BEFORE][i];
		sample->tags[i] = vm_alloc(vm, vm_size(vm, class));
		if (kind)
			vm_root(vm, ROOT_JNI_GLOBAL, vm_new(vm, sample->tags[i], class, &kind, 1));
	}
}

/* The same contents at other places. */
static void make_nodes(struct vm *vm, const struct diff_sample *sample, const uint64_t *texts)
{
	const uint64_t class = vm_define(vm, "app/Node", vm->object, "text:L payload:D");
	region(vm, sample, sample->moment == DIFF_BEFORE ? 8 : 9);
	for (uint64_t i = 0; i < 20; i++)
		vm_root(vm, ROOT_JNI_GLOBAL, VM_NEW(vm, class, texts[i], i << 40));
}

/* A hidden class's name ends in what differs from run to run; lambdas of one class may hold different things. */
static void make_lambdas(struct vm *vm, const struct diff_sample *sample)
{
	static const char *const names[][2] = {
		{ "app/Main$$Lambda$14+0x0000000800c03000", "app/Main$$Lambda$15+0x0000000800c03a18" },
		{ "app/Main$$Lambda$15+0x0000000801c03000", "app/Main$$Lambda$16+0x0000000801c0ba18" },
		{ "app/Main$$Lambda+0x00007f5501c03000", "app/Main$$Lambda+0x00007f5501c0ba18" },
	};
	const uint64_t number = vm_define(vm, names[sample->moment][0], vm->object, "arg$1:I");
	const uint64_t text = vm_define(vm, names[sample->moment][1], vm->object, "arg$1:L");
	region(vm, sample, 11);
	for (uint64_t i = 0; i < 3; i++) {
		vm_root(vm, ROOT_JNI_GLOBAL, VM_NEW(vm, number, i));
		vm_root(vm, ROOT_JNI_GLOBAL, VM_NEW(vm, text, 0));
	}
}

/* A list that has grown: the same holder, another array. And a number that was counted up. */
static void make_grown(struct vm *vm, struct diff_sample *sample, const uint64_t *texts, uint64_t array)
{
	const bool before = sample->moment == DIFF_BEFORE;
	const uint64_t holder = vm_define(vm, "app/Holder", vm->object, "elements:L size:I");
	const uint64_t counter = vm_define(vm, "app/Counter", vm->object, "value:J");
	region(vm, sample, 13);
	sample->holder = vm_alloc(vm, vm_size(vm, holder));
	sample->counter = VM_NEW(vm, counter, before ? 7 : 8);
	region(vm, sample, before ? 14 : 15);
	sample->elements = vm_object_array(vm, array, texts, before ? 4 : 8);
	vm_new(vm, sample->holder, holder, (const uint64_t[]){ sample->elements, before ? 4 : 8 }, 2);
	vm_root(vm, ROOT_JNI_GLOBAL, sample->holder);
	vm_root(vm, ROOT_JNI_GLOBAL, sample->counter);
}

static void make_strings(struct vm *vm, struct diff_sample *sample)
{
	const bool before = sample->moment == DIFF_BEFORE;
	region(vm, sample, before ? 17 : 18);
	sample->string_count = before ? 2 : 6;
	for (unsigned i = 0; i < sample->string_count; i++) {
		sample->strings[i] = vm_string(vm, before ? "gone" : "leaked");
		vm_root(vm, ROOT_JNI_GLOBAL, sample->strings[i]);
	}
	region(vm, sample, before ? 20 : 21);
	sample->single = vm_new(vm, 0, vm_define(vm, before ? "app/Early" : "app/Late", vm->object, "size:I"), NULL, 0);
	vm_root(vm, ROOT_JNI_GLOBAL, sample->single);
}

void sample_diff(struct writer *out, enum vm_kind kind, unsigned id_width, struct diff_sample *sample)
{
	struct vm vm;
	uint64_t texts[DIFF_TEXTS];
	vm_init(&vm, kind, id_width);
	region(&vm, sample, 0);
	const uint64_t array = vm_define(&vm, "[Ljava/lang/Object;", vm.object, "");
	const uint64_t thread = vm_define(&vm, "java/lang/Thread", vm.object, "eetop:J tid:J name:L");
	region(&vm, sample, 1);
	make_thread(&vm, sample, thread, "main", 1);
	make_thread(&vm, sample, thread, "worker", 9);
	for (unsigned i = 0; i < DIFF_TEXTS; i++) {
		char text[32];
		snprintf(text, sizeof text, "text %u", i);
		texts[i] = vm_string(&vm, text);
		vm_root(&vm, ROOT_JNI_GLOBAL, texts[i]);
	}
	region(&vm, sample, 2);
	make_rows(&vm, sample, texts, array);
	region(&vm, sample, 5);
	make_tags(&vm, sample);
	region(&vm, sample, 7);
	make_nodes(&vm, sample, texts);
	region(&vm, sample, 10);
	make_lambdas(&vm, sample);
	region(&vm, sample, 12);
	make_grown(&vm, sample, texts, array);
	region(&vm, sample, 16);
	make_strings(&vm, sample);
	writer_init(out, id_width);
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}

void sample_diff_before(struct writer *out)
{
	sample_diff(out, VM_JDK9, 8, &(struct diff_sample){ .moment = DIFF_BEFORE });
}

void sample_diff_after(struct writer *out)
{
	sample_diff(out, VM_JDK9, 8, &(struct diff_sample){ .moment = DIFF_AFTER });
}

void sample_diff_other(struct writer *out)
{
	sample_diff(out, VM_JDK9, 8, &(struct diff_sample){ .moment = DIFF_OTHER });
}
