/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* Recognize every form of function epilogue; reject other code and random bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/epilogue.h"

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

struct form {
	const uint8_t *code;
	unsigned bytes;
	unsigned at; /* the pc */
	bool exact;
	struct arch_epilogue epilogue; /* cfa ra fp others */
};

#if defined(__x86_64__)

static const struct form forms[] = {
	/* ret, rep ret, ret $16 */
	{CODE(0xc3), 0, false, {8, 8, 0, false}},
	{CODE(0xf3, 0xc3), 0, true, {8, 8, 0, false}},
	{CODE(0xc2, 0x10, 0x00), 0, true, {24, 24, 0, false}},
	/* add $8,%rsp; add $0x120,%rsp */
	{CODE(0x48, 0x83, 0xc4, 0x08, 0xc3), 0, false, {16, 8, 0, false}},
	{CODE(0x48, 0x81, 0xc4, 0x20, 0x01, 0, 0, 0xc3), 0, false, {0x128, 8, 0, false}},
	/* pop %rbp; add $16,%rsp; pop %rbx; pop %rbp; pop %r12 */
	{CODE(0x5d, 0xc3), 0, false, {16, 8, 16, false}},
	{CODE(0x48, 0x83, 0xc4, 0x10, 0x5b, 0x5d, 0x41, 0x5c, 0xc3), 0, false, {48, 8, 24, true}},
	/* pop %rbp; ret $8: an 8-byte argument lies above the return address */
	{CODE(0x5d, 0xc2, 0x08, 0x00), 0, false, {24, 16, 24, false}},
	/* vzeroupper */
	{CODE(0xc5, 0xf8, 0x77, 0x5d, 0xc3), 0, false, {16, 8, 16, false}},
	/* pop %rbp; cmp 0x348(%r15),%rsp; ja; ret; the second form has a short offset */
	{CODE(0x5d, 0x49, 0x3b, 0xa7, 0x48, 3, 0, 0, 0x0f, 0x87, 1, 2, 3, 4, 0xc3), 0, false,
		{16, 8, 16, false}},
	{CODE(0x49, 0x3b, 0x67, 0x28, 0x0f, 0x87, 1, 2, 3, 4, 0xc3), 0, true, {8, 8, 0, false}},
	/* CPython's perf trampoline at each of its instructions */
	{CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3),
		0, true, {8, 8, 0, false}},
	{CODE(0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3), 0, true,
		{8, 8, 0, false}},
	{CODE(0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3), 4, true,
		{16, 8, 0, false}},
	{CODE(0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3), 6, false,
		{16, 8, 0, false}},
	/* call *%r9 */
	{CODE(0x48, 0x83, 0xec, 8, 0x41, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3), 0, true,
		{8, 8, 0, false}},
	/* endbr64; push %rbp; mov %rsp,%rbp in both encodings, before the push and behind it */
	{CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5), 0, true, {8, 8, 0, false}},
	{CODE(0x55, 0x48, 0x8b, 0xec), 0, true, {8, 8, 0, false}},
	/* V8: cmp $3,%rcx; jg; ret $24 */
	{CODE(0x48, 0x83, 0xf9, 3, 0x7f, 3, 0xc2, 0x18, 0), 0, true, {32, 32, 0, false}},
	/*
	 * V8: mov -8(%rcx),%rbx; testb $1,0x35(%rbx); jne (or je, jmp); a function's prologue
	 * follows
	 */
	{CODE(0x48, 0x8b, 0x59, 0xf8, 0xf6, 0x43, 0x35, 1, 0x0f, 0x85, 1, 2, 3, 4, 0x55, 0x48, 0x89,
		 0xe5),
		0, true, {8, 8, 0, false}},
	{CODE(0xf6, 0x43, 0x0f, 1, 0x74, 5, 0xe9, 1, 2, 3, 4, 0x55, 0x48, 0x89, 0xe5), 4, true,
		{8, 8, 0, false}},
	{CODE(0x55, 0x48, 0x89, 0xe5), 1, true, {16, 8, 16, false}},
};

