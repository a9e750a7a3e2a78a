/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loli_agent: the stream that LoliProfiler's agent, libloli.so, sends to its one client (plugins/Android/jni/
 * loli_server.cpp): packets of little-endian numbers,
 *
 *     u32 size, of all behind it | u32 type | body
 *     type 0, data:    u32 size when unpacked | an LZ4 block without a frame
 *     type 1, command: u32 command; 0 says that SMAPS_DUMP is done
 *
 * and in the data, messages:
 *
 *     u16 size, of all behind it | u8 0 | u32 number | u64 address                                          a free
 *     u16 size | u8 kind | u32 number | i64 ms | u32 bytes | u64 address | u8 1 | u64 address of each frame   an allocation
 *                                                               likewise | u8 0 | u16 size | library          without a stack
 *
 * Where more than 3,000 messages wait, the newest go first, so that numbers fall from packet to packet. Allocations go to a
 * temporary file as they come. Of frees only the highest number of each address is kept (in memory, some 40 bytes each),
 * which is what a profile has of them, and a bit for each number, to see whether one comes twice: then two agents'
 * streams are mixed (Tencent/loli_profiler#51).
 */
#ifndef HEAPFS_LOLI_AGENT_H
#define HEAPFS_LOLI_AGENT_H

#include "loli/table.h"

#include <stdio.h>

#define LOLI_AGENT_PORT 7100	/* on the device */
#define LOLI_SMAPS_DUMP 0	/* the one byte that a client may send */

struct loli_message {
	bool free;
	bool stack;		/* it has frames, not a library */
	uint32_t seq;
	int64_t time_ms;	/* since the agent was loaded */
	uint32_t size;
	uint64_t address;
	const uint8_t *frames;	/* the innermost first; le64() */
	uint32_t frame_count;
	const char *lib;	/* its name, where there is no stack */
	uint32_t lib_len;
};

struct loli_agent {
	/* What came so far. */
	uint64_t bytes, packets, allocations, frees, allocated; /* `allocated`: bytes */
	uint64_t damaged_packets, damaged_messages, unknown_packets, repeated;
	bool smaps_dumped;	/* the command was answered */
	bool cut;		/* the stream ended inside a packet */
	char problem[160];	/* why no more is taken, or empty */
	struct table freed;	/* highest number of a free, by address */

	FILE *records;		/* u16 size, message; again and again */
	uint8_t *packet, *unpacked;
	size_t have, packet_size, unpacked_size;
	uint64_t *seen;		/* a bit for each number, or NULL */
};

/*
 * `folder` is where the temporary file lies, NULL for $TMPDIR or /var/tmp. 0, or -1 with a message. It may be closed in both
 * cases.
 */
int loli_agent_open(struct loli_agent *agent, const char *folder, char *error, size_t error_size);
void loli_agent_close(struct loli_agent *agent);

/*
 * Takes bytes of the stream, in pieces of any size. What is damaged is counted and passed over, as long as it is clear
 * where the next packet begins. False if no more can be taken: `problem` says why, and what came before is kept.
 */
bool loli_agent_feed(struct loli_agent *agent, const void *data, size_t len);
/* The connection ended; a packet that is not whole is dropped, and one of the same agent may follow. */
void loli_agent_ended(struct loli_agent *agent);

/* False for bytes that are no message. */
bool loli_message_parse(const uint8_t *data, size_t len, struct loli_message *message);
/* Is there a later free of its address? */
bool loli_message_freed(const struct loli_agent *agent, const struct loli_message *message);

/*
 * From the first allocation on, in the order in which they came: rewind, then next until it is false. `buffer` has room
 * for 65,536 bytes, which the message points into.
 */
bool loli_agent_rewind(struct loli_agent *agent);
bool loli_agent_next(struct loli_agent *agent, uint8_t *buffer, struct loli_message *message);

#endif
