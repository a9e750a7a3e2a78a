/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LoliProfiler's agent sends: messages in any order, packets in any pieces, damaged ones, what is no agent's stream at
 * all; mappings; and what is saved of it, read again.
 */
#include "capture/loli_save.h"
#include "fixture.h"
#include "loli/sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_LZ4
#include <lz4.h>
#endif

#include <cmocka.h>

/* --- what the agent sends; all little-endian, as this machine is --- */

static void put_le(struct writer *w, uint64_t value, unsigned size)
{
	for (; size--; value >>= 8)
		put_u1(w, value & 0xff);
}

static void put_free(struct writer *w, uint32_t seq, uint64_t address)
{
	put_le(w, 13, 2);
	put_u1(w, 0);
	put_le(w, seq, 4);
	put_le(w, address, 8);
}

static void put_allocation(struct writer *w, uint32_t seq, uint32_t size, uint64_t address, const uint64_t *frames,
			   unsigned count)
{
	put_le(w, 26 + 8 * count, 2);
	put_u1(w, 1);
	put_le(w, seq, 4);
	put_le(w, 10 * (uint64_t)seq, 8);
	put_le(w, size, 4);
	put_le(w, address, 8);
	put_u1(w, 1);
	for (unsigned i = 0; i < count; i++)
		put_le(w, frames[i], 8);
}

static void put_stackless(struct writer *w, uint32_t seq, uint32_t size, uint64_t address, const char *library)
{
	const size_t len = strlen(library);
	put_le(w, 28 + len, 2);
	put_u1(w, 2);
	put_le(w, seq, 4);
	put_le(w, 10 * (uint64_t)seq, 8);
	put_le(w, size, 4);
	put_le(w, address, 8);
	put_u1(w, 0);
	put_le(w, len, 2);
	put_bytes(w, library, len);
}

/* The messages as a packet; `lie` is added to the size that it claims for them. */
static void put_packet(struct writer *out, const struct writer *messages, int lie)
{
#ifdef HAVE_LZ4
	char block[65536];
	const int len = LZ4_compress_default((const char *)messages->data, block, (int)messages->len, sizeof block);
	assert_true(len > 0);
	put_le(out, 8 + (uint64_t)len, 4);
	put_le(out, 0, 4);
	put_le(out, messages->len + (uint64_t)(int64_t)lie, 4);
	put_bytes(out, block, (size_t)len);
#else
	(void)out;
	(void)messages;
	(void)lie;
	skip();
#endif
}

/* A packet of one message, made by the caller. */
static void put_alone(struct writer *out, struct writer *message)
{
	put_packet(out, message, 0);
	writer_free(message);
	writer_init(message, 8);
}

static const uint64_t stack[] = { 0x7000001230, 0x7000101400, 0x7000201010, 0x123 };

/*
 * Two packets: the newest messages first. 1 was freed by 3, and its block given to 4; 2 is live; 5 has no stack; 6 is a
 * free of what was never told; 7 was freed by a free of its own number, so it is live.
 */
static void small_stream(struct writer *out)
{
	struct writer m;
	writer_init(out, 8);
	writer_init(&m, 8);
	put_allocation(&m, 4, 400, 0xa000, stack, 4);
	put_stackless(&m, 5, 500, 0xc000, "libgame.so");
	put_free(&m, 6, 0xd000);
	put_allocation(&m, 7, 700, 0xe000, stack, 1);
	put_free(&m, 7, 0xe000);
	put_alone(out, &m);
	put_allocation(&m, 1, 100, 0xa000, stack, 4);
	put_allocation(&m, 2, 200, 0xb000, stack + 1, 3);
	put_free(&m, 3, 0xa000);
	put_alone(out, &m);
	writer_free(&m);
}

static void open_agent(struct loli_agent *agent)
{
	char error[256] = "";
	assert_int_equal(loli_agent_open(agent, "/tmp", error, sizeof error), 0);
}

/* --- mappings --- */

