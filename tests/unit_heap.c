/* SPDX-License-Identifier: Apache-2.0 */
/* Classes, objects, strings, sizes and roots, decoded from dumps of every kind of VM. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	enum vm_kind kind;
	unsigned id_width;
	const char *version;
} vms[] = {
	{ VM_JDK9, 8, "JAVA PROFILE 1.0.2" }, { VM_JDK9, 4, "JAVA PROFILE 1.0.2" },
	{ VM_JDK9_BIG_ENDIAN, 8, "JAVA PROFILE 1.0.2" }, { VM_JDK8, 8, "JAVA PROFILE 1.0.1" },
	{ VM_JDK6, 4, "JAVA PROFILE 1.0.1" }, { VM_AGENT, 4, "JAVA PROFILE 1.0.1" },
	{ VM_ART, 4, "JAVA PROFILE 1.0.3" },
};
#define VM_COUNT (sizeof vms / sizeof *vms)

static const struct class *need_class(const struct opened *o, const char *name)
{
	const struct class *class = class_by_name(&o->heaps[0], name);
	if (!class)
		fail_msg("no class \"%s\"", name);
	return class;
}

static void need_object(const struct opened *o, uint64_t id, struct object *object)
{
	if (!heap_find(&o->heaps[0], id, object))
		fail_msg("no object 0x%jx", (uintmax_t)id);
}

static void strings(void **state)
{
	static const struct {
		uint16_t units[8];
		uint32_t count;
	} texts[] = {
		{ { 0 }, 0 },
		{ { 'p', 'l', 'a', 'i', 'n' }, 5 },
		{ { 0xe9 }, 1 },
		{ { 0xff, 0x80, 'x' }, 3 },
		{ { 0x65e5, 0x672c }, 2 },
		{ { 'a', 0xd83d, 0xde00 }, 3 },
		{ { 0xde00, 0xd83d }, 2 },
		{ { 0, 0x100, 0xffff, '\n' }, 4 },
	};
	enum { COUNT = sizeof texts / sizeof *texts };
	(void)state;
	for (size_t v = 0; v < VM_COUNT; v++) {
		struct vm vm;
		struct opened o;
		uint64_t ids[COUNT];
		vm_init(&vm, vms[v].kind, vms[v].id_width);
		for (size_t i = 0; i < COUNT; i++)
			ids[i] = vm_string_units(&vm, texts[i].units, texts[i].count);
		opened_vm(&o, &vm, vms[v].version);
		for (size_t i = 0; i < COUNT; i++) {
			struct object object;
			struct string string;
			need_object(&o, ids[i], &object);
			if (!heap_string(&o.heaps[0], &object, &string) || string.units != texts[i].count)
				fail_msg("vm %zu, text %zu", v, i);
			for (uint32_t j = 0; j < texts[i].count; j++)
				assert_int_equal(string_unit(&string, j), texts[i].units[j]);
		}
		opened_close(&o);
	}
}

/* JDK 6: offset and count name a part of the characters, if they lie in them. */
static void shared_characters(void **state)
{
	static const struct {
		uint32_t offset, count;
		const char *text;	/* NULL: it has none */
	} table[] = {
		{ 0, 6, "shared" }, { 2, 3, "are" }, { 6, 0, "" }, { 0, 7, NULL }, { 7, 0, NULL },
		{ 5, UINT32_MAX, NULL }, { UINT32_MAX, 1, NULL },
	};
	enum { COUNT = sizeof table / sizeof *table };
	struct vm vm;
	struct opened o;
	uint64_t ids[COUNT];
	(void)state;
	vm_init(&vm, VM_JDK6, 4);
	const uint64_t value = vm.next + vm_size(&vm, vm.string);
	vm_string(&vm, "shared");
	for (size_t i = 0; i < COUNT; i++)
		ids[i] = VM_NEW(&vm, vm.string, value, table[i].offset, table[i].count);
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.1");
	for (size_t i = 0; i < COUNT; i++) {
		struct object object;
		struct string string;
		need_object(&o, ids[i], &object);
		assert_int_equal(heap_string(&o.heaps[0], &object, &string), table[i].text != NULL);
		if (!table[i].text)
			continue;
		assert_int_equal(string.units, strlen(table[i].text));
		for (size_t j = 0; j < string.units; j++)
			assert_int_equal(string_unit(&string, j), table[i].text[j]);
	}
	opened_close(&o);
}

