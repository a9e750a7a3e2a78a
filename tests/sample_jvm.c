/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of a 64-bit JVM with compressed references that holds every oddity that a real one may: names that no
 * file system takes, strings of all kinds, ids that lead nowhere, and folders that have to be split.
 */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#define DANGLING UINT64_C(0x7fff00010)
#define UNKNOWN_CLASS UINT64_C(0x7ffe00010)
#define SUBCLASSES 2100
#define MANY_FIELDS 2500
#define MANY_ELEMENTS 5000
#define LONG_TEXT 100000
#define LONG_NAME 65000

static void make_strings(struct vm *vm)
{
	static const char *const texts[] = {
		"",
		"plain",
		"caf\xc3\xa9",
		"\xe6\x97\xa5\xe6\x9c\xac",
		"\xf0\x9f\x98\x80",
		"tab\tline\nreturn\rback\\slash",
		"\x01\x1f\x7f\xc2\x85",
		"quote \" and ' and %",
		" blank at the ends ",
		"ends in emoji \xf0\x9f\x98\x80",
	};
	static const uint16_t high[] = { 'a', 0xd83d }, low[] = { 0xde00, 'z' }, wrong[] = { 0xde00, 0xd83d },
			      nul[] = { 'x', 0, 'y' }, lines[] = { 0x2028, 0x2029, 0xfeff, 0xffff };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		vm_string(vm, texts[i]);
	vm_string_units(vm, high, 2);
	vm_string_units(vm, low, 2);
	vm_string_units(vm, wrong, 2);
	vm_string_units(vm, nul, 3);
	vm_string_units(vm, lines, 4);
	uint16_t *units = calloc(LONG_TEXT + 1, sizeof *units);
	if (!units)
		abort();
	for (uint32_t i = 0; i < LONG_TEXT; i++)
		units[i] = (uint16_t)(i % 64 == 63 ? '\n' : 'A' + i % 26);
	vm_string_units(vm, units, LONG_TEXT);
	/* An odd number of units before the pairs, so that pairs lie across every even boundary. */
	units[0] = 'a';
	for (uint32_t i = 1; i < LONG_TEXT + 1; i++)
		units[i] = i % 2 ? 0xd83d : 0xde00;
	vm_string_units(vm, units, LONG_TEXT + 1);
	free(units);
	/* A String without characters, and one whose characters are gone. */
	VM_NEW(vm, vm->string, 0);
	VM_NEW(vm, vm->string, DANGLING);
}

static void make_fields(struct vm *vm, uint64_t target)
{
	const uint64_t base = vm_define(vm, "com/example/Shadow", vm->object, "x:I next:L");
	const uint64_t middle = vm_define(vm, "com/example/ShadowMiddle", base, "x:J next:L");
	const uint64_t leaf = vm_define(vm, "com/example/ShadowLeaf", middle, "x:L next:L own:Z");
	VM_NEW(vm, leaf, target, vm->string, 1, 0x1122334455667788, target, 0x80000000, target);
	VM_NEW(vm, leaf, 0, 0, 0, 0, DANGLING, 7, vm->object);
	const uint64_t twice = vm_define(vm, "com/example/Obfuscated", vm->object, "a:L a:L a:I a:J b:L");
	VM_NEW(vm, twice, target, vm->class, 1, 2, 0);

	char longer[300], longest[301];
	memset(longer, 'n', sizeof longer);
	memset(longest, 'n', sizeof longest);
	longest[300] = 'x';
	const struct member_spec odd[] = {
		{ .name = "with.dot", .type = TYPE_OBJECT },	{ .name = "with/slash", .type = TYPE_OBJECT },
		{ .name = "with@at", .type = TYPE_OBJECT },	{ .name = "new\nline", .type = TYPE_OBJECT },
		{ .name = longer, .len = sizeof longer, .type = TYPE_OBJECT },
		{ .name = longest, .len = sizeof longest, .type = TYPE_OBJECT },
		{ .name = ".", .type = TYPE_OBJECT },		{ .name = "..", .type = TYPE_OBJECT },
		{ .name = "%2E", .type = TYPE_OBJECT },		{ .name = " blank ", .type = TYPE_OBJECT },
		{ .name = "-dash", .type = TYPE_OBJECT },	{ .name = "dot.", .type = TYPE_OBJECT },
		{ .name = "object.txt", .type = TYPE_OBJECT },	{ .name = "class.d", .type = TYPE_OBJECT },
		{ .name = "bad\xff", .type = TYPE_OBJECT },	{ .name = "nul\xc0\x80", .type = TYPE_OBJECT },
		{ .name = "smile\xed\xa0\xbd\xed\xb8\x80", .type = TYPE_OBJECT },
		{ .name = "half\xed\xa0\xbd", .type = TYPE_OBJECT }, { .name = "0", .type = TYPE_OBJECT },
		{ .name_id = 0, .type = TYPE_OBJECT },		{ .name_id = DANGLING, .type = TYPE_OBJECT },
	};
	enum { ODD = sizeof odd / sizeof *odd };
	const uint64_t class = vm_class(
		vm,
		&(struct class_spec){
			.name = "com/example/OddFields", .super = vm->object, .fields = odd, .field_count = ODD },
		true);
	uint64_t values[MANY_FIELDS];
	for (unsigned i = 0; i < MANY_FIELDS; i++)
		values[i] = i % 100 == 99 ? 0 : target;
	vm_new(vm, 0, class, values, ODD);

	static struct member_spec many[MANY_FIELDS];
	static char names[MANY_FIELDS][8];
	for (unsigned i = 0; i < MANY_FIELDS; i++) {
		snprintf(names[i], sizeof names[i], "f%u", i);
		many[i] = (struct member_spec){ .name = names[i], .type = TYPE_OBJECT };
	}
	const uint64_t wide = vm_class(vm, &(struct class_spec){ .name = "com/example/Wide", .super = vm->object,
								 .fields = many, .field_count = MANY_FIELDS }, true);
	vm_new(vm, 0, wide, values, MANY_FIELDS);
}

