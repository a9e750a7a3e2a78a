/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a merged tree, their order and totals. */
#include "loli/sums.h"

#include <stdlib.h>

bool merged_open(struct loli_sums *sums)
{
	sums->nodes = reallocarray(NULL, 1, sizeof *sums->nodes);
	if (!sums->nodes)
		return false;
	sums->node_count = sums->node_capacity = 1;
	sums->nodes[0] = (struct loli_node){ NUMBER_NONE, NUMBER_NONE, .size = 1 };
	return true;
}

uint32_t merged_child(struct loli_sums *sums, struct table *children, uint32_t parent, uint32_t function)
{
	uint32_t *number = table_put(children, (struct table_key){ parent, function });
	void *list = sums->nodes;
	if (!number || *number != NUMBER_NONE)
		return number ? *number : NUMBER_NONE;
	*number = 0;
	if (sums->node_count == NUMBER_NONE ||
	    !table_grow(&list, sums->node_count, &sums->node_capacity, sizeof *sums->nodes))
		return NUMBER_NONE;
	sums->nodes = list;
	sums->nodes[sums->node_count] = (struct loli_node){ .parent = parent, .function = function,
							    .depth = sums->nodes[parent].depth + 1, .size = 1 };
	return *number = (uint32_t)sums->node_count++;
}

void merged_add_up(struct loli_sums *sums)
{
	for (size_t i = 0; i < sums->node_count; i++)
		sums->nodes[i].total = sums->nodes[i].self;
	for (size_t i = sums->node_count; i-- > 1;) {
		const struct loli_node *node = &sums->nodes[i];
		loli_add(&sums->nodes[node->parent].total, node->total.bytes, node->total.count);
	}
}

uint32_t merged_own(const struct loli_sums *sums, uint32_t node)
{
	uint32_t function = NUMBER_NONE;
	for (; node; node = sums->nodes[node].parent) {
		function = sums->nodes[node].function;
		const uint32_t library = sums->functions[function].lib;
		if (library == NUMBER_NONE || !sums->libraries[library].agent)
			break;
	}
	return function;
}

int compare_texts(const struct loli_sums *sums, uint32_t a, uint32_t b)
{
	const struct text_entry x = sums_text(sums, a), y = sums_text(sums, b);
	const int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
	return order ? order : x.len < y.len ? -1 : x.len > y.len;
}

int merged_compare(const struct loli_sums *sums, uint32_t a, uint32_t b)
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
	return merged_compare(sums, x->function, y->function);
}

bool forest_walk(const void *nodes, size_t size, size_t count, const uint32_t *order, size_t ordered, uint32_t *numbers)
{
	uint32_t *first = calloc(count + 1, sizeof *first), *stack = reallocarray(NULL, count + 1, sizeof *stack);
	size_t depth = 0, next = 0;
	if (first && stack) {
		for (size_t i = 1; i < ordered; i++) {
			uint32_t parent;
			memcpy(&parent, (const char *)nodes + order[i] * size, sizeof parent);
			first[parent + 1]++;
		}
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

bool merged_sort(struct loli_sums *sums)
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
		made = forest_walk(sums->nodes, sizeof *sums->nodes, count, order, count, numbers);
	}
	for (size_t i = 0; made && i < count; i++) {
		nodes[numbers[i]] = sums->nodes[i];
		if (i)
			nodes[numbers[i]].parent = numbers[sums->nodes[i].parent];
	}
	for (size_t i = 0; made && sums->unpacked && i < sums->entry_count; i++)
		sums->unpacked[i].stack = numbers[sums->unpacked[i].stack];
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
bool merged_count(struct loli_sums *sums)
{
	for (size_t i = 0; i < sums->function_count; i++)
		sums->functions[i].total = (struct loli_sum){ 0, 0 };
	for (size_t i = 0; i < sums->library_count; i++)
		sums->libraries[i].total = (struct loli_sum){ 0, 0 };
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
			loli_add(&function->total, node->total.bytes, node->total.count);
		if (function->lib != NUMBER_NONE && !libraries[function->lib]++)
			loli_add(&sums->libraries[function->lib].total, node->total.bytes, node->total.count);
	}
	free(on_path);
	free(libraries);
	free(path);
	return made;
}
