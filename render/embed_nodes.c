/* SPDX-License-Identifier: MIT */
/*
 * A function calls what it called before: after a few visits of a frame the model knows its
 * callees, how often each comes and whether it calls at all. What is learned here from what was
 * written, the reader learns from what it read: share/viewer/nodes.js must match step by step.
 */
#include "render/embed_nodes.h"

#include <errno.h>
#include <stdlib.h>

#include "render/embed.h"
#include "render/range.h"

/* A callee that its caller is known to have. */
struct callee {
	uint32_t frame; /* rank */
	uint32_t times;
	uint32_t next; /* the same caller's, by rank; 0 is none */
};

/* By frame: its callees. */
struct caller {
	uint32_t first; /* callee; 0 is none */
	uint32_t callees;
	uint32_t times; /* of all of them */
};

struct model {
	struct range range;
	const struct calltree *tree;
	const struct preorder *preorder;
	struct caller *callers;	       /* [rank]; the root's is behind the last */
	struct callee *callees;	       /* [0] is none */
	struct range_chance *own_self; /* [rank] */
	struct range_chance *own_more; /* [rank][EMBED_MORE_CASES] */
	uint32_t callee_count;
	struct range_chance self;
	struct range_chance more[EMBED_MORE_CASES][2];
	struct range_chance known[EMBED_KNOWN_MAX + 1][EMBED_TIMES_LOG_MAX + 1];
	struct range_chance longer[64];	    /* by bits so far */
	struct range_chance leading[64][8]; /* by length, then by the bits before it */
};

/* Where in the callees of a caller one is: what is left of them, all above the last child. */
struct cursor {
	uint32_t *at; /* the link to the first one left */
	uint32_t callees;
	uint32_t times;
};

static void make_even(struct range_chance *chances, size_t count)
{
	for (size_t i = 0; i < count; i++)
		chances[i] = RANGE_CHANCE_EVEN;
}

static unsigned log2_of(uint64_t value)
{
	return 63 - (unsigned)__builtin_clzll(value);
}

/* @weight is not 0: its length, three bits by chances, the others as they are. */
static void put_weight(struct model *model, uint64_t weight)
{
	unsigned length = log2_of(weight), before = 1;

	for (unsigned i = 0; i < 63; i++) {
		range_put_bit(&model->range, &model->longer[i], i < length);
		if (i >= length)
			break;
	}
	for (unsigned i = length; i-- > 0;) {
		unsigned bit = weight >> i & 1;

		if (before < 8) {
			range_put_bit(&model->range, &model->leading[length][before], (int)bit);
			before = 2 * before + bit;
		} else {
			range_put(&model->range, bit, 1, 2);
		}
	}
}

static void step(const struct model *model, struct cursor *cursor)
{
	const struct callee *callee = &model->callees[*cursor->at];

	cursor->callees--;
	cursor->times -= callee->times;
	cursor->at = &model->callees[*cursor->at].next;
}

static void halve(struct model *model, struct caller *caller)
{
	caller->times = 0;
	for (uint32_t i = caller->first; i; i = model->callees[i].next) {
		model->callees[i].times = (model->callees[i].times + 1) / 2;
		caller->times += model->callees[i].times;
	}
}

/* A callee @rank where the cursor is, which steps over it: it was not counted there. */
static void add_callee(
	struct model *model, struct caller *caller, struct cursor *cursor, uint32_t rank)
{
	if (caller->callees == EMBED_CALLEES_MAX)
		return;
	model->callees[++model->callee_count] = (struct callee){rank, 1, *cursor->at};
	*cursor->at = model->callee_count;
	cursor->at = &model->callees[model->callee_count].next;
	caller->callees++;
	caller->times++;
}

