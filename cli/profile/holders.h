/* SPDX-License-Identifier: MIT */
/*
 * Find the function that held the lock that a thread waited for. The function becomes part of the
 * name of the wait, "[futex: held by cache_fill]". So each picture and profile divides the time of
 * waiting for a lock among its holders.
 *
 * From the holder's stack, choose the innermost function that waited for the same lock at another
 * time, because this function acquires the lock. If there is none, choose the innermost function of
 * the program that was on the stack for two thirds of the time that the holder held the lock.
 *
 * The stack of a holder that slept is recorded with the wait. For a holder that ran, use the
 * nearest sample of the holder: its samples are one period of its CPU time apart, and its stack
 * does not change without CPU time. Context: one thread.
 */
#ifndef CLI_PROFILE_HOLDERS_H
#define CLI_PROFILE_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/profile/frame_namer.h"

struct holders;

/*
 * Returns the WIRE_FRAME_HOLDER node, which separates the waiter's stack in @stack from that of the
 * holder; 0 if there is none. If found, *@waiter is set to the waiter's stack without its leaf.
 */
uint32_t holders_part(const struct flameprof_profile *profile, const struct profile_stack *stack,
	struct profile_stack *waiter);

/*
 * Find holders of locks in @namer's profile (borrowed). Returns an owned object; NULL if none, or
 * without memory.
 */
struct holders *holders_new(struct frame_namer *namer);
void holders_free(struct holders *holders); /* NULL is fine */

/*
 * Returns the name (of the tree) of the function that held the lock for which sample number @sample
 * waits, or NULL if it is not known or the sample waits for none. @holders may be NULL.
 */
const char *holders_function(struct holders *holders, uint64_t sample);

/* Is @frame in the C library or the dynamic loader, through which every wait passes? */
bool holders_is_libc(const struct calltree_frame *frame);

/* Is @frame a function that acquires locks for its callers, judged by its name? */
bool holders_takes_locks(const struct calltree_frame *frame);

/*
 * Find the holder in @name, the name of a leaf. Returns the holder's start in @name and its length
 * in *@bytes, or NULL if there is none. If @stem is not NULL, *@stem is set to the length of the
 * text before ": held by" or ", held by".
 */
#define HOLDERS_WORDS "held by "
const char *holders_in_name(const char *name, size_t *bytes, size_t *stem);

#endif
