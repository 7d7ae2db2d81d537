/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: used by interposers of calls that programs may make in handlers. */
/*
 * Finds out which system calls a seccomp filter will forbid, before it is installed through libc.
 * The filter is a BPF program: it is interpreted for each system call that sampling makes, with
 * some values unknown. At a jump that depends on an unknown value both branches are followed, and
 * both have to end in permission. Jumps only go forward, so every path ends.
 *
 * If a filter forbids the system calls for names, wake-ups, memory of unknown stacks, deleting
 * timers or the totals at the end, sampling continues without these parts. Threads and forks that
 * may not have a timer are counted. If the handler may not return, sampling from inside ends, and
 * the process is sampled from outside. Images that such a process execs run without the library,
 * because they do not know which filters they inherit.
 */
#include "libprof/sampler/filter.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/modules.h"

/*
 * Limits of the interpretation: instructions per system call, and nested jumps that are followed
 * both ways. Filters of browsers and containers take some hundred steps a call and rarely branch on
 * unknown values.
 */
#define STEPS_MAX 20000u
#define WAYS_MAX  16u

#define UNKNOWN_A (1u << BPF_MEMWORDS)
#define UNKNOWN_X (2u << BPF_MEMWORDS)

struct registers {
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
	uint32_t unknown; /* bit i: memory[i]; UNKNOWN_A, UNKNOWN_X */
};

struct run {
	struct filter *filter;
	const struct filter_call *call;
	uint32_t steps;
};

int filter_open(struct filter *filter, uintptr_t program, int pid)
{
	uintptr_t length, code;

	unwind_window_init(&filter->window, pid);
	if (unwind_window_read(&filter->window, program, &length) ||
		unwind_window_read(&filter->window,
			program + offsetof(struct sock_fprog, filter), &code))
		return -EFAULT;
	filter->code = code;
	filter->has_holes = 0;
	filter->length = (uint16_t)length;
	return 0;
}

static int read_instruction(struct filter *filter, uint64_t at, struct sock_filter *out)
{
	uintptr_t word;

	_Static_assert(sizeof(*out) == sizeof(word), "an instruction is a word");
	if (at >= filter->length)
		return 0;
	if (unwind_window_read(&filter->window, filter->code + at * sizeof(*out), &word)) {
		filter->has_holes = 1;
		return 0;
	}
	__builtin_memcpy(out, &word, sizeof(*out));
	return 1;
}

/*
 * Load the word at @offset of the call's struct seccomp_data into @out. Returns 0 if the word is
 * not known.
 */
static int load_data(const struct filter_call *call, uint32_t offset, uint32_t *out)
{
	const uint32_t arguments = offsetof(struct seccomp_data, args);
	uint32_t argument = (offset - arguments) / sizeof(uint64_t);

	if (offset == offsetof(struct seccomp_data, nr))
		*out = call->number;
	else if (offset == offsetof(struct seccomp_data, arch))
		*out = ARCH_AUDIT;
	else if (offset < arguments || !(call->known >> argument & 1))
		return 0;
	else /* little-endian: low half first */
		*out = (uint32_t)(call->args[argument] >> (offset % sizeof(uint64_t) ? 32 : 0));
	return 1;
}

static void mark_known(struct registers *registers, uint32_t what, int is_known)
{
	registers->unknown = is_known ? registers->unknown & ~what : registers->unknown | what;
}

/* Execute a load instruction. Returns 1, or 0 if the instruction is not allowed in a filter. */
static int load(const struct run *run, const struct sock_filter *at, struct registers *registers)
{
	int into_x = BPF_CLASS(at->code) == BPF_LDX;
	uint32_t *out = into_x ? &registers->x : &registers->a;
	uint32_t what = into_x ? UNKNOWN_X : UNKNOWN_A;
	int is_known = 1;

	switch (BPF_MODE(at->code)) {
	case BPF_IMM:
		*out = at->k;
		break;
	case BPF_LEN:
		*out = sizeof(struct seccomp_data);
		break;
	case BPF_MEM:
		if (at->k >= BPF_MEMWORDS)
			return 0;
		*out = registers->memory[at->k];
		is_known = !(registers->unknown >> at->k & 1);
		break;
	case BPF_ABS:
		if (into_x || at->k % sizeof(*out) || at->k >= sizeof(struct seccomp_data))
			return 0;
		is_known = load_data(run->call, at->k, out);
		break;
	default:
		return 0;
	}
	mark_known(registers, what, is_known);
	return 1;
}

static int store(const struct sock_filter *at, struct registers *registers)
{
	int from_x = BPF_CLASS(at->code) == BPF_STX;

	if (at->k >= BPF_MEMWORDS)
		return 0;
	registers->memory[at->k] = from_x ? registers->x : registers->a;
	mark_known(
		registers, 1u << at->k, !(registers->unknown & (from_x ? UNKNOWN_X : UNKNOWN_A)));
	return 1;
}

