/* SPDX-License-Identifier: Apache-2.0 */
#include "input/heap_graph.h"

#include "input/proto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HPROF, as far as it is written here; src/hprof/format.h, which reads it, stands above this layer. */
enum { UTF8 = 0x01, LOAD_CLASS = 0x02, SEGMENT = 0x1c, DUMP_END = 0x2c };
enum { CLASS_DUMP = 0x20, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, HEAP_INFO = 0xfe };
enum { OBJECT = 2, BOOLEAN = 4, CHAR, FLOAT, DOUBLE, BYTE, SHORT, INT, LONG };

enum { KIND_NOREFERENCES = 2, KIND_STRING = 3, KIND_ARRAY = 4 };

#define NONE UINT32_MAX
#define SEGMENT_BYTES (UINT64_C(1) << 20)
/* Superclasses above a class; what has more goes in a circle. */
#define DEPTH_MOST 1000
/* Fields of a class, and statics: HPROF counts them in two bytes. */
#define FIELDS_MOST 60000
/* References of an object that names its own fields. */
#define NAMED_MOST 4096
#define CLASS_OF "java.lang.Class<"

/* Numbers that a graph carries, as fields of these classes. */
enum { BITMAP_ID, BITMAP_SOURCE_ID, BITMAP_WIDTH, BITMAP_HEIGHT, REGISTRY_SIZE, VERSION_CODE, NUMBERS };
static const struct number {
	const char *class, *name;
	uint8_t type;
	uint8_t field;		/* of HeapGraphObject */
} numbers[NUMBERS] = {
	[BITMAP_ID] = { "android.graphics.Bitmap", "mId", LONG, 11 },
	[BITMAP_SOURCE_ID] = { "android.graphics.Bitmap", "mSourceId", LONG, 12 },
	[BITMAP_WIDTH] = { "android.graphics.Bitmap", "mWidth", INT, 13 },
	[BITMAP_HEIGHT] = { "android.graphics.Bitmap", "mHeight", INT, 14 },
	[REGISTRY_SIZE] = { "libcore.util.NativeAllocationRegistry", "size", LONG, 8 },
	[VERSION_CODE] = { "android.content.pm.ApplicationInfo", "longVersionCode", LONG, 15 },
};

/* A map from numbers to numbers. */
struct map {
	uint64_t *keys;
	uint32_t *values;	/* NONE: an empty slot */
	size_t slots, count;
};

struct type {
	uint64_t id, size, super_id, loader;
	char *name;
	uint64_t *fields;	/* ids of the names of its own reference fields */
	uint32_t field_count, field_capacity;
	uint32_t super;		/* number of its superclass, or NONE */
	uint32_t of;		/* of a java.lang.Class<X>: number of X, or NONE */
	uint32_t extra;		/* of its own fields the last ones, for references that no field is named for */
	uint32_t slots;		/* references of an instance, superclasses' included */
	uint32_t width;		/* bytes of an instance's values */
	uint64_t class_id;
	uint64_t name_id;
	uint64_t total;
	uint8_t kind, element;	/* of a primitive array; OBJECT of another array; 0: no array */
	uint8_t numbers;	/* a bit for each of `numbers` that it has */
	bool dumped;		/* has a class object */
	bool internals;		/* has runtimeInternalObjects */
};

struct field_name {
	uint64_t id;
	char *name;		/* without its type and owner */
	bool of_class;		/* the owner is java.lang.Class or java.lang.Object */
	uint64_t name_id, static_id; /* of its UTF8 records */
};

struct root {
	uint64_t id;
	unsigned type;
};

struct joined {
	uint8_t *data;
	size_t len, capacity;
};

struct writer {
	struct heap_graph *graph;
	struct spill *spill;
	struct type *types;
	struct field_name *names;
	struct root *roots;
	struct own_size *sizes;
	size_t type_count, type_capacity, name_count, name_capacity, root_count, root_capacity, size_count, size_capacity;
	struct map type_map, name_map;
	uint32_t class_type, object_type, object_array_type; /* java.lang.Class, Object, Object[] */
	unsigned width;		/* of ids */
	uint64_t highest;	/* id of an object */
	uint64_t next_string;
	uint64_t number_names[NUMBERS], internals_name, unnamed, heap_names[4];
	struct joined joined[3];	/* of the current object: names of fields, references, internals */
	unsigned heap;		/* the one that HEAP_INFO said last */
	uint8_t *data;		/* of the segment that is being filled, behind its header */
	size_t len, capacity;
	uint64_t at;		/* bytes written */
	bool failed;
};

/* An object of the graph. */
struct object {
	uint64_t id, type_id, size, base, numbers[NUMBERS];
	const uint8_t *fields, *references, *internals; /* packed */
	uint64_t fields_len, references_len, internals_len;
	unsigned heap, has;	/* a bit for each of `numbers` */
};

/* --- maps --- */

static size_t slot_of(const struct map *map, uint64_t key)
{
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->slots - 1);
	while (map->values[at] != NONE && map->keys[at] != key)
		at = (at + 1) & (map->slots - 1);
	return at;
}

static uint32_t map_find(const struct map *map, uint64_t key)
{
	return map->slots ? map->values[slot_of(map, key)] : NONE;
}

