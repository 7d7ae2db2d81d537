/* SPDX-License-Identifier: MIT */
/*
 * An image is one program in a process: from fork or exec to its end or the next exec. CPU time
 * comes from the kernel's clocks; all else is counted in samples.
 *
 * An image reports its own CPU time and its children's when it leaves. Processes are accounted for
 * in reverse order of start, so children precede their parent. If the parent was charged more than
 * its children reported, the excess is the kernel's work after their last instructions. If the
 * excess is too large for that, it contains a program that was not sampled, and stays in the
 * difference between due and recorded.
 *
 * Images are assigned to processes, and processes to parents, by pid and start time, which works
 * because the kernel does not reuse a pid soon. A forked image knows the number of the forking
 * image.
 */
#include "cli/profile/accounting.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"

#define PROCESSES_NOBODY UINT32_MAX

struct process {
	uint32_t pid;
	/* index of its first image in processes.images, and number of its images */
	uint32_t first, count;
	/* image that made this process; PROCESSES_NOBODY: not known */
	uint32_t parent;
};

struct processes {
	struct flameprof_profile *profile; /* borrowed */
	struct process *list;		   /* sorted by pid, then start */
	uint32_t count;
	uint32_t *images; /* sorted by pid, then start */
	uint32_t image_count;
	/* indices in `list`, sorted by start, so that parents come before their children */
	uint32_t *by_start;
	uint32_t *process_of; /* image -> its process */
};

/* ---- processes ------------------------------------------------------------------------------- */

static const struct profile_image *image_at(const struct processes *processes, uint32_t image)
{
	return profile_image_at(processes->profile, image);
}

static struct profile_image *processes_image(
	const struct processes *processes, const struct process *process, uint32_t at)
{
	return profile_image_at(processes->profile, processes->images[process->first + at]);
}

static uint32_t processes_last(const struct processes *processes, const struct process *process)
{
	return processes->images[process->first + process->count - 1];
}

/* After @image, did its process call exec or continue without being sampled? */
static int processes_went_on(const struct profile_image *image)
{
	return image->left_by_exec || image->went_on;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_pid_then_start(const void *a, const void *b, void *processes)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile_image *x = image_at(processes, i), *y = image_at(processes, j);

	if (x->pid != y->pid)
		return compare(x->pid, y->pid);
	return x->start_ns != y->start_ns ? compare(x->start_ns, y->start_ns) : compare(i, j);
}

static uint64_t start_of(const struct processes *processes, uint32_t process)
{
	return processes_image(processes, &processes->list[process], 0)->start_ns;
}

static int by_start(const void *a, const void *b, void *processes)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare(start_of(processes, x), start_of(processes, y));

	return order ? order : compare(x, y);
}

/* Is @image the next image after @before in the same process? */
static int follows(const struct profile_image *image, const struct profile_image *before)
{
	return image->pid == before->pid && !image->parent && processes_went_on(before);
}

static void join_images(struct processes *processes)
{
	for (uint32_t i = 0; i < processes->image_count; i++)
		processes->images[i] = i;
	qsort_r(processes->images, processes->image_count, sizeof(*processes->images),
		by_pid_then_start, processes);
	for (uint32_t i = 0; i < processes->image_count; i++) {
		const struct profile_image *image = image_at(processes, processes->images[i]);

		if (!i || !follows(image, image_at(processes, processes->images[i - 1])))
			processes->list[processes->count++] = (struct process){
				.pid = image->pid, .first = i, .parent = PROCESSES_NOBODY};
		processes->list[processes->count - 1].count++;
		processes->process_of[processes->images[i]] = processes->count - 1;
	}
	for (uint32_t i = 0; i < processes->count; i++)
		processes->by_start[i] = i;
	qsort_r(processes->by_start, processes->count, sizeof(*processes->by_start), by_start,
		processes);
}

