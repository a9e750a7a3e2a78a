/* SPDX-License-Identifier: Apache-2.0 */
/* What holds what, through dumps: against the oracle for graphs at random and all samples, and case by case. */
#include "fixture.h"
#include "oracle.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JVM "JAVA PROFILE 1.0.2"
#define ART "JAVA PROFILE 1.0.3"

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* --- a graph, and what it is compared with --- */

struct built {
	struct opened opened;
	const struct heap *heap;
	struct graph *graph;
};

/* All stages of a heap's graph. */
static struct graph *graph_of(const struct heap *heap, const struct graph_options *options)
{
	struct graph *graph = must(graph_open(heap, options));
	const int rc = graph_need(graph, GRAPH_RETAINERS);
	if (rc)
		fail_msg("graph_need: %s", strerror(rc));
	return graph;
}

static void build(struct built *built, struct vm *vm, const char *version)
{
	opened_vm(&built->opened, vm, version);
	built->heap = &built->opened.heaps[0];
	built->graph = graph_of(built->heap, &(struct graph_options){ .threads = 1, .all_retainers = true });
}

static void built_close(struct built *built)
{
	graph_close(built->graph);
	opened_close(&built->opened);
}

static uint32_t need_node(const struct graph *graph, uint64_t id)
{
	const uint32_t node = graph_node(graph, id);
	if (node == NODE_NONE)
		fail_msg("no node 0x%" PRIx64, id);
	return node;
}

/* The node that the oracle means. */
static uint32_t node_of(const struct graph *graph, const struct oracle *oracle, uint32_t number)
{
	return number == TRUE_NONE ? NODE_NONE : number == TRUE_ROOT ? NODE_ROOT : need_node(graph, oracle->nodes[number].id);
}

static void same(const char *what, const char *label, uint64_t id, uint64_t found, uint64_t expected)
{
	if (found != expected)
		fail_msg("%s: 0x%" PRIx64 ": %s is %" PRIu64 " (0x%" PRIx64 "), not %" PRIu64 " (0x%" PRIx64 ")", label, id, what,
			 found, found, expected, expected);
}

/* Numbers are those from 0 on, each of one node, and lead back to its id. */
static void check_numbers(const struct graph *graph, const struct oracle *oracle, const char *label)
{
	uint8_t *taken = must(calloc((size_t)oracle->count + 1, 1));
	for (uint32_t i = 0; i < oracle->count; i++) {
		const uint64_t id = oracle->nodes[i].id;
		const uint32_t node = graph_node(graph, id);
		if (node >= oracle->count || taken[node])
			fail_msg("%s: 0x%" PRIx64 " has number %u, of %u", label, id, node, oracle->count);
		taken[node] = 1;
		same("the id of its number", label, id, graph_id(graph, node), id);
		for (int step = -1; step <= 1; step += 2) {
			const uint64_t stranger = id + (uint64_t)(int64_t)step;
			if (oracle_find(oracle, stranger) == TRUE_NONE)
				same("the number of a stranger", label, stranger, graph_node(graph, stranger), NODE_NONE);
		}
	}
	assert_int_equal(graph_node(graph, 0), NODE_NONE);
	free(taken);
}

static void check_held(const struct graph *graph, const struct oracle *oracle, const char *label)
{
	for (uint32_t i = 0; i < oracle->count; i++) {
		const struct true_node *node = &oracle->nodes[i];
		struct held held;
		assert_true(graph_held(graph, need_node(graph, node->id), &held));
		same("strength", label, node->id, held.strength, node->strength);
		same("dominator", label, node->id, held.dominator, node_of(graph, oracle, node->dominator));
		same("shallow", label, node->id, held.shallow, node->size);
		same("retained", label, node->id, held.retained, node->retained);
		same("objects", label, node->id, held.objects, node->objects);
		if (node->strength == STRONG)
			same("objects", label, node->id, graph_retained_objects(graph, node_of(graph, oracle, i)), node->objects);
	}
}

static void check_sums(const struct graph *graph, const struct oracle *oracle, const char *label)
{
	struct graph_sum sums[STRENGTH_COUNT] = { { 0, 0 } };
	for (uint32_t i = 0; i < oracle->count; i++) {
		sums[oracle->nodes[i].strength].objects++;
		sums[oracle->nodes[i].strength].bytes += oracle->nodes[i].size;
	}
	for (unsigned i = 0; i < STRENGTH_COUNT; i++) {
		same("a sum of objects", label, i, graph_sums(graph)[i].objects, sums[i].objects);
		same("a sum of bytes", label, i, graph_sums(graph)[i].bytes, sums[i].bytes);
	}
	same("the number of references", label, 0, graph_references(graph), oracle->reference_count);
	same("having no roots", label, 0, graph_lacks_roots(graph), oracle->lacks_roots);
}

/* The way back is one node shorter at each step, and ends at a root. Which one it is of several, paths() looks at. */
static void check_paths(const struct graph *graph, const struct oracle *oracle, const char *label)
{
	for (uint32_t i = 0; i < oracle->count; i++) {
		const struct true_node *node = &oracle->nodes[i];
		const uint32_t at = need_node(graph, node->id), before = graph_before(graph, at);
		same("distance", label, node->id, graph_distance(graph, at), node->distance < 255 ? node->distance : 255);
		if (node->distance <= 1) {
			same("the node before it", label, node->id, before, node->distance ? NODE_ROOT : NODE_NONE);
			continue;
		}
		const uint32_t other = oracle_find(oracle, graph_id(graph, before));
		if (other == TRUE_NONE || oracle->nodes[other].distance + 1 != node->distance || !oracle_refers(oracle, other, i, true))
			fail_msg("%s: 0x%" PRIx64 " lies before 0x%" PRIx64 " on its way", label, graph_id(graph, before), node->id);
	}
}

/* They come by number, and each once; whether this node is among them. */
static bool is_referrer(const struct referrers *referrers, uint32_t node)
{
	bool found = false;
	for (size_t i = 0; i < referrers->count; i++) {
		assert_true(!i || referrers->list[i - 1] < referrers->list[i]);
		found |= referrers->list[i] == node;
	}
	return found;
}

static void check_referrers(struct graph *graph, const struct oracle *oracle, const char *label)
{
	for (uint32_t i = 0; i < oracle->count; i++) {
		const uint32_t node = need_node(graph, oracle->nodes[i].id);
		struct referrers *referrers = must(graph_referrers(graph, node)), *again = graph_referrers(graph, node);
		size_t at = 0;
		assert_ptr_equal(referrers, again);
		assert_int_equal(referrers->node, node);
		for (uint32_t x = 0; x < oracle->count; x++) {
			if (!oracle_refers(oracle, x, i, false))
				continue;
			same("a referrer is there", label, oracle->nodes[x].id,
			     is_referrer(referrers, need_node(graph, oracle->nodes[x].id)), true);
			at++;
		}
		same("the number of referrers", label, oracle->nodes[i].id, referrers->count, at);
		referrers_put(again);
		referrers_put(referrers);
	}
}

