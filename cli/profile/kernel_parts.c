/* SPDX-License-Identifier: MIT */
/*
 * Kernel stacks are sorted by the path (hash) of their user stacks. For each sample on a path, the
 * choice moves on by the golden section of the total weight of the path's kernel stacks. So in any
 * number of consecutive samples, each stack has its share, plus or minus one or two samples.
 */
#include "cli/profile/kernel_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "render/array.h"

#define GOLDEN_SECTION 0.6180339887498949

struct part {
	uint64_t path;
	uint64_t weight;
	/*
	 * position of the next choice in the path's weight, 0 to 1; only in the path's first part
	 */
	double turn;
	uint32_t stack;
};

struct kernel_parts {
	/* owned; sorted by path after kernel_parts_finish() */
	struct part *list;
	size_t count, room;
};

struct kernel_parts *kernel_parts_new(void)
{
	return calloc(1, sizeof(struct kernel_parts));
}

void kernel_parts_free(struct kernel_parts *parts)
{
	if (parts)
		free(parts->list);
	free(parts);
}

int kernel_parts_add(
	struct kernel_parts *parts, uint64_t path, uint32_t stack, uint64_t weight)
{
	if (ARRAY_GROW(parts->list, parts->count, parts->room, 64))
		return -ENOMEM;
	parts->list[parts->count++] =
		(struct part){.path = path, .weight = weight, .turn = 0.5, .stack = stack};
	return 0;
}

static int by_path(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

void kernel_parts_finish(struct kernel_parts *parts)
{
	if (parts->count)
		qsort(parts->list, parts->count, sizeof(*parts->list), by_path);
}

/* Returns the index of the first part of @path, or the index to insert such a part at. */
static size_t find(const struct kernel_parts *parts, uint64_t path)
{
	size_t from = 0, to = parts->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (parts->list[middle].path < path)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t kernel_parts_next(struct kernel_parts *parts, uint64_t path)
{
	size_t first = find(parts, path), end = first, at = first;
	uint64_t weight = 0, before = 0;
	double place;

	for (; end < parts->count && parts->list[end].path == path; end++)
		weight += parts->list[end].weight;
	if (!weight)
		return KERNEL_PARTS_NONE;
	place = parts->list[first].turn * (double)weight;
	while (at + 1 < end && (double)(before + parts->list[at].weight) <= place)
		before += parts->list[at++].weight;
	parts->list[first].turn += GOLDEN_SECTION;
	if (parts->list[first].turn >= 1)
		parts->list[first].turn -= 1;
	return parts->list[at].stack;
}
