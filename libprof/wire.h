/* SPDX-License-Identifier: MIT */
/*
 * The layout of the arena, the shared memory by which the library in a profiled process sends
 * samples and control records to flamerun. The functions here do not allocate, lock or make system
 * calls. wire_control.h and wire_drain.h read the rings.
 *
 * Any profiled process can write to any part of the arena at any time. So every reader, flamerun or
 * library, copies a value out once (an atomic load or wire_copy()), then checks the copy, and
 * trusts no index, size or string before that.
 *
 * The arena is one sealed memfd made by flamerun:
 *
 *   +0            struct wire_arena           header: settings, counters
 *   SLOTS_OFFSET  struct wire_slot  [SLOTS]   one per process image (one exec or fork)
 *   between them  struct wire_ring  [RINGS]   one per sampled thread, two behind each slot
 *   BLOCKS_OFFSET struct wire_block [BLOCKS]  which ring owns which block of the pool
 *   CONTROL_..    WIRE_CONTROL_BYTES per slot: control records, many writers
 *   POOL_OFFSET   arena.blocks times WIRE_BLOCK_BYTES: sample records, one writer per block
 *
 * An arena has one reader for its whole life: flamerun's collector, or the worker of a process that
 * profiles itself. The reader drains the rings of living and dead processes alike.
 */
#ifndef LIBPROF_WIRE_H
#define LIBPROF_WIRE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIRE_MAGIC   0x31676e7572656d61ULL /* "amerung1" */
#define WIRE_VERSION 15

/* Value: <pid>:<arena descriptor>:<cookie in hex>, where the cookie is wire_arena.cookie. */
#define WIRE_ENV "FLAMERUN_CHANNEL"

/*
 * Bits of the cookie that change how a program runs. WIRE_COOKIE_ELAPSED: the timers' clock is
 * CLOCK_MONOTONIC at `clock_hz`. WIRE_COOKIE_EVENTS: perf events of flamerun signal the program's
 * threads, in addition to their timers. WIRE_COOKIE_KERNEL: a sample of time in the kernel is
 * marked with WIRE_FRAME_IN_KERNEL. The bits are in the environment (WIRE_ENV) and not only in the
 * arena, because every profiled process can write to the arena, but none to another one's
 * environment.
 *
 * WIRE_COOKIE_ELAPSED is for tests alone, so that a test knows the number of samples. The shipped
 * library has it, behind a hidden option, so that tests run the same library as users.
 */
#define WIRE_COOKIE_ELAPSED 1ULL
#define WIRE_COOKIE_EVENTS  2ULL
#define WIRE_COOKIE_KERNEL  4ULL /* only with WIRE_COOKIE_EVENTS */
#define WIRE_COOKIE_BITS    7ULL
/* si_fd in a signal of ring i's perf event: flamerun's descriptor WIRE_EVENT_DESCRIPTOR + i. */
#define WIRE_EVENT_DESCRIPTOR 3072
#define WIRE_EVENT_RESTS_MAX  32u
#define WIRE_RATE_MAX_HZ      10000u

/*
 * The sampling signal, unless the user chose another one. Few programs use SIGVTALRM. SIGPROF
 * belongs to programs' own profilers, gdb stops at SIGSTKFLT, Go and PostgreSQL use SIGURG, .NET
 * and Java use real-time signals, and those may overflow the queue of pending signals.
 */
#define WIRE_SIGNAL SIGVTALRM

/*
 * Returns 1 if @signal can be the sampling signal: the kernel must not send it for an error in the
 * code or to stop or continue a process, and libc must not reserve it.
 */
static inline int wire_signal_is_usable(unsigned signal)
{
	static const uint64_t refused =
		1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1) | 1ULL << (SIGSEGV - 1) |
		1ULL << (SIGBUS - 1) | 1ULL << (SIGILL - 1) | 1ULL << (SIGFPE - 1) |
		1ULL << (SIGTRAP - 1) | 1ULL << (SIGSYS - 1) | 1ULL << (SIGABRT - 1) |
		1ULL << (SIGCHLD - 1) | 1ULL << (SIGCONT - 1) | 1ULL << (SIGTSTP - 1) |
		1ULL << (SIGTTIN - 1) | 1ULL << (SIGTTOU - 1) | 3ULL << (32 - 1);

	return signal - 1 < 64 && !(refused >> (signal - 1) & 1);
}

#define WIRE_SLOTS  512
#define WIRE_RINGS  1024
#define WIRE_CLAIMS 512
/*
 * Largest number of frames kept of a stack. 1024 would cut 1.4 % of cc1plus's samples, because its
 * garbage collector recurses deeper than that.
 */
