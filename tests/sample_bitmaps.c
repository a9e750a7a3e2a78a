/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bitmaps of every era of Android, as its dumps hold them: with pixels in mBuffer, with compressed pictures in
 * dumpData, with neither; and what can be wrong with each. What heapfs must say of them is in
 * tests/bitmaps.expected.
 */
#include "pictures.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#define TAGGED UINT64_C(0xb400007b3c00a000)
#define UNKNOWN_ID 0x66660000 /* of no object */
#define PROCESS UINT64_C(48210000000) /* mId: process 4821, */
#define HEAP 1000000 /* and where its pixels are */
#define ASHMEM 2000000
#define HARDWARE 3000000
#define OTHER_PROCESS UINT64_C(9110000000)
#define RECEIVED (OTHER_PROCESS + ASHMEM + 5)

/* What mBuffer is, beside a byte[] of this length. */
enum { BUFFER_NULL = 0, BUFFER_ABSENT = -1, BUFFER_WITHOUT_DATA = -2, BUFFER_INTS = -3, BUFFER_AS_BEFORE = -4 };

struct bitmap_spec {
	uint64_t pointer;
	int width, height;
	int buffer;		/* its length, or one of the above */
	unsigned seed;		/* equal seeds are equal pixels */
	bool recycled, straight;
	uint64_t id, source;	/* mId and mSourceId */
};
#define BITMAP(p, w, h, ...) { .pointer = (p), .width = (w), .height = (h), __VA_ARGS__ }
#define PIXELS(p, w, h, len, s, ...) BITMAP(p, w, h, .buffer = (len), .seed = (s), __VA_ARGS__)

/* What a picture's bytes are, beside a whole one. */
enum { ALL_BYTES = 0, BYTES_ABSENT = -1, BYTES_NULL = -2, BYTES_INTS = -3, BYTES_JUNK = -4, BYTES_NONE = -5,
       BYTES_SOI_EOI = -6 };

struct picture_spec {
	uint64_t pointer;
	enum picture_form form;
	unsigned width, height, seed;
	int cut;		/* bytes that are missing at its end, or one of the above */
	unsigned room;		/* bytes of the array behind the picture, where there is `sizes` */
};
#define PICTURE(p, f, w, h, s, ...) { .pointer = (p), .form = (f), .width = (w), .height = (h), .seed = (s), __VA_ARGS__ }

struct era {
	uint32_t sdk;
	const char *fields;
	enum { NO_DUMP_DATA, NULL_DUMP_DATA, DUMP_DATA, SIZED_DUMP_DATA } dump_data;
	const struct bitmap_spec *bitmaps;
	unsigned bitmap_count;
	const struct picture_spec *pictures;
	unsigned picture_count;
};

static const char fields_10[] = "mNinePatchChunk:L mDensity:I mHeight:I mNativeBitmap:I mWidth:I mRecycled:Z";
static const char fields_16[] = "mBuffer:L mFinalizer:L mNinePatchChunk:L mDensity:I mHeight:I mNativeBitmap:I mWidth:I "
				"mIsMutable:Z mRecycled:Z";
static const char fields_19[] = "mBuffer:L mFinalizer:L mLayoutBounds:L mNinePatchChunk:L mDensity:I mHeight:I "
				"mNativeBitmap:I mWidth:I mIsMutable:Z mIsPremultiplied:Z mRecycled:Z";
static const char fields_22[] = "mBuffer:L mFinalizer:L mNinePatchChunk:L mNinePatchInsets:L mNativeBitmap:J mDensity:I "
				"mHeight:I mWidth:I mIsMutable:Z mRecycled:Z mRequestPremultiplied:Z";
static const char fields_24[] = "mBuffer:L mNinePatchChunk:L mNinePatchInsets:L mNativePtr:J mDensity:I mHeight:I "
				"mWidth:I mIsMutable:Z mRecycled:Z mRequestPremultiplied:Z";
static const char fields_28[] = "mColorSpace:L mNinePatchChunk:L mNinePatchInsets:L mNativePtr:J mDensity:I mHeight:I "
				"mWidth:I mIsMutable:Z mRecycled:Z mRequestPremultiplied:Z";
static const char fields_35[] = "mColorSpace:L mGainmap:L mHardwareBuffer:L mNinePatchChunk:L mId:J mNativePtr:J "
				"mDensity:I mHeight:I mWidth:I mRecycled:Z mRequestPremultiplied:Z";
