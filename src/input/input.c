/* SPDX-License-Identifier: Apache-2.0 */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint64_t input_epoch;
_Thread_local bool input_touched_bad;

static struct input *_Atomic guarded; /* a list */

static void lower_end(struct input *in, uint64_t to)
{
	uint64_t end = atomic_load(&in->good_end);
	while (to < end)
		if (atomic_compare_exchange_weak(&in->good_end, &end, to)) {
			atomic_fetch_add(&input_epoch, 1);
			break;
		}
}

/* Only what POSIX allows in a handler, and mmap, which on Linux is a bare system call. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	(void)context;
	const uintptr_t at = (uintptr_t)info->si_addr;
	struct input *in = atomic_load(&guarded);
	while (in && (at < (uintptr_t)in->data || at - (uintptr_t)in->data >= in->size))
		in = in->guarded;
	const uintptr_t base = in ? (uintptr_t)in->data : 0;
	if (!in) {
		signal(sig, SIG_DFL); /* not ours: a real fault, which happens again at once */
		return;
	}
	const int saved = errno;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = at & ~(page - 1);
	const uint64_t off = from - base;
	uintptr_t to = from + page;
	struct stat st;
	const bool cut = fstat(in->fd, &st) || (uint64_t)st.st_size <= off;
	unsigned bad = cut ? INPUT_BAD_PAGES : atomic_fetch_add(&in->bad_count, 1);
	if (cut || bad >= INPUT_BAD_PAGES) {
		to = (base + in->size + page - 1) & ~(page - 1);
		lower_end(in, off);
	} else {
		atomic_store(&in->bad_pages[bad], off);
	}
	if (mmap((void *)from, to - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL);
	atomic_fetch_add(&input_epoch, 1);
	errno = saved;
}

void input_guard(struct input *in)
{
	in->guarded = atomic_load(&guarded);
	atomic_store(&guarded, in);
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

bool input_is_bad(const struct input *in, uint64_t off, uint64_t len)
{
	const unsigned count = atomic_load(&in->bad_count);
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < count && i < INPUT_BAD_PAGES; i++) {
		const uint64_t bad = atomic_load(&in->bad_pages[i]);
		if (off < bad + page && off + len > bad)
			return true;
	}
	return false;
}

static int64_t written_at(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* The file was written to since it was last looked at. */
static void look_again(struct input *in, const struct stat *st)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const int64_t written = written_at(st);
	const uint64_t size = (uint64_t)st->st_size;
	pthread_mutex_lock(&lock);
	if (written != atomic_load(&in->written) || size != atomic_load(&in->seen_size)) {
		if (size < atomic_load(&in->seen_size)) {
			lower_end(in, size);
			if (in->same && !in->same(in->same_context))
				lower_end(in, 0);
		} else {
			lower_end(in, 0);
		}
		atomic_store(&in->seen_size, size);
		atomic_store(&in->written, written);
	}
	pthread_mutex_unlock(&lock);
}

static bool is_unharmed(struct input *in)
{
	struct stat st;
	/* Also for a cut in the middle of a page, which leaves zeros up to the page's end, without a signal. */
	if (fstat(in->fd, &st))
		return false;
	if (written_at(&st) != atomic_load(&in->written) || (uint64_t)st.st_size != atomic_load(&in->seen_size))
		look_again(in, &st);
	return !in->viewed || atomic_load(&in->good_end) >= in->size;
}

bool input_unharmed(struct input *in, uint64_t epoch)
{
	for (; in; in = in->beside)
		if (!is_unharmed(in))
			return false;
	return !input_touched_bad && atomic_load(&input_epoch) == epoch;
}

void input_put_beside(struct input *in, struct input *other)
{
	while (in->beside)
		in = in->beside;
	in->beside = other;
}

uint64_t input_next_base(const struct input *in)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	while (in->beside)
		in = in->beside;
	return (in->base + in->size + page - 1) & ~(page - 1);
}

const struct input *input_of(const struct input *in, uint64_t address)
{
	while (in && (address < in->base || address - in->base >= in->size))
		in = in->beside;
	return in;
}

int input_read(const struct input *in, uint64_t off, uint64_t len, void *copy)
{
	for (uint64_t done = 0; done < len;) {
		const ssize_t got = pread(in->fd, (char *)copy + done, len - done, (off_t)(off + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return EIO;
		done += (uint64_t)got;
	}
	return input_left(in, off) >= len ? 0 : EIO;
}

int input_open(struct input *in, const char *path, char *error, size_t error_size)
{
	memset(in, 0, sizeof *in);
	in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (in->fd < 0 || fstat(in->fd, &in->st)) {
		snprintf(error, error_size, "%s: cannot open: %s", path, strerror(errno));
		goto fail;
	}
	if (!S_ISREG(in->st.st_mode)) {
		snprintf(error, error_size, "%s: %s, not a file", path,
			 S_ISDIR(in->st.st_mode) ? "a folder" : "a device, pipe or socket");
		goto fail;
	}
	if (in->st.st_size == 0) {
		snprintf(error, error_size, "%s: the file is empty (0 bytes); was the dump cut off?", path);
		goto fail;
	}
	in->size = (uint64_t)in->st.st_size;
	in->path = realpath(path, NULL);
	void *data = mmap(NULL, in->size, PROT_READ, MAP_SHARED, in->fd, 0);
	if (data == MAP_FAILED || !in->path) {
		snprintf(error, error_size, "%s: cannot map: %s", path, strerror(errno));
		goto fail;
	}
	in->data = data;
	atomic_store(&in->good_end, in->size);
	atomic_store(&in->written, written_at(&in->st));
	atomic_store(&in->seen_size, in->size);
	return 0;
fail:
	input_close(in);
	return -1;
}

int input_open_unpacked(struct input *in, const struct input *origin, int fd)
{
	struct stat st;
	memset(in, 0, sizeof *in);
	in->fd = -1;
	if (fstat(fd, &st))
		return -1;
	in->size = (uint64_t)st.st_size;
	in->st = origin->st;
	in->path = strdup(origin->path);
	void *data = mmap(NULL, in->size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED || !in->path) {
		const int error = errno;
		if (data != MAP_FAILED)
			munmap(data, in->size);
		free(in->path);
		errno = error;
		return -1;
	}
	in->data = data;
	in->fd = fd;
	atomic_store(&in->good_end, in->size);
	atomic_store(&in->written, written_at(&st));
	atomic_store(&in->seen_size, in->size);
	return 0;
}

int input_view(struct input *view, struct input *of, uint64_t offset, uint64_t len)
{
	memset(view, 0, sizeof *view);
	view->fd = -1;
	view->path = strdup(of->path);
	if (!view->path)
		return -1;
	view->data = of->data + offset;
	view->base = of->base + offset;
	view->start = offset;
	view->size = len;
	view->st = of->st;
	atomic_store(&view->good_end, len);
	of->viewed = true;
	return 0;
}

void input_close(struct input *in)
{
	if (in->data && in->fd >= 0)
		munmap((void *)(uintptr_t)in->data, in->size);
	if (in->fd >= 0)
		close(in->fd);
	free(in->path);
	/* One that was not guarded is in no list; nobody else opens or closes one meanwhile. */
	struct input *before = NULL, *each = atomic_load(&guarded);
	for (; each && each != in; each = each->guarded)
		before = each;
	if (each && before)
		before->guarded = in->guarded;
	else if (each)
		atomic_store(&guarded, in->guarded);
	memset(in, 0, sizeof *in);
	in->fd = -1;
}