static bool map_set(struct map *map, uint64_t key, uint32_t value)
{
	if ((map->count + 1) * 2 > map->slots) {
		struct map larger = { .slots = map->slots ? 2 * map->slots : 256 };
		larger.keys = calloc(larger.slots, sizeof *larger.keys);
		larger.values = malloc(larger.slots * sizeof *larger.values);
		if (!larger.keys || !larger.values) {
			free(larger.keys);
			free(larger.values);
			return false;
		}
		memset(larger.values, 0xff, larger.slots * sizeof *larger.values);
		for (size_t i = 0; i < map->slots; i++)
			if (map->values[i] != NONE) {
				const size_t at = slot_of(&larger, map->keys[i]);
				larger.keys[at] = map->keys[i];
				larger.values[at] = map->values[i];
			}
		larger.count = map->count;
		free(map->keys);
		free(map->values);
		*map = larger;
	}
	const size_t at = slot_of(map, key);
	map->count += map->values[at] == NONE;
	map->keys[at] = key;
	map->values[at] = value;
	return true;
}

static void *grow(struct writer *w, void *list, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return list;
	const size_t wanted = *capacity ? 2 * *capacity : 64;
	void *grown = reallocarray(list, wanted, size);
	if (!grown) {
		w->failed = true;
		return NULL;
	}
	*capacity = wanted;
	return grown;
}

/* --- reading --- */

/* Numbers of a repeated field that may be packed or not: calls for each. */
static bool next_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	return *at < end && proto_varint(at, end, value);
}

static struct type *add_type(struct writer *w, const char *name, size_t len)
{
	struct type *types = grow(w, w->types, w->type_count, &w->type_capacity, sizeof *types);
	char *copy = strndup(name, len);
	if (!types || !copy || w->type_count == NONE - 1) {
		w->failed = true;
		free(copy);
		if (types)
			w->types = types;
		return NULL;
	}
	w->types = types;
	types[w->type_count] = (struct type){ .name = copy, .super = NONE, .of = NONE };
	return &types[w->type_count++];
}

static void add_field(struct writer *w, struct type *type, uint64_t id)
{
	if (type->field_count == FIELDS_MOST)
		return;
	size_t capacity = type->field_capacity;
	uint64_t *fields = grow(w, type->fields, type->field_count, &capacity, sizeof *fields);
	if (!fields)
		return;
	type->fields = fields;
	type->field_capacity = (uint32_t)capacity;
	fields[type->field_count++] = id;
}

static void read_type(struct writer *w, const struct proto_field *message)
{
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field;
	struct type read = { .name = NULL };
	const char *name = "";
	size_t name_len = 0;
	for (const uint8_t *p = at; proto_next(&p, end, &field);) {
		if (field.number == 3 && field.type == PROTO_LEN) {
			name = (const char *)field.data;
			name_len = (size_t)field.len;
		} else if (field.type == PROTO_VARINT) {
			read.id = field.number == 1 ? field.value : read.id;
			read.size = field.number == 4 ? field.value : read.size;
			read.super_id = field.number == 5 ? field.value : read.super_id;
			read.kind = field.number == 7 ? (uint8_t)field.value : read.kind;
			read.loader = field.number == 8 ? field.value : read.loader;
		}
	}
	/* Of two types with one id the later one counts. */
	const uint32_t known = map_find(&w->type_map, read.id);
	struct type *type = known == NONE ? add_type(w, name, name_len) : &w->types[known];
	if (!type)
		return;
	if (known != NONE) {
		char *copy = strndup(name, name_len);
		if (copy) {
			free(type->name);
			type->name = copy;
		}
		type->field_count = 0;
	} else if (!map_set(&w->type_map, read.id, (uint32_t)(w->type_count - 1))) {
		w->failed = true;
	}
	type->id = read.id;
	type->size = read.size;
	type->super_id = read.super_id;
	type->kind = read.kind;
	type->loader = read.loader;
	while (proto_next(&at, end, &field)) {
		if (field.number != 6)
			continue;
		uint64_t id;
		if (field.type == PROTO_VARINT)
			add_field(w, type, field.value);
		else if (field.type == PROTO_LEN)
			for (const uint8_t *p = field.data; next_number(&p, field.data + field.len, &id);)
				add_field(w, type, id);
	}
}

/* "Type Owner.name". Of two names with one id the first one counts. */
static void read_name(struct writer *w, const struct proto_field *message)
{
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field;
	const char *text = "";
	size_t len = 0;
	uint64_t id = 0;
	while (proto_next(&at, end, &field)) {
		if (field.number == 1 && field.type == PROTO_VARINT) {
			id = field.value;
		} else if (field.number == 2 && field.type == PROTO_LEN) {
			text = (const char *)field.data;
			len = (size_t)field.len;
		}
	}
	if (map_find(&w->name_map, id) != NONE)
		return;
	const char *space = memchr(text, ' ', len);
	const char *owner = space ? space + 1 : text, *limit = text + len;
	const char *dot = memrchr(owner, '.', (size_t)(limit - owner));
	const char *name = dot ? dot + 1 : owner;
	const size_t owner_len = dot ? (size_t)(dot - owner) : 0;
	struct field_name *names = grow(w, w->names, w->name_count, &w->name_capacity, sizeof *names);
	char *copy = strndup(name, (size_t)(limit - name));
	if (names)
		w->names = names;
	if (!names || !copy || !map_set(&w->name_map, id, (uint32_t)w->name_count)) {
		free(copy);
		w->failed = true;
		return;
	}
	const bool of_class = (owner_len == 15 && !memcmp(owner, "java.lang.Class", 15)) ||
			      (owner_len == 16 && !memcmp(owner, "java.lang.Object", 16));
	names[w->name_count++] = (struct field_name){ .id = id, .name = copy, .of_class = of_class };
}

