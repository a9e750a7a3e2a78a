/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string: where the characters of a java.lang.String are. Layouts are told apart by the fields:
 *   JDK 9 and later: byte[] value, byte coder (0 Latin-1, 1 UTF-16 in the byte order of the machine);
 *   JDK 7 and 8: char[] value; up to 6, and Dalvik: char[] value, int offset, int count;
 *   ART: a synthetic `value` that leads to a byte[] (Latin-1) or a char[]; `count` is its length.
 * The elements of a char[] are big-endian in the dump whatever the machine was.
 */
#include "heap/hash.h"
#include "heap/heap.h"

#define UNKNOWN (-1)

/* True if the static holds a number other than 0. */
static bool static_is_set(const struct static_walk *found, unsigned id_width)
{
	for (unsigned i = 0; i < type_width(found->type, id_width); i++)
		if (found->value[i])
			return true;
	return false;
}

/* StringUTF16 keeps by how many bits the first byte of a char is shifted: 8 on a big-endian machine. */
static bool find_byte_order(const struct heap *heap)
{
	struct static_walk high, low;
	const struct class *class = class_by_name(heap, "java.lang.StringUTF16");
	if (class && class_static(heap, class, "HI_BYTE_SHIFT", &high) && class_static(heap, class, "LO_BYTE_SHIFT", &low) &&
	    (static_is_set(&high, heap->id_width) || static_is_set(&low, heap->id_width)))
		return static_is_set(&high, heap->id_width);
	class = class_by_name(heap, "jdk.internal.misc.UnsafeConstants"); /* since JDK 13 */
	return class && class_static(heap, class, "BIG_ENDIAN", &high) && static_is_set(&high, heap->id_width);
}

void strings_open(struct heap *heap)
{
	const struct class *class = class_by_name(heap, "java.lang.String");
	heap->string_class = CLASS_NONE;
	heap->string_value = heap->string_coder = heap->string_offset = heap->string_count = UNKNOWN;
	if (!class)
		return;
	heap->string_class = class_number(heap, class);
	heap->string_value = field_offset(heap, class, "value", TYPE_OBJECT);
	heap->string_coder = field_offset(heap, class, "coder", TYPE_BYTE);
	heap->string_offset = field_offset(heap, class, "offset", TYPE_INT);
	heap->string_count = field_offset(heap, class, "count", TYPE_INT);
	heap->big_endian = find_byte_order(heap);
}

bool string_array(const struct heap *heap, const struct object *object, struct object *array)
{
	const unsigned I = heap->id_width;
	return object->kind == OBJECT_INSTANCE && heap->string_class != CLASS_NONE &&
	       object->class == &heap->classes[heap->string_class] && heap->string_value != UNKNOWN &&
	       (uint64_t)heap->string_value + I <= object->data_len &&
	       heap_find_near(heap, read_id(object->data + heap->string_value, I), object, array);
}

bool string_of_array(const struct heap *heap, const struct object *object, const struct object *array,
		     struct string *string)
{
	if (array->kind != OBJECT_PRIMITIVE_ARRAY || (array->type != TYPE_BYTE && array->type != TYPE_CHAR))
		return false;
	if (array->data_len < (uint64_t)array->length * type_width(array->type, heap->id_width))
		return false; /* an array without its elements (tag C3) */
	string->data = array->data;
	string->units = array->length;
	string->coding = array->type == TYPE_CHAR ? STRING_UTF16_BE : STRING_LATIN1;
	if (array->type == TYPE_BYTE && heap->string_coder != UNKNOWN &&
	    (uint64_t)heap->string_coder < object->data_len && object->data[heap->string_coder] == 1) {
		string->units = array->length / 2;
		string->coding = heap->big_endian ? STRING_UTF16_BE : STRING_UTF16_LE;
	}
	if (heap->string_offset == UNKNOWN || heap->string_count == UNKNOWN ||
	    (uint64_t)heap->string_offset + 4 > object->data_len || (uint64_t)heap->string_count + 4 > object->data_len)
		return true;
	const uint32_t offset = be32(object->data + heap->string_offset), count = be32(object->data + heap->string_count);
	if (offset > string->units || count > string->units - offset)
		return false;
	string->data += (uint64_t)offset * (string->coding == STRING_LATIN1 ? 1 : 2);
	string->units = count;
	return true;
}

bool heap_string(const struct heap *heap, const struct object *object, struct string *string)
{
	struct object array;
	return string_array(heap, object, &array) && string_of_array(heap, object, &array, string);
}

bool class_string(const struct heap *heap, const struct class *class, const char *name, struct string *string)
{
	struct static_walk found;
	struct object object;
	return class_static(heap, class, name, &found) && found.type == TYPE_OBJECT &&
	       heap_find(heap, read_id(found.value, heap->id_width), &object) && heap_string(heap, &object, string);
}

/* Chars that are hashed at a time. */
#define HASHED_CHARS 4096

/* Of a text that could be Latin-1, over the Latin-1 bytes, else over UTF-16 with the high byte first. */
uint64_t string_hash(const struct string *string)
{
	uint8_t copy[HASHED_CHARS * 2];
	uint16_t bits = 0;
	for (uint64_t i = 0; string->coding != STRING_LATIN1 && bits < 0x100 && i < string->units; i++)
		bits |= string_unit(string, i);
	const unsigned width = bits < 0x100 ? 1 : 2;
	uint64_t hash = width;
	for (uint64_t from = 0; from < string->units; from += HASHED_CHARS) {
		const uint64_t left = string->units - from;
		const size_t count = left < HASHED_CHARS ? (size_t)left : HASHED_CHARS;
		const uint8_t *bytes = copy;
		if (string->coding == STRING_LATIN1)
			bytes = string->data + from;
		else if (string->coding == STRING_UTF16_BE && width == 2)
			bytes = string->data + 2 * from;
		for (size_t i = 0; bytes == copy && i < count; i++) {
			const uint16_t unit = string_unit(string, from + i);
			if (width == 2)
				copy[2 * i] = (uint8_t)(unit >> 8);
			copy[width * i + width - 1] = (uint8_t)unit;
		}
		hash = hash_bytes(hash, bytes, count * width);
	}
	return hash;
}

int string_compare(const struct string *a, const struct string *b)
{
	const uint64_t count = a->units < b->units ? a->units : b->units;
	const int shorter = a->units < b->units ? -1 : a->units > b->units;
	if (a->coding == b->coding && a->coding != STRING_UTF16_LE) {
		const size_t len = count * (a->coding == STRING_LATIN1 ? 1 : 2);
		const int order = a->data == b->data ? 0 : memcmp(a->data, b->data, len);
		return order ? order : shorter;
	}
	if (a->coding == b->coding && (a->data == b->data || !memcmp(a->data, b->data, count * 2)))
		return shorter;
	for (uint64_t i = 0; i < count; i++)
		if (string_unit(a, i) != string_unit(b, i))
			return string_unit(a, i) < string_unit(b, i) ? -1 : 1;
	return shorter;
}