#define WIRE_MAX_DEPTH	   4096u
#define WIRE_CONTROL_BYTES 32768u
#define WIRE_BLOCK_BYTES   65536u
#define WIRE_BLOCKS_MAX	   4096u
/* The smallest pool. Stacks of thousands of frames fit into it. */
#define WIRE_BLOCKS_MIN	   512u
#define WIRE_PAGE	   4096u
#define WIRE_COMM_BYTES	   16
#define WIRE_EXE_BYTES	   256

/* ---- a frame in 64 bits ----------------------------------------------------------------------
 *
 *   63          62..48         47..0
 *   found by    module number  address: in module 0 the address itself (JIT code, no module),
 *   frame ptr                  else the ELF virtual address (address - load bias)
 *
 * Symbols can be looked up by the address as it is: in a caller's frame it is already inside the
 * call instruction (return address - 1).
 */
#define WIRE_FRAME_BY_FP      (1ULL << 63)
#define WIRE_FRAME_MODULE(f)  ((unsigned)((f) >> 48) & 0x7fffu)
#define WIRE_FRAME_ADDRESS(f) ((f)&0xffffffffffffULL)
#define WIRE_FRAME(module, address) \
	(((uint64_t)(module) << 48) | ((uint64_t)(address)&0xffffffffffffULL))
#define WIRE_MODULE_NONE 0u /* no module: JIT or anonymous code */
/*
 * Module numbers are never reused in a process image: an object that is loaded again gets a new
 * number. 0x7ffc (32,764) is the format's limit. The library assigns the lowest numbers, at most
 * 4,096 (sampler/modules.c). flamerun assigns the highest ones, downwards, to files that only the
 * program itself mapped (cli/gather/maps.c). In a process sampled from outside, flamerun's tracer
 * assigns all numbers.
 */
#define WIRE_MODULE_MAX 0x7ffcu
/*
 * The kernel's code. The upper 16 bits of the real address are ones, see wire_kernel_address().
 * Only flamerun makes these frames.
 */
#define WIRE_MODULE_KERNEL 0x7ffdu
/*
 * Generated code or a language's function, announced by a control record. The address is in the
 * process image's "code space": each announced piece gets its own range of numbers, never reused,
 * wherever its code lies in memory. So a frame means the same function for the whole life of the
 * image, although code in memory may be replaced.
 */
#define WIRE_MODULE_CODE 0x7ffeu
#define WIRE_MODULE_OVER 0x7fffu /* module numbers ran out: no name */
/* Not an address: the leaf for CPU time that has neither samples nor a known stack. */
#define WIRE_FRAME_UNSAMPLED WIRE_FRAME(WIRE_MODULE_OVER, 1)
/*
 * Not addresses. Only flamerun makes these frames, for CPU time that the kernel used outside of a
 * process image's code: EXEC before the first instruction, when no timer exists yet; EXIT after the
 * last instruction; EXIT_OF_CHILDREN for the EXIT time of several children, of which only the sum
 * is known. The process's CPU clock shows how much time that was, so it is added to the profile and
 * not counted as lost. A part of less than a period is carried over to the next image, so that it
 * adds up over thousands of short processes.
 */
#define WIRE_FRAME_EXEC		    WIRE_FRAME(WIRE_MODULE_OVER, 2)
#define WIRE_FRAME_EXIT		    WIRE_FRAME(WIRE_MODULE_OVER, 3)
#define WIRE_FRAME_EXIT_OF_CHILDREN WIRE_FRAME(WIRE_MODULE_OVER, 4)
/*
 * The sampling signal was due in one of the program's signal handlers, which had blocked it: no
 * stack is known.
 */
#define WIRE_FRAME_SIGNAL_HANDLER WIRE_FRAME(WIRE_MODULE_OVER, 5)
/*
 * With WIRE_COOKIE_KERNEL: the leaf of a sample in the kernel, above the frame that made the system
 * call.
 */
#define WIRE_FRAME_IN_KERNEL WIRE_FRAME(WIRE_MODULE_OVER, 6)
/* A kernel thread that does io_uring work for the process. Only flamerun makes this frame. */
#define WIRE_FRAME_IO_WORKER WIRE_FRAME(WIRE_MODULE_OVER, 7)
/*
 * The leaf of a thread that waits: the number of the system call or a WIRE_WAIT_* reason, and the
 * kind of file that is waited for. If bits 24 to 46 are not 0, they number a text with details,
 * whose content a RECORD_CODE in flamerun's pipe gives. Such leaves are made by flamerun and by the
 * worker of a process that profiles itself.
 *
 *   47   46..24   23..16         15..0
 *   1    text     enum wire_sort system call, or WIRE_WAIT_*
 */
#define WIRE_WAIT_BIT (1ULL << 47)
#define WIRE_FRAME_WAIT(call, sort) \
	WIRE_FRAME(WIRE_MODULE_OVER, WIRE_WAIT_BIT | (uint64_t)(sort) << 16 | ((call)&0xffff))
