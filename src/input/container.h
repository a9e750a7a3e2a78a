/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container: a file opened for the heap dumps in it, whatever they came in.
 *
 * What a file is, its bytes say. A plain HPROF file is mapped as it is. gzip is unpacked, and what comes out is looked
 * at in the same way, until something is recognised: a dump, a Perfetto trace, or what heapfs cannot read, which is
 * named in the error. A native profile (.loli) has no dump in it, and is the mapping.
 *
 * The result is one mapping with one part a dump. A part that is not the whole mapping gets an input of its own, a
 * view, so that offsets in it are those of the dump.
 */
#ifndef HEAPFS_CONTAINER_H
#define HEAPFS_CONTAINER_H

#include "input/input.h"
#include "input/trace.h"

struct container_options {
	const char *tmpdir;	/* where to unpack to, or NULL */
	const char *unpacked;	/* a file that keeps what gzip unpacks to, or NULL */
	bool only_pid;		/* of a trace, the dump of one process */
	uint32_t pid;
	bool pictures;		/* only the pictures of a trace are wanted: it is not unpacked, and there are no parts */
	uint64_t base;		/* of the mapping, in the space of all inputs */
	unsigned threads;
	input_progress *progress; /* or NULL */
	void *context;
};

struct part {
	struct input in;	/* a view, or empty where the part is the whole mapping */
	struct trace_dump *dump; /* NULL where it did not come from a trace */
};

struct container {
	struct input in;
	struct notes notes;	/* about what the dumps came in; offsets are of the file, or of what was unpacked from it */
	char *description;	/* "plain file", "gzip, 12 members", "gzip, Perfetto trace" */
	struct trace trace;	/* empty where there was none */
	struct part *parts;
	size_t part_count;
	bool loli;		/* a LoliProfiler profile: there are no parts */
};

/* Opens a file. 0, or -1 with a message for the user. The container may be closed in both cases. */
int container_open(struct container *container, const char *path, const struct container_options *options, char *error,
		   size_t error_size);
void container_close(struct container *container);

/* The bytes of a part. */
static inline const struct input *part_input(const struct container *container, const struct part *part)
{
	return part->in.data ? &part->in : &container->in;
}

#endif
