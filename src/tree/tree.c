/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/node.h"

#include "tree/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Positions in a listing: ".", "..", then the rows with a name, then what the folder's `list` counts. */
#define AT_DOT 1
#define AT_DOTDOT 2
#define AT_NAMED 3
#define AT_DYNAMIC 256

static uint64_t node_ino(const struct node *node)
{
	const uint64_t base = kinds[node->kind].key == KEY_OFFSET ? node->heap->in->base : 0;
	return (node->key + base) << KIND_BITS | node->kind;
}

/* The dump that a class number, counted over all dumps, belongs to. */
static struct tree_dump *dump_of_class(struct tree *tree, uint64_t number)
{
	for (unsigned i = tree->dump_count + (tree->baseline != NULL); i-- > 0;)
		if (number >= tree->dumps[i].first_class)
			return number - tree->dumps[i].first_class < tree->dumps[i].heap->class_count ? &tree->dumps[i] :
													NULL;
	return NULL;
}

static struct tree_dump *dump_of_key(struct tree *tree, enum key_type type, uint64_t key)
{
	switch (type) {
	case KEY_ROOTS_PART:
		key >>= PART_BITS;
		/* fall through */
	case KEY_ROOTS:
		key >>= 8;
		return key < tree->dump_count ? &tree->dumps[key] : NULL;
	case KEY_DUMP_PART:
		key >>= PART_BITS;
		/* fall through */
	case KEY_DUMP:
		return key < tree->dump_count ? &tree->dumps[key] : NULL;
	case KEY_CLASS_PART:
		key >>= PART_BITS;
		/* fall through */
	case KEY_CLASS:
		return dump_of_class(tree, key);
	case KEY_DIFF:
		return tree->baseline ? tree->dumps : NULL;
	case KEY_PROFILE:
		return NULL;
	case KEY_OFFSET:
		for (unsigned i = 0; i < tree->dump_count + (tree->baseline != NULL); i++) {
			const struct heap *heap = tree->dumps[i].heap;
			if (key >= heap->in->base + heap->first_offset && key < heap->in->base + heap->end_offset)
				return &tree->dumps[i];
		}
	}
	return NULL;
}

/* Any 64 bits may come from the kernel's file handles; what names no node is refused. */
static int node_from_ino(struct tree *tree, uint64_t ino, struct node *node)
{
	const unsigned kind = ino & ((1u << KIND_BITS) - 1);
	const uint64_t key = ino >> KIND_BITS;
	if (kind >= KIND_COUNT || !kinds[kind].type)
		return ESTALE;
	if (tree->source.profile) {
		*node = (struct node){ tree, NULL, key, (enum kind)kind };
		return kinds[kind].key == KEY_PROFILE || (!key && kind <= KIND_INFO && kind != KIND_DUMP) ? 0 : ESTALE;
	}
	const struct tree_dump *dump = dump_of_key(tree, kinds[kind].key, key);
	/* Of the baseline only what diff/removed/ shows has a place in the tree. */
	if (!dump || (dump == tree->baseline) != (kind == KIND_DIFF_TEXT) || (kind == KIND_DIFF_LINK && !tree->baseline) ||
	    (kinds[kind].key == KEY_DIFF && !is_diff_key((enum kind)kind, key)))
		return ESTALE;
	*node = (struct node){ tree, dump->heap, key, (enum kind)kind };
	if (kinds[kind].key == KEY_OFFSET)
		node->key -= dump->heap->in->base;
	return 0;
}

const struct class *node_class(const struct node *node)
{
	const uint64_t number = kinds[node->kind].key == KEY_CLASS_PART ? node->key >> PART_BITS : node->key;
	return &node->heap->classes[number - node_dump(node)->first_class];
}

uint64_t class_key(const struct node *like, const struct class *class)
{
	return node_dump(like)->first_class + class_number(like->heap, class);
}

