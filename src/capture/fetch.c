/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/fetch.h"
#include "capture/forward.h"
#include "capture/live_bitmaps.h"
#include "capture/say.h"
#include "capture/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long a `dumpsys` may go on once the application runs again, in ms. */
#define NUDGE_PATIENCE 2000

struct fetch {
	const struct selection *selection;
	const char *folder;
	size_t count;
	int error;		/* errno of a file that could not be written */
	pid_t nudge;		/* the `dumpsys` that runs, or 0 */
	int undo;		/* ends it */
};

static void end_nudge(void *context)
{
	struct fetch *fetch = context;
	if (fetch->nudge)
		run_reap(fetch->nudge, 0);
	fetch->nudge = 0;
}

/* `dumpsys meminfo` makes one of the application's binder threads run, and stops where that is stopped. */
static void nudge(void *context)
{
	struct fetch *fetch = context;
	char pid[16];
	const char *const argv[] = { fetch->selection->adb.path, "-s", fetch->selection->adb.serial, "shell", "dumpsys", "meminfo",
				     pid, NULL };
	snprintf(pid, sizeof pid, "%" PRIu32, fetch->selection->pid);
	fetch->undo = undo_add(end_nudge, fetch);
	if (fetch->undo >= 0)
		fetch->nudge = run_background(argv);
}

static void begin(struct fetch *fetch, struct live_options *options, const struct forward *forward)
{
	*options = live_defaults;
	options->port = forward->port;
	options->nudge = nudge;
	options->context = fetch;
	options->cancel = stop_flag();
	fetch->undo = -1;
}

/* The application runs again: so does what it held up. */
static void end(struct fetch *fetch)
{
	if (fetch->nudge)
		run_reap(fetch->nudge, NUDGE_PATIENCE);
	fetch->nudge = 0;
	undo_forget(fetch->undo);
}

static int open_debugger(const struct selection *selection, struct forward *forward)
{
	char to[24];
	snprintf(to, sizeof to, "jdwp:%" PRIu32, selection->pid);
	return forward_open(forward, &selection->adb, to);
}

int fetch_gc(const struct selection *selection)
{
	struct fetch fetch = { .selection = selection };
	struct live_options options;
	struct forward forward;
	char error[JDWP_ERROR_MOST];
	if (open_debugger(selection, &forward))
		return -1;
	step("collecting garbage in %s", selection->name);
	begin(&fetch, &options, &forward);
	const enum live_end how = jdwp_gc(&options, error, sizeof error);
	end(&fetch);
	forward_close(&forward);
	step_end();
	if (how != LIVE_DONE && how != LIVE_CANCELLED)
		say("%s: garbage was not collected before the dump: %s", selection->name, error);
	return how == LIVE_DONE ? 0 : -1;
}

int fetch_load(const struct selection *selection, const char *path)
{
	struct fetch fetch = { .selection = selection };
	struct live_options options;
	struct forward forward;
	char error[JDWP_ERROR_MOST];
	if (open_debugger(selection, &forward))
		return -1;
	step("loading %s into %s", path, selection->name);
	begin(&fetch, &options, &forward);
	const enum live_end how = jdwp_load(&options, path, error, sizeof error);
	end(&fetch);
	forward_close(&forward);
	step_end();
	if (how != LIVE_DONE && how != LIVE_CANCELLED)
		say("%s: %s was not loaded: %s", selection->name, path, error);
	return how == LIVE_DONE ? 0 : -1;
}

static int write_picture(void *context, const struct live_picture *picture)
{
	struct fetch *fetch = context;
	char *path;
	if (asprintf(&path, "%s/0x%" PRIx64 ".png", fetch->folder, picture->pointer) < 0) {
		fetch->error = ENOMEM;
		return -1;
	}
	/* A pointer that two bitmaps share: the larger one came first, and stays. */
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	fetch->error = fd < 0 && errno != EEXIST ? errno : 0;
	for (size_t done = 0; fd >= 0 && done < picture->len && !fetch->error;) {
		const ssize_t got = write(fd, picture->data + done, picture->len - done);
		if (got < 0 && errno != EINTR)
			fetch->error = errno;
		done += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0 && close(fd) && !fetch->error)
		fetch->error = errno;
	if (fetch->error)
		unlink(path);
	fetch->count += fd >= 0 && !fetch->error;
	free(path);
	return fetch->error ? -1 : 0;
}

static void show_progress(void *context, const struct live_result *result)
{
	(void)context;
	step_at(result->fetched + result->failed, result->drawable);
}

/* What was left out, and why. */
static void tell(const struct selection *selection, const struct capture_options *options, const struct fetch *fetch,
		 const struct live_result *result)
{
	const char *name = selection->name;
	switch (result->end) {
	case LIVE_DONE:
		break;
	case LIVE_NO_BITMAPS:
		say("%s: it has no bitmaps", name);
		break;
	case LIVE_TIME:
		say("%s: %u s were over before all pictures were here; --pixels-time gives more", name, options->pixels_seconds);
		break;
	case LIVE_BYTES:
		say("%s: pictures of more than %" PRIu64 " bytes; --pixels-size lets more come", name, options->pixels_bytes);
		break;
	case LIVE_STOPPED:
		say("%s: %s", fetch->folder, strerror(fetch->error));
		break;
	case LIVE_CANCELLED:
		return;
	case LIVE_REFUSED:
		say("%s: no pictures: %s", name, result->error);
		break;
	default:
		say("%s: fetching pictures ended: %s", name, result->error);
		break;
	}
	const uint64_t lacking = result->failed + result->left + result->unasked;
	if (lacking)
		say("%s: %" PRIu64 " of %" PRIu64 " bitmaps are without a picture: %" PRIu64 " could not be compressed%s%s%s, "
		    "%" PRIu64 " were left out",
		    name, lacking, result->drawable + result->unasked, result->failed, *result->failure ? " (" : "",
		    result->failure, *result->failure ? ")" : "", result->left + result->unasked);
}

int fetch_pictures(const struct selection *selection, const struct capture_options *options, const char *folder, size_t *count)
{
	static const struct live_sink sink = { write_picture, show_progress };
	struct fetch fetch = { .selection = selection, .folder = folder };
	struct live_options live;
	struct live_result result;
	struct forward forward;
	*count = 0;
	if (open_debugger(selection, &forward))
		return -1;
	step("fetching pictures from %s", selection->name);
	begin(&fetch, &live, &forward);
	live.budget_ms = (uint64_t)options->pixels_seconds * 1000;
	live.budget_bytes = options->pixels_bytes;
	const enum live_end how = live_bitmaps_fetch(&live, &sink, &result);
	end(&fetch);
	forward_close(&forward);
	step_end();
	tell(selection, options, &fetch, &result);
	*count = fetch.count;
	return how < LIVE_STOPPED ? 0 : -1;
}
