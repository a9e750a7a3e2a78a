/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/collections.h"

#include <stdlib.h>

#define LIST COLLECTION_LIST
#define SET COLLECTION_SET
#define MAP COLLECTION_MAP
#define SPARSE_ARRAY .fields = { "mValues:L", "mSize:I", "mKeys:L", "mGarbage:Z" }
#define SPARSE_NUMBERS .fields = { "mValues:L", "mSize:I", "mKeys:L" }
#define HASHED_ARRAY .fields = { "mArray:L", "mSize:I", "mHashes:L" }

/*
 * The layouts. Of a class's rows the first one all of whose fields it has is its own; without one, its superclass is
 * asked. Fields are those of java.util in OpenJDK 5 to 25; of Android's libcore up to API 23 (Harmony's classes, which
 * have other names), of android.util, and of androidx.collection before and after it became Kotlin.
 */
static const struct collection_row rows[] = {
	/* Up to API 23 the null key is outside of the table, and all empty maps share one of two slots. */
	{ "java.util.HashMap", SHAPE_BUCKETS, MAP, .fields = { "table:L", "size:I", "entryForNullKey:L?" },
	  .shared = "EMPTY_TABLE" },
	{ "java.util.LinkedHashMap", SHAPE_LINKED, MAP, .fields = { "table:L", "size:I", "head:L" } },
	{ "java.util.LinkedHashMap", SHAPE_LINKED, MAP, .fields = { "table:L", "size:I", "header:L" },
	  .shared = "EMPTY_TABLE", .circular = true },
	{ "java.util.Hashtable", SHAPE_BUCKETS, MAP, .fields = { "table:L", "count:I" }, .backward = true },
	{ "java.util.Hashtable", SHAPE_BUCKETS, MAP, .fields = { "table:L", "size:I" }, .shared = "EMPTY_TABLE" },
	/* Since JDK 9 a Hashtable by name only. */
	{ "java.util.Properties", SHAPE_OF, MAP, .fields = { "map:L" } },
	{ "java.util.WeakHashMap", SHAPE_BUCKETS, MAP, .fields = { "table:L", "size:I" }, .masked = "NULL_KEY",
	  .backward = true },
	{ "java.util.WeakHashMap", SHAPE_BUCKETS, MAP, .fields = { "elementData:L", "elementCount:I" } },
	{ "java.util.concurrent.ConcurrentHashMap", SHAPE_SEGMENTS, MAP, .fields = { "segments:L" }, .backward = true },
	{ "java.util.concurrent.ConcurrentHashMap", SHAPE_BUCKETS, MAP,
	  .fields = { "table:L", "baseCount:J", NULL, "counterCells:L" }, .no_null = true },
	{ "java.util.IdentityHashMap", SHAPE_OPEN_PAIRS, MAP, .fields = { "table:L", "size:I" }, .masked = "NULL_KEY" },
	{ "java.util.IdentityHashMap", SHAPE_OPEN_PAIRS, MAP, .fields = { "elementData:L", "size:I" },
	  .masked = "NULL_OBJECT" },
	{ "java.util.EnumMap", SHAPE_ENUM, MAP, .fields = { "vals:L", "size:I", "keyUniverse:L" }, .masked = "NULL" },
	{ "java.util.TreeMap", SHAPE_TREE, MAP, .fields = { "root:L", "size:I" } },
	{ "java.util.ImmutableCollections$MapN", SHAPE_OPEN_PAIRS, MAP, .fields = { "table:L", "size:I" } },

	{ "java.util.HashSet", SHAPE_OF, SET, .fields = { "map:L" } },
	{ "java.util.HashSet", SHAPE_OF, SET, .fields = { "backingMap:L" } },
	{ "java.util.TreeSet", SHAPE_OF, SET, .fields = { "m:L" } },
	{ "java.util.TreeSet", SHAPE_OF, SET, .fields = { "backingMap:L" } },
	{ "java.util.Collections$SetFromMap", SHAPE_OF, SET, .fields = { "m:L" } },
	{ "java.util.concurrent.ConcurrentHashMap$KeySetView", SHAPE_OF, SET, .fields = { "map:L" } },
	{ "java.util.concurrent.CopyOnWriteArraySet", SHAPE_OF, SET, .fields = { "al:L" } },
	{ "java.util.ImmutableCollections$SetN", SHAPE_SLOTS, SET, .fields = { "elements:L", "size:I" } },

	{ "java.util.ArrayList", SHAPE_ARRAY, LIST, .fields = { "elementData:L", "size:I" } },
	{ "java.util.ArrayList", SHAPE_ARRAY, LIST, .fields = { "array:L", "size:I" } },
	{ "java.util.Vector", SHAPE_ARRAY, LIST, .fields = { "elementData:L", "elementCount:I" } },
	{ "java.util.Arrays$ArrayList", SHAPE_ARRAY, LIST, .fields = { "a:L" } },
	{ "java.util.ImmutableCollections$ListN", SHAPE_ARRAY, LIST, .fields = { "elements:L" } },
	{ "java.util.concurrent.CopyOnWriteArrayList", SHAPE_ARRAY, LIST, .fields = { "array:L" } },
	{ "java.util.concurrent.CopyOnWriteArrayList", SHAPE_ARRAY, LIST, .fields = { "elements:L" } },
	{ "java.util.PriorityQueue", SHAPE_ARRAY, LIST, .fields = { "queue:L", "size:I" } },
	{ "java.util.PriorityQueue", SHAPE_ARRAY, LIST, .fields = { "elements:L", "size:I" } },
	{ "java.util.concurrent.PriorityBlockingQueue", SHAPE_ARRAY, LIST, .fields = { "queue:L", "size:I" } },
	{ "java.util.ArrayDeque", SHAPE_RING, LIST, .fields = { "elements:L", NULL, "head:I", "tail:I" } },
	{ "java.util.LinkedList", SHAPE_CHAIN, LIST, .fields = { "first:L", "size:I" } },
	{ "java.util.LinkedList", SHAPE_CHAIN, LIST, .fields = { "header:L", "size:I" }, .circular = true },
	{ "java.util.LinkedList", SHAPE_CHAIN, LIST, .fields = { "voidLink:L", "size:I" }, .circular = true },

	{ "android.util.ArrayMap", SHAPE_PAIRS, MAP, HASHED_ARRAY },
	{ "android.util.ArraySet", SHAPE_ARRAY, SET, HASHED_ARRAY },
	{ "android.util.SparseArray", SHAPE_SPARSE, MAP, SPARSE_ARRAY, .masked = "DELETED" },
	{ "android.util.LongSparseArray", SHAPE_SPARSE, MAP, SPARSE_ARRAY, .masked = "DELETED" },
	{ "android.util.SparseIntArray", SHAPE_SPARSE, MAP, SPARSE_NUMBERS },
	{ "android.util.SparseBooleanArray", SHAPE_SPARSE, MAP, SPARSE_NUMBERS },
	{ "android.util.SparseLongArray", SHAPE_SPARSE, MAP, SPARSE_NUMBERS },
	{ "android.util.LongSparseLongArray", SHAPE_SPARSE, MAP, SPARSE_NUMBERS },
	{ "android.support.v4.util.SimpleArrayMap", SHAPE_PAIRS, MAP, HASHED_ARRAY },
	{ "android.support.v4.util.SparseArrayCompat", SHAPE_SPARSE, MAP, SPARSE_ARRAY, .masked = "DELETED" },
	{ "androidx.collection.SimpleArrayMap", SHAPE_PAIRS, MAP, HASHED_ARRAY },
	{ "androidx.collection.SimpleArrayMap", SHAPE_PAIRS, MAP, .fields = { "array:L", "size:I", "hashes:L" } },
	{ "androidx.collection.ArraySet", SHAPE_ARRAY, SET, HASHED_ARRAY },
	{ "androidx.collection.ArraySet", SHAPE_ARRAY, SET, .fields = { "array:L", "_size:I", "hashes:L" } },
	{ "androidx.collection.SparseArrayCompat", SHAPE_SPARSE, MAP, SPARSE_ARRAY, .masked = "DELETED" },
	{ "androidx.collection.LongSparseArray", SHAPE_SPARSE, MAP, SPARSE_ARRAY, .masked = "DELETED" },
};
#define ROWS (sizeof rows / sizeof *rows)

