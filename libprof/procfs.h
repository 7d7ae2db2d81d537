/* SPDX-License-Identifier: MIT */
/*
 * Read small files of /proc and the CPU clock of a process. Pid 0 means the calling process, even
 * if /proc belongs to another pid namespace. Thread ids are those that /proc shows. Source:
 * proc(5).
 *
 * Context: any thread.
 */
#ifndef LIBPROF_PROCFS_H
#define LIBPROF_PROCFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/wire.h"

/* Write the path of file @name of process @pid, or of its thread @tid if that is not 0. */
#define PROCFS_PATH_BYTES 80
void procfs_path(char path[PROCFS_PATH_BYTES], pid_t pid, pid_t tid, const char *name);

/* Returns the number behind "@name:" in /proc/@id/status (@id: process or thread), or -1. */
long procfs_number(pid_t id, const char *name);

/* Read the link /proc/@pid/@name into @out. Returns 0 or -errno. */
int procfs_link(pid_t pid, const char *name, char out[PATH_MAX]);

/* Read the name of thread @tid of @pid into @out; "" if the thread has gone. */
void procfs_comm(pid_t pid, pid_t tid, char out[WIRE_COMM_BYTES]);

/* Returns the state of thread @tid of @pid: 'R', 'S', ...; 0 if the thread has gone. */
char procfs_state(pid_t pid, pid_t tid);

/* Parent and start time of a process. */
struct procfs_birth {
	pid_t ppid;
	/* Clock ticks since boot. A pid and its start time together are unique. */
	uint64_t start_ticks;
	char state;	      /* as in procfs_state() */
};

/* Read parent, start time and state of @pid. Returns 0, or -ESRCH with *@out unchanged. */
int procfs_birth(pid_t pid, struct procfs_birth *out);

/* Returns the pid of @pid in the innermost of its pid namespaces; @pid itself if unknown. */
pid_t procfs_inner_pid(pid_t pid);

/* Returns the pid or tid created last in the caller's pid namespace; -1 if unknown. */
long procfs_newest_pid(void);

/* Returns the start address of @pid's main stack, 0 if the kernel does not show it. */
uintptr_t procfs_stack_top(pid_t pid);

/*
 * Flags of threads that the kernel runs for a process and that never return to user mode: workers
 * of io_uring (since Linux 5.12), and of vhost (since 6.4). Source: the kernel's
 * include/linux/sched.h.
 */
#define PROCFS_IO_WORKER   0x10u
#define PROCFS_USER_WORKER 0x4000u

/* Returns the kernel's PF_... flags of thread @tid of @pid; 0 if the thread has gone. */
unsigned procfs_flags(pid_t pid, pid_t tid);

/* Facts from "status" about a thread and its process. In a set of signals, bit 0 is signal 1. */
struct procfs_status {
	pid_t inner_tid;  /* tid in the innermost pid namespace */
	uint64_t blocked; /* signals blocked in the thread */
	uint64_t ignored, caught; /* of the process */
	/* Number of seccomp filters; before Linux 5.9 only 0 or 1. */
	uint32_t filters;
	bool is_strict;	  /* SECCOMP_MODE_STRICT */
};

/*
 * Read "status" of thread @tid, or of process @pid if @tid is 0. Returns 0, or -ESRCH with *@out
 * unchanged.
 */
int procfs_status(pid_t pid, pid_t tid, struct procfs_status *out);

/*
 * Store up to @room thread ids of @pid in @tids. Returns the number of threads, which may exceed
 * @room, or -errno.
 */
long procfs_threads(pid_t pid, pid_t *tids, size_t room);

/*
 * Open /proc/@pid/task/@tid/@name for repeated reads. Returns an owned descriptor, to be closed
 * with procfs_close(), or -errno.
 */
int procfs_open(pid_t pid, pid_t tid, const char *name);
void procfs_close(int file);

/* The scheduler's statistics of a thread. */
struct procfs_clock {
	/* ns on a CPU. For a running thread, up to the kernel's last tick. */
	uint64_t cpu_ns;
	/*
	 * ns that the thread was runnable and waited for a CPU, up to the last time that it got
	 * one.
	 */
	uint64_t waited_ns;
	uint64_t turns; /* times that it got a CPU */
};

/* Read from a descriptor of "schedstat". Returns 0, or -errno with *@out unchanged. */
int procfs_clock_read(int file, struct procfs_clock *out);

/* Context switches of a thread. */
struct procfs_switches {
	char state;  /* as in procfs_state() */
	long sleeps; /* voluntary: it blocked */
	long pushes; /* involuntary: it was preempted */
};

/* Read from a descriptor of "status". Returns 0, or -errno with *@out unchanged. */
int procfs_switches_read(int file, struct procfs_switches *out);

/* The system call in which a thread sleeps, and the thread's registers. */
struct procfs_syscall {
	long number; /* -1: in no system call */
	uint64_t arguments[6];
	uint64_t sp, pc;
};

/*
 * Read from a descriptor of "syscall", without disturbing the thread.
 * Returns 0; -EAGAIN if the thread runs or is about to run; or another -errno, such as -EPERM if
 * the caller may not trace the thread. *@out is unchanged after a failure.
 */
int procfs_syscall_read(int file, struct procfs_syscall *out);

/* Returns the number of threads of @pid, 0 if the process has gone. */
unsigned procfs_thread_count(pid_t pid);

/*
 * Facts from a thread's "stat". CPU times are in clock ticks of 10 ms, not in ticks of the kernel's
 * timer.
 */
struct procfs_stat {
	char state;	/* as in procfs_state() */
	unsigned flags; /* as in procfs_flags() */
	/* CPU time in user mode and in the kernel. */
	uint64_t user_ticks, kernel_ticks;
};

/* Read from a descriptor of "stat". Returns 0, or -errno with *@out unchanged. */
int procfs_stat_read(int file, struct procfs_stat *out);

/* Returns 1 if @pid is alive. A zombie is not alive, unless only its main thread has ended. */
int procfs_is_running(uint32_t pid);

/* Returns the CPU time of @pid in nanoseconds, 0 if unknown. */
uint64_t procfs_cpu_ns(uint32_t pid);

/* Returns the seccomp filters of @pid's main thread (before Linux 5.9: 0 or 1); 0: unknown. */
uint32_t procfs_filters(uint32_t pid);

#endif
