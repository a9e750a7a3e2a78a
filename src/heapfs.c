/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs: mounts a heap dump as a read-only filesystem. */
#include "fuse/mount.h"
#include "input/container.h"
#include "loli/loli.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXIT_USAGE 2

struct options {
	const char *dump, *mount_point;
	int help, version, strict, debug, foreground, single_thread, clone_fd, allow_other;
	char *dump_number, *pid, *tmpdir, *unpacked, *mapping, *max_threads, *png_level, *uid, *gid, *links, *readdirplus,
		*graph_memory, *dominators, *time, *so_base; /* as given, or NULL */
	char **symbols;		/* paths */
	size_t symbol_count;
	int extra;		/* arguments too many */
};

#define OPTION(template, member) { template, offsetof(struct options, member), 1 }
/* FUSE_OPT_KEY, in a way that clang's -Wconversion takes. */
#define KEY(template, key) { template, UINT32_MAX, key }
/* fstab's words for mount(8), which libfuse does not know. */
#define IGNORED(word) KEY(word, KEY_IGNORED)
enum { KEY_IGNORED = 1, KEY_SYMBOLS };

static const struct fuse_opt option_table[] = {
	OPTION("-h", help),
	OPTION("--help", help),
	OPTION("-V", version),
	OPTION("--version", version),
	OPTION("-f", foreground),
	OPTION("-s", single_thread),
	OPTION("-d", debug),
	OPTION("debug", debug),
	KEY("-d", FUSE_OPT_KEY_KEEP),
	KEY("debug", FUSE_OPT_KEY_KEEP),
	OPTION("--strict", strict),
	OPTION("strict", strict),
	OPTION("clone_fd", clone_fd),
	OPTION("allow_other", allow_other),
	KEY("allow_other", FUSE_OPT_KEY_KEEP),
	OPTION("dump=%s", dump_number),
	OPTION("mapping=%s", mapping),
	OPTION("pid=%s", pid),
	OPTION("tmpdir=%s", tmpdir),
	OPTION("unpacked=%s", unpacked),
	OPTION("max_threads=%s", max_threads),
	OPTION("png_level=%s", png_level),
	OPTION("uid=%s", uid),
	OPTION("gid=%s", gid),
	OPTION("links=%s", links),
	OPTION("readdirplus=%s", readdirplus),
	OPTION("graph_memory=%s", graph_memory),
	OPTION("dominators=%s", dominators),
	OPTION("time=%s", time),
	OPTION("so_base=%s", so_base),
	KEY("symbols=", KEY_SYMBOLS),
	IGNORED("max_read="), /* ours is set */
	IGNORED("rw"),
	IGNORED("auto"),
	IGNORED("noauto"),
	IGNORED("defaults"),
	IGNORED("user"),
	IGNORED("nouser"),
	IGNORED("users"),
	IGNORED("owner"),
	IGNORED("group"),
	IGNORED("nofail"),
	IGNORED("nonempty"),
	IGNORED("_netdev"),
	FUSE_OPT_END
};

static int on_argument(void *data, const char *arg, int key, struct fuse_args *args)
{
	struct options *options = data;
	(void)args;
	if (key == KEY_IGNORED || (key == FUSE_OPT_KEY_OPT && (!strncmp(arg, "x-", 2) || !strncmp(arg, "comment=", 8) ||
							       !strncmp(arg, "user=", 5))))
		return 0;
	if (key == KEY_SYMBOLS) {
		char **grown = reallocarray(options->symbols, options->symbol_count + 1, sizeof *grown);
		if (!grown)
			return -1;
		options->symbols = grown;
		grown[options->symbol_count] = strdup(arg + strlen("symbols="));
		return grown[options->symbol_count++] ? 0 : -1;
	}
	if (key != FUSE_OPT_KEY_NONOPT)
		return 1;
	if (!options->dump)
		options->dump = strdup(arg);
	else if (!options->mount_point)
		options->mount_point = strdup(arg);
	else
		options->extra++;
	return 0;
}

