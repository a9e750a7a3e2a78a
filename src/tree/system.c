/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system/: what the VM was started with and in. Passwords and tokens are often among it: like all files, these are as
 * readable as the dump that has them.
 */
#include "tree/node.h"

#include "heap/properties.h"

#include <stdlib.h>

#define TABLE_STEP 256
/* Where a text is cut; and chars of all of them, so that a file does not grow without bounds if they are all one. */
#define TEXT_MOST 65536
#define ALL_MOST (UINT64_C(16) << 20)

bool has_properties(const struct node *node)
{
	return properties_exist(node->heap, SYSTEM_PROPERTIES);
}

bool has_environment(const struct node *node)
{
	return properties_exist(node->heap, SYSTEM_ENVIRONMENT);
}

bool has_system(const struct node *node)
{
	return has_properties(node) || has_environment(node);
}

static void put_part(struct text *text, const struct heap *heap, const struct property_part *part, uint64_t *left)
{
	const uint64_t units = part->kind == PART_STRING || part->kind == PART_BYTES ? part->string.units : 0;
	const uint64_t most = *left < TEXT_MOST ? *left : TEXT_MOST;
	const uint64_t shown = units < most ? units : most;
	*left -= shown;
	if (part->kind == PART_OBJECT)
		text_reference(text, heap, part->id);
	else if (part->kind == PART_STRING)
		text_string(text, &part->string, shown);
	else if (part->kind == PART_BYTES)
		text_escaped(text, (const char *)part->string.data, (size_t)shown);
	if (shown < units)
		text_puts(text, "…");
}

static void write_properties(const struct node *node, uint64_t first, struct pages *pages)
{
	struct text *text = &pages->text;
	const enum properties_of which = node->kind == KIND_ENVIRONMENT ? SYSTEM_ENVIRONMENT : SYSTEM_PROPERTIES;
	struct properties properties;
	uint64_t left = ALL_MOST;
	if (properties_read(node->heap, which, &properties)) {
		text->failed = true;
		return;
	}
	/* Piece 0 is there even where nothing else is. */
	bool more = first || pages_next(pages);
	for (size_t i = 0; more && i < properties.count; i++) {
		const struct property *property = &properties.list[i];
		const size_t start = text->len;
		put_part(text, node->heap, &property->key, &left);
		text_putc(text, '=');
		put_part(text, node->heap, &property->value, &left);
		text_putc(text, '\n');
		if (i + 1 < first)
			text->len = start; /* only what it takes counts */
		else
			more = pages_next(pages);
	}
	free(properties.list);
}

const struct pages_ops properties_pages = { .step = TABLE_STEP, .write = write_properties };
