/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export: files of the tree, written without a mount, piece by piece.
 *
 * The tree must have been opened without graph_options.changed: what must be built first is then built by who asks, on
 * all cores, so that there is nothing to wait for here. What goes wrong is said on stderr.
 */
#ifndef HEAPFS_EXPORT_H
#define HEAPFS_EXPORT_H

#include "tree/tree.h"

struct exporter {
	struct tree *tree;
	struct input *in;	/* what the tree's source says */
	const char *dump;	/* its name, for messages */
	bool progress;		/* export_all() shows on stderr what it is at */
	const char *program;	/* for messages; NULL: heapfs */
};

/*
 * Finds a path, "graph/classes.tsv", as a shell in the mount's top folder would, through links too. 0 and the file's or
 * folder's inode, never a link's; or an errno value.
 */
int export_find(const struct exporter *exporter, const char *path, uint64_t *ino);

/*
 * Writes a file's bytes to a descriptor, called `name` in messages; of a folder the names of what is in it, a line each,
 * in the tree's order. 0, or -1 when it was said why not.
 */
int export_path(const struct exporter *exporter, const char *path, int fd, const char *name);

/*
 * Writes tables, texts and pictures into a folder that is new or empty, under the tree's names and with its times: all
 * but the dump itself, what is of single objects (objects/, instances/), and trees for du. No file is left half written,
 * also where a signal ends the process. A file that cannot be read is said and passed over; one that cannot be written
 * ends it. 0 if all is there, else -1.
 */
int export_all(const struct exporter *exporter, const char *folder);

#endif
