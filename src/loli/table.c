/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BLOCK_BYTES 65536

struct text_block {
	struct text_block *next;
	size_t used, size;
	char data[];
};

static uint64_t seed(void)
{
	static _Atomic uint64_t kept;
	uint64_t value = atomic_load_explicit(&kept, memory_order_relaxed), none = 0;
	if (value)
		return value;
	if (getrandom(&value, sizeof value, GRND_NONBLOCK) != (ssize_t)sizeof value)
		value = (uintptr_t)&value;
	value |= 1;
	return atomic_compare_exchange_strong(&kept, &none, value) ? value : none;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 29) * UINT64_C(0xc2b2ae3d27d4eb4f);
	return x ^ x >> 32;
}

static size_t slot_of(const struct table *table, struct table_key key)
{
	size_t at = (size_t)mix(mix(key.a + seed()) + key.b) & (table->slot_count - 1);
	for (;; at = (at + 1) & (table->slot_count - 1)) {
		const struct table_slot *slot = &table->slots[at];
		if (slot->value == NUMBER_NONE || (slot->key.a == key.a && slot->key.b == key.b))
			return at;
	}
}

static bool rehash(struct table *table, size_t slot_count)
{
	struct table larger = { .slot_count = slot_count, .count = table->count };
	larger.slots = reallocarray(NULL, larger.slot_count, sizeof *larger.slots);
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < larger.slot_count; i++)
		larger.slots[i].value = NUMBER_NONE;
	for (size_t i = 0; i < table->slot_count; i++)
		if (table->slots[i].value != NUMBER_NONE)
			larger.slots[slot_of(&larger, table->slots[i].key)] = table->slots[i];
	free(table->slots);
	*table = larger;
	return true;
}

bool table_reserve(struct table *table, size_t count)
{
	size_t slot_count = 64;
	while (slot_count * 2 < (count + 1) * 3)
		slot_count *= 2;
	return slot_count <= table->slot_count || rehash(table, slot_count);
}

void table_free(struct table *table)
{
	free(table->slots);
	*table = (struct table){ NULL, 0, 0 };
}

uint32_t *table_put(struct table *table, struct table_key key)
{
	if ((table->count + 1) * 3 > table->slot_count * 2 && !rehash(table, table->slot_count ? table->slot_count * 2 : 64))
		return NULL;
	struct table_slot *slot = &table->slots[slot_of(table, key)];
	if (slot->value == NUMBER_NONE) {
		slot->key = key;
		table->count++;
	}
	return &slot->value;
}

uint32_t table_get(const struct table *table, struct table_key key)
{
	return table->slot_count ? table->slots[slot_of(table, key)].value : NUMBER_NONE;
}

bool table_grow(void **list, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return true;
	const size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown = reallocarray(*list, wanted, size);
	if (!grown)
		return false;
	*list = grown;
	*capacity = wanted;
	return true;
}

struct table_key table_hash(const void *data, size_t len)
{
	const uint8_t *p = data;
	struct table_key key = { seed() ^ len, ~seed() };
	for (uint64_t word; len; p += sizeof word) {
		const size_t part = len < sizeof word ? len : sizeof word;
		word = 0;
		memcpy(&word, p, part);
		key.a = mix(key.a + word);
		key.b = mix(key.b ^ word * UINT64_C(0x9e3779b97f4a7c15)) + key.a;
		len -= part;
	}
	return key;
}

/* --- texts --- */

static uint64_t hash_text(const char *data, size_t len)
{
	uint64_t hash = seed() ^ len;
	for (; len >= 8; data += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, data, 8);
		hash = mix(hash + word);
	}
	uint64_t rest = 0;
	if (len)
		memcpy(&rest, data, len);
	return mix(hash + rest);
}

static size_t text_slot(const struct texts *texts, const char *data, size_t len)
{
	size_t at = (size_t)hash_text(data, len) & (texts->slot_count - 1);
	for (;; at = (at + 1) & (texts->slot_count - 1)) {
		const struct text_entry *entry = texts->slots[at] == NUMBER_NONE ? NULL : &texts->list[texts->slots[at]];
		if (!entry || (entry->len == len && (!len || !memcmp(entry->data, data, len))))
			return at;
	}
}

static bool rehash_texts(struct texts *texts)
{
	struct texts larger = *texts;
	larger.slot_count = texts->slot_count ? texts->slot_count * 2 : 64;
	larger.slots = reallocarray(NULL, larger.slot_count, sizeof *larger.slots);
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < larger.slot_count; i++)
		larger.slots[i] = NUMBER_NONE;
	for (uint32_t i = 0; i < texts->count; i++)
		larger.slots[text_slot(&larger, texts->list[i].data, texts->list[i].len)] = i;
	free(texts->slots);
	*texts = larger;
	return true;
}

static const char *copy_text(struct texts *texts, const char *data, size_t len)
{
	struct text_block *block = texts->blocks;
	if (!block || block->size - block->used < len) {
		const size_t size = len > BLOCK_BYTES / 4 ? len : BLOCK_BYTES;
		block = malloc(sizeof *block + size);
		if (!block)
			return NULL;
		*block = (struct text_block){ .next = texts->blocks, .size = size };
		texts->blocks = block;
	}
	char *copy = block->data + block->used;
	if (len)
		memcpy(copy, data, len);
	block->used += len;
	return copy;
}

void texts_free(struct texts *texts)
{
	while (texts->blocks) {
		struct text_block *next = texts->blocks->next;
		free(texts->blocks);
		texts->blocks = next;
	}
	free(texts->list);
	free(texts->slots);
	*texts = (struct texts){ .count = 0 };
}

void texts_finish(struct texts *texts)
{
	void *list = reallocarray(texts->list, texts->count + 1, sizeof *texts->list);
	if (list)
		texts->list = list;
	texts->capacity = texts->count;
	free(texts->slots);
	texts->slots = NULL;
	texts->slot_count = 0;
}

uint32_t texts_find(const struct texts *texts, const char *data, size_t len)
{
	return texts->slot_count ? texts->slots[text_slot(texts, data, len)] : NUMBER_NONE;
}

uint32_t texts_put(struct texts *texts, const char *data, size_t len)
{
	void *list = texts->list;
	if (len > UINT32_MAX || texts->count == NUMBER_NONE ||
	    ((texts->count + 1) * 3 > texts->slot_count * 2 && !rehash_texts(texts)) ||
	    !table_grow(&list, texts->count, &texts->capacity, sizeof *texts->list))
		return NUMBER_NONE;
	texts->list = list;
	uint32_t *slot = &texts->slots[text_slot(texts, data, len)];
	if (*slot != NUMBER_NONE)
		return *slot;
	const char *copy = copy_text(texts, data, len);
	if (!copy)
		return NUMBER_NONE;
	texts->list[texts->count] = (struct text_entry){ copy, (uint32_t)len };
	return *slot = (uint32_t)texts->count++;
}
