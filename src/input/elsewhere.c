/* SPDX-License-Identifier: Apache-2.0 */
#include "input/elsewhere.h"

#include "input/map.h"
#include "input/picture_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes room for one more item of a list. NULL without memory. */
static void *add(void *list, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return list;
	const size_t wanted = *capacity ? *capacity * 2 : 8;
	void *grown = reallocarray(list, wanted, size);
	if (grown)
		*capacity = wanted;
	return grown;
}

/* The new set's number; -1 without memory, or where there are too many. Process and folder become the set's. */
static int add_set(struct elsewhere *elsewhere, uint32_t pid, char *process, char *folder)
{
	struct elsewhere_set *grown = elsewhere->set_count == ELSEWHERE_SETS_MOST ? NULL :
		add(elsewhere->sets, elsewhere->set_count, &elsewhere->set_capacity, sizeof *grown);
	if (!grown) {
		free(process);
		free(folder);
		errno = elsewhere->set_count == ELSEWHERE_SETS_MOST ? E2BIG : ENOMEM;
		return -1;
	}
	elsewhere->sets = grown;
	grown[elsewhere->set_count] = (struct elsewhere_set){ elsewhere->place_count - 1, pid, process, folder };
	return (int)elsewhere->set_count++;
}

/* False without memory. Those past the most are noted. */
static bool add_picture(struct elsewhere *elsewhere, const struct elsewhere_picture *picture)
{
	struct elsewhere_place *place = elsewhere->places[elsewhere->place_count - 1];
	if (elsewhere->picture_count == PICTURES_MOST) {
		notes_add(&elsewhere->notes, "more pictures than can be shown", NOTE_NO_OFFSET, 0, "%s", place->path);
		free(picture->name);
		return true;
	}
	struct elsewhere_picture *grown =
		add(elsewhere->pictures, elsewhere->picture_count, &elsewhere->picture_capacity, sizeof *grown);
	if (!grown) {
		free(picture->name);
		return false;
	}
	elsewhere->pictures = grown;
	grown[elsewhere->picture_count++] = *picture;
	place->count++;
	return true;
}

static struct elsewhere_place *add_place(struct elsewhere *elsewhere, const char *path, bool beside)
{
	/* Each on its own: the handler of SIGBUS knows where a trace's input is. */
	struct elsewhere_place **grown = add(elsewhere->places, elsewhere->place_count, &elsewhere->place_capacity, sizeof *grown);
	struct elsewhere_place *place = grown ? calloc(1, sizeof *place) : NULL;
	elsewhere->places = grown ? grown : elsewhere->places;
	if (!place)
		return NULL;
	place->path = realpath(path, NULL);
	if (!place->path) {
		free(place);
		return NULL;
	}
	place->beside = beside;
	place->folder = place->trace.in.fd = -1;
	pthread_mutex_init(&place->lock, NULL);
	grown[elsewhere->place_count++] = place;
	return place;
}

static enum elsewhere_by key_of(const char *name, uint64_t *key)
{
	*key = picture_pointer(name);
	if (*key)
		return ELSEWHERE_BY_POINTER;
	*key = picture_id(name);
	return *key ? ELSEWHERE_BY_ID : ELSEWHERE_BY_NOTHING;
}

/* --- folders --- */

/* "pid-4821-com.example.app", as am dumpbitmaps names what is of a process; its name begins at *process. */
static bool is_process_folder(const char *name, uint32_t *pid, const char **process)
{
	char *end;
	if (strncmp(name, "pid-", 4) || name[4] < '0' || name[4] > '9')
		return false;
	errno = 0;
	const unsigned long number = strtoul(name + 4, &end, 10);
	*pid = (uint32_t)number;
	*process = end + 1;
	return !errno && number <= INT32_MAX && *end == '-' && end[1];
}

static bool is_wanted_file(const char *name)
{
	uint64_t key;
	return picture_named(name) && key_of(name, &key) != ELSEWHERE_BY_NOTHING;
}

static bool is_wanted(const char *name)
{
	uint32_t pid;
	const char *process;
	return is_wanted_file(name) || is_process_folder(name, &pid, &process);
}

