/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size: how large an object was in the memory of its VM. The format does not say.
 *
 * Where ids are addresses, the smallest distance from an object of a class to the next id is that class's
 * true size: garbage and padding between objects only make distances larger. The layout model below it
 * (header and fields, rounded up) is a lower bound, and what is used where no distance can be trusted: a
 * class with one object, ids that are numbers (the hprof agent). ART, Dalvik and GraalVM declare real sizes;
 * HotSpot declares the sum of the fields with 8-byte references, and 0 for java.lang.Object, by which the two
 * are told apart.
 */
#include "heap/heap.h"

#include <stdlib.h>

/* HotSpot lets each class of a hierarchy begin at a new boundary; more than this a level is no such padding. */
#define PADDING_PER_LEVEL 24
/* @Contended puts 128 bytes on either side of a field; a class may have several such groups. */
#define PADDING_CONTENDED 1024

static uint64_t round_up(uint64_t size, uint64_t alignment)
{
	return (size + alignment - 1) / alignment * alignment;
}

/* How well arrays whose elements begin at `base` agree with the distances behind arrays of a few lengths. */
struct fit {
	unsigned base;
	unsigned exact, bad;	/* lengths whose distance is just that size, or is smaller */
};

static struct fit try_base(const struct heap *heap, unsigned type, unsigned width, unsigned base)
{
	struct fit fit = { .base = base };
	for (unsigned length = 0; length < GAP_LENGTHS; length++) {
		const uint32_t gap = heap->scan.array_gaps[type][length];
		const uint64_t size = round_up(base + (uint64_t)length * width, heap->sizes.alignment);
		if (gap == GAP_NONE)
			continue;
		fit.exact += gap == size;
		fit.bad += gap < size;
	}
	return fit;
}

static bool fits_better(const struct fit *fit, const struct fit *than)
{
	return fit->bad != than->bad ? fit->bad < than->bad : fit->exact > than->exact;
}

/* The base that fits best; `preferred` where nothing fits better than it. exact is 0 if nothing is known. */
static struct fit fit_base(const struct heap *heap, unsigned type, unsigned width, unsigned preferred)
{
	struct fit best = try_base(heap, type, width, preferred);
	for (unsigned base = 8; base <= 32; base += 4) {
		const struct fit fit = try_base(heap, type, width, base);
		if (fits_better(&fit, &best))
			best = fit;
	}
	return best;
}

static void model_addresses(struct heap *heap)
{
	struct sizes *sizes = &heap->sizes;
	const bool wide = heap->id_width == 8;
	/* The commonest arrays tell where the header ends, behind mark word, class and length. */
	struct fit common = { .base = wide ? 16 : 12 };
	for (unsigned type = TYPE_BOOLEAN; type < TYPE_COUNT; type++) {
		const unsigned width = type_width(type, heap->id_width);
		const struct fit fit = fit_base(heap, type, width, wide ? 16 : 12);
		if (width < 8 && fit.exact > common.exact)
			common = fit;
	}
	if (wide) {
		sizes->header = common.base == 12 ? 8 : common.base == 16 ? 12 : 16;
		const struct fit four = fit_base(heap, TYPE_OBJECT, 4, common.base);
		const struct fit eight = fit_base(heap, TYPE_OBJECT, 8, common.base);
		sizes->reference = fits_better(&eight, &four) ? 8 : 4;
	}
	for (unsigned type = TYPE_OBJECT; type < TYPE_COUNT; type++) {
		const unsigned width = type == TYPE_OBJECT ? sizes->reference : type_width(type, heap->id_width);
		sizes->array_base[type] =
			fit_base(heap, type, width, (unsigned)round_up(common.base, wide && width == 8 ? 8 : 4)).base;
	}
}

uint64_t array_size(const struct heap *heap, uint8_t type, uint64_t length)
{
	const struct sizes *sizes = &heap->sizes;
	const unsigned width = type == TYPE_OBJECT ? sizes->reference : type_width(type, heap->id_width);
	return round_up(sizes->array_base[type] + length * width, sizes->alignment);
}

