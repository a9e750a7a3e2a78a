/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open: a file, opened with all that is in it, for the programs: heap dumps, or a native profile. What is wrong or damaged is
 * said on stderr as it is found, with how far reading is where that is a terminal.
 */
#ifndef HEAPFS_OPEN_H
#define HEAPFS_OPEN_H

#include "heap/heap.h"
#include "input/container.h"
#include "input/elsewhere.h"
#include "loli/loli.h"

struct open_options {
	const char *program;	/* for messages */
	const char *path;	/* as the user wrote it */
	const char *dump_option; /* what the user calls `dump`; NULL: there is no such option */
	unsigned dump;		/* the file's heap dump of this number, from 1 on; 0: all */
	bool only_one;		/* of heap dumps */
	bool only_pid;		/* of a trace, the dump of one process */
	uint32_t pid;
	bool strict;		/* what is damaged is refused */
	const char *tmpdir, *unpacked, *mapping; /* or NULL; see container.h, mapping.h */
	uint64_t base;		/* in the space of all inputs */
	const char *const *pictures; /* where pictures of a heap dump's Bitmaps are; see elsewhere.h */
	size_t picture_count;
	bool beside;		/* also in the folder beside the dump, if there is one */
	struct loli_options loli;
};

/* Must stay where it is while it is open. */
struct opened {
	struct container container;
	struct mapping mapping;	/* empty where the option was not given */
	struct elsewhere elsewhere; /* pictures */
	struct hprof *hprofs;	/* one a part of the container */
	struct notes notes;	/* about the dump, where it did not come in a trace */
	struct heap *heaps;
	struct loli profile;	/* instead of heaps, where container.loli */
	size_t hprof_count;
	unsigned heap_count;
	bool begun;		/* there is something to be closed */
};

/* 0, or -1 when it has been said why not. It may be closed in both cases, and where all of it is zero; the options' paths
   must outlive it. */
int opened_open(struct opened *opened, const struct open_options *options);
/*
 * Opens a file and, beside it, the one that it is compared with, where `baseline_options` have a path; both must be of one
 * kind.
 */
int opened_open_both(struct opened *opened, const struct open_options *options, struct opened *baseline,
		     struct open_options *baseline_options);
void opened_close(struct opened *opened);

/* Descriptors 0 to 2 must be taken, or the dump gets one and messages go into it. What is written to a closed one fails. */
void guard_standard_descriptors(void);

/* Processors that are online, at least 1. */
unsigned core_count(void);

#endif
