/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: what two heap dumps differ in.
 *
 * Classes are matched by name, all loaders' classes of one name together, since a loader is an object and has another
 * address in another process. What a VM puts behind the names of its hidden classes differs from run to run and is left
 * out: see fold.c.
 *
 * Objects are matched by id, where that means something, or else by content.
 *
 * An id is an address. It tells who an object is only if both dumps are of one process, and only as far as its collector
 * has not moved objects meanwhile. Neither is taken for granted; judge.c looks at
 *   - process ids, where a Perfetto trace or the names of Android's binder threads ("Binder:1234_1") tell them;
 *   - threads of one number and name: is the address of the VM's own thread (eetop, nativePeer) the same? Processes that
 *     Android's zygote starts have the same memory at first, so main does not count there;
 *   - classes that both dumps have once: do their class objects have the same ids?
 *   - Strings, whose texts never change: of a sample of the older dump's, which ids are Strings of the newer one, and how
 *     many of those have the same text?
 * Ids count if neither the process ids differ nor the addresses of more than half of the threads, and
 *   - where a process id or at least half of the threads agree: DIFF_SAME_PERCENT of the class ids and of the Strings;
 *   - where nothing tells of the process: DIFF_UNPROVEN_PERCENT of both, and DIFF_THERE_PERCENT of the sampled Strings
 *     are still there.
 * Even so a collector may have moved some, and what it packs together stands where others of its class stood. So first
 * those are matched whose id and content are the same; then what is left by content, which finds what was moved; then what
 * is still left by id alone: what has changed, but is where it was. Objects of one id are the same only if their classes
 * match, arrays are of one length, and Strings have one text. An object that went, while an equal one came, counts for one
 * that was moved.
 *
 * Contents are equal if class, primitive values and references are: a reference's is null, the String's text, or else the
 * class and the primitive values of what it leads to (of a primitive array the elements, of another one the length). Of
 * what a reference leads to, the first CONTENT_MOST fields, bytes of elements or chars of text count. Only fields that classes of both
 * dumps have count, and none that holds an address: see content.c. Contents are compared by hashes of 64 bits. Of n equal
 * objects before and m after, m - n are new, the last ones in the file's order.
 *
 * Classes are matched when a diff is opened. All else is done by jobs at the first question: see job.h. While objects are
 * matched, 16 bytes are taken for each of a class, or of as many classes as there are threads; kept are 8 for each that
 * has no partner. Functions may be called from many threads.
 */
#ifndef HEAPFS_DIFF_H
#define HEAPFS_DIFF_H

#include "graph/graph.h"

enum diff_side { DIFF_OLD, DIFF_NEW, DIFF_SIDES };

struct diff_sum {
	uint64_t count, bytes;
};

/* Class of one name, after folding. */
struct diff_class {
	struct name name;
	uint32_t first, class_count[DIFF_SIDES]; /* its classes: in diff.members, those of the older dump first */
	struct diff_sum sums[DIFF_SIDES];	/* of all their objects */
};

/* How objects were matched, and what was looked at to decide it. */
#define DIFF_SAME_PERCENT 90
#define DIFF_UNPROVEN_PERCENT 99
#define DIFF_THERE_PERCENT 50
struct diff_judgement {
	bool by_id;
	const char *reason;
	bool pids_known;
	uint64_t pids[DIFF_SIDES];
	uint64_t threads, threads_same;
	uint64_t classes, classes_same;
	uint64_t strings, strings_there, strings_same;
};

/* Objects of one class without partner, by the offsets of their records, which rise. */
struct diff_list {
	uint64_t *offsets;
	size_t count;
	uint64_t bytes;
};

struct diff_objects {
	struct diff_judgement judgement;
	struct diff_list *lists[DIFF_SIDES];	/* by number of the class: removed, new */
	uint64_t by_id, by_content, changed;	/* pairs: by id and as they were, by content, by id alone */
	struct diff_sum left[DIFF_SIDES];	/* all of the lists */
};

/* A text that more, or fewer, Strings have. Bytes are those of the Strings and their arrays, each counted once. */
struct diff_text {
	uint64_t offset;	/* of a String that has it, */
	enum diff_side side;	/* in this dump */
	struct diff_sum sums[DIFF_SIDES];
};
struct diff_texts {
	struct diff_text *list;
	size_t count;
};

