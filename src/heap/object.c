/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/heap.h"

#include <stdlib.h>

/* Decodes all but the class. */
static bool decode(const struct heap *heap, uint64_t offset, struct object *object)
{
	const unsigned I = heap->id_width;
	const uint64_t left = input_left(heap->in, offset);
	if (!left || offset < heap->first_offset || offset >= heap->end_offset)
		return false;
	const uint8_t *p = heap->in->data + offset;
	const uint64_t size = subrecord_size(p, left, I);
	if (size == SUBRECORD_BAD || size > left || !subrecord_is_object(*p)) {
		/* Cut since it was scanned (input_at() takes note of that), or never the place of an object. */
		if (size != SUBRECORD_BAD && size > left)
			(void)input_at(heap->in, offset, size == SUBRECORD_CUT ? left + 1 : size);
		return false;
	}
	*object = (struct object){ .id = read_id(p + 1, I), .offset = offset, .trace = be32(p + 1 + I) };
	uint64_t header = 9 + 2 * I;
	if (*p == SUB_INSTANCE_DUMP) {
		object->kind = OBJECT_INSTANCE;
	} else if (*p == SUB_OBJ_ARRAY_DUMP) {
		object->kind = OBJECT_OBJECT_ARRAY;
		object->type = TYPE_OBJECT;
		object->length = be32(p + 5 + I);
	} else {
		object->kind = OBJECT_PRIMITIVE_ARRAY;
		object->length = be32(p + 5 + I);
		object->type = p[9 + I];
		header = 10 + I;
	}
	object->data_offset = offset + header;
	object->data = p + header;
	object->data_len = size - header;
	return input_at(heap->in, offset, size) != NULL;
}

bool heap_object(const struct heap *heap, uint64_t offset, struct object *object)
{
	const unsigned I = heap->id_width;
	if (!decode(heap, offset, object))
		return false;
	const uint8_t *p = heap->in->data + offset;
	if (object->kind == OBJECT_PRIMITIVE_ARRAY) {
		const uint32_t number = object->type < TYPE_COUNT ? heap->primitive_arrays[object->type] : CLASS_NONE;
		object->class = number == CLASS_NONE ? NULL : &heap->classes[number];
	} else {
		object->class = class_find(heap, read_id(p + (object->kind == OBJECT_INSTANCE ? 5 : 9) + I, I));
	}
	return object->class != NULL;
}

bool cursor_object(const struct cursor *cursor, struct object *object)
{
	if (!decode(cursor->heap, cursor->offset, object))
		return false;
	object->class = cursor->class; /* no need to look for it */
	return true;
}

bool heap_find(const struct heap *heap, uint64_t id, struct object *object)
{
	struct found found;
	return id && index_find(&heap->scan.index, id, &found) && heap_object(heap, found.offset, object);
}

bool heap_find_near(const struct heap *heap, uint64_t id, const struct object *before, struct object *object)
{
	const uint64_t next = before->data_offset + before->data_len;
	const uint8_t *p = next < heap->end_offset ? input_at(heap->in, next, 1 + heap->id_width) : NULL;
	/* Of equal ids another one may be the first. */
	if (p && subrecord_is_object(*p) && read_id(p + 1, heap->id_width) == id && id && !heap->scan.index.duplicates)
		return heap_object(heap, next, object);
	return heap_find(heap, id, object);
}

/* Goes up to the class whose part of the data comes next; skips classes without fields. */
static void enter_class(struct value_walk *walk, const struct class *class)
{
	while (class && !class->parts.field_count) {
		walk->class_at += class->own_width;
		class = class_super(walk->heap, class);
	}
	walk->class = class;
	walk->index = 0;
}

void value_walk_start(struct value_walk *walk, const struct heap *heap, const struct object *object)
{
	*walk = (struct value_walk){ .heap = heap, .object = object };
	if (object->kind == OBJECT_INSTANCE)
		enter_class(walk, object->class);
}

void value_walk_seek(struct value_walk *walk, uint64_t n)
{
	walk->next = n;
}

bool value_walk_next(struct value_walk *walk)
{
	const struct object *object = walk->object;
	if (object->kind != OBJECT_INSTANCE) {
		const unsigned width = type_width(object->type, walk->heap->id_width);
		if (walk->next >= object->length || (walk->next + 1) * width > object->data_len)
			return false;
		walk->element = walk->next++;
		walk->type = object->type;
		walk->at = walk->element * width;
		walk->value = object->data + walk->at;
		return true;
	}
	if (walk->class && walk->index == walk->class->parts.field_count) {
		walk->class_at += walk->class->own_width;
		enter_class(walk, class_super(walk->heap, walk->class));
	}
	const struct field *fields = walk->class ? class_fields(walk->heap, walk->class) : NULL;
	if (!fields)
		return false;
	walk->field = &fields[walk->index++];
	walk->type = walk->field->type;
	walk->at = walk->class_at + walk->field->offset;
	walk->value = object->data + walk->at;
	return walk->at + type_width(walk->type, walk->heap->id_width) <= object->data_len;
}

int32_t field_offset(const struct heap *heap, const struct class *class, const char *name, uint8_t type)
{
	const size_t len = strlen(name);
	uint64_t at = 0;
	for (; class; class = class_super(heap, class)) {
		const struct field *fields = class_fields(heap, class);
		for (unsigned i = 0; fields && i < class->parts.field_count; i++)
			if (fields[i].type == type && fields[i].name.len == len &&
			    !memcmp(fields[i].name.text, name, len))
				return at + fields[i].offset > INT32_MAX ? -1 : (int32_t)(at + fields[i].offset);
		at += class->own_width;
	}
	return -1;
}

