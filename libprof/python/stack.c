/* SPDX-License-Identifier: MIT */
/*
 * Where the calling thread's stack lies. For the main thread pthread_getattr_np() would read
 * /proc/self/maps, and its descriptor would be seen; the kernel's own data at the upper end and the
 * limit tell as much.
 */
#include "libprof/python/stack.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

/* Named functions get this part of a stack, and no more of one that is very large. */
#define SHARE          4
#define STACK_MAX      (64UL << 20)
#define STACK_UNKNOWN  (8UL << 20) /* where there is no limit */

static struct stack_share of_main_thread(uintptr_t here)
{
	uintptr_t top = getauxval(AT_RANDOM);
	struct rlimit limit;
	uintptr_t bytes = STACK_UNKNOWN;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < STACK_MAX)
		bytes = limit.rlim_cur;
	if (here > top || top - here > bytes)
		return (struct stack_share){0};
	return (struct stack_share){.low = top - bytes / SHARE, .bytes = bytes / SHARE};
}

static struct stack_share of_thread(uintptr_t here)
{
	struct stack_share share = {0};
	pthread_attr_t attributes;
	void *low;
	size_t bytes;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return share;
	if (!pthread_attr_getstack(&attributes, &low, &bytes) && here >= (uintptr_t)low &&
		here - (uintptr_t)low < bytes) {
		size_t part = (bytes < STACK_MAX ? bytes : STACK_MAX) / SHARE;

		share.low = (uintptr_t)low + bytes - part;
		share.bytes = part;
	}
	pthread_attr_destroy(&attributes);
	return share;
}

struct stack_share stack_share_of_caller(const void *thread)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct stack_share share = getpid() == gettid() ? of_main_thread(here) : of_thread(here);

	share.thread = thread;
	return share;
}
