/* SPDX-License-Identifier: Apache-2.0 */
/* The merged tree of the records' stacks, root first, and the records by sequence number. */
#include "loli/sums.h"

#include <stdlib.h>

#define NO_STACK "[no call stack]"

/* What is needed only while the tree is being made. */
struct building {
	struct loli_sums *sums;
	struct loli_records records;
	uint32_t *stack_leaves;	/* nodes where stacks end, once that is known: several records may share one */
	struct table children;	/* numbers of nodes by parent and function */
	struct table leaves;	/* numbers of nodes by the bytes of stacks that end there */
	uint32_t *numbers;	/* all sequence numbers, to look for gaps */
	size_t number_count;
};

/* Room for what is known of each stack; the numbers of all frees. */
static bool open_records(struct building *b)
{
	const struct loli *loli = b->sums->loli;
	const struct loli_part *frees = &loli->parts[LOLI_FREES];
	const uint64_t stacks = loli->parts[LOLI_STACKS].count;
	struct loli_cursor cursor = loli_cursor(loli, frees->at);
	b->stack_leaves = reallocarray(NULL, stacks + 1, sizeof *b->stack_leaves);
	if (!b->stack_leaves || !records_open(&b->records, loli, true))
		return false;
	for (uint64_t i = 0; i < stacks; i++)
		b->stack_leaves[i] = NUMBER_NONE;
	for (uint64_t i = 0; i < frees->count; i++) {
		loli_u64(&cursor);
		b->numbers[b->number_count++] = loli_u32(&cursor);
	}
	return !cursor.problem;
}

/* Most stacks are there many times. */
static uint32_t leaf_of_frames(struct building *b, const uint8_t *frames, uint64_t depth)
{
	struct loli_sums *sums = b->sums;
	uint32_t *known = table_put(&b->leaves, table_hash(frames, depth * LOLI_FRAME));
	uint32_t node = 0;
	if (!known || *known != NUMBER_NONE)
		return known ? *known : NUMBER_NONE;
	for (uint64_t i = depth; i-- > 0 && node != NUMBER_NONE;) {
		const uint32_t of = names_library(sums, be32(frames + i * LOLI_FRAME));
		const uint32_t function = of == NUMBER_NONE ? of : names_function(sums, of, be64(frames + i * LOLI_FRAME + 4));
		node = function == NUMBER_NONE ? function : merged_child(b->sums, &b->children, node, function);
	}
	return *known = node;
}

/* The node where stack number `stack` ends; the root where it has no frames. */
static uint32_t leaf_of_stack(struct building *b, uint32_t stack)
{
	uint64_t depth;
	if (b->stack_leaves[stack] != NUMBER_NONE)
		return b->stack_leaves[stack];
	const uint8_t *frames = stack_frames(&b->records, stack, &depth);
	if (!frames)
		return NUMBER_NONE;
	return b->stack_leaves[stack] = depth ? leaf_of_frames(b, frames, depth) : 0;
}

/* The same for a record without a stack: by its function, below a node of such records. */
static uint32_t leaf_without_stack(struct building *b, const struct loli_record *record, uint32_t library)
{
	struct loli_sums *sums = b->sums;
	const uint32_t none = names_pseudo(sums, NO_STACK, sizeof NO_STACK - 1, NUMBER_NONE);
	const uint32_t node = none == NUMBER_NONE ? none : merged_child(b->sums, &b->children, 0, none);
	if (node == NUMBER_NONE)
		return node;
	sums->without_stack++;
	/* Taken without stacks, a record's function is what happened to lie in memory (loli.cpp). */
	const struct text_entry text = sums_text(sums, sums->libraries[library].text);
	const uint32_t function = sums->no_stacks ? names_pseudo(sums, text.data, text.len, library) :
						    names_function(sums, library, record->function);
	return function == NUMBER_NONE ? function : merged_child(b->sums, &b->children, node, function);
}

/* The node that a record belongs to; NUMBER_NONE without memory, or where the file was cut. */
static uint32_t leaf_of(struct building *b, const struct loli_record *record, const struct loli_uuid *uuid,
			uint32_t library)
{
	const uint32_t stack = record_stack(&b->records, uuid), node = stack == NUMBER_NONE ? 0 : leaf_of_stack(b, stack);
	return node ? node : leaf_without_stack(b, record, library);
}

/* Adds a record to its state, node and library. */
static void count_record(struct loli_sums *sums, const struct loli_record *record, const struct loli_entry *entry,
			 uint32_t library)
{
	struct loli_node *leaf = &sums->nodes[entry->stack];
	const bool freed = entry->state == LOLI_FREED;
	loli_add(&sums->states[entry->state], record->size, 1);
	loli_add(freed ? &leaf->freed : &leaf->self, record->size, 1);
	loli_add(freed ? &sums->libraries[library].freed : &sums->libraries[library].self, record->size, 1);
	if (sums->entry_count == 1 || record->time_ms < sums->time_first)
		sums->time_first = record->time_ms;
	if (sums->entry_count == 1 || record->time_ms > sums->time_last)
		sums->time_last = record->time_ms;
}

