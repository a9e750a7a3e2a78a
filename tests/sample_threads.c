/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of threads: each way in which HotSpot and the hprof agent write one, and what damaged dumps say. */
#include "samples.h"

#include <string.h>

#define NOWHERE UINT64_C(0x7fff00000)	/* no object is there */
#define DEPTH 5000			/* frames of a deep stack */
#define MANY_LOCALS 5000
#define MANY_THREADS 5000

struct classes {
	uint64_t thread, holder, virtual_thread, named;
	uint32_t main_serial, error_serial;	/* class serial numbers */
};

static const struct member_spec *virtual_states(unsigned *count)
{
	/* JDK 24's numbers; TRACE_PINNING_MODE is none of them. */
	static const struct member_spec states[] = {
		{ .name = "TRACE_PINNING_MODE", .type = TYPE_INT, .value = 4 },
		{ .name = "NEW", .type = TYPE_INT, .value = 0 },
		{ .name = "RUNNING", .type = TYPE_INT, .value = 2 },
		{ .name = "PARKED", .type = TYPE_INT, .value = 4 },
		{ .name = "TIMED_PARKED", .type = TYPE_INT, .value = 7 },
		{ .name = "SUSPENDED", .type = TYPE_INT, .value = 256 },
	};
	*count = sizeof states / sizeof *states;
	return states;
}

static void define_classes(struct vm *vm, struct classes *c)
{
	unsigned count;
	const struct member_spec *states = virtual_states(&count);
	c->holder = vm_define(vm, "java/lang/Thread$FieldHolder", vm->object,
			      "group:L task:L stackSize:J priority:I threadStatus:I daemon:Z");
	c->thread = vm_define(vm, "java/lang/Thread", vm->object, "eetop:J tid:J name:L holder:L");
	const uint64_t base = vm_define(vm, "java/lang/BaseVirtualThread", c->thread, "");
	c->virtual_thread =
		vm_define_statics(vm, "java/lang/VirtualThread", base, "carrierThread:L state:I", states, count);
	/* Its fields are named as its superclass's, or as those were named up to JDK 18. */
	c->named = vm_define(vm, "com/example/Named", c->thread, "name:L tid:J priority:I daemon:Z threadStatus:I");
	c->main_serial = vm->next_serial;
	vm_define(vm, "com/example/Main", vm->object, "");
	c->error_serial = vm->next_serial;
	vm_define(vm, "java/lang/OutOfMemoryError", vm->object, "");
}

static uint64_t make_holder(struct vm *vm, const struct classes *c, uint64_t priority, uint64_t status, bool daemon)
{
	return VM_NEW(vm, c->holder, 0, 0, 0, priority, status, daemon);
}

static uint64_t make_thread(struct vm *vm, const struct classes *c, const char *name, uint64_t number, uint64_t status)
{
	const uint64_t holder = make_holder(vm, c, 5, status, number % 2);
	const uint64_t text = name ? vm_string(vm, name) : 0;
	return VM_NEW(vm, c->thread, 0x7f0000000000 + number * 4096, number, text, holder);
}

/* Frames `first` to `first` + 4: all that can be said of a place in a program. */
static void put_frames(struct vm *vm, const struct classes *c, uint64_t first)
{
	struct writer *names = &vm->names;
	const uint64_t run = put_name(names, "run"), signature = put_name(names, "()V");
	const uint64_t file = put_name(names, "Main.java");
	put_frame(names, first, put_name(names, "park"), signature, file, c->main_serial, -3);
	put_frame(names, first + 1, run, signature, file, c->main_serial, 42);
	put_frame(names, first + 2, run, signature, 0, c->main_serial, -1);
	put_frame(names, first + 3, put_name(names, "tab\there"), signature, file, c->main_serial, -2);
	put_frame(names, first + 4, run, signature, file, 0xffff, 0);
}

static void put_thread(struct vm *vm, uint64_t id, uint32_t serial, uint32_t trace)
{
	sub_root(&vm->heap, ROOT_THREAD_OBJ, id, 0, serial, trace);
}

static void put_local(struct vm *vm, uint64_t id, uint32_t thread, uint32_t frame)
{
	sub_root(&vm->heap, ROOT_JAVA_FRAME, id, 0, thread, frame);
}

