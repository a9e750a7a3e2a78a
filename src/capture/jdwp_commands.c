/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: what is asked, and what is made of the answer. */
#include "capture/jdwp_packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUSPEND_NONE 0
#define SUSPEND_THREAD 1
#define SUSPEND_ALL 2
#define MODIFIER_COUNT 1
#define CLASS_INITIALIZED 4

/* What is not there is an error of its own; the connection is as it was. */
static int absent(struct jdwp *jdwp, const char *what, const char *name)
{
	jdwp->code = 0;
	snprintf(jdwp->error, sizeof jdwp->error, "the application's class has no %s %s", what, name);
	return -1;
}

static struct jdwp_out with_id(uint64_t id, unsigned size)
{
	struct jdwp_out out = { .len = 0 };
	jdwp_put(&out, id, size);
	return out;
}

static bool is_text(const char *text, uint32_t len, const char *wanted)
{
	return text && len == strlen(wanted) && !memcmp(text, wanted, len);
}

/* --- classes and their members --- */

int jdwp_class(struct jdwp *jdwp, const char *signature, uint64_t *class, bool *initialized)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	jdwp_put_text(&out, signature);
	*class = 0;
	if (jdwp_command(jdwp, VM_CLASSES, &out, &in))
		return -1;
	if (jdwp_get(&in, 4)) {
		jdwp_get(&in, 1); /* class or interface */
		*class = jdwp_get(&in, jdwp->type_size);
		const uint64_t status = jdwp_get(&in, 4);
		if (initialized)
			*initialized = status & CLASS_INITIALIZED;
	}
	return jdwp_check(jdwp, &in);
}

int jdwp_class_loader(struct jdwp *jdwp, uint64_t class, uint64_t *loader)
{
	const struct jdwp_out out = with_id(class, jdwp->type_size);
	struct jdwp_in in;
	if (jdwp_command(jdwp, TYPE_LOADER, &out, &in))
		return -1;
	*loader = jdwp_get(&in, jdwp->object_size);
	return jdwp_check(jdwp, &in);
}

int jdwp_method(struct jdwp *jdwp, uint64_t class, const char *name, const char *signature, uint64_t *method)
{
	const struct jdwp_out out = with_id(class, jdwp->type_size);
	struct jdwp_in in;
	bool found = false;
	if (jdwp_command(jdwp, TYPE_METHODS, &out, &in))
		return -1;
	const uint64_t methods = jdwp_get(&in, 4);
	for (uint64_t i = 0; i < methods && !in.bad && !found; i++) {
		uint32_t name_len, signature_len;
		*method = jdwp_get(&in, jdwp->method_size);
		const char *its_name = jdwp_get_text(&in, &name_len);
		const char *its_signature = jdwp_get_text(&in, &signature_len);
		jdwp_get(&in, 4); /* modifiers */
		found = is_text(its_name, name_len, name) && is_text(its_signature, signature_len, signature);
	}
	if (jdwp_check(jdwp, &in))
		return -1;
	return found ? 0 : absent(jdwp, "method", name);
}

int jdwp_fields(struct jdwp *jdwp, uint64_t class, const char *const *names, unsigned count, uint64_t *ids, bool *present)
{
	const struct jdwp_out out = with_id(class, jdwp->type_size);
	struct jdwp_in in;
	memset(present, 0, count * sizeof *present);
	if (jdwp_command(jdwp, TYPE_FIELDS, &out, &in))
		return -1;
	const uint64_t fields = jdwp_get(&in, 4);
	for (uint64_t i = 0; i < fields && !in.bad; i++) {
		uint32_t len, signature_len;
		const uint64_t id = jdwp_get(&in, jdwp->field_size);
		const char *name = jdwp_get_text(&in, &len);
		jdwp_get_text(&in, &signature_len);
		jdwp_get(&in, 4); /* modifiers */
		for (unsigned wanted = 0; wanted < count; wanted++)
			if (!present[wanted] && is_text(name, len, names[wanted])) {
				present[wanted] = true;
				ids[wanted] = id;
			}
	}
	return jdwp_check(jdwp, &in);
}

