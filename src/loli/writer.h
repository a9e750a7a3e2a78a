/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer: the pieces that a .loli file is made of (see loli.h for what stands where). Numbers are big-endian. They go
 * through stdio; whoever calls asks ferror() once, in the end.
 */
#ifndef HEAPFS_LOLI_WRITER_H
#define HEAPFS_LOLI_WRITER_H

#include "loli/loli.h"

#include <stdio.h>

void loli_put_u32(FILE *out, uint32_t value);
void loli_put_u64(FILE *out, uint64_t value);
void loli_put_real(FILE *out, double value);
/* UTF-8, `len` bytes of it, as a string of UTF-16; what is none becomes U+FFFD. NULL is a null string. */
void loli_put_text(FILE *out, const char *utf8, size_t len);
/* As Qt prints it: in braces, lower case. */
void loli_put_uuid(FILE *out, struct loli_uuid uuid);

#endif
