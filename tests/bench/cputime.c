/* SPDX-License-Identifier: MIT */
/* cputime FILE PROGRAM...: run PROGRAM, and write the CPU seconds of only this program to FILE. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	FILE *out;
	pid_t pid = argc > 2 ? fork() : -1;

	if (pid < 0)
		return 2;
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) != pid || !(out = fopen(argv[1], "w")))
		return 2;
	fprintf(out, "%.6f\n",
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return fclose(out) || !WIFEXITED(status) ? 2 : WEXITSTATUS(status);
}
