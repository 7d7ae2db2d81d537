/* SPDX-License-Identifier: MIT */
/*
 * Processes that are sampled from outside (targets), with the modules that are mapped in them, and
 * their traced threads (tracees). Tracees are found by thread id.
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

/* A code mapping, and the object (ELF file) that is mapped there. */
struct target_range {
	uintptr_t start, end, bias;
	const struct object *object;
	/* find_runtime() has finished; `runtime` is its result. */
	bool is_searched;
	uint32_t asked;	  /* number of calls of find_runtime() */
	uint32_t runtime; /* as in struct unwind_module */
};

/*
 * First module number in a target that has the library. It is above the numbers that the library
 * assigns, and far below those of cli/gather/maps.c.
 */
#define TARGET_FIRST_MODULE 4096u

struct target {
	struct target *next;
	pid_t pid;
	uint64_t image; /* its number in records */
	/* Index of the target's slot in the arena, if the library is in the target. */
	uint32_t slot;
	bool has_other_tids; /* the target is in another PID namespace */
	/*
	 * A module's number is first_module plus the object's number: TARGET_FIRST_MODULE if the
	 * library is in the target, otherwise 0.
	 */
	uint32_t first_module;
	uint64_t start_ns; /* begin, CLOCK_MONOTONIC */
	/* The process's CPU time in ns when this image began, or with -p when sampling began. */
	uint64_t start_cpu_ns;
	uint64_t cpu_ns;     /* CPU time, at last check */
	uint64_t counted_ns; /* CPU time that samples account for */
	/* CLOCK_MONOTONIC ns at which to search next for threads that are not attached. */
	uint64_t scan_ns;
	uint64_t mapped_ns; /* when `maps` was read */
	/* The highest address of the main thread's stack; 0 if unknown. */
	uintptr_t stack_top;
	/* Number of stack bytes to copy for the next sample. */
	size_t stack_bytes;
	/* A walk left the copied stack, so threads must stay stopped during their walks. */
	bool has_other_stacks;
	/* Descriptor of /proc/PID/mem or -1; opened before the process may forbid that. */
	int memory;
	uintptr_t vdso; /* address; 0: none */
	/* Language runtimes of unknown versions in this process: a set of runtime_bit(). */
	uint32_t unknown_runtimes;
	/*
	 * Record nothing for this process now: either it has not exec'd yet (ATTACH_EXEC), or the
	 * library has appeared in it and samples it.
	 */
	bool is_waiting;
	/* The process used no CPU time since the last check. */
	bool is_idle;
	unsigned threads; /* traced threads */
	unsigned waiting; /* number of threads with WAY_WAITING */
	/* Why the process can have no timers; NULL if no reason is known. */
	const char *stops_why;
	/* cpu_timer_refuse() has counted this process for a blocked signal. */
	bool is_blocking;
	/* Timers of ended threads, to be deleted. Owned. */
	int *dead;
	unsigned dead_count, dead_room;
	/* CLOCK_MONOTONIC ns at which a thread was last stopped by its timer or asked to stop. */
	uint64_t sampled_ns;
	/* Sampling has ended, and the process has deleted its timers. */
	bool is_left;
	/* wire_arena.next_image when the arena was last searched for a slot. */
	uint64_t arena_images;
	struct maps maps;
	struct target_range *ranges; /* by address */
	unsigned range_count;
	/* Owned. NULL if no language runtime was found. */
	struct target_language *language;
	/* number of calls of find_modules_nearby() (stackwalk.c) */
	uint32_t sought;
	uint8_t announced[(WIRE_MODULE_MAX + 8) / 8]; /* bit per recorded module */
};

/* Data that all targets share. */
struct target_shared {
	struct objects objects;
	struct pipe_writer *pipe_writer; /* borrowed */
	/* The last image number that was assigned. */
	uint64_t images;
	/* CPU time in ns spent on finding threads in runtimes, and its limit (0: no limit). */
	uint64_t search_ns, search_max_ns;
};

/* Returns an owned target for @pid, or NULL without memory. Does not read from the process. */
struct target *target_new(pid_t pid);
void target_free(struct target *target); /* NULL is fine */

/*
 * Record a new image of @target, at the start of sampling or after an exec. @parent is the number
 * of the image that forked it, or 0. @start_cpu_ns is the process's CPU time in ns that is not
 * counted for this image.
 */
