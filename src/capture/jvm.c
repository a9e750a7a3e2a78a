/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap dumps of Java VMs on this machine: by the system's jcmd, or where none reaches, by what jcmd says to the VM.
 *
 * It is the VM that writes the file, with its own rights and as it sees the filesystem. So it is given a new folder of its
 * own, of its user: beside the wanted file where that user may write there and it sees the same files as we do; else in
 * its /tmp. Out of a folder that another user could change meanwhile, nothing is taken but a plain file of that user, by
 * a descriptor, and it is copied.
 */
#include "capture/attach.h"
#include "capture/capture.h"
#include "capture/clock.h"
#include "capture/mounting.h"
#include "capture/process.h"
#include "capture/run.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "capture/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define DUMP "dump.hprof"
#define JCMD "jcmd"

struct jvm {
	const struct capture_options *options;
	struct local_process process;
	int parent, folder;	/* descriptors: the folder that the VM writes to, and the one that holds it */
	char name[NAME_MAX + 1]; /* of the folder */
	char *seen;		/* the dump's path as the VM sees it */
	bool shared;		/* another user could change it meanwhile */
	int undo;
	uint64_t size;		/* of the dump so far */
	int64_t grown;		/* when it was seen to grow last */
};

/* --- the folder that the VM writes to --- */

/*
 * By the descriptor, since something else may be mounted at its name or have it meanwhile, and with no more rights than its
 * user has: that is whose place this is.
 */
static void undo_folder(void *context)
{
	struct jvm *jvm = context;
	const bool acting = process_act_as(&jvm->process, true);
	const int fd = acting && jvm->folder >= 0 ? openat(jvm->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *entry; list && (entry = readdir(list));)
		unlinkat(dirfd(list), entry->d_name, 0); /* also parts of a dump, which newer VMs write with threads */
	if (list)
		closedir(list);
	if (acting)
		unlinkat(jvm->parent, jvm->name, AT_REMOVEDIR);
	process_act_as(&jvm->process, false);
}

