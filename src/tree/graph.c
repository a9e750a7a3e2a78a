/* SPDX-License-Identifier: Apache-2.0 */
/* graph/: what is told of the whole heap. The files of one object are in held.c, the tree of dominators in dominators.c. */
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

#define TABLE_STEP 256

struct graph *node_graph(const struct node *node)
{
	return node_dump(node)->graph;
}

/* --- progress.txt: the only file that ever changes --- */

/* Bytes of progress.txt, whatever it says. */
#define PROGRESS_SIZE 256

static const char *const stage_names[] = { "nothing", "dominators", "paths", "classes", "everything" };

static void write_progress(const struct node *file, struct text *text)
{
	struct graph_progress progress;
	graph_progress(node_graph(file), &progress);
	text_printf(text, "state: %s\n",
		    progress.error ? "failed" :
		    !progress.started ? "not asked for" :
		    progress.running ? "being built" :
				       "ready");
	text_printf(text, "percent: %u\nbusy with: %s\nready: %s\n", progress.percent, progress.phase,
		    stage_names[progress.stage]);
	if (progress.error)
		text_printf(text, "error: %s\n", progress.error == E2BIG ? "too many objects or references" : strerror(progress.error));
	text_printf(text, "memory: %" PRIu64 "\nin temporary files: %" PRIu64 "\n", progress.bytes, progress.in_files);
	while (!text->failed && text->len < PROGRESS_SIZE - 1)
		text_putc(text, ' ');
	text_putc(text, '\n');
}

static bool progress_size(const struct node *file, uint64_t *size)
{
	(void)file;
	*size = PROGRESS_SIZE;
	return true;
}

static bool read_progress(const struct node *file, uint64_t from, size_t len, void *out)
{
	struct text text = { 0 };
	write_progress(file, &text);
	const bool whole = !text.failed && from + len <= text.len;
	if (whole)
		memcpy(out, text.data + from, len);
	text_free(&text);
	return whole;
}

const struct made_ops progress_made = { progress_size, read_progress };

bool progress_attributes(const struct node *file, struct stat *st)
{
	struct graph_progress progress;
	graph_progress(node_graph(file), &progress);
	if (progress.started)
		st->st_mtim = st->st_ctim = progress.changed;
	return true;
}

/* --- summary.txt --- */

static void write_summary(const struct node *node, uint64_t first, struct pages *pages)
{
	static const char *const names[STRENGTH_COUNT] = { "reachable", "only softly reachable", "only weakly reachable",
							   "held by finalizers only", "only phantom reachable",
							   "unreachable" };
	const struct graph *graph = node_graph(node);
	const struct graph_sum *sums = graph_sums(graph);
	struct text *text = &pages->text;
	uint64_t objects = 0, bytes = 0;
	if (first)
		return;
	for (unsigned i = 0; i < STRENGTH_COUNT; i++) {
		objects += sums[i].objects;
		bytes += sums[i].bytes;
	}
	text_printf(text, "objects: %" PRIu64 "\nbytes: %" PRIu64 "\nreferences: %" PRIu64 "\n", objects, bytes,
		    graph_references(graph));
	for (unsigned i = 0; i < STRENGTH_COUNT; i++)
		text_printf(text, "%s objects: %" PRIu64 "\n%s bytes: %" PRIu64 "\n", names[i], sums[i].objects, names[i],
			    sums[i].bytes);
	text_puts(text, "roots: ");
	if (graph_lacks_roots(graph))
		text_puts(text, "none in the dump; all class objects were taken for roots");
	else
		text_number(text, heap_roots(node->heap) ? heap_roots(node->heap)->count : 0);
	text_putc(text, '\n');
	pages_next(pages);
}

const struct pages_ops summary_pages = { .step = 1, .write = write_summary };

/* --- tables --- */

