/* SPDX-License-Identifier: MIT */
/*
 * For tests of interrupt ticks: an interrupt function that adds up its ticks, and a search for the
 * timer's threads in /proc.
 */
#ifndef TESTS_UNIT_INTERRUPT_FIXTURE_H
#define TESTS_UNIT_INTERRUPT_FIXTURE_H

#include "session-fixture.h"

#include <dirent.h>
#include <sys/syscall.h>

#include "libprof/flameprof_vm.h"
#include "libprof/interrupt/interrupt.h"
#include "tests/unit/in-child.h"

#define PERIOD_NS 2000000ULL
#define PERIOD_MS (PERIOD_NS / 1000000)

/* Calls of count_calls() in this thread, and the sum of their ticks. */
static __thread uint32_t calls_seen;
static __thread uint64_t ticks_seen;

static inline void count_calls(void *context, uint32_t ticks)
{
	(void)context;
	calls_seen++;
	ticks_seen += ticks;
}

static inline void forget_calls(void)
{
	flameprof_interrupt_check();
	calls_seen = 0;
	ticks_seen = 0;
}

static inline uint32_t ticks_now(void)
{
	return __atomic_load_n(&flameprof_interrupt_ticks, __ATOMIC_ACQUIRE);
}

/* Wait until at least @ticks ticks are pending for this thread, at most PATIENCE_MS. */
static inline void await_ticks(uint32_t ticks)
{
	uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ULL;

	while (ticks_now() < ticks && now_ns() < until_ns)
		pause_ms(1);
	assert_true(ticks_now() >= ticks);
}

/* Count the registered threads. */
static inline unsigned registered_count(void)
{
	unsigned count = 0;

	pthread_mutex_lock(&interrupt.lock);
	for (struct interrupt_thread *at = interrupt.threads; at; at = at->next)
		count++;
	pthread_mutex_unlock(&interrupt.lock);
	return count;
}

static inline int has_own_name(const char *tid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strcmp(name, "flameprof\n");
}

/* Count the timer threads of this process. Sets *@tid to the tid of one of them. */
static inline unsigned timers_now(int *tid)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(tasks);
	while ((entry = readdir(tasks)))
		if (entry->d_name[0] != '.' && has_own_name(entry->d_name)) {
			count++;
			if (tid)
				*tid = atoi(entry->d_name);
		}
	closedir(tasks);
	return count;
}

static inline void await_timers(unsigned count)
{
	uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ULL;

	while (timers_now(NULL) != count && now_ns() < until_ns)
		pause_ms(5);
	assert_int_equal(timers_now(NULL), count);
}

/*
 * End a child process with an error if @condition is false, because cmocka's assertions do not
 * reach the parent.
 */
#define CHILD_EXPECTS(condition)                                                                   \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#endif
