/* SPDX-License-Identifier: MIT */
/*
 * A remote call is one single step of the stopped thread. The step ends with SIGTRAP, or with
 * SIGSYS if the call was intercepted. If the thread blocks or ignores that signal, the kernel
 * resets the program's handler to deliver it. So both signals are unblocked during a call, and no
 * call is made in a process that ignores SIGTRAP. All other signals are blocked, so that none is
 * delivered before the step.
 */
#include "cli/outside/remote_call.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libprof/procfs.h"

/* Bytes below the stack pointer that the interrupted function may use. */
#define RED_ZONE     128u
#define SIGSET_BYTES 8u /* kernel's sigset_t */
#define VDSO_BYTES  4096u
/* ns between two checks whether the thread that should stop is still alive. */
#define CHECK_NS 2000000
/* Give up after this many stops if none of them is the end of the step. */
#define STEPS_MAX 16u

/* Returns the offset of a system call instruction in the vDSO of all processes; 0 if none. */
static uintptr_t find_instruction(void)
{
	static const char bytes[] = ARCH_SYSCALL_INSTRUCTION;
	static uintptr_t offset = 1;
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	const char *code = (const char *)vdso, *found;

	if (offset != 1)
		return offset;
	found = vdso ? memmem(code, VDSO_BYTES, bytes, sizeof(bytes) - 1) : NULL;
	offset = found ? (uintptr_t)(found - code) : 0;
	return offset;
}

int remote_get_registers(pid_t tid, uint64_t regset[REMOTE_REGSET_WORDS])
{
	struct iovec iov = {.iov_base = regset, .iov_len = ARCH_REGSET_BYTES};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov))
		return -errno;
	return iov.iov_len == ARCH_REGSET_BYTES ? 0 : -EINVAL;
}

int remote_set_registers(pid_t tid, const uint64_t regset[REMOTE_REGSET_WORDS])
{
	struct iovec iov = {.iov_base = (void *)regset, .iov_len = ARCH_REGSET_BYTES};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &iov) ? -errno : 0;
}

static int set_blocked(pid_t tid, uint64_t blocked)
{
	return ptrace(PTRACE_SETSIGMASK, tid, (void *)(uintptr_t)SIGSET_BYTES, &blocked) ? -errno
											 : 0;
}

/* Read a word by ptrace(2), which works even if the stopped process is not dumpable. */
static int peek(pid_t tid, uintptr_t address, uintptr_t *word)
{
	long value;

	errno = 0;
	value = ptrace(PTRACE_PEEKDATA, tid, (void *)address, NULL);
	*word = (uintptr_t)value;
	return -errno;
}

int remote_put(
	const struct remote_call *call, unsigned index, const uintptr_t *words, unsigned count)
{
	uintptr_t at = call->scratch + index * sizeof(*words);

	for (unsigned i = 0; i < count; i++)
		if (ptrace(PTRACE_POKEDATA, call->tid, (void *)(at + i * sizeof(*words)),
			    (void *)words[i]))
			return -errno;
	return 0;
}

int remote_get(const struct remote_call *call, unsigned index, uintptr_t *word)
{
	return peek(call->tid, call->scratch + index * sizeof(*word), word);
}

/*
 * Is the thread in a restartable sequence (rseq(2))? If so, no call may be made. The kernel
 * restarts an interrupted sequence only if the pc is still in it, and forgets the sequence if the
 * pc is outside, as in a remote call. Then the thread would continue in the middle of the sequence.
 */
static bool is_in_sequence(pid_t tid)
{
	/*
	 * The kernel's struct ptrace_rseq_configuration. Offset 8 of struct rseq has the pointer to
	 * the current sequence.
	 */
	struct {
		uint64_t pointer;
		uint32_t bytes, signature, flags, pad;
	} rseq = {.pointer = 0};
	uintptr_t sequence = 0;

	if (ptrace((enum __ptrace_request)0x420f, tid, (void *)sizeof(rseq), &rseq) < 0 ||
		!rseq.pointer)
		return false;
	return !peek(tid, rseq.pointer + 8, &sequence) && sequence;
}

