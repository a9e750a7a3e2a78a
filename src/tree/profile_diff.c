/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff/ of a native profile: what has changed since another one, or since a moment of its own. LoliProfiler's report,
 * which tells of growth only, and all that differs: by function, by stack, as trees for du.
 */
#include "tree/profile.h"
#include "tree/report_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Keys. */
enum { REPORT = PROFILE_DIFF_TABLES, FUNCTIONS, STACKS, FILES_END };
#define FILES (FILES_END - PROFILE_DIFF_TABLES)

static const char *const file_names[FILES] = { "report.txt", "functions.tsv", "stacks.tsv" };

bool has_profile_baseline(const struct node *node)
{
	return node->tree->source.profile && (node->tree->source.baseline_profile || node->tree->options.since_given);
}

/* --- the folder --- */

/* Entry `i` of diff/; false behind the last. */
static bool entry_of(const struct node *folder, uint64_t i, const char **name, struct node *child)
{
	if (i < FILES) {
		*name = file_names[i];
		*child = node_make(folder, KIND_PROFILE_TABLE, PROFILE_DIFF_TABLES + i);
	} else {
		*name = "callstacks";
		*child = node_make(folder, KIND_CALLSTACK, stack_key(STACK_TREES_FOLDER, 0));
	}
	return i <= FILES;
}

void list_profile_diff(const struct node *folder, uint64_t from, struct listing *listing)
{
	const char *name;
	struct node child;
	for (uint64_t i = from; !listing->full && entry_of(folder, i, &name, &child); i++) {
		struct text text = { 0 };
		text_puts(&text, name);
		listing_emit(listing, child.kind, child.key, &text, i + 1);
		text_free(&text);
	}
}

bool lookup_profile_diff(const struct node *folder, const char *wanted, struct node *child)
{
	const char *name;
	for (uint64_t i = 0; entry_of(folder, i, &name, child); i++)
		if (!strcmp(name, wanted))
			return true;
	return false;
}

/* --- what they are made from --- */

static void *new_report(const struct tree *tree)
{
	return tree->source.baseline_profile ?
		       report_compare(tree->source.baseline_profile, tree->source.profile, tree->options.skip_root_levels) :
		       report_compare_moment(tree->source.profile, tree->options.since_ms, tree->options.skip_root_levels);
}

static void close_changes(struct profile_changes *changes)
{
	if (!changes)
		return;
	profile_view_free(&changes->both);
	for (unsigned i = 0; i < CHANGES; i++)
		profile_view_free(&changes->trees[i]);
	loli_comparison_close(changes->comparison);
	free(changes);
}

static void *new_changes(const struct tree *tree)
{
	struct profile_changes *changes = calloc(1, sizeof *changes);
	struct loli *baseline = tree->source.baseline_profile;
	const struct loli_sums *after = changes ? loli_sums(tree->source.profile) : NULL;
	const struct loli_sums *before = after && baseline ? loli_sums(baseline) : NULL;
	if (before)
		changes->comparison = loli_compare(before, after);
	else if (after && !baseline)
		changes->comparison = loli_compare_moment(after, tree->options.since_ms);
	if (before)
		loli_sums_forget(baseline);
	bool made = changes && changes->comparison;
	if (made) {
		changes->both.sums = &changes->comparison->both;
		made = profile_view_open(&changes->both, false);
	}
	for (unsigned i = 0; made && i < CHANGES; i++) {
		changes->trees[i].sums = &changes->comparison->trees[i];
		changes->trees[i].of_stacks = true;
		made = profile_view_open(&changes->trees[i], tree->options.graph.all_retainers);
	}
	if (made)
		return changes;
	close_changes(changes);
	return NULL;
}

