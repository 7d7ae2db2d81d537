/* SPDX-License-Identifier: MIT */
/*
 * The collector works in rounds. A round records the images that began, notes which images left,
 * drains every ring, and then ends the images that had left before their rings were drained. (An
 * image is one program in one process, from fork or exec to exec or exit.) A round begins every 50
 * ms, or when a sampled thread rings the doorbell (see libprof/sampler/ring.c). Any sampled process
 * can write the arena at any time, so copy values first and check the copy.
 *
 * A seccomp filter that the program installs by an inline system call instruction shows only in
 * Seccomp_filters of /proc/PID/status. The library cannot read this file: the filter may forbid the
 * calls, and other threads may notice the descriptor. So the collector reads it after every 20 ms
 * of CPU time that a process uses, and sets has_unseen in the process's slot. Before has_unseen is
 * set, for some 50 ms, the filter may apply to system calls of the library: when a thread begins or
 * ends, or when a sample reads memory outside of the thread's stack. The collector also reads
 * threads' names, so that no signal handler has to.
 */
#include "cli/gather/collector.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/gather/kernel_stacks.h"
#include "cli/gather/maps.h"
#include "cli/gather/perf_events.h"
#include "cli/gather/pipe_record.h"
#include "cli/gather/unsampled.h"
#include "cli/own_stack.h"
#include "libprof/procfs.h"
#include "libprof/wire_control.h"
#include "libprof/wire_drain.h"

#define TICK_NS (50 * NS_PER_MS)
/* Least time between two reads of one thread's name from /proc. */
#define COMM_NS (100 * NS_PER_MS)
/*
 * Time between two writes to a full pipe. It is also the least time between two rounds while
 * programs ring the doorbell all the time.
 */
#define RETRY_NS  (2 * NS_PER_MS)
#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL
/* Leave samples in their rings while more than this many bytes wait for the pipe's reader. */
#define BACKLOG_BYTES (PIPE_WRITER_BYTES_MAX / 2)
/* Free a slot if the process that claimed it has ended and has not filled it within this time. */
#define CLAIM_NS (2 * NS_PER_S)
/* Read a process's filters again after this much of its CPU time. A read takes some 10 us. */
#define FILTERS_NS (20 * NS_PER_MS)

/* The collector's private data about one slot of the arena, that is, about one image. */
struct slot_notes {
	uint64_t image; /* 0: no image recorded */
	uint32_t pid;
	/* The pid is of another pid namespace, so only the image itself can report its end. */
	uint32_t namespaced;
	/* The image has ended: a newer image has its pid, or it stopped sampling for good. */
	bool superseded;
	bool has_left;
	uint64_t cpu_ns;	     /* ns of CPU time of the process, when last read */
	/* The process's CPU time in ns when its seccomp filters were last read. */
	uint64_t filters_cpu_ns;
	/* Weight of samples that the collector dropped, and number of malformed records. */
	uint64_t dropped, malformed;
	/* Number of live threads and of half-written records when the image ended. */
	uint32_t live_threads, torn;
	struct mappings mappings;
	struct unsampled unsampled;
	/*
	 * The slot's state word when the collector first saw that the slot was claimed; 0 before.
	 */
	uint64_t claim;
	uint64_t claimed_ns;
};

/* The collector's private data about one ring: the thread as in its last RECORD_THREAD. */
struct thread_notes {
	uint64_t image;
	uint32_t number;
	char comm[WIRE_COMM_BYTES];
	/* The name that the thread wrote to its ring when it began or ended. */
	char ring_comm[WIRE_COMM_BYTES];
	uint64_t asked_ns;		 /* when its name was last read from /proc */
};

