/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount: the session from mount point to unmount.
 *
 * The order matters. Mount point and options are checked first, since they are cheap and the dump may be
 * large. Then the caller opens the dump. mount_serve() forks before it mounts, so that no thread is lost in
 * the fork, and the parent returns only when the tree is there or the reason why not is printed.
 */
#ifndef HEAPFS_MOUNT_H
#define HEAPFS_MOUNT_H

#include "fuse/ops.h"

struct mount_point {
	char *path;		/* absolute */
	bool made;		/* by us; removed again when the mount ends */
};

/* Checks, and if need be makes, the folder. 0, or -1 with a message in `error`. */
int mount_point_open(struct mount_point *point, const char *path, char *error, size_t error_size);
/* Removes the folder if it was made here. */
void mount_point_close(struct mount_point *point);

struct mount_options {
	bool foreground, single_thread, clone_fd;
	struct requests *requests; /* those of the session, that may wait when it ends */
	unsigned max_threads;	/* 0: as many as there are cores, at least 2 */
};

/*
 * Mounts `session` and serves it until it is unmounted or told to stop. Returns the exit status of the
 * process it returns in: in the background that is the caller's, once the mount stands, and later, once it is
 * gone, the server's. Both then end. Closes the mount point.
 */
int mount_serve(struct fuse_session *session, struct mount_point *point, const struct mount_options *options);

#endif
