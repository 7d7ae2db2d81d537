/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Memory for stubs is never executable and writable at once. If the system refuses executable
 * memory in one way, stubs are made in another way, or the program runs without stubs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/flameprof_stub.h"
#include "libprof/sanitizers.h"
#include "tests/unit/deny.h"
#include "tests/unit/in-child.h"

typedef uintptr_t identity(uintptr_t);

static __attribute__((noinline)) uintptr_t same(uintptr_t value)
{
	return value;
}

#define SAME ((flameprof_function *)same)

static uintptr_t call(flameprof_function *stub, uintptr_t value)
{
	return ((identity *)stub)(value);
}

static int is_plain(enum flameprof_stub_status why)
{
	struct flameprof_arena *calls, *binds;

	if (flameprof_arena_new(&calls, FLAMEPROF_STUB_CALL, SAME, NULL) ||
		flameprof_arena_new(&binds, FLAMEPROF_STUB_BIND, SAME, NULL))
		return 1;
	if (flameprof_arena_status(calls) != why || flameprof_arena_status(binds) != why)
		return 2;
	for (int i = 0; i < 3; i++) {
		flameprof_function *stub = flameprof_stub_new(calls, "s", 1);

		if (stub != SAME || flameprof_stub_new(binds, "s", 1))
			return 3;
		flameprof_stub_free(calls, stub);
	}
	if (flameprof_arena_status(calls) != why)
		return 4;
	flameprof_arena_free(calls);
	flameprof_arena_free(binds);
	return 0;
}

static int works(void)
{
	struct flameprof_arena *arena;
	flameprof_function *stub;
	struct flameprof_code_info info;

	if (flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, SAME, NULL) ||
		flameprof_arena_status(arena) != FLAMEPROF_STUBS_WORK)
		return 11;
	stub = flameprof_stub_new(arena, "s", 1);
	if (stub == SAME || call(stub, 5) != 5 || flameprof_lookup((uintptr_t)stub, &info))
		return 12;
	flameprof_arena_free(arena);
	return flameprof_lookup((uintptr_t)stub, &info) == -ENOENT ? 0 : 13;
}

/* Does /proc/self/maps show memory that is both writable and executable? */
static int has_writable_code(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "rwxp") || strstr(line, "rwxs");
	if (maps)
		fclose(maps);
	return found;
}

static void test_never_writable_and_executable(void **state)
{
	struct flameprof_arena *arena;

	(void)state;
	assert_int_equal(flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, SAME, NULL), 0);
	assert_int_equal(flameprof_arena_status(arena), FLAMEPROF_STUBS_WORK);
	assert_false(has_writable_code());
	flameprof_arena_free(arena);
}

static int seccomp_denies_mprotect(void)
{
	return deny_executable(0) ? CANNOT : works();
}

static int seccomp_denies_all(void)
{
	return deny_executable(1) ? CANNOT : is_plain(FLAMEPROF_STUBS_DENIED);
}

static int mdwe(void)
{
	void *page;

	if (prctl(65 /* PR_SET_MDWE */, 1 /* PR_MDWE_REFUSE_EXEC_GAIN */, 0, 0, 0))
		return CANNOT;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!mprotect(page, 4096, PROT_READ | PROT_EXEC))
		/* Executable memory was not denied, so the test would prove nothing. */
		return 21;
	return works();
}

static int file_limit(void)
{
	struct rlimit limit = {1000, 1000};

	/* A memfd would be larger than this limit, but the attempt must not raise SIGXFSZ. */
	if (deny_executable(0))
		return CANNOT;
	setrlimit(RLIMIT_FSIZE, &limit);
	return is_plain(FLAMEPROF_STUBS_DENIED);
}

static int address_limit(void)
{
	struct rlimit before, limit;
	struct flameprof_arena *arena;
	flameprof_function *stub;
	int status;

	if (UNDER_ASAN)
		return CANNOT; /* a sanitizer needs more memory */
	if (getrlimit(RLIMIT_AS, &before))
		return CANNOT;
	limit = (struct rlimit){1 << 20, before.rlim_max};
	if (setrlimit(RLIMIT_AS, &limit) || mmap(NULL, 1 << 20, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return CANNOT;
	status = is_plain(FLAMEPROF_STUBS_NO_MEMORY);
	if (status || flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, SAME, NULL))
		return status + 30;
	/* Once memory is available again, stubs are made again. */
	setrlimit(RLIMIT_AS, &before);
	stub = flameprof_stub_new(arena, "s", 1);
	return stub != SAME && call(stub, 5) == 5 &&
			       flameprof_arena_status(arena) == FLAMEPROF_STUBS_WORK
		       ? 0
		       : 40;
}

static void test_denied_mprotect(void **state)
{
	(void)state;
	check_in_child(seccomp_denies_mprotect);
}

static void test_denied_everything(void **state)
{
	(void)state;
	check_in_child(seccomp_denies_all);
}

static void test_mdwe(void **state)
{
	(void)state;
	check_in_child(mdwe);
}

static void test_file_limit(void **state)
{
	(void)state;
	check_in_child(file_limit);
}

static void test_address_limit(void **state)
{
	(void)state;
	check_in_child(address_limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_writable_and_executable),
		cmocka_unit_test(test_denied_mprotect),
		cmocka_unit_test(test_denied_everything),
		cmocka_unit_test(test_mdwe),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_address_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
