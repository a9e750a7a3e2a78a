/* SPDX-License-Identifier: Apache-2.0 */
#include "input/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DEFAULT_FOLDER "/var/tmp"
/* Of a full disk everything suffers: so much is left, or a sixteenth of a small one. */
#define RESERVE_MOST (UINT64_C(64) << 20)

static uint64_t room(const struct spill *spill)
{
	struct statvfs st;
	if (fstatvfs(spill->fd, &st))
		return UINT64_MAX;
	const uint64_t left = (uint64_t)st.f_bavail * st.f_frsize;
	return left > spill->reserve ? left - spill->reserve : 0;
}

static bool in_memory(int fd)
{
	struct statfs st;
	return !fstatfs(fd, &st) && (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC);
}

/* Where the system has no files without a name, its name is taken away at once. */
int spill_unnamed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
		return fd;
	char *path;
	if (asprintf(&path, "%s/heapfs-XXXXXX", folder) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static int open_kept(struct spill *spill, const char *keep, char *error, size_t error_size)
{
	spill->path = strdup(keep);
	/* Of a name of its own: another heapfs may be at it, too. */
	if (!spill->path || asprintf(&spill->part, "%s.XXXXXX", keep) < 0) {
		spill->part = NULL;
		snprintf(error, error_size, "%s", strerror(ENOMEM));
		return -1;
	}
	spill->folder = spill->path;
	spill->fd = mkostemp(spill->part, O_CLOEXEC);
	if (spill->fd >= 0)
		return 0;
	snprintf(error, error_size, "%s: cannot write it: %s", keep, strerror(errno));
	free(spill->part); /* there is nothing of that name to remove */
	spill->part = NULL;
	return -1;
}

int spill_open(struct spill *spill, const char *folder, const char *keep, uint64_t estimate, const char *source,
	       char *error, size_t error_size)
{
	const char *set = getenv("TMPDIR");
	const bool asked = folder || (set && *set);
	*spill = (struct spill){ .fd = -1, .folder = folder ? folder : asked ? set : DEFAULT_FOLDER };
	if (keep) {
		if (open_kept(spill, keep, error, error_size))
			return -1;
	} else {
		spill->fd = spill_unnamed(spill->folder);
		if (spill->fd < 0) {
			snprintf(error, error_size, "%s: cannot unpack to %s: %s; -o tmpdir=DIR names another folder", source,
				 spill->folder, strerror(errno));
			return -1;
		}
		if (!asked && in_memory(spill->fd)) {
			snprintf(error, error_size,
				 "%s: cannot unpack to %s, which is in memory (tmpfs); -o tmpdir=DIR names a folder, this one too",
				 source, spill->folder);
			spill_close(spill);
			return -1;
		}
	}
	struct statvfs st;
	if (!fstatvfs(spill->fd, &st)) {
		spill->reserve = (uint64_t)st.f_blocks * st.f_frsize / 16;
		spill->reserve = spill->reserve < RESERVE_MOST ? spill->reserve : RESERVE_MOST;
	}
	const uint64_t left = room(spill);
	if (estimate > left)
		fprintf(stderr,
			"heapfs: %s: unpacks to about %" PRIu64 " MB, and %s has room for %" PRIu64
			" MB; what fits will be mounted; -o tmpdir=DIR names another folder\n",
			source, estimate / 1000000, spill->folder, left / 1000000);
	return 0;
}

bool spill_rewrite(struct spill *spill, const void *data, size_t len, uint64_t offset)
{
	for (size_t done = 0; done < len;) {
		const ssize_t got = pwrite(spill->fd, (const char *)data + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (got == 0 || errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
				atomic_store(&spill->full, true);
			else
				atomic_store(&spill->error, errno);
			return false;
		}
		done += (size_t)got;
	}
	return true;
}

bool spill_write(struct spill *spill, const void *data, size_t len, uint64_t offset)
{
	if (atomic_load_explicit(&spill->full, memory_order_relaxed))
		return false;
	if (room(spill) < len) {
		atomic_store(&spill->full, true);
		return false;
	}
	return spill_rewrite(spill, data, len, offset);
}

bool spill_read(struct spill *spill, void *data, size_t len, uint64_t offset)
{
	for (size_t done = 0; done < len;) {
		const ssize_t got = pread(spill->fd, (char *)data + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			atomic_store(&spill->error, got < 0 ? errno : EIO);
			return false;
		}
		done += (size_t)got;
	}
	return true;
}

void spill_cut(struct spill *spill, uint64_t size)
{
	if (!ftruncate(spill->fd, (off_t)size))
		atomic_store(&spill->full, false);
}

int spill_finish(struct spill *spill, uint64_t size, bool whole, const struct timespec *time)
{
	int rc = ftruncate(spill->fd, (off_t)size);
	if (spill->part && whole && !rc) {
		const struct timespec times[2] = { *time, *time };
		rc = futimens(spill->fd, times) || rename(spill->part, spill->path) ? -1 : 0;
	} else if (spill->part) {
		unlink(spill->part); /* what is not whole is not kept, only mounted */
	}
	free(spill->part);
	spill->part = NULL;
	return rc;
}

void spill_close(struct spill *spill)
{
	if (spill->part)
		unlink(spill->part);
	if (spill->fd >= 0)
		close(spill->fd);
	free(spill->part);
	free(spill->path);
	*spill = (struct spill){ .fd = -1 };
}
