/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cutreader: reads a mount from many threads while its dump is being cut or written over, and knows what each
 * byte must be.
 *
 *     cutreader dump FILE SEED		writes a dump of large arrays and texts; the same size for any seed
 *     cutreader golden MOUNT FILE	keeps what everything in an unharmed mount holds
 *     cutreader read MOUNT FILE	reads at random until SIGTERM and some thousand reads; SIGUSR1 begins to count anew
 *     cutreader pieces FILE		writes a file to standard output in pieces of 64 KiB out of order
 *
 * The rule for `read`: what is read is what was kept, or the read fails with EIO. Everything else is wrong: a
 * byte, a size, an end too soon, a name too few, another error, an answer that does not come. It prints "reading"
 * once it heeds signals, and in the end
 * "reads N errors N wrong N" and the errors by files, links and folders; what was wrong, the first few, before.
 *
 * The kernel must not answer in the server's place. So files are opened with O_DIRECT, or their cached pages are
 * dropped, and root remounts now and then, which makes the kernel forget names, links and attributes.
 */
#include "samples.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define READ_MOST (256u << 10)
#define PIECE 65536
/* An answer that takes longer, in seconds, is a hang; machines that test are slow at times. */
#define PATIENCE 30
#define SHOWN_MOST 20
/* Reads and errors before it ends. */
#define COUNTED_LEAST 6000
/* What is read more often than other files. */
#define LARGE 50000

static uint64_t next_random(uint64_t *state, uint64_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (*state >> 31) % below;
}

static int failed(const char *what)
{
	fprintf(stderr, "cutreader: %s: %s\n", what, strerror(errno));
	return 1;
}

/* --- dump --- */

static int write_dump(const char *path, uint64_t seed)
{
	enum { ARRAYS = 120, BYTES = 70000, CHARS = 50000, ELEMENTS = 3000 };
	static uint8_t data[BYTES];
	static uint16_t units[CHARS];
	static uint64_t elements[ELEMENTS];
	uint64_t state = 1, holder = 0, text = 0;
	struct writer out;
	struct vm vm;
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t array = vm_define(&vm, "[Ljava/lang/Object;", vm.object, "");
	const uint64_t class = vm_define(&vm, "test/Holder", vm.object, "data:L text:L next:L n:J");
	for (unsigned i = 0; i < ARRAYS; i++) {
		/* Lengths do not depend on the seed, contents do. */
		const uint32_t len = BYTES / 2 + (uint32_t)next_random(&state, BYTES / 2);
		for (uint32_t j = 0; j < len; j++)
			data[j] = (uint8_t)next_random(&seed, 256);
		const uint64_t bytes = vm_primitive_array(&vm, i % 5 ? TYPE_BYTE : TYPE_INT, data, i % 5 ? len : len / 4);
		for (unsigned j = 0; i % 3 == 0 && j < CHARS; j++)
			units[j] = (uint16_t)((i % 2 ? 0x400 : 'a') + next_random(&seed, 26));
		if (i % 3 == 0)
			text = vm_string_units(&vm, units, CHARS);
		for (unsigned j = 0; i % 10 == 0 && j < ELEMENTS; j++)
			elements[j] = j % 2 ? bytes : text;
		if (i % 10 == 0)
			vm_object_array(&vm, array, elements, ELEMENTS);
		for (unsigned j = 0; j < 10; j++)
			holder = VM_NEW(&vm, class, bytes, text, holder, next_random(&seed, UINT64_C(1) << 32));
	}
	vm_root(&vm, ROOT_JNI_GLOBAL, holder);
	writer_init(&out, 8);
	vm_finish(&vm, "JAVA PROFILE 1.0.2", &out);
	const int rc = writer_save(&out, path) ? failed(path) : 0;
	writer_free(&out);
	return rc;
}

/* --- golden --- */

/* What stands in the file: a head, the path with its NUL, what is there. */
struct head {
	uint32_t kind, path_len;
	uint64_t len;
};
enum { KIND_FILE, KIND_LINK, KIND_FOLDER, KIND_COUNT };

struct content {
	char *data;
	size_t len, capacity;
};

static void append(struct content *content, const void *data, size_t len)
{
	while (content->capacity - content->len < len) {
		content->capacity = content->capacity ? content->capacity * 2 : 65536;
		content->data = realloc(content->data, content->capacity);
		if (!content->data)
			abort();
	}
	memcpy(content->data + content->len, data, len);
	content->len += len;
}

