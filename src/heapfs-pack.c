/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs-pack: puts a heap dump and its pictures into one Perfetto trace. */
#include "input/container.h"
#include "input/pack.h"
#include "input/picture_folder.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2

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

/* Those that came with the dump, where it is in a trace already. */
static int pack_own_pictures(struct pack *pack, const struct container *container, const struct trace_dump *dump)
{
	for (size_t i = 0; dump && i < dump->picture_count; i++) {
		const struct trace_picture *own = &dump->pictures[i];
		char name[NAME_MAX + 1];
		snprintf(name, sizeof name, "%s", own->name);
		if (pack_picture(pack, name, container->in.data + own->offset, own->len))
			return -1;
	}
	return 0;
}

/* 0, or -1 after a message. */
static int pack_pictures(struct pack *pack, const char *folder)
{
	char error[PATH_MAX + 512];
	uint64_t left_out;
	size_t count;
	const int rc = pack_folder(pack, folder, &count, &left_out, error, sizeof error);
	if (rc)
		fprintf(stderr, "heapfs-pack: %s\n", error);
	else if (!count)
		fprintf(stderr, "heapfs-pack: %s: no PNG, JPEG or WebP in this folder\n", folder);
	if (!rc && left_out)
		fprintf(stderr, "heapfs-pack: %s: more than %d files; the rest is left out\n", folder, PICTURES_MOST);
	return rc;
}

static int pack_all(const struct arguments *arguments, const struct container *container)
{
	const struct input *in = part_input(container, &container->parts[0]);
	struct pack pack = { .pid = arguments->pid };
	pack.time = (uint64_t)in->st.st_mtim.tv_sec * 1000000000 + (uint64_t)in->st.st_mtim.tv_nsec;
	const uint64_t epoch = input_begin();
	pack.out = fopen(arguments->output, "wxe");
	if (!pack.out) {
		fprintf(stderr, "heapfs-pack: %s: %s\n", arguments->output, strerror(errno));
		return -1;
	}
	int rc = pack_dump(&pack, in->data, in->size);
	if (!rc)
		rc = pack_own_pictures(&pack, container, container->parts[0].dump);
	const int error = errno;
	bool said = false;
	if (!rc && arguments->bitmaps) {
		rc = pack_pictures(&pack, arguments->bitmaps);
		said = rc != 0;
	}
	const bool closed = !fclose(pack.out);
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
		rc = pack_all(&arguments, &container);
	}
	container_close(&container);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
