/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES (1u << 20)

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void writer_init(struct writer *w, unsigned id_width)
{
	memset(w, 0, sizeof *w);
	w->id_width = id_width;
	w->next_name = 1;
	w->record = RECORD_CLOSED;
}

void writer_free(struct writer *w)
{
	free(w->data);
	memset(w, 0, sizeof *w);
}

uint64_t writer_offset(const struct writer *w)
{
	return w->flushed + w->len;
}

void put_bytes(struct writer *w, const void *data, size_t len)
{
	if (w->capacity - w->len < len) {
		size_t wanted = w->capacity ? w->capacity * 2 : 4096;
		while (wanted - w->len < len)
			wanted *= 2;
		w->data = must(realloc(w->data, wanted));
		w->capacity = wanted;
	}
	if (len && data)
		memcpy(w->data + w->len, data, len);
	else if (len)
		memset(w->data + w->len, 0, len);
	w->len += len;
}

void writer_append(struct writer *w, const struct writer *from)
{
	put_bytes(w, from->data, from->len);
}

static void write_out(const struct writer *w, FILE *file)
{
	if (w->len && fwrite(w->data, 1, w->len, file) != w->len) {
		perror("writing a dump");
		exit(1);
	}
}

int writer_save(const struct writer *w, const char *path)
{
	FILE *file = fopen(path, "wb");
	if (!file)
		return -1;
	write_out(w, file);
	return fclose(file) ? -1 : 0;
}

void put_zeros(struct writer *w, size_t len)
{
	put_bytes(w, NULL, len);
}

static void put_number(struct writer *w, uint64_t value, unsigned width)
{
	uint8_t bytes[8];
	for (unsigned i = 0; i < width; i++)
		bytes[i] = (uint8_t)(value >> 8 * (width - 1 - i));
	put_bytes(w, bytes, width);
}

void put_u1(struct writer *w, unsigned value)
{
	put_number(w, value, 1);
}

void put_u2(struct writer *w, unsigned value)
{
	put_number(w, value, 2);
}

void put_u4(struct writer *w, uint32_t value)
{
	put_number(w, value, 4);
}

void put_u8(struct writer *w, uint64_t value)
{
	put_number(w, value, 8);
}

void put_id(struct writer *w, uint64_t id)
{
	put_number(w, id, w->id_width);
}

void put_value(struct writer *w, unsigned type, uint64_t bits)
{
	put_number(w, bits, type_width(type, w->id_width));
}

void patch_u4(struct writer *w, size_t at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		w->data[at + i] = (uint8_t)(value >> 8 * (3 - i));
}

void put_header(struct writer *w, const char *version)
{
	put_bytes(w, version, strlen(version) + 1);
	put_u4(w, w->id_width);
	put_u8(w, UINT64_C(1767225600000)); /* 2026-01-01 00:00:00 UTC */
}

void put_record_head(struct writer *w, unsigned tag, uint32_t len)
{
	put_u1(w, tag);
	put_u4(w, 0);
	put_u4(w, len);
}

void put_record(struct writer *w, unsigned tag, const void *body, size_t len)
{
	put_record_head(w, tag, (uint32_t)len);
	put_bytes(w, body, len);
}

uint64_t put_utf8(struct writer *w, const char *name, size_t len)
{
	const uint64_t id = w->next_name++;
	put_record_head(w, RECORD_UTF8, (uint32_t)(w->id_width + len));
	put_id(w, id);
	put_bytes(w, name, len);
	return id;
}

uint64_t put_name(struct writer *w, const char *name)
{
	return put_utf8(w, name, strlen(name));
}

void put_load_class(struct writer *w, uint32_t serial, uint64_t id, uint64_t name)
{
	put_record_head(w, RECORD_LOAD_CLASS, 8 + 2 * w->id_width);
	put_u4(w, serial);
	put_id(w, id);
	put_u4(w, 0);
	put_id(w, name);
}

void put_frame(struct writer *w, uint64_t frame, uint64_t method, uint64_t signature, uint64_t source,
	       uint32_t class_serial, int32_t line)
{
	put_record_head(w, RECORD_FRAME, 8 + 4 * w->id_width);
	put_id(w, frame);
	put_id(w, method);
	put_id(w, signature);
	put_id(w, source);
	put_u4(w, class_serial);
	put_u4(w, (uint32_t)line);
}

void put_trace(struct writer *w, uint32_t serial, uint32_t thread, const uint64_t *frames, uint32_t count)
{
	put_record_head(w, RECORD_TRACE, 12 + count * w->id_width);
	put_u4(w, serial);
	put_u4(w, thread);
	put_u4(w, count);
	for (uint32_t i = 0; i < count; i++)
		put_id(w, frames[i]);
}

void put_start_thread(struct writer *w, uint32_t serial, uint64_t object, uint32_t trace, uint64_t name)
{
	put_record_head(w, RECORD_START_THREAD, 8 + 4 * w->id_width);
	put_u4(w, serial);
	put_id(w, object);
	put_u4(w, trace);
	put_id(w, name);
	put_id(w, 0);
	put_id(w, 0);
}

void segment_begin(struct writer *w, unsigned tag)
{
	w->record = w->len;
	w->tag = (uint8_t)tag;
	put_record_head(w, tag, 0);
	if (w->heap_kind) {
		put_u1(w, SUB_HEAP_DUMP_INFO);
		put_u4(w, w->heap_kind);
		put_id(w, w->heap_name);
	}
}

void segment_end_length(struct writer *w, uint32_t length)
{
	patch_u4(w, w->record + 5, length);
	w->record = RECORD_CLOSED;
	if (w->file && w->len >= FLUSH_BYTES) {
		write_out(w, w->file);
		w->flushed += w->len;
		w->len = 0;
	}
}

