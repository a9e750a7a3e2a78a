/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process: what /proc says about a process of this machine, also of another user's or in a container: whose it is, what it
 * is called inside, where its files are. Files in a container are reached through /proc/PID/root, from which no link of the
 * container's leads out (openat2, RESOLVE_IN_ROOT).
 */
#ifndef HEAPFS_PROCESS_H
#define HEAPFS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct local_process {
	pid_t pid;
	pid_t inner;		/* its id in its own namespace of processes */
	uid_t uid;		/* effective ones */
	gid_t gid;
	char name[64];		/* of its program */
	bool foreign;		/* it sees other files than we do, or calls itself otherwise */
	bool catches_quit;	/* SIGQUIT does not end it */
	bool hotspot, openj9;	/* which VM is among its mappings */
	int root;		/* its root folder: a descriptor of O_PATH, or -1 */
};

/* 0, or -1 after a message that says what is missing. To be closed in both cases. */
int process_open(struct local_process *process, const char *pid);
void process_close(struct local_process *process);

/* A folder as the process sees it, as a descriptor of O_PATH; -1 with errno. */
int process_folder(const struct local_process *process, const char *path);

/*
 * Takes on the rights of the process's user for what follows, where we are root and it is not, and with `false` gives them
 * back. One of them must follow the other. False if it cannot be.
 */
bool process_act_as(const struct local_process *process, bool as);

/* Can its user make files in a folder of ours? */
bool process_may_write(const struct local_process *process, const char *folder);

#endif