const char *class_file_name(const struct node *like, const struct class *class)
{
	return node_dump(like)->file_names[class_number(like->heap, class)];
}

/* Digits of the number of the last part's first entry. */
static unsigned part_width(uint64_t count)
{
	char digits[24];
	return (unsigned)snprintf(digits, sizeof digits, "%" PRIu64, count ? (count - 1) / SPLIT * SPLIT : 0);
}

void part_name(struct text *text, uint64_t part, uint64_t count)
{
	text_printf(text, "%0*" PRIu64, (int)part_width(count), part * SPLIT);
}

bool part_parse(const char *name, uint64_t count, uint64_t *part)
{
	uint64_t first;
	if (!name_parse_decimal(name, strlen(name), part_width(count), &first) || first % SPLIT || first >= count)
		return false;
	*part = first / SPLIT;
	return true;
}

bool in_dump(const struct heap *heap, uint64_t id)
{
	struct found found;
	return id && (class_find(heap, id) || index_find(&heap->scan.index, id, &found));
}

bool target_class(const struct node *like, const struct class *class, struct text *text)
{
	text_puts(text, "classes/");
	text_puts(text, class_file_name(like, class));
	return true;
}

bool target_object(const struct node *like, uint64_t id, struct text *text)
{
	struct found found;
	const struct class *class = class_find(like->heap, id);
	if (class)
		return target_class(like, class, text);
	if (!id || !index_find(&like->heap->scan.index, id, &found))
		return false;
	text_printf(text, "objects/%" PRIx64 "/%x/0x%" PRIx64, id >> 28, (unsigned)(id >> 16 & 0xfff), id);
	return true;
}

bool target_reference(const struct node *link, struct text *text)
{
	const uint8_t *p = input_at(link->heap->in, link->key, link->heap->id_width);
	return p && target_object(link, read_id(p, link->heap->id_width), text);
}

static bool is_shown(const struct node *node)
{
	const struct kind_row *row = &kinds[node->kind];
	if (row->type == S_IFLNK && !node->tree->options.links)
		return false;
	return !row->exists || row->exists(node);
}

/* Does a row with a name belong into this folder? In a file of one dump the root is that dump's folder too. */
static bool belongs_to(const struct kind_row *row, const struct node *folder)
{
	if (!row->name)
		return false;
	return row->parent == folder->kind ||
	       (folder->kind == KIND_ROOT && row->parent == KIND_DUMP && folder->tree->dump_count == 1);
}

static int read_link(const struct node *node, struct text *text)
{
	for (unsigned i = 0; i < kinds[node->kind].depth; i++)
		text_put(text, "../", 3);
	if (!kinds[node->kind].target(node, text))
		return ENOENT;
	return text->failed ? ENOMEM : 0;
}

/* Is there what the node is made from? 0, TREE_LATER or an errno value. */
static int node_ready(const struct node *node)
{
	const struct kind_row *row = &kinds[node->kind];
	struct job *job = row->job ? row->job(node) : NULL;
	if (job)
		return job_need(job);
	return row->needs ? graph_need(node_dump(node)->graph, row->needs) : 0;
}

/* The bytes of a node, and the blocks that they take. */
static int node_size(const struct node *node, uint64_t *size, uint64_t *blocks)
{
	const struct kind_row *row = &kinds[node->kind];
	struct text text = { 0 };
	uint64_t offset;
	int rc;
	*blocks = UINT64_MAX; /* as many as the size needs */
	switch (row->type) {
	case S_IFDIR:
		*size = row->room ? 0 : 4096;
		return 0;
	case S_IFLNK:
		rc = read_link(node, &text);
		*size = text.len;
		text_free(&text);
		return rc;
	default:
		rc = node_ready(node);
		if (rc)
			return rc;
		if (row->bytes)
			return row->bytes(node, &offset, size) ? 0 : EIO;
		if (row->room)
			return row->room(node, size, blocks) ? 0 : EIO;
		if (row->made)
			return row->made->size(node, size) ? 0 : EIO;
		return pages_size(&node->tree->cache, node_ino(node), row->pages, node, size);
	}
}

