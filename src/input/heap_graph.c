/* SPDX-License-Identifier: Apache-2.0 */
#include "input/heap_graph.h"

#include "input/graph_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HPROF, as far as it is written here; src/hprof/format.h, which reads it, stands above this layer. */
enum { UTF8 = 0x01, LOAD_CLASS = 0x02, SEGMENT = 0x1c, DUMP_END = 0x2c };
enum { CLASS_DUMP = 0x20, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, HEAP_INFO = 0xfe };

#define SEGMENT_BYTES (UINT64_C(1) << 20)
#define SIZES_AT_ONCE 16384
#define STATICS_MOST 60000
/* An image is some twice as long as its graph; one that is this many times as long was made to fill a disk. */
#define GROWTH_MOST 64

/* --- bytes --- */

void image_write_out(struct image *m)
{
	struct writer *w = m->w;
	w->failed |= m->failed;
	if (w->failed || w->cut)
		return;
	if (w->at + m->len > w->most)
		notes_add(w->graph->notes, "the heap graph would grow out of all proportion; the rest is left out",
			  NOTE_NO_OFFSET, 0, NULL);
	if (w->at + m->len > w->most || !spill_write(w->spill, m->data, m->len, w->graph->offset + w->at))
		w->cut = true;
	else
		w->at += m->len;
	m->len = 0;
}

