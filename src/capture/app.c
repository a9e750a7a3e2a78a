/* SPDX-License-Identifier: Apache-2.0 */
/* Heap dumps of applications on Android devices. */
#include "capture/adb.h"
#include "capture/capture.h"
#include "capture/say.h"

#include <stdio.h>

int capture_app(const struct capture_options *options)
{
	static const char *const devices[] = { "devices", NULL };
	struct adb adb;
	struct output output;
	char reason[512];
	(void)options;
	if (adb_open(&adb))
		return CAPTURE_FAILED;
	const int rc = adb_call(&adb, ADB_START, devices, &output);
	if (rc)
		say("adb devices: %s", adb_reason(&output, reason, sizeof reason));
	else
		fputs(output.data, stdout);
	output_free(&output);
	adb_close(&adb);
	return rc ? CAPTURE_FAILED : CAPTURE_DONE;
}
