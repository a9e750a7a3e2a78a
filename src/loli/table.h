/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: small numbers for things that are met again and again: keys of 128 bits, and texts.  Both hash with a seed
 * of the process's own, so that no file can be made to collide. Not safe to change from several threads. Without
 * memory, functions return false, or NUMBER_NONE.
 */
#ifndef HEAPFS_TABLE_H
#define HEAPFS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_NONE UINT32_MAX

struct table_key {
	uint64_t a, b;
};

struct table {
	struct table_slot {
		struct table_key key;
		uint32_t value;	/* NUMBER_NONE: nothing is here */
	} *slots;
	size_t slot_count, count;
};

void table_free(struct table *table);
/* Makes room for so many keys at once. */
bool table_reserve(struct table *table, size_t count);
/*
 * The place of a key's value, which is NUMBER_NONE where the key is new; the caller must set it then. NULL without
 * memory.
 */
uint32_t *table_put(struct table *table, struct table_key key);
/* NUMBER_NONE where there is none. */
uint32_t table_get(const struct table *table, struct table_key key);

/* A key for bytes, which no other bytes have, but by a chance of one in 2^128. */
struct table_key table_hash(const void *data, size_t len);

/* Texts, each once. They stay where they are. */
struct texts {
	struct text_block *blocks;
	struct text_entry {
		const char *data;
		uint32_t len;
	} *list;
	uint32_t *slots;	/* numbers, or NUMBER_NONE */
	size_t count, capacity, slot_count;
};

void texts_free(struct texts *texts);
/* The number of a text, which is copied if it is new. */
uint32_t texts_put(struct texts *texts, const char *data, size_t len);
/* The number of one that is there, or NUMBER_NONE. */
uint32_t texts_find(const struct texts *texts, const char *data, size_t len);

/* Gives back what is only needed to put and to find: no more of them then. */
void texts_finish(struct texts *texts);

/* An array that has room for one more, of `size` bytes each. */
bool table_grow(void **list, size_t count, size_t *capacity, size_t size);

#endif
