/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers without a mount: every truncation of a small trace and of small gzip files, odd bytes as fields and as
 * beginnings of files, a disk that is too small, traces and gzip files that are made to do harm.
 */
#include "android/bitmap.h"
#include "fixture.h"

#include "input/container.h"
#include "input/proto.h"
#include "input/sniff.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define PAYLOAD 100		/* bytes of the dump in small traces */
#define CHUNK 40

/* --- a file, and what is made of it --- */

static char folder[4096], path[4200];

static int make_folder(void **state)
{
	const char *base = getenv("TMPDIR");
	(void)state;
	snprintf(folder, sizeof folder, "%s/heapfs-unit.XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/file", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

struct opened_container {
	struct container container;
	int rc;
	char error[8192];
};

static void open_bytes(struct opened_container *o, const void *data, size_t len, const struct container_options *more)
{
	struct container_options options = more ? *more : (struct container_options){ .threads = 2 };
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	options.tmpdir = folder;
	o->error[0] = 0;
	o->rc = container_open(&o->container, path, &options, o->error, sizeof o->error);
	if (o->rc) {
		assert_int_equal(strncmp(o->error, path, strlen(path)), 0);
		assert_true(strlen(o->error) > strlen(path) + 10);
	} else {
		assert_true(o->container.part_count > 0);
		assert_non_null(o->container.description);
	}
}

static const struct note *find_note(const struct notes *notes, const char *kind)
{
	for (size_t i = 0; i < notes->count; i++)
		if (!strcmp(notes->list[i].kind, kind))
			return &notes->list[i];
	return NULL;
}

static const struct input *part_of(const struct opened_container *o, size_t number)
{
	assert_true(number < o->container.part_count);
	return part_input(&o->container, &o->container.parts[number]);
}

static void assert_bytes(const struct input *in, const void *data, size_t len)
{
	assert_int_equal(in->size, len);
	assert_memory_equal(in->data, data, len);
}

/* What any bytes give: a message, or dumps that are the beginning of the truth. The bytes of the first one. */
static uint64_t assert_beginning(const struct opened_container *o, const void *truth, size_t len)
{
	if (o->rc)
		return 0;
	const struct input *in = part_of(o, 0);
	assert_int_equal(o->container.part_count, 1);
	assert_true(in->size <= len);
	assert_memory_equal(in->data, truth, in->size);
	return in->size;
}

/* --- traces, a field at a time --- */

static void put_varint(struct writer *w, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		put_u1(w, (unsigned)(value & 0x7f) | 0x80);
	put_u1(w, (unsigned)value);
}

static void put_number(struct writer *w, unsigned field, uint64_t value)
{
	put_varint(w, (uint64_t)field << 3 | PROTO_VARINT);
	put_varint(w, value);
}

static void put_field(struct writer *w, unsigned field, const void *data, size_t len)
{
	put_varint(w, (uint64_t)field << 3 | PROTO_LEN);
	put_varint(w, len);
	put_bytes(w, data, len);
}

static void put_message(struct writer *w, unsigned field, struct writer *message)
{
	put_field(w, field, message->data, message->len);
	writer_free(message);
}

#define NO_NUMBER UINT64_MAX

static void put_chunk(struct writer *trace, uint64_t pid, uint64_t sequence, const void *data, size_t len, uint64_t index,
		      bool last)
{
	struct writer dump, packet;
	writer_init(&dump, 4);
	writer_init(&packet, 4);
	put_number(&dump, 1, pid);
	put_field(&dump, 2, data, len);
	if (index != NO_NUMBER)
		put_number(&dump, 3, index);
	if (last)
		put_number(&dump, 4, 1);
	put_number(&packet, 10, sequence);
	put_message(&packet, 129, &dump);
	put_message(trace, 1, &packet);
}

static uint8_t payload[PAYLOAD];

static void make_payload(void)
{
	memcpy(payload, "JAVA PROFILE 1.0.2\0\0\0\0\4\0\0\0\0\0\0\0\1", 31);
	for (unsigned i = 31; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(i * 7);
}

static void put_payload(struct writer *trace)
{
	for (unsigned at = 0; at < PAYLOAD; at += CHUNK) {
		const unsigned len = PAYLOAD - at < CHUNK ? PAYLOAD - at : CHUNK;
		put_chunk(trace, 1234, 1, payload + at, len, at / CHUNK, at + len == PAYLOAD);
	}
}

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

static void put_member(struct writer *w, const void *data, size_t len, const char *comment)
{
	uint8_t packed[4096];
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)data, .avail_in = (uInt)len, .next_out = packed,
		       .avail_out = sizeof packed };
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	put_bytes(w, comment ? "\x1f\x8b\x08\x10\0\0\0\0\0\0" : "\x1f\x8b\x08\0\0\0\0\0\0\0", 10);
	if (comment)
		put_bytes(w, comment, strlen(comment) + 1);
	put_bytes(w, packed, sizeof packed - z.avail_out);
	deflateEnd(&z);
	const uint32_t ends[] = { (uint32_t)crc32(crc32(0, NULL, 0), data, (uInt)len), (uint32_t)len };
	for (unsigned i = 0; i < 8; i++)
		put_u1(w, ends[i / 4] >> 8 * (i % 4) & 0xff);
}

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

/* --- traces that are made to do harm --- */

/* A part of one whose chunks have these indexes, and one byte each but the first. */
static void huge_index(void **state)
{
	static const uint64_t indexes[] = { UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX };
	(void)state;
	make_payload();
	for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
		for (unsigned one = 0; one < 2; one++) {
			struct writer trace;
			struct opened_container o;
			writer_init(&trace, 4);
			put_chunk(&trace, 1, 1, payload, CHUNK, 0, false);
			put_chunk(&trace, 1, 1, payload + CHUNK, one ? 1 : CHUNK, indexes[i], false);
			put_chunk(&trace, 1, 1, payload + CHUNK, CHUNK, 1, false);
			put_chunk(&trace, 1, 1, payload, 1, indexes[i] / 2, true);
			open_bytes(&o, trace.data, trace.len, NULL);
			assert_int_equal(o.rc, 0);
			assert_true(o.container.in.size < 100 * trace.len);
			assert_memory_equal(part_of(&o, 0)->data, payload, CHUNK);
			container_close(&o.container);
			writer_free(&trace);
		}
}

/* Many gaps, each of which is as large as may be: together they are no larger. */
static void many_gaps(void **state)
{
	struct writer trace;
	struct opened_container o;
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	put_chunk(&trace, 1, 1, payload, CHUNK, 0, false);
	for (uint64_t i = 1; i <= 1000; i++)
		put_chunk(&trace, 1, 1, payload, CHUNK, i * 1000, false);
	open_bytes(&o, trace.data, trace.len, NULL);
	assert_int_equal(o.rc, 0);
	assert_true(o.container.in.size < 3 * trace.len);
	const struct note *note = find_note(&o.container.trace.dumps[0].notes, "chunks of the dump are missing");
	assert_non_null(strstr(note->detail, "chunks 1 to 999, "));
	assert_non_null(strstr(note->detail, " and 99")); /* … more */
	container_close(&o.container);
	writer_free(&trace);
}

static void tiny_chunks(void **state)
{
	enum { COUNT = 100000 };
	struct writer trace, whole;
	struct opened_container o;
	(void)state;
	writer_init(&trace, 4);
	writer_init(&whole, 4);
	make_payload();
	put_bytes(&whole, payload, 31);
	for (uint32_t i = 31; i < COUNT; i++)
		put_u1(&whole, i * 31 % 251);
	for (uint32_t i = 0; i < COUNT; i++) /* in an order that is not theirs */
		put_chunk(&trace, 1, 1, whole.data + (i ^ 1), 1, i ^ 1, (i ^ 1) == COUNT - 1);
	open_bytes(&o, trace.data, trace.len, NULL);
	assert_int_equal(o.rc, 0);
	assert_bytes(part_of(&o, 0), whole.data, whole.len);
	assert_int_equal(o.container.trace.dumps[0].notes.count + o.container.notes.count, 0);
	container_close(&o.container);
	writer_free(&trace);
	writer_free(&whole);
}

static void many_processes(void **state)
{
	struct writer trace;
	struct opened_container o;
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	for (unsigned pid = 1; pid <= 2000; pid++)
		put_chunk(&trace, pid, 1, payload, PAYLOAD, 0, true);
	open_bytes(&o, trace.data, trace.len, NULL);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.container.part_count, TRACE_DUMPS_MOST);
	for (size_t i = 0; i < o.container.part_count; i++) {
		assert_int_equal(o.container.parts[i].dump->pid, i + 1);
		assert_bytes(part_of(&o, i), payload, PAYLOAD);
	}
	assert_int_equal(find_note(&o.container.notes, "more heap dumps than can be shown")->count, 1000);
	container_close(&o.container);
	/* The one that is wanted is found behind them. */
	const struct container_options options = { .only_pid = true, .pid = 1999, .threads = 1 };
	open_bytes(&o, trace.data, trace.len, &options);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.container.part_count, 1);
	assert_int_equal(o.container.parts[0].dump->pid, 1999);
	container_close(&o.container);
	writer_free(&trace);
}

