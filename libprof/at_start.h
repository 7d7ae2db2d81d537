/* SPDX-License-Identifier: MIT */
/*
 * Place variables that every process writes, at least at its start or end, beside the library's
 * initialised data. The dynamic linker writes those pages anyway, so such a variable costs no page
 * fault of its own. Without this section an exec has 13 page faults more, which cost more than all
 * that the library computes at a start.
 */
#ifndef LIBPROF_AT_START_H
#define LIBPROF_AT_START_H

/* Use it for small variables only: together they have to fit in one page. */
#define AT_START __attribute__((section(".data.at_start")))

#endif
