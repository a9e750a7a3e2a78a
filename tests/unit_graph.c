/* SPDX-License-Identifier: Apache-2.0 */
/* What holds what, through dumps: graphs at random and all samples against the oracle; threads; a file that changes. */
#include "graph_checks.h"
#include "waiting.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

/* Who asks is told to come again, and is called after each stage. */
static void in_background(void **state)
{
	struct waiting waiting = WAITING_INIT;
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
	struct writer_over over = { .waiting = WAITING_INIT,
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
		cmocka_unit_test(at_random),
		cmocka_unit_test(all_samples),
		cmocka_unit_test(many_chunks),
		cmocka_unit_test(threads),
		cmocka_unit_test(largest),
		cmocka_unit_test(in_background),
		cmocka_unit_test(no_room),
		cmocka_unit_test(written_over),
	};
	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
