/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays with a hash index beside those that are interned.
 */
#include "cli/profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/index.h"

struct profile {
	uint32_t rate_hz;
	int error;
	struct profile_image *images;
	struct profile_thread *threads;
	struct profile_node *nodes;
	struct profile_stack *stacks;
	struct profile_sample *samples;
	uint32_t image_count, image_room;
	uint32_t thread_count, thread_room;
	uint32_t node_count, node_room;
	uint32_t stack_count, stack_room;
	size_t sample_count, sample_room;
	struct index image_index, thread_index, node_index, stack_index;
	struct profile_totals totals;
	struct announced announced;
};

struct profile *profile_new(uint32_t rate_hz)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (profile)
		profile->rate_hz = rate_hz;
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (uint32_t i = 0; i < profile->image_count; i++) {
		for (uint32_t m = 0; m < profile->images[i].module_count; m++)
			free(profile->images[i].modules[m].path);
		free(profile->images[i].modules);
	}
	free(profile->images);
	free(profile->threads);
	free(profile->nodes);
	free(profile->stacks);
	free(profile->samples);
	index_release(&profile->image_index);
	index_release(&profile->thread_index);
	index_release(&profile->node_index);
	index_release(&profile->stack_index);
	announced_release(&profile->announced);
	free(profile);
}

int profile_error(const struct profile *profile)
{
	return profile->error;
}

/* Room for one more item of @size bytes in @array. Returns the array, or NULL and poisons. */
static void *grow(struct profile *profile, void *array, size_t count, size_t *room, size_t size)
{
	size_t larger = *room ? *room * 2 : 64;
	void *moved;

	if (profile->error)
		return NULL;
	if (count < *room)
		return array;
	if (larger > UINT32_MAX / 2 || !(moved = realloc(array, larger * size))) {
		profile->error = -ENOMEM;
		return NULL;
	}
	*room = larger;
	return moved;
}

/* The same through the address of the array's pointer, whatever its type. */
static int reserve(
	struct profile *profile, void *array_pointer, uint32_t count, uint32_t *room, size_t size)
{
	size_t room_now = *room;
	void *array, *moved;

	memcpy(&array, array_pointer, sizeof(array));
	moved = grow(profile, array, count, &room_now, size);
	if (!moved)
		return -ENOMEM;
	memcpy(array_pointer, &moved, sizeof(moved));
	*room = (uint32_t)room_now;
	return 0;
}

