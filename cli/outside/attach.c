/* SPDX-License-Identifier: MIT */
/*
 * PTRACE_SEIZE: it stops nobody and changes nothing about how signals and stops look to others.
 * PTRACE_O_EXITKILL is not set: when we end, they live.
 *
 * Where the kernel refuses, /proc is asked which of the rules it was; the answer to EPERM alone
 * names none.
 */
#include "cli/outside/attach.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/diag.h"
#include "cli/gather/procfs.h"
#include "cli/outside/sample.h"
#include "cli/outside/waits.h"

/* ---- who may not be attached to -------------------------------------------------------------- */

#define YAMA_FILE "/proc/sys/kernel/yama/ptrace_scope"

/* Who it is, for people: "1234 (redis-server)". */
static void describe_process(pid_t pid, char *out, size_t bytes)
{
	char comm[WIRE_COMM_BYTES];

	procfs_comm(pid, pid, comm);
	snprintf(out, bytes, comm[0] ? "%d (%s)" : "%d", (int)pid, comm);
}

static int fail_no_such(pid_t pid, struct diag_message *message)
{
	diag_fail(message, -ESRCH, "there is no process %d", (int)pid);
	diag_fail_hint(message,
		"pgrep -l NAME finds processes by name; inside a container they have other numbers "
		"than outside");
	return -ESRCH;
}

static int check_word_size(pid_t pid, const char *who, struct diag_message *message)
{
	unsigned char ident[EI_NIDENT] = {0};
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* who may not look may not trace; attaching tells better */
	got = read(fd, ident, sizeof(ident));
	close(fd);
	if (got != (ssize_t)sizeof(ident) || ident[EI_CLASS] != ELFCLASS32)
		return 0;
	diag_fail(message, -ENOTSUP, "process %s is a 32-bit program, this flamerun is not", who);
	diag_fail_hint(message, "perf record -p %d samples any program", (int)pid);
	return -ENOTSUP;
}

static int check_tracer(pid_t pid, const char *who, struct diag_message *message)
{
	long tracer = procfs_number(pid, "TracerPid");
	char by[64];

	if (tracer <= 0)
		return 0;
	describe_process((pid_t)tracer, by, sizeof(by));
	diag_fail(message, -EBUSY, "process %s is traced already, by process %s", who, by);
	diag_fail_hint(message, "a process has one tracer at most: let that one end first");
	return -EBUSY;
}

/* Kernel threads have no memory of their own, and neither has what is ending. */
static int check_memory(pid_t pid, const char *who, struct diag_message *message)
{
	char exe[PATH_MAX];

	if (procfs_number(pid, "VmSize") >= 0)
		return 0;
	if (procfs_link(pid, "exe", exe) != -ENOENT)
		return 0;
	diag_fail(message, -ESRCH, "process %s is a thread of the kernel", who);
	diag_fail_hint(message, "perf record -g -a samples the kernel");
	return -ESRCH;
}

int refusal_predict(pid_t pid, struct diag_message *message)
{
	long group = procfs_number(pid, "Tgid");
	char who[64];
	int error;

	if (group <= 0)
		return kill(pid, 0) && errno == EPERM ? 0 : fail_no_such(pid, message);
	describe_process(pid, who, sizeof(who));
	if (group != pid) {
		diag_fail(message, -ESRCH, "%s is a thread of process %ld", who, group);
		diag_fail_hint(message, "-p %ld samples all its threads", group);
		return -ESRCH;
	}
	if (pid == getpid() || pid == getppid())
		return diag_fail(message, -EINVAL, "flamerun cannot sample itself");
	if (procfs_state(pid, pid, NULL) == 'Z' && procfs_number(pid, "Threads") <= 1) {
		diag_fail(message, -ESRCH, "process %s has ended", who);
		diag_fail_hint(message,
			"it is a zombie: its parent, process %ld, has not asked for its status yet",
			procfs_number(pid, "PPid"));
		return -ESRCH;
	}
	error = check_tracer(pid, who, message);
	if (!error)
		error = check_memory(pid, who, message);
	if (!error)
		error = check_word_size(pid, who, message);
	return error;
}

