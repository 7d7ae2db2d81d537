/* SPDX-License-Identifier: MIT */
/*
 * Find out which options the running kernel was built with. Each call reads a file of some hundred
 * KB. Context: any thread.
 */
#ifndef CLI_KERNEL_CONFIG_H
#define CLI_KERNEL_CONFIG_H

#include <stdbool.h>

/*
 * Does the configuration in file @path (perhaps compressed) set @option, such as "CONFIG_HZ", to
 * "y"? Returns 1 or 0, or -ENOENT if there is no such file or it is no kernel's configuration.
 */
int kernel_config_has(const char *path, const char *option);

/*
 * Can signals of this kernel's CPU timers interrupt a system call? With
 * CONFIG_POSIX_CPU_TIMERS_TASK_WORK (since Linux 5.9) the kernel sends them only after the call.
 * Without that option it sends them from the tick, during the call. Returns false if the
 * configuration cannot be read.
 */
bool kernel_config_breaks_off_calls(void);

#endif