static int compare_retainers(const void *a, const void *b)
{
	const struct retainer *x = a, *y = b;
	if (x->dominator != y->dominator)
		return x->dominator < y->dominator ? -1 : 1;
	if (x->retained != y->retained)
		return x->retained > y->retained ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* By what retains most, then by number. */
static int compare_largest(const void *a, const void *b)
{
	const struct retainer *x = a, *y = b;
	if (x->retained != y->retained)
		return x->retained > y->retained ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void same_retainers(const struct retainers *found, const struct retainer *expected, size_t count, const char *label)
{
	same("the number of retainers", label, 0, found->count, count);
	for (size_t i = 0; i < count; i++) {
		same("a retainer", label, i, found->list[i].node, expected[i].node);
		same("its dominator", label, i, found->list[i].dominator, expected[i].dominator);
		same("what it retains", label, i, found->list[i].retained, expected[i].retained);
	}
}

/* `all`: whatever they retain; else those that retain 4096 bytes, of heaps as small as these. */
static void check_retainers(const struct graph *graph, const struct oracle *oracle, bool all, const char *label)
{
	struct retainer *expected = must(malloc(((size_t)oracle->count + 1) * sizeof *expected));
	size_t count = 0, kept = 0;
	for (uint32_t i = 0; i < oracle->count; i++) {
		const struct true_node *node = &oracle->nodes[i];
		if (node->strength == STRONG)
			expected[count++] = (struct retainer){ node_of(graph, oracle, node->dominator),
							       node_of(graph, oracle, i), node->retained };
	}
	qsort(expected, count, sizeof *expected, compare_largest);
	same_retainers(graph_largest(graph), expected, count < LARGEST_MOST ? count : LARGEST_MOST, label);
	for (size_t i = 0; i < count; i++)
		if (all || expected[i].retained >= 4096)
			expected[kept++] = expected[i];
	qsort(expected, kept, sizeof *expected, compare_retainers);
	same_retainers(graph_retainers(graph), expected, kept, label);
	free(expected);
}

/* Does another one of its class dominate it? */
static bool lies_inside(const struct oracle *oracle, uint32_t node)
{
	for (uint32_t x = 0; x < oracle->count; x++)
		if (oracle->dominates[(size_t)x * oracle->count + node] &&
		    oracle_class(oracle, x) == oracle_class(oracle, node))
			return true;
	return false;
}

static void check_classes(const struct graph *graph, const struct oracle *oracle, const char *label)
{
	const struct heap *heap = oracle->heap;
	struct class_graph *classes = must(calloc((size_t)heap->class_count + 1, sizeof *classes));
	for (uint32_t i = 0; i < oracle->count; i++) {
		const struct true_node *node = &oracle->nodes[i];
		const struct class *of = oracle_class(oracle, i);
		struct class_graph *class = of ? &classes[class_number(heap, of)] : NULL;
		if (class && node->strength == UNREACHABLE) {
			class->lost.objects++;
			class->lost.bytes += node->size;
		} else if (class && node->strength == STRONG && !lies_inside(oracle, i)) {
			class->retained += node->retained;
		}
	}
	for (uint32_t i = 0; i < heap->class_count; i++) {
		const struct class_graph *found = &graph_classes(graph)[i];
		same("retained by the class", label, heap->classes[i].id, found->retained, classes[i].retained);
		same("lost objects of the class", label, heap->classes[i].id, found->lost.objects, classes[i].lost.objects);
		same("lost bytes of the class", label, heap->classes[i].id, found->lost.bytes, classes[i].lost.bytes);
	}
	free(classes);
}

/* All classes, those that retain most first, then by name, then somehow. */
static void check_class_order(const struct graph *graph, const struct heap *heap, const char *label)
{
	const uint32_t *order = graph_class_order(graph);
	const struct class_graph *classes = graph_classes(graph);
	uint8_t *taken = must(calloc((size_t)heap->class_count + 1, 1));
	for (uint32_t i = 0; i < heap->class_count; i++) {
		if (order[i] >= heap->class_count || taken[order[i]])
			fail_msg("%s: class number %u in the order of classes", label, order[i]);
		taken[order[i]] = 1;
		if (i && (classes[order[i - 1]].retained < classes[order[i]].retained ||
			  (classes[order[i - 1]].retained == classes[order[i]].retained &&
			   strcmp(heap->classes[order[i - 1]].name.text, heap->classes[order[i]].name.text) > 0)))
			fail_msg("%s: %s stands before %s", label, heap->classes[order[i - 1]].name.text,
				 heap->classes[order[i]].name.text);
	}
	free(taken);
}

static void check_heap(const struct heap *heap, const struct graph_options *options, const char *label)
{
	struct oracle oracle;
	struct graph *graph = graph_of(heap, options);
	oracle_make(&oracle, heap);
	check_numbers(graph, &oracle, label);
	check_held(graph, &oracle, label);
	check_sums(graph, &oracle, label);
	check_paths(graph, &oracle, label);
	check_referrers(graph, &oracle, label);
	check_retainers(graph, &oracle, options->all_retainers, label);
	check_classes(graph, &oracle, label);
	check_class_order(graph, heap, label);
	oracle_free(&oracle);
	graph_close(graph);
}

static void check_built(struct built *built, const char *label)
{
	check_heap(built->heap, &(struct graph_options){ .threads = 1, .all_retainers = true }, label);
}

/* --- a VM with classes to make graphs of --- */

struct world {
	struct vm vm;
	uint64_t node, sub, plain, objects, nodes;
	uint64_t soft, weak, phantom, finalizer, finalizer_reference, strange;
};

/* A subclass of Reference writes its own fields first: so that of Finalizer's the referent is the third value. */
static void world_init(struct world *world, enum vm_kind kind, unsigned id_width)
{
	struct vm *vm = &world->vm;
	const bool art = kind == VM_ART;
	vm_init(vm, kind, id_width);
	/* Field names are not in the order of the alphabet. */
	world->node = vm_define(vm, "com/example/Node", vm->object, "next:L data:L v:I back:L");
	world->sub = vm_define(vm, "com/example/Sub", world->node, "b:Z extra:L");
	world->plain = vm_define(vm, "com/example/Plain", vm->object, "v:I w:J");
	world->objects = vm_define(vm, art ? "java.lang.Object[]" : "[Ljava/lang/Object;", vm->object, "");
	world->nodes = vm_define(vm, art ? "com.example.Node[]" : "[Lcom/example/Node;", vm->object, "");
	const uint64_t reference = vm_define(vm, "java/lang/ref/Reference", vm->object, "referent:L queue:L next:L discovered:L");
	world->soft = vm_define(vm, "java/lang/ref/SoftReference", reference, "timestamp:J");
	world->weak = vm_define(vm, "java/lang/ref/WeakReference", reference, "");
	world->phantom = vm_define(vm, "java/lang/ref/PhantomReference", reference, "");
	const uint64_t final = vm_define(vm, "java/lang/ref/FinalReference", reference, "");
	world->finalizer = vm_define(vm, "java/lang/ref/Finalizer", final, "next:L prev:L");
	world->finalizer_reference = vm_define(vm, "java/lang/ref/FinalizerReference", reference, "prev:L next:L zombie:L");
	world->strange = vm_define(vm, "com/example/OwnReference", reference, "key:L");
	vm->next = (vm->next + 4095) / 4096 * 4096;
}

static uint64_t new_node(struct world *world, uint64_t next, uint64_t data, uint64_t back)
{
	return VM_NEW(&world->vm, world->node, next, data, 0, back);
}

static uint64_t new_plain(struct world *world)
{
	return VM_NEW(&world->vm, world->plain, 1, 2);
}

static void root(struct world *world, uint64_t id)
{
	vm_root(&world->vm, ROOT_JNI_GLOBAL, id);
}

/* --- graphs at random --- */

#define MOST 1000

enum thing {
	THING_NODE, THING_SUB, THING_PLAIN, THING_STRING, THING_OBJECTS, THING_NODES, THING_BYTES, THING_SOFT, THING_WEAK,
	THING_PHANTOM, THING_FINALIZER, THING_FINALIZER_REFERENCE, THING_STRANGE, THING_COUNT,
};

/* How ids lie. */
enum order { RISING, SCATTERED, NUMBERS, ODD, MANY_ODD, FAR, SIXTEENS, FOURS, LANES, ORDER_COUNT };
static const char *const orders[] = { "rising", "scattered", "numbers", "odd", "many odd", "far", "sixteens", "fours",
				      "lanes" };

struct maker {
	struct world world;
	enum order order;
	uint64_t ids[MOST];
	unsigned count, written[MOST]; /* numbers in the order of the file */
	uint64_t low, high;	/* ids */
	unsigned strangers;	/* one reference of so many leads nowhere */
};

static uint64_t id_of(const struct maker *maker, unsigned i)
{
	const uint64_t base = maker->world.vm.next, group = i / 40;
	switch (maker->order) {
	case NUMBERS:
		return base + i;
	case ODD:
		return base + 64 * (uint64_t)i + (i % 20 == 7 ? 1 + i % 7 : 0);
	case MANY_ODD:
		return base + 64 * (uint64_t)i + i % 3;
	case FAR:
		return maker->world.vm.heap.id_width == 8 ? base + group * (UINT64_C(3) << 30) + 64 * (uint64_t)i :
							    base + group * (UINT64_C(90) << 20) + 64 * (uint64_t)i;
	case LANES: /* two stretches at a time, each of which lies between the other's ids */
		return base + 128 * (uint64_t)(i / 40 * 20 + i % 20) + (i / 20 % 2 ? 64 : 0);
	case FOURS:
		return base + 60 * (uint64_t)i;
	default:
		return base + 64 * (uint64_t)i;
	}
}

/* Gives each object an id and a place in the file. */
static void place_objects(struct maker *maker)
{
	for (unsigned i = 0; i < maker->count; i++) {
		maker->ids[i] = id_of(maker, i);
		maker->written[i] = i;
		const unsigned j = maker->order == SCATTERED || maker->order == FAR ? (unsigned)next_random(i + 1) : i;
		maker->written[i] = maker->written[j];
		maker->written[j] = i;
	}
	maker->low = maker->ids[0];
	maker->high = maker->low;
	for (unsigned i = 0; i < maker->count; i++)
		maker->high = maker->ids[i] > maker->high ? maker->ids[i] : maker->high;
	maker->world.vm.next = maker->order == NUMBERS ? maker->high + 1 : (maker->high + 4096) / 4096 * 4096;
}

/* An id: of an object mostly, of a class, null, or of nothing. */
static uint64_t pick(const struct maker *maker)
{
	const struct world *world = &maker->world;
	if (!next_random(maker->strangers))
		return next_random(2) ? maker->low + next_random(maker->high - maker->low + 100) : next_random(1 << 20);
	if (!next_random(12))
		return next_random(2) ? world->node : world->plain;
	return next_random(5) ? maker->ids[next_random(maker->count)] : 0;
}

static void put_array(struct maker *maker, uint64_t id, uint64_t class)
{
	uint64_t elements[8];
	const uint32_t count = (uint32_t)next_random(9);
	for (uint32_t i = 0; i < count; i++)
		elements[i] = i && !next_random(6) ? elements[i - 1] : pick(maker);
	sub_object_array(&maker->world.vm.heap, id, class, elements, count);
}

/* Values of all fields: where one is none of a reference, it is a number. */
static void put_instance(struct maker *maker, uint64_t id, uint64_t class)
{
	uint64_t values[12];
	for (unsigned i = 0; i < 12; i++)
		values[i] = pick(maker);
	vm_new(&maker->world.vm, id, class, values, 12);
}

static void put_thing(struct maker *maker, uint64_t id, enum thing thing)
{
	const struct world *world = &maker->world;
	const uint64_t classes[THING_COUNT] = {
		[THING_NODE] = world->node, [THING_SUB] = world->sub, [THING_PLAIN] = world->plain,
		[THING_STRING] = world->vm.string, [THING_SOFT] = world->soft, [THING_WEAK] = world->weak,
		[THING_PHANTOM] = world->phantom, [THING_FINALIZER] = world->finalizer,
		[THING_FINALIZER_REFERENCE] = world->finalizer_reference, [THING_STRANGE] = world->strange,
	};
	if (thing == THING_OBJECTS || thing == THING_NODES)
		put_array(maker, id, thing == THING_OBJECTS ? world->objects : world->nodes);
	else if (thing == THING_BYTES)
		sub_primitive_array(&maker->world.vm.heap, id, TYPE_BYTE, "abcdefghi", (uint32_t)next_random(9));
	else
		put_instance(maker, id, classes[thing]);
}

/* Classes with references of all kinds, which lie behind the objects. */
static void put_classes(struct maker *maker)
{
	struct vm *vm = &maker->world.vm;
	for (unsigned i = 0; i < 3; i++) {
		const struct member_spec statics[] = { { .name = "two", .type = TYPE_OBJECT, .value = pick(maker) },
						       { .name = "number", .type = TYPE_LONG, .value = pick(maker) },
						       { .name = "one", .type = TYPE_OBJECT, .value = pick(maker) } },
					 pool[] = { { .name_id = 1, .type = TYPE_OBJECT, .value = pick(maker) } };
		const char name[] = { 'H', (char)('A' + i), 0 };
		const struct class_spec spec = { .name = name, .super = vm->object, .loader = pick(maker), .signers = pick(maker),
						 .domain = pick(maker), .statics = statics, .static_count = i < 2 ? 3 : 0,
						 .pool = pool, .pool_count = i & 1 };
		const uint64_t id = vm_class(vm, &spec, true);
		if (next_random(2))
			vm_root(vm, ROOT_STICKY_CLASS, id);
	}
}

static void put_roots(struct maker *maker)
{
	static const uint8_t tags[] = { ROOT_JNI_GLOBAL, ROOT_JAVA_FRAME, ROOT_THREAD_OBJ, ROOT_UNKNOWN };
	struct vm *vm = &maker->world.vm;
	for (uint64_t left = next_random(6); left; left--)
		vm_root(vm, tags[next_random(sizeof tags)], pick(maker));
	for (uint64_t left = next_random(3); left; left--) {
		vm_root(vm, ROOT_FINALIZING, pick(maker));
		vm_root(vm, ROOT_UNREACHABLE, pick(maker));
	}
}

static void random_dump(struct maker *maker, struct opened *opened, unsigned count, enum order order)
{
	static const enum vm_kind kinds[] = { VM_JDK9, VM_JDK8, VM_JDK6, VM_ART };
	const bool art = order == ODD || order == MANY_ODD;
	const enum vm_kind kind = order == NUMBERS ? VM_AGENT : art ? VM_ART : kinds[next_random(4)];
	world_init(&maker->world, kind, kind == VM_ART || kind == VM_JDK6 || next_random(3) == 0 ? 4 : 8);
	maker->count = count;
	maker->order = order;
	maker->strangers = next_random(4) ? 12 : UINT32_MAX;
	place_objects(maker);
	/* Few kinds make few ways from anywhere to anywhere. */
	const unsigned leaves = (unsigned)next_random(4);
	for (unsigned i = 0; i < count; i++) {
		const enum thing thing = next_random(4) < leaves ? (next_random(2) ? THING_PLAIN : THING_BYTES) :
								   (enum thing)next_random(THING_COUNT);
		put_thing(maker, maker->ids[maker->written[i]], thing);
		if (i == count / 2)
			put_roots(maker);
	}
	put_classes(maker);
	opened_vm(opened, &maker->world.vm, kind == VM_ART ? ART : JVM);
}

static void at_random(void **state)
{
	static struct maker maker;
	(void)state;
	for (uint64_t seed = 1; seed <= 320; seed++) {
		const struct graph_options options = { .threads = 1 + (unsigned)(seed % 3), .memory = seed % 16 ? 0 : 1,
						      .all_retainers = seed % 4 };
		const enum order order = (enum order)(seed % ORDER_COUNT);
		struct opened opened;
		char label[64];
		random_state = seed;
		snprintf(label, sizeof label, "seed %" PRIu64 ", %s", seed, orders[order]);
		random_dump(&maker, &opened, (unsigned)(1 + next_random(seed % 10 ? 150 : 700)), order);
		check_heap(&opened.heaps[0], &options, label);
		opened_close(&opened);
	}
}

/* Also of whatever else the tests have dumps of: damaged ones, those with equal ids, those without any object. */
static void all_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sample_count; i++) {
		struct writer out;
		struct opened opened;
		assert_true(sample_make(samples[i].kind, &out));
		if (!opened_bytes(&opened, out.data, out.len, 1))
			for (unsigned n = 0; n < opened.heap_count; n++)
				if (opened.heaps[n].scan.index.object_count < 4000)
					check_heap(&opened.heaps[n], &(struct graph_options){ .threads = 2 }, samples[i].kind);
		opened_close(&opened);
		writer_free(&out);
	}
}

