/* SPDX-License-Identifier: MIT */
/* Checked also: threads, emulated. */
/*
 * Record stacks while handlers sample the same thread, while other threads record, and together
 * with native frames. Each frame's name shows its stack, so that a mixture of two stacks would be
 * noticed.
 */
#include "tests/unit/vmstack-fixture.h"

#include <signal.h>
#include <sys/mman.h>

#define THREADS	 4
#define SHAPES	 64
#define DEPTH	 40

static char names[SHAPES][DEPTH][16];
static uint64_t recorded; /* atomic */
static uint32_t stopping; /* atomic */

/* Make stack number @shape: 1 + @shape % 32 frames, all named "@shape/n"; their line is @shape. */
static unsigned make_shape(unsigned shape, struct flameprof_vm_frame *frames)
{
	unsigned depth = 1 + shape % 32;

	for (unsigned i = 0; i < depth; i++)
		frames[i] = (struct flameprof_vm_frame){names[shape][i], "shape.lua", shape};
	return depth;
}

static int set_up(void **state)
{
	for (unsigned shape = 0; shape < SHAPES; shape++)
		for (unsigned i = 0; i < DEPTH; i++)
			snprintf(names[shape][i], sizeof(names[0][0]), "%u/%u", shape, i);
	return enable_ticks(state);
}

static void *record_shapes(void *argument)
{
	struct flameprof_vm_frame frames[DEPTH];
	unsigned shape = (unsigned)(uintptr_t)argument;

	while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		unsigned depth = make_shape(shape++ % SHAPES, frames);

		if (!flameprof_record_vm_stack(frames, depth, 1))
			__atomic_fetch_add(&recorded, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void check_shape(const struct flameprof_profile *p, uint32_t index)
{
	struct flameprof_frame frames[DEPTH];
	int count = flameprof_profile_frames(p, index, frames, DEPTH);
	unsigned shape = frames[0].line;
	struct flameprof_vm_frame expected[DEPTH];
	unsigned depth;

	assert_true(shape < SHAPES);
	depth = make_shape(shape, expected);
	assert_int_equal(count, depth + 1);
	for (unsigned i = 0; i < depth; i++) {
		assert_string_equal(frames[i].name, expected[i].name);
		assert_int_equal(frames[i].line, shape);
	}
	assert_string_equal(frames[depth].name, "[vm]");
}

/* Check that all frames of this stack have addresses, so that none is a virtual machine's. */
static void check_native(const struct flameprof_profile *p, uint32_t index)
{
	static struct flameprof_frame frames[WIRE_MAX_DEPTH];
	int count = flameprof_profile_frames(p, index, frames, WIRE_MAX_DEPTH);

	for (int i = 0; i < count && i < (int)WIRE_MAX_DEPTH; i++)
		assert_null(frames[i].file);
}

static void check_all(const struct flameprof_profile *p, uint64_t *vm, uint64_t *native)
{
	uint32_t count = info_of(p).stacks;

	for (uint32_t i = 0; i < count; i++) {
		if (stack_at(p, i).is_vm) {
			check_shape(p, i);
			*vm += stack_at(p, i).weight;
		} else {
			check_native(p, i);
			*native += stack_at(p, i).weight;
		}
	}
}

/* Ticks are whole periods, so the weights are exact. No record may be dropped. */
static void handlers_and_records_do_not_mix(void **state)
{
	const struct flameprof_options options = {.rate = 1000};
	uint64_t vm = 0, native = 0, until_ns;
	struct flameprof_counters counts;
	struct flameprof_profile *profile;
	pthread_t ids[THREADS];

	(void)state;
	recorded = 0;
	stopping = 0;
	assert_int_equal(flameprof_start(&options), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&ids[i], NULL, record_shapes, (void *)(i * 16)), 0);
	until_ns = now_ns() + 1500000000u;
	while (now_ns() < until_ns) {
		pause_ms(50);
		assert_int_equal(flameprof_flush(&profile, PATIENCE_MS), 0);
		check_all(profile, &vm, &native);
		flameprof_profile_free(profile);
	}
	__atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	profile = stop_session();
	check_all(profile, &vm, &native);
	flameprof_profile_free(profile);
	counts = diagnostics();
	assert_int_equal(counts.dropped[FLAMEPROF_DROP_DAMAGED].samples, 0);
	assert_int_equal(counts.dropped[FLAMEPROF_DROP_PROFILE].weight, 0);
	assert_int_equal(vm, 10 * recorded);
	assert_int_equal(counts.vm_weight, vm);
	assert_true(recorded > 1000);
	assert_true(UNDER_TSAN || native > 100);
}

/*
 * The end of a session waits for records in progress. Later calls return that nothing is sampled.
 */
static void sessions_begin_and_end_meanwhile(void **state)
{
	struct flameprof_profile *profile;
	uint64_t vm = 0, native = 0;
	pthread_t ids[THREADS];

	(void)state;
	recorded = 0;
	stopping = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, record_shapes, (void *)i), 0);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(flameprof_start(&only_vm), 0);
		pause_ms(2);
		profile = stop_session();
		check_all(profile, &vm, &native);
		flameprof_profile_free(profile);
	}
	__atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	assert_int_equal(native, 0);
	/* Each successful call must be in a profile. */
	assert_int_equal(vm, recorded);
}

/* ---- a call held up in the middle, where it reads the host's memory -------------------------- */

/* the name of a frame; not readable until `let_go` is set */
static char *held_page;
static uint32_t is_held, let_go, has_stopped; /* atomic */

