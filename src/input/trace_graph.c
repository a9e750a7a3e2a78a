/* SPDX-License-Identifier: Apache-2.0 */
#include "input/trace_state.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Threads that look through packets; for fewer bytes than this one more is not worth while. */
#define THREADS_MOST 16
/* Of real ones, each has some thousand objects. What is compressed can hold millions of empty ones. */
#define GRAPH_PACKETS_MOST (1u << 20)
#define THREAD_BYTES (UINT64_C(1) << 20)

/* --- what a packet says --- */

/* Bytes in which there is something else than objects; those that follow the last ones are one with them. */
static bool add_other(struct graph_packet *packet, uint64_t offset, uint64_t len)
{
	struct graph_span *last = packet->other_count ? &packet->others[packet->other_count - 1] : NULL;
	if (last && last->offset + last->len == offset) {
		last->len += len;
		return true;
	}
	if (packet->other_count == packet->other_capacity) {
		const uint32_t wanted = packet->other_capacity ? 2 * packet->other_capacity : 2;
		struct graph_span *grown = wanted ? reallocarray(packet->others, wanted, sizeof *grown) : NULL;
		if (!grown)
			return false;
		packet->others = grown;
		packet->other_capacity = wanted;
	}
	packet->others[packet->other_count++] = (struct graph_span){ offset, len };
	return true;
}

/* Packets of a graph have its index, and say whether more will follow. False without memory. */
static bool read_packet(struct graph_packet *packet, const uint8_t *data)
{
	const uint8_t *at = data, *end = data + packet->place.len, *start;
	struct proto_field field;
	while (start = at = proto_past(at, end, HEAP_GRAPH_OBJECTS), proto_next(&at, end, &field)) {
		if (field.number == HEAP_GRAPH_OBJECTS)
			continue;
		if (!add_other(packet, (uint64_t)(start - data), (uint64_t)(at - start)))
			return false;
		if (field.type != PROTO_VARINT)
			continue;
		packet->pid = field.number == 1 ? (uint32_t)field.value : packet->pid;
		packet->continued = field.number == 5 ? field.value != 0 : packet->continued;
		packet->index = field.number == 6 ? field.value : packet->index;
	}
	packet->known = true;
	return true;
}

void trace_add_graph(struct trace *trace, const uint8_t *data, const struct graph_packet *packet)
{
	struct trace_state *state = trace->state;
	const size_t before = state->graph_packet_count;
	if (before == GRAPH_PACKETS_MOST) {
		notes_add(trace->notes, "more packets of heap graphs than can be read", NOTE_NO_OFFSET, 0, NULL);
		return;
	}
	ADD(state, state->graph_packets, state->graph_packet_count, state->graph_packet_capacity, *packet);
	/* What is compressed is there only now. The others are read when all are known, by all threads. */
	if (state->graph_packet_count > before && packet->place.packed)
		state->no_memory |= !read_packet(&state->graph_packets[before], data);
}

/* What the threads share that read packets. */
struct reading {
	const struct trace *trace;
	_Atomic size_t next;
	_Atomic bool failed;
};

static void *read_packets(void *context)
{
	struct reading *reading = context;
	struct trace_state *state = reading->trace->state;
	size_t i;
	while ((i = atomic_fetch_add(&reading->next, 1)) < state->graph_packet_count && !reading->failed) {
		struct graph_packet *packet = &state->graph_packets[i];
		if (!packet->known && !read_packet(packet, reading->trace->data + packet->place.offset))
			reading->failed = true;
	}
	return NULL;
}

static void read_all(struct trace *trace)
{
	struct trace_state *state = trace->state;
	struct reading reading = { .trace = trace };
	pthread_t threads[THREADS_MOST];
	unsigned started = 0;
	uint64_t bytes = 0;
	for (size_t i = 0; i < state->graph_packet_count; i++)
		bytes += state->graph_packets[i].known ? 0 : state->graph_packets[i].place.len;
	const unsigned most = trace->threads < THREADS_MOST ? trace->threads : THREADS_MOST;
	/* This thread is one of them. */
	while (started + 1 < most && bytes / THREAD_BYTES > started &&
	       !pthread_create(&threads[started], NULL, read_packets, &reading))
		started++;
	read_packets(&reading);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	state->no_memory |= reading.failed;
}

