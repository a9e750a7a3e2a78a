/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes: what was skipped, cut, refused or guessed while a dump was opened.
 *
 * Nothing is hidden from the user: every such thing becomes a line in info.txt and on stderr. Lines of
 * one kind are counted, not repeated; the byte offset is that of the first one. Safe to call from several
 * threads. The texts are copied.
 */
#ifndef HEAPFS_NOTES_H
#define HEAPFS_NOTES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define NOTE_NO_OFFSET UINT64_MAX

struct note {
	const char *kind;	/* a string literal: equal pointers or equal texts are one kind */
	char *detail;		/* what was found at the first place, or NULL */
	uint64_t offset;	/* the lowest byte offset, or NOTE_NO_OFFSET */
	uint64_t count;
	uint64_t bytes;		/* sum of the bytes that are not shown because of it */
};

struct notes {
	pthread_mutex_t lock;
	struct note *list;
	size_t count;
};

void notes_init(struct notes *notes);
void notes_free(struct notes *notes);

/* Adds one occurrence. `bytes` is how much of the dump is lost by it; `detail` is a printf format or NULL. */
void notes_add(struct notes *notes, const char *kind, uint64_t offset, uint64_t bytes, const char *detail, ...)
	__attribute__((format(printf, 5, 6)));

/* Writes a note as one line without its newline; returns `buf`. */
char *note_format(const struct note *note, char *buf, size_t size);

#endif
