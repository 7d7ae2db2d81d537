/* SPDX-License-Identifier: MIT */
/*
 * How the ranks of a job differ: of each function what it weighs in the rank that has least of it,
 * in that which has most, and on average; of each rank how much of it was work, and how much was
 * inside MPI, where the ranks that had less to do wait for the others.
 *
 * Inside MPI is what lies below a function of MPI's interface, whose names the standard gives:
 * MPI_Send, PMPI_Send, and in Fortran mpi_send_; or below any that the program calls in a library
 * of MPI. Weights are of the stacks that are drawn, those on
 * a CPU unless waits are asked for.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_RANKS_H
#define CLI_FORMATS_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "render/calltree.h"

struct ranks_one {
	uint32_t number;
	uint32_t node;		  /* of ranks.nodes */
	uint32_t status, signal;  /* how it ended */
	bool has_ended;		  /* or it was not seen to: it runs, or was killed with flamerun */
	bool is_unusual;	  /* its work is far from the others' */
	uint64_t duration_ns;	  /* for which it was sampled */
	uint64_t cpu, cpu_in_mpi; /* weights; the second is part of the first */
	uint64_t waits, waits_in_mpi;
};

/* Over all ranks; a rank without the function has 0 of it. */
struct ranks_function {
	uint64_t sum, least, most;	/* of its total in a rank */
	uint64_t self;			/* in all */
	uint32_t least_rank, most_rank; /* numbers; the first of equal ones */
	uint32_t ranks;			/* that have it */
};

/* A figure of each rank, over all. */
struct ranks_range {
	double mean;
	uint64_t least, most;
	uint32_t least_at, most_at; /* places in ranks.one */
};

struct ranks {
	char **nodes; /* owned, as all of this */
	uint32_t node_count, node_room;
	struct ranks_one *one; /* by number */
	uint32_t count, room;
	uint32_t size;		/* that the job was to have; 0: not known */
	struct calltree *names; /* whose frame number N is function N: name and module */
	struct ranks_function *function;
	uint32_t function_room;
	uint64_t period_ns;
};

/* Returns an owned, empty one, or NULL without memory. */
struct ranks *ranks_new(void);
void ranks_free(struct ranks *ranks); /* NULL is fine */

/* Is @name a function of MPI's interface? */
bool ranks_is_mpi(const char *name);

/* Is @module a library that has it? libmpi.so.40, libmpich.so.12, libmpi_mpifh.so.40 */
bool ranks_is_mpi_library(const char *module);

/* The number of the node called @name, which is copied when it is new. Returns 0 or -ENOMEM. */
int ranks_node(struct ranks *ranks, const char *name, uint32_t *node);

/* Add a rank, of which @one (borrowed) tells. Returns 0 or -ENOMEM. */
int ranks_add(struct ranks *ranks, const struct ranks_one *one);

/* Add what some ranks have of the function of @frame. Returns 0 or -ENOMEM. */
int ranks_add_function(struct ranks *ranks, const struct calltree_frame *frame,
	const struct ranks_function *function);

/* Everything is added: put ranks in order, and see which are unusual. */
void ranks_finish(struct ranks *ranks);

/* Of the function of @frame, told by its name and module. Returns false where no rank has it. */
bool ranks_find(const struct ranks *ranks, const struct calltree_frame *frame,
	struct ranks_function *function);

/* What it is said to be on average, and how much more the one that has most has: 0.25 is 25 %. */
double ranks_mean(const struct ranks *ranks, const struct ranks_function *function);
double ranks_imbalance(const struct ranks *ranks, const struct ranks_function *function);

/* Is the most no more than what chance makes of equal ranks, in 5 standard deviations? */
bool ranks_is_chance(double mean, uint64_t most);

/* Work of a rank, by the CPU's clock; and what it spent inside MPI, running and waiting. */
static inline uint64_t ranks_work(const struct ranks_one *one)
{
	return one->cpu - one->cpu_in_mpi;
}

static inline uint64_t ranks_in_mpi(const struct ranks_one *one)
{
	return one->cpu_in_mpi + one->waits_in_mpi;
}

/* @figure over all ranks, of which there is at least one. */
struct ranks_range ranks_range(
	const struct ranks *ranks, uint64_t (*figure)(const struct ranks_one *));

#define RANKS_TEXT_BYTES 256

/* "rank 17 on n2" */
void ranks_name(const struct ranks *ranks, uint32_t at, char out[RANKS_TEXT_BYTES]);

/*
 * Line number @line of what is to be said of the job in words, most important first, into @out.
 * Returns false when there is no such line.
 */
bool ranks_line(const struct ranks *ranks, unsigned line, char out[RANKS_TEXT_BYTES]);

#endif
