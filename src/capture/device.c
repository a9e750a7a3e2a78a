/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/device.h"
#include "capture/say.h"

#include <stdlib.h>

/* A device with more is made to do harm. */
#define PROCESSES_MOST 65536
#define DEVICES_MOST 1024

static char *copy(const char *text, size_t len)
{
	return strndup(text, len);
}

/* The next line of *at, which goes behind it; without "\r". False at the end. */
static bool next_line(const char **at, const char **line, size_t *len)
{
	if (!**at)
		return false;
	const char *end = strchrnul(*at, '\n');
	*line = *at;
	*len = (size_t)(end - *at);
	*at = *end ? end + 1 : end;
	while (*len && (*line)[*len - 1] == '\r')
		--*len;
	return true;
}

/* The next word of a line, up to `end`; 0 where there is none. */
static size_t next_word(const char **at, const char *end, const char **word)
{
	while (*at < end && (**at == ' ' || **at == '\t'))
		++*at;
	*word = *at;
	while (*at < end && **at != ' ' && **at != '\t')
		++*at;
	return (size_t)(*at - *word);
}

/* A number from 1 to INT32_MAX; 0 for what is none. */
static uint32_t number_of(const char *word, size_t len)
{
	uint64_t number = 0;
	for (size_t i = 0; i < len; i++) {
		if (word[i] < '0' || word[i] > '9' || number > INT32_MAX)
			return 0;
		number = number * 10 + (uint64_t)(word[i] - '0');
	}
	return number > INT32_MAX ? 0 : (uint32_t)number;
}

/* --- devices --- */

void devices_free(struct devices *devices)
{
	for (size_t i = 0; i < devices->count; i++) {
		free(devices->list[i].serial);
		free(devices->list[i].state);
		free(devices->list[i].model);
		free(devices->list[i].fingerprint);
	}
	free(devices->list);
	*devices = (struct devices){ .list = NULL };
}

const char *device_remedy(const struct device *device)
{
	const char *state = device->state;
	if (!strcmp(state, "unauthorized"))
		return "unlock it, and tap Allow in the dialog on its screen";
	if (!strcmp(state, "authorizing") || !strcmp(state, "connecting"))
		return "wait a moment, and try again";
	if (!strcmp(state, "offline"))
		return "plug it in again, or run adb reconnect";
	if (!strncmp(state, "no permissions", 14))
		return "this user may not open the USB device: Debian's package android-sdk-platform-tools-common lets users do so";
	return "start it as usual";
}

/* "[ro.build.version.sdk]: [29]". Where a property is set more than once, the last one counts. */
static void read_properties(struct device *device, const char *at)
{
	const char *line;
	size_t len;
	while (next_line(&at, &line, &len)) {
		const char *middle = memmem(line, len, "]: [", 4);
		if (!middle || *line != '[' || line[len - 1] != ']' || middle + 4 > line + len - 1)
			continue;
		const char *key = line + 1, *value = middle + 4;
		const size_t key_len = (size_t)(middle - key), value_len = (size_t)(line + len - 1 - value);
		char **text = key_len == 20 && !memcmp(key, "ro.build.fingerprint", 20) ? &device->fingerprint :
			      key_len == 16 && !memcmp(key, "ro.product.model", 16)	? &device->model :
											  NULL;
		if (text) {
			free(*text);
			*text = copy(value, value_len);
		} else if (key_len == 20 && !memcmp(key, "ro.build.version.sdk", 20)) {
			device->sdk = number_of(value, value_len);
		} else if (key_len == 13 && !memcmp(key, "ro.debuggable", 13)) {
			device->debuggable = value_len == 1 && *value == '1';
		}
	}
}

static int add_device(struct devices *devices, const char *line, size_t len)
{
	const char *tab = memchr(line, '\t', len);
	if (!len || *line == '*' || !tab || devices->count == DEVICES_MOST)
		return 0;
	struct device *grown = reallocarray(devices->list, devices->count + 1, sizeof *grown);
	if (!grown)
		return -1;
	devices->list = grown;
	struct device *device = &grown[devices->count++];
	*device = (struct device){ .serial = copy(line, (size_t)(tab - line)),
				   .state = copy(tab + 1, (size_t)(line + len - tab - 1)) };
	return device->serial && device->state ? 0 : -1;
}

int devices_read(const struct adb *adb, struct devices *devices)
{
	static const char *const list[] = { "devices", NULL }, *const getprop[] = { "getprop", NULL };
	struct output output;
	char reason[512];
	*devices = (struct devices){ .list = NULL };
	step("looking for devices");
	int rc = adb_call(adb, ADB_START, list, &output);
	if (rc)
		say("adb devices: %s", adb_reason(&output, reason, sizeof reason));
	const char *at = rc ? "" : output.data, *line;
	size_t len;
	while (!rc && next_line(&at, &line, &len))
		if ((rc = add_device(devices, line, len)) != 0)
			say("out of memory");
	output_free(&output);
	for (size_t i = 0; !rc && i < devices->count; i++) {
		struct device *device = &devices->list[i];
		const struct adb one = { adb->path, device->serial };
		if (!device_ready(device))
			continue;
		if (!adb_shell(&one, ADB_SOON, getprop, &output))
			read_properties(device, output.data);
		else if (output.end != RUN_STOPPED)
			say("%s: its properties cannot be read: %s", device->serial, adb_reason(&output, reason, sizeof reason));
		else
			rc = -1;
		output_free(&output);
	}
	step_end();
	return rc;
}

/* --- processes --- */

void processes_free(struct processes *processes)
{
	for (size_t i = 0; i < processes->count; i++)
		free(processes->list[i].name);
	free(processes->list);
	*processes = (struct processes){ .list = NULL };
}