static const char fields_36[] = "mColorSpace:L mGainmap:L mHardwareBuffer:L mNinePatchChunk:L mId:J mNativePtr:J "
				"mSourceId:J mDensity:I mHeight:I mWidth:I mRecycled:Z mRequestPremultiplied:Z";
/* No Android has both; what is known of one source must not hide the other. */
static const char fields_mixed[] = "mBuffer:L mNativePtr:J mHeight:I mWidth:I mRecycled:Z mRequestPremultiplied:Z";

/* --- what is in them --- */

/* mBuffer: each layout, and what is none. Pointers have the top bit of 32 set, as on a device. */
static const struct bitmap_spec buffers[] = {
	PIXELS(0xb8dc2560, 44, 64, 44 * 64 * 4, 1),
	PIXELS(0xb8dc2600, 16, 16, 16 * 16 * 2, 2),
	PIXELS(0xb8dc26a0, 33, 7, 33 * 7, 3),
	PIXELS(0xb8dc2740, 1, 1, 4, 4),
	PIXELS(0xb8dc27e0, 1, 16384, 16384 * 4, 5),
	PIXELS(0xb8dc2880, 16384, 1, 16384 * 2, 6),
	PIXELS(0xb8dc2920, 10, 10, 450, 7),		/* larger than needed: guessed */
	PIXELS(0xb8dc29c0, 10, 10, 150, 8),
	PIXELS(0xb8dc2a60, 10, 10, 300, 9),		/* 3 bytes a pixel */
	PIXELS(0xb8dc2b00, 10, 10, 800, 10),	/* 8 */
	PIXELS(0xb8dc2ba0, 10, 10, 99, 11),
	PIXELS(0xb8dc2c40, 10, 10, BUFFER_NULL, 0),
	PIXELS(0xb8dc2ce0, 10, 10, BUFFER_ABSENT, 0),
	PIXELS(0xb8dc2d80, 10, 10, BUFFER_WITHOUT_DATA, 0),
	PIXELS(0xb8dc2e20, 10, 10, BUFFER_INTS, 0),
	PIXELS(0xb8dc2ec0, 20, 20, 1600, 16, .recycled = true),
	PIXELS(0xb8dc2f60, 21, 20, BUFFER_NULL, 0, .recycled = true),
	PIXELS(0xb8dc3000, 0, 9, 36, 18),
	PIXELS(0xb8dc30a0, -5, 7, 140, 19),
	PIXELS(0xb8dc3140, 7, INT32_MIN, 140, 19),
	PIXELS(0x10000040, 5, 6, 120, 20),		/* two of one pointer */
	PIXELS(0x10000040, 6, 5, 120, 21),
	PIXELS(0, 8, 3, 96, 22),			/* two of none */
	PIXELS(0, 3, 8, 96, 23),
	PIXELS(0xb8dc31e0, 12, 12, 576, 24),	/* equal pixels: a duplicate */
	PIXELS(0xb8dc3280, 12, 12, 576, 24),
	PIXELS(0xb8dc3320, 12, 12, BUFFER_AS_BEFORE, 0), /* the same pixels: none */
	PIXELS(0xb8dc33c0, 12, 12, 576, 24, .straight = true), /* where there is a flag, other pixels */
};

