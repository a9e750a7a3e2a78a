/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers without a mount: every truncation of a small trace and of small gzip files, odd bytes as fields and as
 * beginnings of files, a disk that is too small, pictures of several dumps.
 */
#include "containers.h"

#include "android/bitmap.h"
#include "input/proto.h"
#include "input/sniff.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cmocka.h>

/* The same as protoc encodes it: protoc --decode=heapfs.perfetto.Trace shows it. */
static void trace_by_hand(void **state)
{
	static const uint8_t first[] = {
		0x0a, 0x34,			/* Trace.packet, 52 bytes */
		0x50, 0x01,			/* trusted_packet_sequence_id: 1 */
		0x8a, 0x08, 0x2f,		/* hprof_dump, 47 bytes */
		0x08, 0xd2, 0x09,		/* pid: 1234 */
		0x12, 0x28,			/* hprof_data, 40 bytes */
	};
	static const uint8_t behind[] = { 0x18, 0x00 /* chunk_index: 0 */, 0x0a, 0x34 /* the next packet */ };
	struct writer trace;
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	put_payload(&trace);
	assert_memory_equal(trace.data, first, sizeof first);
	assert_memory_equal(trace.data + sizeof first, payload, CHUNK);
	assert_memory_equal(trace.data + sizeof first + CHUNK, behind, sizeof behind);
	assert_int_equal(sniff_content(trace.data, trace.len, true), CONTENT_PERFETTO);
	writer_free(&trace);
}

static void every_truncation_of_a_trace(void **state)
{
	struct writer trace;
	struct opened_container o;
	uint64_t before = 0;
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	put_payload(&trace);
	for (size_t len = 1; len <= trace.len; len++) {
		open_bytes(&o, trace.data, len, NULL);
		const uint64_t got = assert_beginning(&o, payload, PAYLOAD);
		/* More of the trace, more of the dump, from its header's first words on. */
		assert_true(got >= before);
		assert_true(len < 30 || got);
		if (!o.rc && len < trace.len)
			assert_true(o.container.notes.count || o.container.trace.dumps[0].notes.count);
		before = got;
		container_close(&o.container);
	}
	assert_int_equal(before, PAYLOAD);
	assert_int_equal(o.rc, 0);
	writer_free(&trace);
}

/* --- gzip --- */

/* One member, three, and three as the JVM writes them. */
static void make_gzip(struct writer *w, unsigned shape)
{
	writer_init(w, 4);
	make_payload();
	for (unsigned at = 0; at < PAYLOAD;) {
		const unsigned len = shape == 0 ? PAYLOAD : PAYLOAD - at < CHUNK ? PAYLOAD - at : CHUNK;
		put_member(w, payload + at, len, shape == 2 && !at ? "HPROF BLOCKSIZE=1048576" : NULL);
		at += len;
	}
}

static void every_truncation_of_gzip(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < 3; shape++) {
		struct writer gzip;
		struct opened_container o;
		uint64_t before = 0;
		make_gzip(&gzip, shape);
		for (size_t len = 1; len <= gzip.len; len++) {
			open_bytes(&o, gzip.data, len, NULL);
			const uint64_t got = assert_beginning(&o, payload, PAYLOAD);
			assert_true(got >= before);
			/* A file may end between two members. */
			if (!o.rc && len < gzip.len && got % CHUNK)
				assert_non_null(find_note(&o.container.notes, "the gzip data is cut"));
			before = got;
			container_close(&o.container);
		}
		assert_int_equal(before, PAYLOAD);
		assert_int_equal(o.rc, 0);
		writer_free(&gzip);
	}
}

/* Any byte of the JVM's members wrong: that costs the bytes of its member, and no others stay or move. */
static void every_byte_of_gzip_damaged(void **state)
{
	enum { HEADER = 34 };		/* of the first member, which tells that it is the JVM's */
	struct writer gzip, member;
	size_t ends[3];
	(void)state;
	make_gzip(&gzip, 2);
	writer_init(&member, 4);
	for (unsigned i = 0; i < 3; i++) {
		put_member(&member, payload + CHUNK * i, i < 2 ? CHUNK : PAYLOAD - 2 * CHUNK, i ? NULL : "HPROF BLOCKSIZE=1048576");
		ends[i] = member.len;
	}
	assert_int_equal(member.len, gzip.len);
	for (size_t i = HEADER; i < gzip.len; i++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			struct opened_container o;
			const unsigned hit = i < ends[0] ? 0 : i < ends[1] ? 1 : 2;
			gzip.data[i] ^= (uint8_t)(1 << bit);
			open_bytes(&o, gzip.data, gzip.len, NULL);
			if (o.rc) { /* the dump's own magic is hit */
				assert_int_equal(hit, 0);
			} else {
				const struct input *in = part_of(&o, 0);
				assert_true(hit == 2 ? in->size >= 2 * CHUNK : in->size == PAYLOAD);
				for (unsigned j = 0; j < PAYLOAD && j < in->size; j++)
					if (j / CHUNK != hit && in->data[j] != payload[j])
						fail_msg("bit %u of byte %zu: byte %u is wrong", bit, i, j);
			}
			container_close(&o.container);
			gzip.data[i] ^= (uint8_t)(1 << bit);
		}
	writer_free(&gzip);
	writer_free(&member);
}

