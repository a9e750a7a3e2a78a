/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collections in every layout, and broken ones. Each is a static of a class test.Named, under a name of its own; the
 * fields are those of the classes' sources, in an order of their own.
 */
#include "samples.h"

#include <string.h>

#define DANGLING UINT64_C(0x7ff00010)
#define NAMED_MOST 48

struct heap_of {
	struct vm vm;
	struct member_spec named[NAMED_MOST];
	unsigned count;
	uint64_t array;		/* java.lang.Object[] */
	uint64_t integer, one, two, three, a, b, c; /* an Integer's class, Integers, and Strings */
};

/* Java's name of a class, as this VM writes it. */
static uint64_t define(struct heap_of *h, const char *name, uint64_t super, const char *fields)
{
	char raw[80];
	snprintf(raw, sizeof raw, "%s", name);
	for (char *p = raw; h->vm.kind != VM_ART && *p; p++)
		*p = *p == '.' ? '/' : *p;
	return vm_define(&h->vm, raw, super ? super : h->vm.object, fields);
}

static uint64_t define_static(struct heap_of *h, const char *name, const char *fields, const char *name_of,
			      uint64_t value)
{
	char raw[80];
	snprintf(raw, sizeof raw, "%s", name);
	for (char *p = raw; h->vm.kind != VM_ART && *p; p++)
		*p = *p == '.' ? '/' : *p;
	const struct member_spec spec = { .name = name_of, .type = TYPE_OBJECT, .value = value };
	return vm_define_statics(&h->vm, raw, h->vm.object, fields, &spec, 1);
}

static void start(struct heap_of *h, struct writer *out, enum vm_kind kind, unsigned id_width)
{
	memset(h, 0, sizeof *h);
	writer_init(out, id_width);
	vm_init(&h->vm, kind, id_width);
	h->array = vm_define(&h->vm, kind == VM_ART ? "java.lang.Object[]" : "[Ljava/lang/Object;", h->vm.object, "");
	h->integer = define(h, "java.lang.Integer", 0, "value:I");
	h->one = VM_NEW(&h->vm, h->integer, 1);
	h->two = VM_NEW(&h->vm, h->integer, 2);
	h->three = VM_NEW(&h->vm, h->integer, 3);
	h->a = vm_string(&h->vm, "a");
	h->b = vm_string(&h->vm, "b");
	h->c = vm_string(&h->vm, "c\tc");
}

static uint64_t name(struct heap_of *h, const char *as, uint64_t id)
{
	h->named[h->count++] = (struct member_spec){ .name = as, .type = TYPE_OBJECT, .value = id };
	return id;
}

static void finish(struct heap_of *h, struct writer *out)
{
	const bool art = h->vm.kind == VM_ART;
	vm_define_statics(&h->vm, art ? "test.Named" : "test/Named", h->vm.object, "", h->named, h->count);
	vm_finish(&h->vm, art ? "JAVA PROFILE 1.0.3" : "JAVA PROFILE 1.0.2", out);
}

