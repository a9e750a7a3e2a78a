/* SPDX-License-Identifier: Apache-2.0 */
#include "input/trace.h"

#include "input/proto.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
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
/*
 * Compressed packets are inflated again for what is copied out of them: mostly once, and as often as dumps have chunks
 * in one. So much in all, a floor and some times what is wanted, and then no more.
 */
#define AGAIN_FLOOR (UINT64_C(256) << 20)
#define AGAIN_EACH 8
#define PROCESSES_MOST 65536
#define SEQUENCE_BITS 17	/* of the table of packet sequences, which is filled by half at most */
#define PICTURES_MOST 100000
#define TEXT_MOST 4096		/* bytes of a name that count */
#define FRAMES_MOST 1024	/* of a stack */
#define DETAILS_MOST 65536	/* bytes of them, and then no more fields */
#define COPY_BYTES (UINT64_C(1) << 20)
#define NO_INDEX UINT64_MAX

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

/* A heap graph while its packets are gathered. */
struct graphing {
	struct trace *trace;
	uint32_t pid, sequence;
	struct place *packets;
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
	struct graphing *graphings;
	struct about *art, *smaps;
	struct found_picture *pictures;
	struct process *processes;
	struct sequence *sequences; /* by a hash of their id */
	size_t gathering_count, graphing_count, art_count, smaps_count, picture_count, process_count, sequence_count;
	size_t gathering_capacity, graphing_capacity, art_capacity, smaps_capacity, picture_capacity, process_capacity;
	/* What the last compressed packet holds. */
	uint8_t *inflated;
	size_t inflated_len, inflated_capacity;
	uint64_t inflated_from;	/* its place in the trace; 0: none */
	uint64_t again, again_most; /* bytes that were inflated again, and that may be; 0: the first time is not over */
	bool no_memory;
};

/* Makes room for one more item. NULL without memory. */
static void *add(struct trace_state *state, void *list, size_t count, size_t *capacity, size_t size)
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

#define ADD(state, list, count, capacity, ...)                                                                  \
	do {                                                                                                    \
		void *grown_ = add(state, (list), (count), &(capacity), sizeof *(list));                        \
		if (grown_) {                                                                                   \
			(list) = grown_;                                                                        \
			(list)[(count)++] = __VA_ARGS__;                                                        \
		}                                                                                               \
	} while (0)

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