/* As many packet sequences as packets. */
static void many_sequences(void **state)
{
	struct writer trace;
	struct opened_container o;
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	for (unsigned i = 1; i <= 200000; i++)
		put_chunk(&trace, 1, i, payload, i == 1 ? PAYLOAD : 1, 0, true);
	open_bytes(&o, trace.data, trace.len, NULL);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.container.part_count, 1);
	container_close(&o.container);
	writer_free(&trace);
}

/* Compressed packets that hold themselves, much, or nothing. */
static void compressed_packets(void **state)
{
	enum { MUCH = 100 << 20 };
	uint8_t *zeros = calloc(MUCH, 1);
	uLongf packed_len = compressBound(MUCH);
	uint8_t *packed = malloc(packed_len);
	struct writer trace, packet;
	struct opened_container o;
	(void)state;
	assert_non_null(zeros);
	assert_non_null(packed);
	assert_int_equal(compress2(packed, &packed_len, zeros, MUCH, 9), Z_OK);
	writer_init(&trace, 4);
	make_payload();
	for (unsigned i = 0; i < 3; i++) {
		writer_init(&packet, 4);
		put_field(&packet, 50, i == 1 ? packed : payload, i == 1 ? packed_len : i);
		put_message(&trace, 1, &packet);
	}
	put_payload(&trace);
	open_bytes(&o, trace.data, trace.len, NULL);
	assert_int_equal(o.rc, 0);
	assert_bytes(part_of(&o, 0), payload, PAYLOAD);
	assert_non_null(find_note(&o.container.notes, "compressed packets that cannot be inflated whole"));
	container_close(&o.container);
	writer_free(&trace);
	free(zeros);
	free(packed);
}

