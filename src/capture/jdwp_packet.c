/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes, packets and events, each with a deadline. */
#include "capture/jdwp_packet.h"

#include "capture/clock.h"
#include "hprof/format.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define HEADER_LEN 11
#define FLAG_REPLY 0x80
/* The longest that is read: the list of seven million instances. */
#define PACKET_MOST (UINT32_C(64) << 20)
#define PACKET_STEP (UINT32_C(64) << 10)
/* How late a cancel may be noticed. */
#define SLICE_MS 200

/* Kinds of events (JDWP.EventKind). A thread comes first in all but CLASS_UNLOAD and VM_DEATH. */
enum {
	EVENT_SINGLE_STEP = 1,
	EVENT_BREAKPOINT = 2,
	EVENT_THREAD_START = 6,
	EVENT_THREAD_DEATH = 7,
	EVENT_CLASS_UNLOAD = 9,
	EVENT_METHOD_EXIT = 41,
	EVENT_VM_START = 90,
	EVENT_VM_DEATH = 99,
};

static const struct {
	uint8_t set, command;
	const char *name;
} commands[] = {
	[VM_VERSION] = { 1, 1, "VirtualMachine.Version" },
	[VM_CLASSES] = { 1, 2, "VirtualMachine.ClassesBySignature" },
	[VM_DISPOSE] = { 1, 6, "VirtualMachine.Dispose" },
	[VM_ID_SIZES] = { 1, 7, "VirtualMachine.IDSizes" },
	[VM_RESUME] = { 1, 9, "VirtualMachine.Resume" },
	[VM_STRING] = { 1, 11, "VirtualMachine.CreateString" },
	[VM_CAPABILITIES] = { 1, 17, "VirtualMachine.CapabilitiesNew" },
	[TYPE_SIGNATURE] = { 2, 1, "ReferenceType.Signature" },
	[TYPE_LOADER] = { 2, 2, "ReferenceType.ClassLoader" },
	[TYPE_FIELDS] = { 2, 4, "ReferenceType.Fields" },
	[TYPE_METHODS] = { 2, 5, "ReferenceType.Methods" },
	[TYPE_VALUES] = { 2, 6, "ReferenceType.GetValues" },
	[TYPE_INSTANCES] = { 2, 16, "ReferenceType.Instances" },
	[CLASS_INVOKE] = { 3, 3, "ClassType.InvokeMethod" },
	[CLASS_CONSTRUCT] = { 3, 4, "ClassType.NewInstance" },
	[OBJECT_TYPE] = { 9, 1, "ObjectReference.ReferenceType" },
	[OBJECT_VALUES] = { 9, 2, "ObjectReference.GetValues" },
	[OBJECT_INVOKE] = { 9, 6, "ObjectReference.InvokeMethod" },
	[OBJECT_KEEP] = { 9, 7, "ObjectReference.DisableCollection" },
	[OBJECT_LET_GO] = { 9, 8, "ObjectReference.EnableCollection" },
	[THREAD_RESUME] = { 11, 3, "ThreadReference.Resume" },
	[ARRAY_LENGTH] = { 13, 1, "ArrayReference.Length" },
	[ARRAY_VALUES] = { 13, 2, "ArrayReference.GetValues" },
	[EVENT_SET] = { 15, 1, "EventRequest.Set" },
	[EVENT_CLEAR] = { 15, 2, "EventRequest.Clear" },
};

/* Those that are likely enough to deserve their name (JDWP.Error). */
static const struct {
	uint16_t code;
	const char *name;
} codes[] = {
	{ JDWP_INVALID_THREAD, "INVALID_THREAD: no event stopped the thread" },
	{ JDWP_THREAD_NOT_SUSPENDED, "THREAD_NOT_SUSPENDED" },
	{ 14, "THREAD_SUSPENDED" },
	{ JDWP_INVALID_OBJECT, "INVALID_OBJECT: it was collected" },
	{ 21, "INVALID_CLASS" },
	{ 22, "CLASS_NOT_PREPARED" },
	{ 23, "INVALID_METHODID" },
	{ 25, "INVALID_FIELDID" },
	{ 65, "INVALID_TAG" },
	{ JDWP_NOT_IMPLEMENTED, "NOT_IMPLEMENTED" },
	{ 103, "ILLEGAL_ARGUMENT" },
	{ 110, "OUT_OF_MEMORY" },
	{ 113, "INTERNAL" },
	{ 500, "INVALID_TAG" },
	{ JDWP_ALREADY_INVOKING, "ALREADY_INVOKING: a debugger before this one left a call unfinished in this thread; try again, or "
				 "restart the application" },
};

int jdwp_lose(struct jdwp *jdwp, enum jdwp_lost lost, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(jdwp->error, sizeof jdwp->error, format, args);
	va_end(args);
	jdwp->lost = lost;
	jdwp->code = 0;
	return -1;
}

