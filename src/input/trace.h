/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: the heap dumps and pictures that a Perfetto trace carries.
 *
 * A trace is a row of TracePackets. A dump comes as HprofDump packets, a chunk each, of one process and one packet
 * sequence; chunks have an index and the last one is marked, or (an older form) neither. Chunks are put in the order
 * of their indexes; where some are missing, and all have one size, zeros stand for them, so that what follows is
 * where it was. Pictures come as HprofBitmap packets, for which no field number was ever given out: any field of that
 * shape counts. Packets may be compressed with zlib.
 *
 * Sources: google/perfetto, protos/perfetto/trace/trace_packet.proto, and the proposed hprof_dump.proto (field 129,
 * which upstream has since given to GenericGpuFrequencyEvent: they differ in the type of field 2). Perfetto's own heap
 * graphs become dumps too: see heap_graph.h.
 *
 * Two passes: one over the packets, which notes where chunks are, and one that copies them. Kept meanwhile are some
 * 40 bytes a chunk.
 */
#ifndef HEAPFS_TRACE_H
#define HEAPFS_TRACE_H

#include "input/gzip.h"
#include "input/heap_graph.h"

/* A picture that came with a dump. */
struct trace_picture {
	char *name;		/* as the trace has it; "unnamed" for none */
	uint64_t offset, len;	/* in the spill */
};

/* A dump put together. */
struct trace_dump {
	uint32_t pid;
	char *process;		/* its name, or NULL */
	uint64_t offset, len;	/* in the spill */
	struct heap_graph *graph; /* NULL for an HprofDump */
	char *details;		/* more lines for info.txt, or NULL */
	bool details_shared;	/* they belong to an earlier dump of the process */
	uint64_t smaps, smaps_len; /* a table of the process's memory mappings, in the spill; 0 without */
	struct trace_picture *pictures;
	size_t picture_count;
	struct notes notes;	/* offsets are of the dump */
};

struct trace {
	const uint8_t *data;
	uint64_t len;
	struct notes *notes;	/* offsets are of the trace */
	unsigned threads;
	bool only_pid;		/* wanted is the dump of one process */
	uint32_t pid;
	input_progress *progress; /* or NULL */
	void *context;
	/* What was found. */
	struct trace_dump *dumps;
	size_t dump_count;
	uint64_t size;		/* bytes in the spill */
	uint64_t packets, video_frames, zstd_packets, dumps_of_others;
	struct trace_state *state; /* internal */
};

/* More dumps in one trace are made to do harm. */
#define TRACE_DUMPS_MOST 1000

/* Looks through the packets; dump_count tells how many dumps there are. 0, or -1 without memory. */
int trace_open(struct trace *trace);
/* How many bytes trace_unpack() will write. */
uint64_t trace_estimate(const struct trace *trace);
/* Copies the dumps, one after another, and their pictures. 0, or -1 without memory or on an error of the spill's. */
int trace_unpack(struct trace *trace, struct spill *spill);
void trace_close(struct trace *trace);

/* --- a trace of which only the pictures are wanted, of whatever process: after trace_open(), instead of unpacking it --- */

struct trace_found {
	uint32_t pid;
	char *name;		/* the caller's to free */
	uint64_t offset, len;	/* in the trace, unless it is in a compressed packet */
	bool packed;
};
size_t trace_picture_count(const struct trace *trace);
/* False without memory, or where what it is in cannot be inflated. */
bool trace_picture_find(struct trace *trace, size_t number, struct trace_found *found);
/* Copies bytes of one that is in a compressed packet. False where they cannot be had. By one thread at a time. */
bool trace_picture_copy(struct trace *trace, size_t number, uint64_t from, size_t len, void *out);
/* What the trace calls a process, or NULL; the caller's to free. */
char *trace_process_name(struct trace *trace, uint32_t pid);

#endif
