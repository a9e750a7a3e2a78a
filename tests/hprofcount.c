/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hprofcount: counts what an HPROF file holds, to compare a mount with. Shares no code with heapfs: it walks
 * the whole file in one simple loop and believes nothing that heapfs believes.
 *
 * Prints, for each heap dump in the file, "dump N", then "class-id TAB objects TAB payload bytes" for instances
 * and object arrays, the same with a type ("int[]") for primitive arrays, and "root 0xTAG TAB count"; at the
 * end "record 0xTAG TAB count". Exit status 3 and a byte offset where the file is damaged.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally {
	uint64_t id, count, bytes;
	bool used;
};

static const unsigned char *file;
static uint64_t file_size;
static unsigned id_size;
static struct tally *tallies;		/* hash by id, of a power of two */
static size_t tally_slots, tally_count;
static struct tally primitives[12];	/* by element type */
static uint64_t roots[256], records[256];
static unsigned dumps;			/* begun so far */
static bool dump_open;

static const char *const type_names[12] = { [4] = "boolean", [5] = "char", [6] = "float", [7] = "double",
					    [8] = "byte", [9] = "short", [10] = "int", [11] = "long" };

static void die(const char *what, uint64_t offset)
{
	fprintf(stderr, "hprofcount: %s at byte %" PRIu64 "\n", what, offset);
	exit(3);
}

/* A big-endian number of `n` bytes. */
static uint64_t number(uint64_t offset, unsigned n)
{
	uint64_t value = 0;
	if (offset > file_size || n > file_size - offset)
		die("the file ends inside a record", offset);
	for (unsigned i = 0; i < n; i++)
		value = value << 8 | file[offset + i];
	return value;
}

static unsigned width(uint64_t type, uint64_t offset)
{
	static const unsigned char widths[12] = { [4] = 1, 2, 4, 8, 1, 2, 4, 8 };
	if (type == 2)
		return id_size;
	if (type >= 12 || !widths[type])
		die("unknown type", offset);
	return widths[type];
}

static struct tally *slot(struct tally *table, size_t slots, uint64_t id)
{
	size_t at = (size_t)((id ^ id >> 21) * 0x2545f4914f6cdd1dU) & (slots - 1);
	while (table[at].used && table[at].id != id)
		at = (at + 1) & (slots - 1);
	return &table[at];
}

static void add(uint64_t class_id, uint64_t bytes)
{
	if (tally_count * 2 >= tally_slots) {
		const size_t more = tally_slots ? tally_slots * 2 : 1024;
		struct tally *table = calloc(more, sizeof *table);
		if (!table)
			die("out of memory", 0);
		for (size_t i = 0; i < tally_slots; i++)
			if (tallies[i].used)
				*slot(table, more, tallies[i].id) = tallies[i];
		free(tallies);
		tallies = table;
		tally_slots = more;
	}
	struct tally *tally = slot(tallies, tally_slots, class_id);
	tally_count += !tally->used;
	tally->used = true;
	tally->id = class_id;
	tally->count++;
	tally->bytes += bytes;
}

