/* SPDX-License-Identifier: MIT */
/*
 * Decides when a round of observations is due and which threads are observed in it. wait_thread.c
 * observes one thread.
 */
#include "libprof/waits/waits.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/procfs.h"
#include "libprof/profile/lookup.h"

#define NS_PER_S 1000000000ULL

/* Average time between rounds. The time is random, from half to one and a half times this. */
#define ROUND_NS 50000000ULL
/* ns from a round to the second observation of threads that ran. */
#define AGAIN_NS 200000ULL
/* Accounted time is recorded at this interval. */
#define TELL_NS NS_PER_S

/*
 * Budget for all observations in thousandths of a CPU, and the largest unused budget that is kept.
 */
#define SHARE_PERMILLE 15
#define SAVED_NS       (50 * ROUND_NS * SHARE_PERMILLE / 1000)
/* First estimate of the CPU time of one observation, in ns. */
#define CHECK_NS 15000

/*
 * ns to wait until a thread has a number; afterwards the thread is observed as one without a ring.
 * A thread with a ring reports its number when it first runs on a CPU, which may be late.
 */
#define UNNUMBERED_NS NS_PER_S

#define THREADS_MAX    65536u
/* Observe at most this many threads at the end, for which the user has to wait. */
#define LAST_LOOKS_MAX 4096u

struct process {
	struct process *next;
	struct wait_process who;
	uint64_t begun_ns, begun_cpu_ns;
	uint64_t activity; /* activity() at the last check */
	/* thread_count() at the last check. */
	unsigned links;
	/* Time of the last check that found that the process had run. */
	uint64_t ran_ns;
	/* Time of the last check that found that the process had not run. */
	uint64_t idle_ns;
	/* Time when the list of the process's threads was last complete. */
	uint64_t listed_ns;
	/* Set if a thread has ended or could not be added: the list is incomplete. */
	bool has_changed;
	bool has_left; /* has begun to exit or exec */
	/* Set if a thread has slept on a futex that may be a lock. */
	bool has_locks;
	/*
	 * The process is in another PID namespace, so the tids in its locks are not those of /proc.
	 */
	bool has_other_tids;
	struct wait_thread *threads; /* sorted by tid */
	unsigned count;
	size_t threads_bytes;
};

struct waits {
	struct waits_config config;
	struct wait_reader reader;
	/* Oldest first, because old processes usually end first. */
	struct process *processes, **processes_end;
	struct process *unused;			    /* memory of ended processes */
	unsigned threads;
	uint64_t random;
	uint64_t next_ns, last_ns, recorded_ns;
	/* Time to observe threads a second time; UINT64_MAX: never. */
	uint64_t again_ns;
	/* CPU time in ns that observations may use now. */
	int64_t saved_ns;
	/* Average CPU time of one observation, in ns. */
	uint64_t check_ns;
	struct waits_counts counts;
	uint64_t frames[WIRE_MAX_DEPTH + 1], held[WIRE_MAX_DEPTH + 1];
};

static uint64_t random_below(struct waits *waits, uint64_t limit)
{
	/* xorshift64 */
	waits->random ^= waits->random << 13;
	waits->random ^= waits->random >> 7;
	waits->random ^= waits->random << 17;
	return waits->random % limit;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec used = {0, 0};

	arch_syscall2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

static uint64_t now(const struct waits *waits)
{
	return waits->config.calls->now_ns();
}

struct waits *waits_new(const struct waits_config *config)
{
	struct waits *waits = pages_new(sizeof(*waits));
	struct rlimit limit;

	if (!waits)
		return NULL;
	waits->config = *config;
	waits->processes_end = &waits->processes;
	waits->random = now(waits) * 0x9e3779b97f4a7c15ULL | 1;
	waits->last_ns = waits->recorded_ns = now(waits);
	waits->again_ns = UINT64_MAX;
	waits->check_ns = CHECK_NS;
	waits->saved_ns = SAVED_NS;
	waits->reader = (struct wait_reader){
		.calls = config->calls,
		.context = config->context,
		.period_ns = config->period_ns,
		.frames = waits->frames,
		.held = waits->held,
		.files_max = config->files_max,
		.announced = 1,
	};
	if (config->has_details)
		waits->reader.details = pages_new(WAIT_DETAILS * sizeof(*waits->reader.details));
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 2 < config->files_max)
		waits->reader.files_max = (unsigned)limit.rlim_cur / 2;
	return waits;
}

