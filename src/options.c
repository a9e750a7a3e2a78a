/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
	FLAG,			/* an int, set to 1 */
	VALUE,			/* a text: behind "name=" in -o, behind "--name=" or as the next argument */
	SYMBOLS,		/* "symbols=", each of which counts */
	PICTURES,		/* "pixels=", too, but for "none" */
	IGNORED			/* by us and libfuse */
};

struct option_row {
	const char *name;	/* "-x" and "--word" stand alone, others behind -o; one that ends in "=" has a value */
	size_t member;
	enum option_kind kind;
	bool mounts;		/* only a mount has a use for it */
	bool kept;		/* libfuse wants it as well */
};

#define ROW(name, member, ...) { name, offsetof(struct options, member), __VA_ARGS__ }
/* fstab's words for mount(8), which libfuse does not know. */
#define IGNORED_WORD(word) { word, 0, IGNORED, false, false }

static const struct option_row rows[] = {
	ROW("-h", help, FLAG, false, false),
	ROW("--help", help, FLAG, false, false),
	ROW("-V", version, FLAG, false, false),
	ROW("--version", version, FLAG, false, false),
	ROW("--export=", export, VALUE, false, false),
	ROW("--export-all=", export_all, VALUE, false, false),
	ROW("-f", foreground, FLAG, true, false),
	ROW("-s", single_thread, FLAG, true, false),
	ROW("-d", debug, FLAG, true, true),
	ROW("debug", debug, FLAG, true, true),
	ROW("--strict", strict, FLAG, false, false),
	ROW("strict", strict, FLAG, false, false),
	ROW("clone_fd", clone_fd, FLAG, true, false),
	ROW("allow_other", allow_other, FLAG, true, true),
	ROW("dump=", dump_number, VALUE, false, false),
	ROW("mapping=", mapping, VALUE, false, false),
	ROW("pid=", pid, VALUE, false, false),
	ROW("tmpdir=", tmpdir, VALUE, false, false),
	ROW("unpacked=", unpacked, VALUE, false, false),
	ROW("max_threads=", max_threads, VALUE, true, false),
	ROW("png_level=", png_level, VALUE, false, false),
	ROW("uid=", uid, VALUE, true, false),
	ROW("gid=", gid, VALUE, true, false),
	ROW("links=", links, VALUE, false, false),
	ROW("readdirplus=", readdirplus, VALUE, true, false),
	ROW("graph_memory=", graph_memory, VALUE, false, false),
	ROW("dominators=", dominators, VALUE, false, false),
	ROW("time=", time, VALUE, false, false),
	ROW("so_base=", so_base, VALUE, false, false),
	ROW("symbols=", symbols, SYMBOLS, false, false),
	ROW("pixels=", pictures, PICTURES, false, false),
	ROW("baseline=", baseline, VALUE, false, false),
	ROW("baseline_dump=", baseline_dump, VALUE, false, false),
	ROW("baseline_mapping=", baseline_mapping, VALUE, false, false),
	ROW("baseline_time=", baseline_time, VALUE, false, false),
	ROW("skip_root_levels=", skip_root_levels, VALUE, false, false),
	IGNORED_WORD("max_read="), /* ours is set */
	IGNORED_WORD("rw"),
	IGNORED_WORD("auto"),
	IGNORED_WORD("noauto"),
	IGNORED_WORD("defaults"),
	IGNORED_WORD("user"),
	IGNORED_WORD("user="),
	IGNORED_WORD("nouser"),
	IGNORED_WORD("users"),
	IGNORED_WORD("owner"),
	IGNORED_WORD("group"),
	IGNORED_WORD("nofail"),
	IGNORED_WORD("nonempty"),
	IGNORED_WORD("_netdev"),
	IGNORED_WORD("comment="),
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static int no_memory(void)
{
	fprintf(stderr, "heapfs: %s\n", strerror(ENOMEM));
	return -1;
}

static int replace(char **place, const char *text)
{
	char *copy = strdup(text);
	if (!copy)
		return no_memory();
	free(*place);
	*place = copy;
	return 0;
}

static int append(char ***list, size_t *count, const char *text)
{
	char **grown = reallocarray(*list, *count + 1, sizeof *grown);
	char *copy = strdup(text);
	if (grown)
		*list = grown;
	if (!grown || !copy) {
		free(copy);
		return no_memory();
	}
	grown[(*count)++] = copy;
	return 0;
}

/* "name=value" fits "name=", whose value is put into *value. */
static const struct option_row *find(const char *word, const char **value)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const size_t len = strlen(rows[i].name);
		const bool valued = rows[i].name[len - 1] == '=';
		*value = word + len;
		if (valued ? !strncmp(word, rows[i].name, len) : !strcmp(word, rows[i].name))
			return &rows[i];
	}
	return NULL;
}

