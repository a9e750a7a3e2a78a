/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums: what a profile's records add up to: by function, by library, by call stack, by mapping.  Made at first use
 * by one pass over the records and then kept: some 4.5 bytes a record, 52 for each distinct place in the merged tree
 * of stacks, 48 a function. Functions are told apart by library and name, never by address: what has no name is called
 * library!0xaddress. A record without a stack lies below the node "[no call stack]", so that all sums are the
 * records' own.  "Held" is what is not known to be freed: live records, and those of which a cut file does not
 * tell.
 */
#ifndef HEAPFS_SUMS_H
#define HEAPFS_SUMS_H

#include "loli/bits.h"
#include "loli/records.h"

/* A record. They are kept in as few bits as they need: see sums_entry(). */
struct loli_entry {
	uint32_t number;	/* in the file */
	uint32_t stack;		/* in loli_sums.stacks; while they are being built, the node where it ends */
	enum loli_state state;
};
#define LOLI_STATE_BITS 2
/* Of every so many records the place is kept. */
#define LOLI_RECORD_STEP 16

/* A file has fewer than 2^31 records. */
struct __attribute__((packed, aligned(4))) loli_sum {
	uint64_t bytes;
	uint32_t count;
};

static inline void loli_add(struct loli_sum *sum, uint64_t bytes, uint32_t count)
{
	sum->bytes += bytes;
	sum->count += count;
}

struct loli_library {
	uint32_t text;		/* of its name */
	bool agent;		/* LoliProfiler's own, which stands at the end of all stacks */
	struct loli_sum self, total, freed; /* held: by the records' own library; with stacks through it */
	uint32_t first_symbol, symbols, named; /* in loli_sums.symbols */
	uint32_t first_range, ranges; /* in loli_sums.ranges */
};

struct loli_function {
	uint32_t text;
	uint32_t lib;
	bool named;
	bool pseudo;		/* stands for what has no function */
	struct loli_sum self, total, freed;
};

/* Nodes stand in the order of a walk: the children of one follow it, those that hold most first. */
struct loli_node {
	uint32_t parent;	/* NUMBER_NONE of the root, which is number 0 */
	uint32_t function;	/* NUMBER_NONE of the root */
	uint32_t size;		/* nodes in it and below */
	uint32_t depth;
	struct loli_sum self, total, freed; /* held; freed: self alone */
};

/* A node where records end. */
struct loli_stack {
	uint32_t node;
	uint32_t function;	/* that the records are put down to: of the nearest frame that is not the agent's */
};

struct loli_symbol {
	uint64_t address;
	uint64_t name;		/* where its string is in the file */
	uint32_t lib;
};

struct loli_range {
	uint64_t start, end, offset;
	uint32_t lib;
};

/* A mapping of smaps, and how held blocks lie in it. */
struct loli_mapping {
	uint32_t text;
	uint32_t ranges;
	uint32_t kib[7];	/* as in the file: virtual, rss, pss, private clean and dirty, shared clean and dirty */
	uint64_t bytes, used, largest_gap;
};

struct loli_point {
	uint64_t x;		/* a double's bits, so that they sort as the numbers do: see loli_real() */
	double y;
};
struct loli_series {
	struct loli_point *points;
	size_t count;
};

struct loli_sums {
	const struct loli *loli;
	struct texts texts;
	struct bits entries;	/* by sequence number */
	unsigned stack_width;	/* bits of an entry's stack, which are behind its state's; the rest is its number */
	uint64_t *records_at;	/* where every LOLI_RECORD_STEPth record is in the file */
	size_t entry_count;
	struct loli_library *libraries;
	size_t library_count, library_capacity;
	struct loli_function *functions;
	size_t function_count, function_capacity;
	struct loli_node *nodes;
	size_t node_count, node_capacity;
	struct table keys;	/* number of a library by its key in the table of strings */
	struct loli_symbol *symbols; /* by library and address; of equal ones the last counts */
	size_t symbol_count;
	struct loli_range *ranges; /* by library and offset */
	size_t range_count;
	struct loli_mapping *mappings; /* most pss first */
	size_t mapping_count;
	struct loli_series *series;
	size_t series_count;
	uint64_t *times;	/* all x of all series, once */
	size_t time_count;
	struct loli_stack *stacks; /* by node */
	size_t stack_count;
	uint32_t *by_function, *by_library, *by_stack; /* most held bytes first */

	/* While they are being built. */
	struct loli_entry *unpacked; /* entries */
	struct table by_name, frames; /* libraries and functions by name, functions by place */
	char *scratch;
	size_t scratch_size;

	/* For info.txt. */
	struct loli_sum states[LOLI_STATES];
	uint64_t left_out;	/* records outside the span that is wanted */
	uint64_t without_stack;
	uint32_t seq_first, seq_last;
	uint64_t seq_gaps, seq_missing, seq_repeated;
	int64_t time_first, time_last;
	uint64_t frames_named, frames_unnamed; /* distinct ones */
	uint64_t filled;	/* names from outside */
	bool no_stacks;		/* taken without stacks */
	bool difference;	/* written by LoliProfiler's comparator */
};

