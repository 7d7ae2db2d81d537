/* SPDX-License-Identifier: MIT */
/* Checked also: threads, emulated. */
/*
 * Use intercept stubs as a host does: which stubs exist, when the tick check runs, arguments and
 * results, fork(), and suspending stubs while the host saves an image of its memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/intercept-fixture.h"

typedef uint64_t builtin(uint64_t);

static uint32_t ticks_made;
static unsigned calls;

static __attribute__((noinline)) uint64_t triple(uint64_t a)
{
	calls++;
	raise_ticks(ticks_made);
	return 3 * a;
}

static __attribute__((noinline)) uint64_t quadruple(uint64_t a)
{
	return 4 * a;
}

#define TRIPLE	  ((flameprof_function *)triple)
#define QUADRUPLE ((flameprof_function *)quadruple)

static builtin *stub_of_triple(void)
{
	ticks_made = 0;
	return (builtin *)fixture_stub(TRIPLE, "triple", 0);
}

static void test_the_same_again(void **state)
{
	struct flameprof_signature two = {.stack_words = 2}, same_two = {.stack_words = 2,
		.integer_arguments = 3, .memory_result = 1};
	flameprof_function *stub = (flameprof_function *)stub_of_triple();
	flameprof_function *with_words = flameprof_intercept(TRIPLE, "triple", &two);

	(void)state;
	assert_ptr_equal(flameprof_intercept(TRIPLE, "triple", NULL), stub);
	assert_ptr_equal(flameprof_intercept(stub, "triple", NULL), stub);
	assert_ptr_equal(flameprof_intercept(stub, "another", &two), stub);
	/* A signature's stack_words distinguishes stubs; its other fields do not. */
	assert_ptr_not_equal(with_words, stub);
	assert_ptr_equal(flameprof_intercept(TRIPLE, "triple", &same_two), with_words);
	assert_ptr_not_equal(flameprof_intercept(TRIPLE, "other", NULL), stub);
	assert_ptr_not_equal(flameprof_intercept(QUADRUPLE, "triple", NULL), stub);
	assert_null(flameprof_intercept(NULL, "triple", NULL));
	assert_ptr_equal(flameprof_intercept_original(stub), TRIPLE);
	assert_ptr_equal(flameprof_intercept_original(TRIPLE), TRIPLE);
	assert_null(flameprof_intercept_original(NULL));
	/* An address inside a stub is returned unchanged, because it is not the stub's address. */
	assert_ptr_equal(flameprof_intercept_original((flameprof_function *)((char *)stub + 4)),
		(char *)stub + 4);
}

static void test_impossible_signatures(void **state)
{
	struct flameprof_signature most = {.stack_words = 64}, more = {.stack_words = 65};
	struct flameprof_signature later = {.reserved = {0, 1}};

	(void)state;
	stub_of_triple();
	assert_ptr_not_equal(flameprof_intercept(TRIPLE, "triple", &most), TRIPLE);
	assert_ptr_equal(flameprof_intercept(TRIPLE, "triple", &more), TRIPLE);
	assert_ptr_equal(flameprof_intercept(TRIPLE, "triple", &later), TRIPLE);
	assert_int_equal(flameprof_intercept_status(), FLAMEPROF_STUBS_WORK);
}

static void test_names(void **state)
{
	static char lengthy[3 * FLAMEPROF_NAME_BYTES];
	struct flameprof_code_info info;
	flameprof_function *stub;

	(void)state;
	stub = (flameprof_function *)stub_of_triple();
	assert_int_equal(flameprof_lookup((uintptr_t)stub + 9, &info), 0);
	assert_int_equal(info.kind, FLAMEPROF_CODE_INTERCEPT);
	assert_int_equal(info.start, (uintptr_t)stub);
	assert_int_equal(info.payload, (uintptr_t)triple);
	assert_string_equal(info.name, "triple");

	stub = flameprof_intercept(TRIPLE, NULL, NULL);
	assert_ptr_equal(flameprof_intercept(TRIPLE, "", NULL), stub);
	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), 0);
	assert_string_equal(info.name, "[anonymous]");

	memset(lengthy, 'n', sizeof(lengthy) - 1);
	stub = flameprof_intercept(TRIPLE, lengthy, NULL);
	assert_ptr_equal(flameprof_intercept(TRIPLE, lengthy, NULL), stub);
	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), 0);
	assert_int_equal(strlen(info.name), FLAMEPROF_NAME_BYTES);
	/* Names that are equal up to the length that stubs keep count as equal. */
	lengthy[FLAMEPROF_NAME_BYTES - 1] = '\0';
	assert_ptr_not_equal(flameprof_intercept(TRIPLE, lengthy, NULL), stub);
}

