/* SPDX-License-Identifier: MIT */
/*
 * An arena: chunks of equal stubs, and a list of free slots. Making and freeing a stub takes no
 * lock: a slot that was never used is claimed by one atomic addition, a freed slot by one
 * compare-and-swap.
 */
#ifndef LIBPROF_TRAMPOLINE_ARENA_H
#define LIBPROF_TRAMPOLINE_ARENA_H

#include <pthread.h>
#include <stdint.h>

#include "arch/stub.h"
#include "libprof/flameprof_stub.h"
#include "libprof/trampoline/chunk.h"

#define ARENA_CHUNKS_MAX 4096u

struct flameprof_arena {
	/* Next arena in the list of all arenas, protected by arenas_lock(). */
	struct flameprof_arena *next;
	flameprof_function *target; /* the stubs' shared word */
	/* The stubs call this function, so their code is mapped near it. */
	flameprof_function *near;
	enum flameprof_code_kind kind;
	int hides_target;
	struct arch_stub_shape shape;
	struct arch_stub_template stub;
	uint32_t status; /* atomic */
	/*
	 * Stack of freed slots, atomic. The low half names the top slot: (chunk number << 20 | slot
	 * number) + 1; 0: the stack is empty. The high half counts changes, so that a
	 * compare-and-swap fails after another thread popped and pushed the same slot (ABA). The
	 * payload of a free slot is the low half that names the next one.
	 */
	uint64_t free_list;
	/* Atomic: the chunk that has slots which were never used. */
	struct chunk *current;
	pthread_mutex_t lock;  /* for chunk, chunks */
	uint32_t chunks;
	struct chunk *chunk[ARENA_CHUNKS_MAX]; /* atomic */
	struct arena_suspended *suspended;     /* state of suspend.c */
	struct flameprof_arena *next_intercept; /* list of intercept.c */
	/* The part of the library that makes the stubs; NULL: the host makes them. */
	const struct arena_owner *owner;
};

/* Callbacks to the part of the library that makes an arena's stubs, around suspend and resume. */
struct arena_owner {
	/* Forget the addresses of all stubs, because all stubs have ended. */
	void (*clear_known)(void);
	/* Set @shape for the CPU and the process in which the saved process image is resumed. */
	void (*prepare)(struct arch_stub_shape *shape);
	/* Store the address @stub of a stub that was made again after a resume. */
	void (*restore_known)(flameprof_function *stub, uint32_t stack_words);
};

#define ARENA_SLOT_BITS 20

/* The name of a stub made without a name. */
#define ARENA_NO_NAME "[anonymous]"

/*
 * Make an arena of any kind of stubs. If the system refuses executable memory, the arena has no
 * stubs, and arena->status says why.
 *
 * @out   gets the arena, owned: flameprof_arena_free()
 * @near  the code is mapped near this function
 *
 * Returns 0; -EINVAL or -ENOTSUP if no stub can have this @shape; -ENOMEM.
 */
int arena_new(struct flameprof_arena **out, enum flameprof_code_kind kind,
	const struct arch_stub_shape *shape, flameprof_function *target, flameprof_function *near);

/* Make a stub like flameprof_stub_new(), but return NULL if that fails. */
flameprof_function *arena_new_stub(
	struct flameprof_arena *arena, const char *name, uintptr_t payload);

/* End all stubs and free all chunks. Context: no thread makes or frees stubs of the arena. */
void arena_drop_chunks(struct flameprof_arena *arena);

/* Returns the function that the host uses instead if there is no stub with @payload. */
static inline flameprof_function *arena_plain(
	const struct flameprof_arena *arena, uintptr_t payload)
{
	if (arena->kind == FLAMEPROF_CODE_INTERCEPT)
		return (flameprof_function *)payload;
	return arena->kind == FLAMEPROF_CODE_CALL_STUB ? arena->target : NULL;
}

void arena_set_status(struct flameprof_arena *arena, enum flameprof_stub_status status);

/*
 * arenas_are_suspended() returns 1 between suspend and resume. arenas_suspend() sets this state and
 * returns the old one. Context: any thread; used by suspend.c.
 */
int arenas_are_suspended(void);
int arenas_suspend(int is_suspended);

/* Lock the list of all arenas. *@first gets its first arena; `next` links the others. */
void arenas_lock(struct flameprof_arena **first);
void arenas_unlock(void);

#endif
