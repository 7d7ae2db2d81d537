/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the handler takes a stack. */
/*
 * The stacks that the handler's walk runs on. The program's stack may be small, and memory of the
 * program's may lie right below it, so the walk uses as little of it as possible.
 */
#ifndef LIBPROF_SAMPLER_WALK_STACK_H
#define LIBPROF_SAMPLER_WALK_STACK_H

/*
 * Make sure that there are @count stacks, or as many as are ever needed: several for each CPU,
 * because a thread may lose its CPU in the handler. If memory is refused, there are fewer.
 * Context: any thread, not a handler.
 */
void walk_stack_provide(unsigned count);

/*
 * Call function(argument) on a stack that no other thread uses. Returns 0, or -EAGAIN if all stacks
 * are in use: function() was not called.
 * Context: the handler, all signals blocked.
 */
int walk_stack_call(void (*function)(void *), void *argument);

/* In a fork child: no thread is in a handler. Context: as fork(2)'s child. */
void walk_stack_reset(void);

#endif
