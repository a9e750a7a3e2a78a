/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loli_writer: LoliProfiler profiles of any shape for tests, well-formed or not. Like the writer that it stands on, it
 * checks nothing: a profile is its header and eight sections, each a count (put_u4) and what follows here.
 */
#ifndef HEAPFS_LOLI_WRITER_H
#define HEAPFS_LOLI_WRITER_H

#include "writer.h"

#define LOLI_NULL UINT32_MAX	/* the length of a string that is null */

/* Magic, version, top of the chart. */
void put_loli_header(struct writer *w, uint32_t version);
/* Latin text as UTF-16; NULL is a null string. */
void put_loli_string(struct writer *w, const char *text);
/* "{00000000-0000-4000-8000-<number>}" */
void put_loli_uuid(struct writer *w, uint64_t number);
/* What follows the UUID. */
void put_loli_record(struct writer *w, uint32_t seq, uint32_t time_ms, uint32_t size, uint64_t address,
		     uint64_t function, uint32_t library);
void put_loli_frame(struct writer *w, uint32_t library, uint64_t address);
void put_loli_point(struct writer *w, double x, double y);

/* A small profile that has something of everything: see loli_writer.c for what is in it. */
void sample_loli_small(struct writer *w);
/* One of so many records, of some 384 bytes each, as one of a game is; of 0, the small one. */
int sample_loli(uint64_t records, const char *path);

/*
 * A profile by what is in it. Stacks are texts, root first, "libgame.so!main();libengine.so!load()": a frame is a library
 * and a function, "libgame.so!" has a symbol without a name, "libgame.so" has none. Where functions lie, and in other
 * libraries (named "unknown") frames, can be moved as another build, or run, does.
 */
struct loli_made {
	struct loli_made_record {
		uint32_t seq, time_ms, size;
		uint64_t address;
		const char *stack;	/* NULL: none */
	} *records;
	size_t record_count;
	struct loli_made_free {
		uint64_t address;
		uint32_t seq;
	} *frees;
	size_t free_count;
	uint64_t moved, moved_raw;
};
void sample_loli_made(struct writer *w, const struct loli_made *made);

/* Two of one program, at other addresses: what is new, has grown, has shrunk, is gone, and what stayed. */
void sample_loli_before(struct writer *w);
void sample_loli_after(struct writer *w);

#endif
