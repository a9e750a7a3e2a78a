/* SPDX-License-Identifier: Apache-2.0 */
#include "input/gzip.h"

#include "input/le.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define OUT_BYTES (UINT64_C(256) << 10)
#define FEED_BYTES (UINT64_C(1) << 20)
/* The JVM's members hold a MiB each; what is much more was not its. */
#define MEMBER_MOST (UINT64_C(2) << 20)
#define TRAILER 8		/* CRC-32 and length of what the member holds */
/* What a byte can be inflated to: deflate copies 258 bytes at a time, and says so in 2 bits. */
#define RATIO_MOST 1032
/* After so much damage the rest is inflated in order: to start threads for each member would cost more than it gains. */
#define ROUNDS_MOST 64
/* Bytes that may be inflated again, since a damaged member ran on into others; as many more as the file has. */
#define AGAIN_MOST (UINT64_C(64) << 20)
#define THREADS_MOST 16
#define DAMAGED "the gzip data is damaged"
#define GZIP_ONLY (15 + 16)	/* a window of 32 KiB, gzip's header and nothing else */

size_t gzip_head(const uint8_t *data, uint64_t data_len, uint8_t *head, size_t len)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)data,
		       .avail_in = data_len < FEED_BYTES ? (uInt)data_len : (uInt)FEED_BYTES };
	if (inflateInit2(&z, GZIP_ONLY))
		return 0;
	z.next_out = head;
	z.avail_out = (uInt)len;
	/* Members may be small, or empty. */
	while (inflate(&z, Z_SYNC_FLUSH) == Z_STREAM_END && z.avail_out && z.avail_in && !inflateReset(&z))
		;
	inflateEnd(&z);
	return len - z.avail_out;
}

/* --- the JVM's members --- */

struct member {
	uint64_t from, to;	/* in the file */
	uint64_t at;		/* of what it holds, in the spill */
};

/* The header that the JVM writes: no name, no time, no extra; with or without a comment. */
static bool is_header(const uint8_t *p)
{
	return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && (p[3] == 0 || p[3] == 0x10) && !le32(p + 4) &&
	       (p[8] == 0 || p[8] == 2 || p[8] == 4);
}

static bool written_by_jvm(const uint8_t *data, uint64_t len)
{
	static const char comment[] = "HPROF BLOCKSIZE=";
	return len >= 10 + sizeof comment && data[3] == 0x10 && is_header(data) &&
	       !memcmp(data + 10, comment, sizeof comment - 1);
}

/* What a member says that it holds; 0 where that cannot be one of the JVM's. */
static uint32_t member_size(const uint8_t *data, const struct member *member)
{
	const uint32_t size = member->to - member->from < 10 + TRAILER ? 0 : le32(data + member->to - 4);
	return size > MEMBER_MOST || size / RATIO_MOST > member->to - member->from ? 0 : size;
}

/* Finds where members seem to begin, and from the lengths in their trailers where their bytes go. */
static struct member *find_members(const uint8_t *data, uint64_t len, size_t *count)
{
	struct member *members = NULL;
	size_t capacity = 0;
	*count = 0;
	for (uint64_t at = 0; len - at >= 10;) {
		const uint8_t *p = memchr(data + at, 0x1f, len - at - 9);
		if (!p)
			break;
		at = (uint64_t)(p - data);
		if (is_header(p)) {
			if (*count == capacity) {
				capacity = capacity ? capacity * 2 : 256;
				struct member *grown = reallocarray(members, capacity, sizeof *grown);
				if (!grown) {
					free(members);
					return NULL;
				}
				members = grown;
			}
			members[(*count)++] = (struct member){ .from = at };
		}
		at++;
	}
	uint64_t out = 0;
	for (size_t i = 0; i < *count; i++) {
		struct member *member = &members[i];
		member->to = i + 1 < *count ? members[i + 1].from : len;
		member->at = out;
		out += member_size(data, member);
	}
	return members;
}

