/* SPDX-License-Identifier: MIT */
/*
 * The containers of the call tree: arrays that double and hash tables of numbers.
 */
#include "render/calltree_store.h"

#include <errno.h>
#include <stdlib.h>

void *calltree_grow(struct calltree *tree, void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 64;

	if (count < *room)
		return array;
	array = reallocarray(array, wanted, size);
	if (array)
		*room = wanted;
	else
		calltree_poison(tree, -ENOMEM);
	return array;
}

void calltree_index_put(struct calltree_index *index, uint64_t hash, uint32_t number)
{
	uint32_t at = (uint32_t)hash & index->mask;

	while (index->places[at])
		at = (at + 1) & index->mask;
	index->places[at] = number + 1;
}

int calltree_index_grow(struct calltree_index *index, uint32_t count)
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