int tree_getattr(struct tree *tree, uint64_t ino, struct stat *st)
{
	struct node node;
	uint64_t size, blocks;
	int rc = node_from_ino(tree, ino, &node);
	if (!rc)
		rc = node_size(&node, &size, &blocks);
	if (rc == TREE_LATER)
		size = 0;
	else if (rc)
		return rc;
	const mode_t type = kinds[node.kind].type;
	*st = (struct stat){ .st_ino = ino, .st_nlink = 1, .st_size = (off_t)size };
	st->st_mode = type | (type == S_IFLNK ? 0777 : type == S_IFDIR ? tree->mode | tree->mode >> 2 : tree->mode);
	st->st_blocks = type == S_IFLNK ? 0 : (blkcnt_t)(blocks != UINT64_MAX ? blocks : (size + 511) / 512);
	st->st_blksize = 4096;
	st->st_uid = tree->owner;
	st->st_gid = tree->group;
	st->st_mtim = st->st_atim = st->st_ctim = tree->time;
	if (rc)
		return rc;
	return !kinds[node.kind].attributes || kinds[node.kind].attributes(&node, st) ? 0 : EIO;
}

bool tree_has_attributes(struct tree *tree, uint64_t ino)
{
	struct node node;
	if (node_from_ino(tree, ino, &node))
		return false;
	const struct kind_row *row = &kinds[node.kind];
	if (row->type != S_IFREG)
		return true;
	const struct job *job = row->job ? row->job(&node) : NULL;
	return job ? job_done(job) : !node.heap || graph_has(node_dump(&node)->graph, row->needs);
}

int tree_readlink(struct tree *tree, uint64_t ino, struct text *target)
{
	struct node node;
	const int rc = node_from_ino(tree, ino, &node);
	if (rc)
		return rc;
	return kinds[node.kind].type == S_IFLNK ? read_link(&node, target) : EINVAL;
}

static int node_parent(const struct node *node, struct node *parent)
{
	const struct kind_row *row = &kinds[node->kind];
	*parent = *node;
	if (row->type != S_IFDIR)
		return ENOTDIR;
	if (row->up) {
		const int rc = node_ready(node);
		return rc ? rc : row->up(node, parent) ? 0 : EIO;
	}
	if (node->kind != KIND_ROOT) {
		parent->kind = row->parent;
		if (row->parent == KIND_DUMP && node->tree->dump_count == 1)
			parent->kind = KIND_ROOT;
	}
	return 0;
}

int tree_parent(struct tree *tree, uint64_t ino, uint64_t *parent_ino)
{
	struct node node, parent;
	int rc = node_from_ino(tree, ino, &node);
	if (!rc)
		rc = node_parent(&node, &parent);
	if (!rc)
		*parent_ino = node_ino(&parent);
	return rc;
}

int tree_lookup(struct tree *tree, uint64_t parent, const char *name, uint64_t *ino)
{
	struct node folder, child;
	int rc = node_from_ino(tree, parent, &folder);
	if (rc)
		return rc;
	if (kinds[folder.kind].type != S_IFDIR)
		return ENOTDIR;
	if (strlen(name) > NAME_MOST)
		return ENAMETOOLONG;
	for (unsigned kind = 0; kind < KIND_COUNT; kind++)
		if (belongs_to(&kinds[kind], &folder) && !strcmp(kinds[kind].name, name)) {
			child = node_make(&folder, (enum kind)kind, folder.key);
			if (!is_shown(&child))
				continue;
			*ino = node_ino(&child);
			return 0;
		}
	rc = node_ready(&folder);
	if (rc)
		return rc;
	if (!kinds[folder.kind].lookup || !kinds[folder.kind].lookup(&folder, name, &child) ||
	    (kinds[child.kind].type == S_IFLNK && !tree->options.links))
		return ENOENT;
	*ino = node_ino(&child);
	return 0;
}

