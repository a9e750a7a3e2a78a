/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_container: any bytes as a file, opened for the dumps in it, whose tree is walked. Beyond what the sanitizers see: a
 * file gives dumps or a message, dumps and pictures lie within what was unpacked, and the tree keeps its promises (walk.h).
 * Then the same file is opened for its pictures alone.
 *
 * Seeds: small traces and heap graphs, and gzip files of tests/mksample's small kinds. Run with -max_len=65536, and with TMPDIR set to a
 * folder in memory, where the file is written to and unpacked.
 */
#include "walk.h"

#include "input/container.h"
#include "input/elsewhere.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DUMPS 3			/* of which the trees are made */
#define NODES 300		/* looked at in all */

static void promise(bool kept, const char *what)
{
	if (kept)
		return;
	fprintf(stderr, "fuzz_container: %s\n", what);
	abort();
}

/* Reads all of it, so that the sanitizers and the mapping have their say. */
static uint8_t sum_of(const uint8_t *data, uint64_t len)
{
	uint8_t sum = 0;
	for (uint64_t i = 0; i < len; i++)
		sum ^= data[i];
	return sum;
}

static void make_tree(const struct container *container, struct hprof *hprofs, unsigned count)
{
	static const struct tree_options options = { .links = true };
	static const struct heap_options heap_options = { .threads = 1 };
	struct heap heaps[DUMPS];
	for (unsigned i = 0; i < count; i++)
		promise(!heap_open(&heaps[i], &hprofs[i], 0, &heap_options), "no memory");
	const struct tree_source source = { .in = &container->in, .container = container->description,
					    .notes = &container->notes };
	struct tree *tree = tree_open(&source, heaps, count, &options);
	promise(tree, "no tree");
	struct opened o = { .tree = tree };
	o.in.data = container->in.data;
	o.in.size = container->in.size;
	atomic_store(&o.in.good_end, container->in.size);
	walk_tree(&o, NODES);
	tree_close(tree);
	for (unsigned i = 0; i < count; i++)
		heap_close(&heaps[i]);
}

static void look_at_profile(struct container *container)
{
	static const struct tree_options options = { .links = true };
	static const struct loli_options loli_options = { .containing = true };
	struct notes notes;
	struct loli loli;
	char error[8192] = "";
	notes_init(&notes);
	if (!loli_open(&loli, &container->in, &notes, &loli_options, error, sizeof error)) {
		const struct tree_source source = { .in = &container->in, .container = container->description,
						    .notes = &container->notes, .profile = &loli };
		struct tree *tree = tree_open(&source, NULL, 0, &options);
		promise(tree, "no tree");
		struct opened o = { .tree = tree };
		o.in.data = container->in.data;
		o.in.size = container->in.size;
		atomic_store(&o.in.good_end, container->in.size);
		walk_tree(&o, NODES);
		tree_close(tree);
	} else {
		promise(*error, "neither a profile nor a message");
	}
	loli_close(&loli);
	notes_free(&notes);
}

static void look_at(const struct container *container)
{
	struct hprof hprofs[DUMPS];
	struct notes notes[DUMPS];
	unsigned count = 0;
	char error[8192];
	promise(container->part_count && container->description, "no dump, and no message");
	for (size_t i = 0; i < container->part_count; i++) {
		const struct part *part = &container->parts[i];
		const struct input *in = part_input(container, part);
		const struct trace_dump *dump = part->dump;
		promise(in->size >= 16 && !memcmp(in->data, "JAVA PROFILE 1.0", 16), "a dump that is none");
		promise(in->data >= container->in.data && in->size <= container->in.size &&
				(uint64_t)(in->data - container->in.data) <= container->in.size - in->size,
			"a dump outside of the file");
		sum_of(in->data, in->size);
		for (size_t j = 0; dump && j < dump->picture_count; j++) {
			promise(dump->pictures[j].name && dump->pictures[j].offset <= container->in.size &&
					dump->pictures[j].len <= container->in.size - dump->pictures[j].offset,
				"a picture outside of the file");
		}
		if (count == DUMPS)
			continue;
		notes_init(&notes[count]);
		if (hprof_open(&hprofs[count], in, &notes[count], error, sizeof error)) {
			notes_free(&notes[count]);
			continue;
		}
		hprofs[count++].traced = dump;
	}
	if (count)
		make_tree(container, hprofs, count);
	for (unsigned i = 0; i < count; i++) {
		hprof_close(&hprofs[i]);
		notes_free(&notes[i]);
	}
}

/* The same file as one of pictures, of which each can be read. */
static void look_for_pictures(const char *file)
{
	const struct elsewhere_options options = { .paths = &file, .path_count = 1, .threads = 1 };
	struct elsewhere elsewhere;
	struct elsewhere_file picture;
	char error[8192] = "";
	const int rc = elsewhere_open(&elsewhere, &options, error, sizeof error);
	promise(!rc || *error, "neither pictures nor a message");
	for (uint32_t i = 0; !rc && i < elsewhere.picture_count; i++) {
		promise(elsewhere_file_open(&picture, &elsewhere, i) == ELSEWHERE_READABLE, "a picture that cannot be opened");
		uint8_t *bytes = malloc((size_t)picture.len + 1);
		promise(bytes, "no memory");
		if (elsewhere_file_read(&picture, 0, (size_t)picture.len, bytes))
			sum_of(bytes, picture.len);
		else
			promise(elsewhere.pictures[i].packed, "a picture that cannot be read");
		free(bytes);
		promise(elsewhere_file_close(&picture), "a picture that was changed");
	}
	elsewhere_close(&elsewhere);
}

static void remove_file(void);
static char path[4096];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *folder = getenv("TMPDIR");
	const struct container_options options = { .tmpdir = folder && *folder ? folder : "/tmp", .threads = 1 };
	struct container container;
	char error[8192] = "";
	if (!*path) {
		snprintf(path, sizeof path, "%s/heapfs-fuzz.%ld", options.tmpdir, (long)getpid());
		atexit(remove_file);
	}
	FILE *file = fopen(path, "wb");
	promise(file && fwrite(data, 1, size, file) == size && !fclose(file), "the file cannot be written");
	if (container_open(&container, path, &options, error, sizeof error))
		promise(strlen(error) > strlen(path) + 10, "neither a dump nor a message");
	else if (container.loli)
		look_at_profile(&container);
	else
		look_at(&container);
	container_close(&container);
	look_for_pictures(path);
	return 0;
}

static void remove_file(void)
{
	unlink(path);
}
