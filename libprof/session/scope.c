/* SPDX-License-Identifier: MIT */
/*
 * Scopes: which one runs, and every way it can be left. What describes the running scope lies here
 * and not in the block, whose memory longjmp() and exit() take away without a word.
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

/* A handler that interrupted us may call exit(): then the lock is never given back. */
#define EXIT_LOCK_S 1

struct running {
	int64_t ticket; /* 0: none */
	pthread_t owner;
	uintptr_t address;   /* of the scope */
	uintptr_t stack_end; /* of the owner; 0 when the scope does not lie in it */
	char *path;
};

/* A scope that was left and is being written, in the stack of who does. */
struct writer {
	struct writer *next;
	pthread_t thread;
};

/* Everything below is protected by `lock`, which nobody waits under. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t written = PTHREAD_COND_INITIALIZER;
static struct running running;
static struct writer *writers;
static int64_t tickets; /* given out */
static struct {
	int64_t ticket;
	struct flameprof_scope_report report;
} last;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t owner_key; /* its value is the ticket of the thread's scope */
static int have_owner_key;

static void remove_writer(const struct writer *writer)
{
	struct writer **at = &writers;

	while (*at != writer)
		at = &(*at)->next;
	*at = writer->next;
}

/* With the lock held, which it gives up for as long as it takes. */
static void end_running(enum flameprof_scope_exit way)
{
	struct flameprof_scope_report report = {.left = way};
	struct running left = running;
	struct writer writer = {writers, pthread_self()};
	int cancelling;

	/* A thread that is cancelled meanwhile would take `writer` with it. */
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

/* Below the frame of a running function nothing of its stack is alive. */
static int is_left(uintptr_t frame)
{
	return is_own_thread() && running.address < frame && frame < running.stack_end;
}

/*
 * End the running scope, picture and all, if it lies in this thread's stack below @frame: its block
 * has been left. One elsewhere may be alive for all we know, and is left alone.
 * @frame  __builtin_frame_address(0) of the function the program called
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

/* The scope is the parent's, and so are those who write. */
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

/* A scope in the same place is another turn of the block: the one before was left. */
static void end_left_or_replaced(const struct flameprof_scope *scope, const void *frame)
{
	pthread_mutex_lock(&lock);
	if (is_left((uintptr_t)frame) || (is_own_thread() && running.address == (uintptr_t)scope))
		end_running(FLAMEPROF_SCOPE_LEFT);
	pthread_mutex_unlock(&lock);
}

/* The thread's own stack, if @address lies in it: a coroutine's or the heap tells us nothing. */
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

/* With the lock held. */
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
