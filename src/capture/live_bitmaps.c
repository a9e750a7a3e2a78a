/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/live_bitmaps.h"

#include "android/picture.h"
#include "capture/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITMAP "Landroid/graphics/Bitmap;"
#define FORMAT "Landroid/graphics/Bitmap$CompressFormat;"
#define STREAM "Ljava/io/ByteArrayOutputStream;"
#define QUALITY 100
/* What is read at once of a byte[]: over adb each answer costs a round trip. */
#define CHUNK_BYTES (UINT32_C(1) << 20)
/* No PNG is larger: eight bytes a pixel (RGBA of 16 bits) and one a line, all incompressible; heads, a colour profile. */
#define PIXEL_MOST 9
#define HEADS_MOST (UINT64_C(4) << 20)
#define PICTURE_MOST (UINT64_C(1) << 30)

struct live_bitmap {
	uint64_t object, pointer;
	uint32_t width, height;
};

struct fetch {
	struct jdwp_session session;
	const struct live_options *options;
	const struct live_sink *sink;
	struct live_result *result;
	int64_t deadline;	/* of the budget of time */
	struct live_bitmap *bitmaps;	/* the drawable ones, most pixels first */
	uint64_t bitmap_class, format_class, stream_class;
	uint64_t compress, construct, to_bytes;	/* methods */
	struct jdwp_value png;
	uint8_t *data;		/* of the picture that is being read */
	size_t capacity;
};

/* After a command that nothing can do without. */
static enum live_end give_up(struct fetch *fetch)
{
	const enum live_end end = jdwp_outcome(&fetch->session.jdwp);
	snprintf(fetch->result->error, sizeof fetch->result->error, "%s", fetch->session.jdwp.error);
	return end == LIVE_DONE ? LIVE_FAILED : end;
}

/* --- which bitmaps there are --- */

enum { POINTER, OLD_POINTER, WIDTH, HEIGHT, RECYCLED, FIELDS };
static const char *const field_names[FIELDS] = { "mNativePtr", "mNativeBitmap", "mWidth", "mHeight", "mRecycled" };

static enum live_end find_fields(struct fetch *fetch, uint64_t *ids, bool *present)
{
	if (jdwp_fields(&fetch->session.jdwp, fetch->bitmap_class, field_names, FIELDS, ids, present))
		return give_up(fetch);
	if ((present[POINTER] || present[OLD_POINTER]) && present[WIDTH] && present[HEIGHT])
		return LIVE_DONE;
	snprintf(fetch->result->error, sizeof fetch->result->error,
		 "the application's android.graphics.Bitmap lacks mWidth, mHeight, or mNativePtr: its pictures cannot be told apart");
	return LIVE_FAILED;
}

/* An int, as a size; 0 for what is none. */
static uint32_t size_of(const struct jdwp_value *value)
{
	return value->tag == 'I' && value->bits <= INT32_MAX ? (uint32_t)value->bits : 0;
}

/* A long, or up to Android 4.4 an int. */
static uint64_t pointer_of(const struct jdwp_value *value)
{
	return value->tag == 'J' || value->tag == 'I' ? value->bits : 0;
}

/* Asks about one; it becomes the next of fetch->bitmaps, or is counted as what has no picture. */
static enum live_end ask_about(struct fetch *fetch, uint64_t object, const uint64_t *ids, const bool *present)
{
	struct live_result *result = fetch->result;
	struct jdwp *jdwp = &fetch->session.jdwp;
	struct jdwp_value answers[FIELDS], values[FIELDS] = { { .tag = 0 } };
	uint64_t asked[FIELDS];
	unsigned count = 0;
	for (unsigned i = 0; i < FIELDS; i++)
		if (present[i])
			asked[count++] = ids[i];
	if (jdwp_values(jdwp, object, asked, count, answers)) {
		if (jdwp->lost)
			return give_up(fetch);
		result->without++;
		return LIVE_DONE;
	}
	for (unsigned i = 0, at = 0; i < FIELDS; i++)
		if (present[i])
			values[i] = answers[at++];
	const struct live_bitmap bitmap = { object, pointer_of(&values[present[POINTER] ? POINTER : OLD_POINTER]),
					    size_of(&values[WIDTH]), size_of(&values[HEIGHT]) };
	if (values[RECYCLED].tag == 'Z' && values[RECYCLED].bits)
		result->recycled++;
	else if (!bitmap.object || !bitmap.pointer || !bitmap.width || !bitmap.height)
		result->without++;
	else
		fetch->bitmaps[result->drawable++] = bitmap;
	return LIVE_DONE;
}

