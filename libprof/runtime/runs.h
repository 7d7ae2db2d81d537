/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Ask the readers of runtimes during one walk, and put each run of language frames before its
 * activation. The caller makes frames of the wire out of language frames. Nothing here differs
 * between a walk from inside and one from outside.
 */
#ifndef LIBPROF_RUNTIME_RUNS_H
#define LIBPROF_RUNTIME_RUNS_H

#include <stdint.h>

#include "libprof/runtime/runtime.h"
#include "libprof/wire.h"

struct runs;

/* Returns @frame as a frame of the wire, or 0 if there is no room for its function. */
typedef uint64_t runs_word_fn(struct runs *runs, struct runtime_frame *frame);

struct runs {
	struct runtime_thread thread; /* the thread that is walked */
	uintptr_t pc;		      /* of its innermost frame */
	uintptr_t known; /* runtime_stack.state of the thread's last walk, then of this one; or 0 */
	runs_word_fn *word;
	void *context;			 /* for @word */
	const struct runtime *runtime;	 /* the one with an evaluator; NULL: not met so far */
	const struct runtime *generator; /* the one that generates code; NULL: there is none */
	int is_asked;			 /* the caller's own: the readers may make system calls */
	int error; /* of @runtime: write no more runs; counted ones are taken out at the end */
	int frame_error;       /* of @generator: all language frames are taken out at the end */
	int is_innermost_told; /* the frame at @pc had a run */
	int is_whole;	       /* after runs_finish(): every run has its activation */
	/* Counted activations, as places among the frames of the walk. */
	const uint64_t *unfilled;	/* the one that no run was left for; NULL: none */
	const uint64_t *activation;	/* the last one */
	const uint64_t *joiner;		/* the last frame of runtime->joiner that called one */
	const uint64_t *cut;		/* where the room for runs ended; NULL: all were written */
	int has_start;			/* runtime->start called the outermost activation */
	struct runs_expanded *expanded; /* borrowed; NULL without @generator */
	uint64_t epoch;			/* entries of @expanded from other epochs are not used */
	struct runtime_stack stack;	/* of @runtime */
	struct runtime_stack generated; /* of @generator */
	struct runtime_reader reader;
};

/*
 * A cache of frames of generated code: the frames of the wire that each stands for. Zero it at
 * first. Any thread may use it at any time: an entry that is being written is neither read nor
 * written by others.
 */
#define RUNS_EXPANDED	   4096u /* a power of two */
#define RUNS_EXPANDED_DEEP 30u	 /* functions of one frame, at most */
struct runs_expanded {
	uint32_t version; /* atomic, odd while the entry is written */
	uint32_t count;	  /* atomic, as the rest */
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

/* Answer UNWIND_ASK (unwind/unwind_core.h). */
int runs_step(struct runs *runs, struct unwind_activation *at);

/* Answer UNWIND_RUN. @runtime is that of the frame's module, or NULL. */
unsigned runs_frames(struct runs *runs, const struct runtime *runtime,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room);

/*
 * Find out the line that @frame's function begins at, if only kind->line() knows it. Returns 0, or
 * -EAGAIN if it is not known yet.
 * Context: as @runs.
 */
int runs_first_line(struct runs *runs, struct runtime_frame *frame);

/*
 * End a walk of @n @frames, which reached the outermost frame if @is_rooted. If not every run found
 * its activation, clear runs->is_whole, and take all language frames out if runs are counted, or if
 * they are paired and may have been given to the wrong activations. Returns how many frames there
 * are now. If runs->cut is not NULL then, the outermost frames are missing, as with WIRE_END_DEPTH.
 */
unsigned runs_finish(struct runs *runs, uint64_t *frames, unsigned n, int is_rooted);

/* Do the same for the @result of a walk. */
static inline void runs_end(struct runs *runs, uint64_t *frames, struct unwind_result *result)
{
	result->frames = runs_finish(runs, frames, result->frames, result->end == WIRE_END_ROOT);
	if (runs->cut)
		result->end = WIRE_END_DEPTH;
}

/* Returns the line that @frame is at, or 0 if there is none. Context: as @runs. */
uint32_t runs_line(struct runs *runs, const struct runtime_frame *frame);

#endif
