/* SPDX-License-Identifier: MIT */
/*
 * Observes one thread and keeps account of its time. waits.h decides which threads are observed and
 * when. struct waits_calls has the functions that read a stack and write records; flamerun and a
 * process that profiles itself each have their own.
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
	/* 0: it sleeps on no futex that may be a lock */
	uint64_t address;
	uint32_t command; /* FUTEX_WAIT, ... */
	/* that the futex had when the thread went to sleep */
	uint32_t value;
};

struct wait_thread;

/* A process whose threads are observed. */
struct wait_process {
	pid_t pid; /* 0: the calling process */
	uint64_t image;
	/* the caller's object for it, which identifies it here */
	void *target;
	/* it has paused its sampling: its waits are not recorded */
	bool is_paused;
};

/* Totals of a thread, from when it was first observed to its end. */
struct wait_life {
	uint32_t number;
	pid_t tid;
	uint64_t span_ns, cpu_ns; /* elapsed time, and CPU time of it */
	uint64_t paused_ns;	  /* waited while sampling was paused */
	const char *comm;	  /* WIRE_COMM_BYTES; "": not known */
};

/*
 * Functions that the caller provides. @context is that of struct waits_config. Optional functions
 * may be NULL.
 */
struct waits_calls {
	uint64_t (*now_ns)(void); /* CLOCK_MONOTONIC */
	/*
	 * activity() returns a number that changes whenever a thread of @process runs, 0: it has
	 * ended. thread_count() returns a number that changes with its number of threads, 0: it may
	 * not be read.
	 */
	uint64_t (*activity)(void *context, const struct wait_process *process);
	unsigned (*thread_count)(void *context, const struct wait_process *process);
	/* As procfs_threads(). */
	long (*threads)(
		void *context, const struct wait_process *process, pid_t *tids, size_t room);
	/*
	 * Returns the number that thread @tid of @process has in samples, 0: not known yet.
	 * *@begun_ns: when it began, 0: not known.
	 */
	uint32_t (*find_thread)(
		void *context, const struct wait_process *process, pid_t tid, uint64_t *begun_ns);
	/*
	 * Read the CPU time of thread @tid if /proc cannot be read. Returns 0 or -errno. Optional.
	 */
	int (*cpu_clock)(void *context, pid_t tid, struct procfs_clock *out);
	/*
	 * Walk the stack of @thread, which is not stopped, from @pc and @sp into @frames (room for
	 * WIRE_MAX_DEPTH). No other register is known.
	 */
	struct unwind_result (*walk)(void *context, const struct wait_process *process,
		struct wait_thread *thread, uintptr_t pc, uintptr_t sp, uint64_t *frames);
	/* The thread ran during the last walk, so discard what was cached in it. Optional. */
	void (*forget)(void *context, const struct wait_process *process);
	/*
	 * lock_of() returns the futex that @call sleeps on, if it may be a lock with an owner.
	 * lock_owner() returns the id of the thread that holds @lock according to the lock's own
	 * memory, which may be wrong; 0: not known. Optional.
	 */
	struct wait_lock (*lock_of)(const struct procfs_syscall *call);
	pid_t (*lock_owner)(
		void *context, const struct wait_process *process, const struct wait_lock *lock);
	/* Has @process paused its sampling? *@since_ns: when that last changed. Optional. */
	bool (*is_paused)(void *context, const struct wait_process *process, uint64_t *since_ns);
	/* Has @process begun to exit or exec? Optional. */
	bool (*has_left)(void *context, const struct wait_process *process);
	/* The waits of @process may not be read, because of @error. */
	void (*refused)(void *context, const struct wait_process *process, int error);

	/* Record a thread, before its first sample. Returns 0; otherwise it is called again. */
	int (*put_thread)(void *context, const struct wait_process *process, uint32_t number,
		pid_t tid, const char comm[WIRE_COMM_BYTES]);
	void (*put_sample)(void *context, const struct wait_process *process,
		const struct wire_sample *sample, const uint64_t *frames);
	/* Record the text of a frame: a file's name, or a lock's address. */
	void (*put_text)(void *context, const struct wait_process *process, uint64_t address,
		const char *text);
	void (*put_life)(
		void *context, const struct wait_process *process, const struct wait_life *life);
};

