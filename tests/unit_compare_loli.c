/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native profiles compared, without a mount: what is new, has grown, has shrunk, is gone, at other addresses too; two
 * moments of one; LoliProfiler's report with its blind spots; the growth as a profile; damage at every place.
 */
#include "fixture.h"
#include "loli/compare.h"
#include "loli/report.h"
#include "loli/difference.h"
#include "loli_writer.h"
#include "tree/report_text.h"
#include "walk.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES 4000
#define COUNT(list) (sizeof list / sizeof *list)

struct profile {
	struct guarded bytes;
	struct input in;
	struct notes notes;
	struct loli loli;
	char error[512];
};

/* Two of them in a tree: `o` has the newer one's input. */
struct pair {
	struct profile old, new;
	struct opened o;
};

static int open_profile(struct profile *p, const void *data, size_t len)
{
	static const struct loli_options plain;
	memset(p, 0, sizeof *p);
	guarded_make(&p->bytes, data, len);
	p->in.fd = -1;
	p->in.path = strdup("profile");
	p->in.data = p->bytes.data;
	p->in.size = len;
	atomic_store(&p->in.good_end, len);
	notes_init(&p->notes);
	return loli_open(&p->loli, &p->in, &p->notes, &plain, p->error, sizeof p->error);
}

static void close_profile(struct profile *p)
{
	loli_close(&p->loli);
	notes_free(&p->notes);
	free(p->in.path);
	guarded_free(&p->bytes);
}

/* From writers, which are freed. Without an older one the tree shows what has changed since a moment. */
static void open_pair(struct pair *pair, struct writer *old, struct writer *new, struct tree_options options)
{
	memset(pair, 0, sizeof *pair);
	assert_int_equal(open_profile(&pair->new, new->data, new->len), 0);
	writer_free(new);
	if (old) {
		assert_int_equal(open_profile(&pair->old, old->data, old->len), 0);
		writer_free(old);
	}
	const struct tree_source source = { .in = &pair->new.in, .container = "plain file", .profile = &pair->new.loli,
					    .baseline_profile = old ? &pair->old.loli : NULL };
	pair->o.tree = tree_open(&source, NULL, 0, &options);
	assert_non_null(pair->o.tree);
	pair->o.in.data = pair->new.in.data;
	pair->o.in.size = pair->new.in.size;
	pair->o.in.fd = -1;
	atomic_store(&pair->o.in.good_end, pair->new.in.size);
}

static void close_pair(struct pair *pair)
{
	tree_close(pair->o.tree);
	if (pair->old.in.path)
		close_profile(&pair->old);
	close_profile(&pair->new);
}

/* A file's text, NUL-terminated, to be freed. */
static char *text_of(const struct pair *pair, const char *path)
{
	const uint64_t root = TREE_ROOT;
	struct text text = { 0 };
	struct stat st;
	uint64_t ino;
	assert_true(resolve(pair->o.tree, &root, 1, path, strlen(path), &ino));
	assert_int_equal(tree_getattr(pair->o.tree, ino, &st), 0);
	assert_int_equal(read_file(&pair->o, ino, 0, (size_t)st.st_size + 1, &text), 0);
	assert_int_equal(text.len, st.st_size);
	text_putc(&text, 0);
	return text.data;
}

static void text_is(const struct pair *pair, const char *path, const char *expected)
{
	char *text = text_of(pair, path);
	assert_string_equal(text, expected);
	free(text);
}

static void text_has(const struct pair *pair, const char *path, const char *part)
{
	char *text = text_of(pair, path);
	if (!strstr(text, part)) {
		print_error("%s: lacking: %s\n%s\n", path, part, text);
		fail();
	}
	free(text);
}

/* The size of a file in a tree for du; -1 where there is none. */
static int64_t size_of(const struct pair *pair, const char *path)
{
	const uint64_t root = TREE_ROOT;
	struct stat st;
	uint64_t ino;
	if (!resolve(pair->o.tree, &root, 1, path, strlen(path), &ino))
		return -1;
	assert_int_equal(tree_getattr(pair->o.tree, ino, &st), 0);
	return st.st_size;
}