/* Find the last image with @pid that began before @before_ns. Returns PROCESSES_NOBODY if none. */
static uint32_t find_image(const struct processes *processes, uint32_t pid, uint64_t before_ns)
{
	uint32_t low = 0, high = processes->image_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct profile_image *image = image_at(processes, processes->images[middle]);

		if (image->pid < pid || (image->pid == pid && image->start_ns < before_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && image_at(processes, processes->images[low - 1])->pid == pid
		       ? processes->images[low - 1]
		       : PROCESSES_NOBODY;
}

static void find_parents(struct processes *processes)
{
	for (uint32_t i = 0; i < processes->count; i++) {
		struct process *process = &processes->list[i];
		const struct profile_image *image = processes_image(processes, process, 0);

		if (image->parent)
			process->parent = profile_image(processes->profile, image->parent);
		else if (image->ppid)
			process->parent = find_image(processes, image->ppid, image->start_ns);
		if (process->parent != PROCESSES_NOBODY &&
			start_of(processes, processes->process_of[process->parent]) >=
				image->start_ns)
			process->parent = PROCESSES_NOBODY;
	}
}

/* Find the processes of @profile. @out must be zero; release it even after -ENOMEM. */
static int processes_find(struct processes *out, struct flameprof_profile *profile)
{
	size_t count;

	/* First add images that are only known as a parent, because this changes image_count. */
	for (uint32_t i = 0; i < profile->image_count; i++)
		if (profile_image_at(profile, i)->parent)
			profile_image(profile, profile_image_at(profile, i)->parent);
	out->profile = profile;
	out->image_count = profile->image_count;
	count = out->image_count + (size_t)1;
	out->list = calloc(count, sizeof(*out->list));
	out->images = calloc(count, sizeof(*out->images));
	out->by_start = calloc(count, sizeof(*out->by_start));
	out->process_of = calloc(count, sizeof(*out->process_of));
	if (!out->list || !out->images || !out->by_start || !out->process_of ||
		profile_error(profile))
		return -ENOMEM;
	join_images(out);
	find_parents(out);
	return 0;
}

static void processes_release(struct processes *processes)
{
	free(processes->list);
	free(processes->images);
	free(processes->by_start);
	free(processes->process_of);
}

/* ---- credits --------------------------------------------------------------------------------- */

#define NS_PER_S 1000000000ULL
#define NOBODY	 PROCESSES_NOBODY

/* Limits of an exit's CPU time: ten times the measured 0.04 ms, and 0.1 us per 4 KiB page. */
#define EXIT_NS	    500000ULL
#define EXIT_KIB_NS 250ULL
#define EXIT_SPREAD 10

/* The child processes of one image, except those that still run. */
struct siblings {
	uint32_t first_child; /* index of a process, or NOBODY */
	/* ns of CPU time that these processes and their descendants reported */
	uint64_t below_ns;
	/* number of exits whose CPU time below_ns does not include */
	uint32_t exits;
	/* number of threads that were killed before their process could report its end */
	uint64_t kills;
	bool is_mixed; /* the processes have different names */
	/* one of the processes continued without the library */
	bool holds_uninjected;
};

enum box {
	BOX_UNSAMPLED,
	BOX_IO_WORKER,
	BOX_EXEC,
	BOX_EXIT,
	BOX_COUNT
};

struct accounts {
	struct flameprof_profile *profile;
	const struct accounting_child *child;
	enum accounting_start start;
	uint64_t period_ns;
	/* ns between the kernel's checks of timers */
	uint64_t tick_ns;
	struct processes processes;
	struct siblings *siblings; /* by image */
	uint32_t *next_sibling;	   /* by process */
	/* [process] -> ns charged to it or its descendants that no known process used */
	uint64_t *unexplained_ns;
	/* [image] -> weight of its samples and credits */
	uint64_t *weight;
	uint64_t *sampled; /* [image] -> weight of its samples */
	uint64_t *last_ns; /* [image] -> time of its last sample */
	/* [enum box] -> CPU time below one sample, carried over so that short images add up */
	uint64_t due_ns[BOX_COUNT];
	/* ns charged to flamerun's child, or used by processes that were not waited for */
	uint64_t charged_ns;
	/* the part of charged_ns that no known process used */
	uint64_t charged_unexplained_ns;
	/* ns used by processes whose parent is unknown */
	uint64_t missing_ns;
};

static const struct profile_image *last_image_of(
	const struct accounts *accounts, const struct process *process)
{
	return processes_image(&accounts->processes, process, process->count - 1);
}

static void sum_image_weights(struct accounts *accounts)
{
	struct flameprof_profile *profile = accounts->profile;

	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct profile_stack *stack = profile_stack_at(profile, i);

		if (stack->kind == WIRE_KIND_CPU || stack->kind == WIRE_KIND_CREDIT)
			accounts->weight[profile_stack_image(profile, stack)] += stack->weight;
		if (stack->kind == WIRE_KIND_CPU)
			accounts->sampled[profile_stack_image(profile, stack)] += stack->weight;
	}
	for (uint32_t i = 0; i < accounts->processes.image_count; i++)
		accounts->last_ns[i] = profile_image_at(profile, i)->start_ns;
	for (uint64_t i = 0; i < profile->sample_count; i++) {
		const struct flameprof_sample *sample = profile_sample_at(profile, i);
		const struct profile_stack *stack = profile_stack_at(profile, sample->stack);
		uint64_t *last_ns = &accounts->last_ns[profile_stack_image(profile, stack)];

		if (sample->time_ns > *last_ns)
			*last_ns = sample->time_ns;
	}
}

/* Credit @ns to image @index with frame @frame, or as paused. due_ns[@box] keeps the remainder. */
static void add_credit(struct accounts *accounts, enum box box, uint64_t frame, uint32_t index,
	uint64_t ns, bool is_paused)
{
	struct wire_counters *counts = &profile_totals(accounts->profile)->counts;
	struct wire_sample sample = {
		.thread = 1, .frames = 1, .kind = WIRE_KIND_CREDIT, .end = WIRE_END_ROOT};
	uint64_t weight;

	if (accounts->start == ACCOUNTING_START_IGNORED)
		return;
	accounts->due_ns[box] += ns;
	weight = accounts->due_ns[box] / accounts->period_ns;
	accounts->due_ns[box] %= accounts->period_ns;
	if (!weight)
		return;
	if (is_paused) {
		counts->paused += weight;
		return;
	}
	sample.time_ns = box == BOX_EXIT ? accounts->last_ns[index]
					 : profile_image_at(accounts->profile, index)->start_ns;
	sample.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
	profile_add(accounts->profile, index, &sample, &frame);
	counts->exec += box == BOX_EXEC ? weight : 0;
	counts->exit += box == BOX_EXIT ? weight : 0;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Returns the CPU time of image @index, from @start_ns on its process's clock, that neither samples
 * nor known causes explain.
 */
static uint64_t unexplained_of(const struct accounts *accounts, uint32_t index, uint64_t start_ns)
{
	const struct profile_image *image = profile_image_at(accounts->profile, index);
	uint64_t weight = accounts->sampled[index] + image->unrecorded;
	uint64_t ns =
		difference(difference(image->end_cpu_ns, start_ns), weight * accounts->period_ns);

	for (int cause = 1; cause < WIRE_UNSAMPLED_CAUSES; cause++)
		ns = difference(ns, image->unsampled_ns[cause]);
	return ns;
}

/* By chance, an image that used less than this many sampling periods may have no sample. */
#define SHORT_PERIODS 4

/*
 * Add up, by cause, the CPU time without samples of image @index. The process's previous images end
 * at @covered_ns on its CPU clock. Some causes were recorded by the collector and the library; the
 * others are found here, at the image's end.
 */
static void sum_causes(struct accounts *accounts, uint32_t index, uint64_t covered_ns, bool is_exec)
{
	struct profile_totals *totals = profile_totals(accounts->profile);
	struct profile_image *image = profile_image_at(accounts->profile, index);
	uint64_t start_ns = is_exec ? image->start_cpu_ns : covered_ns, remaining_ns;

	/*
	 * In an image without the library, time is unexplained if it was used before the tracer
	 * attached, or if tracing was refused.
	 */
	if (image->from_outside)
		image->unsampled_ns[image->is_refused ? WIRE_UNSAMPLED_REFUSED
						      : WIRE_UNSAMPLED_BEGINNING] =
			unexplained_of(accounts, index, start_ns);
	/* The collector, which cannot see a replaced handler, has recorded a wrong cause. */
	if (image->is_displaced)
		image->unsampled_ns[WIRE_UNSAMPLED_TURNS] = 0;
	remaining_ns = unexplained_of(accounts, index, start_ns);
	if (image->is_displaced) {
		image->unsampled_ns[WIRE_UNSAMPLED_HANDLED] = remaining_ns;
	} else if (!accounts->sampled[index] && !image->from_outside && image->ended &&
		   remaining_ns && remaining_ns < SHORT_PERIODS * accounts->period_ns) {
		image->unsampled_ns[WIRE_UNSAMPLED_SHORT] += remaining_ns;
		image->short_threads++;
	}
	for (int cause = 1; cause < WIRE_UNSAMPLED_CAUSES; cause++)
		totals->unsampled_ns[cause] += image->unsampled_ns[cause];
	totals->short_lives += image->short_threads;
	if (image->signal)
		totals->signal = image->signal;
}

/*
 * Add credit for CPU time of image @at of @process that no timer could see: time before the image
 * could be sampled, and later time that none of its threads used.
 */
static void credit_image(struct accounts *accounts, const struct process *process, uint32_t at)
{
	const struct profile_image *image = processes_image(&accounts->processes, process, at);
	const struct profile_image *before =
		at ? processes_image(&accounts->processes, process, at - 1) : NULL;
	uint32_t index = accounts->processes.images[process->first + at];
	uint64_t covered_ns = before ? before->end_cpu_ns : 0;
	uint64_t remaining_ns =
		difference(image->end_cpu_ns, image->start_cpu_ns + image->threads_ns);
	uint64_t io_worker_ns = image->unsampled_ns[WIRE_UNSAMPLED_IO_WORKER];
	bool is_exec = !image->parent && !image->from_outside && (!before || before->left_by_exec);

	if (image->start_cpu_ns > covered_ns)
		add_credit(accounts, is_exec ? BOX_EXEC : BOX_UNSAMPLED,
			is_exec ? WIRE_FRAME_EXEC : WIRE_FRAME_UNSAMPLED, index,
			image->start_cpu_ns - covered_ns,
			accounts->start == ACCOUNTING_START_PAUSED && !image->parent);
	/* A killed image did not report its threads' CPU time, so use its samples. */
	if (!image->end_is_reported)
		remaining_ns = difference(difference(image->end_cpu_ns, image->start_cpu_ns),
			(accounts->weight[index] + image->unrecorded) * accounts->period_ns);
	if (io_worker_ns > remaining_ns)
		io_worker_ns = remaining_ns;
	if (io_worker_ns)
		add_credit(accounts, BOX_IO_WORKER, WIRE_FRAME_IO_WORKER, index, io_worker_ns,
			image->left_paused);
	if (image->end_is_reported && remaining_ns > io_worker_ns)
		add_credit(accounts, BOX_UNSAMPLED, WIRE_FRAME_UNSAMPLED, index,
			remaining_ns - io_worker_ns, image->left_paused);
	sum_causes(accounts, index, covered_ns, is_exec);
}

static uint64_t exit_limit_ns(uint64_t kib)
{
	return EXIT_NS + kib * EXIT_KIB_NS;
}

/* Returns the number of threads that a kill ended; 1 for a traced image, where it is unknown. */
static uint64_t killed_threads(const struct profile_image *image)
{
	return image->live_threads > 1 ? image->live_threads : 1;
}

/*
 * Returns the upper limit of the CPU time without samples of @threads killed threads. A running
 * thread loses its time since the last tick, and a part of a period. If several threads sleep and
 * wake, ticks may miss some of them.
 */
static uint64_t kill_limit_ns(const struct accounts *accounts, uint64_t threads)
{
	uint64_t ticks = threads > 1 ? 3 : 1;

	return threads * (ticks * accounts->tick_ns + accounts->period_ns);
}

/*
 * Returns the CPU time of @process up to its last instruction. A killed process could not report
 * this time, so it is computed from samples. But if its clock, when last read, was ahead of the
 * samples by more than an exit and a kill can take, the process prevented samples. Then use that
 * clock.
 */
static uint64_t used_ns(
	const struct accounts *accounts, const struct process *process, uint64_t kib)
{
	const struct profile_image *image = last_image_of(accounts, process);
	uint64_t weight = accounts->weight[processes_last(&accounts->processes, process)];
	uint64_t counted_ns =
		image->start_cpu_ns + (weight + image->unrecorded) * accounts->period_ns;

	if (image->end_is_reported)
		return image->end_cpu_ns + image->after_leave * accounts->period_ns;
	if (image->still_runs ||
		image->end_cpu_ns > counted_ns + exit_limit_ns(kib) +
					    kill_limit_ns(accounts, killed_threads(image)))
		return image->end_cpu_ns;
	return counted_ns;
}

/* Is @process flamerun's own child? It is the first process with the child's pid. */
static bool is_child(const struct accounts *accounts, const struct process *process)
{
	return accounts->child && process->pid == accounts->child->pid &&
	       (process == accounts->processes.list || process[-1].pid != process->pid);
}

/*
 * Add credit for the CPU time that a killed process used after the last check of its timers, at
 * most @ns. One thread has used half a tick on average. Several threads have used all of @ns except
 * for the exit, whose CPU time is estimated from @kib. Returns the credited ns.
 */
static uint64_t credit_kill(
	struct accounts *accounts, const struct process *process, uint64_t kib, uint64_t ns)
{
	const struct profile_image *image = last_image_of(accounts, process);
	uint64_t threads, limit_ns, exit_ns = exit_limit_ns(kib) / EXIT_SPREAD;

	if (image->end_is_reported)
		return 0;
	threads = killed_threads(image);
	limit_ns = accounts->tick_ns / 2;
	if (threads > 1) {
		limit_ns = kill_limit_ns(accounts, threads);
		ns -= ns < exit_ns ? ns : exit_ns;
	}
	if (ns > limit_ns)
		ns = limit_ns;
	add_credit(accounts, BOX_UNSAMPLED, WIRE_FRAME_UNSAMPLED,
		processes_last(&accounts->processes, process), ns, image->left_paused);
	return ns;
}

/* Credit @ns of CPU time to the exits of the children of image @index. */
static void credit_exits(struct accounts *accounts, uint32_t index, uint64_t kib, uint64_t ns)
{
	const struct siblings *siblings = &accounts->siblings[index];
	uint32_t count = 0;

	for (uint32_t i = siblings->first_child; i != NOBODY;
		i = accounts->next_sibling[i], count++)
		ns -= credit_kill(accounts, &accounts->processes.list[i], kib, ns);
	if (siblings->is_mixed) {
		add_credit(accounts, BOX_EXIT, WIRE_FRAME_EXIT_OF_CHILDREN, index, ns,
			profile_image_at(accounts->profile, index)->left_paused);
		return;
	}
	for (uint32_t i = siblings->first_child; i != NOBODY;
		i = accounts->next_sibling[i], count--) {
		const struct process *child = &accounts->processes.list[i];

		add_credit(accounts, BOX_EXIT, WIRE_FRAME_EXIT,
			processes_last(&accounts->processes, child), ns / count,
			last_image_of(accounts, child)->left_paused);
		ns -= ns / count;
	}
}

/*
 * Image @index was charged @remaining_ns more for its children than they reported. Credit this time
 * to their exits and return 0. If it is too much for exits, unknown processes used it: return it.
 */
static uint64_t account_siblings(
	struct accounts *accounts, uint32_t index, uint64_t remaining_ns, uint64_t kib)
{
	const struct siblings *siblings = &accounts->siblings[index];

	if (!siblings->exits || siblings->holds_uninjected ||
		remaining_ns > siblings->exits * exit_limit_ns(kib) +
				       kill_limit_ns(accounts, siblings->kills))
		return remaining_ns;
	credit_exits(accounts, index, kib, remaining_ns);
	return 0;
}

/*
 * Account for the children of a process's images, one image after the other. A leaving image
 * reports the CPU time of all children that the process has waited for so far. @last is the
 * kernel's report at the end of process @number, or NULL. Adds the CPU time of all descendants to
 * *@ns.
 */
static void account_all_siblings(struct accounts *accounts, uint32_t number,
	const struct accounting_child *last, uint64_t *ns)
{
	const struct process *process = &accounts->processes.list[number];
	uint64_t charged_ns = 0, waiting_ns = 0;

	for (uint32_t at = 0; at < process->count; at++) {
		const struct profile_image *image =
			processes_image(&accounts->processes, process, at);
		uint32_t index = accounts->processes.images[process->first + at];
		bool is_last = last && at + 1 == process->count && !processes_went_on(image);
		uint64_t sum_ns = is_last ? last->children_ns : image->children_ns;
		uint64_t more_ns = sum_ns > charged_ns ? sum_ns - charged_ns : 0, remaining_ns;

		/* Keep in waiting_ns the time of children that only a later image may wait for. */
		waiting_ns += accounts->siblings[index].below_ns;
		*ns += accounts->siblings[index].below_ns;
		if (!is_last && !image->end_is_reported)
			break;
		remaining_ns = more_ns > waiting_ns ? more_ns - waiting_ns : 0;
		waiting_ns -= more_ns - remaining_ns;
		charged_ns += more_ns;
		*ns += remaining_ns;
		accounts->unexplained_ns[number] += account_siblings(accounts, index, remaining_ns,
			is_last ? last->max_kib : image->children_kib);
	}
	if (last && last->children_ns > charged_ns)
		accounts->unexplained_ns[number] += last->children_ns - charged_ns;
}

static const char *name_of(const struct accounts *accounts, uint32_t number)
{
	const struct profile_image *image =
		last_image_of(accounts, &accounts->processes.list[number]);

	return image->exe[0] ? image->exe : image->comm;
}

/* Add process @number to its parent's children. @ns is its and its descendants' CPU time. */
static void charge_parent(struct accounts *accounts, uint32_t number, uint64_t ns)
{
	const struct process *process = &accounts->processes.list[number];
	const struct profile_image *image = last_image_of(accounts, process);
	struct siblings *siblings = &accounts->siblings[process->parent];
	const struct siblings *own =
		&accounts->siblings[processes_last(&accounts->processes, process)];

	siblings->is_mixed |=
		siblings->first_child != NOBODY &&
		strcmp(name_of(accounts, siblings->first_child), name_of(accounts, number)) != 0;
	accounts->next_sibling[number] = siblings->first_child;
	siblings->first_child = number;
	siblings->below_ns += ns;
	siblings->exits++;
	siblings->holds_uninjected |= processes_went_on(image);
	accounts->unexplained_ns[accounts->processes.process_of[process->parent]] +=
		accounts->unexplained_ns[number];
	if (image->end_is_reported)
		return;
	/* The parent is charged for the exits that a killed process has not reported. */
	siblings->kills += killed_threads(image) + own->kills;
	siblings->exits += own->exits;
	siblings->is_mixed |= own->exits != 0;
	siblings->holds_uninjected |= own->holds_uninjected;
}

/* Account for flamerun's own child, for which the kernel has reported all CPU time. */
static void account_child(struct accounts *accounts, uint32_t number)
{
	const struct process *process = &accounts->processes.list[number];
	const struct accounting_child *child = accounts->child;
	const struct profile_image *image = last_image_of(accounts, process);
	uint64_t own_ns = used_ns(accounts, process, child->max_kib);
	uint64_t siblings_ns = 0,
		 remaining_ns = child->cpu_ns > own_ns ? child->cpu_ns - own_ns : 0;

	/* If the sampling signal killed the child, the library's handler was not installed. */
	if (child->signal && child->signal == image->signal && !image->end_is_reported)
		profile_totals(accounts->profile)->killed_by = child->signal;
	account_all_siblings(accounts, number, child, &siblings_ns);
	accounts->charged_unexplained_ns += accounts->unexplained_ns[number];
	/* Add the children that were not waited for. */
	if (siblings_ns > child->children_ns)
		accounts->charged_ns += siblings_ns - child->children_ns;
	if (processes_went_on(image) ||
		(!image->end_is_reported &&
			remaining_ns > exit_limit_ns(child->max_kib) +
					       kill_limit_ns(accounts, killed_threads(image))))
		return;
	remaining_ns -= credit_kill(accounts, process, child->max_kib, remaining_ns);
	add_credit(accounts, BOX_EXIT, WIRE_FRAME_EXIT,
		processes_last(&accounts->processes, process), remaining_ns, image->left_paused);
}

/* Returns the KiB of the largest child that the parent of @process waited for; 0 if not known. */
static uint64_t siblings_max_kib(const struct accounts *accounts, const struct process *process)
{
	uint32_t parent = process->parent;

	if (parent == NOBODY)
		return 0;
	return is_child(accounts, &accounts->processes.list[accounts->processes.process_of[parent]])
		       ? accounts->child->max_kib
		       : profile_image_at(accounts->profile, parent)->children_kib;
}

static void account_process(struct accounts *accounts, uint32_t number)
{
	const struct process *process = &accounts->processes.list[number];
	uint64_t ns = used_ns(accounts, process, siblings_max_kib(accounts, process));

	account_all_siblings(accounts, number, NULL, &ns);
	/* The time of a process that still runs is charged to no parent yet. */
	if (last_image_of(accounts, process)->still_runs)
		accounts->charged_ns += ns;
	else if (process->parent == NOBODY)
		accounts->missing_ns += ns;
	else
		charge_parent(accounts, number, ns);
}

static void account_all(struct accounts *accounts)
{
	struct profile_totals *totals = profile_totals(accounts->profile);
	bool is_found = false;

	if (accounts->child)
		accounts->charged_ns = accounts->child->cpu_ns + accounts->child->children_ns;
	for (uint32_t i = accounts->processes.count; i-- > 0;) {
		uint32_t number = accounts->processes.by_start[i];
		const struct process *process = &accounts->processes.list[number];

		if (is_child(accounts, process)) {
			is_found = true;
			account_child(accounts, number);
		} else {
			account_process(accounts, number);
		}
	}
	if (accounts->child && !is_found)
		accounts->charged_unexplained_ns = accounts->charged_ns;
	totals->cpu_ns = accounts->charged_ns;
	/*
	 * Processes whose parent is unknown may be the unknown processes that time was charged for.
	 * Count this time once.
	 */
	if (accounts->missing_ns > accounts->charged_unexplained_ns)
		totals->cpu_ns += accounts->missing_ns - accounts->charged_unexplained_ns;
}

static int accounts_init(struct accounts *accounts)
{
	size_t count;

	if (processes_find(&accounts->processes, accounts->profile))
		return -ENOMEM;
	count = accounts->processes.image_count + (size_t)1;
	accounts->siblings = calloc(count, sizeof(*accounts->siblings));
	accounts->next_sibling = calloc(count, sizeof(*accounts->next_sibling));
	accounts->unexplained_ns = calloc(count, sizeof(*accounts->unexplained_ns));
	accounts->weight = calloc(count, sizeof(*accounts->weight));
	accounts->sampled = calloc(count, sizeof(*accounts->sampled));
	accounts->last_ns = calloc(count, sizeof(*accounts->last_ns));
	if (!accounts->siblings || !accounts->next_sibling || !accounts->unexplained_ns ||
		!accounts->weight || !accounts->sampled || !accounts->last_ns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		accounts->siblings[i].first_child = NOBODY;
	for (int box = 0; box < BOX_COUNT; box++)
		accounts->due_ns[box] = accounts->period_ns / 2;
	accounts->tick_ns = clock_tick_ns();
	return 0;
}

int accounting_compute(struct flameprof_profile *profile, enum accounting_start start,
	const struct accounting_child *child)
{
	struct accounts accounts = {
		.profile = profile,
		.child = child,
		.start = start,
		.period_ns = profile->period_ns,
	};
	int error = accounts_init(&accounts);

	if (!error) {
		profile_totals(profile)->processes = accounts.processes.count;
		sum_image_weights(&accounts);
		account_all(&accounts);
		for (uint32_t i = 0; i < accounts.processes.count; i++)
			for (uint32_t at = 0; at < accounts.processes.list[i].count; at++)
				credit_image(&accounts, &accounts.processes.list[i], at);
	}
	processes_release(&accounts.processes);
	free(accounts.siblings);
	free(accounts.next_sibling);
	free(accounts.unexplained_ns);
	free(accounts.weight);
	free(accounts.sampled);
	free(accounts.last_ns);
	return error ? error : profile_error(profile);
}

uint64_t accounting_total(const struct accounting *accounting)
{
	return accounting->sampled + accounting->credited + accounting->exec + accounting->exit +
	       accounting->dropped + accounting->torn + accounting->paused;
}

void accounting_of(struct flameprof_profile *profile, struct accounting *out)
{
	const struct profile_totals *totals = profile_totals(profile);
	const struct wire_counters *counts = &totals->counts;

	*out = (struct accounting){
		.due = (uint64_t)((double)totals->cpu_ns * profile_rate_hz(profile) / NS_PER_S +
				  0.5),
		.overruns = counts->overruns,
		.credited = counts->credited - counts->exec - counts->exit,
		.exec = counts->exec,
		.exit = counts->exit,
		.dropped = counts->dropped,
		.torn = counts->torn,
		.paused = counts->paused,
	};
	for (int end = 0; end < WIRE_END_COUNT; end++)
		out->sampled += counts->ends[end];
}