static const struct form none[] = {
	/* nop; ret: compilers do not write this */
	{CODE(0x90, 0xc3), 0, false, {0}},
	/*
	 * leave; ret and mov %rbp,%rsp; pop %rbp; ret are no epilogues here: the frame pointer
	 * unwinds them
	 */
	{CODE(0xc9, 0xc3), 0, false, {0}},
	{CODE(0x48, 0x89, 0xec, 0x5d, 0xc3), 0, false, {0}},
	/* pop %rsp */
	{CODE(0x5c, 0xc3), 0, false, {0}},
	/* an adjustment of the stack pointer by 0 or in the wrong direction is rejected */
	{CODE(0x48, 0x83, 0xc4, 0xf8, 0xc3), 0, true, {0}},
	{CODE(0x48, 0x81, 0xc4, 0, 0, 0, 0x80, 0xc3), 0, true, {0}},
	{CODE(0x48, 0x83, 0xec, 0xf8, 0xc3), 0, true, {0}},
	{CODE(0x48, 0x83, 0xec, 0x08, 0xc3), 0, true, {0}},
	/* code that pops a word which it has not pushed */
	{CODE(0x48, 0x83, 0xec, 0x08, 0x5d, 0xc3), 0, true, {0}},
	/*
	 * A return address is never at a function's beginning; in a trampoline it is only behind
	 * the call.
	 */
	{CODE(0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3), 0, false, {0}},
	{CODE(0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3), 0, false, {0}},
	{CODE(0x55, 0x48, 0x89, 0xe5), 0, false, {0}},
	{CODE(0x55, 0x48, 0x89, 0xe5), 1, false, {0}},
	/* mov %rsp,%rbp without a push before it */
	{CODE(0x54, 0x48, 0x89, 0xe5), 1, true, {0}},
	{CODE(0x48, 0x89, 0xe5), 0, true, {0}},
	/* call *(%rcx), jmp *%rcx */
	{CODE(0xff, 0x11, 0xc3), 0, true, {0}},
	{CODE(0xff, 0xe1, 0xc3), 0, true, {0}},
};

/* Bytes from which make_code() composes random code. */
#define PIECE_BYTES 1u
static const uint32_t pieces[] = {0xc3, 0xc2, 0xf3, 0x48, 0x83, 0x81, 0xc4, 0xec, 0x08, 0x00, 0x5d,
	0x5b, 0x5c, 0x41, 0xff, 0xd1, 0x55, 0x89, 0xe5, 0xc5, 0xf8, 0x77, 0x80, 0x7f};

#elif defined(__aarch64__)

#define I(word) (word) & 0xff, (word) >> 8 & 0xff, (word) >> 16 & 0xff, (word) >> 24

static const struct form forms[] = {
	/* ret, retaa, autiasp; ret */
	{CODE(I(0xd65f03c0)), 0, true, {0, 0, 0, false}},
	{CODE(I(0xd65f0bff)), 0, true, {0, 0, 0, false}},
	{CODE(I(0xd50323bf), I(0xd65f03c0)), 0, true, {0, 0, 0, false}},
	/* ldp x29, x30, [sp], #16 */
	{CODE(I(0xa8c17bfd), I(0xd65f03c0)), 0, false, {16, 8, 16, false}},
	/* ldp x19, x20, [sp, #16]; ldp x29, x30, [sp], #32 */
	{CODE(I(0xa94153f3), I(0xa8c27bfd), I(0xd65f03c0)), 0, false, {32, 24, 32, true}},
	/* ldr x30, [sp], #16; ldr x30, [sp, #8]; add sp, sp, #32 */
	{CODE(I(0xf84107fe), I(0xd65f03c0)), 0, false, {16, 16, 0, false}},
	{CODE(I(0xf94007fe), I(0x910083ff), I(0xd65f03c0)), 0, false, {32, 24, 0, false}},
	/* add sp, sp, #1, lsl #12; ldp x29, x30, [sp], #16 */
	{CODE(I(0x914007ff), I(0xa8c17bfd), I(0xd65f03c0)), 0, false, {4112, 8, 16, false}},
	/* paciasp; bti c; stp x29, x30, [sp, #-16]!; mov x29, sp */
	{CODE(I(0xd503233f)), 0, true, {0, 0, 0, false}},
	{CODE(I(0xd503245f)), 0, true, {0, 0, 0, false}},
	{CODE(I(0xa9bf7bfd)), 0, true, {0, 0, 0, false}},
	{CODE(I(0xa9bf7bfd), I(0x910003fd)), 4, true, {16, 8, 16, false}},
};

