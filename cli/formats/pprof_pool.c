/* SPDX-License-Identifier: MIT */
/* An index over copies. */
#include "cli/formats/pprof_pool.h"

#include <string.h>

#include "cli/formats/pprof_tables.h"
#include "render/fnv.h"

static int text_equal(const void *context, uint32_t item, const void *key)
{
	return !strcmp(((const struct pprof_pool *)context)->texts[item], key);
}

int pprof_pool_add(struct pprof_pool *pool, const char *text, uint32_t *number)
{
	uint64_t hash = index_hash(fnv_text(FNV_BEGIN, text), 0);
	uint32_t at = index_find(&pool->index, hash, text_equal, pool, text);
	int error;

	if (at == UINT32_MAX) {
		at = pool->count;
		char **more = pprof_grow(pool->texts, at, &pool->room, sizeof(*more));

		if (!more)
			return pprof_grow_error(at);
		pool->texts = more;
		pool->texts[at] = strdup(text);
		if (!pool->texts[at])
			return -ENOMEM;
		pool->count++;
		error = index_add(&pool->index, hash, at);
		if (error)
			return error;
	}
	*number = at;
	return 0;
}

void pprof_pool_release(struct pprof_pool *pool)
{
	for (uint32_t i = 0; i < pool->count; i++)
		free(pool->texts[i]);
	free(pool->texts);
	index_release(&pool->index);
}
