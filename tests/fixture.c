/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEEPEST 64

void guarded_make(struct guarded *g, const void *data, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (len + page - 1) / page * page;
	g->map_len = room + page;
	g->map = mmap(NULL, g->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->map == MAP_FAILED || mprotect((char *)g->map + room, page, PROT_NONE))
		abort();
	g->data = (uint8_t *)g->map + room - len;
	g->len = len;
	if (len)
		memcpy(g->data, data, len);
}

void guarded_free(struct guarded *g)
{
	munmap(g->map, g->map_len);
}

static void open_heaps(struct opened *o, unsigned threads, unsigned most)
{
	static const struct tree_options options = { .links = true };
	const struct heap_options heap_options = { .threads = threads };
	const unsigned dumps = o->hprof.dump_count ? (unsigned)o->hprof.dump_count : 1,
		       count = dumps < most ? dumps : most;
	o->heaps = calloc(count, sizeof *o->heaps);
	if (!o->heaps)
		abort();
	for (; o->heap_count < count; o->heap_count++)
		if (heap_open(&o->heaps[o->heap_count], &o->hprof, o->heap_count, &heap_options))
			abort();
	const struct tree_source source = { .in = &o->in, .container = "plain file" };
	o->tree = tree_open(&source, o->heaps, o->heap_count, &options);
	if (!o->tree)
		abort();
}

int opened_bytes(struct opened *o, const void *data, size_t len, unsigned threads)
{
	return opened_some(o, data, len, threads, UINT32_MAX);
}

int opened_some(struct opened *o, const void *data, size_t len, unsigned threads, unsigned most_dumps)
{
	memset(o, 0, sizeof *o);
	guarded_make(&o->bytes, data, len);
	notes_init(&o->notes);
	o->in.fd = -1;
	o->in.data = o->bytes.data;
	o->in.size = len;
	o->in.st.st_mode = S_IFREG | 0644;
	o->in.st.st_size = (off_t)len;
	o->in.path = strdup("dump.hprof");
	atomic_store(&o->in.good_end, len);
	if (hprof_open(&o->hprof, &o->in, &o->notes, o->error, sizeof o->error))
		return -1;
	open_heaps(o, threads, most_dumps);
	return 0;
}

void opened_writer(struct opened *o, struct writer *w)
{
	if (opened_bytes(o, w->data, w->len, 1)) {
		fprintf(stderr, "fixture: %s\n", o->error);
		abort();
	}
	writer_free(w);
}

void opened_sample(struct opened *o, const char *kind)
{
	struct writer out;
	if (!sample_make(kind, &out))
		abort();
	opened_writer(o, &out);
}

void opened_vm(struct opened *o, struct vm *vm, const char *version)
{
	struct writer out;
	writer_init(&out, vm->heap.id_width);
	vm_finish(vm, version, &out);
	opened_writer(o, &out);
}

void opened_close(struct opened *o)
{
	if (o->tree)
		tree_close(o->tree);
	for (unsigned i = 0; i < o->heap_count; i++)
		heap_close(&o->heaps[i]);
	free(o->heaps);
	if (o->hprof.in)
		hprof_close(&o->hprof);
	notes_free(&o->notes);
	free(o->in.path);
	guarded_free(&o->bytes);
}

const struct note *opened_note(const struct opened *o, const char *kind)
{
	for (size_t i = 0; i < o->notes.count; i++)
		if (!strcmp(o->notes.list[i].kind, kind))
			return &o->notes.list[i];
	return NULL;
}

static bool take_entry(void *context, const char *name, uint64_t ino, mode_t type, uint64_t next)
{
	struct entries *entries = context;
	if (entries->count == entries->capacity) {
		entries->capacity = entries->capacity ? entries->capacity * 2 : 64;
		entries->list = reallocarray(entries->list, entries->capacity, sizeof *entries->list);
		if (!entries->list)
			abort();
	}
	entries->list[entries->count++] = (struct entry){ strdup(name), ino, next, type };
	return !entries->most || entries->count < entries->most;
}

int entries_list(struct entries *entries, struct tree *tree, uint64_t ino, uint64_t offset)
{
	return tree_list(tree, ino, offset, take_entry, entries);
}

void entries_free(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->list[i].name);
	free(entries->list);
	*entries = (struct entries){ NULL, 0, 0, 0 };
}

int read_file(const struct opened *o, uint64_t ino, uint64_t offset, size_t size, struct text *text)
{
	struct text piece = { 0 };
	uint64_t place;
	size_t len;
	int rc = tree_read(o->tree, ino, offset, size, &piece, &place, &len);
	if (!rc && place != UINT64_MAX) {
		/* Past the end of the file there is nothing to copy, wherever that is. */
		const uint8_t *p = len ? input_at(&o->in, place, len) : NULL;
		if (p)
			text_put(text, p, len);
		else if (len)
			rc = EIO;
	} else if (!rc) {
		text_put(text, piece.data, piece.len);
		rc = piece.len == len ? 0 : EPROTO;
	}
	text_free(&piece);
	return rc;
}

bool resolve(struct tree *tree, const uint64_t *above, size_t depth, const char *path, size_t len, uint64_t *ino)
{
	uint64_t stack[DEEPEST];
	char name[256];
	if (!depth || depth > DEEPEST)
		return false;
	memcpy(stack, above, depth * sizeof *stack);
	while (len) {
		const char *slash = memchr(path, '/', len);
		const size_t part = slash ? (size_t)(slash - path) : len;
		if (!part || part >= sizeof name)
			return false;
		memcpy(name, path, part);
		name[part] = 0;
		if (!strcmp(name, "..")) {
			if (--depth == 0)
				return false;
		} else if (depth == DEEPEST || tree_lookup(tree, stack[depth - 1], name, &stack[depth])) {
			return false;
		} else {
			depth++;
		}
		path += part + (slash != NULL);
		len -= part + (slash != NULL);
	}
	*ino = stack[depth - 1];
	return true;
}
