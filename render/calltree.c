/* SPDX-License-Identifier: MIT */
/*
 * The call tree: nodes with weights, frames, threads, samples and lines, in growing arrays with
 * hash tables for lookup. A parent has a smaller number than its children, so a loop over the node
 * numbers visits every parent before its children, without recursion.
 */
#include "render/calltree.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/fnv.h"
#include "render/array.h"
#include "libprof/profile/lookup.h"

/* Texts are stored in chunks that never move, because readers keep pointers to them. */
struct calltree_chunk {
	struct calltree_chunk *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct calltree_thread {
	const char *name;    /* NULL if the thread has no name */
	const char *process; /* NULL if unknown */
};

struct calltree {
	int error;
	uint64_t weight;
	struct calltree_node *nodes;
	struct calltree_frame *frames;
	struct calltree_thread *threads;
	struct calltree_sample *samples;
	struct calltree_line *lines;
	/* each mapping is allocated by itself, so that it never moves */
	struct calltree_mapping **mappings;
	/* each distinct text once; text_lookup stores the index in this array plus 1 */
	const char **texts;
	uint32_t node_count, node_room;
	uint32_t frame_count, frame_room;
	uint32_t thread_count, thread_room;
	uint32_t text_count, text_room;
	uint32_t mapping_count, mapping_room;
	size_t sample_count, sample_room;
	size_t line_count, line_room;
	struct pages_account account; /* memory of the lookups */
	struct lookup node_lookup;    /* node numbers; the root, 0, is not in it */
	struct lookup frame_lookup;   /* frame numbers + 1 */
	struct lookup text_lookup;    /* indices of texts + 1 */
	struct lookup mapping_lookup; /* indices of mappings + 1 */
	struct calltree_chunk *chunks;
};

static void poison(struct calltree *tree, int error)
{
	if (!tree->error)
		tree->error = error;
}

#define NODES_MAX 50000000u
#define FIRST_ROOM 64
/* Larger sums set the tree's error, because the viewer's doubles are exact only up to 2^53. */
#define WEIGHT_MAX ((UINT64_C(1) << 53) - 1)

static uint32_t hash_child(uint32_t parent, uint32_t frame)
{
	return lookup_hash((uint64_t)parent << 32 ^ frame * 0x9e3779b97f4a7c15ULL);
}

static uint32_t hash_node(const void *tree, uint32_t number)
{
	const struct calltree_node *node = &((const struct calltree *)tree)->nodes[number];

	return hash_child(node->parent, node->frame);
}

static uint32_t add_node(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	if (tree->node_count >= NODES_MAX) {
		poison(tree, -E2BIG);
		return CALLTREE_ROOT;
	}
	if (ARRAY_GROW(tree->nodes, tree->node_count, tree->node_room, FIRST_ROOM)) {
		poison(tree, -ENOMEM);
		return CALLTREE_ROOT;
	}
	tree->nodes[tree->node_count] = (struct calltree_node){.parent = parent, .frame = frame};
	return tree->node_count++;
}

struct calltree *calltree_new(void)
{
	struct calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->account.limit_bytes = SIZE_MAX;
	add_node(tree, CALLTREE_ROOT, 0);
	if (tree->error) {
		calltree_free(tree);
		return NULL;
	}
	return tree;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	for (struct calltree_chunk *chunk = tree->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	for (uint32_t i = 0; i < tree->mapping_count; i++)
		free(tree->mappings[i]);
	free(tree->mappings);
	free(tree->nodes);
	free(tree->frames);
	free(tree->threads);
	free(tree->samples);
	free(tree->lines);
	free(tree->texts);
	pages_release(&tree->account, &tree->node_lookup.slots);
	pages_release(&tree->account, &tree->frame_lookup.slots);
	pages_release(&tree->account, &tree->text_lookup.slots);
	pages_release(&tree->account, &tree->mapping_lookup.slots);
	free(tree);
}

uint32_t calltree_child(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	struct lookup_probe probe;
	uint32_t number;

	if (tree->error)
		return CALLTREE_ROOT;
	if (parent >= tree->node_count || frame >= tree->frame_count) {
		poison(tree, -EINVAL);
		return CALLTREE_ROOT;
	}
	if (lookup_reserve(&tree->node_lookup, &tree->account, 1, hash_node, tree)) {
		poison(tree, -ENOMEM);
		return CALLTREE_ROOT;
	}
	probe = lookup_begin(&tree->node_lookup, hash_child(parent, frame));
	while ((number = lookup_next(&tree->node_lookup, &probe)))
		if (tree->nodes[number].parent == parent && tree->nodes[number].frame == frame)
			return number;
	number = add_node(tree, parent, frame);
	if (!tree->error)
		lookup_put(&tree->node_lookup, &probe, number);
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

void calltree_scale(struct calltree *tree, uint64_t factor)
{
	if (tree->error)
		return;
	if (factor && tree->weight > WEIGHT_MAX / factor) {
		poison(tree, -EOVERFLOW);
		return;
	}
	for (uint32_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].self *= factor;
	for (size_t i = 0; i < tree->line_count; i++) {
		tree->lines[i].self *= factor;
		tree->lines[i].total *= factor;
		tree->lines[i].waits *= factor;
	}
	tree->weight *= factor;
}

int calltree_error(const struct calltree *tree)
{
	return tree->error;
}

uint32_t calltree_nodes(const struct calltree *tree)
{
	return tree->node_count;
}

const struct calltree_node *calltree_node_at(const struct calltree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

uint64_t calltree_total(const struct calltree *tree)
{
	return tree->weight;
}

/*
 * Returns the weight of all waiting stacks. Each of them has exactly one CALLTREE_WAIT frame, also
 * in reversed trees, so the totals of these nodes add up.
 */
uint64_t calltree_waits(const struct calltree *tree)
{
	uint64_t waits = 0;

	for (uint32_t i = 1; i < tree->node_count; i++)
		if (tree->frames[tree->nodes[i].frame].kind == CALLTREE_WAIT)
			waits += tree->nodes[i].total;
	return waits;
}

/* ---- texts ----------------------------------------------------------------------------------- */

#define CHUNK_BYTES 65536u

/* Copy @text into the tree. Returns the copy, or NULL after poisoning @tree if out of memory. */
static char *keep_text(struct calltree *tree, const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct calltree_chunk *chunk = tree->chunks;

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

static uint32_t hash_of_text(const char *text)
{
	return lookup_hash(fnv_text(FNV_BEGIN, text, SIZE_MAX));
}

static uint32_t hash_text(const void *tree, uint32_t number)
{
	return hash_of_text(((const struct calltree *)tree)->texts[number - 1]);
}

/*
 * Returns the tree's only copy of @text, made at the first call with this text. Returns NULL after
 * poisoning @tree if out of memory.
 */
static const char *intern_text(struct calltree *tree, const char *text)
{
	struct lookup_probe probe;
	uint32_t number;
	const char *kept;

	if (lookup_reserve(&tree->text_lookup, &tree->account, 1, hash_text, tree) ||
		ARRAY_GROW(tree->texts, tree->text_count, tree->text_room, FIRST_ROOM)) {
		poison(tree, -ENOMEM);
		return NULL;
	}
	probe = lookup_begin(&tree->text_lookup, hash_of_text(text));
	while ((number = lookup_next(&tree->text_lookup, &probe)))
		if (!strcmp(tree->texts[number - 1], text))
			return tree->texts[number - 1];
	kept = keep_text(tree, text);
	if (!kept)
		return NULL;
	tree->texts[tree->text_count++] = kept;
	lookup_put(&tree->text_lookup, &probe, tree->text_count);
	return kept;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static uint32_t hash_of_mapping(const struct calltree_mapping *mapping)
{
	uint64_t hash = fnv_text(FNV_BEGIN, mapping->path, SIZE_MAX) ^ 0xff;

	return lookup_hash(fnv_text(hash, mapping->build_id, SIZE_MAX) + mapping->offset);
}

static uint32_t hash_mapping(const void *tree, uint32_t number)
{
	return hash_of_mapping(((const struct calltree *)tree)->mappings[number - 1]);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_mappings(const struct calltree_mapping *a, const struct calltree_mapping *b)
{
	int order = strcmp(a->path, b->path);

	if (!order)
		order = strcmp(a->build_id, b->build_id);
	return order ? order : compare_numbers(a->offset, b->offset);
}

static struct calltree_mapping *add_mapping(
	struct calltree *tree, const struct calltree_mapping *wanted)
{
	struct calltree_mapping *mapping = malloc(sizeof(*mapping));

	if (!mapping ||
		ARRAY_GROW(tree->mappings, tree->mapping_count, tree->mapping_room, FIRST_ROOM)) {
		free(mapping);
		poison(tree, -ENOMEM);
		return NULL;
	}
	*mapping = *wanted;
	mapping->path = intern_text(tree, wanted->path);
	mapping->build_id = mapping->path ? intern_text(tree, wanted->build_id) : NULL;
	if (!mapping->build_id) {
		free(mapping);
		return NULL;
	}
	tree->mappings[tree->mapping_count++] = mapping;
	return mapping;
}

/* Returns the tree's copy of @wanted, or NULL after poisoning @tree if out of memory. */
static const struct calltree_mapping *intern_mapping(
	struct calltree *tree, const struct calltree_mapping *wanted)
{
	struct lookup_probe probe;
	const struct calltree_mapping *added;
	uint32_t number;

	if (lookup_reserve(&tree->mapping_lookup, &tree->account, 1, hash_mapping, tree)) {
		poison(tree, -ENOMEM);
		return NULL;
	}
	probe = lookup_begin(&tree->mapping_lookup, hash_of_mapping(wanted));
	while ((number = lookup_next(&tree->mapping_lookup, &probe)))
		if (!compare_mappings(tree->mappings[number - 1], wanted))
			return tree->mappings[number - 1];
	added = add_mapping(tree, wanted);
	if (added)
		lookup_put(&tree->mapping_lookup, &probe, tree->mapping_count);
	return added;
}

/* ---- frames ---------------------------------------------------------------------------------- */

#define FRAMES_MAX 50000000u

/*
 * Returns the hash of a frame. Mixing in 0xff after each text gives the pairs "ab", "c" and "a",
 * "bc" different hashes.
 */
static uint32_t hash_of_frame(const struct calltree_frame *frame)
{
	uint64_t hash = fnv_text(FNV_BEGIN, frame->name, SIZE_MAX) ^ 0xff;

	hash = fnv_text(hash, frame->module, SIZE_MAX) ^ 0xff;
	if (frame->line || *frame->file)
		hash = fnv_text(hash + frame->line, frame->file, SIZE_MAX) ^ 0xff;
	hash += (frame->offset + frame->start_line) * 0x9e3779b97f4a7c15ULL;
	return lookup_hash(hash + (uint64_t)frame->kind);
}

static uint32_t hash_frame(const void *tree, uint32_t number)
{
	return hash_of_frame(&((const struct calltree *)tree)->frames[number - 1]);
}

static int is_same_frame(const struct calltree_frame *a, const struct calltree_frame *b)
{
	return a->kind == b->kind && a->line == b->line && a->start_line == b->start_line &&
	       a->mapping == b->mapping && a->offset == b->offset && !strcmp(a->name, b->name) &&
	       !strcmp(a->module, b->module) && !strcmp(a->file, b->file);
}

static uint32_t add_frame(struct calltree *tree, const struct calltree_frame *wanted)
{
	struct calltree_frame frame = *wanted;

	if (tree->frame_count >= FRAMES_MAX) {
		poison(tree, -E2BIG);
		return 0;
	}
	if (ARRAY_GROW(tree->frames, tree->frame_count, tree->frame_room, FIRST_ROOM)) {
		poison(tree, -ENOMEM);
		return 0;
	}
	frame.name = intern_text(tree, wanted->name);
	frame.module = frame.name ? intern_text(tree, wanted->module) : NULL;
	frame.file = frame.module ? intern_text(tree, wanted->file) : NULL;
	if (!frame.file)
		return 0;
	tree->frames[tree->frame_count] = frame;
	return tree->frame_count++;
}

uint32_t calltree_intern(struct calltree *tree, const struct calltree_frame *frame)
{
	struct calltree_frame wanted = *frame;
	struct lookup_probe probe;
	uint32_t number;

	if (tree->error)
		return 0;
	if ((unsigned)wanted.kind >= CALLTREE_KINDS) {
		poison(tree, -EINVAL);
		return 0;
	}
	if (wanted.mapping) {
		wanted.mapping = intern_mapping(tree, wanted.mapping);
		if (!wanted.mapping)
			return 0;
	}
	if (lookup_reserve(&tree->frame_lookup, &tree->account, 1, hash_frame, tree)) {
		poison(tree, -ENOMEM);
		return 0;
	}
	probe = lookup_begin(&tree->frame_lookup, hash_of_frame(&wanted));
	while ((number = lookup_next(&tree->frame_lookup, &probe)))
		if (is_same_frame(&tree->frames[number - 1], &wanted))
			return number - 1;
	number = add_frame(tree, &wanted);
	if (!tree->error)
		lookup_put(&tree->frame_lookup, &probe, number + 1);
	return number;
}

uint32_t calltree_frame_line(struct calltree *tree, const char *name, const char *module,
	enum calltree_frame_kind kind, const char *file, uint32_t line)
{
	return calltree_intern(tree,
		&(struct calltree_frame){
			.name = name, .module = module, .kind = kind, .line = line, .file = file});
}

uint32_t calltree_frame(
	struct calltree *tree, const char *name, const char *module, enum calltree_frame_kind kind)
{
	return calltree_frame_line(tree, name, module, kind, "", 0);
}

uint32_t calltree_frames(const struct calltree *tree)
{
	return tree->frame_count;
}

const struct calltree_frame *calltree_frame_at(const struct calltree *tree, uint32_t frame)
{
	return &tree->frames[frame];
}

#define THREADS_MAX 10000000u

/* ---- threads and samples --------------------------------------------------------------------- */

void calltree_thread(struct calltree *tree, uint32_t thread, const char *name, const char *process)
{
	if (tree->error)
		return;
	if (thread >= THREADS_MAX) {
		poison(tree, -E2BIG);
		return;
	}
	if (thread >= tree->thread_room) {
		uint32_t room = thread + thread / 2 + 16;
		struct calltree_thread *threads =
			reallocarray(tree->threads, room, sizeof(*threads));

		if (!threads) {
			poison(tree, -ENOMEM);
			return;
		}
		memset(threads + tree->thread_room, 0,
			(room - tree->thread_room) * sizeof(*threads));
		tree->threads = threads;
		tree->thread_room = room;
	}
	tree->threads[thread] = (struct calltree_thread){
		.name = keep_text(tree, name),
		.process = *process ? keep_text(tree, process) : NULL,
	};
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
	if (ARRAY_GROW(tree->samples, tree->sample_count, tree->sample_room, FIRST_ROOM)) {
		poison(tree, -ENOMEM);
		return;
	}
	tree->samples[tree->sample_count++] = *sample;
}

void calltree_sample_weight(
	struct calltree *tree, const struct calltree_sample *sample, uint64_t weight)
{
	struct calltree_sample part = *sample;

	for (; weight && !tree->error; weight -= part.weight) {
		part.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
		calltree_sample(tree, &part);
	}
}

enum calltree_sample_kind calltree_kind_at(const struct calltree *tree, uint32_t node)
{
	return node != CALLTREE_ROOT && tree->frames[tree->nodes[node].frame].kind == CALLTREE_WAIT
		       ? CALLTREE_WAITING
		       : CALLTREE_ON_CPU;
}

void calltree_forget_samples(struct calltree *tree)
{
	tree->sample_count = 0;
}

uint32_t calltree_threads(const struct calltree *tree)
{
	return tree->thread_count;
}

size_t calltree_samples(const struct calltree *tree)
{
	return tree->sample_count;
}

const char *calltree_thread_at(const struct calltree *tree, uint32_t thread)
{
	return thread < tree->thread_count ? tree->threads[thread].name : NULL;
}

const char *calltree_process_at(const struct calltree *tree, uint32_t thread)
{
	return thread < tree->thread_count ? tree->threads[thread].process : NULL;
}

const struct calltree_sample *calltree_sample_at(const struct calltree *tree, size_t sample)
{
	return &tree->samples[sample];
}

/* ---- lines, and the end of building ---------------------------------------------------------- */

void calltree_add_line(struct calltree *tree, const struct calltree_line *line)
{
	struct calltree_line kept = *line;

	if (tree->error)
		return;
	if (line->frame >= tree->frame_count) {
		poison(tree, -EINVAL);
		return;
	}
	kept.file = intern_text(tree, line->file);
	if (!kept.file)
		return;
	if (ARRAY_GROW(tree->lines, tree->line_count, tree->line_room, FIRST_ROOM)) {
		poison(tree, -ENOMEM);
		return;
	}
	tree->lines[tree->line_count++] = kept;
}

static int compare_sources(const void *left, const void *right)
{
	const struct calltree_line *a = left, *b = right;
	int order = compare_numbers(a->frame, b->frame);

	/* Files are interned, so equal pointers mean equal texts, the most frequent case. */
	if (!order && a->file != b->file)
		order = strcmp(a->file, b->file);
	return order ? order : compare_numbers(a->line, b->line);
}

static int compare_weights(const void *left, const void *right)
{
	const struct calltree_line *a = left, *b = right;
	int order = compare_numbers(a->frame, b->frame);

	if (!order)
		order = compare_numbers(b->total, a->total);
	if (!order)
		order = compare_numbers(b->self, a->self);
	return order ? order : compare_sources(a, b);
}

static void sort_lines(struct calltree *tree)
{
	struct calltree_line *lines = tree->lines;
	size_t kept = 0;

	if (!tree->line_count)
		return;
	qsort(lines, tree->line_count, sizeof(*lines), compare_sources);
	for (size_t i = 1; i < tree->line_count; i++) {
		if (compare_sources(&lines[kept], &lines[i])) {
			lines[++kept] = lines[i];
			continue;
		}
		lines[kept].self += lines[i].self;
		lines[kept].total += lines[i].total;
		lines[kept].waits += lines[i].waits;
	}
	tree->line_count = kept + 1;
	qsort(lines, tree->line_count, sizeof(*lines), compare_weights);
}

int calltree_finish(struct calltree *tree)
{
	if (tree->error)
		return tree->error;
	for (uint32_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (uint32_t i = tree->node_count - 1; i > 0; i--)
		tree->nodes[tree->nodes[i].parent].total += tree->nodes[i].total;
	sort_lines(tree);
	return 0;
}

size_t calltree_lines(const struct calltree *tree)
{
	return tree->line_count;
}

const struct calltree_line *calltree_line_at(const struct calltree *tree, size_t line)
{
	return &tree->lines[line];
}

/* ---- the order it is shown in ---------------------------------------------------------------- */

static int compare_frames(const void *left, const void *right, void *data)
{
	const struct calltree *tree = data;
	const struct calltree_frame *a = calltree_frame_at(tree, *(const uint32_t *)left);
	const struct calltree_frame *b = calltree_frame_at(tree, *(const uint32_t *)right);
	int order = strcmp(a->name, b->name);

	if (!order)
		order = strcmp(a->module, b->module);
	if (!order)
		order = (int)a->kind - (int)b->kind;
	if (!order)
		order = strcmp(a->file, b->file);
	if (!order)
		order = compare_numbers(a->line, b->line);
	if (!order)
		order = compare_numbers(a->start_line, b->start_line);
	if (!order)
		order = compare_numbers(a->offset, b->offset);
	if (!order && a->mapping != b->mapping)
		order = !a->mapping   ? -1
			: !b->mapping ? 1
				      : compare_mappings(a->mapping, b->mapping);
	return order;
}

static uint32_t *array_new(uint32_t count)
{
	return calloc((size_t)count + 2, sizeof(uint32_t));
}

/*
 * Turn counts into start indices. Before the call, @starts[key + 1] is the number of elements with
 * @key; after it, @starts[key] is the index of the first element with @key.
 */
static void counts_to_starts(uint32_t *starts, uint32_t keys)
{
	for (uint32_t i = 0; i < keys; i++)
		starts[i + 1] += starts[i];
}

/*
 * Sort all nodes except the root by parent, and children of one parent by the rank of their frame
 * (a counting sort).
 */
static int sort_children(struct preorder *preorder, const struct calltree *tree, uint32_t *children,
	uint32_t *first_child)
{
	uint32_t keys = preorder->frames;
	uint32_t *starts = array_new(keys);
	uint32_t *next = array_new(preorder->nodes);
	uint32_t *by_frame = array_new(preorder->nodes);
	int error = -ENOMEM;

	if (!starts || !next || !by_frame)
		goto out;
	for (uint32_t n = 1; n < preorder->nodes; n++) {
		starts[preorder->rank[calltree_node_at(tree, n)->frame] + 1]++;
		first_child[calltree_node_at(tree, n)->parent + 1]++;
	}
	counts_to_starts(starts, keys);
	for (uint32_t n = 1; n < preorder->nodes; n++)
		by_frame[starts[preorder->rank[calltree_node_at(tree, n)->frame]]++] = n;
	counts_to_starts(first_child, preorder->nodes);
	memcpy(next, first_child, preorder->nodes * sizeof(*next));
	for (uint32_t i = 0; i + 1 < preorder->nodes; i++)
		children[next[calltree_node_at(tree, by_frame[i])->parent]++] = by_frame[i];
	error = 0;
out:
	free(starts);
	free(next);
	free(by_frame);
	return error;
}

static void sort_frames(struct preorder *preorder, const struct calltree *tree)
{
	for (uint32_t i = 0; i < preorder->frames; i++)
		preorder->by_rank[i] = i;
	qsort_r(preorder->by_rank, preorder->frames, sizeof(*preorder->by_rank), compare_frames,
		(void *)(uintptr_t)tree);
	for (uint32_t i = 0; i < preorder->frames; i++)
		preorder->rank[preorder->by_rank[i]] = i;
}

static void set_positions(struct preorder *preorder, const struct calltree *tree,
	const uint32_t *children, const uint32_t *first_child, uint32_t *size)
{
	for (uint32_t n = 0; n < preorder->nodes; n++)
		size[n] = 1;
	for (uint32_t n = preorder->nodes - 1; n > 0; n--)
		size[calltree_node_at(tree, n)->parent] += size[n];
	preorder->end[0] = preorder->nodes;
	/* Parents have smaller numbers, so a parent's position is set before its children's. */
	for (uint32_t n = 0; n < preorder->nodes; n++) {
		uint32_t at = preorder->position[n];
		uint32_t next = at + 1;

		preorder->order[at] = n;
		for (uint32_t i = first_child[n]; i < first_child[n + 1]; i++) {
			preorder->position[children[i]] = next;
			preorder->depth[next] = preorder->depth[at] + 1;
			next += size[children[i]];
			preorder->end[preorder->position[children[i]]] = next;
		}
	}
	for (uint32_t n = preorder->nodes - 1; n > 0; n--) {
		uint32_t parent = preorder->position[calltree_node_at(tree, n)->parent];
		uint32_t levels = preorder->height[preorder->position[n]] + 1;

		if (levels > preorder->height[parent])
			preorder->height[parent] = levels;
	}
}

int preorder_init(struct preorder *preorder, const struct calltree *tree)
{
	uint32_t nodes = calltree_nodes(tree);
	uint32_t frames = calltree_frames(tree);
	uint32_t *children = array_new(nodes);
	uint32_t *first_child = array_new(nodes);
	uint32_t *size = array_new(nodes);
	int error = -ENOMEM;

	*preorder = (struct preorder){.nodes = nodes, .frames = frames};
	preorder->order = array_new(nodes);
	preorder->position = array_new(nodes);
	preorder->end = array_new(nodes);
	preorder->depth = array_new(nodes);
	preorder->height = array_new(nodes);
	preorder->rank = array_new(frames);
	preorder->by_rank = array_new(frames);
	if (!children || !first_child || !size || !preorder->order || !preorder->position ||
		!preorder->end || !preorder->depth || !preorder->height || !preorder->rank ||
		!preorder->by_rank)
		goto out;
	sort_frames(preorder, tree);
	error = sort_children(preorder, tree, children, first_child);
	if (!error)
		set_positions(preorder, tree, children, first_child, size);
out:
	free(children);
	free(first_child);
	free(size);
	if (error)
		preorder_release(preorder);
	return error;
}

void preorder_release(struct preorder *preorder)
{
	free(preorder->order);
	free(preorder->position);
	free(preorder->end);
	free(preorder->depth);
	free(preorder->height);
	free(preorder->rank);
	free(preorder->by_rank);
	*preorder = (struct preorder){0};
}
