/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/select.h"
#include "capture/ask.h"
#include "capture/say.h"
#include "capture/stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* How well a device, or a process, fits what a dump says of itself. */
enum { SAME_BUILD, SAME_MODEL, OTHER_DEVICE };
enum { SAME_NAME, SAME_PACKAGE, UNRELATED };

static const char *const device_ranks[] = { "same build", "same model and Android version", "another device" };
static const char *const process_ranks[] = { "same process", "same package", "" };

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static unsigned rank_device(const struct device *device, const struct wanted *wanted)
{
	if (!wanted)
		return OTHER_DEVICE;
	if (same(device->fingerprint, wanted->fingerprint))
		return SAME_BUILD;
	return same(device->model, wanted->model) && device->sdk && device->sdk == wanted->sdk ? SAME_MODEL : OTHER_DEVICE;
}

static unsigned rank_process(const struct process *process, const struct wanted *wanted)
{
	if (!wanted)
		return UNRELATED;
	if (same(process->name, wanted->process))
		return SAME_NAME;
	/* A process that has its own name may be of the package that others are named after. */
	const char *package = wanted->package ? wanted->package : wanted->process;
	return package && process_of_package(process->name, package, strcspn(package, ":")) ? SAME_PACKAGE : UNRELATED;
}

static int by_device_rank(const void *a, const void *b)
{
	const struct device *x = a, *y = b;
	const bool x_ready = device_ready(x), y_ready = device_ready(y);
	if (x_ready != y_ready)
		return x_ready ? -1 : 1;
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->serial, y->serial);
}

static int by_process_rank(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->system != y->system)
		return x->system ? 1 : -1;
	const int order = strcmp(x->name, y->name);
	return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* --- how they are shown --- */

struct shown {
	const struct devices *devices;
	const struct processes *processes;
	const struct wanted *wanted;
};

static void device_line(const void *context, size_t row, char *text, size_t size)
{
	const struct shown *shown = context;
	const struct device *device = &shown->devices->list[row];
	if (!device_ready(device))
		snprintf(text, size, "%s  %s: %s", device->serial, device->state, device_remedy(device));
	else
		snprintf(text, size, "%s  %s, API level %u%s%s", device->serial, device->model ? device->model : "unknown model",
			 device->sdk, shown->wanted ? ", " : "", shown->wanted ? device_ranks[device->rank] : "");
}

static void process_line(const void *context, size_t row, char *text, size_t size)
{
	const struct shown *shown = context;
	const struct process *process = &shown->processes->list[row];
	const char *rank = process_ranks[process->rank];
	snprintf(text, size, "%6" PRIu32 "  %s%s%s", process->pid, process->name, *rank ? ", " : "", rank);
}

/* Devices with their processes, on standard output. */
static void list_all(const struct selection *selection, const struct wanted *wanted)
{
	char text[512];
	const struct devices *devices = &selection->devices;
	for (size_t i = 0; i < devices->count; i++) {
		struct device *device = &devices->list[i];
		struct processes processes;
		const struct adb adb = { selection->adb.path, device->serial };
		const struct shown shown = { devices, &processes, wanted };
		if (selection->device && selection->device != device)
			continue;
		device_line(&shown, i, text, sizeof text);
		puts(printable(text));
		if (!device_ready(device) || processes_read(&adb, device, &processes))
			continue;
		for (size_t row = 0; row < processes.count; row++)
			processes.list[row].rank = rank_process(&processes.list[row], wanted);
		if (processes.count)
			qsort(processes.list, processes.count, sizeof *processes.list, by_process_rank);
		for (size_t row = 0; row < processes.count; row++) {
			process_line(&shown, row, text, sizeof text);
			puts(printable(text));
		}
		if (!processes.count)
			puts("  nothing that can be dumped: only debuggable applications can");
		processes_free(&processes);
	}
}

/* --- the device --- */

