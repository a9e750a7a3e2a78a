/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack: stack traces, from the file's STACK FRAME, STACK TRACE and START THREAD records.
 *
 * hprof_open() only notes where such records are. The tables are made at first use, once for a file whatever
 * number of dumps it holds, and kept: 16 bytes a trace and a class, and 24 bytes a run of frames whose ids count
 * up from record to record, as HotSpot and ART write them (one run a trace).
 *
 * Of equal serials the first in the file wins. What is cut, or names what is not there, is simply not found.
 */
#ifndef HEAPFS_STACK_H
#define HEAPFS_STACK_H

#include "hprof/record.h"

struct stacks {
	struct frame_run {
		uint64_t id, offset, count;
	} *frames;		/* by id; they do not overlap */
	size_t frame_count, frame_capacity;
	struct id_table traces, threads, classes; /* by serial */
};

/* NULL without memory, or where the file was cut meanwhile. */
const struct stacks *hprof_stacks(const struct hprof *hprof);
void stacks_close(struct hprof *hprof);

struct stack_trace {
	uint32_t serial, thread;
	uint32_t count;		/* frames that are there, whatever the record says */
	uint64_t offset;	/* of their ids, the top one's first */
};
bool stack_trace(const struct hprof *hprof, const struct stacks *stacks, uint32_t serial, struct stack_trace *trace);
/* The trace whose record is at `offset`. */
bool stack_trace_at(const struct hprof *hprof, uint64_t offset, struct stack_trace *trace);

struct stack_frame {
	uint64_t id;
	uint64_t method, signature, source; /* ids of names */
	uint32_t class_serial;
	int32_t line;		/* > 0; LINE_COMPILED, LINE_NATIVE; others say that it is not known */
};
#define LINE_COMPILED (-2)
#define LINE_NATIVE (-3)
/* Frame `i` of a trace, 0 the top one. False if it is not in the file; its id is set nevertheless. */
bool stack_frame(const struct hprof *hprof, const struct stacks *stacks, const struct stack_trace *trace, uint32_t i,
		 struct stack_frame *frame);

/* The id of the class that a serial number stands for; 0 if none is loaded under it. */
uint64_t stack_class(const struct hprof *hprof, const struct stacks *stacks, uint32_t serial);

/* What a thread's START THREAD record says, which only the hprof agent writes. */
struct started {
	uint64_t object, name;	/* ids of the Thread and of its name */
};
bool stack_started(const struct hprof *hprof, const struct stacks *stacks, uint32_t thread, struct started *started);

#endif
