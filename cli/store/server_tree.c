/* SPDX-License-Identifier: MIT */
/*
 * Only what has weight is looked up: a server sends the stacks of whole days.
 */
#include "cli/store/server_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/profile.h"

#define UNSET UINT32_MAX

static int take_stacks(struct server_tree *server, const struct bytes *answer)
{
	struct rows rows = rows_of(answer);

	while (rows_are_left(&rows)) {
		uint64_t stack = rows_uint(&rows, 8), parent = rows_uint(&rows, 8);
		uint64_t frame = rows_uint(&rows, 8);
		uint32_t before = server->hashes.count, place;

		if (rows.is_damaged || stack == STORE_ROOT)
			return -EPROTO;
		if (hashes_add(&server->hashes, stack, &place))
			return -ENOMEM;
		if (server->hashes.count == before)
			continue;
		bytes_put(&server->parents, &parent, sizeof(parent));
		bytes_put(&server->frames, &frame, sizeof(frame));
	}
	return server->parents.error || server->frames.error ? -ENOMEM : 0;
}

static uint64_t value_at(const struct bytes *values, uint32_t place)
{
	return ((const uint64_t *)(const void *)values->data)[place];
}

/* Nothing is known of any place. */
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
 * The way from @stack to what is known of it, the innermost first, into server->way; *@end is the
 * place that was known, or UNSET for the root. Returns how many, or -ENOENT, -EPROTO.
 */
static int find_way(struct server_tree *server, uint64_t stack, uint32_t *end)
{
	int steps = 0;

	for (; stack != STORE_ROOT; stack = value_at(&server->parents, *end)) {
		*end = hashes_find(&server->hashes, stack);
		if (*end == HASHES_NONE)
			return -ENOENT;
		if (server->node[*end] != UNSET)
			return steps;
		if (steps == (int)SERVER_DEPTH_MAX)
			return -EPROTO; /* or in a circle */
		server->way[steps++] = *end;
	}
	*end = UNSET;
	return steps;
}

/* ->node says where it was done. */
void server_tree_use(struct server_tree *server, const struct bytes *weights)
{
	struct rows rows = rows_of(weights);

	while (rows_are_left(&rows)) {
		uint32_t end;
		int steps;

		rows_uint(&rows, 4);
		steps = find_way(server, rows_uint(&rows, 8), &end);
		rows_uint(&rows, 8);
		for (int i = 0; i < steps; i++) {
			server->node[server->way[i]] = CALLTREE_ROOT;
			named_frames_use(&server->named, value_at(&server->frames, server->way[i]));
		}
	}
}

int server_tree_take(
	struct server_tree *server, const struct bytes *stacks, const struct bytes *frames)
{
	int error;

	server->way = calloc(SERVER_DEPTH_MAX, sizeof(*server->way));
	error = server->way ? take_stacks(server, stacks) : -ENOMEM;
	if (!error)
		error = named_frames_take(&server->named, frames);
	return error ? error : forget_nodes(server);
}

/* The node of @stack. Returns 0; -ENOENT when it leads nowhere; -EPROTO. */
static int place_stack(
	struct server_tree *server, struct calltree *tree, uint64_t stack, uint32_t *node)
{
	uint32_t end, frame;
	int steps = find_way(server, stack, &end);

	if (steps < 0)
		return steps;
	*node = end == UNSET ? CALLTREE_ROOT : server->node[end];
	while (steps-- > 0) {
		uint32_t place = server->way[steps];

		if (named_frames_in(&server->named, value_at(&server->frames, place), tree, &frame))
			return -ENOENT;
		*node = calltree_child(tree, *node, frame);
		server->node[place] = *node;
	}
	return 0;
}

/* A sample holds 32 bits of a weight. */
static void add_samples(struct calltree *tree, uint32_t node, uint32_t run, uint64_t weight)
{
	for (uint64_t part; weight && !calltree_error(tree); weight -= part) {
		part = weight < UINT32_MAX ? weight : UINT32_MAX;
		calltree_sample(
			tree, &(struct calltree_sample){
				      .node = node, .weight = (uint32_t)part, .thread = run});
	}
}

static int add_weight(struct server_tree *server, struct calltree *tree, uint64_t stack,
	uint64_t weight, const struct server_unit *unit, bool has_runs)
{
	uint32_t node = CALLTREE_ROOT;
	uint64_t scaled;
	int error = place_stack(server, tree, stack, &node);

	if (error == -EPROTO)
		return error;
	if (__builtin_add_overflow(server->weight, weight, &server->weight) ||
		__builtin_mul_overflow(weight, unit->factor, &scaled))
		return -EOVERFLOW;
	if (error) {
		server->unknown += weight;
		node = calltree_child(tree, CALLTREE_ROOT,
			calltree_frame(tree, "[unknown stack]", "", CALLTREE_SYNTHETIC));
	}
	calltree_add(tree, node, scaled);
	if (calltree_error(tree))
		return calltree_error(tree);
	if (has_runs)
		add_samples(tree, node, unit->run, scaled);
	return 0;
}

int server_tree_add(struct server_tree *server, const struct bytes *weights,
	const struct server_unit *units, unsigned count, bool has_runs, struct calltree *tree)
{
	struct rows rows = rows_of(weights);
	int error = 0;

	if (!server->has_names) {
		server->has_names = true;
		error = forget_nodes(server);
	}
	while (!error && rows_are_left(&rows)) {
		uint64_t unit = rows_uint(&rows, 4), stack = rows_uint(&rows, 8);
		uint64_t weight = rows_uint(&rows, 8);

		if (rows.is_damaged || unit >= count || !units[unit].factor)
			return -EPROTO;
		error = add_weight(server, tree, stack, weight, &units[unit], has_runs);
	}
	return error;
}

void server_tree_release(struct server_tree *server)
{
	hashes_release(&server->hashes);
	bytes_release(&server->parents);
	bytes_release(&server->frames);
	named_frames_release(&server->named);
	free(server->node);
	free(server->way);
	*server = (struct server_tree){.way = NULL};
}
