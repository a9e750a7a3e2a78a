/* SPDX-License-Identifier: Apache-2.0 */
/* The index against a plain list of what was written: ids in every order, and threads against one thread. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLASS_ID 0x100
#define MOST 6000

/* What was written, in file order. */
struct listed {
	uint64_t id, offset, size;
};

static struct listed list[MOST], sorted[MOST];
static size_t list_count;

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The orders of ids; each returns the id of object i of n. */
static uint64_t rising(uint64_t i, uint64_t n)
{
	(void)n;
	return 0x70000000 + 16 * i;
}

static uint64_t falling(uint64_t i, uint64_t n)
{
	return 0x70000000 + 16 * (n - i);
}

static uint64_t scattered(uint64_t i, uint64_t n)
{
	return 0x70000000 + 8 * (i * 7919 % n); /* n is no multiple of this prime */
}

/* Rising, but each thread of the writer in turn: blocks of many objects that overlap. */
static uint64_t interleaved(uint64_t i, uint64_t n)
{
	(void)n;
	return 0x70000000 + i / 240 * 3840 + i % 3 * 16 + i % 240 / 3 * 48 + (i / 80 % 2 ? 8 : 0);
}

/* Stretches that all begin low and rise far: each overlaps all others. */
static uint64_t fanned(uint64_t i, uint64_t n)
{
	(void)n;
	return 0x70000000 + i % 100 * 0x10000 + i / 100 * 8;
}

static uint64_t with_holes(uint64_t i, uint64_t n)
{
	(void)n;
	return 0x70000000 + 24 * i + (i / 50) * (UINT64_C(3) << 20);
}

/* Rises and falls in turn, in stretches longer than what the scan looks at before it changes its mind. */
static uint64_t changing(uint64_t i, uint64_t n)
{
	return i / 1000 % 2 ? scattered(i, n) : 0x90000000 + 16 * i;
}

static uint64_t repeated(uint64_t i, uint64_t n)
{
	return i % 10 == 9 ? rising(next_random(n), n) : rising(i, n);
}

static uint64_t repeated_scattered(uint64_t i, uint64_t n)
{
	(void)i;
	(void)n;
	return 0x70000000 + 8 * next_random(3000);
}

/* Too large for the dense table. */
static uint64_t tagged(uint64_t i, uint64_t n)
{
	return scattered(i, n) | UINT64_C(0xb4) << 56;
}

static uint64_t extreme(uint64_t i, uint64_t n)
{
	return i % 2 ? UINT64_MAX - 8 * (n - i) / 2 : 8 * i + 8;
}

static void put_object(struct writer *w, uint64_t id, uint64_t i)
{
	if (i % 7 == 3)
		sub_primitive_array(w, id, TYPE_INT, NULL, (uint32_t)(i % 5));
	else if (i % 7 == 5)
		sub_object_array(w, id, CLASS_ID, &id, 1);
	else {
		sub_instance_begin(w, id, CLASS_ID);
		put_zeros(w, 4);
		sub_instance_end(w);
	}
	/* The limit may have begun a segment before it. */
	const uint64_t size = i % 7 == 3 ? 10 + w->id_width + 4 * (i % 5) : i % 7 == 5 ? 9 + 3 * w->id_width :
											 13 + 2 * w->id_width;
	list[list_count++] = (struct listed){ id, writer_offset(w) - size, size };
}

static void write_list(struct opened *o, uint64_t (*order)(uint64_t, uint64_t), uint64_t n, size_t segment_limit)
{
	struct writer w;
	writer_init(&w, 8);
	put_header(&w, "JAVA PROFILE 1.0.2");
	put_load_class(&w, 1, CLASS_ID, put_name(&w, "Node"));
	w.segment_limit = segment_limit;
	list_count = 0;
	segment_begin(&w, RECORD_HEAP_DUMP_SEGMENT);
	for (uint64_t i = 0; i < n; i++) {
		if (i % 11 == 0)
			sub_root(&w, ROOT_JNI_GLOBAL, 1, 2, 0, 0);
		put_object(&w, order(i, n), i);
	}
	segment_end(&w);
	put_dump_end(&w);
	opened_writer(o, &w);
	memcpy(sorted, list, n * sizeof *list);
	qsort(sorted, n, sizeof *sorted, compare_listed);
}

/* First in `sorted` with an id >= `id`; list_count if none. */
static size_t lower_bound(uint64_t id)
{
	size_t i = 0, high = list_count;
	while (i < high) {
		const size_t mid = i + (high - i) / 2;
		if (sorted[mid].id < id)
			i = mid + 1;
		else
			high = mid;
	}
	return i;
}