static int most_pixels_first(const void *a, const void *b)
{
	const struct live_bitmap *left = a, *right = b;
	const uint64_t one = (uint64_t)left->width * left->height, other = (uint64_t)right->width * right->height;
	if (one != other)
		return one < other ? 1 : -1;
	return (left->pointer > right->pointer) - (left->pointer < right->pointer);
}

static enum live_end list_bitmaps(struct fetch *fetch)
{
	struct live_result *result = fetch->result;
	uint64_t *objects, ids[FIELDS];
	bool present[FIELDS];
	size_t count;
	enum live_end end = find_fields(fetch, ids, present);
	if (end != LIVE_DONE)
		return end;
	if (jdwp_instances(&fetch->session.jdwp, fetch->bitmap_class, &objects, &count))
		return give_up(fetch);
	result->all = count;
	fetch->bitmaps = calloc(count + 1, sizeof *fetch->bitmaps);
	if (!fetch->bitmaps) {
		snprintf(result->error, sizeof result->error, "no memory for a list of %zu bitmaps", count);
		end = LIVE_FAILED;
	}
	for (size_t i = 0; i < count && end == LIVE_DONE; i++) {
		if (clock_ms() >= fetch->deadline)
			break; /* fetch_all() says so */
		end = ask_about(fetch, objects[i], ids, present);
	}
	free(objects);
	result->unasked = result->all - result->recycled - result->without - result->drawable;
	if (end == LIVE_DONE)
		qsort(fetch->bitmaps, (size_t)result->drawable, sizeof *fetch->bitmaps, most_pixels_first);
	return end;
}

/* --- what is needed to compress one --- */

/*
 * A class that is loaded and initialized, by Class.forName() if it is not yet. With the loader that Bitmap has: on Android
 * that is the system's, whose classes forName() finds without being told whose code calls it.
 */
static int load(struct fetch *fetch, const char *signature, uint64_t *class)
{
	struct jdwp *jdwp = &fetch->session.jdwp;
	struct jdwp_call call = { .thread = fetch->session.thread, .count = 3 };
	uint64_t loader, string;
	char name[64];
	bool initialized = false;
	if (jdwp_class(jdwp, signature, class, &initialized))
		return -1;
	if (*class && initialized)
		return 0;
	snprintf(name, sizeof name, "%.*s", (int)strlen(signature) - 2, signature + 1); /* without L and ; */
	for (char *slash = name; (slash = strchr(slash, '/'));)
		*slash = '.';
	if (jdwp_class_loader(jdwp, fetch->bitmap_class, &loader) || jdwp_class(jdwp, "Ljava/lang/Class;", &call.class, NULL) ||
	    jdwp_method(jdwp, call.class, "forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;",
			&call.method) ||
	    jdwp_string(jdwp, name, &string) || jdwp_collectable(jdwp, string, false))
		return -1;
	call.arguments[0] = (struct jdwp_value){ 's', string };
	call.arguments[1] = (struct jdwp_value){ 'Z', true };
	call.arguments[2] = (struct jdwp_value){ 'L', loader };
	return jdwp_invoke(jdwp, &call, NULL) || jdwp_collectable(jdwp, string, true) || jdwp_class(jdwp, signature, class, NULL) ?
		       -1 :
		       0;
}

static enum live_end find_methods(struct fetch *fetch)
{
	struct jdwp *jdwp = &fetch->session.jdwp;
	static const char *const names[] = { "PNG" };
	uint64_t field;
	bool present;
	if (load(fetch, FORMAT, &fetch->format_class) || load(fetch, STREAM, &fetch->stream_class) ||
	    jdwp_fields(jdwp, fetch->format_class, names, 1, &field, &present) ||
	    (present && jdwp_static_value(jdwp, fetch->format_class, field, &fetch->png)) ||
	    jdwp_method(jdwp, fetch->bitmap_class, "compress", "(" FORMAT "ILjava/io/OutputStream;)Z", &fetch->compress) ||
	    jdwp_method(jdwp, fetch->stream_class, "<init>", "()V", &fetch->construct) ||
	    jdwp_method(jdwp, fetch->stream_class, "toByteArray", "()[B", &fetch->to_bytes))
		return give_up(fetch);
	if (fetch->png.bits)
		return LIVE_DONE;
	snprintf(fetch->result->error, sizeof fetch->result->error, "the application has no Bitmap.CompressFormat.PNG");
	return LIVE_FAILED;
}

