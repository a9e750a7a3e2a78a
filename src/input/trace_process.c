/* SPDX-License-Identifier: Apache-2.0 */
#include "input/trace_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MOST 1024	/* of a stack */
#define DETAILS_MOST 65536	/* bytes of them, and then no more fields */

/* A growing text. What there is no memory for is left out. */
struct lines {
	char *text;
	size_t len, capacity;
};

static void append_bytes(struct lines *lines, const void *bytes, size_t len)
{
	if (lines->capacity - lines->len <= len) {
		const size_t wanted = 2 * (lines->len + len + 64);
		char *grown = realloc(lines->text, wanted);
		if (!grown)
			return;
		lines->text = grown;
		lines->capacity = wanted;
	}
	memcpy(lines->text + lines->len, bytes, len);
	lines->len += len;
	lines->text[lines->len] = 0;
}

static void append(struct lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct lines *lines, const char *format, ...)
{
	char more[160];
	va_list args;
	va_start(args, format);
	const int len = vsnprintf(more, sizeof more, format, args);
	va_end(args);
	if (len > 0)
		append_bytes(lines, more, (size_t)len < sizeof more ? (size_t)len : sizeof more - 1);
}

/* Text of a message, for one line of info.txt or one cell. */
static void append_text(struct lines *lines, const char *before, const struct proto_field *field, const char *after)
{
	char line[1024];
	size_t n = 0;
	for (uint64_t i = 0; i < field->len && n < sizeof line; i++)
		line[n++] = field->data[i] < 0x20 || field->data[i] == 0x7f ? ' ' : (char)field->data[i];
	append(lines, "%s", before);
	if (n)
		append_bytes(lines, line, n);
	append(lines, "%s", after);
}

static void append_frames(struct lines *lines, const struct proto_field *stack)
{
	const uint8_t *at = stack->data, *end = at + stack->len;
	struct proto_field frame, field;
	for (unsigned frames = 0; frames < FRAMES_MOST && proto_next(&at, end, &frame);) {
		if (frame.number != 1 || frame.type != PROTO_LEN)
			continue;
		frames++;
		struct proto_field method = { .data = NULL }, file = { .data = NULL };
		uint64_t line = 0;
		for (const uint8_t *p = frame.data; proto_next(&p, frame.data + frame.len, &field);) {
			if (field.number == 1 && field.type == PROTO_LEN)
				method = field;
			else if (field.number == 2 && field.type == PROTO_LEN)
				file = field;
			else if (field.number == 3 && field.type == PROTO_VARINT)
				line = field.value;
		}
		append_text(lines, "out of memory at: ", &method, "");
		append_text(lines, "(", &file, "");
		if (line)
			append(lines, ":%" PRIu64, line);
		append(lines, ")\n");
	}
}

/* ArtProcessMetadata: who the process is, and if it ran out of memory, how. */
static char *art_details(struct trace *trace, uint32_t pid)
{
	static const char *const keys[] = { [3] = "process name: ", [4] = "package: ", [9] = "out of memory: " };
	static const char *const counts[] = { [2] = "user id", [5] = "out of memory, bytes asked for",
					      [6] = "out of memory, bytes free", [7] = "out of memory, bytes free until then" };
	struct lines lines = { .text = NULL };
	for (size_t i = trace->state->art_count; i-- > 0 && !lines.len;) {
		const struct about *about = &trace->state->art[i];
		const uint8_t *data = about->pid == pid ? trace_bytes(trace, &about->message) : NULL;
		struct proto_field field;
		for (const uint8_t *at = data; at && proto_next(&at, data + about->message.len, &field) && lines.len < DETAILS_MOST;) {
			if (field.number == 8 && field.type == PROTO_LEN)
				append_frames(&lines, &field);
			else if (field.number < 10 && field.type == PROTO_LEN && keys[field.number])
				append_text(&lines, keys[field.number], &field, "\n");
			else if (field.number < 8 && field.type == PROTO_VARINT && counts[field.number])
				append(&lines, "%s: %" PRIu64 "\n", counts[field.number], field.value);
		}
	}
	return lines.text;
}

static bool write_lines(struct trace *trace, struct spill *spill, struct lines *lines)
{
	if (lines->len && !spill_write(spill, lines->text, lines->len, trace->size))
		return false;
	trace->size += lines->len;
	lines->len = 0;
	return true;
}

/* SmapsPacket: a line a mapping. */
static bool unpack_smaps(struct trace *trace, struct spill *spill, struct trace_dump *dump)
{
	/* By the numbers of SmapsEntry's fields. */
	static const uint8_t columns[] = { 1, 5, 6, 10, 2, 15, 3, 11, 12, 13, 4, 14 };
	static const char head[] = "path\tfile\tstart\tprotection\tsize_kb\tproportional_resident_kb\tprivate_dirty_kb\t"
				   "private_clean_kb\tshared_dirty_kb\tshared_clean_kb\tswap_kb\tlocked_kb\n";
	const struct about *about = NULL;
	for (size_t i = trace->state->smaps_count; i-- > 0 && !about;)
		if (trace->state->smaps[i].pid == dump->pid)
			about = &trace->state->smaps[i];
	const uint8_t *at = about ? trace_bytes(trace, &about->message) : NULL, *end = at ? at + about->message.len : NULL;
	if (!at)
		return true;
	struct lines lines = { .text = NULL };
	struct proto_field entry, field;
	bool fits = true;
	dump->smaps = trace->size;
	while (fits && proto_next(&at, end, &entry)) {
		struct proto_field cells[16] = { { .number = 0 } };
		if (entry.number != 2 || entry.type != PROTO_LEN)
			continue;
		for (const uint8_t *p = entry.data; proto_next(&p, entry.data + entry.len, &field);)
			if (field.number < 16)
				cells[field.number] = field;
		if (!lines.capacity)
			append_bytes(&lines, head, sizeof head - 1);
		for (size_t i = 0; i < sizeof columns; i++) {
			const struct proto_field *cell = &cells[columns[i]];
			const char *after = i + 1 < sizeof columns ? "\t" : "\n";
			if (cell->number && cell->type == PROTO_LEN)
				append_text(&lines, "", cell, after);
			else if (cell->number && cell->type == PROTO_VARINT)
				append(&lines, columns[i] == 6 ? "0x%" PRIx64 "%s" : "%" PRIu64 "%s", cell->value, after);
			else
				append(&lines, "-%s", after);
		}
		if (lines.len >= COPY_BYTES)
			fits = write_lines(trace, spill, &lines);
	}
	fits = fits && write_lines(trace, spill, &lines);
	free(lines.text);
	dump->smaps_len = fits ? trace->size - dump->smaps : 0;
	return fits;
}

/* What is known of a process. It is the same for each of its dumps, and there once. */
bool unpack_process(struct trace *trace, struct spill *spill, struct trace_dump *dump)
{
	for (const struct trace_dump *other = trace->dumps; other < dump; other++)
		if (other->pid == dump->pid) {
			dump->details = other->details;
			dump->details_shared = true;
			dump->smaps = other->smaps;
			dump->smaps_len = other->smaps_len;
			return true;
		}
	dump->details = art_details(trace, dump->pid);
	return unpack_smaps(trace, spill, dump);
}

