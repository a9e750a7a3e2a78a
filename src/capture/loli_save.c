/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/loli_save.h"

#include "input/le.h"
#include "loli/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define AGENT "libloli.so"
#define UNKNOWN "unknown"
#define TOP_LEAST 128	/* of LoliProfiler's chart, MiB: before the first sample, and after it */
#define TOP_SAMPLED 256
/* 16 bits at most tell a message's size. */
#define MESSAGE_MOST 65536

bool loli_samples_add(struct loli_samples *samples, const struct loli_sample *sample)
{
	void *list = samples->list;
	if (!table_grow(&list, samples->count, &samples->capacity, sizeof *samples->list))
		return false;
	samples->list = list;
	samples->list[samples->count++] = *sample;
	return true;
}

bool loli_samples_add_picture(struct loli_samples *samples, uint32_t seconds, const void *data, uint32_t len)
{
	loli_put_u32(samples->pictures, seconds);
	loli_put_u32(samples->pictures, len);
	fwrite(data, len, 1, samples->pictures);
	/* What is counted is in the file: a disk that is full later takes nothing of it. */
	const bool good = !fflush(samples->pictures) && !ferror(samples->pictures);
	samples->picture_count += good;
	return good;
}

void loli_samples_free(struct loli_samples *samples)
{
	free(samples->list);
	*samples = (struct loli_samples){ .list = NULL };
}

struct saving {
	FILE *out;
	struct loli_agent *agent;
	const struct loli_smaps *smaps;
	bool all;
	struct loli_saved *saved;
	uint64_t stacks;	/* records that have one */
	struct texts names;	/* of all libraries that are met */
	struct table places;	/* distinct addresses in them */
	struct loli_uuid first;	/* names of records count from it */
	uint8_t buffer[MESSAGE_MOST];
};

/* The next record that is wanted. */
static bool next_record(struct saving *saving, struct loli_message *message)
{
	while (loli_agent_next(saving->agent, saving->buffer, message)) {
		const bool freed = loli_message_freed(saving->agent, message);
		saving->saved->freed += freed;
		if (saving->all || !freed)
			return true;
	}
	return false;
}

/* A library by its name, with where in it the address is. */
struct frame {
	const char *name;
	size_t len;
	uint64_t address;
	const struct smaps_section *section; /* NULL: unknown */
};

static struct frame frame_at(const struct saving *saving, const struct loli_message *message, uint32_t i)
{
	struct frame frame = { UNKNOWN, sizeof UNKNOWN - 1, le64(message->frames + 8 * (size_t)i), NULL };
	frame.section = loli_smaps_find(saving->smaps, frame.address, &frame.address);
	if (frame.section) {
		const struct text_entry text = saving->smaps->names.list[frame.section->text];
		frame.name = text.data;
		frame.len = text.len;
	}
	return frame;
}

/* Where a record was allocated: the innermost frame that is not the agent's own, or the last one. */
static struct frame frame_of(const struct saving *saving, const struct loli_message *message)
{
	struct frame frame = { message->lib, message->lib_len, 0, NULL };
	for (uint32_t i = 0; message->stack && i < message->frame_count; i++) {
		frame = frame_at(saving, message, i);
		if (frame.len != sizeof AGENT - 1 || memcmp(frame.name, AGENT, frame.len))
			break;
	}
	return frame;
}

/* Counts, and finds names and places. False without memory. */
static bool survey(struct saving *saving)
{
	struct loli_message message;
	while (saving->saved->records < INT32_MAX && next_record(saving, &message)) {
		saving->saved->records++;
		saving->saved->bytes += message.size;
		saving->stacks += message.stack;
		if (!message.stack && texts_put(&saving->names, message.lib, message.lib_len) == NUMBER_NONE)
			return false;
		for (uint32_t i = 0; i < message.frame_count; i++) {
			const struct frame frame = frame_at(saving, &message, i);
			if (texts_put(&saving->names, frame.name, frame.len) == NUMBER_NONE)
				return false;
			saving->saved->unresolved += !frame.section;
			uint32_t *place = !frame.section ? NULL : table_put(&saving->places, (struct table_key){
						frame.address, frame.section->text });
			if (frame.section && !place)
				return false;
			if (place)
				*place = frame.section->text;
		}
	}
	return true;
}