/* Append a zeroed item to the array named @field and index it. */
#define APPEND(profile, field, hash)                                                              \
	(reserve(profile, &(profile)->field##s, (profile)->field##_count,                        \
		 &(profile)->field##_room, sizeof(*(profile)->field##s)) ||                       \
		index_add(&(profile)->field##_index, hash, (profile)->field##_count)              \
			? ((profile)->error = -ENOMEM, NULL)                                      \
			: memset(&(profile)->field##s[(profile)->field##_count++], 0,             \
				  sizeof(*(profile)->field##s)))

static int image_equal(const void *context, uint32_t item, const void *key)
{
	return ((const struct profile *)context)->images[item].id == *(const uint64_t *)key;
}

static uint32_t add_root(struct profile *profile, uint32_t image)
{
	struct profile_node *node =
		APPEND(profile, node, index_hash(image, UINT32_MAX));

	if (!node)
		return 0;
	*node = (struct profile_node){.frame = image, .parent = UINT32_MAX, .image = image};
	return profile->node_count - 1;
}

uint32_t profile_image(struct profile *profile, uint64_t id)
{
	uint64_t hash = index_hash(id, 0);
	uint32_t at = index_find(&profile->image_index, hash, image_equal, profile, &id);
	struct profile_image *image;

	if (at != UINT32_MAX)
		return at;
	image = APPEND(profile, image, hash);
	if (!image)
		return 0;
	at = profile->image_count - 1;
	image->id = id;
	image->root = add_root(profile, at);
	return at;
}

static int thread_equal(const void *context, uint32_t item, const void *key)
{
	const struct profile_thread *a = &((const struct profile *)context)->threads[item];
	const struct profile_thread *b = key;

	return a->image == b->image && a->number == b->number;
}

uint32_t profile_thread(
	struct profile *profile, uint32_t image, uint32_t number, uint32_t tid, const char *comm)
{
	struct profile_thread key = {.image = image, .number = number};
	uint64_t hash = index_hash(image, number);
	uint32_t at = index_find(&profile->thread_index, hash, thread_equal, profile, &key);
	struct profile_thread *thread;

	if (at == UINT32_MAX) {
		thread = APPEND(profile, thread, hash);
		if (!thread)
			return 0;
		*thread = key;
		at = profile->thread_count - 1;
	}
	thread = &profile->threads[at];
	if (tid)
		thread->tid = tid;
	if (comm && comm[0]) {
		memcpy(thread->comm, comm, sizeof(thread->comm));
		thread->comm[sizeof(thread->comm) - 1] = '\0';
	}
	return at;
}

void profile_add_module(struct profile *profile, uint32_t image_index, uint32_t number,
	const struct profile_module *module)
{
	struct profile_image *image;

	if (profile->error || image_index >= profile->image_count || !number ||
		number > WIRE_MODULE_MAX)
		return;
	image = &profile->images[image_index];
	if (number >= image->module_count) {
		uint32_t count = (number + 32) & ~31u;
		struct profile_module *more =
			realloc(image->modules, count * sizeof(*image->modules));

		if (!more) {
			profile->error = -ENOMEM;
			return;
		}
		memset(more + image->module_count, 0,
			(count - image->module_count) * sizeof(*more));
		image->modules = more;
		image->module_count = count;
	}
	if (image->modules[number].path)
		return;
	image->modules[number] = *module;
	image->modules[number].path = strdup(module->path);
	if (!image->modules[number].path)
		profile->error = -ENOMEM;
}

static int node_equal(const void *context, uint32_t item, const void *key)
{
	const struct profile_node *a = &((const struct profile *)context)->nodes[item];
	const struct profile_node *b = key;

	return a->frame == b->frame && a->parent == b->parent;
}

uint32_t profile_node(struct profile *profile, uint32_t parent, uint64_t frame)
{
	struct profile_node key = {.frame = frame, .parent = parent};
	uint64_t hash = index_hash(frame, parent);
	uint32_t at = index_find(&profile->node_index, hash, node_equal, profile, &key);
	struct profile_node *node;

	if (at != UINT32_MAX)
		return at;
	if (parent >= profile->node_count)
		return 0;
	node = APPEND(profile, node, hash);
	if (!node)
		return 0;
	*node = key;
	node->image = profile->nodes[parent].image;
	return profile->node_count - 1;
}

static int stack_equal(const void *context, uint32_t item, const void *key)
{
	const struct profile_stack *a = &((const struct profile *)context)->stacks[item];
	const struct profile_stack *b = key;

	return a->node == b->node && a->thread == b->thread && a->end == b->end &&
		a->kind == b->kind;
}

static void keep_time(struct profile *profile, uint32_t stack, uint64_t time_ns, uint64_t weight)
{
	struct profile_sample *more;

	if (profile->sample_count >= PROFILE_SAMPLES_MAX) {
		profile->totals.losses.untimed++;
		return;
	}
	more = grow(profile, profile->samples, profile->sample_count, &profile->sample_room,
		sizeof(*more));
	if (!more)
		return;
	profile->samples = more;
	more[profile->sample_count++] = (struct profile_sample){
		.time_ns = time_ns,
		.stack = stack,
		.weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight,
	};
}

uint32_t profile_add(struct profile *profile, const struct profile_stack *key, uint64_t time_ns,
	uint64_t weight)
{
	uint64_t hash = index_hash((uint64_t)key->node << 32 | key->thread,
		(uint64_t)key->end << 8 | key->kind);
	uint32_t at = index_find(&profile->stack_index, hash, stack_equal, profile, key);
	struct profile_stack *stack;

	if (at == UINT32_MAX) {
		stack = APPEND(profile, stack, hash);
		if (!stack)
			return 0;
		*stack = *key;
		stack->weight = 0;
		stack->samples = 0;
		at = profile->stack_count - 1;
	}
	profile->stacks[at].weight += weight;
	profile->stacks[at].samples++;
	if (key->kind == WIRE_KIND_CREDIT)
		profile->totals.credited += weight;
	else if (key->kind == WIRE_KIND_VM)
		profile->totals.vm += weight;
	else if (key->end < WIRE_END_COUNT)
		profile->totals.ends[key->end] += weight;
	keep_time(profile, at, time_ns, weight);
	return at;
}

uint32_t profile_rate_hz(const struct profile *profile)
{
	return profile->rate_hz;
}

uint32_t profile_images(const struct profile *profile)
{
	return profile->image_count;
}

uint32_t profile_nodes(const struct profile *profile)
{
	return profile->node_count;
}

uint32_t profile_threads(const struct profile *profile)
{
	return profile->thread_count;
}

uint32_t profile_stacks(const struct profile *profile)
{
	return profile->stack_count;
}

size_t profile_samples(const struct profile *profile)
{
	return profile->sample_count;
}

struct profile_image *profile_image_at(struct profile *profile, uint32_t image)
{
	return &profile->images[image];
}

const struct profile_node *profile_node_at(const struct profile *profile, uint32_t node)
{
	return &profile->nodes[node];
}

const struct profile_thread *profile_thread_at(const struct profile *profile, uint32_t thread)
{
	return &profile->threads[thread];
}

const struct profile_stack *profile_stack_at(const struct profile *profile, uint32_t stack)
{
	return &profile->stacks[stack];
}

const struct profile_sample *profile_sample_at(const struct profile *profile, size_t sample)
{
	return &profile->samples[sample];
}

struct profile_totals *profile_totals(struct profile *profile)
{
	return &profile->totals;
}

struct announced *profile_announced(struct profile *profile)
{
	return &profile->announced;
}

uint64_t profile_start_ns(const struct profile *profile)
{
	uint64_t start_ns = UINT64_MAX;

	for (size_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].time_ns && profile->samples[i].time_ns < start_ns)
			start_ns = profile->samples[i].time_ns;
	return start_ns;
}
