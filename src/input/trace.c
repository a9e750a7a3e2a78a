/* SPDX-License-Identifier: Apache-2.0 */
#include "input/picture_folder.h"
#include "input/trace_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* TracePacket. */
enum {
	PACKET = 1,		/* of Trace */
	PROCESS_TREE = 2,
	SEQUENCE_ID = 10,
	PACKETS_DROPPED = 42,
	COMPRESSED_PACKETS = 50,
	HEAP_GRAPH = 56,
	SMAPS = 68,
	HPROF_DUMP = 129,
	ART_PROCESS = 131,
	ZSTD_PACKETS = 133,
	VIDEO_FRAME = 1000
};

/* The documented size is below half a MiB; more than this is made to do harm. */
#define INFLATED_MOST (UINT64_C(64) << 20)
#define PROCESSES_MOST 65536
#define SEQUENCE_BITS 17	/* of the table of packet sequences, which is filled by half at most */

void *trace_grow(struct trace_state *state, void *list, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return list;
	const size_t wanted = *capacity ? *capacity * 2 : 16;
	void *grown = reallocarray(list, wanted, size);
	if (!grown) {
		state->no_memory = true;
		return NULL;
	}
	*capacity = wanted;
	return grown;
}

/* --- compressed packets --- */

/* Inflates a compressed packet, unless it was the last one that was. False where it cannot be. */
static bool inflate_packet(struct trace *trace, uint64_t from, uint64_t len)
{
	struct trace_state *state = trace->state;
	if (state->inflated_from == from)
		return true;
	if (state->again_most && state->again > state->again_most) {
		notes_add(trace->notes, "compressed packets that would have to be inflated too often", from, 0, NULL);
		return false;
	}
	state->inflated_from = 0;
	state->inflated_len = 0;
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)trace->data + from, .avail_in = (uInt)len };
	if (len > UINT32_MAX || inflateInit2(&z, 15 + 32)) /* zlib's header, or gzip's */
		return false;
	int rc = Z_OK;
	while (rc == Z_OK) {
		if (state->inflated_len == state->inflated_capacity) {
			const size_t wanted = state->inflated_capacity ? 2 * state->inflated_capacity : 1 << 20;
			uint8_t *grown = wanted > INFLATED_MOST ? NULL : realloc(state->inflated, wanted);
			if (!grown)
				break;
			state->inflated = grown;
			state->inflated_capacity = wanted;
		}
		z.next_out = state->inflated + state->inflated_len;
		z.avail_out = (uInt)(state->inflated_capacity - state->inflated_len);
		rc = inflate(&z, Z_NO_FLUSH);
		state->inflated_len = state->inflated_capacity - z.avail_out;
	}
	inflateEnd(&z);
	state->again += state->again_most ? state->inflated_len : 0;
	/* What came before damage is of use, too. */
	if (rc != Z_STREAM_END)
		notes_add(trace->notes, "compressed packets that cannot be inflated whole", from, 0, NULL);
	state->inflated_from = from;
	return true;
}

const uint8_t *trace_bytes(struct trace *trace, const struct place *place)
{
	if (!place->packed)
		return trace->data + place->offset;
	if (!inflate_packet(trace, place->packed, place->packed_len) ||
	    place->offset + place->len > trace->state->inflated_len)
		return NULL;
	return trace->state->inflated + place->offset;
}

/* --- packets --- */

/* Where a packet's fields are: in the trace, or inflated. */
struct source {
	const uint8_t *base;
	uint64_t packed, packed_len;
	uint64_t packet;	/* offset in the trace, for notes */
};

static struct place place_of(const struct source *source, const uint8_t *data, uint64_t len)
{
	return (struct place){ source->packed, source->packed_len, (uint64_t)(data - source->base), len };
}

/*
 * The dump that a chunk belongs to. Another one of the same process begins where the one before is complete, where its
 * index 0 comes again, or without indexes where a header does.
 */