/* --- which class has which --- */

struct collections {
	struct collection_layout layouts[ROWS * 2]; /* a class's name may be another's as well, of another loader */
	size_t count;
	const struct class *enum_class;
	uint8_t of_class[];	/* 1 + the number of its layout, by class number; 0: none */
};
_Static_assert(ROWS * 2 < UINT8_MAX, "a layout's number fits in a byte");

static uint8_t type_of_letter(char letter)
{
	return letter == 'L' ? TYPE_OBJECT : letter == 'I' ? TYPE_INT : letter == 'J' ? TYPE_LONG : TYPE_BOOLEAN;
}

/* Where a "name:type" is in the class's data; -1 if it is nowhere. */
static int32_t find_field(const struct heap *heap, const struct class *class, const char *field)
{
	char name[32];
	const size_t len = strcspn(field, ":");
	memcpy(name, field, len);
	name[len] = 0;
	return field_offset(heap, class, name, type_of_letter(field[len + 1]));
}

static bool find_fields(const struct heap *heap, const struct class *class, const struct collection_row *row,
			struct collection_layout *layout)
{
	*layout = (struct collection_layout){ .row = row, .class = class };
	for (unsigned i = 0; i < COLLECTION_FIELDS; i++) {
		const char *field = row->fields[i];
		layout->at[i] = field ? find_field(heap, class, field) : -1;
		if (field && layout->at[i] < 0 && field[strlen(field) - 1] != '?')
			return false;
	}
	return true;
}

