/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmaps/: a file a Bitmap that has a picture, named after its native pointer, so that the names are those of
 * other tools. Two Bitmaps of one pointer, or of none, have their object's id behind it. objects/ leads from a
 * picture to its object, refused/ has pictures that say another size than their Bitmap, or are cut, and orphans/
 * those whose pointer no Bitmap has. There, pictures from elsewhere have "-live" behind their pointer.
 */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

const struct bitmaps *node_bitmaps(const struct node *node)
{
	struct bitmaps *_Atomic *slot = &node_dump(node)->bitmaps;
	struct bitmaps *bitmaps = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (bitmaps)
		return bitmaps;
	bitmaps = bitmaps_open(node->heap);
	if (!bitmaps) {
		input_touched_bad = true; /* no answer is better than an empty one, which the kernel would keep */
		return NULL;
	}
	if (atomic_compare_exchange_strong(slot, &other, bitmaps))
		return bitmaps;
	bitmaps_close(bitmaps);
	return other;
}

bool shows_bitmaps(const struct node *node)
{
	const struct trace_dump *traced = node->heap->hprof->traced;
	const struct elsewhere *elsewhere = node->heap->hprof->elsewhere;
	return node->heap->android || node_dump(node)->bitmap_class || (traced && traced->picture_count) ||
	       (elsewhere && elsewhere->picture_count);
}

static const struct bitmap *bitmap_of(const struct node *node, const struct bitmaps **bitmaps)
{
	*bitmaps = node_bitmaps(node);
	return *bitmaps ? bitmap_at(*bitmaps, node->key) : NULL;
}

/* --- names --- */

static enum picture_format format_of(const struct bitmap *bitmap)
{
	return bitmap->source == SOURCE_BUFFER ? PICTURE_PNG : bitmap->picture->head.format;
}

static void put_stem(struct text *text, const struct bitmap *bitmap)
{
	text_id(text, bitmap->pointer);
	if (bitmap->shared_pointer) {
		text_putc(text, '-');
		text_id(text, bitmap->id);
	}
}

void bitmap_file_name(struct text *text, const struct bitmap *bitmap)
{
	put_stem(text, bitmap);
	text_putc(text, '.');
	text_puts(text, picture_extension(format_of(bitmap)));
}

/* The bitmap with a picture that `stem` (of `len` bytes) names. */
static const struct bitmap *bitmap_by_stem(const struct bitmaps *bitmaps, const char *stem, size_t len)
{
	uint64_t pointer, id = 0;
	const char *dash = memchr(stem, '-', len);
	const size_t pointer_len = dash ? (size_t)(dash - stem) : len;
	if (!name_parse_id(stem, pointer_len, &pointer) ||
	    (dash && !name_parse_id(dash + 1, len - pointer_len - 1, &id)))
		return NULL;
	const uint32_t at = bitmaps_from(bitmaps, pointer, id);
	const struct bitmap *bitmap = at < bitmaps->count ? &bitmaps->list[bitmaps->by_pointer[at]] : NULL;
	if (!bitmap || bitmap->pointer != pointer || bitmap->shared_pointer != (dash != NULL) ||
	    (dash && bitmap->id != id) || bitmap->verdict != VERDICT_OK)
		return NULL;
	return bitmap;
}

/* Of a picture from elsewhere. */
#define LIVE "-live"

/* What a picture says of itself. */
static void put_claim(struct text *text, const struct picture *picture)
{
	const struct picture_head *head = &picture->head;
	if (head->width && head->height)
		text_printf(text, "%" PRIu32 "x%" PRIu32, head->width, head->height);
	else
		text_puts(text, head->format == PICTURE_UNKNOWN ? "unknown" : "unknown-size");
	if (head->format != PICTURE_UNKNOWN && !head->whole)
		text_puts(text, "-truncated");
}

static void put_picture_name(struct text *text, const struct picture *picture, enum kind kind, bool live)
{
	if (!live || picture->by == ELSEWHERE_BY_POINTER)
		text_id(text, picture->pointer);
	else if (picture->by == ELSEWHERE_BY_ID)
		text_printf(text, "bitmap-%" PRIu64, picture->pointer);
	else
		text_puts(text, "picture");
	if (live)
		text_puts(text, LIVE);
	if (kind == KIND_REFUSED) {
		text_putc(text, '-');
		put_claim(text, picture);
	}
	if (picture->shared_pointer)
		text_printf(text, "-%" PRIu32, picture->number);
	text_putc(text, '.');
	text_puts(text, picture_extension(picture->head.format));
}

