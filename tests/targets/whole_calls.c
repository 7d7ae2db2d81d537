/* SPDX-License-Identifier: MIT */
/*
 * whole_calls [MILLISECONDS [HOW]]: reads of 8 MB from /dev/urandom, which take some 20 ms each in
 * the kernel, writes of 256 KB into a pipe that another thread empties, and a bit of work between
 * them. Prints "short N of N": how many of these calls transferred less than requested.
 * HOW makes timers impossible: "trap" ignores SIGTRAP, "filter" installs a seccomp filter,
 * "pending" sets the limit of pending signals to 0, "blocked" blocks signal 33 by a system call.
 * "moment" blocks signal 33 while it computes for MOMENT_NS; "dump" makes the program undumpable.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define READ_BYTES  (8u << 20)
#define WRITE_BYTES (256u << 10)
#define MOMENT_NS   300000000ULL

static char buffer[READ_BYTES], emptied[4096];
static int ends[2];

static void *empty(void *unused)
{
	(void)unused;
	while (read(ends[0], emptied, sizeof(emptied)) > 0)
		;
	return NULL;
}

static int set_mask(int how)
{
	uint64_t bit = 1ULL << 32;

	return (int)syscall(SYS_rt_sigprocmask, how, &bit, NULL, sizeof(bit));
}

BOX static int block_for_a_moment(void)
{
	int error = set_mask(SIG_BLOCK);

	spin_until(cpu_ns() + MOMENT_NS);
	return error | set_mask(SIG_UNBLOCK);
}

static int prepare(const char *how)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = {.len = 1, .filter = &allow};
	const struct rlimit none = {0, 0};

	if (!strcmp(how, "trap"))
		return signal(SIGTRAP, SIG_IGN) == SIG_ERR;
	if (!strcmp(how, "filter"))
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	if (!strcmp(how, "pending"))
		return setrlimit(RLIMIT_SIGPENDING, &none);
	if (!strcmp(how, "blocked"))
		return set_mask(SIG_BLOCK);
	if (!strcmp(how, "moment"))
		return block_for_a_moment();
	if (!strcmp(how, "dump"))
		return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}

BOX static void reads(int urandom, unsigned *cut)
{
	*cut += read(urandom, buffer, READ_BYTES) != READ_BYTES;
	KEEP_FRAME();
}

BOX static void writes(unsigned *cut)
{
	*cut += write(ends[1], buffer, WRITE_BYTES) != WRITE_BYTES;
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t limit_ns = argument(argc, argv, 1, 1000) * 1000000ULL;
	int urandom = open("/dev/urandom", O_RDONLY);
	unsigned cut = 0, calls = 0;
	pthread_t reader;

	/*
	 * glibc unblocks signal 33 when it creates the first thread, so call prepare() after that.
	 */
	if (pipe(ends) || pthread_create(&reader, NULL, empty, NULL) ||
		prepare(argc > 2 ? argv[2] : ""))
		return 2;
	while (cpu_ns() < limit_ns) {
		reads(urandom, &cut);
		writes(&cut);
		spin(spin_random(20, 200));
		calls += 2;
	}
	close(ends[1]);
	pthread_join(reader, NULL);
	printf("short %u of %u\n", cut, calls);
	return 0;
}
