/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/report.h"

#include <stdlib.h>

#define LEAST 1024		/* bytes of growth that are told */
#define DEPTH_MOST 8192	/* keys of a stack take the square of its depth */
#define DETACHED NUMBER_NONE	/* the parent of a chain that no root leads to */

enum which { ALL, HELD, AT_MOMENT };

struct node {
	uint32_t parent;	/* 0 is the root of all */
	uint32_t place;
	uint32_t depth;
	bool has_children;
	int64_t size, count;
};

/* One profile's tree. */
struct built {
	const struct loli *loli;
	struct loli_records records;
	struct loli_sums *names;
	struct table place_numbers; /* by address and library's key */
	struct report_place *places;
	size_t place_count, place_capacity;
	struct table keys;	/* numbers of nodes */
	struct node *nodes;
	size_t node_count, node_capacity;
	uint32_t *stack_leaves;	/* where stacks end; NUMBER_NONE: not known yet, 0: they have no frames that are wanted */
	struct table leaves;	/* the same by the stacks' bytes */
	uint32_t *frames;	/* places of the stack in hand */
	size_t frame_capacity;
	uint64_t count;
	int64_t size;
};

static bool stopped(const struct built *built)
{
	return atomic_load_explicit(&built->loli->stop, memory_order_relaxed);
}

/* --- names --- */

/* The text of a place's name; NUMBER_NONE without memory. */
static uint32_t name_place(struct built *built, uint32_t library, uint64_t address)
{
	struct loli_sums *names = built->names;
	struct loli_string string = { NULL, 0 };
	size_t len = 0;
	/* What the table of strings lacks is called nothing. */
	const uint32_t of = library != NUMBER_NONE ? library : names_library_called(names, "", 0);
	if (of == NUMBER_NONE)
		return of;
	const bool entry = names_entry(names, of, address, &string);
	const char *filled = string.count ? NULL : sums_filled(names, of, address, &len);
	if (filled || (entry && !string.count))
		return texts_put(&names->texts, filled ? filled : "", len);
	if (!entry) {
		char made[NAMES_MADE];
		len = names_made_of(sums_text(names, names->libraries[of].text), address, made);
		return texts_put(&names->texts, made, len);
	}
	char *decoded = malloc(3 * (size_t)string.count);
	if (!decoded)
		return NUMBER_NONE;
	const uint32_t text = texts_put(&names->texts, decoded, loli_utf8(&string, decoded));
	free(decoded);
	return text;
}

static uint32_t place_of(struct built *built, uint32_t key, uint64_t address)
{
	uint32_t *number = table_put(&built->place_numbers, (struct table_key){ address, key });
	void *list = built->places;
	if (!number || *number != NUMBER_NONE)
		return number ? *number : NUMBER_NONE;
	*number = 0; /* whatever happens, it is set */
	const uint32_t library = table_get(&built->names->keys, (struct table_key){ key, 0 });
	const uint32_t text = name_place(built, library, address);
	if (text == NUMBER_NONE || !table_grow(&list, built->place_count, &built->place_capacity, sizeof *built->places))
		return NUMBER_NONE;
	built->places = list;
	const struct text_entry name = sums_text(built->names, text);
	built->places[built->place_count] = (struct report_place){ address, library, text, loli_hash(name.data, name.len) };
	return *number = (uint32_t)built->place_count++;
}

/* --- the tree --- */

static uint32_t new_node(struct built *built, uint32_t place)
{
	void *list = built->nodes;
	if (built->node_count >= NUMBER_NONE - 1 ||
	    !table_grow(&list, built->node_count, &built->node_capacity, sizeof *built->nodes))
		return NUMBER_NONE;
	built->nodes = list;
	built->nodes[built->node_count] = (struct node){ .place = place };
	return (uint32_t)built->node_count++;
}

/* qHashRange() over the names from a frame to the root. */
static uint32_t hash_path(const struct built *built, uint64_t from, uint64_t depth)
{
	uint32_t hash = 0;
	for (uint64_t i = from; i < depth; i++)
		hash ^= built->places[built->frames[i]].hash + 0x9e3779b9 + (hash << 6) + (hash >> 2);
	return hash;
}

