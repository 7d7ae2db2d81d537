/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Predict whether a seccomp filter allows a system call, with known and unknown arguments. Compare
 * the prediction with the kernel's decision for random filters.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/sampler/filter.h"
#include "tests/unit/in-child.h"

#define DATA(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define HIGH(i)                            \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		offsetof(struct seccomp_data, args[i]) + sizeof(uint32_t))
#define IF_EQUAL(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no)
#define RETURN(what)	     BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW		     RETURN(SECCOMP_RET_ALLOW)
#define REFUSE		     RETURN(SECCOMP_RET_ERRNO | EPERM)
#define KILL		     RETURN(SECCOMP_RET_KILL_PROCESS)

static int judge(const struct filter_call *call, struct sock_filter *code, size_t length)
{
	struct sock_fprog program = {(unsigned short)length, code};
	struct filter filter;

	assert_int_equal(filter_open(&filter, (uintptr_t)&program, getpid()), 0);
	return filter_allows(&filter, call);
}

#define JUDGE(call, ...)                                                     \
	judge(call, (struct sock_filter[]){__VA_ARGS__},                     \
		sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

static const struct filter_call call = {
	.number = 39, .known = 1 | 4, .args = {0xfffffffffffffffeULL, 0, 0x100000005ULL}};

static void only_what_runs_is_allowed(void **state)
{
	(void)state;
	assert_true(JUDGE(&call, ALLOW));
	assert_false(JUDGE(&call, REFUSE));
	assert_false(JUDGE(&call, KILL));
	assert_false(JUDGE(&call, RETURN(SECCOMP_RET_TRAP)));
	assert_false(JUDGE(&call, RETURN(SECCOMP_RET_TRACE)));
	assert_false(JUDGE(&call, RETURN(SECCOMP_RET_USER_NOTIF)));
	assert_false(JUDGE(&call, RETURN(SECCOMP_RET_LOG)));
	assert_true(JUDGE(&call, DATA(nr), IF_EQUAL(39, 1, 0), KILL, ALLOW));
	assert_false(JUDGE(&call, DATA(nr), IF_EQUAL(39, 0, 1), KILL, ALLOW));
	assert_true(JUDGE(&call, DATA(arch), IF_EQUAL(ARCH_AUDIT, 1, 0), KILL, ALLOW));
	assert_true(JUDGE(&call, BPF_STMT(BPF_JMP | BPF_JA, 1), KILL, ALLOW));
	assert_false(JUDGE(&call, BPF_STMT(BPF_JMP | BPF_JA, 1), ALLOW, KILL));
}

static void known_arguments_decide(void **state)
{
	(void)state;
	assert_true(JUDGE(&call, DATA(args[0]), IF_EQUAL(0xfffffffe, 1, 0), KILL, ALLOW));
	assert_true(JUDGE(&call, HIGH(0), IF_EQUAL(0xffffffff, 1, 0), KILL, ALLOW));
	assert_true(JUDGE(&call, DATA(args[2]), IF_EQUAL(5, 1, 0), KILL, HIGH(2),
		IF_EQUAL(1, 1, 0), KILL, ALLOW));
	assert_false(JUDGE(&call, DATA(args[2]), IF_EQUAL(5, 0, 1), KILL, ALLOW));
}

static void unknown_ones_may_be_anything(void **state)
{
	(void)state;
	assert_false(JUDGE(&call, DATA(args[1]), IF_EQUAL(0, 1, 0), KILL, ALLOW));
	assert_false(JUDGE(&call, DATA(args[1]), IF_EQUAL(0, 0, 1), KILL, ALLOW));
	assert_false(JUDGE(&call, HIGH(1), IF_EQUAL(0, 0, 1), KILL, ALLOW));
	assert_false(JUDGE(&call, DATA(instruction_pointer), IF_EQUAL(0, 0, 1), KILL, ALLOW));
	/* Both values lead to ALLOW. */
	assert_true(JUDGE(&call, DATA(args[1]), IF_EQUAL(0, 0, 1), ALLOW, ALLOW));
	/* A value stays unknown after it passes through memory, a sum or the index register. */
	assert_false(JUDGE(&call, DATA(args[1]), BPF_STMT(BPF_ST, 3), DATA(nr),
		BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		IF_EQUAL(39, 0, 1), KILL, ALLOW));
	assert_false(JUDGE(&call, DATA(args[1]), BPF_STMT(BPF_MISC | BPF_TAX, 0), DATA(nr),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_X, 0, 0, 1), KILL, ALLOW));
	assert_false(JUDGE(&call, DATA(args[1]), BPF_STMT(BPF_RET | BPF_A, 0)));
	/* Storing a known value makes the memory word known again. */
	assert_true(JUDGE(&call, DATA(args[1]), BPF_STMT(BPF_ST, 3), DATA(nr),
		BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_MEM, 3), IF_EQUAL(39, 1, 0), KILL,
		ALLOW));
}

static void what_cannot_be_read_is_said(void **state)
{
	static struct sock_fprog nowhere = {4, (struct sock_filter *)16};
	struct filter filter;

	(void)state;
	assert_int_equal(filter_open(&filter, 16, getpid()), -EFAULT);
	assert_int_equal(filter_open(&filter, (uintptr_t)&nowhere, getpid()), 0);
	assert_false(filter_allows(&filter, &call));
	assert_true(filter.has_holes);
	assert_false(judge(&call, NULL, 0));
	assert_false(JUDGE(&call, DATA(nr))); /* it ends without a return */
	assert_false(JUDGE(&call, BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), ALLOW));
	assert_false(JUDGE(&call, BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0), ALLOW));
}

