/* SPDX-License-Identifier: MIT */
/*
 * Which sanitizers this file is compiled for: gcc and clang tell it in different ways.
 *
 * ThreadSanitizer does not see what walks read. A walk may read anything that is mapped;
 * reporting a race symbolizes in the handler and sets errno. What reads a walk's words is
 * exempt, nothing else.
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
