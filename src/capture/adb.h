/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adb: the system's own adb, run without a shell here, and with quoted words for the shell on the device.
 *
 * Each call has a deadline (run.h). A device is only talked to when `adb devices` says that it may be: one that is not
 * authorised yet would keep a call waiting until somebody taps on its screen.
 */
#ifndef HEAPFS_ADB_H
#define HEAPFS_ADB_H

#include "capture/run.h"

/* Deadlines in ms: of what a device answers at once, and of what may start the adb server first. */
#define ADB_SOON 10000
#define ADB_START 30000

struct adb {
	char *path;		/* of the program */
	const char *serial;	/* of the device; NULL: none is needed */
};

/* Looks in $ANDROID_HOME, $ANDROID_SDK_ROOT, ~/Library/Android/sdk, ~/Android/Sdk, then PATH. 0, or -1 after a message. */
int adb_open(struct adb *adb);
void adb_close(struct adb *adb);

/*
 * Runs adb with these arguments (up to a NULL), with standard error among the output. How `run` is set up beyond argv
 * (timeout, watch, …) is the caller's choice. As run(); -1 also without memory.
 */
int adb_run(const struct adb *adb, struct run *run, const char *const *arguments, struct output *output);
/* adb_run() with nothing but a timeout. */
int adb_call(const struct adb *adb, int timeout, const char *const *arguments, struct output *output);
/* The same for a command on the device: each word is quoted for its shell. */
int adb_shell(const struct adb *adb, int timeout, const char *const *words, struct output *output);

/* A word as the device's shell takes it; to be freed. NULL without memory. */
char *adb_quote(const char *word);

/*
 * Did a command of the device's (am, pm) fail? Its exit status tells, or what it prints, since older devices do not
 * pass on the status and newer ones exit with 0 after some errors. Then what it says goes to `line`: of a Java exception
 * only the first line, without the frames.
 */
bool adb_failed(const struct output *output, char *line, size_t size);
/* The line of an adb call that failed that tells most; why it ended where it says nothing. In `line`, which is returned. */
const char *adb_reason(const struct output *output, char *line, size_t size);

#endif
