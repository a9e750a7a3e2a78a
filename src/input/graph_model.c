/* SPDX-License-Identifier: Apache-2.0 */
#include "input/graph_model.h"

#include <stdlib.h>
#include <string.h>

enum { KIND_ARRAY = 4 };

/* Fields of a class, and statics: HPROF counts them in two bytes. */
#define FIELDS_MOST 60000
#define CLASS_OF "java.lang.Class<"
/* Type ids that a table is made for: ART numbers types from 1 on. */
#define TABLE_MOST (UINT64_C(1) << 22)

static void *grow(struct model *m, void *list, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return list;
	const size_t wanted = *capacity ? 2 * *capacity : 64;
	void *grown = reallocarray(list, wanted, size);
	if (!grown) {
		m->failed = true;
		return NULL;
	}
	*capacity = wanted;
	return grown;
}

void *calloc_apart(size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes / CACHE_LINES + 1) * CACHE_LINES;
	void *memory = aligned_alloc(CACHE_LINES, bytes);
	return memory ? memset(memory, 0, bytes) : NULL;
}

/* --- reading --- */

static struct type *add_type(struct model *m, const char *name, size_t len)
{
	struct type *types = grow(m, m->types, m->type_count, &m->type_capacity, sizeof *types);
	char *copy = strndup(name, len);
	if (!types || !copy || m->type_count == NONE - 1) {
		m->failed = true;
		free(copy);
		if (types)
			m->types = types;
		return NULL;
	}
	m->types = types;
	types[m->type_count] = (struct type){ .name = copy, .super = NONE, .of = NONE };
	return &types[m->type_count++];
}

void model_add_field(struct model *m, struct type *type, uint64_t id)
{
	if (type->field_count == FIELDS_MOST)
		return;
	size_t capacity = type->field_capacity;
	uint64_t *fields = grow(m, type->fields, type->field_count, &capacity, sizeof *fields);
	if (!fields)
		return;
	type->fields = fields;
	type->field_capacity = (uint32_t)capacity;
	fields[type->field_count++] = id;
}

static void read_type(struct model *m, const struct proto_field *message)
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
	const uint32_t known = map_find(&m->type_map, read.id);
	struct type *type = known == NONE ? add_type(m, name, name_len) : &m->types[known];
	if (!type)
		return;
	if (known != NONE) {
		char *copy = strndup(name, name_len);
		if (copy) {
			free(type->name);
			type->name = copy;
		}
		type->field_count = 0;
	} else if (!map_set(&m->type_map, read.id, (uint32_t)(m->type_count - 1))) {
		m->failed = true;
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
			model_add_field(m, type, field.value);
		else if (field.type == PROTO_LEN)
			for (const uint8_t *p = field.data; next_number(&p, field.data + field.len, &id);)
				model_add_field(m, type, id);
	}
}

/* "Type Owner.name". Of two names with one id the first one counts. */
static void read_name(struct model *m, const struct proto_field *message)
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
	if (map_find(&m->name_map, id) != NONE)
		return;
	const char *space = memchr(text, ' ', len);
	const char *owner = space ? space + 1 : text, *limit = text + len;
	const char *dot = memrchr(owner, '.', (size_t)(limit - owner));
	const char *name = dot ? dot + 1 : owner;
	const size_t owner_len = dot ? (size_t)(dot - owner) : 0;
	struct field_name *names = grow(m, m->names, m->name_count, &m->name_capacity, sizeof *names);
	char *copy = strndup(name, (size_t)(limit - name));
	if (names)
		m->names = names;
	if (!names || !copy || !map_set(&m->name_map, id, (uint32_t)m->name_count)) {
		free(copy);
		m->failed = true;
		return;
	}
	const bool of_class = (owner_len == 15 && !memcmp(owner, "java.lang.Class", 15)) ||
			      (owner_len == 16 && !memcmp(owner, "java.lang.Object", 16));
	names[m->name_count++] = (struct field_name){ .id = id, .name = copy, .of_class = of_class };
}

static void add_root(struct model *m, uint64_t id, unsigned type)
{
	struct root *roots = grow(m, m->roots, m->root_count, &m->root_capacity, sizeof *roots);
	if (roots) {
		m->roots = roots;
		roots[m->root_count++] = (struct root){ id, type };
	}
}

static void read_roots(struct model *m, const struct proto_field *message)
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
			add_root(m, field.value, type);
		else if (field.type == PROTO_LEN)
			for (const uint8_t *p = field.data; next_number(&p, field.data + field.len, &id);)
				add_root(m, id, type);
	}
}

