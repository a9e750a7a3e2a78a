/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_model: what a heap graph describes: types with the fields of their instances, names, roots, and the objects
 * one by one. Internal to heap_graph.c, which writes it all as HPROF.
 *
 * Two passes: one over types, names and roots, which may stand behind the objects that need them, and one over the
 * objects for what only they tell: which ones are classes, and what fields they name themselves. Objects are not kept;
 * graph_object.h reads those of a packet again, in any thread.
 */
#ifndef HEAPFS_GRAPH_MODEL_H
#define HEAPFS_GRAPH_MODEL_H

#include "input/graph_object.h"
#include "input/map.h"

#define NONE MAP_NONE
/* Superclasses above a class; what has more is made to do harm. */
#define DEPTH_MOST 250
/* References of an object that names its own fields. */
#define NAMED_MOST 4096

struct type {
	uint64_t id, size, super_id, loader;
	char *name;
	uint64_t *fields;	/* ids of the names of its own reference fields */
	uint32_t field_count, field_capacity;
	uint32_t super;		/* number of its superclass, or NONE */
	uint32_t of;		/* of a java.lang.Class<X>: number of X, or NONE */
	uint32_t extra;		/* of its own fields the last ones, for references that no field is named for */
	uint32_t slots;		/* references of an instance, superclasses' included */
	uint64_t width;		/* bytes of an instance's values */
	uint32_t depth;		/* superclasses and itself; 0: not laid out yet */
	uint64_t class_id;	/* as in HPROF */
	uint64_t name_id;	/* of its UTF8 record; the writer's */
	uint8_t kind, element;	/* of a primitive array; OBJECT of another array; 0: no array */
	uint8_t numbers;	/* a bit for each of `numbers` that it has */
	bool dumped;		/* has a class object */
	bool internals;		/* has runtimeInternalObjects */
	bool plain;		/* nothing but named references, superclasses' included */
};

struct field_name {
	uint64_t id;
	char *name;		/* without its type and owner */
	bool of_class;		/* the owner is java.lang.Class or java.lang.Object */
	uint64_t name_id, static_id; /* of its UTF8 records; the writer's */
};

struct root {
	uint64_t id;
	unsigned type;
};

/* What a thread writes for every object must not lie in a cache line that another one has to do with. */
#define CACHE_LINES 128
/* Zeroed memory in cache lines of its own, for free(). NULL without memory. */
void *calloc_apart(size_t count, size_t size);

/* What is carried on from one packet to the next. */
struct packet_start {
	uint64_t id;
	unsigned heap;
};

struct model {
	struct heap_graph *graph;
	struct type *types;
	struct field_name *names;
	struct root *roots;
	struct packet_start *starts; /* one a packet */
	size_t type_count, type_capacity, name_count, name_capacity, root_count, root_capacity;
	struct map type_map, name_map;
	uint32_t *type_table;	/* type numbers by id, where ids are small */
	uint64_t type_table_len;
	uint32_t class_type, object_type, object_array_type; /* numbers of java.lang.Class, Object, Object[] */
	unsigned width;		/* of ids: 4, or 8 where an address needs it */
	uint64_t highest;	/* id of an object */
	uint64_t sized;		/* objects that may have a size of their own */
	uint64_t work;		/* comparisons that may still be spent on objects that name their fields */
	bool failed;		/* no memory */
};

/* Reads all but the objects, and surveys those. False without memory. */
bool model_open(struct model *model, struct heap_graph *graph);
void model_close(struct model *model);

/*
 * How many threads shall read the objects. Each has tables by type: no graph can have so many types that these take
 * more memory than it takes bytes.
 */
#define MODEL_THREADS_MOST 16
unsigned model_threads(const struct model *model);

/* A reference field of the type's own; as many as a class can have. */
void model_add_field(struct model *model, struct type *type, uint64_t id);
/* The pass over the objects, by all threads: graph_survey.c. */
void model_survey(struct model *model);

/* The number of an object's type, or NONE. */
static inline uint32_t model_type(const struct model *model, uint64_t id)
{
	return id < model->type_table_len ? model->type_table[id] : map_find(&model->type_map, id);
}

/* Bits of an address, divided by 8, where ids are so wide. */
static inline unsigned address_bits(unsigned width)
{
	return width == 4 ? 29 : 61;
}

/* Is this the address of an object, divided by 8, that an id of the image can be? */
static inline bool is_address(const struct model *model, uint64_t id)
{
	return id && !(id >> address_bits(model->width));
}

#endif
