/* SPDX-License-Identifier: Apache-2.0 */
/* Dominators of shapes whose answer is known, also of a million nodes; and what ends it: cancelling, no room. */
#include "nets.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MILLION UINT32_C(1000000)

/* --- shapes --- */

/* What a test expects of all nodes, in their order. */
static void check_shape(struct net *net, const uint32_t *expected)
{
	struct store store = memory_store();
	struct dominators d;
	find(&d, net, &store);
	for (uint32_t node = 0; node < net->lists.count; node++)
		assert_int_equal(dominator_of(&d, node), expected[node]);
	finish(&d, &store);
	net_free(net);
}

static void diamond(void **state)
{
	struct net net;
	(void)state;
	/* 0 leads to 1 and 2, both to 3, that to 4; nothing to 5. */
	net_init(&net, 6, 6, 1);
	refer(&net, 0, 1);
	refer(&net, 0, 2);
	refer(&net, 1, 3);
	refer(&net, 2, 3);
	refer(&net, 3, 4);
	refer(&net, 5, 3);
	net_root(&net, 0);
	check_shape(&net, (const uint32_t[]){ ABOVE, 0, 0, 0, 3, LOST });
}

/* Each of two roots leads to the other; one stands twice. What both lead to is dominated by neither. */
static void two_roots(void **state)
{
	struct net net;
	(void)state;
	net_init(&net, 4, 5, 3);
	refer(&net, 0, 2);
	refer(&net, 0, 1);
	refer(&net, 1, 0);
	refer(&net, 1, 2);
	refer(&net, 2, 3);
	net_root(&net, 0);
	net_root(&net, 1);
	net_root(&net, 1);
	check_shape(&net, (const uint32_t[]){ ABOVE, ABOVE, ABOVE, 2 });
}

/* The graph that Lengauer and Tarjan's article has as its example: R, A … L. */
static void lengauer_tarjan(void **state)
{
	enum { R, A, B, C, D, E, F, G, H, I, J, K, L, COUNT };
	static const uint8_t references[][2] = { { R, A }, { R, B }, { R, C }, { A, D }, { B, A }, { B, D }, { B, E },
						 { C, F }, { C, G }, { D, L }, { E, H }, { F, I }, { G, I }, { G, J },
						 { H, E }, { H, K }, { I, K }, { J, I }, { K, I }, { K, R }, { L, H } };
	struct net net;
	(void)state;
	net_init(&net, COUNT, sizeof references / sizeof *references, 1);
	for (size_t i = 0; i < sizeof references / sizeof *references; i++)
		refer(&net, references[i][0], references[i][1]);
	net_root(&net, R);
	check_shape(&net, (const uint32_t[]){ ABOVE, R, R, R, R, R, C, C, R, R, G, R, D });
}

static void nothing(void **state)
{
	struct net net;
	struct dominators d;
	struct store store = memory_store();
	(void)state;
	/* No node. */
	net_init(&net, 0, 0, 0);
	find(&d, &net, &store);
	assert_int_equal(d.strong, 0);
	assert_int_equal(d.reached, 0);
	finish(&d, &store);
	net_free(&net);
	/* No root: nothing is strong, and what is reached afterwards has no dominator. */
	store = memory_store();
	net_init(&net, 3, 2, 0);
	refer(&net, 0, 1);
	refer(&net, 1, 0);
	find(&d, &net, &store);
	assert_int_equal(d.strong, 0);
	assert_int_equal(dominators_reach(&d, 1), 0);
	assert_int_equal(d.strong, 0);
	assert_int_equal(d.reached, 2);
	assert_int_equal(d.order[1], 1);
	assert_int_equal(d.order[0], 2);
	assert_int_equal(d.order[2], 0);
	assert_int_equal(d.vertex[1], 1);
	assert_int_equal(d.vertex[2], 0);
	finish(&d, &store);
	/* What was never opened, or is closed, can be closed. */
	dominators_close(&d);
	net_free(&net);
}

/* --- long ones --- */

