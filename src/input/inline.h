/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline: of functions that run for every object of a dump, which must be inlined: where arguments like the width of ids
 * are constants then, and nothing need go through memory. Left to themselves, compilers think them too long for that.
 */
#ifndef HEAPFS_INLINE_H
#define HEAPFS_INLINE_H

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

#endif
