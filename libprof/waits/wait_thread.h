/* SPDX-License-Identifier: MIT */
/*
 * Observe one thread and keep account of its time. waits.h decides which threads are observed and
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
	/* Address of the futex on which the thread sleeps, if it may be a lock; else 0. */
	uint64_t address;
	uint32_t command; /* FUTEX_WAIT, ... */
	/* Value of the futex when the thread went to sleep. */
	uint32_t value;
};

struct wait_thread;

/* A process whose threads are observed. */
struct wait_process {
	pid_t pid; /* 0: the calling process */
	uint64_t image;
	/*
	 * The caller's object for the process. The functions of waits.h use it to identify the
	 * process.
	 */
	void *target;
	/* Set while the process has paused its sampling: its waits are not recorded then. */
	bool is_paused;
};

/* Totals of a thread, from its first observation to its end. */
struct wait_life {
	uint32_t number;
	pid_t tid;
	uint64_t span_ns, cpu_ns; /* elapsed time; CPU time in it */
	uint64_t paused_ns;	  /* ns waited during pauses */
	const char *comm;	  /* WIRE_COMM_BYTES; "": not known */
};

/*
 * Functions that the caller provides. @context is that of struct waits_config. Optional functions
 * may be NULL.
 */
struct waits_calls {
	uint64_t (*now_ns)(void); /* CLOCK_MONOTONIC */
	/*
	 * activity() returns a number that changes whenever a thread of @process runs; 0: the
	 * process has ended. thread_count() returns a number that changes with the number of
	 * threads; 0: it may not be read.
	 */
	uint64_t (*activity)(void *context, const struct wait_process *process);
	unsigned (*thread_count)(void *context, const struct wait_process *process);
	/* List the threads of @process, as procfs_threads() does. */
	long (*threads)(
		void *context, const struct wait_process *process, pid_t *tids, size_t room);
	/*
	 * Returns the number that thread @tid of @process has in samples; 0: not known yet. Sets
	 * *@begun_ns to the time when the thread began; 0: not known.
	 */
	uint32_t (*find_thread)(
		void *context, const struct wait_process *process, pid_t tid, uint64_t *begun_ns);
	/*
	 * Read the CPU time of thread @tid if /proc cannot be read. Returns 0 or -errno. Optional.
	 */
	int (*cpu_clock)(void *context, pid_t tid, struct procfs_clock *out);
	/*
	 * Walk the stack of @thread from @pc and @sp into @frames (room for WIRE_MAX_DEPTH). The
	 * thread is not stopped. No other registers are known.
	 */
	struct unwind_result (*walk)(void *context, const struct wait_process *process,
		struct wait_thread *thread, uintptr_t pc, uintptr_t sp, uint64_t *frames);
	/* Discard what the last walk cached, because the thread ran during the walk. Optional. */
	void (*forget)(void *context, const struct wait_process *process);
	/*
	 * lock_of() returns the futex on which @call sleeps, if it may be a lock with an owner.
	 * lock_owner() returns the id of the thread that holds @lock according to the lock's own
	 * memory, which may be wrong; 0: not known. Optional.
	 */
	struct wait_lock (*lock_of)(const struct procfs_syscall *call);
	pid_t (*lock_owner)(
		void *context, const struct wait_process *process, const struct wait_lock *lock);
	/*
	 * Returns true if @process has paused its sampling. Sets *@since_ns to the time when that
	 * last changed. Optional.
	 */
	bool (*is_paused)(void *context, const struct wait_process *process, uint64_t *since_ns);
	/* Returns true if @process has begun to exit or exec. Optional. */
	bool (*has_left)(void *context, const struct wait_process *process);
	/* Report that the waits of @process may not be read, because of @error. */
	void (*refused)(void *context, const struct wait_process *process, int error);

	/*
	 * Record a thread, before its first sample. Returns 0; after another result the function is
	 * called again before the next sample.
	 */
	int (*put_thread)(void *context, const struct wait_process *process, uint32_t number,
		pid_t tid, const char comm[WIRE_COMM_BYTES]);
	void (*put_sample)(void *context, const struct wait_process *process,
		const struct wire_sample *sample, const uint64_t *frames);
	/* Record the text of the frame @address: a file's name, or a lock's address. */
	void (*put_text)(void *context, const struct wait_process *process, uint64_t address,
		const char *text);
	void (*put_life)(
		void *context, const struct wait_process *process, const struct wait_life *life);
};