static const char smaps_text[] =
	"7000000000-7000002000 r-xp 00000000 fd:01 1                              /data/app/~~a/lib dir/libloli.so\n"
	"Size:                  8 kB\n"
	"Rss:                   7 kB\n"
	"Pss:                   6 kB\n"
	"Shared_Clean:          5 kB\n"
	"Shared_Dirty:          4 kB\n"
	"Private_Clean:         3 kB\n"
	"Private_Dirty:         2 kB\n"
	"VmFlags: rd ex mr mw me\n"
	"7000100000-7000101000 r--p 00000000 fd:01 2   /data/app/libgame.so\n"
	"Size:                  4 kB\r\n"
	"7000101000-7000102000 r-xp 00000400 fd:01 2   /data/app/libgame.so\n"
	"Size:                 40 kB\n"
	"7000200000-7000201000 r--p 00003000 fd:01 3   /vendor/liblate.so\n"
	"7000201000-7000203000 r-xp 00004000 fd:01 3   /vendor/liblate.so\n"
	"7000300000-7000301000 r-xp 00000000 fd:01 4   /lib/libc.so.6\n"
	"7000400000-7000401000 rw-p 00000000 00:00 0 \n"
	"7000402000-7000403000 rw-p 00000000 00:00 0                              [anon:libc_malloc]\n"
	"7000500000-7000501000 r-xp 00000000 fd:01 5   /other/libgame.so\n"
	"garbage\n"
	"70-71 r-xp\n"
	"7000600000-7000601000 r-xp 00000000 fd:01 6   /x/libgone.so (deleted)";

static void read_smaps(struct loli_smaps *smaps)
{
	FILE *text = fmemopen((void *)(uintptr_t)smaps_text, sizeof smaps_text - 1, "r");
	assert_non_null(text);
	assert_true(loli_smaps_read(smaps, text));
	fclose(text);
}

static const struct smaps_section *find(const struct loli_smaps *smaps, const char *name)
{
	const uint32_t text = texts_find(&smaps->names, name, strlen(name));
	return text == NUMBER_NONE ? NULL : &smaps->list[text];
}

static void check_place(const struct loli_smaps *smaps, uint64_t address, const char *name, uint64_t expected)
{
	uint64_t relative = 0;
	const struct smaps_section *section = loli_smaps_find(smaps, address, &relative);
	assert_ptr_equal(section, name ? find(smaps, name) : NULL);
	if (name)
		assert_int_equal(relative, expected);
}

static void test_smaps(void **state)
{
	struct loli_smaps smaps;
	(void)state;
	read_smaps(&smaps);
	assert_int_equal(smaps.count, 7);
	const struct smaps_section *loli = find(&smaps, "libloli.so"), *game = find(&smaps, "libgame.so");
	for (unsigned i = 0; i < SMAPS_SIZES; i++)
		assert_int_equal(loli->kib[i], ((const uint32_t[]){ 8, 7, 6, 3, 2, 5, 4 })[i]);
	assert_int_equal(game->count, 3); /* of two files of one name */
	assert_int_equal(game->kib[SMAPS_VIRTUAL], 44);
	assert_int_equal(find(&smaps, "anonymous")->count, 1);
	assert_non_null(find(&smaps, "[anon:libc_malloc]"));
	check_place(&smaps, 0x7000001230, "libloli.so", 0x1230);
	check_place(&smaps, 0x7000101400, "libgame.so", 0x1400); /* not 0x800: from the first range on */
	check_place(&smaps, 0x7000201010, "liblate.so", 0x4010); /* no range of offset 0 */
	check_place(&smaps, 0x7000101fff, "libgame.so", 0x1fff);
	check_place(&smaps, 0x7000102000, NULL, 0);
	check_place(&smaps, 0x6fffffffff, NULL, 0);
	check_place(&smaps, 0x7000300010, NULL, 0);	/* not .so at its end */
	check_place(&smaps, 0x7000600010, NULL, 0);
	check_place(&smaps, UINT64_MAX, NULL, 0);
	loli_smaps_free(&smaps);
}

/* --- the stream --- */

