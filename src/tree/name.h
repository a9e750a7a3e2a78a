/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name: names that can be copied anywhere.
 *
 * One name with a slash, or an empty one, makes the kernel refuse a whole listing, and names that other file
 * systems do not take make copies fail. So `/ % \ : * ? " < > |`, control characters, bytes that are no UTF-8,
 * a leading `-` or blank and a trailing dot or blank become %XX. A name over 255 bytes is cut at a character
 * and ends in `~` and 8 hex digits of a hash of the whole.
 */
#ifndef HEAPFS_NAME_H
#define HEAPFS_NAME_H

#include "tree/text.h"

#define NAME_MOST 255

/*
 * Appends a file name for `name`, at most `most` bytes long. The name of a `member` (a field, a static) has
 * its dots and @ escaped too: a dot marks the tree's own entries of an object's folder, an @ what tells apart
 * fields of one name.
 */
void name_escape(struct text *text, struct name name, size_t most, bool member);

/* The id that `name` (of `len` bytes) spells, in its one spelling; false if it is no id. */
bool name_parse_id(const char *name, size_t len, uint64_t *id);
/* Likewise for hex without 0x (folders of objects/). */
bool name_parse_hex(const char *name, size_t len, uint64_t *value);
/* Decimal digits, without leading zeros unless `width` says how many digits there must be. */
bool name_parse_decimal(const char *name, size_t len, unsigned width, uint64_t *value);

#endif