/* --- folders --- */

static enum kind kind_of(const struct bitmap *bitmap)
{
	return bitmap->source == SOURCE_BUFFER || bitmap->source == SOURCE_LIVE ? KIND_BITMAP_MADE : KIND_BITMAP;
}

/* The pictures, or the links to their objects, in the order of their pointers. */
void list_bitmaps(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct bitmaps *bitmaps = node_bitmaps(folder);
	struct text name = { 0 };
	for (uint64_t i = from; bitmaps && i < bitmaps->count; i++) {
		const struct bitmap *bitmap = &bitmaps->list[bitmaps->by_pointer[i]];
		const bool links = folder->kind == KIND_BITMAP_OBJECTS;
		if (bitmap->verdict != VERDICT_OK)
			continue;
		name.len = 0;
		if (links)
			put_stem(&name, bitmap);
		else
			bitmap_file_name(&name, bitmap);
		if (!listing_emit(listing, links ? KIND_BITMAP_OBJECT : kind_of(bitmap), bitmap->offset, &name, i + 1))
			break;
	}
	text_free(&name);
}

bool lookup_bitmap(const struct node *folder, const char *name, struct node *child)
{
	const struct bitmaps *bitmaps = node_bitmaps(folder);
	const bool links = folder->kind == KIND_BITMAP_OBJECTS;
	const char *dot = links ? name + strlen(name) : strrchr(name, '.');
	const struct bitmap *bitmap = bitmaps && dot ? bitmap_by_stem(bitmaps, name, (size_t)(dot - name)) : NULL;
	if (!bitmap || (!links && strcmp(dot + 1, picture_extension(format_of(bitmap)))))
		return false;
	*child = node_make(folder, links ? KIND_BITMAP_OBJECT : kind_of(bitmap), bitmap->offset);
	return true;
}

static bool belongs(const struct picture *picture, enum kind kind)
{
	return kind == KIND_REFUSED ? picture_is_refused(picture) : picture_is_orphan(picture);
}

static enum kind file_kind(const struct node *folder)
{
	return folder->kind == KIND_REFUSED_FOLDER ? KIND_REFUSED : KIND_ORPHAN;
}

static uint64_t part_key(const struct node *folder, uint32_t number)
{
	return (uint64_t)folder->heap->number << PART_BITS | number;
}

/* First those of the dump, then those from elsewhere. */
void list_pictures(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct bitmaps *bitmaps = node_bitmaps(folder);
	const enum kind kind = file_kind(folder);
	const uint64_t own = bitmaps ? bitmaps->picture_count : 0;
	struct text name = { 0 };
	for (uint64_t i = from; bitmaps && i < own + bitmaps->live_count; i++) {
		const bool live = i >= own;
		const struct picture *picture = live ? &bitmaps->live[i - own] : &bitmaps->pictures[i];
		if (!belongs(picture, kind))
			continue;
		name.len = 0;
		put_picture_name(&name, picture, kind, live);
		if (live ? !listing_emit(listing, KIND_TRACE_PICTURE,
					 part_key(folder, bitmaps->traced_count + (uint32_t)(i - own)), &name, i + 1) :
			   !listing_emit(listing, kind, picture->slot, &name, i + 1))
			break;
	}
	text_free(&name);
}

