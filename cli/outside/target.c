/* SPDX-License-Identifier: MIT */
/*
 * Find the objects (ELF files) of a target's code mappings. Record a mapping as a module when an
 * address in it is first looked up. Keep tracees in a chained hash table.
 */
#include "cli/outside/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/outside/target_language.h"
#include "libprof/procfs.h"
#include "render/array.h"

/* ---- threads --------------------------------------------------------------------------------- */

/* Files with higher descriptors are not kept open, because a limit of 1024 is common. */
#define KEPT_MAX 768

static unsigned bucket_of(pid_t tid)
{
	return (unsigned)tid % TRACEES_BUCKETS;
}

struct tracee *tracees_find(const struct tracees *tracees, pid_t tid)
{
	struct tracee *tracee = tracees->bucket[bucket_of(tid)];

	while (tracee && tracee->tid != tid)
		tracee = tracee->next;
	return tracee;
}

struct tracee *tracees_add(struct tracees *tracees, pid_t tid, struct target *target)
{
	struct tracee **bucket = &tracees->bucket[bucket_of(tid)];
	struct tracee *tracee = calloc(1, sizeof(*tracee));

	if (!tracee)
		return NULL;
	*tracee = (struct tracee){
		.next = *bucket, .tid = tid, .target = target, .stat = -1, .timer = -1};
	tracee->clock = procfs_open(target->pid, tid, "schedstat");
	*bucket = tracee;
	tracees->count++;
	target->threads++;
	return tracee;
}

uint64_t tracees_update(struct tracee *tracee)
{
	if (tracee->clock >= 0)
		procfs_clock_read(tracee->clock, &tracee->used);
	return tracee->used.cpu_ns;
}

uint32_t tracees_count(struct tracee *tracee, uint64_t period_ns)
{
	uint64_t now_ns = tracees_update(tracee), weight;
	uint64_t spent_ns = now_ns > tracee->counted_ns ? now_ns - tracee->counted_ns : 0;

	tracee->counted_ns += spent_ns;
	tracee->target->counted_ns += spent_ns;
	tracee->due_ns += spent_ns;
	weight = tracee->due_ns / period_ns;
	tracee->due_ns %= period_ns;
	return weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
}

/* Open the thread's stat file at the first read. Keep it open unless many files are open. */
int tracees_read_stat(struct tracee *tracee)
{
	int error;

	if (tracee->stat < 0)
		tracee->stat = procfs_open(tracee->target->pid, tracee->tid, "stat");
	if (tracee->stat < 0)
		return tracee->stat;
	error = procfs_stat_read(tracee->stat, &tracee->seen);
	if (tracee->stat >= KEPT_MAX) {
		close(tracee->stat);
		tracee->stat = -1;
	}
	return error;
}

bool tracees_is_worker(struct tracee *tracee)
{
	return !tracees_read_stat(tracee) &&
	       tracee->seen.flags & (PROCFS_IO_WORKER | PROCFS_USER_WORKER);
}

void tracees_remove(struct tracees *tracees, struct tracee *tracee)
{
	struct tracee **at = &tracees->bucket[bucket_of(tracee->tid)];
	const int files[] = {tracee->clock, tracee->stat};

	while (*at != tracee)
		at = &(*at)->next;
	*at = tracee->next;
	tracees->count--;
	tracee->target->threads--;
	for (unsigned i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	free(tracee->early);
	free(tracee);
}

void tracees_release(struct tracees *tracees)
{
	struct tracee *tracee;

	while ((tracee = tracees_next(tracees, NULL)))
		tracees_remove(tracees, tracee);
}

struct tracee *tracees_next(const struct tracees *tracees, const struct tracee *tracee)
{
	unsigned bucket = tracee ? bucket_of(tracee->tid) + 1 : 0;

	if (tracee && tracee->next)
		return tracee->next;
	while (bucket < TRACEES_BUCKETS && !tracees->bucket[bucket])
		bucket++;
	return bucket < TRACEES_BUCKETS ? tracees->bucket[bucket] : NULL;
}

/* ---- processes ------------------------------------------------------------------------------- */

#define VDSO_NAME    "[vdso]"
#define LIBRARY_NAME "libflameprof.so"

struct target *target_new(pid_t pid)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->pid = pid;
	target->memory = -1;
	target->stack_bytes = TARGET_STACK_BYTES;
	return target;
}

