/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node: what the parts of the tree share. Internal to src/tree.
 *
 * A kind of node is one row of `kinds`. A row with a name is an entry of every folder of its parent kind, with
 * the folder's own key; rows without one are found by the folder's `list` and `lookup`. To add a kind of
 * file, add its enumerator at the end and its row.
 */
#ifndef HEAPFS_NODE_H
#define HEAPFS_NODE_H

#include "android/bitmap.h"
#include "android/native.h"
#include "graph/duplicates.h"
#include "graph/graph.h"
#include "tree/name.h"
#include "tree/pages.h"
#include "tree/tree.h"

#include <errno.h>

/* Folders hold up to this many entries; what has more is split into folders of this many. */
#define SPLIT 2048

/* Part of every inode number: never renumber. */
enum kind {
	KIND_NONE,
	KIND_ROOT = TREE_ROOT,
	KIND_DUMP,
	KIND_README,
	KIND_INFO,
	KIND_RAW,
	KIND_CLASSES_TSV,
	KIND_CLASSES,
	KIND_CLASS,
	KIND_CLASS_TXT,
	KIND_INSTANCES_TSV,
	KIND_SUPER,
	KIND_CLASS_INSTANCES,
	KIND_LOADER,
	KIND_SUBCLASSES,
	KIND_SUBCLASS_BUCKET,
	KIND_SUBCLASS,
	KIND_BUCKET_SUBCLASS,
	KIND_STATICS,
	KIND_STATIC_BUCKET,
	KIND_STATIC,
	KIND_BUCKET_STATIC,
	KIND_INSTANCES,
	KIND_CLASS_OBJECTS,
	KIND_INSTANCE_BUCKET,
	KIND_INSTANCE_TXT,
	KIND_INSTANCE,
	KIND_BUCKET_INSTANCE,
	KIND_OBJECTS,
	KIND_OBJECTS_HIGH,
	KIND_OBJECTS_LOW,
	KIND_OBJECT,
	KIND_OBJECT_TXT,
	KIND_VALUE_TXT,
	KIND_DATA_BIN,
	KIND_OBJECT_CLASS,
	KIND_REFERENCE,
	KIND_REFERENCE_BUCKET,
	KIND_BUCKET_REFERENCE,
	KIND_OBJECT_BY_ID,
	KIND_CLASS_OBJECT,
	KIND_STRINGS,
	KIND_STRINGS_TSV,
	KIND_ROOTS,
	KIND_ROOT_TAG,
	KIND_ROOT_BUCKET,
	KIND_ROOT_LINK,
	KIND_BUCKET_ROOT_LINK,
	KIND_BITMAPS_TSV,
	KIND_BITMAPS,
	KIND_BITMAP,
	KIND_BITMAP_MADE,
	KIND_WHY_EMPTY,
	KIND_BITMAP_OBJECTS,
	KIND_BITMAP_OBJECT,
	KIND_REFUSED_FOLDER,
	KIND_REFUSED,
	KIND_ORPHANS,
	KIND_ORPHAN,
	KIND_OBJECT_PNG,
	KIND_OBJECT_JPG,
	KIND_OBJECT_WEBP,
	KIND_DUPLICATES,
	KIND_DUPLICATE_BITMAPS,
	KIND_DUMP_INFO,
	KIND_DUMP_RAW,
	KIND_TRACE_PICTURES,
	KIND_TRACE_PICTURE,
	KIND_SMAPS,
	KIND_GRAPH,
	KIND_GRAPH_SUMMARY,
	KIND_GRAPH_PROGRESS,
	KIND_GRAPH_CLASSES,
	KIND_UNREACHABLE,
	KIND_DOMINATORS_TSV,
	KIND_GRAPH_OBJECTS,
	KIND_GRAPH_OBJECT,
	KIND_OBJECT_GRAPH,
	KIND_CLASS_GRAPH,
	KIND_RETAINED,
	KIND_PATHS,
	KIND_REFERRERS_TSV,
	KIND_REFERRERS,
	KIND_REFERRER_BUCKET,
	KIND_REFERRER,
	KIND_BUCKET_REFERRER,
	KIND_DOMINATORS,
	KIND_DOMINATOR,
	KIND_DOMINATOR_FILE,
	KIND_DOMINATOR_SELF,
	KIND_DOMINATOR_REST,
	KIND_DOMINATORS_REST,
	KIND_LEAKS,
	KIND_ENTRIES,
	KIND_COLLECTIONS,
	KIND_COLLECTIONS_TSV,
	KIND_DUPLICATE_STRINGS,
	KIND_DUPLICATE_ARRAYS,
	KIND_SYSTEM,
	KIND_SYSTEM_PROPERTIES,
	KIND_ENVIRONMENT,
	KIND_THREADS,
	KIND_THREAD_PART,
	KIND_THREAD,
	KIND_THREAD_STACK,
	KIND_THREAD_OBJECT,
	KIND_THREAD_FRAMES,
	KIND_FRAME_PART,
	KIND_FRAME,
	KIND_THREAD_LOCALS,
	KIND_LOCAL_PART,
	KIND_LOCAL,
	KIND_PROFILE_RAW,
	KIND_PROFILE_TABLE,
	KIND_CALLSTACKS,
	KIND_CALLSTACK,
	KIND_CALLSTACK_FILE,
	KIND_SCREENSHOTS,
	KIND_SCREENSHOT,
	/* diff/ of heap dumps; of native profiles. */
	KIND_DIFF,
	KIND_DIFF_FILE,
	KIND_DIFF_FOLDER,
	KIND_DIFF_TEXT,
	KIND_DIFF_LINK,
	KIND_PROFILE_DIFF,
	KIND_COUNT
};
#define KIND_BITS 7

