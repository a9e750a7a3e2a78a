/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/duplicates.h"

#include "graph/equal.h"
#include "heap/hash.h"

#include <stdlib.h>

/* --- Strings --- */

static bool suspect_string(const struct heap *heap, const struct object *object, struct suspect *suspect)
{
	struct object array;
	struct string string;
	if (!string_array(heap, object, &array) || !string_of_array(heap, object, &array, &string))
		return false;
	*suspect = (struct suspect){ string_hash(&string), object->offset, array.offset };
	return true;
}

static bool text_of(const struct heap *heap, const struct suspect *suspect, struct string *string)
{
	struct object object, array;
	if (heap_object(heap, suspect->offset, &object) && heap_object(heap, suspect->array, &array) &&
	    string_of_array(heap, &object, &array, string))
		return true;
	input_touched_bad = true; /* it was there when it was hashed */
	return false;
}

static int compare_strings(const struct heap *heap, const struct suspect *a, const struct suspect *b)
{
	struct string x, y;
	return text_of(heap, a, &x) && text_of(heap, b, &y) ? string_compare(&x, &y) : 0;
}

static int compare_arrays_of(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	return x->array < y->array ? -1 : x->array > y->array;
}

static bool sum_strings(const struct heap *heap, struct suspect *list, size_t count, struct content *content)
{
	struct string text;
	struct object object;
	uint64_t string_size = 0, smallest = UINT64_MAX;
	*content = (struct content){ .id = UINT64_MAX, .count = count };
	/* The coding is that of the first in the file, whatever else the others have. */
	if (!text_of(heap, &list[0], &text))
		return false;
	content->data = text.data;
	content->length = (uint32_t)text.units;
	content->type = (uint8_t)text.coding;
	for (size_t i = 0; i < count; i++) {
		if (!heap_object(heap, list[i].offset, &object)) {
			input_touched_bad = true;
			return false;
		}
		string_size = object_size(heap, &object);
		content->bytes += string_size;
		if (object.id < content->id)
			content->id = object.id;
	}
	qsort(list, count, sizeof *list, compare_arrays_of);
	for (size_t i = 0; i < count; i++) {
		if (i && list[i].array == list[i - 1].array)
			continue;
		if (!heap_object(heap, list[i].array, &object)) {
			input_touched_bad = true;
			return false;
		}
		const uint64_t size = object_size(heap, &object);
		content->bytes += size;
		if (size < smallest)
			smallest = size;
	}
	content->wasted = content->bytes - string_size - smallest;
	return true;
}

static int order_by_waste(const struct content *a, const struct content *b)
{
	if (a->wasted != b->wasted)
		return a->wasted > b->wasted ? -1 : 1;
	return a->count > b->count ? -1 : a->count < b->count;
}

static struct string content_string(const struct content *content)
{
	struct string string = { .data = content->data, .units = content->length, .coding = STRING_LATIN1 };
	if (content->type == STRING_UTF16_BE)
		string.coding = STRING_UTF16_BE;
	else if (content->type == STRING_UTF16_LE)
		string.coding = STRING_UTF16_LE;
	return string;
}

static int order_strings(const void *a, const void *b)
{
	const struct content *x = a, *y = b;
	const int order = order_by_waste(x, y);
	if (order)
		return order;
	const struct string text = content_string(x), other = content_string(y);
	return string_compare(&text, &other);
}

static int find_strings(void *context, const _Atomic bool *cancel)
{
	static const struct equal_ops ops = { suspect_string, compare_strings, sum_strings, order_strings };
	struct duplicates *duplicates = context;
	const struct heap *heap = duplicates->heap;
	if (heap->string_class == CLASS_NONE || heap_graph_of(heap))
		return 0; /* a heap graph has no texts */
	return find_equal(heap, &ops, duplicates->threads, cancel, &duplicates->strings);
}

/* --- arrays --- */

/* Equal bytes of another type are another content. */
static uint64_t of_type(uint64_t hash, uint8_t type)
{
	return hash ^ type * UINT64_C(0x9e3779b97f4a7c15);
}

