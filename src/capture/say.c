/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/say.h"
#include "capture/clock.h"

#include <stdarg.h>
#include <stdio.h>
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

void say(const char *format, ...)
{
	va_list arguments;
	clear_line();
	fputs("heapfs-capture: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
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
