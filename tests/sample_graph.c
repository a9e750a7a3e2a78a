/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Perfetto trace with one heap graph of N objects, as ART's perfetto_hprof writes it: roots first, types among the
 * objects, names at the end, a new packet after 400,000 bytes.
 */
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_BYTES 400000
#define PID 4321
#define SEQUENCE 17
#define FIRST_ID (UINT64_C(0x12c00000) / 8)

/* Types, by id. */
enum { OBJECT_TYPE = 1, STRING_TYPE, BYTES_TYPE, NODE_TYPE, LEAF_TYPE, ARRAY_TYPE, NODE_CLASS_TYPE, TYPES };

static void put_varint(struct writer *w, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_u1(w, (unsigned)(value & 0x7f) | 0x80);
	put_u1(w, (unsigned)value);
}

static void field_varint(struct writer *w, unsigned number, uint64_t value)
{
	put_varint(w, (uint64_t)number << 3);
	put_varint(w, value);
}

static void field_bytes(struct writer *w, unsigned number, const void *data, size_t len)
{
	put_varint(w, (uint64_t)number << 3 | 2);
	put_varint(w, len);
	put_bytes(w, data, len);
}

static void field_writer(struct writer *w, unsigned number, struct writer *message)
{
	field_bytes(w, number, message->data, message->len);
	message->len = 0;
}

struct graph {
	FILE *file;
	struct writer body, message, list;
	uint64_t index;
};

static int flush(struct graph *g, bool last)
{
	struct writer head, packet;
	writer_init(&head, 4);
	writer_init(&packet, 4);
	field_varint(&g->body, 1, PID);
	field_varint(&g->body, 5, !last);
	field_varint(&g->body, 6, g->index++);
	field_varint(&packet, 8, 1000000000);
	field_varint(&packet, 10, SEQUENCE);
	field_writer(&packet, 56, &g->body);
	put_varint(&head, 1 << 3 | 2);
	put_varint(&head, packet.len);
	const bool whole = fwrite(head.data, 1, head.len, g->file) == head.len &&
			   fwrite(packet.data, 1, packet.len, g->file) == packet.len;
	writer_free(&head);
	writer_free(&packet);
	return whole ? 0 : -1;
}

static void put_type(struct graph *g, unsigned id, const char *name, uint64_t size, unsigned super, unsigned kind,
		     const uint64_t *fields, unsigned count)
{
	field_varint(&g->message, 1, id);
	field_bytes(&g->message, 3, name, strlen(name));
	field_varint(&g->message, 4, size);
	if (super)
		field_varint(&g->message, 5, super);
	for (unsigned i = 0; i < count; i++)
		put_varint(&g->list, fields[i]);
	if (count)
		field_writer(&g->message, 6, &g->list);
	field_varint(&g->message, 7, kind);
	field_writer(&g->body, 9, &g->message);
}

static void put_field_name(struct graph *g, uint64_t id, const char *name)
{
	field_varint(&g->message, 1, id);
	field_bytes(&g->message, 2, name, strlen(name));
	field_writer(&g->body, 4, &g->message);
}

/* The id rises by `delta`; references are stored less a base, as ART does it. */
static void put_object(struct graph *g, bool first, uint64_t delta, unsigned type, uint64_t size, const uint64_t *refs,
		       unsigned count)
{
	uint64_t lowest = UINT64_MAX;
	field_varint(&g->message, first ? 1 : 7, delta);
	field_varint(&g->message, 2, type);
	if (size)
		field_varint(&g->message, 3, size);
	for (unsigned i = 0; i < count; i++)
		lowest = refs[i] && refs[i] < lowest ? refs[i] : lowest;
	if (count) {
		for (unsigned i = 0; i < count; i++)
			put_varint(&g->list, refs[i] ? refs[i] - (lowest - 1) : 0);
		field_varint(&g->message, 6, lowest == UINT64_MAX ? 0 : lowest - 1);
		field_writer(&g->message, 5, &g->list);
	}
	field_writer(&g->body, 2, &g->message);
}

/* Of eight objects four are nodes, with three references each; a String and its bytes, a leaf, an array. */
int sample_graph(uint64_t objects, const char *path)
{
	static const unsigned types[8] = { NODE_TYPE, STRING_TYPE, BYTES_TYPE, NODE_TYPE, LEAF_TYPE, NODE_TYPE, ARRAY_TYPE,
					   NODE_TYPE };
	static const uint64_t node_fields[] = { 1, 2 }, object_fields[] = { 3 };
	struct graph g = { .file = fopen(path, "wb") };
	int rc = g.file ? 0 : -1;
	uint64_t id = FIRST_ID;
	writer_init(&g.body, 4);
	writer_init(&g.message, 4);
	writer_init(&g.list, 4);
	put_varint(&g.list, FIRST_ID);
	field_writer(&g.message, 1, &g.list);
	field_varint(&g.message, 2, 5); /* STICKY_CLASS */
	field_writer(&g.body, 7, &g.message);
	put_type(&g, OBJECT_TYPE, "java.lang.Object", 8, 0, 1, object_fields, 1);
	put_type(&g, STRING_TYPE, "java.lang.String", 16, OBJECT_TYPE, 3, NULL, 0);
	put_type(&g, BYTES_TYPE, "byte[]", 0, OBJECT_TYPE, 4, NULL, 0);
	put_type(&g, NODE_TYPE, "com.example.Node", 24, OBJECT_TYPE, 1, node_fields, 2);
	put_type(&g, LEAF_TYPE, "com.example.Leaf", 16, OBJECT_TYPE, 2, NULL, 0);
	put_type(&g, ARRAY_TYPE, "com.example.Node[]", 0, OBJECT_TYPE, 4, NULL, 0);
	put_type(&g, NODE_CLASS_TYPE, "java.lang.Class<com.example.Node>", 200, OBJECT_TYPE, 5, NULL, 0);
	for (uint64_t i = 0; i < objects && !rc; i++) {
		const uint64_t delta = i ? 3 + i % 5 : id;
		const unsigned type = i ? types[i % 8] : NODE_CLASS_TYPE;
		id += i ? delta : 0;
		const uint64_t refs[4] = { FIRST_ID, id - delta, i % 3 ? 0 : id, FIRST_ID };
		const uint64_t size = type == STRING_TYPE ? 16 + i % 40 : type == BYTES_TYPE ? 12 + i % 1000 :
				      type == ARRAY_TYPE  ? 28 : 0;
		put_object(&g, !i, delta, type, size, refs,
			   type == NODE_TYPE ? 3 : type == ARRAY_TYPE ? 4 : type == LEAF_TYPE || type == STRING_TYPE ? 1 : 0);
		if (g.body.len > PACKET_BYTES)
			rc = flush(&g, false);
	}
	put_field_name(&g, 1, "com.example.Node com.example.Node.next");
	put_field_name(&g, 2, "java.lang.Object com.example.Node.item");
	put_field_name(&g, 3, "java.lang.Class java.lang.Object.shadow$_klass_");
	if (!rc)
		rc = flush(&g, true);
	writer_free(&g.body);
	writer_free(&g.message);
	writer_free(&g.list);
	if (g.file && fclose(g.file))
		rc = -1;
	return rc;
}
