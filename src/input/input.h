/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input: a file as one contiguous, read-only mapping of dump bytes.
 *
 * The mapping is the truth that every other layer decodes from, on demand; nothing is copied out of it.
 *
 * The file may be cut or written over, or its disk may fail, while it is mounted, and no byte that is not the
 * dump's may be served then. Two things see to that. The kernel sends SIGBUS for a page that is gone: the
 * handler maps zero pages there, and either lowers `good_end` (the file was cut; it never rises again) or
 * takes note of the page (the disk failed); then it raises `input_epoch`. And whoever serves a request
 * brackets it, since a page may change without a signal:
 *
 *     uint64_t epoch = input_begin();
 *     ... decode through input_at() ...
 *     if (!input_unharmed(in, epoch)) answer EIO;
 *
 * Of a file that was only cut, what is left is served. One that was written to otherwise is given up as a whole,
 * since nobody knows where: even a touch, and even what was appended. (A dump that is replaced by another under
 * its name stays as it was: the descriptor holds the old file.)
 *
 * A struct input owns its descriptor and mapping; pointers from input_at() live as long as it does.
 *
 * What is shown may come from several files: a dump, the one that it is compared with, pictures. All places in them are
 * in one space of addresses, in which each input has a base: one that is opened beside another begins behind it.
 */
#ifndef HEAPFS_INPUT_H
#define HEAPFS_INPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Pages that the disk could not give, before all that lies behind one is given up. */
#define INPUT_BAD_PAGES 64

struct input {
	int fd;			/* of the file that holds the bytes; -1 of a view */
	const uint8_t *data;
	uint64_t base;		/* its first byte's address in the space of all inputs */
	uint64_t start;		/* of a view: where it begins in the mapping that it is of */
	uint64_t size;		/* bytes mapped */
	_Atomic uint64_t good_end; /* bytes below this are the file's; never rises */
	_Atomic unsigned bad_count;
	_Atomic uint64_t bad_pages[INPUT_BAD_PAGES]; /* offsets of pages that are not */
	_Atomic int64_t written;   /* when the file was last written to, in ns, as far as was looked into */
	_Atomic uint64_t seen_size; /* its size then */
	bool viewed;		/* has views, which do not see what is cut: then all of it is given up */
	/* Asked when the file was cut: is what is left still the same dump's beginning? NULL: assume so. */
	bool (*same)(const void *context);
	const void *same_context;
	struct stat st;		/* as it was when opened */
	char *path;		/* absolute, for messages */
	struct input *beside;	/* another one that requests decode from, or NULL: see input_put_beside() */
	struct input *guarded;	/* the next one that the SIGBUS handler knows */
};

/*
 * Opens and maps `path`. 0, or -1 with a message for the user in `error` (of `error_size` bytes).
 * An empty file is an error; what the bytes are is for sniff.h to say.
 */
int input_open(struct input *in, const char *path, char *error, size_t error_size);
/*
 * Maps what `origin` was unpacked to: the file of descriptor `fd`, which becomes the input's. Path and attributes are
 * those of the origin. 0, or -1 with errno.
 */
int input_open_unpacked(struct input *in, const struct input *origin, int fd);
/* A stretch of an input as an input of its own, which must be closed before it. 0, or -1 without memory. */
int input_view(struct input *view, struct input *of, uint64_t offset, uint64_t len);
void input_close(struct input *in);

/* Installs the SIGBUS handler for this mapping too. Addresses outside all of them keep the default action. */
void input_guard(struct input *in);

/*
 * From now on requests that decode from `in` decode from `other` as well: input_unharmed() looks at both. `other` must be
 * opened with the base that input_next_base() gives, and closed after the last request.
 */
void input_put_beside(struct input *in, struct input *other);
/* Behind this input and all that are beside it, at a page's beginning. */
uint64_t input_next_base(const struct input *in);
/* Of this input and those beside it, the one that an address of the space of all lies in; NULL if it is in none. */
const struct input *input_of(const struct input *in, uint64_t address);

/* Copies bytes of the file. 0, or EIO if they are not all there any more. */
int input_read(const struct input *in, uint64_t off, uint64_t len, void *copy);

extern _Atomic uint64_t input_epoch;
extern _Thread_local bool input_touched_bad;

static inline uint64_t input_begin(void)
{
	input_touched_bad = false;
	return atomic_load_explicit(&input_epoch, memory_order_acquire);
}

/* Was all that this thread decoded since input_begin() the dump's? Costs one fstat. */
bool input_unharmed(struct input *in, uint64_t epoch);

/* The same for a place of which bytes are wanted, once any page is known to be bad. */
bool input_is_bad(const struct input *in, uint64_t off, uint64_t len);

/* `len` bytes at `off`, or NULL when the file does not have them (any more). Never overflows. */
static inline const uint8_t *input_at(const struct input *in, uint64_t off, uint64_t len)
{
	const uint64_t end = atomic_load_explicit(&in->good_end, memory_order_relaxed);
	if (off <= end && len <= end - off &&
	    (!atomic_load_explicit(&in->bad_count, memory_order_relaxed) || !input_is_bad(in, off, len)))
		return in->data + off;
	if (off <= in->size && len <= in->size - off)
		input_touched_bad = true;
	return NULL;
}

/* How many good bytes there are from `off` on. */
static inline uint64_t input_left(const struct input *in, uint64_t off)
{
	const uint64_t end = atomic_load_explicit(&in->good_end, memory_order_relaxed);
	if (off >= end) {
		if (end < in->size)
			input_touched_bad = true;
		return 0;
	}
	return end - off;
}

#endif
