/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loli: a native memory profile as LoliProfiler saves it (.loli), decoded on demand from the mapping.  The file is
 * a QDataStream, big-endian: a header, then eight sections one after another, each a count and that many entries,
 * without lengths, padding or checksums (LoliProfiler's src/mainwindow.cpp, SaveToFile). So opening walks over all
 * of it once. LoliProfiler's own readers check nothing, and show zeros for what a cut file lacks; here every count
 * and length is checked against what is left, what is whole is shown, and the rest is a note.  Kept in memory after
 * loli_open(): where sections begin. What needs the records (sums.h) is made at first use.
 */
#ifndef HEAPFS_LOLI_H
#define HEAPFS_LOLI_H

#include "hprof/format.h"
#include "input/input.h"
#include "input/notes.h"

#include <pthread.h>

#define LOLI_MAGIC 0xa4b3c2d1
#define LOLI_VERSION 106
#define LOLI_HEADER 8

/* In the order of the file. */
enum loli_section {
	LOLI_SERIES,		/* memory over time */
	LOLI_STRINGS,		/* names of libraries by a hash */
	LOLI_RECORDS,		/* allocations */
	LOLI_STACKS,
	LOLI_SYMBOLS,
	LOLI_FREES,
	LOLI_SCREENSHOTS,
	LOLI_SMAPS,
	LOLI_SECTIONS
};
extern const char *const loli_section_names[LOLI_SECTIONS];

struct loli_part {
	uint64_t at, end;	/* of its entries that are whole */
	uint64_t declared;	/* how many there should be */
	uint64_t count;		/* how many there are; the last one may be the beginning of one, see `inner` */
	uint64_t parts;		/* of all its entries: points, frames, symbols, ranges */
	uint64_t inner;		/* parts of the last entry that are whole, where `partial` */
	bool partial;
	bool reached, whole;
};

/* Which names to fill in; see symbols.h. */
struct loli_options {
	const char *const *symbols; /* paths */
	size_t symbol_count;
	bool containing;	/* addresses are relative to the mapping that holds them, as before v1.1.6 */
	bool spanned;		/* only records allocated in this span of milliseconds */
	int64_t from, to;
};

struct loli {
	struct input *in;
	struct notes *notes;
	struct loli_options options;
	int32_t memory_most;	/* top of LoliProfiler's chart, MiB */
	struct loli_part parts[LOLI_SECTIONS];
	struct symbol_files *symbols; /* what was given by options, or NULL */
	pthread_mutex_t lock;	/* of building the sums */
	_Atomic bool stop;	/* they are not wanted any more */
	struct loli_sums *_Atomic sums;
};

/*
 * Reads the frame of a profile. Input, notes and what options point to stay the caller's and must outlive it. 0, or
 * -1 with a message; it may be closed in both cases.
 */
int loli_open(struct loli *loli, struct input *in, struct notes *notes, const struct loli_options *options, char *error,
	      size_t error_size);
void loli_close(struct loli *loli);
/* Does the file, which was cut, still begin as it did? */
bool loli_same(const struct loli *loli);

/* --- reading --- */

/* A place in the file. What lies behind the end, or is not as it must be, sets `problem`, and reads as zero. */
struct loli_cursor {
	const struct input *in;
	uint64_t at;
	const char *problem;
	uint64_t wanted;	/* bytes, where there were fewer */
};
extern const char loli_too_short[];

static inline struct loli_cursor loli_cursor(const struct loli *loli, uint64_t at)
{
	return (struct loli_cursor){ .in = loli->in, .at = at };
}

/* NULL where there are not so many bytes. */
static inline const uint8_t *loli_take(struct loli_cursor *cursor, uint64_t len)
{
	const uint8_t *p = cursor->problem ? NULL : input_at(cursor->in, cursor->at, len);
	if (p) {
		cursor->at += len;
	} else if (!cursor->problem) {
		cursor->problem = loli_too_short;
		cursor->wanted = len;
	}
	return p;
}

static inline uint32_t loli_u32(struct loli_cursor *cursor)
{
	const uint8_t *p = loli_take(cursor, 4);
	return p ? be32(p) : 0;
}

static inline uint64_t loli_u64(struct loli_cursor *cursor)
{
	const uint8_t *p = loli_take(cursor, 8);
	return p ? be64(p) : 0;
}

/* A count, of things of at least `least` bytes each. */
uint64_t loli_count(struct loli_cursor *cursor, uint64_t least);

/* UTF-16, big-endian. */
struct loli_string {
	const uint8_t *units;
	uint32_t count;
};
struct loli_string loli_string(struct loli_cursor *cursor);
/* As UTF-8 (lone surrogates in three bytes) at `out`, which has room for 3 bytes a unit; how many it took. */
size_t loli_utf8(const struct loli_string *string, char *out);

/* The other way: UTF-8 as units of UTF-16. What is no UTF-8 becomes U+FFFD. */
struct loli_units {
	const uint8_t *p;
	size_t left;
	uint16_t low;		/* the other half of a pair, or 0 */
};
static inline struct loli_units loli_units(const char *text, size_t len)
{
	return (struct loli_units){ (const uint8_t *)text, len, 0 };
}
bool loli_next_unit(struct loli_units *units, uint16_t *unit);
/* Qt 5's qHash() of a QString, without a seed, which LoliProfiler's keys are. */
uint32_t loli_hash(const char *text, size_t len);

/* All zero for what is no UUID. */
struct loli_uuid {
	uint64_t high, low;
};
struct loli_uuid loli_uuid(const struct loli_string *string);

/* A record, behind its UUID. */
#define LOLI_RECORD 32
struct loli_record {
	uint32_t seq, size, lib; /* the lib by its key in the table of strings */
	int32_t time_ms;
	uint64_t address, function;
};
static inline struct loli_record loli_record_of(const uint8_t *p)
{
	return (struct loli_record){ .seq = be32(p), .time_ms = (int32_t)be32(p + 4), .size = be32(p + 8),
				     .address = be64(p + 12), .function = be64(p + 20), .lib = be32(p + 28) };
}

/* False where the file does not have it any more. */
bool loli_record_at(const struct loli *loli, uint64_t at, struct loli_record *record);

/* A frame of a stack: the library's key, an address. */
#define LOLI_FRAME 12

/* How many parts of entry number `i` of a section are there, of as many as it declares. */
static inline uint64_t loli_inner(const struct loli *loli, enum loli_section section, uint64_t i, uint64_t declared)
{
	const struct loli_part *part = &loli->parts[section];
	return part->partial && i + 1 == part->count && part->inner < declared ? part->inner : declared;
}

#endif
