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

/* The same over one number. */
static inline uint64_t hash_word(uint64_t seed, uint64_t value)
{
	const unsigned __int128 product = (unsigned __int128)(seed ^ UINT64_C(0x9e3779b97f4a7c15)) * (value ^ UINT64_C(0xd6e8feb86659fd93));
	return ((uint64_t)product ^ (uint64_t)(product >> 64)) + value;
}

#endif
