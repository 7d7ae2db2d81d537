/* SPDX-License-Identifier: MIT */
/*
 * Find out from the environment variables of launchers which rank of a parallel job this process
 * is: its number, the number of ranks, the node and the job.
 */
#ifndef CLI_RUN_JOB_RANK_H
#define CLI_RUN_JOB_RANK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define JOB_RANK_JOB_BYTES 128

struct job_rank {
	const char *launcher; /* for messages; NULL: none found */
	uint32_t rank;
	uint32_t size;		      /* number of ranks; 0: not known */
	char node[HOST_NAME_MAX + 1]; /* for a file's name: without a slash */
	char job[JOB_RANK_JOB_BYTES]; /* identifies the job; "": not known */
};

/* Fill @job_rank from the environment. */
void job_rank_find(struct job_rank *job_rank);

#endif
