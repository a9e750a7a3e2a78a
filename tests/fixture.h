/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture: a dump in memory, opened as far as a test needs. The bytes end right before a page that cannot be
 * read, so that one byte too far is a crash and not luck.
 */
#ifndef HEAPFS_FIXTURE_H
#define HEAPFS_FIXTURE_H

#include "samples.h"
#include "tree/tree.h"

struct guarded {
	uint8_t *data;		/* the bytes; data + len cannot be read */
	size_t len;
	void *map;
	size_t map_len;
};
void guarded_make(struct guarded *g, const void *data, size_t len);
void guarded_free(struct guarded *g);

struct opened {
	struct guarded bytes;
	struct input in;
	struct notes notes;
	struct hprof hprof;
	struct heap *heaps;	/* one a dump; one that is empty where the file has none */
	unsigned heap_count;
	struct tree *tree;
	char error[512];
};

/* 0, or -1 with `error` if the bytes are no dump. Ends the program without memory. */
int opened_bytes(struct opened *o, const void *data, size_t len, unsigned threads);
/* The same, but no more than so many of the file's dumps. */
int opened_some(struct opened *o, const void *data, size_t len, unsigned threads, unsigned most_dumps);
/* The same as opened_bytes(), from a writer, which is freed; a dump that cannot be opened ends the program. */
void opened_writer(struct opened *o, struct writer *w);
void opened_sample(struct opened *o, const char *kind);
void opened_vm(struct opened *o, struct vm *vm, const char *version);
void opened_close(struct opened *o);

/* The note of this kind, or NULL. */
const struct note *opened_note(const struct opened *o, const char *kind);

/* Everything in a folder. */
struct entry {
	char *name;
	uint64_t ino, next;
	mode_t type;
};
struct entries {
	struct entry *list;
	size_t count, capacity;
	size_t most;		/* stop after so many; 0: never */
};
/* 0, or an errno value. */
int entries_list(struct entries *entries, struct tree *tree, uint64_t ino, uint64_t offset);
void entries_free(struct entries *entries);

/* Appends `size` bytes of a file from `offset` on, wherever they come from. 0, or an errno value. */
int read_file(const struct opened *o, uint64_t ino, uint64_t offset, size_t size, struct text *text);

/* Follows a path from a folder whose ancestors are in `above`, the root first and the folder last. */
bool resolve(struct tree *tree, const uint64_t *above, size_t depth, const char *path, size_t len, uint64_t *ino);

#endif
