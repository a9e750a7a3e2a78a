/* SPDX-License-Identifier: Apache-2.0 */
/* state: what the builder's parts share. Internal to src/graph. */
#ifndef HEAPFS_GRAPH_STATE_H
#define HEAPFS_GRAPH_STATE_H

#include "graph/graph.h"

#include <pthread.h>
#include <time.h>

#define REFERRERS_KEPT 8
/* Objects or references looked up at a time: where objects lie at random, each step brings near what the next one needs. */
#define GATHERED 64

/* A stretch of forward.targets that one chunk of objects filled. */
struct stretch {
	uint64_t begin, count;
	uint64_t room;		/* that there is */
};

struct graph {
	const struct heap *heap;
	struct graph_options options;
	struct store store;
	_Atomic bool cancel;

	/* The builder, and what it tells. */
	pthread_mutex_t lock;
	pthread_t builder;
	bool running, joinable;	/* joinable: to be joined before another one starts */
	int error;
	enum graph_stage wanted;
	_Atomic int stage;
	const char *phase;
	unsigned phase_number;
	_Atomic uint64_t phase_done; /* chunks */
	struct timespec changed;

	struct shapes shapes;
	struct numbers numbers;
	_Atomic bool careful;	/* ids stand more than once: the first is the node's */
	struct forward lists;
	uint64_t target_count;	/* room in lists.targets */
	struct stretch *stretches; /* by chunk; the last is that of the class objects */
	size_t stretch_count;
	uint32_t *leaf_owner;	/* by leaf: the node that refers to it */
	uint32_t leaf_count;
	bool lacks_roots;
	uint32_t *loaded;	/* class objects that no reference leads to, but that are there: see hold_loaded() */
	size_t loaded_count;
	struct dominators dominators;
	uint32_t bounds[STRENGTH_COUNT]; /* numbers in the search up to which nodes are that firmly held */
	uint64_t *retained;	/* by number in the search */
	uint32_t *objects;
	struct graph_sum sums[STRENGTH_COUNT];

	uint32_t *before;	/* by node: the one before it on its path, NODE_ROOT, NODE_NONE */
	uint8_t *distance;
	uint32_t *class_at;	/* by node: its class's number, or class_count + its own for a class object; until
				   GRAPH_CLASSES */
	struct class_graph *classes;
	uint32_t *class_order;
	struct retainers retainers, largest;

	pthread_mutex_t referrers_lock;
	struct referrers *referrers[REFERRERS_KEPT]; /* asked for last, the newest first */
};

/* Is this object, or class object, the one that its id leads to? */
static inline bool is_the_node(const struct graph *graph, const struct object *object)
{
	struct found found;
	if (!atomic_load_explicit(&graph->careful, memory_order_relaxed))
		return true;
	const struct class *class = class_find(graph->heap, object->id);
	return !(class && class->offset) && index_find(&graph->heap->scan.index, object->id, &found) &&
	       found.offset == object->offset;
}

/* The number of an object that was there before; if it is not any more, the file has changed. */
static inline uint32_t known_number(const struct graph *graph, uint64_t place)
{
	const uint32_t node = number_at(&graph->numbers, place);
	if (node == NODE_NONE)
		input_touched_bad = true;
	return node;
}

/* How firmly a node is held, or all with this number in the search. */
enum strength node_strength(const struct graph *graph, uint32_t node);
enum strength number_strength(const struct graph *graph, uint32_t number);
/* Number in the search of a node, or of what holds a leaf; 0: unreachable. */
uint32_t holder_number(const struct graph *graph, uint32_t node);

/* Takes note of what is done next. */
void graph_phase(struct graph *graph, const char *phase);
int graph_pass(struct graph *graph, int (*chunk)(void *context, unsigned thread, size_t chunk, struct record_walk *walk),
	       void *context);

/* The stages. 0 or errno. */
int build_references(struct graph *graph);	/* references.c */
int search_strengths(struct graph *graph);	/* strength.c; a part of: */
int build_dominators(struct graph *graph);	/* sizes.c */
int build_paths(struct graph *graph);		/* paths.c */
int build_classes(struct graph *graph);		/* retained.c */
int build_retainers(struct graph *graph);	/* retainers.c */

/* Finds the classes of all nodes, and what is known of classes by that. */
int find_classes(struct graph *graph);		/* retained.c */
int compare_names(struct name a, struct name b); /* paths.c */

#endif
