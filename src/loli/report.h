/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: what LoliProfiler's own comparator and dumper find, line by line, as its src/profilecomparator.cpp does it,
 * blind spots included. compare.h tells all that changed.
 *
 * Its tree is keyed by a hash of 32 bits over the names from a frame to the root, so unlike paths may meet in one node.
 * A stack that meets itself is broken off there: it hangs below itself then and no root leads to it. (LoliProfiler runs
 * in circles when such a stack comes again; here it is added up to where it was broken off.)  A frame's name is its
 * symbol's, which may be empty, or library!0xaddress where there is none. Names from outside fill empty ones, as they
 * would be filled in LoliProfiler. Freed records are left out of dumps only.
 *
 * Stacks of more than 8,192 frames are left out, like those that are not there: LoliProfiler's agent takes 126 at most,
 * and a damaged file could keep one busy for days. For the like reason names of libraries are cut: see names_made().
 *
 * All is in the file's order, so the order in which the records were written decides between equal siblings.
 */
#ifndef HEAPFS_REPORT_H
#define HEAPFS_REPORT_H

#include "loli/moment.h"
#include "loli/sums.h"

/* Where frames are, and what they are called. */
struct report_place {
	uint64_t address;
	uint32_t library;	/* NUMBER_NONE: the file's table of strings lacks it */
	uint32_t text;		/* of its name */
	uint32_t hash;		/* of its name */
};

struct report_line {
	int64_t size, count;	/* growth; of a dump, what is held */
	uint32_t parent;	/* line number, or NUMBER_NONE */
	uint32_t depth;
	uint32_t place;
};

struct report {
	bool dump;
	uint64_t baseline_count, count;	/* allocations */
	int64_t baseline_size, size;	/* bytes; of 2 GiB and more, LoliProfiler's sizes are negative */
	uint64_t changed, fresh;	/* nodes, of them new leaves, that count as grown */
	struct report_line *lines;	/* root first, the children of one follow it */
	size_t line_count;
	struct report_place *places;
	struct loli_sums *names;	/* of the profile that the lines are of, without any sums */
	struct loli_sums *baseline_names; /* NULL of a dump */
};

/*
 * Compares all records of two profiles, without the outermost `skip` frames of each stack. NULL without memory, where a file
 * was cut, or told to stop.
 */
struct report *report_compare(const struct loli *before, const struct loli *after, uint64_t skip);
/* The same with what one profile held at a moment, and what it holds at the end. */
struct report *report_compare_moment(const struct loli *loli, int64_t time_ms, uint64_t skip);
/* What a profile holds. */
struct report *report_dump(const struct loli *loli, uint64_t skip);
void report_close(struct report *report);

/* The innermost frame of a stack? Those above it are its parents. */
static inline bool report_is_leaf(const struct report *report, size_t line)
{
	return line + 1 == report->line_count || report->lines[line + 1].depth <= report->lines[line].depth;
}

static inline struct text_entry report_name(const struct report *report, size_t line)
{
	return sums_text(report->names, report->places[report->lines[line].place].text);
}

#endif
