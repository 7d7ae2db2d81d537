/* SPDX-License-Identifier: MIT */
/*
 * What the target and flamerun say to each other: the arena both map. Nothing here allocates, locks
 * or calls anything. Reading it is wire_control.h and wire_drain.h.
 *
 * Everything in the arena can be written by any process of the run at any time. Whoever reads
 * copies a value out once, by an atomic load or wire_copy(), then checks the copy; no index, size
 * or string from here is trusted, flamerun's or the library's.
 *
 * The arena, one sealed memfd made by flamerun:
 *
 *   +0            struct wire_arena           header: settings, counters
 *   SLOTS_OFFSET  struct wire_slot  [SLOTS]   one per process image
 *   behind them   struct wire_ring  [RINGS]   one per sampled thread, two beside each slot
 *   BLOCKS_OFFSET struct wire_block [BLOCKS]  who has which block of the pool
 *   CONTROL_..    WIRE_CONTROL_BYTES per slot: module records, many writers
 *   POOL_OFFSET   arena.blocks times WIRE_BLOCK_BYTES: sample records, one writer per block
 *
 * Who reads: one reader for the life of the arena, flamerun's collector, or the worker of a process
 * that profiles itself. It takes records out of the rings of living and dead processes alike.
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
 * Bits of the cookie, for what changes how a program runs: it is sampled by `clock_hz`, perf events
 * of flamerun's signal its threads, samples of time in the kernel say so. They are not in the
 * arena, because every process of the run can write to that, and nobody can change another
 * process's environment.
 *
 * The clock is for tests alone: samples come at `clock_hz` of elapsed time, so that a test knows
 * how many there will be. It is in the shipped library, behind a hidden option of flamerun's,
 * because a library built for tests would not be the one that people run.
 */
#define WIRE_COOKIE_ELAPSED 1ULL
#define WIRE_COOKIE_EVENTS  2ULL
#define WIRE_COOKIE_KERNEL  4ULL /* with the one before */
#define WIRE_COOKIE_BITS    7ULL
/* A signal of ring i's event names this descriptor of flamerun's plus i. */
#define WIRE_EVENT_DESCRIPTOR 3072
#define WIRE_EVENT_RESTS_MAX  32u
#define WIRE_RATE_MAX_HZ    10000u

/*
 * The signal that samples come by, unless the user chose another. Few programs use SIGVTALRM:
 * SIGPROF belongs to their own profilers, gdb stops at SIGSTKFLT, SIGURG is Go's and PostgreSQL's,
 * real-time signals are .NET's and Java's and may overflow a queue.
 */
#define WIRE_SIGNAL SIGVTALRM

/*
 * May samples come by @signal? Not by one that the kernel sends for an error in the code or to stop
 * a process, nor by those that libc keeps for itself.
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

#define WIRE_SLOTS          512
#define WIRE_RINGS          1024
#define WIRE_CLAIMS	    512
/* Frames of a stack. Garbage collection in cc1plus recurses past 1024 in 1.4 % of its samples. */
#define WIRE_MAX_DEPTH      4096u
#define WIRE_CONTROL_BYTES  32768u
#define WIRE_BLOCK_BYTES    65536u
#define WIRE_BLOCKS_MAX     4096u
#define WIRE_BLOCKS_MIN     512u /* for stacks of thousands of frames */
#define WIRE_PAGE           4096u
#define WIRE_COMM_BYTES     16
#define WIRE_EXE_BYTES      256

/* ---- a frame in 64 bits ----------------------------------------------------------------------
 *
 *   63          62..48         47..0
 *   found by    module number  address: in module 0 the address itself (JIT code, no module),
 *   frame ptr                  else the ELF virtual address (address - load bias)
 *
 * The address is the one to look up: already the call instruction (pc - 1) for callers.
 */
