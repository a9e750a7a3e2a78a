/* SPDX-License-Identifier: Apache-2.0 */
#include "android/bitmap.h"

#include "heap/hash.h"
#include "input/picture_folder.h"

#include <stdlib.h>

#define BITMAP_CLASS "android.graphics.Bitmap"

void bitmap_find_fields(const struct heap *heap, const struct class *class, struct bitmap_fields *fields)
{
	static const struct {
		const char *name;
		uint8_t type;
	} pointers[] = { { "mNativePtr", TYPE_LONG },	 /* since API 23 */
			 { "mNativeBitmap", TYPE_LONG }, /* 21 and 22 */
			 { "mNativeBitmap", TYPE_INT },	 /* up to 20 */
			 { "mNativePtr", TYPE_INT } };
	*fields = (struct bitmap_fields){
		.width = field_offset(heap, class, "mWidth", TYPE_INT),
		.height = field_offset(heap, class, "mHeight", TYPE_INT),
		.recycled = field_offset(heap, class, "mRecycled", TYPE_BOOLEAN),
		.pointer = -1,
		.buffer = field_offset(heap, class, "mBuffer", TYPE_OBJECT),
		.premultiplied = field_offset(heap, class, "mRequestPremultiplied", TYPE_BOOLEAN),
		.id = field_offset(heap, class, "mId", TYPE_LONG),
		.source_id = field_offset(heap, class, "mSourceId", TYPE_LONG),
	};
	for (size_t i = 0; fields->pointer < 0 && i < sizeof pointers / sizeof *pointers; i++) {
		fields->pointer = field_offset(heap, class, pointers[i].name, pointers[i].type);
		fields->pointer_width = pointers[i].type == TYPE_LONG ? 8 : 4;
	}
	if (fields->premultiplied < 0) /* API 19 and 20 */
		fields->premultiplied = field_offset(heap, class, "mIsPremultiplied", TYPE_BOOLEAN);
}

const uint8_t *bitmap_field(const struct object *object, int32_t at, unsigned width)
{
	return at >= 0 && (uint64_t)at + width <= object->data_len ? object->data + at : NULL;
}

static uint32_t dimension(const uint8_t *p)
{
	const uint32_t value = p ? be32(p) : 0;
	return value > INT32_MAX ? 0 : value;
}

const struct class *bitmap_class(const struct heap *heap)
{
	const struct class *best = class_by_name(heap, BITMAP_CLASS);
	if (!best)
		return NULL;
	for (uint32_t i = class_number(heap, best); i < heap->class_count; i++) {
		const struct class *class = &heap->classes[i];
		if (class->name.len == best->name.len && !memcmp(class->name.text, best->name.text, best->name.len) &&
		    (!best->offset || (best->loader_id && class->offset && !class->loader_id)))
			best = class;
	}
	return best;
}

/* --- Bitmap.dumpData --- */

static bool find_array(const struct heap *heap, const struct object *object, const char *name, uint8_t type,
		       struct object *array)
{
	return object_field(heap, object, name, array) && array->kind != OBJECT_INSTANCE && array->type == type &&
	       array->data_len >= (uint64_t)array->length * type_width(type, heap->id_width);
}