static void add_root(struct writer *w, uint64_t id, unsigned type)
{
	struct root *roots = grow(w, w->roots, w->root_count, &w->root_capacity, sizeof *roots);
	if (roots) {
		w->roots = roots;
		roots[w->root_count++] = (struct root){ id, type };
	}
}

static void read_roots(struct writer *w, const struct proto_field *message)
{
	const uint8_t *end = message->data + message->len;
	struct proto_field field;
	unsigned type = 0;
	for (const uint8_t *at = message->data; proto_next(&at, end, &field);)
		if (field.number == 2 && field.type == PROTO_VARINT)
			type = (unsigned)field.value;
	for (const uint8_t *at = message->data; proto_next(&at, end, &field);) {
		uint64_t id;
		if (field.number != 1)
			continue;
		if (field.type == PROTO_VARINT)
			add_root(w, field.value, type);
		else if (field.type == PROTO_LEN)
			for (const uint8_t *p = field.data; next_number(&p, field.data + field.len, &id);)
				add_root(w, id, type);
	}
}

/* The first pass: everything but objects. */
static void read_tables(struct writer *w)
{
	struct heap_graph *graph = w->graph;
	for (size_t i = 0; i < graph->packets && !w->failed; i++) {
		uint64_t len;
		const uint8_t *at = graph->packet(graph->context, i, &len), *end = at ? at + len : NULL;
		struct proto_field field;
		while (at && proto_next(&at, end, &field) && !w->failed) {
			if (field.number == 10 && field.type == PROTO_VARINT)
				graph->heap_bytes_allocated = field.value;
			if (field.type != PROTO_LEN)
				continue;
			if (field.number == 9)
				read_type(w, &field);
			else if (field.number == 4)
				read_name(w, &field);
			else if (field.number == 7)
				read_roots(w, &field);
		}
	}
}

/* A packed field that comes in several pieces, or number by number, is joined here. */
static void join(struct writer *w, struct joined *joined, const uint8_t **list, uint64_t *list_len, const uint8_t *data,
		 uint64_t len)
{
	if (!*list) {
		*list = data;
		*list_len = len;
		return;
	}
	const size_t before = *list == joined->data ? joined->len : 0;
	const uint64_t wanted = *list_len + len;
	if (wanted > joined->capacity) {
		const size_t capacity = (size_t)(2 * wanted);
		uint8_t *grown = realloc(joined->data, capacity);
		if (!grown) {
			w->failed = true;
			return;
		}
		joined->data = grown;
		joined->capacity = capacity;
	}
	if (!before)
		memcpy(joined->data, *list, (size_t)*list_len);
	memcpy(joined->data + *list_len, data, (size_t)len);
	joined->len = (size_t)wanted;
	*list = joined->data;
	*list_len = wanted;
}

/* A field of an object that is rare: a list that is not packed or comes in pieces, a number of some class. */
static void read_rare(struct writer *w, const uint8_t *start, const uint8_t *after, const struct proto_field *field,
		      struct object *object)
{
	const uint8_t *data = field->data;
	uint64_t len = field->len;
	if (field->type == PROTO_VARINT && (field->number == 4 || field->number == 5 || field->number == 10)) {
		/* One of a list that is not packed: the bytes are those that it would have in one. */
		data = start + 1;
		len = (uint64_t)(after - data);
	}
	if (field->number == 4)
		join(w, &w->joined[0], &object->fields, &object->fields_len, data, len);
	else if (field->number == 5)
		join(w, &w->joined[1], &object->references, &object->references_len, data, len);
	else if (field->number == 10)
		join(w, &w->joined[2], &object->internals, &object->internals_len, data, len);
	for (unsigned i = 0; i < NUMBERS; i++)
		if (numbers[i].field == field->number && field->type == PROTO_VARINT) {
			object->numbers[i] = field->value;
			object->has |= 1u << i;
		}
}

/* Tags of one byte, as all fields of an object have them. */
#define VARINT_TAG(number) ((number) << 3 | PROTO_VARINT)
#define LEN_TAG(number) ((number) << 3 | PROTO_LEN)

/*
 * Reads an object. `object` is the one before it, from which id and heap are carried on. Half of what a heap graph
 * costs is in here, so fields that nearly all objects have are read without much ado.
 */
static void read_object(struct writer *w, const uint8_t *at, const uint8_t *end, struct object *object)
{
	struct proto_field field;
	uint64_t value;
	object->type_id = object->size = object->base = 0;
	object->fields = object->references = object->internals = NULL;
	object->fields_len = object->references_len = object->internals_len = 0;
	object->has = 0;
	const uint64_t before = object->id;
	object->id = 0;
	while (at < end) {
		const uint8_t *start = at;
		switch (*at++) {
		case VARINT_TAG(1):
			if (!proto_varint(&at, end, &object->id))
				return;
			continue;
		case VARINT_TAG(2):
			if (!proto_varint(&at, end, &object->type_id))
				return;
			continue;
		case VARINT_TAG(3):
			if (!proto_varint(&at, end, &object->size))
				return;
			continue;
		case VARINT_TAG(6):
			if (!proto_varint(&at, end, &object->base))
				return;
			continue;
		case VARINT_TAG(7):
			if (!proto_varint(&at, end, &value))
				return;
			if (value)
				object->id = before + value;
			continue;
		case VARINT_TAG(9):
			if (!proto_varint(&at, end, &value))
				return;
			object->heap = value < 4 ? (unsigned)value : 0;
			continue;
		case LEN_TAG(5):
			if (object->references || !proto_varint(&at, end, &value) || value > (uint64_t)(end - at))
				break;
			object->references = at;
			object->references_len = value;
			at += value;
			continue;
		}
		at = start;
		if (!proto_next(&at, end, &field))
			return;
		read_rare(w, start, at, &field, object);
	}
}

