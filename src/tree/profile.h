/* SPDX-License-Identifier: Apache-2.0 */
/* profile: how a native profile's sums are shown. Internal to src/tree; made at first use and then kept. */
#ifndef HEAPFS_PROFILE_H
#define HEAPFS_PROFILE_H

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
	uint32_t before;	/* those of the same second and format before it */
	const char *extension;
};

struct profile_view {
	const struct loli_sums *sums;
	uint64_t *stack_lens;	/* bytes of stacks */
	uint8_t *flags;		/* of nodes */
	uint64_t threshold;	/* bytes from which on a node is shown in callstacks/ */
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

/* callstacks.c: which nodes are folders. False without memory. */
bool callstacks_open(struct profile_view *view, bool all);

#endif
