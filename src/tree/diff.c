/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff/: what has changed since a baseline. In new/ and removed/ the objects without partner lie by class, in the order of
 * the file, in folders of SPLIT where there are more.
 */
#include "tree/diff.h"

#include <stdlib.h>

bool has_baseline(const struct node *node)
{
	return node->tree->baseline != NULL;
}

/* --- opening --- */

static const struct diff_view *sorting; /* qsort has no context; trees are opened one after another */

static int compare_names(const void *a, const void *b)
{
	return strcmp(sorting->file_names[*(const uint32_t *)a], sorting->file_names[*(const uint32_t *)b]);
}

static bool name_folders(struct diff_view *view)
{
	const uint32_t count = view->diff->class_count;
	view->file_names = calloc((size_t)count + 1, sizeof *view->file_names);
	view->by_name = malloc(((size_t)count + 1) * sizeof *view->by_name);
	for (uint32_t i = 0; view->file_names && view->by_name && i < count; i++) {
		struct text text = { 0 };
		name_escape(&text, view->diff->classes[i].name, NAME_MOST, false);
		text_putc(&text, 0);
		if (text.failed)
			text_free(&text);
		view->file_names[i] = text.data;
		view->by_name[i] = i;
		if (!text.data)
			return false;
	}
	if (!view->file_names || !view->by_name)
		return false;
	sorting = view;
	qsort(view->by_name, count, sizeof *view->by_name, compare_names);
	return true;
}

bool diff_view_open(struct tree *tree)
{
	const struct tree_dump *new = &tree->dumps[0], *old = tree->baseline;
	tree->diff = calloc(1, sizeof *tree->diff);
	if (!tree->diff)
		return false;
	tree->diff->diff = diff_open(old->heap, new->heap, old->graph, new->graph, &tree->options.graph);
	return tree->diff->diff && name_folders(tree->diff);
}

void diff_view_cancel(struct tree *tree)
{
	if (tree->diff)
		diff_cancel(tree->diff->diff);
}

void diff_view_join(struct tree *tree)
{
	if (tree->diff)
		diff_join(tree->diff->diff);
}

void diff_view_close(struct tree *tree)
{
	struct diff_view *view = tree->diff;
	if (!view)
		return;
	for (uint32_t i = 0; view->file_names && i < view->diff->class_count; i++)
		free(view->file_names[i]);
	free(view->file_names);
	free(view->by_name);
	diff_close(view->diff);
	free(view);
}

/* --- files --- */

static const char *const files[DIFF_FILES] = { "info.txt", "classes.tsv", "strings.tsv", "bitmaps.tsv", "dominators.tsv" };
static const char *const sides[DIFF_SIDES] = { "removed", "new" };

struct job *diff_file_job(const struct node *node)
{
	struct diff *diff = node->tree->diff->diff;
	switch (node->key) {
	case DIFF_INFO:
		return &diff->objects_job;
	case DIFF_STRINGS:
		return &diff->strings_job;
	case DIFF_BITMAPS:
		return &diff->bitmaps_job;
	case DIFF_DOMINATORS:
		return &diff->dominators_job;
	default:
		return NULL;
	}
}

bool is_diff_key(enum kind kind, uint64_t key)
{
	return kind == KIND_DIFF ? !key : kind != KIND_DIFF_FILE || key < DIFF_FILES;
}

struct job *diff_folder_job(const struct node *node)
{
	return &node->tree->diff->diff->objects_job;
}

/* --- folders --- */

/* A folder's key: its side, then the number of its class + 1, then that of its part + 1; 0 where there is none. */
#define CLASS_SHIFT 1
#define CLASS_BITS 23
#define PART_SHIFT (CLASS_SHIFT + CLASS_BITS)

struct place {
	enum diff_side side;
	uint32_t class;		/* CLASS_NONE: that of all classes */
	bool is_part;
	uint64_t part;
	const struct diff_list *list; /* of the class */
};

static uint64_t folder_key(enum diff_side side, uint64_t class, uint64_t part)
{
	return (uint64_t)side | (class + 1) << CLASS_SHIFT | part << PART_SHIFT;
}

