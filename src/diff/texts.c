/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that more, or fewer, Strings have than before. All Strings of both dumps are hashed by all threads, 24 bytes each
 * meanwhile.
 */
#include "diff/parts.h"
#include "loli/table.h"

#include <errno.h>
#include <stdlib.h>

/* A String: its text's hash, where its array is (NOWHERE: it has no text) and it is. */
struct hashed {
	uint64_t hash, array, offset;
};
#define NOWHERE UINT64_MAX
#define SIDE_NEW (UINT64_C(1) << 63) /* in `offset` */

struct hashing {
	struct diff *diff;
	const _Atomic bool *cancel;
	struct hashed *list;	/* the older dump's, by rank, then the newer's */
	uint64_t counts[DIFF_SIDES];
	_Atomic uint64_t next;	/* that nobody has taken */
	_Atomic int error;
};
#define STRETCH 8192

/* Hashes Strings of one dump from a rank on. */
static int hash_stretch(struct hashing *hashing, enum diff_side side, uint64_t rank, uint64_t count)
{
	const struct heap *heap = hashing->diff->heaps[side];
	struct hashed *out = hashing->list + (side == DIFF_NEW ? hashing->counts[DIFF_OLD] : 0) + rank;
	struct cursor cursor;
	cursor_seek(&cursor, heap, string_class(heap), rank);
	for (uint64_t i = 0; i < count; i++) {
		struct object object, array;
		struct string text;
		out[i] = (struct hashed){ .array = NOWHERE };
		if (!cursor_next(&cursor) || !cursor_object(&cursor, &object))
			return EIO;
		if (string_array(heap, &object, &array) && string_of_array(heap, &object, &array, &text))
			out[i] = (struct hashed){ string_hash(&text), array.offset,
						  object.offset | (side == DIFF_NEW ? SIDE_NEW : 0) };
		if (atomic_load_explicit(hashing->cancel, memory_order_relaxed))
			return ECANCELED;
	}
	return 0;
}

static void *hash_some(void *argument)
{
	struct hashing *hashing = argument;
	const uint64_t total = hashing->counts[DIFF_OLD] + hashing->counts[DIFF_NEW];
	uint64_t first;
	input_touched_bad = false;
	while (!atomic_load(&hashing->error) && (first = atomic_fetch_add(&hashing->next, STRETCH)) < total) {
		uint64_t left = total - first < STRETCH ? total - first : STRETCH;
		int rc = 0;
		if (first < hashing->counts[DIFF_OLD]) {
			const uint64_t here = hashing->counts[DIFF_OLD] - first, count = left < here ? left : here;
			rc = hash_stretch(hashing, DIFF_OLD, first, count);
			first += count;
			left -= count;
		}
		if (!rc && left)
			rc = hash_stretch(hashing, DIFF_NEW, first - hashing->counts[DIFF_OLD], left);
		if (!rc && input_touched_bad)
			rc = EIO;
		if (rc)
			atomic_store(&hashing->error, rc);
	}
	return NULL;
}

static int hash_all(struct hashing *hashing)
{
	const int rc = on_all_threads(hashing->diff, hash_some, hashing);
	return rc ? rc : atomic_load(&hashing->error);
}

/* By text, then dump, then array, so that arrays that several share stand together. */
static int compare_hashed(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if ((x->offset ^ y->offset) & SIDE_NEW)
		return x->offset < y->offset ? -1 : 1;
	if (x->array != y->array)
		return x->array < y->array ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool text_at(const struct diff *diff, const struct diff_text *text, struct string *string)
{
	struct object object;
	const struct heap *heap = diff->heaps[text->side];
	return heap_object(heap, text->offset, &object) && heap_string(heap, &object, string);
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct diff_text *x = a, *y = b;
	const int order = diff_order(x->sums, y->sums);
	struct string text, other;
	return order || !text_at(context, x, &text) || !text_at(context, y, &other) ? order : string_compare(&text, &other);
}

/* Sums up Strings of one text; false where as many have it as before. */
static bool sum_up(const struct diff *diff, const struct hashed *list, size_t count, struct diff_text *text)
{
	*text = (struct diff_text){ .offset = list[0].offset & ~SIDE_NEW,
				    .side = list[0].offset & SIDE_NEW ? DIFF_NEW : DIFF_OLD };
	for (size_t i = 0; i < count; i++)
		text->sums[list[i].offset & SIDE_NEW ? DIFF_NEW : DIFF_OLD].count++;
	if (text->sums[DIFF_OLD].count == text->sums[DIFF_NEW].count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const enum diff_side side = list[i].offset & SIDE_NEW ? DIFF_NEW : DIFF_OLD;
		const struct heap *heap = diff->heaps[side];
		struct object object;
		if (heap_object(heap, list[i].offset & ~SIDE_NEW, &object))
			text->sums[side].bytes += object_size(heap, &object);
		if (i && list[i].array == list[i - 1].array && !((list[i].offset ^ list[i - 1].offset) & SIDE_NEW))
			continue;
		if (heap_object(heap, list[i].array, &object)) /* of ART's, too, where a String's own size is that without it */
			text->sums[side].bytes += object_size(heap, &object);
	}
	return true;
}

int diff_strings(void *context, const _Atomic bool *cancel)
{
	struct diff *diff = context;
	struct hashing hashing = { .diff = diff, .cancel = cancel };
	struct diff_texts *texts = &diff->texts;
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		if (string_class(diff->heaps[side]) && !heap_graph_of(diff->heaps[side]))
			hashing.counts[side] = string_class(diff->heaps[side])->count;
	const uint64_t total = hashing.counts[DIFF_OLD] + hashing.counts[DIFF_NEW];
	hashing.list = calloc(total + 1, sizeof *hashing.list);
	int rc = hashing.list ? hash_all(&hashing) : ENOMEM;
	size_t count = 0, capacity = 0;
	for (uint64_t i = 0; !rc && i < total; i++)
		if (hashing.list[i].array != NOWHERE)
			hashing.list[count++] = hashing.list[i];
	if (!rc)
		qsort(hashing.list, count, sizeof *hashing.list, compare_hashed);
	for (size_t i = 0, end; !rc && i < count; i = end) {
		struct diff_text text;
		for (end = i + 1; end < count && hashing.list[end].hash == hashing.list[i].hash;)
			end++;
		if (!sum_up(diff, hashing.list + i, end - i, &text))
			continue;
		if (table_grow((void **)&texts->list, texts->count, &capacity, sizeof *texts->list))
			texts->list[texts->count++] = text;
		else
			rc = ENOMEM;
	}
	free(hashing.list);
	if (!rc && texts->count)
		qsort_r(texts->list, texts->count, sizeof *texts->list, compare_rows, diff);
	return rc;
}
