/* SPDX-License-Identifier: Apache-2.0 */
/* Records and sub-records: what is found in whole files, and what is found and said of damaged ones. */
#include "fixture.h"

#include "hprof/mutf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODE_BYTES (9 + 2 * 8 + 20)	/* an instance of the damaged samples' class */

/* Offset of the nth heap record, by lengths alone. */
static uint64_t heap_record(const struct opened *o, unsigned n)
{
	uint64_t at = 31;
	for (;;) {
		const uint8_t *p = input_at(&o->in, at, RECORD_HEADER);
		assert_non_null(p);
		if ((*p == RECORD_HEAP_DUMP || *p == RECORD_HEAP_DUMP_SEGMENT) && !n--)
			return at;
		at += RECORD_HEADER + be32(p + 5);
	}
}

static void whole_files(void **state)
{
	static const struct {
		const char *kind, *version;
		unsigned id_width;
		size_t dumps;
		uint64_t objects[2];
	} table[] = {
		{ "empty", "JAVA PROFILE 1.0.2", 8, 0, { 0 } },
		{ "jdk8", "JAVA PROFILE 1.0.1", 8, 1, { 10 + 100 + 1 } },
		{ "jdk6", "JAVA PROFILE 1.0.1", 4, 1, { 10 + 100 + 1 + 3 } },
		{ "bigendian", "JAVA PROFILE 1.0.2", 8, 1, { 10 + 100 + 1 } },
		{ "agent", "JAVA PROFILE 1.0.1", 4, 2, { 111, 113 } },
		{ "two-segments-dumps", "JAVA PROFILE 1.0.2", 8, 2, { 111, 113 } },
		{ "unordered", "JAVA PROFILE 1.0.2", 8, 1, { 20000 } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct opened o;
		opened_sample(&o, table[i].kind);
		assert_string_equal(o.hprof.version, table[i].version);
		assert_int_equal(o.hprof.id_width, table[i].id_width);
		assert_int_equal(o.hprof.time_ms, UINT64_C(1767225600000));
		assert_int_equal(o.hprof.dump_count, table[i].dumps);
		assert_int_equal(o.notes.count, 0);
		for (unsigned d = 0; d < o.heap_count; d++)
			assert_int_equal(o.heaps[d].scan.index.object_count, table[i].objects[d]);
		opened_close(&o);
	}
}

static void bad_headers(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *says;
	} table[] = {
		{ "JAVA PROFILE 1.0.2\0\0\0", 20, "the file ends inside the HPROF header" },
		{ "JAVA PROFILE 1.0.2", 18, "the file ends inside the HPROF header" },
		{ "JAVA PROFILE 1.0.9\0\0\0\0\4\0\0\0\0\0\0\0\0", 31, "1.0.9" },
		{ "JAVA PROFILE 1.0\0\0\0\0\4\0\0\0\0\0\0\0\0", 29, "JAVA PROFILE 1.0" },
		{ "JAVA PROFILE 1.0.2\0\0\0\0\5\0\0\0\0\0\0\0\0", 31, "identifier size 5 at byte 19" },
		{ "JAVA PROFILE 1.0.2\0\0\0\0\0\0\0\0\0\0\0\0\0", 31, "identifier size 0" },
		{ "JAVA", 4, "not an HPROF file" },
		{ "PK\3\4 some zip archive", 21, "not an HPROF file" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct opened o;
		assert_int_equal(opened_bytes(&o, table[i].bytes, table[i].len, 1), -1);
		if (!strstr(o.error, table[i].says))
			fail_msg("\"%s\" does not say \"%s\"", o.error, table[i].says);
		opened_close(&o);
	}
}

/* What is said of each damage, and that all objects outside of it are found. */
static void damage(void **state)
{
	enum { N = DAMAGE_OBJECTS };
	static const struct {
		const char *kind, *note;
		uint64_t objects;
		unsigned record;	/* the note's offset: in this heap record, */
		uint64_t offset;	/* so far from its header; */
		uint64_t from_end;	/* or this far before the end of the file */
		uint64_t bytes;		/* not shown */
		bool ended;
		size_t notes;
	} table[] = {
		{ "unpatched", "a heap segment's length was never written", 2 * N, 1, 0, 0, 0, false, 1 },
		{ "wrapped", "a heap segment is longer than its length says", 3 * N, 1, 0, 0, 0, true, 1 },
		{ "overshoot", "a heap segment is longer than its length says", 3 * N, 1, 0, 0, 0, true, 1 },
		{ "zeros-appended", "bytes after the last record", 3 * N, 0, 0, 100, 100, true, 1 },
		{ "unknown-record", "a record of an unknown kind", 3 * N, 1, 9 + N * NODE_BYTES, 0, 10, true, 1 },
		{ "bad-subrecord", "damaged sub-records", 4 * N, 1, 9 + N * NODE_BYTES, 0, 8, true, 1 },
		{ "prim-array-type-0", "damaged sub-records", 4 * N, 1, 9 + N * NODE_BYTES, 0, 10 + 8 + 3, true,
		  1 },
		{ "nodata-type-0", "damaged sub-records", 4 * N, 1, 9 + N * NODE_BYTES, 0, 10 + 8, true, 1 },
		{ "cut", "the file ends inside a heap segment", 2 * N - 1, 1, 0, 0, 0, false, 2 },
		{ "cut", "the dump is cut inside a sub-record", 2 * N - 1, 0, 0, NODE_BYTES - 15, NODE_BYTES - 15,
		  false, 2 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct opened o;
		opened_sample(&o, table[i].kind);
		const struct note *note = opened_note(&o, table[i].note);
		if (!note)
			fail_msg("%s: no note \"%s\"", table[i].kind, table[i].note);
		const uint64_t offset = table[i].from_end ? o.in.size - table[i].from_end :
							    heap_record(&o, table[i].record) + table[i].offset;
		if (note->offset != offset || note->bytes != table[i].bytes || note->count != 1)
			fail_msg("%s: noted at %ju, %ju bytes, %ju times", table[i].kind, (uintmax_t)note->offset,
				 (uintmax_t)note->bytes, (uintmax_t)note->count);
		if (o.notes.count != table[i].notes || o.hprof.dump_count != 1 || o.hprof.ended != table[i].ended)
			fail_msg("%s: %zu notes, %zu dumps", table[i].kind, o.notes.count, o.hprof.dump_count);
		if (o.heaps[0].scan.index.object_count != table[i].objects)
			fail_msg("%s: %ju objects", table[i].kind, (uintmax_t)o.heaps[0].scan.index.object_count);
		if (!strcmp(table[i].kind, "overshoot"))
			assert_non_null(class_by_name(&o.heaps[0], "com.example.Last"));
		opened_close(&o);
	}
}

/* One flipped bit in the length of the first name: only that name is lost. */
static void damaged_length(void **state)
{
	struct writer w;
	struct opened whole, o;
	(void)state;
	opened_sample(&whole, "duplicates");
	assert_true(sample_make("duplicates", &w));
	assert_int_equal(w.data[31], RECORD_UTF8);
	w.data[31 + 5] ^= 0x40;
	opened_writer(&o, &w);
	const struct note *note = opened_note(&o, "a record of a damaged length");
	assert_non_null(note);
	assert_int_equal(note->offset, 31);
	assert_int_equal(o.hprof.utf8.count, whole.hprof.utf8.count - 1);
	assert_int_equal(o.heaps[0].class_count, whole.heaps[0].class_count);
	assert_int_equal(o.heaps[0].scan.index.object_count, whole.heaps[0].scan.index.object_count);
	opened_close(&o);
	opened_close(&whole);
}

/* Dumps that cost more than the whole file could be worth are left out, and counted; here all are empty. */
static void many_dumps(void **state)
{
	struct writer w;
	struct opened o;
	(void)state;
	writer_init(&w, 4);
	put_header(&w, "JAVA PROFILE 1.0.1");
	for (uint32_t i = 1; i < 2000; i++)
		put_load_class(&w, i, 0x1000 + 8 * i, 0);
	for (unsigned i = 0; i < 600; i++)
		put_record(&w, RECORD_HEAP_DUMP, "", 0);
	opened_writer(&o, &w);
	assert_int_equal(o.hprof.dump_count, DUMP_CLASSES_MOST / 2000 + 1);
	assert_non_null(opened_note(&o, "more heap dumps than can be shown"));
	opened_close(&o);
}

/* A file that ends anywhere opens, and shows all objects that are whole. */
static void every_cut(void **state)
{
	struct writer whole;
	(void)state;
	assert_true(sample_make("two-segments-dumps", &whole));
	uint64_t before = 0;
	for (size_t len = 31; len <= whole.len; len += len < 2500 ? 1 : 7) {
		struct opened o;
		uint64_t objects = 0;
		assert_int_equal(opened_bytes(&o, whole.data, len, 1), 0);
		for (unsigned i = 0; i < o.heap_count; i++)
			objects += o.heaps[i].scan.index.object_count;
		if (objects < before)
			fail_msg("%ju objects in the first %zu bytes, %ju in fewer", (uintmax_t)objects, len,
				 (uintmax_t)before);
		before = objects;
		opened_close(&o);
	}
	writer_free(&whole);
}

/* Segments that other records part are all read; those of length 0 do not count. */
static void parted_segments(void **state)
{
	struct writer w;
	struct opened o;
	(void)state;
	writer_init(&w, 4);
	put_header(&w, "JAVA PROFILE 1.0.2");
	put_load_class(&w, 1, 0x100, put_name(&w, "Node"));
	for (unsigned i = 0; i < 20; i++) {
		segment_begin(&w, RECORD_HEAP_DUMP_SEGMENT);
		for (unsigned j = 0; i % 5 && j < i % 3; j++) {
			sub_instance_begin(&w, 0x1000 + 0x100 * i + 8 * j, 0x100);
			sub_instance_end(&w);
		}
		segment_end(&w);
		if (i % 4 == 3)
			put_frame(&w, i, 1, 1, 0, 1, -1);
	}
	put_dump_end(&w);
	opened_writer(&o, &w);
	assert_int_equal(o.notes.count, 0);
	assert_int_equal(o.hprof.dump_count, 1);
	assert_int_equal(o.hprof.records[RECORD_HEAP_DUMP_SEGMENT], 20);
	uint64_t objects = 0;
	for (unsigned i = 0; i < 20; i++)
		objects += i % 5 ? i % 3 : 0;
	assert_int_equal(o.heaps[0].scan.index.object_count, objects);
	opened_close(&o);
}

/* Every tag at every length: never a byte read past the end, never a size that is not the true one. */
static void check_size(const struct writer *w, unsigned id_width)
{
	for (size_t left = 0; left <= w->len; left++) {
		struct guarded g;
		guarded_make(&g, w->data, left);
		const uint64_t size = subrecord_size(g.data, left, id_width);
		if (left == w->len ? size != left : size != SUBRECORD_CUT && size != w->len)
			fail_msg("tag 0x%02x, id size %u, %zu of %zu bytes: size %ju", w->data[0], id_width, left,
				 w->len, (uintmax_t)size);
		guarded_free(&g);
	}
}

static void subrecord_sizes(void **state)
{
	static const uint64_t elements[3] = { 1, 2, 3 };
	static const struct member_spec members[] = { { .type = TYPE_OBJECT }, { .type = TYPE_BOOLEAN },
						      { .type = TYPE_LONG }, { .type = TYPE_CHAR } };
	(void)state;
	for (unsigned I = 4; I <= 8; I += 4) {
		struct writer w;
		for (unsigned tag = 0; tag < 256; tag++) {
			if (!subrecord_is_root(tag))
				continue;
			writer_init(&w, I);
			sub_root(&w, tag, 1, 2, 3, 4);
			check_size(&w, I);
			writer_free(&w);
		}
		for (unsigned i = 0; i < 16; i++) {
			const struct class_spec spec = { .id = 1,
							 .statics = members,
							 .static_count = i & 3,
							 .fields = members,
							 .field_count = i >> 2,
							 .pool = members,
							 .pool_count = i & 1 };
			writer_init(&w, I);
			sub_class(&w, &spec);
			check_size(&w, I);
			writer_free(&w);
		}
		for (unsigned type = 0; type < 20; type++) {
			writer_init(&w, I);
			sub_primitive_array(&w, 1, type, NULL, 3);
			if (type >= TYPE_BOOLEAN && type < TYPE_COUNT)
				check_size(&w, I);
			else
				assert_int_equal(subrecord_size(w.data, w.len, I), SUBRECORD_BAD);
			writer_free(&w);
		}
		writer_init(&w, I);
		sub_instance_begin(&w, 1, 2);
		put_zeros(&w, 11);
		sub_instance_end(&w);
		check_size(&w, I);
		w.len = 0;
		sub_object_array(&w, 1, 2, elements, 3);
		check_size(&w, I);
		w.len = 0;
		sub_array_nodata(&w, 1, TYPE_INT, 1000);
		check_size(&w, I);
		w.len = 0;
		sub_info(&w, 'A', 7);
		check_size(&w, I);
		/* Lengths that only 64 bits hold. */
		w.len = 0;
		sub_primitive_array(&w, 1, TYPE_LONG, NULL, 0);
		patch_u4(&w, 5 + I, 0xffffffff);
		assert_int_equal(subrecord_size(w.data, w.len, I), 10 + I + UINT64_C(0xffffffff) * 8);
		w.len = 0;
		sub_object_array(&w, 1, 2, NULL, 0);
		patch_u4(&w, 5 + I, 0xffffffff);
		assert_int_equal(subrecord_size(w.data, w.len, I), 9 + 2 * I + UINT64_C(0xffffffff) * I);
		writer_free(&w);
	}
	for (unsigned tag = 0; tag < 256; tag++) {
		const bool known = subrecord_is_root(tag) || (tag >= SUB_CLASS_DUMP && tag <= SUB_PRIM_ARRAY_DUMP) ||
				   tag == SUB_PRIM_ARRAY_NODATA || tag == SUB_HEAP_DUMP_INFO;
		const uint8_t bytes[100] = { (uint8_t)tag };
		if (!known)
			assert_int_equal(subrecord_size(bytes, sizeof bytes, 8), SUBRECORD_BAD);
	}
}

static void modified_utf8(void **state)
{
	static const struct {
		const char *in, *out;
		size_t in_len, out_len;
	} table[] = {
		{ "plain", "plain", 5, 5 },
		{ "", "", 0, 0 },
		{ "a\xc0\x80z", "a\0z", 4, 3 },
		{ "\xc3\xa9\xe6\x97\xa5", "\xc3\xa9\xe6\x97\xa5", 5, 5 },
		{ "\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80", 6, 4 },
		{ "\xed\xa0\xbd", "\xed\xa0\xbd", 3, 3 },		/* lone high */
		{ "\xed\xb8\x80", "\xed\xb8\x80", 3, 3 },		/* lone low */
		{ "\xed\xb8\x80\xed\xa0\xbd", "\xed\xb8\x80\xed\xa0\xbd", 6, 6 },
		{ "\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80", "\xed\xa0\xbd\xf0\x9f\x98\x80", 9, 7 },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 4, 4 },	/* not modified, but common */
		{ "\xff\xfe", "\xff\xfe", 2, 2 },
		{ "\xc0", "\xc0", 1, 1 },
		{ "\xe6\x97", "\xe6\x97", 2, 2 },			/* cut */
		{ "\xed\xa0\xbd\xed\xb8", "\xed\xa0\xbd\xed\xb8", 5, 5 },
		{ "\xc1\x81", "\xc1\x81", 2, 2 },			/* overlong */
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct guarded g;
		char out[16];
		guarded_make(&g, table[i].in, table[i].in_len);
		assert_int_equal(mutf8_to_utf8(g.data, g.len, out), table[i].out_len);
		assert_memory_equal(out, table[i].out, table[i].out_len);
		/* In place. */
		assert_int_equal(mutf8_to_utf8(g.data, g.len, (char *)g.data), table[i].out_len);
		assert_memory_equal(g.data, table[i].out, table[i].out_len);
		guarded_free(&g);
	}
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		char bytes[4];
		uint32_t again = 0;
		const unsigned len = utf8_encode(code, bytes);
		assert_int_equal(utf8_decode((const uint8_t *)bytes, len, &again), len);
		assert_int_equal(again, code);
		if (len > 1)
			assert_int_equal(utf8_decode((const uint8_t *)bytes, len - 1, &again), 0);
	}
}

