/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a native profile: a line a record, a function, a stack. A cell is empty where there is nothing to
 * show.
 */
#include "tree/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Row `i`, with its newline, or nothing. */
typedef void put_row(struct pages *pages, const struct profile_view *view, uint64_t i);

static void put_cells(struct text *text, const struct loli_sum *const *sums, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		text_putc(text, '\t');
		text_number(text, sums[i]->bytes);
		text_putc(text, '\t');
		text_number(text, sums[i]->count);
	}
}

static void put_name(struct text *text, const struct profile_view *view, uint32_t name)
{
	text_name(text, sums_name(view->sums, name));
}

/* A stack ends its line, so that its length alone is enough where only the size is wanted. */
static void put_last_stack(struct pages *pages, const struct profile_view *view, uint32_t stack)
{
	if (pages_sizing(pages))
		pages_skip(pages, view->stack_lens[stack]);
	else
		put_stack(&pages->text, view, view->sums->stacks[stack].node);
}

static void put_record(struct pages *pages, const struct profile_view *view, const struct loli_entry *entry)
{
	const struct loli_sums *sums = view->sums;
	struct text *text = &pages->text;
	struct loli_record record;
	if (!sums_record(sums, entry, &record))
		return;
	const uint32_t function = sums->stacks[entry->stack].function;
	text_number(text, record.seq);
	text_put(text, "\t-", record.time_ms < 0 ? 2 : 1);
	text_number(text, (uint64_t)llabs(record.time_ms));
	text_putc(text, '\t');
	text_number(text, record.size);
	text_putc(text, '\t');
	text_id(text, record.address);
	text_putc(text, '\t');
	text_puts(text, loli_state_names[entry->state]);
	text_putc(text, '\t');
	put_library_label(text, view, sums_library(sums, record.lib));
	text_putc(text, '\t');
	if (!sums->functions[function].pseudo)
		put_function_label(text, view, function);
	text_putc(text, '\t');
	put_last_stack(pages, view, entry->stack);
	text_putc(text, '\n');
}

static void put_any(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_entry entry = sums_entry(view->sums, i);
	put_record(pages, view, &entry);
}

static void put_live(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_entry entry = sums_entry(view->sums, i);
	if (entry.state == LOLI_LIVE)
		put_record(pages, view, &entry);
}

static void put_freed(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_entry entry = sums_entry(view->sums, i);
	if (entry.state == LOLI_FREED)
		put_record(pages, view, &entry);
}

static void put_function(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_function *function = &view->sums->functions[view->sums->by_function[i]];
	const struct loli_sum *const cells[] = { &function->self, &function->total, &function->freed };
	if (function->lib == NUMBER_NONE) /* what stands above records without a stack */
		return;
	put_library_label(&pages->text, view, function->lib);
	text_putc(&pages->text, '\t');
	if (!function->pseudo)
		put_function_label(&pages->text, view, view->sums->by_function[i]);
	put_cells(&pages->text, cells, 3);
	text_putc(&pages->text, '\n');
}

static void put_library_row(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_library *library = &view->sums->libraries[view->sums->by_library[i]];
	const struct loli_sum *const cells[] = { &library->self, &library->total, &library->freed };
	if (!library->self.count && !library->total.count && !library->freed.count && !library->symbols)
		return;
	put_name(&pages->text, view, library->text);
	put_cells(&pages->text, cells, 3);
	text_printf(&pages->text, "\t%" PRIu32 "\t%" PRIu32 "\n", library->symbols, library->named);
}

static void put_stack_row(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const uint32_t number = view->sums->by_stack[i];
	const struct loli_node *node = &view->sums->nodes[view->sums->stacks[number].node];
	text_printf(&pages->text, "%" PRIu64 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t", node->self.bytes,
		    node->self.count, node->freed.bytes, node->freed.count, node->depth);
	put_last_stack(pages, view, number);
	text_putc(&pages->text, '\n');
}