static struct gathering *gathering_for(struct trace *trace, uint32_t pid, uint32_t sequence, uint64_t index, bool header)
{
	struct trace_state *state = trace->state;
	for (size_t i = state->gathering_count; i-- > 0;) {
		struct gathering *g = &state->gatherings[i];
		if (g->pid != pid || g->sequence != sequence)
			continue;
		if (g->closed || (index == 0 && g->has_first) || (index == NO_INDEX && header && g->count))
			break;
		return g;
	}
	if (state->gathering_count == TRACE_DUMPS_MOST) {
		notes_add(trace->notes, "more heap dumps than can be shown", NOTE_NO_OFFSET, 0, NULL);
		return NULL;
	}
	const size_t before = state->gathering_count;
	ADD(state, state->gatherings, state->gathering_count, state->gathering_capacity,
	    (struct gathering){ .pid = pid, .sequence = sequence, .last = NO_INDEX });
	return state->gathering_count > before ? &state->gatherings[before] : NULL;
}

/* False for a GenericGpuFrequencyEvent, whose field 2 is a number. */
static bool read_chunk(struct trace *trace, const struct source *source, const struct proto_field *message,
		       uint32_t sequence, bool dropped)
{
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field;
	uint64_t pid = 0, index = NO_INDEX, last = 0;
	struct place data = { 0, 0, 0, 0 };
	bool header = false, has_data = false, cut = message->cut;
	while (proto_next(&at, end, &field)) {
		if (field.number == 2 && field.type != PROTO_LEN)
			return false;
		if (field.number == 2) {
			data = place_of(source, field.data, field.len);
			has_data = field.len > 0;
			cut |= field.cut;
			header = field.len >= 12 && !memcmp(field.data, "JAVA PROFILE", 12);
		} else if (field.type == PROTO_VARINT) {
			pid = field.number == 1 ? field.value : pid;
			index = field.number == 3 ? field.value : index;
			last = field.number == 4 ? field.value : last;
		}
	}
	if (trace->only_pid && (uint32_t)pid != trace->pid) {
		trace->dumps_of_others++;
		return true;
	}
	struct gathering *g = gathering_for(trace, (uint32_t)pid, sequence, index, header);
	if (!g)
		return true;
	if (cut && index == NO_INDEX && g->next) /* the index was to follow: this is the last thing in the trace */
		index = g->next;
	if (index != NO_INDEX && index >= g->next)
		g->next = index + 1;
	if (dropped && !g->dropped) {
		g->dropped = true;
		g->dropped_at = source->packet;
	}
	if (last)
		g->last = index == NO_INDEX ? g->count : index;
	g->has_first |= index == 0;
	if (has_data)
		ADD(trace->state, g->chunks, g->count, g->capacity,
		    (struct chunk){ data, index, g->count, source->packet, cut });
	/* Out of order, the last one may come before others. */
	g->closed = g->last != NO_INDEX && (index == NO_INDEX || g->count + !has_data > g->last);
	return true;
}

/* Pictures have no field number of their own: {1: number, 2: text, 3: bytes that begin as a picture does}. */
static bool read_picture(struct trace *trace, const struct source *source, const struct proto_field *message)
{
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field;
	struct found_picture picture = { .pid = 0 };
	unsigned seen = 0;
	while (seen != 7 && proto_next(&at, end, &field)) {
		if (field.number == 1 && field.type == PROTO_VARINT) {
			picture.pid = (uint32_t)field.value;
			seen |= 1;
		} else if (field.number == 2 && field.type == PROTO_LEN) {
			picture.name = place_of(source, field.data, field.len);
			seen |= 2;
		} else if (field.number == 3 && field.type == PROTO_LEN && picture_begins(field.data, field.len)) {
			picture.data = place_of(source, field.data, field.len);
			seen |= 4;
		} else {
			return false;
		}
	}
	if (seen != 7)
		return false;
	if (trace->state->picture_count == PICTURES_MOST)
		notes_add(trace->notes, "more pictures than can be shown", source->packet, 0, NULL);
	else
		ADD(trace->state, trace->state->pictures, trace->state->picture_count, trace->state->picture_capacity, picture);
	return true;
}

static void add_process(struct trace *trace, const struct source *source, uint64_t pid, const struct proto_field *name)
{
	struct trace_state *state = trace->state;
	if (name->data && name->len && state->process_count < PROCESSES_MOST)
		ADD(state, state->processes, state->process_count, state->process_capacity,
		    (struct process){ (uint32_t)pid, place_of(source, name->data, name->len) });
}

