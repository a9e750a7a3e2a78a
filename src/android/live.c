/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures from elsewhere: which of them are of the dump's process, and whose they are. */
#include "android/bitmap.h"
#include "android/origin.h"
#include "heap/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESS_MOST 256

/* --- of which process --- */

/* What the dump, or the trace that it came in, calls its process; false where neither does. */
static bool process_of(const struct heap *heap, char name[PROCESS_MOST])
{
	const struct trace_dump *traced = heap->hprof->traced;
	struct origin origin;
	if (traced && traced->process)
		return (size_t)snprintf(name, PROCESS_MOST, "%s", traced->process) < PROCESS_MOST;
	if (!heap->android)
		return false;
	origin_of(heap, &origin);
	const struct string *string = &origin.strings[ORIGIN_PROCESS];
	if (!origin.known[ORIGIN_PROCESS] || string->units >= PROCESS_MOST)
		return false;
	for (uint64_t i = 0; i < string->units; i++) {
		const uint16_t unit = string_unit(string, i);
		name[i] = (char)(unit < 0x80 ? unit : '?');
	}
	name[string->units] = 0;
	return string->units;
}

/* In a folder's name a colon may have become something else: com.example.app:remote. */
static bool same_process(const char *dump, const char *set)
{
	for (; *dump && *set; dump++, set++)
		if (*dump != *set && !(*dump == ':' && *set == '_'))
			return false;
	return *dump == *set;
}

/* Do all other sets that say of which process they are name the same one? */
static bool is_only_process(const struct elsewhere *elsewhere, const struct elsewhere_set *set)
{
	for (uint32_t i = 0; i < elsewhere->set_count; i++) {
		const struct elsewhere_set *other = &elsewhere->sets[i];
		if ((other->pid || other->process) &&
		    (other->pid != set->pid || strcmp(other->process ? other->process : "", set->process ? set->process : "")))
			return false;
	}
	return true;
}

/*
 * Ids tell lives of an application apart, so they decide where both have one; then names do. Where one of the two does
 * not say whose it is, pictures are taken as long as there is no choice: a pointer of another process proves even less
 * than one of the same. What lies in a process's folder is joined by mId, which no two processes share.
 */
static bool set_is_of(const struct heap *heap, const struct elsewhere *elsewhere, const struct elsewhere_set *set)
{
	const struct trace_dump *traced = heap->hprof->traced;
	char name[PROCESS_MOST];
	if (traced && traced->pid && set->pid)
		return traced->pid == set->pid;
	if (set->process && process_of(heap, name))
		return same_process(name, set->process);
	if (!set->pid && !set->process)
		return !elsewhere->several;
	return set->folder || (is_only_process(elsewhere, set) && !elsewhere->several);
}

/* Of each set, whether it is of the dump's process; NULL without memory, or where there is none. */
static bool *choose_sets(const struct heap *heap)
{
	const struct elsewhere *elsewhere = heap->hprof->elsewhere;
	bool *chosen = elsewhere && elsewhere->picture_count ? calloc(elsewhere->set_count, sizeof *chosen) : NULL;
	for (uint32_t i = 0; chosen && i < elsewhere->set_count; i++)
		chosen[i] = set_is_of(heap, elsewhere, &elsewhere->sets[i]);
	return chosen;
}

/* --- reading their heads --- */

static bool read_for_head(const void *context, uint64_t offset, size_t len, uint8_t *out)
{
	return elsewhere_file_read(context, offset, len, out);
}

static enum elsewhere_state look_at(const struct elsewhere *elsewhere, uint32_t number, struct picture *picture,
				 struct live_place *place)
{
	const struct elsewhere_picture *from = &elsewhere->pictures[number];
	struct elsewhere_file file;
	const enum elsewhere_state state = elsewhere_file_open(&file, elsewhere, number);
	if (state != ELSEWHERE_READABLE)
		return state;
	*picture = (struct picture){ .pointer = from->key, .by = (uint8_t)from->by, .len = file.len };
	*place = (struct live_place){ number, file.stamp };
	bool read = picture_head_by(read_for_head, &file, file.len, &picture->head);
	read &= elsewhere_file_close(&file);
	return read ? ELSEWHERE_READABLE : ELSEWHERE_GONE;
}

