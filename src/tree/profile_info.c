/* SPDX-License-Identifier: Apache-2.0 */
/* README.txt and info.txt of a native profile. */
#include "tree/profile.h"

#include "loli/symbols.h"

#include <inttypes.h>

static const char readme[] =
	"A native memory profile of LoliProfiler as files, mounted by heapfs. Everything is read-only.\n"
	"\n"
	"info.txt           the file, counts, what it lacks, and every warning\n"
	"raw.loli           the profile itself\n"
	"allocations.tsv    a line an allocation, by sequence number; its stack, root first, comes last\n"
	"live.tsv           those that were not freed; freed.tsv those that were\n"
	"functions.tsv      a line a function: what it allocates itself, and with all that it calls\n"
	"libraries.tsv      the same by library\n"
	"callstacks/        the merged stacks of what is not freed, root first, as large as what they hold\n"
	"callstacks.tsv     a line a stack, most bytes first\n"
	"folded.txt         the same for flame graph tools\n"
	"timeline.tsv       memory over time, MiB\n"
	"screenshots/       named after the second that they were taken in\n"
	"smaps.tsv          the process's mappings, KiB, most pss first\n"
	"fragmentation.tsv  how allocations lie in them: used, free and largest gap, in bytes\n"
	"symbols.tsv        names of functions\n"
	"diff/              what has changed since a baseline, where one was given\n"
	"\n"
	"Try, from this folder:\n"
	"  head -20 functions.tsv | column -ts \"$(printf '\\t')\"    who allocates\n"
	"  du -ab --apparent-size callstacks | sort -rn | head     which calls hold most\n"
	"  grep Texture allocations.tsv | head                     allocations below a function\n"
	"  awk -F '\\t' '$3 >= 1048576' live.tsv                     large blocks\n"
	"  flamegraph.pl folded.txt >flame.svg                     as a picture\n"
	"\n"
	"Three traps:\n"
	"- du shows memory only in callstacks/; elsewhere, sizes of files.\n"
	"- timeline.tsv and screenshots/ count seconds by another clock than time_ms: it starts one to\n"
	"  three seconds later.\n"
	"- What LoliProfiler does not hook is not here: compare live bytes with native_heap_mib.\n"
	"\n"
	"A function without a name is called library!0xaddress: -o symbols=FILE fills names in.\n"
	"To unmount: fusermount3 -u <this folder>\n";

void put_profile_readme(struct text *text)
{
	text_puts(text, readme);
}

/* What there is nothing of, though the file is whole, and what a cut took. */
static void put_lacks(const struct loli *loli, struct text *text)
{
	const char *before = "lacks: ";
	for (unsigned i = 0; i < LOLI_SECTIONS; i++) {
		const struct loli_part *part = &loli->parts[i];
		if (part->count && part->whole)
			continue;
		text_printf(text, "%s%s (%s)", before, loli_section_names[i], !part->reached ? "lost" :
			    !part->whole ? "cut" : "none");
		before = ", ";
	}
	text_puts(text, *before == 'l' ? "lacks: nothing\n" : "\n");
}

static void put_records(const struct loli_sums *sums, struct text *text)
{
	static const char *const about[LOLI_STATES] = { "live", "freed", "unknown whether freed" };
	const struct loli_options *options = &sums->loli->options;
	text_printf(text, "records: %" PRIu64 "\n", sums->loli->parts[LOLI_RECORDS].count);
	if (options->spanned)
		text_printf(text, "records shown, allocated from %" PRId64 " to %" PRId64 " ms: %zu\nrecords left out: %" PRIu64
			    "\n", options->from, options->to, sums->entry_count, sums->left_out);
	for (unsigned i = 0; i < LOLI_STATES; i++)
		if (i != LOLI_UNKNOWN || sums->states[i].count)
			text_printf(text, "%s: %" PRIu32 "\n%s bytes: %" PRIu64 "\n", about[i], sums->states[i].count, about[i],
				    sums->states[i].bytes);
	if (sums->entry_count)
		text_printf(text, "time range: %" PRId64 " to %" PRId64 " ms\n", sums->time_first, sums->time_last);
	text_printf(text, "records without a call stack: %" PRIu64 "\n", sums->without_stack);
	if (sums->seq_last || sums->entry_count)
		text_printf(text, "sequence numbers: %" PRIu32 " to %" PRIu32 " (of records and frees)\n"
			    "sequence gaps: %" PRIu64 ", of %" PRIu64 " numbers%s\nsequence repeats: %" PRIu64 "\n",
			    sums->seq_first, sums->seq_last, sums->seq_gaps, sums->seq_missing,
			    sums->seq_gaps ? " (LoliProfiler leaves out what was freed; or messages were lost)" : "",
			    sums->seq_repeated);
	if (sums->difference)
		text_puts(text, "kind: growth between two profiles, as LoliProfiler's comparator writes it; a line a stack, not "
			  "an allocation\n");
}

void put_profile_info(const struct node *node, struct text *text)
{
	const struct profile_view *view = profile_view(node);
	const struct loli *loli = node->tree->source.profile;
	const struct loli_part *parts = loli->parts;
	size_t libraries;
	if (!view)
		return;
	const struct loli_sums *sums = view->sums;
	text_printf(text, "format: LoliProfiler profile, version %d\n", LOLI_VERSION);
	put_records(sums, text);
	text_printf(text, "call stacks: %" PRIu64 ", of %" PRIu64 " frames; different ones: %zu\n", parts[LOLI_STACKS].count,
		    parts[LOLI_STACKS].parts, sums->stack_count);
	text_printf(text, "functions: %zu\nplaces with a name: %" PRIu64 "\nplaces without a name: %" PRIu64 "\n",
		    sums->function_count, sums->frames_named, sums->frames_unnamed);
	text_printf(text, "symbols: %" PRIu64 "\n", parts[LOLI_SYMBOLS].parts);
	if (loli->symbols) {
		const size_t count = symbols_count(loli->symbols, &libraries);
		text_printf(text, "symbols from outside: %zu, of %zu %s; places named by them: %" PRIu64 "\n", count, libraries,
			    libraries == 1 ? "library" : "libraries", sums->filled);
	}
	text_printf(text, "address base: %s\n", loli->options.containing ?
		    "the mapping that holds an address (so_base=containing); shown as since LoliProfiler v1.1.6" :
		    "a library's first mapping, as since LoliProfiler v1.1.6; -o so_base=containing reads older files");
	text_printf(text, "frees: %" PRIu64 "\nscreenshots: %" PRIu64 "\nmappings: %" PRIu64 ", of %" PRIu64 " ranges\n",
		    parts[LOLI_FREES].count, parts[LOLI_SCREENSHOTS].count, parts[LOLI_SMAPS].count,
		    parts[LOLI_SMAPS].parts);
	text_printf(text, "memory series: %" PRIu64 ", of %" PRIu64 " points\ntop of the chart: %" PRId32 " MiB\n",
		    parts[LOLI_SERIES].count, parts[LOLI_SERIES].parts, loli->memory_most);
	/* What was hooked is a part of what the process had; how large a part, these two tell. */
	if (sums->series_count > 1 && sums->series[1].count)
		text_printf(text, "native heap by the last of the series: %.0f MiB\n",
			    sums->series[1].points[sums->series[1].count - 1].y);
	put_lacks(loli, text);
	if (has_profile_baseline(node))
		put_baseline_info(node->tree, text);
}
