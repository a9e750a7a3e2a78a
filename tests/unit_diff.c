/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two dumps differ in: dumps whose differences are known (sample_diff.c), compared by id and by content, both ways;
 * each dump with itself; names that are folded; what decides whether ids count; retained bytes by path, against a walk up
 * from each object. tests/mount-diff-heap.sh has the comparison of real dumps with another program's.
 */
#include "fixture.h"
#include "diff/parts.h"
#include "tree/diff.h"
#include "walk.h"

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

/* --- comparing --- */

struct pair {
	struct opened dumps[DIFF_SIDES];
	struct graph *graphs[DIFF_SIDES];
	struct diff *diff;
};

static void pair_start(struct pair *pair, unsigned threads)
{
	const struct graph_options options = { .threads = threads };
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		pair->graphs[side] = must(graph_open(&pair->dumps[side].heaps[0], &options));
	pair->diff = must(diff_open(&pair->dumps[DIFF_OLD].heaps[0], &pair->dumps[DIFF_NEW].heaps[0], pair->graphs[DIFF_OLD],
				    pair->graphs[DIFF_NEW], &options));
	assert_int_equal(job_need(&pair->diff->objects_job), 0);
	assert_int_equal(job_need(&pair->diff->strings_job), 0);
	assert_int_equal(job_need(&pair->diff->bitmaps_job), 0);
	assert_int_equal(job_need(&pair->diff->dominators_job), 0);
}

static void pair_end(struct pair *pair)
{
	diff_cancel(pair->diff);
	diff_join(pair->diff);
	diff_close(pair->diff);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		graph_close(pair->graphs[side]);
		opened_close(&pair->dumps[side]);
	}
}

static const struct diff_class *class_called(const struct diff *diff, const char *name)
{
	for (uint32_t i = 0; i < diff->class_count; i++)
		if (diff->classes[i].name.len == strlen(name) && !memcmp(diff->classes[i].name.text, name, strlen(name)))
			return &diff->classes[i];
	fail_msg("no class %s", name);
	return NULL;
}

/* What is expected to be without partner, of all classes but byte[] and char[], which the text of Strings decides. */
struct expected {
	const char *class;
	const uint64_t *ids;
	size_t count;
};

static void check_side(const struct diff *diff, enum diff_side side, const struct expected *expected, size_t count)
{
	uint64_t total = 0;
	for (uint32_t i = 0; i < diff->class_count; i++) {
		const struct diff_list *list = &diff->objects.lists[side][i];
		const struct name name = diff->classes[i].name;
		const struct expected *of = NULL;
		struct object object;
		size_t at;
		total += list->count;
		for (size_t j = 0; j < count; j++)
			if (name.len == strlen(expected[j].class) && !memcmp(name.text, expected[j].class, name.len))
				of = &expected[j];
		if (!strncmp(name.text, "byte[]", 6) || !strncmp(name.text, "char[]", 6))
			continue;
		if (list->count != (of ? of->count : 0))
			fail_msg("%.*s: %zu objects of side %u are left, not %zu", (int)name.len, name.text, list->count, side,
				 of ? of->count : 0);
		for (size_t j = 0; j < list->count; j++) {
			assert_true(heap_object(diff->heaps[side], list->offsets[j], &object));
			if (object.id != of->ids[j])
				fail_msg("%.*s: 0x%" PRIx64 " is left, not 0x%" PRIx64, (int)name.len, name.text, object.id,
					 of->ids[j]);
			assert_true(diff_is_left(diff, side, &object, &at));
			assert_int_equal(at, j);
		}
	}
	assert_int_equal(diff->objects.left[side].count, total);
}

static void open_moment(struct opened *opened, enum vm_kind kind, unsigned id_width, struct diff_sample *sample)
{
	struct writer out;
	sample_diff(&out, kind, id_width, sample);
	opened_writer(opened, &out);
}

