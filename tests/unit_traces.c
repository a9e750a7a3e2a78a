/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that are made to do harm, and heap graphs however they are written: what is opened is right, and takes no more
 * time and room than its bytes are worth.
 */
#include "containers.h"

#include "input/proto.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
