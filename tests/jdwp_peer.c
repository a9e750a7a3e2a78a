/* SPDX-License-Identifier: Apache-2.0 */
#include "jdwp_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE "JDWP-Handshake"
#define HANDSHAKE_LEN 14
#define HEADER_LEN 11
#define BODY_MOST 600

/* Ids. They fit in a byte. */
enum {
	BITMAP = 1, FORMAT, STREAM, CLASS, RUNTIME, THREAD, SYSTEM, EXCEPTION, /* classes */
	COMPRESS = 20, CONSTRUCT, TO_BYTES, FOR_NAME, GET_RUNTIME, GC, SLEEP, FINALIZE, /* methods */
	POINTER = 40, WIDTH, HEIGHT, RECYCLED, FIELD_PNG, /* fields */
	OBJECTS = 60,		/* bitmaps */
	MAIN = 80, LOADER, PNG, TEXT, RUNTIME_OBJECT, THROWN,
	STREAM_OBJECT = 100,
	ARRAYS = 120,		/* the pictures of the bitmaps */
};

static const struct {
	const char *signature;
	unsigned id;
} classes[] = {
	{ "Landroid/graphics/Bitmap;", BITMAP },
	{ "Landroid/graphics/Bitmap$CompressFormat;", FORMAT },
	{ "Ljava/io/ByteArrayOutputStream;", STREAM },
	{ "Ljava/lang/Class;", CLASS },
	{ "Ljava/lang/Runtime;", RUNTIME },
	{ "Ljava/lang/Thread;", THREAD },
	{ "Ljava/lang/System;", SYSTEM },
};

static const struct {
	unsigned class, id;
	const char *name, *signature;
} methods[] = {
	{ BITMAP, 19, "compress", "(I)Z" },
	{ BITMAP, COMPRESS, "compress", "(Landroid/graphics/Bitmap$CompressFormat;ILjava/io/OutputStream;)Z" },
	{ STREAM, CONSTRUCT, "<init>", "()V" },
	{ STREAM, TO_BYTES, "toByteArray", "()[B" },
	{ CLASS, FOR_NAME, "forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;" },
	{ RUNTIME, GET_RUNTIME, "getRuntime", "()Ljava/lang/Runtime;" },
	{ RUNTIME, GC, "gc", "()V" },
	{ THREAD, SLEEP, "sleep", "(J)V" },
	{ SYSTEM, FINALIZE, "runFinalization", "()V" },
};

static const struct {
	unsigned class, id;
	const char *name;
} fields[] = {
	{ BITMAP, 39, "mDensity" }, { BITMAP, POINTER, "mNativePtr" }, { BITMAP, WIDTH, "mWidth" },
	{ BITMAP, HEIGHT, "mHeight" }, { BITMAP, RECYCLED, "mRecycled" }, { FORMAT, FIELD_PNG, "PNG" },
};

/* Of bitmap i; the last two have no picture. */
static const struct {
	uint32_t width, height, recycled;
} bitmaps[PEER_BITMAPS] = { { 30, 20, 0 }, { 900, 800, 0 }, { 8, 9, 0 }, { 70, 70, 1 }, { 0, 5, 0 } };

static uint32_t picture_len(unsigned bitmap)
{
	return bitmap == 1 ? PEER_LARGEST : 45 + bitmap;
}

/* A reply while it is put together. */
struct body {
	uint8_t *data;
	size_t len, capacity;
	uint16_t code;
};

static void put_bytes(struct body *body, const void *data, size_t len)
{
	if (body->capacity - body->len < len) {
		body->capacity = 2 * (body->len + len);
		body->data = realloc(body->data, body->capacity);
		if (!body->data)
			abort();
	}
	memcpy(body->data + body->len, data, len);
	body->len += len;
}

static void put(struct body *body, uint64_t value, unsigned size)
{
	uint8_t bytes[8];
	for (unsigned i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> 8 * (size - 1 - i));
	put_bytes(body, bytes, size);
}

