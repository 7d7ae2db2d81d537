/* SPDX-License-Identifier: MIT */
/* Send the stacks of safe points to a profile of flamelua's own, or to flamerun. */
#ifndef FLAMELUA_SESSION_H
#define FLAMELUA_SESSION_H

#include "share/examples/lua/options.h"

/*
 * Start what @options (borrowed until the process ends) ask for. Errors are reported on stderr, and
 * the script runs without a profile. Context: after calls_init() has succeeded.
 */
void session_begin(const struct flamelua_options *options);

#endif
