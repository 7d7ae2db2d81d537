/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * The contract of a reader: it finds a language's runtime in a process, and reads the functions
 * that a thread runs out of the runtime's own structures, without the runtime's help.
 *
 * The walk of the native stack asks for language frames where they belong. A native frame that runs
 * language frames is their *activation*; the frames of one activation are a *run*:
 *
 *	time_sleep                        native frames that the language called
 *	"work", "main"                    a run, innermost first
 *	_PyEval_EvalFrameDefault          its activation
 *	_PyFunction_Vectorcall …          native frames that called the language
 *
 * There are two sorts of runtimes. An *evaluator* is a function of the runtime's module that runs
 * the language's code. Its activations are recognised by an address in their stack frames that the
 * runtime has noted, or they are counted (runtime.is_counted). A runtime without an evaluator
 * compiles everything, and each frame of generated code is an activation.
 *
 * A walk calls a reader like this:
 *
 *	find		once for each module: is it the runtime, and where are its structures?
 *	begin		at the first frame in that module: where is this thread's stack?
 *	step		for a frame that has no call-frame information: where is its caller?
 *	enter		for each activation: which run is its own?
 *	next		until the run is over: the next frames
 *	line, text	when a function or a line is seen for the first time
 *
 * libprof/runtime/runs.c makes these calls. The reader that is easiest to read is php.c.
 */
#ifndef LIBPROF_RUNTIME_RUNTIME_H
#define LIBPROF_RUNTIME_RUNTIME_H

#include <stdint.h>

#include "arch/registers.h"
#include "libprof/runtime/reader.h"
#include "libprof/unwind/unwind.h"

/* ---- what find() finds ----------------------------------------------------------------------- */

#define RUNTIME_WORDS_MAX   64u
#define RUNTIME_OBJECTS_MAX 8u
#define RUNTIME_SETUP_MAX   1024u /* the default of setup_end - entry */

/* A runtime in a process. */
struct runtime {
	const struct runtime_kind *kind; /* NULL: none */
	uint32_t version;		 /* in the reader's own numbers */
	uint32_t is_counted; /* activation n has run n; their numbers have to be equal at the end */
	/*
	 * The runtime links a run and its activation at different moments, and only the order of
	 * both lists says which belong together. If their numbers differ, believe no frame.
	 */
	uint32_t is_paired;
	uint32_t has_inner; /* functions that entry's function calls belong to the activation */
	/*
	 * Counted activations share a run if one calls the other through a single function, or
	 * through two of which the inner one is the function from joiner to joiner_end.
	 */
	uint32_t is_joined;
	uintptr_t joiner, joiner_end;
	uint32_t offsets[RUNTIME_WORDS_MAX];	/* the reader's own: offsets of fields */
	uintptr_t base, base_bytes;		/* the runtime's variables, in its module */
	uintptr_t code_type;			/* by which a code object is recognised */
	uintptr_t entry, entry_end;		/* the evaluator's code */
	uintptr_t setup_end;			/* before it, an activation is being set up */
	uintptr_t objects[RUNTIME_OBJECTS_MAX]; /* the reader's own: addresses that never change */
	/* The function that calls the outermost activation, in stacks that have one. */
	uintptr_t start, start_end;
};

/* ---- what a walk knows ----------------------------------------------------------------------- */

struct runtime_thread {
	uintptr_t self; /* pthread_self(), or 0 if it is not known */
	uint32_t tid;	/* as its process knows it, or 0 */
};

/* One language frame. */
struct runtime_frame {
	uintptr_t function;   /* address of its code; 0: none */
	uint64_t identity;    /* hash of that address and of what is there */
	uint32_t first_line;  /* of the function; RUNTIME_LINE_LATER: line() knows it */
	uint32_t line;	      /* 0: none; used if the reader has no line() */
	int32_t position;     /* of the instruction, in the runtime's units; < 0: not known */
	uintptr_t name, file; /* for text() */
	/* The reader's own. */
	uintptr_t lines, code;
	uint64_t key;
	uint32_t start;
	int32_t inlined;
};
#define RUNTIME_LINE_LATER     UINT32_MAX
#define RUNTIME_POSITION_FIRST INT32_MIN /* asks line() where the function begins */

/* A thread's stack of language frames, from the frame on that is read next. */
struct runtime_stack {
	uintptr_t state;      /* the runtime's structure for the thread */
	uintptr_t frame;      /* the innermost frame of the next run; 0: there are no more */
	uintptr_t activation; /* the runtime's structure for the activation, if it has one */
	uintptr_t place;  /* an address in the native frame of the next activation; or as below */
	int is_shared;	  /* call begin() after each run: another state may have the next one */
	int is_over;	  /* the last frame was the outermost of its run */
	int is_innermost; /* for enter(): the activation has called nothing */
	const struct unwind_frame *run_by; /* for next(): the activation; NULL: it is not known */
	uint64_t key; /* set by enter() for generated code: what its frames depend on; 0: no key */
	struct runtime_frame
		found;	  /* for generated code: passed from step() and enter() to next() */
	uintptr_t own[5]; /* the reader's own */
};
#define RUNTIME_PLACE_COUNTED	(UINTPTR_MAX - 1) /* the next activation of the evaluator */
#define RUNTIME_PLACE_OUTERMOST (UINTPTR_MAX - 2) /* the activation that runtime.start calls */
#define RUNTIME_PLACE_NONE	UINTPTR_MAX	  /* there are no more runs */

