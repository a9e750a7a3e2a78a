/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/worker.h"

#include "hprof/subrecord.h"
#include "input/inline.h"

/* Blocks of an unordered stretch are looked at in windows of this many. */
#define WINDOW 32
/* Bytes of a CLASS_DUMP that ends a block. */
#define LARGE_CLASS 4096

static void *grow(struct worker *w, void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	const size_t wanted = *capacity ? *capacity * 2 : 16;
	void *grown = reallocarray(items, wanted, size);
	if (!grown) {
		w->error = -1;
		return items;
	}
	*capacity = wanted;
	return grown;
}

/* With a seed, so that no dump can be made whose ids all meet in one place. */
static size_t hash_id(const struct worker *w, uint64_t id, size_t slots)
{
	id = (id ^ w->heaps->seed) * UINT64_C(0x9e3779b97f4a7c15);
	id = (id ^ id >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)(id >> 32) & (slots - 1);
}

void worker_rehash(struct worker *w)
{
	const size_t wanted = w->slot_count ? w->slot_count * 2 : 64;
	uint32_t *slots = calloc(wanted, sizeof *slots);
	if (!slots) {
		w->error = -1;
		return;
	}
	for (size_t i = TYPE_COUNT; i < w->tally_count; i++) {
		size_t at = hash_id(w, w->tallies[i].id, wanted);
		while (slots[at])
			at = (at + 1) & (wanted - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(w->slots);
	w->slots = slots;
	w->slot_count = wanted;
}

uint32_t worker_tally(struct worker *w, uint64_t id, enum tally_kind kind)
{
	size_t at = hash_id(w, id, w->slot_count);
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
		worker_rehash(w);
	return number;
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
			w->dense_mode = true;
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

/* worker_tally(), of a class whose number was mostly asked for a moment ago. */
static inline uint32_t recent_tally(struct worker *w, uint64_t id, enum tally_kind kind)
{
	uint32_t *recent = &w->recent[(id >> 3 ^ id >> 9) % RECENT_CLASSES];
	if (w->tallies[*recent].id != id || *recent < TYPE_COUNT)
		*recent = worker_tally(w, id, kind);
	return *recent;
}

/* Begins a new block with an object. */
static void begin_block(struct worker *w, uint64_t id, uint64_t offset, bool dense)
{
	end_block(w);
	w->block.heap = w->heap;
	w->block.offset = offset;
	w->block.lowest = id;
	w->block.dense = dense;
	w->block_records = 0;
}

/* Puts an object into the block that is being filled, or into a new one. */
ALWAYS_INLINE void place(struct worker *w, uint64_t id, uint64_t offset, uint32_t number)
{
	struct block *block = &w->block;
	const bool rises = block->count && id > w->high && id - w->high <= BLOCK_RISE;
	const bool dense = w->dense_mode && id < DENSE_LIMIT && offset < DENSE_LIMIT;
	if ((!rises && !(dense && block->count)) || block->count == BLOCK_OBJECTS || w->block_records >= BLOCK_RECORDS ||
	    block->dense != dense || block->heap != w->heap)
		begin_block(w, id, offset, dense);
	w->window_falls += !rises;
	w->high = id;
	block->count++;
	if (dense)
		add_dense(w, id, offset);
	if (!w->tallies[number].in_block++)
		w->touched[w->touched_count++] = number;
}

/* The id after an object tells how large it can be at most. */
static inline void note_gap(struct worker *w, uint64_t id)
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
static inline bool is_synthetic(const struct worker *w, uint64_t id)
{
	return w->android && ((id & 7) != 0 || (w->previous_string && id - w->previous_id <= 16));
}

/* 0 is the id of nothing. What claims it, or a class of that id, is passed over, in the walks of blocks too. */
static void pass_nameless(struct worker *w, const uint8_t *p, uint64_t offset, uint64_t size)
{
	end_block(w);
	w->gap_known = false;
	notes_add(w->hprof->notes, "objects or classes with id 0, or of a class with id 0", offset, size, "tag 0x%02x", *p);
}

static inline bool is_nameless(const uint8_t *p, unsigned id_width)
{
	if (!read_id(p + 1, id_width))
		return true;
	return (*p == SUB_INSTANCE_DUMP && !read_id(p + 5 + id_width, id_width)) ||
	       (*p == SUB_OBJ_ARRAY_DUMP && !read_id(p + 9 + id_width, id_width));
}

ALWAYS_INLINE void take_object(struct worker *w, const uint8_t *p, uint64_t offset, const unsigned I)
{
	const uint64_t id = read_id(p + 1, I);
	uint32_t number;
	uint32_t *gap = NULL;
	bool string = false, synthetic = false;
	if (*p == SUB_INSTANCE_DUMP) {
		const uint64_t class_id = read_id(p + 5 + I, I);
		number = recent_tally(w, class_id, TALLY_INSTANCES);
		string = w->android && class_id == w->heaps->string_class;
	} else {
		const uint32_t length = be32(p + 5 + I);
		const unsigned type = *p == SUB_OBJ_ARRAY_DUMP ? (unsigned)TYPE_OBJECT : p[9 + I];
		number = type == TYPE_OBJECT ? recent_tally(w, read_id(p + 9 + I, I), TALLY_OBJECT_ARRAYS) : type;
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
	if (synthetic)
		return;
	w->id_bits |= id;
	if (w->gap_known)
		note_gap(w, id);
	if (!w->first_id)
		w->first_id = id;
	w->gap_known = true;
	w->previous_id = id;
	w->previous_tally = number;
	w->previous_gap = gap;
	w->previous_string = string;
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

static void take_other(struct worker *w, const uint8_t *p, uint64_t offset, uint64_t size)
{
	const unsigned I = w->hprof->id_width;
	if (*p == SUB_CLASS_DUMP) {
		/* A walk over a block sizes what it passes: it must not pass a large class again and again. */
		if (size > LARGE_CLASS)
			end_block(w);
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
ALWAYS_INLINE void scan_records_of(struct worker *w, uint64_t at, uint64_t end, bool cut, const unsigned I)
{
	const uint8_t *data = w->hprof->in->data;
	w->heap = 0; /* HEAP_DUMP_INFO holds for its own segment */
	while (at < end && !w->error) {
		const uint8_t *p = data + at;
		const uint64_t left = end - at, size = subrecord_size(p, left, I);
		if (size == SUBRECORD_BAD || size > left) {
			at = pass_damage(w, at, end, cut, size);
			continue;
		}
		w->subs[*p]++;
		if ((subrecord_is_object(*p) || *p == SUB_CLASS_DUMP) && is_nameless(p, I))
			pass_nameless(w, p, at, size);
		else if (subrecord_is_object(*p))
			take_object(w, p, at, I);
		else
			take_other(w, p, at, size);
		w->block_records++;
		at += size;
	}
}

static void scan_records(struct worker *w, uint64_t at, uint64_t end, bool cut)
{
	if (w->hprof->id_width == 4)
		scan_records_of(w, at, end, cut, 4);
	else
		scan_records_of(w, at, end, cut, 8);
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

void *worker_run(void *argument)
{
	struct worker *w = argument;
	worker_rehash(w);
	for (size_t i = 0; i < w->segment_count && !w->error; i++) {
		scan_segment(w, &w->segments[i]);
		const uint64_t bytes = w->segments[i].end - w->segments[i].offset;
		const uint64_t done = atomic_fetch_add(w->done, bytes) + bytes;
		if (w->progress)
			w->progress(w->progress_context, done, w->total);
	}
	return NULL;
}

int worker_prepare(struct worker *w)
{
	memset(w->array_gaps, 0xff, sizeof w->array_gaps);
	w->tally_capacity = 2 * TYPE_COUNT;
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

void worker_free(struct worker *w)
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
