/* SPDX-License-Identifier: Apache-2.0 */
/* A debugger's side of JDWP against a peer of our own, who does all that a real one never would. */
#include "capture/clock.h"
#include "capture/live_bitmaps.h"
#include "jdwp_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How long it may take where no deadline is above a tenth of a second, on a machine that does other things too. */
#define BOUND_MS 6000

struct seen {
	struct live_result result;
	unsigned pictures;
	uint64_t pointers[PEER_BITMAPS];
	bool wrong;
	_Atomic bool cancel;
	unsigned cancel_at, stop_at, nudges;	/* pictures; 0 for never */
};

static int picture(void *context, const struct live_picture *picture)
{
	struct seen *seen = context;
	if (seen->pictures == PEER_BITMAPS || picture->len < 45 || picture->data[0] != 0x89 ||
	    picture->data[picture->len - 1] != 0x82)
		seen->wrong = true;
	else
		seen->pointers[seen->pictures++] = picture->pointer;
	if (seen->pictures == seen->cancel_at)
		atomic_store(&seen->cancel, true);
	return seen->pictures == seen->stop_at;
}

static void nudge(void *context)
{
	((struct seen *)context)->nudges++;
}

static const struct live_options patient = {
	.connect_ms = 5000, .safe_ms = 5000, .command_ms = 5000, .budget_ms = 60000, .budget_bytes = UINT64_C(64) << 20
};
static const struct live_options hasty = {
	.connect_ms = 60, .safe_ms = 60, .command_ms = 60, .budget_ms = 1000, .budget_bytes = UINT64_C(64) << 20
};

/* Fetches from the peer; what must hold of every result. */
static enum live_end fetch(struct peer *peer, struct seen *seen, const struct live_options *limits)
{
	struct live_options options = *limits;
	const struct live_sink sink = { picture, NULL };
	const struct live_result *result = &seen->result;
	const int64_t start = clock_ms();
	if (!peer->id_size)
		peer->id_size = 8;
	peer_start(peer);
	options.port = peer->port;
	options.nudge = nudge;
	options.context = seen;
	options.cancel = &seen->cancel;
	const enum live_end end = live_bitmaps_fetch(&options, &sink, &seen->result);
	peer_stop(peer);
	assert_true(clock_ms() - start < BOUND_MS);
	assert_int_equal(end, result->end);
	assert_int_equal(result->all, result->recycled + result->without + result->unasked + result->drawable);
	assert_int_equal(result->drawable, result->fetched + result->failed + result->left);
	assert_int_equal(result->fetched, seen->pictures - (end == LIVE_STOPPED));
	assert_false(seen->wrong || peer->single_threaded);
	assert_int_equal(!*result->error, end < LIVE_REFUSED);
	assert_true(memchr(result->error, 0, sizeof result->error) && memchr(result->failure, 0, sizeof result->failure));
	assert_true(end != LIVE_DONE || (!result->left && !result->unasked));
	return end;
}

static void assert_counts(const struct seen *seen, uint64_t fetched, uint64_t failed, uint64_t left)
{
	assert_int_equal(seen->result.all, PEER_BITMAPS);
	assert_int_equal(seen->result.recycled, 1);
	assert_int_equal(seen->result.without, 1);
	assert_int_equal(seen->result.fetched, fetched);
	assert_int_equal(seen->result.failed, failed);
	assert_int_equal(seen->result.left, left);
}

