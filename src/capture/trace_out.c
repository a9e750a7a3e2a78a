/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/trace_out.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "input/input.h"
#include "input/pack.h"

#include <errno.h>
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
static int put_dump(struct pack *pack, const char *path)
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
		say("%s", strerror(errno));
	} else if (!input_unharmed(&in, epoch)) {
		say("%s: the file was changed while it was being read", path);
		rc = -1;
	}
	input_close(&in);
	return rc;
}

int trace_out(const char *path, uint32_t pid, const char *dump, const char *folder)
{
	char error[PATH_MAX + 512] = "";
	struct pack pack = { .pid = pid, .out = fopen(path, "we") };
	struct timespec now;
	size_t count;
	if (!pack.out) {
		say("%s: %s", path, strerror(errno));
		return -1;
	}
	step("writing the trace");
	clock_gettime(CLOCK_REALTIME, &now);
	pack.time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	int rc = dump ? put_dump(&pack, dump) : 0;
	if (!rc && folder && (rc = pack_folder(&pack, folder, &count, error, sizeof error)) != 0)
		say("%s", error);
	if (fclose(pack.out) && !rc) {
		say("%s: %s", path, strerror(errno));
		rc = -1;
	}
	step_end();
	return rc;
}
