/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: writes what trace.h reads: a Perfetto trace that carries a heap dump in HprofDump packets of at most 4 MiB, and its
 * pictures in HprofBitmap packets; see contrib/perfetto/hprof_dump.proto.
 *
 * Functions give 0, or -1 with errno where nothing else is said. The file is the caller's, to close and to remove.
 */
#ifndef HEAPFS_PACK_H
#define HEAPFS_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pack {
	FILE *out;
	uint64_t time;		/* in ns since 1970, of all packets */
	uint32_t pid;		/* whose dump and pictures they are */
	bool started;		/* a packet was written; false at first */
};

int pack_dump(struct pack *pack, const uint8_t *data, uint64_t size);
/* A picture under its name, "0x7b3c00aa10.png", of at most NAME_MAX bytes. */
int pack_picture(struct pack *pack, const char *name, const void *data, uint64_t len);
/*
 * All PNG, JPEG and WebP files of a folder, in the order of their names, so that the same folder always gives the same
 * trace. `*count` is how many there were, `*left_out` how many files are past PICTURES_MOST. -1 with a message, which
 * names the file, in `error`.
 */
int pack_folder(struct pack *pack, const char *folder, size_t *count, uint64_t *left_out, char *error, size_t error_size);

#endif