struct wait_thread {
	pid_t tid;
	uint32_t number; /* within the image; 0: not known yet */
	/* descriptors of its "schedstat" and "syscall", -1: not open */
	int clock, call;
	/* at the last observation it slept, on `stack` */
	bool is_asleep;
	/* at the last observation it ran, having waited since the one before */
	bool is_awake;
	bool is_gone;	 /* it has ended */
	bool is_over;	 /* its totals have been recorded */
	char comm[WIRE_COMM_BYTES]; /* its name when that was last read */
	/* reader->announced when it was last recorded */
	uint32_t announced;
	/* when its account began, CLOCK_MONOTONIC */
	uint64_t begun_ns;
	struct procfs_clock begun;  /* the kernel's clocks of it then */
	uint64_t seen_ns;	    /* the last observation */
	struct procfs_clock seen;   /* the kernel's clocks of it then */
	/* Time waited that is assigned to no stack yet; negative if too much was assigned. */
	int64_t carried_ns;
	/* Not recorded yet: asleep on `stack`, ready to run, and waiting on an unknown stack. */
	uint64_t asleep_ns, ready_ns, unknown_ns;
	/* remainder below one period when it was last recorded */
	uint64_t remaining_ns;
	uint64_t recorded_ns;  /* when it was last recorded */
	uint64_t paused_ns;    /* waited while sampling was paused */
	/* innermost first, its leaf a WIRE_FRAME_WAIT; NULL: none */
	uint64_t *stack;
	uint32_t frames;
	uint8_t end;	       /* enum wire_end */
	uintptr_t walk_state;  /* for walk(); 0 at first */
	struct wait_lock lock; /* that it may sleep on */
	/* thread that held the lock during `asleep_ns`; 0: not known */
	pid_t holder;
};

/* Size of the table of details, a power of two. */
#define WAIT_DETAILS (1u << 17)

struct wait_reader {
	const struct waits_calls *calls;
	void *context;
	uint64_t period_ns;
	uint64_t due_ns;  /* when the current round was due */
	uint64_t *frames; /* room for WIRE_MAX_DEPTH + 1 */
	/* room for WIRE_MAX_DEPTH + 1: a stack with its lock's holder */
	uint64_t *held;
	/* The threads of the process that is observed, by tid; borrowed. */
	struct wait_thread *threads;
	unsigned thread_count;
	/* descriptors that are open, and their limit */
	unsigned files, files_max;
	size_t stack_bytes;	   /* of all threads' stacks */
	/* from 1; when it changes, threads are recorded again */
	uint32_t announced;
	/* hashes of recorded texts, 0: none; NULL: texts are not wanted */
	uint64_t *details;
	unsigned detail_count;
	/* walks; walks during which the thread ran */
	uint64_t walks, changed;
};

/* Find thread @tid in @count threads sorted by tid. Returns NULL if it is not there. */
struct wait_thread *wait_thread_find(struct wait_thread *threads, unsigned count, pid_t tid);

/* Begin to observe @thread: read its name and its clocks. Returns 0 or -errno. */
int wait_thread_begin(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * Observe @thread of @process and account for its time since the last observation.
 * Returns 0; -ESRCH: it has ended; or another -errno: its waits may not be read.
 */
int wait_thread_observe(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * Observe @thread, which `is_awake`, once more a moment later, if it slept when the round was due.
 * Returns as wait_thread_observe().
 */
int wait_thread_observe_again(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * Call this after all threads have been observed: find the thread that holds the lock that @thread
 * sleeps on, and record the wait with it. *@last: the lock and holder of the previous call, 0 at
 * first.
 */
struct wait_lock_holder {
	uint64_t address;
	pid_t tid;
};
void wait_thread_record_lock(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, struct wait_lock_holder *last);

/* @thread has ended at @end_ns with @cpu_ns of CPU time: account for the time until then. */
void wait_thread_ended(struct wait_thread *thread, uint64_t end_ns, uint64_t cpu_ns);

/* @thread has not run until @now_ns: if it was asleep, account for that time. */
void wait_thread_add_sleep(struct wait_thread *thread, uint64_t now_ns);

/* Record the times that are accounted for. */
void wait_thread_record(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * As wait_thread_record(), for the time before @until_ns. If the thread has run since the last
 * observation, it is not known what it waited for before @until_ns.
 */
void wait_thread_record_until(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t until_ns);

/* Account for the time until the thread's end at @end_ns (0: now), if its clocks can be read. */
void wait_thread_close(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns);

/*
 * End the account of @thread at @end_ns, record all of it, and release @thread. If it ran at the
 * last observation, nothing is recorded for the time since.
 */
void wait_thread_end(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns);

/* Close the files and free the memory of @thread. */
void wait_thread_release(struct wait_reader *reader, struct wait_thread *thread);

#endif
