/* SPDX-License-Identifier: MIT */
/*
 * Find out which sanitizers this file is compiled for; gcc and clang report them in different ways.
 *
 * Functions that read the words of a stack walk, and no others, are exempt from ThreadSanitizer: a
 * walk may read any mapped memory without a lock, and reporting a race would symbolize inside the
 * signal handler and change errno.
 */
#ifndef LIBPROF_SANITIZERS_H
#define LIBPROF_SANITIZERS_H

#if defined(__has_feature)
#define SANITIZERS_HAVE(feature) __has_feature(feature)
#else
#define SANITIZERS_HAVE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SANITIZERS_HAVE(address_sanitizer)
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZERS_HAVE(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

#endif