/* Makes something, unless a file was cut meanwhile: then it may be of zeros. (In tests there is no file.) */
static void *made_unharmed(const struct tree *tree, void *(*make)(const struct tree *tree), void (*drop)(void *made))
{
	const struct tree_source *source = &tree->source;
	const bool touched = input_touched_bad;
	const uint64_t epoch = input_begin();
	void *made = make(tree);
	if (made && source->in->fd >= 0 && !input_unharmed(source->profile->in, epoch)) {
		drop(made);
		made = NULL;
	}
	input_touched_bad |= touched || !made; /* no answer is better than an empty one, which the kernel would keep */
	return made;
}

static void drop_report(void *report)
{
	report_close(report);
}

static void drop_changes(void *changes)
{
	close_changes(changes);
}

static const struct report *profile_report(const struct node *node)
{
	struct report *_Atomic *slot = &node->tree->report;
	struct report *report = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (report)
		return report;
	report = has_profile_baseline(node) ? made_unharmed(node->tree, new_report, drop_report) : NULL;
	if (!report || atomic_compare_exchange_strong(slot, &other, report))
		return report;
	report_close(report);
	return other;
}

const struct profile_changes *profile_changes(const struct node *node)
{
	struct profile_changes *_Atomic *slot = &node->tree->profile_changes;
	struct profile_changes *changes = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (changes)
		return changes;
	changes = has_profile_baseline(node) ? made_unharmed(node->tree, new_changes, drop_changes) : NULL;
	if (!changes || atomic_compare_exchange_strong(slot, &other, changes))
		return changes;
	close_changes(changes);
	return other;
}

static int make_report(void *context, const _Atomic bool *cancel)
{
	const struct node root = { .tree = context, .kind = KIND_ROOT };
	(void)cancel; /* profiles have a word of their own for it: see profile_stop() */
	return profile_report(&root) ? 0 : EIO;
}

static int make_changes(void *context, const _Atomic bool *cancel)
{
	const struct node root = { .tree = context, .kind = KIND_ROOT };
	(void)cancel;
	return profile_changes(&root) ? 0 : EIO;
}

struct job *profile_changes_job(const struct node *node)
{
	return has_profile_baseline(node) ? &node->tree->changes_job : NULL;
}

struct job *profile_diff_job(const struct node *node)
{
	return node->key == REPORT && has_profile_baseline(node) ? &node->tree->report_job : profile_changes_job(node);
}

void profile_diff_init(struct tree *tree)
{
	const struct graph_options *options = &tree->options.graph;
	job_init(&tree->report_job, make_report, tree, options->changed, options->context);
	job_init(&tree->changes_job, make_changes, tree, options->changed, options->context);
}

void profile_diff_cancel(struct tree *tree)
{
	job_cancel(&tree->report_job);
	job_cancel(&tree->changes_job);
}

void profile_diff_join(struct tree *tree)
{
	job_join(&tree->report_job);
	job_join(&tree->changes_job);
}

void profile_diff_close(struct tree *tree)
{
	job_destroy(&tree->report_job);
	job_destroy(&tree->changes_job);
	report_close(atomic_load(&tree->report));
	close_changes(atomic_load(&tree->profile_changes));
}

/* --- the files --- */

#define BOTH_HEAD(what) what "before_bytes\t" what "after_bytes\t" what "delta_bytes\t" what "before_count\t" what \
	"after_count\t" what "delta_count\t"

static const char functions_head[] = BOTH_HEAD("") BOTH_HEAD("total_") "change\tlibrary\tfunction\n";
static const char stacks_head[] = BOTH_HEAD("") "change\tdepth\tstack\n";

static void put_both(struct text *text, const struct loli_both *both)
{
	const struct loli_sum *before = &both->before, *after = &both->after;
	text_printf(text, "%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRId64 "\t", before->bytes,
		    after->bytes, (int64_t)(after->bytes - before->bytes), before->count, after->count,
		    (int64_t)after->count - before->count);
}

