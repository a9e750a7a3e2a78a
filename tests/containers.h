/* SPDX-License-Identifier: Apache-2.0 */
/*
 * containers: for tests of what dumps come in. Bytes become a file, which is opened; traces are put together a field at
 * a time. What goes wrong here fails the test.
 */
#ifndef HEAPFS_CONTAINERS_H
#define HEAPFS_CONTAINERS_H

#include "fixture.h"

#include "input/container.h"

/* --- a file, and what is made of it --- */

/* The folder that a group of tests has, also for what is unpacked; the file in it. */
extern char folder[4096], path[4200];
int make_folder(void **state), remove_folder(void **state);

struct opened_container {
	struct container container;
	int rc;
	char error[8192];
};

/* The container must be closed, whatever came of it. */
void open_bytes(struct opened_container *o, const void *data, size_t len, const struct container_options *more);
/* NULL where there is none. */
const struct note *find_note(const struct notes *notes, const char *kind);
const struct input *part_of(const struct opened_container *o, size_t number);
void assert_bytes(const struct input *in, const void *data, size_t len);
/* What any bytes give: a message, or one dump that is the beginning of the truth. How many bytes it has. */
uint64_t assert_beginning(const struct opened_container *o, const void *truth, size_t len);

/* CPU time of a file that is made to do harm, in seconds. Mostly a few tenths; sanitizers make it some times as much. */
#define SECONDS_MOST 4

/* --- traces, a field at a time --- */

void put_varint(struct writer *w, uint64_t value);
void put_number(struct writer *w, unsigned field, uint64_t value);
void put_field(struct writer *w, unsigned field, const void *data, size_t len);
/* And frees the message. */
void put_message(struct writer *w, unsigned field, struct writer *message);

#define NO_NUMBER UINT64_MAX
/* A packet with a chunk of a dump, without an index where that is NO_NUMBER. */
void put_chunk(struct writer *trace, uint64_t pid, uint64_t sequence, const void *data, size_t len, uint64_t index,
	       bool last);

#define PAYLOAD 100		/* bytes of the dump in small traces */
#define CHUNK 40
extern uint8_t payload[PAYLOAD];
void make_payload(void);
void put_payload(struct writer *trace);

/* A member of a gzip file, with a comment or NULL. */
void put_member(struct writer *w, const void *data, size_t len, const char *comment);

#endif
