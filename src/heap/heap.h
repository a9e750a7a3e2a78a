/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap: one dump's classes and objects, decoded on demand from the mapping.
 *
 * Kept in memory: a struct class per class (a few hundred bytes) and the index. An object is decoded each
 * time it is asked for: from its offset in a few nanoseconds, from its id in about a microsecond. All
 * functions may be called from many threads once heap_open() has returned; what they return points into the
 * mapping or into the heap and lives as long as it does.
 *
 * Class numbers are positions in `classes`, which is sorted by id. Sizes are bytes.
 */
#ifndef HEAPFS_HEAP_H
#define HEAPFS_HEAP_H

#include "heap/mapping.h"
#include "hprof/scan.h"
#include "hprof/stack.h"
#include "hprof/subrecord.h"

#define CLASS_NONE UINT32_MAX
/* Every so many objects of a class, the place in its list is kept, so that a rank is found at once. */
#define SKIP_RANKS 1024

/* UTF-8 text with its length; lone surrogates stand as three bytes, as in WTF-8. NUL bytes may occur. */
struct name {
	const char *text;
	uint32_t len;
};

struct field {
	struct name name;
	uint8_t type;
	uint32_t offset;	/* in the part of an instance's data that its declaring class owns */
};

struct class {
	uint64_t id;		/* 0 for the primitive arrays of dumps that do not describe them */
	uint64_t offset;	/* of its CLASS_DUMP, 0 if there is none: known by name only */
	struct name name;	/* as Java source prints it; the original one where a mapping knows it */
	const struct mapping_class *mapped; /* or NULL */
	uint32_t super;		/* class number, CLASS_NONE if there is none or it is not in the dump */
	uint64_t super_id, loader_id;
	struct class_parts parts; /* all zero without CLASS_DUMP */
	uint8_t element_type;	/* of an array class; 0 for others */
	uint32_t depth;		/* superclasses above it */
	uint32_t own_width;	/* bytes of its own fields in an instance's data */
	uint32_t data_width;	/* with those of all superclasses */
	struct tally *tally;	/* its objects; NULL if there are none */
	uint64_t count;		/* objects of exactly this class */
	uint64_t size;		/* shallow size of one instance; 0 for arrays, which differ */
	uint64_t shallow;	/* of all its objects together */
	size_t first_skip;	/* in heap.skips */
	uint32_t first_child, child_count; /* in heap.children */
	struct field *_Atomic fields; /* own instance fields, made at first use */
};

/* State of a walk over a class's list, right before the pair that holds rank number i * SKIP_RANKS. */
struct skip {
	uint32_t position;	/* in the list */
	uint32_t block;		/* of the pair before */
	uint64_t rank;		/* of the pair's first object */
};

/* How objects are laid out in the memory of the VM that was dumped. See size.c. */
struct sizes {
	bool addresses;		/* ids are addresses, so distances between them are sizes */
	bool declared;		/* class dumps hold real sizes (ART, GraalVM) */
	unsigned reference;	/* width of a reference in memory */
	unsigned header;	/* of an instance */
	unsigned alignment;
	unsigned array_base[TYPE_COUNT]; /* where elements begin, by element type */
};

struct root {
	uint64_t id, offset;	/* of the object, of the id's bytes in the dump */
	uint8_t tag;
};

struct heap {
	const struct hprof *hprof;
	const struct input *in;
	const struct mapping *mapping; /* or NULL */
	unsigned id_width;
	unsigned dump;		/* which of the file's dumps this is, from 0 */
	unsigned number;	/* of the heap among those that are shown, from 0; the tree's */
	uint64_t first_offset, end_offset; /* what of the file its records fill */
	struct scan scan;
	struct class *classes;
	uint32_t class_count;
	uint32_t *children;	/* class numbers by superclass, then by name */
	struct skip *skips;
	uint32_t primitive_arrays[TYPE_COUNT]; /* class numbers by element type, or CLASS_NONE */
	struct sizes sizes;
	bool android;
	bool big_endian;	/* the dumped machine, for UTF-16 in byte[] */
	/* java.lang.String: class number and where in an instance's data its fields are, or -1. */
	uint32_t string_class;
	int32_t string_value, string_coder, string_offset, string_count;
	struct roots *_Atomic roots; /* made at first use */
	struct threads *_Atomic threads; /* likewise */
	struct collections *_Atomic collections; /* made at first use; see collections.h */
};