static void put_series(struct saving *saving, const struct loli_samples *samples)
{
	uint32_t top = samples->count ? TOP_SAMPLED : TOP_LEAST;
	for (size_t i = 0; i < samples->count; i++) {
		const uint32_t total = samples->list[i].mib[0], above = total + total / 5;
		top = above > top && above <= INT32_MAX ? above : top;
	}
	loli_put_u32(saving->out, top);
	loli_put_u32(saving->out, LOLI_SERIES_COUNT);
	for (unsigned i = 0; i < LOLI_SERIES_COUNT; i++) {
		loli_put_u32(saving->out, (uint32_t)samples->count);
		for (size_t j = 0; j < samples->count; j++) {
			loli_put_real(saving->out, samples->list[j].seconds);
			loli_put_real(saving->out, samples->list[j].mib[i]);
		}
	}
}

/* Two names of one key would be one to every reader, so the second is left out, as in LoliProfiler. */
static bool put_names(struct saving *saving)
{
	struct table keys = { .slots = NULL };
	bool good = true;
	for (unsigned pass = 0; pass < 2 && good; pass++) {
		if (pass)
			loli_put_u32(saving->out, (uint32_t)keys.count);
		for (uint32_t i = 0; i < saving->names.count && good; i++) {
			const struct text_entry text = saving->names.list[i];
			const uint32_t key = loli_hash(text.data, text.len);
			uint32_t *first = table_put(&keys, (struct table_key){ key, 0 });
			good = first;
			if (first && *first == NUMBER_NONE)
				*first = i;
			if (pass && *first == i) {
				loli_put_u32(saving->out, key);
				loli_put_text(saving->out, text.data, text.len);
			}
		}
	}
	table_free(&keys);
	return good;
}

static void put_name_of(const struct saving *saving, uint64_t record)
{
	/* Version 4, variant 1, as a random one has (RFC 9562). */
	const struct loli_uuid uuid = { (saving->first.high & ~UINT64_C(0xf000)) | 0x4000,
					((saving->first.low + record) & (UINT64_MAX >> 2)) | UINT64_C(1) << 63 };
	loli_put_uuid(saving->out, uuid);
}

static bool put_records(struct saving *saving)
{
	struct loli_message message;
	uint64_t i = 0;
	loli_put_u32(saving->out, (uint32_t)saving->saved->records);
	for (; i < saving->saved->records && next_record(saving, &message); i++) {
		const struct frame frame = frame_of(saving, &message);
		put_name_of(saving, i);
		loli_put_u32(saving->out, message.seq);
		loli_put_u32(saving->out, (uint32_t)message.time_ms);
		loli_put_u32(saving->out, message.size);
		loli_put_u64(saving->out, message.address);
		loli_put_u64(saving->out, frame.address);
		loli_put_u32(saving->out, loli_hash(frame.name, frame.len));
	}
	return i == saving->saved->records;
}

static bool put_stacks(struct saving *saving)
{
	struct loli_message message;
	uint64_t i = 0;
	loli_put_u32(saving->out, (uint32_t)saving->stacks);
	for (; i < saving->saved->records && next_record(saving, &message); i++) {
		if (!message.stack)
			continue;
		put_name_of(saving, i);
		loli_put_u32(saving->out, message.frame_count);
		for (uint32_t j = 0; j < message.frame_count; j++) {
			const struct frame frame = frame_at(saving, &message, j);
			loli_put_u32(saving->out, loli_hash(frame.name, frame.len));
			loli_put_u64(saving->out, frame.address);
		}
	}
	return i == saving->saved->records;
}

static int compare_places(const void *a, const void *b)
{
	const struct table_key *x = a, *y = b;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return x->a < y->a ? -1 : x->a > y->a;
}

/* All places, each with an empty name: LoliProfiler fills in those that are there (LoadSymbolFile). */
static bool put_symbols(struct saving *saving)
{
	size_t count = 0;
	uint32_t libraries = 0;
	struct table_key *list = reallocarray(NULL, saving->places.count + 1, sizeof *list);
	for (size_t i = 0; list && i < saving->places.slot_count; i++)
		if (saving->places.slots[i].value != NUMBER_NONE)
			list[count++] = saving->places.slots[i].key;
	if (!list)
		return false;
	qsort(list, count, sizeof *list, compare_places);
	for (size_t i = 0; i < count; i++)
		libraries += !i || list[i].b != list[i - 1].b;
	loli_put_u32(saving->out, libraries);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && list[end].b == list[i].b;)
			end++;
		const struct text_entry name = saving->smaps->names.list[list[i].b];
		loli_put_text(saving->out, name.data, name.len);
		loli_put_u32(saving->out, (uint32_t)(end - i));
		for (size_t j = i; j < end; j++) {
			loli_put_u64(saving->out, list[j].a);
			loli_put_text(saving->out, "", 0);
		}
	}
	free(list);
	return true;
}

