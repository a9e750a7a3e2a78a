/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jdwp_session: an application that is stopped where methods can be called in it, and runs on afterwards.
 *
 * A method can be called only on a thread that an event stopped. The event is the next entry into any method; an application
 * that nobody touches may not enter one for long, so it is nudged from outside: on Android by `dumpsys meminfo PID`, which
 * makes one of its binder threads run and changes nothing on its screen.
 */
#ifndef HEAPFS_JDWP_SESSION_H
#define HEAPFS_JDWP_SESSION_H

#include "capture/jdwp.h"

/* How it ended. */
enum live_end {
	LIVE_DONE,
	LIVE_NO_BITMAPS,	/* the application never used the class */
	LIVE_TIME,		/* the budget of time was reached */
	LIVE_BYTES,		/* the budget of bytes was reached */
	LIVE_STOPPED,		/* a callback said so */
	/* With a message from here on. */
	LIVE_REFUSED,		/* nothing there, another debugger, not debuggable, or a VM that cannot do it */
	LIVE_IDLE,		/* no thread ran any code, nudge or not */
	LIVE_GONE,		/* the application ended, or the connection did */
	LIVE_SILENT,		/* no answer in time */
	LIVE_FAILED,		/* the VM refused what everything needs, or sent nonsense; no memory */
	LIVE_CANCELLED,
};

struct live_options {
	unsigned port;			/* of 127.0.0.1 */
	/*
	 * Called once, when the application is to run some code, unless it does by itself; may be NULL. Must not wait for the
	 * application, which stops at that very moment: start `dumpsys`, return, and wait for it when all is over.
	 */
	void (*nudge)(void *context);
	void *context;			/* of every callback */
	const _Atomic bool *cancel;	/* may be NULL */
	unsigned connect_ms, safe_ms, command_ms; /* until it answers, until it runs some code, and for one command */
	uint64_t budget_ms, budget_bytes;	/* of live_bitmaps_fetch() */
};
/* 10 s, 20 s, 30 s; 60 s and 64 MiB. The rest is 0. */
extern const struct live_options live_defaults;

/* A connection, and the thread on which methods are called. */
struct jdwp_session {
	struct jdwp jdwp;
	uint64_t thread;
};

/* Connects. Must be followed by jdwp_close(&session->jdwp), also where it fails. LIVE_DONE, or why not. */
enum live_end jdwp_attach(struct jdwp_session *session, const struct live_options *options);
/* Stops the application at an event and sets `thread`. LIVE_DONE, or why not. */
enum live_end jdwp_stop(struct jdwp_session *session, const struct live_options *options);
/* What a failed command means for the whole: LIVE_DONE if the next one may succeed. */
enum live_end jdwp_outcome(const struct jdwp *jdwp);

/*
 * Garbage collection in the application: Runtime.gc(), Thread.sleep(100), System.runFinalization(), Runtime.gc(). Its
 * parts of `options` apply. LIVE_DONE, or why not, with a message in `error`.
 */
enum live_end jdwp_gc(const struct live_options *options, char *error, size_t error_size);
/* System.load(path) in the application. Likewise. */
enum live_end jdwp_load(const struct live_options *options, const char *path, char *error, size_t error_size);

#endif