#define WIRE_WAIT_CALL(frame) ((unsigned)(frame)&0xffffu)
#define WIRE_WAIT_SORT(frame) ((unsigned)((frame) >> 16) & 0xffu)
#define WIRE_WAIT_TEXT(n)     (((uint64_t)(n)&0x7fffff) << 24)
#define WIRE_WAIT_CALLS_MAX   0xfff0u /* system call numbers are lower */
#define WIRE_WAIT_UNKNOWN     0xffffu /* could not be read */
#define WIRE_WAIT_NO_CPU      0xfffeu /* runnable, waits for a CPU */
/* The thread is in no system call: it waits for a page to be read into memory. */
#define WIRE_WAIT_FAULT	      0xfffdu
#define WIRE_WAIT_STOPPED     0xfffcu /* stopped by a signal or a tracer */
#define WIRE_WAIT_HOLDER      0xfffbu /* not a leaf: WIRE_FRAME_HOLDER */

static inline int wire_frame_waits(uint64_t frame)
{
	return WIRE_FRAME_MODULE(frame) == WIRE_MODULE_OVER &&
	       (WIRE_FRAME_ADDRESS(frame) & WIRE_WAIT_BIT) != 0;
}

/*
 * If flamerun knows which thread holds the lock that a thread waits for, one frame separates two
 * stacks:
 *
 *   leaf | stack of the lock's holder | WIRE_FRAME_HOLDER | stack of the waiting thread
 *
 * Bits 24 to 46 are the holder's thread number. Bits 16 to 23 are a part of the lock's address,
 * which differs between most locks of a process. If the holder was running, it has no frames here;
 * its own samples show where it was.
 */
#define WIRE_FRAME_HOLDER(thread, lock) \
	(WIRE_FRAME_WAIT(WIRE_WAIT_HOLDER, (lock)&0xff) | WIRE_WAIT_TEXT(thread))
#define WIRE_HOLDER_THREAD(frame) ((uint32_t)((frame) >> 24) & 0x7fffffu)

static inline int wire_frame_is_holder(uint64_t frame)
{
	return wire_frame_waits(frame) && WIRE_WAIT_CALL(frame) == WIRE_WAIT_HOLDER;
}

static inline uint64_t wire_kernel_address(uint64_t frame)
{
	return 0xffffULL << 48 | WIRE_FRAME_ADDRESS(frame);
}

/* How the unwinding of a stack ended. */
enum wire_end {
	/* The stack is complete: the return address is undefined, or a thread's start was found. */
	WIRE_END_ROOT = 0,
	/* The stack was cut at WIRE_MAX_DEPTH frames; the innermost frames are kept. */
	WIRE_END_DEPTH = 1,
	/* No unwind rule was found for a pc, or the rule gave an impossible caller. */
	WIRE_END_LOST = 2,
	WIRE_END_MEMORY = 3, /* the stack could not be read */
	WIRE_END_COUNT
};

enum wire_kind {
	WIRE_KIND_CPU = 0,    /* on a CPU when the timer expired */
	/*
	 * The timer expired, but no sample was taken before the thread or process ended. The frames
	 * are those of the thread's last stack, or none.
	 */
	WIRE_KIND_CREDIT = 1,
	WIRE_KIND_WAIT = 2,   /* off CPU; the leaf is a WIRE_FRAME_WAIT */
	/*
	 * Elapsed time, with a stack that a virtual machine recorded. The outermost frames are a
	 * WIRE_FUNCTION_ROOT or native frames. The weight is no part of the CPU time.
	 */
	WIRE_KIND_VM = 3,
	/*
	 * No time: a kernel stack (WIRE_MODULE_KERNEL frames) above the user stack for which the
	 * kernel ran. It shows how to divide the time that CPU samples have in the kernel. Only
	 * flamerun makes it.
	 */
	WIRE_KIND_KERNEL_STACK = 4,
	WIRE_KIND_COUNT
};

/* Causes of a loss; wire_counters.def has their texts. */
enum wire_unprofiled {
	WIRE_UNPROFILED_NONE = 0,
#define UNPROFILED(name, message, hint) WIRE_UNPROFILED_##name,
#include "libprof/wire_counters.def"
	WIRE_UNPROFILED_CAUSES
};

enum wire_quit {
	WIRE_QUIT_NONE = 0,
#define QUIT(name, message, hint) WIRE_QUIT_##name,
#include "libprof/wire_counters.def"
	WIRE_QUIT_CAUSES
};

enum wire_unsampled {
	WIRE_UNSAMPLED_NONE = 0, /* not known */
#define UNSAMPLED(name, message, hint) WIRE_UNSAMPLED_##name,
#include "libprof/wire_counters.def"
	WIRE_UNSAMPLED_CAUSES
};

