/* SPDX-License-Identifier: MIT */
/*
 * Add code that the host generates, unwind it by its call-frame information, and remove it. Call
 * flameprof_backtrace() through such code, through stubs, and out of a handler of SIGSEGV.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "libprof/flameprof_stub.h"

#define PAGE 65536u

/*
 * Machine code of a function without a frame pointer that calls its argument, and the unwind row
 * (CFA and return address) that holds from its second to its last but one instruction.
 */
#if defined(__x86_64__)
static const uint8_t code_bytes[] = {
	0x48, 0x83, 0xec, 0x28, /* sub $40,%rsp */
	0xff, 0xd7,		/* call *%rdi */
	0x48, 0x83, 0xc4, 0x28, /* add $40,%rsp */
	0xc3,			/* ret */
};
static const uint8_t cie_bytes[] = {
	1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
static const uint8_t fde_program[] = {0x44, 0x0e, 48, 0x46, 0x0e, 8, 0};
#define CALL_RETURNS_AT 6
#else
static const uint32_t code_bytes[] = {
	0xf81d0ffe, /* str x30,[sp,#-48]! */
	0xd63f0000, /* blr x0 */
	0xf84307fe, /* ldr x30,[sp],#48 */
	0xd65f03c0, /* ret */
};
static const uint8_t cie_bytes[] = {1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0, 0, 0, 0, 0};
static const uint8_t fde_program[] = {0x41, 0x0e, 48, 0x9e, 6, 0x42, 0x0e, 0, 0xde};
#define CALL_RETURNS_AT 8
#endif

static uint8_t *page;
/* The .eh_frame is not beside the code. */
static uint8_t eh_frame[256] __attribute__((aligned(8)));

typedef void runner(void (*call)(void));

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/*
 * Write into `eh_frame` a CIE, an FDE for the code at @start, and four zero bytes. Returns their
 * size in bytes.
 */
static uint32_t make_eh_frame(uintptr_t start)
{
	uint32_t fde = 8 + sizeof(cie_bytes);

	memset(eh_frame, 0, sizeof(eh_frame));
	put_u32(eh_frame, fde - 4);
	memcpy(eh_frame + 8, cie_bytes, sizeof(cie_bytes));
	put_u32(eh_frame + fde, 28);
	put_u32(eh_frame + fde + 4, fde + 4);
	put_u32(eh_frame + fde + 8, (uint32_t)(start - (uintptr_t)(eh_frame + fde + 8)));
	put_u32(eh_frame + fde + 12, sizeof(code_bytes));
	memcpy(eh_frame + fde + 17, fde_program, sizeof(fde_program));
	return fde + 36;
}

/*
 * Map the code less than 2 GiB from the program, because the FDE holds a 4-byte distance to the
 * code.
 */
static int setup(void **state)
{
	uintptr_t near = ((uintptr_t)setup & ~(uintptr_t)(PAGE - 1)) - (64u << 20);

	(void)state;
	page = mmap((void *)near, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -1;
	for (unsigned i = 0; i < PAGE; i += 64)
		memcpy(page + i, code_bytes, sizeof(code_bytes));
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		return -1;
	__builtin___clear_cache((char *)page, (char *)page + PAGE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(page, PAGE);
}

static struct flameprof_backtrace_frame frames[200];
static unsigned frame_count;

static __attribute__((noinline)) void capture(void)
{
	frame_count = flameprof_backtrace(NULL, frames, 200);
}

/* Is the frame in the (short) function? */
static int is_in(const struct flameprof_backtrace_frame *frame, void (*function)(void))
{
	return frame->pc - (uintptr_t)function < 256;
}

static void test_backtrace_by_information(void **state)
{
	unsigned above;

	(void)state;
	capture();
	assert_true(is_in(&frames[0], capture));
	above = frame_count - 1;
	make_eh_frame((uintptr_t)page);
	assert_int_equal(flameprof_code_add(page, sizeof(code_bytes), "jitted", eh_frame), 0);
	((runner *)(uintptr_t)page)(capture);
	assert_int_equal(frame_count, above + 2);
	assert_true(is_in(&frames[0], capture));
	assert_true(frames[1].is_code);
	assert_int_equal(frames[1].pc, (uintptr_t)page + CALL_RETURNS_AT - 1);
	assert_string_equal(frames[1].code.name, "jitted");
	assert_int_equal(frames[1].code.kind, FLAMEPROF_CODE_HOST);
	assert_false(frames[2].is_code);
	assert_true(is_in(&frames[2], (void (*)(void))test_backtrace_by_information) ||
		    frames[2].pc - (uintptr_t)test_backtrace_by_information < 1024);
	/* If the array is too small, only the innermost frames are returned. */
	assert_int_equal(flameprof_backtrace(NULL, frames, 1), 1);
	assert_int_equal(flameprof_backtrace(NULL, frames, 0), 0);
	assert_int_equal(flameprof_code_remove(page), 0);
	/* The removed code is no longer known, so the walk does not pass through it. */
	((runner *)(uintptr_t)page)(capture);
	assert_true(frame_count < above + 2 || !frames[1].is_code);
}

static void test_add_and_remove(void **state)
{
	struct flameprof_code_info info;

	(void)state;
	assert_int_equal(flameprof_code_remove(page), -ENOENT);
	assert_int_equal(flameprof_code_add(page, 64, "one", NULL), 0);
	assert_int_equal(flameprof_code_add(page + 64, 64, NULL, NULL), 0);
	assert_int_equal(flameprof_code_add(page + 100, 64, "three", NULL), -EEXIST);
	assert_int_equal(flameprof_code_add(page, 1, "four", NULL), -EEXIST);
	assert_int_equal(flameprof_lookup((uintptr_t)page + 63, &info), 0);
	assert_string_equal(info.name, "one");
	assert_int_equal(info.start, (uintptr_t)page);
	assert_int_equal(info.bytes, 64);
	assert_int_equal(info.kind, FLAMEPROF_CODE_HOST);
	assert_int_equal(flameprof_lookup((uintptr_t)page + 64, &info), 0);
	assert_string_equal(info.name, "[anonymous]");
	assert_int_equal(flameprof_lookup((uintptr_t)page + 128, &info), -ENOENT);
	assert_int_equal(flameprof_code_remove(page + 1), -ENOENT);
	assert_int_equal(flameprof_code_remove(page), 0);
	assert_int_equal(flameprof_code_remove(page), -ENOENT);
	assert_int_equal(flameprof_lookup((uintptr_t)page, &info), -ENOENT);
	assert_int_equal(flameprof_code_add(page, 64, "five", NULL), 0);
	assert_int_equal(flameprof_lookup((uintptr_t)page, &info), 0);
	assert_string_equal(info.name, "five");
	assert_int_equal(flameprof_code_remove(page), 0);
	assert_int_equal(flameprof_code_remove(page + 64), 0);
}

static void test_what_is_no_code(void **state)
{
	(void)state;
	assert_int_equal(flameprof_code_add(NULL, 64, "x", NULL), -EINVAL);
	assert_int_equal(flameprof_code_add(page, 0, "x", NULL), -EINVAL);
	assert_int_equal(flameprof_code_add(page, UINTPTR_MAX, "x", NULL), -EINVAL);
	/* Refuse an .eh_frame for other code, an empty .eh_frame, and invalid bytes. */
	make_eh_frame((uintptr_t)page + 4096);
	assert_int_equal(flameprof_code_add(page, 64, "x", eh_frame), -EINVAL);
	memset(eh_frame, 0, sizeof(eh_frame));
	assert_int_equal(flameprof_code_add(page, 64, "x", eh_frame), -EINVAL);
	make_eh_frame((uintptr_t)page);
	put_u32(eh_frame + 8 + sizeof(cie_bytes) + 4, 12); /* points to no CIE */
	assert_int_equal(flameprof_code_add(page, 64, "x", eh_frame), -EINVAL);
	make_eh_frame((uintptr_t)page);
	put_u32(eh_frame, 0xfffffff0);
	assert_int_equal(flameprof_code_add(page, 64, "x", eh_frame), -EINVAL);
	/* After the refusals the code can still be added. */
	assert_int_equal(flameprof_code_add(page, 64, "x", NULL), 0);
	assert_int_equal(flameprof_code_remove(page), 0);
}

#define WRITERS 8

/*
 * Add pieces of code and find them while other threads add and find theirs. No piece may be lost.
 */
static void *add_pieces(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	unsigned rounds = getenv("TEST_EMULATED") ? 3 : 200;
	uintptr_t wrong = 0;

	for (unsigned round = 0; round < rounds; round++) {
		struct flameprof_code_info info;

		for (unsigned i = 0; i < PAGE / 64; i += 2)
			if ((i / 2) % WRITERS == number)
				wrong += flameprof_code_add(page + i * 64, 64, "piece", NULL) != 0;
		for (unsigned i = 0; i < PAGE / 64; i += 2) {
			if ((i / 2) % WRITERS != number)
				continue;
			wrong += flameprof_lookup((uintptr_t)page + i * 64 + 7, &info) ||
				 info.start != (uintptr_t)page + i * 64;
			wrong += flameprof_code_remove(page + i * 64) != 0;
		}
	}
	return (void *)wrong;
}

static void test_concurrent_adders_lose_nothing(void **state)
{
	pthread_t threads[WRITERS];

	(void)state;
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, add_pieces, (void *)i);
	for (unsigned i = 0; i < WRITERS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

static struct flameprof_arena *arena;
static flameprof_function *stub;
static sigjmp_buf escape;
static volatile unsigned depth;
static uint64_t *volatile nowhere;

/* Crash without a report of UBSan. */
static __attribute__((noinline, no_sanitize("undefined"))) uint64_t crash_below(uint64_t left)
{
	uint64_t result;

	depth++;
	result = left ? ((uint64_t(*)(uint64_t))stub)(left - 1) : *nowhere;
	return result + 1;
}

static void on_segv(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	frame_count = flameprof_backtrace(context, frames, 200);
	siglongjmp(escape, 1);
}

#define DEEP 20

/*
 * Expect the frames target, stub, target, stub, ... from the fault outward, each stub with its
 * payload.
 */
static void test_backtrace_out_of_sigsegv(void **state)
{
	struct sigaction action = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO}, before;

	(void)state;
	assert_int_equal(flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL,
				 (flameprof_function *)crash_below, NULL),
		0);
	stub = flameprof_stub_new(arena, "recurse", 42);
	sigaction(SIGSEGV, &action, &before);
	if (!sigsetjmp(escape, 1))
		((uint64_t(*)(uint64_t))stub)(DEEP - 1);
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(depth, DEEP);
	assert_in_range(frame_count, 2 * DEEP + 2, 199);
	for (unsigned i = 0; i < 2 * DEEP; i += 2) {
		assert_false(frames[i].is_code);
		assert_true(frames[i].pc - (uintptr_t)crash_below < 256);
		assert_true(frames[i + 1].is_code);
		assert_string_equal(frames[i + 1].code.name, "recurse");
		assert_int_equal(frames[i + 1].code.payload, 42);
		assert_int_equal(frames[i + 1].code.start, (uintptr_t)stub);
	}
	assert_false(frames[2 * DEEP].is_code);
	flameprof_arena_free(arena);
}

/* If the frame pointer and the stack pointer are invalid, the walk ends without a fault. */
static void test_backtrace_of_wild_registers(void **state)
{
	ucontext_t context;

	(void)state;
	memset(&context, 0, sizeof(context));
	assert_in_range(flameprof_backtrace(&context, frames, 200), 0, 1);
	memset(&context, 0x55, sizeof(context));
	assert_in_range(flameprof_backtrace(&context, frames, 200), 0, 1);
	memset(&context, 0xff, sizeof(context));
	assert_in_range(flameprof_backtrace(&context, frames, 200), 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backtrace_by_information),
		cmocka_unit_test(test_add_and_remove),
		cmocka_unit_test(test_what_is_no_code),
		cmocka_unit_test(test_concurrent_adders_lose_nothing),
		cmocka_unit_test(test_backtrace_out_of_sigsegv),
		cmocka_unit_test(test_backtrace_of_wild_registers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
