/* SPDX-License-Identifier: MIT */
/*
 * In a program that profiles itself, searches /proc every 10 ms for threads that were not
 * announced: without interposers these are all threads, with them those from a raw clone. Under
 * flamerun there is no such search, so a thread from a raw clone is not sampled.
 *
 * The link count of /proc/self/task is the number of threads and two. While it stays the same, and
 * all known threads are alive, no thread is new. If the kernel does not count links, the list is
 * read. The search takes at most 1/200 of a CPU.
 */
#include "libprof/sampler/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/text.h"

/* ---- stack bounds ---------------------------------------------------------------------------- */

/* A larger mapping is not accepted as a thread's stack. */
#define STACK_BYTES_MAX (1UL << 30)

/* Publish the calling thread's stack bounds; its handler may run meanwhile. */
static void stack_publish_own(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi)
{
	__atomic_store_n(&thread->stack_hi, 0, __ATOMIC_RELEASE);
	sampler_thread_set_stack(thread, lo, hi);
}

/*
 * libc puts the thread's control block at the upper end of the stack. For a stack pointer
 * elsewhere, on a coroutine's stack or a signal stack, it is not known how much around it stays
 * mapped.
 */
uintptr_t stack_end(uintptr_t start, uintptr_t end, uintptr_t sp, uintptr_t self)
{
	if (sp < start || self <= sp || self >= end || self - sp > STACK_BYTES_MAX)
		return 0;
	return self;
}

/* Entries of /proc/self/pagemap, one for each page, that are read at once. */
#define PAGEMAP_ENTRIES 512u
/* The page is a guard that MADV_GUARD_INSTALL made. Linux reports it from 6.15 on. */
#define PAGEMAP_GUARD (1ULL << 58)

/*
 * Find where the stack with @sp and the control block @self begins: @start, where its mapping
 * begins, or behind a guard. glibc from 2.42 on installs guards within mappings, so the stacks of
 * several threads may be one mapping. Returns 0 if a guard is above @sp, which then is on another
 * stack.
 */
static uintptr_t stack_begin(uintptr_t start, uintptr_t sp, uintptr_t self)
{
	uint64_t entries[PAGEMAP_ENTRIES];
	uintptr_t page = getauxval(AT_PAGESZ), to = self & ~(page - 1), from, begin;
	long fd =
		arch_syscall4(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);

	if (self - start > STACK_BYTES_MAX)
		start = to - STACK_BYTES_MAX;
	if (fd < 0)
		return start;
	for (begin = start; to > start && begin == start; to = from) {
		size_t count = (to - start) / page, bytes;

		if (count > PAGEMAP_ENTRIES)
			count = PAGEMAP_ENTRIES;
		from = to - count * page;
		bytes = count * sizeof(*entries);
		if (arch_syscall4(SYS_pread64, fd, entries, bytes,
			    from / page * sizeof(*entries)) != (long)bytes)
			break;
		while (count && !(entries[count - 1] & PAGEMAP_GUARD))
			count--;
		if (count)
			begin = from + count * page;
	}
	arch_syscall1(SYS_close, fd);
	return begin > sp ? 0 : begin;
}

static int wants_bounds(const struct sampler_thread *thread)
{
	return __atomic_load_n(&thread->active, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&thread->stack_hi, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&thread->seen_sp, __ATOMIC_ACQUIRE) > 1;
}

static int any_wants_bounds(void)
{
	SAMPLER_FOR_EACH_RING(index)
	if (wants_bounds(sampler_thread_at(index)))
		return 1;
	return 0;
}

/* Answer those whose stack pointer was in [@start, @end). */
static unsigned publish_stacks_in(uintptr_t start, uintptr_t end)
{
	unsigned known = 0;

	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);
		uintptr_t sp = __atomic_load_n(&thread->seen_sp, __ATOMIC_ACQUIRE);
		uintptr_t hi, lo;

		if (!wants_bounds(thread) || sp < start || sp >= end)
			continue;
		hi = stack_end(start, end, sp, thread->seen_self);
		lo = hi ? stack_begin(start, sp, hi) : 0;
		/* Also where no bounds were found: a thread whose stack cannot be told must not be
		 * looked up again at each call. */
		__atomic_store_n(&thread->seen_sp, 1, __ATOMIC_RELEASE);
		if (!lo)
			continue;
		sampler_thread_set_stack(thread, lo, hi);
		known++;
	}
	return known;
}

