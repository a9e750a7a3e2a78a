/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A native profile, as LoliProfilerCLI takes it: LoliProfiler's agent in an application on a device sends what is allocated
 * and freed; each second the application's memory is looked at, each five seconds the screen; in the end its mappings.
 *
 * A life is what one process of the application did. When its connection ends, what came is saved at once, in a profile of its
 * own. Should the application come back, that is the next life: agents begin to count at 1 again, and addresses are
 * given out anew, so two lives in one profile would make nonsense of both.
 */
#include "capture/capture.h"
#include "capture/clock.h"
#include "capture/forward.h"
#include "capture/loli_device.h"
#include "capture/mounting.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "capture/temp.h"
#include "input/spill.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TO_AGENT "tcp:7100"
#define SAMPLE_MS 1000
#define PICTURE_MS 5000
#define MAPPINGS_MS 60000	/* in case the process ends: then nobody can be asked for them any more */
#define CONNECT_MS 30000	/* for the agent to answer */
#define RETURN_MS 60000		/* for an application that ended to come back */
#define SMAPS_MS 10000		/* for the agent to write its mappings */
#define RETRY_MS 500
/* The adb server takes a connection before it knows whether the device does: one that ends without a byte was none. */
#define FIRST_BYTE_MS 2000

struct life {
	unsigned number;	/* from 1 on */
	uint32_t pid;
	int64_t begun;
	struct loli_agent agent;
	struct loli_samples samples;
	FILE *smaps;		/* the text, as it was last seen; NULL: not yet */
};

struct session {
	const struct capture_options *options;
	struct loli_device device;
	struct forward forward;
	bool forwarded;
	int sock;		/* to the agent, or -1 */
	struct life life;
	unsigned saved;		/* profiles that were written */
	char *first;		/* the name of the first one */
	int64_t end;		/* of the duration */
	bool stopped;		/* by a signal or the duration's end */
};

/* --- the connection --- */

static void hang_up(struct session *session)
{
	if (session->sock >= 0)
		close(session->sock);
	session->sock = -1;
	loli_agent_ended(&session->life.agent);
}

/* Takes all that is there at once; the connection's end leaves sock at -1. */
static void drain(struct session *session)
{
	static char buffer[1 << 18];
	while (session->sock >= 0) {
		const ssize_t got = recv(session->sock, buffer, sizeof buffer, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (got <= 0 || !loli_agent_feed(&session->life.agent, buffer, (size_t)got))
			hang_up(session);
	}
}

/* While a program runs on the device the agent is not kept waiting. */
static bool drain_meanwhile(void *context, const char *data, size_t len)
{
	(void)data;
	(void)len;
	drain(context);
	return true;
}

/* Waits for bytes from the agent, so many ms at most. */
static void listen_to(struct session *session, int ms)
{
	struct pollfd waits[2] = { { .fd = session->sock, .events = POLLIN }, { .fd = stop_fd(), .events = POLLIN } };
	poll(waits, 2, ms);
	drain(session);
}

/* One attempt: a connection over which something came. */
static bool try_to_connect(struct session *session)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)session->forward.port) };
	const uint64_t before = session->life.agent.bytes;
	session->sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (session->sock < 0)
		return false;
	if (connect(session->sock, (struct sockaddr *)&at, sizeof at)) {
		hang_up(session);
		return false;
	}
	const int64_t end = clock_ms() + FIRST_BYTE_MS;
	while (session->sock >= 0 && session->life.agent.bytes == before && clock_left(end) && !stop_signal())
		listen_to(session, clock_left(end));
	/* An application that allocates nothing is silent: a connection that stays is one. */
	return !*session->life.agent.problem && (session->sock >= 0 || session->life.agent.bytes != before);
}

static bool connect_to_agent(struct session *session, int ms)
{
	int64_t end = clock_ms() + ms;
	end = end < session->end ? end : session->end;
	step("waiting for the agent in %s", session->device.name);
	while (!try_to_connect(session)) {
		if (*session->life.agent.problem || !clock_left(end) || !stop_sleep(RETRY_MS))
			return false;
	}
	return true;
}

/* --- a life --- */