struct heap_options {
	unsigned threads;
	const struct mapping *mapping;	/* of obfuscated names, or NULL; must outlive the heap */
	scan_progress *progress;	/* or NULL */
	void *context;
};

/* Scans dump number `dump` of the file and reads its classes. 0, or -1 without memory. */
int heap_open(struct heap *heap, const struct hprof *hprof, unsigned dump, const struct heap_options *options);
void heap_close(struct heap *heap);

/* Looks at all places that the index knows, up to where the file is cut: is what was scanned still there? */
bool heap_same(const struct heap *heap);

/* --- classes (classes.c) --- */

int classes_open(struct heap *heap);
void classes_close(struct heap *heap);

/* Number of the first class with an id >= `id`; class_count if there is none. */
uint32_t class_from(const struct heap *heap, uint64_t id);
/* The class with this id; NULL for 0 and for what is no class. */
const struct class *class_find(const struct heap *heap, uint64_t id);
const struct class *class_by_name(const struct heap *heap, const char *name);

static inline uint32_t class_number(const struct heap *heap, const struct class *class)
{
	return (uint32_t)(class - heap->classes);
}

/* The superclass, or NULL. Chains of superclasses end: cycles in a damaged dump were cut. */
static inline const struct class *class_super(const struct heap *heap, const struct class *class)
{
	return class->super == CLASS_NONE ? NULL : &heap->classes[class->super];
}

/* Is it `ancestor`, or below it? False for NULL. */
bool class_extends(const struct heap *heap, const struct class *class, const struct class *ancestor);

/* Its own instance fields, parts.field_count of them; NULL without memory or without fields. */
const struct field *class_fields(const struct heap *heap, const struct class *class);

/* Walks statics, or the constant pool (whose entries have a number for a name). */
struct static_walk {
	const struct heap *heap;
	uint64_t next;
	unsigned left;
	bool pool;
	uint64_t name_id;	/* of the current one; the index for a pool entry */
	uint8_t type;
	uint64_t offset;	/* of its value's bytes in the file */
	const uint8_t *value;
};
void static_walk_start(struct static_walk *walk, const struct heap *heap, const struct class *class, bool pool);
bool static_walk_next(struct static_walk *walk);

/* A static by name; false if the class has none. */
bool class_static(const struct heap *heap, const struct class *class, const char *name, struct static_walk *found);

/* One of the ids in the fixed part of a CLASS_DUMP. */
enum class_reference { CLASS_SUPER, CLASS_LOADER, CLASS_SIGNERS, CLASS_PROTECTION_DOMAIN };
uint64_t class_reference(const struct heap *heap, const struct class *class, enum class_reference which);

/* The instance size that the CLASS_DUMP declares. */
uint32_t class_declared_size(const struct heap *heap, const struct class *class);

/* A name of the dump as UTF-8; "" if it is absent. The caller frees name.text. */
struct name heap_name(const struct heap *heap, uint64_t name_id);
/*
 * The same where many names may be one long one: those for which `budget` has no bytes left, and absent ones, are
 * `instead` and the id, or "" where that is "". The caller frees name.text.
 */
struct name heap_name_within(const struct heap *heap, uint64_t name_id, const char *instead, uint64_t *budget);
/* Bytes for the names of one class's members. */
#define NAMES_MOST (UINT64_C(16) << 20)
/* The same for a field or static of a class: the original name where the heap has a mapping that knows it. */
struct name member_name(const struct heap *heap, const struct class *class, uint64_t name_id, uint8_t type,
			const char *instead, uint64_t *budget);
/* The name of an Android heap, or "-". Not to be freed; valid until the heap is closed. */
struct name block_heap_name(const struct heap *heap, uint64_t offset);

/* --- objects (object.c) --- */

enum object_kind { OBJECT_INSTANCE, OBJECT_OBJECT_ARRAY, OBJECT_PRIMITIVE_ARRAY };

struct object {
	uint64_t id, offset;
	enum object_kind kind;
	const struct class *class;
	uint8_t type;		/* of an array's elements */
	uint32_t length;	/* elements of an array */
	uint64_t data_offset, data_len; /* field values or elements, in the file */
	const uint8_t *data;
	uint32_t trace;		/* stack trace serial */
};

