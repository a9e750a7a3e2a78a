/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native profiles without a mount: what a small one's tables say, every truncation of it, hostile counts at every
 * place of a count, odd bytes anywhere, symbols, spans of time.
 */
#include "fixture.h"
#include "loli/sums.h"
#include "loli_writer.h"
#include "walk.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NODES 4000

struct profile {
	struct opened o;	/* of which the tree, the input and the notes are used */
	struct loli loli;
	bool open;
};

static const struct loli_options plain;

static int open_profile(struct profile *p, const void *data, size_t len, const struct loli_options *options)
{
	static const struct tree_options tree_options = { .links = true };
	memset(p, 0, sizeof *p);
	guarded_make(&p->o.bytes, data, len);
	p->o.in.fd = -1;
	p->o.in.path = strdup("profile");
	p->o.in.data = p->o.bytes.data;
	p->o.in.size = len;
	atomic_store(&p->o.in.good_end, len);
	notes_init(&p->o.notes);
	if (loli_open(&p->loli, &p->o.in, &p->o.notes, options, p->o.error, sizeof p->o.error))
		return -1;
	const struct tree_source source = { .in = &p->o.in, .container = "plain file", .profile = &p->loli };
	p->o.tree = tree_open(&source, NULL, 0, &tree_options);
	assert_non_null(p->o.tree);
	return 0;
}

static void close_profile(struct profile *p)
{
	if (p->o.tree)
		tree_close(p->o.tree);
	loli_close(&p->loli);
	notes_free(&p->o.notes);
	free(p->o.in.path);
	guarded_free(&p->o.bytes);
}

/* A file's text, NUL-terminated, to be freed. */
static char *text_of(const struct profile *p, const char *path)
{
	const uint64_t root = TREE_ROOT;
	struct text text = { 0 };
	struct stat st;
	uint64_t ino;
	assert_true(resolve(p->o.tree, &root, 1, path, strlen(path), &ino));
	assert_int_equal(tree_getattr(p->o.tree, ino, &st), 0);
	assert_int_equal(read_file(&p->o, ino, 0, (size_t)st.st_size + 1, &text), 0);
	assert_int_equal(text.len, st.st_size);
	text_putc(&text, 0);
	return text.data;
}

static void text_is(const struct profile *p, const char *path, const char *expected)
{
	char *text = text_of(p, path);
	assert_string_equal(text, expected);
	free(text);
}

static void text_has(const struct profile *p, const char *path, const char *part)
{
	char *text = text_of(p, path);
	if (!strstr(text, part)) {
		print_error("%s: lacking: %s\n%s\n", path, part, text);
		fail();
	}
	free(text);
}

#define RECORDS "seq\ttime_ms\tsize\taddress\tstate\tlibrary\tfunction\tstack\n"
#define GAME "main()"
#define AGENT "libloli.so!0x77"
#define FIRST "1\t100\t8192\t0x10000\tlive\tlibengine.so\tload()\tmain();load()@libgame.so;" AGENT "\n"
#define FOURTH "4\t400\t5000\t0x14000\tlive\tlibengine.so\tlibengine.so!0x1300\tmain();libengine.so!0x1300;" AGENT "\n"
#define LAST "6\t600\t7\t0x1a000\tlive\tlibengine.so\tload()\t[no call stack];load()\n"

