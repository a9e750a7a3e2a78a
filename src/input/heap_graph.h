/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_graph: Perfetto's own heap dumps (HeapGraph packets, field 56), written as an HPROF 1.0.3 image.
 *
 * A heap graph has objects, their types, sizes and references by name, and GC roots, but no values: no number, no
 * text, no element of a primitive array. The image says what is known and declares nothing else: classes have their
 * reference fields only, but for the few numbers that the graph does carry (of Bitmap, NativeAllocationRegistry and
 * ApplicationInfo); Strings have no characters; primitive arrays have length 0. Sizes, which HPROF has no place for,
 * are a table of their own before the image.
 *
 * An object's id is its address divided by 8. A class's id is that of its class object, an object whose type is called
 * `java.lang.Class<Name>`; a class without one gets an id that no object can have.
 *
 * Sources: google/perfetto, heap_graph.proto, heap_graph_module.cc and heap_graph_tracker.cc; ART, perfetto_hprof.cc.
 */
#ifndef HEAPFS_HEAP_GRAPH_H
#define HEAPFS_HEAP_GRAPH_H

#include "input/notes.h"
#include "input/spill.h"

/* Number of the field of a HeapGraph message that nearly all of it are. */
#define HEAP_GRAPH_OBJECTS 2

/* Bytes of a packet in which there is something else than objects. */
struct graph_span {
	uint64_t offset, len;
};

/* The size of one object, where it is not its class's. */
struct own_size {
	uint64_t id, size;
};

/* What all objects of a class take together. */
struct class_total {
	uint64_t class_id, size;
};

struct heap_graph {
	/* What is read: `packets` HeapGraph messages, the bytes of each by packet(), and by others() where to look in them. */
	size_t packets;
	const uint8_t *(*packet)(void *context, size_t number, uint64_t *len);
	const struct graph_span *(*others)(void *context, size_t number, size_t *count);
	void *context;
	uint64_t bytes;		/* of all packets */
	unsigned threads;	/* that may call packet() at once */
	struct notes *notes;
	/* What was found. */
	uint64_t offset, len;	/* of the image, in the spill */
	uint64_t sizes, size_count; /* where the struct own_size are, sorted by id; aligned to 8 bytes, before the image */
	struct class_total *totals; /* sorted by id */
	size_t total_count;
	uint64_t heap_bytes_allocated; /* by the VM's own count; 0 if it was not told */
	uint64_t objects, references, roots; /* references that are not null */
};

/*
 * Writes sizes and image from `offset` of the spill on, as much of it as there is room for. 0, or -1 without memory.
 * heap_graph_close() frees the totals in both cases.
 */
int heap_graph_write(struct heap_graph *graph, struct spill *spill, uint64_t offset);
void heap_graph_close(struct heap_graph *graph);

#endif
