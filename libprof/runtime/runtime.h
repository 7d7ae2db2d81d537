/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * Interface of the language readers. A reader recognises a language's runtime in a process and
 * reads the functions that a thread executes from the runtime's own structures, without the
 * runtime's help.
 *
 * Language frames are inserted into the native stack. A native frame that executes language frames
 * is their *activation*; the frames of one activation are a *run*:
 *
 *	time_sleep                        native frames that the language called
 *	"work", "main"                    a run, innermost first
 *	_PyEval_EvalFrameDefault          its activation
 *	_PyFunction_Vectorcall …          native frames that called the language
 *
 * There are two kinds of runtimes. An *evaluator* is a function in the runtime's module that
 * interprets the language's code. Its activations are found by an address in their stack frames
 * that the runtime keeps, or they are counted (runtime.is_counted). A runtime without an evaluator
 * compiles everything, and each frame of generated code is an activation.
 *
 * A walk calls a reader in this order (libprof/runtime/runtime_walk.c):
 *
 *	find		once for each module: is it the runtime, and where are its structures?
 *	begin		at the first frame in that module: where is this thread's stack?
 *	step		for a frame without call-frame information: where is its caller?
 *	enter		for each activation: which run is its own?
 *	next		the next frames, until the run is over
 *	line, text	when a function or a line is seen for the first time
 *
 * php.c is the simplest reader.
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

/* A runtime in a process, as runtime_kind.find() fills it in. */
struct runtime {
	const struct runtime_kind *kind; /* NULL: no runtime */
	uint32_t version;		 /* numbered by the reader */
	/* activation n has run n; the walk must find equal numbers of both */
	uint32_t is_counted;
	/*
	 * The runtime links a run and its activation at different moments, so they are matched by
	 * order. If their numbers differ, all language frames are dropped.
	 */
	uint32_t is_paired;
	/* native callees of the evaluator belong to the activation */
	uint32_t has_inner;
	/*
	 * Counted activations share a run if one calls the other through a single native frame, or
	 * through two of which the inner one is in the function from joiner to joiner_end.
	 */
	uint32_t is_joined;
	uintptr_t joiner, joiner_end;
	/* offsets of fields, laid out by the reader */
	uint32_t offsets[RUNTIME_WORDS_MAX];
	/* the runtime's variables, in its module; bytes */
	uintptr_t base, base_bytes;
	uintptr_t code_type;			/* the type that every code object has */
	uintptr_t entry, entry_end;		/* the evaluator's code */
	/* end of the code that sets up an activation */
	uintptr_t setup_end;
	/* the reader's: addresses that never change */
	uintptr_t objects[RUNTIME_OBJECTS_MAX];
	/* The function that calls the outermost activation, if the stack has such a function. */
	uintptr_t start, start_end;
};

/* ---- state of a walk ------------------------------------------------------------------------- */

struct runtime_thread {
	uintptr_t self; /* pthread_self(); 0: not known */
	/* as the thread's own PID namespace numbers it; 0: not known */
	uint32_t tid;
};

/* One language frame. */
struct runtime_frame {
	/* address of the function's code object; 0: none */
	uintptr_t function;
	/* hash of @function and what it contains */
	uint64_t identity;
	/* of the function; RUNTIME_LINE_LATER: ask line() */
	uint32_t first_line;
	uint32_t line;	      /* 0: none; used if the reader has no line() */
	/* of the instruction, in the runtime's units; < 0: not known */
	int32_t position;
	uintptr_t name, file; /* arguments of text() */
	/* For the reader's own use. */
	uintptr_t lines, code;
	uint64_t key;
	uint32_t start;
	int32_t inlined;
};
#define RUNTIME_LINE_LATER     UINT32_MAX
/* makes line() return the function's first line */
#define RUNTIME_POSITION_FIRST INT32_MIN

/* The position in a thread's stack of language frames: next() reads @frame and its callers. */
struct runtime_stack {
	/* the runtime's structure for the thread */
	uintptr_t state;
	/* innermost frame of the next run; 0: no more runs */
	uintptr_t frame;
	/* the runtime's structure for the activation, if any */
	uintptr_t activation;
	/* address in the next activation's native frame, or RUNTIME_PLACE_* */
	uintptr_t place;
	/* call begin() after each run: the next may be another state's */
	int is_shared;
	/* the last frame was the outermost of its run */
	int is_over;
	/* for enter(): the activation is the innermost native frame */
	int is_innermost;
	/* for next(): the activation; NULL: not known */
	const struct unwind_frame *run_by;
	/* set by enter() for generated code: identifies its frames; 0: none */
	uint64_t key;
	struct runtime_frame
		/* for generated code: passed from step() and enter() to next() */
		found;
	uintptr_t own[5]; /* for the reader's own use */
};
/* the next activation of the evaluator */
#define RUNTIME_AT_COUNTED   (UINTPTR_MAX - 1)
/* the activation that runtime.start calls */
#define RUNTIME_AT_OUTERMOST (UINTPTR_MAX - 2)
#define RUNTIME_AT_NONE	     UINTPTR_MAX       /* there are no more runs */