/* As the VM's user: so it is that user's, and whatever the user puts in its place we get no further than that user. */
static int make_folder(struct jvm *jvm, const char *prefix)
{
	uint32_t number = 0;
	jvm->undo = undo_add(undo_folder, jvm);
	for (unsigned i = 0; jvm->undo >= 0 && i < 10; i++) {
		if (getrandom(&number, sizeof number, 0) < 0)
			break;
		snprintf(jvm->name, sizeof jvm->name, "%.200s.%08" PRIx32, prefix, number);
		const bool made = process_act_as(&jvm->process, true) && !mkdirat(jvm->parent, jvm->name, 0700);
		if (made)
			jvm->folder = openat(jvm->parent, jvm->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		const int error = errno;
		process_act_as(&jvm->process, false);
		if (jvm->folder >= 0)
			return 0;
		if (made)
			undo_now(jvm->undo);
		errno = error;
		if (made || error != EEXIST)
			break;
	}
	undo_forget(jvm->undo);
	jvm->undo = -1;
	return -1;
}

static int place_folder(struct jvm *jvm)
{
	char *output = strdup(jvm->options->output), *base = strdup(jvm->options->output);
	char *beside = output ? realpath(dirname(output), NULL) : NULL;
	int rc = -1;
	if (!beside || !base) {
		say("%s: %s", jvm->options->output, strerror(errno));
	} else if (access(beside, W_OK | X_OK)) {
		say("%s: cannot be written: %s", jvm->options->output, strerror(errno));
	} else {
		const bool near = !jvm->process.foreign && process_may_write(&jvm->process, beside);
		jvm->shared = !near || jvm->process.uid != geteuid();
		jvm->parent = near ? open(beside, O_PATH | O_DIRECTORY | O_CLOEXEC) : process_folder(&jvm->process, "tmp");
		if (jvm->parent < 0 || make_folder(jvm, near ? basename(base) : "heapfs-capture"))
			say("process %d (%s) needs a folder that it can write to, but %s of it cannot be used: %s",
			    (int)jvm->process.pid, jvm->process.name, near ? beside : "/tmp", strerror(errno));
		else if (asprintf(&jvm->seen, "%s/%s/" DUMP, near ? beside : "/tmp", jvm->name) < 0)
			jvm->seen = NULL;
		else
			rc = 0;
	}
	free(beside);
	free(base);
	free(output);
	return rc;
}

/* --- who asks the VM --- */

static bool is_program(const char *path)
{
	return !access(path, X_OK);
}

/* jcmd takes a line apart at blanks and quotes, and a VM of Java 24 or later puts its id in for %p. */
static bool jcmd_takes(const char *path)
{
	for (; *path; path++)
		if ((unsigned char)*path <= ' ' || strchr("'\"%,=", *path))
			return false;
	return true;
}

/* To be freed; NULL where there is none. */
static char *find_jcmd(const struct local_process *process)
{
	char *path = NULL, exe[64], real[PATH_MAX];
	const char *home = getenv("JAVA_HOME");
	if (home && *home) {
		if (asprintf(&path, "%s/bin/" JCMD, home) >= 0 && is_program(path))
			return path;
		free(path);
	}
	const char *list = getenv("PATH");
	for (const char *p = list ? list : ""; *p; p += *p == ':') {
		const size_t len = strcspn(p, ":");
		if (asprintf(&path, "%.*s/" JCMD, len ? (int)len : 1, len ? p : ".") >= 0) {
			if (is_program(path))
				return path;
			free(path);
		}
		p += len;
	}
	/* Beside the VM's own program; of JDK 8's bin/java, jre/bin/java may be what runs. */
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)process->pid);
	const ssize_t got = readlink(exe, real, sizeof real - 1);
	if (got <= 0)
		return NULL;
	real[got] = '\0';
	const char *folder = dirname(real);
	static const char *const ways[] = { "", "/../../bin" };
	for (unsigned i = 0; i < 2; i++) {
		if (asprintf(&path, "%s%s/" JCMD, folder, ways[i]) < 0)
			return NULL;
		if (is_program(path))
			return path;
		free(path);
	}
	return NULL;
}

static bool watch_dump(void *context, const char *data, size_t len)
{
	struct jvm *jvm = context;
	struct stat st;
	(void)data;
	(void)len;
	if (!fstatat(jvm->folder, DUMP, &st, AT_SYMLINK_NOFOLLOW) && (uint64_t)st.st_size > jvm->size) {
		jvm->size = (uint64_t)st.st_size;
		jvm->grown = clock_ms();
		step_at(jvm->size, 0);
	}
	return clock_ms() - jvm->grown < (int64_t)jvm->options->timeout * 1000;
}

/* What jcmd and VMs print is several lines; the first tells most that is not jcmd's "1234:", nor what it is about to do. */
static const char *telling_line(char *text, char *line, size_t size)
{
	*line = '\0';
	for (char *rest = text, *p; rest && (p = strsep(&rest, "\r\n"));) {
		const size_t digits = strspn(p, "0123456789");
		if (!*p || (digits && !strcmp(p + digits, ":")))
			continue;
		snprintf(line, size, "%s", p);
		if (strncmp(p, "Dumping heap to ", 16))
			break;
	}
	return line;
}

static int fail(const struct jvm *jvm, const char *by, const char *why)
{
	const bool unknown = strstr(why, "gz=") || strstr(why, "-gz");
	say("process %d (%s): no dump%s: %s%s", (int)jvm->process.pid, jvm->process.name, by, why,
	    unknown && jvm->options->gz ? "; --gz needs a VM of Java 15 or later" : "");
	return -1;
}