/* Hangs the nodes from `first` on, which are a chain of new ones, below `parent`. */
static void hang(struct built *built, uint32_t first, uint32_t parent)
{
	const uint32_t end = (uint32_t)built->node_count;
	for (uint32_t i = end; i-- > first;) {
		struct node *node = &built->nodes[i];
		node->parent = i + 1 < end ? i + 1 : parent;
		node->depth = node->parent == DETACHED ? 0 : built->nodes[node->parent].depth + 1;
		if (node->parent != DETACHED)
			built->nodes[node->parent].has_children = true;
	}
}

/* Adds a stack, from its leaf on until a node is there already. The leaf, or NUMBER_NONE. */
static uint32_t add_stack(struct built *built, uint64_t depth, int64_t size)
{
	const uint32_t first = (uint32_t)built->node_count;
	for (uint64_t i = 0; i < depth; i++) {
		uint32_t *known = table_put(&built->keys, (struct table_key){ hash_path(built, i, depth), 0 });
		if (!known || stopped(built))
			return NUMBER_NONE;
		const uint32_t node = *known;
		if (node == NUMBER_NONE) {
			*known = new_node(built, built->frames[i]);
			if (*known == NUMBER_NONE) {
				*known = 0;
				return NUMBER_NONE;
			}
			continue;
		}
		if (node < first) {
			hang(built, first, node);
			return i ? first : node;
		}
		/* It meets itself: what is above that node is counted twice, and the chain is lost to the roots. */
		hang(built, first, DETACHED);
		built->nodes[node].has_children = true;
		built->nodes[node].size += size;
		built->nodes[node].count++;
		return first;
	}
	hang(built, first, 0);
	return first;
}

static bool read_frames(struct built *built, const uint8_t *frames, uint64_t depth)
{
	if (depth > built->frame_capacity) {
		uint32_t *larger = reallocarray(built->frames, depth, sizeof *larger);
		if (!larger)
			return false;
		built->frames = larger;
		built->frame_capacity = depth;
	}
	for (uint64_t i = 0; i < depth; i++) {
		built->frames[i] = place_of(built, be32(frames + i * LOLI_FRAME), be64(frames + i * LOLI_FRAME + 4));
		if (built->frames[i] == NUMBER_NONE)
			return false;
	}
	return true;
}

/* The node where a record's stack ends; 0 where that is nowhere, NUMBER_NONE without memory. */
static uint32_t leaf_of(struct built *built, uint32_t stack, uint64_t skip, int64_t size)
{
	uint64_t depth;
	if (stack == NUMBER_NONE)
		return 0;
	if (built->stack_leaves[stack] != NUMBER_NONE)
		return built->stack_leaves[stack];
	const uint8_t *frames = stack_frames(&built->records, stack, &depth);
	if (!frames)
		return NUMBER_NONE;
	depth = depth > skip && depth <= DEPTH_MOST ? depth - skip : 0;
	uint32_t *leaf = &built->stack_leaves[stack];
	if (!depth)
		return *leaf = 0;
	uint32_t *known = table_put(&built->leaves, table_hash(frames, depth * LOLI_FRAME));
	if (!known)
		return NUMBER_NONE;
	if (*known == NUMBER_NONE)
		*known = read_frames(built, frames, depth) ? add_stack(built, depth, size) : NUMBER_NONE;
	*leaf = *known;
	if (*known == NUMBER_NONE)
		*known = 0;
	return *leaf;
}

static bool is_wanted(const struct built *built, const struct loli_record *record, enum which which,
		      const struct loli_moment *moment)
{
	return record_wanted(built->loli, record) &&
	       (which == ALL || (which == HELD ? !record_freed(&built->records, record) :
						 moment_state(moment, &built->records, record) != MOMENT_GONE));
}

