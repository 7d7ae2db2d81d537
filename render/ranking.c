/* SPDX-License-Identifier: MIT */
/*
 * Each table is computed in one walk over the tree in preorder. A stack that contains a function
 * twice counts once in its total: occurrences below the outermost one are skipped.
 */
#include "render/ranking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_function(const struct calltree_frame *a, const struct calltree_frame *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->module, b->module);
}

/*
 * Give each function a number. The frames of one function are neighbours, because frames are sorted
 * by name, module, kind.
 */
static void number_functions(struct ranking *ranking, uint32_t *function_of)
{
	const struct calltree_frame *last = NULL;

	for (uint32_t rank = 0; rank < ranking->preorder.frames; rank++) {
		uint32_t number = ranking->preorder.by_rank[rank];
		const struct calltree_frame *frame = calltree_frame_at(ranking->tree, number);

		if (!last || !is_one_function(last, frame))
			ranking->frame_of[ranking->functions++] = number;
		function_of[number] = ranking->functions - 1;
		last = frame;
	}
	ranking->function_at[0] = ranking->functions;
	for (uint32_t at = 1; at < ranking->preorder.nodes; at++)
		ranking->function_at[at] =
			function_of[calltree_node_at(ranking->tree, ranking->preorder.order[at])
					    ->frame];
}

int ranking_init(struct ranking *ranking, const struct calltree *tree)
{
	size_t frames = calltree_frames(tree);
	uint32_t *function_of;

	*ranking = (struct ranking){.tree = tree};
	if (preorder_init(&ranking->preorder, tree))
		return -ENOMEM;
	function_of = calloc(frames + 1, sizeof(*function_of));
	ranking->frame_of = calloc(frames + 1, sizeof(*ranking->frame_of));
	ranking->function_at = calloc(ranking->preorder.nodes, sizeof(*ranking->function_at));
	if (!function_of || !ranking->frame_of || !ranking->function_at) {
		free(function_of);
		ranking_release(ranking);
		return -ENOMEM;
	}
	number_functions(ranking, function_of);
	free(function_of);
	return 0;
}

void ranking_release(struct ranking *ranking)
{
	if (ranking->tree)
		preorder_release(&ranking->preorder);
	free(ranking->function_at);
	free(ranking->frame_of);
	*ranking = (struct ranking){.tree = NULL};
}

const struct calltree_frame *ranking_frame(const struct ranking *ranking, uint32_t function)
{
	return calltree_frame_at(ranking->tree, ranking->frame_of[function]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_name(const struct ranking_row *a, const struct ranking_row *b)
{
	return a->function < b->function ? -1 : a->function > b->function;
}

static int by_self(const void *left, const void *right)
{
	const struct ranking_row *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return by_name(a, b);
}

static int by_total(const void *left, const void *right)
{
	const struct ranking_row *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return by_name(a, b);
}

void ranking_sort_by_total(struct ranking_rows *rows)
{
	qsort(rows->at, rows->count, sizeof(*rows->at), by_total);
}

/* Weights by function; the last row is for RANKING_NO_FUNCTION. */
struct weighing {
	struct ranking_row *rows;
	/* [function] -> position after the subtree in which the function was last counted */
	uint32_t *within;
};

static int weighing_init(struct weighing *weighing, const struct ranking *ranking)
{
	size_t count = (size_t)ranking->functions + 1;

	weighing->rows = calloc(count, sizeof(*weighing->rows));
	weighing->within = calloc(count, sizeof(*weighing->within));
	if (weighing->rows && weighing->within)
		return 0;
	free(weighing->rows);
	free(weighing->within);
	return -ENOMEM;
}

static void add_total(
	struct weighing *weighing, const struct ranking *ranking, uint32_t function, uint32_t at)
{
	if (at < weighing->within[function])
		return;
	weighing->rows[function].total +=
		calltree_node_at(ranking->tree, ranking->preorder.order[at])->total;
	weighing->within[function] = ranking->preorder.end[at];
}

static bool is_root_kind(enum calltree_frame_kind kind)
{
	return kind == CALLTREE_PROCESS || kind == CALLTREE_THREAD || kind == CALLTREE_IDLE;
}

/*
 * Move the rows that have weight to @rows. Unless @keeps_roots, leave out the rows of process,
 * thread and idle frames without self weight.
 */
static void weighing_end(struct weighing *weighing, const struct ranking *ranking, bool keeps_roots,
	struct ranking_rows *rows)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i <= ranking->functions; i++) {
		struct ranking_row row = weighing->rows[i];

		row.function = i < ranking->functions ? i : RANKING_NO_FUNCTION;
		if (!row.total || (!keeps_roots && !row.self && i < ranking->functions &&
					  is_root_kind(ranking_frame(ranking, i)->kind)))
			continue;
		weighing->rows[count++] = row;
	}
	free(weighing->within);
	*rows = (struct ranking_rows){.at = weighing->rows, .count = count};
}

