/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over what a collection holds. Nothing in a dump is trusted to end: each slot and each node costs what it takes
 * in the dump at least, and a walk has as many bytes to spend as the dump has; a chain of nodes ends where it comes to
 * a node that it has been at; and in a tree a node is entered from the one that it names as its parent only, so that
 * no node is entered twice.
 */
#include "heap/collections.h"

#define SLOT_COST 4
#define NODE_COST 17	/* an instance without fields, of 4-byte ids */

/* --- arrays --- */

/* Elements of an array whose bytes are there: one without contents (tag C3) has none. */
static uint64_t slots_of(const struct heap *heap, const struct object *array)
{
	const uint64_t there = array->data_len / type_width(array->type, heap->id_width);
	return array->length < there ? array->length : there;
}

/* An element; the slot must be one that slots_of() counts. */
static struct collection_value element(const struct heap *heap, const struct object *array, uint64_t slot)
{
	const uint8_t *p = array->data + slot * type_width(array->type, heap->id_width);
	return (struct collection_value){ array->type, array->type == TYPE_OBJECT ? read_id(p, heap->id_width) : 0, p };
}

static bool is_null(struct collection_value value)
{
	return value.type == TYPE_OBJECT && !value.id;
}

/* What stands for null is null. */
static void unmask(const struct collection_walk *walk, struct collection_value *value)
{
	if (value->type == TYPE_OBJECT && value->id == walk->layout->masked)
		value->id = 0;
}

/* --- nodes --- */

/* The first of the names, of which each ends in NUL, that the class has a field of. */
static int32_t find_any(const struct heap *heap, const struct class *class, const char *names)
{
	int32_t at = -1;
	for (; at < 0 && *names; names += strlen(names) + 1)
		at = field_offset(heap, class, names, TYPE_OBJECT);
	return at;
}

/* Where the fields of a class's nodes are. A WeakHashMap's key is a Reference's referent. */
static void learn_nodes(struct collection_walk *walk, const struct class *class)
{
	static const char *const table[NODE_FIELDS] = { "key\0referent\0", "value\0val\0", "next\0", "first\0",
							"nextTable\0" };
	static const char *const linked[NODE_FIELDS] = { "key\0", "value\0", "after\0nxt\0", "", "" };
	static const char *const chain[NODE_FIELDS] = { "item\0element\0data\0", "", "next\0", "", "" };
	static const char *const tree[NODE_FIELDS] = { "key\0", "value\0", "right\0", "left\0", "parent\0" };
	const enum collection_shape shape = walk->layout->row->shape;
	const char *const *names = shape == SHAPE_LINKED ? linked : shape == SHAPE_CHAIN ? chain :
				   shape == SHAPE_TREE ? tree : table;
	walk->nodes.class = class;
	for (unsigned i = 0; i < NODE_FIELDS; i++)
		walk->nodes.at[i] = find_any(walk->heap, class, names[i]);
}

static bool find_node(struct collection_walk *walk, uint64_t id, struct object *node)
{
	if (!heap_find(walk->heap, id, node) || node->kind != OBJECT_INSTANCE)
		return false;
	if (walk->nodes.class != node->class)
		learn_nodes(walk, node->class);
	return true;
}

static struct collection_value node_value(const struct collection_walk *walk, const struct object *node,
					  enum node_field field)
{
	const unsigned I = walk->heap->id_width;
	const int32_t at = walk->nodes.at[field];
	if (at < 0 || (uint64_t)at + I > node->data_len)
		return (struct collection_value){ 0 };
	return (struct collection_value){ TYPE_OBJECT, read_id(node->data + at, I), node->data + at };
}

static uint64_t node_id(const struct collection_walk *walk, const struct object *node, enum node_field field)
{
	return node_value(walk, node, field).id;
}

static bool spend(struct collection_walk *walk, uint64_t cost)
{
	const bool enough = walk->left >= cost;
	walk->left -= enough ? cost : walk->left;
	return enough;
}

static void chain_start(struct collection_walk *walk, uint64_t id)
{
	walk->node = walk->first = walk->mark = id;
	walk->since = 0;
	walk->power = 1;
}

/* Brent's way to find a circle: the mark moves on after 1, 2, 4, … nodes, and whoever comes to it is in one. */
static void chain_advance(struct collection_walk *walk, uint64_t next)
{
	walk->node = next == walk->first || next == walk->mark ? 0 : next;
	if (++walk->since == walk->power) {
		walk->mark = next;
		walk->power *= 2;
		walk->since = 0;
	}
}

