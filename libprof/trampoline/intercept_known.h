/* SPDX-License-Identifier: MIT */
/*
 * Which intercept stubs there are, by original, name and stack words: a table of hashes and
 * addresses, because all else lies in the stubs' slots. Its lock is held alone.
 */
#ifndef LIBPROF_TRAMPOLINE_INTERCEPT_KNOWN_H
#define LIBPROF_TRAMPOLINE_INTERCEPT_KNOWN_H

#include <stdint.h>

#include "libprof/flameprof_vm.h"

/* What a stub is known by. */
struct intercept_wanted {
	flameprof_function *original;
	const char *name; /* borrowed; what a stub without one has for NULL and "" */
	uint32_t stack_words;
	uint64_t hash;
};

struct intercept_wanted intercept_wanted(
	flameprof_function *original, const char *name, uint32_t words);

/*
 * The stub that stands for what is @wanted; NULL: none does.
 * @error  gets 0, or -ENOMEM where there is no room to add one
 */
flameprof_function *intercept_known_find(const struct intercept_wanted *wanted, int *error);

/*
 * @stub shall stand for what is @wanted, unless another does already.
 * Returns the one that does; NULL without memory.
 */
flameprof_function *intercept_known_add(
	const struct intercept_wanted *wanted, flameprof_function *stub);

/*
 * For image.c. The stubs of all intercept arenas have ended: forget where they were. And after they
 * were made again: know them again; one for which there is no memory is only not found again.
 * Context: nobody makes stubs meanwhile.
 */
void intercept_forget_all(void);
void intercept_remember(flameprof_function *stub, uint32_t stack_words);

/* Hold the lock across fork(). Context: pthread_atfork handlers. */
void intercept_fork_prepare(void);
void intercept_fork_done(void);

#endif
