/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/forward.h"
#include "capture/say.h"
#include "capture/stop.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Somebody else may take a port between our look and the server's. */
#define TRIES 5

/* A port that nobody listens at; 0 with errno. */
static unsigned free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned port = 0;
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&address, len) && !getsockname(fd, (struct sockaddr *)&address, &len))
		port = ntohs(address.sin_port);
	if (fd >= 0)
		close(fd);
	return port;
}

static void undo_forward(void *context)
{
	const struct forward *forward = context;
	char local[24], reason[64];
	const char *const arguments[] = { "forward", "--remove", local, NULL };
	struct output output;
	snprintf(local, sizeof local, "tcp:%u", forward->port);
	/* That it is not there any more, or not yet, is no failure: the device is gone, or a signal came. */
	if (adb_call(forward->adb, ADB_SOON, arguments, &output) && output.end != RUN_EXITED)
		say("%s: adb forward --remove %s: %s: the port may be forwarded still", forward->adb->serial, local,
		    run_reason(&output, reason, sizeof reason));
	output_free(&output);
}

int forward_open(struct forward *forward, const struct adb *adb, const char *to)
{
	char local[24], reason[512] = "";
	const char *const arguments[] = { "forward", "--no-rebind", local, to, NULL };
	struct output output;
	*forward = (struct forward){ .adb = adb };
	for (unsigned i = 0; i < TRIES && !stop_signal(); i++) {
		forward->port = free_port();
		forward->undo = forward->port ? undo_add(undo_forward, forward) : -1;
		if (forward->undo < 0) {
			snprintf(reason, sizeof reason, "%s", forward->port ? "too much is to be undone" : strerror(errno));
			break;
		}
		snprintf(local, sizeof local, "tcp:%u", forward->port);
		const int rc = adb_call(adb, ADB_SOON, arguments, &output);
		const bool taken = rc && output.end == RUN_EXITED && (strstr(output.data, "cannot rebind") ||
								      strstr(output.data, "in use"));
		if (rc)
			adb_reason(&output, reason, sizeof reason);
		output_free(&output);
		if (!rc)
			return 0;
		/* A forward of somebody else's is not removed. */
		if (taken)
			undo_forget(forward->undo);
		else
			undo_now(forward->undo);
		if (!taken)
			break;
	}
	if (!stop_signal())
		say("%s: adb forward to %s: %s", adb->serial, to, reason);
	return -1;
}

void forward_close(struct forward *forward)
{
	undo_now(forward->undo);
}