/* Ids are as wide as the virtual machine says. */
static void id_sizes(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 8; size++)
		for (unsigned chatty = 0; chatty < 2; chatty++) {
			struct peer peer = { .id_size = size, .chatty = chatty, .fresh = size % 2 };
			struct seen seen = { .pictures = 0 };
			assert_int_equal(fetch(&peer, &seen, &patient), LIVE_DONE);
			assert_counts(&seen, 3, 0, 0);
			assert_int_equal(seen.result.bytes, PEER_LARGEST + 45 + 47);
			assert_int_equal(seen.pointers[0], UINT64_C(0xb400007000000001)); /* largest first */
			assert_int_equal(seen.pointers[1], UINT64_C(0xb400007000000000));
			assert_int_equal(seen.pointers[2], UINT64_C(0xb400007000000002));
			assert_string_equal(seen.result.vm, "Peer 8.1\?\?");
			assert_true(peer.disposed && !peer.misused);
			assert_int_equal(peer.kept, 0);
			assert_int_equal(peer.calls, 9 + size % 2);
			assert_int_equal(seen.nudges, 0);
		}
	static const uint32_t wrong[] = { 0, 9, 16, 256, UINT32_MAX };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		/* What else it would send does not matter: nothing is asked any more. */
		struct peer peer = { .id_size = wrong[i], .no_ids = !wrong[i] };
		struct seen seen = { .pictures = 0 };
		assert_int_equal(fetch(&peer, &seen, &patient), LIVE_FAILED);
		assert_non_null(strstr(seen.result.error, "not JDWP: ids of "));
		assert_int_equal(peer.commands, 1);
		assert_true(peer.disposed);
	}
}

/* --- who does not let a debugger in --- */

static void handshakes(void **state)
{
	static const struct {
		enum peer_fault fault;
		const char *message;
	} cases[] = {
		{ PEER_HANGS_UP, "another debugger is attached to it (Android Studio attaches by itself; close it), it is not debuggable" },
		{ PEER_SAYS_NOTHING, "does not answer a debugger: another one may be attached" },
		{ PEER_SPEAKS_HTTP, "does not speak JDWP" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct peer peer = { .fault = cases[i].fault };
		struct seen seen = { .pictures = 0 };
		struct live_options options = patient;
		options.connect_ms = 300;
		assert_int_equal(fetch(&peer, &seen, &options), LIVE_REFUSED);
		assert_non_null(strstr(seen.result.error, cases[i].message));
		assert_false(peer.disposed);
	}
}

/* Nobody is there, or nobody can be. */
static void no_peer(void **state)
{
	struct peer peer = { .id_size = 8 };
	struct jdwp_session session;
	struct live_options options = patient;
	(void)state;
	peer_start(&peer);
	peer_stop(&peer);
	options.port = peer.port;
	assert_int_equal(jdwp_attach(&session, &options), LIVE_REFUSED);
	assert_non_null(strstr(session.jdwp.error, "Connection refused"));
	jdwp_close(&session.jdwp);
	static const unsigned ports[] = { 0, 65536, UINT32_MAX };
	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
		options.port = ports[i];
		assert_int_equal(jdwp_attach(&session, &options), LIVE_REFUSED);
		assert_non_null(strstr(session.jdwp.error, "no such port"));
		jdwp_close(&session.jdwp);
	}
}

static void cannot(void **state)
{
	struct peer blind = { .blind = true }, bare = { .bare = true }, idle = { .idle = true };
	struct seen seen[3] = { { .pictures = 0 } };
	struct live_options options = patient;
	(void)state;
	options.safe_ms = 300;
	assert_int_equal(fetch(&blind, &seen[0], &options), LIVE_REFUSED);
	assert_non_null(strstr(seen[0].result.error, "(Peer 8.1\?\?) cannot list the instances"));
	assert_int_equal(fetch(&bare, &seen[1], &options), LIVE_NO_BITMAPS);
	assert_int_equal(seen[1].nudges, 0);
	assert_int_equal(fetch(&idle, &seen[2], &options), LIVE_IDLE);
	assert_int_equal(seen[2].nudges, 1);
	assert_non_null(strstr(seen[2].result.error, "ran no code within 1 s"));
	assert_true(blind.disposed && bare.disposed && idle.disposed);
}

/* --- events --- */

/* Other events come before, after and along with the one that was asked for; what they stopped runs on. */
static void crowd(void **state)
{
	(void)state;
	for (unsigned chatty = 0; chatty < 2; chatty++) {
		struct peer peer = { .crowd = true, .chatty = chatty };
		struct seen seen = { .pictures = 0 };
		assert_int_equal(fetch(&peer, &seen, &patient), LIVE_DONE);
		assert_counts(&seen, 3, 0, 0);
		assert_int_equal(peer.resumes, 4);
		assert_true(peer.disposed && !peer.misused);
	}
}

