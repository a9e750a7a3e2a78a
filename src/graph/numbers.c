/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/numbers.h"

#include <errno.h>
#include <stdlib.h>

/* A hole of more bytes than this parts regions: it would take some 5 KB of lines. */
#define HOLE (UINT64_C(128) << 10)
#define USUAL_SHIFT 3

#define relaxed memory_order_relaxed

/* --- which addresses there are --- */

/* Stretches of ids that blocks, unordered objects and classes take, merged in ascending order. */
struct stretches {
	const struct heap *heap;
	size_t block, dense;
	uint32_t class;
};

static bool next_stretch(struct stretches *at, uint64_t *first, uint64_t *last)
{
	const struct index *ix = &at->heap->scan.index;
	const struct block *block = at->block < ix->sparse_count ? &ix->blocks[ix->by_id[at->block]] : NULL;
	const uint64_t dense = at->dense < ix->dense_count ? dense_id(&ix->dense[at->dense]) : UINT64_MAX;
	while (at->class < at->heap->class_count && !at->heap->classes[at->class].offset)
		at->class++;
	const uint64_t class = at->class < at->heap->class_count ? at->heap->classes[at->class].id : UINT64_MAX;
	if (block && block->lowest <= dense && block->lowest <= class) {
		*first = block->lowest;
		*last = block->lowest + block->span;
		at->block++;
		return true;
	}
	*first = *last = dense < class ? dense : class;
	if (at->dense < ix->dense_count && dense <= class)
		at->dense++;
	else if (at->class < at->heap->class_count)
		at->class++;
	else
		return false;
	return true;
}

static int add_region(struct numbers *numbers, uint64_t first, uint64_t last)
{
	struct region *regions = numbers->regions;
	if (!(numbers->region_count & (numbers->region_count - 1))) {
		regions = reallocarray(regions, numbers->region_count ? numbers->region_count * 2 : 1, sizeof *regions);
		if (!regions)
			return ENOMEM;
		numbers->regions = regions;
	}
	first = first >> numbers->shift << numbers->shift;
	const uint64_t slots = ((last - first) >> numbers->shift) + 1;
	regions[numbers->region_count++] = (struct region){ first, last - first + 1, numbers->line_count * LINE_SLOTS };
	numbers->line_count += (slots + LINE_SLOTS - 1) / LINE_SLOTS;
	return 0;
}