#define WIRE_FRAME_BY_FP       (1ULL << 63)
#define WIRE_FRAME_MODULE(f)   ((unsigned)((f) >> 48) & 0x7fffu)
#define WIRE_FRAME_ADDRESS(f)  ((f) & 0xffffffffffffULL)
#define WIRE_FRAME(module, address) \
	(((uint64_t)(module) << 48) | ((uint64_t)(address) & 0xffffffffffffULL))
#define WIRE_MODULE_NONE  0u      /* no module: JIT or anonymous code */
/*
 * Numbers 1 to MAX, which is 32,764, are generations of modules, never reused in an image. They are
 * the format's limit. Of them the library gives out the lowest, 4,096 at most (sampler/modules.c),
 * and flamerun the highest, downwards, to files that only the program itself mapped
 * (cli/gather/maps.c). In a process that is sampled from outside the tracer alone gives them out.
 */
#define WIRE_MODULE_MAX   0x7ffcu
/* The kernel's code, by its address, of which the upper 16 bits are ones. flamerun's own. */
#define WIRE_MODULE_KERNEL 0x7ffdu
/*
 * Generated code whose owner announced it. The address is one in the code space: every piece of
 * code is given a stretch of its own there, never given twice, wherever it lies and whatever lay
 * there before. So a name holds for the whole run and needs no time. A struct wire_code tells it.
 */
#define WIRE_MODULE_CODE  0x7ffeu
#define WIRE_MODULE_OVER  0x7fffu /* its writer had no number left for the module: unnamed */
/* Not a place in code: the innermost frame of credit whose stack was never seen. */
#define WIRE_FRAME_UNSAMPLED WIRE_FRAME(WIRE_MODULE_OVER, 1)
/*
 * Nor are these, of flamerun's own: what the kernel did before an image's first instruction, after
 * its last, and after those of children that it cannot tell apart. Exec and the dynamic linker use
 * CPU time before any timer of ours can exist. It is credited and not counted as lost: the
 * process's clock tells how much it was, and what is less than a period is carried over from image
 * to image, so that it adds up where a run has thousands of short processes.
 */
#define WIRE_FRAME_EXEC	     WIRE_FRAME(WIRE_MODULE_OVER, 2)
#define WIRE_FRAME_EXIT	     WIRE_FRAME(WIRE_MODULE_OVER, 3)
#define WIRE_FRAME_EXIT_OF_CHILDREN WIRE_FRAME(WIRE_MODULE_OVER, 4)
/* A handler of the program's in which nobody could look. */
#define WIRE_FRAME_SIGNAL_HANDLER WIRE_FRAME(WIRE_MODULE_OVER, 5)
/* Above the frame that entered the kernel, with WIRE_COOKIE_KERNEL: the thread was in there. */
#define WIRE_FRAME_IN_KERNEL WIRE_FRAME(WIRE_MODULE_OVER, 6)
/* A kernel thread that does io_uring's work for the process. Only flamerun makes this frame. */
#define WIRE_FRAME_IO_WORKER WIRE_FRAME(WIRE_MODULE_OVER, 7)
/*
 * The leaf of a thread that waits, flamerun's own, too: the number of the system call that it waits
 * in, or a reason beyond those, and what sort of file that is about. Bits 24 to 46 may number a
 * text that tells more, which a RECORD_CODE has for the address.
 *
 *   47   46..24   23..16         15..0
 *   1    text     enum wire_sort system call, or WIRE_WAIT_*
 */
#define WIRE_WAIT_BIT (1ULL << 47)
#define WIRE_FRAME_WAIT(call, sort) \
	WIRE_FRAME(WIRE_MODULE_OVER, WIRE_WAIT_BIT | (uint64_t)(sort) << 16 | ((call) & 0xffff))