/* The names in a folder, a line each. 0, or an errno value. */
static int list_folder(int fd, struct content *content)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	if (!dir) {
		const int error = errno;
		close(fd);
		return error;
	}
	content->len = 0;
	while (errno = 0, (entry = readdir(dir))) {
		append(content, entry->d_name, strlen(entry->d_name));
		append(content, "\n", 1);
	}
	const int error = errno;
	closedir(dir);
	return error;
}

static FILE *golden;
static size_t golden_root;
static struct content kept;

static int keep(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	const char *name = path[golden_root] ? path + golden_root + 1 : ".";
	/* The one file that changes, and those that have no bytes of the dump. */
	if (!strcmp(name, "graph/progress.txt") || !strncmp(name, "graph/dominators/", strlen("graph/dominators/")))
		return 0;
	struct head head = { KIND_FOLDER, (uint32_t)strlen(name) + 1, 0 };
	if (!strcmp(name, "info.txt"))
		return 0; /* names the dump */
	kept.len = 0;
	if (S_ISLNK(st->st_mode)) {
		char target[4096];
		const ssize_t len = readlink(path, target, sizeof target);
		if (len < 0)
			return failed(path);
		head.kind = KIND_LINK;
		append(&kept, target, (size_t)len);
	} else {
		const int fd = open(path, O_RDONLY);
		if (fd < 0)
			return failed(path);
		if (S_ISDIR(st->st_mode)) {
			if ((errno = list_folder(fd, &kept)))
				return failed(path);
		} else {
			char buffer[PIECE];
			ssize_t got;
			head.kind = KIND_FILE;
			while ((got = read(fd, buffer, sizeof buffer)) > 0)
				append(&kept, buffer, (size_t)got);
			close(fd);
			if (got < 0 || kept.len != (size_t)st->st_size)
				return failed(path);
		}
	}
	head.len = kept.len;
	return fwrite(&head, sizeof head, 1, golden) != 1 || fwrite(name, head.path_len, 1, golden) != 1 ||
	       (kept.len && fwrite(kept.data, kept.len, 1, golden) != 1);
}

static int keep_all(const char *mount, const char *path)
{
	golden = fopen(path, "wb");
	if (!golden)
		return failed(path);
	golden_root = strlen(mount);
	const int rc = nftw(mount, keep, 32, FTW_PHYS);
	free(kept.data);
	return fclose(golden) || rc ? 1 : 0;
}

/* --- read --- */

struct thing {
	unsigned kind;
	const char *path;
	const char *data;
	uint64_t len;
};

/* By kind, and once more those that are large; and the dump itself, which alone has every byte. */
enum { POOL_LARGE = KIND_COUNT, POOL_DUMP, POOL_COUNT };
static struct pool {
	struct thing *things;
	size_t count;
} pools[POOL_COUNT];
static int mount_fd;
static atomic_bool stop;
static _Atomic uint64_t reads, wrong, errors[KIND_COUNT];
static _Atomic uint64_t turns[THREADS];
static _Atomic unsigned counting; /* raised by SIGUSR1; what began before is not counted */

static void add_thing(struct pool *pool, const struct thing *thing)
{
	if (!(pool->count & (pool->count + 1))) {
		pool->things = reallocarray(pool->things, 2 * (pool->count + 1), sizeof *pool->things);
		if (!pool->things)
			abort();
	}
	pool->things[pool->count++] = *thing;
}

static bool load(const char *path)
{
	struct stat st;
	const int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		return false;
	const char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0), *end = p + st.st_size;
	close(fd);
	if (p == MAP_FAILED)
		return false;
	while (p < end) {
		struct head head;
		memcpy(&head, p, sizeof head);
		p += sizeof head;
		const struct thing thing = { head.kind, p, p + head.path_len, head.len };
		add_thing(&pools[thing.kind], &thing);
		if (thing.kind == KIND_FILE && thing.len >= LARGE)
			add_thing(&pools[POOL_LARGE], &thing);
		if (!strcmp(thing.path, "raw.hprof"))
			add_thing(&pools[POOL_DUMP], &thing);
		p += head.path_len + head.len;
	}
	return pools[KIND_FILE].count && pools[KIND_LINK].count && pools[KIND_FOLDER].count;
}

__attribute__((format(printf, 2, 3))) static void report(const struct thing *thing, const char *format, ...)
{
	char why[256];
	va_list args;
	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	if (atomic_fetch_add(&wrong, 1) < SHOWN_MOST)
		printf("%s: %s\n", thing->path, why);
}

/* An errno value: EIO is how it should be, all else is wrong. */
static void count_error(const struct thing *thing, int error, const char *what, unsigned since)
{
	if (error != EIO)
		report(thing, "%s: %s", what, strerror(error));
	else if (since == atomic_load(&counting))
		atomic_fetch_add(&errors[thing->kind], 1);
}

