/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes: the table of a dump's classes, made from three sources that need not agree. CLASS_DUMP describes
 * a class; LOAD_CLASS names it, and names classes that were never dumped (HotSpot skips those not linked);
 * objects may name a class that neither has, in a damaged dump. Primitive arrays name no class at all.
 */
#include "heap/heap.h"

#include "hprof/mutf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct name name_copy(const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	if (!copy)
		return (struct name){ NULL, 0 };
	memcpy(copy, text, len);
	copy[len] = 0;
	return (struct name){ copy, (uint32_t)len };
}

struct name heap_name(const struct heap *heap, uint64_t name_id)
{
	uint32_t len;
	const uint8_t *p = hprof_utf8(heap->hprof, name_id, &len);
	char *text = malloc((size_t)len + 1);
	if (!text)
		return (struct name){ NULL, 0 };
	const size_t n = p ? mutf8_to_utf8(p, len, text) : 0;
	text[n] = 0;
	return (struct name){ text, (uint32_t)n };
}

struct name heap_name_within(const struct heap *heap, uint64_t name_id, const char *instead, uint64_t *budget)
{
	uint32_t len;
	if (hprof_utf8(heap->hprof, name_id, &len) && len && len <= *budget) {
		*budget -= len;
		return heap_name(heap, name_id);
	}
	char text[48] = "";
	if (*instead)
		snprintf(text, sizeof text, "%s-0x%" PRIx64, instead, name_id);
	return name_copy(text, strlen(text));
}

struct name member_name(const struct heap *heap, const struct class *class, uint64_t name_id, uint8_t type,
			const char *instead, uint64_t *budget)
{
	const char *original;
	size_t len;
	const struct name name = heap_name_within(heap, name_id, instead, budget);
	if (!class->mapped || !name.text || !mapping_field(class->mapped, name.text, name.len, type, &original, &len))
		return name;
	free((char *)(uintptr_t)name.text);
	return name_copy(original, len);
}

struct name block_heap_name(const struct heap *heap, uint64_t offset)
{
	size_t block;
	uint32_t len = 0;
	const uint8_t *p = NULL;
	if (index_block_at(&heap->scan.index, offset, &block) && heap->scan.index.blocks[block].heap)
		p = hprof_utf8(heap->hprof, heap->scan.heap_names[heap->scan.index.blocks[block].heap], &len);
	return p && len ? (struct name){ (const char *)p, len } : (struct name){ "-", 1 };
}

static const struct {
	char code;
	uint8_t type;
} descriptors[] = { { 'Z', TYPE_BOOLEAN }, { 'C', TYPE_CHAR }, { 'F', TYPE_FLOAT }, { 'D', TYPE_DOUBLE },
		    { 'B', TYPE_BYTE },	   { 'S', TYPE_SHORT }, { 'I', TYPE_INT },   { 'J', TYPE_LONG } };

/* "[[I" -> "int[][]", "[Ljava/lang/String;" -> "java.lang.String[]", "java/lang/String" -> with dots. */
static struct name source_name(const char *raw, size_t len)
{
	size_t dimensions = 0;
	while (dimensions < len && raw[dimensions] == '[')
		dimensions++;
	const char *element = raw + dimensions;
	size_t element_len = len - dimensions;
	if (dimensions && element_len == 1) {
		for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
			if (descriptors[i].code == *element) {
				element = type_name(descriptors[i].type);
				element_len = strlen(element);
				break;
			}
	} else if (dimensions && element_len > 2 && *element == 'L' && element[element_len - 1] == ';') {
		element++;
		element_len -= 2;
	}
	char *text = malloc(element_len + 2 * dimensions + 1);
	if (!text)
		return (struct name){ NULL, 0 };
	size_t n = element_len;
	memcpy(text, element, n);
	for (size_t i = 0; i < n; i++)
		if (text[i] == '/')
			text[i] = '.';
	for (size_t i = 0; i < dimensions; i++) {
		text[n++] = '[';
		text[n++] = ']';
	}
	text[n] = 0;
	return (struct name){ text, (uint32_t)n };
}

