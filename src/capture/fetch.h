/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch: what a debugger's connection gets from an application on a device (jdwp.h, live_bitmaps.h): a collection of
 * garbage, a library loaded, pictures of its bitmaps, while nothing is left behind in the adb server or the application.
 */
#ifndef HEAPFS_FETCH_H
#define HEAPFS_FETCH_H

#include "capture/select.h"

/* Collects garbage. 0, or -1 after a message. */
int fetch_gc(const struct selection *selection);
/* Has the application load a library, System.load(path). 0, or -1 after a message. */
int fetch_load(const struct selection *selection, const char *path);
/*
 * All bitmaps within the options' budgets, largest first, as files "0x7b3c00aa10.png" in this folder. `*count` is how
 * many there are; what was left out, and why, is said. 0, or -1 after a message; then those that came are there, too.
 */
int fetch_pictures(const struct selection *selection, const struct capture_options *options, const char *folder, size_t *count);

#endif
