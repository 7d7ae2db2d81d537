/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: sampler_leave() runs on exit paths of any kind. */
/*
 * The process's slot in the arena: claim it, leave it, and forget the parent's slot in a fork
 * child. Threads are in thread.c.
 *
 * When an image leaves its slot, it writes its CPU time and that of its children into the slot. The
 * kernel charges the parent with more CPU time. The difference is the kernel's work after the
 * image's last instruction, which flamerun shows as "[exit]".
 */
#include "libprof/sampler/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/walk_stack.h"

/* Returns 1 if @pid belongs to another PID namespace than /proc. */
static uint32_t is_namespaced(uint32_t pid)
{
	char text[16];
	uint32_t value = 0;
	long n = arch_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self", text, sizeof(text));

	for (long i = 0; i < n; i++)
		value = value * 10 + (uint32_t)(text[i] - '0');
	return n <= 0 || value != pid;
}

static struct wire_slot *claim_slot(void *arena, uint32_t pid, uint32_t *index)
{
	struct wire_arena *header = arena;
	uint64_t claimed = (uint64_t)pid << 8 | WIRE_SLOT_CLAIMED;
	uint32_t first = __atomic_load_n(&header->slots_hint, __ATOMIC_RELAXED);

	for (uint32_t n = 0; n < WIRE_SLOTS; n++) {
		uint32_t i = (first + n) % WIRE_SLOTS;
		struct wire_slot *slot = wire_slot(arena, i);
		uint64_t free_state = WIRE_SLOT_FREE;

		if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) != WIRE_SLOT_FREE)
			continue;
		if (__atomic_compare_exchange_n(&slot->state, &free_state, claimed, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			sampler_raise_high(&header->slots_high, i + 1);
			__atomic_store_n(&header->slots_hint, i + 1, __ATOMIC_RELAXED);
			if (i >= WIRE_SLOTS / 4 * 3)
				sampler_wake_reader(arena);
			*index = i;
			return slot;
		}
	}
	return NULL;
}

/* Copy @text. If it is too long, copy its end, because the end of a path names the program. */
static void copy_tail(char *out, size_t size, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	size_t skip = n >= size ? n - size + 1 : 0;

	if (text)
		memcpy(out, text + skip, n - skip);
	out[n - skip] = '\0';
}

