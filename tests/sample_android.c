/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An app's heap as `am dumpheap -b png` writes it on Android 15: what a newcomer mounts first. Small, but with
 * one of everything that the tree shows: pictures, a destroyed activity, collections, threads, many rows.
 */
#include "pictures.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 3000
#define BUFFERS 12		/* dumpData has room for more pictures than it holds */

/* --- pictures --- */

enum shape { SHAPE_GRADIENT, SHAPE_DISC, SHAPE_RING, SHAPE_STRIPES, SHAPE_CHECKS };

static void pixel(enum shape shape, int x, int y, int width, int height, uint8_t *rgba)
{
	const int dx = 2 * x - width + 1, dy = 2 * y - height + 1, r2 = dx * dx + dy * dy;
	const int side = width < height ? width : height;
	const uint8_t blend = (uint8_t)(255 * (x + y) / (width + height));
	rgba[0] = blend;
	rgba[1] = (uint8_t)(120 + blend / 4);
	rgba[2] = (uint8_t)(255 - blend);
	rgba[3] = 255;
	if ((shape == SHAPE_DISC || shape == SHAPE_RING) && r2 > side * side)
		rgba[3] = 0;
	if (shape == SHAPE_RING && r2 < side * side / 4)
		rgba[3] = 0;
	if (shape == SHAPE_STRIPES && (x + y) / 8 % 2)
		rgba[0] = rgba[1] = rgba[2] = 240;
	if (shape == SHAPE_CHECKS && (x / 8 + y / 8) % 2)
		rgba[0] = rgba[1] = rgba[2] = 32;
}

static void make_png(struct writer *png, enum shape shape, int width, int height)
{
	uint8_t *rgba = calloc((size_t)width * (size_t)height, 4), *p = rgba;
	if (!rgba)
		abort();
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++, p += 4)
			pixel(shape, x, y, width, height, p);
	writer_init(png, 4);
	put_png(png, (unsigned)width, (unsigned)height, rgba);
	free(rgba);
}

/* --- collections --- */

struct collections {
	uint64_t array_list, hash_map, hash_node, objects, nodes;
};

static void define_collections(struct vm *vm, struct collections *c)
{
	const uint64_t list = vm_define(vm, "java.util.AbstractList", vm->object, "modCount:I");
	c->array_list = vm_define(vm, "java.util.ArrayList", list, "elementData:L size:I");
	const uint64_t map = vm_define(vm, "java.util.AbstractMap", vm->object, "keySet:L values:L");
	c->hash_map = vm_define(vm, "java.util.HashMap", map,
				"table:L entrySet:L size:I modCount:I threshold:I loadFactor:F");
	c->hash_node = vm_define(vm, "java.util.HashMap$Node", vm->object, "key:L value:L next:L hash:I");
	c->objects = vm_define(vm, "java.lang.Object[]", vm->object, "");
	c->nodes = vm_define(vm, "java.util.HashMap$Node[]", vm->object, "");
}

static uint64_t make_list(struct vm *vm, const struct collections *c, uint64_t *elements, uint32_t count,
			  uint32_t capacity)
{
	const uint64_t list = vm_alloc(vm, vm_size(vm, c->array_list));
	vm_new(vm, list, c->array_list, (uint64_t[]){ vm->next, count, count }, 3);
	vm_object_array(vm, c->objects, elements, capacity);
	return list;
}

static uint32_t java_hash(const char *ascii)
{
	uint32_t hash = 0;
	for (; *ascii; ascii++)
		hash = 31 * hash + (uint8_t)*ascii;
	return hash ^ hash >> 16;
}

static uint64_t make_map(struct vm *vm, const struct collections *c, const char *const *keys,
			 const uint64_t *values, uint32_t count)
{
	uint64_t table[16] = { 0 };
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t key = vm_string(vm, keys[i]);
		uint64_t *slot = &table[java_hash(keys[i]) & 15];
		*slot = VM_NEW(vm, c->hash_node, key, values[i], *slot, java_hash(keys[i]));
	}
	const uint64_t map = vm_alloc(vm, vm_size(vm, c->hash_map));
	vm_new(vm, map, c->hash_map, (uint64_t[]){ vm->next, 0, count, count, 12, 0x3f400000 }, 6);
	vm_object_array(vm, c->nodes, table, 16);
	return map;
}

/* --- the app --- */

struct app {
	uint64_t thread, thread_group, activity, row, byte_arrays;
	struct collections collections;
};

