/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/symbols.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ELF_MAGIC "\x7f" "ELF"

extern char **environ;

struct symbol {
	uint64_t address;
	uint64_t size;		/* 0: up to the next one */
	size_t name, len;	/* in the text */
};

struct symbol_file {
	char *lib;
	char *text;
	struct symbol *list;
	size_t text_len, count;
};

struct symbol_files {
	struct symbol_file *list;
	size_t count;
};

/* Why something cannot be used. */
struct complaint {
	char *text;
	size_t size;
};

static int complain(const struct complaint *complaint, const char *path, const char *what)
{
	snprintf(complaint->text, complaint->size, "symbols=%s: %s", path, what);
	return -1;
}

/* --- nm --- */

static bool parse_hex(const char **p, const char *end, uint64_t *value)
{
	unsigned digits = 0;
	for (*value = 0; *p < end && isxdigit((unsigned char)**p) && digits < 16; digits++, ++*p)
		*value = *value << 4 | (unsigned)(isdigit((unsigned char)**p) ? **p - '0' : (**p & ~0x20) - 'A' + 10);
	return digits >= 8 && *p < end && **p == ' ' && (++*p, true);
}

/* "address [size] type name", of the types that are code. */
static bool parse_line(const char *text, size_t from, size_t to, struct symbol *symbol)
{
	const char *p = text + from, *end = text + to;
	symbol->size = 0;
	if (!parse_hex(&p, end, &symbol->address))
		return false;
	parse_hex(&p, end, &symbol->size);
	if (end - p < 3 || p[1] != ' ' || !strchr("TtWwiu", *p))
		return false;
	symbol->name = (size_t)(p + 2 - text);
	symbol->len = (size_t)(end - p) - 2;
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Takes the text, which is malloc()ed. */
static int parse(struct symbol_file *file, char *text, size_t len)
{
	size_t capacity = 0;
	file->text = text;
	file->text_len = len;
	for (size_t from = 0; from < len;) {
		const char *newline = memchr(text + from, '\n', len - from);
		size_t to = newline ? (size_t)(newline - text) : len;
		const size_t next = to + 1;
		struct symbol symbol;
		if (to > from && text[to - 1] == '\r')
			to--;
		if (parse_line(text, from, to, &symbol)) {
			if (file->count == capacity) {
				capacity = capacity ? capacity * 2 : 1024;
				struct symbol *grown = reallocarray(file->list, capacity, sizeof *grown);
				if (!grown)
					return -1;
				file->list = grown;
			}
			file->list[file->count++] = symbol;
		}
		from = next;
	}
	if (file->count)
		qsort(file->list, file->count, sizeof *file->list, compare_symbols);
	return 0;
}

static char *read_all(int fd, size_t *len)
{
	size_t capacity = 1 << 16;
	char *text = malloc(capacity);
	*len = 0;
	while (text) {
		const ssize_t got = read(fd, text + *len, capacity - *len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (!got)
				return text;
			break;
		}
		*len += (size_t)got;
		if (*len == capacity) {
			char *grown = realloc(text, capacity *= 2);
			if (!grown)
				break;
			text = grown;
		}
	}
	free(text);
	return NULL;
}

/* What `nm` says of a library; NULL with errno, or 0 there where nm failed. */
static char *run_nm(const char *path, const char *which, size_t *len)
{
	char name[] = "nm", dashes[] = "--", *which_copy = strdup(which), *path_copy = strdup(path), *text = NULL;
	char *const arguments[] = { name, which_copy, dashes, path_copy, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status, error = ENOMEM;
	pid_t pid;
	if (which_copy && path_copy && !pipe2(ends, O_CLOEXEC)) {
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		error = posix_spawnp(&pid, name, &actions, NULL, arguments, environ);
		posix_spawn_file_actions_destroy(&actions);
		close(ends[1]);
		text = error ? NULL : read_all(ends[0], len);
		close(ends[0]);
		if (!error) {
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				;
			if (!WIFEXITED(status) || WEXITSTATUS(status)) {
				free(text);
				text = NULL;
			}
		}
	}
	free(which_copy);
	free(path_copy);
	errno = error;
	return text;
}

/* An ELF file's own symbols, or, where it was stripped, those that it offers to others. */
static int open_elf(struct symbol_file *file, const char *path, const struct complaint *complaint)
{
	static const char *const ways[] = { "-nC", "-nCD" };
	for (size_t i = 0; i < sizeof ways / sizeof *ways && !file->count; i++) {
		size_t len;
		char *text = run_nm(path, ways[i], &len);
		if (!text)
			return complain(complaint, path, errno == ENOENT ? "nm is needed to read it (binutils)" :
							 errno		 ? strerror(errno) :
									   "nm cannot read it");
		free(file->text);
		if (parse(file, text, len))
			return complain(complaint, path, strerror(ENOMEM));
	}
	return file->count ? 0 : complain(complaint, path, "has no symbols of functions; was it stripped?");
}

/* --- files --- */

/* "libgame.so" of "…/libgame.so", "libgame.nm.txt" or "libgame.so.txt". */
static char *library_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *library;
	return asprintf(&library, "%.*s.so", (int)strcspn(name, "."), name) < 0 ? NULL : library;
}

static void close_file(struct symbol_file *file)
{
	free(file->lib);
	free(file->text);
	free(file->list);
	memset(file, 0, sizeof *file);
}

/* Takes what it can of an open file. */
static int read_symbols(struct symbol_file *file, const char *path, int fd, const struct complaint *complaint)
{
	char magic[4];
	size_t len;
	file->lib = library_name(path);
	if (!file->lib)
		return complain(complaint, path, strerror(ENOMEM));
	if (pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && !memcmp(magic, ELF_MAGIC, sizeof magic))
		return open_elf(file, path, complaint);
	char *text = read_all(fd, &len);
	if (!text || parse(file, text, len))
		return complain(complaint, path, strerror(text ? ENOMEM : errno));
	return file->count ? 0 : complain(complaint, path, "neither an ELF library nor what nm -nC prints of one");
}

static int open_file(struct symbol_files *files, const char *path, int fd, const struct complaint *complaint)
{
	struct symbol_file file = { .count = 0 };
	if (read_symbols(&file, path, fd, complaint)) {
		close_file(&file);
		return -1;
	}
	struct symbol_file *grown = reallocarray(files->list, files->count + 1, sizeof *grown);
	if (!grown) {
		close_file(&file);
		return complain(complaint, path, strerror(ENOMEM));
	}
	files->list = grown;
	files->list[files->count++] = file;
	return 0;
}

static bool is_library(const char *name)
{
	const size_t len = strlen(name);
	return len > 3 && !strcmp(name + len - 3, ".so") && *name != '.';
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* The libraries, or the folders, in a folder, by name. How many; -1 without memory. */
static int list_folder(const char *path, bool folders, char ***names)
{
	DIR *dir = opendir(path);
	int count = 0;
	*names = NULL;
	for (const struct dirent *entry; dir && count >= 0 && (entry = readdir(dir));) {
		char *own;
		struct stat st;
		if (*entry->d_name == '.' || (!folders && !is_library(entry->d_name)))
			continue;
		if (asprintf(&own, "%s/%s", path, entry->d_name) < 0)
			own = NULL;
		if (own && (stat(own, &st) || !(folders ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)))) {
			free(own);
			continue;
		}
		char **grown = own ? reallocarray(*names, (size_t)count + 1, sizeof *grown) : NULL;
		if (!grown) {
			free(own);
			free_names(*names, count);
			*names = NULL;
			count = -1;
		} else {
			*names = grown;
			grown[count++] = own;
		}
	}
	if (dir)
		closedir(dir);
	if (count > 0)
		qsort(*names, (size_t)count, sizeof **names, by_name);
	return count;
}

/* The libraries of a folder. How many were taken. */
static size_t open_libraries(struct symbol_files *files, const char *path, struct notes *notes)
{
	char **names, error[PATH_MAX + 128];
	const struct complaint complaint = { error, sizeof error };
	const int count = list_folder(path, false, &names);
	const size_t before = files->count;
	if (count < 0)
		notes_add(notes, "a folder of libraries that cannot be read", NOTE_NO_OFFSET, 0, "%s: %s", path, strerror(ENOMEM));
	for (int i = 0; i < count; i++) {
		const int fd = open(names[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0 || open_file(files, names[i], fd, &complaint))
			notes_add(notes, "a library whose symbols cannot be read", NOTE_NO_OFFSET, 0, "%s",
				  fd < 0 ? names[i] : error);
		if (fd >= 0)
			close(fd);
	}
	free_names(names, count);
	return files->count - before;
}

/* How much a folder of this name is wanted: Android's ABIs, the commonest of the right width first. */
static unsigned rank_of(const char *path, bool wide)
{
	static const char *const abis[2][3] = { { "armeabi-v7a", "x86", "armeabi" }, { "arm64-v8a", "x86_64", "riscv64" } };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (unsigned i = 0; i < 6; i++)
		if (!strcmp(name, abis[i < 3 ? wide : !wide][i % 3]))
			return i;
	return 6;
}

/*
 * A folder of libraries, or of one folder of them an ABI. A profile does not say which it is of, but how wide
 * addresses are.
 */
static int open_folder(struct symbol_files *files, const char *path, bool wide, struct notes *notes,
		       const struct complaint *complaint)
{
	char **names;
	size_t abis = 0;
	if (open_libraries(files, path, notes))
		return 0;
	const int count = list_folder(path, true, &names);
	const char *wanted = NULL;
	for (int i = 0; i < count; i++) {
		char **libraries;
		const int found = list_folder(names[i], false, &libraries);
		free_names(libraries, found);
		abis += found > 0;
		if (found > 0 && (!wanted || rank_of(names[i], wide) < rank_of(wanted, wide)))
			wanted = names[i];
	}
	if (abis > 1)
		notes_add(notes, "symbols are taken of one ABI of several", NOTE_NO_OFFSET, 0, "%s", wanted);
	const int rc = !wanted ? complain(complaint, path, "a folder without libraries (<abi>/lib*.so)") :
		       !open_libraries(files, wanted, notes) ? complain(complaint, path, "no library in it has symbols") : 0;
	free_names(names, count);
	return rc;
}

int symbols_open(struct symbol_files **files, const char *const *paths, size_t count, bool wide, struct notes *notes,
		 char *error, size_t error_size)
{
	const struct complaint complaint = { error, error_size };
	*files = calloc(1, sizeof **files);
	int rc = *files ? 0 : complain(&complaint, *paths, strerror(ENOMEM));
	for (size_t i = 0; i < count && !rc; i++) {
		struct stat st;
		const int fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &st))
			rc = complain(&complaint, paths[i], strerror(errno));
		else if (S_ISDIR(st.st_mode))
			rc = open_folder(*files, paths[i], wide, notes, &complaint);
		else if (!S_ISREG(st.st_mode))
			rc = complain(&complaint, paths[i], "neither a file nor a folder");
		else
			rc = open_file(*files, paths[i], fd, &complaint);
		if (fd >= 0)
			close(fd);
	}
	return rc;
}

void symbols_close(struct symbol_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->count; i++)
		close_file(&files->list[i]);
	free(files->list);
	free(files);
}

/* The last symbol at or before a place, of one file; of those at one place the last, as LoliProfiler takes it. */
static const struct symbol *before(const struct symbol_file *file, uint64_t address)
{
	size_t low = 0, high = file->count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (file->list[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	const struct symbol *symbol = &file->list[low - 1];
	return !symbol->size || address - symbol->address < symbol->size ? symbol : NULL;
}

const char *symbols_find(const struct symbol_files *files, const char *library, size_t library_len, uint64_t address,
			 size_t *len)
{
	for (size_t i = 0; i < files->count && address; i++) {
		const struct symbol_file *file = &files->list[i];
		if (strlen(file->lib) != library_len || memcmp(file->lib, library, library_len))
			continue;
		const struct symbol *symbol = before(file, address - 1);
		if (symbol) {
			*len = symbol->len;
			return file->text + symbol->name;
		}
	}
	return NULL;
}

size_t symbols_count(const struct symbol_files *files, size_t *libraries)
{
	size_t count = 0;
	for (size_t i = 0; i < files->count; i++)
		count += files->list[i].count;
	*libraries = files->count;
	return count;
}
