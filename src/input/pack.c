/* SPDX-License-Identifier: Apache-2.0 */
#include "input/pack.h"

#include "input/picture_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Traces pass through buffers that hold packets whole. */
#define CHUNK_BYTES (UINT64_C(4) << 20)
#define SEQUENCE 1
#define CLOCK_REALTIME_ID 1	/* of Perfetto's BuiltinClock */

/* Fields of TracePacket, HprofDump and HprofBitmap; see contrib/perfetto/hprof_dump.proto. */
enum {
	TRACE_PACKET = 1,
	TIMESTAMP = 8,
	SEQUENCE_ID = 10,
	CLOCK_ID = 58,
	FIRST_ON_SEQUENCE = 87,
	HPROF_DUMP = 129,
	HPROF_BITMAP = 2129
};

/* A message while it is put together: its fields, but for one last one whose bytes are elsewhere. */
struct message {
	uint8_t data[512];
	size_t len;
};

static void put_varint(struct message *m, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		m->data[m->len++] = (uint8_t)(value | 0x80);
	m->data[m->len++] = (uint8_t)value;
}

static void put_number(struct message *m, unsigned field, uint64_t value)
{
	put_varint(m, (uint64_t)field << 3);
	put_varint(m, value);
}

/* The head of a field of bytes, which follow. */
static void put_head(struct message *m, unsigned field, uint64_t len)
{
	put_varint(m, (uint64_t)field << 3 | 2);
	put_varint(m, len);
}

static void put_text(struct message *m, unsigned field, const char *text)
{
	const size_t len = strlen(text);
	put_head(m, field, len);
	memcpy(m->data + m->len, text, len);
	m->len += len;
}

/*
 * Writes a packet: its own fields, then field `field`, which is `inner` followed by one more field of bytes, `data`. Those
 * are the larger part, and not copied.
 */
static int write_packet(struct pack *pack, unsigned field, struct message *inner, unsigned bytes_field,
			const void *data, uint64_t len)
{
	struct message packet = { .len = 0 }, head = { .len = 0 };
	put_number(&packet, TIMESTAMP, pack->time);
	put_number(&packet, CLOCK_ID, CLOCK_REALTIME_ID);
	put_number(&packet, SEQUENCE_ID, SEQUENCE);
	if (!pack->started)
		put_number(&packet, FIRST_ON_SEQUENCE, 1);
	pack->started = true;
	put_head(inner, bytes_field, len);
	put_head(&packet, field, inner->len + len);
	put_head(&head, TRACE_PACKET, packet.len + inner->len + len);
	return fwrite(head.data, 1, head.len, pack->out) == head.len &&
			       fwrite(packet.data, 1, packet.len, pack->out) == packet.len &&
			       fwrite(inner->data, 1, inner->len, pack->out) == inner->len &&
			       fwrite(data, 1, (size_t)len, pack->out) == len ?
		       0 :
		       -1;
}

int pack_dump(struct pack *pack, const uint8_t *data, uint64_t size)
{
	const uint64_t chunks = (size + CHUNK_BYTES - 1) / CHUNK_BYTES;
	for (uint64_t i = 0; i < chunks; i++) {
		struct message chunk = { .len = 0 };
		const uint64_t left = size - i * CHUNK_BYTES;
		put_number(&chunk, 1, pack->pid);
		put_number(&chunk, 3, i);
		put_number(&chunk, 4, i == chunks - 1);
		if (write_packet(pack, HPROF_DUMP, &chunk, 2, data + i * CHUNK_BYTES, left < CHUNK_BYTES ? left : CHUNK_BYTES))
			return -1;
	}
	return 0;
}

int pack_picture(struct pack *pack, const char *name, const void *data, uint64_t len)
{
	struct message picture = { .len = 0 };
	if (strlen(name) > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	put_number(&picture, 1, pack->pid);
	put_text(&picture, 2, name);
	return write_packet(pack, HPROF_BITMAP, &picture, 3, data, len);
}

/* 0, 1 for what is no picture, -1 with errno. */
static int write_picture(struct pack *pack, int folder, const char *name)
{
	struct stat st;
	uint8_t *data = NULL;
	const int fd = picture_file_open(folder, name, true, &st);
	int rc = fd < 0 && errno != EINVAL ? -1 : 1;
	if (fd < 0 || (uint64_t)st.st_size > PICTURE_BYTES_MOST || strlen(name) > NAME_MAX)
		goto out;
	rc = -1;
	data = malloc((size_t)st.st_size + 1);
	size_t len = 0;
	while (data && len < (size_t)st.st_size) {
		const ssize_t got = read(fd, data + len, (size_t)st.st_size - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	if (!data || len < (size_t)st.st_size)
		goto out;
	rc = 1;
	if (picture_begins(data, len))
		rc = pack_picture(pack, name, data, len);
out:
	free(data);
	if (fd >= 0)
		close(fd);
	return rc;
}

static bool any_name(const char *name)
{
	return *name != 0;
}

int pack_folder(struct pack *pack, const char *folder, size_t *count, uint64_t *left_out, char *error, size_t error_size)
{
	struct picture_folder list;
	int rc = picture_folder_open(&list, AT_FDCWD, folder, true, any_name);
	*count = 0;
	if (rc)
		snprintf(error, error_size, "%s: %s", folder, strerror(errno));
	for (size_t i = 0; i < list.count && !rc; i++) {
		const int written = write_picture(pack, list.fd, list.names[i]);
		if (written < 0) {
			snprintf(error, error_size, "%s/%s: %s", folder, list.names[i], strerror(errno));
			rc = -1;
		}
		*count += !written;
	}
	*left_out = list.left_out;
	picture_folder_close(&list);
	return rc;
}
