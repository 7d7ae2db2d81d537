/* SPDX-License-Identifier: MIT */
/* Texts with numbers, equal ones with one. Private to cli/formats/pprof_*.c. */
#ifndef CLI_FORMATS_PPROF_POOL_H
#define CLI_FORMATS_PPROF_POOL_H

#include <stdint.h>

#include "cli/profile/index.h"

/* Zero-initialise. */
struct pprof_pool {
	struct index index;
	char **texts; /* by number, owned */
	uint32_t count, room;
};

/*
 * The number of @text (copied when it is new), counting from 0.
 * Returns 0 and *@number, -E2BIG beyond PPROF_ITEMS_MAX, or -ENOMEM.
 */
int pprof_pool_add(struct pprof_pool *pool, const char *text, uint32_t *number);

void pprof_pool_release(struct pprof_pool *pool);

#endif
