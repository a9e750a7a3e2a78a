/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/subrecord.h"

const char *type_name(unsigned type)
{
	static const char *const names[TYPE_COUNT] = { "?", "?", "object", "?", "boolean", "char", "float",
						       "double", "byte", "short", "int", "long" };
	return type < TYPE_COUNT ? names[type] : "?";
}

uint64_t class_dump_parts(const uint8_t *p, uint64_t left, unsigned id_width, struct class_parts *parts)
{
	uint64_t at = 9 + 7 * (uint64_t)id_width;
	if (left < at + 2)
		return SUBRECORD_CUT;
	parts->pool_count = be16(p + at);
	parts->pool = (uint32_t)(at += 2);
	for (unsigned i = 0; i < parts->pool_count; i++) {
		if (left < at + 3)
			return SUBRECORD_CUT;
		unsigned width = type_width(p[at + 2], id_width);
		if (!width)
			return SUBRECORD_BAD;
		at += 3 + width;
	}
	if (left < at + 2)
		return SUBRECORD_CUT;
	parts->static_count = be16(p + at);
	parts->statics = (uint32_t)(at += 2);
	for (unsigned i = 0; i < parts->static_count; i++) {
		if (left < at + id_width + 1)
			return SUBRECORD_CUT;
		unsigned width = type_width(p[at + id_width], id_width);
		if (!width)
			return SUBRECORD_BAD;
		at += id_width + 1 + width;
	}
	if (left < at + 2)
		return SUBRECORD_CUT;
	parts->field_count = be16(p + at);
	parts->fields = (uint32_t)(at += 2);
	parts->size = at + (uint64_t)parts->field_count * (id_width + 1);
	if (parts->size > left)
		return parts->size;
	for (unsigned i = 0; i < parts->field_count; i++)
		if (!type_width(p[at + i * (id_width + 1u) + id_width], id_width))
			return SUBRECORD_BAD;
	return parts->size;
}

bool subrecord_is_root(unsigned tag)
{
	return (tag >= ROOT_JNI_GLOBAL && tag <= ROOT_THREAD_OBJ) ||
	       (tag >= ROOT_INTERNED_STRING && tag <= ROOT_JNI_MONITOR) || tag == ROOT_UNREACHABLE ||
	       tag == ROOT_UNKNOWN;
}

uint64_t subrecord_size_other(const uint8_t *p, uint64_t left, unsigned id_width)
{
	uint64_t size;
	if (left < 1)
		return SUBRECORD_CUT;
	switch (*p) {
	case ROOT_UNKNOWN:
	case ROOT_STICKY_CLASS:
	case ROOT_MONITOR_USED:
	case ROOT_INTERNED_STRING:
	case ROOT_FINALIZING:
	case ROOT_DEBUGGER:
	case ROOT_REFERENCE_CLEANUP:
	case ROOT_VM_INTERNAL:
	case ROOT_UNREACHABLE:
		size = 1 + id_width;
		break;
	case ROOT_JNI_GLOBAL:
		size = 1 + 2 * id_width;
		break;
	case ROOT_JNI_LOCAL:
	case ROOT_JAVA_FRAME:
	case ROOT_THREAD_OBJ:
	case ROOT_JNI_MONITOR:
		size = 9 + id_width;
		break;
	case ROOT_NATIVE_STACK:
	case ROOT_THREAD_BLOCK:
	case SUB_HEAP_DUMP_INFO:
		size = 5 + id_width;
		break;
	case SUB_PRIM_ARRAY_NODATA: /* obsolete Dalvik: a length, but no elements follow */
		size = 10 + id_width;
		if (left >= size && (p[9 + id_width] == TYPE_OBJECT || !type_width(p[9 + id_width], id_width)))
			return SUBRECORD_BAD;
		break;
	case SUB_CLASS_DUMP: {
		struct class_parts parts;
		return class_dump_parts(p, left, id_width, &parts);
	}
	case SUB_PRIM_ARRAY_DUMP:
		/* Fits in fewer bytes than the two headers that subrecord_size() asks for first. */
		size = 10 + id_width;
		if (left < size)
			return SUBRECORD_CUT;
		if (p[9 + id_width] == TYPE_OBJECT || !type_width(p[9 + id_width], id_width))
			return SUBRECORD_BAD;
		return size + (uint64_t)be32(p + 5 + id_width) * type_width(p[9 + id_width], id_width);
	case SUB_INSTANCE_DUMP:
	case SUB_OBJ_ARRAY_DUMP:
		return SUBRECORD_CUT;
	default:
		return SUBRECORD_BAD;
	}
	return left < size ? SUBRECORD_CUT : size;
}

/* Objects and classes that a run must hold before it counts as sub-records and not as chance. Root tags are
   small numbers that zero-filled data imitates, so they prove nothing. */
#define RESYNC_RUN 8
/* Others between them, before the run is given up: a search must not walk to the end from every byte. */
#define RESYNC_OTHERS 256

static bool run_parses(const uint8_t *data, uint64_t at, uint64_t end, unsigned id_width,
		       bool (*known_class)(const void *, uint64_t), const void *context)
{
	for (unsigned proofs = 0, others = 0; proofs < RESYNC_RUN;) {
		if (at == end)
			return proofs >= 2;
		const uint8_t *p = data + at;
		/* Asked first, since the size of a class dump costs a walk over it. */
		if (*p == SUB_CLASS_DUMP && (end - at < 1 + id_width || !known_class(context, read_id(p + 1, id_width))))
			return false;
		uint64_t size = subrecord_size(p, end - at, id_width);
		if (size == SUBRECORD_BAD || size == SUBRECORD_CUT || size > end - at)
			return false;
		uint64_t id = read_id(p + 1, id_width), class_id = 0;
		switch (*p) {
		case SUB_CLASS_DUMP:
			class_id = id;
			break;
		case SUB_INSTANCE_DUMP:
			class_id = read_id(p + 5 + id_width, id_width);
			break;
		case SUB_OBJ_ARRAY_DUMP:
			class_id = read_id(p + 9 + id_width, id_width);
			break;
		case SUB_PRIM_ARRAY_DUMP:
			if (!id)
				return false;
			break;
		default:
			if (++others > RESYNC_OTHERS)
				return false;
			at += size;
			continue;
		}
		if (*p != SUB_PRIM_ARRAY_DUMP && (!id || !known_class(context, class_id)))
			return false;
		proofs++;
		at += size;
	}
	return true;
}

uint64_t subrecord_resync(const uint8_t *data, uint64_t from, uint64_t end, unsigned id_width,
			  bool (*known_class)(const void *, uint64_t), const void *context)
{
	for (uint64_t at = from; at < end; at++)
		if (data[at] >= SUB_CLASS_DUMP && data[at] <= SUB_PRIM_ARRAY_DUMP &&
		    run_parses(data, at, end, id_width, known_class, context))
			return at;
	return end;
}