static int compare_live(const void *a, const void *b)
{
	const struct picture *x = a, *y = b;
	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	if (x->pointer != y->pointer)
		return x->pointer < y->pointer ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool same_key(const struct picture *a, const struct picture *b)
{
	return a->by == b->by && a->pointer == b->pointer;
}

int live_read(struct bitmaps *bitmaps)
{
	const struct elsewhere *elsewhere = bitmaps->heap->hprof->elsewhere;
	const uint32_t most = elsewhere ? elsewhere->picture_count : 0;
	if (!most)
		return 0;
	bool *chosen = choose_sets(bitmaps->heap);
	bitmaps->live = calloc(most, sizeof *bitmaps->live);
	bitmaps->live_places = calloc(most, sizeof *bitmaps->live_places);
	const bool room = chosen && bitmaps->live && bitmaps->live_places;
	for (uint32_t i = 0; room && i < most; i++) {
		if (!chosen[elsewhere->pictures[i].set]) {
			bitmaps->live_of_others++;
			continue;
		}
		const uint32_t n = bitmaps->live_count;
		const enum elsewhere_state state = look_at(elsewhere, i, &bitmaps->live[n], &bitmaps->live_places[n]);
		bitmaps->live[n].number = n;
		bitmaps->live_states[state]++;
		bitmaps->live_count += state == ELSEWHERE_READABLE;
	}
	free(chosen);
	if (!room)
		return -1;
	if (bitmaps->live_count)
		qsort(bitmaps->live, bitmaps->live_count, sizeof *bitmaps->live, compare_live);
	for (uint32_t i = 0; i < bitmaps->live_count; i++) {
		struct picture *picture = &bitmaps->live[i];
		picture->shared_pointer |= picture->by == ELSEWHERE_BY_NOTHING;
		if (i + 1 < bitmaps->live_count && same_key(picture, picture + 1))
			picture->shared_pointer = picture[1].shared_pointer = true;
	}
	return 0;
}

uint32_t live_from(const struct bitmaps *bitmaps, enum elsewhere_by by, uint64_t key, uint64_t number)
{
	const struct picture wanted = { .by = (uint8_t)by, .pointer = key,
					.number = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX };
	uint32_t low = 0, high = bitmaps->live_count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (compare_live(&bitmaps->live[mid], &wanted) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* --- joining --- */

/* Gives a bitmap the first picture of this key that fits, unless it has one of its own. */
static void offer(struct bitmaps *bitmaps, struct bitmap *bitmap, enum elsewhere_by by, uint64_t key)
{
	const bool drawable = bitmap->verdict != VERDICT_RECYCLED && bitmap->verdict != VERDICT_ZERO_SIZE;
	const uint32_t first = key ? live_from(bitmaps, by, key, 0) : bitmaps->live_count;
	for (uint32_t i = first; i < bitmaps->live_count && i - first < PICTURE_CANDIDATES_MOST; i++) {
		struct picture *picture = &bitmaps->live[i];
		if (picture->by != by || picture->pointer != key)
			break;
		const bool fits = drawable && picture_fits(picture, bitmap);
		picture->claimed = true;
		picture->fits |= fits;
		if (fits && bitmap->verdict != VERDICT_OK) {
			bitmap->picture = picture;
			bitmap->source = SOURCE_LIVE;
			bitmap->verdict = VERDICT_OK;
			bitmaps->live_shown += !picture->chosen;
			picture->chosen = true;
		} else if (!fits && !bitmap->picture && bitmap->verdict != VERDICT_OK) {
			bitmap->picture = picture;
			if (drawable)
				bitmap->verdict = picture_refusal(picture, bitmap);
		}
	}
}

void live_join(struct bitmaps *bitmaps)
{
	const bool ids = bitmaps->live_count && bitmaps->live[bitmaps->live_count - 1].by == ELSEWHERE_BY_ID;
	for (uint32_t i = 0; bitmaps->live_count && i < bitmaps->count; i++) {
		struct bitmap *bitmap = &bitmaps->list[i];
		struct bitmap_origin origin = { .id = 0 };
		if (ids)
			bitmap_origin(bitmaps, bitmap, &origin);
		offer(bitmaps, bitmap, ELSEWHERE_BY_POINTER, bitmap->pointer);
		offer(bitmaps, bitmap, ELSEWHERE_BY_ID, origin.id);
	}
	/* Of more pictures of one key than were looked at, the rest is not an orphan either. */
	for (uint32_t i = 0; i < bitmaps->live_count; i++) {
		struct picture *picture = &bitmaps->live[i];
		picture->claimed |= i && picture[-1].claimed && same_key(picture - 1, picture);
		bitmaps->live_fit += picture->fits;
	}
}

bool live_bytes(const struct bitmaps *bitmaps, const struct picture *picture, uint64_t offset, size_t len, void *out)
{
	const struct live_place *place = &bitmaps->live_places[picture->number];
	return elsewhere_read(bitmaps->heap->hprof->elsewhere, place->picture, &place->stamp, offset, len, out);
}

uint64_t live_hash(const struct bitmaps *bitmaps, const struct picture *picture, uint64_t seed)
{
	uint8_t *data = malloc((size_t)picture->len + 1);
	uint64_t hash = 0;
	if (data && live_bytes(bitmaps, picture, 0, (size_t)picture->len, data)) {
		hash = hash_bytes(seed, data, (size_t)picture->len);
		hash += !hash;
	} else {
		input_touched_bad = true;
	}
	free(data);
	return hash;
}

/* --- what to say --- */

#define TOLD_MOST 3
static bool tell_others(const struct elsewhere *elsewhere, char *line, size_t size)
{
	size_t len = (size_t)snprintf(line, size, "the pictures from elsewhere are of other processes than the dump");
	const char *before = " (";
	unsigned told = 0;
	for (uint32_t i = 0; i < elsewhere->set_count && len < size; i++) {
		const struct elsewhere_set *set = &elsewhere->sets[i];
		if (!set->pid && !set->process)
			continue;
		if (told == TOLD_MOST) {
			len += (size_t)snprintf(line + len, size - len, " and others");
			break;
		}
		told++;
		char name[64] = "";
		for (size_t n = 0; set->process && set->process[n] && n + 1 < sizeof name; n++) {
			name[n] = (char)((unsigned char)set->process[n] < 0x20 || set->process[n] == 0x7f ? '?' : set->process[n]);
			name[n + 1] = 0;
		}
		len += (size_t)snprintf(line + len, size - len, "%s%" PRIu32 "%s%s", before, set->pid, *name ? " " : "", name);
		before = ", ";
	}
	if (len < size)
		snprintf(line + len, size - len, "%s: was the application restarted?", told ? ")" : ", or do not say of which");
	return true;
}

static bool tell_none(char *line, size_t size)
{
	snprintf(line, size, "none of the pictures from elsewhere is of a Bitmap of this dump: was the application restarted?");
	return true;
}

bool live_warning(const struct bitmaps *bitmaps, char *line, size_t size)
{
	uint32_t chosen = 0;
	for (unsigned i = 0; i < ELSEWHERE_STATES; i++)
		chosen += bitmaps->live_states[i];
	if (bitmaps->live_of_others && !chosen)
		return tell_others(bitmaps->heap->hprof->elsewhere, line, size);
	return bitmaps->live_count && !bitmaps->live_fit && tell_none(line, size);
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Has any Bitmap one of these pointers, or ids? */
static bool any_has(const struct heap *heap, const uint64_t *keys, size_t count)
{
	const struct class *class = bitmap_class(heap);
	struct bitmap_fields fields;
	struct cursor cursor;
	struct object object;
	if (!class)
		return false;
	bitmap_find_fields(heap, class, &fields);
	cursor_seek(&cursor, heap, class, 0);
	while (cursor_next(&cursor) && cursor_object(&cursor, &object)) {
		const uint8_t *pointer = bitmap_field(&object, fields.pointer, fields.pointer_width),
			      *id = bitmap_field(&object, fields.id, 8);
		const uint64_t own[] = { !pointer ? 0 : fields.pointer_width == 8 ? be64(pointer) : be32(pointer), id ? be64(id) : 0 };
		for (size_t i = 0; i < 2; i++)
			if (own[i] && bsearch(&own[i], keys, count, sizeof *keys, compare_keys))
				return true;
	}
	return false;
}

bool live_doubt(const struct heap *heap, char *line, size_t size)
{
	const struct elsewhere *elsewhere = heap->hprof->elsewhere;
	bool *chosen = choose_sets(heap);
	uint64_t *keys = chosen ? calloc(elsewhere->picture_count, sizeof *keys) : NULL;
	size_t count = 0;
	bool any = false, doubt = false;
	for (uint32_t i = 0; keys && i < elsewhere->picture_count; i++) {
		const struct elsewhere_picture *picture = &elsewhere->pictures[i];
		any |= chosen[picture->set];
		if (chosen[picture->set] && picture->by != ELSEWHERE_BY_NOTHING)
			keys[count++] = picture->key;
	}
	if (keys && !any) {
		doubt = tell_others(elsewhere, line, size);
	} else if (keys) {
		qsort(keys, count, sizeof *keys, compare_keys);
		doubt = !any_has(heap, keys, count) && tell_none(line, size);
	}
	free(keys);
	free(chosen);
	return doubt;
}
