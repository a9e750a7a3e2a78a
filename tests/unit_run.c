/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are run under a deadline, what is undone, temporary files, and what adb is told and says. */
#include "capture/adb.h"
#include "capture/clock.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "capture/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A line of the shell's. How long it took, in ms. */
static int64_t shell(const char *line, struct run *run, struct output *output)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	const int64_t begun = clock_ms();
	run->argv = argv;
	run_program(run, output);
	return clock_ms() - begun;
}

static void programs_end(void **state)
{
	struct run run = { .timeout = 10000 };
	struct output output;
	char reason[256];
	(void)state;
	shell("echo out; echo err >&2; exit 3", &run, &output);
	assert_int_equal(output.end, RUN_EXITED);
	assert_int_equal(output.status, 3);
	assert_string_equal(output.data, "out\nerr\n");
	assert_string_equal(run_reason(&output, reason, sizeof reason), "ended with status 3");
	output_free(&output);
	shell("kill -9 $$", &run, &output);
	assert_int_equal(output.end, RUN_KILLED);
	assert_int_equal(output.status, 9);
	output_free(&output);

	const char *const nothing[] = { "/nonexistent/program", NULL };
	run.argv = nothing;
	assert_int_equal(run_program(&run, &output), -1);
	assert_int_equal(output.end, RUN_FAILED);
	assert_int_equal(output.status, ENOENT);
	assert_string_equal(run_reason(&output, reason, sizeof reason), "cannot be run: No such file or directory");
	output_free(&output);
}

static void output_is_kept_apart_bounded_or_in_a_file(void **state)
{
	struct run apart = { .timeout = 10000, .apart = true }, bounded = { .timeout = 10000, .most = 100 };
	struct output output;
	char path[] = "/tmp/heapfs-unit-XXXXXX", text[16] = "";
	(void)state;
	shell("echo out; echo err >&2", &apart, &output);
	assert_string_equal(output.data, "out\n");
	assert_string_equal(output.errors, "err\n");
	output_free(&output);

	/* More than a pipe holds: it must be read all the same. */
	shell("head -c 1000000 /dev/zero", &bounded, &output);
	assert_int_equal(output.end, RUN_EXITED);
	assert_int_equal(output.status, 0);
	assert_int_equal(output.len, 100);
	assert_true(output.cut);
	output_free(&output);

	struct run filed = { .timeout = 10000, .fd = mkstemp(path) };
	assert_true(filed.fd > 0);
	unlink(path);
	shell("echo out; echo err >&2", &filed, &output);
	assert_int_equal(pread(filed.fd, text, sizeof text, 0), 4);
	assert_string_equal(text, "out\n");
	assert_string_equal(output.errors, "err\n");
	assert_int_equal(output.len, 0);
	output_free(&output);
	close(filed.fd);
}

static void standard_input_is_empty_and_the_pipe_signal_is_usual(void **state)
{
	struct run run = { .timeout = 10000 };
	struct output output;
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	shell("cat; yes | head -n 1; kill -PIPE $$; echo lives", &run, &output);
	assert_int_equal(output.end, RUN_KILLED);
	assert_int_equal(output.status, SIGPIPE);
	assert_string_equal(output.data, "y\n");
	output_free(&output);
}

/* Does it run? One that has ended may be listed until whoever got it for a child asks for it, which may take its time. */
static bool is_there(const char *pid_text)
{
	const pid_t pid = atoi(pid_text);
	char path[64], state = 'Z';
	assert_true(pid > 1);
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'Z';
	if (file)
		fclose(file);
	return state != 'Z' && state != 'X';
}

static void a_deadline_ends_it_with_its_children(void **state)
{
	struct run run = { .timeout = 300 };
	struct output output;
	char reason[256];
	(void)state;
	/* The child ignores SIGTERM, and its pipe stays open. */
	const int64_t ms = shell("(trap '' TERM; while :; do sleep 0.1; done) & echo $!; wait", &run, &output);
	assert_int_equal(output.end, RUN_LATE);
	assert_string_equal(run_reason(&output, reason, sizeof reason), "no answer within 1 s");
	assert_in_range(ms, 290, 3000);
	for (unsigned i = 0; i < 100 && is_there(output.data); i++)
		usleep(10000); /* until init has taken it */
	assert_false(is_there(output.data));
	output_free(&output);
	/* One that writes without end. */
	struct run bounded = { .timeout = 300, .most = 10 };
	assert_in_range(shell("yes", &bounded, &output), 290, 3000);
	assert_int_equal(output.end, RUN_LATE);
	output_free(&output);
}

static void who_is_left_behind_holds_nobody_up(void **state)
{
	struct run run = { .timeout = 20000, .most = 10 };
	struct output output;
	char pid[32];
	(void)state;
	assert_in_range(shell("setsid sleep 15 & echo $!", &run, &output), 0, 5000);
	assert_int_equal(output.end, RUN_EXITED);
	snprintf(pid, sizeof pid, "%s", output.data);
	assert_true(is_there(pid));
	kill(atoi(pid), SIGKILL);
	output_free(&output);
	/* Nor one that goes on writing. */
	assert_in_range(shell("setsid sh -c 'echo $$; exec yes' & sleep 0.1", &run, &output), 0, 5000);
	assert_int_equal(output.end, RUN_EXITED);
	kill(atoi(output.data), SIGKILL);
	output_free(&output);
}

