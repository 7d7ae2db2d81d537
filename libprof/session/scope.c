/* SPDX-License-Identifier: MIT */
/*
 * Scopes: the running scope and all ways in which it can end. A scope's state is kept here and not
 * in the block's variable, because longjmp() and exit() discard the block's memory without notice.
 */
#include "libprof/flameprof_scope.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprof/flameprof_profile.h"
#include "libprof/profile/profile.h"
#include "libprof/session/draw.h"
#include "libprof/session/session.h"

/*
 * Longest wait for `lock` in exit(): a signal handler that interrupted the thread holding the lock
 * may call exit().
 */
#define EXIT_LOCK_S 1

struct running {
	int64_t ticket; /* number of the scope; 0: none */
	pthread_t owner;
	uintptr_t address; /* of struct flameprof_scope */
	/* End of the owner's stack; 0 if the scope is not on that stack. */
	uintptr_t stack_end;
	char *path;
};

/* A scope that has ended and whose picture is being written. On the stack of the writing thread. */
struct writer {
	struct writer *next;
	pthread_t thread;
};

/*
 * The variables below are protected by `lock`. No thread waits for another one while it holds the
 * lock.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t written = PTHREAD_COND_INITIALIZER;
static struct running running;
static struct writer *writers;
static int64_t tickets; /* last ticket assigned */
static struct {
	int64_t ticket;
	struct flameprof_scope_report report;
} last;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t owner_key; /* value: ticket of that thread's scope */
static int have_owner_key;

static void remove_writer(const struct writer *writer)
{
	struct writer **at = &writers;

	while (*at != writer)
		at = &(*at)->next;
	*at = writer->next;
}

/*
 * End the running scope and write its picture. Context: lock is held; it is released while the
 * picture is written.
 */