static int no_such_device(const struct selection *selection, const char *serial)
{
	char text[512];
	const struct shown shown = { &selection->devices, NULL, NULL };
	say("%s: adb knows no such device%s", serial, selection->devices.count ? "; it knows:" : ", nor any other");
	for (size_t i = 0; i < selection->devices.count; i++) {
		device_line(&shown, i, text, sizeof text);
		say("  %s", printable(text));
	}
	return CAPTURE_FAILED;
}

static int take_device(struct selection *selection, const struct device *device)
{
	if (!device_ready(device)) {
		say("%s: the device is %s: %s", device->serial, device->state, device_remedy(device));
		return CAPTURE_FAILED;
	}
	selection->device = device;
	selection->adb.serial = device->serial;
	return CAPTURE_DONE;
}

/* CAPTURE_DONE with device NULL: the choice is open. */
static int find_device(struct selection *selection, const struct capture_options *options, const struct wanted *wanted)
{
	const char *serial = options->serial ? options->serial : getenv("ANDROID_SERIAL");
	struct devices *devices = &selection->devices;
	size_t ready = 0;
	if (adb_open(&selection->adb) || devices_read(&selection->adb, devices))
		return CAPTURE_FAILED;
	for (size_t i = 0; i < devices->count; i++) {
		devices->list[i].rank = rank_device(&devices->list[i], wanted);
		ready += device_ready(&devices->list[i]);
	}
	if (devices->count)
		qsort(devices->list, devices->count, sizeof *devices->list, by_device_rank);
	if (serial && *serial) {
		for (size_t i = 0; i < devices->count; i++)
			if (!strcmp(devices->list[i].serial, serial))
				return take_device(selection, &devices->list[i]);
		return no_such_device(selection, serial);
	}
	if (!devices->count) {
		say("no device: plug one in with USB debugging on, or start an emulator");
		return CAPTURE_FAILED;
	}
	if (!ready) {
		for (size_t i = 0; i < devices->count; i++)
			take_device(selection, &devices->list[i]);
		return CAPTURE_FAILED;
	}
	if (ready == 1)
		return take_device(selection, &devices->list[0]);
	if (!can_ask() || options->yes)
		return CAPTURE_DONE;
	const struct shown shown = { devices, NULL, wanted };
	const int row = ask("which device?", ready, device_line, &shown);
	return row < 0 ? CAPTURE_FAILED : take_device(selection, &devices->list[row]);
}

/* --- the process --- */

static int take_process(struct selection *selection, const struct process *process)
{
	selection->pid = process->pid;
	selection->name = strdup(process->name);
	if (selection->name)
		return CAPTURE_DONE;
	say("out of memory");
	return CAPTURE_FAILED;
}

/*
 * The one that was named, among all of the device's: am will say whether it can be dumped. Where `others` may have it, there
 * being none is CAPTURE_DONE with pid 0.
 */
static int find_named(struct selection *selection, const char *target, bool others)
{
	struct processes processes;
	const struct process *found = NULL;
	size_t same_name = 0;
	char *end;
	const unsigned long pid = strtoul(target, &end, 10);
	const bool is_pid = *target >= '0' && *target <= '9' && !*end;
	int status = CAPTURE_FAILED;
	if (processes_read_all(&selection->adb, &processes))
		return CAPTURE_FAILED;
	for (size_t i = 0; i < processes.count; i++) {
		const struct process *process = &processes.list[i];
		if (is_pid ? process->pid == pid : !strcmp(process->name, target)) {
			found = process;
			same_name++;
		}
	}
	if (same_name == 1) {
		status = take_process(selection, found);
	} else if (same_name) {
		say("%s: %zu processes of %s have this name; give the id of one:", target, same_name, selection->device->serial);
		for (size_t i = 0; i < processes.count; i++)
			if (!strcmp(processes.list[i].name, target))
				say("  %" PRIu32, processes.list[i].pid);
		status = CAPTURE_USAGE;
	} else if (others) {
		status = CAPTURE_DONE;
	} else {
		say("%s: no such process on %s; it must be running. heapfs-capture without a process lists those that can be dumped",
		    target, selection->device->serial);
	}
	processes_free(&processes);
	return status;
}