/* --- fields --- */

static const uint8_t *at;

static bool varint(const char *bytes, size_t len, uint64_t *value)
{
	struct guarded g;
	guarded_make(&g, bytes, len);
	at = g.data;
	const bool good = proto_varint(&at, g.data + len, value);
	assert_true(at <= g.data + len);
	guarded_free(&g);
	return good;
}

static void varints(void **state)
{
	uint64_t value;
	(void)state;
	assert_false(varint("", 0, &value));
	assert_true(varint("\x00", 1, &value) && value == 0);
	assert_true(varint("\x7f", 1, &value) && value == 127);
	assert_true(varint("\xac\x02", 2, &value) && value == 300);
	assert_true(varint("\x80\x80\x00", 3, &value) && value == 0); /* longer than needed */
	assert_false(varint("\x80", 1, &value));
	assert_false(varint("\xff\xff\xff\xff", 4, &value));
	assert_true(varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &value) && value == UINT64_MAX);
	assert_true(varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, &value)); /* bits past the 64th */
	assert_false(varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &value));
}

/* The first field of the message; false if there is none. */
static bool first_field(const char *bytes, size_t len, struct proto_field *field)
{
	struct guarded g;
	guarded_make(&g, bytes, len);
	const uint8_t *p = g.data;
	*field = (struct proto_field){ .number = 0 };
	const bool good = proto_next(&p, g.data + len, field);
	assert_true(p >= g.data && p <= g.data + len);
	if (good && field->data)
		assert_true(field->data >= g.data && field->len <= (uint64_t)(g.data + len - field->data));
	guarded_free(&g);
	return good;
}