#define WIRE_WAIT_CALL(frame)	   ((unsigned)(frame) & 0xffffu)
#define WIRE_WAIT_SORT(frame)	   ((unsigned)((frame) >> 16) & 0xffu)
#define WIRE_WAIT_TEXT(n)	   (((uint64_t)(n) & 0x7fffff) << 24)
#define WIRE_WAIT_CALLS_MAX 0xfff0u /* a system call has a number below it */
#define WIRE_WAIT_UNKNOWN   0xffffu /* what it is nobody saw */
#define WIRE_WAIT_NO_CPU    0xfffeu /* it is ready to run */
#define WIRE_WAIT_FAULT	    0xfffdu /* no call: a page that is not in memory */
#define WIRE_WAIT_STOPPED   0xfffcu /* by a signal, or held by a tracer */
#define WIRE_WAIT_HOLDER    0xfffbu /* no leaf, see below */

static inline int wire_frame_waits(uint64_t frame)
{
	return WIRE_FRAME_MODULE(frame) == WIRE_MODULE_OVER &&
	       (WIRE_FRAME_ADDRESS(frame) & WIRE_WAIT_BIT) != 0;
}

/*
 * Where it is known who has the lock that a thread waits for, one frame parts two stacks:
 *
 *   leaf | stack of who has the lock | WIRE_FRAME_HOLDER | stack of who waits for it
 *
 * Bits 24 to 46 are the number of the holder's thread, 16 to 23 are the lock's, by which most locks
 * of a process differ. A holder without frames was running: its own samples tell where.
 */
#define WIRE_FRAME_HOLDER(thread, lock) \
	(WIRE_FRAME_WAIT(WIRE_WAIT_HOLDER, (lock) & 0xff) | WIRE_WAIT_TEXT(thread))
#define WIRE_HOLDER_THREAD(frame) ((uint32_t)((frame) >> 24) & 0x7fffffu)

static inline int wire_frame_holds(uint64_t frame)
{
	return wire_frame_waits(frame) && WIRE_WAIT_CALL(frame) == WIRE_WAIT_HOLDER;
}

static inline uint64_t wire_kernel_address(uint64_t frame)
{
	return 0xffffULL << 48 | WIRE_FRAME_ADDRESS(frame);
}

/* How a stack ended. */
enum wire_end {
	WIRE_END_ROOT = 0,  /* return address undefined, or a thread's start: complete */
	WIRE_END_DEPTH = 1, /* WIRE_MAX_DEPTH frames and more: the leaf side is kept */
	WIRE_END_LOST = 2,  /* no rule for a pc, or a rule that leads nowhere */
	WIRE_END_MEMORY = 3, /* the stack could not be read */
	WIRE_END_COUNT
};

enum wire_kind {
	WIRE_KIND_CPU = 0,    /* on the CPU when the timer expired */
	WIRE_KIND_CREDIT = 1, /* due but never delivered; on the last stack, or no stack at all */
	WIRE_KIND_WAIT = 2,   /* off it, on a stack whose leaf is a WIRE_FRAME_WAIT */
	/* Elapsed time, with the stack a virtual machine told, outermost a WIRE_FUNCTION_ROOT or
	 * native frames. No part of what CPU clocks count. */
	WIRE_KIND_VM = 3,
	/* No time at all: what the kernel was seen to do, WIRE_MODULE_KERNEL frames above the stack
	 * that it did it for. flamerun's own. */
	WIRE_KIND_LOOK = 4,
	WIRE_KIND_COUNT
};

