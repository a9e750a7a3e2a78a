/* SPDX-License-Identifier: Apache-2.0 */
#include "input/graph_image.h"

uint64_t image_no_target(const struct image *m, const struct object *object)
{
	notes_add(m->w->graph->notes, "references to addresses that no object has, shown as null", NOTE_NO_OFFSET, 0,
		  "object 0x%" PRIx64, object->id * 8);
	return 0;
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
	const uint8_t *at = object->references, *end = list_end(at, object->references_len);
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
		const uint64_t value = target(m, object, reference, model->width);
		if (place < type->width)
			store(p + place, value, model->width);
		m->references += place < type->width && value;
		lost += place >= type->width && value;
	}
	return lost;
}

/* Up to `most` numbers of a list, as references of this object. Behind them, and how many there were. */
ALWAYS_INLINE uint8_t *store_list(struct image *m, const struct object *object, const uint8_t **list, const uint8_t *end,
				  uint64_t most, uint8_t *p, unsigned width, uint64_t *count)
{
	const uint8_t *at = *list;
	uint64_t reference, n = 0, references = 0;
	for (; n < most && next_reference(&at, end, object->slack, &reference); n++) {
		const uint64_t value = target(m, object, reference, width);
		p = store(p, value, width);
		references += value != 0;
	}
	m->references += references;
	*list = at;
	*count = n;
	return p;
}

/* Fields for which there is no reference are null. */
ALWAYS_INLINE uint8_t *store_fields(struct image *m, const struct object *object, const uint8_t **at, const uint8_t *end,
				    uint64_t fields, uint8_t *p, unsigned width)
{
	uint64_t count;
	p = store_list(m, object, at, end, fields, p, width, &count);
	for (; count < fields; count++)
		p = store(p, 0, width);
	return p;
}

/*
 * References in the order of the fields, own class first, then those for which no field is named. How many are left that
 * are not null.
 */
ALWAYS_INLINE uint64_t store_references(struct image *m, const struct type *type, const struct object *object, uint8_t *p,
					unsigned width)
{
	const struct model *model = &m->w->model;
	const uint8_t *at = object->references, *end = list_end(at, object->references_len);
	uint64_t reference, lost = 0, count;
	if (type->plain) { /* nearly always */
		store_fields(m, object, &at, end, type->slots, p, width);
	} else {
		uint8_t *extra = p;
		for (const struct type *level = type; level; level = super_of(model, level)) {
			p = store_fields(m, object, &at, end, level->field_count - level->extra, p, width);
			extra = level == type ? p : extra;
			memset(p, 0, (size_t)level->extra * width);
			p = store_rest(model, level, object, p + (size_t)level->extra * width);
		}
		store_list(m, object, &at, end, type->extra, extra, width, &count);
	}
	while (next_number(&at, end, &reference))
		lost += reference != 0;
	return lost;
}

/* Has the instance a size that comes from the graph, not from what was made up for it and for those before it? */
static inline bool has_room(struct image *m, const struct type *type, const struct object *object)
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

ALWAYS_INLINE void put_instance(struct image *m, const struct type *type, const struct object *object, unsigned width)
{
	uint8_t *p = room(m, 1 + 2 * width + 8 + (size_t)type->width);
	if (!p)
		return;
	*p++ = INSTANCE_DUMP;
	p = store(p, object->id * 8, width);
	p = store(p, 0, 4);
	p = store(p, type->class_id, width);
	p = store(p, type->width, 4);
	const uint64_t lost = object->rare && object->fields_len ? store_named(m, type, object, p) :
								   store_references(m, type, object, p, width);
	if (lost)
		notes_add(m->w->graph->notes, "references of fields that their class does not have", NOTE_NO_OFFSET, 0,
			  "object 0x%" PRIx64 ", %s", object->id * 8, type->name);
}

