/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loli_save: what was captured from LoliProfiler's agent, as a profile of version 106. The records are read again from the
 * agent's temporary file for each section, so that memory does not grow with them: kept are only the distinct places in
 * libraries that they were allocated from, since LoliProfiler fills in names for those that the profile lists.
 */
#ifndef HEAPFS_LOLI_SAVE_H
#define HEAPFS_LOLI_SAVE_H

#include "capture/loli_agent.h"
#include "capture/loli_smaps.h"

#define LOLI_SERIES_COUNT 6

/* Total, native heap, Gfx dev, EGL mtrack, GL mtrack, Unknown; MiB. */
struct loli_sample {
	uint32_t seconds;
	uint32_t mib[LOLI_SERIES_COUNT];
};

struct loli_samples {
	struct loli_sample *list;
	size_t count, capacity;
	FILE *pictures;		/* u32 seconds, u32 size, bytes; again and again, as in the profile. NULL: none */
	uint32_t picture_count;
};

/* Appends; false without memory or where a picture could not be written. `pictures` is the caller's to open and close. */
bool loli_samples_add(struct loli_samples *samples, const struct loli_sample *sample);
bool loli_samples_add_picture(struct loli_samples *samples, uint32_t seconds, const void *data, uint32_t len);
void loli_samples_free(struct loli_samples *samples);

struct loli_saved {
	uint64_t records, bytes; /* in the profile */
	uint64_t freed;		/* of all that came, whether they are in the profile or not */
	uint64_t unresolved;	/* frames that lie in no library */
};

/*
 * Writes a profile: of records that were freed later, only with `all`. The agent's records and the pictures are read from
 * their beginning. 0, or -1 with a message.
 */
int loli_save(FILE *out, struct loli_agent *agent, const struct loli_smaps *smaps, struct loli_samples *samples, bool all,
	      struct loli_saved *saved, char *error, size_t error_size);

#endif