/* False for what comes from no listing. */
static bool place_of(const struct node *folder, struct place *place)
{
	const struct diff *diff = node_diff(folder);
	const uint64_t class = folder->key >> CLASS_SHIFT & ((UINT64_C(1) << CLASS_BITS) - 1), part = folder->key >> PART_SHIFT;
	*place = (struct place){ folder->key & 1 ? DIFF_NEW : DIFF_OLD, CLASS_NONE, part != 0, part - 1, NULL };
	if (!class)
		return !part;
	if (class > diff->class_count)
		return false;
	place->class = (uint32_t)class - 1;
	place->list = &diff->objects.lists[place->side][place->class];
	return place->list->count && (!part || place->part * SPLIT < place->list->count);
}

/* Does a folder for this class's objects exist? */
static bool has_folder(const struct diff *diff, enum diff_side side, uint32_t class)
{
	return class + 1 < UINT32_C(1) << CLASS_BITS && diff->objects.lists[side][class].count;
}

void list_diff(const struct node *folder, uint64_t from, struct listing *listing)
{
	for (uint64_t i = from; i < DIFF_FILES + DIFF_SIDES; i++) {
		const uint64_t side = i - DIFF_FILES;
		struct text name = { 0 };
		if (i == DIFF_BITMAPS && !shows_bitmaps(folder))
			continue;
		text_puts(&name, i < DIFF_FILES ? files[i] : sides[side]);
		const bool more = listing_emit(listing, i < DIFF_FILES ? KIND_DIFF_FILE : KIND_DIFF_FOLDER,
					       i < DIFF_FILES ? i : side, &name, i + 1);
		text_free(&name);
		if (!more)
			return;
	}
}

bool lookup_diff(const struct node *folder, const char *name, struct node *child)
{
	for (unsigned i = 0; i < DIFF_FILES; i++)
		if (!strcmp(name, files[i]) && (i != DIFF_BITMAPS || shows_bitmaps(folder))) {
			*child = node_make(folder, KIND_DIFF_FILE, i);
			return true;
		}
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		if (!strcmp(name, sides[side])) {
			*child = node_make(folder, KIND_DIFF_FOLDER, side);
			return true;
		}
	return false;
}

bool up_diff_folder(const struct node *folder, struct node *parent)
{
	struct place place;
	if (!place_of(folder, &place))
		return false;
	if (place.is_part)
		*parent = node_make(folder, KIND_DIFF_FOLDER, folder_key(place.side, place.class, 0));
	else if (place.class != CLASS_NONE)
		*parent = node_make(folder, KIND_DIFF_FOLDER, (uint64_t)place.side);
	else
		*parent = node_make(folder, KIND_DIFF, 0);
	return true;
}

static void list_class_folders(const struct node *folder, enum diff_side side, uint64_t from, struct listing *listing)
{
	const struct diff_view *view = folder->tree->diff;
	for (uint64_t i = from; i < view->diff->class_count; i++) {
		const uint32_t class = view->by_name[i];
		const struct text name = { .data = view->file_names[class], .len = strlen(view->file_names[class]) };
		if (has_folder(view->diff, side, class) &&
		    !listing_emit(listing, KIND_DIFF_FOLDER, folder_key(side, class, 0), &name, i + 1))
			return;
	}
}

static void list_parts(const struct place *place, uint64_t from, struct listing *listing)
{
	for (uint64_t part = from; part * SPLIT < place->list->count; part++) {
		struct text name = { 0 };
		part_name(&name, part, place->list->count);
		const bool more = listing_emit(listing, KIND_DIFF_FOLDER, folder_key(place->side, place->class, part + 1), &name,
					       part + 1);
		text_free(&name);
		if (!more)
			return;
	}
}

/* Is this object the one that its id leads to? Of two objects with one id the first in the file has the name. */
static bool owns_its_id(const struct heap *heap, const struct object *object)
{
	struct found found;
	return !heap->scan.index.duplicates || (!class_find(heap, object->id) &&
						index_find(&heap->scan.index, object->id, &found) && found.offset == object->offset);
}

