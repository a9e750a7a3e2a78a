/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loli_replay STREAM SMAPS PROFILE [all]: what LoliProfiler's agent sent, from a file through a TCP connection in pieces of
 * odd sizes, is saved as a profile with the mappings of a text like /proc/PID/smaps. Prints what came.
 */
#include "capture/loli_save.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int send_all(int sock, FILE *stream)
{
	static const size_t sizes[] = { 1, 3, 7, 4093, 2, 65537, 131, 19, 8191 };
	static char piece[65537];
	const int on = 1;
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	for (size_t i = 0, got; (got = fread(piece, 1, sizes[i % 9], stream)); i++)
		for (size_t done = 0; done < got;) {
			const ssize_t sent = send(sock, piece + done, got - done, MSG_NOSIGNAL);
			if (sent <= 0)
				return 1;
			done += (size_t)sent;
		}
	return 0;
}

static int serve(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof at;
	const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || bind(sock, (struct sockaddr *)&at, sizeof at) || listen(sock, 1) ||
	    getsockname(sock, (struct sockaddr *)&at, &size))
		return -1;
	*port = ntohs(at.sin_port);
	return sock;
}

static int take(struct loli_agent *agent, int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port) };
	static char piece[9001];
	const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&at, sizeof at))
		return -1;
	for (ssize_t got; (got = recv(sock, piece, sizeof piece, 0)) > 0;)
		if (!loli_agent_feed(agent, piece, (size_t)got))
			break;
	loli_agent_ended(agent);
	close(sock);
	return 0;
}

int main(int argc, char **argv)
{
	struct loli_agent agent;
	struct loli_smaps smaps;
	struct loli_samples samples = { .list = NULL };
	struct loli_saved saved;
	char error[256] = "";
	int port, status;
	FILE *stream = argc > 3 ? fopen(argv[1], "re") : NULL, *text = stream ? fopen(argv[2], "re") : NULL;
	FILE *out = text ? fopen(argv[3], "we") : NULL;
	const int sock = out ? serve(&port) : -1;
	if (sock < 0 || !loli_smaps_read(&smaps, text) || loli_agent_open(&agent, NULL, error, sizeof error)) {
		fprintf(stderr, "usage: loli_replay STREAM SMAPS PROFILE [all] %s\n", error);
		return 2;
	}
	const pid_t child = fork();
	if (!child)
		_exit(send_all(accept(sock, NULL, NULL), stream));
	if (child < 0 || take(&agent, port))
		return 1;
	waitpid(child, &status, 0);
	printf("packets %" PRIu64 "\nallocs %" PRIu64 "\nfrees %" PRIu64 "\nalloc_bytes %" PRIu64 "\ndamaged %" PRIu64
	       "\nrepeated %" PRIu64 "\nsmaps %d\ncut %d\nproblem %s\n",
	       agent.packets, agent.allocations, agent.frees, agent.allocated, agent.damaged_packets + agent.damaged_messages,
	       agent.repeated, agent.smaps_dumped, agent.cut, agent.problem);
	if (loli_save(out, &agent, &smaps, &samples, argc > 4, &saved, error, sizeof error)) {
		fprintf(stderr, "loli_replay: %s\n", error);
		return 1;
	}
	printf("records %" PRIu64 "\nbytes %" PRIu64 "\nfreed %" PRIu64 "\n", saved.records, saved.bytes, saved.freed);
	loli_agent_close(&agent);
	loli_smaps_free(&smaps);
	fclose(out);
	fclose(text);
	fclose(stream);
	return 0;
}