/* The reference in a static of this name, also in that of a superclass. */
static uint64_t static_reference(const struct heap *heap, const struct class *class, const char *name)
{
	struct static_walk found;
	for (; name && class; class = class_super(heap, class))
		if (class_static(heap, class, name, &found) && found.type == TYPE_OBJECT)
			return read_id(found.value, heap->id_width);
	return 0;
}

/* The number, from 1, of the layout that a class of a known name has; 0 if it has none. */
static uint8_t recognise(const struct heap *heap, const struct class *class, struct collections *collections)
{
	for (size_t i = 0; i < ROWS; i++) {
		const size_t len = strlen(rows[i].class);
		struct collection_layout *layout = &collections->layouts[collections->count];
		if (class->name.len != len || memcmp(class->name.text, rows[i].class, len))
			continue;
		if (collections->count == sizeof collections->layouts / sizeof *collections->layouts)
			return 0;
		if (find_fields(heap, class, &rows[i], layout)) {
			layout->masked = static_reference(heap, class, rows[i].masked);
			layout->shared = static_reference(heap, class, rows[i].shared);
			return (uint8_t)++collections->count;
		}
	}
	return 0;
}

static struct collections *make_collections(const struct heap *heap)
{
	struct collections *collections = calloc(1, sizeof *collections + heap->class_count + 1);
	if (!collections)
		return NULL;
	collections->enum_class = class_by_name(heap, "java.lang.Enum");
	/* A heap graph has no numbers, and of an array what it refers to only. */
	if (heap_graph_of(heap))
		return collections;
	for (uint32_t i = 0; i < heap->class_count; i++)
		if (heap->classes[i].offset && heap->classes[i].name.len > 13) /* none has a shorter name */
			collections->of_class[i] = recognise(heap, &heap->classes[i], collections);
	for (uint32_t i = 0; i < heap->class_count; i++)
		for (const struct class *class = &heap->classes[i]; class && !collections->of_class[i];
		     class = class_super(heap, class))
			collections->of_class[i] = collections->of_class[class_number(heap, class)];
	return collections;
}

