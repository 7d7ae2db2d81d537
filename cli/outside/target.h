/* SPDX-License-Identifier: MIT */
/*
 * What is sampled from outside: processes, where their code lies and what has been said about it;
 * and their threads that we are attached to, by thread id.
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
	bool is_searched; /* for a runtime */
	uint32_t asked;	  /* how often it was asked for before */
	uint32_t runtime; /* as in struct unwind_module */
};

/* Above those that a library gives out, and far below those of cli/gather/maps.c. */
#define TARGET_FIRST_MODULE 4096u

struct target {
	struct target *next;
	pid_t pid;
	uint64_t image;	   /* as in the records */
	uint32_t slot;	   /* of the arena, where a library in it has one */
	bool has_other_tids; /* than we have for them, in a pid namespace of its own */
	/*
	 * 0, or what numbers of modules begin behind where a library in it gives out some, too:
	 * TARGET_FIRST_MODULE.
	 */
	uint32_t first_module;
	uint64_t start_ns; /* CLOCK_MONOTONIC, when we began to look */
	uint64_t start_cpu_ns;
	uint64_t cpu_ns;     /* when it was last looked at */
	uint64_t counted_ns; /* CPU time that is in samples */
	uint64_t scan_ns;    /* when to look for threads that are not attached next */
	uint64_t mapped_ns;  /* when the mappings were last read */
	uintptr_t stack_top; /* where the main thread's stack began, 0: unknown */
	size_t stack_bytes;  /* how much of a stack is copied for a sample */
	bool has_other_stacks; /* walks go on from one stack to another: no copy has both */
	int memory;	     /* /proc/PID/mem, which the process may forbid to open later; or -1 */
	uintptr_t vdso;	     /* where it begins, 0: it has none */
	/* Runtimes in it of versions that are not read: a set, of runtime_bit(). */
	uint32_t unknown_runtimes;
	/* Nothing of it is counted: until its exec it is flamerun's own, or a library of ours is in
	 * it by now and it is to be let go. */
	bool is_waiting;
	bool is_idle;	       /* it used nothing since the last look */
	unsigned threads;      /* of it that are traced */
	unsigned waiting;      /* threads with WAY_WAITING */
	const char *stops_why; /* why it can have no timers; NULL: nothing is known against it */
	bool is_blocking;      /* it was reported that threads of it block the timers' signal */
	int *dead;	       /* timers of threads that have ended; owned */
	unsigned dead_count, dead_room;
	uint64_t sampled_ns; /* when a thread last stopped by itself, or was asked to */
	bool is_left;	     /* its timers have been deleted, sampling is over */
	uint64_t arena_images; /* wire_arena.next_image when it was last looked for there */
	struct maps maps;
	struct target_range *ranges; /* by address */
	unsigned range_count;
	struct target_language *language; /* owned; NULL: no runtime was found in it */
	uint32_t sought; /* walks that nothing led on from, in code of no module */
	uint8_t announced[(WIRE_MODULE_MAX + 8) / 8]; /* bit n: module number n was told */
};

/* What outlives a single target. */
struct target_shared {
	struct objects objects;
	struct pipe_writer *pipe_writer; /* borrowed */
	uint64_t images; /* numbers given out */
	/* What finding threads in languages' runtimes took so far, and may take; 0: any. */
	uint64_t search_ns, search_max_ns;
};

/* Returns an owned target for @pid, or NULL without memory. Nothing is read yet. */
struct target *target_new(pid_t pid);
void target_free(struct target *target); /* NULL is fine */

/*
 * Announce an image of @target: at the start, and after an exec. @parent: the image it was forked
 * from, or 0. @start_cpu_ns: CPU time of the process that is not this image's.
 */
void target_announce(struct target *target, struct target_shared *shared, uint64_t parent,
	uint64_t start_cpu_ns);

/* Read the mappings again. Costs what opening new files costs: best while nobody is held. */
void target_remap(struct target *target, struct target_shared *shared);

