/* SPDX-License-Identifier: MIT */
/*
 * waits MS: for MS, threads wait, each in its own way and in its own function. The program prints
 * the elapsed time of each function; how many times the sleeping thread slept and gave up its CPU
 * ("switches"); and how many calls were interrupted (EINTR).
 *
 *   function   waits for
 *   sleeps     the end of a sleep: 30 ms in nap, 120 in sleeps
 *   wants      a mutex, which another thread holds for 60 of 100 ms
 *   reads      a pipe, written to every 50 ms, as are the next two
 *   receives   a socket
 *   polls      another pipe
 *   waits      a condition, signalled every 50 ms
 *   takes      a semaphore, signalled every 50 ms
 *   reaps      a child that sleeps
 *   joins      (in the main thread) all other threads
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

enum way { NAP, SLEEPS, WANTS, READS, RECEIVES, POLLS, WAITS, TAKES, REAPS, JOINS, WAYS };

static const char *const names[WAYS] = {
	"nap", "sleeps", "wants", "reads", "receives", "polls", "waits", "takes", "reaps", "joins"};
static uint64_t spent_ns[WAYS], end_ns;
static unsigned interrupted; /* atomic */
static int pipes[2][2], sockets[2];
static long naps, switches;
static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned turns;
static sem_t tokens;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(long result)
{
	if (result < 0 && errno == EINTR)
		__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
}

static void sleep_ms(long ms)
{
	check(nanosleep(&(struct timespec){0, ms * 1000000}, NULL));
}

static BOX void nap(void)
{
	sleep_ms(30);
	KEEP_FRAME();
}

static BOX void sleeps(void)
{
	sleep_ms(120);
	KEEP_FRAME();
}

static BOX void wants(void)
{
	pthread_mutex_lock(&wanted);
	pthread_mutex_unlock(&wanted);
	KEEP_FRAME();
}

static BOX void reads(void)
{
	char byte;

	check(read(pipes[0][0], &byte, 1));
	KEEP_FRAME();
}

static BOX void receives(void)
{
	char byte;

	check(recv(sockets[0], &byte, 1, 0));
	KEEP_FRAME();
}

static BOX void polls(void)
{
	struct pollfd file = {.fd = pipes[1][0], .events = POLLIN};
	char byte;

	check(poll(&file, 1, -1));
	check(read(pipes[1][0], &byte, 1));
	KEEP_FRAME();
}

static BOX void waits(void)
{
	unsigned seen;

	pthread_mutex_lock(&lock);
	for (seen = turns; turns == seen;)
		pthread_cond_wait(&condition, &lock);
	pthread_mutex_unlock(&lock);
	KEEP_FRAME();
}

static BOX void takes(void)
{
	check(sem_wait(&tokens));
	KEEP_FRAME();
}

static BOX void reaps(void)
{
	pid_t child = fork();

	if (!child) {
		sleep_ms(100);
		_exit(0);
	}
	check(waitpid(child, NULL, 0));
	KEEP_FRAME();
}

static void (*const functions[WAYS])(void) = {
	nap, sleeps, wants, reads, receives, polls, waits, takes, reaps, NULL};

static void wait_once(enum way way)
{
	uint64_t begun_ns = now_ns();

	functions[way]();
	spent_ns[way] += now_ns() - begun_ns;
}

static void *run(void *argument)
{
	enum way way = (enum way)(uintptr_t)argument;
	struct rusage usage;

	while (now_ns() < end_ns) {
		if (way == SLEEPS) {
			wait_once(NAP);
			naps++;
		}
		wait_once(way);
		if (way == WANTS)
			sleep_ms(5);
	}
	getrusage(RUSAGE_THREAD, &usage);
	if (way == SLEEPS)
		switches = usage.ru_nvcsw;
	return NULL;
}

static void *keep_lock(void *argument)
{
	while (now_ns() < end_ns) {
		pthread_mutex_lock(&wanted);
		sleep_ms(60);
		pthread_mutex_unlock(&wanted);
		sleep_ms(40);
	}
	return argument;
}

/*
 * Wake all waiting threads every 50 ms, also for a while after the end, so that no thread waits
 * forever.
 */
static void *give(void *argument)
{
	while (now_ns() < end_ns + 200000000) {
		sleep_ms(50);
		check(write(pipes[0][1], "", 1));
		check(write(pipes[1][1], "", 1));
		check(send(sockets[1], "", 1, 0));
		sem_post(&tokens);
		pthread_mutex_lock(&lock);
		turns++;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

static BOX void joins(const pthread_t *threads, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	pthread_t threads[WAYS + 2];
	unsigned count = 0;
	uint64_t begun_ns;

	end_ns = now_ns() + argument(argc, argv, 1, 2000) * 1000000ULL;
	sem_init(&tokens, 0, 0);
	if (pipe(pipes[0]) || pipe(pipes[1]) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	pthread_create(&threads[count++], NULL, give, NULL);
	pthread_create(&threads[count++], NULL, keep_lock, NULL);
	for (enum way way = SLEEPS; way < JOINS; way++)
		pthread_create(&threads[count++], NULL, run, (void *)(uintptr_t)way);
	begun_ns = now_ns();
	joins(threads, count);
	spent_ns[JOINS] = now_ns() - begun_ns;
	for (enum way way = NAP; way < WAYS; way++)
		tell(names[way], spent_ns[way]);
	tell("slept", 2 * (uint64_t)naps);
	tell("switches", (uint64_t)switches);
	tell("interrupted", interrupted);
	return 0;
}
