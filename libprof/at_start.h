/* SPDX-License-Identifier: MIT */
/*
 * Where the few variables lie that every process touches, those that only start and end included.
 * The dynamic linker writes to the library's initialised data anyway; what lies beside it costs no
 * page fault, where a page of its own costs several hundred times what is done with it.
 *
 * A page fault costs more than all that a start computes, so code of every start is linked
 * first, the clock is read by system call, a slot and its ring share a page of the arena, and
 * the program's path is asked for with its first frame. The library has no start files, which
 * have the dynamic linker look for four names, three in vain. Most of libc is looked up when
 * called: of 160 names few are needed by an image that only runs. Handlers and interposers are
 * compiled without a linkage table, so that no look-up happens in them; masks are looked up at
 * the start, because programs set them in handlers.
 */
#ifndef LIBPROF_AT_START_H
#define LIBPROF_AT_START_H

/* For what is small: all of it shall stay within one page. */
#define AT_START __attribute__((section(".data.at_start")))

#endif
