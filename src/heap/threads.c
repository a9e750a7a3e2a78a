/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads: which threads a dump has and what their stacks hold, from its roots.
 *
 * A thread is what a ROOT_THREAD_OBJ says is one; every writer writes them. A Thread that no root names was not
 * running, and is an object like any other. The hprof agent also writes such a root for no object, as the owner of
 * locals whose thread it does not know: it is none either.
 *
 * Locals name their thread by its serial number. LeakCanary issue 1124 is about one that no thread has; such locals
 * are in roots/ only. In a Perfetto heap graph no root says whose it is.
 */
#include "heap/heap.h"

#include <stdlib.h>

static int compare_threads(const struct thread *x, const struct thread *y)
{
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_by_serial_and_id(const void *a, const void *b)
{
	return compare_threads(a, b);
}

static int compare_offsets(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_locals(const void *a, const void *b)
{
	const struct local *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	if (x->missing != y->missing)
		return x->missing ? 1 : -1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Each root of the dump in the order of the file: its tag, with `need` bytes behind it. NULL: no more. */
struct root_walk {
	const struct heap *heap;
	const uint8_t *p, *end;
	uint64_t offset;
};

static struct root_walk walk_roots(const struct heap *heap)
{
	const struct bytes *roots = &heap->scan.roots;
	return (struct root_walk){ heap, roots->data, roots->data ? roots->data + roots->len : NULL, 0 };
}

static const uint8_t *next_root(struct root_walk *walk)
{
	if (walk->p >= walk->end)
		return NULL;
	walk->offset += varint_read(&walk->p, walk->end);
	return input_at(walk->heap->in, walk->offset, 1 + walk->heap->id_width);
}

static void gather_threads(const struct heap *heap, struct threads *threads, uint64_t most)
{
	const unsigned I = heap->id_width;
	struct root_walk walk = walk_roots(heap);
	uint32_t n = 0;
	for (const uint8_t *p; n < most && (p = next_root(&walk));) {
		if (*p != ROOT_THREAD_OBJ || !input_at(heap->in, walk.offset, 9 + I) || !read_id(p + 1, I))
			continue;
		threads->list[n++] = (struct thread){ .id = read_id(p + 1, I), .offset = walk.offset + 1,
						      .serial = be32(p + 1 + I), .trace = be32(p + 5 + I) };
	}
	/* Twice the same is one thread. */
	qsort(threads->list, n, sizeof *threads->list, compare_by_serial_and_id);
	for (uint32_t i = 0; i < n; i++)
		if (!threads->count || threads->list[i].serial != threads->list[threads->count - 1].serial ||
		    threads->list[i].id != threads->list[threads->count - 1].id)
			threads->list[threads->count++] = threads->list[i];
	qsort(threads->list, threads->count, sizeof *threads->list, compare_offsets);
}

static int compare_serials(const void *a, const void *b)
{
	const struct thread_serial *x = a, *y = b;
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void sort_by_serial(struct threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++)
		threads->by_serial[i] = (struct thread_serial){ threads->list[i].serial, i };
	qsort(threads->by_serial, threads->count, sizeof *threads->by_serial, compare_serials);
}

/* Of threads of one serial, the first in the file. */
static bool find_serial(const struct threads *threads, uint32_t serial, uint32_t *number)
{
	uint32_t low = 0, high = threads->count;
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (threads->by_serial[mid].serial < serial)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == threads->count || threads->by_serial[low].serial != serial)
		return false;
	*number = threads->by_serial[low].number;
	return true;
}

/* Is there a local's root at `p`? Its id and frame, and which thread's it is. */
static bool read_local(const struct heap *heap, const struct threads *threads, const uint8_t *p, uint64_t offset,
		       struct local *local)
{
	const unsigned I = heap->id_width;
	const bool framed = *p == ROOT_JAVA_FRAME || *p == ROOT_JNI_LOCAL || *p == ROOT_JNI_MONITOR;
	if (!framed && *p != ROOT_NATIVE_STACK && *p != ROOT_THREAD_BLOCK)
		return false;
	if (!input_at(heap->in, offset, (framed ? 9 : 5) + I))
		return false;
	*local = (struct local){ .id = read_id(p + 1, I), .offset = offset + 1, .frame = FRAME_NONE, .tag = *p };
	if (framed && be32(p + 5 + I) < FRAMES_MOST)
		local->frame = be32(p + 5 + I);
	return local->id && find_serial(threads, be32(p + 1 + I), &local->thread);
}

static bool same_group(const struct local *x, const struct local *y)
{
	return x->thread == y->thread && x->frame == y->frame;
}

static void gather_locals(const struct heap *heap, struct threads *threads, uint64_t most)
{
	struct root_walk walk = walk_roots(heap);
	size_t n = 0;
	for (const uint8_t *p; n < most && (p = next_root(&walk));) {
		struct local *local = &threads->locals[n];
		struct found found;
		if (!read_local(heap, threads, p, walk.offset, local))
			continue;
		local->missing = !class_find(heap, local->id) && !index_find(&heap->scan.index, local->id, &found);
		n++;
	}
	qsort(threads->locals, n, sizeof *threads->locals, compare_locals);
	for (size_t i = 0; i < n; i++) {
		const struct local *local = &threads->locals[i];
		const struct local *last = threads->local_count ? &threads->locals[threads->local_count - 1] : NULL;
		if (!last || local->id != last->id || !same_group(last, local))
			threads->locals[threads->local_count++] = *local;
	}
}

/* 0, or -1 without memory. */
static int make_groups(struct threads *threads)
{
	size_t count = 0;
	for (size_t i = 0; i < threads->local_count; i++)
		count += !i || !same_group(&threads->locals[i - 1], &threads->locals[i]);
	threads->groups = malloc((count + 1) * sizeof *threads->groups);
	if (!threads->groups)
		return -1;
	for (size_t i = 0; i < threads->local_count;) {
		const struct local *first = &threads->locals[i];
		struct thread *thread = &threads->list[first->thread];
		struct local_group *group = &threads->groups[threads->group_count];
		*group = (struct local_group){ .first = i, .frame = first->frame };
		for (; i < threads->local_count && same_group(first, &threads->locals[i]); i++) {
			group->count++;
			group->present += !threads->locals[i].missing;
		}
		if (!thread->group_count++)
			thread->first_group = threads->group_count;
		threads->group_count++;
	}
	return 0;
}

/* Threads of the VM itself, which a stack trace is not written for (JavaThread::is_hidden_from_external_view()). */
static bool is_hidden(const struct heap *heap, const struct thread *thread)
{
	static const char *const names[] = { "C1 CompilerThread", "C2 CompilerThread", "Monitor Deflation Thread",
					     "Service Thread", "Sweeper thread" };
	struct thread_facts facts;
	struct string name;
	thread_facts(heap, thread, &facts);
	if (!thread_name(heap, &facts, &name))
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = 0;
		while (names[i][n] && n < name.units && string_unit(&name, n) == (uint8_t)names[i][n])
			n++;
		if (!names[i][n])
			return true;
	}
	return false;
}

/* Thread numbers, by the thread serial of their trace less 1: of those that are not hidden, the first, the second … */
static bool match_traces(const struct heap *heap, struct threads *threads, const struct stacks *stacks, uint32_t *order,
			 uint32_t count)
{
	uint32_t seen = 0, matched = 0;
	struct stack_trace trace;
	for (uint32_t i = 0; i < threads->count; i++)
		if (!is_hidden(heap, &threads->list[i])) {
			if (seen == count)
				return false;
			order[seen++] = i;
		}
	for (size_t i = 0; i < stacks->traces.count && seen == count; i++) {
		if (!stack_trace_at(heap->hprof, stacks->traces.entries[i].offset, &trace) || !trace.thread)
			continue;
		if (trace.thread > count || threads->list[order[trace.thread - 1]].matched)
			break;
		threads->list[order[trace.thread - 1]].matched = true;
		matched++;
	}
	for (uint32_t i = 0; i < seen && matched != count; i++)
		threads->list[order[i]].matched = false;
	for (size_t i = 0; i < stacks->traces.count && matched == count; i++)
		if (stack_trace_at(heap->hprof, stacks->traces.entries[i].offset, &trace) && trace.thread &&
		    trace.thread <= count)
			threads->list[order[trace.thread - 1]].trace = trace.serial;
	return matched == count;
}

/*
 * The serviceability agent numbers stack traces by the threads that it shows, and thread roots by all of them, each
 * with the dummy's trace, so that no number leads from one to the other (HeapHprofBinWriter.java; seen of JDK 17). Both
 * are in one order; where there are as many traces as threads that are not hidden, that tells whose they are.
 */
static void match_unclaimed(const struct heap *heap, struct threads *threads, const struct stacks *stacks)
{
	struct stack_trace trace;
	uint32_t traces = 0;
	bool frames = false;
	for (uint32_t i = 0; i < threads->count; i++)
		if (stack_trace(heap->hprof, stacks, threads->list[i].trace, &trace) && trace.thread)
			return;
	for (size_t i = 0; i < stacks->traces.count; i++)
		if (stack_trace_at(heap->hprof, stacks->traces.entries[i].offset, &trace) && trace.thread) {
			traces += traces < UINT32_MAX;
			frames |= trace.count != 0;
		}
	if (!frames || heap->android) /* ART's are of allocations */
		return;
	uint32_t *order = traces <= threads->count ? malloc((traces + UINT64_C(1)) * sizeof *order) : NULL;
	threads->matched = order && match_traces(heap, threads, stacks, order, traces);
	threads->unclaimed = !threads->matched;
	free(order);
}

static void free_threads(struct threads *threads)
{
	if (!threads)
		return;
	free(threads->list);
	free(threads->by_serial);
	free(threads->locals);
	free(threads->groups);
	free(threads);
}

static struct threads *make_threads(const struct heap *heap)
{
	const uint64_t *subs = heap->scan.subs;
	/* Numbers of threads are 32 bits wide. */
	const uint64_t most = subs[ROOT_THREAD_OBJ] < UINT32_MAX ? subs[ROOT_THREAD_OBJ] : UINT32_MAX - 1;
	const uint64_t locals = heap_graph_of(heap) ? 0 :
							subs[ROOT_JAVA_FRAME] + subs[ROOT_JNI_LOCAL] +
								subs[ROOT_JNI_MONITOR] + subs[ROOT_NATIVE_STACK] +
								subs[ROOT_THREAD_BLOCK];
	const struct stacks *stacks = hprof_stacks(heap->hprof);
	struct threads *threads = stacks ? calloc(1, sizeof *threads) : NULL;
	if (!threads)
		return NULL;
	threads->list = calloc(most + 1, sizeof *threads->list);
	threads->locals = calloc(locals + 1, sizeof *threads->locals);
	if (threads->list && threads->locals)
		gather_threads(heap, threads, most);
	threads->by_serial = malloc((threads->count + UINT64_C(1)) * sizeof *threads->by_serial);
	if (!threads->list || !threads->locals || !threads->by_serial) {
		free_threads(threads);
		return NULL;
	}
	sort_by_serial(threads);
	gather_locals(heap, threads, locals);
	if (make_groups(threads)) {
		free_threads(threads);
		return NULL;
	}
	match_unclaimed(heap, threads, stacks);
	return threads;
}

const struct threads *heap_threads(const struct heap *heap)
{
	struct threads *_Atomic *slot = (struct threads *_Atomic *)(uintptr_t)&heap->threads;
	struct threads *threads = atomic_load_explicit(slot, memory_order_acquire), *other = NULL;
	if (threads)
		return threads;
	threads = make_threads(heap);
	if (threads && (input_touched_bad || !atomic_compare_exchange_strong(slot, &other, threads))) {
		/* Made from a file that was cut meanwhile, or another thread was first. */
		free_threads(threads);
		return other;
	}
	return threads;
}

void threads_close(struct heap *heap)
{
	free_threads(atomic_load(&heap->threads));
}

const struct thread *thread_at(const struct threads *threads, uint64_t offset)
{
	const struct thread key = { .offset = offset };
	return threads->count ? bsearch(&key, threads->list, threads->count, sizeof key, compare_offsets) : NULL;
}

const struct local_group *thread_group(const struct threads *threads, const struct thread *thread, uint32_t frame)
{
	size_t low = thread->first_group, high = thread->first_group + thread->group_count;
	const size_t end = high;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (threads->groups[mid].frame < frame)
			low = mid + 1;
		else
			high = mid;
	}
	return low < end && threads->groups[low].frame == frame ? &threads->groups[low] : NULL;
}

