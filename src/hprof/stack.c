/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/stack.h"

#include <stdlib.h>

/* Bodies of FRAME and START_THREAD records: always this long. */
static uint64_t body_size(const struct hprof *h)
{
	return 8 + 4 * h->id_width;
}

static int add_frame(struct stacks *stacks, uint64_t id, uint64_t offset, uint64_t stride)
{
	struct frame_run *last = stacks->frame_count ? &stacks->frames[stacks->frame_count - 1] : NULL;
	if (last && id == last->id + last->count && id > last->id && offset == last->offset + last->count * stride) {
		last->count++;
		return 0;
	}
	if (stacks->frame_count == stacks->frame_capacity) {
		const size_t wanted = stacks->frame_capacity ? stacks->frame_capacity * 2 : 64;
		struct frame_run *grown = reallocarray(stacks->frames, wanted, sizeof *grown);
		if (!grown)
			return -1;
		stacks->frames = grown;
		stacks->frame_capacity = wanted;
	}
	stacks->frames[stacks->frame_count++] = (struct frame_run){ id, offset, 1 };
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct frame_run *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sorts the runs and cuts off of each what one before it holds too: the agent writes frames anew for each dump. */
static void sort_frames(struct stacks *stacks, uint64_t stride)
{
	size_t kept = 0;
	uint64_t reach = 0;	/* the highest id so far */
	if (stacks->frame_count)
		qsort(stacks->frames, stacks->frame_count, sizeof *stacks->frames, compare_runs);
	for (size_t i = 0; i < stacks->frame_count; i++) {
		struct frame_run run = stacks->frames[i];
		if (kept && run.id <= reach) {
			const uint64_t twice = reach - run.id + 1;
			if (!twice || twice >= run.count)
				continue;
			run.id += twice;
			run.offset += twice * stride;
			run.count -= twice;
		}
		reach = run.id + run.count - 1;
		stacks->frames[kept++] = run;
	}
	stacks->frame_count = kept;
}

static int take_record(const struct hprof *h, struct stacks *stacks, const uint8_t *p, uint64_t off, uint64_t len)
{
	const uint8_t *body = p + RECORD_HEADER;
	switch (*p) {
	case RECORD_FRAME:
		return len == body_size(h) ?
			       add_frame(stacks, read_id(body, h->id_width), off, RECORD_HEADER + body_size(h)) :
			       0;
	case RECORD_TRACE:
		return len >= 12 ? id_table_add(&stacks->traces, be32(body), off) : 0;
	case RECORD_START_THREAD:
		return len == body_size(h) ? id_table_add(&stacks->threads, be32(body), off) : 0;
	default:
		return 0;
	}
}

/* Walks a run again. Its headers made sense when the file was opened; if they do not now, it was changed. */
static int walk_run(const struct hprof *h, struct stacks *stacks, const struct record_run *run)
{
	for (uint64_t off = run->offset; off < run->end;) {
		const uint8_t *p = input_at(h->in, off, RECORD_HEADER);
		const uint64_t len = p ? be32(p + 5) : 0;
		if (!p || len > run->end - off || RECORD_HEADER > run->end - off - len ||
		    !input_at(h->in, off, RECORD_HEADER + len))
			break;
		if (take_record(h, stacks, p, off, len))
			return -1;
		off += RECORD_HEADER + len;
	}
	return 0;
}

static void free_stacks(struct stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->frames);
	free(stacks->traces.entries);
	free(stacks->threads.entries);
	free(stacks->classes.entries);
	free(stacks);
}

static struct stacks *make_stacks(const struct hprof *h)
{
	struct stacks *stacks = calloc(1, sizeof *stacks);
	int rc = stacks ? 0 : -1;
	for (size_t i = 0; i < h->run_count && !rc; i++)
		rc = walk_run(h, stacks, &h->runs[i]);
	for (size_t i = 0; i < h->load_class.count && !rc && h->run_count; i++) {
		const uint8_t *p = input_at(h->in, h->load_class.entries[i].offset + RECORD_HEADER, 4);
		rc = p ? id_table_add(&stacks->classes, be32(p), h->load_class.entries[i].offset) : 0;
	}
	if (rc) {
		free_stacks(stacks);
		return NULL;
	}
	sort_frames(stacks, RECORD_HEADER + body_size(h));
	id_table_sort(&stacks->traces);
	id_table_sort(&stacks->threads);
	id_table_sort(&stacks->classes);
	return stacks;
}