/* ---- arena header ---------------------------------------------------------------------------- */
struct wire_arena {
	uint64_t magic;
	uint32_t version;
	/* Samples per second; written by flamerun before it forks. */
	uint32_t rate_hz;
	/* 1: record nothing before flameprof_resume(). */
	uint32_t start_paused;
	/* 1: the library records when threads end (struct wire_ring: end_ns). */
	uint32_t records_thread_ends;
	/*
	 * Proves that an opened descriptor is the arena that WIRE_ENV names. Includes the
	 * WIRE_COOKIE_* bits.
	 */
	uint64_t cookie;
	uint32_t closing;  /* set to 1 by flamerun: stop sampling */
	/* The sampling signal, see wire_signal_is_usable(). */
	uint32_t signal;
	/* For tests: sample at this rate of CLOCK_MONOTONIC; 0: use the CPU clock. */
	uint32_t clock_hz;
	/*
	 * Number of blocks in the pool; checked against the arena's size when the arena is mapped.
	 */
	uint32_t blocks;
	/*
	 * A futex. Incremented to wake the reader when a ring fills, or when the pool or slots run
	 * low.
	 */
	uint32_t doorbell;
	uint64_t next_image; /* atomic: last image id assigned */
	/* Atomic: one past the highest slot ever claimed. */
	uint32_t slots_high;
	/* Atomic: one past the highest ring ever claimed. */
	uint32_t rings_high;
	/*
	 * Lowest index that may be free; a search for a free slot starts at it. A search from 0
	 * would visit all used slots, and a search from the top would touch new pages although used
	 * ones are free. See wire_hint().
	 */
	uint32_t slots_hint;
	uint32_t rings_hint;
	/* Atomic: one past the highest block ever claimed. */
	uint32_t blocks_high;
	uint32_t blocks_hint;
	/*
	 * Atomic, incremented by the parent before each fork. While it is above forks_arrived, a
	 * child has yet to start.
	 */
	uint32_t forks_begun;
	/* Atomic, incremented by each fork child, with or without a slot. */
	uint32_t forks_arrived;
	/*
	 * Losses of processes without a slot. Atomic; they only ever grow.
	 */
#define COUNTER_ARENA(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	uint32_t unprofiled[WIRE_UNPROFILED_CAUSES]; /* atomic: images by cause; 0 is unused */
	/* Number of seccomp filters of flamerun itself; all processes inherit them. */
	uint32_t filters;
	/*
	 * With WIRE_COOKIE_EVENTS: user-mode time per signal of an event. After a handler call,
	 * signals of events are deferred for (1 + event_rests) times the call's duration.
	 */
	uint32_t event_period_ns;
	uint32_t event_rests;
	/*
	 * Atomic: claims[pid % WIRE_CLAIMS] counts the slots that processes with such pids have
	 * claimed so far. It shows flamerun that an image began and ended between two scans of the
	 * slots.
	 */
	uint8_t claims[WIRE_CLAIMS];
};

/* ---- process slots --------------------------------------------------------------------------- */
/*
 * Which process changes a slot's state:
 *
 *   FREE ─▶ CLAIMED       the claiming process, by compare-and-swap
 *   CLAIMED ─▶ LIVE       the same process, by compare-and-swap, once the slot is filled in
 *   CLAIMED ─▶ FREE       flamerun, by compare-and-swap, when the claimer died before that
 *   LIVE ◀─▶ EXEC         the process, by a store, before an exec and after one that failed
 *   LIVE ─▶ EXIT          the process, by a store
 *   EXEC or EXIT ─▶ GONE  by compare-and-swap, see WIRE_SLOT_GONE
 *   LIVE to GONE ─▶ FREE  the arena's reader, by a store, when the image is over and drained
 */
enum wire_slot_state {
	WIRE_SLOT_FREE = 0,
	/*
	 * The slot is being filled in by the process whose pid is in the upper bits of the state.
	 */
	WIRE_SLOT_CLAIMED = 1,
	WIRE_SLOT_LIVE = 2,
	WIRE_SLOT_EXEC = 3, /* about to exec */
	/* The library saw the exit; the process may still run for a while. */
	WIRE_SLOT_EXIT = 4,
	/*
	 * The process continues without the library. flamerun changes EXEC to GONE if the new
	 * program does not load the library. An image that turns sampling off changes EXIT to GONE.
	 */
	WIRE_SLOT_GONE = 5,
};

