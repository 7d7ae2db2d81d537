/* SPDX-License-Identifier: MIT */
/*
 * Names for generated code: call stubs, whose address on the stack stands for a function of the
 * host (a method of an interpreter, a closure), and the host's own JIT code. Both are known at once
 * to flamerun and to this library's profiler, and to perf, gdb and exception unwinders when asked
 * for.
 *
 * A stub calls its target with the arguments it was called with, returns what the target returns,
 * and keeps one frame, laid out for everybody the same:
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

/* Where the payload lies, in bytes from where the stub's frame pointer points. */
#if defined(__x86_64__)
#define FLAMEPROF_STUB_PAYLOAD (-8)
#elif defined(__aarch64__)
#define FLAMEPROF_STUB_PAYLOAD 16
#endif

/* Any function; cast to and from the real type. */
typedef void flameprof_function(void);

/* Longer names are cut. */
#define FLAMEPROF_NAME_BYTES 4095

/*
 * What of the target's type a stub has to know. All zero: everything is passed in registers, and a
 * bind stub moves all of them.
 *
 * A stub that knows of more stack words than there are copies what lies above; one that knows of
 * fewer hands on garbage: FLAMEPROF_SIGNATURE() counts them (flameprof_signature.h). Targets with a
 * variable number of arguments are called with at most so many.
 */
struct flameprof_signature {
	unsigned stack_words; /* 8-byte words of arguments the target gets on the stack; up to 64 */
	/*
	 * For bind stubs: integer and pointer arguments of the *target*, the prepended one and
	 * those on the stack included, structures of two words and __int128 as two; and whether the
	 * result is returned in memory the caller points to. Where the last register's argument has
	 * to move to the stack it comes before all that is there: nothing that is passed on the
	 * stack anyway (large structures, long double) may precede it, nothing that is aligned to
	 * 16 bytes may follow on the stack, and no pair may be torn by the move. On aarch64 there
	 * may be no __int128 at all.
	 */
	unsigned integer_arguments;
	unsigned memory_result;
	unsigned reserved[5]; /* zero */
};

/* How the stubs of an arena call: as they were called, or with the payload prepended. */
enum flameprof_stub_kind {
	FLAMEPROF_STUB_CALL = 0,
	FLAMEPROF_STUB_BIND = 1 /* target(payload, arguments...) */
};

struct flameprof_arena;

/* Why stubs are not to be had; names go missing then and nothing else. */
enum flameprof_stub_status {
	FLAMEPROF_STUBS_WORK = 0,
	FLAMEPROF_STUBS_DENIED =
		1, /* executable memory is refused: SELinux, seccomp, PR_SET_MDWE */
	FLAMEPROF_STUBS_NO_MEMORY = 2,
	FLAMEPROF_STUBS_SUSPENDED = 3 /* between flameprof_arenas_suspend() and _resume() */
};

/*
 * An arena of stubs that call @target.
 *
 * @signature  borrowed for the call; NULL: as all zero
 *
 * Returns 0 and an arena in *@out that lives until flameprof_arena_free(), also where executable
 * memory is refused: call stubs are the plain target then, bind stubs cannot be made.
 * -EINVAL for what no stub can do, -ENOMEM.
 */
FLAMEPROF_API int flameprof_arena_new(struct flameprof_arena **out, enum flameprof_stub_kind kind,
	flameprof_function *target, const struct flameprof_signature *signature);

/*
 * The target only drags itself through the stacks, as an evaluator does whose functions have the
 * stubs: leave its frame out where it stands directly above a stub of @arena. Its own time becomes
 * the stub's, and what it calls stands on the stub; that is so in flamerun's pictures and in pprof
 * profiles, not for debuggers and perf. Leave it be where the target ends in calls of others in its
 * own place (tail calls): their frame would be left out. Context: before the first stub.
 */
FLAMEPROF_API void flameprof_arena_hide_target(struct flameprof_arena *arena);

/* All stubs of the arena end; none may be running or be called any more. NULL is fine. */
FLAMEPROF_API void flameprof_arena_free(struct flameprof_arena *arena);

/* FLAMEPROF_STUBS_NO_MEMORY for NULL. Context: signal-safe. */
FLAMEPROF_API enum flameprof_stub_status flameprof_arena_status(
	const struct flameprof_arena *arena);

/*
 * A stub with this name and payload. Takes no lock on the common path.
 *
 * @name  copied, at most FLAMEPROF_NAME_BYTES; any bytes but NUL. NULL or "": "[anonymous]"
 *
 * Returns the function to call in the target's place: a stub, or the target itself where there can
 * be none (a call stub's caller need not care). NULL only for a bind stub that could not be made.
 */
FLAMEPROF_API flameprof_function *flameprof_stub_new(
	struct flameprof_arena *arena, const char *name, uintptr_t payload);

/*
 * The stub ends; it may not be running or be called any more. The target itself, NULL and what is
 * no stub of the arena are left alone. Its memory is given to later stubs, its name to nobody:
 * samples taken in it keep it.
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
	uintptr_t payload; /* of stubs */
	/*
	 * Stays readable for as long as the code exists, and for as long as the process lives when
	 * read in a handler that interrupted its end.
	 */
	const char *name;
};

/*
 * What generated code @pc lies in.
 * Returns 0, or -ENOENT. Context: signal-safe, any thread; takes no lock; logarithmic.
 */
