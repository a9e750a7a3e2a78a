/* SPDX-License-Identifier: Apache-2.0 */
/* map: from 64-bit keys, which a file may choose, to 32-bit values; a hash table that is at most half full. */
#ifndef HEAPFS_MAP_H
#define HEAPFS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX	/* no value */

struct map {
	uint64_t *keys;
	uint32_t *values;	/* MAP_NONE: an empty slot */
	size_t slots, count;
};

/* The value of a key, or MAP_NONE. */
uint32_t map_find(const struct map *map, uint64_t key);
/* Sets it. False without memory. */
bool map_set(struct map *map, uint64_t key, uint32_t value);
void map_free(struct map *map);

#endif