/* CPU time of a file that is made to do harm, in seconds. Mostly a few tenths; sanitizers make it some times as much. */
#define SECONDS_MOST 4

static void open_quickly(struct opened_container *o, const struct writer *file)
{
	const clock_t before = clock();
	open_bytes(o, file->data, file->len, NULL);
	const double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
	if (seconds > SECONDS_MOST)
		fail_msg("it took %.1f s to open %zu bytes", seconds, file->len);
}

static void put_empty(struct writer *w, unsigned field, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		put_field(w, field, "", 0);
}

/* What is known of a process is there once, however many dumps it has; and a stack has an end. */
static void many_details(void **state)
{
	enum { DUMPS = 200, ENTRIES = 5000, FRAMES = 60000 };
	struct writer trace, message, packet, frames;
	struct opened_container o;
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	for (unsigned i = 0; i < DUMPS; i++)
		put_chunk(&trace, 1, 1, payload, PAYLOAD, 0, true);
	writer_init(&packet, 4);
	writer_init(&message, 4);
	put_number(&message, 1, 1);
	put_empty(&message, 2, ENTRIES);
	put_message(&packet, 68, &message);
	writer_init(&message, 4);
	writer_init(&frames, 4);
	put_number(&message, 1, 1);
	put_empty(&frames, 1, FRAMES);
	put_message(&message, 8, &frames);
	put_message(&packet, 131, &message);
	put_message(&trace, 1, &packet);
	open_quickly(&o, &trace);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.container.part_count, DUMPS);
	assert_true(o.container.in.size < DUMPS * PAYLOAD + ENTRIES * 30);
	for (size_t i = 0; i < DUMPS; i++) {
		const struct trace_dump *dump = o.container.parts[i].dump;
		assert_true(dump->smaps_len > ENTRIES * 24 && dump->smaps_len <= o.container.in.size - dump->smaps);
		assert_int_equal(memcmp(o.container.in.data + dump->smaps, "path\tfile", 9), 0);
		assert_int_equal(strncmp(dump->details, "out of memory at: ()\n", 21), 0);
		assert_true(strlen(dump->details) < 100000);
	}
	container_close(&o.container);
	writer_free(&trace);
}

