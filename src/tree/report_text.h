/* SPDX-License-Identifier: Apache-2.0 */
/* report_text: LoliProfiler's reports, byte for byte, as its src/profilecomparator.cpp writes them. */
#ifndef HEAPFS_REPORT_TEXT_H
#define HEAPFS_REPORT_TEXT_H

#include "loli/report.h"
#include "tree/text.h"

/* Line `i` of a report, from 1 on, or, as number 0, all that stands before its lines. */
void put_report(struct text *text, const struct report *report, uint64_t i);

#endif
