/* SPDX-License-Identifier: Apache-2.0 */
/* Stack traces, threads and what their frames hold: what whole records say, and that broken ones do no harm. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A file of records only, without a heap. */
static void open_records(struct opened *o, struct writer *records, unsigned id_width)
{
	struct writer all;
	writer_init(&all, id_width);
	put_header(&all, "JAVA PROFILE 1.0.2");
	writer_append(&all, records);
	writer_free(records);
	opened_writer(o, &all);
}

static void frame(struct writer *w, uint64_t id, int32_t line)
{
	put_frame(w, id, 1, 2, 3, 4, line);
}

static int32_t line_of(const struct opened *o, uint32_t serial, uint32_t i)
{
	const struct stacks *stacks = hprof_stacks(&o->hprof);
	struct stack_trace trace;
	struct stack_frame found;
	assert_non_null(stacks);
	assert_true(stack_trace(&o->hprof, stacks, serial, &trace));
	return stack_frame(&o->hprof, stacks, &trace, i, &found) ? found.line : INT32_MIN;
}

static void whole_records(void **state)
{
	(void)state;
	for (unsigned I = 4; I <= 8; I += 4) {
		static const uint64_t ids[] = { 12, 10, 500, 11 };
		struct opened o;
		struct writer w;
		struct stack_trace trace;
		struct stack_frame found;
		struct started started;
		writer_init(&w, I);
		for (unsigned i = 0; i < 3; i++)
			frame(&w, 10 + i, 100 + (int)i);
		put_trace(&w, 7, 3, ids, 4);
		put_name(&w, "between");
		put_load_class(&w, 4, 0x1000, 1);
		frame(&w, 500, -3);
		put_start_thread(&w, 3, 0x2000, 7, 77);
		open_records(&o, &w, I);
		const struct stacks *stacks = hprof_stacks(&o.hprof);
		assert_int_equal(o.hprof.run_count, 1);
		assert_int_equal(stacks->frame_count, 2);
		assert_true(stack_trace(&o.hprof, stacks, 7, &trace));
		assert_int_equal(trace.thread, 3);
		assert_int_equal(trace.count, 4);
		assert_true(stack_frame(&o.hprof, stacks, &trace, 2, &found));
		assert_int_equal(found.id, 500);
		assert_int_equal(found.method, 1);
		assert_int_equal(found.signature, 2);
		assert_int_equal(found.source, 3);
		assert_int_equal(found.line, LINE_NATIVE);
		assert_int_equal(stack_class(&o.hprof, stacks, found.class_serial), 0x1000);
		assert_int_equal(stack_class(&o.hprof, stacks, 5), 0);
		assert_int_equal(line_of(&o, 7, 0), 102);
		assert_int_equal(line_of(&o, 7, 1), 100);
		assert_false(stack_frame(&o.hprof, stacks, &trace, 4, &found));
		assert_true(stack_started(&o.hprof, stacks, 3, &started));
		assert_int_equal(started.object, 0x2000);
		assert_int_equal(started.name, 77);
		assert_false(stack_started(&o.hprof, stacks, 4, &started));
		assert_false(stack_trace(&o.hprof, stacks, 8, &trace));
		assert_ptr_equal(hprof_stacks(&o.hprof), stacks);
		opened_close(&o);
	}
}

/* The first of equal serials; frames that overlap, as when the agent writes them anew, or as nobody does. */
static void equal_numbers(void **state)
{
	static const uint64_t ids[] = { 1, 2, 3, 4, 5, 6, 7 };
	struct opened o;
	struct writer w;
	(void)state;
	writer_init(&w, 8);
	for (unsigned i = 1; i <= 5; i++)
		frame(&w, i, (int)i);
	put_trace(&w, 9, 1, ids, 7);
	put_trace(&w, 9, 2, ids, 1);
	for (unsigned i = 3; i <= 6; i++)
		frame(&w, i, 10 + (int)i);
	put_name(&w, "between");
	frame(&w, 4, 99);
	frame(&w, UINT64_MAX, 98);
	frame(&w, 0, 97);
	open_records(&o, &w, 8);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(line_of(&o, 9, i), (int32_t)i + 1);
	assert_int_equal(line_of(&o, 9, 5), 16);
	assert_int_equal(line_of(&o, 9, 6), INT32_MIN);
	opened_close(&o);
}

