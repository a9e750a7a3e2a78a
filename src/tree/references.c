/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object's folder shows of what the object holds: a link for each reference under its field's name,
 * or its number in an array. The same for the statics of a class. Where there are more than SPLIT references,
 * null or not, they lie in folders of SPLIT.
 */
#include "tree/node.h"

#include <stdlib.h>

/* The references that a folder shows, in order: array elements, fields, or statics. */
struct references {
	const struct heap *heap;
	bool array;
	uint64_t base;		/* what member.at counts from, in the file */
	uint64_t count;
	struct members members;	/* empty for an array */
	bool split;		/* the folder shows parts */
	uint64_t first, last;	/* of those, what it shows itself */
	enum kind link, part;
};

static uint64_t place_of(const struct references *references, uint64_t i)
{
	return references->base +
	       (references->array ? i * references->heap->id_width : references->members.list[i].at);
}

/* Number of the reference whose bytes are at `offset` of the file. */
static uint64_t reference_number(const struct references *references, uint64_t offset)
{
	if (references->array)
		return (offset - references->base) / references->heap->id_width;
	for (uint64_t i = 0; i < references->count; i++)
		if (place_of(references, i) == offset)
			return i;
	return references->count;
}

/* All from `first` on, or one part's worth. The kernel may ask for parts that do not exist. */
static void show_from(struct references *references, uint64_t first, bool part)
{
	const uint64_t count = references->count;
	references->first = first < count ? first : count;
	references->last = part && count - references->first > SPLIT ? references->first + SPLIT : count;
}

static bool open_object(const struct node *folder, struct references *references)
{
	const bool part = folder->kind == KIND_REFERENCE_BUCKET;
	struct found found = { folder->key, 0 };
	struct object object;
	if ((part && !index_containing(&folder->heap->scan.index, folder->key, &found)) ||
	    !heap_object(folder->heap, found.offset, &object))
		return false;
	*references = (struct references){ .heap = folder->heap, .base = object.data_offset,
					   .link = part ? KIND_BUCKET_REFERENCE : KIND_REFERENCE,
					   .part = KIND_REFERENCE_BUCKET };
	if (object.kind == OBJECT_INSTANCE) {
		if (!members_of_instance(folder->heap, object.class, &references->members))
			return false;
		members_keep_references(&references->members);
		references->count = references->members.count;
		/* A damaged record may hold fewer values than its class has fields. */
		while (references->count && references->members.list[references->count - 1].at + folder->heap->id_width >
						    object.data_len)
			references->count--;
	} else if (object.kind == OBJECT_OBJECT_ARRAY) {
		references->array = true;
		references->count = object.length;
	}
	references->split = !part && references->count > SPLIT;
	show_from(references, part ? reference_number(references, folder->key) : 0, part);
	return true;
}

static bool open_statics(const struct node *folder, struct references *references)
{
	const bool part = folder->kind == KIND_STATIC_BUCKET;
	*references = (struct references){ .heap = folder->heap, .link = part ? KIND_BUCKET_STATIC : KIND_STATIC,
					   .part = KIND_STATIC_BUCKET };
	if (!members_of_statics(folder->heap, node_class(folder), &references->members))
		return false;
	members_keep_references(&references->members);
	references->count = references->members.count;
	references->split = !part && references->count > SPLIT;
	show_from(references, part ? (folder->key & PART_MASK) * SPLIT : 0, part);
	return true;
}

static void put_name(const struct references *references, uint64_t i, struct text *text)
{
	text->len = 0;
	if (references->array)
		text_number(text, i);
	else
		member_file_name(text, &references->members.list[i]);
}

/* Does the reference lead to something that is in the dump? Only then it has a link. */
static bool leads_anywhere(const struct references *references, uint64_t i)
{
	const unsigned I = references->heap->id_width;
	const uint8_t *p = input_at(references->heap->in, place_of(references, i), I);
	return p && in_dump(references->heap, read_id(p, I));
}

/* An object's part is named by where its first reference is, a class's by its number. */
static uint64_t part_key(const struct node *folder, const struct references *references, uint64_t part)
{
	return references->part == KIND_REFERENCE_BUCKET ? place_of(references, part * SPLIT) :
							   folder->key << PART_BITS | part;
}

static void list(const struct node *folder, const struct references *references, uint64_t from,
		 struct listing *listing)
{
	struct text name = { 0 };
	if (references->split) {
		for (uint64_t part = from; part * SPLIT < references->count; part++) {
			name.len = 0;
			part_name(&name, part, references->count);
			if (!listing_emit(listing, references->part, part_key(folder, references, part), &name, part + 1))
				break;
		}
	} else {
		for (uint64_t i = references->first + from; i < references->last; i++) {
			if (!leads_anywhere(references, i))
				continue;
			put_name(references, i, &name);
			if (!listing_emit(listing, references->link, place_of(references, i), &name,
					  i + 1 - references->first))
				break;
		}
	}
	text_free(&name);
}

static bool lookup(const struct node *folder, const struct references *references, const char *name,
		   struct node *child)
{
	uint64_t i, part;
	if (references->split) {
		if (!part_parse(name, references->count, &part))
			return false;
		*child = node_make(folder, references->part, part_key(folder, references, part));
		return true;
	}
	if (references->array) {
		if (!name_parse_decimal(name, strlen(name), 0, &i) || i < references->first || i >= references->last)
			return false;
	} else {
		struct text text = { 0 };
		for (i = references->first; i < references->last; i++) {
			put_name(references, i, &text);
			if (text.len == strlen(name) && !memcmp(text.data, name, text.len))
				break;
		}
		text_free(&text);
		if (i == references->last)
			return false;
	}
	*child = node_make(folder, references->link, place_of(references, i));
	return leads_anywhere(references, i);
}

void list_references(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct references references;
	if (open_object(folder, &references)) {
		list(folder, &references, from, listing);
		members_free(&references.members);
	}
}

bool lookup_reference(const struct node *folder, const char *name, struct node *child)
{
	struct references references;
	if (!open_object(folder, &references))
		return false;
	const bool found = lookup(folder, &references, name, child);
	members_free(&references.members);
	return found;
}

bool up_reference_bucket(const struct node *folder, struct node *parent)
{
	struct found found;
	if (!index_containing(&folder->heap->scan.index, folder->key, &found))
		return false;
	*parent = node_make(folder, KIND_OBJECT, found.offset);
	return true;
}

void list_statics(const struct node *folder, uint64_t from, struct listing *listing)
{
	struct references references;
	if (open_statics(folder, &references)) {
		list(folder, &references, from, listing);
		members_free(&references.members);
	}
}

bool lookup_static(const struct node *folder, const char *name, struct node *child)
{
	struct references references;
	if (!open_statics(folder, &references))
		return false;
	const bool found = lookup(folder, &references, name, child);
	members_free(&references.members);
	return found;
}
