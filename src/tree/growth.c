/* SPDX-License-Identifier: Apache-2.0 */
/* How much more there is than in the baseline, in all. */
#include "tree/profile.h"

static uint64_t shallow_of(const struct heap *heap)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < heap->class_count; i++)
		bytes += heap->classes[i].shallow;
	return bytes;
}

static bool profile_held(const struct tree *tree, uint64_t *before, uint64_t *after)
{
	const struct loli *baseline = tree->source.baseline_profile;
	struct loli_both held, old;
	const int64_t *moment = baseline ? NULL : &tree->options.since_ms;
	if (!loli_held(tree->source.profile, moment, &held, NULL, NULL) ||
	    (baseline && !loli_held(baseline, NULL, &old, NULL, NULL)))
		return false;
	*before = baseline ? old.after.bytes : held.before.bytes;
	*after = held.after.bytes;
	return true;
}

int tree_compared(struct tree *tree, uint64_t *before, uint64_t *after)
{
	const uint64_t epoch = input_begin();
	if (tree->source.profile) {
		if (!(tree->source.baseline_profile || tree->options.since_given) || !profile_held(tree, before, after) ||
		    (tree->source.in->fd >= 0 && !input_unharmed(tree->source.profile->in, epoch)))
			return EIO;
		return 0;
	}
	if (!tree->baseline)
		return EIO;
	*before = shallow_of(tree->baseline->heap);
	*after = shallow_of(tree->dumps[0].heap);
	return 0;
}
