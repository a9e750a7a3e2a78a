/* SPDX-License-Identifier: Apache-2.0 */
/* clock: milliseconds that nobody sets back, for deadlines. */
#ifndef HEAPFS_CLOCK_H
#define HEAPFS_CLOCK_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

static inline int64_t clock_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What is left until `end`, as poll() takes it: 0 when it is over. */
static inline int clock_left(int64_t end)
{
	const int64_t left = end - clock_ms();
	return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

#endif
