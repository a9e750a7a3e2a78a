/* SPDX-License-Identifier: Apache-2.0 */
/* mksample: writes a test dump by its kind. Without arguments it lists the kinds. */
#include "loli_writer.h"
#include "samples.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
	fprintf(stderr, "usage: mksample KIND FILE | mksample big|graph|loli COUNT FILE | mksample pictures COUNT SIDE FILE |\n"
			"       mksample loli-before|loli-after FILE\n"
			"kinds:\n");
	for (size_t i = 0; i < sample_count; i++)
		fprintf(stderr, "  %-20s%s\n", samples[i].kind, samples[i].what);
	return 2;
}

static bool parse(const char *text, uint64_t most, uint64_t *value)
{
	char *end;
	*value = strtoull(text, &end, 10);
	return end != text && !*end && *value <= most;
}

int main(int argc, char **argv)
{
	const char *path = argv[argc - 1];
	uint64_t count, side;
	int rc;
	const bool graph = argc == 4 && !strcmp(argv[1], "graph"), loli = argc == 4 && !strcmp(argv[1], "loli");
	if (graph || loli || (argc == 4 && !strcmp(argv[1], "big"))) {
		if (!parse(argv[2], UINT64_MAX, &count))
			return usage();
		rc = graph ? sample_graph(count, path) : loli ? sample_loli(count, path) : sample_big(count, path);
	} else if (argc == 5 && !strcmp(argv[1], "pictures")) {
		if (!parse(argv[2], UINT32_MAX, &count) || !parse(argv[3], 16384, &side))
			return usage();
		rc = sample_pictures((unsigned)count, (unsigned)side, path);
	} else if (argc == 3 && (!strcmp(argv[1], "loli-before") || !strcmp(argv[1], "loli-after"))) {
		struct writer out;
		(argv[1][5] == 'b' ? sample_loli_before : sample_loli_after)(&out);
		rc = writer_save(&out, path);
		writer_free(&out);
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