/* A message with a process's id and name. */
static void read_process(struct trace *trace, const struct source *source, const struct proto_field *message)
{
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field, name = { .data = NULL };
	uint64_t pid = 0;
	while (proto_next(&at, end, &field)) {
		if (field.number == 1 && field.type == PROTO_VARINT)
			pid = field.value;
		else if (field.number == 3 && field.type == PROTO_LEN && !name.data)
			name = field; /* ProcessTree's command line, of which the first word comes first; or ART's name */
	}
	add_process(trace, source, pid, &name);
}

static void read_about(struct trace *trace, const struct source *source, const struct proto_field *message, bool smaps)
{
	struct trace_state *state = trace->state;
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field;
	struct about about = { .message = place_of(source, message->data, message->len) };
	while (proto_next(&at, end, &field))
		if (field.number == 1 && field.type == PROTO_VARINT)
			about.pid = (uint32_t)field.value;
	if (smaps && state->smaps_count < PROCESSES_MOST)
		ADD(state, state->smaps, state->smaps_count, state->smaps_capacity, about);
	else if (!smaps && state->art_count < PROCESSES_MOST)
		ADD(state, state->art, state->art_count, state->art_capacity, about);
}

static void read_process_tree(struct trace *trace, const struct source *source, const struct proto_field *message)
{
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field;
	while (proto_next(&at, end, &field))
		if (field.number == 1 && field.type == PROTO_LEN)
			read_process(trace, source, &field);
}

/* The place of a sequence in the table, where it may not be yet. */
static struct sequence *find_sequence(struct trace_state *state, uint32_t id)
{
	uint32_t at = id * UINT32_C(2654435769) >> (32 - SEQUENCE_BITS);
	while (state->sequences[at].known && state->sequences[at].id != id)
		at = (at + 1) & ((UINT32_C(1) << SEQUENCE_BITS) - 1);
	return &state->sequences[at];
}

/*
 * Were packets of this sequence lost before this one, which has the flag or not? Of its first packet the flag says
 * nothing. What was lost before a packet without a chunk counts for the next chunk.
 */
static bool was_dropped(struct trace_state *state, uint32_t id, bool flag, bool has_dump)
{
	struct sequence *sequence = find_sequence(state, id);
	if (!sequence->known) {
		if (state->sequence_count < UINT32_C(1) << (SEQUENCE_BITS - 1)) {
			*sequence = (struct sequence){ .id = id, .known = true };
			state->sequence_count++;
		}
		return false;
	}
	const bool dropped = sequence->dropped || flag;
	sequence->dropped = dropped && !has_dump;
	return dropped;
}

static void read_packets(struct trace *trace, struct source *source, const uint8_t *data, uint64_t len);

static void read_packet(struct trace *trace, const struct source *source, const struct proto_field *packet)
{
	const uint8_t *end = packet->data + packet->len;
	struct proto_field field;
	uint64_t sequence = 0;
	bool has_dump = false, dropped = false;
	/* What a chunk needs to know may stand behind it. */
	for (const uint8_t *at = packet->data; proto_next(&at, end, &field);) {
		if (field.type == PROTO_VARINT) {
			sequence = field.number == SEQUENCE_ID ? field.value : sequence;
			dropped = field.number == PACKETS_DROPPED ? field.value != 0 : dropped;
		} else if (field.type == PROTO_LEN) {
			has_dump |= field.number == HPROF_DUMP;
		}
	}
	const bool lost = (has_dump || dropped) && was_dropped(trace->state, (uint32_t)sequence, dropped, has_dump);
	for (const uint8_t *at = packet->data; proto_next(&at, end, &field) && !trace->state->no_memory;) {
		if (field.type != PROTO_LEN)
			continue;
		switch (field.number) {
		case PROCESS_TREE:
			read_process_tree(trace, source, &field);
			break;
		case ART_PROCESS:
			read_process(trace, source, &field);
			read_about(trace, source, &field, false);
			break;
		case SMAPS:
			read_about(trace, source, &field, true);
			break;
		case VIDEO_FRAME:
			trace->video_frames++;
			break;
		case HPROF_DUMP:
			read_chunk(trace, source, &field, (uint32_t)sequence, lost);
			break;
		case HEAP_GRAPH:
			trace_add_graph(trace, field.data, &(struct graph_packet){
				.place = place_of(source, field.data, field.len), .sequence = (uint32_t)sequence,
				.packet = source->packet });
			break;
		case ZSTD_PACKETS:
			trace->zstd_packets++;
			break;
		case COMPRESSED_PACKETS:
			if (!source->packed) { /* no packet is compressed twice */
				const uint64_t from = (uint64_t)(field.data - trace->data);
				if (inflate_packet(trace, from, field.len)) {
					struct source inner = { trace->state->inflated, from, field.len, source->packet };
					read_packets(trace, &inner, trace->state->inflated, trace->state->inflated_len);
				}
			}
			break;
		default:
			read_picture(trace, source, &field);
		}
	}
}

