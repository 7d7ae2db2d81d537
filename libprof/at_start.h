/* SPDX-License-Identifier: MIT */
/*
 * Where the few variables lie that every process touches, those that only start and end included.
 * The dynamic linker writes to the library's initialised data anyway; what lies beside it costs no
 * page fault, where a page of its own costs several hundred times what is done with it.
 *
 * A page fault costs more than all that a start computes: 3 to 5 us where that was measured, a
 * system call 0.1 to 0.4. So code of every start and end is linked first, within the sixteen pages
 * that are mapped for the dynamic linker; the clock is read by system call; a slot and its ring
 * share a page of the arena; threads' entries are counted from the image's first ring; the
 * program's path is asked for with its first frame. What fork children call is looked up in their
 * parent. The library has no start files, which have the dynamic linker look for four names, three
 * in vain. Most of libc is looked up when called: of 160 names few are needed by an image that only
 * runs. Handlers and interposers are compiled without a linkage table, so that no look-up happens
 * in them; masks are looked up at the start, because programs set them in handlers.
 *
 * What is left of an exec's CPU time, by leaving out one thing at a time: some 105 us over an
 * unprofiled /bin/true with its fork, of which 20 are those of any library that is preloaded, 12
 * the fork's, 9 the look at the program's file, 4 to 8 the two timers, and the rest 12 page faults,
 * mapping the arena, and unmapping it twice. Without RELRO, without looking masks up, with less
 * than 2 MB of zeroes, or with constants before the code, no difference showed: each is below 5 us.
 */
#ifndef LIBPROF_AT_START_H
#define LIBPROF_AT_START_H

/* For what is small: all of it shall stay within one page. */
#define AT_START __attribute__((section(".data.at_start")))

#endif
