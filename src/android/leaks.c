/* SPDX-License-Identifier: Apache-2.0 */
#include "android/leaks.h"

#include <stdlib.h>

/* Parents of a view, which in a damaged dump may go round. */
#define PARENTS_MOST 1000

struct search {
	const struct heap *heap;
	ended_fn *each;
	void *context;
	const struct class *declaring; /* whose fields the rule is about: a subclass may have some of the same names */
	/* Ids of living services; of root views that fragments kept, which were told already. Sorted. */
	uint64_t *services, *views;
	size_t service_count, view_count, view_capacity;
	bool services_known, failed;
};

/* --- fields --- */

static const uint8_t *field_bytes(const struct search *search, const struct object *object, const char *name, uint8_t type)
{
	const struct heap *heap = search->heap;
	const int32_t at = object->kind == OBJECT_INSTANCE ?
				   field_offset_of(heap, object->class, search->declaring, name, type) :
				   -1;
	return at >= 0 && (uint64_t)at + type_width(type, heap->id_width) <= object->data_len ? object->data + at : NULL;
}

/* Is there such a field, and is it true? */
static bool is_true(const struct search *search, const struct object *object, const char *name)
{
	const uint8_t *p = field_bytes(search, object, name, TYPE_BOOLEAN);
	return p && *p;
}

static bool is_null(const struct search *search, const struct object *object, const char *name)
{
	const uint8_t *p = field_bytes(search, object, name, TYPE_OBJECT);
	return p && !read_id(p, search->heap->id_width);
}

/* --- rules: why an object has ended, or NULL --- */

static const char *ended_activity(struct search *search, const struct object *activity)
{
	return is_true(search, activity, "mDestroyed") ? "mDestroyed is true" : NULL;
}

static const char *ended_fragment(struct search *search, const struct object *fragment)
{
	return is_null(search, fragment, "mFragmentManager") && is_true(search, fragment, "mCalled") ?
		       "mFragmentManager is null" :
		       NULL;
}

static const char *ended_dialog(struct search *search, const struct object *dialog)
{
	return is_null(search, dialog, "mDecor") && is_true(search, dialog, "mCreated") ? "mDecor is null" : NULL;
}

