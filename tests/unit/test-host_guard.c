/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test signal handlers on alternate stacks: which handler the kernel calls, and which handler the
 * program reads back.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/sampler/host.h"
#include "libprof/sampler/sampler.h"

#define STACK_BYTES 65536
#define PERIOD_NS   100000

/* SA_RESTORER; sigaction() of some CPUs' libc returns this flag of the kernel */
#define SA_RESTORER_ 0x04000000

/* Without optimization the guard calls the program's handler instead of jumping to it. */
#ifdef __OPTIMIZE__
#define IS_JUMPING 1
#else
#define IS_JUMPING 0
#endif

static struct sampler_thread *const self = &sampler_threads[0];
static struct wire_arena arena;
static struct wire_slot slot;
static char *stack; /* the page below it is not mapped */

/*
 * Observations of the program's handler, and the number of calls of the sampling signal's handler.
 */
static volatile int calls, was_blocked, leaves, deliveries;
static volatile uint64_t works_ns, worked_ns;
static volatile uintptr_t called_by;
static sigjmp_buf outside;

/* Change the signal mask by a direct system call, past the library's interposers. */
static uint64_t mask(int how, uint64_t set)
{
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, how, &set, &before, sizeof(set));
	return before;
}

static void ours(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	deliveries++;
}

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Use at least @ns of CPU time. Returns the CPU time used, in ns. */
static uint64_t burn(uint64_t ns)
{
	uint64_t begin_ns = cpu_ns();

	while (cpu_ns() - begin_ns < ns)
		;
	return cpu_ns() - begin_ns;
}

static void program(int number)
{
	(void)number;
	calls++;
	called_by = (uintptr_t)__builtin_return_address(0);
	was_blocked = (mask(SIG_BLOCK, 0) & sampler_signal_bit()) != 0;
	if (works_ns)
		worked_ns += burn(works_ns);
	if (leaves)
		siglongjmp(outside, 1);
}

static void use_stack(size_t bytes)
{
	stack_t alternate = {.ss_sp = stack, .ss_size = bytes};

	if (!bytes)
		alternate.ss_flags = SS_DISABLE;
	assert_int_equal(sigaltstack(&alternate, NULL), 0);
}

static int begin(void **state)
{
	struct sigaction action = {.sa_sigaction = ours, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	(void)state;
	calls = was_blocked = leaves = deliveries = 0;
	works_ns = worked_ns = 0;
	sigfillset(&action.sa_mask);
	sigaction(sampler_signal(), &action, NULL);
	sampler.pid = (uint32_t)getpid();
	sampler.on = 1;
	sampler.quit = 0;
	sampler.rings[0] = 1;
	self->tid = gettid();
	self->active = 1;
	self->handler_weight = 0;
	self->has_timer = 1;
	self->delivered = 0;
	self->first_ns = cpu_ns();
	sampler.arena = &arena;
	sampler.slot = &slot;
	sampler.period_ns = PERIOD_NS;
	mask(SIG_UNBLOCK, ~0ULL);
	return 0;
}

static int make_stack(void **state)
{
	char *memory = mmap(NULL, 4096 + STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	mprotect(memory, 4096, PROT_NONE);
	stack = memory + 4096;
	return 0;
}

static int end(void **state)
{
	(void)state;
	sampler.on = 0;
	return 0;
}

static void set(int flags, uint64_t masked)
{
	struct sigaction action = {.sa_handler = program, .sa_flags = flags};

	memcpy(&action.sa_mask, &masked, sizeof(masked));
	assert_int_equal(guard_sigaction(SIGUSR1, &action, NULL), 0);
}

static int flags_of(const struct sigaction *action)
{
	return action->sa_flags & ~SA_RESTORER_;
}

static uint64_t mask_of(const struct sigaction *action)
{
	return *sampler_mask(&action->sa_mask);
}

static void it_is_told_what_it_asked_for(void **state)
{
	const uint64_t masks[] = {0, 1ULL << (SIGHUP - 1),
		~0ULL & ~(1ULL << (SIGKILL - 1)) & ~(1ULL << (SIGSTOP - 1))};
	const int flags[] = {SA_ONSTACK, SA_ONSTACK | SA_SIGINFO, SA_ONSTACK | SA_RESTART, 0};
	struct sigaction told;

	(void)state;
	for (unsigned m = 0; m < 3; m++)
		for (unsigned f = 0; f < 4; f++) {
			set(flags[f], masks[m]);
			assert_int_equal(guard_sigaction(SIGUSR1, NULL, &told), 0);
			assert_ptr_equal(told.sa_handler, program);
			assert_int_equal(flags_of(&told), flags[f]);
			assert_true(mask_of(&told) == masks[m]);
		}
	/*
	 * guard_sigaction() reports the action that it replaces, also if the new action ignores the
	 * signal.
	 */
	set(SA_ONSTACK, 0);
	assert_int_equal(
		guard_sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN}, &told), 0);
	assert_ptr_equal(told.sa_handler, program);
	assert_int_equal(flags_of(&told), SA_ONSTACK);
	assert_int_equal(guard_sigaction(SIGUSR1, NULL, &told), 0);
	assert_ptr_equal(told.sa_handler, SIG_IGN);
}