/* Of the pictures of one pointer, which are in the order of their numbers, the one whose number the name ends with. */
static uint32_t picture_by_name(const struct bitmaps *bitmaps, uint64_t pointer, const char *name)
{
	const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.');
	uint32_t low = pictures_from(bitmaps, pointer), high = bitmaps->picture_count;
	uint64_t number;
	if (low == high || !bitmaps->pictures[low].shared_pointer || !dash || !dot || dot < dash ||
	    !name_parse_decimal(dash + 1, (size_t)(dot - dash - 1), 0, &number))
		return low;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const struct picture *picture = &bitmaps->pictures[mid];
		if (picture->pointer == pointer && picture->number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_called(const struct picture *picture, enum kind kind, bool live, const char *name)
{
	struct text text = { 0 };
	put_picture_name(&text, picture, kind, live);
	const bool same = text.len == strlen(name) && !memcmp(text.data, name, text.len);
	text_free(&text);
	return same;
}

/* The number before the name's ending; 0 if there is none. */
static uint64_t number_in(const char *name)
{
	const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.');
	uint64_t number;
	return dash && dot && dot > dash && name_parse_decimal(dash + 1, (size_t)(dot - dash - 1), 0, &number) ? number : 0;
}

static bool lookup_live(const struct node *folder, const struct bitmaps *bitmaps, const char *name, const char *live,
			struct node *child)
{
	static const char id[] = "bitmap-";
	const size_t len = (size_t)(live - name);
	const enum kind kind = file_kind(folder);
	enum elsewhere_by by = ELSEWHERE_BY_NOTHING;
	uint64_t key = 0;
	if (name_parse_id(name, len, &key))
		by = ELSEWHERE_BY_POINTER;
	else if (len > sizeof id - 1 && !memcmp(name, id, sizeof id - 1) &&
		 name_parse_decimal(name + sizeof id - 1, len - (sizeof id - 1), 0, &key))
		by = ELSEWHERE_BY_ID;
	uint32_t at = live_from(bitmaps, by, key, 0);
	if (at < bitmaps->live_count && bitmaps->live[at].shared_pointer)
		at = live_from(bitmaps, by, key, number_in(live));
	if (at == bitmaps->live_count || !belongs(&bitmaps->live[at], kind) || !is_called(&bitmaps->live[at], kind, true, name))
		return false;
	*child = node_make(folder, KIND_TRACE_PICTURE, part_key(folder, bitmaps->traced_count + at));
	return true;
}

bool lookup_picture(const struct node *folder, const char *name, struct node *child)
{
	const struct bitmaps *bitmaps = node_bitmaps(folder);
	const enum kind kind = file_kind(folder);
	const char *live = strstr(name, LIVE);
	uint64_t pointer;
	if (bitmaps && live)
		return lookup_live(folder, bitmaps, name, live, child);
	if (!bitmaps || !name_parse_id(name, strcspn(name, "-."), &pointer))
		return false;
	const uint32_t number = picture_by_name(bitmaps, pointer, name);
	if (number == bitmaps->picture_count || !belongs(&bitmaps->pictures[number], kind) ||
	    !is_called(&bitmaps->pictures[number], kind, false, name))
		return false;
	*child = node_make(folder, kind, bitmaps->pictures[number].slot);
	return true;
}

/*
 * trace/: what the trace has of this process that is no Bitmap's, under the trace's own names. Of those of one name the
 * later ones have their number before it.
 */
static bool put_trace_name(struct text *text, const struct bitmaps *bitmaps, uint32_t number)
{
	const char *own = bitmaps->heap->hprof->traced->pictures[number].name;
	const bool numbered = bitmaps->traced[number].numbered;
	text->len = 0;
	if (numbered)
		text_printf(text, "%" PRIu32 "-", number);
	name_escape(text, (struct name){ own, (uint32_t)strlen(own) }, NAME_MOST - (numbered ? 11 : 0), false);
	return !text->failed;
}

void list_trace_pictures(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct bitmaps *bitmaps = node_bitmaps(folder);
	struct text name = { 0 };
	for (uint64_t i = from; bitmaps && i < bitmaps->traced_count; i++)
		if (!bitmaps->traced[i].chosen && put_trace_name(&name, bitmaps, (uint32_t)i) &&
		    !listing_emit(listing, KIND_TRACE_PICTURE, part_key(folder, (uint32_t)i), &name, i + 1))
			break;
	text_free(&name);
}

static bool is_named(const struct bitmaps *bitmaps, uint32_t number, const char *name)
{
	struct text text = { 0 };
	const bool same = number < bitmaps->traced_count && !bitmaps->traced[number].chosen &&
			  put_trace_name(&text, bitmaps, number) && text.len == strlen(name) &&
			  !memcmp(text.data, name, text.len);
	text_free(&text);
	return same;
}

/* The name that is escaped so. */
static void unescape(const char *name, char own[NAME_MOST + 1])
{
	size_t len = 0;
	if (!strcmp(name, "%")) /* of no name */
		name = "";
	for (uint64_t byte; *name && len < NAME_MOST; len++) {
		char digits[3] = { 0 };
		for (unsigned i = 0; *name == '%' && i < 2 && name[1 + i]; i++)
			digits[i] = (char)(name[1 + i] >= 'A' && name[1 + i] <= 'F' ? name[1 + i] - 'A' + 'a' : name[1 + i]);
		const bool escaped = digits[1] && name_parse_hex(digits + (digits[0] == '0'), 2u - (digits[0] == '0'), &byte);
		own[len] = escaped ? (char)byte : *name;
		name += escaped ? 3 : 1;
	}
	own[len] = 0;
}

bool lookup_trace_picture(const struct node *folder, const char *name, struct node *child)
{
	const struct bitmaps *bitmaps = node_bitmaps(folder);
	char own[NAME_MOST + 1] = "";
	uint64_t number;
	if (!bitmaps || strlen(name) > NAME_MOST)
		return false;
	const size_t len = strlen(name), digits = strcspn(name, "-");
	if (!name_parse_decimal(name, digits, 0, &number) || number > UINT32_MAX ||
	    !is_named(bitmaps, (uint32_t)number, name)) {
		unescape(name, own);
		number = traced_by_name(bitmaps, own);
	}
	/* One that was cut does not say what it was. */
	if (!is_named(bitmaps, (uint32_t)number, name) && len > 9 && name[len - 9] == '~')
		for (number = 0; number < bitmaps->traced_count && !is_named(bitmaps, (uint32_t)number, name);)
			number++;
	if (!is_named(bitmaps, (uint32_t)number, name))
		return false;
	*child = node_make(folder, KIND_TRACE_PICTURE, part_key(folder, (uint32_t)number));
	return true;
}

/* The picture that is in no file of the dump's: of the trace, or from elsewhere. */
static const struct picture *part_picture(const struct node *file, const struct bitmaps **bitmaps, bool *live)
{
	const uint64_t number = file->key & PART_MASK;
	*bitmaps = node_bitmaps(file);
	if (!*bitmaps || number >= (uint64_t)(*bitmaps)->traced_count + (*bitmaps)->live_count)
		return NULL;
	*live = number >= (*bitmaps)->traced_count;
	return *live ? &(*bitmaps)->live[number - (*bitmaps)->traced_count] : &(*bitmaps)->traced[number];
}

static bool part_size(const struct node *file, uint64_t *size)
{
	const struct bitmaps *bitmaps;
	bool live;
	const struct picture *picture = part_picture(file, &bitmaps, &live);
	*size = picture ? picture->len : 0;
	return picture;
}

static bool part_read(const struct node *file, uint64_t from, size_t len, void *out)
{
	const struct bitmaps *bitmaps;
	bool live;
	const struct picture *picture = part_picture(file, &bitmaps, &live);
	if (picture && live)
		return live_bytes(bitmaps, picture, from, len, out);
	if (picture) /* behind the dump, in the same mapping */
		memcpy(out, file->heap->in->data + picture->offset + from, len);
	return picture;
}

const struct made_ops trace_picture_made = { .size = part_size, .read = part_read };

bool has_trace_pictures(const struct node *node)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	return bitmaps && bitmaps->traced_count > bitmaps->traced_shown;
}

bool has_refused(const struct node *node)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	return bitmaps && bitmaps->refused;
}

