/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers: from an object's id to a small number, and back.
 *
 * The graph's nodes are the dump's objects and class objects. Their ids are addresses, so a bitmap over the addresses
 * with a count now and then tells how many nodes lie below an id: its number. A line of 64 bytes holds the bits of
 * 192 addresses; a number costs one cache line, some 2.7 bytes an object of 64 bytes are kept. (Binary search in a sorted
 * table was six times slower and took 4 bytes; the sparse index with its walk forty times slower.)
 *
 * Leaves are objects whose class has no references and which exactly one reference leads to. Nothing about them needs
 * to be searched: what holds the referrer holds them. They are numbered behind the others, the core:
 *
 *     0 … core_count - 1              core
 *     core_count … count - 1          leaves
 *
 * Within both, numbers rise with ids. Ids that are not multiples of the usual 8 (parts of ART's class objects) are in
 * a sorted table; they are core, and numbered last in it.
 *
 * Made in two steps: numbers_open() finds which addresses there are; while a pass over the heap then sets marks, any
 * number of threads may; numbers_finish() tells leaves from core and counts.
 */
#ifndef HEAPFS_NUMBERS_H
#define HEAPFS_NUMBERS_H

#include "graph/store.h"
#include "heap/heap.h"

#define NODE_NONE UINT32_MAX
/* Core numbers have 31 bits: the highest is a mark in lists of references. */
#define CORE_MOST (UINT32_MAX >> 1)

#define LINE_WORDS 3
#define LINE_SLOTS (64 * LINE_WORDS)

struct line {
	/* While marking: the objects, and those whose class has no references. Then core and leaves. */
	_Alignas(64) _Atomic uint64_t core[LINE_WORDS];
	_Atomic uint64_t leaf[LINE_WORDS];
	/* How many lie in the lines before, and in the words of this one before each; not set in an empty line. */
	uint32_t core_rank, leaf_rank;
	uint8_t core_in[LINE_WORDS], leaf_in[LINE_WORDS];
};

/* References that lead to 64 slots: to which at least one, at least two. */
struct marks {
	_Atomic uint64_t once, twice;
};

struct numbers {
	struct store *store;
	unsigned shift;		/* ids are multiples of 1 << shift, but for the odd ones */
	/* Stretches of addresses with no large hole inside. */
	struct region {
		uint64_t first, bytes;	/* id; first is a multiple of 1 << shift */
		uint64_t slot;		/* of `first`; begins a line */
	} *regions;
	size_t region_count;
	struct line *lines;
	uint64_t line_count;
	struct marks *marks;	/* while marking; one for each word of the lines */
	uint64_t *odd;		/* sorted */
	size_t odd_count;
	bool odd_collided;	/* one of them stands more than once */
	uint32_t line_core, core_count, count;
};

/* 0, ENOMEM, or EIO where the dump is not what it was. */
int numbers_open(struct numbers *numbers, const struct heap *heap, struct store *store);
void numbers_close(struct numbers *numbers);

/* --- places: where what is known of an id is kept; found once, used several times --- */

/* The slot of an id, or where it is among the odd ones with PLACE_ODD set; PLACE_NONE if no object can have it. */
#define PLACE_ODD (UINT64_C(1) << 63)
#define PLACE_NONE UINT64_MAX

/* The place of an id that is in no slot. */
uint64_t odd_place(const struct numbers *numbers, uint64_t id);

/* `region` is where the last one was found, and so will be most of the next: one a thread, 0 at first. */
static inline uint64_t place_of_id(const struct numbers *numbers, uint64_t id, size_t *region)
{
	const struct region *in = &numbers->regions[*region];
	uint64_t at = id - in->first; /* wraps below the first */
	if (at >= in->bytes) {
		in = numbers->regions;
		for (size_t count = numbers->region_count; count > 1;) {
			const size_t half = count / 2;
			in = in[half].first <= id ? in + half : in;
			count -= half;
		}
		*region = (size_t)(in - numbers->regions);
		at = id - in->first;
	}
	if (at >= in->bytes || at & ((UINT64_C(1) << numbers->shift) - 1))
		return odd_place(numbers, id);
	return in->slot + (at >> numbers->shift);
}

/* How many bits are set. (The compiler's own is a call where the processor may lack the instruction.) */
static inline unsigned ones(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}

/* The number of the object at a place; NODE_NONE if there is none. */
static inline uint32_t number_at(const struct numbers *numbers, uint64_t place)
{
	if (place & PLACE_ODD)
		return place == PLACE_NONE ? NODE_NONE : numbers->line_core + (uint32_t)place;
	const struct line *line = &numbers->lines[place / LINE_SLOTS];
	const unsigned word = (unsigned)(place % LINE_SLOTS / 64);
	const uint64_t bit = UINT64_C(1) << place % 64;
	const uint64_t core = atomic_load_explicit(&line->core[word], memory_order_relaxed);
	const uint64_t leaf = atomic_load_explicit(&line->leaf[word], memory_order_relaxed);
	if (core & bit)
		return line->core_rank + line->core_in[word] + ones(core & (bit - 1));
	if (leaf & bit)
		return numbers->core_count + line->leaf_rank + line->leaf_in[word] + ones(leaf & (bit - 1));
	return NODE_NONE;
}

/* Brings near what number_at() and numbers_add(), or numbers_mark(), will touch. */
static inline void place_prefetch(const struct numbers *numbers, uint64_t place)
{
	if (!(place & PLACE_ODD))
		__builtin_prefetch(&numbers->lines[place / LINE_SLOTS]);
}

static inline void mark_prefetch(const struct numbers *numbers, uint64_t place)
{
	if (!(place & PLACE_ODD))
		__builtin_prefetch(&numbers->marks[place / 64], 1);
}

/*
 * There is an object at this place. Objects mostly come in the order of their ids: so each thread gathers those of one word
 * in `adding`, zero at first, and ends with numbers_flush(). `collided` is set if one was known already.
 */
struct adding {
	uint64_t word;		/* its number + 1 */
	uint64_t core, leaf;
	bool collided;
};
void numbers_add(struct numbers *numbers, struct adding *adding, uint64_t place, bool without_references);
void numbers_flush(struct numbers *numbers, struct adding *adding);
/* A reference leads to this place; `pinned`: it is never a leaf, however few do. False if no object can be there. */
bool numbers_mark(struct numbers *numbers, uint64_t place, bool pinned);
/* Forgets all that was added and marked. */
void numbers_clear(struct numbers *numbers);
/* 0, or E2BIG where there are more than CORE_MOST. */
int numbers_finish(struct numbers *numbers);

/* The number of the object with this id; NODE_NONE if there is none. */
uint32_t number_of(const struct numbers *numbers, uint64_t id);
/* The id of a node. */
uint64_t number_id(const struct numbers *numbers, uint32_t number);

#endif
