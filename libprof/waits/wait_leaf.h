/* SPDX-License-Identifier: MIT */
/*
 * What a thread waits for, as the leaf of its stack: from the system call that it sleeps in to a
 * frame on the wire, and from there to words. Every system call that waits, and of which kind that
 * is, is told here alone.
 */
#ifndef LIBPROF_WAITS_WAIT_LEAF_H
#define LIBPROF_WAITS_WAIT_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/procfs.h"
#include "libprof/wire.h"

#define WAIT_LEAF_BYTES 64

/*
 * The frame of a thread of @pid that sleeps in @call. @details, NULL: none are wanted, gets what is
 * waited for in particular, a file's name or an address; "" when there is nothing of the sort.
 * Context: any thread; takes two system calls where a file is waited for.
 */
uint64_t wait_leaf(pid_t pid, pid_t tid, const struct procfs_syscall *call, char details[PATH_MAX]);

/* Is system call @number (-1: none) one in which threads wait for something to do? */
bool wait_leaf_is_rest(int number);

/* How @frame, a WIRE_FRAME_WAIT, is called: "[futex]", "[read: pipe]". */
void wait_leaf_name(uint64_t frame, char name[WAIT_LEAF_BYTES]);

/* And of which kind that is, as CALLTREE_WAIT has it: "lock", "io", ...; "": not known. */
const char *wait_leaf_kind(uint64_t frame);

#endif
