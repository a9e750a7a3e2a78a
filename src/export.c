/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include "unfinished.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that are made and written at once. Each read of a table writes half of a page's rows in vain: see pages.h. */
#define PIECE ((size_t)1 << 20)
/* As many links as Linux follows on one path. */
#define LINKS_MOST 40
/* The folders that are walked nest four deep in dump-<n>/. */
#define DEEPEST 16
/* Files that cannot be read, before it is given up: a dump that was cut or changed may have no other. */
#define FAILED_MOST 20

/* An answer of the tree, or EIO where the dump's bytes went away while it was made. */
static int checked(const struct exporter *exporter, uint64_t epoch, int rc)
{
	return input_unharmed(exporter->in, epoch) ? rc : EIO;
}

static const char *program_of(const struct exporter *exporter)
{
	return exporter->program ? exporter->program : "heapfs";
}

static int say(const struct exporter *exporter, const char *path, int error)
{
	const char *why = error == EIO	 ? "the dump was cut or changed while it was being read, or its disk failed" :
			  error == E2BIG ? "the dump has too many objects or references for graph/" :
					   strerror(error);
	fprintf(stderr, "%s: %s: %s: %s\n", program_of(exporter), exporter->dump, path, why);
	return -1;
}

static int write_all(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		const ssize_t written = write(fd, (const char *)data + done, len - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		done += (size_t)written;
	}
	return 0;
}

/* --- finding --- */

/* One step from `*at`: a name, "." or "..". A link's target is put into `target` and leaves `*at` where it is. */
static int step(const struct exporter *exporter, const char *name, uint64_t *at, struct text *target)
{
	struct tree *tree = exporter->tree;
	const uint64_t epoch = input_begin();
	uint64_t found;
	int rc = strcmp(name, ".") && strcmp(name, "..") ? tree_lookup(tree, *at, name, &found) : tree_parent(tree, *at, &found);
	if (!rc && !strcmp(name, "."))
		found = *at; /* and it is a folder */
	if (!rc) {
		rc = tree_readlink(tree, found, target);
		if (rc == EINVAL) { /* not a link */
			rc = 0;
			*at = found;
		}
	}
	return checked(exporter, epoch, target->failed ? ENOMEM : rc);
}

int export_find(const struct exporter *exporter, const char *path, uint64_t *ino)
{
	struct text left = { 0 }; /* of the path, NUL-terminated */
	unsigned links = 0;
	int rc = 0;
	*ino = TREE_ROOT;
	text_puts(&left, path);
	text_putc(&left, 0);
	for (size_t at = 0; !rc && !left.failed && left.data[at];) {
		struct text next = { 0 };
		const size_t len = strcspn(left.data + at, "/");
		const bool last = !left.data[at + len];
		char *name = left.data + at;
		at += len + !last;
		name[len] = 0;
		if (len)
			rc = step(exporter, name, ino, &next);
		/* Behind "name/" there is a folder. */
		if (!rc && !next.len && !last && !left.data[at])
			rc = step(exporter, ".", ino, &next);
		if (!rc && next.len) {
			if (++links > LINKS_MOST)
				rc = ELOOP;
			if (!last)
				text_putc(&next, '/');
			text_puts(&next, left.data + at);
			text_putc(&next, 0);
			const struct text done = left;
			left = next;
			next = done;
			at = 0;
		}
		text_free(&next);
	}
	if (!rc && left.failed)
		rc = ENOMEM;
	text_free(&left);
	return rc;
}

/* --- one file --- */

static int attributes(const struct exporter *exporter, uint64_t ino, struct stat *st)
{
	const uint64_t epoch = input_begin();
	return checked(exporter, epoch, tree_getattr(exporter->tree, ino, st));
}

/*
 * Both results are errno values: of reading, and of writing. attributes() was asked before: finding a table's size notes
 * where its rows are, without which each piece would be written from the table's beginning on.
 */
static int copy_file(const struct exporter *exporter, uint64_t ino, int fd, int *write_error)
{
	size_t len = PIECE;
	int rc = 0;
	*write_error = 0;
	for (uint64_t offset = 0; !rc && !*write_error && len == PIECE; offset += len) {
		const uint64_t epoch = input_begin();
		struct text text = { 0 };
		uint64_t place;
		rc = tree_read(exporter->tree, ino, offset, PIECE, &text, &place, &len);
		/* The dump's own bytes are copied, or a large dump would all be mapped in the end. */
		if (!rc && place != UINT64_MAX && len) {
			const struct input *from = input_of(exporter->in, place);
			rc = !from ? EIO : !text_reserve(&text, len) ? ENOMEM : input_read(from, place - from->base, len, text.data);
		}
		rc = checked(exporter, epoch, rc);
		if (!rc)
			*write_error = write_all(fd, text.data, len);
		text_free(&text);
	}
	return rc;
}

struct names {
	struct text text;
	uint64_t next;		/* position to go on from */
	size_t count;		/* of this round */
};

