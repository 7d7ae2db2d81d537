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
 * interprets the language's code. The evaluator's activations are found by an address in their
 * stack frames that the runtime keeps, or they are counted (runtime.is_counted). A runtime without
 * an evaluator compiles everything, and each frame of generated code is an activation.
 *
 * A walk calls a reader in this order (libprof/runtime/runtime_walk.c):
 *
 *	find		once for each module: is it the runtime, and where are its structures?
 *	begin		at the first frame in that module: where is this thread's stack?
 *	step		for a frame without call-frame information: where is its caller?
 *	enter		for each activation: which run does it execute?
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
	/* The version, e.g. 313; each reader has its own numbering. */
	uint32_t version;
	/*
	 * Set if the n-th native frame of the evaluator (activation) executes the n-th run of
	 * language frames, so that the walk must find equal numbers of both.
	 */
	uint32_t is_counted;
	/*
	 * Set if runs of language frames are matched with native frames of the evaluator
	 * (activations) by their order, because the runtime links the two at different moments. If
	 * the walk finds different numbers of them, all language frames are dropped.
	 */
	uint32_t is_paired;
	/* Set if the evaluator calls native functions to execute its language frames. */
	uint32_t has_inner;
	/*
	 * Set if two native frames of a counted evaluator execute the same run of language frames
	 * when one of them calls the other through a single native frame. They also do if the call
	 * goes through two native frames, and the inner one is in the function at [joiner,
	 * joiner_end).
	 */
	uint32_t is_joined;
	uintptr_t joiner, joiner_end;
	/* Offsets of fields in the runtime's structures; each reader has its own layout. */
	uint32_t offsets[RUNTIME_WORDS_MAX];
	/* Address and bytes of the runtime's variables in its module. */
	uintptr_t base, base_bytes;
	uintptr_t code_type;			/* the type that every code object has */
	uintptr_t entry, entry_end;		/* the evaluator's code */
	/* End of the evaluator's setup code: before this address, its frame is not linked yet. */
	uintptr_t setup_end;
	/* Addresses that never change, for the reader's own use. */
	uintptr_t objects[RUNTIME_OBJECTS_MAX];
	/* The function that calls the evaluator's outermost frame; 0: there is no such function. */
	uintptr_t start, start_end;
};

/* ---- state of a walk ------------------------------------------------------------------------- */

struct runtime_thread {
	uintptr_t self; /* pthread_self(); 0: not known */
	/* The tid in the thread's own PID namespace; 0: not known. */
	uint32_t tid;
};

/* One language frame. */
struct runtime_frame {
	/* The address of the function's code object; 0: none. */
	uintptr_t function;
	/* A hash of `function` and of what the code object contains. */
	uint64_t identity;
	/* The first line of the function. RUNTIME_LINE_LATER: call line() to find it. */
	uint32_t first_line;
	/* The current line; 0: none. Used if the reader has no line(). */
	uint32_t line;
	/* The current instruction, in the runtime's units; < 0: not known. */
	int32_t position;
	uintptr_t name, file; /* arguments of text() */
	/* For the reader's own use. */
	uintptr_t lines, code;
	uint64_t key;
	uint32_t start;
	int32_t inlined;
};
#define RUNTIME_LINE_LATER     UINT32_MAX
/* Value of runtime_frame.position for which line() returns the function's first line. */
#define RUNTIME_POSITION_FIRST INT32_MIN

/* A position in a thread's stack of language frames. next() reads `frame` and its callers. */
struct runtime_stack {
	/* The runtime's structure for the thread. */
	uintptr_t state;
	/* The innermost language frame of the next run; 0: no more runs. */
	uintptr_t frame;
	/* The runtime's structure for the native frame that executes the run, if there is one. */
	uintptr_t activation;
	/* An address in the native frame that executes the next run, or RUNTIME_AT_*. */
	uintptr_t place;
	/* The next run may belong to another `state`, so begin() is called after each run. */
	int is_shared;
	/* Set if the last frame that next() returned was the outermost frame of its run. */
	int is_over;
	/* For enter(): set if the frame that executes the run is the innermost native frame. */
	int is_innermost;
	/* For next(): the native frame that executes the run; NULL: not known. */
	const struct unwind_frame *run_by;
	/* For generated code, set by enter(): a hash that identifies the run's frames; 0: none. */
	uint64_t key;
	/* For generated code: a frame that step() and enter() pass to next(). */
	struct runtime_frame found;
	uintptr_t own[5]; /* for the reader's own use */
};
/* Value of `place`: the run belongs to the next native frame of the evaluator. */
#define RUNTIME_AT_COUNTED   (UINTPTR_MAX - 1)
/* Value of `place`: the run belongs to the frame that the function at runtime.start calls. */
#define RUNTIME_AT_OUTERMOST (UINTPTR_MAX - 2)
#define RUNTIME_AT_NONE	     UINTPTR_MAX       /* there are no more runs */

