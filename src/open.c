/* SPDX-License-Identifier: Apache-2.0 */
#include "open.h"

#include "android/bitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

unsigned core_count(void)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	return cores < 1 ? 1 : (unsigned)cores;
}

struct progress {
	const struct open_options *options;
	struct timespec start;
	int percent;
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	struct timespec now;
	const int percent = (int)((double)done * 100 / (double)(total ? total : 1));
	clock_gettime(CLOCK_MONOTONIC, &now);
	const double seconds = (double)(now.tv_sec - progress->start.tv_sec) +
			       (double)(now.tv_nsec - progress->start.tv_nsec) / 1e9;
	if (percent == progress->percent || seconds < 0.5)
		return;
	progress->percent = percent;
	fprintf(stderr, "\r%s: reading %s: %d %%, %.0f MB/s ", progress->options->program, progress->options->path, percent,
		(double)done / 1e6 / seconds);
}

void opened_close(struct opened *opened)
{
	if (!opened->begun)
		return;
	for (unsigned i = 0; i < opened->heap_count; i++)
		heap_close(&opened->heaps[i]);
	free(opened->heaps);
	for (size_t i = 0; i < opened->hprof_count; i++)
		hprof_close(&opened->hprofs[i]);
	free(opened->hprofs);
	loli_close(&opened->profile);
	elsewhere_close(&opened->elsewhere);
	mapping_close(&opened->mapping);
	notes_free(&opened->notes);
	container_close(&opened->container);
}

static unsigned dumps_of(const struct hprof *hprof)
{
	return hprof->dump_count ? (unsigned)hprof->dump_count : 1;
}

/* Says what is wrong with the file. */
__attribute__((format(printf, 2, 3))) static int fail(const struct open_options *options, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	fprintf(stderr, "%s: %s: ", options->program, options->path);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	return -1;
}

static int no_memory(const struct open_options *options)
{
	return fail(options, "%s", strerror(ENOMEM));
}

/* All heap dumps of the file, or the one that is wanted. */
static int open_heaps(struct opened *opened, const struct open_options *options, struct progress *progress)
{
	const struct heap_options heap_options = { .threads = core_count(),
						   .mapping = options->mapping ? &opened->mapping : NULL,
						   .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
						   .context = progress };
	const unsigned number = options->dump;
	unsigned total = 0, before = 0;
	for (size_t i = 0; i < opened->hprof_count; i++)
		total += dumps_of(&opened->hprofs[i]);
	if (number > total)
		return fail(options, "%s=%u: the file holds %u", options->dump_option, number, total);
	if (options->only_one && total > 1 && !number && !options->dump_option)
		return fail(options, "the file holds %u heap dumps, and which one is meant cannot be told: "
			    "heapfs -o dump=1 --export raw.hprof writes one of them", total);
	if (options->only_one && total > 1 && !number)
		return fail(options, "the file holds %u heap dumps, of which one can be compared: choose it with %s=", total,
			    options->dump_option);
	opened->heaps = calloc(number ? 1 : total, sizeof *opened->heaps);
	if (!opened->heaps)
		return no_memory(options);
	for (size_t i = 0; i < opened->hprof_count; i++)
		for (unsigned j = 0; j < dumps_of(&opened->hprofs[i]); j++) {
			if (number && before++ + 1 != number)
				continue;
			if (heap_open(&opened->heaps[opened->heap_count], &opened->hprofs[i], j, &heap_options))
				return no_memory(options);
			opened->heap_count++;
		}
	return 0;
}

/* The records of each part. One that cannot be read is passed over where there are others. */
static int open_hprofs(struct opened *opened, const struct open_options *options)
{
	struct container *container = &opened->container;
	char error[PATH_MAX + 512] = "";
	opened->hprofs = calloc(container->part_count, sizeof *opened->hprofs);
	if (!opened->hprofs)
		return no_memory(options);
	for (size_t i = 0; i < container->part_count; i++) {
		struct part *part = &container->parts[i];
		struct hprof *hprof = &opened->hprofs[opened->hprof_count];
		struct notes *notes = part->dump ? &part->dump->notes : &opened->notes;
		if (hprof_open(hprof, part_input(container, part), notes, error, sizeof error)) {
			notes_add(&container->notes, "a dump that cannot be read", NOTE_NO_OFFSET, part_input(container, part)->size,
				  "%s", error);
			continue;
		}
		hprof->traced = part->dump;
		opened->hprof_count++;
		if (!hprof->segment_count)
			notes_add(notes, "there is no heap in this file", part_input(container, part)->size, 0, NULL);
	}
	if (!opened->hprof_count)
		fprintf(stderr, "%s: %s\n", options->program, error);
	return opened->hprof_count ? 0 : -1;
}

/* Says everything that is not as it should be. How much that is. */
static size_t print_notes(const struct open_options *options, const char *about, const struct notes *notes)
{
	char line[512];
	for (size_t i = 0; i < notes->count; i++)
		fprintf(stderr, "%s: %s: %s%s\n", options->program, options->path, about,
			note_format(&notes->list[i], line, sizeof line));
	return notes->count;
}

static size_t print_all_notes(const struct opened *opened, const struct open_options *options)
{
	size_t count = print_notes(options, "", &opened->container.notes);
	if (opened->container.loli)
		count += print_notes(options, "", &opened->notes);
	for (size_t i = 0; i < opened->hprof_count; i++) {
		const struct hprof *hprof = &opened->hprofs[i];
		char about[32] = "";
		if (opened->hprof_count > 1)
			snprintf(about, sizeof about, "process %u: ", hprof->traced->pid);
		count += print_notes(options, about, hprof->notes);
	}
	return count;
}