/* Bytes that a class's own fields take in memory, where references may be narrower than ids. */
static uint64_t own_size(const struct heap *heap, const struct class *class)
{
	uint64_t size = class->own_width;
	const uint8_t *entry = heap->in->data + class->offset + class->parts.fields + heap->id_width;
	if (heap->sizes.reference == heap->id_width)
		return size;
	for (unsigned i = 0; i < class->parts.field_count; i++, entry += heap->id_width + 1)
		size -= *entry == TYPE_OBJECT ? heap->id_width - heap->sizes.reference : 0;
	return size;
}

/* The smallest distance behind a class's objects, where enough of them make it believable; else 0. */
static uint64_t trusted_gap(const struct heap *heap, const struct class *class, uint64_t model)
{
	const struct tally *tally = class->tally;
	if (!heap->sizes.addresses || !tally || tally->min_gap == GAP_NONE || tally->min_gap < model || class->count < 2)
		return 0;
	const uint64_t padding = tally->min_gap - model;
	if (padding <= PADDING_PER_LEVEL * (uint64_t)(class->depth + 1) ||
	    (tally->gap_count > 1 && padding <= PADDING_CONTENDED))
		return tally->min_gap;
	return 0;
}

/* What is known of a class while sizes are found, superclasses first. */
struct extent {
	uint64_t fields;	/* header and fields of it and its superclasses, not rounded */
	uint64_t padding;	/* what it, or the nearest superclass of a trusted size, takes beyond that */
};

static uint64_t instance_size(const struct heap *heap, const struct class *class, struct extent *extents)
{
	struct extent *extent = &extents[class_number(heap, class)];
	const struct class *super = class_super(heap, class);
	const struct extent none = { heap->sizes.header, 0 };
	const struct extent *above = super ? &extents[class_number(heap, super)] : &none;
	extent->fields = above->fields + own_size(heap, class);
	const uint64_t model = round_up(extent->fields, heap->sizes.alignment);
	const uint64_t trusted = trusted_gap(heap, class, model);
	extent->padding = trusted ? trusted - model : above->padding;
	if (heap->sizes.declared) /* ART does not count the padding behind the last field */
		return round_up(class_declared_size(heap, class), heap->sizes.alignment);
	if (trusted || !heap->sizes.addresses)
		return trusted ? trusted : model;
	/* What a superclass is known to be padded with, its subclass inherits. What lies between two objects is
	   itself at least as large as the smallest object; a smaller surplus is the class's own. */
	const uint64_t size = model + above->padding, gap = class->tally ? class->tally->min_gap : GAP_NONE;
	if (gap != GAP_NONE && gap >= size && gap - size < round_up(heap->sizes.header, heap->sizes.alignment))
		return gap;
	return size;
}

/* Class numbers, superclasses before their subclasses. NULL without memory. */
static uint32_t *by_depth(const struct heap *heap)
{
	uint32_t *starts = calloc(heap->class_count + 2, sizeof *starts);
	uint32_t *order = malloc((heap->class_count + 1) * sizeof *order);
	for (uint32_t i = 0; starts && order && i < heap->class_count; i++)
		starts[heap->classes[i].depth + 1]++;
	for (uint32_t i = 1; starts && order && i <= heap->class_count; i++)
		starts[i] += starts[i - 1];
	for (uint32_t i = 0; starts && order && i < heap->class_count; i++)
		order[starts[heap->classes[i].depth]++] = i;
	if (!starts) {
		free(order);
		order = NULL;
	}
	free(starts);
	return order;
}

/* All arrays of a class together, by the remainders of their lengths. */
static uint64_t arrays_size(const struct heap *heap, const struct class *class)
{
	const struct tally *tally = class->tally;
	const uint8_t type = class->element_type;
	const unsigned width = type == TYPE_OBJECT ? heap->sizes.reference : type_width(type, heap->id_width);
	uint64_t size = tally->elements * width + tally->synthetic_bytes;
	for (unsigned i = 0; i < TALLY_RESIDUES; i++)
		size += tally->residues[i] * (array_size(heap, type, i) - (uint64_t)i * width);
	return size;
}