static void small(void **state)
{
	struct writer w;
	struct profile p;
	(void)state;
	sample_loli_small(&w);
	assert_int_equal(open_profile(&p, w.data, w.len, &plain), 0);
	assert_int_equal(p.o.notes.count, 0);
	text_is(&p, "allocations.tsv", RECORDS FIRST
		"2\t200\t300\t0x13000\tfreed\tlibengine.so\tload()\tmain();load()@libengine.so;" AGENT "\n"
		"3\t300\t400\t0x12000\tfreed\tlibengine.so\tload()\tmain();load()@libengine.so;" AGENT "\n" FOURTH
		"5\t500\t1000\t0x12000\tlive\tlibengine.so\tload()\tmain();load()@libgame.so;" AGENT "\n" LAST);
	text_is(&p, "live.tsv", RECORDS FIRST FOURTH
		"5\t500\t1000\t0x12000\tlive\tlibengine.so\tload()\tmain();load()@libgame.so;" AGENT "\n" LAST);
	text_is(&p, "functions.tsv", "library\tfunction\tself_bytes\tself_count\ttotal_bytes\ttotal_count\tfreed_bytes\t"
		"freed_count\n"
		"libgame.so\tload()\t9192\t2\t9192\t2\t0\t0\n"
		"libengine.so\tlibengine.so!0x1300\t5000\t1\t5000\t1\t0\t0\n"
		"libengine.so\tload()\t7\t1\t7\t1\t700\t2\n"
		"libloli.so\tlibloli.so!0x77\t0\t0\t14192\t3\t0\t0\n"
		"libgame.so\tmain()\t0\t0\t14192\t3\t0\t0\n");
	text_is(&p, "libraries.tsv", "library\tself_bytes\tself_count\ttotal_bytes\ttotal_count\tfreed_bytes\tfreed_count\t"
		"symbols\tnamed\n"
		"libengine.so\t14199\t4\t5007\t2\t700\t2\t2\t1\n"
		"libgame.so\t0\t0\t14192\t3\t0\t0\t2\t2\n"
		"libloli.so\t0\t0\t14192\t3\t0\t0\t0\t0\n");
	text_is(&p, "folded.txt", "main();load()@libgame.so;" AGENT " 9192\nmain();libengine.so!0x1300;" AGENT " 5000\n"
		"[no call stack];load() 7\n");
	text_is(&p, "callstacks.tsv", "bytes\tcount\tfreed_bytes\tfreed_count\tdepth\tstack\n"
		"9192\t2\t0\t0\t3\tmain();load()@libgame.so;" AGENT "\n5000\t1\t0\t0\t3\tmain();libengine.so!0x1300;" AGENT "\n"
		"7\t1\t0\t0\t2\t[no call stack];load()\n0\t0\t700\t2\t3\tmain();load()@libengine.so;" AGENT "\n");
	text_is(&p, "timeline.tsv", "seconds\ttotal_mib\tnative_heap_mib\tgfx_dev_mib\tegl_mtrack_mib\tgl_mtrack_mib\t"
		"unknown_mib\n0\t0\t1\t2\t3\t4\t5\n1.5\t0.25\t1.25\t2.25\t3.25\t4.25\t5.25\n");
	text_is(&p, "smaps.tsv", "name\tvirtual_kib\trss_kib\tpss_kib\tprivate_clean_kib\tprivate_dirty_kib\t"
		"shared_clean_kib\tshared_dirty_kib\nlibengine.so\t10\t11\t99\t13\t14\t15\t16\n[heap]\t10\t11\t64\t13\t14\t15\t16\n");
	/* In use: 8192 + 1000 + 5000 + 7 of 65536; behind the last block 0x20000 - 0x1a007, before it 0x1a000 - 0x15388. */
	text_is(&p, "fragmentation.tsv", "name\tused\tfree\tlargest_gap\tbytes\tranges\n"
		"libengine.so\t0\t12288\t8192\t12288\t2\n[heap]\t14199\t51337\t24569\t65536\t1\n");
	text_is(&p, "symbols.tsv", "library\taddress\tfunction\tsource\nlibgame.so\t0x1000\tmain()\tprofile\n"
		"libgame.so\t0x1100\tload()\tprofile\nlibengine.so\t0x1200\tload()\tprofile\nlibengine.so\t0x1300\t\t\n");
	text_is(&p, "screenshots/0012s.jpg", "\xff\xd8\xff\xe0x");
	text_is(&p, "screenshots/0005s.png", "\x89PNG\r\n\x1a\nabcd");
	text_has(&p, "info.txt", "live: 4\nlive bytes: 14199\nfreed: 2\nfreed bytes: 700\ntime range: 100 to 600 ms\n");
	text_has(&p, "info.txt", "sequence gaps: 0, of 0 numbers\nsequence repeats: 0\n");
	text_has(&p, "info.txt", "lacks: nothing\nwarnings: 0\n");
	walk_tree(&p.o, NODES);
	close_profile(&p);
	writer_free(&w);
}

/* callstacks/: what holds less than 4096 bytes is together. */
static void call_stacks(void **state)
{
	struct writer w;
	struct profile p;
	const uint64_t root = TREE_ROOT;
	static const struct {
		const char *path;
		int64_t size, blocks;
	} expected[] = { { "callstacks", 0, 0 },
			 { "callstacks/main()", 0, 0 },
			 { "callstacks/main()/self.bin", 0, 1 },
			 { "callstacks/main()/load()@libgame.so/libloli.so!0x77", 9192, 17 },
			 { "callstacks/main()/libengine.so!0x1300/libloli.so!0x77", 5000, 9 },
			 { "callstacks/rest-1-allocations.bin", 7, 0 },
			 { "callstacks/self.bin", -1, 0 },
			 { "callstacks/main()/load()@libengine.so", -1, 0 } };
	(void)state;
	sample_loli_small(&w);
	assert_int_equal(open_profile(&p, w.data, w.len, &plain), 0);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		struct stat st;
		uint64_t ino;
		const bool found = resolve(p.o.tree, &root, 1, expected[i].path, strlen(expected[i].path), &ino);
		assert_int_equal(found, expected[i].size >= 0);
		if (!found)
			continue;
		assert_int_equal(tree_getattr(p.o.tree, ino, &st), 0);
		assert_int_equal(st.st_size, expected[i].size);
		assert_int_equal(st.st_blocks, expected[i].blocks);
	}
	close_profile(&p);
	writer_free(&w);
}

