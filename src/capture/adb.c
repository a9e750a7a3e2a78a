/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/adb.h"
#include "capture/say.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MOST 64

static bool is_program(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* "FOLDER/BELOW/platform-tools/adb" in adb->path, if it is there. */
static bool try_folder(struct adb *adb, const char *folder, const char *below)
{
	if (!folder || !*folder)
		return false;
	if (asprintf(&adb->path, "%s%s/platform-tools/adb", folder, below) < 0)
		adb->path = NULL;
	if (adb->path && is_program(adb->path))
		return true;
	free(adb->path);
	adb->path = NULL;
	return false;
}

static bool try_path(struct adb *adb)
{
	const char *path = getenv("PATH");
	for (const char *end; path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (end == path || asprintf(&adb->path, "%.*s/adb", (int)(end - path), path) < 0)
			continue;
		if (is_program(adb->path))
			return true;
		free(adb->path);
		adb->path = NULL;
	}
	return false;
}

int adb_open(struct adb *adb)
{
	const char *home = getenv("HOME");
	*adb = (struct adb){ .path = NULL };
	if (try_folder(adb, getenv("ANDROID_HOME"), "") || try_folder(adb, getenv("ANDROID_SDK_ROOT"), "") ||
	    try_folder(adb, home, "/Library/Android/sdk") || try_folder(adb, home, "/Android/Sdk") || try_path(adb))
		return 0;
	say("adb is not there: not below ANDROID_HOME or ANDROID_SDK_ROOT, ~/Android/Sdk or ~/Library/Android/sdk, nor in PATH; "
	    "install Android's platform tools (Debian: apt install adb)");
	return -1;
}

void adb_close(struct adb *adb)
{
	free(adb->path);
	adb->path = NULL;
}

int adb_run(const struct adb *adb, struct run *run, const char *const *arguments, struct output *output)
{
	const char *argv[ARGUMENTS_MOST + 4] = { adb->path };
	size_t count = 1;
	if (adb->serial) {
		argv[count++] = "-s";
		argv[count++] = adb->serial;
	}
	for (size_t i = 0; arguments[i] && i < ARGUMENTS_MOST; i++)
		argv[count++] = arguments[i];
	run->argv = argv;
	const int rc = run_program(run, output);
	run->argv = NULL;
	return rc;
}

int adb_call(const struct adb *adb, int timeout, const char *const *arguments, struct output *output)
{
	struct run run = { .timeout = timeout };
	return adb_run(adb, &run, arguments, output);
}

int adb_shell(const struct adb *adb, int timeout, const char *const *words, struct output *output)
{
	const char *arguments[ARGUMENTS_MOST + 2] = { "shell" };
	char *quoted[ARGUMENTS_MOST];
	size_t count = 0;
	bool failed = false;
	for (; words[count] && count < ARGUMENTS_MOST && !failed; count++) {
		arguments[1 + count] = quoted[count] = adb_quote(words[count]);
		failed = !quoted[count];
	}
	int rc = -1;
	if (failed)
		*output = (struct output){ .end = RUN_FAILED, .status = ENOMEM };
	else
		rc = adb_call(adb, timeout, arguments, output);
	while (count)
		free(quoted[--count]);
	return rc;
}

/* adb joins the words with blanks, and the device's shell reads the line: 'it'\''s'. */
char *adb_quote(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
	if (*word && strspn(word, plain) == strlen(word))
		return strdup(word);
	size_t quotes = 0;
	for (const char *at = word; (at = strchr(at, '\'')) != NULL; at++)
		quotes++;
	char *quoted = malloc(strlen(word) + 3 * quotes + 3), *to = quoted;
	if (!quoted)
		return NULL;
	*to++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *word;
	}
	strcpy(to, "'");
	return quoted;
}

/* The next line, without blanks at its ends; *at goes behind it. False at the end. */
static bool next_line(const char **at, const char **line, size_t *len)
{
	if (!*at || !**at)
		return false;
	const char *begin = *at, *end = strchrnul(begin, '\n');
	*at = *end ? end + 1 : end;
	while (begin < end && isspace((unsigned char)*begin))
		begin++;
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	*line = begin;
	*len = (size_t)(end - begin);
	return true;
}

static bool begins(const char *line, size_t len, const char *with)
{
	return len >= strlen(with) && !memcmp(line, with, strlen(with));
}

/* "java.lang.SecurityException: Process not debuggable", "Error: Unknown option: -b". */
static bool is_error(const char *line, size_t len)
{
	size_t name = 0;
	while (name < len && (isalnum((unsigned char)line[name]) || strchr("_.$", line[name])))
		name++;
	if (len - name < 2 || line[name] != ':' || line[name + 1] != ' ')
		return false;
	return (name >= 5 && !memcmp(line + name - 5, "Error", 5)) || (name >= 9 && !memcmp(line + name - 9, "Exception", 9));
}

bool adb_failed(const struct output *output, char *text, size_t size)
{
	const char *at = output->data, *line;
	size_t len;
	while (next_line(&at, &line, &len))
		if (is_error(line, len) || begins(line, len, "HEAP DUMP FAILED")) {
			snprintf(text, size, "%.*s", (int)(len < 400 ? len : 400), line);
			return true;
		}
	if (output->end == RUN_EXITED && !output->status)
		return false;
	adb_reason(output, text, size);
	return true;
}

const char *adb_reason(const struct output *output, char *text, size_t size)
{
	const char *at = output->data, *line;
	size_t len;
	/* Lines with a star are adb's own, about its server; am says first which file it is, and that it waits for it. */
	while (output->end == RUN_EXITED && next_line(&at, &line, &len))
		if (len && *line != '*' && !begins(line, len, "File: ") && !begins(line, len, "Waiting for dump")) {
			snprintf(text, size, "%.*s", (int)(len < 400 ? len : 400), line);
			return text;
		}
	return run_reason(output, text, size);
}
