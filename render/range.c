/* SPDX-License-Identifier: MIT */
/*
 * Martin, "Range encoding: an algorithm for removing redundancy from a digitised message" (1979),
 * with carries propagated through the bytes that wait. Widths stay below 2^30: engines of
 * JavaScript keep such numbers as they are, larger ones in memory of their own.
 */
#include "render/range.h"

/* Below this the width has too few bits left to be divided: a byte leaves. */
#define WIDTH_MIN (1u << 22)
#define WIDTH_MAX ((1u << 30) - 1)

/* No bit is so certain that it could not come. */
#define CHANCE_MIN 32u

#define OWN_SEEN_MAX	60u
#define SHARED_SEEN_MAX 250u

/* What certainty the shared chance counts as, in halves of a bit seen. */
#define SHARED_HALVES 3

static void put_byte(struct range *range, unsigned byte)
{
	bytes_put(range->out, &(uint8_t){(uint8_t)byte}, 1);
}

/* The highest byte of low leaves, unless a carry may still come into it. */
static void shift(struct range *range)
{
	if (range->low < 0xff000000u || range->low > UINT32_MAX) {
		unsigned carry = (unsigned)(range->low >> 32);

		put_byte(range, range->first + carry);
		while (--range->waiting)
			put_byte(range, 0xff + carry);
		range->first = (uint8_t)(range->low >> 24);
	}
	range->waiting++;
	range->low = (range->low & 0x00ffffff) << 8;
}

static void normalize(struct range *range)
{
	while (range->width < WIDTH_MIN) {
		range->width <<= 8;
		shift(range);
	}
}

void range_init(struct range *range, struct bytes *out)
{
	*range = (struct range){.out = out, .width = WIDTH_MAX, .waiting = 1};
}

void range_put(struct range *range, uint32_t start, uint32_t size, uint32_t total)
{
	uint32_t part = range->width / total;

	range->low += (uint64_t)part * start;
	range->width = part * size;
	normalize(range);
}

void range_put_below(struct range *range, uint32_t value, uint32_t limit)
{
	unsigned low_bits = 0;

	while ((limit - 1) >> low_bits >= RANGE_ONE)
		low_bits++;
	range_put(range, value >> low_bits, 1, ((limit - 1) >> low_bits) + 1);
	if (low_bits)
		range_put(range, value & ((1u << low_bits) - 1), 1, 1u << low_bits);
}

static void put_by(struct range *range, uint32_t one, int bit)
{
	uint32_t chance = one < CHANCE_MIN		 ? CHANCE_MIN
			  : one > RANGE_ONE - CHANCE_MIN ? RANGE_ONE - CHANCE_MIN
							 : one;
	uint32_t bound = (range->width >> 12) * (chance >> 4);

	if (bit) {
		range->width = bound;
	} else {
		range->low += bound;
		range->width -= bound;
	}
	normalize(range);
}

/* Products of a chance with shares of these stay below 2^31. */
#define SHARES 32768

/* Shifts round down, for negative numbers too. */
static void learn(struct range_chance *chance, unsigned most_seen, int bit)
{
	int target = bit ? (int)RANGE_ONE - 1 : 0;
	int step = 2 * SHARES / (2 * chance->seen + 3);

	chance->one = (uint16_t)(chance->one + ((target - chance->one) * step >> 15));
	if (chance->seen < most_seen)
		chance->seen++;
}

void range_put_bit(struct range *range, struct range_chance *chance, int bit)
{
	put_by(range, chance->one, bit);
	learn(chance, SHARED_SEEN_MAX, bit);
}

void range_put_mixed(
	struct range *range, struct range_chance *own, struct range_chance *shared, int bit)
{
	int trust = SHARES * 2 * own->seen / (2 * own->seen + SHARED_HALVES);

	put_by(range, (uint32_t)(shared->one + ((own->one - shared->one) * trust >> 15)), bit);
	learn(own, OWN_SEEN_MAX, bit);
	learn(shared, SHARED_SEEN_MAX, bit);
}

void range_finish(struct range *range)
{
	for (unsigned i = 0; i < 5; i++)
		shift(range);
}
