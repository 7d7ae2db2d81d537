/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Find the owner of a lock from its memory words: locks of glibc, locks of musl, and words of other
 * locks.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/outside/wait_lock.h"
#include "tests/unit/random.h"

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t main_thread;
static sem_t semaphore;
static unsigned word;
static struct timespec soon;
static pid_t waiter; /* atomic */

/* ---- ways to wait ---------------------------------------------------------------------------- */

static void take_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void take_mutex_in_time(void)
{
	if (!pthread_mutex_timedlock(&mutex, &soon))
		pthread_mutex_unlock(&mutex);
}

static void read_lock(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void write_lock(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void wait_for_condition(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void take_semaphore(void)
{
	while (sem_wait(&semaphore) && errno == EINTR)
		;
}

static void meet(void)
{
	pthread_barrier_wait(&barrier);
}

/* Wait like another kind of lock whose word has the value of a contended mutex. */
static void wait_for_word(void)
{
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 2)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void *wait_so(void *way)
{
	__atomic_store_n(&waiter, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	((void (*)(void))(uintptr_t)way)();
	return NULL;
}

/*
 * Start a thread that sleeps on a lock in @way. Return the lock's owner, read while the thread
 * sleeps.
 */
static pid_t owner_of(void (*way)(void), pthread_t *thread)
{
	struct procfs_syscall call = {.number = -1};
	struct wait_lock lock;
	pid_t tid;

	__atomic_store_n(&waiter, 0, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(thread, NULL, wait_so, (void *)(uintptr_t)way), 0);
	while (!(tid = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE)))
		usleep(1000);
	while (call.number != SYS_futex || procfs_state(getpid(), tid) != 'S') {
		int file = procfs_open(getpid(), tid, "syscall");

		assert_true(file >= 0);
		usleep(2000);
		procfs_syscall_read(file, &call);
		close(file);
	}
	lock = wait_lock_of(&call);
	return lock.address ? wait_lock_read(&lock, getpid()) : 0;
}

static pid_t self(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static void assert_mutex_tells(int type, int protocol, int robustness)
{
	void (*const ways[])(void) = {take_mutex, take_mutex_in_time};
	pthread_mutexattr_t attributes;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutexattr_setrobust(&attributes, robustness);
	pthread_mutex_init(&mutex, &attributes);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += 100;
	for (size_t i = 0; i < 2; i++) {
		pthread_mutex_lock(&mutex);
		assert_int_equal(owner_of(ways[i], &thread), self());
		pthread_mutex_unlock(&mutex);
		pthread_join(thread, NULL);
	}
	pthread_mutex_destroy(&mutex);
	pthread_mutexattr_destroy(&attributes);
}

static void every_mutex_tells(void **state)
{
	const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
		PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_mutex_tells(types[i], PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
		assert_mutex_tells(types[i], PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
		assert_mutex_tells(types[i], PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	}
}

static void who_writes_has_a_rwlock_and_who_reads_has_not(void **state)
{
	pthread_t threads[2];

	(void)state;
	pthread_rwlock_init(&rwlock, NULL);
	pthread_rwlock_wrlock(&rwlock);
	assert_int_equal(owner_of(read_lock, &threads[0]), self());
	assert_int_equal(owner_of(write_lock, &threads[1]), self());
	pthread_rwlock_unlock(&rwlock);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pthread_rwlock_rdlock(&rwlock);
	assert_int_equal(owner_of(write_lock, &threads[0]), 0);
	pthread_rwlock_unlock(&rwlock);
	pthread_join(threads[0], NULL);
}

static void *sleep_a_little(void *argument)
{
	usleep(300000);
	return argument;
}

static void join_main(void)
{
	pthread_join(main_thread, NULL);
}

static void other_futexes_tell_nobody(void **state)
{
	pthread_t thread;

	(void)state;
	pthread_mutex_init(&mutex, NULL);
	assert_int_equal(owner_of(wait_for_condition, &thread), 0);
	pthread_cond_signal(&condition);
	pthread_join(thread, NULL);
	sem_init(&semaphore, 0, 0);
	assert_int_equal(owner_of(take_semaphore, &thread), 0);
	sem_post(&semaphore);
	pthread_join(thread, NULL);
	pthread_create(&main_thread, NULL, sleep_a_little, NULL);
	assert_int_equal(owner_of(join_main, &thread), 0);
	pthread_join(thread, NULL);
	/* In its second round the barrier's word has the value of a contended mutex. */
	pthread_barrier_init(&barrier, NULL, 2);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(owner_of(meet, &thread), 0);
		pthread_barrier_wait(&barrier);
		pthread_join(thread, NULL);
	}
	word = 2;
	assert_int_equal(owner_of(wait_for_word, &thread), 0);
	__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
}

/* ---- words ----------------------------------------------------------------------------------- */

static pid_t owner_by(uint32_t command, uint32_t value, const uint32_t words[WAIT_LOCK_WORDS])
{
	const struct wait_lock lock = {.address = 64, .command = command, .value = value};

	return wait_lock_owner(&lock, words);
}

/*
 * musl's mutex begins with the words { type, owner, waiters, ... }. The owner word of a plain mutex
 * does not hold its owner.
 */
static void musl_mutexes_tell(void **state)
{
	const uint32_t contended = FUTEX_WAITERS | 1234;
	uint32_t words[WAIT_LOCK_WORDS] = {1, contended, 3};

	(void)state;
	for (uint32_t type = 0; type < 16; type++) {
		words[0] = type;
		assert_int_equal(owner_by(FUTEX_WAIT, contended, words), type ? 1234 : 0);
		words[0] = type | 128;
		assert_int_equal(owner_by(FUTEX_WAIT, contended, words), type ? 1234 : 0);
	}
	words[0] = 0x100;
	assert_int_equal(owner_by(FUTEX_WAIT, contended, words), 0);
	words[0] = 1;
	words[2] = 0; /* no waiters: not a mutex */
	assert_int_equal(owner_by(FUTEX_WAIT, contended, words), 0);
	words[2] = 1;
	words[1] = FUTEX_WAITERS | 1235; /* another thread owns it by now */
	assert_int_equal(owner_by(FUTEX_WAIT, contended, words), 1235);
	words[1] = 1235;
	assert_int_equal(owner_by(FUTEX_WAIT, contended, words), 0);
	/* In plain mutexes this word is EBUSY instead of the owner. */
	words[0] = 0;
	words[1] = FUTEX_WAITERS | 16;
	assert_int_equal(owner_by(FUTEX_WAIT, words[1], words), 0);
}

static void one_word_that_is_wrong_tells_nobody(void **state)
{
	/*                            in front, lock, count, owner, users, kind, spins */
	const uint32_t mutex_words[WAIT_LOCK_WORDS] = {7, 2, 0, 1234, 1, 0, 0};
	const struct {
		unsigned at;
		uint32_t word;
	} wrong[] = {{1, 1}, {1, 0}, {3, 0}, {3, 1u << 22}, {3, ~0u}, {4, 0}, {4, 1u << 22},
		{5, 0x400}, {5, ~0u}};

	(void)state;
	assert_int_equal(owner_by(FUTEX_WAIT, 2, mutex_words), 1234);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint32_t words[WAIT_LOCK_WORDS];

		memcpy(words, mutex_words, sizeof(words));
		words[wrong[i].at] = wrong[i].word;
		assert_int_equal(owner_by(FUTEX_WAIT, 2, words), 0);
	}
}

/* A priority-inheriting mutex whose owner died has no owner. */
static void the_dead_have_nothing(void **state)
{
	const uint32_t words[WAIT_LOCK_WORDS] = {0, FUTEX_WAITERS | FUTEX_OWNER_DIED};

	(void)state;
	assert_int_equal(owner_by(FUTEX_LOCK_PI, 0, words), 0);
}

/* Futex calls that no lock makes are ignored. */
static void only_calls_of_locks_are_looked_at(void **state)
{
	struct procfs_syscall call = {.number = SYS_futex, .arguments = {64, FUTEX_WAIT, 2}};

	(void)state;
	assert_int_equal(wait_lock_of(&call).address, 64);
	call.arguments[1] = FUTEX_WAIT_BITSET_PRIVATE;
	assert_int_equal(wait_lock_of(&call).address, 0);
	call.arguments[3] = 4096; /* with a timeout */
	assert_int_equal(wait_lock_of(&call).address, 64);
	call.arguments[2] = 1;
	assert_int_equal(wait_lock_of(&call).address, 0);
	call.arguments[1] = FUTEX_LOCK_PI_PRIVATE;
	assert_int_equal(wait_lock_of(&call).address, 64);
	call.arguments[1] = FUTEX_WAIT_REQUEUE_PI;
	assert_int_equal(wait_lock_of(&call).address, 0);
	call.number = SYS_read;
	assert_int_equal(wait_lock_of(&call).address, 0);
}

/* The lock's words end at an unmapped page, or are unmapped. */
static void memory_may_end(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 3 * (size_t)page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *first = (uint32_t *)(void *)(pages + page);
	const uint32_t mutex_words[] = {2, 0, 1234, 1, 0, 0};
	struct wait_lock lock = {.command = FUTEX_WAIT, .value = 2};

	(void)state;
	munmap(pages, (size_t)page);
	munmap(pages + 2 * page, (size_t)page);
	memcpy(first, mutex_words, sizeof(mutex_words));
	lock.address = (uint64_t)(uintptr_t)first;
	assert_int_equal(wait_lock_read(&lock, getpid()), 1234);
	for (unsigned behind = 4; behind < 64; behind += 4) {
		lock.address = (uint64_t)(uintptr_t)(pages + 2 * page - behind);
		memset(pages + 2 * page - behind, 0, behind);
		*(uint32_t *)(uintptr_t)lock.address = 2;
		assert_int_equal(wait_lock_read(&lock, getpid()), 0);
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		lock.address = 1ULL << bit;
		assert_int_equal(wait_lock_read(&lock, getpid()), 0);
	}
	lock.address = UINT64_MAX;
	assert_int_equal(wait_lock_read(&lock, getpid()), 0);
	munmap(first, (size_t)page);
}

/* For any words the result is 0 or a number that a thread may have. */
static void any_words_are_borne(void **state)
{
	const uint32_t commands[] = {FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_LOCK_PI, 77};

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint32_t words[WAIT_LOCK_WORDS];
		pid_t owner;

		for (unsigned at = 0; at < WAIT_LOCK_WORDS; at++)
			words[at] = random_below(UINT32_MAX) >> random_below(32);
		owner = owner_by(commands[i % 4], words[1], words);
		assert_in_range(owner, 0, (1 << 22) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mutex_tells),
		cmocka_unit_test(who_writes_has_a_rwlock_and_who_reads_has_not),
		cmocka_unit_test(other_futexes_tell_nobody),
		cmocka_unit_test(musl_mutexes_tell),
		cmocka_unit_test(one_word_that_is_wrong_tells_nobody),
		cmocka_unit_test(the_dead_have_nothing),
		cmocka_unit_test(only_calls_of_locks_are_looked_at),
		cmocka_unit_test(memory_may_end),
		cmocka_unit_test(any_words_are_borne),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
