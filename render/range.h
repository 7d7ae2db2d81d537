/* SPDX-License-Identifier: MIT */
/*
 * A range encoder: each choice costs as many bits as it was unlikely, fractions of bits included.
 * How what it writes is read: render/embed.h.
 */
#ifndef RENDER_RANGE_H
#define RENDER_RANGE_H

#include <stdint.h>

#include "render/bytes.h"

/* Chances are of so many. */
#define RANGE_ONE 65536u

struct range {
	struct bytes *out; /* borrowed */
	uint64_t low;	   /* below 2^33: the bit above 32 is carried into what waits */
	uint32_t width;
	uint8_t first;	  /* byte that waits for a carry */
	uint64_t waiting; /* it and the bytes of 0xff behind it */
};

/* A chance that learns: of a one, and how much was seen, which slows the learning down. */
struct range_chance {
	uint16_t one;
	uint16_t seen;
};

#define RANGE_CHANCE_EVEN ((struct range_chance){RANGE_ONE / 2, 0})

/* Append to @out what is put from now on, up to range_finish(). */
void range_init(struct range *range, struct bytes *out);

/* One of @total (1 to RANGE_ONE) equal parts: those from @start on, @size of them (at least 1). */
void range_put(struct range *range, uint32_t start, uint32_t size, uint32_t total);

/* @value below @limit (at least 1), all equally likely. */
void range_put_below(struct range *range, uint32_t value, uint32_t limit);

/* A bit by a chance that learns from it. */
void range_put_bit(struct range *range, struct range_chance *chance, int bit);

/*
 * A bit by two chances, both of which learn: the more @own has seen, the more it counts against
 * @shared.
 */
void range_put_mixed(
	struct range *range, struct range_chance *own, struct range_chance *shared, int bit);

/* Write what waits. */
void range_finish(struct range *range);

#endif
