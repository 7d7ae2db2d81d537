/* SPDX-License-Identifier: MIT */
/*
 * confined WHAT ...: use CPU time in before(), forbid something, use CPU time in after(). The
 * program prints the CPU time that before() and after() use. Apart from these times, output and
 * exit status must equal those without flamerun.
 *
 *   tsc HOW                 forbid the time stamp counter; HOW: prctl, syscall, thread, fork
 *   dispatch                dispatch system calls to the program's own SIGSYS handler
 *   filter HOW CALL [THEN]  seccomp filter that kills for CALL ("none": for no call); HOW: prctl,
 *                           syscall, instruction, nowhere; THEN: threads, fork, exec, signal
 *   at-once HOW CALL        filter, then exec, both at the start of the program
 *
 * With BRIEF in the environment the program uses almost no CPU time.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "tests/targets/spin.h"

#define UNITS 8000
#define THREADS 4
#define CALLS 200

static int is_untimed; /* the filter forbids reading clocks */
static unsigned units; /* for spin(); more in after() if flamerun needs time to notice the filter */

BOX static void before(void)
{
	spin(units);
	tell("before", cpu_ns());
}

BOX static void after(void)
{
	uint64_t begin_ns = is_untimed ? 0 : cpu_ns();

	spin(units);
	if (is_untimed)
		puts("after");
	else
		tell("after", cpu_ns() - begin_ns);
}

static void *after_in_thread(void *argument)
{
	after();
	return argument;
}

static void in_thread(void *(*start)(void *))
{
	pthread_t id;

	if (!pthread_create(&id, NULL, start, NULL))
		pthread_join(id, NULL);
}

static void in_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		after();
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child: %x\n", (unsigned)status);
}

static void in_image(char *program)
{
	fflush(stdout);
	execl(program, program, "after", NULL);
}

/* ---- the time stamp counter ------------------------------------------------------------------ */

static void *forbid_in_thread(void *argument)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	in_thread(after_in_thread);
	return argument;
}

static void forbid_counter(const char *how)
{
	if (!strcmp(how, "thread")) {
		in_thread(forbid_in_thread);
		return;
	}
	if (!strcmp(how, "syscall") ? syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV)
				    : prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) {
		puts("no such thing here");
		return;
	}
	if (!strcmp(how, "fork"))
		in_child();
	else
		after();
}

/* ---- syscall user dispatch ------------------------------------------------------------------- */

static volatile char selector;
static volatile unsigned caught;

static void catch_call(int number)
{
	(void)number;
	selector = SYSCALL_DISPATCH_FILTER_ALLOW; /* returning is a system call, too */
	caught++;
}

BOX static void dispatch(void)
{
	uint64_t begin_ns = cpu_ns();

	signal(SIGSYS, catch_call);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector)) {
		puts("no such thing here");
		return;
	}
	for (unsigned i = 1; i <= CALLS; i++) {
		selector = SYSCALL_DISPATCH_FILTER_BLOCK;
		spin(6 * units / CALLS);
		arch_syscall0(1000);
		if (caught != i || selector != SYSCALL_DISPATCH_FILTER_ALLOW) {
			printf("in turn %u: caught %u\n", i, caught);
			break;
		}
	}
	tell("dispatch", cpu_ns() - begin_ns);
}

/* ---- seccomp --------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{"clock_gettime", SYS_clock_gettime},
	{"futex", SYS_futex},
	{"getpid", SYS_getpid},
	{"getrusage", SYS_getrusage},
	{"gettid", SYS_gettid},
	{"openat", SYS_openat},
	{"prctl", SYS_prctl},
	{"process_vm_readv", SYS_process_vm_readv},
	{"readlinkat", SYS_readlinkat},
	{"rt_sigprocmask", SYS_rt_sigprocmask},
	{"rt_sigreturn", SYS_rt_sigreturn},
	{"timer_create", SYS_timer_create},
	{"timer_delete", SYS_timer_delete},
	{"timer_settime", SYS_timer_settime},
};

static unsigned number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].number;
	return UINT32_MAX;
}

static long forbid_call(const char *how, unsigned number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	is_untimed = number == SYS_clock_gettime;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(how, "nowhere")) {
		struct sock_fprog nowhere = {4, (struct sock_filter *)16};

		printf("%d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 16));
		printf(" %d", errno == EFAULT);
		errno = 0;
		printf(" %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &nowhere));
		printf(" %d\n", errno == EFAULT);
		return 0;
	}
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	if (!strcmp(how, "syscall"))
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	/*
	 * The library cannot notice this filter. flamerun needs some time to notice it, so work for
	 * longer.
	 */
	units *= 3;
	return arch_syscall3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void note_signal(int number)
{
	(void)number;
	caught++;
}

static void with_signal(void)
{
	raise(SIGVTALRM);
	after();
	printf("caught: %u\n", caught);
}

static void in_threads(void)
{
	pthread_t ids[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, after_in_thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "", *how = count > 2 ? words[2] : "";
	const char *then = count > 4 ? words[4] : "";

	units = getenv("BRIEF") ? CALLS : UNITS;
	if (!strcmp(what, "after")) {
		after();
		return 0;
	}
	/* For "at-once", exec before the process is old enough to have a sample. */
	if (!strcmp(what, "at-once") && count > 3 && !forbid_call(how, number_of(words[3])))
		in_image(words[0]);
	before();
	if (!strcmp(what, "tsc")) {
		forbid_counter(how);
	} else if (!strcmp(what, "dispatch")) {
		dispatch();
	} else if (!strcmp(what, "filter") && count > 3) {
		signal(SIGVTALRM, note_signal);
		if (forbid_call(how, number_of(words[3])))
			puts("no such thing here");
		else if (!strcmp(then, "threads"))
			in_threads();
		else if (!strcmp(then, "fork"))
			in_child();
		else if (!strcmp(then, "signal"))
			with_signal();
		else if (!strcmp(then, "exec"))
			in_image(words[0]);
		else
			after();
	}
	puts("end");
	return 0;
}