/*
 * Each jump on an unknown value doubles the number of paths. If there are too many paths, the call
 * counts as refused.
 */
static void too_many_ways_are_not_gone(void **state)
{
	struct sock_filter code[2 * 64 + 1];

	(void)state;
	for (int i = 0; i < 64; i++) {
		code[2 * i] = (struct sock_filter)DATA(args[1]);
		code[2 * i + 1] = (struct sock_filter)IF_EQUAL((unsigned)i, 0, 0);
	}
	code[128] = (struct sock_filter)ALLOW;
	assert_false(judge(&call, code, 129));
	assert_true(judge(&call, code + 128 - 8, 9));
}

/* ---- the kernel's word ----------------------------------------------------------------------- */

static uint32_t random_u32(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/*
 * instructions of a random filter; it_says_what_the_kernel_says() adds instructions before and
 * behind them
 */
#define STEPS  12
#define LENGTH (STEPS + 7)

/*
 * Make a random instruction that does not return. A jump skips at most two of the @left
 * instructions after it.
 */
static struct sock_filter random_step(int left)
{
	static const uint16_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR,
		BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
	static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint32_t k = random_u32() >> random_u32() % 32;
	uint16_t source = random_u32() % 2 ? BPF_X : BPF_K;
	uint16_t operation = operations[random_u32() % 10];

	switch (random_u32() % 8) {
	case 0:
		return (struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS, random_u32() % 16 * 4);
	case 1:
		return (struct sock_filter)BPF_STMT(
			random_u32() % 2 ? BPF_ST : BPF_STX, random_u32() % 2);
	case 2:
		return (struct sock_filter)BPF_STMT(
			BPF_LDX | (random_u32() % 2 ? BPF_IMM : BPF_LEN | BPF_W), k);
	case 3:
		return (struct sock_filter)BPF_STMT(
			BPF_MISC | (random_u32() % 2 ? BPF_TAX : BPF_TXA), 0);
	case 4:
		return (struct sock_filter)BPF_STMT(
			(random_u32() % 2 ? BPF_LD : BPF_LDX) | BPF_MEM, random_u32() % 2);
	case 5:
		if (left < 3)
			break;
		return (struct sock_filter)BPF_JUMP(BPF_JMP | source | jumps[random_u32() % 4],
			source == BPF_K ? k : 0, (uint8_t)(random_u32() % 3),
			(uint8_t)(random_u32() % 3));
	default:
		break;
	}
	if (operation == BPF_NEG || source == BPF_X)
		k = 0;
	else if (operation == BPF_LSH || operation == BPF_RSH)
		k %= 32;
	else if (operation == BPF_DIV)
		k |= 1;
	return (struct sock_filter)BPF_STMT(
		BPF_ALU | operation | (operation == BPF_NEG ? BPF_K : source), k);
}

/* Call getppid() in a child under the filter. Returns 0 if the filter allowed the call. */
static int runs(struct sock_filter *code, const uint64_t *args)
{
	struct sock_fprog program = {LENGTH, code};
	pid_t child = fork();
	int status;

	if (!child) {
		long answer;
		const long *a = (const long *)args;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(CANNOT);
		/*
		 * Make direct system calls, because under a sanitizer exit() makes calls that the
		 * filter refuses.
		 */
		answer = arch_syscall6(SYS_getppid, a[0], a[1], a[2], a[3], a[4], a[5]);
		arch_syscall1(SYS_exit_group, answer < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void it_says_what_the_kernel_says(void **state)
{
	unsigned allowed = 0, refused = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct filter_call known = {.number = SYS_getppid, .known = 63};
		struct sock_filter code[LENGTH] = {
			/*
			 * Write both memory words first, because the kernel refuses filters that
			 * read memory before writing it.
			 */
			BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_ST, 1), DATA(nr),
			IF_EQUAL(SYS_exit_group, STEPS + 2, 0)}; /* lets the child exit */
		int refuses;

		for (int argument = 0; argument < 6; argument++)
			known.args[argument] = (uint64_t)random_u32() << 32 |
					       random_u32() >> i % 32;
		for (int step = 0; step < STEPS; step++) {
			code[4 + step] = random_step(STEPS - step);
			/*
			 * Do not load the instruction pointer, because the test does not know the
			 * address of the call.
			 */
			if (BPF_CLASS(code[4 + step].code) == BPF_LD && code[4 + step].k / 8 == 1)
				code[4 + step].k = 0;
		}
		code[4 + STEPS] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JSET | BPF_K, 1u << random_u32() % 8, 0, 1);
		code[5 + STEPS] = (struct sock_filter)REFUSE;
		code[6 + STEPS] = (struct sock_filter)ALLOW;
		refuses = runs(code, known.args);
		if (refuses == CANNOT)
			skip();
		assert_int_equal(judge(&known, code, LENGTH), !refuses);
		allowed += !refuses;
		refused += (unsigned)refuses;
	}
	assert_true(allowed > 50 && refused > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_runs_is_allowed),
		cmocka_unit_test(known_arguments_decide),
		cmocka_unit_test(unknown_ones_may_be_anything),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(too_many_ways_are_not_gone),
		cmocka_unit_test(it_says_what_the_kernel_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
