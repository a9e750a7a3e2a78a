/* SPDX-License-Identifier: Apache-2.0 */
/* pixels: the RGBA of PNG files, as libpng decodes them. */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t *read_all(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t capacity = 0;
	*len = 0;
	while (file && !feof(file) && !ferror(file)) {
		if (*len == capacity) {
			capacity = capacity ? 2 * capacity : 1 << 16;
			data = realloc(data, capacity);
			if (!data)
				abort();
		}
		*len += fread(data + *len, 1, capacity - *len, file);
	}
	const bool failed = !file || ferror(file);
	if (file)
		fclose(file);
	if (!failed)
		return data;
	free(data);
	return NULL;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		uint32_t width, height;
		size_t len;
		uint8_t *data = read_all(argv[i], &len), *rgba = data ? decode_png(data, len, &width, &height) : NULL;
		if (!rgba) {
			fprintf(stderr, "pixels: %s: %s\n", argv[i], data ? "libpng does not take it" : "cannot be read");
			return 1;
		}
		fwrite(rgba, 4, (size_t)width * height, stdout);
		free(rgba);
		free(data);
	}
	return fflush(stdout) ? 1 : 0;
}
