/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information that the library writes again must equal the original. Malformed
 * information is refused.
 */
#include <errno.h>

#include "libprof/trampoline/publish_cfi.h"
#include "libprof/unwind/cfi.h"
#include "tests/unit/stub-chain.h"

static const struct region *chain_region(void)
{
	return region_find((uintptr_t)chain_stub[0]);
}

struct listed {
	unsigned count;
	struct cfi_fde fde[4096];
};

static int list(void *context, const struct cfi_fde *fde)
{
	struct listed *listed = context;

	assert_true(listed->count < 4096);
	listed->fde[listed->count++] = *fde;
	return 0;
}

static struct listed *list_region(const struct region *region)
{
	struct listed *listed = calloc(1, sizeof(*listed));

	assert_non_null(listed);
	assert_int_equal(publish_cfi_each(region, list, listed), 0);
	return listed;
}

static void assert_same_program(struct cfi_bytes was, struct cfi_bytes is)
{
	size_t bytes = was.end - was.at;

	assert_true(is.end - is.at >= bytes);
	assert_memory_equal((void *)was.at, (void *)is.at, bytes);
	for (uintptr_t at = is.at + bytes; at < is.end; at++)
		assert_int_equal(*(const uint8_t *)at, CFI_NOP);
}

/*
 * Compare two FDEs. @shift is the distance from the address for which the copy was written to the
 * copy.
 */
static void assert_same(const struct cfi_fde *was, const struct cfi_fde *is, uintptr_t shift)
{
	assert_int_equal(was->begin, is->begin - shift);
	assert_int_equal(was->end, is->end - shift);
	assert_int_equal(was->cie.code_align, is->cie.code_align);
	assert_int_equal(was->cie.data_align, is->cie.data_align);
	assert_int_equal(was->cie.ra_reg, is->cie.ra_reg);
	assert_int_equal(was->cie.signal, is->cie.signal);
	assert_same_program(was->cie.program, is->cie.program);
	assert_same_program(was->program, is->program);
}

static void check_copy(uintptr_t address)
{
	const struct region *region = chain_region();
	struct publish_bytes out = {0};
	struct region copy = {0};
	struct listed *was = list_region(region), *is;

	assert_int_equal(was->count, region->slots);
	assert_int_equal(publish_cfi_write(&out, region, region->start,
				 region->start + region->bytes, address), 0);
	copy.eh_frame = out.data;
	copy.eh_frame_bytes = out.used;
	is = list_region(&copy);
	assert_int_equal(is->count, was->count);
	for (unsigned i = 0; i < is->count; i++)
		assert_same(&was->fde[i], &is->fde[i], address ? (uintptr_t)out.data - address : 0);
	free(out.data);
	free(was);
	free(is);
}

static void test_absolute(void **state)
{
	(void)state;
	check_copy(0);
}

static void test_relative(void **state)
{
	(void)state;
	check_copy((uintptr_t)chain_region()->eh_frame);
}

static void test_too_far(void **state)
{
	const struct region *region = chain_region();
	struct publish_bytes out = {0};

	(void)state;
	assert_int_equal(publish_cfi_write(&out, region, region->start,
				 region->start + region->bytes, region->start + (1ULL << 40)),
		-ERANGE);
	free(out.data);
}

static void test_part(void **state)
{
	const struct region *region = chain_region();
	struct publish_bytes out = {0};
	struct region copy = {0};
	struct listed *is;
	uintptr_t lo = region->start + 2 * region->stride;

	(void)state;
	assert_int_equal(publish_cfi_write(&out, region, lo, lo + 3 * region->stride, 0), 0);
	copy.eh_frame = out.data;
	copy.eh_frame_bytes = out.used;
	is = list_region(&copy);
	assert_int_equal(is->count, 3);
	assert_int_equal(is->fde[0].begin, lo);
	free(is);
	free(out.data);
}

static void test_nothing(void **state)
{
	struct region without = {.start = 1, .bytes = 1};
	struct publish_bytes out = {0};

	(void)state;
	assert_int_equal(publish_cfi_write(&out, &without, 0, ~(uintptr_t)0, 0), -ENOENT);
	assert_int_equal(publish_cfi_write(&out, chain_region(), 1, 2, 0), -ENOENT);
	free(out.data);
}

/*
 * Set each byte of two records to other values. Any result is allowed, but no fault and no endless
 * loop.
 */
static void test_broken(void **state)
{
	const struct region *region = chain_region();
	size_t bytes = 128;
	/* The copy is at the end of an allocation, so that a sanitizer detects reads behind it. */
	uint8_t *copy = malloc(bytes);
	struct region broken = {.start = region->start, .bytes = region->bytes, .eh_frame = copy};

	(void)state;
	assert_non_null(copy);
	for (size_t cut = 0; cut <= bytes; cut++) {
		for (unsigned value = 0; value < 256; value += 51) {
			struct publish_bytes out = {0};
			size_t room = bytes - cut;

			broken.eh_frame = copy + cut;
			broken.eh_frame_bytes = room;
			memcpy(copy + cut, region->eh_frame, room);
			for (size_t i = value; i < room; i += 37)
				copy[cut + i] ^= value;
			publish_cfi_write(&out, &broken, 0, ~(uintptr_t)0, 0);
			free(out.data);
		}
	}
	free(copy);
}

static int setup(void **state)
{
	(void)state;
	chain_make();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absolute),
		cmocka_unit_test(test_relative),
		cmocka_unit_test(test_too_far),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests_name("publish_cfi", tests, setup, NULL);
}
