/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/dump.h"
#include "capture/clock.h"
#include "capture/say.h"
#include "capture/stop.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/data/local/tmp"
#define POLL 500	/* ms between two looks at its size */
#define MORE 10		/* seconds for more to come of what stands still without an end */
#define ROUNDS 16	/* so often it is brought here again because it has grown, which is more than any device takes */
#define SURPLUS (INT64_C(1) << 30) /* bytes that a file may have grown by while it is brought here */
#define AWAY 5		/* seconds for a device to come back that adb cannot reach */

/* A file on the device. */
struct remote {
	const struct adb *adb;
	char path[96];
	bool maybe_later;	/* am was cut short: the file may come into being after it was removed */
};

/*
 * am makes the file itself, and then has the application write it. Ended at the wrong moment its connection is gone, and
 * it makes the file a little later. (What the application still writes then goes with the last descriptor.)
 */
static void remove_remote(void *context)
{
	const struct remote *remote = context;
	const char *const words[] = { "rm", "-f", remote->path, NULL };
	struct output output;
	char reason[512];
	bool over = false;
	for (unsigned round = 0; !over; round++) {
		if (round)
			stop_sleep(1000);
		const int rc = adb_shell(remote->adb, ADB_SOON, words, &output);
		/* A device is away for a moment when the adb server was started anew. */
		over = rc ? output.end != RUN_EXITED || round == 2 : round || !remote->maybe_later;
		if (rc && over)
			say("%s: %s may be left on the device: %s", remote->adb->serial, remote->path,
			    adb_reason(&output, reason, sizeof reason));
		output_free(&output);
	}
}

/* What a person can do about it. */
static void explain(const struct selection *selection, const struct dump_request *request, const char *reason)
{
	const char *name = selection->name;
	say("%s: am dumpheap: %s", name, reason);
	if (strcasestr(reason, "not debuggable"))
		say("%s is not debuggable: install a debuggable build of it, or use a device or emulator whose build has ro.debuggable=1",
		    name);
	else if (strstr(reason, "Unknown option: -b"))
		say("this device cannot put pictures into dumps, though from API level %d on it should: a dump without takes --no-pixels",
		    SDK_DUMP_BITMAPS);
	else if (strstr(reason, "Unknown option: -g"))
		say("this device cannot collect garbage before a dump, though from API level %d on it should: --no-gc leaves that out",
		    SDK_DUMP_GC);
	else if (strstr(reason, "Unknown process") || strstr(reason, "Could not find process"))
		say("%s has ended, or was started again: look for it once more", name);
	else if (strstr(reason, "No space") || strstr(reason, "ENOSPC"))
		say("there is no room in " FOLDER " of the device, which the dump needs for a while");
	else if (strstr(reason, "HEAP DUMP FAILED"))
		say("the application did not write it: has it ended? adb logcat may tell; --timeout gives it more time than %u s",
		    request->timeout);
	else if (strstr(reason, "SecurityException") || strstr(reason, "ermission"))
		say("the device does not allow it: is %s a debuggable application of the user that is running?", name);
}

/* Is it adb itself that failed, not the command on the device? "error: device 'X' not found", "adb: device offline". */
static bool is_adbs(const struct output *output)
{
	return output->end == RUN_EXITED && output->status && output->data &&
	       (!strncmp(output->data, "error: ", 7) || !strncmp(output->data, "adb: ", 5));
}

/*
 * Its size in bytes: `stat -c %s`, and where there is none (Android 5) `ls -l`. -1 if there is no such file, or adb cannot
 * ask; then `reason` says why, else it is empty.
 */
static int64_t remote_size(const struct remote *remote, char *reason, size_t reason_size)
{
	const char *const stat_words[] = { "stat", "-c", "%s", remote->path, NULL };
	const char *const ls_words[] = { "ls", "-l", remote->path, NULL };
	struct output output;
	int64_t size = -1;
	char *end;
	*reason = '\0';
	adb_shell(remote->adb, ADB_SOON, stat_words, &output);
	if (is_adbs(&output))
		adb_reason(&output, reason, reason_size);
	if (output.data && isdigit((unsigned char)*output.data)) {
		size = strtoll(output.data, &end, 10);
		size = isspace((unsigned char)*end) || !*end ? size : -1;
	} else if (output.data && strstr(output.data, "not found") && output.end == RUN_EXITED) {
		output_free(&output);
		adb_shell(remote->adb, ADB_SOON, ls_words, &output);
		/* The size is the number before the date: "shell    12345 2015-01-01 10:00". */
		const char *line = output.data ? output.data : "", *before = NULL, *word = line;
		for (size_t len; *line == '-' && (len = strcspn(word, " \n")) != 0; word += len, word += strspn(word, " ")) {
			if (len == 10 && word[4] == '-' && word[7] == '-' && before)
				size = strtoll(before, NULL, 10);
			before = word;
		}
	}
	output_free(&output);
	return size;
}

/*
 * Looks at its size until that is the same twice, and another than `not_size`. That, or -1 after a message; `not_size`
 * where it stays so.
 */