/* --- tables of chains --- */

static void open_table(struct collection_walk *walk, uint64_t id)
{
	const bool found = collection_array(walk->heap, id, &walk->store) && walk->store.kind == OBJECT_OBJECT_ARRAY;
	walk->slot = 0;
	walk->slots = found ? slots_of(walk->heap, &walk->store) : 0;
}

/* The table of the next segment, the last one first. */
static bool next_segment(struct collection_walk *walk)
{
	struct object segment;
	if (walk->segment == walk->segments || !spend(walk, NODE_COST))
		return false;
	const uint64_t at = walk->segments - ++walk->segment;
	walk->slots = walk->slot = 0;
	const uint64_t id = element(walk->heap, &walk->other, at).id;
	if (heap_find(walk->heap, id, &segment) && segment.kind == OBJECT_INSTANCE) {
		const int32_t table = field_offset(walk->heap, segment.class, "table", TYPE_OBJECT);
		if (table >= 0 && (uint64_t)table + walk->heap->id_width <= segment.data_len)
			open_table(walk, read_id(segment.data + table, walk->heap->id_width));
	}
	return true;
}

/* Goes to the chain of the next slot; false at the end. */
static bool next_chain(struct collection_walk *walk)
{
	uint64_t id;
	walk->in_moved = walk->moved_left;
	walk->in_bin = false;
	if (walk->moved_left) {
		/* A table of twice the size: what was in one slot is in two. */
		const uint64_t slot = walk->moved;
		walk->moved += walk->slots;
		walk->moved_left--;
		id = slot < slots_of(walk->heap, &walk->other) ? element(walk->heap, &walk->other, slot).id : 0;
	} else {
		while (walk->slot == walk->slots)
			if (!next_segment(walk))
				return false;
		const uint64_t at = walk->slot++;
		id = element(walk->heap, &walk->store, walk->layout->row->backward ? walk->slots - 1 - at : at).id;
	}
	chain_start(walk, id);
	return spend(walk, SLOT_COST);
}

/* ConcurrentHashMap: a node that stands for the slot's nodes, which are in another table or a tree. */
static bool stands_for_others(struct collection_walk *walk, const struct object *node)
{
	if (walk->nodes.at[NODE_MOVED] >= 0) {
		/* Such a node in the new table would be of yet another one, which there is never. */
		if (!walk->in_moved && collection_array(walk->heap, node_id(walk, node, NODE_MOVED), &walk->other) &&
		    walk->other.kind == OBJECT_OBJECT_ARRAY) {
			walk->moved = walk->slot - 1;
			walk->moved_left = 2;
		}
		walk->node = 0;
		return true;
	}
	if (walk->nodes.at[NODE_FIRST] >= 0) {
		chain_start(walk, walk->in_bin ? 0 : node_id(walk, node, NODE_FIRST));
		walk->in_bin = true;
		return true;
	}
	return false;
}

static bool next_in_tables(struct collection_walk *walk, struct collection_entry *entry)
{
	struct object node;
	const bool no_null = walk->layout->row->no_null;
	for (;;) {
		while (!walk->node)
			if (!next_chain(walk))
				return false;
		if (!spend(walk, NODE_COST))
			return false;
		if (!find_node(walk, walk->node, &node)) {
			walk->node = 0;
			continue;
		}
		if (no_null && stands_for_others(walk, &node))
			continue;
		chain_advance(walk, node_id(walk, &node, NODE_NEXT));
		entry->key = node_value(walk, &node, NODE_KEY);
		entry->value = node_value(walk, &node, NODE_VALUE);
		if (!entry->key.type || !entry->value.type || (no_null && !entry->key.id))
			continue;
		unmask(walk, &entry->key);
		return true;
	}
}

/* --- lists of nodes --- */

static bool next_in_list(struct collection_walk *walk, struct collection_entry *entry)
{
	struct object node;
	if (!walk->node || !spend(walk, NODE_COST) || !find_node(walk, walk->node, &node))
		return false;
	chain_advance(walk, node_id(walk, &node, NODE_NEXT));
	entry->key = node_value(walk, &node, NODE_KEY);
	entry->value = node_value(walk, &node, NODE_VALUE);
	return entry->key.type;
}

static void start_list(struct collection_walk *walk, uint64_t first)
{
	struct object header;
	chain_start(walk, first);
	if (walk->layout->row->circular && first)
		/* Its first node holds nothing, and coming back to it is the end. */
		walk->node = find_node(walk, first, &header) ? node_id(walk, &header, NODE_NEXT) : 0;
	if (walk->layout->row->circular && walk->node == first)
		walk->node = 0;
}

