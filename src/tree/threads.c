/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads/<n>-<name>/: stack.txt, a link `thread`, and what the stack holds: frames/<frame>/<id>, 0 the top one, and
 * locals/<id> for what is in no frame.
 *
 * Frames that hold nothing have no folder. Where a stack is deep, frames lie in folders of SPLIT frames, named after
 * the first one's number whether or not it holds anything, so that a path follows from the number alone.
 */
#include "tree/node.h"

#include <inttypes.h>
#include <stdio.h>

/* Chars of a thread's name that can get into a file name; they need not all fit. */
#define NAME_CHARS 256

bool has_threads(const struct node *node)
{
	/* Without a look at any of them: a listing of the dump's folder costs nothing. */
	return node->heap->scan.subs[ROOT_THREAD_OBJ] != 0;
}

static unsigned digits_of(uint64_t number)
{
	char digits[24];
	return (unsigned)snprintf(digits, sizeof digits, "%" PRIu64, number);
}

/* --- threads --- */

static void thread_folder_name(struct text *text, const struct heap *heap, const struct threads *threads,
			       uint32_t number)
{
	const struct thread *thread = &threads->list[number];
	struct thread_facts facts;
	struct text name = { 0 };
	thread_facts(heap, thread, &facts);
	put_thread_name(&name, heap, thread, &facts, NAME_CHARS);
	const unsigned width = digits_of(threads->count);
	text_printf(text, "%0*" PRIu32 "-", (int)width, number + 1);
	/* A name that begins or ends with what is escaped there is so, although a number stands before it. */
	if (name.len)
		name_escape(text, (struct name){ name.data, (uint32_t)name.len }, NAME_MOST - width - 1, false);
	else
		text_puts(text, "unnamed");
	text->failed |= name.failed;
	text_free(&name);
}

void list_threads(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct threads *threads = heap_threads(folder->heap);
	const bool part = folder->kind == KIND_THREAD_PART;
	struct text name = { 0 };
	if (!threads)
		return;
	const uint64_t count = threads->count, first = part ? (folder->key & PART_MASK) * SPLIT : 0;
	const bool split = !part && count > SPLIT;
	const uint64_t end = split			       ? (count + SPLIT - 1) / SPLIT :
			     part && count > first + SPLIT ? first + SPLIT :
							     count;
	for (uint64_t i = first + from; i < end; i++) {
		name.len = 0;
		if (split)
			part_name(&name, i, count);
		else
			thread_folder_name(&name, folder->heap, threads, (uint32_t)i);
		if (!listing_emit(listing, split ? KIND_THREAD_PART : KIND_THREAD,
				  split ? folder->key << PART_BITS | i : threads->list[i].offset, &name, i + 1 - first))
			break;
	}
	text_free(&name);
}

bool lookup_thread(const struct node *folder, const char *name, struct node *child)
{
	const struct threads *threads = heap_threads(folder->heap);
	const bool part = folder->kind == KIND_THREAD_PART;
	uint64_t number;
	if (!threads)
		return false;
	if (!part && threads->count > SPLIT) {
		if (!part_parse(name, threads->count, &number))
			return false;
		*child = node_make(folder, KIND_THREAD_PART, folder->key << PART_BITS | number);
		return true;
	}
	if (!name_parse_decimal(name, strcspn(name, "-"), digits_of(threads->count), &number) || !number ||
	    number > threads->count || (part && (number - 1) / SPLIT != (folder->key & PART_MASK)))
		return false;
	struct text own = { 0 };
	thread_folder_name(&own, folder->heap, threads, (uint32_t)(number - 1));
	const bool same = !own.failed && own.len == strlen(name) && !memcmp(own.data, name, own.len);
	text_free(&own);
	*child = node_make(folder, KIND_THREAD, threads->list[number - 1].offset);
	return same;
}

bool up_thread_part(const struct node *folder, struct node *parent)
{
	*parent = node_make(folder, KIND_THREADS, folder->key >> PART_BITS);
	return true;
}

/* The thread of a node whose key is its root's. */
static const struct thread *thread_of(const struct node *node, const struct threads **threads)
{
	*threads = heap_threads(node->heap);
	return *threads ? thread_at(*threads, node->key) : NULL;
}

bool up_thread(const struct node *folder, struct node *parent)
{
	const struct threads *threads;
	const struct thread *thread = thread_of(folder, &threads);
	if (!thread)
		return false;
	const uint64_t dump = folder->heap->number, part = (uint64_t)(thread - threads->list) / SPLIT;
	*parent = threads->count > SPLIT ? node_make(folder, KIND_THREAD_PART, dump << PART_BITS | part) :
					   node_make(folder, KIND_THREADS, dump);
	return true;
}

bool has_thread_object(const struct node *node)
{
	const struct threads *threads;
	const struct thread *thread = thread_of(node, &threads);
	return thread && in_dump(node->heap, thread->id);
}

