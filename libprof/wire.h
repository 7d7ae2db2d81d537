/* SPDX-License-Identifier: MIT */
/*
 * The layout of the arena, the shared memory by which the library in a profiled process sends
 * samples and control records to flamerun. Nothing here allocates, locks or makes a call.
 * wire_control.h and wire_drain.h read the rings.
 *
 * Any process of the run can write to any part of the arena at any time. So every reader, flamerun
 * or library, copies a value out once (an atomic load or wire_copy()), then checks the copy, and
 * trusts no index, size or string before that.
 *
 * The arena is one sealed memfd made by flamerun:
 *
 *   +0            struct wire_arena           header: settings, counters
 *   SLOTS_OFFSET  struct wire_slot  [SLOTS]   one per process image
 *   behind them   struct wire_ring  [RINGS]   one per sampled thread, two beside each slot
 *   BLOCKS_OFFSET struct wire_block [BLOCKS]  which ring owns which block of the pool
 *   CONTROL_..    WIRE_CONTROL_BYTES per slot: control records, many writers
 *   POOL_OFFSET   arena.blocks times WIRE_BLOCK_BYTES: sample records, one writer per block
 *
 * An arena has one reader for its whole life: flamerun's collector, or the worker of a process that
 * profiles itself. It drains the rings of living and dead processes alike.
 */
#ifndef LIBPROF_WIRE_H
#define LIBPROF_WIRE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIRE_MAGIC   0x31676e7572656d61ULL /* "amerung1" */
#define WIRE_VERSION 15

/* FLAMERUN_CHANNEL=<pid>:<arena descriptor>:<cookie in hex> */
#define WIRE_ENV "FLAMERUN_CHANNEL"

/*
 * Bits of the cookie that change how a program runs: the clock is CLOCK_MONOTONIC at `clock_hz`;
 * perf events of flamerun signal the program's threads; a sample of time in the kernel is marked
 * with WIRE_FRAME_IN_KERNEL. They are in the environment (WIRE_ENV) and not only in the arena,
 * because every process of the run can write to the arena, but none to another one's environment.
 *
 * WIRE_COOKIE_ELAPSED is for tests alone, so that a test knows the number of samples. It is in the
 * shipped library, behind a hidden option, so that tests run the same library as users.
 */
#define WIRE_COOKIE_ELAPSED 1ULL
#define WIRE_COOKIE_EVENTS  2ULL
#define WIRE_COOKIE_KERNEL  4ULL /* only with WIRE_COOKIE_EVENTS */
#define WIRE_COOKIE_BITS    7ULL
/* An event's signal carries flamerun's descriptor of the event: this number + i for ring i. */
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
 * Can @signal be the sampling signal? Not if the kernel sends it for an error in the code or to
 * stop or continue a process, nor if libc reserves it.
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
/* Frames kept of a stack. In 1.4 % of cc1plus's samples its GC recurses past 1024 frames. */
#define WIRE_MAX_DEPTH	   4096u
#define WIRE_CONTROL_BYTES 32768u
#define WIRE_BLOCK_BYTES   65536u
#define WIRE_BLOCKS_MAX	   4096u
#define WIRE_BLOCKS_MIN	   512u /* enough for stacks of thousands of frames */
#define WIRE_PAGE	   4096u
#define WIRE_COMM_BYTES	   16
#define WIRE_EXE_BYTES	   256

/* ---- a frame in 64 bits ----------------------------------------------------------------------
 *
 *   63          62..48         47..0
 *   found by    module number  address: in module 0 the address itself (JIT code, no module),
 *   frame ptr                  else the ELF virtual address (address - load bias)
 *
 * The address is the one to look up: in a caller's frame it is already inside the call
 * instruction (return address - 1).
 */
