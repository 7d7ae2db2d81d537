/* SPDX-License-Identifier: MIT */
/*
 * Make the tables of a report. Tables of modules and threads are made from transformed trees: in
 * one, frames are modules; in the other, the outermost frames are threads.
 */
#include "cli/formats/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The hottest path ends where less than this percentage of the weight is left. */
#define PATH_PERCENT 10

/* Indices in report.made. */
enum {
	MERGED,
	DRAWN,
	MODULES,
	THREADS,
	FOLDED
};

const char *report_wait_kind(unsigned kind)
{
	const char *module = palette_waits[kind].module;

	return !strcmp(module, "cpu") ? "ready" : *module ? module : "unknown";
}

uint64_t report_waits(const struct report *report)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < PALETTE_WAITS; i++)
		sum += report->wait_kinds[i];
	return sum;
}

static const struct calltree_frame *frame_of(const struct calltree *tree, uint32_t node)
{
	return calltree_frame_at(tree, calltree_node_at(tree, node)->frame);
}

/* Is @node a process or thread frame (@kind) at the root, or below a process frame at the root? */
static bool is_group(const struct calltree *tree, uint32_t node, enum calltree_frame_kind kind)
{
	uint32_t parent = calltree_node_at(tree, node)->parent;

	return frame_of(tree, node)->kind == kind &&
	       (parent == CALLTREE_ROOT ||
		       (frame_of(tree, parent)->kind == CALLTREE_PROCESS &&
			       calltree_node_at(tree, parent)->parent == CALLTREE_ROOT));
}

/* ---- threads --------------------------------------------------------------------------------- */

static int by_thread_weight(const void *left, const void *right)
{
	const struct report_thread *a = left, *b = right;
	int order;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	order = strcmp(a->process, b->process);
	return order ? order : strcmp(a->name, b->name);
}

static int find_threads(struct report *report, const struct calltree *tree)
{
	uint32_t nodes = calltree_nodes(tree);

	report->threads = calloc((size_t)nodes, sizeof(*report->threads));
	if (!report->threads)
		return -ENOMEM;
	for (uint32_t i = 1; i < nodes; i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		struct report_thread *thread = &report->threads[report->thread_count];

		if (!is_group(tree, i, CALLTREE_THREAD))
			continue;
		thread->process =
			node->parent == CALLTREE_ROOT ? "" : frame_of(tree, node->parent)->name;
		thread->name = frame_of(tree, i)->name;
		thread->weight = node->total;
		report->thread_count++;
	}
	qsort(report->threads, report->thread_count, sizeof(*report->threads), by_thread_weight);
	return 0;
}

/* ---- groups, and functions asked for --------------------------------------------------------- */

static int by_node_weight(const void *left, const void *right, void *context)
{
	const struct ranking *ranking = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t x = calltree_node_at(ranking->tree, a)->total;
	uint64_t y = calltree_node_at(ranking->tree, b)->total;

	if (x != y)
		return x < y ? 1 : -1;
	return ranking->preorder.position[a] < ranking->preorder.position[b] ? -1 : 1;
}

int report_groups(const struct report *report, uint32_t **nodes, uint32_t *count)
{
	const struct picture_options *picture = report->picture;
	const struct calltree *tree = report->ranking.tree;
	enum calltree_frame_kind kind = picture->by_thread ? CALLTREE_THREAD : CALLTREE_PROCESS;
	uint32_t *found = calloc((size_t)calltree_nodes(tree), sizeof(*found));

	*count = 0;
	*nodes = found;
	if (!found)
		return -ENOMEM;
	if (!picture->by_thread && !picture->by_process)
		return 0;
	for (uint32_t i = 1; i < calltree_nodes(tree); i++)
		if (is_group(tree, i, kind))
			found[(*count)++] = i;
	qsort_r(found, *count, sizeof(*found), by_node_weight, (void *)(uintptr_t)&report->ranking);
	return 0;
}

