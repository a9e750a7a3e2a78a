/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/scan.h"

#include "hprof/subrecord.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Below this many bytes a thread costs more than it saves. */
#define THREAD_BYTES (UINT64_C(4) << 20)
/* Blocks of an unordered stretch are looked at in windows of this many. */
#define WINDOW 32

/* What one thread gathers from its range of segments. */
struct worker {
	const struct hprof *hprof;
	const struct segment *segments;
	size_t segment_count;
	pthread_t thread;
	bool started;
	bool android;
	int error;
	_Atomic uint64_t *done;
	scan_progress *progress;	/* only the first worker has one */
	void *progress_context;
	uint64_t total;
	struct heap_table *heaps;

	struct block *blocks;
	size_t block_count, block_capacity;
	struct dense_entry *dense;
	size_t dense_count, dense_capacity;
	struct tally *tallies;
	size_t tally_count, tally_capacity;
	uint32_t *slots;		/* hash: class id -> tally number + 1 */
	size_t slot_count;
	uint64_t *class_dumps;
	size_t class_dump_count, class_dump_capacity;
	struct bytes roots;
	uint64_t last_root;
	uint64_t subs[256];
	uint32_t array_gaps[TYPE_COUNT][GAP_LENGTHS];
	uint64_t id_bits;

	uint8_t heap;			/* that the next object lies in */
	/* The block that is being filled. */
	struct block block;
	unsigned block_records;
	uint64_t high;			/* highest id in it */
	uint32_t touched[BLOCK_OBJECTS];
	unsigned touched_count;
	/* Whether ids rise here. */
	bool dense_mode;
	unsigned window_blocks, window_objects, window_falls;

	/* The object before this one, whose size the next id tells. */
	bool gap_known;			/* there is one, and nothing is missing behind it */
	uint64_t first_id, previous_id;
	uint32_t previous_tally;
	uint32_t *previous_gap;		/* in array_gaps, or NULL */
	bool previous_string;		/* ART: its characters may follow as an array of their own */
};

/* Names of Android heaps, shared by the workers; there are three or four. */
struct heap_table {
	pthread_mutex_t lock;
	uint64_t names[256];
	unsigned count;
	uint64_t string_class;		/* ART: class id of java.lang.String, 0 if unknown */
};

static int bytes_reserve(struct bytes *bytes, size_t more)
{
	if (bytes->capacity - bytes->len >= more)
		return 0;
	size_t wanted = bytes->capacity ? bytes->capacity * 2 : 32;
	while (wanted - bytes->len < more)
		wanted *= 2;
	uint8_t *grown = realloc(bytes->data, wanted);
	if (!grown)
		return -1;
	bytes->data = grown;
	bytes->capacity = wanted;
	return 0;
}

