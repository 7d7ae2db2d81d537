/* SPDX-License-Identifier: MIT */
/*
 * Scopes: profile this process from here to the end of the block, and write what it was.
 *
 *	FLAMEPROF_SCOPE("import.svg", .rate = 997, .title = "import");
 *
 * A scope that ends stops the profiler, and then names, draws and writes: none of this is in the
 * picture. It ends on the thread that leaves the block, whichever way:
 *
 *   return, break, continue, goto    at once
 *   a C++ exception                  at once, when a handler is found; in C with -fexceptions
 *   pthread_exit(), cancellation     at once in C++ and with -fexceptions, else at the thread's end
 *   exit() on any thread             among the functions of atexit()
 *   longjmp() over it                at the next scope, or call of flameprof_start(), _stop(),
 *                                    _flush(), _reset(), flameprof_scope_status() or _last() on
 *                                    the thread from a frame that has left the block; at the
 *                                    latest when the thread ends or exit() is called. Samples go
 *                                    on until then.
 *
 * Nothing is written by _exit(), quick_exit(), exec, abort(), an exception that nobody catches, or
 * a signal that kills. A child made by fork() leaves the scope to its parent.
 *
 * One scope runs at a time: one that begins while the profiler runs, nested or on another thread,
 * is silent and does nothing. flameprof_scope_status() tells.
 */
#ifndef FLAMEPROF_SCOPE_H
#define FLAMEPROF_SCOPE_H

#include "flameprof.h"

/*
 * A scope, in the block it stands for. In C a plain variable that FLAMEPROF_SCOPE() declares; in
 * C++ a class that needs no macro: flameprof_scope scope("out.svg", options);
 */
struct flameprof_scope;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begin. What FLAMEPROF_SCOPE() and the class call.
 *
 * @scope    only its address is used: one in this thread's stack is looked at again when the thread
 *           has left it
 * @path     as for flameprof_profile_write(); copied. A relative one stands for the folder that is
 *           current now.
 * @options  borrowed for the call; NULL: all defaults
 *
 * Returns what the scope is to hold: it runs when > 0, else -errno as from flameprof_start(),
 * -ENAMETOOLONG or -ENOMEM. errno is kept.
 */
FLAMEPROF_API int64_t flameprof_scope_begin(
	struct flameprof_scope *scope, const char *path, const struct flameprof_options *options);

/*
 * End the scope now, if it runs; what leaving the block does. Waits until the picture is written.
 * Returns flameprof_scope_status() of it. errno is kept.
 */
FLAMEPROF_API int flameprof_scope_end(struct flameprof_scope *scope);

/*
 * Returns 0 while the scope runs and when it ended well; why it did not begin (-EBUSY: the profiler
 * was running), as flameprof_scope_begin(); or why there is no picture, as flameprof_stop() and
 * flameprof_profile_write(); -ESRCH in a child made by fork() and once later scopes have ended.
 */
FLAMEPROF_API int flameprof_scope_status(const struct flameprof_scope *scope);

/* Which way a scope was left. */
enum flameprof_scope_exit {
	FLAMEPROF_SCOPE_BLOCK = 0,   /* the block's end, an exception, flameprof_scope_end() */
	FLAMEPROF_SCOPE_THREAD = 1,  /* its thread ended */
	FLAMEPROF_SCOPE_PROCESS = 2, /* exit() */
	FLAMEPROF_SCOPE_LEFT = 3    /* longjmp() */
};

/* What the picture says below its title, as numbers. */
struct flameprof_scope_report {
	int error; /* as flameprof_scope_status() */
	enum flameprof_scope_exit left;
	int64_t start_wall_s; /* seconds since the epoch */
	uint64_t elapsed_ns;
	uint64_t samples, weight;
	uint64_t dropped_weight;
	uint64_t reserved[4];
};

/* Of the scope that ended last. Returns 0, or -ESRCH when none has. */
FLAMEPROF_API int flameprof_scope_last(struct flameprof_scope_report *out);

#ifdef __cplusplus
}
#endif

struct flameprof_scope {
	int64_t state; /* what flameprof_scope_begin() returned */
#ifdef __cplusplus
	explicit flameprof_scope(
		const char *path, const flameprof_options &options = flameprof_options())
	    : state(flameprof_scope_begin(this, path, &options))
	{
	}
	~flameprof_scope()
	{
		flameprof_scope_end(this);
	}
	int end()
	{
		return flameprof_scope_end(this);
	}
	int status() const
	{
		return flameprof_scope_status(this);
	}
	flameprof_scope(const flameprof_scope &) = delete;
	flameprof_scope &operator=(const flameprof_scope &) = delete;
#endif
};

/*
 * FLAMEPROF_SCOPE(path, .field = value, ...) with the fields of struct flameprof_options, in C++20
 * in their order; before C++20 FLAMEPROF_SCOPE(path) or FLAMEPROF_SCOPE(path, options).
 * FLAMEPROF_SCOPE_AS(name, path, ...) is the same as a variable whose status can be asked for.
 */
#define FLAMEPROF_SCOPE(...)                                                            \
	FLAMEPROF_SCOPE_AS(FLAMEPROF_JOIN(flameprof_scope_, __LINE__), __VA_ARGS__)
#define FLAMEPROF_JOIN(left, right)  FLAMEPROF_JOIN_(left, right)
#define FLAMEPROF_JOIN_(left, right) left##right

#if !defined(__cplusplus)
/* The last field is there for scopes that set none. */
#define FLAMEPROF_SCOPE_AS(...) FLAMEPROF_SCOPE_WITH(__VA_ARGS__, .reserved = {0})
#define FLAMEPROF_SCOPE_WITH(name, path, ...)                                           \
	__attribute__((cleanup(flameprof_scope_end), unused)) struct flameprof_scope name = { \
		flameprof_scope_begin(                                                  \
			&name, path, &(const struct flameprof_options){__VA_ARGS__})}
#elif __cplusplus >= 202002L
#define FLAMEPROF_SCOPE_AS(...) FLAMEPROF_SCOPE_WITH(__VA_ARGS__, .reserved = {})
#define FLAMEPROF_SCOPE_WITH(name, path, ...)                                           \
	flameprof_scope name(path, flameprof_options{__VA_ARGS__})
#else
#define FLAMEPROF_SCOPE_AS(name, ...) flameprof_scope name(__VA_ARGS__)
#endif

#endif