static void bad_counts(void **state)
{
	static const uint64_t ids[] = { 1, 1, 1 };
	struct opened o;
	struct writer w;
	struct stack_trace trace;
	struct stack_frame found;
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		writer_init(&w, 8);
		frame(&w, 1, 5);
		const size_t at = w.len;
		put_trace(&w, 2, 1, ids, 3);
		patch_u4(&w, at + RECORD_HEADER + 8, i ? 2 : UINT32_MAX);
		open_records(&o, &w, 8);
		assert_true(stack_trace(&o.hprof, hprof_stacks(&o.hprof), 2, &trace));
		assert_int_equal(trace.count, i ? 2 : 3);
		assert_true(stack_frame(&o.hprof, hprof_stacks(&o.hprof), &trace, 1, &found));
		assert_false(stack_frame(&o.hprof, hprof_stacks(&o.hprof), &trace, UINT32_MAX, &found));
		opened_close(&o);
	}
}

/* The whole file, cut at each byte of its records about stacks; all that it then shows is read. */
static void cut_records(void **state)
{
	static const uint64_t ids[] = { 1, 2, 3 };
	struct writer w, all;
	(void)state;
	writer_init(&w, 4);
	for (unsigned i = 1; i <= 3; i++)
		frame(&w, i, 5);
	put_trace(&w, 2, 1, ids, 3);
	put_start_thread(&w, 1, 8, 2, 0);
	writer_init(&all, 4);
	put_header(&all, "JAVA PROFILE 1.0.2");
	const size_t header = all.len;
	writer_append(&all, &w);
	for (size_t len = header; len <= all.len; len++) {
		struct opened o;
		struct stack_trace trace;
		struct stack_frame found;
		struct started started;
		assert_int_equal(opened_bytes(&o, all.data, len, 1), 0);
		const struct stacks *stacks = hprof_stacks(&o.hprof);
		assert_non_null(stacks);
		if (stack_trace(&o.hprof, stacks, 2, &trace))
			for (uint32_t i = 0; i < 3; i++)
				assert_true(stack_frame(&o.hprof, stacks, &trace, i, &found));
		assert_int_equal(stack_started(&o.hprof, stacks, 1, &started), len == all.len);
		opened_close(&o);
	}
	writer_free(&all);
	writer_free(&w);
}

/* A million frames of which each trace says it has them all, and ids that fall: no more than sorting. */
static void many_frames(void **state)
{
	enum { FRAMES = 1000000 };
	uint64_t *ids = malloc(FRAMES * sizeof *ids);
	struct opened o;
	struct writer w;
	(void)state;
	assert_non_null(ids);
	writer_init(&w, 4);
	for (uint32_t i = 0; i < FRAMES; i++) {
		ids[i] = 7;
		frame(&w, FRAMES - i, (int)i);
	}
	put_trace(&w, 2, 1, ids, FRAMES);
	open_records(&o, &w, 4);
	assert_int_equal(hprof_stacks(&o.hprof)->frame_count, FRAMES);
	assert_int_equal(line_of(&o, 2, FRAMES - 1), FRAMES - 7);
	opened_close(&o);
	free(ids);
}

/* --- threads --- */

static const struct thread *numbered(const struct opened *o, uint32_t number)
{
	const struct threads *threads = heap_threads(&o->heaps[0]);
	assert_non_null(threads);
	assert_true(number <= threads->count);
	return &threads->list[number - 1];
}