static const struct form none[] = {
	/* nop; br x30; ret x1 */
	{CODE(I(0xd503201f), I(0xd65f03c0)), 0, true, {0}},
	{CODE(I(0xd61f03c0)), 0, true, {0}},
	{CODE(I(0xd65f0020)), 0, true, {0}},
	/*
	 * ldp x29, x30, [sp], #-16 is rejected; so is ldp x29, x30, [sp, #16], which does not
	 * change sp
	 */
	{CODE(I(0xa8ff7bfd), I(0xd65f03c0)), 0, true, {0}},
	{CODE(I(0xa9417bfd), I(0xd65f03c0)), 0, true, {0}},
	/* ldr x30, [sp], #8 is rejected, because sp would not be aligned */
	{CODE(I(0xf84087fe), I(0xd65f03c0)), 0, true, {0}},
	/* A return address is never at a function's beginning. */
	{CODE(I(0xa9bf7bfd)), 0, false, {0}},
	{CODE(I(0xa9bf7bfd), I(0x910003fd)), 4, false, {0}},
	/* mov x29, sp without a push before it */
	{CODE(I(0xd503201f), I(0x910003fd)), 4, true, {0}},
	{CODE(I(0x910003fd)), 0, true, {0}},
};

#define PIECE_BYTES 4u
static const uint32_t pieces[] = {0xd65f03c0, 0xd50323bf, 0xa8c17bfd, 0xa94153f3, 0xf84107fe,
	0xf94007fe, 0x910083ff, 0xa9bf7bfd, 0x910003fd, 0xd503245f};

#endif

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/*
 * Search for an epilogue. The bytes behind @end are set to @filler and must not change the result.
 */
static int find(const struct form *form, unsigned end, uint8_t filler, struct arch_epilogue *out)
{
	struct arch_code code = {.at = form->at, .end = end, .exact = form->exact};

	memset(code.bytes, filler, sizeof(code.bytes));
	memcpy(code.bytes, form->code, end);
	return arch_find_epilogue(&code, out);
}

static void test_every_form(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(forms); i++) {
		const struct form *form = &forms[i];
		struct arch_epilogue found = {0};

		print_message("form %u\n", i);
		assert_int_equal(find(form, form->bytes, 0xcc, &found), 0);
		assert_int_equal(found.cfa, form->epilogue.cfa);
		assert_int_equal(found.ra, form->epilogue.ra);
		assert_int_equal(found.fp, form->epilogue.fp);
		assert_int_equal(found.others, form->epilogue.others);
		for (unsigned end = form->at; end < form->bytes; end++)
			assert_int_equal(find(form, end, 0xc3, &found), -ENOENT);
	}
}

static void test_what_is_none(void **state)
{
	struct arch_epilogue found;

	(void)state;
	for (unsigned i = 0; i < COUNT(none); i++) {
		print_message("none %u\n", i);
		assert_int_equal(find(&none[i], none[i].bytes, 0xcc, &found), -ENOENT);
	}
}

static uint32_t random_state = 1;

static unsigned random_below(unsigned limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % limit;
}

#if defined(__x86_64__)

static bool is_outermost(const uint8_t *bytes, unsigned count, bool exact)
{
	struct arch_code code = {.end = count, .exact = exact};

	memcpy(code.bytes, bytes, count);
	return arch_is_outermost(&code);
}

