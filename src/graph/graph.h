/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph: what holds what. The references of one heap as compact lists, who dominates whom, what each object retains, and
 * the shortest way from a GC root to each.
 *
 * Nothing is done before it is asked for. The first question starts a thread, the builder, which goes through the stages
 * in their order and then ends; nobody waits for it here: who asks too early is told GRAPH_LATER and asks again when
 * `changed` was called. What is built stays until graph_close() and may be read by many threads.
 *
 * A node is an object or a class object: see numbers.h. What counts as a reference: see pass.h.
 */
#ifndef HEAPFS_GRAPH_H
#define HEAPFS_GRAPH_H

#include "graph/dominators.h"
#include "graph/job.h"
#include "graph/numbers.h"
#include "graph/pass.h"

/* Above all roots: a dominator, and the end of a path. */
#define NODE_ROOT (UINT32_MAX - 1)

/* Each comes after those before it. The last is built only when it is asked for. */
enum graph_stage { GRAPH_NOTHING, GRAPH_DOMINATORS, GRAPH_PATHS, GRAPH_CLASSES, GRAPH_RETAINERS };

/* Of graph_need(): it is being built. */
#define GRAPH_LATER JOB_LATER

struct graph_options {
	unsigned threads;
	uint64_t memory;	/* bytes, before temporary files are used; 0: store_default_limit() */
	const char *tmpdir;	/* for these; NULL: the usual one */
	bool all_retainers;	/* not only those that retain a 100,000th of what is reachable, and 4096 bytes */
	/* Called by the builder after each stage, and when it failed. NULL: who asks builds, and gets it; one at a time. */
	void (*changed)(void *context);
	void *context;
};

struct graph;

/* Costs nothing yet. NULL without memory. The heap must outlive it. */
struct graph *graph_open(const struct heap *heap, const struct graph_options *options);
/* Ends the builder, whatever it is at. */
void graph_close(struct graph *graph);

/*
 * Sees to it that a stage is, or will be, there: 0, GRAPH_LATER, or an errno value: ENOMEM, EIO where the dump is not
 * what it was, E2BIG for more than 2^31 objects or 2^32 references.
 */
int graph_need(struct graph *graph, enum graph_stage stage);

/* Is it there already? Asks for nothing. */
bool graph_has(const struct graph *graph, enum graph_stage stage);

struct graph_progress {
	enum graph_stage stage;	/* what is there */
	bool started, running;
	int error;		/* or 0 */
	const char *phase;	/* what the builder is at */
	unsigned percent;	/* of everything */
	uint64_t bytes, in_files; /* memory taken, and how much of that is in temporary files */
	struct timespec changed; /* when any of this last did */
};
void graph_progress(struct graph *graph, struct graph_progress *progress);

/* --- from GRAPH_DOMINATORS on --- */

/* The node of an object or class object; NODE_NONE if the dump has none. And back. */
uint32_t graph_node(const struct graph *graph, uint64_t id);
uint32_t graph_node_count(const struct graph *graph);
uint64_t graph_id(const struct graph *graph, uint32_t node);

struct held {
	enum strength strength;	/* what is not STRONG has no dominator, and retains only itself */
	uint64_t shallow, retained; /* bytes */
	uint64_t objects;	/* retained, itself among them */
	uint32_t dominator;	/* node, or NODE_ROOT */
};
/* False where the object is not in the dump any more. */
bool graph_held(const struct graph *graph, uint32_t node, struct held *held);

/* The dominator alone: a node, NODE_ROOT, or NODE_NONE for what is not strongly held. */
uint32_t graph_dominator(const struct graph *graph, uint32_t node);
/* Objects that a strongly held node retains, itself among them. */
uint64_t graph_retained_objects(const struct graph *graph, uint32_t node);

/* Objects and bytes of each strength. */
struct graph_sum {
	uint64_t objects, bytes;
};
const struct graph_sum *graph_sums(const struct graph *graph);
/* Without a GC root in the dump, which a cut one lacks, all class objects are taken for roots. */
bool graph_lacks_roots(const struct graph *graph);
uint64_t graph_references(const struct graph *graph); /* strong ones to objects of the dump */

/*
 * Those that refer to a node, in the order of their numbers, those that do not hold it (as a referent) among them. Release
 * it with referrers_put(). NULL without memory.
 */
struct referrers {
	_Atomic unsigned users;
	uint32_t node;
	size_t count;
	uint32_t list[];	/* nodes */
};
struct referrers *graph_referrers(struct graph *graph, uint32_t node);
void referrers_put(struct referrers *referrers);

/* Shallow bytes of a class object: an instance of java.lang.Class and the values of its statics. */
uint64_t class_object_size(const struct heap *heap, const struct class *class);

/* --- from GRAPH_PATHS on --- */

/* The node before `node` on the shortest way from a root, NODE_ROOT for a root's; NODE_NONE if none holds it. */
uint32_t graph_before(const struct graph *graph, uint32_t node);
/* How many nodes that way has, at most 255 being told; 0 where there is none. */
unsigned graph_distance(const struct graph *graph, uint32_t node);

/* --- from GRAPH_CLASSES on --- */

struct class_graph {
	uint64_t retained;	/* by its instances that no other one of them dominates */
	struct graph_sum lost;	/* its unreachable instances */
};
/* By class number; class objects count for java.lang.Class. */
const struct class_graph *graph_classes(const struct graph *graph);

/* Class numbers, those that retain most first, then by name. */
const uint32_t *graph_class_order(const struct graph *graph);

/* --- from GRAPH_RETAINERS on --- */

struct retainer {
	uint32_t dominator, node; /* NODE_ROOT above all others */
	uint64_t retained;
};
struct retainers {
	struct retainer *list;
	size_t count;
};
/* The nodes that retain enough, by dominator, then most first, then by number. */
const struct retainers *graph_retainers(const struct graph *graph);
/* Those of them that a node dominates itself; NULL if there are none. */
const struct retainer *graph_below(const struct graph *graph, uint32_t node, size_t *count);
/* The LARGEST_MOST that retain most, most first. */
#define LARGEST_MOST 10000
const struct retainers *graph_largest(const struct graph *graph);

#endif
