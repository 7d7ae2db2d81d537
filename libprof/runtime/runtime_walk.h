/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Call the readers of runtimes (runtime.h) during one stack walk, and insert each run of language
 * frames before the native frame that executes the run (its activation). runs->word converts a
 * language frame to a wire frame (wire.h). Walks in the handler and walks from outside by ptrace
 * use the same code.
 */
#ifndef LIBPROF_RUNTIME_RUNTIME_WALK_H
#define LIBPROF_RUNTIME_RUNTIME_WALK_H

#include <stdint.h>

#include "libprof/runtime/runtime.h"
#include "libprof/wire.h"

struct runtime_walk;

/* Returns @frame as a wire frame (wire.h), or 0 if its function could not be numbered. */
typedef uint64_t runtime_walk_word_fn(struct runtime_walk *runs, struct runtime_frame *frame);

struct runtime_walk {
	struct runtime_thread thread; /* the thread that is walked */
	uintptr_t pc;		      /* of the walk's innermost frame */
	/*
	 * The runtime_stack.state of the thread: at first that of its last walk, later that of this
	 * walk; 0: not known.
	 */
	uintptr_t known;
	runtime_walk_word_fn *word;
	void *context;			 /* the argument of @word */
	/* The runtime whose evaluator the walk has reached; NULL: none yet. */
	const struct runtime *runtime;
	/* The runtime that generates code; NULL: none. */
	const struct runtime *generator;
	/* Set by the caller once it has checked that readers may make system calls. */
	int is_asked;
	/*
	 * The -errno that a reader of @runtime returned. No more runs are written after an error.
	 */
	int error;
	/* The -errno of a reader of @generator. All language frames are removed then. */
	int frame_error;
	int has_innermost_run; /* the frame at @pc had a run */
	/* Set by runtime_walk_finish() if every run was matched with a native frame. */
	int is_whole;
	/* The next four members point into the walk's array of frames; NULL: none. */
	/* The first native frame of a counted evaluator for which no run was left. */
	const uint64_t *unfilled;
	/* The evaluator's frame that the walk has reached last. */
	const uint64_t *activation;
	/* The last frame in the function at runtime->joiner that called the evaluator. */
	const uint64_t *joiner;
	/* The end of the written language frames, if a run was too long; NULL: all were written. */
	const uint64_t *cut;
	/* Set if the evaluator's last frame was called by the function at runtime->start. */
	int has_start;
	/* Borrowed; may be NULL if @generator is NULL. */
	struct runtime_walk_expanded *expanded;
	uint64_t epoch;				/* part of the keys of @expanded */
	/* The position in the language stack of @runtime. */
	struct runtime_stack stack;
	/* The position in the frames of @generator's code. */
	struct runtime_stack generated;
	struct runtime_reader reader;
};

/*
 * A cache entry: the wire frames of one native frame of generated code. Zero it before the first
 * use. Any thread may use the cache at any time: readers and writers skip an entry that is being
 * written.
 */
#define RUNTIME_WALK_EXPANDED	   4096u /* a power of two */
/* The largest number of language frames that are reported for one native frame. */
#define RUNTIME_WALK_EXPANDED_DEEP 30u
struct runtime_walk_expanded {
	/* Atomic. The number is odd while the entry is written. */
	uint32_t version;
	uint32_t count;	  /* atomic, as @key and @frames are */
	uint64_t key;
	uint64_t frames[RUNTIME_WALK_EXPANDED_DEEP];
};

/* Initialise all members but @thread, @known, @generator, @expanded, @epoch and @reader. */
static inline void runtime_walk_init(
	struct runtime_walk *runs, uintptr_t pc, runtime_walk_word_fn *word, void *context)
{
	runs->pc = pc;
	runs->word = word;
	runs->context = context;
	runs->runtime = NULL;
	runs->error = runs->frame_error = runs->is_asked = 0;
	runs->is_whole = 1;
	runs->has_innermost_run = 0;
	runs->unfilled = runs->activation = runs->joiner = runs->cut = NULL;
	runs->has_start = 0;
	runs->generated = (struct runtime_stack){0};
}

/* Ask the runtime for the caller of @at. Implements UNWIND_ASK of unwind/unwind_core.h. */
int runtime_walk_step(struct runtime_walk *runs, struct unwind_activation *at);

/*
 * Write the language frames that @frame executes. Implements UNWIND_RUN of unwind/unwind_core.h.
 * @runtime is the runtime of the frame's module, or NULL.
 */
unsigned runtime_walk_frames(struct runtime_walk *runs, const struct runtime *runtime,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room);

/*
 * If frame->first_line is RUNTIME_LINE_LATER, set it by kind->line(). Returns 0, or -EAGAIN if the
 * runtime does not know the line yet.
 */
int runtime_walk_first_line(struct runtime_walk *runs, struct runtime_frame *frame);

/*
 * End a walk of @n @frames, which reached the outermost frame if @is_rooted. Set runs->is_whole if
 * every run was matched with a native frame of the evaluator. Otherwise, remove all language frames
 * of a counted runtime, and those of a paired runtime if its runs may have been matched with wrong
 * frames. Returns the number of frames that are left. If runs->cut is not NULL afterwards, the
 * outermost frames are missing: the caller reports WIRE_END_DEPTH.
 */
unsigned runtime_walk_finish(
	struct runtime_walk *runs, uint64_t *frames, unsigned n, int is_rooted);

/* Apply runtime_walk_finish() to the @result of a walk. */
static inline void runtime_walk_end(
	struct runtime_walk *runs, uint64_t *frames, struct unwind_result *result)
{
	result->frames =
		runtime_walk_finish(runs, frames, result->frames, result->end == WIRE_END_ROOT);
	if (runs->cut)
		result->end = WIRE_END_DEPTH;
}

/* Returns the line that @frame executes, or 0 if there is none. */
uint32_t runtime_walk_line(struct runtime_walk *runs, const struct runtime_frame *frame);

#endif
