/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_bitmaps: the pictures of all android.graphics.Bitmap of a running application, as PNG, by JDWP.
 *
 * Dumps of Android 8 to 14 have no pixels; the application itself makes the PNGs, by Bitmap.compress(), which also reads
 * back HARDWARE bitmaps. It stands still but for that, and runs on when this returns, whatever happens.
 */
#ifndef HEAPFS_LIVE_BITMAPS_H
#define HEAPFS_LIVE_BITMAPS_H

#include "capture/jdwp_session.h"

struct live_picture {
	uint64_t pointer;	/* the native pointer, as the dump has it: its name is <pointer>.png in lower-case hex, 0x first */
	uint32_t width, height;	/* of the bitmap, and what the PNG's IHDR says too */
	const uint8_t *data;	/* only until the callback returns */
	size_t len;
};

/* all = recycled + without + unasked + drawable; drawable = fetched + failed + left. */
struct live_result {
	enum live_end end;
	uint64_t all;		/* instances of the class */
	uint64_t recycled;
	uint64_t without;	/* no size, no pointer, or collected meanwhile */
	uint64_t unasked;	/* there was no time to ask about them */
	uint64_t drawable;
	uint64_t fetched, bytes; /* handed to the callback */
	uint64_t failed;	/* compress() threw or said no, or its PNG has another size */
	uint64_t left;		/* there was no room or no time for them, or it ended early */
	char failure[JDWP_ERROR_MOST + 24];	/* what was wrong with the first one that failed */
	char error[JDWP_ERROR_MOST]; /* a sentence for people, where `end` is LIVE_REFUSED or later */
	char vm[128];		/* what the VM calls itself */
	uint64_t ms;		/* how long it took */
};

struct live_sink {
	/* A picture, largest bitmaps first. Other than 0 stops (LIVE_STOPPED). */
	int (*picture)(void *context, const struct live_picture *picture);
	/* After each bitmap, and once when they are counted; may be NULL. */
	void (*progress)(void *context, const struct live_result *so_far);
};

/*
 * Fetches them within the budgets, which are checked before each: the time from when the application stopped, and bytes of
 * PNG. A picture that is larger than the whole budget of bytes is left out alone; the first one that does not fit into
 * what remains of it ends the run. What came before an error has been handed over. Callbacks get options->context.
 */
enum live_end live_bitmaps_fetch(const struct live_options *options, const struct live_sink *sink,
				 struct live_result *result);

#endif
