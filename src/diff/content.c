/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes two objects equal: see diff.h.
 *
 * A field is known by the names of itself and of the class that declares it, and by its type. It counts if a class of the
 * name has it in each of the dumps; so an application that was built with one more field has its objects matched, too.
 * Not compared are
 *   - ART's shadow$_klass_ and shadow$_monitor_: the class, and a lock or an identity hash;
 *   - numbers that hold addresses of native memory, which differ in another process: an int or long called eetop (a
 *     Thread's), address (a Buffer's), native… or …Native…, or …Ptr;
 *   - all fields of a String but its text: its hash is filled in when it is first asked for.
 */
#include "diff/parts.h"
#include "heap/hash.h"

#include <errno.h>
#include <stdlib.h>

static bool is_called(struct name name, const char *text)
{
	return name.len == strlen(text) && !memcmp(name.text, text, name.len);
}

static bool has_part(struct name name, const char *part)
{
	return memmem(name.text, name.len, part, strlen(part)) != NULL;
}

static bool is_compared(const struct field *field)
{
	const struct name name = field->name;
	if (is_class_field(field) || is_called(name, "shadow$_monitor_"))
		return false;
	if (field->type != TYPE_INT && field->type != TYPE_LONG)
		return true;
	return !is_called(name, "eetop") && !is_called(name, "address") && !has_part(name, "Native") &&
	       !(name.len >= 6 && !memcmp(name.text, "native", 6)) &&
	       !(name.len >= 3 && !memcmp(name.text + name.len - 3, "Ptr", 3));
}

/* --- plans --- */

