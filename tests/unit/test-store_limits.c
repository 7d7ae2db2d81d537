/* SPDX-License-Identifier: MIT */
/* At its memory limit a profile drops whole samples and counts them. Its sums stay correct. */
#include "tests/unit/store-fixture.h"

static void a_ceiling_of_one_byte_holds_nothing(void **state)
{
	struct flameprof_profile *p = aggregate_profile(1);
	struct store_result result;
	struct batch_maker maker;

	(void)state;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 3, FRAMES(2, 1));
	batch_add(&maker, 1, 4, FRAMES(2, 1));
	result = batch_store(&maker, p);
	assert_int_equal(result.samples, 0);
	assert_int_equal(result.full_samples, 2);
	assert_int_equal(result.full_weight, 7);
	assert_int_equal(result.full_bytes, 2 * (24 + 16));
	assert_int_equal(info_of(p).weight, 0);
	assert_int_equal(info_of(p).threads, 0);
	assert_int_equal(info_of(p).stacks, 0);
	assert_int_equal(p->node_count, 0);
	flameprof_profile_free(p);
}

static void a_full_profile_drops_the_newest_whole(void **state)
{
	const size_t limits[] = {65536, 100000, 1 << 20, 3 << 20};
	uint64_t random = 88172645463325252ULL;

	(void)state;
	for (unsigned l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
		struct flameprof_profile *p = aggregate_profile(limits[l]);
		uint64_t added = 0, full = 0, weight = 0;

		for (unsigned b = 0; b < 40; b++) {
			struct store_result result;
			struct batch_maker maker;

			batch_begin(&maker, 10, "worker");
			for (unsigned i = 0; i < 1000; i++)
				add_random(&maker, &random, 50);
			result = batch_store(&maker, p);
			assert_int_equal(result.samples + result.full_samples, 1000);
			added += result.samples;
			full += result.full_samples;
			weight += result.weight;
			assert_true(p->account.used_bytes <= limits[l]);
		}
		assert_true(added > 100);
		assert_true(full > 100);
		assert_int_equal(info_of(p).samples, added);
		assert_int_equal(info_of(p).weight, weight);
		assert_adds_up(p);
		flameprof_profile_free(p);
	}
	assert_int_equal(pages_mapped_bytes, 0);
}

static void known_stacks_still_fit_where_new_ones_do_not(void **state)
{
	struct flameprof_profile *p = aggregate_profile(65536);
	struct store_result result;
	struct batch_maker maker;
	uint64_t frames[1000];
	uint64_t next = 1;

	(void)state;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 1, FRAMES(2, 1));
	batch_store(&maker, p);
	do {
		batch_begin(&maker, 10, "worker");
		for (unsigned i = 0; i < 1000; i++)
			frames[i] = ++next << 8;
		batch_add(&maker, 1, 1, frames, 1000);
		result = batch_store(&maker, p);
	} while (!result.full_samples);
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 1, FRAMES(2, 1));
	assert_int_equal(batch_store(&maker, p).samples, 1);
	flameprof_profile_free(p);
}

static void failing_memory_costs_samples_and_nothing_else(void **state)
{
	unsigned failures = 0;

	(void)state;
	for (uint32_t n = 1; n <= 200; n++) {
		struct profile_config config = {
			.period_ns = 1, .limit_bytes = 8 * MIB, .title = "t"};
		struct flameprof_profile *p;
		uint64_t random = 7, added = 0;

		pages_fail_in = n;
		p = profile_new(&config);
		if (!p) {
			assert_int_equal(n, 1);
			continue;
		}
		for (unsigned b = 0; b < 8; b++) {
			struct store_result result;
			struct batch_maker maker;

			batch_begin(&maker, 10, "worker");
			for (unsigned i = 0; i < 500; i++)
				add_random(&maker, &random, 20);
			result = batch_store(&maker, p);
			added += result.samples;
			failures += result.full_samples;
		}
		pages_fail_in = 0;
		assert_int_equal(info_of(p).samples, added);
		assert_true(added >= 8 * 500 - 1);
		assert_adds_up(p);
		flameprof_profile_free(p);
		assert_int_equal(pages_mapped_bytes, 0);
	}
	assert_true(failures > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ceiling_of_one_byte_holds_nothing),
		cmocka_unit_test(a_full_profile_drops_the_newest_whole),
		cmocka_unit_test(known_stacks_still_fit_where_new_ones_do_not),
		cmocka_unit_test(failing_memory_costs_samples_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