/* About pictures that the user named: if no dump has a Bitmap that could be theirs, that is said at once. */
static void print_doubt(const struct opened *opened, const struct open_options *options)
{
	char line[512];
	bool doubt = options->picture_count && opened->heap_count;
	for (unsigned i = 0; doubt && i < opened->heap_count; i++)
		doubt = live_doubt(&opened->heaps[i], line, sizeof line);
	if (doubt)
		fprintf(stderr, "%s: %s: %s\n", options->program, options->path, line);
}

/* What the file holds: heaps, or a profile. */
static int open_contents(struct opened *opened, const struct open_options *options, struct progress *progress)
{
	char error[PATH_MAX + 512] = "";
	if (opened->container.loli) {
		const char *misplaced = options->dump ? options->dump_option : options->only_pid ? "pid" :
					options->mapping ? "mapping" : options->picture_count ? "pixels" : NULL;
		if (misplaced)
			return fail(options, "%s= is for heap dumps, and this is a native profile", misplaced);
		if (!loli_open(&opened->profile, &opened->container.in, &opened->notes, &options->loli, error, sizeof error))
			return 0;
		fprintf(stderr, "%s: %s\n", options->program, error);
		return -1;
	}
	const char *misplaced = options->loli.spanned ? "time" : options->loli.containing ? "so_base" :
				options->loli.symbol_count ? "symbols" : NULL;
	if (misplaced)
		return fail(options, "%s= is for native profiles (.loli), and this is a heap dump", misplaced);
	const struct input *in = &opened->container.in;
	if (options->beside &&
	    elsewhere_open_beside(&opened->elsewhere, in->path, in->st.st_uid, error, sizeof error)) {
		fprintf(stderr, "%s: %s\n", options->program, error);
		return -1;
	}
	if (open_hprofs(opened, options) || open_heaps(opened, options, progress))
		return -1;
	opened->elsewhere.several = opened->hprof_count > 1;
	for (size_t i = 0; i < opened->hprof_count; i++)
		opened->hprofs[i].elsewhere = &opened->elsewhere;
	return 0;
}

/* Is what was cut still the beginning of what was opened? */
static bool is_same(const void *context)
{
	const struct opened *opened = context;
	if (opened->container.loli)
		return loli_same(&opened->profile);
	for (unsigned i = 0; i < opened->heap_count; i++)
		if (!heap_same(&opened->heaps[i]))
			return false;
	return true;
}

int opened_open(struct opened *opened, const struct open_options *options)
{
	char error[PATH_MAX + 512];
	struct progress progress = { .options = options, .percent = -1 };
	const struct container_options container_options = {
		.tmpdir = options->tmpdir, .unpacked = options->unpacked, .only_pid = options->only_pid,
		.pid = options->pid, .base = options->base, .threads = core_count(),
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL, .context = &progress,
	};
	memset(opened, 0, sizeof *opened);
	opened->begun = true;
	opened->container.in.fd = -1; /* none yet */
	notes_init(&opened->notes);
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	const struct elsewhere_options elsewhere_options = { .paths = options->pictures, .path_count = options->picture_count,
							     .tmpdir = options->tmpdir, .threads = core_count() };
	int rc = elsewhere_open(&opened->elsewhere, &elsewhere_options, error, sizeof error);
	if (!rc && options->mapping)
		rc = mapping_open(&opened->mapping, options->mapping, error, sizeof error);
	if (!rc)
		rc = container_open(&opened->container, options->path, &container_options, error, sizeof error);
	if (progress.percent >= 0)
		fputs("\r\033[K", stderr);
	if (rc) {
		fprintf(stderr, "%s: %s\n", options->program, error);
		return -1;
	}
	rc = open_contents(opened, options, &progress);
	if (progress.percent >= 0)
		fputs("\r\033[K", stderr);
	if (rc)
		return -1;
	struct input *in = &opened->container.in;
	in->same_context = opened;
	in->same = is_same;
	if (atomic_load(&in->good_end) < in->size)
		return fail(options, "the file was cut while it was being read");
	if (atomic_load(&in->bad_count))
		notes_add(&opened->container.notes, "the disk could not give some of the file",
			  atomic_load(&in->bad_pages[0]), 0, "%u pages", atomic_load(&in->bad_count));
	print_notes(options, "", &opened->elsewhere.notes); /* which is no damage of the dump's */
	print_doubt(opened, options);
	if (print_all_notes(opened, options) && options->strict)
		return fail(options, "refused, since --strict was given");
	return 0;
}

int opened_open_both(struct opened *opened, const struct open_options *options, struct opened *baseline,
		     struct open_options *baseline_options)
{
	struct input *in = &opened->container.in;
	if (opened_open(opened, options))
		return -1;
	if (!baseline_options->path)
		return 0;
	baseline_options->base = input_next_base(in);
	if (opened_open(baseline, baseline_options))
		return -1;
	if (baseline->container.loli != opened->container.loli) {
		fprintf(stderr, "%s: %s is %s, and %s %s: they cannot be compared\n", options->program, options->path,
			opened->container.loli ? "a native profile" : "a heap dump", baseline_options->path,
			opened->container.loli ? "a heap dump" : "a native profile");
		return -1;
	}
	input_put_beside(in, &baseline->container.in);
	return 0;
}

void guard_standard_descriptors(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}
