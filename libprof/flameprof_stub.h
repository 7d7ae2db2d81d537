/* SPDX-License-Identifier: MIT */
/*
 * Name generated code. There are two kinds: call stubs, whose address on the stack stands for a
 * function of the host (an interpreter's method, a closure), and the host's own JIT code. flamerun
 * and this library's profiler know both at once; perf, gdb and exception unwinders do after
 * flameprof_publish().
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
 * What a stub has to know of its target's type. All zero: all arguments are in registers, and a
 * bind stub moves all of them.
 *
 * A stub with too many stack words copies words from above the arguments; one with too few passes
 * garbage. FLAMEPROF_SIGNATURE() (flameprof_signature.h) counts them. A variadic target may be
 * called with at most that many words.
 */
struct flameprof_signature {
	unsigned stack_words; /* 8-byte words of arguments on the stack; up to 64 */
	/*
	 * For bind stubs: the number of integer and pointer arguments of the *target*, including
	 * the prepended one and those on the stack (structures of two words and __int128 count as
	 * two); and whether the result is returned in memory that the caller provides. The argument
	 * in the last register may have to move to the stack, in front of all others there. Then no
	 * argument that is always on the stack (large structures, long double) may precede it, none
	 * on the stack may be aligned to 16 bytes, and no pair may be split. On aarch64 __int128 is
	 * not supported.
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

/* Why stubs are not available. Only names are missing then. */
enum flameprof_stub_status {
	FLAMEPROF_STUBS_WORK = 0,
	FLAMEPROF_STUBS_DENIED =
		1, /* executable memory is refused: SELinux, seccomp, PR_SET_MDWE */
	FLAMEPROF_STUBS_NO_MEMORY = 2,
	FLAMEPROF_STUBS_SUSPENDED = 3 /* between flameprof_arenas_suspend() and _resume() */
};

/*
 * Make an arena of stubs that call @target.
 *
 * @signature  borrowed for the call; NULL: as all zero
 *
 * Returns 0 and *@out, owned by the caller: flameprof_arena_free(). Also 0 if executable memory is
 * refused: then a call stub is the plain target, and bind stubs cannot be made. -EINVAL for a
 * signature that no stub can have; -ENOMEM.
 */
FLAMEPROF_API int flameprof_arena_new(struct flameprof_arena **out, enum flameprof_stub_kind kind,
	flameprof_function *target, const struct flameprof_signature *signature);

/*
 * Leave out the target's frame if it is directly above a stub of @arena, for a target that is only
 * an evaluator of the functions that the stubs stand for. Its self weight and its callees become
 * the stub's in flamerun's pictures and in pprof profiles, not in debuggers and perf. Do not use it
 * for a target that ends in tail calls, because the frames of those callees would be left out
 * instead. Context: before the first stub.
 */
FLAMEPROF_API void flameprof_arena_hide_target(struct flameprof_arena *arena);

/* Free the arena and its stubs, none of which may run or be called any more. NULL is allowed. */
FLAMEPROF_API void flameprof_arena_free(struct flameprof_arena *arena);

/* Returns FLAMEPROF_STUBS_NO_MEMORY for NULL. Context: signal-safe. */
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
 * Free a stub, which may not be running or be called any more. The target itself, NULL and
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
	 * Readable as long as the code exists; in a signal handler that interrupts the code's
	 * removal, as long as the process lives.
	 */
	const char *name;
};

/*
 * Find the generated code that contains @pc. Returns 0, or -ENOENT. Context: signal-safe, any
 * thread; takes no lock; logarithmic time.
 */
FLAMEPROF_API int flameprof_lookup(uintptr_t pc, struct flameprof_code_info *out);

/*
 * Announce the host's own generated code, ready to run. Samplers know it from now on.
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
	uintptr_t pc; /* in a caller: of the call instruction */
	int is_code;  /* 1: generated code, `code` is filled in */
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
	FLAMEPROF_PUBLISH_PERF_MAP = 1, /* /tmp/perf-PID.map: names for perf report */
	/*
	 * jit-PID.dump in $JITDUMPDIR or the current folder, for perf inject --jit: names and
	 * unwinding. perf unwinds the host's code only if no announced code is in the 32 bytes
	 * behind it.
	 */
	FLAMEPROF_PUBLISH_JITDUMP = 2,
	FLAMEPROF_PUBLISH_GDB = 4,
	FLAMEPROF_PUBLISH_UNWINDERS = 8, /* libgcc or LLVM libunwind: exceptions through stubs */
	FLAMEPROF_PUBLISH_LIBUNWIND = 16 /* nongnu libunwind, if the host has loaded it */
};

/*
 * Publish all stubs and announced code, existing and future, to other tools. Off by default, with
 * one exception: if libgcc_s or LLVM libunwind is loaded when memory for stubs is made, as in every
 * C++ program, FLAMEPROF_PUBLISH_UNWINDERS is turned on for stubs, because otherwise an exception
 * through a stub would call terminate(). Turn it on yourself if such a library is loaded later, or
 * for exceptions through announced code. A fork child continues under its own pid. An unwinder that
 * knows any code stays loaded.
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

/* Returns what is published; tools whose file cannot be written any more are off. Signal-safe. */
FLAMEPROF_API unsigned flameprof_published(void);

/* ---- process images -------------------------------------------------------------------------- */

/* A stub, as shown by flameprof_arenas_suspend() and _resume(). */
struct flameprof_stub_record {
	struct flameprof_arena *arena; /* NULL: from flameprof_intercept() */
	const char *name;
	uintptr_t payload;
	flameprof_function *stub;   /* address before suspend; in _resume(): the new address */
	flameprof_function *target; /* what to store instead while suspended */
};

/*
 * For a host that saves an image of its memory: end all stubs, after calling @visit for each. Until
 * flameprof_arenas_resume(), arenas return what they return if no stub can be made, and no address
 * of a stub is executable.
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
 * Make the suspended stubs again, in this process or in one that loaded the saved image, at other
 * addresses if necessary. Then call @visit, which may be NULL, for each stub with its address
 * @before.
 *
 * Returns 0, the value of @visit if it ended the walk (all stubs exist even so), or -EALREADY
 * without a suspend. Context: as for flameprof_arenas_suspend().
 */
FLAMEPROF_API int flameprof_arenas_resume(
	int (*visit)(void *context, const struct flameprof_stub_record *stub,
		flameprof_function *before),
	void *context);

#ifdef __cplusplus
}
#endif

#endif
