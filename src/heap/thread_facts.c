/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fields of a java.lang.Thread tell. Their places changed over time:
 *   JDK up to 18: name, priority, daemon, threadStatus, tid, eetop; name was a char[] up to JDK 8;
 *   JDK 19 and later: priority, daemon and threadStatus in `holder`, a Thread$FieldHolder, which virtual threads do
 *   not have; those have `state` and `carrierThread` of their own;
 *   Android: name, priority, daemon, and tid or, before Android 14, id.
 * A subclass may have fields of the same names, so only those that java.lang.Thread itself declares count.
 */
#include "heap/heap.h"

#include <stdlib.h>

/* The superclass of this name, or the class itself; NULL if there is none. */
static const struct class *ancestor(const struct heap *heap, const struct class *class, const char *name)
{
	const size_t len = strlen(name);
	for (; class; class = class_super(heap, class))
		if (class->name.len == len && !memcmp(class->name.text, name, len))
			return class;
	return NULL;
}

/* The value of a field that `class`, a superclass of the object's or that itself, declares; NULL if it is not there. */
static const uint8_t *field_of(const struct heap *heap, const struct object *object, const struct class *class,
			       const char *name, uint8_t type)
{
	const int32_t at = class ? field_offset(heap, class, name, type) : -1;
	const uint64_t before = class ? object->class->data_width - class->data_width : 0;
	if (at < 0 || before + (uint64_t)at + type_width(type, heap->id_width) > object->data_len)
		return NULL;
	return object->data + before + at;
}

static int32_t int_of(const struct heap *heap, const struct object *object, const struct class *class, const char *name)
{
	const uint8_t *p = field_of(heap, object, class, name, TYPE_INT);
	return p ? (int32_t)be32(p) : -1;
}

static void read_holder(const struct heap *heap, struct thread_facts *facts)
{
	const uint8_t *p = field_of(heap, &facts->object, facts->thread_class, "holder", TYPE_OBJECT);
	struct object holder = facts->object;
	const struct class *class = facts->thread_class;
	if (p && heap_find(heap, read_id(p, heap->id_width), &holder) && holder.kind == OBJECT_INSTANCE)
		class = holder.class;
	else if (p)
		return;
	facts->priority = int_of(heap, &holder, class, "priority");
	facts->status = int_of(heap, &holder, class, "threadStatus");
	p = field_of(heap, &holder, class, "daemon", TYPE_BOOLEAN);
	facts->daemon = p ? *p != 0 : -1;
}

void thread_facts(const struct heap *heap, const struct thread *thread, struct thread_facts *facts)
{
	*facts = (struct thread_facts){ .daemon = -1, .priority = -1, .status = -1, .state = -1, .number = -1 };
	facts->found = heap_find(heap, thread->id, &facts->object);
	/* A heap graph has fields, but no values. */
	if (!facts->found || facts->object.kind != OBJECT_INSTANCE || heap_graph_of(heap))
		return;
	const struct object *object = &facts->object;
	const struct class *class = ancestor(heap, object->class, "java.lang.Thread");
	if (!class)
		return;
	facts->thread_class = class;
	facts->virtual_class = ancestor(heap, object->class, "java.lang.VirtualThread");
	facts->is_virtual = ancestor(heap, object->class, "java.lang.BaseVirtualThread") != NULL;
	read_holder(heap, facts);
	const uint8_t *p = field_of(heap, object, class, "tid", TYPE_LONG);
	p = p ? p : field_of(heap, object, class, "id", TYPE_LONG);
	if (p && be64(p) <= INT64_MAX)
		facts->number = (int64_t)be64(p);
	p = field_of(heap, object, class, "eetop", TYPE_LONG);
	facts->native = p ? be64(p) : 0;
	if (facts->virtual_class) {
		facts->state = int_of(heap, object, facts->virtual_class, "state");
		p = field_of(heap, object, facts->virtual_class, "carrierThread", TYPE_OBJECT);
		facts->carrier = p ? read_id(p, heap->id_width) : 0;
	}
}

bool thread_name(const struct heap *heap, const struct thread_facts *facts, struct string *name)
{
	struct object value;
	const uint8_t *p = facts->thread_class ?
				   field_of(heap, &facts->object, facts->thread_class, "name", TYPE_OBJECT) :
				   NULL;
	if (!p || !heap_find(heap, read_id(p, heap->id_width), &value))
		return false;
	if (value.kind != OBJECT_PRIMITIVE_ARRAY || value.type != TYPE_CHAR)
		return heap_string(heap, &value, name);
	*name = (struct string){ value.data, value.length, STRING_UTF16_BE };
	return value.data_len >= 2 * (uint64_t)value.length;
}

struct name thread_started_name(const struct heap *heap, const struct thread *thread)
{
	const struct stacks *stacks = hprof_stacks(heap->hprof);
	struct started started;
	/* Serials are of the whole file, whose dumps may differ. */
	if (!stacks || !stack_started(heap->hprof, stacks, thread->serial, &started) || started.object != thread->id)
		return heap_name(heap, 0);
	return heap_name(heap, started.name);
}
