/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's calls are called, from the headers that flamerun was compiled with.
 *
 * Context: any thread.
 */
#ifndef CLI_SYMBOLS_SYSTEM_CALLS_H
#define CLI_SYMBOLS_SYSTEM_CALLS_H

/* The name of system call @number of this CPU ("read"); NULL: it has none. */
const char *system_calls_name(long number);

#endif
