/* SPDX-License-Identifier: MIT */
/*
 * A process may have two copies of the library (libprof/session/injected.h): one from the profiler,
 * one in the program. The profiler's copy then makes the stubs, and the program's copy forwards
 * calls of the functions below to the profiler's copy.
 */
#ifndef LIBPROF_TRAMPOLINE_OTHER_COPY_H
#define LIBPROF_TRAMPOLINE_OTHER_COPY_H

#include "libprof/flameprof_stub.h"
#include "libprof/flameprof_vm.h"

/*
 * All functions of flameprof_stub.h, those for ticks (stubs of intercepted calls read a tick
 * counter), and those for stacks of virtual machines.
 */
#define OTHER_COPY_FUNCTIONS(X)                                                                    \
	X(flameprof_arena_new)                                                                     \
	X(flameprof_arena_hide_target)                                                             \
	X(flameprof_arena_free)                                                                    \
	X(flameprof_arena_status)                                                                  \
	X(flameprof_stub_new)                                                                      \
	X(flameprof_stub_free)                                                                     \
	X(flameprof_lookup)                                                                        \
	X(flameprof_code_add)                                                                      \
	X(flameprof_code_remove)                                                                   \
	X(flameprof_backtrace)                                                                     \
	X(flameprof_publish)                                                                       \
	X(flameprof_published)                                                                     \
	X(flameprof_intercept)                                                                     \
	X(flameprof_intercept_original)                                                            \
	X(flameprof_intercept_status)                                                              \
	X(flameprof_intercept_table)                                                               \
	X(flameprof_intercept_restore)                                                             \
	X(flameprof_arenas_suspend)                                                                \
	X(flameprof_arenas_resume)                                                                 \
	X(flameprof_interrupt_enable)                                                              \
	X(flameprof_interrupt_disable)                                                             \
	X(flameprof_interrupt_register_with)                                                       \
	X(flameprof_interrupt_unregister)                                                          \
	X(flameprof_interrupt_take)                                                              \
	X(flameprof_vm_stacks)                                                                   \
	X(flameprof_record_vm_stack)

#define OTHER_COPY_MEMBER(function) __typeof__(function) *function;

/* In the program's copy: functions of the profiler's copy. In the profiler's copy: all NULL. */
struct other_copy {
	OTHER_COPY_FUNCTIONS(OTHER_COPY_MEMBER)
};

/* This variable is written only before the program's own code runs. */
extern struct other_copy other_copy __attribute__((visibility("hidden")));

#endif