/* Causes, and which text each has: wire_counters.def. */
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
	uint32_t rate_hz;     /* flamerun writes before the fork */
	uint32_t start_paused; /* processes record nothing until they say so */
	uint32_t is_looked_at; /* somebody wants to know when threads end */
	/* Proves that an opened descriptor is this run's arena; WIRE_COOKIE_* where it is so. */
	uint64_t cookie;
	uint32_t closing;     /* flamerun sets to 1: stop sampling */
	uint32_t signal;      /* that timers and events send, see wire_signal_is_usable() */
	uint32_t clock_hz;    /* test-only clock: CLOCK_MONOTONIC at this rate; 0 = CPU clock */
	uint32_t blocks;      /* in the pool; whoever maps the arena checks it against its size */
	/* Futex, bumped to wake the reader: a ring fills, the pool or the slots run low. */
	uint32_t doorbell;
	uint64_t next_image;  /* atomic: the last image id given out */
	uint32_t slots_high;  /* atomic: one past the highest slot ever claimed */
	uint32_t rings_high;  /* atomic: one past the highest ring ever claimed */
	/* The lowest that may be free: searching from 0 would look at all that are taken, and what
	 * was touched before is used again first. wire_hint(). */
	uint32_t slots_hint;
	uint32_t rings_hint;
	uint32_t blocks_high; /* atomic: one past the highest block ever claimed */
	uint32_t blocks_hint;
	uint32_t forks_begun; /* atomic: by the parents; more than arrived: a child is on its way */
	uint32_t forks_arrived; /* atomic: by the children, whether or not they found a slot */
	/* Losses that have no slot to be counted in; atomic, only ever grow. */
#define COUNTER_ARENA(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	uint32_t unprofiled[WIRE_UNPROFILED_CAUSES]; /* atomic: images by cause; 0 is unused */
	uint32_t filters; /* seccomp filters that flamerun is under, and everybody with it */
	/* With WIRE_COOKIE_EVENTS: what an event's signal stands for, of time in user mode; and how
	 * often as long as a handler took none is to do anything after it. */
	uint32_t event_period_ns;
	uint32_t event_rests;
	/* Atomic: slots that were ever claimed, by the pid's rest: an image may come and go between
	 * two looks at the slots. */
	uint8_t claims[WIRE_CLAIMS];
};

/* ---- process slots --------------------------------------------------------------------------- */
/*
 * Who changes a slot's state, from what to what:
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
	WIRE_SLOT_CLAIMED = 1, /* being filled in by the pid in the upper half of the word */
	WIRE_SLOT_LIVE = 2,
	WIRE_SLOT_EXEC = 3, /* about to exec */
	WIRE_SLOT_EXIT = 4, /* its exit was seen from inside; may still run for a while */
	/* What runs there now does so without us: from EXEC, by flamerun, when it is another
	 * program; from EXIT, by an image that quit. */
	WIRE_SLOT_GONE = 5,
};

struct wire_slot {
	uint64_t state;      /* pid << 8 | enum wire_slot_state, which tells who changes it */
	uint64_t image;      /* unique in the run */
	uint64_t parent_image; /* the forking image, 0 for an exec'd one */
	uint32_t pid;        /* as the process sees itself */
	uint32_t ppid;
	uint32_t namespaced; /* pid means nothing to flamerun */
	uint64_t image_at;   /* where the process has its image's number: no other has it there */
	uint32_t signal; /* that samples its threads; 0: its default action happens now */
	uint32_t is_displaced; /* at its end the signal had another handler than ours */
	uint32_t timer_error; /* the errno of the last thread that got no timer, else 0 */
	uint64_t start_ns;   /* CLOCK_MONOTONIC */
	uint64_t start_cpu_ns; /* CPU time the process had used when its first thread was armed */
	uint64_t end_ns;     /* CLOCK_MONOTONIC, when it left (EXEC, EXIT), else 0 */
	uint64_t end_cpu_ns; /* CPU time of the process when it left (EXEC, EXIT), else 0 */
	/* CPU time of its threads from each one's arming on: of those that ended (atomic), and of
	 * the others when the process left. */
	uint64_t ended_threads_ns;
	uint64_t live_threads_ns;
	/* Of children it had waited for, and of theirs, when it left: CPU time, and the resident
	 * memory of the largest. */
	uint64_t children_ns;
	uint64_t children_kib;
	uint64_t after_leave; /* atomic: weight delivered after that, beyond what was due then */
	uint64_t pause_changed_ns; /* atomic: when is_paused last changed, written before that */
	uint32_t is_paused; /* atomic: nothing is being recorded, or was when it left */
	uint32_t quit;	    /* enum wire_quit: it did not leave, it only ceased to be sampled */
	uint32_t filters; /* atomic: of seccomp, that it has or is about to, as far as it knows */
	uint32_t has_unseen; /* atomic, by flamerun: it has more of them */
	uint32_t no_events; /* atomic: perf events are to be taken from its threads */
	/* Atomic, written by handlers and exit paths of this image. Only control_dropped and
	 * timerless_threads may also decrease: a function's name that is recorded late, and a
	 * thread that becomes a WIRE_QUIT_TIMERS. */
#define COUNTER_SLOT(name, message, hint) uint64_t name;
#include "libprof/wire_counters.def"
	uint64_t signals_max; /* RLIMIT_SIGPENDING when the last thread got no timer */
	/* Threads that ended before a sample of theirs was due, and their CPU time. */
	uint64_t short_threads;
	uint64_t short_ns;
	uint64_t unknown_runtimes; /* a set, of runtime_bit(): not laid out as any that is known */
	uint64_t control_head; /* atomic: reserved up to here */
	uint64_t control_tail; /* the reader writes */
	char exe[WIRE_EXE_BYTES]; /* AT_EXECFN, NUL-terminated, cut at the front when longer */
	char comm[WIRE_COMM_BYTES];
};