static void varints(void **state)
{
	static const struct {
		uint8_t bytes[12];
		unsigned len, used;
		uint64_t value;
	} table[] = {
		{ { 0 }, 1, 1, 0 },
		{ { 0x7f }, 1, 1, 127 },
		{ { 0x80, 1 }, 2, 2, 128 },
		{ { 0xff, 0xff, 0xff, 0xff, 0x0f }, 5, 5, UINT32_MAX },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, 10, 10, UINT64_MAX },
		{ { 5, 6 }, 2, 1, 5 },
		{ { 0 }, 0, 0, 0 },
		{ { 0x80 }, 1, 1, 0 },	/* cut */
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct guarded g;
		guarded_make(&g, table[i].bytes, table[i].len);
		const uint8_t *p = g.data;
		assert_int_equal(varint_read(&p, g.data + g.len), table[i].value);
		assert_int_equal(p - g.data, table[i].used);
		guarded_free(&g);
	}
}

static void names(void **state)
{
	struct writer w;
	struct opened o;
	uint32_t len;
	(void)state;
	writer_init(&w, 4);
	put_header(&w, "JAVA PROFILE 1.0.2");
	w.next_name = 900;
	put_name(&w, "late");
	w.next_name = 5;
	put_name(&w, "early");
	w.next_name = 5;
	put_name(&w, "the second of an id");
	put_name(&w, "");
	put_load_class(&w, 1, 0x200, 900);
	put_load_class(&w, 2, 0x100, 5);
	opened_writer(&o, &w);
	assert_memory_equal(hprof_utf8(&o.hprof, 5, &len), "early", 5);
	assert_int_equal(len, 5);
	assert_memory_equal(hprof_utf8(&o.hprof, 900, &len), "late", 4);
	hprof_utf8(&o.hprof, 6, &len);
	assert_int_equal(len, 0);
	assert_null(hprof_utf8(&o.hprof, 7, &len));
	assert_int_equal(load_class_name(&o.hprof, id_table_find(&o.hprof.load_class, 0x100)), 5);
	assert_int_equal(id_table_find(&o.hprof.load_class, 0x300), 0);
	opened_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files),	   cmocka_unit_test(bad_headers),
		cmocka_unit_test(damage),	   cmocka_unit_test(every_cut),
		cmocka_unit_test(parted_segments), cmocka_unit_test(subrecord_sizes),
		cmocka_unit_test(modified_utf8),   cmocka_unit_test(varints),
		cmocka_unit_test(names),	   cmocka_unit_test(damaged_length),
		cmocka_unit_test(many_dumps),
	};
	return cmocka_run_group_tests_name("hprof", tests, NULL, NULL);
}
