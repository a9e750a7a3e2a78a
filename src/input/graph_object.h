/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_object: the objects of a heap graph, one by one, as they are in its packets. Internal to the heap graph.
 *
 * They are read twice, which is half of what a heap graph costs: so the fields that nearly all objects have are read
 * in the order in which ART writes them, without a look for others in between.
 */
#ifndef HEAPFS_GRAPH_OBJECT_H
#define HEAPFS_GRAPH_OBJECT_H

#include "input/heap_graph.h"
#include "input/inline.h"
#include "input/proto.h"

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
	uint64_t id, type_id, size, base, numbers[NUMBERS];
	const uint8_t *fields, *references, *internals;
	uint64_t fields_len, references_len, internals_len;
	unsigned heap, has;	/* a bit for each of `numbers` */
	bool relative;		/* the id counts from where the packet starts, which was not known */
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
/* Whatever fields an object has. */
void reader_fields(struct reader *reader, const uint8_t *at, const uint8_t *end, uint64_t before, bool relative,
		   struct object *object);

/* Tags of one byte, as all fields of an object have them. */
#define VARINT_TAG(number) ((number) << 3 | PROTO_VARINT)
#define LEN_TAG(number) ((number) << 3 | PROTO_LEN)

/* The field at *at, where it has this tag and is whole; then *at is behind it. */
ALWAYS_INLINE uint64_t take_varint(const uint8_t **at, const uint8_t *end, uint8_t tag)
{
	const uint8_t *p = *at;
	uint64_t value;
	if (p == end || *p++ != tag || !proto_varint(&p, end, &value))
		return 0;
	*at = p;
	return value;
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
	/* The fields that ART writes, in its order: perfetto_hprof.cc. What follows them has the rest read. */
	const uint64_t before = object->id, delta = take_varint(&at, end, VARINT_TAG(7));
	const bool relative = object->relative;
	object->id = delta ? before + delta : 0;
	object->relative = delta && relative;
	object->type_id = take_varint(&at, end, VARINT_TAG(2));
	object->size = take_varint(&at, end, VARINT_TAG(3));
	object->base = take_varint(&at, end, VARINT_TAG(6));
	const uint8_t *list = at;
	const uint64_t len = take_varint(&list, end, LEN_TAG(5));
	const bool whole = list > at && len <= (uint64_t)(end - list);
	object->references = whole ? list : NULL;
	object->references_len = whole ? len : 0;
	object->fields = object->internals = NULL;
	object->fields_len = object->internals_len = 0;
	object->has = 0;
	at = whole ? list + len : at;
	if (at < end)
		reader_fields(reader, at, end, before, relative, object);
	return true;
}

/* The next number of a packed list. */
static inline bool next_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	return *at < end && proto_varint(at, end, value);
}

/* The end of a list that may be none. */
static inline const uint8_t *list_end(const uint8_t *list, uint64_t len)
{
	return list ? list + len : NULL;
}

/* How often the id stands in a packed list before `at`. */
unsigned count_before(const uint8_t *list, const uint8_t *at, uint64_t id);

#endif
