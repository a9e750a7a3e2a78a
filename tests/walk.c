/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 60		/* looked at in one folder */
#define FILE_BYTES (1 << 20)	/* read of one file */
#define DEEPEST 16

struct walk {
	const struct opened *o;
	uint64_t above[DEEPEST];
	size_t depth;
	unsigned left;
};

static void promise(bool kept, const char *what, const char *name)
{
	if (kept)
		return;
	fprintf(stderr, "walk: %s: %s\n", name, what);
	abort();
}

static void read_all(struct walk *w, const struct entry *entry, const struct stat *st)
{
	struct text all = { 0 }, part = { 0 };
	const size_t size = (size_t)st->st_size, most = size < FILE_BYTES ? size + 1 : FILE_BYTES;
	promise(!read_file(w->o, entry->ino, 0, most, &all), "cannot be read", entry->name);
	promise(all.len == (size < most ? size : most), "another size than it says", entry->name);
	if (all.len > 2) {
		promise(!read_file(w->o, entry->ino, all.len / 2, all.len / 3, &part) && part.len == all.len / 3 &&
				!memcmp(part.data, all.data + all.len / 2, part.len),
			"a part differs from the whole", entry->name);
	}
	text_free(&all);
	text_free(&part);
}

static void follow(struct walk *w, const struct entry *entry, const struct stat *st)
{
	struct text target = { 0 };
	uint64_t ino;
	promise(!tree_readlink(w->o->tree, entry->ino, &target) && target.len == (size_t)st->st_size,
		"a target of another length", entry->name);
	promise(resolve(w->o->tree, w->above, w->depth, target.data, target.len, &ino), "leads nowhere", entry->name);
	text_free(&target);
}

static void walk_folder(struct walk *w, uint64_t ino)
{
	struct entries entries = { .most = ENTRIES };
	if (w->depth == DEEPEST)
		return;
	w->above[w->depth++] = ino;
	promise(!entries_list(&entries, w->o->tree, ino, 0), "cannot be listed", "a folder");
	for (size_t i = 2; i < entries.count && w->left; i++) {
		const struct entry *entry = &entries.list[i];
		struct stat st;
		uint64_t found;
		w->left--;
		promise(!tree_lookup(w->o->tree, ino, entry->name, &found) && found == entry->ino,
			"listed, but not found", entry->name);
		promise(!tree_getattr(w->o->tree, entry->ino, &st) && (st.st_mode & S_IFMT) == entry->type,
			"other attributes than listed", entry->name);
		if (S_ISDIR(entry->type))
			walk_folder(w, entry->ino);
		else if (S_ISLNK(entry->type))
			follow(w, entry, &st);
		else
			read_all(w, entry, &st);
	}
	entries_free(&entries);
	w->depth--;
}

void walk_tree(const struct opened *o, unsigned nodes)
{
	struct walk w = { .o = o, .left = nodes };
	walk_folder(&w, TREE_ROOT);
}
