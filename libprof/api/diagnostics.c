/* SPDX-License-Identifier: MIT */
/*
 * flameprof_diagnostics(): the counters of handlers, queue and worker as one struct, read and
 * reset. Those of the handlers only grow; what they were when last read is remembered instead.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "libprof/api/session.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/sampler.h"

/* How much *@counter grew since *@seen, which becomes what it is now. */
static uint64_t growth(const uint64_t *counter, uint64_t *seen)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
	uint64_t grown = now - *seen;

	*seen = now;
	return grown;
}

/* Lock held. A clock that can't be read is the one of a worker that ended, and noted it before. */
static void collect_worker(clockid_t clock)
{
	uint64_t worker_ns = clock_cpu_ns(clock);

	if (worker_ns > session.seen.worker_ns)
		session.counts.worker_ns += growth(&worker_ns, &session.seen.worker_ns);
}

/* Lock held, as for all of these. */
static void collect_sampler(void)
{
	struct flameprof_counters *counts = &session.counts;
	struct session_seen *seen = &session.seen;
	const struct wire_slot *slot = sampler.slot;
	int32_t worker = __atomic_load_n(&session.worker_tid, __ATOMIC_RELAXED);

	counts->paused_weight += growth(&slot->paused, &seen->paused);
	counts->paused_weight += growth(&slot->vm_paused, &seen->vm_paused);
	counts->dropped[FLAMEPROF_DROP_RING].weight += growth(&slot->dropped, &seen->dropped);
	counts->dropped[FLAMEPROF_DROP_RING].weight += growth(&slot->vm_dropped, &seen->vm_dropped);
	counts->dropped[FLAMEPROF_DROP_RING].samples +=
		growth(&sampler.dropped_samples, &seen->dropped_samples);
	counts->dropped[FLAMEPROF_DROP_RING].bytes +=
		growth(&sampler.dropped_bytes, &seen->dropped_bytes);
	counts->dropped_marks += growth(&sampler.dropped_marks, &seen->dropped_marks);
	counts->late_threads += growth(&slot->late_threads, &seen->late_threads);
	counts->handler_ns += growth(&slot->handler_ns, &seen->handler_ns);
	if (worker)
		collect_worker(clock_of_thread(worker));
}

static void collect_queue(void)
{
	struct flameprof_counters *counts = &session.counts;
	struct queue_counters queue;

	queue_counters_take(&session.queue, &queue);
	counts->dropped[FLAMEPROF_DROP_QUEUE].batches += queue.dropped_batches;
	counts->dropped[FLAMEPROF_DROP_QUEUE].samples += queue.dropped_samples;
	counts->dropped[FLAMEPROF_DROP_QUEUE].weight += queue.dropped_weight;
	counts->dropped[FLAMEPROF_DROP_QUEUE].bytes += queue.dropped_bytes;
	counts->dropped[FLAMEPROF_DROP_DAMAGED].samples += queue.damaged_samples;
	counts->dropped[FLAMEPROF_DROP_DAMAGED].bytes += queue.damaged_bytes;
	if (queue.high_water_bytes > counts->high_water_bytes)
		counts->high_water_bytes = queue.high_water_bytes;
}

static uint64_t count_threads(void)
{
	uint64_t threads = 0;

	SAMPLER_FOR_EACH_RING(index)
	threads += !!__atomic_load_n(&sampler_threads[index].active, __ATOMIC_RELAXED);
	return threads;
}

void diagnostics_begin(void)
{
	pthread_mutex_lock(&session.counts_lock);
	memset(&session.counts, 0, sizeof(session.counts));
	memset(&session.seen, 0, sizeof(session.seen));
	session.has_counts = 1;
	session.is_counting = 1;
	pthread_mutex_unlock(&session.counts_lock);
}

void diagnostics_add(const struct store_result *result)
{
	struct flameprof_counters *counts = &session.counts;

	pthread_mutex_lock(&session.counts_lock);
	counts->recorded_samples += result->samples;
	counts->recorded_weight += result->weight;
	counts->vm_samples += result->vm_samples;
	counts->vm_weight += result->vm_weight;
	counts->dropped[FLAMEPROF_DROP_PROFILE].samples += result->full_samples;
	counts->dropped[FLAMEPROF_DROP_PROFILE].weight += result->full_weight;
	counts->dropped[FLAMEPROF_DROP_PROFILE].bytes += result->full_bytes;
	counts->dropped[FLAMEPROF_DROP_DAMAGED].samples += result->damaged_samples;
	counts->dropped[FLAMEPROF_DROP_DAMAGED].bytes += result->damaged_bytes;
	for (unsigned end = 0; end < FLAMEPROF_ENDS; end++)
		counts->ends[end] += result->ends[end];
	pthread_mutex_unlock(&session.counts_lock);
}

void diagnostics_worker_ends(void)
{
	pthread_mutex_lock(&session.counts_lock);
	collect_worker(CLOCK_THREAD_CPUTIME_ID);
	__atomic_store_n(&session.worker_tid, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&session.counts_lock);
}

void diagnostics_end(void)
{
	pthread_mutex_lock(&session.counts_lock);
	collect_sampler();
	collect_queue();
	session.is_counting = 0;
	pthread_mutex_unlock(&session.counts_lock);
}

int flameprof_diagnostics(struct flameprof_counters *out)
{
	int error = 0;

	pthread_mutex_lock(&session.counts_lock);
	if (session.is_counting) {
		collect_sampler();
		collect_queue();
		session.counts.threads = count_threads();
	}
	if (session.has_counts) {
		*out = session.counts;
		memset(&session.counts, 0, sizeof(session.counts));
	} else {
		error = -ESRCH;
	}
	pthread_mutex_unlock(&session.counts_lock);
	return error;
}
