/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs-pack: puts a heap dump and its pictures into one Perfetto trace. */
#include "input/container.h"
#include "input/picture_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 2
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

struct packer {
	FILE *out;
	const char *path;
	uint64_t time;		/* in ns, of all packets */
	uint32_t pid;
	bool started;		/* a packet was written */
};

/*
 * Writes a packet: its own fields, then field `field`, which is `inner` followed by one more field of bytes, `data`. Those
 * are the larger part, and not copied.
 */
static int write_packet(struct packer *packer, unsigned field, struct message *inner, unsigned bytes_field,
			const void *data, uint64_t len)
{
	struct message packet = { .len = 0 }, head = { .len = 0 };
	put_number(&packet, TIMESTAMP, packer->time);
	put_number(&packet, CLOCK_ID, CLOCK_REALTIME_ID);
	put_number(&packet, SEQUENCE_ID, SEQUENCE);
	if (!packer->started)
		put_number(&packet, FIRST_ON_SEQUENCE, 1);
	packer->started = true;
	put_head(inner, bytes_field, len);
	put_head(&packet, field, inner->len + len);
	put_head(&head, TRACE_PACKET, packet.len + inner->len + len);
	return fwrite(head.data, 1, head.len, packer->out) == head.len &&
			       fwrite(packet.data, 1, packet.len, packer->out) == packet.len &&
			       fwrite(inner->data, 1, inner->len, packer->out) == inner->len &&
			       fwrite(data, 1, (size_t)len, packer->out) == len ?
		       0 :
		       -1;
}

static int write_dump(struct packer *packer, const struct input *in)
{
	const uint64_t chunks = (in->size + CHUNK_BYTES - 1) / CHUNK_BYTES;
	for (uint64_t i = 0; i < chunks; i++) {
		struct message chunk = { .len = 0 };
		const uint64_t left = in->size - i * CHUNK_BYTES;
		put_number(&chunk, 1, packer->pid);
		put_number(&chunk, 3, i);
		put_number(&chunk, 4, i == chunks - 1);
		if (write_packet(packer, HPROF_DUMP, &chunk, 2, in->data + i * CHUNK_BYTES,
				 left < CHUNK_BYTES ? left : CHUNK_BYTES))
			return -1;
	}
	return 0;
}

/* --- pictures --- */

/* 0, 1 for what is no picture, -1 with errno. */
static int write_picture(struct packer *packer, int folder, const char *name)
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
	if (picture_begins(data, len)) {
		struct message picture = { .len = 0 };
		put_number(&picture, 1, packer->pid);
		put_text(&picture, 2, name);
		rc = write_packet(packer, HPROF_BITMAP, &picture, 3, data, len);
	}
out:
	free(data);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Those that came with the dump, where it is in a trace already. */
static int write_own_pictures(struct packer *packer, const struct container *container, const struct trace_dump *dump)
{
	for (size_t i = 0; dump && i < dump->picture_count; i++) {
		const struct trace_picture *own = &dump->pictures[i];
		struct message picture = { .len = 0 };
		char name[NAME_MAX + 1];
		snprintf(name, sizeof name, "%s", own->name);
		put_number(&picture, 1, packer->pid);
		put_text(&picture, 2, name);
		if (write_packet(packer, HPROF_BITMAP, &picture, 3, container->in.data + own->offset, own->len))
			return -1;
	}
	return 0;
}

static bool any_name(const char *name)
{
	return *name != 0;
}

/* All pictures of a folder, in the order of their names, so that the same folder always gives the same trace. */
static int write_pictures(struct packer *packer, const char *folder)
{
	struct picture_folder list;
	int pictures = 0, rc = picture_folder_open(&list, AT_FDCWD, folder, true, any_name);
	if (rc)
		fprintf(stderr, "heapfs-pack: %s: %s\n", folder, strerror(errno));
	for (size_t i = 0; i < list.count && !rc; i++) {
		const int written = write_picture(packer, list.fd, list.names[i]);
		if (written < 0) {
			fprintf(stderr, "heapfs-pack: %s/%s: %s\n", folder, list.names[i], strerror(errno));
			rc = -1;
		}
		pictures += !written;
	}
	if (list.left_out)
		fprintf(stderr, "heapfs-pack: %s: more than %d files; the rest is left out\n", folder, PICTURES_MOST);
	picture_folder_close(&list);
	if (!rc && !pictures)
		fprintf(stderr, "heapfs-pack: %s: no PNG, JPEG or WebP in this folder\n", folder);
	return rc;
}

/* --- the command --- */

