/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/dominators.h"

#include <errno.h>
#include <stdlib.h>

/* --- references against the order of the search --- */

struct arc {
	uint32_t to, from;	/* numbers in the search; from > to */
};

#define ARCS_EACH (UINT32_C(1) << 19)
struct arc_block {
	struct arc_block *next;
	uint32_t count;
	struct arc *arcs;
};

static int keep_arc(struct dominators *d, uint32_t to, uint32_t from)
{
	struct arc_block *block = d->arcs;
	if (!block || block->count == ARCS_EACH) {
		block = malloc(sizeof *block);
		struct arc *arcs = block ? store_get(d->store, ARCS_EACH, sizeof *arcs) : NULL;
		if (!arcs) {
			free(block);
			return ENOMEM;
		}
		*block = (struct arc_block){ d->arcs, 0, arcs };
		d->arcs = block;
	}
	block->arcs[block->count++] = (struct arc){ to, from };
	d->arcs_in[to]++;
	return 0;
}

static void free_arcs(struct dominators *d)
{
	while (d->arcs) {
		struct arc_block *block = d->arcs;
		d->arcs = block->next;
		store_put(d->store, block->arcs, ARCS_EACH, sizeof *block->arcs);
		free(block);
	}
}

/* --- the search --- */

struct frame {
	uint32_t position;	/* in the lists: the reference to follow next */
	uint32_t number;	/* of the node whose list it is */
};

#define AHEAD 8

static int push(struct dominators *d, uint32_t node, uint32_t number)
{
	if (d->lists->start[node] == LIST_NONE)
		return 0;
	if (d->frame_count == d->frame_capacity) {
		const size_t wanted = d->frame_capacity ? d->frame_capacity * 2 : 4096;
		struct frame *frames = reallocarray(d->frames, wanted, sizeof *frames);
		if (!frames)
			return ENOMEM;
		d->frames = frames;
		d->frame_capacity = wanted;
	}
	d->frames[d->frame_count++] = (struct frame){ d->lists->start[node], number };
	/* What the search will touch next lies anywhere: it is brought near for the whole list at once. */
	const uint32_t *target = &d->lists->targets[d->lists->start[node]];
	for (unsigned i = 0; i < AHEAD; i++) {
		__builtin_prefetch(&d->order[target[i] & ~LIST_LAST]);
		__builtin_prefetch(&d->lists->start[target[i] & ~LIST_LAST]);
		if (target[i] & LIST_LAST)
			break;
	}
	return 0;
}

/* Brings a node's list near, which is looked at once the search is through with the node before. */
static void prefetch_list(const struct dominators *d, uint32_t node)
{
	const uint32_t start = d->lists->start[node];
	if (start != LIST_NONE)
		__builtin_prefetch(&d->lists->targets[start]);
}

/* How often it is asked whether to go on. */
#define CANCEL_STEPS (UINT32_C(1) << 16)

static bool cancelled(const struct dominators *d, uint32_t step)
{
	return !(step & (CANCEL_STEPS - 1)) && d->cancel && atomic_load_explicit(d->cancel, memory_order_relaxed);
}

/* Gives a node the next number. */
static void number(struct dominators *d, uint32_t node, uint32_t parent, bool strong)
{
	d->order[node] = ++d->reached;
	if (strong) /* so far */
		d->idom[d->reached] = d->semi[d->reached] = parent;
	else
		d->vertex[d->reached] = node;
}

/* Numbers all that `root` leads to and that was not reached before. */
static int search(struct dominators *d, uint32_t root, bool strong)
{
	const uint32_t *targets = d->lists->targets;
	uint32_t step = 0;
	number(d, root, 0, strong);
	int rc = push(d, root, d->reached);
	while (!rc && d->frame_count) {
		struct frame *frame = &d->frames[d->frame_count - 1];
		const uint32_t from = frame->number, target = targets[frame->position++], node = target & ~LIST_LAST;
		const uint32_t known = d->order[node];
		/* Of a list's last one nothing is left to come back to: so a long chain needs no long stack. */
		if (target & LIST_LAST)
			d->frame_count--;
		else
			prefetch_list(d, targets[frame->position] & ~LIST_LAST);
		if (!known) {
			number(d, node, from, strong);
			rc = push(d, node, d->reached);
		} else if (strong && known > from) {
			d->semi[known] = from < d->semi[known] ? from : d->semi[known];
		} else if (strong && known < from) {
			rc = keep_arc(d, known, from);
		}
		if (cancelled(d, ++step))
			rc = ECANCELED;
	}
	return rc;
}

int dominators_root(struct dominators *d, uint32_t node)
{
	const uint32_t known = d->order[node];
	int rc = 0;
	if (known)
		d->semi[known] = 0; /* from another root; no matter what else leads to it */
	else
		rc = search(d, node, true);
	d->strong = d->reached;
	return rc;
}

int dominators_reach(struct dominators *d, uint32_t node)
{
	return d->order[node] ? 0 : search(d, node, false);
}

/* --- Semi-NCA --- */

struct solving {
	uint32_t *ancestor;	/* in the forest of what was looked at; compressed */
	uint32_t *label;	/* the least semidominator on the way there */
	uint32_t *path;
	size_t path_capacity;
};