/* Gives a class the name it had before it was obfuscated; an array, what its elements had. */
static int unmap_class(const struct mapping *mapping, struct class *class)
{
	size_t len = class->name.len;
	while (len > 2 && !memcmp(class->name.text + len - 2, "[]", 2))
		len -= 2;
	const struct mapping_class *mapped = mapping_find(mapping, class->name.text, len);
	if (!mapped)
		return 0;
	const size_t dimensions = class->name.len - len;
	char *text = malloc(mapped->original_len + dimensions + 1);
	if (!text)
		return -1;
	memcpy(text, mapped->original, mapped->original_len);
	memcpy(text + mapped->original_len, class->name.text + len, dimensions + 1);
	free((char *)(uintptr_t)class->name.text);
	class->name = (struct name){ text, (uint32_t)(mapped->original_len + dimensions) };
	class->mapped = dimensions ? NULL : mapped;
	return 0;
}

/* The value type of an array class's elements, by its name; 0 if it is no array class. */
static uint8_t element_type_of(const struct name *name)
{
	if (name->len < 2 || memcmp(name->text + name->len - 2, "[]", 2))
		return 0;
	for (unsigned type = TYPE_BOOLEAN; type < TYPE_COUNT; type++)
		if (strlen(type_name(type)) == name->len - 2 && !memcmp(name->text, type_name(type), name->len - 2))
			return (uint8_t)type;
	return TYPE_OBJECT;
}

static int compare_classes(const void *a, const void *b)
{
	const struct class *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	/* One with a CLASS_DUMP before one without; of two dumps the first in the file. */
	const uint64_t ox = x->offset - 1, oy = y->offset - 1;
	return ox < oy ? -1 : ox > oy;
}

