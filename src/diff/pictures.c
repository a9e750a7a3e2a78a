/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bitmaps before and after, by size, layout and, where the dump has the pixels, content. Native pointers and ids do not
 * count: what matters is which picture there are more of.
 */
#include "android/bitmap.h"
#include "diff/parts.h"

#include <errno.h>
#include <stdlib.h>

static int compare_looks(const void *a, const void *b)
{
	const struct diff_bitmap *x = a, *y = b;
	if (x->width != y->width)
		return x->width < y->width ? -1 : 1;
	if (x->height != y->height)
		return x->height < y->height ? -1 : 1;
	if (x->layout != y->layout)
		return x->layout < y->layout ? -1 : 1;
	if (x->hashed != y->hashed)
		return x->hashed ? 1 : -1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int compare_rows(const void *a, const void *b)
{
	const struct diff_bitmap *x = a, *y = b;
	const int order = diff_order(x->sums, y->sums);
	return order ? order : compare_looks(a, b);
}

/* Appends a row for each Bitmap of one dump. */
static int add_bitmaps(const struct diff *diff, enum diff_side side, const _Atomic bool *cancel, struct diff_bitmaps *rows)
{
	struct bitmaps *bitmaps = bitmaps_open(diff->heaps[side]);
	if (!bitmaps)
		return input_touched_bad ? EIO : ENOMEM;
	struct diff_bitmap *grown = realloc(rows->list, (rows->count + bitmaps->count + 1) * sizeof *grown);
	int rc = grown ? 0 : ENOMEM;
	rows->list = grown ? grown : rows->list;
	for (uint32_t i = 0; !rc && i < bitmaps->count; i++) {
		struct bitmap *bitmap = &bitmaps->list[i];
		struct diff_bitmap *row = &rows->list[rows->count++];
		const bool hashed = bitmap->verdict == VERDICT_OK;
		*row = (struct diff_bitmap){ .width = bitmap->width, .height = bitmap->height, .layout = bitmap->layout,
					     .hashed = hashed, .hash = hashed ? bitmap_hash(bitmaps, bitmap) : 0 };
		row->sums[side] = (struct diff_sum){ 1, bitmap_memory(bitmap) };
		if (atomic_load_explicit(cancel, memory_order_relaxed))
			rc = ECANCELED;
	}
	bitmaps_close(bitmaps);
	return rc;
}

int diff_bitmaps(void *context, const _Atomic bool *cancel)
{
	struct diff *diff = context;
	struct diff_bitmaps *rows = &diff->bitmaps;
	size_t kept = 0;
	int rc = add_bitmaps(diff, DIFF_OLD, cancel, rows);
	if (!rc)
		rc = add_bitmaps(diff, DIFF_NEW, cancel, rows);
	if (rc)
		return rc;
	qsort(rows->list, rows->count, sizeof *rows->list, compare_looks);
	for (size_t i = 0, end; i < rows->count; i = end) {
		struct diff_bitmap row = rows->list[i];
		for (end = i + 1; end < rows->count && !compare_looks(&rows->list[i], &rows->list[end]); end++)
			for (unsigned side = 0; side < DIFF_SIDES; side++) {
				row.sums[side].count += rows->list[end].sums[side].count;
				row.sums[side].bytes += rows->list[end].sums[side].bytes;
			}
		if (diff_changed(row.sums))
			rows->list[kept++] = row;
	}
	rows->count = kept;
	qsort(rows->list, rows->count, sizeof *rows->list, compare_rows);
	return 0;
}