static int by_key(const void *a, const void *b)
{
	const struct content_field *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_use(const void *a, const void *b)
{
	const struct content_field *x = a, *y = b;
	const bool p = x->type == TYPE_OBJECT, q = y->type == TYPE_OBJECT;
	return p != q ? (p ? 1 : -1) : by_key(a, b);
}

static bool has_plan(const struct class *class)
{
	return class->count && class->tally && class->tally->kind == TALLY_INSTANCES;
}

/* Appends the fields of a class's instances to `fields` unless that is NULL; their number. */
static uint64_t find_fields(const struct comparer *contents, const struct class *class, struct content_field *fields)
{
	const struct heap *heap = contents->diff->heaps[contents->side];
	uint64_t count = 0, base = 0;
	for (; class; class = class_super(heap, class)) {
		const struct field *list = class_fields(heap, class);
		const uint64_t declared = contents->diff->class_of[contents->side][class_number(heap, class)];
		for (unsigned i = 0; list && i < class->parts.field_count; i++) {
			const struct field *field = &list[i];
			if (!is_compared(field) || base + field->offset > UINT32_MAX)
				continue;
			if (fields)
				fields[count] = (struct content_field){
					hash_word(hash_bytes(declared, field->name.text, field->name.len), field->type),
					(uint32_t)(base + field->offset), field->type };
			count++;
		}
		base += class->own_width;
	}
	return count;
}

static int find_plans(struct comparer *contents)
{
	const struct heap *heap = contents->diff->heaps[contents->side];
	/* The objects of a class hold its fields, and each class that is looked at has one. */
	const uint64_t most = heap->in->size + heap->class_count;
	uint64_t total = 0, used = 0;
	contents->plans = calloc((size_t)heap->class_count + 1, sizeof *contents->plans);
	if (!contents->plans)
		return ENOMEM;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const uint64_t count = has_plan(&heap->classes[i]) ? find_fields(contents, &heap->classes[i], NULL) : 0;
		if (count > most - total || count > UINT32_MAX - total)
			return E2BIG;
		contents->plans[i].primitives = (uint32_t)count; /* of both, until share_plans() */
		total += count;
	}
	contents->fields = malloc((total + 1) * sizeof *contents->fields);
	if (!contents->fields)
		return ENOMEM;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		struct content_plan *plan = &contents->plans[i];
		struct content_field *fields = contents->fields + used;
		plan->first = (uint32_t)used;
		if (!plan->primitives)
			continue;
		find_fields(contents, &heap->classes[i], fields);
		qsort(fields, plan->primitives, sizeof *fields, by_key);
		/* Those that an obfuscator gave one name, and the format one type, are told apart by their order. */
		for (uint32_t from = 0, to; from < plan->primitives; from = to)
			for (to = from + 1; to < plan->primitives && fields[to].key == fields[from].key; to++)
				fields[to].key = hash_word(fields[to].key, to - from);
		used += plan->primitives;
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Appends the keys of one dump's classes of a name. How many; *classes tells of how many classes. */
static size_t gather_keys(const struct comparer *contents, const struct diff_class *class, uint64_t *keys, size_t *classes)
{
	const uint32_t *members = diff_members(contents->diff, class, contents->side);
	size_t count = 0;
	*classes = 0;
	for (uint32_t i = 0; i < class->class_count[contents->side]; i++) {
		const struct content_plan *plan = &contents->plans[members[i]];
		*classes += has_plan(&contents->diff->heaps[contents->side]->classes[members[i]]);
		for (uint32_t j = 0; j < plan->primitives; j++)
			keys[count++] = contents->fields[plan->first + j].key;
	}
	if (count)
		qsort(keys, count, sizeof *keys, compare_keys);
	return count;
}

/* Keeps of one dump's classes of a name what is among the other dump's keys, and puts it into its order. */
static void keep_fields(const struct comparer *contents, const struct diff_class *class, const uint64_t *keys, size_t count,
			bool all)
{
	const struct heap *heap = contents->diff->heaps[contents->side];
	const uint32_t *members = diff_members(contents->diff, class, contents->side);
	for (uint32_t i = 0; i < class->class_count[contents->side]; i++) {
		struct content_plan *plan = &contents->plans[members[i]];
		struct content_field *fields = contents->fields + plan->first;
		uint32_t kept = 0;
		for (uint32_t j = 0; j < plan->primitives; j++)
			if (all || (count && bsearch(&fields[j].key, keys, count, sizeof *keys, compare_keys)))
				fields[kept++] = fields[j];
		qsort(fields, kept, sizeof *fields, by_use);
		plan->primitives = 0;
		while (plan->primitives < kept && fields[plan->primitives].type != TYPE_OBJECT)
			plan->primitives++;
		plan->references = kept - plan->primitives;
		for (uint32_t j = 0; j < kept; j++) {
			const uint64_t end = fields[j].at + (uint64_t)type_width(fields[j].type, heap->id_width);
			plan->end = end > plan->end ? end : plan->end;
		}
	}
}

/* Leaves out fields that only one of the dumps has; `keys` has room for the fields of all classes. */
static void share_fields(struct comparer contents[DIFF_SIDES], const struct diff_class *class, uint64_t *keys)
{
	size_t classes[DIFF_SIDES];
	const size_t old = gather_keys(&contents[DIFF_OLD], class, keys, &classes[DIFF_OLD]);
	const size_t new = gather_keys(&contents[DIFF_NEW], class, keys + old, &classes[DIFF_NEW]);
	keep_fields(&contents[DIFF_OLD], class, keys + old, new, !classes[DIFF_NEW]);
	keep_fields(&contents[DIFF_NEW], class, keys, old, !classes[DIFF_OLD]);
}

int contents_open(struct comparer contents[DIFF_SIDES], const struct diff *diff, const _Atomic bool *cancel)
{
	uint64_t total = 0;
	int rc = 0;
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		contents[side] = (struct comparer){ .diff = diff, .side = (enum diff_side)side, .cancel = cancel };
	for (unsigned side = 0; !rc && side < DIFF_SIDES; side++) {
		rc = find_plans(&contents[side]);
		for (uint32_t i = 0; !rc && i < diff->heaps[side]->class_count; i++)
			total += contents[side].plans[i].primitives;
	}
	uint64_t *keys = rc ? NULL : malloc((total + 1) * sizeof *keys);
	if (!rc && !keys)
		rc = ENOMEM;
	for (uint32_t i = 0; !rc && i < diff->class_count; i++)
		share_fields(contents, &diff->classes[i], keys);
	free(keys);
	return rc;
}

void contents_close(struct comparer contents[DIFF_SIDES])
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		free(contents[side].plans);
		free(contents[side].fields);
	}
}

/* --- contents --- */

