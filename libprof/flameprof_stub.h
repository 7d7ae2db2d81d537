/* SPDX-License-Identifier: MIT */
/*
 * Name generated code. There are two kinds: call stubs, whose address on the stack stands for a
 * function of the host (an interpreter's method, a closure), and the host's own JIT code. flamerun
 * and this library's profiler know the names of both at once; perf, gdb and exception unwinders
 * know them after flameprof_publish().
 *
 * A stub calls its target with its own arguments, returns the target's result, and keeps one frame
 * of this fixed layout:
 *
 *	caller's frame
 *	return address into the caller
 *	saved frame pointer                <- frame pointer register points here
 *	payload                               FLAMEPROF_STUB_PAYLOAD bytes from it
 *	...
 *	return address into the stub       <- flameprof_lookup() of it names the function
 *	target's frame
 *
 * Errors are negative errno values. Context, unless stated otherwise: any thread, not a handler.
 */
#ifndef FLAMEPROF_STUB_H
#define FLAMEPROF_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "flameprof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Offset of the payload from the stub's frame pointer, in bytes. */
#if defined(__x86_64__)
#define FLAMEPROF_STUB_PAYLOAD (-8)
#elif defined(__aarch64__)
#define FLAMEPROF_STUB_PAYLOAD 16
#endif

/* Any function; cast to and from the real type. */
typedef void flameprof_function(void);

/* Maximal length of a name; longer ones are cut. */
#define FLAMEPROF_NAME_BYTES 4095

/*
 * The facts that a stub needs about its target's type. All zero: all arguments are in registers,
 * and a bind stub moves all of them.
 *
 * If `stack_words` is too large, the stub also copies words above the arguments; if it is too
 * small, the target gets garbage. FLAMEPROF_SIGNATURE() (flameprof_signature.h) counts the words. A
 * variadic target must not be called with more stack words than `stack_words`.
 */
struct flameprof_signature {
	/* 8-byte words of arguments on the stack; at most 64. */
	unsigned stack_words;
	/*
	 * For bind stubs. integer_arguments: the number of integer and pointer arguments of the
	 * *target*, including the prepended payload and arguments on the stack (structures of two
	 * words and __int128 count as two). memory_result: 1 if the result is returned in memory
	 * that the caller provides.
	 *
	 * Prepending the payload may move the argument in the last register to the front of the
	 * stack arguments. Then no argument that is always on the stack (large structures, long
	 * double) may precede that argument, no stack argument may be aligned to 16 bytes, and no
	 * two-word argument may be split between register and stack. On aarch64 __int128 is not
	 * supported.
	 */
	unsigned integer_arguments;
	unsigned memory_result;
	unsigned reserved[5]; /* zero */
};

/* How stubs call their target: with the same arguments, or with the payload in front. */
enum flameprof_stub_kind {
	FLAMEPROF_STUB_CALL = 0,
	FLAMEPROF_STUB_BIND = 1 /* target(payload, arguments...) */
};

struct flameprof_arena;

/* Reason why stubs are not available. The program still works; only names are missing. */
enum flameprof_stub_status {
	FLAMEPROF_STUBS_WORK = 0,
	/* Executable memory is refused: SELinux, seccomp, PR_SET_MDWE. */
	FLAMEPROF_STUBS_DENIED = 1,
	FLAMEPROF_STUBS_NO_MEMORY = 2,
	/* flameprof_arenas_suspend() was called and flameprof_arenas_resume() not yet. */
	FLAMEPROF_STUBS_SUSPENDED = 3
};

/*
 * Make an arena of stubs that call @target.
 *
 * @signature  borrowed for the call; NULL: all fields zero
 *
 * Returns 0 and *@out, which the caller frees by flameprof_arena_free(). Also 0 if executable
 * memory is refused: then a call stub is the plain target, and bind stubs cannot be made. -EINVAL
 * for a signature that no stub can have; -ENOMEM.
 */
FLAMEPROF_API int flameprof_arena_new(struct flameprof_arena **out, enum flameprof_stub_kind kind,
	flameprof_function *target, const struct flameprof_signature *signature);

