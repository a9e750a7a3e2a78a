/* SPDX-License-Identifier: Apache-2.0 */
/* duplicates/strings.tsv and arrays.tsv: equal contents. That of equal pictures is in bitmap_tables.c. */
#include "tree/node.h"

#include <inttypes.h>

#define TABLE_STEP 256

struct job *strings_job(const struct node *node)
{
	return &node_dump(node)->duplicates->strings_job;
}

struct job *arrays_job(const struct node *node)
{
	return &node_dump(node)->duplicates->arrays_job;
}

static void write_strings(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct contents *found = &node_dump(node)->duplicates->strings;
	struct text *text = &pages->text;
	bool more = true;
	if (!first) {
		text_puts(text, "text\tcount\tbytes\twasted\tid\n");
		more = pages_next(pages);
		first = 1;
	}
	for (uint64_t i = first - 1; more && i < found->count; i++) {
		const struct content *content = &found->list[i];
		struct string string;
		if (content_text(node->heap, content, &string) && !text_string(text, &string, TEXT_CELL_CHARS))
			text_puts(text, "…");
		text_printf(text, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", content->count, content->bytes,
			    content->wasted);
		text_id(text, content->id);
		text_putc(text, '\n');
		more = pages_next(pages);
	}
}

static uint64_t string_lines(const struct node *node)
{
	return 1 + node_dump(node)->duplicates->strings.count;
}

const struct pages_ops duplicate_strings_pages = { .step = TABLE_STEP, .write = write_strings, .pieces = string_lines };

static void write_arrays(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct contents *found = &node_dump(node)->duplicates->arrays;
	struct text *text = &pages->text;
	bool more = true;
	if (!first) {
		text_puts(text, "type\tlength\thash\tcount\twasted\tid\n");
		more = pages_next(pages);
		first = 1;
	}
	for (uint64_t i = first - 1; more && i < found->count; i++) {
		const struct content *content = &found->list[i];
		/* The hash is of fixed width, so that the table's size needs no element. */
		const uint64_t hash = pages_sizing(pages) ? 0 : content_hash(node->heap, content);
		text_printf(text, "%s[]\t%" PRIu32 "\t%016" PRIx64 "\t", type_name(content->type), content->length, hash);
		text_printf(text, "%" PRIu64 "\t%" PRIu64 "\t", content->count, content->wasted);
		text_id(text, content->id);
		text_putc(text, '\n');
		more = pages_next(pages);
	}
}

static uint64_t array_lines(const struct node *node)
{
	return 1 + node_dump(node)->duplicates->arrays.count;
}

const struct pages_ops duplicate_arrays_pages = { .step = TABLE_STEP, .write = write_arrays, .pieces = array_lines };
