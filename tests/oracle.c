/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static bool is_named(struct name name, const char *text)
{
	return name.len == strlen(text) && !memcmp(name.text, text, name.len);
}

/* --- nodes --- */

static int compare_nodes(const void *a, const void *b)
{
	const struct true_node *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Class objects, and of each id that no class has the first object. */
static void find_nodes(struct oracle *oracle)
{
	const struct heap *heap = oracle->heap;
	const struct index *ix = &heap->scan.index;
	oracle->nodes = must(calloc(ix->object_count + heap->class_count + 1, sizeof *oracle->nodes));
	for (uint32_t i = 0; i < heap->class_count; i++)
		if (heap->classes[i].offset)
			oracle->nodes[oracle->count++] =
				(struct true_node){ .id = heap->classes[i].id, .class = &heap->classes[i],
						    .size = class_object_size(heap, &heap->classes[i]) };
	for (size_t block = 0; block < ix->block_count; block++) {
		struct block_walk walk;
		block_walk_start(&walk, ix, block);
		while (block_walk_next(&walk)) {
			const struct class *class = class_find(heap, walk.id);
			struct object object;
			if ((class && class->offset) || !heap_find(heap, walk.id, &object) || object.offset != walk.offset)
				continue;
			oracle->nodes[oracle->count++] =
				(struct true_node){ .id = walk.id, .of = object.class, .offset = walk.offset,
						    .size = object_size(heap, &object) };
		}
	}
	qsort(oracle->nodes, oracle->count, sizeof *oracle->nodes, compare_nodes);
}

uint32_t oracle_find(const struct oracle *oracle, uint64_t id)
{
	const struct true_node wanted = { .id = id };
	const struct true_node *found = id ? bsearch(&wanted, oracle->nodes, oracle->count, sizeof wanted, compare_nodes) : NULL;
	return found ? (uint32_t)(found - oracle->nodes) : TRUE_NONE;
}

/* --- references --- */

static void add_reference(struct oracle *oracle, struct true_node *node, uint64_t id)
{
	const uint32_t to = oracle_find(oracle, id);
	if (to == TRUE_NONE)
		return;
	if (oracle->reference_count == oracle->reference_capacity) {
		oracle->reference_capacity = oracle->reference_capacity ? 2 * oracle->reference_capacity : 1024;
		oracle->references = must(reallocarray(oracle->references, oracle->reference_capacity, sizeof to));
	}
	oracle->references[oracle->reference_count++] = to;
	node->count++;
}

static bool is_kind_of(const struct heap *heap, const struct class *class, const char *name)
{
	while (class && !is_named(class->name, name))
		class = class_super(heap, class);
	return class != NULL;
}

static enum strength strength_of(const struct heap *heap, const struct class *class)
{
	if (is_kind_of(heap, class, "java.lang.ref.SoftReference"))
		return SOFT;
	if (is_kind_of(heap, class, "java.lang.ref.FinalReference") ||
	    is_kind_of(heap, class, "java.lang.ref.FinalizerReference"))
		return FINALIZER;
	return is_kind_of(heap, class, "java.lang.ref.PhantomReference") ? PHANTOM : WEAK;
}

static void decode_object(struct oracle *oracle, struct true_node *node)
{
	const struct heap *heap = oracle->heap;
	struct value_walk walk;
	struct object object;
	if (!heap_object(heap, node->offset, &object))
		abort();
	value_walk_start(&walk, heap, &object);
	while (value_walk_next(&walk)) {
		/* What tells an object's class is no reference: pass.h. */
		if (walk.type != TYPE_OBJECT || (walk.field && is_named(walk.field->name, "shadow$_klass_")))
			continue;
		const uint64_t id = read_id(walk.value, heap->id_width);
		/* The field that java.lang.ref.Reference has, and no other one of that name. */
		if (walk.field && is_named(walk.field->name, "referent") && is_named(walk.class->name, "java.lang.ref.Reference")) {
			node->referent = oracle_find(oracle, id);
			node->referent_strength = strength_of(heap, object.class);
		} else {
			add_reference(oracle, node, id);
		}
	}
}

static void decode_class(struct oracle *oracle, struct true_node *node)
{
	const struct heap *heap = oracle->heap;
	struct static_walk walk;
	for (unsigned pool = 0; pool < 2; pool++) {
		static_walk_start(&walk, heap, node->class, pool);
		while (static_walk_next(&walk))
			if (walk.type == TYPE_OBJECT)
				add_reference(oracle, node, read_id(walk.value, heap->id_width));
	}
	add_reference(oracle, node, class_reference(heap, node->class, CLASS_SUPER));
	add_reference(oracle, node, class_reference(heap, node->class, CLASS_LOADER));
	add_reference(oracle, node, class_reference(heap, node->class, CLASS_SIGNERS));
	add_reference(oracle, node, class_reference(heap, node->class, CLASS_PROTECTION_DOMAIN));
}

bool oracle_refers(const struct oracle *oracle, uint32_t x, uint32_t y, bool firmly)
{
	const struct true_node *node = &oracle->nodes[x];
	for (uint32_t i = 0; i < node->count; i++)
		if (oracle->references[node->first + i] == y)
			return true;
	return !firmly && node->referent == y;
}

/* --- who holds it --- */

struct flood {
	const struct oracle *oracle;
	uint8_t *reached;
	uint32_t *queue;
	uint32_t tail;
	uint32_t out;		/* is never reached */
	enum strength strength;	/* referents of References up to this one are */
};

static void reach(struct flood *flood, uint32_t node)
{
	if (node == TRUE_NONE || node == flood->out || flood->reached[node])
		return;
	flood->reached[node] = 1;
	flood->queue[flood->tail++] = node;
}

static enum strength root_strength(unsigned tag)
{
	return tag == ROOT_UNREACHABLE ? UNREACHABLE : tag == ROOT_FINALIZING ? FINALIZER : STRONG;
}

static bool has_strong_root(const struct oracle *oracle)
{
	const struct roots *roots = heap_roots(oracle->heap);
	for (size_t i = 0; i < roots->count; i++)
		if (root_strength(roots->list[i].tag) == STRONG && oracle_find(oracle, roots->list[i].id) != TRUE_NONE)
			return true;
	return false;
}

static void flood_roots(struct flood *flood)
{
	const struct oracle *oracle = flood->oracle;
	const struct roots *roots = heap_roots(oracle->heap);
	for (size_t i = 0; i < roots->count; i++)
		if (root_strength(roots->list[i].tag) <= flood->strength)
			reach(flood, oracle_find(oracle, roots->list[i].id));
	for (uint32_t i = 0; oracle->lacks_roots && i < oracle->count; i++)
		if (oracle->nodes[i].class)
			reach(flood, i);
}

/* Level by level, from what is in the queue behind `head`; with `distances`, it is told how far away each is. */
static void flood_on(struct flood *flood, uint32_t head, bool distances)
{
	const struct oracle *oracle = flood->oracle;
	unsigned distance = 0;
	for (uint32_t level = head; head < flood->tail; head++) {
		struct true_node *node = &oracle->nodes[flood->queue[head]];
		if (head == level) {
			distance++;
			level = flood->tail;
		}
		if (distances)
			node->distance = distance;
		for (uint32_t i = 0; i < node->count; i++)
			reach(flood, oracle->references[node->first + i]);
		if (node->referent != TRUE_NONE && node->referent_strength <= flood->strength)
			reach(flood, node->referent);
	}
}

/* From the roots; then from classes that are merely loaded, which are no shorter way to what roots lead to. */
static void flood_all(struct flood *flood, bool distances)
{
	const struct oracle *oracle = flood->oracle;
	flood->tail = 0;
	memset(flood->reached, 0, oracle->count);
	flood_roots(flood);
	flood_on(flood, 0, distances);
	const uint32_t head = flood->tail;
	for (uint32_t i = 0; i < oracle->count; i++)
		if (oracle->loaded[i])
			reach(flood, i);
	flood_on(flood, head, distances);
}

/* The VM keeps a class so long as its loader, or an instance, is there. */
static bool is_loaded(const struct flood *flood, const struct class *class)
{
	const struct oracle *oracle = flood->oracle;
	const uint32_t loader = oracle_find(oracle, class->loader_id);
	bool loaded = !class->loader_id || (loader != TRUE_NONE && flood->reached[loader]);
	for (uint32_t i = 0; i < oracle->count && !loaded; i++)
		loaded = oracle->nodes[i].of == class && flood->reached[i];
	return loaded;
}

/* Those that are loaded, though not reached, are roots: all at once, so that it is all the same which has the lower id. */
static void find_loaded(struct oracle *oracle, struct flood *flood)
{
	flood->strength = STRONG;
	flood_all(flood, false);
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < oracle->count; i++) {
			const struct class *class = oracle->nodes[i].class;
			if (class && !flood->reached[i] && is_loaded(flood, class))
				oracle->loaded[i] = more = true;
		}
		flood_all(flood, false);
	}
}

