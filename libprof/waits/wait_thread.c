/* SPDX-License-Identifier: MIT */
/*
 * The kernel reports how much of the time between two observations a thread was on a CPU, and how
 * much it was ready to run without one. In the remaining time it waited. The later observation
 * decides what the thread waited for: all of that time is assigned to the stack on which the thread
 * sleeps then. If the kernel gave it no CPU since the previous observation, it still sleeps on the
 * same stack. If it runs, the time is carried over to the next observation. Observations come at
 * random times, so each wait is found in proportion to its share of the time.
 *
 * There is one bias. The timer that starts an observation wakes an idle CPU, which may then also
 * handle a disk's interrupt. This interrupt wakes the observed thread, which is found ready to run,
 * although it slept when the observation was due. A thread that waits for a disk a thousand times a
 * second is found like this in every fifth observation. So a thread that is not asleep is observed
 * once more a moment later. If the kernel gave it a CPU once since then, and it was not ready for
 * longer than the observation was late, the thread had slept, and the time is assigned to the wait
 * in which it is found now. Otherwise it ran, or was ready for another reason. Then the wait in
 * which it is found next is not used, because that wait has only just begun: short waits would be
 * found as often as long ones.
 *
 * A thread may wake up while its stack is read. The stack counts only if the kernel gave the thread
 * no CPU between before and after the walk.
 */
#include "libprof/waits/wait_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/fnv.h"
#include "libprof/profile/lookup.h"
#include "libprof/waits/wait_leaf.h"

#define TRIES 2 /* walks until one is undisturbed */
/* ns. If an observation was later than this, its threads are not observed a second time. */
#define LATE_NS 300000UL
/*
 * Limit of memory for the stacks of all threads. A stack that does not fit is not kept, so it is
 * walked at each observation.
 */
#define STACK_BYTES_MAX (64u << 20)

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Open @thread's /proc file @name. Returns its descriptor or -errno. The descriptor is also stored
 * in *@kept. If too many are open, it is not stored, and the caller closes it.
 */
static int open_file(struct wait_reader *reader, const struct wait_thread *thread, int *kept,
	const struct wait_process *process, const char *name)
{
	int file = *kept;

	if (file >= 0)
		return file;
	file = procfs_open(process->pid, thread->tid, name);
	if (file >= 0 && reader->files < reader->files_max) {
		reader->files++;
		*kept = file;
	}
	return file == -ENOENT ? -ESRCH : file;
}

static void close_file(struct wait_reader *reader, int *kept)
{
	if (*kept < 0)
		return;
	procfs_close(*kept);
	reader->files--;
	*kept = -1;
}

static int read_clock(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, struct procfs_clock *out)
{
	int file = open_file(reader, thread, &thread->clock, process, "schedstat");
	int error = file < 0 ? file : procfs_clock_read(file, out);

	if (file >= 0 && file != thread->clock)
		procfs_close(file);
	if (error && reader->calls->cpu_clock)
		error = reader->calls->cpu_clock(reader->context, thread->tid, out);
	/*
	 * `turns` counts how often the thread got a CPU. It is 0 only if the kernel does not count.
	 */
	return !error && !out->turns ? -ENOSYS : error;
}

static int read_call(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, struct procfs_syscall *out)
{
	int file = open_file(reader, thread, &thread->call, process, "syscall");
	int error = file < 0 ? file : procfs_syscall_read(file, out);

	if (file >= 0 && file != thread->call)
		procfs_close(file);
	return error;
}

/* ---- records --------------------------------------------------------------------------------- */

static void announce(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process)
{
	char comm[WIRE_COMM_BYTES];

	if (thread->announced == reader->announced)
		return;
	/* The name of a thread that has ended cannot be read, so keep its last name. */
	procfs_comm(process->pid, thread->tid, comm);
	if (comm[0])
		memcpy(thread->comm, comm, sizeof(comm));
	if (!reader->calls->put_thread(
		    reader->context, process, thread->number, thread->tid, thread->comm))
		thread->announced = reader->announced;
}

/*
 * Make a stack in reader->held: @thread's leaf, the stack of the thread that holds its lock,
 * WIRE_FRAME_HOLDER, then @thread's own stack. Returns the number of frames; 0 if the holder is not
 * known.
 */
