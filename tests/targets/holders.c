/* SPDX-License-Identifier: MIT */
/*
 * holders MS KIND [TIMES]: four threads want one lock for MS. Three of them hold it in turns, for
 * 20, 60 and 20 ms, each multiplied by TIMES. While they hold it, cache_get and log_write spin and
 * cache_fill sleeps. The fourth thread runs asks, which releases the lock at once. KIND is mutex,
 * robust, inherits or rwlock.
 *
 * The program prints for each function the elapsed time for which it held the lock. "waited" is the
 * time for which all of the threads waited for the lock.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "tests/targets/spin.h"

enum { FIRST, SECOND, THIRD, HOLDERS };

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static bool is_rwlock;
static uint64_t end_ns, held_ns[HOLDERS], waited_ns; /* ns; protected by the lock */
static unsigned turn; /* turns so far; under the lock */
static unsigned times;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((always_inline)) static inline void lock(void)
{
	uint64_t begun_ns = now_ns();

	if (is_rwlock)
		pthread_rwlock_wrlock(&rwlock);
	else
		pthread_mutex_lock(&mutex);
	waited_ns += now_ns() - begun_ns;
}

__attribute__((always_inline)) static inline void unlock(void)
{
	if (is_rwlock)
		pthread_rwlock_unlock(&rwlock);
	else
		pthread_mutex_unlock(&mutex);
}

static BOX void work(unsigned ms)
{
	uint64_t until_ns = now_ns() + ms * 1000000ULL;

	while (now_ns() < until_ns)
		spin(4);
	KEEP_FRAME();
}

static BOX void rest(unsigned ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
	KEEP_FRAME();
}

/* If it is the turn of thread @who, hold the lock for @ms ms while @pass_time() runs. */
__attribute__((always_inline)) static inline void hold(
	unsigned who, unsigned ms, void (*pass_time)(unsigned ms))
{
	uint64_t begun_ns;

	lock();
	begun_ns = now_ns();
	if (turn % HOLDERS == who) {
		pass_time(times * ms);
		turn++;
		held_ns[who] += now_ns() - begun_ns;
	}
	unlock();
	KEEP_FRAME();
}

static BOX void cache_get(void)
{
	hold(FIRST, 20, work);
}

static BOX void cache_fill(void)
{
	hold(SECOND, 60, rest);
}

static BOX void log_write(void)
{
	hold(THIRD, 20, work);
}

static BOX void asks(void)
{
	hold(HOLDERS, 0, rest);
}

static void (*const functions[])(void) = {cache_get, cache_fill, log_write, asks};

static BOX void *run(void *argument)
{
	while (now_ns() < end_ns) {
		functions[(uintptr_t)argument]();
		/*
		 * Pause, because a thread that locks again at once would get the lock before the
		 * others wake up.
		 */
		nanosleep(&(struct timespec){0, 200000}, NULL);
	}
	return argument;
}

static void make_mutex(const char *kind)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (!strcmp(kind, "inherits"))
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attributes);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"cache_get", "cache_fill", "log_write"};
	pthread_t threads[HOLDERS + 1];

	times = argument(argc, argv, 3, 1);
	is_rwlock = argc > 2 && !strcmp(argv[2], "rwlock");
	make_mutex(argc > 2 ? argv[2] : "mutex");
	end_ns = now_ns() + argument(argc, argv, 1, 2000) * 1000000ULL;
	for (uintptr_t i = 0; i <= HOLDERS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i <= HOLDERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < HOLDERS; i++)
		tell(names[i], held_ns[i]);
	tell("waited", waited_ns);
	return 0;
}
