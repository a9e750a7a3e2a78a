/* SPDX-License-Identifier: Apache-2.0 */
#include "input/graph_model.h"
#include "input/le.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_CARRIED UINT32_MAX	/* the heap that the packet before ends with */

/* What a thread saw of the objects of a type. */
struct seen {
	uint64_t class_id;	/* its class object's */
	uint32_t class_packet;	/* that it is in; NONE: there is none */
	uint32_t extra;		/* references that it has no fields for */
	uint8_t numbers;
	bool class_relative, internals;
};

/*
 * What is to know of a packet. Ids count on from one packet to the next, and packets are surveyed at once: an id may
 * be relative to an id that is not known until all are through.
 */
struct surveyed {
	uint64_t last;		/* id */
	uint64_t highest[2];	/* id; of those that are not relative, and that are */
	unsigned heap;		/* or HEAP_CARRIED */
	bool relative;		/* the last id is */
};

struct surveyor {
	_Alignas(CACHE_LINES) const struct model *m;
	struct surveyed *packets; /* all threads' */
	struct seen *seen;	/* by type */
	_Atomic size_t *next;	/* packet that no thread has taken yet */
	uint32_t packet;	/* that it is at */
	uint64_t highest[2];	/* as in struct surveyed */
	uint64_t sized;		/* objects that may have a size of their own */
	bool named;		/* there are objects that name their fields */
	bool failed;		/* no memory */
};

static void see_class(struct seen *seen, uint32_t packet, const struct object *object)
{
	if (seen->class_packet != NONE)
		return;
	seen->class_packet = packet;
	seen->class_id = object->id;
	seen->class_relative = object->relative;
}

