/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say: messages and progress of heapfs-capture, all on standard error.
 *
 * What is being done now is a line that the next one replaces where standard error is a terminal; elsewhere it is a
 * line of its own, once a step, without percent.
 *
 * What is said has names and sentences of devices and applications in it, which must not command the terminal: all of it
 * passes through printable().
 */
#ifndef HEAPFS_SAY_H
#define HEAPFS_SAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A text of somebody else's for a terminal: control characters (those of 8 bits too) become '?', as do bytes that are no
 * UTF-8; a tab becomes a blank. In place; returns it.
 */
char *printable(char *text);
/* "heapfs-capture: …", as a line. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* With --quiet no steps are shown. */
void say_quietly(bool quiet);
/* What is being done from now on, "reading processes". */
void step(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* How far that is; total 0: not known, then `done` is shown in MB. At most five times a second. */
void step_at(uint64_t done, uint64_t total);
/* The step is over; on a terminal its line goes away. */
void step_end(void);

#endif