/* Calls for each object of the graph, in its order. */
static void each_object(struct writer *w, void (*call)(struct writer *w, const struct object *object))
{
	struct heap_graph *graph = w->graph;
	struct object object = { .id = 0 };
	for (size_t i = 0; i < graph->packets && !w->failed; i++) {
		uint64_t len;
		const uint8_t *at = graph->packet(graph->context, i, &len), *end = at ? at + len : NULL;
		struct proto_field field;
		while (at && proto_next(&at, end, &field) && !w->failed) {
			if (field.number != 2 || field.type != PROTO_LEN)
				continue;
			read_object(w, field.data, field.data + field.len, &object);
			call(w, &object);
		}
	}
}

/* --- classes --- */

static bool names_class_of(const char *name, size_t *len)
{
	const size_t all = strlen(name), prefix = sizeof CLASS_OF - 1;
	if (all <= prefix + 1 || memcmp(name, CLASS_OF, prefix) || name[all - 1] != '>')
		return false;
	*len = all - prefix - 1;
	return true;
}

/* The type called so, and if there are several, one of this loader; NONE if there is none. */
struct by_name {
	const struct writer *w;
	uint32_t *order;
	size_t count;
};

static int compare_names(const void *a, const void *b, void *context)
{
	const struct writer *w = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(w->types[x].name, w->types[y].name);
	return order ? order : x < y ? -1 : x > y;
}

static uint32_t type_by_name(const struct by_name *names, const char *name, size_t len, const struct type *like)
{
	size_t low = 0, high = names->count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const char *own = names->w->types[names->order[mid]].name;
		const int order = strncmp(own, name, len);
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	uint32_t found = NONE;
	for (; low < names->count; low++) {
		const struct type *type = &names->w->types[names->order[low]];
		if (strncmp(type->name, name, len) || type->name[len])
			break;
		if (found == NONE || (like && type->loader == like->loader && !type->dumped))
			found = names->order[low];
	}
	return found;
}

static uint8_t element_of(const struct type *type)
{
	static const struct {
		const char *name;
		uint8_t type;
	} primitives[] = { { "boolean[]", BOOLEAN }, { "char[]", CHAR }, { "float[]", FLOAT }, { "double[]", DOUBLE },
			   { "byte[]", BYTE },	     { "short[]", SHORT }, { "int[]", INT },	{ "long[]", LONG } };
	const size_t len = strlen(type->name);
	for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
		if (!strcmp(type->name, primitives[i].name))
			return primitives[i].type;
	return type->kind == KIND_ARRAY || (len > 2 && !strcmp(type->name + len - 2, "[]")) ? OBJECT : 0;
}

/* Finds out what each type is. Classes that are only spoken of, and those that HPROF cannot do without, are added. */
static void resolve_types(struct writer *w)
{
	static const char *const needed[] = { "java.lang.Object", "java.lang.Class", "java.lang.Object[]" };
	uint32_t *const places[] = { &w->object_type, &w->class_type, &w->object_array_type };
	const size_t known = w->type_count;
	struct by_name names = { .w = w, .count = known, .order = malloc((known + 1) * sizeof *names.order) };
	if (!names.order) {
		w->failed = true;
		return;
	}
	for (size_t i = 0; i < known; i++)
		names.order[i] = (uint32_t)i;
	qsort_r(names.order, known, sizeof *names.order, compare_names, w);
	for (size_t i = 0; i < 3; i++) {
		*places[i] = type_by_name(&names, needed[i], strlen(needed[i]), NULL);
		if (*places[i] == NONE && add_type(w, needed[i], strlen(needed[i])))
			*places[i] = (uint32_t)(w->type_count - 1);
	}
	for (size_t i = 0; i < known && !w->failed; i++) {
		size_t len;
		if (!names_class_of(w->types[i].name, &len))
			continue;
		const char *name = w->types[i].name + sizeof CLASS_OF - 1;
		uint32_t of = type_by_name(&names, name, len, &w->types[i]);
		for (size_t j = 0; of == NONE && j < 3; j++)
			if (strlen(needed[j]) == len && !memcmp(needed[j], name, len))
				of = *places[j];
		if (of == NONE && add_type(w, name, len))
			of = (uint32_t)(w->type_count - 1);
		w->types[i].of = of;
	}
	free(names.order);
	for (size_t i = 0; i < w->type_count; i++) {
		struct type *type = &w->types[i];
		const uint32_t super = type->super_id ? map_find(&w->type_map, type->super_id) : NONE;
		type->super = super == i ? NONE : super;
		type->element = element_of(type);
		type->class_id = 8 * (uint64_t)(i + 1) + 1; /* no object's */
	}
	if (w->failed)
		return;
	struct type *class = &w->types[w->class_type], *array = &w->types[w->object_array_type];
	if (class->super == NONE && w->class_type != w->object_type)
		class->super = w->object_type;
	if (array->super == NONE)
		array->super = w->object_type;
}

static uint32_t type_of(const struct writer *w, const struct object *object)
{
	return map_find(&w->type_map, object->type_id);
}

