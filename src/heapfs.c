/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs: mounts a heap dump as a read-only filesystem, or writes files of that without a mount. */
#include "export.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef HAVE_MOUNT
#include "fuse/mount.h"
#include <fuse_lowlevel.h>
#define CANNOT_MOUNT_HELP
#else
#define CANNOT_MOUNT_HELP "\nThis one was built without libfuse (--disable-mount) and cannot mount.\n"
#endif

#define EXIT_USAGE 2

static void print_help(FILE *out)
{
	fputs("usage: heapfs [options] DUMP MOUNTPOINT\n"
	      "       heapfs [options] --export PATH DUMP\n"
	      "       heapfs [options] --export-all DIR DUMP\n"
	      "\n"
	      "Mounts a Java or Android heap dump as read-only files: HPROF, plain or gzipped, or\n"
	      "in a Perfetto trace; or a native memory profile (LoliProfiler's .loli). README.txt in\n"
	      "the mount tells what is where. To unmount: fusermount3 -u MOUNTPOINT\n"
	      "With --export or --export-all it mounts nothing, and writes what the mount would show.\n"
	      "\n"
	      "  -h, --help             this text\n"
	      "  -V, --version          versions of heapfs and libfuse\n"
	      "      --export PATH      write this file to standard output, like classes.tsv or\n"
	      "                         objects/0x12c2f1d0/object.txt; of a folder, the names in it\n"
	      "      --export-all DIR   write all tables, texts and pictures into a folder, new or empty\n"
	      "  -f                     stay in the foreground\n"
	      "  -d                     foreground, and print every request\n"
	      "  -s                     answer requests one after another\n"
	      "      --strict           refuse a dump that is damaged or cut\n"
	      "  -o dump=N              only the file's Nth heap dump\n"
	      "  -o pid=N               of a trace, only the dump of this process\n"
	      "  -o tmpdir=DIR          where to unpack to ($TMPDIR, /var/tmp)\n"
	      "  -o unpacked=FILE       keep what a gzip file unpacks to, and use it again\n"
	      "  -o mapping=FILE        names as before R8 or ProGuard, from its mapping file\n"
	      "  -o pixels=PATH         pictures of Bitmaps from elsewhere: a Perfetto trace, a folder of\n"
	      "                         <pointer>.png, or of am dumpbitmaps; may be given more than once\n"
	      "  -o pixels=none         not those in the folder DUMP.bitmaps\n"
	      "  -o png_level=1..9      compress pictures made from raw pixels\n"
	      "  -o links=no            leave out all links\n"
	      "  -o readdirplus=yes|auto|no   attributes with each listing (yes)\n"
	      "  -o graph_memory=SIZE   of memory that graph/ takes before it uses temporary files:\n"
	      "                         bytes, or with K, M or G (a quarter of what is free)\n"
	      "  -o dominators=large|all   what graph/dominators/ shows (large)\n"
	      "  -o time=T0..T1         of a profile, what was allocated from T0 to T1 ms\n"
	      "  -o symbols=PATH        of a profile, fill in names: what nm -nC prints, a library, or a\n"
	      "                         folder <abi>/lib*.so; may be given more than once\n"
	      "  -o so_base=containing  of a profile made before LoliProfiler v1.1.6: its addresses\n"
	      "                         are relative to the mapping that holds them\n"
	      "  -o baseline=FILE       an earlier dump, or profile: diff/ shows what has changed since\n"
	      "  -o baseline_dump=N     that file's Nth heap dump\n"
	      "  -o baseline_mapping=FILE   that file's mapping file (that of mapping=)\n"
	      "  -o baseline_time=T     of a profile: diff/ shows what has changed since T ms\n"
	      "  -o skip_root_levels=N  leave out so many levels of a profile's stacks in diff/report.txt\n"
	      "  -o uid=N, -o gid=N     owner and group (those of the dump)\n"
	      "  -o max_threads=N       threads that answer requests (as many as cores)\n"
	      "  -o clone_fd            a channel to the kernel for each thread\n"
	      "  -o allow_other         let other users see the mount\n"
	      "\n"
	      "Options of mount(8) and fuse(8) work too. See heapfs(1).\n"
	      CANNOT_MOUNT_HELP,
	      out);
}

/* The file and, where there is one, its baseline, as what the tree shows. 0, or -1 when it has been said why not. */
static int open_source(struct opened *opened, struct opened *baseline, struct settings *settings, struct tree_source *source)
{
	if (opened_open_both(opened, &settings->open, baseline, &settings->baseline))
		return -1;
	*source = (struct tree_source){ .in = &opened->container.in, .container = opened->container.description,
					.notes = &opened->container.notes, .live_notes = &opened->elsewhere.notes,
					.profile = opened->container.loli ? &opened->profile : NULL };
	if (settings->tree.since_given && !source->profile) {
		fprintf(stderr, "heapfs: %s: baseline_time= is for native profiles (.loli), and this is a heap dump\n",
			settings->open.path);
		return -1;
	}
	source->baseline_notes = &baseline->container.notes;
	source->baseline = baseline->heaps;
	source->baseline_profile = baseline->container.loli ? &baseline->profile : NULL;
	return 0;
}