/* dumpData: each form, and what is none. */
static const struct bitmap_spec dumped[] = {
	BITMAP(TAGGED + 0x010, 20, 10, .id = PROCESS + HEAP + 1),
	BITMAP(TAGGED + 0x090, 24, 16, .id = PROCESS + HARDWARE + 2),
	BITMAP(TAGGED + 0x110, 30, 20, .id = PROCESS + 3),
	BITMAP(TAGGED + 0x190, 17, 9, .id = PROCESS + ASHMEM + 4),
	BITMAP(TAGGED + 0x210, 32, 16, .id = PROCESS + 7000000),	/* no storage */
	BITMAP(TAGGED + 0x290, 12, 13, .id = 1000001),		/* no process */
	BITMAP(TAGGED + 0x310, 40, 30),
	BITMAP(TAGGED + 0x390, 9, 5),
	BITMAP(TAGGED + 0x410, 64, 64),		/* mismatch */
	BITMAP(TAGGED + 0x490, 65, 64),
	BITMAP(TAGGED + 0x510, 66, 64),
	BITMAP(TAGGED + 0x590, 50, 50),		/* truncated */
	BITMAP(TAGGED + 0x610, 51, 50),
	BITMAP(TAGGED + 0x690, 52, 50),
	BITMAP(TAGGED + 0x710, 53, 50),
	BITMAP(TAGGED + 0x790, 54, 50),		/* no pictures */
	BITMAP(TAGGED + 0x810, 55, 50),
	BITMAP(TAGGED + 0x890, 56, 50),
	BITMAP(TAGGED + 0x910, 57, 50, .recycled = true),	/* with bytes for the pointer */
	BITMAP(TAGGED + 0x990, 0, 50),
	BITMAP(TAGGED + 0xa10, 58, 50, .recycled = true),
	BITMAP(TAGGED + 0xa90, 59, 50),		/* without */
	BITMAP(TAGGED + 0xb10, 31, 31),		/* two pictures, of which the first fits */
	BITMAP(TAGGED + 0xb90, 33, 31),		/* two that fit */
	BITMAP(TAGGED + 0xc10, 34, 31),		/* one pointer, of which one fits */
	BITMAP(TAGGED + 0xc10, 35, 31),
	BITMAP(TAGGED + 0xc90, 36, 31),		/* one pointer, of which both fit */
	BITMAP(TAGGED + 0xc90, 36, 31),
	BITMAP(0, 37, 31),				/* a picture for pointer 0 */
	BITMAP(UINT64_MAX, 38, 31),
	BITMAP(TAGGED + 0xd10, 1, 1),
	BITMAP(TAGGED + 0xd90, 60, 50),		/* bytes that are not there */
	BITMAP(TAGGED + 0xe10, 61, 50),
};

static const struct picture_spec dumped_pictures[] = {
	PICTURE(TAGGED + 0x010, FORM_PNG, 20, 10, 1),
	PICTURE(TAGGED + 0x090, FORM_JPEG, 24, 16, 2),
	PICTURE(TAGGED + 0x110, FORM_JPEG_EXIF, 30, 20, 3),
	PICTURE(TAGGED + 0x190, FORM_JPEG_PROGRESSIVE, 17, 9, 4),
	PICTURE(TAGGED + 0x210, FORM_VP8, 32, 16, 5),
	PICTURE(TAGGED + 0x290, FORM_VP8L, 12, 13, 6),
	PICTURE(TAGGED + 0x310, FORM_VP8X, 40, 30, 7),
	PICTURE(TAGGED + 0x390, FORM_VP8L_LEAST, 9, 5, 0),
	PICTURE(TAGGED + 0x410, FORM_PNG, 48, 48, 8),
	PICTURE(TAGGED + 0x490, FORM_JPEG_EXIF, 64, 65, 9),
	PICTURE(TAGGED + 0x510, FORM_VP8, 33, 32, 10),
	PICTURE(TAGGED + 0x590, FORM_PNG, 50, 50, 11, .cut = 5),
	PICTURE(TAGGED + 0x610, FORM_JPEG, 51, 50, 12, .cut = 2),
	PICTURE(TAGGED + 0x690, FORM_VP8, 52, 50, 13, .cut = 4),
	PICTURE(TAGGED + 0x710, FORM_VP8L_LEAST, 53, 50, 0, .cut = 7), /* right before its size */
	{ .pointer = TAGGED + 0x790, .cut = BYTES_JUNK },
	{ .pointer = TAGGED + 0x810, .cut = BYTES_NONE },
	{ .pointer = TAGGED + 0x890, .cut = BYTES_SOI_EOI },
	PICTURE(TAGGED + 0x910, FORM_PNG, 57, 50, 14),
	PICTURE(TAGGED + 0x990, FORM_PNG, 49, 50, 15),
	PICTURE(TAGGED + 0xb10, FORM_PNG, 31, 31, 16),
	PICTURE(TAGGED + 0xb10, FORM_JPEG, 13, 13, 17),
	PICTURE(TAGGED + 0xb90, FORM_PNG, 33, 31, 18),
	PICTURE(TAGGED + 0xb90, FORM_VP8L, 33, 31, 19),
	PICTURE(TAGGED + 0xc10, FORM_PNG, 34, 31, 20),
	PICTURE(TAGGED + 0xc90, FORM_PNG, 36, 31, 21),
	PICTURE(0, FORM_PNG, 37, 31, 22),
	PICTURE(UINT64_MAX, FORM_PNG, 38, 31, 23),
	PICTURE(TAGGED + 0xd10, FORM_PNG, 1, 1, 24),
	{ .pointer = TAGGED + 0xd90, .cut = BYTES_ABSENT },
	{ .pointer = TAGGED + 0xe10, .cut = BYTES_INTS },
	{ .pointer = TAGGED + 0xe10, .cut = BYTES_NULL },
	PICTURE(TAGGED + 0xf10, FORM_PNG, 32, 32, 25),		/* orphans */
	PICTURE(TAGGED + 0xf90, FORM_JPEG, 32, 32, 26),
	PICTURE(TAGGED + 0xf90, FORM_VP8, 32, 32, 27),
	{ .pointer = TAGGED + 0xf90, .cut = BYTES_JUNK },
};