static void put_ups(struct text *text, const struct threads *threads, unsigned below_thread)
{
	for (unsigned i = 0; i < below_thread + 2 + (threads->count > SPLIT); i++)
		text_put(text, "../", 3);
}

bool target_thread_object(const struct node *link, struct text *text)
{
	const struct threads *threads;
	const struct thread *thread = thread_of(link, &threads);
	if (!thread)
		return false;
	put_ups(text, threads, 0);
	return target_object(link, thread->id, text);
}

/* --- frames --- */

/* The frames of a thread that hold something. */
struct frames {
	const struct threads *threads;
	const struct thread *thread;
	const struct local_group *list;
	size_t count;
	uint64_t most;		/* the highest number that a path may have to spell */
	bool split;
};

static bool frames_of(const struct heap *heap, const struct threads *threads, const struct thread *thread,
		      struct frames *frames)
{
	const struct stacks *stacks = hprof_stacks(heap->hprof);
	struct stack_trace trace;
	*frames = (struct frames){ .threads = threads, .thread = thread,
				   .list = &threads->groups[thread->first_group], .count = thread->group_count };
	if (frames->count && frames->list[frames->count - 1].frame == FRAME_NONE)
		frames->count--;
	if (frames->count)
		frames->most = frames->list[frames->count - 1].frame;
	frames->split = frames->most >= SPLIT;
	if (stacks && thread_trace(heap, stacks, thread, &trace) == STACK_OWN && trace.count > frames->most)
		frames->most = trace.count - 1;
	return stacks;
}

/* The group that a node whose key is a local's is of, or a thread's one without a frame. */
static const struct local_group *group_of(const struct node *node, struct frames *frames)
{
	const struct threads *threads;
	const struct local_group *group = NULL;
	if (node->kind == KIND_THREAD_LOCALS) {
		const struct thread *thread = thread_of(node, &threads);
		group = thread ? thread_group(threads, thread, FRAME_NONE) : NULL;
		return group && frames_of(node->heap, threads, thread, frames) ? group : NULL;
	}
	threads = heap_threads(node->heap);
	const struct local *local = threads ? local_at(node->heap, threads, node->key, &group) : NULL;
	return local && frames_of(node->heap, threads, &threads->list[local->thread], frames) ? group : NULL;
}

bool has_frames(const struct node *node)
{
	const struct threads *threads;
	const struct thread *thread = thread_of(node, &threads);
	for (size_t i = 0; thread && i < thread->group_count; i++) {
		const struct local_group *group = &threads->groups[thread->first_group + i];
		if (group->present)
			return group->frame != FRAME_NONE;
	}
	return false;
}

bool has_frameless(const struct node *node)
{
	struct frames frames;
	const struct local_group *group = group_of(node, &frames);
	return group && group->present;
}

/* The frames that a folder shows, or shows in parts: all of a thread, or the part that holds the key's. */
static bool open_frames(const struct node *folder, struct frames *frames)
{
	if (folder->kind == KIND_THREAD_FRAMES) {
		const struct threads *threads;
		const struct thread *thread = thread_of(folder, &threads);
		return thread && frames_of(folder->heap, threads, thread, frames);
	}
	const struct local_group *group = group_of(folder, frames);
	if (!group || group->frame == FRAME_NONE)
		return false;
	const struct local_group *first = group, *last = group, *end = frames->list + frames->count;
	while (first > frames->list && first[-1].frame / SPLIT == group->frame / SPLIT)
		first--;
	while (last < end && last->frame / SPLIT == group->frame / SPLIT)
		last++;
	frames->list = first;
	frames->count = (size_t)(last - first);
	frames->split = false;
	return true;
}

static void put_frame_number(struct text *text, const struct frames *frames, uint64_t frame)
{
	text_printf(text, "%0*" PRIu64, (int)digits_of(frames->most), frame);
}

/* A folder of frames, or of locals, goes by the first local in it. */
static uint64_t group_key(const struct frames *frames, const struct local_group *group)
{
	return frames->threads->locals[group->first].offset;
}

void list_frames(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct frames frames;
	struct text name = { 0 };
	if (!open_frames(folder, &frames))
		return;
	const enum kind kind = frames.split ? KIND_FRAME_PART : KIND_FRAME;
	uint64_t part = UINT64_MAX; /* the last one listed */
	for (size_t i = 0; i < frames.count; i++) {
		const struct local_group *group = &frames.list[i];
		if (!group->present || (frames.split && group->frame / SPLIT == part))
			continue;
		part = group->frame / SPLIT;
		if (i < from)
			continue;
		name.len = 0;
		put_frame_number(&name, &frames, frames.split ? part * SPLIT : group->frame);
		if (!listing_emit(listing, kind, group_key(&frames, group), &name, i + 1))
			break;
	}
	text_free(&name);
}

