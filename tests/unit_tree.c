/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as a whole, walked without FUSE: that all ways to a node agree, and what stands in the files. */
#include "fixture.h"

#include "hprof/mutf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEEPEST 80

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

struct walk {
	struct opened *o;
	struct tree *tree;
	uint64_t above[DEEPEST];
	const char *names[DEEPEST];
	size_t depth;
	size_t folders, files, links;
};

/* Fails with the path of an entry. */
static void fail_at(const struct walk *w, const char *name, const char *why)
{
	char path[8192];
	size_t len = 0;
	path[0] = 0;
	for (size_t i = 1; i < w->depth && len < sizeof path; i++)
		len += (size_t)snprintf(path + len, sizeof path - len, "%s/", w->names[i]);
	fail_msg("%s%s: %s", path, name, why);
}

static bool is_dominated(const struct walk *w)
{
	for (size_t i = 1; i < w->depth; i++)
		if (!strcmp(w->names[i], "dominators"))
			return true;
	return false;
}

/* A name that any file system takes. */
static bool good_name(const char *name)
{
	const size_t len = strlen(name);
	if (!len || len > 255 || *name == '-' || *name == ' ' || name[len - 1] == '.' || name[len - 1] == ' ')
		return false;
	for (size_t i = 0; i < len;) {
		uint32_t code;
		const unsigned used = utf8_decode((const uint8_t *)name + i, len - i, &code);
		if (!used || code < 0x20 || code == 0x7f || (code < 0x80 && strchr("/\\:*?\"<>|", (int)code)) ||
		    (code >= 0xd800 && code < 0xe000))
			return false;
		i += used;
	}
	return true;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_names(const struct walk *w, const struct entries *entries)
{
	char **names = calloc(entries->count + 1, sizeof *names);
	assert_non_null(names);
	for (size_t i = 0; i < entries->count; i++) {
		names[i] = entries->list[i].name;
		if (i > 1 && !good_name(names[i]))
			fail_at(w, names[i], "not a name to copy");
	}
	qsort(names, entries->count, sizeof *names, compare_strings);
	for (size_t i = 1; i < entries->count; i++)
		if (!strcmp(names[i - 1], names[i]))
			fail_at(w, names[i], "listed twice");
	free(names);
}

/* Going on from any entry gives the rest of the listing. */
static void check_resume(const struct walk *w, uint64_t ino, const struct entries *all)
{
	for (size_t i = 0; i < all->count; i += all->count < 40 ? 1 : 1 + next_random(all->count / 10)) {
		struct entries rest = { .most = all->count < 40 ? 0 : 5 };
		if (entries_list(&rest, w->tree, ino, all->list[i].next))
			fail_at(w, all->list[i].name, "cannot go on from here");
		const size_t want = rest.most && rest.most < all->count - i - 1 ? rest.most : all->count - i - 1;
		if (rest.count != want)
			fail_at(w, all->list[i].name, "another count of entries behind it");
		for (size_t j = 0; j < rest.count; j++) {
			const struct entry *a = &rest.list[j], *b = &all->list[i + 1 + j];
			if (strcmp(a->name, b->name) || a->ino != b->ino || a->next != b->next || a->type != b->type)
				fail_at(w, a->name, "differs when listed again");
		}
		entries_free(&rest);
	}
}

static void check_file(struct walk *w, const struct entry *entry, const struct stat *st)
{
	struct text all = { 0 }, part = { 0 };
	const size_t size = (size_t)st->st_size;
	if (read_file(w->o, entry->ino, 0, size + 100, &all) || all.len != size)
		fail_at(w, entry->name, "does not have the size it says");
	for (unsigned i = 0; i < (w->files % 8 ? 1 : 6); i++) {
		const size_t from = next_random(size + 2), len = next_random(size < 5000 ? size + 10 : 5000);
		const size_t left = from < size ? size - from : 0, want = len < left ? len : left;
		part.len = 0;
		if (read_file(w->o, entry->ino, from, len, &part) || part.len != want ||
		    (want && memcmp(part.data, all.data + from, want)))
			fail_at(w, entry->name, "a part differs from the whole");
	}
	text_free(&all);
	text_free(&part);
	w->files++;
}

static void check_link(struct walk *w, const struct entry *entry, const struct stat *st)
{
	struct text target = { 0 };
	struct stat there;
	uint64_t ino;
	if (tree_readlink(w->tree, entry->ino, &target) || target.len != (size_t)st->st_size)
		fail_at(w, entry->name, "a target of another length");
	if (!resolve(w->tree, w->above, w->depth, target.data, target.len, &ino) ||
	    tree_getattr(w->tree, ino, &there) || S_ISLNK(there.st_mode))
		fail_at(w, entry->name, "leads nowhere");
	text_free(&target);
	w->links++;
}

static void check_folder(struct walk *w, uint64_t ino, const char *name)
{
	struct entries entries = { 0 };
	uint64_t parent;
	assert_true(w->depth < DEEPEST);
	w->names[w->depth] = name;
	w->above[w->depth++] = ino;
	w->folders++;
	if (entries_list(&entries, w->tree, ino, 0))
		fail_at(w, "", "cannot be listed");
	const uint64_t up = w->above[w->depth > 1 ? w->depth - 2 : 0];
	if (tree_parent(w->tree, ino, &parent) || parent != up)
		fail_at(w, "..", "another parent");
	if (entries.count < 2 || strcmp(entries.list[0].name, ".") || entries.list[0].ino != ino ||
	    strcmp(entries.list[1].name, "..") || entries.list[1].ino != up)
		fail_at(w, "", "no . and ..");
	check_names(w, &entries);
	check_resume(w, ino, &entries);
	for (size_t i = 2; i < entries.count; i++) {
		const struct entry *entry = &entries.list[i];
		struct stat st;
		uint64_t found;
		if (tree_lookup(w->tree, ino, entry->name, &found) || found != entry->ino)
			fail_at(w, entry->name, "listed, but not found by its name");
		if (tree_getattr(w->tree, entry->ino, &st) || st.st_ino != entry->ino ||
		    (st.st_mode & S_IFMT) != entry->type || st.st_nlink != 1)
			fail_at(w, entry->name, "other attributes than listed");
		/* What graph/dominators shows has the sizes of what it stands for; treecheck adds them up. */
		const bool dominated = is_dominated(w) || !strcmp(entry->name, "dominators");
		if (S_ISDIR(entry->type) && (st.st_size != (dominated ? 0 : 4096) || st.st_blocks != (dominated ? 0 : 8)))
			fail_at(w, entry->name, "not a folder's size");
		if (S_ISREG(entry->type) && !dominated && st.st_blocks != (st.st_size + 511) / 512)
			fail_at(w, entry->name, "other blocks than its size");
		if (S_ISDIR(entry->type))
			check_folder(w, entry->ino, entry->name);
		else if (S_ISLNK(entry->type))
			check_link(w, entry, &st);
		else
			check_file(w, entry, &st);
	}
	assert_int_equal(tree_lookup(w->tree, ino, "no such name", &parent), ENOENT);
	entries_free(&entries);
	w->depth--;
}

static void whole_trees(void **state)
{
	(void)state;
	for (size_t i = 0; i < sample_count; i++) {
		struct opened o;
		struct writer out;
		samples[i].make(&out);
		random_state = i;
		if (!opened_bytes(&o, out.data, out.len, 1)) {
			struct walk w = { .o = &o, .tree = o.tree };
			check_folder(&w, TREE_ROOT, "");
			assert_true(w.folders >= 5 && w.files >= 4);
			print_message("# %s: %zu folders, %zu files, %zu links\n", samples[i].kind, w.folders,
				      w.files, w.links);
		}
		opened_close(&o);
		writer_free(&out);
	}
}

/* Objects without a class, and things without an id: the tree keeps its promises for them too. */
static void without_ids(void **state)
{
	static const uint64_t elements[] = { 0x1000, 0, 0x1010 };
	(void)state;
	for (unsigned part = 0; part < 4; part++) {
		struct writer w;
		struct opened o;
		writer_init(&w, 8);
		put_header(&w, "JAVA PROFILE 1.0.2");
		put_load_class(&w, 1, 0x500, put_name(&w, "Known"));
		segment_begin(&w, RECORD_HEAP_DUMP_SEGMENT);
		sub_class(&w, &(struct class_spec){ .id = part == 1 ? 0 : 0x500 });
		sub_instance_begin(&w, part == 2 ? 0 : 0x1000, part == 0 ? 0 : 0x500);
		sub_instance_end(&w);
		sub_object_array(&w, 0x1010, part == 3 ? 0 : 0x500, elements, 3);
		sub_root(&w, ROOT_STICKY_CLASS, 0, 0, 0, 0);
		segment_end(&w);
		put_dump_end(&w);
		opened_writer(&o, &w);
		struct walk walk = { .o = &o, .tree = o.tree };
		check_folder(&walk, TREE_ROOT, "");
		opened_close(&o);
	}
}

static void without_links(void **state)
{
	static const struct tree_options options = { .links = false };
	struct opened o;
	uint64_t ino;
	(void)state;
	opened_sample(&o, "jdk8");
	tree_close(o.tree);
	const struct tree_source source = { .in = &o.in, .container = "plain file" };
	o.tree = tree_open(&source, o.heaps, o.heap_count, &options);
	struct walk w = { .o = &o, .tree = o.tree };
	check_folder(&w, TREE_ROOT, "");
	assert_int_equal(w.links, 0);
	const uint64_t root = TREE_ROOT;
	const char path[] = "classes/java.lang.String/super";
	assert_false(resolve(o.tree, &root, 1, path, strlen(path), &ino));
	assert_true(resolve(o.tree, &root, 1, path, strlen(path) - 6, &ino));
	opened_close(&o);
}

/* objects/<id> is not listed, but found for every object and class, and leads to its folder. */
static void objects_by_id(void **state)
{
	static const char *const kinds[] = { "jdk8", "unordered", "sample" };
	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct opened o;
		opened_sample(&o, kinds[k]);
		const struct index *ix = &o.heaps[0].scan.index;
		uint64_t above[2] = { TREE_ROOT, 0 }, link, ino;
		assert_int_equal(tree_lookup(o.tree, TREE_ROOT, "objects", &above[1]), 0);
		for (uint64_t id = 0; index_successor(ix, id, &id); id++) {
			char name[24];
			struct text target = { 0 };
			snprintf(name, sizeof name, "0x%jx", (uintmax_t)id);
			assert_int_equal(tree_lookup(o.tree, above[1], name, &link), 0);
			assert_int_equal(tree_readlink(o.tree, link, &target), 0);
			assert_true(resolve(o.tree, above, 2, target.data, target.len, &ino));
			text_free(&target);
			snprintf(name, sizeof name, "0x0%jx", (uintmax_t)id);
			assert_int_equal(tree_lookup(o.tree, above[1], name, &link), ENOENT);
			snprintf(name, sizeof name, "0x%jx", (uintmax_t)id + 1);
			struct found found;
			assert_int_equal(tree_lookup(o.tree, above[1], name, &link) == 0,
					 index_find(ix, id + 1, &found) || class_find(&o.heaps[0], id + 1));
		}
		opened_close(&o);
	}
}