static void collection(void **state)
{
	struct peer peer = { .id_size = 4 };
	struct live_options options = patient;
	char error[JDWP_ERROR_MOST];
	(void)state;
	peer_start(&peer);
	options.port = peer.port;
	assert_int_equal(jdwp_gc(&options, error, sizeof error), LIVE_DONE);
	peer_stop(&peer);
	assert_string_equal(error, "");
	assert_int_equal(peer.calls, 5);
	assert_true(peer.disposed && !peer.misused && !peer.single_threaded);
}

/* --- what the virtual machine refuses --- */

/* The number of the first command of a kind, the `nth`. */
static int command_at(const struct peer *fine, unsigned set, unsigned command, unsigned nth)
{
	for (int i = 0; i < fine->commands && i < PEER_KINDS; i++)
		if (fine->kinds[i] == (set << 8 | command) && !nth--)
			return i;
	fail_msg("no command %u,%u", set, command);
	return -1;
}

static void refusals(void **state)
{
	static const struct {
		unsigned set, command, nth;
		uint16_t code;
		enum live_end end;
		unsigned fetched, failed;
		const char *message;	/* in `error`, or in `failure` */
	} cases[] = {
		{ 2, 16, 0, 110, LIVE_FAILED, 0, 0, "ReferenceType.Instances was refused with error 110, OUT_OF_MEMORY" },
		{ 2, 4, 0, 21, LIVE_FAILED, 0, 0, "INVALID_CLASS" },
		{ 15, 1, 0, 102, LIVE_FAILED, 0, 0, "EventRequest.Set was refused with error 102" },
		{ 15, 2, 0, 41, LIVE_DONE, 3, 0, "" },
		{ 3, 4, 0, 10, LIVE_FAILED, 0, 0, "INVALID_THREAD: no event stopped the thread" },
		{ 3, 4, 1, 502, LIVE_FAILED, 1, 0, "ALREADY_INVOKING" },
		{ 3, 4, 1, 112, LIVE_GONE, 1, 0, "the application is ending (VM_DEAD)" },
		{ 9, 6, 0, 20, LIVE_DONE, 2, 1, "0xb400007000000001: ObjectReference.InvokeMethod was refused with error 20" },
		{ 9, 6, 3, 20, LIVE_DONE, 2, 1, "0xb400007000000000: " },
		{ 9, 6, 2, 13, LIVE_FAILED, 1, 0, "THREAD_NOT_SUSPENDED" },
		{ 9, 7, 1, 20, LIVE_DONE, 2, 1, "INVALID_OBJECT: it was collected" },
		{ 9, 8, 0, 20, LIVE_DONE, 3, 0, "" },
		{ 13, 1, 1, 20, LIVE_DONE, 2, 1, "INVALID_OBJECT" },
		{ 13, 2, 1, 20, LIVE_DONE, 2, 1, "INVALID_OBJECT" },
		{ 1, 7, 0, 99, LIVE_FAILED, 0, 0, "NOT_IMPLEMENTED" },
		{ 1, 17, 0, 99, LIVE_REFUSED, 0, 0, "cannot list the instances" },
	};
	struct peer fine = { .fault = PEER_FINE };
	struct seen seen = { .pictures = 0 };
	(void)state;
	assert_int_equal(fetch(&fine, &seen, &patient), LIVE_DONE);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct peer peer = { .fault = PEER_REFUSES,
				     .at = command_at(&fine, cases[i].set, cases[i].command, cases[i].nth),
				     .code = cases[i].code };
		struct seen now = { .pictures = 0 };
		const struct live_result *result = &now.result;
		assert_int_equal(fetch(&peer, &now, &patient), cases[i].end);
		assert_int_equal(result->fetched, cases[i].fetched);
		assert_int_equal(result->failed, cases[i].failed);
		assert_non_null(strstr(cases[i].end == LIVE_DONE ? result->failure : result->error, cases[i].message));
		assert_true(peer.disposed || cases[i].code == 112);
	}
	/* One that was collected before its fields could be read. */
	struct peer peer = { .fault = PEER_REFUSES, .at = command_at(&fine, 9, 2, 2), .code = 20 };
	struct seen now = { .pictures = 0 };
	assert_int_equal(fetch(&peer, &now, &patient), LIVE_DONE);
	assert_int_equal(now.result.without, 2);
	assert_int_equal(now.result.fetched, 2);
}