struct reader {
	unsigned number;
	uint64_t random;
	char *buffer;		/* READ_MOST bytes, aligned */
	struct content names;
};

static void read_stretch(const struct thing *thing, int fd, struct reader *reader, unsigned since)
{
	uint64_t offset = next_random(&reader->random, thing->len + 1);
	if (thing->len > 30000 && !next_random(&reader->random, 4))
		offset = thing->len - 1 - next_random(&reader->random, 30000);
	uint64_t want = 1 + next_random(&reader->random, next_random(&reader->random, 4) ? 20000 : READ_MOST);
	if (!next_random(&reader->random, 3))
		offset = offset / 4096 * 4096;
	if (want > thing->len - offset && next_random(&reader->random, 2))
		want = thing->len - offset;
	for (uint64_t done = 0; done < want;) {
		const ssize_t got = pread(fd, reader->buffer, want - done, (off_t)(offset + done));
		if (got < 0) {
			count_error(thing, errno, "reading", since);
			return;
		}
		const uint64_t at = offset + done, left = thing->len - at;
		if (!got) {
			if (left)
				report(thing, "ends at %" PRIu64 ", not at %" PRIu64, at, thing->len);
			break;
		}
		if ((uint64_t)got > left) {
			report(thing, "goes on behind its end at %" PRIu64, thing->len);
			return;
		}
		if (memcmp(reader->buffer, thing->data + at, (size_t)got)) {
			size_t i = 0;
			while (reader->buffer[i] == thing->data[at + i])
				i++;
			report(thing, "byte %" PRIu64 " is 0x%02x, not 0x%02x; read of %" PRIu64 " at %" PRIu64, at + i,
			       (uint8_t)reader->buffer[i], (uint8_t)thing->data[at + i], want, offset);
			return;
		}
		done += (uint64_t)got;
	}
	if (since == atomic_load(&counting))
		atomic_fetch_add(&reads, 1);
}

