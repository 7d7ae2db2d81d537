/* SPDX-License-Identifier: MIT */
/*
 * ends keep|kill MIB: touch MIB of memory in small pages, then end normally or by a signal.
 * ends free MIB: touch the memory and free it. The printed time "freeing" is the CPU time that the
 * kernel uses for this after the last instruction of keep and kill.
 * ends fork|vfork|spawn N: start this program N times, one after the other. The program prints the
 * children's CPU time: all of it, the part before main(), and the part after their last read of the
 * clock.
 * ends threads N: run N threads, one after the other, that do almost nothing. The program prints
 * their CPU time outside of their function.
 * ends flush MS: work for MS when libc flushes its buffers, after all destructors. This time
 * belongs to late_work, not to the kernel's exit.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

extern char **environ;

struct told {
	uint64_t first_ns, last_ns;
};

static int hold(const char *mode, size_t bytes)
{
	volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start_ns;

	if (memory == MAP_FAILED)
		return 1;
	madvise((void *)(uintptr_t)memory, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += 4096)
		memory[at] = 1;
	start_ns = cpu_ns();
	if (!strcmp(mode, "kill"))
		raise(SIGKILL);
	if (!strcmp(mode, "free")) {
		munmap((void *)(uintptr_t)memory, bytes);
		tell("freeing", cpu_ns() - start_ns);
	}
	return 0;
}

static int child(int pipe)
{
	struct told told = {.first_ns = cpu_ns()};

	told.last_ns = cpu_ns();
	_exit(write(pipe, &told, sizeof(told)) != sizeof(told));
}

static pid_t start(const char *mode, const char *self, char *pipe)
{
	char *argv[] = {"ends", "child", pipe, NULL};
	pid_t pid;

	if (!strcmp(mode, "spawn"))
		return posix_spawn(&pid, self, NULL, NULL, argv, environ) ? -1 : pid;
	pid = !strcmp(mode, "vfork") ? vfork() : fork();
	if (!pid) {
		execv(self, argv);
		_exit(1);
	}
	return pid;
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static int storm(const char *mode, const char *self, unsigned count)
{
	uint64_t all_ns = 0, before_ns = 0, after_ns = 0;
	char text[16];
	int ends[2];

	if (pipe(ends))
		return 1;
	snprintf(text, sizeof(text), "%d", ends[1]);
	for (unsigned i = 0; i < count; i++) {
		struct rusage usage;
		struct told told;
		uint64_t used_ns;

		if (wait4(start(mode, self, text), NULL, 0, &usage) < 0 ||
			read(ends[0], &told, sizeof(told)) != sizeof(told))
			return 1;
		used_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
		all_ns += used_ns;
		before_ns += told.first_ns;
		after_ns += used_ns - told.last_ns;
	}
	tell("all", all_ns);
	tell("before", before_ns);
	tell("after", after_ns);
	return 0;
}

BOX static void late_work(uint64_t ns)
{
	spin_until(cpu_ns() + ns);
	KEEP_FRAME();
}

static ssize_t work_late(void *ms, const char *bytes, size_t count)
{
	(void)bytes;
	late_work(*(unsigned *)ms * 1000000ULL);
	return (ssize_t)count;
}

static int flush(unsigned count)
{
	static unsigned ms;
	FILE *file = fopencookie(&ms, "w", (cookie_io_functions_t){.write = work_late});

	ms = count;
	return !file || fputs("late", file) < 0;
}

static void *measure(void *inside_ns)
{
	uint64_t start_ns = cpu_ns();

	spin(1);
	*(uint64_t *)inside_ns += cpu_ns() - start_ns;
	return NULL;
}

static int threads(unsigned count)
{
	uint64_t inside_ns = 0, all_ns, main_ns;
	struct timespec now;

	for (unsigned i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, measure, &inside_ns))
			return 1;
		pthread_join(thread, NULL);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	all_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	main_ns = cpu_ns();
	tell("outside", all_ns - main_ns - inside_ns);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned count = argument(argc, argv, 2, 1);

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "child"))
		return child((int)count);
	if (!strcmp(argv[1], "keep") || !strcmp(argv[1], "kill") || !strcmp(argv[1], "free"))
		return hold(argv[1], (size_t)count << 20);
	if (!strcmp(argv[1], "flush"))
		return flush(count);
	if (!strcmp(argv[1], "threads"))
		return threads(count);
	return storm(argv[1], argv[0], count);
}