void segment_end(struct writer *w)
{
	segment_end_length(w, (uint32_t)(w->len - w->record - RECORD_HEADER));
}

void put_dump_end(struct writer *w)
{
	put_record_head(w, RECORD_HEAP_DUMP_END, 0);
}

/* --- sub-records --- */

static void sub_begin(struct writer *w, unsigned tag)
{
	if (w->segment_limit && w->record != RECORD_CLOSED && w->len - w->record > w->segment_limit) {
		segment_end(w);
		segment_begin(w, w->tag);
	}
	put_u1(w, tag);
}

void sub_class(struct writer *w, const struct class_spec *spec)
{
	sub_begin(w, SUB_CLASS_DUMP);
	put_id(w, spec->id);
	put_u4(w, 0);
	put_id(w, spec->super);
	put_id(w, spec->loader);
	put_id(w, spec->signers);
	put_id(w, spec->domain);
	put_id(w, 0);
	put_id(w, 0);
	put_u4(w, spec->size);
	put_u2(w, spec->pool_count);
	for (unsigned i = 0; i < spec->pool_count; i++) {
		put_u2(w, (unsigned)spec->pool[i].name_id);
		put_u1(w, spec->pool[i].type);
		put_value(w, spec->pool[i].type, spec->pool[i].value);
	}
	put_u2(w, spec->static_count);
	for (unsigned i = 0; i < spec->static_count; i++) {
		put_id(w, spec->statics[i].name_id);
		put_u1(w, spec->statics[i].type);
		put_value(w, spec->statics[i].type, spec->statics[i].value);
	}
	put_u2(w, spec->field_count);
	for (unsigned i = 0; i < spec->field_count; i++) {
		put_id(w, spec->fields[i].name_id);
		put_u1(w, spec->fields[i].type);
	}
}

void sub_info(struct writer *w, uint32_t heap, uint64_t name)
{
	w->heap_kind = heap;
	w->heap_name = name;
	sub_begin(w, SUB_HEAP_DUMP_INFO);
	put_u4(w, heap);
	put_id(w, name);
}

void sub_instance_begin(struct writer *w, uint64_t id, uint64_t class_id)
{
	sub_begin(w, SUB_INSTANCE_DUMP);
	put_id(w, id);
	put_u4(w, 0);
	put_id(w, class_id);
	w->patch = w->len;
	put_u4(w, 0);
}

void sub_instance_end(struct writer *w)
{
	patch_u4(w, w->patch, (uint32_t)(w->len - w->patch - 4));
}

void sub_object_array(struct writer *w, uint64_t id, uint64_t class_id, const uint64_t *elements, uint32_t count)
{
	sub_begin(w, SUB_OBJ_ARRAY_DUMP);
	put_id(w, id);
	put_u4(w, 0);
	put_u4(w, count);
	put_id(w, class_id);
	for (uint32_t i = 0; i < count; i++)
		put_id(w, elements[i]);
}

void sub_primitive_array(struct writer *w, uint64_t id, unsigned type, const void *data, uint32_t count)
{
	sub_begin(w, SUB_PRIM_ARRAY_DUMP);
	put_id(w, id);
	put_u4(w, 0);
	put_u4(w, count);
	put_u1(w, type);
	put_bytes(w, data, (size_t)count * type_width(type, w->id_width));
}

void sub_array_nodata(struct writer *w, uint64_t id, unsigned type, uint32_t count)
{
	sub_begin(w, SUB_PRIM_ARRAY_NODATA);
	put_id(w, id);
	put_u4(w, 0);
	put_u4(w, count);
	put_u1(w, type);
}

void sub_root(struct writer *w, unsigned tag, uint64_t id, uint64_t global, uint32_t thread, uint32_t frame)
{
	sub_begin(w, tag);
	put_id(w, id);
	switch (tag) {
	case ROOT_JNI_GLOBAL:
		put_id(w, global);
		break;
	case ROOT_JNI_LOCAL:
	case ROOT_JAVA_FRAME:
	case ROOT_THREAD_OBJ:
	case ROOT_JNI_MONITOR:
		put_u4(w, thread);
		put_u4(w, frame);
		break;
	case ROOT_NATIVE_STACK:
	case ROOT_THREAD_BLOCK:
		put_u4(w, thread);
		break;
	default:
		break;
	}
}

/* --- vm --- */

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
	class.end = lay_out(vm, super ? super->end : vm->header, class.types, class.type_count);
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
	memset(vm, 0, sizeof *vm);
	vm->kind = kind;
	vm->header = kind == VM_ART || id_width == 4 ? 8 : 12;
	vm->reference = 4;
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
		[VM_ART] = "count:I hash:I value:L",
	};
	vm->object = vm_define(vm, kind == VM_ART ? "java.lang.Object" : "java/lang/Object", 0,
			       kind == VM_ART ? "shadow$_klass_:L shadow$_monitor_:I" : "");
	if (kind == VM_ART)
		vm->classes[0].end = vm->classes[0].size = 8; /* these two are the header */
	vm->class = vm_define(vm, kind == VM_ART ? "java.lang.Class" : "java/lang/Class", vm->object, "");
	vm->string = vm_define(vm, kind == VM_ART ? "java.lang.String" : "java/lang/String", vm->object, string[kind]);
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
	for (size_t i = 0; i < vm->class_count; i++)
		free(vm->classes[i].types);
	free(vm->classes);
	free(vm->name_list);
	writer_free(&vm->names);
	writer_free(&vm->heap);
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
