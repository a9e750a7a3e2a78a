/* SPDX-License-Identifier: Apache-2.0 */
#include "input/picture_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct picture_folder *folder, const char *name)
{
	if (folder->count == folder->capacity) {
		const size_t wanted = folder->capacity ? 2 * folder->capacity : 64;
		char **grown = reallocarray(folder->names, wanted, sizeof *grown);
		if (!grown)
			return -1;
		folder->names = grown;
		folder->capacity = wanted;
	}
	folder->names[folder->count] = strdup(name);
	return folder->names[folder->count] ? (folder->count++, 0) : -1;
}

int picture_folder_open(struct picture_folder *folder, int at, const char *path, bool follow,
			bool (*wanted)(const char *name))
{
	*folder = (struct picture_folder){ .fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
									  (follow ? 0 : O_NOFOLLOW)) };
	/* A stream of its own, since closing it closes the descriptor. */
	const int fd = folder->fd < 0 ? -1 : fcntl(folder->fd, F_DUPFD_CLOEXEC, 3);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	if (!stream) {
		const int error = errno;
		if (fd >= 0)
			close(fd);
		errno = error;
		return -1;
	}
	int rc = 0;
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(stream);
		if (!entry) {
			rc = errno ? -1 : 0;
			break;
		}
		if (*entry->d_name == '.')
			continue;
		if (!wanted(entry->d_name)) {
			folder->others++;
		} else if (folder->count == PICTURES_MOST) {
			folder->left_out++;
		} else if (add_name(folder, entry->d_name)) {
			errno = ENOMEM;
			rc = -1;
			break;
		}
	}
	const int error = errno;
	closedir(stream);
	if (folder->count)
		qsort(folder->names, folder->count, sizeof *folder->names, compare_names);
	errno = error;
	return rc;
}

void picture_folder_close(struct picture_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		free(folder->names[i]);
	free(folder->names);
	if (folder->fd >= 0)
		close(folder->fd);
	*folder = (struct picture_folder){ .fd = -1 };
}

int picture_file_open(int folder, const char *name, bool follow, struct stat *st)
{
	/* A pipe does not block it. */
	const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
	if (fd < 0) {
		errno = errno == ELOOP || errno == ENXIO ? EINVAL : errno; /* a link, a socket */
		return -1;
	}
	const int error = fstat(fd, st) ? errno : S_ISREG(st->st_mode) ? 0 : EINVAL;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

bool picture_begins(const uint8_t *data, uint64_t len)
{
	return len > 12 && (!memcmp(data, "\x89PNG\r\n\x1a\n", 8) || !memcmp(data, "\xff\xd8\xff", 3) ||
			    (!memcmp(data, "RIFF", 4) && !memcmp(data + 8, "WEBP", 4)));
}

bool picture_named(const char *name)
{
	static const char *const endings[] = { ".png", ".jpg", ".jpeg", ".webp" };
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
		if (!strcmp(dot, endings[i]))
			return true;
	return false;
}

uint64_t picture_pointer(const char *name)
{
	for (const char *p = strstr(name, "0x"); p; p = strstr(p + 1, "0x")) {
		char *end;
		const uint64_t value = strtoull(p, &end, 16);
		if (end - p > 2 && end - p <= 18)
			return value;
	}
	return 0;
}

uint64_t picture_id(const char *name)
{
	static const char start[] = "bitmap-";
	char *end;
	if (strncmp(name, start, sizeof start - 1) || name[sizeof start - 1] < '0' || name[sizeof start - 1] > '9')
		return 0;
	errno = 0;
	const uint64_t id = strtoull(name + sizeof start - 1, &end, 10);
	return errno || *end != '.' || !picture_named(end) ? 0 : id;
}
