/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/collections.h"
#include "heap/heap.h"

#include <inttypes.h>

int heap_open(struct heap *heap, const struct hprof *hprof, unsigned dump, const struct heap_options *options)
{
	static const struct dump none = { 0, 0 };
	memset(heap, 0, sizeof *heap);
	heap->hprof = hprof;
	heap->in = hprof->in;
	heap->mapping = options->mapping;
	heap->id_width = hprof->id_width;
	heap->dump = dump;
	heap->android = !strcmp(hprof->version, "JAVA PROFILE 1.0.3");
	const struct dump *found = dump < hprof->dump_count ? &hprof->dumps[dump] : &none;
	if (found->segment_count) {
		heap->first_offset = hprof->segments[found->first_segment].offset;
		heap->end_offset = hprof->segments[found->first_segment + found->segment_count - 1].end;
	}
	if (scan_dump(&heap->scan, hprof, found, options->threads, options->progress, options->context))
		return -1;
	if (classes_open(heap)) {
		heap_close(heap);
		return -1;
	}
	struct index *ix = &heap->scan.index;
	struct found clash;
	for (uint32_t i = 0; i < heap->class_count; i++)
		if (heap->classes[i].id && index_find(ix, heap->classes[i].id, &clash))
			index_duplicate(ix, clash.offset);
	if (ix->duplicates)
		notes_add(hprof->notes, "objects with the id of another object or class, which is the one shown",
			  ix->first_duplicate, 0, "%" PRIu64 " objects", ix->duplicates);
	strings_open(heap);
	if (sizes_open(heap)) {
		heap_close(heap);
		return -1;
	}
	return 0;
}

void heap_close(struct heap *heap)
{
	collections_close(heap);
	roots_close(heap);
	threads_close(heap);
	classes_close(heap);
	scan_free(&heap->scan);
	memset(heap, 0, sizeof *heap);
}

bool heap_same(const struct heap *heap)
{
	const struct index *ix = &heap->scan.index;
	const struct hprof *hprof = heap->hprof;
	const uint64_t end = atomic_load(&heap->in->good_end), need = 1 + heap->id_width;
	const uint8_t *data = heap->in->data;
	if (end < hprof->header_size || memcmp(data, hprof->version, strlen(hprof->version) + 1) ||
	    be64(data + hprof->header_size - 8) != hprof->time_ms)
		return false;
	for (size_t i = 0; i < ix->block_count && ix->blocks[i].offset + need <= end; i++) {
		const uint8_t *p = data + ix->blocks[i].offset;
		if (!subrecord_is_object(*p) || (!ix->blocks[i].dense && read_id(p + 1, heap->id_width) != ix->blocks[i].lowest))
			return false;
	}
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const struct class *class = &heap->classes[i];
		const uint8_t *p = data + class->offset;
		if (class->offset && class->offset + need <= end &&
		    (*p != SUB_CLASS_DUMP || read_id(p + 1, heap->id_width) != class->id))
			return false;
	}
	return true;
}