static const struct collections *heap_collections(const struct heap *heap)
{
	struct collections *_Atomic *slot = (struct collections *_Atomic *)(uintptr_t)&heap->collections;
	struct collections *collections = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (collections)
		return collections;
	collections = make_collections(heap);
	if (!collections)
		input_touched_bad = true; /* no answer is better than one that the kernel would keep */
	if (collections && (input_touched_bad || !atomic_compare_exchange_strong(slot, &other, collections))) {
		/* Made from a file that was cut meanwhile, or another thread was first. */
		free(collections);
		return other;
	}
	return collections;
}

void collections_close(struct heap *heap)
{
	free(atomic_load(&heap->collections));
}

const struct collection_layout *collection_layout(const struct heap *heap, const struct class *class)
{
	const struct collections *collections = heap_collections(heap);
	const uint8_t number = collections ? collections->of_class[class_number(heap, class)] : 0;
	return number ? &collections->layouts[number - 1] : NULL;
}

const struct class *collection_enum(const struct heap *heap)
{
	const struct collections *collections = heap_collections(heap);
	return collections ? collections->enum_class : NULL;
}

/* --- what is in its fields --- */

/* The bytes of a field, NULL if there are none. */
static const uint8_t *field_bytes(const struct collection_layout *layout, const struct object *object,
				  enum collection_field field, unsigned width)
{
	const uint32_t whole = object->class->data_width, own = layout->class->data_width;
	if (layout->at[field] < 0 || whole < own)
		return NULL;
	const uint64_t at = (uint64_t)(whole - own) + (uint64_t)layout->at[field];
	return at + width <= object->data_len ? object->data + at : NULL;
}

uint64_t collection_reference(const struct heap *heap, const struct collection_layout *layout,
			      const struct object *object, enum collection_field field)
{
	const uint8_t *p = field_bytes(layout, object, field, heap->id_width);
	return p ? read_id(p, heap->id_width) : 0;
}

bool collection_number(const struct heap *heap, const struct collection_layout *layout, const struct object *object,
		       enum collection_field field, int64_t *number)
{
	const char *name = layout->row->fields[field];
	const uint8_t type = name ? type_of_letter(name[strcspn(name, ":") + 1]) : TYPE_OBJECT;
	const uint8_t *p = field_bytes(layout, object, field, type_width(type, heap->id_width));
	if (!p || type == TYPE_OBJECT)
		return false;
	*number = type == TYPE_BOOLEAN ? *p : type == TYPE_INT ? (int32_t)be32(p) : (int64_t)be64(p);
	return true;
}

bool collection_array(const struct heap *heap, uint64_t id, struct object *array)
{
	return heap_find(heap, id, array) && array->kind != OBJECT_INSTANCE && type_width(array->type, heap->id_width);
}

bool collection_inner(const struct heap *heap, const struct object *object, struct object *inner,
		      const struct collection_layout **layout)
{
	*layout = object->kind == OBJECT_INSTANCE ? collection_layout(heap, object->class) : NULL;
	if (!*layout)
		return false;
	if ((*layout)->row->shape != SHAPE_OF) {
		*inner = *object;
		return true;
	}
	/* No more than once: what it stands on stands on nothing else. */
	if (!heap_find(heap, collection_reference(heap, *layout, object, FIELD_STORE), inner) ||
	    inner->kind != OBJECT_INSTANCE)
		return false;
	*layout = collection_layout(heap, inner->class);
	return *layout && (*layout)->row->shape != SHAPE_OF;
}

/* --- how full it is --- */

/* Bytes in memory of an array's element. */
static unsigned memory_width(const struct heap *heap, const struct object *array)
{
	return array->type == TYPE_OBJECT ? heap->sizes.reference : type_width(array->type, heap->id_width);
}

/* Slots of a table that hold nothing, as far as the budget allows. */
static uint64_t null_slots(const struct heap *heap, const struct object *table, uint64_t *budget)
{
	struct value_walk walk;
	uint64_t count = 0;
	value_walk_start(&walk, heap, table);
	for (; *budget >= heap->id_width && value_walk_next(&walk); *budget -= heap->id_width)
		count += !read_id(walk.value, heap->id_width);
	return count;
}

