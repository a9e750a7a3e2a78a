/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal contents and such as nearly are. Texts and arrays are named by what they are for:
 *   "twice" 2 times; "shared" 3 Strings of 2 arrays; "both codings" in Latin-1 and in UTF-16; "日本" 2 times; "" 3 times;
 *   "near" beside "neaR", "nearer", "nea"; "once" and "onCe" once each; 1,500 'x' 2 times, and once with another end;
 *   3 arrays of each type of elements 1, 2, 3 (4 of byte), one of 1, 2, 4 and one of 1, 2;
 *   zeros: byte[8] and long[1], two each, whose bytes are the same; int[0] 3 times.
 * And java.lang.System's properties, in the shape of each VM, and, but in ART, an environment.
 */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

/* A String with the array of another one, which says "shared". */
static void share(struct vm *vm, uint64_t array)
{
	VM_NEW(vm, vm->string, array, 0, vm->kind == VM_JDK6 ? 6 : 0);
}

/* Latin-1 characters that a VM would not write so. */
static void wide(struct vm *vm, const char *text)
{
	uint8_t bytes[64];
	const size_t len = strlen(text);
	for (size_t i = 0; i < len; i++) {
		bytes[2 * i] = (uint8_t)text[i];
		bytes[2 * i + 1] = 0;
	}
	const uint64_t id = vm_alloc(vm, vm_size(vm, vm->string));
	vm_new(vm, id, vm->string, (uint64_t[]){ vm->next, 1 }, 2);
	vm_primitive_array(vm, TYPE_BYTE, bytes, (uint32_t)(2 * len));
}

static void make_texts(struct vm *vm)
{
	static const char *const texts[] = { "twice", "near", "", "once", "\xe6\x97\xa5\xe6\x9c\xac", "neaR", "twice", "nearer",
					     "", "onCe", "\xe6\x97\xa5\xe6\x9c\xac", "nea", "near", "" };
	char large[1501];
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		vm_string(vm, texts[i]);
	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = 0;
	vm_string(vm, large);
	vm_string(vm, large);
	large[sizeof large - 2] = 'y';
	vm_string(vm, large);
	vm_string(vm, "shared");
	const uint64_t string = vm_string(vm, "shared");
	if (vm->kind != VM_ART)
		share(vm, string + vm_size(vm, vm->string));
	vm_string(vm, "both codings");
	if (vm->kind == VM_JDK9)
		wide(vm, "both codings");
	if (vm->kind == VM_JDK6) {
		/* substring() shares: "lead" and "lead" of "leading lead". */
		const uint64_t whole = vm_string(vm, "leading lead") + vm_size(vm, vm->string);
		VM_NEW(vm, vm->string, whole, 0, 4);
		VM_NEW(vm, vm->string, whole, 8, 4);
	}
}

static void make_arrays(struct vm *vm)
{
	uint8_t data[24] = { 0 };
	for (unsigned i = 0; i < 2; i++) {
		vm_primitive_array(vm, TYPE_BYTE, data, 8);
		vm_primitive_array(vm, TYPE_LONG, data, 1);
	}
	for (unsigned i = 0; i < 3; i++)
		vm_primitive_array(vm, TYPE_INT, data, 0);
	for (unsigned type = TYPE_BOOLEAN; type < TYPE_COUNT; type++) {
		const unsigned width = type_width(type, 8);
		memset(data, 0, sizeof data);
		for (unsigned i = 0; i < 3; i++)
			data[(i + 1) * width - 1] = (uint8_t)(i + 1);
		for (unsigned i = 0; i < (type == TYPE_BYTE ? 4 : 3); i++)
			vm_primitive_array(vm, type, data, 3);
		vm_primitive_array(vm, type, data, 2);
		data[3 * width - 1] = 4;
		vm_primitive_array(vm, type, data, 3);
	}
}

/* --- java.lang.System --- */

struct maps {
	struct vm *vm;
	uint64_t entry, array;
};

