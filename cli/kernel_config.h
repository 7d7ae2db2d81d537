/* SPDX-License-Identifier: MIT */
/*
 * What the running kernel was built with. Context: any thread.
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
 * Is it certain that a CPU timer may break off a system call? Without
 * CONFIG_POSIX_CPU_TIMERS_TASK_WORK (Linux 5.9) its signal is sent from the tick, in the midst of
 * the thread's call; with it on the way out of that. Where nobody tells, nothing is certain.
 */
bool kernel_config_breaks_off_calls(void);

#endif
