/* SPDX-License-Identifier: Apache-2.0 */
/* The merged tree of the records' stacks, root first, and the records by sequence number. */
#include "loli/sums.h"

#include <stdlib.h>

#define NO_STACK "[no call stack]"

const char *const loli_state_names[LOLI_STATES] = { "live", "freed", "unknown" };

/* What is needed only while the tree is being made. */
struct building {
	struct loli_sums *sums;
	struct table frees;	/* numbers of entries by address */
	struct table stacks;	/* numbers of stacks by UUID */
	uint64_t *stack_offsets;
	uint32_t *stack_leaves;	/* nodes where stacks end, once that is known: several records may share one */
	struct table children;	/* numbers of nodes by parent and function */
	struct table leaves;	/* numbers of nodes by the bytes of stacks that end there */
	uint32_t *numbers;	/* all sequence numbers, to look for gaps */
	size_t number_count;
};

static void add(struct loli_sum *sum, uint64_t bytes, uint64_t count)
{
	sum->bytes += bytes;
	sum->count += count;
}

/* Of equal addresses the last counts. */
static bool read_frees(struct building *b)
{
	const struct loli_part *part = &b->sums->loli->parts[LOLI_FREES];
	struct loli_cursor cursor = loli_cursor(b->sums->loli, part->at);
	if (!table_reserve(&b->frees, part->count))
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		uint32_t *number = table_put(&b->frees, (struct table_key){ loli_u64(&cursor), 0 });
		if (!number)
			return false;
		*number = (uint32_t)i;
		b->numbers[b->number_count++] = loli_u32(&cursor);
		if (cursor.problem)
			return false;
	}
	return true;
}

static enum loli_state state_of(const struct building *b, const struct loli_record *record)
{
	const struct loli_part *part = &b->sums->loli->parts[LOLI_FREES];
	const uint32_t number = table_get(&b->frees, (struct table_key){ record->address, 0 });
	if (number != NUMBER_NONE) {
		const uint8_t *p = input_at(b->sums->loli->in, part->at + 12 * (uint64_t)number, 12);
		if (p && record->seq < be32(p + 8))
			return LOLI_FREED;
	}
	return part->whole ? LOLI_LIVE : LOLI_UNKNOWN;
}

/* Where stacks are, by UUID; of equal ones the last counts. */
static bool read_stacks(struct building *b)
{
	const struct loli_part *part = &b->sums->loli->parts[LOLI_STACKS];
	struct loli_cursor cursor = loli_cursor(b->sums->loli, part->at);
	b->stack_offsets = reallocarray(NULL, part->count + 1, sizeof *b->stack_offsets);
	b->stack_leaves = reallocarray(NULL, part->count + 1, sizeof *b->stack_leaves);
	if (!b->stack_offsets || !b->stack_leaves || !table_reserve(&b->stacks, part->count))
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		const struct loli_string string = loli_string(&cursor);
		const struct loli_uuid uuid = loli_uuid(&string);
		b->stack_offsets[i] = cursor.at;
		b->stack_leaves[i] = NUMBER_NONE;
		loli_take(&cursor, loli_count(&cursor, LOLI_FRAME) * LOLI_FRAME);
		if (cursor.problem)
			return false;
		if (!uuid.high && !uuid.low)
			continue;
		uint32_t *number = table_put(&b->stacks, (struct table_key){ uuid.high, uuid.low });
		if (!number)
			return false;
		*number = (uint32_t)i;
	}
	return true;
}

static uint32_t child(struct building *b, uint32_t parent, uint32_t function)
{
	struct loli_sums *sums = b->sums;
	uint32_t *number = table_put(&b->children, (struct table_key){ parent, function });
	void *list = sums->nodes;
	if (!number || *number != NUMBER_NONE)
		return number ? *number : NUMBER_NONE;
	*number = 0;
	if (sums->node_count == NUMBER_NONE ||
	    !table_grow(&list, sums->node_count, &sums->node_capacity, sizeof *sums->nodes))
		return NUMBER_NONE;
	sums->nodes = list;
	const struct loli_node *above = &sums->nodes[parent];
	const uint32_t library = sums->functions[function].lib;
	const bool agent = library != NUMBER_NONE && sums->libraries[library].agent;
	sums->nodes[sums->node_count] = (struct loli_node){
		.parent = parent, .function = function, .depth = above->depth + 1, .size = 1,
		.own = agent && above->own != NUMBER_NONE ? above->own : function };
	return *number = (uint32_t)sums->node_count++;
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
		node = function == NUMBER_NONE ? function : child(b, node, function);
	}
	return *known = node;
}

