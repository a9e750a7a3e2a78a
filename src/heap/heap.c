/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/heap.h"

int heap_open(struct heap *heap, const struct hprof *hprof, unsigned dump, unsigned threads,
	      scan_progress *progress, void *context)
{
	static const struct dump none = { 0, 0 };
	memset(heap, 0, sizeof *heap);
	heap->hprof = hprof;
	heap->in = hprof->in;
	heap->id_width = hprof->id_width;
	heap->dump = dump;
	heap->android = !strcmp(hprof->version, "JAVA PROFILE 1.0.3");
	const struct dump *found = dump < hprof->dump_count ? &hprof->dumps[dump] : &none;
	if (found->segment_count) {
		heap->first_offset = hprof->segments[found->first_segment].offset;
		heap->end_offset = hprof->segments[found->first_segment + found->segment_count - 1].end;
	}
	if (scan_dump(&heap->scan, hprof, found, threads, progress, context))
		return -1;
	if (classes_open(heap)) {
		heap_close(heap);
		return -1;
	}
	strings_open(heap);
	sizes_open(heap);
	return 0;
}

void heap_close(struct heap *heap)
{
	roots_close(heap);
	classes_close(heap);
	scan_free(&heap->scan);
	memset(heap, 0, sizeof *heap);
}
