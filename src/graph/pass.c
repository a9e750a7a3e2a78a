/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/pass.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

/* --- shapes --- */

static const struct {
	const char *name;
	enum strength strength;
} reference_classes[] = {
	{ "java.lang.ref.SoftReference", SOFT },
	{ "java.lang.ref.WeakReference", WEAK },
	{ "java.lang.ref.PhantomReference", PHANTOM },
	{ "java.lang.ref.FinalReference", FINALIZER },
	{ "java.lang.ref.FinalizerReference", FINALIZER }, /* Android's */
};

/* How firmly a java.lang.ref.Reference holds; WEAK for one of no kind that is known. */
static enum strength reference_strength(const struct heap *heap, const struct class *class)
{
	for (; class; class = class_super(heap, class))
		for (size_t i = 0; i < sizeof reference_classes / sizeof *reference_classes; i++)
			if (class->name.len == strlen(reference_classes[i].name) &&
			    !memcmp(class->name.text, reference_classes[i].name, class->name.len))
				return reference_classes[i].strength;
	return WEAK;
}

struct place {
	const struct field *field;
	uint32_t at;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const uint32_t len = x->field->name.len < y->field->name.len ? x->field->name.len : y->field->name.len;
	const int order = memcmp(x->field->name.text, y->field->name.text, len);
	if (order || x->field->name.len != y->field->name.len)
		return order ? order : x->field->name.len < y->field->name.len ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at; /* a hidden one comes behind the one that hides it */
}

bool is_class_field(const struct field *field)
{
	static const char name[] = "shadow$_klass_";
	return field->name.len == sizeof name - 1 && !memcmp(field->name.text, name, sizeof name - 1);
}

/* Appends the places of a class's references to `places` unless that is NULL; their number. */
static uint64_t find_places(const struct heap *heap, const struct class *class, int32_t referent, struct place *places)
{
	uint64_t count = 0, base = 0;
	for (; class; class = class_super(heap, class)) {
		const struct field *fields = class_fields(heap, class);
		for (unsigned i = 0; fields && i < class->parts.field_count; i++) {
			const uint64_t at = base + fields[i].offset;
			if (fields[i].type != TYPE_OBJECT || at >= INT32_MAX || (int32_t)at == referent ||
			    is_class_field(&fields[i]))
				continue;
			if (places)
				places[count] = (struct place){ &fields[i], (uint32_t)at };
			count++;
		}
		base += class->own_width;
	}
	return count;
}

static bool has_instances(const struct class *class)
{
	return class->count && !class->element_type && class->tally && class->tally->kind == TALLY_INSTANCES;
}

/* Finds where the instances of one class have references; `at` has room for `shape->count` of them. */
static bool fill_shape(const struct heap *heap, const struct class *class, struct shape *shape, uint32_t *at)
{
	struct place *places = malloc((shape->count + 1) * sizeof *places);
	if (!places)
		return false;
	find_places(heap, class, shape->referent, places);
	qsort(places, shape->count, sizeof *places, compare_places);
	for (uint32_t i = 0; i < shape->count; i++)
		at[i] = places[i].at;
	shape->at = at;
	free(places);
	return true;
}

static int find_shapes(struct shapes *shapes)
{
	const struct heap *heap = shapes->heap;
	const struct class *reference = class_by_name(heap, "java.lang.ref.Reference");
	const struct class *java_class = class_by_name(heap, "java.lang.Class");
	/* Each class that is looked at has an instance, whose bytes are in the file: so there are no more. */
	const uint64_t most = heap->in->size / heap->id_width + heap->class_count;
	uint64_t total = 0;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const struct class *class = &heap->classes[i];
		struct shape *shape = &shapes->list[i];
		*shape = (struct shape){ .referent = -1, .class = i, .none = true };
		if (class->tally && class->tally->kind == TALLY_OBJECT_ARRAYS)
			shape->elements = true;
		if (has_instances(class)) {
			shape->size = heap_graph_of(heap) ? 0 : class->size; /* in a heap graph they may differ */
			if (class_extends(heap, class, reference)) {
				shape->referent = field_offset_of(heap, class, reference, "referent", TYPE_OBJECT);
				shape->strength = (uint8_t)reference_strength(heap, class);
			}
			const uint64_t count = find_places(heap, class, shape->referent, NULL);
			if (count > most - total)
				return E2BIG;
			shape->count = (uint32_t)count;
			total += count;
		}
		/* Class objects, which count for java.lang.Class, do have references. */
		shape->none = !shape->elements && !shape->count && shape->referent < 0 && class != java_class;
	}
	shapes->at = malloc((total + 1) * sizeof *shapes->at);
	if (!shapes->at)
		return ENOMEM;
	uint64_t used = 0;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		struct shape *shape = &shapes->list[i];
		if (shape->count && !fill_shape(heap, &heap->classes[i], shape, shapes->at + used))
			return ENOMEM;
		used += shape->count;
	}
	return 0;
}

