/* SPDX-License-Identifier: Apache-2.0 */
/* bitmaps.tsv, duplicates/bitmaps.tsv, and what to do where there is no picture. */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

#define TABLE_STEP 256

static void put_verdict(struct text *text, const struct bitmap *bitmap)
{
	static const char *const words[] = {
		[VERDICT_OK] = "ok",
		[VERDICT_RECYCLED] = "recycled",
		[VERDICT_ZERO_SIZE] = "zero size",
		[VERDICT_NATIVE] = "native pixels: not in this dump",
		[VERDICT_NOT_DUMPED] = "native pixels: not among the dumped pictures",
		[VERDICT_MISMATCH] = "mismatch",
		[VERDICT_TRUNCATED] = "truncated picture",
		[VERDICT_NO_PICTURE] = "not a picture: no PNG, JPEG or WebP",
		[VERDICT_NO_BUFFER] = "no buffer",
		[VERDICT_BUFFER_ABSENT] = "buffer: not in this dump",
		[VERDICT_BUFFER_SMALL] = "buffer too small",
		[VERDICT_BUFFER_LAYOUT] = "buffer of no known layout",
	};
	text_puts(text, words[bitmap->verdict]);
	if (bitmap->verdict == VERDICT_MISMATCH)
		text_printf(text, ": picture is %" PRIu32 "x%" PRIu32 ", bitmap %" PRIu32 "x%" PRIu32,
			    bitmap->picture->head.width, bitmap->picture->head.height, bitmap->width, bitmap->height);
	else if (bitmap->verdict == VERDICT_BUFFER_LAYOUT)
		text_printf(text, ": %" PRIu64 " bytes a pixel",
			    bitmap->buffer_len / ((uint64_t)bitmap->width * bitmap->height));
}

static const char *const storages[STORAGES] = { "wrapped", "heap", "ashmem", "hardware" };

const char *layout_name(unsigned layout)
{
	static const char *const layouts[LAYOUTS] = { "-", "ALPHA_8", "RGB_565", "ARGB_8888" };
	return layouts[layout < LAYOUTS ? layout : 0];
}

static void put_bitmap_line(const struct node *node, const struct bitmaps *bitmaps, struct bitmap *bitmap, bool sizing,
			    struct text *text)
{
	static const char *const sources[SOURCES] = { "none", "dumpData", "mBuffer", "trace", "live" };
	const bool shown = bitmap->verdict == VERDICT_OK;
	struct bitmap_origin origin;
	struct pixels pixels;
	bitmap_origin(bitmaps, bitmap, &origin);
	text_id(text, bitmap->pointer);
	text_putc(text, '\t');
	text_id(text, bitmap->id);
	text_printf(text, "\t%" PRIu32 "\t%" PRIu32 "\t%s%s\t%s\t", bitmap->width, bitmap->height, layout_name(bitmap->layout),
		    bitmap->guessed ? " guessed" : "", sources[bitmap->source]);
	put_verdict(text, bitmap);
	text_putc(text, '\t');
	if (shown) {
		text_puts(text, "bitmaps/");
		bitmap_file_name(text, bitmap);
		text_putc(text, '\t');
		if (bitmap->source != SOURCE_BUFFER)
			text_number(text, bitmap->picture->len);
		else if (!node->tree->options.png_level && bitmap_pixels(bitmaps, bitmap, &pixels))
			text_number(text, png_size(&pixels));
		else
			text_putc(text, '-'); /* known when it is compressed only */
	} else {
		text_puts(text, "-\t-");
	}
	text_putc(text, '\t');
	text_number(text, bitmap_memory(bitmap));
	text_printf(text, "\t%s\t", origin.known ? storages[origin.storage] : "-");
	if (origin.received)
		text_printf(text, "%" PRIu64 " (process %" PRIu64 ", %s)", origin.source_id, origin.source_pid,
			    storages[origin.source_storage]);
	else
		text_putc(text, '-');
	if (shown) /* of fixed width, so that the table's size needs no pixel */
		text_printf(text, "\t%016" PRIx64 "\n", sizing ? 0 : bitmap_hash(bitmaps, bitmap));
	else
		text_puts(text, "\t-\n");
}

