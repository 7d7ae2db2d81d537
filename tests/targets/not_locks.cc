/* SPDX-License-Identifier: MIT */
/*
 * not_locks MS: for MS, threads sleep on futexes that no thread holds as a lock, each thread in its
 * own function. Most of these futexes look like a mutex that the main thread holds: an atomic
 * value, a barrier in its second round, a condition, a semaphore, and mutexes whose owner has
 * ended, is the waiter itself, is no thread of this process, or is no thread at all. Only in
 * wants() does a thread wait for a mutex that the main thread holds.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BOX __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

/* glibc's pthread_mutex_t on 64-bit CPUs. */
struct words {
	int lock, count, owner, users, kind, rest[5];
};

static struct {
	std::atomic<int> lock;
	int count, owner, users, kind;
} value = {{2}, 0, 0, 1, 0};

static pthread_barrier_t barrier;
static pthread_mutex_t had, own, others, never, left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t tokens;

static int own_tid(void)
{
	return static_cast<int>(syscall(SYS_gettid));
}

static void forge(pthread_mutex_t *mutex, int owner)
{
	const words forged = {2, 0, owner, 1, 0, {}};

	memcpy(mutex, &forged, sizeof(forged));
}

static BOX void waits_for_value(void)
{
	value.lock.wait(2);
	KEEP_FRAME();
}

static BOX void meets(void)
{
	pthread_barrier_wait(&barrier);
	KEEP_FRAME();
}

static BOX void awaits(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&condition, &lock);
	KEEP_FRAME();
}

static BOX void takes(void)
{
	sem_wait(&tokens);
	KEEP_FRAME();
}

static BOX void wants(void)
{
	pthread_mutex_lock(&had);
	KEEP_FRAME();
}

static BOX void wants_own(void)
{
	forge(&own, own_tid());
	pthread_mutex_lock(&own);
	KEEP_FRAME();
}

static BOX void wants_others(void)
{
	forge(&others, 1);
	pthread_mutex_lock(&others);
	KEEP_FRAME();
}

static BOX void wants_never(void)
{
	forge(&never, -1);
	pthread_mutex_lock(&never);
	KEEP_FRAME();
}

static BOX void wants_left(void)
{
	pthread_mutex_lock(&left);
	KEEP_FRAME();
}

static void *run(void *function)
{
	reinterpret_cast<void (*)(void)>(function)();
	return nullptr;
}

static void *leave(void *argument)
{
	pthread_mutex_lock(&left);
	return argument;
}

static void *meet(void *argument)
{
	pthread_barrier_wait(&barrier);
	return argument;
}

int main(int argc, char **argv)
{
	void (*const functions[])(void) = {waits_for_value, meets, awaits, takes, wants, wants_own,
		wants_others, wants_never, wants_left};
	pthread_t thread;

	value.owner = own_tid();
	pthread_mutex_lock(&had);
	sem_init(&tokens, 0, 0);
	pthread_barrier_init(&barrier, nullptr, 2);
	pthread_create(&thread, nullptr, meet, nullptr);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, nullptr);
	pthread_create(&thread, nullptr, leave, nullptr);
	pthread_join(thread, nullptr);
	for (auto function : functions)
		pthread_create(&thread, nullptr, run, reinterpret_cast<void *>(function));
	for (int ms = argc > 1 ? atoi(argv[1]) : 2000; ms > 0; ms -= 10)
		usleep(10000);
	_exit(0);
}