static int64_t wait_whole(const struct selection *selection, const struct remote *remote, int64_t not_size, unsigned seconds)
{
	const int64_t end = clock_ms() + (int64_t)seconds * 1000;
	int64_t last = -1, unreachable = 0;
	char reason[512];
	for (;;) {
		const int64_t size = remote_size(remote, reason, sizeof reason);
		if (size > 0 && size == last && size != not_size)
			return size;
		/* It may come back at once, as after a reset of the bus. */
		unreachable = !*reason ? 0 : unreachable ? unreachable : clock_ms();
		if (unreachable && clock_ms() - unreachable >= AWAY * 1000) {
			say("%s: %s", selection->device->serial, reason);
			return -1;
		}
		last = size;
		step_at(size > 0 ? (uint64_t)size : 0, 0);
		if (stop_signal())
			return -1;
		if (!clock_left(end))
			break;
		stop_sleep(POLL);
	}
	if (last <= 0)
		say("%s: nothing of the dump was written within %u s; an application in the background may be frozen: bring it to the front",
		    selection->name, seconds);
	else if (last != not_size)
		say("%s: the dump still grows after %u s; --timeout gives it more time", selection->name, seconds);
	return last > 0 && last == not_size ? last : -1;
}

struct pulling {
	const char *path;
	int64_t size, last, deadline, patience;
	bool endless;		/* more came than any file grows meanwhile */
};

/* As long as bytes come it may take its time. */
static bool watch_pull(void *context, const char *data, size_t len)
{
	struct pulling *pulling = context;
	struct stat st;
	(void)data;
	(void)len;
	const int64_t now = stat(pulling->path, &st) ? -1 : (int64_t)st.st_size;
	if (now != pulling->last)
		pulling->deadline = clock_ms() + pulling->patience;
	pulling->last = now;
	step_at(now > 0 ? (uint64_t)now : 0, (uint64_t)pulling->size);
	pulling->endless = now - SURPLUS > pulling->size;
	return !pulling->endless && clock_left(pulling->deadline) > 0;
}

static int pull(const struct selection *selection, const struct remote *remote, int64_t size, unsigned timeout,
		const char *path)
{
	const char *const arguments[] = { "pull", remote->path, path, NULL };
	struct pulling pulling = { .path = path, .size = size, .last = -1, .patience = (int64_t)timeout * 1000 };
	struct run run = { .watch = watch_pull, .context = &pulling };
	struct output output;
	struct stat st;
	char reason[512];
	pulling.deadline = clock_ms() + pulling.patience;
	step("bringing %.1f MB here", (double)size / 1e6);
	int rc = adb_run(&selection->adb, &run, arguments, &output);
	if (rc && pulling.endless)
		say("%s: adb pull brings more and more of a file of %" PRId64 " bytes: it was ended",
		    selection->device->serial, size);
	else if (rc && output.end == RUN_LATE)
		say("%s: %s: not a byte came for %u s", selection->device->serial, remote->path, timeout);
	else if (rc && output.end != RUN_STOPPED)
		say("%s: adb pull: %s", selection->device->serial, adb_reason(&output, reason, sizeof reason));
	output_free(&output);
	if (!rc && (stat(path, &st) || st.st_size < size)) {
		say("%s: adb pull brought less than the file's %" PRId64 " bytes", selection->device->serial, size);
		rc = -1;
	}
	step_end();
	return rc;
}

/* ART ends dumps with an END record (2c, no time, no bytes), as all do that write segments. */
static bool ends_whole(const char *path)
{
	uint8_t tail[9];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	const bool whole = end >= (off_t)sizeof tail && pread(fd, tail, sizeof tail, end - (off_t)sizeof tail) == sizeof tail &&
			   tail[0] == 0x2c && !tail[5] && !tail[6] && !tail[7] && !tail[8];
	if (fd >= 0)
		close(fd);
	return whole;
}

static int run_am(const struct selection *selection, const struct dump_request *request, struct remote *remote)
{
	char pid[16], reason[512];
	const char *words[10] = { "am", "dumpheap" };
	size_t count = 2;
	struct output output;
	if (request->gc && selection->device->sdk >= SDK_DUMP_GC)
		words[count++] = "-g";
	if (request->format) {
		words[count++] = "-b";
		words[count++] = request->format;
	}
	snprintf(pid, sizeof pid, "%" PRIu32, selection->pid);
	words[count++] = pid;
	words[count] = remote->path;
	remote->maybe_later = true;
	step("dumping the heap of %s", selection->name);
	remote->maybe_later = adb_shell(&selection->adb, (int)request->timeout * 1000, words, &output) != 0;
	const bool failed = adb_failed(&output, reason, sizeof reason);
	if (failed && output.end != RUN_STOPPED)
		explain(selection, request, reason);
	output_free(&output);
	return failed ? -1 : 0;
}

int device_dump(const struct selection *selection, const struct dump_request *request, const char *path)
{
	struct remote remote = { .adb = &selection->adb };
	uint64_t random;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = (uint64_t)clock_ms();
	snprintf(remote.path, sizeof remote.path, FOLDER "/heapfs-%" PRIu32 "-%016" PRIx64 ".hprof", selection->pid, random);
	const int undo = undo_add(remove_remote, &remote);
	if (undo < 0) {
		say("too much is to be undone");
		return -1;
	}
	int rc = run_am(selection, request, &remote);
	unsigned seconds = request->timeout;
	int64_t size = -1, pulled = -1;
	bool whole = false;
	for (unsigned round = 0; !rc && !whole; round++) {
		step("waiting for %s to write it", selection->name);
		size = wait_whole(selection, &remote, pulled, seconds);
		if (size > 0 && (size == pulled || round == ROUNDS))
			break;
		rc = size < 0 ? -1 : pull(selection, &remote, size, request->timeout, path);
		whole = !rc && ends_whole(path);
		/* Its size held, but that was not the end: the device is busy. */
		pulled = size;
		seconds = request->timeout < MORE ? request->timeout : MORE;
	}
	undo_now(undo);
	step_end();
	if (rc || whole)
		return rc;
	say("%s: the dump has no end: it was cut on the device, where there may be too little room; it is used as it is",
	    selection->name);
	return 1;
}
