/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass puts what it finds into bins by the first bits of the hash, each thread into bins of its own. Then each bin is
 * sorted alone, by whichever thread is free, and what stands together is compared. So no thread waits for another, and
 * the result does not depend on how many there are.
 */
#include "graph/equal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BINS 64
#define BIN_OF(hash) ((hash) >> 58)
/* Suspects that are kept in one piece, so that nothing is copied as their number grows. */
#define PIECE 168

struct piece {
	struct piece *next;
	size_t count;
	struct suspect list[PIECE];
};

struct bin {
	struct piece *first;
	size_t count;
};

/* Where one thread's pieces lie: in slabs of the system's, which it has back at the end whatever malloc() would do. */
#define SLAB_PIECES 256
struct slab {
	struct slab *next;
	size_t used;
	struct piece pieces[SLAB_PIECES];
};

struct finder {
	struct bin bins[BINS];
	struct slab *slabs;
};

struct search {
	const struct heap *heap;
	const struct equal_ops *ops;
	const _Atomic bool *cancel;
	unsigned threads;
	struct finder *finders;	/* by thread */
	struct contents found[BINS];
	size_t capacity[BINS];
	_Atomic unsigned next;	/* bin that nobody has taken */
	_Atomic int error;
};

static struct piece *new_piece(struct finder *finder)
{
	struct slab *slab = finder->slabs;
	if (!slab || slab->used == SLAB_PIECES) {
		slab = mmap(NULL, sizeof *slab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (slab == MAP_FAILED)
			return NULL;
		slab->next = finder->slabs;
		finder->slabs = slab;
	}
	return &slab->pieces[slab->used++];
}

static bool add(struct finder *finder, const struct suspect *suspect)
{
	struct bin *bin = &finder->bins[BIN_OF(suspect->hash)];
	struct piece *piece = bin->first;
	if (!piece || piece->count == PIECE) {
		piece = new_piece(finder);
		if (!piece)
			return false;
		piece->next = bin->first;
		piece->count = 0;
		bin->first = piece;
	}
	piece->list[piece->count++] = *suspect;
	bin->count++;
	return true;
}

static void free_slabs(struct finder *finder)
{
	for (struct slab *slab = finder->slabs, *next; slab; slab = next) {
		next = slab->next;
		munmap(slab, sizeof *slab);
	}
}

static int look_at_chunk(void *context, unsigned thread, size_t chunk, struct record_walk *walk)
{
	struct search *search = context;
	struct suspect suspect;
	(void)chunk;
	while (record_walk_next(walk)) {
		if (!search->ops->suspect(search->heap, &walk->record.object, &suspect))
			continue;
		if (!add(&search->finders[thread], &suspect))
			return ENOMEM;
		if (atomic_load_explicit(search->cancel, memory_order_relaxed))
			return ECANCELED; /* one text may take as long as a chunk of others */
	}
	return 0;
}

/* --- what is in a bin --- */

static int compare_hashes(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_contents(const void *a, const void *b, void *context)
{
	const struct search *search = context;
	const struct suspect *x = a, *y = b;
	const int order = search->ops->compare(search->heap, x, y);
	return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Tells of some that are equal. */
static int tell(struct search *search, unsigned number, struct suspect *list, size_t count)
{
	struct contents *found = &search->found[number];
	struct content content;
	if (count < 2 || !search->ops->sum(search->heap, list, count, &content))
		return 0;
	if (found->count == search->capacity[number]) {
		const size_t capacity = found->count ? found->count * 2 : 64;
		struct content *grown = reallocarray(found->list, capacity, sizeof *grown);
		if (!grown)
			return ENOMEM;
		found->list = grown;
		search->capacity[number] = capacity;
	}
	found->list[found->count++] = content;
	return 0;
}

/* Of one hash: nearly always of one content. */
static int split(struct search *search, unsigned number, struct suspect *list, size_t count)
{
	const struct heap *heap = search->heap;
	size_t same = 1;
	while (same < count && !search->ops->compare(heap, &list[0], &list[same]))
		same++;
	if (same == count)
		return tell(search, number, list, count);
	/* Who means harm can make many contents of one hash: they must not be compared each with each. */
	qsort_r(list, count, sizeof *list, compare_contents, search);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && !search->ops->compare(heap, &list[i], &list[end]);)
			end++;
		const int rc = tell(search, number, list + i, end - i);
		if (rc)
			return rc;
	}
	return 0;
}

static int sort_bin(struct search *search, unsigned number)
{
	size_t count = 0;
	int rc = 0;
	for (unsigned i = 0; i < search->threads; i++)
		count += search->finders[i].bins[number].count;
	struct suspect *list = count ? malloc(count * sizeof *list) : NULL;
	if (!list)
		return count ? ENOMEM : 0;
	size_t used = 0;
	for (unsigned i = 0; i < search->threads; i++)
		for (const struct piece *piece = search->finders[i].bins[number].first; piece; piece = piece->next) {
			memcpy(list + used, piece->list, piece->count * sizeof *list);
			used += piece->count;
		}
	qsort(list, count, sizeof *list, compare_hashes);
	for (size_t i = 0, end; i < count && !rc; i = end) {
		for (end = i + 1; end < count && list[end].hash == list[i].hash;)
			end++;
		if (end - i > 1)
			rc = split(search, number, list + i, end - i);
		if (!rc && atomic_load_explicit(search->cancel, memory_order_relaxed))
			rc = ECANCELED;
		if (!rc && input_touched_bad)
			rc = EIO;
	}
	free(list);
	return rc;
}

static void *sort_bins(void *argument)
{
	struct search *search = argument;
	input_touched_bad = false;
	for (unsigned number; !atomic_load(&search->error) && (number = atomic_fetch_add(&search->next, 1)) < BINS;) {
		const int rc = sort_bin(search, number);
		if (rc)
			atomic_store(&search->error, rc);
	}
	return NULL;
}

static int sort_all(struct search *search)
{
	pthread_t *threads = calloc(search->threads, sizeof *threads);
	unsigned started = 0;
	if (!threads)
		return ENOMEM;
	while (started + 1 < search->threads && !pthread_create(&threads[started], NULL, sort_bins, search))
		started++;
	const bool touched_bad = input_touched_bad;
	sort_bins(search);
	input_touched_bad |= touched_bad;
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return atomic_load(&search->error);
}

/* --- all together --- */

static int look_at_all(struct search *search)
{
	struct shapes shapes;
	int rc = shapes_open(&shapes, search->heap);
	const struct pass pass = { .shapes = &shapes, .threads = search->threads, .cancel = search->cancel,
				   .chunk = look_at_chunk, .context = search };
	if (!rc)
		rc = pass_run(&pass);
	shapes_close(&shapes);
	return rc;
}

static int gather(const struct search *search, struct contents *found)
{
	size_t count = 0;
	for (unsigned i = 0; i < BINS; i++)
		count += search->found[i].count;
	found->list = calloc(count + 1, sizeof *found->list);
	if (!found->list)
		return ENOMEM;
	for (unsigned i = 0; i < BINS; i++) {
		const struct contents *bin = &search->found[i];
		if (bin->count)
			memcpy(found->list + found->count, bin->list, bin->count * sizeof *bin->list);
		found->count += bin->count;
	}
	qsort(found->list, found->count, sizeof *found->list, search->ops->order);
	return 0;
}

int find_equal(const struct heap *heap, const struct equal_ops *ops, unsigned threads, const _Atomic bool *cancel,
	       struct contents *found)
{
	struct search search = { .heap = heap, .ops = ops, .cancel = cancel, .threads = threads };
	*found = (struct contents){ .list = NULL };
	search.finders = calloc(threads, sizeof *search.finders);
	int rc = search.finders ? look_at_all(&search) : ENOMEM;
	if (!rc)
		rc = sort_all(&search);
	if (!rc)
		rc = gather(&search, found);
	for (unsigned i = 0; search.finders && i < threads; i++)
		free_slabs(&search.finders[i]);
	for (unsigned number = 0; number < BINS; number++)
		free(search.found[number].list);
	free(search.finders);
	return rc;
}
