/* SPDX-License-Identifier: MIT */
/*
 * A parallel program in rounds, with what makes jobs slow: `slow_rank SECONDS SLOW DEAD` (-1:
 * none). In each round a rank works for one share of time, the SLOW one for two, by its CPU's
 * clock; then all meet in MPI_Allreduce. So of a rank's time half is inside MPI, of the slow one's
 * next to nothing. In the middle the rank DEAD kills itself, and what starts the ranks ends the
 * others.
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