static bool read_records(struct building *b)
{
	struct loli_sums *sums = b->sums;
	const struct loli_part *part = &sums->loli->parts[LOLI_RECORDS];
	struct loli_cursor cursor = loli_cursor(sums->loli, part->at);
	sums->difference = part->count && !sums->loli->parts[LOLI_FREES].count && !sums->loli->parts[LOLI_SERIES].count;
	for (uint64_t i = 0; i < part->count; i++) {
		struct loli_record record;
		struct loli_uuid uuid;
		if (i % LOLI_RECORD_STEP == 0)
			sums->records_at[i / LOLI_RECORD_STEP] = cursor.at;
		if (atomic_load_explicit(&sums->loli->stop, memory_order_relaxed) || !records_next(&cursor, &record, &uuid))
			return false;
		b->numbers[b->number_count++] = record.seq;
		sums->difference &= !record.address && !record.time_ms;
		if (!record_wanted(sums->loli, &record)) {
			sums->left_out++;
			continue;
		}
		const uint32_t library = names_library(sums, record.lib);
		const uint32_t leaf = library == NUMBER_NONE ? library : leaf_of(b, &record, &uuid, library);
		if (leaf == NUMBER_NONE)
			return false;
		struct loli_entry *entry = &sums->unpacked[sums->entry_count++];
		*entry = (struct loli_entry){ .number = (uint32_t)i, .stack = leaf,
					      .state = record_state(&b->records, &record) };
		count_record(sums, &record, entry, library);
	}
	return true;
}

/* By sequence number; of equal ones in the order of the file. `seqs` has the records' numbers, in its order. */
static bool sort_entries(struct loli_sums *sums, const uint32_t *seqs)
{
	struct loli_entry *from = sums->unpacked, *to = reallocarray(NULL, sums->entry_count + 1, sizeof *to);
	if (!to)
		return false;
	for (unsigned shift = 0; shift < 32; shift += 8) {
		size_t starts[257] = { 0 };
		for (size_t i = 0; i < sums->entry_count; i++)
			starts[(seqs[from[i].number] >> shift & 255) + 1]++;
		for (unsigned i = 0; i < 256; i++)
			starts[i + 1] += starts[i];
		for (size_t i = 0; i < sums->entry_count; i++)
			to[starts[seqs[from[i].number] >> shift & 255]++] = from[i];
		struct loli_entry *other = from;
		from = to;
		to = other;
	}
	/* An even number of rounds: it is where it was. */
	free(to);
	for (size_t i = 1; i < sums->entry_count; i++)
		sums->seq_repeated += seqs[from[i].number] == seqs[from[i - 1].number];
	return true;
}

/* Which nodes records end at. What these hold is their functions' as well. */
static bool find_stacks(struct loli_sums *sums, uint32_t *numbers)
{
	for (uint32_t i = 1; i < sums->node_count; i++)
		if (sums->nodes[i].self.count || sums->nodes[i].freed.count)
			numbers[i] = (uint32_t)sums->stack_count++;
	sums->stacks = reallocarray(NULL, sums->stack_count + 1, sizeof *sums->stacks);
	size_t next = 0;
	for (uint32_t i = 1; sums->stacks && i < sums->node_count; i++) {
		const struct loli_node *node = &sums->nodes[i];
		if (!node->self.count && !node->freed.count)
			continue;
		const struct loli_stack stack = { i, merged_own(sums, i) };
		struct loli_function *function = &sums->functions[stack.function];
		loli_add(&function->self, node->self.bytes, node->self.count);
		loli_add(&function->freed, node->freed.bytes, node->freed.count);
		sums->stacks[next++] = stack;
	}
	return sums->stacks != NULL;
}