static bool watch(void *context, const char *data, size_t len)
{
	unsigned *calls = context;
	++*calls;
	return !(len >= 4 && !memcmp(data, "more", 4));
}

static void it_can_be_watched(void **state)
{
	unsigned calls = 0;
	struct run run = { .watch = watch, .context = &calls };
	struct output output;
	(void)state;
	assert_in_range(shell("sleep 0.7; echo more; sleep 20", &run, &output), 600, 5000);
	assert_int_equal(output.end, RUN_LATE);
	assert_in_range(calls, 3, 20);
	output_free(&output);
}

/* --- signals, and what is undone --- */

static char order[16];

static void note(void *context)
{
	strncat(order, context, 1);
}

static void undone_the_last_first(void **state)
{
	char a[] = "a", b[] = "b", c[] = "c", d[] = "d";
	(void)state;
	*order = '\0';
	undo_add(note, a);
	const int second = undo_add(note, b), third = undo_add(note, c);
	undo_add(note, d);
	undo_now(second);
	undo_forget(third);
	undo_now(second); /* once only */
	assert_string_equal(order, "b");
	undo_all();
	assert_string_equal(order, "bda");
	for (unsigned i = 0; i < UNDO_MOST; i++)
		assert_true(undo_add(note, a) >= 0);
	assert_int_equal(undo_add(note, a), -1);
	for (int i = 0; i < UNDO_MOST; i++)
		undo_forget(i);
}

static void run_while_undoing(void *context)
{
	struct run run = { .timeout = 10000 };
	struct output *output = context;
	assert_int_equal(stop_signal(), 0);
	shell("sleep 0.2; echo undone", &run, output);
}

