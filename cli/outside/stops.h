/* SPDX-License-Identifier: MIT */
/*
 * What the kernel tells a tracer: stops, signals on their way, execs, births and deaths. Everything
 * but our own stops goes on as if nobody had looked.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_STOPS_H
#define CLI_OUTSIDE_STOPS_H

#include "cli/outside/tracer.h"

/* Take all that there is. Never waits. */
void stops_take(struct tracer *tracer);

#endif