/* Own class's fields come first, then each superclass's; names may repeat. */
static void fields(void **state)
{
	static const struct {
		const char *class, *field;
		uint8_t type;
		uint64_t bits;
	} table[] = {
		{ "Leaf", "x", TYPE_OBJECT, 0x700 },  { "Leaf", "z", TYPE_BOOLEAN, 1 },
		{ "Base", "x", TYPE_INT, 0x80000000 }, { "Base", "d", TYPE_DOUBLE, 0x3ff0000000000000 },
		{ "Base", "c", TYPE_CHAR, 0xd800 },
	};
	enum { COUNT = sizeof table / sizeof *table };
	(void)state;
	for (size_t v = 0; v < VM_COUNT; v++) {
		struct vm vm;
		struct opened o;
		vm_init(&vm, vms[v].kind, vms[v].id_width);
		const uint64_t base = vm_define(&vm, "Base", vm.object, "x:I d:D c:C");
		const uint64_t middle = vm_define(&vm, "Middle", base, ""),
			       leaf = vm_define(&vm, "Leaf", middle, "x:L z:Z");
		uint64_t values[COUNT];
		for (size_t i = 0; i < COUNT; i++)
			values[i] = table[i].bits;
		const uint64_t id = vm_new(&vm, 0, leaf, values, COUNT);
		const uint64_t cut = vm_alloc(&vm, 64);
		sub_instance_begin(&vm.heap, cut, leaf);
		put_id(&vm.heap, id);
		sub_instance_end(&vm.heap);
		opened_vm(&o, &vm, vms[v].version);
		const struct heap *heap = &o.heaps[0];
		const unsigned I = heap->id_width;
		struct object object, other;
		struct value_walk walk;
		need_object(&o, id, &object);
		value_walk_start(&walk, heap, &object);
		for (size_t i = 0; i < COUNT; i++) {
			uint64_t bits = 0;
			assert_true(value_walk_next(&walk));
			assert_string_equal(walk.class->name.text, table[i].class);
			assert_string_equal(walk.field->name.text, table[i].field);
			assert_int_equal(walk.type, table[i].type);
			for (unsigned j = 0; j < type_width(walk.type, I); j++)
				bits = bits << 8 | walk.value[j];
			assert_int_equal(bits, table[i].bits);
		}
		const struct class *class = need_class(&o, "Leaf");
		assert_int_equal(field_offset(heap, class, "x", TYPE_OBJECT), 0);
		assert_int_equal(field_offset(heap, class, "x", TYPE_INT), I + 1);
		assert_int_equal(field_offset(heap, class, "c", TYPE_CHAR), I + 1 + 4 + 8);
		assert_int_equal(field_offset(heap, class, "y", TYPE_INT), -1);
		/* A record with less than its class has. */
		need_object(&o, cut, &object);
		value_walk_start(&walk, heap, &object);
		assert_true(value_walk_next(&walk));
		assert_false(value_walk_next(&walk));
		assert_true(object_field(heap, &object, "x", &other));
		assert_int_equal(other.id, id);
		assert_false(object_field(heap, &other, "x", &other)); /* 0x700 is nothing */
		opened_close(&o);
	}
}