/* --- threads --- */

/*
 * Each object lies in another heap than the one before it, so that each is a block, and a few thousand of them are
 * several chunks.
 */
static void many_chunks(void **state)
{
	static struct maker maker;
	struct opened opened;
	(void)state;
	random_state = 1;
	world_init(&maker.world, VM_ART, 4);
	maker.strangers = 12;
	maker.count = MOST;
	maker.order = RISING;
	place_objects(&maker);
	struct vm *vm = &maker.world.vm;
	const uint64_t end = vm->next, extra = 2 * CHUNK_BLOCKS + 100 - MOST;
	for (uint64_t i = 0; i < MOST + extra; i++) {
		vm_heap(vm, (uint32_t)(i % 2), i % 2 ? "app" : "zygote", vm->next);
		/* The others refer to the first thousand. */
		put_thing(&maker, i < MOST ? maker.ids[i] : end + 64 * (i - MOST), (enum thing)next_random(THING_COUNT));
		if (i % 200 == 0)
			vm_root(vm, ROOT_JNI_GLOBAL, i < MOST ? maker.ids[i] : end + 64 * (i - MOST));
	}
	vm->next = end + 64 * extra;
	put_classes(&maker);
	opened_vm(&opened, vm, ART);
	assert_true(opened.heaps[0].scan.index.block_count > 2 * CHUNK_BLOCKS);
	check_heap(&opened.heaps[0], &(struct graph_options){ .threads = 4 }, "4 threads");
	opened_close(&opened);
}

/* Runs of nine objects that lie below the run before: small blocks, and no two of them overlap. */
static void make_many(struct opened *opened, unsigned count)
{
	enum { RUN = 9, STEP = 32 };
	struct world world;
	struct vm *vm = &world.vm;
	uint64_t *ids = must(malloc(count * sizeof *ids));
	random_state = 7;
	world_init(&world, VM_JDK9, 4);
	const uint64_t base = vm->next, runs = (count + RUN - 1) / RUN;
	for (unsigned i = 0; i < count; i++)
		ids[i] = base + (runs - 1 - i / RUN) * RUN * STEP + i % RUN * STEP;
	for (unsigned i = 0; i < count; i++) {
		/* A tree mostly, with ways across, some parts of which nothing holds. */
		const uint64_t values[] = { 2 * i + 1 < count && i % 97 ? ids[2 * i + 1] : 0,
					    2 * i + 2 < count ? ids[2 * i + 2] : 0, i,
					    next_random(8) ? 0 : ids[next_random(count)] };
		if (i % 5 == 4)
			vm_new(vm, ids[i], next_random(2) ? world.plain : world.weak, values, 1);
		else
			vm_new(vm, ids[i], world.node, values, 4);
	}
	vm->next = base + runs * RUN * STEP;
	for (unsigned i = 0; i < 10; i++)
		root(&world, ids[i * 1000]);
	opened_vm(opened, vm, JVM);
	free(ids);
}

/* Four threads find just what one does. */
static void threads(void **state)
{
	enum { COUNT = 100000 };
	struct opened opened;
	(void)state;
	make_many(&opened, COUNT);
	const struct heap *heap = &opened.heaps[0];
	assert_true(chunk_count(heap) > 4);
	struct graph *one = graph_of(heap, &(struct graph_options){ .threads = 1 }),
		     *four = graph_of(heap, &(struct graph_options){ .threads = 4, .memory = 1 });
	uint64_t strong = 0;
	for (uint32_t node = 0; node < COUNT + heap->class_count; node++) {
		struct held a = { .shallow = 0 }, b = { .shallow = 0 };
		const uint64_t id = graph_id(one, node);
		same("id", "four threads", node, graph_id(four, node), id);
		assert_true(graph_held(one, node, &a));
		assert_true(graph_held(four, node, &b));
		same("strength", "four threads", id, b.strength, a.strength);
		same("shallow", "four threads", id, b.shallow, a.shallow);
		same("retained", "four threads", id, b.retained, a.retained);
		same("objects", "four threads", id, b.objects, a.objects);
		same("dominator", "four threads", id, b.dominator, a.dominator);
		same("the node before it", "four threads", id, graph_before(four, node), graph_before(one, node));
		same("distance", "four threads", id, graph_distance(four, node), graph_distance(one, node));
		strong += a.strength == STRONG;
	}
	/* Else it says little. */
	assert_in_range(strong, COUNT / 20, COUNT - COUNT / 20);
	assert_int_equal(graph_sums(one)[STRONG].objects, strong);
	assert_memory_equal(graph_sums(one), graph_sums(four), STRENGTH_COUNT * sizeof(struct graph_sum));
	assert_memory_equal(graph_classes(one), graph_classes(four), heap->class_count * sizeof(struct class_graph));
	assert_int_equal(graph_references(one), graph_references(four));
	for (uint32_t node = 0; node < COUNT; node += 997) {
		struct referrers *a = must(graph_referrers(one, node)), *b = must(graph_referrers(four, node));
		assert_int_equal(a->count, b->count);
		assert_memory_equal(a->list, b->list, a->count * sizeof *a->list);
		referrers_put(a);
		referrers_put(b);
	}
	same_retainers(graph_retainers(four), graph_retainers(one)->list, graph_retainers(one)->count, "four threads");
	same_retainers(graph_largest(four), graph_largest(one)->list, graph_largest(one)->count, "four threads");
	graph_close(one);
	graph_close(four);
	opened_close(&opened);
}

