/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export without a mount: paths are found as a shell in the mount would, what is written is what the tree reads, and what
 * goes wrong on either side is an error.
 */
#include "export.h"
#include "fixture.h"
#include "loli_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PIECE (1 << 20)

/* The fixture's bytes lie in memory; a request is unharmed only while their file is what it was. */
static void give_file(struct opened *o)
{
	struct stat st;
	o->in.fd = memfd_create("dump", MFD_CLOEXEC);
	assert_true(o->in.fd >= 0);
	assert_int_equal(write(o->in.fd, o->bytes.data, o->bytes.len), o->bytes.len);
	assert_int_equal(fstat(o->in.fd, &st), 0);
	atomic_store(&o->in.seen_size, (uint64_t)st.st_size);
	atomic_store(&o->in.written, (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
}

static struct exporter exporter_of(struct opened *o)
{
	return (struct exporter){ .tree = o->tree, .in = &o->in, .dump = "a dump" };
}

static void close_with_file(struct opened *o)
{
	close(o->in.fd);
	o->in.fd = -1;
	opened_close(o);
}

/* --- what is said --- */

static int kept_stderr, saying;

static void listen(void)
{
	fflush(stderr);
	kept_stderr = dup(STDERR_FILENO);
	saying = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(kept_stderr >= 0 && saying >= 0);
	dup2(saying, STDERR_FILENO);
}

/* What was said since listen(); good until the next call. */
static const char *heard(void)
{
	static char text[8192];
	fflush(stderr);
	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	const ssize_t len = pread(saying, text, sizeof text - 1, 0);
	close(saying);
	text[len < 0 ? 0 : len] = 0;
	return text;
}

static void expect_heard(const char *part)
{
	const char *all = heard();
	if (!strstr(all, part))
		fail_msg("said: %s, and not: %s", all, part);
}

/* --- paths --- */

static uint64_t found(const struct exporter *exporter, const char *path)
{
	uint64_t ino;
	const int rc = export_find(exporter, path, &ino);
	if (rc)
		fail_msg("%s: %s", path, strerror(rc));
	return ino;
}

static void expect_error(const struct exporter *exporter, const char *path, int error)
{
	uint64_t ino;
	const int rc = export_find(exporter, path, &ino);
	if (rc != error)
		fail_msg("%s: %s, not %s", path, strerror(rc), strerror(error));
}

/* The first instance of a class. */
static uint64_t first_of(const struct opened *o, const char *folder)
{
	const uint64_t root = TREE_ROOT;
	struct entries entries = { 0 };
	uint64_t ino, id = 0;
	assert_true(resolve(o->tree, &root, 1, folder, strlen(folder), &ino));
	assert_int_equal(entries_list(&entries, o->tree, ino, 0), 0);
	for (size_t i = 0; i < entries.count && !id; i++)
		if (!strncmp(entries.list[i].name, "0x", 2))
			id = strtoull(entries.list[i].name, NULL, 16);
	entries_free(&entries);
	assert_true(id);
	return id;
}

static void paths(void **state)
{
	struct opened o;
	char path[8192], other[8300], name[300];
	(void)state;
	opened_sample(&o, "sample");
	give_file(&o);
	const struct exporter exporter = exporter_of(&o);
	const uint64_t table = found(&exporter, "classes.tsv"), classes = found(&exporter, "classes");
	static const char *const top[] = { "", ".", "/", "./", "..", "../..", "classes/..", "classes/./.." };
	for (size_t i = 0; i < sizeof top / sizeof *top; i++)
		assert_int_equal(found(&exporter, top[i]), TREE_ROOT);
	static const char *const same[] = { "/classes.tsv", "./classes.tsv", "classes/../classes.tsv", "//classes.tsv",
					    "classes//../classes.tsv", "graph/dominators/../../classes.tsv" };
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		assert_int_equal(found(&exporter, same[i]), table);
	assert_int_equal(found(&exporter, "classes/"), classes);
	assert_int_equal(found(&exporter, "classes/."), classes);

	/* Links: in the middle, at the end, and in what a link leads to. */
	const unsigned long long id = first_of(&o, "instances/com.example.app.MainActivity");
	snprintf(path, sizeof path, "objects/%llx/%llx/0x%llx", id >> 28, id >> 16 & 0xfff, id);
	const uint64_t object = found(&exporter, path);
	snprintf(other, sizeof other, "%s/object.txt", path);
	const uint64_t text = found(&exporter, other);
	snprintf(path, sizeof path, "objects/0x%llx", id);
	assert_int_equal(found(&exporter, path), object);
	snprintf(path, sizeof path, "objects/0x%llx/", id);
	assert_int_equal(found(&exporter, path), object);
	snprintf(path, sizeof path, "objects/0x%llx/object.txt", id);
	assert_int_equal(found(&exporter, path), text);
	snprintf(path, sizeof path, "instances/com.example.app.MainActivity/0x%llx/graph.d/../../classes.tsv", id);
	assert_int_equal(found(&exporter, path), found(&exporter, "graph/classes.tsv"));
	snprintf(path, sizeof path, "objects/0x%llx/class.d/super/class.txt", id);
	assert_int_equal(found(&exporter, path), found(&exporter, "classes/android.app.Activity/class.txt"));

	expect_error(&exporter, "classes.tsvx", ENOENT);
	expect_error(&exporter, "nothing/classes.tsv", ENOENT);
	expect_error(&exporter, "objects/0x1", ENOENT);
	expect_error(&exporter, "classes.tsv/", ENOTDIR);
	expect_error(&exporter, "classes.tsv/.", ENOTDIR);
	expect_error(&exporter, "classes.tsv/..", ENOTDIR);
	expect_error(&exporter, "classes.tsv/x", ENOTDIR);
	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = 0;
	expect_error(&exporter, name, ENAMETOOLONG);

	/* As many links as a kernel follows, and one more. */
	for (unsigned links = 40; links <= 41; links++) {
		path[0] = 0;
		for (unsigned i = 0; i < links; i++)
			snprintf(path + strlen(path), sizeof path - strlen(path), "objects/0x%llx/../../../../", id);
		snprintf(path + strlen(path), sizeof path - strlen(path), "classes.tsv");
		if (links == 40)
			assert_int_equal(found(&exporter, path), table);
		else
			expect_error(&exporter, path, ELOOP);
	}
	close_with_file(&o);
}

/* --- single files --- */

/* What export_path() writes, to be freed. */
static struct text written(const struct exporter *exporter, const char *path, int wanted)
{
	struct text text = { 0 };
	const int fd = memfd_create("out", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(export_path(exporter, path, fd, "a file"), wanted);
	const off_t len = lseek(fd, 0, SEEK_END);
	assert_true(len >= 0 && text_reserve(&text, (size_t)len + 1));
	text.len = (size_t)len;
	assert_int_equal(pread(fd, text.data, text.len, 0), len);
	text.data[text.len] = 0;
	close(fd);
	return text;
}

struct compared {
	const struct opened *o;
	struct exporter exporter;
	size_t files, links, folders, left;
};

static void compare_file(struct compared *c, const char *path, uint64_t ino)
{
	struct text seen = written(&c->exporter, path, 0), wanted = { 0 };
	struct stat st;
	assert_int_equal(tree_getattr(c->o->tree, ino, &st), 0);
	assert_int_equal(read_file(c->o, ino, 0, (size_t)st.st_size + 1, &wanted), 0);
	if (seen.len != wanted.len || (seen.len && memcmp(seen.data, wanted.data, seen.len)))
		fail_msg("%s: not what the tree reads", path);
	text_free(&seen);
	text_free(&wanted);
	c->files++;
}

/* Every file below a folder, and every folder as a list of names; of the large ones the first of both. */
static void compare_folder(struct compared *c, const char *path, uint64_t ino)
{
	struct entries entries = { 0 };
	struct text names = { 0 };
	assert_int_equal(entries_list(&entries, c->o->tree, ino, 0), 0);
	for (size_t i = 2; i < entries.count; i++) {
		text_puts(&names, entries.list[i].name);
		text_putc(&names, '\n');
	}
	struct text seen = written(&c->exporter, path, 0);
	assert_int_equal(seen.len, names.len);
	assert_memory_equal(seen.data ? seen.data : "", names.data ? names.data : "", names.len);
	c->folders++;
	for (size_t i = 2; i < entries.count && i < 40 && c->left; i++) {
		const struct entry *entry = &entries.list[i];
		char below[4096];
		snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", entry->name);
		c->left--;
		if (S_ISDIR(entry->type)) {
			compare_folder(c, below, entry->ino);
		} else if (S_ISREG(entry->type) && !tree_changes(entry->ino)) {
			compare_file(c, below, entry->ino);
		} else if (S_ISLNK(entry->type)) {
			uint64_t target;
			assert_int_equal(export_find(&c->exporter, below, &target), 0);
			assert_int_equal(tree_readlink(c->o->tree, target, &names), EINVAL);
			c->links++;
		}
	}
	entries_free(&entries);
	text_free(&names);
	text_free(&seen);
}

static void every_file(void **state)
{
	static const char *const kinds[] = { "sample", "jvm", "agent", "bitmaps-36", "threads", "cut" };
	size_t files = 0;
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct opened o;
		opened_sample(&o, kinds[i]);
		give_file(&o);
		struct compared c = { .o = &o, .exporter = exporter_of(&o), .left = 6000 };
		compare_folder(&c, "", TREE_ROOT);
		assert_true(c.files > 20 && c.folders > 10 && c.links > 5);
		files += c.files;
		close_with_file(&o);
	}
	assert_true(files > 500);
}

/* More than one piece: of a table, and of the dump's own bytes. */
static void large_files(void **state)
{
	struct vm vm;
	struct opened o;
	uint64_t ino;
	(void)state;
	vm_init(&vm, VM_JDK9, 8);
	char *bytes = malloc(3 * PIECE);
	assert_non_null(bytes);
	for (size_t i = 0; i < 3 * PIECE; i++)
		bytes[i] = (char)(i % 251);
	const uint64_t array = vm_primitive_array(&vm, TYPE_BYTE, bytes, 2 * PIECE);
	vm_primitive_array(&vm, TYPE_BYTE, bytes, 2 * PIECE + 1);
	for (unsigned i = 0; i < 40000; i++)
		vm_primitive_array(&vm, TYPE_BYTE, bytes, 20 + i % 7);
	free(bytes);
	opened_vm(&o, &vm, "JAVA PROFILE 1.0.2");
	give_file(&o);
	struct compared c = { .o = &o, .exporter = exporter_of(&o) };
	static const char *const files[] = { "raw.hprof", "classes/byte[]/instances.tsv" };
	struct stat st;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(export_find(&c.exporter, files[i], &ino), 0);
		assert_int_equal(tree_getattr(o.tree, ino, &st), 0);
		assert_true(st.st_size > PIECE);
		compare_file(&c, files[i], ino);
	}
	/* Exactly two pieces. */
	char path[80];
	snprintf(path, sizeof path, "objects/0x%llx/data.bin", (unsigned long long)array);
	assert_int_equal(export_find(&c.exporter, path, &ino), 0);
	compare_file(&c, path, ino);
	struct text names = written(&c.exporter, "instances/byte[]", 0);
	assert_string_equal(names.data, "00000\n02048\n04096\n06144\n08192\n10240\n12288\n14336\n16384\n18432\n20480\n22528\n"
					"24576\n26624\n28672\n30720\n32768\n34816\n36864\n38912\n");
	text_free(&names);
	close_with_file(&o);
}

static void errors(void **state)
{
	struct opened o;
	(void)state;
	opened_sample(&o, "sample");
	give_file(&o);
	const struct exporter exporter = exporter_of(&o);
	listen();
	struct text text = written(&exporter, "no/such", -1);
	assert_int_equal(text.len, 0);
	text_free(&text);
	expect_heard("heapfs: a dump: there is no no/such in it");
	listen();
	text = written(&exporter, "classes.tsv/x", -1);
	text_free(&text);
	expect_heard("heapfs: a dump: classes.tsv/x: Not a directory");
	const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(full >= 0);
	static const char *const paths_[] = { "classes.tsv", "raw.hprof", "classes" };
	for (size_t i = 0; i < 3; i++) {
		listen();
		assert_int_equal(export_path(&exporter, paths_[i], full, "the full disk"), -1);
		expect_heard("heapfs: the full disk: No space left on device");
	}
	close(full);
	/* Cut: what needs what is gone fails, what is left is written. */
	assert_int_equal(ftruncate(o.in.fd, (off_t)o.in.size / 2), 0);
	listen();
	text = written(&exporter, "raw.hprof", -1);
	assert_true(text.len < o.in.size);
	text_free(&text);
	expect_heard("raw.hprof: the dump was cut or changed");
	listen();
	text = written(&exporter, "strings/strings.tsv", -1);
	text_free(&text);
	expect_heard("strings/strings.tsv: the dump was cut or changed");
	close_with_file(&o);
}

/* --- all of it --- */

static char folder[] = "/tmp/heapfs-unit-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void remove_all(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const struct compared *checking;
static size_t checked_files;

/* A file that was written is what the tree has under that name. */
static int check_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	const struct opened *o = checking->o;
	const char *below = path + strlen(folder) + 2; /* "x/", in which all was put */
	struct text wanted = { 0 };
	struct stat own;
	uint64_t ino;
	(void)ftw;
	if (!strcmp(path + strlen(folder), "/x"))
		return 0;
	below += *below == '/';
	assert_int_equal(export_find(&checking->exporter, below, &ino), 0);
	assert_int_equal(tree_getattr(o->tree, ino, &own), 0);
	assert_int_equal(own.st_mode & S_IFMT, st->st_mode & S_IFMT);
	assert_int_equal(own.st_mtim.tv_sec, st->st_mtim.tv_sec);
	assert_int_equal(own.st_mtim.tv_nsec, st->st_mtim.tv_nsec);
	if (flag != FTW_F)
		return 0;
	assert_int_equal(own.st_size, st->st_size);
	assert_int_equal(read_file(o, ino, 0, (size_t)own.st_size + 1, &wanted), 0);
	char *seen = malloc(wanted.len + 1);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(seen && fd >= 0);
	assert_int_equal(read(fd, seen, wanted.len + 1), wanted.len);
	assert_memory_equal(seen, wanted.data ? wanted.data : "", wanted.len);
	close(fd);
	free(seen);
	text_free(&wanted);
	checked_files++;
	return 0;
}