/* For flame graph tools: what stands behind the last blank is the weight. */
static void put_folded(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_node *node = &view->sums->nodes[view->sums->stacks[i].node];
	if (!node->self.count)
		return;
	put_last_stack(pages, view, (uint32_t)i);
	text_printf(&pages->text, " %" PRIu64 "\n", node->self.bytes);
}

/* As short as it can be. */
static void put_real(struct text *text, double value)
{
	char digits[40];
	for (int precision = 6; precision <= 17; precision++) {
		snprintf(digits, sizeof digits, "%.*g", precision, value);
		double again = 0;
		if (value != value || (sscanf(digits, "%lf", &again) == 1 && again >= value && again <= value))
			break;
	}
	text_puts(text, digits);
}

static void put_time(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const uint64_t x = view->sums->times[i];
	put_real(&pages->text, loli_real(x));
	for (size_t j = 0; j < view->sums->series_count || j < 6; j++) {
		const struct loli_series *series = &view->sums->series[j];
		size_t low = 0, high = j < view->sums->series_count ? series->count : 0;
		const size_t count = high;
		while (low < high) {
			const size_t mid = low + (high - low) / 2;
			if (series->points[mid].x < x)
				low = mid + 1;
			else
				high = mid;
		}
		text_putc(&pages->text, '\t');
		if (low < count && series->points[low].x == x)
			put_real(&pages->text, series->points[low].y);
	}
	text_putc(&pages->text, '\n');
}

static void put_smaps(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_mapping *mapping = &view->sums->mappings[i];
	put_name(&pages->text, view, mapping->text);
	for (unsigned j = 0; j < 7; j++)
		text_printf(&pages->text, "\t%" PRIu32, mapping->kib[j]);
	text_putc(&pages->text, '\n');
}

static void put_fragmentation(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_mapping *mapping = &view->sums->mappings[i];
	put_name(&pages->text, view, mapping->text);
	text_printf(&pages->text, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu32 "\n", mapping->used,
		    mapping->bytes - mapping->used, mapping->largest_gap, mapping->bytes, mapping->ranges);
}

static void put_symbol(struct pages *pages, const struct profile_view *view, uint64_t i)
{
	const struct loli_sums *sums = view->sums;
	const struct loli_symbol *symbol = &sums->symbols[i];
	struct text *text = &pages->text;
	if (!symbol_counts(sums, i))
		return;
	struct loli_cursor cursor = loli_cursor(sums->loli, symbol->name);
	const struct loli_string string = loli_string(&cursor);
	size_t len = 0;
	const char *name = string.count ? NULL : sums_filled(sums, symbol->lib, symbol->address, &len);
	put_library_label(text, view, symbol->lib);
	text_printf(text, "\t0x%" PRIx64 "\t", symbol->address);
	if (string.count) {
		char *utf8 = malloc(3 * (size_t)string.count);
		if (!utf8) {
			text->failed = true;
			return;
		}
		text_escaped(text, utf8, loli_utf8(&string, utf8));
		free(utf8);
	} else if (name) {
		text_escaped(text, name, len);
	}
	text_puts(text, string.count ? "\tprofile\n" : name ? "\tsymbols\n" : "\t\n");
}

/* --- the tables --- */

#define RECORD_HEAD "seq\ttime_ms\tsize\taddress\tstate\tlibrary\tfunction\tstack\n"
#define SUM_HEAD "self_bytes\tself_count\ttotal_bytes\ttotal_count\tfreed_bytes\tfreed_count"

enum { ALLOCATIONS, LIVE, FREED, FUNCTIONS, LIBRARIES, STACKS, FOLDED, TIMELINE, SMAPS, FRAGMENTATION, SYMBOLS, TABLES };

