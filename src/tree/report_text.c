/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/report_text.h"

#include "hprof/mutf8.h"

#include <inttypes.h>

#define INDENT 4

/* Halves are rounded up, where C's printf rounds to even. What is negative is taken for a large number. */
static void put_size(struct text *text, uint64_t size)
{
	static const struct {
		unsigned shift;
		const char *name;
	} units[] = { { 30, "GB" }, { 20, "MB" }, { 10, "KB" } };
	for (unsigned i = 0; i < 3; i++) {
		const uint64_t unit = UINT64_C(1) << units[i].shift;
		if (size < unit || (i == 2 && size == unit))
			continue;
		const uint64_t hundredths = size / unit * 100 + (200 * (size % unit) + unit) / (2 * unit);
		text_printf(text, "%" PRIu64 ".%02" PRIu64 " %s", hundredths / 100, hundredths % 100, units[i].name);
		return;
	}
	text_printf(text, "%" PRIu64 " Bytes", size);
}

static void put_signed_size(struct text *text, int64_t size, bool plus)
{
	if (plus || size < 0)
		text_putc(text, size < 0 ? '-' : '+');
	put_size(text, size < 0 ? -(uint64_t)size : (uint64_t)size);
}

/* As it is, but for half a pair of UTF-16, which UTF-8 does not have. */
static void put_plain(struct text *text, struct text_entry name)
{
	const uint8_t *p = (const uint8_t *)name.data;
	for (size_t left = name.len, len; left; p += len, left -= len) {
		uint32_t code;
		len = utf8_decode(p, left, &code);
		if (len == 3 && code >= 0xd800 && code < 0xe000) {
			text_putc(text, '?');
			continue;
		}
		len = len ? len : 1;
		text_put(text, p, len);
	}
}

static void put_head(struct text *text, const struct report *report)
{
	if (report->dump) {
		text_printf(text, "=== LoliProfiler Profile Report ===\n\nTotal allocations: %" PRIu64 "\nTotal size: ",
			    report->count);
		put_size(text, (uint64_t)report->size);
		text_puts(text, "\n\n=== Memory Allocations ===\n\n");
		return;
	}
	text_printf(text, "=== LoliProfiler Comparison Report ===\n\nBaseline allocations: %" PRIu64
		    "\nComparison allocations: %" PRIu64 "\nBaseline total size: ", report->baseline_count, report->count);
	put_size(text, (uint64_t)report->baseline_size);
	text_puts(text, "\nComparison total size: ");
	put_size(text, (uint64_t)report->size);
	text_puts(text, "\nSize delta: ");
	put_signed_size(text, report->size - report->baseline_size, true);
	text_printf(text, "\n\nChanged allocations (>1KB growth): %" PRIu64 "\nNew allocations (not in baseline): %" PRIu64
		    "\n\n=== Memory Growth (Delta: Comparison - Baseline) ===\n\n", report->changed, report->fresh);
}

void put_report(struct text *text, const struct report *report, uint64_t i)
{
	if (!i) {
		put_head(text, report);
		return;
	}
	const struct report_line *line = &report->lines[i - 1];
	for (uint64_t j = 0; j < INDENT * (uint64_t)line->depth; j++)
		text_putc(text, ' ');
	put_plain(text, report_name(report, (size_t)(i - 1)));
	text_puts(text, ", ");
	if (report->dump)
		put_size(text, (uint64_t)line->size);
	else
		put_signed_size(text, line->size, line->size > 0);
	text_printf(text, ", %s%" PRId64 "\n", !report->dump && line->count > 0 ? "+" : "", line->count);
}
