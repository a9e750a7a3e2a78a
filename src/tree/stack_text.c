/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.txt: a thread as jcmd's Thread.print shows it, and under each frame what it holds.
 *
 * Piece 0 is the head, then comes a piece a frame, then one for each group of locals that has no frame there. Names
 * are cut: a trace can repeat one frame a million times, and a name can have 64 KiB.
 */
#include "hprof/mutf8.h"
#include "tree/node.h"

#include <inttypes.h>
#include <stdlib.h>

/* Locals of one frame that are shown; its folder has them all. */
#define LOCALS_SHOWN 1000
/* Bytes of each of a line's names: so many in all over the stack, within these bounds. */
#define NAMES_TOTAL (UINT32_C(4) << 20)
#define NAME_LEAST 64
#define NAME_LONGEST 1024

/* UTF-8, escaped; what is longer than `most` bytes is cut at a character and ends in "…". */
static void put_cut(struct text *text, const char *utf8, size_t len, size_t most)
{
	size_t cut = len;
	if (!len)
		return;
	if (len > most)
		for (cut = most; cut && ((uint8_t)utf8[cut] & 0xc0) == 0x80;)
			cut--;
	text_escaped(text, utf8, cut);
	if (cut < len)
		text_puts(text, "…");
}

/* The same for a name of the dump; false if it has none. */
static bool put_name(struct text *text, const struct heap *heap, uint64_t id, size_t most)
{
	uint8_t bytes[NAME_LONGEST + 4];
	uint32_t len;
	const uint8_t *p = id ? hprof_utf8(heap->hprof, id, &len) : NULL;
	if (!p || !len)
		return false;
	/* No character takes more than six bytes, none of which is kept where it is cut. */
	const size_t used = len > most ? most + 4 : len;
	char utf8[sizeof bytes];
	memcpy(bytes, p, used);
	put_cut(text, utf8, mutf8_to_utf8(bytes, used, utf8), most);
	return true;
}

bool put_thread_name(struct text *text, const struct heap *heap, const struct thread *thread,
		     const struct thread_facts *facts, uint64_t most)
{
	struct string string;
	if (thread_name(heap, facts, &string) && string.units) {
		text_raw_string(text, &string, 0, string.units < most ? string.units : most);
		return string.units <= most;
	}
	const struct name name = thread_started_name(heap, thread);
	if (!name.text)
		text->failed = true;
	text_put(text, name.text, name.len);
	free((char *)(uintptr_t)name.text);
	return true;
}

/* --- the head --- */

/* java.lang.Thread.State from JVMTI's bits as jdk.internal.misc.VM.toThreadState() has it; in brackets what
   HotSpot's JavaThreadStatus adds (classfile/javaThreadStatus.hpp). */
static void put_status(struct text *text, int32_t status)
{
	static const struct {
		int32_t bits;
		const char *name;
	} states[] = { { 0x0004, "RUNNABLE" }, { 0x0400, "BLOCKED" },	 { 0x0010, "WAITING" },
		       { 0x0020, "TIMED_WAITING" }, { 0x0002, "TERMINATED" } },
	  why[] = { { 0x0040, "sleeping" }, { 0x0100, "on object monitor" }, { 0x0200, "parking" },
		    { 0x0400, "on object monitor" } };
	const char *name = status & 0x0001 ? "RUNNABLE" : "NEW";
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (status & states[i].bits) {
			name = states[i].name;
			break;
		}
	text_printf(text, " state=%s", name);
	for (size_t i = 0; i < sizeof why / sizeof *why && !(status & 0x0004); i++)
		if (status & why[i].bits) {
			text_printf(text, " (%s)", why[i].name);
			break;
		}
}

/*
 * A virtual thread's state. Its numbers changed with each of JDK 19 to 24, so the dump's own constants say what they
 * mean; the Thread.State is that of VirtualThread.threadState().
 */
