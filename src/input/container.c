/* SPDX-License-Identifier: Apache-2.0 */
#include "input/container.h"

#include "input/le.h"
#include "input/sniff.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* gzip in gzip in gzip: more than this is made to do harm. */
#define DEPTH_MOST 8
#define HEAD_BYTES 65536

struct opening {
	struct container *container;
	const char *path;	/* as the user wrote it */
	const struct container_options *options;
	char *error;
	size_t error_size;
	uint64_t epoch;		/* when it began */
};

static int fail(const struct opening *opening, const char *what)
{
	snprintf(opening->error, opening->error_size, "%s: %s", opening->path, what);
	return -1;
}

static const char *wanted(const struct container_options *options)
{
	return options->pictures ? "trace, nor a folder, of pictures" : "heap dump";
}

/* Appends to what the dumps came in, outermost first. */
static int describe(struct container *container, const char *what)
{
	char *longer;
	if (asprintf(&longer, "%s%s%s", container->description ? container->description : "",
		     container->description ? ", " : "", what) < 0)
		return -1;
	free(container->description);
	container->description = longer;
	return 0;
}

/* What a spill holds becomes the input; the file's own attributes stay. */
static int take_spill(const struct opening *opening, struct spill *spill)
{
	struct container *container = opening->container;
	struct input unpacked;
	if (input_open_unpacked(&unpacked, &container->in, spill->fd))
		return fail(opening, strerror(errno));
	spill->fd = -1;
	unpacked.base = container->in.base;
	input_close(&container->in);
	container->in = unpacked;
	input_guard(&container->in);
	return 0;
}

/* Was the file itself changed while it was being unpacked? */
static bool was_changed(const struct opening *opening)
{
	return !input_unharmed(&opening->container->in, opening->epoch);
}

/* Are pictures wanted, and is it something that has none? Then that is said. */
static bool is_unwanted(const struct opening *opening, enum content content)
{
	if (!opening->options->pictures || (content != CONTENT_HPROF && content != CONTENT_LOLI))
		return false;
	fail(opening, content == CONTENT_HPROF ? "a heap dump; a trace or a folder of pictures is wanted" :
						 "a native profile; a trace or a folder of pictures is wanted");
	return true;
}

/* --- gzip --- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Is the file that was kept still what the gzip file holds? It has the gzip file's time, its beginning, and its length
 * by the last member's word. 1 with an open descriptor, 0 if not, -1 where it is something else, not to be written over.
 */
