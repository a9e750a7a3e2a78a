/* SPDX-License-Identifier: Apache-2.0 */
#include "unfinished.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int ending[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
#define ENDING_COUNT (sizeof ending / sizeof *ending)

static struct sigaction before[ENDING_COUNT];

static volatile sig_atomic_t in_folder;
static const char *volatile unfinished; /* NULL: none */

/* Only what POSIX allows in a handler. The signal itself comes again when this returns. */
static void on_end(int sig)
{
	if (unfinished)
		unlinkat(in_folder, unfinished, 0);
	signal(sig, SIG_DFL);
	raise(sig);
}

void unfinished_begin(void)
{
	for (size_t i = 0; i < ENDING_COUNT; i++) {
		const struct sigaction action = { .sa_handler = on_end };
		sigaction(ending[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN) /* as under nohup */
			sigaction(ending[i], &action, NULL);
	}
}

void unfinished_end(void)
{
	for (size_t i = 0; i < ENDING_COUNT; i++)
		sigaction(ending[i], &before[i], NULL);
}

void unfinished_is(int folder, const char *path)
{
	in_folder = folder;
	unfinished = path;
}

void unfinished_none(void)
{
	unfinished = NULL;
}