static void statics(void **state)
{
	static const struct {
		const char *name;
		uint8_t type;
		uint64_t bits;
	} table[] = {
		{ "z", TYPE_BOOLEAN, 1 }, { "c", TYPE_CHAR, 0xd83d }, { "f", TYPE_FLOAT, 0x7fc00000 },
		{ "d", TYPE_DOUBLE, 0x3fb999999999999a }, { "b", TYPE_BYTE, 0x80 }, { "s", TYPE_SHORT, 0x8000 },
		{ "i", TYPE_INT, 0x80000000 }, { "l", TYPE_LONG, UINT64_C(0x8000000000000000) },
		{ "nothing", TYPE_OBJECT, 0 }, { "gone", TYPE_OBJECT, UINT64_C(0x7fff00010) },
	};
	struct opened o;
	struct static_walk walk;
	(void)state;
	opened_sample(&o, "jvm");
	const struct heap *heap = &o.heaps[0];
	const struct class *class = need_class(&o, "com.example.Statics");
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		uint64_t bits = 0;
		assert_true(class_static(heap, class, table[i].name, &walk));
		assert_int_equal(walk.type, table[i].type);
		for (unsigned j = 0; j < type_width(walk.type, 8); j++)
			bits = bits << 8 | walk.value[j];
		assert_int_equal(bits, table[i].bits);
		assert_ptr_equal(walk.value, heap->in->data + walk.offset);
	}
	assert_false(class_static(heap, class, "none", &walk));
	unsigned count = 0;
	for (static_walk_start(&walk, heap, class, false); static_walk_next(&walk);)
		count++;
	assert_int_equal(count, 14);
	static_walk_start(&walk, heap, class, true);
	assert_true(static_walk_next(&walk));
	assert_int_equal(walk.name_id, 7);
	assert_int_equal(be32(walk.value), 42);
	assert_true(static_walk_next(&walk));
	assert_int_equal(walk.type, TYPE_OBJECT);
	assert_false(static_walk_next(&walk));
	struct object object;
	assert_true(heap_find(heap, class_reference(heap, class, CLASS_SIGNERS), &object));
	assert_int_equal(class_reference(heap, class, CLASS_PROTECTION_DOMAIN), UINT64_C(0x7fff00010));
	assert_int_equal(class_reference(heap, class, CLASS_SUPER), need_class(&o, "java.lang.Object")->id);
	opened_close(&o);
}

static void classes(void **state)
{
	static const char *const named[] = { "int[]",
					     "java.lang.Object[]",
					     "java.lang.String[][]",
					     "com.example.NeverLinked",
					     "com.example.Orphan",
					     "smile\xf0\x9f\x98\x80",
					     "half\xed\xa0\xbd",
					     "gen.Gen$$Lambda+0x000000003b07c000",
					     ".." };
	struct opened o;
	(void)state;
	opened_sample(&o, "jvm");
	const struct heap *heap = &o.heaps[0];
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		need_class(&o, named[i]);
	assert_int_equal(need_class(&o, "int[]")->element_type, TYPE_INT);
	assert_int_equal(need_class(&o, "int[]")->count, 4);
	assert_int_equal(need_class(&o, "java.lang.String[][]")->element_type, TYPE_OBJECT);
	assert_int_equal(need_class(&o, "com.example.NeverLinked")->count, 1);
	assert_int_equal(need_class(&o, "unknown-class-0x7ffe00010")->count, 2);
	assert_int_equal(need_class(&o, "com.example.Orphan")->super, CLASS_NONE);
	assert_int_equal(need_class(&o, "com.example.Base")->child_count, 2100);
	/* Three of one name, told apart by their loaders; boot's is first. */
	uint64_t twins = 0, instances = 0;
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const struct class *class = &heap->classes[i];
		assert_true(i == 0 || class[-1].id < class->id);
		if (!strcmp(class->name.text, "com.example.Twin")) {
			assert_int_equal(class->loader_id != 0, twins > 0);
			twins++;
			instances += class->count;
		}
		if (class->name.len > 1000)
			assert_int_equal(class->name.len, 65000);
	}
	assert_int_equal(twins, 3);
	assert_int_equal(instances, 6);
	opened_close(&o);
}

static void cycles(void **state)
{
	struct opened o;
	(void)state;
	opened_sample(&o, "cycle");
	const struct note *note = opened_note(&o, "classes that are their own superclass");
	assert_non_null(note);
	assert_int_equal(note->count, 2);
	assert_int_equal(note->offset, need_class(&o, "cycle.A")->offset);
	for (uint32_t i = 0; i < o.heaps[0].class_count; i++) {
		unsigned steps = 0;
		for (const struct class *c = &o.heaps[0].classes[i]; c; c = class_super(&o.heaps[0], c))
			assert_true(++steps < 4);
	}
	assert_int_equal(need_class(&o, "cycle.B")->count, 1);
	opened_close(&o);
}