uint32_t class_from(const struct heap *heap, uint64_t id)
{
	uint32_t low = 0, high = heap->class_count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (heap->classes[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct class *class_find(const struct heap *heap, uint64_t id)
{
	const uint32_t number = id ? class_from(heap, id) : heap->class_count;
	return number < heap->class_count && heap->classes[number].id == id ? &heap->classes[number] : NULL;
}

const struct class *class_by_name(const struct heap *heap, const char *name)
{
	const size_t len = strlen(name);
	for (uint32_t i = 0; i < heap->class_count; i++)
		if (heap->classes[i].name.len == len && !memcmp(heap->classes[i].name.text, name, len))
			return &heap->classes[i];
	return NULL;
}

/* Gathers all ids that anything calls a class. */
static int gather(struct heap *heap)
{
	const struct hprof *hprof = heap->hprof;
	const struct scan *scan = &heap->scan;
	const uint8_t *data = heap->in->data;
	const size_t most = scan->class_dump_count + hprof->load_class.count + scan->tally_count;
	if (most >= CLASS_NONE)
		return -1;
	struct class *classes = calloc(most + 1, sizeof *classes);
	if (!classes)
		return -1;
	size_t n = 0;
	for (size_t i = 0; i < scan->class_dump_count; i++, n++) {
		classes[n].offset = scan->class_dumps[i];
		classes[n].id = read_id(data + scan->class_dumps[i] + 1, heap->id_width);
	}
	for (size_t i = 0; i < hprof->load_class.count; i++)
		if (hprof->load_class.entries[i].id)
			classes[n++].id = hprof->load_class.entries[i].id;
	for (size_t i = TYPE_COUNT; i < scan->tally_count; i++)
		classes[n++].id = scan->tallies[i].id;
	qsort(classes, n, sizeof *classes, compare_classes);
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept && classes[i].id == classes[kept - 1].id) {
			if (classes[i].offset)
				notes_add(hprof->notes, "classes that are dumped twice", classes[i].offset, 0, NULL);
			continue;
		}
		classes[kept++] = classes[i];
	}
	heap->classes = classes;
	heap->class_count = (uint32_t)kept;
	return 0;
}

static int describe(struct heap *heap, struct class *class, uint64_t *budget)
{
	const unsigned I = heap->id_width;
	class->super = CLASS_NONE;
	if (class->offset) {
		const uint8_t *p = heap->in->data + class->offset;
		class_dump_parts(p, heap->in->size - class->offset, I, &class->parts);
		class->super_id = read_id(p + 5 + I, I);
		class->loader_id = read_id(p + 5 + 2 * I, I);
		for (unsigned i = 0; i < class->parts.field_count; i++)
			class->own_width += type_width(p[class->parts.fields + i * (I + 1) + I], I);
	}
	const uint64_t load = class->id ? id_table_find(&heap->hprof->load_class, class->id) : 0;
	struct name raw = heap_name_within(heap, load ? load_class_name(heap->hprof, load) : 0, "", budget);
	if (!raw.text)
		return -1;
	if (raw.len) {
		class->name = source_name(raw.text, raw.len);
	} else {
		char unknown[48];
		snprintf(unknown, sizeof unknown, "unknown-class-0x%" PRIx64, class->id);
		class->name = name_copy(unknown, strlen(unknown));
	}
	free((char *)(uintptr_t)raw.text);
	if (!class->name.text || (heap->mapping && unmap_class(heap->mapping, class)))
		return -1;
	class->element_type = element_type_of(&class->name);
	return 0;
}

static int add_primitive_array(struct heap *heap, uint8_t type, uint32_t number)
{
	char text[16];
	snprintf(text, sizeof text, "%s[]", type_name(type));
	heap->classes[number] = (struct class){ .name = name_copy(text, strlen(text)), .super = CLASS_NONE,
						.element_type = type };
	return heap->classes[number].name.text ? 0 : -1;
}

/*
 * Finds which class each primitive type's arrays belong to: the boot loader's of that name, or where the dump
 * has none, one of our own. Those have id 0, and so stand first.
 */
static int place_primitive_arrays(struct heap *heap)
{
	uint32_t missing = 0;
	uint8_t types[TYPE_COUNT];
	for (uint8_t type = TYPE_BOOLEAN; type < TYPE_COUNT; type++) {
		bool found = false;
		for (uint32_t i = 0; i < heap->class_count && !found; i++)
			found = heap->classes[i].element_type == type && !heap->classes[i].loader_id &&
				/* damage: something calls itself an instance of it */
				!scan_tally(&heap->scan, TALLY_INSTANCES, heap->classes[i].id);
		if (!found && heap->scan.tallies[type].count)
			types[missing++] = type;
	}
	if (missing) {
		struct class *classes = reallocarray(heap->classes, heap->class_count + missing, sizeof *classes);
		if (!classes)
			return -1;
		heap->classes = classes;
		memmove(classes + missing, classes, heap->class_count * sizeof *classes);
		heap->class_count += missing;
		for (uint32_t i = 0; i < missing; i++)
			if (add_primitive_array(heap, types[i], i))
				return -1;
	}
	for (unsigned type = 0; type < TYPE_COUNT; type++)
		heap->primitive_arrays[type] = CLASS_NONE;
	for (uint32_t i = heap->class_count; i-- > 0;) {
		const uint8_t type = heap->classes[i].element_type;
		if (type && type != TYPE_OBJECT && !heap->classes[i].loader_id)
			heap->primitive_arrays[type] = i;
	}
	return 0;
}

/* Resolves superclasses, and cuts a chain that leads back to itself. */
static int link_supers(struct heap *heap)
{
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const struct class *super = class_find(heap, heap->classes[i].super_id);
		heap->classes[i].super = super ? class_number(heap, super) : CLASS_NONE;
	}
	/* A class is settled once its depth is known; a walk that meets itself has gone in a circle. */
	uint8_t *state = calloc(heap->class_count + 1, 1);
	if (!state)
		return -1;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		uint32_t at = i, above = CLASS_NONE;
		while (at != CLASS_NONE && state[at] == 0) {
			state[at] = 1;
			/* Turn the links around on the way up, so that the way down needs no stack. */
			const uint32_t up = heap->classes[at].super;
			heap->classes[at].super = above;
			above = at;
			at = up;
		}
		if (at != CLASS_NONE && state[at] == 1) {
			notes_add(heap->hprof->notes, "classes that are their own superclass", heap->classes[at].offset,
				  0, NULL);
			at = CLASS_NONE;
		}
		while (above != CLASS_NONE) {
			struct class *class = &heap->classes[above];
			const uint32_t below = class->super;
			class->super = at;
			class->depth = at == CLASS_NONE ? 0 : heap->classes[at].depth + 1;
			const uint64_t width = (uint64_t)class->own_width + (at == CLASS_NONE ? 0 : heap->classes[at].data_width);
			class->data_width = width > UINT32_MAX ? UINT32_MAX : (uint32_t)width;
			state[above] = 2;
			at = above;
			above = below;
		}
	}
	free(state);
	return 0;
}

