/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text: messages in protobuf's text format, as Perfetto's trace configs are written: nested messages in { } or < >,
 * strings in either quotes (several in a row are one), numbers, words, lists in [ ], comments behind #. It knows no schema:
 * all that is there becomes a tree of fields (protobuf.dev, "Text Format Language Specification").
 */
#ifndef HEAPFS_CONFIG_TEXT_H
#define HEAPFS_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_field {
	struct config_field *next;	/* in the same message */
	struct config_field *first;	/* of a message: its fields */
	char *name;
	char *value;			/* of what is no message: without quotes and escapes */
	bool message, string;
	unsigned line;
};

/* The fields of the outermost message, or NULL with what is wrong, and in which line, in `error`. */
struct config_field *config_read(const char *text, size_t len, char *error, size_t error_size);
void config_free(struct config_field *fields);

/* Values of their types; false for others. */
bool config_bool(const struct config_field *field, bool *value);
bool config_number(const struct config_field *field, uint64_t *value);

#endif
