/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/run.h"
#include "capture/clock.h"
#include "capture/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often it is looked whether the program has ended although its pipe is open, and is watched. */
#define SLICE 200
/* An ended program's pipe may have bytes in it still. */
#define DRAIN 20
/* From SIGTERM to SIGKILL. */
#define PATIENCE 500

extern char **environ;

/* A pipe's end that is read, and what came. */
struct stream {
	int fd;			/* -1 when it is over */
	char *data;
	size_t len, capacity, most;
	bool cut;
};

/* What there is at once. False without memory, or where it cannot be read. */
static bool take(struct stream *stream)
{
	char buffer[65536];
	const ssize_t got = read(stream->fd, buffer, sizeof buffer);
	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!got) {
		close(stream->fd);
		stream->fd = -1;
		return true;
	}
	size_t len = (size_t)got;
	if (len > stream->most - stream->len) {
		len = stream->most - stream->len;
		stream->cut = true;
	}
	if (len >= stream->capacity - stream->len) {
		const size_t capacity = stream->capacity * 2 > stream->len + len ? stream->capacity * 2 : stream->len + len + 1;
		char *grown = realloc(stream->data, capacity);
		if (!grown)
			return false;
		stream->data = grown;
		stream->capacity = capacity;
	}
	memcpy(stream->data + stream->len, buffer, len);
	stream->len += len;
	stream->data[stream->len] = '\0';
	return true;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };
	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/* The program, and what it has started. */
static void end_group(pid_t pid)
{
	kill(-pid, SIGTERM);
	for (int waited = 0; waited < PATIENCE && !has_ended(pid); waited += 10)
		poll(NULL, 0, 10);
	kill(-pid, SIGKILL);
}

/* Reads until it is over, for whatever reason. */
static enum run_end follow(const struct run *run, pid_t pid, struct stream streams[2])
{
	int64_t end = run->timeout ? clock_ms() + run->timeout : INT64_MAX;
	for (bool ended = false;;) {
		struct pollfd waits[3] = { { .fd = streams[0].fd, .events = POLLIN },
					   { .fd = streams[1].fd, .events = POLLIN },
					   { .fd = stop_fd(), .events = POLLIN } };
		const int left = clock_left(end);
		const bool closed = streams[0].fd < 0 && streams[1].fd < 0;
		int slice = left < SLICE ? left : SLICE;
		if (ended && closed)
			return RUN_EXITED;
		if (ended || closed)
			slice = left < DRAIN ? left : DRAIN;
		const int ready = poll(waits, 3, slice);
		if (stop_signal())
			return RUN_STOPPED;
		for (unsigned i = 0; i < 2; i++)
			if (ready > 0 && waits[i].revents && !take(&streams[i]))
				return RUN_FAILED;
		if (run->watch && !run->watch(run->context, streams[0].data, streams[0].len))
			return RUN_LATE;
		if (ended && (!ready || !clock_left(end)))
			return RUN_EXITED;
		if (!ended && has_ended(pid)) {
			/* What it left behind may go on writing. */
			const int64_t soon = clock_ms() + PATIENCE;
			end = soon < end ? soon : end;
			ended = true;
		} else if (!ended && !clock_left(end)) {
			return RUN_LATE;
		}
	}
}