/* Yama's scope, 0 where there is no Yama. */
static int yama_scope(void)
{
	char text[16] = "";
	int fd = open(YAMA_FILE, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return atoi(text);
}

/* Are we in a user namespace that has not all users of the machine as they are? */
static bool is_confined(void)
{
	unsigned long inside = 1, outside = 1, count = 0;
	FILE *map = fopen("/proc/self/uid_map", "re");

	if (!map)
		return false;
	if (fscanf(map, "%lu %lu %lu", &inside, &outside, &count) != 3)
		count = 0;
	fclose(map);
	return inside != 0 || outside != 0 || count < UINT32_MAX;
}

/* Who may not trace it may not see its namespaces; from a smaller one it is a larger one, then. */
static bool shares_user_namespace(pid_t pid)
{
	char theirs[PATH_MAX], ours[PATH_MAX];

	if (procfs_link(pid, "ns/user", theirs))
		return !is_confined();
	return procfs_link(getpid(), "ns/user", ours) || !strcmp(theirs, ours);
}

static void name_user(uid_t uid, char *out, size_t bytes)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(out, bytes, "%s", user->pw_name);
	else
		snprintf(out, bytes, "uid %u", (unsigned)uid);
}

static void gather_facts(pid_t pid, struct refusal_facts *facts)
{
	uid_t uid = (uid_t)procfs_number(pid, "Uid");
	struct stat status;
	char path[64];

	*facts = (struct refusal_facts){.pid = pid,
		.is_root = geteuid() == 0,
		.is_ours = uid == geteuid(),
		.yama_scope = yama_scope(),
		.shares_user_namespace = shares_user_namespace(pid)};
	describe_process(pid, facts->who, sizeof(facts->who));
	name_user(uid, facts->user, sizeof(facts->user));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	facts->is_private = !stat(path, &status) && status.st_uid != uid;
}

static int explain_yama(const struct refusal_facts *facts, struct diag_message *message)
{
	static const char *const who_may[] = {
		"only its ancestors may", "only root may", "nobody may"};
	int scope = facts->yama_scope;

	diag_fail(message, -EPERM, "cannot trace process %s: kernel.yama.ptrace_scope is %d, %s",
		facts->who, scope, who_may[scope > 3 ? 2 : scope - 1]);
	if (scope == 1)
		diag_fail_hint(message,
			"sudo flamerun -p ...; or for everybody, until the next boot: "
			"sudo sysctl kernel.yama.ptrace_scope=0");
	else if (scope == 2)
		diag_fail_hint(message, "sudo flamerun -p ...");
	else
		diag_fail_hint(message, "that lasts until the next boot; without tracing: "
					"flamerun -- PROGRAM");
	return -EPERM;
}

int refusal_of_permission(const struct refusal_facts *facts, struct diag_message *message)
{
	if (!facts->is_root && !facts->is_ours) {
		diag_fail(message, -EPERM, "process %s belongs to %s", facts->who, facts->user);
		diag_fail_hint(message, "run flamerun as %s, or as root: sudo flamerun -p ...",
			facts->user);
		return -EPERM;
	}
	if (!facts->is_root && facts->is_private) {
		diag_fail(message, -EPERM,
			"process %s keeps its memory to itself: it changed its privileges, or "
			"asked for it",
			facts->who);
		diag_fail_hint(message, "root may trace it: sudo flamerun -p ...");
		return -EPERM;
	}
	/* Root of the machine is only kept off by the scope that nobody gets past. */
	if (facts->yama_scope > 0 && (!facts->is_root || facts->yama_scope > 2))
		return explain_yama(facts, message);
	if (!facts->shares_user_namespace) {
		diag_fail(message, -EPERM, "process %s is in another user namespace", facts->who);
		diag_fail_hint(message,
			"run flamerun as root of the machine, or inside of it: "
			"nsenter -U -t %d ...",
			(int)facts->pid);
		return -EPERM;
	}
	diag_fail(message, -EPERM, "the system does not let us trace process %s", facts->who);
	diag_fail_hint(message, "capabilities it has and we lack, a container without "
				"--cap-add=SYS_PTRACE, a security module?");
	return -EPERM;
}

