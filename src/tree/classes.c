/* SPDX-License-Identifier: Apache-2.0 */
/* classes/<Class>/: what a class is, and where it stands among others. */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

static void emit_class(const struct node *folder, uint32_t number, enum kind kind, uint64_t next,
		       struct listing *listing)
{
	char *text = node_dump(folder)->file_names[number];
	const struct text name = { .data = text, .len = strlen(text) };
	listing_emit(listing, kind, node_dump(folder)->first_class + number, &name, next);
}

void list_classes(const struct node *folder, uint64_t from, struct listing *listing)
{
	for (uint64_t i = from; i < folder->heap->class_count && !listing->full; i++)
		emit_class(folder, node_dump(folder)->by_name[i], KIND_CLASS, i + 1, listing);
}

static bool class_of_name(const struct node *like, const char *name, uint32_t *number)
{
	const struct tree_dump *dump = node_dump(like);
	uint32_t low = 0, high = like->heap->class_count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const int order = strcmp(dump->file_names[dump->by_name[mid]], name);
		if (!order) {
			*number = dump->by_name[mid];
			return true;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

bool lookup_class(const struct node *folder, const char *name, struct node *child)
{
	uint32_t number;
	if (!class_of_name(folder, name, &number))
		return false;
	*child = node_make(folder, KIND_CLASS, node_dump(folder)->first_class + number);
	return true;
}

bool up_class(const struct node *folder, struct node *parent)
{
	*parent = node_make(folder, folder->kind == KIND_CLASS ? KIND_CLASSES : KIND_INSTANCES, folder->heap->number);
	return true;
}

/* A part lies in the folder of its whole, whose key is its own without the part's number. */
bool up_part(const struct node *folder, struct node *parent)
{
	static const enum kind whole[KIND_COUNT] = { [KIND_SUBCLASS_BUCKET] = KIND_SUBCLASSES,
						     [KIND_STATIC_BUCKET] = KIND_STATICS,
						     [KIND_INSTANCE_BUCKET] = KIND_CLASS_OBJECTS,
						     [KIND_ROOT_BUCKET] = KIND_ROOT_TAG };
	*parent = node_make(folder, whole[folder->kind], folder->key >> PART_BITS);
	return true;
}

bool has_super(const struct node *node)
{
	return node_class(node)->super != CLASS_NONE;
}

bool has_instances(const struct node *node)
{
	return node_class(node)->count > 0;
}

bool has_loader(const struct node *node)
{
	return in_dump(node->heap, node_class(node)->loader_id);
}

bool target_super(const struct node *link, struct text *text)
{
	const struct class *super = class_super(link->heap, node_class(link));
	return super && target_class(link, super, text);
}

bool target_instances(const struct node *link, struct text *text)
{
	text_puts(text, "instances/");
	text_puts(text, class_file_name(link, node_class(link)));
	return true;
}

bool target_loader(const struct node *link, struct text *text)
{
	return target_object(link, node_class(link)->loader_id, text);
}

bool target_own_class(const struct node *link, struct text *text)
{
	return target_class(link, node_class(link), text);
}

void list_subclasses(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct class *class = node_class(folder);
	const bool part = folder->kind == KIND_SUBCLASS_BUCKET;
	const uint64_t first = part ? (folder->key & PART_MASK) * SPLIT : 0, count = class->child_count;
	if (!part && count > SPLIT) {
		for (uint64_t i = from; i * SPLIT < count && !listing->full; i++) {
			struct text name = { 0 };
			part_name(&name, i, count);
			listing_emit(listing, KIND_SUBCLASS_BUCKET, folder->key << PART_BITS | i, &name, i + 1);
			text_free(&name);
		}
		return;
	}
	for (uint64_t i = from; i < SPLIT && first + i < count && !listing->full; i++)
		emit_class(folder, folder->heap->children[class->first_child + first + i],
			   part ? KIND_BUCKET_SUBCLASS : KIND_SUBCLASS, i + 1, listing);
}

bool lookup_subclass(const struct node *folder, const char *name, struct node *child)
{
	const struct class *class = node_class(folder);
	const bool part = folder->kind == KIND_SUBCLASS_BUCKET;
	uint64_t number_of_part;
	uint32_t number;
	if (!part && class->child_count > SPLIT) {
		if (!part_parse(name, class->child_count, &number_of_part))
			return false;
		*child = node_make(folder, KIND_SUBCLASS_BUCKET, folder->key << PART_BITS | number_of_part);
		return true;
	}
	if (!class_of_name(folder, name, &number) || folder->heap->classes[number].super != class_number(folder->heap, class))
		return false;
	*child = node_make(folder, part ? KIND_BUCKET_SUBCLASS : KIND_SUBCLASS, node_dump(folder)->first_class + number);
	if (!part)
		return true;
	const uint64_t first = (folder->key & PART_MASK) * SPLIT;
	for (uint64_t i = first; i < first + SPLIT && i < class->child_count; i++)
		if (folder->heap->children[class->first_child + i] == number)
			return true;
	return false;
}

static void write_reference(const struct heap *heap, const char *title, uint64_t id, struct text *text)
{
	if (!id)
		return;
	text_puts(text, title);
	text_reference(text, heap, id);
	text_putc(text, '\n');
}

static void write_statics(const struct heap *heap, const struct class *class, bool pool, struct text *text)
{
	struct static_walk walk;
	bool first = true;
	uint64_t budget = NAMES_MOST;
	static_walk_start(&walk, heap, class, pool);
	while (static_walk_next(&walk)) {
		if (first)
			text_puts(text, pool ? "\nconstant pool:\n" : "\nstatics:\n");
		first = false;
		if (pool) {
			text_number(text, walk.name_id);
		} else {
			const struct name name = member_name(heap, class, walk.name_id, walk.type, "static", &budget);
			text_name(text, name);
			free((char *)(uintptr_t)name.text);
		}
		text_printf(text, ": %s = ", type_name(walk.type));
		text_value(text, heap, walk.type, walk.value);
		text_putc(text, '\n');
	}
}

static void write_class(const struct heap *heap, const struct class *class, struct text *text)
{
	text_puts(text, "class: ");
	text_name(text, class->name);
	if (class->mapped) {
		text_puts(text, "\nobfuscated: ");
		text_escaped(text, class->mapped->obfuscated, class->mapped->obfuscated_len);
	}
	text_puts(text, "\nid: ");
	text_id(text, class->id);
	const struct class *super = class_super(heap, class);
	text_puts(text, "\nsuperclass: ");
	if (super)
		text_name(text, super->name);
	else
		text_reference(text, heap, class->super_id);
	text_puts(text, "\nloader: ");
	if (class->loader_id)
		text_reference(text, heap, class->loader_id);
	else
		text_puts(text, "boot");
	text_putc(text, '\n');
	write_reference(heap, "signers: ", class_reference(heap, class, CLASS_SIGNERS), text);
	write_reference(heap, "protection domain: ", class_reference(heap, class, CLASS_PROTECTION_DOMAIN), text);
	text_printf(text, "instances: %" PRIu64 "\nshallow: %" PRIu64 "\n", class->count, class->shallow);
	if (!class->element_type && class->offset)
		text_printf(text, "instance size: %" PRIu64 "\n", class->size);
	text_printf(text, "subclasses: %" PRIu32 "\n", class->child_count);
	if (!class->offset)
		text_puts(text, "the dump names this class but does not describe it\n");
	for (const struct class *c = class; c; c = class_super(heap, c)) {
		const struct field *fields = class_fields(heap, c);
		for (unsigned i = 0; fields && i < c->parts.field_count; i++) {
			if (!i) {
				text_puts(text, "\nfields of ");
				text_name(text, c->name);
				text_puts(text, ":\n");
			}
			text_name(text, fields[i].name);
			text_printf(text, ": %s\n", type_name(fields[i].type));
		}
	}
	write_statics(heap, class, false, text);
	write_statics(heap, class, true, text);
}

static void write_class_page(const struct node *node, uint64_t first, struct pages *pages)
{
	if (first)
		return;
	write_class(node->heap, node_class(node), &pages->text);
	pages_next(pages);
}

const struct pages_ops class_pages = { .step = 1, .write = write_class_page };