/* Ranks are file order; a cursor goes to any of them, and an object knows its own. */
static void ranks(void **state)
{
	enum { CLASSES = 5, OBJECTS = 12000 };
	static uint64_t ids[CLASSES][OBJECTS];
	static const unsigned every[CLASSES] = { 2, 3, 7, 1000, 11999 };
	(void)state;
	for (unsigned scattered = 0; scattered < 2; scattered++) {
		uint64_t counts[CLASSES] = { 0 }, class_ids[CLASSES];
		struct vm vm;
		struct opened o;
		vm_init(&vm, VM_JDK9, 8);
		vm.heap.segment_limit = 3000;
		for (unsigned c = 0; c < CLASSES; c++) {
			const char name[] = { 'C', (char)('0' + c), 0 };
			class_ids[c] = vm_define(&vm, name, vm.object, "v:I");
		}
		const uint64_t base = vm.next;
		for (unsigned i = 0; i < OBJECTS; i++) {
			unsigned c = CLASSES - 1;
			while (c && i % every[c])
				c--;
			/* 7919 is prime, so each place is taken once. */
			ids[c][counts[c]] = scattered ? base + i * UINT64_C(7919) % OBJECTS * 16 : 0;
			ids[c][counts[c]] = vm_new(&vm, ids[c][counts[c]], class_ids[c], (uint64_t[]){ i }, 1);
			counts[c]++;
		}
		opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
		for (unsigned c = 0; c < CLASSES; c++) {
			const struct class *class = class_find(&o.heaps[0], class_ids[c]);
			struct cursor cursor;
			assert_int_equal(class->count, counts[c]);
			for (uint64_t rank = 0; rank < counts[c]; rank += 1 + rank % 61) {
				struct object object;
				cursor_seek(&cursor, &o.heaps[0], class, rank);
				for (uint64_t i = rank; i < rank + 3 && i < counts[c]; i++) {
					assert_true(cursor_next(&cursor));
					if (cursor.id != ids[c][i] || cursor.rank != i + 1)
						fail_msg("class %u: rank %ju after a seek to %ju", c, (uintmax_t)i,
							 (uintmax_t)rank);
				}
				need_object(&o, ids[c][rank], &object);
				if (object_rank(&o.heaps[0], &object) != rank)
					fail_msg("class %u: object %ju has rank %ju", c, (uintmax_t)rank,
						 (uintmax_t)object_rank(&o.heaps[0], &object));
			}
			cursor_seek(&cursor, &o.heaps[0], class, counts[c] - 1);
			assert_true(cursor_next(&cursor));
			assert_false(cursor_next(&cursor));
			cursor_seek(&cursor, &o.heaps[0], class, counts[c]);
			assert_false(cursor_next(&cursor));
		}
		opened_close(&o);
	}
}

