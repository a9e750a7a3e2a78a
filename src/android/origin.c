/* SPDX-License-Identifier: Apache-2.0 */
#include "android/origin.h"

const char *const origin_keys[ORIGIN_STRINGS] = { "build fingerprint", "manufacturer", "model", "process", "package" };

static bool field_string(const struct heap *heap, const struct object *object, const char *name, struct string *string)
{
	struct object value;
	return object_field(heap, object, name, &value) && heap_string(heap, &value, string);
}

/* A number in an instance, int or long; 0 if it has none. */
static uint64_t field_number(const struct heap *heap, const struct object *object, const char *name, uint8_t type)
{
	const int32_t at = object->kind == OBJECT_INSTANCE ? field_offset(heap, object->class, name, type) : -1;
	if (at < 0 || (uint64_t)at + type_width(type, heap->id_width) > object->data_len)
		return 0;
	return type == TYPE_LONG ? be64(object->data + at) : be32(object->data + at);
}

/*
 * ActivityThread.sCurrentActivityThread.mBoundApplication has the process's name and the application's
 * ApplicationInfo. That has a processName too, which is the application's, not the process's. Its version is an
 * int up to API 27, a long from 28 on.
 */
static void find_application(const struct heap *heap, struct origin *origin)
{
	struct static_walk found;
	struct object bound, info;
	const struct class *class = class_by_name(heap, "android.app.ActivityThread");
	if (!class || !class_static(heap, class, "sCurrentActivityThread", &found) || found.type != TYPE_OBJECT ||
	    !heap_find(heap, read_id(found.value, heap->id_width), &bound) ||
	    !object_field(heap, &bound, "mBoundApplication", &bound))
		return;
	origin->known[ORIGIN_PROCESS] = field_string(heap, &bound, "processName", &origin->strings[ORIGIN_PROCESS]);
	if (!object_field(heap, &bound, "appInfo", &info))
		return;
	origin->known[ORIGIN_PACKAGE] = field_string(heap, &info, "packageName", &origin->strings[ORIGIN_PACKAGE]);
	origin->version = field_number(heap, &info, "longVersionCode", TYPE_LONG);
	if (!origin->version)
		origin->version = field_number(heap, &info, "versionCode", TYPE_INT);
}

void origin_of(const struct heap *heap, struct origin *origin)
{
	static const char *const fields[] = { "FINGERPRINT", "MANUFACTURER", "MODEL" };
	struct static_walk found;
	*origin = (struct origin){ .sdk = 0 };
	const struct class *version = class_by_name(heap, "android.os.Build$VERSION");
	if (version && class_static(heap, version, "SDK_INT", &found) && found.type == TYPE_INT)
		origin->sdk = be32(found.value);
	const struct class *build = class_by_name(heap, "android.os.Build");
	for (unsigned i = 0; build && i < ORIGIN_PROCESS; i++)
		origin->known[i] = class_string(heap, build, fields[i], &origin->strings[i]);
	find_application(heap, origin);
}