/* What retains most, of more than are listed: objects of 32 bytes, some of which hold another one. */
static void largest(void **state)
{
	enum { COUNT = LARGEST_MOST + 5000, PAIRS = 3000 };
	struct world world;
	struct built built;
	uint64_t next = 0;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	for (unsigned i = 0; i < COUNT; i++) {
		next = new_node(&world, i < 2 * PAIRS && i % 2 ? next : 0, 0, 0);
		if (i >= 2 * PAIRS || i % 2)
			root(&world, next);
	}
	build(&built, &world.vm, JVM);
	const struct retainers *found = graph_largest(built.graph);
	assert_int_equal(found->count, LARGEST_MOST);
	for (size_t i = 0; i < found->count; i++) {
		struct held held;
		assert_true(graph_held(built.graph, found->list[i].node, &held));
		same("retained", "largest", i, found->list[i].retained, held.retained);
		assert_true(i < PAIRS ? held.retained >= 64 : held.retained >= 32);
		assert_true(!i || found->list[i - 1].retained >= held.retained);
	}
	built_close(&built);
}

/* --- the builder --- */

struct waiting {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned calls;
};

static void note_change(void *context)
{
	struct waiting *waiting = context;
	pthread_mutex_lock(&waiting->lock);
	waiting->calls++;
	pthread_cond_signal(&waiting->changed);
	pthread_mutex_unlock(&waiting->lock);
}

static unsigned calls_now(struct waiting *waiting)
{
	pthread_mutex_lock(&waiting->lock);
	const unsigned calls = waiting->calls;
	pthread_mutex_unlock(&waiting->lock);
	return calls;
}

static void wait_for_more(struct waiting *waiting, unsigned calls)
{
	pthread_mutex_lock(&waiting->lock);
	while (waiting->calls == calls)
		pthread_cond_wait(&waiting->changed, &waiting->lock);
	pthread_mutex_unlock(&waiting->lock);
}

/* Who asks is told to come again, and is called after each stage. */
static void in_background(void **state)
{
	struct waiting waiting = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	const struct graph_options options = { .threads = 2, .changed = note_change, .context = &waiting };
	struct opened opened;
	struct graph_progress progress;
	int rc;
	(void)state;
	make_many(&opened, 30000);
	struct graph *graph = must(graph_open(&opened.heaps[0], &options));
	graph_progress(graph, &progress);
	assert_false(progress.started);
	assert_int_equal(progress.stage, GRAPH_NOTHING);
	assert_int_equal(progress.percent, 0);
	assert_int_equal(progress.bytes, 0);
	assert_int_equal(graph_need(graph, GRAPH_NOTHING), 0);
	graph_progress(graph, &progress);
	assert_false(progress.started);
	unsigned percent = 0;
	for (enum graph_stage stage = GRAPH_DOMINATORS; stage <= GRAPH_RETAINERS; stage++) {
		for (unsigned calls = calls_now(&waiting); (rc = graph_need(graph, stage)); calls = calls_now(&waiting)) {
			assert_int_equal(rc, GRAPH_LATER);
			graph_progress(graph, &progress);
			assert_true(progress.started);
			assert_in_range(progress.percent, percent, 100);
			percent = progress.percent;
			wait_for_more(&waiting, calls);
		}
		graph_progress(graph, &progress);
		assert_true(progress.stage >= stage);
		/* The last stage is built for those who ask for it. */
		assert_true(stage == GRAPH_RETAINERS || progress.stage < GRAPH_RETAINERS);
	}
	assert_int_equal(progress.percent, 100);
	assert_int_equal(progress.error, 0);
	assert_true(progress.bytes > 0);
	graph_close(graph);
	assert_int_equal(waiting.calls, 4);
	/* Closed at any time: it ends at once, and nobody is called afterwards. */
	for (unsigned i = 0; i < 40; i++) {
		graph = must(graph_open(&opened.heaps[0], &options));
		assert_in_range(graph_need(graph, GRAPH_DOMINATORS) + 1, 0, 1);
		const struct timespec pause = { .tv_nsec = 100000L * (long)i };
		nanosleep(&pause, NULL);
		graph_close(graph);
		const unsigned calls = calls_now(&waiting);
		nanosleep(&(struct timespec){ .tv_nsec = 10000 }, NULL);
		assert_int_equal(calls_now(&waiting), calls);
	}
	opened_close(&opened);
}

/* Where neither memory nor a file is to be had, that is what one is told, each time. */
static void no_room(void **state)
{
	const struct graph_options options = { .threads = 2, .memory = 1, .tmpdir = "/nonexistent" };
	struct opened opened;
	struct graph_progress progress;
	(void)state;
	opened_sample(&opened, "jvm");
	struct graph *graph = must(graph_open(&opened.heaps[0], &options));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(graph_need(graph, GRAPH_DOMINATORS), ENOMEM);
		graph_progress(graph, &progress);
		assert_int_equal(progress.error, ENOMEM);
		assert_int_equal(progress.stage, GRAPH_NOTHING);
	}
	graph_close(graph);
	/* At any later time, too. */
	for (uint64_t memory = 4096; memory < 1 << 20; memory += 8192) {
		const struct graph_options more = { .threads = 1, .memory = memory, .tmpdir = "/nonexistent" };
		graph = must(graph_open(&opened.heaps[0], &more));
		const int rc = graph_need(graph, GRAPH_RETAINERS);
		assert_true(rc == 0 || rc == ENOMEM);
		graph_close(graph);
	}
	opened_close(&opened);
}

/* --- case by case --- */

static void is_held(const struct built *built, uint64_t id, enum strength strength, uint64_t dominator)
{
	struct held held;
	assert_true(graph_held(built->graph, need_node(built->graph, id), &held));
	same("strength", "is_held", id, held.strength, strength);
	same("dominator", "is_held", id, held.dominator,
	     dominator == 0 ? NODE_NONE : dominator == UINT64_MAX ? NODE_ROOT : need_node(built->graph, dominator));
}

#define BY_ROOT UINT64_MAX
#define BY_NONE UINT64_C(0)

