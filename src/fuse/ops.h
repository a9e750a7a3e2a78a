/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops: libfuse's low-level requests, answered from the tree. Knows nothing of heaps.
 *
 * The filesystem is stateless: node ids are the tree's inode numbers, nothing is kept for the kernel, and
 * everything may be cached for ever, because nothing changes (but the one file for which tree_changes()).
 */
#ifndef HEAPFS_OPS_H
#define HEAPFS_OPS_H

#include "fuse/requests.h"
#include "tree/tree.h"

#include <fuse_lowlevel.h>

enum readdirplus { READDIRPLUS_YES, READDIRPLUS_AUTO, READDIRPLUS_NO };

/* What the requests need; the user data of the session. */
struct served {
	struct tree *tree;
	struct input *in;
	enum readdirplus readdirplus;
	struct requests requests;
	bool no_open, no_opendir;	/* the kernel offers to leave these requests out; set by init */
};

extern const struct fuse_lowlevel_ops ops;

/* Bytes of the largest read. The kernel reads ahead several times this, which all threads then answer at once. */
#define READ_MOST 65536

#endif
