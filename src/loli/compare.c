/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/compare.h"

#include <stdlib.h>

#define NAMELESS "![no name]"

const char *const loli_change_names[CHANGES + 1] = { "new", "grown", "shrunk", "removed", "" };

enum loli_change loli_change(const struct loli_both *both)
{
	const struct loli_sum *before = &both->before, *after = &both->after;
	if (before->bytes == after->bytes && before->count == after->count)
		return CHANGE_NONE;
	if (!before->count || !after->count)
		return before->count ? CHANGE_REMOVED : CHANGE_NEW;
	if (before->bytes != after->bytes)
		return before->bytes < after->bytes ? CHANGE_GROWN : CHANGE_SHRUNK;
	return before->count < after->count ? CHANGE_GROWN : CHANGE_SHRUNK;
}

enum loli_change loli_function_change(const struct loli_comparison *comparison, uint32_t function)
{
	const enum loli_change change = loli_change(&comparison->total[function]);
	return change == CHANGE_NONE ? loli_change(&comparison->self[function]) : change;
}

/* --- names --- */

/* The function of both that one of a profile is; NUMBER_NONE without memory. */
static uint32_t function_of(struct loli_sums *both, const struct loli_sums *sums, const struct loli_function *function)
{
	uint32_t library = NUMBER_NONE;
	struct text_entry name = sums_text(sums, function->text), called = { "", 0 };
	if (function->lib != NUMBER_NONE) {
		called = sums_text(sums, sums->libraries[function->lib].text);
		library = names_library_called(both, called.data, called.len);
		if (library == NUMBER_NONE)
			return library;
	}
	if (function->pseudo)
		return names_pseudo(both, name.data, name.len, library);
	if (function->named)
		return names_function_called(both, name.data, name.len, library);
	char nameless[NAMES_MADE];
	return names_function_called(both, nameless, names_made(called, NAMELESS, nameless), library);
}

/* --- the tree of both --- */

/* Adds a profile's nodes; what each holds itself goes to what is held before, or after. */
static bool add_nodes(struct loli_sums *both, struct table *children, const struct loli_sums *sums,
		      const struct loli_sum *held, bool before)
{
	uint32_t *functions = reallocarray(NULL, sums->function_count + 1, sizeof *functions);
	uint32_t *numbers = reallocarray(NULL, sums->node_count, sizeof *numbers);
	bool made = functions && numbers;
	for (size_t i = 0; made && i < sums->function_count; i++) {
		functions[i] = function_of(both, sums, &sums->functions[i]);
		made = functions[i] != NUMBER_NONE;
	}
	if (made)
		numbers[0] = 0;
	for (size_t i = 1; made && i < sums->node_count; i++) {
		const struct loli_node *node = &sums->nodes[i];
		numbers[i] = merged_child(both, children, numbers[node->parent], functions[node->function]);
		made = numbers[i] != NUMBER_NONE;
		if (!made)
			break;
		struct loli_node *own = &both->nodes[numbers[i]];
		const struct loli_sum *sum = held ? &held[i] : &node->self;
		loli_add(before ? &own->freed : &own->self, sum->bytes, sum->count);
	}
	free(functions);
	free(numbers);
	return made;
}

/* Totals of one side, from what nodes hold themselves. */
static bool count_side(struct loli_comparison *c, bool before)
{
	struct loli_sums *both = &c->both;
	merged_add_up(both);
	if (!merged_count(both))
		return false;
	for (size_t i = 0; i < both->function_count; i++)
		*(before ? &c->total[i].before : &c->total[i].after) = both->functions[i].total;
	for (size_t i = 1; i < both->node_count; i++) {
		const struct loli_node *node = &both->nodes[i];
		if (!node->self.count)
			continue;
		struct loli_both *self = &c->self[merged_own(both, (uint32_t)i)];
		loli_add(before ? &self->before : &self->after, node->self.bytes, node->self.count);
	}
	*(before ? &c->held.before : &c->held.after) = both->nodes[0].total;
	return true;
}

/* `self` and `freed` of all nodes. */
static void swap_sides(struct loli_sums *both)
{
	for (size_t i = 0; i < both->node_count; i++) {
		const struct loli_sum kept = both->nodes[i].self;
		both->nodes[i].self = both->nodes[i].freed;
		both->nodes[i].freed = kept;
	}
}