/* As the JVM writes a file, but of the members behind the first one nothing is left but their headers, */
static void many_members(void **state)
{
	enum { COUNT = 80000 };
	static const char header[] = "\x1f\x8b\x08\0\0\0\0\0\0";
	static const struct {
		const char *rest;	/* what is behind them */
		size_t len;
	} kinds[] = {
		{ "", 0 },
		{ "\xff\xff\xff\xff\0\0\x20", 8 },		/* or a length of 2 MiB, */
		{ "\0\xfa\xff\x05\0", 5 },		/* or a stored block that leads to the next one, and so to the file's end */
	};
	(void)state;
	make_payload();
	for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
		struct writer gzip;
		struct opened_container o;
		writer_init(&gzip, 4);
		put_member(&gzip, payload, PAYLOAD, "HPROF BLOCKSIZE=1048576");
		for (unsigned i = 0; i < COUNT; i++) {
			put_bytes(&gzip, header, sizeof header);
			put_bytes(&gzip, kinds[kind].rest, kinds[kind].len);
		}
		open_quickly(&o, &gzip);
		assert_int_equal(o.rc, 0);
		assert_true(part_of(&o, 0)->size < 128 << 20);
		assert_memory_equal(part_of(&o, 0)->data, payload, PAYLOAD);
		assert_true(o.container.notes.count > 0);
		container_close(&o.container);
		writer_free(&gzip);
	}
}

static void put_type_of(struct writer *graph, uint64_t id, const char *name, uint64_t super, unsigned fields)
{
	struct writer type;
	writer_init(&type, 4);
	put_number(&type, 1, id);
	put_field(&type, 3, name, strlen(name));
	if (super)
		put_number(&type, 5, super);
	for (unsigned i = 0; i < fields; i++)
		put_number(&type, 6, i + 1);
	put_message(graph, 9, &type);
}

static void put_type(struct writer *graph, uint64_t id, const char *name, uint64_t super)
{
	put_type_of(graph, id, name, super, 0);
}

/* An object of type 1 at the next address, with so many fields that it names itself, and null references. */
static void put_node(struct writer *graph, unsigned fields, unsigned references, bool same)
{
	struct writer object, names, nulls;
	writer_init(&object, 4);
	writer_init(&names, 4);
	writer_init(&nulls, 4);
	put_number(&object, 7, 1);
	put_number(&object, 2, 1);
	for (unsigned i = 0; i < fields; i++)
		put_varint(&names, same ? 1 : i + 1);
	for (unsigned i = 0; i < references; i++)
		put_varint(&nulls, 0);
	if (fields)
		put_message(&object, 4, &names);
	else
		writer_free(&names);
	if (references)
		put_message(&object, 5, &nulls);
	else
		writer_free(&nulls);
	put_message(graph, 2, &object);
}