static void threads_and_locals(void **state)
{
	struct opened o;
	struct stack_trace trace;
	(void)state;
	opened_sample(&o, "threads");
	const struct heap *heap = &o.heaps[0];
	const struct threads *threads = heap_threads(heap);
	const struct stacks *stacks = hprof_stacks(&o.hprof);
	assert_int_equal(threads->count, 14);
	assert_false(threads->unclaimed);
	for (uint32_t i = 0; i < threads->count; i++)
		assert_ptr_equal(thread_at(threads, threads->list[i].offset), &threads->list[i]);
	assert_null(thread_at(threads, threads->list[0].offset + 1));
	assert_int_equal(thread_trace(heap, stacks, numbered(&o, 1), &trace), STACK_OWN);
	assert_int_equal(trace.count, 6);
	assert_int_equal(thread_trace(heap, stacks, numbered(&o, 2), &trace), STACK_OWN);
	assert_int_equal(trace.count, 0);
	assert_int_equal(thread_trace(heap, stacks, numbered(&o, 10), &trace), STACK_NONE);
	assert_int_equal(thread_trace(heap, stacks, numbered(&o, 11), &trace), STACK_ORIGIN);
	assert_int_equal(thread_trace(heap, stacks, numbered(&o, 12), &trace), STACK_NONE);
	/* Frame 1 of the first: two objects, of which one in two variables, and one that is not there. */
	const struct local_group *group = thread_group(threads, numbered(&o, 1), 1), *same = NULL;
	assert_int_equal(group->count, 3);
	assert_int_equal(group->present, 2);
	for (size_t i = 0; i < group->present; i++) {
		const struct local *local = &threads->locals[group->first + i];
		assert_ptr_equal(local_at(heap, threads, local->offset, &same), local);
		assert_ptr_equal(same, group);
	}
	assert_null(local_at(heap, threads, threads->locals[group->first + 2].offset, &same));
	assert_null(local_at(heap, threads, threads->list[0].offset, &same));
	assert_null(local_at(heap, threads, 0, &same));
	assert_null(local_at(heap, threads, UINT64_MAX, &same));
	assert_int_equal(thread_group(threads, numbered(&o, 1), 3)->present, 0);
	assert_null(thread_group(threads, numbered(&o, 1), 4));
	assert_int_equal(thread_group(threads, numbered(&o, 1), FRAME_NONE)->count, 2);
	assert_null(thread_group(threads, numbered(&o, 2), FRAME_NONE));
	opened_close(&o);
}

static void facts(void **state)
{
	struct opened o;
	struct thread_facts f;
	struct string name;
	(void)state;
	opened_sample(&o, "threads");
	const struct heap *heap = &o.heaps[0];
	thread_facts(heap, numbered(&o, 1), &f);
	assert_int_equal(f.number, 1);
	assert_int_equal(f.daemon, 1);
	assert_int_equal(f.priority, 5);
	assert_int_equal(f.status, 5);
	assert_int_equal(f.native, 0x7f0000001000);
	assert_true(thread_name(heap, &f, &name));
	assert_int_equal(name.units, 4);
	thread_facts(heap, numbered(&o, 9), &f);
	assert_true(f.is_virtual);
	assert_int_equal(f.status, -1);
	assert_int_equal(f.state, 260);
	assert_true(f.carrier != 0);
	/* The superclass's fields, not the subclass's of the same names. */
	thread_facts(heap, numbered(&o, 10), &f);
	assert_int_equal(f.number, 31);
	assert_int_equal(f.daemon, 0);
	assert_int_equal(f.priority, 7);
	assert_true(thread_name(heap, &f, &name));
	assert_int_equal(name.units, 8);
	thread_facts(heap, numbered(&o, 11), &f);
	assert_false(thread_name(heap, &f, &name));
	const struct name started = thread_started_name(heap, numbered(&o, 11));
	assert_string_equal(started.text, "agent's name");
	free((char *)(uintptr_t)started.text);
	thread_facts(heap, numbered(&o, 12), &f);
	assert_false(f.found);
	thread_facts(heap, numbered(&o, 13), &f);
	assert_true(f.found);
	assert_null(f.thread_class);
	assert_int_equal(f.number, -1);
	opened_close(&o);
}

