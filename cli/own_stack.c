/* SPDX-License-Identifier: MIT */
/* Run a function on a stack whose size is independent of `ulimit -s`. */
#include "cli/own_stack.h"

#include <signal.h>
#include <sys/resource.h>

struct request {
	void (*call)(void *argument);
	void *argument;
	sigset_t mask;
};

int own_stack_thread(pthread_t *thread, void *(*start)(void *), void *argument)
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	error = pthread_attr_setstacksize(&attributes, OWN_STACK_BYTES);
	if (!error)
		error = pthread_create(thread, &attributes, start, argument);
	pthread_attr_destroy(&attributes);
	return -error;
}

static void *run_call(void *argument)
{
	const struct request *request = argument;

	pthread_sigmask(SIG_SETMASK, &request->mask, NULL);
	request->call(request->argument);
	return NULL;
}

int own_stack_call(void (*call)(void *), void *argument)
{
	struct request request = {.call = call, .argument = argument};
	struct rlimit limit;
	pthread_t thread;
	sigset_t all;
	int error;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= OWN_STACK_BYTES) {
		call(argument);
		return 0;
	}
	/* Block signals in this thread until @call returns, so that the new thread handles them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &request.mask);
	error = own_stack_thread(&thread, run_call, &request);
	if (!error)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &request.mask, NULL);
	return error;
}
