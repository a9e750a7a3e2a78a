/* SPDX-License-Identifier: Apache-2.0 */
#include "input/graph_object.h"

#include <stdlib.h>
#include <string.h>

const struct number numbers[NUMBERS] = {
	[BITMAP_ID] = { "android.graphics.Bitmap", "mId", LONG, 11 },
	[BITMAP_SOURCE_ID] = { "android.graphics.Bitmap", "mSourceId", LONG, 12 },
	[BITMAP_WIDTH] = { "android.graphics.Bitmap", "mWidth", INT, 13 },
	[BITMAP_HEIGHT] = { "android.graphics.Bitmap", "mHeight", INT, 14 },
	[REGISTRY_SIZE] = { "libcore.util.NativeAllocationRegistry", "size", LONG, 8 },
	[VERSION_CODE] = { "android.content.pm.ApplicationInfo", "longVersionCode", LONG, 15 },
};

/* A packed field that comes in several pieces, or number by number, is joined. */
static void join(struct reader *reader, unsigned which, const uint8_t **list, uint64_t *list_len, const uint8_t *data,
		 uint64_t len, uint64_t *slack)
{
	struct joined *joined = &reader->joined[which];
	if (!len)
		return;
	if (!*list) {
		*list = data;
		*list_len = len;
		return;
	}
	const bool joined_before = *list == joined->data;
	if (*list_len + len > joined->capacity) {
		const size_t capacity = (size_t)(2 * (*list_len + len));
		uint8_t *grown = realloc(joined->data, capacity);
		if (!grown) {
			reader->failed = true;
			reader->end = reader->at; /* there is no next one */
			return;
		}
		joined->data = grown;
		joined->capacity = capacity;
	}
	if (!joined_before)
		memcpy(joined->data, *list, (size_t)*list_len);
	memcpy(joined->data + *list_len, data, (size_t)len);
	*list = joined->data;
	*list_len += len;
	*slack = 0;
}

/* A field of an object that is rare: a list that is not packed or comes in pieces, a number of some class. */
static void read_rare(struct reader *reader, const uint8_t *start, const uint8_t *after, const struct proto_field *field,
		      struct object *object)
{
	const uint8_t *data = field->data;
	uint64_t len = field->len;
	object->rare = true;
	if (field->type == PROTO_VARINT && (field->number == 4 || field->number == 5 || field->number == 10)) {
		/* One of a list that is not packed: the bytes are those that it would have in one. */
		data = start + 1;
		len = (uint64_t)(after - data);
	}
	if (field->number == 4)
		join(reader, 0, &object->fields, &object->fields_len, data, len, &object->slack);
	else if (field->number == 5)
		join(reader, 1, &object->references, &object->references_len, data, len, &object->slack);
	else if (field->number == 10)
		join(reader, 2, &object->internals, &object->internals_len, data, len, &object->slack);
	for (unsigned i = 0; i < NUMBERS; i++)
		if (numbers[i].field == field->number && field->type == PROTO_VARINT) {
			object->numbers[i] = field->value;
			object->has |= 1u << i;
		}
}

void reader_packet(struct reader *reader, const struct heap_graph *graph, size_t packet)
{
	uint64_t len;
	reader->at = graph->packet(graph->context, packet, &len);
	reader->end = reader->at ? reader->at + len : NULL;
}

bool reader_find(struct reader *reader, const uint8_t **at, const uint8_t **end)
{
	struct proto_field field;
	while (reader->at && proto_next(&reader->at, reader->end, &field))
		if (field.number == HEAP_GRAPH_OBJECTS && field.type == PROTO_LEN) {
			*at = field.data;
			*end = field.data + field.len;
			return true;
		}
	reader->at = reader->end; /* behind what is no field, there is none */
	return false;
}

void reader_object(struct reader *reader, const uint8_t *at, const uint8_t *end, struct object *object)
{
	struct proto_field field;
	uint64_t value;
	const uint64_t before = object->id;
	const bool relative = object->relative;
	object->id = object->type_id = object->size = object->base = 0;
	object->references = NULL;
	object->references_len = 0;
	object->relative = false;
	while (at < end) {
		const uint8_t *start = at;
		switch (*at++) {
		case VARINT_TAG(1):
			if (!proto_varint(&at, end, &object->id))
				return;
			object->relative = false;
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
			if (value) {
				object->id = before + value;
				object->relative = relative;
			}
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
		read_rare(reader, start, at, &field, object);
	}
}

void reader_free(struct reader *reader)
{
	for (size_t i = 0; i < 3; i++)
		free(reader->joined[i].data);
}

/* How often the id stands in a packed list before `at`. */
unsigned count_before(const uint8_t *list, const uint8_t *at, uint64_t id)
{
	unsigned count = 0;
	uint64_t other;
	while (list < at && next_number(&list, at, &other))
		count += other == id;
	return count;
}
