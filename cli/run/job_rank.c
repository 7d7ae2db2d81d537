/* SPDX-License-Identifier: MIT */
/*
 * Find a rank in the environment. If one launcher started another, the inner launcher's variables
 * must be tried first. For example, mpirun in a Slurm allocation starts its daemons by srun, and
 * the ranks inherit the daemons' variables of srun.
 */
#include "cli/run/job_rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprof/placeholder.h"

#define SLURM_RANK "SLURM_PROCID"
#define SLURM_SIZE "SLURM_STEP_NUM_TASKS"

static const struct {
	/* environment variables of the job's size and of its name */
	const char *name, *size, *job;
} launchers[] = {
	{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
	{"PMIx", NULL, "PMIX_NAMESPACE"},
	{"mpirun", "PMI_SIZE", NULL},
	{"srun", SLURM_SIZE, NULL},
};

_Static_assert(sizeof(launchers) / sizeof(launchers[0]) ==
		       sizeof(placeholder_ranks) / sizeof(placeholder_ranks[0]),
	"each has a variable with its rank");

static bool read_number(const char *name, uint32_t *number)
{
	const char *text = name ? getenv(name) : NULL;
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Set the node's name to @name, changed so that it is the name of a file that is not hidden. */
static void name_node(struct job_rank *job_rank, const char *name)
{
	snprintf(job_rank->node, sizeof(job_rank->node), "%s", name);
	for (char *at = job_rank->node; *at; at++)
		if (*at == '/' || (at == job_rank->node && *at == '.'))
			*at = '_';
	if (!*job_rank->node)
		strcpy(job_rank->node, "localhost");
}

static void name_job(struct job_rank *job_rank, const char *variable)
{
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	const char *own = variable ? getenv(variable) : NULL;

	if (own && *own)
		snprintf(job_rank->job, sizeof(job_rank->job), "%s", own);
	else if (job && *job)
		snprintf(job_rank->job, sizeof(job_rank->job), "%s%s%s", job, step ? "." : "",
			step ? step : "");
}

/* Returns Slurm's number of tasks, or 0 if Slurm's variables are those of the rank's launcher. */
static uint32_t slurm_size(uint32_t rank)
{
	uint32_t task, size;

	return read_number(SLURM_RANK, &task) && task == rank && read_number(SLURM_SIZE, &size)
		       ? size
		       : 0;
}

void job_rank_find(struct job_rank *job_rank)
{
	const char *node = getenv("SLURMD_NODENAME");
	char host[HOST_NAME_MAX + 1] = "";

	*job_rank = (struct job_rank){.launcher = NULL};
	gethostname(host, sizeof(host) - 1);
	/* Prefer Slurm's node name, because several nodes of Slurm may be one machine. */
	name_node(job_rank, node && *node ? node : host);
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (!read_number(placeholder_ranks[i], &job_rank->rank))
			continue;
		job_rank->launcher = launchers[i].name;
		if (!read_number(launchers[i].size, &job_rank->size))
			job_rank->size = slurm_size(job_rank->rank);
		name_job(job_rank, launchers[i].job);
		return;
	}
}