static void end_running(enum flameprof_scope_exit way)
{
	struct flameprof_scope_report report = {.left = way};
	struct running left = running;
	struct writer writer = {writers, pthread_self()};
	int cancelling;

	/* Disable cancellation, because it would free `writer` while it is in the list. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
	running.ticket = 0;
	writers = &writer;
	pthread_mutex_unlock(&lock);
	if (have_owner_key && pthread_equal(left.owner, pthread_self()))
		pthread_setspecific(owner_key, NULL);
	report.error = draw_session(left.path, &report);
	free(left.path);
	pthread_mutex_lock(&lock);
	last.ticket = left.ticket;
	last.report = report;
	remove_writer(&writer);
	pthread_cond_broadcast(&written);
	pthread_setcancelstate(cancelling, NULL);
}

static void thread_ends(void *ticket)
{
	int saved_errno = errno;

	pthread_mutex_lock(&lock);
	if (running.ticket == (int64_t)(intptr_t)ticket)
		end_running(FLAMEPROF_SCOPE_THREAD);
	pthread_mutex_unlock(&lock);
	errno = saved_errno;
}

static int others_write(void)
{
	for (const struct writer *writer = writers; writer; writer = writer->next)
		if (!pthread_equal(writer->thread, pthread_self()))
			return 1;
	return 0;
}

static void process_exits(void)
{
	int saved_errno = errno;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EXIT_LOCK_S;
	if (pthread_mutex_timedlock(&lock, &until))
		return;
	if (running.ticket)
		end_running(FLAMEPROF_SCOPE_PROCESS);
	while (others_write())
		pthread_cond_wait(&written, &lock);
	pthread_mutex_unlock(&lock);
	errno = saved_errno;
}

static int is_own_thread(void)
{
	return running.ticket && pthread_equal(running.owner, pthread_self());
}

/*
 * Returns 1 if the running scope's block was left. @frame is the frame of a running function: stack
 * memory below it is dead.
 */
static int is_left(uintptr_t frame)
{
	return is_own_thread() && running.address < frame && frame < running.stack_end;
}

/*
 * If the running scope is on this thread's stack below @frame, its block has been left: end the
 * scope and write its picture. A scope elsewhere may still be running and is not changed.
 * @frame  __builtin_frame_address(0) of the function that the program called
 * Context: any thread, not a handler, no lock held; waits as flameprof_scope_end().
 */
static void end_left(const void *frame)
{
	int saved_errno = errno;

	pthread_mutex_lock(&lock);
	if (is_left((uintptr_t)frame))
		end_running(FLAMEPROF_SCOPE_LEFT);
	pthread_mutex_unlock(&lock);
	errno = saved_errno;
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* In the child there is no running scope and no writing thread; they remain in the parent. */
static void fork_child(void)
{
	running.ticket = 0;
	writers = NULL;
	pthread_cond_init(&written, NULL);
	pthread_mutex_unlock(&lock);
}

static void init_once(void)
{
	have_owner_key = !pthread_key_create(&owner_key, thread_ends);
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	atexit(process_exits);
	__atomic_store_n(&session_end_left_scope, end_left, __ATOMIC_RELEASE);
}

/*
 * End the running scope if its block was left. If the block was left and entered again, the new
 * scope @scope has the same address as the old one.
 */
static void end_left_or_replaced(const struct flameprof_scope *scope, const void *frame)
{
	pthread_mutex_lock(&lock);
	if (is_left((uintptr_t)frame) || (is_own_thread() && running.address == (uintptr_t)scope))
		end_running(FLAMEPROF_SCOPE_LEFT);
	pthread_mutex_unlock(&lock);
}

/*
 * If the scope is on the thread's stack, store the end of the stack. For a scope on a coroutine's
 * stack or the heap, its address does not show whether the block was left.
 */
static void find_stack(struct running *scope)
{
	pthread_attr_t attributes;
	void *low = NULL;
	size_t bytes = 0;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	if (scope->address - (uintptr_t)low >= bytes)
		return;
	scope->stack_end = (uintptr_t)low + bytes;
}

static int64_t begin_scope(
	struct flameprof_scope *scope, const char *path, const struct flameprof_options *options)
{
	struct running next = {.owner = pthread_self(), .address = (uintptr_t)scope};
	char absolute[PATH_MAX];
	int error = absolute_path(absolute, path);

	if (error)
		return error;
	next.path = strdup(absolute);
	if (!next.path)
		return -ENOMEM;
	find_stack(&next);
	error = flameprof_start(options);
	if (error) {
		free(next.path);
		return error;
	}
	pthread_mutex_lock(&lock);
	next.ticket = ++tickets;
	running = next;
	pthread_mutex_unlock(&lock);
	if (next.stack_end && have_owner_key)
		pthread_setspecific(owner_key, (void *)(intptr_t)next.ticket);
	return next.ticket;
}

int64_t flameprof_scope_begin(
	struct flameprof_scope *scope, const char *path, const struct flameprof_options *options)
{
	int saved_errno = errno;
	int64_t state;

	if (!scope || !path)
		return -EINVAL;
	pthread_once(&once, init_once);
	end_left_or_replaced(scope, __builtin_frame_address(0));
	state = begin_scope(scope, path, options);
	errno = saved_errno;
	return state;
}

/* Returns the result of flameprof_scope_status() for a scope's `state`. Context: lock is held. */
static int status_of(int64_t state)
{
	if (state <= 0)
		return (int)state;
	if (state == running.ticket)
		return 0;
	return state == last.ticket ? last.report.error : -ESRCH;
}

int flameprof_scope_end(struct flameprof_scope *scope)
{
	int saved_errno = errno;

	if (!scope)
		return -EINVAL;
	if (scope->state > 0) {
		pthread_mutex_lock(&lock);
		if (scope->state == running.ticket)
			end_running(FLAMEPROF_SCOPE_BLOCK);
		scope->state = status_of(scope->state);
		pthread_mutex_unlock(&lock);
	}
	errno = saved_errno;
	return (int)scope->state;
}

int flameprof_scope_status(const struct flameprof_scope *scope)
{
	int status;

	if (!scope)
		return -EINVAL;
	end_left(__builtin_frame_address(0));
	pthread_mutex_lock(&lock);
	status = status_of(scope->state);
	pthread_mutex_unlock(&lock);
	return status;
}

int flameprof_scope_last(struct flameprof_scope_report *out)
{
	int error = -ESRCH;

	if (!out)
		return -EINVAL;
	end_left(__builtin_frame_address(0));
	pthread_mutex_lock(&lock);
	if (last.ticket) {
		*out = last.report;
		error = 0;
	}
	pthread_mutex_unlock(&lock);
	return error;
}