static size_t slot_of(const struct shapes *shapes, uint64_t id)
{
	id = (id ^ shapes->seed) * UINT64_C(0x9e3779b97f4a7c15);
	id = (id ^ id >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)(id >> 32) & (shapes->slot_count - 1);
}

int shapes_open(struct shapes *shapes, const struct heap *heap)
{
	*shapes = (struct shapes){ .heap = heap, .slot_count = 64 };
	while (shapes->slot_count < 2 * (size_t)heap->class_count)
		shapes->slot_count *= 2;
	/* A seed that no dump can know, so that none can make all ids meet in one place. */
	if (getrandom(&shapes->seed, sizeof shapes->seed, GRND_NONBLOCK) < 0)
		shapes->seed = (uintptr_t)shapes;
	shapes->list = calloc(heap->class_count + 1, sizeof *shapes->list);
	shapes->slots = calloc(shapes->slot_count, sizeof *shapes->slots);
	if (!shapes->list || !shapes->slots)
		return ENOMEM;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		size_t at = slot_of(shapes, heap->classes[i].id);
		while (shapes->slots[at].class)
			at = (at + 1) & (shapes->slot_count - 1);
		shapes->slots[at] = (struct class_slot){ heap->classes[i].id, i + 1 };
	}
	return find_shapes(shapes);
}

void shapes_close(struct shapes *shapes)
{
	free(shapes->list);
	free(shapes->at);
	free(shapes->slots);
	*shapes = (struct shapes){ .heap = NULL };
}

static uint32_t class_of(const struct shapes *shapes, uint64_t id)
{
	for (size_t at = slot_of(shapes, id); shapes->slots[at].class; at = (at + 1) & (shapes->slot_count - 1))
		if (shapes->slots[at].id == id)
			return shapes->slots[at].class - 1;
	return CLASS_NONE;
}

/* --- objects --- */

void record_walk_start(struct record_walk *walk, const struct shapes *shapes, size_t first_block, size_t end_block)
{
	*walk = (struct record_walk){ .shapes = shapes, .walk = { .ix = &shapes->heap->scan.index }, .block = first_block,
				      .end = end_block };
}

bool record_walk_next(struct record_walk *walk)
{
	static const struct shape without = { .referent = -1, .class = CLASS_NONE, .none = true };
	const struct heap *heap = walk->shapes->heap;
	const unsigned I = heap->id_width;
	while (!block_walk_next(&walk->walk)) {
		if (walk->block == walk->end)
			return false;
		block_walk_start(&walk->walk, &heap->scan.index, walk->block++);
	}
	const uint8_t *p = heap->in->data + walk->walk.offset;
	struct object *object = &walk->record.object;
	uint32_t class, header = 9 + 2 * I;
	if (*p == SUB_INSTANCE_DUMP) {
		object->kind = OBJECT_INSTANCE;
		class = class_of(walk->shapes, read_id(p + 5 + I, I));
	} else {
		object->length = be32(p + 5 + I);
		if (*p == SUB_OBJ_ARRAY_DUMP) {
			object->kind = OBJECT_OBJECT_ARRAY;
			object->type = TYPE_OBJECT;
			class = class_of(walk->shapes, read_id(p + 9 + I, I));
		} else {
			object->kind = OBJECT_PRIMITIVE_ARRAY;
			object->type = p[9 + I];
			header = 10 + I;
			class = object->type < TYPE_COUNT ? heap->primitive_arrays[object->type] : CLASS_NONE;
		}
	}
	object->id = walk->walk.id;
	object->offset = walk->walk.offset;
	object->data_offset = object->offset + header;
	object->data = p + header;
	object->data_len = walk->walk.size - header;
	object->class = class == CLASS_NONE ? NULL : &heap->classes[class];
	walk->record.shape = class == CLASS_NONE ? &without : &walk->shapes->list[class];
	return true;
}

uint64_t record_referent(const struct record *record, unsigned id_width)
{
	const int32_t at = record->shape->referent;
	if (at < 0 || record->object.kind != OBJECT_INSTANCE || (uint64_t)at + id_width > record->object.data_len)
		return 0;
	return read_id(record->object.data + at, id_width);
}

