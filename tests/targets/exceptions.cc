/* SPDX-License-Identifier: MIT */
/*
 * exceptions [MILLISECONDS]: throw repeatedly through five frames with destructors. The program
 * checks by counters that every throw is caught and every destructor runs once. All time is below
 * main, nearly all of it below catcher.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

static uint64_t thrown, caught, built, destroyed;

struct guard {
	guard() { built++; }
	~guard() { destroyed++; }
};

__attribute__((noinline)) static void thrower(unsigned depth)
{
	guard g;

	if (depth == 0) {
		thrown++;
		throw std::runtime_error("thrown");
	}
	thrower(depth - 1);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void catcher()
{
	try {
		thrower(4);
	} catch (const std::runtime_error &) {
		caught++;
	}
}

static uint64_t now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = (argc > 1 ? strtoul(argv[1], nullptr, 10) : 2000) * 1000000u;
	uint64_t start = now_ns();

	/* Read the clock only every few ms; spin_until() in spin.h says why. */
	while (now_ns() - start < limit_ns) {
		for (int i = 0; i < 4000; i++)
			catcher();
	}
	bool fine = thrown == caught && built == destroyed && built == 5 * thrown;
	std::puts(fine ? "every throw was caught" : "a throw was lost");
	return fine && thrown ? 0 : 1;
}
