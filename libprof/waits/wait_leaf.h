/* SPDX-License-Identifier: MIT */
/*
 * The reason why a thread waits, as the innermost frame of its stack. Convert the system call in
 * which a thread sleeps to a frame, and the frame to text. This is the only list of system calls
 * that wait, and of their kinds.
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
 * Returns the innermost frame for thread @tid of @pid, which sleeps in @call.
 *
 * @details  receives the file's name or the lock's address, or "" if there is neither; may be NULL
 *
 * Context: any thread; makes two system calls if @call waits for a file.
 */
uint64_t wait_leaf(pid_t pid, pid_t tid, const struct procfs_syscall *call, char details[PATH_MAX]);

/* Returns true if idle threads wait for work in system call @number (-1: no call). */
bool wait_leaf_is_rest(int number);

/* Write the name of @frame, a WIRE_FRAME_WAIT: "[futex]", "[read: pipe]". */
void wait_leaf_name(uint64_t frame, char name[WAIT_LEAF_BYTES]);

/* Returns the kind of wait for CALLTREE_WAIT: "lock", "io", ...; "" if it is not known. */
const char *wait_leaf_kind(uint64_t frame);

#endif