static void print_help(FILE *out)
{
	fputs("usage: heapfs [options] DUMP MOUNTPOINT\n"
	      "\n"
	      "Mounts a Java or Android heap dump as read-only files: HPROF, plain or gzipped, or\n"
	      "in a Perfetto trace; or a native memory profile (LoliProfiler's .loli). README.txt in\n"
	      "the mount tells what is where. To unmount: fusermount3 -u MOUNTPOINT\n"
	      "\n"
	      "  -h, --help             this text\n"
	      "  -V, --version          versions of heapfs and libfuse\n"
	      "  -f                     stay in the foreground\n"
	      "  -d                     foreground, and print every request\n"
	      "  -s                     answer requests one after another\n"
	      "      --strict           refuse a dump that is damaged or cut\n"
	      "  -o dump=N              mount only the file's Nth heap dump\n"
	      "  -o pid=N               of a trace, mount only the dump of this process\n"
	      "  -o tmpdir=DIR          where to unpack to ($TMPDIR, /var/tmp)\n"
	      "  -o unpacked=FILE       keep what a gzip file unpacks to, and use it again\n"
	      "  -o mapping=FILE        names as before R8 or ProGuard, from its mapping file\n"
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
	      "  -o uid=N, -o gid=N     owner and group (those of the dump)\n"
	      "  -o max_threads=N       threads that answer requests (as many as cores)\n"
	      "  -o clone_fd            a channel to the kernel for each thread\n"
	      "  -o allow_other         let other users see the mount\n"
	      "\n"
	      "Options of mount(8) and fuse(8) work too. See heapfs(1).\n",
	      out);
}

/* Descriptors 0 to 2 must be taken, or the dump gets one and messages go into it. */
static void guard_standard_descriptors(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

static unsigned core_count(void)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	return cores < 1 ? 1 : (unsigned)cores;
}

/* What the values of options mean. */
struct settings {
	unsigned dump, pid;	/* dump 0: all; pid counts where it was given */
	struct tree_options tree;
	enum readdirplus readdirplus;
	struct mount_options mount;
	struct loli_options loli;
};

/* A decimal number from `least` to `most`; 0 where the option was not given. */
static int parse_number(const char *name, const char *value, unsigned least, unsigned most, unsigned *number)
{
	char *end;
	*number = 0;
	if (!value)
		return 0;
	errno = 0;
	const unsigned long parsed = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || parsed > most || parsed < least) {
		fprintf(stderr, "heapfs: %s=%s: must be a number, at least %u", name, value, least);
		fprintf(stderr, most == UINT32_MAX ? "\n" : " and at most %u\n", most);
		return -1;
	}
	*number = (unsigned)parsed;
	return 0;
}

/* Bytes, with K, M or G behind them; 0 where the option was not given. */
static int parse_size(const char *name, const char *value, uint64_t *size)
{
	static const char units[] = "KMG";
	char *end;
	*size = 0;
	if (!value)
		return 0;
	errno = 0;
	const unsigned long long number = strtoull(value, &end, 10);
	const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
	const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	if (*value >= '0' && *value <= '9' && !errno && number && number <= UINT64_MAX >> shift && !end[unit != NULL]) {
		*size = (uint64_t)number << shift;
		return 0;
	}
	fprintf(stderr, "heapfs: %s=%s: must be a size, like 500M\n", name, value);
	return -1;
}

/* Which of `words` the value is, the first where the option was not given. */
static int parse_word(const char *name, const char *value, const char *const *words, unsigned *number)
{
	*number = 0;
	if (!value)
		return 0;
	for (; words[*number]; ++*number)
		if (!strcmp(value, words[*number]))
			return 0;
	fprintf(stderr, "heapfs: %s=%s: must be one of", name, value);
	for (; *words; words++)
		fprintf(stderr, " %s", *words);
	fputc('\n', stderr);
	return -1;
}