static int find_regions(struct numbers *numbers, const struct heap *heap)
{
	struct stretches at = { .heap = heap };
	uint64_t first, last, region_first = 0, region_last = 0;
	bool any = false;
	while (next_stretch(&at, &first, &last)) {
		if (any && (last <= region_last || first - region_last <= HOLE || first <= region_last)) {
			region_last = last > region_last ? last : region_last;
			continue;
		}
		if (any && add_region(numbers, region_first, region_last))
			return ENOMEM;
		region_first = first;
		region_last = last;
		any = true;
	}
	return add_region(numbers, region_first, region_last); /* of nothing, too: so that there always is one */
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

struct ids {
	uint64_t *list;
	size_t count, capacity;
	bool collided;
};

static bool keep_odd(struct ids *ids, uint64_t id)
{
	if (!(id & ((1 << USUAL_SHIFT) - 1)))
		return true;
	if (ids->count == ids->capacity) {
		const size_t wanted = ids->capacity ? ids->capacity * 2 : 1024;
		uint64_t *grown = reallocarray(ids->list, wanted, sizeof *grown);
		if (!grown)
			return false;
		ids->list = grown;
		ids->capacity = wanted;
	}
	ids->list[ids->count++] = id;
	return true;
}

/* All ids that are no multiples of 8. With more than `most` of them *many is set, and none are kept. */
static int find_odd(const struct heap *heap, struct ids *ids, uint64_t most, bool *many)
{
	bool kept = true;
	for (uint32_t i = 0; i < heap->class_count && kept; i++)
		kept = !heap->classes[i].offset || keep_odd(ids, heap->classes[i].id);
	for (size_t block = 0; block < heap->scan.index.block_count && kept && ids->count <= most; block++) {
		struct block_walk walk;
		block_walk_start(&walk, &heap->scan.index, block);
		while (kept && block_walk_next(&walk))
			kept = keep_odd(ids, walk.id);
	}
	*many = ids->count > most;
	if (!kept || *many) {
		free(ids->list);
		*ids = (struct ids){ .list = NULL };
		return kept ? 0 : ENOMEM;
	}
	if (ids->count)
		qsort(ids->list, ids->count, sizeof *ids->list, compare_ids);
	size_t unique = 0;
	for (size_t i = 0; i < ids->count; i++)
		if (!unique || ids->list[i] != ids->list[unique - 1])
			ids->list[unique++] = ids->list[i];
	ids->collided = unique < ids->count;
	ids->count = unique;
	return 0;
}

/* How ids are spaced: by 8 with a few exceptions, else by what all of them have in common. */
static int choose_shift(struct numbers *numbers, const struct heap *heap)
{
	uint64_t bits = heap->scan.id_bits;
	for (uint32_t i = 0; i < heap->class_count; i++)
		bits |= heap->classes[i].offset ? heap->classes[i].id : 0;
	const unsigned common = bits ? (unsigned)__builtin_ctzll(bits) : USUAL_SHIFT;
	struct ids odd = { .list = NULL };
	bool many;
	numbers->shift = common < 12 ? common : 12;
	/* The scan leaves ART's arrays inside objects out of what it says of ids. */
	if (common >= USUAL_SHIFT && !heap->android)
		return 0;
	if (find_odd(heap, &odd, (heap->scan.index.object_count + heap->class_count) / 8, &many))
		return ENOMEM;
	numbers->shift = !many ? USUAL_SHIFT : heap->android ? 0 : common;
	numbers->odd = odd.list;
	numbers->odd_count = odd.count;
	numbers->odd_collided = odd.collided;
	return 0;
}

int numbers_open(struct numbers *numbers, const struct heap *heap, struct store *store)
{
	*numbers = (struct numbers){ .store = store };
	if (choose_shift(numbers, heap) || find_regions(numbers, heap))
		return ENOMEM;
	/* In large pages only where most lines have objects, and not holes. */
	void *(*get)(struct store *, uint64_t, uint64_t) =
		numbers->line_count < heap->scan.index.object_count / 4 ? store_get : store_get_sparse;
	numbers->lines = get(store, numbers->line_count, sizeof *numbers->lines);
	numbers->marks = get(store, numbers->line_count * LINE_WORDS, sizeof *numbers->marks);
	return numbers->lines && numbers->marks ? 0 : ENOMEM;
}

static void free_marks(struct numbers *numbers)
{
	store_put(numbers->store, numbers->marks, numbers->line_count * LINE_WORDS, sizeof *numbers->marks);
	numbers->marks = NULL;
}

void numbers_close(struct numbers *numbers)
{
	if (!numbers->store)
		return;
	free_marks(numbers);
	store_put(numbers->store, numbers->lines, numbers->line_count, sizeof *numbers->lines);
	free(numbers->regions);
	free(numbers->odd);
	*numbers = (struct numbers){ .store = NULL };
}

/* --- places --- */

uint64_t odd_place(const struct numbers *numbers, uint64_t id)
{
	size_t low = 0, high = numbers->odd_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (numbers->odd[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < numbers->odd_count && numbers->odd[low] == id ? PLACE_ODD | low : PLACE_NONE;
}

void numbers_flush(struct numbers *numbers, struct adding *adding)
{
	if (!adding->word)
		return;
	struct line *line = &numbers->lines[(adding->word - 1) / LINE_WORDS];
	const unsigned word = (unsigned)((adding->word - 1) % LINE_WORDS);
	adding->collided |= (atomic_fetch_or_explicit(&line->core[word], adding->core, relaxed) & adding->core) != 0;
	if (adding->leaf)
		atomic_fetch_or_explicit(&line->leaf[word], adding->leaf, relaxed);
	adding->word = adding->core = adding->leaf = 0;
}

void numbers_add(struct numbers *numbers, struct adding *adding, uint64_t place, bool without_references)
{
	if (place & PLACE_ODD)
		return;
	if (adding->word != place / 64 + 1) {
		numbers_flush(numbers, adding);
		adding->word = place / 64 + 1;
	}
	const uint64_t bit = UINT64_C(1) << place % 64;
	adding->collided |= (adding->core & bit) != 0;
	adding->core |= bit;
	adding->leaf |= without_references ? bit : 0;
}

bool numbers_mark(struct numbers *numbers, uint64_t place, bool pinned)
{
	if (place & PLACE_ODD)
		return place != PLACE_NONE;
	struct marks *marks = &numbers->marks[place / 64];
	const uint64_t bit = UINT64_C(1) << place % 64;
	if (!pinned && !(atomic_load_explicit(&marks->once, relaxed) & bit))
		pinned = atomic_fetch_or_explicit(&marks->once, bit, relaxed) & bit;
	else
		pinned = true;
	if (pinned && !(atomic_load_explicit(&marks->twice, relaxed) & bit))
		atomic_fetch_or_explicit(&marks->twice, bit, relaxed);
	return true;
}

void numbers_clear(struct numbers *numbers)
{
	memset(numbers->lines, 0, numbers->line_count * sizeof *numbers->lines);
	memset(numbers->marks, 0, numbers->line_count * LINE_WORDS * sizeof *numbers->marks);
}

int numbers_finish(struct numbers *numbers)
{
	uint64_t cores = 0, leaves = 0;
	for (uint64_t i = 0; i < numbers->line_count; i++) {
		struct line *line = &numbers->lines[i];
		uint64_t any = 0;
		uint8_t core_in[LINE_WORDS], leaf_in[LINE_WORDS];
		unsigned line_cores = 0, line_leaves = 0;
		for (unsigned word = 0; word < LINE_WORDS; word++) {
			const struct marks *marks = &numbers->marks[i * LINE_WORDS + word];
			const uint64_t objects = atomic_load_explicit(&line->core[word], relaxed);
			const uint64_t leaf = atomic_load_explicit(&line->leaf[word], relaxed) & objects &
					      atomic_load_explicit(&marks->once, relaxed) &
					      ~atomic_load_explicit(&marks->twice, relaxed);
			core_in[word] = (uint8_t)line_cores;
			leaf_in[word] = (uint8_t)line_leaves;
			if (!objects)
				continue;
			any |= objects;
			line_cores += ones(objects & ~leaf);
			line_leaves += ones(leaf);
			atomic_store_explicit(&line->core[word], objects & ~leaf, relaxed);
			atomic_store_explicit(&line->leaf[word], leaf, relaxed);
		}
		if (any) { /* what is empty is not written to: it may lie in a hole of the heap */
			line->core_rank = (uint32_t)cores;
			line->leaf_rank = (uint32_t)leaves;
			memcpy(line->core_in, core_in, sizeof core_in);
			memcpy(line->leaf_in, leaf_in, sizeof leaf_in);
		}
		cores += line_cores;
		leaves += line_leaves;
		if (cores + leaves + numbers->odd_count >= CORE_MOST)
			return E2BIG;
	}
	free_marks(numbers);
	numbers->line_core = (uint32_t)cores;
	numbers->core_count = (uint32_t)(cores + numbers->odd_count);
	numbers->count = numbers->core_count + (uint32_t)leaves;
	return 0;
}

/* --- ids and numbers --- */

uint32_t number_of(const struct numbers *numbers, uint64_t id)
{
	size_t region = 0;
	return number_at(numbers, place_of_id(numbers, id, &region));
}

static bool is_empty(const struct line *line)
{
	uint64_t any = 0;
	for (unsigned word = 0; word < LINE_WORDS; word++)
		any |= atomic_load_explicit(&line->core[word], relaxed) | atomic_load_explicit(&line->leaf[word], relaxed);
	return !any;
}

/* The slot of the `rank`th bit of a line's words. */
static unsigned nth_bit(const _Atomic uint64_t *words, uint32_t rank)
{
	unsigned word = 0;
	uint64_t bits = atomic_load_explicit(&words[0], relaxed);
	while (word + 1 < LINE_WORDS && rank >= ones(bits)) {
		rank -= ones(bits);
		bits = atomic_load_explicit(&words[++word], relaxed);
	}
	while (rank--)
		bits &= bits - 1;
	return 64 * word + (bits ? (unsigned)__builtin_ctzll(bits) : 0);
}

uint64_t number_id(const struct numbers *numbers, uint32_t number)
{
	const bool leaf = number >= numbers->core_count;
	if (!leaf && number >= numbers->line_core)
		return numbers->odd[number - numbers->line_core];
	const uint32_t rank = leaf ? number - numbers->core_count : number;
	/* The last line that is not empty and has no more than `rank` before it. */
	uint64_t low = 0, high = numbers->line_count, found = 0;
	while (low < high) {
		const uint64_t mid = low + (high - low) / 2;
		uint64_t at = mid;
		while (at < high && is_empty(&numbers->lines[at]))
			at++;
		if (at == high) {
			high = mid;
		} else if ((leaf ? numbers->lines[at].leaf_rank : numbers->lines[at].core_rank) <= rank) {
			found = at;
			low = at + 1;
		} else {
			high = mid;
		}
	}
	/* Lines without one of the kind have the same rank as the one before the next that has. */
	const struct line *line = &numbers->lines[found];
	const uint64_t slot = found * LINE_SLOTS +
			      nth_bit(leaf ? line->leaf : line->core, rank - (leaf ? line->leaf_rank : line->core_rank));
	low = 0;
	high = numbers->region_count;
	while (low < high) {
		const uint64_t mid = low + (high - low) / 2;
		if (numbers->regions[mid].slot <= slot)
			low = mid + 1;
		else
			high = mid;
	}
	const struct region *region = &numbers->regions[low - 1];
	return region->first + ((slot - region->slot) << numbers->shift);
}