static void put_text(struct body *body, const char *text)
{
	put(body, strlen(text), 4);
	put_bytes(body, text, strlen(text));
}

static void put_object(const struct peer *peer, struct body *body, char tag, unsigned id)
{
	put(body, (uint8_t)tag, 1);
	put(body, id, peer->id_size);
}

/* A command that is taken apart; what is past its end is 0, and `misused`. */
struct request {
	const uint8_t *at, *end;
	bool misused;
};

static uint64_t get(struct request *request, unsigned size)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < size; i++) {
		if (request->at == request->end) {
			request->misused = true;
			return 0;
		}
		value = value << 8 | *request->at++;
	}
	return value;
}

static bool is_text(struct request *request, const char *text)
{
	return get(request, 4) == strlen(text) && (size_t)(request->end - request->at) == strlen(text) &&
	       !memcmp(request->at, text, strlen(text));
}

/* --- what it answers --- */

static void find_class(struct peer *peer, struct request *request, struct body *body)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		struct request text = *request;
		if (!is_text(&text, classes[i].signature))
			continue;
		if ((classes[i].id == BITMAP && peer->bare) || (classes[i].id == FORMAT && peer->fresh))
			break;
		put(body, 1, 4);
		put(body, 1, 1);
		put(body, classes[i].id, peer->id_size);
		put(body, 7, 4);
		request->at = request->end;
		return;
	}
	put(body, 0, 4);
	request->at = request->end;
}

static void list_methods(struct peer *peer, struct request *request, struct body *body)
{
	const uint64_t class = get(request, peer->id_size);
	uint32_t count = 0;
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		count += methods[i].class == class;
	put(body, count, 4);
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (methods[i].class == class) {
			put(body, methods[i].id, peer->id_size);
			put_text(body, methods[i].name);
			put_text(body, methods[i].signature);
			put(body, 1, 4);
		}
}

static void list_fields(struct peer *peer, struct request *request, struct body *body)
{
	const uint64_t class = get(request, peer->id_size);
	uint32_t count = 0;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		count += fields[i].class == class;
	put(body, count, 4);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (fields[i].class == class) {
			put(body, fields[i].id, peer->id_size);
			put_text(body, fields[i].name);
			put_text(body, "?");
			put(body, 1, 4);
		}
}

static void list_instances(struct peer *peer, struct request *request, struct body *body)
{
	request->misused |= get(request, peer->id_size) != BITMAP || get(request, 4);
	put(body, PEER_BITMAPS, 4);
	for (unsigned i = 0; i < PEER_BITMAPS; i++)
		put_object(peer, body, 'L', OBJECTS + i);
}

static void read_fields(struct peer *peer, struct request *request, struct body *body)
{
	const uint64_t bitmap = get(request, peer->id_size) - OBJECTS;
	const uint64_t count = get(request, 4);
	if (bitmap >= PEER_BITMAPS) {
		body->code = 20;
		return;
	}
	put(body, count, 4);
	for (uint64_t i = 0; i < count && !request->misused; i++) {
		switch (get(request, peer->id_size)) {
		case POINTER:
			put(body, 'J', 1);
			put(body, UINT64_C(0xb400007000000000) + bitmap, 8);
			break;
		case WIDTH:
			put(body, 'I', 1);
			put(body, bitmaps[bitmap].width, 4);
			break;
		case HEIGHT:
			put(body, 'I', 1);
			put(body, bitmaps[bitmap].height, 4);
			break;
		case RECYCLED:
			put(body, 'Z', 1);
			put(body, bitmaps[bitmap].recycled, 1);
			break;
		default:
			request->misused = true;
		}
	}
}