const struct local *local_at(const struct heap *heap, const struct threads *threads, uint64_t offset,
			     const struct local_group **group)
{
	const uint8_t *p = offset ? input_at(heap->in, offset - 1, 1 + heap->id_width) : NULL;
	struct local local;
	if (!p || !threads->local_count || !read_local(heap, threads, p, offset - 1, &local))
		return NULL;
	*group = thread_group(threads, &threads->list[local.thread], local.frame);
	if (!*group)
		return NULL;
	size_t low = (*group)->first, high = low + (*group)->present;
	const size_t end = high;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (threads->locals[mid].id < local.id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < end && threads->locals[low].id == local.id ? &threads->locals[low] : NULL;
}

enum thread_stack thread_trace(const struct heap *heap, const struct stacks *stacks, const struct thread *thread,
			       struct stack_trace *trace)
{
	if (!stack_trace(heap->hprof, stacks, thread->trace, trace))
		return STACK_NONE;
	/* HotSpot up to 5 names trace 1 for all, which is a dummy without frames, as later ones write it too. The hprof
	   agent's is that of the Thread's allocation, of thread 0 or of the thread that made it. */
	if (trace->thread == thread->serial || thread->matched)
		return STACK_OWN;
	return trace->count ? STACK_ORIGIN : STACK_NONE;
}
