/* SPDX-License-Identifier: MIT */
/*
 * spawn exec|fork N: start N children, one after the other. Prints microseconds: elapsed time per
 * child, CPU time of the median child, CPU time of the parent per child, and CPU time of all
 * together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double cpu_us(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e6 +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static double own_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return cpu_us(&usage);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[2]) : 0;
	int is_exec = n > 0 && !strcmp(argv[1], "exec");
	double *child_us = n > 0 ? malloc((size_t)n * sizeof(*child_us)) : NULL;
	double start_us = now_us(), start_own_us = own_us(), all_us = 0, parent_us;

	if (!child_us)
		return 2;
	for (int i = 0; i < n; i++) {
		struct rusage usage;
		pid_t pid = fork();

		if (!pid) {
			if (is_exec)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		if (pid < 0 || wait4(pid, NULL, 0, &usage) != pid)
			return 2;
		child_us[i] = cpu_us(&usage);
		all_us += child_us[i];
	}
	parent_us = own_us() - start_own_us;
	qsort(child_us, (size_t)n, sizeof(*child_us), compare);
	printf("%.2f %.2f %.2f %.2f\n", (now_us() - start_us) / n, child_us[n / 2], parent_us / n,
		all_us + parent_us);
	return 0;
}