static int take(struct options *options, const struct option_row *row, const char *word, const char *value)
{
	void *member = (char *)options + row->member;
	if (row->mounts && replace(&options->mounting, word))
		return -1;
	switch (row->kind) {
	case FLAG:
		*(int *)member = 1;
		return 0;
	case VALUE:
		return replace(member, value);
	case SYMBOLS:
		return append(&options->symbols, &options->symbol_count, value);
	case PICTURES:
		if (strcmp(value, "none"))
			return append(&options->pictures, &options->picture_count, value);
		options->not_beside = true;
		return 0;
	case IGNORED:
		break;
	}
	return 0;
}

/* One of what stands behind -o: as it was written, which is for libfuse, and without its escapes. */
static int take_word(struct options *options, const char *written, const char *word)
{
	const char *value;
	const struct option_row *row = *word == '-' ? NULL : find(word, &value);
	if (!*word || !strncmp(word, "x-", 2)) /* the latter are systemd's */
		return 0;
	if (row) {
		const int rc = take(options, row, word, value);
		if (rc || !row->kept)
			return rc;
	} else if (replace(&options->mounting, word)) {
		return -1;
	}
	return append(&options->rest, &options->rest_count, "-o") || append(&options->rest, &options->rest_count, written) ? -1 : 0;
}

static bool is_octal(const char *p)
{
	return *p >= '0' && *p <= '7';
}

/* A backslash takes its meaning from a comma, and three octal digits behind it are a byte, as /proc/mounts writes them. */
static int take_group(struct options *options, const char *group)
{
	char *written = strdup(group), *word = strdup(group);
	int rc = written && word ? 0 : no_memory();
	for (const char *p = group; !rc; p++) {
		const char *begin = p;
		size_t len = 0;
		for (; *p && *p != ','; p++) {
			if (*p != '\\' || !p[1]) {
				word[len++] = *p;
			} else if (p[1] <= '3' && is_octal(p + 1) && is_octal(p + 2) && is_octal(p + 3)) {
				word[len++] = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
				p += 3;
			} else {
				word[len++] = *++p;
			}
		}
		word[len] = 0;
		memcpy(written, begin, (size_t)(p - begin));
		written[p - begin] = 0;
		rc = take_word(options, written, word);
		if (!*p)
			break;
	}
	free(written);
	free(word);
	return rc;
}

/* One that stands alone; `next` is the argument behind it, or NULL. 1 where that was used. */
static int take_alone(struct options *options, const char *word, const char *next)
{
	const char *value;
	const struct option_row *row = find(word, &value);
	char valued[32];
	if (!row && (size_t)snprintf(valued, sizeof valued, "%s=", word) < sizeof valued) {
		row = find(valued, &value);
		if (row && !next) {
			fprintf(stderr, "heapfs: %s: wants an argument\n", word);
			return -1;
		}
		if (row)
			return take(options, row, word, next) ? -1 : 1;
	}
	if (row) {
		const int rc = take(options, row, word, value);
		if (rc || !row->kept)
			return rc;
	} else if (replace(&options->mounting, word)) {
		return -1;
	}
	return append(&options->rest, &options->rest_count, word);
}