/* How often the type and its superclasses have a field of this id: an object may name one more than once. */
static unsigned count_field(const struct writer *w, const struct type *type, uint64_t id)
{
	unsigned count = 0;
	for (unsigned depth = 0; depth < DEPTH_MOST; depth++) {
		for (uint32_t i = 0; i < type->field_count; i++)
			count += type->fields[i] == id;
		if (type->super == NONE)
			break;
		type = &w->types[type->super];
	}
	return count;
}

/* How often the id stands in a packed list before `at`. */
static unsigned count_before(const uint8_t *list, const uint8_t *at, uint64_t id)
{
	unsigned count = 0;
	uint64_t other;
	while (list < at && next_number(&list, at, &other))
		count += other == id;
	return count;
}

/* The second pass: which objects are classes, and what fields objects have that bring their own (before Android S). */
static void survey(struct writer *w, const struct object *object)
{
	const uint32_t number = type_of(w, object);
	w->highest = object->id > w->highest ? object->id : w->highest;
	if (number == NONE)
		return;
	struct type *type = &w->types[number];
	if (type->of != NONE && object->id && !w->types[type->of].dumped) {
		w->types[type->of].class_id = object->id * 8;
		w->types[type->of].dumped = true;
	}
	type->internals |= object->internals_len > 0;
	for (unsigned i = 0; object->has && i < NUMBERS; i++)
		if (object->has & 1u << i && !strcmp(type->name, numbers[i].class))
			type->numbers |= (uint8_t)(1u << i);
	if (type->element)
		return;
	if (!object->fields_len) {
		uint32_t references = 0;
		for (uint64_t i = 0; i < object->references_len; i++)
			references += object->references[i] < 0x80;
		if (references > type->slots && references - type->slots > type->extra)
			type->extra = references - type->slots;
		return;
	}
	const uint8_t *at = object->fields, *end = at + object->fields_len;
	uint64_t id;
	for (unsigned i = 0; i < NAMED_MOST; i++) {
		const uint8_t *before = at;
		if (!next_number(&at, end, &id))
			break;
		if (count_field(w, type, id) <= count_before(object->fields, before, id))
			add_field(w, type, id);
	}
}

static unsigned number_width(unsigned number)
{
	return numbers[number].type == LONG ? 8 : 4;
}

/* How long an instance is, own fields first, as HPROF has them. */
static void lay_out(struct writer *w)
{
	for (size_t i = 0; i < w->type_count; i++) {
		struct type *type = &w->types[i];
		uint32_t at = (uint32_t)i;
		type->slots = type->width = 0;
		for (unsigned depth = 0; at != NONE; depth++) {
			const struct type *level = &w->types[at];
			if (depth == DEPTH_MOST) {
				notes_add(w->graph->notes, "classes with superclasses that go in a circle", NOTE_NO_OFFSET, 0,
					  "%s", type->name);
				type->super = NONE;
				break;
			}
			type->slots += level->field_count;
			type->width += level->field_count * w->width + (level->internals ? w->width : 0);
			for (unsigned j = 0; j < NUMBERS; j++)
				type->width += level->numbers & 1u << j ? number_width(j) : 0;
			at = level->super;
		}
	}
}

/* --- writing --- */

static void write_out(struct writer *w, const void *data, size_t len)
{
	if (!w->failed && !spill_write(w->spill, data, len, w->graph->offset + w->at))
		w->failed = true;
	w->at += len;
}

static uint8_t *room(struct writer *w, size_t more)
{
	if (w->capacity - w->len < more) {
		const size_t wanted = 2 * (w->len + more);
		uint8_t *grown = realloc(w->data, wanted);
		if (!grown) {
			w->failed = true;
			return NULL;
		}
		w->data = grown;
		w->capacity = wanted;
	}
	uint8_t *p = w->data + w->len;
	w->len += more;
	return p;
}

static inline uint8_t *store(uint8_t *p, uint64_t value, unsigned width)
{
	if (width == 4) { /* nearly always */
		const uint32_t swapped = __builtin_bswap32((uint32_t)value);
		memcpy(p, &swapped, sizeof swapped);
		return p + 4;
	}
	for (unsigned i = 0; i < width; i++)
		p[i] = (uint8_t)(value >> 8 * (width - 1 - i));
	return p + width;
}

static void put(struct writer *w, uint64_t value, unsigned width)
{
	uint8_t *p = room(w, width);
	if (p)
		store(p, value, width);
}

/* Ends what was put as one record. */
static void end_record(struct writer *w, uint8_t tag)
{
	uint8_t head[9] = { tag };
	store(head + 5, w->len, 4);
	write_out(w, head, sizeof head);
	write_out(w, w->data, w->len);
	w->len = 0;
}

static void end_segment(struct writer *w)
{
	if (w->len)
		end_record(w, SEGMENT);
	w->heap = UINT32_MAX; /* HEAP_INFO holds to the segment's end */
}

static uint64_t put_string(struct writer *w, const char *text, const char *prefix)
{
	const size_t len = strlen(text), prefix_len = strlen(prefix);
	const uint64_t id = w->next_string++;
	put(w, id, w->width);
	uint8_t *p = room(w, len + prefix_len);
	if (p) {
		memcpy(p, prefix, prefix_len);
		memcpy(p + prefix_len, text, len);
	}
	end_record(w, UTF8);
	return id;
}

