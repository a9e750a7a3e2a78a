/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: the files that users see, as inode numbers, texts and links. Knows nothing of FUSE.
 *
 * An inode number is an address in the dump: ino = key << 7 | kind. The key is the byte offset of the record,
 * or of the reference's own bytes, that the node shows, in the mapping that holds all dumps; kinds without a record of
 * their own use an ordinal (a class's or a dump's number). So a node needs no table, no allocation and no forgetting. The root is kind 1,
 * key 0.
 *
 * Nothing in the tree ever changes, but for graph/progress.txt. Functions return 0 or an errno value, or TREE_LATER where
 * something must be built first, which has then begun: they never wait; the graph's `changed` tells when to ask again. All
 * are safe to call from many threads. Each kind of node is one row of the table in kinds.c.
 */
#ifndef HEAPFS_TREE_H
#define HEAPFS_TREE_H

#include "graph/graph.h"
#include "loli/loli.h"
#include "tree/text.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define TREE_ROOT 1
#define TREE_LATER GRAPH_LATER

struct tree;

struct tree_options {
	bool links;		/* false leaves out all links, so that following them cannot run in circles */
	bool owner_given, group_given;
	uid_t owner;		/* else the dump file's own */
	gid_t group;
	struct graph_options graph;
	unsigned png_level;	/* 1 to 9: pictures made from raw pixels are compressed; 0: stored */
	bool since_given;	/* a profile is compared with what was held at since_ms */
	int64_t since_ms;
	unsigned skip_root_levels; /* of a profile's stacks, that LoliProfiler's report leaves out */
};

/* The file that is shown. */
struct tree_source {
	const struct input *in;		/* the mapping that the heaps' inputs are, or are views of */
	const char *container;		/* what the dumps came in: "plain file" */
	const struct notes *notes;	/* about that; NULL: none */
	const struct notes *live_notes;	/* about pictures from elsewhere; NULL: none */
	struct loli *profile;		/* NULL, or shown instead of heaps */
	/* What it is compared with, or NULL; of the kind that is shown. */
	struct heap *baseline;
	const struct notes *baseline_notes; /* about what it came in; NULL: none */
	struct loli *baseline_profile;
};

/*
 * Builds the tree over `heap_count` heaps of one file; more than one means a folder dump-1, dump-2, … each, with the
 * process's id behind it where they came in a trace. Those of one HPROF file follow each other. Heaps and notes stay
 * the caller's and must outlive the tree. A native profile is shown where the source has one; there are no heaps then.
 * NULL without memory.
 */
struct tree *tree_open(const struct tree_source *source, struct heap *heaps, unsigned heap_count,
		       const struct tree_options *options);
void tree_close(struct tree *tree);

/*
 * What there was in the baseline and what there is, in bytes: of native profiles what is held, of heap dumps the shallow
 * sizes of all objects. 0, or EIO where there is no baseline, or a file was cut.
 */
int tree_compared(struct tree *tree, uint64_t *before, uint64_t *after);

/* With TREE_LATER all but the size is there. */
int tree_getattr(struct tree *tree, uint64_t ino, struct stat *st);
/* Can tree_getattr() be answered now, without anything being built? A plain listing goes without what cannot. */
bool tree_has_attributes(struct tree *tree, uint64_t ino);
int tree_lookup(struct tree *tree, uint64_t parent, const char *name, uint64_t *ino);
int tree_parent(struct tree *tree, uint64_t ino, uint64_t *parent);
/* Appends the link's target. */
int tree_readlink(struct tree *tree, uint64_t ino, struct text *target);

/*
 * Lists a folder from position `offset` on (0 for the start). `emit` gets each entry with the position to go
 * on from, and returns false when it wants no more. st_mode's type bits are `type`.
 */
typedef bool tree_emit(void *context, const char *name, uint64_t ino, mode_t type, uint64_t next_offset);
int tree_list(struct tree *tree, uint64_t ino, uint64_t offset, tree_emit *emit, void *context);

/*
 * Reads up to `size` bytes at `offset`. Fewer only at the end of the file. For files that are a stretch of the
 * dump itself, *file_offset is where they are in the space of all inputs and nothing is copied (text stays empty, *len
 * tells how many bytes); otherwise *file_offset is UINT64_MAX and the bytes are in text.
 */
int tree_read(struct tree *tree, uint64_t ino, uint64_t offset, size_t size, struct text *text, uint64_t *file_offset,
	      size_t *len);

/* Does this node change, so that nothing of it may be remembered? */
bool tree_changes(uint64_t ino);

void tree_statfs(struct tree *tree, struct statvfs *st);

#endif
