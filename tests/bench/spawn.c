/* SPDX-License-Identifier: MIT */
/* spawn exec|fork N: N children one after the other; prints microseconds of wall time for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[2]) : 0;
	int is_exec = n && !strcmp(argv[1], "exec");
	double start_us = now_us();

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (is_exec)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 2;
	}
	printf("%.2f\n", n ? (now_us() - start_us) / n : 0.0);
	return 0;
}
