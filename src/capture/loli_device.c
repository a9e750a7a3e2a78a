/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/loli_device.h"
#include "capture/clock.h"
#include "capture/fetch.h"
#include "capture/say.h"
#include "capture/stop.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/data/local/tmp"
#define AGENT FOLDER "/libloli.so"
#define CONFIG FOLDER "/loli3.conf"
#define SMAPS FOLDER "/smaps.txt"
#define START_MS 20000	/* for the application's process to be there */
#define PUSH_MS 60000
#define PICTURE_MOST ((size_t)64 << 20)
#define SMAPS_MOST ((size_t)256 << 20)
/* So many failures in a row, and it is not tried again. */
#define FAILURES_MOST 3

/* --- the device, and what is left on it meanwhile --- */

/* A command of the device's, while the agent's connection is read. */
static int call(struct loli_device *device, const char *first, const char *command, int timeout, size_t most, bool apart,
		struct output *output)
{
	const char *const arguments[] = { first, command, NULL };
	struct run run = { .timeout = timeout, .most = most, .apart = apart, .watch = device->watch, .context = device->context };
	return adb_run(&device->selection.adb, &run, arguments, output);
}

/* On every way out; what may be left is told. */
static void clean_up(const struct loli_device *device, const char *command)
{
	const char *const arguments[] = { "shell", command, NULL };
	struct output output;
	char reason[512];
	if (adb_call(&device->selection.adb, ADB_SOON, arguments, &output))
		say("%s: something may be left on the device, \"%s\" failed: %s", device->selection.adb.serial, command,
		    adb_reason(&output, reason, sizeof reason));
	output_free(&output);
}

static void undo_device(void *context)
{
	struct loli_device *device = context;
	char command[1024];
	if (device->pushed_agent || device->pushed_config || device->made_smaps) {
		snprintf(command, sizeof command, "rm -f%s%s%s", device->pushed_agent ? " " AGENT : "",
			 device->pushed_config ? " " CONFIG : "", device->made_smaps ? " " SMAPS : "");
		clean_up(device, command);
	}
	if (device->debug_app)
		clean_up(device, "am clear-debug-app");
	/* The process that has loaded it keeps it. run-as begins in the folder that the agent was put into. */
	if (device->put_by_user) {
		snprintf(command, sizeof command, "run-as %s rm -f libloli.so", device->options->app);
		clean_up(device, command);
	}
	if (device->put_by_root) {
		snprintf(command, sizeof command, "su -c 'rm -f /data/data/%s/libloli.so'", device->options->app);
		clean_up(device, command);
	}
}

/* It goes into commands of the device's shell as it is. */
static bool plain(const char *option, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (!isalnum((unsigned char)*p) && *p != '.' && *p != '_') {
			say("%s %s: may have letters, digits, dots and underscores only", option, text);
			return false;
		}
	}
	return *text != '\0';
}

int loli_device_open(struct loli_device *device, const struct capture_options *options)
{
	*device = (struct loli_device){ .options = options, .undo = -1 };
	if (!plain("--app", options->app) || (options->subprocess && !plain("--subprocess", options->subprocess)))
		return CAPTURE_USAGE;
	const int status = selection_device(&device->selection, options);
	if (status)
		return status;
	device->undo = undo_add(undo_device, device);
	if (device->undo >= 0 && asprintf(&device->name, "%s%s%s", options->app, options->subprocess ? ":" : "",
					  options->subprocess ? options->subprocess : "") >= 0)
		return CAPTURE_DONE;
	say("out of memory");
	device->name = NULL;
	return CAPTURE_FAILED;
}

void loli_device_close(struct loli_device *device)
{
	undo_now(device->undo);
	if (device->options && device->selection.adb.path)
		selection_free(&device->selection);
	free(device->name);
	free(device->library);
	*device = (struct loli_device){ .undo = -1 };
}

/* --- started, with the agent in it --- */

static int push(struct loli_device *device, const char *from, const char *to)
{
	const char *const arguments[] = { "push", from, to, NULL };
	struct run run = { .timeout = PUSH_MS };
	struct output output;
	char reason[512];
	const int rc = adb_run(&device->selection.adb, &run, arguments, &output);
	if (rc && output.end != RUN_STOPPED)
		say("%s: cannot be pushed to %s: %s", from, to, adb_reason(&output, reason, sizeof reason));
	output_free(&output);
	return rc;
}

/* LoliProfiler's own, where Qt keeps an application's data. To be freed; NULL where there is none. */
static char *own_config(void)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	char *path;
	const int len = data && *data ? asprintf(&path, "%s/LoliProfiler/loli3.conf", data) :
					asprintf(&path, "%s/.local/share/LoliProfiler/loli3.conf", home ? home : "");
	if (len >= 0 && !access(path, R_OK))
		return path;
	if (len >= 0)
		free(path);
	return NULL;
}