static uint8_t *room(struct image *m, size_t more)
{
	if (m->capacity - m->len < more) {
		const size_t wanted = 2 * (m->len + more);
		uint8_t *grown = realloc(m->data, wanted);
		if (!grown) {
			m->failed = true;
			return NULL;
		}
		m->data = grown;
		m->capacity = wanted;
	}
	uint8_t *p = m->data + m->len;
	m->len += more;
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

static void put(struct image *m, uint64_t value, unsigned width)
{
	uint8_t *p = room(m, width);
	if (p)
		store(p, value, width);
}

/* Opens a record; its length is filled in when it ends. */
static void begin_record(struct image *m, uint8_t tag)
{
	m->record = m->len;
	uint8_t *p = room(m, 9);
	if (p) {
		*p = tag;
		store(p + 1, 0, 4);
	}
}

static void end_record(struct image *m)
{
	if (!m->failed)
		store(m->data + m->record + 5, m->len - m->record - 9, 4);
	m->record = SIZE_MAX;
}

/* Heap records stand in segments; HEAP_INFO holds to a segment's end. */
static void need_segment(struct image *m)
{
	if (m->record != SIZE_MAX && m->len - m->record >= SEGMENT_BYTES)
		end_record(m);
	if (m->record == SIZE_MAX) {
		begin_record(m, SEGMENT);
		m->heap = UINT32_MAX;
	}
}

void image_end_segment(struct image *m)
{
	if (m->record != SIZE_MAX)
		end_record(m);
}

/* --- names --- */

static uint64_t put_string(struct image *m, const char *text, const char *prefix)
{
	const size_t len = strlen(text), prefix_len = strlen(prefix);
	const uint64_t id = m->w->next_string++;
	begin_record(m, UTF8);
	put(m, id, m->w->model.width);
	uint8_t *p = room(m, len + prefix_len);
	if (p) {
		memcpy(p, prefix, prefix_len);
		memcpy(p + prefix_len, text, len);
	}
	end_record(m);
	if (m->len >= SEGMENT_BYTES)
		image_write_out(m);
	return id;
}

static void write_head(struct image *m)
{
	static const char version[] = "JAVA PROFILE 1.0.3";
	static const char *const heaps[] = { "default", "app", "zygote", "image" };
	struct writer *w = m->w;
	struct model *model = &w->model;
	uint8_t *head = room(m, sizeof version + 12);
	if (head) {
		memset(head, 0, sizeof version + 12);
		memcpy(head, version, sizeof version);
		head[sizeof version + 3] = (uint8_t)model->width; /* and no time: the trace's clock is not the wall's */
	}
	w->next_string = 0x400000; /* as ART does, away from what could be an address of note */
	for (size_t i = 0; i < model->type_count; i++)
		if (model->types[i].of == NONE)
			model->types[i].name_id = put_string(m, model->types[i].name, "");
	for (size_t i = 0; i < model->name_count; i++) {
		struct field_name *name = &model->names[i];
		name->name_id = put_string(m, name->name, "");
		/* What a class object has as any object has it, ART calls so in its own dumps. */
		name->static_id = name->of_class ? put_string(m, name->name, "$class$") : name->name_id;
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		w->number_names[i] = put_string(m, numbers[i].name, "");
	w->internals_name = put_string(m, "runtimeInternalObjects", "");
	w->unnamed = put_string(m, "unnamed", "");
	for (unsigned i = 0; i < 4; i++)
		w->heap_names[i] = put_string(m, heaps[i], "");
	uint32_t serial = 0;
	for (size_t i = 0; i < model->type_count; i++) {
		if (model->types[i].of != NONE)
			continue;
		begin_record(m, LOAD_CLASS);
		put(m, ++serial, 4);
		put(m, model->types[i].class_id, model->width);
		put(m, 0, 4);
		put(m, model->types[i].name_id, model->width);
		end_record(m);
	}
}

/* A field whose name the graph does not have is called `unnamed`. */
static uint64_t name_id_of(const struct writer *w, uint64_t id, bool is_static)
{
	const uint32_t number = map_find(&w->model.name_map, id);
	if (number == NONE)
		return w->unnamed;
	return is_static ? w->model.names[number].static_id : w->model.names[number].name_id;
}

/* --- classes and objects --- */

static const struct type *super_of(const struct model *model, const struct type *type)
{
	return type->super == NONE ? NULL : &model->types[type->super];
}

/*
 * The id that a reference of this object leads to: they are numbered from the object's base on, and 0 is null. 0, too,
 * for one that would lead to another object if it was cut to the image's width.
 */
static uint64_t target(const struct image *m, const struct object *object, uint64_t reference)
{
	const uint64_t id = reference ? reference + object->base : 0;
	if (!id || is_address(&m->w->model, id))
		return id * 8;
	notes_add(m->w->graph->notes, "references to addresses that no object has, shown as null", NOTE_NO_OFFSET, 0,
		  "object 0x%" PRIx64, object->id * 8);
	return 0;
}

/* The statics of a class are what its class object refers to. Their number. */
static uint64_t put_statics(struct image *m, const struct object *object)
{
	const struct model *model = &m->w->model;
	const struct type *level = &model->types[model_type(model, object->type_id)];
	const uint8_t *at = object->references, *end = at ? at + object->references_len : NULL;
	const uint8_t *names = object->fields, *names_end = names ? names + object->fields_len : NULL;
	uint64_t statics = 0, reference;
	uint32_t field = 0;
	while (at && next_number(&at, end, &reference) && statics < STATICS_MOST) {
		uint64_t id = 0;
		if (names) {
			next_number(&names, names_end, &id);
		} else {
			while (level && field == level->field_count) {
				level = super_of(model, level);
				field = 0;
			}
			id = level ? level->fields[field++] : 0;
		}
		put(m, name_id_of(m->w, id, true), model->width);
		put(m, OBJECT, 1);
		const uint64_t id_of_target = target(m, object, reference);
		put(m, id_of_target, model->width);
		m->references += id_of_target != 0;
		statics++;
	}
	return statics;
}

/* CLASS_DUMP. `object` is its class object, or NULL. */
static void put_class(struct image *m, const struct type *type, const struct object *object)
{
	const struct writer *w = m->w;
	const struct model *model = &w->model;
	const struct type *super = super_of(model, type);
	put(m, CLASS_DUMP, 1);
	put(m, type->class_id, model->width);
	put(m, 0, 4);
	put(m, super ? super->class_id : 0, model->width);
	put(m, is_address(model, type->loader) ? type->loader * 8 : 0, model->width);
	for (unsigned i = 0; i < 4; i++)
		put(m, 0, model->width);
	put(m, type->element ? 0 : type->size > UINT32_MAX ? UINT32_MAX : type->size, 4);
	put(m, 0, 2); /* no constant pool */
	const size_t count_at = m->len;
	put(m, 0, 2);
	const uint64_t statics = object ? put_statics(m, object) : 0;
	if (!m->failed)
		store(m->data + count_at, statics, 2);
	unsigned own = type->field_count + type->internals;
	for (unsigned i = 0; i < NUMBERS; i++)
		own += type->numbers >> i & 1;
	put(m, own, 2);
	for (uint32_t i = 0; i < type->field_count; i++) {
		put(m, name_id_of(w, type->fields[i], false), model->width);
		put(m, OBJECT, 1);
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		if (type->numbers >> i & 1) {
			put(m, w->number_names[i], model->width);
			put(m, numbers[i].type, 1);
		}
	if (type->internals) {
		put(m, w->internals_name, model->width);
		put(m, OBJECT, 1);
	}
}

/* Where the value of a type's nth field of this id is in an instance; width of the whole if there is none. */
static uint64_t place_of_field(const struct model *model, const struct type *type, uint64_t id, unsigned n)
{
	uint64_t at = 0;
	for (; type; type = super_of(model, type)) {
		for (uint32_t i = 0; i < type->field_count; i++)
			if (type->fields[i] == id && !n--)
				return at + (uint64_t)i * model->width;
		at += (uint64_t)type->field_count * model->width + (type->internals ? model->width : 0);
		for (unsigned j = 0; j < NUMBERS; j++)
			at += type->numbers & 1u << j ? number_width(j) : 0;
	}
	return at;
}

/* What follows a class's own references in its instances: numbers, and the array of what the VM holds for it. */
static uint8_t *store_rest(const struct model *model, const struct type *level, const struct object *object, uint8_t *p)
{
	for (unsigned i = 0; i < NUMBERS; i++)
		if (level->numbers >> i & 1)
			p = store(p, object->has >> i & 1 ? object->numbers[i] : 0, number_width(i));
	return level->internals ? store(p, object->internals_len ? object->id * 8 + 4 : 0, model->width) : p;
}

/* The references of an object that names its fields. How many have no place. */
static uint64_t store_named(struct image *m, const struct type *type, const struct object *object, uint8_t *p)
{
	const struct model *model = &m->w->model;
	const uint8_t *at = object->references, *end = at ? at + object->references_len : NULL;
	const uint8_t *names = object->fields, *names_end = names + object->fields_len;
	uint64_t reference, id, lost = 0;
	uint8_t *rest = p;
	memset(p, 0, type->width);
	for (const struct type *level = type; level; level = super_of(model, level))
		rest = store_rest(model, level, object, rest + (uint64_t)level->field_count * model->width);
	for (unsigned i = 0; at && next_number(&at, end, &reference); i++) {
		const uint8_t *before = names;
		const uint64_t work = 1 + i + (uint64_t)type->slots + type->depth;
		if (i >= NAMED_MOST || work > m->work || !next_number(&names, names_end, &id)) {
			lost += reference != 0;
			continue;
		}
		m->work -= work;
		const uint64_t place = place_of_field(model, type, id, count_before(object->fields, before, id));
		const uint64_t value = target(m, object, reference);
		if (place < type->width)
			store(p + place, value, model->width);
		m->references += place < type->width && value;
		lost += place >= type->width && value;
	}
	return lost;
}

/* References in the order of the fields, own class first, then those for which no field is named. How many are left. */
static uint64_t store_references(struct image *m, const struct type *type, const struct object *object, uint8_t *p)
{
	const struct model *model = &m->w->model;
	const uint8_t *at = object->references, *end = at ? at + object->references_len : NULL;
	uint8_t *extra = p;
	uint64_t reference, lost = 0;
	for (const struct type *level = type; level; level = super_of(model, level)) {
		for (uint32_t i = 0; i < level->field_count - level->extra; i++) {
			reference = 0;
			if (at)
				next_number(&at, end, &reference);
			const uint64_t value = target(m, object, reference);
			p = store(p, value, model->width);
			m->references += value != 0;
		}
		if (level->plain) /* and all above it */
			continue;
		extra = level == type ? p : extra;
		memset(p, 0, (size_t)level->extra * model->width);
		p = store_rest(model, level, object, p + (size_t)level->extra * model->width);
	}
	for (uint32_t i = 0; i < type->extra && at && next_number(&at, end, &reference); i++) {
		const uint64_t value = target(m, object, reference);
		extra = store(extra, value, model->width);
		m->references += value != 0;
	}
	while (at && next_number(&at, end, &reference))
		lost += reference != 0;
	return lost;
}

/* Has the instance a size that comes from the graph, not from what was made up for it and for those before it? */
static bool has_room(struct image *m, const struct type *type, const struct object *object)
{
	const uint64_t own = object->references_len * 8, padding = type->width > own ? type->width - own : 0;
	if (padding > m->padding) {
		notes_add(m->w->graph->notes, "objects that are left out, since they have many fields and hardly a reference",
			  NOTE_NO_OFFSET, 0, "object 0x%" PRIx64 ", %s", object->id * 8, type->name);
		return false;
	}
	m->padding -= padding;
	return true;
}

static void put_instance(struct image *m, const struct type *type, const struct object *object)
{
	const unsigned width = m->w->model.width;
	uint8_t *p = room(m, 1 + 2 * width + 8 + (size_t)type->width);
	if (!p)
		return;
	*p++ = INSTANCE_DUMP;
	p = store(p, object->id * 8, width);
	p = store(p, 0, 4);
	p = store(p, type->class_id, width);
	p = store(p, type->width, 4);
	const uint64_t lost = object->fields_len ? store_named(m, type, object, p) : store_references(m, type, object, p);
	if (lost)
		notes_add(m->w->graph->notes, "references of fields that their class does not have", NOTE_NO_OFFSET, 0,
			  "object 0x%" PRIx64 ", %s", object->id * 8, type->name);
}

/* Elements of an object array; of a primitive one nothing is known but its size. `id` is its address. */
static void put_array(struct image *m, const struct type *type, uint64_t id, const struct object *object, const uint8_t *list,
		      uint64_t list_len)
{
	const unsigned width = m->w->model.width;
	const bool primitive = type->element != OBJECT;
	const uint8_t *at = primitive ? NULL : list, *end = at ? at + list_len : NULL;
	/* A number takes a byte or more in the list. */
	uint8_t *start = room(m, 9 + 2 * width + (size_t)(end - at) * width), *p = start;
	uint64_t reference;
	uint32_t count = 0;
	if (!p)
		return;
	*p++ = primitive ? PRIMITIVE_ARRAY_DUMP : OBJECT_ARRAY_DUMP;
	p = store(p, id, width);
	p = store(p, 0, 4);
	uint8_t *count_at = p;
	p = store(p + 4, primitive ? type->element : type->class_id, primitive ? 1 : width);
	for (; at && next_number(&at, end, &reference); count++) {
		const uint64_t value = target(m, object, reference);
		p = store(p, value, width);
		m->references += value != 0;
	}
	store(count_at, count, 4);
	m->len = (size_t)(p - m->data);
}

static void put_heap(struct image *m, unsigned heap)
{
	static const char kinds[] = { 0, 'A', 'Z', 'I' };
	if (m->heap == heap)
		return;
	m->heap = heap;
	put(m, HEAP_INFO, 1);
	put(m, (uint64_t)kinds[heap], 4);
	put(m, m->w->heap_names[heap], m->w->model.width);
}

static void add_size(struct image *m, uint64_t id, uint64_t size)
{
	if (grow_sizes(&m->sizes, m->size_count, &m->size_capacity, 1))
		m->sizes[m->size_count++] = (struct own_size){ id, size };
	else
		m->failed = true;
}

/* The third pass. */
void image_put_object(void *context, const struct object *object)
{
	struct image *m = context;
	const struct model *model = &m->w->model;
	const uint32_t number = model_type(model, object->type_id);
	if (number == NONE || !is_address(model, object->id)) {
		notes_add(m->w->graph->notes, number == NONE ? "objects of a type that the graph does not describe" :
							       "objects without an address", NOTE_NO_OFFSET, 0,
			  "object 0x%" PRIx64, object->id * 8);
		return;
	}
	const struct type *type = &model->types[number];
	const struct type *class = type->of == NONE ? NULL : &model->types[type->of];
	const uint64_t size = object->size ? object->size : type->size;
	const bool is_class = class && class->class_id == object->id * 8;
	if (!is_class && !type->element && !has_room(m, class ? &model->types[model->class_type] : type, object))
		return;
	m->objects++;
	need_segment(m);
	put_heap(m, object->heap);
	if (is_class) {
		put_class(m, class, object);
		add_size(m, object->id * 8, size);
	} else if (type->element) {
		put_array(m, type, object->id * 8, object, object->references, object->references_len);
		add_size(m, object->id * 8, size);
		m->totals[number] += size;
	} else {
		/* A second class object of one class is an object like others. */
		const uint32_t shown = class ? model->class_type : number;
		put_instance(m, &model->types[shown], object);
		if (size != model->types[shown].size)
			add_size(m, object->id * 8, size);
		m->totals[shown] += size;
	}
	/* What the VM itself holds for a DexCache or a ClassLoader: an array beside it, as in ART's own dumps. */
	if (object->internals_len) {
		const struct object plain = { .id = object->id };
		put_array(m, &model->types[model->object_array_type], object->id * 8 + 4, &plain, object->internals,
			  object->internals_len);
	}
}

static void put_roots(struct image *m)
{
	/* Sub-record tags by HeapGraphRoot.Type, and the bytes that follow the id besides a JNI id. */
	static const struct {
		uint8_t tag, rest;
		bool jni;
	} tags[] = { { 0xff, 0, false }, { 0x01, 0, true },  { 0x02, 8, false }, { 0x03, 8, false }, { 0x04, 4, false },
		     { 0x05, 0, false }, { 0x06, 4, false }, { 0x07, 0, false }, { 0x08, 8, false }, { 0x89, 0, false },
		     { 0x8a, 0, false }, { 0x8b, 0, false }, { 0x8c, 0, false }, { 0x8d, 0, false }, { 0x8e, 8, false } };
	const struct model *model = &m->w->model;
	for (size_t i = 0; i < model->root_count && !m->failed; i++) {
		const unsigned type = model->roots[i].type < sizeof tags / sizeof *tags ? model->roots[i].type : 0;
		if (!is_address(model, model->roots[i].id)) {
			notes_add(m->w->graph->notes, "gc roots at addresses that no object has", NOTE_NO_OFFSET, 0, NULL);
			continue;
		}
		m->w->graph->roots++;
		need_segment(m);
		put(m, tags[type].tag, 1);
		put(m, model->roots[i].id * 8, model->width);
		if (tags[type].jni)
			put(m, 0, model->width);
		put(m, 0, tags[type].rest > 4 ? 4 : tags[type].rest);
		put(m, 0, tags[type].rest > 4 ? 4 : 0);
	}
	image_end_segment(m);
}

static void put_undumped_classes(struct image *m)
{
	const struct model *model = &m->w->model;
	for (size_t i = 0; i < model->type_count; i++) {
		if (model->types[i].of != NONE || model->types[i].dumped)
			continue;
		need_segment(m);
		put_class(m, &model->types[i], NULL);
		if (m->len >= 4 * SEGMENT_BYTES) {
			image_end_segment(m);
			image_write_out(m);
		}
	}
	image_end_segment(m);
}

/* --- sizes --- */

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
	/* In pieces: for one large write the kernel looks for large pages, for longer than the writing takes. */
	for (size_t at = 0, n; at < w->size_count && !w->cut; at += n) {
		n = w->size_count - at < SIZES_AT_ONCE ? w->size_count - at : SIZES_AT_ONCE;
		w->cut = !spill_write(w->spill, w->sizes + at, n * sizeof *w->sizes, graph->sizes + at * sizeof *w->sizes);
	}
	graph->size_count = w->cut ? 0 : w->size_count;
}

/* Types in the order of the model while objects are counted. */
static bool open_totals(struct writer *w)
{
	struct heap_graph *graph = w->graph;
	graph->totals = calloc(w->model.type_count + 1, sizeof *graph->totals);
	graph->total_count = graph->totals ? w->model.type_count : 0;
	for (size_t i = 0; i < graph->total_count; i++)
		graph->totals[i].class_id = w->model.types[i].class_id;
	return graph->totals;
}

/* Without the classes of class objects, by id. */
static void close_totals(struct writer *w)
{
	struct heap_graph *graph = w->graph;
	size_t kept = 0;
	for (size_t i = 0; i < graph->total_count; i++)
		if (w->model.types[i].of == NONE)
			graph->totals[kept++] = graph->totals[i];
	graph->total_count = kept;
	if (kept)
		qsort(graph->totals, kept, sizeof *graph->totals, compare_totals);
}

int heap_graph_write(struct heap_graph *graph, struct spill *spill, uint64_t offset)
{
	struct writer w = { .graph = graph, .spill = spill, .most = GROWTH_MOST * graph->bytes + (UINT64_C(64) << 20) };
	struct image image;
	graph->offset = offset;
	w.failed = !model_open(&w.model, graph) || !open_totals(&w) || !image_open(&image, &w);
	if (!w.failed) {
		write_head(&image);
		put_undumped_classes(&image);
		image_write_out(&image);
		put_objects(&w);
		put_roots(&image);
		begin_record(&image, DUMP_END);
		end_record(&image);
		image_write_out(&image);
		image_close(&image);
		close_totals(&w);
		if (!w.failed)
			write_sizes(&w);
	}
	model_close(&w.model);
	free(w.sizes);
	return w.failed ? -1 : 0;
}

void heap_graph_close(struct heap_graph *graph)
{
	free(graph->totals);
	graph->totals = NULL;
	graph->total_count = 0;
}
