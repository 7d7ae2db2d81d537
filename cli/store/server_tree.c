/* SPDX-License-Identifier: MIT */
/*
 * Build a tree from a server's answers. Only stacks with weight are looked up, because a server
 * sends all stacks of whole days.
 */
#include "cli/store/server_tree.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/store_profile.h"

#define UNSET UINT32_MAX

static int index_stacks(struct server_tree *server, const struct bytes *answer)
{
	struct rows rows = rows_of(answer);

	while (rows_are_left(&rows)) {
		uint64_t stack = rows_uint(&rows, 8), parent = rows_uint(&rows, 8);
		uint64_t frame = rows_uint(&rows, 8);
		uint32_t before = server->hashes.count, index;

		if (rows.is_damaged || stack == STORE_ROOT)
			return -EPROTO;
		if (hashes_add(&server->hashes, stack, &index))
			return -ENOMEM;
		if (server->hashes.count == before)
			continue;
		bytes_put(&server->parents, &parent, sizeof(parent));
		bytes_put(&server->frames, &frame, sizeof(frame));
	}
	return server->parents.error || server->frames.error ? -ENOMEM : 0;
}

static uint64_t value_at(const struct bytes *values, uint32_t index)
{
	return ((const uint64_t *)(const void *)values->data)[index];
}

/* Set all nodes to UNSET. */
static int forget_nodes(struct server_tree *server)
{
	size_t bytes = ((size_t)server->hashes.count + 1) * sizeof(*server->node);

	if (!server->node)
		server->node = malloc(bytes);
	if (server->node)
		memset(server->node, 0xff, bytes);
	return server->node ? 0 : -ENOMEM;
}

/*
 * Write the indices of @stack and its ancestors into server->path, up to an ancestor that already
 * has a node. *@end is the index of that ancestor, or UNSET for the root. Returns the number of
 * indices, -ENOENT if an ancestor is missing, or -EPROTO if there are too many.
 */
static int find_path(struct server_tree *server, uint64_t stack, uint32_t *end)
{
	int steps = 0;

	for (; stack != STORE_ROOT; stack = value_at(&server->parents, *end)) {
		*end = hashes_find(&server->hashes, stack);
		if (*end == HASHES_NONE)
			return -ENOENT;
		if (server->node[*end] != UNSET)
			return steps;
		if (steps == (int)SERVER_DEPTH_MAX)
			return -EPROTO; /* or a circle */
		server->path[steps++] = *end;
	}
	*end = UNSET;
	return steps;
}

/* Mark each visited stack in server->node, so that find_path() ends there next time. */
void server_tree_use(struct server_tree *server, const struct server_weights *weights)
{
	struct rows rows = rows_of(weights->rows);

	while (rows_are_left(&rows)) {
		uint32_t end;
		int steps = find_path(server, rows_uint(&rows, 8), &end);

		rows_numbers(&rows);
		for (int i = 0; i < steps; i++) {
			server->node[server->path[i]] = CALLTREE_ROOT;
			named_frames_use(
				&server->named, value_at(&server->frames, server->path[i]));
		}
	}
}

int server_tree_index(
	struct server_tree *server, const struct bytes *stacks, const struct bytes *frames)
{
	int error;

	server->path = calloc(SERVER_DEPTH_MAX, sizeof(*server->path));
	error = server->path ? index_stacks(server, stacks) : -ENOMEM;
	if (!error)
		error = named_frames_index(&server->named, frames);
	return error ? error : forget_nodes(server);
}

/*
 * Find or make the node of @stack in @tree. Returns 0; -ENOENT if an ancestor or a frame is
 * missing; or -EPROTO if the stack is too deep.
 */
static int place_stack(
	struct server_tree *server, struct calltree *tree, uint64_t stack, uint32_t *node)
{
	uint32_t end, frame;
	int steps = find_path(server, stack, &end);

	if (steps < 0)
		return steps;
	*node = end == UNSET ? CALLTREE_ROOT : server->node[end];
	while (steps-- > 0) {
		uint32_t index = server->path[steps];

		if (named_frames_in(&server->named, value_at(&server->frames, index), tree, &frame))
			return -ENOENT;
		*node = calltree_child(tree, *node, frame);
		server->node[index] = *node;
	}
	return 0;
}

/* ---- weights --------------------------------------------------------------------------------- */

#define ATTEMPT_SHIFT 32 /* position of the attempt in a UInt64 */
/* An attempt number shifted right by BUCKET_SHIFT is the index of its bucket. */
#define BUCKET_SHIFT  16
#define BUCKETS	      ((UINT32_MAX >> BUCKET_SHIFT) + 1)

/* A row of a server's answer: the tree node of the row's stack, and the row's weights. */
struct part {
	uint32_t node;
	bool is_unknown;
	const struct server_weights *weights;
	const uint8_t *at, *end; /* UInt64 */
};

static int make_buckets(struct server_weights *weights)
{
	weights->buckets = calloc(BUCKETS + 1, sizeof(*weights->buckets));
	if (!weights->buckets)
		return -ENOMEM;
	for (size_t i = 0; i < weights->attempt_count; i++)
		weights->buckets[(weights->attempts[i].attempt >> BUCKET_SHIFT) + 1]++;
	for (uint32_t i = 0; i < BUCKETS; i++)
		weights->buckets[i + 1] += weights->buckets[i];
	return 0;
}

void server_weights_release(struct server_weights *weights)
{
	free(weights->buckets);
	weights->buckets = NULL;
}

