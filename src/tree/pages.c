/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/pages.h"

#include <errno.h>
#include <stdlib.h>

struct pages_entry {
	uint64_t ino, size;
	size_t offset_count;
	uint64_t offsets[];	/* of pieces step, 2 * step, … */
};

void pages_cache_init(struct pages_cache *cache)
{
	memset(cache, 0, sizeof *cache);
	pthread_mutex_init(&cache->lock, NULL);
}

void pages_cache_free(struct pages_cache *cache)
{
	for (size_t i = 0; i < cache->slot_count; i++)
		free(cache->slots[i]);
	free(cache->slots);
	pthread_mutex_destroy(&cache->lock);
}

bool pages_next(struct pages *pages)
{
	struct text *text = &pages->text;
	pages->piece++;
	if (text->failed || input_touched_bad)
		return false;
	if (pages->to) {
		/* All that was written so far lies before what is wanted: forget it. */
		if (pages->base + text->len <= pages->from) {
			pages->base += text->len;
			text->len = 0;
		}
		return pages->base + text->len < pages->to;
	}
	pages->base += text->len;
	text->len = 0;
	if (pages->piece % pages->step == 0) {
		if (pages->offset_count == pages->offset_capacity) {
			const size_t wanted = pages->offset_capacity ? pages->offset_capacity * 2 : 16;
			uint64_t *grown = reallocarray(pages->offsets, wanted, sizeof *grown);
			if (!grown) {
				text->failed = true;
				return false;
			}
			pages->offsets = grown;
			pages->offset_capacity = wanted;
		}
		pages->offsets[pages->offset_count++] = pages->base;
	}
	return true;
}

static size_t slot_of(const struct pages_cache *cache, uint64_t ino)
{
	size_t at = (size_t)((ino * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (cache->slot_count - 1);
	while (cache->slots[at] && cache->slots[at]->ino != ino)
		at = (at + 1) & (cache->slot_count - 1);
	return at;
}

/* Entries are never changed or removed, so a pointer stays good without the lock. */
static struct pages_entry *find(struct pages_cache *cache, uint64_t ino)
{
	pthread_mutex_lock(&cache->lock);
	struct pages_entry *entry = cache->slot_count ? cache->slots[slot_of(cache, ino)] : NULL;
	pthread_mutex_unlock(&cache->lock);
	return entry;
}

static bool grow(struct pages_cache *cache)
{
	struct pages_cache larger = { .slot_count = cache->slot_count ? cache->slot_count * 2 : 64 };
	larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < cache->slot_count; i++)
		if (cache->slots[i])
			larger.slots[slot_of(&larger, cache->slots[i]->ino)] = cache->slots[i];
	free(cache->slots);
	cache->slots = larger.slots;
	cache->slot_count = larger.slot_count;
	return true;
}

/* Keeps an entry; without memory it is made again next time. */
static void keep(struct pages_cache *cache, uint64_t ino, const struct pages *pages)
{
	struct pages_entry *entry = malloc(sizeof *entry + pages->offset_count * sizeof *entry->offsets);
	if (!entry)
		return;
	*entry = (struct pages_entry){ .ino = ino, .size = pages->base, .offset_count = pages->offset_count };
	memcpy(entry->offsets, pages->offsets, pages->offset_count * sizeof *entry->offsets);
	pthread_mutex_lock(&cache->lock);
	if ((cache->count + 1) * 2 <= cache->slot_count || grow(cache)) {
		struct pages_entry **slot = &cache->slots[slot_of(cache, ino)];
		if (!*slot) {
			*slot = entry;
			entry = NULL;
			cache->count++;
		}
	}
	pthread_mutex_unlock(&cache->lock);
	free(entry); /* another thread was first */
}

int pages_size(struct pages_cache *cache, uint64_t ino, const struct pages_ops *ops, const struct node *node,
	       uint64_t *size)
{
	const struct pages_entry *entry = find(cache, ino);
	if (entry) {
		*size = entry->size;
		return 0;
	}
	struct pages pages = { .step = ops->step };
	ops->write(node, 0, &pages);
	*size = pages.base;
	const bool failed = pages.text.failed;
	if (!failed && !input_touched_bad && pages.piece > ops->step)
		keep(cache, ino, &pages);
	free(pages.offsets);
	text_free(&pages.text);
	return failed ? ENOMEM : 0;
}

int pages_read(struct pages_cache *cache, uint64_t ino, const struct pages_ops *ops, const struct node *node,
	       uint64_t offset, size_t size, struct text *text)
{
	const struct pages_entry *entry = find(cache, ino);
	struct pages pages = { .step = ops->step, .from = offset, .to = offset + size };
	size_t low = 0, high = entry ? entry->offset_count : 0;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (entry->offsets[mid] <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (low) {
		pages.base = entry->offsets[low - 1];
		pages.piece = low * ops->step;
	}
	if (size && !(entry && offset >= entry->size))
		ops->write(node, pages.piece, &pages);
	const bool failed = pages.text.failed;
	if (!failed && pages.base + pages.text.len > offset) {
		/* The wanted bytes to the front of the buffer, which becomes the caller's. */
		const size_t skip = offset > pages.base ? (size_t)(offset - pages.base) : 0;
		size_t len = pages.text.len - skip;
		len = len < size ? len : size;
		memmove(pages.text.data, pages.text.data + skip, len);
		pages.text.len = len;
		*text = pages.text;
		return 0;
	}
	text_free(&pages.text);
	return failed ? ENOMEM : 0;
}
