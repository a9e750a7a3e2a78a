/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual machine of writer.h: addresses, classes and Strings as real ones lay them out. */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

struct vm_name {
	uint64_t hash, id;
};

static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	*capacity = *capacity ? *capacity * 2 : 64;
	return must(reallocarray(items, *capacity, size));
}

static uint64_t align_up(uint64_t size, uint64_t alignment)
{
	return (size + alignment - 1) / alignment * alignment;
}

uint64_t vm_alloc(struct vm *vm, uint64_t bytes)
{
	const uint64_t id = vm->next;
	vm->next += vm->kind == VM_AGENT ? 1 : align_up(bytes, 8);
	return id;
}

uint64_t vm_name(struct vm *vm, const char *name, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ len;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < vm->name_count; i++)
		if (vm->name_list[i].hash == hash)
			return vm->name_list[i].id;
	vm->name_list = grow(vm->name_list, vm->name_count, &vm->name_capacity, sizeof *vm->name_list);
	const uint64_t id = put_utf8(&vm->names, name, len);
	vm->name_list[vm->name_count++] = (struct vm_name){ hash, id };
	return id;
}

static const struct vm_class *find_class(const struct vm *vm, uint64_t id)
{
	for (size_t i = vm->class_count; i-- > 0;)
		if (vm->classes[i].id == id)
			return &vm->classes[i];
	return NULL;
}

uint32_t vm_size(const struct vm *vm, uint64_t class_id)
{
	const struct vm_class *class = find_class(vm, class_id);
	return class ? class->size : (uint32_t)align_up(vm->header, 8);
}

static unsigned memory_width(const struct vm *vm, unsigned type)
{
	return type == TYPE_OBJECT ? vm->reference : type_width(type, 8);
}

/* A class's fields follow its superclass's, the widest first; a hole before 8-byte fields takes smaller ones. */
static uint32_t lay_out(const struct vm *vm, uint32_t at, const uint8_t *types, unsigned count)
{
	unsigned left[9] = { 0 };
	for (unsigned i = 0; i < count; i++)
		left[memory_width(vm, types[i])]++;
	for (unsigned width = 8; width; width /= 2)
		while (left[width]) {
			unsigned fits = width;
			while (fits > 1 && (at % fits || !left[fits]))
				fits /= 2;
			if (at % fits || !left[fits]) {
				at++;
				continue;
			}
			at += fits;
			left[fits]--;
		}
	return at;
}

static void name_members(struct vm *vm, struct member_spec *members, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (members[i].name)
			members[i].name_id = vm_name(vm, members[i].name,
						     members[i].len ? members[i].len : strlen(members[i].name));
}

static void *copy(const void *from, size_t count, size_t size)
{
	void *to = must(calloc(count + 1, size));
	if (count)
		memcpy(to, from, count * size);
	return to;
}

uint64_t vm_class(struct vm *vm, const struct class_spec *from, bool dump)
{
	struct class_spec spec = *from;
	struct member_spec *statics = copy(from->statics, from->static_count, sizeof *statics);
	struct member_spec *fields = copy(from->fields, from->field_count, sizeof *fields);
	spec.statics = statics;
	spec.fields = fields;
	if (!spec.id)
		spec.id = vm_alloc(vm, 112);
	const size_t name_len = spec.name_len ? spec.name_len : strlen(spec.name);
	const uint64_t name = vm_name(vm, spec.name, name_len);
	put_load_class(&vm->names, vm->next_serial++, spec.id, name);
	name_members(vm, statics, spec.static_count);
	name_members(vm, fields, spec.field_count);
	const struct vm_class *super = find_class(vm, spec.super);
	struct vm_class class = { .id = spec.id, .super = spec.super, .type_count = spec.field_count,
				  .types = must(calloc(spec.field_count + 1, 1)) };
	uint32_t declared = 0;
	for (unsigned i = 0; i < spec.field_count; i++)
		class.types[i] = fields[i].type;
	for (unsigned i = 0; i < spec.field_count; i++)
		declared += type_width(fields[i].type, vm->heap.id_width);
	/* ART's java.lang.Object has its header as fields. */
	const unsigned first_field = vm->kind == VM_ART ? 0 : vm->header;
	class.end = lay_out(vm, super ? super->end : first_field, class.types, class.type_count);
	class.size = (uint32_t)align_up(class.end, 8);
	/* ART declares true sizes, HotSpot the sum of the fields. */
	for (const struct vm_class *up = super; up; up = find_class(vm, up->super))
		for (unsigned i = 0; i < up->type_count; i++)
			declared += type_width(up->types[i], vm->heap.id_width);
	if (!spec.size && !memchr(spec.name, '[', name_len))
		spec.size = vm->kind == VM_ART ? class.end : declared;
	vm->classes = grow(vm->classes, vm->class_count, &vm->class_capacity, sizeof *vm->classes);
	vm->classes[vm->class_count++] = class;
	if (dump)
		sub_class(&vm->heap, &spec);
	free(statics);
	free(fields);
	return spec.id;
}

