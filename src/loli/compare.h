/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare: all that differs between what two profiles hold, or one at two moments: by function, by call stack, and as
 * trees of what is new, has grown, has shrunk, is gone.
 *
 * Names decide what is the same, never an address or a UUID: libraries by name, functions by library and name. What has
 * no name is one function a library, library![no name], since an address says nothing in another build, nor, outside of
 * libraries, in another run.
 */
#ifndef HEAPFS_COMPARE_H
#define HEAPFS_COMPARE_H

#include "loli/moment.h"
#include "loli/sums.h"

enum loli_change { CHANGE_NEW, CHANGE_GROWN, CHANGE_SHRUNK, CHANGE_REMOVED, CHANGES, CHANGE_NONE = CHANGES };
extern const char *const loli_change_names[CHANGES + 1];

/* Held bytes and blocks. */
struct loli_both {
	struct loli_sum before, after;
};

struct loli_comparison {
	/* Names, and the merged tree of both: of its nodes `self` is what is held after, `freed` what was held before. */
	struct loli_sums both;
	struct loli_both *self, *total; /* of functions, by number */
	/* What differs, largest growth first: functions, and stacks, of `both`. */
	uint32_t *by_function, *by_stack;
	size_t function_rows, stack_rows;
	/* Of the stacks that changed so the difference: what new ones hold, what others hold more, or less, and what was
	   held by those that are gone. A stack counts one. All but the nodes is `both`'s. */
	struct loli_sums trees[CHANGES];
	struct loli_both held;	/* in all */
};

/* NULL without memory. Sums stay the caller's, and are not needed any more afterwards. */
struct loli_comparison *loli_compare(const struct loli_sums *before, const struct loli_sums *after);
/* The same with what was held at an earlier moment of one profile; NULL also where the file was cut. */
struct loli_comparison *loli_compare_moment(const struct loli_sums *sums, int64_t time_ms);
void loli_comparison_close(struct loli_comparison *comparison);

/* How something changed: by bytes, and where these are the same, by count. */
enum loli_change loli_change(const struct loli_both *both);
/* Of a function, with all that it calls, or where that stayed the same, itself. */
enum loli_change loli_function_change(const struct loli_comparison *comparison, uint32_t function);
/* Of a stack that ends at a node. */
static inline struct loli_both loli_stack(const struct loli_comparison *comparison, uint32_t node)
{
	const struct loli_node *of = &comparison->both.nodes[node];
	return (struct loli_both){ of->freed, of->self };
}

/*
 * What a profile holds, in all: at the end, and at a moment if there is one. Of how many blocks nobody can tell whether they
 * were freed by then goes to *unsure, how many the file knows to be freed at all to *freed, unless those are NULL. False
 * without memory, or where the file was cut.
 */
bool loli_held(const struct loli *loli, const int64_t *time_ms, struct loli_both *held, uint64_t *unsure, uint64_t *freed);

#endif