/* The pictures of a folder that is open; not the folders in it. 0, or -1 with errno. */
static int add_files(struct elsewhere *elsewhere, const struct picture_folder *folder, int set)
{
	for (size_t i = 0; i < folder->count; i++) {
		struct elsewhere_picture picture = { .set = (uint32_t)set };
		if (!is_wanted_file(folder->names[i]))
			continue;
		picture.by = key_of(folder->names[i], &picture.key);
		picture.name = strdup(folder->names[i]);
		if (!picture.name || !add_picture(elsewhere, &picture)) {
			errno = ENOMEM;
			return -1;
		}
	}
	if (folder->left_out)
		notes_add(&elsewhere->notes, "more pictures than can be shown", NOTE_NO_OFFSET, 0, "%s",
			  elsewhere->places[elsewhere->place_count - 1]->path);
	return 0;
}

/* A process's folder in one that is open. What is none, a file or a link of such a name, is passed over. */
static int add_process_folder(struct elsewhere *elsewhere, int at, const char *name)
{
	struct picture_folder folder;
	uint32_t pid;
	const char *process;
	int rc = picture_folder_open(&folder, at, name, false, is_wanted_file);
	if (rc && (errno == ENOTDIR || errno == ELOOP || errno == EACCES || errno == ENOENT)) {
		rc = 0;
	} else if (!rc && folder.count && is_process_folder(name, &pid, &process)) {
		const int set = add_set(elsewhere, pid, strdup(process), strdup(name));
		if (set < 0 && errno == E2BIG)
			notes_add(&elsewhere->notes, "pictures of more processes than can be told apart", NOTE_NO_OFFSET, 0, NULL);
		else
			rc = set < 0 || !elsewhere->sets[set].process || !elsewhere->sets[set].folder ? -1 :
											  add_files(elsewhere, &folder, set);
	}
	picture_folder_close(&folder);
	return rc;
}

static int open_folder(struct elsewhere *elsewhere, struct picture_folder *folder)
{
	struct elsewhere_place *place = elsewhere->places[elsewhere->place_count - 1];
	const char *name = strrchr(place->path, '/') + 1, *process = NULL;
	uint32_t pid = 0;
	const bool own = is_process_folder(name, &pid, &process);
	const int set = add_set(elsewhere, own ? pid : 0, own ? strdup(process) : NULL, NULL);
	place->folder = fcntl(folder->fd, F_DUPFD_CLOEXEC, 3);
	if (set < 0 || place->folder < 0 || (own && !elsewhere->sets[set].process))
		return -1;
	int rc = add_files(elsewhere, folder, set);
	for (size_t i = 0; i < folder->count && !rc; i++)
		if (!is_wanted_file(folder->names[i]))
			rc = add_process_folder(elsewhere, folder->fd, folder->names[i]);
	return rc;
}

/* --- stamps --- */

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static bool take_stamp(int fd, bool trace, struct elsewhere_stamp *stamp)
{
	struct stat st;
	if (fstat(fd, &st))
		return false;
	*stamp = (struct elsewhere_stamp){ .device = st.st_dev, .inode = st.st_ino, .size = (uint64_t)st.st_size,
					.written = nanoseconds(&st.st_mtim),
					.changed = trace ? 0 : nanoseconds(&st.st_ctim) };
	return true;
}

static bool same_stamp(const struct elsewhere_stamp *a, const struct elsewhere_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size && a->written == b->written &&
	       a->changed == b->changed;
}

/* --- traces --- */

static int open_trace(struct elsewhere *elsewhere, struct elsewhere_place *place, const struct elsewhere_options *options, char *error,
		      size_t error_size)
{
	const struct container_options wanted = { .tmpdir = options->tmpdir, .threads = options->threads, .pictures = true };
	struct map sets = { .keys = NULL };
	if (container_open(&place->trace, place->path, &wanted, error, error_size))
		return -1;
	if (!take_stamp(place->trace.in.fd, true, &place->stamp)) {
		snprintf(error, error_size, "%s: %s", place->path, strerror(errno));
		return -1;
	}
	struct trace *trace = &place->trace.trace;
	for (size_t i = 0; i < place->trace.notes.count; i++) {
		const struct note *note = &place->trace.notes.list[i];
		notes_add(&elsewhere->notes, note->kind, note->offset, note->bytes, "%s%s%s", place->path, note->detail ? ": " : "",
			  note->detail ? note->detail : "");
	}
	int rc = 0;
	const size_t count = trace_picture_count(trace);
	for (size_t i = 0; i < count && !rc; i++) {
		struct trace_found found;
		if (!trace_picture_find(trace, i, &found)) {
			notes_add(&elsewhere->notes, "packets that cannot be inflated again", NOTE_NO_OFFSET, found.len, NULL);
			continue;
		}
		struct elsewhere_picture picture = { .number = (uint32_t)i, .offset = found.offset, .len = found.len,
						  .packed = found.packed, .set = map_find(&sets, found.pid) };
		picture.by = key_of(found.name, &picture.key);
		free(found.name);
		if (picture.set == MAP_NONE) {
			const int set = add_set(elsewhere, found.pid, trace_process_name(trace, found.pid), NULL);
			if (set < 0 && errno == E2BIG) {
				notes_add(&elsewhere->notes, "pictures of more processes than can be told apart", NOTE_NO_OFFSET, 0, NULL);
				continue;
			}
			picture.set = (uint32_t)set;
			rc = set < 0 || !map_set(&sets, found.pid, picture.set) ? -1 : 0;
		}
		if (!rc && !add_picture(elsewhere, &picture))
			rc = -1;
	}
	map_free(&sets);
	if (rc)
		snprintf(error, error_size, "%s: %s", place->path, strerror(ENOMEM));
	return rc;
}