static int compare_pictures(const void *a, const void *b)
{
	const struct picture *x = a, *y = b;
	if (x->pointer != y->pointer)
		return x->pointer < y->pointer ? -1 : 1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int add_picture(struct bitmaps *bitmaps, uint32_t *capacity, const struct picture *picture)
{
	if (bitmaps->picture_count == *capacity) {
		*capacity = *capacity ? 2 * *capacity : 64;
		struct picture *grown = reallocarray(bitmaps->pictures, *capacity, sizeof *grown);
		if (!grown)
			return -1;
		bitmaps->pictures = grown;
	}
	bitmaps->pictures[bitmaps->picture_count++] = *picture;
	return 0;
}

/*
 * DumpData holds `count` pictures: natives[i] is the pointer, buffers[i] the bytes. The arrays are made for all
 * bitmaps and filled only for those that could be compressed. A later version adds `sizes`. Its field `format` is
 * not asked: the bytes say what they are.
 */
static int read_dump_data(struct bitmaps *bitmaps)
{
	const struct heap *heap = bitmaps->heap;
	const unsigned I = heap->id_width;
	struct static_walk found;
	struct object data, natives, buffers, sizes, bytes;
	uint32_t capacity = 0;
	if (!class_static(heap, bitmaps->class, "dumpData", &found) || found.type != TYPE_OBJECT)
		return 0;
	bitmaps->has_dump_data = true;
	if (!heap_find(heap, read_id(found.value, I), &data) || data.kind != OBJECT_INSTANCE ||
	    !find_array(heap, &data, "natives", TYPE_LONG, &natives) ||
	    !find_array(heap, &data, "buffers", TYPE_OBJECT, &buffers))
		return 0;
	const bool sized = find_array(heap, &data, "sizes", TYPE_INT, &sizes);
	uint32_t count = dimension(bitmap_field(&data, field_offset(heap, data.class, "count", TYPE_INT), 4));
	count = count < natives.length ? count : natives.length;
	count = count < buffers.length ? count : buffers.length;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *slot = buffers.data + (uint64_t)i * I;
		const uint64_t id = read_id(slot, I);
		if (!id)
			continue;
		if (!heap_find_near(heap, id, &buffers, &bytes) || bytes.kind != OBJECT_PRIMITIVE_ARRAY ||
		    bytes.type != TYPE_BYTE || bytes.data_len < bytes.length) {
			bitmaps->absent_pictures++;
			continue;
		}
		struct picture picture = { .pointer = be64(natives.data + 8 * (uint64_t)i),
					   .slot = buffers.data_offset + (uint64_t)i * I, .object = id, .number = i,
					   .offset = bytes.data_offset, .len = bytes.length };
		if (sized && i < sizes.length) {
			const uint32_t size = dimension(sizes.data + 4 * (uint64_t)i);
			picture.len = size && size < picture.len ? size : picture.len;
		}
		picture_head(bytes.data, picture.len, &picture.head);
		if (add_picture(bitmaps, &capacity, &picture))
			return -1;
	}
	return 0;
}

static int compare_slots(const void *a, const void *b, void *context)
{
	const struct bitmaps *bitmaps = context;
	const uint64_t x = bitmaps->pictures[*(const uint32_t *)a].slot, y = bitmaps->pictures[*(const uint32_t *)b].slot;
	return x < y ? -1 : x > y;
}

static int sort_pictures(struct bitmaps *bitmaps)
{
	const uint32_t count = bitmaps->picture_count;
	bitmaps->by_slot = calloc(count + 1, sizeof *bitmaps->by_slot);
	if (!bitmaps->by_slot)
		return -1;
	if (count)
		qsort(bitmaps->pictures, count, sizeof *bitmaps->pictures, compare_pictures);
	for (uint32_t i = 0; i < count; i++) {
		struct picture *picture = &bitmaps->pictures[i];
		bitmaps->by_slot[i] = i;
		picture->shared_pointer |= !picture->pointer;
		if (i + 1 < count && picture[1].pointer == picture->pointer)
			picture->shared_pointer = picture[1].shared_pointer = true;
	}
	qsort_r(bitmaps->by_slot, count, sizeof *bitmaps->by_slot, compare_slots, bitmaps);
	return 0;
}