/* --- class objects --- */

struct label {
	char *text;
	uint64_t id, offset;
};

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	const int order = strcmp(x->text, y->text);
	return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
}

int class_references(const struct heap *heap, const struct class *class, class_reference_fn *each, void *context)
{
	static const char *const fixed[] = { "<super>", "<loader>", "<signers>", "<protection domain>" };
	const unsigned I = heap->id_width;
	struct label *labels = calloc(class->parts.static_count + 1u, sizeof *labels);
	size_t count = 0;
	uint64_t budget = NAMES_MOST;
	struct static_walk walk;
	int rc = labels ? 0 : ENOMEM;
	static_walk_start(&walk, heap, class, false);
	while (!rc && class->offset && static_walk_next(&walk)) {
		if (walk.type != TYPE_OBJECT || !read_id(walk.value, I))
			continue;
		struct name name = member_name(heap, class, walk.name_id, walk.type, "static", &budget);
		char *text = name.text ? realloc((char *)(uintptr_t)name.text, name.len + 1) : NULL;
		if (!text) {
			free((char *)(uintptr_t)name.text);
			rc = ENOMEM;
			break;
		}
		text[name.len] = 0;
		labels[count++] = (struct label){ text, read_id(walk.value, I), walk.offset };
	}
	if (!rc)
		qsort(labels, count, sizeof *labels, compare_labels);
	for (size_t i = 0; i < count; i++) {
		if (!rc)
			each(context, labels[i].id, labels[i].offset, labels[i].text);
		free(labels[i].text);
	}
	free(labels);
	static_walk_start(&walk, heap, class, true);
	while (!rc && class->offset && static_walk_next(&walk))
		if (walk.type == TYPE_OBJECT && read_id(walk.value, I))
			each(context, read_id(walk.value, I), walk.offset, "<constant>");
	for (unsigned which = CLASS_SUPER; !rc && which <= CLASS_PROTECTION_DOMAIN; which++) {
		const uint64_t id = class_reference(heap, class, (enum class_reference)which);
		if (id)
			each(context, id, class->offset + 5 + I + which * I, fixed[which]);
	}
	return rc;
}

/* --- passes --- */

size_t chunk_count(const struct heap *heap)
{
	return (heap->scan.index.block_count + CHUNK_BLOCKS - 1) / CHUNK_BLOCKS;
}

struct crew {
	const struct pass *pass;
	_Atomic size_t next;	/* chunk that nobody has taken */
	_Atomic int error;
};

struct hand {
	struct crew *crew;
	unsigned number;
	pthread_t thread;
	bool started;
};

static void *work(void *argument)
{
	struct hand *hand = argument;
	struct crew *crew = hand->crew;
	const struct pass *pass = crew->pass;
	const struct heap *heap = pass->shapes->heap;
	const size_t chunks = chunk_count(heap), blocks = heap->scan.index.block_count;
	input_touched_bad = false;
	for (;;) {
		const size_t chunk = atomic_fetch_add(&crew->next, 1);
		if (chunk >= chunks || atomic_load(&crew->error))
			return NULL;
		const size_t first = chunk * CHUNK_BLOCKS, end = first + CHUNK_BLOCKS;
		struct record_walk walk;
		record_walk_start(&walk, pass->shapes, first, end < blocks ? end : blocks);
		int rc = pass->chunk(pass->context, hand->number, chunk, &walk);
		if (!rc && input_touched_bad)
			rc = EIO;
		if (!rc && pass->cancel && atomic_load_explicit(pass->cancel, memory_order_relaxed))
			rc = ECANCELED;
		if (rc)
			atomic_store(&crew->error, rc);
		if (pass->done)
			atomic_fetch_add(pass->done, 1);
	}
}

int pass_run(const struct pass *pass)
{
	struct crew crew = { .pass = pass };
	const unsigned threads = pass->threads < 1 ? 1 : pass->threads;
	struct hand *hands = calloc(threads, sizeof *hands);
	if (!hands)
		return ENOMEM;
	for (unsigned i = 0; i < threads; i++) {
		hands[i] = (struct hand){ .crew = &crew, .number = i };
		hands[i].started = i && !pthread_create(&hands[i].thread, NULL, work, &hands[i]);
	}
	const bool touched_bad = input_touched_bad;
	work(&hands[0]);
	input_touched_bad |= touched_bad;
	for (unsigned i = 1; i < threads; i++)
		if (hands[i].started)
			pthread_join(hands[i].thread, NULL);
	free(hands);
	return atomic_load(&crew.error);
}