/* Threads 1 to 8: whole. */
static void make_sound_threads(struct vm *vm, const struct classes *c, uint64_t target)
{
	static const uint64_t main_frames[] = { 1, 2, 3, 4, 5, 77 }, error_frames[] = { 11, 2 };
	struct writer *names = &vm->names;
	put_frames(vm, c, 1);
	put_trace(names, 1, 0, NULL, 0);
	put_trace(names, 2, 1, main_frames, 6);
	const uint64_t main_thread = make_thread(vm, c, "main", 1, 0x0005);
	put_thread(vm, main_thread, 1, 2);
	sub_root(&vm->heap, ROOT_JNI_LOCAL, target, 0, 1, 0);
	put_local(vm, main_thread, 1, 1);
	put_local(vm, target, 1, 1);
	put_local(vm, target, 1, 1); /* of two variables */
	put_local(vm, NOWHERE, 1, 1);
	put_local(vm, vm->string, 1, 2);
	put_local(vm, NOWHERE, 1, 3); /* and nothing else there */
	put_local(vm, target, 1, 9); /* below the last frame */
	put_local(vm, target, 1, UINT32_MAX);
	sub_root(&vm->heap, ROOT_NATIVE_STACK, main_thread, 0, 1, 0);
	put_local(vm, target, 99, 0); /* of no thread */
	static const uint64_t states[] = { 0x0291, 0x00e1, 0x0401, 0x01a1, 0x0002, 0x0000 };
	static const char *const state_names[] = { "parks", "sleeps", "blocked", "waits", "ended", "new" };
	for (uint32_t i = 0; i < 6; i++) {
		put_thread(vm, make_thread(vm, c, state_names[i], 2 + i, states[i]), 2 + i, 3 + i);
		put_trace(names, 3 + i, 2 + i, NULL, 0);
	}
	put_frame(names, 11, put_name(names, "<init>"), put_name(names, "()V"),
		  put_name(names, "OutOfMemoryError.java"), c->error_serial, 48);
	put_trace(names, 9, 8, error_frames, 2);
	put_thread(vm, make_thread(vm, c, "eater", 8, 0x0005), 8, 9);
	put_local(vm, target, 8, 1);
}

/* Threads 9 to 13: of other kinds. */
static void make_odd_threads(struct vm *vm, const struct classes *c, uint64_t target)
{
	static const uint64_t frames[] = { 1, 2 };
	struct writer *names = &vm->names;
	put_trace(names, 10, 9, frames, 2);
	const uint64_t carrier = make_thread(vm, c, "carrier", 9, 0x0005);
	put_thread(vm, VM_NEW(vm, c->virtual_thread, carrier, 256 + 4, 0, 30, vm_string(vm, ""), 0), 9, 10);
	put_local(vm, target, 9, 1);
	const uint64_t decoy = vm_string(vm, "the subclass's own");
	const uint64_t named = VM_NEW(vm, c->named, decoy, 77, 99, true, 2, 0x7f00bb10, 31, vm_string(vm, ".. /etc\n"),
				      make_holder(vm, c, 7, 0x0005, false));
	put_thread(vm, named, 10, UINT32_MAX);
	/* The hprof agent's: where the Thread was made, and a name of its own. */
	put_trace(names, 300, 0, frames, 2);
	const uint64_t agent = make_thread(vm, c, NULL, 11, 0x0005);
	put_start_thread(names, 200001, agent, 300, put_name(names, "agent's name"));
	put_thread(vm, agent, 200001, 300);
	put_local(vm, target, 200001, 1);
	put_thread(vm, NOWHERE, 12, 1);
	put_thread(vm, target, 13, 1); /* no Thread */
	put_thread(vm, 0, 200000, 300); /* none at all */
	put_thread(vm, target, 13, 1); /* twice the same */
}

static void make_deep_thread(struct vm *vm, const struct classes *c, uint64_t target)
{
	static uint64_t frames[DEPTH];
	for (unsigned i = 0; i < DEPTH; i++)
		frames[i] = i % 2 ? 1 : 2;
	put_trace(&vm->names, 20, 14, frames, DEPTH);
	put_thread(vm, make_thread(vm, c, "deep", 14, 0x0005), 14, 20);
	for (unsigned i = 0; i < DEPTH; i += 3)
		put_local(vm, target, 14, i);
	for (unsigned i = 0; i < MANY_LOCALS; i++)
		put_local(vm, VM_NEW(vm, vm->object, 0), 14, 4000);
}

void sample_threads(struct writer *out)
{
	struct vm vm;
	struct classes c;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	define_classes(&vm, &c);
	const uint64_t target = vm_string(&vm, "target");
	make_sound_threads(&vm, &c, target);
	make_odd_threads(&vm, &c, target);
	make_deep_thread(&vm, &c, target);
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}

void sample_many_threads(struct writer *out)
{
	struct vm vm;
	struct classes c;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	define_classes(&vm, &c);
	const uint64_t target = vm_string(&vm, "target");
	for (uint32_t i = 0; i < MANY_THREADS; i++) {
		char name[40];
		snprintf(name, sizeof name, "pool-%u", i);
		put_thread(&vm, make_thread(&vm, &c, name, i, 0x0005), i + 1, UINT32_MAX);
		put_local(&vm, target, i + 1, i % 2 ? 3 : UINT32_MAX);
	}
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}
