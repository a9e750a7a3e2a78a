/* SPDX-License-Identifier: Apache-2.0 */
/* What the other sections show: mappings with how held blocks lie in them, and memory over time. */
#include "loli/sums.h"

#include <stdlib.h>

/* Held blocks that overlap or touch, as one; with what all before them cover. */
struct block {
	uint64_t start, end, before;
};

struct blocks {
	struct block *list;
	size_t count;
	uint64_t *gaps;		/* a tree of maxima: gap i, at gaps[count + i], lies between blocks i - 1 and i */
};

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static bool find_blocks(struct loli_sums *sums, struct blocks *blocks)
{
	size_t joined = 0;
	*blocks = (struct blocks){ reallocarray(NULL, sums->entry_count + 1, sizeof *blocks->list), 0, NULL };
	for (size_t i = 0; blocks->list && i < sums->entry_count; i++) {
		const struct loli_entry entry = sums_entry(sums, i);
		struct loli_record record;
		if (entry.state == LOLI_FREED)
			continue;
		if (!sums_record(sums, &entry, &record))
			return false;
		if (record.address && record.size && record.address <= UINT64_MAX - record.size)
			blocks->list[blocks->count++] = (struct block){ record.address, record.address + record.size, 0 };
	}
	if (!blocks->list)
		return false;
	qsort(blocks->list, blocks->count, sizeof *blocks->list, compare_blocks);
	for (size_t i = 0; i < blocks->count; i++) {
		const struct block block = blocks->list[i];
		struct block *last = joined ? &blocks->list[joined - 1] : NULL;
		if (last && block.start <= last->end)
			last->end = block.end > last->end ? block.end : last->end;
		else
			blocks->list[joined++] = block;
	}
	blocks->count = joined;
	blocks->gaps = calloc(2 * joined + 2, sizeof *blocks->gaps);
	if (!blocks->gaps)
		return false;
	for (size_t i = 1; i < joined; i++) {
		struct block *block = &blocks->list[i];
		block->before = block[-1].before + (block[-1].end - block[-1].start);
		blocks->gaps[joined + i] = block->start - block[-1].end;
	}
	for (size_t i = joined; i-- > 1;)
		blocks->gaps[i] = blocks->gaps[2 * i] > blocks->gaps[2 * i + 1] ? blocks->gaps[2 * i] : blocks->gaps[2 * i + 1];
	return true;
}

/* The largest of gaps [from, to). */
static uint64_t largest(const struct blocks *blocks, size_t from, size_t to)
{
	uint64_t most = 0;
	for (from += blocks->count, to += blocks->count; from < to; from /= 2, to /= 2) {
		if (from % 2) {
			most = blocks->gaps[from] > most ? blocks->gaps[from] : most;
			from++;
		}
		if (to % 2) {
			to--;
			most = blocks->gaps[to] > most ? blocks->gaps[to] : most;
		}
	}
	return most;
}

static void add_range(struct loli_mapping *mapping, const struct blocks *blocks, uint64_t start, uint64_t end)
{
	size_t low = 0, high = blocks->count;
	if (end <= start)
		return;
	mapping->bytes += end - start;
	while (low < high) { /* the first that ends behind the start */
		const size_t mid = low + (high - low) / 2;
		if (blocks->list[mid].end <= start)
			low = mid + 1;
		else
			high = mid;
	}
	const size_t first = low;
	for (high = blocks->count; low < high;) { /* the first that begins at the end or behind it */
		const size_t mid = low + (high - low) / 2;
		if (blocks->list[mid].start < end)
			low = mid + 1;
		else
			high = mid;
	}
	uint64_t gap = end - start;
	if (low > first) {
		const struct block *a = &blocks->list[first], *z = &blocks->list[low - 1];
		const uint64_t head = a->start > start ? a->start - start : 0, tail = end > z->end ? end - z->end : 0;
		const uint64_t covered = z->before + (z->end - z->start) - a->before;
		mapping->used += covered - (a->start < start ? start - a->start : 0) - (z->end > end ? z->end - end : 0);
		gap = largest(blocks, first + 1, low);
		gap = head > gap ? head : gap;
		gap = tail > gap ? tail : gap;
	}
	mapping->largest_gap = gap > mapping->largest_gap ? gap : mapping->largest_gap;
}

