/* SPDX-License-Identifier: MIT */
/*
 * Keep a table of all processes that were seen, by pid, whether they belong to the run or not. New
 * processes are found in the arena's slots and in /proc. Reading /proc takes 2 us per process, and
 * no cheaper way works on all kernels. So /proc is read only if the newest pid has changed, at most
 * every 50 ms, and for at most 1/200 of a CPU.
 *
 * The library may appear in a process that is already traced. So the tracer checks the slots before
 * it counts a sample, while the thread is stopped. CPU time before the slot's start_cpu_ns is
 * recorded by the tracer, later CPU time by the library. The tracer waits for the next stop of the
 * thread to detach it, because stopping a sleeping thread would interrupt its system call.
 *
 * A vfork child is recognized at once: kcmp(2) says that it shares its parent's memory, so no
 * library will appear in it. The tracer attaches to it after 10 ms of CPU time. The first stack
 * gets the weight of all this time, because the child has had only one task until then.
 *
 * An uninjected program (one without the library) is not followed: a program that it execs may have
 * the library, and its children are found as processes of their own. The slot of a process in
 * another PID namespace has the inner pid. Such a process has the library if the arena is mapped in
 * its memory and a slot has its inner pid. If a process ended after less than 10 ms of CPU time,
 * the library may have been in it between two checks, so nothing is recorded for this process.
 */
#include "cli/outside/uninjected.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/gather/maps.h"
#include "cli/outside/attach.h"
#include "cli/outside/tracer.h"
#include "cli/profile/picture_names.h"
#include "libprof/preload/elf_program.h"
#include "libprof/procfs.h"
#include "render/array.h"

#define NS_PER_MS 1000000ULL

/*
 * The library is initialized within some ms of CPU time. If it has not appeared in a process after
 * this CPU time, it will not be loaded.
 */
#define YOUTH_NS (50 * NS_PER_MS)
/* After this elapsed time, even a process that mostly sleeps has loaded its libraries. */
#define PATIENCE_NS (1000 * NS_PER_MS)
/* If a process used less CPU time than this, the library may have been in it between two checks. */
#define REPORTED_NS (10 * NS_PER_MS)
/* Time between two checks of all processes. */
#define CHECK_NS    (50 * NS_PER_MS)
/*
 * Time between two checks while there are processes that may still get the library (STATE_YOUNG).
 * If such a process ends, its CPU time since the last check is lost.
 */
#define CHECK_NS_MIN (10 * NS_PER_MS)
/* Use CHECK_NS_MIN until this time has passed since a STATE_YOUNG process was seen. */
#define BUSY_NS	    (1000 * NS_PER_MS)

/* Interval of reading the list of processes if the kernel does not report the newest pid. */
#define LIST_NS (500 * NS_PER_MS)

/* Reading /proc may use 1/SCAN_SHARE of a CPU. Up to SCAN_SAVED_NS of unused time is saved. */
#define SCAN_SHARE    200
#define SCAN_SAVED_NS (25 * (int64_t)NS_PER_MS)

/* Only sanitizers need a larger address space: their shadow is an eighth of all addresses. */
#define SANITIZED_KIB (12L << 30)

/* Start of the arena's path in /proc/PID/maps. channel.c gives the arena this name. */
#define ARENA_PATH    "/memfd:flamerun"
#define ANCESTORS_MAX 64

#define BUCKETS	    1024u
#define REASONS	    8
#define COMM_OR_EXE 64

enum state {
	STATE_UNRELATED,      /* not a descendant of flamerun */
	STATE_YOUNG,	      /* may still get the library */
	STATE_INJECTED,	      /* a slot has its pid */
	STATE_INJECTED_INNER, /* a slot has its inner pid */
	STATE_TRACED,
	STATE_REFUSED, /* must not be traced */
	/* The process is a zombie, and its CPU time was recorded. */
	STATE_ENDED
};