const struct picture *picture_at(const struct bitmaps *bitmaps, uint64_t slot)
{
	uint32_t low = 0, high = bitmaps->picture_count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const struct picture *picture = &bitmaps->pictures[bitmaps->by_slot[mid]];
		if (picture->slot == slot)
			return picture;
		if (picture->slot < slot)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

uint32_t pictures_from(const struct bitmaps *bitmaps, uint64_t pointer)
{
	uint32_t low = 0, high = bitmaps->picture_count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (bitmaps->pictures[mid].pointer < pointer)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool picture_fits(const struct picture *picture, const struct bitmap *bitmap)
{
	const struct picture_head *head = &picture->head;
	return head->format != PICTURE_UNKNOWN && head->whole && head->width == bitmap->width &&
	       head->height == bitmap->height;
}

enum bitmap_verdict picture_refusal(const struct picture *picture, const struct bitmap *bitmap)
{
	const struct picture_head *head = &picture->head;
	if (head->format == PICTURE_UNKNOWN || !head->width || !head->height)
		return head->format != PICTURE_UNKNOWN && !head->whole ? VERDICT_TRUNCATED : VERDICT_NO_PICTURE;
	if (head->width != bitmap->width || head->height != bitmap->height)
		return VERDICT_MISMATCH;
	return VERDICT_TRUNCATED;
}

/* Looks for the bitmap's picture. The last one for its pointer counts, as the newest does for Android. */
static void try_pictures(struct bitmaps *bitmaps, struct bitmap *bitmap, bool drawable)
{
	if (!bitmap->pointer)
		return;
	const uint32_t first = pictures_from(bitmaps, bitmap->pointer);
	const uint32_t end = bitmap->pointer == UINT64_MAX ? bitmaps->picture_count :
							     pictures_from(bitmaps, bitmap->pointer + 1);
	for (uint32_t i = end; i > first && end - i < PICTURE_CANDIDATES_MOST; i--) {
		struct picture *picture = &bitmaps->pictures[i - 1];
		const bool fits = drawable && picture_fits(picture, bitmap);
		if (fits && bitmap->source == SOURCE_NONE) {
			bitmap->picture = picture;
			bitmap->source = SOURCE_DUMP_DATA;
			picture->chosen = true;
		}
		if (!bitmap->picture)
			bitmap->picture = picture;
		picture->fits |= fits;
	}
}

/* --- pictures of the trace --- */

static int compare_names(const void *a, const void *b, void *context)
{
	const struct trace_picture *pictures = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(pictures[x].name, pictures[y].name);
	return order ? order : x < y ? -1 : x > y;
}

/* Is a picture called as another one would be with its number before its name? */
static bool looks_numbered(const struct trace_picture *pictures, size_t count, uint32_t i)
{
	char *rest;
	const unsigned long number = strtoul(pictures[i].name, &rest, 10);
	return *pictures[i].name >= '0' && *pictures[i].name <= '9' && *rest == '-' && number < count &&
	       !strcmp(rest + 1, pictures[number].name);
}

/* Finds which names of pictures are not theirs alone. -1 without memory. */
static int find_numbered(struct bitmaps *bitmaps, struct trace_picture *pictures, uint32_t count)
{
	uint32_t *by_name = bitmaps->by_name = calloc(count + 1, sizeof *by_name);
	if (!by_name)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		by_name[i] = i;
	qsort_r(by_name, count, sizeof *by_name, compare_names, pictures);
	for (uint32_t i = 0; i < count; i++)
		bitmaps->traced[by_name[i]].numbered =
			(i && !strcmp(pictures[by_name[i]].name, pictures[by_name[i - 1]].name)) ||
			looks_numbered(pictures, count, by_name[i]);
	return 0;
}

uint32_t traced_by_name(const struct bitmaps *bitmaps, const char *name)
{
	uint32_t low = 0, high = bitmaps->traced_count;
	const struct trace_picture *pictures = high ? bitmaps->heap->hprof->traced->pictures : NULL;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (strcmp(pictures[bitmaps->by_name[mid]].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < bitmaps->traced_count && !strcmp(pictures[bitmaps->by_name[low]].name, name) ? bitmaps->by_name[low] :
												    UINT32_MAX;
}

static int read_traced(struct bitmaps *bitmaps)
{
	const struct trace_dump *traced = bitmaps->heap->hprof->traced;
	const size_t count = traced ? traced->picture_count : 0;
	const struct input *in = bitmaps->heap->in;
	bitmaps->traced = calloc(count + 1, sizeof *bitmaps->traced);
	if (!bitmaps->traced)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct trace_picture *from = &traced->pictures[i];
		struct picture *picture = &bitmaps->traced[i];
		*picture = (struct picture){ .pointer = picture_pointer(from->name), .number = (uint32_t)i, .len = from->len,
					     .offset = from->offset - in->start };
		picture_head(in->data + picture->offset, from->len, &picture->head);
	}
	bitmaps->traced_count = (uint32_t)count;
	return count ? find_numbered(bitmaps, traced->pictures, (uint32_t)count) : 0;
}

/* Gives those bitmaps a picture of the trace that have none of their own. */
static void join_traced(struct bitmaps *bitmaps)
{
	for (uint32_t i = 0; i < bitmaps->traced_count; i++) {
		struct picture *picture = &bitmaps->traced[i];
		uint32_t at = picture->pointer ? bitmaps_from(bitmaps, picture->pointer, 0) : bitmaps->count;
		for (; at < bitmaps->count; at++) {
			struct bitmap *bitmap = &bitmaps->list[bitmaps->by_pointer[at]];
			if (bitmap->pointer != picture->pointer || (picture->chosen && !bitmap->shared_pointer))
				break;
			picture->claimed = true;
			if (bitmap->verdict == VERDICT_OK || bitmap->verdict == VERDICT_RECYCLED ||
			    bitmap->verdict == VERDICT_ZERO_SIZE)
				continue;
			if (picture_fits(picture, bitmap)) {
				bitmap->picture = picture;
				bitmap->source = SOURCE_TRACE;
				bitmap->verdict = VERDICT_OK;
				bitmaps->traced_shown += !picture->chosen;
				picture->chosen = true;
			} else if (!bitmap->picture) {
				bitmap->picture = picture;
				bitmap->verdict = picture_refusal(picture, bitmap);
			}
		}
	}
}

/* --- mBuffer --- */

/* Reads the layout off the bytes a pixel: all that is known, since no field says it. */
static enum bitmap_verdict try_buffer(const struct heap *heap, const struct object *object, int32_t at,
				      struct bitmap *bitmap)
{
	static const enum pixel_layout layouts[] = { [1] = LAYOUT_ALPHA_8, [2] = LAYOUT_RGB_565, [4] = LAYOUT_ARGB_8888 };
	const uint64_t count = (uint64_t)bitmap->width * bitmap->height;
	const uint8_t *p = bitmap_field(object, at, heap->id_width);
	struct object bytes;
	if (!p || !read_id(p, heap->id_width))
		return VERDICT_NO_BUFFER;
	if (!heap_find_near(heap, read_id(p, heap->id_width), object, &bytes) ||
	    bytes.kind != OBJECT_PRIMITIVE_ARRAY || bytes.type != TYPE_BYTE || bytes.data_len < bytes.length)
		return VERDICT_BUFFER_ABSENT;
	bitmap->buffer = bytes.data_offset;
	bitmap->buffer_len = bytes.length;
	if (!count)
		return VERDICT_ZERO_SIZE;
	const uint64_t each = bitmap->buffer_len / count;
	if (!each)
		return VERDICT_BUFFER_SMALL;
	if (each >= sizeof layouts / sizeof *layouts || !layouts[each])
		return VERDICT_BUFFER_LAYOUT;
	bitmap->layout = (uint8_t)layouts[each];
	bitmap->guessed = bitmap->buffer_len != each * count;
	return VERDICT_OK;
}

/* --- the table --- */

static void look_at(struct bitmaps *bitmaps, const struct object *object, struct bitmap *bitmap)
{
	const struct bitmap_fields *fields = &bitmaps->fields;
	const struct heap *heap = bitmaps->heap;
	const uint8_t *pointer = bitmap_field(object, fields->pointer, fields->pointer_width);
	const uint8_t *recycled = bitmap_field(object, fields->recycled, 1),
		      *premultiplied = bitmap_field(object, fields->premultiplied, 1);
	*bitmap = (struct bitmap){ .offset = object->offset, .id = object->id,
				   .width = dimension(bitmap_field(object, fields->width, 4)),
				   .height = dimension(bitmap_field(object, fields->height, 4)),
				   .premultiplied = !premultiplied || *premultiplied };
	if (pointer)
		bitmap->pointer = fields->pointer_width == 8 ? be64(pointer) : be32(pointer);
	const bool gone = recycled && *recycled, drawable = !gone && bitmap->width && bitmap->height;
	try_pictures(bitmaps, bitmap, drawable);
	const enum bitmap_verdict buffer =
		fields->buffer >= 0 ? try_buffer(heap, object, fields->buffer, bitmap) : VERDICT_NATIVE;
	if (!drawable)
		bitmap->verdict = gone ? VERDICT_RECYCLED : VERDICT_ZERO_SIZE;
	else if (bitmap->source == SOURCE_DUMP_DATA)
		bitmap->verdict = VERDICT_OK;
	else if (buffer == VERDICT_OK)
		bitmap->source = SOURCE_BUFFER;
	else if (bitmap->picture)
		bitmap->verdict = picture_refusal(bitmap->picture, bitmap);
	else
		bitmap->verdict = buffer == VERDICT_NATIVE && bitmaps->picture_count ? VERDICT_NOT_DUMPED : buffer;
}

static int gather(struct bitmaps *bitmaps)
{
	const struct heap *heap = bitmaps->heap;
	const uint64_t count = bitmaps->class->count;
	struct cursor cursor;
	struct object object;
	struct found found;
	bitmap_find_fields(heap, bitmaps->class, &bitmaps->fields);
	if (read_dump_data(bitmaps) || sort_pictures(bitmaps))
		return -1;
	const uint32_t most = count < BITMAPS_MOST ? (uint32_t)count : BITMAPS_MOST;
	bitmaps->left_out = count - most > UINT32_MAX ? UINT32_MAX : (uint32_t)(count - most);
	bitmaps->list = calloc(most + 1, sizeof *bitmaps->list);
	bitmaps->by_pointer = calloc(most + 1, sizeof *bitmaps->by_pointer);
	bitmaps->by_pixels = calloc(most + 1, sizeof *bitmaps->by_pixels);
	if (!bitmaps->list || !bitmaps->by_pointer || !bitmaps->by_pixels)
		return -1;
	cursor_seek(&cursor, heap, bitmaps->class, 0);
	while (bitmaps->count < most && cursor_next(&cursor) && cursor_object(&cursor, &object)) {
		/* Of two objects with one id the first in the file is shown. */
		if (heap->scan.index.duplicates &&
		    (!index_find(&heap->scan.index, object.id, &found) || found.offset != object.offset ||
		     class_find(heap, object.id)))
			continue;
		if (object.kind == OBJECT_INSTANCE)
			look_at(bitmaps, &object, &bitmaps->list[bitmaps->count++]);
	}
	return 0;
}

static int compare_pointers(const void *a, const void *b, void *context)
{
	const struct bitmaps *bitmaps = context;
	const struct bitmap *x = &bitmaps->list[*(const uint32_t *)a], *y = &bitmaps->list[*(const uint32_t *)b];
	if (x->pointer != y->pointer)
		return x->pointer < y->pointer ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_pixels(const void *a, const void *b, void *context)
{
	const struct bitmaps *bitmaps = context;
	const struct bitmap *x = &bitmaps->list[*(const uint32_t *)a], *y = &bitmaps->list[*(const uint32_t *)b];
	const uint64_t nx = (uint64_t)x->width * x->height, ny = (uint64_t)y->width * y->height;
	if (nx != ny)
		return nx > ny ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

uint32_t bitmaps_from(const struct bitmaps *bitmaps, uint64_t pointer, uint64_t id)
{
	uint32_t low = 0, high = bitmaps->count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const struct bitmap *bitmap = &bitmaps->list[bitmaps->by_pointer[mid]];
		if (bitmap->pointer < pointer || (bitmap->pointer == pointer && bitmap->id < id))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void sort(struct bitmaps *bitmaps)
{
	for (uint32_t i = 0; i < bitmaps->count; i++)
		bitmaps->by_pointer[i] = bitmaps->by_pixels[i] = i;
	qsort_r(bitmaps->by_pointer, bitmaps->count, sizeof *bitmaps->by_pointer, compare_pointers, bitmaps);
	qsort_r(bitmaps->by_pixels, bitmaps->count, sizeof *bitmaps->by_pixels, compare_pixels, bitmaps);
	for (uint32_t i = 0; i < bitmaps->count; i++) {
		struct bitmap *bitmap = &bitmaps->list[bitmaps->by_pointer[i]];
		struct bitmap *next = i + 1 < bitmaps->count ? &bitmaps->list[bitmaps->by_pointer[i + 1]] : NULL;
		bitmap->shared_pointer |= !bitmap->pointer;
		if (next && next->pointer == bitmap->pointer)
			next->shared_pointer = bitmap->shared_pointer = true;
	}
}

static void count_picture(struct bitmaps *bitmaps, const struct picture *picture)
{
	bitmaps->orphans += picture_is_orphan(picture);
	bitmaps->refused += picture_is_refused(picture);
	bitmaps->repeated += picture->fits && !picture->chosen;
}

static void count(struct bitmaps *bitmaps)
{
	for (uint32_t i = 0; i < bitmaps->count; i++) {
		const struct bitmap *bitmap = &bitmaps->list[i];
		bitmaps->with_picture += bitmap->verdict == VERDICT_OK;
		bitmaps->mismatched += bitmap->verdict != VERDICT_OK && bitmap->picture;
	}
	for (uint32_t i = 0; i < bitmaps->picture_count; i++) {
		struct picture *picture = &bitmaps->pictures[i];
		const uint32_t at = picture->pointer ? bitmaps_from(bitmaps, picture->pointer, 0) : bitmaps->count;
		picture->claimed = at < bitmaps->count &&
				   bitmaps->list[bitmaps->by_pointer[at]].pointer == picture->pointer;
		count_picture(bitmaps, picture);
	}
	for (uint32_t i = 0; i < bitmaps->live_count; i++)
		count_picture(bitmaps, &bitmaps->live[i]);
}

struct bitmaps *bitmaps_open(const struct heap *heap)
{
	struct bitmaps *bitmaps = calloc(1, sizeof *bitmaps);
	if (!bitmaps)
		return NULL;
	bitmaps->heap = heap;
	bitmaps->class = bitmap_class(heap);
	if ((bitmaps->class && gather(bitmaps)) || read_traced(bitmaps) || live_read(bitmaps)) {
		bitmaps_close(bitmaps);
		return NULL;
	}
	if (bitmaps->count)
		sort(bitmaps);
	join_traced(bitmaps);
	live_join(bitmaps);
	count(bitmaps);
	if (input_touched_bad) {
		bitmaps_close(bitmaps);
		return NULL;
	}
	return bitmaps;
}

void bitmaps_close(struct bitmaps *bitmaps)
{
	for (uint32_t i = 0; bitmaps && i < bitmaps->count; i++)
		png_sums_free(&bitmaps->list[i].sums);
	if (bitmaps) {
		free(bitmaps->list);
		free(bitmaps->by_pointer);
		free(bitmaps->by_pixels);
		free(bitmaps->pictures);
		free(bitmaps->by_slot);
		free(bitmaps->traced);
		free(bitmaps->by_name);
		free(bitmaps->live);
		free(bitmaps->live_places);
	}
	free(bitmaps);
}

struct bitmap *bitmap_at(const struct bitmaps *bitmaps, uint64_t offset)
{
	uint32_t low = 0, high = bitmaps->count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (bitmaps->list[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < bitmaps->count && bitmaps->list[low].offset == offset ? &bitmaps->list[low] : NULL;
}

bool bitmap_pixels(const struct bitmaps *bitmaps, const struct bitmap *bitmap, struct pixels *pixels)
{
	const uint64_t len = (uint64_t)bitmap->width * bitmap->height * layout_bytes((enum pixel_layout)bitmap->layout);
	*pixels = (struct pixels){ .data = input_at(bitmaps->heap->in, bitmap->buffer, len), .width = bitmap->width,
				   .height = bitmap->height, .layout = (enum pixel_layout)bitmap->layout,
				   .premultiplied = bitmap->premultiplied };
	return pixels->data != NULL;
}

uint64_t bitmap_hash(const struct bitmaps *bitmaps, struct bitmap *bitmap)
{
	uint64_t hash = atomic_load_explicit(&bitmap->hash, memory_order_relaxed);
	if (hash || bitmap->verdict != VERDICT_OK)
		return hash;
	const uint8_t *data;
	uint64_t len;
	uint64_t shape = (uint64_t)bitmap->width << 32 | bitmap->height;
	if (bitmap->source == SOURCE_BUFFER) {
		struct pixels pixels;
		bitmap_pixels(bitmaps, bitmap, &pixels);
		shape = shape * 8 + 2 * pixels.layout + pixels.premultiplied;
		data = pixels.data;
		len = (uint64_t)pixels.width * pixels.height * layout_bytes(pixels.layout);
	} else if (bitmap->source == SOURCE_LIVE) {
		hash = live_hash(bitmaps, bitmap->picture, shape);
		if (hash)
			atomic_store_explicit(&bitmap->hash, hash, memory_order_relaxed);
		return hash;
	} else {
		data = bitmap->source == SOURCE_TRACE ?
			       bitmaps->heap->in->data + bitmap->picture->offset :
			       input_at(bitmaps->heap->in, bitmap->picture->offset, bitmap->picture->len);
		len = bitmap->picture->len;
	}
	if (!data)
		return 0;
	hash = hash_bytes(shape, data, (size_t)len);
	hash += !hash;
	if (!input_touched_bad)
		atomic_store_explicit(&bitmap->hash, hash, memory_order_relaxed);
	return hash;
}

uint64_t bitmap_memory(const struct bitmap *bitmap)
{
	if (bitmap->buffer_len)
		return bitmap->buffer_len;
	return bitmap->verdict == VERDICT_RECYCLED ? 0 : (uint64_t)bitmap->width * bitmap->height * 4;
}

/* False for what no process gives. */
static bool split_id(uint64_t id, enum bitmap_storage *storage, uint64_t *pid)
{
	*pid = id / 10000000;
	*storage = (enum bitmap_storage)(id / 1000000 % 10);
	return *pid && *pid <= INT32_MAX && *storage < STORAGES;
}

void bitmap_origin(const struct bitmaps *bitmaps, const struct bitmap *bitmap, struct bitmap_origin *origin)
{
	const struct bitmap_fields *fields = &bitmaps->fields;
	struct object object;
	uint64_t pid;
	*origin = (struct bitmap_origin){ .known = false };
	if (!heap_object(bitmaps->heap, bitmap->offset, &object))
		return;
	const uint8_t *id = bitmap_field(&object, fields->id, 8), *source = bitmap_field(&object, fields->source_id, 8);
	origin->known = id && split_id(be64(id), &origin->storage, &pid);
	origin->id = id ? be64(id) : 0;
	if (source && be64(source) != UINT64_MAX && split_id(be64(source), &origin->source_storage, &origin->source_pid)) {
		origin->received = true;
		origin->source_id = be64(source);
	}
}
