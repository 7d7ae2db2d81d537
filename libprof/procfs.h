/* SPDX-License-Identifier: MIT */
/*
 * What can be seen of a process by its pid: small files of /proc, and its clock. Pid 0 is this
 * process, by whatever number /proc knows it; threads are as /proc numbers them. Source: proc(5).
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

/* The path of @name, a file of @pid, or of its thread @tid if that is not 0. */
#define PROCFS_PATH_BYTES 80
void procfs_path(char path[PROCFS_PATH_BYTES], pid_t pid, pid_t tid, const char *name);

/* The number behind "@name:" in /proc/@id/status, id a process or thread; -1 when there is none. */
long procfs_number(pid_t id, const char *name);

/* Where /proc/@pid/@name points, into @out (PATH_MAX). Returns 0 or -errno. */
int procfs_link(pid_t pid, const char *name, char out[PATH_MAX]);

/* The name of thread @tid of @pid, "" when it has gone. */
void procfs_comm(pid_t pid, pid_t tid, char out[WIRE_COMM_BYTES]);

/* The state of thread @tid of @pid: 'R', 'S', ...; 0 when it has gone. */
char procfs_state(pid_t pid, pid_t tid);

/* Whose child a process is, and when it began. */
struct procfs_birth {
	pid_t ppid;
	uint64_t start_ticks; /* since the boot; with the pid it is never given again */
	char state;	      /* as procfs_state() */
};

/* Returns 0, or -ESRCH with *@out as it was. */
int procfs_birth(pid_t pid, struct procfs_birth *out);

/* What @pid is to itself, in the innermost of its pid namespaces; @pid when that cannot be told. */
pid_t procfs_inner_pid(pid_t pid);

/* The pid that was given out last in our namespace; -1: not known. Threads have some, too. */
long procfs_newest_pid(void);

/* Where the kernel began the stack of @pid's main thread, 0 when it does not say. */
uintptr_t procfs_stack_top(pid_t pid);

/*
 * Flags of threads that the kernel runs for a process and that never return to user mode:
 * io_uring's workers (since Linux 5.12), and vhost's too (6.4). Source: the kernel's
 * include/linux/sched.h.
 */
#define PROCFS_IO_WORKER   0x10u
#define PROCFS_USER_WORKER 0x4000u

/* The kernel's flags of thread @tid of @pid, PF_...; 0 when it has gone. */
unsigned procfs_flags(pid_t pid, pid_t tid);

/* What "status" says of a thread and its process. In sets of signals number 1 is the lowest bit. */
struct procfs_status {
	pid_t inner_tid;  /* the thread's number in the innermost of its pid namespaces */
	uint64_t blocked; /* signals that the thread blocks */
	uint64_t ignored, caught; /* signals that the process ignores, or has handlers for */
	uint32_t filters; /* of seccomp; Linux before 5.9 says only whether there are any: 0 or 1 */
	bool is_strict;	  /* SECCOMP_MODE_STRICT */
};

/*
 * Read "status" of thread @tid of @pid, or of @pid itself where @tid is 0. Returns 0 or -ESRCH with
 * *@out as it was.
 */
int procfs_status(pid_t pid, pid_t tid, struct procfs_status *out);

/*
 * Up to @room threads of @pid into @tids. Returns how many there are, which may be more, or -errno.
 */
long procfs_threads(pid_t pid, pid_t *tids, size_t room);

/*
 * Open /proc/@pid/task/@tid/@name to be read many times. Returns a descriptor, for procfs_close(),
 * or -errno.
 */
int procfs_open(pid_t pid, pid_t tid, const char *name);
void procfs_close(int file);

/* What the scheduler says of a thread. */
struct procfs_clock {
	uint64_t cpu_ns;    /* time on a CPU; while it is on one, up to the kernel's last tick */
	uint64_t waited_ns; /* time it was ready to run and another one ran, up to its last turn */
	uint64_t turns;	    /* times it was given a CPU */
};

/* Read "schedstat". Returns 0 or -errno with *@out as it was. */
int procfs_clock_read(int file, struct procfs_clock *out);

/* How often a thread went off its CPU. */
struct procfs_switches {
	char state;  /* as procfs_state() */
	long sleeps; /* because it had nothing to do */
	long pushes; /* against its will */
};

/* Read "status". Returns 0 or -errno with *@out as it was. */
int procfs_switches_read(int file, struct procfs_switches *out);

/* What a thread that sleeps waits in, and where it will go on. */
struct procfs_syscall {
	long number; /* of the system call; -1: in none */
	uint64_t arguments[6];
	uint64_t sp, pc;
};

/*
 * Read "syscall". Returns 0, -EAGAIN: it runs, or is about to; or another -errno, -EPERM among
 * them: who may trace the thread may ask. *@out is as it was then. The thread does not notice.
 */
int procfs_syscall_read(int file, struct procfs_syscall *out);

/* How many threads process @pid has, 0 when it has gone. */
unsigned procfs_thread_count(pid_t pid);

/*
 * What "stat" says of a thread. CPU times are in ticks of 10 ms, whatever the kernel's own tick is.
 */
struct procfs_stat {
	char state;	/* as procfs_state() */
	unsigned flags; /* as procfs_flags() */
	uint64_t user_ticks, kernel_ticks; /* CPU time in user mode and in the kernel */
};

/* Read "stat". Returns 0 or -errno with *@out as it was. */
int procfs_stat_read(int file, struct procfs_stat *out);

/* Does @pid still run? A zombie does not, unless only its main thread is one. */
int procfs_is_running(uint32_t pid);

/* CPU time of @pid by now in nanoseconds, 0 when it can't be told. */
uint64_t procfs_cpu_ns(uint32_t pid);

/*
 * How many seccomp filters the main thread of @pid has; Linux before 5.9 says only whether.
 * 0 when it can't be told.
 */
uint32_t procfs_filters(uint32_t pid);

#endif
