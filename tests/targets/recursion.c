/* SPDX-License-Identifier: MIT */
/*
 * recursion [MILLISECONDS [DEPTH]]: all time is spent below many nested calls. Every stack is main,
 * descend DEPTH times, then ping and pong in turns, DEPTH of each, then bottom, which burns all of
 * the time.
 */
#include "tests/targets/spin.h"

static uint64_t spent_ns;

BOX static void bottom(void)
{
	uint64_t start = cpu_ns();

	spin(320); /* long enough, see spin_until() */
	spent_ns += cpu_ns() - start;
	KEEP_FRAME();
}

static void pong(unsigned depth);

BOX static void ping(unsigned depth)
{
	if (depth)
		pong(depth);
	else
		bottom();
	KEEP_FRAME();
}

BOX static void pong(unsigned depth)
{
	ping(depth - 1);
	KEEP_FRAME();
}

BOX static void descend(unsigned depth, unsigned pairs)
{
	if (depth > 1)
		descend(depth - 1, pairs);
	else
		ping(pairs - 1);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 1000) * 1000000ULL;
	unsigned depth = argument(argc, argv, 2, 20);

	while (spent_ns < limit_ns)
		descend(depth, depth);
	tell("bottom", spent_ns);
	return 0;
}
