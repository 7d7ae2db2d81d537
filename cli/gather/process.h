/* SPDX-License-Identifier: MIT */
/*
 * What can be seen of somebody else's process by its pid.
 */
#ifndef CLI_GATHER_PROCESS_H
#define CLI_GATHER_PROCESS_H

#include <stdint.h>

/* Does @pid still run? A zombie does not, unless only its main thread is one. Context: any. */
int process_is_running(uint32_t pid);

/* CPU time of @pid by now in nanoseconds, 0 when it can't be told. Context: any. */
uint64_t process_cpu_ns(uint32_t pid);

/*
 * How many seccomp filters the main thread of @pid has; Linux before 5.9 says only whether.
 * 0 when it can't be told. Context: any.
 */
uint32_t process_filters(uint32_t pid);

#endif