void target_announce(struct target *target, struct target_shared *shared, uint64_t parent,
	uint64_t start_cpu_ns);

/* Read the mappings again. Call this while no thread is stopped: opening files takes time. */
void target_remap(struct target *target, struct target_shared *shared);

/*
 * Find the module that contains @pc, and record it if it was not recorded before. @out gets the
 * module. If @object is not NULL, it gets the module's file. Returns 0, or -ENOENT.
 */
int target_find(struct target *target, struct target_shared *shared, uintptr_t pc,
	struct unwind_module *out, const struct object **object);

/* Record the CPU time of @target when its image ends (@has_ended) or only its sampling ends. */
void target_end(
	struct target *target, struct target_shared *shared, bool has_ended, bool left_by_exec);

/* Bytes of a stack to copy for the first sample of a process. */
#define TARGET_STACK_BYTES (64u << 10)

/*
 * Delete the timers of ended threads as soon as a process has this many of them. With fewer, they
 * are deleted when timers for other threads are made.
 */
#define TARGET_DEAD_MAX 16u

/* How a thread is sampled. */
enum way {
	WAY_NONE, /* not sampled: new or ended */
	/* Not sampled yet: the thread gets a timer when a thread of its process next stops. */
	WAY_WAITING,
	WAY_TIMER, /* by its timer (cpu_timer.h) */
	/* At stops that the tracer asks for, because the thread can have no timer. */
	WAY_STOPS,
	/* Not sampled: a worker of io_uring or vhost, which only runs in the kernel. */
	WAY_WORKER
};

/* A stack that sample_early() walked and kept for the thread's next sample. */
struct target_stack {
	uint64_t cpu_ns; /* thread's, at the walk */
	enum wire_end end;
	unsigned count;
	uint64_t frames[];
};

struct tracee {
	struct tracee *next; /* in the same bucket */
	pid_t tid;
	struct target *target;	  /* borrowed */
	/* Descriptors of /proc/PID/task/TID/schedstat and stat, or -1. */
	int clock, stat;
	struct procfs_clock used; /* at the last update */
	enum way way;
	/* The kernel's number of the thread's timer; -1 if it has none. */
	int timer;
	struct procfs_stat seen; /* at the last check */
	/* CPU time of the thread when /proc last showed an increase of its time in the kernel. */
	uint64_t user_since_ns;
	/* The thread was asked to stop, and has not stopped yet. */
	bool is_asked;
	/* The thread is new and was not stopped yet. Its timer is made at its first stop. */
	bool is_born;
	/* At the last stop, the whole process was stopped, for example by SIGSTOP. */
	bool was_stopped;
	/* The last check found that the thread blocks its timer's signal. */
	bool is_blocking;
	uint64_t counted_ns; /* CPU time counted so far */
	/* The part of counted_ns that no sample contains yet, because it is less than a period. */
	uint64_t due_ns;
	/* Weight (in periods) that the next sample record without a stack will contain. */
	uint32_t credit;
	uintptr_t runtime_state; /* see struct runtime_walk */
	/* Owned stack for the next sample, or NULL. */
	struct target_stack *early;
	bool is_announced; /* RECORD_THREAD written */
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

/* Update tracee->used. Returns the thread's CPU time in ns. */
uint64_t tracees_update(struct tracee *tracee);

/*
 * Count the CPU time that @tracee used since the last count. Returns the number of whole periods of
 * @period_ns; the remainder stays in tracee->due_ns.
 */
uint32_t tracees_count(struct tracee *tracee, uint64_t period_ns);

/* Update tracee->seen. Returns 0, or -errno if the thread has ended. */
int tracees_read_stat(struct tracee *tracee);

/* Is @tracee a worker of io_uring or vhost, which only runs in the kernel? Updates tracee->seen. */
bool tracees_is_worker(struct tracee *tracee);

/* Remove and free @tracee. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);

void tracees_release(struct tracees *tracees);

/*
 * Returns the tracee after @tracee, or the first one if @tracee is NULL. Returns NULL after the
 * last. Removing a tracee does not change the order of the others.
 */
struct tracee *tracees_next(const struct tracees *tracees, const struct tracee *tracee);

#endif
