/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pictures: compressed pictures of any size, as Android would have put them into a dump. Real decoders take them.
 */
#ifndef HEAPFS_PICTURES_H
#define HEAPFS_PICTURES_H

#include "writer.h"

enum picture_form {
	FORM_PNG,
	FORM_JPEG,		/* baseline */
	FORM_JPEG_EXIF,		/* behind a long APP1 that holds a smaller picture */
	FORM_JPEG_PROGRESSIVE,
	FORM_VP8,		/* WebP, lossy */
	FORM_VP8L,		/* WebP, lossless */
	FORM_VP8X,		/* WebP with a header for more than pixels */
	FORM_VP8L_LEAST,	/* WebP of 28 bytes, as few as there can be: black */
	PICTURE_FORMS
};

/* RGBA rows from the top. */
void put_png(struct writer *out, unsigned width, unsigned height, const uint8_t *rgba);
/* Other pixels with another `seed`. Height and width of at most 16383. */
void put_picture(struct writer *out, enum picture_form form, unsigned width, unsigned height, unsigned seed);

/* Bytes that look like pixels of any layout: every alpha, premultiplied or not. */
void fill_pixels(uint8_t *data, size_t len, unsigned seed);

#endif