/* Bitmaps of one size, layout and content. */
struct diff_bitmap {
	uint32_t width, height;
	uint8_t layout;		/* enum pixel_layout */
	bool hashed;		/* there are pixels */
	uint64_t hash;		/* bitmap_hash() */
	struct diff_sum sums[DIFF_SIDES]; /* bytes of pixels, as bitmap_memory() tells */
};
struct diff_bitmaps {
	struct diff_bitmap *list;
	size_t count;
};

/*
 * What is dominated by objects of the same classes, from a root's class down; a class several times in a row counts once,
 * so that a linked list is one step. What lies deeper than DIFF_PATH_DEPTH counts for the step above it.
 */
#define DIFF_PATH_DEPTH 12
#define DIFF_PATHS_MOST (UINT32_C(1) << 20)
#define DIFF_PATH_ROOT UINT32_MAX
struct diff_path {
	uint32_t above;		/* number of the path without the last step, or DIFF_PATH_ROOT */
	uint32_t class;		/* of the last step */
	bool class_object;	/* that is a class object */
	uint8_t depth;
	struct diff_sum sums[DIFF_SIDES]; /* retained objects and bytes */
};
struct diff_paths {
	struct diff_path *list;
	uint32_t count;
	uint32_t *order;	/* those that changed, most growth first */
	uint32_t order_count;
	bool left_out;		/* there were more than DIFF_PATHS_MOST */
};

struct diff {
	const struct heap *heaps[DIFF_SIDES];
	struct graph *graphs[DIFF_SIDES];
	unsigned threads;
	struct diff_class *classes;	/* most growth of bytes first, then of count, then by name */
	uint32_t class_count;
	uint32_t *changed;		/* numbers of those whose count or bytes changed, in that order */
	uint32_t changed_count;
	uint32_t *class_of[DIFF_SIDES];	/* number of the class, by class number of the heap */
	uint32_t *members;		/* class numbers of the heaps */
	char *names;
	struct job objects_job, strings_job, bitmaps_job, dominators_job;
	/* Once the job is done. */
	struct diff_objects objects;
	struct diff_texts texts;
	struct diff_bitmaps bitmaps;
	struct diff_paths paths;
};

/*
 * Compares two dumps, whose heaps and graphs must outlive it. Of the options, `threads` and `changed` count. Graphs may be
 * NULL where nobody will ask for dominators. NULL without memory.
 */
struct diff *diff_open(const struct heap *old, const struct heap *new, struct graph *old_graph, struct graph *new_graph,
		       const struct graph_options *options);
/* As for duplicates: of all diffs, and before the graphs are closed. */
void diff_cancel(struct diff *diff);
void diff_join(struct diff *diff);
void diff_close(struct diff *diff);

/* The class of one of the heaps' classes; those that it has in one of the dumps. */
static inline const struct diff_class *diff_class_of(const struct diff *diff, enum diff_side side, const struct class *class)
{
	return &diff->classes[diff->class_of[side][class_number(diff->heaps[side], class)]];
}
static inline const uint32_t *diff_members(const struct diff *diff, const struct diff_class *class, enum diff_side side)
{
	return diff->members + class->first + (side == DIFF_NEW ? class->class_count[DIFF_OLD] : 0);
}

/* By how much a sum grew, or shrank: of anything that fits in memory it fits in 63 bits. */
static inline int64_t diff_growth(uint64_t before, uint64_t after)
{
	return (int64_t)(after - before);
}
/* Most growth first: of bytes, then of count. For comparing in qsort(). */
static inline int diff_order(const struct diff_sum *a, const struct diff_sum *b)
{
	const int64_t x = diff_growth(a[DIFF_OLD].bytes, a[DIFF_NEW].bytes), y = diff_growth(b[DIFF_OLD].bytes, b[DIFF_NEW].bytes);
	const int64_t p = diff_growth(a[DIFF_OLD].count, a[DIFF_NEW].count), q = diff_growth(b[DIFF_OLD].count, b[DIFF_NEW].count);
	return x != y ? (x > y ? -1 : 1) : p != q ? (p > q ? -1 : 1) : 0;
}
static inline bool diff_changed(const struct diff_sum *sums)
{
	return sums[DIFF_OLD].count != sums[DIFF_NEW].count || sums[DIFF_OLD].bytes != sums[DIFF_NEW].bytes;
}

/* All objects of both dumps. */
void diff_totals(const struct diff *diff, struct diff_sum sums[DIFF_SIDES]);

/* Is this object without partner? Then *at is its place in its class's list. */
bool diff_is_left(const struct diff *diff, enum diff_side side, const struct object *object, size_t *at);

#endif