/* --- putting together --- */

/* The graph that the packet belongs to, or a new one; NULL where it has none. */
static struct graphing *graph_of(struct trace *trace, const struct graph_packet *packet)
{
	struct trace_state *state = trace->state;
	size_t i = state->graphing_count;
	if (trace->only_pid && packet->pid != trace->pid) {
		trace->dumps_of_others++;
		return NULL;
	}
	while (i-- > 0)
		if (state->graphings[i].sequence == packet->sequence && !state->graphings[i].finished)
			break;
	if (i != SIZE_MAX) {
		if (state->graphings[i].pid == packet->pid)
			return &state->graphings[i];
		notes_add(trace->notes, "packets of another process inside a heap graph", packet->packet, packet->place.len,
			  "process %" PRIu32, packet->pid);
		return NULL;
	}
	if (state->graphing_count == TRACE_DUMPS_MOST) {
		notes_add(trace->notes, "more heap dumps than can be shown", packet->packet, 0, NULL);
		return NULL;
	}
	i = state->graphing_count;
	ADD(state, state->graphings, state->graphing_count, state->graphing_capacity,
	    (struct graphing){ .trace = trace, .pid = packet->pid, .sequence = packet->sequence });
	return i < state->graphing_count ? &state->graphings[i] : NULL;
}

void trace_gather_graphs(struct trace *trace)
{
	struct trace_state *state = trace->state;
	read_all(trace);
	for (size_t i = 0; i < state->graph_packet_count && !state->no_memory; i++) {
		const struct graph_packet *packet = &state->graph_packets[i];
		struct graphing *g = graph_of(trace, packet);
		if (!g)
			continue;
		if (packet->index != g->next) {
			g->missing_at = g->missing ? g->missing_at : packet->packet;
			g->missing += packet->index > g->next ? packet->index - g->next : 1;
		}
		g->next = packet->index + 1;
		g->finished = !packet->continued;
		ADD(state, g->packets, g->count, g->capacity, i);
	}
}

void trace_close_graphs(struct trace_state *state)
{
	for (size_t i = 0; i < state->graphing_count; i++)
		free(state->graphings[i].packets);
	for (size_t i = 0; i < state->graph_packet_count; i++)
		free(state->graph_packets[i].others);
	free(state->graphings);
	free(state->graph_packets);
}

/* --- as a dump --- */

static const struct graph_packet *packet_of(const struct graphing *g, size_t number)
{
	return &g->trace->state->graph_packets[g->packets[number]];
}

static const uint8_t *packet_bytes(void *context, size_t number, uint64_t *len)
{
	const struct graphing *g = context;
	const struct place *place = &packet_of(g, number)->place;
	const uint8_t *data = trace_bytes(g->trace, place);
	*len = place->len;
	if (!data)
		trace_note_lost(g->trace, place);
	return data;
}

static const struct graph_span *packet_others(void *context, size_t number, size_t *count)
{
	const struct graphing *g = context;
	*count = packet_of(g, number)->other_count;
	return packet_of(g, number)->others;
}

bool trace_write_graph(struct trace *trace, struct spill *spill, struct graphing *g, struct trace_dump *dump)
{
	dump->graph = calloc(1, sizeof *dump->graph);
	if (!dump->graph)
		return false;
	*dump->graph = (struct heap_graph){ .packets = g->count, .packet = packet_bytes, .others = packet_others,
					    .context = g, .notes = &dump->notes, .threads = trace->threads };
	for (size_t i = 0; i < g->count; i++) {
		dump->graph->bytes += packet_of(g, i)->place.len;
		if (packet_of(g, i)->place.packed) /* of compressed packets only the last one is there */
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
	if (dump->graph->len) { /* else there was no room for any of it */
		dump->offset = dump->graph->offset;
		dump->len = dump->graph->len;
		trace->size = dump->offset + dump->len;
	}
	return !spill->full;
}