static void test_ticks_are_checked_once(void **state)
{
	builtin *stub = stub_of_triple();

	(void)state;
	fixture_begin(NULL);
	for (int i = 0; i < 100; i++)
		assert_int_equal(stub(5), 15);
	assert_int_equal(checks, 0);
	/* Several ticks during one call cause one check, which gets their number. */
	ticks_made = 5;
	assert_int_equal(stub(5), 15);
	assert_int_equal(checks, 1);
	assert_int_equal(checked_ticks, 5);
	ticks_made = 0;
	stub(5);
	assert_int_equal(checks, 1);
	/* A counter that has only its highest bit set also causes a check. */
	raise_ticks(1u << 31);
	stub(5);
	assert_int_equal(checks, 2);
	assert_int_equal(flameprof_interrupt_ticks, 0);
}

static builtin *recursing;

static void call_intercepted(void)
{
	raise_ticks(1);
	assert_int_equal(recursing(7), 21);
	assert_int_equal(checks, 1);
}

static void test_no_check_within_a_check(void **state)
{
	(void)state;
	recursing = stub_of_triple();
	fixture_begin(call_intercepted);
	ticks_made = 1;
	assert_int_equal(recursing(5), 15);
	assert_int_equal(checks, 1);
	/* The two ticks that were raised during the check are in the next check. */
	in_check = NULL;
	ticks_made = 0;
	recursing(5);
	assert_int_equal(checks, 2);
	assert_int_equal(checked_ticks, 3);
}

static jmp_buf out;

static void jump(void)
{
	raise_ticks(1);
	longjmp(out, 1);
}

static void test_longjmp_passes(void **state)
{
	void (*stub)(void) = fixture_stub(jump, "jump", 3);

	(void)state;
	fixture_begin(NULL);
	for (volatile int i = 0; i < 1000; i++) {
		if (!setjmp(out)) {
			stub();
			fail();
		}
	}
	assert_int_equal(checks, 0);
	stub_of_triple()(1);
	assert_int_equal(checked_ticks, 1000);
}

static struct flameprof_code_info in_the_check;
static uintptr_t payload_in_the_check;

/* Search for the stub's frame by following the frame pointers from the check. */
static void look_around(void)
{
	uintptr_t *frame = __builtin_frame_address(0);

	while (flameprof_lookup(frame[1], &in_the_check))
		frame = (uintptr_t *)frame[0];
	payload_in_the_check = *(uintptr_t *)(frame[0] + (uintptr_t)FLAMEPROF_STUB_PAYLOAD);
}

static void test_the_check_is_named(void **state)
{
	(void)state;
	fixture_begin(look_around);
	raise_ticks(1);
	stub_of_triple()(1);
	assert_int_equal(checks, 1);
	assert_string_equal(in_the_check.name, "triple");
	assert_int_equal(in_the_check.kind, FLAMEPROF_CODE_INTERCEPT);
	assert_int_equal(payload_in_the_check, (uintptr_t)triple);
}

/* Sanitizers reserve the parts of the address space that this test needs. */
extern void __tsan_init(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));

/* Functions of distant libraries get stubs near them until no further arena is available. */
static void test_far_originals(void **state)
{
	struct flameprof_signature words = {.stack_words = 5};
	unsigned near = 0;

	(void)state;
	stub_of_triple();
	for (uintptr_t i = 1; i <= 40; i++) {
		flameprof_function *original = (flameprof_function *)(i << 36 | 1u << 30);
		flameprof_function *stub = flameprof_intercept(original, "far", &words);

		assert_ptr_not_equal(stub, original);
		assert_ptr_equal(flameprof_intercept_original(stub), original);
		assert_ptr_equal(flameprof_intercept(original, "far", &words), stub);
		near += (uintptr_t)stub >> 32 == (uintptr_t)original >> 32;
	}
	if (!__tsan_init && !__asan_init)
		assert_in_range(near, 12, 40);
}

#define THREADS 16
#define NAMES	300u

static flameprof_function *made[THREADS][NAMES];

static void *make_all(void *argument)
{
	flameprof_function **mine = argument;
	char name[32];

	for (unsigned i = 0; i < NAMES; i++) {
		struct flameprof_signature words = {.stack_words = i % 3};

		snprintf(name, sizeof(name), "of all threads %u", i);
		mine[i] = flameprof_intercept(QUADRUPLE, name, &words);
	}
	return NULL;
}

static int count_named(void *context, const struct flameprof_stub_record *stub)
{
	*(unsigned *)context += !stub->arena && !strncmp(stub->name, "of all", 6);
	return 0;
}

/* All threads must get the same stubs, and no further stub may be made. */
static void test_many_threads(void **state)
{
	pthread_t threads[THREADS];
	unsigned named = 0;

	(void)state;
	stub_of_triple();
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_all, made[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < NAMES; i++) {
		assert_int_equal(((builtin *)made[0][i])(i), 4 * i);
		for (unsigned k = 0; k < THREADS; k++)
			assert_ptr_equal(made[k][i], made[0][i]);
	}
	flameprof_arenas_suspend(count_named, &named);
	flameprof_arenas_resume(NULL, NULL);
	assert_int_equal(named, NAMES);
}

