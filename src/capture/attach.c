/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/attach.h"
#include "capture/clock.h"
#include "capture/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_MS 10000	/* as long as jcmd waits for the socket */
#define SLICE 200

/* The file that asks the VM to listen. */
struct trigger {
	int folder;
	char name[32];
};

static void trigger_name(const struct local_process *process, struct trigger *trigger)
{
	snprintf(trigger->name, sizeof trigger->name, ".attach_pid%d", (int)process->inner);
}

static void undo_trigger(void *context)
{
	const struct trigger *trigger = context;
	unlinkat(trigger->folder, trigger->name, 0);
}

/* The path of a socket is short, so it goes through the descriptor of its folder. */
static int connect_to(const struct local_process *process, int folder)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	/* A VM that is stopped may have more clients than fit in its queue: who waits there has no deadline. */
	const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -1;
	snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d/.java_pid%d", folder, (int)process->inner);
	if (!connect(sock, (struct sockaddr *)&at, sizeof at) && !fcntl(sock, F_SETFL, 0))
		return sock;
	const int error = errno;
	close(sock);
	errno = error;
	return -1;
}

/* Asks until it listens. The socket, or -1 with what went wrong in `text`. */
static int ask(const struct local_process *process, struct trigger *trigger, char *text, size_t size)
{
	int sock = connect_to(process, trigger->folder);
	if (sock >= 0)
		return sock;
	if (errno == EACCES || errno == EPERM) {
		snprintf(text, size, "no access to its socket in /tmp: %s", strerror(errno));
		return -1;
	}
	if (!process->catches_quit) {
		snprintf(text, size, "it does not handle SIGQUIT, as a VM started with -Xrs, and would be ended by it");
		return -1;
	}
	int undo = undo_add(undo_trigger, trigger);
	const int fd = undo < 0 ? -1 : openat(trigger->folder, trigger->name, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno != EEXIST) {
		snprintf(text, size, "cannot make %s in its /tmp: %s", trigger->name, strerror(errno));
		undo_forget(undo);
		return -1;
	}
	if (fd >= 0) {
		close(fd);
	} else { /* another client has made it, and will remove it */
		undo_forget(undo);
		undo = -1;
	}
	const int64_t end = clock_ms() + LISTEN_MS;
	int64_t next = 0;
	while (sock < 0 && clock_left(end) && !stop_signal()) {
		if (clock_ms() >= next) { /* jcmd asks again, too: a VM that is just starting misses the first one */
			if (kill(process->pid, SIGQUIT)) {
				snprintf(text, size, "cannot send it SIGQUIT: %s", strerror(errno));
				break;
			}
			next = clock_ms() + LISTEN_MS / 4;
		}
		stop_sleep(50);
		sock = connect_to(process, trigger->folder);
	}
	if (sock < 0 && !*text)
		snprintf(text, size, stop_signal() ? "stopped" : "it does not listen within 10 s; is it stopped, or started with "
			 "-XX:+DisableAttachMechanism?");
	undo_now(undo);
	return sock;
}

static bool send_all(int sock, const char *data, size_t len)
{
	while (len) {
		const ssize_t sent = send(sock, data, len, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		data += sent;
		len -= (size_t)sent;
	}
	return true;
}

/* False with what went wrong in `text`. */
static bool receive(int sock, bool (*watch)(void *, const char *, size_t), void *context, char *text, size_t size)
{
	for (size_t len = 0;;) {
		char rest[256];
		struct pollfd waits[2] = { { .fd = sock, .events = POLLIN }, { .fd = stop_fd(), .events = POLLIN } };
		const int ready = poll(waits, 2, SLICE);
		if (stop_signal()) {
			snprintf(text, size, "stopped");
			return false;
		}
		if (!watch(context, text, len)) {
			snprintf(text, size, "it does not go on");
			return false;
		}
		if (ready <= 0 || !waits[0].revents)
			continue;
		const bool full = len + 1 >= size;
		const ssize_t got = recv(sock, full ? rest : text + len, full ? sizeof rest : size - 1 - len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			snprintf(text, size, "the connection to it failed: %s", strerror(errno));
			return false;
		}
		if (!got)
			return true;
		len += full ? 0 : (size_t)got;
		text[len] = '\0';
	}
}

int attach_command(const struct local_process *process, const char *command, const char *const arguments[3],
		   bool (*watch)(void *context, const char *data, size_t len), void *context, char *text, size_t size)
{
	char request[8192];
	size_t len = 0;
	const char *const words[] = { "1", command, arguments[0], arguments[1], arguments[2] };
	struct trigger trigger = { .folder = process_folder(process, "tmp") };
	*text = '\0';
	trigger_name(process, &trigger);
	for (unsigned i = 0; i < 5; i++) {
		const size_t word = strlen(words[i]) + 1;
		if (word > sizeof request - len) {
			snprintf(text, size, "%s: is too long", words[i]);
			return -1;
		}
		memcpy(request + len, words[i], word);
		len += word;
	}
	if (trigger.folder < 0) {
		snprintf(text, size, "its folder /tmp: %s", strerror(errno));
		return -1;
	}
	if (!process_act_as(process, true)) {
		snprintf(text, size, "cannot act as its user: %s", strerror(errno));
		close(trigger.folder);
		return -1;
	}
	const int sock = ask(process, &trigger, text, size);
	bool good = sock >= 0 && send_all(sock, request, len);
	if (sock >= 0 && !good)
		snprintf(text, size, "the connection to it failed: %s", strerror(errno));
	process_act_as(process, false);
	good = good && receive(sock, watch, context, text, size);
	if (sock >= 0)
		close(sock);
	close(trigger.folder);
	if (!good)
		return -1;
	/* "0\n", or another number, then the text. */
	const bool success = !strncmp(text, "0\n", 2) || !strcmp(text, "0");
	const char *line = strchr(text, '\n');
	memmove(text, line ? line + 1 : "", line ? strlen(line + 1) + 1 : 1);
	if (!success && !*text)
		snprintf(text, size, "the VM refuses it");
	return success ? 0 : -1;
}

/* The file's folder, of the two where it may be; -1 with errno. */
static int trigger_folder(const struct local_process *process, bool working)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/cwd", (int)process->pid);
	return working ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : process_folder(process, "tmp");
}

bool attach_pending(const struct local_process *process)
{
	struct trigger trigger;
	struct stat st;
	bool there = false;
	trigger_name(process, &trigger);
	for (unsigned i = 0; i < 2; i++) {
		trigger.folder = trigger_folder(process, i);
		there |= trigger.folder >= 0 && !fstatat(trigger.folder, trigger.name, &st, AT_SYMLINK_NOFOLLOW);
		if (trigger.folder >= 0)
			close(trigger.folder);
	}
	return there;
}

void attach_forget(const struct local_process *process)
{
	struct trigger trigger;
	trigger_name(process, &trigger);
	for (unsigned i = 0; i < 2; i++) {
		trigger.folder = trigger_folder(process, i);
		if (trigger.folder >= 0 && process_act_as(process, true))
			undo_trigger(&trigger);
		process_act_as(process, false);
		if (trigger.folder >= 0)
			close(trigger.folder);
	}
}