/*
 * Leave out the frame of the target in stacks, if a stub of @arena called it. Use this for a target
 * that only evaluates the functions that the stubs stand for: flamerun's pictures and pprof
 * profiles then give the target's self weight and callees to the stub. Debuggers and perf still
 * show the frame. Do not use this for a target that ends in tail calls, because then the frame of
 * the tail-called function would be left out instead. Context: before the first stub is made.
 */
FLAMEPROF_API void flameprof_arena_hide_target(struct flameprof_arena *arena);

/* Free the arena and its stubs. No stub may be running or be called afterwards. NULL is allowed. */
FLAMEPROF_API void flameprof_arena_free(struct flameprof_arena *arena);

/*
 * Returns whether @arena can make stubs, and if not, the reason; FLAMEPROF_STUBS_NO_MEMORY for
 * NULL. Context: signal-safe.
 */
FLAMEPROF_API enum flameprof_stub_status flameprof_arena_status(
	const struct flameprof_arena *arena);

/*
 * Make a stub with this name and payload. Takes no lock on the common path.
 *
 * @name  copied, at most FLAMEPROF_NAME_BYTES; any bytes but NUL. NULL or "": "[anonymous]"
 *
 * Returns the function to call instead of the target: a stub, or the target itself if no call stub
 * can be made. NULL only for a bind stub that could not be made.
 */
FLAMEPROF_API flameprof_function *flameprof_stub_new(
	struct flameprof_arena *arena, const char *name, uintptr_t payload);

/*
 * Free a stub. It must not be running or be called afterwards. The target itself, NULL and
 * functions that are not stubs of @arena are ignored. The memory is reused for later stubs; earlier
 * samples in the stub keep its name.
 */
FLAMEPROF_API void flameprof_stub_free(struct flameprof_arena *arena, flameprof_function *stub);

enum flameprof_code_kind {
	FLAMEPROF_CODE_CALL_STUB = 0,
	FLAMEPROF_CODE_BIND_STUB = 1,
	FLAMEPROF_CODE_HOST = 2, /* flameprof_code_add() */
	FLAMEPROF_CODE_INTERCEPT = 3
};

struct flameprof_code_info {
	uintptr_t start;
	size_t bytes;
	enum flameprof_code_kind kind;
	uintptr_t payload; /* only of stubs */
	/*
	 * Valid as long as the code exists. In a signal handler that interrupted the code's
	 * removal, valid as long as the process lives.
	 */
	const char *name;
};

/*
 * Find the generated code that contains @pc. Returns 0, or -ENOENT. Context: signal-safe, any
 * thread; takes no lock; logarithmic time.
 */
FLAMEPROF_API int flameprof_lookup(uintptr_t pc, struct flameprof_code_info *out);

/*
 * Announce the host's own generated code, which must be complete. Samplers know its name from now
 * on.
 *
 * @name      copied
 * @eh_frame  NULL: the code's frames are unwound by frame pointer; else CIEs and FDEs that cover
 *            the code, as in an .eh_frame section, ended by four zero bytes; borrowed until
 *            flameprof_code_remove()
 *
 * Returns 0; -EINVAL for no code, 4 GiB or more, an address range that wraps, and an @eh_frame that
 * is invalid or does not cover the code; -EEXIST if it overlaps announced code; -ENOMEM.
 */
FLAMEPROF_API int flameprof_code_add(
	const void *start, size_t bytes, const char *name, const void *eh_frame);

/* Withdraw the code that begins at @start, before it is freed. Returns 0 or -ENOENT. */
FLAMEPROF_API int flameprof_code_remove(const void *start);

struct flameprof_backtrace_frame {
	uintptr_t pc; /* in a caller's frame, inside the call instruction */
	int is_code;  /* 1: generated code, see `code` */
	struct flameprof_code_info code;
};

/*
 * Unwind the calling thread's stack, through stubs and announced code, innermost frame first.
 *
 * @ucontext  a signal handler's third argument; NULL: start in the caller of this function
 *
 * Returns the number of frames stored, at most @room and 4096. Context: signal-safe, any thread;
 * also in a SIGSEGV handler, because unmapped memory is read without a fault.
 */