struct uninjected_process {
	struct uninjected_process *next; /* in the bucket */
	pid_t pid, ppid;
	enum state state;
	bool is_vforked; /* shares parent's memory */
	/* Start time. Distinguishes the process from another one with the same pid. */
	uint64_t start_ticks;
	uint32_t scan;	/* last scan of /proc that listed it */
	uint32_t round; /* last round in which it had a slot */
	uint32_t slot;	/* slot's index */
	/* The slot's image is about to exec, or has done so. */
	bool is_leaving;
	bool is_inner;	 /* in another PID namespace */
	/* The following fields describe the program that the process runs now. */
	/* CLOCK_MONOTONIC ns at which the program was first seen. */
	uint64_t since_ns;
	uint64_t begin_cpu_ns; /* CPU time at `since_ns` */
	uint64_t cpu_ns;       /* CPU time at last check */
	/*
	 * wire_arena.claims of the pid when the program began; it changes with each claimed slot.
	 */
	uint8_t claims;
	char name[COMM_OR_EXE];
};

struct uninjected {
	struct wire_arena *arena;
	dev_t arena_device;
	ino_t arena_inode;
	pid_t root, self;
	/* Start time of the tracer. Processes that are older do not belong to this run. */
	uint64_t start_ticks;
	struct uninjected_process *bucket[BUCKETS];
	uint32_t scan, round;
	uint64_t now_ns; /* begin of the round */
	/* CLOCK_MONOTONIC ns at which a process was last seen that must be checked again soon. */
	uint64_t busy_ns;
	/* The kernel's newest pid when the list of processes was last checked. */
	long newest_pid;
	uint64_t listed_ns; /* last read of /proc */
	/* CPU time in ns that reading /proc may use now. */
	int64_t saved_ns;
	uint64_t saved_at_ns; /* last growth of saved_ns */
	/* CPU time in ns without samples, not recorded yet; less than a period. */
	uint64_t due_ns;
	struct {
		int error;
		uint64_t programs;
		char text[DIAG_TEXT_BYTES];
	} reasons[REASONS];
};

struct uninjected *uninjected_new(struct wire_arena *arena, int arena_descriptor)
{
	struct uninjected *s = calloc(1, sizeof(*s));
	struct procfs_birth birth = {0};
	struct stat status;

	if (!s || fstat(arena_descriptor, &status) || procfs_birth(getpid(), &birth)) {
		free(s);
		return NULL;
	}
	s->arena = arena;
	s->arena_device = status.st_dev;
	s->arena_inode = status.st_ino;
	s->self = getpid();
	s->root = getppid();
	s->start_ticks = birth.start_ticks;
	s->saved_ns = SCAN_SAVED_NS;
	return s;
}

void uninjected_free(struct uninjected *s)
{
	for (unsigned i = 0; s && i < BUCKETS; i++)
		while (s->bucket[i]) {
			struct uninjected_process *next = s->bucket[i]->next;

			free(s->bucket[i]);
			s->bucket[i] = next;
		}
	free(s);
}

