/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: what heapfs-capture does, a mode a function, each in a file of its own.
 *
 * A mode reads the options that are its own (others were refused before), says what goes wrong with say(), puts what
 * must be undone into the list of stop.h, and returns an exit status: CAPTURE_DONE, CAPTURE_FAILED, CAPTURE_USAGE.
 * main() works off the list.
 */
#ifndef HEAPFS_CAPTURE_H
#define HEAPFS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum capture_status { CAPTURE_DONE = 0, CAPTURE_FAILED = 1, CAPTURE_USAGE = 2 };

struct capture_options {
	const char *target;	/* the argument: a process's name or id, or NULL */
	const char *output;	/* -o */
	const char *serial;	/* -s: of the device, or NULL */
	const char *mount;	/* where to mount what was captured, or NULL */
	const char *pixels_for;	/* the dump that pixels are wanted for, or NULL */
	const char *bitmap_format; /* png, jpg or webp */
	bool no_gc, no_pixels, yes;
	unsigned pixels_seconds; /* budgets of the pixels that a debugger fetches */
	uint64_t pixels_bytes;
	unsigned timeout;	/* seconds for a dump to become whole */
	const char *jvm;	/* a process of this machine, or NULL */
	bool gz;		/* the VM compresses it */
	bool all;		/* also what is not live, or was freed */
	const char *trace_config; /* a Perfetto trace config, "-" for standard input, or NULL */
	const char *app, *subprocess; /* LoliProfiler: a package, and a part of its process's name or NULL */
	const char *agent, *config; /* files that go to the device, or NULL */
	bool attach;		/* the application runs already */
	unsigned duration;	/* seconds, 0: until a signal */
};

/* A heap dump, with its pictures, of an application on an Android device. */
int capture_app(const struct capture_options *options);
/* A heap dump of a Java VM on this machine. */
int capture_jvm(const struct capture_options *options);
/* Dumps by a Perfetto trace config. */
int capture_by_config(const struct capture_options *options);
/* A native profile, by LoliProfiler's agent in an application on an Android device. */
int capture_loli(const struct capture_options *options);
/* Pictures for a dump that was made before. */
int capture_pixels(const struct capture_options *options);

#endif