/* Associates a thread with the runtime's structure for it. */
struct runtime_state {
	uint32_t tid; /* in the PID namespace of the process */
	uintptr_t state;
};

#define RUNTIME_NAME_BYTES 256u
#define RUNTIME_FILE_BYTES 512u

/* ---- functions of a reader ------------------------------------------------------------------- */

/* Functions return 0 or -errno, and members are not NULL, unless their comments say so. */
struct runtime_kind {
	const char *name;
	/* supported versions, shown to users: "3.8 to 3.15" */
	const char *known;
	/*
	 * Fill in @out if the module with @symbols is the runtime. Returns -EAGAIN if it is but is
	 * not loaded completely yet, -ENOTSUP if it is but its version is not supported.
	 */
	int (*find)(struct runtime *out, struct runtime_reader *reader,
		struct runtime_symbols *symbols);
	/*
	 * Find the stack of @thread and set @out to the innermost run whose place is at or above
	 * @sp. If the thread is not known, use the state whose place is nearest to @sp. @known is
	 * the state that the thread's last walk found, or 0. Clear reader->may_trust if the runtime
	 * may free during the walk what the thread executes. NULL: no stack has to be found.
	 */
	int (*begin)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
		struct runtime_stack *out);
	/*
	 * Step from the frame @at to its caller if the walk cannot do that. Returns what struct
	 * unwind_activation (unwind/unwind.h) allows. NULL: the walk does it for all frames.
	 */
	int (*step)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct unwind_activation *at);
	/*
	 * Set @stack to the run of the activation @frame, which the walk has already stepped over.
	 * A runtime without an evaluator returns 1 and sets stack->key, or returns 0 if the frame
	 * executes no language code. NULL: runs are in the order of their activations.
	 */
	int (*enter)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, const struct unwind_frame *frame);
	/*
	 * Read the next frames of the run, innermost first, at most @room. A runtime without an
	 * evaluator reads all frames of the run at once. Returns how many; 0: the run is over and
	 * @stack is at the next run.
	 */
	int (*next)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct runtime_frame *out, unsigned room);
	/*
	 * List the threads whose tids the runtime knows, at most @room, in any order. Returns how
	 * many. NULL: the runtime does not know tids.
	 */
	unsigned (*states)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_state *out, unsigned room);
	/*
	 * Returns the line of @frame->position, or 0 if there is none. For RUNTIME_POSITION_FIRST 0
	 * means that the line is not known yet. The result is cached, so this may be slow. NULL:
	 * next() fills in lines.
	 */
	uint32_t (*line)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_frame *frame);
	/*
	 * Write the text at @address, a name or file from next(), as UTF-8 with a NUL. If it does
	 * not fit into @room bytes, keep the beginning or, if @keep_end, the end. Returns the
	 * number of bytes including the NUL.
	 */
	uint32_t (*text)(const struct runtime *runtime, struct runtime_reader *reader,
		uintptr_t address, char *out, uint32_t room, int keep_end);
};

extern const struct runtime_kind runtime_cpython, runtime_php, runtime_ruby, runtime_perl,
	runtime_lua, runtime_luajit, runtime_v8, runtime_hotspot;

/* ---- finding a runtime ----------------------------------------------------------------------- */

/* Does the runtime have an evaluator that runs the language frames? */
static inline int runtime_has_evaluator(const struct runtime *runtime)
{
	return runtime->is_counted || runtime->kind->begin;
}

/* Can a walk reach code that the runtime has generated? */
static inline int runtime_generates_code(const struct runtime *runtime)
{
	return runtime->kind->step || !runtime_has_evaluator(runtime);
}

/* A mapped module. */
struct runtime_module {
	uintptr_t dynamic, bias;
	uintptr_t eh_frame_hdr; /* 0: none, or not readable */
};

/*
 * Determine whether @module is a runtime. Returns 1 with @out filled in, or 0; -EAGAIN if that
 * cannot be decided yet; -ENOTSUP if it is out->kind but in an unsupported version. Context:
 * signal-safe, any thread.
 */
int runtime_find(
	struct runtime *out, struct runtime_reader *reader, const struct runtime_module *module);

/* Returns the bit of @kind in a set of kinds. */
uint32_t runtime_bit(const struct runtime_kind *kind);

/* Returns the kind of bit @number in a set of kinds; NULL: no kind has that bit or a higher one. */
const struct runtime_kind *runtime_kind_at(unsigned number);

#endif
