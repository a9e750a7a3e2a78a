/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path-to-root.txt: the ways on which GC roots hold an object. First the shortest; then, through its other referrers,
 * up to nine more, each that referrer's own shortest, which share no object but the root and the end with those before.
 * A line a step: how it is referred to, its class, where it is in the tree.
 */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

#define PATHS_MOST 10
/* Referrers that are looked at for further paths: the nearest to a root. */
#define CANDIDATES_MOST 4096
/* Nodes of a further path; the graph tells no larger distances apart. */
#define FURTHER_MOST 254

#define PATH_STEP 512

/* Nodes from the root to the end. */
struct path {
	uint32_t *nodes;
	size_t count;
};

struct paths {
	uint32_t end;
	unsigned users;		/* counted under the lock of what keeps them */
	struct path list[PATHS_MOST];
	unsigned count;
};

static void free_paths(struct paths *paths)
{
	for (unsigned i = 0; i < paths->count; i++)
		free(paths->list[i].nodes);
}

void path_cache_init(struct path_cache *cache)
{
	*cache = (struct path_cache){ .last = NULL };
	pthread_mutex_init(&cache->lock, NULL);
}

/* With the lock held, or when nobody is left. */
static void put_paths_locked(struct paths *paths)
{
	if (!paths || --paths->users)
		return;
	free_paths(paths);
	free(paths);
}

void path_cache_free(struct path_cache *cache)
{
	put_paths_locked(cache->last);
	pthread_mutex_destroy(&cache->lock);
}

/* Adds the way that ends with `last`, and with `end` behind it unless that is NODE_NONE. False without memory. */
static bool add_path(const struct graph *graph, struct paths *paths, uint32_t last, uint32_t end)
{
	size_t count = end != NODE_NONE;
	for (uint32_t node = last; node != NODE_ROOT; node = graph_before(graph, node))
		count++;
	struct path *path = &paths->list[paths->count];
	*path = (struct path){ malloc(count * sizeof *path->nodes), count };
	if (!path->nodes)
		return false;
	paths->count++;
	if (end != NODE_NONE)
		path->nodes[--count] = end;
	for (uint32_t node = last; node != NODE_ROOT; node = graph_before(graph, node))
		path->nodes[--count] = node;
	return true;
}

/* --- further paths --- */

struct candidate {
	uint32_t node;
	unsigned distance;
	struct name class;
	char *field;		/* by which it holds the end */
};

/* Keeps the first by name; of an array's elements the first. */
static bool least_field(void *context, uint64_t offset, const char *label, size_t len, bool holds)
{
	char **least = context;
	(void)offset;
	if (!holds)
		return true;
	char *text = !*least || strncmp(label, *least, len) <= 0 ? strndup(label, len) : NULL;
	if (text && (!*least || strcmp(text, *least) < 0)) {
		free(*least);
		*least = text;
	} else {
		free(text);
	}
	return *label != '[';
}

/* The first, by name, of the fields by which `owner` holds `id`; NULL if there is none. To be freed. */
static char *field_of(const struct heap *heap, uint64_t owner, uint64_t id)
{
	char *field = NULL;
	each_reference(heap, owner, id, least_field, &field);
	return field;
}

static int compare_distances(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	const int order = memcmp(x->class.text, y->class.text, x->class.len < y->class.len ? x->class.len : y->class.len);
	if (order || x->class.len != y->class.len)
		return order ? order : x->class.len < y->class.len ? -1 : 1;
	const int fields = strcmp(x->field ? x->field : "", y->field ? y->field : "");
	return fields ? fields : compare_distances(a, b);
}

/* The nodes that paths so far go through, without their roots and the end: a hash that stands half empty. */
struct used {
	uint32_t *slots;
	size_t slot_count;
};

