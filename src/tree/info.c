/* SPDX-License-Identifier: Apache-2.0 */
/* info.txt: what was mounted, as "key: value" lines, and everything that is not as it should be. */
#include "tree/node.h"

#include "android/origin.h"

#include <inttypes.h>
#include <stdlib.h>

static void put_time(struct text *text, uint64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char buf[64];
	if (!ms || ms / 1000 > INT32_MAX * UINT64_C(8) || !gmtime_r(&seconds, &tm))
		text_puts(text, "unknown");
	else if (strftime(buf, sizeof buf, "%Y-%m-%dT%H:%M:%S", &tm))
		text_printf(text, "%s.%03uZ", buf, (unsigned)(ms % 1000));
}

static void put_sizes(const struct heap *heap, struct text *text)
{
	const struct sizes *sizes = &heap->sizes;
	if (heap_graph_of(heap)) {
		text_puts(text, "as the heap graph says");
		return;
	}
	if (sizes->declared)
		text_puts(text, "as the dump declares them");
	else if (sizes->addresses)
		text_puts(text, "measured by the distances between addresses");
	else
		text_puts(text, "modelled: ids are no addresses, so a size is header and fields, rounded up");
	text_printf(text, " (references %u bytes, header %u, arrays from %u, aligned to %u)", sizes->reference, sizes->header,
		    sizes->array_base[TYPE_BYTE], sizes->alignment);
	if (sizes->alignment > TALLY_RESIDUES)
		text_puts(text, "; totals of arrays are rounded");
}

static void put_string_line(struct text *text, const char *key, const struct string *string)
{
	text_puts(text, key);
	text_puts(text, ": ");
	text_string(text, string, TEXT_LINE_CHARS);
	text_putc(text, '\n');
}

/* The VM's version, which VersionProps (JDK 9 and later) and sun.misc.Version keep as statics. */
static void put_vm(const struct heap *heap, struct text *text)
{
	static const char *const classes[] = { "java.lang.VersionProps", "sun.misc.Version" };
	static const struct {
		const char *key, *field;
	} lines[] = { { "vm", "java_runtime_name" },
		      { "vm version", "java_runtime_version" },
		      { "java version", "java_version" },
		      { "vm vendor", "VENDOR" } };
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		const struct class *class = class_by_name(heap, classes[i]);
		struct string string;
		for (size_t j = 0; class && j < sizeof lines / sizeof *lines; j++)
			if (class_string(heap, class, lines[j].field, &string))
				put_string_line(text, lines[j].key, &string);
	}
}

static void put_origin(const struct heap *heap, struct text *text)
{
	struct origin origin;
	if (!heap->android) {
		put_vm(heap, text);
		return;
	}
	origin_of(heap, &origin);
	if (origin.sdk)
		text_printf(text, "android sdk: %" PRIu32 "\n", origin.sdk);
	for (unsigned i = 0; i < ORIGIN_STRINGS; i++)
		if (origin.known[i])
			put_string_line(text, origin_keys[i], &origin.strings[i]);
	if (origin.version)
		text_printf(text, "package version: %" PRIu64 "\n", origin.version);
}

/* How many of the classes have an original name. */
static void put_mapping(const struct heap *heap, struct text *text)
{
	uint32_t mapped = 0;
	for (uint32_t i = 0; i < heap->class_count; i++)
		mapped += heap->classes[i].mapped != NULL;
	text_printf(text, "mapping: %zu classes, of which the dump has %" PRIu32 "\n", heap->mapping->count, mapped);
}

/* Where the dump has pictures. */
static void put_sources(const struct bitmaps *bitmaps, struct text *text)
{
	bool buffers = false;
	for (uint32_t i = 0; i < bitmaps->count && !buffers; i++)
		buffers = bitmaps->list[i].source == SOURCE_BUFFER;
	const char *const found[] = { bitmaps->picture_count ? "dumpData" : NULL, buffers ? "mBuffer" : NULL,
				      bitmaps->traced_count ? "trace" : NULL, bitmaps->live_count ? "live" : NULL };
	const char *before = "";
	for (size_t i = 0; i < sizeof found / sizeof *found; i++)
		if (found[i]) {
			text_printf(text, "%s%s", before, found[i]);
			before = ", ";
		}
	if (!*before)
		text_puts(text, "nowhere");
}

