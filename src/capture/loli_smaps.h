/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loli_smaps: a process's mappings from the text of its /proc/PID/smaps, as LoliProfiler keeps them (src/cliprofiler.cpp,
 * ReadSMapsFile): one section for all mappings whose file has the same name without its folder, their ranges in the order
 * of the text, their sizes added up. What has no name is "anonymous"; a name in brackets stays whole.
 */
#ifndef HEAPFS_LOLI_SMAPS_H
#define HEAPFS_LOLI_SMAPS_H

#include "loli/table.h"

#include <stdio.h>

/* Sizes, KiB, in the order of the profile. */
enum { SMAPS_VIRTUAL, SMAPS_RSS, SMAPS_PSS, SMAPS_PRIVATE_CLEAN, SMAPS_PRIVATE_DIRTY, SMAPS_SHARED_CLEAN, SMAPS_SHARED_DIRTY,
       SMAPS_SIZES };

struct smaps_range {
	uint64_t start, end, offset;
};

struct smaps_section {
	uint32_t text;		/* of its name, in loli_smaps.names; also its own number */
	bool searched;		/* its name ends in ".so": only such ones are searched for an address, as in LoliProfiler */
	bool based;		/* one of its ranges has offset 0 */
	uint64_t base;		/* start of the first such one */
	struct smaps_range *ranges;
	size_t count, capacity;
	uint32_t kib[SMAPS_SIZES];
};

struct loli_smaps {
	struct texts names;
	struct smaps_section *list;
	size_t count, capacity;
	struct smaps_place *places; /* all ranges of libraries, by address */
	size_t place_count;
};

/* Reads the text to its end. Lines that are of no use are passed over. False without memory. */
bool loli_smaps_read(struct loli_smaps *smaps, FILE *text);
void loli_smaps_free(struct loli_smaps *smaps);

/*
 * The library that an address lies in, or NULL. *relative is the address less the start of the library's first range of
 * offset 0, which is what the symbols of its file say (LoliProfiler v1.1.6 and later); where there is no such range, less
 * that of the file's beginning, reckoned from the range that holds it.
 */
const struct smaps_section *loli_smaps_find(const struct loli_smaps *smaps, uint64_t address, uint64_t *relative);

#endif