/* --- one picture --- */

/* One that has no picture; the others may. */
static void skip(struct fetch *fetch, const struct live_bitmap *bitmap, const char *why)
{
	if (!fetch->result->failed++)
		snprintf(fetch->result->failure, sizeof fetch->result->failure, "0x%" PRIx64 ": %s", bitmap->pointer, why);
}

/* After a command about this bitmap that failed: it is counted, or all is over. */
static enum live_end skip_or_end(struct fetch *fetch, const struct live_bitmap *bitmap)
{
	if (jdwp_outcome(&fetch->session.jdwp) != LIVE_DONE)
		return give_up(fetch);
	skip(fetch, bitmap, fetch->session.jdwp.error);
	return LIVE_DONE;
}

static bool make_room(struct fetch *fetch, size_t len)
{
	if (fetch->capacity >= len)
		return true;
	const size_t wanted = fetch->capacity * 2 > len ? fetch->capacity * 2 : len;
	uint8_t *grown = realloc(fetch->data, wanted);
	if (!grown)
		return false;
	fetch->data = grown;
	fetch->capacity = wanted;
	return true;
}

/* Hands over what was read, if it is a whole picture of the bitmap's size. */
static enum live_end hand_over(struct fetch *fetch, const struct live_bitmap *bitmap, size_t len)
{
	struct picture_head head;
	char why[96];
	picture_head(fetch->data, len, &head);
	if (head.format != PICTURE_PNG || !head.whole) {
		skip(fetch, bitmap, "compress() made something that is no whole PNG");
		return LIVE_DONE;
	}
	if (head.width != bitmap->width || head.height != bitmap->height) {
		snprintf(why, sizeof why, "a bitmap of %" PRIu32 "x%" PRIu32 ", its PNG of %" PRIu32 "x%" PRIu32, bitmap->width,
			 bitmap->height, head.width, head.height);
		skip(fetch, bitmap, why);
		return LIVE_DONE;
	}
	const struct live_picture picture = { bitmap->pointer, bitmap->width, bitmap->height, fetch->data, len };
	if (fetch->sink->picture(fetch->options->context, &picture))
		return LIVE_STOPPED;
	fetch->result->fetched++;
	fetch->result->bytes += len;
	return LIVE_DONE;
}

/* Reads a byte[] that holds a picture. */
static enum live_end read_picture(struct fetch *fetch, const struct live_bitmap *bitmap, uint64_t array)
{
	struct jdwp *jdwp = &fetch->session.jdwp;
	const uint64_t budget = fetch->options->budget_bytes;
	const uint64_t pixels = (uint64_t)bitmap->width * bitmap->height; /* below 2^62 */
	const uint64_t plausible = pixels < PICTURE_MOST ? pixels * PIXEL_MOST + HEADS_MOST : PICTURE_MOST;
	uint32_t len;
	if (jdwp_array_length(jdwp, array, &len))
		return skip_or_end(fetch, bitmap);
	if (len > plausible || len > PICTURE_MOST) {
		skip(fetch, bitmap, "compress() made more bytes than a PNG of this size has");
		return LIVE_DONE;
	}
	if (len > budget) /* it would never fit; others may */
		return LIVE_DONE;
	if (len > budget - fetch->result->bytes)
		return LIVE_BYTES;
	for (uint32_t have = 0; have < len;) {
		const uint32_t step = len - have < CHUNK_BYTES ? len - have : CHUNK_BYTES;
		if (clock_ms() >= fetch->deadline)
			return LIVE_TIME;
		if (!make_room(fetch, (size_t)have + step)) {
			snprintf(fetch->result->error, sizeof fetch->result->error, "no memory for a picture of %" PRIu32 " bytes", len);
			return LIVE_FAILED;
		}
		if (jdwp_array_bytes(jdwp, array, have, step, fetch->data + have))
			return skip_or_end(fetch, bitmap);
		have += step;
	}
	return hand_over(fetch, bitmap, len);
}

