/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: used by the handler. */
/*
 * The stacks on which the handler's walk runs. The program's stack may be small, and data of the
 * program may be right below its stack pointer, so the handler uses as little of that stack as
 * possible.
 */
#ifndef LIBPROF_SAMPLER_WALK_STACK_H
#define LIBPROF_SAMPLER_WALK_STACK_H

/*
 * Add a stack if there are fewer than @count. There are at most several stacks for each CPU; one
 * would not suffice, because a thread may be preempted in the handler. If memory is refused, no
 * stack is added.
 * Context: any thread, not a handler.
 */
void walk_stack_provide(unsigned count);

/*
 * Call function(argument) on a stack that no other thread uses. Returns 0, or -EAGAIN if all stacks
 * are in use and function() was not called.
 * Context: the handler, all signals blocked.
 */
int walk_stack_call(void (*function)(void *), void *argument);

/*
 * Mark all stacks as free, because in a fork child no thread is in a handler. Context: a fork(2)
 * child.
 */
void walk_stack_reset(void);

#endif
