/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest way from a GC root to each node.
 *
 * Among ways of one length the first is taken, step by step from the root on: by the class's name, then by the field's
 * (lists are in the order of field names), for roots also by content; never by an id, so that two dumps of one state
 * give one answer. A search level by level does this by itself when each node's list is gone through in that order:
 * what is found first was found on the first way.
 */
#include "graph/state.h"

#include <errno.h>
#include <stdlib.h>

/* --- an order that does not know ids --- */

int compare_names(struct name a, struct name b)
{
	const int order = memcmp(a.text, b.text, a.len < b.len ? a.len : b.len);
	return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

static const struct heap *sorting; /* qsort has no context; one builder at a time: see ranks_make() */
static pthread_mutex_t sorting_lock = PTHREAD_MUTEX_INITIALIZER;

static int compare_class_names(const void *a, const void *b)
{
	return compare_names(sorting->classes[*(const uint32_t *)a].name, sorting->classes[*(const uint32_t *)b].name);
}

/* Ranks of class numbers by name, those of class objects behind; classes of one name are equal. NULL without memory. */
static uint32_t *ranks_make(const struct heap *heap)
{
	const uint32_t count = heap->class_count;
	uint32_t *ranks = malloc((2 * (size_t)count + 1) * sizeof *ranks);
	uint32_t *sorted = malloc((count + 1) * sizeof *sorted);
	if (!ranks || !sorted) {
		free(ranks);
		free(sorted);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	pthread_mutex_lock(&sorting_lock);
	sorting = heap;
	qsort(sorted, count, sizeof *sorted, compare_class_names);
	pthread_mutex_unlock(&sorting_lock);
	uint32_t rank = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (i && compare_names(heap->classes[sorted[i - 1]].name, heap->classes[sorted[i]].name))
			rank++;
		ranks[sorted[i]] = rank;
		ranks[count + sorted[i]] = count + rank;
	}
	free(sorted);
	return ranks;
}

/* Bytes of an object that its content is compared by. */
#define CONTENT_MOST 1024

/* A summary of an object's own values: primitive ones and String texts as they are, references by class name. */
static uint64_t digest(const struct heap *heap, const struct object *object, unsigned depth, uint8_t *out, size_t room);

static size_t put(uint8_t *out, size_t len, size_t room, const void *data, size_t size)
{
	size = size < room - len ? size : room - len;
	memcpy(out + len, data, size);
	return len + size;
}

static uint64_t digest(const struct heap *heap, const struct object *object, unsigned depth, uint8_t *out, size_t room)
{
	struct value_walk walk;
	struct string string;
	size_t len = 0;
	if (heap_string(heap, object, &string))
		return put(out, 0, room, string.data, string.units * (string.coding == STRING_LATIN1 ? 1 : 2));
	value_walk_start(&walk, heap, object);
	while (len < room && value_walk_next(&walk)) {
		struct object to;
		if (walk.type != TYPE_OBJECT) {
			len = put(out, len, room, walk.value, type_width(walk.type, heap->id_width));
			continue;
		}
		const uint64_t id = read_id(walk.value, heap->id_width);
		const struct class *class = class_find(heap, id);
		if (class) {
			len = put(out, len, room, class->name.text, class->name.len);
		} else if (heap_find(heap, id, &to)) {
			len = put(out, len, room, to.class->name.text, to.class->name.len);
			if (depth)
				len += digest(heap, &to, depth - 1, out + len, room - len);
		} else {
			len = put(out, len, room, "-", 1);
		}
	}
	return len;
}

/* A root, with what it is compared by. */
struct ranked_root {
	uint32_t node, rank;
	uint8_t tag;
	uint8_t *content;	/* made where it is needed */
	uint32_t content_len;
};

static void find_content(const struct heap *heap, uint64_t id, struct ranked_root *root)
{
	uint8_t content[CONTENT_MOST];
	struct object object;
	if (!heap_find(heap, id, &object))
		return;
	root->content_len = (uint32_t)digest(heap, &object, 1, content, sizeof content);
	root->content = malloc(root->content_len + 1);
	if (root->content)
		memcpy(root->content, content, root->content_len);
	else
		root->content_len = 0;
}

static int compare_roots(const void *a, const void *b)
{
	const struct ranked_root *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	const uint32_t len = x->content_len < y->content_len ? x->content_len : y->content_len;
	const int order = len ? memcmp(x->content, y->content, len) : 0;
	if (order || x->content_len != y->content_len)
		return order ? order : x->content_len < y->content_len ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node; /* nothing tells them apart */
}

/* All nodes directly below the virtual root, in their order. NULL without memory. */
static struct ranked_root *order_roots(const struct graph *graph, const uint32_t *ranks, size_t *count)
{
	const struct heap *heap = graph->heap;
	const struct roots *found = heap_roots(heap);
	const size_t most = (found ? found->count : 0) + (graph->lacks_roots ? heap->class_count : 0);
	struct ranked_root *roots = calloc(most + 1, sizeof *roots);
	*count = 0;
	if (!roots || !found) {
		free(roots);
		return NULL;
	}
	for (size_t i = 0; i < most; i++) {
		const bool stand_in = i >= found->count; /* a class, where there are no roots */
		const struct class *class = stand_in ? &heap->classes[i - found->count] : NULL;
		if (stand_in ? !class->offset : found->list[i].tag == ROOT_UNREACHABLE || found->list[i].tag == ROOT_FINALIZING)
			continue;
		const uint32_t node = number_of(&graph->numbers, stand_in ? class->id : found->list[i].id);
		if (node >= graph->lists.count)
			continue;
		struct ranked_root *root = &roots[(*count)++];
		*root = (struct ranked_root){ .node = node, .rank = ranks[graph->class_at[node]] };
		if (graph->class_at[node] < heap->class_count)
			find_content(heap, number_id(&graph->numbers, node), root);
	}
	qsort(roots, *count, sizeof *roots, compare_roots);
	return roots;
}

/* --- the search --- */

static int compare_keys(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

struct breadth {
	struct graph *graph;
	const uint32_t *ranks;
	uint32_t *queue;
	uint32_t tail;
	uint64_t *keys;		/* rank << 32 | place in the queue, of what one node's list adds */
	uint32_t *added;
	size_t capacity;
};

/* Puts what one node added, queue[first] to the end, in the order of class names; equal ones stay as they are. */
static int order_added(struct breadth *breadth, uint32_t first)
{
	const uint32_t count = breadth->tail - first;
	bool sorted = true;
	if (count > breadth->capacity || !breadth->keys) {
		free(breadth->keys);
		free(breadth->added);
		breadth->capacity = 2 * (size_t)count + 16;
		breadth->keys = malloc(breadth->capacity * sizeof *breadth->keys);
		breadth->added = malloc(breadth->capacity * sizeof *breadth->added);
		if (!breadth->keys || !breadth->added)
			return ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t class = breadth->graph->class_at[breadth->queue[first + i]];
		breadth->added[i] = breadth->queue[first + i];
		breadth->keys[i] = (uint64_t)breadth->ranks[class] << 32 | i;
		sorted &= !i || breadth->keys[i - 1] < breadth->keys[i];
	}
	if (sorted)
		return 0;
	qsort(breadth->keys, count, sizeof *breadth->keys, compare_keys);
	for (uint32_t i = 0; i < count; i++)
		breadth->queue[first + i] = breadth->added[(uint32_t)breadth->keys[i]];
	return 0;
}

static void enqueue(struct breadth *breadth, uint32_t node, uint32_t before)
{
	struct graph *graph = breadth->graph;
	if (graph->before[node] != NODE_NONE)
		return;
	graph->before[node] = before;
	const unsigned above = before == NODE_ROOT ? 0 : graph->distance[before];
	graph->distance[node] = (uint8_t)(above < UINT8_MAX ? above + 1 : above);
	breadth->queue[breadth->tail++] = node;
}

/* From what is in the queue on. */
static int search(struct breadth *breadth, uint32_t head)
{
	struct graph *graph = breadth->graph;
	int rc = 0;
	for (; head < breadth->tail && !rc; head++) {
		const uint32_t node = breadth->queue[head], first = breadth->tail;
		uint32_t at = graph->lists.start[node];
		if (at == LIST_NONE)
			continue;
		for (bool more = true; more; at++) {
			more = !(graph->lists.targets[at] & LIST_LAST);
			enqueue(breadth, graph->lists.targets[at] & ~LIST_LAST, node);
		}
		if (breadth->tail > first + 1)
			rc = order_added(breadth, first);
		if (!(head & 0xffff) && atomic_load_explicit(&graph->cancel, memory_order_relaxed))
			rc = ECANCELED;
	}
	return rc;
}

/* Real roots first: only what they do not lead to is held by classes that are merely loaded. */
static int search_all(struct breadth *breadth, const struct ranked_root *roots, size_t root_count)
{
	const struct graph *graph = breadth->graph;
	for (size_t i = 0; i < root_count; i++)
		enqueue(breadth, roots[i].node, NODE_ROOT);
	int rc = search(breadth, 0);
	const uint32_t first = breadth->tail;
	for (size_t i = 0; i < graph->loaded_count && !rc; i++)
		enqueue(breadth, graph->loaded[i], NODE_ROOT);
	if (!rc)
		rc = order_added(breadth, first);
	return rc ? rc : search(breadth, first);
}

int build_paths(struct graph *graph)
{
	const uint64_t count = graph->lists.count;
	struct breadth breadth = { .graph = graph };
	size_t root_count = 0;
	int rc = find_classes(graph);
	if (rc)
		return rc;
	graph_phase(graph, "paths");
	uint32_t *ranks = ranks_make(graph->heap);
	struct ranked_root *roots = ranks ? order_roots(graph, ranks, &root_count) : NULL;
	breadth.ranks = ranks;
	graph->before = store_get(&graph->store, count, sizeof *graph->before);
	graph->distance = store_get(&graph->store, count, sizeof *graph->distance);
	breadth.queue = store_get(&graph->store, count, sizeof *breadth.queue);
	if (roots && graph->before && graph->distance && breadth.queue) {
		memset(graph->before, 0xff, count * sizeof *graph->before);
		rc = search_all(&breadth, roots, root_count);
	} else {
		rc = ENOMEM;
	}
	for (size_t i = 0; i < root_count; i++)
		free(roots[i].content);
	free(roots);
	free(ranks);
	free(breadth.keys);
	free(breadth.added);
	store_put(&graph->store, breadth.queue, count, sizeof *breadth.queue);
	return rc;
}

uint32_t graph_before(const struct graph *graph, uint32_t node)
{
	if (node < graph->lists.count)
		return graph->before[node];
	const uint32_t owner = graph->leaf_owner[node - graph->lists.count];
	return owner == NODE_NONE || graph->before[owner] == NODE_NONE ? NODE_NONE : owner;
}

unsigned graph_distance(const struct graph *graph, uint32_t node)
{
	if (node < graph->lists.count)
		return graph->distance[node];
	const uint32_t owner = graph->leaf_owner[node - graph->lists.count];
	if (owner == NODE_NONE || !graph->distance[owner])
		return 0;
	return graph->distance[owner] + (graph->distance[owner] < UINT8_MAX ? 1u : 0u);
}