/* Code to which a coroutine made by boost's make_fcontext() returns when it ends. */
static void test_who_returns_to_an_exit(void **state)
{
	static const uint8_t checked[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4, 0xf4, 0x90};
	static const uint8_t end[] = {0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4, 0xf4, 0x90};
	uint8_t other[sizeof(end)];

	(void)state;
	assert_true(is_outermost(checked, sizeof(checked), false));
	assert_false(is_outermost(checked + 1, sizeof(checked) - 1, false));
	assert_true(is_outermost(end, sizeof(end), false));
	assert_true(is_outermost(end + 1, sizeof(end) - 1, false));
	assert_false(is_outermost(end, sizeof(end), true));
	for (unsigned count = 0; count < 9; count++)
		assert_false(is_outermost(end, count, false));
	/* Each byte of the code is necessary. */
	for (unsigned at = 2; at < 9; at += at == 3 ? 5 : 1) {
		memcpy(other, end, sizeof(end));
		other[at] = 0x90;
		assert_false(is_outermost(other, sizeof(other), false));
	}
}

#endif

static void test_what_a_direct_call_calls(void **state)
{
#if defined(__x86_64__)
	static const uint8_t ahead[] = {0xe8, 0x40, 0, 0, 0},
			     back[] = {0xe8, 0xf0, 0xff, 0xff, 0xff},
			     by_register[] = {0xff, 0xd0, 0xe8, 0, 0}; /* call *%rax */
#else
	static const uint8_t ahead[] = {0x11, 0, 0, 0x94}, back[] = {0xfc, 0xff, 0xff, 0x97},
			     by_register[] = {0, 0, 0x3f, 0xd6}; /* blr x0 */
#endif
	const uintptr_t behind = 0x1000 + ARCH_CALL_BYTES;

	(void)state;
	assert_int_equal(sizeof(ahead), ARCH_CALL_BYTES);
	assert_int_equal(arch_called(ahead, 0x1000), behind + 0x40);
	assert_int_equal(arch_called(back, 0x1000), behind - (ARCH_CALL_BYTES == 5 ? 0x10 : 0x14));
	assert_int_equal(arch_called(by_register, 0x1000), 0);
}

/* Fill @bytes with pieces of epilogues, and flip a bit in some bytes. */
static void make_code(uint8_t *bytes, unsigned count)
{
	uint32_t piece = 0;

	for (unsigned i = 0; i < count; i++, piece >>= 8) {
		if (i % PIECE_BYTES == 0)
			piece = pieces[random_below(COUNT(pieces))];
		bytes[i] = (uint8_t)piece;
		if (!random_below(32))
			bytes[i] ^= (uint8_t)(1u << random_below(8));
	}
}

/* For any code the result is valid and does not depend on bytes behind the end of the code. */
static void test_hostile_code(void **state)
{
	uint8_t bytes[ARCH_CODE_BYTES];
	unsigned found_count = 0;

	(void)state;
	for (unsigned round = 0; round < 1000000; round++) {
		unsigned end = random_below(ARCH_CODE_BYTES + 1);
		struct form form = {.code = bytes, .bytes = end, .exact = random_below(2)};
		struct arch_epilogue one = {0}, other = {0};

		form.at = random_below(end < 8 ? end + 1 : 8);
		make_code(bytes, end);

		int error = find(&form, end, 0xc3, &one);

		assert_int_equal(error, find(&form, end, 0xff, &other));
		if (error)
			continue;
		found_count++;
		assert_memory_equal(&one, &other, sizeof(one));
		/* Every word that the epilogue loads lies between the stack pointer and the CFA. */
		assert_true(one.ra <= one.cfa && one.fp <= one.cfa);
	}
	assert_true(found_count > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form),
		cmocka_unit_test(test_what_is_none),
#if defined(__x86_64__)
		cmocka_unit_test(test_who_returns_to_an_exit),
#endif
		cmocka_unit_test(test_what_a_direct_call_calls),
		cmocka_unit_test(test_hostile_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