int report_found(const struct report *report, struct ranking_rows *rows)
{
	uint32_t count = 0;
	int error;

	*rows = (struct ranking_rows){.count = 0};
	if (!report->request || !report->request->of.match)
		return 0;
	error = ranking_of(&report->ranking, CALLTREE_ROOT, rows);
	if (error)
		return error;
	ranking_sort_by_total(rows);
	for (uint32_t i = 0; i < rows->count; i++) {
		if (report->request->limit && count == report->request->limit)
			break;
		if (report->request->of.match(ranking_frame(&report->ranking, rows->at[i].function),
			    report->request->of.context))
			rows->at[count++] = rows->at[i];
	}
	rows->count = count;
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void weigh_waits(struct report *report)
{
	const struct calltree *tree = report->merged;

	for (uint32_t i = 1; i < calltree_nodes(tree); i++) {
		const struct calltree_frame *frame = frame_of(tree, i);

		if (frame->kind == CALLTREE_WAIT)
			report->wait_kinds[palette_wait_kind(frame)] +=
				calltree_node_at(tree, i)->self;
	}
}

/* Make the transformed trees. Returns 0 or -errno. */
static int make_trees(struct report *report, const struct calltree *tree)
{
	const struct picture_options *picture = report->picture;
	const struct calltree *fine = picture->fine ? picture->fine : tree;
	const struct transform_shape modules = {.by_module = true};
	const struct transform_shape threads = {.by_process = true, .by_thread = true};
	const struct transform_shape idle = {.fold_idle = true};
	int error = transform_lines(fine, false, &report->made[MERGED]);

	report->merged = report->made[MERGED] ? report->made[MERGED] : fine;
	if (!error)
		error = transform_times(report->merged, picture->times, &report->made[DRAWN]);
	report->drawn = report->made[DRAWN] ? report->made[DRAWN] : report->merged;
	if (!error)
		error = transform_shape(report->drawn, &modules, &report->made[MODULES]);
	if (!error && calltree_threads(report->drawn))
		error = transform_shape(report->drawn, &threads, &report->made[THREADS]);
	if (!error && calltree_waits(report->merged))
		error = transform_shape(report->merged, &idle, &report->made[FOLDED]);
	return error;
}

static int make_tables(struct report *report, const struct calltree *tree)
{
	const struct calltree *folded =
		report->made[FOLDED] ? report->made[FOLDED] : report->merged;
	int error = ranking_init(&report->ranking, report->request ? tree : report->drawn);

	if (!error)
		error = ranking_of(&report->ranking, CALLTREE_ROOT, &report->functions);
	if (!error)
		error = ranking_path(&report->ranking, PATH_PERCENT, &report->path);
	if (!error)
		error = ranking_init(&report->module_ranking, report->made[MODULES]);
	if (!error)
		error = ranking_of(&report->module_ranking, CALLTREE_ROOT, &report->modules);
	if (!error && report->made[THREADS])
		error = find_threads(report, report->made[THREADS]);
	if (error || !calltree_waits(report->merged))
		return error;
	weigh_waits(report);
	report->waits = wait_sites_find(folded, &report->wait_count, &report->idle);
	return report->waits ? 0 : -ENOMEM;
}

int report_init(struct report *report, const struct calltree *tree,
	const struct picture_options *picture, const struct report_request *request)
{
	int error;

	*report = (struct report){.picture = picture, .request = request};
	error = make_trees(report, tree);
	if (!error)
		error = make_tables(report, tree);
	if (error)
		report_release(report);
	else
		special_weights_of(report->drawn, &report->special);
	return error;
}

void report_release(struct report *report)
{
	free(report->waits);
	free(report->threads);
	free(report->modules.at);
	free(report->path.at);
	free(report->functions.at);
	ranking_release(&report->module_ranking);
	ranking_release(&report->ranking);
	for (size_t i = 0; i < sizeof(report->made) / sizeof(report->made[0]); i++)
		calltree_free(report->made[i]);
	*report = (struct report){.picture = NULL};
}