static void check_id(const struct index *ix, uint64_t id, const char *order)
{
	const size_t at = lower_bound(id);
	const bool there = at < list_count && sorted[at].id == id;
	struct found found;
	uint64_t other;
	if (index_find(ix, id, &found) != there || (there && found.offset != sorted[at].offset))
		fail_msg("%s: find 0x%jx", order, (uintmax_t)id);
	if (there) {
		size_t block;
		assert_true(index_block_at(ix, found.offset, &block));
		assert_int_equal(found.block, block);
	}
	if (index_successor(ix, id, &other) != (at < list_count) || (at < list_count && other != sorted[at].id))
		fail_msg("%s: successor of 0x%jx", order, (uintmax_t)id);
	size_t last = at;
	while (last < list_count && sorted[last].id == id)
		last++;
	if (index_predecessor(ix, id, &found, &other) != (last > 0) || (last && other != sorted[last - 1].id))
		fail_msg("%s: predecessor of 0x%jx", order, (uintmax_t)id);
	/* Of equal ids any will do, but it is one of them. */
	while (last && sorted[last - 1].id == other && sorted[last - 1].offset != found.offset)
		last--;
	if (last && sorted[last - 1].id != other)
		fail_msg("%s: predecessor of 0x%jx is at no object", order, (uintmax_t)id);
}

static void check_range(const struct index *ix, uint64_t first, uint64_t last, const char *order)
{
	struct located *got;
	const ptrdiff_t count = index_range(ix, first, last, &got);
	ptrdiff_t n = 0;
	for (size_t i = lower_bound(first); i < list_count && sorted[i].id <= last; i++) {
		if (i && sorted[i - 1].id == sorted[i].id)
			continue;
		if (n >= count || got[n].id != sorted[i].id || got[n].offset != sorted[i].offset)
			fail_msg("%s: range 0x%jx to 0x%jx", order, (uintmax_t)first, (uintmax_t)last);
		n++;
	}
	assert_int_equal(n, count);
	free(got);
}

static void check_places(const struct index *ix, const char *order)
{
	struct found found;
	for (size_t i = 0; i < list_count; i++) {
		const uint64_t at[] = { list[i].offset, list[i].offset + list[i].size / 2,
					list[i].offset + list[i].size - 1 };
		for (unsigned j = 0; j < 3; j++)
			if (!index_containing(ix, at[j], &found) || found.offset != list[i].offset)
				fail_msg("%s: containing %ju", order, (uintmax_t)at[j]);
		if (i && list[i].offset - 1 >= list[i - 1].offset + list[i - 1].size)
			assert_false(index_containing(ix, list[i].offset - 1, &found));
	}
	assert_false(index_containing(ix, list[0].offset - 1, &found));
	/* All blocks in turn are all objects in file order. */
	size_t n = 0;
	for (size_t block = 0; block < ix->block_count; block++) {
		struct block_walk walk;
		block_walk_start(&walk, ix, block);
		unsigned in_block = 0;
		while (block_walk_next(&walk)) {
			assert_true(n < list_count);
			if (walk.id != list[n].id || walk.offset != list[n].offset || walk.size != list[n].size)
				fail_msg("%s: object %zu in block %zu", order, n, block);
			n++;
			in_block++;
		}
		assert_int_equal(in_block, ix->blocks[block].count);
	}
	assert_int_equal(n, list_count);
}

static void against_list(void **state)
{
	static const struct {
		const char *name;
		uint64_t (*order)(uint64_t, uint64_t);
		uint64_t count;
	} orders[] = {
		{ "rising", rising, 3000 },
		{ "falling", falling, 3000 },
		{ "scattered", scattered, 5000 },
		{ "interleaved", interleaved, 4800 },
		{ "fanned", fanned, 5000 },
		{ "with holes", with_holes, 2000 },
		{ "changing", changing, 6000 },
		{ "repeated", repeated, 3000 },
		{ "repeated, scattered", repeated_scattered, 4000 },
		{ "tagged", tagged, 2000 },
		{ "extreme", extreme, 2000 },
		{ "one", rising, 1 },
	};
	/* The whole in one segment; several objects in each; one in each. */
	static const size_t limits[] = { 0, 500, 1 };
	(void)state;
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
		for (size_t j = 0; j < sizeof limits / sizeof *limits; j++) {
			struct opened o;
			const char *name = orders[i].name;
			random_state = i;
			write_list(&o, orders[i].order, orders[i].count, limits[j]);
			const struct index *ix = &o.heaps[0].scan.index;
			assert_int_equal(ix->object_count, list_count);
			uint64_t duplicates = 0;
			for (size_t k = 1; k < list_count; k++)
				duplicates += sorted[k].id == sorted[k - 1].id;
			if (ix->duplicates != duplicates)
				fail_msg("%s: %ju duplicates, not %ju", name, (uintmax_t)ix->duplicates,
					 (uintmax_t)duplicates);
			check_places(ix, name);
			for (size_t k = 0; k < list_count; k++)
				for (int off = -1; off <= 1; off++)
					check_id(ix, list[k].id + (uint64_t)off, name);
			check_id(ix, 0, name);
			check_id(ix, UINT64_MAX, name);
			check_id(ix, sorted[list_count - 1].id + 1, name);
			check_range(ix, 0, UINT64_MAX, name);
			for (unsigned k = 0; k < 200; k++) {
				const uint64_t first = sorted[next_random(list_count)].id + next_random(3) - 1;
				check_range(ix, first, first + next_random(5000), name);
			}
			check_range(ix, 1, 0, name);
			opened_close(&o);
		}
}