#define SIX(what) what "before_bytes\t" what "after_bytes\t" what "delta_bytes\t" what "before_count\t" \
	what "after_count\t" what "delta_count\t"
#define FUNCTIONS SIX("") SIX("total_") "change\tlibrary\tfunction\n"
#define STACKS SIX("") "change\tdepth\tstack\n"
#define NONE "0\t0\t0\t0\t0\t0\t"
#define NAMELESS "![no name]"
#define MAIN "unknown" NAMELESS ";main();"
#define AGENT ";libloli.so" NAMELESS "\n"
#define REPORT_HEAD "=== LoliProfiler Comparison Report ===\n\n"
#define REPORT_BODY "\n=== Memory Growth (Delta: Comparison - Baseline) ===\n\n"

/* All kinds of changes, and functions that lie elsewhere. */
static void changes(void **state)
{
	struct writer before, after;
	struct pair pair;
	uint64_t old, new;
	(void)state;
	sample_loli_before(&before);
	sample_loli_after(&after);
	open_pair(&pair, &before, &after, (struct tree_options){ .links = true, .skip_root_levels = 1 });
	text_is(&pair, "diff/stacks.tsv", STACKS
		"0\t8192\t8192\t0\t1\t1\tnew\t5\t" MAIN "fresh();Grow(int)" AGENT
		"5000\t13000\t8000\t1\t2\t1\tgrown\t5\t" MAIN "load();Grow(int)" AGENT
		"7000\t0\t-7000\t1\t0\t-1\tremoved\t5\t" MAIN "old();Grow(int)" AGENT
		"18000\t9000\t-9000\t2\t1\t-1\tshrunk\t5\t" MAIN "load();Shrink(int)" AGENT);
	text_is(&pair, "diff/functions.tsv", FUNCTIONS
		"12000\t21192\t9192\t2\t3\t1\t12000\t21192\t9192\t2\t3\t1\tgrown\tlibengine.so\tGrow(int)\n"
		NONE "0\t8192\t8192\t0\t1\t1\tnew\tlibgame.so\tfresh()\n"
		NONE "36400\t36592\t192\t7\t7\t0\tgrown\tlibloli.so\tlibloli.so" NAMELESS "\n"
		NONE "36100\t36292\t192\t6\t6\t0\tgrown\tlibgame.so\tmain()\n"
		NONE "36100\t36292\t192\t6\t6\t0\tgrown\tunknown\tunknown" NAMELESS "\n"
		NONE "23000\t22000\t-1000\t3\t3\t0\tshrunk\tlibgame.so\tload()\n"
		NONE "7000\t0\t-7000\t1\t0\t-1\tremoved\tlibgame.so\told()\n"
		"18000\t9000\t-9000\t2\t1\t-1\t18000\t9000\t-9000\t2\t1\t-1\tshrunk\tlibengine.so\tShrink(int)\n");
	assert_int_equal(size_of(&pair, "diff/callstacks/new/unknown" NAMELESS "/main()/fresh()/Grow(int)/libloli.so" NAMELESS),
			 8192);
	assert_int_equal(size_of(&pair, "diff/callstacks/grown/unknown" NAMELESS "/main()/load()/Grow(int)/libloli.so" NAMELESS),
			 8000);
	assert_int_equal(size_of(&pair, "diff/callstacks/shrunk/unknown" NAMELESS "/main()/load()/Shrink(int)/libloli.so"
				 NAMELESS), 9000);
	assert_int_equal(size_of(&pair, "diff/callstacks/removed/unknown" NAMELESS "/main()/old()/Grow(int)/libloli.so"
				 NAMELESS), 7000);
	assert_int_equal(size_of(&pair, "diff/callstacks/grown/unknown" NAMELESS "/main()/stay()"), -1);
	/* LoliProfiler's adds up freed records too, and tells of what grew only. */
	text_is(&pair, "diff/report.txt", REPORT_HEAD
		"Baseline allocations: 8\nComparison allocations: 8\nBaseline total size: 35.62 KB\n"
		"Comparison total size: 35.82 KB\nSize delta: +203 Bytes\n\nChanged allocations (>1KB growth): 7\n"
		"New allocations (not in baseline): 1\n" REPORT_BODY
		"main(), +15.82 KB, +2\n    fresh(), +8.00 KB, +1\n        Grow(int), +8.00 KB, +1\n"
		"            , +8.00 KB, +1\n    load(), +7.82 KB, +1\n        Grow(int), +7.82 KB, +1\n"
		"            , +7.82 KB, +1\n");
	text_has(&pair, "info.txt", "\nbaseline: profile\n");
	assert_int_equal(tree_compared(pair.o.tree, &old, &new), 0);
	assert_int_equal(old, 36400);
	assert_int_equal(new, 36592);
	walk_tree(&pair.o, NODES);
	close_pair(&pair);
}

