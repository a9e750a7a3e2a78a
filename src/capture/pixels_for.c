/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures for a dump that was made before, from the process that it is of, which still runs. */
#include "android/bitmap.h"
#include "android/origin.h"
#include "capture/dump.h"
#include "capture/fetch.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "capture/temp.h"
#include "capture/trace_out.h"
#include "open.h"
#include "tree/text.h"

#include <stdlib.h>

/* What is made, under temporary names until all of it is there. */
struct made {
	struct temp dump;	/* a second one, for its pictures */
	struct temp pictures;	/* a folder */
	struct temp trace;
};

static int open_dump(struct opened *opened, const char *path)
{
	const struct open_options options = { .program = "heapfs-capture", .path = path, .only_one = true };
	if (opened_open(opened, &options))
		return -1;
	if (!opened->container.loli)
		return 0;
	say("%s: a native profile, which has no pictures", path);
	return -1;
}

/* A String of the dump's, to be freed; NULL where it is not known. */
static char *copy(const struct origin *origin, unsigned which)
{
	struct text text = { .data = NULL };
	if (!origin->known[which])
		return NULL;
	text_raw_string(&text, &origin->strings[which], 0, origin->strings[which].units);
	text_putc(&text, '\0');
	if (!text.failed)
		return text.data;
	text_free(&text);
	return NULL;
}

static void wanted_free(struct wanted *wanted)
{
	free((char *)(uintptr_t)wanted->fingerprint);
	free((char *)(uintptr_t)wanted->model);
	free((char *)(uintptr_t)wanted->process);
	free((char *)(uintptr_t)wanted->package);
	*wanted = (struct wanted){ .sdk = 0 };
}

/* Where the dump is from, and whether it lacks pixels at all. */
static int read_origin(const char *path, struct wanted *wanted)
{
	struct opened opened = { .begun = false };
	struct origin origin;
	int rc = open_dump(&opened, path);
	if (!rc && !bitmap_class(&opened.heaps[0])) {
		say("%s: it has no android.graphics.Bitmap: there are no pictures to be had for it", path);
		rc = -1;
	}
	if (!rc) {
		origin_of(&opened.heaps[0], &origin);
		*wanted = (struct wanted){ .fingerprint = copy(&origin, ORIGIN_FINGERPRINT), .model = copy(&origin, ORIGIN_MODEL),
					   .process = copy(&origin, ORIGIN_PROCESS), .package = copy(&origin, ORIGIN_PACKAGE),
					   .sdk = origin.sdk };
		say("%s is of %s, on %s, API level %u", path, wanted->process ? wanted->process : "an unknown process",
		    wanted->model ? wanted->model : "an unknown device", wanted->sdk);
		if (wanted->sdk && wanted->sdk < SDK_PIXELS_NATIVE) {
			say("before Android 8 (API level %d) the pixels are in the dump already: heapfs shows them", SDK_PIXELS_NATIVE);
			rc = -1;
		}
	}
	opened_close(&opened);
	return rc;
}

/*
 * From API 35 on: a dump with pictures, of which only those are kept. Without a collection of garbage, which would drop
 * bitmaps that the older dump has.
 */
static int64_t from_dump(const struct selection *selection, const struct capture_options *options, struct made *made)
{
	const struct dump_request request = { .format = options->bitmap_format, .timeout = options->timeout };
	struct opened opened = { .begun = false };
	struct bitmaps *bitmaps = NULL;
	int64_t count = -1;
	if (temp_open(&made->dump, options->output, false) || device_dump(selection, &request, made->dump.path) < 0)
		return -1;
	if (!open_dump(&opened, made->dump.path) && (bitmaps = bitmaps_open(&opened.heaps[0])) != NULL) {
		const struct trace_parts parts = { .bitmaps = bitmaps };
		count = trace_out(made->trace.path, selection->pid, &parts);
		bitmaps_close(bitmaps);
	} else if (opened.heap_count && !bitmaps) {
		say("%s: its pictures cannot be read", made->dump.path);
	}
	opened_close(&opened);
	return count;
}

/* From API 26 to 34: by a debugger's connection. */
static int64_t from_process(const struct selection *selection, const struct capture_options *options, struct made *made)
{
	size_t count;
	if (temp_open(&made->pictures, options->output, true))
		return -1;
	fetch_pictures(selection, options, made->pictures.path, &count);
	const struct trace_parts parts = { .folder = made->pictures.path };
	return count ? trace_out(made->trace.path, selection->pid, &parts) : 0;
}

static int take(const struct selection *selection, const struct capture_options *options, struct made *made)
{
	const unsigned sdk = selection->device->sdk;
	if (!sdk) {
		say("%s: its API level is not known, which decides how pictures are fetched", selection->device->serial);
		return -1;
	}
	if (sdk < SDK_PIXELS_NATIVE) {
		say("%s: API level %u: before %d the pixels are in the dumps themselves", selection->device->serial, sdk,
		    SDK_PIXELS_NATIVE);
		return -1;
	}
	if (temp_open(&made->trace, options->output, false))
		return -1;
	const int64_t count = sdk >= SDK_DUMP_BITMAPS ? from_dump(selection, options, made) :
							from_process(selection, options, made);
	if (!count)
		say("%s: there was not a single picture: nothing is written", selection->name);
	return count <= 0 || stop_signal() || temp_keep(&made->trace) ? -1 : 0;
}

int capture_pixels(const struct capture_options *options)
{
	struct selection selection = { .pid = 0 };
	struct made made = { .dump.undo = -1, .pictures.undo = -1, .trace.undo = -1 };
	struct wanted wanted = { .sdk = 0 };
	int status = CAPTURE_FAILED;
	if (options->output && !trace_wanted(options->output)) {
		say("-o %s: pictures alone are written as a Perfetto trace: a name that ends in .pftrace", options->output);
		return CAPTURE_USAGE;
	}
	if ((!options->output || !temp_absent(options->output)) && !read_origin(options->pixels_for, &wanted))
		status = selection_make(&selection, options, &wanted);
	if (!status && selection.pid) {
		if (!options->output) {
			say("where to write to (-o)? See heapfs-capture --help");
			status = CAPTURE_USAGE;
		} else {
			status = take(&selection, options, &made) ? CAPTURE_FAILED : CAPTURE_DONE;
		}
	}
	temp_done(&made.trace);
	temp_done(&made.pictures);
	temp_done(&made.dump);
	selection_free(&selection);
	wanted_free(&wanted);
	return status;
}