/* Starts it, with what it writes going to these descriptors. An errno value. */
static int spawn(const char *const *argv, int out, int errors, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults, none;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigemptyset(&none);
	int rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
	if (!rc)
		rc = posix_spawnattr_setflags(&attributes,
					      POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	if (!rc)
		rc = posix_spawnattr_setsigdefault(&attributes, &defaults);
	if (!rc)
		rc = posix_spawnattr_setsigmask(&attributes, &none);
	if (!rc)
		rc = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return rc;
}

/* Starts it, with pipes that are read from `streams`. An errno value. */
static int start(const struct run *run, pid_t *pid, struct stream streams[2])
{
	int out[2] = { -1, -1 }, errors[2] = { -1, -1 };
	int rc = 0;
	if ((run->fd <= 0 && pipe2(out, O_CLOEXEC)) || ((run->apart || run->fd > 0) && pipe2(errors, O_CLOEXEC)))
		rc = errno;
	else
		rc = spawn(run->argv, run->fd > 0 ? run->fd : out[1], errors[1] >= 0 ? errors[1] : out[1], pid);
	for (unsigned i = 0; i < 2; i++) {
		int *ends = i ? errors : out;
		if (ends[1] >= 0)
			close(ends[1]);
		streams[i].fd = ends[0];
		if (ends[0] >= 0)
			fcntl(ends[0], F_SETFL, O_NONBLOCK);
	}
	return rc;
}

static void reap(pid_t pid, siginfo_t *info)
{
	while (waitid(P_PID, (id_t)pid, info, WEXITED) && errno == EINTR)
		continue;
}

int run_program(const struct run *run, struct output *output)
{
	struct stream streams[2];
	pid_t pid = 0;
	*output = (struct output){ .end = RUN_FAILED, .timeout = run->timeout };
	for (unsigned i = 0; i < 2; i++) {
		streams[i] = (struct stream){ .fd = -1, .data = calloc(1, 256), .capacity = 256,
					      .most = run->most ? run->most : RUN_MOST };
		if (!streams[i].data)
			streams[i].capacity = 0;
	}
	if (!streams[0].data || !streams[1].data)
		output->status = ENOMEM;
	else if (stop_signal())
		output->end = RUN_STOPPED;
	else if (!(output->status = start(run, &pid, streams)))
		output->end = follow(run, pid, streams);
	if (pid) {
		siginfo_t info = { .si_pid = 0 };
		if (output->end == RUN_FAILED)
			output->status = errno;
		if (output->end != RUN_EXITED)
			end_group(pid);
		reap(pid, &info);
		if (output->end == RUN_EXITED) {
			output->end = info.si_code == CLD_EXITED ? RUN_EXITED : RUN_KILLED;
			output->status = info.si_status;
		}
	}
	for (unsigned i = 0; i < 2; i++)
		if (streams[i].fd >= 0)
			close(streams[i].fd);
	output->data = streams[0].data;
	output->len = streams[0].len;
	output->errors = streams[1].data;
	output->errors_len = streams[1].len;
	output->cut = streams[0].cut || streams[1].cut;
	return output->end == RUN_EXITED && !output->status ? 0 : -1;
}

void output_free(struct output *output)
{
	free(output->data);
	free(output->errors);
	*output = (struct output){ .data = NULL };
}

pid_t run_background(const char *const *argv)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid = 0;
	if (null < 0)
		return 0;
	if (spawn(argv, null, null, &pid))
		pid = 0;
	close(null);
	return pid;
}

void run_reap(pid_t pid, int ms)
{
	const int64_t end = clock_ms() + ms;
	siginfo_t info;
	while (!has_ended(pid) && clock_left(end))
		poll(NULL, 0, 10);
	if (!has_ended(pid))
		end_group(pid);
	reap(pid, &info);
}

const char *run_reason(const struct output *output, char *text, size_t size)
{
	switch (output->end) {
	case RUN_EXITED:
		snprintf(text, size, "ended with status %d", output->status);
		break;
	case RUN_KILLED:
		snprintf(text, size, "ended by signal %d (%s)", output->status, strsignal(output->status));
		break;
	case RUN_LATE:
		if (output->timeout)
			snprintf(text, size, "no answer within %d s", (output->timeout + 999) / 1000);
		else
			snprintf(text, size, "it does not go on");
		break;
	case RUN_STOPPED:
		snprintf(text, size, "stopped");
		break;
	case RUN_FAILED:
		snprintf(text, size, "cannot be run: %s", strerror(output->status));
		break;
	}
	return text;
}
