/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward: a port of this machine that the adb server forwards to something on a device, and no longer once this ends.
 *
 * The port is chosen here, not by the server (tcp:0): what is to be undone must be known before it is there, since a
 * signal may come before the server has answered.
 */
#ifndef HEAPFS_FORWARD_H
#define HEAPFS_FORWARD_H

#include "capture/adb.h"

struct forward {
	const struct adb *adb;
	unsigned port;		/* on 127.0.0.1 */
	int undo;
};

/*
 * To "jdwp:PID" or "tcp:PORT" of the device. Whether there is anything is only known when somebody connects. 0, or -1
 * after a message; the struct must stay where it is until forward_close().
 */
int forward_open(struct forward *forward, const struct adb *adb, const char *to);
void forward_close(struct forward *forward);

#endif
