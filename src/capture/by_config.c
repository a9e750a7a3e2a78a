/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By a Perfetto trace config: what the data source android.hprof_dump would do on the device (contrib/perfetto/README), done
 * from here. Each such data source of the config is a dump, taken as without a config (app.c) into a trace of its own in a
 * folder beside the wanted file; traces one behind another are a trace.
 */
#include "capture/capture.h"
#include "capture/clock.h"
#include "capture/config_text.h"
#include "capture/mounting.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "capture/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MOST (UINT32_C(1) << 20)
#define SOURCE "android.hprof_dump"

/* What a data source of ours is told. */
struct source {
	const char *process;
	char pid[24];
	bool no_gc, pixels;
	const char *format;
};

/* --- the config --- */

static char *read_config(const char *path, size_t *len)
{
	const bool standard = !strcmp(path, "-");
	FILE *file = standard ? stdin : fopen(path, "re");
	char *text = file ? malloc(CONFIG_MOST + 1) : NULL;
	*len = text ? fread(text, 1, CONFIG_MOST + 1, file) : 0;
	const bool good = text && !ferror(file) && *len <= CONFIG_MOST;
	if (!good)
		say("%s: %s", standard ? "standard input" : path, *len > CONFIG_MOST ? "larger than 1 MiB: no trace config" : strerror(errno));
	if (file && !standard)
		fclose(file);
	if (good)
		return text;
	free(text);
	return NULL;
}

static bool wrong_value(const char *path, const struct config_field *field, const char *should)
{
	say("%s: line %u: %s: must be %s", path, field->line, field->name, should);
	return false;
}

/* One field of an hprof_dump_config. */
static bool read_setting(const char *path, const struct config_field *field, struct source *source)
{
	bool flag;
	uint64_t number;
	if (!strcmp(field->name, "process_cmdline")) {
		if (!field->string || !*field->value)
			return wrong_value(path, field, "a process's name in quotes");
		source->process = field->value;
	} else if (!strcmp(field->name, "pid")) {
		if (!config_number(field, &number) || number > INT32_MAX)
			return wrong_value(path, field, "the id of a process");
		/* 0 is what the data source has where none is given. */
		snprintf(source->pid, sizeof source->pid, "%.0" PRIu64, number);
	} else if (!strcmp(field->name, "run_gc")) {
		if (!config_bool(field, &flag))
			return wrong_value(path, field, "true or false");
		source->no_gc = !flag;
	} else if (!strcmp(field->name, "dump_bitmaps")) {
		if (!config_bool(field, &source->pixels))
			return wrong_value(path, field, "true or false");
	} else if (!strcmp(field->name, "bitmap_format")) {
		if (!field->string || (strcmp(field->value, "png") && strcmp(field->value, "jpg") && strcmp(field->value, "webp")))
			return wrong_value(path, field, "\"png\", \"jpg\" or \"webp\"");
		source->format = field->value;
	} else {
		say("%s: line %u: %s of hprof_dump_config is not known, and ignored", path, field->line, field->name);
	}
	return true;
}

/* Is this data_sources entry one of ours? Then it is read. -1 after a message. */
static int read_source(const char *path, const struct config_field *entry, struct source *source)
{
	const struct config_field *settings = NULL, *name = NULL;
	*source = (struct source){ .format = "png" };
	for (const struct config_field *config = entry->first; config; config = config->next) {
		if (strcmp(config->name, "config") || !config->message)
			continue;
		for (const struct config_field *field = config->first; field; field = field->next) {
			if (!strcmp(field->name, "name") && field->string)
				name = field;
			else if (!strcmp(field->name, "hprof_dump_config") && field->message)
				settings = field;
		}
	}
	if (!name || strcmp(name->value, SOURCE)) {
		say("%s: line %u: data source %s is not taken from here, and ignored", path, entry->line, name ? name->value : "without a name");
		return 0;
	}
	for (const struct config_field *field = settings ? settings->first : NULL; field; field = field->next)
		if (!read_setting(path, field, source))
			return -1;
	if (!source->process && !*source->pid) {
		say("%s: line %u: " SOURCE ": which process? It has neither process_cmdline nor pid", path, entry->line);
		return -1;
	}
	return 1;
}

