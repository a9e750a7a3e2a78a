/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/index.h"

#include "hprof/subrecord.h"

#include <stdlib.h>

/* A lookup may examine this many blocks that overlap; where more do, their objects go to the dense table. */
#define OVERLAP_LIMIT 16

void block_walk_start(struct block_walk *walk, const struct index *ix, size_t block)
{
	*walk = (struct block_walk){ .ix = ix, .next = ix->blocks[block].offset, .left = ix->blocks[block].count };
}

bool block_walk_next(struct block_walk *walk)
{
	const struct input *in = walk->ix->in;
	const unsigned id_width = walk->ix->id_width;
	while (walk->left) {
		const uint64_t left = input_left(in, walk->next);
		const uint8_t *p = in->data + walk->next;
		if (left > RECORD_HEADER && *p == RECORD_HEAP_DUMP_SEGMENT) {
			/* No sub-record has this tag: the block goes on in the next segment. */
			walk->next += RECORD_HEADER;
			continue;
		}
		const uint64_t size = left ? subrecord_size(p, left, id_width) : SUBRECORD_BAD;
		if (size == SUBRECORD_BAD || size > left) {
			/* It was whole when the file was scanned: the file has changed since. */
			input_touched_bad = true;
			walk->left = 0;
			return false;
		}
		const uint64_t at = walk->next;
		walk->next += size;
		if (subrecord_is_object(*p)) {
			walk->left--;
			walk->offset = at;
			walk->id = read_id(p + 1, id_width);
			walk->size = size;
			return true;
		}
	}
	return false;
}

static const struct index *sorting; /* qsort has no context; index_finish() is not called concurrently */

static int compare_blocks(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t lx = sorting->blocks[x].lowest, ly = sorting->blocks[y].lowest;
	if (lx != ly)
		return lx < ly ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int compare_dense(const void *a, const void *b)
{
	const struct dense_entry *x = a, *y = b;
	const uint64_t ix = dense_id(x), iy = dense_id(y);
	if (ix != iy)
		return ix < iy ? -1 : 1;
	return dense_offset(x) < dense_offset(y) ? -1 : dense_offset(x) > dense_offset(y);
}

static uint64_t highest(const struct block *block)
{
	return block->lowest + block->span;
}

static int sort_sparse(struct index *ix)
{
	free(ix->by_id);
	free(ix->reach);
	ix->sparse_count = 0;
	for (size_t i = 0; i < ix->block_count; i++)
		ix->sparse_count += !ix->blocks[i].dense;
	ix->by_id = malloc((ix->sparse_count + 1) * sizeof *ix->by_id);
	ix->reach = malloc((ix->sparse_count + 1) * sizeof *ix->reach);
	if (!ix->by_id || !ix->reach)
		return -1;
	bool sorted = true;
	size_t n = 0;
	for (size_t i = 0; i < ix->block_count; i++) {
		if (ix->blocks[i].dense)
			continue;
		sorted &= !n || ix->blocks[ix->by_id[n - 1]].lowest <= ix->blocks[i].lowest;
		ix->by_id[n++] = (uint32_t)i;
	}
	if (!sorted) {
		sorting = ix;
		qsort(ix->by_id, n, sizeof *ix->by_id, compare_blocks);
	}
	uint64_t reach = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t high = highest(&ix->blocks[ix->by_id[i]]);
		ix->reach[i] = reach = high > reach ? high : reach;
	}
	return 0;
}