/* Opens a trace of one graph, which must be read to its end. Its notes are the container's until it is closed. */
static void open_graph(struct opened_container *o, struct writer *graph)
{
	struct writer trace, packet;
	writer_init(&trace, 4);
	writer_init(&packet, 4);
	put_number(&packet, 10, 1);
	put_message(&packet, 56, graph);
	put_message(&trace, 1, &packet);
	open_quickly(o, &trace);
	writer_free(&trace);
	assert_int_equal(o->rc, 0);
	assert_true(o->container.in.size < 200 << 20);
	/* The image is whole: its last record is HEAP_DUMP_END. */
	const struct input *in = part_of(o, 0);
	assert_memory_equal(in->data + in->size - 9, "\x2c\0\0\0\0\0\0\0\0", 9);
}

/* Heap graphs whose classes and objects cost more than their bytes: in time, or in what is written for them. */
static void graphs_made_to_do_harm(void **state)
{
	struct writer graph;
	struct opened_container o;
	const struct note *note;
	(void)state;
	/* One object makes its class wide, and so all others. */
	writer_init(&graph, 4);
	put_type(&graph, 1, "A", 0);
	put_node(&graph, 0, 60000, false);
	for (unsigned i = 0; i < 100000; i++)
		put_node(&graph, 0, 0, false);
	open_graph(&o, &graph);
	note = find_note(&o.container.trace.dumps[0].notes,
			 "objects that are left out, since they have many fields and hardly a reference");
	assert_non_null(note);
	assert_int_equal(note->count + o.container.trace.dumps[0].graph->objects, 100001);
	container_close(&o.container);
	/* Objects that name fields, each of which has to be looked for. */
	for (unsigned same = 0; same < 2; same++) {
		writer_init(&graph, 4);
		put_type(&graph, 1, "A", 0);
		for (unsigned i = 0; i < 120; i++)
			put_node(&graph, 4096, 4096, same);
		open_graph(&o, &graph);
		assert_non_null(find_note(&o.container.trace.dumps[0].notes,
					  "named fields that are left out, since there are too many to look through"));
		assert_int_equal(o.container.trace.dumps[0].graph->objects, 120);
		container_close(&o.container);
	}
	/* Superclasses without end, in both orders, and in a circle. */
	for (unsigned kind = 0; kind < 3; kind++) {
		enum { COUNT = 100000 };
		writer_init(&graph, 4);
		for (unsigned i = 1; i <= COUNT; i++)
			put_type(&graph, i, "", kind == 0 ? i + 1 : kind == 1 ? i - 1 : i % COUNT + 1);
		open_graph(&o, &graph);
		note = find_note(&o.container.trace.dumps[0].notes, "classes with superclasses that go in a circle");
		assert_int_equal(note ? note->count : 0, kind == 2);
		assert_non_null(find_note(&o.container.trace.dumps[0].notes, "classes with more superclasses than can be"));
		container_close(&o.container);
	}
	/* Classes of one name, and class objects of as many. */
	writer_init(&graph, 4);
	for (unsigned i = 1; i <= 50000; i++)
		put_type(&graph, i, "X", 0);
	for (unsigned i = 0; i < 25000; i++)
		put_type(&graph, 100000 + i, "java.lang.Class<X>", 0);
	open_graph(&o, &graph);
	container_close(&o.container);
}

