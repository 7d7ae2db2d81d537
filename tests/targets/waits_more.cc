// SPDX-License-Identifier: MIT
//
// waits_more MS FILE: for MS, threads wait by means of C++20, a file system and a shared CPU.
// The program prints the waiting time of each function, without the time on a CPU and the time
// when it was ready but had no CPU.
//
//   awaits     a std::atomic, which another thread changes every 50 ms
//   fetches    blocks of FILE, a MiB each, past the page cache, for 60 of 100 ms; prints nothing
//              if the file system does not allow that
//   rests      sleeps 20 ms, then works for 5 ms on a CPU that another thread always uses
//
// The printed "ready" is the time for which the threads together were ready but had no CPU since
// main() began, by the kernel's accounting.
#include <atomic>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "tests/targets/spin.h"

static constexpr uint64_t MS = 1000000;
static constexpr size_t BLOCK = 1 << 20;

alignas(4096) static char block[BLOCK];
static std::atomic<int> turn;
static std::atomic<uint64_t> ready_ns;
static uint64_t awaited_ns, fetched_ns, rested_ns, end_ns;

static uint64_t now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ms(long ms)
{
	const struct timespec time = {0, ms * (long)MS};

	nanosleep(&time, nullptr);
}

// Return the time in ns for which this thread was ready to run but had no CPU.
static uint64_t own_ready_ns()
{
	unsigned long long cpu = 0, ready = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (!file || fscanf(file, "%llu %llu", &cpu, &ready) != 2)
		abort();
	fclose(file);
	return ready;
}

struct moment {
	uint64_t wall = now_ns(), cpu = cpu_ns(), ready = own_ready_ns();
};

// Return the time in ns for which the thread has waited since @begun.
static uint64_t waited_ns(const moment &begun)
{
	const moment now;
	uint64_t busy = now.cpu - begun.cpu + now.ready - begun.ready;

	return now.wall - begun.wall > busy ? now.wall - begun.wall - busy : 0;
}

static BOX void awaits(int seen)
{
	turn.wait(seen);
	KEEP_FRAME();
}

static BOX void fetches(int file, off_t bytes)
{
	off_t at = 0;

	for (uint64_t until_ns = now_ns() + 60 * MS; now_ns() < until_ns; at += BLOCK)
		if (pread(file, block, BLOCK, at % bytes) < 0)
			abort();
	KEEP_FRAME();
}

static BOX void rests()
{
	sleep_ms(20);
	KEEP_FRAME();
}

static BOX void works(uint64_t ns)
{
	spin_until(cpu_ns() + ns);
}

static void await_all()
{
	while (now_ns() < end_ns) {
		const moment begun;

		awaits(turn);
		awaited_ns += waited_ns(begun);
	}
}

static void fetch_all(const char *path)
{
	int file = open(path, O_RDONLY | O_DIRECT);
	off_t bytes = file < 0 ? 0 : lseek(file, 0, SEEK_END) / (off_t)BLOCK * (off_t)BLOCK;

	if (bytes < (off_t)BLOCK || pread(file, block, BLOCK, 0) < 0)
		return;
	while (now_ns() < end_ns) {
		const moment begun;

		fetches(file, bytes);
		fetched_ns += waited_ns(begun);
		sleep_ms(40);
	}
	close(file);
}

static void stay_on_a_cpu(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		abort();
}

static void rest_all(int cpu)
{
	stay_on_a_cpu(cpu);
	while (now_ns() < end_ns) {
		const moment begun;

		rests();
		rested_ns += waited_ns(begun);
		works(5 * MS);
	}
}

static void spin_all(int cpu)
{
	stay_on_a_cpu(cpu);
	while (now_ns() < end_ns)
		works(MS);
}

// Start a thread that runs @function, and add its time without a CPU to ready_ns.
template <typename... Arguments>
static std::thread start(void (*function)(Arguments...), Arguments... arguments)
{
	return std::thread([=] {
		function(arguments...);
		ready_ns += own_ready_ns();
	});
}

int main(int argc, char **argv)
{
	const moment begun;

	end_ns = begun.wall + argument(argc, argv, 1, 2000) * MS;

	int cpu = sched_getcpu();
	const char *path = argc > 2 ? argv[2] : "";
	std::thread threads[] = {start(await_all), start(fetch_all, path), start(rest_all, cpu),
		start(spin_all, cpu)};

	// Wake the threads for a while after the end, so that no thread waits forever.
	while (now_ns() < end_ns + 200 * MS) {
		sleep_ms(50);
		turn++;
		turn.notify_all();
	}
	for (std::thread &thread : threads)
		thread.join();
	tell("awaits", awaited_ns);
	if (fetched_ns)
		tell("fetches", fetched_ns);
	tell("rests", rested_ns);
	tell("ready", ready_ns + own_ready_ns() - begun.ready);
	return 0;
}
