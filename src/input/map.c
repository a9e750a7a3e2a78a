/* SPDX-License-Identifier: Apache-2.0 */
#include "input/map.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct map *map, uint64_t key)
{
	/* Where the keys are in memory, no trace can know: it cannot be made so that all meet in one slot. */
	uint64_t hash = (key ^ (uintptr_t)map->keys) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
	size_t at = (size_t)(hash >> 32) & (map->slots - 1);
	while (map->values[at] != MAP_NONE && map->keys[at] != key)
		at = (at + 1) & (map->slots - 1);
	return at;
}

uint32_t map_find(const struct map *map, uint64_t key)
{
	return map->slots ? map->values[slot_of(map, key)] : MAP_NONE;
}

bool map_set(struct map *map, uint64_t key, uint32_t value)
{
	if ((map->count + 1) * 2 > map->slots) {
		struct map larger = { .slots = map->slots ? 2 * map->slots : 256 };
		larger.keys = calloc(larger.slots, sizeof *larger.keys);
		larger.values = malloc(larger.slots * sizeof *larger.values);
		if (!larger.keys || !larger.values) {
			free(larger.keys);
			free(larger.values);
			return false;
		}
		memset(larger.values, 0xff, larger.slots * sizeof *larger.values);
		for (size_t i = 0; i < map->slots; i++)
			if (map->values[i] != MAP_NONE) {
				const size_t at = slot_of(&larger, map->keys[i]);
				larger.keys[at] = map->keys[i];
				larger.values[at] = map->values[i];
			}
		larger.count = map->count;
		free(map->keys);
		free(map->values);
		*map = larger;
	}
	const size_t at = slot_of(map, key);
	map->count += map->values[at] == MAP_NONE;
	map->keys[at] = key;
	map->values[at] = value;
	return true;
}

void map_free(struct map *map)
{
	free(map->keys);
	free(map->values);
	*map = (struct map){ NULL, NULL, 0, 0 };
}