static struct uninjected_process *find_process(const struct uninjected *s, pid_t pid)
{
	struct uninjected_process *process = s->bucket[(unsigned)pid % BUCKETS];

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

static uint8_t claims_of(const struct uninjected *s, pid_t pid)
{
	return __atomic_load_n(&s->arena->claims[pid % WIRE_CLAIMS], __ATOMIC_ACQUIRE);
}

/* Has the library claimed a slot of the arena for this pid since @process's program began? */
static bool has_claimed(const struct uninjected *s, const struct uninjected_process *process)
{
	return claims_of(s, process->pid) != process->claims;
}

/* Add a process. Returns NULL without memory: the next round finds the process again. */
static struct uninjected_process *add_process(
	struct uninjected *s, pid_t pid, enum state state, uint64_t start_ticks)
{
	struct uninjected_process **bucket = &s->bucket[(unsigned)pid % BUCKETS];
	struct uninjected_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	*process = (struct uninjected_process){.next = *bucket,
		.pid = pid,
		.state = state,
		.start_ticks = start_ticks,
		.scan = s->scan,
		.since_ns = s->now_ns,
		.claims = claims_of(s, pid)};
	*bucket = process;
	return process;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Write to @name the name of the file that @pid runs, or its comm if the file cannot be read. */
static void read_name(pid_t pid, char name[COMM_OR_EXE])
{
	char exe[PATH_MAX], comm[WIRE_COMM_BYTES];

	if (!procfs_link(pid, "exe", exe)) {
		snprintf(name, COMM_OR_EXE, "%.*s", COMM_OR_EXE - 1, base_name(exe));
		return;
	}
	procfs_comm(pid, pid, comm);
	if (comm[0])
		strcpy(name, comm);
}

/*
 * Record the CPU time of @process up to @end_cpu_ns as [unsampled], because it has no samples.
 * Remainders below one sample are added up over all processes.
 */
static void report_unsampled(struct tracer *tracer, const struct uninjected_process *process,
	uint64_t end_cpu_ns, bool goes_on)
{
	struct uninjected *s = tracer->uninjected;
	struct pipe_writer *pipe_writer = tracer->shared.pipe_writer;
	uint64_t begin_ns = process->begin_cpu_ns;
	uint64_t used_ns = end_cpu_ns > begin_ns ? end_cpu_ns - begin_ns : 0;
	struct record_image image = {.id = tracer->shared.images + 1,
		.pid = (uint32_t)process->pid,
		.ppid = (uint32_t)process->ppid,
		.start_ns = process->since_ns};
	struct record_sample credit = {.image = image.id,
		.time_ns = clock_now_ns(),
		.kind = WIRE_KIND_CREDIT,
		.weight = (uint32_t)((s->due_ns + used_ns) / tracer->period_ns)};
	struct record_image_end end = {.image = image.id,
		.start_cpu_ns = process->begin_cpu_ns,
		.cpu_ns = end_cpu_ns,
		.has_ended = 1,
		.unsampled = process->state == STATE_REFUSED ? RECORD_REFUSED : RECORD_SHORT,
		.left_by_exec = goes_on,
		.still_runs = !goes_on && procfs_is_running((uint32_t)process->pid)};

	s->due_ns = (s->due_ns + used_ns) % tracer->period_ns;
	if (!credit.weight)
		return;
	tracer->shared.images++;
	memcpy(image.exe, process->name, sizeof(process->name));
	pipe_writer_put(pipe_writer, RECORD_IMAGE, &image, sizeof(image), NULL, 0);
	if (pipe_writer_put(pipe_writer, RECORD_SAMPLE, &credit, sizeof(credit), NULL, 0))
		tracer->totals.counts.dropped += credit.weight;
	pipe_writer_put(pipe_writer, RECORD_IMAGE_END, &end, sizeof(end), NULL, 0);
}

/* Record the unsampled CPU time of @process when the process or the run ends. */
static void report_end(
	struct tracer *tracer, const struct uninjected_process *process, uint64_t end_cpu_ns)
{
	/* Set if the library was certainly not in the process. It would report the time itself. */
	bool is_certain = !process->is_inner && end_cpu_ns >= process->begin_cpu_ns + REPORTED_NS &&
			  !has_claimed(tracer->uninjected, process);

