/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_state: what was found in a trace's packets, before it is put together. Internal to trace.c, which reads
 * packets, trace_unpack.c, which puts dumps together, and trace_process.c, which tells what else there is of a process.
 *
 * Nothing of the trace is kept but where it is; compressed packets are inflated again when they are needed.
 */
#ifndef HEAPFS_TRACE_STATE_H
#define HEAPFS_TRACE_STATE_H

#include "input/proto.h"
#include "input/trace.h"

#define NO_INDEX UINT64_MAX
/* What is copied is written so much at a time. */
#define COPY_BYTES (UINT64_C(1) << 20)

/*
 * Compressed packets are inflated again for what is copied out of them: mostly once, and as often as dumps have chunks
 * in one. So much in all, a floor and some times what is wanted, and then no more.
 */
#define AGAIN_FLOOR (UINT64_C(256) << 20)
#define AGAIN_EACH 8

/* Bytes of the trace, or of what a compressed packet of it holds. */
struct place {
	uint64_t packed, packed_len; /* the compressed packet's bytes; 0, 0: none */
	uint64_t offset, len;
};

struct chunk {
	struct place place;
	uint64_t index;		/* or NO_INDEX */
	uint64_t number;	/* order in the trace */
	uint64_t packet;	/* offset of its packet, or of the compressed one that holds it */
	bool cut;		/* its end is missing */
};

/* A dump while its chunks are gathered. */
struct gathering {
	uint32_t pid, sequence;
	struct chunk *chunks;
	size_t count, capacity;
	uint64_t last;		/* index of the chunk that is marked as the last; NO_INDEX: none yet */
	uint64_t next;		/* index after the highest one so far; 0: none has an index */
	bool has_first, dropped, closed;
	uint64_t dropped_at;	/* offset in the trace */
};

/* A packet of a heap graph. */
struct graph_packet {
	struct place place;
	uint64_t packet;	/* offset of its packet, or of the compressed one that holds it */
	uint32_t sequence;
	/* What it says itself. */
	uint32_t pid;
	uint64_t index;
	struct graph_span *others; /* where it has something else than objects */
	uint32_t other_count, other_capacity;
	bool known;		/* was read */
	bool continued;		/* more packets follow */
};

/* A heap graph while its packets are gathered. */
struct graphing {
	struct trace *trace;
	uint32_t pid, sequence;
	size_t *packets;	/* their numbers */
	size_t count, capacity;
	uint64_t next;		/* index that has to come */
	uint64_t missing, missing_at; /* packets that did not, the first one's place in the trace */
	bool finished;
};

/* A message about a process, by its place. */
struct about {
	uint32_t pid;
	struct place message;
};

struct found_picture {
	uint32_t pid;
	struct place name, data;
};

struct process {
	uint32_t pid;
	struct place name;
};

struct sequence {
	uint32_t id;
	bool known;
	bool dropped;		/* packets before the next one are lost */
};

struct trace_state {
	struct gathering *gatherings;
	struct graph_packet *graph_packets; /* of all graphs */
	struct graphing *graphings;
	struct about *art, *smaps;
	struct found_picture *pictures;
	struct process *processes;
	struct sequence *sequences; /* by a hash of their id */
	size_t gathering_count, graph_packet_count, graphing_count, art_count, smaps_count, picture_count, process_count,
		sequence_count;
	size_t gathering_capacity, graph_packet_capacity, graphing_capacity, art_capacity, smaps_capacity, picture_capacity,
		process_capacity;
	/* What the last compressed packet holds. */
	uint8_t *inflated;
	size_t inflated_len, inflated_capacity;
	uint64_t inflated_from;	/* its place in the trace; 0: none */
	uint64_t again, again_most; /* bytes that were inflated again, and that may be; 0: the first time is not over */
	bool no_memory;
};

/* Makes room for one more item. NULL without memory. */
void *trace_grow(struct trace_state *state, void *list, size_t count, size_t *capacity, size_t size);
#define ADD(state, list, count, capacity, ...)                                                                  \
	do {                                                                                                    \
		void *grown_ = trace_grow(state, (list), (count), &(capacity), sizeof *(list));                        \
		if (grown_) {                                                                                   \
			(list) = grown_;                                                                        \
			(list)[(count)++] = __VA_ARGS__;                                                        \
		}                                                                                               \
	} while (0)

/* The bytes at a place; those of a compressed packet until the next one is asked for. NULL if they cannot be inflated. */
const uint8_t *trace_bytes(struct trace *trace, const struct place *place);

/* Text of the trace, cut where it is too long for any name; the caller's to free. NULL if it cannot be had. */
char *trace_text(struct trace *trace, const struct place *place);

/* Notes that they could not be. */
void trace_note_lost(struct trace *trace, const struct place *place);

/* A packet of a heap graph, of which it is known where it is. */
void trace_add_graph(struct trace *trace, const uint8_t *data, const struct graph_packet *packet);
/* Puts the packets of heap graphs together, once all are there. */
void trace_gather_graphs(struct trace *trace);
/* Writes a heap graph as a dump. False where the spill took no more, and without memory. */
bool trace_write_graph(struct trace *trace, struct spill *spill, struct graphing *g, struct trace_dump *dump);
void trace_close_graphs(struct trace_state *state);

/* Gives a dump what the trace says of its process. False where the spill took no more. */
bool unpack_process(struct trace *trace, struct spill *spill, struct trace_dump *dump);

#endif