static struct process *new_process(struct waits *waits)
{
	struct process *process = waits->unused;

	if (!process)
		return pages_new(sizeof(*process));
	waits->unused = process->next;
	*process = (struct process){0};
	return process;
}

/*
 * Keep the memory for the next process, because new pages would cost much if there are many short
 * processes.
 */
static void free_process(struct waits *waits, struct process *process)
{
	pages_free(process->threads, process->threads_bytes);
	process->next = waits->unused;
	waits->unused = process;
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	while (waits->processes) {
		struct process *process = waits->processes;

		waits->processes = process->next;
		for (unsigned i = 0; i < process->count; i++)
			wait_thread_release(&waits->reader, &process->threads[i]);
		free_process(waits, process);
	}
	while (waits->unused) {
		struct process *process = waits->unused;

		waits->unused = process->next;
		pages_free(process, sizeof(*process));
	}
	pages_free(waits->reader.details, WAIT_DETAILS * sizeof(*waits->reader.details));
	pages_free(waits, sizeof(*waits));
}

static void note_refusal(struct waits *waits, const struct process *process, int error)
{
	waits->config.calls->refused(waits->config.context, &process->who, error);
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool is_main_thread(const struct process *process, pid_t tid)
{
	return tid == (process->who.pid ? process->who.pid : getpid());
}

/* Set the process whose threads the reader observes. */
static void begin_process(struct waits *waits, const struct process *process)
{
	waits->reader.threads = process->threads;
	waits->reader.thread_count = process->count;
}

/*
 * Set the time at which @thread, which has not been observed yet, began. At @begun_ns its clocks in
 * the kernel were 0.
 */
static void set_birth(struct wait_thread *thread, uint64_t begun_ns)
{
	thread->begun_ns = begun_ns;
	thread->begun = (struct procfs_clock){0};
	thread->ready_ns = thread->seen.waited_ns;
	thread->carried_ns = (int64_t)(thread->seen_ns - begun_ns) -
			     (int64_t)(thread->seen.cpu_ns + thread->seen.waited_ns);
}

/*
 * Set the begin of @thread to @begun_ns, as the thread itself reported it (0: not known). Until now
 * the begin was a time between two lists of threads. If @begun_ns is after an observation, the
 * thread was just starting at that observation.
 */
static void correct_birth(
	const struct process *process, struct wait_thread *thread, uint64_t begun_ns)
{
	if (begun_ns <= process->begun_ns || is_main_thread(process, thread->tid))
		return;
	if (begun_ns > thread->seen_ns)
		begun_ns = thread->seen_ns - thread->seen.cpu_ns - thread->seen.waited_ns;
	set_birth(thread, begun_ns);
}

/* Find the number of @thread in records. At the last try, use a number that no sampler assigns. */
static void number_thread(struct waits *waits, const struct process *process,
	struct wait_thread *thread, bool is_last_try)
{
	uint64_t begun_ns = 0;

	if (thread->number)
		return;
	thread->number = waits->config.calls->find_thread(
		waits->config.context, &process->who, thread->tid, &begun_ns);
	if (!thread->number && is_last_try)
		thread->number = 1u << 31 | (uint32_t)thread->tid;
	correct_birth(process, thread, begun_ns);
}

static void record_thread(
	struct waits *waits, const struct process *process, struct wait_thread *thread)
{
	number_thread(waits, process, thread, true);
	wait_thread_record(&waits->reader, thread, &process->who);
}

static void end_thread(struct waits *waits, const struct process *process,
	struct wait_thread *thread, uint64_t end_ns)
{
	waits->threads--;
	if (thread->is_over)
		return;
	number_thread(waits, process, thread, true);
	wait_thread_end(&waits->reader, thread, &process->who, end_ns);
}

/*
 * Begin to observe thread @tid. If the thread is new since the last list, its time is accounted for
 * from the middle between that list and now; if it is the main thread, from the start of the
 * process; otherwise from now on.
 */
static int begin_thread(
	struct waits *waits, struct process *process, pid_t tid, struct wait_thread *thread)
{
	uint64_t now_ns = now(waits);
	bool is_main = is_main_thread(process, tid), is_born = process->listed_ns != 0;
	int error;

	if (waits->threads >= THREADS_MAX) {
		waits->counts.untracked++;
		return -EMFILE;
	}
	*thread = (struct wait_thread){.tid = tid};
	error = wait_thread_begin(&waits->reader, thread, &process->who);
	if (error == -ENOSYS && is_main)
		note_refusal(waits, process, error);
	if (error)
		return error;
	waits->threads++;
	thread->seen_ns = thread->begun_ns = thread->recorded_ns = now_ns;
	thread->begun = thread->seen;
	thread->remaining_ns = random_below(waits, waits->config.period_ns);
	if (is_born) {
		set_birth(thread, now_ns - (now_ns - process->listed_ns) / 2);
	} else if (is_main && process->begun_ns && process->begun_ns < now_ns) {
		thread->begun_ns = process->begun_ns;
		thread->begun.cpu_ns = process->begun_cpu_ns;
		thread->carried_ns = (int64_t)(now_ns - thread->begun_ns) -
				     (int64_t)(thread->seen.cpu_ns - thread->begun.cpu_ns);
	}
	number_thread(waits, process, thread, false);
	return 0;
}

/*
 * A shell sort, because the kernel's list is usually sorted already and qsort(3) may call malloc().
 */
static void sort_tids(pid_t *tids, unsigned count)
{
	for (unsigned gap = count; (gap = gap > 2 ? gap * 5 / 11 : gap / 2);)
		for (unsigned i = gap; i < count; i++) {
			pid_t tid = tids[i];
			unsigned at = i;

			for (; at >= gap && tids[at - gap] > tid; at -= gap)
				tids[at] = tids[at - gap];
			tids[at] = tid;
		}
}

/*
 * List the threads of @process, sorted by tid, into @tids. Returns the number of threads; 0: not
 * known.
 */
static unsigned list_threads(struct waits *waits, const struct process *process, struct pages *tids)
{
	struct pages_account account = {.limit_bytes = SIZE_MAX};
	size_t room = process->links + 64u;
	long all;

	if (pages_reserve(&account, tids, room * sizeof(pid_t)))
		return 0;
	room = tids->bytes / sizeof(pid_t);
	all = waits->config.calls->threads(waits->config.context, &process->who, tids->at, room);
	if (all <= 0)
		return 0;
	/* More threads have begun in the meantime; they will be in the next list. */
	if ((size_t)all > room)
		all = (long)room;
	sort_tids(tids->at, (unsigned)all);
	return (unsigned)all;
}

/*
 * Handle @thread, which has ended since the last list. A thread with a number reports its end
 * itself, and the report may not have been read yet. Returns true if @thread must be kept until
 * then.
 */
static bool has_gone(struct waits *waits, const struct process *process, struct wait_thread *thread,
	uint64_t now_ns)
{
	uint64_t begun_ns;

	if (!thread->is_over && waits->config.has_thread_ends &&
		waits->config.calls->find_thread(
			waits->config.context, &process->who, thread->tid, &begun_ns)) {
		thread->is_gone = true;
		thread->is_asleep = false;
		return true;
	}
	end_thread(waits, process, thread, now_ns - (now_ns - process->listed_ns) / 2);
	return false;
}

/* Update the table of threads of @process: remove ended threads, add new ones. */
static void list_process(struct waits *waits, struct process *process)
{
	struct pages_account account = {.limit_bytes = SIZE_MAX};
	struct pages list = {NULL, 0};
	unsigned count = list_threads(waits, process, &list), kept = 0, missed = 0;
	const pid_t *tids = list.at;
	uint64_t now_ns = now(waits);
	size_t bytes = ((size_t)count + process->count) * sizeof(*process->threads);
	struct wait_thread *threads = count ? pages_new(bytes) : NULL;
	struct wait_thread *last = process->threads + process->count, *old = process->threads;

	process->has_changed = !threads;
	for (unsigned i = 0; threads && i < count; i++) {
		for (; old < last && old->tid < tids[i]; old++)
			if (has_gone(waits, process, old, now_ns))
				threads[kept++] = *old;
		if (old < last && old->tid == tids[i])
			threads[kept++] = *old++;
		else if (begin_thread(waits, process, tids[i], &threads[kept]))
			missed++;
		else
			kept++;
	}
	pages_release(&account, &list);
	if (!threads)
		return;
	for (; old < last; old++)
		if (has_gone(waits, process, old, now_ns))
			threads[kept++] = *old;
	pages_free(process->threads, process->threads_bytes);
	process->threads = threads;
	process->threads_bytes = bytes;
	process->count = kept;
	begin_process(waits, process);
	process->listed_ns = now_ns;
	process->has_changed = missed > 0;
}

/* ---- pauses ---------------------------------------------------------------------------------- */

static bool asks_for_pause(
	const struct waits *waits, const struct process *process, uint64_t *since_ns)
{
	const struct waits_calls *calls = waits->config.calls;

	return calls->is_paused && calls->is_paused(waits->config.context, &process->who, since_ns);
}

/*
 * If @process has paused or resumed its sampling, record the time of its threads before that moment
 * under the old state.
 */
static void apply_pause(struct waits *waits, struct process *process)
{
	uint64_t since_ns = 0;
	bool is_paused = asks_for_pause(waits, process, &since_ns);

	if (is_paused == process->who.is_paused)
		return;
	begin_process(waits, process);
	for (unsigned i = 0; i < process->count; i++) {
		struct wait_thread *thread = &process->threads[i];

		if (thread->is_over)
			continue;
		number_thread(waits, process, thread, true);
		wait_thread_record_until(&waits->reader, thread, &process->who, since_ns);
	}
	process->who.is_paused = is_paused;
}

/* ---- processes ------------------------------------------------------------------------------- */

int waits_add(struct waits *waits, const struct wait_process *who, uint64_t begun_ns,
	uint64_t begun_cpu_ns)
{
	struct process *process = new_process(waits);
	uint64_t since_ns = 0;

	if (!process)
		return -ENOMEM;
	process->who = *who;
	process->who.is_paused = asks_for_pause(waits, process, &since_ns);
	/*
	 * Begin with the state before the last change; apply_pause() then applies the change at its
	 * time.
	 */
	if (since_ns)
		process->who.is_paused = !process->who.is_paused;
	process->begun_ns = begun_ns;
	process->begun_cpu_ns = begun_cpu_ns;
	*waits->processes_end = process;
	waits->processes_end = &process->next;
	return 0;
}

static bool is_unknown(const struct process *process, const struct wait_thread *thread)
{
	return !thread->is_gone && (!thread->is_asleep || thread->seen_ns < process->ran_ns);
}

/*
 * Account for sleeping threads of @process up to the last check that found the process idle. Until
 * then no lock changed its holder, but the next observation may find another one. So record waits
 * with a known holder now.
 */
static void add_sleep(struct waits *waits, struct process *process)
{
	begin_process(waits, process);
	for (unsigned i = 0; i < process->count; i++) {
		struct wait_thread *thread = &process->threads[i];

		if (is_unknown(process, thread))
			continue;
		wait_thread_add_sleep(thread, process->idle_ns);
		if (thread->holder)
			wait_thread_record(&waits->reader, thread, &process->who);
	}
}

static struct process **find_process(struct waits *waits, const void *target)
{
	struct process **at = &waits->processes;

	while (*at && (*at)->who.target != target)
		at = &(*at)->next;
	return at;
}

/* Record a thread that was never observed. The reason of its waits is unknown. */
static void record_unseen(
	struct waits *waits, const struct process *process, const struct waits_end *end)
{
	bool is_main = is_main_thread(process, end->tid);
	struct wait_thread thread = {
		.tid = end->tid,
		.number = end->number,
		.clock = -1,
		.call = -1,
		.announced = waits->reader.announced,
		.begun_ns = is_main ? process->begun_ns : end->start_ns,
		.begun.cpu_ns = is_main ? process->begun_cpu_ns : 0,
		.remaining_ns = random_below(waits, waits->config.period_ns),
	};

	thread.seen = thread.begun;
	thread.seen_ns = thread.begun_ns;
	memcpy(thread.comm, end->comm, sizeof(thread.comm));
	wait_thread_ended(&thread, end->end_ns, end->cpu_ns);
	wait_thread_end(&waits->reader, &thread, &process->who, 0);
}

static struct wait_thread *find_ended(const struct process *process, const struct waits_end *end)
{
	if (end->tid)
		return wait_thread_find(process->threads, process->count, end->tid);
	for (unsigned i = 0; i < process->count; i++)
		if (process->threads[i].number == end->number)
			return &process->threads[i];
	return NULL;
}

void waits_end_thread(struct waits *waits, const void *target, const struct waits_end *end)
{
	struct process *process = *find_process(waits, target);
	struct wait_thread *thread = process ? find_ended(process, end) : NULL;

	if (!process || (thread && thread->is_over))
		return;
	apply_pause(waits, process);
	if (!thread) {
		record_unseen(waits, process, end);
		return;
	}
	/* Do not change a number that the thread already has, because earlier records have it. */
	if (!thread->number) {
		thread->number = end->number;
		correct_birth(process, thread, end->start_ns);
	}
	if (end->comm[0])
		memcpy(thread->comm, end->comm, sizeof(thread->comm));
	wait_thread_ended(thread, end->end_ns, end->cpu_ns);
	wait_thread_end(&waits->reader, thread, &process->who, 0);
	thread->is_gone = thread->is_over = true;
	thread->is_asleep = false;
	/*
	 * Request a new list, because if another thread has begun since, the number of threads has
	 * not changed.
	 */
	process->has_changed = true;
}

void waits_remove(struct waits *waits, const void *target, uint64_t end_ns)
{
	struct process **at = find_process(waits, target), *process = *at;

	if (!process)
		return;
	*at = process->next;
	if (waits->processes_end == &process->next)
		waits->processes_end = at;
	apply_pause(waits, process);
	add_sleep(waits, process);
	for (unsigned i = 0; i < process->count; i++) {
		struct wait_thread *thread = &process->threads[i];

		if (!thread->is_over)
			wait_thread_close(&waits->reader, thread, &process->who, end_ns);
		end_thread(waits, process, thread, 0);
	}
	begin_process(waits, &(struct process){.count = 0});
	free_process(waits, process);
}

/* Check whether @process has run since the last round, and update its list of threads. */
static void check_process(struct waits *waits, struct process *process)
{
	const struct waits_calls *calls = waits->config.calls;
	uint64_t activity = calls->activity(waits->config.context, &process->who);
	unsigned links = calls->thread_count(waits->config.context, &process->who);
	uint64_t now_ns = now(waits);
	bool is_listed = process->listed_ns && links == process->links;

	process->has_left =
		calls->has_left && calls->has_left(waits->config.context, &process->who);
	if (process->has_left)
		return;
	if (activity && !links)
		note_refusal(waits, process, -EACCES);
	if (!activity || !links)
		return;
	/* No thread has begun or ended, so the list is complete up to now. */
	if (is_listed && !process->has_changed)
		process->listed_ns = now_ns;
	if (activity == process->activity && is_listed) {
		process->idle_ns = now_ns;
		return;
	}
	add_sleep(waits, process);
	process->activity = activity;
	process->links = links;
	if (!is_listed || process->has_changed)
		list_process(waits, process);
	process->ran_ns = now(waits);
	apply_pause(waits, process);
}

static unsigned count_unknown(const struct process *process)
{
	unsigned count = 0;

	for (unsigned i = 0; i < process->count && !process->has_left; i++)
		count += is_unknown(process, &process->threads[i]);
	return count;
}

/*
 * Record the times of all threads whose last record is at least @age_ns older than their last
 * observation.
 */
static void record_all(struct waits *waits, uint64_t age_ns)
{
	for (struct process *process = waits->processes; process; process = process->next) {
		add_sleep(waits, process);
		for (unsigned i = 0; i < process->count; i++)
			if (process->threads[i].seen_ns - process->threads[i].recorded_ns >= age_ns)
				record_thread(waits, process, &process->threads[i]);
	}
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/*
 * Record waits for locks with the stacks of their holders. Call this after all threads have been
 * observed.
 */
static void record_locks(struct waits *waits, struct process *process)
{
	pid_t pid = process->who.pid;
	struct wait_lock_holder last = {0};

	for (unsigned i = 0; i < process->count && !process->has_other_tids; i++) {
		struct wait_thread *thread = &process->threads[i];

		if (!thread->lock.address)
			continue;
		if (!process->has_locks)
			process->has_other_tids = procfs_inner_pid(pid) != pid;
		process->has_locks = true;
		if (!process->has_other_tids)
			wait_thread_record_lock(&waits->reader, thread, &process->who, &last);
	}
}

static void note_error(struct waits *waits, struct process *process, int error)
{
	if (error == -ESRCH)
		process->has_changed = true;
	else if (error)
		note_refusal(waits, process, error);
}

/*
 * Observe each thread of @process that may have run, with a probability of @chance / 2^32. Returns
 * the number of threads observed.
 */
static unsigned observe_process(struct waits *waits, struct process *process, uint64_t chance)
{
	unsigned observed = 0;

	begin_process(waits, process);
	for (unsigned i = 0; i < process->count && !process->has_left; i++) {
		struct wait_thread *thread = &process->threads[i];

		if (!is_unknown(process, thread) || random_below(waits, 1ULL << 32) >= chance)
			continue;
		number_thread(
			waits, process, thread, now(waits) - thread->begun_ns > UNNUMBERED_NS);
		if (!thread->number)
			continue;
		observed++;
		note_error(
			waits, process, wait_thread_observe(&waits->reader, thread, &process->who));
		if (thread->is_awake)
			waits->again_ns = now(waits) + AGAIN_NS;
	}
	if (observed)
		record_locks(waits, process);
	return observed;
}

static void observe_again(struct waits *waits)
{
	uint64_t began_ns = own_cpu_ns();

	waits->again_ns = UINT64_MAX;
	for (struct process *process = waits->processes; process; process = process->next) {
		unsigned observed = 0;

		begin_process(waits, process);
		for (unsigned i = 0; i < process->count && !process->has_left; i++) {
			struct wait_thread *thread = &process->threads[i];

			if (!thread->is_awake || thread->is_gone)
				continue;
			observed++;
			note_error(waits, process,
				wait_thread_observe_again(&waits->reader, thread, &process->who));
		}
		if (observed)
			record_locks(waits, process);
	}
	waits->saved_ns -= (int64_t)(own_cpu_ns() - began_ns);
}

static void observe_all(struct waits *waits)
{
	uint64_t began_ns = own_cpu_ns(), spent_ns;
	unsigned wanted = 0, observed = 0, affordable;

	for (struct process *process = waits->processes; process; process = process->next) {
		check_process(waits, process);
		wanted += count_unknown(process);
	}
	spent_ns = own_cpu_ns() - began_ns;
	waits->saved_ns -= (int64_t)spent_ns;
	affordable =
		waits->saved_ns > 0 ? (unsigned)((uint64_t)waits->saved_ns / waits->check_ns) : 0;
	waits->counts.wanted += wanted;
	if (!wanted || !affordable)
		return;
	for (struct process *process = waits->processes; process; process = process->next)
		observed += observe_process(waits, process,
			affordable < wanted ? ((uint64_t)affordable << 32) / wanted : 1ULL << 32);
	waits->counts.observed += observed;
	spent_ns = own_cpu_ns() - began_ns - spent_ns;
	waits->saved_ns -= (int64_t)spent_ns;
	if (observed)
		waits->check_ns += (spent_ns / observed + 1) / 8 - waits->check_ns / 8;
}

static void run_round(struct waits *waits, uint64_t now_ns)
{
	waits->saved_ns += (int64_t)((now_ns - waits->last_ns) * SHARE_PERMILLE / 1000);
	if (waits->saved_ns > (int64_t)SAVED_NS)
		waits->saved_ns = SAVED_NS;
	waits->last_ns = now_ns;
	waits->reader.due_ns = waits->next_ns ? waits->next_ns : now_ns;
	waits->next_ns = now_ns + ROUND_NS / 2 + random_below(waits, ROUND_NS);
	if (waits->saved_ns > 0)
		observe_all(waits);
	if (now_ns - waits->recorded_ns >= TELL_NS) {
		waits->recorded_ns = now_ns;
		record_all(waits, TELL_NS);
	}
}

uint64_t waits_round(struct waits *waits)
{
	uint64_t now_ns = now(waits);

	if (now_ns >= waits->next_ns)
		run_round(waits, now_ns);
	else if (now_ns >= waits->again_ns)
		observe_again(waits);
	return waits->again_ns < waits->next_ns ? waits->again_ns : waits->next_ns;
}

/* Observe all threads of @process a last time, unless there are too many. */
static void observe_last(struct waits *waits, struct process *process)
{
	check_process(waits, process);
	if (waits->threads <= LAST_LOOKS_MAX)
		observe_process(waits, process, 1ULL << 32);
}

void waits_record(struct waits *waits)
{
	for (struct process *process = waits->processes; process; process = process->next)
		check_process(waits, process);
	record_all(waits, 0);
	waits->reader.announced++;
}

void waits_finish(struct waits *waits, struct waits_counts *counts)
{
	while (waits->processes) {
		observe_last(waits, waits->processes);
		waits_remove(waits, waits->processes->who.target, 0);
	}
	waits->counts.walks = waits->reader.walks;
	waits->counts.changed = waits->reader.changed;
	*counts = waits->counts;
}
