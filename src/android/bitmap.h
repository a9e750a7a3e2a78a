/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap: the android.graphics.Bitmap objects of a dump, and where their pixels are, if anywhere.
 *
 * Three eras. Up to API 25 the pixels are in the heap, in the byte[] `mBuffer` (from API 11 on); the dump does
 * not say their layout, so it is told by bytes a pixel. From 26 on they are native memory, which a dump lacks.
 * From 35 on `am dumpheap -b` puts compressed pictures into the static `Bitmap.dumpData`, by native pointer.
 *
 * Native pointers are reused, so a matching pointer proves nothing: a picture is shown for a bitmap only if its
 * own header says the bitmap's size, and its end is there. Others are refused, and shown as such.
 *
 * Pictures may also come from elsewhere, fetched from the process while it lived ("live"): see input/elsewhere.h. They are
 * tried last.
 *
 * The table is made at first use, by a walk over the Bitmaps and the pictures' first and last bytes; no pixel is
 * read. Kept are 96 bytes a Bitmap, and 8 for its orders, and 72 a picture.
 */
#ifndef HEAPFS_BITMAP_H
#define HEAPFS_BITMAP_H

#include "android/picture.h"
#include "android/png.h"
#include "heap/heap.h"
#include "input/elsewhere.h"

/* In the order in which they are tried. */
enum bitmap_source { SOURCE_NONE, SOURCE_DUMP_DATA, SOURCE_BUFFER, SOURCE_TRACE, SOURCE_LIVE, SOURCES };

/* Why there is no picture, the most telling reason. */
enum bitmap_verdict {
	VERDICT_OK,
	VERDICT_RECYCLED,
	VERDICT_ZERO_SIZE,
	VERDICT_NATIVE,		/* pixels are not in dumps of this era */
	VERDICT_NOT_DUMPED,	/* the dump has pictures, but none for this pointer */
	VERDICT_MISMATCH,	/* the picture for this pointer is of another size */
	VERDICT_TRUNCATED,	/* its end is missing */
	VERDICT_NO_PICTURE,	/* its bytes are no PNG, JPEG or WebP, or say no size */
	VERDICT_NO_BUFFER,	/* mBuffer is null */
	VERDICT_BUFFER_ABSENT,	/* mBuffer, or its bytes, are not in the dump */
	VERDICT_BUFFER_SMALL,
	VERDICT_BUFFER_LAYOUT	/* its bytes a pixel are of no layout */
};

/* A compressed picture that the dump carries for a native pointer, or that comes from elsewhere. */
struct picture {
	uint64_t pointer;	/* of a live one what its name says: see `by` */
	uint64_t slot;		/* offset in the file of the reference to its bytes */
	uint64_t object;	/* id of the byte[] */
	uint64_t offset, len;	/* of its bytes in the file */
	struct picture_head head;
	uint32_t number;	/* among those of the dump */
	bool claimed;		/* a Bitmap has this pointer */
	bool fits;		/* one of that pointer and size */
	bool chosen;		/* is shown for one */
	bool shared_pointer;	/* another picture has the same, or it is 0 */
	bool numbered;		/* of a trace: another one has this name, or would */
	uint8_t by;		/* of a live one: enum elsewhere_by */
};

struct bitmap {
	uint64_t offset, id;	/* of the object */
	uint64_t pointer;	/* native, unsigned in the field's width; 0: none */
	uint32_t width, height;	/* 0 for what is negative */
	enum bitmap_source source;
	enum bitmap_verdict verdict;
	const struct picture *picture; /* SOURCE_DUMP_DATA, _TRACE and _LIVE, and the one that was refused */
	uint64_t buffer, buffer_len; /* offset in the file and bytes of mBuffer; 0 without */
	uint8_t layout;		/* enum pixel_layout, of SOURCE_BUFFER */
	bool guessed;		/* the buffer is longer than needed */
	bool premultiplied;
	bool shared_pointer;	/* another Bitmap has the same, or it is 0 */
	_Atomic uint64_t hash, encoded_size; /* see bitmap_hash() and bitmap_size() */
	struct png_sums sums;
};

/* Where in an instance's data its fields are; negative: it has no such field. */
struct bitmap_fields {
	int32_t width, height, recycled, pointer, buffer, premultiplied, id, source_id;
	unsigned pointer_width;
};

/* Where a live picture is: its number in struct elsewhere, and what it was when its head was read. */
struct live_place {
	uint32_t picture;
	struct elsewhere_stamp stamp;
};

struct bitmaps {
	const struct heap *heap;
	const struct class *class; /* android.graphics.Bitmap, NULL if the dump has none */
	struct bitmap_fields fields;
	struct bitmap *list;	/* by offset, as they are in the file */
	uint32_t count;
	uint32_t *by_pointer;	/* by pointer, then id */
	uint32_t *by_pixels;	/* most pixels first */
	struct picture *pictures; /* by pointer, then as they are in the dump */
	uint32_t *by_slot;	/* pictures by slot */
	uint32_t picture_count;
	struct picture *traced;	/* those of the trace that the dump came in, in its order; offsets are of the dump's input */
	uint32_t *by_name;	/* numbers of those of the trace, in the order of their names */
	uint32_t traced_count, traced_shown;
	/* Live pictures: those from elsewhere that are of the dump's process. See live.c. */
	struct picture *live;	/* by what their names say, then by number */
	struct live_place *live_places; /* by number */
	uint32_t live_count, live_shown, live_fit;
	uint32_t live_of_others;	/* of other processes */
	uint32_t live_states[ELSEWHERE_STATES]; /* how many of the process are of each */
	uint32_t left_out;	/* Bitmaps past BITMAPS_MOST */
	uint32_t absent_pictures; /* whose bytes are not in the dump */
	bool has_dump_data;	/* the class has dumpData, whether it is filled or not */
	/* As Shark counts: a Bitmap without picture for whose pointer there is one is mismatched. */
	uint32_t with_picture, mismatched, refused, orphans;
	uint32_t repeated;	/* pictures that would fit, but another one of the pointer is shown */
};

