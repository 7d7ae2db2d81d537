/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Derive facts from the code of opcache's JIT compiler: the bytes pushed at each instruction of a
 * trace's exit, the code buffer's position, and constants that functions return.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/runtime/php_jit.c"

#define SPACE 512u

static uint64_t words[SPACE / 8];

static uint8_t *const code = (uint8_t *)words;

static int read_word(const void *context, uintptr_t address, uintptr_t *word)
{
	(void)context;
	memcpy(word, (const void *)address, sizeof(*word));
	return 0;
}

static struct arch_text text_of_code(void)
{
	return (struct arch_text){(uintptr_t)code, (uintptr_t)code + SPACE, read_word, NULL};
}

#if ARCH_PHP_HAS_JIT

#define PUT(at, ...) \
	memcpy(code + (at), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static uint32_t pushed_at(unsigned at)
{
	const struct arch_text text = text_of_code();

	return arch_php_pushed(&text, (uintptr_t)code + at);
}

static void an_exit_pushes_all_registers(void **state)
{
	(void)state;
	memset(words, 0xcc, sizeof(words));
	PUT(0, 0x6a, 0x05, 0xeb, 0x0c);			      /* push $5; jmp 16 */
	PUT(16, 0x48, 0x81, 0x04, 0x24, 0x40, 0, 0, 0);	      /* addq $64,(%rsp) */
	PUT(24, 0xe9, 3, 0, 0, 0);			      /* jmp 32 */
	PUT(32, 0x48, 0x81, 0xec, 0xf8, 0, 0, 0);	      /* sub $0xf8,%rsp */
	PUT(39, 0x4c, 0x89, 0x7c, 0x24, 0x78);		      /* mov %r15,0x78(%rsp) */
	PUT(44, 0x48, 0x8b, 0xbc, 0x24, 0xf8, 0, 0, 0);	      /* mov 0xf8(%rsp),%rdi */
	PUT(52, 0x48, 0x89, 0xe6);			      /* mov %rsp,%rsi */
	PUT(55, 0xf2, 0x0f, 0x11, 0x84, 0x24, 0x80, 0, 0, 0); /* movsd %xmm0,0x80(%rsp) */
	PUT(64, 0x4d, 0x89, 0x3e);			      /* mov %r15,(%r14) */
	PUT(67, 0xff, 0xd0);				      /* call *%rax */
	PUT(69, 0x48, 0x81, 0xc4, 0, 1, 0, 0);		      /* add $0x100,%rsp */
	PUT(76, 0x85, 0xc0, 0x75, 0x10);		      /* test %eax,%eax; jne */
	assert_int_equal(pushed_at(0), 0);
	assert_int_equal(pushed_at(2), 8);
	assert_int_equal(pushed_at(16), 8);
	assert_int_equal(pushed_at(24), 8);
	assert_int_equal(pushed_at(32), 8);
	assert_int_equal(pushed_at(39), 0x100);
	assert_int_equal(pushed_at(55), 0x100);
	assert_int_equal(pushed_at(67), 0x100);
	assert_int_equal(pushed_at(69), 0x100);
	assert_int_equal(pushed_at(76), 0);
}

static void other_code_has_nothing_on_the_stack(void **state)
{
	(void)state;
	memset(words, 0xcc, sizeof(words));
	PUT(0, 0x4d, 0x8b, 0x3e);	/* mov (%r14),%r15 */
	PUT(3, 0xff, 0xd0);		/* call *%rax */
	PUT(5, 0x49, 0x83, 0xc7, 0x20); /* add $0x20,%r15 */
	PUT(9, 0x41, 0xff, 0x27);	/* jmp *(%r15) */
	PUT(12, 0x50, 0x58, 0xc3);	/* push %rax; pop %rax; ret */
	PUT(15, 0xeb, 0xfe);		/* jmp to itself */
	for (unsigned at = 0; at < 12; at += at == 3 ? 2 : at == 5 ? 4 : 3)
		assert_int_equal(pushed_at(at), 0);
	assert_int_equal(pushed_at(12), 0);
	assert_int_equal(pushed_at(13), 8);
	assert_int_equal(pushed_at(15), 0);
	assert_int_equal(pushed_at(SPACE - 4), 0);
}

static void the_buffer_is_what_mprotect_is_given(void **state)
{
	uintptr_t start, bytes;

	(void)state;
	memset(words, 0x90, sizeof(words));
	assert_int_equal(arch_php_find_buffer(code, 0x1000, &start, &bytes), -ENOENT);
	PUT(5, 0x48, 0x8b, 0x35, 0x10, 0, 0, 0); /* mov 0x10(%rip),%rsi */
	assert_int_equal(arch_php_find_buffer(code, 0x1000, &start, &bytes), -ENOENT);
	PUT(17, 0x48, 0x8b, 0x3d, 0xf0, 0xff, 0xff, 0xff); /* mov -0x10(%rip),%rdi */
	assert_int_equal(arch_php_find_buffer(code, 0x1000, &start, &bytes), 0);
	assert_int_equal(bytes, 0x1000 + 12 + 0x10);
	assert_int_equal(start, 0x1000 + 24 - 0x10);
}

/*
 * The function that zend_jit_blacklist_function() calls second contains the addresses of the
 * variables that describe the code buffer.
 */
static void the_buffer_is_found_by_who_asks_for_it(void **state)
{
	static uintptr_t variables[2] = {0x300000, 0x40000000};
	const uint32_t calls[] = {20, 100}, functions[] = {200, 300};
	struct php_buffer found = {0, 0};
	struct runtime_reader reader;
	int32_t distance;

	(void)state;
	runtime_reader_init(&reader, getpid(), 0);
	memset(words, 0x90, sizeof(words));
	for (unsigned i = 0; i < 2; i++) {
		code[calls[i]] = 0xe8;
		distance = (int32_t)(functions[i] - calls[i] - 5);
		memcpy(code + calls[i] + 1, &distance, sizeof(distance));
	}
	PUT(200, 0x48, 0x8b, 0x3d, 0, 0, 0, 0); /* mov 0(%rip),%rdi */
	assert_int_equal(ask_called(&reader, (uintptr_t)code, &found), -ENOENT);
	PUT(320, 0x48, 0x8b, 0x35, 0, 0, 0, 0, 0x48, 0x8b, 0x3d, 0, 0, 0, 0);
	for (unsigned i = 0; i < 2; i++) {
		distance = (int32_t)((uintptr_t)&variables[i] - (uintptr_t)code - 327 - 7 * i);
		memcpy(code + 323 + 7 * i, &distance, sizeof(distance));
	}
	runtime_forget(&reader);
	assert_int_equal(ask_called(&reader, (uintptr_t)code, &found), 0);
	assert_int_equal(found.start, 0x40000000);
	assert_int_equal(found.bytes, 0x300000);
	/* The call is too far behind the begin. */
	code[100] = 0x90;
	code[CALLER_BYTES - 4] = 0xe8;
	distance = (int32_t)(300 - (CALLER_BYTES + 1));
	memcpy(code + CALLER_BYTES - 3, &distance, sizeof(distance));
	runtime_forget(&reader);
	assert_int_equal(ask_called(&reader, (uintptr_t)code, &found), -ENOENT);
}

#else

static void nothing_is_known_of_it(void **state)
{
	const struct arch_text text = text_of_code();
	uintptr_t start, bytes;

	(void)state;
	assert_int_equal(arch_php_pushed(&text, (uintptr_t)code), 0);
	assert_int_equal(arch_php_find_buffer(code, 0x1000, &start, &bytes), -ENOENT);
}

#endif

/* php_version_id() of 8.4.27, zend_vm_kind(), and two functions that return no constant. */
static void what_a_function_returns(void **state)
{
#if defined(__x86_64__)
	static const uint8_t version[16] = {0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x2b, 0x3a, 1, 0, 0xc3},
			     kind[16] = {0xb8, 4, 0, 0, 0, 0xc3},
			     load[16] = {0x8b, 4, 0, 0, 0, 0xc3},
			     goes_on[16] = {0xb8, 4, 0, 0, 0, 0x48};
#else
	static const uint32_t version[4] = {0xd503245f, 0x52874560, 0x72a00020, 0xd65f03c0},
			      kind[4] = {0x52800080, 0xd65f03c0},
			      load[4] = {0xb9400400, 0xd65f03c0},
			      goes_on[4] = {0x52800080, 0x52800080};
#endif

	(void)state;
	assert_int_equal(arch_php_returned((const uint8_t *)version), 80427);
	assert_int_equal(arch_php_returned((const uint8_t *)kind), 4);
	assert_int_equal(arch_php_returned((const uint8_t *)load), 0);
	assert_int_equal(arch_php_returned((const uint8_t *)goes_on), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if ARCH_PHP_HAS_JIT
		cmocka_unit_test(an_exit_pushes_all_registers),
		cmocka_unit_test(other_code_has_nothing_on_the_stack),
		cmocka_unit_test(the_buffer_is_what_mprotect_is_given),
		cmocka_unit_test(the_buffer_is_found_by_who_asks_for_it),
#else
		cmocka_unit_test(nothing_is_known_of_it),
#endif
		cmocka_unit_test(what_a_function_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
