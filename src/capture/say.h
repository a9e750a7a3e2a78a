/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say: messages and progress of heapfs-capture, all on standard error.
 *
 * What is being done now is a line that the next one replaces where standard error is a terminal; elsewhere it is a
 * line of its own, once a step, without percent.
 */
#ifndef HEAPFS_SAY_H
#define HEAPFS_SAY_H

#include <stdbool.h>
#include <stdint.h>

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
