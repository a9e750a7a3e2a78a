/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/sums.h"

#include <stdlib.h>

static void count_named(struct loli_sums *sums)
{
	for (size_t i = 0; i < sums->symbol_count; i++) {
		struct loli_cursor cursor = loli_cursor(sums->loli, sums->symbols[i].name);
		size_t len;
		if (loli_string(&cursor).count || sums_filled(sums, sums->symbols[i].lib, sums->symbols[i].address, &len))
			sums->libraries[sums->symbols[i].lib].named += symbol_counts(sums, i);
	}
}

/* What is only needed while sums are made. */
static void close_building(struct loli_sums *sums)
{
	table_free(&sums->by_name);
	table_free(&sums->frames);
	texts_finish(&sums->texts);
	free(sums->scratch);
	sums->scratch = NULL;
}

static struct loli_sums *build(struct loli *loli)
{
	struct loli_sums *sums = calloc(1, sizeof *sums);
	if (!sums)
		return NULL;
	sums->loli = loli;
	if (!names_open(sums) || !stacks_build(sums) || !charts_build(sums)) {
		sums_close(sums);
		return NULL;
	}
	count_named(sums);
	close_building(sums);
	return sums;
}

const struct loli_sums *loli_sums(struct loli *loli)
{
	struct loli_sums *sums = atomic_load_explicit(&loli->sums, memory_order_acquire);
	if (sums)
		return sums;
	pthread_mutex_lock(&loli->lock);
	sums = atomic_load(&loli->sums);
	if (!sums) {
		const bool touched = input_touched_bad;
		const uint64_t epoch = input_begin();
		sums = build(loli);
		/* What was made while the file was being cut may be of zeros. (In tests there is no file.) */
		if (sums && loli->in->fd >= 0 && !input_unharmed(loli->in, epoch)) {
			sums_close(sums);
			sums = NULL;
		}
		input_touched_bad |= touched;
		atomic_store_explicit(&loli->sums, sums, memory_order_release);
	}
	pthread_mutex_unlock(&loli->lock);
	if (!sums)
		input_touched_bad = true; /* no answer is better than an empty one, which the kernel would keep */
	return sums;
}

void loli_sums_forget(struct loli *loli)
{
	sums_close(atomic_exchange(&loli->sums, NULL));
}

bool sums_record(const struct loli_sums *sums, const struct loli_entry *entry, struct loli_record *record)
{
	struct loli_cursor cursor = loli_cursor(sums->loli, sums->records_at[entry->number / LOLI_RECORD_STEP]);
	const uint8_t *p = NULL;
	for (uint32_t i = 0; i <= entry->number % LOLI_RECORD_STEP; i++) {
		loli_string(&cursor); /* its UUID */
		p = loli_take(&cursor, LOLI_RECORD);
	}
	if (p)
		*record = loli_record_of(p);
	return p != NULL;
}

void sums_close(struct loli_sums *sums)
{
	if (!sums)
		return;
	close_building(sums);
	texts_free(&sums->texts);
	table_free(&sums->keys);
	for (size_t i = 0; i < sums->series_count; i++)
		free(sums->series[i].points);
	free(sums->series);
	free(sums->times);
	free(sums->entries.bytes);
	free(sums->unpacked);
	free(sums->records_at);
	free(sums->libraries);
	free(sums->functions);
	free(sums->nodes);
	free(sums->symbols);
	free(sums->ranges);
	free(sums->mappings);
	free(sums->by_function);
	free(sums->by_library);
	free(sums->by_stack);
	free(sums->stacks);
	free(sums);
}
