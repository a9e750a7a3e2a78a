/* SPDX-License-Identifier: Apache-2.0 */
#include "input/heap_graph.h"

#include "input/graph_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES_AT_ONCE 16384
#define STATICS_MOST 60000
/* An image is some twice as long as its graph; one that is this many times as long was made to fill a disk. */
#define GROWTH_MOST 64

/* --- names --- */

static uint64_t put_string(struct image *m, const char *text, const char *prefix)
{
	const size_t len = strlen(text), prefix_len = strlen(prefix);
	const uint64_t id = m->w->next_string++;
	image_begin(m, UTF8);
	put(m, id, m->w->model.width);
	uint8_t *p = room(m, len + prefix_len);
	if (p) {
		memcpy(p, prefix, prefix_len);
		memcpy(p + prefix_len, text, len);
	}
	image_end(m);
	if (m->len >= SEGMENT_BYTES)
		image_write_out(m);
	return id;
}

static void write_head(struct image *m)
{
	static const char version[] = "JAVA PROFILE 1.0.3";
	static const char *const heaps[] = { "default", "app", "zygote", "image" };
	struct writer *w = m->w;
	struct model *model = &w->model;
	uint8_t *head = room(m, sizeof version + 12);
	if (head) {
		memset(head, 0, sizeof version + 12);
		memcpy(head, version, sizeof version);
		head[sizeof version + 3] = (uint8_t)model->width; /* and no time: the trace's clock is not the wall's */
	}
	w->next_string = 0x400000; /* as ART does, away from what could be an address of note */
	for (size_t i = 0; i < model->type_count; i++)
		if (model->types[i].of == NONE)
			model->types[i].name_id = put_string(m, model->types[i].name, "");
	for (size_t i = 0; i < model->name_count; i++) {
		struct field_name *name = &model->names[i];
		name->name_id = put_string(m, name->name, "");
		/* What a class object has as any object has it, ART calls so in its own dumps. */
		name->static_id = name->of_class ? put_string(m, name->name, "$class$") : name->name_id;
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		w->number_names[i] = put_string(m, numbers[i].name, "");
	w->internals_name = put_string(m, "runtimeInternalObjects", "");
	w->unnamed = put_string(m, "unnamed", "");
	for (unsigned i = 0; i < 4; i++)
		w->heap_names[i] = put_string(m, heaps[i], "");
	uint32_t serial = 0;
	for (size_t i = 0; i < model->type_count; i++) {
		if (model->types[i].of != NONE)
			continue;
		image_begin(m, LOAD_CLASS);
		put(m, ++serial, 4);
		put(m, model->types[i].class_id, model->width);
		put(m, 0, 4);
		put(m, model->types[i].name_id, model->width);
		image_end(m);
	}
}

/* A field whose name the graph does not have is called `unnamed`. */
static uint64_t name_id_of(const struct writer *w, uint64_t id, bool is_static)
{
	const uint32_t number = map_find(&w->model.name_map, id);
	if (number == NONE)
		return w->unnamed;
	return is_static ? w->model.names[number].static_id : w->model.names[number].name_id;
}

/* --- classes --- */

/* The statics of a class are what its class object refers to. Their number. */
static uint64_t put_statics(struct image *m, const struct object *object)
{
	const struct model *model = &m->w->model;
	const struct type *level = &model->types[model_type(model, object->type_id)];
	const uint8_t *at = object->references, *end = list_end(at, object->references_len);
	const uint8_t *names = object->fields, *names_end = list_end(names, object->fields_len);
	uint64_t statics = 0, reference;
	uint32_t field = 0;
	while (at && next_number(&at, end, &reference) && statics < STATICS_MOST) {
		uint64_t id = 0;
		if (names) {
			next_number(&names, names_end, &id);
		} else {
			while (level && field == level->field_count) {
				level = super_of(model, level);
				field = 0;
			}
			id = level ? level->fields[field++] : 0;
		}
		put(m, name_id_of(m->w, id, true), model->width);
		put(m, OBJECT, 1);
		const uint64_t id_of_target = target(m, object, reference, model->width);
		put(m, id_of_target, model->width);
		m->references += id_of_target != 0;
		statics++;
	}
	return statics;
}

void image_put_class(struct image *m, const struct type *type, const struct object *object)
{
	const struct writer *w = m->w;
	const struct model *model = &w->model;
	const struct type *super = super_of(model, type);
	put(m, CLASS_DUMP, 1);
	put(m, type->class_id, model->width);
	put(m, 0, 4);
	put(m, super ? super->class_id : 0, model->width);
	put(m, is_address(model, type->loader) ? type->loader * 8 : 0, model->width);
	for (unsigned i = 0; i < 4; i++)
		put(m, 0, model->width);
	put(m, type->element ? 0 : type->size > UINT32_MAX ? UINT32_MAX : type->size, 4);
	put(m, 0, 2); /* no constant pool */
	const size_t count_at = m->len;
	put(m, 0, 2);
	const uint64_t statics = object ? put_statics(m, object) : 0;
	if (!m->failed)
		store(m->data + count_at, statics, 2);
	unsigned own = type->field_count + type->internals;
	for (unsigned i = 0; i < NUMBERS; i++)
		own += type->numbers >> i & 1;
	put(m, own, 2);
	for (uint32_t i = 0; i < type->field_count; i++) {
		put(m, name_id_of(w, type->fields[i], false), model->width);
		put(m, OBJECT, 1);
	}
	for (unsigned i = 0; i < NUMBERS; i++)
		if (type->numbers >> i & 1) {
			put(m, w->number_names[i], model->width);
			put(m, numbers[i].type, 1);
		}
	if (type->internals) {
		put(m, w->internals_name, model->width);
		put(m, OBJECT, 1);
	}
}

static void put_roots(struct image *m)
{
	/* Sub-record tags by HeapGraphRoot.Type, and the bytes that follow the id besides a JNI id. */
	static const struct {
		uint8_t tag, rest;
		bool jni;
	} tags[] = { { 0xff, 0, false }, { 0x01, 0, true },  { 0x02, 8, false }, { 0x03, 8, false }, { 0x04, 4, false },
		     { 0x05, 0, false }, { 0x06, 4, false }, { 0x07, 0, false }, { 0x08, 8, false }, { 0x89, 0, false },
		     { 0x8a, 0, false }, { 0x8b, 0, false }, { 0x8c, 0, false }, { 0x8d, 0, false }, { 0x8e, 8, false } };
	const struct model *model = &m->w->model;
	for (size_t i = 0; i < model->root_count && !m->failed; i++) {
		const unsigned type = model->roots[i].type < sizeof tags / sizeof *tags ? model->roots[i].type : 0;
		if (!is_address(model, model->roots[i].id)) {
			notes_add(m->w->graph->notes, "gc roots at addresses that no object has", NOTE_NO_OFFSET, 0, NULL);
			continue;
		}
		m->w->graph->roots++;
		need_segment(m);
		put(m, tags[type].tag, 1);
		put(m, model->roots[i].id * 8, model->width);
		if (tags[type].jni)
			put(m, 0, model->width);
		put(m, 0, tags[type].rest > 4 ? 4 : tags[type].rest);
		put(m, 0, tags[type].rest > 4 ? 4 : 0);
	}
	image_end_segment(m);
}

static void put_undumped_classes(struct image *m)
{
	const struct model *model = &m->w->model;
	for (size_t i = 0; i < model->type_count; i++) {
		if (model->types[i].of != NONE || model->types[i].dumped)
			continue;
		need_segment(m);
		image_put_class(m, &model->types[i], NULL);
		if (m->len >= 4 * SEGMENT_BYTES) {
			image_end_segment(m);
			image_write_out(m);
		}
	}
	image_end_segment(m);
}

/* --- sizes --- */

static int compare_sizes(const void *a, const void *b)
{
	const struct own_size *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_totals(const void *a, const void *b)
{
	const struct class_total *x = a, *y = b;
	return x->class_id < y->class_id ? -1 : x->class_id > y->class_id;
}

/* Sizes were written as objects come. Where their ids do not rise, they are read again, and sorted. */
static void sort_sizes(struct writer *w)
{
	struct heap_graph *graph = w->graph;
	const uint64_t count = graph->size_count;
	struct own_size *sizes = reallocarray(NULL, (size_t)count, sizeof *sizes);
	w->failed |= !sizes || !spill_read(w->spill, sizes, (size_t)count * sizeof *sizes, graph->sizes);
	if (!w->failed)
		qsort(sizes, (size_t)count, sizeof *sizes, compare_sizes);
	/* In pieces: for one large write the kernel looks for large pages, for longer than the writing takes. */
	for (uint64_t at = 0, n; at < count && !w->failed; at += n) {
		n = count - at < SIZES_AT_ONCE ? count - at : SIZES_AT_ONCE;
		w->failed = !spill_rewrite(w->spill, sizes + at, (size_t)n * sizeof *sizes, graph->sizes + at * sizeof *sizes);
	}
	free(sizes);
}

/* Types in the order of the model while objects are counted. */
static bool open_totals(struct writer *w)
{
	struct heap_graph *graph = w->graph;
	graph->totals = calloc(w->model.type_count + 1, sizeof *graph->totals);
	graph->total_count = graph->totals ? w->model.type_count : 0;
	for (size_t i = 0; i < graph->total_count; i++)
		graph->totals[i].class_id = w->model.types[i].class_id;
	return graph->totals;
}

/* Without the classes of class objects, by id. */
static void close_totals(struct writer *w)
{
	struct heap_graph *graph = w->graph;
	size_t kept = 0;
	for (size_t i = 0; i < graph->total_count; i++)
		if (w->model.types[i].of == NONE)
			graph->totals[kept++] = graph->totals[i];
	graph->total_count = kept;
	if (kept)
		qsort(graph->totals, kept, sizeof *graph->totals, compare_totals);
}

int heap_graph_write(struct heap_graph *graph, struct spill *spill, uint64_t offset)
{
	struct writer w = { .graph = graph, .spill = spill, .most = GROWTH_MOST * graph->bytes + (UINT64_C(64) << 20) };
	struct image image;
	w.failed = !model_open(&w.model, graph) || !open_totals(&w) || !image_open(&image, &w);
	/* How many sizes there will be is known, nearly: what they do not fill stays a hole. */
	graph->sizes = offset + (-offset & 7);
	graph->offset = graph->sizes + w.model.sized * sizeof(struct own_size);
	if (!w.failed) {
		write_head(&image);
		put_undumped_classes(&image);
		image_write_out(&image);
		put_objects(&w);
		put_roots(&image);
		image_begin(&image, DUMP_END);
		image_end(&image);
		image_write_out(&image);
		image_close(&image);
		close_totals(&w);
		graph->len = w.at;
		if (w.unsorted && !w.failed)
			sort_sizes(&w);
	}
	model_close(&w.model);
	return w.failed ? -1 : 0;
}

void heap_graph_close(struct heap_graph *graph)
{
	free(graph->totals);
	graph->totals = NULL;
	graph->total_count = 0;
}