static void read_packets(struct trace *trace, struct source *source, const uint8_t *data, uint64_t len)
{
	const uint8_t *at = data, *end = data + len;
	struct proto_field packet;
	while (at < end && !trace->state->no_memory) {
		if (!source->packed)
			source->packet = (uint64_t)(at - data);
		const uint8_t *start = at;
		if (!proto_next(&at, end, &packet)) {
			notes_add(trace->notes, "bytes that are no packet", (uint64_t)(start - data), (uint64_t)(end - start), NULL);
			break;
		}
		trace->packets++;
		if (packet.cut)
			notes_add(trace->notes, "the trace is cut inside a packet", source->packet, 0, NULL);
		if (packet.number == PACKET && packet.type == PROTO_LEN)
			read_packet(trace, source, &packet);
		if (trace->progress && !source->packed && trace->packets % 4096 == 0)
			trace->progress(trace->context, source->packet, trace->len);
	}
}

int trace_open(struct trace *trace)
{
	struct source source = { trace->data, 0, 0, 0 };
	trace->state = calloc(1, sizeof *trace->state);
	if (!trace->state)
		return -1;
	trace->state->sequences = calloc(UINT32_C(1) << SEQUENCE_BITS, sizeof *trace->state->sequences);
	if (!trace->state->sequences)
		return -1;
	read_packets(trace, &source, trace->data, trace->len);
	trace_gather_graphs(trace);
	if (trace->state->no_memory)
		return -1;
	for (size_t i = 0; i < trace->state->gathering_count; i++)
		trace->dump_count += trace->state->gatherings[i].count > 0;
	trace->dump_count += trace->state->graphing_count;
	return 0;
}

uint64_t trace_estimate(const struct trace *trace)
{
	uint64_t size = 0;
	for (size_t i = 0; i < trace->state->gathering_count; i++)
		for (size_t j = 0; j < trace->state->gatherings[i].count; j++)
			size += trace->state->gatherings[i].chunks[j].place.len;
	for (size_t i = 0; i < trace->state->picture_count; i++)
		size += trace->state->pictures[i].data.len;
	for (size_t i = 0; i < trace->state->graphing_count; i++)
		for (size_t j = 0; j < trace->state->graphings[i].count; j++) /* HPROF says the same in twice the bytes */
			size += 2 * trace->state->graph_packets[trace->state->graphings[i].packets[j]].place.len;
	return size;
}

void trace_close(struct trace *trace)
{
	struct trace_state *state = trace->state;
	for (size_t i = 0; trace->dumps && i < trace->dump_count; i++) {
		struct trace_dump *dump = &trace->dumps[i];
		for (size_t j = 0; j < dump->picture_count; j++)
			free(dump->pictures[j].name);
		free(dump->pictures);
		free(dump->process);
		if (!dump->details_shared)
			free(dump->details);
		if (dump->graph)
			heap_graph_close(dump->graph);
		free(dump->graph);
		notes_free(&dump->notes);
	}
	free(trace->dumps);
	for (size_t i = 0; state && i < state->gathering_count; i++)
		free(state->gatherings[i].chunks);
	if (state) {
		trace_close_graphs(state);
		free(state->gatherings);
		free(state->art);
		free(state->smaps);
		free(state->pictures);
		free(state->processes);
		free(state->sequences);
		free(state->inflated);
	}
	free(state);
	trace->state = NULL;
	trace->dumps = NULL;
	trace->dump_count = 0;
}