/* Returns the handler that the kernel has, by a direct system call. */
static sighandler_t kernels_handler(void)
{
	struct {
		sighandler_t handler;
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} kernel;

	syscall(SYS_rt_sigaction, SIGUSR1, NULL, &kernel, sizeof(kernel.mask));
	return kernel.handler;
}

/*
 * signal() and its relatives return the kernel's handler, which must be translated to the program's
 * handler.
 */
static void a_handler_alone_is_told_too(void **state)
{
	sighandler_t before;

	(void)state;
	set(SA_ONSTACK, 0);
	before = kernels_handler();
	assert_ptr_not_equal(before, program);
	assert_ptr_equal(guard_program_handler(SIGUSR1, before), program);
	assert_ptr_equal(guard_program_handler(SIGUSR1, SIG_IGN), SIG_IGN);
}

/* An action that was set by a direct system call is reported unchanged, with all its flags. */
static void a_default_set_past_us_is_told_as_it_is(void **state)
{
	struct sigaction told = {.sa_flags = SA_SIGINFO};

	(void)state;
	set(SA_ONSTACK, 0);
	sigaction(SIGUSR1, &told, NULL);
	assert_int_equal(guard_sigaction(SIGUSR1, NULL, &told), 0);
	assert_ptr_equal(told.sa_handler, SIG_DFL);
	assert_int_equal(flags_of(&told), SA_SIGINFO);
}

/*
 * A direct system call reports the library's guard as the handler. If the program sets this handler
 * again, its own handler is set.
 */
static void what_the_kernel_has_can_be_put_back(void **state)
{
	struct sigaction kernel = {.sa_flags = SA_ONSTACK};

	(void)state;
	use_stack(STACK_BYTES);
	set(SA_ONSTACK, 0);
	kernel.sa_handler = kernels_handler();
	guard_sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	guard_sigaction(SIGUSR1, &kernel, NULL);
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
}

static void once_is_once(void **state)
{
	struct sigaction told;

	(void)state;
	use_stack(STACK_BYTES);
	set(SA_ONSTACK | (int)SA_RESETHAND, 0);
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
	guard_sigaction(SIGUSR1, NULL, &told);
	assert_ptr_equal(told.sa_handler, SIG_DFL);
	assert_int_equal(flags_of(&told), SA_ONSTACK | (int)SA_RESETHAND);
	assert_true(!mask_of(&told));
}

static void a_refused_one_changes_nothing(void **state)
{
	struct sigaction action = {.sa_handler = program, .sa_flags = SA_ONSTACK}, told;

	(void)state;
	for (int number = -1; number < 70; number++)
		if (number < 1 || number > 64 || number == SIGKILL) {
			errno = 0;
			assert_int_equal(guard_sigaction(number, &action, NULL), -1);
			assert_int_equal(errno, EINVAL);
		}
	assert_int_equal(guard_sigaction(SIGKILL, NULL, &told), 0);
	assert_ptr_equal(told.sa_handler, SIG_DFL);
}

/*
 * The guard unblocks the sampling signal only if the stack has room for its handler. The program's
 * handler must see the kernel's return address.
 */
static void room_decides(void **state)
{
	const struct {
		size_t bytes;
		uint64_t mask;
		int is_blocked;
	} cases[] = {
		{0, 0, 0},
		{0, sampler_signal_bit(), 1},
		{16384, 0, 1},
		{16384, ~0ULL, 1},
		{STACK_BYTES, 0, 0},
		{STACK_BYTES, ~0ULL, 0},
	};
	uintptr_t returns_to;

	(void)state;
	sampler.on = 0;
	set(SA_ONSTACK, 0);
	assert_ptr_equal(kernels_handler(), program);
	raise(SIGUSR1);
	returns_to = called_by;
	sampler.on = 1;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		use_stack(cases[i].bytes);
		set(SA_ONSTACK, cases[i].mask);
		raise(SIGUSR1);
		assert_int_equal(was_blocked, cases[i].is_blocked);
		/*
		 * The program's handler returns to the same address as if the kernel had called it.
		 */
		if (!cases[i].is_blocked && IS_JUMPING)
			assert_int_equal(called_by, returns_to);
	}
	assert_int_equal(calls, 7);
}

