/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/trace_out.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "input/input.h"
#include "input/pack.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>

bool trace_wanted(const char *path)
{
	static const char *const ends[] = { ".pftrace", ".perfetto-trace" };
	const size_t len = strlen(path);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (len > strlen(ends[i]) && !strcmp(path + len - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

/* A file whose bytes go into the trace. */
static int put_dump(struct pack *pack, const char *out, const char *path)
{
	struct input in;
	char error[PATH_MAX + 512];
	if (input_open(&in, path, error, sizeof error)) {
		say("%s", error);
		return -1;
	}
	input_guard(&in);
	const uint64_t epoch = input_begin();
	int rc = pack_dump(pack, in.data, in.size);
	if (rc) {
		say("%s: %s", out, strerror(errno));
	} else if (!input_unharmed(&in, epoch)) {
		say("%s: the file was changed while it was being read", path);
		rc = -1;
	}
	input_close(&in);
	return rc;
}

/* Pictures that a dump has, named after their pointers; of several for one pointer the first. */
static int put_bitmaps(struct pack *pack, const char *out, const struct bitmaps *bitmaps, size_t *count)
{
	const struct hprof *hprof = bitmaps->heap->hprof;
	uint64_t last = 0;
	for (uint32_t i = 0; i < bitmaps->picture_count && !stop_signal(); i++) {
		const struct picture *picture = &bitmaps->pictures[i];
		const uint8_t *data = input_at(hprof->in, picture->offset, picture->len);
		char name[64];
		if (!data || !picture->pointer || picture->pointer == last || picture->head.format == PICTURE_UNKNOWN)
			continue;
		last = picture->pointer;
		snprintf(name, sizeof name, "0x%" PRIx64 ".%s", picture->pointer, picture_extension(picture->head.format));
		if (pack_picture(pack, name, data, picture->len)) {
			say("%s: %s", out, strerror(errno));
			return -1;
		}
		++*count;
	}
	return 0;
}

int64_t trace_out(const char *path, uint32_t pid, const struct trace_parts *parts)
{
	char error[PATH_MAX + 512] = "";
	struct pack pack = { .pid = pid, .out = fopen(path, "we") };
	struct timespec now;
	uint64_t left_out;
	size_t files = 0, pictures = 0;
	if (!pack.out) {
		say("%s: %s", path, strerror(errno));
		return -1;
	}
	step("writing the trace");
	clock_gettime(CLOCK_REALTIME, &now);
	pack.time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	int rc = parts->dump ? put_dump(&pack, path, parts->dump) : 0;
	if (!rc && parts->folder && (rc = pack_folder(&pack, parts->folder, &files, &left_out, error, sizeof error)) != 0)
		say("%s", error);
	if (!rc && parts->bitmaps)
		rc = put_bitmaps(&pack, path, parts->bitmaps, &pictures);
	if (fclose(pack.out) && !rc) {
		say("%s: %s", path, strerror(errno));
		rc = -1;
	}
	step_end();
	return rc || stop_signal() ? -1 : (int64_t)(files + pictures);
}
