/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the helper's and the worker's loop; handlers ring its bell. */
/*
 * The life of whoever empties the rings, a helper process or a thread of the host's: take what is
 * there, sleep until the doorbell rings or a tick is over, once more after the end was seen.
 */
#ifndef LIBPROF_AGGREGATOR_LOOP_H
#define LIBPROF_AGGREGATOR_LOOP_H

#include <stdint.h>

struct loop {
	uint32_t *doorbell; /* futex, not a private one: the helper is another process */
	long tick_ms;
	void *context;
	/* Will nothing come any more? Asked before each turn: what came before the end is then
	 * seen. */
	int (*is_ending)(void *context);
	/* Take what there is. Returns 0, or a negative errno that ends the loop. */
	int (*turn)(void *context, int is_last);
};

/* Run @loop to its end. Returns 0 after a last turn, or the turn's error. */
int loop_run(const struct loop *loop);

/* Sleep until @doorbell is no longer @seen, or @ms are over. Context: signal-safe. */
void loop_wait(uint32_t *doorbell, uint32_t seen, long ms);

/* Wake who waits at @doorbell. Context: signal-safe, any thread. */
void loop_ring(uint32_t *doorbell);

#endif
