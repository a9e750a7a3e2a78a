/* SPDX-License-Identifier: Apache-2.0 */
/*
 * properties: the system properties and the environment of the VM that was dumped, out of the maps that hold them:
 *   java.lang.System.props, a java.util.Properties: its `map` is a ConcurrentHashMap since JDK 9; before, and on
 *   Android, it is itself a Hashtable. `defaults` has more. Android has `unchangeableProps`, too, and up to API 19 or so
 *   `systemProperties` instead.
 *   java.lang.ProcessEnvironment.theEnvironment, a HashMap whose keys and values wrap a byte[] (on Windows Strings).
 * It is there only if the program asked for it.
 */
#ifndef HEAPFS_PROPERTIES_H
#define HEAPFS_PROPERTIES_H

#include "heap/heap.h"

enum properties_of { SYSTEM_PROPERTIES, SYSTEM_ENVIRONMENT };

/* Does a static lead to them? Looks at no object. */
bool properties_exist(const struct heap *heap, enum properties_of which);

struct property_part {
	/* null; a text; a text as the system has it; another object */
	enum { PART_NOTHING, PART_STRING, PART_BYTES, PART_OBJECT } kind;
	struct string string;	/* of PART_BYTES only data and units, which are bytes */
	uint64_t id;
};

struct property {
	struct property_part key, value; /* a key is a text */
	uint32_t rank;		/* of equal keys the lowest counts */
};

/* Sorted by key, each key once. */
struct properties {
	struct property *list;
	size_t count, capacity;
};

/* 0, or ENOMEM. The caller frees properties->list. */
int properties_read(const struct heap *heap, enum properties_of which, struct properties *properties);

#endif
