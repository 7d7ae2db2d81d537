/* SPDX-License-Identifier: MIT */
/*
 * Interpose mlockall(), because the call would include the library's own memory: an arena of 32 to
 * 256 MiB and tables of 6 MiB, most of which is never touched. The call would either fail, because
 * the kernel counts all of this memory against RLIMIT_MEMLOCK, or allocate every page of it.
 *
 * In a process with one thread, two things are unmapped during the call, with all signals blocked:
 * the pool, which is the part of the arena that only handlers touch, and those pages of the tables
 * that were never touched. Afterwards the remaining arena is unlocked. One page of the pool stays
 * mapped at another address, because mremap() can restore the pool's mapping from it without a
 * descriptor. MCL_FUTURE would lock the restored mappings, so it is set last, by a second call.
 *
 * In a process with more threads, others may be in their handlers, so everything stays mapped
 * during the call. If the limit forbids that, the process is no longer sampled from inside, and the
 * pool is unmapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "arch/syscall.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/text.h"

/*
 * Call sched_yield() at most this often to wait until no handler runs. A handler takes
 * microseconds, unless its thread is preempted.
 */
#define HANDLERS_TRIES 10000

/* Unmap at most RANGES_MAX ranges of untouched pages, each of at least RANGE_PAGES_MIN pages. */
#define RANGES_MAX	32
#define RANGE_PAGES_MIN 16
#define PAGES_AT_ONCE	128

/* Bits of an entry of /proc/PID/pagemap: the page is in memory or in the swap. */
#define PAGEMAP_TOUCHED (3ULL << 62)

typedef int mlockall_fn(int);

/* Page-aligned. */
struct range {
	uintptr_t at;
	size_t bytes;
};

/* The ranges that are unmapped during a call of mlockall(). */
struct absent {
	struct range pool;
	/* Address of the page of the pool that stays mapped. */
	long kept;
	struct range tables[RANGES_MAX];
	unsigned count;
};

/* The library's tables lie between these two symbols of the linker. */
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

/* Find the part of the arena that only handlers and the reader use: control rings and blocks. */
static struct range find_pool(void)
{
	uintptr_t arena = (uintptr_t)sampler.arena, page = getauxval(AT_PAGESZ);
	uintptr_t at = (arena + WIRE_CONTROL_OFFSET + page - 1) & -page;

	return (struct range){at, arena + wire_arena_bytes(sampler.blocks) - at};
}

static void add_range(struct absent *absent, uintptr_t from, uintptr_t to, size_t page)
{
	if (to - from >= RANGE_PAGES_MIN * page && absent->count < RANGES_MAX)
		absent->tables[absent->count++] = (struct range){from, to - from};
}

/*
 * Find the pages of the tables that were never touched. Finds none if the kernel does not report
 * them.
 */
static void find_untouched(struct absent *absent)
{
	size_t page = getauxval(AT_PAGESZ);
	uintptr_t at = ((uintptr_t)__bss_start + page - 1) & -page;
	uintptr_t end = (uintptr_t)_end & -page, from = at;
	uint64_t pages[PAGES_AT_ONCE];
	long fd =
		arch_syscall4(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);

	while (fd >= 0 && at < end) {
		size_t count = (end - at) / page;
		long bytes;

		count = count < PAGES_AT_ONCE ? count : PAGES_AT_ONCE;
		bytes = arch_syscall4(
			SYS_pread64, fd, pages, count * sizeof(*pages), at / page * sizeof(*pages));
		if (bytes != (long)(count * sizeof(*pages)))
			break;
		for (size_t i = 0; i < count; i++, at += page) {
			if (!(pages[i] & PAGEMAP_TOUCHED))
				continue;
			add_range(absent, from, at, page);
			from = at + page;
		}
	}
	add_range(absent, from, at, page);
	if (fd >= 0)
		arch_syscall1(SYS_close, fd);
}

/*
 * Returns 1 if the process has one thread: /proc/self/task has two links, and one more for each
 * thread.
 */
static int has_one_thread(void)
{
	struct stat status;

	return !arch_syscall4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &status, 0) &&
	       status.st_nlink == 3;
}

static void unlock_arena(size_t bytes)
{
	arch_syscall2(SYS_munlock, sampler.arena, bytes);
}

