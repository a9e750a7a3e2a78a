/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop: what ends a capture early, and what must be undone on every way out.
 *
 * A capture leaves things behind in other places while it works: a file on a device, a port that the adb server
 * forwards, a half-written file beside the one that is wanted. Each is put into a list *before* it is made, with the
 * function that takes it away again; the list is worked off, the last one first, when the program ends, however it
 * does. Signals only make a note and a byte in a pipe: whoever waits does so in poll(), with stop_fd() among what it
 * waits for, and returns when a signal came. While the list is worked off signals are ignored, so each of its functions
 * must come to an end by itself, in seconds.
 *
 * One thread only.
 */
#ifndef HEAPFS_STOP_H
#define HEAPFS_STOP_H

#include <stdbool.h>

/* SIGINT, SIGTERM, SIGHUP and SIGQUIT stop the capture from now on; SIGPIPE is ignored, SIGCHLD is not. 0, or -1 with errno. */
int stop_install(void);
/* Can be read once a signal came. Nobody reads it: it stays so. */
int stop_fd(void);
/* The signal that came, 0 if none did, and while the list is worked off. */
int stop_signal(void);
/* Set when a signal comes, for those who cannot wait in poll(). */
const _Atomic bool *stop_flag(void);
/* That signal was what was waited for (a recording is to end): from now on another one stops what is done. */
void stop_taken(void);
/* Waits so long, in ms. False at once when a signal came. */
bool stop_sleep(int ms);

/* The list holds so many. */
#define UNDO_MOST 64

/*
 * Puts something into the list: `undo(context)` will be called once, by undo_now() or undo_all(). The context belongs to
 * the caller and must live until then. A handle, or -1 where the list is full (then make nothing).
 */
int undo_add(void (*undo)(void *context), void *context);
/* Calls it, and takes it out of the list. */
void undo_now(int handle);
/* Takes it out without a call: the thing is gone, or is to stay. */
void undo_forget(int handle);
/* Works off the whole list, the last one first. For main(), at the end. */
void undo_all(void);

#endif