void target_free(struct target *target)
{
	if (!target)
		return;
	maps_release(&target->maps);
	target_language_free(target->language);
	free(target->ranges);
	free(target->dead);
	procfs_close(target->memory);
	free(target);
}

/* Copy @name, or its end if it is too long, because the end of a path says more than its start. */
static void copy_name(char *out, size_t room, const char *name)
{
	size_t bytes = strlen(name);

	if (bytes >= room) {
		name += bytes - (room - 1);
		bytes = room - 1;
	}
	memcpy(out, name, bytes + 1);
}

void target_announce(
	struct target *target, struct target_shared *shared, uint64_t parent, uint64_t start_cpu_ns)
{
	struct record_image record = {
		.id = ++shared->images,
		.parent = parent,
		.pid = (uint32_t)target->pid,
		.ppid = (uint32_t)procfs_number(target->pid, "PPid"),
	};
	char exe[PATH_MAX], path[PROCFS_PATH_BYTES];

	target->image = record.id;
	target->start_ns = clock_now_ns();
	target->start_cpu_ns = target->cpu_ns = start_cpu_ns;
	target->counted_ns = 0;
	target->stack_top = procfs_stack_top(target->pid);
	target->has_other_tids = procfs_inner_pid(target->pid) != target->pid;
	target->stops_why = NULL;
	target->is_blocking = target->has_other_stacks = false;
	procfs_close(target->memory);
	procfs_path(path, target->pid, 0, "mem");
	target->memory = open(path, O_RDONLY | O_CLOEXEC);
	target->dead_count = 0;
	target_language_free(target->language);
	target->language = NULL;
	memset(target->announced, 0, sizeof(target->announced));
	record.start_ns = target->start_ns;
	if (!procfs_link(target->pid, "exe", exe))
		copy_name(record.exe, sizeof(record.exe), exe);
	procfs_comm(target->pid, target->pid, record.comm);
	pipe_writer_put(shared->pipe_writer, RECORD_IMAGE, &record, sizeof(record), NULL, 0);
}

/* Find the mapping of offset 0 of list[index]'s file: list[index] or a mapping before it. */
static const struct mapping *first_mapping_of(const struct maps *maps, unsigned index)
{
	const struct mapping *mapping = &maps->list[index];

	for (unsigned i = index + 1; i-- > 0;) {
		const struct mapping *candidate = &maps->list[i];

		if (candidate->inode != mapping->inode || candidate->major != mapping->major ||
			candidate->minor != mapping->minor)
			return NULL;
		if (!candidate->offset)
			return candidate;
	}
	return NULL;
}

static void add_range(struct target *target, struct target_shared *shared, unsigned index)
{
	const struct mapping *mapping = &target->maps.list[index];
	struct target_range *range = &target->ranges[target->range_count];

	if (!mapping->is_code || (!mapping->inode && strcmp(mapping->path, VDSO_NAME)))
		return;
	range->start = mapping->start;
	range->end = mapping->end;
	range->object = objects_find(
		&shared->objects, target->pid, mapping, first_mapping_of(&target->maps, index));
	range->is_searched = false;
	range->asked = 0;
	if (range->object && !object_bias(range->object, mapping, &range->bias))
		target->range_count++;
}

/*
 * Returns the number of the language runtime in the module of @range, or 0 if there is none. A
 * runtime that is still being initialized is not found yet: calls 0, 1, 2, 4, 8 and so on search
 * again.
 */
static uint32_t find_runtime(struct target *target, struct target_range *range)
{
	const struct object *object = range->object;
	const struct runtime_module module = {.dynamic = range->bias + object->dynamic,
		.bias = range->bias,
		.eh_frame_hdr = object->header ? range->bias + object->header : 0};
	uint32_t asked = range->asked++;
	int found = 0;

	if (range->is_searched || (asked & (asked - 1)))
		return range->runtime;
	if (object->dynamic)
		found = target_language_find(target, &module);
	range->is_searched = found != -EAGAIN;
	range->runtime = found > 0 ? (uint32_t)found : 0;
	return range->runtime;
}