static void write_head(struct writer *w)
{
	static const char version[] = "JAVA PROFILE 1.0.3";
	static const char *const heaps[] = { "default", "app", "zygote", "image" };
	uint8_t head[sizeof version + 12] = { 0 };
	memcpy(head, version, sizeof version);
	head[sizeof version + 3] = (uint8_t)w->width; /* and no time: the trace's clock is not the wall's */
	write_out(w, head, sizeof head);
	w->next_string = 0x400000; /* as ART does, away from what could be an address of note */
	for (size_t i = 0; i < w->type_count; i++)
		if (w->types[i].of == NONE)
			w->types[i].name_id = put_string(w, w->types[i].name, "");
	for (size_t i = 0; i < w->name_count; i++) {
		w->names[i].name_id = put_string(w, w->names[i].name, "");
		/* What a class object has as any object has it, ART calls so in its own dumps. */
		w->names[i].static_id = w->names[i].of_class ? put_string(w, w->names[i].name, "$class$") : w->names[i].name_id;
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		w->number_names[i] = put_string(w, numbers[i].name, "");
	w->internals_name = put_string(w, "runtimeInternalObjects", "");
	w->unnamed = put_string(w, "unnamed", "");
	for (unsigned i = 0; i < 4; i++)
		w->heap_names[i] = put_string(w, heaps[i], "");
	uint32_t serial = 0;
	for (size_t i = 0; i < w->type_count; i++) {
		if (w->types[i].of != NONE)
			continue;
		put(w, ++serial, 4);
		put(w, w->types[i].class_id, w->width);
		put(w, 0, 4);
		put(w, w->types[i].name_id, w->width);
		end_record(w, LOAD_CLASS);
	}
}

static const struct field_name *name_of(const struct writer *w, uint64_t id)
{
	const uint32_t number = map_find(&w->name_map, id);
	return number == NONE ? NULL : &w->names[number];
}

/* A field whose name the graph does not have is called `unnamed`. */
static uint64_t name_id_of(const struct writer *w, uint64_t id, bool is_static)
{
	const struct field_name *name = name_of(w, id);
	return !name ? w->unnamed : is_static ? name->static_id : name->name_id;
}

/* CLASS_DUMP. `object` is its class object, or NULL. */
static void put_class(struct writer *w, const struct type *type, const struct object *object)
{
	const struct type *of = object ? &w->types[type_of(w, object)] : NULL;
	const uint32_t super = type->super;
	put(w, CLASS_DUMP, 1);
	put(w, type->class_id, w->width);
	put(w, 0, 4);
	put(w, super == NONE ? 0 : w->types[super].class_id, w->width);
	put(w, type->loader * 8, w->width);
	for (unsigned i = 0; i < 4; i++)
		put(w, 0, w->width);
	put(w, type->element ? 0 : type->size > UINT32_MAX ? UINT32_MAX : type->size, 4);
	put(w, 0, 2); /* no constant pool */
	const size_t count_at = w->len;
	uint64_t statics = 0, reference;
	put(w, 0, 2);
	const uint8_t *at = object ? object->references : NULL, *end = at ? at + object->references_len : NULL;
	const uint8_t *names = object ? object->fields : NULL, *names_end = names ? names + object->fields_len : NULL;
	const struct type *level = of;
	uint32_t field = 0;
	while (at && next_number(&at, end, &reference) && statics < FIELDS_MOST) {
		uint64_t id = 0;
		if (names) {
			next_number(&names, names_end, &id);
		} else {
			while (level && field == level->field_count) {
				level = level->super == NONE ? NULL : &w->types[level->super];
				field = 0;
			}
			id = level ? level->fields[field++] : 0;
		}
		const uint64_t value = reference ? reference + object->base : 0;
		put(w, name_id_of(w, id, true), w->width);
		put(w, OBJECT, 1);
		put(w, value * 8, w->width);
		w->graph->references += value != 0;
		statics++;
	}
	if (!w->failed)
		store(w->data + count_at, statics, 2);
	unsigned own = type->field_count + type->internals;
	for (unsigned i = 0; i < NUMBERS; i++)
		own += type->numbers >> i & 1;
	put(w, own, 2);
	for (uint32_t i = 0; i < type->field_count; i++) {
		put(w, name_id_of(w, type->fields[i], false), w->width);
		put(w, OBJECT, 1);
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		if (type->numbers >> i & 1) {
			put(w, w->number_names[i], w->width);
			put(w, numbers[i].type, 1);
		}
	if (type->internals) {
		put(w, w->internals_name, w->width);
		put(w, OBJECT, 1);
	}
}

/* Where the value of a type's nth field of this id is in an instance; width of the whole if there is none. */
static uint32_t place_of_field(const struct writer *w, const struct type *type, uint64_t id, unsigned n)
{
	uint32_t at = 0;
	for (unsigned depth = 0; depth < DEPTH_MOST; depth++) {
		for (uint32_t i = 0; i < type->field_count; i++)
			if (type->fields[i] == id && !n--)
				return at + i * w->width;
		at += type->field_count * w->width + (type->internals ? w->width : 0);
		for (unsigned j = 0; j < NUMBERS; j++)
			at += type->numbers & 1u << j ? number_width(j) : 0;
		if (type->super == NONE)
			break;
		type = &w->types[type->super];
	}
	return at;
}

/* What follows a class's own references in its instances: numbers, and the array of what the VM holds for it. */
static uint8_t *store_rest(struct writer *w, const struct type *level, const struct object *object, uint8_t *p)
{
	for (unsigned i = 0; i < NUMBERS; i++)
		if (level->numbers >> i & 1)
			p = store(p, object->has >> i & 1 ? object->numbers[i] : 0, number_width(i));
	return level->internals ? store(p, object->internals_len ? object->id * 8 + 4 : 0, w->width) : p;
}

/* References in the order of the fields, own class first. Where those begin for which no field is named. */
static uint8_t *put_references(struct writer *w, const struct type *type, const struct object *object, const uint8_t **at,
			       const uint8_t *end, uint8_t *p)
{
	uint8_t *extra = p;
	uint64_t reference;
	for (const struct type *level = type; level; level = level->super == NONE ? NULL : &w->types[level->super]) {
		for (uint32_t i = 0; i < level->field_count - level->extra; i++) {
			uint64_t value = 0;
			if (*at && next_number(at, end, &reference))
				value = reference ? reference + object->base : 0;
			p = store(p, value * 8, w->width);
			w->graph->references += value != 0;
		}
		extra = level == type ? p : extra;
		memset(p, 0, level->extra * w->width);
		p = store_rest(w, level, object, p + level->extra * w->width);
	}
	return extra;
}

static void put_instance(struct writer *w, const struct type *type, const struct object *object)
{
	uint8_t *p = room(w, 1 + 2 * w->width + 8 + type->width);
	if (!p)
		return;
	*p++ = INSTANCE_DUMP;
	p = store(p, object->id * 8, w->width);
	p = store(p, 0, 4);
	p = store(p, type->class_id, w->width);
	p = store(p, type->width, 4);
	const uint8_t *at = object->references, *end = at ? at + object->references_len : NULL;
	uint64_t reference, lost = 0;
	uint8_t *extra = NULL;
	if (object->fields_len) {
		const uint8_t *names = object->fields, *names_end = names + object->fields_len;
		uint64_t id;
		uint8_t *rest = p;
		memset(p, 0, type->width);
		for (const struct type *level = type; level; level = level->super == NONE ? NULL : &w->types[level->super])
			rest = store_rest(w, level, object, rest + level->field_count * w->width);
		for (unsigned i = 0; at && i < NAMED_MOST; i++) {
			const uint8_t *before = names;
			if (!next_number(&at, end, &reference) || !next_number(&names, names_end, &id))
				break;
			const uint32_t place = place_of_field(w, type, id, count_before(object->fields, before, id));
			const uint64_t value = reference ? reference + object->base : 0;
			if (place < type->width) {
				store(p + place, value * 8, w->width);
				w->graph->references += value != 0;
			} else {
				lost += value != 0;
			}
		}
	} else {
		extra = put_references(w, type, object, &at, end, p);
		for (uint32_t i = 0; i < type->extra && at && next_number(&at, end, &reference); i++) {
			const uint64_t value = reference ? reference + object->base : 0;
			extra = store(extra, value * 8, w->width);
			w->graph->references += value != 0;
		}
	}
	while (at && next_number(&at, end, &reference))
		lost += reference != 0;
	if (lost)
		notes_add(w->graph->notes, "references of fields that their class does not have", NOTE_NO_OFFSET, 0,
			  "object 0x%" PRIx64 ", %s", object->id * 8, type->name);
}

/* Elements of an object array; of a primitive one nothing is known but its size. */
static void put_array(struct writer *w, const struct type *type, const struct object *object)
{
	const bool primitive = type->element != OBJECT;
	put(w, primitive ? PRIMITIVE_ARRAY_DUMP : OBJECT_ARRAY_DUMP, 1);
	put(w, object->id * 8, w->width);
	put(w, 0, 4);
	const size_t count_at = w->len;
	put(w, 0, 4);
	put(w, primitive ? type->element : type->class_id, primitive ? 1 : w->width);
	const uint8_t *at = object->references, *end = at ? at + object->references_len : NULL;
	uint64_t reference, count = 0;
	while (!primitive && at && next_number(&at, end, &reference)) {
		const uint64_t value = reference ? reference + object->base : 0;
		put(w, value * 8, w->width);
		w->graph->references += value != 0;
		count++;
	}
	if (!w->failed)
		store(w->data + count_at, count, 4);
}

/* What the VM itself holds for a DexCache or a ClassLoader: an array beside it, as in ART's own dumps. */
static void put_internals(struct writer *w, const struct object *object)
{
	struct object array = { .id = object->id, .references = object->internals, .references_len = object->internals_len };
	const size_t before = w->len;
	put_array(w, &w->types[w->object_array_type], &array);
	if (!w->failed)
		store(w->data + before + 1, object->id * 8 + 4, w->width);
}

static void put_heap(struct writer *w, unsigned heap)
{
	static const char kinds[] = { 0, 'A', 'Z', 'I' };
	if (w->heap == heap)
		return;
	w->heap = heap;
	put(w, HEAP_INFO, 1);
	put(w, (uint64_t)kinds[heap], 4);
	put(w, w->heap_names[heap], w->width);
}

static void add_size(struct writer *w, uint64_t id, uint64_t size)
{
	struct own_size *sizes = grow(w, w->sizes, w->size_count, &w->size_capacity, sizeof *sizes);
	if (sizes) {
		w->sizes = sizes;
		sizes[w->size_count++] = (struct own_size){ id, size };
	}
}

/* The third pass. */
static void put_object(struct writer *w, const struct object *object)
{
	const uint32_t number = type_of(w, object);
	if (number == NONE || !object->id) {
		notes_add(w->graph->notes, "objects of a type that the graph does not describe", NOTE_NO_OFFSET, 0,
			  "object 0x%" PRIx64, object->id * 8);
		return;
	}
	struct type *type = &w->types[number];
	const uint64_t size = object->size ? object->size : type->size;
	const struct type *class = type->of == NONE ? NULL : &w->types[type->of];
	w->graph->objects++;
	put_heap(w, object->heap);
	if (class && class->class_id == object->id * 8) {
		put_class(w, class, object);
		add_size(w, object->id * 8, size);
	} else if (type->element) {
		put_array(w, type, object);
		add_size(w, object->id * 8, size);
		type->total += size;
	} else {
		/* A second class object of one class is an object like others. */
		struct type *shown = class ? &w->types[w->class_type] : type;
		put_instance(w, shown, object);
		if (size != shown->size)
			add_size(w, object->id * 8, size);
		shown->total += size;
	}
	if (object->internals_len)
		put_internals(w, object);
	if (w->len >= SEGMENT_BYTES)
		end_segment(w);
}

static void put_roots(struct writer *w)
{
	/* Sub-record tags by HeapGraphRoot.Type, and the bytes that follow the id besides a JNI id. */
	static const struct {
		uint8_t tag, rest;
		bool jni;
	} tags[] = { { 0xff, 0, false }, { 0x01, 0, true },  { 0x02, 8, false }, { 0x03, 8, false }, { 0x04, 4, false },
		     { 0x05, 0, false }, { 0x06, 4, false }, { 0x07, 0, false }, { 0x08, 8, false }, { 0x89, 0, false },
		     { 0x8a, 0, false }, { 0x8b, 0, false }, { 0x8c, 0, false }, { 0x8d, 0, false }, { 0x8e, 8, false } };
	for (size_t i = 0; i < w->root_count && !w->failed; i++) {
		const unsigned type = w->roots[i].type < sizeof tags / sizeof *tags ? w->roots[i].type : 0;
		put(w, tags[type].tag, 1);
		put(w, w->roots[i].id * 8, w->width);
		if (tags[type].jni)
			put(w, 0, w->width);
		put(w, 0, tags[type].rest > 4 ? 4 : tags[type].rest);
		put(w, 0, tags[type].rest > 4 ? 4 : 0);
		if (w->len >= SEGMENT_BYTES)
			end_segment(w);
	}
	w->graph->roots = w->root_count;
	end_segment(w);
}

static void put_undumped_classes(struct writer *w)
{
	for (size_t i = 0; i < w->type_count; i++)
		if (w->types[i].of == NONE && !w->types[i].dumped) {
			put_class(w, &w->types[i], NULL);
			if (w->len >= SEGMENT_BYTES)
				end_segment(w);
		}
	end_segment(w);
}

static int compare_sizes(const void *a, const void *b)
{
	const struct own_size *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_totals(const void *a, const void *b)
{
	const struct class_total *x = a, *y = b;
	return x->class_id < y->class_id ? -1 : x->class_id > y->class_id;
}

static void write_sizes(struct writer *w)
{
	struct heap_graph *graph = w->graph;
	bool sorted = true;
	for (size_t i = 1; i < w->size_count && sorted; i++)
		sorted = w->sizes[i - 1].id < w->sizes[i].id;
	if (!sorted)
		qsort(w->sizes, w->size_count, sizeof *w->sizes, compare_sizes);
	graph->len = w->at;
	w->at += -(graph->offset + w->at) & 7;
	graph->sizes = graph->offset + w->at;
	graph->size_count = w->size_count;
	if (w->size_count)
		write_out(w, w->sizes, w->size_count * sizeof *w->sizes);
	graph->totals = calloc(w->type_count + 1, sizeof *graph->totals);
	if (!graph->totals) {
		w->failed = true;
		return;
	}
	for (size_t i = 0; i < w->type_count; i++)
		if (w->types[i].of == NONE)
			graph->totals[graph->total_count++] = (struct class_total){ w->types[i].class_id, w->types[i].total };
	qsort(graph->totals, graph->total_count, sizeof *graph->totals, compare_totals);
}

static void writer_free(struct writer *w)
{
	for (size_t i = 0; i < w->type_count; i++) {
		free(w->types[i].name);
		free(w->types[i].fields);
	}
	for (size_t i = 0; i < w->name_count; i++)
		free(w->names[i].name);
	for (size_t i = 0; i < 3; i++)
		free(w->joined[i].data);
	free(w->types);
	free(w->names);
	free(w->roots);
	free(w->sizes);
	free(w->data);
	free(w->type_map.keys);
	free(w->type_map.values);
	free(w->name_map.keys);
	free(w->name_map.values);
}

int heap_graph_write(struct heap_graph *graph, struct spill *spill, uint64_t offset)
{
	struct writer w = { .graph = graph, .spill = spill, .heap = UINT32_MAX };
	graph->offset = offset;
	read_tables(&w);
	if (!w.failed)
		resolve_types(&w);
	if (!w.failed)
		lay_out(&w);
	if (!w.failed)
		each_object(&w, survey);
	for (size_t i = 0; i < w.type_count; i++) {
		struct type *type = &w.types[i];
		const uint32_t named = type->field_count;
		for (uint32_t j = 0; j < type->extra; j++)
			add_field(&w, type, 0);
		type->extra = type->field_count - named; /* as many as a class can have */
	}
	/* ART's addresses fit 32 bits, and hprof-conv knows no others. */
	w.width = w.highest >> 29 || w.type_count >> 28 ? 8 : 4;
	if (!w.failed) {
		lay_out(&w);
		write_head(&w);
		put_undumped_classes(&w);
		each_object(&w, put_object);
		put_roots(&w);
		end_record(&w, DUMP_END);
		write_sizes(&w);
	}
	writer_free(&w);
	return w.failed ? -1 : 0;
}

void heap_graph_close(struct heap_graph *graph)
{
	free(graph->totals);
	graph->totals = NULL;
	graph->total_count = 0;
}
