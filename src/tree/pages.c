/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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
	return pages->piece != pages->until;
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

/* One thread's part of the pieces, of which it finds the size. In cache lines of its own: each piece writes there. */
struct share {
	_Alignas(128) pthread_t thread;
	bool started, touched_bad;
	const struct pages_ops *ops;
	const struct node *node;
	struct pages pages;
};

static void *find_size(void *argument)
{
	struct share *share = argument;
	input_touched_bad = false;
	share->ops->write(share->node, share->pages.piece, &share->pages);
	share->touched_bad = input_touched_bad;
	return NULL;
}

/* Below this many pieces a thread costs more than it saves. */
#define SHARE_PIECES 16384
#define SHARES_MOST 16

/* Puts the parts, in their order, together in the first. False without memory. */
static bool join_shares(struct share *shares, unsigned count)
{
	struct pages *all = &shares[0].pages;
	bool whole = !all->text.failed;
	for (unsigned i = 1; i < count && whole; i++) {
		const struct pages *part = &shares[i].pages;
		const size_t joined = all->offset_count + part->offset_count;
		uint64_t *offsets = reallocarray(all->offsets, joined + 1, sizeof *offsets);
		whole = offsets && !part->text.failed;
		if (offsets)
			all->offsets = offsets;
		for (size_t j = 0; whole && j < part->offset_count; j++)
			all->offsets[all->offset_count + j] = all->base + part->offsets[j];
		all->offset_count = joined;
		all->base += part->base;
		all->piece = part->piece;
	}
	for (unsigned i = 1; i < count; i++)
		free(shares[i].pages.offsets);
	for (unsigned i = 0; i < count; i++)
		text_free(&shares[i].pages.text);
	return whole;
}

int pages_size(struct pages_cache *cache, uint64_t ino, const struct pages_ops *ops, const struct node *node,
	       uint64_t *size)
{
	const struct pages_entry *entry = find(cache, ino);
	if (entry) {
		*size = entry->size;
		return 0;
	}
	struct share shares[SHARES_MOST];
	const uint64_t pieces = ops->pieces ? ops->pieces(node) : 0;
	const long cores = pieces / SHARE_PIECES < 2 ? 1 : sysconf(_SC_NPROCESSORS_ONLN);
	unsigned count = cores < 1 ? 1 : cores > SHARES_MOST ? SHARES_MOST : (unsigned)cores;
	if (pieces / SHARE_PIECES < count)
		count = (unsigned)(pieces / SHARE_PIECES) + 1;
	const uint64_t each = (pieces / count / ops->step + 1) * ops->step;
	for (unsigned i = 0; i < count; i++) {
		shares[i] = (struct share){ .ops = ops, .node = node };
		shares[i].pages.step = ops->step;
		shares[i].pages.piece = i * each;
		shares[i].pages.until = i + 1 < count ? (i + 1) * each : 0;
		shares[i].started = i && !pthread_create(&shares[i].thread, NULL, find_size, &shares[i]);
	}
	bool touched_bad = input_touched_bad;
	for (unsigned i = 0; i < count; i++)
		if (!shares[i].started)
			find_size(&shares[i]);
	for (unsigned i = 0; i < count; i++) {
		if (shares[i].started)
			pthread_join(shares[i].thread, NULL);
		touched_bad |= shares[i].touched_bad;
	}
	input_touched_bad = touched_bad;
	struct pages *pages = &shares[0].pages;
	const bool whole = join_shares(shares, count);
	*size = pages->base;
	if (whole && !touched_bad && pages->piece > ops->step)
		keep(cache, ino, pages);
	free(pages->offsets);
	return whole ? 0 : ENOMEM;
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