static void refers(struct built *built, uint64_t id, const uint64_t *expected, size_t count)
{
	struct referrers *found = must(graph_referrers(built->graph, need_node(built->graph, id)));
	same("the number of referrers", "refers", id, found->count, count);
	for (size_t i = 0; i < count; i++)
		same("a referrer", "refers", id, graph_id(built->graph, found->list[i]), expected[i]);
	referrers_put(found);
}
#define REFERS(built, id, ...)                                                                                          \
	refers(built, id, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* What has no references of its own, by all that may hold it. */
static void leaves(void **state)
{
	struct world world;
	struct built built;
	struct held held;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	const uint64_t once = new_plain(&world), twice = new_plain(&world), also_weak = new_plain(&world),
		       only_weak = new_plain(&world), same_twice = new_plain(&world), rooted = new_plain(&world),
		       nothing = new_plain(&world), of_lost = new_plain(&world), of_class = new_plain(&world),
		       a = new_node(&world, once, twice, rooted), b = new_node(&world, twice, also_weak, 0),
		       weak = VM_NEW(&world.vm, world.weak, also_weak), weak2 = VM_NEW(&world.vm, world.weak, only_weak),
		       pair = vm_object_array(&world.vm, world.objects, (uint64_t[]){ same_twice, same_twice }, 2),
		       lost = new_node(&world, of_lost, 0, 0);
	const struct member_spec statics[] = { { .name = "held", .type = TYPE_OBJECT, .value = of_class } };
	const uint64_t class = vm_define_statics(&world.vm, "Holder", world.vm.object, "", statics, 1);
	const uint64_t roots[] = { a, b, weak, weak2, pair, rooted, class };
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
		root(&world, roots[i]);
	build(&built, &world.vm, JVM);
	is_held(&built, once, STRONG, a);
	is_held(&built, twice, STRONG, BY_ROOT);
	is_held(&built, also_weak, STRONG, b);
	is_held(&built, only_weak, WEAK, BY_NONE);
	is_held(&built, same_twice, STRONG, pair);
	is_held(&built, rooted, STRONG, BY_ROOT);
	is_held(&built, nothing, UNREACHABLE, BY_NONE);
	is_held(&built, of_lost, UNREACHABLE, BY_NONE);
	is_held(&built, lost, UNREACHABLE, BY_NONE);
	is_held(&built, of_class, STRONG, class);
	REFERS(&built, once, a);
	REFERS(&built, twice, a, b);
	REFERS(&built, also_weak, b, weak);
	REFERS(&built, only_weak, weak2);
	REFERS(&built, same_twice, pair);
	REFERS(&built, of_lost, lost);
	REFERS(&built, of_class, class);
	refers(&built, nothing, NULL, 0);
	/* Sizes that can be told without any code: a header of 12 bytes and the fields. */
	assert_true(graph_held(built.graph, need_node(built.graph, once), &held));
	assert_int_equal(held.shallow, 24);
	assert_int_equal(held.retained, 24);
	assert_true(graph_held(built.graph, need_node(built.graph, a), &held));
	assert_int_equal(held.shallow, 32);
	assert_int_equal(held.retained, 32 + 24);
	assert_int_equal(held.objects, 2);
	assert_true(graph_held(built.graph, need_node(built.graph, of_lost), &held));
	assert_int_equal(held.retained, 24);
	check_built(&built, "leaves");
	built_close(&built);
}

/* What a Reference of each kind leads to, and what that leads to; the firmest way counts. */
static void strengths(void **state)
{
	static const enum strength expected[] = { SOFT, WEAK, PHANTOM, FINALIZER, FINALIZER, WEAK };
	struct world world;
	struct built built;
	uint64_t kept[6], behind[6], further[6];
	(void)state;
	world_init(&world, VM_JDK9, 8);
	const uint64_t classes[] = { world.soft, world.weak, world.phantom, world.finalizer, world.finalizer_reference,
				     world.strange };
	/* How many values of a subclass's own come before the referent. */
	static const unsigned own[] = { 1, 0, 0, 2, 3, 1 };
	for (unsigned i = 0; i < 6; i++) {
		uint64_t values[8] = { 0 };
		further[i] = new_plain(&world);
		behind[i] = new_node(&world, 0, further[i], 0);
		kept[i] = new_node(&world, behind[i], 0, 0);
		values[own[i]] = kept[i];
		root(&world, vm_new(&world.vm, 0, classes[i], values, 8));
	}
	/* Soft, and weak from a firmer place: soft. Weak behind soft: weak. Phantom behind weak: phantom. */
	const uint64_t x = new_plain(&world), phantom = VM_NEW(&world.vm, world.phantom, x),
		       weak = VM_NEW(&world.vm, world.weak, phantom), soft = VM_NEW(&world.vm, world.soft, 0, weak);
	const uint64_t y = new_plain(&world), soft_behind = VM_NEW(&world.vm, world.soft, 0, y),
		       weak_before = VM_NEW(&world.vm, world.weak, soft_behind);
	const uint64_t z = new_plain(&world);
	root(&world, soft);
	root(&world, weak_before);
	root(&world, VM_NEW(&world.vm, world.weak, z));
	root(&world, VM_NEW(&world.vm, world.soft, 0, z));
	root(&world, VM_NEW(&world.vm, world.phantom, z));
	build(&built, &world.vm, JVM);
	for (unsigned i = 0; i < 6; i++) {
		is_held(&built, kept[i], expected[i], BY_NONE);
		is_held(&built, behind[i], expected[i], BY_NONE);
		is_held(&built, further[i], expected[i], BY_NONE);
	}
	is_held(&built, weak, SOFT, BY_NONE);
	is_held(&built, phantom, WEAK, BY_NONE);
	is_held(&built, x, PHANTOM, BY_NONE);
	is_held(&built, soft_behind, WEAK, BY_NONE);
	is_held(&built, y, WEAK, BY_NONE);
	is_held(&built, z, SOFT, BY_NONE);
	check_built(&built, "strengths");
	built_close(&built);
}

/* A subclass of a Reference may have a field `referent` of its own, which holds as any other does. */
static void own_referent(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	const uint64_t class = vm_define(&world.vm, "com/example/Hiding", world.weak, "referent:L");
	const uint64_t firm = new_plain(&world), weak = new_plain(&world),
		       reference = VM_NEW(&world.vm, class, firm, weak);
	root(&world, reference);
	build(&built, &world.vm, JVM);
	is_held(&built, firm, STRONG, reference);
	is_held(&built, weak, WEAK, BY_NONE);
	built_close(&built);
}

/* What waits for finalize() is as if its Finalizer held it; what is said to be unreachable is no root. */
static void odd_roots(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_ART, 4);
	const uint64_t leaf = new_plain(&world), finalizing = new_node(&world, leaf, 0, 0), unreachable = new_node(&world, 0, 0, 0),
		       both = new_node(&world, 0, 0, 0), plain = new_node(&world, 0, 0, 0);
	vm_root(&world.vm, ROOT_FINALIZING, finalizing);
	vm_root(&world.vm, ROOT_UNREACHABLE, unreachable);
	vm_root(&world.vm, ROOT_UNREACHABLE, both);
	vm_root(&world.vm, ROOT_JNI_LOCAL, both);
	vm_root(&world.vm, ROOT_FINALIZING, both);
	root(&world, plain);
	root(&world, 0x12345678); /* of nothing */
	build(&built, &world.vm, ART);
	is_held(&built, finalizing, FINALIZER, BY_NONE);
	is_held(&built, leaf, FINALIZER, BY_NONE);
	is_held(&built, unreachable, UNREACHABLE, BY_NONE);
	is_held(&built, both, STRONG, BY_ROOT);
	is_held(&built, plain, STRONG, BY_ROOT);
	assert_false(graph_lacks_roots(built.graph));
	assert_int_equal(graph_before(built.graph, need_node(built.graph, finalizing)), NODE_NONE);
	assert_int_equal(graph_distance(built.graph, need_node(built.graph, finalizing)), 0);
	check_built(&built, "odd roots");
	built_close(&built);
}

/* Without a root, classes stand in. */
static void without_roots(void **state)
{
	(void)state;
	for (unsigned unreachable = 0; unreachable < 2; unreachable++) {
		struct world world;
		struct built built;
		world_init(&world, VM_JDK9, 8);
		const uint64_t leaf = new_plain(&world), node = new_node(&world, leaf, 0, 0), lost = new_node(&world, 0, 0, 0);
		const struct member_spec statics[] = { { .name = "held", .type = TYPE_OBJECT, .value = node } };
		const uint64_t class = vm_define_statics(&world.vm, "Holder", world.vm.object, "", statics, 1);
		if (unreachable)
			vm_root(&world.vm, ROOT_UNREACHABLE, lost);
		build(&built, &world.vm, JVM);
		assert_true(graph_lacks_roots(built.graph));
		is_held(&built, class, STRONG, BY_ROOT);
		is_held(&built, world.plain, STRONG, BY_ROOT);
		is_held(&built, node, STRONG, class);
		is_held(&built, leaf, STRONG, node);
		is_held(&built, lost, UNREACHABLE, BY_NONE);
		assert_int_equal(graph_distance(built.graph, need_node(built.graph, leaf)), 3);
		check_built(&built, "without roots");
		built_close(&built);
	}
}

/* A class that nothing leads to is there so long as its loader is, or an instance. */
static void loaded_classes(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	struct vm *vm = &world.vm;
	const uint64_t loader = new_node(&world, 0, 0, 0), lost_loader = new_node(&world, 0, 0, 0), held = new_plain(&world),
		       not_held = new_plain(&world);
	const struct member_spec held_statics[] = { { .name = "s", .type = TYPE_OBJECT, .value = held } },
				 other_statics[] = { { .name = "s", .type = TYPE_OBJECT, .value = not_held } };
	const struct class_spec by_loader = { .name = "ByLoader", .super = vm->object, .loader = loader,
					      .statics = held_statics, .static_count = 1 },
				by_instance = { .name = "ByInstance", .super = vm->object, .loader = lost_loader },
				gone = { .name = "Gone", .super = vm->object, .loader = lost_loader, .statics = other_statics,
					 .static_count = 1 };
	const uint64_t first = vm_class(vm, &gone, true), second = vm_class(vm, &by_loader, true);
	root(&world, loader);
	build(&built, vm, JVM);
	is_held(&built, world.plain, STRONG, BY_ROOT);
	is_held(&built, second, STRONG, BY_ROOT);
	is_held(&built, held, STRONG, second);
	is_held(&built, first, UNREACHABLE, BY_NONE);
	is_held(&built, not_held, UNREACHABLE, BY_NONE);
	is_held(&built, lost_loader, UNREACHABLE, BY_NONE);
	check_built(&built, "loaded classes");
	built_close(&built);
	/* The instance holds its class, and so the class's loader, and so that one's other class. */
	world_init(&world, VM_JDK9, 8);
	assert_int_equal(new_node(&world, 0, 0, 0), loader);
	assert_int_equal(new_node(&world, 0, 0, 0), lost_loader);
	new_plain(&world);
	new_plain(&world);
	const uint64_t third = vm_class(vm, &gone, true), fourth = vm_class(vm, &by_instance, true);
	root(&world, vm_new(vm, 0, fourth, NULL, 0));
	build(&built, vm, JVM);
	is_held(&built, fourth, STRONG, BY_ROOT);
	is_held(&built, lost_loader, STRONG, BY_ROOT);
	is_held(&built, third, STRONG, BY_ROOT);
	is_held(&built, not_held, STRONG, third);
	check_built(&built, "loaded classes");
	built_close(&built);
}

