/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs-compare: what has changed between two heap dumps, or two native profiles, without a mount. */
#include "export.h"
#include "loli/difference.h"
#include "open.h"
#include "tree/report_text.h"
#include "unfinished.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PROGRAM "heapfs-compare"
#define EXIT_GROWN 1
#define EXIT_TROUBLE 2
#define PIECE ((size_t)1 << 16)

struct arguments {
	const char *old, *new;	/* the file alone is `new` */
	const char *dump;	/* a profile to be reported on alone */
	const char *output, *table;
	const char *mapping, *old_mapping;
	const char **symbols;
	size_t symbol_count;
	uint64_t threshold;
	unsigned skip, old_number, new_number, since_ms;
	bool since, strict;
};

static void print_help(FILE *out)
{
	fputs("usage: " PROGRAM " [OPTION]... OLD NEW\n"
	      "       " PROGRAM " [OPTION]... --baseline-time MS PROFILE\n"
	      "       " PROGRAM " [OPTION]... --dump PROFILE\n"
	      "\n"
	      "Prints what has changed between two heap dumps, or two native profiles (.loli), as diff/ of a\n"
	      "mount shows it. Exits with 0 if there is no growth, 1 if there is, 2 if there is trouble.\n"
	      "\n"
	      "  -o, --output FILE          write to this file; of profiles, if its name ends in .loli:\n"
	      "                             the growth as a profile, as LoliProfiler exports it\n"
	      "  -t, --threshold SIZE       growth up to this is none: bytes, or with K, M or G (0)\n"
	      "      --table NAME           instead of LoliProfiler's report, or of classes, another table\n"
	      "                             of diff/: functions, stacks; info, strings, bitmaps, dominators\n"
	      "  -s, --skip-root-levels N   leave out so many levels of stacks in LoliProfiler's report\n"
	      "      --baseline-time MS     compare what a profile held at this time with its end\n"
	      "      --dump PROFILE         print LoliProfiler's report of what one profile holds\n"
	      "      --symbols PATH         fill in names of functions: what nm -nC prints, a library, or a\n"
	      "                             folder <abi>/lib*.so; may be given more than once\n"
	      "      --mapping FILE         of heap dumps, names as before R8 or ProGuard, from its\n"
	      "                             mapping file\n"
	      "      --old-mapping FILE     the same of OLD alone, where it is of another build\n"
	      "      --old-dump N, --new-dump N   of a file with several heap dumps, the Nth\n"
	      "      --strict               refuse a file that is damaged or cut\n"
	      "  -h, --help                 this text\n"
	      "  -V, --version              version of heapfs\n",
	      out);
}

/* Says what is wrong. */
__attribute__((format(printf, 1, 2))) static int fail(const char *format, ...)
{
	va_list list;
	fputs(PROGRAM ": ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	return -1;
}

/* --- the output --- */

struct output {
	const char *name;	/* for messages */
	const char *path;	/* or NULL: standard output */
	int fd;
	bool removable;		/* a regular file */
};

/* Is a path one of the files that are being read? It would be emptied. */
static bool is_read(const char *path, const struct opened *opened)
{
	struct stat st;
	const struct stat *own = &opened->container.in.st;
	return opened->begun && !stat(path, &st) && st.st_dev == own->st_dev && st.st_ino == own->st_ino;
}

static int output_open(struct output *output, const char *path, const struct opened *new, const struct opened *old)
{
	struct stat st;
	*output = (struct output){ path ? path : "standard output", path, STDOUT_FILENO, false };
	if (!path)
		return 0;
	if (is_read(path, new) || is_read(path, old))
		return fail("%s: is what is to be compared; write to another file", path);
	output->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output->fd < 0)
		return fail("%s: %s", path, strerror(errno));
	output->removable = !fstat(output->fd, &st) && S_ISREG(st.st_mode);
	if (output->removable) {
		unfinished_begin();
		unfinished_is(AT_FDCWD, path);
	}
	return 0;
}

/* What is not whole is removed, also where a signal ends the program. Some file systems say only now that the disk is full. */
static int output_close(struct output *output, int rc)
{
	if (output->fd >= 0 && close(output->fd) && !rc)
		rc = fail("%s: %s", output->name, strerror(errno));
	if (output->removable) {
		if (rc)
			unlink(output->path);
		unfinished_none();
		unfinished_end();
	}
	return rc;
}