static void spans(void **state)
{
	const struct loli_options span = { .spanned = true, .from = 200, .to = 400 };
	struct writer w;
	struct profile p;
	(void)state;
	sample_loli_small(&w);
	assert_int_equal(open_profile(&p, w.data, w.len, &span), 0);
	text_is(&p, "live.tsv", RECORDS FOURTH);
	text_has(&p, "freed.tsv", "\n2\t200\t300\t");
	text_is(&p, "folded.txt", "main();libengine.so!0x1300;" AGENT " 5000\n");
	text_has(&p, "info.txt", "records: 6\nrecords shown, allocated from 200 to 400 ms: 3\nrecords left out: 3\nlive: 1\n");
	close_profile(&p);
	writer_free(&w);
}

static void versions(void **state)
{
	(void)state;
	for (uint32_t version = 0; version < 120; version++) {
		struct writer w;
		struct profile p;
		char expected[64];
		if (version == 106)
			continue;
		writer_init(&w, 8);
		put_loli_header(&w, version);
		put_zeros(&w, 32);
		assert_int_equal(open_profile(&p, w.data, w.len, &plain), -1);
		snprintf(expected, sizeof expected, "of version %u; heapfs reads version 106", version);
		assert_non_null(strstr(p.o.error, expected));
		close_profile(&p);
		writer_free(&w);
	}
}

/* --- damage --- */

/* A profile of these bytes is refused with a message, or its tree keeps its promises, and sums agree. */
static void survives(const void *data, size_t len, bool damaged)
{
	static const struct loli_options all = { .containing = true };
	struct profile p;
	if (open_profile(&p, data, len, &all)) {
		assert_true(*p.o.error);
	} else {
		walk_tree(&p.o, NODES);
		const struct loli_sums *sums = loli_sums(&p.loli);
		assert_non_null(sums);
		assert_true(!damaged || p.o.notes.count);
		assert_int_equal(sums->nodes[0].total.bytes,
				 sums->states[LOLI_LIVE].bytes + sums->states[LOLI_UNKNOWN].bytes);
		assert_true(p.loli.parts[LOLI_FREES].whole || !sums->states[LOLI_LIVE].count);
		for (size_t i = 0; i < sums->mapping_count; i++)
			assert_true(sums->mappings[i].used <= sums->mappings[i].bytes);
	}
	close_profile(&p);
}

static void truncations(void **state)
{
	struct writer w;
	(void)state;
	sample_loli_small(&w);
	for (size_t len = 4; len < w.len; len++)
		survives(w.data, len, true);
	writer_free(&w);
}

static void odd_words(void **state)
{
	static const uint32_t words[] = { 0, 1, 3, 0x7fffffff, 0x80000000, 0xffffffff, 0x01000000 };
	struct writer w;
	(void)state;
	sample_loli_small(&w);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (size_t at = 8; at + 4 <= w.len; at++) {
			uint8_t kept[4];
			memcpy(kept, w.data + at, 4);
			patch_u4(&w, at, words[i]);
			survives(w.data, w.len, false);
			memcpy(w.data + at, kept, 4);
		}
	writer_free(&w);
}

/* A section is whole, cut inside an entry, or lost, and the note says which. */
/* Written over after it was opened: any word, with what counts and lengths may be then. Sanitizers see what is not checked. */
static void written_over(void **state)
{
	static const uint32_t words[] = { 0, 3, 12, 40, UINT32_MAX };
	struct writer w;
	(void)state;
	sample_loli_small(&w);
	for (size_t at = 0; at + 4 <= w.len; at++)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			const uint8_t bytes[4] = { (uint8_t)(words[i] >> 24), (uint8_t)(words[i] >> 16), (uint8_t)(words[i] >> 8),
						   (uint8_t)words[i] };
			struct profile p;
			assert_int_equal(open_profile(&p, w.data, w.len, &plain), 0);
			memcpy(p.o.bytes.data + at, bytes, sizeof bytes);
			const struct loli_sums *sums = loli_sums(&p.loli);
			if (sums) {
				assert_true(sums->entry_count <= p.loli.parts[LOLI_RECORDS].count);
				assert_true(sums->time_count <= p.loli.parts[LOLI_SERIES].parts);
			}
			close_profile(&p);
			input_begin(); /* the next one is another file */
		}
	writer_free(&w);
}

