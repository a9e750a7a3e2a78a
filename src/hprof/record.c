/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/record.h"

#include "hprof/stack.h"
#include "hprof/subrecord.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC "JAVA PROFILE 1.0"
/* How many headers in a row must make sense before the first of them is believed where the framing is in
   doubt. Four strict lengths leave no room for chance. */
#define CHAIN 4
/* The same where the search begins anywhere, and so has many more chances to err. */
#define RESYNC_CHAIN 8

/* Grows an array of `size`-byte items so that one more fits. */
static int reserve(void **items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return 0;
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown = reallocarray(*items, wanted, size);
	if (!grown)
		return -1;
	*items = grown;
	*capacity = wanted;
	return 0;
}

int id_table_add(struct id_table *table, uint64_t id, uint64_t offset)
{
	if (reserve((void **)&table->entries, table->count, &table->capacity, sizeof *table->entries))
		return -1;
	if (table->count && id <= table->entries[table->count - 1].id)
		table->unsorted = true;
	table->entries[table->count++] = (struct id_entry){ id, offset };
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct id_entry *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void id_table_sort(struct id_table *table)
{
	if (!table->unsorted)
		return;
	qsort(table->entries, table->count, sizeof *table->entries, compare_entries);
	size_t kept = 0;
	for (size_t i = 0; i < table->count; i++)
		if (!kept || table->entries[i].id != table->entries[kept - 1].id)
			table->entries[kept++] = table->entries[i];
	table->count = kept;
	table->unsorted = false;
}

uint64_t id_table_find(const struct id_table *table, uint64_t id)
{
	size_t low = 0, high = table->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (table->entries[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < table->count && table->entries[low].id == id ? table->entries[low].offset : 0;
}

const uint8_t *hprof_utf8(const struct hprof *hprof, uint64_t id, uint32_t *len)
{
	*len = 0;
	uint64_t offset = id_table_find(&hprof->utf8, id);
	const uint8_t *p = offset ? input_at(hprof->in, offset, RECORD_HEADER + hprof->id_width) : NULL;
	if (!p)
		return NULL;
	uint32_t body = be32(p + 5);
	if (body < hprof->id_width)
		return NULL;
	*len = body - hprof->id_width;
	if (*len > NAME_LENGTH_MOST)
		*len = NAME_LENGTH_MOST;
	p = input_at(hprof->in, offset + RECORD_HEADER + hprof->id_width, *len);
	if (!p)
		*len = 0;
	return p;
}

uint64_t load_class_name(const struct hprof *hprof, uint64_t offset)
{
	const uint8_t *p = input_at(hprof->in, offset + RECORD_HEADER, 8 + 2 * hprof->id_width);
	return p ? read_id(p + 8 + hprof->id_width, hprof->id_width) : 0;
}

enum sense { SENSE_BAD, SENSE_CUT, SENSE_OK };

/* Does a top-level record begin at `off`, judging by its header alone? *next is where the one after begins. */
static enum sense header_sense(const struct hprof *h, uint64_t off, uint64_t *next)
{
	const unsigned I = h->id_width;
	const uint64_t left = input_left(h->in, off);
	if (left == 0)
		return SENSE_CUT;
	const uint8_t *p = h->in->data + off;
	bool heap = *p == RECORD_HEAP_DUMP || *p == RECORD_HEAP_DUMP_SEGMENT;
	if (left < RECORD_HEADER)
		return *p <= RECORD_HEAP_DUMP_END ? SENSE_CUT : SENSE_BAD;
	const uint64_t len = be32(p + 5);
	bool fits;
	switch (*p) {
	case RECORD_UTF8:
		fits = len >= I;
		break;
	case RECORD_LOAD_CLASS:
		fits = len == 8 + 2 * I;
		break;
	case RECORD_UNLOAD_CLASS:
	case RECORD_END_THREAD:
		fits = len == 4;
		break;
	case RECORD_FRAME:
		fits = len == 8 + 4 * I;
		break;
	case RECORD_TRACE:
		fits = len >= 12 && (len - 12) % I == 0;
		break;
	case RECORD_ALLOC_SITES:
		fits = len >= 34 && (len - 34) % 25 == 0;
		break;
	case RECORD_HEAP_SUMMARY:
		fits = len == 24;
		break;
	case RECORD_START_THREAD:
		fits = len == 8 + 4 * I;
		break;
	case RECORD_CPU_SAMPLES:
		fits = len >= 8 && (len - 8) % 8 == 0;
		break;
	case RECORD_CONTROL_SETTINGS:
		fits = len == 6;
		break;
	case RECORD_HEAP_DUMP_END:
		fits = len == 0;
		break;
	default:
		fits = heap;
	}
	if (!fits)
		return SENSE_BAD;
	if (len > left - RECORD_HEADER)
		return SENSE_CUT;
	if (heap && len && subrecord_size(p + RECORD_HEADER, left - RECORD_HEADER, I) == SUBRECORD_BAD)
		return SENSE_BAD;
	*next = off + RECORD_HEADER + len;
	return SENSE_OK;
}

/* Do whole records follow from `off` on, or does the file end there? */
static bool chain_makes_sense(const struct hprof *h, uint64_t off)
{
	for (unsigned i = 0; i < CHAIN; i++) {
		if (off == h->in->size)
			return true;
		uint64_t next = 0;
		switch (header_sense(h, off, &next)) {
		case SENSE_BAD:
			return false;
		case SENSE_CUT:
			/* Past the first, a cut record is what a cut file looks like; as the first it may be
			   anything, but a heap segment is at least common there. */
			return i > 0 || h->in->data[off] == RECORD_HEAP_DUMP_SEGMENT ||
			       h->in->data[off] == RECORD_HEAP_DUMP;
		case SENSE_OK:
			off = next;
		}
	}
	return true;
}

static bool known_class(const void *context, uint64_t id)
{
	return id_table_find(&((const struct hprof *)context)->load_class, id) != 0;
}

static uint64_t resync(struct hprof *h, uint64_t from)
{
	id_table_sort(&h->load_class); /* in order only once all records are read */
	return subrecord_resync(h->in->data, from, h->in->size, h->id_width, known_class, h);
}

/*
 * The end of a heap record whose declared end, `declared`, no record follows: walks its sub-records until
 * one ends, at or past `declared`, where records make sense again.
 */
static uint64_t walk_to_end(struct hprof *h, uint64_t from, uint64_t declared)
{
	const uint64_t size = h->in->size;
	for (uint64_t at = from; at < size;) {
		if (at > from && at >= declared && chain_makes_sense(h, at))
			return at;
		uint64_t sub = subrecord_size(h->in->data + at, size - at, h->id_width);
		if (sub == SUBRECORD_BAD) {
			if (at >= declared && at > from)
				return at; /* what follows is neither: the caller's matter */
			at = resync(h, at + 1);
		} else if (sub > size - at) {
			/* The file ends inside it, or its length is damaged. */
			uint64_t again = resync(h, at + 1);
			if (again == size)
				return size;
			at = again;
		} else {
			at += sub;
		}
	}
	return size;
}

static int add_dump(struct hprof *h)
{
	if (reserve((void **)&h->dumps, h->dump_count, &h->dump_capacity, sizeof *h->dumps))
		return -1;
	h->dumps[h->dump_count++] = (struct dump){ .first_segment = h->segment_count };
	h->ended = false;
	return 0;
}

/* Takes the heap record whose body is at `body`. Returns where the next record begins, or 0 without memory. */
static uint64_t take_segment(struct hprof *h, unsigned tag, uint64_t body, uint64_t len)
{
	const uint64_t size = h->in->size, left = size - body, declared = body + len;
	struct segment segment = { .offset = body, .mended = true };
	if (len > left) {
		segment.end = size;
		segment.cut = true;
		notes_add(h->notes, "the file ends inside a heap segment", body - RECORD_HEADER, 0,
			  "%" PRIu64 " of %" PRIu64 " bytes are there", left, len);
	} else if (chain_makes_sense(h, declared)) {
		segment.end = declared;
		segment.mended = false;
	} else {
		segment.end = walk_to_end(h, body, declared);
		if (segment.end == declared)
			; /* the length is right, what follows is junk */
		else if (len == 0)
			notes_add(h->notes, "a heap segment's length was never written", body - RECORD_HEADER, 0,
				  "it holds %" PRIu64 " bytes", segment.end - body);
		else
			notes_add(h->notes, "a heap segment is longer than its length says", body - RECORD_HEADER,
				  0, "%" PRIu64 " bytes, not %" PRIu64, segment.end - body, len);
		segment.cut = segment.end == size;
	}
	/* A HEAP_DUMP is a whole dump; segments belong together until a HEAP_DUMP_END. */
	if (h->dump_count == DUMPS_MOST && (tag == RECORD_HEAP_DUMP || h->ended)) {
		notes_add(h->notes, "heap dumps past the thousandth", body - RECORD_HEADER, segment.end - body, NULL);
		return segment.end;
	}
	if ((tag == RECORD_HEAP_DUMP || !h->dump_count || h->ended) && add_dump(h))
		return 0;
	if (reserve((void **)&h->segments, h->segment_count, &h->segment_capacity, sizeof *h->segments))
		return 0;
	struct segment *last = h->segment_count ? &h->segments[h->segment_count - 1] : NULL;
	if (last && h->dumps[h->dump_count - 1].segment_count && !last->mended && !segment.mended &&
	    last->end == body - RECORD_HEADER && segment.end - last->offset <= SEGMENT_RUN) {
		last->end = segment.end;
	} else if (segment.end > segment.offset) {
		h->segments[h->segment_count++] = segment;
		h->dumps[h->dump_count - 1].segment_count++;
	}
	h->ended = tag == RECORD_HEAP_DUMP;
	return segment.end;
}

/* Where records make sense again after `off`: a longer run of them than chance would make. */
static uint64_t find_records(const struct hprof *h, uint64_t off)
{
	for (; off < h->in->size; off++) {
		uint64_t next = off;
		unsigned sound = 0;
		while (sound < RESYNC_CHAIN && next < h->in->size && header_sense(h, next, &next) == SENSE_OK)
			sound++;
		if (sound == RESYNC_CHAIN || (sound > 1 && next == h->in->size))
			return off;
	}
	return h->in->size;
}

static bool all_zero(const uint8_t *p, uint64_t len)
{
	return len == 0 || (p[0] == 0 && !memcmp(p, p + 1, len - 1));
}

/* No record begins at `off`. Returns where to go on. */
static uint64_t pass_junk(struct hprof *h, uint64_t off)
{
	const uint64_t left = h->in->size - off;
	const uint8_t *p = h->in->data + off;
	if (left >= RECORD_HEADER && be32(p + 5) <= left - RECORD_HEADER &&
	    chain_makes_sense(h, off + RECORD_HEADER + be32(p + 5))) {
		notes_add(h->notes, "a record of an unknown kind", off, be32(p + 5), "tag 0x%02x", *p);
		return off + RECORD_HEADER + be32(p + 5);
	}
	uint64_t next = find_records(h, off + 1);
	notes_add(h->notes, next == h->in->size ? "bytes after the last record" : "bytes that are no record", off,
		  next - off, all_zero(p, next - off) ? "all zero" : "they begin with 0x%02x", *p);
	return next;
}

/* Keeps where records about stacks are: a run costs no more than one of them, and whoever asks walks it again. */
static int note_run(struct hprof *h, unsigned tag, uint64_t off, uint64_t next)
{
	if (h->run_count && h->runs[h->run_count - 1].end == off) {
		h->runs[h->run_count - 1].end = next;
		return 0;
	}
	if (tag != RECORD_FRAME && tag != RECORD_TRACE && tag != RECORD_START_THREAD)
		return 0;
	if (reserve((void **)&h->runs, h->run_count, &h->run_capacity, sizeof *h->runs))
		return -1;
	h->runs[h->run_count++] = (struct record_run){ off, next };
	return 0;
}

static int walk_records(struct hprof *h)
{
	const uint64_t size = h->in->size;
	for (uint64_t off = h->header_size; off < size;) {
		const uint64_t left = size - off;
		uint64_t next = 0;
		const uint8_t *p = h->in->data + off;
		enum sense sense = header_sense(h, off, &next);
		/* A heap segment whose first bytes are damaged, or that was never given a length, is one still. */
		if (sense == SENSE_BAD && left >= RECORD_HEADER &&
		    (*p == RECORD_HEAP_DUMP || *p == RECORD_HEAP_DUMP_SEGMENT) && be32(p + 5) <= left - RECORD_HEADER &&
		    (be32(p + 5) == 0 || chain_makes_sense(h, off + RECORD_HEADER + be32(p + 5))))
			sense = SENSE_OK;
		if (sense == SENSE_BAD) {
			off = pass_junk(h, off);
			continue;
		}
		if (left < RECORD_HEADER) {
			notes_add(h->notes, "the file ends inside a record's header", off, left, NULL);
			break;
		}
		const unsigned tag = *p;
		const uint64_t body = off + RECORD_HEADER, len = be32(p + 5);
		h->records[tag]++;
		if (tag == RECORD_HEAP_DUMP || tag == RECORD_HEAP_DUMP_SEGMENT) {
			off = take_segment(h, tag, body, len);
			if (!off)
				return -1;
			continue;
		}
		if (sense == SENSE_CUT) {
			/* Cut, or of a damaged length: then records go on somewhere behind its header. */
			next = find_records(h, off + 1);
			if (next < size) {
				notes_add(h->notes, "a record of a damaged length", off, next - off,
					  "%" PRIu64 " bytes, of which %" PRIu64 " are there", len, left - RECORD_HEADER);
				off = next;
				continue;
			}
			notes_add(h->notes, "the file ends inside a record", off, left,
				  "%" PRIu64 " of %" PRIu64 " bytes are there", left - RECORD_HEADER, len);
			break;
		}
		if (tag == RECORD_UTF8) {
			if (id_table_add(&h->utf8, read_id(p + RECORD_HEADER, h->id_width), off))
				return -1;
		} else if (tag == RECORD_LOAD_CLASS) {
			if (id_table_add(&h->load_class, read_id(p + RECORD_HEADER + 4, h->id_width), off))
				return -1;
		} else if (tag == RECORD_HEAP_DUMP_END) {
			h->ended = true;
		}
		if (note_run(h, tag, off, next))
			return -1;
		off = next;
	}
	return 0;
}

int hprof_open(struct hprof *h, const struct input *in, struct notes *notes, char *error, size_t error_size)
{
	memset(h, 0, sizeof *h);
	h->in = in;
	h->notes = notes;
	const uint8_t *p = in->data;
	const uint8_t *nul = memchr(p, 0, in->size < sizeof h->version ? in->size : sizeof h->version);
	if (in->size < sizeof MAGIC - 1 || memcmp(p, MAGIC, sizeof MAGIC - 1)) {
		snprintf(error, error_size, "%s: not an HPROF file", in->path);
		return -1;
	}
	if (!nul || in->size - (uint64_t)(nul + 1 - p) < 12) {
		snprintf(error, error_size, "%s: the file ends inside the HPROF header (%" PRIu64 " bytes); take the dump again",
			 in->path, in->size);
		return -1;
	}
	memcpy(h->version, p, (size_t)(nul - p) + 1);
	const char *minor = h->version + sizeof MAGIC - 1;
	if (strcmp(minor, ".1") && strcmp(minor, ".2") && strcmp(minor, ".3")) {
		snprintf(error, error_size, "%s: \"%s\" at byte 0: heapfs reads versions 1.0.1, 1.0.2 and 1.0.3", in->path,
			 h->version);
		return -1;
	}
	h->header_size = (uint64_t)(nul + 1 - p) + 12;
	p = nul + 1;
	h->id_width = be32(p);
	h->time_ms = be64(p + 4);
	if (h->id_width != 4 && h->id_width != 8) {
		snprintf(error, error_size, "%s: identifier size %u at byte %td: only 4 and 8 are in use; the file is damaged",
			 in->path, h->id_width, p - in->data);
		return -1;
	}
	if (walk_records(h)) {
		snprintf(error, error_size, "%s: %s", in->path, strerror(ENOMEM));
		hprof_close(h);
		return -1;
	}
	if (h->dump_count && !h->ended && h->segment_count && !h->segments[h->segment_count - 1].cut &&
	    h->records[RECORD_HEAP_DUMP_SEGMENT])
		notes_add(notes, "the dump has no HEAP_DUMP_END", in->size, 0, "it may have been cut between segments");
	id_table_sort(&h->utf8);
	id_table_sort(&h->load_class);
	/* Each dump has a table of all classes. */
	const size_t most = DUMP_CLASSES_MOST / (h->load_class.count + 1) + 1;
	if (h->dump_count > most) {
		/* The first one left out may be empty, and have no segment of its own. */
		const size_t left_out = h->dumps[most].first_segment;
		notes_add(notes, "more heap dumps than can be shown",
			  left_out < h->segment_count ? h->segments[left_out].offset : in->size, 0, "%zu of %zu are", most,
			  h->dump_count);
		h->dump_count = most;
	}
	return 0;
}

void hprof_close(struct hprof *h)
{
	free(h->utf8.entries);
	free(h->load_class.entries);
	free(h->segments);
	free(h->dumps);
	free(h->runs);
	stacks_close(h);
	memset(h, 0, sizeof *h);
}
