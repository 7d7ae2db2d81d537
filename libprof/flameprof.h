/* SPDX-License-Identifier: MIT */
/*
 * libflameprof, for programs that link it. Under flamerun the library is injected and needs none of
 * this.
 */
#ifndef FLAMEPROF_H
#define FLAMEPROF_H

#ifdef __cplusplus
extern "C" {
#endif

#define FLAMEPROF_API __attribute__((visibility("default")))

/* The library's version, "major.minor.patch". Context: signal-safe, any thread. */
FLAMEPROF_API const char *flameprof_version(void);

/* 1 while this process is being sampled, else 0. Context: signal-safe, any thread. */
FLAMEPROF_API int flameprof_active(void);

#ifdef __cplusplus
}
#endif

#endif