/* mId and mSourceId: which of equal pictures are copies. */
static const struct bitmap_spec stored[] = {
	BITMAP(TAGGED + 0x010, 40, 40, .id = PROCESS + HEAP + 1, .source = UINT64_MAX),	/* copies */
	BITMAP(TAGGED + 0x090, 40, 40, .id = PROCESS + HEAP + 2, .source = UINT64_MAX),
	BITMAP(TAGGED + 0x110, 40, 40, .id = PROCESS + HEAP + 3, .source = RECEIVED),	/* copied out of what came */
	BITMAP(TAGGED + 0x190, 30, 30, .id = PROCESS + ASHMEM + 4, .source = RECEIVED),	/* received twice: one */
	BITMAP(TAGGED + 0x210, 30, 30, .id = PROCESS + ASHMEM + 5, .source = RECEIVED),
	BITMAP(TAGGED + 0x290, 20, 20, .id = PROCESS + ASHMEM + 6, .source = UINT64_MAX),	/* sent to itself: one */
	BITMAP(TAGGED + 0x310, 20, 20, .id = PROCESS + ASHMEM + 7, .source = PROCESS + ASHMEM + 6),
	BITMAP(TAGGED + 0x390, 10, 10, .id = PROCESS + ASHMEM + 8, .source = UINT64_MAX),	/* each its own */
	BITMAP(TAGGED + 0x410, 10, 10, .id = PROCESS + ASHMEM + 9, .source = UINT64_MAX),
	BITMAP(TAGGED + 0x490, 50, 10, .id = PROCESS + HARDWARE + 10, .source = OTHER_PROCESS + HARDWARE + 1),
	BITMAP(TAGGED + 0x510, 51, 10, .id = PROCESS + 11, .source = 12),			/* wrapped; no source */
	BITMAP(TAGGED + 0x590, 52, 10, .id = UINT64_MAX, .source = UINT64_MAX),
};

/* Rooms and lengths: with `sizes` a picture may be shorter than its array. */
static const struct picture_spec stored_pictures[] = {
	PICTURE(TAGGED + 0x010, FORM_PNG, 40, 40, 1),
	PICTURE(TAGGED + 0x090, FORM_PNG, 40, 40, 1),
	PICTURE(TAGGED + 0x110, FORM_PNG, 40, 40, 1, .room = 500),
	PICTURE(TAGGED + 0x190, FORM_PNG, 30, 30, 2),
	PICTURE(TAGGED + 0x210, FORM_PNG, 30, 30, 2),
	PICTURE(TAGGED + 0x290, FORM_JPEG, 20, 20, 3, .room = 1),
	PICTURE(TAGGED + 0x310, FORM_JPEG, 20, 20, 3),
	PICTURE(TAGGED + 0x390, FORM_VP8L, 10, 10, 4, .room = 100),
	PICTURE(TAGGED + 0x410, FORM_VP8L, 10, 10, 4),
	PICTURE(TAGGED + 0x490, FORM_PNG, 50, 10, 5),
	PICTURE(TAGGED + 0x510, FORM_PNG, 51, 10, 6),
	PICTURE(TAGGED + 0x590, FORM_JPEG, 52, 10, 7, .cut = 1, .room = 30),
};