/* First position in by_id whose reach is >= `id`. No block before it can hold `id` or anything above. */
static size_t first_reaching(const struct index *ix, uint64_t id)
{
	size_t low = 0, high = ix->sparse_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (ix->reach[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* First position in by_id whose block begins above `id`. */
static size_t first_above(const struct index *ix, uint64_t id)
{
	size_t low = 0, high = ix->sparse_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (ix->blocks[ix->by_id[mid]].lowest <= id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static size_t dense_lower_bound(const struct index *ix, uint64_t id)
{
	size_t low = 0, high = ix->dense_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (dense_id(&ix->dense[mid]) < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Moves blocks that too many others overlap into the dense table. */
static int thin_overlaps(struct index *ix)
{
	bool found = false;
	for (size_t i = OVERLAP_LIMIT; i < ix->sparse_count; i++) {
		/* The block OVERLAP_LIMIT places before still reaches this one. */
		if (ix->reach[i - OVERLAP_LIMIT] < ix->blocks[ix->by_id[i]].lowest)
			continue;
		found = true;
		for (size_t j = i - OVERLAP_LIMIT; j <= i; j++)
			if (highest(&ix->blocks[ix->by_id[j]]) < DENSE_LIMIT)
				ix->blocks[ix->by_id[j]].dense = true;
	}
	if (!found)
		return 0;
	size_t more = 0;
	for (size_t i = 0; i < ix->sparse_count; i++)
		more += ix->blocks[ix->by_id[i]].dense ? ix->blocks[ix->by_id[i]].count : 0;
	struct dense_entry *dense = reallocarray(ix->dense, ix->dense_count + more + 1, sizeof *dense);
	if (!dense)
		return -1;
	ix->dense = dense;
	for (size_t i = 0; i < ix->sparse_count; i++) {
		if (!ix->blocks[ix->by_id[i]].dense)
			continue;
		struct block_walk walk;
		block_walk_start(&walk, ix, ix->by_id[i]);
		while (block_walk_next(&walk))
			dense[ix->dense_count++] = (struct dense_entry){
				.id_low = (uint32_t)walk.id, .id_high = (uint16_t)(walk.id >> 32),
				.offset_low = (uint32_t)walk.offset, .offset_high = (uint16_t)(walk.offset >> 32) };
	}
	return sort_sparse(ix);
}

void index_duplicate(struct index *ix, uint64_t offset)
{
	ix->duplicates++;
	if (!ix->first_duplicate || offset < ix->first_duplicate)
		ix->first_duplicate = offset;
}

/* Counts ids that stand more than once, by looking only where blocks overlap. */
static void count_duplicates(struct index *ix)
{
	for (size_t i = 1; i < ix->dense_count; i++)
		if (dense_id(&ix->dense[i]) == dense_id(&ix->dense[i - 1]))
			index_duplicate(ix, dense_offset(&ix->dense[i]));
	const uint64_t dense_first = ix->dense_count ? dense_id(&ix->dense[0]) : UINT64_MAX;
	const uint64_t dense_last = ix->dense_count ? dense_id(&ix->dense[ix->dense_count - 1]) : 0;
	for (size_t i = 0; i < ix->sparse_count; i++) {
		const struct block *block = &ix->blocks[ix->by_id[i]];
		const bool under = i && ix->reach[i - 1] >= block->lowest;
		const bool over = i + 1 < ix->sparse_count && ix->blocks[ix->by_id[i + 1]].lowest <= highest(block);
		const bool beside = dense_first <= highest(block) && dense_last >= block->lowest;
		if (!under && !over && !beside)
			continue;
		struct block_walk walk;
		struct found found;
		block_walk_start(&walk, ix, ix->by_id[i]);
		while (block_walk_next(&walk))
		{
			if (index_find(ix, walk.id, &found) && found.offset != walk.offset)
				index_duplicate(ix, walk.offset);
			/* The first of equal dense entries has no neighbour above to be compared with. */
			const size_t at = ix->dense_count ? dense_lower_bound(ix, walk.id) : 0;
			if (at < ix->dense_count && dense_id(&ix->dense[at]) == walk.id &&
			    dense_offset(&ix->dense[at]) > walk.offset)
				index_duplicate(ix, dense_offset(&ix->dense[at]));
		}
	}
}

/* Bits of an id that one round of the sort looks at. */
#define DIGIT 12

/*
 * Sorts by id, a digit at a time from the lowest on: a table of ten million entries in a tenth of the time that comparing
 * them takes. False without memory for a second table.
 */
static bool sort_by_digits(struct dense_entry *entries, size_t count)
{
	struct dense_entry *from = entries, *to = malloc(count * sizeof *to), *const second = to;
	size_t *starts = malloc((1u << DIGIT) * sizeof *starts);
	if (!to || !starts) {
		free(to);
		free(starts);
		return false;
	}
	for (unsigned shift = 0; shift < 48; shift += DIGIT) {
		memset(starts, 0, (1u << DIGIT) * sizeof *starts);
		for (size_t i = 0; i < count; i++)
			starts[dense_id(&from[i]) >> shift & ((1u << DIGIT) - 1)]++;
		size_t before = 0;
		bool same = false;
		for (size_t digit = 0; digit < 1u << DIGIT; digit++) {
			const size_t here = starts[digit];
			same |= here == count;
			starts[digit] = before;
			before += here;
		}
		if (same)
			continue;
		for (size_t i = 0; i < count; i++)
			to[starts[dense_id(&from[i]) >> shift & ((1u << DIGIT) - 1)]++] = from[i];
		struct dense_entry *const sorted = to;
		to = from;
		from = sorted;
	}
	if (from != entries)
		memcpy(entries, from, count * sizeof *entries);
	free(second);
	free(starts);
	return true;
}

static void sort_dense(struct index *ix)
{
	bool sorted = true;
	for (size_t i = 1; i < ix->dense_count && sorted; i++)
		sorted = compare_dense(&ix->dense[i - 1], &ix->dense[i]) < 0;
	if (sorted)
		return;
	if (!sort_by_digits(ix->dense, ix->dense_count)) {
		qsort(ix->dense, ix->dense_count, sizeof *ix->dense, compare_dense);
		return;
	}
	/* Equal ids, which are rare, by their place in the file. */
	for (size_t i = 0, end; i < ix->dense_count; i = end) {
		for (end = i + 1; end < ix->dense_count && dense_id(&ix->dense[end]) == dense_id(&ix->dense[i]);)
			end++;
		if (end > i + 1)
			qsort(&ix->dense[i], end - i, sizeof *ix->dense, compare_dense);
	}
}

int index_finish(struct index *ix)
{
	if (sort_sparse(ix) || thin_overlaps(ix))
		return -1;
	sort_dense(ix);
	count_duplicates(ix);
	return 0;
}

void index_free(struct index *ix)
{
	free(ix->blocks);
	free(ix->by_id);
	free(ix->reach);
	free(ix->dense);
	memset(ix, 0, sizeof *ix);
}

bool index_find(const struct index *ix, uint64_t id, struct found *found)
{
	found->offset = 0;
	/* From the last block that begins at or below the id, back to where none reaches it. */
	for (size_t i = first_above(ix, id); i-- > 0 && ix->reach[i] >= id;) {
		const size_t block = ix->by_id[i];
		if (highest(&ix->blocks[block]) < id)
			continue;
		struct block_walk walk;
		block_walk_start(&walk, ix, block);
		while (block_walk_next(&walk) && walk.id <= id)
			if (walk.id == id && (!found->offset || walk.offset < found->offset))
				*found = (struct found){ walk.offset, block };
	}
	const size_t at = ix->dense_count ? dense_lower_bound(ix, id) : 0;
	if (at < ix->dense_count && dense_id(&ix->dense[at]) == id &&
	    (!found->offset || dense_offset(&ix->dense[at]) < found->offset)) {
		found->offset = dense_offset(&ix->dense[at]);
		index_block_at(ix, found->offset, &found->block);
	}
	return found->offset != 0;
}

bool index_block_at(const struct index *ix, uint64_t offset, size_t *block)
{
	size_t low = 0, high = ix->block_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (ix->blocks[mid].offset <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	*block = low - 1;
	return true;
}

bool index_containing(const struct index *ix, uint64_t offset, struct found *found)
{
	struct block_walk walk;
	if (!index_block_at(ix, offset, &found->block))
		return false;
	block_walk_start(&walk, ix, found->block);
	while (block_walk_next(&walk) && walk.offset <= offset)
		if (offset - walk.offset < walk.size) {
			found->offset = walk.offset;
			return true;
		}
	return false;
}

bool index_successor(const struct index *ix, uint64_t id, uint64_t *found)
{
	bool any = false;
	uint64_t best = UINT64_MAX;
	for (size_t i = first_reaching(ix, id); i < ix->sparse_count; i++) {
		const struct block *block = &ix->blocks[ix->by_id[i]];
		if (any && block->lowest > best)
			break;
		if (highest(block) < id)
			continue;
		struct block_walk walk;
		block_walk_start(&walk, ix, ix->by_id[i]);
		while (block_walk_next(&walk)) {
			if (walk.id < id)
				continue;
			best = !any || walk.id < best ? walk.id : best;
			any = true;
			break;
		}
	}
	const size_t at = dense_lower_bound(ix, id);
	if (at < ix->dense_count && (!any || dense_id(&ix->dense[at]) < best)) {
		best = dense_id(&ix->dense[at]);
		any = true;
	}
	*found = best;
	return any;
}

bool index_predecessor(const struct index *ix, uint64_t id, struct found *found, uint64_t *found_id)
{
	bool any = false;
	uint64_t best = 0;
	for (size_t i = first_above(ix, id); i-- > 0;) {
		const size_t block = ix->by_id[i];
		if (any && ix->reach[i] < best)
			break;
		struct block_walk walk;
		block_walk_start(&walk, ix, block);
		while (block_walk_next(&walk) && walk.id <= id)
			if (!any || walk.id > best) {
				best = walk.id;
				*found = (struct found){ walk.offset, block };
				any = true;
			}
	}
	size_t at = id == UINT64_MAX ? ix->dense_count : dense_lower_bound(ix, id + 1);
	if (at-- && (!any || dense_id(&ix->dense[at]) > best)) {
		best = dense_id(&ix->dense[at]);
		found->offset = dense_offset(&ix->dense[at]);
		index_block_at(ix, found->offset, &found->block);
		any = true;
	}
	*found_id = best;
	return any;
}

static int compare_located(const void *a, const void *b)
{
	const struct located *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

ptrdiff_t index_range(const struct index *ix, uint64_t first, uint64_t last, struct located **list)
{
	size_t count = 0, capacity = 0;
	bool sorted = true;
	*list = NULL;
	struct located *items = NULL;
	size_t at = dense_lower_bound(ix, first);
	size_t i = first_reaching(ix, first);
	for (;;) {
		/* One block, or all of the dense table's share, at a time. */
		struct block_walk walk = { .left = 0 };
		bool from_dense = false;
		if (i < ix->sparse_count && ix->blocks[ix->by_id[i]].lowest <= last) {
			const size_t block = ix->by_id[i++];
			if (highest(&ix->blocks[block]) < first)
				continue;
			block_walk_start(&walk, ix, block);
		} else if (at < ix->dense_count && dense_id(&ix->dense[at]) <= last) {
			from_dense = true;
		} else {
			break;
		}
		for (;;) {
			struct located item;
			if (from_dense) {
				if (at >= ix->dense_count || dense_id(&ix->dense[at]) > last)
					break;
				item = (struct located){ dense_id(&ix->dense[at]), dense_offset(&ix->dense[at]) };
				at++;
			} else {
				if (!block_walk_next(&walk) || walk.id > last)
					break;
				if (walk.id < first)
					continue;
				item = (struct located){ walk.id, walk.offset };
			}
			if (count == capacity) {
				capacity = capacity ? capacity * 2 : 256;
				struct located *grown = reallocarray(items, capacity, sizeof *items);
				if (!grown) {
					free(items);
					return -1;
				}
				items = grown;
			}
			sorted &= !count || compare_located(&items[count - 1], &item) < 0;
			items[count++] = item;
		}
	}
	if (!sorted)
		qsort(items, count, sizeof *items, compare_located);
	size_t kept = 0;
	for (size_t j = 0; j < count; j++)
		if (!kept || items[j].id != items[kept - 1].id)
			items[kept++] = items[j];
	*list = items;
	return (ptrdiff_t)kept;
}
