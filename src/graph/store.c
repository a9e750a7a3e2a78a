/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/store.h"

#include "input/spill.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of an array from which on large pages are asked for. */
#define LARGE (UINT64_C(8) << 20)

/* The first number behind `key` in a file, in bytes; UINT64_MAX if there is none. */
static uint64_t number_in(const char *path, const char *key, uint64_t unit)
{
	char line[256];
	uint64_t value, found = UINT64_MAX;
	FILE *file = fopen(path, "re");
	while (file && found == UINT64_MAX && fgets(line, sizeof line, file))
		if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), "%" SCNu64, &value) == 1)
			found = value * unit;
	if (file)
		fclose(file);
	return found;
}

/* The two kinds of control groups: how a line of /proc/self/cgroup names one, and where its figures are. */
static const struct hierarchy {
	const char *line;	/* what stands before the group's path, behind the number */
	const char *folder, *limit, *usage, *active, *inactive;
} hierarchies[] = {
	{ "::", "/sys/fs/cgroup", "memory.max", "memory.current", "active_file ", "inactive_file " },
	{ ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file ",
	  "total_inactive_file " },
};

static uint64_t figure(const struct hierarchy *hierarchy, const char *group, const char *file, const char *key)
{
	char path[1024];
	snprintf(path, sizeof path, "%s%s/%s", hierarchy->folder, group, file);
	return number_in(path, key, 1);
}

/* What one group leaves of its memory; UINT64_MAX where it has no limit. What is cached of files gives way. */
static uint64_t left_of(const struct hierarchy *hierarchy, const char *group)
{
	const uint64_t limit = figure(hierarchy, group, hierarchy->limit, "");
	const uint64_t active = figure(hierarchy, group, "memory.stat", hierarchy->active);
	const uint64_t inactive = figure(hierarchy, group, "memory.stat", hierarchy->inactive);
	uint64_t used = figure(hierarchy, group, hierarchy->usage, "");
	if (limit == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	const uint64_t cached = active == UINT64_MAX || inactive == UINT64_MAX ? 0 : active + inactive;
	used -= cached < used ? cached : used;
	return used < limit ? limit - used : 0;
}

/* What the control groups leave of the memory, where they have limits: a container sees all of the machine's otherwise. */
static uint64_t group_left(void)
{
	char line[512];
	uint64_t least = UINT64_MAX;
	FILE *file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof line, file)) {
		char *colon = strchr(line, ':');
		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; colon && i < sizeof hierarchies / sizeof *hierarchies; i++) {
			const size_t skip = strlen(hierarchies[i].line);
			if (strncmp(colon, hierarchies[i].line, skip))
				continue;
			/* A limit may stand at any level above, and in a container the group's own is at the top. */
			char *const group = colon + skip;
			for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
				*end = 0;
				const uint64_t left = left_of(&hierarchies[i], group);
				least = left < least ? left : least;
			}
		}
	}
	if (file)
		fclose(file);
	return least;
}

uint64_t store_default_limit(void)
{
	const uint64_t free_here = number_in("/proc/meminfo", "MemAvailable:", 1024), group = group_left();
	const uint64_t least = group < free_here ? group : free_here;
	return least == UINT64_MAX ? UINT64_C(1) << 30 : least / 4;
}

static uint64_t pages(uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	return (bytes + !bytes + page - 1) / page * page;
}

static void *map_file(const struct store *store, uint64_t bytes)
{
	struct spill spill;
	char error[512];
	void *items = MAP_FAILED;
	if (spill_open(&spill, store->folder, NULL, 0, "", error, sizeof error))
		return items;
	/* Room is taken now: a page that finds none later is a SIGBUS. */
	if (!posix_fallocate(spill.fd, 0, (off_t)bytes))
		items = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, spill.fd, 0);
	spill_close(&spill);
	return items;
}

void *store_get_sparse(struct store *store, uint64_t count, uint64_t size)
{
	if (count > (UINT64_C(1) << 47) / size)
		return NULL;
	const uint64_t bytes = pages(count * size);
	void *items;
	if (store->used - store->in_files + bytes > store->limit) {
		void **files = reallocarray(store->files, store->file_count + 1, sizeof *files);
		if (!files)
			return NULL;
		store->files = files;
		items = map_file(store, bytes);
		if (items == MAP_FAILED)
			return NULL;
		files[store->file_count++] = items;
		store->in_files += bytes;
	} else {
		items = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (items == MAP_FAILED)
			return NULL;
	}
	store->used += bytes;
	return items;
}

void *store_get(struct store *store, uint64_t count, uint64_t size)
{
	const size_t files = store->file_count;
	void *items = store_get_sparse(store, count, size);
	if (items && store->file_count == files && count * size >= LARGE)
		madvise(items, count * size, MADV_HUGEPAGE); /* where it cannot be, nothing is lost */
	return items;
}

void store_trim(void *items, uint64_t used, uint64_t count, uint64_t size)
{
	const uint64_t kept = pages(used * size), all = pages(count * size);
	if (kept < all)
		madvise((char *)items + kept, all - kept, MADV_DONTNEED);
}

void store_put(struct store *store, void *items, uint64_t count, uint64_t size)
{
	if (!items)
		return;
	munmap(items, pages(count * size));
	store->used -= pages(count * size);
	for (size_t i = 0; i < store->file_count; i++)
		if (store->files[i] == items) {
			store->files[i] = store->files[--store->file_count];
			store->in_files -= pages(count * size);
			break;
		}
}

void store_close(struct store *store)
{
	free(store->files);
	store->files = NULL;
}