struct collector {
	struct wire_arena *arena;
	const struct collector_reader *reader; /* NULL: none */
	struct perf_events *events;	       /* NULL: threads have only timers */
	pthread_t thread;
	/* Atomic. Number of the last collector_request(), written by flamerun's main thread. */
	uint64_t requested;
	uint32_t finishing; /* atomic */
	uint32_t abandoned; /* atomic: nobody reads the pipe */
	/* Atomic. Set when the collector has written its last record to the pipe. */
	bool has_ended;
	/* The following fields belong to the collector's thread. */
	uint64_t answered;
	struct pipe_writer pipe_writer;
	struct wire_drain drain;
	struct slot_notes slots[WIRE_SLOTS];
	struct thread_notes threads[WIRE_RINGS];
	struct kernel_stack kernel_stack;
	/*
	 * The last control record read. It is kept here and not on the stack, because it is large.
	 */
	struct wire_control_record control;
};

static int put_record(struct collector *c, enum record_type type, void *head, size_t bytes)
{
	return pipe_writer_put(&c->pipe_writer, type, head, bytes, NULL, 0);
}

/* ---- control records ------------------------------------------------------------------------- */

static void put_module(struct collector *c, uint64_t image, const struct wire_module *module)
{
	struct record_module record = {
		.image = image,
		.start = module->start,
		.end = module->end,
		.time_ns = module->time_ns,
		.number = module->number,
		.flags = module->flags,
		.build_id_bytes = module->build_id_bytes,
	};

	memcpy(record.build_id, module->build_id, sizeof(record.build_id));
	pipe_writer_put(&c->pipe_writer, RECORD_MODULE, &record,
		offsetof(struct record_module, path), module->path, strlen(module->path) + 1);
}

static void put_code(struct collector *c, uint64_t image, const struct wire_code *code)
{
	struct record_code record = {.image = image,
		.space = code->space,
		.bytes = code->bytes,
		.start = code->start,
		.flags = code->flags};

	pipe_writer_put(&c->pipe_writer, RECORD_CODE, &record, sizeof(record), code->name,
		strlen(code->name) + 1);
}

static void put_function(struct collector *c, uint64_t image, const struct wire_function *function)
{
	struct record_function record = {
		.image = image,
		.space = function->space,
		.line = function->line,
		.flags = function->flags,
	};
	const char *file = function->name + function->name_bytes;
	char text[WIRE_CONTROL_RECORD_MAX];
	size_t name_bytes = strlen(function->name) + 1, file_bytes = strlen(file) + 1;

	memcpy(text, function->name, name_bytes);
	memcpy(text + name_bytes, file, file_bytes);
	pipe_writer_put(&c->pipe_writer, RECORD_FUNCTION, &record, sizeof(record), text,
		name_bytes + file_bytes);
}

static void put_mark(struct collector *c, uint64_t image, const struct wire_mark *mark)
{
	struct record_mark record = {.image = image, .time_ns = mark->time_ns, .tid = mark->tid};

	pipe_writer_put(&c->pipe_writer, RECORD_MARK, &record, sizeof(record), mark->name,
		strlen(mark->name) + 1);
}

static void put_control(struct collector *c, uint64_t image)
{
	const struct wire_control_record *record = &c->control;

	switch (record->type) {
	case WIRE_CONTROL_MODULE:
		return put_module(c, image, &record->module);
	case WIRE_CONTROL_CODE:
		return put_code(c, image, &record->code);
	case WIRE_CONTROL_FUNCTION:
		return put_function(c, image, &record->function);
	case WIRE_CONTROL_MARK:
		return put_mark(c, image, &record->mark);
	default:
		return;
	}
}

/*
 * Write the control records of the image in slot @index to the pipe. If the image @is_over, skip a
 * half-written record and count it as malformed.
 */
static void read_control(struct collector *c, uint32_t index, bool is_over)
{
	struct wire_slot *slot = wire_slot(c->arena, index);
	char *ring = wire_control_data(c->arena, index);
	struct slot_notes *notes = &c->slots[index];

	/* Stop after one ringful of bytes, because the writers may be as fast as the collector. */
	for (uint32_t taken = 0; taken < WIRE_CONTROL_BYTES; taken += c->control.bytes) {
		enum wire_control_step step = wire_control_read(slot, ring, &c->control);

		if (step == WIRE_CONTROL_EMPTY && is_over)
			step = wire_control_skip_hole(slot, ring, &c->control);
		if (step == WIRE_CONTROL_EMPTY)
			break;
		if (step == WIRE_CONTROL_TAKEN)
			put_control(c, notes->image);
		else if (step != WIRE_CONTROL_SKIPPED)
			notes->malformed++;
		if (step == WIRE_CONTROL_DAMAGED)
			break;
	}
	if (is_over)
		notes->malformed += wire_control_reset(slot, ring) != 0;
}