/* --- trees --- */

/* The child on one side, if it names this node as its parent: a tree's does, and no node has two. */
static uint64_t child_of(struct collection_walk *walk, const struct object *node, enum node_field side)
{
	struct object child;
	const uint64_t id = node_id(walk, node, side);
	/* A left child that is the right one too is entered once. */
	if (!id || id == walk->first || (side == NODE_NEXT && id == node_id(walk, node, NODE_FIRST)) ||
	    !find_node(walk, id, &child) || node_id(walk, &child, NODE_MOVED) != node->id)
		return 0;
	return id;
}

/* From a node as far to the left as it goes. */
static uint64_t leftmost(struct collection_walk *walk, uint64_t id)
{
	struct object node;
	for (uint64_t left = id; left && spend(walk, NODE_COST) && find_node(walk, left, &node);
	     left = child_of(walk, &node, NODE_FIRST))
		id = left;
	return id;
}

/* The node that comes next: on the right, or the first one above that this one is on the left of. */
static uint64_t tree_next(struct collection_walk *walk, const struct object *node)
{
	struct object at = *node, parent;
	const uint64_t right = child_of(walk, node, NODE_NEXT);
	if (right)
		return leftmost(walk, right);
	(void)find_node(walk, at.id, &at); /* its class's fields again */
	while (at.id != walk->first && spend(walk, NODE_COST) &&
	       find_node(walk, node_id(walk, &at, NODE_MOVED), &parent)) {
		if (node_id(walk, &parent, NODE_FIRST) == at.id)
			return parent.id;
		at = parent;
	}
	return 0;
}

static bool next_in_tree(struct collection_walk *walk, struct collection_entry *entry)
{
	struct object node;
	if (!walk->node || !spend(walk, NODE_COST) || !find_node(walk, walk->node, &node))
		return false;
	entry->key = node_value(walk, &node, NODE_KEY);
	entry->value = node_value(walk, &node, NODE_VALUE);
	walk->node = tree_next(walk, &node);
	return entry->key.type && entry->value.type;
}

/* --- arrays of elements --- */

/* What is at one slot, or pair of slots; false if nothing is. */
static bool entry_at(const struct collection_walk *walk, uint64_t slot, struct collection_entry *entry)
{
	const struct heap *heap = walk->heap;
	const struct object *store = &walk->store;
	switch (walk->layout->row->shape) {
	case SHAPE_RING:
		entry->key = element(heap, store, (walk->moved + slot) % store->length);
		return true;
	case SHAPE_SLOTS:
		entry->key = element(heap, store, slot);
		return !is_null(entry->key);
	case SHAPE_OPEN_PAIRS:
	case SHAPE_PAIRS:
		entry->key = element(heap, store, 2 * slot);
		entry->value = element(heap, store, 2 * slot + 1);
		if (walk->layout->row->shape == SHAPE_OPEN_PAIRS && is_null(entry->key))
			return false;
		unmask(walk, &entry->key);
		unmask(walk, &entry->value);
		return true;
	case SHAPE_SPARSE:
		entry->key = element(heap, &walk->other, slot);
		entry->value = element(heap, store, slot);
		return !walk->layout->masked || entry->value.id != walk->layout->masked;
	case SHAPE_ENUM:
		entry->key = element(heap, &walk->other, slot);
		entry->value = element(heap, store, slot);
		if (is_null(entry->value))
			return false;
		unmask(walk, &entry->value);
		return true;
	default:
		entry->key = element(heap, store, slot);
		return true;
	}
}

