/* SPDX-License-Identifier: MIT */
/*
 * Where the few variables lie that every process touches, those that only start and end included.
 * The dynamic linker writes to the library's initialised data anyway; what lies beside it costs no
 * page fault, where a page of its own costs several hundred times what is done with it.
 */
#ifndef LIBPROF_AT_START_H
#define LIBPROF_AT_START_H

/* For what is small: all of it shall stay within one page. */
#define AT_START __attribute__((section(".data.at_start")))

#endif
