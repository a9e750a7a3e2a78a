/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting and closing. */
#include "capture/clock.h"
#include "capture/jdwp_packet.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE "JDWP-Handshake"
#define HANDSHAKE_LEN 14
/* How long VM.Dispose may take at most, and before it a call that is under way. */
#define DISPOSE_MS 2000
#define LAST_CALL_MS 3000

static int connect_socket(struct jdwp *jdwp, unsigned port, int64_t deadline)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int on = 1;
	int error = 0;
	socklen_t len = sizeof error;
	jdwp->fd = port && port <= UINT16_MAX ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	if (jdwp->fd < 0)
		return jdwp_lose(jdwp, JDWP_REFUSED, "no connection to port %u: %s", port,
				 port && port <= UINT16_MAX ? strerror(errno) : "there is no such port");
	/* Commands are short, and each waits for its answer. */
	setsockopt(jdwp->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(jdwp->fd, (const struct sockaddr *)&address, sizeof address)) {
		error = errno;
		if (error == EINPROGRESS || error == EINTR) {
			if (jdwp_wait_or_lose(jdwp, POLLOUT, deadline) < 0)
				return -1;
			if (getsockopt(jdwp->fd, SOL_SOCKET, SO_ERROR, &error, &len))
				error = errno;
		}
	}
	if (error)
		return jdwp_lose(jdwp, JDWP_REFUSED, "no connection to 127.0.0.1:%u: %s", port, strerror(error));
	return 0;
}

/* adb forwards to any process, so that this is where a refusal shows. */
static int shake_hands(struct jdwp *jdwp, unsigned port, int64_t deadline)
{
	uint8_t answer[HANDSHAKE_LEN];
	if (jdwp_write(jdwp, (const uint8_t *)HANDSHAKE, HANDSHAKE_LEN, deadline) ||
	    jdwp_read(jdwp, answer, sizeof answer, deadline)) {
		if (jdwp->lost == JDWP_GONE)
			return jdwp_lose(jdwp, JDWP_REFUSED,
					 "it closed the debugger's connection at once: another debugger is attached to it (Android "
					 "Studio attaches by itself; close it), it is not debuggable, or it has ended");
		if (jdwp->lost == JDWP_SILENT)
			return jdwp_lose(jdwp, JDWP_REFUSED,
					 "it does not answer a debugger: another one may be attached to it (Android Studio attaches by "
					 "itself; close it), or it is frozen in the background (bring it to the front)");
		return -1;
	}
	if (memcmp(answer, HANDSHAKE, HANDSHAKE_LEN))
		return jdwp_lose(jdwp, JDWP_REFUSED, "what answers at 127.0.0.1:%u does not speak JDWP", port);
	return 0;
}

static int ask_sizes(struct jdwp *jdwp, int64_t deadline)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	uint8_t *const sizes[] = { &jdwp->field_size, &jdwp->method_size, &jdwp->object_size, &jdwp->type_size };
	if (jdwp_command_until(jdwp, VM_ID_SIZES, &out, &in, deadline))
		return -1;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const uint32_t size = (uint32_t)jdwp_get(&in, 4);
		if (!in.bad && (!size || size > 8))
			return jdwp_lose(jdwp, JDWP_NONSENSE, "what came is not JDWP: ids of %" PRIu32 " bytes", size);
		*sizes[i] = (uint8_t)size;
	}
	jdwp_get(&in, 4); /* frames */
	return jdwp_check(jdwp, &in);
}

/* A foreign text, for messages. */
static void add_printable(char *to, size_t size, const char *text, uint32_t len)
{
	size_t at = strlen(to);
	for (uint32_t i = 0; i < len && at + 1 < size; i++)
		to[at++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	to[at] = 0;
}

static int ask_version(struct jdwp *jdwp, int64_t deadline)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	uint32_t version_len, name_len;
	if (jdwp_command_until(jdwp, VM_VERSION, &out, &in, deadline))
		return -1;
	jdwp_get_text(&in, &name_len); /* a description of several lines */
	jdwp_get(&in, 8);	       /* the protocol's version */
	const char *version = jdwp_get_text(&in, &version_len);
	const char *name = jdwp_get_text(&in, &name_len);
	if (jdwp_check(jdwp, &in))
		return -1;
	add_printable(jdwp->vm, sizeof jdwp->vm, name, name_len);
	add_printable(jdwp->vm, sizeof jdwp->vm, " ", 1);
	add_printable(jdwp->vm, sizeof jdwp->vm, version, version_len);
	return 0;
}

static int ask_capabilities(struct jdwp *jdwp, int64_t deadline)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	if (jdwp_command_until(jdwp, VM_CAPABILITIES, &out, &in, deadline))
		return jdwp->code ? 0 : -1;
	jdwp_get(&in, 8);
	jdwp_get(&in, 7);
	jdwp->instance_info = jdwp_get(&in, 1); /* canGetInstanceInfo is the sixteenth */
	return jdwp_check(jdwp, &in);
}

int jdwp_connect(struct jdwp *jdwp, unsigned port, unsigned connect_ms, unsigned command_ms, const _Atomic bool *cancel)
{
	const int64_t deadline = clock_ms() + connect_ms;
	*jdwp = (struct jdwp){ .fd = -1, .cancel = cancel, .command_ms = command_ms };
	if (connect_socket(jdwp, port, deadline) || shake_hands(jdwp, port, deadline) || ask_sizes(jdwp, deadline) ||
	    ask_version(jdwp, deadline) || ask_capabilities(jdwp, deadline)) {
		if (!jdwp->lost) /* refused what every VM can do */
			jdwp->lost = JDWP_NONSENSE;
		return -1;
	}
	return 0;
}

static unsigned at_most(const struct jdwp *jdwp, unsigned ms)
{
	return ms < jdwp->command_ms ? ms : jdwp->command_ms;
}

/* The VM closes after its answer: until then nobody else could attach. What comes before that does not matter any more. */
static void dispose(struct jdwp *jdwp)
{
	const struct jdwp_out out = { .len = 0 };
	uint8_t rest[4096];
	jdwp->cancel = NULL;
	/*
	 * A call that is under way should end first: if it does not, libjdwp believes for ever that the thread is busy with
	 * it, and refuses every later debugger's calls there (ALREADY_INVOKING).
	 */
	if (jdwp->lost == JDWP_SILENT || jdwp->lost == JDWP_CANCELLED)
		jdwp_finish_call(jdwp, clock_ms() + at_most(jdwp, LAST_CALL_MS));
	const int64_t deadline = clock_ms() + at_most(jdwp, DISPOSE_MS);
	if (jdwp_send(jdwp, VM_DISPOSE, &out, deadline))
		return;
	while (jdwp_wait(jdwp, POLLIN, deadline) > 0) {
		const ssize_t got = recv(jdwp->fd, rest, sizeof rest, MSG_DONTWAIT);
		if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
			return;
	}
}

void jdwp_close(struct jdwp *jdwp)
{
	const struct jdwp before = *jdwp;
	if (jdwp->fd >= 0 && jdwp->lost != JDWP_REFUSED && jdwp->lost != JDWP_GONE)
		dispose(jdwp);
	if (jdwp->fd >= 0)
		close(jdwp->fd);
	free(jdwp->packet);
	*jdwp = before;
	jdwp->fd = -1;
	jdwp->calling = false;
	jdwp->packet = NULL;
	jdwp->packet_capacity = 0;
	jdwp->event_count = 0;
}