static int ask_by_jcmd(struct jvm *jvm, const char *jcmd)
{
	char pid[24], user[40], group[40], reason[512], *path = NULL;
	const char *argv[20], *list = getenv("PATH");
	unsigned count = 0;
	const bool pending = attach_pending(&jvm->process);
	snprintf(pid, sizeof pid, "%d", (int)jvm->process.pid);
	if (jvm->process.uid != geteuid()) {
		/* It may be the other user's own program, so no rights of ours are left to it, nor what our environment tells. */
		if (list && asprintf(&path, "PATH=%s", list) < 0)
			path = NULL;
		argv[count++] = "env";
		argv[count++] = "-i";
		if (path)
			argv[count++] = path;
		snprintf(user, sizeof user, "--reuid=%u", (unsigned)jvm->process.uid);
		snprintf(group, sizeof group, "--regid=%u", (unsigned)jvm->process.gid);
		argv[count++] = "setpriv";
		argv[count++] = user;
		argv[count++] = group;
		argv[count++] = "--clear-groups";
		argv[count++] = "--";
	}
	argv[count++] = jcmd;
	argv[count++] = pid;
	argv[count++] = "GC.heap_dump";
	if (jvm->options->all)
		argv[count++] = "-all";
	if (jvm->options->gz)
		argv[count++] = "-gz=1";
	argv[count++] = jvm->seen;
	argv[count] = NULL;
	const struct run run = { .argv = argv, .watch = watch_dump, .context = jvm };
	struct output output;
	const int rc = run_program(&run, &output);
	int result = -1;
	if (output.end != RUN_EXITED && !pending) /* jcmd takes its file away itself, but not when it is ended */
		attach_forget(&jvm->process);
	if (output.end != RUN_EXITED)
		fail(jvm, " by jcmd", run_reason(&output, reason, sizeof reason));
	else if (!rc && output.data && strstr(output.data, "Heap dump file created"))
		result = 0; /* jcmd exits with 0 also when the VM could not write it */
	else
		fail(jvm, " by jcmd", output.data && *telling_line(output.data, reason, sizeof reason) ? reason :
		     run_reason(&output, reason, sizeof reason));
	output_free(&output);
	free(path);
	return result;
}

static int ask_ourselves(struct jvm *jvm)
{
	char text[4096], line[512];
	/* The third argument is the level of gzip; VMs before Java 15 pass over it, so what they wrote is looked at. */
	const char *const arguments[3] = { jvm->seen, jvm->options->all ? "-all" : "-live", jvm->options->gz ? "1" : "" };
	if (!attach_command(&jvm->process, "dumpheap", arguments, watch_dump, jvm, text, sizeof text))
		return 0;
	return fail(jvm, "", telling_line(text, line, sizeof line));
}

/* setpriv gives up all rights of ours; without it the VM is asked without jcmd. */
static bool has_setpriv(void)
{
	static const char *const argv[] = { "setpriv", "--version", NULL };
	const struct run run = { .argv = argv, .timeout = 5000 };
	struct output output;
	const bool there = !run_program(&run, &output);
	output_free(&output);
	return there;
}

/* --- its file --- */

