/* SPDX-License-Identifier: Apache-2.0 */
#include "fuse/ops.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>

static void init(void *data, struct fuse_conn_info *conn)
{
	struct served *served = data;
	/* Wanting what the kernel does not offer makes the mount fail. */
	static const unsigned wanted = FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_EXPORT_SUPPORT;
	conn->max_read = READ_MOST; /* as the mount option says, or libfuse gives up */
	conn->want |= conn->capable & wanted;
	conn->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
	if (served->readdirplus != READDIRPLUS_NO)
		conn->want |= conn->capable & FUSE_CAP_READDIRPLUS;
	if (served->readdirplus == READDIRPLUS_AUTO)
		conn->want |= conn->capable & FUSE_CAP_READDIRPLUS_AUTO;
	served->no_open = conn->capable & FUSE_CAP_NO_OPEN_SUPPORT;
	served->no_opendir = conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT;
}

static struct served *served_by(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The answer's error, or EIO where the dump's bytes went away while it was made. */
static int checked(fuse_req_t req, uint64_t epoch, int rc)
{
	return input_unharmed(served_by(req)->in, epoch) ? rc : EIO;
}

static int make_entry(struct served *served, uint64_t ino, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){ .ino = ino, .generation = 1, .attr_timeout = DBL_MAX,
					    .entry_timeout = DBL_MAX };
	return tree_getattr(served->tree, ino, &entry->attr);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct served *served = served_by(req);
	struct fuse_entry_param entry = { .ino = 0 };
	const uint64_t epoch = input_begin();
	uint64_t ino = parent;
	int rc;
	/* NFS and open_by_handle_at() ask for these. */
	if (!strcmp(name, "."))
		rc = 0;
	else if (!strcmp(name, ".."))
		rc = tree_parent(served->tree, parent, &ino);
	else
		rc = tree_lookup(served->tree, parent, name, &ino);
	if (!rc)
		rc = make_entry(served, ino, &entry);
	rc = checked(req, epoch, rc);
	if (rc == ENOENT) {
		/* Remembered too: file managers ask for .hidden, .Trash, autorun.inf in every folder. */
		entry = (struct fuse_entry_param){ .ino = 0, .entry_timeout = DBL_MAX };
		rc = 0;
	}
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	struct stat st;
	const uint64_t epoch = input_begin();
	const int rc = checked(req, epoch, tree_getattr(served_by(req)->tree, ino, &st));
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_attr(req, &st, DBL_MAX);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct text target = { 0 };
	const uint64_t epoch = input_begin();
	int rc = tree_readlink(served_by(req)->tree, ino, &target);
	text_putc(&target, 0);
	rc = checked(req, epoch, target.failed ? ENOMEM : rc);
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_readlink(req, target.data);
	text_free(&target);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if ((fi->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EROFS);
	} else if (served_by(req)->no_open) {
		fuse_reply_err(req, ENOSYS); /* the kernel never asks again, and caches */
	} else {
		fi->keep_cache = 1;
		fi->noflush = 1;
		fuse_reply_open(req, fi);
	}
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (served_by(req)->no_opendir) {
		fuse_reply_err(req, ENOSYS);
	} else {
		fi->keep_cache = 1;
		fi->cache_readdir = 1;
		fuse_reply_open(req, fi);
	}
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	(void)fi;
	struct served *served = served_by(req);
	struct text text = { 0 };
	uint64_t file_offset;
	size_t len;
	const uint64_t epoch = input_begin();
	int rc = tree_read(served->tree, ino, (uint64_t)offset, size, &text, &file_offset, &len);
	if (!rc && file_offset != UINT64_MAX && len) {
		/* Copied with pread, not spliced: as fast in measurements, and a splice that comes short because
		   the file was cut this moment would look like its end, at which cp stops in peace. */
		char *copy = malloc(len);
		rc = copy ? input_read(served->in, file_offset, len, copy) : ENOMEM;
		text.data = copy;
	}
	rc = checked(req, epoch, rc);
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_buf(req, text.data, len);
	text_free(&text);
}

/* A buffer that entries go into until it is full. */
struct filling {
	fuse_req_t req;
	struct served *served;
	char *data;
	size_t len, size;
	bool plus;
};

static bool fill(void *context, const char *name, uint64_t ino, mode_t type, uint64_t next)
{
	struct filling *filling = context;
	char *at = filling->data + filling->len;
	const size_t left = filling->size - filling->len;
	size_t used;
	if (filling->plus) {
		struct fuse_entry_param entry;
		const bool dots = !strcmp(name, ".") || !strcmp(name, "..");
		if (dots || make_entry(filling->served, ino, &entry)) {
			/* Node id 0: no attributes with this one, the kernel asks if it needs them. */
			entry = (struct fuse_entry_param){ .attr = { .st_ino = ino, .st_mode = type } };
		}
		used = fuse_add_direntry_plus(filling->req, at, left, name, &entry, (off_t)next);
	} else {
		const struct stat st = { .st_ino = ino, .st_mode = type };
		used = fuse_add_direntry(filling->req, at, left, name, &st, (off_t)next);
	}
	if (used > left)
		return false;
	filling->len += used;
	return true;
}

static void read_folder(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
	struct filling filling = { .req = req, .served = served_by(req), .size = size, .plus = plus };
	const uint64_t epoch = input_begin();
	filling.data = malloc(size ? size : 1);
	int rc = filling.data ? tree_list(filling.served->tree, ino, (uint64_t)offset, fill, &filling) : ENOMEM;
	rc = checked(req, epoch, rc);
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_buf(req, filling.data, filling.len);
	free(filling.data);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	(void)fi;
	read_folder(req, ino, size, offset, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	(void)fi;
	read_folder(req, ino, size, offset, true);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	(void)ino;
	struct statvfs st;
	tree_statfs(served_by(req)->tree, &st);
	fuse_reply_statfs(req, &st);
}

/* What is left out, libfuse answers with ENOSYS, and the kernel does not ask for it again: access (the mount
   has default_permissions), xattrs, flush, lseek. */
const struct fuse_lowlevel_ops ops = {
	.init = init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
};