/* A refused picture does not stop the next source. */
static const struct bitmap_spec mixed[] = {
	PIXELS(TAGGED + 0x010, 20, 10, 800, 1),	/* the picture goes first */
	PIXELS(TAGGED + 0x090, 20, 11, 880, 2),	/* it is refused */
	PIXELS(TAGGED + 0x110, 20, 12, BUFFER_NULL, 0),
	PIXELS(TAGGED + 0x190, 20, 13, BUFFER_NULL, 0),	/* there is none */
	PIXELS(TAGGED + 0x210, 20, 14, 1120, 3, .recycled = true),
	PIXELS(TAGGED + 0x290, 20, 15, 1200, 4, .straight = true),
	PIXELS(0, 20, 16, 1280, 5),		/* the only one of no pointer */
};
static const struct picture_spec mixed_pictures[] = {
	PICTURE(TAGGED + 0x010, FORM_PNG, 20, 10, 1),
	PICTURE(TAGGED + 0x090, FORM_PNG, 11, 20, 2),
	PICTURE(TAGGED + 0x110, FORM_JPEG, 12, 20, 3),
	PICTURE(TAGGED + 0x210, FORM_JPEG, 20, 14, 4),
};

static const struct bitmap_spec recycled[] = {
	PIXELS(0xb8dc2560, 44, 64, BUFFER_NULL, 0, .recycled = true),
	PIXELS(0xb8dc2600, 44, 64, 44 * 64 * 4, 1, .recycled = true),
};
static const struct bitmap_spec refused[] = { BITMAP(TAGGED, 20, 20) };
static const struct picture_spec refused_pictures[] = { PICTURE(TAGGED, FORM_PNG, 10, 10, 1) };

/* Each of many pages, to see which are looked at. */
static const struct bitmap_spec large[] = {
	PIXELS(TAGGED + 0x010, 300, 300, 360000, 1),
	PIXELS(TAGGED + 0x090, 400, 400, 320000, 2),
	PIXELS(TAGGED + 0x110, 500, 500, 250000, 3),
	PIXELS(TAGGED + 0x190, 301, 300, 361200, 4, .recycled = true),
	BITMAP(TAGGED + 0x210, 200, 200),
	BITMAP(TAGGED + 0x290, 30, 20),
	BITMAP(TAGGED + 0x310, 640, 480),
	BITMAP(TAGGED + 0x390, 201, 200),
};
static const struct picture_spec large_pictures[] = {
	PICTURE(TAGGED + 0x210, FORM_PNG, 200, 200, 5),
	PICTURE(TAGGED + 0x290, FORM_JPEG_EXIF, 30, 20, 6),
	PICTURE(TAGGED + 0x310, FORM_VP8, 640, 480, 7),
	PICTURE(TAGGED + 0x390, FORM_PNG, 200, 201, 8),		/* refused */
	PICTURE(TAGGED + 0x410, FORM_PNG, 200, 200, 9),		/* an orphan */
};

/* --- writing them --- */

/* A field's value; `buffer` is mBuffer's id. */
static uint64_t field_value(const char *name, size_t len, const struct bitmap_spec *bitmap, uint64_t buffer)
{
	const struct {
		const char *name;
		uint64_t value;
	} values[] = {
		{ "mNativePtr", bitmap->pointer }, { "mNativeBitmap", bitmap->pointer },
		{ "mWidth", (uint64_t)bitmap->width }, { "mHeight", (uint64_t)bitmap->height },
		{ "mRecycled", bitmap->recycled }, { "mBuffer", buffer }, { "mDensity", 320 },
		{ "mIsPremultiplied", !bitmap->straight }, { "mRequestPremultiplied", !bitmap->straight },
		{ "mId", bitmap->id }, { "mSourceId", bitmap->source },
	};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (strlen(values[i].name) == len && !memcmp(values[i].name, name, len))
			return values[i].value;
	return 0;
}

static uint64_t make_buffer(struct vm *vm, const struct bitmap_spec *bitmap, uint64_t before)
{
	switch (bitmap->buffer) {
	case BUFFER_NULL:
		return 0;
	case BUFFER_ABSENT:
		return UNKNOWN_ID;
	case BUFFER_AS_BEFORE:
		return before;
	case BUFFER_INTS:
		return vm_primitive_array(vm, TYPE_INT, NULL, 100);
	case BUFFER_WITHOUT_DATA:
		before = vm_alloc(vm, 416);
		sub_array_nodata(&vm->heap, before, TYPE_BYTE, 400);
		return before;
	default:
		break;
	}
	uint8_t *data = malloc((size_t)bitmap->buffer);
	if (!data)
		abort();
	fill_pixels(data, (size_t)bitmap->buffer, bitmap->seed);
	const uint64_t id = vm_primitive_array(vm, TYPE_BYTE, data, (uint32_t)bitmap->buffer);
	free(data);
	return id;
}