struct wait_thread {
	pid_t tid;
	uint32_t number; /* within the image; 0: not known yet */
	/* Descriptors of the thread's "schedstat" and "syscall" files; -1: not open. */
	int clock, call;
	/* Set if the thread slept at the last observation. `stack` is the stack then. */
	bool is_asleep;
	/*
	 * Set if the thread did not sleep at the last observation, and had waited at some time
	 * since the previous one.
	 */
	bool is_awake;
	bool is_gone;		    /* the thread has ended */
	bool is_over;		    /* its totals were recorded */
	char comm[WIRE_COMM_BYTES]; /* name when it was last read */
	/* Value of reader->announced when put_thread() was last called for the thread. */
	uint32_t announced;
	/* CLOCK_MONOTONIC when the account of this thread's time began. */
	uint64_t begun_ns;
	struct procfs_clock begun; /* kernel's clocks at begun_ns */
	uint64_t seen_ns;	   /* time of the last observation */
	struct procfs_clock seen;  /* kernel's clocks at seen_ns */
	/*
	 * Time waited that is assigned to no stack yet, in ns. Negative if too much was assigned.
	 */
	int64_t carried_ns;
	/*
	 * Times that are not recorded yet, in ns: asleep on `stack`, ready to run, and waiting on
	 * an unknown stack.
	 */
	uint64_t asleep_ns, ready_ns, unknown_ns;
	/* Remainder below one period at the last record, in ns. */
	uint64_t remaining_ns;
	uint64_t recorded_ns; /* time of the last record */
	uint64_t paused_ns;   /* ns waited during pauses */
	/* Innermost frame first; that frame is a WIRE_FRAME_WAIT. NULL: no stack. */
	uint64_t *stack;
	uint32_t frames;
	uint8_t end;	       /* enum wire_end */
	uintptr_t walk_state;  /* for walk(); 0 at first */
	struct wait_lock lock; /* lock that it may sleep on */
	/* The thread that held the lock during `asleep_ns`; 0: not known. */
	pid_t holder;
};

/* Size of wait_reader.details, a power of two. */
#define WAIT_DETAILS (1u << 17)

struct wait_reader {
	const struct waits_calls *calls;
	void *context;
	uint64_t period_ns;
	uint64_t due_ns;  /* when the current round was due */
	uint64_t *frames; /* room for WIRE_MAX_DEPTH + 1 */
	/* Room for WIRE_MAX_DEPTH + 1: a stack joined with that of its lock's holder. */
	uint64_t *held;
	/* The threads of the process that is being observed, sorted by tid; borrowed. */
	struct wait_thread *threads;
	unsigned thread_count;
	/* Number of descriptors that are open, and its limit. */
	unsigned files, files_max;
	size_t stack_bytes;	   /* of all threads' stacks */
	/* Starts at 1. When it is incremented, put_thread() is called again for each thread. */
	uint32_t announced;
	/* Table of hashes of the texts that were recorded, 0: empty. NULL: texts are not wanted. */
	uint64_t *details;
	unsigned detail_count;
	/* Number of stack walks, and of those that were useless because the thread ran. */
	uint64_t walks, changed;
};

/* Find thread @tid in @count threads sorted by tid. Returns NULL if there is no such thread. */
struct wait_thread *wait_thread_find(struct wait_thread *threads, unsigned count, pid_t tid);

/* Begin to observe @thread: read its name and its clocks. Returns 0 or -errno. */
int wait_thread_begin(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * Observe @thread of @process and account for its time since the last observation. Returns 0;
 * -ESRCH if the thread has ended; another -errno if its waits may not be read.
 */
int wait_thread_observe(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * Observe @thread once more, a moment after an observation that set is_awake. The time is accounted
 * for only if the thread slept when the round was due. Returns as wait_thread_observe().
 */
int wait_thread_observe_again(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * wait_thread_record_lock() finds the thread that holds the lock on which @thread sleeps, and
 * records the wait with that thread's stack. Call it after all threads have been observed. *@last
 * is the lock and holder of the previous call, all zero at first.
 */
struct wait_lock_holder {
	uint64_t address;
	pid_t tid;
};
void wait_thread_record_lock(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, struct wait_lock_holder *last);

/*
 * Account for the time of @thread until its end at @end_ns, when it had used @cpu_ns of CPU time.
 */
void wait_thread_ended(struct wait_thread *thread, uint64_t end_ns, uint64_t cpu_ns);

/*
 * Account for the time until @now_ns if @thread was asleep at its last observation. The caller
 * knows that it has not run since.
 */
void wait_thread_add_sleep(struct wait_thread *thread, uint64_t now_ns);

/* Write samples for the times of @thread that are accounted for and not recorded yet. */
void wait_thread_record(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process);

/*
 * Record the times before @until_ns. If the thread has run since the last observation, what it
 * waited for before @until_ns is unknown.
 */
void wait_thread_record_until(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t until_ns);

/* Account for the time until the thread's end at @end_ns (0: now), if its clocks can be read. */
void wait_thread_close(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns);

/*
 * End the account of @thread at @end_ns, record all of it, and release @thread. If the thread ran
 * at the last observation, nothing is recorded for the time since.
 */
void wait_thread_end(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns);

/* Close the files and free the memory of @thread. */
void wait_thread_release(struct wait_reader *reader, struct wait_thread *thread);

#endif