static void put_virtual_state(struct text *text, const struct heap *heap, const struct thread_facts *facts)
{
	static const struct {
		const char *constant, *state;
	} states[] = {
		{ "NEW", "NEW" },			{ "STARTED", "RUNNABLE" },
		{ "RUNNABLE", "RUNNABLE" },		{ "RUNNING", "RUNNABLE" },
		{ "PARKING", "RUNNABLE" },		{ "PARKED", "WAITING" },
		{ "PINNED", "WAITING" },		{ "TIMED_PARKING", "RUNNABLE" },
		{ "TIMED_PARKED", "TIMED_WAITING" },	{ "TIMED_PINNED", "TIMED_WAITING" },
		{ "UNPARKED", "RUNNABLE" },		{ "YIELDING", "RUNNABLE" },
		{ "YIELDED", "RUNNABLE" },		{ "BLOCKING", "RUNNABLE" },
		{ "BLOCKED", "BLOCKED" },		{ "UNBLOCKED", "RUNNABLE" },
		{ "WAITING", "RUNNABLE" },		{ "WAIT", "WAITING" },
		{ "TIMED_WAITING", "RUNNABLE" },	{ "TIMED_WAIT", "TIMED_WAITING" },
		{ "TERMINATED", "TERMINATED" },
	};
	struct static_walk found;
	int32_t suspended = 0;
	if (facts->state < 0)
		return;
	if (class_static(heap, facts->virtual_class, "SUSPENDED", &found) && found.type == TYPE_INT)
		suspended = (int32_t)be32(found.value);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (class_static(heap, facts->virtual_class, states[i].constant, &found) && found.type == TYPE_INT &&
		    (int32_t)be32(found.value) == (facts->state & ~suspended)) {
			text_printf(text, " state=%s (%s)", states[i].state, states[i].constant);
			return;
		}
}

/*
 * HotSpot puts a frame of its own on top of the thread that ran out of memory, in the constructor of the error
 * (heapDumper.cpp, JDK-6797870): a real one would have Throwable's above it.
 */
static bool ran_out_of_memory(const struct heap *heap, const struct stacks *stacks, const struct stack_trace *trace)
{
	struct stack_frame frame;
	uint32_t len;
	if (!stack_frame(heap->hprof, stacks, trace, 0, &frame))
		return false;
	const uint8_t *method = hprof_utf8(heap->hprof, frame.method, &len);
	const struct class *class = class_find(heap, stack_class(heap->hprof, stacks, frame.class_serial));
	static const char error[] = "java.lang.OutOfMemoryError";
	return method && len == 6 && !memcmp(method, "<init>", 6) && class && class->name.len == sizeof error - 1 &&
	       !memcmp(class->name.text, error, sizeof error - 1);
}

/* What there is to say in place of frames, or above them. */
static const char *remark(const struct threads *threads, enum thread_stack stack, const struct stack_trace *trace)
{
	if (stack == STACK_ORIGIN)
		return "\t(no stack trace of this thread is in the dump; where it was made:)\n";
	if (stack == STACK_OWN && trace->count)
		return threads->matched ? "\t(by the order of threads; the dump does not say whose stack this is)\n" : "";
	if (stack == STACK_OWN)
		return "\t(no Java frames)\n";
	return threads->unclaimed ? "\t(the dump has stack traces, but does not say whose they are)\n" :
				    "\t(no stack trace of this thread is in the dump)\n";
}