static void write_bitmaps(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	if (!bitmaps)
		return;
	if (!first) {
		text_puts(&pages->text, "pointer\tobject\twidth\theight\tlayout\tsource\tverdict\tfile\tbytes\t"
					"memory_bytes\tstorage\tsource_id\thash\n");
		if (!pages_next(pages))
			return;
		first = 1;
	}
	for (uint64_t i = first - 1; i < bitmaps->count; i++) {
		put_bitmap_line(node, bitmaps, &bitmaps->list[bitmaps->by_pixels[i]], pages_sizing(pages), &pages->text);
		if (!pages_next(pages))
			return;
	}
}

const struct pages_ops bitmaps_pages = { .step = TABLE_STEP, .write = write_bitmaps };

/* --- duplicates/bitmaps.tsv --- */

/* One picture, and what its pixels are in memory: two of the same are no duplicates. */
struct copy {
	uint64_t hash, place;
	struct bitmap *bitmap;
	enum { IN_BUFFER, IN_ASHMEM, IN_NATIVE, IN_OBJECT } where;
};

/* Pixels in shared memory that came from another process, or were sent to one, are there once. */
static void find_place(const struct bitmaps *bitmaps, struct copy *copy)
{
	struct bitmap_origin origin;
	const struct bitmap *bitmap = copy->bitmap;
	bitmap_origin(bitmaps, bitmap, &origin);
	if (bitmap->buffer) {
		copy->where = IN_BUFFER;
		copy->place = bitmap->buffer;
	} else if (origin.known && origin.storage == STORAGE_ASHMEM) {
		copy->where = IN_ASHMEM;
		copy->place = origin.received ? origin.source_id : origin.id;
	} else {
		copy->where = bitmap->pointer ? IN_NATIVE : IN_OBJECT;
		copy->place = bitmap->pointer ? bitmap->pointer : bitmap->id;
	}
}

static int compare_copies(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->bitmap->id < y->bitmap->id ? -1 : x->bitmap->id > y->bitmap->id;
}

struct duplicate {
	const struct bitmap *first;
	uint64_t hash, count, copies, wasted;
};