static const struct heap *sorting; /* qsort has no context; heaps are opened one after another */

static int compare_children(const void *a, const void *b)
{
	const struct class *x = &sorting->classes[*(const uint32_t *)a], *y = &sorting->classes[*(const uint32_t *)b];
	if (x->super != y->super)
		return x->super < y->super ? -1 : 1;
	const uint32_t len = x->name.len < y->name.len ? x->name.len : y->name.len;
	const int order = memcmp(x->name.text, y->name.text, len);
	if (order || x->name.len != y->name.len)
		return order ? order : x->name.len < y->name.len ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int link_children(struct heap *heap)
{
	heap->children = malloc((heap->class_count + 1) * sizeof *heap->children);
	if (!heap->children)
		return -1;
	for (uint32_t i = 0; i < heap->class_count; i++)
		heap->children[i] = i;
	sorting = heap;
	qsort(heap->children, heap->class_count, sizeof *heap->children, compare_children);
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const uint32_t super = heap->classes[heap->children[i]].super;
		if (super == CLASS_NONE)
			break; /* the rest have none */
		if (!heap->classes[super].child_count++)
			heap->classes[super].first_child = i;
	}
	return 0;
}

/* Gives each class its objects, and notes the places in long lists. */
static int link_tallies(struct heap *heap)
{
	size_t skips = 0;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		struct class *class = &heap->classes[i];
		class->tally = class->id ? scan_tally(&heap->scan, TALLY_INSTANCES, class->id) : NULL;
		const uint8_t type = class->element_type;
		if (type && type != TYPE_OBJECT && heap->primitive_arrays[type] == i) {
			struct tally *arrays = scan_tally(&heap->scan, TALLY_PRIMITIVE_ARRAYS, type);
			if (arrays->count)
				class->tally = arrays;
		}
		class->count = class->tally ? class->tally->count : 0;
		class->first_skip = skips;
		skips += class->count / SKIP_RANKS + (class->count > 0);
	}
	heap->skips = malloc((skips + 1) * sizeof *heap->skips);
	if (!heap->skips)
		return -1;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const struct class *class = &heap->classes[i];
		if (!class->count)
			continue;
		const uint8_t *list = class->tally->list.data, *end = list + class->tally->list.len, *p = list;
		uint64_t rank = 0, block = 0, next = 0;
		struct skip *skip = &heap->skips[class->first_skip];
		while (p < end) {
			const struct skip here = { (uint32_t)(p - list), (uint32_t)block, rank };
			block += varint_read(&p, end);
			rank += varint_read(&p, end);
			for (; next < rank; next += SKIP_RANKS)
				*skip++ = here;
		}
	}
	return 0;
}

int classes_open(struct heap *heap)
{
	if (gather(heap))
		return -1;
	/* Classes of several loaders share names, but not to the point of outgrowing the file. */
	uint64_t budget = 4 * heap->in->size + NAMES_MOST;
	for (uint32_t i = 0; i < heap->class_count; i++)
		if (describe(heap, &heap->classes[i], &budget))
			return -1;
	if (place_primitive_arrays(heap))
		return -1;
	return link_supers(heap) || link_children(heap) || link_tallies(heap) ? -1 : 0;
}