uint64_t vm_define_statics(struct vm *vm, const char *name, uint64_t super, const char *text,
			   const struct member_spec *statics, unsigned count)
{
	static const char letters[] = "??L?ZCFDBSIJ";
	struct member_spec fields[64];
	struct class_spec spec = { .name = name, .super = super, .statics = statics, .static_count = count,
				   .fields = fields };
	while (*text) {
		const size_t len = strcspn(text, ":");
		fields[spec.field_count++] =
			(struct member_spec){ .name = text, .len = len,
					      .type = (uint8_t)(strchr(letters, text[len + 1]) - letters) };
		text += len + 2;
		text += *text == ' ';
	}
	return vm_class(vm, &spec, true);
}

uint64_t vm_define(struct vm *vm, const char *name, uint64_t super, const char *fields)
{
	return vm_define_statics(vm, name, super, fields, NULL, 0);
}

static void define_arrays(struct vm *vm)
{
	static const char *const art[TYPE_COUNT] = { [TYPE_BOOLEAN] = "boolean[]", [TYPE_CHAR] = "char[]",
						     [TYPE_FLOAT] = "float[]", [TYPE_DOUBLE] = "double[]",
						     [TYPE_BYTE] = "byte[]", [TYPE_SHORT] = "short[]",
						     [TYPE_INT] = "int[]", [TYPE_LONG] = "long[]" };
	static const char *const jvm[TYPE_COUNT] = { [TYPE_BOOLEAN] = "[Z", [TYPE_CHAR] = "[C", [TYPE_FLOAT] = "[F",
						     [TYPE_DOUBLE] = "[D", [TYPE_BYTE] = "[B", [TYPE_SHORT] = "[S",
						     [TYPE_INT] = "[I", [TYPE_LONG] = "[J" };
	for (unsigned type = TYPE_BOOLEAN; type < TYPE_COUNT; type++)
		vm->primitive_arrays[type] =
			vm_define(vm, vm->kind == VM_ART ? art[type] : jvm[type], vm->object, "");
}

void vm_init(struct vm *vm, enum vm_kind kind, unsigned id_width)
{
	vm_init_layout(vm, kind, id_width, kind == VM_ART || id_width == 4 ? 8 : 12, 4);
}

