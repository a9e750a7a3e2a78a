/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping: the names that classes and fields had before R8 or ProGuard shortened them.
 *
 * The file is text. A line `original.Name -> a.b:` begins a class; the indented lines below it are its members,
 * fields as `type original -> a` (a method has parentheses); a line that begins with `#` is a comment. Classes
 * are sorted once, 48 bytes each; members are looked for in the text when a class's fields are named.
 */
#ifndef HEAPFS_MAPPING_H
#define HEAPFS_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping_class {
	const char *obfuscated, *original;	/* not NUL-terminated; names with dots, no arrays */
	size_t obfuscated_len, original_len;
	const char *members, *end;		/* the lines below the class's own */
};

struct mapping {
	char *text;
	struct mapping_class *classes;		/* by obfuscated name */
	size_t count;
};

/* Reads a mapping file. 0, or -1 with a message for the user in `error`. */
int mapping_open(struct mapping *mapping, const char *path, char *error, size_t error_size);
void mapping_close(struct mapping *mapping);

/* The class that the dump calls `name`, or NULL. */
const struct mapping_class *mapping_find(const struct mapping *mapping, const char *name, size_t len);

/*
 * What the field of this name was called: of several (a class may have fields of one name that differ in type)
 * the first of this type, else the first. False if there is none; else `original` points into the mapping.
 */
bool mapping_field(const struct mapping_class *class, const char *name, size_t len, uint8_t type,
		   const char **original, size_t *original_len);

#endif