/* On to the classes that what was reached keeps loaded, and to what they lead to. */
static void flood_loaded(struct flood *flood)
{
	const struct oracle *oracle = flood->oracle;
	for (uint32_t head = 0; head != flood->tail;) {
		head = flood->tail;
		for (uint32_t i = 0; i < oracle->count; i++)
			if (oracle->nodes[i].class && !flood->reached[i] && is_loaded(flood, oracle->nodes[i].class))
				reach(flood, i);
		flood_on(flood, head, false);
	}
}

static void find_strengths(struct oracle *oracle, struct flood *flood)
{
	for (uint32_t i = 0; i < oracle->count; i++)
		oracle->nodes[i].strength = UNREACHABLE;
	for (flood->strength = PHANTOM; ; flood->strength--) {
		flood_all(flood, flood->strength == STRONG);
		if (flood->strength != STRONG)
			flood_loaded(flood);
		for (uint32_t i = 0; i < oracle->count; i++)
			if (flood->reached[i])
				oracle->nodes[i].strength = flood->strength;
		if (flood->strength == STRONG)
			return;
	}
}

static void find_dominators(struct oracle *oracle, struct flood *flood)
{
	const uint32_t count = oracle->count;
	oracle->dominates = must(calloc((size_t)count * count + 1, 1));
	flood->strength = STRONG;
	for (uint32_t x = 0; x < count; x++) {
		struct true_node *node = &oracle->nodes[x];
		uint8_t *row = &oracle->dominates[(size_t)x * count];
		node->retained = node->size;
		node->objects = 1;
		if (node->strength != STRONG)
			continue;
		flood->out = x;
		flood_all(flood, false);
		for (uint32_t y = 0; y < count; y++) {
			if (y == x || flood->reached[y] || oracle->nodes[y].strength != STRONG)
				continue;
			row[y] = 1;
			oracle->nodes[y].dominators++;
			node->retained += oracle->nodes[y].size;
			node->objects++;
		}
	}
	/* They form a chain: the nearest is the one that has all others. */
	for (uint32_t y = 0; y < count; y++) {
		struct true_node *node = &oracle->nodes[y];
		node->dominator = node->strength != STRONG ? TRUE_NONE : TRUE_ROOT;
		for (uint32_t x = 0; x < count; x++)
			if (oracle->dominates[(size_t)x * count + y] && oracle->nodes[x].dominators + 1 == node->dominators)
				node->dominator = x;
		if (node->dominators && node->dominator == TRUE_ROOT)
			abort();
	}
}