static int push_files(struct loli_device *device)
{
	const struct capture_options *options = device->options;
	char *own = options->config ? NULL : own_config();
	const char *config = options->config ? options->config : own;
	int rc = 0;
	if (config) {
		step("pushing %s", config);
		device->pushed_config = true;
		rc = push(device, config, CONFIG);
	} else if (options->agent) {
		say("there is no configuration of LoliProfiler's (--config names one): the agent takes %s of the device, if that is there",
		    CONFIG);
	}
	free(own);
	if (!rc && options->agent) {
		step("pushing %s", options->agent);
		device->pushed_agent = true;
		rc = push(device, options->agent, AGENT);
	}
	return rc;
}

/* A command of the device's that prints an error when it fails. */
static int command(struct loli_device *device, const char *text)
{
	struct output output;
	char line[512];
	const int rc = call(device, "shell", text, ADB_START, 0, false, &output);
	const bool failed = rc || adb_failed(&output, line, sizeof line);
	if (failed && output.end != RUN_STOPPED)
		say("%s: %s: %s", device->selection.adb.serial, text, rc ? adb_reason(&output, line, sizeof line) : line);
	output_free(&output);
	return failed ? -1 : 0;
}

static int launch(struct loli_device *device)
{
	char text[512];
	if (device->options->agent) { /* it waits for the debugger, so that the agent sees it from the start */
		snprintf(text, sizeof text, "am set-debug-app -w %s", device->options->app);
		device->debug_app = true;
		if (command(device, text))
			return -1;
	}
	step("starting %s", device->options->app);
	snprintf(text, sizeof text, "monkey -p %s -c android.intent.category.LAUNCHER 1", device->options->app);
	return command(device, text);
}

int loli_device_find(struct loli_device *device)
{
	struct processes processes;
	if (processes_read_all(&device->selection.adb, &processes))
		return -1;
	device->selection.pid = 0;
	for (size_t i = 0; i < processes.count; i++)
		if (!strcmp(processes.list[i].name, device->name))
			device->selection.pid = processes.list[i].pid;
	processes_free(&processes);
	free(device->selection.name);
	device->selection.name = strdup(device->name);
	return device->selection.pid != 0;
}

int loli_device_start(struct loli_device *device)
{
	const int64_t end = clock_ms() + START_MS;
	if (push_files(device) || (!device->options->attach && launch(device)))
		return -1;
	for (;;) {
		const int found = loli_device_find(device);
		if (found)
			return found < 0 ? -1 : 0;
		if (device->options->attach) {
			say("%s does not run on %s; without --attach it is started", device->name, device->selection.adb.serial);
			return -1;
		}
		if (!clock_left(end)) {
			say("%s was started, but its process is not there after %d s", device->name, START_MS / 1000);
			return -1;
		}
		if (!stop_sleep(500))
			return -1;
	}
}

/* Into the application's own folder, which is the only one that it may load code from: as its user, or as root. */
static int copy_agent(struct loli_device *device)
{
	const char *app = device->options->app;
	char text[512], reason[512] = "";
	for (unsigned i = 0; i < 2; i++) {
		struct output output;
		if (i)
			snprintf(text, sizeof text, "su -c 'cp " AGENT " /data/data/%s/ && cd /data/data/%s && chmod 755 libloli.so && pwd || {"
				 " rm -f /data/data/%s/libloli.so; exit 1; }'", app, app, app);
		else
			snprintf(text, sizeof text, "cat " AGENT " | run-as %s sh -c 'cat >libloli.so && chmod 700 libloli.so && pwd ||"
				 " { rm -f libloli.so; exit 1; }'", app);
		bool *put = i ? &device->put_by_root : &device->put_by_user;
		*put = true; /* or a part of it, until it is known that it was not */
		const int rc = call(device, "shell", text, ADB_START, 0, false, &output);
		const char *folder = output.data ? output.data : "";
		const size_t len = strcspn(folder, "\r\n");
		const bool path = !rc && *folder == '/' && !strpbrk(folder, " '\"\\$`;&|<>");
		if (path && asprintf(&device->library, "%.*s/libloli.so", (int)len, folder) < 0)
			device->library = NULL;
		const enum run_end ended = output.end;
		if (!path && !*reason)
			adb_reason(&output, reason, sizeof reason);
		output_free(&output);
		if (path && device->library)
			return 0;
		if (ended == RUN_STOPPED)
			return -1;
		*put = ended != RUN_EXITED;
	}
	say("%s: the agent cannot be put into its folder: %s", app, reason);
	say("%s must be a debuggable application, or the device rooted (su)", app);
	return -1;
}