int refusal_explain(pid_t pid, int error, struct diag_message *message)
{
	struct diag_message foreseen = {0};
	struct refusal_facts facts;

	/* It may have ended, or found a tracer, since it was looked at. */
	if (refusal_predict(pid, &foreseen)) {
		if (message)
			*message = foreseen;
		return error;
	}
	gather_facts(pid, &facts);
	if (error == -EPERM || error == -EACCES)
		return refusal_of_permission(&facts, message);
	if (error == -ENOSYS)
		return diag_fail(message, error, "cannot trace process %s: ptrace(2) is not there",
			facts.who);
	return diag_fail(
		message, error, "cannot trace process %s: %s", facts.who, strerror(-error));
}

#define THREADS_FIRST 256

static int seize(const struct tracer *tracer, pid_t tid)
{
	unsigned long options = PTRACE_O_TRACEEXEC;

	if (tracer->config.follow)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) ? -errno : 0;
}

/* An image of @target, which runs it since @begun_ns (0: for longer), is sampled from now on. */
static void begin_image(struct tracer *tracer, struct target *target, uint64_t parent,
	uint64_t start_cpu_ns, bool is_young)
{
	target_announce(target, &tracer->shared, parent, start_cpu_ns);
	target_remap(target, &tracer->shared);
	if (tracer->waits)
		waits_add(tracer->waits, target, is_young ? target->start_ns : 0, start_cpu_ns);
}

struct target *attach_find(const struct tracer *tracer, pid_t pid)
{
	struct target *target = tracer->targets;

	while (target && target->pid != pid)
		target = target->next;
	return target;
}

void attach_remove_target(struct tracer *tracer, struct target *target)
{
	struct target **at = &tracer->targets;

	while (*at != target)
		at = &(*at)->next;
	*at = target->next;
	target_free(target);
}

/* Attached: keep books on it. Those born later owe us all that they used. */
static struct tracee *add_tracee(
	struct tracer *tracer, struct target *target, pid_t tid, bool was_there)
{
	struct tracee *tracee = tracees_add(&tracer->tracees, tid, target);

	if (!tracee)
		return NULL;
	if (was_there)
		tracee->counted_ns = tracees_update(tracee);
	sample_begin(tracer, tracee);
	tracer->totals.threads++;
	return tracee;
}

/* The threads of @pid, their number in *@count; owned. NULL when it has gone or without memory. */
static pid_t *list_threads(pid_t pid, long *count)
{
	size_t room = THREADS_FIRST;

	for (;;) {
		pid_t *tids = malloc(room * sizeof(*tids));

		*count = tids ? procfs_threads(pid, tids, room) : -ENOMEM;
		if (tids && *count > 0 && (size_t)*count <= room)
			return tids;
		free(tids);
		if (*count <= 0)
			return NULL;
		room = (size_t)*count * 2;
	}
}

/* One look through the list. Returns how many were new; *@error of the first that refused. */
static long seize_listed(struct tracer *tracer, struct target *target, bool were_there, int *error)
{
	long count, added = 0;
	pid_t *tids = list_threads(target->pid, &count);

	for (long i = 0; tids && i < count; i++) {
		int failed;

		if (tracees_find(&tracer->tracees, tids[i]))
			continue;
		failed = seize(tracer, tids[i]);
		if (!failed && !add_tracee(tracer, target, tids[i], were_there))
			failed = -ENOMEM;
		/* One that has gone meanwhile, or is about to, is no failure. */
		if (failed && !*error && procfs_state(target->pid, tids[i], NULL) &&
			procfs_state(target->pid, tids[i], NULL) != 'Z')
			*error = failed;
		added += !failed;
	}
	free(tids);
	return added;
}