/* Two classes that only their loader holds, one of which refers to the other: whatever their ids, it is one state. */
static void loaded_in_any_order(void **state)
{
	uint64_t dominators[2] = { 0, 0 };
	(void)state;
	for (unsigned turned = 0; turned < 2; turned++) {
		struct world world;
		struct built built;
		struct held held;
		world_init(&world, VM_JDK9, 8);
		const uint64_t low = vm_alloc(&world.vm, 128), high = vm_alloc(&world.vm, 128);
		const struct class_spec super = { .name = "Super", .id = turned ? high : low, .super = world.vm.object },
					sub = { .name = "Sub", .id = turned ? low : high, .super = super.id };
		vm_class(&world.vm, &super, true);
		vm_class(&world.vm, &sub, true);
		root(&world, new_plain(&world));
		build(&built, &world.vm, JVM);
		assert_true(graph_held(built.graph, need_node(built.graph, super.id), &held));
		dominators[turned] = held.dominator == NODE_ROOT;
		built_close(&built);
	}
	assert_int_equal(dominators[0], dominators[1]);
}

/* All sizes that are told of nodes one by one are those that were summed. */
static void check_sizes(const struct built *built, uint32_t count)
{
	struct graph_sum sums[STRENGTH_COUNT] = { { 0, 0 } };
	uint64_t top = 0;
	for (uint32_t node = 0; node < count; node++) {
		struct held held;
		assert_true(graph_held(built->graph, node, &held));
		sums[held.strength].objects++;
		sums[held.strength].bytes += held.shallow;
		top += held.dominator == NODE_ROOT ? held.retained : 0;
	}
	for (unsigned i = 0; i < STRENGTH_COUNT; i++) {
		same("a sum of objects", "check_sizes", i, graph_sums(built->graph)[i].objects, sums[i].objects);
		same("a sum of bytes", "check_sizes", i, graph_sums(built->graph)[i].bytes, sums[i].bytes);
	}
	same("what is retained in all", "check_sizes", 0, top, sums[STRONG].bytes);
}

/* Damage: an array of a class that has instances, an instance of an array's class. */
static void mixed_kinds(void **state)
{
	(void)state;
	for (unsigned array_first = 0; array_first < 2; array_first++) {
		struct world world;
		struct built built;
		world_init(&world, VM_JDK9, 8);
		struct vm *vm = &world.vm;
		const uint64_t a = new_plain(&world), classes[] = { world.objects, world.node, world.plain };
		for (unsigned i = 0; i < 6; i++) {
			const uint64_t id = vm_alloc(vm, 64);
			if ((i & 1) == array_first) {
				sub_instance_begin(&vm->heap, id, classes[i / 2]);
				put_id(&vm->heap, a);
				sub_instance_end(&vm->heap);
			} else {
				sub_object_array(&vm->heap, id, classes[i / 2], &a, 1);
			}
			root(&world, id);
		}
		build(&built, vm, JVM);
		check_sizes(&built, built.heap->class_count + 7);
		built_close(&built);
	}
}

/* Ids without objects, next to some and far from all. */
static void strangers(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	const uint64_t leaf = new_plain(&world), strange[] = { leaf + 8, leaf + 1, leaf - 1, 8, 1, UINT64_MAX, UINT64_MAX - 7,
							       UINT64_C(1) << 40 };
	const uint64_t array = vm_object_array(&world.vm, world.objects, strange, sizeof strange / sizeof *strange),
		       node = new_node(&world, leaf + 16, leaf, UINT64_MAX - 15);
	root(&world, array);
	root(&world, node);
	build(&built, &world.vm, JVM);
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
		assert_int_equal(graph_node(built.graph, strange[i]), NODE_NONE);
	is_held(&built, leaf, STRONG, node);
	check_built(&built, "strangers");
	built_close(&built);
}

/* Holes of GB, and the ends of what an id can be. */
static void far_apart(void **state)
{
	static const uint64_t ids[] = { 8, UINT64_C(1) << 32, UINT64_C(3) << 40, (UINT64_C(3) << 40) + (UINT64_C(5) << 20),
					UINT64_C(0xb400) << 48, UINT64_MAX - 15, UINT64_MAX - 7 };
	enum { COUNT = sizeof ids / sizeof *ids };
	(void)state;
	for (unsigned falling = 0; falling < 2; falling++) {
		struct world world;
		struct built built;
		struct graph_progress progress;
		world_init(&world, VM_JDK9, 8);
		for (unsigned n = 0; n < COUNT; n++) {
			const unsigned i = falling ? COUNT - 1 - n : n;
			vm_new(&world.vm, ids[i], world.node, (const uint64_t[]){ i + 1 < COUNT ? ids[i + 1] : 0 }, 1);
		}
		root(&world, ids[0]);
		build(&built, &world.vm, JVM);
		for (unsigned i = 0; i < COUNT; i++) {
			struct held held;
			is_held(&built, ids[i], STRONG, i ? ids[i - 1] : BY_ROOT);
			assert_true(graph_held(built.graph, need_node(built.graph, ids[i]), &held));
			assert_int_equal(held.objects, COUNT - i);
		}
		graph_progress(built.graph, &progress);
		assert_in_range(progress.bytes, 1, 1 << 20); /* the holes cost nothing */
		check_built(&built, "far apart");
		built_close(&built);
	}
}

/* Of an instance whose data is cut short, what there is counts: here the field that comes last by name. */
static void cut_short(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	struct writer *w = &world.vm.heap;
	const uint64_t class = vm_define(&world.vm, "Cut", world.vm.object, "z:L m:L a:L"), there = new_plain(&world),
		       also = new_plain(&world), short_one = vm_alloc(&world.vm, 32), shorter = vm_alloc(&world.vm, 32),
		       weak = vm_alloc(&world.vm, 64), whole = VM_NEW(&world.vm, class, there, also, also);
	sub_instance_begin(w, short_one, class);
	put_id(w, there);
	put_id(w, also);
	put_u4(w, 0x12345678);
	sub_instance_end(w);
	sub_instance_begin(w, shorter, class);
	put_u4(w, 1);
	sub_instance_end(w);
	/* Not even its referent is there. */
	sub_instance_begin(w, weak, world.weak);
	put_u4(w, 1);
	sub_instance_end(w);
	root(&world, short_one);
	root(&world, shorter);
	root(&world, weak);
	build(&built, &world.vm, JVM);
	REFERS(&built, there, short_one, whole);
	is_held(&built, there, STRONG, short_one);
	is_held(&built, also, STRONG, short_one);
	check_built(&built, "cut short");
	built_close(&built);
}

/* --- ids that stand more than once --- */

/* Of two objects with one id the first counts, also where the second refers to something, or the first does. */
static void one_id(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		const bool art = variant >= 2, node_first = variant & 1;
		struct world world;
		struct built built;
		world_init(&world, art ? VM_ART : VM_JDK9, art ? 4 : 8);
		const uint64_t a = new_plain(&world), b = new_plain(&world), other = vm_alloc(&world.vm, 64),
			       twice = vm_alloc(&world.vm, 64) + (art ? 3 : 0), target = node_first ? a : 0;
		for (unsigned i = 0; i < 40; i++) /* so that odd ids are few */
			new_plain(&world);
		if (node_first)
			vm_new(&world.vm, twice, world.node, &a, 1);
		else
			vm_new(&world.vm, twice, world.plain, NULL, 0);
		vm_new(&world.vm, other, world.node, (uint64_t[]){ twice }, 1);
		vm_new(&world.vm, twice, world.sub, (uint64_t[]){ 0, b, b, a }, 4);
		root(&world, other);
		build(&built, &world.vm, art ? ART : JVM);
		is_held(&built, twice, STRONG, other);
		is_held(&built, a, target ? STRONG : UNREACHABLE, target ? twice : BY_NONE);
		is_held(&built, b, UNREACHABLE, BY_NONE);
		check_built(&built, art ? node_first ? "one odd id, a node first" : "one odd id" : "one id");
		built_close(&built);
	}
}

/* The second one is a Reference: it leads nowhere. */
static void one_id_reference(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	const uint64_t target = new_node(&world, 0, 0, 0), twice = vm_alloc(&world.vm, 64);
	vm_new(&world.vm, twice, world.node, NULL, 0);
	vm_new(&world.vm, twice, world.soft, (uint64_t[]){ 0, target }, 2);
	root(&world, twice);
	build(&built, &world.vm, JVM);
	is_held(&built, target, UNREACHABLE, BY_NONE);
	refers(&built, target, NULL, 0);
	check_built(&built, "one id, of a Reference too");
	built_close(&built);
}

/* An object with the id of a class is none: the class counts. */
static void id_of_class(void **state)
{
	(void)state;
	for (unsigned odd = 0; odd < 2; odd++) {
		struct world world;
		struct built built;
		world_init(&world, odd ? VM_ART : VM_JDK9, odd ? 4 : 8);
		const uint64_t a = new_plain(&world), b = new_plain(&world);
		const struct member_spec statics[] = { { .name = "held", .type = TYPE_OBJECT, .value = a } };
		const struct class_spec spec = { .name = "Holder", .id = vm_alloc(&world.vm, 128) + odd,
						 .super = world.vm.object, .statics = statics, .static_count = 1 };
		const uint64_t class = vm_class(&world.vm, &spec, true);
		for (unsigned i = 0; i < 40; i++)
			new_plain(&world);
		vm_new(&world.vm, class, world.node, &b, 1);
		root(&world, class);
		build(&built, &world.vm, odd ? ART : JVM);
		is_held(&built, class, STRONG, BY_ROOT);
		is_held(&built, a, STRONG, class);
		is_held(&built, b, UNREACHABLE, BY_NONE);
		check_built(&built, odd ? "the odd id of a class" : "the id of a class");
		built_close(&built);
	}
}

/* --- odd ids --- */