/* ---- images ---------------------------------------------------------------------------------- */

struct newcomer {
	uint64_t image;
	uint32_t slot;
};

/* Copy a string of the arena and terminate it. */
static void copy_text(char *out, const char *from, size_t size)
{
	wire_copy(out, from, size);
	out[size - 1] = '\0';
}

/*
 * Mark an earlier image with @pid as ended. The image in @slot is newer, because images are added
 * in the order of their numbers: the process has called exec, or its pid was reused.
 */
static void mark_superseded(struct collector *c, uint32_t slot, uint32_t pid)
{
	for (uint32_t i = 0; i < wire_slots_high(c->arena); i++)
		if (i != slot && c->slots[i].image && c->slots[i].pid == pid &&
			!c->slots[i].namespaced)
			c->slots[i].superseded = true;
}

static void add_image(struct collector *c, uint32_t index)
{
	const struct wire_slot *slot = wire_slot(c->arena, index);
	struct slot_notes *notes = &c->slots[index];
	struct record_image record = {
		.id = __atomic_load_n(&slot->image, __ATOMIC_ACQUIRE),
		.parent = slot->parent_image,
		.start_ns = slot->start_ns,
		.pid = slot->pid,
		.ppid = slot->ppid,
	};

	if (!record.id || record.id >= RECORD_TRACER_IMAGES)
		return;
	*notes = (struct slot_notes){.image = record.id,
		.pid = record.pid,
		.namespaced = slot->namespaced,
		.unsampled = {.pid = (pid_t)record.pid, .image = record.id}};
	copy_text(record.exe, slot->exe, sizeof(record.exe));
	copy_text(record.comm, slot->comm, sizeof(record.comm));
	put_record(c, RECORD_IMAGE, &record, sizeof(record));
	if (!notes->namespaced)
		mark_superseded(c, index, notes->pid);
	if (c->reader)
		c->reader->add(c->reader->context, &(struct collector_image){
							   .image = record.id,
							   .pid = record.pid,
							   .namespaced = notes->namespaced != 0,
							   .image_at = slot->image_at,
							   .start_ns = record.start_ns,
							   .start_cpu_ns = slot->start_cpu_ns,
							   .slot = index,
						   });
}

/*
 * Record new images in the order of their numbers, not of their slots. So a parent comes before its
 * child, and the image that calls exec before the image that the exec begins. A parent's slot is
 * live before its child gets a number. So for an image with a number up to `last`, the parent's
 * slot is found as well. Images with later numbers wait for the next round.
 */
static void add_images(struct collector *c)
{
	uint64_t last = __atomic_load_n(&c->arena->next_image, __ATOMIC_ACQUIRE);
	struct newcomer newcomers[WIRE_SLOTS];
	unsigned count = 0, at;

	for (uint32_t i = 0; i < wire_slots_high(c->arena); i++) {
		const struct wire_slot *slot = wire_slot(c->arena, i);
		uint64_t image;

		if (c->slots[i].image ||
			!wire_slot_is_used(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE)))
			continue;
		image = __atomic_load_n(&slot->image, __ATOMIC_RELAXED);
		if (image > last)
			continue;
		for (at = count++; at && newcomers[at - 1].image > image; at--)
			newcomers[at] = newcomers[at - 1];
		newcomers[at] = (struct newcomer){image, i};
	}
	for (unsigned i = 0; i < count; i++)
		add_image(c, newcomers[i].slot);
}