/* What stands for a reference that leads to no object, and the like; any numbers will do. */
enum { CONTENT_NULL = 1, CONTENT_ABSENT, CONTENT_CLASS, CONTENT_NO_TEXT, CONTENT_CUT };

static uint64_t hash_text(const struct string *string, uint64_t most)
{
	struct string head = *string;
	if (head.units > most)
		head.units = most;
	return hash_word(string_hash(&head), string->units);
}

/* Are not all of its fields there that are compared? Its class may say of far more than the dump has bytes. */
static bool is_cut(const struct comparer *contents, const struct object *object)
{
	return object->data_len < contents->plans[class_number(contents->diff->heaps[contents->side], object->class)].end;
}

/* A primitive value, whatever its type. */
static uint64_t value_of(const struct content_field *field, const struct object *object, unsigned id_width)
{
	const unsigned width = type_width(field->type, id_width);
	uint64_t value = 0;
	for (unsigned i = 0; i < width; i++)
		value = value << 8 | object->data[field->at + i];
	return value;
}

/* Of an object, all but what its references lead to; of texts, elements and fields, so many. */
static uint64_t flat_content(const struct comparer *contents, const struct object *object, uint64_t most)
{
	const struct heap *heap = contents->diff->heaps[contents->side];
	const uint32_t number = class_number(heap, object->class);
	const unsigned I = heap->id_width;
	uint64_t hash = hash_word(object->kind, contents->diff->class_of[contents->side][number]);
	struct string text;
	if (object->kind != OBJECT_INSTANCE) {
		const uint64_t len = (uint64_t)object->length * type_width(object->type, I);
		hash = hash_word(hash_word(hash, object->type), object->length);
		if (object->kind == OBJECT_PRIMITIVE_ARRAY && object->data_len >= len)
			hash = hash_bytes(hash, object->data, len < most ? len : most);
		return hash;
	}
	if (number == heap->string_class)
		return hash_word(hash, heap_string(heap, object, &text) ? hash_text(&text, most) : CONTENT_NO_TEXT);
	const struct content_plan *plan = &contents->plans[number];
	if (is_cut(contents, object))
		return hash_bytes(hash_word(hash, CONTENT_CUT), object->data, object->data_len < most ? object->data_len : most);
	for (uint32_t i = 0; i < plan->primitives && i < most; i++)
		hash = hash_word(hash_word(hash, contents->fields[plan->first + i].key),
				 value_of(&contents->fields[plan->first + i], object, I));
	return hash;
}

/* What a reference leads to; `near` is the object that was found last. */
static uint64_t reference_content(const struct comparer *contents, uint64_t id, struct object *near)
{
	const struct heap *heap = contents->diff->heaps[contents->side];
	const struct class *class;
	struct object object;
	if (!id)
		return CONTENT_NULL;
	if (heap_find_near(heap, id, near, &object)) {
		*near = object;
		return flat_content(contents, &object, CONTENT_MOST);
	}
	class = class_find(heap, id);
	return class ? hash_word(CONTENT_CLASS, contents->diff->class_of[contents->side][class_number(heap, class)]) :
		       CONTENT_ABSENT;
}

uint64_t content_of(const struct comparer *contents, const struct object *object)
{
	const struct heap *heap = contents->diff->heaps[contents->side];
	const unsigned I = heap->id_width;
	struct object near = *object;
	uint64_t hash = flat_content(contents, object, UINT64_MAX);
	if (object->kind == OBJECT_OBJECT_ARRAY) {
		for (uint64_t at = 0; at + I <= object->data_len && !atomic_load_explicit(contents->cancel, memory_order_relaxed);
		     at += I)
			hash = hash_word(hash, reference_content(contents, read_id(object->data + at, I), &near));
	} else if (object->kind == OBJECT_INSTANCE && class_number(heap, object->class) != heap->string_class &&
		   !is_cut(contents, object)) {
		const struct content_plan *plan = &contents->plans[class_number(heap, object->class)];
		const struct content_field *fields = contents->fields + plan->first + plan->primitives;
		for (uint32_t i = 0; i < plan->references; i++) {
			const uint64_t id = read_id(object->data + fields[i].at, I);
			hash = hash_word(hash_word(hash, fields[i].key), reference_content(contents, id, &near));
		}
	}
	return hash;
}
