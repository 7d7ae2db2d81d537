/* SPDX-License-Identifier: MIT */
/*
 * Sample threads that libc makes for SIGEV_THREAD without calling pthread_create(). libc gets a
 * function of this library, which starts sampling the thread and then calls the program's function.
 * Such a thread ends as other threads do.
 *
 * libc keeps function and value as long as the timer exists, and does not report when the timer is
 * deleted. So each pair of the program's function and value has one permanent entry in a table. If
 * the table is full, libc gets the program's own function, and the thread is not sampled.
 */
#include <mqueue.h>
#include <signal.h>
#include <time.h>

#include "libprof/preload/preload.h"
#include "libprof/sampler/tasks.h"

#define NOTIFIED_MAX 256u

struct notified {
	/*
	 * Atomic enum notified_state. When it is NOTIFIED_READY, the other fields do not change any
	 * more.
	 */
	uint32_t state;
	void (*function)(union sigval);
	union sigval value;
};
enum notified_state {
	NOTIFIED_FREE,
	NOTIFIED_BUSY,
	NOTIFIED_READY
};

static struct notified table[NOTIFIED_MAX];

static void notify(union sigval value)
{
	const struct notified *notified = value.sival_ptr;
	struct sampler_thread *thread = sampler_thread_claim();

	if (thread) {
		thread->start = (void *(*)(void *))(uintptr_t)notified->function;
		tasks_begin_self(thread);
	}
	notified->function(notified->value);
}

/* Find or add the entry for the function and value in @event. Returns NULL if the table is full. */
static struct notified *find_notified(const struct sigevent *event)
{
	for (unsigned i = 0; i < NOTIFIED_MAX; i++) {
		struct notified *notified = &table[i];
		uint32_t state = NOTIFIED_FREE;

		if (__atomic_compare_exchange_n(&notified->state, &state, NOTIFIED_BUSY, 0,
			    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			notified->function = event->sigev_notify_function;
			notified->value = event->sigev_value;
			__atomic_store_n(&notified->state, NOTIFIED_READY, __ATOMIC_RELEASE);
			return notified;
		}
		if (state == NOTIFIED_READY && notified->function == event->sigev_notify_function &&
			notified->value.sival_ptr == event->sigev_value.sival_ptr)
			return notified;
	}
	return NULL;
}

/* Returns the event to pass to libc: @event, or a copy in @room that calls notify(). */
static struct sigevent *wrap(struct sigevent *event, struct sigevent *room)
{
	struct notified *notified;

	if (!event || event->sigev_notify != SIGEV_THREAD || !event->sigev_notify_function ||
		!__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE))
		return event;
	notified = find_notified(event);
	if (!notified)
		return event;
	*room = *event;
	room->sigev_notify_function = notify;
	room->sigev_value.sival_ptr = notified;
	return room;
}

PRELOAD_EXPORT int timer_create(
	clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
	static int (*next)(clockid_t, struct sigevent *, timer_t *);
	struct sigevent room;

	if (!next)
		next = (int (*)(clockid_t, struct sigevent *, timer_t *))preload_next(
			"timer_create");
	return next(clock, wrap(event, &room), timer);
}

PRELOAD_EXPORT int mq_notify(mqd_t queue, const struct sigevent *event)
{
	static int (*next)(mqd_t, const struct sigevent *);
	struct sigevent room;

	if (!next)
		next = (int (*)(mqd_t, const struct sigevent *))preload_next("mq_notify");
	return next(queue, wrap((struct sigevent *)(uintptr_t)event, &room));
}
