/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dominators of lists made here, without any dump, node by node against what follows from the definition: x dominates y if y
 * is not reached once x is taken out.
 */
#include "nets.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- what is true --- */

struct truth {
	uint32_t count;
	uint8_t *dominates;	/* [x * count + y] */
	uint32_t *dominators;	/* how many dominate it, itself not among them */
	uint8_t *reached;
	uint32_t *stack;
};

/* Marks what the roots reach without passing `out`; how many that are. */
static uint32_t flood(const struct net *net, uint32_t out, const uint32_t *roots, size_t root_count, uint8_t *reached,
		      uint32_t *stack)
{
	const struct forward *lists = &net->lists;
	uint32_t depth = 0, count = 0;
	for (size_t i = 0; i < root_count; i++)
		if (roots[i] != out && !reached[roots[i]]) {
			reached[roots[i]] = 1;
			stack[depth++] = roots[i];
		}
	while (depth) {
		uint32_t at = lists->start[stack[--depth]];
		count++;
		for (bool more = at != LIST_NONE; more; at++) {
			const uint32_t to = lists->targets[at] & ~LIST_LAST;
			more = !(lists->targets[at] & LIST_LAST);
			if (to == out || reached[to])
				continue;
			reached[to] = 1;
			stack[depth++] = to;
		}
	}
	return count;
}

static void truth_make(struct truth *truth, const struct net *net)
{
	const uint32_t count = net->lists.count;
	*truth = (struct truth){ .count = count };
	truth->dominates = must(calloc((size_t)count * count + 1, 1));
	truth->dominators = must(calloc((size_t)count + 1, sizeof *truth->dominators));
	truth->reached = must(calloc((size_t)count + 1, 1));
	truth->stack = must(malloc(((size_t)count + 1) * sizeof *truth->stack));
	flood(net, LOST, net->roots, net->root_count, truth->reached, truth->stack);
	for (uint32_t x = 0; x < count; x++) {
		uint8_t *row = &truth->dominates[(size_t)x * count];
		if (!truth->reached[x])
			continue;
		flood(net, x, net->roots, net->root_count, row, truth->stack);
		for (uint32_t y = 0; y < count; y++) {
			row[y] = truth->reached[y] && !row[y] && x != y;
			truth->dominators[y] += row[y];
		}
	}
}

static void truth_free(struct truth *truth)
{
	free(truth->dominates);
	free(truth->dominators);
	free(truth->reached);
	free(truth->stack);
}

/* The dominator that all others dominate. */
static uint32_t immediate(const struct truth *truth, uint32_t y)
{
	uint32_t found = ABOVE;
	if (!truth->reached[y])
		return LOST;
	for (uint32_t x = 0; x < truth->count; x++) {
		if (!truth->dominates[(size_t)x * truth->count + y])
			continue;
		bool last = true;
		for (uint32_t z = 0; z < truth->count && last; z++)
			last = z == x || !truth->dominates[(size_t)z * truth->count + y] ||
			       truth->dominates[(size_t)z * truth->count + x];
		/* They form a chain, so there is one; what is wrong here is the oracle. */
		if (last && found != ABOVE)
			abort();
		found = last ? x : found;
	}
	return found;
}

/* Reaches some of what is left, and then all. What was found before stays as it is. */
static void check_rest(struct dominators *d, const struct net *net, struct truth *truth, uint64_t seed)
{
	const uint32_t count = net->lists.count, strong = d->strong;
	uint32_t *before = must(malloc(((size_t)strong + 1) * sizeof *before)), reached = strong;
	memcpy(before, d->idom, ((size_t)strong + 1) * sizeof *before);
	for (uint32_t i = 0; i < 2 * count; i++) {
		const uint32_t node = i < count ? next_random(count) : i - count;
		if (i < count && next_random(4))
			continue;
		flood(net, LOST, &node, 1, truth->reached, truth->stack);
		assert_int_equal(dominators_reach(d, node), 0);
		for (uint32_t y = reached = 0; y < count; y++)
			reached += truth->reached[y];
		if (d->reached != reached)
			fail_msg("seed %" PRIu64 ": %u reached with node %u, not %u", seed, d->reached, node, reached);
		for (uint32_t y = 0; y < count; y++)
			if (truth->reached[y] != (d->order[y] > 0))
				fail_msg("seed %" PRIu64 ": node %u reached with node %u", seed, y, node);
	}
	assert_int_equal(d->strong, strong);
	assert_int_equal(d->reached, count);
	assert_memory_equal(before, d->idom, ((size_t)strong + 1) * sizeof *before);
	check_numbers(d, count, seed);
	free(before);
}

static void check_net(const struct net *net, struct store store, uint64_t seed)
{
	const bool in_files = store.limit == 1;
	struct truth truth;
	struct dominators d;
	uint32_t strong = 0;
	truth_make(&truth, net);
	find(&d, net, &store);
	check_numbers(&d, net->lists.count, seed);
	for (uint32_t node = 0; node < net->lists.count; node++) {
		strong += truth.reached[node];
		if (dominator_of(&d, node) != immediate(&truth, node))
			fail_msg("seed %" PRIu64 ": node %u of %u is dominated by %u, not %u", seed, node, net->lists.count,
				 dominator_of(&d, node), immediate(&truth, node));
	}
	assert_int_equal(d.strong, strong);
	assert_int_equal(d.reached, strong);
	assert_int_equal(store.in_files, in_files ? store.used : 0);
	check_rest(&d, net, &truth, seed);
	finish(&d, &store);
	truth_free(&truth);
}

/* --- graphs at random --- */

/* Lists in random order, some empty, with references to themselves and more than once to the same. */
static void random_net(struct net *net, uint32_t nodes, uint32_t most, uint32_t roots)
{
	uint32_t *order = must(malloc((size_t)nodes * sizeof *order));
	net_init(net, nodes, (size_t)nodes * most, roots);
	for (uint32_t i = 0; i < nodes; i++) {
		const uint32_t j = next_random(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	/* References mostly go near: so that deep trees come about, and not only shallow ones. */
	const uint32_t near = 1 + next_random(nodes);
	for (uint32_t i = 0; i < nodes; i++) {
		const uint32_t from = order[i], count = next_random(most + 1);
		uint32_t to = next_random(nodes);
		for (uint32_t j = 0; j < count; j++) {
			if (next_random(8))
				to = next_random(6) ? (from + next_random(near)) % nodes : next_random(nodes);
			refer(net, from, to);
		}
	}
	for (uint32_t i = 0; i < roots; i++)
		net_root(net, next_random(nodes));
	free(order);
}

static void small(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6000; seed++) {
		struct net net;
		random_state = seed;
		const uint32_t nodes = 1 + next_random(seed % 3 ? 12 : 60), most = 1 + next_random(seed % 7 ? 4 : nodes);
		random_net(&net, nodes, most, next_random(4));
		check_net(&net, seed % 32 ? memory_store() : file_store(), seed);
		net_free(&net);
	}
}

static void medium(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct net net;
		random_state = seed * 1000003;
		random_net(&net, 300 + next_random(701), 2 + next_random(3), 1 + next_random(3));
		check_net(&net, seed % 8 ? memory_store() : file_store(), seed * 1000003);
		net_free(&net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small),
		cmocka_unit_test(medium),
	};
	return cmocka_run_group_tests_name("dominators", tests, NULL, NULL);
}