FLAMEPROF_API unsigned flameprof_backtrace(
	const void *ucontext, struct flameprof_backtrace_frame *frames, unsigned room);

/* ---- other tools ----------------------------------------------------------------------------- */

enum flameprof_publish {
	/* /tmp/perf-PID.map: names for perf report */
	FLAMEPROF_PUBLISH_PERF_MAP = 1,
	/*
	 * jit-PID.dump in $JITDUMPDIR or the current folder, for perf inject --jit: names and
	 * unwinding. perf unwinds a piece of the host's code only if the 32 bytes behind it hold no
	 * announced code.
	 */
	FLAMEPROF_PUBLISH_JITDUMP = 2,
	FLAMEPROF_PUBLISH_GDB = 4,
	/* libgcc or LLVM libunwind, so that C++ exceptions pass through stubs. */
	FLAMEPROF_PUBLISH_UNWINDERS = 8,
	/* nongnu libunwind, if the host has loaded it. */
	FLAMEPROF_PUBLISH_LIBUNWIND = 16
};

/*
 * Publish all stubs and announced code, existing and future, to other tools. Nothing is published
 * by default, with one exception: if libgcc_s or LLVM libunwind is loaded when memory for stubs is
 * made, as in every C++ program, FLAMEPROF_PUBLISH_UNWINDERS is turned on for stubs, because
 * otherwise an exception through a stub would call terminate(). Turn it on yourself if such a
 * library is loaded later, or for exceptions through announced code. A fork child publishes under
 * its own pid. An unwinder library to which code was published is never unloaded.
 *
 * @what  enum flameprof_publish, or-ed; adds to earlier calls
 *
 * Returns 0; -EINVAL for an unknown tool, with nothing changed; or the error of the first tool that
 * is not available, while the others are on. -ENOENT: no such library or folder; -EEXIST: the file
 * exists and is not this library's; -ENOTSUP: the tool does not see all code (perf's map: stubs in
 * pages of a memfd, used if other executable memory is refused); else -errno of the file, or
 * -ENOMEM.
 */
FLAMEPROF_API int flameprof_publish(unsigned what);

/*
 * Returns the tools that code is published to (enum flameprof_publish, or-ed), without those whose
 * file cannot be written any more. Signal-safe.
 */
FLAMEPROF_API unsigned flameprof_published(void);

/* ---- process images -------------------------------------------------------------------------- */

/*
 * A stub, as passed to the callbacks of flameprof_arenas_suspend() and flameprof_arenas_resume().
 */
struct flameprof_stub_record {
	struct flameprof_arena *arena; /* NULL: from flameprof_intercept() */
	const char *name;
	uintptr_t payload;
	/* Address of the stub: in suspend the old one, in resume the new one. */
	flameprof_function *stub;
	/* Function to store in place of the stub's address while stubs are suspended. */
	flameprof_function *target;
};

/*
 * Free the executable memory of all stubs, before the host saves an image of its memory. First call
 * @visit for each stub. Until flameprof_arenas_resume(), a stub must not be called, and the
 * functions that make stubs return as if executable memory were refused.
 *
 * @visit  may be NULL. Returns 0 to continue; another value ends the walk and is returned, with all
 *         stubs intact
 *
 * Returns 0, the value of @visit, -EALREADY between suspend and resume, or -ENOMEM.
 * Context: no stub is running, and no thread, nor @visit, makes or frees arenas or stubs meanwhile.
 */
FLAMEPROF_API int flameprof_arenas_suspend(
	int (*visit)(void *context, const struct flameprof_stub_record *stub), void *context);

/*
 * Make the suspended stubs again, in this process or in one that loaded the saved image. Stubs may
 * get other addresses. Then call @visit, which may be NULL, for each stub; @before is the stub's
 * address before the suspend.
 *
 * Returns 0, the value of @visit if it ended the walk (all stubs exist even so), or -EALREADY if
 * the stubs are not suspended. Context: as for flameprof_arenas_suspend().
 */
FLAMEPROF_API int flameprof_arenas_resume(
	int (*visit)(void *context, const struct flameprof_stub_record *stub,
		flameprof_function *before),
	void *context);

#ifdef __cplusplus
}
#endif

#endif