int32_t field_offset_of(const struct heap *heap, const struct class *class, const struct class *declaring, const char *name,
			uint8_t type)
{
	uint64_t base = 0;
	for (; class && class != declaring; class = class_super(heap, class))
		base += class->own_width;
	const int32_t at = class ? field_offset(heap, declaring, name, type) : -1;
	return at < 0 || base + (uint64_t)at > INT32_MAX ? -1 : (int32_t)(base + (uint64_t)at);
}

bool object_field(const struct heap *heap, const struct object *object, const char *name, struct object *to)
{
	const int32_t at = object->kind == OBJECT_INSTANCE ? field_offset(heap, object->class, name, TYPE_OBJECT) : -1;
	return at >= 0 && (uint64_t)at + heap->id_width <= object->data_len &&
	       heap_find(heap, read_id(object->data + at, heap->id_width), to);
}

void cursor_seek(struct cursor *cursor, const struct heap *heap, const struct class *class, uint64_t rank)
{
	*cursor = (struct cursor){ .heap = heap, .class = class };
	if (rank >= class->count)
		return;
	const struct skip *skip = &heap->skips[class->first_skip + rank / SKIP_RANKS];
	const struct bytes *list = &class->tally->list;
	cursor->at = list->data + skip->position;
	cursor->end = list->data + list->len;
	cursor->block = skip->block;
	cursor->rank = skip->rank;
	/* Past whole blocks without decoding them, then into the one that holds the rank. */
	while (cursor->at < cursor->end) {
		cursor->block += varint_read(&cursor->at, cursor->end);
		cursor->left = varint_read(&cursor->at, cursor->end);
		if (cursor->rank + cursor->left > rank)
			break;
		cursor->rank += cursor->left;
	}
	block_walk_start(&cursor->walk, &heap->scan.index, cursor->block);
	while (cursor->rank < rank && cursor_next(cursor))
		;
}

/* Where in a sub-record its class's id is; 0 for those that name no class. */
static unsigned class_id_at(const uint8_t *p, unsigned id_width)
{
	return *p == SUB_INSTANCE_DUMP ? 5 + id_width : *p == SUB_OBJ_ARRAY_DUMP ? 9 + id_width : 0;
}

/*
 * The next object of the class in the cursor's block. Half of what a table costs is in here, for classes of
 * which a block holds few: so no more is done for an object that is not of the class than must be.
 */
static bool next_in_block(struct cursor *cursor)
{
	const struct heap *heap = cursor->heap;
	const unsigned I = heap->id_width;
	const bool primitive = cursor->class->tally->kind == TALLY_PRIMITIVE_ARRAYS;
	const uint64_t class_id = cursor->class->tally->id;
	const uint8_t *data = heap->in->data;
	uint64_t at = cursor->walk.next;
	const uint64_t end = at + input_left(heap->in, at);
	for (unsigned left = cursor->walk.left; left;) {
		const uint64_t size = at < end ? subrecord_size(data + at, end - at, I) : SUBRECORD_BAD;
		const uint8_t *p = data + at;
		if (size == SUBRECORD_BAD && at + RECORD_HEADER < end && *p == RECORD_HEAP_DUMP_SEGMENT) {
			at += RECORD_HEADER; /* the block goes on in the next segment */
			continue;
		}
		if (size == SUBRECORD_BAD || size > end - at)
			break;
		if (subrecord_is_object(*p)) {
			const unsigned id_at = class_id_at(p, I);
			left--;
			if (id_at ? !primitive && read_id(p + id_at, I) == class_id : primitive && p[9 + I] == class_id) {
				cursor->walk.next = at + size;
				cursor->walk.left = left;
				cursor->offset = at;
				cursor->id = read_id(p + 1, I);
				return true;
			}
		}
		at += size;
	}
	/* The list says that there are more: the file has changed since. */
	input_touched_bad = true;
	return false;
}

bool cursor_next(struct cursor *cursor)
{
	while (!cursor->left) {
		if (cursor->at >= cursor->end)
			return false;
		cursor->block += varint_read(&cursor->at, cursor->end);
		cursor->left = varint_read(&cursor->at, cursor->end);
		if (cursor->block >= cursor->heap->scan.index.block_count)
			return false;
		block_walk_start(&cursor->walk, &cursor->heap->scan.index, cursor->block);
	}
	if (!next_in_block(cursor))
		return false;
	cursor->left--;
	cursor->rank++;
	return true;
}

uint64_t object_rank(const struct heap *heap, const struct object *object)
{
	const struct class *class = object->class;
	size_t block = 0;
	index_block_at(&heap->scan.index, object->offset, &block);
	/* The last noted place whose pair is at or before the block. */
	const struct skip *skips = &heap->skips[class->first_skip];
	size_t low = 0, high = class->count / SKIP_RANKS + 1;
	if (class->count % SKIP_RANKS == 0)
		high--;
	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;
		if (skips[mid].block < block)
			low = mid;
		else
			high = mid;
	}
	struct cursor cursor = { .heap = heap, .class = class };
	cursor.at = class->tally->list.data + skips[low].position;
	cursor.end = class->tally->list.data + class->tally->list.len;
	cursor.block = skips[low].block;
	cursor.rank = skips[low].rank;
	while (cursor.at < cursor.end) {
		cursor.block += varint_read(&cursor.at, cursor.end);
		cursor.left = varint_read(&cursor.at, cursor.end);
		if (cursor.block >= block)
			break;
		cursor.rank += cursor.left;
	}
	block_walk_start(&cursor.walk, &heap->scan.index, cursor.block);
	while (cursor_next(&cursor) && cursor.offset != object->offset)
		;
	return cursor.rank ? cursor.rank - 1 : 0;
}
