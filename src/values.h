/* SPDX-License-Identifier: Apache-2.0 */
/* values: what users write behind an option, for all programs. What is wrong, the caller says. */
#ifndef HEAPFS_VALUES_H
#define HEAPFS_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* A decimal number from `least` to `most`. */
bool value_number(const char *value, unsigned least, unsigned most, unsigned *number);
/* Bytes, with K, M or G behind them. */
bool value_size(const char *value, uint64_t *size);

#endif