/* Adds a table of chains. With no element in it, all of it is wasted; a table without slots is one that many share. */
static void add_table(const struct heap *heap, const struct object *table, bool empty, uint64_t *budget,
		      struct collection_measure *measure)
{
	measure->capacity += table->length;
	if (budget && table->length)
		measure->wasted += empty ? object_size(heap, table) :
					   null_slots(heap, table, budget) * heap->sizes.reference;
}

/* Segments, or cells, of a ConcurrentHashMap: JDK 5 to 7 make at most 1 << 16, later ones not more cells than cores. */
#define PARTS_MOST 65536

/* Under contention, threads count in cells of their own. */
static int64_t cells_sum(const struct heap *heap, uint64_t id)
{
	struct object cells, cell;
	struct value_walk walk;
	uint64_t sum = 0;
	if (!collection_array(heap, id, &cells) || cells.kind != OBJECT_OBJECT_ARRAY)
		return 0;
	value_walk_start(&walk, heap, &cells);
	while (walk.next < PARTS_MOST && value_walk_next(&walk)) {
		if (!heap_find(heap, read_id(walk.value, heap->id_width), &cell) || cell.kind != OBJECT_INSTANCE)
			continue;
		const int32_t at = field_offset(heap, cell.class, "value", TYPE_LONG);
		if (at >= 0 && (uint64_t)at + 8 <= cell.data_len)
			sum += be64(cell.data + at);
	}
	return (int64_t)sum;
}

static uint64_t count_entries(const struct heap *heap, const struct object *object, uint64_t *budget)
{
	struct collection_walk walk;
	struct collection_entry entry;
	collection_walk_start(&walk, heap, object);
	if (walk.left > *budget)
		walk.left = *budget;
	*budget -= walk.left;
	while (collection_walk_next(&walk, &entry))
		;
	*budget += walk.left;
	return walk.number;
}

/* The size that the collection itself says; false if it says none that can be. */
static bool said_size(const struct heap *heap, const struct collection_layout *layout, const struct object *object,
		      const struct object *store, uint64_t most, uint64_t *size)
{
	int64_t said, tail;
	if (layout->row->shape == SHAPE_RING) {
		if (!collection_number(heap, layout, object, FIELD_OTHER, &said) ||
		    !collection_number(heap, layout, object, FIELD_MORE, &tail) || said < 0 || tail < 0 ||
		    (uint64_t)said >= store->length || (uint64_t)tail >= store->length)
			return false;
		*size = (uint64_t)(tail >= said ? tail - said : tail - said + store->length);
		return true;
	}
	if (layout->row->shape == SHAPE_ARRAY && layout->at[FIELD_SIZE] < 0) {
		*size = store->length;
		return true;
	}
	if (layout->row->shape == SHAPE_SPARSE && collection_number(heap, layout, object, FIELD_MORE, &said) && said)
		return false; /* some of them are deleted */
	if (!collection_number(heap, layout, object, FIELD_SIZE, &said))
		return false;
	if (layout->row->shape == SHAPE_BUCKETS && layout->at[FIELD_MORE] >= 0)
		said = (int64_t)((uint64_t)said +
				 (uint64_t)cells_sum(heap, collection_reference(heap, layout, object, FIELD_MORE)));
	*size = (uint64_t)said;
	return said >= 0 && *size <= most;
}

/* Segments: tables with a count each. */
static void measure_segments(const struct heap *heap, const struct object *segments, uint64_t *budget,
			     struct collection_measure *measure)
{
	struct object segment, table;
	struct value_walk walk;
	measure->has_capacity = true;
	value_walk_start(&walk, heap, segments);
	while (walk.next < PARTS_MOST && value_walk_next(&walk)) {
		if (!heap_find(heap, read_id(walk.value, heap->id_width), &segment) || segment.kind != OBJECT_INSTANCE)
			continue;
		const int32_t at = field_offset(heap, segment.class, "count", TYPE_INT);
		const bool counted = at >= 0 && (uint64_t)at + 4 <= segment.data_len;
		const int32_t count = counted ? (int32_t)be32(segment.data + at) : 0;
		measure->size += count > 0 ? (uint32_t)count : 0;
		if (object_field(heap, &segment, "table", &table) && table.kind == OBJECT_OBJECT_ARRAY)
			add_table(heap, &table, count <= 0, budget, measure);
	}
}

