/* SPDX-License-Identifier: MIT */
/*
 * The call tree's storage: nodes and frames in growing arrays, found again through two open hash
 * tables of their numbers. A parent is always older than its children, which is what lets every
 * pass over the tree be a loop instead of a recursion.
 */
#include "render/calltree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX   50000000u
#define FRAMES_MAX  50000000u
#define THREADS_MAX 10000000u
#define CHUNK_BYTES 65536u
/* Sums stay exact in the viewer's doubles, and nothing here can wrap. */
#define WEIGHT_MAX ((UINT64_C(1) << 53) - 1)

/* Numbers + 1 by hash; 0 is an empty place. Never more than half full. */
struct index {
	uint32_t *places;
	uint32_t mask;
};

/* Names live in chunks that never move, so that readers may keep pointers. */
struct chunk {
	struct chunk *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct calltree {
	int error;
	uint64_t weight;
	struct calltree_node *nodes;
	struct calltree_frame *frames;
	const char **threads;
	struct calltree_sample *samples;
	uint32_t node_count, node_room;
	uint32_t frame_count, frame_room;
	uint32_t thread_count, thread_room;
	size_t sample_count, sample_room;
	struct index node_index;
	struct index frame_index;
	struct chunk *chunks;
	const char *last_module; /* modules repeat in runs: one compare saves most copies */
};

static void poison(struct calltree *tree, int error)
{
	if (!tree->error)
		tree->error = error;
}

static uint64_t mix(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash ^ 0xff;
}

static uint64_t hash_frame(const struct calltree_frame *frame)
{
	uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), frame->name);

	return mix(hash_text(hash, frame->module) + (uint64_t)frame->kind);
}

static uint64_t hash_node(const struct calltree_node *node)
{
	return mix((uint64_t)node->parent << 32 | node->frame);
}

/* Room for one more element of @size bytes; doubles. Returns the array or NULL. */
static void *grow(struct calltree *tree, void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 64;

	if (count < *room)
		return array;
	array = reallocarray(array, wanted, size);
	if (array)
		*room = wanted;
	else
		poison(tree, -ENOMEM);
	return array;
}

static char *keep_text(struct calltree *tree, const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct chunk *chunk = tree->chunks;

	if (!chunk || chunk->size - chunk->used < bytes) {
		size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk) {
			poison(tree, -ENOMEM);
			return NULL;
		}
		chunk->next = tree->chunks;
		chunk->used = 0;
		chunk->size = size;
		tree->chunks = chunk;
	}
	char *kept = memcpy(chunk->bytes + chunk->used, text, bytes);

	chunk->used += bytes;
	return kept;
}

static void index_put(struct index *index, uint64_t hash, uint32_t number)
{
	uint32_t at = (uint32_t)hash & index->mask;

	while (index->places[at])
		at = (at + 1) & index->mask;
	index->places[at] = number + 1;
}

/*
 * Make room for element @count. Returns 1 when the table was replaced by an empty one of twice the
 * size (the caller puts everything back), 0 when there was room, -ENOMEM.
 */
static int index_grow(struct index *index, uint32_t count)
{
	uint64_t size = index->places ? (uint64_t)index->mask + 1 : 0;

	if (size && (uint64_t)count * 2 < size)
		return 0;
	size = size ? size * 2 : 256;
	uint32_t *places = calloc(size, sizeof(*places));

	if (!places)
		return -ENOMEM;
	free(index->places);
	index->places = places;
	index->mask = (uint32_t)(size - 1);
	return 1;
}

static int node_index_grow(struct calltree *tree)
{
	int grown = index_grow(&tree->node_index, tree->node_count);

	if (grown == 1)
		for (uint32_t i = 1; i < tree->node_count; i++)
			index_put(&tree->node_index, hash_node(&tree->nodes[i]), i);
	return grown < 0 ? grown : 0;
}

static int frame_index_grow(struct calltree *tree)
{
	int grown = index_grow(&tree->frame_index, tree->frame_count);

	if (grown == 1)
		for (uint32_t i = 0; i < tree->frame_count; i++)
			index_put(&tree->frame_index, hash_frame(&tree->frames[i]), i);
	return grown < 0 ? grown : 0;
}

static uint32_t add_node(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	size_t room = tree->node_room;

	if (tree->node_count >= NODES_MAX) {
		poison(tree, -E2BIG);
		return CALLTREE_ROOT;
	}
	struct calltree_node *nodes =
		grow(tree, tree->nodes, tree->node_count, &room, sizeof(*nodes));

	if (!nodes)
		return CALLTREE_ROOT;
	tree->nodes = nodes;
	tree->node_room = (uint32_t)room;
	nodes[tree->node_count] = (struct calltree_node){.parent = parent, .frame = frame};
	return tree->node_count++;
}

struct calltree *calltree_new(void)
{
	struct calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	add_node(tree, CALLTREE_ROOT, 0);
	if (tree->error || node_index_grow(tree) || frame_index_grow(tree)) {
		calltree_free(tree);
		return NULL;
	}
	return tree;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	for (struct chunk *chunk = tree->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(tree->nodes);
	free(tree->frames);
	free(tree->threads);
	free(tree->samples);
	free(tree->node_index.places);
	free(tree->frame_index.places);
	free(tree);
}

static int same_frame(const struct calltree_frame *a, const struct calltree_frame *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name) && !strcmp(a->module, b->module);
}

