/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs: mounts a heap dump as a read-only filesystem. */
#include "fuse/mount.h"
#include "open.h"

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
		*graph_memory, *dominators, *time, *so_base, *baseline, *baseline_dump, *baseline_time,
		*skip_root_levels; /* as given, or NULL */
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
	OPTION("baseline=%s", baseline),
	OPTION("baseline_dump=%s", baseline_dump),
	OPTION("baseline_time=%s", baseline_time),
	OPTION("skip_root_levels=%s", skip_root_levels),
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
	      "  -o baseline=FILE       an earlier dump, or profile: diff/ shows what has changed since\n"
	      "  -o baseline_dump=N     that file's Nth heap dump\n"
	      "  -o baseline_time=T     of a profile: diff/ shows what has changed since T ms\n"
	      "  -o skip_root_levels=N  leave out so many levels of a profile's stacks in diff/report.txt\n"
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

/* What the values of options mean. */
struct settings {
	struct open_options open, baseline;
	struct tree_options tree;
	enum readdirplus readdirplus;
	struct mount_options mount;
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

/* What is to be opened: the file, and the one that it is compared with. */
static int parse_opening(const struct options *options, struct settings *settings)
{
	static const char *const bases[] = { "first", "containing", NULL };
	struct open_options *open = &settings->open;
	unsigned base, time;
	*open = (struct open_options){ .program = "heapfs", .path = options->dump, .dump_option = "dump",
				       .only_one = options->baseline != NULL, .only_pid = options->pid != NULL,
				       .strict = options->strict != 0, .tmpdir = options->tmpdir,
				       .unpacked = options->unpacked, .mapping = options->mapping };
	if (parse_number("dump", options->dump_number, 1, UINT32_MAX, &open->dump) ||
	    parse_number("pid", options->pid, 0, UINT32_MAX, &open->pid) ||
	    parse_word("so_base", options->so_base, bases, &base) || parse_span(options->time, &open->loli))
		return -1;
	open->loli.containing = base != 0;
	open->loli.symbols = (const char *const *)options->symbols;
	open->loli.symbol_count = options->symbol_count;
	settings->baseline = *open;
	settings->baseline.path = options->baseline;
	settings->baseline.dump_option = "baseline_dump";
	settings->baseline.only_pid = false;
	settings->baseline.unpacked = NULL;
	if (parse_number("baseline_dump", options->baseline_dump, 1, UINT32_MAX, &settings->baseline.dump) ||
	    parse_number("baseline_time", options->baseline_time, 0, INT32_MAX, &time) ||
	    parse_number("skip_root_levels", options->skip_root_levels, 0, UINT32_MAX, &settings->tree.skip_root_levels))
		return -1;
	settings->tree.since_given = options->baseline_time != NULL;
	settings->tree.since_ms = time;
	const char *idle = options->baseline_dump && !options->baseline ? "baseline_dump" :
			   options->skip_root_levels && !options->baseline && !options->baseline_time ? "skip_root_levels" :
													NULL;
	if (idle)
		fprintf(stderr, "heapfs: %s= says what of a baseline is meant, and baseline= was not given\n", idle);
	if (options->baseline && options->baseline_time)
		fputs("heapfs: baseline= and baseline_time= are two things to compare with; give one of them\n", stderr);
	return idle || (options->baseline && options->baseline_time) ? -1 : 0;
}

static int parse_values(const struct options *options, struct settings *settings)
{
	static const char *const links[] = { "yes", "no", NULL }, *const readdirplus[] = { "yes", "auto", "no", NULL };
	static const char *const dominators[] = { "large", "all", NULL };
	unsigned uid, gid, no_links, plus, threads, png_level, all_dominators;
	uint64_t graph_memory;
	if (parse_number("max_threads", options->max_threads, 1, UINT32_MAX, &threads) ||
	    parse_number("png_level", options->png_level, 1, 9, &png_level) ||
	    parse_number("uid", options->uid, 0, UINT32_MAX, &uid) ||
	    parse_number("gid", options->gid, 0, UINT32_MAX, &gid) ||
	    parse_word("links", options->links, links, &no_links) ||
	    parse_word("readdirplus", options->readdirplus, readdirplus, &plus) ||
	    parse_word("dominators", options->dominators, dominators, &all_dominators) ||
	    parse_size("graph_memory", options->graph_memory, &graph_memory))
		return -1;
	*settings = (struct settings){
		.tree = { .links = !no_links, .owner_given = options->uid != NULL, .owner = uid,
			  .group_given = options->gid != NULL, .group = gid, .png_level = png_level,
			  .graph = { .threads = core_count(), .memory = graph_memory, .tmpdir = options->tmpdir,
				     .all_retainers = all_dominators != 0 } },
		.readdirplus = (enum readdirplus)plus,
		.mount = { .foreground = options->foreground || options->debug, .single_thread = options->single_thread,
			   .clone_fd = options->clone_fd, .max_threads = threads },
	};
	return parse_opening(options, settings);
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

/* The file and, where there is one, its baseline, as what the tree shows. 0, or -1 when it has been said why not. */
static int open_source(struct opened *opened, struct opened *baseline, struct settings *settings, struct tree_source *source)
{
	struct input *in = &opened->container.in;
	if (opened_open(opened, &settings->open))
		return -1;
	*source = (struct tree_source){ .in = in, .container = opened->container.description,
					.notes = &opened->container.notes,
					.profile = opened->container.loli ? &opened->profile : NULL };
	if (settings->tree.since_given && !source->profile) {
		fprintf(stderr, "heapfs: %s: baseline_time= is for native profiles (.loli), and this is a heap dump\n",
			settings->open.path);
		return -1;
	}
	if (!settings->baseline.path)
		return 0;
	settings->baseline.base = input_next_base(in);
	if (opened_open(baseline, &settings->baseline))
		return -1;
	if (baseline->container.loli != opened->container.loli) {
		fprintf(stderr, "heapfs: %s is %s, and %s %s: they cannot be compared\n", settings->open.path,
			opened->container.loli ? "a native profile" : "a heap dump", settings->baseline.path,
			opened->container.loli ? "a heap dump" : "a native profile");
		return -1;
	}
	input_put_beside(in, &baseline->container.in);
	source->baseline = baseline->heaps;
	source->baseline_profile = baseline->container.loli ? &baseline->profile : NULL;
	return 0;
}

static int run(struct fuse_args *args, const struct options *options)
{
	char error[PATH_MAX + 512];
	struct served served = { .tree = NULL };
	struct settings settings;
	struct mount_point point;
	struct opened opened = { .heap_count = 0 }, baseline = { .heap_count = 0 };
	struct tree_source source;
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
	if (!open_source(&opened, &baseline, &settings, &source)) {
		served.in = &opened.container.in;
		served.tree = tree_open(&source, opened.heaps, opened.heap_count, &settings.tree);
		if (served.tree) {
			status = mount_serve(session, &point, &settings.mount);
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
	free(options.baseline);
	free(options.baseline_dump);
	free(options.baseline_time);
	free(options.skip_root_levels);
	for (size_t i = 0; i < options.symbol_count; i++)
		free(options.symbols[i]);
	free(options.symbols);
	fuse_opt_free_args(&args);
	return status;
}