static bool pack_entries(struct loli_sums *sums)
{
	uint32_t *numbers = reallocarray(NULL, sums->node_count, sizeof *numbers);
	bool made = numbers && find_stacks(sums, numbers);
	sums->stack_width = bits_width(sums->stack_count);
	const unsigned width = LOLI_STATE_BITS + sums->stack_width + bits_width(sums->loli->parts[LOLI_RECORDS].count);
	/* More than that is a file of terabytes. */
	made = made && width <= BITS_MOST && bits_open(&sums->entries, sums->entry_count, width);
	for (size_t i = 0; made && i < sums->entry_count; i++) {
		const struct loli_entry *entry = &sums->unpacked[i];
		bits_set(&sums->entries, i, ((uint64_t)entry->number << sums->stack_width | numbers[entry->stack])
						    << LOLI_STATE_BITS | entry->state);
	}
	free(numbers);
	free(sums->unpacked);
	sums->unpacked = NULL;
	return made;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/*
 * Allocations and frees share one counter. What is missing was dropped by LoliProfiler (allocations that were
 * freed, and their frees), or was lost.
 */
static void look_for_gaps(struct building *b)
{
	struct loli_sums *sums = b->sums;
	qsort(b->numbers, b->number_count, sizeof *b->numbers, compare_numbers);
	for (size_t i = 1; i < b->number_count; i++) {
		const uint32_t step = b->numbers[i] - b->numbers[i - 1];
		sums->seq_gaps += step > 1;
		sums->seq_missing += step > 1 ? step - 1 : 0;
	}
	sums->seq_first = b->number_count ? b->numbers[0] : 0;
	sums->seq_last = b->number_count ? b->numbers[b->number_count - 1] : 0;
}

/* --- the order of tables --- */

static int compare_sums(const struct loli_sum *a, const struct loli_sum *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->count > b->count ? -1 : a->count < b->count;
}

static int by_function(const void *a, const void *b, void *context)
{
	const struct loli_sums *sums = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct loli_function *f = &sums->functions[x], *g = &sums->functions[y];
	int order = compare_sums(&f->self, &g->self);
	order = order ? order : compare_sums(&f->total, &g->total);
	order = order ? order : compare_sums(&f->freed, &g->freed);
	return order ? order : merged_compare(sums, x, y);
}

static int by_library(const void *a, const void *b, void *context)
{
	const struct loli_sums *sums = context;
	const struct loli_library *x = &sums->libraries[*(const uint32_t *)a], *y = &sums->libraries[*(const uint32_t *)b];
	int order = compare_sums(&x->self, &y->self);
	order = order ? order : compare_sums(&x->total, &y->total);
	order = order ? order : compare_sums(&x->freed, &y->freed);
	return order ? order : compare_texts(sums, x->text, y->text);
}

static int by_stack(const void *a, const void *b, void *context)
{
	const struct loli_sums *sums = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct loli_node *n = &sums->nodes[sums->stacks[x].node], *m = &sums->nodes[sums->stacks[y].node];
	int order = compare_sums(&n->self, &m->self);
	order = order ? order : compare_sums(&n->freed, &m->freed);
	return order ? order : x < y ? -1 : x > y;
}

static uint32_t *sorted(struct loli_sums *sums, size_t count, int (*compare)(const void *, const void *, void *))
{
	uint32_t *list = reallocarray(NULL, count + 1, sizeof *list);
	for (size_t i = 0; list && i < count; i++)
		list[i] = (uint32_t)i;
	if (list)
		qsort_r(list, count, sizeof *list, compare, sums);
	return list;
}

static bool sort_sums(struct loli_sums *sums)
{
	sums->by_function = sorted(sums, sums->function_count, by_function);
	sums->by_library = sorted(sums, sums->library_count, by_library);
	sums->by_stack = sorted(sums, sums->stack_count, by_stack);
	return sums->by_function && sums->by_library && sums->by_stack;
}

static bool build(struct building *b)
{
	struct loli_sums *sums = b->sums;
	const struct loli_part *parts = sums->loli->parts;
	const uint64_t numbers = parts[LOLI_RECORDS].count + parts[LOLI_FREES].count;
	sums->no_stacks = parts[LOLI_STACKS].whole && !parts[LOLI_STACKS].count;
	b->numbers = reallocarray(NULL, numbers + 1, sizeof *b->numbers);
	sums->unpacked = reallocarray(NULL, parts[LOLI_RECORDS].count + 1, sizeof *sums->unpacked);
	sums->records_at = reallocarray(NULL, parts[LOLI_RECORDS].count / LOLI_RECORD_STEP + 1, sizeof *sums->records_at);
	if (!b->numbers || !sums->unpacked || !sums->records_at || !merged_open(sums))
		return false;
	if (!open_records(b) || !read_records(b) || !sort_entries(sums, b->numbers + parts[LOLI_FREES].count))
		return false;
	look_for_gaps(b);
	/* It grew by doubling. */
	struct loli_function *functions = reallocarray(sums->functions, sums->function_count + 1, sizeof *functions);
	if (functions) {
		sums->functions = functions;
		sums->function_capacity = sums->function_count + 1;
	}
	merged_add_up(sums);
	return merged_sort(sums) && merged_count(sums) && pack_entries(sums) && sort_sums(sums);
}

bool stacks_build(struct loli_sums *sums)
{
	struct building b = { .sums = sums };
	const bool made = build(&b);
	records_close(&b.records);
	table_free(&b.children);
	table_free(&b.leaves);
	free(b.stack_leaves);
	free(b.numbers);
	return made;
}