static bool suspect_array(const struct heap *heap, const struct object *object, struct suspect *suspect)
{
	if (object->kind != OBJECT_PRIMITIVE_ARRAY || object->type < TYPE_BOOLEAN || object->type >= TYPE_COUNT)
		return false;
	const uint64_t len = (uint64_t)object->length * type_width(object->type, heap->id_width);
	if (object->data_len < len)
		return false; /* an array without its elements (tag C3) */
	const uint64_t hash = of_type(hash_bytes(0, object->data, len), object->type);
	*suspect = (struct suspect){ hash, object->offset, object->offset };
	return true;
}

static int compare_arrays(const struct heap *heap, const struct suspect *a, const struct suspect *b)
{
	struct object x, y;
	if (!heap_object(heap, a->array, &x) || !heap_object(heap, b->array, &y)) {
		input_touched_bad = true;
		return 0;
	}
	if (x.type != y.type)
		return x.type < y.type ? -1 : 1;
	if (x.length != y.length)
		return x.length < y.length ? -1 : 1;
	const uint64_t len = (uint64_t)x.length * type_width(x.type, heap->id_width);
	if (x.data_len < len || y.data_len < len) {
		input_touched_bad = true;
		return 0;
	}
	return memcmp(x.data, y.data, len);
}

static bool sum_arrays(const struct heap *heap, struct suspect *list, size_t count, struct content *content)
{
	uint64_t size = 0;
	*content = (struct content){ .id = UINT64_MAX };
	for (size_t i = 0; i < count; i++) {
		struct object array;
		if (!heap_object(heap, list[i].array, &array)) {
			input_touched_bad = true;
			return false;
		}
		/* What lies inside a String, or a class object, is duplicated by nothing but that. */
		if (is_synthetic(heap, &array))
			continue;
		if (!content->count++) {
			size = object_size(heap, &array);
			content->data = array.data;
			content->length = array.length;
			content->type = array.type;
		}
		if (array.id < content->id)
			content->id = array.id;
	}
	content->bytes = content->count * size;
	content->wasted = content->count ? (content->count - 1) * size : 0;
	return content->count > 1;
}

static int order_arrays(const void *a, const void *b)
{
	const struct content *x = a, *y = b;
	const int order = order_by_waste(x, y);
	return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

static int find_arrays(void *context, const _Atomic bool *cancel)
{
	static const struct equal_ops ops = { suspect_array, compare_arrays, sum_arrays, order_arrays };
	struct duplicates *duplicates = context;
	if (heap_graph_of(duplicates->heap))
		return 0; /* a heap graph has no elements */
	return find_equal(duplicates->heap, &ops, duplicates->threads, cancel, &duplicates->arrays);
}

/* --- both --- */

/* Is the content still there? */
static bool is_there(const struct heap *heap, const struct content *content, uint64_t len)
{
	return input_at(heap->in, (uint64_t)(content->data - heap->in->data), len);
}

bool content_text(const struct heap *heap, const struct content *content, struct string *text)
{
	*text = content_string(content);
	return is_there(heap, content, text->units * (text->coding == STRING_LATIN1 ? 1 : 2));
}

uint64_t content_hash(const struct heap *heap, const struct content *content)
{
	const uint64_t len = (uint64_t)content->length * type_width(content->type, heap->id_width);
	return is_there(heap, content, len) ? hash_bytes(0, content->data, len) : 0;
}

struct duplicates *duplicates_open(const struct heap *heap, const struct graph_options *options)
{
	struct duplicates *duplicates = calloc(1, sizeof *duplicates);
	if (!duplicates)
		return NULL;
	duplicates->heap = heap;
	duplicates->threads = options->threads ? options->threads : 1;
	job_init(&duplicates->strings_job, find_strings, duplicates, options->changed, options->context);
	job_init(&duplicates->arrays_job, find_arrays, duplicates, options->changed, options->context);
	return duplicates;
}

void duplicates_cancel(struct duplicates *duplicates)
{
	if (!duplicates)
		return;
	job_cancel(&duplicates->strings_job);
	job_cancel(&duplicates->arrays_job);
}

void duplicates_join(struct duplicates *duplicates)
{
	if (!duplicates)
		return;
	job_join(&duplicates->strings_job);
	job_join(&duplicates->arrays_job);
}

void duplicates_close(struct duplicates *duplicates)
{
	if (!duplicates)
		return;
	job_destroy(&duplicates->strings_job);
	job_destroy(&duplicates->arrays_job);
	free(duplicates->strings.list);
	free(duplicates->arrays.list);
	free(duplicates);
}
