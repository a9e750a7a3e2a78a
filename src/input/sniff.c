/* SPDX-License-Identifier: Apache-2.0 */
#include "input/sniff.h"

#include "input/proto.h"

#include <string.h>

#define AGENT_TEXT "JAVA PROFILE 1.0.1, created"

static const struct {
	uint64_t offset;
	const char *bytes;
	uint8_t len;
	const char *what;
} magics[] = {
	{ 0, AGENT_TEXT, sizeof AGENT_TEXT - 1,
	  "the text format of the old hprof agent; take the dump again with format=b" },
	{ 0, "JAVA PROFILE ", 13, "an HPROF file of an unknown version; heapfs reads 1.0.1, 1.0.2 and 1.0.3" },
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
	{ 0, "0SECTION", 8, "an OpenJ9 javacore, which holds no objects; take a heap dump (jcmd PID GC.heap_dump)" },
	{ 0, "\x7f" "ELF", 4, "an ELF file; if it is a core dump of a JVM, jhsdb jmap --binaryheap makes an HPROF of it" },
	{ 0, "\x89PNG", 4, "a PNG picture" },
	{ 0, "SQLite format 3", 15, "an SQLite database" },
	{ 0, "%PDF", 4, "a PDF document" },
};

/*
 * A Perfetto trace is a row of packets: tag 0x0a, a varint length, the packet. The first ones must follow each
 * other; of one that is not whole here, the fields that are must make sense.
 */
static bool is_perfetto(const uint8_t *data, uint64_t len, bool whole)
{
	const uint8_t *at = data, *end = data + len;
	struct proto_field packet, field;
	unsigned packets = 0;
	for (; at < end && packets < 8; packets++) {
		if (*at != 0x0a)
			return false;
		if (!proto_next(&at, end, &packet) || packet.cut)
			break;
	}
	if (packets > 1 || (packets && at == end && whole))
		return true;
	/* One packet, or the beginning of one. */
	at = data;
	if (at == end || *at != 0x0a || !proto_next(&at, end, &packet))
		return false;
	at = packet.data;
	return proto_next(&at, packet.data + packet.len, &field) && field.number <= 9999;
}

static bool all_of(const uint8_t *data, uint64_t len, bool (*is)(uint8_t))
{
	for (uint64_t i = 0; i < len && i < 4096; i++)
		if (!is(data[i]))
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

static bool begins_with(const uint8_t *data, uint64_t len, uint64_t offset, const char *magic, size_t magic_len)
{
	return len >= offset + magic_len && !memcmp(data + offset, magic, magic_len);
}

#define HPROF_MAGIC "JAVA PROFILE 1.0"

enum content sniff_content(const uint8_t *data, uint64_t len, bool whole)
{
	/* The hprof agent's text format begins alike, and goes on in letters. */
	if (begins_with(data, len, 0, HPROF_MAGIC, sizeof HPROF_MAGIC - 1) &&
	    !begins_with(data, len, 0, AGENT_TEXT, sizeof AGENT_TEXT - 1))
		return CONTENT_HPROF;
	if (begins_with(data, len, 0, "\x1f\x8b", 2))
		return CONTENT_GZIP;
	if (begins_with(data, len, 0, "\xa4\xb3\xc2\xd1", 4))
		return CONTENT_LOLI;
	if (len && !all_of(data, len, is_text) && is_perfetto(data, len, whole))
		return CONTENT_PERFETTO;
	return CONTENT_OTHER;
}

const char *sniff_other(const uint8_t *data, uint64_t len)
{
	if (len < sizeof HPROF_MAGIC - 1 && !memcmp(data, HPROF_MAGIC, len))
		return "the beginning of an HPROF file, cut inside its header; take or copy the dump again";
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (begins_with(data, len, magics[i].offset, magics[i].bytes, magics[i].len))
			return magics[i].what;
	if (all_of(data, len, is_zero))
		return "nothing but zero bytes; the dump was not written, or the copy failed";
	if (all_of(data, len, is_text))
		return "text; a heap dump is binary and begins with \"JAVA PROFILE 1.0\"";
	return "of an unknown kind: it does not begin with \"JAVA PROFILE 1.0\"; is it encrypted, or cut at its front?";
}
