/* SPDX-License-Identifier: MIT */
/*
 * How the ranks (MPI processes) of a parallel job differ. A function has its minimum, maximum and
 * mean weight over the ranks. A rank has its work, and its time inside MPI, where ranks with less
 * work wait for the others.
 *
 * Time is inside MPI if the stack has a function of the MPI interface (MPI_Send, PMPI_Send,
 * Fortran's mpi_send_), or a function of an MPI library that the program calls. Weights are those
 * of the stacks that the picture draws: on a CPU, unless waits are requested.
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
	uint32_t node;		 /* index in ranks.nodes */
	uint32_t status, signal; /* how the rank ended */
	/* false: the end was not recorded, so the rank may still run */
	bool has_ended;
	bool is_unusual;      /* its work is far from the other ranks' */
	uint64_t duration_ns; /* sampled time */
	/* weights; each *_in_mpi is a part of the weight before it */
	uint64_t cpu, cpu_in_mpi;
	uint64_t waits, waits_in_mpi;
};

/* Weights of a function over all ranks. A rank without the function counts as 0. */
struct ranks_function {
	uint64_t sum, least, most; /* of its total weight per rank */
	uint64_t self;		   /* over all ranks */
	/* numbers of the ranks with @least and @most; of equal ranks, the lowest */
	uint32_t least_rank, most_rank;
	uint32_t ranks; /* ranks that have the function */
};

/* Statistics of one value per rank. */
struct ranks_range {
	double mean;
	uint64_t least, most;
	uint32_t least_at, most_at; /* indices in ranks.one */
};

struct ranks {
	char **nodes; /* owned, like all pointers here */
	uint32_t node_count, node_room;
	/* sorted by number after ranks_finish() */
	struct ranks_one *one;
	uint32_t count, room;
	/* ranks that the job was started with; 0: unknown */
	uint32_t size;
	/* interned functions (name and module); frame N is function N */
	struct calltree *names;
	struct ranks_function *function;
	uint32_t function_room;
	uint64_t period_ns;
};

/* Returns an owned, empty struct, or NULL if out of memory. */
struct ranks *ranks_new(void);
void ranks_free(struct ranks *ranks); /* NULL is fine */

/* Is @name a function of the MPI interface? */
bool ranks_is_mpi(const char *name);

/* Is @module an MPI library, such as libmpi.so.40, libmpich.so.12 or libmpi_mpifh.so.40? */
bool ranks_is_mpi_library(const char *module);

/* Find or add the node @name (copied); its index is stored in *@node. Returns 0 or -ENOMEM. */
int ranks_node(struct ranks *ranks, const char *name, uint32_t *node);

/* Add a rank (copied). Returns 0 or -ENOMEM. */
int ranks_add(struct ranks *ranks, const struct ranks_one *one);

/* Add @function: weights of @frame's function in some of the ranks. Returns 0 or -ENOMEM. */
int ranks_add_function(struct ranks *ranks, const struct calltree_frame *frame,
	const struct ranks_function *function);

/* Sort the ranks and mark unusual ones, after everything was added. */
void ranks_finish(struct ranks *ranks);

/* Look up the function with @frame's name and module. Returns false if no rank has it. */
bool ranks_find(const struct ranks *ranks, const struct calltree_frame *frame,
	struct ranks_function *function);

/* Return the mean weight per rank, and how far the maximum is above it: 0.25 is 25 %. */
double ranks_mean(const struct ranks *ranks, const struct ranks_function *function);
double ranks_imbalance(const struct ranks *ranks, const struct ranks_function *function);

/* Can a maximum @most be chance, that is within 5 standard deviations of @mean? */
bool ranks_is_chance(double mean, uint64_t most);

/* Return a rank's weight on CPUs outside MPI, and inside MPI, both running and waiting. */
static inline uint64_t ranks_work(const struct ranks_one *one)
{
	return one->cpu - one->cpu_in_mpi;
}

static inline uint64_t ranks_in_mpi(const struct ranks_one *one)
{
	return one->cpu_in_mpi + one->waits_in_mpi;
}

/* Compute statistics of @figure over all ranks; there must be a rank. */
struct ranks_range ranks_range(
	const struct ranks *ranks, uint64_t (*figure)(const struct ranks_one *));

#define RANKS_TEXT_BYTES 256

/* Print "rank 17 on n2" for the rank at index @at. */
void ranks_name(const struct ranks *ranks, uint32_t at, char out[RANKS_TEXT_BYTES]);

/* Print line @line of the summary in words, most important first. Returns false after the last. */
bool ranks_line(const struct ranks *ranks, unsigned line, char out[RANKS_TEXT_BYTES]);

#endif