static void check_small(const struct loli_agent *agent)
{
	assert_string_equal(agent->problem, "");
	assert_int_equal(agent->packets, 2);
	assert_int_equal(agent->allocations, 5);
	assert_int_equal(agent->frees, 3);
	assert_int_equal(agent->allocated, 1900);
	assert_int_equal(agent->damaged_packets + agent->damaged_messages + agent->unknown_packets, 0);
	assert_int_equal(agent->repeated, 1); /* 7 */
	assert_int_equal(agent->freed.count, 3);
	assert_false(agent->smaps_dumped);
}

/* Cut in two at each byte, and in pieces of each size. */
static void test_pieces(void **state)
{
	struct loli_agent agent;
	struct writer w;
	(void)state;
	small_stream(&w);
	for (size_t cut = 0; cut <= w.len; cut++) {
		open_agent(&agent);
		assert_true(loli_agent_feed(&agent, w.data, cut));
		assert_true(loli_agent_feed(&agent, w.data + cut, w.len - cut));
		loli_agent_ended(&agent);
		assert_false(agent.cut);
		check_small(&agent);
		loli_agent_close(&agent);
	}
	for (size_t size = 1; size < 40; size++) {
		open_agent(&agent);
		for (size_t at = 0; at < w.len; at += size)
			assert_true(loli_agent_feed(&agent, w.data + at, w.len - at < size ? w.len - at : size));
		check_small(&agent);
		loli_agent_close(&agent);
	}
	writer_free(&w);
}

/* A connection that ends inside a packet: what is whole counts, and the next connection begins with a packet. */
static void test_ended(void **state)
{
	struct loli_agent agent;
	struct writer w;
	(void)state;
	small_stream(&w);
	for (size_t cut = 1; cut < w.len; cut++) {
		open_agent(&agent);
		assert_true(loli_agent_feed(&agent, w.data, cut));
		const uint64_t packets = agent.packets;
		loli_agent_ended(&agent);
		assert_true(loli_agent_feed(&agent, w.data, w.len));
		assert_int_equal(agent.packets, packets + 2);
		assert_int_equal(agent.damaged_packets + agent.damaged_messages, 0);
		loli_agent_close(&agent);
	}
	writer_free(&w);
}

/* What is wrong inside a packet is counted, and the next packet is read. */
static void test_damage(void **state)
{
	struct loli_agent agent;
	struct writer w, m, small;
	(void)state;
	small_stream(&small);
	writer_init(&w, 8);
	writer_init(&m, 8);
	put_free(&m, 90, 1);
	put_packet(&w, &m, 1);			/* claims one byte more than it has, … */
	put_packet(&w, &m, -1);			/* … less, … */
	put_packet(&w, &m, 0x7fffffff);		/* … far more */
	writer_free(&m);
	writer_init(&m, 8);
	put_le(&m, 0, 2);			/* an empty message, … */
	put_le(&m, 12, 2), put_zeros(&m, 12);	/* … a short free, … */
	put_le(&m, 14, 2), put_zeros(&m, 14);	/* … a long one, … */
	put_le(&m, 25, 2), put_u1(&m, 1), put_zeros(&m, 24);			/* … a short allocation, … */
	put_le(&m, 34, 2), put_u1(&m, 1), put_zeros(&m, 24), put_u1(&m, 1), put_zeros(&m, 8);	/* (one that is whole) */
	put_le(&m, 30, 2), put_u1(&m, 1), put_zeros(&m, 24), put_u1(&m, 1), put_zeros(&m, 4);	/* … half a frame, … */
	put_le(&m, 27, 2), put_u1(&m, 1), put_zeros(&m, 26);	/* … half a size of a name, … */
	put_le(&m, 28, 2), put_u1(&m, 1), put_zeros(&m, 25), put_le(&m, 9, 2);	/* … a name behind the end, … */
	put_le(&m, 26, 2), put_u1(&m, 1), put_zeros(&m, 24), put_u1(&m, 7);	/* … of no known kind, … */
	put_le(&m, 500, 2), put_zeros(&m, 30);	/* … one that runs past the packet */
	put_alone(&w, &m);
	put_le(&w, 6, 4), put_le(&w, 0, 4), put_le(&w, 1, 2);	/* data without its size */
	put_le(&w, 2, 4), put_le(&w, 0, 2);			/* a packet without a type */
	put_le(&w, 0, 4);					/* an empty one */
	put_le(&w, 5, 4), put_le(&w, 9, 4), put_u1(&w, 1);	/* a type that is not known */
	put_le(&w, 8, 4), put_le(&w, 1, 4), put_le(&w, 5, 4);	/* a command that is not known */
	put_bytes(&w, small.data, small.len);
	put_le(&w, 8, 4), put_le(&w, 1, 4), put_le(&w, 0, 4);
	open_agent(&agent);
	assert_true(loli_agent_feed(&agent, w.data, w.len));
	assert_int_equal(agent.damaged_packets, 4);
	assert_int_equal(agent.damaged_messages, 9);
	assert_int_equal(agent.unknown_packets, 4);
	assert_int_equal(agent.packets, 4 + 1 + 4 + 2 + 1);
	assert_int_equal(agent.allocations, 5 + 1);
	assert_int_equal(agent.frees, 3);
	assert_true(agent.smaps_dumped);
	loli_agent_close(&agent);
	writer_free(&w);
	writer_free(&m);
	writer_free(&small);
}

