/* SPDX-License-Identifier: MIT */
/*
 * Processes that are sampled from outside (targets), with the modules that are mapped in them, and
 * their traced threads (tracees), by thread id.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_TARGET_H
#define CLI_OUTSIDE_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/gather/maps.h"
#include "cli/gather/pipe_record.h"
#include "cli/outside/object.h"
#include "libprof/procfs.h"
#include "libprof/unwind/unwind.h"

struct target_language;

/* A stretch of code that belongs to an object. */
struct target_range {
	uintptr_t start, end, bias;
	const struct object *object;
	/* a runtime was searched for, and found or not */
	bool is_searched;
	uint32_t asked;	  /* how often find_runtime() was called */
	uint32_t runtime; /* as in struct unwind_module */
};

/* Above the module numbers that the library gives out, and far below those of cli/gather/maps.c. */
#define TARGET_FIRST_MODULE 4096u

struct target {
	struct target *next;
	pid_t pid;
	uint64_t image;	     /* as in the records */
	/* of the arena, where a library in it has one */
	uint32_t slot;
	bool has_other_tids; /* it is in another PID namespace */
	/* Added to module numbers: TARGET_FIRST_MODULE if a library in it gives out some, or 0. */
	uint32_t first_module;
	uint64_t start_ns;     /* of sampling, CLOCK_MONOTONIC */
	/* CPU time of the process that belongs to earlier images */
	uint64_t start_cpu_ns;
	uint64_t cpu_ns;       /* CPU time at the last check */
	uint64_t counted_ns;   /* CPU time that is in samples */
	/* when to search for threads that are not attached */
	uint64_t scan_ns;
	uint64_t mapped_ns;    /* when the mappings were last read */
	/* highest address of the main thread's stack, 0: unknown */
	uintptr_t stack_top;
	/* bytes of a stack that are copied for a sample */
	size_t stack_bytes;
	/* walks continue on another stack, which a copy does not hold */
	bool has_other_stacks;
	/* /proc/PID/mem, opened before the process may forbid it; or -1 */
	int memory;
	uintptr_t vdso;	       /* its start address, 0: it has none */
	/* Runtimes in it of unknown versions: bits of runtime_bit(). */
	uint32_t unknown_runtimes;
	/* It is not counted: it has not exec'd yet, or the library has appeared in it. */
	bool is_waiting;
	/* it used no CPU time since the last check */
	bool is_idle;
	unsigned threads;      /* number of traced threads */
	unsigned waiting;      /* number of threads with WAY_WAITING */
	/* why it can have no timers; NULL: no reason is known */
	const char *stops_why;
	/* it was reported that its threads block the timers' signal */
	bool is_blocking;
	/* timers of threads that have ended; owned */
	int *dead;
	unsigned dead_count, dead_room;
	/* when a thread last stopped by itself, or was asked to */
	uint64_t sampled_ns;
	/* sampling is over and its timers have been deleted */
	bool is_left;
	/* wire_arena.next_image when the arena was last searched for it */
	uint64_t arena_images;
	struct maps maps;
	struct target_range *ranges; /* by address */
	unsigned range_count;
	/* owned; NULL: no runtime was found in it */
	struct target_language *language;
	/* number of walks that ended in code of no module */
	uint32_t sought;
	uint8_t announced[(WIRE_MODULE_MAX + 8) / 8]; /* bit n: module number n was recorded */
};

/* What all targets share. */
struct target_shared {
	struct objects objects;
	struct pipe_writer *pipe_writer; /* borrowed */
	/* the last image number that was given out */
	uint64_t images;
	/* CPU time that searching for threads in runtimes took, and may take; 0: no limit. */
	uint64_t search_ns, search_max_ns;
};

/* Returns an owned target for @pid, or NULL without memory. Reads nothing of the process. */
struct target *target_new(pid_t pid);
void target_free(struct target *target); /* NULL is fine */

/*
 * Record a new image of @target, at the start and after an exec.
 *
 * @parent	  number of the image that it was forked from, or 0
 * @start_cpu_ns  CPU time of the process that belongs to earlier images
 */
void target_announce(struct target *target, struct target_shared *shared, uint64_t parent,
	uint64_t start_cpu_ns);

