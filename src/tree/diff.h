/* SPDX-License-Identifier: Apache-2.0 */
/* diff: what the parts of diff/ of heap dumps share. Internal to src/tree. */
#ifndef HEAPFS_TREE_DIFF_H
#define HEAPFS_TREE_DIFF_H

#include "diff/diff.h"
#include "tree/node.h"

/* Files of diff/, the keys of KIND_DIFF_FILE. */
enum diff_file { DIFF_INFO, DIFF_CLASSES, DIFF_STRINGS, DIFF_BITMAPS, DIFF_DOMINATORS, DIFF_FILES };

/* The comparison, and the names of the folders of its classes. */
struct diff_view {
	struct diff *diff;
	char **file_names;	/* by number of the class */
	uint32_t *by_name;	/* those numbers by file name */
};

static inline const struct diff *node_diff(const struct node *node)
{
	return node->tree->diff->diff;
}

#endif