	if (process->state == STATE_REFUSED || (process->state == STATE_YOUNG && is_certain))
		report_unsampled(tracer, process, end_cpu_ns, false);
}

static void count_reason(struct uninjected *s, int error, const char *text)
{
	int i = 0;

	while (i < REASONS - 1 && s->reasons[i].programs && s->reasons[i].error != error)
		i++;
	s->reasons[i].error = error;
	if (!s->reasons[i].programs++)
		snprintf(s->reasons[i].text, sizeof(s->reasons[i].text), "%s", text);
}

/* ---- processes that have the library --------------------------------------------------------- */

static bool is_image(uint64_t state)
{
	return (state & 0xff) >= WIRE_SLOT_CLAIMED && (state & 0xff) <= WIRE_SLOT_EXIT;
}

/*
 * Find the slot of @pid, or of the process that has pid @inner in another PID namespace. Returns
 * NULL if there is none. If two namespaces have the same inner pid, a process without the library
 * may be mistaken for one with a slot, and is then not traced. Skip a slot of another namespace
 * whose image has called exec: the slot is not updated any more, and the new image has a slot of
 * its own or no library.
 */
static const struct wire_slot *slot_of(const struct uninjected *s, pid_t pid, pid_t inner)
{
	for (uint32_t i = 0; i < wire_slots_high(s->arena); i++) {
		const struct wire_slot *slot = wire_slot(s->arena, i);
		uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

		if (slot->namespaced && (state & 0xff) == WIRE_SLOT_EXEC)
			continue;
		if (is_image(state) && (pid_t)(state >> 8) == (slot->namespaced ? inner : pid))
			return slot;
	}
	return NULL;
}

/* Returns the pid that process @pid has in its own PID namespace; 0 if it is the same number. */
static pid_t inner_pid(pid_t pid)
{
	pid_t inner = procfs_inner_pid(pid);

	return inner != pid ? inner : 0;
}

bool uninjected_has_library(struct tracer *tracer, struct target *target)
{
	const struct uninjected *s = tracer->uninjected;
	const struct wire_slot *slot;
	uint64_t images, cpu_ns;

	if (!s || target->is_waiting)
		return target->is_waiting;
	/*
	 * The library first claims a slot, then increments next_image, then reads the CPU time from
	 * which it counts. So if next_image has not changed, the library has not begun to count.
	 */
	images = __atomic_load_n(&s->arena->next_image, __ATOMIC_ACQUIRE);
	if (images == target->arena_images)
		return false;
	target->arena_images = images;
	slot = slot_of(s, target->pid, inner_pid(target->pid));
	if (!slot)
		return false;
	cpu_ns = (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff) == WIRE_SLOT_CLAIMED
			 ? 0
			 : slot->start_cpu_ns;
	target->cpu_ns = procfs_cpu_ns((uint32_t)target->pid);
	if (cpu_ns > target->start_cpu_ns && cpu_ns < target->cpu_ns)
		target->cpu_ns = cpu_ns;
	attach_end_target(tracer, target);
	target->is_waiting = true;
	return true;
}

/* Is the image of @slot older than that of the slot found before for @process in this round? */
static bool is_earlier(const struct uninjected *s, const struct uninjected_process *process,
	const struct wire_slot *slot, bool is_leaving)
{
	return process->round == s->round && is_leaving &&
	       (!process->is_leaving ||
		       slot->end_cpu_ns <= wire_slot(s->arena, process->slot)->end_cpu_ns);
}

/* Find each process's newest slot. Slots that were left by exec stay for a while. */
static void match_slots(struct uninjected *s)
{
	for (uint32_t i = 0; i < wire_slots_high(s->arena); i++) {
		const struct wire_slot *slot = wire_slot(s->arena, i);
		uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
		bool is_leaving = (state & 0xff) == WIRE_SLOT_EXEC;
		struct uninjected_process *process;

		if (!is_image(state) || slot->namespaced)
			continue;
		process = find_process(s, (pid_t)(state >> 8));
		if (!process)
			process = add_process(s, (pid_t)(state >> 8), STATE_INJECTED, 0);
		/* Keep only the slot of the process's newest image. */
		if (!process || is_earlier(s, process, slot, is_leaving))
			continue;
		process->round = s->round;
		process->slot = i;
		process->is_leaving = is_leaving;
	}
}

/* ---- processes in /proc ---------------------------------------------------------------------- */

struct new_process {
	pid_t pid;
	struct procfs_birth birth;
};

/* List the processes in /proc that are not in the table. Returns an owned list, or NULL. */
static struct new_process *list_new(struct uninjected *s, size_t *count)
{
	struct new_process *list = NULL;
	size_t room = 0;
	const struct dirent *entry;
	DIR *folder = opendir("/proc");

