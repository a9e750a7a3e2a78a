/* SPDX-License-Identifier: Apache-2.0 */
#include "input/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void notes_init(struct notes *notes)
{
	memset(notes, 0, sizeof *notes);
	pthread_mutex_init(&notes->lock, NULL);
}

void notes_free(struct notes *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		free(notes->list[i].detail);
	free(notes->list);
	pthread_mutex_destroy(&notes->lock);
}

static char *format_detail(const char *detail, va_list args)
{
	char buf[256];
	if (!detail)
		return NULL;
	vsnprintf(buf, sizeof buf, detail, args);
	return strdup(buf);
}

void notes_add(struct notes *notes, const char *kind, uint64_t offset, uint64_t bytes, const char *detail, ...)
{
	va_list args;
	va_start(args, detail);
	pthread_mutex_lock(&notes->lock);
	struct note *note = NULL;
	for (size_t i = 0; i < notes->count && !note; i++)
		if (!strcmp(notes->list[i].kind, kind))
			note = &notes->list[i];
	if (!note) {
		struct note *list = realloc(notes->list, (notes->count + 1) * sizeof *list);
		if (!list)
			goto out; /* a lost remark is better than a lost mount */
		notes->list = list;
		note = &list[notes->count++];
		*note = (struct note){ .kind = kind, .offset = offset, .detail = format_detail(detail, args) };
	} else if (offset < note->offset) {
		/* Threads meet damage in any order; the first place in the file is the one to show. */
		note->offset = offset;
		free(note->detail);
		note->detail = format_detail(detail, args);
	}
	note->count++;
	note->bytes += bytes;
out:
	pthread_mutex_unlock(&notes->lock);
	va_end(args);
}

char *note_format(const struct note *note, char *buf, size_t size)
{
	char count[48] = "", offset[48] = "", lost[64] = "";
	if (note->count > 1)
		snprintf(count, sizeof count, "%" PRIu64 " times%s", note->count,
			 note->offset != NOTE_NO_OFFSET || note->bytes ? ", " : "");
	if (note->offset != NOTE_NO_OFFSET)
		snprintf(offset, sizeof offset, "%sat byte %" PRIu64, note->count > 1 ? "first " : "", note->offset);
	if (note->bytes)
		snprintf(lost, sizeof lost, "%s%" PRIu64 " bytes not shown", *offset ? ", " : "", note->bytes);
	const char *detail = note->detail ? note->detail : "";
	snprintf(buf, size, "%s%s%s%s%s%s%s%s", note->kind, *detail ? ": " : "", detail,
		 *count || *offset || *lost ? " (" : "", count, offset, lost, *count || *offset || *lost ? ")" : "");
	return buf;
}