static bool take_name(void *context, const char *name, uint64_t ino, mode_t type, uint64_t next)
{
	struct names *names = context;
	(void)ino;
	(void)type;
	names->next = next;
	names->count++;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return true;
	text_puts(&names->text, name);
	text_putc(&names->text, '\n');
	return names->text.len < PIECE && !names->text.failed;
}

static int copy_names(const struct exporter *exporter, uint64_t ino, int fd, int *write_error)
{
	struct names names = { .count = 1 };
	int rc = 0;
	*write_error = 0;
	while (!rc && !*write_error && names.count) {
		const uint64_t epoch = input_begin();
		names.text.len = names.count = 0;
		rc = tree_list(exporter->tree, ino, names.next, take_name, &names);
		rc = checked(exporter, epoch, names.text.failed ? ENOMEM : rc);
		if (!rc)
			*write_error = write_all(fd, names.text.data, names.text.len);
	}
	text_free(&names.text);
	return rc;
}

int export_path(const struct exporter *exporter, const char *path, int fd, const char *name)
{
	struct stat st;
	uint64_t ino;
	int write_error = 0;
	int rc = export_find(exporter, path, &ino);
	if (rc == ENOENT) {
		fprintf(stderr, "%s: %s: there is no %s in it; heapfs --export . lists what there is\n", program_of(exporter),
			exporter->dump, path);
		return -1;
	}
	if (!rc)
		rc = attributes(exporter, ino, &st);
	if (!rc)
		rc = (S_ISDIR(st.st_mode) ? copy_names : copy_file)(exporter, ino, fd, &write_error);
	if (rc)
		return say(exporter, path, rc);
	if (!write_error)
		return 0;
	fprintf(stderr, "%s: %s: %s\n", program_of(exporter), name, strerror(write_error));
	return -1;
}

/* --- all tables --- */

/* Below the folder of a dump. Classes and threads have names of their own, so these are whole paths. */
static const char *const left_out[] = {
	"raw.hprof", "raw.loli", "objects", "instances", "roots", "callstacks",
	"graph/objects", "graph/dominators", "bitmaps/objects",
	"classes/*/statics", "classes/*/subclasses", "threads/*/frames", "threads/*/locals",
	"diff/new", "diff/removed", "diff/callstacks", /* with option baseline= */
};

struct entry {
	uint64_t ino;
	mode_t type;
	size_t name;		/* where it begins in `names` */
};

/* A round of a folder's entries. */
struct round {
	struct entry list[256];
	size_t count;
	struct text names;
	uint64_t next;
};

static bool take_entry(void *context, const char *name, uint64_t ino, mode_t type, uint64_t next)
{
	struct round *round = context;
	round->list[round->count++] = (struct entry){ ino, type, round->names.len };
	text_puts(&round->names, name);
	text_putc(&round->names, 0);
	round->next = next;
	return round->count < sizeof round->list / sizeof *round->list && !round->names.failed;
}

struct walk {
	const struct exporter *exporter;
	const char *folder;	/* as it was given */
	int fd;			/* of it */
	struct text path;	/* of what is being looked at, in it; NUL-terminated behind its end */
	size_t base;		/* where the path in the dump's own folder begins */
	unsigned depth;
	uint64_t files, bytes;
	unsigned failed;	/* files and folders that cannot be read */
	struct timespec shown;
};

static void show_progress(struct walk *walk)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	const double seconds = (double)(now.tv_sec - walk->shown.tv_sec) +
			       (double)(now.tv_nsec - walk->shown.tv_nsec) / 1e9;
	if (!walk->exporter->progress || seconds < 0.2)
		return;
	walk->shown = now;
	fprintf(stderr, "\r\033[Kheapfs: %" PRIu64 " files, %.1f MB; writing %.60s", walk->files, (double)walk->bytes / 1e6,
		walk->path.data);
}

static void end_progress(const struct walk *walk)
{
	if (walk->exporter->progress)
		fputs("\r\033[K", stderr);
}

static bool is_left_out(const struct walk *walk, const struct entry *entry)
{
	const char *path = walk->path.data + walk->base;
	if (S_ISLNK(entry->type) || tree_changes(entry->ino))
		return true;
	for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
		if (!fnmatch(left_out[i], path, FNM_PATHNAME | FNM_NOESCAPE))
			return true;
	return false;
}

/* Why `walk->path` cannot be written. */
static int cannot_write(const struct walk *walk, int error)
{
	end_progress(walk);
	fprintf(stderr, "heapfs: %s/%s: %s; %" PRIu64 " files before it are whole\n", walk->folder, walk->path.data,
		strerror(error), walk->files);
	return -1;
}

/* Why `walk->path` cannot be read. Not 0 when there were too many like it. */
static int pass_over(struct walk *walk, int error)
{
	end_progress(walk);
	say(walk->exporter, *walk->path.data ? walk->path.data : "its top folder", error);
	if (++walk->failed < FAILED_MOST)
		return 0;
	fprintf(stderr, "heapfs: %s: %u files cannot be read; given up\n", walk->exporter->dump, walk->failed);
	return -1;
}

