/* SPDX-License-Identifier: Apache-2.0 */
/* graph_checks: a graph, all that it says compared with the oracle, and a VM with classes to make graphs of. */
#ifndef HEAPFS_GRAPH_CHECKS_H
#define HEAPFS_GRAPH_CHECKS_H

#include "fixture.h"
#include "oracle.h"

#define JVM "JAVA PROFILE 1.0.2"
#define ART "JAVA PROFILE 1.0.3"

extern uint64_t random_state;
/* The same numbers each time; set random_state first. */
uint64_t next_random(uint64_t below);
/* Not NULL, or the program ends. */
void *must(void *memory);

struct built {
	struct opened opened;
	const struct heap *heap;
	struct graph *graph;
};

/* All stages of a heap's graph. */
struct graph *graph_of(const struct heap *heap, const struct graph_options *options);
/* The graph of what the VM holds, with one thread; closes the VM. */
void build(struct built *built, struct vm *vm, const char *version);
void built_close(struct built *built);
/* Nodes; a test fails without one. */
uint32_t need_node(const struct graph *graph, uint64_t id);
/* Fails, naming both, where numbers differ. */
void same(const char *what, const char *label, uint64_t id, uint64_t found, uint64_t expected);
void same_retainers(const struct retainers *found, const struct retainer *expected, size_t count, const char *label);
/* Everything that a graph tells of a heap, against the oracle. */
void check_heap(const struct heap *heap, const struct graph_options *options, const char *label);
void check_built(struct built *built, const char *label);

struct world {
	struct vm vm;
	uint64_t node, sub, plain, objects, nodes;
	uint64_t soft, weak, phantom, finalizer, finalizer_reference, strange;
};

/* A subclass of Reference writes its own fields first: so that of Finalizer's the referent is the third value. */
void world_init(struct world *world, enum vm_kind kind, unsigned id_width);
uint64_t new_node(struct world *world, uint64_t next, uint64_t data, uint64_t back);
uint64_t new_plain(struct world *world);
void root(struct world *world, uint64_t id);

#endif