/* Any inode number may come from a file handle. It is refused, or shows something; it never crashes. */
static void poke(struct opened *o, uint64_t ino)
{
	struct stat st;
	struct text text = { 0 };
	struct entries entries = { .most = 50 };
	uint64_t other;
	(void)tree_getattr(o->tree, ino, &st);
	(void)tree_lookup(o->tree, ino, "0x700000010", &other);
	(void)tree_lookup(o->tree, ino, "0", &other);
	(void)tree_parent(o->tree, ino, &other);
	(void)tree_readlink(o->tree, ino, &text);
	(void)entries_list(&entries, o->tree, ino, 0);
	(void)read_file(o, ino, 3, 5000, &text);
	entries_free(&entries);
	text_free(&text);
}

static void odd_inodes(void **state)
{
	static const char *const kinds[] = { "jdk6",	      "duplicates", "cycle", "two-segments-dumps",
					     "bad-subrecord", "empty" };
	struct stat st;
	(void)state;
	random_state = 1;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct opened o;
		opened_sample(&o, kinds[k]);
		for (uint64_t key = 0; key <= o.in.size + 9; key += key < 300 ? 1 : 7)
			for (unsigned kind = 0; kind < 128; kind++)
				poke(&o, key << 7 | kind);
		for (unsigned i = 0; i < 20000; i++)
			poke(&o, next_random(UINT32_MAX) << next_random(33) | next_random(UINT32_MAX));
		for (unsigned kind = 0; kind < 128; kind++) {
			poke(&o, UINT64_MAX << 7 | kind);
			assert_int_equal(tree_getattr(o.tree, UINT64_MAX << 7 | kind, &st), ESTALE);
			/* Class numbers and the like are small, offsets end with the file. */
			assert_int_equal(tree_getattr(o.tree, (o.in.size << 40) << 7 | kind, &st), ESTALE);
		}
		for (uint64_t key = 0; key < 100; key++) {
			assert_int_equal(tree_getattr(o.tree, key << 7, &st), ESTALE);
			assert_int_equal(tree_getattr(o.tree, key << 7 | 127, &st), ESTALE);
		}
		opened_close(&o);
	}
}