struct team {
	struct gzip *gzip;
	struct spill *spill;
	const struct member *members;
	size_t count;
	uint64_t shift;		/* of all places */
	_Atomic size_t next, failed; /* the first member that is not what it seemed */
	_Atomic uint64_t done;
};

static bool inflate_member(struct team *team, z_stream *z, const struct member *member, uint8_t *out)
{
	const uint8_t *data = team->gzip->data;
	const uint32_t size = member_size(data, member);
	if (inflateReset(z))
		return false;
	z->next_in = (uint8_t *)(uintptr_t)data + member->from;
	z->avail_in = (uInt)(member->to - member->from);
	z->next_out = out;
	z->avail_out = size + 1; /* room for one too many */
	return inflate(z, Z_FINISH) == Z_STREAM_END && !z->avail_in && z->avail_out == 1 &&
	       spill_write(team->spill, out, size, member->at + team->shift);
}

static void *work(void *argument)
{
	struct team *team = argument;
	z_stream z = { .next_in = NULL };
	uint8_t *out = malloc(MEMBER_MOST + 1);
	if (!out || inflateInit2(&z, GZIP_ONLY)) {
		free(out);
		return NULL; /* what nobody takes is inflated in order */
	}
	size_t i;
	while ((i = atomic_fetch_add(&team->next, 1)) < team->count && i < atomic_load(&team->failed)) {
		const struct member *member = &team->members[i];
		const bool fits = member->to - member->from <= UINT32_MAX;
		if (!fits || !inflate_member(team, &z, member, out)) {
			size_t first = atomic_load(&team->failed);
			while (i < first && !atomic_compare_exchange_weak(&team->failed, &first, i))
				;
			break;
		}
		const uint64_t done = atomic_fetch_add(&team->done, member->to - member->from);
		if (team->gzip->progress && i % 16 == 0)
			team->gzip->progress(team->gzip->context, done, team->gzip->len);
	}
	inflateEnd(&z);
	free(out);
	return NULL;
}

/*
 * Inflates members from number `first` on by all cores, to `shift` bytes behind their places. The number of the first
 * one that is not as it seemed.
 */
static size_t unpack_members(struct gzip *gzip, struct spill *spill, const struct member *members, size_t first,
			     size_t count, uint64_t shift)
{
	struct team team = { .gzip = gzip, .spill = spill, .members = members, .count = count, .shift = shift, .next = first,
			     .failed = count };
	pthread_t threads[THREADS_MOST];
	unsigned started = 0;
	/* This thread works too. */
	while (started + 1 < gzip->threads && started < THREADS_MOST && first + started + 1 < count &&
	       !pthread_create(&threads[started], NULL, work, &team))
		started++;
	work(&team);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	const size_t taken = atomic_load(&team.next) < count ? atomic_load(&team.next) : count;
	const size_t whole = atomic_load(&team.failed) < taken ? atomic_load(&team.failed) : taken;
	gzip->members += whole - first;
	if (whole < count)
		gzip->size = members[whole].at + shift;
	else if (count)
		gzip->size = members[count - 1].at + shift + member_size(gzip->data, &members[count - 1]);
	return whole;
}

uint64_t gzip_estimate(const uint8_t *data, uint64_t len)
{
	if (len < 18)
		return 0;
	if (written_by_jvm(data, len)) {
		size_t count;
		uint64_t size = 0;
		struct member *members = find_members(data, len, &count);
		if (members && count)
			size = members[count - 1].at;
		free(members);
		return size;
	}
	/* Of one member the length modulo 2^32; a dump shrinks to a third or less. */
	uint64_t size = le32(data + len - 4);
	while (size < len)
		size += UINT64_C(1) << 32;
	return size > 2000 * len ? 3 * len : size;
}

/* --- in order --- */

struct stream {
	struct gzip *gzip;
	struct spill *spill;
	z_stream z;
	uint8_t *out;
	uint64_t fed;		/* offset behind what zlib was given */
	uint64_t last_member;	/* a later member is known to begin here, or 0 */
	uint64_t member, at;	/* where the member at hand begins, in the file and in the spill */
};