static void make_statics(struct vm *vm, uint64_t target)
{
	const struct member_spec statics[] = {
		{ .name = "z", .type = TYPE_BOOLEAN, .value = 1 },
		{ .name = "c", .type = TYPE_CHAR, .value = 0xd83d },
		{ .name = "f", .type = TYPE_FLOAT, .value = 0x7fc00000 },
		{ .name = "d", .type = TYPE_DOUBLE, .value = 0x3fb999999999999a },
		{ .name = "b", .type = TYPE_BYTE, .value = 0x80 },
		{ .name = "s", .type = TYPE_SHORT, .value = 0x8000 },
		{ .name = "i", .type = TYPE_INT, .value = 0x80000000 },
		{ .name = "l", .type = TYPE_LONG, .value = UINT64_C(0x8000000000000000) },
		{ .name = "object", .type = TYPE_OBJECT, .value = target },
		{ .name = "nothing", .type = TYPE_OBJECT },
		{ .name = "gone", .type = TYPE_OBJECT, .value = DANGLING },
		{ .name = "class", .type = TYPE_OBJECT, .value = vm->string },
		{ .name = "object", .type = TYPE_OBJECT, .value = target },
		{ .name = "<resolved_references>", .type = TYPE_OBJECT, .value = target },
	};
	const struct member_spec pool[] = { { .name_id = 7, .type = TYPE_INT, .value = 42 },
					    { .name_id = 9, .type = TYPE_OBJECT, .value = target } };
	const struct class_spec spec = { .name = "com/example/Statics", .super = vm->object, .statics = statics,
					 .static_count = sizeof statics / sizeof *statics, .pool = pool,
					 .pool_count = 2, .signers = target, .domain = DANGLING };
	vm_class(vm, &spec, true);
}

static void make_arrays(struct vm *vm, uint64_t target)
{
	static const uint8_t bytes[17 * 8] = { 0x7f, 0xf0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x80, 1, 2, 3 };
	for (unsigned type = TYPE_BOOLEAN; type < TYPE_COUNT; type++) {
		vm_primitive_array(vm, type, NULL, 0);
		vm_primitive_array(vm, type, bytes, 1);
		vm_primitive_array(vm, type, bytes, 17);
	}
	sub_array_nodata(&vm->heap, vm_alloc(vm, 1016), TYPE_INT, 250);
	uint64_t elements[MANY_ELEMENTS];
	for (unsigned i = 0; i < MANY_ELEMENTS; i++)
		elements[i] = i % 10 == 3 ? 0 : i % 10 == 7 ? DANGLING + 8 * i : i % 10 == 5 ? vm->object : target;
	const uint64_t objects = vm_define(vm, "[Ljava/lang/Object;", vm->object, "");
	vm_object_array(vm, objects, elements, MANY_ELEMENTS);
	vm_object_array(vm, objects, NULL, 0);
	vm_object_array(vm, vm_define(vm, "[[Ljava/lang/String;", vm->object, ""), elements, 3);
	vm_object_array(vm, UNKNOWN_CLASS, elements, 2);
}

