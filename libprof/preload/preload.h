/* SPDX-License-Identifier: MIT */
/*
 * Functions that the interposers share. An interposer does the library's work and calls the next
 * definition of its function, usually libc's. The program gets the results that it would get
 * without the library.
 */
#ifndef LIBPROF_PRELOAD_PRELOAD_H
#define LIBPROF_PRELOAD_PRELOAD_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/sampler/sampler.h"

/*
 * An interposer must be visible, and must not have a symbol version, because ld.so would then
 * prefer libc's function without a message.
 */
#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* Make the key of preload_thread(). Context: the constructor, or a thread that will be sampled. */
void preload_make_key(void);

/*
 * Look up the next definitions of functions that programs call in signal handlers, because dlsym()
 * may wait for a lock or free memory there. Context: the constructor.
 */
void preload_resolve_masks(void);

/*
 * Look up the next definition of sigsuspend() in advance, because garbage collectors call it in
 * signal handlers to stop threads.
 */
void preload_resolve_sigsuspend(void);

/*
 * Look up the next definitions of _exit() and execve() in advance, once in the parent, because most
 * fork children call one of them. Context: not a handler.
 */
void preload_resolve_leave(void);

/*
 * Returns the next definition of @name after this library's; never NULL if libc has one. Context:
 * not a handler.
 */
void *preload_next(const char *name);

/* Returns the calling thread's entry; NULL if the thread is not sampled. Context: not a handler. */
struct sampler_thread *preload_thread(void);
void preload_set_thread(struct sampler_thread *thread);

/* Begin to sample the calling thread, whose entry is @thread. Context: not a handler. */
void preload_arm(struct sampler_thread *thread);

/*
 * Returns 1 if the calling thread's alternate signal stack is too small for the handler. A fork
 * child has the alternate stack of its parent. Context: not a handler.
 */
int preload_has_small_stack(void);

/*
 * If system call @number with arguments @a changes the action or the mask of the sampling signal,
 * do what sigaction() or pthread_sigmask() would do. Returns 1 with *@result and errno set as by
 * syscall(2); 0 if the caller must make the call. Context: as signal-safe as sigaction() and
 * pthread_sigmask().
 */
int preload_signal_call(long number, const unsigned long a[4], long *result);

/*
 * Do what sampler_leave() does, and record whether the signal still has this library's handler.
 * Context: any thread, signal-safe.
 */
void preload_leave(enum wire_slot_state state);

/* Returns this library's path, as the dynamic linker knows it, or NULL. Context: signal-safe. */
const char *preload_library_path(void);

/*
 * Returns 1 if a seccomp filter that may forbid the library's own system calls was installed since
 * the start. Context: signal-safe.
 */
int preload_is_confined(void);

/*
 * The environment of a process image that is about to be exec'd, and the reason why the image will
 * not have the library.
 */
struct preload_handover {
	/* The program's environment, borrowed; may be NULL. */
	char *const *given;
	/* The last LD_PRELOAD in `given`, which is the one that ld.so reads; NULL: none. */
	char *variable;
	const char *library;	    /* path of this library, borrowed */
	/* Set if the library must be added to `variable`, or removed from it. */
	int is_added, is_dropped;
	/* WIRE_ENV variable to be added, borrowed; NULL: not added. */
	const char *channel;
	/* Bytes that preload_environment() needs; 0: `given` is used unchanged. */
	size_t bytes;
	/* Reason why the image will not have the library; 0: it will. */
	enum wire_unprofiled cause;
	int is_counted; /* `cause` was counted in the arena */
	/*
	 * Set if the process has a seccomp filter whose installation the library did not see. Then
	 * the library must not make any more system calls.
	 */
	int is_unseen;
};

/* Value for @directory: search for the file along PATH, as execvp() does. */
#define PRELOAD_ALONG_PATH (-1000)

/*
 * Decide which environment to pass to an exec, and count the cause if the new image will not have
 * the library.
 *
 * @environment  the program's environment for the exec; borrowed
 * @directory    descriptor that @file is relative to, AT_FDCWD, or PRELOAD_ALONG_PATH
 * @file         path of the program; "": the program is the file open at @directory
 *
 * Context: any thread, a handler, a vfork child; uses 3 KB of stack and the length of PATH.
 */
void preload_hand_over(struct preload_handover *handover, char *const *environment,
	int directory, const char *file);

/*
 * Returns the environment for the image: @handover->given, or a changed copy in @room, which has
 * @handover->bytes bytes. Context: as preload_hand_over().
 */
char *const *preload_environment(const struct preload_handover *handover, void *room);

/* Undo the count of preload_hand_over() after the exec failed. Context: as preload_hand_over(). */
void preload_restore(const struct preload_handover *handover);

/*
 * Returns the reason (enum wire_unprofiled) why the library cannot be in the program @file, or in
 * its interpreter if it is a script; 0 if it can; -errno if the file cannot be read. Context: as
 * preload_hand_over().
 */
int preload_find_obstacle(char *const *environment, int directory, const char *file);

/*
 * Make the decision of preload_hand_over(), without reading files or counting.
 *
 * @library  path of the library
 * @run      WIRE_ENV variable of the flamerun that profiles this process; NULL: none
 * @found    result of preload_find_obstacle()
 *
 * Context: as preload_hand_over().
 */
void preload_plan_handover(struct preload_handover *handover, char *const *environment,
	const char *library, const char *run, int found);

/* Keep a copy of WIRE_ENV's @value, borrowed for the call. */
void preload_store_channel(const char *value);

#endif