/* Which of the runtime's structures is a thread's. */
struct runtime_state {
	uint32_t tid; /* as its process knows it */
	uintptr_t state;
};

#define RUNTIME_NAME_BYTES 256u
#define RUNTIME_FILE_BYTES 512u

/* ---- what a reader does ---------------------------------------------------------------------- */

/* All functions return 0 or -errno unless said otherwise. NULL is allowed where it says so. */
struct runtime_kind {
	const char *name;
	const char *known; /* versions that are read, in words for a person: "3.8 to 3.15" */
	/*
	 * Fill in @out if the module with @symbols is the runtime. Returns -EAGAIN if it is, but is
	 * not loaded completely yet; -ENOTSUP if it is, but no version that is known.
	 */
	int (*find)(struct runtime *out, struct runtime_reader *reader,
		struct runtime_symbols *symbols);
	/*
	 * Find the stack of @thread, and stand at the innermost run that has its place at or above
	 * @sp. If the thread is not known, take the state whose place is nearest. @known is the
	 * state that the thread's last walk found, or 0. Clear reader->may_trust if the runtime may
	 * free what it runs meanwhile. NULL: there is nothing to find.
	 */
	int (*begin)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
		struct runtime_stack *out);
	/*
	 * Leave the frame @at if the walk cannot do it by itself. Returns the walk's answers, see
	 * struct unwind_activation. NULL: the walk leaves all frames by itself.
	 */
	int (*step)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct unwind_activation *at);
	/*
	 * Stand at the run of the activation @frame, which the walk has stepped over. Without an
	 * evaluator: returns 1, with stack->key, or 0 if the frame runs nothing. NULL: the runs are
	 * in the order of the activations.
	 */
	int (*enter)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, const struct unwind_frame *frame);
	/*
	 * Read the next frames of the run, innermost first, at most @room. Without an evaluator
	 * read all of them at once. Returns how many; 0: the run is over, and @stack is at the next
	 * one.
	 */
	int (*next)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct runtime_frame *out, unsigned room);
	/*
	 * List the threads that the runtime knows by their numbers, at most @room, in any order.
	 * Returns how many. NULL: it does not know their numbers.
	 */
	unsigned (*states)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_state *out, unsigned room);
	/*
	 * Returns the line of @frame->position, or 0 if there is none or, for
	 * RUNTIME_POSITION_FIRST, if it is not known yet. It may take long: the answer is kept.
	 * NULL: next() fills in the lines.
	 */
	uint32_t (*line)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_frame *frame);
	/*
	 * Write the text of @address, a name or a file of next(), as UTF-8 with a NUL. If it does
	 * not fit into @room bytes keep its beginning or, if @keep_end, its end. Returns the number
	 * of bytes with the NUL.
	 */
	uint32_t (*text)(const struct runtime *runtime, struct runtime_reader *reader,
		uintptr_t address, char *out, uint32_t room, int keep_end);
};

extern const struct runtime_kind runtime_cpython, runtime_php, runtime_ruby, runtime_perl,
	runtime_lua, runtime_luajit, runtime_v8, runtime_hotspot;

/* ---- finding a runtime ----------------------------------------------------------------------- */

/* Does an evaluator run the language frames? */
static inline int runtime_has_evaluator(const struct runtime *runtime)
{
	return runtime->is_counted || runtime->kind->begin;
}

/* Can the walk come to code that the runtime has generated? */
static inline int runtime_generates_code(const struct runtime *runtime)
{
	return runtime->kind->step || !runtime_has_evaluator(runtime);
}

/* A module, as mapped. */
struct runtime_module {
	uintptr_t dynamic, bias;
	uintptr_t eh_frame_hdr; /* 0: it has none, or none that can be read */
};

/*
 * Is @module a runtime? Returns 1 with @out, or 0; -EAGAIN if that cannot be known yet; -ENOTSUP if
 * it is out->kind, but no version that is known.
 * Context: signal-safe, any thread.
 */
int runtime_find(
	struct runtime *out, struct runtime_reader *reader, const struct runtime_module *module);

/* The bit of @kind in a set of kinds. */
uint32_t runtime_bit(const struct runtime_kind *kind);

/* The kind of bit @number in such a set; NULL: no kind has that bit or a higher one. */
const struct runtime_kind *runtime_kind_at(unsigned number);

#endif