static size_t used_slot(const struct used *used, uint32_t node)
{
	size_t at = (size_t)((node * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (used->slot_count - 1);
	while (used->slots[at] != NODE_NONE && used->slots[at] != node)
		at = (at + 1) & (used->slot_count - 1);
	return at;
}

static bool open_used(struct used *used, size_t most)
{
	used->slot_count = 64;
	while (used->slot_count < 2 * most)
		used->slot_count *= 2;
	used->slots = malloc(used->slot_count * sizeof *used->slots);
	if (used->slots)
		memset(used->slots, 0xff, used->slot_count * sizeof *used->slots);
	return used->slots != NULL;
}

static void use(struct used *used, const struct path *path)
{
	for (size_t i = 1; i + 1 < path->count; i++)
		used->slots[used_slot(used, path->nodes[i])] = path->nodes[i];
}

/* Does the way to `node` meet the end, or a node that is used? Its root may be shared, but not be the end. */
static bool is_apart(const struct graph *graph, const struct used *used, uint32_t node, uint32_t end)
{
	for (; node != NODE_ROOT; node = graph_before(graph, node)) {
		const bool root = graph_before(graph, node) == NODE_ROOT;
		if (node == end || (!root && used->slots[used_slot(used, node)] == node))
			return false;
	}
	return true;
}

static size_t find_candidates(const struct node *file, const struct referrers *referrers, uint32_t last,
			      struct candidate *candidates)
{
	const struct graph *graph = node_graph(file);
	const struct heap *heap = file->heap;
	size_t count = 0;
	for (size_t i = 0; i < referrers->count; i++) {
		const uint32_t node = referrers->list[i];
		const unsigned distance = graph_distance(graph, node);
		if (node != last && graph_before(graph, node) != NODE_NONE && distance < FURTHER_MOST)
			candidates[count++] = (struct candidate){ .node = node, .distance = distance };
	}
	qsort(candidates, count, sizeof *candidates, compare_distances);
	count = count < CANDIDATES_MOST ? count : CANDIDATES_MOST;
	for (size_t i = 0; i < count; i++) {
		const uint64_t id = graph_id(graph, candidates[i].node);
		const struct class *class = class_find(heap, id);
		struct object object;
		if (class && class->offset)
			candidates[i].class = class->name;
		else if (heap_find(heap, id, &object))
			candidates[i].class = object.class->name;
		candidates[i].field = field_of(heap, id, graph_id(graph, referrers->node));
	}
	qsort(candidates, count, sizeof *candidates, compare_candidates);
	return count;
}

static bool add_further(const struct node *file, struct paths *paths, uint32_t end)
{
	struct graph *graph = node_graph(file);
	const uint32_t last = graph_before(graph, end);
	struct referrers *referrers = graph_referrers(graph, end);
	struct candidate *candidates = referrers ? malloc((referrers->count + 1) * sizeof *candidates) : NULL;
	struct used used = { NULL, 0 };
	bool whole = candidates && open_used(&used, paths->list[0].count + PATHS_MOST * (size_t)FURTHER_MOST);
	const size_t count = whole ? find_candidates(file, referrers, last, candidates) : 0;
	if (whole)
		use(&used, &paths->list[0]);
	for (size_t i = 0; i < count; i++) {
		const struct candidate *candidate = &candidates[i];
		/* Without a field it only refers to the end, as a java.lang.ref.Reference. */
		if (whole && paths->count < PATHS_MOST && candidate->field && is_apart(graph, &used, candidate->node, end)) {
			whole = add_path(graph, paths, candidate->node, end);
			if (whole)
				use(&used, &paths->list[paths->count - 1]);
		}
		free(candidate->field);
	}
	free(candidates);
	free(used.slots);
	referrers_put(referrers);
	return whole;
}

/* The paths to `end`, those asked for last from what is kept: a long one is read in many pieces. NULL without memory. */
static struct paths *get_paths(const struct node *file, uint32_t end)
{
	struct path_cache *cache = &node_dump(file)->paths;
	pthread_mutex_lock(&cache->lock);
	struct paths *paths = cache->last && cache->last->end == end ? cache->last : NULL;
	if (paths)
		paths->users++;
	pthread_mutex_unlock(&cache->lock);
	if (paths)
		return paths;
	paths = calloc(1, sizeof *paths);
	if (!paths)
		return NULL;
	*paths = (struct paths){ .end = end, .users = 2 };
	if (!add_path(node_graph(file), paths, end, NODE_NONE) || !add_further(file, paths, end)) {
		free_paths(paths);
		free(paths);
		return NULL;
	}
	if (input_touched_bad) { /* made of a file that was cut meanwhile: this answer fails, and the next one is made anew */
		paths->users = 1;
		return paths;
	}
	pthread_mutex_lock(&cache->lock);
	put_paths_locked(cache->last);
	cache->last = paths;
	pthread_mutex_unlock(&cache->lock);
	return paths;
}

/* --- the text --- */

static void put_roots(struct text *text, const struct node *file, uint64_t id)
{
	const struct roots *roots = heap_roots(file->heap);
	bool any = false;
	for (size_t first = 0, end; roots && first < roots->count; first = end) {
		/* Of each kind in turn, which are sorted by id. */
		const uint8_t tag = roots->list[first].tag;
		size_t count, low = first, high;
		count = roots_of(roots, tag, &first);
		high = end = first + count;
		while (low < high) {
			const size_t mid = low + (high - low) / 2;
			if (roots->list[mid].id < id)
				low = mid + 1;
			else
				high = mid;
		}
		if (low == end || roots->list[low].id != id || !root_tag_name(tag))
			continue;
		text_puts(text, any ? ", " : "root: ");
		text_puts(text, root_tag_name(tag));
		any = true;
	}
	if (!any)
		text_puts(text, "root: loaded class");
}

/* ".next", "[3]", "<super>": how one object holds another. */
static void put_field(struct text *text, const struct heap *heap, uint64_t owner, uint64_t id)
{
	char *field = field_of(heap, owner, id);
	if (field && *field != '[' && *field != '<')
		text_putc(text, '.');
	text_escaped(text, field ? field : "?", field ? strlen(field) : 1);
	free(field);
}

static void put_step(struct text *text, const struct node *file, const struct path *path, size_t i)
{
	const struct graph *graph = node_graph(file);
	const struct heap *heap = file->heap;
	const uint64_t id = graph_id(graph, path->nodes[i]);
	struct object object;
	struct string string;
	if (!i) {
		put_roots(text, file, id);
	} else {
		put_field(text, heap, graph_id(graph, path->nodes[i - 1]), id);
	}
	text_putc(text, '\t');
	put_class_of(text, heap, id);
	if (heap_find(heap, id, &object) && heap_string(heap, &object, &string)) {
		text_puts(text, " \"");
		text_puts(text, text_string(text, &string, TEXT_LINE_CHARS) ? "\"" : "\"…");
	}
	text_putc(text, '\t');
	target_object(file, id, text);
	text_putc(text, '\n');
}

/* Steps of a path in one cell: the first ones, and the last; of one too long to count, the last only. */
#define SHORT_FIRST 6
#define SHORT_LAST 6

/* The last steps to a node, in their order; their number. */
static unsigned last_steps(const struct graph *graph, uint32_t node, uint32_t *nodes, unsigned most)
{
	unsigned count = 0;
	for (; node != NODE_ROOT && count < most; node = graph_before(graph, node))
		nodes[count++] = node;
	for (unsigned i = 0; i < count / 2; i++) {
		const uint32_t kept = nodes[i];
		nodes[i] = nodes[count - 1 - i];
		nodes[count - 1 - i] = kept;
	}
	return count;
}

void put_short_path(struct text *text, const struct node *file, uint32_t node)
{
	const struct graph *graph = node_graph(file);
	uint32_t nodes[FURTHER_MOST];
	if (graph_before(graph, node) == NODE_NONE) {
		text_putc(text, '-');
		return;
	}
	const bool far = graph_distance(graph, node) > FURTHER_MOST;
	const unsigned count = last_steps(graph, node, nodes, far ? SHORT_LAST + 1 : FURTHER_MOST);
	for (unsigned i = 0; i < count; i++) {
		const uint64_t id = graph_id(graph, nodes[i]);
		if (far && !i) {
			text_puts(text, "…");
			continue;
		}
		if (!far && i == SHORT_FIRST && count > SHORT_FIRST + SHORT_LAST) {
			text_printf(text, " … %u more …", count - SHORT_FIRST - SHORT_LAST);
			i = count - SHORT_LAST - 1;
			continue;
		}
		if (i)
			text_putc(text, ' ');
		if (i)
			put_field(text, file->heap, graph_id(graph, nodes[i - 1]), id);
		else
			put_roots(text, file, id);
		text_putc(text, ' ');
		put_class_of(text, file->heap, id);
	}
}

/* A piece is a line; the first of each path has its heading before it. */
static void write_paths(const struct node *file, uint64_t first, struct pages *pages)
{
	const struct graph *graph = node_graph(file);
	struct text *text = &pages->text;
	struct path_cache *cache = &node_dump(file)->paths;
	uint64_t id, before = 0;
	uint32_t end;
	if (!subject_of(file, &id, &end))
		return;
	if (graph_before(graph, end) == NODE_NONE) {
		if (!first) {
			text_puts(text, "no strong path from a GC root\n");
			pages_next(pages);
		}
		return;
	}
	struct paths *paths = get_paths(file, end);
	text->failed |= !paths;
	bool more = paths != NULL;
	for (unsigned i = 0; more && i < paths->count; i++) {
		const struct path *path = &paths->list[i];
		for (size_t step = first > before ? (size_t)(first - before) : 0; step < path->count && more; step++) {
			if (!step)
				text_printf(text, "%spath %u of %u: %zu objects\n", i ? "\n" : "", i + 1, paths->count, path->count);
			put_step(text, file, path, step);
			more = pages_next(pages);
		}
		before += path->count;
	}
	pthread_mutex_lock(&cache->lock);
	put_paths_locked(paths);
	pthread_mutex_unlock(&cache->lock);
}

const struct pages_ops path_pages = { .step = PATH_STEP, .write = write_paths };
