/* SPDX-License-Identifier: Apache-2.0 */
/* What holds what, case by case. */
#include "graph_checks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
#define REFERS(built, id, ...) \
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves),
		cmocka_unit_test(strengths),
		cmocka_unit_test(own_referent),
		cmocka_unit_test(odd_roots),
		cmocka_unit_test(without_roots),
		cmocka_unit_test(loaded_classes),
		cmocka_unit_test(loaded_in_any_order),
		cmocka_unit_test(mixed_kinds),
		cmocka_unit_test(strangers),
		cmocka_unit_test(far_apart),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(one_id),
		cmocka_unit_test(one_id_reference),
		cmocka_unit_test(id_of_class),
		cmocka_unit_test(class_instances),
	};
	return cmocka_run_group_tests_name("graph, case by case", tests, NULL, NULL);
}