/* A chain of two entries and one of one: a table of 4 buckets. */
static uint64_t make_table(struct maps *maps, const char *const texts[6], uint64_t wrapper)
{
	struct vm *vm = maps->vm;
	uint64_t ids[6], entries[3];
	for (unsigned i = 0; i < 6; i++) {
		ids[i] = vm_string(vm, texts[i]);
		if (wrapper) { /* ProcessEnvironment's: the bytes are right behind their String */
			const uint64_t bytes = vm_primitive_array(vm, TYPE_BYTE, texts[i], (uint32_t)strlen(texts[i]));
			ids[i] = VM_NEW(vm, wrapper, i == 5 ? ids[i] : 0, bytes);
		}
	}
	entries[0] = VM_NEW(vm, maps->entry, 1, ids[0], ids[1], 0);
	entries[1] = VM_NEW(vm, maps->entry, 2, ids[2], ids[3], entries[0]);
	entries[2] = VM_NEW(vm, maps->entry, 3, ids[4], ids[5], 0);
	return vm_object_array(vm, maps->array, (uint64_t[]){ 0, entries[1], 0, entries[2] }, 4);
}

static void make_system(struct vm *vm)
{
	static const char *const texts[] = { "java.version", "99", "line.separator", "\n", "caf\xc3\xa9", "back\\slash" };
	static const char *const defaults[] = { "java.version", "98", "only.default", "tab\there", "a=b", "" };
	static const char *const variables[] = { "PATH", "/bin", "EMPTY", "", "BYTES", "caf\xc3\xa9" };
	const bool art = vm->kind == VM_ART, map_inside = vm->kind == VM_JDK9;
	struct maps maps = { .vm = vm };
	maps.entry = vm_define(vm, art ? "java.util.Node" : "java/util/Node", vm->object, "hash:I key:L val:L next:L");
	maps.array = vm_define(vm, art ? "java.util.Node[]" : "[Ljava/util/Node;", vm->object, "");
	const uint64_t map = vm_define(vm, art ? "java.util.HashMap" : "java/util/HashMap", vm->object, "size:I table:L");
	const uint64_t properties = vm_define(vm, art ? "java.util.Properties" : "java/util/Properties", vm->object,
					      map_inside ? "map:L defaults:L" : "table:L defaults:L");
	uint64_t inner[2] = { make_table(&maps, texts, 0), make_table(&maps, defaults, 0) };
	for (unsigned i = 0; map_inside && i < 2; i++)
		inner[i] = VM_NEW(vm, map, 3, inner[i]);
	const uint64_t second = VM_NEW(vm, properties, inner[1], 0);
	const struct member_spec props = { .name = "props", .type = TYPE_OBJECT,
					   .value = VM_NEW(vm, properties, inner[0], second) };
	vm_define_statics(vm, art ? "java.lang.System" : "java/lang/System", vm->object, "", &props, 1);
	if (art)
		return;
	const uint64_t wrapper = vm_define(vm, "java/lang/ProcessEnvironment$ExternalData", vm->object, "str:L bytes:L");
	const struct member_spec environment = { .name = "theEnvironment", .type = TYPE_OBJECT,
						 .value = VM_NEW(vm, map, 3, make_table(&maps, variables, wrapper)) };
	vm_define_statics(vm, "java/lang/ProcessEnvironment", vm->object, "", &environment, 1);
}

static void make_equal(struct writer *out, enum vm_kind kind, unsigned id_width, const char *version)
{
	struct vm vm;
	writer_init(out, id_width);
	vm_init(&vm, kind, id_width);
	make_texts(&vm);
	make_arrays(&vm);
	make_system(&vm);
	vm_finish(&vm, version, out);
}

void sample_equal(struct writer *out)
{
	make_equal(out, VM_JDK9, 8, "JAVA PROFILE 1.0.2");
}

void sample_equal_art(struct writer *out)
{
	make_equal(out, VM_ART, 4, "JAVA PROFILE 1.0.3");
}

void sample_equal_jdk6(struct writer *out)
{
	make_equal(out, VM_JDK6, 4, "JAVA PROFILE 1.0.1");
}
