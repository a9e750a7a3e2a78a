/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jdwp_fetch: fetches the bitmaps of a running application, or lets it collect garbage, and prints what came as "key: value".
 *
 *	jdwp_fetch fetch|gc|probe PORT [KEY=VALUE…]
 *
 * Keys: nudge (a FIFO that gets a line), folder (for the pictures), connect_ms, safe_ms, command_ms, budget_ms, budget_bytes,
 * stop (after so many pictures). SIGTERM cancels. A probe only attaches. Exit status 0 for whatever end has a name.
 */
#include "capture/live_bitmaps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic bool cancel;

static const char *const ends[] = {
	[LIVE_DONE] = "done",	    [LIVE_NO_BITMAPS] = "no bitmaps", [LIVE_TIME] = "time",   [LIVE_BYTES] = "bytes",
	[LIVE_STOPPED] = "stopped", [LIVE_REFUSED] = "refused",	      [LIVE_IDLE] = "idle",   [LIVE_GONE] = "gone",
	[LIVE_SILENT] = "silent",   [LIVE_FAILED] = "failed",	      [LIVE_CANCELLED] = "cancelled",
};

struct run {
	const char *nudge, *folder;
	uint64_t stop, nudges, pictures, tells;
};

static void on_signal(int signal)
{
	(void)signal;
	atomic_store(&cancel, true);
}

static void nudge(void *context)
{
	struct run *run = context;
	const int fd = open(run->nudge, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	run->nudges++;
	if (fd < 0 || write(fd, "\n", 1) != 1)
		perror(run->nudge);
	if (fd >= 0)
		close(fd);
}

static int picture(void *context, const struct live_picture *picture)
{
	struct run *run = context;
	printf("picture: 0x%" PRIx64 " %" PRIu32 "x%" PRIu32 " %zu\n", picture->pointer, picture->width, picture->height,
	       picture->len);
	fflush(stdout);
	if (run->folder) {
		char path[4096];
		snprintf(path, sizeof path, "%s/0x%" PRIx64 ".png", run->folder, picture->pointer);
		FILE *file = fopen(path, "wx");
		if (!file || fwrite(picture->data, 1, picture->len, file) != picture->len || fclose(file)) {
			perror(path);
			return -1;
		}
	}
	return ++run->pictures == run->stop;
}

static void tell(void *context, const struct live_result *so_far)
{
	struct run *run = context;
	run->tells++;
	if (so_far->fetched != run->pictures && run->pictures != run->stop)
		printf("progress is wrong: %" PRIu64 " of %" PRIu64 "\n", so_far->fetched, run->pictures);
}

int main(int argc, char **argv)
{
	struct live_options options = live_defaults;
	struct run run = { .nudge = NULL };
	struct sigaction action = { .sa_handler = on_signal };
	if (argc < 3)
		return 2;
	sigaction(SIGTERM, &action, NULL);
	options.port = (unsigned)strtoul(argv[2], NULL, 10);
	options.context = &run;
	options.cancel = &cancel;
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			return 2;
		*value++ = 0;
		const uint64_t number = strtoull(value, NULL, 10);
		if (!strcmp(argv[i], "nudge")) {
			run.nudge = value;
			options.nudge = nudge;
		} else if (!strcmp(argv[i], "folder"))
			run.folder = value;
		else if (!strcmp(argv[i], "connect_ms"))
			options.connect_ms = (unsigned)number;
		else if (!strcmp(argv[i], "safe_ms"))
			options.safe_ms = (unsigned)number;
		else if (!strcmp(argv[i], "command_ms"))
			options.command_ms = (unsigned)number;
		else if (!strcmp(argv[i], "budget_ms"))
			options.budget_ms = number;
		else if (!strcmp(argv[i], "budget_bytes"))
			options.budget_bytes = number;
		else if (!strcmp(argv[i], "stop"))
			run.stop = number;
		else
			return 2;
	}
	if (!strcmp(argv[1], "gc")) {
		char error[JDWP_ERROR_MOST];
		printf("end: %s\n", ends[jdwp_gc(&options, error, sizeof error)]);
		printf("error: %s\n", error);
	} else if (!strcmp(argv[1], "probe")) {
		struct jdwp_session session;
		printf("end: %s\n", ends[jdwp_attach(&session, &options)]);
		jdwp_close(&session.jdwp);
		printf("error: %s\nvm: %s\n", session.jdwp.error, session.jdwp.vm);
	} else if (!strcmp(argv[1], "fetch")) {
		const struct live_sink sink = { picture, tell };
		struct live_result result;
		const enum live_end end = live_bitmaps_fetch(&options, &sink, &result);
		printf("end: %s\nerror: %s\nfailure: %s\nvm: %s\n", ends[end], result.error, result.failure, result.vm);
		printf("counts: all %" PRIu64 ", recycled %" PRIu64 ", without %" PRIu64 ", unasked %" PRIu64 ", drawable %" PRIu64
		       ", fetched %" PRIu64 ", failed %" PRIu64 ", left %" PRIu64 "\n",
		       result.all, result.recycled, result.without, result.unasked, result.drawable, result.fetched,
		       result.failed, result.left);
		printf("bytes: %" PRIu64 "\nms: %" PRIu64 "\nnudges: %" PRIu64 "\ntells: %" PRIu64 "\n", result.bytes,
		       result.ms, run.nudges, run.tells);
	} else
		return 2;
	return 0;
}