void vm_init_layout(struct vm *vm, enum vm_kind kind, unsigned id_width, unsigned header, unsigned reference)
{
	memset(vm, 0, sizeof *vm);
	vm->kind = kind;
	vm->header = header;
	vm->reference = reference;
	vm->next = kind == VM_ART ? 0x70000000 : kind == VM_AGENT ? 1 : id_width == 4 ? 0x6e000000 :
											UINT64_C(0x700000000);
	vm->next_serial = 1;
	writer_init(&vm->names, id_width);
	writer_init(&vm->heap, id_width);
	const bool whole = kind == VM_JDK6 || kind == VM_JDK8 || kind == VM_AGENT;
	vm->heap.segment_limit = whole ? 0 : kind == VM_ART ? 4096 : 1 << 16;
	segment_begin(&vm->heap, whole ? RECORD_HEAP_DUMP : RECORD_HEAP_DUMP_SEGMENT);
	if (kind == VM_ART)
		vm_heap(vm, 'I', "image", vm->next);
	static const char *const string[] = {
		[VM_JDK9] = "value:L coder:B hash:I hashIsZero:Z",
		[VM_JDK9_BIG_ENDIAN] = "value:L coder:B hash:I hashIsZero:Z",
		[VM_JDK8] = "value:L hash:I", [VM_JDK6] = "value:L offset:I count:I hash:I",
		[VM_AGENT] = "value:L offset:I count:I hash:I",
	};
	vm->object = vm_define(vm, kind == VM_ART ? "java.lang.Object" : "java/lang/Object", 0,
			       kind == VM_ART ? "shadow$_klass_:L shadow$_monitor_:I" : "");
	vm->class = vm_define(vm, kind == VM_ART ? "java.lang.Class" : "java/lang/Class", vm->object, "");
	if (kind == VM_ART) {
		/* `value` is no field: ART adds it to the dump. The characters follow the other two. */
		static const struct member_spec fields[] = { { .name = "count", .type = TYPE_INT },
							     { .name = "hash", .type = TYPE_INT },
							     { .name = "value", .type = TYPE_OBJECT } };
		const struct class_spec spec = { .name = "java.lang.String", .super = vm->object, .size = 16,
						 .fields = fields, .field_count = 3 };
		vm->string = vm_class(vm, &spec, true);
	} else {
		vm->string = vm_define(vm, "java/lang/String", vm->object, string[kind]);
	}
	define_arrays(vm);
	if (kind == VM_JDK9_BIG_ENDIAN)
		vm_define_statics(vm, "java/lang/StringUTF16", vm->object, "",
				  (struct member_spec[]){ { .name = "HI_BYTE_SHIFT", .type = TYPE_INT, .value = 8 },
							  { .name = "LO_BYTE_SHIFT", .type = TYPE_INT } }, 2);
}

void vm_heap(struct vm *vm, uint32_t kind, const char *name, uint64_t address)
{
	sub_info(&vm->heap, kind, vm_name(vm, name, strlen(name)));
	vm->next = address;
}

void vm_segment(struct vm *vm, unsigned tag)
{
	segment_end(&vm->heap);
	segment_begin(&vm->heap, tag);
}

static void free_vm(struct vm *vm)
{
	for (size_t i = 0; i < vm->class_count; i++)
		free(vm->classes[i].types);
	free(vm->classes);
	free(vm->name_list);
	writer_free(&vm->names);
	writer_free(&vm->heap);
}

void vm_finish(struct vm *vm, const char *version, struct writer *out)
{
	const bool whole = vm->heap.tag == RECORD_HEAP_DUMP;
	if (vm->heap.record != RECORD_CLOSED)
		segment_end(&vm->heap);
	put_header(out, version);
	writer_append(out, &vm->names);
	writer_append(out, &vm->heap);
	if (!whole)
		put_dump_end(out);
	free_vm(vm);
}

int vm_to_file(struct vm *vm, const char *version, const char *path, size_t segment_limit)
{
	struct writer out;
	vm->heap.file = fopen(path, "wb");
	if (!vm->heap.file)
		return -1;
	writer_init(&out, vm->heap.id_width);
	put_header(&out, version);
	writer_append(&out, &vm->names);
	fwrite(out.data, 1, out.len, vm->heap.file);
	writer_free(&out);
	vm->heap.segment_limit = segment_limit;
	return 0;
}

int vm_end_file(struct vm *vm)
{
	FILE *file = vm->heap.file;
	segment_end(&vm->heap);
	put_dump_end(&vm->heap);
	fwrite(vm->heap.data, 1, vm->heap.len, file);
	free_vm(vm);
	const bool failed = ferror(file);
	return fclose(file) || failed ? -1 : 0;
}

uint64_t vm_new(struct vm *vm, uint64_t id, uint64_t class_id, const uint64_t *values, unsigned count)
{
	unsigned used = 0;
	if (!id)
		id = vm_alloc(vm, vm_size(vm, class_id));
	sub_instance_begin(&vm->heap, id, class_id);
	for (const struct vm_class *class = find_class(vm, class_id); class; class = find_class(vm, class->super))
		for (unsigned i = 0; i < class->type_count; i++, used++) {
			uint64_t bits = used < count ? values[used] : 0;
			if (vm->kind == VM_ART && class->id == vm->object && i == 0)
				bits = class_id;
			put_value(&vm->heap, class->types[i], bits);
		}
	sub_instance_end(&vm->heap);
	return id;
}