/* --- bodies --- */

void jdwp_put(struct jdwp_out *out, uint64_t value, unsigned size)
{
	if (sizeof out->data - out->len < size) {
		out->full = true;
		return;
	}
	for (unsigned i = 0; i < size; i++)
		out->data[out->len++] = (uint8_t)(value >> 8 * (size - 1 - i));
}

void jdwp_put_text(struct jdwp_out *out, const char *text)
{
	const size_t len = strlen(text);
	if (sizeof out->data - out->len < 4 + len) {
		out->full = true;
		return;
	}
	jdwp_put(out, len, 4);
	memcpy(out->data + out->len, text, len);
	out->len += len;
}

/* Bytes of a value; 9 for an unknown tag. */
static unsigned value_size(const struct jdwp *jdwp, uint8_t tag)
{
	switch (tag) {
	case 'V':
		return 0;
	case 'B':
	case 'Z':
		return 1;
	case 'C':
	case 'S':
		return 2;
	case 'F':
	case 'I':
		return 4;
	case 'D':
	case 'J':
		return 8;
	case 'L':
	case 's':
	case 't':
	case 'g':
	case 'l':
	case 'c':
	case '[':
		return jdwp->object_size;
	default:
		return 9;
	}
}

void jdwp_put_value(const struct jdwp *jdwp, struct jdwp_out *out, const struct jdwp_value *value)
{
	jdwp_put(out, value->tag, 1);
	jdwp_put(out, value->bits, value_size(jdwp, value->tag));
}

uint64_t jdwp_get(struct jdwp_in *in, unsigned size)
{
	uint64_t value = 0;
	if ((size_t)(in->end - in->at) < size) {
		in->at = in->end;
		in->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < size; i++)
		value = value << 8 | *in->at++;
	return value;
}

const char *jdwp_get_text(struct jdwp_in *in, uint32_t *len)
{
	*len = (uint32_t)jdwp_get(in, 4);
	if ((size_t)(in->end - in->at) < *len)
		in->bad = true;
	if (in->bad) {
		in->at = in->end;
		*len = 0;
		return NULL;
	}
	const char *text = (const char *)in->at;
	in->at += *len;
	return text;
}

struct jdwp_value jdwp_get_value(const struct jdwp *jdwp, struct jdwp_in *in)
{
	struct jdwp_value value = { .tag = (uint8_t)jdwp_get(in, 1) };
	const unsigned size = value_size(jdwp, value.tag);
	if (size > 8)
		in->bad = true;
	else
		value.bits = jdwp_get(in, size);
	return value;
}

/* --- bytes --- */

int jdwp_wait(struct jdwp *jdwp, short events, int64_t deadline)
{
	for (;;) {
		if (jdwp->cancel && atomic_load(jdwp->cancel))
			return jdwp_lose(jdwp, JDWP_CANCELLED, "interrupted");
		const int64_t left = deadline - clock_ms();
		if (left < 0)
			return 0;
		struct pollfd ready = { .fd = jdwp->fd, .events = events };
		const int rc = poll(&ready, 1, left < SLICE_MS ? (int)left : SLICE_MS);
		if (rc > 0)
			return 1;
		if (rc < 0 && errno != EINTR)
			return jdwp_lose(jdwp, JDWP_GONE, "poll: %s", strerror(errno));
	}
}

static int silent(struct jdwp *jdwp)
{
	return jdwp_lose(jdwp, JDWP_SILENT, "the application did not answer in time: it may be frozen or very busy; try again");
}

int jdwp_wait_or_lose(struct jdwp *jdwp, short events, int64_t deadline)
{
	const int ready = jdwp_wait(jdwp, events, deadline);
	return ready ? ready : silent(jdwp);
}

static int gone(struct jdwp *jdwp)
{
	return jdwp_lose(jdwp, JDWP_GONE, "the connection was closed: the application ended, or its device is gone");
}

int jdwp_read(struct jdwp *jdwp, uint8_t *data, size_t len, int64_t deadline)
{
	for (size_t have = 0; have < len;) {
		if (jdwp_wait_or_lose(jdwp, POLLIN, deadline) < 0)
			return -1;
		const ssize_t got = recv(jdwp->fd, data + have, len - have, MSG_DONTWAIT);
		if (got > 0)
			have += (size_t)got;
		else if (!got || (errno != EAGAIN && errno != EINTR))
			return gone(jdwp);
	}
	return 0;
}

