/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loli_device: what a capture with LoliProfiler's agent needs of the device, but for the agent's own connection: the
 * application started with the agent in it, its process, its memory, its mappings, the screen. As LoliProfiler does it
 * (src/startappprocess.cpp, meminfoprocess.cpp, screenshotprocess.cpp).
 *
 * Calls take their time, and meanwhile the agent must not wait for us: `watch` is called in between (run.h).
 */
#ifndef HEAPFS_LOLI_DEVICE_H
#define HEAPFS_LOLI_DEVICE_H

#include "capture/loli_save.h"
#include "capture/select.h"

struct loli_device {
	const struct capture_options *options;
	struct selection selection; /* the device, and the application's process */
	char *name;		/* of that process: "package" or "package:subprocess" */
	bool (*watch)(void *context, const char *data, size_t len);
	void *context;
	int undo;		/* of files that were pushed */
	bool pushed_agent, pushed_config, debug_app, made_smaps;
	bool put_by_user, put_by_root; /* the agent into the application's folder, or some of it */
	char *library;		/* its path there, or NULL */
	unsigned pictures_failed, samples_failed;
};

/* Finds the device. CAPTURE_DONE, or another status after a message. To be closed in any case. */
int loli_device_open(struct loli_device *device, const struct capture_options *options);
void loli_device_close(struct loli_device *device);

/* Pushes configuration and agent, and starts the application unless it is to be attached to. 0, or -1 after a message. */
int loli_device_start(struct loli_device *device);
/* The application's process: 1, 0 if there is none, -1 after a message. */
int loli_device_find(struct loli_device *device);
/* Loads the pushed agent into the process. 0, or -1 after a message. */
int loli_device_inject(struct loli_device *device);

/* A line of the memory series. False if there is none: the first time after a message. */
bool loli_device_sample(struct loli_device *device, struct loli_sample *sample);
/* A picture of the screen, PNG or JPEG: to be freed with output_free() in any case. False likewise. */
bool loli_device_picture(struct loli_device *device, struct output *output);
/* The text of the process's /proc/PID/smaps, without the agent's help. False if it may not be read. */
bool loli_device_smaps(struct loli_device *device, struct output *output);
/* The same that the agent wrote, by its command: the empty file that it writes to, and what is in it then. */
bool loli_device_make_smaps(struct loli_device *device);
bool loli_device_take_smaps(struct loli_device *device, struct output *output);

/* What `dumpsys meminfo` prints of a process, as LoliProfiler's six series. False if it is not there. */
bool loli_meminfo_parse(const char *text, const char *name, struct loli_sample *sample);

#endif