static void make_bitmap(struct vm *vm, const struct era *era, uint64_t class, const struct bitmap_spec *bitmap,
			uint64_t buffer)
{
	uint64_t values[16];
	unsigned count = 0;
	for (const char *p = era->fields; *p;) {
		const size_t len = strcspn(p, ":");
		values[count++] = field_value(p, len, bitmap, buffer);
		p += len + 2;
		p += *p == ' ';
	}
	vm_new(vm, 0, class, values, count);
}

/* The byte[] of a picture; its true size goes to `size`. */
static uint64_t make_picture(struct vm *vm, const struct picture_spec *picture, uint32_t *size)
{
	struct writer bytes;
	*size = 0;
	if (picture->cut == BYTES_NULL)
		return 0;
	if (picture->cut == BYTES_ABSENT)
		return UNKNOWN_ID;
	if (picture->cut == BYTES_INTS)
		return vm_primitive_array(vm, TYPE_INT, NULL, 10);
	writer_init(&bytes, 4);
	if (picture->cut == BYTES_JUNK)
		put_bytes(&bytes, "GIF89a, which Android does not make", 35);
	else if (picture->cut == BYTES_SOI_EOI)
		put_bytes(&bytes, "\xff\xd8\xff\xd9", 4);
	else if (picture->cut >= 0)
		put_picture(&bytes, picture->form, picture->width, picture->height, picture->seed);
	bytes.len -= picture->cut > 0 ? (size_t)picture->cut : 0;
	*size = (uint32_t)bytes.len;
	put_zeros(&bytes, picture->room);
	const uint64_t id = vm_primitive_array(vm, TYPE_BYTE, bytes.data, (uint32_t)bytes.len);
	writer_free(&bytes);
	return id;
}

/* `count` says more than the arrays hold, which have room for more than there is. */
static void make_dump_data(struct vm *vm, const struct era *era, uint64_t id, uint64_t class)
{
	const uint32_t room = era->picture_count + 3;
	const uint64_t arrays = vm_define(vm, "byte[][]", vm->object, "");
	uint64_t *buffer_ids = calloc(room, sizeof *buffer_ids);
	struct writer natives, sizes;
	uint32_t size;
	if (!buffer_ids)
		abort();
	writer_init(&natives, 8);
	writer_init(&sizes, 8);
	for (unsigned i = 0; i < era->picture_count; i++) {
		buffer_ids[i] = make_picture(vm, &era->pictures[i], &size);
		put_u8(&natives, era->pictures[i].pointer);
		put_u4(&sizes, size);
	}
	put_zeros(&natives, 8 * (size_t)(room - era->picture_count));
	put_zeros(&sizes, 4 * (size_t)(room - era->picture_count));
	const uint64_t natives_id = vm_primitive_array(vm, TYPE_LONG, natives.data, room);
	const uint64_t buffers_id = vm_object_array(vm, arrays, buffer_ids, room - 1);
	const uint64_t sizes_id =
		era->dump_data == SIZED_DUMP_DATA ? vm_primitive_array(vm, TYPE_INT, sizes.data, room) : 0;
	vm_new(vm, id, class, (uint64_t[]){ buffers_id, natives_id, 1000, 1, room, sizes_id }, 6);
	writer_free(&natives);
	writer_free(&sizes);
	free(buffer_ids);
}

static void make_era(struct writer *out, const struct era *era)
{
	struct vm vm;
	writer_init(out, 4);
	vm_init(&vm, VM_ART, 4);
	const struct member_spec sdk = { .name = "SDK_INT", .type = TYPE_INT, .value = era->sdk };
	vm_define_statics(&vm, "android.os.Build$VERSION", vm.object, "", &sdk, 1);
	vm_heap(&vm, 'A', "app", 0x12c00000);
	const uint64_t data_class = era->dump_data < DUMP_DATA ? 0 :
		vm_define(&vm, "android.graphics.Bitmap$DumpData", vm.object,
			  era->dump_data == SIZED_DUMP_DATA ? "buffers:L natives:L count:I format:I max:I sizes:L" :
							      "buffers:L natives:L count:I format:I max:I");
	const uint64_t data = data_class ? vm_alloc(&vm, vm_size(&vm, data_class)) : 0;
	const struct member_spec statics[] = { { .name = "dumpData", .type = TYPE_OBJECT, .value = data } };
	const uint64_t class = vm_define_statics(&vm, "android.graphics.Bitmap", vm.object, era->fields, statics,
						 era->dump_data != NO_DUMP_DATA);
	vm_root(&vm, ROOT_STICKY_CLASS, class);
	uint64_t buffer = 0;
	for (unsigned i = 0; i < era->bitmap_count; i++) {
		buffer = make_buffer(&vm, &era->bitmaps[i], buffer);
		make_bitmap(&vm, era, class, &era->bitmaps[i], buffer);
	}
	if (data)
		make_dump_data(&vm, era, data, data_class);
	vm_finish(&vm, "JAVA PROFILE 1.0.3", out);
}