/* The node where stack number `stack` ends; the root where it has no frames. */
static uint32_t leaf_of_stack(struct building *b, uint32_t stack)
{
	struct loli_cursor cursor = loli_cursor(b->sums->loli, b->stack_offsets[stack]);
	if (b->stack_leaves[stack] != NUMBER_NONE)
		return b->stack_leaves[stack];
	const uint64_t depth = loli_count(&cursor, LOLI_FRAME);
	const uint8_t *frames = loli_take(&cursor, depth * LOLI_FRAME);
	if (cursor.problem)
		return NUMBER_NONE;
	return b->stack_leaves[stack] = depth ? leaf_of_frames(b, frames, depth) : 0;
}

/* The same for a record without a stack: by its function, below a node of such records. */
static uint32_t leaf_without_stack(struct building *b, const struct loli_record *record, uint32_t library)
{
	struct loli_sums *sums = b->sums;
	const uint32_t none = names_pseudo(sums, NO_STACK, sizeof NO_STACK - 1, NUMBER_NONE);
	const uint32_t node = none == NUMBER_NONE ? none : child(b, 0, none);
	if (node == NUMBER_NONE)
		return node;
	sums->without_stack++;
	/* Taken without stacks, a record's function is what happened to lie in memory (loli.cpp). */
	const struct text_entry text = sums_text(sums, sums->libraries[library].text);
	const uint32_t function = sums->no_stacks ? names_pseudo(sums, text.data, text.len, library) :
						    names_function(sums, library, record->function);
	return function == NUMBER_NONE ? function : child(b, node, function);
}

/* The node that a record belongs to; NUMBER_NONE without memory, or where the file was cut. */
static uint32_t leaf_of(struct building *b, const struct loli_record *record, const struct loli_uuid *uuid,
			uint32_t library)
{
	uint32_t stack = NUMBER_NONE, node = 0;
	if (uuid->high || uuid->low)
		stack = table_get(&b->stacks, (struct table_key){ uuid->high, uuid->low });
	if (stack != NUMBER_NONE)
		node = leaf_of_stack(b, stack);
	return node ? node : leaf_without_stack(b, record, library);
}

/* Adds a record to all that it belongs to itself. */
static void count_record(struct loli_sums *sums, const struct loli_record *record, const struct loli_entry *entry,
			 uint32_t library)
{
	struct loli_node *leaf = &sums->nodes[entry->leaf];
	struct loli_function *function = &sums->functions[leaf->own];
	const bool freed = entry->state == LOLI_FREED;
	add(&sums->states[entry->state], record->size, 1);
	add(freed ? &leaf->freed : &leaf->self, record->size, 1);
	add(freed ? &function->freed : &function->self, record->size, 1);
	add(freed ? &sums->libraries[library].freed : &sums->libraries[library].self, record->size, 1);
	if (sums->entry_count == 1 || record->time_ms < sums->time_first)
		sums->time_first = record->time_ms;
	if (sums->entry_count == 1 || record->time_ms > sums->time_last)
		sums->time_last = record->time_ms;
}

static bool read_records(struct building *b)
{
	struct loli_sums *sums = b->sums;
	const struct loli_options *options = &sums->loli->options;
	const struct loli_part *part = &sums->loli->parts[LOLI_RECORDS];
	struct loli_cursor cursor = loli_cursor(sums->loli, part->at);
	sums->difference = part->count && !sums->loli->parts[LOLI_FREES].count && !sums->loli->parts[LOLI_SERIES].count;
	for (uint64_t i = 0; i < part->count; i++) {
		struct loli_record record;
		const struct loli_string string = loli_string(&cursor);
		const struct loli_uuid uuid = loli_uuid(&string);
		const uint64_t at = cursor.at;
		loli_take(&cursor, LOLI_RECORD);
		if (atomic_load_explicit(&sums->loli->stop, memory_order_relaxed))
			return false;
		if (cursor.problem || !loli_record_at(sums->loli, at, &record))
			return false;
		b->numbers[b->number_count++] = record.seq;
		sums->difference &= !record.address && !record.time_ms;
		if (options->spanned && (record.time_ms < options->from || record.time_ms > options->to)) {
			sums->left_out++;
			continue;
		}
		const uint32_t library = names_library(sums, record.lib);
		const uint32_t leaf = library == NUMBER_NONE ? library : leaf_of(b, &record, &uuid, library);
		if (leaf == NUMBER_NONE)
			return false;
		struct loli_entry *entry = &sums->entries[sums->entry_count++];
		*entry = (struct loli_entry){ .at = at & (UINT64_MAX >> 8), .state = state_of(b, &record), .seq = record.seq,
					      .leaf = leaf };
		count_record(sums, &record, entry, library);
	}
	return true;
}

