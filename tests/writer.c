/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

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