/* What a key is, and so which heap it belongs to. */
enum key_type {
	KEY_DUMP,	/* number of the dump */
	KEY_DUMP_PART,	/* number of the dump << 21 | number of a part of it */
	KEY_OFFSET,	/* byte offset in the dump's own file; in an inode number, in the mapping of all */
	KEY_CLASS,	/* class number, counted over all dumps */
	KEY_CLASS_PART,	/* class number << 21 | number of a part of it */
	KEY_ROOTS,	/* dump number << 8 | root tag */
	KEY_ROOTS_PART,	/* the same << 21 | number of a part */
	KEY_DIFF,	/* an ordinal of a comparison with a baseline, of which there is one */
	KEY_PROFILE	/* an ordinal of a native profile, of which there is one, without heaps */
};
#define PART_BITS 21
#define PART_MASK ((UINT64_C(1) << PART_BITS) - 1)

struct node {
	struct tree *tree;
	const struct heap *heap; /* NULL in the tree of a native profile */
	uint64_t key;
	enum kind kind;
};

/* Where dynamic entries of a folder go while it is listed. */
struct listing {
	struct tree *tree;
	uint64_t base;		/* of the folder's dump in the mapping of all */
	tree_emit *emit;
	void *context;
	bool full;
};

/* Hands on one entry; `next` is the dynamic position behind it. False when the reader wants no more. */
bool listing_emit(struct listing *listing, enum kind kind, uint64_t key, const struct text *name, uint64_t next);

/* Files whose bytes are made when they are read, from any place on. False where that cannot be done. */
struct made_ops {
	bool (*size)(const struct node *file, uint64_t *size);
	/* Bytes that are in the file. */
	bool (*read)(const struct node *file, uint64_t from, size_t len, void *out);
};