int jdwp_write(struct jdwp *jdwp, const uint8_t *data, size_t len, int64_t deadline)
{
	for (size_t done = 0; done < len;) {
		if (jdwp_wait_or_lose(jdwp, POLLOUT, deadline) < 0)
			return -1;
		const ssize_t put = send(jdwp->fd, data + done, len - done, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (put > 0)
			done += (size_t)put;
		else if (errno != EAGAIN && errno != EINTR)
			return gone(jdwp);
	}
	return 0;
}

/* --- packets --- */

struct packet {
	uint32_t id, len;	/* `len` of the body, which is in jdwp->packet */
	uint8_t flags, set, command;
	uint16_t code;		/* of a reply */
};

/*
 * Reads a packet that begins until `first` and ends until `whole`: 1, 0 if none began, or -1. Memory follows the bytes that
 * came, not the length that was announced.
 */
static int read_packet(struct jdwp *jdwp, struct packet *packet, int64_t first, int64_t whole)
{
	uint8_t head[HEADER_LEN];
	const int began = jdwp_wait(jdwp, POLLIN, first);
	if (began <= 0)
		return began;
	jdwp->midway = true;
	if (jdwp_read(jdwp, head, sizeof head, whole))
		return -1;
	const uint32_t len = be32(head);
	if (len < HEADER_LEN || len > PACKET_MOST)
		return jdwp_lose(jdwp, JDWP_NONSENSE, "what came is not JDWP: a packet of %" PRIu32 " bytes", len);
	*packet = (struct packet){ be32(head + 4), len - HEADER_LEN, head[8], head[9], head[10], be16(head + 9) };
	for (uint32_t have = 0; have < packet->len;) {
		const uint32_t left = packet->len - have, step = left < PACKET_STEP ? left : PACKET_STEP;
		if (jdwp->packet_capacity < have + step) {
			const size_t wanted = jdwp->packet_capacity * 2 > have + step ? jdwp->packet_capacity * 2 : have + step;
			uint8_t *grown = realloc(jdwp->packet, wanted);
			if (!grown)
				return jdwp_lose(jdwp, JDWP_NO_MEMORY, "no memory for an answer of %" PRIu32 " bytes", len);
			jdwp->packet = grown;
			jdwp->packet_capacity = wanted;
		}
		if (jdwp_read(jdwp, jdwp->packet + have, step, whole))
			return -1;
		have += step;
	}
	jdwp->midway = false;
	return 1;
}

static struct jdwp_in body_of(const struct jdwp *jdwp, const struct packet *packet)
{
	static const uint8_t none[1];
	const uint8_t *data = packet->len ? jdwp->packet : none;
	return (struct jdwp_in){ data, data + packet->len, false };
}

/* --- events --- */

/* The thread of an event, which stands first in all that have one. False: the length of this kind is not known. */
static bool read_event(const struct jdwp *jdwp, struct jdwp_in *in, struct jdwp_event *event)
{
	event->kind = (uint8_t)jdwp_get(in, 1);
	event->request = (uint32_t)jdwp_get(in, 4);
	event->thread = 0;
	switch (event->kind) {
	case EVENT_VM_DEATH:
		return true;
	case EVENT_VM_START:
	case EVENT_THREAD_START:
	case EVENT_THREAD_DEATH:
		event->thread = jdwp_get(in, jdwp->object_size);
		return true;
	case EVENT_SINGLE_STEP:
	case EVENT_BREAKPOINT:
	case JDWP_METHOD_ENTRY:
	case EVENT_METHOD_EXIT:
		event->thread = jdwp_get(in, jdwp->object_size);
		jdwp_get(in, 1); /* the location: type tag, class, method, index */
		jdwp_get(in, jdwp->type_size);
		jdwp_get(in, jdwp->method_size);
		jdwp_get(in, 8);
		return true;
	default:
		event->thread = event->kind == EVENT_CLASS_UNLOAD ? 0 : jdwp_get(in, jdwp->object_size);
		return false;
	}
}

/*
 * A packet that is no reply. ART sends packets of its own there (DDMS, set 199), which are nobody's here. Of events those are
 * kept that stopped something, or that were asked for.
 */
static int take_event(struct jdwp *jdwp, const struct packet *packet)
{
	if (packet->flags || packet->set != 64 || packet->command != 100)
		return 0;
	struct jdwp_in in = body_of(jdwp, packet);
	struct jdwp_event kept = { .kind = 0 };
	const uint8_t policy = (uint8_t)jdwp_get(&in, 1);
	const uint32_t count = (uint32_t)jdwp_get(&in, 4);
	bool known = true;
	for (uint32_t i = 0; known && !in.bad && i < count; i++) {
		struct jdwp_event event = { .policy = policy };
		known = read_event(jdwp, &in, &event);
		if (event.kind == EVENT_VM_DEATH)
			return jdwp_lose(jdwp, JDWP_GONE, "the application ended");
		if (!i || (event.kind == JDWP_METHOD_ENTRY && kept.kind != JDWP_METHOD_ENTRY))
			kept = event;
	}
	if (in.bad || !count)
		return jdwp_lose(jdwp, JDWP_NONSENSE, "what came is not JDWP: events that are cut off");
	if (!policy && kept.kind != JDWP_METHOD_ENTRY)
		return 0;
	if (jdwp->event_count == JDWP_EVENTS_MOST)
		return jdwp_lose(jdwp, JDWP_NONSENSE, "the application sends events that nobody asked for, without end");
	jdwp->events[jdwp->event_count++] = kept;
	return 0;
}

int jdwp_event(struct jdwp *jdwp, unsigned ms, struct jdwp_event *event)
{
	const int64_t deadline = clock_ms() + ms;
	if (jdwp->lost)
		return -1;
	while (!jdwp->event_count) {
		struct packet packet;
		const int rc = read_packet(jdwp, &packet, deadline, clock_ms() + jdwp->command_ms);
		if (rc <= 0)
			return rc;
		if (packet.flags & FLAG_REPLY)
			return jdwp_lose(jdwp, JDWP_NONSENSE, "what came is not JDWP: an answer to nothing");
		if (take_event(jdwp, &packet))
			return -1;
	}
	*event = jdwp->events[0];
	jdwp->event_count--;
	memmove(jdwp->events, jdwp->events + 1, jdwp->event_count * sizeof *jdwp->events);
	return 1;
}

/* --- commands --- */

int jdwp_send(struct jdwp *jdwp, enum jdwp_command command, const struct jdwp_out *out, int64_t deadline)
{
	struct jdwp_out packet = { .len = 0 };
	jdwp_put(&packet, HEADER_LEN + out->len, 4);
	jdwp_put(&packet, ++jdwp->last_id, 4);
	jdwp_put(&packet, 0, 1);
	jdwp_put(&packet, commands[command].set, 1);
	jdwp_put(&packet, commands[command].command, 1);
	if (out->full || sizeof packet.data - packet.len < out->len)
		return jdwp_lose(jdwp, JDWP_NONSENSE, "%s: too long", commands[command].name);
	memcpy(packet.data + packet.len, out->data, out->len);
	return jdwp_write(jdwp, packet.data, packet.len + out->len, deadline);
}

static int refused(struct jdwp *jdwp, enum jdwp_command command, uint16_t code)
{
	if (code == JDWP_VM_DEAD)
		return jdwp_lose(jdwp, JDWP_GONE, "the application is ending (VM_DEAD)");
	jdwp->code = code;
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].code == code) {
			snprintf(jdwp->error, sizeof jdwp->error, "%s was refused with error %u, %s", commands[command].name,
				 code, codes[i].name);
			return -1;
		}
	snprintf(jdwp->error, sizeof jdwp->error, "%s was refused with error %u", commands[command].name, code);
	return -1;
}