/* A thread and the runtime's structure for this thread. */
struct runtime_state {
	uint32_t tid; /* in the PID namespace of the process */
	uintptr_t state;
};

#define RUNTIME_NAME_BYTES 256u
#define RUNTIME_FILE_BYTES 512u

/* ---- functions of a reader ------------------------------------------------------------------- */

/* Functions return 0 or -errno, and members are not NULL, unless their comments say otherwise. */
struct runtime_kind {
	const char *name;
	/* The supported versions, as shown to users: "3.8 to 3.15". */
	const char *known;
	/*
	 * Fill in @out if the module with @symbols is the runtime. Returns -EAGAIN if the module is
	 * the runtime but is not loaded completely yet, -ENOTSUP if the runtime's version is not
	 * supported.
	 */
	int (*find)(struct runtime *out, struct runtime_reader *reader,
		struct runtime_symbols *symbols);
	/*
	 * Find the language stack of @thread, and set @out to its innermost run with a `place` at
	 * or above @sp. If the thread is not known, use the thread structure (state) with the
	 * `place` nearest to @sp. @known is the state that the thread's last walk found, or 0.
	 * Clear reader->may_trust if the runtime may free structures of the stack during the walk.
	 * NULL: no stack has to be found.
	 */
	int (*begin)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
		struct runtime_stack *out);
	/*
	 * Step from the frame @at to its caller if the walk cannot do so. Returns a value that
	 * struct unwind_activation (unwind/unwind.h) allows. NULL: the walk can unwind all frames.
	 */
	int (*step)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct unwind_activation *at);
	/*
	 * Set @stack to the run that the native frame @frame executes. The walk has already found
	 * the caller of @frame. A runtime without an evaluator returns 1 and sets stack->key, or
	 * returns 0 if the frame executes no language code. NULL: the runs are in the order of
	 * their native frames, so that @stack is already at the run.
	 */
	int (*enter)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, const struct unwind_frame *frame);
	/*
	 * Read the next language frames of the run, innermost first, at most @room. A runtime
	 * without an evaluator reads all frames of the run at once. Returns the number of frames.
	 * The value 0 means that the run is over and that @stack is at the next run.
	 */
	int (*next)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_stack *stack, struct runtime_frame *out, unsigned room);
	/*
	 * List the threads whose tids the runtime knows, at most @room, in any order. Returns the
	 * number of threads. NULL: the runtime does not know tids.
	 */
	unsigned (*states)(const struct runtime *runtime, struct runtime_reader *reader,
		struct runtime_state *out, unsigned room);
	/*
	 * Returns the line of @frame->position, or 0 if there is none. For RUNTIME_POSITION_FIRST,
	 * 0 means that the line is not known yet. May be slow, because the caller caches the
	 * result. NULL: next() fills in lines.
	 */
	uint32_t (*line)(const struct runtime *runtime, struct runtime_reader *reader,
		const struct runtime_frame *frame);
	/*
	 * Write the text at @address, which is a name or a file from next(), as UTF-8 with a NUL.
	 * If the text does not fit into @room bytes, keep the beginning or, if @keep_end, the end.
	 * Returns the number of bytes including the NUL.
	 */
	uint32_t (*text)(const struct runtime *runtime, struct runtime_reader *reader,
		uintptr_t address, char *out, uint32_t room, int keep_end);
};

extern const struct runtime_kind runtime_cpython, runtime_php, runtime_ruby, runtime_perl,
	runtime_lua, runtime_luajit, runtime_v8, runtime_hotspot;

/* ---- finding a runtime ----------------------------------------------------------------------- */

/* Does the runtime have an evaluator, i.e. a native function that interprets the language? */
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
 * Determine whether @module is a runtime. Returns 1 with @out filled in, or 0; -EAGAIN if the
 * module is not loaded completely yet; -ENOTSUP if it is the runtime out->kind in an unsupported
 * version.
 * Context: signal-safe, any thread.
 */
int runtime_find(
	struct runtime *out, struct runtime_reader *reader, const struct runtime_module *module);

/* Returns the bit that stands for @kind in a bit set of kinds. */
uint32_t runtime_bit(const struct runtime_kind *kind);

/* Returns the kind that bit @number stands for; NULL if no kind has this bit or a higher one. */
const struct runtime_kind *runtime_kind_at(unsigned number);

#endif
