/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treecheck: walks a mounted tree and checks that what its system calls say of it agrees, in the ways that
 * programs rely on and tools that merely copy do not notice: see the check_ functions. Knows nothing of heap
 * dumps. Prints what it counted; each contradiction is a line, and the exit status is 0 only without any.
 *
 * It tries to make, change and remove things, to see that each is refused. So it refuses to run on anything that
 * is not mounted read-only, and never leaves the filesystem that it was started on.
 *
 * The work can be bounded. A budget of entries is then shared out fairly: of each folder half is spent on its
 * own entries, evenly spaced, the rest on folders in it. Listings are always read whole.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MOST_PROBLEMS 50
#define LEAST_SHARE 8		/* entries that any folder gets to check */
#define WHOLE_SEEKS 48		/* folders up to this size: every position and the whole rest; above: samples */
#define SEEK_SAMPLES 64
#define DATA_PROBES 6		/* reads at random places, a file */

struct entry {
	char *name;
	long at;		/* telldir() before it was read */
	uint64_t ino;
	unsigned char type;
};

struct folder {
	struct entry *entries;
	size_t count, capacity;
	uint64_t dot, dotdot;	/* inode numbers, 0: not listed */
};

static struct {
	uint64_t folders, files, links, listed, bytes, unread_files, seeks;
} counted;

static uint64_t most_bytes = UINT64_C(64) << 20;
static char path[65536];	/* of what is being checked, for messages */
static dev_t device;
static struct timespec mtime;
static struct {
	uint64_t bytes, blocks;
} dominated;	/* so far */
static unsigned problems;
static uint64_t random_state = 88172645463325252;

/* Inode numbers seen, a hash with the path each was seen under. */
static struct {
	uint64_t ino;
	char *path;
} *seen;
static size_t seen_slots, seen_count;