int sampler_start(void *arena, uint64_t parent_image, const char *exe)
{
	struct wire_arena *header = arena;
	uint32_t pid = (uint32_t)arch_syscall0(SYS_getpid), ppid;
	struct wire_slot *slot = claim_slot(arena, pid, &sampler.slot_index);
	uint64_t claimed = (uint64_t)pid << 8 | WIRE_SLOT_CLAIMED, image;

	if (!slot)
		goto lost;
	/*
	 * first_ring may change only while no thread has an entry. In a program that profiles
	 * itself, pending signals may still name entries of an earlier start.
	 */
	if (!sampler_is_hosted())
		sampler.first_ring =
			__atomic_load_n(&header->rings_hint, __ATOMIC_RELAXED) % WIRE_RINGS;
	__atomic_fetch_add(&header->claims[pid % WIRE_CLAIMS], 1, __ATOMIC_RELAXED);
	/*
	 * Use a release, so that flamerun, when it sees this number, also sees the image that
	 * forked this one.
	 */
	image = __atomic_add_fetch(&header->next_image, 1, __ATOMIC_RELEASE);
	slot->image = image;
	slot->parent_image = parent_image;
	slot->pid = pid;
	ppid = (uint32_t)arch_syscall0(SYS_getppid);
	slot->ppid = ppid;
	/*
	 * A fork child is in its parent's namespace, unless the child is the first process of a new
	 * one.
	 */
	if (parent_image)
		sampler.namespaced |= ppid == 0;
	else
		sampler.namespaced = is_namespaced(pid);
	slot->namespaced = sampler.namespaced;
	slot->image_at = (uintptr_t)&sampler.image;
	/*
	 * A fork child has the same libc as its parent, so the parent's result of clock_learn() is
	 * valid, and searching libc again would only cost page faults.
	 */
	if (!parent_image)
		clock_learn();
	slot->start_ns = clock_monotonic_by_call_ns();
	slot->filters = sampler.filters;
	slot->signal = sampler.signal;
	/*
	 * Copy the state from `sampler`, because a concurrent flameprof_pause() may have changed it
	 * and written to the slot of the profiler's last start.
	 */
	__atomic_store_n(&slot->is_paused, __atomic_load_n(&sampler.paused, __ATOMIC_RELAXED),
		__ATOMIC_RELAXED);
	if (exe)
		copy_tail(slot->exe, sizeof(slot->exe), exe);
	sampler_read_name(slot->comm);
	if (!sampler.max_depth)
		sampler.max_depth = WIRE_MAX_DEPTH;
	if (!sampler.ring_bytes)
		sampler.ring_bytes = UINT32_MAX;
	/*
	 * Write `arena` and `pid` only if they change, because signal-safe functions may read them
	 * between a stop and the next start of the profiler.
	 */
	if (sampler.arena != arena)
		sampler.arena = arena;
	if (sampler.pid != pid)
		sampler.pid = pid;
	__atomic_store_n(&sampler.slot, slot, __ATOMIC_RELEASE);
	__atomic_store_n(&sampler.image, image, __ATOMIC_RELAXED);
	/*
	 * If this process was stopped for so long that flamerun considered it dead, the slot is
	 * lost.
	 */
	if (!__atomic_compare_exchange_n(&slot->state, &claimed,
		    (uint64_t)pid << 8 | WIRE_SLOT_LIVE, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		goto lost;
	__atomic_store_n(&sampler.on, 1, __ATOMIC_SEQ_CST);
	return 0;
lost:
	__atomic_fetch_add(&header->lost_processes, 1, __ATOMIC_RELAXED);
	return -ENOSPC;
}

static void set_state(enum wire_slot_state state)
{
	__atomic_store_n(
		&sampler.slot->state, (uint64_t)sampler.pid << 8 | state, __ATOMIC_RELEASE);
}

/*
 * Record the CPU time of all threads, and in each ring->exit_credit the number of samples that are
 * due and not delivered. The handler subtracts samples that still come. When the image is over, the
 * collector adds the remaining number to the thread.
 */
static void store_exit_credits(void)
{
	int is_paused = __atomic_load_n(&sampler.paused, __ATOMIC_RELAXED) != 0;
	uint64_t live_ns = 0;

	SAMPLER_FOR_EACH_RING(index) {
		struct sampler_thread *thread = sampler_thread_at(index);
		uint64_t cpu_ns;

		if (!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE))
			continue;
		cpu_ns = clock_cpu_ns(clock_of_thread(thread->tid));
		if (cpu_ns > thread->armed_ns)
			live_ns += cpu_ns - thread->armed_ns;
		thread->ring->end_cpu_ns = cpu_ns;
		__atomic_store_n(&thread->ring->exit_credit,
			is_paused ? 0 : sampler_thread_due(thread, cpu_ns), __ATOMIC_RELEASE);
	}
	sampler.slot->live_threads_ns = live_ns;
}

static void clear_exit_credits(void)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		if (__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE))
			__atomic_store_n(&thread->ring->exit_credit, 0, __ATOMIC_RELEASE);
	}
}

/* Record the CPU time and memory of children that were waited for. Takes 0.1 us. */
static void store_children_usage(void)
{
	struct wire_slot *slot = sampler.slot;
	struct rusage usage;

	if (arch_syscall2(SYS_getrusage, RUSAGE_CHILDREN, &usage))
		return;
	slot->children_ns =
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * CLOCK_NS_PER_S +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	slot->children_kib = (uint64_t)usage.ru_maxrss;
}

/* Record the totals unless a seccomp filter forbids it, and set the slot's state. */
static void account_and_leave(enum wire_slot_state state)
{
	if (confined_may(CONFINED_ENDS)) {
		store_children_usage();
		sampler.slot->end_ns = clock_monotonic_by_call_ns();
		sampler.slot->end_cpu_ns = clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
		store_exit_credits();
	}
	set_state(state);
}

/*
 * A vfork child that is not recognised as one changes its parent's slot here, which has no effect.
 */
void sampler_leave_unaccounted(enum wire_slot_state state)
{
	if (__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && !confined_in_child())
		set_state(state);
}

void sampler_leave(enum wire_slot_state state)
{
	if (__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && confined_by_unseen())
		sampler_leave_unaccounted(state);
	else if (sampler_is_this_process())
		account_and_leave(state);
}

void sampler_undo_leave(void)
{
	if (!sampler_is_this_process())
		return;
	clear_exit_credits();
	sampler.slot->end_ns = sampler.slot->end_cpu_ns = 0;
	set_state(WIRE_SLOT_LIVE);
}