static void define_build(struct vm *vm)
{
	const uint64_t fingerprint =
		vm_string(vm, "google/tokay/tokay:15/AP4A.250205.002/12821496:user/release-keys");
	const uint64_t maker = vm_string(vm, "Google"), model = vm_string(vm, "Pixel 9"),
		       release = vm_string(vm, "15");
	const struct member_spec build[] = {
		{ .name = "FINGERPRINT", .type = TYPE_OBJECT, .value = fingerprint },
		{ .name = "MANUFACTURER", .type = TYPE_OBJECT, .value = maker },
		{ .name = "MODEL", .type = TYPE_OBJECT, .value = model },
	};
	const struct member_spec version[] = {
		{ .name = "SDK_INT", .type = TYPE_INT, .value = 35 },
		{ .name = "RELEASE", .type = TYPE_OBJECT, .value = release },
	};
	vm_define_statics(vm, "android.os.Build", vm->object, "", build, 3);
	vm_define_statics(vm, "android.os.Build$VERSION", vm->object, "", version, 2);
	for (unsigned i = 0; i < 3; i++)
		vm_root(vm, ROOT_INTERNED_STRING, build[i].value);
}

static void define_app(struct vm *vm, struct app *app)
{
	define_collections(vm, &app->collections);
	app->thread_group = vm_define(vm, "java.lang.ThreadGroup", vm->object, "parent:L name:L maxPriority:I");
	app->thread = vm_define(vm, "java.lang.Thread", vm->object,
				"name:L group:L target:L nativePeer:J tid:J priority:I daemon:Z");
	const uint64_t context = vm_define(vm, "android.content.Context", vm->object, "");
	const uint64_t wrapper = vm_define(vm, "android.content.ContextWrapper", context, "mBase:L");
	const uint64_t activity = vm_define(vm, "android.app.Activity", wrapper,
					    "mTitle:L mWindow:L mResultCode:I mDestroyed:Z mFinished:Z mResumed:Z");
	app->byte_arrays = vm_define(vm, "byte[][]", vm->object, "");
	vm_heap(vm, 'A', "app", 0x12c00000);
	/* Synthetic: ART shows a class object's inner parts as a static that leads to a byte[]. */
	const uint64_t id = vm_alloc(vm, 256);
	const struct member_spec overhead = { .name = "$classOverhead", .type = TYPE_OBJECT, .value = id | 1 };
	const struct class_spec main_activity = {
		.name = "com.example.app.MainActivity",
		.id = id,
		.super = activity,
		.statics = &overhead,
		.static_count = 1,
		.fields = (struct member_spec[]){ { .name = "rows", .type = TYPE_OBJECT },
						  { .name = "cache", .type = TYPE_OBJECT },
						  { .name = "images", .type = TYPE_OBJECT },
						  { .name = "taps", .type = TYPE_INT } },
		.field_count = 4,
	};
	app->activity = vm_class(vm, &main_activity, true);
	static const uint8_t inner[88];
	sub_primitive_array(&vm->heap, id | 1, TYPE_BYTE, inner, sizeof inner);
	app->row = vm_define(vm, "com.example.app.Row", vm->object, "title:L next:L id:J score:F flags:I");
}

static void make_activity_thread(struct vm *vm)
{
	const uint64_t bind = vm_define(vm, "android.app.ActivityThread$AppBindData", vm->object,
					"processName:L appInfo:L debugMode:I");
	const uint64_t info = vm_define(vm, "android.content.pm.ApplicationInfo", vm->object,
					"packageName:L processName:L longVersionCode:J targetSdkVersion:I");
	const uint64_t name = vm_string(vm, "com.example.app");
	const uint64_t application = VM_NEW(vm, info, name, name, 4100, 35);
	const uint64_t data = VM_NEW(vm, bind, name, application);
	const uint64_t id = vm_alloc(vm, 160), thread = vm_alloc(vm, 24);
	const struct class_spec spec = {
		.name = "android.app.ActivityThread",
		.id = id,
		.super = vm->object,
		.statics = &(struct member_spec){ .name = "sCurrentActivityThread",
						  .type = TYPE_OBJECT,
						  .value = thread },
		.static_count = 1,
		.fields = (struct member_spec[]){ { .name = "mBoundApplication", .type = TYPE_OBJECT },
						  { .name = "mNumVisibleActivities", .type = TYPE_INT } },
		.field_count = 2,
	};
	vm_class(vm, &spec, true);
	vm_new(vm, thread, id, (uint64_t[]){ data, 1 }, 2);
	vm_root(vm, ROOT_JNI_GLOBAL, thread);
	vm_root(vm, ROOT_STICKY_CLASS, id);
}