/* The names in a folder but . and .., in order, as one line. */
static void expect_listing(struct opened *o, const char *path, const char *want)
{
	const uint64_t root = TREE_ROOT;
	struct entries entries = { 0 };
	struct text text = { 0 };
	uint64_t ino;
	if (!resolve(o->tree, &root, 1, path, strlen(path), &ino) || entries_list(&entries, o->tree, ino, 0))
		fail_msg("%s cannot be listed", path);
	for (size_t i = 2; i < entries.count; i++) {
		text_puts(&text, i > 2 ? " " : "");
		text_puts(&text, entries.list[i].name);
	}
	text_putc(&text, 0);
	assert_string_equal(text.data, want);
	text_free(&text);
	entries_free(&entries);
}

static void expect_in(struct opened *o, const char *path, const char *want)
{
	const uint64_t root = TREE_ROOT;
	struct text text = { 0 };
	uint64_t ino;
	if (!resolve(o->tree, &root, 1, path, strlen(path), &ino) || read_file(o, ino, 0, 1 << 24, &text))
		fail_msg("%s cannot be read", path);
	text_putc(&text, 0);
	if (!strstr(text.data, want))
		fail_msg("%s has no \"%s\":\n%s", path, want, text.len < 3000 ? text.data : "(long)");
	text_free(&text);
}