bool process_of_package(const char *name, const char *package, size_t package_len)
{
	return !strncmp(name, package, package_len) && (!name[package_len] || name[package_len] == ':');
}

static bool is_systems(const char *name)
{
	static const char *const prefixes[] = { "android.", "com.android.", "com.google.android.", "com.google.process." };
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return !strcmp(name, "android") || !strcmp(name, "system_server");
}

static int add_process(struct processes *processes, uint32_t pid, const char *name, size_t len)
{
	if (!pid || !len || processes->count == PROCESSES_MOST)
		return 0;
	if (!(processes->count & (processes->count - 1))) {
		const size_t capacity = processes->count ? processes->count * 2 : 1;
		struct process *grown = reallocarray(processes->list, capacity, sizeof *grown);
		if (!grown)
			return -1;
		processes->list = grown;
	}
	struct process *process = &processes->list[processes->count];
	*process = (struct process){ .pid = pid, .name = copy(name, len) };
	if (!process->name)
		return -1;
	process->system = is_systems(process->name);
	processes->count++;
	return 0;
}

/* Which column has this head, -1 if none has. */
static int column_of(const char *line, size_t len, const char *head)
{
	const char *at = line, *word;
	size_t word_len;
	for (int column = 0; (word_len = next_word(&at, line + len, &word)) != 0; column++)
		if (word_len == strlen(head) && !memcmp(word, head, word_len))
			return column;
	return -1;
}

/*
 * A table as ps prints it, with heads. The name is its last word, since toolbox has more columns than heads; where there is
 * but the name behind the id, it is all of that: an application may call itself what it likes. How many there were, -1
 * without memory.
 */
static int read_table(struct processes *processes, const char *at)
{
	const char *line;
	size_t len;
	int pid_column = -1, name_column = -1;
	while (next_line(&at, &line, &len)) {
		const char *place = line, *word, *last = line;
		size_t word_len, last_len = 0;
		uint32_t pid = 0;
		if (pid_column < 0) {
			pid_column = column_of(line, len, "PID");
			name_column = column_of(line, len, "NAME");
			continue;
		}
		for (int column = 0; (word_len = next_word(&place, line + len, &word)) != 0; column++) {
			if (column == pid_column)
				pid = number_of(word, word_len);
			last = word;
			last_len = word_len;
			if (pid_column == 0 && name_column == 1 && column == 1) {
				last_len = (size_t)(line + len - word);
				break;
			}
		}
		if (add_process(processes, pid, last, last_len))
			return -1;
	}
	return (int)processes->count;
}

/* Before Android 8 ps is toolbox's, which takes what it is given for a name, and prints a table of all without. */
int processes_read_all(const struct adb *adb, struct processes *processes)
{
	static const char *const commands[][5] = { { "ps", "-A", "-o", "PID,NAME", NULL }, { "ps", NULL } };
	struct output output;
	char reason[512] = "";
	int rc = 0;
	*processes = (struct processes){ .list = NULL };
	for (unsigned i = 0; i < 2 && !rc && !processes->count; i++) {
		if (adb_shell(adb, ADB_SOON, commands[i], &output))
			adb_reason(&output, reason, sizeof reason);
		else if (read_table(processes, output.data) < 0)
			rc = -1;
		output_free(&output);
	}
	if (!rc && processes->count)
		return 0;
	say("%s: processes cannot be listed: %s", adb->serial,
	    rc ? "out of memory" : *reason ? reason : "ps says nothing that can be read");
	processes_free(processes);
	return -1;
}

/* A line "package:NAME" for this process? */
static bool is_application(const char *packages, const char *name)
{
	static const char prefix[] = "package:";
	const size_t len = strcspn(name, ":");
	for (const char *at = packages; (at = strstr(at, prefix)) != NULL;) {
		at += sizeof prefix - 1;
		if (!strncmp(at, name, len) && (at[len] == '\n' || at[len] == '\r' || !at[len]))
			return true;
	}
	return false;
}

/* A line with this number? */
static bool is_listed(const char *pids, uint32_t pid)
{
	const char *line;
	size_t len;
	while (next_line(&pids, &line, &len))
		if (number_of(line, len) == pid)
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	const int order = x->system != y->system ? (x->system ? 1 : -1) : strcmp(x->name, y->name);
	return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

int processes_read(const struct adb *adb, const struct device *device, struct processes *processes)
{
	static const char *const list[] = { "pm", "list", "packages", NULL }, *const jdwp[] = { "jdwp", NULL };
	struct output packages, pids;
	char reason[512];
	step("looking for applications");
	if (processes_read_all(adb, processes))
		return -1;
	int rc = adb_shell(adb, ADB_START, list, &packages);
	if (rc || adb_failed(&packages, reason, sizeof reason)) {
		say("%s: applications cannot be listed (pm list packages): %s", adb->serial,
		    rc ? adb_reason(&packages, reason, sizeof reason) : reason);
		rc = -1;
	}
	/* Not known is all: am will say no to what cannot be dumped. */
	const bool known = !adb_call(adb, ADB_SOON, jdwp, &pids);
	size_t kept = 0;
	for (size_t i = 0; i < processes->count; i++) {
		const struct process process = processes->list[i];
		const bool debuggable = known && is_listed(pids.data, process.pid);
		if (!rc && (debuggable || ((device->debuggable || !known) && is_application(packages.data, process.name))))
			processes->list[kept++] = process;
		else
			free(process.name);
	}
	processes->count = kept;
	processes->filtered = true;
	if (kept)
		qsort(processes->list, kept, sizeof *processes->list, by_name);
	output_free(&packages);
	output_free(&pids);
	step_end();
	if (rc)
		processes_free(processes);
	return rc;
}
