/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/scan.h"

#include "hprof/subrecord.h"
#include "hprof/worker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* Below this many bytes a thread costs more than it saves. */
#define THREAD_BYTES (UINT64_C(4) << 20)

/* Adds what a worker found to a class's tally. `base` is the number of the worker's first block. */
static int join_tally(struct tally *to, struct tally *from, uint64_t base)
{
	to->count += from->count;
	to->elements += from->elements;
	to->synthetic += from->synthetic;
	to->synthetic_bytes += from->synthetic_bytes;
	for (unsigned i = 0; i < TALLY_RESIDUES; i++)
		to->residues[i] += from->residues[i];
	if (from->min_gap != GAP_NONE)
		tally_gap(to, from->min_gap, from->gap_count);
	if (!from->list.len)
		return 0;
	/* A list begins with distance 0 from the worker's own first block of the class. */
	const uint64_t first = base + from->first_block;
	if (bytes_add_varint(&to->list, first - (to->list.len ? to->last_block : 0)) ||
	    bytes_reserve(&to->list, from->list.len - 1))
		return -1;
	memcpy(to->list.data + to->list.len, from->list.data + 1, from->list.len - 1);
	to->list.len += from->list.len - 1;
	to->last_block = base + from->last_block;
	return 0;
}

static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	const bool px = x->kind == TALLY_PRIMITIVE_ARRAYS, py = y->kind == TALLY_PRIMITIVE_ARRAYS;
	if (px != py)
		return px ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Finds a tally, or makes an empty one; tallies are not sorted while they are joined. */
static struct tally *join_target(struct worker *all, const struct tally *like)
{
	const uint32_t number = like->kind == TALLY_PRIMITIVE_ARRAYS ? (uint32_t)like->id :
								       worker_tally(all, like->id, like->kind);
	return &all->tallies[number];
}

static int append(void **to, size_t *to_count, const void *from, size_t from_count, size_t size)
{
	if (!from_count)
		return 0;
	void *grown = reallocarray(*to, *to_count + from_count, size);
	if (!grown)
		return -1;
	*to = grown;
	memcpy((char *)grown + *to_count * size, from, from_count * size);
	*to_count += from_count;
	return 0;
}

static int join_roots(struct scan *scan, struct worker *w, uint64_t *last_root)
{
	if (!w->roots.len)
		return 0;
	const uint8_t *p = w->roots.data, *end = p + w->roots.len;
	const uint64_t first = varint_read(&p, end); /* the worker counted from offset 0 */
	const size_t rest = (size_t)(end - p);
	if (bytes_add_varint(&scan->roots, first - *last_root) || bytes_reserve(&scan->roots, rest))
		return -1;
	memcpy(scan->roots.data + scan->roots.len, p, rest);
	scan->roots.len += rest;
	*last_root = w->last_root;
	return 0;
}

/* Joins the workers' finds, in file order, into `scan`. */
static int join(struct scan *scan, struct worker *workers, unsigned count)
{
	struct worker all = { .hprof = scan->hprof, .heaps = workers[0].heaps };
	int rc = worker_prepare(&all);
	if (!rc)
		worker_rehash(&all);
	rc |= all.error;
	uint64_t last_root = 0, previous_id = 0;
	struct tally *previous = NULL;
	for (unsigned i = 0; i < count && !rc; i++) {
		struct worker *w = &workers[i];
		const uint64_t base = scan->index.block_count;
		/* The last object of one range and the first of the next. */
		if (previous && w->first_id > previous_id && w->first_id - previous_id <= BLOCK_RISE)
			tally_gap(previous, w->first_id - previous_id, 1);
		for (size_t j = 0; j < w->tally_count && !rc; j++) {
			struct tally *to = join_target(&all, &w->tallies[j]);
			rc = all.error | join_tally(to, &w->tallies[j], base);
			scan->index.object_count += w->tallies[j].count;
		}
		if (rc)
			break;
		previous = w->gap_known ? join_target(&all, &w->tallies[w->previous_tally]) : NULL;
		previous_id = w->previous_id;
		rc |= append((void **)&scan->index.blocks, &scan->index.block_count, w->blocks, w->block_count,
			     sizeof *w->blocks);
		rc |= append((void **)&scan->index.dense, &scan->index.dense_count, w->dense, w->dense_count,
			     sizeof *w->dense);
		rc |= append((void **)&scan->class_dumps, &scan->class_dump_count, w->class_dumps,
			     w->class_dump_count, sizeof *w->class_dumps);
		rc |= join_roots(scan, w, &last_root);
		for (unsigned tag = 0; tag < 256; tag++)
			scan->subs[tag] += w->subs[tag];
		for (unsigned type = 0; type < TYPE_COUNT; type++)
			for (unsigned length = 0; length < GAP_LENGTHS; length++)
				if (w->array_gaps[type][length] < scan->array_gaps[type][length])
					scan->array_gaps[type][length] = w->array_gaps[type][length];
		scan->id_bits |= w->id_bits;
		worker_free(w);
		*w = (struct worker){ .hprof = NULL };
	}
	scan->tallies = all.tallies;
	scan->tally_count = all.tally_count;
	free(all.slots);
	if (!rc)
		qsort(scan->tallies, scan->tally_count, sizeof *scan->tallies, compare_tallies);
	return rc;
}

