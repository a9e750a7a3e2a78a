/* SPDX-License-Identifier: Apache-2.0 */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint64_t input_epoch;
_Thread_local bool input_touched_bad;

static struct input *guarded;

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	(void)context;
	struct input *in = guarded;
	uintptr_t at = (uintptr_t)info->si_addr, base = in ? (uintptr_t)in->data : 0;
	if (!in || at < base || at - base >= in->size) {
		signal(sig, SIG_DFL); /* not ours: a real fault, which happens again at once */
		return;
	}
	int saved = errno;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = at & ~(page - 1);
	uint64_t off = from - base;
	/* Past the file's end everything from here on is gone. On a bad medium what lies behind may be whole,
	   but good_end has no holes, so that a check stays one comparison. */
	uintptr_t to = (base + in->size + page - 1) & ~(page - 1);
	if (mmap((void *)from, to - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL);
	uint64_t end = atomic_load(&in->good_end);
	while (off < end && !atomic_compare_exchange_weak(&in->good_end, &end, off))
		;
	atomic_fetch_add(&input_epoch, 1);
	errno = saved;
}

void input_guard(struct input *in)
{
	guarded = in;
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

bool input_has(const struct input *in, uint64_t end)
{
	struct stat st;
	return fstat(in->fd, &st) == 0 && (uint64_t)st.st_size >= end &&
	       end <= atomic_load_explicit(&in->good_end, memory_order_relaxed);
}

int input_open(struct input *in, const char *path, char *error, size_t error_size)
{
	memset(in, 0, sizeof *in);
	in->fd = open(path, O_RDONLY | O_CLOEXEC);
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
	return 0;
fail:
	input_close(in);
	return -1;
}

void input_close(struct input *in)
{
	if (in->data)
		munmap((void *)(uintptr_t)in->data, in->size);
	if (in->fd >= 0)
		close(in->fd);
	free(in->path);
	if (guarded == in)
		guarded = NULL;
	memset(in, 0, sizeof *in);
	in->fd = -1;
}