static FILE *temporary(void)
{
	const char *set = getenv("TMPDIR");
	const int fd = spill_unnamed(set && *set ? set : "/var/tmp");
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!file)
		say("cannot write a temporary file: %s", strerror(errno));
	if (!file && fd >= 0)
		close(fd);
	return file;
}

static int begin(struct session *session)
{
	struct life *life = &session->life;
	char error[256];
	*life = (struct life){ .number = life->number + 1, .pid = session->device.selection.pid, .begun = clock_ms() };
	if (!loli_agent_open(&life->agent, NULL, error, sizeof error) && (life->samples.pictures = temporary()) != NULL)
		return 0;
	if (!life->agent.records)
		say("%s", error);
	return -1;
}

static void end(struct life *life)
{
	if (life->samples.pictures)
		fclose(life->samples.pictures);
	if (life->smaps)
		fclose(life->smaps);
	loli_samples_free(&life->samples);
	loli_agent_close(&life->agent);
	*life = (struct life){ .number = life->number };
}

/* Keeps the text of the mappings, of which the last one counts. */
static void keep_smaps(struct life *life, const struct output *output)
{
	FILE *newer = temporary();
	if (!newer || (output->len && fwrite(output->data, output->len, 1, newer) != 1) || fflush(newer)) {
		say("the newest mappings cannot be kept: %s", strerror(errno));
		if (newer)
			fclose(newer);
		return;
	}
	if (life->smaps)
		fclose(life->smaps);
	life->smaps = newer;
}

static bool look_at_smaps(struct session *session)
{
	struct output output;
	const bool got = loli_device_smaps(&session->device, &output);
	if (got) {
		keep_smaps(&session->life, &output);
		output_free(&output);
	}
	return got;
}

static uint32_t seconds_of(const struct life *life)
{
	return (uint32_t)((clock_ms() - life->begun) / 1000);
}

static void look_at_memory(struct session *session)
{
	struct loli_sample sample = { .seconds = seconds_of(&session->life) };
	if (loli_device_sample(&session->device, &sample) && !loli_samples_add(&session->life.samples, &sample))
		say("out of memory for the series of memory");
}

static void look_at_screen(struct session *session)
{
	struct output output;
	const uint32_t seconds = seconds_of(&session->life);
	if (loli_device_picture(&session->device, &output) &&
	    !loli_samples_add_picture(&session->life.samples, seconds, output.data, (uint32_t)output.len))
		say("a picture of the screen cannot be kept: %s", strerror(errno));
	output_free(&output);
}

/* Until the connection ends, a signal comes or the duration is over. */
static void record(struct session *session)
{
	int64_t sample = clock_ms(), picture = sample + PICTURE_MS, smaps = sample + PICTURE_MS;
	const struct loli_agent *agent = &session->life.agent;
	step("recording %s%s", session->device.name, session->options->duration ? "" : ", until Ctrl-C");
	while (session->sock >= 0 && !stop_signal() && clock_left(session->end)) {
		const int64_t next = sample < picture ? sample : picture;
		listen_to(session, clock_left(next < session->end ? next : session->end));
		step_at(agent->bytes, 0);
		if (!clock_left(sample) && session->sock >= 0) {
			look_at_memory(session);
			sample = clock_ms() > sample + SAMPLE_MS ? clock_ms() : sample + SAMPLE_MS;
		}
		if (!clock_left(picture) && session->sock >= 0) {
			look_at_screen(session);
			picture = clock_ms() > picture + PICTURE_MS ? clock_ms() : picture + PICTURE_MS;
		}
		if (!clock_left(smaps) && session->sock >= 0) {
			look_at_smaps(session);
			smaps = clock_ms() + MAPPINGS_MS;
		}
	}
	step_end();
}

/* The mappings at the end: read from here, else by the agent's one command, after which it sends nothing more. */
static void last_smaps(struct session *session)
{
	static const uint8_t dump = LOLI_SMAPS_DUMP;
	const struct loli_agent *agent = &session->life.agent;
	struct output output;
	step("reading the mappings of %s", session->device.name);
	if (look_at_smaps(session) || session->sock < 0 || !loli_device_make_smaps(&session->device) ||
	    send(session->sock, &dump, sizeof dump, MSG_NOSIGNAL) != sizeof dump)
		return;
	const int64_t late = clock_ms() + SMAPS_MS;
	while (!agent->smaps_dumped && session->sock >= 0 && clock_left(late) && !stop_signal())
		listen_to(session, clock_left(late));
	if (!agent->smaps_dumped) {
		say("%s: the agent does not write its mappings within %d s", session->device.name, SMAPS_MS / 1000);
		return;
	}
	if (loli_device_take_smaps(&session->device, &output))
		keep_smaps(&session->life, &output);
	output_free(&output);
}