const struct stacks *hprof_stacks(const struct hprof *hprof)
{
	struct stacks *_Atomic *slot = (struct stacks *_Atomic *)(uintptr_t)&hprof->stacks;
	struct stacks *stacks = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (stacks)
		return stacks;
	stacks = make_stacks(hprof);
	if (stacks && (input_touched_bad || !atomic_compare_exchange_strong(slot, &other, stacks))) {
		/* Made from a file that was cut meanwhile, or another thread was first. */
		free_stacks(stacks);
		return other;
	}
	return stacks;
}

void stacks_close(struct hprof *hprof)
{
	free_stacks(atomic_load(&hprof->stacks));
}

bool stack_trace_at(const struct hprof *hprof, uint64_t offset, struct stack_trace *trace)
{
	const uint8_t *p = input_at(hprof->in, offset, RECORD_HEADER + 12);
	if (!p || *p != RECORD_TRACE || be32(p + 5) < 12)
		return false;
	*trace = (struct stack_trace){ be32(p + 9), be32(p + 13), be32(p + 17), offset + RECORD_HEADER + 12 };
	const uint32_t most = (be32(p + 5) - 12) / hprof->id_width;
	if (trace->count > most)
		trace->count = most;
	return true;
}

bool stack_trace(const struct hprof *hprof, const struct stacks *stacks, uint32_t serial, struct stack_trace *trace)
{
	const uint64_t offset = id_table_find(&stacks->traces, serial);
	return offset && stack_trace_at(hprof, offset, trace);
}

static uint64_t find_frame(const struct stacks *stacks, uint64_t id, uint64_t stride)
{
	size_t low = 0, high = stacks->frame_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (stacks->frames[mid].id <= id)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || id - stacks->frames[low - 1].id >= stacks->frames[low - 1].count)
		return 0;
	return stacks->frames[low - 1].offset + (id - stacks->frames[low - 1].id) * stride;
}

bool stack_frame(const struct hprof *hprof, const struct stacks *stacks, const struct stack_trace *trace, uint32_t i,
		 struct stack_frame *frame)
{
	const unsigned I = hprof->id_width;
	const uint8_t *p = i < trace->count ? input_at(hprof->in, trace->offset + (uint64_t)i * I, I) : NULL;
	*frame = (struct stack_frame){ .id = p ? read_id(p, I) : 0 };
	const uint64_t offset = p ? find_frame(stacks, frame->id, RECORD_HEADER + body_size(hprof)) : 0;
	p = offset ? input_at(hprof->in, offset + RECORD_HEADER, body_size(hprof)) : NULL;
	if (!p)
		return false;
	frame->method = read_id(p + I, I);
	frame->signature = read_id(p + 2 * I, I);
	frame->source = read_id(p + 3 * I, I);
	frame->class_serial = be32(p + 4 * I);
	frame->line = (int32_t)be32(p + 4 * I + 4);
	return true;
}

uint64_t stack_class(const struct hprof *hprof, const struct stacks *stacks, uint32_t serial)
{
	const uint64_t offset = id_table_find(&stacks->classes, serial);
	const uint8_t *p = offset ? input_at(hprof->in, offset + RECORD_HEADER + 4, hprof->id_width) : NULL;
	return p ? read_id(p, hprof->id_width) : 0;
}

bool stack_started(const struct hprof *hprof, const struct stacks *stacks, uint32_t thread, struct started *started)
{
	const unsigned I = hprof->id_width;
	const uint64_t offset = id_table_find(&stacks->threads, thread);
	const uint8_t *p = offset ? input_at(hprof->in, offset + RECORD_HEADER, body_size(hprof)) : NULL;
	if (!p)
		return false;
	*started = (struct started){ read_id(p + 4, I), read_id(p + 8 + I, I) };
	return true;
}
