/* SPDX-License-Identifier: MIT */
/*
 * forkexec [MILLISECONDS [NAME=VALUE]], called by its path: a process runs four children, one after
 * the other: one by fork, one by fork that execs this program again, one by vfork, one by
 * posix_spawn. The exec'd children have the variable NAME in their environment.
 * parent_work, fork_work, exec_work, vfork_work and spawn_work each take a fifth of the time.
 */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

extern char **environ;

#define WORK(name) \
	BOX static void name##_work(unsigned ms) \
	{ \
		uint64_t start = cpu_ns(); \
		spin_until(start + ms * 1000000ULL); \
		tell(#name "_work", cpu_ns() - start); \
	}
WORK(parent)
WORK(fork)
WORK(exec)
WORK(vfork)
WORK(spawn)

static int wait_for(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

static int parent(char *self, unsigned ms)
{
	static char exec[] = "exec", by_vfork[] = "vfork", spawn[] = "spawn";
	char number[16];
	char *child_argv[] = {self, exec, number, NULL};
	pid_t child;

	snprintf(number, sizeof(number), "%u", ms);
	parent_work(ms);

	child = fork();
	if (child == 0) {
		fork_work(ms);
		exit(0);
	}
	if (wait_for(child))
		return 1;

	child = fork();
	if (child == 0) {
		execv(self, child_argv);
		_exit(1);
	}
	if (wait_for(child))
		return 1;

	child_argv[1] = by_vfork;
	child = vfork();
	if (child == 0) {
		execv(self, child_argv);
		_exit(1);
	}
	if (wait_for(child))
		return 1;

	child_argv[1] = spawn;
	return posix_spawn(&child, self, NULL, NULL, child_argv, environ) || wait_for(child);
}

int main(int argc, char **argv)
{
	unsigned number = argument(argc, argv, 2, 0);

	if (argc == 3 && !strcmp(argv[1], "exec"))
		exec_work(number);
	else if (argc == 3 && !strcmp(argv[1], "vfork"))
		vfork_work(number);
	else if (argc == 3 && !strcmp(argv[1], "spawn"))
		spawn_work(number);
	else if (argc < 3 || !putenv(argv[2]))
		return parent(argv[0], argument(argc, argv, 1, 5000) / 5);
	return 0;
}
