/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barefs: how fast can a tree of this shape be at all? A filesystem on libfuse's low-level interface that
 * serves made-up files from memory and does nothing else, as the reference of the benchmark.
 *
 * FILES files of SIZE bytes, all with the same text, lie in folders of 2,048, each with a link beside it, as a
 * class's instances do in heapfs. What heapfs asks of the kernel is asked here too: no open, no opendir,
 * attributes with each listing, everything cached for ever, as many threads as there are cores.
 *
 * It returns when the tree is there, and ends when it is unmounted.
 */
#include <errno.h>
#include <float.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPLIT 2048
#define FIRST_ID UINT64_C(0x7fa000000)
#define ID_STEP 24

/* ino = number << 2 | kind; the root is 1, FUSE_ROOT_ID. */
enum kind { KIND_LINK, KIND_ROOT, KIND_FOLDER, KIND_FILE };

static uint64_t files, folders;
static size_t size;
static char *text;

static fuse_ino_t make_ino(enum kind kind, uint64_t number)
{
	/* Link number 0 would be inode 0. */
	return (kind == KIND_LINK ? number + 1 : number) << 2 | kind;
}

static enum kind kind_of(fuse_ino_t ino)
{
	return (enum kind)(ino & 3);
}

static uint64_t number_of(fuse_ino_t ino)
{
	return (ino >> 2) - (kind_of(ino) == KIND_LINK);
}

#define NAME_SIZE 64
static int put_name(char *name, enum kind kind, uint64_t number)
{
	if (kind == KIND_FOLDER)
		return snprintf(name, NAME_SIZE, "%07" PRIu64, number * SPLIT);
	return snprintf(name, NAME_SIZE, "0x%" PRIx64 "%s", FIRST_ID + number * ID_STEP, kind == KIND_FILE ? ".txt" : "");
}

static int put_target(char *target, uint64_t number)
{
	const uint64_t id = FIRST_ID + number * ID_STEP;
	return snprintf(target, NAME_SIZE, "../../../objects/%" PRIx64 "/%x/0x%" PRIx64, id >> 28,
			(unsigned)(id >> 16 & 0xfff), id);
}

static void put_attributes(fuse_ino_t ino, struct stat *st)
{
	static const mode_t modes[] = { S_IFLNK | 0777, S_IFDIR | 0555, S_IFDIR | 0555, S_IFREG | 0444 };
	char target[NAME_SIZE];
	*st = (struct stat){ .st_ino = ino, .st_mode = modes[kind_of(ino)], .st_nlink = 1, .st_blksize = 4096 };
	switch (kind_of(ino)) {
	case KIND_LINK:
		st->st_size = put_target(target, number_of(ino));
		break;
	case KIND_FILE:
		st->st_size = (off_t)size;
		st->st_blocks = (blkcnt_t)((size + 511) / 512);
		break;
	default:
		st->st_size = 4096;
		st->st_blocks = 8;
	}
}

static void make_entry(fuse_ino_t ino, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){ .ino = ino, .generation = 1, .attr_timeout = DBL_MAX, .entry_timeout = DBL_MAX };
	put_attributes(ino, &entry->attr);
}

static void op_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	static const unsigned wanted = FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS;
	conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
	conn->want |= conn->capable & wanted;
}

/* How many entries a folder has besides the dots. */
static uint64_t entries_of(fuse_ino_t folder)
{
	if (kind_of(folder) == KIND_ROOT)
		return folders;
	const uint64_t first = number_of(folder) * SPLIT;
	return 2 * (files - first < SPLIT ? files - first : SPLIT);
}

static fuse_ino_t entry_of(fuse_ino_t folder, uint64_t i)
{
	if (kind_of(folder) == KIND_ROOT)
		return make_ino(KIND_FOLDER, i);
	return make_ino(i % 2 ? KIND_LINK : KIND_FILE, number_of(folder) * SPLIT + i / 2);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = { .entry_timeout = DBL_MAX };
	char right[NAME_SIZE];
	uint64_t number;
	enum kind kind = KIND_FOLDER;
	bool exists;
	if (kind_of(parent) == KIND_ROOT) {
		number = strtoull(name, NULL, 10) / SPLIT;
		exists = number < folders;
	} else {
		const uint64_t id = strtoull(name, NULL, 16);
		number = id < FIRST_ID ? files : (id - FIRST_ID) / ID_STEP;
		kind = strchr(name, '.') ? KIND_FILE : KIND_LINK;
		exists = number < files && number / SPLIT == number_of(parent);
	}
	put_name(right, kind, number);
	if (exists && !strcmp(name, right))
		make_entry(make_ino(kind, number), &entry);
	fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	(void)fi;
	put_attributes(ino, &st);
	fuse_reply_attr(req, &st, DBL_MAX);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[NAME_SIZE];
	put_target(target, number_of(ino));
	fuse_reply_readlink(req, target);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t want, off_t offset, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	const size_t at = (size_t)offset < size ? (size_t)offset : size;
	fuse_reply_buf(req, text + at, want < size - at ? want : size - at);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t folder, size_t want, off_t offset, struct fuse_file_info *fi)
{
	(void)fi;
	char *buffer = malloc(want);
	size_t len = 0;
	if (!buffer) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	for (uint64_t at = (uint64_t)offset; at < 2 + entries_of(folder); at++) {
		struct fuse_entry_param entry = { .attr = { .st_ino = folder, .st_mode = S_IFDIR } };
		char name[NAME_SIZE];
		if (at < 2) {
			strcpy(name, at ? ".." : ".");
		} else {
			make_entry(entry_of(folder, at - 2), &entry);
			put_name(name, kind_of(entry.ino), number_of(entry.ino));
		}
		const size_t used = fuse_add_direntry_plus(req, buffer + len, want - len, name, &entry, (off_t)at + 1);
		if (used > want - len)
			break;
		len += used;
	}
	fuse_reply_buf(req, buffer, len);
	free(buffer);
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.opendir = op_open,
	.read = op_read,
	.readdirplus = op_readdirplus,
};

static int serve(struct fuse_session *session, const char *mount_point)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int rc = 1;
	if (!config)
		return 1;
	fuse_loop_cfg_set_max_threads(config, cores < 2 ? 2 : cores > 16 ? 16 : (unsigned)cores);
	if (!fuse_set_signal_handlers(session)) {
		if (!fuse_session_mount(session, mount_point)) {
			if (!fuse_daemonize(0))
				rc = fuse_session_loop_mt(session, config) < 0;
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_loop_cfg_destroy(config);
	return rc;
}

int main(int argc, char **argv)
{
	static char name[] = "barefs", option[] = "-o", options[] = "ro,default_permissions,subtype=barefs,fsname=barefs";
	char *fuse_argv[] = { name, option, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, fuse_argv);
	if (argc != 4) {
		fprintf(stderr, "usage: barefs FILES SIZE MOUNTPOINT\n");
		return 2;
	}
	files = strtoull(argv[1], NULL, 10);
	size = (size_t)strtoull(argv[2], NULL, 10);
	folders = (files + SPLIT - 1) / SPLIT;
	text = malloc(size + 1);
	if (!text)
		return 1;
	/* Lines, as a text has them. */
	for (size_t i = 0; i < size; i++)
		text[i] = i % 40 == 39 ? '\n' : (char)('a' + i % 26);
	struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, NULL);
	int rc = 1;
	if (session) {
		rc = serve(session, argv[3]);
		fuse_session_destroy(session);
	}
	free(text);
	return rc;
}