/* A dump with more is made to do harm. */
#define BITMAPS_MOST (UINT32_C(1) << 22)
/* Of more pictures for one Bitmap than this, no others are looked at. */
#define PICTURE_CANDIDATES_MOST 16

/* NULL without memory, or where the file was cut meanwhile. bitmaps_close() frees it. */
struct bitmaps *bitmaps_open(const struct heap *heap);
void bitmaps_close(struct bitmaps *bitmaps);

/* The class android.graphics.Bitmap: the boot loader's, else the first one that is dumped; NULL if there is none. */
const struct class *bitmap_class(const struct heap *heap);

/* The bitmap whose object is at `offset`, or NULL. */
struct bitmap *bitmap_at(const struct bitmaps *bitmaps, uint64_t offset);
/* The first in by_pointer with this pointer, and this id, or higher ones. */
uint32_t bitmaps_from(const struct bitmaps *bitmaps, uint64_t pointer, uint64_t id);
/* The first picture with this pointer or a higher one; the picture whose slot is there, or NULL. */
uint32_t pictures_from(const struct bitmaps *bitmaps, uint64_t pointer);
const struct picture *picture_at(const struct bitmaps *bitmaps, uint64_t slot);

static inline bool picture_is_refused(const struct picture *picture)
{
	return picture->claimed && !picture->fits;
}

static inline bool picture_is_orphan(const struct picture *picture)
{
	return !picture->claimed;
}

/* Is a picture whole and of the bitmap's size; and why not? */
bool picture_fits(const struct picture *picture, const struct bitmap *bitmap);
enum bitmap_verdict picture_refusal(const struct picture *picture, const struct bitmap *bitmap);

/* Where fields of a Bitmap are, and one of an object's; NULL where it has none. */
void bitmap_find_fields(const struct heap *heap, const struct class *class, struct bitmap_fields *fields);
const uint8_t *bitmap_field(const struct object *object, int32_t at, unsigned width);

/* The first picture of the trace that is called so there; UINT32_MAX if there is none. */
uint32_t traced_by_name(const struct bitmaps *bitmaps, const char *name);

/* The pixels of a bitmap of SOURCE_BUFFER; false if they are gone. */
bool bitmap_pixels(const struct bitmaps *bitmaps, const struct bitmap *bitmap, struct pixels *pixels);

/*
 * A hash of the pixels: 64 bits over size, layout and bytes. Pictures that are found compressed are hashed as they
 * are. Reads all of them; kept. 0 if there are none.
 */
uint64_t bitmap_hash(const struct bitmaps *bitmaps, struct bitmap *bitmap);

/* Bytes that the pixels take in memory: of mBuffer, else 4 a pixel; 0 where there are none any more. */
uint64_t bitmap_memory(const struct bitmap *bitmap);

/*
 * What mId says since API 35 (hwui/Bitmap.cpp): process id * 10^7 + storage * 10^6 + a number. mSourceId is the mId
 * of the bitmap that this one was received from, -1 if it was not.
 */
enum bitmap_storage { STORAGE_WRAPPED, STORAGE_HEAP, STORAGE_ASHMEM, STORAGE_HARDWARE, STORAGES };
struct bitmap_origin {
	bool known, received;	/* storage is known; it came from another process */
	enum bitmap_storage storage, source_storage;
	uint64_t id, source_id, source_pid;
};
void bitmap_origin(const struct bitmaps *bitmaps, const struct bitmap *bitmap, struct bitmap_origin *origin);

/* --- live pictures (live.c) --- */

/* Reads the heads of those of the dump's process; gives them to bitmaps that have none. -1 without memory. */
int live_read(struct bitmaps *bitmaps);
void live_join(struct bitmaps *bitmaps);
/* The first one in `live` with this key and number, or higher ones. */
uint32_t live_from(const struct bitmaps *bitmaps, enum elsewhere_by by, uint64_t key, uint64_t number);
/* Copies bytes that are in it. False if its file is not there any more, or not what it was. */
bool live_bytes(const struct bitmaps *bitmaps, const struct picture *picture, uint64_t offset, size_t len, void *out);
/* Of all its bytes; 0, as after bad input, where they cannot be read. */
uint64_t live_hash(const struct bitmaps *bitmaps, const struct picture *picture, uint64_t seed);
/* If none of them can be a bitmap's, says so in `line`. */
bool live_warning(const struct bitmaps *bitmaps, char *line, size_t size);
/* The same as far as can be told by names alone, without opening a picture. */
bool live_doubt(const struct heap *heap, char *line, size_t size);

#endif