static uint32_t add_frame(struct calltree *tree, const struct calltree_frame *wanted)
{
	size_t room = tree->frame_room;
	struct calltree_frame frame = *wanted;

	if (tree->frame_count >= FRAMES_MAX) {
		poison(tree, -E2BIG);
		return 0;
	}
	struct calltree_frame *frames =
		grow(tree, tree->frames, tree->frame_count, &room, sizeof(*frames));

	if (!frames)
		return 0;
	tree->frames = frames;
	tree->frame_room = (uint32_t)room;
	if (!tree->last_module || strcmp(tree->last_module, wanted->module))
		tree->last_module = keep_text(tree, wanted->module);
	frame.module = tree->last_module;
	frame.name = keep_text(tree, wanted->name);
	if (!frame.module || !frame.name)
		return 0;
	frames[tree->frame_count] = frame;
	return tree->frame_count++;
}

uint32_t calltree_frame(
	struct calltree *tree, const char *name, const char *module, enum calltree_frame_kind kind)
{
	struct calltree_frame wanted = {.name = name, .module = module, .kind = kind};

	if (tree->error)
		return 0;
	if ((unsigned)kind >= CALLTREE_KINDS) {
		poison(tree, -EINVAL);
		return 0;
	}
	if (frame_index_grow(tree)) {
		poison(tree, -ENOMEM);
		return 0;
	}
	uint64_t hash = hash_frame(&wanted);
	uint32_t at = (uint32_t)hash & tree->frame_index.mask;

	for (; tree->frame_index.places[at]; at = (at + 1) & tree->frame_index.mask) {
		uint32_t number = tree->frame_index.places[at] - 1;

		if (same_frame(&tree->frames[number], &wanted))
			return number;
	}
	uint32_t number = add_frame(tree, &wanted);

	if (!tree->error)
		tree->frame_index.places[at] = number + 1;
	return number;
}

uint32_t calltree_child(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	struct calltree_node wanted = {.parent = parent, .frame = frame};

	if (tree->error)
		return CALLTREE_ROOT;
	if (parent >= tree->node_count || frame >= tree->frame_count) {
		poison(tree, -EINVAL);
		return CALLTREE_ROOT;
	}
	if (node_index_grow(tree)) {
		poison(tree, -ENOMEM);
		return CALLTREE_ROOT;
	}
	uint32_t at = (uint32_t)hash_node(&wanted) & tree->node_index.mask;

	for (; tree->node_index.places[at]; at = (at + 1) & tree->node_index.mask) {
		uint32_t number = tree->node_index.places[at] - 1;

		if (tree->nodes[number].parent == parent && tree->nodes[number].frame == frame)
			return number;
	}
	uint32_t number = add_node(tree, parent, frame);

	if (!tree->error)
		tree->node_index.places[at] = number + 1;
	return number;
}

void calltree_add(struct calltree *tree, uint32_t node, uint64_t weight)
{
	if (tree->error)
		return;
	if (node >= tree->node_count) {
		poison(tree, -EINVAL);
	} else if (weight > WEIGHT_MAX - tree->weight) {
		poison(tree, -EOVERFLOW);
	} else {
		tree->nodes[node].self += weight;
		tree->weight += weight;
	}
}

void calltree_thread(struct calltree *tree, uint32_t thread, const char *name)
{
	if (tree->error)
		return;
	if (thread >= THREADS_MAX) {
		poison(tree, -E2BIG);
		return;
	}
	if (thread >= tree->thread_room) {
		uint32_t room = thread + thread / 2 + 16;
		const char **threads = reallocarray(tree->threads, room, sizeof(*threads));

		if (!threads) {
			poison(tree, -ENOMEM);
			return;
		}
		memset(threads + tree->thread_room, 0,
			(room - tree->thread_room) * sizeof(*threads));
		tree->threads = threads;
		tree->thread_room = room;
	}
	tree->threads[thread] = keep_text(tree, name);
	if (thread >= tree->thread_count)
		tree->thread_count = thread + 1;
}

void calltree_sample(struct calltree *tree, const struct calltree_sample *sample)
{
	if (tree->error)
		return;
	if (sample->node >= tree->node_count) {
		poison(tree, -EINVAL);
		return;
	}
	struct calltree_sample *samples =
		grow(tree, tree->samples, tree->sample_count, &tree->sample_room, sizeof(*samples));

	if (!samples)
		return;
	tree->samples = samples;
	samples[tree->sample_count++] = *sample;
}

int calltree_finish(struct calltree *tree)
{
	if (tree->error)
		return tree->error;
	for (uint32_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (uint32_t i = tree->node_count - 1; i > 0; i--)
		tree->nodes[tree->nodes[i].parent].total += tree->nodes[i].total;
	return 0;
}

int calltree_error(const struct calltree *tree)
{
	return tree->error;
}

uint32_t calltree_nodes(const struct calltree *tree)
{
	return tree->node_count;
}

uint32_t calltree_frames(const struct calltree *tree)
{
	return tree->frame_count;
}

uint32_t calltree_threads(const struct calltree *tree)
{
	return tree->thread_count;
}

size_t calltree_samples(const struct calltree *tree)
{
	return tree->sample_count;
}

const struct calltree_node *calltree_node_at(const struct calltree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

const struct calltree_frame *calltree_frame_at(const struct calltree *tree, uint32_t frame)
{
	return &tree->frames[frame];
}

const char *calltree_thread_at(const struct calltree *tree, uint32_t thread)
{
	return thread < tree->thread_count ? tree->threads[thread] : NULL;
}

const struct calltree_sample *calltree_sample_at(const struct calltree *tree, size_t sample)
{
	return &tree->samples[sample];
}

uint64_t calltree_total(const struct calltree *tree)
{
	return tree->weight;
}
