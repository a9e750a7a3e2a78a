/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elsewhere: pictures of a process that come from another place than its dump (the option pixels=).
 *
 * A place is the folder X.hprof.bitmaps beside a dump, which is used unasked where it belongs to whom the dump belongs to,
 * or what the user names: a folder of pictures; the unzipped folder of `am dumpbitmaps`, which has one more for each
 * process, `pid-<pid>-<process>`, or one of those; or a Perfetto trace with HprofBitmap packets. See picture_folder.h for
 * what names say.
 *
 * Opening reads names, of a trace the heads of its packets. A picture is opened each time that it is read: what it was
 * when it was first looked at is kept as a stamp, and what has another one is not served. So nothing of a picture is
 * mapped (but for compressed packets), nothing is copied, and no descriptor is held for it.
 *
 * Functions that read are safe to call from many threads.
 */
#ifndef HEAPFS_ELSEWHERE_H
#define HEAPFS_ELSEWHERE_H

#include "input/container.h"

#include <pthread.h>
#include <sys/types.h>

/* Pictures of more processes in all places are made to do harm. */
#define ELSEWHERE_SETS_MOST 1024

/* Of a file: which one, and when it was written to. */
struct elsewhere_stamp {
	uint64_t device, inode, size;
	int64_t written, changed; /* in ns; 0 of a trace, whose name may change */
};

/* Where pictures are. */
struct elsewhere_place {
	char *path;		/* absolute, for messages */
	bool beside;		/* used unasked: files must be the dump's owner's */
	int folder;		/* its descriptor; -1 of a trace */
	struct container trace;	/* empty of a folder */
	struct elsewhere_stamp stamp; /* of the trace, when it was looked through */
	pthread_mutex_t lock;	/* of the trace, while something of a compressed packet is copied */
	uint32_t count;		/* pictures */
};

/* Those of one process in one place. */
struct elsewhere_set {
	uint32_t place;
	uint32_t pid;		/* 0: not said */
	char *process;		/* or NULL */
	char *folder;		/* its own in the place's, or NULL */
};

/* What a picture's name says whose it is. */
enum elsewhere_by { ELSEWHERE_BY_NOTHING, ELSEWHERE_BY_POINTER, ELSEWHERE_BY_ID };

struct elsewhere_picture {
	enum elsewhere_by by;
	uint32_t set;
	uint64_t key;		/* native pointer, or mId */
	char *name;		/* of its file; NULL in a trace */
	uint32_t number;	/* in the trace */
	bool packed;		/* it is in a compressed packet */
	uint64_t offset, len;	/* in the trace */
};

struct elsewhere {
	struct elsewhere_place **places;
	struct elsewhere_set *sets;
	struct elsewhere_picture *pictures;
	uint32_t place_count, set_count, picture_count;
	size_t place_capacity, set_capacity, picture_capacity;
	uid_t owner;		/* of the dump */
	bool several;		/* the dump's file has dumps of several processes: pictures must say of which they are */
	struct notes notes;
};

struct elsewhere_options {
	const char *const *paths; /* what the user names, in the order in which it is tried */
	size_t path_count;
	const char *tmpdir;	/* where traces in gzip are unpacked to, or NULL */
	unsigned threads;
};

/* 0, or -1 with a message for the user, where a path holds no pictures. It may be closed in both cases. */
int elsewhere_open(struct elsewhere *elsewhere, const struct elsewhere_options *options, char *error, size_t error_size);
/*
 * Adds the folder beside a dump, whose absolute path and owner these are. One that cannot be used is a note; 0 too where
 * there is none.
 */
int elsewhere_open_beside(struct elsewhere *elsewhere, const char *dump, uid_t owner, char *error, size_t error_size);
void elsewhere_close(struct elsewhere *elsewhere);

/* --- pictures --- */

enum elsewhere_state {
	ELSEWHERE_READABLE,
	ELSEWHERE_GONE,		/* cannot be opened */
	ELSEWHERE_NO_FILE,		/* a link, a folder, a pipe */
	ELSEWHERE_TOO_LARGE,
	ELSEWHERE_OTHER_OWNER,
	ELSEWHERE_STATES
};

/* One, while it is open. */
struct elsewhere_file {
	struct elsewhere_place *place;
	const struct elsewhere_picture *picture;
	int fd;
	uint64_t len;
	struct elsewhere_stamp stamp;
};

enum elsewhere_state elsewhere_file_open(struct elsewhere_file *file, const struct elsewhere *elsewhere, uint32_t number);
/* Copies bytes that are in it; false where they are not there any more. */
bool elsewhere_file_read(const struct elsewhere_file *file, uint64_t offset, size_t len, void *out);
/* False if it was written to since it was opened. */
bool elsewhere_file_close(struct elsewhere_file *file);

/* All three, of one that has this stamp. False if it has it no more. */
bool elsewhere_read(const struct elsewhere *elsewhere, uint32_t number, const struct elsewhere_stamp *stamp, uint64_t offset, size_t len,
		 void *out);

#endif
