/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle DUMP COPY: the same dump with its objects at random places of the file. A program's first dump lies in the order
 * in which it allocated, so that what refers to each other stands together; nothing is as fast as on such a dump. For
 * benchmarks; takes 8 bytes of memory an object. All else (names, classes, roots) keeps its order, in front.
 */
#include "hprof/index.h"
#include "hprof/record.h"
#include "hprof/subrecord.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes of a segment: far below where its length would need more than 32 bits. */
#define SEGMENT (UINT64_C(64) << 20)

struct offsets {
	uint64_t *list;
	size_t count, capacity;
};

static void add(struct offsets *offsets, uint64_t offset)
{
	if (offsets->count == offsets->capacity) {
		offsets->capacity = offsets->capacity ? offsets->capacity * 2 : 1 << 20;
		offsets->list = reallocarray(offsets->list, offsets->capacity, sizeof *offsets->list);
		if (!offsets->list)
			abort();
	}
	offsets->list[offsets->count++] = offset;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* The sub-records of all segments: objects, and what else there is. */
static void collect(const struct hprof *hprof, struct offsets *objects, struct offsets *others)
{
	for (size_t i = 0; i < hprof->segment_count; i++) {
		uint64_t at = hprof->segments[i].offset;
		while (at < hprof->segments[i].end) {
			const uint8_t *p = hprof->in->data + at;
			if (*p == RECORD_HEAP_DUMP_SEGMENT) { /* the next of a run */
				at += RECORD_HEADER;
				continue;
			}
			const uint64_t size = subrecord_size(p, hprof->segments[i].end - at, hprof->id_width);
			if (size == SUBRECORD_BAD || size > hprof->segments[i].end - at) {
				fprintf(stderr, "shuffle: damaged at %llu\n", (unsigned long long)at);
				exit(1);
			}
			add(subrecord_is_object(*p) ? objects : others, at);
			at += size;
		}
	}
}

static void put_header(FILE *out, unsigned tag, uint64_t len)
{
	const uint8_t header[RECORD_HEADER] = { (uint8_t)tag, 0, 0, 0, 0, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
						(uint8_t)(len >> 8), (uint8_t)len };
	fwrite(header, 1, sizeof header, out);
}

/* Writes sub-records, in segments that are full when the next one would be too much. */
static void put_all(FILE *out, const struct hprof *hprof, const struct offsets *offsets)
{
	const uint8_t *data = hprof->in->data;
	for (size_t first = 0, end = 0; first < offsets->count; first = end) {
		uint64_t len = 0;
		for (; end < offsets->count && len < SEGMENT; end++)
			len += subrecord_size(data + offsets->list[end], hprof->in->size - offsets->list[end], hprof->id_width);
		put_header(out, RECORD_HEAP_DUMP_SEGMENT, len);
		for (size_t i = first; i < end; i++) {
			const uint8_t *p = data + offsets->list[i];
			fwrite(p, 1, subrecord_size(p, hprof->in->size - offsets->list[i], hprof->id_width), out);
		}
	}
}

/* The file's header, and every record outside of the heap. */
static void put_records(FILE *out, const struct hprof *hprof)
{
	const uint8_t *data = hprof->in->data;
	fwrite(data, 1, hprof->header_size, out);
	for (uint64_t at = hprof->header_size; at + RECORD_HEADER <= hprof->in->size;) {
		const uint64_t len = RECORD_HEADER + (uint64_t)be32(data + at + 5);
		if (len > hprof->in->size - at)
			break;
		if (data[at] != RECORD_HEAP_DUMP && data[at] != RECORD_HEAP_DUMP_SEGMENT && data[at] != RECORD_HEAP_DUMP_END)
			fwrite(data + at, 1, len, out);
		at += len;
	}
}

int main(int argc, char **argv)
{
	struct input in;
	struct notes notes;
	struct hprof hprof;
	struct offsets objects = { NULL, 0, 0 }, others = { NULL, 0, 0 };
	char error[1024];
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
	if (argc != 3) {
		fputs("usage: shuffle DUMP COPY\n", stderr);
		return 2;
	}
	notes_init(&notes);
	if (input_open(&in, argv[1], error, sizeof error) || hprof_open(&hprof, &in, &notes, error, sizeof error)) {
		fprintf(stderr, "shuffle: %s\n", error);
		return 1;
	}
	FILE *out = fopen(argv[2], "wb");
	if (!out) {
		perror(argv[2]);
		return 1;
	}
	collect(&hprof, &objects, &others);
	for (size_t i = objects.count; i > 1; i--) {
		const size_t j = (size_t)(next_random(&random) % i);
		const uint64_t kept = objects.list[i - 1];
		objects.list[i - 1] = objects.list[j];
		objects.list[j] = kept;
	}
	put_records(out, &hprof);
	put_all(out, &hprof, &others);
	put_all(out, &hprof, &objects);
	put_header(out, RECORD_HEAP_DUMP_END, 0);
	const bool failed = ferror(out) | fclose(out);
	if (failed)
		perror(argv[2]);
	free(objects.list);
	free(others.list);
	hprof_close(&hprof);
	notes_free(&notes);
	input_close(&in);
	return failed;
}
