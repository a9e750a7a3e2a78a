/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries.tsv of a collection's folder, and collections/collections.tsv, a line a collection, emptiest first.
 *
 * The size of entries.tsv is known by reading what the collection holds, as that of a String's value.txt is: the one
 * collection's table, nodes, and the texts of its keys and values, nothing else. Of a large one each read goes on where
 * one before it ended, since a chain of nodes has no middle to begin in.
 */
#include "tree/node.h"

#include "heap/collections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TABLE_STEP 256

/* --- entries.tsv --- */

bool has_entries(const struct node *node)
{
	struct object object;
	return heap_object(node->heap, node->key, &object) && object.kind == OBJECT_INSTANCE &&
	       collection_layout(node->heap, object.class);
}

static bool has_name(const struct class *class, const char *name)
{
	return class->name.len == strlen(name) && !memcmp(class->name.text, name, class->name.len);
}

/* The value of a java.lang.Integer and its like. */
static bool put_boxed(struct text *text, const struct heap *heap, const struct object *object)
{
	static const struct {
		const char *class;
		uint8_t type;
	} boxes[] = { { "java.lang.Boolean", TYPE_BOOLEAN }, { "java.lang.Character", TYPE_CHAR },
		      { "java.lang.Float", TYPE_FLOAT },     { "java.lang.Double", TYPE_DOUBLE },
		      { "java.lang.Byte", TYPE_BYTE },	     { "java.lang.Short", TYPE_SHORT },
		      { "java.lang.Integer", TYPE_INT },     { "java.lang.Long", TYPE_LONG } };
	if (object->class->name.len < 10 || memcmp(object->class->name.text, "java.lang.", 10))
		return false;
	for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
		if (!has_name(object->class, boxes[i].class))
			continue;
		const int32_t at = field_offset(heap, object->class, "value", boxes[i].type);
		if (at < 0 || (uint64_t)at + type_width(boxes[i].type, heap->id_width) > object->data_len)
			return false;
		text_primitive(text, boxes[i].type, object->data + at);
		return true;
	}
	return false;
}

static void put_cut_string(struct text *text, const struct string *string)
{
	if (!text_string(text, string, TEXT_CELL_CHARS))
		text_puts(text, "…");
}

/* The name of an enum's constant. */
static bool put_constant(struct text *text, const struct heap *heap, const struct object *object)
{
	const struct class *class = object->class, *enums = collection_enum(heap);
	struct object name;
	struct string string;
	while (class && class != enums)
		class = class_super(heap, class);
	if (!class || object->kind != OBJECT_INSTANCE || !object_field(heap, object, "name", &name) ||
	    !heap_string(heap, &name, &string))
		return false;
	put_cut_string(text, &string);
	return true;
}

/* What an object is, in a few words: its text or number where it has one, else its class. */
static void put_short(struct text *text, const struct heap *heap, uint64_t id)
{
	struct object object;
	struct string string;
	const struct class *class = class_find(heap, id);
	if (!id) {
		text_puts(text, "null");
	} else if (class) {
		text_puts(text, "class ");
		text_name(text, class->name);
	} else if (!heap_find(heap, id, &object)) {
		text_puts(text, "(not in the dump)");
	} else if (heap_string(heap, &object, &string)) {
		put_cut_string(text, &string);
	} else if (!put_boxed(text, heap, &object) && !put_constant(text, heap, &object)) {
		text_name(text, object.class->name);
	}
}

/* Two cells: the id and the text of an object; - and a number; - and -, or `instead`, for nothing. */
static void put_cells(struct text *text, const struct heap *heap, const struct collection_value *value,
		      const uint64_t *instead)
{
	if (value->type == TYPE_OBJECT && value->id) {
		text_id(text, value->id);
		text_putc(text, '\t');
		put_short(text, heap, value->id);
		return;
	}
	text_puts(text, value->type == TYPE_OBJECT ? "null\t" : "-\t");
	if (value->type == TYPE_OBJECT)
		text_puts(text, "null");
	else if (value->type)
		text_primitive(text, value->type, value->value);
	else if (instead)
		text_number(text, *instead);
	else
		text_putc(text, '-');
}

static void put_entry(struct text *text, const struct collection_walk *walk, const struct collection_entry *entry)
{
	put_cells(text, walk->heap, &entry->key, walk->sort == COLLECTION_LIST ? &entry->number : NULL);
	text_putc(text, '\t');
	put_cells(text, walk->heap, &entry->value, NULL);
	text_putc(text, '\n');
}

void walk_cache_init(struct walk_cache *cache)
{
	memset(cache, 0, sizeof *cache);
	pthread_mutex_init(&cache->lock, NULL);
}

