/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dominators: which node every path to another one must pass, for graphs of many million nodes.
 *
 * Semi-NCA (Georgiadis) over a depth-first search. Only references against the order of the search are kept as
 * predecessors; what the search itself sees of the others is folded into the first guess at a semidominator. The
 * nearest common ancestors are found with jump pointers (Myers), so that nothing is worse than n log n. Nothing
 * recurses. Memory: 8 bytes a node afterwards and 24 at most meanwhile, besides 12 for each such reference.
 *
 * Nodes are numbered from 0; in the search, from 1, where 0 is the virtual root above all roots.
 */
#ifndef HEAPFS_DOMINATORS_H
#define HEAPFS_DOMINATORS_H

#include "graph/store.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Lists of what nodes refer to. */
#define LIST_NONE UINT32_MAX
#define LIST_LAST (UINT32_C(1) << 31)
struct forward {
	uint32_t count;		/* nodes */
	uint32_t *start;	/* where a node's list begins in `targets`; LIST_NONE: it refers to nothing */
	uint32_t *targets;	/* node numbers; the last of a list has LIST_LAST set */
};

struct dominators {
	struct store *store;
	const struct forward *lists;
	const _Atomic bool *cancel; /* or NULL */
	uint32_t *order;	/* by node: its number in the search; 0: not reached */
	uint32_t *vertex;	/* by number: the node */
	uint32_t *idom;		/* by number, of those that the roots reach: the dominator's number; idom < number */
	uint32_t strong;	/* numbers 1 … strong are what the roots reach */
	uint32_t reached;	/* those up to here were reached by dominators_reach() afterwards */
	/* Internal. */
	uint32_t *semi, *arcs_in;
	struct arc_block *arcs;
	struct frame *frames;
	size_t frame_count, frame_capacity;
};

/* Begins a search over the lists, which must outlive it. 0 or ENOMEM. */
int dominators_open(struct dominators *dominators, const struct forward *lists, struct store *store,
		    const _Atomic bool *cancel);
/* Searches from a root: all that it leads to is strong. 0, ENOMEM or ECANCELED. */
int dominators_root(struct dominators *dominators, uint32_t node);
/* When all roots were told: finds the dominators. 0, ENOMEM or ECANCELED. */
int dominators_solve(struct dominators *dominators);
/* Goes on to what one more node leads to: numbers it, without dominators. 0, ENOMEM or ECANCELED. */
int dominators_reach(struct dominators *dominators, uint32_t node);
void dominators_close(struct dominators *dominators);

#endif
