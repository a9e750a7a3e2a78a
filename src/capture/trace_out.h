/* SPDX-License-Identifier: Apache-2.0 */
/* trace_out: what was captured as a Perfetto trace (input/pack.h). */
#ifndef HEAPFS_TRACE_OUT_H
#define HEAPFS_TRACE_OUT_H

#include <stdbool.h>
#include <stdint.h>

/* Is a file of this name to be a trace: .pftrace, .perfetto-trace? */
bool trace_wanted(const char *path);
/*
 * Writes a trace to `path`, over what is there: of process `pid`, with the dump in the file `dump` and all pictures of
 * `folder`; either may be NULL. 0, or -1 after a message.
 */
int trace_out(const char *path, uint32_t pid, const char *dump, const char *folder);

#endif
