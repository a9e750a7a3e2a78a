/* SPDX-License-Identifier: Apache-2.0 */
/* The top folder of a native profile, its screenshots, and what its tables have in common. */
#include "tree/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool has_profile(const struct node *node)
{
	return node->tree->source.profile != NULL;
}

bool profile_raw_bytes(const struct node *file, uint64_t *offset, uint64_t *len)
{
	*offset = 0;
	*len = file->tree->source.in->size;
	return true;
}

void list_profile(const struct node *folder, uint64_t from, struct listing *listing)
{
	(void)folder;
	for (uint64_t i = from; i < profile_table_count && !listing->full; i++) {
		struct text name = { 0 };
		text_puts(&name, profile_table_names[i]);
		listing_emit(listing, KIND_PROFILE_TABLE, i, &name, i + 1);
		text_free(&name);
	}
}

bool lookup_profile(const struct node *folder, const char *name, struct node *child)
{
	for (size_t i = 0; i < profile_table_count; i++)
		if (!strcmp(profile_table_names[i], name)) {
			*child = node_make(folder, KIND_PROFILE_TABLE, i);
			return true;
		}
	return false;
}

/* --- names in stacks --- */

void put_function_label(struct text *text, const struct profile_view *view, uint32_t function)
{
	text_name(text, sums_name(view->sums, view->sums->functions[function].text));
}

void put_library_label(struct text *text, const struct profile_view *view, uint32_t library)
{
	if (library != NUMBER_NONE)
		text_name(text, sums_name(view->sums, view->sums->libraries[library].text));
}

/* Without the ";" that stands between frames. */
static void put_frame(struct text *text, const struct profile_view *view, uint32_t node)
{
	const uint32_t function = view->sums->nodes[node].function;
	const size_t start = text->len;
	put_function_label(text, view, function);
	if (view->flags[node] & NODE_WITH_LIBRARY && view->sums->functions[function].lib != NUMBER_NONE) {
		text_putc(text, '@');
		put_library_label(text, view, view->sums->functions[function].lib);
	}
	char *p = text->failed || text->len == start ? NULL : text->data + start;
	while (p && (p = memchr(p, ';', (size_t)(text->data + text->len - p))))
		*p = ':';
}

void put_stack(struct text *text, const struct profile_view *view, uint32_t node)
{
	const struct loli_node *nodes = view->sums->nodes;
	const uint32_t depth = nodes[node].depth;
	uint32_t few[128], *frames = depth > 128 ? reallocarray(NULL, depth, sizeof *frames) : few;
	if (!frames) {
		text->failed = true;
		return;
	}
	for (uint32_t i = depth; i-- > 0; node = nodes[node].parent)
		frames[i] = node;
	for (uint32_t i = 0; i < depth; i++) {
		if (i)
			text_putc(text, ';');
		put_frame(text, view, frames[i]);
	}
	if (frames != few)
		free(frames);
}

/* Are there siblings whose functions have one name? And is a name one that callstacks/ has for its own files? */
static bool find_namesakes(struct profile_view *view)
{
	const struct loli_sums *sums = view->sums;
	struct table names = { 0 };
	bool made = true;
	for (uint32_t i = 1; made && i < sums->node_count; i++) {
		const uint32_t text = sums->functions[sums->nodes[i].function].text;
		const struct name name = sums_name(sums, text);
		uint32_t *first = table_put(&names, (struct table_key){ sums->nodes[i].parent, text });
		made = first != NULL;
		if (made && *first != NUMBER_NONE)
			view->flags[i] |= NODE_WITH_LIBRARY, view->flags[*first] |= NODE_WITH_LIBRARY;
		else if (made)
			*first = i;
		if ((name.len == 8 && !memcmp(name.text, "self.bin", 8)) ||
		    (name.len > 5 && !memcmp(name.text, "rest-", 5)))
			view->flags[i] |= NODE_WITH_LIBRARY;
	}
	table_free(&names);
	return made;
}

/* Stacks have their beginnings in common: each place's length once. */
static bool measure_stacks(struct profile_view *view)
{
	const struct loli_sums *sums = view->sums;
	struct text frame = { 0 };
	uint64_t *lens = reallocarray(NULL, sums->node_count, sizeof *lens);
	view->stack_lens = reallocarray(NULL, sums->stack_count + 1, sizeof *view->stack_lens);
	view->flags = calloc(sums->node_count + 1, sizeof *view->flags);
	const bool made = lens && view->stack_lens && view->flags && find_namesakes(view);
	if (made)
		lens[0] = 0;
	for (uint32_t i = 1; made && i < sums->node_count; i++) {
		const uint32_t parent = sums->nodes[i].parent;
		frame.len = 0;
		put_frame(&frame, view, i);
		lens[i] = lens[parent] + (parent != 0) + frame.len;
	}
	for (size_t i = 0; made && i < sums->stack_count; i++)
		view->stack_lens[i] = lens[sums->stacks[i].node];
	const bool failed = frame.failed;
	text_free(&frame);
	free(lens);
	return made && !failed;
}

/* --- screenshots --- */

static const char *extension_of(const uint8_t *p, uint64_t len)
{
	return len >= 4 && !memcmp(p, "\x89PNG", 4) ? "png" : len >= 3 && !memcmp(p, "\xff\xd8\xff", 3) ? "jpg" : "bin";
}

