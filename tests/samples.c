/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller samples: other writers' files, damage in every known form, and the large one for benchmarks. */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

/* What each small heap holds: some strings, a linked list, an array. */
static void fill(struct vm *vm, unsigned objects)
{
	static const char *const texts[] = { "", "ascii", "caf\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac",
					     "\xf0\x9f\x98\x80!" };
	const uint64_t node = vm_define(vm, "com/example/Node", vm->object, "next:L text:L number:I");
	uint64_t strings[5], before = 0;
	for (unsigned i = 0; i < 5; i++)
		strings[i] = vm_string(vm, texts[i]);
	for (unsigned i = 0; i < objects; i++)
		before = VM_NEW(vm, node, before, strings[i % 5], i);
	vm_object_array(vm, vm_define(vm, "[Ljava/lang/Object;", vm->object, ""), strings, 5);
	vm_root(vm, ROOT_STICKY_CLASS, vm->string);
	vm_root(vm, ROOT_JNI_GLOBAL, before);
}

static void make_of_kind(struct writer *out, enum vm_kind kind, unsigned id_width, const char *version)
{
	struct vm vm;
	writer_init(out, id_width);
	vm_init(&vm, kind, id_width);
	fill(&vm, 100);
	if (kind == VM_JDK6) {
		/* substring() shares the characters. */
		const uint64_t whole = vm.next;
		vm_string(&vm, "shared characters");
		VM_NEW(&vm, vm.string, whole + vm_size(&vm, vm.string), 7, 10, 0);
	}
	vm_finish(&vm, version, out);
}

static void make_jdk8(struct writer *out)
{
	make_of_kind(out, VM_JDK8, 8, "JAVA PROFILE 1.0.1");
}

static void make_jdk6(struct writer *out)
{
	make_of_kind(out, VM_JDK6, 4, "JAVA PROFILE 1.0.1");
}

static void make_big_endian(struct writer *out)
{
	make_of_kind(out, VM_JDK9_BIG_ENDIAN, 8, "JAVA PROFILE 1.0.2");
}

/* The first heap record's body once more, with one object more, as a dump that was taken later. */
static void make_twice(struct writer *out, enum vm_kind kind, unsigned id_width, unsigned tag, const char *version)
{
	struct vm vm;
	writer_init(out, id_width);
	vm_init(&vm, kind, id_width);
	fill(&vm, 100);
	const size_t body = vm.heap.len - RECORD_HEADER;
	uint8_t *first = malloc(body);
	if (!first)
		abort();
	memcpy(first, vm.heap.data + RECORD_HEADER, body);
	segment_end(&vm.heap);
	if (tag == RECORD_HEAP_DUMP_SEGMENT)
		put_dump_end(&vm.heap);
	segment_begin(&vm.heap, tag);
	put_bytes(&vm.heap, first, body);
	vm_string(&vm, "only in the second dump");
	free(first);
	vm_finish(&vm, version, out);
}

static void make_agent(struct writer *out)
{
	make_twice(out, VM_AGENT, 4, RECORD_HEAP_DUMP, "JAVA PROFILE 1.0.1");
}

static void make_two_dumps(struct writer *out)
{
	make_twice(out, VM_JDK9, 8, RECORD_HEAP_DUMP_SEGMENT, "JAVA PROFILE 1.0.2");
}

static void make_unordered(struct writer *out)
{
	enum { COUNT = 20000 };
	struct vm vm;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t node = vm_define(&vm, "com/example/Node", vm.object, "next:L text:L number:I");
	uint64_t *ids = calloc(COUNT, sizeof *ids);
	if (!ids)
		abort();
	for (unsigned i = 0; i < COUNT; i++)
		ids[i] = vm_alloc(&vm, vm_size(&vm, node));
	uint64_t random = 1;
	for (unsigned i = COUNT; i-- > 1;) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		const unsigned other = (unsigned)((random >> 33) % (i + 1));
		const uint64_t id = ids[i];
		ids[i] = ids[other];
		ids[other] = id;
	}
	for (unsigned i = 0; i < COUNT; i++)
		vm_new(&vm, ids[i], node, (uint64_t[]){ i ? ids[i - 1] : 0, 0, i }, 3);
	vm_root(&vm, ROOT_JNI_GLOBAL, ids[COUNT - 1]);
	free(ids);
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}

