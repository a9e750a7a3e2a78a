/* SPDX-License-Identifier: Apache-2.0 */
#include "fuse/ops.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>

static void init(void *data, struct fuse_conn_info *conn)
{
	struct served *served = data;
	/* Wanting what the kernel does not offer makes the mount fail. */
	static const unsigned wanted = FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_AUTO_INVAL_DATA;
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

/* How long the kernel may remember attributes. */
static double attr_timeout(uint64_t ino)
{
	return tree_changes(ino) ? 0 : DBL_MAX;
}

static int make_entry(struct served *served, uint64_t ino, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){ .ino = ino, .generation = 1, .attr_timeout = attr_timeout(ino),
					    .entry_timeout = DBL_MAX };
	const int rc = tree_getattr(served->tree, ino, &entry->attr);
	if (rc != TREE_LATER)
		return rc;
	/* The kernel asks for the size when it needs it. A lookup that waited would hold up all others in its folder:
	   libfuse 3.14 does not pass on that they may be parallel. */
	entry->attr_timeout = 0;
	return 0;
}

/* --- answers: 0, or TREE_LATER --- */

static int answer_lookup(const struct request *request)
{
	fuse_req_t req = request->req;
	const uint64_t parent = request->ino;
	const char *name = request->name;
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
	if (rc == TREE_LATER)
		return rc;
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_entry(req, &entry);
	return 0;
}

static int answer_getattr(const struct request *request)
{
	fuse_req_t req = request->req;
	struct stat st;
	const uint64_t epoch = input_begin();
	const int rc = checked(req, epoch, tree_getattr(served_by(req)->tree, request->ino, &st));
	if (rc == TREE_LATER)
		return rc;
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_attr(req, &st, attr_timeout(request->ino));
	return 0;
}

static int answer_read(const struct request *request)
{
	fuse_req_t req = request->req;
	struct served *served = served_by(req);
	struct text text = { 0 };
	uint64_t file_offset;
	size_t len;
	const uint64_t epoch = input_begin();
	int rc = tree_read(served->tree, request->ino, (uint64_t)request->offset, request->size, &text, &file_offset, &len);
	if (!rc && file_offset != UINT64_MAX && len) {
		/* Copied with pread, not spliced: as fast in measurements, and a splice that comes short because
		   the file was cut this moment would look like its end, at which cp stops in peace. */
		const struct input *from = input_of(served->in, file_offset);
		char *copy = malloc(len);
		rc = !from ? EIO : !copy ? ENOMEM : input_read(from, file_offset - from->base, len, copy);
		text.data = copy;
	}
	rc = checked(req, epoch, rc);
	if (!rc)
		fuse_reply_buf(req, text.data, len);
	else if (rc != TREE_LATER)
		fuse_reply_err(req, rc);
	text_free(&text);
	return rc == TREE_LATER ? rc : 0;
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
		if (dots || !tree_has_attributes(filling->served->tree, ino) || make_entry(filling->served, ino, &entry)) {
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

static int answer_folder(const struct request *request, bool plus)
{
	fuse_req_t req = request->req;
	struct filling filling = { .req = req, .served = served_by(req), .size = request->size, .plus = plus };
	const uint64_t epoch = input_begin();
	filling.data = malloc(request->size ? request->size : 1);
	int rc = filling.data ?
			 tree_list(filling.served->tree, request->ino, (uint64_t)request->offset, fill, &filling) :
			 ENOMEM;
	rc = checked(req, epoch, rc);
	if (!rc)
		fuse_reply_buf(req, filling.data, filling.len);
	else if (rc != TREE_LATER)
		fuse_reply_err(req, rc);
	free(filling.data);
	return rc == TREE_LATER ? rc : 0;
}

static int answer_readdir(const struct request *request)
{
	return answer_folder(request, false);
}

static int answer_readdirplus(const struct request *request)
{
	return answer_folder(request, true);
}

/* --- requests --- */

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct request request = { .req = req, .answer = answer_lookup, .ino = parent, .name = name };
	requests_serve(&served_by(req)->requests, &request);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct request request = { .req = req, .answer = answer_getattr, .ino = ino };
	(void)fi;
	requests_serve(&served_by(req)->requests, &request);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct request request = { .req = req, .answer = answer_read, .ino = ino, .size = size, .offset = offset };
	(void)fi;
	requests_serve(&served_by(req)->requests, &request);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct request request = { .req = req, .answer = answer_readdir, .ino = ino, .size = size, .offset = offset };
	(void)fi;
	requests_serve(&served_by(req)->requests, &request);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct request request = { .req = req, .answer = answer_readdirplus, .ino = ino, .size = size,
					 .offset = offset };
	(void)fi;
	requests_serve(&served_by(req)->requests, &request);
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