static int compare_mappings(const void *a, const void *b, void *context)
{
	const struct loli_sums *sums = context;
	const struct loli_mapping *x = a, *y = b;
	if (x->kib[2] != y->kib[2])
		return x->kib[2] > y->kib[2] ? -1 : 1;
	const struct text_entry s = sums_text(sums, x->text), t = sums_text(sums, y->text);
	const int order = memcmp(s.data, t.data, s.len < t.len ? s.len : t.len);
	return order ? order : s.len < t.len ? -1 : s.len > t.len;
}

static bool read_mapping(struct loli_sums *sums, struct loli_cursor *cursor, const struct blocks *blocks,
			 struct table *names)
{
	const struct loli_string string = loli_string(cursor);
	char *name = malloc(3 * (size_t)string.count + 1);
	const uint32_t text = name ? texts_put(&sums->texts, name, loli_utf8(&string, name)) : NUMBER_NONE;
	const uint64_t count = loli_count(cursor, 24);
	struct loli_mapping mapping = { .text = text, .ranges = (uint32_t)count };
	free(name);
	uint32_t *number = text == NUMBER_NONE ? NULL : table_put(names, (struct table_key){ text, 0 });
	if (!number)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t start = loli_u64(cursor), end = loli_u64(cursor);
		loli_u64(cursor);
		add_range(&mapping, blocks, start, end);
	}
	for (unsigned i = 0; i < 7; i++)
		mapping.kib[i] = loli_u32(cursor);
	if (*number == NUMBER_NONE)
		*number = (uint32_t)sums->mapping_count++;
	sums->mappings[*number] = mapping; /* of equal names the last counts, as in LoliProfiler */
	return !cursor->problem;
}

static bool read_mappings(struct loli_sums *sums)
{
	const struct loli_part *part = &sums->loli->parts[LOLI_SMAPS];
	struct loli_cursor cursor = loli_cursor(sums->loli, part->at);
	struct blocks blocks;
	struct table names = { 0 };
	sums->mappings = reallocarray(NULL, part->count + 1, sizeof *sums->mappings);
	bool made = find_blocks(sums, &blocks) && sums->mappings;
	for (uint64_t i = 0; made && i < part->count; i++)
		made = read_mapping(sums, &cursor, &blocks, &names);
	free(blocks.list);
	free(blocks.gaps);
	table_free(&names);
	if (made)
		qsort_r(sums->mappings, sums->mapping_count, sizeof *sums->mappings, compare_mappings, sums);
	return made;
}

/* --- memory over time --- */

static uint64_t sortable(uint64_t bits)
{
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static int compare_points(const void *a, const void *b)
{
	const struct loli_point *x = a, *y = b;
	return x->x < y->x ? -1 : x->x > y->x;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool read_series(struct loli_sums *sums, struct loli_cursor *cursor, uint64_t number, struct loli_series *series)
{
	const uint64_t count = loli_inner(sums->loli, LOLI_SERIES, number, loli_u32(cursor));
	/* The file may have been written over since its points were counted. */
	if (count > sums->loli->parts[LOLI_SERIES].parts - sums->time_count)
		return false;
	const uint8_t *p = loli_take(cursor, count * 16);
	series->points = p ? reallocarray(NULL, count + 1, sizeof *series->points) : NULL;
	if (!series->points)
		return false;
	for (; series->count < count; p += 16) {
		const uint64_t y = be64(p + 8);
		struct loli_point *point = &series->points[series->count++];
		point->x = sortable(be64(p));
		memcpy(&point->y, &y, sizeof y);
		sums->times[sums->time_count++] = point->x;
	}
	qsort(series->points, series->count, sizeof *series->points, compare_points);
	return true;
}

static bool read_all_series(struct loli_sums *sums)
{
	const struct loli_part *part = &sums->loli->parts[LOLI_SERIES];
	struct loli_cursor cursor = loli_cursor(sums->loli, part->at);
	sums->series = calloc(part->count + 1, sizeof *sums->series);
	sums->times = reallocarray(NULL, part->parts + 1, sizeof *sums->times);
	if (!sums->series || !sums->times)
		return false;
	for (uint64_t i = 0; i < part->count; i++)
		if (!read_series(sums, &cursor, i, &sums->series[sums->series_count++]))
			return false;
	qsort(sums->times, sums->time_count, sizeof *sums->times, compare_times);
	size_t once = 0;
	for (size_t i = 0; i < sums->time_count; i++)
		if (!once || sums->times[once - 1] != sums->times[i])
			sums->times[once++] = sums->times[i];
	sums->time_count = once;
	return true;
}

bool charts_build(struct loli_sums *sums)
{
	return read_mappings(sums) && read_all_series(sums);
}