/* Addresses that do not fit where those of the objects do, or nowhere, are not cut to those of other objects. */
static void graph_addresses(void **state)
{
	static const uint64_t ids[] = { 1, UINT64_C(1) << 29 | 1, UINT64_C(1) << 61 | 1 };
	(void)state;
	for (unsigned wide = 0; wide < 2; wide++) {
		struct writer graph, object, list, roots;
		struct opened_container o;
		writer_init(&graph, 4);
		put_type(&graph, 1, "A", 0);
		for (unsigned i = 0; i < 3; i++) {
			writer_init(&object, 4);
			writer_init(&list, 4);
			put_number(&object, 1, i == 1 ? 2 : ids[i]); /* two objects, and one at no address */
			put_number(&object, 2, 1);
			put_field(&object, 4, "", 0);
			put_field(&object, 4, "", 0);
			for (unsigned j = 0; j < 3; j++)
				put_varint(&list, ids[j]);
			put_message(&object, 5, &list);
			put_message(&graph, 2, &object);
		}
		if (wide) {
			writer_init(&object, 4);
			put_number(&object, 1, ids[1]);
			put_number(&object, 2, 1);
			put_message(&graph, 2, &object);
		}
		writer_init(&roots, 4);
		for (unsigned j = 0; j < 3; j++)
			put_number(&roots, 1, ids[j]);
		put_message(&graph, 7, &roots);
		open_graph(&o, &graph);
		const struct trace_dump *dump = &o.container.trace.dumps[0];
		const struct note *note = find_note(&dump->notes, "references to addresses that no object has, shown as null");
		assert_int_equal(dump->graph->objects, 2 + wide);
		assert_int_equal(dump->graph->references, 2 * (1 + wide));
		assert_int_equal(dump->graph->roots, 1 + wide);
		assert_non_null(note);
		assert_int_equal(note->count, 2 * (2 - wide));
		note = find_note(&dump->notes, "gc roots at addresses that no object has");
		assert_non_null(note);
		assert_int_equal(note->count, 2 - wide);
		note = find_note(&dump->notes, "objects without an address");
		assert_non_null(note);
		assert_int_equal(note->count, 1);
		container_close(&o.container);
	}
}

/* How an object is written: as ART does it, or so that it means the same. */
enum writing { USUAL, BACKWARDS, MORE_BEHIND, NOT_PACKED, WRITINGS };

/* What the objects of same_objects() add up to. */
struct objects_sum {
	uint64_t objects, references, sizes, bytes;
};

/* The nth object: numbers of all lengths; after each hundred the addresses fall. */
static void put_nth(struct writer *graph, unsigned n, enum writing writing, struct objects_sum *sum)
{
	static const uint64_t types[] = { 1, 200, 20000, 70000 };
	static const uint64_t sizes[] = { 0, 0, 24, 127, 128, 70000, UINT64_C(1) << 40, UINT64_C(1) << 60 };
	static const uint64_t references[] = { 1, 0, 127, 128, 20000, 3000000, 268435455 };
	const uint64_t base = n % 3 ? n % 7 * 1000 : 0, type = types[n % 4], size = sizes[n / 4 % 8];
	struct writer fields[5], object, list;
	for (unsigned i = 0; i < 5; i++)
		writer_init(&fields[i], 4);
	writer_init(&object, 4);
	writer_init(&list, 4);
	if (n % 100)
		put_number(&fields[0], 7, 1 + n % 130);
	else
		put_number(&fields[0], 1, (UINT64_C(100) - n / 100) << 16);
	put_number(&fields[1], 2, type);
	if (size)
		put_number(&fields[2], 3, size);
	if (base)
		put_number(&fields[3], 6, base);
	for (unsigned i = 0; i < n % 6; i++) {
		const uint64_t reference = references[(n + i) % (sizeof references / sizeof *references)];
		if (writing == NOT_PACKED)
			put_number(&fields[4], 5, reference);
		else
			put_varint(&list, reference);
		sum->references += reference != 0;
	}
	if (list.len)
		put_message(&fields[4], 5, &list);
	else
		writer_free(&list);
	for (unsigned i = 0; i < 5; i++) {
		struct writer *field = &fields[writing == BACKWARDS ? 4 - i : i];
		put_bytes(&object, field->data, field->len);
		writer_free(field);
	}
	if (writing == MORE_BEHIND)
		put_number(&object, 99, 1);
	put_message(graph, 2, &object);
	sum->objects++;
	if (type == 70000 || size) { /* an array, or not of its class's size, which is 0 */
		sum->sizes++;
		sum->bytes += size;
	}
}