/* With itself, and with itself at other addresses, nothing has changed. */
static void the_same(void **state)
{
	struct loli_made_record records[] = { { 1, 10, 5000, 0x10000, "unknown;libgame.so!main();libengine.so!;libloli.so" },
					      { 2, 20, 6000, 0x20000, "unknown;unknown;libgame.so!main();unknown" },
					      { 3, 30, 7000, 0x30000, NULL } };
	(void)state;
	for (unsigned moved = 0; moved < 2; moved++) {
		struct loli_made made = { records, COUNT(records), NULL, 0, 0, 0 };
		struct writer before, after;
		struct pair pair;
		uint64_t old, new;
		sample_loli_made(&before, &made);
		made.moved = moved * 0x777;
		made.moved_raw = moved * 0x1234000;
		for (unsigned i = 0; moved && i < COUNT(records); i++)
			records[i].address += 0x5000000;
		sample_loli_made(&after, &made);
		open_pair(&pair, &before, &after, (struct tree_options){ .links = true });
		text_is(&pair, "diff/functions.tsv", FUNCTIONS);
		text_is(&pair, "diff/stacks.tsv", STACKS);
		for (unsigned i = 0; i < CHANGES; i++) {
			struct entries entries = { .count = 0 };
			const uint64_t root = TREE_ROOT;
			char path[64];
			uint64_t ino;
			snprintf(path, sizeof path, "diff/callstacks/%s", loli_change_names[i]);
			assert_true(resolve(pair.o.tree, &root, 1, path, strlen(path), &ino));
			assert_int_equal(entries_list(&entries, pair.o.tree, ino, 0), 0);
			assert_int_equal(entries.count, 2); /* . and .. */
			entries_free(&entries);
		}
		assert_int_equal(tree_compared(pair.o.tree, &old, &new), 0);
		assert_int_equal(old, 18000);
		assert_int_equal(new, 18000);
		if (!moved)
			text_is(&pair, "diff/report.txt", REPORT_HEAD
				"Baseline allocations: 3\nComparison allocations: 3\nBaseline total size: 17.58 KB\n"
				"Comparison total size: 17.58 KB\nSize delta: +0 Bytes\n\nChanged allocations (>1KB growth): 0\n"
				"New allocations (not in baseline): 0\n" REPORT_BODY);
		walk_tree(&pair.o, NODES);
		close_pair(&pair);
	}
}

/* A number of blocks alone is a change, and shows nothing for du. */
static void counts(void **state)
{
	struct loli_made_record one[] = { { 1, 1, 4096, 1, "libgame.so!main()" } };
	struct loli_made_record two[] = { { 1, 1, 2048, 1, "libgame.so!main()" }, { 2, 1, 2048, 2, "libgame.so!main()" } };
	struct writer before, after;
	struct pair pair;
	(void)state;
	sample_loli_made(&before, &(struct loli_made){ one, 1, NULL, 0, 0, 0 });
	sample_loli_made(&after, &(struct loli_made){ two, 2, NULL, 0, 0, 0 });
	open_pair(&pair, &before, &after, (struct tree_options){ .links = true });
	text_is(&pair, "diff/stacks.tsv", STACKS "4096\t4096\t0\t1\t2\t1\tgrown\t1\tmain()\n");
	assert_int_equal(size_of(&pair, "diff/callstacks/grown/main()"), -1);
	close_pair(&pair);
}

/* --- two moments --- */