static void print_help(FILE *out)
{
	fputs("usage: heapfs-pack DUMP [--bitmaps DIR] [--pid N] -o OUT.pftrace\n"
	      "\n"
	      "Writes a Perfetto trace that carries a heap dump and its pictures, as one file.\n"
	      "heapfs mounts it like the dump itself.\n"
	      "\n"
	      "  -b, --bitmaps DIR   pictures (PNG, JPEG, WebP) to go with it, named after native\n"
	      "                      pointers: 0x7b3c00aa10.png\n"
	      "  -p, --pid N         id of the process (0)\n"
	      "  -o, --output FILE   the trace; must not be there yet\n"
	      "  -h, --help          this text\n"
	      "  -V, --version       version of heapfs\n",
	      out);
}

struct arguments {
	const char *dump, *bitmaps, *output;
	uint32_t pid;
};

/* 0 to go on, else exit with this status less one. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = { { "bitmaps", required_argument, NULL, 'b' },
						 { "pid", required_argument, NULL, 'p' },
						 { "output", required_argument, NULL, 'o' },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };
	int option;
	while ((option = getopt_long(argc, argv, "b:p:o:hV", options, NULL)) >= 0) {
		char *end;
		unsigned long pid;
		switch (option) {
		case 'b':
			arguments->bitmaps = optarg;
			break;
		case 'o':
			arguments->output = optarg;
			break;
		case 'p':
			pid = strtoul(optarg, &end, 10);
			if (*optarg < '0' || *optarg > '9' || *end || pid > INT32_MAX) {
				fprintf(stderr, "heapfs-pack: --pid %s: must be a process's id\n", optarg);
				return 1 + EXIT_USAGE;
			}
			arguments->pid = (uint32_t)pid;
			break;
		case 'h':
			print_help(stdout);
			return 1 + EXIT_SUCCESS;
		case 'V':
			printf("heapfs-pack %s\n", PACKAGE_VERSION);
			return 1 + EXIT_SUCCESS;
		default:
			fputs("heapfs-pack: see heapfs-pack --help\n", stderr);
			return 1 + EXIT_USAGE;
		}
	}
	arguments->dump = optind < argc ? argv[optind] : NULL;
	if (optind + 1 != argc || !arguments->output) {
		fprintf(stderr, "heapfs-pack: %s; see heapfs-pack --help\n",
			optind >= argc ? "which dump?" : optind + 1 < argc ? "too many arguments" : "where to write to (-o)?");
		return 1 + EXIT_USAGE;
	}
	return 0;
}

static int pack(const struct arguments *arguments, const struct container *container)
{
	const struct input *in = part_input(container, &container->parts[0]);
	struct packer packer = { .path = arguments->output, .pid = arguments->pid };
	packer.time = (uint64_t)in->st.st_mtim.tv_sec * 1000000000 + (uint64_t)in->st.st_mtim.tv_nsec;
	const uint64_t epoch = input_begin();
	packer.out = fopen(arguments->output, "wxe");
	if (!packer.out) {
		fprintf(stderr, "heapfs-pack: %s: %s\n", arguments->output, strerror(errno));
		return -1;
	}
	int rc = write_dump(&packer, in);
	if (!rc)
		rc = write_own_pictures(&packer, container, container->parts[0].dump);
	const int error = errno;
	bool said = false;
	if (!rc && arguments->bitmaps) {
		rc = write_pictures(&packer, arguments->bitmaps);
		said = rc != 0;
	}
	const bool closed = !fclose(packer.out);
	if (!input_unharmed((struct input *)(uintptr_t)&container->in, epoch)) {
		fprintf(stderr, "heapfs-pack: %s: the file was changed while it was being read\n", arguments->dump);
		rc = -1;
	} else if ((rc || !closed) && !said) {
		fprintf(stderr, "heapfs-pack: %s: %s\n", arguments->output, strerror(rc ? error : errno));
		rc = -1;
	}
	if (rc)
		unlink(arguments->output);
	return rc;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .dump = NULL };
	const struct container_options options = { .threads = 2 };
	struct container container;
	char error[PATH_MAX + 512], line[512];
	const int parsed = parse(argc, argv, &arguments);
	if (parsed)
		return parsed - 1;
	int rc = container_open(&container, arguments.dump, &options, error, sizeof error);
	if (rc) {
		fprintf(stderr, "heapfs-pack: %s\n", error);
	} else if (container.part_count != 1) {
		fprintf(stderr, "heapfs-pack: %s: holds %zu dumps; a dump is wanted\n", arguments.dump, container.part_count);
		rc = -1;
	} else if (container.parts[0].dump && container.parts[0].dump->graph) {
		fprintf(stderr, "heapfs-pack: %s: a heap graph, which no other trace can carry as a dump\n", arguments.dump);
		rc = -1;
	} else {
		for (size_t i = 0; i < container.notes.count; i++)
			fprintf(stderr, "heapfs-pack: %s: %s\n", arguments.dump,
				note_format(&container.notes.list[i], line, sizeof line));
		rc = pack(&arguments, &container);
	}
	container_close(&container);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