static bool count_sides(struct loli_comparison *c)
{
	c->self = calloc(c->both.function_count + 1, sizeof *c->self);
	c->total = calloc(c->both.function_count + 1, sizeof *c->total);
	if (!c->self || !c->total)
		return false;
	merged_add_up(&c->both);
	if (!merged_sort(&c->both))
		return false;
	swap_sides(&c->both);
	const bool counted = count_side(c, true);
	swap_sides(&c->both);
	return counted && count_side(c, false);
}

/* --- what differs --- */

/* Of which one is wanted first: the one that grew more. */
static int compare_growth(const struct loli_both *a, const struct loli_both *b)
{
	const int64_t x = (int64_t)(a->after.bytes - a->before.bytes), y = (int64_t)(b->after.bytes - b->before.bytes);
	const int64_t p = (int64_t)a->after.count - a->before.count, q = (int64_t)b->after.count - b->before.count;
	if (x != y)
		return x > y ? -1 : 1;
	return p > q ? -1 : p < q;
}

static int by_function(const void *a, const void *b, void *context)
{
	const struct loli_comparison *c = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_growth(&c->self[x], &c->self[y]);
	order = order ? order : compare_growth(&c->total[x], &c->total[y]);
	return order ? order : merged_compare(&c->both, x, y);
}

static int by_stack(const void *a, const void *b, void *context)
{
	const struct loli_comparison *c = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct loli_both first = loli_stack(c, c->both.stacks[x].node), second = loli_stack(c, c->both.stacks[y].node);
	const int order = compare_growth(&first, &second);
	return order ? order : x < y ? -1 : x > y;
}

static bool find_rows(struct loli_comparison *c)
{
	c->by_function = reallocarray(NULL, c->both.function_count + 1, sizeof *c->by_function);
	c->by_stack = reallocarray(NULL, c->both.node_count, sizeof *c->by_stack);
	c->both.stacks = reallocarray(NULL, c->both.node_count, sizeof *c->both.stacks);
	if (!c->by_function || !c->by_stack || !c->both.stacks)
		return false;
	for (uint32_t i = 0; i < c->both.function_count; i++)
		if (c->both.functions[i].lib != NUMBER_NONE && loli_function_change(c, i) != CHANGE_NONE)
			c->by_function[c->function_rows++] = i;
	for (uint32_t i = 1; i < c->both.node_count; i++) {
		const struct loli_both stack = loli_stack(c, i);
		if (loli_change(&stack) == CHANGE_NONE)
			continue;
		c->both.stacks[c->stack_rows] = (struct loli_stack){ i, merged_own(&c->both, i) };
		c->by_stack[c->stack_rows] = (uint32_t)c->stack_rows;
		c->stack_rows++;
	}
	c->both.stack_count = c->stack_rows;
	qsort_r(c->by_function, c->function_rows, sizeof *c->by_function, by_function, c);
	qsort_r(c->by_stack, c->stack_rows, sizeof *c->by_stack, by_stack, c);
	return true;
}

/* The bytes by which a stack that ends at a node changed in such a way. */
static uint64_t changed_bytes(const struct loli_comparison *c, uint32_t node, enum loli_change change)
{
	const struct loli_both stack = loli_stack(c, node);
	if (loli_change(&stack) != change)
		return 0;
	return change == CHANGE_NEW || change == CHANGE_GROWN ? stack.after.bytes - stack.before.bytes :
								stack.before.bytes - stack.after.bytes;
}

/* The nodes that lead to stacks that changed in such a way. */
static bool make_tree(struct loli_comparison *c, enum loli_change change)
{
	const struct loli_sums *both = &c->both;
	struct loli_sums *tree = &c->trees[change];
	uint32_t *numbers = calloc(both->node_count, sizeof *numbers);
	*tree = *both;
	tree->nodes = NULL;
	tree->stacks = NULL; /* they are of other nodes */
	tree->stack_count = 0;
	if (!numbers)
		return false;
	/* First whether a node is wanted, then its number: parents stand before their children. */
	size_t count = 1;
	for (uint32_t i = (uint32_t)both->node_count; i-- > 1;)
		if (numbers[i] || changed_bytes(c, i, change)) {
			numbers[i] = 1;
			numbers[both->nodes[i].parent] = 1;
			count++;
		}
	tree->nodes = reallocarray(NULL, count, sizeof *tree->nodes);
	bool made = tree->nodes != NULL;
	tree->node_count = 0;
	for (uint32_t i = 0; made && i < both->node_count; i++) {
		if (i && !numbers[i])
			continue;
		struct loli_node *node = &tree->nodes[tree->node_count];
		const uint64_t bytes = i ? changed_bytes(c, i, change) : 0;
		numbers[i] = (uint32_t)tree->node_count++;
		*node = both->nodes[i];
		node->size = 1;
		node->self = (struct loli_sum){ bytes, bytes != 0 };
		node->freed = (struct loli_sum){ 0, 0 };
		if (i)
			node->parent = numbers[node->parent];
	}
	free(numbers);
	if (made)
		merged_add_up(tree);
	return made && merged_sort(tree);
}