static uint64_t held_at(const struct profile *p, int64_t time_ms, uint64_t *unsure)
{
	struct loli_both held;
	assert_true(loli_held(&p->loli, &time_ms, &held, unsure, NULL));
	return held.before.bytes;
}

/*
 * Sizes are powers of two, so that a sum tells what is in it. 1 is freed by number 6, between 300 and 500 ms. 2's address
 * is given out again by 5, at 300 ms, so it was freed before that, whatever the free of number 9 says; 5 was freed by 9,
 * behind all records. 10 was never freed; of 8 the free is older.
 */
static void moments(void **state)
{
	struct loli_made_record records[] = {
		{ 8, 600, 16, 0x5000, "libgame.so!main();libgame.so!e()" },
		{ 1, 100, 1, 0x1000, "libgame.so!main();libgame.so!a()" },
		{ 2, 200, 2, 0x2000, "libgame.so!main();libgame.so!b()" },
		{ 5, 300, 4, 0x2000, "libgame.so!main();libgame.so!b()" },
		{ 7, 500, 8, 0x4000, "libgame.so!main();libgame.so!d()" },
	};
	struct loli_made_free frees[] = { { 0x1000, 6 }, { 0x2000, 9 }, { 0x5000, 3 }, { 0x7000, 4 } };
	static const struct {
		int64_t time_ms;
		uint64_t held, unsure;
	} expected[] = {
		{ 0, 0, 0 },
		{ 99, 0, 0 },
		{ 100, 1, 0 },		/* number 6 is behind 5, which is later */
		{ 200, 1 + 2, 1 },	/* 2 was freed somewhere before 5 */
		{ 299, 1 + 2, 1 },
		{ 300, 1 + 4, 1 },	/* 1 was freed between 5 and 7: at 300 ms, or later */
		{ 499, 1 + 4, 1 },
		{ 500, 4 + 8, 0 },
		{ 600, 4 + 8 + 16, 1 }, /* 5 was freed when everything had been allocated */
		{ 9999, 4 + 8 + 16, 1 },
	};
	const struct loli_made made = { records, COUNT(records), frees, COUNT(frees), 0, 0 };
	struct writer w;
	struct profile p;
	struct pair pair;
	(void)state;
	sample_loli_made(&w, &made);
	assert_int_equal(open_profile(&p, w.data, w.len), 0);
	for (size_t i = 0; i < COUNT(expected); i++) {
		uint64_t unsure;
		assert_int_equal(held_at(&p, expected[i].time_ms, &unsure), expected[i].held);
		assert_int_equal(unsure, expected[i].unsure);
	}
	close_profile(&p);
	open_pair(&pair, NULL, &w, (struct tree_options){ .links = true, .since_given = true, .since_ms = 300 });
	text_is(&pair, "diff/stacks.tsv", STACKS "0\t16\t16\t0\t1\t1\tnew\t2\tmain();e()\n"
		"0\t8\t8\t0\t1\t1\tnew\t2\tmain();d()\n1\t0\t-1\t1\t0\t-1\tremoved\t2\tmain();a()\n"
		"4\t0\t-4\t1\t0\t-1\tremoved\t2\tmain();b()\n");
	text_has(&pair, "diff/report.txt", "Baseline allocations: 2\nComparison allocations: 2\nBaseline total size: 5 Bytes\n"
		 "Comparison total size: 24 Bytes\nSize delta: +19 Bytes\n");
	text_has(&pair, "info.txt", "\nbaseline: what was held at 300 ms\nbaseline blocks: 2\nbaseline bytes: 5\n"
		 "baseline blocks that may be freed by then: 1\nwarnings: 0\n");
	walk_tree(&pair.o, NODES);
	close_pair(&pair);
}