/* --- saved --- */

/* "game.loli", then "game-2.loli", …, where that is there already with the next number that is not. To be freed. */
static char *name_of(const struct session *session)
{
	const char *path = session->options->output, *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	const int stem = dot && dot > (slash ? slash + 1 : path) ? (int)(dot - path) : (int)strlen(path);
	char *name = session->saved ? NULL : strdup(path);
	for (unsigned number = session->life.number; session->saved; number++) {
		if (asprintf(&name, "%.*s-%u%s", stem, path, number, path + stem) < 0)
			return NULL;
		if (faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW))
			break;
		free(name);
	}
	return name;
}

/* What makes a profile less than it could be. */
static void tell(const struct session *session, const char *name, const struct loli_saved *saved)
{
	const struct loli_agent *agent = &session->life.agent;
	say("%s: %" PRIu64 " allocations of %" PRIu64 " bytes; %" PRIu64 " came, of which %" PRIu64 " were freed", name, saved->records,
	    saved->bytes, agent->allocations, saved->freed);
	if (!agent->allocations)
		say("not a single allocation was recorded: is the library that allocates among those that loli3.conf names?");
	if (agent->damaged_packets || agent->damaged_messages || agent->unknown_packets)
		say("%" PRIu64 " packets and %" PRIu64 " messages were damaged, %" PRIu64 " packets of no known kind", agent->damaged_packets,
		    agent->damaged_messages, agent->unknown_packets);
	if (agent->repeated)
		say("%" PRIu64 " sequence numbers came more than once: does the agent of another application answer, too?", agent->repeated);
	if (!session->life.smaps)
		say("the mappings are not known, so addresses are in no library and can have no names");
}

static int write_profile(struct session *session, const char *path, struct loli_saved *saved)
{
	struct life *life = &session->life;
	struct loli_smaps smaps = { .list = NULL };
	char error[256] = "";
	FILE *out = fopen(path, "we");
	int rc = -1;
	if (life->smaps)
		rewind(life->smaps);
	if (!out)
		snprintf(error, sizeof error, "%s", strerror(errno));
	else if (life->smaps && !loli_smaps_read(&smaps, life->smaps))
		snprintf(error, sizeof error, "%s", strerror(ENOMEM));
	else
		rc = loli_save(out, &life->agent, &smaps, &life->samples, session->options->all, saved, error, sizeof error);
	if (out && fclose(out) && !rc) {
		snprintf(error, sizeof error, "%s", strerror(errno));
		rc = -1;
	}
	loli_smaps_free(&smaps);
	if (rc)
		say("%s: cannot be written: %s", path, error);
	return rc;
}

static int save(struct session *session)
{
	struct temp temp;
	struct loli_saved saved;
	char *name = name_of(session);
	int rc = -1;
	if (!name) {
		say("out of memory");
		return -1;
	}
	step("saving %s", name);
	if (!temp_open(&temp, name, false)) {
		rc = write_profile(session, temp.path, &saved) || temp_keep(&temp) ? -1 : 0;
		temp_done(&temp);
	}
	step_end();
	if (!rc) {
		tell(session, name, &saved);
		if (!session->saved++)
			session->first = strdup(name);
	}
	free(name);
	return rc;
}

/* --- one life after another --- */

/* The next process. 0 where none comes. */
static uint32_t wait_for_return(struct session *session)
{
	int64_t late = clock_ms() + RETURN_MS;
	late = late < session->end ? late : session->end;
	step("waiting for %s to come back", session->device.name);
	do {
		/* One that is about to end may still be listed. */
		if (loli_device_find(&session->device) > 0 && session->device.selection.pid != session->life.pid)
			return session->device.selection.pid;
	} while (clock_left(late) && stop_sleep(RETRY_MS));
	return 0;
}

