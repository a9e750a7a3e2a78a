/* SPDX-License-Identifier: Apache-2.0 */
#include "input/sniff.h"

#include <string.h>

static const struct {
	uint64_t offset;
	const char *bytes;
	uint8_t len;
	const char *what;
} magics[] = {
	{ 0, "JAVA PROFILE 1.0.1, created", 27,
	  "the text format of the old hprof agent; take the dump again with format=b" },
	{ 0, "JAVA PROFILE ", 13, "an HPROF file of an unknown version" },
	{ 0, "\x1f\x8b", 2, "gzip-compressed; unpack it first (gunzip)" },
	{ 0, "PK\x03\x04", 4, "a zip archive; unpack it first (unzip)" },
	{ 0, "PK\x05\x06", 4, "an empty zip archive" },
	{ 0, "\x28\xb5\x2f\xfd", 4, "zstd-compressed; unpack it first (unzstd)" },
	{ 0, "BZh", 3, "bzip2-compressed; unpack it first (bunzip2)" },
	{ 0, "\xfd" "7zXZ", 5, "xz-compressed; unpack it first (unxz)" },
	{ 0, "7z\xbc\xaf\x27\x1c", 6, "a 7z archive; unpack it first" },
	{ 0, "\x04\x22\x4d\x18", 4, "lz4-compressed; unpack it first (unlz4)" },
	{ 257, "ustar", 5, "a tar archive; unpack it first (tar xf)" },
	{ 0, "\x00\x12portable heap dump", 20,
	  "an OpenJ9 portable heap dump (PHD); Eclipse MAT with IBM's DTFJ can export it as HPROF" },
	{ 0, "0SECTION", 8, "an OpenJ9 javacore, which holds no objects" },
	{ 0, "\x7f" "ELF", 4, "an ELF file; if it is a core dump of a JVM, jhsdb jmap --binaryheap makes an HPROF of it" },
	{ 0, "\x89PNG", 4, "a PNG picture" },
	{ 0, "SQLite format 3", 15, "an SQLite database" },
	{ 0, "%PDF", 4, "a PDF document" },
};

/* A Perfetto trace is a row of packets: tag 0x0a, a varint length, the packet. */
static bool is_perfetto(const struct input *in)
{
	uint64_t at = 0;
	unsigned packets = 0;
	while (at < in->size && packets < 8) {
		if (in->data[at++] != 0x0a)
			return false;
		uint64_t len = 0;
		unsigned shift = 0;
		for (;; shift += 7) {
			if (at >= in->size || shift > 28)
				return false;
			len |= (uint64_t)(in->data[at] & 0x7f) << shift;
			if (!(in->data[at++] & 0x80))
				break;
		}
		if (len > in->size - at)
			return packets > 1; /* cut inside a packet */
		at += len;
		packets++;
	}
	return packets > 1;
}

static bool all_of(const struct input *in, bool (*is)(uint8_t))
{
	for (uint64_t i = 0; i < in->size && i < 4096; i++)
		if (!is(in->data[i]))
			return false;
	return true;
}

static bool is_zero(uint8_t byte)
{
	return byte == 0;
}

static bool is_text(uint8_t byte)
{
	return byte >= 0x20 || byte == '\n' || byte == '\t' || byte == '\r';
}

const char *sniff(const struct input *in)
{
	static const char hprof[] = "JAVA PROFILE 1.0";
	if (in->size < sizeof hprof - 1 && !memcmp(in->data, hprof, in->size))
		return "the beginning of an HPROF file, cut inside its header; take or copy the dump again";
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (in->size >= magics[i].offset + magics[i].len &&
		    !memcmp(in->data + magics[i].offset, magics[i].bytes, magics[i].len))
			return magics[i].what;
	if (is_perfetto(in))
		return "a Perfetto trace; heapfs reads HPROF files so far";
	if (all_of(in, is_zero))
		return "nothing but zero bytes; the dump was not written, or the copy failed";
	if (all_of(in, is_text))
		return "text; a heap dump is binary and begins with \"JAVA PROFILE 1.0\"";
	return "of an unknown kind: it does not begin with \"JAVA PROFILE 1.0\"";
}
