/* SPDX-License-Identifier: Apache-2.0 */
/* sniff: what a file is that is no heap dump, for a message that helps. Judged by its bytes, never its name. */
#ifndef HEAPFS_SNIFF_H
#define HEAPFS_SNIFF_H

#include "input/input.h"

/* What the file is and what to do about it, as the end of a sentence: "a zip archive; unpack it first". */
const char *sniff(const struct input *in);

#endif