bool listing_emit(struct listing *listing, enum kind kind, uint64_t key, const struct text *name, uint64_t next)
{
	char buf[NAME_MOST + 1];
	if (listing->full)
		return false;
	if (name->failed || name->len > NAME_MOST || (kinds[kind].type == S_IFLNK && !listing->tree->options.links))
		return true;
	memcpy(buf, name->data, name->len);
	buf[name->len] = 0;
	if (kinds[kind].key == KEY_OFFSET)
		key += listing->base;
	listing->full = !listing->emit(listing->context, buf, key << KIND_BITS | kind, kinds[kind].type,
				       AT_DYNAMIC + next);
	return !listing->full;
}

int tree_list(struct tree *tree, uint64_t ino, uint64_t offset, tree_emit *emit, void *context)
{
	struct node folder, parent;
	int rc = node_from_ino(tree, ino, &folder);
	if (!rc && kinds[folder.kind].type != S_IFDIR)
		rc = ENOTDIR;
	if (!rc)
		rc = node_ready(&folder);
	if (!rc && offset < AT_DOTDOT)
		rc = node_parent(&folder, &parent);
	if (rc)
		return rc;
	if (offset < AT_DOT && !emit(context, ".", ino, S_IFDIR, AT_DOT))
		return 0;
	if (offset < AT_DOTDOT && !emit(context, "..", node_ino(&parent), S_IFDIR, AT_DOTDOT))
		return 0;
	/* The position behind row k is AT_NAMED + k. */
	for (unsigned kind = 1; kind < KIND_COUNT; kind++) {
		if (AT_NAMED + kind <= offset || !belongs_to(&kinds[kind], &folder))
			continue;
		const struct node child = node_make(&folder, (enum kind)kind, folder.key);
		if (is_shown(&child) && !emit(context, kinds[kind].name, node_ino(&child), kinds[kind].type, AT_NAMED + kind))
			return 0;
	}
	struct listing listing = { tree, folder.heap ? folder.heap->in->base : 0, emit, context, false };
	if (kinds[folder.kind].list)
		kinds[folder.kind].list(&folder, offset > AT_DYNAMIC ? offset - AT_DYNAMIC : 0, &listing);
	return 0;
}

/* Bytes that are made, or NUL where there only is room. */
static int read_made(const struct node *node, uint64_t offset, size_t size, struct text *text)
{
	const struct kind_row *row = &kinds[node->kind];
	uint64_t total, blocks;
	if (!(row->room ? row->room(node, &total, &blocks) : row->made->size(node, &total)))
		return EIO;
	const uint64_t left = offset < total ? total - offset : 0;
	const size_t len = size < left ? size : (size_t)left;
	if (!text_reserve(text, len + 1))
		return ENOMEM;
	text->len = len;
	if (row->room)
		memset(text->data, 0, len);
	return !len || row->room || row->made->read(node, offset, len, text->data) ? 0 : EIO;
}

int tree_read(struct tree *tree, uint64_t ino, uint64_t offset, size_t size, struct text *text, uint64_t *file_offset,
	      size_t *len)
{
	struct node node;
	int rc = node_from_ino(tree, ino, &node);
	*file_offset = UINT64_MAX;
	*len = 0;
	if (rc)
		return rc;
	const struct kind_row *row = &kinds[node.kind];
	if (row->type != S_IFREG)
		return row->type == S_IFDIR ? EISDIR : EINVAL;
	rc = node_ready(&node);
	if (rc)
		return rc;
	if (row->bytes) {
		uint64_t start, total;
		if (!row->bytes(&node, &start, &total))
			return EIO;
		const uint64_t left = offset < total ? total - offset : 0;
		*len = size < left ? size : (size_t)left;
		*file_offset = (node.heap ? node.heap->in->base : 0) + start + offset;
		return 0;
	}
	const int failed = row->made || row->room ? read_made(&node, offset, size, text) :
				       pages_read(&tree->cache, ino, row->pages, &node, offset, size, text);
	*len = text->len;
	return failed;
}