/* How many a packed list holds: bytes that end one. */
static uint32_t count_numbers(const uint8_t *list, uint64_t len)
{
	uint64_t count = 0;
	for (; len >= 8; list += 8, len -= 8)
		count += ((~le64(list) & UINT64_C(0x8080808080808080)) >> 7) * UINT64_C(0x0101010101010101) >> 56;
	for (; len >= 4; list += 4, len -= 4)
		count += ((~le32(list) & 0x80808080) >> 7) * 0x01010101 >> 24;
	for (; len; list++, len--)
		count += *list < 0x80;
	return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* What few objects have. */
static void survey_rare(struct surveyor *s, const struct type *type, struct seen *seen, const struct object *object)
{
	seen->internals |= object->internals_len > 0;
	for (unsigned i = 0; object->has && i < NUMBERS; i++)
		if (object->has & 1u << i && !strcmp(type->name, numbers[i].class))
			seen->numbers |= (uint8_t)(1u << i);
	s->named |= !type->element && object->fields_len;
}

/* The second pass: which objects are classes, and what else only they tell. */
ALWAYS_INLINE void survey(struct surveyor *s, const struct object *object)
{
	uint64_t *highest = &s->highest[object->relative];
	if (object->id >> 61 && !object->relative) /* no address */
		return;
	if (!(object->id >> 61) && object->id > *highest)
		*highest = object->id;
	const uint32_t number = model_type(s->m, object->type_id);
	if (number == NONE)
		return;
	const struct type *type = &s->m->types[number];
	struct seen *seen = &s->seen[number];
	s->sized += (object->size != 0) | (type->element != 0) | (type->of != NONE);
	if (type->of != NONE && (object->id || object->relative))
		see_class(&s->seen[type->of], s->packet, object);
	if (object->rare)
		survey_rare(s, type, seen, object);
	/* A number takes a byte or more. */
	if (object->references_len <= type->slots || type->element || (object->rare && object->fields_len))
		return;
	const uint32_t references = count_numbers(object->references, object->references_len);
	if (references > type->slots && references - type->slots > seen->extra)
		seen->extra = references - type->slots;
}

static void *survey_packets(void *context)
{
	struct surveyor *s = context;
	struct reader reader = { .failed = false };
	size_t packet;
	while ((packet = atomic_fetch_add(s->next, 1)) < s->m->graph->packets && !reader.failed) {
		struct object object = { .heap = HEAP_CARRIED, .relative = true };
		s->packet = (uint32_t)packet;
		memset(s->highest, 0, sizeof s->highest);
		reader_packet(&reader, s->m->graph, packet);
		while (reader_next(&reader, &object))
			survey(s, &object);
		s->packets[packet] = (struct surveyed){ object.id, { s->highest[false], s->highest[true] }, object.heap,
							object.relative };
	}
	s->failed = reader.failed;
	reader_free(&reader);
	return NULL;
}

/* Where each packet starts, now that all that come before it are known. */
static void join_packets(struct model *m, const struct surveyed *packets)
{
	struct packet_start start = { 0, 0 };
	for (size_t i = 0; i < m->graph->packets; i++) {
		const struct surveyed *packet = &packets[i];
		const uint64_t highest = start.id + packet->highest[true];
		m->starts[i] = start;
		m->highest = packet->highest[false] > m->highest ? packet->highest[false] : m->highest;
		m->highest = !(highest >> 61) && highest > m->highest ? highest : m->highest;
		start.id = packet->last + (packet->relative ? start.id : 0);
		start.heap = packet->heap == HEAP_CARRIED ? start.heap : packet->heap;
	}
}

/* What all threads saw of a type. Of several class objects the first one counts. */
static void join_type(struct model *m, const struct surveyor *surveyors, unsigned count, size_t number)
{
	struct type *type = &m->types[number];
	const struct seen *first = NULL;
	for (unsigned i = 0; i < count; i++) {
		const struct seen *seen = &surveyors[i].seen[number];
		type->internals |= seen->internals;
		type->numbers |= seen->numbers;
		type->extra = seen->extra > type->extra ? seen->extra : type->extra;
		if (seen->class_packet != NONE && (!first || seen->class_packet < first->class_packet))
			first = seen;
	}
	if (!first)
		return;
	const uint64_t id = first->class_id + (first->class_relative ? m->starts[first->class_packet].id : 0);
	if (id && !(id >> 61)) {
		type->class_id = id * 8;
		type->dumped = true;
	}
}

/* --- objects that name their fields --- */

/* How often the type and its superclasses have a field of this id: an object may name one more than once. */
static unsigned count_field(const struct model *m, const struct type *type, uint64_t id)
{
	unsigned count = 0;
	for (unsigned depth = 0; depth < DEPTH_MOST; depth++) {
		for (uint32_t i = 0; i < type->field_count; i++)
			count += type->fields[i] == id;
		if (type->super == NONE)
			break;
		type = &m->types[type->super];
	}
	return count;
}

/* Fields of an object that names them itself, as graphs before Android S do, become its type's. */
static void survey_fields(struct model *m, struct type *type, const struct object *object)
{
	const uint8_t *at = object->fields, *end = at + object->fields_len;
	uint64_t id;
	for (unsigned i = 0; i < NAMED_MOST; i++) {
		const uint8_t *before = at;
		if (!next_number(&at, end, &id))
			break;
		/* Types with very many fields, and objects that name very many, are made to do harm. */
		const uint64_t work = 1 + i + type->slots + type->field_count + type->depth;
		if (work > m->work) {
			notes_add(m->graph->notes, "named fields that are left out, since there are too many to look through",
				  NOTE_NO_OFFSET, 0, "object 0x%" PRIx64, object->id * 8);
			break;
		}
		m->work -= work;
		if (count_field(m, type, id) <= count_before(object->fields, before, id))
			model_add_field(m, type, id);
	}
}

static void survey_named(struct model *m, const struct object *object)
{
	const uint32_t number = model_type(m, object->type_id);
	if (object->fields_len && number != NONE && !m->types[number].element)
		survey_fields(m, &m->types[number], object);
}

/* In the objects' order, since fields get the order in which they are named. */
static void survey_all_named(struct model *m)
{
	struct reader reader = { .failed = false };
	for (size_t i = 0; i < m->graph->packets && !m->failed; i++) {
		struct object object = { .id = m->starts[i].id };
		reader_packet(&reader, m->graph, i);
		while (reader_next(&reader, &object))
			survey_named(m, &object);
		m->failed |= reader.failed;
	}
	reader_free(&reader);
}

/* --- threads --- */

static bool surveyor_open(struct surveyor *s, const struct model *m, struct surveyed *packets, _Atomic size_t *next)
{
	*s = (struct surveyor){ .m = m, .packets = packets, .next = next,
				.seen = calloc_apart(m->type_count + 1, sizeof *s->seen) };
	for (size_t i = 0; s->seen && i < m->type_count; i++)
		s->seen[i].class_packet = NONE;
	return s->seen;
}

/* Has all packets surveyed, by threads of which this one is the last. How many. */
static unsigned survey_all(struct model *m, struct surveyor *surveyors, struct surveyed *packets)
{
	const unsigned most = model_threads(m);
	pthread_t threads[MODEL_THREADS_MOST];
	_Atomic size_t next = 0;
	unsigned count = 0;
	while (count + 1 < most) {
		if (!surveyor_open(&surveyors[count], m, packets, &next))
			break;
		if (pthread_create(&threads[count], NULL, survey_packets, &surveyors[count])) {
			free(surveyors[count].seen);
			break;
		}
		count++;
	}
	const bool opened = surveyor_open(&surveyors[count], m, packets, &next);
	if (opened)
		survey_packets(&surveyors[count]);
	m->failed |= !opened;
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return count + 1;
}

void model_survey(struct model *m)
{
	struct surveyor surveyors[MODEL_THREADS_MOST];
	struct surveyed *packets = calloc(m->graph->packets + 1, sizeof *packets);
	if (!packets || m->graph->packets >= NONE) {
		m->failed = true;
		free(packets);
		return;
	}
	const unsigned count = survey_all(m, surveyors, packets);
	bool named = false;
	for (unsigned i = 0; i < count; i++) {
		named |= surveyors[i].named;
		m->sized += surveyors[i].sized;
		m->failed |= surveyors[i].failed;
	}
	if (!m->failed)
		join_packets(m, packets);
	for (size_t i = 0; i < m->type_count && !m->failed; i++)
		join_type(m, surveyors, count, i);
	for (unsigned i = 0; i < count; i++)
		free(surveyors[i].seen);
	free(packets);
	if (named && !m->failed)
		survey_all_named(m);
	for (size_t i = 0; i < m->type_count; i++) {
		struct type *type = &m->types[i];
		const uint32_t fields = type->field_count;
		for (uint32_t j = 0; j < type->extra && !m->failed; j++)
			model_add_field(m, type, 0);
		type->extra = type->field_count - fields; /* as many as a class can have */
	}
}