static const char *ended_view_model(struct search *search, const struct object *model)
{
	const struct heap *heap = search->heap;
	const uint8_t *id = field_bytes(search, model, "impl", TYPE_OBJECT);
	struct object impl;
	if (is_true(search, model, "mCleared"))
		return "mCleared is true";
	if (!id || !heap_find(heap, read_id(id, heap->id_width), &impl) || impl.kind != OBJECT_INSTANCE)
		return NULL;
	const int32_t at = field_offset(heap, impl.class, "isCleared", TYPE_BOOLEAN);
	return at >= 0 && (uint64_t)at < impl.data_len && impl.data[at] ? "impl.isCleared is true" : NULL;
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool has_id(const uint64_t *ids, size_t count, uint64_t id)
{
	return count && bsearch(&id, ids, count, sizeof id, compare_ids);
}

static const char *ended_service(struct search *search, const struct object *service)
{
	return search->services_known && !has_id(search->services, search->service_count, service->id) ?
		       "ActivityThread.mServices does not have it" :
		       NULL;
}

static bool is_detached(const struct search *search, const struct object *view)
{
	const uint8_t *windows = field_bytes(search, view, "mWindowAttachCount", TYPE_INT);
	return windows && (int32_t)be32(windows) > 0 && is_null(search, view, "mAttachInfo");
}

static const char *ended_view(struct search *search, const struct object *view)
{
	return is_detached(search, view) && is_null(search, view, "mParent") &&
			       !has_id(search->views, search->view_count, view->id) ?
		       "mAttachInfo is null, mWindowAttachCount is not 0" :
		       NULL;
}

static const struct rule {
	const char *kind, *class;
	const char *(*ended)(struct search *search, const struct object *object);
} rules[] = {
	{ "activity", "android.app.Activity", ended_activity },
	{ "fragment", "android.app.Fragment", ended_fragment },
	{ "fragment", "android.support.v4.app.Fragment", ended_fragment },
	{ "fragment", "androidx.fragment.app.Fragment", ended_fragment },
	{ "view", "android.view.View", ended_view },
	{ "view model", "androidx.lifecycle.ViewModel", ended_view_model },
	{ "service", "android.app.Service", ended_service },
	{ "dialog", "android.app.Dialog", ended_dialog },
};
#define RULE_COUNT (sizeof rules / sizeof *rules)

/* --- what must be known beforehand --- */

/* The values of ActivityThread.mServices, an ArrayMap: keys and values in turns. */
static void find_services(struct search *search)
{
	const struct heap *heap = search->heap;
	const struct class *class = class_by_name(heap, "android.app.ActivityThread");
	struct static_walk current;
	struct object thread, map, array;
	if (!class || !class_static(heap, class, "sCurrentActivityThread", &current) || current.type != TYPE_OBJECT ||
	    !heap_find(heap, read_id(current.value, heap->id_width), &thread) ||
	    !object_field(heap, &thread, "mServices", &map))
		return;
	search->services_known = true;
	if (!object_field(heap, &map, "mArray", &array) || array.kind != OBJECT_OBJECT_ARRAY)
		return;
	search->services = malloc((array.length / 2 + 1) * sizeof *search->services);
	if (!search->services) {
		search->failed = true;
		return;
	}
	struct value_walk walk;
	value_walk_start(&walk, heap, &array);
	while (value_walk_next(&walk))
		if (walk.element % 2 && read_id(walk.value, heap->id_width))
			search->services[search->service_count++] = read_id(walk.value, heap->id_width);
	qsort(search->services, search->service_count, sizeof *search->services, compare_ids);
}

/* The view at the top of one that is in no window any more; false where it is in one, or no view. */
static bool detached_root(struct search *search, const struct class *view_class, struct object *view)
{
	const struct heap *heap = search->heap;
	struct object parent;
	search->declaring = view_class;
	if (!class_extends(heap, view->class, view_class) || !is_detached(search, view))
		return false;
	for (unsigned i = 0; i < PARENTS_MOST; i++) {
		const uint8_t *id = field_bytes(search, view, "mParent", TYPE_OBJECT);
		if (!id || !heap_find(heap, read_id(id, heap->id_width), &parent))
			break;
		if (!class_extends(heap, parent.class, view_class))
			return false; /* a ViewRootImpl: it is in a window */
		*view = parent;
	}
	return is_null(search, view, "mParent");
}

static void keep_view(struct search *search, uint64_t id)
{
	if (search->view_count == search->view_capacity) {
		const size_t wanted = search->view_capacity ? search->view_capacity * 2 : 16;
		uint64_t *views = reallocarray(search->views, wanted, sizeof *views);
		if (!views) {
			search->failed = true;
			return;
		}
		search->views = views;
		search->view_capacity = wanted;
	}
	search->views[search->view_count++] = id;
}

/* Fragments that gave up their view (onDestroyView) and have a field of their own that still holds part of it. */
static void find_fragment_views(struct search *search, const struct class *fragment_class, const struct class *view_class)
{
	const struct heap *heap = search->heap;
	for (uint32_t i = 0; i < heap->class_count && fragment_class && view_class; i++) {
		const struct class *class = &heap->classes[i];
		struct cursor cursor;
		struct object fragment, view;
		if (!class->count || !class_extends(heap, class, fragment_class))
			continue;
		cursor_seek(&cursor, heap, class, 0);
		while (cursor_next(&cursor)) {
			struct value_walk walk;
			search->declaring = fragment_class;
			if (!cursor_object(&cursor, &fragment) || !is_null(search, &fragment, "mView"))
				continue;
			value_walk_start(&walk, heap, &fragment);
			while (value_walk_next(&walk) && walk.class != fragment_class)
				if (walk.type == TYPE_OBJECT && heap_find(heap, read_id(walk.value, heap->id_width), &view) &&
				    detached_root(search, view_class, &view))
					keep_view(search, view.id);
		}
	}
}

static void tell_fragment_views(struct search *search)
{
	const struct class *view_class = class_by_name(search->heap, "android.view.View");
	for (size_t i = 0; i < RULE_COUNT; i++)
		if (rules[i].ended == ended_fragment)
			find_fragment_views(search, class_by_name(search->heap, rules[i].class), view_class);
	if (search->view_count)
		qsort(search->views, search->view_count, sizeof *search->views, compare_ids);
	for (size_t i = 0; i < search->view_count; i++)
		if (!i || search->views[i] != search->views[i - 1])
			search->each(search->context, search->views[i], "fragment view", "a fragment whose mView is null has it");
}

static void apply(struct search *search, const struct rule *rule)
{
	const struct heap *heap = search->heap;
	const struct class *base = class_by_name(heap, rule->class);
	search->declaring = base;
	for (uint32_t i = 0; i < heap->class_count && base; i++) {
		const struct class *class = &heap->classes[i];
		struct cursor cursor;
		struct object object;
		if (!class->count || !class_extends(heap, class, base))
			continue;
		cursor_seek(&cursor, heap, class, 0);
		while (cursor_next(&cursor)) {
			const char *reason = cursor_object(&cursor, &object) ? rule->ended(search, &object) : NULL;
			if (reason)
				search->each(search->context, object.id, rule->kind, reason);
		}
	}
}

int android_ended(const struct heap *heap, ended_fn *each, void *context)
{
	struct search search = { .heap = heap, .each = each, .context = context };
	find_services(&search);
	tell_fragment_views(&search);
	for (size_t i = 0; i < RULE_COUNT; i++)
		apply(&search, &rules[i]);
	free(search.services);
	free(search.views);
	return search.failed ? -1 : 0;
}