static void write_head(struct text *text, const struct heap *heap, const struct thread *thread, bool out_of_memory)
{
	struct thread_facts facts;
	struct text name = { 0 };
	thread_facts(heap, thread, &facts);
	const bool whole = put_thread_name(&name, heap, thread, &facts, TEXT_LINE_CHARS);
	text_putc(text, '"');
	put_cut(text, name.data, name.len, NAME_LONGEST);
	text_puts(text, whole ? "\"" : "…\"");
	text->failed |= name.failed;
	text_free(&name);
	if (facts.number >= 0)
		text_printf(text, " #%" PRId64, facts.number);
	if (facts.is_virtual)
		text_puts(text, " virtual");
	if (facts.daemon == 1)
		text_puts(text, " daemon");
	if (facts.priority >= 0)
		text_printf(text, " prio=%" PRId32, facts.priority);
	if (facts.native)
		text_printf(text, " tid=0x%" PRIx64, facts.native);
	text_printf(text, " object=0x%" PRIx64, thread->id);
	if (facts.found) {
		text_puts(text, " class=");
		put_cut(text, facts.object.class->name.text, facts.object.class->name.len, NAME_LONGEST);
	} else if (!in_dump(heap, thread->id)) {
		text_puts(text, " (not in the dump)");
	}
	if (facts.carrier)
		text_printf(text, " carrier=0x%" PRIx64, facts.carrier);
	if (facts.virtual_class)
		put_virtual_state(text, heap, &facts);
	else if (facts.status >= 0)
		put_status(text, facts.status);
	text_puts(text, out_of_memory ? ", ran out of memory\n" : "\n");
}

/* --- frames and locals --- */

/* As java.lang.StackTraceElement.toString() has it; "(Compiled Code)" as the JDKs that knew no more said it. */
static void write_frame(struct text *text, const struct heap *heap, const struct stacks *stacks,
			const struct stack_trace *trace, uint32_t number)
{
	const uint32_t share = NAMES_TOTAL / (trace->count + UINT32_C(1));
	const size_t most = share < NAME_LEAST ? NAME_LEAST : share > NAME_LONGEST ? NAME_LONGEST : share;
	struct stack_frame frame;
	if (!stack_frame(heap->hprof, stacks, trace, number, &frame)) {
		text_printf(text, "\tat frame 0x%" PRIx64 " (not in the dump)\n", frame.id);
		return;
	}
	const struct class *class = class_find(heap, stack_class(heap->hprof, stacks, frame.class_serial));
	text_puts(text, "\tat ");
	if (class)
		put_cut(text, class->name.text, class->name.len, most);
	else
		text_putc(text, '?');
	text_putc(text, '.');
	if (!put_name(text, heap, frame.method, most))
		text_putc(text, '?');
	text_putc(text, '(');
	if (frame.line == LINE_NATIVE)
		text_puts(text, "Native Method");
	else if (frame.line == LINE_COMPILED)
		text_puts(text, "Compiled Code");
	else if (!put_name(text, heap, frame.source, most))
		text_puts(text, "Unknown Source");
	else if (frame.line > 0)
		text_printf(text, ":%" PRId32, frame.line);
	text_puts(text, ")\n");
}

static void write_local(struct text *text, const struct heap *heap, const struct local *local)
{
	struct object object;
	text_puts(text, "\t- ");
	switch (local->tag) {
	case ROOT_JAVA_FRAME:
		text_puts(text, "local ");
		break;
	case ROOT_JNI_LOCAL:
		text_puts(text, "JNI local ");
		break;
	case ROOT_JNI_MONITOR:
		text_puts(text, "JNI monitor ");
		break;
	case ROOT_NATIVE_STACK:
		text_puts(text, "native stack ");
		break;
	default:
		text_puts(text, "thread block ");
	}
	const struct class *class = class_find(heap, local->id);
	if (!class && heap_find(heap, local->id, &object))
		class = object.class;
	if (class && class->name.len > NAME_LONGEST) {
		text_id(text, local->id);
		text_puts(text, class->id == local->id ? " class " : " ");
		put_cut(text, class->name.text, class->name.len, NAME_LONGEST);
	} else {
		text_reference(text, heap, local->id);
	}
	text_putc(text, '\n');
}

