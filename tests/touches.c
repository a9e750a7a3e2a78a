/* SPDX-License-Identifier: Apache-2.0 */
#include "touches.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The counter: pages touched since it was set to zero, and the first of those touches. */
static volatile sig_atomic_t pages_touched;
static const uint8_t *volatile first_touch;
static volatile sig_atomic_t watching;
static uintptr_t page_size;

void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to)
{
	if (ranges->count && ranges->list[ranges->count - 1].to == from) {
		ranges->list[ranges->count - 1].to = to;
		return;
	}
	ranges->list = reallocarray(ranges->list, ranges->count + 1, sizeof *ranges->list);
	if (!ranges->list)
		abort();
	ranges->list[ranges->count++] = (struct range){ from, to };
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct ranges){ NULL, 0 };
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	/* Readable from now on, so that each page counts once and the work goes on. */
	if (!watching || mprotect((void *)((uintptr_t)info->si_addr / page_size * page_size), page_size, PROT_READ)) {
		signal(sig, SIG_DFL);
		return;
	}
	if (!pages_touched++)
		first_touch = info->si_addr;
}

void touches_init(void)
{
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGSEGV, &action, NULL))
		abort();
}

void touches_end(void)
{
	signal(SIGSEGV, SIG_DFL);
}

/* The whole pages in each range become unreadable, or readable again. Their number. */
static size_t protect(const uint8_t *dump, const struct ranges *ranges, int how)
{
	const uintptr_t page = page_size, base = (uintptr_t)dump;
	size_t pages = 0;
	for (size_t i = 0; i < ranges->count; i++) {
		const uintptr_t from = (base + ranges->list[i].from + page - 1) / page * page;
		const uintptr_t to = (base + ranges->list[i].to) / page * page;
		if (from >= to)
			continue;
		if (mprotect((void *)from, to - from, how))
			abort();
		pages += (to - from) / page;
	}
	return pages;
}

size_t touches_start(const uint8_t *dump, const struct ranges *ranges)
{
	pages_touched = 0;
	watching = 1;
	return protect(dump, ranges, PROT_NONE);
}

size_t touches_now(void)
{
	return (size_t)pages_touched;
}

size_t touches_stop(const uint8_t *dump, const struct ranges *ranges)
{
	watching = 0;
	protect(dump, ranges, PROT_READ);
	return (size_t)pages_touched;
}

size_t touches_first(const uint8_t *dump)
{
	return (size_t)(first_touch - dump);
}