static void quit_for(enum wire_quit cause)
{
	if (__atomic_exchange_n(&sampler.quit, cause, __ATOMIC_SEQ_CST))
		return;
	sampler.slot->quit = cause;
	account_and_leave(WIRE_SLOT_EXIT);
	__atomic_store_n(&sampler.on, 0, __ATOMIC_SEQ_CST);
	SAMPLER_FOR_EACH_RING(index)
		sampler_thread_disarm(sampler_thread_at(index));
	/* Handlers that run now must not make any more system calls either. */
	if (!sampler_is_hosted())
		__atomic_store_n(&sampler.forbidden, CONFINED_ALL, __ATOMIC_RELAXED);
	sampler_leave_slot();
}

void sampler_quit(enum wire_quit cause)
{
	if (sampler_is_this_process())
		quit_for(cause);
}

void sampler_quit_unseen(void)
{
	__atomic_store_n(&sampler.forbidden, CONFINED_ALL, __ATOMIC_RELAXED);
	quit_for(WIRE_QUIT_UNSEEN);
}

void sampler_leave_slot(void)
{
	uint64_t left = (uint64_t)sampler.pid << 8 | WIRE_SLOT_EXIT;

	/*
	 * If a seccomp filter forbids deleting timers, each expiry calls this function, also long
	 * after the quit, so compare the state first.
	 */
	if (sampler_is_hosted() ||
		__atomic_load_n(&sampler.slot->state, __ATOMIC_RELAXED) != left)
		return;
	if (sampler_is_quiet())
		__atomic_compare_exchange_n(&sampler.slot->state, &left,
			(uint64_t)sampler.pid << 8 | WIRE_SLOT_GONE, 0, __ATOMIC_ACQ_REL,
			__ATOMIC_RELAXED);
}

void sampler_disarm_all(void)
{
	__atomic_store_n(&sampler.on, 0, __ATOMIC_SEQ_CST);
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		if (sampler_thread_disarm(thread))
			thread->is_disarmed = 1;
	}
}

int sampler_is_quiet(void)
{
	if (__atomic_load_n(&sampler.markers, __ATOMIC_SEQ_CST))
		return 0;
	for (uint32_t i = 0; i < wire_rings_high(sampler.arena); i++)
		if (__atomic_load_n(&sampler_thread_at(i)->users, __ATOMIC_SEQ_CST))
			return 0;
	return 1;
}

void sampler_end(struct wire_drain *drain)
{
	struct wire_slot *slot = sampler.slot;
	char *control = wire_control_data(sampler.arena, sampler.slot_index);

	/*
	 * Skip the entry of a thread that has not begun yet: the thread itself will release the
	 * entry.
	 */
	for (uint32_t i = 0; i < wire_rings_high(sampler.arena); i++) {
		const struct wire_ring *ring = wire_ring(sampler.arena, i);
		uint64_t owner = __atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE);

		if (owner >> 2 != sampler.image || !(owner & 3) || !ring->tid ||
			__atomic_load_n(&sampler_thread_at(i)->users, __ATOMIC_ACQUIRE))
			continue;
		thread_release_entry(sampler_thread_at(i));
		wire_drain_release(drain, i, owner);
	}
	for (unsigned word = 0; word < WIRE_RINGS / 64; word++)
		__atomic_store_n(&sampler.rings[word], 0, __ATOMIC_RELEASE);
	memset(control, 0, WIRE_CONTROL_BYTES);
	memset((char *)slot + sizeof(slot->state), 0, sizeof(*slot) - sizeof(slot->state));
	__atomic_store_n(&slot->state, WIRE_SLOT_FREE, __ATOMIC_RELEASE);
	wire_hint(&((struct wire_arena *)sampler.arena)->slots_hint, sampler.slot_index);
}

void sampler_reset_in_child(void)
{
	__atomic_store_n(&sampler.on, 0, __ATOMIC_RELEASE);
	/*
	 * Reset all entries that were ever claimed, because a thread of the parent may have been
	 * beginning or ending.
	 */
	SAMPLER_FOR_EACH(sampler.claimed_ever, index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		thread->active = 0;
		thread->users = 0;
		thread->is_claimed = 0;
	}
	walk_stack_reset();
	for (unsigned word = 0; word < WIRE_RINGS / 64; word++)
		sampler.rings[word] = sampler.claimed_ever[word] = 0;
	sampler.markers = sampler.claimed = 0;
}