/* A stream to it, which has a descriptor of its own; closed by stream_close(). */
static FILE *stream_open(const struct output *output)
{
	const int flags = fcntl(output->fd, F_GETFL), fd = dup(output->fd);
	FILE *out = fd < 0 || (flags & O_ACCMODE) == O_RDONLY ? NULL : fdopen(fd, "w");
	if (!out) {
		fail("%s: %s", output->name, strerror(fd >= 0 ? EBADF : errno));
		if (fd >= 0)
			close(fd);
	}
	return out;
}

static int stream_close(FILE *out, const struct output *output, int rc)
{
	const int error = errno;
	if (fclose(out))
		return fail("%s: %s", output->name, strerror(errno));
	return rc ? fail("%s: %s", output->name, strerror(error)) : 0;
}

/* --- native profiles --- */

static int cut(const char *path)
{
	return fail("%s: the file was changed while it was being read, or there is not enough memory", path);
}

static int write_report(FILE *out, const struct report *report)
{
	struct text text = { 0 };
	bool whole = true;
	for (uint64_t i = 0; i <= report->line_count && whole; i++) {
		put_report(&text, report, i);
		if (text.len < PIECE && i < report->line_count)
			continue;
		whole = !text.failed && fwrite(text.data, 1, text.len, out) == text.len;
		text.len = 0;
	}
	if (text.failed)
		errno = ENOMEM;
	text_free(&text);
	return whole ? 0 : -1;
}

static int dump_profile(const struct arguments *arguments, struct opened *opened)
{
	const uint64_t epoch = input_begin();
	struct output output;
	struct report *report = report_dump(&opened->profile, arguments->skip);
	int rc = report && input_unharmed(&opened->container.in, epoch) ? 0 : cut(arguments->dump);
	if (!rc)
		rc = output_open(&output, arguments->output, opened, opened);
	if (!rc) {
		FILE *out = stream_open(&output);
		rc = output_close(&output, out ? stream_close(out, &output, write_report(out, report)) : -1);
	}
	report_close(report);
	return rc;
}

/* The growth as a profile. */
static int write_profile(const struct arguments *arguments, struct opened *new, struct opened *old)
{
	const uint64_t epoch = input_begin();
	struct output output;
	struct report *report = old->begun ? report_compare(&old->profile, &new->profile, arguments->skip) :
					     report_compare_moment(&new->profile, arguments->since_ms, arguments->skip);
	int rc = report ? 0 : cut(arguments->new);
	if (!rc)
		rc = output_open(&output, arguments->output, new, old);
	if (!rc) {
		FILE *out = stream_open(&output);
		rc = out ? stream_close(out, &output, loli_write_difference(out, report)) : -1;
		if (!rc && !input_unharmed(&new->container.in, epoch)) /* names are read while they are written */
			rc = cut(arguments->new);
		rc = output_close(&output, rc);
	}
	report_close(report);
	return rc;
}

/* --- all --- */

static bool ends_in_loli(const char *path)
{
	const size_t len = path ? strlen(path) : 0;
	return len >= 5 && !strcasecmp(path + len - 5, ".loli");
}

/* The file of diff/ that is printed, to be freed. */
static char *path_of(const struct arguments *arguments, bool profile)
{
	char *path = NULL;
	const bool info = arguments->table && !strcmp(arguments->table, "info") && !profile;
	const int made = arguments->table ? asprintf(&path, "diff/%s.%s", arguments->table, info ? "txt" : "tsv") :
					    asprintf(&path, "diff/%s", profile ? "report.txt" : "classes.tsv");
	return made < 0 ? NULL : path;
}

