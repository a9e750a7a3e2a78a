/* SPDX-License-Identifier: Apache-2.0 */
/* le: little-endian numbers, as gzip, WebP and LoliProfiler's agent have them. HPROF's are big-endian: see hprof/format.h. */
#ifndef HEAPFS_LE_H
#define HEAPFS_LE_H

#include <stdint.h>

static inline uint32_t le16(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t le24(const uint8_t *p)
{
	return le16(p) | (uint32_t)p[2] << 16;
}

static inline uint32_t le32(const uint8_t *p)
{
	return le24(p) | (uint32_t)p[3] << 24;
}

static inline uint64_t le64(const uint8_t *p)
{
	return le32(p) | (uint64_t)le32(p + 4) << 32;
}

#endif