static bool is_there(const char *path)
{
	char whole[4096];
	snprintf(whole, sizeof whole, "%s/x/%s", folder, path);
	return !access(whole, F_OK);
}

static void export_and_check(struct opened *o)
{
	char into[100];
	struct compared c = { .o = o, .exporter = exporter_of(o) };
	snprintf(into, sizeof into, "%s/x", folder);
	assert_int_equal(export_all(&c.exporter, into), 0);
	checking = &c;
	checked_files = 0;
	assert_int_equal(nftw(into, check_one, 16, FTW_PHYS), 0);
	/* Once more: it is not empty now. */
	listen();
	assert_int_equal(export_all(&c.exporter, into), -1);
	expect_heard("is not empty");
}

static void all_of_a_dump(void **state)
{
	static const char *const wanted[] = {
		"README.txt", "info.txt", "classes.tsv", "bitmaps.tsv", "strings/strings.tsv", "duplicates/strings.tsv",
		"duplicates/bitmaps.tsv", "graph/classes.tsv", "graph/dominators.tsv", "graph/leaks.tsv", "graph/summary.txt",
		"bitmaps/0xb400007b3c00a010.png", "classes/com.example.app.Row/instances.tsv",
		"classes/com.example.app.Row/class.txt", "threads/1-main/stack.txt", "collections/collections.tsv",
		"bitmaps/refused",
	};
	static const char *const unwanted[] = {
		"raw.hprof", "objects", "instances", "roots", "graph/objects", "graph/dominators", "graph/progress.txt",
		"bitmaps/objects", "classes/com.example.app.Row/statics", "classes/com.example.app.Row/super",
		"threads/1-main/thread", "threads/1-main/frames",
	};
	struct opened o;
	(void)state;
	opened_sample(&o, "sample");
	give_file(&o);
	export_and_check(&o);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!is_there(wanted[i]))
			fail_msg("%s is not there", wanted[i]);
	for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
		if (is_there(unwanted[i]))
			fail_msg("%s is there", unwanted[i]);
	assert_true(checked_files > 90);
	close_with_file(&o);
}

