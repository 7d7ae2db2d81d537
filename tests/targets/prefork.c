/* SPDX-License-Identifier: MIT */
/*
 * prefork CHILDREN: a server that forks its workers. Each child burns CPU time in in_child(), the
 * parent in in_parent(), until stdin ends. The program prints the pids, the parent's first.
 */
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

static int is_over(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) == 1;
}

BOX static void in_child(void)
{
	while (!is_over())
		spin(100);
	KEEP_FRAME();
}

BOX static void in_parent(void)
{
	while (!is_over())
		spin(100);
	__asm__ volatile("nop");
}

int main(int argc, char **argv)
{
	unsigned children = argument(argc, argv, 1, 2);

	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (unsigned i = 0; i < children; i++) {
		if (!fork()) {
			printf("%d\n", (int)getpid());
			fflush(stdout);
			in_child();
			return 0;
		}
	}
	in_parent();
	while (wait(NULL) > 0)
		;
	return 0;
}