/* Rising ids take few blocks, however small the segments are; others go into the dense table. */
static void costs(void **state)
{
	struct opened o;
	(void)state;
	write_list(&o, rising, 5000, 0);
	assert_true(o.heaps[0].scan.index.block_count <= 5000 / 64);
	assert_int_equal(o.heaps[0].scan.index.dense_count, 0);
	opened_close(&o);
	write_list(&o, scattered, 6000, 0);
	assert_true(o.heaps[0].scan.index.dense_count > 5000);
	opened_close(&o);
}

static void check_same(const struct opened *one, const struct opened *many)
{
	const struct scan *a = &one->heaps[0].scan, *b = &many->heaps[0].scan;
	assert_int_equal(a->index.object_count, b->index.object_count);
	assert_int_equal(a->index.duplicates, b->index.duplicates);
	assert_int_equal(a->class_dump_count, b->class_dump_count);
	assert_memory_equal(a->class_dumps, b->class_dumps, a->class_dump_count * sizeof *a->class_dumps);
	assert_int_equal(a->roots.len, b->roots.len);
	assert_memory_equal(a->roots.data, b->roots.data, a->roots.len);
	assert_memory_equal(a->subs, b->subs, sizeof a->subs);
	assert_int_equal(a->tally_count, b->tally_count);
	for (size_t i = 0; i < a->tally_count; i++) {
		const struct tally *x = &a->tallies[i], *y = &b->tallies[i];
		assert_int_equal(x->id, y->id);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->count, y->count);
		assert_int_equal(x->elements, y->elements);
		assert_int_equal(x->min_gap, y->min_gap);
		assert_int_equal(x->gap_count, y->gap_count);
		assert_memory_equal(x->residues, y->residues, sizeof x->residues);
	}
	assert_int_equal(one->heaps[0].class_count, many->heaps[0].class_count);
	for (uint32_t i = 0; i < one->heaps[0].class_count; i++) {
		const struct class *x = &one->heaps[0].classes[i], *y = &many->heaps[0].classes[i];
		assert_int_equal(x->id, y->id);
		assert_int_equal(x->shallow, y->shallow);
		/* The same objects at the same ranks. */
		for (uint64_t rank = 0; rank < x->count; rank += 1 + x->count / 50) {
			struct cursor at_x, at_y;
			cursor_seek(&at_x, &one->heaps[0], x, rank);
			cursor_seek(&at_y, &many->heaps[0], y, rank);
			assert_true(cursor_next(&at_x) && cursor_next(&at_y));
			assert_int_equal(at_x.offset, at_y.offset);
		}
	}
}

/* A dump of some 25 MB, so that several threads have their share. */
static void make_large(struct writer *out, bool android)
{
	struct vm vm;
	writer_init(out, android ? 4 : 8);
	vm_init(&vm, android ? VM_ART : VM_JDK9, android ? 4 : 8);
	vm.heap.segment_limit = 1 << 19;
	static const uint8_t bytes[3000];
	uint64_t before = 0;
	for (unsigned i = 0; i < 40000; i++) {
		char text[40];
		snprintf(text, sizeof text, "text %u", i);
		const uint64_t string = vm_string(&vm, text);
		if (i % 2000 == 0) {
			snprintf(text, sizeof text, "com.example.Made%u", i);
			const uint64_t class = vm_define(&vm, text, vm.object, "value:L number:J");
			vm_new(&vm, 0, class, (uint64_t[]){ string, i }, 2);
			before = class;
		}
		if (android && i % 5000 == 0)
			vm_heap(&vm, i % 10000 ? 'A' : 'Z', i % 10000 ? "app" : "zygote", vm.next);
		vm_new(&vm, 0, before, (uint64_t[]){ string, i }, 2);
		vm_primitive_array(&vm, TYPE_BYTE, bytes, i % 20 * 50);
		if (i % 100 == 0)
			vm_root(&vm, ROOT_JNI_GLOBAL, string);
	}
	vm_finish(&vm, android ? "JAVA PROFILE 1.0.3" : "JAVA PROFILE 1.0.2", out);
}

static void threads(void **state)
{
	(void)state;
	for (unsigned android = 0; android < 2; android++) {
		struct writer w;
		struct opened one, many;
		make_large(&w, android);
		assert_int_equal(opened_bytes(&one, w.data, w.len, 1), 0);
		assert_int_equal(one.heaps[0].scan.threads, 1);
		for (unsigned count = 2; count < 8; count += 2) {
			assert_int_equal(opened_bytes(&many, w.data, w.len, count), 0);
			assert_true(many.heaps[0].scan.threads > 1);
			check_same(&one, &many);
			opened_close(&many);
		}
		opened_close(&one);
		writer_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_list),
		cmocka_unit_test(costs),
		cmocka_unit_test(threads),
	};
	return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