/* The values of fields, as both kinds of GetValues answer. */
static int read_values(struct jdwp *jdwp, struct jdwp_in *in, unsigned count, struct jdwp_value *values)
{
	if (jdwp_get(in, 4) != count)
		in->bad = true;
	for (unsigned i = 0; i < count; i++)
		values[i] = jdwp_get_value(jdwp, in);
	return jdwp_check(jdwp, in);
}

int jdwp_static_value(struct jdwp *jdwp, uint64_t class, uint64_t field, struct jdwp_value *value)
{
	struct jdwp_out out = with_id(class, jdwp->type_size);
	struct jdwp_in in;
	jdwp_put(&out, 1, 4);
	jdwp_put(&out, field, jdwp->field_size);
	return jdwp_command(jdwp, TYPE_VALUES, &out, &in) ? -1 : read_values(jdwp, &in, 1, value);
}

int jdwp_instances(struct jdwp *jdwp, uint64_t class, uint64_t **objects, size_t *count)
{
	struct jdwp_out out = with_id(class, jdwp->type_size);
	struct jdwp_in in;
	jdwp_put(&out, 0, 4); /* all */
	*objects = NULL;
	*count = 0;
	if (jdwp_command(jdwp, TYPE_INSTANCES, &out, &in))
		return -1;
	const uint64_t all = jdwp_get(&in, 4);
	if (all > (size_t)(in.end - in.at) / (1 + (size_t)jdwp->object_size))
		in.bad = true;
	if (jdwp_check(jdwp, &in))
		return -1;
	uint64_t *list = malloc((size_t)all * sizeof *list + 1);
	if (!list)
		return jdwp_lose(jdwp, JDWP_NO_MEMORY, "no memory for a list of %zu instances", (size_t)all);
	for (size_t i = 0; i < all; i++) {
		jdwp_get(&in, 1); /* the tag */
		list[i] = jdwp_get(&in, jdwp->object_size);
	}
	*objects = list;
	*count = (size_t)all;
	return 0;
}

/* --- objects --- */

int jdwp_string(struct jdwp *jdwp, const char *text, uint64_t *string)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	jdwp_put_text(&out, text);
	if (jdwp_command(jdwp, VM_STRING, &out, &in))
		return -1;
	*string = jdwp_get(&in, jdwp->object_size);
	return jdwp_check(jdwp, &in);
}

int jdwp_values(struct jdwp *jdwp, uint64_t object, const uint64_t *fields, unsigned count, struct jdwp_value *values)
{
	struct jdwp_out out = with_id(object, jdwp->object_size);
	struct jdwp_in in;
	jdwp_put(&out, count, 4);
	for (unsigned i = 0; i < count; i++)
		jdwp_put(&out, fields[i], jdwp->field_size);
	return jdwp_command(jdwp, OBJECT_VALUES, &out, &in) ? -1 : read_values(jdwp, &in, count, values);
}

int jdwp_array_length(struct jdwp *jdwp, uint64_t array, uint32_t *length)
{
	const struct jdwp_out out = with_id(array, jdwp->object_size);
	struct jdwp_in in;
	if (jdwp_command(jdwp, ARRAY_LENGTH, &out, &in))
		return -1;
	*length = (uint32_t)jdwp_get(&in, 4);
	return jdwp_check(jdwp, &in);
}

int jdwp_array_bytes(struct jdwp *jdwp, uint64_t array, uint32_t first, uint32_t count, uint8_t *bytes)
{
	struct jdwp_out out = with_id(array, jdwp->object_size);
	struct jdwp_in in;
	jdwp_put(&out, first, 4);
	jdwp_put(&out, count, 4);
	if (jdwp_command(jdwp, ARRAY_VALUES, &out, &in))
		return -1;
	if (jdwp_get(&in, 1) != 'B' || jdwp_get(&in, 4) != count || (size_t)(in.end - in.at) < count)
		in.bad = true;
	if (jdwp_check(jdwp, &in))
		return -1;
	memcpy(bytes, in.at, count);
	return 0;
}

int jdwp_collectable(struct jdwp *jdwp, uint64_t object, bool may)
{
	const struct jdwp_out out = with_id(object, jdwp->object_size);
	struct jdwp_in in;
	return jdwp_command(jdwp, may ? OBJECT_LET_GO : OBJECT_KEEP, &out, &in);
}

