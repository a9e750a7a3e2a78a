/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/mapping.h"

#include "hprof/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
	const char *text, *end;
};

static bool next_line(const char **at, const char *end, struct line *line)
{
	if (*at >= end)
		return false;
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	*line = (struct line){ *at, newline ? newline : end };
	*at = newline ? newline + 1 : end;
	while (line->end > line->text && (line->end[-1] == '\r' || line->end[-1] == ' '))
		line->end--;
	return true;
}

static bool is_indented(const struct line *line)
{
	return line->text < line->end && (*line->text == ' ' || *line->text == '\t');
}

static void trim(struct line *line)
{
	while (is_indented(line))
		line->text++;
}

/* Parts "a -> b"; false if there is no arrow. */
static bool split_arrow(const struct line *line, struct line *left, struct line *right)
{
	const char *arrow = memmem(line->text, (size_t)(line->end - line->text), " -> ", 4);
	if (!arrow)
		return false;
	*left = (struct line){ line->text, arrow };
	*right = (struct line){ arrow + 4, line->end };
	trim(left);
	return left->text < left->end && right->text < right->end;
}

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	const int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
	return order ? order : a_len < b_len ? -1 : a_len > b_len;
}

static int compare_classes(const void *a, const void *b)
{
	const struct mapping_class *x = a, *y = b;
	const int order = compare_names(x->obfuscated, x->obfuscated_len, y->obfuscated, y->obfuscated_len);
	return order ? order : x->obfuscated < y->obfuscated ? -1 : x->obfuscated > y->obfuscated;
}

/* Finds the classes in the text. 0, -1 without memory, else the number of a line that cannot be one of a mapping. */
static long find_classes(struct mapping *mapping, size_t size)
{
	const char *at = mapping->text, *end = at + size;
	struct line line, original, obfuscated;
	size_t capacity = 0;
	for (long number = 1; next_line(&at, end, &line); number++) {
		const bool indented = is_indented(&line);
		trim(&line);
		if (line.text == line.end || *line.text == '#')
			continue;
		if (!split_arrow(&line, &original, &obfuscated))
			return number;
		if (indented) {
			if (!mapping->count)
				return number;
			mapping->classes[mapping->count - 1].end = line.end;
			continue;
		}
		if (obfuscated.end[-1] != ':')
			return number;
		if (mapping->count == capacity) {
			capacity = capacity ? 2 * capacity : 256;
			struct mapping_class *grown = reallocarray(mapping->classes, capacity, sizeof *grown);
			if (!grown)
				return -1;
			mapping->classes = grown;
		}
		mapping->classes[mapping->count++] = (struct mapping_class){
			.obfuscated = obfuscated.text, .obfuscated_len = (size_t)(obfuscated.end - 1 - obfuscated.text),
			.original = original.text, .original_len = (size_t)(original.end - original.text),
			.members = at, .end = at,
		};
	}
	if (mapping->count)
		qsort(mapping->classes, mapping->count, sizeof *mapping->classes, compare_classes);
	return 0;
}

/* All of a file. NULL with errno. */
static char *read_text(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t capacity = 0;
	*size = 0;
	while (file) {
		if (*size == capacity) {
			capacity = capacity ? 2 * capacity : 1 << 16;
			char *grown = realloc(text, capacity);
			if (!grown)
				break;
			text = grown;
		}
		const size_t n = fread(text + *size, 1, capacity - *size, file);
		*size += n;
		if (!n && !ferror(file)) {
			fclose(file);
			return text;
		}
		if (!n)
			break;
	}
	const int error = errno;
	if (file)
		fclose(file);
	free(text);
	errno = error;
	return NULL;
}

int mapping_open(struct mapping *mapping, const char *path, char *error, size_t error_size)
{
	size_t size;
	*mapping = (struct mapping){ .text = read_text(path, &size) };
	if (!mapping->text) {
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
		return -1;
	}
	const long line = find_classes(mapping, size);
	if (!line && mapping->count)
		return 0;
	if (line < 0)
		snprintf(error, error_size, "%s: %s", path, strerror(ENOMEM));
	else if (line)
		snprintf(error, error_size,
			 "%s: line %ld: not a mapping of R8 or ProGuard, which has lines like 'com.example.Name -> a.b:'",
			 path, line);
	else
		snprintf(error, error_size, "%s: there is no class in this mapping", path);
	mapping_close(mapping);
	return -1;
}

void mapping_close(struct mapping *mapping)
{
	free(mapping->classes);
	free(mapping->text);
	*mapping = (struct mapping){ NULL, NULL, 0 };
}

const struct mapping_class *mapping_find(const struct mapping *mapping, const char *name, size_t len)
{
	size_t low = 0, high = mapping->count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const struct mapping_class *class = &mapping->classes[mid];
		if (compare_names(class->obfuscated, class->obfuscated_len, name, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == mapping->count || mapping->classes[low].obfuscated_len != len ||
	    memcmp(mapping->classes[low].obfuscated, name, len))
		return NULL;
	return &mapping->classes[low];
}

/* The type of a value in a dump, by its name in Java source. */
static uint8_t type_of(const char *name, size_t len)
{
	for (unsigned type = TYPE_BOOLEAN; type < TYPE_COUNT; type++)
		if (strlen(type_name(type)) == len && !memcmp(name, type_name(type), len))
			return (uint8_t)type;
	return TYPE_OBJECT;
}

bool mapping_field(const struct mapping_class *class, const char *name, size_t len, uint8_t type,
		   const char **original, size_t *original_len)
{
	const char *at = class->members;
	struct line line, left, right;
	bool found = false;
	while (next_line(&at, class->end, &line)) {
		trim(&line);
		if (line.text == line.end || *line.text == '#' || !split_arrow(&line, &left, &right) ||
		    (size_t)(right.end - right.text) != len || memcmp(right.text, name, len) ||
		    memchr(left.text, '(', (size_t)(left.end - left.text)))
			continue;
		const char *space = memrchr(left.text, ' ', (size_t)(left.end - left.text));
		if (!space)
			continue;
		const bool same_type = type_of(left.text, (size_t)(space - left.text)) == type;
		if (found && !same_type)
			continue;
		/* One that was moved here from another class is written with that class's name. */
		const char *dot = memrchr(space, '.', (size_t)(left.end - space));
		*original = dot ? dot + 1 : space + 1;
		*original_len = (size_t)(left.end - *original);
		found = true;
		if (same_type)
			break;
	}
	return found;
}
