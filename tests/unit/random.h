/* SPDX-License-Identifier: MIT */
/* Pseudo-random numbers (64-bit xorshift). The sequence is equal in every run of a test. */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 1; /* seed; never 0 */

static inline uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 11) % limit;
}

#endif