static int write_table(const struct arguments *arguments, struct exporter *exporter, const struct opened *new,
		       const struct opened *old)
{
	uint64_t ino;
	struct output output;
	char *path = path_of(arguments, new->container.loli);
	int rc = path ? 0 : fail("%s", strerror(ENOMEM));
	if (!rc && arguments->table && (strchr(arguments->table, '/') || export_find(exporter, path, &ino) == ENOENT))
		rc = fail("--table %s: there is no such table of %s", arguments->table, new->container.loli ?
			  "native profiles; there are functions, stacks" :
			  "heap dumps; there are info, classes, strings, dominators, and bitmaps of Android's");
	if (!rc)
		rc = output_open(&output, arguments->output, new, old);
	if (!rc)
		rc = output_close(&output, export_path(exporter, path, output.fd, output.name));
	free(path);
	return rc;
}

/* Says by how much it grew, if that is too much. 0, 1 or -1. */
static int judge(const struct arguments *arguments, struct tree *tree)
{
	uint64_t before, after;
	if (tree_compared(tree, &before, &after))
		return cut(arguments->new);
	if (after <= before || after - before <= arguments->threshold)
		return 0;
	fprintf(stderr, PROGRAM ": grown by %" PRIu64 " bytes, from %" PRIu64 " to %" PRIu64 "\n", after - before, before, after);
	return 1;
}

static int compare(const struct arguments *arguments, struct opened *new, struct opened *old)
{
	const struct tree_options options = { .links = true, .graph = { .threads = core_count() },
					      .since_given = arguments->since, .since_ms = arguments->since_ms,
					      .skip_root_levels = arguments->skip };
	const struct tree_source source = { .in = &new->container.in, .container = new->container.description,
					    .notes = &new->container.notes,
					    .profile = new->container.loli ? &new->profile : NULL, .baseline = old->heaps,
					    .baseline_notes = &old->container.notes,
					    .baseline_profile = old->container.loli ? &old->profile : NULL };
	struct exporter exporter = { .in = &new->container.in, .dump = arguments->new, .program = PROGRAM };
	if (!new->container.loli && (arguments->since || arguments->skip || ends_in_loli(arguments->output)))
		return fail("%s: is a heap dump, and %s is for native profiles (.loli)", arguments->new,
			    arguments->since ? "--baseline-time" : arguments->skip ? "--skip-root-levels" : "-o FILE.loli");
	if (arguments->table && ends_in_loli(arguments->output))
		return fail("-o %s: is to be a profile, and --table is for text; give one of them", arguments->output);
	exporter.tree = tree_open(&source, new->heaps, new->heap_count, &options);
	if (!exporter.tree)
		return fail("%s", strerror(ENOMEM));
	int rc = ends_in_loli(arguments->output) ? write_profile(arguments, new, old) :
						   write_table(arguments, &exporter, new, old);
	if (!rc)
		rc = judge(arguments, exporter.tree);
	tree_close(exporter.tree);
	return rc;
}

/* 0 or 1 as the comparison says, -1 when it has been said what is wrong. */
static int run(const struct arguments *arguments)
{
	struct opened new = { .heap_count = 0 }, old = { .heap_count = 0 };
	struct open_options options = { .program = PROGRAM, .path = arguments->dump ? arguments->dump : arguments->new,
					.dump_option = "--new-dump", .dump = arguments->new_number, .only_one = true,
					.strict = arguments->strict, .mapping = arguments->mapping };
	options.loli.symbols = arguments->symbols;
	options.loli.symbol_count = arguments->symbol_count;
	struct open_options old_options = options;
	old_options.path = arguments->old;
	old_options.dump_option = "--old-dump";
	old_options.dump = arguments->old_number;
	if (arguments->old_mapping)
		old_options.mapping = arguments->old_mapping;
	int rc = opened_open_both(&new, &options, &old, &old_options);
	if (!rc && arguments->dump && !new.container.loli)
		rc = fail("%s: is a heap dump, and --dump is for native profiles (.loli)", arguments->dump);
	if (!rc)
		rc = arguments->dump ? dump_profile(arguments, &new) : compare(arguments, &new, &old);
	opened_close(&old);
	opened_close(&new);
	return rc;
}

enum { SINCE = 256, DUMP, TABLE, SYMBOLS, MAPPING, OLD_MAPPING, OLD_DUMP, NEW_DUMP, STRICT };

