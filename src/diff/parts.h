/* SPDX-License-Identifier: Apache-2.0 */
/* parts: what the parts of diff share. Internal to src/diff. */
#ifndef HEAPFS_DIFF_PARTS_H
#define HEAPFS_DIFF_PARTS_H

#include "diff/diff.h"

static inline const struct class *string_class(const struct heap *heap)
{
	return heap->string_class == CLASS_NONE ? NULL : &heap->classes[heap->string_class];
}

/* --- diff.c --- */

/* Has as many threads work as the diff may use, or as there can be, and waits for all. 0 or ENOMEM. */
int on_all_threads(const struct diff *diff, void *(*work)(void *context), void *context);

/* --- fold.c --- */

/*
 * A class's name without what differs from run to run. Writes at most name.len bytes; how many. See there.
 */
uint32_t fold_name(struct name name, char *folded);

/* --- classes.c --- */

/* 0 or ENOMEM. */
int match_classes(struct diff *diff);

/* --- judge.c --- */

/* Do ids tell who an object is? 0 or errno. */
int judge(const struct diff *diff, struct diff_judgement *judgement);

/* --- content.c --- */

/* Of what a reference leads to, this much counts: bytes of elements, chars of a text, fields. */
#define CONTENT_MOST 4096

struct content_field {
	uint64_t key;		/* the same for the same field of both dumps */
	uint32_t at;		/* in an instance's data */
	uint8_t type;
};

/* What is compared of the instances of each class: primitive fields, then references, each by key. */
struct comparer {
	const struct diff *diff;
	enum diff_side side;
	struct content_plan {
		uint32_t first, primitives, references;
		uint64_t end;	/* of its fields, in an instance's data */
	} *plans;		/* by class number */
	struct content_field *fields;
	const _Atomic bool *cancel;
};
/* For both sides. 0, ENOMEM or E2BIG. */
int contents_open(struct comparer contents[DIFF_SIDES], const struct diff *diff, const _Atomic bool *cancel);
void contents_close(struct comparer contents[DIFF_SIDES]);

/* Equal for equal contents; anything once the job is to end. */
uint64_t content_of(const struct comparer *contents, const struct object *object);

/* --- what the jobs do: objects.c, texts.c, pictures.c, paths.c --- */

int diff_objects(void *diff, const _Atomic bool *cancel);
int diff_strings(void *diff, const _Atomic bool *cancel);
int diff_bitmaps(void *diff, const _Atomic bool *cancel);
int diff_dominators(void *diff, const _Atomic bool *cancel);

#endif
