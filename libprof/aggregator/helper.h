/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: started from the handler. */
/*
 * The aggregator as a helper process that shares only memory with the target: it takes samples out
 * of the rings, interns their stacks, and writes them to the pipe.
 */
#ifndef LIBPROF_AGGREGATOR_HELPER_H
#define LIBPROF_AGGREGATOR_HELPER_H

/*
 * Start the helper unless it runs or cannot. In a process that samples itself slot->helper says
 * from the start that it runs: a worker thread stands in its place. Context: signal-safe, any
 * thread, SAMPLER_SIGNAL's process only.
 */
void helper_start(void);

/*
 * End the helper and reap it: no child of this process is ours from then on, and there will be no
 * other. Context: any thread, signal-safe, SAMPLER_SIGNAL's process only.
 */
void helper_dismiss(void);

/* Have the helper, or the worker, look at the rings now. Context: signal-safe, any thread. */
void helper_wake(void);

/* In a fork child: the parent's helper is not ours. Context: the child's only thread. */
void helper_forget(void);

#endif
