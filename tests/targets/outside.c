/* SPDX-License-Identifier: MIT */
/*
 * outside: check that a tracer changes nothing. The main thread works until SIGTERM is pending,
 * twice as long in heavy() as in light(). Two threads wait in calls that are not restarted after a
 * stop, and another thread counts the signals that a fourth thread sends.
 * The program prints "heavy NS" and "light NS" of CPU time, "eintr N" (N must be 0), "signals N of
 * N" (the two must be equal), and a checksum of the work with the number of turns, which determines
 * the checksum.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define SIGNAL_PAUSE_US 3000

static atomic_int is_over;
static atomic_int interrupted, sent, handled;
static volatile uint64_t checksum = 1;

BOX static void light(unsigned units)
{
	spin(units);
}

BOX static void heavy(unsigned units)
{
	spin(2 * units);
}

/*
 * Wait in two calls. Neither is restarted if a stop interrupts it: both then fail with EINTR, see
 * signal(7).
 */
static void *wait_for_files(void *unused)
{
	struct epoll_event event;
	int epoll = epoll_create1(0);

	while (!is_over)
		if (epoll_wait(epoll, &event, 1, 50) < 0 && errno == EINTR)
			interrupted++;
	close(epoll);
	return unused;
}

static void *wait_for_signal(void *unused)
{
	const struct timespec patience = {.tv_nsec = 50000000};
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR2);
	while (!is_over)
		if (sigtimedwait(&wanted, NULL, &patience) < 0 && errno == EINTR)
			interrupted++;
	return unused;
}

static void on_signal(int number)
{
	(void)number;
	handled++;
}

static void *receive_signals(void *unused)
{
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &wanted, NULL);
	while (!is_over)
		usleep(1000);
	usleep(20000);
	return unused;
}

static void *send_signals(void *receiver)
{
	while (!is_over) {
		sent++;
		pthread_kill(*(pthread_t *)receiver, SIGUSR1);
		while (handled < sent)
			usleep(SIGNAL_PAUSE_US / 10);
		usleep(SIGNAL_PAUSE_US);
	}
	return NULL;
}

static int is_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) || sigismember(&pending, SIGTERM);
}

static unsigned long work(void)
{
	uint64_t heavy_ns = 0, light_ns = 0, x = 1;
	unsigned long turns = 0;

	for (; !is_to_end(); turns++) {
		unsigned units = spin_random(20, 100);
		uint64_t start = cpu_ns(), middle;

		heavy(units);
		middle = cpu_ns();
		light(units);
		light_ns += cpu_ns() - middle;
		heavy_ns += middle - start;
		x = x * 6364136223846793005ULL + turns;
	}
	checksum = x;
	tell("heavy", heavy_ns);
	tell("light", light_ns);
	return turns;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t files, waits, receives, sends;
	unsigned long turns;
	sigset_t blocked;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	pthread_create(&files, NULL, wait_for_files, NULL);
	pthread_create(&waits, NULL, wait_for_signal, NULL);
	pthread_create(&receives, NULL, receive_signals, NULL);
	pthread_create(&sends, NULL, send_signals, &receives);
	turns = work();
	is_over = 1;
	pthread_join(sends, NULL);
	pthread_join(receives, NULL);
	pthread_join(files, NULL);
	pthread_join(waits, NULL);
	printf("eintr %d\nsignals %d of %d\nchecksum %lu %llu\n", interrupted, handled, sent, turns,
		(unsigned long long)checksum);
	return 7;
}
