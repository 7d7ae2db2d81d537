/* SPDX-License-Identifier: MIT */
/*
 * cancellable [MILLISECONDS [THREADS]]: use MILLISECONDS of CPU time in system calls that are
 * cancellation points. Each call is made by its own function does_CALL. If THREADS is 2, a second
 * thread waits in waits_in_poll() all the time, because glibc makes these calls differently in
 * programs with several threads.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define TIMES 200

static char bytes[1 << 14];
static int zeroes, sockets[2];

BOX static void does_read(void)
{
	for (int i = 0; i < TIMES; i++)
		(void)!read(zeroes, bytes, sizeof(bytes));
}

BOX static void does_pread64(void)
{
	for (int i = 0; i < TIMES; i++)
		(void)!pread(zeroes, bytes, sizeof(bytes), 0);
}

BOX static void does_readv(void)
{
	const struct iovec to = {bytes, sizeof(bytes)};

	for (int i = 0; i < TIMES; i++)
		(void)!readv(zeroes, &to, 1);
}

BOX static void does_poll(void)
{
	struct pollfd file[2] = {{.fd = zeroes, .events = POLLIN}, {.fd = zeroes}};

	for (int i = 0; i < TIMES; i++)
		poll(file, 2, 0);
}

BOX static void does_recvfrom(void)
{
	for (int i = 0; i < TIMES; i++)
		(void)!recv(sockets[0], bytes, sizeof(bytes), MSG_DONTWAIT);
}

BOX static void does_accept(void)
{
	for (int i = 0; i < TIMES; i++)
		accept(sockets[0], NULL, NULL);
}

BOX static void does_clock_nanosleep(void)
{
	const struct timespec past = {0, 1};

	for (int i = 0; i < TIMES; i++)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
}

BOX static void waits_in_poll(void)
{
	poll(NULL, 0, -1);
	KEEP_FRAME();
}

static void *waiter(void *unused)
{
	waits_in_poll();
	KEEP_FRAME();
	return unused;
}

int main(int argc, char **argv)
{
	static void (*const does[])(void) = {does_read, does_pread64, does_readv, does_poll,
		does_recvfrom, does_accept, does_clock_nanosleep};
	uint64_t limit_ns = argument(argc, argv, 1, 2000) * 1000000ULL;
	pthread_t second;

	zeroes = open("/dev/zero", O_RDONLY);
	if (zeroes < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	if (argument(argc, argv, 2, 1) > 1 && pthread_create(&second, NULL, waiter, NULL))
		return 1;
	while (cpu_ns() < limit_ns)
		for (unsigned i = 0; i < sizeof(does) / sizeof(does[0]); i++)
			for (unsigned times = spin_random(1, 3); times; times--)
				does[i]();
	tell("main", cpu_ns());
	_exit(0);
}
