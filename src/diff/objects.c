/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects of one dump are which of the other: see diff.h. Class by class, the largest first, by as many threads as
 * there are; so what is kept meanwhile is bounded by the largest classes.
 */
#include "diff/parts.h"
#include "loli/table.h"

#include <errno.h>
#include <stdlib.h>

/* An object that has no partner yet. */
struct single {
	uint64_t content, offset;
};
struct singles {
	struct single *list;
	size_t count, capacity;
};

struct matching {
	struct diff *diff;
	const _Atomic bool *cancel;
	struct comparer contents[DIFF_SIDES];
	uint32_t *order;	/* classes, those of most objects first */
	_Atomic uint32_t next;	/* in `order`, that nobody has taken */
	_Atomic uint64_t by_id, by_content, changed;
	_Atomic int error;
};

static uint64_t object_count(const struct diff_class *class)
{
	return class->sums[DIFF_OLD].count + class->sums[DIFF_NEW].count;
}

/* --- by id --- */

/*
 * The other dump's object that an object may be, by its id: of the same class, arrays of one length, Strings with one text.
 * `near` is what was found there last.
 */
static bool find_twin(const struct diff *diff, enum diff_side side, const struct object *object, struct object *near,
		      struct object *twin)
{
	const enum diff_side other = side == DIFF_OLD ? DIFF_NEW : DIFF_OLD;
	const struct heap *heap = diff->heaps[side], *other_heap = diff->heaps[other];
	struct found found;
	struct string text, other_text;
	const bool known = near->class ? heap_find_near(other_heap, object->id, near, twin) :
					 heap_find(other_heap, object->id, twin);
	if (!known)
		return false;
	*near = *twin;
	/* Of two objects with one id the first in the file is meant. */
	if (heap->scan.index.duplicates &&
	    (!index_find(&heap->scan.index, object->id, &found) || found.offset != object->offset))
		return false;
	if (twin->kind != object->kind || twin->type != object->type || twin->length != object->length ||
	    diff_class_of(diff, other, twin->class) != diff_class_of(diff, side, object->class))
		return false;
	if (class_number(heap, object->class) != heap->string_class)
		return true;
	const bool has_text = heap_string(heap, object, &text);
	return has_text == heap_string(other_heap, twin, &other_text) && (!has_text || !string_compare(&text, &other_text));
}

/* Is it there where it was, and as it was? Most are, to the last bit. */
static bool is_unchanged(const struct matching *matching, enum diff_side side, const struct object *object, struct object *near)
{
	struct object twin;
	if (!find_twin(matching->diff, side, object, near, &twin))
		return false;
	if (twin.class->id == object->class->id && twin.data_len == object->data_len &&
	    !memcmp(twin.data, object->data, object->data_len))
		return true;
	return content_of(&matching->contents[side], object) == content_of(&matching->contents[!side], &twin);
}

/* Gathers the objects of one dump that need a partner. */
static int gather(struct matching *matching, const struct diff_class *class, enum diff_side side, struct singles *singles)
{
	struct diff *diff = matching->diff;
	const struct heap *heap = diff->heaps[side];
	const uint32_t *members = diff_members(diff, class, side);
	const bool by_id = diff->objects.judgement.by_id;
	struct object near = { .class = NULL };
	uint64_t pairs = 0;
	for (uint32_t i = 0; i < class->class_count[side]; i++) {
		struct cursor cursor;
		if (!heap->classes[members[i]].count)
			continue;
		cursor_seek(&cursor, heap, &heap->classes[members[i]], 0);
		while (cursor_next(&cursor)) {
			struct object object;
			if (!cursor_object(&cursor, &object))
				return EIO;
			if (atomic_load_explicit(matching->cancel, memory_order_relaxed))
				return ECANCELED;
			if (by_id && is_unchanged(matching, side, &object, &near)) {
				pairs++;
				continue;
			}
			if (!table_grow((void **)&singles->list, singles->count, &singles->capacity, sizeof *singles->list))
				return ENOMEM;
			singles->list[singles->count++] = (struct single){ 0, object.offset };
		}
	}
	if (side == DIFF_NEW)
		atomic_fetch_add(&matching->by_id, pairs);
	return 0;
}

/* --- by content --- */

