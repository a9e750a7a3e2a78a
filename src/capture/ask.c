/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ask.h"
#include "capture/say.h"
#include "capture/stop.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* A line of the terminal's, which gives whole lines. False at its end, and when a signal came. */
static bool read_answer(char *answer, size_t size)
{
	struct pollfd waits[2] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = stop_fd(), .events = POLLIN } };
	while (!stop_signal() && poll(waits, 2, -1) <= 0)
		continue;
	if (stop_signal())
		return false;
	const ssize_t got = read(STDIN_FILENO, answer, size - 1);
	answer[got > 0 ? got : 0] = '\0';
	return got > 0;
}

int ask(const char *question, size_t count, void (*line)(const void *context, size_t row, char *text, size_t size),
	const void *context)
{
	char text[512], *end;
	step_end();
	for (size_t row = 0; row < count; row++) {
		line(context, row, text, sizeof text);
		fprintf(stderr, "%4zu  %s\n", row + 1, printable(text));
	}
	for (;;) {
		fprintf(stderr, "%s [1]: ", question);
		if (!read_answer(text, sizeof text)) {
			fputc('\n', stderr);
			return -1;
		}
		if (*text == '\n')
			return 0;
		const unsigned long number = strtoul(text, &end, 10);
		if (*text >= '0' && *text <= '9' && *end == '\n' && number >= 1 && number <= count && number <= INT_MAX)
			return (int)number - 1;
		fprintf(stderr, "a number from 1 to %zu; Ctrl-C to end\n", count);
	}
}