/*
 * handler_weight counts the sampling periods of CPU time spent in the handler, and none before or
 * after the handler.
 */
static void what_became_due_in_there_is_its_own(void **state)
{
	(void)state;
	use_stack(16384);
	set(SA_ONSTACK, 0);
	works_ns = 20 * PERIOD_NS;
	for (int i = 1; i <= 10; i++) {
		burn(30 * PERIOD_NS);
		raise(SIGUSR1);
		assert_in_range(self->handler_weight, worked_ns / PERIOD_NS - (uint64_t)i,
			worked_ns / PERIOD_NS + 2 * (uint64_t)i);
	}
}

static void where_it_is_let_in_nothing_is_noted(void **state)
{
	(void)state;
	use_stack(STACK_BYTES);
	set(SA_ONSTACK, 0);
	works_ns = 20 * PERIOD_NS;
	raise(SIGUSR1);
	assert_true(worked_ns > 0);
	assert_int_equal(self->handler_weight, 0);
}

/*
 * If a handler leaves by siglongjmp(), no periods are recorded for it, and the sampling signal is
 * unblocked.
 */
static void one_may_leap_out(void **state)
{
	(void)state;
	use_stack(16384);
	set(SA_ONSTACK, 0);
	works_ns = 20 * PERIOD_NS;
	leaves = 1;
	if (!sigsetjmp(outside, 1))
		raise(SIGUSR1);
	assert_int_equal(self->handler_weight, 0);
	raise(sampler_signal());
	assert_int_equal(deliveries, 1);
}

static void a_thread_that_blocks_it_goes_on_to(void **state)
{
	(void)state;
	use_stack(STACK_BYTES);
	set(SA_ONSTACK, 0);
	mask(SIG_BLOCK, sampler_signal_bit());
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
	assert_true(was_blocked);
}

/*
 * The program's handler is also called after sampling was given up, and in a child that is not
 * sampled.
 */
static void it_is_reached_in_the_end(void **state)
{
	int status;
	pid_t child;

	(void)state;
	use_stack(STACK_BYTES);
	set(SA_ONSTACK, 0);
	sampler.quit = 1;
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
	assert_true(was_blocked);
	sampler.quit = 0;
	child = fork();
	if (!child) {
		sampler.on = 0;
		raise(SIGUSR1);
		_exit(calls == 2 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/*
 * A vfork child has its own signal actions in the kernel, but it shares memory: it must not change
 * its parent's table of actions.
 */
static void a_vfork_child_changes_nothing(void **state)
{
	struct sigaction told, plain = {.sa_handler = SIG_IGN, .sa_flags = SA_ONSTACK};
	int status;
	pid_t child;

	(void)state;
	use_stack(STACK_BYTES);
	set(SA_ONSTACK | (int)SA_RESETHAND, 0);
	child = vfork();
	if (!child) {
		int is_told = !guard_sigaction(SIGUSR1, &plain, &told) &&
			      told.sa_handler == program &&
			      flags_of(&told) == (SA_ONSTACK | (int)SA_RESETHAND);

		plain.sa_handler = program;
		_exit(is_told && !guard_sigaction(SIGUSR1, &plain, NULL) ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	guard_sigaction(SIGUSR1, NULL, &told);
	assert_ptr_equal(told.sa_handler, program);
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
	guard_sigaction(SIGUSR1, NULL, &told);
	assert_int_equal(flags_of(&told), SA_ONSTACK | (int)SA_RESETHAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_is_told_what_it_asked_for, begin),
		cmocka_unit_test_setup(a_handler_alone_is_told_too, begin),
		cmocka_unit_test_setup(a_default_set_past_us_is_told_as_it_is, begin),
		cmocka_unit_test_setup(what_the_kernel_has_can_be_put_back, begin),
		cmocka_unit_test_setup(once_is_once, begin),
		cmocka_unit_test_setup(a_refused_one_changes_nothing, begin),
		cmocka_unit_test_setup(room_decides, begin),
		cmocka_unit_test_setup(what_became_due_in_there_is_its_own, begin),
		cmocka_unit_test_setup(where_it_is_let_in_nothing_is_noted, begin),
		cmocka_unit_test_setup(one_may_leap_out, begin),
		cmocka_unit_test_setup(a_thread_that_blocks_it_goes_on_to, begin),
		cmocka_unit_test_setup(it_is_reached_in_the_end, begin),
		cmocka_unit_test_setup(a_vfork_child_changes_nothing, begin),
	};

	return cmocka_run_group_tests(tests, make_stack, end);
}