static void all_of_several(void **state)
{
	struct opened o;
	(void)state;
	opened_sample(&o, "agent");
	assert_true(o.heap_count > 1);
	give_file(&o);
	export_and_check(&o);
	assert_true(is_there("info.txt") && is_there("dump-1/classes.tsv") && is_there("dump-2/graph/classes.tsv"));
	assert_false(is_there("dump-1/objects") || is_there("dump-2/graph/dominators") || is_there("dump-2/roots"));
	close_with_file(&o);
}

static void all_of_a_profile(void **state)
{
	static const struct tree_options tree_options = { .links = true };
	static const struct loli_options plain;
	struct opened o;
	struct loli profile;
	struct writer w;
	(void)state;
	sample_loli_small(&w);
	memset(&o, 0, sizeof o);
	guarded_make(&o.bytes, w.data, w.len);
	o.in.path = strdup("profile");
	o.in.data = o.bytes.data;
	o.in.size = o.bytes.len;
	atomic_store(&o.in.good_end, o.in.size);
	give_file(&o);
	notes_init(&o.notes);
	assert_int_equal(loli_open(&profile, &o.in, &o.notes, &plain, o.error, sizeof o.error), 0);
	const struct tree_source source = { .in = &o.in, .container = "plain file", .profile = &profile };
	o.tree = tree_open(&source, NULL, 0, &tree_options);
	assert_non_null(o.tree);
	struct compared c = { .o = &o, .exporter = exporter_of(&o), .left = 1000 };
	compare_folder(&c, "", TREE_ROOT);
	assert_true(c.files > 10);
	export_and_check(&o);
	assert_true(is_there("info.txt") && is_there("allocations.tsv") && is_there("folded.txt") && is_there("screenshots"));
	assert_false(is_there("raw.loli") || is_there("callstacks"));
	writer_free(&w);
	tree_close(o.tree);
	o.tree = NULL;
	loli_close(&profile);
	close(o.in.fd);
	notes_free(&o.notes);
	free(o.in.path);
	guarded_free(&o.bytes);
}