static void bad_pictures(void **state)
{
	struct peer lies = { .lies = true }, throws = { .throws = true };
	struct seen seen[2] = { { .pictures = 0 } };
	(void)state;
	assert_int_equal(fetch(&lies, &seen[0], &patient), LIVE_DONE);
	assert_counts(&seen[0], 0, 3, 0);
	assert_string_equal(seen[0].result.failure, "0xb400007000000001: a bitmap of 900x800, its PNG of 900x801");
	assert_int_equal(fetch(&throws, &seen[1], &patient), LIVE_DONE);
	assert_counts(&seen[1], 0, 3, 0);
	assert_string_equal(seen[1].result.failure, "0xb400007000000001: the call threw java.lang.Illegal?StateException");
	assert_int_equal(lies.kept + throws.kept, 0);
}

static void enough(void **state)
{
	struct peer first = { .fault = PEER_FINE }, second = first, third = first;
	struct seen cancelled = { .cancel_at = 1 }, stopped = { .stop_at = 2 }, before = { .cancel = true };
	(void)state;
	assert_int_equal(fetch(&first, &cancelled, &patient), LIVE_CANCELLED);
	assert_counts(&cancelled, 1, 0, 2);
	assert_int_equal(fetch(&second, &stopped, &patient), LIVE_STOPPED);
	assert_counts(&stopped, 1, 0, 2);
	assert_true(first.disposed && second.disposed);
	assert_int_equal(fetch(&third, &before, &patient), LIVE_CANCELLED);
	assert_int_equal(third.commands, 0);
}

