/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/loli_agent.h"

#include "input/le.h"
#include "input/spill.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef HAVE_LZ4
#include <lz4.h>
#endif

#define DEFAULT_FOLDER "/var/tmp"
/*
 * 3,000 messages of 126 frames are some 3 MB. What says that it is larger than this is no packet of the agent's, and where
 * the next one begins is not known.
 */
#define PACKET_MOST (UINT32_C(64) << 20)
#define PACKET_HEAD 4
#define FREE_SIZE 13
#define ALLOCATION_SIZE 26
#define SEEN_BYTES (UINT64_C(1) << 29)	/* 2^32 bits, of which only the touched pages are there */

enum { PACKET_DATA, PACKET_COMMAND };

int loli_agent_open(struct loli_agent *agent, const char *folder, char *error, size_t error_size)
{
	*agent = (struct loli_agent){ .records = NULL };
	const char *set = getenv("TMPDIR");
	folder = folder ? folder : set && *set ? set : DEFAULT_FOLDER;
	const int fd = spill_unnamed(folder);
	agent->records = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!agent->records) {
		snprintf(error, error_size, "cannot write a temporary file to %s: %s", folder, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	void *seen = mmap(NULL, SEEN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	agent->seen = seen == MAP_FAILED ? NULL : seen;
	return 0;
}

void loli_agent_close(struct loli_agent *agent)
{
	if (agent->records)
		fclose(agent->records);
	if (agent->seen)
		munmap(agent->seen, SEEN_BYTES);
	table_free(&agent->freed);
	free(agent->packet);
	free(agent->unpacked);
	*agent = (struct loli_agent){ .records = NULL };
}

bool loli_message_parse(const uint8_t *data, size_t len, struct loli_message *message)
{
	*message = (struct loli_message){ .free = len && !data[0] };
	if (len < FREE_SIZE)
		return false;
	message->seq = le32(data + 1);
	if (message->free) {
		message->address = le64(data + 5);
		return len == FREE_SIZE;
	}
	if (len < ALLOCATION_SIZE)
		return false;
	message->time_ms = (int64_t)le64(data + 5);
	message->size = le32(data + 13);
	message->address = le64(data + 17);
	const uint8_t *rest = data + ALLOCATION_SIZE;
	len -= ALLOCATION_SIZE;
	switch (data[ALLOCATION_SIZE - 1]) {
	case 0:
		if (len < 2 || le16(rest) != len - 2)
			return false;
		message->lib = (const char *)rest + 2;
		message->lib_len = (uint32_t)len - 2;
		return true;
	case 1:
		message->stack = true;
		message->frames = rest;
		message->frame_count = (uint32_t)(len / 8);
		return len % 8 == 0;
	default:
		return false;
	}
}

bool loli_message_freed(const struct loli_agent *agent, const struct loli_message *message)
{
	const uint32_t seq = table_get(&agent->freed, (struct table_key){ message->address, 0 });
	return seq != NUMBER_NONE && message->seq < seq;
}

static bool give_up(struct loli_agent *agent, const char *why)
{
	snprintf(agent->problem, sizeof agent->problem, "%s", why);
	return false;
}

static bool take_message(struct loli_agent *agent, const uint8_t *data, size_t len)
{
	struct loli_message message;
	if (!loli_message_parse(data, len, &message)) {
		agent->damaged_messages++;
		return true;
	}
	if (agent->seen) {
		uint64_t *word = &agent->seen[message.seq / 64], bit = UINT64_C(1) << message.seq % 64;
		agent->repeated += (*word & bit) != 0;
		*word |= bit;
	}
	if (message.free) {
		/* The highest number of all stands for an empty slot of the table. */
		const uint32_t seq = message.seq == NUMBER_NONE ? NUMBER_NONE - 1 : message.seq;
		uint32_t *latest = table_put(&agent->freed, (struct table_key){ message.address, 0 });
		if (!latest)
			return give_up(agent, "out of memory for the addresses that were freed");
		if (*latest == NUMBER_NONE || *latest < seq)
			*latest = seq;
		agent->frees++;
		return true;
	}
	const uint8_t head[2] = { (uint8_t)len, (uint8_t)(len >> 8) };
	if (fwrite(head, sizeof head, 1, agent->records) != 1 || fwrite(data, len, 1, agent->records) != 1) {
		char why[120];
		snprintf(why, sizeof why, "cannot write the temporary file: %s", strerror(errno));
		return give_up(agent, why);
	}
	agent->allocations++;
	agent->allocated += message.size;
	return true;
}

/* Makes room for a packet, or for what one unpacks to. */
static bool reserve(uint8_t **buffer, size_t *size, size_t wanted)
{
	if (wanted <= *size)
		return true;
	free(*buffer);
	*buffer = malloc(wanted);
	*size = *buffer ? wanted : 0;
	return *buffer;
}

static bool unpack(struct loli_agent *agent, const uint8_t *block, size_t len, uint32_t size)
{
#ifdef HAVE_LZ4
	return LZ4_decompress_safe((const char *)block, (char *)agent->unpacked, (int)len, (int)size) == (int)size;
#else
	(void)block;
	(void)len;
	(void)size;
	return give_up(agent, "built without liblz4, which unpacks what the agent sends");
#endif
}

/* LoliProfiler takes what failed to unpack for no messages (src/stacktraceprocess.cpp); here it is counted. */
static bool take_data(struct loli_agent *agent, const uint8_t *data, size_t len)
{
	const uint32_t size = len < 4 ? UINT32_MAX : le32(data);
	if (size > PACKET_MOST) {
		agent->damaged_packets++;
		return true;
	}
	if (!reserve(&agent->unpacked, &agent->unpacked_size, (size_t)size + 1))
		return give_up(agent, "out of memory for a packet");
	if (!unpack(agent, data + 4, len - 4, size)) {
		agent->damaged_packets++;
		return !*agent->problem;
	}
	for (size_t at = 0; at < size;) {
		const size_t left = size - at, message = left < 2 ? 0 : le16(agent->unpacked + at);
		if (left < 2 || message > left - 2) { /* where the next one begins is not known */
			agent->damaged_messages++;
			return true;
		}
		if (!take_message(agent, agent->unpacked + at + 2, message))
			return false;
		at += 2 + message;
	}
	return true;
}

static bool take_packet(struct loli_agent *agent, const uint8_t *data, size_t len)
{
	agent->packets++;
	const uint32_t type = len < 4 ? UINT32_MAX : le32(data);
	if (type == PACKET_DATA)
		return take_data(agent, data + 4, len - 4);
	if (type == PACKET_COMMAND && len >= 8 && le32(data + 4) == LOLI_SMAPS_DUMP)
		agent->smaps_dumped = true;
	else
		agent->unknown_packets++;
	return true;
}

bool loli_agent_feed(struct loli_agent *agent, const void *data, size_t len)
{
	const uint8_t *p = data;
	agent->bytes += len;
	while (len && !*agent->problem) {
		uint8_t head[PACKET_HEAD];
		if (agent->have < PACKET_HEAD) {
			/* The head, a byte at a time: it stands before the rest in the packet's buffer. */
			if (!reserve(&agent->packet, &agent->packet_size, 65536))
				return give_up(agent, "out of memory for a packet");
			agent->packet[agent->have++] = *p++;
			len--;
			continue;
		}
		memcpy(head, agent->packet, sizeof head);
		const uint32_t size = le32(head);
		if (size > PACKET_MOST) {
			char why[120];
			snprintf(why, sizeof why, "a packet of %" PRIu32 " bytes at byte %" PRIu64 ": this is not what LoliProfiler's "
				 "agent sends", size, agent->bytes - len - PACKET_HEAD);
			return give_up(agent, why);
		}
		if (agent->have == PACKET_HEAD && !reserve(&agent->packet, &agent->packet_size, PACKET_HEAD + (size_t)size))
			return give_up(agent, "out of memory for a packet");
		if (agent->have == PACKET_HEAD)
			memcpy(agent->packet, head, sizeof head);
		const size_t missing = PACKET_HEAD + (size_t)size - agent->have, take = len < missing ? len : missing;
		memcpy(agent->packet + agent->have, p, take);
		agent->have += take;
		p += take;
		len -= take;
		if (take < missing)
			continue;
		agent->have = 0;
		take_packet(agent, agent->packet + PACKET_HEAD, size);
	}
	return !*agent->problem;
}

void loli_agent_ended(struct loli_agent *agent)
{
	agent->cut |= agent->have != 0;
	agent->have = 0;
}

bool loli_agent_rewind(struct loli_agent *agent)
{
	/* What could not be written is not read; the rest is. */
	const bool good = !fflush(agent->records) || *agent->problem;
	clearerr(agent->records);
	return !fseeko(agent->records, 0, SEEK_SET) && good;
}

bool loli_agent_next(struct loli_agent *agent, uint8_t *buffer, struct loli_message *message)
{
	uint8_t head[2];
	if (fread(head, sizeof head, 1, agent->records) != 1)
		return false;
	const size_t len = le16(head);
	return fread(buffer, len, 1, agent->records) == 1 && loli_message_parse(buffer, len, message);
}
