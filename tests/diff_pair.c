/* SPDX-License-Identifier: Apache-2.0 */
#include "diff_pair.h"

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

void pair_open(struct pair *pair, const struct graph_options *options)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		pair->graphs[side] = must(graph_open(&pair->dumps[side].heaps[0], options));
	pair->diff = must(diff_open(&pair->dumps[DIFF_OLD].heaps[0], &pair->dumps[DIFF_NEW].heaps[0], pair->graphs[DIFF_OLD],
				    pair->graphs[DIFF_NEW], options));
}

void pair_start(struct pair *pair, unsigned threads)
{
	pair_open(pair, &(const struct graph_options){ .threads = threads });
	assert_int_equal(job_need(&pair->diff->objects_job), 0);
	assert_int_equal(job_need(&pair->diff->strings_job), 0);
	assert_int_equal(job_need(&pair->diff->bitmaps_job), 0);
	assert_int_equal(job_need(&pair->diff->dominators_job), 0);
}

void pair_end(struct pair *pair)
{
	diff_cancel(pair->diff);
	diff_join(pair->diff);
	diff_close(pair->diff);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		graph_close(pair->graphs[side]);
		opened_close(&pair->dumps[side]);
	}
}

const struct diff_class *class_called(const struct diff *diff, const char *name)
{
	for (uint32_t i = 0; i < diff->class_count; i++)
		if (diff->classes[i].name.len == strlen(name) && !memcmp(diff->classes[i].name.text, name, strlen(name)))
			return &diff->classes[i];
	fail_msg("no class %s", name);
	return NULL;
}

static uint64_t random_state = 1;

uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

void make_random(struct opened *opened, unsigned count)
{
	struct vm vm;
	uint64_t classes[5], made[512];
	vm_init(&vm, VM_JDK9, 8);
	for (unsigned i = 0; i < 5; i++) {
		char name[32];
		snprintf(name, sizeof name, "app/Kind%u", i);
		classes[i] = vm_define(&vm, name, vm.object, i % 2 ? "a:L b:L" : "a:L b:L c:J");
	}
	for (unsigned i = 0; i < count; i++) {
		/* Mostly chains, so that paths get deep. */
		const uint64_t a = i && next_random(8) ? made[i - 1] : 0, b = i && !next_random(4) ? made[next_random(i)] : 0;
		made[i] = VM_NEW(&vm, classes[next_random(8) < 5 ? next_random(5) : i / 40 % 5], a, b);
		if (!next_random(40))
			vm_root(&vm, ROOT_JNI_GLOBAL, made[i]);
	}
	vm_root(&vm, ROOT_JNI_GLOBAL, made[count - 1]);
	opened_vm(opened, &vm, JVM);
}
