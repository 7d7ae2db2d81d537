/* SPDX-License-Identifier: MIT */
/*
 * What the interposers share. An interposer does its work, then calls what libc would have run; it
 * never changes a result.
 */
#ifndef LIBPROF_PRELOAD_PRELOAD_H
#define LIBPROF_PRELOAD_PRELOAD_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/sampler/sampler.h"

/* An interposer: visible, and without a symbol version (a version would disable it silently). */
#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* What preload_thread() answers from. Context: the constructor, a thread about to be sampled. */
void preload_make_key(void);

/*
 * Look up what programs call in their handlers: a look-up there may wait for a lock, or free the
 * text of an error that nobody asked for. Context: the constructor.
 */
void preload_resolve_masks(void);

/* Look up what _exit() calls. Context: not a handler. */
void preload_resolve_exit(void);

/* The next definition of @name after ours; never NULL for what libc has. Context: not a handler. */
void *preload_next(const char *name);

/* The calling thread's state, NULL when no session sampled it. Context: not a handler. */
struct sampler_thread *preload_thread(void);
void preload_set_thread(struct sampler_thread *thread);

/* Arm the calling thread with @thread and remember it while it is sampled. Context: no handler. */
void preload_arm(struct sampler_thread *thread);

/* Where this library is, as the dynamic linker was told. NULL: unknown. Context: signal-safe. */
const char *preload_library_path(void);

/* Look for a CPython to name the functions of, if that was asked for. Context: the constructor. */
void preload_python_find(void);

/*
 * Name its functions from now on, if there is one and the calling thread runs it.
 * Context: any thread, also a handler and a vfork child once it was installed.
 */
void preload_python_install(void);

/*
 * The bytes preload_environment() needs to take this library out of @environment, 0 when an image
 * exec'd with it can load the library and use it. Context: any thread, a vfork child.
 */
size_t preload_environment_bytes(char *const *environment);

/*
 * A copy of @environment in @room, of preload_environment_bytes(), whose LD_PRELOAD lacks this
 * library. Borrows the strings of @environment. Context: as above.
 */
char **preload_environment(char *const *environment, void *room);

#endif