/* Writes what was asked for, without a mount. */
static int export_dump(const struct options *options)
{
	struct settings settings;
	struct opened opened = { .heap_count = 0 }, baseline = { .heap_count = 0 };
	struct tree_source source;
	int rc = -1;
	if (options_settings(options, &settings))
		return EXIT_USAGE;
	if (!open_source(&opened, &baseline, &settings, &source)) {
		struct exporter exporter = { .in = &opened.container.in, .dump = options->dump,
					     .progress = isatty(STDERR_FILENO) };
		exporter.tree = tree_open(&source, opened.heaps, opened.heap_count, &settings.tree);
		if (!exporter.tree)
			fprintf(stderr, "heapfs: %s\n", strerror(ENOMEM));
		else if (options->export_all)
			rc = export_all(&exporter, options->export_all);
		else
			rc = export_path(&exporter, options->export, STDOUT_FILENO, "standard output");
		if (exporter.tree)
			tree_close(exporter.tree);
		/* Some file systems say only now that the disk is full. */
		if (!rc && options->export && close(STDOUT_FILENO)) {
			fprintf(stderr, "heapfs: standard output: %s\n", strerror(errno));
			rc = -1;
		}
	}
	opened_close(&baseline);
	opened_close(&opened);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

#ifdef HAVE_MOUNT

/* What mount(8) and /proc/mounts show, then the user's own, which come later and win. */
static int add_mount_options(struct fuse_args *args, const struct options *options)
{
	char *joined = NULL;
	char *source = NULL;
	char *most = NULL;
	int rc = asprintf(&source, "fsname=%s", options->dump) < 0 || asprintf(&most, "max_read=%d", READ_MOST) < 0 ||
		 fuse_opt_add_opt(&joined, "ro,default_permissions,subtype=heapfs") || fuse_opt_add_opt(&joined, most) ||
		 fuse_opt_add_opt_escaped(&joined, source) || fuse_opt_add_arg(args, "heapfs") ||
		 fuse_opt_add_arg(args, "-o") || fuse_opt_add_arg(args, joined);
	for (size_t i = 0; i < options->rest_count && !rc; i++)
		rc = fuse_opt_add_arg(args, options->rest[i]);
	free(source);
	free(most);
	free(joined);
	return rc ? -1 : 0;
}

static int mount_dump(const struct options *options)
{
	char error[PATH_MAX + 512];
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct served served = { .tree = NULL };
	struct settings settings;
	struct mount_point point;
	struct opened opened = { .heap_count = 0 }, baseline = { .heap_count = 0 };
	struct tree_source source;
	struct mount_options mount_options = {
		.foreground = options->foreground || options->debug, .single_thread = options->single_thread,
		.clone_fd = options->clone_fd, .requests = &served.requests,
	};
	int status = EXIT_USAGE;
	if (options_settings(options, &settings) || add_mount_options(&args, options))
		goto out;
	mount_options.max_threads = settings.max_threads;
	served.readdirplus = (enum readdirplus)settings.readdirplus;
	requests_init(&served.requests);
	settings.tree.graph.changed = requests_retry;
	settings.tree.graph.context = &served.requests;
	/* Only checks options so far; libfuse prints which it does not know. */
	struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, &served);
	if (!session) {
		fputs("heapfs: see heapfs --help\n", stderr);
		goto out_requests;
	}
	status = EXIT_FAILURE;
	if (mount_point_open(&point, options->mount_point, error, sizeof error)) {
		fprintf(stderr, "heapfs: %s\n", error);
		goto out_session;
	}
	if (!open_source(&opened, &baseline, &settings, &source)) {
		served.in = &opened.container.in;
		served.tree = tree_open(&source, opened.heaps, opened.heap_count, &settings.tree);
		if (served.tree) {
			status = mount_serve(session, &point, &mount_options);
			tree_close(served.tree);
		} else {
			fprintf(stderr, "heapfs: %s\n", strerror(ENOMEM));
		}
	}
	opened_close(&baseline);
	opened_close(&opened);
	mount_point_close(&point);
out_session:
	fuse_session_destroy(session);
out_requests:
	requests_destroy(&served.requests);
out:
	fuse_opt_free_args(&args);
	return status;
}

static void print_version(void)
{
	printf("heapfs %s, libfuse %s\n", PACKAGE_VERSION, fuse_pkgversion());
}

#else

static int mount_dump(const struct options *options)
{
	fprintf(stderr, "heapfs: %s: cannot mount it: this heapfs was built without libfuse (--disable-mount); use --export or "
			"--export-all\n", options->dump);
	return EXIT_FAILURE;
}

static void print_version(void)
{
	printf("heapfs %s, without libfuse\n", PACKAGE_VERSION);
}

#endif

/* What is wrong with the arguments, or NULL. */
static const char *misused(const struct options *options)
{
	const bool exports = options->export || options->export_all;
	if (!options->dump)
		return exports ? "of which dump?" : "which dump, and where to mount it?";
	if (options->export && options->export_all)
		return "--export and --export-all are two things to do; give one of them";
	if (options->extra || (exports && options->mount_point))
		return "too many arguments";
	return exports || options->mount_point ? NULL : "where to mount it?";
}

int main(int argc, char **argv)
{
	struct options options;
	int status = EXIT_USAGE;
#ifdef __GLIBC__
	/* What is large goes back when it is freed. glibc's own threshold rises with what was freed before, and what tables
	   take while they are made then stays in the process for good. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
	guard_standard_descriptors();
	const int parsed = options_parse(&options, argc, argv);
	const char *wrong = misused(&options);
	if (parsed) {
		fputs("heapfs: see heapfs --help\n", stderr);
	} else if (options.help) {
		print_help(stdout);
		status = EXIT_SUCCESS;
	} else if (options.version) {
		print_version();
		status = EXIT_SUCCESS;
	} else if (wrong) {
		fprintf(stderr, "heapfs: %s; see heapfs --help\n", wrong);
	} else if (!options.export && !options.export_all) {
		status = mount_dump(&options);
	} else if (options.mounting) {
		fprintf(stderr, "heapfs: %s: not an option of --export, or only for mounting; see heapfs --help\n",
			options.mounting);
	} else {
		status = export_dump(&options);
	}
	options_free(&options);
	return status;
}
