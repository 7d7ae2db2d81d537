/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Find the number of the system call that an instruction makes, in functions of libc that are named
 * after their system call.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "arch/cancellable.h"
#include "arch/syscall.h"

#define FUNCTION_BYTES 96u

#ifdef __x86_64__
#define STEP 1u
#else
#define STEP 4u
#endif

static const struct {
	const char *function;
	long number;
} calls[] = {
	{"getppid", SYS_getppid},
	{"getuid", SYS_getuid},
	{"getegid", SYS_getegid},
	{"umask", SYS_umask},
	{"chdir", SYS_chdir},
	{"fchdir", SYS_fchdir},
	{"dup", SYS_dup},
	{"getsid", SYS_getsid},
	{"sethostname", SYS_sethostname},
	{"munmap", SYS_munmap},
	{"mprotect", SYS_mprotect},
	{"listen", SYS_listen},
	{"bind", SYS_bind},
	{"epoll_create1", SYS_epoll_create1},
	{"inotify_add_watch", SYS_inotify_add_watch},
	{"sched_yield", SYS_sched_yield},
	{"setitimer", SYS_setitimer},
	{"flock", SYS_flock},
	/*
	 * These cancellation points contain two system calls. From glibc 2.41 on they pass the
	 * number to another function.
	 */
	{"read", SYS_read},
	{"write", SYS_write},
	{"fsync", SYS_fsync},
	{"accept4", SYS_accept4},
};

/*
 * Return the number at the first instruction of @function that makes or passes a system call; -1 if
 * there is none.
 */
static long first_call(const char *function)
{
	/* Search libc only, because a sanitizer may replace the function. */
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	const uint8_t *code = libc ? dlsym(libc, function) : NULL;

	assert_non_null(code);
	for (unsigned end = 4; end <= FUNCTION_BYTES; end += STEP) {
		long number = arch_syscall_before(
			code + end - ARCH_SYSCALL_CODE, ARCH_SYSCALL_CODE);

		if (number == -1)
			number = arch_cancellable_number(code, end);
		if (number != -1)
			return number;
	}
	return -1;
}

static void test_functions_of_libc(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (first_call(calls[i].function) != calls[i].number)
			fail_msg("%s: %ld, not %ld", calls[i].function,
				first_call(calls[i].function), calls[i].number);
}

#ifdef __x86_64__
#define SYSCALL "\x0f\x05"

static const struct {
	const char *code;
	unsigned bytes;
	long number;
} pieces[] = {
	{"\xb8\xca\0\0\0" SYSCALL, 7, ARCH_SYSCALL_NUMBERLESS}, /* what is before may be a prefix */
	{"\x90\xb8\xca\0\0\0" SYSCALL, 8, 202},
	{"\x90\xb8\xca\0\0\0\x48\x89\xfe" SYSCALL, 11, 202},
	{"\x90\x41\xb8\xca\0\0\0" SYSCALL, 9, ARCH_SYSCALL_NUMBERLESS}, /* r8d */
	{"\x90\x41\xb8\xca\0\0\0\x44\x89\xc0" SYSCALL, 12, 202},	/* and eax from it */
	{"\x90\xb8\xca\0\0\0\x44\x89\xc0" SYSCALL, 11, ARCH_SYSCALL_NUMBERLESS},
	{"\x90\xb8\xca\0\0\0\x8b\x07" SYSCALL, 10, ARCH_SYSCALL_NUMBERLESS}, /* from memory */
	{"\x90\xb8\xca\0\0\0" SYSCALL SYSCALL, 10, ARCH_SYSCALL_NUMBERLESS}, /* the first one's */
	{"\x90\x31\xc0" SYSCALL, 5, 0},
	{"\x90\x31\xc0\xb0\x38" SYSCALL, 7, ARCH_SYSCALL_NUMBERLESS}, /* al alone */
	{"\x90\x48\xc7\xc0\x0f\0\0\0" SYSCALL, 10, 15},
	{"\x90\xb8\xca\0\0\x01" SYSCALL, 8, ARCH_SYSCALL_NUMBERLESS}, /* no such number */
	{SYSCALL, 2, ARCH_SYSCALL_NUMBERLESS},
	{"\x90\xb8\xca\0\0\0\x0f\x34", 8, -1},
	{"\x05", 1, -1},
	{"", 0, -1},
};
#else
#define SVC "\x01\0\0\xd4"

static const struct {
	const char *code;
	unsigned bytes;
	long number;
} pieces[] = {
	{"\x48\x0c\x80\xd2" SVC, 8, 98},			      /* mov x8, #98 */
	{"\x48\x0c\x80\x52\xe1\x03\x02\xaa" SVC, 12, 98},	      /* w8; mov x1, x2 */
	{"\x48\x0c\x80\xd2\xe8\x03\x02\xaa" SVC, 12, ARCH_SYSCALL_NUMBERLESS}, /* mov x8, x2 */
	{"\x13\x48\x0c\x80\xd2" SVC, 9, 98},
	{SVC, 4, ARCH_SYSCALL_NUMBERLESS},
	{"\x48\x0c\x80\xd2", 4, -1},
	{"", 0, -1},
};
#endif

static void test_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		uint8_t code[32];
		long number;

		memcpy(code, pieces[i].code, pieces[i].bytes);
		number = arch_syscall_before(code, pieces[i].bytes);
		if (number != pieces[i].number)
			fail_msg("piece %zu: %ld, not %ld", i, number, pieces[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_of_libc),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
