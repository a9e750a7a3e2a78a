/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects/<a>/<b>/<id>/: every object under the address that its id is. a = id >> 28, b = (id >> 16) & 0xfff,
 * so that the path follows from the id alone. Class objects stand there as links to their class's folder.
 */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

/* Elements of an array that object.txt shows. */
#define ELEMENTS_SHOWN 100
/* Chars of a String that one piece of value.txt holds. */
#define VALUE_PIECE 65536

#define HIGH_SHIFT 28
#define LOW_SHIFT 16

/* The first class with an id >= `id` that is in the dump as an object, not by name only. */
static const struct class *dumped_class_from(const struct heap *heap, uint64_t id)
{
	uint32_t number = class_from(heap, id);
	while (number < heap->class_count && !heap->classes[number].offset)
		number++;
	return number < heap->class_count ? &heap->classes[number] : NULL;
}

/* The lowest id >= `id` of an object or class, and where its sub-record is. */
static bool first_from(const struct heap *heap, uint64_t id, uint64_t *lowest, uint64_t *offset)
{
	struct found found;
	const bool object = index_successor(&heap->scan.index, id, lowest) &&
			    index_find(&heap->scan.index, *lowest, &found);
	const struct class *class = dumped_class_from(heap, id);
	if (object)
		*offset = found.offset;
	if (class && (!object || class->id < *lowest)) {
		*lowest = class->id;
		*offset = class->offset;
	}
	return object || class;
}

bool record_id(const struct node *node, uint64_t *id)
{
	const uint8_t *p = input_at(node->heap->in, node->key, 1 + node->heap->id_width);
	if (!p || (!subrecord_is_object(*p) && *p != SUB_CLASS_DUMP))
		return false;
	*id = read_id(p + 1, node->heap->id_width);
	return true;
}

bool object_offset(const struct heap *heap, uint64_t id, uint64_t *offset)
{
	const struct class *class = class_find(heap, id);
	struct found found;
	if (class)
		*offset = class->offset; /* 0 where it is known by name only */
	else if (id && index_find(&heap->scan.index, id, &found))
		*offset = found.offset;
	else
		return false;
	return *offset != 0;
}

/* Folders for the ranges of 1 << shift ids in [first, last]; a position is a range's number within it. */
static void list_ranges(const struct node *folder, uint64_t first, uint64_t last, unsigned shift, enum kind kind,
			uint64_t from, struct listing *listing)
{
	uint64_t id, offset;
	const uint64_t base = first >> shift;
	if (from > (last >> shift) - base)
		return;
	uint64_t at = from ? (base + from) << shift : first;
	while (first_from(folder->heap, at, &id, &offset) && id <= last) {
		struct text name = { 0 };
		const uint64_t range = id >> shift;
		text_printf(&name, "%" PRIx64, kind == KIND_OBJECTS_LOW ? range & 0xfff : range);
		const bool more = listing_emit(listing, kind, offset, &name, range - base + 1);
		text_free(&name);
		if (!more || range == UINT64_MAX >> shift)
			break;
		at = (range + 1) << shift;
	}
}

static bool lookup_range(const struct node *folder, uint64_t first, unsigned shift, enum kind kind, struct node *child)
{
	uint64_t id, offset;
	if (!first_from(folder->heap, first, &id, &offset) || id >> shift != first >> shift)
		return false;
	*child = node_make(folder, kind, offset);
	return true;
}

void list_objects(const struct node *folder, uint64_t from, struct listing *listing)
{
	list_ranges(folder, 0, UINT64_MAX, HIGH_SHIFT, KIND_OBJECTS_HIGH, from, listing);
}

bool lookup_objects(const struct node *folder, const char *name, struct node *child)
{
	uint64_t value, offset;
	if (name_parse_id(name, strlen(name), &value)) {
		if (!object_offset(folder->heap, value, &offset))
			return false;
		*child = node_make(folder, KIND_OBJECT_BY_ID, offset);
		return true;
	}
	return name_parse_hex(name, strlen(name), &value) && value <= UINT64_MAX >> HIGH_SHIFT &&
	       lookup_range(folder, value << HIGH_SHIFT, HIGH_SHIFT, KIND_OBJECTS_HIGH, child);
}

void list_objects_high(const struct node *folder, uint64_t from, struct listing *listing)
{
	uint64_t id;
	if (record_id(folder, &id)) {
		const uint64_t first = id >> HIGH_SHIFT << HIGH_SHIFT;
		list_ranges(folder, first, first | ((UINT64_C(1) << HIGH_SHIFT) - 1), LOW_SHIFT, KIND_OBJECTS_LOW, from,
			    listing);
	}
}

