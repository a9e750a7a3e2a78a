/* SPDX-License-Identifier: Apache-2.0 */
/* Which classes of the two dumps are one. */
#include "diff/parts.h"
#include "loli/table.h"

#include <errno.h>
#include <stdlib.h>

/* Numbers the folded names of one dump's classes. */
static bool number_names(struct diff *diff, enum diff_side side, struct texts *names)
{
	const struct heap *heap = diff->heaps[side];
	char *folded = NULL;
	uint32_t room = 0;
	diff->class_of[side] = malloc(((size_t)heap->class_count + 1) * sizeof *diff->class_of[side]);
	bool done = diff->class_of[side] != NULL;
	for (uint32_t i = 0; done && i < heap->class_count; i++) {
		const struct name name = heap->classes[i].name;
		if (name.len >= room) {
			char *grown = realloc(folded, (size_t)name.len + 256);
			if (!grown) {
				done = false;
				break;
			}
			folded = grown;
			room = name.len + 256;
		}
		diff->class_of[side][i] = texts_put(names, folded, fold_name(name, folded));
		done = diff->class_of[side][i] != NUMBER_NONE;
	}
	free(folded);
	return done;
}

static int compare(const void *a, const void *b)
{
	const struct diff_class *x = a, *y = b;
	const int order = diff_order(x->sums, y->sums);
	const uint32_t len = x->name.len < y->name.len ? x->name.len : y->name.len;
	if (order)
		return order;
	const int by_name = memcmp(x->name.text, y->name.text, len);
	return by_name ? by_name : x->name.len < y->name.len ? -1 : x->name.len > y->name.len;
}

/* Has the diff keep the names, and puts the classes into their order; `first` is the number by name for the time being. */
static bool sort_classes(struct diff *diff, const struct texts *names)
{
	size_t bytes = 0;
	for (uint32_t i = 0; i < diff->class_count; i++)
		bytes += names->list[i].len;
	uint32_t *number = malloc(((size_t)diff->class_count + 1) * sizeof *number);
	char *at = diff->names = malloc(bytes + 1);
	if (!number || !at) {
		free(number);
		return false;
	}
	for (uint32_t i = 0; i < diff->class_count; i++) {
		const struct text_entry *name = &names->list[i];
		if (name->len)
			memcpy(at, name->data, name->len);
		diff->classes[i].name = (struct name){ at, name->len };
		diff->classes[i].first = i;
		at += name->len;
	}
	qsort(diff->classes, diff->class_count, sizeof *diff->classes, compare);
	for (uint32_t i = 0; i < diff->class_count; i++)
		number[diff->classes[i].first] = i;
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		for (uint32_t i = 0; i < diff->heaps[side]->class_count; i++)
			diff->class_of[side][i] = number[diff->class_of[side][i]];
	free(number);
	return true;
}

static bool list_members(struct diff *diff)
{
	uint32_t first = 0;
	diff->members = malloc(((size_t)diff->heaps[DIFF_OLD]->class_count + diff->heaps[DIFF_NEW]->class_count + 1) *
			       sizeof *diff->members);
	if (!diff->members)
		return false;
	for (uint32_t i = 0; i < diff->class_count; i++) {
		struct diff_class *class = &diff->classes[i];
		class->first = first;
		first += class->class_count[DIFF_OLD] + class->class_count[DIFF_NEW];
		class->class_count[DIFF_OLD] = class->class_count[DIFF_NEW] = 0;
	}
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		for (uint32_t i = 0; i < diff->heaps[side]->class_count; i++) {
			struct diff_class *class = &diff->classes[diff->class_of[side][i]];
			/* All of the older dump are there before the first of the newer. */
			diff->members[class->first + class->class_count[DIFF_OLD] + class->class_count[DIFF_NEW]] = i;
			class->class_count[side]++;
		}
	return true;
}

int match_classes(struct diff *diff)
{
	struct texts names = { .count = 0 };
	bool done = number_names(diff, DIFF_OLD, &names) && number_names(diff, DIFF_NEW, &names);
	diff->class_count = (uint32_t)names.count;
	diff->classes = done ? calloc(names.count + 1, sizeof *diff->classes) : NULL;
	done = diff->classes != NULL;
	for (unsigned side = 0; done && side < DIFF_SIDES; side++)
		for (uint32_t i = 0; i < diff->heaps[side]->class_count; i++) {
			struct diff_class *class = &diff->classes[diff->class_of[side][i]];
			class->class_count[side]++;
			class->sums[side].count += diff->heaps[side]->classes[i].count;
			class->sums[side].bytes += diff->heaps[side]->classes[i].shallow;
		}
	done = done && sort_classes(diff, &names) && list_members(diff);
	diff->changed = done ? malloc(((size_t)diff->class_count + 1) * sizeof *diff->changed) : NULL;
	done = diff->changed != NULL;
	for (uint32_t i = 0; done && i < diff->class_count; i++)
		if (diff_changed(diff->classes[i].sums))
			diff->changed[diff->changed_count++] = i;
	texts_free(&names);
	return done ? 0 : ENOMEM;
}

void diff_totals(const struct diff *diff, struct diff_sum sums[DIFF_SIDES])
{
	memset(sums, 0, DIFF_SIDES * sizeof *sums);
	for (uint32_t i = 0; i < diff->class_count; i++)
		for (unsigned side = 0; side < DIFF_SIDES; side++) {
			sums[side].count += diff->classes[i].sums[side].count;
			sums[side].bytes += diff->classes[i].sums[side].bytes;
		}
}
