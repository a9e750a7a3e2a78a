/* SPDX-License-Identifier: Apache-2.0 */
/* Heap dumps of applications on Android devices, with their pictures. */
#include "capture/dump.h"
#include "capture/fetch.h"
#include "capture/mounting.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "capture/temp.h"
#include "capture/trace_out.h"

#include <stdio.h>
#include <stdlib.h>

/* What is made, under temporary names until all of it is there. */
struct made {
	struct temp dump;	/* HPROF */
	struct temp pictures;	/* a folder */
	struct temp trace;	/* of both, where that is wanted */
	size_t picture_count;
};

static int take_pictures(const struct selection *selection, const struct capture_options *options, struct made *made)
{
	char *folder;
	if (asprintf(&folder, "%s.bitmaps", options->output) < 0) {
		say("out of memory");
		return -1;
	}
	const int rc = temp_open(&made->pictures, folder, true);
	free(folder);
	/* Without pictures the dump is what it was: why there are none was said. */
	if (!rc)
		fetch_pictures(selection, options, made->pictures.path, &made->picture_count);
	if (!rc && !made->picture_count)
		temp_remove(&made->pictures);
	return rc;
}

/* Files get their names. */
static int keep(const struct capture_options *options, const struct selection *selection, struct made *made)
{
	if (trace_wanted(options->output)) {
		const struct trace_parts parts = { .dump = made->dump.path,
						   .folder = made->picture_count ? made->pictures.path : NULL };
		if (temp_open(&made->trace, options->output, false) ||
		    trace_out(made->trace.path, selection->pid, &parts) < 0 || temp_keep(&made->trace))
			return -1;
		temp_remove(&made->dump);
		temp_remove(&made->pictures);
		return 0;
	}
	if (temp_keep(&made->dump))
		return -1;
	if (!made->picture_count || !temp_keep(&made->pictures))
		return 0;
	temp_remove(&made->dump);
	return -1;
}

static int take(const struct selection *selection, const struct capture_options *options, struct made *made)
{
	const unsigned sdk = selection->device->sdk;
	const bool in_dump = !options->no_pixels && sdk >= SDK_DUMP_BITMAPS;
	const struct dump_request request = { .gc = !options->no_gc, .format = in_dump ? options->bitmap_format : NULL,
					      .timeout = options->timeout };
	if (!sdk && !(options->no_gc && options->no_pixels))
		say("%s: its API level is not known: neither is garbage collected, nor are pictures fetched",
		    selection->device->serial);
	/* am collects from API 27 on; a dump without a collection is better than none. */
	if (!options->no_gc && sdk && sdk < SDK_DUMP_GC)
		fetch_gc(selection);
	if (stop_signal() || temp_open(&made->dump, options->output, false))
		return -1;
	const int dumped = device_dump(selection, &request, made->dump.path);
	if (dumped < 0)
		return -1;
	if (!options->no_pixels && sdk >= SDK_PIXELS_NATIVE && sdk < SDK_DUMP_BITMAPS && take_pictures(selection, options, made))
		return -1;
	if (stop_signal() || keep(options, selection, made))
		return -1;
	return dumped;
}

int capture_app(const struct capture_options *options)
{
	struct selection selection;
	struct made made = { .dump.undo = -1, .pictures.undo = -1, .trace.undo = -1 };
	char *folder = NULL;
	int status = CAPTURE_FAILED;
	if (options->target && !options->output) {
		say("where to write to (-o)? See heapfs-capture --help");
		return CAPTURE_USAGE;
	}
	if (options->output && (asprintf(&folder, "%s.bitmaps", options->output) < 0 || temp_absent(options->output) ||
				(!trace_wanted(options->output) && temp_absent(folder)))) {
		free(folder);
		return CAPTURE_FAILED;
	}
	free(folder);
	status = selection_make(&selection, options, NULL);
	if (!status && selection.pid) {
		status = take(&selection, options, &made) ? CAPTURE_FAILED : CAPTURE_DONE;
		if (!status && options->mount)
			status = mount_captured(options->output, options->mount);
	}
	temp_done(&made.trace);
	temp_done(&made.pictures);
	temp_done(&made.dump);
	selection_free(&selection);
	return status;
}
