/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/process.h"
#include "capture/say.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/* Of "Uid:", "Gid:", "NSpid:", "SigCgt:" see proc(5). Without NSpid (Linux before 4.1) it has one id only. */
static bool read_status(struct local_process *process)
{
	FILE *file = open_proc(process->pid, "status");
	char line[512];
	if (!file)
		return false;
	process->inner = process->pid;
	while (fgets(line, sizeof line, file)) {
		unsigned real, effective;
		uint64_t caught;
		if (sscanf(line, "Uid: %u %u", &real, &effective) == 2)
			process->uid = effective;
		else if (sscanf(line, "Gid: %u %u", &real, &effective) == 2)
			process->gid = effective;
		else if (sscanf(line, "SigCgt: %" SCNx64, &caught) == 1)
			process->catches_quit = caught >> (SIGQUIT - 1) & 1;
		else if (sscanf(line, "Name: %63[^\n]", process->name) == 1)
			continue;
		else if (!strncmp(line, "NSpid:", 6) && strrchr(line, '\t'))
			process->inner = (pid_t)strtol(strrchr(line, '\t'), NULL, 10);
	}
	fclose(file);
	return true;
}

static bool read_maps(struct local_process *process)
{
	FILE *file = open_proc(process->pid, "maps");
	char *line = NULL;
	size_t size = 0;
	if (!file)
		return false;
	while (getline(&line, &size, file) > 0) {
		process->hotspot |= strstr(line, "/libjvm.so") != NULL;
		process->openj9 |= strstr(line, "/libj9vm") != NULL;
	}
	const bool good = !ferror(file);
	free(line);
	fclose(file);
	return good;
}

/* The same folder is not enough: something else may be mounted below it. */
static bool same_files(const struct local_process *process)
{
	char theirs[64];
	struct stat a, b;
	snprintf(theirs, sizeof theirs, "/proc/%d/ns/mnt", (int)process->pid);
	if (stat(theirs, &a) || stat("/proc/self/ns/mnt", &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return false;
	return !fstat(process->root, &a) && !stat("/", &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void say_whose(const struct local_process *process)
{
	const struct passwd *user = getpwuid(process->uid);
	char number[24];
	snprintf(number, sizeof number, "%u", (unsigned)process->uid);
	if (process->uid != geteuid() && geteuid())
		say("process %d (%s) is of user %s; run heapfs-capture as that user, or as root", (int)process->pid, process->name,
		    user ? user->pw_name : number);
	else
		say("process %d (%s): the system does not let us look at it; a process in another container needs CAP_SYS_PTRACE, "
		    "and is best captured from the host", (int)process->pid, process->name);
}

int process_open(struct local_process *process, const char *pid)
{
	char *end, path[64];
	errno = 0;
	const long number = strtol(pid, &end, 10);
	*process = (struct local_process){ .root = -1 };
	if (*pid < '0' || *pid > '9' || *end || errno || number < 1 || number > INT32_MAX) {
		say("--jvm %s: must be the id of a process, as ps and jps print it", pid);
		return -1;
	}
	process->pid = (pid_t)number;
	if (!read_status(process)) {
		say("there is no process %ld", number);
		return -1;
	}
	snprintf(path, sizeof path, "/proc/%ld/root", number);
	process->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process->root < 0 || !read_maps(process)) {
		say_whose(process);
		return -1;
	}
	process->foreign = process->inner != process->pid || !same_files(process);
	return 0;
}

void process_close(struct local_process *process)
{
	if (process->root >= 0)
		close(process->root);
	process->root = -1;
}

int process_folder(const struct local_process *process, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	return (int)syscall(SYS_openat2, process->root, path, &how, sizeof how);
}

bool process_act_as(const struct local_process *process, bool as)
{
	if (getuid() || process->uid == getuid())
		return true;
	if (!as) /* the user first: only root may change its group to any other */
		return !seteuid(0) && !setegid(getgid());
	return !setegid(process->gid) && !seteuid(process->uid);
}

bool process_may_write(const struct local_process *process, const char *folder)
{
	int status = 1;
	if (process->uid == geteuid())
		return true;
	const pid_t child = fork();
	if (!child)
		_exit(setgroups(0, NULL) || setgid(process->gid) || setuid(process->uid) || access(folder, W_OK | X_OK));
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}