#define WIRE_FRAME_BY_FP      (1ULL << 63)
#define WIRE_FRAME_MODULE(f)  ((unsigned)((f) >> 48) & 0x7fffu)
#define WIRE_FRAME_ADDRESS(f) ((f)&0xffffffffffffULL)
#define WIRE_FRAME(module, address) \
	(((uint64_t)(module) << 48) | ((uint64_t)(address)&0xffffffffffffULL))
#define WIRE_MODULE_NONE 0u /* no module: JIT or anonymous code */
/*
 * Module numbers are never reused in an image: an object that is loaded again gets a new number.
 * 0x7ffc (32,764) is the format's limit. The library assigns the lowest numbers, at most 4,096
 * (sampler/modules.c); flamerun assigns the highest ones, downwards, to files that only the program
 * itself mapped (cli/gather/maps.c). In a process sampled from outside, the tracer assigns all.
 */
#define WIRE_MODULE_MAX 0x7ffcu
/* The kernel's code; the address's upper 16 bits are ones. Only flamerun makes these frames. */
#define WIRE_MODULE_KERNEL 0x7ffdu
/*
 * Generated code or a language's function, announced by a control record. The address is one in the
 * image's "code space": each announced piece gets its own range of it, never reused, wherever its
 * code lies in memory. So a name is valid for the whole run without a time.
 */
#define WIRE_MODULE_CODE 0x7ffeu
#define WIRE_MODULE_OVER 0x7fffu /* no module number was left: unnamed */
/* Not an address: the leaf of credited samples whose stack was never seen. */
#define WIRE_FRAME_UNSAMPLED WIRE_FRAME(WIRE_MODULE_OVER, 1)
/*
 * Not addresses; only flamerun makes these frames: CPU time that the kernel used before an image's
 * first instruction (exec, before any timer can exist), after its last instruction, and after the
 * last instruction of several children that cannot be told apart. That time is credited, not
 * counted as lost, because the process's CPU clock shows how much it was. A part of less than a
 * period is carried over from image to image, so that it adds up in runs of thousands of short
 * processes.
 */
#define WIRE_FRAME_EXEC		    WIRE_FRAME(WIRE_MODULE_OVER, 2)
#define WIRE_FRAME_EXIT		    WIRE_FRAME(WIRE_MODULE_OVER, 3)
#define WIRE_FRAME_EXIT_OF_CHILDREN WIRE_FRAME(WIRE_MODULE_OVER, 4)
/* Samples due in a handler of the program that blocked the sampling signal: no stack is known. */
#define WIRE_FRAME_SIGNAL_HANDLER WIRE_FRAME(WIRE_MODULE_OVER, 5)
/* With WIRE_COOKIE_KERNEL: the leaf, above the frame that entered the kernel. */
#define WIRE_FRAME_IN_KERNEL WIRE_FRAME(WIRE_MODULE_OVER, 6)
/* A kernel thread that does io_uring work for the process. Only flamerun makes this frame. */
#define WIRE_FRAME_IO_WORKER WIRE_FRAME(WIRE_MODULE_OVER, 7)
/*
 * The leaf of a thread that waits: the number of the system call or a WIRE_WAIT_* reason, and what
 * kind of file is waited for. If bits 24 to 46 are not 0 they number a text with details, which a
 * RECORD_CODE of flamerun's pipe names. Made by flamerun, and by the worker of a process that
 * profiles itself.
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
#define WIRE_WAIT_FAULT	      0xfffdu /* not in a call: a page is read into memory */
#define WIRE_WAIT_STOPPED     0xfffcu /* stopped by a signal or a tracer */
#define WIRE_WAIT_HOLDER      0xfffbu /* not a leaf: WIRE_FRAME_HOLDER */

static inline int wire_frame_waits(uint64_t frame)
{
	return WIRE_FRAME_MODULE(frame) == WIRE_MODULE_OVER &&
	       (WIRE_FRAME_ADDRESS(frame) & WIRE_WAIT_BIT) != 0;
}