#define LIST(list) list, sizeof list / sizeof *list

void sample_bitmaps_10(struct writer *out)
{
	make_era(out, &(struct era){ 10, fields_10, NO_DUMP_DATA, LIST(buffers), NULL, 0 });
}

void sample_bitmaps_16(struct writer *out)
{
	make_era(out, &(struct era){ 16, fields_16, NO_DUMP_DATA, LIST(buffers), NULL, 0 });
}

void sample_bitmaps_19(struct writer *out)
{
	make_era(out, &(struct era){ 19, fields_19, NO_DUMP_DATA, LIST(buffers), NULL, 0 });
}

void sample_bitmaps_22(struct writer *out)
{
	make_era(out, &(struct era){ 22, fields_22, NO_DUMP_DATA, LIST(buffers), NULL, 0 });
}

void sample_bitmaps_24(struct writer *out)
{
	make_era(out, &(struct era){ 24, fields_24, NO_DUMP_DATA, LIST(buffers), NULL, 0 });
}

void sample_bitmaps_28(struct writer *out)
{
	make_era(out, &(struct era){ 28, fields_28, NO_DUMP_DATA, LIST(dumped), NULL, 0 });
}

void sample_bitmaps_35(struct writer *out)
{
	make_era(out, &(struct era){ 35, fields_35, DUMP_DATA, LIST(dumped), LIST(dumped_pictures) });
}

void sample_bitmaps_35_without(struct writer *out)
{
	make_era(out, &(struct era){ 35, fields_35, NULL_DUMP_DATA, LIST(dumped), NULL, 0 });
}

void sample_bitmaps_36(struct writer *out)
{
	make_era(out, &(struct era){ 36, fields_36, SIZED_DUMP_DATA, LIST(stored), LIST(stored_pictures) });
}

void sample_bitmaps_mixed(struct writer *out)
{
	make_era(out, &(struct era){ 35, fields_mixed, DUMP_DATA, LIST(mixed), LIST(mixed_pictures) });
}

void sample_bitmaps_large(struct writer *out)
{
	make_era(out, &(struct era){ 35, fields_mixed, DUMP_DATA, LIST(large), LIST(large_pictures) });
}

void sample_bitmaps_recycled(struct writer *out)
{
	make_era(out, &(struct era){ 19, fields_19, NO_DUMP_DATA, LIST(recycled), NULL, 0 });
}

void sample_bitmaps_refused(struct writer *out)
{
	make_era(out, &(struct era){ 35, fields_35, DUMP_DATA, LIST(refused), LIST(refused_pictures) });
}

void sample_bitmaps_none(struct writer *out)
{
	make_era(out, &(struct era){ 35, fields_35, DUMP_DATA, NULL, 0, LIST(refused_pictures) });
}

int sample_pictures(unsigned count, unsigned side, const char *path)
{
	const struct era era = { .sdk = 24, .fields = fields_24 };
	struct vm vm;
	vm_init(&vm, VM_ART, 4);
	vm_heap(&vm, 'A', "app", 0x12c00000);
	const uint64_t class = vm_define(&vm, "android.graphics.Bitmap", vm.object, era.fields);
	if (vm_to_file(&vm, "JAVA PROFILE 1.0.3", path, 4096))
		return -1;
	const uint32_t len = 4 * side * side;
	uint8_t *data = malloc(len + 1);
	if (!data)
		abort();
	for (unsigned i = 0; i < count; i++) {
		const struct bitmap_spec bitmap = BITMAP(TAGGED + 0x80 * (uint64_t)i, (int)side, (int)side);
		fill_pixels(data, len, i);
		for (uint32_t at = 3; i % 4 && at < len; at += 4)
			data[at] = 255;
		make_bitmap(&vm, &era, class, &bitmap, vm_primitive_array(&vm, TYPE_BYTE, data, len));
	}
	free(data);
	return vm_end_file(&vm);
}