static bool read_records(struct built *built, enum which which, const struct loli_moment *moment, uint64_t skip)
{
	const struct loli_part *part = &built->loli->parts[LOLI_RECORDS];
	struct loli_cursor cursor = loli_cursor(built->loli, part->at);
	for (uint64_t i = 0; i < part->count; i++) {
		struct loli_record record;
		struct loli_uuid uuid;
		if (stopped(built) || !records_next(&cursor, &record, &uuid))
			return false;
		if (!is_wanted(built, &record, which, moment))
			continue;
		const int64_t size = (int32_t)record.size;
		built->size += size;
		built->count++;
		const uint32_t leaf = leaf_of(built, record_stack(&built->records, &uuid), skip, size);
		if (leaf == NUMBER_NONE)
			return false;
		built->nodes[leaf].size += size;
		built->nodes[leaf].count++;
	}
	return true;
}

/* Nodes by depth, the deepest first, so that each comes before its parent; NULL without memory. */
static uint32_t *deepest_first(const struct built *built)
{
	uint32_t most = 0, *order = reallocarray(NULL, built->node_count, sizeof *order);
	for (size_t i = 0; i < built->node_count; i++)
		most = built->nodes[i].depth > most ? built->nodes[i].depth : most;
	size_t *ends = calloc((size_t)most + 2, sizeof *ends);
	if (order && ends) {
		for (size_t i = 0; i < built->node_count; i++)
			ends[most - built->nodes[i].depth + 1]++;
		for (size_t i = 0; i <= most; i++)
			ends[i + 1] += ends[i];
		for (uint32_t i = 0; i < built->node_count; i++)
			order[ends[most - built->nodes[i].depth]++] = i;
	} else {
		free(order);
		order = NULL;
	}
	free(ends);
	return order;
}

/* Adds what all nodes have to what is above them. */
static bool add_up(struct built *built)
{
	uint32_t *order = deepest_first(built);
	for (size_t i = 0; order && i < built->node_count; i++) {
		const struct node *node = &built->nodes[order[i]];
		if (!order[i] || node->parent == DETACHED)
			continue;
		built->nodes[node->parent].size += node->size;
		built->nodes[node->parent].count += node->count;
	}
	free(order);
	return order != NULL;
}

static bool build(struct built *built, const struct loli *loli, enum which which, const struct loli_moment *moment,
		  uint64_t skip)
{
	const uint64_t stacks = loli->parts[LOLI_STACKS].count;
	built->loli = loli;
	built->names = calloc(1, sizeof *built->names);
	built->stack_leaves = reallocarray(NULL, stacks + 1, sizeof *built->stack_leaves);
	if (!built->names || !built->stack_leaves)
		return false;
	built->names->loli = loli;
	for (uint64_t i = 0; i < stacks; i++)
		built->stack_leaves[i] = NUMBER_NONE;
	if (!names_open(built->names) || !records_open(&built->records, loli, true) || new_node(built, 0) == NUMBER_NONE ||
	    !read_records(built, which, moment, skip))
		return false;
	built->nodes[0].size = built->nodes[0].count = 0; /* records without a stack are not of the tree */
	return add_up(built);
}

static void built_close(struct built *built)
{
	sums_close(built->names);
	records_close(&built->records);
	table_free(&built->place_numbers);
	table_free(&built->keys);
	table_free(&built->leaves);
	free(built->places);
	free(built->nodes);
	free(built->stack_leaves);
	free(built->frames);
}

/* --- what is told --- */

/* Leaves what grew: leaves by their growth, and what is above them by that of all their leaves. */
static bool keep_growth(struct built *built, const struct built *baseline, struct report *report)
{
	for (size_t i = 0; i < built->keys.slot_count; i++) {
		const struct table_slot *slot = &built->keys.slots[i];
		if (slot->value == NUMBER_NONE)
			continue;
		struct node *node = &built->nodes[slot->value];
		const uint32_t other = table_get(&baseline->keys, slot->key);
		const struct node none = { .parent = 0 }, *old = other == NUMBER_NONE ? &none : &baseline->nodes[other];
		const int64_t size = node->size - old->size, count = node->count - old->count;
		const bool kept = !node->has_children && size >= LEAST && (old == &none || count > 0);
		node->size = kept ? size : 0;
		node->count = kept ? count : 0;
		report->fresh += kept && old == &none;
	}
	built->nodes[0].size = built->nodes[0].count = 0;
	if (!add_up(built))
		return false;
	for (size_t i = 1; i < built->node_count; i++)
		report->changed += built->nodes[i].count > 0;
	return true;
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct node *nodes = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (nodes[x].parent != nodes[y].parent)
		return nodes[x].parent < nodes[y].parent ? -1 : 1;
	if (nodes[x].size != nodes[y].size)
		return nodes[x].size > nodes[y].size ? -1 : 1;
	return x < y ? -1 : x > y; /* as they were made */
}

