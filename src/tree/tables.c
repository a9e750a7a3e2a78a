/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: the TSV files. A header line, then a line a thing; columns are never renamed, new ones come last.
 * Piece 0 is the header, piece n line n - 1.
 */
#include "tree/node.h"

#include <inttypes.h>

/* Elements that the preview of an array shows: as text, as numbers, as ids. */
#define PREVIEW_CHARS 64
#define PREVIEW_NUMBERS 16
#define PREVIEW_IDS 8

#define TABLE_STEP 256

static void write_classes(const struct node *node, uint64_t first, struct pages *pages)
{
	struct text *text = &pages->text;
	const struct tree_dump *dump = node_dump(node);
	if (!first) {
		text_puts(text, "class\tid\tinstances\tshallow\tinstance_size\tloader\n");
		if (!pages_next(pages))
			return;
		first = 1;
	}
	for (uint64_t i = first - 1; i < node->heap->class_count; i++) {
		const struct class *class = &node->heap->classes[dump->by_size[i]];
		text_name(text, class->name);
		text_putc(text, '\t');
		text_id(text, class->id);
		text_printf(text, "\t%" PRIu64 "\t%" PRIu64 "\t", class->count, class->shallow);
		if (class->element_type || !class->offset)
			text_putc(text, '-'); /* arrays differ, undescribed classes are unknown */
		else
			text_number(text, class->size);
		text_putc(text, '\t');
		if (class->loader_id)
			text_id(text, class->loader_id);
		else
			text_puts(text, "boot");
		text_putc(text, '\n');
		if (!pages_next(pages))
			return;
	}
}

const struct pages_ops classes_pages = { .step = TABLE_STEP, .write = write_classes };

/* The columns that all lines of instances.tsv and strings.tsv begin with. */
static void put_head(const struct heap *heap, const struct object *object, struct text *text)
{
	text_number(text, object_size(heap, object));
	text_putc(text, '\t');
	if (heap->scan.heap_count > 1)
		text_name(text, block_heap_name(heap, object->offset));
	else
		text_putc(text, '-');
}

static void put_preview(const struct heap *heap, const struct object *array, struct text *text)
{
	struct value_walk walk;
	const bool chars = array->type == TYPE_CHAR || array->type == TYPE_BYTE;
	const uint64_t most = chars ? PREVIEW_CHARS : array->type == TYPE_OBJECT ? PREVIEW_IDS : PREVIEW_NUMBERS;
	uint64_t shown = 0;
	value_walk_start(&walk, heap, array);
	while (shown < most && value_walk_next(&walk)) {
		if (shown++ && !chars)
			text_putc(text, ',');
		if (array->type == TYPE_BYTE)
			text_putc(text, *walk.value >= 0x20 && *walk.value < 0x7f && *walk.value != '\\' ? (char)*walk.value :
													    '.');
		else
			text_cell(text, heap, walk.type, walk.value);
	}
	if (shown < array->length)
		text_puts(text, "…");
}

static void put_array_line(const struct heap *heap, const struct object *array, struct text *text)
{
	text_id(text, array->id);
	text_putc(text, '\t');
	if (array->kind == OBJECT_PRIMITIVE_ARRAY && heap_graph_of(heap))
		text_putc(text, '-'); /* unknown */
	else
		text_number(text, array->length);
	text_putc(text, '\t');
	put_head(heap, array, text);
	text_putc(text, '\t');
	put_preview(heap, array, text);
}

static void put_instance_line(const struct heap *heap, const struct object *object, const struct members *members,
			      struct text *text)
{
	text_id(text, object->id);
	text_putc(text, '\t');
	put_head(heap, object, text);
	for (size_t i = 0; i < members->count; i++) {
		const struct member *member = &members->list[i];
		/* A damaged record may hold fewer values than its class has fields: then its line is shorter. */
		if (member->at + type_width(member->type, heap->id_width) > object->data_len)
			break;
		text_putc(text, '\t');
		text_cell(text, heap, member->type, object->data + member->at);
	}
}

static bool is_named(const struct member *member, const char *name)
{
	return member->name.len == strlen(name) && !memcmp(member->name.text, name, member->name.len);
}

static void put_instances_header(const struct class *class, const struct members *members, struct text *text)
{
	text_puts(text, class->element_type ? "id\tlength\tshallow\theap\tpreview" : "id\tshallow\theap");
	for (size_t i = 0; i < members->count; i++) {
		struct member member = members->list[i];
		/* A field named like one of our own columns is told apart as a hidden field is. */
		member.same += is_named(&member, "id") || is_named(&member, "shallow") || is_named(&member, "heap");
		text_putc(text, '\t');
		member_title(text, &member);
	}
	text_putc(text, '\n');
}

static void write_instances(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct heap *heap = node->heap;
	const struct class *class = node_class(node);
	struct members members;
	struct cursor cursor;
	struct object object;
	bool more = true;
	if (!members_of_instance(heap, class, &members)) {
		pages->text.failed = true;
		return;
	}
	if (!first) {
		put_instances_header(class, &members, &pages->text);
		more = pages_next(pages);
		first = 1;
	}
	cursor_seek(&cursor, heap, class, first - 1);
	while (more && cursor_next(&cursor) && cursor_object(&cursor, &object)) {
		if (object.kind == OBJECT_INSTANCE)
			put_instance_line(heap, &object, &members, &pages->text);
		else
			put_array_line(heap, &object, &pages->text);
		text_putc(&pages->text, '\n');
		more = pages_next(pages);
	}
	members_free(&members);
}

static uint64_t instance_lines(const struct node *node)
{
	return 1 + node_class(node)->count;
}

const struct pages_ops instances_pages = { .step = TABLE_STEP, .write = write_instances, .pieces = instance_lines };

static void write_strings(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct heap *heap = node->heap;
	struct text *text = &pages->text;
	struct cursor cursor;
	struct object object;
	if (!first) {
		text_puts(text, "id\tlength\tshallow\ttext\n");
		if (!pages_next(pages))
			return;
		first = 1;
	}
	if (heap->string_class == CLASS_NONE)
		return;
	cursor_seek(&cursor, heap, &heap->classes[heap->string_class], first - 1);
	while (cursor_next(&cursor) && cursor_object(&cursor, &object)) {
		struct string string;
		const bool known = heap_string(heap, &object, &string);
		text_id(text, object.id);
		text_putc(text, '\t');
		if (known)
			text_number(text, string.units);
		else
			text_putc(text, '-'); /* its characters are not in the dump */
		text_putc(text, '\t');
		text_number(text, object_size(heap, &object));
		text_putc(text, '\t');
		if (known && !text_string(text, &string, TEXT_CELL_CHARS))
			text_puts(text, "…");
		text_putc(text, '\n');
		if (!pages_next(pages))
			return;
	}
}

static uint64_t string_lines(const struct node *node)
{
	const struct heap *heap = node->heap;
	return 1 + (heap->string_class == CLASS_NONE ? 0 : heap->classes[heap->string_class].count);
}

const struct pages_ops strings_pages = { .step = TABLE_STEP, .write = write_strings, .pieces = string_lines };