void list_diff_folder(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct place place;
	if (!place_of(folder, &place))
		return;
	if (place.class == CLASS_NONE) {
		list_class_folders(folder, place.side, from, listing);
		return;
	}
	if (!place.is_part && place.list->count > SPLIT) {
		list_parts(&place, from, listing);
		return;
	}
	const struct heap *heap = node_diff(folder)->heaps[place.side];
	const uint64_t first = place.is_part ? place.part * SPLIT : 0;
	struct text name = { 0 };
	listing->base = heap->in->base; /* removed ones are the baseline's */
	for (uint64_t i = from; i < SPLIT && first + i < place.list->count; i++) {
		struct object object;
		if (!heap_object(heap, place.list->offsets[first + i], &object) || !owns_its_id(heap, &object))
			continue;
		name.len = 0;
		text_id(&name, object.id);
		if (place.side == DIFF_OLD)
			text_puts(&name, ".txt");
		if (!listing_emit(listing, place.side == DIFF_OLD ? KIND_DIFF_TEXT : KIND_DIFF_LINK, object.offset, &name, i + 1))
			break;
	}
	text_free(&name);
}

static bool lookup_class_folder(const struct node *folder, enum diff_side side, const char *name, struct node *child)
{
	const struct diff_view *view = folder->tree->diff;
	uint32_t first = 0, end = view->diff->class_count;
	while (first < end) {
		const uint32_t middle = first + (end - first) / 2;
		const int order = strcmp(name, view->file_names[view->by_name[middle]]);
		if (!order) {
			*child = node_make(folder, KIND_DIFF_FOLDER, folder_key(side, view->by_name[middle], 0));
			return has_folder(view->diff, side, view->by_name[middle]);
		}
		first = order > 0 ? middle + 1 : first;
		end = order < 0 ? middle : end;
	}
	return false;
}

bool lookup_diff_folder(const struct node *folder, const char *name, struct node *child)
{
	const struct diff *diff = node_diff(folder);
	const size_t len = strlen(name);
	struct place place;
	struct object object;
	uint64_t id, part;
	size_t at;
	if (!place_of(folder, &place))
		return false;
	if (place.class == CLASS_NONE)
		return lookup_class_folder(folder, place.side, name, child);
	if (!place.is_part && place.list->count > SPLIT) {
		if (!part_parse(name, place.list->count, &part))
			return false;
		*child = node_make(folder, KIND_DIFF_FOLDER, folder_key(place.side, place.class, part + 1));
		return true;
	}
	const struct heap *heap = diff->heaps[place.side];
	const size_t ending = place.side == DIFF_OLD ? strlen(".txt") : 0;
	if (len <= ending || (ending && strcmp(name + len - ending, ".txt")) || !name_parse_id(name, len - ending, &id) ||
	    class_find(heap, id) || !heap_find(heap, id, &object) ||
	    diff->class_of[place.side][class_number(heap, object.class)] != place.class ||
	    !diff_is_left(diff, place.side, &object, &at) || (place.is_part && at / SPLIT != place.part))
		return false;
	*child = node_make(folder, place.side == DIFF_OLD ? KIND_DIFF_TEXT : KIND_DIFF_LINK, object.offset);
	child->heap = heap;
	return true;
}

bool target_diff_link(const struct node *link, struct text *text)
{
	const struct diff *diff = node_diff(link);
	struct object object;
	size_t at;
	if (link->heap != diff->heaps[DIFF_NEW] || !job_done(&diff->objects_job) || !heap_object(link->heap, link->key, &object) ||
	    !diff_is_left(diff, DIFF_NEW, &object, &at))
		return false;
	const uint32_t class = diff->class_of[DIFF_NEW][class_number(link->heap, object.class)];
	/* diff/new/<Class>/, and a part of it. */
	text_puts(text, diff->objects.lists[DIFF_NEW][class].count > SPLIT ? "../../../../" : "../../../");
	return target_object(link, object.id, text);
}