static void budgets(void **state)
{
	static const struct {
		uint64_t bytes;
		enum live_end end;
		unsigned fetched, left;
	} cases[] = {
		{ PEER_LARGEST + 45 + 47, LIVE_DONE, 3, 0 },  { PEER_LARGEST + 45 + 46, LIVE_BYTES, 2, 1 },
		{ PEER_LARGEST + 45, LIVE_BYTES, 2, 1 },      { PEER_LARGEST, LIVE_BYTES, 1, 2 },
		{ PEER_LARGEST - 1, LIVE_BYTES, 2, 1 },	      { 0, LIVE_BYTES, 0, 3 },
		{ UINT64_MAX, LIVE_DONE, 3, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct peer peer = { .fault = PEER_FINE };
		struct seen seen = { .pictures = 0 };
		struct live_options options = patient;
		options.budget_bytes = cases[i].bytes;
		options.budget_ms = UINT64_MAX;
		assert_int_equal(fetch(&peer, &seen, &options), cases[i].end);
		assert_counts(&seen, cases[i].fetched, 0, cases[i].left);
		assert_int_equal(peer.kept, 0);
	}
}

/* --- all that can be wrong, everywhere --- */

static const struct {
	enum peer_fault fault;
	enum live_end end;
	bool slow;		/* takes a deadline each time, or two */
	bool disposes;		/* the peer still reads */
} faults[] = {
	{ PEER_CLOSES, LIVE_GONE, false, false },
	{ PEER_CUTS, LIVE_GONE, false, false },
	{ PEER_DIES, LIVE_GONE, false, false },
	{ PEER_HUGE, LIVE_FAILED, false, true },
	{ PEER_TINY, LIVE_FAILED, false, true },
	{ PEER_OTHER_ID, LIVE_FAILED, false, true },
	{ PEER_BAD_EVENT, LIVE_FAILED, false, true },
	{ PEER_STOPPING_EVENTS, LIVE_FAILED, true, false },
	{ PEER_SILENT, LIVE_SILENT, true, true },
	{ PEER_STOPS, LIVE_SILENT, true, true },
	{ PEER_LARGE, LIVE_SILENT, true, true },
	{ PEER_REQUEST, LIVE_SILENT, true, true },
	{ PEER_EVENTS, LIVE_SILENT, true, false },
	{ PEER_DRIBBLES, LIVE_SILENT, true, false },
};

static void every_fault(void **state)
{
	struct peer fine = { .fault = PEER_FINE };
	struct seen seen = { .pictures = 0 };
	(void)state;
	assert_int_equal(fetch(&fine, &seen, &patient), LIVE_DONE);
	assert_in_range(fine.commands, 40, PEER_KINDS);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		for (int at = 0; at < fine.commands; at++) {
			/* The slow ones only at the first command of each kind. */
			bool first = true;
			for (int j = 0; j < at; j++)
				first &= fine.kinds[j] != fine.kinds[at];
			if (faults[i].slow && !first)
				continue;
			/* Before the sizes of ids are known, events cannot be told from those that are cut off. */
			if (faults[i].fault == PEER_BAD_EVENT && !at)
				continue;
			struct peer peer = { .fault = faults[i].fault, .at = at };
			struct seen now = { .pictures = 0 };
			const enum live_end end = fetch(&peer, &now, faults[i].slow ? &hasty : &patient);
			/* What is said last, when all has come: the array and the stream may go. On a machine that has much to
			   do, the hasty one gives up sooner than it has to, also when it connects. */
			const bool gave_up = faults[i].slow && (end == LIVE_IDLE || end == LIVE_SILENT || end == LIVE_REFUSED);
			if (end != LIVE_DONE || at < fine.commands - 2)
				assert_true(end == faults[i].end || gave_up);
			if (faults[i].disposes)
				assert_true(peer.disposed);
		}
}

/* Answers that are too short, and numbers that are too large. */
static void every_body(void **state)
{
	static const enum peer_fault kinds[] = { PEER_SHORT, PEER_EMPTY, PEER_MANY };
	struct peer fine = { .fault = PEER_FINE };
	struct seen seen = { .pictures = 0 };
	(void)state;
	assert_int_equal(fetch(&fine, &seen, &patient), LIVE_DONE);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (int at = 0; at < fine.commands; at++) {
			struct peer peer = { .fault = kinds[i], .at = at };
			struct seen now = { .pictures = 0 };
			struct live_options options = patient;
			const unsigned kind = fine.kinds[at];
			options.safe_ms = 200;
			const enum live_end end = fetch(&peer, &now, &options);
			/* Some commands have no body; a list of methods is read until the one that is sought. */
			const bool bare = kind == (9 << 8 | 7) || kind == (9 << 8 | 8) || kind == (15 << 8 | 2);
			if (bare)
				assert_int_equal(end, LIVE_DONE);
			else if (kinds[i] != PEER_MANY && (end != LIVE_DONE || kind != (2 << 8 | 5)))
				assert_int_equal(end, LIVE_FAILED);
			assert_true(peer.disposed);
		}
}

static void random_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 250; seed++) {
		struct peer fine = { .fault = PEER_RANDOM, .at = seed % 4 ? (int)(seed % 61) : -1, .seed = seed, .id_size = 1 + seed % 8,
				     .crowd = seed % 3 == 0 };
		struct seen seen = { .pictures = 0 };
		fetch(&fine, &seen, &hasty);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_sizes),   cmocka_unit_test(handshakes),   cmocka_unit_test(no_peer),
		cmocka_unit_test(cannot),     cmocka_unit_test(crowd),	      cmocka_unit_test(collection),
		cmocka_unit_test(refusals),   cmocka_unit_test(bad_pictures), cmocka_unit_test(enough),
		cmocka_unit_test(budgets),    cmocka_unit_test(every_fault),  cmocka_unit_test(every_body),
		cmocka_unit_test(random_bytes),
	};
	return cmocka_run_group_tests_name("jdwp", tests, NULL, NULL);
}
