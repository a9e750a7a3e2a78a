/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk: a tree looked at as far as a budget goes. What it promises is checked: what is listed is found, has the size
 * it says, a part of a file is as it is in the whole, and no link dangles. Ends the program otherwise.
 */
#ifndef HEAPFS_WALK_H
#define HEAPFS_WALK_H

#include "fixture.h"

/* Of `o` only the tree and the input are used. */
void walk_tree(const struct opened *o, unsigned nodes);

#endif