static void make_classes(struct vm *vm)
{
	const uint64_t loader_class = vm_define(vm, "java/lang/ClassLoader", vm->object, "parent:L");
	uint64_t loaders[3] = { 0 };
	for (unsigned i = 1; i < 3; i++)
		loaders[i] = VM_NEW(vm, loader_class, loaders[i - 1]);
	for (unsigned i = 0; i < 3; i++) {
		const uint64_t twin =
			vm_class(vm,
				 &(struct class_spec){
					 .name = "com/example/Twin", .super = vm->object, .loader = loaders[i] },
				 true);
		for (unsigned j = 0; j <= i; j++)
			VM_NEW(vm, twin, 0);
	}

	static char longest[LONG_NAME];
	memset(longest, 'L', sizeof longest);
	static const struct {
		const char *name;
		size_t len;
	} odd[] = {
		{ "com/example/has space", 0 },	   { "com/example/new\nline", 0 },
		{ "com/example/tab\t", 0 },	   { "-leading", 0 },
		{ "trailing.", 0 },		   { "100%", 0 },
		{ "star*question?pipe|quote\"", 0 }, { "back\\slash", 0 },
		{ "less<greater>colon:", 0 },	   { "nul\xc0\x80inside", 0 },
		{ "smile\xed\xa0\xbd\xed\xb8\x80", 0 }, { "half\xed\xa0\xbd", 0 },
		{ longest, LONG_NAME },		   { "bad\xff\xfe", 0 },
		{ "..", 0 },			   { "gen/Gen$$Lambda+0x000000003b07c000", 0 },
		{ "e\xcc\x81/\xc3\xa9", 0 },	   { " ", 0 },
		{ "com/example/Twin@0x700000000", 0 },
	};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		const struct class_spec spec = { .name = odd[i].name, .name_len = odd[i].len, .super = vm->object };
		VM_NEW(vm, vm_class(vm, &spec, true), 0);
	}

	/* A class that is only named, with an instance; an instance of one that is not even that. */
	const uint64_t named = vm_class(vm, &(struct class_spec){ .name = "com/example/NeverLinked" }, false);
	VM_NEW(vm, named, 0);
	vm_new(vm, 0, UNKNOWN_CLASS, NULL, 0);
	/* A class without a name, and one whose superclass is not there. */
	sub_class(&vm->heap, &(struct class_spec){ .id = vm_alloc(vm, 112), .super = vm->object });
	vm_class(vm, &(struct class_spec){ .name = "com/example/Orphan", .super = DANGLING }, true);

	const uint64_t base = vm_define(vm, "com/example/Base", vm->object, "");
	for (unsigned i = 0; i < SUBCLASSES; i++) {
		char name[40];
		snprintf(name, sizeof name, "com/example/base/Sub%u", i);
		vm_define(vm, name, base, i % 3 ? "" : "value:I");
	}
}

static void make_roots(struct vm *vm, uint64_t target)
{
	static const uint8_t tags[] = { ROOT_JNI_GLOBAL, ROOT_JNI_LOCAL, ROOT_JAVA_FRAME, ROOT_NATIVE_STACK,
					ROOT_STICKY_CLASS, ROOT_THREAD_BLOCK, ROOT_MONITOR_USED, ROOT_THREAD_OBJ,
					ROOT_UNKNOWN };
	for (size_t i = 0; i < sizeof tags; i++) {
		vm_root(vm, tags[i], tags[i] == ROOT_STICKY_CLASS ? vm->string : target);
		vm_root(vm, tags[i], DANGLING);
		vm_root(vm, tags[i], 0);
	}
	vm_root(vm, ROOT_JNI_GLOBAL, target);
	sub_root(&vm->heap, ROOT_JAVA_FRAME, target, 0, 1, 3);
	sub_root(&vm->heap, ROOT_NATIVE_STACK, target, 0, 99, 0); /* no such thread */
}

static void make_threads(struct vm *vm)
{
	const uint64_t holder =
		vm_define(vm, "java/lang/Thread$FieldHolder", vm->object, "group:L task:L priority:I daemon:Z");
	const uint64_t class = vm_define(vm, "java/lang/Thread", vm->object, "eetop:J tid:J name:L holder:L");
	const uint64_t fields = VM_NEW(vm, holder, 0, 0, 5, 0), name = vm_string(vm, "main / worker\n");
	const uint64_t thread = VM_NEW(vm, class, 0x7f00aa10, 1, name, fields);
	struct writer *names = &vm->names;
	const uint64_t frame = 0x10, method = put_name(names, "run"), signature = put_name(names, "()V");
	put_frame(names, frame, method, signature, put_name(names, "Main.java"), 1, 42);
	put_trace(names, 1, 0, NULL, 0);
	put_trace(names, 2, 1, &frame, 1);
	put_start_thread(names, 1, thread, 2, put_name(names, "main"));
	sub_root(&vm->heap, ROOT_THREAD_OBJ, thread, 0, 1, 2);
	sub_root(&vm->heap, ROOT_JAVA_FRAME, name, 0, 1, 0);
}

void sample_jvm(struct writer *out)
{
	struct vm vm;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t target = vm_string(&vm, "target");
	make_strings(&vm);
	make_fields(&vm, target);
	make_statics(&vm, target);
	make_arrays(&vm, target);
	make_classes(&vm);
	make_threads(&vm);
	make_roots(&vm, target);
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}