/* ---- counters of a run ----------------------------------------------------------------------- */
/* All counters of wire_counters.def: of one image, of a whole run, or of several runs. */
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

/* Set the counters that @slot has; the others stay. */
static inline void wire_counters_of_slot(struct wire_counters *out, const struct wire_slot *slot)
{
#define COUNTER_SLOT(name, message, hint) \
	out->name = __atomic_load_n(&slot->name, __ATOMIC_RELAXED);
#include "libprof/wire_counters.def"
}

/* Set the counters that @arena has; the others stay. */
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
	WIRE_RING_ENDED = 2, /* its thread ended; FREE again once drained, or told of */
};

/*
 * A ring is a list of blocks of the pool. Its thread claims a block when it has a record and none
 * to put it in, or when the record does not fit what is left of its block; the reader gives back
 * what it has drained, the newest block, too, when nobody writes to it. A thread that was not
 * sampled since the last look has no block.
 *
 *   first ─▶ | record | record | .... |─next─▶ | record | record |              |
 *                                     end                        ▲ head
 *
 * head is one word: the newest block and how far it is written, or 0 for none. The thread alone
 * changes it, but for the reader's step from a drained block to none, by compare-and-swap: the
 * thread sets WIRE_HEAD_WRITING by compare-and-swap, too, before it writes.
 */
#define WIRE_HEAD_WRITING     (1ULL << 63) /* still set after a kill: a record is torn */
#define WIRE_HEAD(block, end) ((uint64_t)((block) + 1) << 32 | (uint32_t)(end))
#define WIRE_HEAD_BLOCK(head) ((uint32_t)((head) >> 32 & 0x7fffffff) - 1) /* head is not 0 */
#define WIRE_HEAD_END(head)   ((uint32_t)(head))

struct wire_ring {
	uint64_t owner;  /* image << 2 | enum wire_ring_state, by CAS; image is cut to 62 bits */
	uint32_t slot;
	uint32_t thread; /* number within the image, from 1; never reused in it */
	uint32_t tid;
	uint32_t first;  /* block + 1; written before head stops being 0 */
	uint64_t start_ns;
	char comm[WIRE_COMM_BYTES]; /* when it began and ended; in between its handler may look
				       again */
	uint64_t exit_credit; /* due and not delivered when the process left; on the last stack */
	uint64_t end_cpu_ns; /* CPU time of the thread when it ended or the process left, else 0 */
	uint64_t head;    /* atomic, release: see above */
	uint64_t written; /* bytes ever committed by this owner; the thread writes */
	uint64_t end_ns;  /* CLOCK_MONOTONIC, when the thread ended, else 0 */
	uint32_t has_event; /* atomic, by flamerun: a perf event may signal the thread */
	uint32_t pad0;
	uint64_t pad1[4];
	uint64_t taken; /* of these, given back; the reader writes */
	uint64_t pad2[7];
};

