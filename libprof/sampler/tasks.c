/* SPDX-License-Identifier: MIT */
/*
 * In a program that profiles itself, search /proc every 10 ms for threads that were not announced
 * to the sampler: without interposers these are all threads, with interposers those that were made
 * by a raw clone(2). Under flamerun there is no such search, so a thread made by a raw clone(2) is
 * not sampled.
 *
 * The link count of /proc/self/task is the number of threads plus two. While it stays the same, and
 * all known threads are alive, no thread is new. If the kernel does not count links, the list is
 * read each time. The search takes at most 1/200 of a CPU.
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

/* Limit in bytes: a larger mapping is not accepted as a thread's stack. */
#define STACK_BYTES_MAX (1UL << 30)

/*
 * Publish the calling thread's stack bounds. Its handler may run meanwhile, so set stack_hi to 0
 * first.
 */
static void stack_publish_own(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi)
{
	__atomic_store_n(&thread->stack_hi, 0, __ATOMIC_RELEASE);
	sampler_thread_set_stack(thread, lo, hi);
}

/*
 * Returns the end of the stack: the thread's control block @self, which libc puts at the upper end
 * of the stack. Returns 0 if @sp is on another stack, such as a coroutine's or a signal stack,
 * because it is unknown how much memory around it stays mapped.
 */
uintptr_t stack_end(uintptr_t start, uintptr_t end, uintptr_t sp, uintptr_t self)
{
	if (sp < start || self <= sp || self >= end || self - sp > STACK_BYTES_MAX)
		return 0;
	return self;
}

/* Number of entries of /proc/self/pagemap that are read at once; one entry per page. */
#define PAGEMAP_ENTRIES 512u
/*
 * Bit of a pagemap entry: MADV_GUARD_INSTALL made the page a guard. Linux reports this from 6.15
 * on.
 */
#define PAGEMAP_GUARD (1ULL << 58)

/*
 * Returns the lower end of the stack that contains @sp and the control block @self: @start, the
 * beginning of its mapping, or the end of a guard within the mapping. glibc from 2.42 on installs
 * guards within mappings, so the stacks of several threads may be one mapping. Returns 0 if a guard
 * is above @sp, because @sp is then on another stack.
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

/*
 * Publish the stacks of the threads whose stack pointer was in mapping [@start, @end). Returns
 * their number.
 */
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
		/*
		 * The value 1 means that the stack was searched. Store it also if no bounds were
		 * found, so that the stack is not searched at each call.
		 */
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

/* ---- threads that were not announced --------------------------------------------------------- */

/*
 * `lock` makes it one atomic step to check that a thread is not sampled yet and to arm it. Threads
 * at their start and the scan of all threads do this. Handlers never take the lock, and no thread
 * waits while holding it.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char list_path[] = "/proc/self/task";

/*
 * Link count of a directory without subdirectories: its name and its own ".". Each subdirectory
 * adds one.
 */
#define LINKS_OF_EMPTY 2u

/*
 * The search for threads takes at most 1/200 of a CPU, because a process with thousands of threads
 * has a long list, and a process that often makes and ends threads changes it before every search.
 */
#define REST_PER_SCAN 200u
/* Do not search while the process has used less CPU time than this since the last search. */
#define IDLE_NS 2000000u

/*
 * Hash table of the sampled threads by tid, for one scan, with open addressing. An entry is a
 * thread's index + 1; 0: empty.
 */
#define TABLE_SIZE (4u * WIRE_RINGS)

struct table {
	uint16_t entry[TABLE_SIZE];
};

static struct table table;
static uint32_t this_round;
/* Largest number of threads in one scan of this session for which there was no ring. */
static uint32_t most_refused;
static uint64_t refused_image;
/* Link count of /proc/self/task when all threads in it were known; 0: some were not. */
static uint32_t known_link_count;
/* CLOCK_MONOTONIC: do not search before this time. */
static uint64_t next_scan_ns;
/* CPU time of the process at the last search. */
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
		/* Atomic, because a scan may be reading the field. */
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

/*
 * Arm thread @tid. Returns 0, also if the thread need not be armed any more; -EAGAIN if there is no
 * ring.
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

/* State of one scan. */
struct round {
	/* Result of own_threads_begun(), called before the list was read. */
	uint32_t begun;
	uint32_t listed;  /* threads in the list */
	/* Threads of the list that were skipped, because they may be the profiler's own. */
	uint32_t skipped;
	uint32_t refused; /* threads without a ring */
};

/* Handle thread @tid of the list. Returns 0, or -EAGAIN if there is no ring for it. */
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
		return 0; /* the thread has just ended */
	/* The CPU time went back, so the tid belongs to another thread now. */
	sampler_thread_reap(thread, thread->seen_cpu_ns);
	return arm_task(tid);
}

/* End the sampling of threads that were not in the list. */
static void reap_ended(void)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		if (!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE) ||
			thread->round == this_round)
			continue;
		/* The thread may have been armed while the list was read, so ask the kernel. */
		if (!clock_of_thread_runs((uint32_t)thread->tid))
			sampler_thread_reap(thread, thread->seen_cpu_ns);
	}
}

/*
 * Count threads without a ring. A later scan of this session counts only the threads that exceed
 * the largest number so far.
 */
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

/*
 * Returns the link count of /proc/self/task: the number of threads plus two if the kernel counts
 * links; 0 if it cannot be read.
 */
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

	/* Thread ids in /proc belong to another pid namespace and would name other threads. */
	if (sampler.namespaced)
		return -ESRCH;
	/*
	 * Read the link count before the list. If a thread begins in between, the next search finds
	 * another link count.
	 */
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

/*
 * Returns 1 if a thread that does not report its own end has ended; its tid may belong to another
 * thread now.
 */
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
	/* Measure CPU time, because other threads may have had the CPU during the search. */
	cpu_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	/*
	 * If the number of threads is that of the known threads, and all of them are alive, no
	 * thread is new.
	 */
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

/* ---- a thread that reports itself ------------------------------------------------------------ */

/*
 * Publish the calling thread's stack bounds before its first sample. Without them, if a seccomp
 * filter forbids process_vm_readv(2), the stack would be cut short.
 */
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