static void hold(int signal)
{
	(void)signal;
	__atomic_store_n(&is_held, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&let_go, __ATOMIC_ACQUIRE))
		pause_ms(1);
	mprotect(held_page, 4096, PROT_READ);
}

static void *record_held(void *argument)
{
	const struct flameprof_vm_frame frame = {held_page, NULL, 0};

	(void)argument;
	return (void *)(intptr_t)flameprof_record_vm_stack(&frame, 1, 1);
}

static void *stop_meanwhile(void *argument)
{
	uint64_t weight = stop_weight();

	(void)argument;
	__atomic_store_n(&has_stopped, 1, __ATOMIC_RELEASE);
	return (void *)(uintptr_t)weight;
}

static void the_end_waits_for_a_call_under_way(void **state)
{
	struct sigaction action = {.sa_handler = hold}, before;
	pthread_t recorder, stopper;
	void *error, *weight;

	(void)state;
	/* ThreadSanitizer delays signals that other threads send. */
	skip_under_tsan();
	held_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, &before);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(pthread_create(&recorder, NULL, record_held, NULL), 0);
	while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
		pause_ms(1);
	assert_int_equal(pthread_create(&stopper, NULL, stop_meanwhile, NULL), 0);
	pause_ms(200);
	assert_false(__atomic_load_n(&has_stopped, __ATOMIC_ACQUIRE));
	__atomic_store_n(&let_go, 1, __ATOMIC_RELEASE);
	pthread_join(recorder, &error);
	pthread_join(stopper, &weight);
	sigaction(SIGSEGV, &before, NULL);
	munmap(held_page, 4096);
	/* When the record was complete, the thread was no longer sampled. */
	assert_int_equal((intptr_t)error, -ESRCH);
	assert_int_equal((uintptr_t)weight, 0);
}

/* ---- on native frames ------------------------------------------------------------------------ */

static __attribute__((noinline)) int record_from_here(unsigned n, uint32_t ticks)
{
	int error = flameprof_record_vm_stack(n ? three : NULL, n, ticks);

	__asm__ volatile("" ::: "memory");
	return error;
}

static int is_in_record_from_here(uintptr_t address)
{
	return address - (uintptr_t)record_from_here < 512;
}

static void native_frames_stand_below(void **state)
{
	struct flameprof_profile *profile;
	uint32_t at, frames;

	(void)state;
	flameprof_vm_stacks(FLAMEPROF_VM_ABOVE);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(record_from_here(3, 1), 0);
	profile = stop_session();
	at = only_vm_stack(profile);
	frames = stack_at(profile, at).frames;
	assert_true(frames > 6);
	for (uint32_t i = 0; i < 3; i++)
		assert_frame(profile, at, i, &three[i]);
	/* The caller's frame follows directly. No frames of the library lie between. */
	assert_true(is_in_record_from_here(frame_at(profile, at, 3).address));
	assert_false(is_in_record_from_here(frame_at(profile, at, 4).address));
	assert_int_equal(stack_at(profile, at).end, FLAMEPROF_END_ROOT);
	flameprof_profile_free(profile);
	flameprof_vm_stacks(FLAMEPROF_VM_BESIDE);
}

static void the_depth_is_that_of_both(void **state)
{
	struct flameprof_options options = only_vm;
	struct flameprof_profile *profile;

	(void)state;
	flameprof_vm_stacks(FLAMEPROF_VM_ABOVE);
	for (unsigned depth = 1; depth <= 5; depth++) {
		options.depth = depth;
		assert_int_equal(flameprof_start(&options), 0);
		assert_int_equal(record_from_here(3, 1), 0);
		profile = stop_session();
		assert_int_equal(stack_at(profile, 0).frames, depth);
		assert_int_equal(stack_at(profile, 0).end, FLAMEPROF_END_DEPTH);
		assert_frame(profile, 0, 0, &three[0]);
		if (depth > 3)
			assert_true(is_in_record_from_here(frame_at(profile, 0, 3).address));
		flameprof_profile_free(profile);
	}
	flameprof_vm_stacks(FLAMEPROF_VM_BESIDE);
}

static void no_frames_above_native_ones(void **state)
{
	struct flameprof_profile *profile;

	(void)state;
	flameprof_vm_stacks(FLAMEPROF_VM_ABOVE);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(record_from_here(0, 1), 0);
	profile = stop_session();
	assert_string_equal(frame_at(profile, 0, 0).name, "[vm]");
	assert_true(is_in_record_from_here(frame_at(profile, 0, 1).address));
	flameprof_profile_free(profile);
	flameprof_vm_stacks(FLAMEPROF_VM_BESIDE);
}

/*
 * The signals that are blocked while a record is written are unblocked afterwards. Signals that
 * were blocked before stay blocked.
 */
static void the_mask_is_kept(void **state)
{
	sigset_t mask, after;

	(void)state;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(record_from_here(3, 1), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_true(sigismember(&after, SIGUSR1));
	assert_false(sigismember(&after, SIGVTALRM));
	assert_false(sigismember(&after, SIGTERM));
	assert_int_equal(stop_weight(), 1);
	sigemptyset(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

#define TEST(name) cmocka_unit_test_teardown(name, no_session_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(native_frames_stand_below),
		TEST(the_depth_is_that_of_both),
		TEST(no_frames_above_native_ones),
		TEST(the_mask_is_kept),
		TEST(the_end_waits_for_a_call_under_way),
		TEST(sessions_begin_and_end_meanwhile),
		TEST(handlers_and_records_do_not_mix),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