int jdwp_command_until(struct jdwp *jdwp, enum jdwp_command command, const struct jdwp_out *out, struct jdwp_in *in,
		       int64_t deadline)
{
	if (jdwp->lost)
		return -1;
	jdwp->code = 0;
	if (jdwp_send(jdwp, command, out, deadline))
		return -1;
	jdwp->calling = command == CLASS_INVOKE || command == CLASS_CONSTRUCT || command == OBJECT_INVOKE;
	for (;;) {
		struct packet packet;
		const int rc = read_packet(jdwp, &packet, deadline, deadline);
		if (!rc)
			return silent(jdwp);
		if (rc < 0)
			return -1;
		if (!(packet.flags & FLAG_REPLY)) {
			if (take_event(jdwp, &packet))
				return -1;
			continue;
		}
		if (packet.id != jdwp->last_id)
			return jdwp_lose(jdwp, JDWP_NONSENSE, "what came is not JDWP: an answer to nothing");
		jdwp->calling = false;
		if (packet.code)
			return refused(jdwp, command, packet.code);
		*in = body_of(jdwp, &packet);
		return 0;
	}
}

int jdwp_command(struct jdwp *jdwp, enum jdwp_command command, const struct jdwp_out *out, struct jdwp_in *in)
{
	return jdwp_command_until(jdwp, command, out, in, clock_ms() + jdwp->command_ms);
}

int jdwp_check(struct jdwp *jdwp, const struct jdwp_in *in)
{
	return in->bad ? jdwp_lose(jdwp, JDWP_NONSENSE, "what came is not JDWP: an answer that is cut off") : 0;
}

void jdwp_finish_call(struct jdwp *jdwp, int64_t deadline)
{
	struct packet packet = { .flags = 0 };
	while (jdwp->calling && !jdwp->midway && clock_ms() < deadline && read_packet(jdwp, &packet, deadline, deadline) > 0)
		jdwp->calling = !(packet.flags & FLAG_REPLY) || packet.id != jdwp->last_id;
}