/* "T0..T1", of which each may be left out. */
static int parse_span(const char *value, struct loli_options *loli)
{
	const char *dots = value ? strstr(value, "..") : NULL;
	char *end = NULL;
	*loli = (struct loli_options){ .from = INT64_MIN, .to = INT64_MAX, .spanned = value != NULL };
	if (!value)
		return 0;
	if (dots && dots[2] >= '0' && dots[2] <= '9') {
		loli->to = strtoll(dots + 2, &end, 10);
	} else if (dots) {
		end = (char *)(uintptr_t)(dots + 2);
	}
	bool right = dots && !*end && (dots != value || dots[2]);
	if (right && dots != value) {
		loli->from = strtoll(value, &end, 10);
		right = *value >= '0' && *value <= '9' && end == dots;
	}
	if (right && loli->from <= loli->to)
		return 0;
	fprintf(stderr, "heapfs: time=%s: must be a span of milliseconds, like 2000..5000\n", value);
	return -1;
}

static int parse_values(const struct options *options, struct settings *settings)
{
	static const char *const links[] = { "yes", "no", NULL }, *const readdirplus[] = { "yes", "auto", "no", NULL };
	static const char *const dominators[] = { "large", "all", NULL }, *const bases[] = { "first", "containing", NULL };
	unsigned base, uid, gid, no_links, plus, threads, png_level, all_dominators;
	uint64_t graph_memory;
	*settings = (struct settings){ .dump = 0 };
	if (parse_number("dump", options->dump_number, 1, UINT32_MAX, &settings->dump) ||
	    parse_number("max_threads", options->max_threads, 1, UINT32_MAX, &threads) ||
	    parse_number("pid", options->pid, 0, UINT32_MAX, &settings->pid) ||
	    parse_number("png_level", options->png_level, 1, 9, &png_level) ||
	    parse_number("uid", options->uid, 0, UINT32_MAX, &uid) ||
	    parse_number("gid", options->gid, 0, UINT32_MAX, &gid) ||
	    parse_word("links", options->links, links, &no_links) ||
	    parse_word("readdirplus", options->readdirplus, readdirplus, &plus) ||
	    parse_word("dominators", options->dominators, dominators, &all_dominators) ||
	    parse_size("graph_memory", options->graph_memory, &graph_memory) ||
	    parse_word("so_base", options->so_base, bases, &base) || parse_span(options->time, &settings->loli))
		return -1;
	settings->loli.containing = base != 0;
	settings->loli.symbols = (const char *const *)options->symbols;
	settings->loli.symbol_count = options->symbol_count;
	settings->tree = (struct tree_options){ .links = !no_links, .owner_given = options->uid != NULL, .owner = uid,
						.group_given = options->gid != NULL, .group = gid,
						.png_level = png_level,
						.graph = { .threads = core_count(), .memory = graph_memory,
							   .tmpdir = options->tmpdir,
							   .all_retainers = all_dominators != 0 } };
	settings->readdirplus = (enum readdirplus)plus;
	settings->mount = (struct mount_options){ .foreground = options->foreground || options->debug,
						  .single_thread = options->single_thread,
						  .clone_fd = options->clone_fd, .max_threads = threads };
	return 0;
}

/* What mount(8) and /proc/mounts show; the user's own -o comes later and wins. */
static int add_mount_options(struct fuse_args *args, const char *dump)
{
	char *joined = NULL;
	char *source = NULL;
	char *most = NULL;
	int rc = asprintf(&source, "fsname=%s", dump) < 0 || asprintf(&most, "max_read=%d", READ_MOST) < 0 ||
		 fuse_opt_add_opt(&joined, "ro,default_permissions,subtype=heapfs") || fuse_opt_add_opt(&joined, most) ||
		 fuse_opt_add_opt_escaped(&joined, source) || fuse_opt_insert_arg(args, 1, "-o") ||
		 fuse_opt_insert_arg(args, 2, joined);
	free(source);
	free(most);
	free(joined);
	return rc ? -1 : 0;
}