/* By sequence number; of equal ones in the order of the file. */
static bool sort_entries(struct loli_sums *sums)
{
	struct loli_entry *from = sums->entries, *to = reallocarray(NULL, sums->entry_count + 1, sizeof *to);
	if (!to)
		return false;
	for (unsigned shift = 0; shift < 32; shift += 8) {
		size_t starts[257] = { 0 };
		for (size_t i = 0; i < sums->entry_count; i++)
			starts[(from[i].seq >> shift & 255) + 1]++;
		for (unsigned i = 0; i < 256; i++)
			starts[i + 1] += starts[i];
		for (size_t i = 0; i < sums->entry_count; i++)
			to[starts[from[i].seq >> shift & 255]++] = from[i];
		struct loli_entry *other = from;
		from = to;
		to = other;
	}
	/* An even number of rounds: it is where it was. */
	free(to);
	return true;
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
	for (size_t i = 1; i < sums->entry_count; i++)
		sums->seq_repeated += sums->entries[i].seq == sums->entries[i - 1].seq;
}

/* --- the order of nodes --- */

static int compare_texts(const struct loli_sums *sums, uint32_t a, uint32_t b)
{
	const struct text_entry x = sums_text(sums, a), y = sums_text(sums, b);
	const int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
	return order ? order : x.len < y.len ? -1 : x.len > y.len;
}

static int compare_functions(const struct loli_sums *sums, uint32_t a, uint32_t b)
{
	const struct loli_function *x = &sums->functions[a], *y = &sums->functions[b];
	const int order = compare_texts(sums, x->text, y->text);
	if (order || x->lib == y->lib)
		return order;
	if (x->lib == NUMBER_NONE || y->lib == NUMBER_NONE)
		return x->lib == NUMBER_NONE ? -1 : 1;
	return compare_texts(sums, sums->libraries[x->lib].text, sums->libraries[y->lib].text);
}

static int compare_siblings(const void *a, const void *b, void *context)
{
	const struct loli_sums *sums = context;
	const struct loli_node *x = &sums->nodes[*(const uint32_t *)a], *y = &sums->nodes[*(const uint32_t *)b];
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total.bytes != y->total.bytes)
		return x->total.bytes > y->total.bytes ? -1 : 1;
	return compare_functions(sums, x->function, y->function);
}

/* The new number of each node: a walk over the tree, where `order` has the nodes by parent. */
static bool number_nodes(const struct loli_sums *sums, const uint32_t *order, uint32_t *numbers)
{
	const size_t count = sums->node_count;
	uint32_t *first = reallocarray(NULL, count + 1, sizeof *first), *stack = reallocarray(NULL, count + 1, sizeof *stack);
	size_t depth = 0, next = 0;
	if (first && stack) {
		for (size_t i = 0; i <= count; i++)
			first[i] = 0;
		for (size_t i = 1; i < count; i++)
			first[sums->nodes[order[i]].parent + 1]++;
		first[0] = 1; /* order[0] is the root */
		for (size_t i = 0; i < count; i++)
			first[i + 1] += first[i];
		for (stack[depth++] = 0; depth;) {
			const uint32_t node = stack[--depth];
			numbers[node] = (uint32_t)next++;
			for (uint32_t i = first[node + 1]; i-- > first[node];)
				stack[depth++] = order[i];
		}
	}
	const bool made = first && stack;
	free(first);
	free(stack);
	return made;
}

static bool sort_nodes(struct loli_sums *sums)
{
	const size_t count = sums->node_count;
	uint32_t *order = reallocarray(NULL, count, sizeof *order), *numbers = reallocarray(NULL, count, sizeof *numbers);
	struct loli_node *nodes = reallocarray(NULL, count, sizeof *nodes);
	bool made = order && numbers && nodes;
	for (size_t i = 0; made && i < count; i++)
		order[i] = (uint32_t)i;
	if (made) {
		/* The root, whose parent is the highest number, stays in front. */
		qsort_r(order + 1, count - 1, sizeof *order, compare_siblings, sums);
		made = number_nodes(sums, order, numbers);
	}
	for (size_t i = 0; made && i < count; i++) {
		nodes[numbers[i]] = sums->nodes[i];
		if (i)
			nodes[numbers[i]].parent = numbers[sums->nodes[i].parent];
	}
	for (size_t i = 0; made && i < sums->entry_count; i++)
		sums->entries[i].leaf = numbers[sums->entries[i].leaf];
	free(order);
	free(numbers);
	if (!made) {
		free(nodes);
		return false;
	}
	free(sums->nodes);
	sums->nodes = nodes;
	for (size_t i = count; i-- > 1;)
		nodes[nodes[i].parent].size += nodes[i].size;
	return true;
}

