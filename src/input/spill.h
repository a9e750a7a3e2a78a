/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill: a file for bytes that are in no file as they are needed: what a container unpacks to.
 *
 * It lies in the folder that was asked for, else in $TMPDIR, else in /var/tmp, and has no name, so that nothing is
 * left behind however heapfs ends. A folder in memory (tmpfs) is taken only when asked for. Room is watched while
 * writing: a little is left to others, and once there is no more, `full` is set and what fitted is kept.
 */
#ifndef HEAPFS_SPILL_H
#define HEAPFS_SPILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spill {
	int fd;
	const char *folder;	/* for messages */
	char *path, *part;	/* of one that is kept: its name, and the one it has until it is whole, or NULL */
	uint64_t reserve;	/* bytes of room left to others */
	_Atomic bool full;
	_Atomic int error;	/* errno of a write that failed otherwise */
};

/*
 * `folder` may be NULL. With `keep`, a file of that name is made instead, which stays. `estimate` is how many bytes will
 * come, as far as is known: if there is less room, that is said in a warning. 0, or -1 with a message in `error`.
 */
int spill_open(struct spill *spill, const char *folder, const char *keep, uint64_t estimate, const char *source,
	       char *error, size_t error_size);

/* Writes bytes anywhere; safe to call from many threads. False if they did not fit, or on an error. */
bool spill_write(struct spill *spill, const void *data, size_t len, uint64_t offset);
/* The same where bytes are already, which needs no room: also of one that is full. */
bool spill_rewrite(struct spill *spill, const void *data, size_t len, uint64_t offset);

/* Reads what was written. False on an error. */
bool spill_read(struct spill *spill, void *data, size_t len, uint64_t offset);

/* Takes back all that lies behind `size`; there may be room again then. */
void spill_cut(struct spill *spill, uint64_t size);

/* It has this size in the end; with `whole` a kept one gets its name, and this time. 0, or -1 with errno. */
struct timespec;
int spill_finish(struct spill *spill, uint64_t size, bool whole, const struct timespec *time);

/* Just a file without a name in a folder; a descriptor, or -1 with errno. */
int spill_unnamed(const char *folder);

/* Closes what spill_finish() did not; the descriptor stays with who took it by setting fd to -1. */
void spill_close(struct spill *spill);

#endif