struct tally *scan_tally(const struct scan *scan, enum tally_kind kind, uint64_t id)
{
	if (kind == TALLY_PRIMITIVE_ARRAYS)
		return id < TYPE_COUNT ? &scan->tallies[id] : NULL;
	const struct tally key = { .id = id, .kind = kind };
	return bsearch(&key, scan->tallies, scan->tally_count, sizeof key, compare_tallies);
}

/* The tally of the object at `offset`. */
static struct tally *object_tally(const struct scan *scan, uint64_t offset)
{
	const unsigned I = scan->hprof->id_width;
	const uint8_t *p = scan->hprof->in->data + offset;
	if (*p == SUB_INSTANCE_DUMP)
		return scan_tally(scan, TALLY_INSTANCES, read_id(p + 5 + I, I));
	if (*p == SUB_OBJ_ARRAY_DUMP)
		return scan_tally(scan, TALLY_OBJECT_ARRAYS, read_id(p + 9 + I, I));
	return scan_tally(scan, TALLY_PRIMITIVE_ARRAYS, p[9 + I]);
}

static void note_gap_after(struct scan *scan, uint64_t offset, uint64_t gap)
{
	struct tally *tally = gap && gap <= BLOCK_RISE ? object_tally(scan, offset) : NULL;
	if (!tally)
		return;
	tally_gap(tally, gap, 1);
	const uint8_t *p = scan->hprof->in->data + offset;
	const unsigned I = scan->hprof->id_width;
	if (*p == SUB_INSTANCE_DUMP || be32(p + 5 + I) >= GAP_LENGTHS)
		return;
	uint32_t *slot = &scan->array_gaps[*p == SUB_OBJ_ARRAY_DUMP ? (unsigned)TYPE_OBJECT : p[9 + I]]
					  [be32(p + 5 + I)];
	if (gap < *slot)
		*slot = (uint32_t)gap;
}

/* Gaps that file order does not show: in the dense table, and up to class objects, which lie in the heap
   like any other but are written elsewhere. */
static void find_more_gaps(struct scan *scan)
{
	const struct index *ix = &scan->index;
	for (size_t i = 1; i < ix->dense_count; i++)
		note_gap_after(scan, dense_offset(&ix->dense[i - 1]),
			       dense_id(&ix->dense[i]) - dense_id(&ix->dense[i - 1]));
	for (size_t i = 0; i < scan->class_dump_count; i++) {
		const uint8_t *p = scan->hprof->in->data + scan->class_dumps[i];
		const uint64_t id = read_id(p + 1, ix->id_width);
		struct found found;
		uint64_t before;
		if (id && index_predecessor(ix, id - 1, &found, &before))
			note_gap_after(scan, found.offset, id - before);
	}
}

