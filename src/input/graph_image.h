/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_image: the image of a heap graph while it is written. Internal to heap_graph.c, which knows what is written,
 * and graph_threads.c, which has all threads do it.
 */
#ifndef HEAPFS_GRAPH_IMAGE_H
#define HEAPFS_GRAPH_IMAGE_H

#include "input/graph_model.h"

#include <pthread.h>

/* What all threads share. */
struct writer {
	struct heap_graph *graph;
	struct spill *spill;
	struct model model;
	uint64_t next_string;
	uint64_t number_names[NUMBERS], internals_name, unnamed, heap_names[4];
	struct own_size *sizes;
	size_t size_count, size_capacity;
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
	size_t record;		/* where the open segment's header is; SIZE_MAX: none is open */
	unsigned heap;		/* the one that HEAP_INFO said last */
	struct own_size *sizes;
	size_t size_count, size_capacity;
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

/* Puts an object there: an object_call. */
void image_put_object(void *image, const struct object *object);
/* Ends the open segment, if there is one. */
void image_end_segment(struct image *image);
/* Writes it out behind all that was before, and empties it. */
void image_write_out(struct image *image);

/* Makes room for `more` sizes. */
bool grow_sizes(struct own_size **sizes, size_t count, size_t *capacity, size_t more);

/* Puts all objects together, by all threads, and writes them out in the order of their packets. */
void put_objects(struct writer *w);

#endif