/* A chain of nodes from 0 on: each dominates the next. */
static void check_chain(struct net *net, struct store store)
{
	const uint32_t count = net->lists.count;
	struct dominators d;
	net_root(net, 0);
	find(&d, net, &store);
	assert_int_equal(d.strong, count);
	for (uint32_t node = 0; node < count; node++)
		if (dominator_of(&d, node) != (node ? node - 1 : ABOVE))
			fail_msg("node %u is dominated by %u", node, dominator_of(&d, node));
	finish(&d, &store);
	net_free(net);
}

static void chain(void **state)
{
	struct net net;
	(void)state;
	net_init(&net, MILLION, MILLION, 1);
	for (uint32_t i = 0; i + 1 < MILLION; i++)
		refer(&net, i, i + 1);
	check_chain(&net, memory_store());
}

/* The chain's reference is not the last of its list, so that something is left to come back to everywhere. */
static void chain_with_stack(void **state)
{
	(void)state;
	for (unsigned in_files = 0; in_files < 2; in_files++) {
		const uint32_t count = in_files ? MILLION / 10 : MILLION;
		struct net net;
		net_init(&net, count, 2 * (size_t)count, 1);
		for (uint32_t i = 0; i < count; i++) {
			if (i + 1 < count)
				refer(&net, i, i + 1);
			refer(&net, i, 0);
		}
		check_chain(&net, in_files ? file_store() : memory_store());
	}
}

/* A list linked both ways, in either order of its fields; its nodes' lists lie from the end to the beginning, too. */
static void doubly_linked(void **state)
{
	(void)state;
	for (unsigned order = 0; order < 4; order++) {
		struct net net;
		net_init(&net, MILLION, 2 * (size_t)MILLION, 1);
		for (uint32_t n = 0; n < MILLION; n++) {
			const uint32_t i = order & 2 ? MILLION - 1 - n : n;
			if (i && order & 1)
				refer(&net, i, i - 1);
			if (i + 1 < MILLION)
				refer(&net, i, i + 1);
			if (i && !(order & 1))
				refer(&net, i, i - 1);
		}
		check_chain(&net, memory_store());
	}
}

/* A million nodes refer to one, and it to all of them. */
static void hub(void **state)
{
	struct store store = memory_store();
	struct net net;
	struct dominators d;
	const uint32_t centre = MILLION + 1;
	(void)state;
	net_init(&net, MILLION + 2, 3 * (size_t)MILLION, 1);
	for (uint32_t i = 1; i <= MILLION; i++)
		refer(&net, 0, i);
	for (uint32_t i = 1; i <= MILLION; i++)
		refer(&net, i, centre);
	for (uint32_t i = 1; i <= MILLION; i++)
		refer(&net, centre, i);
	net_root(&net, 0);
	find(&d, &net, &store);
	assert_int_equal(d.strong, net.lists.count);
	for (uint32_t node = 1; node < net.lists.count; node++)
		if (dominator_of(&d, node) != 0)
			fail_msg("node %u is dominated by %u", node, dominator_of(&d, node));
	finish(&d, &store);
	net_free(&net);
}

/* A million roots that nothing else leads to, and a node that all refer to. */
static void many_roots(void **state)
{
	struct store store = memory_store();
	struct net net;
	struct dominators d;
	(void)state;
	net_init(&net, MILLION + 1, MILLION, MILLION);
	for (uint32_t i = 1; i <= MILLION; i++) {
		refer(&net, i, 0);
		net_root(&net, i);
	}
	find(&d, &net, &store);
	assert_int_equal(d.strong, net.lists.count);
	for (uint32_t node = 0; node < net.lists.count; node++)
		if (dominator_of(&d, node) != ABOVE)
			fail_msg("node %u is dominated by %u", node, dominator_of(&d, node));
	finish(&d, &store);
	net_free(&net);
}

/*
 * Semi-NCA's worst case (Georgiadis): a long chain, whose end leads to many nodes that the root leads to, too. Each of
 * these has to find its way from the chain's end to its beginning.
 */
