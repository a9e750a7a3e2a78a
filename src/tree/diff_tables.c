/* SPDX-License-Identifier: Apache-2.0 */
/* The files of diff/: info.txt and the tables, which hold only what has changed, most growth first. */
#include "tree/diff.h"

#include <inttypes.h>

#define TABLE_STEP 256

/* "before after delta" */
static void put_growth(struct text *text, uint64_t before, uint64_t after)
{
	text_printf(text, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64, before, after, diff_growth(before, after));
}

static void put_sums(struct text *text, const struct diff_sum *sums)
{
	put_growth(text, sums[DIFF_OLD].count, sums[DIFF_NEW].count);
	put_growth(text, sums[DIFF_OLD].bytes, sums[DIFF_NEW].bytes);
	text_putc(text, '\n');
}

/* --- lines --- */

static uint64_t class_lines(const struct diff *diff)
{
	return diff->changed_count;
}

static void put_class(const struct diff *diff, uint64_t line, struct text *text)
{
	const struct diff_class *class = &diff->classes[diff->changed[line]];
	text_name(text, class->name);
	put_sums(text, class->sums);
}

static uint64_t text_lines(const struct diff *diff)
{
	return diff->texts.count;
}

static void put_text(const struct diff *diff, uint64_t line, struct text *text)
{
	const struct diff_text *row = &diff->texts.list[line];
	const struct heap *heap = diff->heaps[row->side];
	struct object object;
	struct string string;
	if (heap_object(heap, row->offset, &object) && heap_string(heap, &object, &string) &&
	    !text_string(text, &string, TEXT_CELL_CHARS))
		text_puts(text, "…");
	put_sums(text, row->sums);
}

static uint64_t bitmap_lines(const struct diff *diff)
{
	return diff->bitmaps.count;
}

static void put_bitmap(const struct diff *diff, uint64_t line, struct text *text)
{
	const struct diff_bitmap *row = &diff->bitmaps.list[line];
	text_printf(text, "%" PRIu32 "\t%" PRIu32 "\t%s\t", row->width, row->height, layout_name(row->layout));
	if (row->hashed)
		text_printf(text, "%016" PRIx64, row->hash);
	else
		text_putc(text, '-');
	put_sums(text, row->sums);
}

static uint64_t path_lines(const struct diff *diff)
{
	return diff->paths.order_count;
}

static void put_path(const struct diff *diff, uint64_t line, struct text *text)
{
	const struct diff_paths *paths = &diff->paths;
	uint32_t steps[DIFF_PATH_DEPTH], count = 0;
	for (uint32_t i = paths->order[line]; i != DIFF_PATH_ROOT && count < DIFF_PATH_DEPTH; i = paths->list[i].above)
		steps[count++] = i;
	while (count--) {
		const struct diff_path *step = &paths->list[steps[count]];
		if (step->class_object)
			text_puts(text, "class ");
		if (step->class < diff->class_count)
			text_name(text, diff->classes[step->class].name);
		else
			text_puts(text, "(of no class that is in the dump)");
		if (count)
			text_puts(text, " > ");
	}
	put_sums(text, paths->list[paths->order[line]].sums);
}

#define SUMS "before\tafter\tdelta\tbytes_before\tbytes_after\tbytes_delta\n"
static const struct table {
	const char *header;
	uint64_t (*lines)(const struct diff *diff);
	void (*put)(const struct diff *diff, uint64_t line, struct text *text);
} tables[DIFF_FILES] = {
	[DIFF_CLASSES] = { "class\t" SUMS, class_lines, put_class },
	[DIFF_STRINGS] = { "text\t" SUMS, text_lines, put_text },
	[DIFF_BITMAPS] = { "width\theight\tlayout\thash\t" SUMS, bitmap_lines, put_bitmap },
	[DIFF_DOMINATORS] = { "path\t" SUMS, path_lines, put_path },
};

/* --- info.txt --- */

static void put_file(struct text *text, const char *key, const struct heap *heap)
{
	text_printf(text, "%s: ", key);
	text_escaped(text, heap->in->path, strlen(heap->in->path));
	if (heap->hprof->traced)
		text_printf(text, " (process %" PRIu32 ")", heap->hprof->traced->pid);
	else if (heap->hprof->dump_count > 1)
		text_printf(text, " (dump %u)", heap->dump + 1);
	text_putc(text, '\n');
}