static int compare_duplicates(const void *a, const void *b)
{
	const struct duplicate *x = a, *y = b;
	if (x->wasted != y->wasted)
		return x->wasted > y->wasted ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Finds equal pictures. Their number; SIZE_MAX without memory. The caller frees *found. */
static size_t find_duplicates(const struct bitmaps *bitmaps, struct duplicate **found)
{
	struct copy *copies = calloc(bitmaps->with_picture + 1, sizeof *copies);
	*found = calloc(bitmaps->with_picture + 1, sizeof **found);
	size_t n = 0, kept = 0;
	if (!copies || !*found) {
		free(copies);
		return SIZE_MAX;
	}
	for (uint32_t i = 0; i < bitmaps->count; i++) {
		struct bitmap *bitmap = &bitmaps->list[i];
		if (bitmap->verdict != VERDICT_OK)
			continue;
		copies[n] = (struct copy){ .bitmap = bitmap, .hash = bitmap_hash(bitmaps, bitmap) };
		find_place(bitmaps, &copies[n++]);
	}
	qsort(copies, n, sizeof *copies, compare_copies);
	for (size_t i = 0, end; i < n; i = end) {
		struct duplicate duplicate = { copies[i].bitmap, copies[i].hash, 0, 0, 0 };
		for (end = i; end < n && copies[end].hash == copies[i].hash; end++) {
			duplicate.count++;
			duplicate.copies += end == i || copies[end].where != copies[end - 1].where ||
					    copies[end].place != copies[end - 1].place;
		}
		duplicate.wasted = (duplicate.copies - 1) * bitmap_memory(duplicate.first);
		if (duplicate.copies > 1)
			(*found)[kept++] = duplicate;
	}
	free(copies);
	qsort(*found, kept, sizeof **found, compare_duplicates);
	return kept;
}

static void write_duplicates(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	struct text *text = &pages->text;
	struct duplicate *found = NULL;
	const size_t count = bitmaps ? find_duplicates(bitmaps, &found) : 0;
	bool more = true;
	if (count == SIZE_MAX) {
		text->failed = true;
		free(found);
		return;
	}
	if (!first) {
		text_puts(text, "hash\tcount\tcopies\twidth\theight\tmemory_bytes\twasted\texample\n");
		more = pages_next(pages);
		first = 1;
	}
	for (uint64_t i = first - 1; more && i < count; i++) {
		const struct bitmap *bitmap = found[i].first;
		text_printf(text, "%016" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64
			    "\tbitmaps/", found[i].hash, found[i].count, found[i].copies, bitmap->width, bitmap->height,
			    bitmap_memory(bitmap), found[i].wasted);
		bitmap_file_name(text, bitmap);
		text_putc(text, '\n');
		more = pages_next(pages);
	}
	free(found);
}

const struct pages_ops duplicate_bitmaps_pages = { .step = TABLE_STEP, .write = write_duplicates };

/* --- WHY-EMPTY.txt --- */

static const char native_era[] =
	"Android 8 to 14 (API 26 to 34) keep pixels in native memory, which a heap dump does not hold.\n"
	"What you can do:\n"
	"- Fetch them from the running process, if there still is one and its application can be debugged,\n"
	"  and mount the dump with them:\n"
	"  heapfs-capture --pixels-for DUMP -o live.pftrace; heapfs -o pixels=live.pftrace DUMP MOUNTPOINT\n"
	"- Or with a debugger attached: Android Studio shows a Bitmap that a variable holds (\"View\n"
	"  Bitmap\"), or let the debugger call Bitmap.compress(CompressFormat.PNG, 100, stream) on it.\n"
	"  Files named after native pointers (bitmaps.tsv has them), 0x7b3c00aa10.png, are shown here\n"
	"  with -o pixels=FOLDER.\n"
	"- On a device with Android 15 (API 35) or later, take the dump with the pictures in it:\n"
	"  adb shell am dumpheap -b png <process> /data/local/tmp/heap.hprof\n";

static const char dump_data_era[] =
	"From Android 15 (API 35) on a dump can hold the pictures, but this one was taken without.\n"
	"Take it again with -b png:\n"
	"  adb shell am dumpheap -b png <process> /data/local/tmp/heap.hprof\n"
	"  adb pull /data/local/tmp/heap.hprof\n"
	"Or, as long as the process still runs, fetch the pictures for this one, and mount it with them:\n"
	"  heapfs-capture --pixels-for DUMP -o live.pftrace; heapfs -o pixels=live.pftrace DUMP MOUNTPOINT\n";

static const char old_era[] =
	"Android up to 2.3 (API 10) keeps pixels in native memory, and no tool puts them into a dump.\n"
	"On Android 3.0 to 7.1 (API 11 to 25) they are in every dump.\n";

static void write_why(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	struct text *text = &pages->text;
	char line[512];
	if (first || !bitmaps)
		return;
	if (!bitmaps->count)
		text_puts(text, "This dump holds no object of class android.graphics.Bitmap, so there is no picture.\n"
				"(If R8 or ProGuard renamed that class too: mount with -o mapping=FILE.)\n");
	else
		text_printf(text, "This dump holds %" PRIu32 " %s, but no picture of any. ../bitmaps.tsv says why of each.\n\n",
			    bitmaps->count, bitmaps->count == 1 ? "Bitmap" : "Bitmaps");
	if (heap_graph_of(node->heap))
		text_puts(text, "A Perfetto heap graph holds no pixels. A heap dump may:\n"
				"  adb shell am dumpheap -b png <process> /data/local/tmp/heap.hprof (API 35 and later)\n"
				"  adb shell am dumpheap <process> /data/local/tmp/heap.hprof (API 11 to 25)\n");
	else if (live_warning(bitmaps, line, sizeof line))
		text_printf(text, "There are pictures from elsewhere (-o pixels=, or a folder beside the dump), but %s\n"
				  "See refused/ and orphans/.\n", line);
	else if (bitmaps->picture_count || bitmaps->traced_count)
		text_puts(text, "The dump has pictures, but none that says it is of a Bitmap's size: see refused/, orphans/ or trace/.\n");
	else if (bitmaps->fields.buffer >= 0 && bitmaps->count)
		text_puts(text, "Android 3.0 to 7.1 (API 11 to 25) keep pixels in the heap, in each Bitmap's mBuffer. None of\n"
				"these has one that could be shown: they are recycled, or their pixels are in shared memory.\n");
	else if (bitmaps->has_dump_data && bitmaps->count)
		text_puts(text, dump_data_era);
	else if (bitmaps->count)
		text_puts(text, bitmaps->fields.pointer >= 0 && bitmaps->fields.pointer_width == 4 ? old_era : native_era);
	pages_next(pages);
}

const struct pages_ops why_pages = { .step = 1, .write = write_why };