static int open_kept(const struct opening *opening, const uint8_t *head, size_t head_len, int *fd)
{
	const struct input *in = &opening->container->in;
	uint8_t own[HEAD_BYTES];
	struct stat st;
	*fd = open(opening->options->unpacked, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not block it */
	if (*fd < 0)
		return 0;
	const bool file = !fstat(*fd, &st) && S_ISREG(st.st_mode);
	const ssize_t got = file ? pread(*fd, own, sizeof own, 0) : -1;
	if (got >= 0 && same_time(&st.st_mtim, &in->st.st_mtim) && (size_t)got == head_len && !memcmp(own, head, head_len) &&
	    ((uint64_t)st.st_size <= HEAD_BYTES || (in->size >= 4 && le32(in->data + in->size - 4) == (uint32_t)st.st_size) ||
	     gzip_estimate(in->data, in->size) <= (uint64_t)st.st_size))
		return 1;
	close(*fd);
	*fd = -1;
	const enum content content = got > 0 ? sniff_content(own, (uint64_t)got, false) : CONTENT_OTHER;
	return !file || (got && content != CONTENT_HPROF && content != CONTENT_PERFETTO &&
			  content != CONTENT_LOLI) ? -1 : 0;
}

static int unpack_gzip(const struct opening *opening, const char *keep, struct spill *spill, struct gzip *gzip)
{
	struct container *container = opening->container;
	const struct input *in = &container->in;
	if (spill_open(spill, opening->options->tmpdir, keep, gzip_estimate(in->data, in->size), opening->path,
		       opening->error, opening->error_size))
		return -1;
	if (gzip_unpack(gzip, spill))
		return fail(opening, strerror(spill->error ? spill->error : ENOMEM));
	if (was_changed(opening))
		return fail(opening, "the file was changed while it was being read");
	if (spill_finish(spill, gzip->size, gzip->whole, &in->st.st_mtim))
		return fail(opening, strerror(errno));
	if (!gzip->size)
		return fail(opening, spill->full ? "no room to unpack any of it; -o tmpdir=DIR names another folder" :
						   "gzip-compressed, but nothing can be unpacked from it");
	return take_spill(opening, spill);
}

static int open_gzip(const struct opening *opening)
{
	struct container *container = opening->container;
	const struct container_options *options = opening->options;
	const struct input *in = &container->in;
	uint8_t *head = malloc(HEAD_BYTES);
	if (!head)
		return fail(opening, strerror(ENOMEM));
	/* What cannot be read need not be unpacked. */
	const size_t head_len = gzip_head(in->data, in->size, head, HEAD_BYTES);
	const enum content content = sniff_content(head, head_len, head_len < HEAD_BYTES);
	int rc = -1, kept = 0, fd = -1;
	if (!head_len) {
		fail(opening, "gzip-compressed, but nothing can be unpacked from it; copy it again");
	} else if (content == CONTENT_OTHER) {
		snprintf(opening->error, opening->error_size, "%s: not a %s; it is gzip-compressed, and what is in it is %s",
			 opening->path, wanted(options), sniff_other(head, head_len));
	} else if (is_unwanted(opening, content)) {
		/* It was said. */
	} else {
		const bool keep = options->unpacked && content != CONTENT_GZIP;
		kept = keep ? open_kept(opening, head, head_len, &fd) : 0;
		if (kept < 0) {
			snprintf(opening->error, opening->error_size, "%s: is there, and no heap dump; it is not written over",
				 options->unpacked);
		} else if (kept) {
			struct spill spill = { .fd = fd };
			rc = take_spill(opening, &spill) || describe(container, "gzip, unpacked before") ? -1 : 0;
			spill_close(&spill);
		} else {
			struct spill spill = { .fd = -1 };
			struct gzip gzip = { .data = in->data, .len = in->size, .notes = &container->notes,
					     .threads = options->threads, .progress = options->progress,
					     .context = options->context };
			rc = unpack_gzip(opening, keep ? options->unpacked : NULL, &spill, &gzip);
			spill_close(&spill);
			char what[64];
			snprintf(what, sizeof what, "gzip, %" PRIu64 " %s", gzip.members, gzip.members == 1 ? "member" : "members");
			if (!rc && describe(container, what))
				rc = fail(opening, strerror(ENOMEM));
		}
	}
	free(head);
	return rc;
}

/* --- traces --- */

static int no_dump(const struct opening *opening, const struct trace *trace)
{
	const char *what =
		trace->dumps_of_others ? "a Perfetto trace without a heap dump of that process" :
		trace->zstd_packets ? "a Perfetto trace with zstd-compressed packets, which heapfs cannot read; "
				      "have it written without" :
				      "a Perfetto trace without a heap dump; adb shell am dumpheap makes one";
	snprintf(opening->error, opening->error_size, "%s: %s", opening->path, what);
	return -1;
}

static void note_rest(struct container *container)
{
	const struct trace *trace = &container->trace;
	if (trace->zstd_packets)
		notes_add(&container->notes, "zstd-compressed packets cannot be read", NOTE_NO_OFFSET, 0, "%" PRIu64 " packets",
			  trace->zstd_packets);
}

/* A part a dump that has an HPROF header; what has none is noted. */
static int make_parts(const struct opening *opening)
{
	struct container *container = opening->container;
	container->parts = calloc(container->trace.dump_count + 1, sizeof *container->parts);
	if (!container->parts)
		return fail(opening, strerror(ENOMEM));
	for (size_t i = 0; i < container->trace.dump_count; i++) {
		struct trace_dump *dump = &container->trace.dumps[i];
		struct part *part = &container->parts[container->part_count];
		if (sniff_content(container->in.data + dump->offset, dump->len, true) != CONTENT_HPROF) {
			notes_add(&container->notes, dump->graph && !dump->len ?
				  "heap graphs for which there was no room" :
				  "dumps without their beginning, which cannot be shown", NOTE_NO_OFFSET,
				  dump->len, "process %" PRIu32, dump->pid);
			continue;
		}
		part->dump = dump;
		if (input_view(&part->in, &container->in, dump->offset, dump->len))
			return fail(opening, strerror(ENOMEM));
		container->part_count++;
	}
	return container->part_count ? 0 : fail(opening, "a Perfetto trace with a heap dump whose beginning is missing");
}

/* Only looked through; the trace stays what is mapped. */
static int open_pictures(const struct opening *opening)
{
	struct trace *trace = &opening->container->trace;
	*trace = (struct trace){ .data = opening->container->in.data, .len = opening->container->in.size,
				 .notes = &opening->container->notes, .threads = opening->options->threads };
	if (trace_open(trace) || describe(opening->container, "Perfetto trace"))
		return fail(opening, strerror(ENOMEM));
	if (was_changed(opening))
		return fail(opening, "the file was changed while it was being read");
	trace->dump_count = 0; /* those that are put together */
	return trace_picture_count(trace) ? 0 : fail(opening, trace->zstd_packets ?
		"a Perfetto trace with zstd-compressed packets, which heapfs cannot read; have it written without" :
		"a Perfetto trace without pictures (HprofBitmap packets)");
}

static int open_trace(const struct opening *opening)
{
	struct container *container = opening->container;
	const struct container_options *options = opening->options;
	struct trace *trace = &container->trace;
	struct spill spill = { .fd = -1 };
	*trace = (struct trace){ .data = container->in.data, .len = container->in.size, .notes = &container->notes,
				 .threads = options->threads, .only_pid = options->only_pid, .pid = options->pid, .progress = options->progress,
				 .context = options->context };
	if (trace_open(trace))
		return fail(opening, strerror(ENOMEM));
	if (!trace->dump_count)
		return no_dump(opening, trace);
	note_rest(container);
	int rc = spill_open(&spill, options->tmpdir, NULL, trace_estimate(trace), opening->path, opening->error,
			    opening->error_size);
	if (!rc && trace_unpack(trace, &spill))
		rc = fail(opening, strerror(spill.error ? spill.error : ENOMEM));
	if (!rc && was_changed(opening))
		rc = fail(opening, "the file was changed while it was being read");
	if (!rc && !trace->size)
		rc = fail(opening, "no room to unpack any of it; -o tmpdir=DIR names another folder");
	if (!rc && spill_finish(&spill, trace->size, true, NULL))
		rc = fail(opening, strerror(errno));
	if (!rc)
		rc = take_spill(opening, &spill);
	spill_close(&spill);
	char what[64] = "Perfetto trace";
	if (trace->video_frames)
		snprintf(what, sizeof what, "Perfetto trace with %" PRIu64 " video frames", trace->video_frames);
	if (!rc && describe(container, what))
		rc = fail(opening, strerror(ENOMEM));
	return rc ? rc : make_parts(opening);
}

int container_open(struct container *container, const char *path, const struct container_options *options, char *error,
		   size_t error_size)
{
	const struct opening opening = { container, path, options, error, error_size, input_begin() };
	memset(container, 0, sizeof *container);
	container->in.fd = -1;
	notes_init(&container->notes);
	if (input_open(&container->in, path, error, error_size))
		return -1;
	container->in.base = options->base;
	/* From here on a cut file is answered, not died of. */
	input_guard(&container->in);
	for (unsigned depth = 0; depth <= DEPTH_MOST; depth++) {
		const struct input *in = &container->in;
		const enum content content = sniff_content(in->data, in->size, true);
		if (is_unwanted(&opening, content))
			return -1;
		switch (content) {
		case CONTENT_HPROF:
			container->parts = calloc(1, sizeof *container->parts);
			container->part_count = container->parts != NULL;
			if (container->parts)
				container->parts->in.fd = -1; /* no view: it is the whole file */
			if (!container->parts || (!container->description && describe(container, "plain file")))
				return fail(&opening, strerror(ENOMEM));
			return 0;
		case CONTENT_GZIP:
			if (depth == DEPTH_MOST)
				return fail(&opening, "compressed with gzip too many times over");
			if (open_gzip(&opening))
				return -1;
			break;
		case CONTENT_PERFETTO:
			return options->pictures ? open_pictures(&opening) : open_trace(&opening);
		case CONTENT_LOLI:
			container->loli = true;
			if (!container->description && describe(container, "plain file"))
				return fail(&opening, strerror(ENOMEM));
			return 0;
		case CONTENT_OTHER:
			snprintf(error, error_size, "%s: not a %s; it is %s%s", path, wanted(options),
				 depth ? "gzip-compressed, and what is in it is " : "", sniff_other(in->data, in->size));
			return -1;
		}
	}
	return -1; /* not reached */
}

void container_close(struct container *container)
{
	for (size_t i = 0; i < container->part_count; i++)
		input_close(&container->parts[i].in);
	free(container->parts);
	trace_close(&container->trace);
	notes_free(&container->notes);
	free(container->description);
	input_close(&container->in);
}
