/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Another process overwrites the arena while this process records. Samples may be lost or wrong,
 * but nothing outside the arena may be accessed, no table entry may be given to two threads, and
 * every loop must end. The arena lies between pages that cannot be accessed.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "tests/unit/aggregate-fixture.h"

#include "libprof/sampler/ring.h"
#include "libprof/sampler/sampler.h"
#include "libprof/wire_control.h"
#include "libprof/wire_drain.h"

#define BLOCKS	    64u
#define GUARD_BYTES ((size_t)64 << 20)
/*
 * Minimum numbers of rounds and of overwritten words. The test continues until both minimums are
 * reached.
 */
#define ROUNDS	    20000u
#define LIES	    400000u
/* threads that record; their rings are overwritten */
#define THREADS	    4u

struct fixture {
	struct wire_arena *arena;
	char *mapping;
	uint32_t stop; /* atomic */
	uint32_t lies; /* atomic */
	pthread_t liar;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	size_t bytes = wire_arena_bytes(BLOCKS);

	f->mapping = mmap(NULL, bytes + 2 * GUARD_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(f->mapping != MAP_FAILED);
	f->arena = (struct wire_arena *)(f->mapping + GUARD_BYTES);
	assert_int_equal(mprotect(f->arena, bytes, PROT_READ | PROT_WRITE), 0);
	f->arena->blocks = BLOCKS;
	memset(&sampler, 0, sizeof(sampler));
	memset(sampler_threads, 0, sizeof(sampler_threads));
	sampler.blocks = BLOCKS;
	sampler.period_ns = 5000000;
	assert_int_equal(sampler_start(f->arena, 0, "a program"), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	munmap(f->mapping, wire_arena_bytes(BLOCKS) + 2 * GUARD_BYTES);
	memset(&sampler, 0, sizeof(sampler));
	free(f);
	return 0;
}

/* ---- the liar -------------------------------------------------------------------------------- */

/* Return a random word of those parts of the arena that the recording process reads. */
static uint64_t *some_word(struct wire_arena *arena, uint64_t *random)
{
	uint64_t choice = next_random(random);
	unsigned index = (unsigned)(choice >> 8) % THREADS;
	char *from;
	size_t bytes;

	switch (choice % 6) {
	case 0:
		from = (char *)arena;
		bytes = sizeof(*arena);
		break;
	case 1:
		from = (char *)wire_slot(arena, index);
		bytes = sizeof(struct wire_slot);
		break;
	case 2:
		from = (char *)wire_ring(arena, index);
		bytes = sizeof(struct wire_ring);
		break;
	case 3:
		from = (char *)wire_block(arena, 0);
		bytes = 8 * sizeof(struct wire_block);
		break;
	case 4:
		from = wire_control_data(arena, sampler.slot_index);
		bytes = WIRE_CONTROL_BYTES;
		break;
	default:
		from = wire_block_data(arena, index);
		bytes = WIRE_BLOCK_BYTES;
		break;
	}
	return (uint64_t *)from + next_random(random) % (bytes / 8);
}

static uint64_t some_value(uint64_t before, uint64_t *random)
{
	uint64_t choice = next_random(random), value = next_random(random);

	switch (choice % 8) {
	case 0:
		return 0;
	case 1:
		return ~0ULL >> value % 64;
	case 2:
		return value % (2 * WIRE_BLOCK_BYTES);
	case 3:
		return before + value % 17 - 8;
	case 4:
		return WIRE_HEAD(value % (BLOCKS + 2), WIRE_BLOCK_BYTES - choice / 8 % 80) |
		       (value >> 8 & WIRE_HEAD_WRITING);
	case 5:
		return WIRE_BLOCK_OWNER(sampler.image, value % THREADS);
	case 6:
		return sampler.image << 2 | value % 4;
	default:
		return value;
	}
}

static void *lie(void *argument)
{
	struct fixture *f = argument;
	uint64_t random = 88172645463325252ULL;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		uint64_t *word = some_word(f->arena, &random);
		uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);

		__atomic_store_n(word, some_value(before, &random), __ATOMIC_RELAXED);
		__atomic_fetch_add(&f->lies, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * Make the ring look empty and almost full in turns, so that it changes between a check and its
 * use.
 */
static void *lie_of_the_reader(void *argument)
{
	struct fixture *f = argument;
	struct wire_ring *ring = wire_ring(f->arena, 0);

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		uint32_t turn = __atomic_fetch_add(&f->lies, 1, __ATOMIC_RELAXED);

		__atomic_store_n(&ring->taken,
			__atomic_load_n(&ring->written, __ATOMIC_RELAXED) -
				(turn % 2 ? sampler.ring_bytes - 8u : 0u),
			__ATOMIC_RELAXED);
	}
	return NULL;
}

static void begin_lying(struct fixture *f, void *(*liar)(void *))
{
	/*
	 * Returns whether another round is needed after @rounds rounds, of which at least @least
	 * are made.
	 */
	sampler.on = 0;
	assert_int_equal(pthread_create(&f->liar, NULL, liar, f), 0);
	sampler.on = 1;
}

/* Returns whether another round is needed after @rounds rounds. At least @least rounds are made. */
static int goes_on(struct fixture *f, unsigned rounds, unsigned least)
{
	return rounds < least || __atomic_load_n(&f->lies, __ATOMIC_RELAXED) < LIES;
}

static void end_lying(struct fixture *f)
{
	__atomic_store_n(&f->stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(f->liar, NULL), 0);
}

/* ---- who records ----------------------------------------------------------------------------- */

/*
 * Write a sample as the sampling handler does, into all the room that the ring gives. Returns 0 if
 * there is no room.
 */
static int record(struct fixture *f, struct sampler_thread *thread, uint32_t frames)
{
	uint32_t least = (uint32_t)sizeof(struct wire_sample) + 8 * frames, room = 0;
	const char *pool = wire_block_data(f->arena, 0);
	struct wire_sample *sample = ring_begin(thread, least, &room);
	size_t at = (size_t)((char *)sample - pool);

	if (!sample)
		return 0;
	assert_true(room >= least && room <= WIRE_BLOCK_BYTES);
	assert_true(at < (size_t)BLOCKS * WIRE_BLOCK_BYTES && at % 8 == 0);
	assert_true(at % WIRE_BLOCK_BYTES + room <= WIRE_BLOCK_BYTES);
	memset(sample, 0x5a, room);
	ring_commit(thread, least);
	return 1;
}

static struct sampler_thread *thread_at(struct fixture *f, unsigned index)
{
	struct sampler_thread *thread = &sampler_threads[index];

	thread->ring = wire_ring(f->arena, index);
	thread->image = sampler.image;
	return thread;
}

static void the_room_is_what_was_asked_for(void **state)
{
	struct fixture *f = *state;

	sampler.ring_bytes = 4096;
	assert_int_equal(record(f, thread_at(f, 0), 100), 1);
	begin_lying(f, lie_of_the_reader);
	for (unsigned i = 0; goes_on(f, i, ROUNDS); i++) {
		record(f, thread_at(f, 0), 1 + i % 100);
		for (uint32_t block = 0; i % 64 == 0 && block < BLOCKS; block++)
			__atomic_store_n(&wire_block(f->arena, block)->owner, 0, __ATOMIC_RELAXED);
	}
	end_lying(f);
}

static void records_stay_in_their_blocks(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 5;

	begin_lying(f, lie);
	for (unsigned i = 0; goes_on(f, i, ROUNDS); i++) {
		record(f, thread_at(f, i % THREADS), (uint32_t)(next_random(&random) % 200));
		if (i % 16 == 0)
			record(f, thread_at(f, i / 16 % THREADS), WIRE_MAX_DEPTH);
		if (i % 32 == 0)
			ring_abandon(thread_at(f, i / 32 % THREADS));
	}
	end_lying(f);
}

/* Write a control record as the sampler does. It must lie inside the arena. */
static void announce(struct fixture *f, uint32_t bytes)
{
	char *data = wire_control_data(f->arena, sampler.slot_index);
	struct wire_control *control = control_reserve(sampler.slot, data, bytes);
	size_t at = (size_t)((char *)control - data);

	if (!control)
		return;
	assert_true(at % 8 == 0 && at < WIRE_CONTROL_BYTES && at + bytes <= WIRE_CONTROL_BYTES);
	memset(control + 1, 0x5a, bytes - sizeof(*control));
	control_commit(control, bytes, WIRE_CONTROL_MARK);
}

static void control_records_stay_in_their_ring(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 9;

	for (uint64_t head = 0; head < 2 * WIRE_CONTROL_BYTES; head += 8191) {
		sampler.slot->control_head = head;
		sampler.slot->control_tail = head;
		announce(f, 4096);
	}
	begin_lying(f, lie);
	for (unsigned i = 0; goes_on(f, i, ROUNDS); i++)
		announce(f, 16 + 8 * (uint32_t)(next_random(&random) % 400));
	end_lying(f);
}

/*
 * A table entry holds the start routine of its thread, so two threads must never get the same
 * entry, even if the arena says that the entry's ring is free.
 */
static void no_entry_is_handed_out_twice(void **state)
{
	struct fixture *f = *state;
	struct sampler_thread *first = sampler_thread_try_claim(), *second;

	assert_non_null(first);
	f->arena->rings_hint = 0;
	first->ring->owner = 0;
	second = sampler_thread_try_claim();
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	sampler_thread_release(second);
	sampler_thread_release(first);
	first->ring->owner = 0;
	f->arena->rings_hint = 0;
	assert_ptr_equal(sampler_thread_try_claim(), first);
	sampler_thread_release(first);
}

static void claims_under_lies(void **state)
{
	struct fixture *f = *state;
	struct sampler_thread *held[THREADS] = {NULL};

	begin_lying(f, lie);
	for (unsigned i = 0; goes_on(f, i, ROUNDS); i++) {
		struct sampler_thread **mine = &held[i % THREADS];

		if (*mine)
			sampler_thread_release(*mine);
		*mine = NULL;
		*mine = sampler_thread_try_claim();
		for (unsigned other = 0; *mine && other < THREADS; other++)
			assert_true(&held[other] == mine || held[other] != *mine);
		assert_true(!*mine || (*mine >= sampler_threads &&
					      *mine < sampler_threads + WIRE_RINGS));
	}
	end_lying(f);
}

/*
 * Repeat: claim the slot of a new process, end, and fork a child, while the arena is overwritten.
 */
static void lives_under_lies(void **state)
{
	struct fixture *f = *state;

	begin_lying(f, lie);
	for (unsigned i = 0; goes_on(f, i, ROUNDS / 10); i++) {
		sampler_leave(WIRE_SLOT_EXEC);
		sampler_undo_leave();
		sampler_leave(WIRE_SLOT_EXIT);
		sampler_reset_in_child();
		if (sampler_start(f->arena, sampler.image, NULL))
			memset(wire_slot(f->arena, 0), 0, WIRE_SLOTS * WIRE_SLOT_STRIDE);
		assert_true(sampler.slot_index < WIRE_SLOTS);
		assert_ptr_equal(sampler.slot, wire_slot(f->arena, sampler.slot_index));
		assert_int_equal(sampler.period_ns, 5000000);
	}
	end_lying(f);
}

/*
 * flamerun's readers use only values that they have copied and checked, and every loop in them
 * ends.
 */
static void readers_of_lies(void **state)
{
	static struct wire_control_record control;
	static struct wire_drain drain;
	struct fixture *f = *state;

	drain = (struct wire_drain){.arena = f->arena, .blocks = BLOCKS};
	begin_lying(f, lie);
	for (unsigned i = 0; goes_on(f, i, ROUNDS); i++) {
		uint32_t index = i % THREADS;
		struct wire_drain_pass pass;
		struct wire_sample sample;
		uint64_t frames[WIRE_MAX_DEPTH];
		char *data = wire_control_data(f->arena, sampler.slot_index);

		record(f, thread_at(f, index), i % 100);
		if (wire_drain_begin(&drain, index, &pass)) {
			while (wire_drain_next(&drain, &pass, &sample) == WIRE_DRAIN_RECORD) {
				assert_true(sample.frames <= WIRE_MAX_DEPTH);
				memcpy(frames, wire_drain_frames(&drain, &pass),
					8u * sample.frames);
				wire_drain_skip(&drain, &pass, sample.bytes);
			}
			wire_drain_end(&drain, &pass);
		}
		if (wire_control_read(sampler.slot, data, &control) == WIRE_CONTROL_EMPTY)
			wire_control_skip_hole(sampler.slot, data, &control);
		if (i % 64 == 0)
			wire_control_reset(sampler.slot, data);
	}
	end_lying(f);
}

/* Another process makes a ring's list of blocks circular. Draining must still end. */
static void a_list_without_an_end(void **state)
{
	static struct wire_drain drain;
	struct fixture *f = *state;
	struct wire_ring *ring = wire_ring(f->arena, 0);
	uint64_t taken = 0;
	struct wire_drain_pass pass;
	struct wire_sample sample;

	drain = (struct wire_drain){.arena = f->arena, .blocks = BLOCKS};
	ring->owner = sampler.image << 2 | WIRE_RING_OWNED;
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(record(f, thread_at(f, 0), 100), 1);
	for (uint32_t i = 0; i < 2; i++) {
		struct wire_sample *first = (struct wire_sample *)wire_block_data(f->arena, i);

		*first = (struct wire_sample){.bytes = sizeof(*first)};
		wire_block(f->arena, i)->next = 2 - i;
		wire_block(f->arena, i)->end = sizeof(*first);
	}
	assert_int_equal(wire_drain_begin(&drain, 0, &pass), 1);
	assert_true(WIRE_HEAD_BLOCK(pass.head) > 1);
	while (wire_drain_next(&drain, &pass, &sample) == WIRE_DRAIN_RECORD) {
		wire_drain_skip(&drain, &pass, sample.bytes);
		taken += sample.bytes;
		assert_true(taken <= 2ULL * BLOCKS * WIRE_BLOCK_BYTES);
		for (uint32_t i = 0; i < 2; i++)
			wire_block(f->arena, i)->owner = WIRE_BLOCK_OWNER(sampler.image, 0);
	}
	wire_drain_end(&drain, &pass);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_room_is_what_was_asked_for),
		TEST(records_stay_in_their_blocks),
		TEST(control_records_stay_in_their_ring),
		TEST(no_entry_is_handed_out_twice),
		TEST(claims_under_lies),
		TEST(lives_under_lies),
		TEST(readers_of_lies),
		TEST(a_list_without_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
