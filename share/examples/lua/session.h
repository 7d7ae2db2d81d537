/* SPDX-License-Identifier: MIT */
/* Who gets the stacks taken at safe points: a profile of our own, or flamerun's. */
#ifndef FLAMELUA_SESSION_H
#define FLAMELUA_SESSION_H

#include "share/examples/lua/options.h"

/*
 * Begin what @options (borrowed for good) ask for. What goes wrong is said on stderr, and the
 * script runs without. Context: calls_init() was successful.
 */
void session_begin(const struct flamelua_options *options);

#endif