/* The text of a file, once read in one go and once byte for byte from its places. */
static char *text_of(const struct opened *o, const char *path)
{
	const uint64_t root = TREE_ROOT;
	uint64_t ino;
	struct stat st;
	struct text whole = { 0 }, piece = { 0 };
	if (!resolve(o->tree, &root, 1, path, strlen(path), &ino))
		fail_msg("there is no %s", path);
	assert_int_equal(tree_getattr(o->tree, ino, &st), 0);
	assert_int_equal(read_file(o, ino, 0, (size_t)st.st_size + 100, &whole), 0);
	assert_int_equal(whole.len, st.st_size);
	for (size_t at = 0; at < whole.len; at += 1 + whole.len / 97) {
		piece.len = 0;
		assert_int_equal(read_file(o, ino, at, 50, &piece), 0);
		assert_memory_equal(piece.data, whole.data + at, piece.len);
	}
	text_free(&piece);
	text_putc(&whole, 0);
	return whole.data;
}

static void contains(const struct opened *o, const char *path, const char *part)
{
	char *text = text_of(o, path);
	if (!strstr(text, part))
		fail_msg("%s lacks \"%s\":\n%.2000s", path, part, text);
	free(text);
}

static void texts(void **state)
{
	struct opened o;
	(void)state;
	opened_sample(&o, "threads");
	contains(&o, "threads/01-main/stack.txt",
		 " state=RUNNABLE\n\tat com.example.Main.park(Native Method)\n\t- JNI local 0x");
	contains(&o, "threads/01-main/stack.txt",
		 "\tat com.example.Main.run(Unknown Source)\n\t- local 0x7000000e0 class java.lang.String\n"
		 "\tat com.example.Main.tab\\there(Compiled Code)\n\t- local 0x7fff00000 (not in the dump)\n"
		 "\tat ?.run(Main.java)\n\tat frame 0x4d (not in the dump)\n"
		 "\tin frame 9, which is not in the dump:\n\t- local ");
	contains(&o, "threads/02-parks/stack.txt", " state=WAITING (parking)\n\t(no Java frames)\n");
	contains(&o, "threads/03-sleeps/stack.txt", " state=TIMED_WAITING (sleeping)\n");
	contains(&o, "threads/04-blocked/stack.txt", " state=BLOCKED (on object monitor)\n");
	contains(&o, "threads/05-waits/stack.txt", " state=TIMED_WAITING (on object monitor)\n");
	contains(&o, "threads/06-ended/stack.txt", " state=TERMINATED\n");
	contains(&o, "threads/07-new/stack.txt", " state=NEW\n");
	contains(&o, "threads/08-eater/stack.txt",
		 " state=RUNNABLE, ran out of memory\n\tat java.lang.OutOfMemoryError.<init>(");
	contains(&o, "threads/09-unnamed/stack.txt", "\"\" #30 virtual object=0x");
	contains(&o, "threads/09-unnamed/stack.txt", " state=WAITING (PARKED)\n");
	contains(&o, "threads/10-.. %2Fetc%0A/stack.txt", "\".. /etc\\n\" #31 prio=7 tid=0x7f00bb10 object=0x");
	contains(&o, "threads/11-agent's name/stack.txt", "where it was made:)\n\tat com.example.Main.park(");
	contains(&o, "threads/12-unnamed/stack.txt", "\"\" object=0x7fff00000 (not in the dump)\n\t(no stack trace");
	contains(&o, "threads/13-unnamed/stack.txt", " class=java.lang.String\n");
	contains(&o, "threads/14-deep/stack.txt", "\t- … 4000 more\n");
	opened_close(&o);
}

