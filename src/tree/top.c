/* SPDX-License-Identifier: Apache-2.0 */
/* The top folder: README.txt, the dump's own bytes, and a folder a dump where there are several. */
#include "tree/node.h"

#include <inttypes.h>
#include <stdio.h>

/* The HPROF file's bytes: in a trace, those of one dump. */
bool raw_bytes(const struct node *file, uint64_t *offset, uint64_t *len)
{
	*offset = 0;
	*len = file->heap->in->size;
	return true;
}

bool has_smaps(const struct node *node)
{
	const struct trace_dump *traced = node->heap->hprof->traced;
	return traced && traced->smaps_len;
}

bool smaps_bytes(const struct node *file, uint64_t *offset, uint64_t *len)
{
	const struct trace_dump *traced = file->heap->hprof->traced;
	if (!has_smaps(file))
		return false;
	*offset = traced->smaps - file->heap->in->start;
	*len = traced->smaps_len;
	return true;
}

bool is_one_file(const struct node *node)
{
	return !node->tree->several_files && !node->tree->source.profile;
}

bool is_of_several_files(const struct node *node)
{
	return node->tree->several_files;
}

void put_dump_name(struct text *text, const struct heap *heap)
{
	text_printf(text, "dump-%u", heap->number + 1);
	if (heap->hprof->traced)
		text_printf(text, "-pid%" PRIu32, heap->hprof->traced->pid);
}

void list_dumps(const struct node *folder, uint64_t from, struct listing *listing)
{
	const unsigned count = folder->tree->dump_count;
	if (folder->tree->source.profile) {
		list_profile(folder, from, listing);
		return;
	}
	for (uint64_t i = from; count > 1 && i < count && !listing->full; i++) {
		struct text name = { 0 };
		put_dump_name(&name, folder->tree->dumps[i].heap);
		listing_emit(listing, KIND_DUMP, i, &name, i + 1);
		text_free(&name);
	}
}

bool lookup_dump(const struct node *folder, const char *name, struct node *child)
{
	uint64_t number;
	struct text own = { 0 };
	if (folder->tree->source.profile)
		return lookup_profile(folder, name, child);
	if (folder->tree->dump_count < 2 || strncmp(name, "dump-", 5) ||
	    !name_parse_decimal(name + 5, strcspn(name + 5, "-"), 0, &number) || !number || number > folder->tree->dump_count)
		return false;
	put_dump_name(&own, folder->tree->dumps[number - 1].heap);
	const bool same = own.len == strlen(name) && !memcmp(own.data, name, own.len);
	text_free(&own);
	*child = node_make(folder, KIND_DUMP, number - 1);
	return same;
}

bool up_dump(const struct node *folder, struct node *parent)
{
	*parent = node_make(folder, KIND_ROOT, 0);
	return true;
}

static const char readme[] =
	"A heap dump as files, mounted by heapfs. Everything is read-only.\n"
	"\n"
	"info.txt          the file, the VM or device, counts, and every warning\n"
	"raw.hprof         the dump itself\n"
	"classes.tsv       a line a class, most bytes first\n"
	"classes/          class.txt, instances.tsv, links to superclass, subclasses, statics\n"
	"instances/        <id>.txt for each object of a class, and a link to its folder\n"
	"objects/          an object's folder is objects/<id>: its text, its fields as links,\n"
	"                  value.txt (a String), data.bin (a primitive array),\n"
	"                  entries.tsv (a HashMap, an ArrayList and the like)\n"
	"collections/      collections.tsv, a line a collection, emptiest first\n"
	"strings/          strings.tsv, a line a java.lang.String\n"
	"bitmaps/          Android: pictures; bitmaps.tsv has a line a Bitmap, and why one has none\n"
	"duplicates/       equal texts, arrays and pictures, most wasted bytes first\n"
	"system/           system properties and environment, one key=value a line\n"
	"roots/            what the VM itself holds\n"
	"threads/          stack.txt of each thread, and links to what its frames hold\n"
	"graph/            what holds what: objects/<id>/ has retained.txt, path-to-root.txt and\n"
	"                  referrers.tsv; dominators/ is for du; built when first asked for\n"
	"\n"
	"Try, from this folder:\n"
	"  head -20 classes.tsv | column -ts \"$(printf '\\t')\"     what fills the heap\n"
	"  cat classes/java.lang.Thread/class.txt                  a class, its fields and statics\n"
	"  ls instances/java.lang.Thread                           its instances\n"
	"  du -ab graph/dominators | sort -rn | head               what keeps most memory alive\n"
	"  grep -r 'name: object = .*main' instances/java.lang.Thread\n"
	"  grep -i password strings/strings.tsv                    text on the heap\n"
	"  cp bitmaps/*.png /tmp                                   the pictures of an Android dump\n"
	"\n"
	"Three traps:\n"
	"- Search with grep -r, never -R, and copy with cp -r, never -L: links make a graph with\n"
	"  circles, and following them never ends. Mount with -o links=no to have none.\n"
	"- du shows memory only in graph/dominators/; elsewhere, sizes of files.\n"
	"- Programs without 64-bit inode numbers see nothing of this.\n"
	"\n"
	"A big class's instances lie in folders of 2048, named after their first one's rank.\n"
	"To unmount: fusermount3 -u <this folder>\n";

static void write_readme(const struct node *node, uint64_t first, struct pages *pages)
{
	if (first)
		return;
	if (node->tree->dump_count > 1)
		text_printf(&pages->text, "This file holds %u heap dumps; what follows is in each of the folders dump-*.\n\n",
			    node->tree->dump_count);
	if (node->tree->baseline)
		text_puts(&pages->text, "diff/ has what has changed since the baseline: info.txt says how the two were compared,\n"
					"classes.tsv what grew, new/ and removed/ have the objects.\n\n");
	if (node->tree->source.profile)
		put_profile_readme(&pages->text);
	else
		text_puts(&pages->text, readme);
	pages_next(pages);
}

const struct pages_ops readme_pages = { .step = 1, .write = write_readme };