/* As somebody can put it there whose folder it is. */
static void a_link_in_its_place_is_not_followed(void **state)
{
	char folder[] = "/tmp/heapfs-unit-XXXXXX", target[64], victim[64];
	struct temp temp;
	struct stat st;
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(target, sizeof target, "%s/dump", folder);
	snprintf(victim, sizeof victim, "%s/victim", folder);
	const int fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(temp_open(&temp, target, false), 0);
	assert_int_equal(unlink(temp.path), 0);
	assert_int_equal(symlink(victim, temp.path), 0);
	assert_int_equal(temp_keep(&temp), -1);
	temp_done(&temp);
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(lstat(target, &st), -1);
	assert_int_equal(unlink(victim), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void a_signal_stops_all_but_undoing(void **state)
{
	struct run run = { .timeout = 20000 };
	struct output output;
	(void)state;
	assert_int_equal(stop_install(), 0);
	assert_false(atomic_load(stop_flag()));
	assert_true(stop_sleep(10));
	assert_in_range(shell("kill -TERM $PPID; sleep 15", &run, &output), 0, 5000);
	assert_int_equal(output.end, RUN_STOPPED);
	output_free(&output);
	assert_int_equal(stop_signal(), SIGTERM);
	assert_true(atomic_load(stop_flag()));
	assert_false(stop_sleep(5000));
	/* Nothing is begun any more, */
	shell("echo begun", &run, &output);
	assert_int_equal(output.end, RUN_STOPPED);
	assert_int_equal(output.len, 0);
	output_free(&output);
	/* but to undo. */
	undo_now(undo_add(run_while_undoing, &output));
	assert_int_equal(output.end, RUN_EXITED);
	assert_string_equal(output.data, "undone\n");
	output_free(&output);
	/* A signal that was waited for is over. */
	stop_taken();
	assert_int_equal(stop_signal(), 0);
	assert_true(stop_sleep(10));
	shell("echo goes on", &run, &output);
	assert_string_equal(output.data, "goes on\n");
	output_free(&output);
}

/* --- temporary files --- */

static bool exists(const char *folder, const char *name)
{
	char path[512];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return !lstat(path, &st);
}

static void temporary_until_whole(void **state)
{
	char folder[] = "/tmp/heapfs-unit-XXXXXX", target[64], command[128];
	struct temp file, pictures;
	struct stat st;
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(target, sizeof target, "%s/x", folder);
	umask(027);
	assert_int_equal(temp_open(&file, target, false), 0);
	assert_false(exists(folder, "x"));
	assert_int_equal(stat(file.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(temp_keep(&file), 0);
	temp_done(&file);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	/* Nothing is replaced. */
	assert_int_equal(temp_absent(target), -1);
	assert_int_equal(temp_open(&file, target, false), 0);
	assert_int_equal(temp_keep(&file), -1);
	temp_done(&file);
	unlink(target);
	/* A folder goes with all that is in it, however it comes to that. */
	assert_int_equal(temp_open(&pictures, target, true), 0);
	snprintf(command, sizeof command, "mkdir -p %s/a/b && touch %s/a/b/c %s/d", pictures.path, pictures.path, pictures.path);
	assert_int_equal(system(command), 0);
	undo_all();
	temp_done(&pictures);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(temp_absent(target), 0);
	assert_int_equal(temp_absent(""), -1);
	assert_int_equal(temp_absent("/dev/null/x"), -1);
	assert_int_equal(temp_open(&file, "/nonexistent/x", false), -1);
	temp_done(&file);
}

/* --- adb --- */

static void words_survive_a_shell(void **state)
{
	static const char *const words[] = { "plain", "", "a b", "it's", "''", "$HOME `id` $(id)", "a\\b\"c", "*", "~", "a;b|c&d>e<f",
					     "#x", "a=b", "new\nline", "-o", "\xc3\xa9", "!x", "{a,b}", "[ab]" };
	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct run run = { .timeout = 10000 };
		struct output output;
		char line[128], *quoted = adb_quote(words[i]);
		assert_non_null(quoted);
		snprintf(line, sizeof line, "printf %%s %s; exit 0", quoted);
		/* adb joins words with blanks: one word must stay one. */
		shell(line, &run, &output);
		assert_string_equal(output.data, words[i]);
		output_free(&output);
		free(quoted);
	}
}

static void failures_are_recognised(void **state)
{
	static const struct {
		const char *said;
		int status;
		const char *line; /* NULL: it went well */
	} table[] = {
		{ "File: /data/local/tmp/x.hprof\nWaiting for dump to finish...\n", 0, NULL },
		{ "", 0, NULL },
		{ "Error: Unknown option: -b\n", 255, "Error: Unknown option: -b" },
		{ "  Error: Can't dump heap with user 'all'\r\n", 0, "Error: Can't dump heap with user 'all'" },
		{ "\nException occurred while executing 'dumpheap':\njava.lang.SecurityException: Process not debuggable: X\n"
		  "\tat com.android.server.am.X.y(X.java:1)\n", 255, "java.lang.SecurityException: Process not debuggable: X" },
		{ "java.lang.OutOfMemoryError: too much\n", 0, "java.lang.OutOfMemoryError: too much" },
		{ "a$B_c.DException: x", 0, "a$B_c.DException: x" },
		{ "no Exception: x", 0, NULL },
		{ "Exceptional: x", 0, NULL },
		{ "Error:x", 0, NULL },
		{ "File: x\nHEAP DUMP FAILED on process 7\n", 255, "HEAP DUMP FAILED on process 7" },
		{ "HEAP DUMP FAILED on process 7\n", 0, "HEAP DUMP FAILED on process 7" },
		{ "* daemon not running; starting now at tcp:5037\n* daemon started successfully\nerror: device 'x' not found\n", 1,
		  "error: device 'x' not found" },
		{ "File: x\nWaiting for dump to finish...\ncmd: Failure calling service activity: Broken pipe (32)\n", 224,
		  "cmd: Failure calling service activity: Broken pipe (32)" },
		{ "File: x\nWaiting for dump to finish...\n", 1, "ended with status 1" },
		{ "", 1, "ended with status 1" },
		{ "\n \n", 7, "ended with status 7" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct output output = { .end = RUN_EXITED, .status = table[i].status, .len = strlen(table[i].said),
					       .data = (char *)(uintptr_t)table[i].said };
		char line[512] = "";
		const bool failed = adb_failed(&output, line, sizeof line);
		if (failed != (table[i].line != NULL) || (failed && strcmp(line, table[i].line) != 0))
			fail_msg("row %zu: \"%s\", not \"%s\"", i, line, table[i].line ? table[i].line : "");
	}
}

/* --- what people see --- */

static void nothing_commands_the_terminal(void **state)
{
	static const char *const table[][2] = {
		{ "", "" },
		{ "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\033[31mred\033]0;title\a", "?[31mred?]0;title?" },
		{ "a\tb\nc\rd\177", "a b?c?d?" },
		{ "\xc2\x9b" "2J\xc2\xa0x", "??2J\xc2\xa0x" },	/* CSI of eight bits; a blank that does not break */
		{ "\x9b" "2J\xff", "?2J?" },
		{ "cut \xe2\x82", "cut ??" },
		{ "\xed\xa0\x80", "???" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		char text[64];
		snprintf(text, sizeof text, "%s", table[i][0]);
		assert_string_equal(printable(text), table[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_end),
		cmocka_unit_test(output_is_kept_apart_bounded_or_in_a_file),
		cmocka_unit_test(standard_input_is_empty_and_the_pipe_signal_is_usual),
		cmocka_unit_test(a_deadline_ends_it_with_its_children),
		cmocka_unit_test(who_is_left_behind_holds_nobody_up),
		cmocka_unit_test(it_can_be_watched),
		cmocka_unit_test(undone_the_last_first),
		cmocka_unit_test(words_survive_a_shell),
		cmocka_unit_test(failures_are_recognised),
		cmocka_unit_test(nothing_commands_the_terminal),
		cmocka_unit_test(temporary_until_whole),
		cmocka_unit_test(a_link_in_its_place_is_not_followed),
		cmocka_unit_test(a_signal_stops_all_but_undoing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
