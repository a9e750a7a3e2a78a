/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select: which device and which process, by the options, by what a dump says of itself, or by a person's choice.
 */
#ifndef HEAPFS_SELECT_H
#define HEAPFS_SELECT_H

#include "capture/capture.h"
#include "capture/device.h"

/* Where a dump is from, as far as it says so; texts may be NULL. */
struct wanted {
	const char *fingerprint, *model, *process, *package;
	unsigned sdk;
};

struct selection {
	struct adb adb;		/* set to the device */
	struct devices devices;
	const struct device *device;
	uint32_t pid;		/* 0: none was chosen */
	char *name;		/* of the process */
};

/*
 * A device that is ready: that of -s or ANDROID_SERIAL, the only one, or the one that is chosen at the terminal. And a
 * process of it: `target` is a name or an id. With `wanted` those come first that fit it best, and --yes takes them.
 * Where the choice is open and nobody can be asked, devices and processes are listed on standard output: CAPTURE_USAGE,
 * or CAPTURE_DONE with pid 0 where no output was asked for. selection_free() in any case.
 */
int selection_make(struct selection *selection, const struct capture_options *options, const struct wanted *wanted);
/* Only the device. */
int selection_device(struct selection *selection, const struct capture_options *options);
void selection_free(struct selection *selection);

#endif