bool lookup_objects_high(const struct node *folder, const char *name, struct node *child)
{
	uint64_t id, low;
	return record_id(folder, &id) && name_parse_hex(name, strlen(name), &low) && low < 0x1000 &&
	       lookup_range(folder, (id >> HIGH_SHIFT << HIGH_SHIFT) | low << LOW_SHIFT, LOW_SHIFT, KIND_OBJECTS_LOW,
			    child);
}

/* Objects and classes whose id differs in the last 16 bits only; a position is those bits. */
void list_objects_low(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct heap *heap = folder->heap;
	uint64_t id;
	struct located *objects;
	if (from > 0xffff || !record_id(folder, &id))
		return;
	const uint64_t first = (id >> LOW_SHIFT << LOW_SHIFT) + from, last = id | 0xffff;
	const ptrdiff_t count = index_range(&heap->scan.index, first, last, &objects);
	const struct class *class = dumped_class_from(heap, first);
	struct text name = { 0 };
	for (ptrdiff_t i = 0; count >= 0;) {
		const bool is_class = class && class->id <= last && (i == count || class->id <= objects[i].id);
		if (!is_class && i == count)
			break;
		const uint64_t at = is_class ? class->id : objects[i].id;
		const uint64_t offset = is_class ? 0 : objects[i].offset;
		const struct class *shown = class;
		if (i < count && objects[i].id == at)
			i++; /* a class goes before an object of its id */
		if (is_class)
			class = dumped_class_from(heap, at + 1);
		else if (class_find(heap, at))
			continue; /* one that is known by name only */
		name.len = 0;
		text_id(&name, at);
		if (!listing_emit(listing, is_class ? KIND_CLASS_OBJECT : KIND_OBJECT,
				  is_class ? class_key(folder, shown) : offset, &name, (at & 0xffff) + 1))
			break;
	}
	text_free(&name);
	free(objects);
}

bool lookup_objects_low(const struct node *folder, const char *name, struct node *child)
{
	uint64_t own, id;
	struct found found;
	if (!record_id(folder, &own) || !name_parse_id(name, strlen(name), &id) || own >> LOW_SHIFT != id >> LOW_SHIFT)
		return false;
	const struct class *class = class_find(folder->heap, id);
	if (class) {
		*child = node_make(folder, KIND_CLASS_OBJECT, class_key(folder, class));
		return class->offset != 0;
	}
	if (!index_find(&folder->heap->scan.index, id, &found))
		return false;
	*child = node_make(folder, KIND_OBJECT, found.offset);
	return true;
}

bool up_objects_high(const struct node *folder, struct node *parent)
{
	*parent = node_make(folder, KIND_OBJECTS, folder->heap->number);
	return true;
}

bool up_objects_low(const struct node *folder, struct node *parent)
{
	uint64_t id;
	return record_id(folder, &id) &&
	       lookup_range(folder, id >> HIGH_SHIFT << HIGH_SHIFT, HIGH_SHIFT, KIND_OBJECTS_HIGH, parent);
}

bool up_object(const struct node *folder, struct node *parent)
{
	uint64_t id;
	return record_id(folder, &id) &&
	       lookup_range(folder, id >> LOW_SHIFT << LOW_SHIFT, LOW_SHIFT, KIND_OBJECTS_LOW, parent);
}

bool target_object_itself(const struct node *link, struct text *text)
{
	uint64_t id;
	return record_id(link, &id) && target_object(link, id, text);
}

bool target_object_class(const struct node *link, struct text *text)
{
	struct object object;
	return heap_object(link->heap, link->key, &object) && target_class(link, object.class, text);
}

bool is_string(const struct node *node)
{
	struct object object;
	struct string string;
	return heap_object(node->heap, node->key, &object) && heap_string(node->heap, &object, &string);
}

bool has_data(const struct node *node)
{
	struct object object;
	return heap_object(node->heap, node->key, &object) && object.kind == OBJECT_PRIMITIVE_ARRAY &&
	       !heap_graph_of(node->heap);
}

bool data_bytes(const struct node *file, uint64_t *offset, uint64_t *len)
{
	struct object object;
	if (!heap_object(file->heap, file->key, &object) || object.kind != OBJECT_PRIMITIVE_ARRAY)
		return false;
	*offset = object.data_offset;
	*len = object.data_len;
	return true;
}