static void make_threads(struct vm *vm, const struct app *app)
{
	static const char *const names[] = { "main", "Signal Catcher", "FinalizerDaemon", "RenderThread",
					     "OkHttp https://example.com/...", "pool-1-thread-1" };
	const uint64_t group = VM_NEW(vm, app->thread_group, 0, vm_string(vm, "main"), 10);
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		const uint64_t name = vm_string(vm, names[i]);
		const uint64_t thread = VM_NEW(vm, app->thread, name, group, 0, 0x7b40001000 + 0x1000 * i, i + 1,
					       5, i == 1 || i == 2);
		sub_root(&vm->heap, ROOT_THREAD_OBJ, thread, 0, i + 1, UINT32_MAX);
		sub_root(&vm->heap, i % 2 ? ROOT_NATIVE_STACK : ROOT_JAVA_FRAME, name, 0, i + 1, UINT32_MAX);
	}
	sub_root(&vm->heap, ROOT_THREAD_BLOCK, group, 0, 1, 0);
	sub_root(&vm->heap, ROOT_JNI_MONITOR, group, 0, 1, 0);
	vm_root(vm, ROOT_VM_INTERNAL, group);
}

static uint64_t make_rows(struct vm *vm, const struct app *app)
{
	uint64_t rows[ROWS + 200] = { 0 };
	for (uint32_t i = 0; i < ROWS; i++) {
		char title[32];
		snprintf(title, sizeof title, "Row %u", i);
		const float score = (float)i / 4;
		uint32_t bits;
		memcpy(&bits, &score, sizeof bits);
		const uint64_t text = vm_string(vm, title);
		rows[i] = VM_NEW(vm, app->row, text, i ? rows[i - 1] : 0, i + 1, bits, i % 7);
	}
	return make_list(vm, &app->collections, rows, ROWS, ROWS + 200);
}

