/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tree: any bytes as a dump, opened and walked as far as a budget goes. Beyond what the sanitizers see, the
 * tree's own promises are checked: see walk.h.
 *
 * Seeds: tests/mksample KIND FILE for the small kinds. Run with -max_len=65536.
 */
#include "walk.h"

#define NODES 600		/* looked at in all */
#define DUMPS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct opened o;
	if (size && !opened_some(&o, data, size, 1, DUMPS))
		walk_tree(&o, NODES);
	if (size)
		opened_close(&o);
	return 0;
}