/* A method was called, which returned something. */
static void call(struct peer *peer, struct request *request, struct body *body, bool instance)
{
	const uint64_t object = get(request, peer->id_size); /* or the class of a static method */
	if (get(request, peer->id_size) != MAIN || !peer->entered) {
		body->code = 10;
		return;
	}
	if (instance)
		get(request, peer->id_size);
	const uint64_t method = get(request, peer->id_size);
	unsigned thrown = 0;
	peer->calls++;
	for (uint64_t count = get(request, 4); count && !request->misused; count--) {
		const uint64_t tag = get(request, 1);
		get(request, tag == 'I' ? 4 : tag == 'Z' ? 1 : tag == 'J' ? 8 : peer->id_size);
	}
	peer->single_threaded |= get(request, 4) != 0;
	switch (method) {
	case COMPRESS:
		put(body, 'Z', 1);
		put(body, !peer->throws, 1);
		thrown = peer->throws ? THROWN : 0;
		peer->compressed = (unsigned)(object - OBJECTS);
		break;
	case CONSTRUCT:
		put_object(peer, body, 'L', STREAM_OBJECT);
		break;
	case TO_BYTES:
		put_object(peer, body, '[', ARRAYS + peer->compressed);
		break;
	case FOR_NAME:
		peer->fresh = false;
		put_object(peer, body, 'c', FORMAT);
		break;
	case GET_RUNTIME:
		put_object(peer, body, 'L', RUNTIME_OBJECT);
		break;
	default:
		put(body, 'V', 1);
	}
	put_object(peer, body, 'L', thrown);
}

