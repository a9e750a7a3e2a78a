/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished: a file that is being written is removed if a signal ends the process meanwhile. One at a time, of one thread.
 */
#ifndef HEAPFS_UNFINISHED_H
#define HEAPFS_UNFINISHED_H

/* From here on, until unfinished_end(), which restores what signals did. */
void unfinished_begin(void);
void unfinished_end(void);

/* The path, as unlinkat() takes it, must stay where it is until unfinished_none(). */
void unfinished_is(int folder, const char *path);
void unfinished_none(void);

#endif
