/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/properties.h"

#include <errno.h>
#include <stdlib.h>

/* No real map comes near these; a damaged one may lead in circles. */
#define ENTRIES_MOST 65536
#define BUCKETS_MOST (1 << 20)
#define DEFAULTS_MOST 16
#define WRAPPERS_MOST 4

static const struct {
	const char *class, *names[4];
} sources[] = {
	[SYSTEM_PROPERTIES] = { "java.lang.System", { "props", "unchangeableProps", "systemProperties", NULL } },
	[SYSTEM_ENVIRONMENT] = { "java.lang.ProcessEnvironment",
				 { "theEnvironment", "theUnmodifiableEnvironment", NULL } },
};

/* The id in the static of this name; 0 if there is none. */
static uint64_t static_id(const struct heap *heap, const struct class *class, const char *name)
{
	struct static_walk found;
	if (!class_static(heap, class, name, &found) || found.type != TYPE_OBJECT)
		return 0;
	return read_id(found.value, heap->id_width);
}

bool properties_exist(const struct heap *heap, enum properties_of which)
{
	const struct class *class = class_by_name(heap, sources[which].class);
	if (heap_graph_of(heap) || !class || !class->offset)
		return false; /* a heap graph has no texts */
	for (unsigned i = 0; sources[which].names[i]; i++)
		if (static_id(heap, class, sources[which].names[i]))
			return true;
	return false;
}

/* --- entries --- */

struct reader {
	const struct heap *heap;
	struct properties *properties;
	uint32_t visited;	/* entries, whatever became of them */
	int error;
};

static struct property_part read_part(const struct heap *heap, const struct object *object)
{
	struct property_part part = { .kind = PART_OBJECT, .id = object->id };
	struct object inner;
	if (heap_string(heap, object, &part.string)) {
		part.kind = PART_STRING;
	} else if (object_field(heap, object, "str", &inner) && heap_string(heap, &inner, &part.string)) {
		part.kind = PART_STRING; /* what ProcessEnvironment made of the bytes */
	} else if (object_field(heap, object, "bytes", &inner) && inner.kind == OBJECT_PRIMITIVE_ARRAY &&
		   inner.type == TYPE_BYTE && inner.data_len >= inner.length) {
		part.kind = PART_BYTES;
		part.string = (struct string){ inner.data, inner.length, STRING_LATIN1 };
	}
	return part;
}

static void add_entry(struct reader *reader, const struct object *entry, const struct object *key)
{
	struct properties *properties = reader->properties;
	struct property property = { .key = read_part(reader->heap, key), .rank = reader->visited };
	struct object value;
	if (property.key.kind == PART_OBJECT)
		return;
	if (object_field(reader->heap, entry, "value", &value) || object_field(reader->heap, entry, "val", &value))
		property.value = read_part(reader->heap, &value);
	if (properties->count == properties->capacity) {
		const size_t capacity = properties->capacity ? 2 * properties->capacity : 64;
		struct property *grown = reallocarray(properties->list, capacity, sizeof *grown);
		if (!grown) {
			reader->error = ENOMEM;
			return;
		}
		properties->list = grown;
		properties->capacity = capacity;
	}
	properties->list[properties->count++] = property;
}

/* A bucket's chain. A ConcurrentHashMap's TreeBin has its entries behind `first`, in a chain as well. */
static void read_chain(struct reader *reader, struct object entry)
{
	struct object key, next;
	while (!reader->error && reader->visited++ < ENTRIES_MOST) {
		if (object_field(reader->heap, &entry, "key", &key)) {
			add_entry(reader, &entry, &key);
			if (!object_field(reader->heap, &entry, "next", &next))
				return;
		} else if (!object_field(reader->heap, &entry, "first", &next) &&
			   !object_field(reader->heap, &entry, "next", &next)) {
			return;
		}
		entry = next;
	}
}

static void read_table(struct reader *reader, const struct object *table)
{
	struct value_walk walk;
	struct object entry;
	if (table->kind != OBJECT_OBJECT_ARRAY)
		return;
	value_walk_start(&walk, reader->heap, table);
	for (unsigned i = 0; i < BUCKETS_MOST && value_walk_next(&walk); i++) {
		if (reader->error || reader->visited >= ENTRIES_MOST)
			return;
		if (heap_find(reader->heap, read_id(walk.value, reader->heap->id_width), &entry))
			read_chain(reader, entry);
	}
}

/* Properties.map, or the `m` of an unmodifiable map and of a StringEnvironment. */
static bool unwrap(const struct heap *heap, const struct object *map, struct object *inner)
{
	return object_field(heap, map, "map", inner) || object_field(heap, map, "m", inner);
}

/* A map of any kind that was named above, with the defaults behind it. */
static void read_map(struct reader *reader, struct object map)
{
	const struct heap *heap = reader->heap;
	struct object inner, table;
	for (unsigned level = 0; level < DEFAULTS_MOST; level++) {
		struct object at = map;
		for (unsigned i = 0; i < WRAPPERS_MOST && unwrap(heap, &at, &inner); i++)
			at = inner;
		/* While a ConcurrentHashMap grows, each entry is in one of two tables. */
		if (object_field(heap, &at, "table", &table))
			read_table(reader, &table);
		if (object_field(heap, &at, "nextTable", &table))
			read_table(reader, &table);
		if (!object_field(heap, &map, "defaults", &inner))
			return;
		map = inner;
	}
}

/* --- order --- */

static unsigned unit_of(const struct property_part *part, uint64_t i)
{
	return part->kind == PART_STRING ? string_unit(&part->string, i) : part->string.data[i];
}

static int compare_keys(const struct property *a, const struct property *b)
{
	const uint64_t x = a->key.string.units, y = b->key.string.units;
	for (uint64_t i = 0; i < x && i < y; i++) {
		const unsigned one = unit_of(&a->key, i), other = unit_of(&b->key, i);
		if (one != other)
			return one < other ? -1 : 1;
	}
	return x < y ? -1 : x > y;
}

static int compare_properties(const void *a, const void *b)
{
	const struct property *x = a, *y = b;
	const int order = compare_keys(x, y);
	return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

int properties_read(const struct heap *heap, enum properties_of which, struct properties *properties)
{
	struct reader reader = { .heap = heap, .properties = properties };
	const struct class *class = class_by_name(heap, sources[which].class);
	*properties = (struct properties){ .list = NULL };
	for (unsigned i = 0; class && class->offset && sources[which].names[i]; i++) {
		const uint64_t id = static_id(heap, class, sources[which].names[i]);
		struct object map;
		if (id && heap_find(heap, id, &map))
			read_map(&reader, map);
	}
	if (reader.error) {
		free(properties->list);
		*properties = (struct properties){ .list = NULL };
		return reader.error;
	}
	if (properties->count)
		qsort(properties->list, properties->count, sizeof *properties->list, compare_properties);
	size_t kept = 0;
	for (size_t i = 0; i < properties->count; i++)
		if (!kept || compare_keys(&properties->list[kept - 1], &properties->list[i]))
			properties->list[kept++] = properties->list[i];
	properties->count = kept;
	return 0;
}