static int compute(const struct sock_filter *at, struct registers *registers)
{
	uint32_t by = BPF_SRC(at->code) == BPF_X ? registers->x : at->k, a = registers->a;

	if (BPF_SRC(at->code) == BPF_X && BPF_OP(at->code) != BPF_NEG &&
		registers->unknown & UNKNOWN_X)
		registers->unknown |= UNKNOWN_A;
	switch (BPF_OP(at->code)) {
	case BPF_ADD:
		a += by;
		break;
	case BPF_SUB:
		a -= by;
		break;
	case BPF_MUL:
		a *= by;
		break;
	case BPF_DIV: /* division by zero kills the process */
		if (!by || registers->unknown & UNKNOWN_A)
			return 0;
		a /= by;
		break;
	case BPF_AND:
		a &= by;
		break;
	case BPF_OR:
		a |= by;
		break;
	case BPF_XOR:
		a ^= by;
		break;
	case BPF_LSH:
		a <<= by & 31;
		break;
	case BPF_RSH:
		a >>= by & 31;
		break;
	case BPF_NEG:
		a = -a;
		break;
	default:
		return 0;
	}
	registers->a = a;
	return 1;
}

static int move(const struct sock_filter *at, struct registers *registers)
{
	if (BPF_MISCOP(at->code) == BPF_TAX) {
		registers->x = registers->a;
		mark_known(registers, UNKNOWN_X, !(registers->unknown & UNKNOWN_A));
	} else {
		registers->a = registers->x;
		mark_known(registers, UNKNOWN_A, !(registers->unknown & UNKNOWN_X));
	}
	return 1;
}

static int execute(const struct run *run, const struct sock_filter *at,
	struct registers *registers)
{
	switch (BPF_CLASS(at->code)) {
	case BPF_LD:
	case BPF_LDX:
		return load(run, at, registers);
	case BPF_ST:
	case BPF_STX:
		return store(at, registers);
	case BPF_ALU:
		return compute(at, registers);
	case BPF_MISC:
		return move(at, registers);
	default:
		return 0;
	}
}

/*
 * Returns 1 if the conditional jump @at is taken, 0 if not, -1 if that depends on an unknown value.
 */
static int is_taken(const struct sock_filter *at, const struct registers *registers)
{
	int by_x = BPF_SRC(at->code) == BPF_X;
	uint32_t with = by_x ? registers->x : at->k;

	if (registers->unknown & (UNKNOWN_A | (by_x ? UNKNOWN_X : 0)))
		return -1;
	switch (BPF_OP(at->code)) {
	case BPF_JEQ:
		return registers->a == with;
	case BPF_JGT:
		return registers->a > with;
	case BPF_JGE:
		return registers->a >= with;
	default:
		return (registers->a & with) != 0;
	}
}