/* A long name that each frame of a deep stack has does not make the text long. */
static void long_names(void **state)
{
	enum { FRAMES = 100000, NAME = 60000 };
	static char name[NAME];
	uint64_t *ids = malloc(FRAMES * sizeof *ids);
	struct opened o;
	struct vm vm;
	(void)state;
	assert_non_null(ids);
	memset(name, 'n', sizeof name);
	memcpy(name + 1022, "\xe6\x97\xa5", 3); /* a character where names may be cut */
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t long_name = put_utf8(&vm.names, name, NAME);
	put_frame(&vm.names, 1, long_name, long_name, long_name, 1, 1);
	for (unsigned i = 0; i < FRAMES; i++)
		ids[i] = 1;
	put_trace(&vm.names, 2, 1, ids, FRAMES);
	put_trace(&vm.names, 3, 2, ids, 1);
	sub_root(&vm.heap, ROOT_THREAD_OBJ, vm.string, 0, 1, 2);
	sub_root(&vm.heap, ROOT_THREAD_OBJ, vm.string, 0, 2, 3);
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
	char *text = text_of(&o, "threads/1-unnamed/stack.txt");
	assert_true(strlen(text) < 20 << 20);
	free(text);
	text = text_of(&o, "threads/2-unnamed/stack.txt");
	assert_non_null(strstr(text, "nnn…(nnn"));
	assert_null(strstr(text, "\xe6"));
	free(text);
	opened_close(&o);
	free(ids);
}

static uint64_t named_thread(struct vm *vm, uint64_t class, const char *name)
{
	return VM_NEW(vm, class, vm_string(vm, name));
}

/* As the serviceability agent writes them: all roots name the dummy trace, and hidden threads have none of their own. */
static void matched_by_order(void **state)
{
	static const char *const names[] = { "main", "Service Thread", "C2 CompilerThread0", "C2", "work" };
	static const uint64_t ids[] = { 1 };
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		struct opened o;
		struct vm vm;
		struct stack_trace trace;
		vm_init(&vm, VM_JDK9, 8);
		const uint64_t class = vm_define(&vm, "java/lang/Thread", vm.object, "name:L");
		put_frame(&vm.names, 1, 0, 0, 0, 1, 1);
		put_trace(&vm.names, 1, 0, NULL, 0);
		for (uint32_t i = 0; i < (variant == 1 ? 2 : variant == 2 ? 4 : 3); i++)
			put_trace(&vm.names, 2 + i, variant == 3 ? 1 : 1 + i, ids, i != 1);
		for (uint32_t i = 0; i < 5; i++)
			sub_root(&vm.heap, ROOT_THREAD_OBJ, named_thread(&vm, class, names[i]), 0, i + 1, 1);
		opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
		const struct threads *threads = heap_threads(&o.heaps[0]);
		assert_int_equal(threads->matched, variant == 0);
		assert_int_equal(threads->unclaimed, variant != 0);
		static const uint32_t traces[] = { 2, 0, 0, 3, 4 };
		for (uint32_t i = 0; i < 5; i++) {
			const enum thread_stack whose =
				thread_trace(&o.heaps[0], hprof_stacks(&o.hprof), &threads->list[i], &trace);
			assert_int_equal(whose, !variant && traces[i] ? STACK_OWN : STACK_NONE);
			if (whose == STACK_OWN)
				assert_int_equal(trace.serial, traces[i]);
		}
		opened_close(&o);
	}
}

/* Where no root names a thread, there is no folder. */
static void without_threads(void **state)
{
	const uint64_t root = TREE_ROOT;
	struct opened o;
	uint64_t ino;
	(void)state;
	opened_sample(&o, "jdk8");
	assert_false(resolve(o.tree, &root, 1, "threads", 7, &ino));
	assert_int_equal(heap_threads(&o.heaps[0])->count, 0);
	opened_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_records), cmocka_unit_test(equal_numbers),
		cmocka_unit_test(bad_counts),	 cmocka_unit_test(cut_records),
		cmocka_unit_test(many_frames),	 cmocka_unit_test(threads_and_locals),
		cmocka_unit_test(facts),	 cmocka_unit_test(texts),
		cmocka_unit_test(long_names),	 cmocka_unit_test(without_threads),
		cmocka_unit_test(matched_by_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
