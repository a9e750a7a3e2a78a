/* SPDX-License-Identifier: Apache-2.0 */
#include "containers.h"

#include "input/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* --- a file, and what is made of it --- */

char folder[4096], path[4200];

int make_folder(void **state)
{
	const char *base = getenv("TMPDIR");
	(void)state;
	snprintf(folder, sizeof folder, "%s/heapfs-unit.XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/file", folder);
	return 0;
}

int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

void open_bytes(struct opened_container *o, const void *data, size_t len, const struct container_options *more)
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

const struct note *find_note(const struct notes *notes, const char *kind)
{
	for (size_t i = 0; i < notes->count; i++)
		if (!strcmp(notes->list[i].kind, kind))
			return &notes->list[i];
	return NULL;
}

const struct input *part_of(const struct opened_container *o, size_t number)
{
	assert_true(number < o->container.part_count);
	return part_input(&o->container, &o->container.parts[number]);
}

void assert_bytes(const struct input *in, const void *data, size_t len)
{
	assert_int_equal(in->size, len);
	assert_memory_equal(in->data, data, len);
}

/* What any bytes give: a message, or dumps that are the beginning of the truth. The bytes of the first one. */
uint64_t assert_beginning(const struct opened_container *o, const void *truth, size_t len)
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

void put_varint(struct writer *w, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		put_u1(w, (unsigned)(value & 0x7f) | 0x80);
	put_u1(w, (unsigned)value);
}

void put_number(struct writer *w, unsigned field, uint64_t value)
{
	put_varint(w, (uint64_t)field << 3 | PROTO_VARINT);
	put_varint(w, value);
}

void put_field(struct writer *w, unsigned field, const void *data, size_t len)
{
	put_varint(w, (uint64_t)field << 3 | PROTO_LEN);
	put_varint(w, len);
	put_bytes(w, data, len);
}

void put_message(struct writer *w, unsigned field, struct writer *message)
{
	put_field(w, field, message->data, message->len);
	writer_free(message);
}

void put_chunk(struct writer *trace, uint64_t pid, uint64_t sequence, const void *data, size_t len, uint64_t index,
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

uint8_t payload[PAYLOAD];

void make_payload(void)
{
	memcpy(payload, "JAVA PROFILE 1.0.2\0\0\0\0\4\0\0\0\0\0\0\0\1", 31);
	for (unsigned i = 31; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(i * 7);
}

void put_payload(struct writer *trace)
{
	for (unsigned at = 0; at < PAYLOAD; at += CHUNK) {
		const unsigned len = PAYLOAD - at < CHUNK ? PAYLOAD - at : CHUNK;
		put_chunk(trace, 1234, 1, payload + at, len, at / CHUNK, at + len == PAYLOAD);
	}
}

/* --- gzip --- */

void put_member(struct writer *w, const void *data, size_t len, const char *comment)
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
