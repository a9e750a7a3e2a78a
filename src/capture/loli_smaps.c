/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/loli_smaps.h"

#include <stdlib.h>
#include <string.h>

struct smaps_place {
	struct smaps_range range;
	uint32_t section;
};

static bool hex(const char **at, uint64_t *value)
{
	const char *p = *at;
	uint64_t sum = 0;
	for (;; p++) {
		const int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
		if (digit < 0 || sum >> 60)
			break;
		sum = sum << 4 | (unsigned)digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*value = sum;
	return true;
}

static const char *skip_word(const char *p)
{
	p += strspn(p, " ");
	return p + strcspn(p, " ");
}

/* "start-end rights offset device inode   name", as proc(5) has it. The name, or NULL for another line. */
static const char *mapping_line(const char *line, struct smaps_range *range)
{
	const char *p = line;
	if (!hex(&p, &range->start) || *p++ != '-' || !hex(&p, &range->end) || *p++ != ' ')
		return NULL;
	p = skip_word(p);
	if (*p++ != ' ' || !hex(&p, &range->offset) || *p != ' ')
		return NULL;
	p = skip_word(p);	/* the device */
	p = skip_word(p);	/* the inode */
	return p + strspn(p, " ");
}

static struct smaps_section *section_of(struct loli_smaps *smaps, const char *name)
{
	const char *slash = strrchr(name, '/');
	if (*name != '[' && slash && slash > name)
		name = slash + 1;
	if (!*name)
		name = "anonymous";
	const size_t len = strlen(name);
	const uint32_t text = texts_put(&smaps->names, name, len);
	void *list = smaps->list;
	if (text == NUMBER_NONE)
		return NULL;
	if (text < smaps->count)
		return &smaps->list[text];
	if (!table_grow(&list, smaps->count, &smaps->capacity, sizeof *smaps->list))
		return NULL;
	smaps->list = list;
	smaps->list[smaps->count] = (struct smaps_section){ .text = text, .searched = len >= 3 && !strcmp(name + len - 3, ".so") };
	return &smaps->list[smaps->count++];
}

static void add_size(struct smaps_section *section, const char *line)
{
	static const char *const keys[SMAPS_SIZES] = { "Size:", "Rss:", "Pss:", "Private_Clean:", "Private_Dirty:",
						       "Shared_Clean:", "Shared_Dirty:" };
	for (unsigned i = 0; i < SMAPS_SIZES; i++)
		if (!strncmp(line, keys[i], strlen(keys[i])))
			section->kib[i] += (uint32_t)strtoull(line + strlen(keys[i]), NULL, 10);
}

static bool add_range(struct loli_smaps *smaps, struct smaps_section *section, struct smaps_range range)
{
	void *list = section->ranges;
	if (!table_grow(&list, section->count, &section->capacity, sizeof *section->ranges))
		return false;
	section->ranges = list;
	section->ranges[section->count++] = range;
	smaps->place_count += section->searched;
	if (!section->based && !range.offset) {
		section->based = true;
		section->base = range.start;
	}
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const struct smaps_place *x = a, *y = b;
	return x->range.start < y->range.start ? -1 : x->range.start > y->range.start;
}

bool loli_smaps_read(struct loli_smaps *smaps, FILE *text)
{
	struct smaps_section *section = NULL;
	char *line = NULL;
	size_t size = 0;
	bool good = true;
	*smaps = (struct loli_smaps){ .list = NULL };
	for (ssize_t len; good && (len = getline(&line, &size, text)) > 0;) {
		struct smaps_range range;
		while (len && strchr(" \r\n", line[len - 1])) /* also the end of a name */
			line[--len] = 0;
		const char *name = mapping_line(line, &range);
		if (name) {
			section = section_of(smaps, name);
			good = section && add_range(smaps, section, range);
		} else if (section) {
			add_size(section, line);
		}
	}
	free(line);
	smaps->places = reallocarray(NULL, smaps->place_count + 1, sizeof *smaps->places);
	smaps->place_count = 0;
	for (size_t i = 0; smaps->places && i < smaps->count; i++)
		for (size_t j = 0; smaps->list[i].searched && j < smaps->list[i].count; j++)
			smaps->places[smaps->place_count++] = (struct smaps_place){ smaps->list[i].ranges[j], (uint32_t)i };
	if (smaps->places)
		qsort(smaps->places, smaps->place_count, sizeof *smaps->places, compare_places);
	return good && smaps->places;
}

void loli_smaps_free(struct loli_smaps *smaps)
{
	for (size_t i = 0; i < smaps->count; i++)
		free(smaps->list[i].ranges);
	free(smaps->list);
	free(smaps->places);
	texts_free(&smaps->names);
	*smaps = (struct loli_smaps){ .list = NULL };
}

const struct smaps_section *loli_smaps_find(const struct loli_smaps *smaps, uint64_t address, uint64_t *relative)
{
	size_t low = 0, high = smaps->place_count;
	while (low < high) { /* the first that begins behind it */
		const size_t mid = low + (high - low) / 2;
		if (smaps->places[mid].range.start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || address >= smaps->places[low - 1].range.end)
		return NULL;
	const struct smaps_range range = smaps->places[low - 1].range;
	const struct smaps_section *section = &smaps->list[smaps->places[low - 1].section];
	*relative = address - (section->based ? section->base : range.start - range.offset);
	return section;
}