/*
 * If the holder of the lock that a thread waits for is known, a frame separates two stacks:
 *
 *   leaf | stack of the lock's holder | WIRE_FRAME_HOLDER | stack of the waiting thread
 *
 * Bits 24 to 46 are the holder's thread number; bits 16 to 23 are a part of the lock's address,
 * which most locks of a process differ in. A holder without frames was running; its own samples
 * show where.
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
	WIRE_END_ROOT = 0,   /* complete: return address undefined, or a thread's start */
	WIRE_END_DEPTH = 1,  /* cut at WIRE_MAX_DEPTH frames; the leaf side is kept */
	WIRE_END_LOST = 2,   /* no unwind rule for a pc, or a rule that leads nowhere */
	WIRE_END_MEMORY = 3, /* the stack could not be read */
	WIRE_END_COUNT
};

enum wire_kind {
	WIRE_KIND_CPU = 0,    /* on a CPU when the timer expired */
	WIRE_KIND_CREDIT = 1, /* due but not delivered; on the thread's last stack, or on none */
	WIRE_KIND_WAIT = 2,   /* off CPU; the leaf is a WIRE_FRAME_WAIT */
	/* Elapsed time, with a stack that a virtual machine recorded; its outermost frames are a
	 * WIRE_FUNCTION_ROOT or native. Not a part of the CPU time. */
	WIRE_KIND_VM = 3,
	/* No time: a kernel stack (WIRE_MODULE_KERNEL frames) above the user stack on whose
	 * behalf it ran. Shows how to divide time in the kernel. Only flamerun makes it. */
	WIRE_KIND_KERNEL_STACK = 4,
	WIRE_KIND_COUNT
};

/* Causes; wire_counters.def has their texts. */
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
	uint32_t rate_hz;      /* written by flamerun before the fork */
	uint32_t start_paused; /* 1: record nothing before flameprof_resume() */
	uint32_t is_looked_at; /* 1: report the ends of threads (struct wire_ring: end_ns) */
	/* Proves that an opened descriptor is this run's arena; includes WIRE_COOKIE_* bits. */
	uint64_t cookie;
	uint32_t closing;  /* set to 1 by flamerun: stop sampling */
	uint32_t signal;   /* the sampling signal, see wire_signal_is_usable() */
	uint32_t clock_hz; /* for tests: rate of CLOCK_MONOTONIC samples; 0: CPU clock */
	uint32_t blocks;   /* in the pool; checked against the arena's size when it is mapped */
	/* Futex, incremented to wake the reader: a ring fills, or the pool or slots run low. */
	uint32_t doorbell;
	uint64_t next_image; /* atomic: last image id assigned */
	uint32_t slots_high; /* atomic: one past the highest slot ever claimed */
	uint32_t rings_high; /* atomic: one past the highest ring ever claimed */
	/* Lowest index that may be free; a search starts here, because starting at 0 would visit
	 * all that are taken, and pages used before are used again first. See wire_hint(). */
	uint32_t slots_hint;
	uint32_t rings_hint;
	uint32_t blocks_high; /* atomic: one past the highest block ever claimed */
	uint32_t blocks_hint;
	uint32_t forks_begun; /* atomic, by parents; more than arrived: a child has yet to start */
	uint32_t forks_arrived; /* atomic, by children, with or without a slot */
				/* Losses of processes without a slot; atomic, only ever grow. */