/* Class id of java.lang.String, for ART's arrays inside of Strings. */
static uint64_t find_string_class(const struct hprof *hprof)
{
	for (size_t i = 0; i < hprof->load_class.count; i++) {
		uint32_t len;
		const uint8_t *name = hprof_utf8(hprof, load_class_name(hprof, hprof->load_class.entries[i].offset), &len);
		if (name && len == 16 && !memcmp(name, "java.lang.String", 16))
			return hprof->load_class.entries[i].id;
	}
	return 0;
}

int scan_dump(struct scan *scan, const struct hprof *hprof, const struct dump *dump, unsigned threads,
	      scan_progress *progress, void *context)
{
	memset(scan, 0, sizeof *scan);
	memset(scan->array_gaps, 0xff, sizeof scan->array_gaps);
	scan->hprof = hprof;
	scan->index.in = hprof->in;
	scan->index.id_width = hprof->id_width;
	static const struct segment none;
	const struct segment *segments = dump->segment_count ? &hprof->segments[dump->first_segment] : &none;
	const bool android = !strcmp(hprof->version, "JAVA PROFILE 1.0.3");
	uint64_t total = 0;
	for (size_t i = 0; i < dump->segment_count; i++)
		total += segments[i].end - segments[i].offset;
	unsigned count = (unsigned)(total / THREAD_BYTES) + 1;
	count = count < threads ? count : threads;
	if (count > dump->segment_count)
		count = dump->segment_count ? (unsigned)dump->segment_count : 1;
	struct worker *workers = aligned_alloc(CACHE_LINES, count * sizeof *workers);
	if (!workers)
		return -1;
	memset(workers, 0, count * sizeof *workers);
	struct heap_table heaps = { .lock = PTHREAD_MUTEX_INITIALIZER, .count = 1,
				    .string_class = android ? find_string_class(hprof) : 0 };
	if (getrandom(&heaps.seed, sizeof heaps.seed, GRND_NONBLOCK) < 0)
		heaps.seed = (uintptr_t)workers;
	_Atomic uint64_t done = 0;
	int rc = 0;
	size_t next = 0;
	uint64_t given = 0;
	for (unsigned i = 0; i < count; i++) {
		struct worker *w = &workers[i];
		w->hprof = hprof;
		w->android = android;
		w->heaps = &heaps;
		w->done = &done;
		w->total = total;
		w->segments = segments + next;
		const uint64_t upto = total / count * (i + 1);
		while (next < dump->segment_count && (given < upto || i + 1 == count)) {
			given += segments[next].end - segments[next].offset;
			next++;
		}
		w->segment_count = (size_t)(segments + next - w->segments);
		rc |= worker_prepare(w);
	}
	workers[0].progress = progress;
	workers[0].progress_context = context;
	/* This thread is the first worker; one that cannot be started has its share done here as well. */
	for (unsigned i = 1; i < count && !rc; i++)
		workers[i].started = !pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
	for (unsigned i = 0; i < count && !rc; i++)
		if (!workers[i].started)
			worker_run(&workers[i]);
	for (unsigned i = 0; i < count; i++) {
		if (workers[i].started) {
			pthread_join(workers[i].thread, NULL);
			scan->threads++;
		}
		rc |= workers[i].error;
	}
	scan->threads++;
	if (!rc)
		rc = join(scan, workers, count);
	for (unsigned i = 0; i < count; i++)
		worker_free(&workers[i]);
	free(workers);
	memcpy(scan->heap_names, heaps.names, sizeof scan->heap_names);
	scan->heap_count = heaps.count;
	pthread_mutex_destroy(&heaps.lock);
	if (!rc)
		rc = index_finish(&scan->index);
	if (rc) {
		scan_free(scan);
		return -1;
	}
	if (!android) /* ART's class objects are among the others, and its odd arrays would be taken for them */
		find_more_gaps(scan);
	return 0;
}

void scan_free(struct scan *scan)
{
	for (size_t i = 0; i < scan->tally_count; i++)
		free(scan->tallies[i].list.data);
	free(scan->tallies);
	free(scan->class_dumps);
	free(scan->roots.data);
	index_free(&scan->index);
	memset(scan, 0, sizeof *scan);
}
