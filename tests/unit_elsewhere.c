/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures from elsewhere: what their names say, that their heads are read as those in memory are, that no byte of one
 * that was changed is given out, and which Bitmap gets which.
 */
#include "android/bitmap.h"
#include "fixture.h"
#include "input/picture_folder.h"
#include "pictures.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* --- names --- */

static void names(void **state)
{
	static const struct {
		const char *name;
		uint64_t pointer, id;
		bool picture;
	} cases[] = {
		{ "0x7b3c00aa10.png", 0x7b3c00aa10, 0, true },
		{ "0xB400007B3C00AA10.webp", 0xb400007b3c00aa10, 0, true },
		{ "0xffffffffffffffff.jpg", UINT64_MAX, 0, true },
		{ "0x10000000000000000.jpg", 0, 0, true },
		{ "0x10-0x20.jpeg", 0x10, 0, true },
		{ "a0x0xa.png", 0, 0, true },
		{ "bitmap_0x10.png", 0x10, 0, true },
		{ "0x.png", 0, 0, true },
		{ "0x0.png", 0, 0, true },
		{ "0x10", 0x10, 0, false },
		{ "0x10.PNG", 0x10, 0, false },
		{ "0x10.png.txt", 0x10, 0, false },
		{ "bitmap-48211000001.png", 0, 48211000001, true },
		{ "bitmap-18446744073709551615.webp", 0, UINT64_MAX, true },
		{ "bitmap-18446744073709551616.webp", 0, 0, true },
		{ "bitmap--1.png", 0, 0, true },
		{ "bitmap-+1.png", 0, 0, true },
		{ "bitmap-.png", 0, 0, true },
		{ "bitmap-1", 0, 0, false },
		{ "bitmap-1x.png", 0, 0, true },
		{ "bitmap-1.x.png", 0, 1, true },
		{ "my-bitmap-1.png", 0, 0, true },
		{ "photo.png", 0, 0, true },
		{ "png", 0, 0, false },
		{ "", 0, 0, false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (picture_pointer(cases[i].name) != cases[i].pointer || picture_id(cases[i].name) != cases[i].id ||
		    picture_named(cases[i].name) != cases[i].picture)
			fail_msg("%s", cases[i].name);
	}
}

/* --- heads --- */

struct counted {
	const struct writer *bytes;
	unsigned *left;		/* reads that succeed */
};

static bool counted_read(const void *context, uint64_t offset, size_t len, uint8_t *out)
{
	const struct counted *counted = context;
	assert_true(offset <= counted->bytes->len && len <= counted->bytes->len - offset);
	memcpy(out, counted->bytes->data + offset, len);
	if (!*counted->left)
		return false;
	--*counted->left;
	return true;
}

/* A head that is read a few bytes at a time, of a whole picture and of a cut one; and when reading fails. */
static void heads(void **state)
{
	(void)state;
	for (unsigned form = 0; form < PICTURE_FORMS; form++) {
		struct writer w;
		writer_init(&w, 4);
		put_picture(&w, (enum picture_form)form, 37, 21, form);
		const size_t whole = w.len;
		for (size_t cut = 0; cut <= whole; cut += cut < 64 ? 1 : 97) {
			struct picture_head expected, head;
			unsigned left = 1000;
			const struct counted counted = { &w, &left };
			w.len = whole - cut;
			picture_head(w.data, w.len, &expected);
			assert_true(picture_head_by(counted_read, &counted, w.len, &head));
			assert_memory_equal(&head, &expected, sizeof head);
			const unsigned reads = 1000 - left;
			assert_true(reads <= 10 && (reads || !w.len));
			for (unsigned n = 0; n < reads; n++) {
				left = n;
				assert_false(picture_head_by(counted_read, &counted, w.len, &head));
			}
		}
		writer_free(&w);
	}
}

/* --- files --- */

static char folder[] = "/tmp/heapfs-elsewhere.XXXXXX";
static char path[sizeof folder + 64], other[sizeof folder + 64];

static const char *in_folder(char *buf, const char *name)
{
	snprintf(buf, sizeof path, "%s/%s", folder, name);
	return buf;
}

static void write_file(const char *name, const void *data, size_t len)
{
	FILE *file = fopen(in_folder(path, name), "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void write_picture(const char *name, enum picture_form form, unsigned width, unsigned height, unsigned seed)
{
	struct writer w;
	writer_init(&w, 4);
	put_picture(&w, form, width, height, seed);
	write_file(name, w.data, w.len);
	writer_free(&w);
}

static int empty_folder(void **state)
{
	char command[sizeof folder + 32];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'/*", folder);
	return system(command);
}

static void open_folder(struct elsewhere *elsewhere)
{
	const char *const paths[] = { folder };
	const struct elsewhere_options options = { .paths = paths, .path_count = 1, .threads = 1 };
	char error[512] = "";
	if (elsewhere_open(elsewhere, &options, error, sizeof error))
		fail_msg("%s", error);
}

static void states(void **state)
{
	static const enum elsewhere_state expected[] = { ELSEWHERE_READABLE, ELSEWHERE_NO_FILE, ELSEWHERE_NO_FILE,
							 ELSEWHERE_NO_FILE, ELSEWHERE_TOO_LARGE, ELSEWHERE_GONE };
	struct elsewhere elsewhere;
	struct elsewhere_file file;
	(void)state;
	write_file("0x1.png", "one", 3);
	assert_int_equal(mkdir(in_folder(path, "0x2.png"), 0700), 0);
	assert_int_equal(mkfifo(in_folder(path, "0x3.png"), 0600), 0);
	assert_int_equal(symlink("0x1.png", in_folder(path, "0x4.png")), 0);
	write_file("0x5.png", "", 0);
	assert_int_equal(truncate(in_folder(path, "0x5.png"), (off_t)PICTURE_BYTES_MOST + 1), 0);
	write_file("0x6.png", "six", 3);
	open_folder(&elsewhere);
	assert_int_equal(unlink(in_folder(path, "0x6.png")), 0);
	assert_int_equal(elsewhere.picture_count, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(elsewhere.pictures[i].key, i + 1);
		assert_int_equal(elsewhere_file_open(&file, &elsewhere, i), expected[i]);
		if (expected[i] != ELSEWHERE_READABLE)
			continue;
		char bytes[3];
		assert_int_equal(file.len, 3);
		assert_true(elsewhere_file_read(&file, 1, 2, bytes));
		assert_memory_equal(bytes, "ne", 2);
		assert_false(elsewhere_file_read(&file, 2, 2, bytes));
		assert_false(elsewhere_file_read(&file, UINT64_MAX, 2, bytes));
		assert_true(elsewhere_file_close(&file));
	}
	elsewhere_close(&elsewhere);
}

/* Time goes on by the kernel's own steps. */
static void let_time_pass(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void overwrite(void)
{
	FILE *file = fopen(in_folder(path, "0x1.png"), "r+b");
	assert_non_null(file);
	assert_int_equal(fputs("two", file) >= 0, 1);
	assert_int_equal(fclose(file), 0);
}

static void overwrite_in_secret(void)
{
	struct stat st;
	assert_int_equal(stat(in_folder(path, "0x1.png"), &st), 0);
	overwrite();
	const struct timespec times[2] = { st.st_atim, st.st_mtim };
	assert_int_equal(utimensat(AT_FDCWD, in_folder(path, "0x1.png"), times, 0), 0);
}

static void cut(void)
{
	assert_int_equal(truncate(in_folder(path, "0x1.png"), 2), 0);
}

static void take_away(void)
{
	assert_int_equal(unlink(in_folder(path, "0x1.png")), 0);
}

static void put_another(void)
{
	write_file("new", "two", 3);
	assert_int_equal(rename(in_folder(other, "new"), in_folder(path, "0x1.png")), 0);
}

static void put_link(void)
{
	assert_int_equal(rename(in_folder(other, "0x1.png"), in_folder(path, "moved")), 0);
	assert_int_equal(symlink("moved", in_folder(path, "0x1.png")), 0);
}

static void changes(void **state)
{
	static void (*const harms[])(void) = { overwrite, overwrite_in_secret, cut, take_away, put_another, put_link };
	(void)state;
	for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
		struct elsewhere elsewhere;
		struct elsewhere_file file;
		char bytes[3];
		empty_folder(NULL);
		write_file("0x1.png", "one", 3);
		let_time_pass();
		open_folder(&elsewhere);
		assert_int_equal(elsewhere_file_open(&file, &elsewhere, 0), ELSEWHERE_READABLE);
		const struct elsewhere_stamp stamp = file.stamp;
		assert_true(elsewhere_file_close(&file));
		assert_true(elsewhere_read(&elsewhere, 0, &stamp, 0, 3, bytes));
		assert_memory_equal(bytes, "one", 3);
		harms[i]();
		if (elsewhere_read(&elsewhere, 0, &stamp, 0, 2, bytes))
			fail_msg("change %zu was not seen", i);
		elsewhere_close(&elsewhere);
	}
	/* And while it is being read. */
	struct elsewhere elsewhere;
	struct elsewhere_file file;
	empty_folder(NULL);
	write_file("0x1.png", "one", 3);
	let_time_pass();
	open_folder(&elsewhere);
	assert_int_equal(elsewhere_file_open(&file, &elsewhere, 0), ELSEWHERE_READABLE);
	overwrite();
	assert_false(elsewhere_file_close(&file));
	elsewhere_close(&elsewhere);
}

/* --- whose they are --- */

static const struct bitmap *bitmap_with(const struct bitmaps *bitmaps, uint64_t pointer)
{
	const uint32_t at = bitmaps_from(bitmaps, pointer, 0);
	assert_true(at < bitmaps->count);
	return &bitmaps->list[bitmaps->by_pointer[at]];
}

/* Of many for one Bitmap the first that fits, but no more than some are looked at; the others are no orphans. */
static void many_for_one(void **state)
{
	struct elsewhere elsewhere;
	struct opened o;
	char name[64];
	(void)state;
	for (unsigned i = 0; i < 2 * PICTURE_CANDIDATES_MOST; i++) {
		snprintf(name, sizeof name, "%02u-0xb400007b3c00a010.png", i); /* 20x10 */
		write_picture(name, FORM_PNG, i == 3 || i == 5 ? 20 : 19, 10, i);
		snprintf(name, sizeof name, "%02u-0xb400007b3c00a090.png", i); /* 24x16 */
		write_picture(name, FORM_PNG, i == PICTURE_CANDIDATES_MOST ? 24 : 23, 16, i);
	}
	opened_sample(&o, "bitmaps-28");
	open_folder(&elsewhere);
	o.hprof.elsewhere = &elsewhere;
	struct bitmaps *bitmaps = bitmaps_open(&o.heaps[0]);
	assert_non_null(bitmaps);
	const struct bitmap *one = bitmap_with(bitmaps, 0xb400007b3c00a010), *two = bitmap_with(bitmaps, 0xb400007b3c00a090);
	assert_int_equal(one->verdict, VERDICT_OK);
	assert_int_equal(one->source, SOURCE_LIVE);
	assert_string_equal(elsewhere.pictures[bitmaps->live_places[one->picture->number].picture].name,
			    "03-0xb400007b3c00a010.png");
	assert_int_equal(two->verdict, VERDICT_MISMATCH);
	assert_int_equal(bitmaps->live_count, 4 * PICTURE_CANDIDATES_MOST);
	assert_int_equal(bitmaps->live_shown, 1);
	assert_int_equal(bitmaps->repeated, 1);
	assert_int_equal(bitmaps->orphans, 0);
	assert_int_equal(bitmaps->refused, 4 * PICTURE_CANDIDATES_MOST - 2);
	bitmaps_close(bitmaps);
	opened_close(&o);
	elsewhere_close(&elsewhere);
}

/* All that a folder lists is found by its name, and is as large as it reads. Its number. */
static size_t check_folder(const struct opened *o, const char *name)
{
	struct entries entries = { 0 };
	uint64_t bitmaps, ino;
	assert_int_equal(tree_lookup(o->tree, TREE_ROOT, "bitmaps", &bitmaps), 0);
	if (tree_lookup(o->tree, bitmaps, name, &ino))
		return 0;
	assert_int_equal(entries_list(&entries, o->tree, ino, 0), 0);
	const size_t count = entries.count - 2;
	for (size_t i = 2; i < entries.count; i++) {
		struct text text = { 0 };
		struct stat st;
		uint64_t found;
		if (tree_lookup(o->tree, ino, entries.list[i].name, &found) || found != entries.list[i].ino)
			fail_msg("%s", entries.list[i].name);
		assert_int_equal(tree_getattr(o->tree, found, &st), 0);
		assert_int_equal(read_file(o, found, 0, 1 << 20, &text), 0);
		assert_int_equal(text.len, st.st_size);
		text_free(&text);
	}
	entries_free(&entries);
	return count;
}

static void in_the_tree(void **state)
{
	static const char *const odd[] = { "0x10.png", "0x10.jpg", "a0x10.png", "0x20.png", "bitmap-1.png", "bitmap-1.jpg",
					   "bitmap-7.webp", "0xb400007b3c00a410.png" };
	struct elsewhere elsewhere;
	struct opened o;
	uint64_t bitmaps, ino;
	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		write_picture(odd[i], (enum picture_form)(i % PICTURE_FORMS), 5, 6, (unsigned)i);
	write_file("0xb400007b3c00a490.png", "no picture", 10);
	write_picture("0xb400007b3c00a010.jpg", FORM_JPEG, 20, 10, 1);
	opened_sample(&o, "bitmaps-28");
	open_folder(&elsewhere);
	o.hprof.elsewhere = &elsewhere;
	assert_int_equal(check_folder(&o, "orphans"), 7);
	assert_int_equal(check_folder(&o, "refused"), 2);
	assert_int_equal(tree_lookup(o.tree, TREE_ROOT, "bitmaps", &bitmaps), 0);
	assert_int_equal(tree_lookup(o.tree, bitmaps, "0xb400007b3c00a010.jpg", &ino), 0);
	opened_close(&o);
	elsewhere_close(&elsewhere);
}

static int make_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	empty_folder(state);
	return rmdir(folder);
}

#define FILE_TEST(f) cmocka_unit_test_teardown(f, empty_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(heads), FILE_TEST(states),
		FILE_TEST(changes),	 FILE_TEST(many_for_one), FILE_TEST(in_the_tree),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
