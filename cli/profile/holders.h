/* SPDX-License-Identifier: MIT */
/*
 * Who had the locks that threads waited for, as a function of the holder's. Its name is part of the
 * leaf's, "[futex: held by cache_fill]": what was waited for a lock is divided among its holders in
 * every picture and profile, adds up, and takes no room where there are none.
 *
 * A holder's stack has many functions. The one that is meant is the innermost that was itself seen
 * to wait for the same lock at another time: there it is taken. Where none was, it is the innermost
 * function of the program that two thirds of what its thread held the lock are below.
 *
 * The stack of a holder that slept comes with the wait. One that ran is where its nearest sample
 * found it: its samples are a period of its CPU time apart, and without CPU time no stack changes.
 *
 * Context: one thread.
 */
#ifndef CLI_PROFILE_HOLDERS_H
#define CLI_PROFILE_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/profile/frame_namer.h"

struct holders;

/*
 * The node that parts the stack of who waits in @stack from its holder's, 0: there is none. The
 * former is in *@waiter then, below its leaf.
 */
uint32_t holders_part(const struct flameprof_profile *profile, const struct profile_stack *stack,
	struct profile_stack *waiter);

/* Of @namer's profile (borrowed). Returns an owned object; NULL: none is known, or no memory. */
struct holders *holders_new(struct frame_namer *namer);
void holders_free(struct holders *holders); /* NULL is fine */

/*
 * Who had the lock in the profile's sample number @sample: a function's name, the tree's; NULL:
 * nobody knows, or it waits for none. @holders may be NULL.
 */
const char *holders_function(struct holders *holders, uint64_t sample);

/* Is @frame the C library's or its loader's, which are in everybody's way to a wait? */
bool holders_is_libc(const struct calltree_frame *frame);

/* Is @frame a function that takes locks for others, by its name? */
bool holders_takes_locks(const struct calltree_frame *frame);

/*
 * The function in @name, a leaf's, and its length; NULL: none. @stem, if not NULL, gets the length
 * of what is in front of ": held by" or ", held by".
 */
#define HOLDERS_WORDS "held by "
const char *holders_in_name(const char *name, size_t *bytes, size_t *stem);

#endif
