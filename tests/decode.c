/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

uint8_t *decode_png(const void *data, size_t len, uint32_t *width, uint32_t *height)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	if (!png_image_begin_read_from_memory(&image, data, len))
		return NULL;
	image.format = PNG_FORMAT_RGBA;
	uint8_t *rgba = malloc(PNG_IMAGE_SIZE(image));
	if (!rgba || !png_image_finish_read(&image, NULL, rgba, 0, NULL)) {
		png_image_free(&image);
		free(rgba);
		return NULL;
	}
	*width = image.width;
	*height = image.height;
	return rgba;
}

/* 5 or 6 bits as 8, their highest ones repeated. */
static uint8_t widen(unsigned value, unsigned bits)
{
	return (uint8_t)(value << (8 - bits) | value >> (2 * bits - 8));
}

void decode_pixel(const uint8_t *in, unsigned bytes, bool premultiplied, uint8_t rgba[4])
{
	if (bytes == 1) {
		memset(rgba, 0, 3);
		rgba[3] = in[0];
	} else if (bytes == 2) {
		const unsigned value = in[0] + 256u * in[1];
		rgba[0] = widen(value / 2048, 5);
		rgba[1] = widen(value / 32 % 64, 6);
		rgba[2] = widen(value % 32, 5);
		rgba[3] = 255;
	} else {
		memcpy(rgba, in, 4);
		for (unsigned i = 0; i < 3 && premultiplied && in[3] >= 1 && in[3] <= 254; i++) {
			const unsigned colour = in[i] * 255u / in[3];
			rgba[i] = (uint8_t)(colour < 255 ? colour : 255);
		}
	}
}