/* If @target has mapped a jitdump file, record the file once, as mappings_update() does. */
static void announce_dump(struct target *target, struct target_shared *shared)
{
	struct record_module record = {
		.image = target->image,
		.time_ns = clock_now_ns(),
		/* The collector uses the highest numbers in a process with the library. */
		.number = target->first_module ? target->first_module : WIRE_MODULE_MAX,
		.flags = WIRE_MODULE_MAPPED,
	};
	uint8_t *byte = &target->announced[record.number / 8];
	uint8_t bit = (uint8_t)(1u << record.number % 8);
	const struct mapping *dump = NULL;

	for (unsigned i = 0; i < target->maps.count && !(*byte & bit) && !dump; i++)
		if (maps_is_jitdump(&target->maps.list[i]))
			dump = &target->maps.list[i];
	if (!dump)
		return;
	record.start = dump->start;
	record.end = dump->end;
	record.file_offset = dump->offset;
	if (!pipe_writer_put(shared->pipe_writer, RECORD_MODULE, &record,
		    offsetof(struct record_module, path), dump->path, strlen(dump->path) + 1))
		*byte |= bit;
}

void target_remap(struct target *target, struct target_shared *shared)
{
	struct target_range *ranges;

	target->mapped_ns = clock_now_ns();
	if (maps_read(&target->maps, target->pid) <= 0)
		return;
	ranges = malloc((target->maps.count + 1) * sizeof(*ranges));
	if (!ranges)
		return;
	free(target->ranges);
	target->ranges = ranges;
	target->range_count = 0;
	target->vdso = 0;
	for (unsigned i = 0; i < target->maps.count; i++) {
		add_range(target, shared, i);
		if (!strcmp(target->maps.list[i].path, VDSO_NAME))
			target->vdso = target->maps.list[i].start;
	}
	announce_dump(target, shared);
}

/* Is @object libflameprof? Its frames are left out of the stacks. */
static bool is_ours(const struct object *object)
{
	const char *slash = strrchr(object->path, '/');

	return slash && !strncmp(slash + 1, LIBRARY_NAME, strlen(LIBRARY_NAME));
}

static void announce_module(
	struct target *target, struct target_shared *shared, const struct target_range *range)
{
	const struct object *object = range->object;
	uint32_t number = target->first_module + object->number;
	struct record_module record = {
		.image = target->image,
		.start = range->start,
		.end = range->end,
		.time_ns = clock_now_ns(),
		.number = number,
		.build_id_bytes = object->build_id_bytes,
	};
	uint8_t *byte = &target->announced[number / 8];
	uint8_t bit = (uint8_t)(1u << number % 8);

	if (*byte & bit)
		return;
	if (!strcmp(object->path, VDSO_NAME))
		record.flags |= WIRE_MODULE_VDSO;
	if (target->first_module && is_ours(object))
		record.flags |= WIRE_MODULE_SELF;
	memcpy(record.build_id, object->build_id, sizeof(record.build_id));
	if (!pipe_writer_put(shared->pipe_writer, RECORD_MODULE, &record,
		    offsetof(struct record_module, path), object->path, strlen(object->path) + 1))
		*byte |= bit;
}

int target_find(struct target *target, struct target_shared *shared, uintptr_t pc,
	struct unwind_module *out, const struct object **object)
{
	size_t at = ARRAY_UPTO(target->ranges, target->range_count, end, pc);
	struct target_range *range = &target->ranges[at];

	if (at == target->range_count || pc < range->start ||
		target->first_module + range->object->number > WIRE_MODULE_MAX)
		return -ENOENT;
	announce_module(target, shared, range);
	*out = (struct unwind_module){
		.start = range->start,
		.end = range->end,
		.bias = range->bias,
		.number = target->first_module + range->object->number,
		.row_bias = range->bias,
		.runtime = find_runtime(target, range),
	};
	if (range->object->header) {
		out->eh_frame_hdr = range->bias + range->object->header;
		out->cfi_start = range->bias + range->object->cfi_start;
		out->cfi_end = range->bias + range->object->cfi_end;
	}
	if (object)
		*object = range->object;
	return 0;
}

void target_end(
	struct target *target, struct target_shared *shared, bool has_ended, bool left_by_exec)
{
	uint64_t used_ns =
		target->cpu_ns > target->start_cpu_ns ? target->cpu_ns - target->start_cpu_ns : 0;
	struct record_image_end record = {
		.image = target->image,
		.start_cpu_ns = target->start_cpu_ns,
		.cpu_ns = target->cpu_ns,
		.threads_ns = used_ns,
		.end_is_reported = has_ended,
		.has_ended = has_ended,
		.left_by_exec = left_by_exec,
		.still_runs = !has_ended && procfs_is_running((uint32_t)target->pid),
	};

	pipe_writer_put(shared->pipe_writer, RECORD_IMAGE_END, &record, sizeof(record), NULL, 0);
}