unsigned stack_publish_seen(void)
{
	struct maps maps;
	struct mapping mapping;
	unsigned known = 0;

	if (!any_wants_bounds() || maps_open(&maps))
		return 0;
	while (maps_next(&maps, &mapping))
		known += publish_stacks_in(mapping.start, mapping.end);
	maps_close(&maps);
	return known;
}

/* ---- threads that nobody announced ----------------------------------------------------------- */

/*
 * `lock` makes "nobody samples this thread yet, so I do" one step, for a thread at its birth and
 * for the rescan. Handlers never take it, and nobody waits for anything while holding it.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char list_path[] = "/proc/self/task";

/* Of a directory: its name, and its own ".". Each directory in it adds one. */
#define LINKS_OF_EMPTY 2u

/*
 * One part in this many of a CPU is what looking for threads may take: a process of thousands has a
 * long list, and one that makes and ends them a reason to read it at every look.
 */
#define REST_PER_SCAN 200u
/* While the process has not used as much since the last look, nobody can have missed more. */
#define IDLE_NS 2000000u

/* The tids that are sampled, for one rescan: open addressing, index + 1 of the entry. */
#define TABLE_SIZE (4u * WIRE_RINGS)

struct table {
	uint16_t entry[TABLE_SIZE];
};

static struct table table;
static uint32_t this_round;
/* threads that one rescan of this session found no ring for */
static uint32_t most_refused;
static uint64_t refused_image;
/* of the list when all that is in it was known; 0: it was not */
static uint32_t known_link_count;
/* CLOCK_MONOTONIC: no other look before */
static uint64_t next_scan_ns;
/* CPU time of the process at the last look */
static uint64_t scanned_cpu_ns;

struct sampler_thread *tasks_arm_self(struct sampler_thread *thread)
{
	struct sampler_thread *before;
	uintptr_t lo = thread->stack_lo, hi = thread->stack_hi;

	pthread_mutex_lock(&lock);
	before = sampler_thread_self();
	if (before) {
		sampler_thread_release(thread);
		thread = before;
		/* A rescan may be looking at it. */
		__atomic_store_n(&thread->is_foreign, !libc_calls.watch_end, __ATOMIC_RELAXED);
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

static unsigned hash_tid(uint32_t tid)
{
	return (tid * 0x9e3779b1u) >> 20 & (TABLE_SIZE - 1);
}

static struct sampler_thread *table_find(uint32_t tid)
{
	for (unsigned at = hash_tid(tid); table.entry[at]; at = (at + 1) % TABLE_SIZE) {
		struct sampler_thread *thread = sampler_thread_at(table.entry[at] - 1);

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
		const struct sampler_thread *thread = sampler_thread_at(index);
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
static int arm_task(uint32_t tid)
{
	struct sampler_thread *thread = sampler_thread_try_claim();

	if (!thread)
		return __atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) ? -EAGAIN : 0;
	read_name(thread, tid);
	if (tid == sampler.pid)
		sampler_thread_set_main_stack(thread);
	pthread_mutex_lock(&lock);
	if (sampler_thread_find((int32_t)tid))
		sampler_thread_release(thread);
	else if (!sampler_thread_arm_other(thread, (int32_t)tid))
		thread->round = this_round;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* What one rescan saw. */
struct round {
	/* own_threads_begun() from before the list was read */
	uint32_t begun;
	uint32_t listed;  /* threads in the list */
	/* of them those that may be our own, and may be not */
	uint32_t skipped;
	uint32_t refused; /* there was no ring for them */
};

/* One thread of the list. Returns 0 or -EAGAIN, as arm_task(). */
static int update_task(uint32_t tid, struct round *round)
{
	struct sampler_thread *thread = table_find(tid);
	uint64_t cpu_ns;

	if (!thread) {
		if (own_threads_contain(tid))
			return 0;
		if (!own_threads_are_known(round->begun)) {
			round->skipped++;
			return 0;
		}
		return arm_task(tid);
	}
	thread->round = this_round;
	if (!__atomic_load_n(&thread->is_foreign, __ATOMIC_RELAXED))
		return 0;
	cpu_ns = clock_cpu_ns(clock_of_thread((int32_t)tid));
	if (cpu_ns >= thread->seen_cpu_ns) {
		thread->seen_cpu_ns = cpu_ns;
		return 0;
	}
	if (!cpu_ns)
		return 0; /* gone in this moment */
	/* A clock that went back is another thread's under the same number. */
	sampler_thread_reap(thread, thread->seen_cpu_ns);
	return arm_task(tid);
}

/* Those in the table and not in the list. */
static void reap_ended(void)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		if (!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE) ||
			thread->round == this_round)
			continue;
		/* Armed while the list was read, perhaps. The kernel knows. */
		if (!clock_of_thread_runs((uint32_t)thread->tid))
			sampler_thread_reap(thread, thread->seen_cpu_ns);
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
	__atomic_fetch_add(
		&sampler.slot->ringless_threads, refused - most_refused, __ATOMIC_RELAXED);
	most_refused = refused;
}

static long read_list(int fd, struct round *round)
{
	char room[4096] __attribute__((aligned(8)));
	long n;

	while ((n = arch_syscall3(SYS_getdents64, fd, room, sizeof(room))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *)(room + at);
			const char *name = entry->d_name;
			uint64_t tid;

			at += entry->d_reclen;
			if (text_parse_number(&name, 10, '\0', INT32_MAX, &tid))
				continue;
			round->listed++;
			if (update_task((uint32_t)tid, round))
				round->refused++;
		}
	}
	return n;
}

/* The directories in the list and two, where the kernel counts them. 0: it does not tell. */
static uint32_t count_links(void)
{
	struct stat list;

	if (arch_syscall4(SYS_newfstatat, AT_FDCWD, list_path, &list, 0))
		return 0;
	return (uint32_t)list.st_nlink;
}

int tasks_rescan(void)
{
	struct round round = {.begun = own_threads_begun()};
	uint32_t links;
	long fd, n;

	/* Numbers of another namespace name other threads. */
	if (sampler.namespaced)
		return -ESRCH;
	/* Before the list is read: who comes meanwhile makes the next look find another number. */
	links = count_links();
	fd = arch_syscall4(
		SYS_openat, AT_FDCWD, list_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return (int)fd;
	if (!++this_round)
		this_round = 1;
	own_threads_remove_dead();
	table_fill();
	n = read_list((int)fd, &round);
	arch_syscall1(SYS_close, fd);
	if (n == 0)
		reap_ended();
	count_refused(round.refused);
	known_link_count = n || round.skipped || links != LINKS_OF_EMPTY + round.listed ? 0 : links;
	return (int)n;
}

/* Is any of those that cannot tell its end gone, and its number perhaps another's? */
static int has_task_ended(void)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);
		uint64_t cpu_ns;