bool tree_changes(uint64_t ino)
{
	const unsigned kind = ino & ((1u << KIND_BITS) - 1);
	return kind < KIND_COUNT && kinds[kind].changes;
}

void tree_statfs(struct tree *tree, struct statvfs *st)
{
	uint64_t nodes = 1;
	for (unsigned i = 0; i < tree->dump_count; i++)
		nodes += tree->dumps[i].heap->scan.index.object_count + tree->dumps[i].heap->class_count;
	*st = (struct statvfs){ .f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MOST };
	st->f_blocks = (tree->source.in->size + 4095) / 4096;
	st->f_files = nodes;
	st->f_flag = ST_RDONLY | ST_NOSUID | ST_NODEV;
}

/* --- building --- */

static const struct tree_dump *sorting; /* qsort has no context; trees are opened one after another */

static int compare_names(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(sorting->file_names[x], sorting->file_names[y]);
	return order ? order : x < y ? -1 : x > y;
}

static int compare_sizes(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t sx = sorting->heap->classes[x].shallow, sy = sorting->heap->classes[y].shallow;
	return sx != sy ? (sx > sy ? -1 : 1) : compare_names(a, b);
}

static char *file_name(const struct class *class, bool with_id)
{
	struct text text = { 0 };
	/* "@0x" and 16 digits must fit behind the name. */
	name_escape(&text, class->name, with_id ? NAME_MOST - 19 : NAME_MOST, false);
	if (with_id)
		text_printf(&text, "@0x%" PRIx64, class->id);
	text_putc(&text, 0);
	if (text.failed)
		text_free(&text);
	return text.data;
}

/* Names the classes' folders. Classes of one name get their id behind it. */
static int name_classes(struct tree_dump *dump)
{
	const uint32_t count = dump->heap->class_count;
	dump->file_names = calloc(count + 1, sizeof *dump->file_names);
	dump->by_name = malloc((count + 1) * sizeof *dump->by_name);
	dump->by_size = malloc((count + 1) * sizeof *dump->by_size);
	if (!dump->file_names || !dump->by_name || !dump->by_size)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		dump->by_name[i] = dump->by_size[i] = i;
		dump->file_names[i] = file_name(&dump->heap->classes[i], false);
		if (!dump->file_names[i])
			return -1;
	}
	sorting = dump;
	/* A second round for a class that is really called "Name@0x123". */
	for (bool again = true; again;) {
		again = false;
		qsort(dump->by_name, count, sizeof *dump->by_name, compare_names);
		for (uint32_t i = 0; i + 1 < count;) {
			uint32_t end = i + 1;
			while (end < count && !strcmp(dump->file_names[dump->by_name[i]], dump->file_names[dump->by_name[end]]))
				end++;
			for (uint32_t j = i; end > i + 1 && j < end; j++) {
				const uint32_t number = dump->by_name[j];
				char *name = file_name(&dump->heap->classes[number], true);
				if (!name)
					return -1;
				again |= strcmp(name, dump->file_names[number]) != 0;
				free(dump->file_names[number]);
				dump->file_names[number] = name;
			}
			i = end;
		}
	}
	qsort(dump->by_size, count, sizeof *dump->by_size, compare_sizes);
	return 0;
}

/* False without memory; it may be closed in both cases. */
static bool open_tree_dump(struct tree_dump *dump, struct heap *heap, uint64_t first_class,
			   const struct tree_options *options)
{
	dump->heap = heap;
	dump->first_class = first_class;
	dump->bitmap_class = bitmap_class(heap);
	path_cache_init(&dump->paths);
	dump->graph = graph_open(heap, &options->graph);
	dump->duplicates = duplicates_open(heap, &options->graph);
	return dump->graph && dump->duplicates && !name_classes(dump);
}

