/* SPDX-License-Identifier: MIT */
/*
 * exec_masked [TIMES]: run children that compute for some milliseconds and then exec a shell, every
 * other one with all signals blocked. A sampling signal sent at the exec would kill the shell or be
 * pending in it. The program prints how many children ended with another status than expected,
 * which must be "bad 0".
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

static void become_shell(int is_masked)
{
	sigset_t all;

	sigfillset(&all);
	spin(spin_random(80, 160));
	if (is_masked)
		sigprocmask(SIG_SETMASK, &all, NULL);
	spin(spin_random(1, 40));
	execl("/bin/sh", "sh", "-c",
		"grep -q '^SigPnd:.*[1-9a-f]' /proc/self/status; exit $((2 + $?))", (char *)NULL);
	_exit(9);
}

int main(int argc, char **argv)
{
	unsigned times = (unsigned)argument(argc, argv, 1, 60), bad = 0;

	for (unsigned i = 0; i < times; i++) {
		pid_t child = fork();
		int status = 0;

		if (!child)
			become_shell(i % 2);
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
			WEXITSTATUS(status) != 3)
			bad++;
	}
	printf("bad %u\n", bad);
	return 0;
}
