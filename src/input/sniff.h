/* SPDX-License-Identifier: Apache-2.0 */
/* sniff: what bytes are, judged by themselves, never by a file's name. */
#ifndef HEAPFS_SNIFF_H
#define HEAPFS_SNIFF_H

#include <stdbool.h>
#include <stdint.h>

enum content { CONTENT_HPROF, CONTENT_GZIP, CONTENT_PERFETTO, CONTENT_LOLI, CONTENT_OTHER };

/* What begins with these bytes; `whole` tells that there are no more. */
enum content sniff_content(const uint8_t *data, uint64_t len, bool whole);

/* What CONTENT_OTHER is and what to do about it, as the end of a sentence: "a zip archive; unpack it first". */
const char *sniff_other(const uint8_t *data, uint64_t len);

#endif
