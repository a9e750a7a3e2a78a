/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collections: what the collections of the JDK and of Android hold, and how full they are.
 *
 * A class is told by its name, or a superclass's, and which of its layouts it has by the fields it declares: OpenJDK 5
 * to 25, Harmony's classes of Android up to 6, OpenJDK's of later ones, android.util and androidx. With a mapping,
 * names are the original ones. A collection in a damaged dump may lie about its size or run in a circle: a walk ends,
 * after at most as many steps as the dump has room for, and without recursion.
 */
#ifndef HEAPFS_COLLECTIONS_H
#define HEAPFS_COLLECTIONS_H

#include "heap/heap.h"

enum collection_sort {
	COLLECTION_LIST,	/* elements have a number */
	COLLECTION_SET,		/* elements only */
	COLLECTION_MAP
};

/* How elements are kept; the fields that each has are in `collection_field`. */
enum collection_shape {
	SHAPE_BUCKETS,	/* a table of chains of nodes */
	SHAPE_LINKED,	/* the same, and its nodes in a list as well, which is their order */
	SHAPE_SEGMENTS,	/* several such tables */
	SHAPE_TREE,	/* nodes with left, right and parent */
	SHAPE_CHAIN,	/* a list of nodes */
	SHAPE_ARRAY,	/* the first `size` elements of an array */
	SHAPE_RING,	/* those from head to tail, round the array's end */
	SHAPE_SLOTS,	/* all elements that are not null */
	SHAPE_OPEN_PAIRS, /* key, value, key, value, where the key is not null */
	SHAPE_PAIRS,	/* the first `size` of such pairs */
	SHAPE_SPARSE,	/* the first `size` of two arrays side by side */
	SHAPE_ENUM,	/* an array of keys, and one of values where null is none */
	SHAPE_OF	/* those of another collection */
};

/* What the fields of a collection are for; which there are depends on the shape. */
enum collection_field {
	FIELD_STORE,	/* table, array of values, root or first node; the other collection */
	FIELD_SIZE,
	FIELD_OTHER,	/* node of the null key; first node in a list; hashes or keys; head of a ring */
	FIELD_MORE,	/* counter cells; tail of a ring; whether some values are deleted */
	COLLECTION_FIELDS
};

/* A class's layout: a row of the table in collections.c and where the fields are. */
struct collection_row;
struct collection_layout {
	const struct collection_row *row;
	const struct class *class; /* that has the name; its subclasses' fields come before its own */
	int32_t at[COLLECTION_FIELDS]; /* in the data of an instance of exactly that class; -1: there is none */
	uint64_t masked;	/* id of what stands for null, or for what is deleted; 0: nothing does */
	uint64_t shared;	/* id of the array that all empty ones share; 0: none */
};

struct collection_row {
	const char *class;
	enum collection_shape shape;
	enum collection_sort sort;
	const char *fields[COLLECTION_FIELDS]; /* "name:type", with ? behind it one that need not be there */
	const char *masked, *shared; /* names of statics */
	bool backward;		/* Java goes through the table from its end */
	bool circular;		/* the list begins and ends at a node without an element */
	bool no_null;		/* a node without a key is none */
};

/* NULL if the class's instances are no collections. */
const struct collection_layout *collection_layout(const struct heap *heap, const struct class *class);
/* The class java.lang.Enum, or NULL. */
const struct class *collection_enum(const struct heap *heap);
void collections_close(struct heap *heap);

/* A field of a collection: a reference, 0 if it is null or not there; a number, false if there is none. */
uint64_t collection_reference(const struct heap *heap, const struct collection_layout *layout,
			      const struct object *object, enum collection_field field);
bool collection_number(const struct heap *heap, const struct collection_layout *layout, const struct object *object,
		       enum collection_field field, int64_t *number);
/* Of SHAPE_OF the collection that it stands on, of all others itself. False if it is none. */
bool collection_inner(const struct heap *heap, const struct object *object, struct object *inner,
		      const struct collection_layout **layout);
/* An array by its id; false if it is none. */
bool collection_array(const struct heap *heap, uint64_t id, struct object *array);

struct collection_measure {
	bool known;		/* is there anything to measure? */
	uint64_t size;		/* elements */
	bool has_capacity;	/* false: nodes only, or the table is not in the dump */
	uint64_t capacity;	/* elements, or chains, that there is room for */
	uint64_t wasted;	/* bytes of slots that hold nothing; of an empty collection all of its table */
};
/*
 * Without a budget only what its fields and headers of arrays say: no waste, and size 0 where it would have to be
 * counted. A budget is how many bytes may be looked at, of all collections that are measured with it: each slot of a
 * dump belongs to one collection, so a budget as large as the dump is spent by a hostile one only.
 */
void collection_measure(const struct heap *heap, const struct object *object, uint64_t *budget,
			struct collection_measure *measure);

/* --- elements (entries.c) --- */

struct collection_value {
	uint8_t type;		/* 0: there is none */
	uint64_t id;		/* of an object */
	const uint8_t *value;	/* of a primitive, as it is in the dump */
};

struct collection_entry {
	uint64_t number;	/* from 0; the key of a list */
	struct collection_value key, value;
};

/* Where the fields of a node are, for nodes of one class. */
enum node_field { NODE_KEY, NODE_VALUE, NODE_NEXT, NODE_FIRST, NODE_MOVED, NODE_FIELDS };
struct collection_nodes {
	const struct class *class;
	int32_t at[NODE_FIELDS];
};

/* A walk over the elements, in Java's order. May be copied, to go on from there. */
struct collection_walk {
	const struct heap *heap;
	const struct collection_layout *layout; /* of what holds the elements; NULL: nothing does */
	enum collection_sort sort;
	struct object object;
	struct object store;	/* the table or array that is being walked */
	struct object other;	/* array of keys; table that a part of the table was moved to; segments */
	uint64_t slot, slots;	/* of the store, in the order of the walk */
	uint64_t segment, segments;
	uint64_t moved;		/* ring: its head; else the slot of the other table that comes next, */
	unsigned moved_left;	/* and how many come */
	bool in_moved, in_bin;	/* the chain is in the other table, or in a tree's */
	uint64_t node;		/* the next one of the chain; 0: none */
	uint64_t first, mark, since, power; /* to know when a chain is a circle */
	uint64_t left;		/* bytes that it may still look at */
	uint64_t number;	/* of the entry that comes next */
	struct collection_nodes nodes;
};
void collection_walk_start(struct collection_walk *walk, const struct heap *heap, const struct object *object);
bool collection_walk_next(struct collection_walk *walk, struct collection_entry *entry);
/* Goes past so many entries; at once where they are numbered. */
void collection_walk_skip(struct collection_walk *walk, uint64_t count);

#endif