static void read_array(struct peer *peer, struct request *request, struct body *body)
{
	const uint64_t bitmap = get(request, peer->id_size) - ARRAYS, first = get(request, 4), count = get(request, 4);
	if (bitmap >= PEER_BITMAPS || first + count > picture_len((unsigned)bitmap)) {
		body->code = 504;
		return;
	}
	const uint32_t len = picture_len((unsigned)bitmap), width = bitmaps[bitmap].width;
	const uint32_t height = bitmaps[bitmap].height + peer->lies;
	uint8_t *picture = calloc(1, len);
	if (!picture)
		abort();
	memcpy(picture, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
	for (unsigned i = 0; i < 4; i++) {
		picture[16 + i] = (uint8_t)(width >> 8 * (3 - i));
		picture[20 + i] = (uint8_t)(height >> 8 * (3 - i));
	}
	memcpy(picture + len - 12, "\0\0\0\0IEND\xae\x42\x60\x82", 12);
	put(body, 'B', 1);
	put(body, count, 4);
	put_bytes(body, picture + first, (size_t)count);
	free(picture);
}

/* The answer to set << 8 | command. */
static void answer(struct peer *peer, unsigned command, struct request *request, struct body *body)
{
	switch (command) {
	case 1 << 8 | 1: /* Version */
		put_text(body, "A peer\nof the tests");
		put(body, 1, 4);
		put(body, 6, 4);
		put_text(body, "8.1\x01\xff");
		put_text(body, "Peer");
		break;
	case 1 << 8 | 2:
		find_class(peer, request, body);
		break;
	case 1 << 8 | 6: /* Dispose */
		break;
	case 1 << 8 | 7: /* IDSizes */
		for (unsigned i = 0; i < 5; i++)
			put(body, peer->no_ids ? 0 : peer->id_size, 4);
		break;
	case 1 << 8 | 9:
		peer->resumes++;
		break;
	case 1 << 8 | 11:
		request->at = request->end;
		put(body, TEXT, peer->id_size);
		break;
	case 1 << 8 | 17:
		for (unsigned i = 0; i < 32; i++)
			put(body, i == 15 && !peer->blind, 1);
		break;
	case 2 << 8 | 1:
		request->misused |= get(request, peer->id_size) != EXCEPTION;
		put_text(body, "Ljava/lang/Illegal\x01StateException;");
		break;
	case 2 << 8 | 2:
		get(request, peer->id_size);
		put(body, LOADER, peer->id_size);
		break;
	case 2 << 8 | 4:
		list_fields(peer, request, body);
		break;
	case 2 << 8 | 5:
		list_methods(peer, request, body);
		break;
	case 2 << 8 | 6:
		request->misused |= get(request, peer->id_size) != FORMAT || get(request, 4) != 1 ||
				    get(request, peer->id_size) != FIELD_PNG;
		put(body, 1, 4);
		put_object(peer, body, 'L', PNG);
		break;
	case 2 << 8 | 16:
		list_instances(peer, request, body);
		break;
	case 3 << 8 | 3:
	case 3 << 8 | 4:
		call(peer, request, body, false);
		break;
	case 9 << 8 | 1:
		request->misused |= get(request, peer->id_size) != THROWN;
		put(body, 1, 1);
		put(body, EXCEPTION, peer->id_size);
		break;
	case 9 << 8 | 2:
		read_fields(peer, request, body);
		break;
	case 9 << 8 | 6:
		call(peer, request, body, true);
		break;
	case 9 << 8 | 7:
		get(request, peer->id_size);
		peer->kept++;
		break;
	case 9 << 8 | 8:
		get(request, peer->id_size);
		peer->kept--;
		break;
	case 11 << 8 | 3:
		request->misused |= get(request, peer->id_size) != MAIN + 1;
		peer->resumes++;
		break;
	case 13 << 8 | 1:
		put(body, picture_len((unsigned)(get(request, peer->id_size) - ARRAYS) % PEER_BITMAPS), 4);
		break;
	case 13 << 8 | 2:
		read_array(peer, request, body);
		break;
	case 15 << 8 | 1: /* METHOD_ENTRY, all, one modifier: count, 1 */
		request->misused |= get(request, 1) != 40 || get(request, 1) != 2 || get(request, 4) != 1 ||
				    get(request, 1) != 1 || get(request, 4) != 1;
		put(body, ++peer->request, 4);
		break;
	case 15 << 8 | 2:
		request->misused |= get(request, 1) != 40 || get(request, 4) != peer->request;
		break;
	default:
		request->misused = true;
		body->code = 99;
	}
	peer->misused |= request->misused || request->at != request->end;
}

/* --- what it sends --- */

static bool send_all(int fd, const uint8_t *data, size_t len)
{
	while (len) {
		const ssize_t sent = send(fd, data, len, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		data += sent;
		len -= (size_t)sent;
	}
	return true;
}

static bool receive_all(int fd, uint8_t *data, size_t len)
{
	while (len) {
		const ssize_t got = recv(fd, data, len, 0);
		if (got <= 0)
			return false;
		data += got;
		len -= (size_t)got;
	}
	return true;
}

/* A packet of its own: `set`, `command`, the body. */
static bool send_own(int fd, unsigned set, unsigned command, const struct body *body)
{
	struct body packet = { NULL, 0, 0, 0 };
	put(&packet, HEADER_LEN + body->len, 4);
	put(&packet, 77, 4);
	put(&packet, 0, 1);
	put(&packet, set, 1);
	put(&packet, command, 1);
	put_bytes(&packet, body->data ? body->data : (const uint8_t *)"", body->len);
	const bool sent = send_all(fd, packet.data, packet.len);
	free(packet.data);
	return sent;
}

static void put_event(const struct peer *peer, struct body *body, unsigned kind, uint32_t request, unsigned thread)
{
	put(body, kind, 1);
	put(body, request, 4);
	if (kind != 99)
		put(body, thread, peer->id_size);
	if (kind == 40) {
		put(body, 1, 1);
		put(body, CLASS, peer->id_size);
		put(body, GC, peer->id_size);
		put(body, 0, 8);
	}
}

/* A set of one event. */
static bool send_event(const struct peer *peer, int fd, unsigned policy, unsigned kind, uint32_t request, unsigned thread)
{
	struct body body = { NULL, 0, 0, 0 };
	put(&body, policy, 1);
	put(&body, 1, 4);
	put_event(peer, &body, kind, request, thread);
	const bool sent = send_own(fd, 64, 100, &body);
	free(body.data);
	return sent;
}

/* The event that was asked for. */
static void enter(struct peer *peer, int fd)
{
	peer->entered = true;
	if (!peer->crowd) {
		send_event(peer, fd, 2, 40, peer->request, MAIN);
		return;
	}
	send_event(peer, fd, 2, 90, 0, MAIN + 1);		/* VM_START */
	send_event(peer, fd, 1, 6, 0, MAIN + 1);		/* THREAD_START */
	send_event(peer, fd, 2, 8, 0, MAIN + 1);		/* CLASS_PREPARE, whose rest is not looked at */
	send_event(peer, fd, 2, 40, peer->request + 1, MAIN + 1); /* somebody else's */
	struct body body = { NULL, 0, 0, 0 };
	put(&body, 2, 1);
	put(&body, 3, 4);
	put_event(peer, &body, 6, 0, MAIN + 1);
	put_event(peer, &body, 40, peer->request, MAIN);
	put_event(peer, &body, 7, 0, MAIN + 1);
	send_own(fd, 64, 100, &body);
	free(body.data);
}

static uint64_t next_random(struct peer *peer)
{
	peer->seed = peer->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return peer->seed >> 33;
}

/* Sends an answer with what is wrong with it. False: the end. */
static bool send_wrong(struct peer *peer, int fd, uint8_t *packet, size_t len)
{
	static const uint8_t huge[4] = { 0xff, 0xff, 0xff, 0xff }, large[4] = { 4, 0, 0, 0 }, tiny[4] = { 0, 0, 0, 5 };
	const size_t half = HEADER_LEN + (len - HEADER_LEN) / 2;
	struct body empty = { NULL, 0, 0, 0 };
	switch (peer->fault) {
	case PEER_REFUSES:
		packet[9] = (uint8_t)(peer->code >> 8);
		packet[10] = (uint8_t)peer->code;
		memcpy(packet, "\0\0\0\x0b", 4);
		return send_all(fd, packet, HEADER_LEN);
	case PEER_CLOSES:
		return false;
	case PEER_SILENT:
		return true;
	case PEER_CUTS:
		send_all(fd, packet, len == HEADER_LEN ? 5 : half);
		return false;
	case PEER_STOPS:
		return send_all(fd, packet, len == HEADER_LEN ? 5 : half);
	case PEER_SHORT:
	case PEER_EMPTY:
		len = peer->fault == PEER_EMPTY || len == HEADER_LEN ? HEADER_LEN : HEADER_LEN + (len - HEADER_LEN - 1) / 2;
		for (unsigned i = 0; i < 4; i++)
			packet[i] = (uint8_t)(len >> 8 * (3 - i));
		return send_all(fd, packet, len);
	case PEER_HUGE:
		memcpy(packet, huge, 4);
		return send_all(fd, packet, len);
	case PEER_LARGE:
		memcpy(packet, large, 4);
		return send_all(fd, packet, len);
	case PEER_TINY:
		memcpy(packet, tiny, 4);
		return send_all(fd, packet, len);
	case PEER_MANY:
		memset(packet + HEADER_LEN, 0xff, len - HEADER_LEN);
		return send_all(fd, packet, len);
	case PEER_OTHER_ID:
		packet[7] ^= 1;
		return send_all(fd, packet, len);
	case PEER_REQUEST:
		return send_own(fd, 1, 1, &empty);
	case PEER_DIES:
		send_event(peer, fd, 0, 99, 0, 0);
		return false;
	case PEER_EVENTS:
		while (send_event(peer, fd, 0, 6, 0, MAIN + 1))
			;
		return false;
	case PEER_STOPPING_EVENTS:
		while (send_event(peer, fd, 2, 40, peer->request + 5, MAIN + 1))
			;
		return false;
	case PEER_BAD_EVENT:
		put(&empty, 2, 1);
		put(&empty, 9, 4);
		put_event(peer, &empty, 40, 1, MAIN);
		send_own(fd, 64, 100, &empty);
		free(empty.data);
		return true;
	case PEER_DRIBBLES:
		for (size_t i = 0; i < len; i++) {
			usleep(20000);
			if (!send_all(fd, packet + i, 1))
				return false;
		}
		return true;
	case PEER_RANDOM:
		/* Where the heads and counts are, more often than in the pixels. */
		packet[next_random(peer) % (len < 64 || next_random(peer) % 4 ? (len < 64 ? len : 64) : len)] = (uint8_t)next_random(peer);
		return send_all(fd, packet, len);
	default:
		return send_all(fd, packet, len);
	}
}

/* Reads a command and answers it. False: the end. */
static bool serve(struct peer *peer, int fd)
{
	uint8_t head[HEADER_LEN], in[BODY_MOST];
	if (!receive_all(fd, head, sizeof head))
		return false;
	const size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	if (len < HEADER_LEN || len - HEADER_LEN > sizeof in || head[8]) {
		peer->misused = true;
		return false;
	}
	if (!receive_all(fd, in, len - HEADER_LEN))
		return false;
	const unsigned command = (unsigned)head[9] << 8 | head[10];
	const bool dispose = command == (1 << 8 | 6);
	if (!dispose && peer->commands < PEER_KINDS)
		peer->kinds[peer->commands] = command;
	struct request request = { in, in + len - HEADER_LEN, false };
	struct body body = { NULL, 0, 0, 0 }, packet = { NULL, 0, 0, 0 };
	answer(peer, command, &request, &body);
	if (body.code)
		body.len = 0;
	put(&packet, HEADER_LEN + body.len, 4);
	put_bytes(&packet, head + 4, 4);
	put(&packet, 0x80, 1);
	put(&packet, body.code, 2);
	put_bytes(&packet, body.data ? body.data : (const uint8_t *)"", body.len);
	if (peer->chatty && !dispose) {
		send_own(fd, 199, 1, &body); /* as ART's DDMS */
		send_event(peer, fd, 0, 6, 0, MAIN + 1);
	}
	const bool asked = command == (15 << 8 | 1) && !peer->idle;
	if (asked && peer->chatty)
		enter(peer, fd);
	bool goes_on;
	if (!dispose && peer->fault > PEER_SPEAKS_HTTP && (peer->commands == peer->at || peer->at < 0))
		goes_on = send_wrong(peer, fd, packet.data, packet.len);
	else
		goes_on = send_all(fd, packet.data, packet.len);
	if (asked && !peer->chatty)
		enter(peer, fd);
	free(body.data);
	free(packet.data);
	peer->disposed |= dispose;
	peer->commands += !dispose;
	return goes_on && !dispose;
}

static void *run(void *context)
{
	struct peer *peer = context;
	uint8_t hello[HANDSHAKE_LEN];
	const int on = 1, fd = accept(peer->listener, NULL, NULL);
	if (fd < 0)
		return NULL;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (peer->fault != PEER_HANGS_UP && receive_all(fd, hello, sizeof hello)) {
		if (memcmp(hello, HANDSHAKE, HANDSHAKE_LEN))
			peer->misused = true;
		if (peer->fault == PEER_SPEAKS_HTTP)
			send_all(fd, (const uint8_t *)"HTTP/1.1 400 Bad Request\r\n", 26);
		else if (peer->fault != PEER_SAYS_NOTHING)
			send_all(fd, (const uint8_t *)HANDSHAKE, HANDSHAKE_LEN);
		while (serve(peer, fd))
			;
	}
	close(fd);
	return NULL;
}

void peer_start(struct peer *peer)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;
	peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (peer->listener < 0 || bind(peer->listener, (struct sockaddr *)&address, len) || listen(peer->listener, 1) ||
	    getsockname(peer->listener, (struct sockaddr *)&address, &len) || pthread_create(&peer->thread, NULL, run, peer))
		abort();
	peer->port = ntohs(address.sin_port);
}

void peer_stop(struct peer *peer)
{
	shutdown(peer->listener, SHUT_RDWR); /* if nobody came */
	pthread_join(peer->thread, NULL);
	close(peer->listener);
}