/* Access as to the dump itself, which may be private; times as in the tree. */
static int open_new(const struct walk *walk, const struct stat *st)
{
	return openat(walk->fd, walk->path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (st->st_mode & 0444) | 0200);
}

static int walk_file(struct walk *walk, const struct entry *entry)
{
	struct stat st;
	int write_error = 0;
	show_progress(walk);
	int rc = attributes(walk->exporter, entry->ino, &st);
	if (!rc) {
		const struct timespec times[2] = { st.st_atim, st.st_mtim };
		unfinished_is(walk->fd, walk->path.data);
		const int fd = open_new(walk, &st);
		if (fd < 0) {
			unfinished_none();
			return cannot_write(walk, errno);
		}
		rc = copy_file(walk->exporter, entry->ino, fd, &write_error);
		if (!rc && !write_error && futimens(fd, times))
			write_error = errno;
		/* Some file systems say only now that the disk is full. */
		if (close(fd) && !write_error)
			write_error = errno;
		if (rc || write_error)
			unlinkat(walk->fd, walk->path.data, 0);
		unfinished_none();
	}
	if (write_error)
		return cannot_write(walk, write_error);
	if (rc)
		return pass_over(walk, rc);
	walk->files++;
	walk->bytes += (uint64_t)st.st_size;
	return 0;
}

static int walk_entries(struct walk *walk, uint64_t ino);

static int walk_folder(struct walk *walk, const struct entry *entry)
{
	struct stat st;
	int rc = attributes(walk->exporter, entry->ino, &st);
	if (rc)
		return pass_over(walk, rc);
	const struct timespec times[2] = { st.st_atim, st.st_mtim };
	const size_t base = walk->base;
	if (mkdirat(walk->fd, walk->path.data, (st.st_mode & 0555) | 0700))
		return cannot_write(walk, errno);
	if (!walk->depth && !fnmatch("dump-[0-9]*", walk->path.data, 0))
		walk->base = walk->path.len + 1;
	walk->depth++;
	rc = walk_entries(walk, entry->ino);
	walk->depth--;
	walk->base = base;
	/* One without anything that is wanted goes again. */
	if (unlinkat(walk->fd, walk->path.data, AT_REMOVEDIR))
		utimensat(walk->fd, walk->path.data, times, 0);
	return rc;
}

static int walk_entry(struct walk *walk, const struct entry *entry, const char *name)
{
	const size_t len = walk->path.len;
	int rc = 0;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (len)
		text_putc(&walk->path, '/');
	text_puts(&walk->path, name);
	text_putc(&walk->path, 0);
	if (walk->path.failed)
		return say(walk->exporter, name, ENOMEM);
	walk->path.len--;
	if (!is_left_out(walk, entry))
		rc = S_ISDIR(entry->type) ? walk_folder(walk, entry) : walk_file(walk, entry);
	walk->path.len = len;
	walk->path.data[len] = 0;
	return rc;
}

/* All that is in a folder, which `walk->path` is. Not 0 when nothing more should be tried. */
static int walk_entries(struct walk *walk, uint64_t ino)
{
	struct round *round = calloc(1, sizeof *round);
	int rc = round ? 0 : say(walk->exporter, walk->path.data, ENOMEM);
	bool more = walk->depth < DEEPEST;
	while (!rc && more) {
		const uint64_t epoch = input_begin();
		round->count = round->names.len = 0;
		int error = tree_list(walk->exporter->tree, ino, round->next, take_entry, round);
		error = checked(walk->exporter, epoch, round->names.failed ? ENOMEM : error);
		if (error) {
			rc = pass_over(walk, error);
			break;
		}
		more = round->count != 0;
		for (size_t i = 0; i < round->count && !rc; i++)
			rc = walk_entry(walk, &round->list[i], round->names.data + round->list[i].name);
	}
	if (round)
		text_free(&round->names);
	free(round);
	return rc;
}

/* A descriptor of the folder, which is made; or -1, and it was said why. */
static int open_folder(const char *folder)
{
	const bool made = !mkdir(folder, 0777);
	const int fd = !made && errno != EEXIST ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : opendir(folder);
	if (!listing) {
		fprintf(stderr, "heapfs: %s: %s\n", folder, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	bool empty = true;
	for (const struct dirent *entry; empty && (entry = readdir(listing));)
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(listing);
	if (empty)
		return fd;
	fprintf(stderr, "heapfs: %s: is not empty; --export-all wants a folder that is new or empty\n", folder);
	close(fd);
	return -1;
}

int export_all(const struct exporter *exporter, const char *folder)
{
	struct walk walk = { .exporter = exporter, .folder = folder, .fd = open_folder(folder) };
	if (walk.fd < 0)
		return -1;
	text_putc(&walk.path, 0);
	walk.path.len = 0;
	unfinished_begin();
	const int rc = walk.path.failed ? say(exporter, folder, ENOMEM) : walk_entries(&walk, TREE_ROOT);
	unfinished_end();
	end_progress(&walk);
	text_free(&walk.path);
	close(walk.fd);
	return rc || walk.failed ? -1 : 0;
}
