/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mounting.h"
#include "capture/capture.h"
#include "capture/run.h"
#include "capture/say.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A large dump is read before it is mounted. */
#define MOUNT_MOST 600000

int mount_captured(const char *file, const char *folder)
{
	char beside[PATH_MAX + 8], reason[512];
	const ssize_t len = readlink("/proc/self/exe", beside, PATH_MAX);
	char *slash = len > 0 ? memrchr(beside, '/', (size_t)len) : NULL;
	const char *argv[] = { "heapfs", "--", file, folder, NULL };
	const struct run run = { .argv = argv, .timeout = MOUNT_MOST };
	struct output output;
	if (slash) {
		strcpy(slash, "/heapfs");
		argv[0] = access(beside, X_OK) ? argv[0] : beside;
	}
	step("mounting %s", file);
	const int rc = run_program(&run, &output);
	step_end();
	/* Warnings about the dump, and errors. */
	if (output.len)
		fputs(output.data, stderr);
	if (rc && !output.len)
		say("%s: heapfs: %s", file, run_reason(&output, reason, sizeof reason));
	output_free(&output);
	return rc ? CAPTURE_FAILED : CAPTURE_DONE;
}