struct kind_row {
	mode_t type;		/* S_IFDIR, S_IFREG or S_IFLNK */
	enum key_type key;
	const char *name;	/* of an entry that all folders of kind `parent` have */
	enum kind parent;
	bool (*exists)(const struct node *node);	/* of a row with a name; NULL: always */
	/* Folders: dynamic entries from a position on; one by name; the folder that a folder is in, where its
	   key is not its parent's. */
	void (*list)(const struct node *folder, uint64_t from, struct listing *listing);
	bool (*lookup)(const struct node *folder, const char *name, struct node *child);
	bool (*up)(const struct node *folder, struct node *parent);
	/* Links: how many folders up the dump's own folder is, and the way down from there. */
	unsigned depth;
	bool (*target)(const struct node *link, struct text *text);
	/* Files: text in numbered pieces, a stretch of the dump, or bytes made. */
	const struct pages_ops *pages;
	bool (*bytes)(const struct node *file, uint64_t *offset, uint64_t *len);
	const struct made_ops *made;
	/* How much of the graph a file, or a folder's entries, are made from: until that is there, TREE_LATER. */
	enum graph_stage needs;
	/* Instead: what must be done before a file, or a folder's entries, can be made; until it is, TREE_LATER. NULL of
	   a node that needs nothing. */
	struct job *(*job)(const struct node *node);
	/* A tree for du: a folder has no size, a file is so many NUL bytes and takes so many blocks. */
	bool (*room)(const struct node *file, uint64_t *size, uint64_t *blocks);
	/* Attributes that are not those of all files and folders. */
	bool (*attributes)(const struct node *node, struct stat *st);
	bool changes;		/* the one that does: nothing of it is to be remembered */
};
extern const struct kind_row kinds[KIND_COUNT];

/* The paths that were asked for last. See paths.c. */
struct path_cache {
	pthread_mutex_t lock;
	struct paths *last;
};
void path_cache_init(struct path_cache *cache);
void path_cache_free(struct path_cache *cache);

struct tree_dump {
	struct heap *heap;
	uint64_t first_class;	/* number of its first class, over all dumps */
	char **file_names;	/* of its classes, by class number */
	uint32_t *by_name;	/* class numbers by file name */
	uint32_t *by_size;	/* class numbers, most shallow bytes first */
	const struct class *bitmap_class; /* or NULL */
	struct bitmaps *_Atomic bitmaps; /* made at first use */
	struct graph *graph;
	struct duplicates *duplicates;
	struct natives *_Atomic natives; /* made at first use */
	struct leaks *_Atomic leaks;
	struct path_cache paths;
	struct collection_lines *_Atomic collections; /* made at first use */
};

/* Compressed pictures. See bitmaps.c. */
#define ENCODED_KEPT 8
struct encoded_cache {
	pthread_mutex_t lock;
	uint64_t clock;
	struct encoded {
		uint8_t *data;
		size_t len;
		uint64_t place;		/* of the Bitmap object in the mapping, of which a dump may be a part */
		uint64_t used;		/* when, by the clock */
	} kept[ENCODED_KEPT];
};
void encoded_cache_init(struct encoded_cache *cache);
void encoded_cache_free(struct encoded_cache *cache);

/* Walks over collections, where reads of their entries ended. See collections.c. */
#define WALKS_KEPT 16
struct walk_cache {
	pthread_mutex_t lock;
	uint64_t clock;
	struct kept_walk {
		const struct heap *heap;
		uint64_t key;		/* of the entries' node */
		uint64_t epoch;		/* of the input */
		uint64_t used;		/* when, by the clock */
		struct collection_walk *walk;
	} kept[WALKS_KEPT];
};
void walk_cache_init(struct walk_cache *cache);
void walk_cache_free(struct walk_cache *cache);

struct tree {
	struct tree_source source;
	bool several_files;	/* the dumps are of more than one HPROF file */
	struct tree_options options;
	struct tree_dump *dumps;
	unsigned dump_count;	/* that are shown; the baseline stands behind them */
	struct tree_dump *baseline; /* or NULL */
	struct diff_view *diff;	/* with that; or NULL */
	mode_t mode;		/* of files: the dump file's bits for reading */
	uid_t owner;
	gid_t group;
	struct timespec time;
	struct pages_cache cache;
	struct encoded_cache encoded;
	struct walk_cache walks;
	struct profile_view *_Atomic profile_view; /* made by the job, where there is a profile */
	struct job profile_job;
	/* Of a profile with a baseline; made by the jobs. */
	struct report *_Atomic report;
	struct profile_changes *_Atomic profile_changes;
	struct job report_job, changes_job;
};

static inline struct node node_make(const struct node *like, enum kind kind, uint64_t key)
{
	return (struct node){ like->tree, like->heap, key, kind };
}

static inline struct tree_dump *node_dump(const struct node *node)
{
	return &node->tree->dumps[node->heap->number];
}

