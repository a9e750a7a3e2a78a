/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device: Android devices that adb knows, and the applications that run on one.
 *
 * Texts are the device's, and foreign: they are only compared, quoted for its shell, and shown.
 */
#ifndef HEAPFS_DEVICE_H
#define HEAPFS_DEVICE_H

#include "capture/adb.h"

#include <string.h>

struct device {
	char *serial;
	char *state;		/* "device" where it may be talked to, else "unauthorized", "offline", … */
	/* Its properties; NULL, 0 where they are not known. */
	char *model, *fingerprint;
	unsigned sdk;		/* API level */
	bool debuggable;	/* its build: any application can be dumped */
	unsigned rank;		/* for who chooses: the lowest fits best */
};

struct devices {
	struct device *list;
	size_t count;
};

static inline bool device_ready(const struct device *device)
{
	return !strcmp(device->state, "device");
}

/* All of them, with properties where they are ready. 0, or -1 after a message. */
int devices_read(const struct adb *adb, struct devices *devices);
void devices_free(struct devices *devices);
/* What a person must do so that it can be used, in a few words: "tap Allow in the dialog on its screen". */
const char *device_remedy(const struct device *device);

struct process {
	uint32_t pid;
	char *name;
	bool system;		/* of Android itself, by its name */
	unsigned rank;
};

struct processes {
	struct process *list;
	size_t count;
	bool filtered;		/* only those of applications, which can be dumped */
};

/*
 * Processes of the device that `adb` is set to. Of applications only (`pm list packages` tells them from native services),
 * and of those only what can be dumped: debuggable ones (`adb jdwp`), or on a debuggable build any. Others first, then
 * those of Android itself, by name. 0, or -1 after a message.
 */
int processes_read(const struct adb *adb, const struct device *device, struct processes *processes);
/* Every process, as `ps` has them. */
int processes_read_all(const struct adb *adb, struct processes *processes);
void processes_free(struct processes *processes);
/* Is `name` a process of that package: the same, or with ":what" behind it? */
bool process_of_package(const char *name, const char *package, size_t package_len);

#endif