/* Pictures from elsewhere: where they are, how many there are, and what is not used. */
static void put_live(const struct bitmaps *bitmaps, struct text *text)
{
	static const char *const unused[ELSEWHERE_STATES] = {
		[ELSEWHERE_GONE] = "that cannot be read",
		[ELSEWHERE_NO_FILE] = "that are links, folders or pipes, and not used",
		[ELSEWHERE_TOO_LARGE] = "that are too large to be some, and not used",
		[ELSEWHERE_OTHER_OWNER] = "that are not of the dump's owner, and not used",
	};
	const struct elsewhere *elsewhere = bitmaps->heap->hprof->elsewhere;
	if (!elsewhere || !elsewhere->place_count)
		return;
	for (uint32_t i = 0; i < elsewhere->place_count; i++) {
		const struct elsewhere_place *place = elsewhere->places[i];
		text_puts(text, "live pictures from: ");
		text_escaped(text, place->path, strlen(place->path));
		text_printf(text, " (%s, %" PRIu32 " pictures)\n", place->beside ? "folder beside the dump" :
			    place->folder >= 0 ? "folder" : place->trace.description, place->count);
	}
	text_printf(text, "live pictures: %" PRIu32 ", shown for bitmaps: %" PRIu32 "\n", bitmaps->live_count, bitmaps->live_shown);
	if (bitmaps->live_of_others)
		text_printf(text, "live pictures of other processes, and not used: %" PRIu32 "\n", bitmaps->live_of_others);
	for (unsigned i = 0; i < ELSEWHERE_STATES; i++)
		if (unused[i] && bitmaps->live_states[i])
			text_printf(text, "live pictures %s: %" PRIu32 "\n", unused[i], bitmaps->live_states[i]);
}

/* Bitmaps are counted as Shark does: one without picture for whose pointer there is one is mismatched as well. */
static void put_bitmaps(const struct node *node, struct text *text)
{
	const struct bitmaps *bitmaps = node_bitmaps(node);
	if (!bitmaps)
		return;
	text_printf(text, "bitmaps: %" PRIu32 "\n", bitmaps->count);
	if (!bitmaps->count && !bitmaps->picture_count && !bitmaps->traced_count && !bitmaps->live_count)
		return put_live(bitmaps, text);
	text_printf(text, "bitmaps with picture: %" PRIu32 "\nbitmaps without picture: %" PRIu32
		    "\nbitmaps mismatched: %" PRIu32 "\nbitmap pictures from: ", bitmaps->with_picture,
		    bitmaps->count - bitmaps->with_picture, bitmaps->mismatched);
	put_sources(bitmaps, text);
	text_printf(text, "\npictures refused: %" PRIu32 "\npictures of no bitmap: %" PRIu32 "\n", bitmaps->refused,
		    bitmaps->orphans);
	if (bitmaps->traced_count)
		text_printf(text, "pictures of the trace: %" PRIu32 ", shown for bitmaps: %" PRIu32 "\n", bitmaps->traced_count,
			    bitmaps->traced_shown);
	put_live(bitmaps, text);
	if (bitmaps->repeated)
		text_printf(text, "pictures not shown, of a pointer that has another: %" PRIu32 "\n", bitmaps->repeated);
	if (bitmaps->absent_pictures)
		text_printf(text, "pictures whose bytes are not in the dump: %" PRIu32 "\n", bitmaps->absent_pictures);
	if (bitmaps->left_out)
		text_printf(text, "bitmaps left out, since there are too many: %" PRIu32 "\n", bitmaps->left_out);
}