static int compare_singles(const void *a, const void *b)
{
	const struct single *x = a, *y = b;
	if (x->content != y->content)
		return x->content < y->content ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int find_contents(struct matching *matching, enum diff_side side, const struct singles *singles)
{
	const struct comparer *contents = &matching->contents[side];
	for (size_t i = 0; i < singles->count; i++) {
		struct object object;
		if (!heap_object(matching->diff->heaps[side], singles->list[i].offset, &object))
			return EIO;
		if (atomic_load_explicit(matching->cancel, memory_order_relaxed))
			return ECANCELED;
		singles->list[i].content = content_of(contents, &object);
	}
	qsort(singles->list, singles->count, sizeof *singles->list, compare_singles);
	return 0;
}

/* How many there are of the content at `from`. */
static size_t equal_ones(const struct singles *singles, size_t from)
{
	size_t end = from;
	while (end < singles->count && singles->list[end].content == singles->list[from].content)
		end++;
	return end - from;
}

/* Takes out those that have partners: of equal ones the first in the file. */
static void pair(struct matching *matching, struct singles both[DIFF_SIDES])
{
	struct singles *old = &both[DIFF_OLD], *new = &both[DIFF_NEW];
	size_t i = 0, j = 0, old_kept = 0, new_kept = 0;
	uint64_t pairs = 0;
	while (i < old->count || j < new->count) {
		const uint64_t a = i < old->count ? old->list[i].content : UINT64_MAX;
		const uint64_t b = j < new->count ? new->list[j].content : UINT64_MAX;
		size_t old_count = i < old->count && (a <= b || j == new->count) ? equal_ones(old, i) : 0;
		size_t new_count = j < new->count && (b <= a || i == old->count) ? equal_ones(new, j) : 0;
		const size_t common = old_count < new_count ? old_count : new_count;
		pairs += common;
		for (i += common, old_count -= common; old_count; old_count--)
			old->list[old_kept++] = old->list[i++];
		for (j += common, new_count -= common; new_count; new_count--)
			new->list[new_kept++] = new->list[j++];
	}
	old->count = old_kept;
	new->count = new_kept;
	atomic_fetch_add(&matching->by_content, pairs);
}

/* --- by id again --- */

static int compare_places(const void *a, const void *b)
{
	const struct single *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Takes out those that are where they were, but not as they were. Both lists are by offset then. */
static int pair_changed(struct matching *matching, struct singles both[DIFF_SIDES])
{
	struct diff *diff = matching->diff;
	struct singles *old = &both[DIFF_OLD], *new = &both[DIFF_NEW];
	struct object near = { .class = NULL };
	size_t kept = 0;
	qsort(old->list, old->count, sizeof *old->list, compare_places);
	qsort(new->list, new->count, sizeof *new->list, compare_places);
	bool *taken = calloc(new->count, sizeof *taken);
	if (!taken)
		return ENOMEM;
	for (size_t i = 0; i < old->count; i++) {
		struct object object, twin;
		const struct single *found = NULL;
		if (!heap_object(diff->heaps[DIFF_OLD], old->list[i].offset, &object)) {
			free(taken);
			return EIO;
		}
		if (find_twin(diff, DIFF_OLD, &object, &near, &twin))
			found = bsearch(&(const struct single){ 0, twin.offset }, new->list, new->count, sizeof *new->list,
					compare_places);
		if (found)
			taken[found - new->list] = true;
		else
			old->list[kept++] = old->list[i];
	}
	atomic_fetch_add(&matching->changed, old->count - kept);
	old->count = kept;
	kept = 0;
	for (size_t i = 0; i < new->count; i++)
		if (!taken[i])
			new->list[kept++] = new->list[i];
	new->count = kept;
	free(taken);
	return 0;
}

/* --- what is left --- */

static int keep(struct matching *matching, uint32_t number, enum diff_side side, const struct singles *singles)
{
	const struct heap *heap = matching->diff->heaps[side];
	struct diff_list *list = &matching->diff->objects.lists[side][number];
	if (!singles->count)
		return 0;
	list->offsets = malloc(singles->count * sizeof *list->offsets);
	if (!list->offsets)
		return ENOMEM;
	for (size_t i = 0; i < singles->count; i++)
		list->offsets[i] = singles->list[i].offset;
	list->count = singles->count;
	qsort(list->offsets, list->count, sizeof *list->offsets, compare_offsets);
	for (size_t i = 0; i < list->count; i++) {
		struct object object;
		if (!heap_object(heap, list->offsets[i], &object))
			return EIO;
		list->bytes += object_size(heap, &object);
	}
	return 0;
}

static int match_class(struct matching *matching, uint32_t number)
{
	const struct diff_class *class = &matching->diff->classes[number];
	struct singles both[DIFF_SIDES] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
	int rc = gather(matching, class, DIFF_OLD, &both[DIFF_OLD]);
	if (!rc)
		rc = gather(matching, class, DIFF_NEW, &both[DIFF_NEW]);
	if (!rc && both[DIFF_OLD].count && both[DIFF_NEW].count) {
		rc = find_contents(matching, DIFF_OLD, &both[DIFF_OLD]);
		if (!rc)
			rc = find_contents(matching, DIFF_NEW, &both[DIFF_NEW]);
		if (!rc)
			pair(matching, both);
	}
	if (!rc && both[DIFF_OLD].count && both[DIFF_NEW].count && matching->diff->objects.judgement.by_id)
		rc = pair_changed(matching, both);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (!rc)
			rc = keep(matching, number, (enum diff_side)side, &both[side]);
		free(both[side].list);
	}
	return rc;
}

static void *match_some(void *argument)
{
	struct matching *matching = argument;
	uint32_t next;
	input_touched_bad = false;
	while (!atomic_load(&matching->error) && (next = atomic_fetch_add(&matching->next, 1)) < matching->diff->class_count) {
		int rc = match_class(matching, matching->order[next]);
		if (!rc && input_touched_bad)
			rc = EIO;
		if (rc)
			atomic_store(&matching->error, rc);
	}
	return NULL;
}

static int match_all(struct matching *matching)
{
	const int rc = on_all_threads(matching->diff, match_some, matching);
	return rc ? rc : atomic_load(&matching->error);
}

static int compare_counts(const void *a, const void *b, void *context)
{
	const struct diff *diff = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t p = object_count(&diff->classes[x]), q = object_count(&diff->classes[y]);
	return p != q ? (p > q ? -1 : 1) : x < y ? -1 : x > y;
}

int diff_objects(void *context, const _Atomic bool *cancel)
{
	struct diff *diff = context;
	struct diff_objects *objects = &diff->objects;
	struct matching matching = { .diff = diff, .cancel = cancel };
	matching.order = malloc(((size_t)diff->class_count + 1) * sizeof *matching.order);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		objects->lists[side] = calloc((size_t)diff->class_count + 1, sizeof *objects->lists[side]);
	int rc = matching.order && objects->lists[DIFF_OLD] && objects->lists[DIFF_NEW] ? judge(diff, &objects->judgement) : ENOMEM;
	if (!rc)
		rc = contents_open(matching.contents, diff, cancel);
	if (!rc) {
		for (uint32_t i = 0; i < diff->class_count; i++)
			matching.order[i] = i;
		qsort_r(matching.order, diff->class_count, sizeof *matching.order, compare_counts, diff);
		rc = match_all(&matching);
	}
	objects->by_id = atomic_load(&matching.by_id);
	objects->by_content = atomic_load(&matching.by_content);
	objects->changed = atomic_load(&matching.changed);
	for (unsigned side = 0; !rc && side < DIFF_SIDES; side++)
		for (uint32_t i = 0; i < diff->class_count; i++) {
			objects->left[side].count += objects->lists[side][i].count;
			objects->left[side].bytes += objects->lists[side][i].bytes;
		}
	contents_close(matching.contents);
	free(matching.order);
	return rc;
}

bool diff_is_left(const struct diff *diff, enum diff_side side, const struct object *object, size_t *at)
{
	const struct diff_list *list =
		&diff->objects.lists[side][diff->class_of[side][class_number(diff->heaps[side], object->class)]];
	const uint64_t *found = list->count ? bsearch(&object->offset, list->offsets, list->count, sizeof *list->offsets,
						      compare_offsets) :
					      NULL;
	*at = found ? (size_t)(found - list->offsets) : 0;
	return found != NULL;
}