/* --- all --- */

static struct loli_comparison *compare(const struct loli_sums *before, const struct loli_sum *held,
				       const struct loli_sums *after)
{
	struct loli_comparison *c = calloc(1, sizeof *c);
	struct table children = { 0 };
	if (!c)
		return NULL;
	bool made = merged_open(&c->both) && add_nodes(&c->both, &children, before, held, true) &&
		    add_nodes(&c->both, &children, after, NULL, false);
	table_free(&children);
	table_free(&c->both.by_name);
	made = made && count_sides(c) && find_rows(c);
	for (unsigned i = 0; made && i < CHANGES; i++)
		made = make_tree(c, (enum loli_change)i);
	if (made)
		return c;
	loli_comparison_close(c);
	return NULL;
}

struct loli_comparison *loli_compare(const struct loli_sums *before, const struct loli_sums *after)
{
	return compare(before, NULL, after);
}

/* What nodes held themselves at a moment. */
static bool held_then(const struct loli_sums *sums, int64_t time_ms, struct loli_sum *held)
{
	struct loli_records records = { .loli = sums->loli };
	struct loli_moment moment = { .blocks = NULL };
	bool made = records_open(&records, sums->loli, false) && moment_open(&moment, &records, time_ms);
	for (size_t i = 0; made && i < sums->entry_count; i++) {
		const struct loli_entry entry = sums_entry(sums, i);
		struct loli_record record;
		made = sums_record(sums, &entry, &record);
		if (made && moment_state(&moment, &records, &record) != MOMENT_GONE)
			loli_add(&held[sums->stacks[entry.stack].node], record.size, 1);
	}
	moment_close(&moment);
	records_close(&records);
	return made;
}

struct loli_comparison *loli_compare_moment(const struct loli_sums *sums, int64_t time_ms)
{
	struct loli_sum *held = calloc(sums->node_count, sizeof *held);
	struct loli_comparison *c = held && held_then(sums, time_ms, held) ? compare(sums, held, sums) : NULL;
	free(held);
	return c;
}

void loli_comparison_close(struct loli_comparison *comparison)
{
	if (!comparison)
		return;
	for (unsigned i = 0; i < CHANGES; i++)
		free(comparison->trees[i].nodes);
	texts_free(&comparison->both.texts);
	table_free(&comparison->both.by_name);
	free(comparison->both.libraries);
	free(comparison->both.functions);
	free(comparison->both.nodes);
	free(comparison->both.stacks);
	free(comparison->self);
	free(comparison->total);
	free(comparison->by_function);
	free(comparison->by_stack);
	free(comparison);
}

bool loli_held(const struct loli *loli, const int64_t *time_ms, struct loli_both *held, uint64_t *unsure, uint64_t *freed)
{
	const struct loli_part *part = &loli->parts[LOLI_RECORDS];
	struct loli_records records = { .loli = loli };
	struct loli_moment moment = { .blocks = NULL };
	struct loli_cursor cursor = loli_cursor(loli, part->at);
	bool made = records_open(&records, loli, false) && (!time_ms || moment_open(&moment, &records, *time_ms));
	uint64_t not_sure = 0, not_held = 0;
	*held = (struct loli_both){ { 0, 0 }, { 0, 0 } };
	for (uint64_t i = 0; made && i < part->count; i++) {
		struct loli_record record;
		struct loli_uuid uuid;
		made = records_next(&cursor, &record, &uuid);
		if (!made || !record_wanted(loli, &record))
			continue;
		if (record_freed(&records, &record))
			not_held++;
		else
			loli_add(&held->after, record.size, 1);
		const enum moment_state then = time_ms ? moment_state(&moment, &records, &record) : MOMENT_GONE;
		if (then != MOMENT_GONE)
			loli_add(&held->before, record.size, 1);
		not_sure += then == MOMENT_UNSURE;
	}
	moment_close(&moment);
	records_close(&records);
	if (unsure)
		*unsure = not_sure;
	if (freed)
		*freed = not_held;
	return made;
}
