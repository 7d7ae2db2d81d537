/* SPDX-License-Identifier: MIT */
#include "libprof/sampler/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/libc_calls.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/stack.h"
#include "libprof/sampler/text.h"

/*
 * `lock` makes "nobody samples this thread yet, so I do" one step, for a thread at its birth and
 * for the rescan. Handlers never take it, and nobody waits for anything while holding it.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The tids that are sampled, for one rescan: open addressing, index + 1 of the entry. */
#define TABLE_SIZE (4u * WIRE_RINGS)

struct table {
	uint16_t entry[TABLE_SIZE];
};

static struct table table;
static uint32_t this_round;
static uint32_t most_refused; /* threads that one rescan of this session found no ring for */
static uint64_t refused_image;

struct sampler_thread *tasks_arm_self(struct sampler_thread *thread)
{
	struct sampler_thread *before;
	uintptr_t lo = thread->stack_lo, hi = thread->stack_hi;

	pthread_mutex_lock(&lock);
	before = sampler_thread_self();
	if (before) {
		sampler_thread_unclaim(thread);
		thread = before;
		thread->is_foreign = !libc_calls.watch_end;
	} else {
		thread->is_foreign = !libc_calls.watch_end;
		if (sampler_thread_arm(thread))
			thread = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (before && hi)
		stack_publish_own(thread, lo, hi);
	return thread;
}

static int is_alive(uint32_t tid)
{
	return clock_cpu_ns(clock_of_thread((int32_t)tid)) != 0;
}

static unsigned hash_tid(uint32_t tid)
{
	return (tid * 0x9e3779b1u) >> 20 & (TABLE_SIZE - 1);
}

static struct sampler_thread *table_find(uint32_t tid)
{
	for (unsigned at = hash_tid(tid); table.entry[at]; at = (at + 1) % TABLE_SIZE) {
		struct sampler_thread *thread = &sampler_threads[table.entry[at] - 1];

		if ((uint32_t)thread->tid == tid)
			return thread;
	}
	return NULL;
}

static void table_fill(void)
{
	memset(&table, 0, sizeof(table));
	SAMPLER_FOR_EACH_RING(index)
	{
		const struct sampler_thread *thread = &sampler_threads[index];
		unsigned at = hash_tid((uint32_t)thread->tid);

		if (!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE))
			continue;
		while (table.entry[at])
			at = (at + 1) % TABLE_SIZE;
		table.entry[at] = (uint16_t)(index + 1);
	}
}

static void read_name(struct sampler_thread *thread, uint32_t tid)
{
	char path[TEXT_DESCRIPTOR_PATH_BYTES + 8], name[WIRE_COMM_BYTES] = "";
	char *at = path;
	long fd, n;

	text_append(&at, "/proc/self/task/");
	text_append_number(&at, tid);
	text_append(&at, "/comm");
	*at = '\0';
	fd = arch_syscall4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	n = arch_syscall3(SYS_read, fd, name, sizeof(name));
	arch_syscall1(SYS_close, fd);
	if (n > 0)
		name[n - 1] = '\0'; /* the line's end */
	memcpy(thread->ring->comm, name, sizeof(name));
}

/* Arm the thread @tid. Returns 0, also when it needs nothing any more; -EAGAIN: there is no ring.
 */
static int arm_other(uint32_t tid)
{
	struct sampler_thread *thread = sampler_thread_try_claim();

	if (!thread)
		return __atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) ? -EAGAIN : 0;
	read_name(thread, tid);
	if (tid == sampler.pid)
		stack_publish_main(thread);
	pthread_mutex_lock(&lock);
	if (sampler_thread_find((int32_t)tid))
		sampler_thread_unclaim(thread);
	else if (!sampler_thread_arm_other(thread, (int32_t)tid))
		thread->round = this_round;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* One thread of the list. @begun is own_threads_begun() from before the list was read. */
static int meet(uint32_t tid, uint32_t begun)
{
	struct sampler_thread *thread = table_find(tid);
	uint64_t cpu_ns;

	if (!thread) {
		if (own_threads_have(tid) || !own_threads_are_known(begun))
			return 0;
		return arm_other(tid);
	}
	thread->round = this_round;
	if (!thread->is_foreign)
		return 0;
	cpu_ns = clock_cpu_ns(clock_of_thread((int32_t)tid));
	if (cpu_ns >= thread->seen_cpu_ns) {
		thread->seen_cpu_ns = cpu_ns;
		return 0;
	}
	if (!cpu_ns)
		return 0; /* gone in this moment */
	/* A clock that went back is another thread's under the same number. */
	sampler_thread_bury(thread, thread->seen_cpu_ns);
	return arm_other(tid);
}

/* Those in the table and not in the list. */
static void bury_the_gone(void)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = &sampler_threads[index];

		if (!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE) ||
			thread->round == this_round)
			continue;
		/* Armed while the list was read, perhaps. The kernel knows. */
		if (!is_alive((uint32_t)thread->tid))
			sampler_thread_bury(thread, thread->seen_cpu_ns);
	}
}

/* Threads without a ring, each counted once as long as they stay the same. */
static void count_refused(uint32_t refused)
{
	if (refused_image != sampler.image)
		most_refused = 0;
	refused_image = sampler.image;
	if (refused <= most_refused)
		return;
	__atomic_fetch_add(&sampler.slot->late_threads, refused - most_refused, __ATOMIC_RELAXED);
	most_refused = refused;
}

static long read_list(int fd, uint32_t begun, uint32_t *refused)
{
	char room[4096] __attribute__((aligned(8)));
	long n;

	while ((n = arch_syscall3(SYS_getdents64, fd, room, sizeof(room))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *)(room + at);
			const char *name = entry->d_name;
			uint64_t tid;

			at += entry->d_reclen;
			if (!text_parse_number(&name, 10, '\0', INT32_MAX, &tid) &&
				meet((uint32_t)tid, begun))
				++*refused;
		}
	}
	return n;
}

int tasks_rescan(void)
{
	uint32_t begun = own_threads_begun();
	uint32_t refused = 0;
	long fd, n;

	/* Numbers of another namespace name other threads. */
	if (sampler.namespaced)
		return -ESRCH;
	fd = arch_syscall4(
		SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return (int)fd;
	if (!++this_round)
		this_round = 1;
	own_threads_forget_dead();
	table_fill();
	n = read_list((int)fd, begun, &refused);
	arch_syscall1(SYS_close, fd);
	if (n == 0)
		bury_the_gone();
	count_refused(refused);
	return (int)n;
}

void tasks_reset_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