static bool next_in_array(struct collection_walk *walk, struct collection_entry *entry)
{
	while (walk->slot < walk->slots && spend(walk, SLOT_COST))
		if (entry_at(walk, walk->slot++, entry))
			return true;
	return false;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How many slots, or pairs of slots, the walk goes through. */
static uint64_t slots_walked(struct collection_walk *walk)
{
	const uint64_t there = slots_of(walk->heap, &walk->store);
	int64_t size, tail;
	switch (walk->layout->row->shape) {
	case SHAPE_SLOTS:
		return there;
	case SHAPE_OPEN_PAIRS:
		return there / 2;
	case SHAPE_ENUM:
		return smaller(there, slots_of(walk->heap, &walk->other));
	case SHAPE_RING:
		if (there != walk->store.length ||
		    !collection_number(walk->heap, walk->layout, &walk->object, FIELD_OTHER, &size) ||
		    !collection_number(walk->heap, walk->layout, &walk->object, FIELD_MORE, &tail) ||
		    size < 0 || tail < 0 || (uint64_t)size >= there || (uint64_t)tail >= there)
			return 0;
		walk->moved = (uint64_t)size;
		return (uint64_t)(tail >= size ? tail - size : tail - size + (int64_t)there);
	default:
		break;
	}
	/* A list without a size is full; one that claims more than the array has room for has that. */
	if (walk->layout->at[FIELD_SIZE] < 0)
		return there;
	if (!collection_number(walk->heap, walk->layout, &walk->object, FIELD_SIZE, &size) || size < 0)
		return 0;
	if (walk->layout->row->shape == SHAPE_PAIRS)
		return smaller((uint64_t)size, there / 2);
	if (walk->layout->row->shape == SHAPE_SPARSE)
		return smaller((uint64_t)size, smaller(there, slots_of(walk->heap, &walk->other)));
	return smaller((uint64_t)size, there);
}

static void start_array(struct collection_walk *walk, uint64_t store)
{
	const enum collection_shape shape = walk->layout->row->shape;
	const uint64_t other = collection_reference(walk->heap, walk->layout, &walk->object, FIELD_OTHER);
	if (!collection_array(walk->heap, store, &walk->store) ||
	    (shape != SHAPE_SPARSE && walk->store.kind != OBJECT_OBJECT_ARRAY) ||
	    ((shape == SHAPE_SPARSE || shape == SHAPE_ENUM) && !collection_array(walk->heap, other, &walk->other)))
		return;
	walk->slots = slots_walked(walk);
}

/* --- the walk --- */

void collection_walk_start(struct collection_walk *walk, const struct heap *heap, const struct object *object)
{
	const struct collection_layout *outer =
		object->kind == OBJECT_INSTANCE ? collection_layout(heap, object->class) : NULL;
	*walk = (struct collection_walk){ .heap = heap, .left = heap->end_offset - heap->first_offset };
	if (!outer || !collection_inner(heap, object, &walk->object, &walk->layout)) {
		walk->layout = NULL;
		return;
	}
	walk->sort = outer->row->sort;
	const uint64_t store = collection_reference(heap, walk->layout, &walk->object, FIELD_STORE);
	const uint64_t other = collection_reference(heap, walk->layout, &walk->object, FIELD_OTHER);
	switch (walk->layout->row->shape) {
	case SHAPE_BUCKETS:
		open_table(walk, store);
		chain_start(walk, other);
		break;
	case SHAPE_SEGMENTS:
		if (collection_array(heap, store, &walk->other) && walk->other.kind == OBJECT_OBJECT_ARRAY)
			walk->segments = slots_of(heap, &walk->other);
		break;
	case SHAPE_LINKED:
		start_list(walk, other);
		break;
	case SHAPE_CHAIN:
		start_list(walk, store);
		break;
	case SHAPE_TREE:
		walk->first = store;
		walk->node = store ? leftmost(walk, store) : 0;
		break;
	default:
		start_array(walk, store);
	}
}

bool collection_walk_next(struct collection_walk *walk, struct collection_entry *entry)
{
	bool more;
	if (!walk->layout)
		return false;
	entry->key = entry->value = (struct collection_value){ 0 };
	switch (walk->layout->row->shape) {
	case SHAPE_BUCKETS:
	case SHAPE_SEGMENTS:
		more = next_in_tables(walk, entry);
		break;
	case SHAPE_LINKED:
	case SHAPE_CHAIN:
		more = next_in_list(walk, entry);
		break;
	case SHAPE_TREE:
		more = next_in_tree(walk, entry);
		break;
	default:
		more = next_in_array(walk, entry);
	}
	if (!more)
		return false;
	entry->number = walk->number++;
	if (walk->sort == COLLECTION_LIST) {
		entry->value = entry->key;
		entry->key = (struct collection_value){ 0 };
	} else if (walk->sort == COLLECTION_SET) {
		entry->value = (struct collection_value){ 0 };
	}
	return true;
}

void collection_walk_skip(struct collection_walk *walk, uint64_t count)
{
	struct collection_entry entry;
	const enum collection_shape shape = walk->layout ? walk->layout->row->shape : SHAPE_OF;
	if (shape == SHAPE_ARRAY || shape == SHAPE_RING || shape == SHAPE_PAIRS) {
		const uint64_t past = smaller(count, walk->slots - walk->slot);
		walk->slot += past;
		walk->number += past;
		return;
	}
	while (count && collection_walk_next(walk, &entry))
		count--;
}
