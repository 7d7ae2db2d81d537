/* SPDX-License-Identifier: MIT */
/*
 * slow_rank SECONDS SLOW DEAD (-1: none): a parallel program that works in rounds. In each round a
 * rank works for 50 ms of CPU time, the rank SLOW for 100 ms, and then all ranks wait for each
 * other in MPI_Allreduce.
 * Half of each rank's time is inside MPI, but almost none of the slow rank's. The rank DEAD kills
 * itself after half of the rounds; the launcher then ends the others.
 */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define ROUND_NS 50000000

BOX static void compute(uint64_t ns)
{
	spin_until(cpu_ns() + ns);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, sum = 1, all;
	int slow = argc > 2 ? atoi(argv[2]) : -1, dead = argc > 3 ? atoi(argv[3]) : -1;
	int rank, size, rounds = (int)(seconds * 1e9 / (2 * ROUND_NS));

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		if (rank == dead && i == rounds / 2)
			kill(getpid(), SIGSEGV);
		compute(rank == slow ? 2 * ROUND_NS : ROUND_NS);
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (!rank)
		printf("%d ranks, %d rounds\n", size, rounds);
	MPI_Finalize();
	return 0;
}