const char *const profile_table_names[] = {
	"allocations.tsv", "live.tsv",	   "freed.tsv", "functions.tsv",     "libraries.tsv", "callstacks.tsv",
	"folded.txt",	   "timeline.tsv", "smaps.tsv", "fragmentation.tsv", "symbols.tsv",
};
const size_t profile_table_count = TABLES;

static const struct {
	const char *head;
	put_row *row;
} tables[TABLES] = {
	[ALLOCATIONS] = { RECORD_HEAD, put_any },
	[LIVE] = { RECORD_HEAD, put_live },
	[FREED] = { RECORD_HEAD, put_freed },
	[FUNCTIONS] = { "library\tfunction\t" SUM_HEAD "\n", put_function },
	[LIBRARIES] = { "library\t" SUM_HEAD "\tsymbols\tnamed\n", put_library_row },
	[STACKS] = { "bytes\tcount\tfreed_bytes\tfreed_count\tdepth\tstack\n", put_stack_row },
	[FOLDED] = { "", put_folded },
	[TIMELINE] = { "seconds\ttotal_mib\tnative_heap_mib\tgfx_dev_mib\tegl_mtrack_mib\tgl_mtrack_mib\t"
		       "unknown_mib",
		       put_time },
	[SMAPS] = { "name\tvirtual_kib\trss_kib\tpss_kib\tprivate_clean_kib\tprivate_dirty_kib\tshared_clean_kib\t"
		    "shared_dirty_kib\n", put_smaps },
	[FRAGMENTATION] = { "name\tused\tfree\tlargest_gap\tbytes\tranges\n", put_fragmentation },
	[SYMBOLS] = { "library\taddress\tfunction\tsource\n", put_symbol },
};

static uint64_t rows_of(const struct loli_sums *sums, uint64_t table)
{
	switch (table) {
	case FUNCTIONS:
		return sums->function_count;
	case LIBRARIES:
		return sums->library_count;
	case STACKS:
	case FOLDED:
		return sums->stack_count;
	case TIMELINE:
		return sums->time_count;
	case SMAPS:
	case FRAGMENTATION:
		return sums->mapping_count;
	case SYMBOLS:
		return sums->symbol_count;
	default:
		return sums->entry_count;
	}
}

/* Diff files have no series, and odd ones more than LoliProfiler's six. */
static void put_head(struct text *text, const struct loli_sums *sums, uint64_t table)
{
	text_puts(text, tables[table].head);
	if (table != TIMELINE)
		return;
	for (size_t i = 6; i < sums->series_count; i++)
		text_printf(text, "\tseries_%zu_mib", i + 1);
	text_putc(text, '\n');
}

/*
 * A read begins at the row before it that is a multiple of the step: rows with stacks are long. Piece 0 is the
 * head, row i is piece i + 1.
 */
static void write_table(const struct node *node, uint64_t first, struct pages *pages)
{
	if (node->key >= PROFILE_DIFF_TABLES) {
		profile_diff_write(node, first, pages);
		return;
	}
	const struct profile_view *view = node->key < TABLES ? profile_view(node) : NULL;
	const uint64_t count = view ? rows_of(view->sums, node->key) : 0;
	if (node->key >= TABLES)
		input_touched_bad = true;
	for (uint64_t i = first; view && i <= count; i++) {
		if (i)
			tables[node->key].row(pages, view, i - 1);
		else
			put_head(&pages->text, view->sums, node->key);
		if (!pages_next(pages))
			return;
	}
}

static uint64_t count_pieces(const struct node *node)
{
	if (node->key >= PROFILE_DIFF_TABLES)
		return profile_diff_pieces(node);
	const struct profile_view *view = node->key < TABLES ? profile_view(node) : NULL;
	return view ? rows_of(view->sums, node->key) + 1 : 0;
}

const struct pages_ops profile_pages = { .step = 64, .write = write_table, .pieces = count_pieces };

struct job *profile_table_job(const struct node *node)
{
	return node->key < PROFILE_DIFF_TABLES ? profile_job(node) : profile_diff_job(node);
}