/* Both ways: what is new one way is removed the other. */
static void check_known(enum diff_moment moment, enum vm_kind kind, unsigned id_width, bool by_id, unsigned threads)
{
	struct diff_sample before = { .moment = DIFF_BEFORE }, after = { .moment = moment };
	for (unsigned turned = 0; turned < 2; turned++) {
		const enum diff_side old = turned ? DIFF_NEW : DIFF_OLD, new = turned ? DIFF_OLD : DIFF_NEW;
		struct pair pair;
		open_moment(&pair.dumps[old], VM_JDK9, 8, &before);
		open_moment(&pair.dumps[new], kind, id_width, &after);
		pair_start(&pair, threads);
		assert_int_equal(pair.diff->objects.judgement.by_id, by_id);
		const uint64_t arrays_before[] = { before.table, before.elements }, arrays_after[] = { after.table, after.elements };
		const size_t table = by_id ? 1 : 0, others = by_id ? 0 : 1;
		const struct expected gone[] = {
			{ "app.Row", before.rows, DIFF_ROWS_GONE },
			{ "app.Tag", before.tags + 6, 1 },
			{ "java.lang.String", before.strings, 2 },
			{ "app.Early", &before.single, 1 },
			{ "java.lang.Object[]", arrays_before + table, 2 - table },
			{ "app.Holder", &before.holder, others },
			{ "app.Counter", &before.counter, others },
		};
		const struct expected come[] = {
			{ "app.Row", after.rows + DIFF_ROWS_BEFORE, DIFF_ROWS - DIFF_ROWS_BEFORE },
			{ "app.Tag", after.tags + 7, 3 },
			{ "java.lang.String", after.strings, 6 },
			{ "app.Late", &after.single, 1 },
			{ "java.lang.Object[]", arrays_after + table, 2 - table },
			{ "app.Holder", &after.holder, others },
			{ "app.Counter", &after.counter, others },
		};
		check_side(pair.diff, old, gone, sizeof gone / sizeof *gone);
		check_side(pair.diff, new, come, sizeof come / sizeof *come);
		/* Of the moved ones, nothing is left, and their class has not changed. */
		assert_false(diff_changed(class_called(pair.diff, "app.Node")->sums) && id_width == 8);
		assert_int_equal(class_called(pair.diff, "app.Main$$Lambda")->sums[DIFF_OLD].count, 6);
		assert_int_equal(class_called(pair.diff, "app.Main$$Lambda")->sums[DIFF_NEW].count, 6);
		pair_end(&pair);
	}
}

static void test_one_process(void **state)
{
	(void)state;
	check_known(DIFF_AFTER, VM_JDK9, 8, true, 1);
	check_known(DIFF_AFTER, VM_JDK9, 8, true, 4);
}

static void test_other_process(void **state)
{
	(void)state;
	check_known(DIFF_OTHER, VM_JDK9, 8, false, 1);
	check_known(DIFF_OTHER, VM_JDK9, 8, false, 4);
}

static void test_other_layout(void **state)
{
	(void)state;
	check_known(DIFF_OTHER, VM_JDK9, 4, false, 1);
	check_known(DIFF_OTHER, VM_JDK8, 8, false, 2);
}

static void test_tables(void **state)
{
	struct diff_sample before = { .moment = DIFF_BEFORE }, after = { .moment = DIFF_AFTER };
	struct pair pair;
	struct object object;
	struct string text;
	(void)state;
	open_moment(&pair.dumps[DIFF_OLD], VM_JDK9, 8, &before);
	open_moment(&pair.dumps[DIFF_NEW], VM_JDK9, 8, &after);
	pair_start(&pair, 2);
	const struct diff *diff = pair.diff;
	const struct diff_class *row = class_called(diff, "app.Row");
	assert_int_equal(row->sums[DIFF_OLD].count, 40);
	assert_int_equal(row->sums[DIFF_NEW].count, 45);
	assert_int_equal(row->sums[DIFF_NEW].bytes - row->sums[DIFF_OLD].bytes, 5 * 32);
	for (uint32_t i = 0; i + 1 < diff->changed_count; i++)
		assert_true(diff_order(diff->classes[diff->changed[i]].sums, diff->classes[diff->changed[i + 1]].sums) <= 0);
	assert_int_equal(diff->texts.count, 2);
	assert_true(heap_object(diff->heaps[diff->texts.list[0].side], diff->texts.list[0].offset, &object));
	assert_true(heap_string(diff->heaps[diff->texts.list[0].side], &object, &text));
	assert_int_equal(text.units, strlen("leaked"));
	assert_int_equal(diff->texts.list[0].sums[DIFF_OLD].count, 0);
	assert_int_equal(diff->texts.list[0].sums[DIFF_NEW].count, 6);
	assert_int_equal(diff->texts.list[0].sums[DIFF_NEW].bytes, 6 * (24 + 24));
	assert_int_equal(diff->texts.list[1].sums[DIFF_OLD].count, 2);
	assert_int_equal(diff->texts.list[1].sums[DIFF_NEW].count, 0);
	assert_int_equal(diff->bitmaps.count, 0);
	pair_end(&pair);
}

/* --- with itself --- */