static int compare_screenshots(const void *a, const void *b)
{
	const struct screenshot *x = a, *y = b;
	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* "0006s.png"; of one second the later ones "0006s-2.png". */
static void put_screenshot_name(struct text *text, const struct profile_view *view, const struct screenshot *shot)
{
	if (shot->time_s < 0)
		text_printf(text, "before-%llds", -(long long)shot->time_s);
	else
		text_printf(text, "%0*" PRId32 "s", view->screenshot_width, shot->time_s);
	if (shot->before)
		text_printf(text, "-%" PRIu32, shot->before + 1);
	text_printf(text, ".%s", shot->extension);
}

static bool find_screenshots(struct profile_view *view)
{
	const struct loli *loli = view->sums->loli;
	const struct loli_part *part = &loli->parts[LOLI_SCREENSHOTS];
	struct loli_cursor cursor = loli_cursor(loli, part->at);
	char digits[16] = "";
	view->screenshots = reallocarray(NULL, part->count + 1, sizeof *view->screenshots);
	if (!view->screenshots)
		return false;
	for (uint64_t i = 0; i < part->count; i++) {
		const int32_t time_s = (int32_t)loli_u32(&cursor);
		const uint32_t declared = loli_u32(&cursor), len = declared == UINT32_MAX ? 0 : declared;
		const uint64_t at = cursor.at;
		const uint8_t *p = loli_take(&cursor, len);
		if (!p)
			return false;
		view->screenshots[view->screenshot_count++] = (struct screenshot){ at, len, time_s, 0, extension_of(p, len) };
	}
	qsort(view->screenshots, view->screenshot_count, sizeof *view->screenshots, compare_screenshots);
	for (size_t i = 1; i < view->screenshot_count; i++)
		if (view->screenshots[i].time_s == view->screenshots[i - 1].time_s)
			view->screenshots[i].before = view->screenshots[i - 1].before + 1;
	if (view->screenshot_count)
		snprintf(digits, sizeof digits, "%" PRId32, view->screenshots[view->screenshot_count - 1].time_s);
	view->screenshot_width = strlen(digits) < 4 ? 4 : (int)strlen(digits);
	return true;
}

void list_screenshots(const struct node *folder, uint64_t from, struct listing *listing)
{
	const struct profile_view *view = profile_view(folder);
	struct text name = { 0 };
	for (uint64_t i = from; view && i < view->screenshot_count; i++) {
		name.len = 0;
		put_screenshot_name(&name, view, &view->screenshots[i]);
		if (!listing_emit(listing, KIND_SCREENSHOT, i, &name, i + 1))
			break;
	}
	text_free(&name);
}

bool lookup_screenshot(const struct node *folder, const char *name, struct node *child)
{
	const struct profile_view *view = profile_view(folder);
	struct text own = { 0 };
	bool found = false;
	for (size_t i = 0; view && i < view->screenshot_count && !found; i++) {
		own.len = 0;
		put_screenshot_name(&own, view, &view->screenshots[i]);
		found = !own.failed && own.len == strlen(name) && !memcmp(own.data, name, own.len);
		if (found)
			*child = node_make(folder, KIND_SCREENSHOT, i);
	}
	text_free(&own);
	return found;
}

bool screenshot_bytes(const struct node *file, uint64_t *offset, uint64_t *len)
{
	const struct profile_view *view = profile_view(file);
	if (!view || file->key >= view->screenshot_count)
		return false;
	*offset = view->screenshots[file->key].at;
	*len = view->screenshots[file->key].len;
	return true;
}

/* --- the view --- */

bool profile_view_open(struct profile_view *view, bool all)
{
	return measure_stacks(view) && callstacks_open(view, all);
}

const struct profile_view *profile_view(const struct node *node)
{
	struct profile_view *_Atomic *slot = &node->tree->profile_view;
	struct profile_view *view = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (view)
		return view;
	const struct loli_sums *sums = loli_sums(node->tree->source.profile);
	view = sums ? calloc(1, sizeof *view) : NULL;
	if (view)
		view->sums = sums;
	if (!view || !profile_view_open(view, node->tree->options.graph.all_retainers) || !find_screenshots(view)) {
		profile_view_close(view);
		input_touched_bad = true; /* no answer is better than an empty one, which the kernel would keep */
		return NULL;
	}
	if (atomic_compare_exchange_strong(slot, &other, view))
		return view;
	profile_view_close(view);
	return other;
}

struct job *profile_job(const struct node *node)
{
	return node->tree->source.profile ? &node->tree->profile_job : NULL;
}

static int make_view(void *context, const _Atomic bool *cancel)
{
	const struct node root = { .tree = context, .kind = KIND_ROOT };
	(void)cancel; /* the profile has a word of its own for it: see profile_stop() */
	return profile_view(&root) ? 0 : EIO;
}

void profile_init(struct tree *tree)
{
	job_init(&tree->profile_job, make_view, tree, tree->options.graph.changed, tree->options.graph.context);
	profile_diff_init(tree);
}

void profile_stop(struct tree *tree)
{
	struct loli *const both[] = { tree->source.profile, tree->source.baseline_profile };
	if (!tree->profile_job.work)
		return;
	for (unsigned i = 0; i < 2; i++)
		if (both[i])
			atomic_store(&both[i]->stop, true);
	/* A thread that has done one job answers requests, which may ask for another. */
	job_cancel(&tree->profile_job);
	profile_diff_cancel(tree);
	job_join(&tree->profile_job);
	profile_diff_join(tree);
	job_destroy(&tree->profile_job);
	profile_diff_close(tree);
	for (unsigned i = 0; i < 2; i++)
		if (both[i])
			atomic_store(&both[i]->stop, false);
}

void profile_view_free(struct profile_view *view)
{
	free(view->stack_lens);
	free(view->flags);
	free(view->screenshots);
}

void profile_view_close(struct profile_view *view)
{
	if (view)
		profile_view_free(view);
	free(view);
}