/* The least semidominator between `v` and the root of its tree in the forest, whose nodes are from `last` on. */
static int evaluate(struct solving *s, uint32_t v, uint32_t last, uint32_t *least)
{
	size_t depth = 0;
	uint32_t at = v;
	while (s->ancestor[at] >= last) {
		if (depth == s->path_capacity) {
			const size_t wanted = depth ? depth * 2 : 4096;
			uint32_t *path = reallocarray(s->path, wanted, sizeof *path);
			if (!path)
				return ENOMEM;
			s->path = path;
			s->path_capacity = wanted;
		}
		s->path[depth++] = at;
		at = s->ancestor[at];
	}
	/* `at` is the root. Those below it, from the top on, now know the least and lead to where it leads. */
	for (uint32_t above = at; depth; above = s->path[depth]) {
		at = s->path[--depth];
		s->ancestor[at] = s->ancestor[above];
		if (s->label[above] < s->label[at])
			s->label[at] = s->label[above];
	}
	*least = s->label[v];
	return 0;
}

/* Lists of the numbers that refer to each number with a higher one; list n ends where n + 1 begins. */
static uint32_t *sort_arcs(struct dominators *d, uint64_t *count)
{
	uint64_t total = 0;
	for (uint32_t n = 1; n <= d->strong; n++) {
		const uint32_t in = d->arcs_in[n];
		d->arcs_in[n] = (uint32_t)total;
		total += in;
	}
	*count = total + 1;
	uint32_t *from = store_get(d->store, total + 1, sizeof *from);
	for (const struct arc_block *block = d->arcs; from && block; block = block->next)
		for (uint32_t i = 0; i < block->count; i++)
			from[d->arcs_in[block->arcs[i].to]++] = block->arcs[i].from;
	free_arcs(d);
	return from; /* arcs_in[n] is now where list n ends, and so n + 1 begins */
}

static int find_semidominators(struct dominators *d, struct solving *s, const uint32_t *from)
{
	for (uint32_t w = d->strong; w; w--) {
		uint32_t semi = d->semi[w];
		const uint32_t begin = w > 1 ? d->arcs_in[w - 1] : 0;
		for (uint32_t i = begin; i < d->arcs_in[w]; i++) {
			uint32_t least;
			if (evaluate(s, from[i], w + 1, &least))
				return ENOMEM;
			semi = least < semi ? least : semi;
		}
		d->semi[w] = s->label[w] = semi;
		s->ancestor[w] = d->idom[w];
		if (cancelled(d, w))
			return ECANCELED;
	}
	return 0;
}

/* The dominator is the parent's nearest ancestor in the tree of dominators whose number is not above the semidominator. */
static void find_ancestors(struct dominators *d, uint32_t *jump, uint32_t *depth)
{
	jump[0] = depth[0] = 0;
	for (uint32_t w = 1; w <= d->strong; w++) {
		uint32_t x = d->idom[w];
		while (x > d->semi[w])
			x = jump[x] > d->semi[w] ? jump[x] : d->idom[x];
		d->idom[w] = x;
		depth[w] = depth[x] + 1;
		jump[w] = depth[x] - depth[jump[x]] == depth[jump[x]] - depth[jump[jump[x]]] ? jump[jump[x]] : x;
	}
}

static int solve(struct dominators *d)
{
	const uint64_t n = (uint64_t)d->strong + 1, all = (uint64_t)d->lists->count + 1;
	uint64_t arcs;
	uint32_t *from = sort_arcs(d, &arcs);
	struct solving s = { .ancestor = store_get(d->store, n, sizeof *s.ancestor),
			     .label = store_get(d->store, n, sizeof *s.label) };
	int rc = from && s.ancestor && s.label ? find_semidominators(d, &s, from) : ENOMEM;
	store_put(d->store, from, arcs, sizeof *from);
	store_put(d->store, d->arcs_in, all, sizeof *d->arcs_in);
	d->arcs_in = NULL;
	if (!rc)
		find_ancestors(d, s.ancestor, s.label);
	store_put(d->store, s.ancestor, n, sizeof *s.ancestor);
	store_put(d->store, s.label, n, sizeof *s.label);
	store_put(d->store, d->semi, all, sizeof *d->semi);
	d->semi = NULL;
	free(s.path);
	return rc;
}

/* The nodes by number: of those that are strong, all at once, since the search needs the memory for more. */
static int list_vertices(struct dominators *d)
{
	d->vertex = store_get(d->store, (uint64_t)d->lists->count + 1, sizeof *d->vertex);
	if (!d->vertex)
		return ENOMEM;
	for (uint32_t node = 0; node < d->lists->count; node++)
		d->vertex[d->order[node]] = node;
	d->vertex[0] = LIST_NONE;
	return 0;
}

int dominators_open(struct dominators *d, const struct forward *lists, struct store *store, const _Atomic bool *cancel)
{
	const uint64_t all = (uint64_t)lists->count + 1;
	*d = (struct dominators){ .store = store, .lists = lists, .cancel = cancel };
	d->order = store_get(store, all, sizeof *d->order);
	d->idom = store_get(store, all, sizeof *d->idom);
	d->semi = store_get(store, all, sizeof *d->semi);
	d->arcs_in = store_get(store, all, sizeof *d->arcs_in);
	return d->order && d->idom && d->semi && d->arcs_in ? 0 : ENOMEM;
}

int dominators_solve(struct dominators *d)
{
	const int rc = solve(d);
	return rc ? rc : list_vertices(d);
}

void dominators_close(struct dominators *d)
{
	if (!d->store)
		return;
	const uint64_t all = (uint64_t)d->lists->count + 1;
	free_arcs(d);
	free(d->frames);
	store_put(d->store, d->order, all, sizeof *d->order);
	store_put(d->store, d->vertex, all, sizeof *d->vertex);
	store_put(d->store, d->idom, all, sizeof *d->idom);
	store_put(d->store, d->semi, all, sizeof *d->semi);
	store_put(d->store, d->arcs_in, all, sizeof *d->arcs_in);
	*d = (struct dominators){ .store = NULL };
}