/* What a heap graph says of sizes: a class's own is in its CLASS_DUMP, what its objects take together in a table. */
static void take_graph_sizes(struct heap *heap, const struct heap_graph *graph)
{
	heap->sizes = (struct sizes){ .reference = 4, .header = 8, .alignment = 1 };
	for (size_t i = 0; i < graph->total_count; i++) {
		const uint32_t number = class_from(heap, graph->totals[i].class_id);
		if (number == heap->class_count || heap->classes[number].id != graph->totals[i].class_id)
			continue;
		heap->classes[number].shallow = graph->totals[i].size;
		heap->classes[number].size = class_declared_size(heap, &heap->classes[number]);
	}
}

/* The size of an object that has one of its own; false if it is its class's. */
static bool graph_size(const struct heap *heap, const struct heap_graph *graph, uint64_t id, uint64_t *size)
{
	const struct own_size *sizes = (const void *)(heap->in->data - (heap->in->start - graph->sizes));
	size_t low = 0, high = (size_t)graph->size_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (sizes[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	*size = low < graph->size_count && sizes[low].id == id ? sizes[low].size : 0;
	return low < graph->size_count && sizes[low].id == id;
}

int sizes_open(struct heap *heap)
{
	const struct heap_graph *graph = heap_graph_of(heap);
	if (graph) {
		take_graph_sizes(heap, graph);
		return 0;
	}
	struct sizes *sizes = &heap->sizes;
	const struct class *root = class_by_name(heap, "java.lang.Object");
	const uint32_t declared = root ? class_declared_size(heap, root) : 0;
	const uint64_t bits = heap->scan.id_bits;
	sizes->declared = declared > 0;
	sizes->alignment = 8;
	sizes->reference = 4;
	sizes->header = 8;
	if (heap->id_width == 8)
		sizes->header = 12;
	sizes->addresses = bits && !(bits & 7);
	if (sizes->addresses && (bits & -bits) > 8)
		sizes->alignment = (bits & -bits) > 256 ? 8 : (unsigned)(bits & -bits);
	model_addresses(heap);
	if (sizes->declared)
		sizes->header = declared;
	uint32_t *order = by_depth(heap);
	struct extent *extents = calloc(heap->class_count + 1, sizeof *extents);
	for (uint32_t i = 0; order && extents && i < heap->class_count; i++) {
		struct class *class = &heap->classes[order[i]];
		class->size = instance_size(heap, class, extents);
		class->shallow = class->size * class->count;
		if (class->element_type) {
			class->size = 0;
			class->shallow = class->tally ? arrays_size(heap, class) : 0;
		}
	}
	const bool whole = order && extents;
	free(order);
	free(extents);
	return whole ? 0 : -1;
}

/* ART writes a String's characters, and parts of class objects and loaders, as arrays: see scan.c. */
bool is_synthetic(const struct heap *heap, const struct object *array)
{
	if (!heap->android)
		return false;
	if (array->id & 7)
		return true;
	for (uint64_t back = 8; back <= 16; back += 8) {
		struct object string;
		if (heap_find(heap, array->id - back, &string) && string.kind == OBJECT_INSTANCE &&
		    class_number(heap, string.class) == heap->string_class && heap->string_value >= 0 &&
		    (uint64_t)heap->string_value + 4 <= string.data_len &&
		    be32(string.data + heap->string_value) == array->id)
			return true;
	}
	return false;
}

uint64_t object_size(const struct heap *heap, const struct object *object)
{
	const struct heap_graph *graph = heap_graph_of(heap);
	uint64_t own;
	if (graph)
		return graph_size(heap, graph, object->id, &own) ? own : object->kind == OBJECT_INSTANCE ? object->class->size : 0;
	if (object->kind == OBJECT_INSTANCE)
		return object->class->size;
	if (is_synthetic(heap, object))
		return object->kind == OBJECT_OBJECT_ARRAY ? 0 : round_up(object->data_len, 8);
	return array_size(heap, object->type, object->length);
}