#define ARRAY(h, ...)                                                                                        \
	vm_object_array(&(h)->vm, (h)->array, (const uint64_t[]){ __VA_ARGS__ },                             \
			sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
#define NEW(h, class, ...) VM_NEW(&(h)->vm, class, __VA_ARGS__)

static uint64_t room(struct heap_of *h, uint64_t class)
{
	return vm_alloc(&h->vm, vm_size(&h->vm, class));
}

static void put(struct heap_of *h, uint64_t id, uint64_t class, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		uint64_t e)
{
	vm_new(&h->vm, id, class, (const uint64_t[]){ a, b, c, d, e }, 5);
}

/* --- JDK 8 and later --- */

/* hash, key, value, next */
static uint64_t hash_map(struct heap_of *h, uint64_t *node)
{
	*node = define(h, "java.util.HashMap$Node", 0, "hash:I key:L value:L next:L");
	return define(h, "java.util.HashMap", 0, "table:L entrySet:L size:I modCount:I");
}

static void make_hashes(struct heap_of *h)
{
	uint64_t node;
	const uint64_t map = hash_map(h, &node);
	const uint64_t c = NEW(h, node, 3, h->c, h->three, 0), b = NEW(h, node, 3, h->b, h->two, c);
	const uint64_t table = ARRAY(h, NEW(h, node, 0, 0, 0, 0), NEW(h, node, 1, h->a, h->one, 0), 0, b, 0, 0, 0, 0);
	const uint64_t full = name(h, "hashMap", NEW(h, map, table, 0, 4, 0));
	name(h, "emptyMap", NEW(h, map, ARRAY(h, 0, 0, 0, 0), 0, 0, 0));
	name(h, "newMap", NEW(h, map, 0, 0, 0, 0));
	const uint64_t mine = define(h, "test.Cache", map, "limit:I owner:L");
	name(h, "subclass", NEW(h, mine, 7, h->a, table, 0, 4, 0));
	const uint64_t linked_node = define(h, "java.util.LinkedHashMap$Entry", node, "before:L after:L");
	const uint64_t tree_node = define(h, "java.util.HashMap$TreeNode", linked_node,
					  "parent:L left:L right:L prev:L red:Z");
	const uint64_t second = NEW(h, tree_node, 0, 0, 0, 0, 0, 0, 0, 5, h->b, h->two, 0);
	const uint64_t first = NEW(h, tree_node, 0, second, second, 0, 0, 0, 0, 5, h->a, h->one, second);
	name(h, "treeBin", NEW(h, map, ARRAY(h, 0, first), 0, 2, 0));
	const uint64_t linked = define(h, "java.util.LinkedHashMap", map, "head:L tail:L accessOrder:Z");
	const uint64_t last = NEW(h, linked_node, 0, 0, 1, h->a, h->one, 0);
	const uint64_t head = NEW(h, linked_node, 0, last, 2, h->b, h->two, 0);
	const uint64_t ordered = NEW(h, linked, head, last, 0, ARRAY(h, last, head), 0, 2, 0);
	name(h, "linkedHashMap", ordered);
	const uint64_t set = define(h, "java.util.HashSet", 0, "map:L");
	name(h, "hashSet", NEW(h, set, full));
	name(h, "linkedHashSet", NEW(h, define(h, "java.util.LinkedHashSet", set, ""), ordered));
}

/* left, right, parent behind key and value */
static uint64_t tree_map(struct heap_of *h, uint64_t *node)
{
	*node = define(h, "java.util.TreeMap$Entry", 0, "key:L value:L left:L right:L parent:L");
	return define(h, "java.util.TreeMap", 0, "comparator:L root:L size:I");
}

static void make_trees(struct heap_of *h)
{
	uint64_t node;
	const uint64_t map = tree_map(h, &node);
	const uint64_t root = room(h, node), left = room(h, node), right = room(h, node), between = room(h, node);
	put(h, root, node, h->three, h->c, left, right, 0);
	put(h, left, node, h->one, h->a, 0, between, root);
	put(h, right, node, h->integer, 0, 0, 0, root); /* a key that is a class */
	put(h, between, node, h->two, h->b, 0, 0, left);
	const uint64_t tree = name(h, "treeMap", NEW(h, map, 0, root, 4));
	name(h, "treeSet", NEW(h, define(h, "java.util.TreeSet", 0, "m:L"), tree));
	name(h, "emptyTree", NEW(h, map, 0, 0, 0));
}

static void make_concurrent(struct heap_of *h)
{
	const uint64_t node = define(h, "java.util.concurrent.ConcurrentHashMap$Node", 0, "hash:I key:L val:L next:L");
	const uint64_t moved = define(h, "java.util.concurrent.ConcurrentHashMap$ForwardingNode", node, "nextTable:L");
	const uint64_t bin = define(h, "java.util.concurrent.ConcurrentHashMap$TreeBin", node,
				    "root:L first:L lockState:I");
	const uint64_t leaf = define(h, "java.util.concurrent.ConcurrentHashMap$TreeNode", node,
				     "parent:L left:L right:L");
	const uint64_t cell = define(h, "java.util.concurrent.ConcurrentHashMap$CounterCell", 0, "value:J");
	const uint64_t map = define(h, "java.util.concurrent.ConcurrentHashMap", 0,
				    "table:L nextTable:L baseCount:J counterCells:L");
	const uint64_t b = NEW(h, leaf, 0, 0, 0, 2, h->b, h->two, 0), a = NEW(h, leaf, 0, 0, 0, 2, h->a, h->one, b);
	const uint64_t tree = NEW(h, bin, a, a, 0, (uint64_t)-2, 0, 0, 0);
	/* Slot 1 of 2 is in slots 1 and 3 of 4 already. */
	const uint64_t next = ARRAY(h, 0, NEW(h, node, 1, h->c, h->three, 0), 0, NEW(h, node, 3, h->one, h->c, 0));
	const uint64_t forward = NEW(h, moved, next, (uint64_t)-1, 0, 0, 0);
	const uint64_t cells = ARRAY(h, NEW(h, cell, 3), 0, NEW(h, cell, (uint64_t)-1));
	const uint64_t full = NEW(h, map, ARRAY(h, tree, forward), next, 2, cells);
	name(h, "concurrentHashMap", full);
	name(h, "properties", NEW(h, define(h, "java.util.Properties", 0, "defaults:L map:L"), 0, full));
	/* Broken: a table that was moved to itself, and a tree that is its own first node. */
	const uint64_t own = vm_alloc(&h->vm, 64), self = room(h, bin);
	vm_new(&h->vm, self, bin, (const uint64_t[]){ 0, self }, 2);
	const uint64_t elements[] = { NEW(h, moved, own, 0, 0, 0, 0), self, NEW(h, node, 0, h->a, h->one, 0) };
	sub_object_array(&h->vm.heap, own, h->array, elements, 3);
	name(h, "movedToItself", NEW(h, map, own, 0, 1, 0));
}

static void make_lists(struct heap_of *h)
{
	const uint64_t base = define(h, "java.util.AbstractList", 0, "modCount:I");
	const uint64_t list = define(h, "java.util.ArrayList", base, "elementData:L size:I");
	name(h, "arrayList", NEW(h, list, ARRAY(h, h->a, 0, h->two, 0, 0), 3, 0));
	name(h, "emptyList", NEW(h, list, ARRAY(h, 0, 0, 0, 0, 0, 0), 0, 0));
	name(h, "newList", NEW(h, list, vm_object_array(&h->vm, h->array, NULL, 0), 0, 0));
	name(h, "lyingList", NEW(h, list, ARRAY(h, h->a, h->b), 1000, 0));
	name(h, "negativeList", NEW(h, list, ARRAY(h, h->a, h->b), (uint64_t)-5, 0));
	name(h, "lostList", NEW(h, list, DANGLING, 3, 0));
	const uint64_t vector = define(h, "java.util.Vector", base, "elementData:L elementCount:I");
	name(h, "vector", NEW(h, vector, ARRAY(h, h->a, h->b, 0), 2, 0));
	const uint64_t fixed = define(h, "java.util.Arrays$ArrayList", base, "a:L");
	name(h, "asList", NEW(h, fixed, ARRAY(h, h->a, h->one), 0));
	const uint64_t deque = define(h, "java.util.ArrayDeque", 0, "elements:L head:I tail:I");
	name(h, "arrayDeque", NEW(h, deque, ARRAY(h, h->b, h->c, 0, h->a), 3, 2));
	name(h, "lyingDeque", NEW(h, deque, ARRAY(h, h->b, h->c, 0, h->a), 4, 2));
	const uint64_t node = define(h, "java.util.LinkedList$Node", 0, "item:L next:L prev:L");
	const uint64_t linked = define(h, "java.util.LinkedList", base, "size:I first:L last:L");
	const uint64_t last = NEW(h, node, 0, 0, 0), first = NEW(h, node, h->a, last, 0);
	name(h, "linkedList", NEW(h, linked, 2, first, last));
	/* A circle that does not come back to the first node. */
	const uint64_t x = room(h, node), y = room(h, node);
	put(h, x, node, h->b, y, 0, 0, 0);
	put(h, y, node, h->c, x, 0, 0, 0);
	name(h, "circleList", NEW(h, linked, (uint64_t)-1, NEW(h, node, h->a, x, 0), y));
}

static void make_other_maps(struct heap_of *h)
{
	const uint64_t null = NEW(h, h->vm.object, 0);
	const uint64_t entry = define(h, "java.util.Hashtable$Entry", 0, "hash:I key:L value:L next:L");
	const uint64_t table = define(h, "java.util.Hashtable", 0, "table:L count:I");
	/* Gone through from the end. */
	const uint64_t low = NEW(h, entry, 0, h->a, h->one, 0), high = NEW(h, entry, 1, h->b, h->two, 0);
	name(h, "hashtable", NEW(h, table, ARRAY(h, low, high), 2));
	const uint8_t numbers[8] = { 0 };
	name(h, "tableOfInts", NEW(h, table, vm_primitive_array(&h->vm, TYPE_INT, numbers, 2), 2));
	const uint64_t identity = define_static(h, "java.util.IdentityHashMap", "table:L size:I", "NULL_KEY", null);
	name(h, "identityHashMap", NEW(h, identity, ARRAY(h, 0, 0, h->a, h->one, null, 0, 0, 0), 2));
	const uint64_t reference = define(h, "java.lang.ref.Reference", 0, "referent:L queue:L next:L discovered:L");
	const uint64_t weak_entry = define(h, "java.util.WeakHashMap$Entry", reference, "value:L hash:I next:L");
	const uint64_t weak = define_static(h, "java.util.WeakHashMap", "table:L size:I", "NULL_KEY", null);
	/* next of the Reference is not the entry's. */
	const uint64_t after = NEW(h, weak_entry, h->two, 0, 0, null, 0, 0, 0);
	name(h, "weakHashMap", NEW(h, weak, ARRAY(h, 0, NEW(h, weak_entry, h->one, 0, after, h->a, 0, table, 0)), 2));
	const uint64_t base = define(h, "java.lang.Enum", 0, "name:L ordinal:I");
	const uint64_t colour = define(h, "test.Colour", base, "");
	const uint64_t red = NEW(h, colour, vm_string(&h->vm, "RED"), 0);
	const uint64_t blue = NEW(h, colour, vm_string(&h->vm, "BLUE"), 1);
	const uint64_t map = define_static(h, "java.util.EnumMap", "keyUniverse:L vals:L size:I", "NULL", null);
	name(h, "enumMap", NEW(h, map, ARRAY(h, red, blue), ARRAY(h, 0, null), 1));
}

static void make_broken_maps(struct heap_of *h)
{
	uint64_t node, entry;
	const uint64_t map = hash_map(h, &node), tree = tree_map(h, &entry);
	const uint64_t set = define(h, "java.util.HashSet", 0, "map:L");
	const uint64_t x = room(h, node), y = room(h, node), self = room(h, node);
	put(h, x, node, 0, h->a, h->one, y, 0);
	put(h, y, node, 0, h->b, h->two, x, 0);
	put(h, self, node, 0, h->c, h->three, self, 0);
	name(h, "circle", NEW(h, map, ARRAY(h, x, self), 0, 2, 0));
	name(h, "negativeMap", NEW(h, map, ARRAY(h, NEW(h, node, 0, h->a, h->one, 0), 0), 0, (uint64_t)-3, 0));
	name(h, "largeMap", NEW(h, map, ARRAY(h, NEW(h, node, 0, h->a, h->one, 0), 0), 0, 0x7fffffff, 0));
	name(h, "lostTable", NEW(h, map, DANGLING, 0, 5, 0));
	name(h, "lostNodes", NEW(h, map, ARRAY(h, DANGLING, h->a, NEW(h, node, 0, h->b, h->two, DANGLING)), 0, 3, 0));
	/* root's left one has root on its left; its right one is on both sides of itself and has a child twice. */
	const uint64_t root = room(h, entry), left = room(h, entry), right = room(h, entry), twice = room(h, entry);
	put(h, root, entry, h->two, 0, left, right, 0);
	put(h, left, entry, h->one, 0, root, left, root);
	put(h, right, entry, h->three, 0, twice, twice, root);
	put(h, twice, entry, h->a, 0, twice, DANGLING, right);
	name(h, "circleTree", NEW(h, tree, 0, root, 3));
	const uint64_t own = room(h, set);
	vm_new(&h->vm, own, set, &own, 1);
	name(h, "setOfItself", own);
	name(h, "setOfNothing", NEW(h, set, DANGLING));
}

void sample_collections(struct writer *out)
{
	struct heap_of h;
	start(&h, out, VM_JDK9, 8);
	make_hashes(&h);
	make_trees(&h);
	make_concurrent(&h);
	make_lists(&h);
	make_other_maps(&h);
	finish(&h, out);
}

void sample_collections_broken(struct writer *out)
{
	struct heap_of h;
	start(&h, out, VM_JDK9, 8);
	make_broken_maps(&h);
	finish(&h, out);
}

/* JDK 6, 32 bits. */
void sample_collections_6(struct writer *out)
{
	struct heap_of heap, *h = &heap;
	start(h, out, VM_JDK6, 4);
	const uint64_t node = define(h, "java.util.HashMap$Entry", 0, "key:L value:L next:L hash:I");
	const uint64_t map = define(h, "java.util.HashMap", 0, "table:L size:I threshold:I");
	const uint64_t chain = NEW(h, node, 0, h->two, NEW(h, node, h->a, h->one, 0, 0), 0);
	name(h, "hashMap", NEW(h, map, ARRAY(h, chain, 0), 2));
	const uint64_t linked_node = define(h, "java.util.LinkedHashMap$Entry", node, "before:L after:L");
	const uint64_t linked = define(h, "java.util.LinkedHashMap", map, "header:L accessOrder:Z");
	const uint64_t header = room(h, linked_node), last = NEW(h, linked_node, 0, header, h->a, h->one, 0, 0);
	const uint64_t first = NEW(h, linked_node, 0, last, h->b, h->two, 0, 0);
	vm_new(&h->vm, header, linked_node, (const uint64_t[]){ last, first }, 2);
	name(h, "linkedHashMap", NEW(h, linked, header, 0, ARRAY(h, last, first), 2));
	const uint64_t empty = room(h, linked_node);
	vm_new(&h->vm, empty, linked_node, (const uint64_t[]){ empty, empty }, 2);
	name(h, "emptyLinked", NEW(h, linked, empty, 0, ARRAY(h, 0, 0, 0, 0), 0));
	const uint64_t hash = define(h, "java.util.concurrent.ConcurrentHashMap$HashEntry", 0,
				     "key:L hash:I value:L next:L");
	const uint64_t segment = define(h, "java.util.concurrent.ConcurrentHashMap$Segment", 0, "count:I table:L");
	const uint64_t concurrent = define(h, "java.util.concurrent.ConcurrentHashMap", 0, "segmentMask:I segments:L");
	const uint64_t low = NEW(h, segment, 1, ARRAY(h, NEW(h, hash, h->a, 0, h->one, 0), 0));
	const uint64_t b = NEW(h, hash, h->b, 0, h->two, 0), c = NEW(h, hash, h->c, 0, h->three, 0);
	const uint64_t high = NEW(h, segment, 2, ARRAY(h, b, c));
	/* Gone through from the end. */
	name(h, "concurrentHashMap", NEW(h, concurrent, 3, ARRAY(h, low, NEW(h, segment, 0, ARRAY(h, 0, 0)), 0, high)));
	const uint64_t element = define(h, "java.util.LinkedList$Entry", 0, "element:L next:L previous:L");
	const uint64_t list = define(h, "java.util.LinkedList", 0, "header:L size:I");
	const uint64_t head = room(h, element), second = NEW(h, element, h->two, head, 0);
	put(h, head, element, 0, NEW(h, element, h->one, second, 0), second, 0, 0);
	name(h, "linkedList", NEW(h, list, head, 2));
	finish(h, out);
}

static uint64_t numbers_of(struct heap_of *h, unsigned type, const uint64_t *values, uint32_t count)
{
	uint8_t bytes[64];
	const unsigned width = type_width(type, 4);
	for (uint32_t i = 0; i < count; i++)
		for (unsigned j = 0; j < width; j++)
			bytes[i * width + j] = (uint8_t)(values[i] >> 8 * (width - 1 - j));
	return vm_primitive_array(&h->vm, type, bytes, count);
}

static void make_android_util(struct heap_of *h)
{
	static const uint64_t keys[] = { 5, 7, UINT64_MAX, 0 }, flags[] = { 1, 0, 0, 0 };
	const uint64_t hashes = numbers_of(h, TYPE_INT, keys, 4), longs = numbers_of(h, TYPE_LONG, keys, 4);
	const uint64_t map = define(h, "android.util.ArrayMap", 0, "mHashes:L mArray:L mSize:I");
	name(h, "arrayMap", NEW(h, map, hashes, ARRAY(h, h->a, h->one, 0, h->two, 0, 0, 0, 0), 2));
	name(h, "emptyArrayMap", NEW(h, map, hashes, ARRAY(h, 0, 0, 0, 0, 0, 0, 0, 0), 0));
	name(h, "lyingArrayMap", NEW(h, map, hashes, ARRAY(h, h->a, h->one), 100));
	const uint64_t set = define(h, "android.util.ArraySet", 0, "mHashes:L mArray:L mSize:I");
	name(h, "arraySet", NEW(h, set, hashes, ARRAY(h, h->a, h->b, 0, 0), 2));
	const uint64_t deleted = NEW(h, h->vm.object, 0);
	const uint64_t sparse = define_static(h, "android.util.SparseArray",
					      "mGarbage:Z mKeys:L mValues:L mSize:I", "DELETED", deleted);
	name(h, "sparseArray", NEW(h, sparse, 1, hashes, ARRAY(h, h->a, deleted, h->c, 0), 3));
	const uint64_t wide = define(h, "android.util.LongSparseArray", 0, "mGarbage:Z mKeys:L mValues:L mSize:I");
	name(h, "longSparseArray", NEW(h, wide, 0, longs, ARRAY(h, h->a, 0, h->b, 0), 3));
	const uint64_t ints = define(h, "android.util.SparseIntArray", 0, "mKeys:L mValues:L mSize:I");
	name(h, "sparseIntArray", NEW(h, ints, hashes, hashes, 3));
	const uint64_t booleans = define(h, "android.util.SparseBooleanArray", 0, "mKeys:L mValues:L mSize:I");
	name(h, "sparseBooleanArray", NEW(h, booleans, hashes, numbers_of(h, TYPE_BOOLEAN, flags, 4), 2));
}

/* Android: Harmony's classes, as up to API 23, and android.util. */
void sample_collections_android(struct writer *out)
{
	struct heap_of heap, *h = &heap;
	start(h, out, VM_ART, 4);
	const uint64_t node = define(h, "java.util.HashMap$HashMapEntry", 0, "hash:I key:L next:L value:L");
	const uint64_t shared = ARRAY(h, 0, 0);
	const uint64_t map = define_static(h, "java.util.HashMap", "table:L entryForNullKey:L size:I",
					   "EMPTY_TABLE", shared);
	const uint64_t null = NEW(h, node, 0, 0, 0, h->two);
	const uint64_t full = name(h, "hashMap", NEW(h, map, ARRAY(h, 0, NEW(h, node, 0, h->a, 0, h->one)), null, 2));
	name(h, "emptyMap", NEW(h, map, shared, 0, 0));
	const uint64_t linked_node = define(h, "java.util.LinkedHashMap$LinkedEntry", node, "nxt:L prv:L");
	const uint64_t linked = define(h, "java.util.LinkedHashMap", map, "header:L accessOrder:Z");
	const uint64_t header = room(h, linked_node), last = NEW(h, linked_node, header, 0, 0, h->a, 0, h->one);
	const uint64_t before = NEW(h, linked_node, last, 0, 0, h->b, 0, h->two);
	vm_new(&h->vm, header, linked_node, (const uint64_t[]){ before, last }, 2);
	name(h, "linkedHashMap", NEW(h, linked, header, 0, ARRAY(h, last, 0), 0, 2));
	name(h, "hashSet", NEW(h, define(h, "java.util.HashSet", 0, "backingMap:L"), full));
	const uint64_t array_list = define(h, "java.util.ArrayList", 0, "array:L size:I");
	name(h, "arrayList", NEW(h, array_list, ARRAY(h, h->a, h->one, 0), 2));
	const uint64_t link = define(h, "java.util.LinkedList$Link", 0, "data:L next:L previous:L");
	const uint64_t list = define(h, "java.util.LinkedList", 0, "voidLink:L size:I");
	const uint64_t empty = room(h, link);
	put(h, empty, link, 0, NEW(h, link, h->a, empty, empty), empty, 0, 0);
	name(h, "linkedList", NEW(h, list, empty, 1));
	make_android_util(h);
	finish(h, out);
}
