/* SPDX-License-Identifier: MIT */
/*
 * An arena: chunks of equal stubs, and which of their slots are free. Making and freeing a stub
 * takes no lock: a slot that was never used comes by one addition, a freed one from a list by one
 * exchange.
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
	struct flameprof_arena *next; /* of all arenas; under arenas_lock() */
	flameprof_function *target; /* what the stubs' shared word holds */
	flameprof_function *near;   /* where the code is put, because the stubs call there */
	enum flameprof_code_kind kind;
	int hides_target;
	struct arch_stub_shape shape;
	struct arch_stub_template stub;
	uint32_t status; /* atomic: enum flameprof_stub_status */
	/*
	 * The freed slots, last in first out; atomic. Low half: chunk number << 20 | slot, plus 1;
	 * 0: none. High half: counts the changes, so that a list that looks the same and is not is
	 * told apart. A free slot's payload is the low half for the one below it.
	 */
	uint64_t free_list;
	struct chunk *current; /* atomic: where slots that were never used come from */
	pthread_mutex_t lock;  /* chunk, chunks: for the writers */
	uint32_t chunks;
	struct chunk *chunk[ARENA_CHUNKS_MAX]; /* atomic */
	struct arena_suspended *suspended;     /* suspend.c's */
	struct flameprof_arena *next_intercept; /* intercept.c's */
	const struct arena_owner *owner;	/* NULL: the host, by flameprof_arena_new() */
};

/* What whoever makes an arena's stubs of its own accord does when they end and come again. */
struct arena_owner {
	/* All stubs have ended: forget where they were. */
	void (*clear_known)(void);
	/* Their shape is to fit the CPU and the process that the image goes on in. */
	void (*prepare)(struct arch_stub_shape *shape);
	/* @stub is there again. */
	void (*restore_known)(flameprof_function *stub, uint32_t stack_words);
};

#define ARENA_SLOT_BITS 20

/* The name of a stub without one. */
#define ARENA_NO_NAME "[anonymous]"

/*
 * An arena of any kind of stubs, empty if there is no executable memory: arena->status says why.
 *
 * @out  gets it, owned: flameprof_arena_free()
 *
 * Returns 0, -EINVAL or -ENOTSUP for what no stub can do, -ENOMEM.
 */
int arena_new(struct flameprof_arena **out, enum flameprof_code_kind kind,
	const struct arch_stub_shape *shape, flameprof_function *target, flameprof_function *near);

/* As flameprof_stub_new(), but NULL where there can be no stub. */
flameprof_function *arena_new_stub(
	struct flameprof_arena *arena, const char *name, uintptr_t payload);

/* End all stubs and give up all chunks. Context: nobody makes or frees stubs of the arena. */
void arena_drop_chunks(struct flameprof_arena *arena);

/* The function to hand out where there is no stub with @payload. */
static inline flameprof_function *arena_plain(
	const struct flameprof_arena *arena, uintptr_t payload)
{
	if (arena->kind == FLAMEPROF_CODE_INTERCEPT)
		return (flameprof_function *)payload;
	return arena->kind == FLAMEPROF_CODE_CALL_STUB ? arena->target : NULL;
}

void arena_set_status(struct flameprof_arena *arena, enum flameprof_stub_status status);

/*
 * Are all arenas between suspend and resume? arenas_suspend() says whether from now on, and returns
 * what was before. Context: any thread; suspend.c.
 */
int arenas_are_suspended(void);
int arenas_suspend(int is_suspended);

/* All arenas, from *@first on by `next`, until arenas_unlock(). */
void arenas_lock(struct flameprof_arena **first);
void arenas_unlock(void);

#endif
