/* SPDX-License-Identifier: Apache-2.0 */
#include "nets.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint64_t random_state;

uint32_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % below);
}

void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* --- lists --- */

void net_init(struct net *net, uint32_t nodes, size_t references, size_t roots)
{
	*net = (struct net){ .lists = { .count = nodes }, .room = references };
	net->lists.start = must(malloc(((size_t)nodes + 1) * sizeof *net->lists.start));
	net->lists.targets = must(malloc((references + 1) * sizeof *net->lists.targets));
	net->roots = must(malloc((roots + 1) * sizeof *net->roots));
	memset(net->lists.start, 0xff, ((size_t)nodes + 1) * sizeof *net->lists.start);
}

void net_free(struct net *net)
{
	free(net->lists.start);
	free(net->lists.targets);
	free(net->roots);
}

void net_root(struct net *net, uint32_t node)
{
	net->roots[net->root_count++] = node;
}

/* References of one node after another, whose lists may lie in any order. */
void refer(struct net *net, uint32_t from, uint32_t to)
{
	uint32_t *start = &net->lists.start[from];
	if (net->used == net->room)
		abort();
	if (*start == LIST_NONE)
		*start = (uint32_t)net->used;
	else
		net->lists.targets[net->used - 1] &= ~LIST_LAST;
	net->lists.targets[net->used++] = to | LIST_LAST;
}

/* --- what is found --- */

struct store memory_store(void)
{
	return (struct store){ .limit = UINT64_MAX };
}

/* Nothing fits in memory: all arrays lie in files. */
struct store file_store(void)
{
	return (struct store){ .limit = 1 };
}

int try_to_find(struct dominators *d, const struct net *net, struct store *store, const _Atomic bool *cancel)
{
	int rc = dominators_open(d, &net->lists, store, cancel);
	for (size_t i = 0; i < net->root_count && !rc; i++)
		rc = dominators_root(d, net->roots[i]);
	return rc ? rc : dominators_solve(d);
}

void find(struct dominators *d, const struct net *net, struct store *store)
{
	const int rc = try_to_find(d, net, store, NULL);
	if (rc)
		fail_msg("finding dominators: %s", strerror(rc));
}

void finish(struct dominators *d, struct store *store)
{
	dominators_close(d);
	assert_int_equal(store->used, 0);
	assert_int_equal(store->in_files, 0);
	assert_int_equal(store->file_count, 0);
	store_close(store);
}

void find_and_close(struct dominators *d, const struct net *net, int expected, const _Atomic bool *cancel)
{
	struct store store = memory_store();
	const int rc = try_to_find(d, net, &store, cancel);
	finish(d, &store);
	assert_int_equal(rc, expected);
}

uint32_t dominator_of(const struct dominators *d, uint32_t node)
{
	const uint32_t number = d->order[node];
	if (!number || number > d->strong)
		return LOST;
	return d->idom[number] ? d->vertex[d->idom[number]] : ABOVE;
}

/* Numbers and nodes are each other's inverse, and a dominator's number is the lower one. */
void check_numbers(const struct dominators *d, uint32_t count, uint64_t seed)
{
	uint32_t numbered = 0;
	for (uint32_t node = 0; node < count; node++) {
		if (d->order[node] > d->reached || (d->order[node] && d->vertex[d->order[node]] != node))
			fail_msg("seed %" PRIu64 ": node %u has number %u, of %u", seed, node, d->order[node], d->reached);
		numbered += d->order[node] > 0;
	}
	if (numbered != d->reached || d->strong > d->reached)
		fail_msg("seed %" PRIu64 ": %u nodes have numbers, not %u; %u are strong", seed, numbered, d->reached, d->strong);
	for (uint32_t number = 1; number <= d->strong; number++)
		if (d->idom[number] >= number)
			fail_msg("seed %" PRIu64 ": number %u is dominated by %u", seed, number, d->idom[number]);
}