static uint64_t position(const struct stream *s)
{
	return s->fed - s->z.avail_in;
}

static bool flush(struct stream *s)
{
	const size_t len = (size_t)(OUT_BYTES - s->z.avail_out);
	if (len && !spill_write(s->spill, s->out, len, s->gzip->size))
		return false;
	s->gzip->size += len;
	s->z.next_out = s->out;
	s->z.avail_out = OUT_BYTES;
	return true;
}

/* Is there another member at this place? Zeros may fill a block; other bytes are none of ours. -1: there should be one. */
static int another_member(struct stream *s, uint64_t at)
{
	struct gzip *gzip = s->gzip;
	s->member = at;
	s->at = gzip->size;
	if (at >= gzip->len)
		return 0;
	if (gzip->len - at >= 3 && gzip->data[at] == 0x1f && gzip->data[at + 1] == 0x8b && gzip->data[at + 2] == 8)
		return 1;
	if (at < s->last_member) {
		notes_add(gzip->notes, DAMAGED, at, 0, "no gzip member begins here");
		return -1;
	}
	uint64_t end = at;
	while (end < gzip->len && !gzip->data[end])
		end++;
	if (end < gzip->len)
		notes_add(gzip->notes, "bytes behind the end of the gzip data", at, gzip->len - at, NULL);
	return 0;
}

static int unpack_in_order(struct stream *s, uint64_t from)
{
	struct gzip *gzip = s->gzip;
	s->fed = from;
	for (;;) {
		if (!s->z.avail_in) {
			const uint64_t left = gzip->len - s->fed;
			if (gzip->progress)
				gzip->progress(gzip->context, s->fed, gzip->len);
			s->z.next_in = (uint8_t *)(uintptr_t)gzip->data + s->fed;
			s->z.avail_in = left < FEED_BYTES ? (uInt)left : (uInt)FEED_BYTES;
			s->fed += s->z.avail_in;
		}
		const int rc = inflate(&s->z, Z_NO_FLUSH);
		if (s->z.avail_out == 0 || rc != Z_OK) {
			if (!flush(s))
				return -1;
		}
		if (rc == Z_STREAM_END) {
			gzip->members++;
			const int another = another_member(s, position(s));
			if (another <= 0)
				return another ? 1 : 0;
			inflateReset(&s->z);
		} else if (rc == Z_BUF_ERROR && s->fed == gzip->len && !s->z.avail_in) {
			notes_add(gzip->notes, "the gzip data is cut", gzip->len, 0, NULL);
			return 1;
		} else if (rc == Z_MEM_ERROR) {
			return -1;
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			notes_add(gzip->notes, DAMAGED, position(s), 0, "%s",
				  s->z.msg ? s->z.msg : "no gzip member begins here");
			return 1;
		}
	}
}

/* Where unpack_rest() came to an end. */
struct stop {
	uint64_t member, at;	/* where the last member begins, in the file and in the spill */
	uint64_t end;		/* how far in the file zlib came */
	bool length_is_wrong;	/* in its trailer */
};

static bool stream_open(struct stream *s, struct gzip *gzip, struct spill *spill)
{
	*s = (struct stream){ .gzip = gzip, .spill = spill, .out = malloc(OUT_BYTES) };
	if (s->out && !inflateInit2(&s->z, GZIP_ONLY))
		return true;
	free(s->out);
	return false;
}

static void stream_close(struct stream *s)
{
	inflateEnd(&s->z);
	free(s->out);
}

/*
 * Inflates from a place on, one member after another. `last_member` is where one is known to begin, or 0. 0, 1 if it
 * came to an end too early, -1 on an error.
 */
static int unpack_rest(struct stream *s, uint64_t from, uint64_t last_member, struct stop *stop)
{
	inflateReset(&s->z);
	s->last_member = last_member;
	s->member = from;
	s->at = s->gzip->size;
	s->z.avail_in = 0;
	s->z.msg = NULL;
	s->z.next_out = s->out;
	s->z.avail_out = OUT_BYTES;
	const int rc = unpack_in_order(s, from);
	*stop = (struct stop){ s->member, s->at, position(s), s->z.msg && !strcmp(s->z.msg, "incorrect length check") };
	return rc;
}