static void put_total(struct text *text, const char *key, const struct diff_sum *sum)
{
	text_printf(text, "%s: %" PRIu64 " objects, %" PRIu64 " bytes\n", key, sum->count, sum->bytes);
}

static void put_judgement(struct text *text, const struct diff_judgement *judgement)
{
	text_printf(text, "matched by: %s\n", judgement->by_id ? "id and content" : "content");
	text_printf(text, "because: %s\n", judgement->reason);
	if (judgement->pids_known)
		text_printf(text, "process ids: %" PRIu64 " before, %" PRIu64 " after\n", judgement->pids[DIFF_OLD],
			    judgement->pids[DIFF_NEW]);
	else
		text_puts(text, "process ids: unknown\n");
	text_printf(text, "threads in both: %" PRIu64 ", at the same address: %" PRIu64 "\n", judgement->threads,
		    judgement->threads_same);
	text_printf(text, "class objects in both: %" PRIu64 ", of the same id: %" PRIu64 "\n", judgement->classes,
		    judgement->classes_same);
	text_printf(text, "Strings looked at: %" PRIu64 ", ids that are still Strings: %" PRIu64 ", of the same text: %" PRIu64
		    "\n", judgement->strings, judgement->strings_there, judgement->strings_same);
}

/* What is wrong with the older dump; the newer one's warnings are in its own info.txt. */
static void put_warnings(struct text *text, const struct notes *container, const struct notes *dump)
{
	const struct notes *const both[] = { container, dump };
	char line[512];
	text_printf(text, "warnings about the file before: %zu\n", (container ? container->count : 0) + dump->count);
	for (unsigned i = 0; i < 2; i++)
		for (size_t j = 0; both[i] && j < both[i]->count; j++)
			text_printf(text, "warning: %s\n", note_format(&both[i]->list[j], line, sizeof line));
}

static void put_info(const struct diff *diff, const struct notes *container, struct text *text)
{
	struct diff_sum sums[DIFF_SIDES];
	uint64_t only[DIFF_SIDES] = { 0, 0 };
	diff_totals(diff, sums);
	for (uint32_t i = 0; i < diff->class_count; i++)
		for (unsigned side = 0; side < DIFF_SIDES; side++)
			only[side] += diff->classes[i].class_count[side] && !diff->classes[i].class_count[!side];
	put_file(text, "file before", diff->heaps[DIFF_OLD]);
	put_file(text, "file after", diff->heaps[DIFF_NEW]);
	put_judgement(text, &diff->objects.judgement);
	put_total(text, "before", &sums[DIFF_OLD]);
	put_total(text, "after", &sums[DIFF_NEW]);
	text_printf(text, "growth: %" PRId64 " objects, %" PRId64 " bytes\n", diff_growth(sums[DIFF_OLD].count, sums[DIFF_NEW].count),
		    diff_growth(sums[DIFF_OLD].bytes, sums[DIFF_NEW].bytes));
	text_printf(text, "the same by id and content: %" PRIu64 "\nthe same by content: %" PRIu64 "\n", diff->objects.by_id,
		    diff->objects.by_content);
	text_printf(text, "the same by id, changed: %" PRIu64 "\n", diff->objects.changed);
	put_total(text, "new", &diff->objects.left[DIFF_NEW]);
	put_total(text, "removed", &diff->objects.left[DIFF_OLD]);
	text_printf(text, "class names only before: %" PRIu64 "\nclass names only after: %" PRIu64 "\n", only[DIFF_OLD],
		    only[DIFF_NEW]);
	put_warnings(text, container, diff->heaps[DIFF_OLD]->hprof->notes);
}

/* --- all of them --- */

static void write_file(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct diff *diff = node_diff(node);
	const struct table *table = &tables[node->key];
	bool more = true;
	if (node->key == DIFF_INFO) {
		if (!first)
			put_info(diff, node->tree->source.baseline_notes, &pages->text);
		pages_next(pages);
		return;
	}
	if (!first) {
		text_puts(&pages->text, table->header);
		more = pages_next(pages);
		first = 1;
	}
	for (uint64_t line = first - 1; more && line < table->lines(diff); line++) {
		table->put(diff, line, &pages->text);
		more = pages_next(pages);
	}
}

static uint64_t file_lines(const struct node *node)
{
	return 1 + (node->key == DIFF_INFO ? 0 : tables[node->key].lines(node_diff(node)));
}

const struct pages_ops diff_pages = { .step = TABLE_STEP, .write = write_file, .pieces = file_lines };
