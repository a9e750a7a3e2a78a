/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_image: the image of a heap graph while it is written. Internal to heap_graph.c and graph_put.c, which know what
 * is written, and graph_threads.c, which has all threads do it.
 */
#ifndef HEAPFS_GRAPH_IMAGE_H
#define HEAPFS_GRAPH_IMAGE_H

#include "input/graph_model.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

/* HPROF, as far as it is written here; src/hprof/format.h, which reads it, stands above this layer. */
enum { UTF8 = 0x01, LOAD_CLASS = 0x02, SEGMENT = 0x1c, DUMP_END = 0x2c };
enum { CLASS_DUMP = 0x20, INSTANCE_DUMP, OBJECT_ARRAY_DUMP, PRIMITIVE_ARRAY_DUMP, HEAP_INFO = 0xfe };

#define SEGMENT_BYTES (UINT64_C(1) << 20)
#define NO_RECORD SIZE_MAX

/* What all threads share. */
struct writer {
	struct heap_graph *graph;
	struct spill *spill;
	struct model model;
	uint64_t next_string;
	uint64_t number_names[NUMBERS], internals_name, unnamed, heap_names[4];
	uint64_t last_size;	/* id of the object whose size was written last */
	bool unsorted;		/* ids of sizes do not rise */
	uint64_t at, most;	/* bytes written, and how many may be */
	bool cut;		/* there was no room for the rest */
	bool failed;
	/* Threads put packets together, each in the next image, and write them out in their order. */
	struct image *images;
	size_t image_count;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	size_t next, written;	/* packets taken, and written out */
};

/* A stretch of the image that is being put together: records, of which the last one is open. */
struct image {
	_Alignas(CACHE_LINES) struct writer *w;
	uint8_t *data;
	size_t len, capacity;
	size_t record;		/* where the open record's header is, or NO_RECORD */
	unsigned heap;		/* the one that HEAP_INFO said last */
	struct own_size *sizes;
	size_t size_count, size_capacity;
	bool unsorted;		/* among themselves */
	uint64_t *totals;	/* bytes by type */
	uint64_t objects, references;
	uint64_t work;		/* comparisons that may still be spent on objects that name their fields */
	uint64_t padding;	/* bytes that may still be written for fields without a reference in the graph */
	bool done;		/* waits for its turn to be written out */
	bool failed;
};

/* Counts begin at 0, and what may be spent is full. False without memory. */
bool image_open(struct image *image, struct writer *w);
/* Adds up what was counted, and frees what was used. */
void image_close(struct image *image);

/* --- bytes and records: graph_image.c --- */

/* Makes room for `more` bytes. False without memory. */
bool image_grow(struct image *image, size_t more);
/* Opens a record; its length is filled in when it ends. */
void image_begin(struct image *image, uint8_t tag);
void image_end(struct image *image);
/* Ends the open segment, if there is one. */
void image_end_segment(struct image *image);
void image_new_segment(struct image *image);
/* Says what heap the objects lie in that follow. */
void image_put_heap(struct image *image, unsigned heap);
/* Writes it and the sizes out behind all that was before, and empties it. */
void image_write_out(struct image *image);

/* Makes room for one more size. False without memory. */
bool image_grow_sizes(struct image *image);

/* Where `more` bytes go; NULL without memory. */
static inline uint8_t *room(struct image *m, size_t more)
{
	if (m->capacity - m->len < more && !image_grow(m, more))
		return NULL;
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

static inline void put(struct image *m, uint64_t value, unsigned width)
{
	uint8_t *p = room(m, width);
	if (p)
		store(p, value, width);
}

/* Heap records stand in segments; HEAP_INFO holds to a segment's end. */
static inline void need_segment(struct image *m)
{
	if (m->record == NO_RECORD || m->len - m->record >= SEGMENT_BYTES)
		image_new_segment(m);
}

/* --- objects: graph_put.c --- */

static inline const struct type *super_of(const struct model *model, const struct type *type)
{
	return type->super == NONE ? NULL : &model->types[type->super];
}

/* Notes that the object has a reference that leads to no address. 0, which is null. */
uint64_t image_no_target(const struct image *image, const struct object *object);

/*
 * The id that a reference of this object leads to: they are numbered from the object's base on, and 0 is null. 0, too,
 * for one that would lead to another object if it was cut to the image's width.
 */
static inline uint64_t target(const struct image *m, const struct object *object, uint64_t reference, unsigned width)
{
	const uint64_t id = reference ? reference + object->base : 0;
	return id >> address_bits(width) ? image_no_target(m, object) : id * 8;
}

/* The third pass: the objects of a packet. */
void image_put_packet(struct image *image, struct reader *reader, size_t packet);
/* CLASS_DUMP. `object` is its class object, or NULL: heap_graph.c. */
void image_put_class(struct image *image, const struct type *type, const struct object *object);

/* --- all together --- */

/* Puts all objects together, by all threads, and writes them out in the order of their packets. */
void put_objects(struct writer *w);

#endif