/* --- totals --- */

/*
 * A function, or library, that is on a stack more than once counts once: where it is met first, from the root on.
 */
static bool add_totals(struct loli_sums *sums)
{
	uint32_t *on_path = calloc(sums->function_count + 1, sizeof *on_path);
	uint32_t *libraries = calloc(sums->library_count + 1, sizeof *libraries);
	uint32_t *path = reallocarray(NULL, sums->node_count, sizeof *path);
	uint32_t depth = 1;
	const bool made = on_path && libraries && path;
	for (size_t i = 1; made && i < sums->node_count; i++) {
		const struct loli_node *node = &sums->nodes[i];
		for (; depth > node->depth; depth--) {
			const struct loli_function *left = &sums->functions[path[depth - 1]];
			on_path[path[depth - 1]]--;
			if (left->lib != NUMBER_NONE)
				libraries[left->lib]--;
		}
		struct loli_function *function = &sums->functions[node->function];
		path[depth++] = node->function;
		if (!on_path[node->function]++)
			add(&function->total, node->total.bytes, node->total.count);
		if (function->lib != NUMBER_NONE && !libraries[function->lib]++)
			add(&sums->libraries[function->lib].total, node->total.bytes, node->total.count);
	}
	free(on_path);
	free(libraries);
	free(path);
	return made;
}

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
	return order ? order : compare_functions(sums, x, y);
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
	int order = compare_sums(&sums->nodes[x].self, &sums->nodes[y].self);
	order = order ? order : compare_sums(&sums->nodes[x].freed, &sums->nodes[y].freed);
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
	for (size_t i = 1; i < sums->node_count; i++)
		sums->stack_count += sums->nodes[i].self.count || sums->nodes[i].freed.count;
	sums->by_function = sorted(sums, sums->function_count, by_function);
	sums->by_library = sorted(sums, sums->library_count, by_library);
	sums->by_stack = reallocarray(NULL, sums->stack_count + 1, sizeof *sums->by_stack);
	if (!sums->by_function || !sums->by_library || !sums->by_stack)
		return false;
	size_t next = 0;
	for (size_t i = 1; i < sums->node_count; i++)
		if (sums->nodes[i].self.count || sums->nodes[i].freed.count)
			sums->by_stack[next++] = (uint32_t)i;
	qsort_r(sums->by_stack, next, sizeof *sums->by_stack, by_stack, sums);
	return true;
}

static bool build(struct building *b)
{
	struct loli_sums *sums = b->sums;
	const struct loli_part *parts = sums->loli->parts;
	const uint64_t numbers = parts[LOLI_RECORDS].count + parts[LOLI_FREES].count;
	sums->no_stacks = parts[LOLI_STACKS].whole && !parts[LOLI_STACKS].count;
	b->numbers = reallocarray(NULL, numbers + 1, sizeof *b->numbers);
	sums->entries = reallocarray(NULL, parts[LOLI_RECORDS].count + 1, sizeof *sums->entries);
	sums->nodes = reallocarray(NULL, 1, sizeof *sums->nodes);
	if (!b->numbers || !sums->entries || !sums->nodes)
		return false;
	sums->node_count = sums->node_capacity = 1;
	sums->nodes[0] = (struct loli_node){ NUMBER_NONE, NUMBER_NONE, NUMBER_NONE, .size = 1 };
	if (!read_frees(b) || !read_stacks(b) || !read_records(b) || !sort_entries(sums))
		return false;
	look_for_gaps(b);
	for (size_t i = sums->node_count; i-- > 0;) {
		struct loli_node *node = &sums->nodes[i];
		add(&node->total, node->self.bytes, node->self.count);
		if (i)
			add(&sums->nodes[node->parent].total, node->total.bytes, node->total.count);
	}
	return sort_nodes(sums) && add_totals(sums) && sort_sums(sums);
}

bool stacks_build(struct loli_sums *sums)
{
	struct building b = { .sums = sums };
	const bool made = build(&b);
	table_free(&b.frees);
	table_free(&b.stacks);
	table_free(&b.children);
	table_free(&b.leaves);
	free(b.stack_offsets);
	free(b.stack_leaves);
	free(b.numbers);
	return made;
}
