/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Call the readers of runtimes (runtime.h) during one stack walk, and insert each run of language
 * frames before its activation's frame. runs->word converts a language frame to a wire frame
 * (wire.h). Walks in the handler and walks from outside by ptrace use the same code.
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
	/* runtime_stack.state of the thread's last walk, then of this one; or 0 */
	uintptr_t known;
	runtime_walk_word_fn *word;
	void *context;			 /* the argument of @word */
	/* with an evaluator; NULL until the walk reaches it */
	const struct runtime *runtime;
	/* the runtime that generates code; NULL: none */
	const struct runtime *generator;
	/* caller's flag: readers may make system calls */
	int is_asked;
	/* -errno of a reader of @runtime: no more runs are written */
	int error;
	/* -errno of @generator: all language frames are removed */
	int frame_error;
	int has_innermost_run; /* the frame at @pc had a run */
	/* set by runtime_walk_finish(): every run has its activation */
	int is_whole;
	/* Activations of the evaluator: pointers into the walk's array of frames; NULL: none. */
	/* the counted activation for which no run was left */
	const uint64_t *unfilled;
	const uint64_t *activation; /* the last activation */
	/* last frame of runtime->joiner that called an activation */
	const uint64_t *joiner;
	/* end of the written runs; NULL: all were written */
	const uint64_t *cut;
	/* runtime->start called the outermost activation */
	int has_start;
	/* borrowed; may be NULL without @generator */
	struct runtime_walk_expanded *expanded;
	uint64_t epoch;				/* part of the keys of @expanded */
	/* position in the language stack of @runtime */
	struct runtime_stack stack;
	struct runtime_stack generated;		/* in code of @generator */
	struct runtime_reader reader;
};

/*
 * A cache entry: the wire frames of one native frame of generated code. Zero it before the
 * first use. Any thread may use the cache at any time: readers and writers skip an entry that is
 * being written.
 */
#define RUNTIME_WALK_EXPANDED	   4096u /* a power of two */
/* language frames of one native frame, at most */
#define RUNTIME_WALK_EXPANDED_DEEP 30u
struct runtime_walk_expanded {
	/* atomic; odd while the entry is written */
	uint32_t version;
	uint32_t count;	  /* atomic, as @key and @frames are */
	uint64_t key;
	uint64_t frames[RUNTIME_WALK_EXPANDED_DEEP];
};

/* Fill in all but @thread, @known, @generator, @expanded, @epoch and @reader. */
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

/* Ask the runtime for the caller of @at, as UNWIND_ASK (unwind/unwind_core.h) does. */
int runtime_walk_step(struct runtime_walk *runs, struct unwind_activation *at);

/*
 * Write @frame's language frames, as UNWIND_RUN (unwind/unwind_core.h) does. @runtime is that of
 * the frame's module, or NULL.
 */
unsigned runtime_walk_frames(struct runtime_walk *runs, const struct runtime *runtime,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room);

/*
 * Set frame->first_line by kind->line() if it is RUNTIME_LINE_LATER. Returns 0, or -EAGAIN if the
 * runtime does not know it yet.
 */
int runtime_walk_first_line(struct runtime_walk *runs, struct runtime_frame *frame);

/*
 * End a walk of @n @frames, which reached the outermost frame if @is_rooted. Set runs->is_whole if
 * every run has its activation. Otherwise remove all language frames if runs are counted, or if
 * they are paired and may have the wrong activations. Returns how many frames are left. If
 * runs->cut is not NULL then, the outermost frames are missing, as with WIRE_END_DEPTH.
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