static void long_way_up(void **state)
{
	const uint32_t length = MILLION / 2;
	struct store store = memory_store();
	struct net net;
	struct dominators d;
	(void)state;
	net_init(&net, 2 * length, 4 * (size_t)length, 1);
	for (uint32_t i = 1; i + 1 < length; i++)
		refer(&net, i, i + 1);
	for (uint32_t i = 0; i < length; i++)
		refer(&net, length - 1, length + i);
	/* The chain first, so that the search finds all others at its end. */
	refer(&net, 0, 1);
	for (uint32_t i = 0; i < length; i++)
		refer(&net, 0, length + i);
	net_root(&net, 0);
	find(&d, &net, &store);
	for (uint32_t node = 0; node < net.lists.count; node++) {
		const uint32_t expected = !node ? ABOVE : node < length ? node - 1 : 0;
		if (dominator_of(&d, node) != expected)
			fail_msg("node %u is dominated by %u, not %u", node, dominator_of(&d, node), expected);
	}
	finish(&d, &store);
	net_free(&net);
}

/* The same with ways of all lengths: node i of those below also has a reference from the chain's node i. */
static void all_ways_up(void **state)
{
	const uint32_t length = MILLION / 2;
	struct store store = memory_store();
	struct net net;
	struct dominators d;
	(void)state;
	net_init(&net, 2 * length, 4 * (size_t)length, 1);
	for (uint32_t i = 0; i < length; i++) {
		if (i + 1 < length)
			refer(&net, i, i + 1);
		for (uint32_t j = 0; i + 1 == length && j < length - 1; j++)
			refer(&net, i, length + (uint32_t)(j * UINT64_C(7919) % length));
		refer(&net, i, length + i);
	}
	net_root(&net, 0);
	find(&d, &net, &store);
	for (uint32_t node = 1; node < net.lists.count; node++) {
		const uint32_t expected = node < length ? node - 1 : node - length;
		if (dominator_of(&d, node) != expected)
			fail_msg("node %u is dominated by %u, not %u", node, dominator_of(&d, node), expected);
	}
	finish(&d, &store);
	net_free(&net);
}

/* A chain whose nodes lead back a long way: to half their number, to a random one, a power of two behind. */
static void long_back(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct net net;
		random_state = kind;
		net_init(&net, MILLION, 2 * (size_t)MILLION, 1);
		for (uint32_t i = 0; i < MILLION; i++) {
			const uint32_t power = i ? UINT32_C(1) << (31 - __builtin_clz(i)) : 0;
			const uint32_t back[] = { i / 2, next_random((uint64_t)i + 1), i - power, MILLION / 2 };
			if (i + 1 < MILLION)
				refer(&net, i, i + 1);
			/* The last kind: from the second half to its own middle, where all of them look upwards. */
			refer(&net, i, kind == 3 && i < back[3] ? i : back[kind]);
		}
		check_chain(&net, memory_store());
	}
}

/* Two rails with rungs in both directions: any node can be passed by on the other rail, so nothing dominates any. */
static void ladder(void **state)
{
	struct store store = memory_store();
	struct net net;
	struct dominators d;
	(void)state;
	net_init(&net, MILLION, 2 * (size_t)MILLION, 2);
	for (uint32_t i = 0; i < MILLION; i++) {
		if (i + 2 < MILLION)
			refer(&net, i, i + 2);
		refer(&net, i, i ^ 1);
	}
	net_root(&net, 0);
	net_root(&net, 1);
	find(&d, &net, &store);
	assert_int_equal(d.strong, MILLION);
	for (uint32_t node = 0; node < MILLION; node++)
		if (dominator_of(&d, node) != ABOVE)
			fail_msg("node %u is dominated by %u", node, dominator_of(&d, node));
	finish(&d, &store);
	net_free(&net);
}

/* Bad for path compression: a binomial tree, with references from the deepest nodes of its parts. No answer is known, but
   it ends, and dominators lie above. */