struct tree *tree_open(const struct tree_source *source, struct heap *heaps, unsigned heap_count,
		       const struct tree_options *options)
{
	const struct stat *st = &source->in->st;
	const uint64_t time_ms = heap_count ? heaps[0].hprof->time_ms : 0;
	struct tree *tree = calloc(1, sizeof *tree);
	if (!tree)
		return NULL;
	tree->source = *source;
	tree->options = *options;
	tree->mode = st->st_mode & 0444;
	tree->owner = options->owner_given ? options->owner : st->st_uid;
	tree->group = options->group_given ? options->group : st->st_gid;
	tree->time = st->st_mtim;
	/* The file's own time where the writer did not know its, or wrote what no clock shows. */
	if (time_ms && time_ms / 1000 < INT32_MAX * UINT64_C(8))
		tree->time = (struct timespec){ (time_t)(time_ms / 1000), (long)(time_ms % 1000) * 1000000 };
	pages_cache_init(&tree->cache);
	encoded_cache_init(&tree->encoded);
	walk_cache_init(&tree->walks);
	tree->dumps = calloc((size_t)heap_count + 1, sizeof *tree->dumps);
	if (!tree->dumps) {
		tree_close(tree);
		return NULL;
	}
	uint64_t first_class = 0;
	for (unsigned i = 0; i < heap_count + (source->baseline != NULL); i++) {
		struct heap *heap = i < heap_count ? &heaps[i] : source->baseline;
		heap->number = i;
		if (i < heap_count) {
			tree->several_files |= heap->hprof != heaps[0].hprof;
			tree->dump_count = i + 1;
		} else {
			tree->baseline = &tree->dumps[i];
		}
		if (!open_tree_dump(&tree->dumps[i], heap, first_class, options)) {
			tree_close(tree);
			return NULL;
		}
		first_class += heap->class_count;
	}
	if (tree->baseline && !diff_view_open(tree)) {
		tree_close(tree);
		return NULL;
	}
	if (source->profile)
		profile_init(tree);
	return tree;
}

static void close_tree_dump(struct tree_dump *dump)
{
	for (uint32_t j = 0; dump->file_names && j < dump->heap->class_count; j++)
		free(dump->file_names[j]);
	free(dump->file_names);
	free(dump->by_name);
	free(dump->by_size);
	bitmaps_close(atomic_load(&dump->bitmaps));
	graph_close(dump->graph);
	natives_close(atomic_load(&dump->natives));
	leaks_close(atomic_load(&dump->leaks));
	if (dump->heap)
		path_cache_free(&dump->paths);
	collection_lines_free(atomic_load(&dump->collections));
}

void tree_close(struct tree *tree)
{
	/* A thread that has done its job for one dump answers requests, which may ask for a job of another's. */
	if (tree->source.profile)
		profile_stop(tree);
	const unsigned count = tree->dump_count + (tree->baseline != NULL);
	for (unsigned i = 0; i < count; i++)
		duplicates_cancel(tree->dumps[i].duplicates);
	diff_view_cancel(tree);
	for (unsigned i = 0; i < count; i++)
		duplicates_join(tree->dumps[i].duplicates);
	diff_view_join(tree);
	for (unsigned i = 0; i < count; i++)
		close_tree_dump(&tree->dumps[i]);
	for (unsigned i = 0; i < count; i++)
		duplicates_close(tree->dumps[i].duplicates);
	diff_view_close(tree);
	free(tree->dumps);
	profile_view_close(atomic_load(&tree->profile_view));
	pages_cache_free(&tree->cache);
	encoded_cache_free(&tree->encoded);
	walk_cache_free(&tree->walks);
	free(tree);
}
