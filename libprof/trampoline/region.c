/* SPDX-License-Identifier: MIT */
/* The writers of the process's set of regions. */
#include "libprof/trampoline/region.h"

#include <pthread.h>

#include "libprof/trampoline/fork.h"
#include "libprof/trampoline/region_tree.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* region_tree, for writers */

int region_add(struct region *region)
{
	int error;

	trampoline_fork_register();
	pthread_mutex_lock(&lock);
	error = region_tree_add(&region_tree, region);
	pthread_mutex_unlock(&lock);
	return error;
}

void region_remove(struct region *region)
{
	pthread_mutex_lock(&lock);
	region_tree_remove(&region_tree, region);
	pthread_mutex_unlock(&lock);
}

int region_each(int (*visit)(void *context, struct region *region), void *context)
{
	int error;

	pthread_mutex_lock(&lock);
	error = region_tree_each(&region_tree, visit, context);
	pthread_mutex_unlock(&lock);
	return error;
}

void region_change_begin(struct region *region)
{
	__atomic_store_n(&region->generation, region->generation + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void region_change_end(struct region *region)
{
	__atomic_store_n(&region->generation, region->generation + 1, __ATOMIC_RELEASE);
}

void region_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void region_fork_done(void)
{
	pthread_mutex_unlock(&lock);
}