static void put_heap(const struct node *node, struct text *text)
{
	const struct heap *heap = node->heap;
	const struct scan *scan = &heap->scan;
	uint64_t shallow = 0, roots = 0;
	for (uint32_t i = 0; i < heap->class_count; i++)
		shallow += heap->classes[i].shallow;
	for (unsigned tag = 0; tag < 256; tag++)
		roots += subrecord_is_root(tag) ? scan->subs[tag] : 0;
	put_origin(heap, text);
	if (heap->mapping)
		put_mapping(heap, text);
	text_printf(text, "classes: %" PRIu32 "\n", heap->class_count);
	text_printf(text, "objects: %" PRIu64 "\n", scan->index.object_count);
	text_printf(text, "instances: %" PRIu64 "\n", scan->subs[SUB_INSTANCE_DUMP]);
	text_printf(text, "object arrays: %" PRIu64 "\n", scan->subs[SUB_OBJ_ARRAY_DUMP]);
	text_printf(text, "primitive arrays: %" PRIu64 "\n",
		    scan->subs[SUB_PRIM_ARRAY_DUMP] + scan->subs[SUB_PRIM_ARRAY_NODATA]);
	text_printf(text, "strings: %" PRIu64 "\n",
		    heap->string_class == CLASS_NONE ? 0 : heap->classes[heap->string_class].count);
	text_printf(text, "shallow bytes: %" PRIu64 "\n", shallow);
	text_puts(text, "shallow sizes: ");
	put_sizes(heap, text);
	text_putc(text, '\n');
	for (unsigned i = 1; i < scan->heap_count; i++) {
		const struct name name = heap_name(heap, scan->heap_names[i]);
		text_puts(text, "heap: ");
		text_name(text, name);
		text_putc(text, '\n');
		free((char *)(uintptr_t)name.text);
	}
	text_printf(text, "gc roots: %" PRIu64 "\n", roots);
	for (unsigned tag = 0; tag < 256; tag++)
		if (root_tag_name(tag) && scan->subs[tag])
			text_printf(text, "gc roots %s: %" PRIu64 "\n", root_tag_name(tag), scan->subs[tag]);
	if (shows_bitmaps(node))
		put_bitmaps(node, text);
	text_printf(text, "index: %zu blocks, %zu dense entries, built by %u %s\n", scan->index.block_count,
		    scan->index.dense_count, scan->threads, scan->threads == 1 ? "thread" : "threads");
}

/* What the header and the records of an HPROF file say, and the trace that it came in. */
static void put_hprof(const struct hprof *hprof, struct text *text)
{
	const struct trace_dump *traced = hprof->traced;
	if (traced)
		text_printf(text, "process id: %" PRIu32 "\n", traced->pid);
	if (traced && traced->process) {
		text_puts(text, "process in the trace: ");
		text_escaped(text, traced->process, strlen(traced->process));
		text_putc(text, '\n');
	}
	if (traced && traced->details)
		text_puts(text, traced->details);
	if (traced && traced->graph) {
		const struct heap_graph *graph = traced->graph;
		text_printf(text, "heap graph: %" PRIu64 " objects, %" PRIu64 " references, %" PRIu64 " gc roots in %zu packets\n"
			    "heap graph lacks: values of fields but references, texts of Strings, contents and lengths of "
			    "primitive arrays, stacks, pixels\n", graph->objects, graph->references, graph->roots, graph->packets);
		if (graph->heap_bytes_allocated)
			text_printf(text, "heap bytes allocated: %" PRIu64 "\n", graph->heap_bytes_allocated);
	}
	text_printf(text, "format: %s%s\nid size: %u\ndump time: ",
		    traced && traced->graph ? "Perfetto heap graph, written as " : "", hprof->version, hprof->id_width);
	put_time(text, hprof->time_ms);
	text_printf(text, "\nnames: %zu\nstack traces: %" PRIu64 "\nheap dumps: %zu\n", hprof->utf8.count,
		    hprof->records[RECORD_TRACE], hprof->dump_count);
}

