/* SPDX-License-Identifier: MIT */
/*
 * strange before MILLISECONDS [FILE ARGUMENT...]: use CPU time in before_work, then exec FILE.
 * strange private MILLISECONDS: make the process undumpable, then use CPU time in private_work.
 * strange vfork MILLISECONDS: a vfork child uses CPU time in child_work, then its parent in
 * parent_work.
 * Each function prints its CPU time.
 */
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

static uint64_t use(uint64_t limit_ns)
{
	uint64_t start = cpu_ns();

	spin_until(start + limit_ns);
	return cpu_ns() - start;
}

/*
 * The additions after the calls keep the frames of the functions. They differ, because the compiler
 * would merge equal functions.
 */
BOX static uint64_t before_work(uint64_t limit_ns)
{
	return use(limit_ns) + 1;
}

BOX static uint64_t private_work(uint64_t limit_ns)
{
	return use(limit_ns) + 2;
}

BOX static uint64_t child_work(uint64_t limit_ns)
{
	return use(limit_ns) + 3;
}

BOX static uint64_t parent_work(uint64_t limit_ns)
{
	return use(limit_ns) + 4;
}

static void with_child(uint64_t limit_ns)
{
	volatile uint64_t child_ns = 0;
	pid_t child = vfork();

	if (!child) {
		child_ns = child_work(limit_ns);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	tell("child_work", child_ns);
	tell("parent_work", parent_work(limit_ns));
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 2, 1000) * 1000000ULL;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "vfork"))
		with_child(limit_ns);
	if (!strcmp(argv[1], "private")) {
		prctl(PR_SET_DUMPABLE, 0);
		tell("private_work", private_work(limit_ns));
	}
	if (!strcmp(argv[1], "before"))
		tell("before_work", before_work(limit_ns));
	fflush(stdout);
	if (argc > 3)
		execv(argv[3], argv + 3);
	return argc > 3;
}