static void put_known(struct model *model, const struct cursor *left, int is_known)
{
	unsigned many = left->callees < EMBED_KNOWN_MAX ? left->callees : EMBED_KNOWN_MAX;
	unsigned often = log2_of(left->times);

	if (often > EMBED_TIMES_LOG_MAX)
		often = EMBED_TIMES_LOG_MAX;
	range_put_bit(&model->range, &model->known[many][often], is_known);
}

/* The child @rank, not below @least, of a node of @caller. */
static void put_child(struct model *model, struct caller *caller, struct cursor *cursor,
	uint32_t rank, uint32_t least)
{
	struct cursor left = *cursor;

	while (*cursor->at && model->callees[*cursor->at].frame < rank)
		step(model, cursor);
	struct callee *callee = &model->callees[*cursor->at];
	int is_known = *cursor->at && callee->frame == rank;

	if (left.callees)
		put_known(model, &left, is_known);
	if (is_known) {
		range_put(&model->range, left.times - cursor->times, callee->times, left.times);
		step(model, cursor);
		callee->times++;
		caller->times++;
	} else {
		range_put_below(&model->range, rank - least, model->preorder->frames - least);
		add_callee(model, caller, cursor, rank);
	}
}

static void put_node(struct model *model, uint32_t position)
{
	const struct preorder *preorder = model->preorder;
	const struct calltree_node *node = calltree_node_at(model->tree, preorder->order[position]);
	uint32_t rank = position ? preorder->rank[node->frame] : preorder->frames;
	struct caller *caller = &model->callers[rank];
	unsigned has_self = node->self != 0;

	range_put_mixed(&model->range, &model->own_self[rank], &model->self, (int)has_self);
	if (has_self)
		put_weight(model, node->self);
	if (caller->times >= EMBED_TIMES_MAX)
		halve(model, caller);
	struct cursor cursor = {&caller->first, caller->callees, caller->times};
	uint32_t child = position + 1, least = 0;

	for (unsigned children = 0;; children += children < 2) {
		unsigned which = has_self + 2 * children;
		int more = child < preorder->end[position];

		range_put_mixed(&model->range, &model->own_more[rank * EMBED_MORE_CASES + which],
			&model->more[which][cursor.callees > 0], more);
		if (!more)
			break;
		uint32_t frame = calltree_node_at(model->tree, preorder->order[child])->frame;

		put_child(model, caller, &cursor, preorder->rank[frame], least);
		least = preorder->rank[frame] + 1;
		child = preorder->end[child];
	}
}

int embed_nodes(const struct calltree *tree, const struct preorder *preorder, struct bytes *column)
{
	size_t callers = (size_t)preorder->frames + 1;
	struct model *model = calloc(1, sizeof(*model));
	int error = -ENOMEM;

	if (!model)
		return error;
	model->tree = tree;
	model->preorder = preorder;
	model->callers = calloc(callers, sizeof(*model->callers));
	model->callees = calloc((size_t)preorder->nodes + 1, sizeof(*model->callees));
	model->own_self = calloc(callers, sizeof(*model->own_self));
	model->own_more = calloc(callers * EMBED_MORE_CASES, sizeof(*model->own_more));
	if (!model->callers || !model->callees || !model->own_self || !model->own_more)
		goto out;
	make_even(model->own_self, callers);
	make_even(model->own_more, callers * EMBED_MORE_CASES);
	make_even(&model->self, 1);
	make_even(&model->more[0][0], sizeof(model->more) / sizeof(model->self));
	make_even(&model->known[0][0], sizeof(model->known) / sizeof(model->self));
	make_even(model->longer, sizeof(model->longer) / sizeof(model->self));
	make_even(&model->leading[0][0], sizeof(model->leading) / sizeof(model->self));
	range_init(&model->range, column);
	for (uint32_t position = 0; position < preorder->nodes; position++)
		put_node(model, position);
	range_finish(&model->range);
	error = column->error;
out:
	free(model->callers);
	free(model->callees);
	free(model->own_self);
	free(model->own_more);
	free(model);
	return error;
}
