/* SPDX-License-Identifier: MIT */
/*
 * bursts [THREADS] [MILLISECONDS]: each thread works for some 50 us in first(), middle() and last()
 * and then sleeps for about as long in epoll_wait(), called by rest(), like a server under load. A
 * sampler that checks late misses one end of every burst.
 * The program prints the CPU time of first, middle and last, summed over all threads; for rest, the
 * remaining CPU time of the threads, which includes falling asleep and waking up; and "eintr N",
 * how many times epoll_wait() was interrupted (N must be 0).
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define UNITS_MIN 2000u /* turns of burn()'s loop, 1.3 ns each at 3 GHz */
#define UNITS_MAX 20000u
#define SLEEP_MIN_US 20u
#define SLEEP_MAX_US 120u

static _Atomic uint64_t first_ns, middle_ns, last_ns, all_ns;
static atomic_int interrupted;
static uint64_t limit_ns;

static inline void burn(unsigned turns)
{
	uint64_t x = turns;

	for (unsigned i = 0; i < turns; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		__asm__ volatile("" : "+r"(x));
	}
}

/*
 * Call the three functions through volatile pointers, because the compiler would merge equal
 * functions.
 */
#define PART(name) BOX static void name(unsigned turns) { burn(turns); }
PART(first)
PART(middle)
PART(last)

static void (*volatile part[])(unsigned turns) = {first, middle, last};

BOX static void rest(int epoll, int timer, unsigned us)
{
	const struct itimerspec wake = {.it_value.tv_nsec = us * 1000L};
	struct epoll_event event;

	timerfd_settime(timer, 0, &wake, NULL);
	while (epoll_wait(epoll, &event, 1, -1) < 0)
		interrupted += errno == EINTR;
	KEEP_FRAME();
}

static void *run(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t spent_ns[4] = {0};

	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	while (spent_ns[0] + spent_ns[1] + spent_ns[2] < limit_ns) {
		uint64_t start = cpu_ns();

		for (unsigned i = 0; i < 3; i++) {
			uint64_t end;

			part[i](spin_random(UNITS_MIN, UNITS_MAX));
			end = cpu_ns();
			spent_ns[i] += end - start;
			start = end;
		}
		rest(epoll, timer, spin_random(SLEEP_MIN_US, SLEEP_MAX_US));
	}
	first_ns += spent_ns[0];
	middle_ns += spent_ns[1];
	last_ns += spent_ns[2];
	all_ns += cpu_ns();
	close(timer);
	close(epoll);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned count = argument(argc, argv, 1, 1);
	pthread_t *threads = calloc(count, sizeof(*threads));

	limit_ns = argument(argc, argv, 2, 4000) * 1000000ULL / count;
	for (unsigned i = 0; i < count; i++)
		if (!threads || pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	tell("first", first_ns);
	tell("middle", middle_ns);
	tell("last", last_ns);
	tell("rest", all_ns - first_ns - middle_ns - last_ns);
	tell("eintr", (uint64_t)interrupted);
	free(threads);
	return 0;
}