FLAMEPROF_API int flameprof_lookup(uintptr_t pc, struct flameprof_code_info *out);

/*
 * Announce code of the host's own, ready to run. Samplers know it from now on.
 *
 * @name      copied
 * @eh_frame  NULL: frames are followed by frame pointers; else CIE and FDE that cover the code, as
 *            the linker would put them into .eh_frame, ended by four zero bytes; borrowed until
 *            flameprof_code_remove()
 *
 * Returns 0; -EINVAL for no code, 4 GiB or more of it, what wraps, and an @eh_frame that is none or
 * not about the code; -EEXIST when it overlaps announced code; -ENOMEM.
 */
FLAMEPROF_API int flameprof_code_add(
	const void *start, size_t bytes, const char *name, const void *eh_frame);

/* The code that begins at @start is going away. Returns 0 or -ENOENT. */
FLAMEPROF_API int flameprof_code_remove(const void *start);

struct flameprof_backtrace_frame {
	uintptr_t pc; /* of the call, for callers */
	int is_code;  /* `code` is filled in: generated code */
	struct flameprof_code_info code;
};

/*
 * The stack of the calling thread through stubs and announced code, innermost first.
 *
 * @ucontext  as a signal handler gets it; NULL: from the caller of this function
 *
 * Returns how many frames were written, at most @room and 4096. Context: signal-safe, any thread;
 * also in a handler of SIGSEGV: reads what may not be mapped without faulting.
 */
FLAMEPROF_API unsigned flameprof_backtrace(
	const void *ucontext, struct flameprof_backtrace_frame *frames, unsigned room);

/* ---- other tools ----------------------------------------------------------------------------- */

enum flameprof_publish {
	FLAMEPROF_PUBLISH_PERF_MAP = 1, /* /tmp/perf-PID.map: names for perf report */
	/*
	 * jit-PID.dump in $JITDUMPDIR or the current folder, for perf inject --jit: names and
	 * unwinding. Code of the host's is unwound with 32 bytes behind it that are nobody's code.
	 */
	FLAMEPROF_PUBLISH_JITDUMP = 2,
	FLAMEPROF_PUBLISH_GDB = 4,
	FLAMEPROF_PUBLISH_UNWINDERS = 8, /* libgcc or LLVM libunwind: exceptions through stubs */
	FLAMEPROF_PUBLISH_LIBUNWIND = 16 /* nongnu libunwind, where the host has it loaded */
};

/*
 * Publish all stubs and announced code, existing and future, to other tools. Off unless asked for,
 * with one exception: if libgcc_s or LLVM libunwind is loaded when memory for stubs is made, as in
 * every C++ program, FLAMEPROF_PUBLISH_UNWINDERS is turned on for stubs. Otherwise an exception
 * through a stub would end in terminate(). Ask for it after such a library was loaded later, and
 * for exceptions through announced code. Children made by fork() go on under their own pid.
 * Unwinders that were given any code stay loaded.
 *
 * @what  enum flameprof_publish, or-ed; adds to what was asked for before
 *
 * Returns 0; -EINVAL for an unknown tool, with nothing changed; or the error of the first that
 * cannot be had: the others are on. -ENOENT: no such library, or no such folder; -EEXIST: the file
 * is there and not ours; -ENOTSUP: the tool does not see all of it (perf's map: stubs in pages of a
 * memfd, where other executable memory is refused); else -errno of the file, or -ENOMEM.
 */
FLAMEPROF_API int flameprof_publish(unsigned what);

/*
 * What is published now: a tool whose file can no longer be written is off. Context: signal-safe.
 */
FLAMEPROF_API unsigned flameprof_published(void);

/* ---- process images -------------------------------------------------------------------------- */

/* One stub, as flameprof_arenas_suspend() shows it. */
struct flameprof_stub_record {
	struct flameprof_arena *arena; /* NULL: of flameprof_intercept() */
	const char *name;
	uintptr_t payload;
	flameprof_function *stub;   /* its address before; after _resume(): its address now */
	flameprof_function *target; /* what to store in its place meanwhile */
};

/*
 * For a host that saves an image of its memory: end all stubs, after calling @visit for each of
 * them. Until _resume() arenas hand out what they hand out where there can be no stubs, and no
 * address of theirs is executable.
 *
 * @visit  may be NULL. Returns 0 to go on; another value ends the walk and is returned, with all
 *         stubs intact
 *
 * Returns 0, what @visit returned, -EALREADY between suspend and resume, or -ENOMEM.
 * Context: no stub is running, and nobody makes or frees arenas or stubs meanwhile, @visit neither.
 */
FLAMEPROF_API int flameprof_arenas_suspend(
	int (*visit)(void *context, const struct flameprof_stub_record *stub), void *context);

/*
 * Make the suspended stubs again, in this process or in the one the image was loaded into, at other
 * addresses if need be; then @visit, which may be NULL, learns each, and where it was @before.
 *
 * Returns 0, what @visit returned when it ended the walk: all stubs exist even so; or -EALREADY
 * without a suspend. Context: as suspend.
 */
FLAMEPROF_API int flameprof_arenas_resume(
	int (*visit)(void *context, const struct flameprof_stub_record *stub,
		flameprof_function *before),
	void *context);

#ifdef __cplusplus
}
#endif

#endif