static void binomial(void **state)
{
	const uint32_t count = UINT32_C(1) << 19;
	struct store store = memory_store();
	struct net net;
	struct dominators d;
	(void)state;
	net_init(&net, count, 3 * (size_t)count, 1);
	for (uint32_t i = 0; i < count; i++) {
		/* The tree: i's parent is i without its lowest bit set. Children with few bits first. */
		for (uint32_t bit = i ? (i & -i) >> 1 : count >> 1; bit; bit >>= 1)
			refer(&net, i, i | bit);
		const uint32_t deepest = i | ((i & -i) - 1);
		refer(&net, i, i ? deepest ^ (i & -i) : 0);
		refer(&net, i, (uint32_t)(i * UINT64_C(7919) % count));
	}
	net_root(&net, 0);
	find(&d, &net, &store);
	assert_int_equal(d.strong, count);
	check_numbers(&d, count, 0);
	finish(&d, &store);
	net_free(&net);
}

/* --- the end of it --- */

static void cancelling(void **state)
{
	static const _Atomic bool yes = true, no = false;
	_Atomic bool cancel = false;
	struct store store = memory_store();
	struct dominators d;
	struct net net;
	(void)state;
	/* In the search. */
	net_init(&net, MILLION, MILLION, MILLION);
	for (uint32_t i = 0; i + 1 < MILLION; i++)
		refer(&net, i, i + 1);
	net_root(&net, 0);
	find_and_close(&d, &net, ECANCELED, &yes);
	find_and_close(&d, &net, 0, &no);
	/* In what is reached afterwards. */
	net.root_count = 0;
	assert_int_equal(try_to_find(&d, &net, &store, &cancel), 0);
	atomic_store(&cancel, true);
	assert_int_equal(dominators_reach(&d, 0), ECANCELED);
	finish(&d, &store);
	net_free(&net);
	/* Many roots and no reference: it is seen when semidominators are found, if not before. */
	net_init(&net, MILLION, 0, MILLION);
	for (uint32_t i = 0; i < MILLION; i++)
		net_root(&net, i);
	find_and_close(&d, &net, ECANCELED, &yes);
	net_free(&net);
}

/* Without room for files there is no memory, wherever it ends, and nothing is lost. */
static void no_room(void **state)
{
	const uint32_t count = 2000;
	struct net net;
	unsigned failed = 0;
	(void)state;
	net_init(&net, count, 2 * (size_t)count, 1);
	for (uint32_t i = 0; i < count; i++) {
		refer(&net, i, i + 1 < count ? i + 1 : 0);
		refer(&net, i, i / 2);
	}
	net_root(&net, 0);
	for (uint64_t limit = 0; limit < UINT64_C(1) << 23; limit += limit < 1 << 18 ? 4096 : 1 << 20) {
		struct store store = { .limit = limit, .folder = "/nonexistent" };
		struct dominators d;
		const int rc = try_to_find(&d, &net, &store, NULL);
		if (rc)
			assert_int_equal(rc, ENOMEM);
		else
			assert_int_equal(d.strong, count);
		failed += rc != 0;
		finish(&d, &store);
	}
	assert_in_range(failed, 10, 69);
	net_free(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(diamond),
		cmocka_unit_test(two_roots),
		cmocka_unit_test(lengauer_tarjan),
		cmocka_unit_test(nothing),
		cmocka_unit_test(chain),
		cmocka_unit_test(chain_with_stack),
		cmocka_unit_test(doubly_linked),
		cmocka_unit_test(hub),
		cmocka_unit_test(many_roots),
		cmocka_unit_test(long_way_up),
		cmocka_unit_test(all_ways_up),
		cmocka_unit_test(long_back),
		cmocka_unit_test(ladder),
		cmocka_unit_test(binomial),
		cmocka_unit_test(cancelling),
		cmocka_unit_test(no_room),
	};
	return cmocka_run_group_tests_name("dominators of shapes", tests, NULL, NULL);
}
