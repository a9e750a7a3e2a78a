/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture_folder: a folder of pictures, a file each, as other programs leave it; and what names of pictures say.
 *
 * A name has the native pointer of the Bitmap that it is of, `0x7b3c00aa10.png`, or, from `am dumpbitmaps`, what the
 * Bitmap has for its mId, `bitmap-48211000001.png`. Listing reads names only. What is opened is a file, never a pipe or
 * a device, and, unless it is asked for, never what a link leads to.
 */
#ifndef HEAPFS_PICTURE_FOLDER_H
#define HEAPFS_PICTURE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* More pictures in one place are made to do harm. */
#define PICTURES_MOST 100000
/* Bytes of a file that can be a picture. */
#define PICTURE_BYTES_MOST (UINT64_C(1) << 30)

struct picture_folder {
	int fd;
	char **names;		/* in their order, so that the same folder always gives the same */
	size_t count, capacity;
	uint64_t others;	/* names that are not wanted */
	uint64_t left_out;	/* those past PICTURES_MOST */
};

/*
 * Opens the folder `path` of the folder `at` (or AT_FDCWD), of which names that `wanted` takes are listed, hidden ones
 * never. With `follow` the folder itself may be a link. 0, or -1 with errno. It may be closed in both cases.
 */
int picture_folder_open(struct picture_folder *folder, int at, const char *path, bool follow,
			bool (*wanted)(const char *name));
void picture_folder_close(struct picture_folder *folder);

/* Opens a file of a folder for reading. Its descriptor, or -1 with errno, which is EINVAL for what is no file. */
int picture_file_open(int folder, const char *name, bool follow, struct stat *st);

/* Do these bytes begin as a PNG, a JPEG or a WebP does? */
bool picture_begins(const uint8_t *data, uint64_t len);

/* Does the name end as a picture's does: .png, .jpg, .jpeg, .webp? */
bool picture_named(const char *name);
/* The first 0x… in a name, of 1 to 16 digits; 0 if there is none. */
uint64_t picture_pointer(const char *name);
/* The number of a name bitmap-<number>.<ending>; 0 if it is none. */
uint64_t picture_id(const char *name);

#endif
