/* SPDX-License-Identifier: Apache-2.0 */
/* diff_pair: two dumps and all that is compared of them, for the tests of src/diff. Without memory the program ends. */
#ifndef HEAPFS_DIFF_PAIR_H
#define HEAPFS_DIFF_PAIR_H

#include "diff/parts.h"
#include "fixture.h"

struct pair {
	struct opened dumps[DIFF_SIDES];
	struct graph *graphs[DIFF_SIDES];
	struct diff *diff;
};

/* Opens the comparison of dumps that are open; nothing is compared yet but classes. */
void pair_open(struct pair *pair, const struct graph_options *options);
/* The same, and compares all. */
void pair_start(struct pair *pair, unsigned threads);
/* Closes the dumps, too. */
void pair_end(struct pair *pair);

/* The class of this name, after folding. The test fails if there is none. */
const struct diff_class *class_called(const struct diff *diff, const char *name);

/* Numbers that are the same in each run. */
uint64_t next_random(uint64_t below);

/* So many objects of a few classes, mostly in chains, some of them held by roots. */
void make_random(struct opened *opened, unsigned count);

#endif
