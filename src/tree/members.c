/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

static bool same_name(const struct member *a, const struct member *b)
{
	return a->name.len == b->name.len && !memcmp(a->name.text, b->name.text, a->name.len);
}

/* `seed` is nothing that a dump could know. */
static size_t hash_name(const struct member *member, uint64_t seed, size_t slots)
{
	uint64_t hash = seed;
	for (size_t i = 0; i < member->name.len; i++) {
		hash = (hash ^ (uint8_t)member->name.text[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return (size_t)hash & (slots - 1);
}

/* Counts for each member those of its name before it: through a hash of the last one of each name. */
static bool count_same(struct members *members)
{
	size_t slot_count = 16;
	while (slot_count < members->count * 2)
		slot_count *= 2;
	uint32_t *slots = calloc(slot_count, sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < members->count; i++) {
		struct member *member = &members->list[i];
		size_t at = hash_name(member, (uintptr_t)slots, slot_count);
		while (slots[at] && !same_name(member, &members->list[slots[at] - 1]))
			at = (at + 1) & (slot_count - 1);
		if (slots[at]) {
			const struct member *before = &members->list[slots[at] - 1];
			member->same = before->same + 1;
			member->same_class = before->class_id == member->class_id ? before->same_class + 1 : 0;
		}
		slots[at] = (uint32_t)i + 1;
	}
	free(slots);
	return true;
}

bool members_of_instance(const struct heap *heap, const struct class *class, struct members *members)
{
	*members = (struct members){ NULL, 0, false };
	size_t most = 0;
	for (const struct class *c = class; c; c = class_super(heap, c))
		most += c->parts.field_count;
	members->list = calloc(most + 1, sizeof *members->list);
	if (!members->list)
		return false;
	uint64_t class_at = 0;
	for (const struct class *c = class; c; c = class_super(heap, c)) {
		const struct field *fields = class_fields(heap, c);
		for (unsigned i = 0; fields && i < c->parts.field_count; i++)
			members->list[members->count++] = (struct member){ .name = fields[i].name, .class_id = c->id,
									   .at = class_at + fields[i].offset,
									   .type = fields[i].type };
		class_at += c->own_width;
	}
	if (count_same(members))
		return true;
	members_free(members);
	return false;
}

bool members_of_statics(const struct heap *heap, const struct class *class, struct members *members)
{
	*members = (struct members){ NULL, 0, true };
	members->list = calloc(class->parts.static_count + 1u, sizeof *members->list);
	if (!members->list)
		return false;
	struct static_walk walk;
	uint64_t budget = NAMES_MOST;
	static_walk_start(&walk, heap, class, false);
	while (static_walk_next(&walk)) {
		struct name name = member_name(heap, class, walk.name_id, walk.type, "static", &budget);
		if (!name.text)
			break;
		members->list[members->count++] =
			(struct member){ .name = name, .class_id = class->id, .at = walk.offset, .type = walk.type };
	}
	if (count_same(members))
		return true;
	members_free(members);
	return false;
}

void members_keep_references(struct members *members)
{
	size_t kept = 0;
	for (size_t i = 0; i < members->count; i++)
		if (members->list[i].type == TYPE_OBJECT)
			members->list[kept++] = members->list[i];
		else if (members->own_names)
			free((char *)(uintptr_t)members->list[i].name.text);
	members->count = kept;
}

void members_free(struct members *members)
{
	for (size_t i = 0; members->own_names && i < members->count; i++)
		free((char *)(uintptr_t)members->list[i].name.text);
	free(members->list);
	*members = (struct members){ NULL, 0, false };
}

static void put_distinction(struct text *text, const struct member *member)
{
	if (member->same)
		text_printf(text, "@0x%" PRIx64, member->class_id);
	if (member->same_class)
		text_printf(text, "@%u", member->same_class + 1);
}

void member_file_name(struct text *text, const struct member *member)
{
	/* "@0x", 16 digits, "@" and 5 digits at most. */
	name_escape(text, member->name, member->same ? NAME_MOST - 25 : NAME_MOST, true);
	put_distinction(text, member);
}

void member_title(struct text *text, const struct member *member)
{
	text_name(text, member->name);
	put_distinction(text, member);
}