/* Any byte of the stream another one, or of what is packed in it: it is taken or counted, and what was taken can be saved. */
static void test_any(void **state)
{
	static const uint8_t others[] = { 0, 1, 7, 0x7f, 0x80, 0xff };
	struct loli_agent agent;
	struct writer w;
	(void)state;
	small_stream(&w);
	for (size_t i = 0; i < w.len; i++) {
		const uint8_t was = w.data[i];
		for (size_t j = 0; j < sizeof others; j++) {
			struct loli_message message;
			uint8_t *buffer = malloc(65536);
			uint64_t records = 0;
			struct guarded bytes;
			w.data[i] = others[j];
			guarded_make(&bytes, w.data, w.len);
			open_agent(&agent);
			loli_agent_feed(&agent, bytes.data, bytes.len);
			loli_agent_ended(&agent);
			assert_true(loli_agent_rewind(&agent));
			while (loli_agent_next(&agent, buffer, &message))
				records++;
			assert_int_equal(records, agent.allocations);
			loli_agent_close(&agent);
			guarded_free(&bytes);
			free(buffer);
		}
		w.data[i] = was;
	}
	writer_free(&w);
}

/* Somebody else answers at that port. */
static void test_other(void **state)
{
	static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
	struct loli_agent agent;
	struct writer w;
	(void)state;
	small_stream(&w);
	open_agent(&agent);
	assert_true(loli_agent_feed(&agent, w.data, w.len));
	assert_false(loli_agent_feed(&agent, http, sizeof http - 1));
	assert_non_null(strstr(agent.problem, "not what LoliProfiler's agent sends"));
	assert_false(loli_agent_feed(&agent, w.data, w.len)); /* what came before stays, nothing more is taken */
	assert_int_equal(agent.allocations, 5);
	loli_agent_close(&agent);
	writer_free(&w);
}

/* --- saved --- */

struct profile {
	struct guarded bytes;
	struct input in;
	struct notes notes;
	struct loli loli;
	const struct loli_sums *sums;
};

static void save(struct profile *p, struct loli_agent *agent, bool all, struct loli_samples *taken, struct loli_saved *saved)
{
	static const struct loli_options plain;
	struct loli_smaps smaps;
	char *data = NULL, error[256] = "";
	size_t len = 0;
	FILE *out = open_memstream(&data, &len);
	read_smaps(&smaps);
	if (loli_save(out, agent, &smaps, taken, all, saved, error, sizeof error))
		fail_msg("%s", error);
	fclose(out);
	loli_smaps_free(&smaps);
	memset(p, 0, sizeof *p);
	guarded_make(&p->bytes, data, len);
	free(data);
	p->in = (struct input){ .fd = -1, .path = strdup("saved"), .data = p->bytes.data, .size = len };
	atomic_store(&p->in.good_end, len);
	notes_init(&p->notes);
	assert_int_equal(loli_open(&p->loli, &p->in, &p->notes, &plain, error, sizeof error), 0);
	assert_int_equal(p->notes.count, 0);
	p->sums = loli_sums(&p->loli);
	assert_non_null(p->sums);
}