/* Decodes the object whose sub-record is at `offset`; false if there is none. */
bool heap_object(const struct heap *heap, uint64_t offset, struct object *object);
bool heap_find(const struct heap *heap, uint64_t id, struct object *object);

/* The same for an id that `before` holds: what was allocated together often stands together in the dump. */
bool heap_find_near(const struct heap *heap, uint64_t id, const struct object *before, struct object *object);

/* Shallow size. */
uint64_t object_size(const struct heap *heap, const struct object *object);

/*
 * Walks what an object holds, value by value: an instance's fields, own class first, or an array's elements.
 * Primitive arrays' elements are values like any other.
 */
struct value_walk {
	const struct heap *heap;
	const struct object *object;
	const struct class *class; /* that declares the current field */
	const struct field *field; /* NULL for elements */
	unsigned index;		/* of the field in its class */
	uint64_t class_at;	/* where the class's part begins in the data */
	uint64_t element;	/* number of the current element */
	uint64_t next;
	uint8_t type;
	uint64_t at;		/* of the value in the object's data */
	const uint8_t *value;
};
void value_walk_start(struct value_walk *walk, const struct heap *heap, const struct object *object);
bool value_walk_next(struct value_walk *walk);
/* Goes to element `n` of an array, so that the next call yields it. */
void value_walk_seek(struct value_walk *walk, uint64_t n);

/* Where the first field of this name is in the data of an instance of `class`; -1 if it has none. */
int32_t field_offset(const struct heap *heap, const struct class *class, const char *name, uint8_t type);

/* The same for a field that `declaring`, which `class` extends, has itself or inherits: one of a subclass may hide it. */
int32_t field_offset_of(const struct heap *heap, const struct class *class, const struct class *declaring, const char *name,
			uint8_t type);

/* Follows the reference field of this name; `to` may be `object`. False for null and for what is not there. */
bool object_field(const struct heap *heap, const struct object *object, const char *name, struct object *to);

/* Walks the objects of one class in file order from a rank on. */
struct cursor {
	const struct heap *heap;
	const struct class *class;
	const uint8_t *at, *end;
	uint64_t block;
	uint64_t left;		/* of the class in this block */
	uint64_t rank;		/* of the object that comes next */
	struct block_walk walk;
	uint64_t offset, id;	/* of the current object */
};
void cursor_seek(struct cursor *cursor, const struct heap *heap, const struct class *class, uint64_t rank);
bool cursor_next(struct cursor *cursor);
/* The current object, decoded. */
bool cursor_object(const struct cursor *cursor, struct object *object);

/* Rank of the object at `offset` among those of its class. */
uint64_t object_rank(const struct heap *heap, const struct object *object);

/* --- strings (string.c) --- */

struct string {
	const uint8_t *data;
	uint64_t units;		/* chars, as String.length() counts them */
	enum { STRING_LATIN1, STRING_UTF16_BE, STRING_UTF16_LE } coding;
};

void strings_open(struct heap *heap);
/* The text of a java.lang.String; false if the object is none or its characters are not in the dump. */
bool heap_string(const struct heap *heap, const struct object *object, struct string *string);
/* Its two steps: what a java.lang.String's `value` leads to, and which of that array's elements are the text. */
bool string_array(const struct heap *heap, const struct object *object, struct object *array);
bool string_of_array(const struct heap *heap, const struct object *object, const struct object *array,
		     struct string *string);

/* The text of a static String. */
bool class_string(const struct heap *heap, const struct class *class, const char *name, struct string *string);

