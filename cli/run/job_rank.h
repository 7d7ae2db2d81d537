/* SPDX-License-Identifier: MIT */
/*
 * Whose place in a parallel program this process has: which rank of how many, on which node, of
 * which job. What starts the ranks says so in their environment.
 */
#ifndef CLI_RUN_JOB_RANK_H
#define CLI_RUN_JOB_RANK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define JOB_RANK_JOB_BYTES 128

struct job_rank {
	const char *launcher; /* for messages; NULL: nothing says that there are other ranks */
	uint32_t rank;
	uint32_t size;		      /* ranks of the job; 0: not known */
	char node[HOST_NAME_MAX + 1]; /* as a part of a file's name: without a slash */
	char job[JOB_RANK_JOB_BYTES]; /* tells one job from another; "": nothing does */
};

/* Read it from the environment. */
void job_rank_find(struct job_rank *job_rank);

#endif
