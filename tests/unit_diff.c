/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two dumps differ in: dumps whose differences are known (sample_diff.c), compared by id and by content, both ways;
 * each dump with itself; names that are folded; the files of diff/; a dump that is cut, and an early end. What makes
 * objects the same is in unit_diff_cases.c; tests/mount-diff-heap.sh has the comparison of real dumps with another program's.
 */
#include "diff_pair.h"
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

/* What is expected to be without partner, of all classes but byte[] and char[], which the text of Strings decides. */
struct expected {
	const char *class;
	const uint64_t *ids;
	size_t count;
};

static void check_side(const struct diff *diff, enum diff_side side, const struct expected *expected, size_t count)
{
	uint64_t total = 0;
	size_t met = 0;
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
		met += of != NULL;
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
	assert_int_equal(met, count);
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
	shown->tree = tree_open(&source, &shown->heaps[0], 1, &options);
	assert_non_null(shown->tree);
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
		pair_open(&pair, &options);
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
	pair_open(&pair, &options);
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
		cmocka_unit_test(test_tree),	    cmocka_unit_test(test_cancel),	  cmocka_unit_test(test_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