/* Objects are the same however they are written. The table of their sizes is sorted, even where addresses fall. */
static void same_objects(void **state)
{
	struct opened_container o[WRITINGS];
	(void)state;
	for (enum writing writing = USUAL; writing < WRITINGS; writing++) {
		struct objects_sum sum = { 0 };
		struct writer graph;
		writer_init(&graph, 4);
		put_type(&graph, 1, "A", 0);
		put_type(&graph, 200, "B", 1);
		put_type_of(&graph, 20000, "C", 0, 5);
		put_type(&graph, 70000, "B[]", 0);
		for (unsigned n = 0; n < 5000; n++)
			put_nth(&graph, n, writing, &sum);
		open_graph(&o[writing], &graph);
		const struct input *in = part_of(&o[writing], 0), *usual = part_of(&o[USUAL], 0);
		const struct heap_graph *found = o[writing].container.trace.dumps[0].graph;
		assert_int_equal(found->objects, sum.objects);
		assert_int_equal(found->references, sum.references);
		assert_int_equal(found->size_count, sum.sizes);
		assert_int_equal(in->size, usual->size);
		assert_memory_equal(in->data, usual->data, in->size);
		const struct own_size *own = (const void *)(o[writing].container.in.data + found->sizes);
		for (uint64_t i = 0; i < found->size_count; i++) {
			assert_true(!i || own[i - 1].id < own[i].id);
			sum.bytes -= own[i].size;
		}
		assert_int_equal(sum.bytes, 0);
	}
	for (enum writing writing = USUAL; writing < WRITINGS; writing++)
		container_close(&o[writing].container);
}

/* A packet whose packets, with many zeros behind them, are compressed. */
static void put_compressed(struct writer *trace, struct writer *packets)
{
	enum { ZEROS = 30 << 20 };
	uint8_t *zeros = calloc(ZEROS, 1);
	struct writer packet;
	assert_non_null(zeros);
	writer_init(&packet, 4);
	put_field(&packet, 999, zeros, ZEROS);
	put_message(packets, 1, &packet);
	uLongf len = compressBound(packets->len);
	uint8_t *packed = malloc(len);
	assert_non_null(packed);
	assert_int_equal(compress2(packed, &len, packets->data, packets->len, 9), Z_OK);
	writer_init(&packet, 4);
	put_field(&packet, 50, packed, len);
	put_message(trace, 1, &packet);
	writer_free(packets);
	free(zeros);
	free(packed);
}

/* Two compressed packets, of which each has every other chunk: they are not inflated again for each. */
static void alternating_packets(void **state)
{
	enum { CHUNKS = 3000 };
	struct writer trace, halves[2];
	struct opened_container o;
	(void)state;
	make_payload();
	writer_init(&trace, 4);
	for (unsigned i = 0; i < 2; i++)
		writer_init(&halves[i], 4);
	for (unsigned i = 0; i < CHUNKS; i++)
		put_chunk(&halves[i % 2], 1, 1, payload, CHUNK, i, i == CHUNKS - 1);
	for (unsigned i = 0; i < 2; i++)
		put_compressed(&trace, &halves[i]);
	open_quickly(&o, &trace);
	assert_int_equal(o.rc, 0);
	assert_int_equal(part_of(&o, 0)->size, CHUNKS * CHUNK);
	assert_memory_equal(part_of(&o, 0)->data, payload, CHUNK);
	const struct note *note = find_note(&o.container.notes, "packets that cannot be inflated again");
	assert_non_null(note);
	assert_int_equal(note->bytes, note->count * CHUNK);
	container_close(&o.container);
	writer_free(&trace);
	/* In the order of the chunks there is no need to. */
	writer_init(&trace, 4);
	for (unsigned i = 0; i < 2; i++)
		writer_init(&halves[i], 4);
	for (unsigned i = 0; i < CHUNKS; i++)
		put_chunk(&halves[2 * i / CHUNKS], 1, 1, payload, CHUNK, i, i == CHUNKS - 1);
	for (unsigned i = 0; i < 2; i++)
		put_compressed(&trace, &halves[i]);
	open_quickly(&o, &trace);
	assert_int_equal(o.rc, 0);
	assert_int_equal(part_of(&o, 0)->size, CHUNKS * CHUNK);
	assert_int_equal(o.container.notes.count, 0);
	container_close(&o.container);
	writer_free(&trace);
}

