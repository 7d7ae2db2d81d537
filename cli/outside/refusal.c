/* SPDX-License-Identifier: MIT */
/* Find the rule that forbids tracing: EPERM does not name it. Texts: cli/explain.def. */
#include "cli/outside/refusal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/explain.h"
#include "libprof/procfs.h"

#define YAMA_FILE "/proc/sys/kernel/yama/ptrace_scope"

/* Write a text like "1234 (redis-server)" to @out. */
static void describe_process(pid_t pid, char *out, size_t bytes)
{
	char comm[WIRE_COMM_BYTES];

	procfs_comm(pid, pid, comm);
	snprintf(out, bytes, comm[0] ? "%d (%s)" : "%d", (int)pid, comm);
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
		/* Tracing is forbidden then as well, and attaching will report the reason. */
		return 0;
	got = read(fd, ident, sizeof(ident));
	close(fd);
	if (got != (ssize_t)sizeof(ident) || ident[EI_CLASS] != ELFCLASS32)
		return 0;
	return explain(message, -ENOTSUP, EXPLAIN_PROCESS_WORD_SIZE,
		FACTS(.name = who, .n = (uint64_t)pid));
}

/* Is @pid, which is no zombie, a kernel thread? Kernel threads have no exe and no memory. */
static bool is_kernel_thread(pid_t pid)
{
	char exe[PATH_MAX];

	return procfs_number(pid, "VmSize") < 0 && procfs_link(pid, "exe", exe) == -ENOENT;
}

/* Explain why @pid is not in /proc: no such process, or hidden (proc(5), "hidepid"). */
static int explain_absence(pid_t pid, struct diag_message *message)
{
	bool is_hidden = kill(pid, 0) && errno == EPERM;

	return explain(message, is_hidden ? -EPERM : -ESRCH,
		is_hidden ? EXPLAIN_HIDDEN : EXPLAIN_NO_SUCH_PROCESS, FACTS(.n = (uint64_t)pid));
}

int refusal_predict(pid_t pid, struct diag_message *message)
{
	long group = procfs_number(pid, "Tgid"), tracer;
	char who[64], by[64];

	if (group <= 0)
		return explain_absence(pid, message);
	describe_process(pid, who, sizeof(who));
	if (group != pid)
		return explain(
			message, -ESRCH, EXPLAIN_THREAD, FACTS(.name = who, .n = (uint64_t)group));
	if (pid == getpid() || pid == getppid())
		return explain(message, -EINVAL, EXPLAIN_FLAMERUN, FACTS(.name = who));
	if (procfs_state(pid, pid) == 'Z' && procfs_number(pid, "Threads") <= 1)
		return explain(message, -ESRCH, EXPLAIN_ZOMBIE,
			FACTS(.name = who, .n = (uint64_t)procfs_number(pid, "PPid")));
	tracer = procfs_number(pid, "TracerPid");
	if (tracer > 0) {
		describe_process((pid_t)tracer, by, sizeof(by));
		return explain(message, -EBUSY, EXPLAIN_TRACED, FACTS(.name = who, .other = by));
	}
	if (is_kernel_thread(pid))
		return explain(message, -ESRCH, EXPLAIN_KERNEL_THREAD, FACTS(.name = who));
	return check_word_size(pid, who, message);
}

/* Returns Yama's ptrace_scope; 0 if the kernel has no Yama. */
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

/* Is flamerun in a user namespace that does not map all user ids to themselves? */
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

/*
 * Is the process in flamerun's user namespace? If this cannot be read, the answer is yes unless
 * is_confined().
 */
static bool shares_user_namespace(pid_t pid)
{
	char theirs[PATH_MAX], ours[PATH_MAX];

	if (procfs_link(pid, "ns/user", theirs))
		return !is_confined();
	return procfs_link(getpid(), "ns/user", ours) || !strcmp(theirs, ours);
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
	explain_user(facts->user, sizeof(facts->user), uid);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	facts->is_private = !stat(path, &status) && status.st_uid != uid;
}

static enum explanation find_cause(const struct refusal_facts *facts)
{
	if (!facts->is_root && !facts->is_ours)
		return EXPLAIN_OTHER_USER;
	if (!facts->is_root && facts->is_private)
		return EXPLAIN_PRIVATE;
	if (facts->yama_scope > 2)
		return EXPLAIN_YAMA_NOBODY;
	if (facts->yama_scope > 0 && !facts->is_root)
		return facts->yama_scope > 1 ? EXPLAIN_YAMA_ROOT : EXPLAIN_YAMA_ANCESTORS;
	return facts->shares_user_namespace ? EXPLAIN_NOT_PERMITTED : EXPLAIN_USER_NAMESPACE;
}

int refusal_of_permission(const struct refusal_facts *facts, struct diag_message *message)
{
	return explain(message, -EPERM, find_cause(facts),
		FACTS(.name = facts->who, .other = facts->user, .n = (uint64_t)facts->pid));
}

/*
 * Explain EPERM and EACCES by the rule that forbids tracing @pid, and other errors by @cause.
 * Returns -errno.
 */
static int explain_error(pid_t pid, int error, enum explanation cause, struct diag_message *message)
{
	struct refusal_facts facts;

	gather_facts(pid, &facts);
	if (error == -EPERM || error == -EACCES)
		return refusal_of_permission(&facts, message);
	return explain(message, error, cause, FACTS(.name = facts.who, .why = strerror(-error)));
}

int refusal_of_waits(pid_t pid, int error, struct diag_message *message)
{
	return explain_error(pid, error,
		error == -ENOSYS ? EXPLAIN_NO_SCHED_INFO : EXPLAIN_NOT_IN_PROC, message);
}

bool refusal_of_memory(struct diag_message *message)
{
	char from = 0, to;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1)
		return false;
	explain(message, -errno, EXPLAIN_MEMORY_FORBIDDEN, FACTS(.why = strerror(errno)));
	return true;
}

int refusal_explain(pid_t pid, int error, struct diag_message *message)
{
	struct diag_message foreseen = {0};

	/* Check again: the process may have ended or be traced since the first check. */
	if (!refusal_predict(pid, &foreseen))
		return explain_error(pid, error,
			error == -ENOSYS ? EXPLAIN_NO_PTRACE : EXPLAIN_CANNOT_TRACE, message);
	if (message)
		*message = foreseen;
	return error;
}