/* Of one block of the pool. */
struct wire_block {
	uint64_t owner; /* WIRE_BLOCK_OWNER by CAS from 0, free; 0 again by the reader alone */
	uint32_t next;  /* block + 1 that the ring goes on with, 0: none yet; release, after end */
	uint32_t end;   /* how far it is written, once there is a next one */
};

/* Tells a block whose claimer died before it was in the list from others. */
#define WIRE_BLOCK_OWNER(image, ring) ((uint64_t)(image) << 12 | ((uint64_t)(ring) + 1))

#define WIRE_RECORD_MAX (sizeof(struct wire_sample) + 8 * WIRE_MAX_DEPTH)

/* A record in a sample ring: this, then frames (innermost first). */
struct wire_sample {
	uint32_t bytes; /* whole record, a multiple of 8 */
	uint32_t thread; /* the ring's thread number when it was written */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t weight;
	uint16_t frames; /* 0 with WIRE_KIND_CREDIT: on the thread's previous stack, if any */
	uint8_t kind;    /* enum wire_kind */
	uint8_t end;     /* enum wire_end */
};

/* ---- control records ------------------------------------------------------------------------- */
enum wire_control_type {
	WIRE_CONTROL_PAD = 1, /* to the end of the ring */
	WIRE_CONTROL_MODULE = 2,
	WIRE_CONTROL_CODE = 3,
	WIRE_CONTROL_MARK = 4,
	WIRE_CONTROL_FUNCTION = 5,
};

/*
 * Many writers: reserve bytes by CAS on control_head, write the body, then store `word` with
 * release. flamerun reads up to the first record whose word is 0, zeroes what it took, advances
 * the tail.
 */
struct wire_control {
	uint32_t word; /* bytes << 8 | enum wire_control_type; bytes is a multiple of 8 */
	uint32_t reserved; /* bytes, written first: how long a hole is whose writer was killed */
};

#define WIRE_BUILD_ID_MAX 32

struct wire_module {
	struct wire_control control;
	uint32_t number; /* as in frames */
	uint32_t build_id_bytes;
	uint64_t start;  /* mapped range */
	uint64_t end;
	uint64_t bias;
	uint64_t time_ns; /* first seen */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t flags; /* WIRE_MODULE_* below */
	uint32_t path_bytes; /* path follows, NUL included; "" is the program itself */
	char path[];
};
#define WIRE_MODULE_MAIN 1u
#define WIRE_MODULE_VDSO 2u
#define WIRE_MODULE_MAPPED 8u /* flamerun's: mapped by the program, frames there have no module */
#define WIRE_MODULE_SELF 4u /* this library: its wrappers are no part of the program's stacks */

/* Generated code, announced before the first sample in it. */
struct wire_code {
	struct wire_control control;
	uint64_t space; /* WIRE_MODULE_CODE address of its first byte */
	uint64_t bytes;
	uint64_t start; /* where it lies in memory */
	uint32_t flags; /* WIRE_CODE_* */
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};
#define WIRE_CODE_HIDES_TARGET 2u /* the frame above its own is to be left out */

/* A function of a virtual machine's language: no code, but one place in the code space. */
struct wire_function {
	struct wire_control control;
	uint64_t space; /* WIRE_MODULE_CODE address */
	uint32_t line;	/* 0: none */
	uint32_t flags; /* WIRE_FUNCTION_* */
	uint32_t name_bytes;
	uint32_t file_bytes; /* name, then file follow, each with its NUL; "": no file */
	char name[];
};
#define WIRE_FUNCTION_ROOT 1u /* stands above a machine's stacks and is none of its functions */
/*
 * A function of a language whose runtime is read where it lies (runtime/runtime.h). It has a
 * stretch of the code space for its lines: the address of one is how far it is behind the first;
 * the last stands for any other.
 *
 *	47  46  45       44..16  15..0
 *	0   1   outside  number  line - first line
 */