static int by_id(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static void end_dump(void)
{
	if (!dump_open)
		return;
	dump_open = false;
	printf("dump %u\n", dumps);
	size_t kept = 0;
	for (size_t i = 0; i < tally_slots; i++)
		if (tallies[i].used)
			tallies[kept++] = tallies[i];
	if (kept)
		qsort(tallies, kept, sizeof *tallies, by_id);
	for (size_t i = 0; i < kept; i++)
		printf("0x%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\n", tallies[i].id, tallies[i].count, tallies[i].bytes);
	for (unsigned i = 0; i < 12; i++)
		if (primitives[i].count)
			printf("%s[]\t%" PRIu64 "\t%" PRIu64 "\n", type_names[i], primitives[i].count, primitives[i].bytes);
	for (unsigned i = 0; i < 256; i++)
		if (roots[i])
			printf("root 0x%02x\t%" PRIu64 "\n", i, roots[i]);
	free(tallies);
	tallies = NULL;
	tally_slots = tally_count = 0;
	memset(primitives, 0, sizeof primitives);
	memset(roots, 0, sizeof roots);
}

/* Bytes of a CLASS_DUMP behind its tag. */
static uint64_t class_dump_size(uint64_t at)
{
	const uint64_t start = at;
	at += 7 * (uint64_t)id_size + 8;
	uint64_t n = number(at, 2);
	at += 2;
	for (; n; n--)
		at += 3 + width(number(at + 2, 1), at + 2);
	n = number(at, 2);
	at += 2;
	for (; n; n--)
		at += id_size + 1 + width(number(at + id_size, 1), at + id_size);
	n = number(at, 2);
	return at + 2 + n * (id_size + 1) - start;
}

/* Bytes of a root behind its tag, 0 where the tag is no root's. */
static unsigned root_size(uint64_t tag)
{
	switch (tag) {
	case 0xff: case 0x05: case 0x07: case 0x89: case 0x8a: case 0x8b: case 0x8c: case 0x8d: case 0x90:
		return id_size;
	case 0x01:
		return 2 * id_size;
	case 0x02: case 0x03: case 0x08: case 0x8e:
		return id_size + 8;
	case 0x04: case 0x06:
		return id_size + 4;
	default:
		return 0;
	}
}

static void count_heap(uint64_t at, uint64_t end)
{
	const unsigned I = id_size;
	while (at < end) {
		const uint64_t tag = number(at, 1), body = at + 1;
		uint64_t size = root_size(tag), n, type;
		if (size) {
			roots[tag]++;
		} else if (tag == 0xfe) {
			size = 4 + I;
		} else if (tag == 0x20) {
			size = class_dump_size(body);
		} else if (tag == 0x21) {
			n = number(body + I + 4 + I, 4);
			size = 2 * I + 8 + n;
			add(number(body + I + 4, I), n);
		} else if (tag == 0x22) {
			n = number(body + I + 4, 4) * I;
			size = 2 * I + 8 + n;
			add(number(body + I + 8, I), n);
		} else if (tag == 0x23 || tag == 0xc3) {
			type = number(body + I + 8, 1);
			n = number(body + I + 4, 4) * width(type, body + I + 8);
			n = tag == 0x23 ? n : 0;
			size = I + 9 + n;
			primitives[type].count++;
			primitives[type].bytes += n;
		} else {
			die("unknown sub-record", at);
		}
		if (size > end - body)
			die("a sub-record that is longer than its segment", at);
		at = body + size;
	}
}

static bool read_file(const char *name)
{
	FILE *in = fopen(name, "rb");
	if (!in || fseek(in, 0, SEEK_END))
		return false;
	const long size = ftell(in);
	unsigned char *data = size > 0 ? malloc((size_t)size) : NULL;
	rewind(in);
	if (!data || fread(data, 1, (size_t)size, in) != (size_t)size)
		return false;
	fclose(in);
	file = data;
	file_size = (uint64_t)size;
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 2 || !read_file(argv[1]) || file_size < 31 || memcmp(file, "JAVA PROFILE 1.0.", 17)) {
		fputs("usage: hprofcount HPROF-FILE\n", stderr);
		return 2;
	}
	const unsigned header = (unsigned)strlen((const char *)file) + 1;
	id_size = (unsigned)number(header, 4);
	if (id_size != 4 && id_size != 8)
		die("bad identifier size", header);
	for (uint64_t at = header + 12; at < file_size;) {
		const uint64_t tag = number(at, 1), len = number(at + 5, 4), body = at + 9;
		if (len > file_size - body)
			die("a record that is longer than the file", at);
		records[tag]++;
		/* A HEAP_DUMP is a dump by itself; segments go on until a HEAP_DUMP_END. */
		if (tag == 0x0c)
			end_dump();
		if ((tag == 0x0c || tag == 0x1c) && !dump_open) {
			dump_open = true;
			dumps++;
		}
		if (tag == 0x0c || tag == 0x1c)
			count_heap(body, body + len);
		if (tag == 0x0c || tag == 0x2c)
			end_dump();
		at = body + len;
	}
	end_dump();
	for (unsigned i = 0; i < 256; i++)
		if (records[i])
			printf("record 0x%02x\t%" PRIu64 "\n", i, records[i]);
	free((void *)(uintptr_t)file);
	return 0;
}