/* An instance of java.lang.Class that is no class object, as HotSpot has for int.class: here without fields. */
static void class_instances(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	const uint64_t mirror = vm_new(&world.vm, 0, world.vm.class, NULL, 0);
	const struct member_spec statics[] = { { .name = "TYPE", .type = TYPE_OBJECT, .value = mirror } };
	root(&world, vm_define_statics(&world.vm, "java/lang/Integer", world.vm.object, "", statics, 1));
	build(&built, &world.vm, JVM);
	check_built(&built, "instances of java.lang.Class");
	built_close(&built);
}

/* --- paths --- */

/* The ids on the way to a node, from the root on; how many. */
static size_t way_to(const struct graph *graph, uint64_t id, uint64_t *way, size_t most)
{
	size_t count = 0;
	for (uint32_t node = need_node(graph, id); node < NODE_ROOT && count < most; node = graph_before(graph, node))
		way[count++] = graph_id(graph, node);
	for (size_t i = 0; i < count / 2; i++) {
		const uint64_t id_here = way[i];
		way[i] = way[count - 1 - i];
		way[count - 1 - i] = id_here;
	}
	return count;
}

static void goes(const struct built *built, uint64_t id, const uint64_t *expected, size_t count)
{
	uint64_t way[16];
	same("the length of its way", "goes", id, way_to(built->graph, id, way, 16), count);
	same("its distance", "goes", id, graph_distance(built->graph, need_node(built->graph, id)), count);
	for (size_t i = 0; i < count; i++)
		same("a step of its way", "goes", id, way[i], expected[i]);
}
#define GOES(built, ...)                                                                                                \
	goes(built, (const uint64_t[]){ __VA_ARGS__ }[sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t) - 1], \
	     (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* Between ways of one length: by class, by field, by element; in each case the ids would say otherwise. */
static void ways(void **state)
{
	struct world world;
	struct built built;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	struct vm *vm = &world.vm;
	const uint64_t a_class = vm_define(vm, "A", vm->object, "f:L"), b_class = vm_define(vm, "B", vm->object, "f:L"),
		       fields = vm_define(vm, "Fields", vm->object, "z:L a:L m:L");
	/* By class: what goes over an A comes before what goes over a B, though that is in the first field. */
	const uint64_t t1 = new_node(&world, 0, 0, 0), b1 = VM_NEW(vm, b_class, t1), a1 = VM_NEW(vm, a_class, t1),
		       r1 = VM_NEW(vm, fields, 0, b1, a1);
	/* By field: both go over an A; the field `a` stands in front of `z`. */
	const uint64_t t2 = new_node(&world, 0, 0, 0), a2z = VM_NEW(vm, a_class, t2), a2a = VM_NEW(vm, a_class, t2),
		       r2 = VM_NEW(vm, fields, a2z, a2a, 0);
	/* By element. */
	const uint64_t t3 = new_node(&world, 0, 0, 0), a3last = VM_NEW(vm, a_class, t3), a3first = VM_NEW(vm, a_class, t3),
		       r3 = vm_object_array(vm, world.objects, (uint64_t[]){ 0, a3first, a3last }, 3);
	/* A shorter way before all that. */
	const uint64_t t4 = new_node(&world, 0, 0, 0), a4 = VM_NEW(vm, a_class, t4), r4 = VM_NEW(vm, fields, a4, t4, 0);
	/* The first step counts before later ones: A before B, though behind B there is the better field. */
	const uint64_t t5 = new_node(&world, 0, 0, 0), c5 = VM_NEW(vm, a_class, t5), d5 = VM_NEW(vm, b_class, t5),
		       b5 = VM_NEW(vm, b_class, c5), a5 = VM_NEW(vm, a_class, d5), r5 = VM_NEW(vm, fields, 0, b5, a5);
	/* Of two fields of one name the subclass's. */
	const uint64_t hiding = vm_define(vm, "Hiding", a_class, "f:L"), t6 = new_node(&world, 0, 0, 0),
		       hidden6 = VM_NEW(vm, a_class, t6), a6 = VM_NEW(vm, a_class, t6), r6 = VM_NEW(vm, hiding, a6, hidden6);
	const uint64_t roots[] = { r6, r5, r4, r3, r2, r1 };
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
		root(&world, roots[i]);
	build(&built, vm, JVM);
	GOES(&built, r1, a1, t1);
	GOES(&built, r2, a2a, t2);
	GOES(&built, r3, a3first, t3);
	GOES(&built, r4, t4);
	GOES(&built, r5, a5, d5, t5);
	GOES(&built, r6, a6, t6);
	built_close(&built);
}

/* Roots: by class, then by what they hold; never by kind or id. */
static void ways_from_roots(void **state)
{
	(void)state;
	for (unsigned turned = 0; turned < 2; turned++) {
		struct world world;
		struct built built;
		world_init(&world, VM_JDK9, 8);
		struct vm *vm = &world.vm;
		const uint64_t named = vm_define(vm, "Named", vm->object, "f:L name:L"),
			       numbered = vm_define(vm, "Numbered", vm->object, "n:I f:L"),
			       early = vm_define(vm, "Early", vm->object, "f:L");
		const uint64_t t1 = new_node(&world, 0, 0, 0), t2 = new_node(&world, 0, 0, 0), t3 = new_node(&world, 0, 0, 0);
		uint64_t names[2], numbers[2], earlies[2];
		for (unsigned i = 0; i < 2; i++) {
			const unsigned which = i ^ turned;
			numbers[which] = VM_NEW(vm, numbered, which, t1);
			names[which] = VM_NEW(vm, named, t2, vm_string(vm, which ? "second" : "first"));
		}
		earlies[0] = VM_NEW(vm, turned ? early : named, t3);
		earlies[1] = VM_NEW(vm, turned ? named : early, t3);
		for (unsigned i = 0; i < 2; i++) {
			vm_root(vm, i == turned ? ROOT_JNI_GLOBAL : ROOT_THREAD_OBJ, numbers[i]);
			vm_root(vm, i == turned ? ROOT_JAVA_FRAME : ROOT_JNI_LOCAL, names[i]);
			root(&world, earlies[i]);
		}
		build(&built, vm, JVM);
		GOES(&built, numbers[0], t1);
		GOES(&built, names[0], t2);
		GOES(&built, earlies[!turned], t3);
		built_close(&built);
	}
}

/* A state of labelled objects: what refers to what, by label. Label 0 is null. */
#define LABELS 400
#define STATE_FIELDS 3
struct labelled {
	unsigned class;		/* of CLASSES, or an array */
	unsigned to[STATE_FIELDS];
	bool root;
};
#define STATE_CLASSES 4
static const char *const state_classes[] = { "d/D", "a/A", "c/C", "b/B", "[Ljava/lang/Object;" };

static void random_state_of(struct labelled *labelled)
{
	for (unsigned i = 1; i <= LABELS; i++) {
		labelled[i].class = (unsigned)next_random(STATE_CLASSES + 1);
		/* Often from few to many, so that many ways are of one length. */
		for (unsigned f = 0; f < STATE_FIELDS; f++)
			labelled[i].to[f] = (unsigned)(next_random(4) ? 1 + next_random(LABELS) : 0);
		labelled[i].root = labelled[i].class < STATE_CLASSES && !next_random(25);
	}
}

/* Writes it with ids and an order in the file that `seed` says. */
static void put_state(struct built *built, const struct labelled *labelled, uint64_t *ids, uint64_t seed)
{
	struct world world;
	uint64_t classes[STATE_CLASSES], places[LABELS + 1];
	unsigned order[LABELS + 1], class_order[STATE_CLASSES];
	random_state = seed;
	world_init(&world, VM_JDK9, 8);
	struct vm *vm = &world.vm;
	for (unsigned i = 0; i < STATE_CLASSES; i++) {
		const unsigned j = (unsigned)next_random(i + 1);
		class_order[i] = class_order[j];
		class_order[j] = i;
	}
	for (unsigned i = 0; i < STATE_CLASSES; i++)
		classes[class_order[i]] = vm_define(vm, state_classes[class_order[i]], vm->object, "label:I y:L x:L z:L");
	for (unsigned i = 1; i <= LABELS; i++) {
		const unsigned j = 1 + (unsigned)next_random(i), k = 1 + (unsigned)next_random(i);
		order[i] = order[j];
		order[j] = i;
		places[i] = places[k];
		places[k] = vm->next + 64 * (uint64_t)i;
	}
	for (unsigned i = 1; i <= LABELS; i++)
		ids[i] = places[i];
	ids[0] = 0;
	for (unsigned n = 1; n <= LABELS; n++) {
		const unsigned i = order[n];
		const unsigned *to = labelled[i].to;
		const uint64_t values[] = { i, ids[to[0]], ids[to[1]], ids[to[2]] };
		if (labelled[i].class == STATE_CLASSES)
			sub_object_array(&vm->heap, ids[i], world.objects, values + 1, STATE_FIELDS);
		else
			vm_new(vm, ids[i], classes[labelled[i].class], values, 4);
		if (labelled[i].root)
			vm_root(vm, next_random(2) ? ROOT_JNI_GLOBAL : ROOT_JAVA_FRAME, ids[i]);
	}
	build(built, vm, JVM);
}

/* The rule, level by level: ranks of nodes by the rank of the one before, then class, then field. */
struct step {
	unsigned label, before, field;
	unsigned rank_before;
	const struct labelled *labelled;
};

/* Fields by name; elements by number. */
static unsigned field_rank(const struct labelled *owner, unsigned field)
{
	static const unsigned by_name[] = { 1, 0, 2 }; /* y, x, z */
	return owner->class == STATE_CLASSES ? field : by_name[field];
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	if (x->rank_before != y->rank_before)
		return x->rank_before < y->rank_before ? -1 : 1;
	static const char *const shown[] = { "d.D", "a.A", "c.C", "b.B", "java.lang.Object[]" };
	const int order = strcmp(shown[x->labelled[x->label].class], shown[y->labelled[y->label].class]);
	if (order)
		return order;
	if (!x->before) /* roots: the label is what their content begins with */
		return x->label < y->label ? -1 : x->label > y->label;
	const unsigned fx = field_rank(&x->labelled[x->before], x->field), fy = field_rank(&y->labelled[y->before], y->field);
	return fx < fy ? -1 : fx > fy;
}

/* What should be before each label; 0 for roots and what is not reached. */
static void find_befores(const struct labelled *labelled, unsigned *befores, bool *reached)
{
	static struct step steps[LABELS * STATE_FIELDS + LABELS];
	unsigned level[LABELS + 1], next[LABELS + 1], count = 0, step_count = 0;
	memset(reached, 0, (LABELS + 1) * sizeof *reached);
	memset(befores, 0, (LABELS + 1) * sizeof *befores);
	for (unsigned i = 1; i <= LABELS; i++)
		if (labelled[i].root)
			steps[step_count++] = (struct step){ .label = i, .labelled = labelled };
	while (step_count) {
		qsort(steps, step_count, sizeof *steps, compare_steps);
		count = 0;
		for (unsigned i = 0; i < step_count; i++) {
			if (reached[steps[i].label])
				continue;
			reached[steps[i].label] = true;
			befores[steps[i].label] = steps[i].before;
			next[count++] = steps[i].label;
		}
		memcpy(level, next, count * sizeof *level);
		step_count = 0;
		for (unsigned rank = 0; rank < count; rank++)
			for (unsigned f = 0; f < STATE_FIELDS; f++) {
				const unsigned to = labelled[level[rank]].to[f];
				if (to && !reached[to])
					steps[step_count++] = (struct step){ to, level[rank], f, rank, labelled };
			}
	}
}

/* One state with other ids, in another order: the ways are the same, and the ones that the rule says. */
static void same_state(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct labelled labelled[LABELS + 1] = { { .class = 0 } };
		unsigned befores[LABELS + 1];
		bool reached[LABELS + 1];
		random_state = seed;
		random_state_of(labelled);
		find_befores(labelled, befores, reached);
		for (unsigned turn = 0; turn < 2; turn++) {
			struct built built;
			uint64_t ids[LABELS + 1];
			put_state(&built, labelled, ids, 1000 * seed + turn);
			for (unsigned i = 1; i <= LABELS && !graph_lacks_roots(built.graph); i++) {
				const uint32_t before = graph_before(built.graph, need_node(built.graph, ids[i])),
					       expected = !reached[i] ? NODE_NONE : !befores[i] ? NODE_ROOT :
								       need_node(built.graph, ids[befores[i]]);
				if (before != expected)
					fail_msg("seed %" PRIu64 ", turn %u: before label %u is node %u, not %u", seed, turn, i,
						 before, expected);
			}
			built_close(&built);
		}
	}
}