__attribute__((format(printf, 1, 2))) static void problem(const char *format, ...)
{
	va_list args;
	if (problems++ >= MOST_PROBLEMS)
		return;
	printf("%s: ", path);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void *checked(void *memory)
{
	if (!memory) {
		perror("treecheck");
		exit(2);
	}
	return memory;
}

static uint64_t random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

static void note_ino(uint64_t ino)
{
	if (seen_count * 2 >= seen_slots) {
		const size_t old_slots = seen_slots;
		typeof(seen) old = seen;
		seen_slots = old_slots ? old_slots * 2 : 4096;
		seen = checked(calloc(seen_slots, sizeof *seen));
		for (size_t i = 0; i < old_slots; i++)
			if (old[i].path) {
				size_t at = (size_t)(old[i].ino * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (seen_slots - 1);
				while (seen[at].path)
					at = (at + 1) & (seen_slots - 1);
				seen[at] = old[i];
			}
		free(old);
	}
	size_t at = (size_t)(ino * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (seen_slots - 1);
	for (; seen[at].path; at = (at + 1) & (seen_slots - 1))
		if (seen[at].ino == ino) {
			problem("inode number %" PRIu64 " is also that of %s", ino, seen[at].path);
			return;
		}
	seen[at].ino = ino;
	seen[at].path = checked(strdup(path));
	seen_count++;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Bytes of the UTF-8 character at `p`, 0 if there is none. */
static unsigned utf8_len(const unsigned char *p)
{
	const unsigned len = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 :
			     p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
	for (unsigned i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return len;
}

/* A name must survive being copied to any other filesystem, and being printed. */
static void check_name(const char *name)
{
	const unsigned char *p = (const unsigned char *)name;
	const size_t len = strlen(name);
	if (!len || len > 255)
		problem("a name of %zu bytes", len);
	if (name[0] == '-' || name[0] == ' ')
		problem("a name that begins with '%c'", name[0]);
	if (len && (name[len - 1] == '.' || name[len - 1] == ' '))
		problem("a name that ends in '%c'", name[len - 1]);
	while (*p) {
		const unsigned used = utf8_len(p);
		if (!used) {
			problem("a name that is not UTF-8");
			return;
		}
		if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
			problem("a control character in a name");
		else if (strchr("/\\:*?\"<>|", *p))
			problem("'%c' in a name", *p);
		p += used;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct entry *const *)a)->name, (*(const struct entry *const *)b)->name);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(a, (*(const struct entry *const *)b)->name);
}

static struct entry **sorted(const struct folder *folder)
{
	struct entry **order = checked(calloc(folder->count + 1, sizeof *order));
	for (size_t i = 0; i < folder->count; i++)
		order[i] = &folder->entries[i];
	qsort(order, folder->count, sizeof *order, by_name);
	return order;
}

static void read_folder(DIR *dir, struct folder *folder)
{
	const struct dirent *d;
	*folder = (struct folder){ .entries = NULL };
	for (long at = telldir(dir); (void)(errno = 0), (d = readdir(dir)); at = telldir(dir)) {
		if (!strcmp(d->d_name, ".")) {
			folder->dot = d->d_ino;
			continue;
		}
		if (!strcmp(d->d_name, "..")) {
			folder->dotdot = d->d_ino;
			continue;
		}
		if (folder->count == folder->capacity) {
			folder->capacity = folder->capacity ? folder->capacity * 2 : 64;
			folder->entries = checked(realloc(folder->entries, folder->capacity * sizeof *folder->entries));
		}
		folder->entries[folder->count++] = (struct entry){ .name = checked(strdup(d->d_name)), .at = at,
								   .ino = d->d_ino, .type = d->d_type };
	}
	if (errno)
		problem("readdir: %s", strerror(errno));
	counted.listed += folder->count;
}

/* From each position the listing goes on as it did the first time. */
static void check_seek(DIR *dir, const struct folder *folder)
{
	const bool whole = folder->count <= WHOLE_SEEKS;
	const size_t step = whole || folder->count < SEEK_SAMPLES ? 1 : folder->count / SEEK_SAMPLES;
	const struct dirent *d;
	for (size_t i = 0; i < folder->count; i += step) {
		/* Backwards, so that each step is a jump. */
		const size_t from = folder->count - 1 - i;
		size_t now = from;
		seekdir(dir, folder->entries[from].at);
		counted.seeks++;
		while ((d = readdir(dir))) {
			if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
				continue;
			if (now >= folder->count || strcmp(d->d_name, folder->entries[now].name)) {
				problem("after seekdir to entry %zu, entry %zu is %s", from, now, d->d_name);
				return;
			}
			now++;
			if (!whole && now - from >= 3)
				break;
		}
		if (!d && now != folder->count)
			problem("after seekdir to entry %zu the listing ends at %zu of %zu", from, now, folder->count);
	}
	rewinddir(dir);
	size_t again = 0;
	while ((d = readdir(dir)))
		again += strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
	if (again != folder->count)
		problem("%zu entries the first time, %zu after rewinddir", folder->count, again);
}

static void expect_error(const char *what, int result, int wanted)
{
	if (result >= 0)
		problem("%s: succeeds instead of: %s", what, strerror(wanted));
	else if (errno != wanted)
		problem("%s: %s instead of: %s", what, strerror(errno), strerror(wanted));
}

static void expect_no_file(int fd, const char *name, struct entry **order, size_t count)
{
	struct stat st;
	if (bsearch(name, order, count, sizeof *order, by_key))
		return;
	if (!fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
		problem("'%s' is not listed but found", name);
	else if (errno != ENOENT)
		problem("'%s': %s instead of: %s", name, strerror(errno), strerror(ENOENT));
}

/* Names that are not listed are not found, even those that look like listed ones. */
static void check_strangers(int fd, struct entry **order, size_t count)
{
	char name[300], long_name[258];
	struct stat st;
	memset(long_name, 'n', 256);
	long_name[256] = 0;
	expect_error("lstat of a name of 256 bytes", fstatat(fd, long_name, &st, AT_SYMLINK_NOFOLLOW), ENAMETOOLONG);
	long_name[255] = 0;
	expect_error("lstat of a name of 255 bytes", fstatat(fd, long_name, &st, AT_SYMLINK_NOFOLLOW), ENOENT);
	expect_no_file(fd, ".hidden", order, count);
	for (size_t i = 0; i < count; i += count / 4 + 1) {
		const char *known = order[i]->name;
		snprintf(name, sizeof name, "%.250s~", known);
		expect_no_file(fd, name, order, count);
		snprintf(name, sizeof name, "0%.250s", known);
		expect_no_file(fd, name, order, count);
		snprintf(name, sizeof name, "%.250s", known);
		for (char *c = name; *c; c++)
			*c = (char)(isalpha((unsigned char)*c) ? *c ^ 0x20 : *c);
		expect_no_file(fd, name, order, count);
		if (!strncmp(known, "0x", 2)) {
			snprintf(name, sizeof name, "0x0%.240s", known + 2);
			expect_no_file(fd, name, order, count);
			expect_no_file(fd, known + 2, order, count);
		}
		snprintf(name, sizeof name, "%.250s", known);
		name[strlen(name) - 1] = 0;
		if (*name)
			expect_no_file(fd, name, order, count);
	}
	expect_error("mkdir", mkdirat(fd, "not there yet", 0777), EROFS);
	expect_error("making a file", openat(fd, "not there yet", O_WRONLY | O_CREAT, 0666), EROFS);
	expect_error("symlink", symlinkat("target", fd, "not there yet"), EROFS);
	expect_error("read of a folder", (int)read(fd, name, 1), EISDIR);
	if (count) {
		expect_error("unlink", unlinkat(fd, order[0]->name, order[0]->type == DT_DIR ? AT_REMOVEDIR : 0), EROFS);
		expect_error("rename", renameat(fd, order[0]->name, fd, "not there yet"), EROFS);
	}
}

/* The bytes, read to the end and at random places with nothing cached, are as many as st_size, and the same. */
static void check_data(int fd, const struct stat *st)
{
	const uint64_t size = (uint64_t)st->st_size;
	char *data = checked(malloc(size + 65536)), *probe = checked(malloc(70000));
	uint64_t len = 0;
	ssize_t n;
	while ((n = read(fd, data + len, len < size + 1 ? 65536 : 0)) > 0)
		len += (uint64_t)n;
	if (n < 0)
		problem("read at %" PRIu64 ": %s", len, strerror(errno));
	else if (len != size)
		problem("st_size is %" PRIu64 ", but %" PRIu64 " bytes can be read", size, len);
	counted.bytes += len;
	if (ends_with(path, "/graph/progress.txt")) /* the one file that changes */
		len = 0;
	for (unsigned i = 0; i < DATA_PROBES && len == size; i++) {
		/* The first ones begin before the end, the last at and behind it. */
		const uint64_t at = i < DATA_PROBES - 2 ? random_below(size + 1) : size + (i - (DATA_PROBES - 2)) * 4096;
		const size_t wanted = 1 + (size_t)random_below(i % 2 ? 70000 : 600);
		const uint64_t left = at < size ? size - at : 0;
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		n = pread(fd, probe, wanted, (off_t)at);
		if (n < 0)
			problem("pread of %zu at %" PRIu64 ": %s", wanted, at, strerror(errno));
		else if ((uint64_t)n != (wanted < left ? wanted : left))
			problem("pread of %zu at %" PRIu64 " of %" PRIu64 ": %zd bytes", wanted, at, size, n);
		else if (n && memcmp(probe, data + at, (size_t)n))
			problem("pread of %zu at %" PRIu64 " gives other bytes than reading from the start", wanted, at);
	}
	free(data);
	free(probe);
}

/* In graph/dominators folders take no room, and files what the objects that they stand for do; so it is in callstacks. */
static bool of_dominators(void)
{
	return strstr(path, "/graph/dominators/") || ends_with(path, "/graph/dominators") || strstr(path, "/callstacks/") ||
	       ends_with(path, "/callstacks");
}

static void check_file(int folder, const char *name, const struct stat *st)
{
	char below[300], c;
	const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW);
	counted.files++;
	if (st->st_nlink != 1)
		problem("a file with %ju links", (uintmax_t)st->st_nlink);
	if (of_dominators()) {
		dominated.bytes += (uint64_t)st->st_size;
		dominated.blocks += (uint64_t)st->st_blocks;
	} else if (st->st_blocks != (st->st_size + 511) / 512)
		problem("%jd bytes, but %jd blocks", (intmax_t)st->st_size, (intmax_t)st->st_blocks);
	if (fd < 0) {
		problem("open: %s", strerror(errno));
		return;
	}
	if ((uint64_t)st->st_size <= most_bytes)
		check_data(fd, st);
	else
		counted.unread_files++;
	expect_error("write", (int)write(fd, "x", 1), EBADF);
	close(fd);
	if (counted.files % 16 != 1)
		return;
	snprintf(below, sizeof below, "%s/x", name);
	expect_error("a file as a folder", fstatat(folder, below, &(struct stat){ 0 }, 0), ENOTDIR);
	expect_error("open as a folder", openat(folder, name, O_RDONLY | O_DIRECTORY), ENOTDIR);
	expect_error("open to write", openat(folder, name, O_WRONLY), EROFS);
	expect_error("open to read and write", openat(folder, name, O_RDWR), EROFS);
	expect_error("open to cut", openat(folder, name, O_WRONLY | O_TRUNC), EROFS);
	expect_error("access to write", faccessat(folder, name, W_OK, 0), EROFS);
	expect_error("chmod", fchmodat(folder, name, 0777, 0), EROFS);
	expect_error("utimes", utimensat(folder, name, NULL, 0), EROFS);
	expect_error("link", linkat(folder, name, folder, "not there yet", 0), EROFS);
	expect_error("readlink of a file", (int)readlinkat(folder, name, &c, 1), EINVAL);
}

/* Text is as long as said, relative, and leads to something inside the tree. */
static void check_link(int folder, const char *name, const struct stat *st)
{
	char text[4097];
	struct stat target;
	const ssize_t len = readlinkat(folder, name, text, sizeof text - 1);
	counted.links++;
	if (len < 0) {
		problem("readlink: %s", strerror(errno));
		return;
	}
	text[len] = 0;
	if (len != st->st_size)
		problem("st_size is %jd, but the link's text has %zd bytes", (intmax_t)st->st_size, len);
	if (st->st_nlink != 1)
		problem("a link with %ju links", (uintmax_t)st->st_nlink);
	if (text[0] == '/')
		problem("leads to %s, which is not relative", text);
	if (fstatat(folder, name, &target, 0))
		problem("leads to %s: %s", text, strerror(errno));
	else if (target.st_dev != device)
		problem("leads to %s, outside of the tree", text);
}

static void check_entry(int folder, const struct entry *entry, struct stat *st)
{
	static const unsigned char types[16] = { [S_IFREG >> 12] = DT_REG, [S_IFDIR >> 12] = DT_DIR,
						 [S_IFLNK >> 12] = DT_LNK };
	check_name(entry->name);
	if (fstatat(folder, entry->name, st, AT_SYMLINK_NOFOLLOW)) {
		problem("is listed, but: %s", strerror(errno));
		st->st_mode = 0;
		return;
	}
	const unsigned char type = types[st->st_mode >> 12 & 15];
	if (!type || type != entry->type)
		problem("d_type is %u, st_mode is 0%o", entry->type, st->st_mode);
	if (entry->ino != st->st_ino)
		problem("d_ino is %" PRIu64 ", st_ino is %ju", entry->ino, (uintmax_t)st->st_ino);
	if (!entry->ino || entry->ino >> 53)
		problem("inode number %" PRIu64, entry->ino);
	if (st->st_dev != device)
		problem("another device");
	if (ends_with(path, "/graph/progress.txt"))
		; /* so does it */
	else if (st->st_mtim.tv_sec != mtime.tv_sec || st->st_mtim.tv_nsec != mtime.tv_nsec)
		problem("its time is not that of the root");
	if (st->st_mode & 0222 && type != DT_LNK)
		problem("mode 0%o", st->st_mode);
	note_ino(st->st_ino);
	if (st->st_dev != device)
		return;
	if (type == DT_REG)
		check_file(folder, entry->name, st);
	else if (type == DT_LNK)
		check_link(folder, entry->name, st);
}

/* Nothing is tried that would change a filesystem that can be changed. */
static bool is_read_only(int fd)
{
	struct statvfs fs;
	return !fstatvfs(fd, &fs) && (fs.f_flag & ST_RDONLY);
}

static void check_folder(int fd, uint64_t parent, uint64_t budget);

/* Checks `share` of the entries, evenly spaced, and goes into folders with what is left. */
static void check_entries(int fd, uint64_t own_ino, const struct folder *folder, uint64_t budget)
{
	const size_t path_len = strlen(path);
	const uint64_t share = budget == UINT64_MAX ? budget : budget / 2 < LEAST_SHARE ? LEAST_SHARE : budget / 2;
	const size_t step = folder->count > share ? (folder->count + share - 1) / share : 1;
	uint64_t folders = 0;
	for (size_t i = 0; i < folder->count; i += step)
		folders += folder->entries[i].type == DT_DIR;
	const uint64_t each = budget == UINT64_MAX ? budget : folders ? budget / 2 / folders : 0;
	for (size_t i = 0; i < folder->count; i += step) {
		const struct entry *entry = &folder->entries[i];
		struct stat st;
		snprintf(path + path_len, sizeof path - path_len, "/%s", entry->name);
		check_entry(fd, entry, &st);
		if (S_ISDIR(st.st_mode)) {
			const int below = openat(fd, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
			if (below < 0)
				problem("open: %s", strerror(errno));
			else
				check_folder(below, own_ino, each);
		}
		path[path_len] = 0;
	}
}

/* Everything about the folder open as `fd`, which is closed. */
static void check_folder(int fd, uint64_t parent, uint64_t budget)
{
	struct stat st;
	struct folder folder;
	counted.folders++;
	if (fstat(fd, &st)) {
		problem("fstat: %s", strerror(errno));
		close(fd);
		return;
	}
	if (st.st_dev != device || !is_read_only(fd)) {
		problem("another filesystem: not looked into");
		close(fd);
		return;
	}
	const bool sized = of_dominators();
	const typeof(dominated) before = dominated;
	if (st.st_nlink != 1 || st.st_size != (sized ? 0 : 4096) || st.st_blocks != (sized ? 0 : 8))
		problem("a folder with %ju links, %jd bytes, %jd blocks", (uintmax_t)st.st_nlink, (intmax_t)st.st_size,
			(intmax_t)st.st_blocks);
	DIR *dir = checked(fdopendir(fd));
	read_folder(dir, &folder);
	if (folder.dot != st.st_ino)
		problem("'.' has inode number %" PRIu64 ", the folder %ju", folder.dot, (uintmax_t)st.st_ino);
	if (!folder.dotdot || (parent && folder.dotdot != parent))
		problem("'..' has inode number %" PRIu64 ", the folder above %" PRIu64, folder.dotdot, parent);
	struct entry **order = sorted(&folder);
	for (size_t i = 1; i < folder.count; i++)
		if (!strcmp(order[i - 1]->name, order[i]->name))
			problem("lists '%s' twice", order[i]->name);
	check_seek(dir, &folder);
	check_strangers(fd, order, folder.count);
	free(order);
	check_entries(fd, st.st_ino, &folder, budget);
	/* All below is rounded down together: du shows what the object of the folder retains. */
	if (sized && budget == UINT64_MAX && !ends_with(path, "/graph/dominators") && !ends_with(path, "/callstacks") &&
	    (dominated.bytes - before.bytes) / 512 != dominated.blocks - before.blocks)
		problem("%" PRIu64 " bytes in %" PRIu64 " blocks", dominated.bytes - before.bytes, dominated.blocks - before.blocks);
	for (size_t i = 0; i < folder.count; i++)
		free(folder.entries[i].name);
	free(folder.entries);
	closedir(dir);
}

int main(int argc, char **argv)
{
	uint64_t budget = UINT64_MAX;
	struct statvfs fs;
	struct stat st;
	int at = 1;
	for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2)
		if (!strcmp(argv[at], "--max-files"))
			budget = strtoull(argv[at + 1], NULL, 10);
		else if (!strcmp(argv[at], "--max-bytes"))
			most_bytes = strtoull(argv[at + 1], NULL, 10);
		else
			break;
	if (at + 1 != argc) {
		fputs("usage: treecheck [--max-files N] [--max-bytes N] FOLDER\n"
		      "  --max-files N   look at about N entries, spread over the tree\n"
		      "  --max-bytes N   do not read files that are larger (67108864)\n", stderr);
		return 2;
	}
	const int fd = open(argv[at], O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fstat(fd, &st) || fstatvfs(fd, &fs)) {
		perror(argv[at]);
		return 2;
	}
	if (!is_read_only(fd)) {
		fprintf(stderr, "treecheck: %s: not mounted read-only; checks would change it\n", argv[at]);
		return 2;
	}
	snprintf(path, sizeof path, "%s", argv[at]);
	device = st.st_dev;
	mtime = st.st_mtim;
	note_ino(st.st_ino);
	if (fs.f_namemax != 255 || !fs.f_blocks || !fs.f_files)
		problem("statvfs: namemax %lu, %ju blocks, %ju files, flags %lx", fs.f_namemax, (uintmax_t)fs.f_blocks,
			(uintmax_t)fs.f_files, fs.f_flag);
	check_folder(fd, 0, budget);
	printf("%" PRIu64 " folders, %" PRIu64 " files, %" PRIu64 " links checked; %" PRIu64 " entries listed, %" PRIu64
	       " seeks, %" PRIu64 " bytes read, %" PRIu64 " files not read; %u problems\n",
	       counted.folders, counted.files, counted.links, counted.listed, counted.seeks, counted.bytes,
	       counted.unread_files, problems);
	for (size_t i = 0; i < seen_slots; i++)
		free(seen[i].path);
	free(seen);
	return problems ? 1 : 0;
}