bool lookup_frame(const struct node *folder, const char *name, struct node *child)
{
	struct frames frames;
	uint64_t frame;
	if (!open_frames(folder, &frames) || !name_parse_decimal(name, strlen(name), digits_of(frames.most), &frame) ||
	    (frames.split && frame % SPLIT))
		return false;
	size_t low = 0, high = frames.count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (frames.list[mid].frame < frame)
			low = mid + 1;
		else
			high = mid;
	}
	while (frames.split && low < frames.count && !frames.list[low].present)
		low++;
	if (low == frames.count || !frames.list[low].present ||
	    (frames.split ? frames.list[low].frame / SPLIT != frame / SPLIT : frames.list[low].frame != frame))
		return false;
	*child = node_make(folder, frames.split ? KIND_FRAME_PART : KIND_FRAME, group_key(&frames, &frames.list[low]));
	return true;
}

bool up_frame_part(const struct node *folder, struct node *parent)
{
	struct frames frames;
	if (!group_of(folder, &frames))
		return false;
	*parent = node_make(folder, KIND_THREAD_FRAMES, frames.thread->offset);
	return true;
}

bool up_frame(const struct node *folder, struct node *parent)
{
	struct node part = node_make(folder, KIND_FRAME_PART, folder->key);
	struct frames frames;
	if (!open_frames(&part, &frames))
		return false;
	/* Split or not, this is the part's folder, were there one. */
	const struct local_group *first = frames.list;
	while (!first->present)
		first++;
	part.key = group_key(&frames, first);
	if (!group_of(&part, &frames))
		return false;
	*parent = frames.split ? part : node_make(folder, KIND_THREAD_FRAMES, frames.thread->offset);
	return true;
}

/* --- locals --- */

/* The locals that a folder shows: a stretch of those of its group that are in the dump. */
struct stretch {
	struct frames frames;
	const struct local_group *group;
	size_t first, last;
	bool split;		/* the folder shows parts */
};

static bool stretch_of(const struct node *folder, struct stretch *stretch)
{
	const struct local_group *group = group_of(folder, &stretch->frames);
	if (!group)
		return false;
	stretch->group = group;
	stretch->first = group->first;
	stretch->last = group->first + group->present;
	stretch->split = group->present > SPLIT;
	if (folder->kind == KIND_LOCAL_PART) {
		const struct local *local = local_at(folder->heap, stretch->frames.threads, folder->key, &group);
		const size_t rank = local ? (size_t)(local - stretch->frames.threads->locals) - group->first : 0;
		stretch->first += rank / SPLIT * SPLIT;
		if (stretch->last - stretch->first > SPLIT)
			stretch->last = stretch->first + SPLIT;
		stretch->split = false;
	}
	return true;
}

void list_locals(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct stretch stretch;
	struct text name = { 0 };
	if (!stretch_of(folder, &stretch))
		return;
	const struct local *list = &stretch.frames.threads->locals[stretch.first];
	const size_t count = stretch.last - stretch.first, step = stretch.split ? SPLIT : 1;
	for (uint64_t i = from; i * step < count; i++) {
		name.len = 0;
		if (stretch.split)
			part_name(&name, i, count);
		else
			text_id(&name, list[i].id);
		if (!listing_emit(listing, stretch.split ? KIND_LOCAL_PART : KIND_LOCAL, list[i * step].offset, &name,
				  i + 1))
			break;
	}
	text_free(&name);
}

bool lookup_local(const struct node *folder, const char *name, struct node *child)
{
	struct stretch stretch;
	uint64_t value;
	if (!stretch_of(folder, &stretch))
		return false;
	const struct local *list = stretch.frames.threads->locals;
	if (stretch.split) {
		if (!part_parse(name, stretch.group->present, &value))
			return false;
		*child = node_make(folder, KIND_LOCAL_PART, list[stretch.first + value * SPLIT].offset);
		return true;
	}
	if (!name_parse_id(name, strlen(name), &value))
		return false;
	size_t low = stretch.first, high = stretch.last;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (list[mid].id < value)
			low = mid + 1;
		else
			high = mid;
	}
	if (low >= stretch.last || list[low].id != value)
		return false;
	*child = node_make(folder, KIND_LOCAL, list[low].offset);
	return true;
}

bool up_local_part(const struct node *folder, struct node *parent)
{
	struct frames frames;
	const struct local_group *group = group_of(folder, &frames);
	if (!group)
		return false;
	*parent = group->frame == FRAME_NONE ? node_make(folder, KIND_THREAD_LOCALS, frames.thread->offset) :
					       node_make(folder, KIND_FRAME, group_key(&frames, group));
	return true;
}

bool target_local(const struct node *link, struct text *text)
{
	struct frames frames;
	const struct local_group *group = group_of(link, &frames);
	const uint8_t *p = input_at(link->heap->in, link->key, link->heap->id_width);
	if (!group || !p)
		return false;
	put_ups(text, frames.threads,
		(group->frame == FRAME_NONE ? 1u : 2u + frames.split) + (group->present > SPLIT));
	return target_object(link, read_id(p, link->heap->id_width), text);
}