static void several_dumps(void **state)
{
	struct opened o;
	uint64_t ino, dump;
	(void)state;
	opened_sample(&o, "two-segments-dumps");
	expect_listing(&o, "", "README.txt info.txt raw.hprof dump-1 dump-2");
	expect_listing(&o, "dump-1", "classes.tsv classes instances objects strings roots duplicates graph collections");
	expect_listing(&o, "dump-2", "classes.tsv classes instances objects strings roots duplicates graph collections");
	expect_in(&o, "info.txt", "heap dumps: 2\n");
	expect_in(&o, "dump-2/strings/strings.tsv", "only in the second dump");
	assert_int_equal(tree_lookup(o.tree, TREE_ROOT, "classes", &ino), ENOENT);
	static const char *const wrong[] = { "dump-0", "dump-3", "dump-01", "dump-", "dump-1x" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(tree_lookup(o.tree, TREE_ROOT, wrong[i], &ino), ENOENT);
	assert_int_equal(tree_lookup(o.tree, TREE_ROOT, "dump-2", &dump), 0);
	assert_int_equal(tree_parent(o.tree, dump, &ino), 0);
	assert_int_equal(ino, TREE_ROOT);
	opened_close(&o);
}

/* What has more than 2,048 entries lies in folders of as many; what has fewer does not. */
static void split_folders(void **state)
{
	struct opened o;
	(void)state;
	opened_sample(&o, "jvm");
	expect_listing(&o, "classes/com.example.Base/subclasses", "0000 2048");
	opened_close(&o);
	opened_sample(&o, "unordered");
	expect_listing(&o, "instances/com.example.Node",
		       "00000 02048 04096 06144 08192 10240 12288 14336 16384 18432");
	opened_close(&o);
}

static void file_texts(void **state)
{
	static const struct {
		const char *path, *want;
	} table[] = {
		{ "info.txt", "android sdk: 35\n" },
		{ "info.txt", "Pixel 9" },
		{ "info.txt", "com.example.app\n" },
		{ "info.txt", "warnings: 0\n" },
		{ "classes.tsv", "com.example.app.Row\t" },
		{ "classes/com.example.app.MainActivity/class.txt", "android.app.Activity" },
		{ "classes/com.example.app.MainActivity/instances.tsv", "mDestroyed" },
		{ "classes/android.os.Build$VERSION/class.txt", "SDK_INT: int = 35\n" },
		{ "strings/strings.tsv", "last\\topened" },
		{ "strings/strings.tsv", "Zo\xc3\xab \xf0\x9f\x98\x80" },
	};
	struct opened o;
	struct cursor cursor;
	char path[200];
	(void)state;
	opened_sample(&o, "sample");
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		expect_in(&o, table[i].path, table[i].want);
	expect_listing(&o, "instances/com.example.app.Row", "0000 2048");
	cursor_seek(&cursor, &o.heaps[0], class_by_name(&o.heaps[0], "com.example.app.MainActivity"), 0);
	assert_true(cursor_next(&cursor));
	snprintf(path, sizeof path, "instances/com.example.app.MainActivity/0x%jx.txt", (uintmax_t)cursor.id);
	expect_in(&o, path, "mDestroyed: boolean = true\n");
	expect_in(&o, path, "fields of android.app.Activity:\n");
	expect_in(&o, path, "java.lang.String \"Inbox (3)\"\n");
	opened_close(&o);
	opened_sample(&o, "jvm");
	cursor_seek(&cursor, &o.heaps[0], class_by_name(&o.heaps[0], "java.lang.Object[]"), 0);
	assert_true(cursor_next(&cursor));
	snprintf(path, sizeof path, "instances/java.lang.Object[]/0x%jx.txt", (uintmax_t)cursor.id);
	expect_in(&o, path, "length: 5000\n");
	expect_in(&o, path, "0: object = 0x");
	expect_in(&o, path, "3: object = null\n");
	expect_in(&o, path, "7: object = 0x7fff00048 (not in the dump)\n");
	expect_in(&o, path, " more\n");
	cursor_seek(&cursor, &o.heaps[0], class_by_name(&o.heaps[0], "com.example.ShadowLeaf"), 0);
	assert_true(cursor_next(&cursor));
	snprintf(path, sizeof path, "objects/%jx/%jx/0x%jx", (uintmax_t)cursor.id >> 28,
		 (uintmax_t)cursor.id >> 16 & 0xfff, (uintmax_t)cursor.id);
	char want[200];
	snprintf(want, sizeof want, "object.txt class.d graph.d x next next@0x%jx next@0x%jx",
		 (uintmax_t)class_by_name(&o.heaps[0], "com.example.ShadowMiddle")->id,
		 (uintmax_t)class_by_name(&o.heaps[0], "com.example.Shadow")->id);
	expect_listing(&o, path, want);
	opened_close(&o);
}

/* value.txt is written in pieces; no boundary may part a pair, lose a char or write one twice. */
static void check_value(const uint16_t *units, uint32_t count, enum vm_kind kind)
{
	struct vm vm;
	struct opened o;
	struct text want = { 0 }, got = { 0 };
	char name[24];
	uint64_t above[2] = { TREE_ROOT, 0 }, link, folder, ino;
	vm_init(&vm, kind, kind == VM_ART ? 4 : 8);
	const uint64_t id = vm_string_units(&vm, units, count);
	opened_vm(&o, &vm, kind == VM_ART ? "JAVA PROFILE 1.0.3" : "JAVA PROFILE 1.0.2");
	for (uint32_t i = 0; i < count; i++) {
		const bool pair = (units[i] & 0xfc00) == 0xd800 && i + 1 < count && (units[i + 1] & 0xfc00) == 0xdc00;
		char bytes[4];
		const uint32_t code =
			pair ? 0x10000u + ((units[i] & 0x3ffu) << 10) + (units[i + 1] & 0x3ffu) : units[i];
		text_put(&want, bytes, utf8_encode(code, bytes));
		i += pair;
	}
	snprintf(name, sizeof name, "0x%jx", (uintmax_t)id);
	assert_int_equal(tree_lookup(o.tree, TREE_ROOT, "objects", &above[1]), 0);
	assert_int_equal(tree_lookup(o.tree, above[1], name, &link), 0);
	assert_int_equal(tree_readlink(o.tree, link, &got), 0);
	assert_true(resolve(o.tree, above, 2, got.data, got.len, &folder));
	assert_int_equal(tree_lookup(o.tree, folder, "value.txt", &ino), 0);
	struct stat st;
	assert_int_equal(tree_getattr(o.tree, ino, &st), 0);
	assert_int_equal(st.st_size, want.len);
	got.len = 0;
	assert_int_equal(read_file(&o, ino, 0, want.len + 1, &got), 0);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data, want.data, want.len);
	for (size_t from = want.len < 40 ? 0 : want.len - 40; from < want.len; from += 3) {
		got.len = 0;
		assert_int_equal(read_file(&o, ino, from, 11, &got), 0);
		assert_int_equal(got.len, want.len - from < 11 ? want.len - from : 11);
		assert_memory_equal(got.data, want.data + from, got.len);
	}
	/* As a reader does: one stretch after the other. */
	for (size_t from = 0; from < want.len; from += 4096) {
		got.len = 0;
		assert_int_equal(read_file(&o, ino, from, 4096, &got), 0);
		assert_memory_equal(got.data, want.data + from, got.len);
	}
	text_free(&want);
	text_free(&got);
	opened_close(&o);
}

