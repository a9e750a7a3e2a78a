/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass: walks over all objects by all cores, and what of an object is a reference.
 *
 * A shape tells, for one class, where in an instance's data its references are, in the order of the fields' names, so
 * that what follows from that order is the same for two dumps of one state. The referent of a java.lang.ref.Reference
 * is not among them: it is not held. That an object is of a class is no reference either, not even where a field says so
 * (ART's shadow$_klass_): following it would cost half of all work, and tell only what is known, that a class stays loaded
 * as long as its loader or an instance is there.
 */
#ifndef HEAPFS_PASS_H
#define HEAPFS_PASS_H

#include "heap/heap.h"

#include <stdatomic.h>

/* How firmly a reference, or all that leads to an object, holds: the first is the firmest. */
enum strength { STRONG, SOFT, WEAK, FINALIZER, PHANTOM, UNREACHABLE, STRENGTH_COUNT };

struct shape {
	const uint32_t *at;	/* in an instance's data, by field name */
	uint32_t count;
	int32_t referent;	/* where that is, or -1 */
	uint32_t class;		/* its number */
	uint64_t size;		/* of an instance; 0 where object_size() must be asked */
	uint8_t strength;	/* of the referent */
	bool elements;		/* of an array: all are references */
	bool none;		/* no object of this class has references */
};

struct shapes {
	const struct heap *heap;
	struct shape *list;	/* by class number */
	uint32_t *at;
	/* Class numbers by id: found in a few ns, where class_find() takes the time of a search. */
	struct class_slot {
		uint64_t id;
		uint32_t class;	/* + 1; 0: empty */
	} *slots;
	size_t slot_count;
	uint64_t seed;
};

/* 0, or ENOMEM. */
int shapes_open(struct shapes *shapes, const struct heap *heap);
void shapes_close(struct shapes *shapes);

/* --- objects --- */

struct record {
	struct object object;	/* whole */
	const struct shape *shape;
};

/* Its shallow size. */
static inline uint64_t record_size(const struct heap *heap, const struct record *record)
{
	/* A damaged dump may have arrays of a class that has instances. */
	return record->shape->size && record->object.kind == OBJECT_INSTANCE ? record->shape->size :
									       object_size(heap, &record->object);
}

struct record_walk {
	const struct shapes *shapes;
	struct block_walk walk;
	size_t block, end;
	struct record record;
};
void record_walk_start(struct record_walk *walk, const struct shapes *shapes, size_t first_block, size_t end_block);
bool record_walk_next(struct record_walk *walk);

/* The ids that an object refers to, strongly, in the order of field names; null and strangers among them. */
struct reference_walk {
	const uint8_t *data;
	uint64_t data_len;
	const uint32_t *at, *at_end;	/* of an instance */
	uint64_t next;			/* of an array: the next element's place */
	unsigned id_width;
};

static inline void reference_walk_start(struct reference_walk *walk, const struct record *record, unsigned id_width)
{
	const struct shape *shape = record->shape;
	*walk = (struct reference_walk){ record->object.data, record->object.data_len, shape->at,
					 shape->count ? shape->at + shape->count : shape->at,
					 shape->elements ? 0 : UINT64_MAX, id_width };
}

static inline bool reference_walk_next(struct reference_walk *walk, uint64_t *id)
{
	const uint64_t room = walk->data_len < walk->id_width ? 0 : walk->data_len - walk->id_width + 1;
	uint64_t place = room;
	if (walk->next != UINT64_MAX) {
		place = walk->next;
		walk->next += walk->id_width;
	} else {
		/* Of an instance that is cut short, the fields that there are may be anywhere by name. */
		while (walk->at != walk->at_end && place >= room)
			place = *walk->at++;
	}
	if (place >= room)
		return false;
	*id = read_id(walk->data + place, walk->id_width);
	return true;
}

/* Does this field tell an object's class? */
bool is_class_field(const struct field *field);

/* The referent of a java.lang.ref.Reference; 0 for null and for all else. */
uint64_t record_referent(const struct record *record, unsigned id_width);

/*
 * What a class object refers to: statics by name, constants, superclass, loader, signers, protection domain. Calls
 * `each` with the place of the reference in the file and, for statics and constants, the walk (else NULL). 0, or ENOMEM.
 */
typedef void class_reference_fn(void *context, uint64_t id, uint64_t offset, const char *label);
int class_references(const struct heap *heap, const struct class *class, class_reference_fn *each, void *context);

/* --- passes --- */

/* Blocks of the index that one thread takes at a time. */
#define CHUNK_BLOCKS 2048

struct pass {
	const struct shapes *shapes;
	unsigned threads;
	const _Atomic bool *cancel;
	/* Called for a stretch of blocks, by many threads at once. 0 or errno. */
	int (*chunk)(void *context, unsigned thread, size_t chunk, struct record_walk *walk);
	void *context;
	_Atomic uint64_t *done;	/* counts chunks; may be NULL */
};

size_t chunk_count(const struct heap *heap);
/* 0 or errno: EIO where the dump is not what it was, ECANCELED. */
int pass_run(const struct pass *pass);

#endif
