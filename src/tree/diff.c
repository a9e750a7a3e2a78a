/* SPDX-License-Identifier: Apache-2.0 */
/* diff/: what has changed since a baseline. */
#include "tree/node.h"

bool has_baseline(const struct node *node)
{
	return node->tree->baseline != NULL;
}