struct progress {
	const char *name;
	struct timespec start;
	int percent;
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	struct timespec now;
	const int percent = (int)((double)done * 100 / (double)(total ? total : 1));
	clock_gettime(CLOCK_MONOTONIC, &now);
	const double seconds = (double)(now.tv_sec - progress->start.tv_sec) +
			       (double)(now.tv_nsec - progress->start.tv_nsec) / 1e9;
	if (percent == progress->percent || seconds < 0.5)
		return;
	progress->percent = percent;
	fprintf(stderr, "\rheapfs: reading %s: %d %%, %.0f MB/s ", progress->name, percent,
		(double)done / 1e6 / seconds);
}

/* A file, open with all its heaps. */
struct opened {
	struct container container;
	struct mapping mapping;	/* empty where the option was not given */
	struct hprof *hprofs;	/* one a part of the container */
	struct notes notes;	/* about the dump, where it did not come in a trace */
	struct heap *heaps;
	struct loli profile;	/* instead of heaps, where the file is one */
	size_t hprof_count;
	unsigned heap_count;
};

static void close_dump(struct opened *opened)
{
	for (unsigned i = 0; i < opened->heap_count; i++)
		heap_close(&opened->heaps[i]);
	free(opened->heaps);
	for (size_t i = 0; i < opened->hprof_count; i++)
		hprof_close(&opened->hprofs[i]);
	free(opened->hprofs);
	loli_close(&opened->profile);
	mapping_close(&opened->mapping);
	notes_free(&opened->notes);
	container_close(&opened->container);
}

static unsigned dumps_of(const struct hprof *hprof)
{
	return hprof->dump_count ? (unsigned)hprof->dump_count : 1;
}

static int no_memory(const struct options *options)
{
	fprintf(stderr, "heapfs: %s: %s\n", options->dump, strerror(ENOMEM));
	return -1;
}

/* All heap dumps of the file, or the one that is wanted. */
static int open_heaps(struct opened *opened, const struct options *options, unsigned number, struct progress *progress)
{
	const struct heap_options heap_options = { .threads = core_count(),
						   .mapping = options->mapping ? &opened->mapping : NULL,
						   .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
						   .context = progress };
	unsigned total = 0, before = 0;
	for (size_t i = 0; i < opened->hprof_count; i++)
		total += dumps_of(&opened->hprofs[i]);
	if (number > total) {
		fprintf(stderr, "heapfs: %s: dump=%u: the file holds %u\n", options->dump, number, total);
		return -1;
	}
	opened->heaps = calloc(number ? 1 : total, sizeof *opened->heaps);
	if (!opened->heaps)
		return no_memory(options);
	for (size_t i = 0; i < opened->hprof_count; i++)
		for (unsigned j = 0; j < dumps_of(&opened->hprofs[i]); j++) {
			if (number && before++ + 1 != number)
				continue;
			if (heap_open(&opened->heaps[opened->heap_count], &opened->hprofs[i], j, &heap_options))
				return no_memory(options);
			opened->heap_count++;
		}
	return 0;
}

/* The records of each part. One that cannot be read is passed over where there are others. */
static int open_hprofs(struct opened *opened, const struct options *options)
{
	struct container *container = &opened->container;
	char error[PATH_MAX + 512] = "";
	opened->hprofs = calloc(container->part_count, sizeof *opened->hprofs);
	if (!opened->hprofs)
		return no_memory(options);
	for (size_t i = 0; i < container->part_count; i++) {
		struct part *part = &container->parts[i];
		struct hprof *hprof = &opened->hprofs[opened->hprof_count];
		struct notes *notes = part->dump ? &part->dump->notes : &opened->notes;
		if (hprof_open(hprof, part_input(container, part), notes, error, sizeof error)) {
			notes_add(&container->notes, "a dump that cannot be read", NOTE_NO_OFFSET, part_input(container, part)->size,
				  "%s", error);
			continue;
		}
		hprof->traced = part->dump;
		opened->hprof_count++;
		if (!hprof->segment_count)
			notes_add(notes, "there is no heap in this file", part_input(container, part)->size, 0, NULL);
	}
	if (!opened->hprof_count)
		fprintf(stderr, "heapfs: %s\n", error);
	return opened->hprof_count ? 0 : -1;
}