/* Times that do not rise with the numbers, as of two threads. */
static void moments_in_disorder(void **state)
{
	struct loli_made_record records[] = { { 1, 100, 1, 0x1000, NULL }, { 3, 300, 2, 0x2000, NULL },
					      { 4, 200, 4, 0x3000, NULL }, { 9, 400, 8, 0x4000, NULL } };
	struct loli_made_free frees[] = { { 0x1000, 2 }, { 0x2000, 5 }, { 0x3000, 6 } };
	struct writer w;
	struct profile p;
	uint64_t unsure;
	(void)state;
	sample_loli_made(&w, &(struct loli_made){ records, COUNT(records), frees, COUNT(frees), 0, 0 });
	assert_int_equal(open_profile(&p, w.data, w.len), 0);
	writer_free(&w);
	assert_int_equal(held_at(&p, 200, &unsure), 4); /* number 2 lies before 4, which is at 200 ms */
	assert_int_equal(held_at(&p, 300, &unsure), 2 + 4);
	assert_int_equal(held_at(&p, 400, &unsure), 8);
	assert_int_equal(unsure, 0);
	close_profile(&p);
}

/* --- LoliProfiler's report --- */

/* A report's text, to be freed. */
static char *report_of(struct report *report)
{
	struct text text = { 0 };
	assert_non_null(report);
	for (uint64_t i = 0; i <= report->line_count; i++)
		put_report(&text, report, i);
	text_putc(&text, 0);
	assert_false(text.failed);
	report_close(report);
	return text.data;
}

static void dump_is(const struct loli_made *made, uint64_t skip, const char *expected)
{
	struct writer w;
	struct profile p;
	sample_loli_made(&w, made);
	assert_int_equal(open_profile(&p, w.data, w.len), 0);
	writer_free(&w);
	char *text = report_of(report_dump(&p.loli, skip));
	assert_string_equal(text, expected);
	free(text);
	close_profile(&p);
}

#define DUMP_HEAD "=== LoliProfiler Profile Report ===\n\n"
#define DUMP_BODY "\n\n=== Memory Allocations ===\n\n"

/* Names with and without a symbol, sizes of all units, halves, order. */
static void dumps(void **state)
{
	struct loli_made_record records[] = {
		{ 1, 1, 1024, 1, "libgame.so!main();libgame.so!a()" },
		{ 2, 1, 1025, 2, "libgame.so!main();libgame.so!b()" },
		{ 3, 1, 483968, 3, "libgame.so!main();libgame.so!c()" }, /* 472.625 KiB: a half, which goes up */
		{ 4, 1, 1048576, 4, "libgame.so!main();libgame.so!" },
		{ 5, 1, 1073741824, 5, "libgame.so!main();unknown" },
		{ 6, 1, 1025, 6, "libgame.so!main();libgame.so!d()" },
		{ 7, 1, 99, 7, "libgame.so!main();libgame.so!gone()" },
		{ 8, 1, 50, 8, NULL },
		{ 9, 1, 7, 9, "libgame.so!main()" },
	};
	struct loli_made_free frees[] = { { 7, 70 } };
	const struct loli_made made = { records, COUNT(records), frees, 1, 0, 0 };
	(void)state;
	dump_is(&made, 0, DUMP_HEAD "Total allocations: 8\nTotal size: 1.00 GB" DUMP_BODY
		"main(), 1.00 GB, 7\n    unknown!0x7f0000000180, 1.00 GB, 1\n    , 1.00 MB, 1\n    c(), 472.63 KB, 1\n"
		"    b(), 1.00 KB, 1\n    d(), 1.00 KB, 1\n    a(), 1024 Bytes, 1\n");
	dump_is(&made, 1, DUMP_HEAD "Total allocations: 8\nTotal size: 1.00 GB" DUMP_BODY
		"unknown!0x7f0000000180, 1.00 GB, 1\n, 1.00 MB, 1\nc(), 472.63 KB, 1\nb(), 1.00 KB, 1\nd(), 1.00 KB, 1\n"
		"a(), 1024 Bytes, 1\n");
	dump_is(&made, 2, DUMP_HEAD "Total allocations: 8\nTotal size: 1.00 GB" DUMP_BODY);
}