static int take_argument(struct options *options, const char *word)
{
	if (!options->dump)
		return replace(&options->dump, word);
	if (!options->mount_point)
		return replace(&options->mount_point, word);
	options->extra++;
	return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
	bool only_arguments = false; /* behind "--" */
	int rc = 0;
	*options = (struct options){ .dump = NULL };
	for (int i = 1; i < argc && rc >= 0; i++) {
		const char *word = argv[i];
		if (only_arguments || word[0] != '-' || !word[1]) {
			rc = take_argument(options, word);
		} else if (!strcmp(word, "--")) {
			only_arguments = true;
		} else if (word[1] == 'o') {
			const char *group = word[2] ? word + 2 : i + 1 < argc ? argv[++i] : NULL;
			rc = group ? take_group(options, group) : -1;
			if (!group)
				fputs("heapfs: -o: which option?\n", stderr);
		} else {
			rc = take_alone(options, word, i + 1 < argc ? argv[i + 1] : NULL);
			i += rc > 0;
		}
	}
	return rc < 0 ? -1 : 0;
}

/* --- what the values mean --- */

/* A decimal number from `least` to `most`; 0 where the option was not given. */
static int parse_number(const char *name, const char *value, unsigned least, unsigned most, unsigned *number)
{
	*number = 0;
	if (!value || value_number(value, least, most, number))
		return 0;
	fprintf(stderr, "heapfs: %s=%s: must be a number, at least %u", name, value, least);
	fprintf(stderr, most == UINT32_MAX ? "\n" : " and at most %u\n", most);
	return -1;
}

/* Bytes, with K, M or G behind them; 0 where the option was not given. */
static int parse_size(const char *name, const char *value, uint64_t *size)
{
	*size = 0;
	if (!value || (value_size(value, size) && *size))
		return 0;
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
				       .unpacked = options->unpacked, .mapping = options->mapping,
				       .pictures = (const char *const *)options->pictures,
				       .picture_count = options->picture_count, .beside = !options->not_beside };
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
	if (options->baseline_mapping) /* of another build, in which names are others */
		settings->baseline.mapping = options->baseline_mapping;
	settings->baseline.only_pid = false;
	settings->baseline.unpacked = NULL;
	settings->baseline.picture_count = 0;
	settings->baseline.beside = false;
	if (parse_number("baseline_dump", options->baseline_dump, 1, UINT32_MAX, &settings->baseline.dump) ||
	    parse_number("baseline_time", options->baseline_time, 0, INT32_MAX, &time) ||
	    parse_number("skip_root_levels", options->skip_root_levels, 0, UINT32_MAX, &settings->tree.skip_root_levels))
		return -1;
	settings->tree.since_given = options->baseline_time != NULL;
	settings->tree.since_ms = time;
	const char *idle = options->baseline_dump && !options->baseline ? "baseline_dump" :
			   options->baseline_mapping && !options->baseline ? "baseline_mapping" :
			   options->skip_root_levels && !options->baseline && !options->baseline_time ? "skip_root_levels" :
													NULL;
	if (idle)
		fprintf(stderr, "heapfs: %s= says what of a baseline is meant, and baseline= was not given\n", idle);
	if (options->baseline && options->baseline_time)
		fputs("heapfs: baseline= and baseline_time= are two things to compare with; give one of them\n", stderr);
	return idle || (options->baseline && options->baseline_time) ? -1 : 0;
}

int options_settings(const struct options *options, struct settings *settings)
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
		.readdirplus = plus, .max_threads = threads,
	};
	return parse_opening(options, settings);
}

void options_free(struct options *options)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].kind == VALUE)
			free(*(char **)(void *)((char *)options + rows[i].member));
	for (size_t i = 0; i < options->symbol_count; i++)
		free(options->symbols[i]);
	for (size_t i = 0; i < options->picture_count; i++)
		free(options->pictures[i]);
	for (size_t i = 0; i < options->rest_count; i++)
		free(options->rest[i]);
	free(options->symbols);
	free(options->pictures);
	free(options->rest);
	free(options->dump);
	free(options->mount_point);
	free(options->mounting);
}
