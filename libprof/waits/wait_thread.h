/* SPDX-License-Identifier: MIT */
/*
 * One thread's waits: looking at it, and the books of its life. Whom to look at, and when, is
 * waits.h's; how its stack is read, and who is told, is whoever looks'.
 *
 * Context: one thread.
 */
#ifndef LIBPROF_WAITS_WAIT_THREAD_H
#define LIBPROF_WAITS_WAIT_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/procfs.h"
#include "libprof/unwind/unwind.h"
#include "libprof/wire.h"

/* A futex that a thread sleeps on. */
struct wait_lock {
	uint64_t address; /* 0: it sleeps on none that may be a lock */
	uint32_t command; /* FUTEX_WAIT, ... */
	uint32_t value;	  /* that the futex had when the thread went to sleep */
};

struct wait_thread;

/* Whose threads are looked at. */
struct wait_process {
	pid_t pid; /* 0: this one */
	uint64_t image;
	void *target; /* whatever whoever looks has of it, and what it is known by here */
	bool is_paused; /* it has asked to be left out: what its threads wait is told of nobody */
};

/* A thread's life, or what was seen of it. */
struct wait_life {
	uint32_t number;
	pid_t tid;
	uint64_t span_ns, cpu_ns, paused_ns; /* paused_ns: off the CPU, and left out */
	const char *comm; /* WIRE_COMM_BYTES; "": not known */
};

/*
 * What looking takes, besides /proc. @context is what waits_config has; what is NULL is not wanted.
 */
struct waits_calls {
	uint64_t (*now_ns)(void); /* CLOCK_MONOTONIC */
	/*
	 * A number that is another one whenever a thread of @process ran, 0: it has gone; and one
	 * that is another one whenever it has other threads, 0: nobody may know.
	 */
	uint64_t (*activity)(void *context, const struct wait_process *process);
	unsigned (*thread_count)(void *context, const struct wait_process *process);
	/* As procfs_threads(). */
	long (*threads)(
		void *context, const struct wait_process *process, pid_t *tids, size_t room);
	/*
	 * The number of thread @tid of @process in samples, and when it began (0: not known).
	 * Returns 0: not known, yet.
	 */
	uint32_t (*find_thread)(
		void *context, const struct wait_process *process, pid_t tid, uint64_t *begun_ns);
	/* The clock of thread @tid where /proc does not tell: CPU time alone. Returns 0 or -errno.
	 */
	int (*cpu_clock)(void *context, pid_t tid, struct procfs_clock *out);
	/*
	 * The stack from @pc and @sp of @thread, which is not stopped, into @frames, which has room
	 * for WIRE_MAX_DEPTH: no other register is known, and none is guessed.
	 */
	struct unwind_result (*walk)(void *context, const struct wait_process *process,
		struct wait_thread *thread, uintptr_t pc, uintptr_t sp, uint64_t *frames);
	/* It did not sleep through the last walk: what was read may have been anything. */
	void (*forget)(void *context, const struct wait_process *process);
	/*
	 * What @call sleeps on, as far as that may be a lock that has an owner; and the thread of
	 * @process that has @lock now, as far as the lock says: it may be any, 0: not known.
	 */
	struct wait_lock (*lock_of)(const struct procfs_syscall *call);
	pid_t (*lock_owner)(void *context, const struct wait_process *process,
		const struct wait_lock *lock);
	/* Has @process asked to be left out? Since when that is so, or is not, into @since_ns. */
	bool (*is_paused)(void *context, const struct wait_process *process, uint64_t *since_ns);
	/* Is @process another program's, or none, by now? */
	bool (*has_left)(void *context, const struct wait_process *process);
	/* Nobody may look at what @process waits for. */
	void (*refused)(void *context, const struct wait_process *process, int error);

	/* A thread, before its first sample. Returns 0, or it is to be told again. */
	int (*put_thread)(void *context, const struct wait_process *process, uint32_t number,
		pid_t tid, const char comm[WIRE_COMM_BYTES]);
	void (*put_sample)(void *context, const struct wait_process *process,
		const struct wire_sample *sample, const uint64_t *frames);
	/* What the address of a frame means in particular. */
	void (*put_text)(void *context, const struct wait_process *process, uint64_t address,
		const char *text);
	void (*put_life)(void *context, const struct wait_process *process,
		const struct wait_life *life);
};