/* Chunks on both sides of a packet of 5 GiB, which takes no room on the disk. */
static void beyond_4_gib(void **state)
{
	const struct container_options options = { .tmpdir = folder, .threads = 2 };
	const uint64_t hole = UINT64_C(5) << 30;
	struct writer trace;
	struct opened_container o = { .rc = 0 };
	(void)state;
	writer_init(&trace, 4);
	make_payload();
	put_chunk(&trace, 1, 1, payload, CHUNK, 0, false);
	put_varint(&trace, 1 << 3 | PROTO_LEN);
	put_varint(&trace, hole);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(trace.data, 1, trace.len, file), trace.len);
	writer_free(&trace);
	writer_init(&trace, 4);
	put_chunk(&trace, 1, 1, payload + CHUNK, CHUNK, 1, false);
	put_chunk(&trace, 1, 1, payload + 2 * CHUNK, PAYLOAD - 2 * CHUNK, 2, true);
	assert_int_equal(fseeko(file, (off_t)hole, SEEK_CUR), 0);
	assert_int_equal(fwrite(trace.data, 1, trace.len, file), trace.len);
	if (fclose(file)) {
		print_message("# no file of 5 GiB in %s: %s\n", folder, strerror(errno));
	} else {
		assert_int_equal(container_open(&o.container, path, &options, o.error, sizeof o.error), 0);
		assert_bytes(part_of(&o, 0), payload, PAYLOAD);
		assert_int_equal(o.container.notes.count, 0);
		container_close(&o.container);
	}
	writer_free(&trace);
}

/* In a group, or with a number of 0, what follows in the message is not read, and what is around it is. */
static void odd_packets(void **state)
{
	static const char *const odd[] = { "\x0b\x08\x01\x0c", "\x02\x01x", "\x07", "\x50\x80", "\x8a\x08\x05\x08" };
	(void)state;
	make_payload();
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct writer trace;
		struct opened_container o;
		writer_init(&trace, 4);
		put_field(&trace, 1, odd[i], strlen(odd[i]));
		put_field(&trace, 77, odd[i], strlen(odd[i]));
		put_number(&trace, 5, 5);
		put_payload(&trace);
		open_bytes(&o, trace.data, trace.len, NULL);
		if (!o.rc) /* whether it begins as a trace does is another question */
			assert_bytes(part_of(&o, 0), payload, PAYLOAD);
		container_close(&o.container);
		writer_free(&trace);
	}
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
		cmocka_unit_test(huge_index),
		cmocka_unit_test(many_gaps),
		cmocka_unit_test(tiny_chunks),
		cmocka_unit_test(many_processes),
		cmocka_unit_test(many_sequences),
		cmocka_unit_test(compressed_packets),
		cmocka_unit_test(many_details),
		cmocka_unit_test(many_members),
		cmocka_unit_test(graphs_made_to_do_harm),
		cmocka_unit_test(alternating_packets),
		cmocka_unit_test(graph_addresses),
		cmocka_unit_test(same_objects),
		cmocka_unit_test(beyond_4_gib),
		cmocka_unit_test(odd_packets),
		cmocka_unit_test(no_room),
		cmocka_unit_test(compressed_pictures_of_two_dumps),
		cmocka_unit_test(names_of_pictures),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