static void put_frees(struct saving *saving)
{
	const struct table *freed = &saving->agent->freed;
	loli_put_u32(saving->out, (uint32_t)freed->count);
	for (size_t i = 0; i < freed->slot_count; i++)
		if (freed->slots[i].value != NUMBER_NONE) {
			loli_put_u64(saving->out, freed->slots[i].key.a);
			loli_put_u32(saving->out, freed->slots[i].value);
		}
}

/* Their file has them as the profile does. */
static bool put_pictures(struct saving *saving, struct loli_samples *samples)
{
	loli_put_u32(saving->out, samples->picture_count);
	if (!samples->picture_count)
		return true;
	fflush(samples->pictures); /* the rest of one that was not counted, if any */
	clearerr(samples->pictures);
	if (fseeko(samples->pictures, 0, SEEK_SET))
		return false;
	for (uint32_t i = 0; i < samples->picture_count; i++) {
		if (fread(saving->buffer, 8, 1, samples->pictures) != 1)
			return false;
		fwrite(saving->buffer, 8, 1, saving->out);
		for (uint64_t left = be32(saving->buffer + 4), part; left; left -= part) {
			part = left < sizeof saving->buffer ? left : sizeof saving->buffer;
			if (fread(saving->buffer, (size_t)part, 1, samples->pictures) != 1)
				return false;
			fwrite(saving->buffer, (size_t)part, 1, saving->out);
		}
	}
	return true;
}

static void put_smaps(struct saving *saving)
{
	const struct loli_smaps *smaps = saving->smaps;
	loli_put_u32(saving->out, (uint32_t)smaps->count);
	for (size_t i = 0; i < smaps->count; i++) {
		const struct smaps_section *section = &smaps->list[i];
		const struct text_entry name = smaps->names.list[section->text];
		loli_put_text(saving->out, name.data, name.len);
		loli_put_u32(saving->out, (uint32_t)section->count);
		for (size_t j = 0; j < section->count; j++) {
			loli_put_u64(saving->out, section->ranges[j].start);
			loli_put_u64(saving->out, section->ranges[j].end);
			loli_put_u64(saving->out, section->ranges[j].offset);
		}
		for (unsigned j = 0; j < SMAPS_SIZES; j++)
			loli_put_u32(saving->out, section->kib[j]);
	}
}

static int fail(char *error, size_t error_size, const char *what, int number)
{
	snprintf(error, error_size, "%s: %s", what, strerror(number));
	return -1;
}

int loli_save(FILE *out, struct loli_agent *agent, const struct loli_smaps *smaps, struct loli_samples *samples, bool all,
	      struct loli_saved *saved, char *error, size_t error_size)
{
	static const char again[] = "cannot read the temporary file";
	struct saving *saving = calloc(1, sizeof *saving);
	bool memory = saving, read = true;
	*saved = (struct loli_saved){ 0 };
	if (saving) {
		*saving = (struct saving){ .out = out, .agent = agent, .smaps = smaps, .all = all, .saved = saved };
		if (getrandom(&saving->first, sizeof saving->first, GRND_NONBLOCK) < 0)
			saving->first = (struct loli_uuid){ (uint64_t)(uintptr_t)saving, agent->bytes };
		read = loli_agent_rewind(agent);
		memory = read && survey(saving);
	}
	const uint64_t freed = saved->freed;
	if (memory) {
		loli_put_u32(out, LOLI_MAGIC);
		loli_put_u32(out, LOLI_VERSION);
		put_series(saving, samples);
		memory = put_names(saving);
		read = loli_agent_rewind(agent) && put_records(saving) && loli_agent_rewind(agent) && put_stacks(saving);
		memory = memory && put_symbols(saving);
		put_frees(saving);
		read = put_pictures(saving, samples) && read;
		put_smaps(saving);
	}
	saved->freed = freed;
	if (saving) {
		texts_free(&saving->names);
		table_free(&saving->places);
	}
	free(saving);
	if (!read)
		return fail(error, error_size, again, errno ? errno : EIO);
	if (!memory)
		return fail(error, error_size, "cannot save", ENOMEM);
	if (fflush(out) || ferror(out))
		return fail(error, error_size, "cannot write the profile", errno ? errno : EIO);
	return 0;
}
