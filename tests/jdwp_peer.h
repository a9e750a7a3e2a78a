/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jdwp_peer: the other side of a debugger's connection, with what an application with a few bitmaps answers, and on request
 * something that is wrong about one of the answers.
 */
#ifndef HEAPFS_JDWP_PEER_H
#define HEAPFS_JDWP_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum peer_fault {
	PEER_FINE,
	/* Instead of a handshake. */
	PEER_HANGS_UP, PEER_SAYS_NOTHING, PEER_SPEAKS_HTTP,
	/* Of the answer to command `at`. */
	PEER_REFUSES,		/* with `code` */
	PEER_CLOSES,		/* no answer, and the end */
	PEER_SILENT,		/* no answer */
	PEER_CUTS,		/* half of the packet, and the end */
	PEER_STOPS,		/* half of the packet */
	PEER_SHORT,		/* the body lacks its second half, the length says so */
	PEER_EMPTY,		/* no body */
	PEER_HUGE,		/* a length of 4 GiB */
	PEER_LARGE,		/* a length just below what is read, and nothing behind it */
	PEER_TINY,		/* a length below that of the head */
	PEER_MANY,		/* 0xff for all of the body: counts, lengths, tags, ids */
	PEER_OTHER_ID,		/* an answer to another command */
	PEER_REQUEST,		/* a command of its own instead */
	PEER_DIES,		/* an event of that, and the end */
	PEER_EVENTS,		/* events without end that stop nothing */
	PEER_STOPPING_EVENTS,	/* events without end that stop everything */
	PEER_BAD_EVENT,		/* an event that is cut off */
	PEER_DRIBBLES,		/* a byte each 20 ms */
	PEER_RANDOM,		/* one byte of the packet is another, as `seed` says; of each answer with `at` < 0 */
	PEER_FAULTS
};

#define PEER_KINDS 128

struct peer {
	/* What it does; set before peer_start(). */
	enum peer_fault fault;
	int at;
	uint16_t code;
	uint64_t seed;
	uint32_t id_size;
	bool no_ids;		/* ids of 0 bytes */
	bool chatty;		/* things that are nobody's between the answers, events before them */
	bool crowd;		/* the event comes among others, in one set and in sets that stop something */
	bool lies;		/* compress() makes a picture of another size */
	bool throws;		/* compress() throws */
	bool blind;		/* cannot list instances */
	bool bare;		/* never loaded Bitmap */
	bool idle;		/* no event comes */
	bool fresh;		/* CompressFormat is not loaded yet */
	/* What it saw; read after peer_stop(). */
	int commands;		/* all but Dispose */
	unsigned kinds[PEER_KINDS]; /* set << 8 | command of the first of them */
	unsigned resumes, calls;
	int kept;		/* objects that it may not collect */
	bool disposed, single_threaded, misused;
	/* Internal. */
	int listener;
	unsigned port;
	pthread_t thread;
	uint32_t request;
	unsigned compressed;	/* the bitmap */
	bool entered;
};

#define PEER_BITMAPS 5
/* Bytes of the largest picture: more than are read at once. */
#define PEER_LARGEST ((UINT32_C(2) << 20) + 4567)

/* Listens on peer->port of 127.0.0.1, for one debugger. */
void peer_start(struct peer *peer);
/* The debugger has closed. */
void peer_stop(struct peer *peer);

#endif