/* Another thread may have put bytes there before the damage was met. */
static void write_zeros(struct spill *spill, uint64_t from, uint64_t to)
{
	static const uint8_t zeros[65536];
	while (from < to) {
		const uint64_t len = to - from < sizeof zeros ? to - from : sizeof zeros;
		if (!spill_write(spill, zeros, (size_t)len, from))
			return;
		from += len;
	}
}

/*
 * Of what comes after damage: which member is next, and where its bytes go. Its place follows from the length in the
 * trailer before it, unless that is what is damaged. How far zlib came says nothing: it may have run on past the end.
 */
static size_t resume_after(struct gzip *gzip, struct spill *spill, const struct member *members, size_t count, size_t i,
			   const struct stop *stop, uint64_t *shift)
{
	while (i < count && members[i].from <= stop->member)
		i++;
	if (i == count)
		return i;
	const struct member damaged = { .from = stop->member, .to = members[i].from };
	const uint64_t size = stop->length_is_wrong ? 0 : member_size(gzip->data, &damaged);
	const uint64_t to = size ? stop->at + size : gzip->size;
	write_zeros(spill, gzip->size, to);
	if (to > gzip->size)
		notes_add(gzip->notes, "zeros stand for what damaged gzip members held", NOTE_NO_OFFSET, to - gzip->size,
			  "bytes %llu to %llu", (unsigned long long)gzip->size, (unsigned long long)to - 1);
	gzip->size = to;
	*shift = to - members[i].at;
	return i;
}

/*
 * The JVM's members: by all cores, and from one that fails on in order. Where that finds damage, what follows it is
 * still good, and where its bytes go is known.
 */
static int unpack_jvm(struct gzip *gzip, struct spill *spill)
{
	size_t count, i = 0;
	uint64_t shift = 0, again = 0;
	struct stop stop;
	struct stream stream;
	bool damaged = false;
	struct member *members = find_members(gzip->data, gzip->len, &count);
	if (!members || !stream_open(&stream, gzip, spill)) {
		free(members);
		return -1;
	}
	int rc = 0;
	for (unsigned rounds = 0; i < count && !spill->full && !spill->error; rounds++) {
		if (rounds < ROUNDS_MOST)
			i = unpack_members(gzip, spill, members, i, count, shift);
		if (i == count || spill->error)
			break;
		/* What other threads wrote further on took room that is wanted here. */
		if (spill->full)
			spill_cut(spill, gzip->size);
		rc = unpack_rest(&stream, members[i].from, members[count - 1].from, &stop);
		if (rc <= 0)
			break;
		damaged = true;
		i = resume_after(gzip, spill, members, count, i, &stop, &shift);
		again += i < count && stop.end > members[i].from ? stop.end - members[i].from : 0;
		if (again > AGAIN_MOST + gzip->len) {
			notes_add(gzip->notes, "too much damage to look for more gzip members", members[i].from,
				  gzip->len - members[i].from, NULL);
			break;
		}
	}
	stream_close(&stream);
	free(members);
	return rc < 0 ? rc : damaged;
}

int gzip_unpack(struct gzip *gzip, struct spill *spill)
{
	struct stop stop;
	struct stream stream;
	int rc = -1;
	gzip->members = gzip->size = 0;
	if (written_by_jvm(gzip->data, gzip->len)) {
		rc = unpack_jvm(gzip, spill);
	} else if (stream_open(&stream, gzip, spill)) {
		rc = unpack_rest(&stream, 0, 0, &stop);
		stream_close(&stream);
	}
	gzip->whole = !rc && !spill->full && !spill->error;
	if (spill->full)
		notes_add(gzip->notes, "there is no room to unpack the rest", NOTE_NO_OFFSET, 0, "%s took %llu bytes",
			  spill->folder, (unsigned long long)gzip->size);
	return spill->error || (rc < 0 && !spill->full) ? -1 : 0;
}