int loli_device_inject(struct loli_device *device)
{
	if (!device->options->agent)
		return 0;
	if (!device->library && copy_agent(device))
		return -1;
	return fetch_load(&device->selection, device->library);
}

/* --- what is looked at meanwhile --- */

bool loli_meminfo_parse(const char *text, const char *name, struct loli_sample *sample)
{
	/* The first word of a line, and the number of the word that is its total. */
	static const struct {
		const char *word;
		unsigned at, series;
	} rows[] = { { "TOTAL", 1, 0 }, { "Native", 2, 1 }, { "Gfx", 2, 2 }, { "EGL", 2, 3 }, { "GL", 2, 4 }, { "Unknown", 1, 5 } };
	bool seen[6] = { false }, found = false;
	const size_t len = strlen(name);
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = line + strcspn(line, "\n");
		for (const char *p = line; !found && (p = memchr(p, '[', (size_t)(end - p))) != NULL; p++)
			found = (size_t)(end - p) > len + 1 && !memcmp(p + 1, name, len) && p[len + 1] == ']';
		char words[3][32] = { "", "", "" };
		if (!found || sscanf(line, " %31[^ \r\n] %31[^ \r\n] %31[^ \r\n]", words[0], words[1], words[2]) < 2)
			continue;
		for (unsigned i = 0; i < 6; i++) {
			char *rest;
			const unsigned long kib = strtoul(words[rows[i].at], &rest, 10);
			if (seen[rows[i].series] || strcmp(words[0], rows[i].word) || rest == words[rows[i].at] || *rest)
				continue;
			seen[rows[i].series] = true;
			sample->mib[rows[i].series] = (uint32_t)(kib / 1024);
		}
	}
	return found && seen[0];
}

bool loli_device_sample(struct loli_device *device, struct loli_sample *sample)
{
	char text[512], reason[512];
	struct output output;
	if (device->samples_failed == FAILURES_MOST)
		return false;
	snprintf(text, sizeof text, "dumpsys meminfo --package %s", device->name);
	const int rc = call(device, "shell", text, ADB_SOON, 0, false, &output);
	const bool good = !rc && loli_meminfo_parse(output.data, device->name, sample);
	device->samples_failed = good || output.end == RUN_STOPPED ? 0 : device->samples_failed + 1;
	if (device->samples_failed == FAILURES_MOST)
		say("%s: no memory series from here on: dumpsys meminfo: %s", device->name,
		    rc ? adb_reason(&output, reason, sizeof reason) : "it does not tell of the process");
	output_free(&output);
	return good;
}

bool loli_device_picture(struct loli_device *device, struct output *output)
{
	char reason[512];
	*output = (struct output){ .data = NULL };
	if (device->pictures_failed == FAILURES_MOST)
		return false;
	const int rc = call(device, "exec-out", "screencap -p", ADB_SOON, PICTURE_MOST, true, output);
	const bool good = !rc && !output->cut && output->len > 8 &&
			  (!memcmp(output->data, "\x89PNG", 4) || !memcmp(output->data, "\xff\xd8\xff", 3));
	device->pictures_failed = good || output->end == RUN_STOPPED ? 0 : device->pictures_failed + 1;
	if (device->pictures_failed == FAILURES_MOST)
		say("%s: no pictures of the screen from here on: screencap: %s", device->selection.adb.serial,
		    rc ? adb_reason(output, reason, sizeof reason) : "it gives no PNG");
	return good;
}

/* Does it begin as a line of mappings does? */
static bool is_smaps(const struct output *output)
{
	unsigned long long start, end;
	return output->len && !output->cut && sscanf(output->data, "%llx-%llx ", &start, &end) == 2;
}

bool loli_device_smaps(struct loli_device *device, struct output *output)
{
	char text[512];
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			snprintf(text, sizeof text, "su -c 'cat /proc/%u/smaps'", (unsigned)device->selection.pid);
		else
			snprintf(text, sizeof text, "run-as %s cat /proc/%u/smaps", device->options->app,
				 (unsigned)device->selection.pid);
		if (!call(device, "shell", text, ADB_SOON, SMAPS_MOST, true, output) && is_smaps(output))
			return true;
		output_free(output);
	}
	return false;
}

bool loli_device_make_smaps(struct loli_device *device)
{
	struct output output;
	device->made_smaps = true;
	const int rc = call(device, "shell", "rm -f " SMAPS " && touch " SMAPS " && chmod 666 " SMAPS, ADB_SOON, 0, false, &output);
	output_free(&output);
	return !rc;
}

bool loli_device_take_smaps(struct loli_device *device, struct output *output)
{
	return !call(device, "shell", "cat " SMAPS, ADB_SOON, SMAPS_MOST, true, output) && is_smaps(output);
}