void walk_cache_free(struct walk_cache *cache)
{
	for (unsigned i = 0; i < WALKS_KEPT; i++)
		free(cache->kept[i].walk);
	pthread_mutex_destroy(&cache->lock);
}

/* Takes up the walk over a collection that was left nearest before an entry, if that is ahead of `walk`. */
static void find_walk(const struct node *node, uint64_t number, struct collection_walk *walk)
{
	struct walk_cache *cache = &node->tree->walks;
	const struct collection_walk *nearest = walk;
	pthread_mutex_lock(&cache->lock);
	for (unsigned i = 0; i < WALKS_KEPT; i++) {
		struct kept_walk *kept = &cache->kept[i];
		/* What was decoded before the file was cut may be there no more. */
		if (kept->walk && kept->heap == node->heap && kept->key == node->key &&
		    kept->epoch == atomic_load(&input_epoch) && kept->walk->number <= number &&
		    kept->walk->number > nearest->number) {
			nearest = kept->walk;
			kept->used = ++cache->clock;
		}
	}
	if (nearest != walk)
		*walk = *nearest;
	pthread_mutex_unlock(&cache->lock);
}

/* Keeps a walk, to go on from there, in the place of the one that was used longest ago. */
static void keep_walk(const struct node *node, uint64_t epoch, const struct collection_walk *walk)
{
	struct walk_cache *cache = &node->tree->walks;
	struct kept_walk *place = &cache->kept[0];
	struct collection_walk *copy = malloc(sizeof *copy);
	if (!copy || input_touched_bad) {
		free(copy);
		return;
	}
	*copy = *walk;
	pthread_mutex_lock(&cache->lock);
	for (unsigned i = 1; i < WALKS_KEPT; i++)
		if (cache->kept[i].used < place->used)
			place = &cache->kept[i];
	free(place->walk);
	*place = (struct kept_walk){ node->heap, node->key, epoch, ++cache->clock, copy };
	pthread_mutex_unlock(&cache->lock);
}

/* Piece 0 is the header, piece n entry n - 1. */
static void write_entries(const struct node *node, uint64_t first, struct pages *pages)
{
	const uint64_t epoch = atomic_load(&input_epoch);
	struct object object;
	struct collection_walk walk, left;
	struct collection_entry entry;
	bool more = true;
	if (!heap_object(node->heap, node->key, &object))
		return;
	collection_walk_start(&walk, node->heap, &object);
	left = walk;
	if (!first) {
		text_puts(&pages->text, "key_id\tkey\tvalue_id\tvalue\n");
		more = pages_next(pages);
	} else {
		find_walk(node, first - 1, &walk);
		collection_walk_skip(&walk, first - 1 - walk.number);
	}
	while (more) {
		/* The next read begins at such a piece. */
		if ((walk.number + 1) % TABLE_STEP == 0)
			left = walk;
		if (!collection_walk_next(&walk, &entry))
			break;
		put_entry(&pages->text, &walk, &entry);
		more = pages_next(pages);
	}
	if (left.number)
		keep_walk(node, epoch, &left);
}

const struct pages_ops entries_pages = { .step = TABLE_STEP, .write = write_entries };

/* --- collections/collections.tsv --- */

#define FILL_NONE UINT32_MAX
#define WASTED_MOST ((UINT64_C(1) << 40) - 1)
#define RANK_MOST ((1u << 24) - 1)

/* One line. What is not in it is looked up when it is written. */
struct measured {
	uint64_t id;
	uint64_t wasted : 40;
	uint64_t rank : 24;	/* of its class by name */
	uint32_t size;
	uint32_t fill;		/* hundredths, as shown */
};

struct collection_lines {
	size_t count, capacity;
	struct measured *list;
};

void collection_lines_free(struct collection_lines *lines)
{
	if (lines)
		free(lines->list);
	free(lines);
}