/* --- calls --- */

/* What was thrown, as "java.lang.IllegalStateException"; -1 only where the connection is lost. */
static int name_exception(struct jdwp *jdwp, uint64_t exception)
{
	struct jdwp_out out = with_id(exception, jdwp->object_size);
	struct jdwp_in in;
	char name[160] = "an exception";
	if (!jdwp_command(jdwp, OBJECT_TYPE, &out, &in)) {
		jdwp_get(&in, 1);
		out = with_id(jdwp_get(&in, jdwp->type_size), jdwp->type_size);
		if (!jdwp_check(jdwp, &in) && !jdwp_command(jdwp, TYPE_SIGNATURE, &out, &in)) {
			uint32_t len;
			const char *signature = jdwp_get_text(&in, &len);
			if (!jdwp_check(jdwp, &in) && len > 2 && len < sizeof name) {
				for (uint32_t i = 1; i + 1 < len; i++) /* without L and ; */
					name[i - 1] = signature[i] == '/'				   ? '.' :
						      signature[i] > ' ' && signature[i] <= '~' ? signature[i] :
												   '?';
				name[len - 2] = 0;
			}
		}
	}
	if (jdwp->lost)
		return -1;
	jdwp->code = 0;
	snprintf(jdwp->error, sizeof jdwp->error, "the call threw %s", name);
	return 0;
}

int jdwp_invoke(struct jdwp *jdwp, const struct jdwp_call *call, struct jdwp_value *value)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	const bool instance = call->object && !call->construct;
	if (instance)
		jdwp_put(&out, call->object, jdwp->object_size);
	else
		jdwp_put(&out, call->class, jdwp->type_size);
	jdwp_put(&out, call->thread, jdwp->object_size);
	if (instance)
		jdwp_put(&out, call->class, jdwp->type_size);
	jdwp_put(&out, call->method, jdwp->method_size);
	jdwp_put(&out, call->count, 4);
	for (unsigned i = 0; i < call->count; i++)
		jdwp_put_value(jdwp, &out, &call->arguments[i]);
	jdwp_put(&out, 0, 4); /* options: not INVOKE_SINGLE_THREADED */
	if (jdwp_command(jdwp, instance ? OBJECT_INVOKE : call->construct ? CLASS_CONSTRUCT : CLASS_INVOKE, &out, &in))
		return -1;
	const struct jdwp_value got = jdwp_get_value(jdwp, &in), exception = jdwp_get_value(jdwp, &in);
	if (jdwp_check(jdwp, &in))
		return -1;
	if (exception.bits) {
		name_exception(jdwp, exception.bits);
		return -1;
	}
	if (value)
		*value = got;
	return 0;
}

/* --- events --- */

int jdwp_request_entry(struct jdwp *jdwp, uint32_t *request)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	jdwp_put(&out, JDWP_METHOD_ENTRY, 1);
	jdwp_put(&out, SUSPEND_ALL, 1);
	jdwp_put(&out, 1, 4); /* one modifier: once */
	jdwp_put(&out, MODIFIER_COUNT, 1);
	jdwp_put(&out, 1, 4);
	if (jdwp_command(jdwp, EVENT_SET, &out, &in))
		return -1;
	*request = (uint32_t)jdwp_get(&in, 4);
	return jdwp_check(jdwp, &in);
}

int jdwp_clear_entry(struct jdwp *jdwp, uint32_t request)
{
	struct jdwp_out out = { .len = 0 };
	struct jdwp_in in;
	jdwp_put(&out, JDWP_METHOD_ENTRY, 1);
	jdwp_put(&out, request, 4);
	return jdwp_command(jdwp, EVENT_CLEAR, &out, &in);
}

int jdwp_resume(struct jdwp *jdwp, const struct jdwp_event *event)
{
	const struct jdwp_out out = with_id(event->thread, event->policy == SUSPEND_THREAD ? jdwp->object_size : 0);
	struct jdwp_in in;
	if (event->policy == SUSPEND_NONE)
		return 0;
	return jdwp_command(jdwp, event->policy == SUSPEND_THREAD ? THREAD_RESUME : VM_RESUME, &out, &in);
}
