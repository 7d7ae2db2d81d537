/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The runs of language frames of one walk, told where the walk steps over their places. Who walks
 * says how a frame stands on the wire; nothing here differs between the inside and the outside.
 */
#ifndef LIBPROF_RUNTIME_RUNS_H
#define LIBPROF_RUNTIME_RUNS_H

#include <stdint.h>

#include "libprof/runtime/runtime.h"
#include "libprof/wire.h"

struct runs;

/* @frame as the wire has it; 0: its function can't be told. */
typedef uint64_t runs_word_fn(struct runs *runs, struct runtime_frame *frame);

struct runs {
	struct runtime_thread thread; /* whose stack it is */
	uintptr_t pc;		      /* where it was */
	uintptr_t known;	      /* runtime_stack.state of its last walk, then of this; or 0 */
	runs_word_fn *word;
	void *context;			 /* for @word */
	const struct runtime *runtime;	 /* NULL: the walk came to none so far */
	const struct runtime *generator; /* the runtime that generates code; NULL: there is none */
	int error;			 /* no more runs can be told */
	int is_asked;			 /* the caller's: it may read */
	int frame_error;		 /* of generated code: all language frames are withdrawn */
	int is_innermost_told;		 /* the frame at @pc had a run */
	int is_whole;			 /* runs_finish(): all that there are were told */
	const uint64_t *unfilled;	 /* the counted activation that no frame was left for */
	const uint64_t *activation;	 /* the counted one that the walk came to last */
	const uint64_t *joiner;		 /* the last frame of runtime->joiner that called one */
	const uint64_t *cut;		 /* here counted runs were too long; NULL: all were told */
	int has_start;			 /* the outermost of them was called by runtime->start */
	struct runs_expanded *expanded;	 /* borrowed, of @generator; NULL where that is */
	uint64_t epoch;			 /* what it knew in another one is told again */
	struct runtime_stack stack;	 /* of @runtime */
	struct runtime_stack generated;	 /* of @generator */
	struct runtime_reader reader;
};

/*
 * What a frame of generated code was expanded to, as the wire has it: zeroed at first, by any
 * thread at once. Whoever finds an entry half written has not found it, nor writes it.
 */
#define RUNS_EXPANDED	   4096u /* a power of two */
#define RUNS_EXPANDED_DEEP 30u	 /* functions of one frame, at most */
struct runs_expanded {
	uint32_t version; /* atomic: odd while it is written */
	uint32_t count;	  /* atomic, as what follows */
	uint64_t key;
	uint64_t frames[RUNS_EXPANDED_DEEP];
};

/* Fill in all but @thread, @known, @generator, @expanded, @epoch and @reader. */
static inline void runs_init(struct runs *runs, uintptr_t pc, runs_word_fn *word, void *context)
{
	runs->pc = pc;
	runs->word = word;
	runs->context = context;
	runs->runtime = NULL;
	runs->error = runs->frame_error = runs->is_asked = 0;
	runs->is_whole = 1;
	runs->is_innermost_told = 0;
	runs->unfilled = runs->activation = runs->joiner = runs->cut = NULL;
	runs->has_start = 0;
	runs->generated = (struct runtime_stack){0};
}

/* As UNWIND_ASK (unwind/unwind_core.h). */
int runs_step(struct runs *runs, struct unwind_activation *at);

/* As UNWIND_RUN; @runtime is that of the frame's module, or NULL. */
unsigned runs_frames(struct runs *runs, const struct runtime *runtime,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room);

/*
 * Find out the line that @frame's function begins at, if only kind->line() knows it. Returns 0, or
 * -EAGAIN if it is not known yet.
 * Context: as @runs.
 */
int runs_first_line(struct runs *runs, struct runtime_frame *frame);

/*
 * The walk is over, of @n @frames; @is_rooted: with the outermost one. Where its runs did not all
 * find a place, runs->is_whole is 0. No language frame stays then if runs are only counted, or if
 * they are paired and may have been given to the wrong activations. Returns how many frames there
 * are now. Where runs->cut is not NULL then, the outermost ones are missing, as with
 * WIRE_END_DEPTH.
 */
unsigned runs_finish(struct runs *runs, uint64_t *frames, unsigned n, int is_rooted);

/* As runs_finish(), of a walk's @result. */
static inline void runs_end(struct runs *runs, uint64_t *frames, struct unwind_result *result)
{
	result->frames = runs_finish(runs, frames, result->frames, result->end == WIRE_END_ROOT);
	if (runs->cut)
		result->end = WIRE_END_DEPTH;
}

/* The line that @frame is at, 0: none. The cache of runs->reader keeps it. Context: as @runs. */
uint32_t runs_line(struct runs *runs, const struct runtime_frame *frame);

#endif
