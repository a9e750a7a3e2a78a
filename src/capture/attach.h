/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach: what jcmd says to a HotSpot VM, for where there is no jcmd, or none that reaches into a container.
 *
 * A file /tmp/.attach_pidN and SIGQUIT make the VM listen at the socket /tmp/.java_pidN (N as it calls itself; OpenJDK's
 * attachListener_posix.cpp and VirtualMachineImpl.java). A client is the VM's user, or with newer ones root. It
 * sends "1", a command and three arguments, each with a NUL behind it; the answer is a number in a line, 0 for success, and
 * text.
 */
#ifndef HEAPFS_ATTACH_H
#define HEAPFS_ATTACH_H

#include "capture/process.h"

/*
 * Has a command carried out. Meanwhile `watch` is called about each 200 ms; false ends it. The text of the answer goes to
 * `text`, NUL-terminated and cut to its size. 0 if the VM says that it succeeded, else -1, and `text` says why.
 */
int attach_command(const struct local_process *process, const char *command, const char *const arguments[3],
		   bool (*watch)(void *context, const char *data, size_t len), void *context, char *text, size_t size);

/*
 * Of jcmd, which makes that file in the VM's working folder, or where it cannot in /tmp: is it there? And away with it, for
 * a jcmd that was ended while it waited.
 */
bool attach_pending(const struct local_process *process);
void attach_forget(const struct local_process *process);

#endif
