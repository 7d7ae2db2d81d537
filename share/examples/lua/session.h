/* SPDX-License-Identifier: MIT */
/* Send the stacks recorded at safe points to a profile of flamelua's own, or to flamerun. */
#ifndef FLAMELUA_SESSION_H
#define FLAMELUA_SESSION_H

#include "share/examples/lua/options.h"

/*
 * Start the recording that @options ask for (borrowed until the process ends). After an error,
 * which is reported on stderr, the script runs without a profile. Context: after calls_init() has
 * succeeded.
 */
void session_begin(const struct flamelua_options *options);

#endif
