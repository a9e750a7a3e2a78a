/* SPDX-License-Identifier: Apache-2.0 */
/* Whether ids tell who an object is: see diff.h. */
#include "diff/parts.h"
#include "heap/hash.h"

#include <errno.h>
#include <stdlib.h>

/* Strings of the older dump that are looked at: so many runs of so many each. */
#define RUNS 64
#define RUN 256

/* --- the process --- */

/* A thread, and where the VM keeps its own part of it. */
struct seen_thread {
	uint64_t number, name, native;
};

struct seen_threads {
	struct seen_thread *list;
	size_t count;
	uint64_t pid;		/* as the names of binder threads tell it; 0: they do not */
};

static int compare_threads(const void *a, const void *b)
{
	const struct seen_thread *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* ART's Thread.nativePeer; thread_facts() knows HotSpot's eetop. */
static uint64_t native_peer(const struct heap *heap, const struct thread_facts *facts)
{
	const struct object *object = &facts->object;
	const int32_t at = field_offset_of(heap, object->class, facts->thread_class, "nativePeer", TYPE_LONG);
	return at >= 0 && (uint64_t)at + 8 <= object->data_len ? be64(object->data + at) : 0;
}

/* "Binder:1234_1" */
static uint64_t binder_pid(const struct string *name)
{
	static const char before[] = "Binder:";
	const unsigned len = sizeof before - 1;
	uint64_t pid = 0, i;
	if (name->units <= len || name->units > len + 20)
		return 0;
	for (i = 0; i < len; i++)
		if (string_unit(name, i) != (uint16_t)before[i])
			return 0;
	for (; i < name->units && string_unit(name, i) >= '0' && string_unit(name, i) <= '9' && pid < UINT32_MAX; i++)
		pid = pid * 10 + string_unit(name, i) - '0';
	return i < name->units && string_unit(name, i) == '_' ? pid : 0;
}

static int see_threads(const struct heap *heap, struct seen_threads *seen)
{
	const struct threads *threads = heap_threads(heap);
	*seen = (struct seen_threads){ .pid = heap->hprof->traced ? heap->hprof->traced->pid : 0 };
	if (!threads)
		return ENOMEM;
	seen->list = calloc((size_t)threads->count + 1, sizeof *seen->list);
	if (!seen->list)
		return ENOMEM;
	for (uint32_t i = 0; i < threads->count; i++) {
		struct thread_facts facts;
		struct string name;
		thread_facts(heap, &threads->list[i], &facts);
		if (!facts.thread_class || !thread_name(heap, &facts, &name))
			continue;
		const uint64_t native = facts.native ? facts.native : native_peer(heap, &facts);
		if (!seen->pid && heap->android)
			seen->pid = binder_pid(&name);
		if (native && facts.number > 0 && (!heap->android || facts.number != 1))
			seen->list[seen->count++] =
				(struct seen_thread){ (uint64_t)facts.number, string_hash(&name), native };
	}
	qsort(seen->list, seen->count, sizeof *seen->list, compare_threads);
	return 0;
}

static void compare_seen(const struct seen_threads *old, const struct seen_threads *new, struct diff_judgement *judgement)
{
	for (size_t i = 0, j = 0; i < old->count && j < new->count;) {
		const int order = compare_threads(&old->list[i], &new->list[j]);
		if (!order) {
			judgement->threads++;
			judgement->threads_same += old->list[i].native == new->list[j].native;
		}
		i += order <= 0;
		j += order >= 0;
	}
	judgement->pids_known = old->pid && new->pid;
	judgement->pids[DIFF_OLD] = old->pid;
	judgement->pids[DIFF_NEW] = new->pid;
}

/* --- the addresses --- */

static void compare_classes(const struct diff *diff, struct diff_judgement *judgement)
{
	for (uint32_t i = 0; i < diff->class_count; i++) {
		const struct diff_class *class = &diff->classes[i];
		if (class->class_count[DIFF_OLD] != 1 || class->class_count[DIFF_NEW] != 1)
			continue;
		const struct class *old = &diff->heaps[DIFF_OLD]->classes[*diff_members(diff, class, DIFF_OLD)];
		const struct class *new = &diff->heaps[DIFF_NEW]->classes[*diff_members(diff, class, DIFF_NEW)];
		if (!old->offset || !new->offset)
			continue;
		judgement->classes++;
		judgement->classes_same += old->id == new->id;
	}
}

static void compare_string(const struct diff *diff, const struct cursor *cursor, struct diff_judgement *judgement)
{
	const struct heap *old = diff->heaps[DIFF_OLD], *new = diff->heaps[DIFF_NEW];
	struct object object, other;
	struct string text, other_text;
	if (!cursor_object(cursor, &object) || !heap_string(old, &object, &text))
		return;
	judgement->strings++;
	if (!heap_find(new, object.id, &other) || other.class != string_class(new) || !heap_string(new, &other, &other_text))
		return;
	judgement->strings_there++;
	judgement->strings_same += !string_compare(&text, &other_text);
}

static void compare_strings(const struct diff *diff, struct diff_judgement *judgement)
{
	const struct heap *heap = diff->heaps[DIFF_OLD];
	const struct class *class = string_class(heap);
	struct cursor cursor;
	if (!class || !string_class(diff->heaps[DIFF_NEW]))
		return;
	const uint64_t step = class->count / RUNS > RUN ? class->count / RUNS : RUN;
	for (uint64_t first = 0; first < class->count; first += step) {
		cursor_seek(&cursor, heap, class, first);
		for (unsigned i = 0; i < RUN && cursor_next(&cursor); i++)
			compare_string(diff, &cursor, judgement);
	}
}

/* Are at least so many of a hundred so? */
static bool is_share(uint64_t part, uint64_t whole, unsigned percent)
{
	return part * 100 >= whole * percent;
}

static void decide(const struct diff *diff, struct diff_judgement *j)
{
	const struct heap *old = diff->heaps[DIFF_OLD], *new = diff->heaps[DIFF_NEW];
	const bool proven = j->pids_known || j->threads;
	const unsigned percent = proven ? DIFF_SAME_PERCENT : DIFF_UNPROVEN_PERCENT;
	if (old->id_width != new->id_width || old->android != new->android)
		j->reason = "the dumps are of VMs of another kind";
	else if (!old->sizes.addresses && !old->sizes.declared && !heap_graph_of(old))
		j->reason = "the older dump's ids are no addresses";
	else if (j->pids_known && j->pids[DIFF_OLD] != j->pids[DIFF_NEW])
		j->reason = "the process ids differ";
	else if (!is_share(j->threads_same, j->threads, 50))
		j->reason = "another process: the VM's own threads are at other addresses";
	else if (!j->classes || !is_share(j->classes_same, j->classes, percent))
		j->reason = "class objects have other ids";
	else if (!is_share(j->strings_same, j->strings_there, percent))
		j->reason = "ids of Strings have other texts now: objects were moved, or this is another process";
	else if (!proven && !is_share(j->strings_there, j->strings, DIFF_THERE_PERCENT))
		j->reason = "nothing tells that this is the same process, and few Strings have the ids that they had";
	else
		j->by_id = true;
	if (j->by_id)
		j->reason = proven ? "the same process, and objects are where they were" :
				     "objects are where they were; nothing else tells of the process";
}

int judge(const struct diff *diff, struct diff_judgement *judgement)
{
	struct seen_threads seen[DIFF_SIDES] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
	*judgement = (struct diff_judgement){ .by_id = false };
	int rc = see_threads(diff->heaps[DIFF_OLD], &seen[DIFF_OLD]);
	if (!rc)
		rc = see_threads(diff->heaps[DIFF_NEW], &seen[DIFF_NEW]);
	if (!rc) {
		compare_seen(&seen[DIFF_OLD], &seen[DIFF_NEW], judgement);
		compare_classes(diff, judgement);
		compare_strings(diff, judgement);
		decide(diff, judgement);
	}
	free(seen[DIFF_OLD].list);
	free(seen[DIFF_NEW].list);
	return rc;
}