struct wire_slot {
	uint64_t state;	       /* pid << 8 | enum wire_slot_state */
	uint64_t image;	       /* id, unique in the arena */
	/* The image that forked this one; 0 after an exec. */
	uint64_t parent_image;
	uint32_t pid;	       /* as the process sees itself */
	uint32_t ppid;
	/* 1: `pid` is of another pid namespace than flamerun's. */
	uint32_t namespaced;
	/*
	 * Address of a copy of `image` in the process's memory. flamerun and the library recognise
	 * the process by reading it.
	 */
	uint64_t image_at;
	/*
	 * The sampling signal. The process sets it to 0 directly before it raises the signal itself
	 * with the default action, which ends the process.
	 */
	uint32_t signal;
	/* 1: when the image ended, the signal's handler was not the library's. */
	uint32_t is_displaced;
	/* errno of the last timer_create() that failed, else 0. */
	uint32_t timer_error;
	uint64_t start_ns;     /* CLOCK_MONOTONIC */
	/* CPU time of the process when its first thread got a timer. */
	uint64_t start_cpu_ns;
	/* CLOCK_MONOTONIC when the slot's state became EXEC or EXIT, else 0. */
	uint64_t end_ns;
	/* CPU time of the process when the slot's state became EXEC or EXIT, else 0. */
	uint64_t end_cpu_ns;
	/*
	 * CPU time of threads since each got its timer. ended_threads_ns: of threads that ended
	 * (atomic); live_threads_ns: of threads that were alive when the image ended.
	 */
	uint64_t ended_threads_ns;
	uint64_t live_threads_ns;
	/*
	 * CPU time of all descendants that the process had waited for when the image ended, and the
	 * resident memory of the largest of them in KiB.
	 */
	uint64_t children_ns;
	uint64_t children_kib;
	/* Atomic: weight delivered after the image ended, beyond its rings' exit_credit. */
	uint64_t after_leave;
	/* Atomic: CLOCK_MONOTONIC when is_paused last changed; stored before is_paused. */
	uint64_t pause_changed_ns;
	/* Atomic: 1 if recording is paused, or was when the image ended. */
	uint32_t is_paused;
	/* enum wire_quit: not 0 if the image continues and is no longer sampled. */
	uint32_t quit;
	/*
	 * Atomic: number of seccomp filters that the library knows of, including one that is being
	 * set.
	 */
	uint32_t filters;
	/* Atomic, set by flamerun: 1 if the process has more seccomp filters than `filters`. */
	uint32_t has_unseen;
	/* Atomic: 1 if flamerun must remove its perf events from the threads. */
	uint32_t no_events;
	/*
	 * Counters of wire_counters.def. Atomic, written by handlers and exit paths of this image.
	 * They only grow, with two exceptions: control_dropped shrinks when the name of a function
	 * is recorded after all; timerless_threads shrinks when the image quits for lack of timers,
	 * which is counted as WIRE_QUIT_TIMERS.
	 */
#define COUNTER_SLOT(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	/* RLIMIT_SIGPENDING when timer_create() failed last. */
	uint64_t signals_max;
	/* Number and CPU time of threads that ended before their first sample was due. */
	uint64_t short_threads;
	uint64_t short_ns;
	/* Set of runtime_bit(): language runtimes that were found, but whose layout is unknown. */
	uint64_t unknown_runtimes;
	uint64_t control_head;	   /* atomic: bytes reserved so far */
	/* Bytes read so far; written by the reader. */
	uint64_t control_tail;
	/* AT_EXECFN, NUL-terminated. If it is longer, its end is kept. */
	char exe[WIRE_EXE_BYTES];
	char comm[WIRE_COMM_BYTES];
};

/* ---- counters of a run ----------------------------------------------------------------------- */
/* Holds all counters of wire_counters.def, summed over a process image or over profiles. */
struct wire_counters {
#define COUNTER(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	uint64_t quit[WIRE_QUIT_CAUSES];	     /* images */
	uint64_t unprofiled[WIRE_UNPROFILED_CAUSES]; /* images */
	/* Weight of samples, by how the unwinding of their stacks ended. */
	uint64_t ends[WIRE_END_COUNT];
};

