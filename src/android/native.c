/* SPDX-License-Identifier: Apache-2.0 */
#include "android/native.h"

#include <stdlib.h>

static const char *const cleaner_classes[] = { "sun.misc.Cleaner", "jdk.internal.ref.Cleaner" };
#define CLEANER_CLASSES (sizeof cleaner_classes / sizeof *cleaner_classes)

/* What a cleaner's referent owns; false where it is of another kind, or was cleaned. */
static bool read_cleaner(const struct heap *heap, const struct object *cleaner, struct native *native, struct object *owner)
{
	struct object thunk, registry, next;
	if (!object_field(heap, cleaner, "referent", owner) || !object_field(heap, cleaner, "thunk", &thunk) ||
	    !object_field(heap, &thunk, "this$0", &registry))
		return false;
	/* One that ran is taken out of the list and refers to itself. */
	if (object_field(heap, cleaner, "next", &next) && next.id == cleaner->id)
		return false;
	const int32_t at = field_offset(heap, registry.class, "size", TYPE_LONG);
	if (at < 0 || (uint64_t)at + 8 > registry.data_len)
		return false;
	*native = (struct native){ owner->id, be64(registry.data + at) & ~UINT64_C(1) };
	return native->bytes != 0;
}

static int compare_natives(const void *a, const void *b)
{
	const struct native *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void read_cleaners(const struct heap *heap, const struct class *class, struct natives *natives)
{
	struct cursor cursor;
	cursor_seek(&cursor, heap, class, 0);
	while (cursor_next(&cursor)) {
		struct object cleaner, owner;
		struct native native;
		if (!cursor_object(&cursor, &cleaner) || !read_cleaner(heap, &cleaner, &native, &owner))
			continue;
		natives->list[natives->count++] = native;
		natives->by_class[class_number(heap, owner.class)] += native.bytes;
	}
}

struct natives *natives_open(const struct heap *heap)
{
	const struct class *classes[CLEANER_CLASSES];
	uint64_t most = 0;
	for (size_t i = 0; i < CLEANER_CLASSES; i++) {
		classes[i] = class_by_name(heap, cleaner_classes[i]);
		most += classes[i] ? classes[i]->count : 0;
	}
	struct natives *natives = calloc(1, sizeof *natives);
	if (!natives)
		return NULL;
	natives->list = malloc((most + 1) * sizeof *natives->list);
	natives->by_class = calloc((size_t)heap->class_count + 1, sizeof *natives->by_class);
	if (!natives->list || !natives->by_class) {
		natives_close(natives);
		return NULL;
	}
	for (size_t i = 0; i < CLEANER_CLASSES; i++)
		if (classes[i])
			read_cleaners(heap, classes[i], natives);
	qsort(natives->list, natives->count, sizeof *natives->list, compare_natives);
	size_t kept = 0;
	for (size_t i = 0; i < natives->count; i++)
		if (kept && natives->list[kept - 1].id == natives->list[i].id)
			natives->list[kept - 1].bytes += natives->list[i].bytes;
		else
			natives->list[kept++] = natives->list[i];
	natives->count = kept;
	return natives;
}

void natives_close(struct natives *natives)
{
	if (!natives)
		return;
	free(natives->list);
	free(natives->by_class);
	free(natives);
}

uint64_t natives_of(const struct natives *natives, uint64_t id)
{
	const struct native key = { .id = id };
	const struct native *found =
		natives->count ? bsearch(&key, natives->list, natives->count, sizeof key, compare_natives) : NULL;
	return found ? found->bytes : 0;
}