bool has_orphans(const struct node *node)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	return bitmaps && bitmaps->orphans;
}

bool has_pictures(const struct node *node)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	return bitmaps && bitmaps->with_picture;
}

bool has_no_pictures(const struct node *node)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	return bitmaps && !bitmaps->with_picture;
}

/* --- an object's picture --- */

/* The kinds of the link, by what the picture is. */
static bool has_format(const struct node *node, enum picture_format format)
{
	struct object object;
	const struct bitmaps *bitmaps;
	if (!node_dump(node)->bitmap_class || !heap_object(node->heap, node->key, &object) ||
	    object.class != node_dump(node)->bitmap_class)
		return false;
	const struct bitmap *bitmap = bitmap_of(node, &bitmaps);
	return bitmap && bitmap->verdict == VERDICT_OK && format_of(bitmap) == format;
}

bool has_png(const struct node *node)
{
	return has_format(node, PICTURE_PNG);
}

bool has_jpg(const struct node *node)
{
	return has_format(node, PICTURE_JPEG);
}

bool has_webp(const struct node *node)
{
	return has_format(node, PICTURE_WEBP);
}

bool target_bitmap(const struct node *link, struct text *text)
{
	const struct bitmaps *bitmaps;
	const struct bitmap *bitmap = bitmap_of(link, &bitmaps);
	if (!bitmap || bitmap->verdict != VERDICT_OK)
		return false;
	text_puts(text, "bitmaps/");
	bitmap_file_name(text, bitmap);
	return true;
}

/* --- files --- */

bool bitmap_bytes(const struct node *file, uint64_t *offset, uint64_t *len)
{
	const struct bitmaps *bitmaps;
	const struct bitmap *bitmap = bitmap_of(file, &bitmaps);
	if (!bitmap || (bitmap->source != SOURCE_DUMP_DATA && bitmap->source != SOURCE_TRACE))
		return false;
	*offset = bitmap->picture->offset;
	*len = bitmap->picture->len;
	return true;
}

