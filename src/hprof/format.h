/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HPROF format as bytes: tags, value types, big-endian reads.
 *
 * Source: "JAVA PROFILE 1.0.1/1.0.2" as OpenJDK's heapDumper.cpp and hprof agent write it, and 1.0.3 as
 * ART's runtime/hprof/hprof.cc does. All numbers are big-endian; I is the identifier size of the header.
 */
#ifndef HEAPFS_FORMAT_H
#define HEAPFS_FORMAT_H

#include <stdint.h>
#include <string.h>

/* Top-level records: u1 tag, u4 microseconds, u4 length of the body. */
enum record_tag {
	RECORD_UTF8 = 0x01,
	RECORD_LOAD_CLASS = 0x02,
	RECORD_UNLOAD_CLASS = 0x03,
	RECORD_FRAME = 0x04,
	RECORD_TRACE = 0x05,
	RECORD_ALLOC_SITES = 0x06,
	RECORD_HEAP_SUMMARY = 0x07,
	RECORD_START_THREAD = 0x0a,
	RECORD_END_THREAD = 0x0b,
	RECORD_HEAP_DUMP = 0x0c,
	RECORD_CPU_SAMPLES = 0x0d,
	RECORD_CONTROL_SETTINGS = 0x0e,
	RECORD_HEAP_DUMP_SEGMENT = 0x1c,
	RECORD_HEAP_DUMP_END = 0x2c,
};
#define RECORD_HEADER 9

/* Sub-records of HEAP_DUMP and HEAP_DUMP_SEGMENT; from 0x89 on, and 0xfe, only Android (1.0.3). */
enum sub_tag {
	ROOT_JNI_GLOBAL = 0x01,
	ROOT_JNI_LOCAL = 0x02,
	ROOT_JAVA_FRAME = 0x03,
	ROOT_NATIVE_STACK = 0x04,
	ROOT_STICKY_CLASS = 0x05,
	ROOT_THREAD_BLOCK = 0x06,
	ROOT_MONITOR_USED = 0x07,
	ROOT_THREAD_OBJ = 0x08,
	SUB_CLASS_DUMP = 0x20,
	SUB_INSTANCE_DUMP = 0x21,
	SUB_OBJ_ARRAY_DUMP = 0x22,
	SUB_PRIM_ARRAY_DUMP = 0x23,
	ROOT_INTERNED_STRING = 0x89,
	ROOT_FINALIZING = 0x8a,
	ROOT_DEBUGGER = 0x8b,
	ROOT_REFERENCE_CLEANUP = 0x8c,
	ROOT_VM_INTERNAL = 0x8d,
	ROOT_JNI_MONITOR = 0x8e,
	ROOT_UNREACHABLE = 0x90,
	SUB_PRIM_ARRAY_NODATA = 0xc3,
	SUB_HEAP_DUMP_INFO = 0xfe,
	ROOT_UNKNOWN = 0xff,
};

enum value_type {
	TYPE_OBJECT = 2,
	TYPE_BOOLEAN = 4,
	TYPE_CHAR = 5,
	TYPE_FLOAT = 6,
	TYPE_DOUBLE = 7,
	TYPE_BYTE = 8,
	TYPE_SHORT = 9,
	TYPE_INT = 10,
	TYPE_LONG = 11,
};
#define TYPE_COUNT 12

static inline uint16_t be16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap16(v);
}

static inline uint32_t be32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap32(v);
}

static inline uint64_t be64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap64(v);
}

static inline uint64_t read_id(const uint8_t *p, unsigned id_width)
{
	return id_width == 8 ? be64(p) : be32(p);
}

/* Bytes that a value of `type` takes in the dump; 0 for what is no type. */
static inline unsigned type_width(unsigned type, unsigned id_width)
{
	static const uint8_t width[TYPE_COUNT] = { 0, 0, 0, 0, 1, 2, 4, 8, 1, 2, 4, 8 };
	if (type == TYPE_OBJECT)
		return id_width;
	return type < TYPE_COUNT ? width[type] : 0;
}

/* "int", "object", …; "?" for what is no type. */
const char *type_name(unsigned type);

#endif