static void read_table(struct model *m, const uint8_t *at, const uint8_t *end)
{
	struct proto_field field;
	while (proto_next(&at, end, &field) && !m->failed) {
		if (field.number == 10 && field.type == PROTO_VARINT)
			m->graph->heap_bytes_allocated = field.value;
		if (field.type != PROTO_LEN)
			continue;
		if (field.number == 9)
			read_type(m, &field);
		else if (field.number == 4)
			read_name(m, &field);
		else if (field.number == 7)
			read_roots(m, &field);
	}
}

/* The first pass: everything but objects. */
static void read_tables(struct model *m)
{
	struct heap_graph *graph = m->graph;
	for (size_t i = 0; i < graph->packets && !m->failed; i++) {
		uint64_t len;
		size_t count;
		const struct graph_span *others = graph->others(graph->context, i, &count);
		const uint8_t *data = count ? graph->packet(graph->context, i, &len) : NULL;
		for (size_t j = 0; data && j < count && others[j].offset + others[j].len <= len; j++)
			read_table(m, data + others[j].offset, data + others[j].offset + others[j].len);
	}
}

unsigned model_threads(const struct model *m)
{
	uint64_t most = m->graph->bytes / (64 * (uint64_t)(m->type_count + 1)) + 1;
	most = most < m->graph->packets ? most : m->graph->packets;
	most = most < m->graph->threads ? most : m->graph->threads;
	return most < MODEL_THREADS_MOST ? (unsigned)most : MODEL_THREADS_MOST;
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

/* Types in the order of their names, those of one name in that of their loaders. */
struct by_name {
	const struct model *m;
	uint32_t *order;
	size_t count;
};

static int compare_names(const void *a, const void *b, void *context)
{
	const struct model *m = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(m->types[x].name, m->types[y].name);
	if (order || m->types[x].loader == m->types[y].loader)
		return order ? order : x < y ? -1 : x > y;
	return m->types[x].loader < m->types[y].loader ? -1 : 1;
}

/* Does the type stand before this name and loader? */
static bool is_before(const struct type *type, const char *name, size_t len, uint64_t loader)
{
	const int order = strncmp(type->name, name, len);
	return order ? order < 0 : !type->name[len] && type->loader < loader;
}

/* The first type called so, of this loader or a later one. */
static uint32_t type_from(const struct by_name *names, const char *name, size_t len, uint64_t loader)
{
	size_t low = 0, high = names->count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (is_before(&names->m->types[names->order[mid]], name, len, loader))
			low = mid + 1;
		else
			high = mid;
	}
	const struct type *type = low < names->count ? &names->m->types[names->order[low]] : NULL;
	return !type || strncmp(type->name, name, len) || type->name[len] ? NONE : names->order[low];
}

