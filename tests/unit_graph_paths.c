/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest ways from roots, which must not depend on ids. */
#include "graph_checks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
#define GOES(built, ...) \
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways),
		cmocka_unit_test(ways_from_roots),
		cmocka_unit_test(same_state),
		cmocka_unit_test(same_names),
		cmocka_unit_test(long_way),
	};
	return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
