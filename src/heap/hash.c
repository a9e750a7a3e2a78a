/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/hash.h"

#include "hprof/format.h"

#define ODD_1 UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */
#define ODD_2 UINT64_C(0xd6e8feb86659fd93)

/* All bits of the product of two words. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t a = seed ^ ODD_1, b = seed ^ ODD_2;
	/* Two lanes, so that one multiplication need not wait for the other. */
	for (; len >= 32; p += 32, len -= 32) {
		a = fold(be64(p) ^ ODD_2, be64(p + 8) ^ a);
		b = fold(be64(p + 16) ^ ODD_1, be64(p + 24) ^ b);
	}
	a ^= fold(b ^ ODD_1, (uint64_t)len ^ ODD_2);
	for (; len >= 8; p += 8, len -= 8)
		a = fold(a ^ be64(p), ODD_1);
	uint64_t tail = 0;
	for (size_t i = 0; i < len; i++)
		tail = tail << 8 | p[i];
	return fold(fold(a ^ tail, ODD_2), ODD_1 ^ (uint64_t)len);
}