int server_tree_add_weights(struct server_tree *server, struct server_weights *weights,
	struct calltree *tree, struct server_sums *sums)
{
	struct rows rows = rows_of(weights->rows);
	int error = weights->attempts ? make_buckets(weights) : 0;

	if (!error && !server->has_names) {
		server->has_names = true;
		error = forget_nodes(server);
	}
	while (!error && rows_are_left(&rows)) {
		struct part part = {.weights = weights};
		uint64_t stack = rows_uint(&rows, 8);
		struct rows numbers = rows_numbers(&rows);
		int found = place_stack(server, tree, stack, &part.node);

		part.at = numbers.at;
		part.end = numbers.end;
		part.is_unknown = found != 0;
		if (rows.is_damaged || found == -EPROTO)
			return -EPROTO;
		if (found)
			part.node = calltree_child(tree, CALLTREE_ROOT,
				calltree_frame(tree, "[unknown stack]", "", CALLTREE_SYNTHETIC));
		bytes_put(&sums->parts, &part, sizeof(part));
		error = sums->parts.error ? sums->parts.error : calltree_error(tree);
	}
	return error;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The sums of one stack, per unit. */
struct adding {
	struct server_sums *sums;
	uint64_t *of_unit;
	uint32_t *units; /* units whose sum is not 0 */
	unsigned count;
};

/* Returns the index of the first element of weights->attempts that is at least @attempt. */
static uint32_t find_attempt(const struct server_weights *weights, uint32_t attempt)
{
	uint32_t low = weights->buckets[attempt >> BUCKET_SHIFT];
	uint32_t high = weights->buckets[(attempt >> BUCKET_SHIFT) + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (weights->attempts[middle].attempt < attempt)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_to_unit(struct adding *adding, uint32_t unit, uint64_t weight, bool is_unknown)
{
	struct server_sums *sums = adding->sums;
	uint64_t *sum = &adding->of_unit[unit];

	if (!*sum && weight)
		adding->units[adding->count++] = unit;
	sums->unknown += is_unknown ? weight : 0;
	return __builtin_add_overflow(*sum, weight, sum) ||
			       __builtin_add_overflow(sums->weight, weight, &sums->weight)
		       ? -EOVERFLOW
		       : 0;
}

/* Add @weight to each unit of @attempt; two if both sides of a comparison select the profile. */
static int add_of_attempt(
	struct adding *adding, const struct part *part, uint32_t attempt, uint32_t weight)
{
	const struct server_weights *weights = part->weights;
	uint32_t first = find_attempt(weights, attempt), at = first;
	int error = 0;

	for (; !error && at < weights->attempt_count && weights->attempts[at].attempt == attempt;
		at++)
		error = add_to_unit(adding, weights->attempts[at].unit, weight, part->is_unknown);
	return error ? error : at == first ? -EPROTO : 0;
}

static int add_part(struct adding *adding, const struct part *part)
{
	int error = 0;

	for (const uint8_t *at = part->at; !error && at < part->end; at += sizeof(uint64_t)) {
		uint64_t number;

		memcpy(&number, at, sizeof(number));
		number = le64toh(number);
		if (part->weights->attempts)
			error = add_of_attempt(adding, part, (uint32_t)(number >> ATTEMPT_SHIFT),
				(uint32_t)number);
		else
			error = add_to_unit(adding, part->weights->unit, number, part->is_unknown);
	}
	return error;
}

/* Add the sums to @node and reset them. */
static int put_node(struct adding *adding, uint32_t node, struct calltree *tree)
{
	const struct server_sums *sums = adding->sums;

	for (unsigned i = 0; i < adding->count; i++) {
		const struct server_unit *unit = &sums->units[adding->units[i]];
		uint64_t *sum = &adding->of_unit[adding->units[i]], scaled;

		if (__builtin_mul_overflow(*sum, unit->factor, &scaled))
			return -EOVERFLOW;
		*sum = 0;
		calltree_add(tree, node, scaled);
		if (sums->has_runs)
			calltree_sample_weight(tree,
				&(struct calltree_sample){.node = node, .thread = unit->run},
				scaled);
	}
	adding->count = 0;
	return calltree_error(tree);
}

static int by_node(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	return a->node < b->node ? -1 : a->node > b->node;
}

/* Sort rows by node, so that each node is added once and memory is accessed in order. */
int server_sums_add(struct server_sums *sums, struct calltree *tree)
{
	struct part *parts = (void *)sums->parts.data;
	size_t count = sums->parts.used / sizeof(*parts);
	struct adding adding = {.sums = sums,
		.of_unit = calloc(sums->unit_count + 1, sizeof(uint64_t)),
		.units = calloc(sums->unit_count + 1, sizeof(uint32_t))};
	int error = adding.of_unit && adding.units ? 0 : -ENOMEM;

	if (count)
		qsort(parts, count, sizeof(*parts), by_node);
	for (size_t i = 0; !error && i < count; i++) {
		error = add_part(&adding, &parts[i]);
		if (!error && (i + 1 == count || parts[i + 1].node != parts[i].node))
			error = put_node(&adding, parts[i].node, tree);
	}
	sums->parts.used = 0;
	free(adding.of_unit);
	free(adding.units);
	return error;
}

void server_sums_release(struct server_sums *sums)
{
	bytes_release(&sums->parts);
}

void server_tree_release(struct server_tree *server)
{
	hashes_release(&server->hashes);
	bytes_release(&server->parents);
	bytes_release(&server->frames);
	named_frames_release(&server->named);
	free(server->node);
	free(server->path);
	*server = (struct server_tree){.path = NULL};
}
