/* SPDX-License-Identifier: MIT */
/*
 * Ask which options the running kernel was built with. Context: any thread. Each call reads a file
 * of some hundred KB.
 */
#ifndef CLI_KERNEL_CONFIG_H
#define CLI_KERNEL_CONFIG_H

#include <stdbool.h>

/*
 * Has the configuration in @path, compressed or not, @option ("CONFIG_HZ") as "=y"?
 * Returns 1 or 0, or -ENOENT: the file is not there or is no kernel's configuration.
 */
int kernel_config_has(const char *path, const char *option);

/*
 * Can CPU timers of this kernel interrupt a system call? With CONFIG_POSIX_CPU_TIMERS_TASK_WORK
 * (since Linux 5.9) the kernel sends their signals when the call is over, without it from the tick,
 * during the call. Returns false where the configuration cannot be read.
 */
bool kernel_config_breaks_off_calls(void);

#endif