		if (!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE) ||
			!__atomic_load_n(&thread->is_foreign, __ATOMIC_RELAXED))
			continue;
		cpu_ns = clock_cpu_ns(clock_of_thread(thread->tid));
		if (!cpu_ns || cpu_ns < thread->seen_cpu_ns)
			return 1;
		thread->seen_cpu_ns = cpu_ns;
	}
	return 0;
}

int tasks_scan(void)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t used_ns = clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID), cpu_ns;
	int error = 0;

	if (now_ns < next_scan_ns || used_ns - scanned_cpu_ns < IDLE_NS)
		return 0;
	scanned_cpu_ns = used_ns;
	/* Not the time until it was done: others may have had the CPU. */
	cpu_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	/* As many as were known, and all of those: there is nobody else. */
	if (!known_link_count || count_links() != known_link_count || has_task_ended())
		error = tasks_rescan();
	cpu_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	next_scan_ns = now_ns + cpu_ns * REST_PER_SCAN;
	return error;
}

void tasks_reset_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	known_link_count = 0;
	next_scan_ns = 0;
	scanned_cpu_ns = 0;
}

/* ---- a thread that asks to be sampled -------------------------------------------------------- */

/* Known from the first sample on: where the kernel must not read for us, it would be cut short. */
static void publish_own_bounds(struct sampler_thread *thread)
{
	pthread_attr_t attributes;
	void *lo = NULL;
	size_t bytes = 0;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &lo, &bytes))
		stack_publish_own(thread, (uintptr_t)lo, (uintptr_t)lo + bytes);
	pthread_attr_destroy(&attributes);
}

struct sampler_thread *tasks_begin_self(struct sampler_thread *thread)
{
	if ((uint32_t)arch_syscall0(SYS_gettid) == sampler.pid)
		sampler_thread_set_main_stack(thread);
	else
		publish_own_bounds(thread);
	thread = tasks_arm_self(thread);
	if (thread && libc_calls.watch_end)
		libc_calls.watch_end(thread);
	return thread;
}