/* Says everything that is not as it should be. How much that is. */
static size_t print_notes(const struct options *options, const char *about, const struct notes *notes)
{
	char line[512];
	for (size_t i = 0; i < notes->count; i++)
		fprintf(stderr, "heapfs: %s: %s%s\n", options->dump, about, note_format(&notes->list[i], line, sizeof line));
	return notes->count;
}

static size_t print_all_notes(const struct opened *opened, const struct options *options)
{
	size_t count = print_notes(options, "", &opened->container.notes);
	if (opened->container.loli)
		count += print_notes(options, "", &opened->notes);
	for (size_t i = 0; i < opened->hprof_count; i++) {
		const struct hprof *hprof = &opened->hprofs[i];
		char about[32] = "";
		if (opened->hprof_count > 1)
			snprintf(about, sizeof about, "process %u: ", hprof->traced->pid);
		count += print_notes(options, about, hprof->notes);
	}
	return count;
}

/* What the file holds: heaps, or a profile. */
static int open_contents(struct opened *opened, const struct options *options, const struct settings *settings,
			 struct progress *progress)
{
	char error[PATH_MAX + 512] = "";
	if (opened->container.loli) {
		if (options->dump_number || options->pid || options->mapping) {
			fprintf(stderr, "heapfs: %s: %s= is for heap dumps, and this is a native profile\n", options->dump,
				options->dump_number ? "dump" : options->pid ? "pid" : "mapping");
			return -1;
		}
		if (!loli_open(&opened->profile, &opened->container.in, &opened->notes, &settings->loli, error, sizeof error))
			return 0;
		fprintf(stderr, "heapfs: %s\n", error);
		return -1;
	}
	if (options->time || options->so_base || options->symbol_count) {
		fprintf(stderr, "heapfs: %s: %s= is for native profiles (.loli), and this is a heap dump\n", options->dump,
			options->time ? "time" : options->so_base ? "so_base" : "symbols");
		return -1;
	}
	const int rc = open_hprofs(opened, options);
	return rc ? rc : open_heaps(opened, options, settings->dump, progress);
}

static int open_dump(struct opened *opened, const struct options *options, const struct settings *settings)
{
	char error[PATH_MAX + 512];
	struct progress progress = { .name = options->dump, .percent = -1 };
	const struct container_options container_options = {
		.tmpdir = options->tmpdir, .unpacked = options->unpacked, .only_pid = options->pid != NULL,
		.pid = settings->pid, .threads = core_count(), .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
		.context = &progress,
	};
	memset(opened, 0, sizeof *opened);
	opened->container.in.fd = -1; /* none yet */
	notes_init(&opened->notes);
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	int rc = options->mapping ? mapping_open(&opened->mapping, options->mapping, error, sizeof error) : 0;
	if (!rc)
		rc = container_open(&opened->container, options->dump, &container_options, error, sizeof error);
	if (progress.percent >= 0)
		fputs("\r\033[K", stderr);
	if (rc) {
		fprintf(stderr, "heapfs: %s\n", error);
		return -1;
	}
	rc = open_contents(opened, options, settings, &progress);
	if (progress.percent >= 0)
		fputs("\r\033[K", stderr);
	if (rc)
		return -1;
	struct input *in = &opened->container.in;
	if (atomic_load(&in->good_end) < in->size) {
		fprintf(stderr, "heapfs: %s: the file was cut while it was being read\n", options->dump);
		return -1;
	}
	if (atomic_load(&in->bad_count))
		notes_add(&opened->container.notes, "the disk could not give some of the file",
			  atomic_load(&in->bad_pages[0]), 0, "%u pages", atomic_load(&in->bad_count));
	if (print_all_notes(opened, options) && options->strict) {
		fprintf(stderr, "heapfs: %s: not mounted, since --strict was given\n", options->dump);
		return -1;
	}
	return 0;
}

