/* SPDX-License-Identifier: Apache-2.0 */
#include "android/origin.h"

const char *const origin_keys[ORIGIN_STRINGS] = { "build fingerprint", "manufacturer", "model", "process" };

/*
 * ActivityThread.sCurrentActivityThread.mBoundApplication.processName. ApplicationInfo has a processName too,
 * but that is the application's, not the process's.
 */
static bool find_process(const struct heap *heap, struct string *name)
{
	struct static_walk found;
	struct object object;
	const struct class *class = class_by_name(heap, "android.app.ActivityThread");
	return class && class_static(heap, class, "sCurrentActivityThread", &found) && found.type == TYPE_OBJECT &&
	       heap_find(heap, read_id(found.value, heap->id_width), &object) &&
	       object_field(heap, &object, "mBoundApplication", &object) &&
	       object_field(heap, &object, "processName", &object) && heap_string(heap, &object, name);
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
	origin->known[ORIGIN_PROCESS] = find_process(heap, &origin->strings[ORIGIN_PROCESS]);
}