static void write_fields(const struct heap *heap, const struct object *object, struct text *text)
{
	struct value_walk walk;
	const struct class *class = NULL;
	value_walk_start(&walk, heap, object);
	while (value_walk_next(&walk)) {
		if (walk.class != class) {
			class = walk.class;
			text_puts(text, "\nfields of ");
			text_name(text, class->name);
			text_puts(text, ":\n");
		}
		text_name(text, walk.field->name);
		text_put(text, ": ", 2);
		text_puts(text, type_name(walk.type));
		text_put(text, " = ", 3);
		text_value(text, heap, walk.type, walk.value);
		text_putc(text, '\n');
	}
	if (object->data_len > object->class->data_width)
		text_printf(text, "\n%" PRIu64 " bytes of fields that no class in the dump describes\n",
			    object->data_len - object->class->data_width);
	else if (object->data_len < object->class->data_width)
		text_printf(text, "\n%" PRIu64 " bytes of fields are missing from the dump\n",
			    object->class->data_width - object->data_len);
}

static void write_elements(const struct heap *heap, const struct object *object, struct text *text)
{
	struct value_walk walk;
	uint64_t shown = 0;
	value_walk_start(&walk, heap, object);
	while (shown < ELEMENTS_SHOWN && value_walk_next(&walk)) {
		if (!shown++)
			text_putc(text, '\n');
		text_number(text, walk.element);
		text_printf(text, ": %s = ", type_name(walk.type));
		text_value(text, heap, walk.type, walk.value);
		text_putc(text, '\n');
	}
	if (object->length && !object->data_len)
		text_puts(text, "\nthe elements are not in the dump\n");
	else if (shown < object->length)
		text_printf(text, "… %" PRIu64 " more\n", object->length - shown);
}

void write_object(const struct heap *heap, const struct object *object, struct text *text)
{
	struct string string;
	text_puts(text, "class: ");
	text_name(text, object->class->name);
	text_puts(text, "\nid: ");
	text_id(text, object->id);
	text_puts(text, "\nshallow: ");
	text_number(text, object_size(heap, object));
	if (heap->scan.heap_count > 1) {
		text_puts(text, "\nheap: ");
		text_name(text, block_heap_name(heap, object->offset));
	}
	if (object->kind != OBJECT_INSTANCE) {
		if (object->kind == OBJECT_PRIMITIVE_ARRAY && heap_graph_of(heap)) {
			text_puts(text, "\n\nlength and elements are not in a heap graph\n");
			return;
		}
		text_puts(text, "\nlength: ");
		text_number(text, object->length);
		text_putc(text, '\n');
		write_elements(heap, object, text);
		return;
	}
	if (heap_string(heap, object, &string)) {
		text_puts(text, "\ntext: \"");
		const bool whole = text_string(text, &string, TEXT_LINE_CHARS);
		text_putc(text, '"');
		if (!whole)
			text_printf(text, "… (%" PRIu64 " chars)", string.units);
	} else if (heap_graph_of(heap)) {
		text_puts(text, "\nvalues other than references are not in a heap graph");
	}
	text_putc(text, '\n');
	write_fields(heap, object, text);
}

static void write_object_page(const struct node *node, uint64_t first, struct pages *pages)
{
	struct object object;
	if (first || !heap_object(node->heap, node->key, &object))
		return;
	write_object(node->heap, &object, &pages->text);
	pages_next(pages);
}

const struct pages_ops object_pages = { .step = 1, .write = write_object_page };

/* A String's text, VALUE_PIECE chars a piece; a pair of surrogates that a boundary would part goes to the
   piece before it. */
static void write_value(const struct node *node, uint64_t first, struct pages *pages)
{
	struct object object;
	struct string string;
	if (!heap_object(node->heap, node->key, &object) || !heap_string(node->heap, &object, &string))
		return;
	for (uint64_t piece = first; piece * VALUE_PIECE < string.units || !piece; piece++) {
		uint64_t ends[2] = { piece * VALUE_PIECE, (piece + 1) * VALUE_PIECE };
		for (unsigned i = 0; i < 2; i++) {
			if (ends[i] >= string.units)
				ends[i] = string.units;
			else if (ends[i] && (string_unit(&string, ends[i]) & 0xfc00) == 0xdc00 &&
				 (string_unit(&string, ends[i] - 1) & 0xfc00) == 0xd800)
				ends[i]++;
		}
		text_raw_string(&pages->text, &string, ends[0], ends[1]);
		if (!pages_next(pages))
			return;
	}
}

const struct pages_ops value_pages = { .step = 1, .write = write_value };