void classes_close(struct heap *heap)
{
	for (uint32_t i = 0; i < heap->class_count; i++) {
		struct class *class = &heap->classes[i];
		struct field *fields = atomic_load(&class->fields);
		for (unsigned j = 0; fields && j < class->parts.field_count; j++)
			free((char *)(uintptr_t)fields[j].name.text);
		free(fields);
		free((char *)(uintptr_t)class->name.text);
	}
	free(heap->classes);
	free(heap->children);
	free(heap->skips);
}

static void free_fields(struct field *fields, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free((char *)(uintptr_t)fields[i].name.text);
	free(fields);
}

const struct field *class_fields(const struct heap *heap, const struct class *class)
{
	/* The one part of a class that is made late; the first thread to finish wins. */
	struct field *_Atomic *slot = &heap->classes[class - heap->classes].fields;
	struct field *fields = atomic_load_explicit(slot, memory_order_acquire);
	const unsigned count = class->parts.field_count, I = heap->id_width;
	if (fields || !count)
		return fields;
	const uint8_t *p = input_at(heap->in, class->offset, class->parts.size);
	fields = p ? calloc(count, sizeof *fields) : NULL;
	if (!fields)
		return NULL;
	uint32_t offset = 0;
	uint64_t budget = NAMES_MOST;
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *entry = p + class->parts.fields + i * (I + 1);
		struct name name = member_name(heap, class, read_id(entry, I), entry[I], "field", &budget);
		if (!name.text) {
			free_fields(fields, i);
			return NULL;
		}
		fields[i] = (struct field){ .name = name, .type = entry[I], .offset = offset };
		offset += type_width(entry[I], I);
	}
	struct field *other = NULL;
	if (!atomic_compare_exchange_strong(slot, &other, fields)) {
		free_fields(fields, count);
		return other;
	}
	return fields;
}

void static_walk_start(struct static_walk *walk, const struct heap *heap, const struct class *class, bool pool)
{
	*walk = (struct static_walk){ .heap = heap, .pool = pool };
	walk->left = pool ? class->parts.pool_count : class->parts.static_count;
	walk->next = class->offset + (pool ? class->parts.pool : class->parts.statics);
}

bool static_walk_next(struct static_walk *walk)
{
	const unsigned I = walk->heap->id_width, name_width = walk->pool ? 2 : I;
	const uint8_t *p = walk->left ? input_at(walk->heap->in, walk->next, name_width + 1) : NULL;
	if (!p)
		return false;
	walk->left--;
	walk->name_id = walk->pool ? be16(p) : read_id(p, I);
	walk->type = p[name_width];
	const unsigned width = type_width(walk->type, I);
	walk->offset = walk->next + name_width + 1;
	walk->value = width ? input_at(walk->heap->in, walk->offset, width) : NULL;
	walk->next = walk->offset + width;
	return walk->value != NULL;
}

bool class_extends(const struct heap *heap, const struct class *class, const struct class *ancestor)
{
	while (class && class != ancestor)
		class = class_super(heap, class);
	return class && ancestor;
}

bool class_static(const struct heap *heap, const struct class *class, const char *name, struct static_walk *found)
{
	static_walk_start(found, heap, class, false);
	while (static_walk_next(found)) {
		uint32_t name_len;
		const char *p = (const char *)hprof_utf8(heap->hprof, found->name_id, &name_len);
		size_t len = name_len;
		if (p && class->mapped)
			mapping_field(class->mapped, p, len, found->type, &p, &len);
		if (p && len == strlen(name) && !memcmp(p, name, len))
			return true;
	}
	return false;
}

uint64_t class_reference(const struct heap *heap, const struct class *class, enum class_reference which)
{
	const unsigned I = heap->id_width;
	const uint8_t *p = class->offset ? input_at(heap->in, class->offset, 5 + 5 * I) : NULL;
	return p ? read_id(p + 5 + I + which * I, I) : 0;
}

uint32_t class_declared_size(const struct heap *heap, const struct class *class)
{
	const uint8_t *p = class->offset ? input_at(heap->in, class->offset, 9 + 7 * heap->id_width) : NULL;
	return p ? be32(p + 5 + 7 * heap->id_width) : 0;
}