/* Read the mappings again. Opens new files, so call it while no thread is stopped. */
void target_remap(struct target *target, struct target_shared *shared);

/*
 * Find the module that contains @pc, and record it if that has not been done.
 *
 * @out	   gets the module
 * @object  if not NULL, gets its file
 *
 * Returns 0, or -ENOENT.
 */
int target_find(struct target *target, struct target_shared *shared, uintptr_t pc,
	struct unwind_module *out, const struct object **object);

/* Record the end of @target's image or of its sampling, with its CPU time. */
void target_end(
	struct target *target, struct target_shared *shared, bool has_ended, bool left_by_exec);

/* Bytes of a stack that are copied for the first sample of a process. */
#define TARGET_STACK_BYTES (64u << 10)

/*
 * Timers of ended threads are deleted when timers are made for other threads, or when there are
 * this many.
 */
#define TARGET_DEAD_MAX 16u

/* How a thread is sampled. */
enum way {
	WAY_NONE,    /* not at all: it is new, or has ended */
	/* not yet: it gets a timer at the next stop of a thread of its process */
	WAY_WAITING,
	WAY_TIMER,   /* at stops by its CPU timer (cpu_timer.h) */
	/* at stops that the tracer asks for, because it can have no timer */
	WAY_STOPS,
	/* not at all: it only runs in the kernel, for io_uring or vhost */
	WAY_WORKER
};

/* A stack that was walked before its sample was due. */
struct target_stack {
	uint64_t cpu_ns; /* CPU time of the thread at the walk */
	enum wire_end end;
	unsigned count;
	uint64_t frames[];
};

struct tracee {
	struct tracee *next; /* in the same bucket */
	pid_t tid;
	struct target *target;	  /* borrowed */
	/* descriptors of /proc/PID/task/TID/schedstat and stat, or -1 */
	int clock, stat;
	struct procfs_clock used; /* CPU time at the last update */
	enum way way;
	/* the kernel's number of its timer, -1: it has none */
	int timer;
	struct procfs_stat seen;    /* state and ticks at the last check */
	/* its CPU time when its kernel ticks last grew */
	uint64_t user_since_ns;
	/* it was asked to stop and has not stopped yet */
	bool is_asked;
	/* it is new, and can make its timer at its first stop */
	bool is_born;
	/* its process was stopped, for example by SIGSTOP */
	bool was_stopped;
	/* the last check found that it blocks its timer's signal */
	bool is_blocking;
	uint64_t counted_ns;	    /* CPU time when it was last counted */
	/* CPU time that did not make a whole sample then */
	uint64_t due_ns;
	/* weight of samples without a stack, not recorded yet */
	uint32_t credit;
	uintptr_t runtime_state;    /* for struct runtime_walk; 0 at first */
	/* owned; stack of the next sample, or NULL */
	struct target_stack *early;
	bool is_announced;	    /* its name has been recorded */
};

#define TRACEES_BUCKETS 1024u

struct tracees {
	struct tracee *bucket[TRACEES_BUCKETS];
	unsigned count;
};

/* Returns the tracee with thread id @tid, or NULL. */
struct tracee *tracees_find(const struct tracees *tracees, pid_t tid);

/* Add thread @tid of @target. Returns its tracee, or NULL without memory. */
struct tracee *tracees_add(struct tracees *tracees, pid_t tid, struct target *target);

/* Update tracee->used. Returns the thread's CPU time. */
uint64_t tracees_update(struct tracee *tracee);

/*
 * Count the CPU time that @tracee used since it was last counted. Returns the number of whole
 * periods of @period_ns; the remainder stays in tracee->due_ns.
 */
uint32_t tracees_count(struct tracee *tracee, uint64_t period_ns);

/* Update tracee->seen. Returns 0, or -errno if the thread has ended. */
int tracees_read_stat(struct tracee *tracee);

/* Is it a worker of io_uring or vhost, which only runs in the kernel? Updates tracee->seen. */
bool tracees_is_worker(struct tracee *tracee);

/* Remove and free @tracee. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);

void tracees_release(struct tracees *tracees);

/*
 * Returns the tracee after @tracee, the first one after NULL, or NULL at the end. Removing a tracee
 * does not change the order of the others.
 */
struct tracee *tracees_next(const struct tracees *tracees, const struct tracee *tracee);

#endif
