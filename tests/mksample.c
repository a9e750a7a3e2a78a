/* SPDX-License-Identifier: Apache-2.0 */
/* mksample: writes a test dump by its kind. Without arguments it lists the kinds. */
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
	fprintf(stderr, "usage: mksample KIND FILE | mksample big|graph OBJECTS FILE\nkinds:\n");
	for (size_t i = 0; i < sample_count; i++)
		fprintf(stderr, "  %-20s%s\n", samples[i].kind, samples[i].what);
	return 2;
}

int main(int argc, char **argv)
{
	const char *path = argv[argc - 1];
	int rc;
	const bool graph = argc == 4 && !strcmp(argv[1], "graph");
	if (graph || (argc == 4 && !strcmp(argv[1], "big"))) {
		char *end;
		const uint64_t objects = strtoull(argv[2], &end, 10);
		if (*end || end == argv[2])
			return usage();
		rc = graph ? sample_graph(objects, path) : sample_big(objects, path);
	} else {
		struct writer out;
		if (argc != 3 || !sample_make(argv[1], &out))
			return usage();
		rc = writer_save(&out, path);
		writer_free(&out);
	}
	if (rc)
		fprintf(stderr, "mksample: %s: %s\n", path, strerror(errno));
	return rc ? 1 : 0;
}