/*
 * The module that @pc lies in, announced. @object, when not NULL, gets what is known of it.
 * Returns 0, or -ENOENT.
 */
int target_find(struct target *target, struct target_shared *shared, uintptr_t pc,
	struct unwind_module *out, const struct object **object);

/* The image is over, or our interest in it: say what it used. */
void target_end(
	struct target *target, struct target_shared *shared, bool has_ended, bool left_by_exec);

/* So much of a stack is copied for the first sample of a process. */
#define TARGET_STACK_BYTES (64u << 10)

/*
 * Timers of ended threads are deleted when timers are made for others; where none are, once there
 * are this many.
 */
#define TARGET_DEAD_MAX 16u

/* How a thread is sampled. */
enum way {
	WAY_NONE,    /* not at all: it has just come, or is over */
	WAY_WAITING, /* not yet: it gets a timer at the next stop of a thread of its process */
	WAY_TIMER,   /* at stops by a CPU timer of its own (cpu_timer.h) */
	WAY_STOPS,   /* at stops that we ask for at times: it can't have a timer */
	WAY_WORKER   /* not at all: it only runs in the kernel, for io_uring or vhost */
};

/* A stack as the records have it. */
struct target_stack {
	uint64_t cpu_ns; /* CPU time of the thread when it was taken */
	enum wire_end end;
	unsigned count;
	uint64_t frames[];
};

struct tracee {
	struct tracee *next; /* in the same bucket */
	pid_t tid;
	struct target *target;	  /* borrowed */
	int clock, stat;	  /* descriptors of files of /proc, -1: not open */
	struct procfs_clock used; /* when it was last looked at */
	enum way way;
	int timer;		    /* the kernel's number of its timer, -1: it has none */
	struct procfs_stat seen;    /* when it was last looked at closely */
	uint64_t user_since_ns;	    /* its CPU time when kernel ticks were last seen to grow */
	bool is_asked;		    /* it was asked to stop, and has not yet */
	bool is_born;		    /* it is new, and can make its timer at its first stop */
	bool was_stopped;	    /* its process was stopped, as by SIGSTOP */
	bool is_blocking;	    /* the last check found that it blocks its timer's signal */
	uint64_t counted_ns;	    /* CPU time when it was last counted */
	uint64_t due_ns;	    /* what did not make a whole sample then */
	uint32_t credit;	    /* weight of samples without a stack, not recorded yet */
	uintptr_t runtime_state;    /* as struct runs has it, 0 at first */
	struct target_stack *early; /* owned; of the next sample, NULL: not taken yet */
	bool is_announced;	    /* its records were sent */
};

#define TRACEES_BUCKETS 1024u

struct tracees {
	struct tracee *bucket[TRACEES_BUCKETS];
	unsigned count;
};

/* The thread @tid, or NULL. */
struct tracee *tracees_find(const struct tracees *tracees, pid_t tid);

/* Add @tid, a thread of @target. Returns it, or NULL without memory. */
struct tracee *tracees_add(struct tracees *tracees, pid_t tid, struct target *target);

/* Bring what @tracee says of its use of the CPU up to now. Returns its CPU time. */
uint64_t tracees_update(struct tracee *tracee);

/*
 * Count the CPU time that @tracee used since it was last counted. Returns whole periods of
 * @period_ns; the rest stays in tracee->due_ns.
 */
uint32_t tracees_count(struct tracee *tracee, uint64_t period_ns);

/* Bring tracee->seen up to now. Returns 0, or -errno when it has gone. */
int tracees_look(struct tracee *tracee);

/* Is it a worker of io_uring or vhost, which only runs in the kernel? Does tracees_look(). */
bool tracees_is_worker(struct tracee *tracee);

/* Forget @tracee, which is freed. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);

void tracees_release(struct tracees *tracees);

/* The one after @tracee in an order that removing keeps; the first after NULL; NULL at the end. */
struct tracee *tracees_next(const struct tracees *tracees, const struct tracee *tracee);

#endif
