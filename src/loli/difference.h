/* SPDX-License-Identifier: Apache-2.0 */
/*
 * difference: a comparison as a profile of its own, as LoliProfiler's src/profilecomparator.cpp (ExportToLoli) writes it: a
 * record for each leaf that grew, with its growth as size, cut to 32 bits, and neither time nor address; the symbols of
 * both profiles; nothing else. LoliProfiler's UUIDs are random; here they are numbers, so that the same two profiles always
 * give the same bytes, and a library has one key.
 */
#ifndef HEAPFS_DIFFERENCE_H
#define HEAPFS_DIFFERENCE_H

#include "loli/report.h"

#include <stdio.h>

/* 0, or -1 with errno: of writing, ENOMEM, EFBIG where there are too many records for the format. */
int loli_write_difference(FILE *out, const struct report *report);

#endif