static uint32_t put_holder(const struct wait_reader *reader, const struct wait_thread *thread)
{
	const struct wait_thread *holder =
		wait_thread_find(reader->threads, reader->thread_count, thread->holder);
	uint64_t *to = reader->held;
	bool has_stack = holder && holder->is_asleep && holder->stack;
	uint32_t frames = has_stack ? holder->frames - 1 : 0;

	if (!holder || thread->frames + frames + 1 > WIRE_MAX_DEPTH)
		return 0;
	*to++ = thread->stack[0];
	if (has_stack)
		memcpy(to, holder->stack + 1, frames * sizeof(*to));
	to[frames] =
		WIRE_FRAME_HOLDER(holder->number <= WIRE_HOLDER_THREAD(~0ULL) ? holder->number : 0,
			lookup_hash(thread->lock.address));
	memcpy(to + frames + 1, thread->stack + 1, (thread->frames - 1) * sizeof(*to));
	return thread->frames + frames + 1;
}

/*
 * Add the thread's last remainder to *@ns. Record the whole periods of the sum with the @count
 * frames at @frames, and keep the new remainder.
 */
static void put_time(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t *ns, const uint64_t *frames, uint32_t count)
{
	uint64_t all_ns = thread->remaining_ns + *ns, weight = all_ns / reader->period_ns;
	struct wire_sample sample = {
		.bytes = (uint32_t)(sizeof(sample) + count * sizeof(*frames)),
		.thread = thread->number,
		.time_ns = thread->seen_ns,
		.weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight,
		.frames = (uint16_t)count,
		.kind = WIRE_KIND_WAIT,
		.end = count > 1 ? thread->end : WIRE_END_ROOT,
	};

	*ns = 0;
	thread->remaining_ns = all_ns - sample.weight * reader->period_ns;
	if (process->is_paused)
		thread->paused_ns += sample.weight * reader->period_ns;
	if (!sample.weight || process->is_paused)
		return;
	announce(reader, thread, process);
	reader->calls->put_sample(reader->context, process, &sample, frames);
}

static void put_asleep(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process)
{
	uint32_t frames = thread->asleep_ns ? put_holder(reader, thread) : 0;

	if (frames)
		put_time(reader, thread, process, &thread->asleep_ns, reader->held, frames);
	else if (thread->asleep_ns)
		put_time(
			reader, thread, process, &thread->asleep_ns, thread->stack, thread->frames);
}