#define COUNTER_ARENA(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	uint32_t unprofiled[WIRE_UNPROFILED_CAUSES]; /* atomic: images by cause; 0 is unused */
	uint32_t filters; /* seccomp filters of flamerun itself, inherited by all processes */
	/* With WIRE_COOKIE_EVENTS: user-mode time per signal of an event. A handler call keeps
	 * the next sample away for (1 + event_rests) times its duration. */
	uint32_t event_period_ns;
	uint32_t event_rests;
	/* Atomic counters, by pid modulo WIRE_CLAIMS, of slots claimed so far: show that an
	 * image came and went between two scans of the slots. */
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
	WIRE_SLOT_CLAIMED = 1, /* being filled in by the process in the upper bits */
	WIRE_SLOT_LIVE = 2,
	WIRE_SLOT_EXEC = 3, /* about to exec */
	WIRE_SLOT_EXIT = 4, /* exit seen from inside; may still run for a while */
	/* The process runs on without the library. From EXEC, set by flamerun: the new program
	 * has no library. From EXIT, set by an image that quit sampling. */
	WIRE_SLOT_GONE = 5,
};

struct wire_slot {
	uint64_t state;	       /* pid << 8 | enum wire_slot_state */
	uint64_t image;	       /* unique in the run */
	uint64_t parent_image; /* image that forked this one; 0 after an exec */
	uint32_t pid;	       /* as the process sees itself */
	uint32_t ppid;
	uint32_t namespaced;   /* 1: pid is of another pid namespace than flamerun's */
	uint64_t image_at;     /* where the process's memory holds `image`, which identifies it */
	uint32_t signal;       /* sampling signal; 0: its default action is about to happen */
	uint32_t is_displaced; /* 1: at the end the signal's handler was not the library's */
	uint32_t timer_error;  /* errno of the last timer_create() that failed, else 0 */
	uint64_t start_ns;     /* CLOCK_MONOTONIC */
	uint64_t start_cpu_ns; /* CPU time of the process when its first thread was armed */
	uint64_t end_ns;       /* CLOCK_MONOTONIC at EXEC or EXIT, else 0 */
	uint64_t end_cpu_ns;   /* CPU time of the process at EXEC or EXIT, else 0 */
	/* CPU time of threads since each was armed: of those that ended (atomic), and of those
	 * that were alive when the process left. */
	uint64_t ended_threads_ns;
	uint64_t live_threads_ns;
	/* Of children it had waited for and their descendants, when it left: CPU time, and the
	 * resident memory of the largest one in KiB. */
	uint64_t children_ns;
	uint64_t children_kib;
	uint64_t after_leave; /* atomic: weight delivered after leaving, beyond the exit_credit */
	uint64_t pause_changed_ns; /* atomic: when is_paused last changed; stored before it */
	uint32_t is_paused;	   /* atomic: recording is paused, or was when it left */
	uint32_t quit;		   /* enum wire_quit: it runs on and is no longer sampled */
	uint32_t filters;	   /* atomic: seccomp filters known to it, one being set included */
	uint32_t has_unseen;	   /* atomic, by flamerun: it has more filters than that */
	uint32_t no_events; /* atomic: flamerun must remove its perf events from the threads */
	/* Atomic, written by handlers and exit paths of this image. They only grow, except
	 * control_dropped (a function's name is recorded later after all) and timerless_threads
	 * (the thread becomes a WIRE_QUIT_TIMERS). */
#define COUNTER_SLOT(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	uint64_t signals_max; /* RLIMIT_SIGPENDING when timer_create() failed last */
	/* Threads that ended before their first sample was due, and their CPU time. */
	uint64_t short_threads;
	uint64_t short_ns;
	uint64_t unknown_runtimes; /* set of runtime_bit(): found, but of unknown layout */
	uint64_t control_head;	   /* atomic: bytes reserved so far */
	uint64_t control_tail;	   /* bytes read so far; written by the reader */
	char exe[WIRE_EXE_BYTES];  /* AT_EXECFN, NUL-terminated; the end is kept if longer */
	char comm[WIRE_COMM_BYTES];
};

/* ---- counters of a run ----------------------------------------------------------------------- */
/* All counters of wire_counters.def, of one image, of a run, or of several runs. */
struct wire_counters {
#define COUNTER(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	uint64_t quit[WIRE_QUIT_CAUSES];	     /* images */
	uint64_t unprofiled[WIRE_UNPROFILED_CAUSES]; /* images */
	uint64_t ends[WIRE_END_COUNT]; /* weight of samples, by how their stacks ended */
};

