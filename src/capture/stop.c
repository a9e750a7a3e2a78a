/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stop.h"
#include "capture/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static int pipe_ends[2] = { -1, -1 };
static volatile sig_atomic_t came;
static _Atomic bool flag;
static bool undoing;	/* a function of the list is being called */

static struct undo {
	void (*undo)(void *context);
	void *context;
} list[UNDO_MOST];

static void on_signal(int number)
{
	const int error = errno;
	if (!came)
		came = number;
	atomic_store(&flag, true);
	const ssize_t written = write(pipe_ends[1], "", 1);
	(void)written; /* a full pipe can be read, too, which is all it is for */
	errno = error;
}

int stop_install(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal }, was;
	if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK))
		return -1;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		/* What is ignored from the start (nohup, a job in the background) stays so. */
		if (sigaction(signals[i], NULL, &was) || (was.sa_handler != SIG_IGN && sigaction(signals[i], &action, NULL)))
			return -1;
	}
	/* Where SIGCHLD is ignored, which is inherited, nobody learns how a program ended. */
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGCHLD, SIG_DFL) == SIG_ERR ? -1 : 0;
}

int stop_fd(void)
{
	/* poll() passes over what is below 0. */
	return undoing ? -1 : pipe_ends[0];
}

int stop_signal(void)
{
	return undoing ? 0 : came;
}

const _Atomic bool *stop_flag(void)
{
	return &flag;
}

void stop_taken(void)
{
	char bytes[64];
	came = 0;
	atomic_store(&flag, false);
	while (read(pipe_ends[0], bytes, sizeof bytes) > 0)
		continue;
}

bool stop_sleep(int ms)
{
	const int64_t end = clock_ms() + ms;
	for (int left = ms; left > 0 && !stop_signal(); left = clock_left(end)) {
		struct pollfd wait = { .fd = stop_fd(), .events = POLLIN };
		poll(&wait, 1, left);
	}
	return !stop_signal();
}

int undo_add(void (*undo)(void *context), void *context)
{
	int handle = UNDO_MOST - 1;
	while (handle >= 0 && !list[handle].undo)
		handle--;
	if (++handle == UNDO_MOST)
		return -1;
	list[handle] = (struct undo){ undo, context };
	return handle;
}

void undo_now(int handle)
{
	if (handle < 0 || !list[handle].undo)
		return;
	const struct undo one = list[handle];
	const bool before = undoing;
	list[handle].undo = NULL;
	undoing = true;
	one.undo(one.context);
	undoing = before;
}

void undo_forget(int handle)
{
	if (handle >= 0)
		list[handle].undo = NULL;
}

void undo_all(void)
{
	for (int handle = UNDO_MOST - 1; handle >= 0; handle--)
		undo_now(handle);
}