static void make_duplicates(struct writer *out)
{
	struct vm vm;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t node = vm_define(&vm, "com/example/Node", vm.object, "next:L text:L number:I");
	uint64_t first = 0, last = 0;
	for (unsigned i = 0; i < 300; i++) {
		last = VM_NEW(&vm, node, last, 0, i);
		first = first ? first : last;
	}
	vm_new(&vm, last, node, (uint64_t[]){ 0, 0, 1000 }, 3);		/* right behind */
	vm_new(&vm, first, node, (uint64_t[]){ 0, 0, 1001 }, 3);	/* far behind */
	vm_new(&vm, first, vm.object, NULL, 0);			/* of another class */
	vm_new(&vm, vm.string, node, (uint64_t[]){ 0, 0, 1002 }, 3);	/* as a class */
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}

static void make_empty(struct writer *out)
{
	writer_init(out, 8);
	put_header(out, "JAVA PROFILE 1.0.2");
}

/* --- damage --- */

/* A heap in three parts of DAMAGE_OBJECTS nodes each: the classes and first part, then two more segments. */
struct broken {
	struct vm vm;
	uint64_t node;
};

static void add_nodes(struct broken *b)
{
	for (unsigned i = 0; i < DAMAGE_OBJECTS; i++)
		VM_NEW(&b->vm, b->node, b->vm.next, 0, i);
}

static void start_broken(struct broken *b, struct writer *out)
{
	writer_init(out, 8);
	vm_init(&b->vm, VM_JDK9, 8);
	b->node = vm_define(&b->vm, "com/example/Node", b->vm.object, "next:L text:L number:I");
	add_nodes(b);
	vm_segment(&b->vm, RECORD_HEAP_DUMP_SEGMENT);
	add_nodes(b);
}

static void finish_broken(struct broken *b, struct writer *out)
{
	vm_finish(&b->vm, "JAVA PROFILE 1.0.2", out);
}

static void finish_whole(struct broken *b, struct writer *out)
{
	vm_segment(&b->vm, RECORD_HEAP_DUMP_SEGMENT);
	add_nodes(b);
	finish_broken(b, out);
}

/* The writer was killed before it patched the last segment's length. */
static void make_unpatched(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	segment_end_length(&b.vm.heap, 0);
	finish_broken(&b, out);
	out->len -= RECORD_HEADER;
}

/* A length that tells less than there is, by whole sub-records. */
static void make_wrapped(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	const size_t body = b.vm.heap.len - b.vm.heap.record - RECORD_HEADER;
	segment_end_length(&b.vm.heap, (uint32_t)(body / DAMAGE_OBJECTS * 10));
	segment_begin(&b.vm.heap, RECORD_HEAP_DUMP_SEGMENT);
	add_nodes(&b);
	finish_broken(&b, out);
}

/* ART: the last CLASS_DUMP runs past the segment's end, and the next record follows it. */
static void make_overshoot(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	struct writer *heap = &b.vm.heap;
	vm_define(&b.vm, "com/example/Last", b.vm.object, "a:I b:I c:L");
	segment_end_length(heap, (uint32_t)(heap->len - heap->record - RECORD_HEADER - 30));
	segment_begin(heap, RECORD_HEAP_DUMP_SEGMENT);
	add_nodes(&b);
	finish_broken(&b, out);
}

static void make_zeros(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	finish_whole(&b, out);
	put_zeros(out, 100);
}

static void make_unknown_record(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	segment_end(&b.vm.heap);
	put_record(&b.vm.heap, 0x77, "0123456789", 10);
	segment_begin(&b.vm.heap, RECORD_HEAP_DUMP_SEGMENT);
	add_nodes(&b);
	finish_broken(&b, out);
}

static void make_bad_subrecord(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	put_u1(&b.vm.heap, 0x42);
	put_bytes(&b.vm.heap, "\x43\x44\x45\x46\x47\x48\x49", 7);
	add_nodes(&b);
	finish_whole(&b, out);
}

/* In the middle of the last node of the second part. */
static void make_cut(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	finish_broken(&b, out);
	out->len -= RECORD_HEADER + 15;
}

static void make_cut_header(struct writer *out)
{
	make_empty(out);
	out->len = 20;
}