/* By a person, or with `yes` the one that fits. CAPTURE_DONE with pid 0: the choice is open. */
static int choose_process(struct selection *selection, const struct wanted *wanted, bool yes)
{
	struct processes processes;
	int status = CAPTURE_DONE;
	if (!yes && !can_ask())
		return CAPTURE_DONE;
	if (processes_read(&selection->adb, selection->device, &processes))
		return CAPTURE_FAILED;
	for (size_t i = 0; i < processes.count; i++)
		processes.list[i].rank = rank_process(&processes.list[i], wanted);
	if (processes.count)
		qsort(processes.list, processes.count, sizeof *processes.list, by_process_rank);
	if (yes) {
		if (processes.count && processes.list[0].rank != UNRELATED)
			status = take_process(selection, &processes.list[0]);
	} else if (!processes.count) {
		say("%s: nothing that can be dumped is running: only debuggable applications can be", selection->device->serial);
		status = CAPTURE_FAILED;
	} else {
		const struct shown shown = { NULL, &processes, wanted };
		const int row = ask("which process?", processes.count, process_line, &shown);
		status = row < 0 ? CAPTURE_FAILED : take_process(selection, &processes.list[row]);
	}
	processes_free(&processes);
	return status;
}

/* --yes: the best device that has the process that was named, or the dump's, or at least one of its package. */
static int take_best(struct selection *selection, const struct wanted *wanted, const char *target)
{
	const struct device *only = selection->device;
	const char *name = target ? target : wanted->process ? wanted->process : wanted->package;
	for (size_t i = 0; i < selection->devices.count; i++) {
		const struct device *device = &selection->devices.list[i];
		if (!device_ready(device) || (only && only != device))
			continue;
		int status = take_device(selection, device);
		if (!status)
			status = target ? find_named(selection, target, true) : choose_process(selection, wanted, true);
		if (status || selection->pid)
			return status;
	}
	say("%s: no process of it runs on %s; start the application, and bring it to where the dump was taken",
	    name ? name : "the dump's application", only ? only->serial : "any device");
	return CAPTURE_FAILED;
}

int selection_make(struct selection *selection, const struct capture_options *options, const struct wanted *wanted)
{
	*selection = (struct selection){ .pid = 0 };
	int status = find_device(selection, options, wanted);
	if (status)
		return status;
	if (options->yes && wanted)
		return take_best(selection, wanted, options->target);
	if (selection->device && options->target)
		status = find_named(selection, options->target, false);
	else if (selection->device && !options->yes)
		status = choose_process(selection, wanted, false);
	if (status || selection->pid)
		return status;
	list_all(selection, wanted);
	if (fflush(stdout) || ferror(stdout)) {
		say("standard output: cannot be written");
		return CAPTURE_FAILED;
	}
	if (!options->output || stop_signal())
		return stop_signal() ? CAPTURE_FAILED : CAPTURE_DONE;
	say("which %s? -s SERIAL and a process's name or id tell%s", selection->device ? "process" : "device",
	    wanted ? "; --yes takes what fits best" : "");
	return CAPTURE_USAGE;
}

int selection_device(struct selection *selection, const struct capture_options *options)
{
	*selection = (struct selection){ .pid = 0 };
	const int status = find_device(selection, options, NULL);
	if (status || selection->device)
		return status;
	for (size_t i = 0; i < selection->devices.count; i++) {
		char text[512];
		const struct shown shown = { &selection->devices, NULL, NULL };
		device_line(&shown, i, text, sizeof text);
		say("  %s", printable(text));
	}
	say("which device? -s SERIAL tells");
	return CAPTURE_USAGE;
}

void selection_free(struct selection *selection)
{
	devices_free(&selection->devices);
	adb_close(&selection->adb);
	free(selection->name);
	*selection = (struct selection){ .pid = 0 };
}