static int compare_lines(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;
	if (x->fill != y->fill)
		return x->fill < y->fill ? -1 : 1;
	if (x->wasted != y->wasted)
		return x->wasted > y->wasted ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* In hundredths, as printf() rounds them: what looks equal is in the order of the next column. */
static uint32_t fill_of(const struct collection_measure *measure)
{
	char text[32], *end;
	if (!measure->has_capacity || !measure->capacity)
		return FILL_NONE;
	snprintf(text, sizeof text, "%.2f", (double)measure->size / (double)measure->capacity);
	const uint64_t whole = strtoull(text, &end, 10);
	return whole < FILL_NONE / 100 - 1 ? (uint32_t)(whole * 100 + strtoull(end + 1, NULL, 10)) : FILL_NONE - 1;
}

static bool add_line(struct collection_lines *lines, const struct measured *line)
{
	if (lines->count == lines->capacity) {
		const size_t wanted = lines->capacity ? lines->capacity * 2 : 1024;
		struct measured *grown = reallocarray(lines->list, wanted, sizeof *grown);
		if (!grown)
			return false;
		lines->list = grown;
		lines->capacity = wanted;
	}
	lines->list[lines->count++] = *line;
	return true;
}

/* The collections of one class. */
static bool add_class(const struct heap *heap, const struct class *class, uint32_t rank, uint64_t *budget,
		      struct collection_lines *lines)
{
	struct cursor cursor;
	struct object object;
	cursor_seek(&cursor, heap, class, 0);
	while (cursor_next(&cursor) && cursor_object(&cursor, &object)) {
		struct collection_measure measure;
		struct found found;
		/* Of several objects of one id the first is the one shown. */
		if (object.kind != OBJECT_INSTANCE ||
		    (heap->scan.index.duplicates &&
		     (class_find(heap, object.id) || !index_find(&heap->scan.index, object.id, &found) ||
		      found.offset != object.offset)))
			continue;
		collection_measure(heap, &object, budget, &measure);
		const struct measured line = {
			.id = object.id,
			.wasted = (measure.wasted < WASTED_MOST ? measure.wasted : WASTED_MOST) & WASTED_MOST,
			.rank = (rank < RANK_MOST ? rank : RANK_MOST) & RANK_MOST,
			.size = (uint32_t)(measure.size < UINT32_MAX ? measure.size : UINT32_MAX),
			.fill = fill_of(&measure),
		};
		if (!add_line(lines, &line))
			return false;
	}
	return true;
}

static struct collection_lines *make_lines(const struct node *node)
{
	const struct heap *heap = node->heap;
	const struct tree_dump *dump = node_dump(node);
	struct collection_lines *lines = calloc(1, sizeof *lines);
	uint64_t budget = heap->end_offset - heap->first_offset;
	bool whole = lines != NULL;
	for (uint32_t i = 0; whole && i < heap->class_count; i++) {
		const struct class *class = &heap->classes[dump->by_name[i]];
		if (class->count && !class->element_type && collection_layout(heap, class))
			whole = add_class(heap, class, i, &budget, lines);
	}
	if (!whole) {
		collection_lines_free(lines);
		return NULL;
	}
	if (lines->count)
		qsort(lines->list, lines->count, sizeof *lines->list, compare_lines);
	return lines;
}

/* Made at first use, kept until the tree is closed. NULL where they cannot be told. */
static const struct collection_lines *node_lines(const struct node *node)
{
	struct collection_lines *_Atomic *slot = &node_dump(node)->collections;
	struct collection_lines *lines = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (lines)
		return lines;
	lines = make_lines(node);
	if (!lines)
		input_touched_bad = true; /* no answer is better than an empty one, which the kernel would keep */
	if (lines && (input_touched_bad || !atomic_compare_exchange_strong(slot, &other, lines))) {
		collection_lines_free(lines);
		return other;
	}
	return lines;
}

bool shows_collections(const struct node *node)
{
	return !heap_graph_of(node->heap); /* which has no sizes of arrays */
}

static void put_line(struct text *text, const struct heap *heap, const struct measured *line)
{
	struct object object;
	struct collection_measure measure = { 0 };
	text_id(text, line->id);
	text_putc(text, '\t');
	if (heap_find(heap, line->id, &object)) {
		collection_measure(heap, &object, NULL, &measure);
		text_name(text, object.class->name);
	}
	text_putc(text, '\t');
	if (measure.known)
		text_number(text, line->size);
	else
		text_putc(text, '-'); /* a set of a map of no known layout */
	text_putc(text, '\t');
	if (measure.has_capacity)
		text_number(text, measure.capacity);
	else
		text_putc(text, '-');
	if (line->fill != FILL_NONE)
		text_printf(text, "\t%" PRIu32 ".%02" PRIu32, line->fill / 100, line->fill % 100);
	else
		text_puts(text, "\t-");
	text_printf(text, "\t%" PRIu64 "\n", (uint64_t)line->wasted);
}

static void write_collections(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct collection_lines *lines = node_lines(node);
	if (!lines)
		return;
	if (!first) {
		text_puts(&pages->text, "id\tclass\tsize\tcapacity\tfill\twasted\n");
		if (!pages_next(pages))
			return;
		first = 1;
	}
	for (uint64_t i = first - 1; i < lines->count; i++) {
		put_line(&pages->text, node->heap, &lines->list[i]);
		if (!pages_next(pages))
			return;
	}
}

static uint64_t collection_pieces(const struct node *node)
{
	const struct collection_lines *lines = node_lines(node);
	return 1 + (lines ? lines->count : 0);
}

const struct pages_ops collections_pages = { .step = TABLE_STEP, .write = write_collections,
					     .pieces = collection_pieces };
