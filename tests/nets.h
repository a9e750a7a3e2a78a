/* SPDX-License-Identifier: Apache-2.0 */
/* nets: lists of references without any dump, and their dominators, for tests. */
#ifndef HEAPFS_NETS_H
#define HEAPFS_NETS_H

#include "graph/dominators.h"

/* Instead of a dominator: the virtual root above all roots; not reached. */
#define ABOVE (UINT32_MAX - 1)
#define LOST UINT32_MAX

extern uint64_t random_state;
/* The same numbers each time; set random_state first. */
uint32_t next_random(uint64_t below);
/* Not NULL, or the program ends. */
void *must(void *memory);

struct net {
	struct forward lists;
	size_t used, room;
	uint32_t owner;		/* of the list that is being written */
	uint32_t *roots;
	size_t root_count;
};

void net_init(struct net *net, uint32_t nodes, size_t references, size_t roots);
void net_free(struct net *net);
void net_root(struct net *net, uint32_t node);
/* References of one node after another, whose lists may lie in any order. */
void refer(struct net *net, uint32_t from, uint32_t to);

struct store memory_store(void);
/* Nothing fits in memory: all arrays lie in files. */
struct store file_store(void);
/* 0 or an errno value; finish() must follow. */
int try_to_find(struct dominators *d, const struct net *net, struct store *store, const _Atomic bool *cancel);
void find(struct dominators *d, const struct net *net, struct store *store);
/* Closes both; nothing of the store may be left in use. */
void finish(struct dominators *d, struct store *store);
void find_and_close(struct dominators *d, const struct net *net, int expected, const _Atomic bool *cancel);
uint32_t dominator_of(const struct dominators *d, uint32_t node);
/* Numbers and nodes are each other's inverse, and a dominator's number is the lower one. */
void check_numbers(const struct dominators *d, uint32_t count, uint64_t seed);

#endif