/* The type called so, and if there are several, one of this loader if there is one; NONE if there is none. */
static uint32_t type_by_name(const struct by_name *names, const char *name, size_t len, uint64_t loader)
{
	const uint32_t found = type_from(names, name, len, loader);
	return found != NONE && names->m->types[found].loader == loader ? found : type_from(names, name, len, 0);
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
static void resolve_types(struct model *m)
{
	static const char *const needed[] = { "java.lang.Object", "java.lang.Class", "java.lang.Object[]" };
	uint32_t *const places[] = { &m->object_type, &m->class_type, &m->object_array_type };
	const size_t known = m->type_count;
	struct by_name names = { .m = m, .count = known, .order = malloc((known + 1) * sizeof *names.order) };
	if (!names.order) {
		m->failed = true;
		return;
	}
	for (size_t i = 0; i < known; i++)
		names.order[i] = (uint32_t)i;
	qsort_r(names.order, known, sizeof *names.order, compare_names, m);
	for (size_t i = 0; i < 3; i++) {
		*places[i] = type_by_name(&names, needed[i], strlen(needed[i]), 0);
		if (*places[i] == NONE && add_type(m, needed[i], strlen(needed[i])))
			*places[i] = (uint32_t)(m->type_count - 1);
	}
	for (size_t i = 0; i < known && !m->failed; i++) {
		size_t len;
		if (!names_class_of(m->types[i].name, &len))
			continue;
		const char *name = m->types[i].name + sizeof CLASS_OF - 1;
		uint32_t of = type_by_name(&names, name, len, m->types[i].loader);
		for (size_t j = 0; of == NONE && j < 3; j++)
			if (strlen(needed[j]) == len && !memcmp(needed[j], name, len))
				of = *places[j];
		if (of == NONE && add_type(m, name, len))
			of = (uint32_t)(m->type_count - 1);
		m->types[i].of = of;
	}
	free(names.order);
	for (size_t i = 0; i < m->type_count; i++) {
		struct type *type = &m->types[i];
		const uint32_t super = type->super_id ? map_find(&m->type_map, type->super_id) : NONE;
		type->super = super == i ? NONE : super;
		type->element = element_of(type);
		type->class_id = 8 * (uint64_t)(i + 1) + 1; /* no object's */
	}
	if (m->failed)
		return;
	struct type *class = &m->types[m->class_type], *array = &m->types[m->object_array_type];
	if (class->super == NONE && m->class_type != m->object_type)
		class->super = m->object_type;
	if (array->super == NONE)
		array->super = m->object_type;
}

/* How long an instance's own fields are, and its superclass's, which is laid out already. */
static void lay_out_type(struct model *m, struct type *type)
{
	const struct type *super = type->super == NONE ? NULL : &m->types[type->super];
	type->depth = super ? super->depth + 1 : 1;
	type->slots = type->field_count + (super ? super->slots : 0);
	type->width = (uint64_t)type->field_count * m->width + (type->internals ? m->width : 0) + (super ? super->width : 0);
	for (unsigned i = 0; i < NUMBERS; i++)
		type->width += type->numbers & 1u << i ? number_width(i) : 0;
	type->plain = !type->numbers && !type->internals && !type->extra && (!super || super->plain);
}

/* How long instances are, own fields first, as HPROF has them. Each type once, superclasses first. */
static void lay_out(struct model *m)
{
	uint32_t *below = malloc((m->type_count + 1) * sizeof *below);
	if (!below) {
		m->failed = true;
		return;
	}
	for (size_t i = 0; i < m->type_count; i++)
		m->types[i].depth = 0;
	for (size_t i = 0; i < m->type_count; i++) {
		size_t count = 0;
		for (uint32_t at = (uint32_t)i; at != NONE && !m->types[at].depth; at = m->types[at].super) {
			m->types[at].depth = UINT32_MAX; /* on the way */
			below[count++] = at;
		}
		while (count--) {
			struct type *type = &m->types[below[count]];
			const uint32_t above = type->super == NONE ? 0 : m->types[type->super].depth;
			if (above >= DEPTH_MOST) {
				notes_add(m->graph->notes, above == UINT32_MAX ? "classes with superclasses that go in a circle" :
										 "classes with more superclasses than can be",
					  NOTE_NO_OFFSET, 0, "%s", type->name);
				type->super = NONE;
			}
			lay_out_type(m, type);
		}
	}
	free(below);
}

/* Types by id, for the one look-up that each object takes. */
static void make_table(struct model *m)
{
	uint64_t highest = 0;
	for (size_t i = 0; i < m->type_count; i++)
		highest = m->types[i].id > highest ? m->types[i].id : highest;
	if (highest >= TABLE_MOST || highest > 64 * (uint64_t)m->type_count + 4096)
		return;
	m->type_table = malloc((size_t)(highest + 1) * sizeof *m->type_table);
	if (!m->type_table)
		return;
	for (uint64_t id = 0; id <= highest; id++)
		m->type_table[id] = map_find(&m->type_map, id);
	m->type_table_len = highest + 1;
}

bool model_open(struct model *m, struct heap_graph *graph)
{
	*m = (struct model){ .graph = graph, .starts = calloc(graph->packets + 1, sizeof *m->starts) };
	m->failed = !m->starts;
	m->work = 64 * graph->bytes + (UINT64_C(1) << 24);
	if (!m->failed)
		read_tables(m);
	if (!m->failed)
		resolve_types(m);
	if (!m->failed) {
		make_table(m);
		lay_out(m);
		model_survey(m);
	}
	/* ART's addresses fit 32 bits, and hprof-conv knows no others. */
	m->width = m->highest >> 29 || m->type_count >> 28 ? 8 : 4;
	if (!m->failed)
		lay_out(m);
	return !m->failed;
}

void model_close(struct model *m)
{
	for (size_t i = 0; i < m->type_count; i++) {
		free(m->types[i].name);
		free(m->types[i].fields);
	}
	for (size_t i = 0; i < m->name_count; i++)
		free(m->names[i].name);
	free(m->types);
	free(m->names);
	free(m->roots);
	free(m->starts);
	free(m->type_table);
	map_free(&m->type_map);
	map_free(&m->name_map);
}
