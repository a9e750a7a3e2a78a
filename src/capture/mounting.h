/* SPDX-License-Identifier: Apache-2.0 */
/* mounting: the heapfs command, for what was captured. */
#ifndef HEAPFS_MOUNTING_H
#define HEAPFS_MOUNTING_H

/* heapfs FILE FOLDER: the one beside this program, or of PATH. An exit status (capture.h), after a message where it failed. */
int mount_captured(const char *file, const char *folder);

#endif
