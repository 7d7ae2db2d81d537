/* SPDX-License-Identifier: MIT */
/*
 * The life of stubs in numbers: made, freed and made again, by many threads, in a million; in
 * processes that are refused executable memory, that fork, that save an image of themselves.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/flameprof_stub.h"

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

static struct flameprof_arena *new_arena(enum flameprof_stub_kind kind)
{
	struct flameprof_arena *arena;

	assert_int_equal(flameprof_arena_new(&arena, kind, SAME, NULL), 0);
	return arena;
}

/* What the stub says of itself, from its first byte to its last. */
static void check_stub(flameprof_function *stub, const char *name, uintptr_t payload)
{
	struct flameprof_code_info info;

	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), 0);
	assert_int_equal(info.start, (uintptr_t)stub);
	assert_string_equal(info.name, name);
	assert_int_equal(info.payload, payload);
	assert_int_equal(info.kind, FLAMEPROF_CODE_CALL_STUB);
	assert_int_equal(flameprof_lookup((uintptr_t)stub + info.bytes - 1, &info), 0);
	assert_int_equal(info.start, (uintptr_t)stub);
}

static void test_freed_stubs_are_unknown_and_used_again(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	struct flameprof_code_info info;
	flameprof_function *first = flameprof_stub_new(arena, "first", 1);
	flameprof_function *second = flameprof_stub_new(arena, "second", 2);

	(void)state;
	check_stub(first, "first", 1);
	check_stub(second, "second", 2);
	flameprof_stub_free(arena, first);
	assert_int_equal(flameprof_lookup((uintptr_t)first, &info), -ENOENT);
	check_stub(second, "second", 2);
	assert_ptr_equal(flameprof_stub_new(arena, "third, with a longer name than the first", 3),
		first);
	check_stub(first, "third, with a longer name than the first", 3);
	assert_int_equal(call(first, 7), 7);
	flameprof_arena_free(arena);
	assert_int_equal(flameprof_lookup((uintptr_t)second, &info), -ENOENT);
}

static void test_frees_of_what_is_no_stub(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	struct flameprof_arena *other = new_arena(FLAMEPROF_STUB_CALL);
	flameprof_function *stub = flameprof_stub_new(arena, "s", 1);
	flameprof_function *next;

	(void)state;
	flameprof_stub_free(arena, NULL);
	flameprof_stub_free(arena, SAME);
	flameprof_stub_free(arena, (flameprof_function *)test_frees_of_what_is_no_stub);
	flameprof_stub_free(arena, (flameprof_function *)((uintptr_t)stub + 1));
	flameprof_stub_free(other, stub);
	check_stub(stub, "s", 1);
	flameprof_stub_free(arena, stub);
	flameprof_stub_free(arena, stub);
	/* Freed once: it is had once. */
	next = flameprof_stub_new(arena, "t", 2);
	assert_ptr_equal(next, stub);
	assert_ptr_not_equal(flameprof_stub_new(arena, "u", 3), stub);
	flameprof_arena_free(arena);
	flameprof_arena_free(other);
}

static void test_names(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	struct flameprof_code_info info;
	flameprof_function *stub;
	char name[FLAMEPROF_NAME_BYTES + 100];

	(void)state;
	check_stub(flameprof_stub_new(arena, NULL, 0), "[anonymous]", 0);
	check_stub(flameprof_stub_new(arena, "", 0), "[anonymous]", 0);
	check_stub(flameprof_stub_new(arena, "(setf x); \n\xff", 0), "(setf x); \n\xff", 0);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	stub = flameprof_stub_new(arena, name, 0);
	memset(name, 'x', sizeof(name) - 1); /* it was copied */
	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), 0);
	assert_int_equal(strlen(info.name), FLAMEPROF_NAME_BYTES);
	assert_int_equal(info.name[FLAMEPROF_NAME_BYTES - 1], 'n');
	flameprof_arena_free(arena);
}

#define MANY 1000000u

static void test_a_million_stubs(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	/* In qemu all of this takes a while. */
	uint32_t many = getenv("TEST_EMULATED") ? MANY / 20 : MANY;
	flameprof_function **stubs = malloc(many * sizeof(*stubs));
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < many; i++) {
		snprintf(name, sizeof(name), "function %u", i);
		stubs[i] = flameprof_stub_new(arena, name, i);
		assert_ptr_not_equal(stubs[i], SAME);
	}
	assert_int_equal(flameprof_arena_status(arena), FLAMEPROF_STUBS_WORK);
	for (uint32_t i = 0; i < many; i += 997) {
		snprintf(name, sizeof(name), "function %u", i);
		check_stub(stubs[i], name, i);
		assert_int_equal(call(stubs[i], i), i);
	}
	for (uint32_t i = 0; i < many; i++)
		flameprof_stub_free(arena, stubs[i]);
	/* All of them are to be had again, each once. */
	for (uint32_t i = many; i-- > 0;)
		assert_ptr_equal(flameprof_stub_new(arena, "again", 0), stubs[i]);
	free(stubs);
	flameprof_arena_free(arena);
}

#define THREADS 16
#define HELD    100

static struct flameprof_arena *shared;