/* Class keys. The class of a KEY_CLASS node; of a KEY_CLASS_PART node with its part. */
const struct class *node_class(const struct node *node);
uint64_t class_key(const struct node *like, const struct class *class);
const char *class_file_name(const struct node *like, const struct class *class);

/* "05120" for entry 5120 of a folder with `count` entries; and back, to the part's number. */
void part_name(struct text *text, uint64_t part, uint64_t count);
bool part_parse(const char *name, uint64_t count, uint64_t *part);

/* The way from the dump's folder down to an object's, or a class's, folder; false if it is not in the dump. */
bool target_object(const struct node *like, uint64_t id, struct text *text);
bool target_class(const struct node *like, const struct class *class, struct text *text);
/* The id of the object or class object whose record is at the node's key. */
bool record_id(const struct node *node, uint64_t *id);
/* Where the record of an object or class object is. */
bool object_offset(const struct heap *heap, uint64_t id, uint64_t *offset);
/* Whether target_object() would find it. */
bool in_dump(const struct heap *heap, uint64_t id);

/* The target of a link whose key is where a reference's own bytes are. */
bool target_reference(const struct node *link, struct text *text);

/*
 * The members of a class or of an instance, in the order of the dump, with what makes their names unique: a
 * field hidden by a subclass's is name@<id of its class>; obfuscators give one class two fields of one name,
 * and the second is name@<id>@2.
 */
struct member {
	struct name name;
	uint64_t class_id;	/* of the declaring class */
	uint64_t at;		/* of its value: in the instance's data; for statics in the file */
	uint32_t same, same_class; /* members of this name before it; those of its own class */
	uint8_t type;
};
struct members {
	struct member *list;
	size_t count;
	bool own_names;		/* the names are the list's to free */
};
/* All fields of an instance of `class`. False without memory. */
bool members_of_instance(const struct heap *heap, const struct class *class, struct members *members);
bool members_of_statics(const struct heap *heap, const struct class *class, struct members *members);
/* Drops all but the references. */
void members_keep_references(struct members *members);
void members_free(struct members *members);
void member_file_name(struct text *text, const struct member *member);
/* The same for a column's head. */
void member_title(struct text *text, const struct member *member);

/* --- operations that the table names, by file --- */

/* info.c */
extern const struct pages_ops info_pages;