/* Why the connection ended, if that was not what was asked for. */
static void say_lost(const struct session *session)
{
	const struct loli_agent *agent = &session->life.agent;
	if (*agent->problem)
		say("%s: %s", session->device.name, agent->problem);
	else
		say("%s: the connection to the agent was lost after %u s%s: has the application ended, or the device gone?",
		    session->device.name, seconds_of(&session->life), agent->cut ? ", inside a packet" : "");
}

/* A life from its beginning to its profile. 0: the recording is over; 1: another life may come; -1 after a message. */
static int live(struct session *session)
{
	struct life *life = &session->life;
	bool lost = false;
	if (begin(session))
		return -1;
	if (life->number > 1 && loli_device_inject(&session->device))
		return -1;
	if (!connect_to_agent(session, CONNECT_MS)) {
		if (*life->agent.problem)
			say("%s: %s", session->device.name, life->agent.problem);
		else if (!stop_signal())
			say("%s: no agent answers at port %d of %s: is libloli.so in the application (--agent puts it there), and in no "
			    "other one?", session->device.name, LOLI_AGENT_PORT, session->device.selection.adb.serial);
		return -1;
	}
	for (;;) {
		record(session);
		session->stopped = stop_signal() || !clock_left(session->end);
		if (session->stopped || *life->agent.problem)
			break;
		/* The connection only, or the process? Of the same one, what comes next belongs to this life. */
		const int64_t again = clock_ms() + FIRST_BYTE_MS;
		lost = true;
		while (lost && loli_device_find(&session->device) > 0 && session->device.selection.pid == life->pid) {
			lost = !try_to_connect(session);
			if (lost && (!clock_left(again) || !stop_sleep(RETRY_MS)))
				break;
		}
		if (lost)
			break;
	}
	if (session->stopped) {
		if (stop_signal())
			stop_taken(); /* it was what was waited for; another one breaks off what follows */
		last_smaps(session);
		drain(session);
	} else {
		say_lost(session);
	}
	const bool problem = *life->agent.problem;
	hang_up(session);
	if (save(session))
		return -1;
	return session->stopped ? 0 : problem ? -1 : 1;
}

static int run_session(struct session *session)
{
	if (loli_device_start(&session->device) || loli_device_inject(&session->device))
		return -1;
	if (forward_open(&session->forward, &session->device.selection.adb, TO_AGENT))
		return -1;
	session->forwarded = true;
	if (session->options->duration)
		session->end = clock_ms() + (int64_t)session->options->duration * 1000;
	for (;;) {
		const int rc = live(session);
		const uint32_t pid = session->life.pid;
		end(&session->life);
		if (rc <= 0)
			return rc;
		session->life.pid = pid;
		const uint32_t now = wait_for_return(session);
		if (!now) {
			if (stop_signal())
				stop_taken();
			else if (clock_left(session->end))
				say("%s did not come back", session->device.name);
			return -1; /* saved, but it ended before its time */
		}
		say("%s is there again, as process %" PRIu32, session->device.name, now);
	}
}

int capture_loli(const struct capture_options *options)
{
	struct session session = { .options = options, .sock = -1, .end = INT64_MAX };
	if (!options->app || !options->output) {
		say("--loli needs --app PACKAGE and -o FILE; see heapfs-capture --help");
		return CAPTURE_USAGE;
	}
#ifndef HAVE_LZ4
	say("built without liblz4, which unpacks what LoliProfiler's agent sends: install it, configure and build again");
	return CAPTURE_FAILED;
#endif
	if (temp_absent(options->output))
		return CAPTURE_FAILED;
	if ((options->agent && access(options->agent, R_OK)) || (options->config && access(options->config, R_OK))) {
		say("%s: %s", options->agent && access(options->agent, R_OK) ? options->agent : options->config, strerror(errno));
		return CAPTURE_FAILED;
	}
	int status = loli_device_open(&session.device, options);
	if (!status) {
		session.device.watch = drain_meanwhile;
		session.device.context = &session;
		status = run_session(&session) ? CAPTURE_FAILED : CAPTURE_DONE;
	}
	hang_up(&session);
	end(&session.life);
	if (session.forwarded)
		forward_close(&session.forward);
	loli_device_close(&session.device);
	if (!status && options->mount)
		status = mount_captured(session.first, options->mount);
	free(session.first);
	return status;
}