static inline void wire_counters_add(struct wire_counters *sum, const struct wire_counters *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	for (unsigned i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

/* Copy the counters that @slot has; the others in @out are unchanged. */
static inline void wire_counters_of_slot(struct wire_counters *out, const struct wire_slot *slot)
{
#define COUNTER_SLOT(name, message, hint) \
	out->name = __atomic_load_n(&slot->name, __ATOMIC_RELAXED);
#include "libprof/wire_counters.def"
}

/* Copy the counters that @arena has; the others in @out are unchanged. */
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
	WIRE_RING_ENDED = 2, /* its thread ended; FREE once drained and its end read */
};

/*
 * A ring is a list of blocks of the pool. Its thread claims a block when a record does not fit into
 * the rest of the current one. The reader frees the blocks that it has drained, and the newest one,
 * too, if no record is being written. So a thread that was not sampled since the last drain has no
 * block.
 *
 *   first ─▶ | record | record | .... |─next─▶ | record | record |              |
 *                                     end                        ▲ head
 *
 * `head` is one word: the newest block and how far it is written, or 0 for no block. Only the
 * thread changes it, with one exception: the reader sets it from a drained block to 0 by
 * compare-and-swap. Therefore the thread, too, sets WIRE_HEAD_WRITING by compare-and-swap before it
 * writes.
 */
#define WIRE_HEAD_WRITING     (1ULL << 63) /* a record is being written, or torn */
#define WIRE_HEAD(block, end) ((uint64_t)((block) + 1) << 32 | (uint32_t)(end))
#define WIRE_HEAD_BLOCK(head) ((uint32_t)((head) >> 32 & 0x7fffffff) - 1) /* head not 0 */
#define WIRE_HEAD_END(head)   ((uint32_t)(head))

struct wire_ring {
	uint64_t owner; /* image (62 bits) << 2 | enum wire_ring_state; by CAS */
	uint32_t slot;
	uint32_t thread; /* number within the image, from 1; not reused */
	uint32_t tid;
	uint32_t first; /* block + 1; stored before head becomes non-zero */
	uint64_t start_ns;
	char comm[WIRE_COMM_BYTES]; /* read at its start and end, perhaps in between */
	uint64_t exit_credit; /* due, not delivered when the process left; on the last stack */
	uint64_t end_cpu_ns;  /* CPU time of the thread when it or the process ended, else 0 */
	uint64_t head;	      /* atomic, stored with release */
	uint64_t written;     /* bytes committed by this owner so far; written by the thread */
	uint64_t end_ns;      /* CLOCK_MONOTONIC of the thread's end, else 0 */
	uint32_t has_event;   /* atomic, by flamerun: a perf event may signal the thread */
	uint32_t pad0;
	uint64_t pad1[4];
	uint64_t taken; /* bytes of `written` that were freed; written by the reader */
	uint64_t pad2[7];
};

/* The owner and links of one block of the pool. */
struct wire_block {
	uint64_t owner; /* WIRE_BLOCK_OWNER by CAS from 0 (free); reset to 0 only by the reader */
	uint32_t next;	/* next block + 1, 0: none yet; stored with release after `end` */
	uint32_t end;	/* bytes written; valid once `next` is set */
};

/* Names the owner of a block even if its claimer died before linking it into the ring's list. */
#define WIRE_BLOCK_OWNER(image, ring) ((uint64_t)(image) << 12 | ((uint64_t)(ring) + 1))

#define WIRE_RECORD_MAX (sizeof(struct wire_sample) + 8 * WIRE_MAX_DEPTH)

/* Head of a record in a sample ring; `frames` words follow, innermost first. */
struct wire_sample {
	uint32_t bytes;	  /* of the whole record, a multiple of 8 */
	uint32_t thread;  /* the ring's thread number when it was written */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t weight;
	uint16_t frames; /* 0 with WIRE_KIND_CREDIT: on the thread's previous stack, if any */
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
 * Header of a control record. A writer reserves bytes by compare-and-swap on control_head, writes
 * the body, then stores `word` with release. The reader reads up to the first record whose word is
 * 0, zeroes what it has read, and advances the tail.
 */
struct wire_control {
	uint32_t word;	   /* bytes << 8 | enum wire_control_type; bytes is a multiple of 8 */
	uint32_t reserved; /* bytes, stored first: the length of the hole if the writer is killed */
};

#define WIRE_BUILD_ID_MAX 32

struct wire_module {
	struct wire_control control;
	uint32_t number; /* as in frames */
	uint32_t build_id_bytes;
	uint64_t start; /* mapped addresses */
	uint64_t end;
	uint64_t bias;
	uint64_t time_ns; /* CLOCK_MONOTONIC, first seen */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t flags;	     /* WIRE_MODULE_* below */
	uint32_t path_bytes; /* path follows, NUL included; "" is the program itself */
	char path[];
};
#define WIRE_MODULE_MAIN   1u
#define WIRE_MODULE_VDSO   2u
#define WIRE_MODULE_MAPPED 8u /* by flamerun: mapped by the program; its frames have no module */
#define WIRE_MODULE_SELF   4u /* this library: its wrapper frames are left out of stacks */

/* Announces generated code; written before the first sample in it. */
struct wire_code {
	struct wire_control control;
	uint64_t space; /* code-space address of its first byte */
	uint64_t bytes;
	uint64_t start;	     /* its address in memory */
	uint32_t flags;	     /* WIRE_CODE_* */
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};
#define WIRE_CODE_HIDES_TARGET 2u /* leave out the frame directly above its own */

/*
 * Announces a function of a virtual machine's language, which has no code, at an address of the
 * code space.
 */
struct wire_function {
	struct wire_control control;
	uint64_t space; /* code-space address */
	uint32_t line;	/* 0: none */
	uint32_t flags; /* WIRE_FUNCTION_* */
	uint32_t name_bytes;
	uint32_t file_bytes; /* name, then file follow, each with its NUL; file "": unknown */
	char name[];
};
#define WIRE_FUNCTION_ROOT 1u /* root of a machine's stacks, not a function */
/*
 * A function of a language whose runtime the library reads in memory (runtime/runtime.h). It has a
 * range of the code space, one address per line: the offset is line - first line. The range's last
 * address stands for every other line.
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

/* Returns the frame at @line (0: unknown) of the function at @space whose first line is @first. */
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

/* A mark that the program set with flameprof_mark(). */
struct wire_mark {
	struct wire_control control;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};

/* ---- geometry -------------------------------------------------------------------------------- */
/*
 * A starting process claims a slot and mostly the ring of the same number, so they share a page.
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

/* The arena takes at most 1/16 of a limited address space (RLIMIT_AS). */
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

/* Copy @bytes from the arena. The fence keeps the compiler from a second read after the check. */
static inline void wire_copy(void *out, const void *from, size_t bytes)
{
	memcpy(out, from, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Note in @hint that @index is free. A claimer sets the hint behind the index that it took. */
static inline void wire_hint(uint32_t *hint, uint32_t index)
{
	if (index < __atomic_load_n(hint, __ATOMIC_RELAXED))
		__atomic_store_n(hint, index, __ATOMIC_RELAXED);
}

/* Returns one past the highest slot (or ring) ever claimed: where a scan can end. */
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
 * Returns the number of blocks with which @cpus CPUs lose nothing for half a second without a
 * reader, at @rate_hz and 100 frames per stack: the bytes of all samples, and one partly used block
 * for each thread that may have had a sample. Unclaimed blocks cost no memory.
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

/* Does a slot in @state belong to an image, whether or not the image has ended? */
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