static void test_itself(void **state)
{
	(void)state;
	for (size_t i = 0; i < sample_count; i++) {
		struct pair pair;
		struct writer out[DIFF_SIDES];
		if (!strcmp(samples[i].kind, "hub"))
			continue; /* large, and nothing of it is new here */
		samples[i].make(&out[DIFF_OLD]);
		samples[i].make(&out[DIFF_NEW]);
		memset(&pair, 0, sizeof pair);
		if (opened_bytes(&pair.dumps[DIFF_OLD], out[DIFF_OLD].data, out[DIFF_OLD].len, 1) ||
		    opened_bytes(&pair.dumps[DIFF_NEW], out[DIFF_NEW].data, out[DIFF_NEW].len, 1)) {
			for (unsigned side = 0; side < DIFF_SIDES; side++)
				if (pair.dumps[side].bytes.map)
					opened_close(&pair.dumps[side]);
		} else {
			pair_start(&pair, 2);
			const struct diff *diff = pair.diff;
			if (diff->changed_count || diff->objects.left[DIFF_OLD].count || diff->objects.left[DIFF_NEW].count ||
			    diff->texts.count || diff->bitmaps.count || diff->paths.order_count)
				fail_msg("%s differs from itself", samples[i].kind);
			pair_end(&pair);
		}
		writer_free(&out[DIFF_OLD]);
		writer_free(&out[DIFF_NEW]);
	}
}

/* --- names --- */