/* Sizes follow from addresses, whatever the layout of memory was. */
static void sizes(void **state)
{
	static const struct {
		enum vm_kind kind;
		unsigned id_width, header, reference;
	} layouts[] = {
		{ VM_JDK9, 8, 12, 4 },	/* compressed references */
		{ VM_JDK9, 8, 16, 8 },	/* none */
		{ VM_JDK9, 8, 12, 8 },	/* JDK 15 and later: compressed classes only */
		{ VM_JDK9, 8, 8, 4 },	/* compact headers */
		{ VM_JDK9, 4, 8, 4 },	/* 32 bits */
		{ VM_ART, 4, 8, 4 },
	};
	(void)state;
	for (size_t v = 0; v < sizeof layouts / sizeof *layouts; v++) {
		struct vm vm;
		struct opened o;
		uint64_t ids[400], truth[400], elements[20] = { 0 }, total = 0;
		unsigned count = 0;
		vm_init_layout(&vm, layouts[v].kind, layouts[v].id_width, layouts[v].header, layouts[v].reference);
		const uint64_t small = vm_define(&vm, "Small", vm.object, "b:Z"),
			       node = vm_define(&vm, "Node", vm.object, "a:L b:L c:J"),
			       sub = vm_define(&vm, "Sub", node, "d:Z e:L"),
			       objects = vm_define(
				       &vm, vm.kind == VM_ART ? "java.lang.Object[]" : "[Ljava/lang/Object;",
				       vm.object, "");
		for (unsigned i = 0; i < 20; i++) {
			const uint64_t before = vm.next;
			const uint8_t bytes[160] = { 0 };
			ids[count++] = VM_NEW(&vm, small, 1);
			ids[count++] = VM_NEW(&vm, node, before);
			ids[count++] = VM_NEW(&vm, sub, 1, before);
			ids[count++] = vm_object_array(&vm, objects, elements, i);
			ids[count++] = vm_primitive_array(&vm, TYPE_BYTE, bytes, i);
			ids[count++] = vm_primitive_array(&vm, TYPE_INT, bytes, i);
			ids[count++] = vm_primitive_array(&vm, TYPE_LONG, bytes, i);
			vm_string(&vm, "between");
		}
		for (unsigned i = 0; i < count; i++)
			truth[i] = i + 1 < count && i % 7 != 6 ? ids[i + 1] - ids[i] : 0;
		opened_vm(&o, &vm, layouts[v].kind == VM_ART ? "JAVA PROFILE 1.0.3" : "JAVA PROFILE 1.0.2");
		for (unsigned i = 0; i < count; i++) {
			struct object object;
			need_object(&o, ids[i], &object);
			if (truth[i] && object_size(&o.heaps[0], &object) != truth[i])
				fail_msg("layout %zu: %s of length %u has %ju bytes, not %ju", v,
					 object.class->name.text, object.length,
					 (uintmax_t)object_size(&o.heaps[0], &object), (uintmax_t)truth[i]);
		}
		/* The totals of a class are its objects' sum. */
		for (uint32_t i = 0; i < o.heaps[0].class_count; i++) {
			const struct class *class = &o.heaps[0].classes[i];
			struct cursor cursor;
			struct object object;
			total = 0;
			for (cursor_seek(&cursor, &o.heaps[0], class, 0); cursor_next(&cursor);)
				total += heap_object(&o.heaps[0], cursor.offset, &object)
						 ? object_size(&o.heaps[0], &object)
						 : 0;
			if (total != class->shallow)
				fail_msg("layout %zu: %s: %ju and %ju bytes", v, class->name.text, (uintmax_t)total,
					 (uintmax_t)class->shallow);
		}
		opened_close(&o);
	}
}

/* A class padded beyond its fields; garbage behind some of its objects; numbers instead of addresses. */
static void padded_sizes(void **state)
{
	struct vm vm;
	struct opened o;
	(void)state;
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t padded = vm_define(&vm, "Padded", vm.object, "a:I b:Z"),
		       plain = vm_define(&vm, "Plain", vm.object, "a:I");
	for (unsigned i = 0; i < 10; i++) {
		vm_new(&vm, vm_alloc(&vm, i % 3 ? 40 : 400), padded, NULL, 0);
		vm_new(&vm, vm_alloc(&vm, i % 2 ? 16 : 1 << 21), plain, NULL, 0);
	}
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
	assert_int_equal(need_class(&o, "Padded")->size, 40);
	assert_int_equal(need_class(&o, "Plain")->size, 16);
	assert_int_equal(need_class(&o, "Plain")->shallow, 160);
	opened_close(&o);
	vm_init(&vm, VM_AGENT, 4);
	const uint64_t node = vm_define(&vm, "Node", vm.object, "a:L b:L c:J d:Z");
	for (unsigned i = 0; i < 10; i++)
		VM_NEW(&vm, node, 0);
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.1");
	assert_false(o.heaps[0].sizes.addresses);
	assert_true(need_class(&o, "Node")->size >= 8 + 4 + 4 + 8 + 1);
	opened_close(&o);
}

/* What a String takes on Android is its own size and that of the array that lies in it. */
static void android_sizes(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 5, 8, 9, 100 };
	enum { COUNT = sizeof lengths / sizeof *lengths };
	struct vm vm;
	struct opened o;
	uint64_t ids[2 * COUNT], ends[2 * COUNT];
	(void)state;
	vm_init(&vm, VM_ART, 4);
	for (unsigned i = 0; i < 2 * COUNT; i++) {
		uint16_t units[100];
		for (unsigned j = 0; j < 100; j++)
			units[j] = i < COUNT ? 'a' : 0x4e00;
		ids[i] = vm_string_units(&vm, units, lengths[i % COUNT]);
		ends[i] = vm.next;
	}
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.3");
	for (unsigned i = 0; i < 2 * COUNT; i++) {
		struct object string, value;
		need_object(&o, ids[i], &string);
		assert_true(object_field(&o.heaps[0], &string, "value", &value));
		assert_int_equal(object_size(&o.heaps[0], &string) + object_size(&o.heaps[0], &value),
				 ends[i] - ids[i]);
	}
	opened_close(&o);
}