/* 0 to go on, 1 to stop, -1 when it has been said what is wrong. */
static int take_option(int option, struct arguments *arguments)
{
	static const char number[] = "must be a number";
	switch (option) {
	case 'o':
		arguments->output = optarg;
		return 0;
	case 't':
		return value_size(optarg, &arguments->threshold) ? 0 :
		       fail("--threshold %s: must be bytes, or like 500K, 10M, 1G", optarg);
	case 's':
		return value_number(optarg, 0, UINT32_MAX, &arguments->skip) ? 0 :
		       fail("--skip-root-levels %s: %s", optarg, number);
	case SINCE:
		arguments->since = true;
		return value_number(optarg, 0, INT32_MAX, &arguments->since_ms) ? 0 :
		       fail("--baseline-time %s: %s of milliseconds", optarg, number);
	case DUMP:
		arguments->dump = optarg;
		return 0;
	case TABLE:
		arguments->table = optarg;
		return 0;
	case SYMBOLS:
		arguments->symbols[arguments->symbol_count++] = optarg;
		return 0;
	case MAPPING:
		arguments->mapping = optarg;
		return 0;
	case OLD_MAPPING:
		arguments->old_mapping = optarg;
		return 0;
	case OLD_DUMP:
		return value_number(optarg, 1, UINT32_MAX, &arguments->old_number) ? 0 : fail("--old-dump %s: %s", optarg, number);
	case NEW_DUMP:
		return value_number(optarg, 1, UINT32_MAX, &arguments->new_number) ? 0 : fail("--new-dump %s: %s", optarg, number);
	case STRICT:
		arguments->strict = true;
		return 0;
	case 'h':
		print_help(stdout);
		return 1;
	case 'V':
		printf(PROGRAM " %s\n", PACKAGE_VERSION);
		return 1;
	default:
		return -1; /* getopt said it */
	}
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = { { "output", required_argument, NULL, 'o' },
						 { "threshold", required_argument, NULL, 't' },
						 { "skip-root-levels", required_argument, NULL, 's' },
						 { "baseline-time", required_argument, NULL, SINCE },
						 { "dump", required_argument, NULL, DUMP },
						 { "table", required_argument, NULL, TABLE },
						 { "symbols", required_argument, NULL, SYMBOLS },
						 { "mapping", required_argument, NULL, MAPPING },
						 { "old-mapping", required_argument, NULL, OLD_MAPPING },
						 { "old-dump", required_argument, NULL, OLD_DUMP },
						 { "new-dump", required_argument, NULL, NEW_DUMP },
						 { "strict", no_argument, NULL, STRICT },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };
	int option;
	while ((option = getopt_long(argc, argv, "o:t:s:hV", options, NULL)) >= 0) {
		const int rc = take_option(option, arguments);
		if (rc)
			return rc;
	}
	const int given = argc - optind, wanted = arguments->dump ? 0 : arguments->since ? 1 : 2;
	if (given != wanted)
		return fail("%s", given > wanted ? "too many arguments" :
				  arguments->since ? "of which profile?" : "which two are to be compared?");
	if (arguments->dump && (arguments->since || arguments->table))
		return fail("--dump is about one profile as it is, and %s compares",
			    arguments->since ? "--baseline-time" : "--table");
	if (arguments->dump && ends_in_loli(arguments->output))
		return fail("--dump prints a text, and a file %s would be taken for a profile", arguments->output);
	if (arguments->old_mapping && wanted != 2)
		return fail("--old-mapping is about the older of two dumps");
	arguments->old = wanted == 2 ? argv[optind] : NULL;
	arguments->new = wanted ? argv[argc - 1] : NULL;
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .old = NULL };
	guard_standard_descriptors();
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is trouble, with a message */
	arguments.symbols = calloc((size_t)argc + 1, sizeof *arguments.symbols);
	int rc = arguments.symbols ? parse(argc, argv, &arguments) : fail("%s", strerror(ENOMEM));
	int status = EXIT_TROUBLE;
	if (rc < 0)
		fputs(PROGRAM ": see " PROGRAM " --help\n", stderr);
	else if (rc > 0)
		status = fflush(stdout) ? EXIT_TROUBLE : EXIT_SUCCESS;
	else if ((rc = run(&arguments)) >= 0)
		status = rc ? EXIT_GROWN : EXIT_SUCCESS;
	free(arguments.symbols);
	return status;
}
