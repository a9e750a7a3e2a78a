/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: the header and the top-level records of an HPROF file.
 *
 * One walk over record headers finds the heap segments, which it does not read, and notes where names and
 * classes are. The cost is per record, not per object: 16 bytes a UTF8 or LOAD_CLASS record.
 *
 * Files in the wild break the format in known ways, and each is mended here, once, so that the layers above
 * see only segments that hold sub-records: a length of 0 that was never patched (crash, full disk), a length
 * that wrapped at 4 GiB (HotSpot up to 8), a sub-record that runs past its segment's end (ART; perfetto pull
 * request 5764), a cut file, junk between records.
 */
#ifndef HEAPFS_RECORD_H
#define HEAPFS_RECORD_H

#include "hprof/format.h"
#include "input/input.h"
#include "input/trace.h"

#include <stdatomic.h>

/* Where the records with an id are: sorted by id, the first of equal ids in the file wins. */
struct id_table {
	struct id_entry {
		uint64_t id, offset;
	} *entries;
	size_t count, capacity;
	bool unsorted;
};

/*
 * Heap segments that directly follow each other, up to 4 MiB of them, are one entry: the serviceability agent
 * and ART write a segment for every few objects, and an entry each would cost more than the index. Only the
 * first header lies before `offset`; each further one stands where the segment before it ends.
 */
struct segment {
	uint64_t offset, end;	/* of the sub-records, and of the headers between them */
	bool mended;		/* one segment, whose header does not tell its true length */
	bool cut;		/* the file ends before the segment does */
};
#define SEGMENT_RUN (UINT64_C(4) << 20)

/* Records that directly follow each other, none of them a heap record, the first about stacks. See stack.h. */
struct record_run {
	uint64_t offset, end;	/* of the first one's header, behind the last one */
};

/* One heap dump of the file: a HEAP_DUMP, or segments up to a HEAP_DUMP_END. */
struct dump {
	size_t first_segment, segment_count;
};

/* More than anybody wrote; each costs tables of its own, however small it is. */
#define DUMPS_MOST 1000
/* Dumps times classes: no file that is not made to do harm comes near. */
#define DUMP_CLASSES_MOST 500000
/* Bytes of a name: as long as a class file can hold one. */
#define NAME_LENGTH_MOST 65535

struct elsewhere;

struct hprof {
	const struct input *in;
	struct notes *notes;
	char version[24];	/* "JAVA PROFILE 1.0.2" */
	unsigned id_width;	/* 4 or 8 */
	uint64_t time_ms;	/* since 1970; 0 where the writer did not know */
	uint64_t header_size;
	struct id_table utf8, load_class;
	struct segment *segments;
	size_t segment_count, segment_capacity;
	struct dump *dumps;
	size_t dump_count, dump_capacity;
	uint64_t records[256];	/* how many of each tag */
	struct record_run *runs; /* all stack frames, traces and threads are in one of them */
	size_t run_count, run_capacity;
	struct stacks *_Atomic stacks; /* made at first use */
	bool ended;		/* the last dump has its HEAP_DUMP_END, or needs none */
	const struct trace_dump *traced; /* what the trace that it came in says of it, or NULL; the opener's to set */
	const struct elsewhere *elsewhere; /* pictures from elsewhere, or NULL; the opener's to set */
};

/*
 * Walks the file's records. 0, or -1 with a message in `error`: not an HPROF file, an identifier size or a
 * version that nobody writes, no memory. Damage is no error: it goes to `notes`.
 */
int hprof_open(struct hprof *hprof, const struct input *in, struct notes *notes, char *error, size_t error_size);
void hprof_close(struct hprof *hprof);

/* Adds a record; 0, or -1 without memory. When all are there, sorts them; then they can be found. */
int id_table_add(struct id_table *table, uint64_t id, uint64_t offset);
void id_table_sort(struct id_table *table);
/* Offset of the record with this id, or 0 (where the file's header is, so never a record). */
uint64_t id_table_find(const struct id_table *table, uint64_t id);

/* The modified UTF-8 bytes of a name; NULL, with *len 0, if the file has no such id. Not NUL-terminated. */
const uint8_t *hprof_utf8(const struct hprof *hprof, uint64_t id, uint32_t *len);

/* Name id of the LOAD_CLASS record at `offset`. */
uint64_t load_class_name(const struct hprof *hprof, uint64_t offset);

#endif