/* diff.c */
bool has_baseline(const struct node *node);
/* False without memory; it may be closed in both cases. The rest may be called without a baseline, too. */
bool diff_view_open(struct tree *tree);
void diff_view_cancel(struct tree *tree);
void diff_view_join(struct tree *tree);
void diff_view_close(struct tree *tree);
struct job *diff_file_job(const struct node *node), *diff_folder_job(const struct node *node);
void list_diff(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_diff(const struct node *folder, const char *name, struct node *child);
void list_diff_folder(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_diff_folder(const struct node *folder, const char *name, struct node *child);
bool up_diff_folder(const struct node *folder, struct node *parent);
/* Is it a key of this kind? Of folders, what there is of is known only when they are looked into. */
bool is_diff_key(enum kind kind, uint64_t key);
bool target_diff_link(const struct node *link, struct text *text);

/* diff_tables.c */
extern const struct pages_ops diff_pages;

/* top.c */
extern const struct pages_ops readme_pages;
bool raw_bytes(const struct node *file, uint64_t *offset, uint64_t *len);
bool has_smaps(const struct node *node), smaps_bytes(const struct node *file, uint64_t *offset, uint64_t *len);
bool is_one_file(const struct node *node), is_of_several_files(const struct node *node);
void put_dump_name(struct text *text, const struct heap *heap);
void list_dumps(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_dump(const struct node *folder, const char *name, struct node *child);
bool up_dump(const struct node *folder, struct node *parent);

/* classes.c */
extern const struct pages_ops class_pages;
void list_classes(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_class(const struct node *folder, const char *name, struct node *child);
bool up_class(const struct node *folder, struct node *parent);
bool has_super(const struct node *node), has_instances(const struct node *node), has_loader(const struct node *node);
bool target_super(const struct node *link, struct text *text);
bool target_instances(const struct node *link, struct text *text);
bool target_loader(const struct node *link, struct text *text);
void list_subclasses(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_subclass(const struct node *folder, const char *name, struct node *child);
bool target_own_class(const struct node *link, struct text *text);
void list_statics(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_static(const struct node *folder, const char *name, struct node *child);
bool up_part(const struct node *folder, struct node *parent);

/* tables.c */
extern const struct pages_ops classes_pages, instances_pages, strings_pages;

/* instances.c */
void list_instance_classes(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_instance_class(const struct node *folder, const char *name, struct node *child);
void list_instances(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_instance(const struct node *folder, const char *name, struct node *child);

/* objects.c */
extern const struct pages_ops object_pages, value_pages;
void list_objects(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_objects(const struct node *folder, const char *name, struct node *child);
void list_objects_high(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_objects_high(const struct node *folder, const char *name, struct node *child);
void list_objects_low(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_objects_low(const struct node *folder, const char *name, struct node *child);
bool up_objects_high(const struct node *folder, struct node *parent);
bool up_objects_low(const struct node *folder, struct node *parent);
bool up_object(const struct node *folder, struct node *parent);
bool target_object_itself(const struct node *link, struct text *text);
bool target_object_class(const struct node *link, struct text *text);
bool is_string(const struct node *node), has_data(const struct node *node);
bool data_bytes(const struct node *file, uint64_t *offset, uint64_t *len);

/* graph.c */
extern const struct pages_ops summary_pages, graph_classes_pages, unreachable_pages, largest_pages;
extern const struct made_ops progress_made;
bool progress_attributes(const struct node *file, struct stat *st);
struct graph *node_graph(const struct node *node);
/* NULL without memory. */
const struct natives *node_natives(const struct node *node);

/* held.c */
extern const struct pages_ops retained_pages, referrers_pages;
void put_class_of(struct text *text, const struct heap *heap, uint64_t id);
/* The object of a KEY_OFFSET node, and its number in the graph. */
bool subject_of(const struct node *node, uint64_t *id, uint32_t *number);
/*
 * Calls `each` for the references by which an object or class object refers to another, with the place of their bytes in the
 * file, the field's name or "[element]" (not NUL-terminated), and whether they hold it: a java.lang.ref.Reference's referent
 * does not. `each` returns false when it wants no more. False without memory.
 */
typedef bool reference_fn(void *context, uint64_t offset, const char *label, size_t len, bool holds);
bool each_reference(const struct heap *heap, uint64_t owner, uint64_t wanted, reference_fn *each, void *context);
bool lookup_graph_object(const struct node *folder, const char *name, struct node *child);
bool up_graph_object(const struct node *folder, struct node *parent);
bool target_object_graph(const struct node *link, struct text *text);
bool target_class_graph(const struct node *link, struct text *text);
bool is_dumped_class(const struct node *node);
void list_referrers(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_referrer(const struct node *folder, const char *name, struct node *child);
bool up_referrer_bucket(const struct node *folder, struct node *parent);
bool target_referrer(const struct node *link, struct text *text);

/* paths.c */
extern const struct pages_ops path_pages;
/* The shortest way from a root, in one cell of a table. */
void put_short_path(struct text *text, const struct node *file, uint32_t node);

/* leaks.c */
extern const struct pages_ops leaks_pages;
void leaks_close(struct leaks *leaks);

/* dominators.c */
bool dominator_room(const struct node *file, uint64_t *size, uint64_t *blocks);
void list_dominators(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_dominator(const struct node *folder, const char *name, struct node *child);
bool up_dominator(const struct node *folder, struct node *parent);

/* profile.c */
struct job *profile_job(const struct node *node); /* NULL where there is no profile */
bool has_profile(const struct node *node);
void list_profile(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_profile(const struct node *folder, const char *name, struct node *child);
bool profile_raw_bytes(const struct node *file, uint64_t *offset, uint64_t *len);
void list_screenshots(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_screenshot(const struct node *folder, const char *name, struct node *child);
bool screenshot_bytes(const struct node *file, uint64_t *offset, uint64_t *len);

/* profile_info.c */
void put_profile_readme(struct text *text);
void put_profile_info(const struct node *node, struct text *text);

/* profile_tables.c */
extern const struct pages_ops profile_pages;
struct job *profile_table_job(const struct node *node);

/* profile_diff.c */
bool has_profile_baseline(const struct node *node);
struct job *profile_changes_job(const struct node *node);
void list_profile_diff(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_profile_diff(const struct node *folder, const char *name, struct node *child);

/* callstacks.c */
struct job *callstack_job(const struct node *node);
bool callstack_room(const struct node *file, uint64_t *size, uint64_t *blocks);
void list_callstacks(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_callstack(const struct node *folder, const char *name, struct node *child);
bool up_callstack(const struct node *folder, struct node *parent);

/* references.c */
void list_references(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_reference(const struct node *folder, const char *name, struct node *child);
bool up_reference_bucket(const struct node *folder, struct node *parent);

/* bitmaps.c */
extern const struct made_ops bitmap_made, trace_picture_made;
/* NULL where they cannot be told: the request then fails. */
const struct bitmaps *node_bitmaps(const struct node *node);
/* The name in bitmaps/ of one that has a picture. */
void bitmap_file_name(struct text *text, const struct bitmap *bitmap);
bool shows_bitmaps(const struct node *node), has_pictures(const struct node *node);
bool has_no_pictures(const struct node *node), has_refused(const struct node *node), has_orphans(const struct node *node);
bool has_png(const struct node *node), has_jpg(const struct node *node), has_webp(const struct node *node);
void list_bitmaps(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_bitmap(const struct node *folder, const char *name, struct node *child);
void list_pictures(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_picture(const struct node *folder, const char *name, struct node *child);
bool target_bitmap(const struct node *link, struct text *text);
bool bitmap_bytes(const struct node *file, uint64_t *offset, uint64_t *len);
void list_trace_pictures(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_trace_picture(const struct node *folder, const char *name, struct node *child);
bool has_trace_pictures(const struct node *node);
bool picture_bytes(const struct node *file, uint64_t *offset, uint64_t *len);

/* bitmap_tables.c */
const char *layout_name(unsigned layout); /* "-" for one that is not known */
extern const struct pages_ops bitmaps_pages, duplicate_bitmaps_pages, why_pages;

/* collections.c */
extern const struct pages_ops entries_pages, collections_pages;
bool has_entries(const struct node *node), shows_collections(const struct node *node);
void collection_lines_free(struct collection_lines *lines);
/* duplicate_tables.c */
extern const struct pages_ops duplicate_strings_pages, duplicate_arrays_pages;
struct job *strings_job(const struct node *node), *arrays_job(const struct node *node);

/* system.c */
extern const struct pages_ops properties_pages;
bool has_system(const struct node *node), has_properties(const struct node *node), has_environment(const struct node *node);

/* roots.c */
void list_roots(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_roots(const struct node *folder, const char *name, struct node *child);
void list_root_links(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_root_link(const struct node *folder, const char *name, struct node *child);
bool up_root_tag(const struct node *folder, struct node *parent);
const char *root_tag_name(unsigned tag);

/* threads.c */
bool has_threads(const struct node *node), has_thread_object(const struct node *node);
bool has_frames(const struct node *node), has_frameless(const struct node *node);
void list_threads(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_thread(const struct node *folder, const char *name, struct node *child);
bool up_thread_part(const struct node *folder, struct node *parent);
bool up_thread(const struct node *folder, struct node *parent);
bool target_thread_object(const struct node *link, struct text *text);
void list_frames(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_frame(const struct node *folder, const char *name, struct node *child);
bool up_frame_part(const struct node *folder, struct node *parent);
bool up_frame(const struct node *folder, struct node *parent);
void list_locals(const struct node *folder, uint64_t from, struct listing *listing);
bool lookup_local(const struct node *folder, const char *name, struct node *child);
bool up_local_part(const struct node *folder, struct node *parent);
bool target_local(const struct node *link, struct text *text);

/* stack_text.c */
extern const struct pages_ops stack_pages;
/* A thread's name, at most `most` chars of it; false if that is not all. Nothing where it has none. */
bool put_thread_name(struct text *text, const struct heap *heap, const struct thread *thread,
		     const struct thread_facts *facts, uint64_t most);

#endif
