/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin: which device, build and process an Android dump is of. All of it is optional: dumps made on a host
 * have none of it.
 */
#ifndef HEAPFS_ORIGIN_H
#define HEAPFS_ORIGIN_H

#include "heap/heap.h"

enum { ORIGIN_FINGERPRINT, ORIGIN_MANUFACTURER, ORIGIN_MODEL, ORIGIN_PROCESS, ORIGIN_PACKAGE, ORIGIN_STRINGS };
extern const char *const origin_keys[ORIGIN_STRINGS];

struct origin {
	uint32_t sdk;		/* API level, 0 if unknown */
	uint64_t version;	/* of the application (its versionCode), 0 if unknown */
	bool known[ORIGIN_STRINGS];
	struct string strings[ORIGIN_STRINGS];
};

void origin_of(const struct heap *heap, struct origin *origin);

#endif
