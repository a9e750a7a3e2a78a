/* SPDX-License-Identifier: Apache-2.0 */
/* roots/<kind>/<id>: what the VM itself holds. */
#include "tree/node.h"

static const struct {
	uint8_t tag;
	const char *name;
} tags[] = {
	{ ROOT_JNI_GLOBAL, "jni-global" },
	{ ROOT_JNI_LOCAL, "jni-local" },
	{ ROOT_JAVA_FRAME, "java-frame" },
	{ ROOT_NATIVE_STACK, "native-stack" },
	{ ROOT_STICKY_CLASS, "sticky-class" },
	{ ROOT_THREAD_BLOCK, "thread-block" },
	{ ROOT_MONITOR_USED, "monitor-used" },
	{ ROOT_THREAD_OBJ, "thread-object" },
	{ ROOT_INTERNED_STRING, "interned-string" },
	{ ROOT_FINALIZING, "finalizing" },
	{ ROOT_DEBUGGER, "debugger" },
	{ ROOT_REFERENCE_CLEANUP, "reference-cleanup" },
	{ ROOT_VM_INTERNAL, "vm-internal" },
	{ ROOT_JNI_MONITOR, "jni-monitor" },
	{ ROOT_UNREACHABLE, "unreachable" },
	{ ROOT_UNKNOWN, "unknown" },
};
#define TAG_COUNT (sizeof tags / sizeof *tags)

const char *root_tag_name(unsigned tag)
{
	for (size_t i = 0; i < TAG_COUNT; i++)
		if (tags[i].tag == tag)
			return tags[i].name;
	return NULL;
}

void list_roots(const struct node *folder, uint64_t from, struct listing *listing)
{
	for (uint64_t i = from; i < TAG_COUNT; i++) {
		char *text = (char *)(uintptr_t)tags[i].name;
		const struct text name = { .data = text, .len = strlen(text) };
		if (folder->heap->scan.subs[tags[i].tag] &&
		    !listing_emit(listing, KIND_ROOT_TAG, folder->key << 8 | tags[i].tag, &name, i + 1))
			return;
	}
}

bool lookup_roots(const struct node *folder, const char *name, struct node *child)
{
	for (size_t i = 0; i < TAG_COUNT; i++)
		if (!strcmp(tags[i].name, name) && folder->heap->scan.subs[tags[i].tag]) {
			*child = node_make(folder, KIND_ROOT_TAG, folder->key << 8 | tags[i].tag);
			return true;
		}
	return false;
}

bool up_root_tag(const struct node *folder, struct node *parent)
{
	*parent = node_make(folder, KIND_ROOTS, folder->key >> 8);
	return true;
}

/* The roots that a folder shows: a stretch of the sorted list. */
struct stretch {
	const struct root *list;
	size_t count;		/* of all roots of the kind */
	bool split;		/* the folder shows parts */
	size_t first, last;	/* of those, what it shows itself */
};

static bool stretch_of(const struct node *folder, struct stretch *stretch)
{
	const struct roots *roots = heap_roots(folder->heap);
	const bool part = folder->kind == KIND_ROOT_BUCKET;
	size_t first;
	if (!roots)
		return false;
	stretch->count = roots_of(roots, (part ? folder->key >> PART_BITS : folder->key) & 0xff, &first);
	stretch->list = roots->list + first;
	stretch->split = !part && stretch->count > SPLIT;
	stretch->first = part ? (folder->key & PART_MASK) * SPLIT : 0;
	if (stretch->first > stretch->count) /* no part of this number */
		stretch->first = stretch->count;
	stretch->last = part && stretch->count - stretch->first > SPLIT ? stretch->first + SPLIT : stretch->count;
	return true;
}

void list_root_links(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct stretch stretch;
	struct text name = { 0 };
	if (!stretch_of(folder, &stretch))
		return;
	const uint64_t end = stretch.split ? (stretch.count + SPLIT - 1) / SPLIT : stretch.last - stretch.first;
	for (uint64_t i = from; i < end; i++) {
		bool more;
		name.len = 0;
		if (stretch.split) {
			part_name(&name, i, stretch.count);
			more = listing_emit(listing, KIND_ROOT_BUCKET, folder->key << PART_BITS | i, &name, i + 1);
		} else {
			const struct root *root = &stretch.list[stretch.first + i];
			text_id(&name, root->id);
			more = listing_emit(listing, folder->kind == KIND_ROOT_BUCKET ? KIND_BUCKET_ROOT_LINK : KIND_ROOT_LINK,
					    root->offset, &name, i + 1);
		}
		if (!more)
			break;
	}
	text_free(&name);
}

bool lookup_root_link(const struct node *folder, const char *name, struct node *child)
{
	struct stretch stretch;
	uint64_t value;
	if (!stretch_of(folder, &stretch))
		return false;
	if (stretch.split) {
		if (!part_parse(name, stretch.count, &value))
			return false;
		*child = node_make(folder, KIND_ROOT_BUCKET, folder->key << PART_BITS | value);
		return true;
	}
	if (!name_parse_id(name, strlen(name), &value))
		return false;
	size_t low = stretch.first, high = stretch.last;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (stretch.list[mid].id < value)
			low = mid + 1;
		else
			high = mid;
	}
	if (low >= stretch.last || stretch.list[low].id != value)
		return false;
	*child = node_make(folder, folder->kind == KIND_ROOT_BUCKET ? KIND_BUCKET_ROOT_LINK : KIND_ROOT_LINK,
			   stretch.list[low].offset);
	return true;
}
