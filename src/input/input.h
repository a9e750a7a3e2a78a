/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input: a file as one contiguous, read-only mapping of dump bytes.
 *
 * The mapping is the truth that every other layer decodes from, on demand; nothing is copied out of it.
 * The file may be cut or its disk may fail while it is mounted. Then the kernel sends SIGBUS for the page:
 * the handler maps zero pages over what is gone, lowers `good_end` and raises `epoch`, and nothing above
 * may serve a byte that came from there. Whoever serves a request therefore brackets it:
 *
 *     uint64_t epoch = input_begin();
 *     ... decode through input_at() ...
 *     if (!input_unharmed(epoch)) answer EIO;
 *
 * A struct input owns its descriptor and mapping; pointers from input_at() live as long as it does.
 */
#ifndef HEAPFS_INPUT_H
#define HEAPFS_INPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct input {
	int fd;			/* of the file that holds the bytes, for spliced replies */
	const uint8_t *data;
	uint64_t size;		/* bytes mapped */
	_Atomic uint64_t good_end; /* bytes below this are the file's; never rises */
	struct stat st;		/* as it was when opened */
	char *path;		/* absolute, for messages */
};

/*
 * Opens and maps `path`. 0, or -1 with a message for the user in `error` (of `error_size` bytes).
 * An empty file is an error; what the bytes are is for sniff.h and hprof/record.h to say.
 */
int input_open(struct input *in, const char *path, char *error, size_t error_size);
void input_close(struct input *in);

/* Installs the SIGBUS handler for this one mapping. Addresses outside it keep the default action. */
void input_guard(struct input *in);

/* True when the file still has all bytes below `end`. One fstat; used before bytes are spliced unseen. */
bool input_has(const struct input *in, uint64_t end);

extern _Atomic uint64_t input_epoch;
extern _Thread_local bool input_touched_bad;

static inline uint64_t input_begin(void)
{
	input_touched_bad = false;
	return atomic_load_explicit(&input_epoch, memory_order_acquire);
}

static inline bool input_unharmed(uint64_t epoch)
{
	return !input_touched_bad && atomic_load_explicit(&input_epoch, memory_order_acquire) == epoch;
}

/* `len` bytes at `off`, or NULL when the file does not have them (any more). Never overflows. */
static inline const uint8_t *input_at(const struct input *in, uint64_t off, uint64_t len)
{
	uint64_t end = atomic_load_explicit(&in->good_end, memory_order_relaxed);
	if (off <= end && len <= end - off)
		return in->data + off;
	if (off <= in->size && len <= in->size - off)
		input_touched_bad = true;
	return NULL;
}

/* How many good bytes there are from `off` on. */
static inline uint64_t input_left(const struct input *in, uint64_t off)
{
	uint64_t end = atomic_load_explicit(&in->good_end, memory_order_relaxed);
	if (off >= end) {
		if (end < in->size)
			input_touched_bad = true;
		return 0;
	}
	return end - off;
}

#endif