/* Are pictures from elsewhere no Bitmap's of any of these dumps? Says so in `line`. */
static bool put_doubt(const struct tree *tree, unsigned first, unsigned count, char *line, size_t size)
{
	bool doubt = count > 0;
	for (unsigned i = first; doubt && i < first + count; i++) {
		const struct node dump = { (struct tree *)(uintptr_t)tree, tree->dumps[i].heap, i, KIND_DUMP };
		const struct bitmaps *bitmaps = shows_bitmaps(&dump) ? node_bitmaps(&dump) : NULL;
		doubt = bitmaps && live_warning(bitmaps, line, size);
	}
	return doubt;
}

/* Warnings about what the dumps came in, where that is wanted, and about `count` dumps, whose notes are these. */
static void put_warnings(const struct tree *tree, bool container, const struct notes *dump, unsigned first, unsigned count,
			 struct text *text)
{
	const struct notes *const all[] = { container ? tree->source.notes : NULL, container ? tree->source.live_notes : NULL, dump };
	char line[512];
	const bool doubt = put_doubt(tree, first, count, line, sizeof line);
	size_t total = doubt;
	for (size_t i = 0; i < 3; i++)
		total += all[i] ? all[i]->count : 0;
	text_printf(text, "warnings: %zu\n", total);
	if (doubt)
		text_printf(text, "warning: %s\n", line);
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; all[i] && j < all[i]->count; j++)
			text_printf(text, "warning: %s\n", note_format(&all[i]->list[j], line, sizeof line));
}

static void put_file(const struct tree *tree, struct text *text)
{
	const struct input *in = tree->source.in;
	text_puts(text, "file: ");
	text_escaped(text, in->path, strlen(in->path));
	text_printf(text, "\nfile size: %" PRIu64 "\ncontainer: %s\n", (uint64_t)in->st.st_size, tree->source.container);
	if (in->size != (uint64_t)in->st.st_size)
		text_printf(text, "unpacked size: %" PRIu64 "\n", in->size);
	if (tree->baseline) {
		const char *path = tree->baseline->heap->in->path;
		text_puts(text, "baseline: ");
		text_escaped(text, path, strlen(path));
		text_putc(text, '\n');
	}
}

/* One dump, with a line that tells which one where there are several. */
static void put_dump(const struct tree *tree, unsigned number, struct text *text)
{
	const struct heap *heap = tree->dumps[number].heap;
	const struct node dump = { (struct tree *)(uintptr_t)tree, heap, number, KIND_DUMP };
	const bool first = !number || tree->dumps[number - 1].heap->hprof != heap->hprof;
	if (tree->several_files) {
		text_puts(text, "\ndump: ");
		put_dump_name(text, heap);
		text_putc(text, '\n');
	}
	if (first || tree->several_files)
		put_hprof(heap->hprof, text);
	if (heap->hprof->dump_count > 1 && !tree->several_files)
		text_printf(text, "\ndump: %u\n", heap->dump + 1);
	put_heap(&dump, text);
}

/* Of the whole file, or in a trace with several dumps of one of them. */
static void write_info(const struct node *node, uint64_t first, struct pages *pages)
{
	const struct tree *tree = node->tree;
	struct text *text = &pages->text;
	if (first)
		return;
	put_file(tree, text);
	if (tree->source.profile) {
		put_profile_info(node, text);
		put_warnings(tree, true, tree->source.profile->notes, 0, 0, text);
		pages_next(pages);
		return;
	}
	if (node->kind == KIND_DUMP_INFO) {
		put_dump(tree, node->heap->number, text);
		put_warnings(tree, true, node->heap->hprof->notes, node->heap->number, 1, text);
		pages_next(pages);
		return;
	}
	for (unsigned i = 0; i < tree->dump_count; i++) {
		put_dump(tree, i, text);
		if (tree->several_files)
			put_warnings(tree, false, tree->dumps[i].heap->hprof->notes, i, 1, text);
	}
	if (tree->dumps[0].heap->hprof->dump_count > 1 || tree->several_files)
		text_putc(text, '\n');
	put_warnings(tree, true, tree->several_files ? NULL : tree->dumps[0].heap->hprof->notes, 0,
		     tree->several_files ? 0 : tree->dump_count, text);
	pages_next(pages);
}

const struct pages_ops info_pages = { .step = 1, .write = write_info };
