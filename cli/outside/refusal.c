/* SPDX-License-Identifier: MIT */
/*
 * Where the kernel refuses, /proc is asked which of the rules it was; the answer to EPERM alone
 * names none.
 */
#include "cli/outside/refusal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libprof/procfs.h"

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

/* proc(5), "hidepid": it is there, and not for us to see. */
static int fail_hidden(pid_t pid, struct diag_message *message)
{
	diag_fail(message, -EPERM, "process %d belongs to somebody else, and /proc hides it",
		(int)pid);
	diag_fail_hint(message, "run flamerun as its user, or as root: sudo flamerun -p ...");
	return -EPERM;
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
		return kill(pid, 0) && errno == EPERM ? fail_hidden(pid, message)
						      : fail_no_such(pid, message);
	describe_process(pid, who, sizeof(who));
	if (group != pid) {
		diag_fail(message, -ESRCH, "%s is a thread of process %ld", who, group);
		diag_fail_hint(message, "-p %ld samples all its threads", group);
		return -ESRCH;
	}
	if (pid == getpid() || pid == getppid())
		return diag_fail(message, -EINVAL, "flamerun cannot sample itself");
	if (procfs_state(pid, pid) == 'Z' && procfs_number(pid, "Threads") <= 1) {
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
		if (strcmp(facts->user, "root"))
			diag_fail_hint(message,
				"run flamerun as %s, or as root: sudo flamerun -p ...",
				facts->user);
		else
			diag_fail_hint(message, "run flamerun as root: sudo flamerun -p ...");
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

int refusal_of_looking(pid_t pid, int error, struct diag_message *message)
{
	struct refusal_facts facts;

	if (error == -ENOSYS)
		return diag_fail(message, error,
			"this kernel does not count when threads get a CPU (CONFIG_SCHED_INFO)");
	gather_facts(pid, &facts);
	if (error == -EPERM || error == -EACCES)
		return refusal_of_permission(&facts, message);
	return diag_fail(message, error, "/proc does not show it of process %s: %s", facts.who,
		strerror(-error));
}

bool refusal_of_memory(struct diag_message *message)
{
	char from = 0, to;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1)
		return false;
	diag_fail(message, -errno,
		"only the system calls, not who called them: process_vm_readv(2): %s",
		strerror(errno));
	return true;
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
