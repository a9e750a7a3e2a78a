/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temp: files and folders under another name until they are whole.
 *
 * A capture writes into "TARGET.XXXXXX", beside the file that is wanted, so that nothing half-written ever has the
 * wanted name, and gives it that name at the end. Until then it is in the list of what is to be undone (stop.h).
 * What was there before is never replaced.
 */
#ifndef HEAPFS_TEMP_H
#define HEAPFS_TEMP_H

#include <stdbool.h>

struct temp {
	char *path;		/* as it is called now; NULL: there is none */
	char *target;		/* as it will be called, or NULL for one that never stays */
	bool folder;
	int undo;		/* of stop.h; -1 when it has its name */
};

/* Nothing of that name is there, which is best said before anything is done: 0, or -1 after a message. */
int temp_absent(const char *path);
/* An empty file, readable by the owner only, or with `folder` a folder. 0, or -1 after a message. */
int temp_open(struct temp *temp, const char *target, bool folder);
/* A folder below $TMPDIR, or /tmp, that never stays. 0, or -1 after a message. */
int temp_scratch(struct temp *temp);
/* Gives it its name, and the rights that the umask leaves. 0, or -1 after a message; then it is still temporary. */
int temp_keep(struct temp *temp);
/* Removes it, with all that is in it, also when it has its name already; the end of one that was kept is temp_done(). */
void temp_remove(struct temp *temp);
/* Frees the names; what was not kept is removed. */
void temp_done(struct temp *temp);

#endif
