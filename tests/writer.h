/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer: HPROF dumps of any shape for tests, well-formed or not.
 *
 * Two layers. A `writer` appends records, sub-records and raw bytes to a buffer in memory (or, with a file,
 * streams them out) and checks nothing: any length can be wrong and any byte can be put anywhere. A `vm` on
 * top of it plays a virtual machine: it gives objects rising addresses with the true sizes of a memory layout,
 * writes names and classes in front of the heap, and knows how Strings are laid out.
 *
 * Everything is deterministic. Running out of memory ends the program: these are tests.
 */
#ifndef HEAPFS_WRITER_H
#define HEAPFS_WRITER_H

#include "hprof/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* --- writer: bytes and records --- */

struct writer {
	uint8_t *data;
	size_t len, capacity;
	FILE *file;		/* streaming: full segments are written there and leave the buffer */
	uint64_t flushed;	/* bytes already in the file */
	unsigned id_width;
	uint64_t next_name;	/* id of the next name */
	size_t record;		/* where the open record's header is, or RECORD_CLOSED */
	size_t patch;		/* where the open sub-record's length is */
	uint8_t tag;		/* of the open record */
	size_t segment_limit;	/* a sub-record past this many bytes begins a new segment; 0: never */
	uint32_t heap_kind;	/* Android: HEAP_DUMP_INFO to repeat in each segment, 0 for none */
	uint64_t heap_name;
};
#define RECORD_CLOSED SIZE_MAX

void writer_init(struct writer *w, unsigned id_width);
void writer_free(struct writer *w);
/* Offset in the finished file of the next byte. */
uint64_t writer_offset(const struct writer *w);
/* Appends all bytes of `from`. */
void writer_append(struct writer *w, const struct writer *from);
/* 0, or -1 with errno. */
int writer_save(const struct writer *w, const char *path);

void put_bytes(struct writer *w, const void *data, size_t len);
void put_zeros(struct writer *w, size_t len);
void put_u1(struct writer *w, unsigned value);
void put_u2(struct writer *w, unsigned value);
void put_u4(struct writer *w, uint32_t value);
void put_u8(struct writer *w, uint64_t value);
void put_id(struct writer *w, uint64_t id);
/* A value of a type, from its bits. */
void put_value(struct writer *w, unsigned type, uint64_t bits);
void patch_u4(struct writer *w, size_t at, uint32_t value);

/* "JAVA PROFILE 1.0.2" and so on; a fixed time. */
void put_header(struct writer *w, const char *version);
/* A whole record with any body. */
void put_record(struct writer *w, unsigned tag, const void *body, size_t len);
/* The head of a record whose body follows by other calls. */
void put_record_head(struct writer *w, unsigned tag, uint32_t len);
uint64_t put_utf8(struct writer *w, const char *name, size_t len);	/* returns the name's id */
uint64_t put_name(struct writer *w, const char *name);			/* the same for a C string */
void put_load_class(struct writer *w, uint32_t serial, uint64_t id, uint64_t name);
void put_frame(struct writer *w, uint64_t frame, uint64_t method, uint64_t signature, uint64_t source,
	       uint32_t class_serial, int32_t line);
void put_trace(struct writer *w, uint32_t serial, uint32_t thread, const uint64_t *frames, uint32_t count);
void put_start_thread(struct writer *w, uint32_t serial, uint64_t object, uint32_t trace, uint64_t name);

/* HEAP_DUMP or HEAP_DUMP_SEGMENT: its length is patched at its end, or set to what a test wants. */
void segment_begin(struct writer *w, unsigned tag);
void segment_end(struct writer *w);
void segment_end_length(struct writer *w, uint32_t length);
void put_dump_end(struct writer *w);

/* --- sub-records --- */

struct member_spec {
	const char *name;	/* or name_id */
	uint8_t type;
	uint64_t value;		/* bits, of a static */
	size_t len;		/* of the name; 0: it ends in NUL */
	uint64_t name_id;
};

struct class_spec {
	const char *name;
	size_t name_len;	/* 0: the name ends in NUL */
	uint64_t id, super, loader, signers, domain;
	uint32_t size;		/* declared; a vm fills in what its kind declares */
	const struct member_spec *statics, *fields, *pool; /* name_id of a pool entry is its index */
	unsigned static_count, field_count, pool_count;
};