/* Lines, root first, for nodes that a root leads to and that hold something. */
static bool put_lines(struct report *report, const struct built *built)
{
	const size_t count = built->node_count;
	uint32_t *order = reallocarray(NULL, count, sizeof *order), *numbers = reallocarray(NULL, count, sizeof *numbers);
	size_t ordered = 1;
	bool made = order && numbers;
	for (size_t i = 1; made && i < count; i++) {
		numbers[i] = NUMBER_NONE;
		if (built->nodes[i].parent != DETACHED && built->nodes[i].count > 0)
			order[ordered++] = (uint32_t)i;
	}
	if (made) {
		order[0] = 0;
		qsort_r(order + 1, ordered - 1, sizeof *order, compare_nodes, built->nodes);
		report->lines = reallocarray(NULL, ordered, sizeof *report->lines);
		made = report->lines && forest_walk(built->nodes, sizeof *built->nodes, count, order, ordered, numbers);
	}
	for (size_t i = 1; made && i < count; i++) {
		const struct node *node = &built->nodes[i];
		if (numbers[i] == NUMBER_NONE)
			continue;
		report->lines[numbers[i] - 1] = (struct report_line){
			.size = node->size, .count = node->count, .place = node->place, .depth = node->depth - 1,
			.parent = node->parent ? numbers[node->parent] - 1 : NUMBER_NONE };
		report->line_count++;
	}
	free(order);
	free(numbers);
	return made;
}

/* What the lines are made of goes with them. */
static void take_names(struct report *report, struct built *built, struct built *baseline)
{
	report->names = built->names;
	report->places = built->places;
	report->baseline_names = baseline->names;
	built->names = baseline->names = NULL;
	built->places = NULL;
}

static struct report *compare(const struct loli *before, const struct loli *after, const struct loli_moment *moment,
			      uint64_t skip)
{
	struct report *report = calloc(1, sizeof *report);
	struct built old = { .loli = before }, new = { .loli = after };
	if (report && build(&old, before, moment ? AT_MOMENT : ALL, moment, skip) &&
	    build(&new, after, moment ? HELD : ALL, NULL, skip)) {
		report->baseline_count = old.count;
		report->baseline_size = old.size;
		report->count = new.count;
		report->size = new.size;
		if (keep_growth(&new, &old, report) && put_lines(report, &new))
			take_names(report, &new, &old);
	}
	built_close(&old);
	built_close(&new);
	if (report && report->names)
		return report;
	report_close(report);
	return NULL;
}

struct report *report_compare(const struct loli *before, const struct loli *after, uint64_t skip)
{
	return compare(before, after, NULL, skip);
}

struct report *report_compare_moment(const struct loli *loli, int64_t time_ms, uint64_t skip)
{
	struct loli_records records = { .loli = loli };
	struct loli_moment moment = { .blocks = NULL };
	struct report *report = NULL;
	if (records_open(&records, loli, false) && moment_open(&moment, &records, time_ms))
		report = compare(loli, loli, &moment, skip);
	moment_close(&moment);
	records_close(&records);
	return report;
}

struct report *report_dump(const struct loli *loli, uint64_t skip)
{
	struct report *report = calloc(1, sizeof *report);
	struct built none = { .loli = loli }, built = { .loli = loli };
	if (report && build(&built, loli, HELD, NULL, skip) && put_lines(report, &built)) {
		report->dump = true;
		report->count = built.count;
		report->size = built.size;
		take_names(report, &built, &none);
	}
	built_close(&built);
	if (report && report->names)
		return report;
	report_close(report);
	return NULL;
}

void report_close(struct report *report)
{
	if (!report)
		return;
	sums_close(report->names);
	sums_close(report->baseline_names);
	free(report->places);
	free(report->lines);
	free(report);
}