static void test_fold(void **state)
{
	static const char *const names[][2] = {
		{ "app.Main$$Lambda+0x00007f2a64000a08", "app.Main$$Lambda" },
		{ "app.Main$$Lambda$14+0x0000000800c03000", "app.Main$$Lambda" },
		{ "app.Main$$Lambda$14.0x0000000800c03000", "app.Main$$Lambda" },
		{ "app.Main$$Lambda$14/0x0000000800061840", "app.Main$$Lambda" },
		{ "app.Main$$Lambda$14/1234567", "app.Main$$Lambda" },
		{ "app.Main$$Lambda$14.1234567", "app.Main$$Lambda" },
		{ "app.Main$$Lambda$14", "app.Main$$Lambda" },
		{ "app.Main$$Lambda$14+0x0000000800c03000[]", "app.Main$$Lambda[]" },
		{ "app.Main$$Lambda$14[][]", "app.Main$$Lambda[][]" },
		{ "java.lang.invoke.LambdaForm$MH+0x0000000800c04400", "java.lang.invoke.LambdaForm$MH" },
		{ "java.lang.invoke.LambdaForm$DMH.774889669", "java.lang.invoke.LambdaForm$DMH" },
		{ "app.Plugin@0x7f2a64000a08", "app.Plugin" },
		/* What stays as it is. */
		{ "app.Main", "app.Main" },
		{ "app.Main$1", "app.Main$1" },
		{ "app.Main$14", "app.Main$14" },
		{ "jdk.proxy2.$Proxy12", "jdk.proxy2.$Proxy12" },
		{ "app.Outer$Lambda$14", "app.Outer$Lambda$14" },
		{ "app.Main$$ExternalSyntheticLambda0", "app.Main$$ExternalSyntheticLambda0" },
		{ "app.cafe", "app.cafe" },
		{ "app.x0x12", "app.x0x12" },
		{ "byte[]", "byte[]" },
		{ "$$Lambda$1", "$$Lambda$1" },
		{ "+0x12", "+0x12" },
		{ ".12", ".12" },
		{ "0x12", "0x12" },
		{ "[]", "[]" },
		{ "12", "12" },
		{ "", "" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *name = names[i][0];
		char folded[128];
		const uint32_t len = fold_name((struct name){ name, (uint32_t)strlen(name) }, folded);
		if (len != strlen(names[i][1]) || memcmp(folded, names[i][1], len))
			fail_msg("%s became %.*s, not %s", name, (int)len, folded, names[i][1]);
	}
}

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

static uint64_t random_state = 1;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

static void make_random(struct opened *opened, unsigned count)
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
		struct diff_sum(*sums)[DIFF_SIDES] = must(calloc(paths->count, sizeof *sums));
		for (unsigned side = 0; side < DIFF_SIDES; side++)
			for (uint32_t node = 0; node < graph_node_count(pair.graphs[side]); node++) {
				char steps[DIFF_PATH_DEPTH][64];
				unsigned count;
				struct held held;
				assert_true(graph_held(pair.graphs[side], node, &held));
				if (!node_path(&pair, (enum diff_side)side, node, steps, &count))
					continue;
				for (uint32_t i = 0; i < paths->count; i++)
					for (unsigned j = 1; j <= count; j++)
						if (is_path(pair.diff, i, steps, j)) {
							sums[i][side].count++;
							sums[i][side].bytes += held.shallow;
						}
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

/* --- as files --- */

/* What comes from no listing is answered, or refused, but does no harm. */
static void try_inodes(struct tree *tree)
{
	static const enum kind kinds_tried[] = { KIND_DIFF, KIND_DIFF_FILE, KIND_DIFF_FOLDER, KIND_DIFF_TEXT, KIND_DIFF_LINK };
	for (unsigned i = 0; i < 3000; i++) {
		const uint64_t key = next_random(4) ? next_random(UINT64_C(1) << next_random(31)) :
						      next_random(UINT32_MAX) << 24 | next_random(1 << 24);
		const uint64_t ino = key << KIND_BITS | kinds_tried[i % 5];
		struct entries entries = { .most = 20 };
		struct text text = { 0 };
		struct stat st;
		uint64_t found, place;
		size_t len;
		tree_getattr(tree, ino, &st);
		tree_parent(tree, ino, &found);
		tree_readlink(tree, ino, &text);
		tree_lookup(tree, ino, "0x0", &found);
		tree_lookup(tree, ino, "java.lang.String", &found);
		entries_list(&entries, tree, ino, next_random(8));
		tree_read(tree, ino, 0, 4096, &text, &place, &len);
		entries_free(&entries);
		text_free(&text);
	}
}

static void check_tree(const char *old, const char *new)
{
	static const struct tree_options options = { .links = true, .graph = { .threads = 2 } };
	struct opened dumps[DIFF_SIDES];
	opened_sample(&dumps[DIFF_OLD], old);
	opened_sample(&dumps[DIFF_NEW], new);
	struct opened *shown = &dumps[DIFF_NEW];
	tree_close(shown->tree);
	dumps[DIFF_OLD].in.base = UINT64_C(1) << 30;
	const struct tree_source source = { .in = &shown->in, .container = "plain file", .baseline = &dumps[DIFF_OLD].heaps[0] };
	shown->tree = must(tree_open(&source, &shown->heaps[0], 1, &options));
	walk_tree(shown, 20000);
	try_inodes(shown->tree);
	opened_close(shown);
	opened_close(&dumps[DIFF_OLD]);
}

static void test_tree(void **state)
{
	static const char *const kinds_shown[] = { "diff-before", "diff-after", "sample", "jvm", "duplicates", "jdk6", "bitmaps-24",
						   "cycle", "bad-subrecord" };
	const size_t count = sizeof kinds_shown / sizeof *kinds_shown;
	(void)state;
	for (size_t i = 0; i < count; i++)
		check_tree(kinds_shown[i], kinds_shown[(i + 1) % count]);
}

/* --- trouble --- */

static void nobody(void *context)
{
	(void)context;
}

static void test_cancel(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		const struct graph_options options = { .threads = 2, .changed = nobody };
		struct pair pair;
		make_random(&pair.dumps[DIFF_OLD], 400);
		make_random(&pair.dumps[DIFF_NEW], 500);
		for (unsigned side = 0; side < DIFF_SIDES; side++)
			pair.graphs[side] = must(graph_open(&pair.dumps[side].heaps[0], &options));
		pair.diff = must(diff_open(&pair.dumps[DIFF_OLD].heaps[0], &pair.dumps[DIFF_NEW].heaps[0],
					   pair.graphs[DIFF_OLD], pair.graphs[DIFF_NEW], &options));
		job_need(&pair.diff->dominators_job);
		if (round % 2)
			assert_true(job_need(&pair.diff->objects_job) <= 0);
		pair_end(&pair);
	}
}

/* The newer file is cut after its index was made. */
static void test_cut(void **state)
{
	const struct graph_options options = { .threads = 2 };
	struct diff_sample before = { .moment = DIFF_BEFORE }, after = { .moment = DIFF_OTHER };
	struct pair pair;
	(void)state;
	open_moment(&pair.dumps[DIFF_OLD], VM_JDK9, 8, &before);
	open_moment(&pair.dumps[DIFF_NEW], VM_JDK9, 8, &after);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		pair.graphs[side] = must(graph_open(&pair.dumps[side].heaps[0], &options));
	pair.diff = must(diff_open(&pair.dumps[DIFF_OLD].heaps[0], &pair.dumps[DIFF_NEW].heaps[0], pair.graphs[DIFF_OLD],
				   pair.graphs[DIFF_NEW], &options));
	atomic_store(&pair.dumps[DIFF_NEW].in.good_end, pair.dumps[DIFF_NEW].in.size / 2);
	assert_int_equal(job_need(&pair.diff->objects_job), EIO);
	assert_int_equal(job_need(&pair.diff->strings_job), EIO);
	assert_int_equal(job_need(&pair.diff->dominators_job), EIO);
	input_touched_bad = false;
	pair_end(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process), cmocka_unit_test(test_other_process), cmocka_unit_test(test_other_layout),
		cmocka_unit_test(test_tables),	    cmocka_unit_test(test_itself),	  cmocka_unit_test(test_fold),
		cmocka_unit_test(test_judge),	    cmocka_unit_test(test_paths),	  cmocka_unit_test(test_bitmaps),
		cmocka_unit_test(test_contents),    cmocka_unit_test(test_arrays),	  cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cut),	    cmocka_unit_test(test_packed),	  cmocka_unit_test(test_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
