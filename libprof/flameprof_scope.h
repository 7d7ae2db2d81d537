/* SPDX-License-Identifier: MIT */
/*
 * Scopes: profile this process from the declaration to the end of the block, and write the picture.
 *
 *	FLAMEPROF_SCOPE("import.svg", .rate = 997, .title = "import");
 *
 * When a scope ends, the profiler stops before symbols are read and the picture is drawn and
 * written, so that this work is not in the picture. A scope ends on the thread that leaves the
 * block, by any of these:
 *
 *   return, break, continue, goto    at once
 *   a C++ exception                  at once, when a handler is found; in C with -fexceptions
 *   pthread_exit(), cancellation     at once in C++ and with -fexceptions, else at the thread's end
 *   exit() on any thread             among the functions of atexit()
 *   longjmp() out of the block       late, see below
 *
 * A scope that longjmp() left keeps sampling until its thread, from a frame outside of the block,
 * begins another scope or calls flameprof_start(), _stop(), _flush(), _reset(),
 * flameprof_scope_status() or flameprof_scope_last(); at the latest until the thread ends or exit()
 * is called.
 *
 * _exit(), quick_exit(), exec, abort(), an uncaught exception and a fatal signal write nothing. In
 * a child made by fork() the scope remains the parent's.
 *
 * One scope runs at a time. A scope that begins while the profiler runs, nested or on another
 * thread, does nothing; flameprof_scope_status() then returns -EBUSY.
 */
#ifndef FLAMEPROF_SCOPE_H
#define FLAMEPROF_SCOPE_H

#include "flameprof.h"

/*
 * A scope is a variable, and the block in which it is declared is profiled. In C,
 * FLAMEPROF_SCOPE() declares it. In C++ no macro is needed: flameprof_scope scope("out.svg",
 * options);
 */
struct flameprof_scope;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begin a scope; called by FLAMEPROF_SCOPE() and the C++ class.
 *
 * @scope    only the address is used: if it is on this thread's stack, it shows whether the block
 *           has been left
 * @path     as for flameprof_profile_write(); copied. A relative path is relative to the current
 *           folder at this call.
 * @options  borrowed for the call; NULL: all defaults
 *
 * Returns the new state of @scope: > 0 if it runs, else -errno as from flameprof_start(),
 * -ENAMETOOLONG or -ENOMEM. errno is kept.
 */
FLAMEPROF_API int64_t flameprof_scope_begin(
	struct flameprof_scope *scope, const char *path, const struct flameprof_options *options);

/*
 * End the scope now, if it runs. Leaving the block then has no effect. Waits until the picture is
 * written. Returns flameprof_scope_status() of the scope. errno is kept.
 */
FLAMEPROF_API int flameprof_scope_end(struct flameprof_scope *scope);

/*
 * Returns 0 while the scope runs and after it ended well. Otherwise: the reason why the scope did
 * not begin, as from flameprof_scope_begin() (-EBUSY: the profiler was running); the reason why
 * there is no picture, as from flameprof_stop() and flameprof_profile_write(); or -ESRCH in a fork
 * child and once a later scope has ended.
 */
FLAMEPROF_API int flameprof_scope_status(const struct flameprof_scope *scope);

/* How a scope ended. */
enum flameprof_scope_exit {
	/* The block's end, an exception, or flameprof_scope_end(). */
	FLAMEPROF_SCOPE_BLOCK = 0,
	FLAMEPROF_SCOPE_THREAD = 1,  /* its thread ended */
	FLAMEPROF_SCOPE_PROCESS = 2, /* exit() */
	FLAMEPROF_SCOPE_LEFT = 3    /* longjmp() */
};

/*
 * Figures of the scope that ended last, as shown below the picture's title. Weights are in periods.
 */
struct flameprof_scope_report {
	int error; /* as flameprof_scope_status() */
	enum flameprof_scope_exit left;
	int64_t start_wall_s; /* seconds since the epoch */
	uint64_t elapsed_ns;
	uint64_t samples, weight;
	uint64_t dropped_weight;
	uint64_t reserved[4];
};

/* Fill in @out for the scope that ended last. Returns 0, or -ESRCH if no scope has ended. */
FLAMEPROF_API int flameprof_scope_last(struct flameprof_scope_report *out);

#ifdef __cplusplus
}
#endif

struct flameprof_scope {
	int64_t state; /* result of flameprof_scope_begin() */
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
 * Declare a scope for the current block. FLAMEPROF_SCOPE(path, .field = value, ...) takes fields of
 * struct flameprof_options, in C++20 in the order of their declaration. Before C++20 write
 * FLAMEPROF_SCOPE(path) or FLAMEPROF_SCOPE(path, options). FLAMEPROF_SCOPE_AS(name, path, ...) also
 * names the variable, for flameprof_scope_status().
 */
#define FLAMEPROF_SCOPE(...)                                                            \
	FLAMEPROF_SCOPE_AS(FLAMEPROF_JOIN(flameprof_scope_, __LINE__), __VA_ARGS__)
#define FLAMEPROF_JOIN(left, right)  FLAMEPROF_JOIN_(left, right)
#define FLAMEPROF_JOIN_(left, right) left##right

#if !defined(__cplusplus)
/* Appends `.reserved`, because before C23 the initialiser list must not be empty. */
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
