/* SPDX-License-Identifier: Apache-2.0 */
/* ask: a person at the terminal chooses from a list. */
#ifndef HEAPFS_ASK_H
#define HEAPFS_ASK_H

#include <stdbool.h>
#include <stddef.h>

/* Is somebody there? Standard input and error are both a terminal. */
bool can_ask(void);
/*
 * Shows a list with numbers on standard error, asks, and waits for a number; an empty line is the first one. `line` writes
 * what a row is into `text`. Which row from 0 on, or -1: none, end of input, or a signal (stop.h).
 */
int ask(const char *question, size_t count, void (*line)(const void *context, size_t row, char *text, size_t size),
	const void *context);

#endif