static int copy(int in, const struct temp *temp, uint64_t size)
{
	/* It may lie in a folder of that user's. */
	const int out = open(temp->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	int rc = out < 0 ? -1 : 0;
	char *buffer = malloc(1 << 20);
	step("copying the dump");
	for (uint64_t done = 0; !rc && buffer && done < size;) { /* no more, however it grows */
		const ssize_t got = read(in, buffer, size - done < 1 << 20 ? (size_t)(size - done) : 1 << 20);
		if (stop_signal())
			break;
		if (!got) { /* it was cut meanwhile */
			errno = EIO;
			rc = -1;
		}
		for (ssize_t at = 0; got > 0 && at < got && !rc;) {
			const ssize_t written = write(out, buffer + at, (size_t)(got - at));
			if (written <= 0 && errno != EINTR)
				rc = -1;
			at += written > 0 ? written : 0;
		}
		if (got < 0)
			rc = -1;
		done += (uint64_t)(got > 0 ? got : 0);
		step_at(done, size);
	}
	const int error = errno;
	if (out >= 0 && close(out) && !rc)
		rc = -1;
	else
		errno = error;
	if (rc || !buffer)
		say("%s: cannot be written: %s", temp->target, strerror(errno));
	free(buffer);
	return rc || !buffer || stop_signal() ? -1 : 0;
}

/* Opens what the VM wrote, and looks whether it is a dump. */
static int open_dump(struct jvm *jvm, uint64_t *size)
{
	uint8_t head[12] = { 0 };
	struct stat st;
	const bool acting = process_act_as(&jvm->process, true);
	const int fd = acting ? openat(jvm->folder, DUMP, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	const int error = errno;
	process_act_as(&jvm->process, false);
	errno = error;
	if (fd < 0 || fstat(fd, &st)) {
		say("process %d (%s) says that it wrote a dump, but it is not there: %s", (int)jvm->process.pid, jvm->process.name,
		    strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != jvm->process.uid) {
		say("what process %d (%s) wrote is no plain file of its user: it is not taken", (int)jvm->process.pid,
		    jvm->process.name);
	} else if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head ||
		   (memcmp(head, "JAVA PROFILE", 12) && (head[0] != 0x1f || head[1] != 0x8b))) {
		say("what process %d (%s) wrote is no HPROF dump%s", (int)jvm->process.pid, jvm->process.name,
		    jvm->process.openj9 ? ": an OpenJ9 VM writes a format of its own" : "");
	} else if (jvm->options->gz && head[0] != 0x1f) {
		say("process %d (%s) cannot compress its dump, which needs a VM of Java 15 or later; leave out --gz",
		    (int)jvm->process.pid, jvm->process.name);
	} else {
		*size = (uint64_t)st.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int take_dump(struct jvm *jvm)
{
	struct temp temp;
	uint64_t size;
	const int fd = open_dump(jvm, &size);
	if (fd < 0 || temp_open(&temp, jvm->options->output, false)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	int rc = -1;
	if (jvm->shared)
		rc = copy(fd, &temp, size);
	else if ((rc = renameat(jvm->folder, DUMP, AT_FDCWD, temp.path)))
		say("%s: %s", temp.target, strerror(errno));
	rc = rc || temp_keep(&temp) ? -1 : 0;
	temp_done(&temp);
	close(fd);
	return rc;
}

int capture_jvm(const struct capture_options *options)
{
	struct jvm jvm = { .options = options, .parent = -1, .folder = -1, .undo = -1 };
	int rc = -1;
	char *jcmd = NULL;
	if (!options->output) {
		say("where to write to (-o)? See heapfs-capture --help");
		return CAPTURE_USAGE;
	}
	if (temp_absent(options->output) || process_open(&jvm.process, options->jvm))
		goto out;
	if (!jvm.process.hotspot && !jvm.process.openj9) {
		say("process %d (%s) is no Java VM: it has no libjvm.so", (int)jvm.process.pid, jvm.process.name);
		goto out;
	}
	if (place_folder(&jvm))
		goto out;
	/* A jcmd out here may not find one in a container, and it must be the VM's user. */
	if (!jvm.process.foreign && jcmd_takes(jvm.seen) && (jvm.process.uid == geteuid() || has_setpriv()))
		jcmd = find_jcmd(&jvm.process);
	step("dumping process %d (%s)%s", (int)jvm.process.pid, jvm.process.name, options->all ? "" : ", live objects");
	jvm.grown = clock_ms();
	rc = jcmd ? ask_by_jcmd(&jvm, jcmd) : ask_ourselves(&jvm);
	if (!rc)
		rc = take_dump(&jvm);
out:
	step_end();
	undo_now(jvm.undo);
	if (jvm.folder >= 0)
		close(jvm.folder);
	if (jvm.parent >= 0)
		close(jvm.parent);
	free(jvm.seen);
	free(jcmd);
	process_close(&jvm.process);
	if (!rc && options->mount)
		return mount_captured(options->output, options->mount);
	return rc ? CAPTURE_FAILED : CAPTURE_DONE;
}