const struct class *oracle_class(const struct oracle *oracle, uint32_t node)
{
	return oracle->nodes[node].of ? oracle->nodes[node].of : class_by_name(oracle->heap, "java.lang.Class");
}

void oracle_make(struct oracle *oracle, const struct heap *heap)
{
	*oracle = (struct oracle){ .heap = heap };
	find_nodes(oracle);
	for (uint32_t i = 0; i < oracle->count; i++) {
		struct true_node *node = &oracle->nodes[i];
		node->first = (uint32_t)oracle->reference_count;
		node->referent = TRUE_NONE;
		if (node->class)
			decode_class(oracle, node);
		else
			decode_object(oracle, node);
	}
	struct flood flood = { .oracle = oracle, .out = TRUE_NONE, .reached = must(malloc((size_t)oracle->count + 1)),
			       .queue = must(malloc(((size_t)oracle->count + 1) * sizeof *flood.queue)) };
	oracle->loaded = must(calloc((size_t)oracle->count + 1, 1));
	oracle->lacks_roots = !has_strong_root(oracle);
	find_loaded(oracle, &flood);
	find_strengths(oracle, &flood);
	find_dominators(oracle, &flood);
	free(flood.reached);
	free(flood.queue);
}

void oracle_free(struct oracle *oracle)
{
	free(oracle->nodes);
	free(oracle->references);
	free(oracle->dominates);
	free(oracle->loaded);
}