	*count = 0;
	while (folder && (entry = readdir(folder))) {
		long pid = strtol(entry->d_name, NULL, 10);
		struct uninjected_process *known =
			pid > 0 && pid <= INT_MAX ? find_process(s, (pid_t)pid) : NULL;

		if (known)
			known->scan = s->scan;
		if (known || pid <= 0 || pid > INT_MAX)
			continue;
		if (ARRAY_GROW(list, *count, room, 64))
			break;
		list[*count].pid = (pid_t)pid;
		*count += !procfs_birth((pid_t)pid, &list[*count].birth);
	}
	if (folder)
		closedir(folder);
	return list;
}

static bool is_descendant(const struct uninjected *s, const struct new_process *new_process)
{
	const struct uninjected_process *parent = find_process(s, new_process->birth.ppid);

	if (new_process->pid == s->self || new_process->birth.start_ticks < s->start_ticks)
		return false;
	return new_process->birth.ppid == s->root || (parent && parent->state != STATE_UNRELATED);
}

static void add_descendant(struct uninjected *s, const struct new_process *new_process)
{
	/* Do not record a zombie's CPU time: the library may have been in it and recorded it. */
	enum state state = new_process->birth.state == 'Z' ? STATE_ENDED : STATE_YOUNG;
	struct uninjected_process *process =
		add_process(s, new_process->pid, state, new_process->birth.start_ticks);

	if (process)
		process->is_inner = inner_pid(new_process->pid) != 0;
}

/*
 * Add the processes of @list to the table. Repeat until no process is added, because a child may be
 * listed before its parent if pids have wrapped around.
 */
static void add_new(struct uninjected *s, struct new_process *list, size_t count)
{
	bool is_any = true;

	while (is_any) {
		is_any = false;
		for (size_t i = 0; i < count; i++) {
			if (!list[i].pid || !is_descendant(s, &list[i]))
				continue;
			add_descendant(s, &list[i]);
			list[i].pid = 0;
			is_any = true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].pid)
			add_process(s, list[i].pid, STATE_UNRELATED, list[i].birth.start_ticks);
}

static bool is_over(struct uninjected *s, struct uninjected_process *process)
{
	struct procfs_birth birth;

	if (process->scan != s->scan)
		return true;
	/* If the start time differs, another process has the pid now. */
	return process->state == STATE_ENDED && !procfs_birth(process->pid, &birth) &&
	       birth.start_ticks != process->start_ticks;
}

static void remove_gone(struct tracer *tracer)
{
	struct uninjected *s = tracer->uninjected;

	for (unsigned i = 0; i < BUCKETS; i++) {
		struct uninjected_process **at = &s->bucket[i];

		while (*at) {
			struct uninjected_process *process = *at;

			if (!is_over(s, process)) {
				at = &process->next;
				continue;
			}
			report_end(tracer, process, process->cpu_ns);
			*at = process->next;
			free(process);
		}
	}
}

/* Is the list still complete, because no process has begun since /proc was last read? */
static bool is_list_current(struct uninjected *s)
{
	long newest = procfs_newest_pid();
	bool is_same = newest > 0 && newest == s->newest_pid && s->now_ns - s->listed_ns < LIST_NS;

	s->newest_pid = newest;
	return is_same;
}

/* Read the list of processes in /proc, if the budget of CPU time allows it. */
static void scan_processes(struct tracer *tracer)
{
	struct uninjected *s = tracer->uninjected;
	uint64_t before_ns = clock_cpu_ns();
	struct new_process *list;
	size_t count;

	if (s->saved_at_ns)
		s->saved_ns += (int64_t)((s->now_ns - s->saved_at_ns) / SCAN_SHARE);
	s->saved_at_ns = s->now_ns;
	if (s->saved_ns > SCAN_SAVED_NS)
		s->saved_ns = SCAN_SAVED_NS;
	if (s->saved_ns <= 0 || (s->listed_ns && s->now_ns - s->listed_ns < CHECK_NS) ||
		is_list_current(s))
		return;
	s->listed_ns = s->now_ns;
	s->scan++;
	list = list_new(s, &count);
	add_new(s, list, count);
	free(list);
	remove_gone(tracer);
	s->saved_ns -= (int64_t)(clock_cpu_ns() - before_ns);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void begin_program(
	const struct uninjected *s, struct uninjected_process *process, uint64_t cpu_ns)
{
	process->state = STATE_YOUNG;
	process->since_ns = s->now_ns;
	process->begin_cpu_ns = process->cpu_ns = cpu_ns;
	process->claims = claims_of(s, process->pid);
	process->name[0] = '\0';
}

enum arena { ARENA_OURS = 1, ARENA_OTHER = 2 };

/* Which arenas are mapped in @pid? Returns bits of enum arena, or -errno if it is unreadable. */
static int find_arena(const struct uninjected *s, pid_t pid)
{
	struct maps maps = {0};
	int error = maps_read(&maps, pid);
	int found = 0;

	for (unsigned i = 0; i < maps.count; i++) {
		const struct mapping *mapping = &maps.list[i];

		if (mapping->inode == s->arena_inode &&
			makedev(mapping->major, mapping->minor) == s->arena_device)
			found |= ARENA_OURS;
		else if (!strncmp(mapping->path, ARENA_PATH, strlen(ARENA_PATH)))
			found |= ARENA_OTHER;
	}
	maps_release(&maps);
	return error < 0 ? error : found;
}

/* Refuse sanitized programs: LeakSanitizer traces its own process and fails if that is traced. */
static int check_sanitizer(pid_t pid, struct diag_message *message)
{
	if (procfs_number(pid, "VmSize") < SANITIZED_KIB)
		return 0;
	return diag_fail(message, -ENOTSUP,
		"a program built with a sanitizer may fail under a tracer");
}

/* Does another flamerun already sample @pid or one of its ancestors? */
static bool is_of_another(const struct uninjected *s, pid_t pid)
{
	struct procfs_birth birth;

	for (int i = 0; i < ANCESTORS_MAX && pid != s->root && pid > 1; i++) {
		int arena = find_arena(s, pid);

		if (arena > 0 && arena & ARENA_OTHER)
			return true;
		if (procfs_birth(pid, &birth))
			break;
		pid = birth.ppid;
	}
	return false;
}

static void try_to_trace(struct tracer *tracer, struct uninjected_process *process)
{
	struct uninjected *s = tracer->uninjected;
	struct diag_message message = {0};
	int error = is_of_another(s, process->pid)
			    ? diag_fail(&message, -EEXIST, "another flamerun samples it")
			    : check_sanitizer(process->pid, &message);

	if (!error)
		error = attach_process(tracer, process->pid,
			process->is_vforked ? ATTACH_BIRTH : ATTACH_NOW, process->begin_cpu_ns,
			&message);
	if (error == -ESRCH)
		/* The process has ended. Its CPU time was read at the last check. */
		return;
	process->state = error ? STATE_REFUSED : STATE_TRACED;
	if (error)
		count_reason(s, error, message.text);
}

/* Decide whether @process, which has used enough CPU time, has the library. If not, trace it. */
static void classify_process(struct tracer *tracer, struct uninjected_process *process)
{
	struct uninjected *s = tracer->uninjected;
	pid_t pid = process->pid;
	bool is_leaving = process->round == s->round && process->is_leaving;
	int arena = find_arena(s, pid);
	bool has_ours = arena > 0 && arena & ARENA_OURS;

	/* Search for a slot again: it may have been claimed since this round read the slots. */
	if (!is_leaving && slot_of(s, pid, 0)) {
		process->state = STATE_INJECTED;
		return;
	}
	if (is_leaving && has_ours)
		return; /* exec not finished */
	if (process->is_inner && has_ours && slot_of(s, 0, inner_pid(pid))) {
		process->state = STATE_INJECTED_INNER;
		return;
	}
	if (is_leaving && arena >= 0) {
		uint64_t state = (uint64_t)pid << 8 | WIRE_SLOT_EXEC;

		/*
		 * The arena is not mapped any more, so the exec has succeeded and the old image is
		 * gone. Let the collector free its slot.
		 */
		__atomic_compare_exchange_n(&wire_slot(s->arena, process->slot)->state, &state,
			(uint64_t)pid << 8 | WIRE_SLOT_GONE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
	try_to_trace(tracer, process);
}

/* Is @process a vfork child? No library can appear in it. False if the kernel does not say. */
static bool is_vforked(const struct uninjected_process *process)
{
	return !process->begin_cpu_ns && attach_shares_memory(process->pid, process->ppid);
}

/* Is @pid's program unable to load the library: static, or not built for glibc? */
static bool takes_no_library(pid_t pid)
{
	struct elf_program program = {.kind = ELF_PROGRAM_DYNAMIC};
	char path[PROCFS_PATH_BYTES];
	int file;

	procfs_path(path, pid, 0, "exe");
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	elf_program_read(file, &program);
	close(file);
	return program.kind == ELF_PROGRAM_STATIC || program.kind == ELF_PROGRAM_OTHER_LIBC ||
	       program.kind == ELF_PROGRAM_NO_LIBC;
}

static void check_young(struct tracer *tracer, struct uninjected_process *process)
{
	uint64_t cpu_ns = procfs_cpu_ns((uint32_t)process->pid);
	struct procfs_birth birth;
	uint64_t used_ns;

	if (cpu_ns <= process->cpu_ns || procfs_birth(process->pid, &birth))
		return; /* idle or ended */
	if (process->start_ticks && birth.start_ticks != process->start_ticks)
		process->state = STATE_ENDED;
	process->start_ticks = birth.start_ticks;
	process->ppid = birth.ppid;
	/*
	 * If the process ended since the last check, do not count its time since then: the library
	 * may have been in it.
	 */
	if (process->state == STATE_ENDED || birth.state == 'Z')
		return;
	process->cpu_ns = cpu_ns;
	used_ns = cpu_ns > process->begin_cpu_ns ? cpu_ns - process->begin_cpu_ns : 0;
	read_name(process->pid, process->name);
	process->is_vforked = used_ns >= REPORTED_NS && is_vforked(process);
	if (!process->is_vforked && used_ns < YOUTH_NS &&
		tracer->uninjected->now_ns - process->since_ns < PATIENCE_NS &&
		(used_ns < REPORTED_NS || !takes_no_library(process->pid)))
		tracer->uninjected->busy_ns = tracer->uninjected->now_ns;
	else
		classify_process(tracer, process);
}

/* If the untraced @process has exec'd since the last check, it is a new program (STATE_YOUNG). */
static void check_untraced(struct tracer *tracer, struct uninjected_process *process)
{
	uint64_t cpu_ns = procfs_cpu_ns((uint32_t)process->pid);
	char name[COMM_OR_EXE] = "";

	if (cpu_ns <= process->cpu_ns)
		return;
	read_name(process->pid, name);
	/*
	 * No slot has the inner pid any more, so the library has stopped sampling: begin to check
	 * the process again.
	 */
	if (process->state == STATE_INJECTED_INNER &&
		!slot_of(tracer->uninjected, 0, inner_pid(process->pid))) {
		begin_program(tracer->uninjected, process, process->cpu_ns);
		return;
	}
	if (name[0] && strcmp(name, process->name)) {
		if (process->state == STATE_REFUSED)
			report_unsampled(tracer, process, process->cpu_ns, true);
		begin_program(tracer->uninjected, process, process->cpu_ns);
	}
	process->cpu_ns = cpu_ns;
	if (process->state == STATE_REFUSED)
		tracer->uninjected->busy_ns = tracer->uninjected->now_ns;
}

/*
 * Handle a process with a slot: the library is in it, or was in the image that it leaves by exec.
 */
static void check_injected(struct tracer *tracer, struct uninjected_process *process)
{
	struct uninjected *s = tracer->uninjected;
	const struct wire_slot *slot = wire_slot(s->arena, process->slot);

	if (!process->is_leaving) {
		/*
		 * Record the earlier CPU time of a refused program. Otherwise, the image in the
		 * slot accounts for earlier CPU time.
		 */
		if (process->state == STATE_REFUSED)
			report_unsampled(tracer, process, process->cpu_ns, true);
		process->state = STATE_INJECTED;
	} else if (process->state == STATE_INJECTED || process->state == STATE_UNRELATED ||
		   (process->state == STATE_YOUNG && has_claimed(s, process))) {
		begin_program(s, process, slot->end_cpu_ns);
	}
}

uint64_t uninjected_scan(struct tracer *tracer, uint64_t now_ns)
{
	struct uninjected *s = tracer->uninjected;

	s->round++;
	s->now_ns = now_ns;
	match_slots(s);
	scan_processes(tracer);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct uninjected_process *each = s->bucket[i]; each; each = each->next) {
			if (each->round == s->round)
				check_injected(tracer, each);
			else if (each->state == STATE_INJECTED)
				begin_program(s, each, procfs_cpu_ns((uint32_t)each->pid));
			if (each->state == STATE_YOUNG)
				check_young(tracer, each);
			else if (each->state == STATE_REFUSED ||
				 each->state == STATE_INJECTED_INNER)
				check_untraced(tracer, each);
		}
	return now_ns + (now_ns - s->busy_ns < BUSY_NS ? CHECK_NS_MIN : CHECK_NS);
}

void uninjected_exec(struct uninjected *s, pid_t pid, uint64_t cpu_ns)
{
	struct uninjected_process *process = find_process(s, pid);

	if (process)
		begin_program(s, process, cpu_ns);
}

void uninjected_ended(struct uninjected *s, pid_t pid)
{
	struct uninjected_process *process = find_process(s, pid);

	if (process && process->state == STATE_TRACED)
		process->state = STATE_ENDED;
}

void uninjected_finish(struct tracer *tracer)
{
	struct uninjected *s = tracer->uninjected;

	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct uninjected_process *each = s->bucket[i]; each; each = each->next) {
			uint64_t cpu_ns = procfs_cpu_ns((uint32_t)each->pid);

			report_end(tracer, each, cpu_ns > each->cpu_ns ? cpu_ns : each->cpu_ns);
		}
	for (int i = 0; i < REASONS; i++)
		if (s->reasons[i].programs)
			pipe_writer_put_refusal(tracer->shared.pipe_writer, s->reasons[i].programs,
				false, s->reasons[i].text);
}
