/* SPDX-License-Identifier: Apache-2.0 */
#include "input/trace_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MOST 4096		/* bytes of a name that count */

static int compare_chunks(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The size that all chunks have but the last, and those that are cut; 0 where they differ. */
static uint64_t chunk_size(const struct gathering *g)
{
	const size_t count = g->count - (g->last != NO_INDEX && g->chunks[g->count - 1].index == g->last);
	uint64_t size = 0;
	for (size_t i = 0; i < count; i++) {
		const struct chunk *chunk = &g->chunks[i];
		if (chunk->cut)
			continue;
		if (size && chunk->place.len != size)
			return 0;
		size = chunk->place.len;
	}
	return size;
}

void trace_note_lost(struct trace *trace, const struct place *place)
{
	notes_add(trace->notes, "packets that cannot be inflated again", place->packed, place->len, NULL);
}

static bool copy_place(struct trace *trace, struct spill *spill, const struct place *place, uint64_t to)
{
	const uint8_t *data = trace_bytes(trace, place);
	if (!data) {
		trace_note_lost(trace, place);
		return true;
	}
	for (uint64_t done = 0; done < place->len;) {
		const uint64_t left = place->len - done, n = left < COPY_BYTES ? left : COPY_BYTES;
		if (!spill_write(spill, data + done, (size_t)n, to + done))
			return false;
		done += n;
	}
	return true;
}

/* The holes of a dump, for one note: the ranges of as many as fit a line, and how much is lost in all. */
struct holes {
	char ranges[200];
	size_t len;
	unsigned count, told;
	uint64_t first, chunks, bytes; /* where the first one is; what is known to be missing */
};

static void add_hole(struct holes *holes, const struct trace_dump *dump, const struct chunk *before,
		     const struct chunk *chunk, uint64_t size)
{
	const uint64_t first = before ? before->index + 1 : 0, last = chunk->index - 1, len = (last - first + 1) * size;
	char range[128];
	int n = snprintf(range, sizeof range, first == last ? "chunk %" PRIu64 : "chunks %" PRIu64 " to %" PRIu64, first, last);
	if (size)
		n += snprintf(range + n, sizeof range - (size_t)n, ", bytes %" PRIu64 " to %" PRIu64, dump->len,
			      dump->len + len - 1);
	else
		n += snprintf(range + n, sizeof range - (size_t)n, ", of unknown size");
	if (!holes->count++)
		holes->first = dump->len;
	holes->bytes += len;
	if (holes->len + (size_t)n + 3 < sizeof holes->ranges && holes->told + 1 == holes->count) {
		holes->len += (size_t)snprintf(holes->ranges + holes->len, sizeof holes->ranges - holes->len, "%s%s",
					       holes->told ? "; " : "", range);
		holes->told++;
	}
}

static void note_holes(const struct holes *holes, struct trace_dump *dump)
{
	char more[32] = "";
	if (holes->count > holes->told)
		snprintf(more, sizeof more, " and %u more", holes->count - holes->told);
	if (holes->count)
		notes_add(&dump->notes, "chunks of the dump are missing", holes->first, holes->bytes, "%s%s%s", holes->ranges,
			  more, holes->bytes ? ", where zeros stand now" : "");
}

static bool unpack_dump(struct trace *trace, struct spill *spill, struct gathering *g, struct trace_dump *dump)
{
	bool indexed = false;
	for (size_t i = 0; i < g->count; i++)
		indexed |= g->chunks[i].index != NO_INDEX;
	for (size_t i = 0; indexed && i < g->count; i++) /* a writer that leaves out zeros */
		g->chunks[i].index = g->chunks[i].index == NO_INDEX ? 0 : g->chunks[i].index;
	qsort(g->chunks, g->count, sizeof *g->chunks, compare_chunks);
	const uint64_t size = chunk_size(g);
	const struct chunk *before = NULL;
	struct holes holes = { .len = 0 };
	for (size_t i = 0; i < g->count; i++) {
		const struct chunk *chunk = &g->chunks[i];
		if (chunk->index != NO_INDEX && before && before->index == chunk->index) {
			notes_add(trace->notes, "chunks that are there twice", chunk->packet, chunk->place.len, NULL);
			continue;
		}
		if (chunk->index != NO_INDEX && chunk->index != (before ? before->index + 1 : 0)) {
			const uint64_t missing = chunk->index - (before ? before->index + 1 : 0);
			/* No holes that are made to fill a disk, or an address space. */
			const bool known = size && missing <= trace->len / size + 16 - holes.chunks;
			add_hole(&holes, dump, before, chunk, known ? size : 0);
			holes.chunks += known ? missing : 0;
			dump->len += known ? missing * size : 0;
		}
		if (!copy_place(trace, spill, &chunk->place, dump->offset + dump->len))
			return false;
		dump->len += chunk->place.len;
		if (chunk->cut && i + 1 < g->count && chunk->place.len < size) {
			const uint64_t rest = size - chunk->place.len;
			notes_add(&dump->notes, "a chunk of the dump lacks its end", dump->len, rest,
				  "bytes %" PRIu64 " to %" PRIu64 ", where zeros stand now", dump->len, dump->len + rest - 1);
			dump->len += rest;
		}
		before = chunk;
		if (trace->progress)
			trace->progress(trace->context, chunk->packet, trace->len);
	}
	note_holes(&holes, dump);
	if (g->dropped && !holes.count)
		notes_add(trace->notes, "packets were lost before this one, and with them perhaps some of a dump",
			  g->dropped_at, 0, "process %" PRIu32, g->pid);
	if (before->index != NO_INDEX && g->last == NO_INDEX)
		notes_add(&dump->notes, "no chunk is marked as the last", dump->len, 0, "the dump may lack its end");
	else if (before->index != NO_INDEX && before->index < g->last && size) /* the last one was empty, or lost */
		notes_add(&dump->notes, "the last chunk is missing", dump->len, 0, "chunk %" PRIu64, g->last);
	return true;
}

char *trace_text(struct trace *trace, const struct place *place)
{
	const uint8_t *data = trace_bytes(trace, place);
	return data ? strndup((const char *)data, place->len < TEXT_MOST ? place->len : TEXT_MOST) : NULL;
}

/* The last thing that the trace calls a process. */
char *trace_process_name(struct trace *trace, uint32_t pid)
{
	for (size_t i = trace->state->process_count; i-- > 0;)
		if (trace->state->processes[i].pid == pid)
			return trace_text(trace, &trace->state->processes[i].name);
	return NULL;
}

/* A picture is of the dump of its process; with process 0 of the trace's only dump. The last dump of a process wins. */
static struct trace_dump *dump_of_picture(struct trace *trace, uint32_t pid)
{
	for (size_t i = trace->dump_count; i-- > 0;)
		if (trace->dumps[i].pid == pid)
			return &trace->dumps[i];
	return !pid && trace->dump_count == 1 && !trace->dumps_of_others ? &trace->dumps[0] : NULL;
}

static bool unpack_pictures(struct trace *trace, struct spill *spill)
{
	for (size_t i = 0; i < trace->state->picture_count; i++) {
		const struct found_picture *found = &trace->state->pictures[i];
		struct trace_dump *dump = dump_of_picture(trace, found->pid);
		if (!dump) {
			if (!trace->only_pid)
				notes_add(trace->notes, "pictures of a process without a dump", NOTE_NO_OFFSET, found->data.len,
					  "process %" PRIu32, found->pid);
			continue;
		}
		/* First its bytes: of those for which there is no room nothing may tell. */
		const uint64_t offset = trace->size;
		if (!copy_place(trace, spill, &found->data, offset))
			return false;
		trace->size += found->data.len;
		char *name = found->name.len ? trace_text(trace, &found->name) : strdup("unnamed");
		struct trace_picture *grown =
			name ? reallocarray(dump->pictures, dump->picture_count + 1, sizeof *grown) : NULL;
		if (!grown) {
			free(name);
			continue;
		}
		dump->pictures = grown;
		grown[dump->picture_count++] = (struct trace_picture){ name, offset, found->data.len };
	}
	return true;
}

int trace_unpack(struct trace *trace, struct spill *spill)
{
	struct trace_state *state = trace->state;
	trace->dumps = calloc(trace->dump_count + 1, sizeof *trace->dumps);
	if (!trace->dumps)
		return -1;
	const size_t most = trace->dump_count;
	trace->dump_count = 0;
	state->again_most = AGAIN_FLOOR + AGAIN_EACH * trace_estimate(trace);
	bool fits = true;
	for (size_t i = 0; i < state->gathering_count && trace->dump_count < most && fits; i++) {
		struct gathering *g = &state->gatherings[i];
		if (!g->count)
			continue;
		struct trace_dump *dump = &trace->dumps[trace->dump_count++];
		*dump = (struct trace_dump){ .pid = g->pid, .offset = trace->size, .process = trace_process_name(trace, g->pid) };
		notes_init(&dump->notes);
		fits = unpack_dump(trace, spill, g, dump);
		trace->size = dump->offset + dump->len;
	}
	for (size_t i = 0; i < state->graphing_count && trace->dump_count < most && fits; i++) {
		struct trace_dump *dump = &trace->dumps[trace->dump_count++];
		*dump = (struct trace_dump){ .pid = state->graphings[i].pid, .offset = trace->size,
					     .process = trace_process_name(trace, state->graphings[i].pid) };
		notes_init(&dump->notes);
		fits = trace_write_graph(trace, spill, &state->graphings[i], dump);
		if (!fits && !spill->full && !spill->error)
			return -1; /* no memory */
	}
	for (size_t i = 0; i < trace->dump_count && fits; i++)
		fits = unpack_process(trace, spill, &trace->dumps[i]);
	if (fits)
		fits = unpack_pictures(trace, spill);
	if (spill->full)
		notes_add(trace->notes, "there is no room to unpack the rest", NOTE_NO_OFFSET, 0, "%s took %" PRIu64 " bytes",
			  spill->folder, trace->size);
	return spill->error ? -1 : 0;
}