static const uint8_t *bytes_at(struct trace *trace, const struct place *place)
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
		} else if (field.number == 3 && field.type == PROTO_LEN && field.len > 12 &&
			   (!memcmp(field.data, "\x89PNG\r\n\x1a\n", 8) || !memcmp(field.data, "\xff\xd8\xff", 3) ||
			    (!memcmp(field.data, "RIFF", 4) && !memcmp(field.data + 8, "WEBP", 4)))) {
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

/* Packets of a graph have its index, and say whether more will follow. */
static void read_heap_graph(struct trace *trace, const struct source *source, const struct proto_field *message,
			    uint32_t sequence)
{
	struct trace_state *state = trace->state;
	const uint8_t *at = message->data, *end = at + message->len;
	struct proto_field field;
	uint64_t pid = 0, index = 0, continued = 0;
	while (proto_next(&at, end, &field)) {
		if (field.type != PROTO_VARINT)
			continue;
		pid = field.number == 1 ? field.value : pid;
		continued = field.number == 5 ? field.value : continued;
		index = field.number == 6 ? field.value : index;
	}
	if (trace->only_pid && (uint32_t)pid != trace->pid) {
		trace->dumps_of_others++;
		return;
	}
	size_t i = state->graphing_count;
	while (i-- > 0)
		if (state->graphings[i].sequence == sequence && !state->graphings[i].finished)
			break;
	if (i != SIZE_MAX && state->graphings[i].pid != (uint32_t)pid) {
		notes_add(trace->notes, "packets of another process inside a heap graph", source->packet, message->len,
			  "process %" PRIu64, pid);
		return;
	}
	if (i == SIZE_MAX) {
		if (state->graphing_count == TRACE_DUMPS_MOST) {
			notes_add(trace->notes, "more heap dumps than can be shown", source->packet, 0, NULL);
			return;
		}
		i = state->graphing_count;
		ADD(state, state->graphings, state->graphing_count, state->graphing_capacity,
		    (struct graphing){ .trace = trace, .pid = (uint32_t)pid, .sequence = sequence });
		if (i == state->graphing_count)
			return;
	}
	struct graphing *g = &state->graphings[i];
	if (index != g->next) {
		g->missing_at = g->missing ? g->missing_at : source->packet;
		g->missing += index > g->next ? index - g->next : 1;
	}
	g->next = index + 1;
	g->finished = !continued;
	ADD(state, g->packets, g->count, g->capacity, place_of(source, message->data, message->len));
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
			read_heap_graph(trace, source, &field, (uint32_t)sequence);
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
	if (trace->state->no_memory)
		return -1;
	for (size_t i = 0; i < trace->state->gathering_count; i++)
		trace->dump_count += trace->state->gatherings[i].count > 0;
	trace->dump_count += trace->state->graphing_count;
	return 0;
}

/* --- putting together --- */

static int compare_chunks(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The size that all chunks have but the last, and those that are cut; 0 where they differ. */
static uint64_t chunk_size(const struct gathering *g)
{
	const size_t count = g->count - (g->last != NO_INDEX && g->chunks[g->count - 1].index == g->last);
	uint64_t size = 0;
	for (size_t i = 0; i < count; i++) {
		const struct chunk *chunk = &g->chunks[i];
		if (chunk->cut)
			continue;
		if (size && chunk->place.len != size)
			return 0;
		size = chunk->place.len;
	}
	return size;
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
			size += 2 * trace->state->graphings[i].packets[j].len;
	return size;
}

static void note_lost(struct trace *trace, const struct place *place)
{
	notes_add(trace->notes, "packets that cannot be inflated again", place->packed, place->len, NULL);
}

static bool copy_place(struct trace *trace, struct spill *spill, const struct place *place, uint64_t to)
{
	const uint8_t *data = bytes_at(trace, place);
	if (!data) {
		note_lost(trace, place);
		return true;
	}
	for (uint64_t done = 0; done < place->len;) {
		const uint64_t left = place->len - done, n = left < COPY_BYTES ? left : COPY_BYTES;
		if (!spill_write(spill, data + done, (size_t)n, to + done))
			return false;
		done += n;
	}
	return true;
}

/* The holes of a dump, for one note: the ranges of as many as fit a line, and how much is lost in all. */
struct holes {
	char ranges[200];
	size_t len;
	unsigned count, told;
	uint64_t first, chunks, bytes; /* where the first one is; what is known to be missing */
};

static void add_hole(struct holes *holes, const struct trace_dump *dump, const struct chunk *before,
		     const struct chunk *chunk, uint64_t size)
{
	const uint64_t first = before ? before->index + 1 : 0, last = chunk->index - 1, len = (last - first + 1) * size;
	char range[128];
	int n = snprintf(range, sizeof range, first == last ? "chunk %" PRIu64 : "chunks %" PRIu64 " to %" PRIu64, first, last);
	if (size)
		n += snprintf(range + n, sizeof range - (size_t)n, ", bytes %" PRIu64 " to %" PRIu64, dump->len,
			      dump->len + len - 1);
	else
		n += snprintf(range + n, sizeof range - (size_t)n, ", of unknown size");
	if (!holes->count++)
		holes->first = dump->len;
	holes->bytes += len;
	if (holes->len + (size_t)n + 3 < sizeof holes->ranges && holes->told + 1 == holes->count) {
		holes->len += (size_t)snprintf(holes->ranges + holes->len, sizeof holes->ranges - holes->len, "%s%s",
					       holes->told ? "; " : "", range);
		holes->told++;
	}
}

static void note_holes(const struct holes *holes, struct trace_dump *dump)
{
	char more[32] = "";
	if (holes->count > holes->told)
		snprintf(more, sizeof more, " and %u more", holes->count - holes->told);
	if (holes->count)
		notes_add(&dump->notes, "chunks of the dump are missing", holes->first, holes->bytes, "%s%s%s", holes->ranges,
			  more, holes->bytes ? ", where zeros stand now" : "");
}

static bool unpack_dump(struct trace *trace, struct spill *spill, struct gathering *g, struct trace_dump *dump)
{
	bool indexed = false;
	for (size_t i = 0; i < g->count; i++)
		indexed |= g->chunks[i].index != NO_INDEX;
	for (size_t i = 0; indexed && i < g->count; i++) /* a writer that leaves out zeros */
		g->chunks[i].index = g->chunks[i].index == NO_INDEX ? 0 : g->chunks[i].index;
	qsort(g->chunks, g->count, sizeof *g->chunks, compare_chunks);
	const uint64_t size = chunk_size(g);
	const struct chunk *before = NULL;
	struct holes holes = { .len = 0 };
	for (size_t i = 0; i < g->count; i++) {
		const struct chunk *chunk = &g->chunks[i];
		if (chunk->index != NO_INDEX && before && before->index == chunk->index) {
			notes_add(trace->notes, "chunks that are there twice", chunk->packet, chunk->place.len, NULL);
			continue;
		}
		if (chunk->index != NO_INDEX && chunk->index != (before ? before->index + 1 : 0)) {
			const uint64_t missing = chunk->index - (before ? before->index + 1 : 0);
			/* No holes that are made to fill a disk, or an address space. */
			const bool known = size && missing <= trace->len / size + 16 - holes.chunks;
			add_hole(&holes, dump, before, chunk, known ? size : 0);
			holes.chunks += known ? missing : 0;
			dump->len += known ? missing * size : 0;
		}
		if (!copy_place(trace, spill, &chunk->place, dump->offset + dump->len))
			return false;
		dump->len += chunk->place.len;
		if (chunk->cut && i + 1 < g->count && chunk->place.len < size) {
			const uint64_t rest = size - chunk->place.len;
			notes_add(&dump->notes, "a chunk of the dump lacks its end", dump->len, rest,
				  "bytes %" PRIu64 " to %" PRIu64 ", where zeros stand now", dump->len, dump->len + rest - 1);
			dump->len += rest;
		}
		before = chunk;
		if (trace->progress)
			trace->progress(trace->context, chunk->packet, trace->len);
	}
	note_holes(&holes, dump);
	if (g->dropped && !holes.count)
		notes_add(trace->notes, "packets were lost before this one, and with them perhaps some of a dump",
			  g->dropped_at, 0, "process %" PRIu32, g->pid);
	if (before->index != NO_INDEX && g->last == NO_INDEX)
		notes_add(&dump->notes, "no chunk is marked as the last", dump->len, 0, "the dump may lack its end");
	else if (before->index != NO_INDEX && before->index < g->last && size) /* the last one was empty, or lost */
		notes_add(&dump->notes, "the last chunk is missing", dump->len, 0, "chunk %" PRIu64, g->last);
	return true;
}

static const uint8_t *graph_packet(void *context, size_t number, uint64_t *len)
{
	struct graphing *g = context;
	const struct place *place = &g->packets[number];
	const uint8_t *data = bytes_at(g->trace, place);
	*len = place->len;
	if (!data)
		note_lost(g->trace, place);
	return data;
}

static bool write_graph(struct trace *trace, struct spill *spill, struct graphing *g, struct trace_dump *dump)
{
	dump->graph = calloc(1, sizeof *dump->graph);
	if (!dump->graph)
		return false;
	*dump->graph = (struct heap_graph){ .packets = g->count, .packet = graph_packet, .context = g, .notes = &dump->notes,
					    .threads = trace->threads };
	for (size_t i = 0; i < g->count; i++) {
		dump->graph->bytes += g->packets[i].len;
		if (g->packets[i].packed) /* of compressed packets only the last one is there */
			dump->graph->threads = 1;
	}
	if (g->missing)
		notes_add(trace->notes, "packets of a heap graph are missing", g->missing_at, 0,
			  "process %" PRIu32 ", %" PRIu64 " packets before this one", g->pid, g->missing);
	if (!g->finished)
		notes_add(trace->notes, "a heap graph has no last packet: some of it is missing", NOTE_NO_OFFSET, 0,
			  "process %" PRIu32, g->pid);
	if (heap_graph_write(dump->graph, spill, dump->offset))
		return false;
	dump->len = dump->graph->len;
	trace->size = dump->graph->sizes + dump->graph->size_count * sizeof(struct own_size);
	return !spill->full;
}

/* --- what else the trace says of a process --- */

/* A growing text. What there is no memory for is left out. */
struct lines {
	char *text;
	size_t len, capacity;
};

static void append_bytes(struct lines *lines, const void *bytes, size_t len)
{
	if (lines->capacity - lines->len <= len) {
		const size_t wanted = 2 * (lines->len + len + 64);
		char *grown = realloc(lines->text, wanted);
		if (!grown)
			return;
		lines->text = grown;
		lines->capacity = wanted;
	}
	memcpy(lines->text + lines->len, bytes, len);
	lines->len += len;
	lines->text[lines->len] = 0;
}

static void append(struct lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct lines *lines, const char *format, ...)
{
	char more[160];
	va_list args;
	va_start(args, format);
	const int len = vsnprintf(more, sizeof more, format, args);
	va_end(args);
	if (len > 0)
		append_bytes(lines, more, (size_t)len < sizeof more ? (size_t)len : sizeof more - 1);
}

/* Text of a message, for one line of info.txt or one cell. */
static void append_text(struct lines *lines, const char *before, const struct proto_field *field, const char *after)
{
	char line[1024];
	size_t n = 0;
	for (uint64_t i = 0; i < field->len && n < sizeof line; i++)
		line[n++] = field->data[i] < 0x20 || field->data[i] == 0x7f ? ' ' : (char)field->data[i];
	append(lines, "%s", before);
	if (n)
		append_bytes(lines, line, n);
	append(lines, "%s", after);
}

static void append_frames(struct lines *lines, const struct proto_field *stack)
{
	const uint8_t *at = stack->data, *end = at + stack->len;
	struct proto_field frame, field;
	for (unsigned frames = 0; frames < FRAMES_MOST && proto_next(&at, end, &frame);) {
		if (frame.number != 1 || frame.type != PROTO_LEN)
			continue;
		frames++;
		struct proto_field method = { .data = NULL }, file = { .data = NULL };
		uint64_t line = 0;
		for (const uint8_t *p = frame.data; proto_next(&p, frame.data + frame.len, &field);) {
			if (field.number == 1 && field.type == PROTO_LEN)
				method = field;
			else if (field.number == 2 && field.type == PROTO_LEN)
				file = field;
			else if (field.number == 3 && field.type == PROTO_VARINT)
				line = field.value;
		}
		append_text(lines, "out of memory at: ", &method, "");
		append_text(lines, "(", &file, "");
		if (line)
			append(lines, ":%" PRIu64, line);
		append(lines, ")\n");
	}
}

/* ArtProcessMetadata: who the process is, and if it ran out of memory, how. */
static char *art_details(struct trace *trace, uint32_t pid)
{
	static const char *const keys[] = { [3] = "process name: ", [4] = "package: ", [9] = "out of memory: " };
	static const char *const counts[] = { [2] = "user id", [5] = "out of memory, bytes asked for",
					      [6] = "out of memory, bytes free", [7] = "out of memory, bytes free until then" };
	struct lines lines = { .text = NULL };
	for (size_t i = trace->state->art_count; i-- > 0 && !lines.len;) {
		const struct about *about = &trace->state->art[i];
		const uint8_t *data = about->pid == pid ? bytes_at(trace, &about->message) : NULL;
		struct proto_field field;
		for (const uint8_t *at = data; at && proto_next(&at, data + about->message.len, &field) && lines.len < DETAILS_MOST;) {
			if (field.number == 8 && field.type == PROTO_LEN)
				append_frames(&lines, &field);
			else if (field.number < 10 && field.type == PROTO_LEN && keys[field.number])
				append_text(&lines, keys[field.number], &field, "\n");
			else if (field.number < 8 && field.type == PROTO_VARINT && counts[field.number])
				append(&lines, "%s: %" PRIu64 "\n", counts[field.number], field.value);
		}
	}
	return lines.text;
}

static bool write_lines(struct trace *trace, struct spill *spill, struct lines *lines)
{
	if (lines->len && !spill_write(spill, lines->text, lines->len, trace->size))
		return false;
	trace->size += lines->len;
	lines->len = 0;
	return true;
}

/* SmapsPacket: a line a mapping. */
static bool unpack_smaps(struct trace *trace, struct spill *spill, struct trace_dump *dump)
{
	/* By the numbers of SmapsEntry's fields. */
	static const uint8_t columns[] = { 1, 5, 6, 10, 2, 15, 3, 11, 12, 13, 4, 14 };
	static const char head[] = "path\tfile\tstart\tprotection\tsize_kb\tproportional_resident_kb\tprivate_dirty_kb\t"
				   "private_clean_kb\tshared_dirty_kb\tshared_clean_kb\tswap_kb\tlocked_kb\n";
	const struct about *about = NULL;
	for (size_t i = trace->state->smaps_count; i-- > 0 && !about;)
		if (trace->state->smaps[i].pid == dump->pid)
			about = &trace->state->smaps[i];
	const uint8_t *at = about ? bytes_at(trace, &about->message) : NULL, *end = at ? at + about->message.len : NULL;
	if (!at)
		return true;
	struct lines lines = { .text = NULL };
	struct proto_field entry, field;
	bool fits = true;
	dump->smaps = trace->size;
	while (fits && proto_next(&at, end, &entry)) {
		struct proto_field cells[16] = { { .number = 0 } };
		if (entry.number != 2 || entry.type != PROTO_LEN)
			continue;
		for (const uint8_t *p = entry.data; proto_next(&p, entry.data + entry.len, &field);)
			if (field.number < 16)
				cells[field.number] = field;
		if (!lines.capacity)
			append_bytes(&lines, head, sizeof head - 1);
		for (size_t i = 0; i < sizeof columns; i++) {
			const struct proto_field *cell = &cells[columns[i]];
			const char *after = i + 1 < sizeof columns ? "\t" : "\n";
			if (cell->number && cell->type == PROTO_LEN)
				append_text(&lines, "", cell, after);
			else if (cell->number && cell->type == PROTO_VARINT)
				append(&lines, columns[i] == 6 ? "0x%" PRIx64 "%s" : "%" PRIu64 "%s", cell->value, after);
			else
				append(&lines, "-%s", after);
		}
		if (lines.len >= COPY_BYTES)
			fits = write_lines(trace, spill, &lines);
	}
	fits = fits && write_lines(trace, spill, &lines);
	free(lines.text);
	dump->smaps_len = fits ? trace->size - dump->smaps : 0;
	return fits;
}

/* What is known of a process. It is the same for each of its dumps, and there once. */
static bool unpack_process(struct trace *trace, struct spill *spill, struct trace_dump *dump)
{
	for (const struct trace_dump *other = trace->dumps; other < dump; other++)
		if (other->pid == dump->pid) {
			dump->details = other->details;
			dump->details_shared = true;
			dump->smaps = other->smaps;
			dump->smaps_len = other->smaps_len;
			return true;
		}
	dump->details = art_details(trace, dump->pid);
	return unpack_smaps(trace, spill, dump);
}

static char *text_at(struct trace *trace, const struct place *place)
{
	const uint8_t *data = bytes_at(trace, place);
	return data ? strndup((const char *)data, place->len < TEXT_MOST ? place->len : TEXT_MOST) : NULL;
}

/* The last thing that the trace calls a process. */
static char *process_name(struct trace *trace, uint32_t pid)
{
	for (size_t i = trace->state->process_count; i-- > 0;)
		if (trace->state->processes[i].pid == pid)
			return text_at(trace, &trace->state->processes[i].name);
	return NULL;
}

/* A picture is of the dump of its process; with process 0 of the trace's only dump. The last dump of a process wins. */
static struct trace_dump *dump_of_picture(struct trace *trace, uint32_t pid)
{
	for (size_t i = trace->dump_count; i-- > 0;)
		if (trace->dumps[i].pid == pid)
			return &trace->dumps[i];
	return !pid && trace->dump_count == 1 && !trace->dumps_of_others ? &trace->dumps[0] : NULL;
}

static bool unpack_pictures(struct trace *trace, struct spill *spill)
{
	for (size_t i = 0; i < trace->state->picture_count; i++) {
		const struct found_picture *found = &trace->state->pictures[i];
		struct trace_dump *dump = dump_of_picture(trace, found->pid);
		if (!dump) {
			if (!trace->only_pid)
				notes_add(trace->notes, "pictures of a process without a dump", NOTE_NO_OFFSET, found->data.len,
					  "process %" PRIu32, found->pid);
			continue;
		}
		/* First its bytes: of those for which there is no room nothing may tell. */
		const uint64_t offset = trace->size;
		if (!copy_place(trace, spill, &found->data, offset))
			return false;
		trace->size += found->data.len;
		char *name = found->name.len ? text_at(trace, &found->name) : strdup("unnamed");
		struct trace_picture *grown =
			name ? reallocarray(dump->pictures, dump->picture_count + 1, sizeof *grown) : NULL;
		if (!grown) {
			free(name);
			continue;
		}
		dump->pictures = grown;
		grown[dump->picture_count++] = (struct trace_picture){ name, offset, found->data.len };
	}
	return true;
}

int trace_unpack(struct trace *trace, struct spill *spill)
{
	struct trace_state *state = trace->state;
	trace->dumps = calloc(trace->dump_count + 1, sizeof *trace->dumps);
	if (!trace->dumps)
		return -1;
	const size_t most = trace->dump_count;
	trace->dump_count = 0;
	state->again_most = AGAIN_FLOOR + AGAIN_EACH * trace_estimate(trace);
	bool fits = true;
	for (size_t i = 0; i < state->gathering_count && trace->dump_count < most && fits; i++) {
		struct gathering *g = &state->gatherings[i];
		if (!g->count)
			continue;
		struct trace_dump *dump = &trace->dumps[trace->dump_count++];
		*dump = (struct trace_dump){ .pid = g->pid, .offset = trace->size, .process = process_name(trace, g->pid) };
		notes_init(&dump->notes);
		fits = unpack_dump(trace, spill, g, dump);
		trace->size = dump->offset + dump->len;
	}
	for (size_t i = 0; i < state->graphing_count && trace->dump_count < most && fits; i++) {
		struct trace_dump *dump = &trace->dumps[trace->dump_count++];
		*dump = (struct trace_dump){ .pid = state->graphings[i].pid, .offset = trace->size,
					     .process = process_name(trace, state->graphings[i].pid) };
		notes_init(&dump->notes);
		fits = write_graph(trace, spill, &state->graphings[i], dump);
		if (!fits && !spill->full && !spill->error)
			return -1; /* no memory */
	}
	for (size_t i = 0; i < trace->dump_count && fits; i++)
		fits = unpack_process(trace, spill, &trace->dumps[i]);
	if (fits)
		fits = unpack_pictures(trace, spill);
	if (spill->full)
		notes_add(trace->notes, "there is no room to unpack the rest", NOTE_NO_OFFSET, 0, "%s took %" PRIu64 " bytes",
			  spill->folder, trace->size);
	return spill->error ? -1 : 0;
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
	for (size_t i = 0; state && i < state->graphing_count; i++)
		free(state->graphings[i].packets);
	if (state) {
		free(state->gatherings);
		free(state->graphings);
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