static void write_group(struct text *text, const struct heap *heap, const struct threads *threads,
			const struct local_group *group)
{
	for (size_t i = 0; i < group->count && i < LOCALS_SHOWN; i++)
		write_local(text, heap, &threads->locals[group->first + i]);
	if (group->count > LOCALS_SHOWN)
		text_printf(text, "\t- … %zu more\n", group->count - LOCALS_SHOWN);
}

/* A thread's stack: its trace, and of its groups of locals which is the first that has no frame in it. */
struct stack {
	const struct threads *threads;
	const struct stacks *stacks;
	const struct thread *thread;
	enum thread_stack whose;
	struct stack_trace trace;
	size_t own_end;		/* number of the group, of all threads' */
};

static bool open_stack(const struct node *node, struct stack *stack)
{
	const struct heap *heap = node->heap;
	stack->threads = heap_threads(heap);
	stack->stacks = hprof_stacks(heap->hprof);
	stack->thread = stack->threads ? thread_at(stack->threads, node->key) : NULL;
	if (!stack->thread || !stack->stacks)
		return false;
	stack->trace = (struct stack_trace){ 0 };
	stack->whose = thread_trace(heap, stack->stacks, stack->thread, &stack->trace);
	if (stack->whose == STACK_NONE)
		stack->trace.count = 0;
	const uint32_t depth = stack->whose == STACK_OWN ? stack->trace.count : 0;
	size_t low = stack->thread->first_group, high = low + stack->thread->group_count;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (stack->threads->groups[mid].frame < depth)
			low = mid + 1;
		else
			high = mid;
	}
	stack->own_end = low;
	return true;
}

static uint64_t stack_pieces(const struct node *node)
{
	struct stack stack;
	if (!open_stack(node, &stack))
		return 0;
	const size_t end = stack.thread->first_group + stack.thread->group_count;
	return 1 + (uint64_t)stack.trace.count + (end - stack.own_end);
}

static bool write_frames(const struct heap *heap, const struct stack *stack, uint64_t first, struct pages *pages)
{
	const struct local_group *groups = stack->threads->groups;
	/* The first group that is the frame's or one's below it. */
	size_t at = stack->thread->first_group, high = stack->own_end;
	while (at < high) {
		const size_t mid = at + (high - at) / 2;
		if (groups[mid].frame < first)
			at = mid + 1;
		else
			high = mid;
	}
	for (uint64_t i = first; i < stack->trace.count; i++) {
		write_frame(&pages->text, heap, stack->stacks, &stack->trace, (uint32_t)i);
		if (at < stack->own_end && groups[at].frame == i)
			write_group(&pages->text, heap, stack->threads, &groups[at++]);
		if (!pages_next(pages))
			return false;
	}
	return true;
}

static void write_stack(const struct node *node, uint64_t first, struct pages *pages)
{
	struct stack stack;
	const struct heap *heap = node->heap;
	struct text *text = &pages->text;
	if (!open_stack(node, &stack))
		return;
	if (!first) {
		write_head(text, heap, stack.thread,
			   stack.whose == STACK_OWN && ran_out_of_memory(heap, stack.stacks, &stack.trace));
		text_puts(text, remark(stack.threads, stack.whose, &stack.trace));
		if (!pages_next(pages))
			return;
	}
	const uint64_t frame = first ? first - 1 : 0, depth = stack.trace.count;
	if (frame < depth && !write_frames(heap, &stack, frame, pages))
		return;
	const size_t end = stack.thread->first_group + stack.thread->group_count;
	for (size_t i = stack.own_end + (size_t)(frame > depth ? frame - depth : 0); i < end; i++) {
		const struct local_group *group = &stack.threads->groups[i];
		if (group->frame == FRAME_NONE)
			text_puts(text, "\tin no frame:\n");
		else
			text_printf(text, "\tin frame %" PRIu32 ", which is not in the dump:\n", group->frame);
		write_group(text, heap, stack.threads, group);
		if (!pages_next(pages))
			return;
	}
}

const struct pages_ops stack_pages = { .step = 64, .write = write_stack, .pieces = stack_pieces };
