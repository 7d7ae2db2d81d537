/* SPDX-License-Identifier: MIT */
/*
 * Functions that the interposers share. An interposer does the library's work and calls the next
 * definition of its function, usually libc's. It never changes a result.
 */
#ifndef LIBPROF_PRELOAD_PRELOAD_H
#define LIBPROF_PRELOAD_PRELOAD_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/sampler/sampler.h"

/* An interposer: visible, and without a symbol version (a version would disable it silently). */
#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* Make the key of preload_thread(). Context: the constructor, a thread that will be sampled. */
void preload_make_key(void);

/*
 * Look up the next definitions of functions that programs call in signal handlers, because dlsym()
 * may wait for a lock or free memory there. Context: the constructor.
 */
void preload_resolve_masks(void);

/* Look up sigsuspend(), which garbage collectors call in handlers to stop threads. */
void preload_resolve_sigsuspend(void);

/* Look up _exit() and execve(), which most fork children call. Context: not a handler. */
void preload_resolve_leave(void);

/* Returns the next definition of @name; not NULL if libc has one. Context: not a handler. */
void *preload_next(const char *name);

/* Returns the calling thread's entry; NULL if it has none. Context: not a handler. */
struct sampler_thread *preload_thread(void);
void preload_set_thread(struct sampler_thread *thread);

/* Begin to sample the calling thread, whose entry is @thread. Context: not a handler. */
void preload_arm(struct sampler_thread *thread);

/*
 * Is the calling thread's alternate signal stack too small for the handler? A fork child has the
 * alternate stack of its parent. Context: not a handler.
 */
int preload_has_small_stack(void);

/*
 * If system call @number with arguments @a changes the action or the mask of the sampling signal,
 * do what sigaction() or pthread_sigmask() would do. Returns 1 with *@result and errno set as by
 * syscall(2), or 0: make the call. Context: signal-safe as far as those functions are.
 */
int preload_signal_call(long number, const unsigned long a[4], long *result);

/*
 * As sampler_leave(), and note whether the signal still has our handler. Context: any thread,
 * signal-safe.
 */
void preload_leave(enum wire_slot_state state);

/* Path of this library, as the dynamic linker knows it; NULL: unknown. Context: signal-safe. */
const char *preload_library_path(void);

/*
 * Has a seccomp filter been installed since the start that may forbid the library's own system
 * calls? Context: signal-safe.
 */
int preload_is_confined(void);

/* The environment of an image that is about to be exec'd, and why the library will not be in it. */
struct preload_handover {
	/* the environment, borrowed; may be NULL */
	char *const *given;
	/* its last LD_PRELOAD, which ld.so reads; NULL: none */
	char *variable;
	const char *library;	    /* path of this library, borrowed */
	/* the library is added to or removed from @variable */
	int is_added, is_dropped;
	/* WIRE_ENV to be added; borrowed; NULL: not added */
	const char *channel;
	/* for preload_environment(); 0: @given is used as it is */
	size_t bytes;
	/* why the library will not be in it; 0: it will */
	enum wire_unprofiled cause;
	int is_counted;		    /* @cause was counted in the arena */
	/* a seccomp filter was installed unseen: make no more calls */
	int is_unseen;
};

/* Value for @directory: search the file along PATH, as execvp() does. */
#define PRELOAD_ALONG_PATH (-1000)

/*
 * Decide which environment the image gets that is about to be exec'd, and count the cause if the
 * library will not be in it.
 *
 * @environment  the one that the program gave; borrowed
 * @directory	 descriptor that @file is relative to, AT_FDCWD, or PRELOAD_ALONG_PATH
 * @file	 path of the program; "": it is open at @directory
 *
 * Context: any thread, a handler, a vfork child; uses 3 KB of stack and the length of PATH.
 */
void preload_hand_over(struct preload_handover *handover, char *const *environment,
	int directory, const char *file);

/*
 * Returns the environment for the image: @given, or a changed copy in @room, which has
 * @handover->bytes. Context: as preload_hand_over().
 */
char *const *preload_environment(const struct preload_handover *handover, void *room);

/* The exec failed: undo the count. Context: as preload_hand_over(). */
void preload_restore(const struct preload_handover *handover);

/*
 * Returns why the library cannot be in the program @file, or in its interpreter if it is a script
 * (enum wire_unprofiled; 0: it can); or -errno if the file cannot be read. Context: as
 * preload_hand_over().
 */
int preload_find_obstacle(char *const *environment, int directory, const char *file);

/*
 * The decision of preload_hand_over() alone, without reading files.
 *
 * @library  path of the library
 * @run	     WIRE_ENV with the value of this process's run; NULL: it is in none
 * @found    result of preload_find_obstacle()
 *
 * Context: as preload_hand_over().
 */
void preload_plan_handover(struct preload_handover *handover, char *const *environment,
	const char *library, const char *run, int found);

/* Keep a copy of WIRE_ENV's @value, borrowed for the call. */
void preload_store_channel(const char *value);

#endif
