/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples: the dumps that tests use, by kind. The same kind is always the same bytes.
 */
#ifndef HEAPFS_SAMPLES_H
#define HEAPFS_SAMPLES_H

#include "writer.h"

struct sample {
	const char *kind;
	void (*make)(struct writer *out);	/* `out` is not initialised yet */
	const char *what;
};
extern const struct sample samples[];
extern const size_t sample_count;

/* Makes the sample of that kind; false if there is none. */
bool sample_make(const char *kind, struct writer *out);

/* How many objects each part of the kind `bad-subrecord` and its like have. */
#define DAMAGE_OBJECTS 50

void sample_android(struct writer *out);
void sample_jvm(struct writer *out);
void sample_threads(struct writer *out);
void sample_many_threads(struct writer *out);
void sample_leaks_android(struct writer *out);
void sample_leaks_jvm(struct writer *out);
void sample_bitmaps_10(struct writer *out);
void sample_bitmaps_16(struct writer *out);
void sample_bitmaps_19(struct writer *out);
void sample_bitmaps_22(struct writer *out);
void sample_bitmaps_24(struct writer *out);
void sample_bitmaps_28(struct writer *out);
void sample_bitmaps_35(struct writer *out);
void sample_bitmaps_35_without(struct writer *out);
void sample_bitmaps_36(struct writer *out);
void sample_bitmaps_mixed(struct writer *out);
void sample_bitmaps_large(struct writer *out);
void sample_bitmaps_recycled(struct writer *out);
void sample_bitmaps_refused(struct writer *out);
void sample_bitmaps_none(struct writer *out);

void sample_collections(struct writer *out);
void sample_collections_6(struct writer *out);
void sample_collections_android(struct writer *out);
void sample_collections_broken(struct writer *out);
/* Equal contents. See sample_equal.c, which says what is equal to what. */
void sample_equal(struct writer *out);
void sample_equal_art(struct writer *out);
void sample_equal_jdk6(struct writer *out);

/* One program before and after, and after in another process. See sample_diff.c. */
#define DIFF_TEXTS 100
#define DIFF_ROWS 50		/* before, the first 40; afterwards all but the first 5 */
#define DIFF_ROWS_BEFORE 40
#define DIFF_ROWS_GONE 5
#define DIFF_TAGS 10
enum diff_moment { DIFF_BEFORE, DIFF_AFTER, DIFF_OTHER };
struct diff_sample {
	enum diff_moment moment;
	/* Ids, set by the maker. */
	uint64_t rows[DIFF_ROWS], tags[DIFF_TAGS], table, holder, counter, elements, strings[6], single;
	unsigned string_count;
};
void sample_diff(struct writer *out, enum vm_kind kind, unsigned id_width, struct diff_sample *sample);
void sample_diff_before(struct writer *out);
void sample_diff_after(struct writer *out);
void sample_diff_other(struct writer *out);

/* N objects, written as they are made. */
int sample_big(uint64_t objects, const char *path);
/* A Perfetto trace with a heap graph of N objects. */
int sample_graph(uint64_t objects, const char *path);
/* So many square ARGB_8888 Bitmaps in mBuffer: three photos, of which no pixel is translucent, then one whose all are. */
int sample_pictures(unsigned count, unsigned side, const char *path);

#endif