/* What LoliProfiler does not tell: growth below 1 KiB, of the same count, where there also is something below. */
static void blind_spots(void **state)
{
	struct loli_made_record old[] = { { 1, 1, 1000, 1, "libgame.so!main();libgame.so!same()" },
					  { 2, 1, 1000, 2, "libgame.so!main();libgame.so!little()" },
					  { 3, 1, 1000, 3, "libgame.so!main();libgame.so!inner()" },
					  { 4, 1, 1000, 4, "libgame.so!main();libgame.so!inner();libgame.so!leaf()" },
					  { 5, 1, 1000, 5, "libgame.so!main();libgame.so!grows()" } };
	struct loli_made_record new[] = { { 1, 1, 90000, 1, "libgame.so!main();libgame.so!same()" },
					  { 2, 1, 1000, 2, "libgame.so!main();libgame.so!little()" },
					  { 6, 1, 1023, 6, "libgame.so!main();libgame.so!little()" },
					  { 3, 1, 90000, 3, "libgame.so!main();libgame.so!inner()" },
					  { 4, 1, 1000, 4, "libgame.so!main();libgame.so!inner();libgame.so!leaf()" },
					  { 7, 1, 1023, 7, "libgame.so!main();libgame.so!fresh()" },
					  { 5, 1, 1000, 5, "libgame.so!main();libgame.so!grows()" },
					  { 8, 1, 1024, 8, "libgame.so!main();libgame.so!grows()" } };
	struct writer before, after;
	struct pair pair;
	(void)state;
	sample_loli_made(&before, &(struct loli_made){ old, COUNT(old), NULL, 0, 0, 0 });
	sample_loli_made(&after, &(struct loli_made){ new, COUNT(new), NULL, 0, 0, 0 });
	open_pair(&pair, &before, &after, (struct tree_options){ .links = true });
	text_has(&pair, "diff/report.txt", "Changed allocations (>1KB growth): 2\nNew allocations (not in baseline): 0\n"
		 REPORT_BODY "main(), +1024 Bytes, +1\n    grows(), +1024 Bytes, +1\n");
	text_has(&pair, "diff/stacks.tsv", "1000\t90000\t89000\t1\t1\t0\tgrown\t2\tmain();inner()\n"
		 "1000\t90000\t89000\t1\t1\t0\tgrown\t2\tmain();same()\n1000\t2024\t1024\t1\t2\t1\tgrown\t2\tmain();grows()\n");
	text_has(&pair, "diff/stacks.tsv", "0\t1023\t1023\t0\t1\t1\tnew\t2\tmain();fresh()\n");
	close_pair(&pair);
}

/*
 * A name whose hash takes back what qHashRange() adds, so that the path with it has the key of the path without: the stack
 * meets itself. Whatever comes of it, it ends, and other stacks are as they are.
 */
static void meets_itself(void **state)
{
	struct loli_made_record records[] = { { 1, 1, 2000, 1, "libgame.so!main();libgame.so!a();libgame.so!CNNHJPR" },
					      { 2, 1, 2000, 2, "libgame.so!main();libgame.so!a();libgame.so!CNNHJPR" },
					      { 3, 1, 3000, 3, "libgame.so!main();libgame.so!a();libgame.so!b()" },
					      { 4, 1, 5000, 4, "libgame.so!other()" } };
	const struct loli_made made = { records, COUNT(records), NULL, 0, 0, 0 };
	struct writer before, after;
	struct pair pair;
	(void)state;
	assert_int_equal(loli_hash("CNNHJPR", 7), UINT32_C(0) - 0x9e3779b9);
	dump_is(&made, 0, DUMP_HEAD "Total allocations: 4\nTotal size: 11.72 KB" DUMP_BODY "other(), 4.88 KB, 1\n");
	sample_loli_made(&before, &(struct loli_made){ records + 1, 1, NULL, 0, 0, 0 });
	sample_loli_made(&after, &made);
	open_pair(&pair, &before, &after, (struct tree_options){ .links = true });
	text_has(&pair, "diff/report.txt", REPORT_BODY "other(), +4.88 KB, +1\n");
	walk_tree(&pair.o, NODES);
	close_pair(&pair);
}