/* --- places --- */

static int open_path(struct elsewhere *elsewhere, const struct elsewhere_options *options, const char *path, char *error,
		     size_t error_size)
{
	struct picture_folder folder;
	struct stat st;
	struct elsewhere_place *place = stat(path, &st) ? NULL : add_place(elsewhere, path, false);
	if (!place) {
		snprintf(error, error_size, "pixels=%s: cannot open: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		return open_trace(elsewhere, place, options, error, error_size);
	int rc = picture_folder_open(&folder, AT_FDCWD, path, true, is_wanted);
	if (!rc)
		rc = open_folder(elsewhere, &folder);
	if (rc)
		snprintf(error, error_size, "pixels=%s: %s", path, strerror(errno));
	picture_folder_close(&folder);
	if (!rc && !elsewhere->places[elsewhere->place_count - 1]->count) {
		snprintf(error, error_size, "pixels=%s: no picture is named after a native pointer (0x7b3c00aa10.png) in this folder, "
			 "nor as am dumpbitmaps does (pid-4821-com.example.app/bitmap-48211000001.png)", path);
		rc = -1;
	}
	return rc;
}

/* The folder beside the dump: not a link, and the dump's owner's, or whoever may write beside it would say what is seen. */
int elsewhere_open_beside(struct elsewhere *elsewhere, const char *dump, uid_t owner, char *error, size_t error_size)
{
	static const char unused[] = "the pictures beside the dump are not used";
	struct picture_folder folder = { .fd = -1 };
	struct stat st;
	char *path;
	if (asprintf(&path, "%s.bitmaps", dump) < 0) {
		snprintf(error, error_size, "%s: %s", dump, strerror(ENOMEM));
		return -1;
	}
	elsewhere->owner = owner;
	int rc = 0;
	if (lstat(path, &st)) {
		if (errno != ENOENT && errno != ENAMETOOLONG)
			notes_add(&elsewhere->notes, unused, NOTE_NO_OFFSET, 0, "%s: %s", path, strerror(errno));
	} else if (!S_ISDIR(st.st_mode)) {
		notes_add(&elsewhere->notes, unused, NOTE_NO_OFFSET, 0, "%s is no folder", path);
	} else if (picture_folder_open(&folder, AT_FDCWD, path, false, is_wanted) || fstat(folder.fd, &st)) {
		notes_add(&elsewhere->notes, unused, NOTE_NO_OFFSET, 0, "%s: %s", path, strerror(errno));
	} else if (st.st_uid != owner) {
		notes_add(&elsewhere->notes, unused, NOTE_NO_OFFSET, 0, "%s is of user %u, the dump of user %u; -o pixels=%s uses it",
			  path, (unsigned)st.st_uid, (unsigned)owner, path);
	} else if (!add_place(elsewhere, path, true) || open_folder(elsewhere, &folder)) {
		snprintf(error, error_size, "%s: %s", path, strerror(errno));
		rc = -1;
	}
	picture_folder_close(&folder);
	free(path);
	return rc;
}

int elsewhere_open(struct elsewhere *elsewhere, const struct elsewhere_options *options, char *error, size_t error_size)
{
	memset(elsewhere, 0, sizeof *elsewhere);
	notes_init(&elsewhere->notes);
	for (size_t i = 0; i < options->path_count; i++)
		if (open_path(elsewhere, options, options->paths[i], error, error_size))
			return -1;
	return 0;
}

void elsewhere_close(struct elsewhere *elsewhere)
{
	for (uint32_t i = 0; i < elsewhere->picture_count; i++)
		free(elsewhere->pictures[i].name);
	for (uint32_t i = 0; i < elsewhere->set_count; i++) {
		free(elsewhere->sets[i].process);
		free(elsewhere->sets[i].folder);
	}
	for (uint32_t i = 0; i < elsewhere->place_count; i++) {
		struct elsewhere_place *place = elsewhere->places[i];
		if (place->folder >= 0)
			close(place->folder);
		else
			container_close(&place->trace);
		pthread_mutex_destroy(&place->lock);
		free(place->path);
		free(place);
	}
	free(elsewhere->pictures);
	free(elsewhere->sets);
	free(elsewhere->places);
	notes_free(&elsewhere->notes);
	memset(elsewhere, 0, sizeof *elsewhere);
}

/* --- pictures --- */

/* A file of a folder, or of one in it, neither through a link. */
static int open_file(const struct elsewhere_place *place, const char *folder, const char *name, struct stat *st)
{
	const int at = folder ? openat(place->folder, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : place->folder;
	const int fd = at < 0 ? -1 : picture_file_open(at, name, false, st);
	const int error = errno;
	if (folder && at >= 0)
		close(at);
	errno = error;
	return fd;
}

enum elsewhere_state elsewhere_file_open(struct elsewhere_file *file, const struct elsewhere *elsewhere, uint32_t number)
{
	const struct elsewhere_picture *picture = &elsewhere->pictures[number];
	const struct elsewhere_set *set = &elsewhere->sets[picture->set];
	struct elsewhere_place *place = elsewhere->places[set->place];
	struct stat st;
	*file = (struct elsewhere_file){ .place = place, .picture = picture, .fd = -1 };
	if (place->folder < 0) {
		file->len = picture->len;
		return take_stamp(place->trace.in.fd, true, &file->stamp) && same_stamp(&file->stamp, &place->stamp) ?
			       ELSEWHERE_READABLE :
			       ELSEWHERE_GONE;
	}
	file->fd = open_file(place, set->folder, picture->name, &st);
	if (file->fd < 0)
		return errno == EINVAL ? ELSEWHERE_NO_FILE : ELSEWHERE_GONE;
	const enum elsewhere_state state = !take_stamp(file->fd, false, &file->stamp)	       ? ELSEWHERE_GONE :
					place->beside && st.st_uid != elsewhere->owner	       ? ELSEWHERE_OTHER_OWNER :
					(uint64_t)st.st_size > PICTURE_BYTES_MOST	       ? ELSEWHERE_TOO_LARGE :
												 ELSEWHERE_READABLE;
	file->len = file->stamp.size;
	if (state != ELSEWHERE_READABLE) {
		close(file->fd);
		file->fd = -1;
	}
	return state;
}

static bool read_fd(int fd, uint64_t offset, size_t len, uint8_t *out)
{
	for (size_t done = 0; done < len;) {
		const ssize_t got = pread(fd, out + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

bool elsewhere_file_read(const struct elsewhere_file *file, uint64_t offset, size_t len, void *out)
{
	const struct elsewhere_picture *picture = file->picture;
	if (offset > file->len || len > file->len - offset)
		return false;
	if (file->fd >= 0)
		return read_fd(file->fd, offset, len, out);
	if (!picture->packed)
		return read_fd(file->place->trace.in.fd, picture->offset + offset, len, out);
	pthread_mutex_lock(&file->place->lock);
	const bool copied = trace_picture_copy(&file->place->trace.trace, picture->number, offset, len, out);
	pthread_mutex_unlock(&file->place->lock);
	return copied;
}

bool elsewhere_file_close(struct elsewhere_file *file)
{
	struct elsewhere_stamp stamp;
	const bool trace = file->fd < 0;
	const bool same = take_stamp(trace ? file->place->trace.in.fd : file->fd, trace, &stamp) &&
			  same_stamp(&stamp, &file->stamp);
	if (!trace)
		close(file->fd);
	file->fd = -1;
	return same;
}

bool elsewhere_read(const struct elsewhere *elsewhere, uint32_t number, const struct elsewhere_stamp *stamp, uint64_t offset, size_t len,
		 void *out)
{
	struct elsewhere_file file;
	if (elsewhere_file_open(&file, elsewhere, number) != ELSEWHERE_READABLE)
		return false;
	bool right = same_stamp(&file.stamp, stamp) && elsewhere_file_read(&file, offset, len, out);
	right &= elsewhere_file_close(&file);
	return right;
}
