/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_object: the objects of a heap graph, one by one, as they are in its packets. Internal to the heap graph.
 *
 * They are read twice, which is half of what a heap graph costs. So what nearly all objects are made of is read without
 * a loop over fields, and with a single look at where the object ends.
 */
#ifndef HEAPFS_GRAPH_OBJECT_H
#define HEAPFS_GRAPH_OBJECT_H

#include "input/heap_graph.h"
#include "input/inline.h"
#include "input/proto.h"

#include <stddef.h>

/* Types of values, by their numbers in HPROF. */
enum { OBJECT = 2, BOOLEAN = 4, CHAR, FLOAT, DOUBLE, BYTE, SHORT, INT, LONG };

/* Numbers that a graph carries, as fields of some classes. */
enum { BITMAP_ID, BITMAP_SOURCE_ID, BITMAP_WIDTH, BITMAP_HEIGHT, REGISTRY_SIZE, VERSION_CODE, NUMBERS };
struct number {
	const char *class, *name;
	uint8_t type;		/* INT or LONG */
	uint8_t field;		/* of HeapGraphObject */
};
extern const struct number numbers[NUMBERS];

static inline unsigned number_width(unsigned number)
{
	return numbers[number].type == LONG ? 8 : 4;
}

/* An object of the graph. Lists are packed varints. */
struct object {
	uint64_t id, type_id, size, base;
	const uint8_t *references;
	uint64_t references_len;
	uint64_t slack;		/* bytes behind the references that can be read */
	unsigned heap;
	bool relative;		/* the id counts from where the packet starts, which was not known */
	bool rare;		/* there may be some of what follows */
	unsigned has;		/* a bit for each of `numbers` */
	const uint8_t *fields, *internals;
	uint64_t fields_len, internals_len, numbers[NUMBERS];
};

/* A thread's means to read objects: where it is in a packet, and room to join lists that come in pieces. */
struct reader {
	const uint8_t *at, *end;
	struct joined {
		uint8_t *data;
		size_t capacity;
	} joined[3];
	bool failed;		/* no memory */
};

/* Goes to the beginning of a packet. */
void reader_packet(struct reader *reader, const struct heap_graph *graph, size_t packet);
void reader_free(struct reader *reader);

/* The next object that has no short message: its bytes. False at the packet's end. */
bool reader_find(struct reader *reader, const uint8_t **at, const uint8_t **end);
/* Reads an object, whatever fields it has. */
void reader_object(struct reader *reader, const uint8_t *at, const uint8_t *end, struct object *object);

/* Tags of one byte, as all fields of an object have them. */
#define VARINT_TAG(number) ((number) << 3 | PROTO_VARINT)
#define LEN_TAG(number) ((number) << 3 | PROTO_LEN)

/* A varint of which eight bytes can be read. Behind it; NULL where it is longer than that. */
ALWAYS_INLINE const uint8_t *read_number(const uint8_t *at, uint64_t *value)
{
	if (*at < 0x80) { /* most are short */
		*value = *at;
		return at + 1;
	}
	const unsigned bytes = proto_varint_word(at, value);
	return bytes ? at + bytes : NULL;
}

/* Bytes behind an object that may be read before it is seen where its fields end; then they count for nothing. */
#define AHEAD 40

/*
 * Reads an object of just the fields that ART writes for nearly all, in its order (perfetto_hprof.cc): by how much the id
 * rises, type, size, base, references. Whether they end with the object is looked at in the end. False where there is
 * anything else in it.
 */
ALWAYS_INLINE bool read_usual(const uint8_t *at, const uint8_t *end, struct object *object)
{
	const uint64_t first = le64(at), delta = first >> 8 & 0x7f;
	uint64_t type_id = first >> 24 & 0x7f, size = 0, base = 0, len = 0;
	const uint8_t *list = NULL;
	if ((first & 0xff80ff) != (VARINT_TAG(2) << 16 | VARINT_TAG(7)))
		return false;
	at += 4;
	if (first >> 31 & 1) { /* a type of two bytes */
		if (first >> 39 & 1)
			return false;
		type_id |= (first >> 32 & 0x7f) << 7;
		at++;
	}
	if (*at == VARINT_TAG(3) && !(at = read_number(at + 1, &size)))
		return false;
	if (*at == VARINT_TAG(6) && !(at = read_number(at + 1, &base)))
		return false;
	if (*at == LEN_TAG(5)) {
		len = at[1];
		list = at + 2;
		if (len >= 0x80 || end - list != (ptrdiff_t)len)
			return false;
	} else if (at != end) {
		return false;
	}
	object->id = delta ? object->id + delta : 0;
	object->relative = delta && object->relative;
	object->type_id = type_id;
	object->size = size;
	object->base = base;
	object->references = list;
	object->references_len = len;
	return true;
}

/*
 * Reads the next object of the packet. `object` is the one before it, from which id and heap are carried on. False at
 * the packet's end.
 */
ALWAYS_INLINE bool reader_next(struct reader *reader, struct object *object)
{
	const uint8_t *at = reader->at, *end;
	const unsigned bytes = proto_short(at, reader->end, HEAP_GRAPH_OBJECTS); /* nearly always */
	if (bytes) {
		end = reader->at = at + bytes;
		at += 2;
	} else if (!reader_find(reader, &at, &end)) {
		return false;
	}
	if (object->rare) { /* of the one before */
		object->fields = object->internals = NULL;
		object->fields_len = object->internals_len = 0;
		object->has = 0;
		object->rare = false;
	}
	object->slack = (uint64_t)(reader->end - end);
	if (object->slack < AHEAD || !read_usual(at, end, object))
		reader_object(reader, at, end, object);
	return true;
}

/* The next number of a packed list. */
static inline bool next_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	return *at < end && proto_varint(at, end, value);
}

/* The same, with so many bytes that can be read behind the end. */
ALWAYS_INLINE bool next_reference(const uint8_t **at, const uint8_t *end, uint64_t slack, uint64_t *value)
{
	const uint8_t *p = *at;
	if (p >= end)
		return false;
	if (*p >= 0x80 && (uint64_t)(end - p) + slack >= 8) {
		const unsigned bytes = proto_varint_word(p, value);
		if (bytes && bytes <= (uint64_t)(end - p)) {
			*at = p + bytes;
			return true;
		}
	}
	return proto_varint(at, end, value);
}

/* The end of a list that may be none. */
static inline const uint8_t *list_end(const uint8_t *list, uint64_t len)
{
	return list ? list + len : NULL;
}

/* How often the id stands in a packed list before `at`. */
unsigned count_before(const uint8_t *list, const uint8_t *at, uint64_t id);

#endif
