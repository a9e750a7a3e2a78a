/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle: what holds what in a small heap, the slow way: each object is taken out in turn, and what is not reached any
 * more is what it holds. Shares nothing with src/graph but the names of strengths: objects are decoded value by value.
 */
#ifndef HEAPFS_ORACLE_H
#define HEAPFS_ORACLE_H

#include "graph/graph.h"

/* Numbers of the oracle's own, by id. */
#define TRUE_NONE UINT32_MAX
#define TRUE_ROOT (UINT32_MAX - 1)

struct true_node {
	uint64_t id;
	const struct class *of;	/* an object's class; NULL for a class object */
	const struct class *class; /* that it is, or NULL */
	uint64_t offset, size;
	enum strength strength, referent_strength;
	uint32_t referent;	/* or TRUE_NONE */
	uint32_t first, count;	/* of oracle.references */
	uint32_t dominator, dominators; /* the next one, how many there are */
	uint64_t retained, objects;
	unsigned distance;	/* nodes on the shortest way, 0 without one */
};

struct oracle {
	const struct heap *heap;
	struct true_node *nodes; /* by id */
	uint32_t count;
	uint32_t *references;	/* what holds firmly, to nodes of the dump */
	size_t reference_count, reference_capacity;
	uint8_t *dominates;	/* [x * count + y] */
	uint8_t *loaded;	/* class objects that stand for their loaders' and instances' hold on them */
	bool lacks_roots;
};

/* Ends the program without memory. */
void oracle_make(struct oracle *oracle, const struct heap *heap);
void oracle_free(struct oracle *oracle);

/* TRUE_NONE if there is none. */
uint32_t oracle_find(const struct oracle *oracle, uint64_t id);
/* Does x refer to y, as a referent or otherwise? Only firmly? */
bool oracle_refers(const struct oracle *oracle, uint32_t x, uint32_t y, bool firmly);
/* Class that a node counts for, or NULL: java.lang.Class for a class object. */
const struct class *oracle_class(const struct oracle *oracle, uint32_t node);

#endif
