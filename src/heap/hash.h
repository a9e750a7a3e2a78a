/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: 64 bits that tell contents apart, the same on every machine. Not against who means harm: two contents of
 * one hash can be made.
 */
#ifndef HEAPFS_HASH_H
#define HEAPFS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Continues a hash over more bytes; begin with any seed. Several gigabytes a second. */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

#endif