#define WIRE_FUNCTION_LINES 4u
#define WIRE_LANGUAGE_BIT     (1ULL << 46)
#define WIRE_LANGUAGE_OUTSIDE (1ULL << 45) /* flamerun gave the number */
#define WIRE_LANGUAGE_LINES   (1ULL << 16)
#define WIRE_LANGUAGE_NUMBERS (1ULL << 29)

static inline int wire_frame_is_language(uint64_t frame)
{
	return WIRE_FRAME_MODULE(frame) == WIRE_MODULE_CODE &&
	       (frame & (WIRE_WAIT_BIT | WIRE_LANGUAGE_BIT)) == WIRE_LANGUAGE_BIT;
}

/* The frame of the function at @space, whose first line is @first, at @line; 0: not known. */
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

/* Something the program wants to be remembered. */
struct wire_mark {
	struct wire_control control;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t name_bytes; /* name follows, NUL included */
	char name[];
};

/* ---- geometry -------------------------------------------------------------------------------- */
/*
 * A process that begins claims a slot and a ring, mostly of the same number: they share a page.
 *
 *   +0                     +RING_PLACE                 +SLOT_STRIDE
 *   | struct wire_slot ... | ring i | ring i + SLOTS | |
 */
#define WIRE_SLOT_STRIDE    1024u
#define WIRE_RING_PLACE     640u
#define WIRE_SLOTS_OFFSET   WIRE_PAGE
#define WIRE_BLOCKS_OFFSET  (WIRE_SLOTS_OFFSET + WIRE_SLOTS * WIRE_SLOT_STRIDE)
#define WIRE_CONTROL_OFFSET \
	(WIRE_BLOCKS_OFFSET + WIRE_BLOCKS_MAX * (unsigned)sizeof(struct wire_block))
#define WIRE_POOL_OFFSET    (WIRE_CONTROL_OFFSET + (uint64_t)WIRE_SLOTS * WIRE_CONTROL_BYTES)

/* A limit on the address space is the program's to use up: the arena takes at most this part. */
#define WIRE_ARENA_SHARE 16

_Static_assert(sizeof(struct wire_slot) <= WIRE_RING_PLACE, "a slot ends before the rings");
_Static_assert(WIRE_RING_PLACE + WIRE_RINGS / WIRE_SLOTS * sizeof(struct wire_ring) <=
		       WIRE_SLOT_STRIDE, "its rings end before the next slot");
_Static_assert(sizeof(struct wire_ring) == 192, "ring descriptors keep their shape");
_Static_assert(WIRE_RECORD_MAX <= WIRE_BLOCK_BYTES, "a block holds the largest record");
_Static_assert(WIRE_RINGS < 1u << 12, "a ring's number fits beside an image's");
_Static_assert(WIRE_POOL_OFFSET % WIRE_PAGE == 0, "blocks begin on pages");
_Static_assert(sizeof(struct wire_sample) == 24, "sample header");

/* What was copied is what is checked: the compiler must not look at the arena once more. */
static inline void wire_copy(void *out, const void *from, size_t bytes)
{
	memcpy(out, from, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Number @index is free again. Who takes one sets the hint behind it. */
static inline void wire_hint(uint32_t *hint, uint32_t index)
{
	if (index < __atomic_load_n(hint, __ATOMIC_RELAXED))
		__atomic_store_n(hint, index, __ATOMIC_RELAXED);
}

/* How many slots and rings, from the first, were ever claimed: others are not worth a look. */
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
 * How many blocks let @cpus CPUs lose nothing for half a second without a reader, at @rate_hz and
 * 100 frames a stack: what all samples take together, and the rest of a block for each thread that
 * may have had one of them. Blocks that nobody claims are never touched.
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