/* Bitmaps and their pixels. Returns a list of them. */
static uint64_t make_bitmaps(struct vm *vm, const struct app *app)
{
	static const struct {
		enum shape shape;
		int width, height;		/* of the Bitmap */
		int png_width, png_height;	/* of its picture; 0: it has none */
		bool recycled;
	} bitmaps[] = {
		{ SHAPE_DISC, 96, 96, 96, 96, false },	     { SHAPE_GRADIENT, 128, 80, 128, 80, false },
		{ SHAPE_RING, 128, 128, 128, 128, false },   { SHAPE_STRIPES, 64, 32, 64, 32, false },
		{ SHAPE_CHECKS, 48, 48, 48, 48, false },     { SHAPE_DISC, 96, 96, 96, 96, false }, /* as the first */
		{ SHAPE_GRADIENT, 64, 64, 48, 48, false },   /* another picture under its pointer */
		{ SHAPE_GRADIENT, 720, 1280, 0, 0, true },   { SHAPE_GRADIENT, 300, 200, 0, 0, false },
	};
	enum { COUNT = sizeof bitmaps / sizeof *bitmaps };
	const uint64_t dump_class = vm_define(vm, "android.graphics.Bitmap$DumpData", vm->object,
					      "buffers:L natives:L count:I format:I");
	const uint64_t id = vm_alloc(vm, 192), dump = vm_alloc(vm, vm_size(vm, dump_class));
	static const struct member_spec fields[] = {
		{ .name = "mColorSpace", .type = TYPE_OBJECT },
		{ .name = "mGainmap", .type = TYPE_OBJECT },
		{ .name = "mHardwareBuffer", .type = TYPE_OBJECT },
		{ .name = "mNinePatchChunk", .type = TYPE_OBJECT },
		{ .name = "mNativePtr", .type = TYPE_LONG },
		{ .name = "mId", .type = TYPE_LONG },
		{ .name = "mDensity", .type = TYPE_INT },
		{ .name = "mHeight", .type = TYPE_INT },
		{ .name = "mWidth", .type = TYPE_INT },
		{ .name = "mRecycled", .type = TYPE_BOOLEAN },
		{ .name = "mRequestPremultiplied", .type = TYPE_BOOLEAN },
	};
	const struct class_spec spec = {
		.name = "android.graphics.Bitmap", .id = id, .super = vm->object, .fields = fields,
		.field_count = sizeof fields / sizeof *fields,
		.statics = &(struct member_spec){ .name = "dumpData", .type = TYPE_OBJECT, .value = dump },
		.static_count = 1,
	};
	vm_class(vm, &spec, true);
	uint64_t objects[COUNT + 1], buffers[BUFFERS] = { 0 };
	struct writer natives;
	uint32_t count = 0;
	writer_init(&natives, 8);
	for (unsigned i = 0; i < COUNT; i++) {
		const uint64_t pointer = UINT64_C(0xb400007b3c00a010) + 0x80 * i;
		objects[i] = VM_NEW(vm, id, 0, 0, 0, 0, pointer, UINT64_C(48210000000) + 1000000 + i, 420, (uint64_t)bitmaps[i].height,
				    (uint64_t)bitmaps[i].width, bitmaps[i].recycled, true);
		if (!bitmaps[i].png_width)
			continue;
		struct writer png;
		make_png(&png, bitmaps[i].shape, bitmaps[i].png_width, bitmaps[i].png_height);
		buffers[count++] = vm_primitive_array(vm, TYPE_BYTE, png.data, (uint32_t)png.len);
		put_u8(&natives, pointer);
		writer_free(&png);
	}
	/* A picture whose Bitmap is gone. */
	struct writer png;
	make_png(&png, SHAPE_CHECKS, 32, 32);
	buffers[count++] = vm_primitive_array(vm, TYPE_BYTE, png.data, (uint32_t)png.len);
	put_u8(&natives, UINT64_C(0xb400007b3cffff10));
	writer_free(&png);
	put_zeros(&natives, 8 * (BUFFERS - count));
	const uint64_t natives_id = vm_primitive_array(vm, TYPE_LONG, natives.data, BUFFERS);
	const uint64_t buffers_id = vm_object_array(vm, app->byte_arrays, buffers, BUFFERS);
	vm_new(vm, dump, dump_class, (uint64_t[]){ buffers_id, natives_id, count, 1 }, 4);
	writer_free(&natives);
	vm_root(vm, ROOT_STICKY_CLASS, id);
	objects[COUNT] = 0;
	return make_list(vm, &app->collections, objects, COUNT, COUNT + 1);
}

void sample_android(struct writer *out)
{
	struct vm vm;
	struct app app;
	writer_init(out, 4);
	vm_init(&vm, VM_ART, 4);
	vm_root(&vm, ROOT_STICKY_CLASS, vm.string);
	vm_heap(&vm, 'Z', "zygote", 0x6f800000);
	define_build(&vm);
	define_app(&vm, &app);
	make_activity_thread(&vm);
	make_threads(&vm, &app);
	const uint64_t rows = make_rows(&vm, &app);
	const uint64_t images = make_bitmaps(&vm, &app);
	static const char *const keys[] = { "user", "theme", "locale", "last\topened" };
	static const char *const texts[] = { "Zo\xc3\xab \xf0\x9f\x98\x80", "dark", "de-DE", "" };
	uint64_t values[4];
	for (unsigned i = 0; i < 4; i++)
		values[i] = vm_string(&vm, texts[i]);
	const uint64_t cache = make_map(&vm, &app.collections, keys, values, 4);
	const uint64_t title = vm_string(&vm, "Inbox (3)");
	/* A destroyed activity that a static still holds: the leak to find. */
	const uint64_t gone = VM_NEW(&vm, app.activity, rows, cache, images, 17, title, 0, 0, true, true, false);
	const uint64_t live = VM_NEW(&vm, app.activity, 0, cache, images, 3, title, 0, 0, false, false, true);
	const struct member_spec last = { .name = "lastActivity", .type = TYPE_OBJECT, .value = gone };
	const uint64_t holder = vm_define_statics(&vm, "com.example.app.Tracker", vm.object, "", &last, 1);
	vm_root(&vm, ROOT_STICKY_CLASS, holder);
	vm_root(&vm, ROOT_JNI_GLOBAL, live);
	sub_root(&vm.heap, ROOT_JNI_LOCAL, live, 0, 1, 0);
	vm_root(&vm, ROOT_DEBUGGER, rows);
	vm_root(&vm, ROOT_UNKNOWN, cache);
	vm_finish(&vm, "JAVA PROFILE 1.0.3", out);
}