static uint64_t array_size(const struct vm *vm, unsigned type, uint32_t count)
{
	const unsigned width = memory_width(vm, type), length_end = vm->header + 4;
	return (width == 8 ? align_up(length_end, 8) : length_end) + (uint64_t)count * width;
}

uint64_t vm_object_array(struct vm *vm, uint64_t class_id, const uint64_t *elements, uint32_t count)
{
	const uint64_t id = vm_alloc(vm, array_size(vm, TYPE_OBJECT, count));
	sub_object_array(&vm->heap, id, class_id, elements, count);
	return id;
}

uint64_t vm_primitive_array(struct vm *vm, unsigned type, const void *data, uint32_t count)
{
	const uint64_t id = vm_alloc(vm, array_size(vm, type, count));
	sub_primitive_array(&vm->heap, id, type, data, count);
	return id;
}

uint64_t vm_string_units(struct vm *vm, const uint16_t *units, uint32_t count)
{
	uint8_t *bytes = must(malloc(2 * (size_t)count + 1));
	const bool chars = vm->kind == VM_JDK8 || vm->kind == VM_JDK6 || vm->kind == VM_AGENT;
	bool latin1 = !chars;
	for (uint32_t i = 0; i < count; i++)
		latin1 = latin1 && units[i] < (vm->kind == VM_ART ? 0x80 : 0x100);
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t high = (uint8_t)(units[i] >> 8), low = (uint8_t)units[i];
		const bool little = vm->kind == VM_JDK9;
		if (latin1) {
			bytes[i] = low;
		} else {
			bytes[2 * i] = little ? low : high;
			bytes[2 * i + 1] = little ? high : low;
		}
	}
	uint64_t id;
	if (vm->kind == VM_ART) {
		/* The characters lie inside of the String, and so does the array that shows them. */
		const uint32_t width = latin1 ? 1 : 2;
		id = vm_alloc(vm, 16 + (uint64_t)count * width);
		const uint64_t value = id + (count ? 16 : 8);
		vm_new(vm, id, vm->string, (uint64_t[]){ count, 0, value }, 3);
		sub_primitive_array(&vm->heap, value, latin1 ? TYPE_BYTE : TYPE_CHAR, bytes, count);
	} else if (!chars) {
		id = vm_alloc(vm, vm_size(vm, vm->string));
		const uint32_t len = latin1 ? count : 2 * count;
		vm_new(vm, id, vm->string, (uint64_t[]){ vm->next, !latin1 }, 2);
		vm_primitive_array(vm, TYPE_BYTE, bytes, len);
	} else {
		id = vm_alloc(vm, vm_size(vm, vm->string));
		vm_new(vm, id, vm->string, (uint64_t[]){ vm->next, 0, vm->kind == VM_JDK8 ? 0 : count },
		       vm->kind == VM_JDK8 ? 2 : 3);
		vm_primitive_array(vm, TYPE_CHAR, bytes, count);
	}
	free(bytes);
	return id;
}

uint64_t vm_string(struct vm *vm, const char *utf8)
{
	const uint8_t *p = (const uint8_t *)utf8;
	uint16_t *units = must(calloc(strlen(utf8) + 1, sizeof *units));
	uint32_t count = 0;
	while (*p) {
		uint32_t code = *p++;
		const unsigned more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : code >= 0xc0 ? 1 : 0;
		code &= more ? 0x3fu >> more : 0x7f;
		for (unsigned i = 0; i < more; i++)
			code = code << 6 | (*p++ & 0x3f);
		if (code >= 0x10000) {
			units[count++] = (uint16_t)(0xd7c0 + (code >> 10));
			units[count++] = (uint16_t)(0xdc00 | (code & 0x3ff));
		} else {
			units[count++] = (uint16_t)code;
		}
	}
	const uint64_t id = vm_string_units(vm, units, count);
	free(units);
	return id;
}

void vm_root(struct vm *vm, unsigned tag, uint64_t id)
{
	sub_root(&vm->heap, tag, id, 0x7f0000001000, 1, UINT32_MAX);
}
