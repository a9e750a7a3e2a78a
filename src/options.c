/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
	FLAG,			/* an int, set to 1 */
	VALUE,			/* a text: behind "name=" in -o, behind "--name=" or as the next argument */
	SYMBOLS,		/* "symbols=", each of which counts */
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
	ROW("baseline=", baseline, VALUE, false, false),
	ROW("baseline_dump=", baseline_dump, VALUE, false, false),
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
			fprintf(stderr, "heapfs: %s: what?\n", word);
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

void options_free(struct options *options)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].kind == VALUE)
			free(*(char **)(void *)((char *)options + rows[i].member));
	for (size_t i = 0; i < options->symbol_count; i++)
		free(options->symbols[i]);
	for (size_t i = 0; i < options->rest_count; i++)
		free(options->rest[i]);
	free(options->symbols);
	free(options->rest);
	free(options->dump);
	free(options->mount_point);
	free(options->mounting);
}
