/* SPDX-License-Identifier: Apache-2.0 */
/* worker: one thread's share of a scan. Internal to the scan, which joins what the workers gather. */
#ifndef HEAPFS_WORKER_H
#define HEAPFS_WORKER_H

#include "hprof/scan.h"

#include <pthread.h>

/* What the workers share. Names of Android heaps: there are three or four. */
struct heap_table {
	pthread_mutex_t lock;
	uint64_t seed;			/* of their hashes */
	uint64_t names[256];
	unsigned count;
	uint64_t string_class;		/* ART: class id of java.lang.String, 0 if unknown */
};

/*
 * What one thread gathers from its range of segments. Kept apart in memory: what a worker writes for every object
 * must not lie in a cache line that its neighbour reads for every object.
 */
#define CACHE_LINES 128
#define RECENT_CLASSES 64
struct worker {
	_Alignas(CACHE_LINES) const struct hprof *hprof;
	const struct segment *segments;
	size_t segment_count;
	pthread_t thread;
	bool started;
	bool android;
	int error;
	_Atomic uint64_t *done;
	scan_progress *progress;	/* only the first worker has one */
	void *progress_context;
	uint64_t total;
	struct heap_table *heaps;

	struct block *blocks;
	size_t block_count, block_capacity;
	struct dense_entry *dense;
	size_t dense_count, dense_capacity;
	struct tally *tallies;
	size_t tally_count, tally_capacity;
	uint32_t *slots;		/* hash: class id -> tally number + 1 */
	size_t slot_count;
	uint32_t recent[RECENT_CLASSES]; /* tallies of classes that were met last, by bits of their ids */
	uint64_t *class_dumps;
	size_t class_dump_count, class_dump_capacity;
	struct bytes roots;
	uint64_t last_root;
	uint64_t subs[256];
	uint32_t array_gaps[TYPE_COUNT][GAP_LENGTHS];
	uint64_t id_bits;

	uint8_t heap;			/* that the next object lies in */
	/* The block that is being filled. */
	struct block block;
	unsigned block_records;
	uint64_t high;			/* highest id in it */
	uint32_t touched[BLOCK_OBJECTS];
	unsigned touched_count;
	/* Whether ids rise here. */
	bool dense_mode;
	unsigned window_blocks, window_objects, window_falls;

	/* The object before this one, whose size the next id tells. */
	bool gap_known;			/* there is one, and nothing is missing behind it */
	uint64_t first_id, previous_id;
	uint32_t previous_tally;
	uint32_t *previous_gap;		/* in array_gaps, or NULL */
	bool previous_string;		/* ART: its characters may follow as an array of their own */
};

/* Makes the tallies of primitive arrays, which come first. 0, or -1 without memory. */
int worker_prepare(struct worker *w);
/* Scans the worker's segments; w->error tells whether memory was short. */
void *worker_run(void *w);
void worker_free(struct worker *w);

/* Number of the tally of class `id`; new classes get one. 0 (no class's) when memory is short. */
uint32_t worker_tally(struct worker *w, uint64_t id, enum tally_kind kind);
/* Makes the hash of tallies larger, or first. */
void worker_rehash(struct worker *w);

#endif
