/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
#include "libprof/sampler/clock.h"

int clock_asks_kernel;
