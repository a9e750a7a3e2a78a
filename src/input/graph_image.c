/* SPDX-License-Identifier: Apache-2.0 */
#include "input/graph_image.h"

#include <stdlib.h>

/* The sizes of the image's objects, behind those of all before it. */
static bool write_sizes(struct image *m)
{
	struct writer *w = m->w;
	struct heap_graph *graph = w->graph;
	if (!m->size_count)
		return true;
	if (m->size_count > w->model.sized - graph->size_count) /* the file is being written to */
		return false;
	w->unsorted |= m->unsorted || (graph->size_count && m->sizes[0].id <= w->last_size);
	w->last_size = m->sizes[m->size_count - 1].id;
	const uint64_t at = graph->sizes + graph->size_count * sizeof *m->sizes;
	if (!spill_write(w->spill, m->sizes, m->size_count * sizeof *m->sizes, at))
		return false;
	graph->size_count += m->size_count;
	m->size_count = 0;
	m->unsorted = false;
	return true;
}

void image_write_out(struct image *m)
{
	struct writer *w = m->w;
	w->failed |= m->failed;
	if (w->failed || w->cut)
		return;
	if (w->at + m->len > w->most)
		notes_add(w->graph->notes, "the heap graph would grow out of all proportion; the rest is left out",
			  NOTE_NO_OFFSET, 0, NULL);
	if (w->at + m->len > w->most || !spill_write(w->spill, m->data, m->len, w->graph->offset + w->at) || !write_sizes(m))
		w->cut = true;
	else
		w->at += m->len;
	m->len = 0;
}

bool image_grow(struct image *m, size_t more)
{
	const size_t wanted = 2 * (m->len + more);
	uint8_t *grown = realloc(m->data, wanted);
	if (!grown) {
		m->failed = true;
		return false;
	}
	m->data = grown;
	m->capacity = wanted;
	return true;
}

bool image_grow_sizes(struct image *m)
{
	const size_t wanted = 2 * m->size_count + 64;
	struct own_size *grown = reallocarray(m->sizes, wanted, sizeof *grown);
	if (!grown) {
		m->failed = true;
		return false;
	}
	m->sizes = grown;
	m->size_capacity = wanted;
	return true;
}

void image_begin(struct image *m, uint8_t tag)
{
	m->record = m->len;
	uint8_t *p = room(m, 9);
	if (p) {
		*p = tag;
		store(p + 1, 0, 4);
	}
}

void image_end(struct image *m)
{
	if (!m->failed)
		store(m->data + m->record + 5, m->len - m->record - 9, 4);
	m->record = NO_RECORD;
}

void image_end_segment(struct image *m)
{
	if (m->record != NO_RECORD)
		image_end(m);
}

void image_new_segment(struct image *m)
{
	image_end_segment(m);
	image_begin(m, SEGMENT);
	m->heap = UINT32_MAX;
}

void image_put_heap(struct image *m, unsigned heap)
{
	static const char kinds[] = { 0, 'A', 'Z', 'I' };
	m->heap = heap;
	put(m, HEAP_INFO, 1);
	put(m, (uint64_t)kinds[heap], 4);
	put(m, m->w->heap_names[heap], m->w->model.width);
}