static void close_profile(struct profile *p)
{
	loli_close(&p->loli);
	notes_free(&p->notes);
	free(p->in.path);
	guarded_free(&p->bytes);
}

static void check_record(const struct profile *p, size_t i, uint32_t seq, uint64_t function, const char *library)
{
	struct loli_record record;
	const struct loli_entry entry = sums_entry(p->sums, i);
	assert_true(sums_record(p->sums, &entry, &record));
	assert_int_equal(record.seq, seq);
	assert_int_equal(record.size, 100 * seq);
	assert_int_equal(record.time_ms, 10 * seq);
	assert_int_equal(record.function, function);
	const struct text_entry name = sums_text(p->sums, p->sums->libraries[sums_library(p->sums, record.lib)].text);
	assert_int_equal(name.len, strlen(library));
	assert_memory_equal(name.data, library, name.len);
}

static void test_saved(void **state)
{
	struct loli_agent agent;
	FILE *pictures = tmpfile();
	struct loli_samples taken = { .pictures = pictures }, none = { .list = NULL };
	struct loli_saved saved;
	struct profile p;
	struct writer w;
	(void)state;
	small_stream(&w);
	open_agent(&agent);
	assert_true(loli_agent_feed(&agent, w.data, w.len));
	writer_free(&w);
	assert_true(loli_samples_add(&taken, &(struct loli_sample){ 0, { 500, 1, 2, 3, 4, 5 } }));
	assert_true(loli_samples_add(&taken, &(struct loli_sample){ 2, { 600, 1, 2, 3, 4, 6 } }));
	assert_true(loli_samples_add_picture(&taken, 5, "\x89PNG\r\n\x1a\nabcd", 12));
	/* Twice, and in the other way: the temporary files are read from their beginning. */
	for (unsigned i = 0; i < 2; i++) {
		save(&p, &agent, false, &taken, &saved);
		assert_int_equal(saved.records, 4);
		assert_int_equal(saved.bytes, 1800);
		assert_int_equal(saved.freed, 1);
		assert_int_equal(saved.unresolved, 2);
		assert_int_equal(p.sums->entry_count, 4);
		check_record(&p, 0, 2, 0x1400, "libgame.so");
		check_record(&p, 1, 4, 0x1400, "libgame.so"); /* the agent's own frame is passed over */
		check_record(&p, 2, 5, 0, "libgame.so");
		check_record(&p, 3, 7, 0x1230, "libloli.so"); /* but where there is no other */
		assert_int_equal(p.sums->states[LOLI_LIVE].count, 4);
		assert_int_equal(p.loli.memory_most, 720);
		assert_int_equal(p.loli.parts[LOLI_FREES].count, 3);
		assert_int_equal(p.loli.parts[LOLI_SCREENSHOTS].count, 1);
		assert_int_equal(p.loli.parts[LOLI_STACKS].count, 3);
		assert_int_equal(p.loli.parts[LOLI_SYMBOLS].parts, 3);
		assert_int_equal(p.loli.parts[LOLI_SERIES].parts, 12);
		assert_int_equal(p.sums->time_count, 2);
		close_profile(&p);
		save(&p, &agent, true, &none, &saved);
		assert_int_equal(saved.records, 5);
		assert_int_equal(p.sums->states[LOLI_LIVE].count, 4);
		assert_int_equal(p.sums->states[LOLI_FREED].count, 1);
		assert_int_equal(p.sums->states[LOLI_FREED].bytes, 100);
		assert_int_equal(p.loli.memory_most, 128);
		close_profile(&p);
	}
	loli_samples_free(&taken);
	fclose(pictures);
	loli_agent_close(&agent);
}

/* Nothing came: an empty profile, which is one. */
static void test_empty(void **state)
{
	struct loli_agent agent;
	struct loli_samples none = { .list = NULL };
	struct loli_saved saved;
	struct profile p;
	(void)state;
	open_agent(&agent);
	save(&p, &agent, true, &none, &saved);
	assert_int_equal(p.sums->entry_count, 0);
	close_profile(&p);
	loli_agent_close(&agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_smaps),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