static void cut_notes(void **state)
{
	struct writer w;
	struct profile p;
	(void)state;
	sample_loli_small(&w);
	assert_int_equal(open_profile(&p, w.data, w.len, &plain), 0);
	const uint64_t symbols = p.loli.parts[LOLI_SYMBOLS].at, frees = p.loli.parts[LOLI_FREES].at;
	close_profile(&p);
	/* In the first library's second symbol: the first one is still of use. */
	assert_int_equal(open_profile(&p, w.data, symbols + 24 + 4 + 8 + 16 + 6, &plain), 0);
	const struct note *note = opened_note(&p.o, "the profile ends inside a section");
	assert_non_null(note);
	assert_int_equal(note->offset, symbols);
	assert_non_null(strstr(note->detail, "symbols: 0 of 2 are whole"));
	text_has(&p, "symbols.tsv", "\nlibgame.so\t0x1000\tmain()\tprofile\n");
	text_has(&p, "info.txt", "unknown whether freed: 6\n");
	text_has(&p, "info.txt", "lacks: symbols (cut), frees (lost), screenshots (lost), smaps (lost)\n");
	close_profile(&p);
	/* Behind the first free, which is still true. */
	assert_int_equal(open_profile(&p, w.data, frees + 15, &plain), 0);
	text_has(&p, "freed.tsv", RECORDS "2\t200\t300\t");
	text_is(&p, "live.tsv", RECORDS);
	text_has(&p, "allocations.tsv", "1\t100\t8192\t0x10000\tunknown\t");
	close_profile(&p);
	writer_free(&w);
}

static void hostile_counts(void **state)
{
	struct writer w;
	struct profile p;
	(void)state;
	writer_init(&w, 8);
	put_loli_header(&w, 106);
	put_u4(&w, 0), put_u4(&w, 0);
	put_u4(&w, 0x7fffffff); /* records, of which none has a UUID */
	for (unsigned i = 0; i < 100; i++)
		put_loli_string(&w, "no"), put_loli_record(&w, i, i, i, i, i, i);
	assert_int_equal(open_profile(&p, w.data, w.len, &plain), 0);
	assert_int_equal(p.loli.parts[LOLI_RECORDS].count, 0);
	assert_non_null(opened_note(&p.o, "a section of the profile is damaged"));
	close_profile(&p);
	writer_free(&w);
	writer_init(&w, 8);
	put_loli_header(&w, 106);
	put_zeros(&w, 8), put_u4(&w, 0xfffffffe); /* negative */
	put_zeros(&w, 400);
	assert_int_equal(open_profile(&p, w.data, w.len, &plain), 0);
	const struct note *note = opened_note(&p.o, "a section of the profile is damaged");
	assert_non_null(note);
	assert_non_null(strstr(note->detail, "records: the count is negative"));
	close_profile(&p);
	writer_free(&w);
}

/* --- symbols --- */

static void symbols(void **state)
{
	const char *base = getenv("TMPDIR");
	char folder[4096], path[4200];
	struct writer w;
	struct profile p;
	(void)state;
	snprintf(folder, sizeof folder, "%s/heapfs-unit.XXXXXX", base && *base ? base : "/tmp");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/libengine.nm.txt", folder);
	FILE *file = fopen(path, "w");
	/* 0x1300, a return address, is behind the last call of what ends there. The mappings make 0x12300 of it. */
	fputs("                 U memcpy\n0000000000001100 T other()\n0000000000001280 t (anonymous namespace)::f(int)\n"
	      "0000000000001300 T next()\n0000000000012280 0000000000000100 T rebased()\n0000000000012000 d data\n", file);
	fclose(file);
	const char *const paths[] = { path };
	struct loli_options options = { .symbols = paths, .symbol_count = 1 };
	sample_loli_small(&w);
	assert_int_equal(open_profile(&p, w.data, w.len, &options), 0);
	text_has(&p, "symbols.tsv", "\nlibengine.so\t0x1200\tload()\tprofile\n");
	text_has(&p, "symbols.tsv", "\nlibengine.so\t0x1300\t(anonymous namespace)::f(int)\tsymbols\n");
	text_has(&p, "folded.txt", "main();(anonymous namespace)::f(int);" AGENT " 5000\n");
	close_profile(&p);
	options.containing = true;
	assert_int_equal(open_profile(&p, w.data, w.len, &options), 0);
	text_has(&p, "symbols.tsv", "\nlibengine.so\t0x1300\trebased()\tsymbols\n");
	close_profile(&p);
	unlink(path);
	assert_int_equal(open_profile(&p, w.data, w.len, &options), -1);
	assert_non_null(strstr(p.o.error, "No such file"));
	close_profile(&p);
	rmdir(folder);
	writer_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small),	  cmocka_unit_test(call_stacks), cmocka_unit_test(spans),
		cmocka_unit_test(versions),	  cmocka_unit_test(truncations), cmocka_unit_test(odd_words),
		cmocka_unit_test(written_over),
		cmocka_unit_test(cut_notes),	  cmocka_unit_test(hostile_counts), cmocka_unit_test(symbols),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