int remote_begin(struct remote_call *call, pid_t tid, uintptr_t vdso)
{
	uintptr_t offset = find_instruction();
	struct arch_registers registers;
	int error = remote_get_registers(tid, call->regset);

	if (error)
		return error;
	if (!vdso || !offset)
		return -ENOSYS;
	arch_registers_from_regset(&registers, call->regset);
	call->tid = tid;
	call->instruction = vdso + offset;
	call->signal = 0;
	call->has_stopped = call->is_forbidden = false;
	call->scratch = ((registers.r[ARCH_DWARF_SP] - RED_ZONE) & ~(uintptr_t)15) -
			sizeof(call->kept);
	if (is_in_sequence(tid))
		return -EAGAIN;
	for (unsigned i = 0; i < REMOTE_WORDS; i++)
		if (remote_get(call, i, &call->kept[i]))
			return -EAGAIN;
	if (ptrace(PTRACE_GETSIGMASK, tid, (void *)(uintptr_t)SIGSET_BYTES, &call->blocked))
		return -errno;
	return set_blocked(tid, ~(1ULL << (SIGTRAP - 1) | 1ULL << (SIGSYS - 1)));
}

/* Does wait status @status report the end of the step? If not, store in @call what it reports. */
static bool is_step(struct remote_call *call, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	siginfo_t info = {0};

	if (event == PTRACE_EVENT_STOP) {
		call->has_stopped |= signal != SIGTRAP;
		return false;
	}
	if (event)
		return false;
	ptrace(PTRACE_GETSIGINFO, call->tid, NULL, &info);
	/* This SIGSYS reports an intercepted call. Do not pass it to the program. */
	call->is_forbidden |= signal == SIGSYS && info.si_code > 0;
	if ((signal == SIGTRAP || signal == SIGSYS) && info.si_code > 0)
		return true;
	call->signal = signal;
	return false;
}

/*
 * Wait until @tid has stopped. Returns 0, or -ESRCH if it has ended. Its wait status is left for
 * the caller's waitpid(). Check every CHECK_NS whether the thread is alive, because waiting only
 * for its status may take forever: a main thread that has ended reports no status until the tracer
 * has waited for all other threads of the process.
 */
static int wait_for_stop(pid_t tid)
{
	const struct timespec patience = {.tv_nsec = CHECK_NS};
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	for (;;) {
		siginfo_t info = {0};
		char state;

		if (waitid(P_PID, (id_t)tid, &info,
			    WEXITED | WSTOPPED | __WALL | WNOWAIT | WNOHANG))
			return -ESRCH;
		if (info.si_pid)
			return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED ? 0
											  : -ESRCH;
		if (sigtimedwait(&children, NULL, &patience) >= 0)
			continue;
		state = procfs_state(tid, tid);
		if (!state || state == 'Z')
			return -ESRCH;
	}
}

/* Let the thread run one instruction. Returns 0, or -errno as remote_run(). */
static int step(struct remote_call *call)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		int status;

		if (ptrace(PTRACE_SINGLESTEP, call->tid, NULL, NULL) || wait_for_stop(call->tid))
			return -ESRCH;
		if (waitpid(call->tid, &status, __WALL) != call->tid || !WIFSTOPPED(status))
			return -ESRCH;
		if (is_step(call, status))
			return call->is_forbidden ? -ENOSYS : 0;
	}
	return -ESRCH;
}

long remote_run(struct remote_call *call, long number, const uintptr_t arguments[6])
{
	uint64_t regset[REMOTE_REGSET_WORDS];
	int error;

	memcpy(regset, call->regset, sizeof(regset));
	arch_regset_call(regset, call->instruction, number, arguments);
	error = remote_set_registers(call->tid, regset);
	if (!error)
		error = step(call);
	if (!error)
		error = remote_get_registers(call->tid, regset);
	return error ? error : arch_regset_result(regset);
}

int remote_end(struct remote_call *call)
{
	remote_put(call, 0, call->kept, REMOTE_WORDS);
	remote_set_registers(call->tid, call->regset);
	set_blocked(call->tid, call->blocked);
	/* The step resumed a thread whose process is stopped: stop the thread again. */
	if (call->has_stopped)
		ptrace(PTRACE_INTERRUPT, call->tid, NULL, NULL);
	return call->signal;
}