static int bytes_add_varint(struct bytes *bytes, uint64_t value)
{
	if (bytes_reserve(bytes, 10))
		return -1;
	while (value >= 0x80) {
		bytes->data[bytes->len++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes->data[bytes->len++] = (uint8_t)value;
	return 0;
}

static void *grow(struct worker *w, void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	const size_t wanted = *capacity ? *capacity * 2 : 256;
	void *grown = reallocarray(items, wanted, size);
	if (!grown) {
		w->error = -1;
		return items;
	}
	*capacity = wanted;
	return grown;
}

static size_t hash_id(uint64_t id, size_t slots)
{
	return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (slots - 1);
}

static void rehash(struct worker *w)
{
	const size_t wanted = w->slot_count ? w->slot_count * 2 : 4096;
	uint32_t *slots = calloc(wanted, sizeof *slots);
	if (!slots) {
		w->error = -1;
		return;
	}
	for (size_t i = TYPE_COUNT; i < w->tally_count; i++) {
		size_t at = hash_id(w->tallies[i].id, wanted);
		while (slots[at])
			at = (at + 1) & (wanted - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(w->slots);
	w->slots = slots;
	w->slot_count = wanted;
}

/* Number of the tally of class `id`; new classes get one. 0 (no class's) when memory is short. */
static uint32_t tally_of(struct worker *w, uint64_t id, enum tally_kind kind)
{
	size_t at = hash_id(id, w->slot_count);
	for (; w->slots[at]; at = (at + 1) & (w->slot_count - 1))
		if (w->tallies[w->slots[at] - 1].id == id)
			return w->slots[at] - 1;
	w->tallies = grow(w, w->tallies, w->tally_count, &w->tally_capacity, sizeof *w->tallies);
	if (w->error)
		return 0;
	const uint32_t number = (uint32_t)w->tally_count++;
	w->tallies[number] = (struct tally){ .id = id, .kind = kind, .min_gap = GAP_NONE };
	w->slots[at] = number + 1;
	if (w->tally_count * 2 > w->slot_count)
		rehash(w);
	return number;
}

/* Turns the blocks of the last window, which hold a few objects each, into dense ones. */
static void enter_dense_mode(struct worker *w)
{
	w->dense_mode = true;
	w->window_blocks = w->window_objects = w->window_falls = 0;
}

static void end_block(struct worker *w)
{
	if (!w->block.count)
		return;
	w->block.span = w->block.dense ? 0 : (uint32_t)(w->high - w->block.lowest);
	w->blocks = grow(w, w->blocks, w->block_count, &w->block_capacity, sizeof *w->blocks);
	if (w->error)
		return;
	const uint64_t number = w->block_count;
	w->blocks[w->block_count++] = w->block;
	for (unsigned i = 0; i < w->touched_count; i++) {
		struct tally *tally = &w->tallies[w->touched[i]];
		if (!tally->list.len)
			tally->first_block = tally->last_block = number;
		if (bytes_add_varint(&tally->list, number - tally->last_block) ||
		    bytes_add_varint(&tally->list, tally->in_block))
			w->error = -1;
		tally->last_block = number;
		tally->in_block = 0;
	}
	w->touched_count = 0;
	w->window_blocks++;
	w->window_objects += w->block.count;
	w->block.count = 0;
	w->block_records = 0;
	if (w->window_blocks == WINDOW) {
		/* Fewer than 8 objects a block: 4 bytes an object and more. A dense entry costs 12, but its
		   lookup stays logarithmic, while such blocks all overlap. */
		if (!w->dense_mode && w->window_objects < WINDOW * 8)
			enter_dense_mode(w);
		else if (w->dense_mode && w->window_falls < w->window_objects / 32)
			w->dense_mode = false;
		w->window_blocks = w->window_objects = w->window_falls = 0;
	}
}

static void add_dense(struct worker *w, uint64_t id, uint64_t offset)
{
	w->dense = grow(w, w->dense, w->dense_count, &w->dense_capacity, sizeof *w->dense);
	if (w->error)
		return;
	w->dense[w->dense_count++] =
		(struct dense_entry){ .id_low = (uint32_t)id, .id_high = (uint16_t)(id >> 32),
				      .offset_low = (uint32_t)offset, .offset_high = (uint16_t)(offset >> 32) };
}

/* Puts an object into the block that is being filled, or begins a new one. */
static void place(struct worker *w, uint64_t id, uint64_t offset, uint32_t number)
{
	struct block *block = &w->block;
	const bool rises = block->count && id > w->high && id - w->high <= BLOCK_RISE;
	const bool dense = w->dense_mode && id < DENSE_LIMIT && offset < DENSE_LIMIT;
	if (block->count && (block->count == BLOCK_OBJECTS || w->block_records >= BLOCK_RECORDS ||
			     block->dense != dense || block->heap != w->heap || (!dense && !rises)))
		end_block(w);
	if (!block->count) {
		block->heap = w->heap;
		block->offset = offset;
		block->lowest = id;
		block->dense = dense;
		w->block_records = 0;
	}
	w->window_falls += !rises;
	w->high = id;
	block->count++;
	if (dense)
		add_dense(w, id, offset);
	if (!w->tallies[number].in_block++)
		w->touched[w->touched_count++] = number;
}

/* The id after an object tells how large it can be at most. */
static void note_gap(struct worker *w, uint64_t id)
{
	const uint64_t gap = id - w->previous_id;
	if (id <= w->previous_id || gap > BLOCK_RISE)
		return;
	tally_gap(&w->tallies[w->previous_tally], gap, 1);
	if (w->previous_gap && gap < *w->previous_gap)
		*w->previous_gap = (uint32_t)gap;
}

/*
 * ART writes a String's characters as an array whose id is their address inside the String (8 or 16 bytes
 * behind its start), and parts of class objects and loaders as arrays at odd addresses. They are no
 * objects of the heap: their neighbours' distances say nothing, and their sizes are what they add.
 */
static bool is_synthetic(const struct worker *w, uint64_t id)
{
	return w->android && ((id & 7) != 0 || (w->previous_string && id - w->previous_id <= 16));
}

static void take_object(struct worker *w, const uint8_t *p, uint64_t offset)
{
	const unsigned I = w->hprof->id_width;
	const uint64_t id = read_id(p + 1, I);
	uint32_t number;
	uint32_t *gap = NULL;
	bool string = false, synthetic = false;
	if (*p == SUB_INSTANCE_DUMP) {
		const uint64_t class_id = read_id(p + 5 + I, I);
		number = tally_of(w, class_id, TALLY_INSTANCES);
		string = w->android && class_id == w->heaps->string_class;
	} else {
		const uint32_t length = be32(p + 5 + I);
		const unsigned type = *p == SUB_OBJ_ARRAY_DUMP ? (unsigned)TYPE_OBJECT : p[9 + I];
		number = type == TYPE_OBJECT ? tally_of(w, read_id(p + 9 + I, I), TALLY_OBJECT_ARRAYS) : type;
		struct tally *tally = &w->tallies[number];
		synthetic = is_synthetic(w, id);
		if (synthetic) {
			tally->synthetic++;
			if (type != TYPE_OBJECT)
				tally->synthetic_bytes +=
					(((uint64_t)length * type_width(type, I)) + 7) & ~UINT64_C(7);
		} else {
			tally->elements += length;
			tally->residues[length % TALLY_RESIDUES]++;
			gap = length < GAP_LENGTHS ? &w->array_gaps[type][length] : NULL;
		}
	}
	if (w->error)
		return;
	w->tallies[number].count++;
	place(w, id, offset, number);
	if (!synthetic)
		w->id_bits |= id;
	if (w->android) {
		/* Real sizes are in the class dumps. */
		w->previous_string = string;
		w->previous_id = id;
		return;
	}
	if (w->gap_known)
		note_gap(w, id);
	if (!w->first_id)
		w->first_id = id;
	w->gap_known = true;
	w->previous_id = id;
	w->previous_tally = number;
	w->previous_gap = gap;
}

static uint8_t heap_number(struct worker *w, uint64_t name)
{
	struct heap_table *heaps = w->heaps;
	unsigned i = 1;
	pthread_mutex_lock(&heaps->lock);
	while (i < heaps->count && heaps->names[i] != name)
		i++;
	if (i == heaps->count) {
		if (i < 256)
			heaps->names[heaps->count++] = name;
		else
			i = 0;
	}
	pthread_mutex_unlock(&heaps->lock);
	return (uint8_t)i;
}

static void take_other(struct worker *w, const uint8_t *p, uint64_t offset)
{
	const unsigned I = w->hprof->id_width;
	if (*p == SUB_CLASS_DUMP) {
		w->class_dumps = grow(w, w->class_dumps, w->class_dump_count, &w->class_dump_capacity,
				      sizeof *w->class_dumps);
		if (!w->error)
			w->class_dumps[w->class_dump_count++] = offset;
	} else if (*p == SUB_HEAP_DUMP_INFO) {
		/* The heap's number is a u4 whatever the id size is. */
		w->heap = heap_number(w, read_id(p + 5, I));
	} else if (subrecord_is_root(*p)) {
		if (bytes_add_varint(&w->roots, offset - w->last_root))
			w->error = -1;
		w->last_root = offset;
	}
}

static bool known_class(const void *context, uint64_t id)
{
	return id_table_find(&((const struct hprof *)context)->load_class, id) != 0;
}

/* Where to go on behind a sub-record at `at` that is none, or is not whole. */
static uint64_t pass_damage(struct worker *w, uint64_t at, uint64_t end, bool cut, uint64_t size)
{
	const uint8_t *data = w->hprof->in->data;
	struct notes *notes = w->hprof->notes;
	end_block(w);
	w->gap_known = false; /* what lies in the hole is unknown */
	if (size != SUBRECORD_BAD && cut) {
		notes_add(notes, "the dump is cut inside a sub-record", at, end - at, "tag 0x%02x", data[at]);
		return end;
	}
	const uint64_t next = subrecord_resync(data, at + 1, end, w->hprof->id_width, known_class, w->hprof);
	notes_add(notes, "damaged sub-records", at, next - at,
		  size == SUBRECORD_BAD ? "tag 0x%02x" : "tag 0x%02x runs past its segment's end", data[at]);
	return next;
}

/* The sub-records of one heap record. */
static void scan_records(struct worker *w, uint64_t at, uint64_t end, bool cut)
{
	const uint8_t *data = w->hprof->in->data;
	const unsigned I = w->hprof->id_width;
	w->heap = 0; /* HEAP_DUMP_INFO holds for its own segment */
	while (at < end && !w->error) {
		const uint8_t *p = data + at;
		const uint64_t left = end - at, size = subrecord_size(p, left, I);
		if (size == SUBRECORD_BAD || size > left) {
			at = pass_damage(w, at, end, cut, size);
			continue;
		}
		w->subs[*p]++;
		if (*p >= SUB_INSTANCE_DUMP && *p <= SUB_PRIM_ARRAY_DUMP)
			take_object(w, p, at);
		else if (*p == SUB_PRIM_ARRAY_NODATA && type_width(p[9 + I], I) && p[9 + I] != TYPE_OBJECT)
			take_object(w, p, at);
		else
			take_other(w, p, at);
		w->block_records++;
		at += size;
	}
}

static void scan_segment(struct worker *w, const struct segment *segment)
{
	if (segment->mended) {
		scan_records(w, segment->offset, segment->end, segment->cut);
	} else {
		/* A run: each header is where the segment before it ends, and blocks reach over them. */
		for (uint64_t body = segment->offset; body <= segment->end && !w->error;) {
			const uint64_t len = be32(w->hprof->in->data + body - 4), left = segment->end - body;
			const uint64_t end = body + (len < left ? len : left);
			scan_records(w, body, end, false);
			body = end + RECORD_HEADER;
		}
	}
	end_block(w);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	rehash(w);
	for (size_t i = 0; i < w->segment_count && !w->error; i++) {
		scan_segment(w, &w->segments[i]);
		const uint64_t bytes = w->segments[i].end - w->segments[i].offset;
		const uint64_t done = atomic_fetch_add(w->done, bytes) + bytes;
		if (w->progress)
			w->progress(w->progress_context, done, w->total);
	}
	return NULL;
}

static int prepare_worker(struct worker *w)
{
	memset(w->array_gaps, 0xff, sizeof w->array_gaps);
	w->tally_capacity = 256;
	w->tallies = calloc(w->tally_capacity, sizeof *w->tallies);
	if (!w->tallies)
		return -1;
	/* The first tallies are those of primitive arrays, by element type. */
	for (unsigned type = 0; type < TYPE_COUNT; type++)
		w->tallies[type] =
			(struct tally){ .id = type, .kind = TALLY_PRIMITIVE_ARRAYS, .min_gap = GAP_NONE };
	w->tally_count = TYPE_COUNT;
	return 0;
}

static void free_worker(struct worker *w)
{
	for (size_t i = 0; i < w->tally_count; i++)
		free(w->tallies[i].list.data);
	free(w->tallies);
	free(w->slots);
	free(w->blocks);
	free(w->dense);
	free(w->class_dumps);
	free(w->roots.data);
}

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
								       tally_of(all, like->id, like->kind);
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
	struct worker all = { .hprof = scan->hprof };
	int rc = prepare_worker(&all);
	if (!rc)
		rehash(&all);
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
		free_worker(w);
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
	if (tally->kind == TALLY_INSTANCES || be32(p + 5 + I) >= GAP_LENGTHS)
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
	const struct segment *segments = hprof->segments + dump->first_segment;
	const bool android = !strcmp(hprof->version, "JAVA PROFILE 1.0.3");
	uint64_t total = 0;
	for (size_t i = 0; i < dump->segment_count; i++)
		total += segments[i].end - segments[i].offset;
	unsigned count = (unsigned)(total / THREAD_BYTES) + 1;
	count = count < threads ? count : threads;
	if (count > dump->segment_count)
		count = dump->segment_count ? (unsigned)dump->segment_count : 1;
	struct worker *workers = calloc(count, sizeof *workers);
	if (!workers)
		return -1;
	struct heap_table heaps = { .lock = PTHREAD_MUTEX_INITIALIZER, .count = 1,
				    .string_class = android ? find_string_class(hprof) : 0 };
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
		rc |= prepare_worker(w);
	}
	workers[0].progress = progress;
	workers[0].progress_context = context;
	/* This thread is the first worker; one that cannot be started has its share done here as well. */
	for (unsigned i = 1; i < count && !rc; i++)
		workers[i].started = !pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (unsigned i = 0; i < count && !rc; i++)
		if (!workers[i].started)
			work(&workers[i]);
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
		free_worker(&workers[i]);
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
	if (scan->index.duplicates)
		notes_add(hprof->notes, "objects whose id another object has, found only by their place", NOTE_NO_OFFSET,
			  0, "%" PRIu64 " objects", scan->index.duplicates);
	if (!android)
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