/* Elements of an object array; of a primitive one nothing is known but its size. `id` is its address. */
ALWAYS_INLINE void put_array(struct image *m, const struct type *type, uint64_t id, const struct object *object,
			     const uint8_t *list, uint64_t list_len, unsigned width)
{
	const bool primitive = type->element != OBJECT;
	const uint64_t most = primitive ? 0 : list_len; /* a number takes a byte or more in the list */
	uint64_t count;
	uint8_t *p = room(m, 9 + 2 * width + (size_t)most * width);
	if (!p)
		return;
	*p++ = primitive ? PRIMITIVE_ARRAY_DUMP : OBJECT_ARRAY_DUMP;
	p = store(p, id, width);
	p = store(p, 0, 4);
	uint8_t *count_at = p;
	p += 4;
	if (primitive)
		*p++ = type->element;
	else
		p = store(p, type->class_id, width);
	p = store_list(m, object, &list, list_end(list, list_len), most, p, width, &count);
	store(count_at, count, 4);
	m->len = (size_t)(p - m->data);
}

static inline void add_size(struct image *m, uint64_t id, uint64_t size)
{
	if (m->size_count == m->size_capacity && !image_grow_sizes(m))
		return;
	m->unsorted |= m->size_count && m->sizes[m->size_count - 1].id >= id;
	m->sizes[m->size_count++] = (struct own_size){ id, size };
}

/* What the VM itself holds for a DexCache or a ClassLoader: an array beside it, as in ART's own dumps. */
static void put_internals(struct image *m, const struct object *object)
{
	const struct model *model = &m->w->model;
	const struct object plain = { .id = object->id };
	put_array(m, &model->types[model->object_array_type], object->id * 8 + 4, &plain, object->internals,
		  object->internals_len, model->width);
}

static void note_unknown(struct image *m, const struct object *object, bool typed)
{
	notes_add(m->w->graph->notes, typed ? "objects without an address" :
					      "objects of a type that the graph does not describe", NOTE_NO_OFFSET, 0,
		  "object 0x%" PRIx64, object->id * 8);
}

/* `width` is the image's. */
ALWAYS_INLINE void put_object(struct image *m, const struct object *object, unsigned width)
{
	const struct model *model = &m->w->model;
	const uint32_t number = model_type(model, object->type_id);
	if (number == NONE || !object->id || object->id >> address_bits(width)) {
		note_unknown(m, object, number != NONE);
		return;
	}
	const struct type *type = &model->types[number];
	const struct type *class = type->of == NONE ? NULL : &model->types[type->of];
	const uint64_t size = object->size ? object->size : type->size;
	const bool is_class = class && class->class_id == object->id * 8;
	/* A second class object of one class is an object like others. */
	const uint32_t shown = class ? model->class_type : number;
	if (!is_class && !type->element && !has_room(m, &model->types[shown], object))
		return;
	m->objects++;
	need_segment(m);
	if (m->heap != object->heap)
		image_put_heap(m, object->heap);
	if (is_class) {
		image_put_class(m, class, object);
		add_size(m, object->id * 8, size);
	} else if (type->element) {
		put_array(m, type, object->id * 8, object, object->references, object->references_len, width);
		add_size(m, object->id * 8, size);
		m->totals[number] += size;
	} else {
		put_instance(m, &model->types[shown], object, width);
		if (size != model->types[shown].size)
			add_size(m, object->id * 8, size);
		m->totals[shown] += size;
	}
	if (object->rare && object->internals_len)
		put_internals(m, object);
}

void image_put_packet(struct image *m, struct reader *reader, size_t packet)
{
	const struct model *model = &m->w->model;
	struct object object = { .id = model->starts[packet].id, .heap = model->starts[packet].heap };
	reader_packet(reader, model->graph, packet);
	const size_t bytes = (size_t)(reader->end - reader->at);
	if (m->capacity < bytes) /* it will be some twice as long, and need not grow to that step by step */
		image_grow(m, bytes);
	if (model->width == 4) { /* nearly always */
		while (reader_next(reader, &object))
			put_object(m, &object, 4);
	} else {
		while (reader_next(reader, &object))
			put_object(m, &object, 8);
	}
	image_end_segment(m);
	m->failed |= reader->failed;
}
