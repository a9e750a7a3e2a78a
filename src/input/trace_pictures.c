/* SPDX-License-Identifier: Apache-2.0 */
#include "input/trace_state.h"

#include <string.h>

size_t trace_picture_count(const struct trace *trace)
{
	return trace->state->picture_count;
}

bool trace_picture_find(struct trace *trace, size_t number, struct trace_found *found)
{
	const struct found_picture *picture = &trace->state->pictures[number];
	trace->state->again_most = trace->state->again_most ? trace->state->again_most :
							      AGAIN_FLOOR + AGAIN_EACH * trace_estimate(trace);
	*found = (struct trace_found){ .pid = picture->pid, .len = picture->data.len, .offset = picture->data.offset,
				       .packed = picture->data.packed != 0, .name = trace_text(trace, &picture->name) };
	return found->name;
}

bool trace_picture_copy(struct trace *trace, size_t number, uint64_t from, size_t len, void *out)
{
	const struct place *place = &trace->state->pictures[number].data;
	trace->state->again_most = 0; /* whoever reads it again wants it inflated again */
	const uint8_t *data = from <= place->len && len <= place->len - from ? trace_bytes(trace, place) : NULL;
	if (data)
		memcpy(out, data + from, len);
	return data;
}