/* Classes of one name, from several loaders, are told apart by their place, not by their ids. */
static void same_names(void **state)
{
	(void)state;
	for (unsigned turned = 0; turned < 2; turned++) {
		struct world world;
		struct built built;
		uint64_t classes[2];
		world_init(&world, VM_JDK9, 8);
		struct vm *vm = &world.vm;
		const uint64_t target = new_node(&world, 0, 0, 0);
		for (unsigned i = 0; i < 2; i++)
			classes[i ^ turned] = vm_define(vm, "Twin", vm->object, "f:L");
		const uint64_t first = VM_NEW(vm, classes[0], target), second = VM_NEW(vm, classes[1], target),
			       array = vm_object_array(vm, world.objects, (uint64_t[]){ first, second }, 2);
		root(&world, array);
		build(&built, vm, JVM);
		GOES(&built, array, first, target);
		built_close(&built);
	}
}

/* Ways longer than what is told of their lengths. */
static void long_way(void **state)
{
	enum { LENGTH = 600 };
	struct world world;
	struct built built;
	uint64_t ids[LENGTH], leaf;
	(void)state;
	world_init(&world, VM_JDK9, 8);
	leaf = new_plain(&world);
	for (unsigned i = 0; i < LENGTH; i++)
		ids[i] = vm_alloc(&world.vm, 32);
	for (unsigned i = 0; i < LENGTH; i++)
		vm_new(&world.vm, ids[i], world.node, (uint64_t[]){ i + 1 < LENGTH ? ids[i + 1] : leaf }, 1);
	root(&world, ids[0]);
	build(&built, &world.vm, JVM);
	for (unsigned i = 0; i < LENGTH; i++) {
		const uint32_t node = need_node(built.graph, ids[i]);
		assert_int_equal(graph_distance(built.graph, node), i < 255 ? i + 1 : 255);
		assert_int_equal(graph_before(built.graph, node), i ? need_node(built.graph, ids[i - 1]) : NODE_ROOT);
	}
	assert_int_equal(graph_distance(built.graph, need_node(built.graph, leaf)), 255);
	check_built(&built, "a long way");
	built_close(&built);
}

/* --- a file that is written over --- */

/* Writes over the record of an object, once `calls` stages are there. */
struct writer_over {
	struct waiting waiting;
	uint8_t *record;
	unsigned variant, calls;
};

static void write_over(struct writer_over *over)
{
	/* Its id: one between two objects', one far from all; its tag; its length. */
	if (over->variant == 0)
		over->record[8] ^= 0x08;
	else if (over->variant == 1)
		over->record[1] ^= 0x80;
	else if (over->variant == 2)
		over->record[0] = 0x77;
	else
		over->record[21] = 0xff;
}

static void write_over_now(void *context)
{
	struct writer_over *over = context;
	if (over->waiting.calls + 1 == over->calls)
		write_over(over);
	note_change(&over->waiting);
}

/* All stages, or an error. */
static void try_stages(struct graph *graph, struct writer_over *over)
{
	for (enum graph_stage stage = GRAPH_DOMINATORS; stage <= GRAPH_RETAINERS; stage++) {
		unsigned calls = calls_now(&over->waiting);
		int rc;
		while ((rc = graph_need(graph, stage)) == GRAPH_LATER) {
			wait_for_more(&over->waiting, calls);
			calls = calls_now(&over->waiting);
		}
		if (rc && rc != EIO)
			fail_msg("variant %u after %u stages: stage %d: %s", over->variant, over->calls, (int)stage, strerror(rc));
		if (rc)
			return;
	}
}

/* What no longer is what was scanned is an error, or else is passed over; it is no reason to write anywhere. */
static void check_written_over(unsigned variant, unsigned calls, bool leaf)
{
	struct writer_over over = { .waiting = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER },
				    .variant = variant, .calls = calls };
	const struct graph_options options = { .threads = 1, .all_retainers = true, .changed = write_over_now, .context = &over };
	struct world world;
	struct opened opened;
	struct found found;
	struct held held;
	world_init(&world, VM_JDK9, 8);
	uint64_t before = 0, middle = 0;
	for (unsigned i = 0; i < 50; i++) {
		const uint64_t plain = new_plain(&world);
		before = new_node(&world, before, plain, 0);
		middle = i == 25 ? leaf ? plain : before : middle;
	}
	root(&world, before);
	opened_vm(&opened, &world.vm, JVM);
	assert_true(index_find(&opened.heaps[0].scan.index, middle, &found));
	over.record = opened.bytes.data + found.offset;
	struct graph *graph = must(graph_open(&opened.heaps[0], &options));
	if (!calls)
		write_over(&over);
	try_stages(graph, &over);
	struct graph_progress progress;
	graph_progress(graph, &progress);
	for (uint32_t node = 0; node < 100 && progress.stage >= GRAPH_DOMINATORS; node++) {
		graph_held(graph, node, &held);
		referrers_put(graph_referrers(graph, node));
	}
	graph_close(graph);
	opened_close(&opened);
}

static void written_over(void **state)
{
	(void)state;
	for (unsigned calls = 0; calls < 4; calls++)
		for (unsigned variant = 0; variant < 4; variant++) {
			check_written_over(variant, calls, false);
			check_written_over(variant, calls, true);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves),	    cmocka_unit_test(strengths),	cmocka_unit_test(own_referent),
		cmocka_unit_test(odd_roots),	    cmocka_unit_test(without_roots),	cmocka_unit_test(strangers),
		cmocka_unit_test(loaded_classes),   cmocka_unit_test(mixed_kinds),
		cmocka_unit_test(loaded_in_any_order),
		cmocka_unit_test(far_apart),	    cmocka_unit_test(cut_short),	cmocka_unit_test(one_id),
		cmocka_unit_test(one_id_reference), cmocka_unit_test(id_of_class),
		cmocka_unit_test(class_instances),  cmocka_unit_test(ways),		cmocka_unit_test(ways_from_roots),
		cmocka_unit_test(same_state),	    cmocka_unit_test(same_names),	cmocka_unit_test(long_way),
		cmocka_unit_test(at_random),	    cmocka_unit_test(all_samples),	cmocka_unit_test(many_chunks),
		cmocka_unit_test(threads),	    cmocka_unit_test(largest),
		cmocka_unit_test(in_background),	cmocka_unit_test(no_room),
		cmocka_unit_test(written_over),
	};
	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
