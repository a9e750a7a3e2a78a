/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/say.h"
#include "capture/clock.h"
#include "hprof/mutf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool quiet, shown;
static char now[160];		/* the step */
static int64_t last;		/* when it was drawn */

static bool on_terminal(void)
{
	static int known = -1;
	if (known < 0)
		known = isatty(STDERR_FILENO);
	return known;
}

static void clear_line(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}

char *printable(char *text)
{
	size_t left = strlen(text);
	for (char *at = text; left;) {
		uint32_t code = 0;
		const unsigned used = utf8_decode((const uint8_t *)at, left, &code), len = used ? used : 1;
		if (code == '\t')
			*at = ' ';
		else if (code < ' ' || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000))
			memset(at, '?', len);
		at += len;
		left -= len;
	}
	return text;
}

void say(const char *format, ...)
{
	va_list arguments;
	char *text;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	clear_line();
	fprintf(stderr, "heapfs-capture: %s\n", text ? printable(text) : "out of memory");
	free(text);
}

void say_quietly(bool yes)
{
	quiet = yes;
}

void step(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(now, sizeof now, format, arguments);
	va_end(arguments);
	printable(now);
	clear_line();
	if (quiet)
		return;
	shown = on_terminal();
	fprintf(stderr, shown ? "heapfs-capture: %s " : "heapfs-capture: %s\n", now);
	last = clock_ms();
}

void step_at(uint64_t done, uint64_t total)
{
	if (quiet || !on_terminal() || clock_ms() - last < 200)
		return;
	last = clock_ms();
	fputs("\r\033[K", stderr);
	shown = true;
	if (total)
		fprintf(stderr, "heapfs-capture: %s: %.0f %% ", now, (double)(done < total ? done : total) * 100 / (double)total);
	else
		fprintf(stderr, "heapfs-capture: %s: %.1f MB ", now, (double)done / 1e6);
}

void step_end(void)
{
	clear_line();
}
