/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read kernel stacks from a perf event's ring buffer, which this test writes as the kernel does:
 * frames, registers, user stacks, records across the buffer's end, and invalid records.
 */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/gather/kernel_stacks.h"

#define BYTES	  4096u
#define KERNEL	  ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER	  ((uint64_t)PERF_CONTEXT_USER)
#define REGISTERS ((uint64_t)__builtin_popcountll(ARCH_PERF_REGS))

static struct kernel_stack look;

static struct perf_event_mmap_page *head_of(const struct kernel_stacks *stacks)
{
	return (struct perf_event_mmap_page *)stacks->pages;
}

static struct kernel_stacks make(uint64_t from)
{
	struct kernel_stacks stacks = {
		.pages = calloc(1, (size_t)sysconf(_SC_PAGESIZE) + BYTES), .bytes = BYTES};

	assert_non_null(stacks.pages);
	head_of(&stacks)->data_head = head_of(&stacks)->data_tail = from;
	return stacks;
}

static void put(struct kernel_stacks *stacks, const void *bytes, size_t count)
{
	char *records = stacks->pages + sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < count; i++)
		records[head_of(stacks)->data_head++ % BYTES] = ((const char *)bytes)[i];
}

static void put_word(struct kernel_stacks *stacks, uint64_t word)
{
	put(stacks, &word, sizeof(word));
}

/* Values for fields of a record, which may be invalid. */
struct lies {
	uint64_t frames, stack, filled, abi;
};

static void put_look(struct kernel_stacks *stacks, const uint64_t *frames, uint64_t count,
	const char *stack, uint64_t bytes, const struct lies *lies)
{
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE,
		.size = (uint16_t)(sizeof(header) + (5 + count + REGISTERS) * 8 + bytes)};

	put(stacks, &header, sizeof(header));
	put_word(stacks, 10);
	put_word(stacks, lies ? lies->frames : count);
	put(stacks, frames, count * sizeof(*frames));
	put_word(stacks, lies ? lies->abi : PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < REGISTERS; i++)
		put_word(stacks, 100 + i);
	put_word(stacks, lies ? lies->stack : bytes);
	put(stacks, stack, bytes);
	put_word(stacks, lies ? lies->filled : bytes - 8);
}

static const uint64_t call[] = {KERNEL, 0x8001, 0x8102, 0x8203, USER, 0x4444};
#define FRAMES (sizeof(call) / sizeof(*call))
static const char words[] = "the program's stack, some words";

static void expect_look(const struct kernel_stacks *stacks)
{
	assert_int_equal(kernel_stacks_next(stacks, &look), 1);
	assert_int_equal(look.time_ns, 10);
	/*
	 * The innermost frame's address is exact. The other frames are return addresses, from which
	 * 1 is subtracted.
	 */
	assert_int_equal(look.count, 3);
	assert_int_equal(look.frame[0], 0x8001);
	assert_int_equal(look.frame[1], 0x8101);
	assert_int_equal(look.frame[2], 0x8202);
	assert_int_equal(look.bytes, sizeof(words) - 8);
	assert_memory_equal(look.stack, words, look.bytes);
}

static void test_looks(void **state)
{
	(void)state;
	/*
	 * Begin the record at each position, so that each of its fields crosses the buffer's end
	 * once.
	 */
	for (uint64_t from = 0; from < BYTES; from += 8) {
		struct kernel_stacks stacks = make(from);

		put_look(&stacks, call, FRAMES, words, sizeof(words), NULL);
		expect_look(&stacks);
		assert_int_equal(kernel_stacks_next(&stacks, &look), 0);
		assert_int_equal(head_of(&stacks)->data_tail, head_of(&stacks)->data_head);
		free(stacks.pages);
	}
}

#if defined(__x86_64__)
/* The order of registers in asm/perf_regs.h is ax bx cx dx si di bp sp ip r8 ... */
static void test_registers(void **state)
{
	static const uint8_t expected[ARCH_DWARF_REGS] = {
		0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};
	struct kernel_stacks stacks = make(0);

	(void)state;
	put_look(&stacks, call, FRAMES, words, sizeof(words), NULL);
	assert_int_equal(kernel_stacks_next(&stacks, &look), 1);
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		assert_int_equal(look.registers.r[reg], 100 + expected[reg]);
	free(stacks.pages);
}
#endif

/*
 * Skip records of other types, records without user registers, and records without kernel frames.
 */
static void test_others_are_passed_over(void **state)
{
	static const uint64_t own[] = {USER, 0x4444};
	const struct lies nobody = {.frames = FRAMES, .abi = PERF_SAMPLE_REGS_ABI_NONE,
		.stack = sizeof(words), .filled = 8};
	struct kernel_stacks stacks = make(0);
	struct perf_event_header lost = {.type = PERF_RECORD_LOST, .size = 24};

	(void)state;
	put(&stacks, &lost, sizeof(lost));
	put_word(&stacks, 1);
	put_word(&stacks, 1);
	put_look(&stacks, call, FRAMES, words, sizeof(words), &nobody);
	put_look(&stacks, own, 2, words, sizeof(words), NULL);
	put_look(&stacks, call, FRAMES, words, sizeof(words), NULL);
	expect_look(&stacks);
	free(stacks.pages);
}

static void test_what_cannot_be(void **state)
{
	static const struct lies lies[] = {
		{UINT64_MAX, sizeof(words), 8, PERF_SAMPLE_REGS_ABI_64},
		{FRAMES, UINT64_MAX, 8, PERF_SAMPLE_REGS_ABI_64},
		{FRAMES, KERNEL_STACK_BYTES, 8, PERF_SAMPLE_REGS_ABI_64},
	};
	const struct lies filled = {FRAMES, sizeof(words), UINT64_MAX, PERF_SAMPLE_REGS_ABI_64};
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE};
	struct kernel_stacks stacks = {0};
	uint64_t deep[2 * KERNEL_STACK_FRAMES];

	(void)state;
	assert_int_equal(kernel_stacks_next(&stacks, &look), 0);
	stacks = make(0);
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++)
		put_look(&stacks, call, FRAMES, words, sizeof(words), &lies[i]);
	assert_int_equal(kernel_stacks_next(&stacks, &look), 0);
	put_look(&stacks, call, FRAMES, words, sizeof(words), &filled);
	assert_int_equal(kernel_stacks_next(&stacks, &look), 1);
	assert_int_equal(look.bytes, sizeof(words));
	for (size_t i = 0; i < 2 * KERNEL_STACK_FRAMES; i++)
		deep[i] = i ? 0x8000 + i : KERNEL;
	put_look(&stacks, deep, 2 * KERNEL_STACK_FRAMES, words, sizeof(words), NULL);
	assert_int_equal(kernel_stacks_next(&stacks, &look), 1);
	assert_int_equal(look.count, KERNEL_STACK_FRAMES);
	/*
	 * A record that is smaller than its header, and a record that ends behind the written data.
	 */
	for (header.size = 4; header.size <= 512; header.size += 508) {
		free(stacks.pages);
		stacks = make(0);
		put(&stacks, &header, sizeof(header));
		assert_int_equal(kernel_stacks_next(&stacks, &look), 0);
	}
	free(stacks.pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks),
#if defined(__x86_64__)
		cmocka_unit_test(test_registers),
#endif
		cmocka_unit_test(test_others_are_passed_over),
		cmocka_unit_test(test_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