/* CLASS_DUMP; names need their name_id. */
void sub_class(struct writer *w, const struct class_spec *spec);
void sub_info(struct writer *w, uint32_t heap, uint64_t name);
/* Values are put between begin and end, which patches the length (of bytes, or of elements). */
void sub_instance_begin(struct writer *w, uint64_t id, uint64_t class_id);
void sub_instance_end(struct writer *w);
void sub_object_array(struct writer *w, uint64_t id, uint64_t class_id, const uint64_t *elements, uint32_t count);
/* `data` as in the dump: big-endian. */
void sub_primitive_array(struct writer *w, uint64_t id, unsigned type, const void *data, uint32_t count);
void sub_array_nodata(struct writer *w, uint64_t id, unsigned type, uint32_t count);
/* Any root tag; what the tag has no room for is left out. */
void sub_root(struct writer *w, unsigned tag, uint64_t id, uint64_t global, uint32_t thread, uint32_t frame);

/* --- vm --- */

/* VM_AGENT: the hprof agent, whose ids are numbers from 1 on and no addresses. */
enum vm_kind { VM_JDK9, VM_JDK9_BIG_ENDIAN, VM_JDK8, VM_JDK6, VM_AGENT, VM_ART };

struct vm_class {
	uint64_t id, super;
	uint32_t size;		/* in memory */
	uint32_t end;		/* where the last field ends in memory */
	uint8_t *types;		/* of its own fields */
	unsigned type_count;
};

struct vm {
	enum vm_kind kind;
	unsigned header, reference;	/* bytes in memory */
	struct writer names, heap;	/* top-level records; heap records */
	uint64_t next;			/* address of the next object */
	uint32_t next_serial;
	struct vm_class *classes;
	size_t class_count, class_capacity;
	struct vm_name *name_list;
	size_t name_count, name_capacity;
	uint64_t object, class, string;	/* class ids */
	uint64_t primitive_arrays[TYPE_COUNT]; /* class ids by element type */
};

/* Defines Object, Class, String and the primitive arrays' classes, in an open segment. */
void vm_init(struct vm *vm, enum vm_kind kind, unsigned id_width);
/* The same with another layout of memory: bytes of an instance's header and of a reference. */
void vm_init_layout(struct vm *vm, enum vm_kind kind, unsigned id_width, unsigned header, unsigned reference);
/* Header, names, heap, HEAP_DUMP_END (with a HEAP_DUMP as the heap record: none) into `out`; frees the vm. */
void vm_finish(struct vm *vm, const char *version, struct writer *out);
/*
 * Instead: what does not fit in memory goes to a file as it is made. Header and names are written at once, so that no
 * name may be new from then on; segments of up to so many bytes follow. vm_end_file() writes the rest and frees the
 * vm: 0, or -1 with errno.
 */
int vm_to_file(struct vm *vm, const char *version, const char *path, size_t segment_limit);
int vm_end_file(struct vm *vm);
/* Ends the open segment and begins another. */
void vm_segment(struct vm *vm, unsigned tag);

/* Android: what follows lies in this heap, from this address on. */
void vm_heap(struct vm *vm, uint32_t kind, const char *name, uint64_t address);

uint64_t vm_alloc(struct vm *vm, uint64_t bytes);
uint64_t vm_name(struct vm *vm, const char *name, size_t len);
/* Writes the class's names and LOAD_CLASS; with `dump` its CLASS_DUMP. spec->id 0 gets an address. */
uint64_t vm_class(struct vm *vm, const struct class_spec *spec, bool dump);
/* "name:type name:type": Z boolean, C char, F float, D double, B byte, S short, I int, J long, L object. */
uint64_t vm_define(struct vm *vm, const char *name, uint64_t super, const char *fields);
uint64_t vm_define_statics(struct vm *vm, const char *name, uint64_t super, const char *fields,
			   const struct member_spec *statics, unsigned count);
uint32_t vm_size(const struct vm *vm, uint64_t class_id);

/* An instance from its fields' bits, own class's first; missing ones are 0. `id` 0 gets an address. */
uint64_t vm_new(struct vm *vm, uint64_t id, uint64_t class_id, const uint64_t *values, unsigned count);
#define VM_NEW(vm, class_id, ...)                                                                            \
	vm_new(vm, 0, class_id, (const uint64_t[]){ __VA_ARGS__ },                                           \
	       sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
uint64_t vm_object_array(struct vm *vm, uint64_t class_id, const uint64_t *elements, uint32_t count);
uint64_t vm_primitive_array(struct vm *vm, unsigned type, const void *data, uint32_t count);
uint64_t vm_string(struct vm *vm, const char *utf8);
uint64_t vm_string_units(struct vm *vm, const uint16_t *units, uint32_t count);
void vm_root(struct vm *vm, unsigned tag, uint64_t id);

#endif
