/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: another program, run to its end or to a deadline.
 *
 * There is no shell between: arguments reach the program as they are given. Its standard input is /dev/null. What it
 * prints is read under the deadline too, not until somebody closes the pipe: a program that leaves a child behind
 * which keeps the pipe open (adb, when it starts its server) is over when it has ended and nothing more comes. It runs
 * in a session of its own, so that Ctrl-C is ours to handle, and another user's program cannot type into our terminal; with
 * its children it is ended when its time is over or a signal came (stop.h): first SIGTERM, then SIGKILL.
 */
#ifndef HEAPFS_RUN_H
#define HEAPFS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum run_end {
	RUN_EXITED,	/* `status` is what it exited with */
	RUN_KILLED,	/* `status` is the signal, none of ours */
	RUN_LATE,	/* the deadline came, or `watch` said so */
	RUN_STOPPED,	/* a signal came for us */
	RUN_FAILED	/* it could not be started, or read: `status` is errno */
};

struct run {
	const char *const *argv; /* NULL at its end; argv[0] is looked for in PATH where it has no slash */
	int timeout;		/* in ms, from the start; 0: none */
	size_t most;		/* bytes of output that are kept, 0: RUN_MOST; what is more is read, and dropped */
	bool apart;		/* standard error goes to `errors`; else among the output, in the order it came */
	int fd;			/* above 0: its standard output is this file, and not kept */
	/* Called as output comes, with all that is kept, and about each 200 ms without; false ends it. May be NULL. */
	bool (*watch)(void *context, const char *data, size_t len);
	void *context;
};

#define RUN_MOST ((size_t)4 << 20)

struct output {
	enum run_end end;
	int status;
	char *data;		/* of `len` bytes, and a NUL behind them; NULL only without memory */
	size_t len;
	char *errors;		/* with `apart`, likewise */
	size_t errors_len;
	bool cut;		/* there was more than `most` */
	int timeout;		/* as it was given */
};

/* Runs it. 0 if it exited with 0, else -1; `output` tells all, and is to be freed with output_free() either way. */
int run_program(const struct run *run, struct output *output);
void output_free(struct output *output);

/*
 * A program that goes on by itself, without input or output, and in a session of its own. Its process id, or 0 where
 * it cannot be started. run_reap() waits so long, in ms, for its end, then ends it. Where the program may be left by a
 * signal meanwhile, that goes into the list of stop.h.
 */
pid_t run_background(const char *const *argv);
void run_reap(pid_t pid, int ms);

/* Why it did not exit with 0, as a message: "no answer within 10 s". In `text`, which is returned. */
const char *run_reason(const struct output *output, char *text, size_t size);

#endif
