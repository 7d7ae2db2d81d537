/* SPDX-License-Identifier: MIT */
/*
 * Which thread a sample is of, from its labels: "thread" or "thread_name" for the name, "thread_id"
 * or "tid" for the number, as profilers write them. Private to cli/formats/pprof_*.c.
 */
#ifndef CLI_FORMATS_PPROF_THREADS_H
#define CLI_FORMATS_PPROF_THREADS_H

#include <stdint.h>

#include "cli/formats/pprof_pool.h"
#include "cli/formats/pprof_tables.h"

/*
 * Find the thread that @sample (a Sample message) names; @threads holds those known so far.
 * Returns 0 and its number in *@thread, a new one being made known to @tree, PPROF_UNSET when the
 * sample names none; or -errno with the message of @tables filled.
 */
int pprof_threads_find(struct pprof_pool *threads, const struct pprof_tables *tables,
	struct protobuf sample, struct calltree *tree, uint32_t *thread);

#endif
