/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/jdwp_session.h"

#include "capture/clock.h"

#include <stdio.h>

/* An application at work enters a method within that time, and need not be nudged. */
#define BY_ITSELF_MS 100
#define GC_PAUSE_MS 100

const struct live_options live_defaults = {
	.connect_ms = 10000,
	.safe_ms = 20000,
	.command_ms = 30000,
	.budget_ms = 60000,
	.budget_bytes = UINT64_C(64) << 20,
};

enum live_end jdwp_outcome(const struct jdwp *jdwp)
{
	switch (jdwp->lost) {
	case JDWP_REFUSED:
		return LIVE_REFUSED;
	case JDWP_GONE:
		return LIVE_GONE;
	case JDWP_SILENT:
		return LIVE_SILENT;
	case JDWP_CANCELLED:
		return LIVE_CANCELLED;
	case JDWP_CONNECTED:
		break;
	case JDWP_NONSENSE:
	case JDWP_NO_MEMORY:
		return LIVE_FAILED;
	}
	/* What is wrong with the thread is so for every other call, too. */
	switch (jdwp->code) {
	case JDWP_INVALID_THREAD:
	case JDWP_THREAD_NOT_SUSPENDED:
	case JDWP_ALREADY_INVOKING:
		return LIVE_FAILED;
	default:
		return LIVE_DONE;
	}
}

/* The same, where nothing can come after the command that failed. */
static enum live_end failed(const struct jdwp *jdwp)
{
	const enum live_end end = jdwp_outcome(jdwp);
	return end == LIVE_DONE ? LIVE_FAILED : end;
}

enum live_end jdwp_attach(struct jdwp_session *session, const struct live_options *options)
{
	struct jdwp *jdwp = &session->jdwp;
	session->thread = 0;
	if (jdwp_connect(jdwp, options->port, options->connect_ms, options->command_ms, options->cancel))
		return failed(jdwp);
	return LIVE_DONE;
}

enum live_end jdwp_stop(struct jdwp_session *session, const struct live_options *options)
{
	struct jdwp *jdwp = &session->jdwp;
	const int64_t deadline = clock_ms() + options->safe_ms;
	bool nudged = !options->nudge;
	uint32_t request;
	if (jdwp_request_entry(jdwp, &request))
		return failed(jdwp);
	for (;;) {
		struct jdwp_event event;
		const int64_t left = deadline - clock_ms();
		if (left < 0)
			break;
		const int rc = jdwp_event(jdwp, (unsigned)(nudged || left < BY_ITSELF_MS ? left : BY_ITSELF_MS), &event);
		if (rc < 0)
			return failed(jdwp);
		if (rc && event.kind == JDWP_METHOD_ENTRY && event.request == request) {
			/* Used up, but a VM that keeps it would go on watching every method; a refusal does not matter. */
			session->thread = event.thread;
			return jdwp_clear_entry(jdwp, request) && jdwp->lost ? failed(jdwp) : LIVE_DONE;
		}
		if (rc && jdwp_resume(jdwp, &event) && jdwp->lost)
			return failed(jdwp);
		if (!rc && !nudged) {
			options->nudge(options->context);
			nudged = true;
		}
	}
	snprintf(jdwp->error, sizeof jdwp->error,
		 "the application ran no code within %u s: bring it to the front, touch its screen, and try again",
		 (options->safe_ms + 999) / 1000);
	return LIVE_IDLE;
}

/* --- garbage collection --- */

/* A static method without a result of its own, or one that returns an object. */
static int call_static(struct jdwp_session *session, const char *class_signature, const char *name, const char *signature,
		       unsigned count, const struct jdwp_value *argument, struct jdwp_value *value)
{
	struct jdwp *jdwp = &session->jdwp;
	struct jdwp_call call = { .thread = session->thread, .count = count };
	if (count)
		call.arguments[0] = *argument;
	return jdwp_class(jdwp, class_signature, &call.class, NULL) ||
			       jdwp_method(jdwp, call.class, name, signature, &call.method) || jdwp_invoke(jdwp, &call, value) ?
		       -1 :
		       0;
}

static int collect(struct jdwp_session *session)
{
	struct jdwp *jdwp = &session->jdwp;
	const struct jdwp_value pause = { 'J', GC_PAUSE_MS };
	struct jdwp_value runtime;
	struct jdwp_call gc = { .thread = session->thread };
	if (call_static(session, "Ljava/lang/Runtime;", "getRuntime", "()Ljava/lang/Runtime;", 0, NULL, &runtime) ||
	    jdwp_class(jdwp, "Ljava/lang/Runtime;", &gc.class, NULL) || jdwp_method(jdwp, gc.class, "gc", "()V", &gc.method))
		return -1;
	gc.object = runtime.bits;
	/* What the first one found unreachable, finalizers may make garbage of, which the second one takes. */
	return jdwp_invoke(jdwp, &gc, NULL) || call_static(session, "Ljava/lang/Thread;", "sleep", "(J)V", 1, &pause, NULL) ||
			       call_static(session, "Ljava/lang/System;", "runFinalization", "()V", 0, NULL, NULL) ||
			       jdwp_invoke(jdwp, &gc, NULL) ?
		       -1 :
		       0;
}

enum live_end jdwp_gc(const struct live_options *options, char *error, size_t error_size)
{
	struct jdwp_session session;
	enum live_end end = jdwp_attach(&session, options);
	if (end == LIVE_DONE)
		end = jdwp_stop(&session, options);
	if (end == LIVE_DONE && collect(&session))
		end = failed(&session.jdwp);
	jdwp_close(&session.jdwp);
	snprintf(error, error_size, "%s", end == LIVE_DONE ? "" : session.jdwp.error);
	return end;
}

/* --- a library --- */

static int load(struct jdwp_session *session, const char *path)
{
	struct jdwp_value string = { .tag = 's' };
	return jdwp_string(&session->jdwp, path, &string.bits) ||
			       call_static(session, "Ljava/lang/System;", "load", "(Ljava/lang/String;)V", 1, &string, NULL) ?
		       -1 :
		       0;
}

enum live_end jdwp_load(const struct live_options *options, const char *path, char *error, size_t error_size)
{
	struct jdwp_session session;
	enum live_end end = jdwp_attach(&session, options);
	if (end == LIVE_DONE)
		end = jdwp_stop(&session, options);
	if (end == LIVE_DONE && load(&session, path))
		end = failed(&session.jdwp);
	jdwp_close(&session.jdwp);
	snprintf(error, error_size, "%s", end == LIVE_DONE ? "" : session.jdwp.error);
	return end;
}
