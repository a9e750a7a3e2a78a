/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_checks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint64_t random_state;

uint64_t next_random(uint64_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % below;
}

void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* --- a graph, and what it is compared with --- */

/* All stages of a heap's graph. */
struct graph *graph_of(const struct heap *heap, const struct graph_options *options)
{
	struct graph *graph = must(graph_open(heap, options));
	const int rc = graph_need(graph, GRAPH_RETAINERS);
	if (rc)
		fail_msg("graph_need: %s", strerror(rc));
	return graph;
}

void build(struct built *built, struct vm *vm, const char *version)
{
	opened_vm(&built->opened, vm, version);
	built->heap = &built->opened.heaps[0];
	built->graph = graph_of(built->heap, &(struct graph_options){ .threads = 1, .all_retainers = true });
}

void built_close(struct built *built)
{
	graph_close(built->graph);
	opened_close(&built->opened);
}

uint32_t need_node(const struct graph *graph, uint64_t id)
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

void same(const char *what, const char *label, uint64_t id, uint64_t found, uint64_t expected)
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

void same_retainers(const struct retainers *found, const struct retainer *expected, size_t count, const char *label)
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

void check_heap(const struct heap *heap, const struct graph_options *options, const char *label)
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

void check_built(struct built *built, const char *label)
{
	check_heap(built->heap, &(struct graph_options){ .threads = 1, .all_retainers = true }, label);
}

/* --- a VM with classes to make graphs of --- */

/* A subclass of Reference writes its own fields first: so that of Finalizer's the referent is the third value. */
void world_init(struct world *world, enum vm_kind kind, unsigned id_width)
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

uint64_t new_node(struct world *world, uint64_t next, uint64_t data, uint64_t back)
{
	return VM_NEW(&world->vm, world->node, next, data, 0, back);
}

uint64_t new_plain(struct world *world)
{
	return VM_NEW(&world->vm, world->plain, 1, 2);
}

void root(struct world *world, uint64_t id)
{
	vm_root(&world->vm, ROOT_JNI_GLOBAL, id);
}