static inline void wire_counters_add(struct wire_counters *sum, const struct wire_counters *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	for (unsigned i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

/* Copy the counters that @slot has to @out. The other counters in @out are unchanged. */
static inline void wire_counters_of_slot(struct wire_counters *out, const struct wire_slot *slot)
{
#define COUNTER_SLOT(name, message, hint) \
	out->name = __atomic_load_n(&slot->name, __ATOMIC_RELAXED);
#include "libprof/wire_counters.def"
}

/* Copy the counters that @arena has to @out. The other counters in @out are unchanged. */
static inline void wire_counters_of_arena(struct wire_counters *out, const struct wire_arena *arena)
{
#define COUNTER_ARENA(name, message, hint) \
	out->name = __atomic_load_n(&arena->name, __ATOMIC_RELAXED);
#include "libprof/wire_counters.def"
	for (int cause = 0; cause < WIRE_UNPROFILED_CAUSES; cause++)
		out->unprofiled[cause] =
			__atomic_load_n(&arena->unprofiled[cause], __ATOMIC_RELAXED);
}

/* ---- rings and blocks ------------------------------------------------------------------------ */
enum wire_ring_state {
	WIRE_RING_FREE = 0,
	WIRE_RING_OWNED = 1,
	/*
	 * The ring's thread ended. The reader sets FREE when the ring is drained and the end is
	 * read.
	 */
	WIRE_RING_ENDED = 2,
};

/*
 * A ring is a list of blocks of the pool. Its thread claims a block when a record does not fit into
 * the current one. The reader frees the blocks that it has drained, including the newest one if no
 * record is being written. So a thread that was not sampled since the last drain has no block.
 *
 *   first ─▶ | record | record | .... |─next─▶ | record | record |              |
 *                                     end                        ▲ head
 *
 * `head` is one word: the newest block and how far it is written, or 0 for no block. Only the
 * thread changes `head`, with one exception: the reader sets it from a drained block to 0 by
 * compare-and-swap. Therefore the thread, too, sets WIRE_HEAD_WRITING by compare-and-swap before it
 * writes.
 */
#define WIRE_HEAD_WRITING     (1ULL << 63) /* being written, or torn */
#define WIRE_HEAD(block, end) ((uint64_t)((block) + 1) << 32 | (uint32_t)(end))
/* The head must not be 0. */
#define WIRE_HEAD_BLOCK(head) ((uint32_t)((head) >> 32 & 0x7fffffff) - 1)
#define WIRE_HEAD_END(head)   ((uint32_t)(head))

struct wire_ring {
	/* image (62 bits) << 2 | enum wire_ring_state; changed by compare-and-swap. */
	uint64_t owner;
	uint32_t slot;
	/* Number of the thread within the image, from 1; not reused. */
	uint32_t thread;
	uint32_t tid;
	/* First block of the list + 1; stored before `head` becomes non-zero. */
	uint32_t first;
	uint64_t start_ns;
	/* Name of the thread, read at its start and end, and perhaps also in between. */
	char comm[WIRE_COMM_BYTES];
	/*
	 * Weight that was due and not delivered when the process left. It belongs to the thread's
	 * last stack.
	 */
	uint64_t exit_credit;
	/* CPU time of the thread when it or the process ended, else 0. */
	uint64_t end_cpu_ns;
	uint64_t head;	      /* atomic, stored with release */
	/* Bytes that the ring's thread has written so far; stored by the thread. */
	uint64_t written;
	/* CLOCK_MONOTONIC at the thread's end, else 0. */
	uint64_t end_ns;
	/* Atomic, set by flamerun: a perf event may signal the thread. */
	uint32_t has_event;
	uint32_t pad0;
	uint64_t pad1[4];
	/* Bytes of `written` that the reader has read and freed; stored by the reader. */
	uint64_t taken;
	uint64_t pad2[7];
};

/* The owner and links of one block of the pool. */
struct wire_block {
	/*
	 * WIRE_BLOCK_OWNER, set by compare-and-swap from 0 (free). Only the reader resets it to 0.
	 */
	uint64_t owner;
	/* Number of the next block + 1; 0: none yet. Stored with release, after `end`. */
	uint32_t next;
	/* Bytes written to this block; valid once `next` is set. */
	uint32_t end;
};

/*
 * Value of wire_block.owner. It shows the owner even if the thread died after it claimed the block
 * and before it linked the block into the ring's list.
 */
#define WIRE_BLOCK_OWNER(image, ring) ((uint64_t)(image) << 12 | ((uint64_t)(ring) + 1))

#define WIRE_RECORD_MAX (sizeof(struct wire_sample) + 8 * WIRE_MAX_DEPTH)

/* Head of a record in a sample ring. `frames` words of 64 bits follow, innermost frame first. */
struct wire_sample {
	uint32_t bytes;	  /* of the whole record, a multiple of 8 */
	/* The ring's thread number when the record was written. */
	uint32_t thread;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t weight;
	/*
	 * Number of frames. 0, only in WIRE_KIND_CREDIT: the weight belongs to the thread's
	 * previous stack, if there is one.
	 */
	uint16_t frames;
	uint8_t kind;	 /* enum wire_kind */
	uint8_t end;	 /* enum wire_end */
};

/* ---- control records ------------------------------------------------------------------------- */
enum wire_control_type {
	WIRE_CONTROL_PAD = 1, /* unused bytes up to the ring's end */
	WIRE_CONTROL_MODULE = 2,
	WIRE_CONTROL_CODE = 3,
	WIRE_CONTROL_MARK = 4,
	WIRE_CONTROL_FUNCTION = 5,
};

/*
 * Header of a control record. A writer reserves bytes by compare-and-swap on control_head, stores
 * `reserved`, writes the body, then stores `word` with release. The reader reads up to the first
 * record whose `word` is 0, zeroes what it has read, and advances control_tail.
 */
struct wire_control {
	/* bytes << 8 | enum wire_control_type. The number of bytes is a multiple of 8. */
	uint32_t word;
	/*
	 * Length in bytes, stored before the body. If the writer is killed, the reader skips this
	 * many bytes.
	 */
	uint32_t reserved;
};

#define WIRE_BUILD_ID_MAX 32

struct wire_module {
	struct wire_control control;
	uint32_t number; /* as in frames */
	uint32_t build_id_bytes;
	uint64_t start; /* mapped addresses, with `end` */
	uint64_t end;
	uint64_t bias;
	uint64_t time_ns; /* CLOCK_MONOTONIC, first seen */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t flags;	     /* WIRE_MODULE_* below */
	/* Bytes of `path`, NUL included. "" is the program itself. */
	uint32_t path_bytes;
	char path[];
};
#define WIRE_MODULE_MAIN   1u
#define WIRE_MODULE_VDSO   2u
/*
 * Flag of a module that flamerun added for a file that the program mapped itself. The library gives
 * such frames no module.
 */
#define WIRE_MODULE_MAPPED 8u
/* Flag of this library's own module: frames of its wrapper functions are left out of stacks. */
#define WIRE_MODULE_SELF 4u

/* A record that announces generated code; written before the first sample in that code. */
struct wire_code {
	struct wire_control control;
	/* Code-space address of the first byte. */
	uint64_t space;
	uint64_t bytes;
	uint64_t start;	     /* its address in memory */
	uint32_t flags;	     /* WIRE_CODE_* */
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};
/* Set if the frame of the function that the stub calls is to be left out of stacks. */
#define WIRE_CODE_HIDES_TARGET 2u

/*
 * Announces a function of a virtual machine's language at an address of the code space. The
 * function has no machine code.
 */
struct wire_function {
	struct wire_control control;
	uint64_t space; /* code-space address */
	uint32_t line;	/* 0: none */
	uint32_t flags; /* WIRE_FUNCTION_* */
	uint32_t name_bytes;
	/* Bytes of the file, which follows the name, each with its NUL. File "": unknown. */
	uint32_t file_bytes;
	char name[];
};
/* Not a function, but the root of a virtual machine's stacks. */
#define WIRE_FUNCTION_ROOT 1u
/*
 * Set for a function of a language whose runtime's data the library reads (runtime/runtime.h). Such
 * a function has a range of the code space with one address per line: the offset is line - first
 * line. The last address of the range stands for every other line.
 *
 *	47  46  45       44..16  15..0
 *	0   1   outside  number  line - first line
 */
#define WIRE_FUNCTION_LINES   4u
#define WIRE_LANGUAGE_BIT     (1ULL << 46)
#define WIRE_LANGUAGE_OUTSIDE (1ULL << 45) /* number assigned by flamerun */
#define WIRE_LANGUAGE_LINES   (1ULL << 16)
#define WIRE_LANGUAGE_NUMBERS (1ULL << 29)

static inline int wire_frame_is_language(uint64_t frame)
{
	return WIRE_FRAME_MODULE(frame) == WIRE_MODULE_CODE &&
	       (frame & (WIRE_WAIT_BIT | WIRE_LANGUAGE_BIT)) == WIRE_LANGUAGE_BIT;
}

/*
 * Returns the frame for @line (0: unknown) of the function whose range begins at @space and whose
 * first line is @first.
 */
static inline uint64_t wire_language_frame(uint64_t space, uint32_t first, uint32_t line)
{
	uint32_t delta = line - first;

	if (!line || delta >= WIRE_LANGUAGE_LINES)
		delta = (uint32_t)WIRE_LANGUAGE_LINES - 1;
	return WIRE_FRAME(WIRE_MODULE_CODE, space + delta);
}

static inline uint64_t wire_function_bytes(uint32_t flags)
{
	return flags & WIRE_FUNCTION_LINES ? WIRE_LANGUAGE_LINES : 1;
}

/* A record of a mark that the program set with flameprof_mark(). */
struct wire_mark {
	struct wire_control control;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};

/* ---- geometry -------------------------------------------------------------------------------- */
/*
 * Slots and rings are interleaved, because a starting process claims a slot and usually the ring of
 * the same number: both are in one page.
 *
 *   +0                     +RING_PLACE                 +SLOT_STRIDE
 *   | struct wire_slot ... | ring i | ring i + SLOTS | |
 */
#define WIRE_SLOT_STRIDE   1024u
#define WIRE_RING_PLACE	   640u
#define WIRE_SLOTS_OFFSET  WIRE_PAGE
#define WIRE_BLOCKS_OFFSET (WIRE_SLOTS_OFFSET + WIRE_SLOTS * WIRE_SLOT_STRIDE)
#define WIRE_CONTROL_OFFSET \
	(WIRE_BLOCKS_OFFSET + WIRE_BLOCKS_MAX * (unsigned)sizeof(struct wire_block))
#define WIRE_POOL_OFFSET (WIRE_CONTROL_OFFSET + (uint64_t)WIRE_SLOTS * WIRE_CONTROL_BYTES)

/* The arena takes at most 1/16 of the address space if that is limited (RLIMIT_AS). */
#define WIRE_ARENA_SHARE 16

_Static_assert(sizeof(struct wire_slot) <= WIRE_RING_PLACE, "a slot ends before the rings");
_Static_assert(
	WIRE_RING_PLACE + WIRE_RINGS / WIRE_SLOTS * sizeof(struct wire_ring) <= WIRE_SLOT_STRIDE,
	"its rings end before the next slot");
_Static_assert(sizeof(struct wire_ring) == 192, "ring descriptors keep their shape");
_Static_assert(WIRE_RECORD_MAX <= WIRE_BLOCK_BYTES, "a block holds the largest record");
_Static_assert(WIRE_RINGS < 1u << 12, "a ring's number fits beside an image's");
_Static_assert(WIRE_POOL_OFFSET % WIRE_PAGE == 0, "blocks begin on pages");
_Static_assert(sizeof(struct wire_sample) == 24, "sample header");

/*
 * Copy @bytes from the arena. The fence keeps the compiler from reading the arena a second time
 * after the caller's check of the copy.
 */
static inline void wire_copy(void *out, const void *from, size_t bytes)
{
	memcpy(out, from, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Lower @hint to @index, which has become free. A claimer sets the hint to one past the index that
 * it claimed.
 */
static inline void wire_hint(uint32_t *hint, uint32_t index)
{
	if (index < __atomic_load_n(hint, __ATOMIC_RELAXED))
		__atomic_store_n(hint, index, __ATOMIC_RELAXED);
}

/*
 * Returns one past the highest slot ever claimed, at most WIRE_SLOTS: scans of the slots end there.
 */
static inline uint32_t wire_slots_high(const struct wire_arena *arena)
{
	uint32_t high = __atomic_load_n(&arena->slots_high, __ATOMIC_ACQUIRE);

	return high < WIRE_SLOTS ? high : WIRE_SLOTS;
}

static inline uint32_t wire_rings_high(const struct wire_arena *arena)
{
	uint32_t high = __atomic_load_n(&arena->rings_high, __ATOMIC_ACQUIRE);

	return high < WIRE_RINGS ? high : WIRE_RINGS;
}

static inline uint64_t wire_arena_bytes(uint32_t blocks)
{
	return WIRE_POOL_OFFSET + (uint64_t)blocks * WIRE_BLOCK_BYTES;
}

/*
 * Returns the number of blocks for a pool that can hold half a second of samples, with @cpus CPUs
 * at @rate_hz and 100 frames per stack, so that nothing is lost if the reader does not run for that
 * long. One partly used block is added for each thread that may have had a sample. Unclaimed blocks
 * cost no memory.
 */
static inline uint32_t wire_pool_blocks(uint32_t cpus, uint32_t rate_hz)
{
	uint64_t samples = (uint64_t)cpus * rate_hz / 2 + 1;
	uint64_t bytes = samples * (sizeof(struct wire_sample) + 100 * sizeof(uint64_t));
	uint64_t blocks = bytes / WIRE_BLOCK_BYTES + (samples < WIRE_RINGS ? samples : WIRE_RINGS);

	if (blocks < WIRE_BLOCKS_MIN)
		return WIRE_BLOCKS_MIN;
	return blocks < WIRE_BLOCKS_MAX ? (uint32_t)blocks : WIRE_BLOCKS_MAX;
}

/* Returns 1 if a slot in @state belongs to an image, whether or not the image has ended. */
static inline int wire_slot_is_used(uint64_t state)
{
	return (state & 0xff) >= WIRE_SLOT_LIVE && (state & 0xff) <= WIRE_SLOT_GONE;
}

static inline struct wire_slot *wire_slot(void *arena, unsigned slot)
{
	return (struct wire_slot *)((char *)arena + WIRE_SLOTS_OFFSET + slot * WIRE_SLOT_STRIDE);
}

static inline unsigned wire_slot_index(const void *arena, const struct wire_slot *slot)
{
	return (unsigned)((const char *)slot - (const char *)arena - WIRE_SLOTS_OFFSET) /
	       WIRE_SLOT_STRIDE;
}

static inline struct wire_ring *wire_ring(void *arena, unsigned ring)
{
	struct wire_slot *slot = wire_slot(arena, ring % WIRE_SLOTS);

	return (struct wire_ring *)((char *)slot + WIRE_RING_PLACE) + ring / WIRE_SLOTS;
}

static inline char *wire_control_data(void *arena, unsigned slot)
{
	return (char *)arena + WIRE_CONTROL_OFFSET + (uint64_t)slot * WIRE_CONTROL_BYTES;
}

static inline struct wire_block *wire_block(void *arena, uint32_t block)
{
	return (struct wire_block *)((char *)arena + WIRE_BLOCKS_OFFSET) + block;
}

static inline char *wire_block_data(void *arena, uint32_t block)
{
	return (char *)arena + WIRE_POOL_OFFSET + (uint64_t)block * WIRE_BLOCK_BYTES;
}

#endif
