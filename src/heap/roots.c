/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/heap.h"

#include <stdlib.h>

static int compare_roots(const void *a, const void *b)
{
	const struct root *x = a, *y = b;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static struct roots *make_roots(const struct heap *heap)
{
	size_t most = 0, n = 0;
	for (unsigned tag = 0; tag < 256; tag++)
		most += subrecord_is_root(tag) ? heap->scan.subs[tag] : 0;
	struct roots *roots = malloc(sizeof *roots);
	struct root *list = malloc((most + 1) * sizeof *list);
	if (!roots || !list) {
		free(roots);
		free(list);
		return NULL;
	}
	const uint8_t *p = heap->scan.roots.data, *end = p ? p + heap->scan.roots.len : NULL;
	uint64_t offset = 0;
	while (p < end && n < most) {
		offset += varint_read(&p, end);
		const uint8_t *record = input_at(heap->in, offset, 1 + heap->id_width);
		if (!record)
			break;
		const uint64_t id = read_id(record + 1, heap->id_width);
		struct found found;
		const struct class *class = class_find(heap, id);
		if (id && (class || index_find(&heap->scan.index, id, &found)))
			list[n++] = (struct root){ id, offset + 1, *record };
	}
	qsort(list, n, sizeof *list, compare_roots);
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!kept || list[i].id != list[kept - 1].id || list[i].tag != list[kept - 1].tag)
			list[kept++] = list[i];
	*roots = (struct roots){ list, kept };
	return roots;
}

const struct roots *heap_roots(const struct heap *heap)
{
	struct roots *_Atomic *slot = (struct roots *_Atomic *)(uintptr_t)&heap->roots;
	struct roots *roots = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (roots)
		return roots;
	roots = make_roots(heap);
	if (roots && (input_touched_bad || !atomic_compare_exchange_strong(slot, &other, roots))) {
		/* Made from a file that was cut meanwhile, or another thread was first. */
		free(roots->list);
		free(roots);
		return other;
	}
	return roots;
}

void roots_close(struct heap *heap)
{
	struct roots *roots = atomic_load(&heap->roots);
	if (roots)
		free(roots->list);
	free(roots);
}

size_t roots_of(const struct roots *roots, unsigned tag, size_t *first)
{
	size_t low = 0, count = 0;
	while (low < roots->count && roots->list[low].tag < tag)
		low++;
	while (low + count < roots->count && roots->list[low + count].tag == tag)
		count++;
	*first = low;
	return count;
}
