/* SPDX-License-Identifier: Apache-2.0 */
/* trace_out: what was captured as a Perfetto trace (input/pack.h). */
#ifndef HEAPFS_TRACE_OUT_H
#define HEAPFS_TRACE_OUT_H

#include "android/bitmap.h"

#include <stdbool.h>
#include <stdint.h>

/* Is a file of this name to be a trace: .pftrace, .perfetto-trace? */
bool trace_wanted(const char *path);
/* What goes into it, each NULL where there is none. */
struct trace_parts {
	const char *dump;	/* a file, HPROF */
	const char *folder;	/* of pictures */
	const struct bitmaps *bitmaps; /* the pictures that a dump has by native pointer */
};

/* Writes a trace to `path`, over what is there, all of it of process `pid`. How many pictures it has, or -1 after a message. */
int64_t trace_out(const char *path, uint32_t pid, const struct trace_parts *parts);

#endif