bool picture_bytes(const struct node *file, uint64_t *offset, uint64_t *len)
{
	const struct bitmaps *bitmaps = node_bitmaps(file);
	const struct picture *picture = bitmaps ? picture_at(bitmaps, file->key) : NULL;
	if (!picture || !belongs(picture, file->kind))
		return false;
	*offset = picture->offset;
	*len = picture->len;
	return true;
}

/*
 * With -o png_level: pictures compressed lately. What a picture's size is, is known by compressing it, and the
 * kernel reads it in many requests, so the last few are kept.
 */
void encoded_cache_init(struct encoded_cache *cache)
{
	memset(cache, 0, sizeof *cache);
	pthread_mutex_init(&cache->lock, NULL);
}

void encoded_cache_free(struct encoded_cache *cache)
{
	for (unsigned i = 0; i < ENCODED_KEPT; i++)
		free(cache->kept[i].data);
	pthread_mutex_destroy(&cache->lock);
}

/* Copies a stretch of the compressed picture, or with `out` NULL only finds its size. False without memory. */
static bool encoded_read(const struct node *file, struct bitmap *bitmap, const struct pixels *pixels, uint64_t from,
			 size_t len, uint8_t *out, uint64_t *size)
{
	struct encoded_cache *cache = &file->tree->encoded;
	const uint64_t place = file->heap->in->base + bitmap->offset; /* dumps of a trace have the same offsets */
	*size = atomic_load(&bitmap->encoded_size);
	if (!out && *size)
		return true;
	pthread_mutex_lock(&cache->lock);
	struct encoded *use = NULL, *oldest = &cache->kept[0];
	for (unsigned i = 0; i < ENCODED_KEPT; i++) {
		struct encoded *encoded = &cache->kept[i];
		if (encoded->data && encoded->place == place)
			use = encoded;
		if (encoded->used < oldest->used)
			oldest = encoded;
	}
	if (!use) {
		/* Others wait meanwhile: two threads compressing the same picture would be slower. */
		uint8_t *data;
		size_t data_len;
		if (!png_encode(pixels, file->tree->options.png_level, &data, &data_len)) {
			use = oldest;
			free(use->data);
			*use = (struct encoded){ .data = data, .len = data_len, .place = place };
			atomic_store(&bitmap->encoded_size, data_len);
		}
	}
	if (use) {
		use->used = ++cache->clock;
		*size = use->len;
		if (out)
			memcpy(out, use->data + from, len);
	}
	pthread_mutex_unlock(&cache->lock);
	return use;
}

static bool made_pixels(const struct node *file, struct bitmap **bitmap, struct pixels *pixels)
{
	const struct bitmaps *bitmaps = node_bitmaps(file);
	*bitmap = bitmaps ? bitmap_at(bitmaps, file->key) : NULL;
	return *bitmap && (*bitmap)->source == SOURCE_BUFFER && bitmap_pixels(bitmaps, *bitmap, pixels);
}

/* Is it one whose picture comes from elsewhere? */
static bool made_live(const struct node *file, const struct bitmaps **bitmaps, struct bitmap **bitmap)
{
	*bitmaps = node_bitmaps(file);
	*bitmap = *bitmaps ? bitmap_at(*bitmaps, file->key) : NULL;
	return *bitmap && (*bitmap)->source == SOURCE_LIVE;
}

static bool made_size(const struct node *file, uint64_t *size)
{
	const struct bitmaps *bitmaps;
	struct bitmap *bitmap;
	struct pixels pixels;
	if (made_live(file, &bitmaps, &bitmap)) {
		*size = bitmap->picture->len;
		return true;
	}
	if (!made_pixels(file, &bitmap, &pixels))
		return false;
	if (file->tree->options.png_level)
		return encoded_read(file, bitmap, &pixels, 0, 0, NULL, size);
	*size = png_size(&pixels);
	return true;
}

static bool made_read(const struct node *file, uint64_t from, size_t len, void *out)
{
	struct bitmap *bitmap;
	struct pixels pixels;
	uint64_t size;
	const struct bitmaps *bitmaps;
	if (made_live(file, &bitmaps, &bitmap))
		return live_bytes(bitmaps, bitmap->picture, from, len, out);
	if (!made_pixels(file, &bitmap, &pixels))
		return false;
	if (file->tree->options.png_level)
		return encoded_read(file, bitmap, &pixels, from, len, out, &size);
	return png_read(&pixels, &bitmap->sums, from, len, out);
}

const struct made_ops bitmap_made = { .size = made_size, .read = made_read };
