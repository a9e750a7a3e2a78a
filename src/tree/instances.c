/* SPDX-License-Identifier: Apache-2.0 */
/* instances/<Class>/: objects by class, in the order of the file, in folders of SPLIT where there are more. */
#include "tree/node.h"

void list_instance_classes(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct tree_dump *dump = node_dump(folder);
	for (uint64_t i = from; i < folder->heap->class_count; i++) {
		const struct class *class = &folder->heap->classes[dump->by_name[i]];
		char *text = dump->file_names[dump->by_name[i]];
		const struct text name = { .data = text, .len = strlen(text) };
		if (class->count && !listing_emit(listing, KIND_CLASS_OBJECTS, class_key(folder, class), &name, i + 1))
			return;
	}
}

bool lookup_instance_class(const struct node *folder, const char *name, struct node *child)
{
	if (!lookup_class(folder, name, child) || !node_class(child)->count)
		return false;
	child->kind = KIND_CLASS_OBJECTS;
	return true;
}

static void list_parts(const struct node *folder, uint64_t from, struct listing *listing)
{
	const uint64_t count = node_class(folder)->count;
	for (uint64_t part = from; part * SPLIT < count; part++) {
		struct text name = { 0 };
		part_name(&name, part, count);
		const bool more = listing_emit(listing, KIND_INSTANCE_BUCKET, folder->key << PART_BITS | part, &name, part + 1);
		text_free(&name);
		if (!more)
			return;
	}
}

/* Two entries an object: its text, and a link to its folder. */
void list_instances(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct class *class = node_class(folder);
	const bool bucket = folder->kind == KIND_INSTANCE_BUCKET;
	if (!bucket && class->count > SPLIT) {
		list_parts(folder, from, listing);
		return;
	}
	const uint64_t first = bucket ? (folder->key & PART_MASK) * SPLIT : 0;
	struct cursor cursor;
	struct text name = { 0 };
	cursor_seek(&cursor, folder->heap, class, first + from / 2);
	for (uint64_t at = from / 2 * 2; at < 2 * SPLIT && cursor_next(&cursor); at += 2) {
		struct found found;
		/* Of two objects with one id the first in the file has the name. */
		if (folder->heap->scan.index.duplicates &&
		    (class_find(folder->heap, cursor.id) ||
		     (index_find(&folder->heap->scan.index, cursor.id, &found) && found.offset != cursor.offset)))
			continue;
		name.len = 0;
		text_id(&name, cursor.id);
		const size_t len = name.len;
		text_puts(&name, ".txt");
		if (at >= from && !listing_emit(listing, KIND_INSTANCE_TXT, cursor.offset, &name, at + 1))
			break;
		name.len = len;
		if (!listing_emit(listing, bucket ? KIND_BUCKET_INSTANCE : KIND_INSTANCE, cursor.offset, &name, at + 2))
			break;
	}
	text_free(&name);
}

bool lookup_instance(const struct node *folder, const char *name, struct node *child)
{
	const struct class *class = node_class(folder);
	const bool bucket = folder->kind == KIND_INSTANCE_BUCKET;
	if (!bucket && class->count > SPLIT) {
		uint64_t part;
		if (!part_parse(name, class->count, &part))
			return false;
		*child = node_make(folder, KIND_INSTANCE_BUCKET, folder->key << PART_BITS | part);
		return true;
	}
	const size_t len = strlen(name);
	const bool text = len > 4 && !strcmp(name + len - 4, ".txt");
	uint64_t id;
	struct object object;
	if (!name_parse_id(name, text ? len - 4 : len, &id) || class_find(folder->heap, id) ||
	    !heap_find(folder->heap, id, &object) || object.class != class ||
	    (bucket && object_rank(folder->heap, &object) / SPLIT != (folder->key & PART_MASK)))
		return false;
	*child = node_make(folder, text ? KIND_INSTANCE_TXT : bucket ? KIND_BUCKET_INSTANCE : KIND_INSTANCE,
			   object.offset);
	return true;
}
