/* SPDX-License-Identifier: Apache-2.0 */
#include "input/graph_image.h"

#include <stdlib.h>

#define IMAGES_EACH 2		/* stretches that a thread may be ahead of the others */
/* For fields that have no reference in the graph zeros are written: so many bytes, and some for each of the graph's. */
#define PADDING_FLOOR (UINT64_C(64) << 20)
#define PADDING_EACH 16

/* Takes the next packet, once there is an image for it; all packets, where there is none. */
static size_t take_packet(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->next < w->graph->packets && w->next - w->written == w->image_count && !w->failed && !w->cut)
		pthread_cond_wait(&w->turn, &w->lock);
	const size_t packet = w->failed || w->cut || w->next == w->graph->packets ? w->graph->packets : w->next++;
	pthread_mutex_unlock(&w->lock);
	return packet;
}

/* This image is done: writes out all that are and have nothing before them that is not. */
static void write_done(struct writer *w, struct image *m)
{
	pthread_mutex_lock(&w->lock);
	m->done = true;
	for (; (m = &w->images[w->written % w->image_count])->done; w->written++) {
		m->done = false;
		image_write_out(m);
		if (w->failed)
			break;
	}
	pthread_cond_broadcast(&w->turn);
	pthread_mutex_unlock(&w->lock);
}

/* The objects of one packet after another. */
static void *put_packets(void *context)
{
	struct writer *w = context;
	struct reader reader = { .failed = false };
	size_t packet;
	while ((packet = take_packet(w)) < w->graph->packets) {
		struct image *m = &w->images[packet % w->image_count];
		image_put_packet(m, &reader, packet);
		write_done(w, m);
	}
	reader_free(&reader);
	return NULL;
}

void image_close(struct image *m)
{
	struct writer *w = m->w;
	w->graph->objects += m->objects;
	w->graph->references += m->references;
	for (size_t i = 0; m->totals && i < w->graph->total_count; i++)
		w->graph->totals[i].size += m->totals[i];
	free(m->totals);
	free(m->sizes);
	free(m->data);
}

bool image_open(struct image *m, struct writer *w)
{
	*m = (struct image){ .w = w, .record = SIZE_MAX, .heap = UINT32_MAX, .work = 256 * w->graph->bytes + (UINT64_C(64) << 20),
			     .padding = PADDING_EACH * w->graph->bytes + PADDING_FLOOR };
	m->totals = calloc_apart(w->model.type_count + 1, sizeof *m->totals);
	return m->totals;
}

void put_objects(struct writer *w)
{
	struct image images[MODEL_THREADS_MOST * IMAGES_EACH];
	pthread_t threads[MODEL_THREADS_MOST];
	const unsigned count = model_threads(&w->model);
	unsigned started = 0;
	w->images = images;
	while (w->image_count < count * IMAGES_EACH && image_open(&images[w->image_count], w))
		w->image_count++;
	w->failed |= !w->image_count && count;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->turn, NULL);
	/* This thread works too. */
	while (started + 1 < count && !pthread_create(&threads[started], NULL, put_packets, w))
		started++;
	put_packets(w);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < w->image_count; i++)
		image_close(&images[i]);
	w->images = NULL;
	pthread_cond_destroy(&w->turn);
	pthread_mutex_destroy(&w->lock);
}