/* Nobody else may get a stub while it is ours: its payload and its name stay what they are. */
static void *make_and_free(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	unsigned rounds = getenv("TEST_EMULATED") ? 5 : 100;
	flameprof_function *held[HELD];
	struct flameprof_code_info info;
	uintptr_t wrong = 0;
	char name[32];

	for (unsigned round = 0; round < rounds; round++) {
		for (uintptr_t i = 0; i < HELD; i++) {
			snprintf(name, sizeof(name), "%u/%u/%u", (unsigned)number, round, (unsigned)i);
			held[i] = flameprof_stub_new(shared, name, number << 32 | i);
		}
		for (uintptr_t i = 0; i < HELD; i++) {
			snprintf(name, sizeof(name), "%u/%u/%u", (unsigned)number, round, (unsigned)i);
			wrong += call(held[i], i) != i;
			wrong += flameprof_lookup((uintptr_t)held[i], &info) ||
				 info.payload != (number << 32 | i) || strcmp(info.name, name);
		}
		for (unsigned i = 0; i < HELD; i++)
			flameprof_stub_free(shared, held[i]);
	}
	return (void *)wrong;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	shared = new_arena(FLAMEPROF_STUB_CALL);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_and_free, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	flameprof_arena_free(shared);
}

/* Arenas that come and go while others look: what was freed is not found, what is there is. */
static void *make_arenas(void *argument)
{
	unsigned rounds = getenv("TEST_EMULATED") ? 10 : 200;
	uintptr_t wrong = 0;

	(void)argument;
	for (unsigned round = 0; round < rounds; round++) {
		struct flameprof_arena *arena;
		flameprof_function *stub;
		struct flameprof_code_info info;

		flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, SAME, NULL);
		stub = flameprof_stub_new(arena, "short", round);
		wrong += call(stub, round) != round || flameprof_lookup((uintptr_t)stub, &info) ||
			 info.payload != round;
		flameprof_arena_free(arena);
	}
	return (void *)wrong;
}

static void test_arenas_of_many_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_arenas, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

/* Run @body in a child; it answers 0 when all is well. */
static int in_child(int (*body)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit(body());
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static struct flameprof_arena *inherited;
static flameprof_function *inherited_stub;

static int use_inherited(void)
{
	struct flameprof_code_info info;
	flameprof_function *stub = flameprof_stub_new(inherited, "child's", 5);

	if (call(inherited_stub, 3) != 3 || flameprof_lookup((uintptr_t)inherited_stub, &info) ||
		strcmp(info.name, "parent's"))
		return 1;
	if (stub == SAME || call(stub, 4) != 4 || flameprof_lookup((uintptr_t)stub, &info) ||
		strcmp(info.name, "child's"))
		return 2;
	flameprof_stub_free(inherited, inherited_stub);
	flameprof_arena_free(inherited);
	return 0;
}

static int stop_making; /* atomic */

static void *make_until_told(void *argument)
{
	while (!__atomic_load_n(&stop_making, __ATOMIC_RELAXED))
		make_arenas(argument);
	return NULL;
}

static void test_fork(void **state)
{
	unsigned forks = getenv("TEST_EMULATED") ? 3 : 100;
	pthread_t threads[2];

	(void)state;
	inherited = new_arena(FLAMEPROF_STUB_CALL);
	inherited_stub = flameprof_stub_new(inherited, "parent's", 1);
	__atomic_store_n(&stop_making, 0, __ATOMIC_RELAXED);
	/* Threads that hold locks at any moment. */
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, make_until_told, NULL);
	for (unsigned i = 0; i < forks; i++)
		assert_int_equal(in_child(use_inherited), 0);
	__atomic_store_n(&stop_making, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check_stub(inherited_stub, "parent's", 1);
	flameprof_arena_free(inherited);
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

/* Is any page of ours writable and executable at once? Reads what the kernel says. */
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
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);

	(void)state;
	assert_false(has_writable_code());
	flameprof_arena_free(arena);
}

/* mprotect() to executable answers EACCES, as under prctl(PR_SET_MDWE); @memfd: so does memfd_create(). */
static int deny(int memfd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 2, 1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, memfd ? SYS_memfd_create : 0xffff, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#define CANNOT 99 /* the system has no such thing */

static int seccomp_denies_mprotect(void)
{
	return deny(0) ? CANNOT : works();
}

static int seccomp_denies_all(void)
{
	return deny(1) ? CANNOT : is_plain(FLAMEPROF_STUBS_DENIED);
}

static int mdwe(void)
{
	void *page;

	if (prctl(65 /* PR_SET_MDWE */, 1 /* PR_MDWE_REFUSE_EXEC_GAIN */, 0, 0, 0))
		return CANNOT;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 21; /* it does not deny: the test would show nothing */
	return works();
}

static int file_limit(void)
{
	struct rlimit limit = {1000, 1000};

	/* The memfd would be larger: no SIGXFSZ, please. */
	if (deny(0))
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

	if (getrlimit(RLIMIT_AS, &before))
		return CANNOT;
	limit = (struct rlimit){1 << 20, before.rlim_max};
	if (setrlimit(RLIMIT_AS, &limit) || mmap(NULL, 1 << 20, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return CANNOT;
	status = is_plain(FLAMEPROF_STUBS_NO_MEMORY);
	if (status || flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, SAME, NULL))
		return status + 30;
	/* It goes on when there is memory again. */
	setrlimit(RLIMIT_AS, &before);
	stub = flameprof_stub_new(arena, "s", 1);
	return stub != SAME && call(stub, 5) == 5 &&
			       flameprof_arena_status(arena) == FLAMEPROF_STUBS_WORK
		       ? 0
		       : 40;
}

static void check_in_child(int (*body)(void))
{
	int status = in_child(body);

	if (status == CANNOT)
		skip();
	assert_int_equal(status, 0);
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
		cmocka_unit_test(test_freed_stubs_are_unknown_and_used_again),
		cmocka_unit_test(test_frees_of_what_is_no_stub),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_a_million_stubs),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_arenas_of_many_threads),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_never_writable_and_executable),
		cmocka_unit_test(test_denied_mprotect),
		cmocka_unit_test(test_denied_everything),
		cmocka_unit_test(test_mdwe),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_address_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