/* Of arrays: how many there is room for, and what the room for one takes. */
static void measure_arrays(const struct heap *heap, const struct collection_layout *layout, const struct object *store,
			   const struct object *other, struct collection_measure *measure)
{
	const enum collection_shape shape = layout->row->shape;
	uint64_t each = memory_width(heap, store), whole = object_size(heap, store);
	if (shape == SHAPE_PAIRS || shape == SHAPE_OPEN_PAIRS)
		each *= 2;
	if (other && shape != SHAPE_ENUM) { /* whose keys all maps of the enum share */
		each += memory_width(heap, other);
		whole += object_size(heap, other);
	}
	const uint64_t unused = measure->capacity > measure->size ? measure->capacity - measure->size : 0;
	if (measure->capacity)
		measure->wasted = measure->size ? unused * each : whole;
}

/* Room in arrays for elements, or pairs of them. */
static uint64_t capacity_of(const struct collection_layout *layout, const struct object *store,
			    const struct object *other)
{
	switch (layout->row->shape) {
	case SHAPE_PAIRS:
	case SHAPE_OPEN_PAIRS:
		return store->length / 2;
	case SHAPE_SPARSE:
		return other && other->length < store->length ? other->length : store->length;
	default:
		return store->length;
	}
}

void collection_measure(const struct heap *heap, const struct object *object, uint64_t *budget,
			struct collection_measure *measure)
{
	const struct collection_layout *layout;
	struct object inner, store = { 0 }, other;
	*measure = (struct collection_measure){ 0 };
	if (!collection_inner(heap, object, &inner, &layout))
		return;
	const enum collection_shape shape = layout->row->shape;
	const bool nodes = shape == SHAPE_TREE || shape == SHAPE_CHAIN;
	const bool tables = shape == SHAPE_BUCKETS || shape == SHAPE_LINKED || shape == SHAPE_SEGMENTS;
	const uint64_t id = nodes ? 0 : collection_reference(heap, layout, &inner, FIELD_STORE);
	const bool found = collection_array(heap, id, &store) && (!tables || store.kind == OBJECT_OBJECT_ARRAY);
	const bool two = shape == SHAPE_PAIRS || shape == SHAPE_SPARSE || shape == SHAPE_ENUM || shape == SHAPE_ARRAY;
	const uint64_t other_id = collection_reference(heap, layout, &inner, FIELD_OTHER);
	const bool second = two && collection_array(heap, other_id, &other);
	/* The table of a set is its map's, which has a line of its own; what all empty ones share is nobody's. */
	uint64_t *waste = inner.offset == object->offset && id != layout->shared ? budget : NULL;
	measure->known = true;
	if (shape == SHAPE_SEGMENTS) {
		if (found)
			measure_segments(heap, &store, waste, measure);
		return;
	}
	if (!found)
		store = (struct object){ 0 };
	measure->has_capacity = !nodes && (found || !id); /* that of a table that is not in the dump is unknown */
	measure->capacity = found && !tables ? capacity_of(layout, &store, second ? &other : NULL) : 0;
	const uint64_t most = tables || !measure->has_capacity ? heap->scan.index.object_count : measure->capacity;
	if (!said_size(heap, layout, &inner, &store, most, &measure->size))
		measure->size = budget ? count_entries(heap, &inner, budget) : 0;
	if (found && tables)
		add_table(heap, &store, !measure->size, waste, measure);
	else if (found && waste)
		measure_arrays(heap, layout, &store, second ? &other : NULL, measure);
}
