/* SPDX-License-Identifier: MIT */
/*
 * stock_ptrace PID SAMPLES: measure how long libunwind-ptrace with its own accessors stops a
 * process. Stops the main thread SAMPLES times and walks its stack. Prints the means of the number
 * of frames and of the microseconds for which the process was stopped.
 */
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? atoi(argv[1]) : 0;
	int samples = argc > 2 ? atoi(argv[2]) : 0, taken = 0, status;
	unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
	void *context = _UPT_create(pid);
	double held_us = 0, frames = 0;

	if (!space || !context || ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return 1;
	unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
	for (; taken < samples; taken++) {
		unw_cursor_t cursor;
		double since_us;

		usleep(20000);
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
			waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			break;
		since_us = now_us();
		if (!unw_init_remote(&cursor, space, context))
			do {
				frames++;
			} while (unw_step(&cursor) > 0);
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		held_us += now_us() - since_us;
	}
	if (!taken)
		return 1;
	printf("%.1f %.1f\n", frames / taken, held_us / taken);
	return 0;
}
