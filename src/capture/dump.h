/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump: a heap dump that a device's `am dumpheap` writes, brought here.
 *
 * The file lies in the device's /data/local/tmp meanwhile, and is removed on every way out. am may return before the
 * application has written it (up to Android 8 or so it does; later ones wait): it is whole when its size holds.
 */
#ifndef HEAPFS_DUMP_H
#define HEAPFS_DUMP_H

#include "capture/select.h"

struct dump_request {
	bool gc;		/* collect garbage first (-g, from API 27 on) */
	const char *format;	/* of pictures in the dump (-b, from API 35 on), or NULL for none */
	unsigned timeout;	/* seconds until it is whole, and then for it to be brought here without a byte moving */
};

/* API levels from which am knows -g, and -b; from which pixels are no longer in the heap. */
enum { SDK_PIXELS_NATIVE = 26, SDK_DUMP_GC = 27, SDK_DUMP_BITMAPS = 35 };

/* Writes it to `path`, which may be there. 0, or after a message -1, or 1 for one without its end. */
int device_dump(const struct selection *selection, const struct dump_request *request, const char *path);

#endif
