/* SPDX-License-Identifier: Apache-2.0 */
/* jdwp_packet: bytes, packets, and what commands are put together with and replies taken apart. Of this client alone. */
#ifndef HEAPFS_JDWP_PACKET_H
#define HEAPFS_JDWP_PACKET_H

#include "capture/jdwp.h"

/* The body of a command. All are small: the longest text is the name of a class. */
struct jdwp_out {
	uint8_t data[512];
	size_t len;
	bool full;		/* something did not fit */
};

void jdwp_put(struct jdwp_out *out, uint64_t value, unsigned size);	/* big-endian */
void jdwp_put_text(struct jdwp_out *out, const char *text);
void jdwp_put_value(const struct jdwp *jdwp, struct jdwp_out *out, const struct jdwp_value *value);

/* What is left of a reply. Past its end everything is 0, and `bad` is set. */
struct jdwp_in {
	const uint8_t *at, *end;
	bool bad;
};

uint64_t jdwp_get(struct jdwp_in *in, unsigned size);
/* A text that lies in the packet and has no NUL at its end; NULL past the end. */
const char *jdwp_get_text(struct jdwp_in *in, uint32_t *len);
/* With its tag; one of an unknown tag is bad. */
struct jdwp_value jdwp_get_value(const struct jdwp *jdwp, struct jdwp_in *in);

enum jdwp_command {
	VM_VERSION, VM_CLASSES, VM_ID_SIZES, VM_DISPOSE, VM_RESUME, VM_STRING, VM_CAPABILITIES,
	TYPE_SIGNATURE, TYPE_LOADER, TYPE_FIELDS, TYPE_METHODS, TYPE_VALUES, TYPE_INSTANCES,
	CLASS_INVOKE, CLASS_CONSTRUCT,
	OBJECT_TYPE, OBJECT_VALUES, OBJECT_INVOKE, OBJECT_KEEP, OBJECT_LET_GO,
	THREAD_RESUME,
	ARRAY_LENGTH, ARRAY_VALUES,
	EVENT_SET, EVENT_CLEAR,
};

/*
 * Sends a command and waits for its reply, whose body is in *in until the next command. 0, or -1. Whoever has read *in asks
 * jdwp_check(), which says whether all of it was there: 0, or -1.
 */
int jdwp_command(struct jdwp *jdwp, enum jdwp_command command, const struct jdwp_out *out, struct jdwp_in *in);
int jdwp_check(struct jdwp *jdwp, const struct jdwp_in *in);
/* The same, where another deadline than command_ms holds. */
int jdwp_command_until(struct jdwp *jdwp, enum jdwp_command command, const struct jdwp_out *out, struct jdwp_in *in,
		       int64_t deadline);
/* Only sends it. */
int jdwp_send(struct jdwp *jdwp, enum jdwp_command command, const struct jdwp_out *out, int64_t deadline);
/* Waits for the answer to a call that was given up; it is not looked at. */
void jdwp_finish_call(struct jdwp *jdwp, int64_t deadline);

/* Waits until the socket can be read or written (POLLIN, POLLOUT): 1, 0 after the deadline, -1 with `lost`. */
int jdwp_wait(struct jdwp *jdwp, short events, int64_t deadline);
/* The same, where the deadline is an error. */
int jdwp_wait_or_lose(struct jdwp *jdwp, short events, int64_t deadline);
/* All of it: 0, or -1. */
int jdwp_read(struct jdwp *jdwp, uint8_t *data, size_t len, int64_t deadline);
int jdwp_write(struct jdwp *jdwp, const uint8_t *data, size_t len, int64_t deadline);
/* The connection is of no more use. Always -1. */
int jdwp_lose(struct jdwp *jdwp, enum jdwp_lost lost, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