static void make_cycle(struct writer *out)
{
	struct vm vm;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t a = vm_alloc(&vm, 112), b = vm_alloc(&vm, 112), c = vm_alloc(&vm, 112);
	const struct member_spec field = { .name = "f", .type = TYPE_OBJECT };
	const struct class_spec first = {
		.name = "cycle/A", .id = a, .super = b, .fields = &field, .field_count = 1
	};
	vm_class(&vm, &first, true);
	vm_class(&vm, &(struct class_spec){ .name = "cycle/B", .id = b }, false);
	vm_class(&vm, &(struct class_spec){ .name = "cycle/C", .id = c }, false);
	sub_class(&vm.heap, &(struct class_spec){ .id = b, .super = a });
	sub_class(&vm.heap, &(struct class_spec){ .id = c, .super = c });
	const uint64_t classes[] = { a, b, c };
	for (unsigned i = 0; i < 3; i++) {
		sub_instance_begin(&vm.heap, vm_alloc(&vm, 16), classes[i]);
		put_id(&vm.heap, a);
		sub_instance_end(&vm.heap);
	}
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}

static void make_type_0(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	sub_primitive_array(&b.vm.heap, vm_alloc(&b.vm, 32), 0, NULL, 3);
	put_bytes(&b.vm.heap, "\x91\x92\x93", 3);
	add_nodes(&b);
	finish_whole(&b, out);
}

/* Dalvik's array without elements, of no type. */
static void make_nodata_type_0(struct writer *out)
{
	struct broken b;
	start_broken(&b, out);
	sub_array_nodata(&b.vm.heap, vm_alloc(&b.vm, 32), 0, 3);
	add_nodes(&b);
	finish_whole(&b, out);
}

/* One object that 5,000 others refer to, and a list of 200,000 nodes. */
static void make_hub(struct writer *out)
{
	enum { SPOKES = 5000, NODES = 200000 };
	struct vm vm;
	uint64_t *objects = calloc(SPOKES + 1, sizeof *objects), node = 0;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t spoke = vm_define(&vm, "test.Spoke", vm.object, "hub:L"), class = vm_define(&vm, "test.Node", vm.object, "next:L");
	const uint64_t hub = VM_NEW(&vm, vm_define(&vm, "test.Hub", vm.object, ""), 0);
	for (unsigned i = 0; i < SPOKES; i++)
		objects[i] = VM_NEW(&vm, spoke, hub);
	for (unsigned i = 0; i < NODES; i++)
		node = VM_NEW(&vm, class, node);
	objects[SPOKES] = node;
	vm_root(&vm, ROOT_JNI_GLOBAL, vm_object_array(&vm, vm_define(&vm, "java.lang.Object[]", vm.object, ""), objects, SPOKES + 1));
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
	free(objects);
}