/*
 * List the functions at the positions from @first to before @end. Without @is_language (NULL), self
 * weight belongs to the function itself; otherwise see ranking_of_languages().
 */
static int list_functions(const struct ranking *ranking, uint32_t first, uint32_t end,
	ranking_is_language_fn *is_language, struct ranking_rows *rows)
{
	/* [depth] -> the innermost function of a language on the path to that depth */
	uint32_t *language = calloc((size_t)ranking->preorder.height[0] + 1, sizeof(*language));
	struct weighing weighing;

	if (!language || weighing_init(&weighing, ranking)) {
		free(language);
		return -ENOMEM;
	}
	language[0] = RANKING_NO_FUNCTION;
	for (uint32_t at = first; at < end; at++) {
		uint32_t depth = ranking->preorder.depth[at], function = ranking->function_at[at];
		uint32_t owner = function;
		const struct calltree_node *node =
			calltree_node_at(ranking->tree, ranking->preorder.order[at]);

		if (is_language) {
			bool is_one = is_language(calltree_frame_at(ranking->tree, node->frame));

			language[depth] = is_one ? function : language[depth - 1];
			if (language[depth] != RANKING_NO_FUNCTION)
				owner = language[depth];
		}
		weighing.rows[owner].self += node->self;
		add_total(&weighing, ranking, function, at);
	}
	free(language);
	weighing_end(&weighing, ranking, false, rows);
	qsort(rows->at, rows->count, sizeof(*rows->at), by_self);
	return 0;
}

int ranking_of(const struct ranking *ranking, uint32_t node, struct ranking_rows *rows)
{
	uint32_t first = ranking->preorder.position[node];

	return list_functions(ranking, first ? first : 1, ranking->preorder.end[first], NULL, rows);
}

int ranking_of_languages(const struct ranking *ranking, ranking_is_language_fn *is_language,
	struct ranking_rows *rows)
{
	return list_functions(ranking, 1, ranking->preorder.nodes, is_language, rows);
}

int ranking_neighbours(
	const struct ranking *ranking, uint32_t function, bool is_below, struct ranking_rows *rows)
{
	uint32_t *path = calloc((size_t)ranking->preorder.height[0] + 1, sizeof(*path));
	struct weighing weighing;

	if (!path || weighing_init(&weighing, ranking)) {
		free(path);
		return -ENOMEM;
	}
	path[0] = ranking->function_at[0];
	for (uint32_t at = 1; at < ranking->preorder.nodes; at++) {
		uint32_t depth = ranking->preorder.depth[at];
		uint32_t caller = path[depth - 1], callee = ranking->function_at[at];

		path[depth] = callee;
		if ((is_below ? caller : callee) == function)
			add_total(&weighing, ranking, is_below ? callee : caller, at);
	}
	free(path);
	weighing_end(&weighing, ranking, true, rows);
	ranking_sort_by_total(rows);
	return 0;
}

/* Returns the position of the heaviest child of @parent (a position), or 0 if it has none. */
static uint32_t heaviest_child(const struct ranking *ranking, uint32_t parent)
{
	uint32_t best = 0;
	uint64_t most = 0;

	for (uint32_t at = parent + 1; at < ranking->preorder.end[parent];
		at = ranking->preorder.end[at]) {
		uint64_t total =
			calltree_node_at(ranking->tree, ranking->preorder.order[at])->total;

		if (total > most) {
			best = at;
			most = total;
		}
	}
	return best;
}

int ranking_path(const struct ranking *ranking, unsigned percent, struct ranking_rows *rows)
{
	double least = (double)calltree_total(ranking->tree) * percent / 100;
	struct ranking_row *path = calloc((size_t)ranking->preorder.height[0] + 1, sizeof(*path));
	uint32_t at = 0, count = 0;

	if (!path)
		return -ENOMEM;
	while ((at = heaviest_child(ranking, at))) {
		const struct calltree_node *node =
			calltree_node_at(ranking->tree, ranking->preorder.order[at]);

		if ((double)node->total < least)
			break;
		path[count++] =
			(struct ranking_row){ranking->function_at[at], node->self, node->total};
	}
	*rows = (struct ranking_rows){.at = path, .count = count};
	return 0;
}