static bool same_dump(const void *context)
{
	const struct opened *opened = context;
	if (opened->container.loli)
		return loli_same(&opened->profile);
	for (unsigned i = 0; i < opened->heap_count; i++)
		if (!heap_same(&opened->heaps[i]))
			return false;
	return true;
}

static int run(struct fuse_args *args, const struct options *options)
{
	char error[PATH_MAX + 512];
	struct served served = { .tree = NULL };
	struct settings settings;
	struct mount_point point;
	struct opened opened;
	if (parse_values(options, &settings) || add_mount_options(args, options->dump))
		return EXIT_USAGE;
	served.readdirplus = settings.readdirplus;
	requests_init(&served.requests);
	settings.tree.graph.changed = requests_retry;
	settings.tree.graph.context = settings.mount.requests = &served.requests;
	/* Only checks options so far; libfuse prints which it does not know. */
	struct fuse_session *session = fuse_session_new(args, &ops, sizeof ops, &served);
	if (!session) {
		fputs("heapfs: see heapfs --help\n", stderr);
		return EXIT_USAGE;
	}
	int status = EXIT_FAILURE;
	if (mount_point_open(&point, options->mount_point, error, sizeof error)) {
		fprintf(stderr, "heapfs: %s\n", error);
		goto out_session;
	}
	if (!open_dump(&opened, options, &settings)) {
		struct input *in = &opened.container.in;
		const struct tree_source source = { in, opened.container.description, &opened.container.notes,
						    opened.container.loli ? &opened.profile : NULL };
		served.in = in;
		in->same_context = &opened;
		in->same = same_dump;
		served.tree = tree_open(&source, opened.heaps, opened.heap_count, &settings.tree);
		if (served.tree) {
			status = mount_serve(session, &point, &settings.mount);
			tree_close(served.tree);
		} else {
			fprintf(stderr, "heapfs: %s\n", strerror(ENOMEM));
		}
	}
	close_dump(&opened);
	mount_point_close(&point);
out_session:
	fuse_session_destroy(session);
	requests_destroy(&served.requests);
	return status;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct options options = { .dump = NULL };
	int status = EXIT_USAGE;
	guard_standard_descriptors();
	if (fuse_opt_parse(&args, &options, option_table, on_argument)) {
		fputs("heapfs: see heapfs --help\n", stderr);
	} else if (options.help) {
		print_help(stdout);
		status = EXIT_SUCCESS;
	} else if (options.version) {
		printf("heapfs %s, libfuse %s\n", PACKAGE_VERSION, fuse_pkgversion());
		status = EXIT_SUCCESS;
	} else if (!options.dump || !options.mount_point || options.extra) {
		fprintf(stderr, "heapfs: %s; see heapfs --help\n",
			!options.dump	     ? "which dump, and where to mount it?" :
			!options.mount_point ? "where to mount it?" :
					       "too many arguments");
	} else {
		status = run(&args, &options);
	}
	free((char *)(uintptr_t)options.dump);
	free((char *)(uintptr_t)options.mount_point);
	free(options.dump_number);
	free(options.pid);
	free(options.tmpdir);
	free(options.unpacked);
	free(options.mapping);
	free(options.max_threads);
	free(options.png_level);
	free(options.uid);
	free(options.gid);
	free(options.links);
	free(options.readdirplus);
	free(options.graph_memory);
	free(options.dominators);
	free(options.time);
	free(options.so_base);
	for (size_t i = 0; i < options.symbol_count; i++)
		free(options.symbols[i]);
	free(options.symbols);
	fuse_opt_free_args(&args);
	return status;
}