static void put_function_row(struct text *text, const struct profile_changes *changes, uint64_t i)
{
	const struct loli_comparison *comparison = changes->comparison;
	const uint32_t number = comparison->by_function[i];
	const struct loli_function *function = &comparison->both.functions[number];
	put_both(text, &comparison->self[number]);
	put_both(text, &comparison->total[number]);
	text_puts(text, loli_change_names[loli_function_change(comparison, number)]);
	text_putc(text, '\t');
	put_library_label(text, &changes->both, function->lib);
	text_putc(text, '\t');
	if (!function->pseudo)
		put_function_label(text, &changes->both, number);
	text_putc(text, '\n');
}

static void put_stack_row(struct pages *pages, const struct profile_changes *changes, uint64_t i)
{
	const struct loli_comparison *comparison = changes->comparison;
	const uint32_t stack = comparison->by_stack[i], number = comparison->both.stacks[stack].node;
	const struct loli_both both = loli_stack(comparison, number);
	put_both(&pages->text, &both);
	text_printf(&pages->text, "%s\t%" PRIu32 "\t", loli_change_names[loli_change(&both)],
		    comparison->both.nodes[number].depth);
	if (pages_sizing(pages))
		pages_skip(pages, changes->both.stack_lens[stack]);
	else
		put_stack(&pages->text, &changes->both, number);
	text_putc(&pages->text, '\n');
}

/* Pieces of a file: its head, and its rows. */
uint64_t profile_diff_pieces(const struct node *node)
{
	if (node->key == REPORT) {
		const struct report *report = profile_report(node);
		return report ? report->line_count + 1 : 0;
	}
	const struct profile_changes *changes = node->key < FILES_END ? profile_changes(node) : NULL;
	return !changes			? 0 :
	       node->key == FUNCTIONS ? changes->comparison->function_rows + 1 :
					changes->comparison->stack_rows + 1;
}

void profile_diff_write(const struct node *node, uint64_t first, struct pages *pages)
{
	const uint64_t count = profile_diff_pieces(node);
	const struct report *report = node->key == REPORT ? profile_report(node) : NULL;
	const struct profile_changes *changes = node->key == REPORT ? NULL : profile_changes(node);
	if (!count)
		input_touched_bad = true;
	for (uint64_t i = first; i < count && (report || changes); i++) {
		if (report)
			put_report(&pages->text, report, i);
		else if (!i)
			text_puts(&pages->text, node->key == FUNCTIONS ? functions_head : stacks_head);
		else if (node->key == FUNCTIONS)
			put_function_row(&pages->text, changes, i - 1);
		else
			put_stack_row(pages, changes, i - 1);
		if (!pages_next(pages))
			return;
	}
}

/* --- info.txt --- */

void put_baseline_info(const struct tree *tree, struct text *text)
{
	const struct tree_source *source = &tree->source;
	const int64_t time_ms = tree->options.since_ms;
	struct loli_both held;
	uint64_t unsure, freed;
	if (source->baseline_profile) {
		text_puts(text, "baseline: ");
		text_escaped(text, source->baseline_profile->in->path, strlen(source->baseline_profile->in->path));
		text_printf(text, "\nbaseline warnings: %zu\n", source->baseline_profile->notes->count);
		for (size_t i = 0; i < source->baseline_profile->notes->count; i++) {
			char line[512];
			text_printf(text, "baseline warning: %s\n",
				    note_format(&source->baseline_profile->notes->list[i], line, sizeof line));
		}
		return;
	}
	if (!loli_held(source->profile, &time_ms, &held, &unsure, &freed)) {
		input_touched_bad = true; /* no answer is better than one that lacks it */
		return;
	}
	text_printf(text, "baseline: what was held at %" PRId64 " ms\nbaseline blocks: %" PRIu32 "\nbaseline bytes: %" PRIu64
		    "\nbaseline blocks that may be freed by then: %" PRIu64 "\n",
		    time_ms, held.before.count, held.before.bytes, unsure);
	if (!freed)
		text_puts(text, "baseline lacks: what was freed, of which the profile has no record; it shows growth only\n");
}