static int is_allowed(const struct sock_filter *at, const struct registers *registers)
{
	uint32_t verdict = BPF_RVAL(at->code) == BPF_A ? registers->a : at->k;

	if (BPF_RVAL(at->code) == BPF_A && registers->unknown & UNKNOWN_A)
		return 0;
	return (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW;
}

/*
 * Returns 1 if every path from instruction @next on, with @begin in the registers, allows the call.
 * @ways is the number of enclosing jumps that are followed both ways.
 */
static int always_allows(
	struct run *run, uint64_t next, const struct registers *begin, unsigned ways)
{
	struct registers registers = *begin;
	struct sock_filter at;
	int taken;

	for (;; next++) {
		if (!run->steps || !read_instruction(run->filter, next, &at))
			return 0;
		run->steps--;
		if (BPF_CLASS(at.code) == BPF_RET)
			return is_allowed(&at, &registers);
		if (BPF_CLASS(at.code) != BPF_JMP) {
			if (!execute(run, &at, &registers))
				return 0;
			continue;
		}
		if (BPF_OP(at.code) == BPF_JA) {
			next += at.k;
			continue;
		}
		taken = is_taken(&at, &registers);
		if (taken < 0) {
			if (ways == WAYS_MAX ||
				!always_allows(run, next + 1 + at.jt, &registers, ways + 1))
				return 0;
			taken = 0;
		}
		next += taken ? at.jt : at.jf;
	}
}

int filter_allows(struct filter *filter, const struct filter_call *call)
{
	/* A filter starts with zeros in its accumulator, index register and memory. */
	struct registers registers = {0};
	struct run run = {.filter = filter, .call = call, .steps = STEPS_MAX};

	return always_allows(&run, 0, &registers, 0);
}

/* ---- a filter that is about to be installed -------------------------------------------------- */

/*
 * Every system call that sampling makes after its start, with those arguments that are the same
 * each time. A filter belongs to one thread, but after it no thread of the process makes the calls
 * that it forbids.
 */
#define ANY	    0
#define FIRST(a)    1, {a}
#define SECOND(b)   2, {0, b}

/* rt_sigreturn is not in the table, because forbidding it has its own cause, WIRE_QUIT_RETURN. */
static const struct filter_call handlers_return = {SYS_rt_sigreturn, ANY, {0}};

static const struct {
	uint32_t part; /* 0: sampling ends without this call */
	struct filter_call call;
} calls[] = {
	{0, {SYS_getpid, ANY, {0}}},
	{0, {SYS_gettid, ANY, {0}}},
	{0, {SYS_rt_sigprocmask, ANY, {0}}},
	/* The vDSO may make this system call at any time. */
	{0, {SYS_clock_gettime, FIRST(CLOCK_MONOTONIC)}},
	{0, {SYS_clock_gettime, FIRST(CLOCK_THREAD_CPUTIME_ID)}},
	{CONFINED_NAMES, {SYS_prctl, FIRST(PR_GET_NAME)}},
	{CONFINED_WAKING, {SYS_futex, SECOND(FUTEX_WAKE)}},
	{CONFINED_MEMORY, {SYS_process_vm_readv, ANY, {0}}},
	{CONFINED_PATHS, {SYS_readlinkat, ANY, {0}}},
	{CONFINED_PATHS, {SYS_getcwd, ANY, {0}}},
	{CONFINED_THREADS, {SYS_timer_create, ANY, {0}}},
	{CONFINED_THREADS, {SYS_timer_settime, ANY, {0}}},
	/* Made in a fork child. */
	{CONFINED_THREADS, {SYS_getppid, ANY, {0}}},
	{CONFINED_THREADS, {SYS_prctl, FIRST(PR_GET_TSC)}},
	{CONFINED_THREADS, {SYS_clock_gettime, FIRST(CLOCK_PROCESS_CPUTIME_ID)}},
	{CONFINED_TIMERS, {SYS_timer_delete, ANY, {0}}},
	{CONFINED_ENDS, {SYS_clock_gettime, FIRST(CLOCK_PROCESS_CPUTIME_ID)}},
	{CONFINED_ENDS, {SYS_clock_gettime, ANY, {0}}}, /* clocks of other threads */
	{CONFINED_ENDS, {SYS_getrusage, FIRST((uint64_t)RUSAGE_CHILDREN)}},
	{CONFINED_FILTERS, {SYS_prctl, FIRST(PR_GET_SECCOMP)}},
	{CONFINED_RESTARTS, {SYS_rt_sigpending, ANY, {0}}},
	{CONFINED_RESTARTS, {SYS_rt_sigaction, ANY, {0}}},
};

/*
 * Returns the reason why sampling has to end, or WIRE_QUIT_NONE with the forbidden parts in
 * *@forbidden.
 */
static enum wire_quit find_forbidden(struct filter *filter, uint32_t *forbidden)
{
	*forbidden = 0;
	if (!filter_allows(filter, &handlers_return))
		return WIRE_QUIT_RETURN;
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (filter_allows(filter, &calls[i].call))
			continue;
		if (!calls[i].part)
			return WIRE_QUIT_CALLS;
		*forbidden |= calls[i].part;
	}
	return WIRE_QUIT_NONE;
}

int confined_add_filter(uintptr_t program)
{
	struct filter filter;
	uint32_t forbidden;
	enum wire_quit cause;

	if (!sampler_is_this_process()) {
		confined_set_outside_libc();
		return 0;
	}
	/* If the filter cannot be read, the kernel cannot read it either and will refuse it. */
	if (filter_open(&filter, program, confined_may(CONFINED_MEMORY) ? (int)sampler.pid : 0))
		return 0;
	/*
	 * In a program that profiles itself, the worker thread makes many other system calls, so
	 * sampling ends.
	 */
	cause = sampler_is_hosted() ? WIRE_QUIT_CALLS : find_forbidden(&filter, &forbidden);
	if (filter.has_holes)
		return 0;
	if (cause) {
		sampler_quit(cause);
		return 0;
	}
	modules_read_program_path();
	__atomic_fetch_or(&sampler.forbidden, forbidden, __ATOMIC_RELAXED);
	sampler.slot->filters = __atomic_add_fetch(&sampler.filters, 1, __ATOMIC_RELAXED);
	return 1;
}

void confined_remove_filter(void)
{
	sampler.slot->filters = __atomic_sub_fetch(&sampler.filters, 1, __ATOMIC_RELAXED);
}