/* The memory outside the heap that is known; NULL without memory. */
const struct natives *node_natives(const struct node *node)
{
	struct natives *_Atomic *slot = &node_dump(node)->natives;
	struct natives *natives = atomic_load(slot), *other = NULL;
	if (natives)
		return natives;
	natives = natives_open(node->heap);
	if (natives && (input_touched_bad || !atomic_compare_exchange_strong(slot, &other, natives))) {
		natives_close(natives);
		return other;
	}
	return natives;
}

static void write_classes(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct graph *graph = node_graph(node);
	const uint32_t *order = graph_class_order(graph);
	const struct class_graph *classes = graph_classes(graph);
	const struct natives *natives = node_natives(node);
	struct text *text = &pages->text;
	text->failed |= !natives;
	if (!first) {
		text_puts(text, "class\tid\tinstances\tshallow\tretained\tnative\tunreachable\n");
		if (!pages_next(pages))
			return;
		first = 1;
	}
	for (uint64_t i = first - 1; i < node->heap->class_count; i++) {
		const struct class *class = &node->heap->classes[order[i]];
		text_name(text, class->name);
		text_putc(text, '\t');
		text_id(text, class->id);
		text_printf(text, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", class->count,
			    class->shallow, classes[order[i]].retained, natives ? natives->by_class[order[i]] : 0,
			    classes[order[i]].lost.bytes);
		if (!pages_next(pages))
			return;
	}
}

const struct pages_ops graph_classes_pages = { .step = TABLE_STEP, .write = write_classes };

struct lost {
	uint32_t class;
	struct graph_sum sum;
};

static int compare_lost(const void *a, const void *b)
{
	const struct lost *x = a, *y = b;
	if (x->sum.bytes != y->sum.bytes)
		return x->sum.bytes > y->sum.bytes ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

static void write_unreachable(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct class_graph *classes = graph_classes(node_graph(node));
	struct lost *lost = malloc(((size_t)node->heap->class_count + 1) * sizeof *lost);
	struct text *text = &pages->text;
	uint64_t count = 0;
	bool more = lost != NULL;
	text->failed |= !lost;
	for (uint32_t i = 0; lost && i < node->heap->class_count; i++)
		if (classes[i].lost.objects)
			lost[count++] = (struct lost){ i, classes[i].lost };
	if (count)
		qsort(lost, count, sizeof *lost, compare_lost);
	if (more && !first) {
		text_puts(text, "class\tid\tobjects\tshallow\n");
		more = pages_next(pages);
		first = 1;
	}
	for (uint64_t i = first - 1; more && i < count; i++) {
		const struct class *class = &node->heap->classes[lost[i].class];
		text_name(text, class->name);
		text_putc(text, '\t');
		text_id(text, class->id);
		text_printf(text, "\t%" PRIu64 "\t%" PRIu64 "\n", lost[i].sum.objects, lost[i].sum.bytes);
		more = pages_next(pages);
	}
	free(lost);
}

const struct pages_ops unreachable_pages = { .step = TABLE_STEP, .write = write_unreachable };

static void write_largest(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct graph *graph = node_graph(node);
	const struct retainers *largest = graph_largest(graph);
	struct text *text = &pages->text;
	if (!first) {
		text_puts(text, "id\tclass\tshallow\tretained\tretained_objects\tdominator\n");
		if (!pages_next(pages))
			return;
		first = 1;
	}
	for (uint64_t i = first - 1; i < largest->count; i++) {
		const struct retainer *retainer = &largest->list[i];
		struct held held;
		if (!graph_held(graph, retainer->node, &held))
			return;
		text_id(text, graph_id(graph, retainer->node));
		text_putc(text, '\t');
		put_class_of(text, node->heap, graph_id(graph, retainer->node));
		text_printf(text, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", held.shallow, held.retained, held.objects);
		if (held.dominator == NODE_ROOT)
			text_putc(text, '-');
		else
			text_id(text, graph_id(graph, held.dominator));
		text_putc(text, '\n');
		if (!pages_next(pages))
			return;
	}
}

const struct pages_ops largest_pages = { .step = TABLE_STEP, .write = write_largest };
