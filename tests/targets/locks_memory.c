/* SPDX-License-Identifier: MIT */
/*
 * locks_memory WAY [LIMIT_KIB]: use CPU time in before(), lock all memory as real-time programs do,
 * then use as much CPU time in after(). WAY is function, syscall, or threads (which adds a second
 * thread that sleeps). With a limit, the program first drops the right to lock more memory. It
 * prints "before NS" and "after NS" of CPU time, and to stderr the result of mlockall() and the
 * amount of locked memory.
 */
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define UNTESTED    77 /* automake's status for "skipped" */
#define STACK_BYTES 65536
#define UNITS	    12000

BOX static void before(void)
{
	spin(UNITS);
	tell("before", cpu_ns());
}

BOX static void after(uint64_t since_ns)
{
	spin(UNITS);
	tell("after", cpu_ns() - since_ns);
}

static void *sleeps(void *unused)
{
	pause();
	return unused;
}

static void begin_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_create(&thread, &attributes, sleeps, NULL);
}

static void limit_to(rlim_t kib)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	struct rlimit limit = {kib * 1024, kib * 1024};

	syscall(SYS_capget, &header, data);
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	syscall(SYS_capset, &header, data);
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		exit(UNTESTED);
}

static long locked_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmLck: %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "function";
	int flags = MCL_CURRENT | MCL_FUTURE, result;
	uint64_t since_ns;

	if (!strcmp(way, "threads"))
		begin_thread();
	if (argc > 2)
		limit_to(argument(argc, argv, 2, 0));
	before();
	result = !strcmp(way, "syscall") ? (int)syscall(SYS_mlockall, flags) : mlockall(flags);
	since_ns = cpu_ns();
	after(since_ns);
	fprintf(stderr, "mlockall: %s; %ld KiB\n", result ? strerror(errno) : "done", locked_kib());
	return result != 0;
}
