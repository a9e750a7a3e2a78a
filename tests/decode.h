/* SPDX-License-Identifier: Apache-2.0 */
/* decode: what others make of our pictures: libpng of a PNG, the rules of Android's documentation of raw pixels. */
#ifndef HEAPFS_DECODE_H
#define HEAPFS_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RGBA, to be freed; NULL where libpng does not take it. */
uint8_t *decode_png(const void *data, size_t len, uint32_t *width, uint32_t *height);

/* One pixel of so many bytes (1: ALPHA_8, 2: RGB_565, 4: ARGB_8888) as RGBA. */
void decode_pixel(const uint8_t *in, unsigned bytes, bool premultiplied, uint8_t rgba[4]);

#endif