/* Calls compress() and toByteArray(). Until it was read, the byte[] must not be collected: nobody else holds it. */
static enum live_end compress(struct fetch *fetch, const struct live_bitmap *bitmap, uint64_t stream)
{
	struct jdwp *jdwp = &fetch->session.jdwp;
	const struct jdwp_call compress = { .thread = fetch->session.thread,
					    .class = fetch->bitmap_class,
					    .method = fetch->compress,
					    .object = bitmap->object,
					    .count = 3,
					    .arguments = { { 'L', fetch->png.bits }, { 'I', QUALITY }, { 'L', stream } } };
	const struct jdwp_call to_bytes = { .thread = fetch->session.thread,
					    .class = fetch->stream_class,
					    .method = fetch->to_bytes,
					    .object = stream };
	struct jdwp_value done, array;
	if (jdwp_invoke(jdwp, &compress, &done))
		return skip_or_end(fetch, bitmap);
	if (done.tag != 'Z' || !done.bits) {
		skip(fetch, bitmap, "compress() returned false");
		return LIVE_DONE;
	}
	if (jdwp_invoke(jdwp, &to_bytes, &array) || jdwp_collectable(jdwp, array.bits, false))
		return skip_or_end(fetch, bitmap);
	const enum live_end end = read_picture(fetch, bitmap, array.bits);
	jdwp_collectable(jdwp, array.bits, true);
	return end;
}

static enum live_end fetch_one(struct fetch *fetch, const struct live_bitmap *bitmap)
{
	struct jdwp *jdwp = &fetch->session.jdwp;
	const struct jdwp_call construct = { .thread = fetch->session.thread,
					     .class = fetch->stream_class,
					     .method = fetch->construct,
					     .construct = true };
	struct jdwp_value stream;
	if (jdwp_invoke(jdwp, &construct, &stream) || jdwp_collectable(jdwp, stream.bits, false))
		return skip_or_end(fetch, bitmap);
	const enum live_end end = compress(fetch, bitmap, stream.bits);
	/* If the connection is lost here, the next command says so. */
	jdwp_collectable(jdwp, stream.bits, true);
	return end;
}

static void tell(struct fetch *fetch)
{
	if (fetch->sink->progress)
		fetch->sink->progress(fetch->options->context, fetch->result);
}

static enum live_end fetch_all(struct fetch *fetch)
{
	struct live_result *result = fetch->result;
	enum live_end end = LIVE_DONE;
	for (uint64_t i = 0; i < result->drawable && end == LIVE_DONE; i++) {
		if (clock_ms() >= fetch->deadline)
			return LIVE_TIME;
		if (result->bytes >= fetch->options->budget_bytes)
			return LIVE_BYTES;
		end = fetch_one(fetch, &fetch->bitmaps[i]);
		tell(fetch);
	}
	if (end != LIVE_DONE)
		return end;
	if (result->fetched + result->failed < result->drawable)
		return LIVE_BYTES; /* some were larger than the whole budget */
	return result->unasked ? LIVE_TIME : LIVE_DONE;
}

/* --- all of it --- */

static enum live_end run(struct fetch *fetch)
{
	struct jdwp *jdwp = &fetch->session.jdwp;
	struct live_result *result = fetch->result;
	enum live_end end = jdwp_attach(&fetch->session, fetch->options);
	memcpy(result->vm, jdwp->vm, sizeof result->vm);
	if (end != LIVE_DONE)
		return give_up(fetch);
	if (!jdwp->instance_info) {
		snprintf(result->error, sizeof result->error, "its virtual machine (%s) cannot list the instances of a class", jdwp->vm);
		return LIVE_REFUSED;
	}
	if (jdwp_class(jdwp, BITMAP, &fetch->bitmap_class, NULL))
		return give_up(fetch);
	if (!fetch->bitmap_class)
		return LIVE_NO_BITMAPS;
	end = jdwp_stop(&fetch->session, fetch->options);
	if (end != LIVE_DONE) {
		give_up(fetch);
		return end;
	}
	fetch->deadline = clock_ms() + (int64_t)(fetch->options->budget_ms < INT32_MAX ? fetch->options->budget_ms : INT32_MAX);
	end = list_bitmaps(fetch);
	if (end != LIVE_DONE)
		return end;
	tell(fetch);
	if (result->drawable) {
		end = find_methods(fetch);
		if (end != LIVE_DONE)
			return end;
	}
	return fetch_all(fetch);
}

enum live_end live_bitmaps_fetch(const struct live_options *options, const struct live_sink *sink,
				 struct live_result *result)
{
	const int64_t start = clock_ms();
	struct fetch fetch = { .options = options, .sink = sink, .result = result };
	*result = (struct live_result){ .end = LIVE_DONE };
	result->end = run(&fetch);
	jdwp_close(&fetch.session.jdwp);
	free(fetch.bitmaps);
	free(fetch.data);
	result->left = result->drawable - result->fetched - result->failed;
	result->ms = (uint64_t)(clock_ms() - start);
	return result->end;
}
