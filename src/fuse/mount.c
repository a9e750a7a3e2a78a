/* SPDX-License-Identifier: Apache-2.0 */
#include "fuse/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int mount_point_open(struct mount_point *point, const char *path, char *error, size_t error_size)
{
	struct stat st;
	*point = (struct mount_point){ NULL, false };
	int problem = stat(path, &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (problem == ENOENT) {
		problem = mkdir(path, 0755) ? errno : 0;
		point->made = !problem;
	} else if (problem == ENOTCONN) {
		snprintf(error, error_size,
			 "%s: a mount whose process is gone is still here; clear it with: fusermount3 -uz %s", path, path);
		return -1;
	}
	/* fusermount3 asks an ordinary user for the same; told now, not after minutes of indexing. */
	if (!problem && geteuid() && access(path, W_OK | X_OK))
		problem = errno;
	if (problem) {
		snprintf(error, error_size, "%s: cannot use it as a mount point: %s", path, strerror(problem));
		if (point->made)
			rmdir(path);
		return -1;
	}
	point->path = realpath(path, NULL);
	if (!point->path) {
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
		return -1;
	}
	return 0;
}

void mount_point_close(struct mount_point *point)
{
	if (point->made && point->path)
		rmdir(point->path);
	free(point->path);
	*point = (struct mount_point){ NULL, false };
}

static int serve_requests(struct fuse_session *session, const struct mount_options *options)
{
	if (options->single_thread)
		return fuse_session_loop(session);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	if (!config)
		return -ENOMEM;
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = options->max_threads;
	if (!threads)
		threads = cores < 2 ? 2 : cores > 16 ? 16 : (unsigned)cores;
	fuse_loop_cfg_set_max_threads(config, threads);
	fuse_loop_cfg_set_clone_fd(config, options->clone_fd);
	const int rc = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return rc;
}

/* Tells the waiting parent how it went, once. */
static void report(int pipe_end, char status)
{
	if (pipe_end < 0)
		return;
	while (write(pipe_end, &status, 1) < 0 && errno == EINTR)
		;
	close(pipe_end);
}

static void leave_terminal(void)
{
	const int null = open("/dev/null", O_RDWR);
	if (null < 0)
		return;
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

static int serve(struct fuse_session *session, struct mount_point *point, const struct mount_options *options,
		 int pipe_end)
{
	int rc = EXIT_FAILURE;
	if (fuse_set_signal_handlers(session))
		goto out;
	/* A server that is just ending may remove the folder, which was its own, any moment until it is mounted on. */
	int failed = -1;
	for (int attempt = 0; attempt < 3 && failed; attempt++) {
		if (!mkdir(point->path, 0755))
			point->made = true;
		failed = fuse_session_mount(session, point->path);
		/* Not looked at once it is mounted: nobody answers yet. */
		if (failed && !access(point->path, F_OK))
			break;
	}
	if (failed) {
		fprintf(stderr, "heapfs: cannot mount on %s%s\n", point->path,
			access("/dev/fuse", F_OK) ? ": there is no /dev/fuse (in a container: --device /dev/fuse "
						    "--cap-add SYS_ADMIN; elsewhere: modprobe fuse)" :
						    "");
		goto out_signals;
	}
	if (pipe_end >= 0) {
		setsid();
		leave_terminal();
		/* Where that fails, the folder we were started in stays busy: no reason to give up. */
		const int moved = chdir("/");
		(void)moved;
		report(pipe_end, 's');
		pipe_end = -1;
	}
	/* A positive result is the signal that ended it: that is how it is told to stop. */
	rc = serve_requests(session, options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	requests_end(options->requests);
	fuse_session_unmount(session);
out_signals:
	fuse_remove_signal_handlers(session);
out:
	mount_point_close(point);
	report(pipe_end, 'f');
	return rc;
}

int mount_serve(struct fuse_session *session, struct mount_point *point, const struct mount_options *options)
{
	int ends[2];
	if (options->foreground)
		return serve(session, point, options, -1);
	if (pipe2(ends, O_CLOEXEC)) {
		fprintf(stderr, "heapfs: %s\n", strerror(errno));
		mount_point_close(point);
		return EXIT_FAILURE;
	}
	const pid_t child = fork();
	if (child < 0) {
		fprintf(stderr, "heapfs: %s\n", strerror(errno));
		mount_point_close(point);
		return EXIT_FAILURE;
	}
	if (child == 0) {
		close(ends[0]);
		return serve(session, point, options, ends[1]);
	}
	close(ends[1]);
	char status = 'f'; /* what a closed pipe means */
	while (read(ends[0], &status, 1) < 0 && errno == EINTR)
		;
	close(ends[0]);
	if (status != 's')
		waitpid(child, NULL, 0);
	point->made = false; /* the child's to remove */
	return status == 's' ? EXIT_SUCCESS : EXIT_FAILURE;
}
