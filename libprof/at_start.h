/* SPDX-License-Identifier: MIT */
/*
 * Where the few variables lie that every process touches, those that only start and end included.
 * The dynamic linker writes to the library's initialised data anyway; what lies beside it costs no
 * page fault, where a page of its own costs several hundred times what is done with it.
 *
 * A page fault costs more than all that a start computes: 3 to 5 us where that was measured, a
 * system call 0.1 to 0.4. So code of every start and end is linked first, its constants before it
 * (at_start.ld), within the sixteen pages that are mapped for the dynamic linker; tables hold text
 * instead of pointers to be relocated; the clock is read by system call; a slot and its ring
 * share a page of the arena; threads' entries are counted from the image's first ring; the
 * program's path is asked for with its first frame. What fork children call is looked up in their
 * parent. The library has no start files, which have the dynamic linker look for four names, three
 * in vain. Most of libc is looked up when called: of 160 names few are needed by an image that only
 * runs. Handlers and interposers are compiled without a linkage table, so that no look-up happens
 * in them; masks are looked up at the start, because programs set them in handlers.
 *
 * What is left of an exec's CPU time, by having the start end at one place after the other: some
 * 100 us over an unprofiled /bin/true with its fork. Each is within 2 us, all on one CPU:
 *   11  the fork child
 *    2  the look at the program's file, before the exec
 *   21  any library that is preloaded
 *   14  loading this one instead of an empty one, 5 MB of zeroes 2 of these
 *   17  the arena: 9 to open it by way of /proc, its caches cold, 4 to map it, 4 for its first page
 *    6  the key, masks, where the program lies, SIGVTALRM
 *   11  the slot, and telling at the end what was used
 *    7  the thread's entry and timer
 *    0  the fork handlers, looking at the counter, keeping the arena out of core dumps
 * In a row of execs every third slot lies outside of the arena's first pages: 4 more. Half as many
 * look-ups when it is loaded would spare 1; no timer 2; not to ask for its namespace 2 at most. No
 * RELRO, with the dynamic section beside the zeroes, would spare 5, and is not worth it.
 */
#ifndef LIBPROF_AT_START_H
#define LIBPROF_AT_START_H

/* For what is small: all of it shall stay within one page. */
#define AT_START __attribute__((section(".data.at_start")))

#endif