static int is_making;

static void *make_on(void *argument)
{
	char name[32];

	for (unsigned i = 0; __atomic_load_n(&is_making, __ATOMIC_RELAXED); i++) {
		snprintf(name, sizeof(name), "%u", i % 5000);
		flameprof_intercept(QUADRUPLE, name, NULL);
	}
	return argument;
}

static int use_in_child(builtin *stub)
{
	builtin *later = (builtin *)flameprof_intercept(QUADRUPLE, "of the child", NULL);

	alarm(60);
	fixture_begin(NULL);
	raise_ticks(2);
	return stub(3) != 9 || checked_ticks != 2 || later(2) != 8 || later == quadruple ||
	       flameprof_intercept(TRIPLE, "triple", NULL) != (flameprof_function *)stub;
}

/* Fork while another thread makes a stub: the child must be able to use stubs. */
static void test_fork(void **state)
{
	builtin *stub = stub_of_triple();
	pthread_t thread;
	int status;

	(void)state;
	is_making = 1;
	assert_int_equal(pthread_create(&thread, NULL, make_on, NULL), 0);
	for (unsigned i = 0; i < 50; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			_exit(use_in_child(stub));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&is_making, 0, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* A pointer to a stub, kept in the host's memory. */
static flameprof_function *kept;
static unsigned visits;

static int forget(void *context, const struct flameprof_stub_record *stub)
{
	(void)context;
	if (stub->stub != kept)
		return 0;
	assert_null(stub->arena);
	assert_string_equal(stub->name, "triple");
	assert_int_equal(stub->payload, (uintptr_t)triple);
	assert_ptr_equal(stub->target, TRIPLE);
	kept = stub->target;
	visits++;
	return 0;
}

static int learn(
	void *context, const struct flameprof_stub_record *stub, flameprof_function *before)
{
	if (before == *(flameprof_function **)context) {
		kept = stub->stub;
		visits++;
	}
	return 0;
}

/*
 * The properties of the CPU that arch_intercept_slow() has determined; each architecture has one of
 * these two variables.
 */
extern uint32_t arch_intercept_save_bytes __attribute__((weak));
extern uint32_t arch_intercept_save_sve __attribute__((weak));

/*
 * If @forget_it is set, overwrite the CPU's properties, as if the process had been restored from an
 * image made on another CPU. Returns the old value.
 */
static uint32_t forget_the_cpu(int forget_it)
{
	uint32_t *learnt = &arch_intercept_save_bytes ? &arch_intercept_save_bytes
						      : &arch_intercept_save_sve;
	uint32_t before = *learnt;

	if (forget_it)
		*learnt = 77;
	return before;
}

static void test_images(void **state)
{
	flameprof_function *before = kept = (flameprof_function *)stub_of_triple();
	flameprof_function *entry[2] = {TRIPLE, QUADRUPLE}, **table = entry;
	static const char *const names[2] = {"triple", "quadruple"};
	uint32_t learnt = forget_the_cpu(0);

	(void)state;
	assert_int_equal(flameprof_arenas_suspend(forget, NULL), 0);
	assert_int_equal(visits, 1);
	assert_ptr_equal(kept, TRIPLE);
	assert_int_equal(flameprof_intercept_status(), FLAMEPROF_STUBS_SUSPENDED);
	assert_ptr_equal(flameprof_intercept(TRIPLE, "triple", NULL), TRIPLE);
	assert_ptr_equal(flameprof_intercept(TRIPLE, "new", NULL), TRIPLE);
	assert_ptr_equal(flameprof_intercept_original(before), before);
	assert_int_equal(flameprof_intercept_table(&table, 2, names, NULL), -EBUSY);
	assert_ptr_equal(entry[0], TRIPLE);
	forget_the_cpu(1);
	assert_int_equal(flameprof_arenas_resume(learn, &before), 0);
	assert_int_equal(visits, 2);
	assert_int_equal(forget_the_cpu(0), learnt);
	assert_int_equal(flameprof_intercept_status(), FLAMEPROF_STUBS_WORK);
	assert_ptr_not_equal(kept, TRIPLE);
	assert_ptr_equal(flameprof_intercept_original(kept), TRIPLE);
	/* After flameprof_arenas_resume() the stub is found at its new address. */
	assert_ptr_equal(flameprof_intercept(TRIPLE, "triple", NULL), kept);
	fixture_begin(NULL);
	ticks_made = 3;
	assert_int_equal(((builtin *)kept)(4), 12);
	assert_int_equal(checked_ticks, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_again),
		cmocka_unit_test(test_impossible_signatures),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_ticks_are_checked_once),
		cmocka_unit_test(test_no_check_within_a_check),
		cmocka_unit_test(test_longjmp_passes),
		cmocka_unit_test(test_the_check_is_named),
		cmocka_unit_test(test_far_originals),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
