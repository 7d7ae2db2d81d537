/* SPDX-License-Identifier: MIT */
/*
 * The call tree's frames, and what it keeps of other people's text.
 */
#include "render/calltree_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/fnv.h"

#define FRAMES_MAX  50000000u
#define CHUNK_BYTES 65536u

char *calltree_keep(struct calltree *tree, const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct calltree_chunk *chunk = tree->chunks;

	if (!chunk || chunk->size - chunk->used < bytes) {
		size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk) {
			calltree_poison(tree, -ENOMEM);
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

/* 0xff stands where a text ends: "ab" in "c" is not "a" in "bc". */
static uint32_t hash_of(const struct calltree_frame *frame)
{
	uint64_t hash = fnv_text(FNV_BEGIN, frame->name) ^ 0xff;

	return lookup_hash((fnv_text(hash, frame->module) ^ 0xff) + (uint64_t)frame->kind);
}

static uint32_t hash_frame(const void *tree, uint32_t number)
{
	return hash_of(&((const struct calltree *)tree)->frames[number - 1]);
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
		calltree_poison(tree, -E2BIG);
		return 0;
	}
	struct calltree_frame *frames =
		calltree_grow(tree, tree->frames, tree->frame_count, &room, sizeof(*frames));

	if (!frames)
		return 0;
	tree->frames = frames;
	tree->frame_room = (uint32_t)room;
	if (!tree->last_module || strcmp(tree->last_module, wanted->module))
		tree->last_module = calltree_keep(tree, wanted->module);
	frame.module = tree->last_module;
	frame.name = calltree_keep(tree, wanted->name);
	if (!frame.module || !frame.name)
		return 0;
	frames[tree->frame_count] = frame;
	return tree->frame_count++;
}

uint32_t calltree_frame(
	struct calltree *tree, const char *name, const char *module, enum calltree_frame_kind kind)
{
	struct calltree_frame wanted = {.name = name, .module = module, .kind = kind};
	struct lookup_probe probe;
	uint32_t number;

	if (tree->error)
		return 0;
	if ((unsigned)kind >= CALLTREE_KINDS) {
		calltree_poison(tree, -EINVAL);
		return 0;
	}
	if (lookup_reserve(&tree->frame_lookup, &tree->account, 1, hash_frame, tree)) {
		calltree_poison(tree, -ENOMEM);
		return 0;
	}
	probe = lookup_begin(&tree->frame_lookup, hash_of(&wanted));
	while ((number = lookup_next(&tree->frame_lookup, &probe)))
		if (same_frame(&tree->frames[number - 1], &wanted))
			return number - 1;
	number = add_frame(tree, &wanted);
	if (!tree->error)
		lookup_put(&tree->frame_lookup, &probe, number + 1);
	return number;
}

uint32_t calltree_frames(const struct calltree *tree)
{
	return tree->frame_count;
}

const struct calltree_frame *calltree_frame_at(const struct calltree *tree, uint32_t frame)
{
	return &tree->frames[frame];
}