/* The sums of a profile; NULL without memory, or where the file was cut meanwhile. */
const struct loli_sums *loli_sums(struct loli *loli);
/* Gives back their memory, when nobody uses them; they can be made again. */
void loli_sums_forget(struct loli *loli);
void sums_close(struct loli_sums *sums);

static inline struct text_entry sums_text(const struct loli_sums *sums, uint32_t text)
{
	return sums->texts.list[text];
}

static inline struct loli_entry sums_entry(const struct loli_sums *sums, size_t i)
{
	const uint64_t bits = bits_get(&sums->entries, i);
	const uint64_t behind = bits >> LOLI_STATE_BITS;
	return (struct loli_entry){ .state = (enum loli_state)(bits & ((1u << LOLI_STATE_BITS) - 1)),
				    .stack = (uint32_t)(behind & ((UINT64_C(1) << sums->stack_width) - 1)),
				    .number = (uint32_t)(behind >> sums->stack_width) };
}

/* The record of an entry. False where the file does not have it any more. */
bool sums_record(const struct loli_sums *sums, const struct loli_entry *entry, struct loli_record *record);

/* The number of the library of a record. */
static inline uint32_t sums_library(const struct loli_sums *sums, uint32_t key)
{
	return table_get(&sums->keys, (struct table_key){ key, 0 });
}

/* A name from outside for the place of a frame, or NULL. */
const char *sums_filled(const struct loli_sums *sums, uint32_t library, uint64_t address, size_t *len);
/* The last entry of equal ones. */
static inline bool symbol_counts(const struct loli_sums *sums, size_t i)
{
	return i + 1 == sums->symbol_count || sums->symbols[i].lib != sums->symbols[i + 1].lib ||
	       sums->symbols[i].address != sums->symbols[i + 1].address;
}

static inline double loli_real(uint64_t x)
{
	const uint64_t bits = x >> 63 ? x & ~(UINT64_C(1) << 63) : ~x;
	double real;
	memcpy(&real, &bits, sizeof real);
	return real;
}

/* --- steps of building them; each false without memory --- */

/* names.c: libraries, their symbols and ranges. */
bool names_open(struct loli_sums *sums);
/* The number of the function at a place. */
uint32_t names_function(struct loli_sums *sums, uint32_t library, uint64_t address);
uint32_t names_library(struct loli_sums *sums, uint32_t key); /* by its key in the table of strings */
uint32_t names_pseudo(struct loli_sums *sums, const char *name, size_t len, uint32_t library);

/* Of what the table of strings lacks, by what they are called. */
uint32_t names_library_called(struct loli_sums *sums, const char *name, size_t len);
uint32_t names_function_called(struct loli_sums *sums, const char *name, size_t len, uint32_t library);
/*
 * What a place without a name is called: its library, and what stands behind that, less than 32 bytes. Its length. Of the
 * library's name the first NAMES_LIBRARY_MOST bytes: a damaged file may have a long one, which would be copied for each place.
 */
#define NAMES_LIBRARY_MOST 1024
#define NAMES_MADE (NAMES_LIBRARY_MOST + 32)
size_t names_made(struct text_entry library, const char *behind, char made[NAMES_MADE]);
/* The same with "!0xaddress" behind it. */
size_t names_made_of(struct text_entry library, uint64_t address, char made[NAMES_MADE]);
/* Has the profile an entry for a place? Its name may be empty. */
bool names_entry(const struct loli_sums *sums, uint32_t library, uint64_t address, struct loli_string *name);

/* merged.c: nodes of a tree, their order and totals. First there is the root. */
bool merged_open(struct loli_sums *sums);
/* The number of a node's child for a function; `children` has numbers of nodes by parent and function. */
uint32_t merged_child(struct loli_sums *sums, struct table *children, uint32_t parent, uint32_t function);
/* Once all have what is their own: totals of nodes; the order of a walk; from totals of nodes those of functions and
   libraries. */
void merged_add_up(struct loli_sums *sums);
bool merged_sort(struct loli_sums *sums);
bool merged_count(struct loli_sums *sums);
/* The function of the nearest frame, at or above a node, that is not the agent's; the outermost where all are. */
uint32_t merged_own(const struct loli_sums *sums, uint32_t node);
/* By name, then by library; functions of one tree are in no other order. */
int merged_compare(const struct loli_sums *sums, uint32_t function, uint32_t other);
int compare_texts(const struct loli_sums *sums, uint32_t a, uint32_t b);
/*
 * The place of each node in a walk over a tree, parents first. Nodes are `size` bytes each and begin with their parent's
 * number; `order` has the `ordered` ones that can be reached, the root, which is number 0, first, then by parent.
 */
bool forest_walk(const void *nodes, size_t size, size_t count, const uint32_t *order, size_t ordered, uint32_t *numbers);

/* stacks.c: the merged tree of the records' stacks. */
bool stacks_build(struct loli_sums *sums);

/* charts.c: mappings and series. */
bool charts_build(struct loli_sums *sums);

#endif