/* A folder that cannot be made; a dump that is cut, of which no file is left half written. */
static void all_that_fails(void **state)
{
	struct opened o;
	char path[100];
	(void)state;
	opened_sample(&o, "sample");
	give_file(&o);
	const struct exporter exporter = exporter_of(&o);
	listen();
	assert_int_equal(export_all(&exporter, "/nowhere/at/all"), -1);
	expect_heard("heapfs: /nowhere/at/all: No such file or directory");
	listen();
	assert_int_equal(export_all(&exporter, "/dev/null"), -1);
	expect_heard("heapfs: /dev/null: Not a directory");
	assert_int_equal(ftruncate(o.in.fd, 100), 0);
	snprintf(path, sizeof path, "%s/x", folder);
	listen();
	assert_int_equal(export_all(&exporter, path), -1);
	expect_heard("its top folder: the dump was cut or changed");
	assert_int_equal(rmdir(path), 0);
	listen();
	assert_int_equal(export_all(&exporter, path), -1);
	expect_heard("given up"); /* there are more classes than that */
	assert_true(is_there("README.txt"));
	assert_false(is_there("info.txt") || is_there("strings/strings.tsv"));
	close_with_file(&o);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	(void)state;
	remove_all(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(every_file),
		cmocka_unit_test(large_files),
		cmocka_unit_test(errors),
		cmocka_unit_test_setup_teardown(all_of_a_dump, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(all_of_several, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(all_of_a_profile, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(all_that_fails, make_folder, remove_folder),
	};
	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