/* Free a claimed slot if the process was killed before it filled the slot. */
static void check_claim(struct collector *c, uint32_t index, uint64_t state)
{
	struct wire_slot *slot = wire_slot(c->arena, index);
	struct slot_notes *notes = &c->slots[index];

	if (notes->claim != state) {
		notes->claim = state;
		notes->claimed_ns = clock_now_ns();
		return;
	}
	if (clock_now_ns() - notes->claimed_ns < CLAIM_NS ||
		procfs_is_running((uint32_t)(state >> 8)))
		return;
	if (!__atomic_compare_exchange_n(
		    &slot->state, &state, WIRE_SLOT_FREE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_add(&c->arena->lost_processes, 1, __ATOMIC_RELAXED);
	wire_hint(&c->arena->slots_hint, index);
}

/* Set has_unseen if the process has more seccomp filters than the library has counted. */
static void check_filters(struct wire_slot *slot, struct slot_notes *notes)
{
	uint32_t filters;

	if (notes->cpu_ns - notes->filters_cpu_ns < FILTERS_NS)
		return;
	notes->filters_cpu_ns = notes->cpu_ns;
	filters = procfs_filters(notes->pid);
	/* Read /proc first, because the library counts a filter before installing it. */
	if (filters > __atomic_load_n(&slot->filters, __ATOMIC_ACQUIRE))
		__atomic_store_n(&slot->has_unseen, 1, __ATOMIC_RELAXED);
}

static void check_slot(struct collector *c, uint32_t index)
{
	struct wire_slot *slot = wire_slot(c->arena, index);
	struct slot_notes *notes = &c->slots[index];
	uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
	uint64_t cpu_ns;
	bool is_gone;

	if ((state & 0xff) == WIRE_SLOT_CLAIMED)
		check_claim(c, index, state);
	if (!notes->image || !wire_slot_is_used(state))
		return;
	read_control(c, index, false);
	/* Read the CPU time in each round: if the process is killed, the last value counts. */
	notes->superseded |= (state & 0xff) == WIRE_SLOT_GONE;
	cpu_ns = notes->namespaced || notes->superseded ? 0 : procfs_cpu_ns(notes->pid);
	if (cpu_ns) {
		notes->cpu_ns = cpu_ns;
		if ((state & 0xff) == WIRE_SLOT_LIVE) {
			check_filters(slot, notes);
			unsampled_check(&notes->unsampled, c->arena, slot, cpu_ns);
		}
	}
	if (!notes->namespaced && !notes->superseded)
		mappings_update(&notes->mappings, notes->pid, notes->image, clock_now_ns(),
			&c->pipe_writer);
	/* A process that has reported its exit and has no CPU clock is gone. Do not ask /proc. */
	is_gone = (state & 0xff) == WIRE_SLOT_EXIT && !cpu_ns;
	notes->has_left = notes->superseded ||
			  (!notes->namespaced && (is_gone || !procfs_is_running(notes->pid)));
}

/* ---- rings ----------------------------------------------------------------------------------- */

/* Find the image that owns the ring of @pass. Returns its slot; NULL if it is not recorded. */
static struct slot_notes *slot_of(struct collector *c, const struct wire_drain_pass *pass)
{
	uint32_t slot = __atomic_load_n(&wire_ring(c->arena, pass->index)->slot, __ATOMIC_RELAXED);

	return slot < WIRE_SLOTS && c->slots[slot].image &&
			       (c->slots[slot].image & ~0ULL >> 2) == pass->owner >> 2
		       ? &c->slots[slot]
		       : NULL;
}

static bool is_live(const struct wire_slot *slot)
{
	return (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff) == WIRE_SLOT_LIVE;
}

/*
 * Read the thread's name from /proc, because signal handlers do not read it. After an exec, /proc
 * shows the new program's name, so the slot must be WIRE_SLOT_LIVE before and after the read.
 */
static void read_comm(struct collector *c, const struct slot_notes *owner,
	struct thread_notes *notes, uint32_t tid, char *comm)
{
	const struct wire_slot *slot = wire_slot(c->arena, (uint32_t)(owner - c->slots));
	char now[WIRE_COMM_BYTES] = "";

	if (owner->namespaced || owner->superseded || !is_live(slot) ||
		clock_now_ns() - notes->asked_ns < COMM_NS)
		return;
	notes->asked_ns = clock_now_ns();
	procfs_comm((pid_t)owner->pid, (pid_t)tid, now);
	if (now[0] && is_live(slot))
		memcpy(comm, now, sizeof(now));
}

/* Write a thread record if the thread or its name is new. */
static void put_thread(struct collector *c, uint32_t index, const struct slot_notes *owner)
{
	const struct wire_ring *ring = wire_ring(c->arena, index);
	struct thread_notes *notes = &c->threads[index];
	struct record_thread record = {
		.image = owner->image, .number = ring->thread, .tid = ring->tid};
	char ring_comm[WIRE_COMM_BYTES];
	bool is_new = notes->image != record.image || notes->number != record.number;

	if (is_new)
		*notes = (struct thread_notes){.image = record.image, .number = record.number};
	copy_text(ring_comm, ring->comm, sizeof(ring_comm));
	memcpy(record.comm, notes->comm, sizeof(record.comm));
	if (is_new || memcmp(notes->ring_comm, ring_comm, sizeof(ring_comm)))
		memcpy(record.comm, ring_comm, sizeof(ring_comm));
	memcpy(notes->ring_comm, ring_comm, sizeof(ring_comm));
	read_comm(c, owner, notes, record.tid, record.comm);
	if (!is_new && !memcmp(notes->comm, record.comm, sizeof(notes->comm)))
		return;
	memcpy(notes->comm, record.comm, sizeof(notes->comm));
	put_record(c, RECORD_THREAD, &record, sizeof(record));
}

static void put_sample(struct collector *c, struct slot_notes *notes,
	const struct wire_sample *sample, const char *frames)
{
	/* Do not look up the last frame of an incomplete walk: it may be no code address. */
	mappings_request(&notes->mappings, frames,
		sample->frames - (sample->frames > 1 && sample->end != WIRE_END_ROOT));
	if (pipe_writer_put_sample(&c->pipe_writer, notes->image, sample, frames))
		notes->dropped += sample->weight;
}

/* Report to the reader that thread @ended has ended, if its times are known and plausible. */
static void report_thread_end(const struct collector *c, const struct collector_thread *ended)
{
	if (c->reader && ended->end_ns > ended->start_ns && ended->end_ns <= clock_now_ns() &&
		ended->end_cpu_ns <= ended->end_ns)
		c->reader->end_thread(c->reader->context, ended);
}

static struct collector_thread thread_of(
	const struct wire_ring *ring, const struct slot_notes *notes, uint64_t end_ns)
{
	struct collector_thread thread = {
		.image = notes->image,
		.number = __atomic_load_n(&ring->thread, __ATOMIC_RELAXED),
		.tid = __atomic_load_n(&ring->tid, __ATOMIC_RELAXED),
		.start_ns = __atomic_load_n(&ring->start_ns, __ATOMIC_RELAXED),
		.end_ns = end_ns,
		.end_cpu_ns = __atomic_load_n(&ring->end_cpu_ns, __ATOMIC_RELAXED),
	};

	copy_text(thread.comm, ring->comm, sizeof(thread.comm));
	return thread;
}

/* Hand the kernel stacks from the thread's second perf event to the reader. */
static void pass_kernel_stacks(
	struct collector *c, const struct wire_drain_pass *pass, const struct slot_notes *notes)
{
	while (c->events && c->reader &&
		perf_events_next_stack(c->events, pass->index, pass->owner, &c->kernel_stack))
		c->reader->add_kernel_stack(c->reader->context, notes->image,
			c->threads[pass->index].number, &c->kernel_stack);
}

static void drain_ring(struct collector *c, uint32_t index)
{
	const struct wire_ring *ring = wire_ring(c->arena, index);
	struct collector_thread ended;
	struct wire_drain_pass pass;
	struct wire_sample sample;
	enum wire_drain_step step;
	struct slot_notes *notes;

	if (!wire_drain_begin(&c->drain, index, &pass))
		return;
	notes = slot_of(c, &pass);
	if (!notes)
		return;
	if (pass.head || (pass.owner & 3) == WIRE_RING_ENDED)
		put_thread(c, index, notes);
	ended = thread_of(ring, notes, __atomic_load_n(&ring->end_ns, __ATOMIC_RELAXED));
	while ((step = wire_drain_next(&c->drain, &pass, &sample)) == WIRE_DRAIN_RECORD) {
		put_sample(c, notes, &sample, wire_drain_frames(&c->drain, &pass));
		wire_drain_skip(&c->drain, &pass, sample.bytes);
	}
	pass_kernel_stacks(c, &pass, notes);
	notes->malformed += step == WIRE_DRAIN_DAMAGED;
	if (wire_drain_end(&c->drain, &pass))
		report_thread_end(c, &ended);
}

/*
 * Write a sample of exit_credit, the weight left at the process's exit, on the thread's last stack.
 */
static void put_exit_credit(struct collector *c, struct slot_notes *notes, uint32_t index)
{
	const struct wire_ring *ring = wire_ring(c->arena, index);
	uint64_t due = __atomic_load_n(&ring->exit_credit, __ATOMIC_ACQUIRE);
	const struct wire_sample sample = {
		.thread = ring->thread,
		.weight = (uint32_t)due,
		.kind = WIRE_KIND_CREDIT,
		.end = WIRE_END_ROOT,
	};

	if (due && due <= UINT32_MAX)
		put_sample(c, notes, &sample, NULL);
}

/* Is the image to be ended now? With @release, end images that have left; otherwise, end all. */
static bool is_ending(const struct slot_notes *notes, bool release)
{
	return notes->image && (!release || notes->has_left);
}

/*
 * For each image that is_ending(), record names, ends and exit_credit of its threads that are still
 * alive. With @release, free their rings and count half-written records.
 */
static void end_rings(struct collector *c, bool release)
{
	for (uint32_t i = 0; i < wire_rings_high(c->arena); i++) {
		struct collector_thread ended;
		struct wire_drain_pass pass;
		struct slot_notes *notes =
			wire_drain_begin(&c->drain, i, &pass) ? slot_of(c, &pass) : NULL;

		if (!notes || !is_ending(notes, release))
			continue;
		put_thread(c, i, notes);
		put_exit_credit(c, notes, i);
		ended = thread_of(wire_ring(c->arena, i), notes,
			wire_slot(c->arena, (uint32_t)(notes - c->slots))->end_ns);
		if (ended.end_cpu_ns)
			report_thread_end(c, &ended);
		notes->live_threads++;
		if (release)
			notes->torn += wire_drain_release(&c->drain, i, pass.owner) != 0;
	}
}

/* ---- ends ------------------------------------------------------------------------------------ */

/*
 * Record the end of the image in slot @index, after end_rings(). With @release, the image has
 * ended: free its slot. Otherwise it still runs, and only its recording ends.
 */
static void end_image(struct collector *c, uint32_t index, bool release)
{
	struct wire_slot *slot = wire_slot(c->arena, index);
	struct slot_notes *notes = &c->slots[index];
	uint64_t end_cpu_ns = slot->end_cpu_ns;
	uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff;
	struct record_image_end record = {
		.image = notes->image,
		.start_cpu_ns = slot->start_cpu_ns,
		.cpu_ns = end_cpu_ns ? end_cpu_ns : notes->cpu_ns,
		.threads_ns = slot->ended_threads_ns + slot->live_threads_ns,
		.children_ns = slot->children_ns,
		.children_kib = slot->children_kib,
		.after_leave = slot->after_leave,
		.end_is_reported = end_cpu_ns != 0,
		.left_paused = __atomic_load_n(&slot->is_paused, __ATOMIC_RELAXED),
		.quit = slot->quit,
		.live_threads = notes->live_threads,
		.has_ended = release,
		.still_runs = !release && !notes->namespaced && !notes->superseded &&
			      procfs_is_running(notes->pid),
		.left_by_exec = !slot->quit && (state == WIRE_SLOT_EXEC || state == WIRE_SLOT_GONE),
	};

	if (c->reader)
		c->reader->end(c->reader->context, notes->image, slot->end_ns);
	record.unknown_runtimes = slot->unknown_runtimes;
	record.timer_error = slot->timer_error;
	record.signals_max = slot->signals_max;
	wire_counters_of_slot(&record.counts, slot);
	record.counts.dropped += notes->dropped;
	record.counts.malformed = notes->malformed;
	record.counts.torn = notes->torn;
	unsampled_end(&notes->unsampled, slot, &record);
	put_record(c, RECORD_IMAGE_END, &record, sizeof(record));
	*notes = (struct slot_notes){0};
	if (!release)
		return;
	/* Zero the slot for the next image, but keep the positions of the control ring. */
	memset(&slot->image, 0,
		offsetof(struct wire_slot, control_head) - offsetof(struct wire_slot, image));
	memset(slot->exe, 0, sizeof(slot->exe));
	memset(slot->comm, 0, sizeof(slot->comm));
	__atomic_store_n(&slot->state, WIRE_SLOT_FREE, __ATOMIC_RELEASE);
	wire_hint(&c->arena->slots_hint, index);
}

/* End all images that are to be ended in one pass over the rings, as many may end in one round. */
static void end_images(struct collector *c, bool release)
{
	uint32_t high = wire_slots_high(c->arena);
	bool has_any = false;

	for (uint32_t i = 0; i < high; i++) {
		if (!is_ending(&c->slots[i], release))
			continue;
		read_control(c, i, release);
		has_any = true;
	}
	if (!has_any)
		return;
	end_rings(c, release);
	for (uint32_t i = 0; i < high; i++)
		if (is_ending(&c->slots[i], release))
			end_image(c, i, release);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/*
 * Open events for new threads. Close the events of programs that do not want them any more: these
 * programs wait for the close.
 */
static void update_events(struct collector *c)
{
	for (uint32_t i = 0; i < wire_rings_high(c->arena); i++) {
		struct wire_drain_pass pass;
		const struct slot_notes *notes =
			wire_drain_begin(&c->drain, i, &pass) ? slot_of(c, &pass) : NULL;
		bool is_known = notes && !notes->namespaced && !notes->superseded;

		perf_events_update(c->events, i, is_known ? (pid_t)notes->pid : 0,
			wire_slot(c->arena, notes ? (uint32_t)(notes - c->slots) : 0));
	}
}

static void run_round(struct collector *c)
{
	/* Leave samples in the arena while the pipe's reader is far behind. */
	bool is_late = c->pipe_writer.to - c->pipe_writer.from > BACKLOG_BYTES;

	add_images(c);
	for (uint32_t i = 0; i < wire_slots_high(c->arena); i++)
		check_slot(c, i);
	for (uint32_t i = 0; i < wire_rings_high(c->arena) && !is_late; i++)
		drain_ring(c, i);
	/* Close events only after draining, because closing discards their recorded stacks. */
	if (c->events)
		update_events(c);
	if (!is_late)
		end_images(c, true);
}

static void answer_request(struct collector *c, uint64_t requested)
{
	struct record_round record = {.number = requested};

	if (c->answered != requested && !put_record(c, RECORD_ROUND, &record, sizeof(record)))
		c->answered = requested;
}

static void put_final_records(struct collector *c)
{
	struct record end;

	if (__atomic_load_n(&c->abandoned, __ATOMIC_ACQUIRE))
		return;
	pipe_writer_finish(&c->pipe_writer);
	run_round(c);
	end_images(c, false);
	if (c->reader)
		c->reader->finish(c->reader->context);
	put_record(c, RECORD_END, &end, sizeof(end));
	pipe_writer_finish(&c->pipe_writer);
}

static void wait_for_bell(struct collector *c, uint32_t bell, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns();
	struct timespec patience = {.tv_nsec = until_ns > now_ns ? (long)(until_ns - now_ns) : 0};

	syscall(SYS_futex, &c->arena->doorbell, FUTEX_WAIT, bell, &patience, NULL, 0);
}

/* Returns the time in ns until which the collector may sleep if the doorbell does not ring. */
static uint64_t next_ns(struct collector *c, uint64_t tick_ns)
{
	uint64_t check_ns = c->reader ? c->reader->read(c->reader->context) : UINT64_MAX;
	uint64_t next_ns = check_ns < tick_ns ? check_ns : tick_ns;

	if (pipe_writer_flush(&c->pipe_writer) > 0 && next_ns > clock_now_ns() + RETRY_NS)
		next_ns = clock_now_ns() + RETRY_NS;
	return next_ns;
}

static void *run_collector(void *argument)
{
	struct collector *c = argument;
	uint64_t tick_ns = 0, began_ns = 0;
	uint32_t answered_bell = 0;

	pthread_setname_np(pthread_self(), "collector");
	while (!__atomic_load_n(&c->finishing, __ATOMIC_ACQUIRE)) {
		uint32_t bell = __atomic_load_n(&c->arena->doorbell, __ATOMIC_ACQUIRE);
		uint64_t requested = __atomic_load_n(&c->requested, __ATOMIC_ACQUIRE);
		bool is_rung = bell != answered_bell;

		if (is_rung && requested == c->answered && clock_now_ns() - began_ns < RETRY_NS)
			usleep(RETRY_NS / 1000);
		if (is_rung || clock_now_ns() >= tick_ns) {
			began_ns = clock_now_ns();
			run_round(c);
			answer_request(c, requested);
			answered_bell = bell;
			tick_ns = began_ns + TICK_NS;
		}
		wait_for_bell(c, bell, next_ns(c, tick_ns));
	}
	put_final_records(c);
	__atomic_store_n(&c->has_ended, true, __ATOMIC_RELEASE);
	return NULL;
}

int collector_start(struct collector **out, const struct collector_config *config)
{
	struct collector *c = calloc(1, sizeof(*c));
	sigset_t all, mask;
	int error;

	if (!c)
		return -ENOMEM;
	c->arena = config->arena;
	c->reader = config->reader;
	c->events = config->events;
	c->drain.arena = config->arena;
	c->drain.blocks = config->blocks;
	c->pipe_writer.descriptor = config->pipe;
	if (c->reader)
		c->reader->start(c->reader->context, &c->pipe_writer);
	/*
	 * Block all signals in the new thread, because flamerun's other threads must handle them.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	error = own_stack_thread(&c->thread, run_collector, c);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (error) {
		free(c);
		return error;
	}
	*out = c;
	return 0;
}

static void ring_doorbell(struct collector *c)
{
	__atomic_fetch_add(&c->arena->doorbell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &c->arena->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

uint64_t collector_request(struct collector *c)
{
	uint64_t requested = __atomic_add_fetch(&c->requested, 1, __ATOMIC_ACQ_REL);

	ring_doorbell(c);
	return requested;
}

void collector_finish(struct collector *c)
{
	__atomic_store_n(&c->finishing, 1, __ATOMIC_RELEASE);
	ring_doorbell(c);
}

bool collector_has_ended(const struct collector *c)
{
	return __atomic_load_n(&c->has_ended, __ATOMIC_ACQUIRE);
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	/* If collector_finish() was not called before, do not write final records. */
	__atomic_store_n(&c->abandoned, 1, __ATOMIC_RELEASE);
	collector_finish(c);
	pthread_join(c->thread, NULL);
	for (uint32_t i = 0; i < WIRE_SLOTS; i++)
		unsampled_release(&c->slots[i].unsampled);
	pipe_writer_release(&c->pipe_writer);
	free(c);
}
