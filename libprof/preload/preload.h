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

/* The part of that for sigsuspend(), by which garbage collectors stop threads in a handler. */
void preload_resolve_sigsuspend(void);

/* Look up what a fork child mostly calls: _exit() and execve(). Context: not a handler. */
void preload_resolve_leave(void);

/* The next definition of @name after ours; never NULL for what libc has. Context: not a handler. */
void *preload_next(const char *name);

/* The calling thread's state, NULL when no session sampled it. Context: not a handler. */
struct sampler_thread *preload_thread(void);
void preload_set_thread(struct sampler_thread *thread);

/* Arm the calling thread with @thread and remember it while it is sampled. Context: no handler. */
void preload_arm(struct sampler_thread *thread);

/*
 * Is the calling thread's alternate signal stack too small for our handler? A fork child has its
 * parent's. Context: not a handler.
 */
int preload_has_small_stack(void);

/*
 * If system call @number with arguments @a is about our signal, do what sigaction() or
 * pthread_sigmask() would. Returns 1 with *@result and errno set as syscall(2) does, or 0: the
 * kernel has to be called. Context: signal-safe as far as those are.
 */
int preload_signal_call(long number, const unsigned long a[4], long *result);

/*
 * As sampler_leave(), and note whether the signal still has our handler. Context: any thread,
 * signal-safe.
 */
void preload_leave(enum wire_slot_state state);

/* Where this library is, as the dynamic linker was told. NULL: unknown. Context: signal-safe. */
const char *preload_library_path(void);

/*
 * Does a known seccomp filter that came after the start perhaps forbid system calls that only the
 * library makes? Context: signal-safe.
 */
int preload_is_confined(void);

/* What an exec'd image is handed, and why it will go without the library. */
struct preload_handover {
	char *const *given;	    /* the environment, borrowed; may be NULL */
	char *variable;		    /* its LD_PRELOAD, the one that ld.so reads; NULL: none */
	const char *library;	    /* ours, borrowed */
	int is_added, is_dropped;   /* the library, to or from @variable */
	const char *channel;	    /* the other variable where it is missing; borrowed, or NULL */
	size_t bytes;		    /* preload_environment() needs; 0: @given stays as it is */
	enum wire_unprofiled cause; /* 0: nothing keeps the library out */
	int is_counted;
	int is_unseen; /* the process has a seccomp filter that nobody saw: no calls any more */
};

/* For @directory: the file is looked for along PATH, as execvp() does. */
#define PRELOAD_ALONG_PATH (-1000)

/*
 * Decide what an image exec'd from @file (relative to @directory, which may be AT_FDCWD; "": it is
 * open at @directory) with @environment is to be handed, and count why it goes without us.
 * Borrows the environment. Context: any thread, a handler, a vfork child; 3 KB of stack and PATH's.
 */
void preload_hand_over(struct preload_handover *handover, char *const *environment,
	int directory, const char *file);

/*
 * The environment to be handed over: @given, or a copy of its pointers in @room, of
 * @handover->bytes. Context: as above.
 */
char *const *preload_environment(const struct preload_handover *handover, void *room);

/* The exec failed: nobody went without us. Context: as above. */
void preload_restore(const struct preload_handover *handover);

/*
 * What the program in @file has against the library (enum wire_unprofiled, 0 for nothing), or its
 * interpreter if it is a script. Returns -errno where nothing can be said. Context: as above.
 */
int preload_find_obstacle(char *const *environment, int directory, const char *file);

/*
 * The decision alone, about a @library of any name. @run: the variable of the run this process is
 * in, NULL: it is in none. @found: the program's obstacle.
 * Context: as above.
 */
void preload_plan_handover(struct preload_handover *handover, char *const *environment,
	const char *library, const char *run, int found);

/* Remember WIRE_ENV's @value, borrowed for the call: this process is in a run. */
void preload_store_channel(const char *value);

#endif