/* What no agent records, and would take the square of its depth, is counted but left out. */
static void deep(void **state)
{
	static const char frame[] = ";libgame.so!again()";
	struct loli_made_record records[] = { { 1, 1, 5, 1, NULL } };
	(void)state;
	for (unsigned depth = 8192; depth <= 8193; depth++) {
		struct text stack = { 0 };
		struct writer w;
		struct profile p;
		for (unsigned i = 0; i < depth; i++)
			text_puts(&stack, i ? frame : frame + 1);
		text_putc(&stack, 0);
		records[0].stack = stack.data;
		sample_loli_made(&w, &(struct loli_made){ records, 1, NULL, 0, 0, 0 });
		assert_int_equal(open_profile(&p, w.data, w.len), 0);
		writer_free(&w);
		struct report *report = report_dump(&p.loli, 0);
		assert_non_null(report);
		assert_int_equal(report->count, 1);
		assert_int_equal(report->size, 5);
		assert_int_equal(report->line_count, depth == 8192 ? depth : 0);
		report_close(report);
		close_profile(&p);
		text_free(&stack);
	}
}

/* Of a library's long name, so much is in those of its functions that have none: each place would have a copy of it. */
static void long_library(void **state)
{
	static char before[5000], after[5000];
	struct loli_made_record records[] = { { 1, 1, 5000, 1, before }, { 2, 2, 5000, 2, before } };
	struct pair pair;
	struct writer old, new;
	char expected[2 * NAMES_LIBRARY_MOST];
	(void)state;
	memset(before, 'a', sizeof before - 1);
	before[NAMES_LIBRARY_MOST - 1] = '\xe9'; /* Latin-1, two bytes of UTF-8 */
	memcpy(after, before, sizeof after);
	sample_loli_made(&old, &(struct loli_made){ records, 1, NULL, 0, 0, 0 });
	records[1].stack = after;
	sample_loli_made(&new, &(struct loli_made){ records, 2, NULL, 0, 0, 0 });
	open_pair(&pair, &old, &new, (struct tree_options){ .skip_root_levels = 0 });
	struct report *report = report_dump(&pair.new.loli, 0);
	assert_non_null(report);
	assert_int_equal(report->line_count, 1);
	const struct text_entry name = report_name(report, 0);
	assert_memory_equal(name.data, before, NAMES_LIBRARY_MOST - 1);
	assert_memory_equal(name.data + NAMES_LIBRARY_MOST - 1, "!0x", 3);
	report_close(report);
	snprintf(expected, sizeof expected, "\t1\t%.*s![no name]\n", NAMES_LIBRARY_MOST - 1, before);
	text_has(&pair, "diff/stacks.tsv", expected);
	close_pair(&pair);
}

/* Qt's own values. */
static void hashes(void **state)
{
	static const struct {
		const char *name;
		uint32_t hash;
	} known[] = { { "", 0 }, { "a", 97 }, { "libgame.so", 2543255475 }, { "libUE4.so", 4249717675 },
		      { "libengine.so", 4171818147 }, { "libloli.so", 3085810341 }, { "unknown", 4010126410 },
		      { "\xf0\x9f\x98\x80", 31 * 0xd83d + 0xde00 } };
	(void)state;
	for (size_t i = 0; i < COUNT(known); i++)
		assert_int_equal(loli_hash(known[i].name, strlen(known[i].name)), known[i].hash);
}

/* --- the growth as a profile --- */