int attach_process(struct tracer *tracer, pid_t pid, enum attach_since since, uint64_t start_cpu_ns,
	struct diag_message *message)
{
	bool is_waiting = since == ATTACH_EXEC;
	struct target *target;
	int error = refusal_predict(pid, message);

	if (error)
		return error;
	target = target_new(pid);
	if (!target)
		return diag_fail(message, -ENOMEM, "out of memory");
	target->is_waiting = is_waiting;
	target->next = tracer->targets;
	tracer->targets = target;
	/* Threads make threads while we look: until a look finds none. */
	while (seize_listed(tracer, target, since != ATTACH_BIRTH, &error) > 0)
		;
	if (!target->threads) {
		attach_remove_target(tracer, target);
		return refusal_explain(pid, error ? error : -ESRCH, message);
	}
	if (!is_waiting) {
		begin_image(tracer, target, 0, start_cpu_ns, since == ATTACH_BIRTH);
	}
	return 0;
}

void attach_new_threads(struct tracer *tracer, struct target *target)
{
	int error = 0;

	seize_listed(tracer, target, false, &error);
}

static struct target *add_child_target(struct tracer *tracer, pid_t pid)
{
	const struct target *parent = attach_find(tracer, (pid_t)procfs_number(pid, "PPid"));
	struct target *target = target_new(pid);

	if (!target)
		return NULL;
	target->next = tracer->targets;
	tracer->targets = target;
	begin_image(tracer, target, parent ? parent->image : 0, 0, true);
	return target;
}

struct tracee *attach_born(struct tracer *tracer, pid_t tid)
{
	pid_t pid = (pid_t)procfs_number(tid, "Tgid");
	struct target *target = pid > 0 ? attach_find(tracer, pid) : NULL;
	struct tracee *tracee = NULL;

	if (!target && pid == tid && tracer->config.follow)
		target = add_child_target(tracer, pid);
	if (target)
		tracee = add_tracee(tracer, target, tid, false);
	if (!tracee)
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return tracee;
}

void attach_end_image(struct tracer *tracer, struct target *target, bool has_ended,
	bool left_by_exec)
{
	if (tracer->waits)
		waits_remove(tracer->waits, target, 0);
	target_end(target, &tracer->shared, has_ended, left_by_exec);
}

void attach_end_target(struct tracer *tracer, struct target *target)
{
	sample_credit_target(tracer, target);
	attach_end_image(tracer, target, true, true);
}

void attach_detach_thread(struct tracer *tracer, struct tracee *tracee, int signal)
{
	sample_cancel(tracer, tracee);
	ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)signal);
	tracees_remove(&tracer->tracees, tracee);
}

/* All threads of @target but @tid have ended, some of them without a word. */
static void remove_other_threads(struct tracer *tracer, const struct target *target, pid_t tid)
{
	struct tracee *tracee = tracees_next(&tracer->tracees, NULL);

	while (tracee) {
		struct tracee *next = tracees_next(&tracer->tracees, tracee);

		if (tracee->target == target && tracee->tid != tid) {
			sample_cancel(tracer, tracee);
			tracees_remove(&tracer->tracees, tracee);
		}
		tracee = next;
	}
}

void attach_exec(struct tracer *tracer, struct target *target, pid_t tid)
{
	remove_other_threads(tracer, target, tid);
	target->cpu_ns = procfs_cpu_ns((uint32_t)target->pid);
	if (!target->is_waiting)
		attach_end_target(tracer, target);
}

void attach_next_image(struct tracer *tracer, struct target *target, pid_t tid)
{
	struct tracee *tracee;

	target->is_waiting = false;
	maps_release(&target->maps);
	target->range_count = 0;
	begin_image(tracer, target, 0, target->cpu_ns, true);
	tracee = tracees_find(&tracer->tracees, tid);
	if (!tracee)
		tracee = add_tracee(tracer, target, tid, true);
	if (!tracee)
		return;
	tracee->counted_ns = tracees_update(tracee);
	tracee->is_announced = tracee->has_stack = false;
	sample_cancel(tracer, tracee);
	sample_begin(tracer, tracee);
}