static void value_pieces(void **state)
{
	/* Chars around each multiple of 65,536, 4 before it and 4 from it on; the rest is plain. */
	static const uint16_t around[][8] = {
		{ 'x', 'x', 'x', 0xd83d, 0xde00, 'x', 'x', 'x' },
		{ 'x', 'x', 'x', 0xd83d, 'x', 'x', 'x', 'x' },
		{ 'x', 'x', 'x', 'x', 0xde00, 'x', 'x', 'x' },
		{ 'x', 'x', 0xd83d, 0xd83d, 0xde00, 0xde00, 'x', 'x' },
		{ 'x', 'x', 0xd83d, 0xde00, 0xde00, 'x', 'x', 'x' },
		{ 0xd83d, 0xde00, 0xd83d, 0xde00, 0xd83d, 0xde00, 0xd83d, 0xde00 },
		{ 0xde00, 0xd83d, 0xde00, 0xd83d, 0xde00, 0xd83d, 0xde00, 0xd83d },
		{ 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x' },
	};
	static const uint32_t counts[] = { 0, 1, 65535, 65536, 65537, 131071, 131072, 131073, 200000 };
	uint16_t *units = calloc(200000, sizeof *units);
	assert_non_null(units);
	(void)state;
	for (size_t a = 0; a < sizeof around / sizeof *around; a++) {
		for (uint32_t i = 0; i < 200000; i++)
			units[i] = (uint16_t)('A' + i % 26);
		for (uint32_t at = 65536; at < 200000; at += 65536)
			memcpy(units + at - 4, around[a], sizeof around[a]);
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
			check_value(units, counts[c], c % 2 ? VM_JDK9 : c % 4 ? VM_ART : VM_JDK8);
	}
	free(units);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_trees), cmocka_unit_test(without_ids),   cmocka_unit_test(without_links),
		cmocka_unit_test(odd_inodes),  cmocka_unit_test(several_dumps), cmocka_unit_test(split_folders),
		cmocka_unit_test(file_texts),  cmocka_unit_test(value_pieces),  cmocka_unit_test(objects_by_id),
	};
	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