void wait_thread_record(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process)
{
	const uint64_t ready = WIRE_FRAME_WAIT(WIRE_WAIT_NO_CPU, 0);
	const uint64_t unknown = WIRE_FRAME_WAIT(WIRE_WAIT_UNKNOWN, 0);

	thread->recorded_ns = thread->seen_ns;
	put_asleep(reader, thread, process);
	if (thread->ready_ns)
		put_time(reader, thread, process, &thread->ready_ns, &ready, 1);
	if (thread->unknown_ns)
		put_time(reader, thread, process, &thread->unknown_ns, &unknown, 1);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/*
 * Record @details, the file or lock that is waited for, unless it was recorded before. Returns
 * @leaf with the number of the text.
 */
static uint64_t put_details(struct wait_reader *reader, const struct wait_process *process,
	uint64_t leaf, const char *details)
{
	uint64_t hash = fnv_text(FNV_BEGIN ^ process->image, details, SIZE_MAX) | 1;
	uint32_t at = (uint32_t)(hash >> 32) % WAIT_DETAILS;

	/* Fill at most half of the table, so that the search below ends. */
	if (!details[0] || reader->detail_count >= WAIT_DETAILS / 2)
		return leaf;
	while (reader->details[at] && reader->details[at] != hash)
		at = (at + 1) % WAIT_DETAILS;
	leaf |= WIRE_WAIT_TEXT(at + 1);
	if (reader->details[at])
		return leaf;
	reader->details[at] = hash;
	reader->detail_count++;
	reader->calls->put_text(reader->context, process, WIRE_FRAME_ADDRESS(leaf), details);
	return leaf;
}

/*
 * Walk the stack of @thread, which sleeps in @call, into reader->frames. Returns the number of
 * frames.
 */
static uint32_t walk_asleep(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, const struct procfs_syscall *call, uint8_t *end)
{
	char details[PATH_MAX] = "";
	struct unwind_result result;

	reader->frames[0] =
		wait_leaf(process->pid, thread->tid, call, reader->details ? details : NULL);
	result = reader->calls->walk(
		reader->context, process, thread, call->pc, call->sp, reader->frames + 1);
	/* Leave room for the leaf's frame. */
	if (result.frames == WIRE_MAX_DEPTH)
		result = (struct unwind_result){WIRE_MAX_DEPTH - 1, WIRE_END_DEPTH};
	reader->frames[0] = put_details(reader, process, reader->frames[0], details);
	*end = (uint8_t)result.end;
	return result.frames + 1;
}

/* Assign the carried time to the current stack. If it is negative, it stays carried. */
static void add_carried(struct wait_thread *thread)
{
	if (thread->carried_ns <= 0)
		return;
	thread->asleep_ns += (uint64_t)thread->carried_ns;
	thread->carried_ns = 0;
}

static size_t stack_room(const struct wait_thread *thread)
{
	return thread->stack ? pages_round(thread->frames * sizeof(*thread->stack)) : 0;
}

/* Allocate @bytes for thread->stack; 0: free it. Without memory thread->stack is NULL. */
static void resize_stack(struct wait_reader *reader, struct wait_thread *thread, size_t bytes)
{
	size_t room = stack_room(thread);

	bytes = bytes ? pages_round(bytes) : 0;
	if (bytes && bytes == room)
		return;
	pages_free(thread->stack, room);
	reader->stack_bytes -= room;
	thread->stack = NULL;
	if (bytes && reader->stack_bytes + bytes <= STACK_BYTES_MAX)
		thread->stack = pages_new(bytes);
	if (thread->stack)
		reader->stack_bytes += bytes;
}

/*
 * Make the stack in reader->frames the current stack of @thread, which sleeps in @call, and assign
 * the carried time to that stack.
 */
static void set_stack(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, const struct procfs_syscall *call, uint32_t frames,
	uint8_t end)
{
	size_t bytes = frames * sizeof(*reader->frames);
	bool is_same = thread->stack && thread->frames == frames && thread->end == end &&
		       !memcmp(thread->stack, reader->frames, bytes);

	if (!is_same) {
		put_asleep(reader, thread, process);
		resize_stack(reader, thread, bytes);
		thread->frames = frames;
		thread->end = end;
	}
	if (reader->calls->lock_of)
		thread->lock = reader->calls->lock_of(call);
	thread->holder = 0;
	add_carried(thread);
	thread->is_asleep = thread->stack != NULL;
	if (is_same)
		return;
	if (thread->stack)
		memcpy(thread->stack, reader->frames, bytes);
	else if (thread->asleep_ns)
		put_time(reader, thread, process, &thread->asleep_ns, reader->frames, frames);
}

/* ---- observations ---------------------------------------------------------------------------- */

/*
 * If too much time was assigned to the thread's sleep, subtract the excess from *@ns. This happens
 * because a thread that was woken up seems asleep until it gets a CPU; only then the kernel reports
 * for how long it was ready to run.
 */
static void subtract_excess(struct wait_thread *thread, uint64_t *ns)
{
	uint64_t debt_ns = thread->carried_ns < 0 ? (uint64_t)-thread->carried_ns : 0;

	if (debt_ns > *ns)
		debt_ns = *ns;
	*ns -= debt_ns;
	thread->carried_ns += (int64_t)debt_ns;
}

/*
 * Account for the time until @now_ns. @clock holds the kernel's clocks of the thread at that time.
 */
static void count_time(
	struct wait_thread *thread, const struct procfs_clock *clock, uint64_t now_ns)
{
	int64_t cpu_ns = (int64_t)(clock->cpu_ns - thread->seen.cpu_ns);
	int64_t ready_ns = (int64_t)(clock->waited_ns - thread->seen.waited_ns);

	thread->carried_ns += (int64_t)(now_ns - thread->seen_ns) - cpu_ns - ready_ns;
	thread->ready_ns += (uint64_t)ready_ns;
	thread->seen = *clock;
	thread->seen_ns = now_ns;
	subtract_excess(thread, &thread->asleep_ns);
}

/* Assign the carried time to waits on an unknown stack. */
static void count_unknown(struct wait_thread *thread)
{
	if (thread->carried_ns > 0)
		thread->unknown_ns += (uint64_t)thread->carried_ns;
	thread->carried_ns = 0;
}

void wait_thread_add_sleep(struct wait_thread *thread, uint64_t now_ns)
{
	if (!thread->is_asleep || now_ns <= thread->seen_ns)
		return;
	thread->asleep_ns += now_ns - thread->seen_ns;
	thread->seen_ns = now_ns;
}

static void forget(const struct wait_reader *reader, const struct wait_process *process)
{
	if (reader->calls->forget)
		reader->calls->forget(reader->context, process);
}

/*
 * Find out what @thread waits for. Returns 0; -ESRCH if it has ended; another -errno if its waits
 * may not be read.
 */
static int find_stack(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process)
{
	thread->is_asleep = thread->is_awake = false;
	for (unsigned i = 0; i < TRIES; i++) {
		struct procfs_clock after;
		struct procfs_syscall call;
		int error = read_call(reader, thread, process, &call);
		uint64_t turns = thread->seen.turns;
		uint32_t frames;
		uint8_t end;

		if (error == -EAGAIN) {
			thread->is_awake = thread->carried_ns > 0;
			return 0;
		}
		if (error == -ESRCH)
			return error;
		if (error) {
			count_unknown(thread);
			return error;
		}
		frames = walk_asleep(reader, thread, process, &call, &end);
		error = read_clock(reader, thread, process, &after);
		if (error) {
			forget(reader, process);
			return -ESRCH;
		}
		count_time(thread, &after, reader->calls->now_ns());
		reader->walks++;
		if (after.turns == turns) {
			set_stack(reader, thread, process, &call, frames, end);
			return 0;
		}
		reader->changed++;
		forget(reader, process);
	}
	count_unknown(thread);
	return 0;
}

/* ---- locks ----------------------------------------------------------------------------------- */

/*
 * Find the thread of the same process that holds @thread's lock. Returns 0 if it is not known, or
 * if the holder sleeps and its sleep was not observed. A holder that runs is returned without a
 * stack, because its own samples show what it does.
 */
static pid_t find_holder(struct wait_reader *reader, const struct wait_thread *thread,
	const struct wait_process *process)
{
	struct wait_thread *holder = wait_thread_find(reader->threads, reader->thread_count,
		reader->calls->lock_owner(reader->context, process, &thread->lock));
	struct procfs_clock clock;
	struct procfs_syscall call;

	if (!holder || read_clock(reader, holder, process, &clock))
		return 0;
	if (holder->is_asleep && clock.turns == holder->seen.turns)
		return holder->tid;
	/* The holder has run since its observation, so its stack has changed. */
	holder->is_asleep = false;
	return read_call(reader, holder, process, &call) == -EAGAIN ? holder->tid : 0;
}

void wait_thread_record_lock(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, struct wait_lock_holder *last)
{
	if (!thread->is_asleep || !thread->lock.address || !thread->asleep_ns)
		return;
	if (thread->lock.address != last->address)
		*last = (struct wait_lock_holder){
			thread->lock.address, find_holder(reader, thread, process)};
	thread->holder = last->tid == thread->tid ? 0 : last->tid;
	put_asleep(reader, thread, process);
}

static int by_tid(const void *tid, const void *thread)
{
	pid_t a = *(const pid_t *)tid, b = ((const struct wait_thread *)thread)->tid;

	return a < b ? -1 : a > b;
}

struct wait_thread *wait_thread_find(struct wait_thread *threads, unsigned count, pid_t tid)
{
	return count ? bsearch(&tid, threads, count, sizeof(*threads), by_tid) : NULL;
}

/* ---- begin, observe, end --------------------------------------------------------------------- */

int wait_thread_begin(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process)
{
	thread->clock = thread->call = -1;
	procfs_comm(process->pid, thread->tid, thread->comm);
	return read_clock(reader, thread, process, &thread->seen);
}

int wait_thread_observe(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process)
{
	struct procfs_clock clock;
	uint64_t turns = thread->seen.turns;
	int error = read_clock(reader, thread, process, &clock);

	if (error)
		return error;
	count_time(thread, &clock, reader->calls->now_ns());
	if (!thread->is_asleep || clock.turns != turns)
		return find_stack(reader, thread, process);
	add_carried(thread);
	return 0;
}

int wait_thread_observe_again(
	struct wait_reader *reader, struct wait_thread *thread, const struct wait_process *process)
{
	uint64_t late_ns = thread->seen_ns - reader->due_ns;
	struct procfs_clock clock;
	int error = read_clock(reader, thread, process, &clock);

	thread->is_awake = false;
	if (error || clock.turns != thread->seen.turns + 1 || late_ns > LATE_NS ||
		clock.waited_ns - thread->seen.waited_ns > late_ns)
		return error;
	count_time(thread, &clock, reader->calls->now_ns());
	return find_stack(reader, thread, process);
}

void wait_thread_record_until(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t until_ns)
{
	struct procfs_clock clock;
	uint64_t turns = thread->seen.turns, later_ns = 0, slept_ns = 0;

	if (!thread->is_gone && !read_clock(reader, thread, process, &clock)) {
		count_time(thread, &clock, reader->calls->now_ns());
		if (thread->seen_ns > until_ns)
			later_ns = thread->seen_ns - until_ns;
		if (thread->is_asleep && clock.turns == turns) {
			add_carried(thread);
			slept_ns = later_ns < thread->asleep_ns ? later_ns : thread->asleep_ns;
		} else {
			thread->is_asleep = false;
			if (thread->carried_ns > (int64_t)later_ns) {
				thread->unknown_ns += (uint64_t)thread->carried_ns - later_ns;
				thread->carried_ns = (int64_t)later_ns;
			}
		}
	}
	thread->asleep_ns -= slept_ns;
	wait_thread_record(reader, thread, process);
	thread->asleep_ns = slept_ns;
}

void wait_thread_release(struct wait_reader *reader, struct wait_thread *thread)
{
	close_file(reader, &thread->clock);
	close_file(reader, &thread->call);
	resize_stack(reader, thread, 0);
}

void wait_thread_close(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns)
{
	struct procfs_clock clock;

	/* Check @end_ns, because the process wrote it itself and may have written anything. */
	if (!end_ns || end_ns > reader->calls->now_ns())
		end_ns = reader->calls->now_ns();
	if (end_ns < thread->seen_ns)
		return;
	if (!read_clock(reader, thread, process, &clock))
		count_time(thread, &clock, end_ns);
	wait_thread_add_sleep(thread, end_ns);
}

void wait_thread_ended(struct wait_thread *thread, uint64_t end_ns, uint64_t cpu_ns)
{
	struct procfs_clock clock = thread->seen;

	/* The thread may have been observed after it reported its end. */
	if (end_ns <= thread->seen_ns || cpu_ns < clock.cpu_ns)
		return;
	clock.cpu_ns = cpu_ns;
	count_time(thread, &clock, end_ns);
}

void wait_thread_end(struct wait_reader *reader, struct wait_thread *thread,
	const struct wait_process *process, uint64_t end_ns)
{
	wait_thread_add_sleep(thread, end_ns);
	if (thread->stack)
		add_carried(thread);
	/*
	 * If too much time was assigned to a stack and is recorded already, subtract it from the
	 * thread's other times.
	 */
	subtract_excess(thread, &thread->ready_ns);
	subtract_excess(thread, &thread->unknown_ns);
	count_unknown(thread);
	wait_thread_record(reader, thread, process);
	if (reader->calls->put_life)
		reader->calls->put_life(reader->context, process,
			&(struct wait_life){
				.number = thread->number,
				.tid = thread->tid,
				.span_ns = thread->seen_ns - thread->begun_ns,
				.cpu_ns = thread->seen.cpu_ns - thread->begun.cpu_ns,
				.paused_ns = thread->paused_ns,
				.comm = thread->comm,
			});
	wait_thread_release(reader, thread);
}