static void as_profile(void **state)
{
	/* "Aa" and "BB" have one hash. */
	struct loli_made_record records[] = { { 1, 1, 2000, 1, "Aa!main();BB!one()" }, { 2, 1, 3000, 2, "Aa!main();BB!" },
					      { 3, 1, 4000, 3, "Aa!main();Aa" }, { 4, 1, 500, 4, "Aa!main();Aa!small()" } };
	struct loli_made_record old[] = { { 1, 1, 2000, 1, "old.so!main()" } };
	struct writer before, after;
	struct profile p, a, b;
	char *data = NULL;
	size_t len = 0;
	(void)state;
	sample_loli_made(&before, &(struct loli_made){ old, 1, NULL, 0, 0x9000, 0 });
	sample_loli_made(&after, &(struct loli_made){ records, COUNT(records), NULL, 0, 0, 0 });
	assert_int_equal(open_profile(&a, before.data, before.len), 0);
	assert_int_equal(open_profile(&b, after.data, after.len), 0);
	writer_free(&before);
	writer_free(&after);
	struct report *report = report_compare(&a.loli, &b.loli, 0);
	assert_non_null(report);
	FILE *out = open_memstream(&data, &len);
	assert_int_equal(loli_write_difference(out, report), 0);
	fclose(out);
	report_close(report);
	close_profile(&a);
	close_profile(&b);
	assert_int_equal(open_profile(&p, data, len), 0);
	assert_int_equal(p.notes.count, 0);
	free(data);
	const struct loli_sums *sums = loli_sums(&p.loli);
	assert_non_null(sums);
	assert_true(sums->difference);
	assert_int_equal(sums->states[LOLI_LIVE].count, 3);
	assert_int_equal(sums->states[LOLI_LIVE].bytes, 9000);
	assert_int_equal(sums->symbol_count, 5); /* of both: main(), one(), "", small(), main() */
	assert_int_equal(p.loli.parts[LOLI_STRINGS].count, 4); /* and a null one */
	char *text = report_of(report_dump(&p.loli, 0));
	const char *expected = DUMP_HEAD "Total allocations: 3\nTotal size: 8.79 KB" DUMP_BODY
		"main(), 8.79 KB, 3\n    Aa!0x1100, 3.91 KB, 1\n    , 2.93 KB, 1\n    one(), 1.95 KB, 1\n";
	assert_string_equal(text, expected);
	free(text);
	close_profile(&p);
}

/* --- damage --- */

/* Bytes against a good profile, on either side, and against a moment: all that can be read keeps its promises. */
static void survives(const void *data, size_t len)
{
	struct profile p;
	const int rc = open_profile(&p, data, len);
	close_profile(&p);
	if (rc)
		return;
	for (unsigned way = 0; way < 3; way++) {
		struct writer damaged, good;
		struct pair pair;
		writer_init(&damaged, 8);
		put_bytes(&damaged, data, len);
		if (way < 2)
			sample_loli_small(&good);
		open_pair(&pair, way == 2 ? NULL : way ? &damaged : &good, way == 1 ? &good : &damaged,
			  (struct tree_options){ .links = true, .since_given = way == 2, .since_ms = 300 });
		uint64_t old, new, sum[2] = { 0, 0 };
		assert_int_equal(tree_compared(pair.o.tree, &old, &new), 0);
		char *text = text_of(&pair, "diff/stacks.tsv");
		for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
			char *end;
			sum[0] += strtoull(line, &end, 10);
			sum[1] += strtoull(end, NULL, 10);
		}
		assert_int_equal(sum[1] - sum[0], new - old);
		free(text);
		free(text_of(&pair, "diff/functions.tsv"));
		free(text_of(&pair, "diff/report.txt"));
		walk_tree(&pair.o, 400);
		close_pair(&pair);
	}
}

static void truncations(void **state)
{
	struct writer w;
	(void)state;
	sample_loli_small(&w);
	for (size_t len = 4; len < w.len; len++)
		survives(w.data, len);
	writer_free(&w);
}

static void odd_words(void **state)
{
	static const uint32_t words[] = { 0, 1, 0x7fffffff, 0xffffffff };
	struct writer w;
	(void)state;
	sample_loli_small(&w);
	for (size_t i = 0; i < COUNT(words); i++)
		for (size_t at = 8; at + 4 <= w.len; at += 2) {
			uint8_t kept[4];
			memcpy(kept, w.data + at, 4);
			patch_u4(&w, at, words[i]);
			survives(w.data, w.len);
			memcpy(w.data + at, kept, 4);
		}
	writer_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes),     cmocka_unit_test(the_same),    cmocka_unit_test(counts),
		cmocka_unit_test(moments),     cmocka_unit_test(moments_in_disorder),
		cmocka_unit_test(dumps),       cmocka_unit_test(blind_spots), cmocka_unit_test(meets_itself),
		cmocka_unit_test(deep),	       cmocka_unit_test(long_library),
		cmocka_unit_test(hashes),      cmocka_unit_test(as_profile),  cmocka_unit_test(truncations),
		cmocka_unit_test(odd_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