/* Our data sources, to be freed; NULL after a message. */
static struct source *read_sources(const char *path, const struct config_field *fields, size_t *count, uint64_t *duration)
{
	size_t most = 0;
	*duration = *count = 0;
	for (const struct config_field *field = fields; field; field = field->next)
		most += !strcmp(field->name, "data_sources");
	struct source *sources = calloc(most + 1, sizeof *sources);
	bool good = sources;
	for (const struct config_field *field = fields; good && field; field = field->next) {
		if (!strcmp(field->name, "data_sources")) {
			const int ours = read_source(path, field, &sources[*count]);
			good = ours >= 0;
			*count += ours > 0;
		} else if (!strcmp(field->name, "duration_ms")) {
			good = config_number(field, duration) || wrong_value(path, field, "a number of milliseconds");
		} else {
			say("%s: line %u: %s is not for a capture from here, and ignored", path, field->line, field->name);
		}
	}
	if (good && *count)
		return sources;
	if (good)
		say("%s: it has no data source " SOURCE "; see contrib/perfetto/trace_config.txt for one that has", path);
	free(sources);
	return NULL;
}

/* --- the dumps --- */

/* Appends a trace's bytes. */
static int append(const char *from, const char *to)
{
	const int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_APPEND | O_CLOEXEC);
	char *buffer = malloc(1 << 20);
	int rc = in < 0 || out < 0 || !buffer ? -1 : 0;
	for (ssize_t got; !rc && (got = read(in, buffer, 1 << 20)) != 0;) {
		if (got < 0)
			rc = errno == EINTR ? 0 : -1;
		for (ssize_t at = 0; got > 0 && at < got && !rc;) {
			const ssize_t written = write(out, buffer + at, (size_t)(got - at));
			rc = written <= 0 && errno != EINTR ? -1 : 0;
			at += written > 0 ? written : 0;
		}
	}
	const int error = errno;
	if (out >= 0 && close(out) && !rc)
		rc = -1;
	else
		errno = error;
	if (rc)
		say("%s: cannot be written: %s", to, strerror(errno));
	if (in >= 0)
		close(in);
	free(buffer);
	return rc;
}

struct taken {
	struct temp folder, trace;
	size_t count;
};

/* A dump, at the end of what there is. -1 where no other one should be tried. */
static int take(const struct capture_options *options, const struct source *source, struct taken *taken, bool *failed)
{
	char *path;
	struct capture_options own = *options;
	if (asprintf(&path, "%s/dump.pftrace", taken->folder.path) < 0) {
		say("out of memory");
		return -1;
	}
	own.target = *source->pid ? source->pid : source->process;
	own.output = path;
	own.no_gc = source->no_gc;
	own.no_pixels = !source->pixels;
	own.bitmap_format = source->format;
	own.mount = NULL;
	int rc = 0;
	if (capture_app(&own)) { /* a file may be there, of a dump without its end */
		*failed = true;
		rc = stop_signal() ? -1 : 0;
	}
	if (!rc && !access(path, F_OK)) {
		rc = taken->count ? append(path, taken->trace.path) : rename(path, taken->trace.path);
		if (rc && !taken->count)
			say("%s: %s", taken->trace.path, strerror(errno));
		taken->count += !rc;
	}
	unlink(path);
	free(path);
	return rc;
}

static int take_all(const struct capture_options *options, const struct source *sources, size_t count, uint64_t duration)
{
	struct taken taken = { .folder.undo = -1, .trace.undo = -1 };
	const int64_t end = duration && duration < INT32_MAX ? clock_ms() + (int64_t)duration : INT64_MAX;
	bool failed = false;
	int rc = temp_open(&taken.folder, options->output, true) || temp_open(&taken.trace, options->output, false) ? -1 : 0;
	for (size_t i = 0; !rc && i < count; i++) {
		if (i && !clock_left(end)) {
			say("%zu of %zu dumps were begun within duration_ms: no other one is", i, count);
			failed = true;
			break;
		}
		rc = take(options, &sources[i], &taken, &failed);
	}
	if (!rc && taken.count)
		rc = temp_keep(&taken.trace);
	temp_done(&taken.trace);
	temp_done(&taken.folder);
	return rc || failed ? -1 : 0;
}

int capture_by_config(const struct capture_options *options)
{
	char error[256], *text;
	size_t len, count;
	uint64_t duration;
	int status = CAPTURE_FAILED;
	if (!options->output) {
		say("where to write to (-o)? See heapfs-capture --help");
		return CAPTURE_USAGE;
	}
	if (temp_absent(options->output) || !(text = read_config(options->trace_config, &len)))
		return CAPTURE_FAILED;
	const char *path = strcmp(options->trace_config, "-") ? options->trace_config : "standard input";
	struct config_field *fields = config_read(text, len, error, sizeof error);
	struct source *sources = NULL;
	free(text);
	if (!fields)
		say("%s: no trace config in text form: %s", path, error);
	else
		sources = read_sources(path, fields, &count, &duration);
	if (sources && !take_all(options, sources, count, duration))
		status = options->mount ? mount_captured(options->output, options->mount) : CAPTURE_DONE;
	free(sources);
	config_free(fields);
	return status;
}