const struct sample samples[] = {
	{ "hub", make_hub, "an object that 5,000 refer to; a list of 200,000 nodes" },
	{ "sample", sample_android, "an Android app with pictures" },
	{ "jvm", sample_jvm, "every oddity of names, strings and references" },
	{ "leaks-android", sample_leaks_android, "what has ended and is held, of each kind, and what looks alike" },
	{ "leaks-jvm", sample_leaks_jvm, "what dominates much; class loaders that one thread or static has" },
	{ "jdk8", make_jdk8, "Strings as char[]; one HEAP_DUMP, 1.0.1" },
	{ "jdk6", make_jdk6, "Strings with offset and count, 4-byte ids" },
	{ "bigendian", make_big_endian, "UTF-16 in byte[] of a big-endian machine" },
	{ "agent", make_agent, "ids that are numbers, two HEAP_DUMPs" },
	{ "two-segments-dumps", make_two_dumps, "two dumps made of segments" },
	{ "unordered", make_unordered, "20,000 objects whose ids do not rise" },
	{ "duplicates", make_duplicates, "objects with equal ids" },
	{ "empty", make_empty, "a header only" },
	{ "unpatched", make_unpatched, "last segment's length 0" },
	{ "wrapped", make_wrapped, "a segment longer than it says" },
	{ "overshoot", make_overshoot, "a CLASS_DUMP past its segment's end" },
	{ "zeros-appended", make_zeros, "100 zero bytes at the end" },
	{ "unknown-record", make_unknown_record, "tag 0x77 between segments" },
	{ "bad-subrecord", make_bad_subrecord, "8 bytes of junk between sub-records" },
	{ "cut", make_cut, "the file ends inside an instance" },
	{ "cut-header", make_cut_header, "the file ends inside its header" },
	{ "cycle", make_cycle, "classes that are their own superclass" },
	{ "prim-array-type-0", make_type_0, "an array of no type" },
	{ "nodata-type-0", make_nodata_type_0, "an array of no type, without elements" },
	{ "equal", sample_equal, "equal texts and arrays, system properties" },
	{ "diff-before", sample_diff_before, "a program, to be compared with the next two" },
	{ "diff-after", sample_diff_after, "the same later on" },
	{ "diff-other", sample_diff_other, "that in another process" },
	{ "equal-art", sample_equal_art, "the same where characters lie inside Strings" },
	{ "equal-jdk6", sample_equal_jdk6, "the same where substrings share characters" },
	{ "bitmaps-10", sample_bitmaps_10, "pictures in native memory, Android 2.3" },
	{ "bitmaps-16", sample_bitmaps_16, "pixels in mBuffer, int pointers" },
	{ "bitmaps-19", sample_bitmaps_19, "the same with mIsPremultiplied" },
	{ "bitmaps-22", sample_bitmaps_22, "pixels in mBuffer, long pointers" },
	{ "bitmaps-24", sample_bitmaps_24, "the same as mNativePtr" },
	{ "bitmaps-28", sample_bitmaps_28, "pictures in native memory, Android 9" },
	{ "bitmaps-35", sample_bitmaps_35, "dumpData with pictures of every form" },
	{ "bitmaps-35-without", sample_bitmaps_35_without, "dumpData is null" },
	{ "bitmaps-36", sample_bitmaps_36, "dumpData with sizes; mId and mSourceId" },
	{ "bitmaps-mixed", sample_bitmaps_mixed, "dumpData and mBuffer" },
	{ "bitmaps-large", sample_bitmaps_large, "the same, each of many pages" },
	{ "bitmaps-recycled", sample_bitmaps_recycled, "Bitmaps that are all recycled" },
	{ "bitmaps-refused", sample_bitmaps_refused, "a picture that does not fit" },
	{ "collections", sample_collections, "collections of JDK 8 and later" },
	{ "collections-6", sample_collections_6, "those that JDK 6 kept in other ways" },
	{ "collections-android", sample_collections_android, "Harmony's and android.util's" },
	{ "collections-broken", sample_collections_broken, "maps that run in circles, lie, or lack their table" },
	{ "bitmaps-none", sample_bitmaps_none, "a picture, but no Bitmap" },
	{ "threads", sample_threads, "threads, stacks and locals, whole and damaged" },
	{ "many-threads", sample_many_threads, "5,000 threads" },
};
const size_t sample_count = sizeof samples / sizeof *samples;

bool sample_make(const char *kind, struct writer *out)
{
	for (size_t i = 0; i < sample_count; i++)
		if (!strcmp(samples[i].kind, kind)) {
			samples[i].make(out);
			return true;
		}
	return false;
}

int sample_big(uint64_t objects, const char *path)
{
	struct vm vm;
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t array = vm_define(&vm, "[Ljava/lang/Object;", vm.object, "");
	uint64_t classes[16], recent[16] = { 0 };
	for (unsigned i = 0; i < 16; i++) {
		char name[40];
		snprintf(name, sizeof name, "com/example/Item%u", i);
		classes[i] = vm_define(&vm, name, vm.object, i % 2 ? "next:L other:L id:J" : "next:L flags:I");
	}
	if (vm_to_file(&vm, "JAVA PROFILE 1.0.2", path, 1 << 20))
		return -1;
	static const uint8_t bytes[512];
	for (uint64_t i = 0; i < objects;) {
		const uint64_t before = recent[(i * 7) % 16];
		uint64_t *slot = &recent[i % 16];
		switch (i % 8) {
		case 0: {
			char text[32];
			snprintf(text, sizeof text, "item %llu", (unsigned long long)i);
			*slot = vm_string(&vm, text);
			i += 2;
			continue;
		}
		case 3:
			*slot = vm_object_array(&vm, array, recent, (uint32_t)(i / 8 % 16));
			break;
		case 5:
			*slot = vm_primitive_array(&vm, TYPE_BYTE, bytes, (uint32_t)(i / 8 % 200));
			break;
		default:
			/* Classes take turns in stretches, as programs allocate in phases. */
			*slot = VM_NEW(&vm, classes[i / 32768 % 16], before, before, i);
		}
		i++;
	}
	for (unsigned i = 0; i < 16; i++)
		vm_root(&vm, ROOT_JNI_GLOBAL, recent[i]);
	return vm_end_file(&vm);
}