static void fields(void **state)
{
	struct proto_field f;
	(void)state;
	assert_false(first_field("", 0, &f));
	assert_true(first_field("\x08\x96\x01", 3, &f) && f.number == 1 && f.type == PROTO_VARINT && f.value == 150);
	assert_true(first_field("\x12\x03xyz", 5, &f) && f.number == 2 && f.type == PROTO_LEN && f.len == 3 && !f.cut);
	assert_true(first_field("\x12\x00", 2, &f) && !f.len && !f.cut);
	assert_true(first_field("\x12\x04xyz", 5, &f) && f.len == 3 && f.cut);
	assert_true(first_field("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12, &f) && f.len == 1 && f.cut);
	assert_true(first_field("\x09" "12345678", 9, &f) && f.type == PROTO_FIXED64 && f.len == 8 && !f.cut);
	assert_true(first_field("\x09" "1234567", 8, &f) && f.cut);
	assert_true(first_field("\x0d" "1234", 5, &f) && f.type == PROTO_FIXED32 && f.len == 4 && !f.cut);
	assert_true(first_field("\x8a\x08\x01x", 4, &f) && f.number == 129);
	assert_false(first_field("\x02\x01x", 3, &f)); /* number 0 */
	assert_false(first_field("\x0b\x0c", 2, &f)); /* a group, */
	assert_false(first_field("\x0c", 1, &f)); /* its end, */
	assert_false(first_field("\x0e\x01", 2, &f)); /* and types that there are not */
	assert_false(first_field("\x0f\x01", 2, &f));
	assert_false(first_field("\x12", 1, &f));
	assert_false(first_field("\x08", 1, &f));
	assert_false(first_field("\x08\x80", 2, &f));
	assert_false(first_field("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, &f));
	assert_false(first_field("\xf8\xff\xff\xff\xff\x01\x00", 7, &f)); /* a number too large */
}

/* --- what bytes are --- */

static void sniff_is(const char *bytes, size_t len, bool whole, enum content expected, const char *what)
{
	struct guarded g;
	guarded_make(&g, bytes, len);
	assert_int_equal(sniff_content(g.data, len, whole), expected);
	if (what) {
		const char *said = sniff_other(g.data, len);
		if (strncmp(said, what, strlen(what)))
			fail_msg("\"%s\" is no \"%s\"", said, what);
	}
	guarded_free(&g);
}

static void beginnings(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *what;
	} others[] = {
		{ "JAVA PROFILE 1.0.1, created Fri Nov", 35, "the text format of the old hprof agent" },
		{ "JAVA PROFILE 2.0\0", 17, "an HPROF file of an unknown version; heapfs reads" },
		{ "JAVA PROFILE 1.", 15, "the beginning of an HPROF file" },
		{ "J", 1, "the beginning of an HPROF file" },
		{ "PK\3\4", 4, "a zip archive" },
		{ "PK\5\6", 4, "an empty zip archive" },
		{ "\x28\xb5\x2f\xfd", 4, "zstd-compressed" },
		{ "BZh9", 4, "bzip2-compressed" },
		{ "\xfd" "7zXZ\0", 6, "xz-compressed" },
		{ "7z\xbc\xaf\x27\x1c", 6, "a 7z archive" },
		{ "\x04\x22\x4d\x18", 4, "lz4-compressed" },
		{ "\0\x12portable heap dump", 20, "an OpenJ9 portable heap dump" },
		{ "0SECTION       TITLE", 20, "an OpenJ9 javacore" },
		{ "\x7f" "ELF", 4, "an ELF file" },
		{ "\x89PNG\r\n", 6, "a PNG picture" },
		{ "SQLite format 3\0", 16, "an SQLite database" },
		{ "%PDF-1.7", 8, "a PDF document" },
		{ "\0\0\0\0\0", 5, "nothing but zero bytes" },
		{ "some text\n", 10, "text" },
		{ "\n", 1, "text" },
		{ "\n\n\n  text that begins with a newline\n", 37, "text" },
		{ "\n{\n\t\"json\": \"caf\xc3\xa9\"\n}\n", 22, "text" },
		{ "\x99\x01\x02\x03", 4, "of an unknown kind" },
		/* As a packet of a trace, but then not another. */
		{ "\x0a\x02\x08\x01\xff\xff\x01\x02", 8, "of an unknown kind" },
		{ "\x0a\x00", 2, NULL },
	};
	char tar[512] = "name";
	(void)state;
	for (size_t i = 0; i + 1 < sizeof others / sizeof *others; i++)
		for (unsigned whole = 0; whole < 2; whole++)
			sniff_is(others[i].bytes, others[i].len, whole, CONTENT_OTHER, others[i].what);
	memcpy(tar + 257, "ustar", 5);
	sniff_is(tar, sizeof tar, true, CONTENT_OTHER, "a tar archive");
	sniff_is(tar, 260, true, CONTENT_OTHER, "of an unknown kind");
	sniff_is("", 0, true, CONTENT_OTHER, NULL);
	sniff_is("JAVA PROFILE 1.0", 16, true, CONTENT_HPROF, NULL);
	sniff_is("JAVA PROFILE 1.0.2\0", 19, true, CONTENT_HPROF, NULL);
	sniff_is("\x1f\x8b", 2, true, CONTENT_GZIP, NULL);
	sniff_is("\xa4\xb3\xc2\xd1", 4, true, CONTENT_LOLI, NULL);
	sniff_is("\xa4\xb3\xc2", 3, true, CONTENT_OTHER, NULL);
	sniff_is("\x1f", 1, true, CONTENT_OTHER, "of an unknown kind");
	/* Traces: two packets; one; one that is empty; one that is cut, behind its first field or in it. */
	sniff_is("\x0a\x02\x08\x01\x0a\x02\x08\x02", 8, true, CONTENT_PERFETTO, NULL);
	sniff_is("\x0a\x02\x40\x05", 4, true, CONTENT_PERFETTO, NULL);
	sniff_is("\x0a\x00\x0a\x00", 4, true, CONTENT_PERFETTO, NULL);
	sniff_is("\x0a\x80\x01\x40\x05\x50\x01", 7, true, CONTENT_PERFETTO, NULL);
	sniff_is("\x0a\x80\x01\x40\x05\x50\x01", 7, false, CONTENT_PERFETTO, NULL);
	sniff_is("\x0a\x80\x80\x40\x8a\x08\xff\xff\x3f\x08\x01", 11, true, CONTENT_PERFETTO, NULL);
}

/* --- a disk that is too small --- */

/* Cut anywhere: what is shown lies within what was unpacked. */
static void no_room(void **state)
{
	static const uint8_t picture[60] = "\x89PNG\r\n\x1a\n";
	struct writer trace, message, packet;
	struct rlimit before, limit;
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	put_payload(&trace);
	for (unsigned i = 0; i < 3; i++) {
		writer_init(&message, 4);
		writer_init(&packet, 4);
		put_number(&message, 1, 1234);
		put_field(&message, 2, "name", 4);
		put_field(&message, 3, picture, sizeof picture);
		put_message(&packet, 2129, &message);
		put_message(&trace, 1, &packet);
	}
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(trace.data, 1, trace.len, file), trace.len);
	assert_int_equal(fclose(file), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	for (unsigned room = 0; room <= PAYLOAD + 3 * sizeof picture; room += 10) {
		const struct container_options options = { .tmpdir = folder, .threads = 1 };
		struct opened_container o;
		limit = (struct rlimit){ room, before.rlim_max };
		setrlimit(RLIMIT_FSIZE, &limit);
		o.rc = container_open(&o.container, path, &options, o.error, sizeof o.error);
		setrlimit(RLIMIT_FSIZE, &before);
		assert_int_equal(o.rc != 0, room < CHUNK); /* chunks come whole or not at all */
		assert_true(o.rc || room == PAYLOAD + 3 * sizeof picture ||
			    find_note(&o.container.notes, "there is no room to unpack the rest"));
		for (size_t i = 0; !o.rc && i < o.container.trace.dumps[0].picture_count; i++) {
			const struct trace_picture *shown = &o.container.trace.dumps[0].pictures[i];
			assert_true(shown->offset + shown->len <= o.container.in.size);
			assert_memory_equal(o.container.in.data + shown->offset, picture, sizeof picture);
		}
		container_close(&o.container);
	}
	signal(SIGXFSZ, SIG_DFL);
	writer_free(&trace);
}

/* --- several dumps in one tree --- */

static void read_picture(struct tree *tree, const struct opened *o, const char *dump, struct text *text)
{
	struct entries entries = { .most = 0 };
	uint64_t ino;
	assert_int_equal(tree_lookup(tree, TREE_ROOT, dump, &ino), 0);
	assert_int_equal(tree_lookup(tree, ino, "bitmaps", &ino), 0);
	assert_int_equal(entries_list(&entries, tree, ino, 0), 0);
	assert_true(entries.count > 2);
	assert_int_equal(read_file(o, entries.list[entries.count - 1].ino, 0, 1 << 20, text), 0);
	entries_free(&entries);
}

/* Two dumps with objects at the same offsets, and other pixels: compressed pictures of one are not those of the other. */
static void compressed_pictures_of_two_dumps(void **state)
{
	static const struct tree_options options = { .links = true, .png_level = 1 };
	static const struct heap_options heap_options = { .threads = 1 };
	static const char *const names[] = { "dump-1-pid1", "dump-2-pid2" };
	struct writer dump, trace;
	struct opened_container c;
	struct opened o;
	struct hprof hprofs[2];
	struct notes notes[2];
	struct heap heaps[2];
	struct text pictures[2] = { { 0 }, { 0 } };
	(void)state;
	assert_true(sample_make("bitmaps-16", &dump));
	writer_init(&trace, 4);
	put_chunk(&trace, 1, 1, dump.data, dump.len, 0, true);
	opened_sample(&o, "bitmaps-16");
	struct bitmaps *bitmaps = bitmaps_open(&o.heaps[0]);
	assert_non_null(bitmaps);
	for (uint32_t i = 0; i < bitmaps->count; i++)
		if (bitmaps->list[i].source == SOURCE_BUFFER)
			memset(dump.data + bitmaps->list[i].buffer, 0xff, 4);
	bitmaps_close(bitmaps);
	opened_close(&o);
	put_chunk(&trace, 2, 1, dump.data, dump.len, 0, true);
	open_bytes(&c, trace.data, trace.len, NULL);
	assert_int_equal(c.rc, 0);
	assert_int_equal(c.container.part_count, 2);
	for (unsigned i = 0; i < 2; i++) {
		notes_init(&notes[i]);
		assert_int_equal(hprof_open(&hprofs[i], part_of(&c, i), &notes[i], c.error, sizeof c.error), 0);
		hprofs[i].traced = c.container.parts[i].dump;
		assert_int_equal(heap_open(&heaps[i], &hprofs[i], 0, &heap_options), 0);
	}
	const struct tree_source source = { .in = &c.container.in, .container = c.container.description,
					    .notes = &c.container.notes };
	struct tree *tree = tree_open(&source, heaps, 2, &options);
	assert_non_null(tree);
	memset(&o, 0, sizeof o);
	o.tree = tree;
	for (unsigned i = 0; i < 2; i++)
		read_picture(tree, &o, names[i], &pictures[i]);
	assert_true(pictures[0].len != pictures[1].len || memcmp(pictures[0].data, pictures[1].data, pictures[0].len));
	for (unsigned i = 0; i < 2; i++)
		text_free(&pictures[i]);
	tree_close(tree);
	for (unsigned i = 0; i < 2; i++) {
		heap_close(&heaps[i]);
		hprof_close(&hprofs[i]);
		notes_free(&notes[i]);
	}
	container_close(&c.container);
	writer_free(&dump);
	writer_free(&trace);
}

/* Each of many pictures of a trace is found under the name that it is listed by, whatever it is called. */
static void names_of_pictures(void **state)
{
	enum { COUNT = 15000 };
	static const struct tree_options options = { .links = true };
	static const struct heap_options heap_options = { .threads = 1 };
	static const uint8_t picture[13] = "\x89PNG\r\n\x1a\n";
	static const char *const odd[] = { "x", "x", "3-x", "1-x", "01-x", "", "%", "%25", "a/b", "a%2Fb", "..", ".", "-", "12", "7-",
					   "\xff", "caf\xc3\xa9", "%zz", "5-%", "~", "\n\t:*?" };
	enum { ODD = sizeof odd / sizeof *odd };
	struct writer trace, message, packet;
	struct opened_container c;
	struct hprof hprof;
	struct notes notes;
	struct heap heap;
	struct entries entries = { .most = 0 };
	uint64_t ino, found;
	char name[400];
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	put_chunk(&trace, 1, 1, payload, PAYLOAD, 0, true);
	for (unsigned i = 0; i < COUNT; i++) {
		if (i < ODD)
			snprintf(name, sizeof name, "%s", odd[i]);
		else if (i < ODD + 20) /* all but the first and the last byte are the same, and too many */
			snprintf(name, sizeof name, "%u%0300u", i % 2, i);
		else
			snprintf(name, sizeof name, "%u", i);
		writer_init(&message, 4);
		writer_init(&packet, 4);
		put_number(&message, 1, 1);
		put_field(&message, 2, name, strlen(name));
		put_field(&message, 3, picture, sizeof picture);
		put_message(&packet, 2129, &message);
		put_message(&trace, 1, &packet);
	}
	open_bytes(&c, trace.data, trace.len, NULL);
	writer_free(&trace);
	assert_int_equal(c.rc, 0);
	notes_init(&notes);
	assert_int_equal(hprof_open(&hprof, part_of(&c, 0), &notes, c.error, sizeof c.error), 0);
	hprof.traced = c.container.parts[0].dump;
	assert_int_equal(heap_open(&heap, &hprof, 0, &heap_options), 0);
	const struct tree_source source = { .in = &c.container.in, .container = c.container.description,
					    .notes = &c.container.notes };
	struct tree *tree = tree_open(&source, &heap, 1, &options);
	assert_non_null(tree);
	assert_int_equal(tree_lookup(tree, TREE_ROOT, "bitmaps", &ino), 0);
	assert_int_equal(tree_lookup(tree, ino, "trace", &ino), 0);
	assert_int_equal(entries_list(&entries, tree, ino, 0), 0);
	assert_int_equal(entries.count, COUNT + 2);
	const clock_t before = clock();
	for (size_t i = 2; i < entries.count; i++)
		if (tree_lookup(tree, ino, entries.list[i].name, &found) || found != entries.list[i].ino)
			fail_msg("\"%s\" is listed, but not found", entries.list[i].name);
	assert_true((double)(clock() - before) / CLOCKS_PER_SEC < SECONDS_MOST);
	assert_int_equal(tree_lookup(tree, ino, "no such name", &found), ENOENT);
	assert_int_equal(tree_lookup(tree, ino, "1", &found), ENOENT);
	entries_free(&entries);
	tree_close(tree);
	heap_close(&heap);
	hprof_close(&hprof);
	notes_free(&notes);
	container_close(&c.container);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints),
		cmocka_unit_test(fields),
		cmocka_unit_test(beginnings),
		cmocka_unit_test(trace_by_hand),
		cmocka_unit_test(every_truncation_of_a_trace),
		cmocka_unit_test(every_truncation_of_gzip),
		cmocka_unit_test(every_byte_of_gzip_damaged),
		cmocka_unit_test(no_room),
		cmocka_unit_test(compressed_pictures_of_two_dumps),
		cmocka_unit_test(names_of_pictures),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