static void read_file(const struct thing *thing, struct reader *reader, unsigned since)
{
	const bool direct = next_random(&reader->random, 2);
	int fd = openat(mount_fd, thing->path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
	if (fd < 0 && direct && errno == EINVAL)
		fd = openat(mount_fd, thing->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		count_error(thing, errno, "opening", since);
		return;
	}
	struct stat st;
	if (fstat(fd, &st))
		count_error(thing, errno, "fstat", since);
	else if ((uint64_t)st.st_size != thing->len)
		report(thing, "has %jd bytes, not %" PRIu64, (intmax_t)st.st_size, thing->len);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	for (unsigned i = 0; i < 3; i++)
		read_stretch(thing, fd, reader, since);
	close(fd);
}

static void read_link(const struct thing *thing, struct reader *reader, unsigned since)
{
	const ssize_t len = readlinkat(mount_fd, thing->path, reader->buffer, READ_MOST);
	if (len < 0)
		count_error(thing, errno, "readlink", since);
	else if ((uint64_t)len != thing->len || memcmp(reader->buffer, thing->data, thing->len))
		report(thing, "leads to %.*s", (int)len, reader->buffer);
	else if (since == atomic_load(&counting))
		atomic_fetch_add(&reads, 1);
}

static void read_folder(const struct thing *thing, struct reader *reader, unsigned since)
{
	const int fd = openat(mount_fd, thing->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int error = fd < 0 ? errno : list_folder(fd, &reader->names);
	if (error)
		count_error(thing, error, "listing", since);
	else if (reader->names.len != thing->len || memcmp(reader->names.data, thing->data, thing->len))
		report(thing, "lists %zu bytes of names, not %" PRIu64, reader->names.len, thing->len);
	else if (since == atomic_load(&counting))
		atomic_fetch_add(&reads, 1);
}

static void *read_on(void *argument)
{
	struct reader *reader = argument;
	while (!atomic_load(&stop)) {
		static const uint8_t shares[] = { POOL_LARGE, POOL_LARGE, KIND_FILE, KIND_FILE, KIND_LINK, KIND_FOLDER };
		const unsigned share = next_random(&reader->random, 32) ? shares[next_random(&reader->random, sizeof shares)] :
									  (unsigned)POOL_DUMP;
		const struct pool *pool = &pools[share];
		if (!pool->count)
			continue;
		const struct thing *thing = &pool->things[next_random(&reader->random, pool->count)];
		const unsigned since = atomic_load(&counting);
		switch (thing->kind) {
		case KIND_FILE:
			read_file(thing, reader, since);
			break;
		case KIND_LINK:
			read_link(thing, reader, since);
			break;
		default:
			read_folder(thing, reader, since);
		}
		atomic_fetch_add(&turns[reader->number], 1);
	}
	return NULL;
}

static bool any_stuck(time_t now)
{
	static struct {
		uint64_t turns;
		time_t since;
	} seen[THREADS];
	for (unsigned i = 0; i < THREADS; i++) {
		const uint64_t done = atomic_load(&turns[i]);
		if (!seen[i].since || done != seen[i].turns) {
			seen[i].turns = done;
			seen[i].since = now;
		} else if (now - seen[i].since > PATIENCE) {
			return true;
		}
	}
	return false;
}

/* Makes the kernel forget names, links and attributes now and then; only root may. */
static void *forget_on(void *mount_point)
{
	while (!atomic_load(&stop)) {
		const struct timespec moment = { 0, 20000000 };
		if (mount(NULL, mount_point, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL))
			break;
		nanosleep(&moment, NULL);
	}
	return NULL;
}

static void count_anew(void)
{
	atomic_fetch_add(&counting, 1);
	atomic_store(&reads, 0);
	for (unsigned i = 0; i < KIND_COUNT; i++)
		atomic_store(&errors[i], 0);
}

static uint64_t counted(void)
{
	return atomic_load(&reads) + atomic_load(&errors[KIND_FILE]) + atomic_load(&errors[KIND_LINK]) +
	       atomic_load(&errors[KIND_FOLDER]);
}

static int read_all(char *mount_point, const char *path)
{
	static struct reader readers[THREADS];
	pthread_t threads[THREADS], forgetting;
	sigset_t signals;
	if (!load(path))
		return failed(path);
	mount_fd = open(mount_point, O_PATH | O_DIRECTORY | O_CLOEXEC); /* asks nothing of the server */
	if (mount_fd < 0)
		return failed(mount_point);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < THREADS; i++) {
		readers[i].number = i;
		readers[i].random = i + 1;
		readers[i].buffer = aligned_alloc(4096, READ_MOST);
		if (!readers[i].buffer || pthread_create(&threads[i], NULL, read_on, &readers[i]))
			return failed("starting threads");
	}
	puts("reading");
	if (pthread_create(&forgetting, NULL, forget_on, mount_point))
		return failed("starting threads");
	for (bool ended = false; !ended || counted() < COUNTED_LEAST;) {
		const struct timespec moment = { 0, 20000000 };
		const int sig = sigtimedwait(&signals, NULL, &moment);
		ended |= sig == SIGTERM;
		if (sig == SIGUSR1)
			count_anew();
		if (any_stuck(time(NULL))) {
			printf("no answer for %d seconds\n", PATIENCE);
			_exit(3);
		}
	}
	atomic_store(&stop, true);
	alarm(PATIENCE); /* a hang ends it with SIGALRM */
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		free(readers[i].buffer);
		free(readers[i].names.data);
	}
	pthread_join(forgetting, NULL);
	for (unsigned i = 0; i < POOL_COUNT; i++)
		free(pools[i].things);
	close(mount_fd);
	printf("reads %" PRIu64 " errors %" PRIu64 " wrong %" PRIu64 " files %" PRIu64 " links %" PRIu64 " folders %" PRIu64 "\n",
	       reads, errors[KIND_FILE] + errors[KIND_LINK] + errors[KIND_FOLDER], wrong, errors[KIND_FILE],
	       errors[KIND_LINK], errors[KIND_FOLDER]);
	return wrong ? 1 : 0;
}

/* --- pieces --- */

static uint64_t common_factor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static int write_pieces(const char *path)
{
	static char buffer[PIECE];
	struct stat st;
	const int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		return failed(path);
	const uint64_t count = ((uint64_t)st.st_size + PIECE - 1) / PIECE;
	/* A step that shares no factor with the count comes to each piece once. */
	uint64_t step = count * 5 / 8 | 1, at = 0;
	while (common_factor(step, count) > 1)
		step += 2;
	for (uint64_t i = 0; i < count; i++, at = (at + step) % count) {
		const ssize_t got = pread(fd, buffer, PIECE, (off_t)(at * PIECE));
		if (got <= 0 || write(STDOUT_FILENO, buffer, (size_t)got) != got)
			return failed(path);
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "dump"))
		return write_dump(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "golden"))
		return keep_all(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "read"))
		return read_all(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "pieces"))
		return write_pieces(argv[2]);
	fputs("usage: cutreader dump FILE SEED | golden MOUNT FILE | read MOUNT FILE | pieces FILE\n", stderr);
	return 2;
}
