/* SPDX-License-Identifier: Apache-2.0 */
/* profile: how a native profile's sums are shown. Internal to src/tree; made at first use and then kept. */
#ifndef HEAPFS_PROFILE_H
#define HEAPFS_PROFILE_H

#include "loli/compare.h"
#include "loli/report.h"
#include "loli/sums.h"
#include "tree/node.h"

/* Of a node of the merged tree of stacks. */
enum {
	NODE_WITH_LIBRARY = 1,	/* a sibling has the same function's name */
	NODE_FOLDER = 2,	/* in callstacks/: something below it is shown */
};

struct screenshot {
	uint64_t at, len;
	int32_t time_s;
	uint32_t before;	/* those of the same second before it */
	const char *extension;
};

struct profile_view {
	const struct loli_sums *sums;
	uint64_t *stack_lens;	/* bytes of stacks */
	uint8_t *flags;		/* of nodes */
	uint64_t threshold;	/* bytes from which on a node is shown in callstacks/ */
	bool of_stacks;		/* nodes count stacks, not allocations */
	struct screenshot *screenshots; /* by time */
	size_t screenshot_count;
	int screenshot_width;
};

/* Before the first use of a tree with a profile, and after its last. */
void profile_init(struct tree *tree);
void profile_stop(struct tree *tree);
/* NULL where it cannot be made: the request then fails. */
const struct profile_view *profile_view(const struct node *node);
void profile_view_close(struct profile_view *view);
/* Labels, and what is shown of the tree of stacks, of a view that has its sums. False without memory. */
bool profile_view_open(struct profile_view *view, bool all);
void profile_view_free(struct profile_view *view); /* what it holds */

/* The tables, in the order of a listing. */
extern const char *const profile_table_names[];
extern const size_t profile_table_count;

static inline struct name sums_name(const struct loli_sums *sums, uint32_t text)
{
	const struct text_entry entry = sums_text(sums, text);
	return (struct name){ entry.data, entry.len };
}

static inline bool is_shown_below(const struct profile_view *view, uint32_t node)
{
	return view->sums->nodes[node].total.bytes >= view->threshold;
}

/* Names as they stand in a table. */
void put_function_label(struct text *text, const struct profile_view *view, uint32_t function);
void put_library_label(struct text *text, const struct profile_view *view, uint32_t library);

/* The frames of a stack, root first, with ";" between them; of callstacks/, the folder that a node is, or its file. */
void put_stack(struct text *text, const struct profile_view *view, uint32_t node);
void put_callstack_name(struct text *text, const struct profile_view *view, uint32_t node);

/* profile_diff.c: what differs from the baseline. NULL where it cannot be made: the request then fails. */
struct profile_changes {
	struct loli_comparison *comparison;
	struct profile_view both; /* of the tree of both */
	struct profile_view trees[CHANGES];
};
const struct profile_changes *profile_changes(const struct node *node);
void profile_diff_init(struct tree *tree);
void profile_diff_cancel(struct tree *tree), profile_diff_join(struct tree *tree), profile_diff_close(struct tree *tree);
void put_baseline_info(const struct tree *tree, struct text *text);

/* Files of diff/ are tables as well, their keys from here on. */
#define PROFILE_DIFF_TABLES 64
struct job *profile_diff_job(const struct node *node);
uint64_t profile_diff_pieces(const struct node *node);
void profile_diff_write(const struct node *node, uint64_t first, struct pages *pages);

/*
 * The key of a node of callstacks/, whose tree is number 0, and of the trees in diff/callstacks/: what they are of, and 1. The
 * number behind those is that of the folder that they are in.
 */
#define STACK_TREE_BITS 32
#define STACK_TREES_FOLDER (CHANGES + 1)
static inline uint64_t stack_key(unsigned tree, uint32_t node)
{
	return (uint64_t)tree << STACK_TREE_BITS | node;
}

/* callstacks.c: which nodes are folders. False without memory. */
bool callstacks_open(struct profile_view *view, bool all);

#endif