static inline uint16_t string_unit(const struct string *string, uint64_t i)
{
	if (string->coding == STRING_LATIN1)
		return string->data[i];
	const uint8_t *p = string->data + 2 * i;
	return (uint16_t)(string->coding == STRING_UTF16_BE ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}

/* A hash of the text, whatever its coding is; order by chars, as Java's String.compareTo(). */
uint64_t string_hash(const struct string *string);
int string_compare(const struct string *a, const struct string *b);

/* The Perfetto heap graph that the dump was made from, or NULL: it has no values, and sizes of its own. */
static inline const struct heap_graph *heap_graph_of(const struct heap *heap)
{
	return heap->hprof->traced ? heap->hprof->traced->graph : NULL;
}

/* --- sizes (size.c) --- */

/* 0, or -1 without memory. */
int sizes_open(struct heap *heap);
uint64_t array_size(const struct heap *heap, uint8_t type, uint64_t length);
/* Is this array no object of the VM, but a part of one, as which ART writes it? */
bool is_synthetic(const struct heap *heap, const struct object *array);

/* --- GC roots (roots.c) --- */

/* Roots whose object is in the dump, sorted by tag and id, each object once a tag. */
struct roots {
	struct root *list;
	size_t count;
};
/* NULL without memory. */
const struct roots *heap_roots(const struct heap *heap);
void roots_close(struct heap *heap);
/* The roots of one tag: their number, and where in the list they begin. */
size_t roots_of(const struct roots *roots, unsigned tag, size_t *first);

/* --- threads (threads.c) --- */

/* A local's frame where the dump names none, or one that no stack reaches. */
#define FRAME_NONE UINT32_MAX
#define FRAMES_MOST (UINT32_C(1) << 23)

/* What a thread's stack holds. */
struct local {
	uint64_t id, offset;	/* of the object, of the id's bytes in the dump */
	uint32_t thread, frame;	/* number of the thread; of the frame, 0 the top one, or FRAME_NONE */
	uint8_t tag;		/* of the root */
	bool missing;		/* the object is not in the dump */
};

/* The locals of one frame, each object once: those that are in the dump first, then by id. */
struct local_group {
	size_t first, count, present;
	uint32_t frame;
};

struct thread {
	uint64_t id, offset;	/* of the Thread, of the id's bytes in its root */
	uint32_t serial, trace;
	bool matched;		/* the trace is that of its place, not of its root */
	size_t first_group, group_count; /* by frame; FRAME_NONE is the last */
};

struct threads {
	struct thread *list;	/* in the order of the file */
	uint32_t count;
	struct thread_serial {
		uint32_t serial, number;
	} *by_serial;
	struct local *locals;	/* by thread, then by group */
	size_t local_count;
	struct local_group *groups;
	size_t group_count;
	bool unclaimed;		/* there are stack traces of threads that no thread's root names */
	bool matched;		/* there were, and it was found whose they are */
};
/* NULL without memory, or where the file was cut meanwhile. */
const struct threads *heap_threads(const struct heap *heap);
void threads_close(struct heap *heap);

/* The thread whose root's id is at `offset`; NULL if there is none. */
const struct thread *thread_at(const struct threads *threads, uint64_t offset);
/* The group of a frame, or, with FRAME_NONE, of what is in none; NULL if the thread has none. */
const struct local_group *thread_group(const struct threads *threads, const struct thread *thread, uint32_t frame);
/* The local whose id is at `offset`: of its group, the one of its object. NULL if it is no local of any thread. */
const struct local *local_at(const struct heap *heap, const struct threads *threads, uint64_t offset,
			     const struct local_group **group);

/* Whose a thread's trace is. */
enum thread_stack {
	STACK_NONE,		/* the dump has none */
	STACK_OWN,
	STACK_ORIGIN		/* where the Thread was made: what the hprof agent's roots say */
};
enum thread_stack thread_trace(const struct heap *heap, const struct stacks *stacks, const struct thread *thread,
			       struct stack_trace *trace);

/* What a Thread's fields tell; numbers that no field tells are -1. */
struct thread_facts {
	struct object object;
	const struct class *thread_class;	/* java.lang.Thread; NULL where the object is none */
	const struct class *virtual_class;	/* java.lang.VirtualThread; NULL where the thread is none */
	bool found, is_virtual;			/* the object is in the dump; the thread is a virtual one */
	int32_t daemon, priority, status, state; /* status as JVMTI has it; state of a virtual thread */
	int64_t number;				/* Thread.getId() */
	uint64_t native;			/* address of the VM's own thread; 0 where it is not known */
	uint64_t carrier;			/* id of the thread that carries a virtual one, or 0 */
};
void thread_facts(const struct heap *heap, const struct thread *thread, struct thread_facts *facts);
/* The name: a String, or up to JDK 8 a char[]. */
bool thread_name(const struct heap *heap, const struct thread_facts *facts, struct string *name);
/* The name that the hprof agent wrote for the thread; "" if it did not. The caller frees name.text. */
struct name thread_started_name(const struct heap *heap, const struct thread *thread);

#endif