/* Unmap the pool and untouched pages. Returns 0, or -errno with nothing unmapped. */
static int unmap(struct absent *absent)
{
	*absent = (struct absent){.pool = find_pool()};
	absent->kept = arch_syscall6(SYS_mremap, (long)absent->pool.at, 0,
		(long)getauxval(AT_PAGESZ), MREMAP_MAYMOVE, 0, 0);
	if (absent->kept < 0)
		return (int)absent->kept;
	find_untouched(absent);
	arch_syscall2(SYS_munmap, absent->pool.at, absent->pool.bytes);
	for (unsigned i = 0; i < absent->count; i++)
		arch_syscall2(SYS_munmap, absent->tables[i].at, absent->tables[i].bytes);
	return 0;
}

/*
 * Undo unmap(). Returns 0 or -ENOMEM. After -ENOMEM no handler may run, because memory is missing.
 */
static int map_again(const struct absent *absent)
{
	size_t page = getauxval(AT_PAGESZ);
	long at;
	int error = 0;

	arch_syscall2(SYS_munlock, absent->kept, page);
	at = arch_syscall6(SYS_mremap, absent->kept, 0, (long)absent->pool.bytes,
		MREMAP_MAYMOVE | MREMAP_FIXED, (long)absent->pool.at, 0);
	if (at != (long)absent->pool.at)
		error = -ENOMEM;
	arch_syscall2(SYS_munmap, absent->kept, page);
	for (unsigned i = 0; i < absent->count; i++) {
		at = arch_syscall6(SYS_mmap, (long)absent->tables[i].at,
			(long)absent->tables[i].bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (at != (long)absent->tables[i].at)
			error = -ENOMEM;
	}
	return error;
}

/*
 * Call @next, libc's mlockall(), with as little of the library's memory mapped as possible.
 * Context: a process with one thread. Returns 0 with the call's result in *@result, or -errno if
 * @next was not called.
 */
static int lock_others(mlockall_fn *next, int flags, int *result)
{
	uint64_t all = ~0ULL, before;
	struct absent absent;
	int error;

	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	error = unmap(&absent);
	if (!error) {
		*result = next(flags & ~MCL_FUTURE);
		if (map_again(&absent))
			sampler_quit(WIRE_QUIT_LOCKED);
		unlock_arena(absent.pool.at - (uintptr_t)sampler.arena);
		if (!*result && (flags & MCL_FUTURE))
			*result = next(flags & ~MCL_CURRENT);
	}
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return error;
}

/* Returns 1 if RLIMIT_MEMLOCK allows all mapped memory except @bytes. */
static int fits_without(size_t bytes)
{
	struct rlimit limit;
	const char *at;
	char text[64];
	uint64_t pages;
	long n, fd = arch_syscall4(
			SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	n = arch_syscall3(SYS_read, fd, text, sizeof(text) - 1);
	arch_syscall1(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, " ")] = '\0';
	at = text;
	return !text_parse_number(&at, 10, '\0', UINT32_MAX, &pages) &&
	       !arch_syscall4(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit) &&
	       limit.rlim_cur >= pages * getauxval(AT_PAGESZ) - bytes;
}

/*
 * Stop sampling the process and unmap the pool. Returns 1. Returns 0, with the pool still mapped,
 * if a handler does not return in time.
 */
static int give_pool_up(void)
{
	struct range pool = find_pool();

	sampler_quit(WIRE_QUIT_LOCKED);
	for (int tries = 0; !sampler_is_quiet(); tries++) {
		if (tries == HANDLERS_TRIES)
			return 0;
		arch_syscall0(SYS_sched_yield);
	}
	arch_syscall2(SYS_munmap, pool.at, pool.bytes);
	return 1;
}

PRELOAD_EXPORT int mlockall(int flags)
{
	static mlockall_fn *next;
	int result = 0, error;

	if (!next)
		next = (mlockall_fn *)preload_next("mlockall");
	if (!(flags & MCL_CURRENT) || sampler_is_hosted() || !sampler_is_this_process() ||
		preload_is_confined() || confined_by_unseen())
		return next(flags);
	if (has_one_thread() && !lock_others(next, flags, &result))
		return result;
	result = next(flags);
	error = errno;
	if (!result)
		unlock_arena(wire_arena_bytes(sampler.blocks));
	else if (error == ENOMEM && fits_without(find_pool().bytes) && give_pool_up())
		return next(flags);
	errno = error;
	return result;
}