static void roots(void **state)
{
	static const uint8_t tags[] = { ROOT_JNI_GLOBAL,   ROOT_JNI_LOCAL,    ROOT_JAVA_FRAME,
					ROOT_NATIVE_STACK, ROOT_STICKY_CLASS, ROOT_THREAD_BLOCK,
					ROOT_MONITOR_USED, ROOT_THREAD_OBJ,   ROOT_UNKNOWN };
	/* The thread and its name are rooted apart. */
	static const size_t counts[] = { 1, 1, 2, 1, 1, 1, 1, 2, 1 };
	struct opened o;
	size_t first, all = 0;
	(void)state;
	opened_sample(&o, "jvm");
	const struct roots *found = heap_roots(&o.heaps[0]);
	for (size_t i = 0; i < sizeof tags; i++) {
		assert_int_equal(roots_of(found, tags[i], &first), counts[i]);
		all += counts[i];
		for (size_t j = first; j < first + counts[i]; j++) {
			struct object object;
			assert_int_equal(found->list[j].tag, tags[i]);
			assert_int_equal(read_id(o.in.data + found->list[j].offset, 8), found->list[j].id);
			assert_true(class_find(&o.heaps[0], found->list[j].id) ||
				    heap_find(&o.heaps[0], found->list[j].id, &object));
		}
	}
	assert_int_equal(found->count, all);
	assert_int_equal(roots_of(found, ROOT_DEBUGGER, &first), 0);
	assert_ptr_equal(heap_roots(&o.heaps[0]), found);
	opened_close(&o);
}

/* The first of two equal ids lies where ids rise, the second where they do not. */
static void mixed_duplicates(void **state)
{
	struct vm vm;
	struct opened o;
	(void)state;
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t node = vm_define(&vm, "com/example/Node", vm.object, "number:I");
	for (uint64_t i = 0; i < 100; i++)
		vm_new(&vm, 0x700100000 + 16 * i, node, &i, 1);
	for (uint64_t i = 0; i < 400; i++)
		vm_new(&vm, 0x700800000 - 16 * i, node, &i, 1);
	vm_new(&vm, 0x700100000, node, (uint64_t[]){ 1000 }, 1);
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
	const struct index *ix = &o.heaps[0].scan.index;
	assert_in_range(ix->dense_count, 300, 401);
	assert_in_range(ix->sparse_count, 1, 100);
	assert_int_equal(ix->duplicates, 1);
	assert_int_equal(o.notes.count, 1);
	opened_close(&o);
}

/* Of equal ids the first in the file is found; the others keep their rank. */
static void duplicates(void **state)
{
	struct opened o;
	struct object object;
	struct cursor cursor;
	(void)state;
	opened_sample(&o, "duplicates");
	const struct heap *heap = &o.heaps[0];
	const struct class *node = need_class(&o, "com.example.Node");
	assert_int_equal(heap->scan.index.duplicates, 4);
	assert_int_equal(node->count, 303);
	cursor_seek(&cursor, heap, node, 300);
	assert_true(cursor_next(&cursor));
	need_object(&o, cursor.id, &object);
	assert_true(object.offset < cursor.offset);
	assert_int_equal(object_rank(heap, &object), 299);
	assert_true(heap_object(heap, cursor.offset, &object));
	assert_int_equal(object_rank(heap, &object), 300);
	opened_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),	cmocka_unit_test(shared_characters),
		cmocka_unit_test(fields),	cmocka_unit_test(statics),
		cmocka_unit_test(classes),	cmocka_unit_test(cycles),
		cmocka_unit_test(ranks),	cmocka_unit_test(sizes),
		cmocka_unit_test(padded_sizes), cmocka_unit_test(android_sizes),
		cmocka_unit_test(roots),	cmocka_unit_test(duplicates), cmocka_unit_test(mixed_duplicates),
	};
	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