struct wait_thread {
	pid_t tid;
	uint32_t number;    /* within the image; 0: not known yet */
	int clock, call;    /* descriptors of its "schedstat" and "syscall", -1: not open */
	bool is_asleep;	    /* it was when it was looked at last, on `stack` */
	bool is_awake;	    /* it was then, and has waited for something since it was seen asleep */
	bool is_gone;	    /* there is nothing to look at any more */
	bool is_over;	    /* its life has been told */
	char comm[WIRE_COMM_BYTES]; /* its name when that was last looked at */
	uint32_t announced;	    /* looker->announced when it was */
	uint64_t begun_ns;
	struct procfs_clock begun; /* what the kernel had counted by then */
	uint64_t seen_ns;
	struct procfs_clock seen;
	/* Time it waited that is on no stack yet; less than nothing where clocks tell late. */
	int64_t carried_ns;
	/* Not yet told: on `stack`, ready to run, and on no stack that could be had. */
	uint64_t asleep_ns, ready_ns, unknown_ns;
	uint64_t rest_ns; /* what made no whole period when it was told */
	uint64_t told_ns; /* when it was */
	uint64_t paused_ns; /* told of nobody */
	uint64_t *stack;  /* innermost first, its leaf a WIRE_FRAME_WAIT; NULL: none */
	uint32_t frames;
	uint8_t end; /* enum wire_end */
	uintptr_t walk_state; /* what walk() knows of it, 0 at first */
	struct wait_lock lock; /* that it sleeps on, maybe */
	pid_t holder; /* of that, while `asleep_ns` passed; 0: not known */
};

/* What looks at threads need and count. */
#define WAIT_DETAILS (1u << 17)

struct wait_looker {
	const struct waits_calls *calls;
	void *context;
	uint64_t period_ns;
	uint64_t due_ns;	   /* when it was to look at them */
	uint64_t *frames;	   /* room for WIRE_MAX_DEPTH + 1 */
	uint64_t *held;		   /* likewise */
	/* The threads of the process that is looked at, by tid; borrowed. */
	struct wait_thread *threads;
	unsigned thread_count;
	unsigned files, files_max; /* descriptors kept open, and how many may be */
	size_t stack_bytes;	   /* of all threads' stacks */
	uint32_t announced;	   /* from 1: who was told of threads since this changed */
	uint64_t *details; /* texts told, WAIT_DETAILS hashes, 0: none; NULL: none are wanted */
	unsigned detail_count;
	uint64_t looks, changed; /* at stacks; that the thread did not sleep through */
};

/* The thread @tid of @count, sorted by tid; NULL: it is not there. */
struct wait_thread *wait_thread_find(struct wait_thread *threads, unsigned count, pid_t tid);

/* @thread begins to be looked at: times of the kernel's, ours and @rest_ns, on loan, are set. */
int wait_thread_begin(
	struct wait_looker *looker, struct wait_thread *thread, const struct wait_process *process);

/*
 * Look at @thread of @process: whatever it did since the last look is in its books then.
 * Returns 0, -ESRCH: it has ended, or another -errno: nobody may look at what it waits for.
 */
int wait_thread_look(
	struct wait_looker *looker, struct wait_thread *thread, const struct wait_process *process);

/*
 * The same a moment later for one that `is_awake`, if it slept when the look before was due.
 * Returns likewise.
 */
int wait_thread_look_again(
	struct wait_looker *looker, struct wait_thread *thread, const struct wait_process *process);

/*
 * Behind looks at all threads: find out who has the lock that @thread sleeps on now, and tell that
 * it waited for it. @last, 0 at first, is who has the lock of the thread before this one.
 */
struct wait_lock_holder {
	uint64_t address;
	pid_t tid;
};
void wait_thread_tell_lock(struct wait_looker *looker, struct wait_thread *thread,
	const struct wait_process *process, struct wait_lock_holder *last);

/* It has ended at @end_ns, with @cpu_ns on its clock: what it did until then is counted. */
void wait_thread_ended(struct wait_thread *thread, uint64_t end_ns, uint64_t cpu_ns);

/* It slept on until @now_ns, if it was asleep. */
void wait_thread_rested(struct wait_thread *thread, uint64_t now_ns);

/* Tell what is in the books. */
void wait_thread_tell(
	struct wait_looker *looker, struct wait_thread *thread, const struct wait_process *process);

/*
 * The same, but for what it waited since @until_ns. For what it waited before that is not known
 * where it woke up meanwhile: it is found where it has been since.
 */
void wait_thread_tell_until(struct wait_looker *looker, struct wait_thread *thread,
	const struct wait_process *process, uint64_t until_ns);

/* What it was until it ended, at @end_ns, or with 0 until now, if that can still be read. */
void wait_thread_close(struct wait_looker *looker, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns);

/*
 * Its life is over at @end_ns, as far as we are concerned: tell all of it. One that ran when it was
 * seen last is not known to have done anything since. @thread is released.
 */
void wait_thread_end(struct wait_looker *looker, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns);

/* Its files and memory alone. */
void wait_thread_release(struct wait_looker *looker, struct wait_thread *thread);

#endif
