/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/temp.h"
#include "capture/say.h"
#include "capture/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	(void)st;
	(void)kind;
	(void)place;
	remove(path);
	return 0;
}

static void undo_temp(void *context)
{
	struct temp *temp = context;
	if (temp->folder)
		nftw(temp->path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	else
		unlink(temp->path);
}

static int make(struct temp *temp)
{
	const int error = temp->path ? 0 : ENOMEM;
	int fd = -1;
	temp->undo = error ? -1 : undo_add(undo_temp, temp);
	if (temp->undo >= 0) {
		if (temp->folder ? mkdtemp(temp->path) != NULL : (fd = mkostemp(temp->path, O_CLOEXEC)) >= 0) {
			if (fd >= 0)
				close(fd);
			return 0;
		}
		undo_forget(temp->undo);
	}
	say("%s: cannot be written: %s", temp->target ? temp->target : temp->path ? temp->path : "a temporary folder",
	    strerror(error ? error : errno));
	free(temp->path);
	free(temp->target);
	*temp = (struct temp){ .undo = -1 };
	return -1;
}

int temp_absent(const char *path)
{
	struct stat st;
	if (!*path) {
		say("a file without a name cannot be written; name one with -o");
		return -1;
	}
	if (!lstat(path, &st))
		say("%s: %s; name another file, or remove it", path, strerror(EEXIST));
	else if (errno == ENOENT)
		return 0;
	else
		say("%s: cannot be written: %s", path, strerror(errno));
	return -1;
}

int temp_open(struct temp *temp, const char *target, bool folder)
{
	*temp = (struct temp){ .folder = folder, .target = strdup(target), .undo = -1 };
	/* It is an argument of programs, which is no option. */
	if (!temp->target || asprintf(&temp->path, "%s%s.XXXXXX", *target == '-' ? "./" : "", target) < 0)
		temp->path = NULL;
	return make(temp);
}

int temp_scratch(struct temp *temp)
{
	const char *set = getenv("TMPDIR");
	*temp = (struct temp){ .folder = true, .undo = -1 };
	if (asprintf(&temp->path, "%s/heapfs-capture-XXXXXX", set && *set ? set : "/tmp") < 0)
		temp->path = NULL;
	return make(temp);
}

/* In a folder of another user's there may be a link in its place by now: its target keeps its rights. */
static int set_mode(const char *path, mode_t mode)
{
	const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	const int rc = fchmod(fd, mode), error = errno;
	close(fd);
	errno = error;
	return rc;
}

int temp_keep(struct temp *temp)
{
	const mode_t mask = umask(0);
	umask(mask);
	if (set_mode(temp->path, (temp->folder ? 0777 : 0666) & ~mask) ||
	    renameat2(AT_FDCWD, temp->path, AT_FDCWD, temp->target, RENAME_NOREPLACE)) {
		/* A filesystem that does not know the flag: look first, then. */
		struct stat st;
		int error = errno;
		if (error == EINVAL || error == ENOSYS)
			error = !lstat(temp->target, &st) ? EEXIST : rename(temp->path, temp->target) ? errno : 0;
		if (error) {
			say("%s: %s", temp->target, strerror(error));
			return -1;
		}
	}
	undo_forget(temp->undo);
	temp->undo = -1;
	free(temp->path);
	temp->path = strdup(temp->target);
	return 0;
}

void temp_remove(struct temp *temp)
{
	if (temp->undo >= 0)
		undo_now(temp->undo);
	else if (temp->path)
		undo_temp(temp);
	free(temp->path);
	free(temp->target);
	*temp = (struct temp){ .undo = -1 };
}

void temp_done(struct temp *temp)
{
	if (temp->undo >= 0)
		undo_now(temp->undo);
	free(temp->path);
	free(temp->target);
	*temp = (struct temp){ .undo = -1 };
}
